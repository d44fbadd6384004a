"""What a figure depends on besides the program: the machine, the system and the compiler."""

import os
import platform

from .processes import Failed, run
from .work_folder import file_system

SIMD_FLAGS = ("avx2", "f16c", "avx512f", "avx512_bf16", "asimd", "sve")


def _lines(path, separator):
    """KEY → VALUE of a file of such lines; the first of those that repeat."""
    found = {}
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                key, there, value = line.partition(separator)
                if there:
                    found.setdefault(key.strip(), value.strip().strip('"'))
    except OSError:
        pass
    return found


def _caches():
    """"L2 2048K" and so on, of the first core."""
    base = "/sys/devices/system/cpu/cpu0/cache"
    caches = []
    try:
        for index in sorted(os.listdir(base)):
            facts = {}
            for name in ("level", "type", "size"):
                path = os.path.join(base, index, name)
                if os.path.exists(path):
                    with open(path, encoding="utf-8") as file:
                        facts[name] = file.read().strip()
            if len(facts) == 3 and facts["type"] != "Instruction":
                caches.append(f"L{facts['level']} {facts['size']}")
    except OSError:
        pass
    return ", ".join(caches)


def _compiler(build):
    cache = _lines(os.path.join(build, "CMakeCache.txt"), "=")
    compiler = cache.get("CMAKE_CXX_COMPILER:FILEPATH") or cache.get("CMAKE_CXX_COMPILER:STRING")
    kind = cache.get("CMAKE_BUILD_TYPE:STRING", "")
    flags = cache.get(f"CMAKE_CXX_FLAGS_{kind.upper()}:STRING", "")
    version = ""
    if compiler:
        try:
            version = run([compiler, "--version"]).splitlines()[0]
        except (Failed, IndexError):
            pass
    return version, f"{kind} ({flags})"


def machine(programs, places):
    """Names and values for a table. `places`: name → folder that packs write to."""
    cpu = _lines("/proc/cpuinfo", ":")
    memory = _lines("/proc/meminfo", ":").get("MemTotal", "0 kB").split()[0]
    flags = cpu.get("flags", cpu.get("Features", "")).split()
    compiler, build = _compiler(programs.build)
    return {
        "processor": cpu.get("model name", platform.machine()),
        "cores": os.cpu_count(),
        "instructions": " ".join(flag for flag in SIMD_FLAGS if flag in flags),
        "caches": _caches(),
        "memory_bytes": int(memory) * 1024,
        "system": _lines("/etc/os-release", "=").get("PRETTY_NAME", platform.system()),
        "kernel": platform.release(),
        "file_systems": {name: file_system(folder) for name, folder in places.items()},
        "compiler": compiler,
        "build": build,
        "synps": run([programs.path("synps"), "--version"]).strip(),
    }


def load():
    """Processes that ran or waited in the last minute, on average: what else the machine did."""
    return os.getloadavg()[0]
