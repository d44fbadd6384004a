"""Instructions that packing takes, counted by callgrind: the same on a busy machine.

Two inputs that differ in the size of their vocabulary alone are packed by one worker; the difference of
the counts over the difference of the values is what each value costs, without what each weight costs and
the program's start and end."""

import os
import re
import shutil

from .end_to_end import INPUT, OUTPUT, POLICY, make_input, policy_name, policy_text
from .processes import Failed, run, say
from .settings import SOURCE_BITS

SMALL, LARGE = 13_500_000, 16_000_000  # values; of both, three layers of 512
PROFILE = "callgrind.out"
COUNTED = re.compile(r"\s*([\d,]+) \(\s*[\d.]+%\)\s+(.*)")
SHOWN = 3  # functions of a pack


def _function(place):
    """"encode_q8_0" of "???:synps::simd::N_AVX2::encode_q8_0(float const*, …) [/…/synps]"."""
    name = place.partition(" [")[0].replace("(anonymous namespace)", "")
    name = re.sub(r"^[^:]*:(?!:)", "", name).partition("(")[0].partition("{")[0]
    return re.sub(r"<.*", "", name).rstrip(":").rpartition("::")[2]


def functions_of(annotated):
    """Function → instructions, of what callgrind_annotate prints; "" → of the whole program. Without
    those of libhwy itself: when it is loaded it tries out the processor's clock, for as long as that
    takes."""
    found = {"": 0}
    for line in annotated.splitlines():
        match = COUNTED.fullmatch(line)
        if not match:
            continue
        count, place = int(match[1].replace(",", "")), match[2]
        if place == "PROGRAM TOTALS":
            found[""] += count
        elif "/libhwy.so" in place:
            found[""] -= count
        else:
            name = _function(place)
            found[name] = found.get(name, 0) + count
    return found


def _count(programs, work, policy, settings):
    """Instructions of a pack of the input that is there, by function, and bytes of the artifact."""
    if not policy.endswith(".toml"):
        with open(work.file(POLICY), "w", encoding="utf-8") as file:
            file.write(policy_text(policy))
        policy = work.file(POLICY)
    work.remove(OUTPUT)
    profile = work.file(PROFILE)
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
    command += [programs.path("synps"), "pack", work.file(INPUT)]
    command += ["-p", policy, "-o", work.file(OUTPUT), "-q", "-j", "1", *settings.pack_arguments]
    run(command)
    written = os.path.getsize(work.file(OUTPUT))
    work.remove(OUTPUT)
    found = functions_of(run(["callgrind_annotate", "--threshold=100", profile]))
    if found[""] <= 0:
        raise Failed(f"callgrind counted nothing: {' '.join(map(str, command))}")
    return found, written


def _most(small, large, values):
    """The functions that took most instructions a value."""
    by_name = {
        name: (count - small.get(name, 0)) / values for name, count in large.items() if name
    }
    names = sorted(by_name, key=lambda name: (-by_name[name], name))[:SHOWN]
    return {name: by_name[name] for name in names if by_name[name] >= 0.01}


def counts(programs, folders, settings, rows):
    """Adds a row a source and policy to `rows`; none, and a note, without valgrind."""
    if shutil.which("valgrind") is None:
        say("valgrind is not installed: no instructions are counted")
        return
    work = folders["disk"]
    for source in settings.sources:
        say(f"counting instructions from {source}")
        bits = SOURCE_BITS[source]
        sizes, found = [], []
        for values in (100_000, 300_000) if settings.tiny else (SMALL, LARGE):
            sizes.append(make_input(programs, work, source, values * bits // 8))
            found.append([_count(programs, work, policy, settings) for policy in settings.policies])
        values = (sizes[1] - sizes[0]) * 8 / bits
        for policy, small, large in zip(settings.policies, *found):
            rows.append(
                {
                    "source": source,
                    "policy": policy_name(policy),
                    "arguments": " ".join(settings.pack_arguments),
                    "instructions_per_value": (large[0][""] - small[0][""]) / values,
                    "bytes_read_per_value": bits / 8,
                    "bytes_written_per_value": (large[1] - small[1]) / values,
                    "most": _most(small[0], large[0], values),
                }
            )
    work.remove(INPUT)
