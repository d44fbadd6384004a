#!/usr/bin/env python3
"""Runs suites of command line tests: run_cli_tests.py --synps PROGRAM [--update] [SUITE...]

All suites (SUITES below) when none is named. --update rewrites the expected text in cases/ and in
docs/cli.md with what the program prints, to be read before it is kept.
"""

import argparse
import importlib
import os
import sys
import unittest

SUITES = ["cases", "check", "diff", "docs", "explain", "init", "json", "output", "policy", "signals", "streams"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--synps", required=True)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("suites", nargs="*", metavar="SUITE")
    options = parser.parse_args()
    os.environ["SYNPS_BINARY"] = os.path.abspath(options.synps)
    if options.update:
        os.environ["SYNPS_UPDATE_CASES"] = "1"
    sys.dont_write_bytecode = True
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    loader = unittest.TestLoader()
    tests = unittest.TestSuite(
        loader.loadTestsFromModule(importlib.import_module(f"suite_{name}"))
        for name in options.suites or SUITES
    )
    result = unittest.TextTestRunner(verbosity=2).run(tests)
    sys.exit(0 if result.testsRun > 0 and result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
