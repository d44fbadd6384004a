"""Virtual environments with Python packages that tests need, made once, in a cache folder.

Everything comes by package name through pip, with whatever index and settings its environment has.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys

SKIPPED = 77

# What pip says when no index answers, as opposed to an index that lacks a package.
UNREACHABLE = [
    "connection broken by",
    "NewConnectionError",
    "Max retries exceeded",
    "name resolution",
    "ProxyError",
    "Connection refused",
    "Read timed out",
    "ConnectTimeout",
    "Could not fetch URL",
]


class IndexUnreachable(Exception):
    """No Python package index answers."""


def cache_folder(name):
    default = os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "synps"
    )
    return os.path.join(os.environ.get("SYNPS_CACHE_DIR") or default, name)


@contextlib.contextmanager
def locked(folder):
    """Makes the folder. Tests that run at the same time wait for the first."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run_pip(python, *arguments):
    command = [python, "-m", "pip", "--no-input", "--disable-pip-version-check", *arguments]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return
    if os.environ.get("PIP_NO_INDEX") or any(mark in done.stdout for mark in UNREACHABLE):
        raise IndexUnreachable(done.stdout)
    raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}")


def ensure_environment(folder, packages, imports):
    """A virtual environment of this Python with the packages in it; returns its interpreter. The
    folder is locked by the caller. `imports` is a statement that works once they are there."""
    version = ".".join(map(str, sys.version_info[:2]))
    home = os.path.join(folder, f"venv-{version}")
    python, ready = os.path.join(home, "bin", "python"), os.path.join(home, "ready")
    if os.path.exists(ready):
        check = [python, "-c", imports]
        if os.path.exists(python) and subprocess.run(check, check=False).returncode == 0:
            return python
    shutil.rmtree(home, ignore_errors=True)
    made = subprocess.run(
        [sys.executable, "-m", "venv", home], capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        raise RuntimeError(
            f"python3 -m venv failed (is python3-venv installed?):\n{made.stdout}{made.stderr}"
        )
    run_pip(python, "install", "--quiet", *packages)
    open(ready, "w", encoding="utf-8").close()
    return python


def environment(name, packages, imports):
    """The same, cached under a name of its own. Raises IndexUnreachable when it must fetch and
    cannot."""
    folder = cache_folder(name)
    with locked(folder):
        return ensure_environment(folder, packages, imports)


def skipped(name, error):
    """The exit code of a test that cannot fetch what it needs, after saying so."""
    print(f"SKIPPED: no Python package index can be reached, and {cache_folder(name)} does not hold")
    print(f"everything that this test needs. pip said:\n{error}")
    if os.environ.get("SYNPS_REQUIRE_NETWORK") == "1":
        print("SYNPS_REQUIRE_NETWORK=1: that is a failure")
        return 1
    return SKIPPED
