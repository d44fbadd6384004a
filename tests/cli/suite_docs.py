"""docs/cli.md: its commands print what is printed there. docs/gguf.md: its policy does what it says.

Console blocks run one after the other in one folder, where examples/ and synps.toml.example are
those of the project and synps.toml is a copy of the latter. `$ COMMAND` is followed by its output,
standard error after standard output; `> FILE` takes standard output, a line `...` stands for lines
that are left out, and digests may differ. `synps diff` may find differences. JSON is shown in lines, with long lists cut short.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

from fixtures import write_llama_gguf
from support import SYNPS, default_signals, without_digests

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOCUMENT = os.path.join(ROOT, "docs", "cli.md")
UPDATE = "SYNPS_UPDATE_CASES" in os.environ
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def steps(block):
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2]))


def abridged(text, wanted):
    """`wanted` when `text` is that but for digests and for lines that `wanted` leaves out."""
    pattern = "".join(
        "(?:.*\n)*?" if line == "...\n" else re.escape(line)
        for line in without_digests(wanted).splitlines(keepends=True)
    )
    return wanted if re.fullmatch(pattern, without_digests(text)) else text


def shortened(value):
    """JSON for people: lists of objects cut to their first, other long ones to two; in lines."""
    text = json.dumps(shorten_lists(value), indent=2, ensure_ascii=False)
    # Lists of plain values stay on one line.
    return re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda m: "[" + re.sub(r"\s+", " ", m[1]) + "]", text)


def shorten_lists(value):
    if isinstance(value, dict):
        return {key: shorten_lists(item) for key, item in value.items()}
    if isinstance(value, list):
        if len(value) > 1 and isinstance(value[0], dict):
            return [shorten_lists(value[0]), "..."]
        return [*value[:2], "..."] if len(value) > 12 else value
    return value


class Docs(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="synps-docs-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.symlink(os.path.join(ROOT, "examples"), os.path.join(self.folder, "examples"))
        for name in ("synps.toml.example", "synps.toml"):
            shutil.copy(os.path.join(ROOT, "synps.toml.example"), os.path.join(self.folder, name))

    def run_step(self, command):
        command, _, into = command.partition(" > ")
        arguments = shlex.split(command)
        self.assertEqual(arguments[0], "synps")
        done = subprocess.run([SYNPS, *arguments[1:]], cwd=self.folder, stdin=subprocess.DEVNULL,
                              preexec_fn=default_signals, capture_output=True, text=True,
                              check=False)
        fine = (0, 1) if arguments[1] == "diff" else (0,)
        self.assertIn(done.returncode, fine, (command, done.stderr))
        if into:
            with open(os.path.join(self.folder, into), "w", encoding="utf-8") as file:
                file.write(done.stdout)
            return done.stderr
        if "--json" in arguments:
            return shortened(json.loads(done.stdout)) + "\n"
        return done.stdout + done.stderr

    def replay(self, block):
        out = ""
        for command, wanted in steps(block[1]):
            printed = abridged(self.run_step(command), wanted)
            if not UPDATE:
                self.assertEqual(printed, wanted, command)
            out += f"$ {command}\n{printed}"
        return f"```console\n{out}```"

    def test_commands_print_what_is_printed_there(self):
        with open(DOCUMENT, encoding="utf-8") as file:
            text = file.read()
        self.assertGreater(len(BLOCK.findall(text)), 10)
        updated = BLOCK.sub(self.replay, text)
        if UPDATE:
            with open(DOCUMENT, "w", encoding="utf-8") as file:
                file.write(updated)

    def check_table(self, document, command):
        path = os.path.join(ROOT, "docs", document)
        begin, end = (f"<!-- {command}: {word} -->\n" for word in ("begin", "end"))
        with open(path, encoding="utf-8") as file:
            text = file.read()
        before, rest = text.split(begin)
        table, after = rest.split(end)
        printed = self.run_step(command)
        if UPDATE:
            with open(path, "w", encoding="utf-8") as file:
                file.write(before + begin + printed + end + after)
        else:
            self.assertEqual(printed, table)

    def test_the_table_of_forms_is_what_the_program_prints(self):
        self.check_table("runtime.md", "synps profiles --forms")

    def test_the_table_of_pairs_is_what_the_program_prints(self):
        self.check_table("codecs.md", "synps codecs --pairs")

    def test_the_conversion_in_the_docs_is_that_of_the_example(self):
        with open(os.path.join(ROOT, "examples", "convert_weight", "convert_weight.cpp"),
                  encoding="utf-8") as file:
            lines = file.read().split("// as in docs/runtime.md: begin\n")[1]
        lines = lines.split("  // as in docs/runtime.md: end\n")[0].splitlines(keepends=True)
        with open(os.path.join(ROOT, "docs", "runtime.md"), encoding="utf-8") as file:
            self.assertIn("```cpp\n" + "".join(line[2:] for line in lines) + "```\n", file.read())

    def test_every_option_is_described(self):
        with open(DOCUMENT, encoding="utf-8") as file:
            text = file.read()
        listed = subprocess.run([SYNPS, "--help"], capture_output=True, text=True, check=True)
        commands = re.findall(r"^  (\w+)  ", listed.stdout.split("Commands:")[1], re.MULTILINE)
        self.assertIn("pack", commands)
        for command in commands:
            self.assertIn(f"synps {command}", text)
            shown = subprocess.run([SYNPS, command, "--help"], capture_output=True, text=True,
                                   check=True)
            for option in re.findall(r"--[a-z][a-z-]+", shown.stdout):
                self.assertIn(f"`{option}", text, command)

    def test_the_policy_for_gguf_keeps_what_llama_cpp_wants_in_f32(self):
        with open(os.path.join(ROOT, "docs", "gguf.md"), encoding="utf-8") as file:
            policies = re.findall(r"^```toml\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
        self.assertEqual(len(policies), 1)
        with open(os.path.join(self.folder, "synps.toml"), "w", encoding="utf-8") as file:
            file.write(policies[0])
        write_llama_gguf(os.path.join(self.folder, "model-F16.gguf"))
        self.run_step("synps check model-F16.gguf -p synps.toml --to gguf --strict")
        self.run_step("synps pack model-F16.gguf -p synps.toml -o model-Q4_K_M.gguf")
        done = subprocess.run([SYNPS, "inspect", "model-Q4_K_M.gguf", "--json"], cwd=self.folder,
                              capture_output=True, text=True, check=True)
        found = {weight["path"]: weight["source"].split(":")[0]
                 for weight in json.loads(done.stdout)["weights"]}
        wanted = {"output_norm.weight": "f32", "rope_freqs.weight": "f32",
                  "token_embd.weight": "q4_k", "output.weight": "q6_k"}
        for layer in range(2):
            for names, encoding in {
                "attn_norm.weight ffn_norm.weight attn_q.bias": "f32",
                "attn_q.weight attn_k.weight attn_output.weight": "q4_k",
                "ffn_gate.weight ffn_up.weight": "q4_k",
                "attn_v.weight": "q6_k",
                "ffn_down.weight": "q8_0",  # its rows are no multiple of 256
            }.items():
                wanted.update({f"blk.{layer}.{name}": encoding for name in names.split()})
        self.assertEqual(found, wanted)
