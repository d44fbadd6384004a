"""What the integration tests share: running synps, and reading and damaging safetensors files with
the standard library alone."""

import hashlib
import json
import os
import struct
import subprocess
from collections import namedtuple

SYNPS = os.environ.get("SYNPS_BINARY", "synps")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SAMPLE = os.path.join(ROOT, "examples", "tiny-llama")
EXAMPLE_POLICY = os.path.join(ROOT, "synps.toml.example")
MAKE_SAMPLE = os.path.join(ROOT, "scripts", "make-sample")

Entry = namedtuple("Entry", "dtype shape begin end")  # bytes from the start of the file
Safetensors = namedtuple("Safetensors", "metadata entries data_start size")


class CommandFailed(AssertionError):
    """synps ended with another exit code than the test expects."""


def synps(*arguments, expect=0):
    """Runs synps and returns the finished process, its output as text."""
    command = [SYNPS, *map(str, arguments)]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != expect:
        raise CommandFailed(
            f"{' '.join(command)}\nexit code {done.returncode}, expected {expect}\n"
            f"-- stdout\n{done.stdout}\n-- stderr\n{done.stderr}"
        )
    return done


def synps_json(*arguments, expect=0):
    return json.loads(synps(*arguments, "--json", expect=expect).stdout)


def read_safetensors(path):
    """Header of a safetensors file; entries in the order of their bytes."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    start = 8 + length
    metadata = header.pop("__metadata__", {})
    entries = {
        name: Entry(
            entry["dtype"],
            entry["shape"],
            start + entry["data_offsets"][0],
            start + entry["data_offsets"][1],
        )
        for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"])
    }
    return Safetensors(metadata, entries, start, size)


def read_bytes(path, begin, end):
    with open(path, "rb") as file:
        file.seek(begin)
        return file.read(end - begin)


def checkpoint_tensors(folder):
    """Every tensor of a folder with a shard index: name -> (dtype, shape, bytes)."""
    with open(os.path.join(folder, "model.safetensors.index.json"), encoding="utf-8") as file:
        weight_map = json.load(file)["weight_map"]
    tensors = {}
    for shard in sorted(set(weight_map.values())):
        path = os.path.join(folder, shard)
        for name, entry in read_safetensors(path).entries.items():
            tensors[name] = (entry.dtype, entry.shape, read_bytes(path, entry.begin, entry.end))
    return tensors


def file_tensors(path):
    return {
        name: (entry.dtype, entry.shape, read_bytes(path, entry.begin, entry.end))
        for name, entry in read_safetensors(path).entries.items()
    }


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def write_text(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path
