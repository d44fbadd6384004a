#!/usr/bin/env python3
"""Has the PyPI package gguf write files of every type it can, which synps must read alike.

Ends with 77 (skipped) when no Python package index can be reached and nothing is cached, or with 1
then if SYNPS_REQUIRE_NETWORK=1.
"""

import os
import subprocess
import sys
import tempfile

import python_cache

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    try:
        python = python_cache.environment("gguf", ["gguf==0.19.0", "numpy"], "import gguf, numpy")
    except python_cache.IndexUnreachable as error:
        return python_cache.skipped("gguf", error)
    with tempfile.TemporaryDirectory() as folder:
        command = [python, "-B", os.path.join(HERE, "gguf_files.py"), folder]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
