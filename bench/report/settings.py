"""What is to be measured: the command line's answer to that."""

from collections import namedtuple
from dataclasses import dataclass, field

GB = 10**9
SOURCES = ("f32", "f16", "bf16")
CODECS = ("f16", "bf16", "q8_0", "q4_0", "ternary:tq2_0", "ternary")
SIZES = (GB // 10, GB, 4 * GB)
WORKERS = (1, 2)
PARTS = ("codecs", "matvec", "checksum", "open", "policy", "pack", "counts")

# What packing with two workers is to take at most, as a multiple of the baseline's time.
PACK_TARGET = 1.5
PACK_TARGET_CODECS = ("f16", "bf16", "q8_0", "q4_0")
PACK_TARGET_WORKERS = 2

SOURCE_BITS = {"f32": 32, "f16": 16, "bf16": 16}
CODEC_BITS = {"f16": 16, "bf16": 16, "q8_0": 9, "q4_0": 5}
CODEC_BITS.update({"ternary": 3, "ternary:absmean": 3, "ternary:tq1_0": 3, "ternary:tq2_0": 3})
MOST_BITS = 32  # of a codec or a policy file that is not among these

# A pack to be measured. `policy`: a codec, or the path of a policy file. `place`: "disk", "tmpfs".
Case = namedtuple("Case", "bytes source policy workers place")


@dataclass
class Settings:
    parts: tuple = PARTS
    quick: bool = True
    tiny: bool = False  # a test, not a measurement
    mib: int = 256
    runs: int = 9
    repetitions: int = 3
    sizes: tuple = ()  # bytes; empty: as quick or full says
    sources: tuple = SOURCES
    policies: tuple = CODECS
    workers: tuple = ()
    places: dict = field(default_factory=dict)  # name → folder
    pack_arguments: tuple = ()
    gguf: bool = False
    llama_cpp: bool = False
    venv: str = ""  # folder of a virtual environment that stays; empty: in the work folder


def pack_cases(settings):
    """All packs to measure, those that share an input together, small inputs first."""
    every = [
        Case(size, source, policy, workers, place)
        for size in settings.sizes or SIZES
        for source in settings.sources
        for policy in settings.policies
        for workers in settings.workers or WORKERS
        for place in settings.places
    ]
    if settings.quick and not settings.sizes:
        every = [case for case in every if _in_quick_set(case, settings)]
    return sorted(every, key=lambda case: (case.bytes, settings.sources.index(case.source)))


def _in_quick_set(case, settings):
    """Everything at 1 GB with two workers; of one worker and of other sizes a part."""
    if case.bytes != GB:
        grows = (case.source, case.policy) in (("bf16", "q8_0"), ("f32", "q4_0"))
        return grows and case.workers == 2
    alone = settings.workers and 2 not in settings.workers
    return case.workers == 2 or alone or (case.source == "bf16" and case.place == "tmpfs")


def artifact_bound(case):
    """Bytes that the artifact of a case takes at most, about."""
    bits = CODEC_BITS.get(case.policy, MOST_BITS)
    return case.bytes * bits // SOURCE_BITS[case.source] + (64 << 20)
