#!/usr/bin/env python3
"""What the PyPI package safetensors sees of an artifact in several files, read as Hugging Face's
loaders read a checkpoint: by the index's weight_map.

    shard_values.py INDEX PLAIN dense|mixed

Every entry must open in the file that the map names, entries of the files and of the map must be
the same, and dense ones equal the tensors of PLAIN, one safetensors file of the same weights.
"""

import json
import os
import sys

import numpy
from safetensors import safe_open

OWN = {"__synps__", "__synps_sums__"}


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def main(index_path, plain_path, dense):
    folder = os.path.dirname(index_path)
    with open(index_path, encoding="utf-8") as file:
        text = file.read()
    index = json.loads(text)
    canonical = json.dumps(index, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    check(text == canonical, "the index is not canonical JSON")
    weight_map = index["weight_map"]
    files = sorted(set(weight_map.values()))
    check(files == sorted(index["metadata"]["synps.shards"]), "the index lists other shards")

    total = 0
    for name in files:
        with safe_open(os.path.join(folder, name), framework="numpy") as shard:
            mapped = {entry for entry, file in weight_map.items() if file == name}
            check(set(shard.keys()) == mapped | OWN, f"{name} holds other entries than the map says")
            digest = index["metadata"]["synps.shards"][name]
            check(shard.metadata()["synps.index"] == digest, f"{name} is another pack's")
            for entry in mapped:
                total += shard.get_tensor(entry).nbytes
    check(total == index["metadata"]["total_size"], f"{total} bytes of tensors")

    compared = 0
    with safe_open(plain_path, framework="numpy") as plain:
        for entry in plain.keys():
            if entry not in weight_map:
                check(f"{entry}#blocks" in weight_map, f"{entry} is in no shard")
                continue
            with safe_open(os.path.join(folder, weight_map[entry]), framework="numpy") as shard:
                ours, theirs = shard.get_tensor(entry), plain.get_tensor(entry)
                check(ours.shape == theirs.shape, entry)
                # Lossy weights are f32 in PLAIN, which holds what f16 does.
                same = numpy.array_equal(ours.astype(theirs.dtype), theirs, equal_nan=True)
                check(same, f"{entry} has other values")
                compared += 1
        if dense == "dense":
            check(compared == len(plain.keys()) == len(weight_map), f"{compared} of {len(weight_map)}")
    print(f"{len(files)} files, {len(weight_map)} entries, {compared} dense")


if __name__ == "__main__":
    main(*sys.argv[1:])
