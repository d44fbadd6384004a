#!/usr/bin/env python3
"""One policy, a safetensors and a GGUF checkpoint of one model: see both_worlds.py. The GGUF file is
written here, from the format's specification."""

import struct
import sys
import tempfile

import both_worlds

ALIGNMENT = 32
F32, F16 = 0, 1
UINT32, STRING = 4, 8


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def write_gguf(path, tensors):
    """Version 3: key-values, tensor descriptions, then data, each tensor at a multiple of 32."""
    values = [
        text("general.architecture") + struct.pack("<I", STRING) + text("llama"),
        text("general.file_type") + struct.pack("<II", UINT32, 1),
    ]
    infos, data = b"", b""
    for name, shape, numbers in tensors:
        type_, code = (F32, "f") if len(shape) == 1 else (F16, "e")
        infos += text(name) + struct.pack("<I", len(shape))
        infos += struct.pack(f"<{len(shape)}Q", *reversed(shape))
        infos += struct.pack("<IQ", type_, len(data))
        data += struct.pack(f"<{len(numbers)}{code}", *numbers)
        data += bytes(-len(data) % ALIGNMENT)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values)) + b"".join(values) + infos
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % ALIGNMENT) + data)


def main():
    with tempfile.TemporaryDirectory() as folder:
        count = both_worlds.check(folder, write_gguf)
    print(f"{count} weights decode alike")


if __name__ == "__main__":
    sys.exit(main())
