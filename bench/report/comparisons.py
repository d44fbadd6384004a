"""The same work by others: the numpy quantizers of the Python package gguf, and llama_model_quantize
of llama-cpp-python. Both are fetched by name from the Python package index that pip uses, into a
virtual environment in the work folder; llama-cpp-python is built there, which takes long."""

import os
import sys

from .end_to_end import INPUT, OUTPUT, Contest, make_input
from .processes import Failed, run, run_measured, say
from .settings import GB, Case
from .statistics_of import spread
from .work_folder import free_bytes

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "others")
MODEL = "model.gguf"
BUILD_BYTES = 2 << 30  # of the virtual environment, and of building llama-cpp-python
# Their name of a type → the codec with the same bytes.
TYPES = {
    "f16": "f16",
    "bf16": "bf16",
    "q8_0": "q8_0",
    "q4_0": "q4_0",
    "tq2_0": "ternary:tq2_0",
}


class Environment:
    """A virtual environment with what the comparisons need: in the work folder, or in a folder of the
    user's, where it stays."""

    def __init__(self, work, kept):
        folder = os.path.abspath(kept) if kept else work.file("venv")
        self.python = os.path.join(folder, "bin", "python")
        if not os.path.exists(self.python):
            run([sys.executable, "-m", "venv", folder])

    def install(self, package, **environment):
        say(f"installing {package}")
        run(
            [self.python, "-m", "pip", "install", "-q", "--disable-pip-version-check", package],
            env={**os.environ, **environment},
        )
        shown = run([self.python, "-m", "pip", "show", package])
        version = next(line for line in shown.splitlines() if line.startswith("Version:"))
        return f"{package} {version.split()[1]}"

    def command(self, script, *arguments):
        return [self.python, os.path.join(SCRIPTS, script), *arguments]


class Other:
    """A program that does what pack does, and says itself how long it took."""

    def __init__(self, programs, tool, command):
        self.programs = programs
        self.tool = tool
        self.command = command  # of type and workers

    def run(self, work, kind, workers):
        work.remove(OUTPUT)
        command = self.command(kind, workers)
        report, said = run_measured(self.programs, work.path, command)
        report["seconds"] = float(said.split()[-1])
        report["output_bytes"] = os.path.getsize(work.file(OUTPUT))
        work.remove(OUTPUT)
        return report


def _compare(other, folders, case, settings):
    kind = next(name for name, codec in TYPES.items() if codec == case.policy)
    say(f"{other.tool}: {case.source} -> {kind}, {case.workers} workers")
    contest = Contest(other.programs, folders, case, settings)
    contest.pack()
    packs, others = [], []
    for _ in range(settings.repetitions):
        packs.append(contest.pack())
        others.append(other.run(folders["disk"], kind, case.workers))
    return {
        "tool": other.tool,
        "source": case.source,
        "policy": case.policy,
        "workers": case.workers,
        "input_bytes": case.bytes,
        "output_bytes": others[-1]["output_bytes"],
        "artifact_bytes": contest.artifact_bytes,
        "repetitions": settings.repetitions,
        "seconds": spread([each["seconds"] for each in others]),
        "synps_seconds": spread([pack["seconds"] for pack in packs]),
        "times_as_long": spread([o["seconds"] / p["seconds"] for o, p in zip(others, packs)]),
        "max_rss_bytes": max(each["max_rss_bytes"] for each in others),
        "synps_max_rss_bytes": max(pack["max_rss_bytes"] for pack in packs),
    }


def _policies(settings):
    return [policy for policy in settings.policies if policy in TYPES.values()]


def comparisons(programs, folders, settings, rows):
    """Adds a row a case to `rows`."""
    if not settings.gguf and not settings.llama_cpp:
        return
    work = folders["disk"]
    size = settings.sizes[0] if settings.sizes else GB
    if free_bytes(work.path) < 3 * size + BUILD_BYTES:
        raise Failed(f"comparisons need {3 * size + BUILD_BYTES:,} free bytes in {work.parent}")
    environment = Environment(work, settings.venv)
    gguf_version = environment.install("gguf")
    llama_version = _install_llama(environment) if settings.llama_cpp else None
    for source in settings.sources:
        input_bytes = make_input(programs, work, source, size)
        cases = [Case(input_bytes, source, policy, 1, "disk") for policy in _policies(settings)]
        if settings.gguf:
            quantize = Other(
                programs,
                gguf_version,
                lambda kind, _: environment.command(
                    "gguf_quantize.py", work.file(INPUT), work.file(OUTPUT), kind
                ),
            )
            rows += [_compare(quantize, folders, case, settings) for case in cases]
        if llama_version:
            run(environment.command("make_gguf.py", work.file(INPUT), work.file(MODEL)))
            llama = Other(
                programs,
                llama_version,
                lambda kind, workers: environment.command(
                    "llama_quantize.py", work.file(MODEL), work.file(OUTPUT), kind, str(workers)
                ),
            )
            for workers in settings.workers or (2,):
                for case in cases:
                    case = case._replace(workers=workers)
                    rows.append(_compare(llama, folders, case, settings))
            work.remove(MODEL)
    work.remove(INPUT)


def _install_llama(environment):
    """Name and version; None, and a note, when it cannot be built."""
    try:
        # Without what reads pictures.
        return environment.install(
            "llama-cpp-python", CMAKE_ARGS="-DLLAVA_BUILD=OFF", CMAKE_BUILD_PARALLEL_LEVEL="2"
        )
    except Failed as error:
        say(f"llama-cpp-python cannot be built, so nothing is compared with it:\n{error}")
        return None
