"""Makes the artifacts of v1/ that are not there yet, and what is expected of them.

    make_v1.py --synps BINARY --q8-row MODULE [NAME ...]

Artifacts in v1/ are frozen: every later synps must read these very bytes, so nothing here is ever
written over. A name that is there already is refused. What a new feature of version 1 needs is a
new recipe in recipes.py.

What is expected comes from tests/format/read_artifact.py, which shares nothing with synps; where
that decodes no such codec, from `synps unpack`, and `by` says so.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("cli", "format"):
    sys.path.insert(0, os.path.join(HERE, "..", folder))

import read_artifact  # noqa: E402
import recipes  # noqa: E402
from digests import little_endian, xxh3  # noqa: E402

V1 = os.path.join(HERE, "v1")


def run(synps, folder, *arguments):
    done = subprocess.run([synps, *arguments], cwd=folder, text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise SystemExit(f"synps {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")


def unpacked(synps, folder, artifact, options):
    """Path -> array of f32, of the weights that unpack decodes."""
    output = os.path.join(folder, "unpacked.safetensors")
    run(synps, folder, "unpack", artifact, "-o", output, "--force", *options)
    with open(output, "rb") as file:
        content = file.read()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + length])
    header.pop("__metadata__", None)
    values = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        if entry["dtype"] in read_artifact.WIDTH:
            values[name] = read_artifact.dense(content[begin:end], entry["dtype"])
    return values


def weights_of(path, decoded_by_synps):
    index, _, data, sums = read_artifact.read_index(path)
    for weight in index["weights"]:
        codec = index["codecs"][weight["codec"]]
        name = f"{codec['package']}:{codec['name']}"
        stored = {part["name"]: read_artifact.true_bytes(index, data, sums, weight, part)
                  for part in weight["components"]}
        row = {"path": weight["path"], "codec": name if codec["package"] else "keep",
               "revision": codec["revision"], "dtype": weight["dtype"], "shape": weight["shape"],
               "order": index["forms"][weight["form"]]["order"], "lossless": weight["lossless"],
               "history": read_artifact.history(index, weight),
               "stored": [xxh3(raw) for raw in stored.values()]}
        try:
            parts = {part["name"]: read_artifact.as_rows1(weight, name, part, stored[part["name"]])
                     for part in weight["components"]}
            values, by = read_artifact.decode(weight, name, parts), "read_artifact.py"
        except (ValueError, KeyError):
            values, by = decoded_by_synps()[weight["path"]], "synps unpack"
        if isinstance(values, bytes):  # nothing decodes it
            row |= {"values": None, "by": "read_artifact.py"}
        else:
            row |= {"values": xxh3(little_endian(values)), "by": by}
        yield row


def make(name, synps, module):
    recipe = recipes.ALL[name]
    needs_module = name == "package"
    with tempfile.TemporaryDirectory(prefix="synps-compat-") as folder:
        call = lambda *arguments: run(synps, folder, *arguments)
        recipe(folder, call, *([module] if needs_module else []))
        made = sorted(file for file in os.listdir(folder) if file.startswith("out"))
        options = ["--package", f"q8_row={module}"] if needs_module else []
        cache = {}

        def decoded(artifact):
            if artifact not in cache:
                cache[artifact] = unpacked(synps, folder, artifact, options)
            return cache[artifact]

        weights = []
        for file in made:
            if file.endswith(".synps"):
                weights += weights_of(os.path.join(folder, file), lambda: decoded(file))
        weights.sort(key=lambda row: row["path"].encode())
        if len(made) > 1:
            text = name_files(folder, made, name)
            opened = f"{name}.synps.index.json"
        else:
            text, opened = {made[0]: f"{name}.synps"}, f"{name}.synps"
        for file, final in text.items():
            shutil.copyfile(os.path.join(folder, file), os.path.join(V1, final))
    return {"open": opened, "files": sorted(text.values()), "holds": recipe.__doc__.strip(),
            "package": "q8_row" if needs_module else None, "weights": weights}


def name_files(folder, made, name):
    """Shards take their artifact's name, in the text of the shard index, too."""
    final = {file: file.replace("out", name, 1) for file in made}
    index = os.path.join(folder, "out.synps.index.json")
    with open(index, encoding="utf-8") as file:
        text = file.read()
    with open(index, "w", encoding="utf-8") as file:
        file.write(text.replace('"out-0', f'"{name}-0'))
    return final


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--synps", required=True, type=os.path.abspath)
    parser.add_argument("--q8-row", required=True, type=os.path.abspath)
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    os.makedirs(V1, exist_ok=True)
    path = os.path.join(V1, "expected.json")
    expected = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            expected = json.load(file)
    names = arguments.names or [name for name in recipes.ALL if name not in expected]
    there = os.listdir(V1)
    for name in names:
        if name in expected or any(file.startswith((name + ".", name + "-0")) for file in there):
            raise SystemExit(f"v1/{name} is there, and frozen")
    for name in names:
        expected[name] = make(name, arguments.synps, arguments.q8_row)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(dict(sorted(expected.items())), file, indent=1, ensure_ascii=False)
        file.write("\n")


if __name__ == "__main__":
    main()
