#!/usr/bin/env python3
"""The JSON Schema of synps.toml, held by an independent validator (the Python package jsonschema)
against the parser: both take the same files, and both refuse the same faults.

    test_policy_schema.py SYNPS

Ends with 77 (skipped) where jsonschema is missing, or with 1 then if SYNPS_REQUIRE_NETWORK=1.
scripts/install-deps installs it.
"""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
SYSTEM_PYTHON = "/usr/bin/python3"  # where Debian's packages are, if another comes first
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

try:
    import tomllib

    import jsonschema
except ImportError:
    if os.access(SYSTEM_PYTHON, os.X_OK) and not os.environ.get("SYNPS_TEST_SYSTEM_PYTHON"):
        os.environ["SYNPS_TEST_SYSTEM_PYTHON"] = "1"
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, "-B", *sys.argv])
    print("the Python package jsonschema (Debian: python3-jsonschema) is missing")
    sys.exit(1 if os.environ.get("SYNPS_REQUIRE_NETWORK") else SKIPPED)

# What the parser says of the faults that a schema can find.
SCHEMA_FAULTS = ("unknown key", "unknown value", "wrong type", "a key is missing", "not a size in bytes",
                 "unknown compression level")

# (what is wrong, file): the schema and the parser refuse each.
BAD = [
    ("an unknown table", "[policy]\n"),
    ("an unknown key", '[policies."*"]\nformat = "f16"\n'),
    ("a misspelt table", '[policies."*".from]\norder = "auto"\n'),
    ("a scheme that is a table", '[policies."*".schemes]\nformat = "f16"\n'),
    ("a scheme without a format", '[[policies."*".schemes]]\nscope = "any"\n'),
    ("a format that is a number", '[[policies."*".schemes]]\nformat = 16\n'),
    ("an unknown scope", '[[policies."*".schemes]]\nformat = "f16"\nscope = "weights"\n'),
    ("a boolean as text", '[policies."*"]\noptional = "true"\n'),
    ("an unknown dtype", '[policies."*"]\ndtype = "f8"\n'),
    ("an unknown key of a profile", "[profiles.a]\nreserved = 1\n"),
    ("a profile that is text", '[profiles]\na = "edge"\n'),
    ("a size below 0", "[profiles.a]\nreserve = -1\n"),
    ("a size with another unit", '[profiles.a]\nmemory = "2G"\n'),
    ("a size that is a boolean", "[profiles.a]\nmemory = true\n"),
    ("a residency that leaves it open", '[profiles.a]\nresidency = "auto"\n'),
    ("an unknown order", '[policies."*".form]\norder = "rows8"\n'),
    ("an unknown compression", '[policies."*".form]\ncompress = "gzip"\n'),
    *((f"the compression level {level!r}", f'[policies."*".form]\ncompress = "zstd:{level}"\n')
      for level in ("", "0", "-1", "03", "20", "22", "190", "3 ", "x")),
    ("formats as text", '[myelin]\nformats = "bf16"\n'),
    ("a format in a list that is a number", "[myelin]\nformats = [16]\n"),
    ("a pattern without quotes", '[policies.model.layers.form]\norder = "auto"\n'),
    ("a policy that is text", '[policies]\n"*" = "f16"\n'),
    ("a device that is text", '[devices]\nboard = "cpu"\n'),
    ("an unknown target", '[devices.board]\ntarget = "gpu"\n'),
    ("extends as a list", 'extends = ["base.toml"]\n'),
    ("a package that is text", '[packages]\nq8_row = "q8_row.so"\n'),
    ("a package without a path", "[packages.q8_row]\n"),
    ("a group without paths", '[groups.qkv]\nsame = ["format"]\n'),
    ("an unknown likeness", '[groups.qkv]\npaths = "**.{q,k}"\nsame = ["shape"]\n'),
]


class Subject:
    """The schema, and the parser behind `synps explain`."""

    def __init__(self, synps, folder):
        self.synps = synps
        self.folder = folder
        self.schema = json.loads(self.run("schema").stdout)
        jsonschema.Draft7Validator.check_schema(self.schema)
        self.validator = jsonschema.Draft7Validator(self.schema)

    def run(self, *arguments):
        return subprocess.run(
            [self.synps, *arguments],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def schema_faults(self, text):
        return [error.message for error in self.validator.iter_errors(tomllib.loads(text))]

    def parser_errors(self, text):
        with open(os.path.join(self.folder, "synps.toml"), "w", encoding="utf-8") as file:
            file.write(text)
        done = self.run("explain", "model.weight", "-p", "synps.toml")
        if done.returncode not in (0, 6, 7, 9):
            raise AssertionError(f"exit {done.returncode}: {done.stderr}")
        return [line for line in done.stderr.splitlines() if "error:" in line]

    def parser_schema_faults(self, text):
        return [line for line in self.parser_errors(text) if any(f in line for f in SCHEMA_FAULTS)]


def check(condition, what, text, *said):
    if not condition:
        raise AssertionError("\n".join([what, "-- file", text, "-- said", *map(str, said)]))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def good_files():
    """Policies that somebody may take as they are: (name, text)."""
    paths = [os.path.join(ROOT, "synps.toml.example")]
    paths += glob.glob(os.path.join(ROOT, "tests", "integration", "policies", "*.toml"))
    for path in sorted(paths):
        yield os.path.relpath(path, ROOT), read(path)
    blocks = re.findall(r"^```toml[^\n]*\n(.*?)^```$", read(os.path.join(ROOT, "docs", "policy.md")),
                        re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 10, blocks
    for number, block in enumerate(blocks, 1):
        yield f"docs/policy.md, block {number}", block


def corpus_files():
    """Files for and against the parser, where they are TOML at all."""
    for path in sorted(glob.glob(os.path.join(ROOT, "tests", "fuzz", "corpus", "fuzz_policy", "*"))):
        try:
            text = read(path)
            tomllib.loads(text)
        except (UnicodeDecodeError, tomllib.TOMLDecodeError):
            continue
        yield os.path.relpath(path, ROOT), text


def toml_key(name):
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def sample(name, schema):
    """TOML of a value that the schema takes."""
    if "enum" in schema:
        return json.dumps(schema["enum"][0])
    if "anyOf" in schema:
        return sample(name, schema["anyOf"][0])
    kind = schema["type"]
    if kind == ["integer", "string"]:
        return '"700MiB"'
    if kind == "boolean":
        return "true"
    if kind == "array":
        return f"[{sample(name, schema['items'])}]"
    if kind == "object":
        needed = [f"{key} = {sample(key, schema['properties'][key])}"
                  for key in schema.get("required", [])]
        return f"{{{', '.join(needed)}}}"
    return json.dumps({"device": "local", "paths": "**.{q,k}"}.get(name, "f16"))


def keys_of(schema, path=()):
    """Every key of the language: the tables around it, its name, and its schema."""
    for name, inner in schema["properties"].items():
        yield path, name, inner
        if inner["type"] == "array" and inner["items"]["type"] == "object":
            yield from keys_of(inner["items"], (*path, [name]))
        elif inner["type"] == "object" and "properties" in inner:
            yield from keys_of(inner, (*path, name))
        elif inner["type"] == "object":
            yield from keys_of(inner["additionalProperties"], (*path, name, "a"))


def document(path, name, inner, all_of):
    """A file that sets one key, with whatever its table needs besides."""
    plain = [part[0] if isinstance(part, list) else part for part in path]
    dotted = ".".join(map(toml_key, plain))
    header = "" if not path else f"[[{dotted}]]\n" if isinstance(path[-1], list) else f"[{dotted}]\n"
    besides = [f"{key} = {sample(key, all_of['properties'][key])}\n"
               for key in all_of.get("required", []) if key != inner["name"]]
    return header + "".join(besides) + f"{name} = {sample(inner['name'], inner)}\n"


def table_at(schema, path):
    for part in path:
        if isinstance(part, list):
            schema = schema["properties"][part[0]]["items"]
        elif "properties" in schema:
            schema = schema["properties"][part]
        else:
            schema = schema["additionalProperties"]
    return schema


def test_good_files(subject):
    count = 0
    for name, text in good_files():
        said = subject.schema_faults(text)
        check(not said, f"{name}: the schema refuses it", text, *said)
        said = subject.parser_schema_faults(text)
        check(not said, f"{name}: the parser refuses it", text, *said)
        count += 1
    print(f"{count} good files")


def test_bad_files(subject):
    for what, text in BAD:
        check(subject.schema_faults(text), f"the schema takes {what}", text)
        errors = subject.parser_schema_faults(text)
        check(errors, f"the parser takes {what}", text, *subject.parser_errors(text))
    print(f"{len(BAD)} bad files")


def test_corpus(subject):
    count = 0
    for name, text in corpus_files():
        by_schema, by_parser = subject.schema_faults(text), subject.parser_schema_faults(text)
        check(bool(by_schema) == bool(by_parser), f"{name}: they disagree", text, by_schema, by_parser)
        count += 1
    assert count > 0, "no corpus"
    print(f"{count} files of the corpus")


def test_every_key(subject):
    """Taken as it is, refused misspelt, and refused with a value of another type."""
    count = 0
    for path, name, schema in keys_of(subject.schema):
        inner, all_of = {**schema, "name": name}, table_at(subject.schema, path)
        text = document(path, name, inner, all_of)
        check(not subject.schema_faults(text), "the schema refuses a good key", text,
              *subject.schema_faults(text))
        said = subject.parser_schema_faults(text)
        check(not said, "the parser refuses a good key", text, *said)
        wrong = 20 if "integer" not in inner["type"] else True
        for text in (document(path, name + "x", inner, all_of),
                     document(path, name, {**inner, "enum": [wrong]}, all_of)):
            check(subject.schema_faults(text), "the schema takes a bad key", text)
            check(subject.parser_schema_faults(text), "the parser takes a bad key", text)
        count += 1
    assert count > 20, count
    print(f"{count} keys")


def main(synps):
    with tempfile.TemporaryDirectory(prefix="synps-schema-") as folder:
        subject = Subject(os.path.abspath(synps), folder)
        test_good_files(subject)
        test_bad_files(subject)
        test_corpus(subject)
        test_every_key(subject)


if __name__ == "__main__":
    main(*sys.argv[1:])
