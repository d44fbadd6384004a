"""Compares the hex dump in docs/format.md with what the format_hexdump program prints.

check_hexdump.py PROGRAM DOCUMENT            exit code 1 when they differ
check_hexdump.py PROGRAM DOCUMENT --update   writes the program's dump into the document
"""

import difflib
import pathlib
import subprocess
import sys

BEGIN = "<!-- hexdump begin -->\n```text\n"
END = "```\n<!-- hexdump end -->\n"


def main(program, document, *options):
    dump = subprocess.run([program], check=True, capture_output=True).stdout.decode()
    path = pathlib.Path(document)
    text = path.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"{document}: want the hex dump between one pair of markers\n{BEGIN}{END}")
    before, rest = text.split(BEGIN)
    shown, after = rest.split(END)
    if options == ("--update",):
        path.write_text(before + BEGIN + dump + END + after, encoding="utf-8")
        return
    if shown != dump:
        sys.stderr.writelines(difflib.unified_diff(
            shown.splitlines(True), dump.splitlines(True), document, program))
        sys.exit(f"\n{document} does not show the artifact that this build writes.\nIf the format is "
                 f"meant to change, run:\n  python3 {sys.argv[0]} {program} {document} --update")


if __name__ == "__main__":
    main(*sys.argv[1:])
