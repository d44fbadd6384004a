"""Whole packs beside a baseline in the same run.

The baseline reads the input through the page cache into a reused buffer and writes as many bytes as
the artifact has, on as many threads and as durably (bench/copy_baseline.cpp). Both take turns, and
change who is first, so that what else the machine does falls on both."""

import itertools
import os

from .processes import Failed, run, run_measured, say
from .settings import (
    PACK_TARGET,
    PACK_TARGET_CODECS,
    PACK_TARGET_WORKERS,
    SOURCES,
    artifact_bound,
    pack_cases,
)
from .statistics_of import spread
from .work_folder import free_bytes

INPUT = "input.safetensors"
OUTPUT = "output"
POLICY = "policy.toml"
RESERVE = 256 << 20  # bytes that stay free


def policy_text(codec):
    formats = ", ".join(f'"{source}"' for source in SOURCES)
    return f'[myelin]\nformats = [{formats}]\n\n[[policies."*".schemes]]\nformat = "{codec}"\n'


def policy_name(policy):
    """The codec, or a policy file's name without folder."""
    return os.path.basename(policy) if _is_file(policy) else policy


def _is_file(policy):
    return policy.endswith(".toml")


def check_space(cases, settings):
    """Leaves out what has no room on the tmpfs; raises Failed when the disk has none."""
    if not cases:
        return cases
    room = {name: free_bytes(folder) for name, folder in settings.places.items()}
    if "tmpfs" in room:  # what it holds is memory, where the input's page cache is too
        room["tmpfs"] = min(room["tmpfs"], _available_memory() - max(case.bytes for case in cases))
    need = max(
        case.bytes + (artifact_bound(case) if case.place == "disk" else 0) for case in cases
    )
    if need + RESERVE > room["disk"]:
        raise Failed(
            f"{settings.places['disk']} has {room['disk']:,} bytes free and"
            f" {need + RESERVE:,} are needed: choose another --folder or smaller --sizes"
        )
    fits = [
        case
        for case in cases
        if case.place != "tmpfs" or artifact_bound(case) + RESERVE <= room["tmpfs"]
    ]
    if len(fits) < len(cases):
        say(f"{len(cases) - len(fits)} packs have no room in {settings.places['tmpfs']}: left out")
    return fits


def _available_memory():
    with open("/proc/meminfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0


def make_input(programs, work, source, size):
    """Replaces the input. Afterwards it is in the page cache, written back."""
    work.remove(INPUT)
    say(f"input of {size:,} bytes of {source}")
    run([programs.path("make_checkpoint"), source, size, work.file(INPUT)])
    return os.path.getsize(work.file(INPUT))


class Contest:
    """One case: packs and baselines in turn."""

    def __init__(self, programs, folders, case, settings):
        self.programs = programs
        self.work = folders["disk"]
        self.place = folders[case.place]
        self.case = case
        policy = case.policy
        if not _is_file(policy):
            policy = self.work.file(POLICY)
            with open(policy, "w", encoding="utf-8") as file:
                file.write(policy_text(case.policy))
        self._pack = [programs.path("synps"), "pack", self.work.file(INPUT), "-p", policy]
        self._pack += ["-o", self.place.file(OUTPUT), "-q", "-j", case.workers]
        self._pack += settings.pack_arguments
        self.artifact_bytes = 0

    def pack(self):
        self.place.remove(OUTPUT)
        found, _ = run_measured(self.programs, self.work.path, self._pack)
        self.artifact_bytes = os.path.getsize(self.place.file(OUTPUT))
        self.place.remove(OUTPUT)
        return found

    def baseline(self):
        self.place.remove(OUTPUT)
        command = [self.programs.path("copy_baseline"), self.work.file(INPUT)]
        command += [self.place.file(OUTPUT), self.artifact_bytes, self.case.workers]
        found, _ = run_measured(self.programs, self.work.path, command)
        self.place.remove(OUTPUT)
        return found


def measure(programs, folders, case, input_bytes, settings):
    contest = Contest(programs, folders, case, settings)
    contest.pack()  # unmeasured: programs and input come into memory, the artifact's size is known
    packs, baselines = [], []
    for repetition in range(settings.repetitions):
        if repetition % 2 == 0:
            packs.append(contest.pack())
            baselines.append(contest.baseline())
        else:
            baselines.append(contest.baseline())
            packs.append(contest.pack())
    pairs = list(zip(packs, baselines))
    return {
        "source": case.source,
        "policy": policy_name(case.policy),
        "arguments": " ".join(settings.pack_arguments),
        "workers": case.workers,
        "place": case.place,
        "nominal_bytes": case.bytes,
        "input_bytes": input_bytes,
        "artifact_bytes": contest.artifact_bytes,
        "repetitions": settings.repetitions,
        "seconds": spread([p["seconds"] for p in packs]),
        "baseline_seconds": spread([b["seconds"] for b in baselines]),
        "ratio": spread([p["seconds"] / b["seconds"] for p, b in pairs]),
        "processor_ratio": spread([_processor(p) / max(_processor(b), 1e-6) for p, b in pairs]),
        "target": _target(case, settings),
        "user_seconds": spread([p["user_seconds"] for p in packs])["median"],
        "system_seconds": spread([p["system_seconds"] for p in packs])["median"],
        "max_rss_bytes": max(p["max_rss_bytes"] for p in packs),
    }


def _processor(report):
    return report["user_seconds"] + report["system_seconds"]


def _target(case, settings):
    held = case.policy in PACK_TARGET_CODECS and case.workers == PACK_TARGET_WORKERS
    return PACK_TARGET if held and not settings.pack_arguments else None


def packs(programs, folders, settings, rows):
    """Adds a row a case to `rows`, so that an interrupted run keeps what it has."""
    cases = check_space(pack_cases(settings), settings)
    done = 0
    for (size, source), group in itertools.groupby(cases, key=lambda c: (c.bytes, c.source)):
        input_bytes = make_input(programs, folders["disk"], source, size)
        for case in group:
            done += 1
            say(
                f"[{done}/{len(cases)}] {source} -> {policy_name(case.policy)},"
                f" {case.workers} workers, {case.place}"
            )
            rows.append(measure(programs, folders, case, input_bytes, settings))
    folders["disk"].remove(INPUT)
