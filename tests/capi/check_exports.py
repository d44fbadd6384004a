"""Compares the symbols that the shared library exports with what synps.h declares."""

import argparse
import pathlib
import re
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--nm", required=True)
parser.add_argument("--header", required=True)
parser.add_argument("library")
args = parser.parse_args()

declared = set(re.findall(r"SYNPS_API\s[^;(]*?\b(synps_\w+)\(", pathlib.Path(args.header).read_text()))
listing = subprocess.run([args.nm, "-D", "--defined-only", args.library],
                         capture_output=True, text=True, check=True).stdout
exported = {}
for line in listing.splitlines():
    *_, kind, name = line.split()
    if kind != "A":  # the name of the version
        exported[name.split("@")[0]] = (kind, name)

faults = [f"not exported: {name}" for name in sorted(declared - set(exported))]
faults += [f"exported, and not in the header: {name}" for name in sorted(set(exported) - declared)]
faults += [f"{name} is no function of version SYNPS_0" for name, (kind, versioned) in exported.items()
           if kind != "T" or not versioned.endswith("@@SYNPS_0")]
if len(declared) < 20:
    faults.append(f"the header declares but {len(declared)} functions")
print("\n".join(faults), file=sys.stderr)
sys.exit(1 if faults else 0)
