"""Quantizes a GGUF model with llama_model_quantize of the package llama-cpp-python.

llama_quantize.py INPUT OUTPUT TYPE THREADS

All matrices get the type ("pure"). Syncs the output. Prints the seconds that took, without the
interpreter's start."""

import os
import sys
import time

import llama_cpp

TYPES = {
    "f16": llama_cpp.LLAMA_FTYPE_MOSTLY_F16,
    "q4_0": llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_0,
    "q8_0": llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0,
    "bf16": llama_cpp.LLAMA_FTYPE_MOSTLY_BF16,
    "tq2_0": llama_cpp.LLAMA_FTYPE_MOSTLY_TQ2_0,
}


def main():
    source, output, kind, threads = sys.argv[1:]
    parameters = llama_cpp.llama_model_quantize_default_params()
    parameters.nthread = int(threads)
    parameters.ftype = TYPES[kind]
    parameters.pure = True
    llama_cpp.llama_backend_init()
    begin = time.monotonic()
    if llama_cpp.llama_model_quantize(source.encode(), output.encode(), parameters) != 0:
        sys.exit("llama_model_quantize failed")
    with open(output, "rb") as file:
        os.fsync(file.fileno())
    print(time.monotonic() - begin)


main()
