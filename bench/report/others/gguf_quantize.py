"""Quantizes every tensor of a safetensors file with the numpy quantizers of the package gguf.

gguf_quantize.py INPUT OUTPUT TYPE

Writes the quantized bytes one after another, without a header, and syncs. Prints the seconds that
took, without the interpreter's start."""

import os
import sys
import time

import gguf
from safetensors_file import SafetensorsFile


def main():
    source, output, kind = sys.argv[1:]
    kind = gguf.GGMLQuantizationType[kind.upper()]
    begin = time.monotonic()
    tensors = SafetensorsFile(source)
    with open(output, "xb") as file:
        for name in tensors.entries:
            file.write(gguf.quants.quantize(tensors.values(name), kind).tobytes())
        file.flush()
        os.fsync(file.fileno())
    print(time.monotonic() - begin)


main()
