"""The programs of a build folder, and what the Google Benchmark ones among them measure."""

import json
import os
import re

from .processes import Failed, run, say
from .statistics_of import spread

GB = 1e9

# Ratios to memcpy that codecs are to reach, on one core: encode, decode.
CODEC_TARGETS = {
    "f16": (0.85, 0.8),
    "bf16": (0.85, 0.8),
    "q8_0": (0.85, 0.8),
    "q4_0": (0.6, 0.8),
    "ternary:tq2_0": (0.4, 0.8),
    "ternary:tq1_0": (0.4, 0.5),
    "ternary": (0.2, 0.8),
}
OTHER_DECODE_TARGET = 0.8

# Ratios to reading that kernels are to reach with two threads, in every order.
MATVEC_TARGETS = {
    ("matvec", "f16"): 0.85,
    ("matvec", "bf16"): 0.8,
    ("matvec", "q8_0"): 0.8,
    ("matvec", "q4_0"): 0.4,
    ("matvec", "ternary"): 0.28,
    ("matvec", "ternary:tq2_0"): 0.28,
    ("matvec_q8", "q8_0"): 0.85,
    ("matvec_q8", "q4_0"): 0.65,
    ("matvec_q8", "ternary"): 0.5,
    ("matvec_q8", "ternary:tq2_0"): 0.5,
}
MATVEC_TARGET_THREADS = 2
MATVEC_MIB = 512  # more than caches hold


class Programs:
    """Finds the programs of a build folder."""

    def __init__(self, build):
        self.build = build

    def path(self, name):
        path = os.path.join(self.build, "cli" if name == "synps" else "bench", name)
        if not os.access(path, os.X_OK):
            raise Failed(
                f"{path} is not there: build the target bench_all with -DSYNPS_BUILD_BENCH=ON"
            )
        return path


def short_name(codec):
    """"q4_0" for "q4_0:q4_0": as a policy says it."""
    package, _, name = codec.partition(":")
    return name if package == name else codec


def _benchmarks(program, *options):
    out = run([program, "--benchmark_format=json", *options])
    found = json.loads(out)["benchmarks"]
    if not found:
        raise Failed(f"{program} {' '.join(options)} measured nothing")
    return found


def _name(benchmark):
    """Without what Google Benchmark adds."""
    return re.sub(r"/(iterations|repeats|min_time):[^/]*|/manual_time", "", benchmark["name"])


def _ratio(benchmark, counter):
    return {
        "median": benchmark[counter],
        "low": benchmark["x_low"],
        "high": benchmark["x_high"],
    }


def _sized(settings):
    return [f"--mib={settings.mib}", f"--runs={settings.runs}"]


def codecs(programs, settings):
    say("codecs beside memcpy")
    rows = []
    for found in _benchmarks(programs.path("bench_codecs"), *_sized(settings)):
        direction, codec = _name(found).split("/")
        codec = short_name(codec)
        target = None
        if direction == "encode":
            target = CODEC_TARGETS.get(codec, (None,))[0]
        elif direction == "decode":
            target = CODEC_TARGETS.get(codec, (None, OTHER_DECODE_TARGET))[1]
        rows.append(
            {
                "direction": direction,
                "codec": codec,
                "gb_per_second": found["bytes_per_second"] / GB,
                "memcpy_gb_per_second": found["memcpy"] / GB,
                "ratio": _ratio(found, "x_memcpy"),
                "target": target,
            }
        )
    return rows


def matvec(programs, settings):
    say("kernels beside reading")
    mib = settings.mib if settings.tiny else max(MATVEC_MIB, settings.mib)
    options = [f"--mib={mib}", f"--runs={settings.runs}"]
    if settings.tiny:
        options += ["--rows=16", "--benchmark_filter=/(f16|q4_0):"]
    rows, beside_rows1 = [], {}
    for found in _benchmarks(programs.path("bench_matvec"), *options):
        parts = _name(found).split("/")
        threads = int(parts.pop().removeprefix("threads:"))
        if parts[0] == "orders":
            beside_rows1[(parts[1], parts[2], threads)] = _ratio(found, "x_rows1")
            continue
        operation, codec, order = parts
        target = MATVEC_TARGETS.get((operation, short_name(codec)))
        rows.append(
            {
                "operation": operation,
                "codec": short_name(codec),
                "order": order,
                "threads": threads,
                "gb_per_second": found["bytes_per_second"] / GB,
                "read_gb_per_second": found["read"] / GB,
                "ratio": _ratio(found, "x_read"),
                "target": target if threads == MATVEC_TARGET_THREADS else None,
                "key": (operation, codec, threads),
            }
        )
    for row in rows:
        key = row.pop("key")
        row["ratio_to_rows1"] = beside_rows1.get(key) if row["order"] == "rows8" else None
    return rows


def checksum(programs, settings):
    say("checksums beside reading")
    return [
        {
            "name": _name(found),
            "gb_per_second": found["bytes_per_second"] / GB,
            "read_gb_per_second": found["read"] / GB,
            "ratio": _ratio(found, "x_read"),
        }
        for found in _benchmarks(programs.path("bench_checksum"), *_sized(settings))
    ]


def opening(programs, settings):
    say("opening, and a first decode")
    rows = []
    options = [f"--runs={settings.runs}"]
    if settings.tiny:
        options.append("--benchmark_filter=weights:130/")
    for found in _benchmarks(programs.path("bench_open"), *options):
        what, weights = _name(found).split("/weights:")
        counter = "x_hash" if what == "open" else "x_again"
        rows.append(
            {
                "what": what,
                "weights": int(weights),
                "milliseconds": found["real_time"],
                "ratio": _ratio(found, counter),
                "ratio_to": "hashing the same bytes" if what == "open" else "the second decode",
            }
        )
    return rows


# Of the many cases of bench_policy: what people have, and what growing costs.
POLICY_QUICK = r"^parse/policies:(50|500)$|^resolve/weights:(600|6000|60000)/policies:(50|500)$"
POLICY_TINY = r"^parse/policies:5$|^resolve/weights:600/policies:5$"


def policy(programs, settings):
    say("policies")
    chosen = POLICY_TINY if settings.tiny else POLICY_QUICK if settings.quick else "."
    options = [
        f"--benchmark_filter={chosen}",
        f"--benchmark_repetitions={settings.repetitions}",
        f"--benchmark_min_time={0.001 if settings.tiny else 0.1}",
    ]
    times = {}
    for found in _benchmarks(programs.path("bench_policy"), *options):
        if found["run_type"] == "iteration":
            times.setdefault(_name(found), []).append(found["real_time"])
    return [{"name": name, "milliseconds": spread(each)} for name, each in times.items()]
