"""Instructions that packing takes, counted by callgrind: the same on a busy machine.

A small and a larger input are packed by one worker; the difference of the counts over the difference
of the values is what each value costs, without start and end."""

import os
import re
import shutil

from .end_to_end import INPUT, OUTPUT, POLICY, make_input, policy_name, policy_text
from .processes import Failed, run, say
from .settings import SOURCE_BITS

SMALL, LARGE = 2_000_000, 10_000_000  # values
COUNTED = re.compile(r"Collected\s*:\s*(\d+)")


def _count(programs, work, policy, settings):
    """Instructions of a pack of the input that is there, and bytes of the artifact."""
    if not policy.endswith(".toml"):
        with open(work.file(POLICY), "w", encoding="utf-8") as file:
            file.write(policy_text(policy))
        policy = work.file(POLICY)
    work.remove(OUTPUT)
    log = work.file("callgrind.log")
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command += [f"--log-file={log}", programs.path("synps"), "pack", work.file(INPUT)]
    command += ["-p", policy, "-o", work.file(OUTPUT), "-q", "-j", "1", *settings.pack_arguments]
    run(command)
    written = os.path.getsize(work.file(OUTPUT))
    work.remove(OUTPUT)
    with open(log, encoding="utf-8") as file:
        found = COUNTED.search(file.read())
    if not found:
        raise Failed(f"callgrind counted nothing: {' '.join(map(str, command))}")
    return int(found.group(1)), written


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
                    "instructions_per_value": (large[0] - small[0]) / values,
                    "bytes_read_per_value": bits / 8,
                    "bytes_written_per_value": (large[1] - small[1]) / values,
                }
            )
    work.remove(INPUT)
