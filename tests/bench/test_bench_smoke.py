#!/usr/bin/env python3
"""scripts/bench on tiny inputs, once: what it measures is well formed, and it cleans up. How fast
anything was is not looked at."""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(ROOT, "scripts", "bench")
BUILD = os.environ["SYNPS_BUILD"]
sys.path.insert(0, os.path.join(ROOT, "bench"))

# pylint: disable=wrong-import-position
from report import counts, end_to_end, settings, tables
from report.processes import Failed
from report.programs import short_name
from report.statistics_of import spread
from report.work_folder import LOCK, PREFIX

PLACES = [
    (f"<!-- scripts/bench: {name} -->", f"<!-- scripts/bench: end of {name} -->")
    for name in ("results", "comparisons")
]


def document_of(results, comparisons):
    """A document with these tables."""
    (a, b), (c, d) = PLACES
    return f"before\n{a}\n{results}\n{b}\nbetween\n{c}\n{comparisons}\n{d}\nafter\n"


FEW = ("--sources", "f32,bf16", "--policies", "q8_0,ternary")


def command(folder, *options):
    return [sys.executable, "-B", SCRIPT, "--smoke", "--build", BUILD, "--folder", folder, *options]


def bench(folder, *options):
    return subprocess.run(
        command(folder, *options),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


class Smoke(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.work = os.path.join(self.temporary.name, "work")

    def file(self, name):
        return os.path.join(self.temporary.name, name)

    def bench_json(self, *options):
        done = bench(self.work, "--json", self.file("r.json"), *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.file("r.json"), encoding="utf-8") as file:
            return json.load(file)

    def check_spread(self, each):
        self.assertGreater(each["low"], 0)
        self.assertLessEqual(each["low"], each["median"])
        self.assertLessEqual(each["median"], each["high"])

    def check_tables(self, text):
        """Every row of a table has as many cells as its heading."""
        cells = 0
        for line in text.splitlines():
            self.assertEqual(line.startswith("|"), line.endswith("|") and line != "", line)
            found = line.count("|")
            if found and cells:
                self.assertEqual(found, cells, line)
            cells = found

    def test_everything(self):
        document = self.file("performance.md")
        with open(document, "w", encoding="utf-8") as file:
            file.write(document_of("old", "theirs"))
        report = self.bench_json(*FEW, "--update", document, "--markdown", self.file("t.md"))
        self.assertTrue(report["complete"])
        self.check_codecs(report["codecs"])
        self.check_kernels(report["matvec"])
        self.check_small_parts(report)
        self.check_packs(report)
        for row in report["counts"]:  # none without valgrind
            self.assertGreater(row["instructions_per_value"], 0.1)
            self.assertLess(row["instructions_per_value"], 10_000)
        with open(self.file("t.md"), encoding="utf-8") as file:
            shown = file.read()
        self.check_tables(shown)
        for heading in ("Codecs", "Kernels", "Checksums", "Opening", "Policies", "Packing 1 MB to disk"):
            self.assertIn(f"### {heading}\n", shown)
        self.assertNotIn(self.temporary.name, shown)
        with open(document, encoding="utf-8") as file:
            self.assertEqual(file.read(), document_of("\n" + shown, "theirs"))
        self.assertEqual(os.listdir(self.work), [])

    def check_codecs(self, rows):
        synps = os.path.join(BUILD, "cli", "synps")
        listed = json.loads(subprocess.check_output([synps, "codecs", "--json"]))
        names = {short_name(codec["codec"]) for codec in listed["codecs"]}
        encoders = {short_name(codec["codec"]) for codec in listed["codecs"] if codec["encodes"]}
        self.assertLess(encoders, names)
        found = {direction: set() for direction in ("analyse", "encode", "decode")}
        for row in rows:
            found[row["direction"]].add(row["codec"])
            self.check_spread(row["ratio"])
            self.assertGreater(row["gb_per_second"], 0)
        self.assertEqual(found["decode"], names)
        self.assertEqual(found["encode"], encoders)
        self.assertEqual(found["analyse"], {"ternary:absmean"})

    def check_kernels(self, rows):
        found = {(row["operation"], row["codec"], row["order"]) for row in rows}
        self.assertIn(("matvec", "f16", "rows1"), found)
        self.assertIn(("matvec_q8", "q4_0", "rows8"), found)
        self.assertEqual({row["threads"] for row in rows}, {1, 2})
        for row in rows:
            self.check_spread(row["ratio"])
            self.assertEqual(row["ratio_to_rows1"] is not None, row["order"] == "rows8")
            targeted = row["threads"] == 2 and row["operation"] != "matmul"
            self.assertEqual(row["target"] is not None, targeted)

    def check_small_parts(self, report):
        self.assertEqual(len(report["checksum"]), 6)
        self.assertEqual({row["what"] for row in report["open"]}, {"open", "first_decode"})
        for row in report["checksum"] + report["open"]:
            self.check_spread(row["ratio"])
        self.assertEqual(len(report["policy"]), 2)
        for row in report["policy"]:
            self.check_spread(row["milliseconds"])

    def check_packs(self, report):
        rows = report["pack"]
        disk = [row for row in rows if row["place"] == "disk"]
        self.assertEqual(
            {(row["source"], row["policy"]) for row in disk},
            {(source, policy) for source in ("f32", "bf16") for policy in ("q8_0", "ternary")},
        )
        for row in rows:
            self.assertEqual(row["repetitions"], 1)
            self.assertAlmostEqual(row["input_bytes"], 1_000_000, delta=10_000)
            self.assertLess(row["artifact_bytes"], row["input_bytes"])
            self.assertEqual(row["target"], 1.5 if row["policy"] == "q8_0" else None)
            # Less, and it would be memory of another process.
            self.assertGreater(row["max_rss_bytes"], 1 << 20)
            self.assertLess(row["max_rss_bytes"], 1 << 30)
            for name in ("seconds", "baseline_seconds", "ratio"):
                self.check_spread(row[name])

    def test_a_policy_file_and_more_arguments(self):
        policy = self.file("mine.toml")
        with open(policy, "w", encoding="utf-8") as file:
            file.write(end_to_end.policy_text("bf16"))
        options = ("--only", "pack", "--sources", "f32", "--tmpfs", "none", "--policies", policy)
        report = self.bench_json(*options, "--pack-args=--allow-overflow --verbose")
        (row,) = report["pack"]
        self.assertEqual((row["policy"], row["arguments"]), ("mine.toml", "--allow-overflow --verbose"))
        self.assertIsNone(row["target"])
        self.assertEqual(report["codecs"], [])

    def test_a_pack_that_fails_is_told_and_cleaned_up(self):
        done = bench(self.work, "--only", "pack", *FEW, "--pack-args=--no-such-option")
        self.assertEqual(done.returncode, 1)
        self.assertIn("ended with status 2", done.stderr)
        self.assertIn("--no-such-option", done.stderr)
        self.assertEqual(os.listdir(self.work), [])

    def test_stopping_cleans_up_and_shows_what_there_is(self):
        document = self.file("performance.md")
        text = document_of("old", "theirs")
        with open(document, "w", encoding="utf-8") as file:
            file.write(text)
        options = ("--only", "pack", "--repetitions", "100000", "--update", document)
        with subprocess.Popen(
            command(self.work, *FEW, *options),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            for line in process.stderr:
                if line.startswith("[1/"):
                    process.send_signal(signal.SIGTERM)
                    break
            out, err = process.communicate()
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, err)
        self.assertIn("Stopped before the end", out)
        self.assertEqual(os.listdir(self.work), [])
        with open(document, encoding="utf-8") as file:
            self.assertEqual(file.read(), text)

    def test_what_a_killed_run_left_is_removed_and_a_running_ones_is_not(self):
        for name in ("left", "running"):
            os.makedirs(os.path.join(self.work, PREFIX + name))
            with open(os.path.join(self.work, PREFIX + name, LOCK), "w", encoding="utf-8"):
                pass
        os.makedirs(os.path.join(self.work, "mine"))
        with open(os.path.join(self.work, PREFIX + "running", LOCK), encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = bench(self.work, "--only", "checksum")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(os.listdir(self.work)), ["mine", PREFIX + "running"])

    def test_a_document_without_a_place_is_refused_before_any_work(self):
        with open(self.file("performance.md"), "w", encoding="utf-8") as file:
            file.write("\n".join(end + begin for begin, end in PLACES))
        done = bench(self.work, "--update", self.file("performance.md"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("lacks <!-- scripts/bench: results -->", done.stderr)
        self.assertFalse(os.path.exists(self.work))


class Parts(unittest.TestCase):
    def test_the_documentation_has_a_place_for_the_tables(self):
        with open(os.path.join(ROOT, "docs", "performance.md"), encoding="utf-8") as file:
            text = file.read()
        for begin, end in PLACES:
            self.assertEqual((text.count(begin), text.count(end)), (1, 1))
            self.assertLess(text.index(begin), text.index(end))

    def test_spread(self):
        self.assertEqual(spread([3]), {"median": 3, "low": 3, "high": 3})
        self.assertEqual(spread([5, 1, 2, 3, 4]), {"median": 3, "low": 2, "high": 4})

    def test_a_missed_target_is_bold(self):
        each = {"median": 2.0, "low": 1.0, "high": 3.0}
        at_most = lambda value, most: value <= most
        self.assertEqual(tables._against(each, 1.5, at_most), "**2.00 (1.00–3.00)**")
        self.assertEqual(tables._against(each, 2.0, at_most), "2.00 (1.00–3.00)")
        self.assertEqual(tables._against(each, None, at_most), "2.00 (1.00–3.00)")

    def test_a_functions_name_is_found_in_what_callgrind_prints(self):
        annotated = """
100,000,000 (100.0%)  PROGRAM TOTALS
 27,000,000 (27.00%)  ???:a::simd::N_AVX2::encode_q8_0(float const*, unsigned long) [/x/cli/synps]
  9,000,000 ( 9.00%)  ???:a::(anonymous namespace)::tails<int>(int) [/x/cli/synps]
  4,000,000 ( 4.00%)  ./string/../x86_64/memmove.S:__memcpy_avx [/usr/lib/libc.so.6]
  3,000,000 ( 3.00%)  ???:0x00000000000041e0 [/usr/lib/libhwy.so.1.0.3]
"""
        self.assertEqual(
            counts.functions_of(annotated),
            {"": 97_000_000, "encode_q8_0": 27_000_000, "tails": 9_000_000, "__memcpy_avx": 4_000_000},
        )

    def test_what_others_took_has_a_place_of_its_own(self):
        row = {"tool": "other 1.0", "source": "bf16", "policy": "q8_0", "workers": 2}
        row.update({"input_bytes": 10**6, "max_rss_bytes": 1 << 20, "synps_max_rss_bytes": 1 << 20})
        each = {"median": 2.0, "low": 1.0, "high": 3.0}
        row.update({"seconds": each, "synps_seconds": each, "times_as_long": each})
        self.assertIn("| other 1.0 | bf16 | `q8_0` | 2 |", "\n".join(tables._comparisons([row])))

    def test_no_space_is_found_before_any_work(self):
        with tempfile.TemporaryDirectory() as folder:
            chosen = settings.Settings(places={"disk": folder, "tmpfs": folder})
            small = settings.Case(1000, "f32", "f16", 1, "disk")
            self.assertEqual(end_to_end.check_space([small], chosen), [small])
            with self.assertRaises(Failed):
                end_to_end.check_space([small._replace(bytes=10**18)], chosen)

    def test_what_memory_cannot_hold_is_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            chosen = settings.Settings(places={"disk": folder, "tmpfs": folder})
            disk = settings.Case(1000, "f32", "f16", 1, "disk")
            saved = end_to_end._available_memory
            self.addCleanup(setattr, end_to_end, "_available_memory", saved)
            end_to_end._available_memory = lambda: 1000
            tmpfs = disk._replace(place="tmpfs")
            self.assertEqual(end_to_end.check_space([disk, tmpfs], chosen), [disk])

    def test_quick_measures_every_target_and_a_part_of_the_rest(self):
        places = {"disk": "a", "tmpfs": "b"}
        quick = settings.pack_cases(settings.Settings(places=places))
        full = settings.pack_cases(settings.Settings(quick=False, places=places))
        self.assertLess(len(quick) * 3, len(full))
        self.assertEqual(len(full), 3 * 3 * 6 * 2 * 2)
        for source in settings.SOURCES:
            for policy in settings.PACK_TARGET_CODECS:
                for place in places:
                    self.assertIn(settings.Case(settings.GB, source, policy, 2, place), quick)


if __name__ == "__main__":
    unittest.main()
