#!/usr/bin/env python3
"""Packs the sample into several files and looks at them with every command, and with the PyPI
package safetensors.

Ends with 77 (skipped) when no Python package index can be reached and nothing is cached, or with 1
then if SYNPS_REQUIRE_NETWORK=1.
"""

import os
import shutil
import subprocess
import sys
import tempfile

import python_cache
from support import SAMPLE, sha256, synps, synps_json, write_text

HERE = os.path.dirname(os.path.abspath(__file__))
HEAD = '[myelin]\nformats = ["bf16"]\n\n[policies."*"]\nfallback = "f16"\n\n'
POLICIES = {
    "dense": '[[policies."*".schemes]]\nformat = "f16"\n',
    "mixed": (
        '[[policies."*".schemes]]\nformat = "f16"\n\n'
        '[[policies."model.layers".schemes]]\nformat = "q8_0"\n'
    ),
}
LIMIT = 600_000


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def sizes(folder):
    return {name: os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)}


def check_set(kind, python, folder):
    policy = write_text(os.path.join(folder, f"{kind}.toml"), HEAD + POLICIES[kind])
    one = os.path.join(folder, f"{kind}.synps")
    plain = os.path.join(folder, f"{kind}.safetensors")
    synps("pack", SAMPLE, "-p", policy, "-o", one)
    synps("unpack", one, "-o", plain)

    out = os.path.join(folder, kind)
    os.mkdir(out)
    model = os.path.join(out, "model.safetensors")
    planned = synps_json(
        "pack", SAMPLE, "-p", policy, "-o", model, "--max-shard-size", LIMIT, "--dry-run"
    )
    check(not os.listdir(out), "a dry run writes")
    seen = set()
    for jobs in (1, 2, 8):
        synps("pack", SAMPLE, "-p", policy, "-o", model, "--max-shard-size", LIMIT,
              "--jobs", jobs, "--force")
        seen.add(tuple(sorted((name, sha256(os.path.join(out, name))) for name in os.listdir(out))))
    check(len(seen) == 1, f"packing with 1, 2 and 8 jobs gives {len(seen)} different sets")

    found = sizes(out)
    count = len(found) - 1
    check(count > 1, "one shard only")
    names = [f"model-{i + 1:05}-of-{count:05}.safetensors" for i in range(count)]
    check(sorted(found) == sorted(names + ["model.safetensors.index.json"]), sorted(found))
    files = [*planned["shards"], planned["shard_index"]]
    check({file["file"]: file["bytes"] for file in files} == found, "sizes are not as planned")
    check(planned["artifact_bytes"] == sum(found.values()), "the sum is not as planned")
    check(all(found[name] <= LIMIT for name in names), "a shard is larger than the limit")

    index = os.path.join(out, "model.safetensors.index.json")
    subprocess.run(
        [python, "-B", os.path.join(HERE, "shard_values.py"), index, plain, kind], check=True
    )
    for path in (index, out):
        verified = synps_json("verify", path, "--against", SAMPLE)
        check(verified["ok"] and verified["bytes"] == sum(found.values()), verified["problems"])
        whole = synps_json("verify", one, "--against", SAMPLE)
        check(verified["weights"] == whole["weights"], "weights are off by different errors")
        again = os.path.join(folder, "again.safetensors")
        synps("unpack", path, "-o", again, "--force")
        check(sha256(again) == sha256(plain), "shards unpack to another file")
        check(synps_json("inspect", path)["file_bytes"] == sum(found.values()), "inspect")
        check(synps_json("plan", path)["shards"] == planned["shards"], "plan of the artifact")
    for name in names:
        check(synps_json("verify", os.path.join(out, name))["ok"], f"{name} alone")
    synps("pack", out, "-p", policy, "-o", os.path.join(folder, "no"), expect=3)
    check_damage(out, names, index)


def check_damage(out, names, index):
    """A flipped bit and a shard of another run are found, and told with the shard."""
    path = os.path.join(out, names[1])
    with open(path, "r+b") as file:
        file.seek(-100, os.SEEK_END)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 16]))
    damaged = synps("verify", index, expect=5)
    check(names[1] in damaged.stderr, damaged.stderr)
    shutil.copyfile(os.path.join(out, names[0]), path)
    stale = synps("verify", index, expect=5)
    check(f"shard '{names[1]}'" in stale.stderr, stale.stderr)
    os.remove(path)
    missing = synps("inspect", index, expect=5)
    check("a shard is missing" in missing.stderr and names[1] in missing.stderr, missing.stderr)


def main():
    try:
        python = python_cache.environment(
            "safetensors", ["safetensors", "numpy"], "import numpy, safetensors"
        )
    except python_cache.IndexUnreachable as error:
        return python_cache.skipped("safetensors", error)
    for kind in POLICIES:
        with tempfile.TemporaryDirectory() as folder:
            check_set(kind, python, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
