"""Tensors of a safetensors file as numpy arrays of f32. Runs in the virtual environment that
scripts/bench makes."""

import json
import struct

import numpy as np

DTYPES = {"F32": np.float32, "F16": np.float16, "BF16": np.uint16}


class SafetensorsFile:
    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(length))
        header.pop("__metadata__", None)
        self.start = 8 + length
        self.entries = header

    def stored(self, name):
        """As stored, mapped; bf16 as u16."""
        entry = self.entries[name]
        return np.memmap(
            self.path,
            DTYPES[entry["dtype"]],
            "r",
            self.start + entry["data_offsets"][0],
            tuple(entry["shape"]),
        )

    def values(self, name):
        """f32."""
        stored = self.stored(name)
        if self.entries[name]["dtype"] == "BF16":
            return (stored.astype(np.uint32) << 16).view(np.float32)
        return stored.astype(np.float32)
