"""docs/policy.md: its tables have every message of policy/, its files pass `synps check`, and its
commands print what is printed there.

A block of TOML with a name (```toml base.toml) is a file. The blocks up to one named synps.toml are
checked together; a console block that follows runs beside them.
"""

import glob
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

from suite_docs import abridged, steps
from support import SYNPS, default_signals

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOCUMENT = os.path.join(ROOT, "docs", "policy.md")
BLOCK = re.compile(r"^```(toml [\w.]+|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"')
# Where a message is made: `what = …` and what its parts say; and a fault of a pattern.
WHAT = re.compile(r"\b(?:what|warning)\s*\+?=(?!=)\s*|\bComplaint\{|\bfail\(\{")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def without_comments(code):
    return re.sub(r'("(?:[^"\\]|\\.)*")|//[^\n]*', lambda m: m[1] or "", code)


def expression_at(code, start):
    """The expression that begins there: up to a comma, semicolon or bracket outside all of it."""
    depth, at = 0, start
    while at < len(code):
        literal = LITERAL.match(code, at)
        if literal:
            at = literal.end()
            continue
        if code[at] in "([{":
            depth += 1
        elif code[at] in ")]}":
            depth -= 1
        if depth < 0 or (depth == 0 and code[at] in ",;"):
            break
        at += 1
    return code[start:at]


def texts_in(expression, constants):
    for name, value in constants.items():
        expression = re.sub(rf"\b{name}\b", lambda _, v=value: v, expression)
    joined = re.sub(r'"\s*"', "", expression)
    return [match[0][1:-1] for match in LITERAL.finditer(joined)]


def as_documented(text):
    """`text` without its variable end, and with … for what else varies."""
    text = text.replace("\\\\", "\\").replace('\\"', '"')
    text = re.sub(r"(:?\s*\{\})+$", "", text)
    return text.replace("{}", "…")


def messages_of(code):
    """Every text that the code gives to `what` of a Problem."""
    code = without_comments(code)
    constants = {
        match[1]: match[2]
        for match in re.finditer(r'\b(k[A-Z]\w*)\s*=\s*((?:"(?:[^"\\]|\\.)*"\s*)+);', code)
    }
    found = set()
    for match in WHAT.finditer(code):
        if match[0].startswith(("fail", "Complaint")):
            # The first member is the column, the second the message.
            column = expression_at(code, match.end())
            expression = expression_at(code, match.end() + len(column) + 1)
            if ".what" in column or ".what" in expression:
                continue
        else:
            expression = expression_at(code, match.end())
        for text in texts_in(expression, constants):
            # What begins with a variable continues another text.
            if re.match(r"[`A-Za-z]", text) and as_documented(text):
                found.add(as_documented(text))
    return found


def documented_messages():
    text = read(DOCUMENT)
    section = text[text.index("\n## Error messages\n"):text.index("\n## Recipes\n")]
    found = []
    for row in re.findall(r"^\| (`.*?) \| .* \|$", section, re.MULTILINE):
        found += [match[2].strip() for match in re.finditer(r"(`+)(.+?)\1(?!`)", row)]
    return found


class Policy(unittest.TestCase):
    maxDiff = None

    def test_every_message_has_its_row(self):
        made = {}
        for path in sorted(glob.glob(os.path.join(ROOT, "policy", "*.cpp"))):
            for message in messages_of(read(path)):
                made.setdefault(message, os.path.basename(path))
        self.assertGreater(len(made), 50)
        documented = documented_messages()
        self.assertEqual(len(documented), len(set(documented)), "a message stands twice")
        missing = {message: where for message, where in made.items() if message not in documented}
        self.assertEqual(missing, {}, "docs/policy.md lacks them")
        # Some are said elsewhere, too, and made there.
        shared = messages_of(read(os.path.join(ROOT, "core", "conversion.cpp")))
        self.assertEqual(set(documented) - set(made) - shared, set(), "nothing says these")

    def test_extraction(self):
        self.assertEqual(
            messages_of(
                'Problem problem{.what = many ? "ambiguous codec" : "unknown codec", .found = "x"};\n'
                'problem.what += fmt::format(": {}", text);\n'
                'add({.what = fmt::format("in {} of {}: {}",\n  a, b, c)});\n'
                'add({.what = "two "\n "parts", .hint = "no"}); // what = "comment"\n'
                'constexpr std::string_view kThis = "a " "constant";\n'
                'Problem other{.what = std::string(kThis), .field = "format"};\n'
                'fail({at_, "a fault", quote("x"), "wanted"});\n'
                'fail({line_, column_}, {.what = "another",\n .found = "y"});\n'
                'if (problem.what == "compared") return;\n'
            ),
            {"ambiguous codec", "unknown codec", "in … of", "two parts", "a constant", "a fault",
             "another"},
        )

    def synps(self, *arguments):
        return subprocess.run([SYNPS, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL,
                              preexec_fn=default_signals, capture_output=True, text=True, check=False)

    def test_files_and_commands(self):
        self.folder = tempfile.mkdtemp(prefix="synps-policy-docs-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.symlink(os.path.join(ROOT, "examples"), os.path.join(self.folder, "examples"))
        policies = commands = 0
        for kind, text in BLOCK.findall(read(DOCUMENT)):
            if kind == "console":
                for command, wanted in steps(text):
                    done = self.synps(*shlex.split(command)[1:])
                    self.assertEqual(done.returncode, 0, (command, done.stderr))
                    self.assertEqual(abridged(done.stdout + done.stderr, wanted), wanted, command)
                    commands += 1
                continue
            name = kind.split()[1]
            if name == "packages":
                name = "packages.toml"
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
            done = self.synps("check", "-p", name)
            # A package that the page makes up is all that is missing.
            self.assertEqual(done.returncode, 9 if name == "packages.toml" else 0,
                             (text, done.stdout, done.stderr))
            policies += 1
        self.assertGreaterEqual(policies, 5)
        self.assertGreaterEqual(commands, 1)


if __name__ == "__main__":
    unittest.main()
