"""Where output goes, what it may replace, and which exit code says so."""

import fcntl
import os
import resource
import subprocess
import unittest

import fixtures
from support import SYNPS, CliTest, default_signals


class Output(CliTest):
    def pack(self, output, *more):
        return ("pack", "tiny.safetensors", "-p", "mixed.toml", "-o", output, *more)

    def test_force(self):
        self.ok(*self.pack("out.synps"))
        first = self.read("out.synps")
        err = self.fails(8, *self.pack("out.synps"), says="out.synps")
        self.assertIn("--force", err)
        self.fails(8, *self.pack("out.synps", "--dry-run"), says="out.synps")
        self.ok("pack", "tiny.safetensors", "-p", "f16.toml", "-o", "out.synps", "--force")
        self.assertNotEqual(self.read("out.synps"), first)
        self.ok(*self.pack("out.synps", "--force", "--jobs", "3"))
        self.assertEqual(self.read("out.synps"), first)
        self.assertEqual(self.new_names(), ["out.synps"])

    def test_unpack_force(self):
        self.ok(*self.pack("out.synps"))
        self.ok("unpack", "out.synps", "-o", "back.safetensors")
        self.fails(8, "unpack", "out.synps", "-o", "back.safetensors", says="back.safetensors")
        self.ok("unpack", "out.synps", "-o", "back.safetensors", "--force")

    def test_inputs_are_never_written(self):
        os.symlink("tiny.safetensors", self.path("soft"))
        os.link(self.path("tiny.safetensors"), self.path("hard"))
        os.symlink("mixed.toml", self.path("policy_link"))
        self.inputs = self.names()
        before = {name: self.read(name) for name in ("tiny.safetensors", "mixed.toml")}
        for name in ("tiny.safetensors", "./tiny.safetensors", "hard", "soft", "mixed.toml",
                     "policy_link", self.path("tiny.safetensors")):
            self.fails(8, *self.pack(name, "--force"), says="synps: error: ")
            self.fails(8, *self.pack(name, "--force", "--dry-run"), says="synps: error: ")
        self.assertEqual({name: self.read(name) for name in before}, before)
        self.assertTrue(os.path.islink(self.path("soft")))
        self.assertEqual(self.new_names(), [])

    def test_shards_and_their_index_are_inputs(self):
        for name in os.listdir(self.path("sharded")):
            target = f"sharded/{name}"
            before = self.read(target)
            self.fails(8, "pack", "sharded", "-p", "mixed.toml", "-o", target, "--force",
                       says=name)
            self.assertEqual(self.read(target), before)

    def test_artifact_is_not_unpacked_onto_itself(self):
        self.ok(*self.pack("out.synps"))
        before = self.read("out.synps")
        self.fails(8, "unpack", "out.synps", "-o", "out.synps", "--force", says="out.synps")
        self.assertEqual(self.read("out.synps"), before)

    def test_odd_targets(self):
        os.mkdir(self.path("folder"))
        os.mkfifo(self.path("fifo"))
        for name in ("folder", "fifo", "/dev/null"):
            self.fails(8, *self.pack(name, "--force"), says=name)
        self.fails(4, *self.pack("missing/out.synps"), says="missing")

    def test_dry_run_leaves_nothing(self):
        plan = self.ok("plan", "tiny.safetensors", "-p", "mixed.toml")
        self.assertEqual(self.ok(*self.pack("out.synps", "--dry-run")), plan)
        self.assertEqual(self.new_names(), [])
        self.fails(4, *self.pack("missing/out.synps", "--dry-run"), says="missing")

    def test_two_packers(self):
        temporary = self.path(".out.synps.synps-tmp")
        with open(temporary, "wb") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            self.fails(8, *self.pack("out.synps"), says="out.synps")
            self.assertEqual(self.new_names(), [".out.synps.synps-tmp"])
        # The lock is gone, as it is after a crash: what is left is taken over.
        self.ok(*self.pack("out.synps"))
        self.assertEqual(self.new_names(), ["out.synps"])

    def test_jobs_do_not_change_bytes(self):
        for jobs in ("0", "1", "2", "8"):
            self.ok(*self.pack(f"jobs{jobs}", "--jobs", jobs))
        self.assertEqual(len({self.read(f"jobs{jobs}") for jobs in ("0", "1", "2", "8")}), 1)

    def test_missing_policy(self):
        for command in (("plan", "tiny.safetensors"),
                        ("pack", "tiny.safetensors", "-o", "x"),
                        ("explain", "w")):
            err = self.fails(2, *command, says="synps.toml")
            self.assertIn("synps init", err)
        self.fails(4, "plan", "tiny.safetensors", "-p", "no.toml", says="no.toml")
        os.rename(self.path("mixed.toml"), self.path("synps.toml"))
        self.assertIn("synps.toml", self.ok("plan", "tiny.safetensors"))
        self.fails(8, "pack", "tiny.safetensors", "-o", "synps.toml", "--force", says="synps.toml")

    def test_exit_codes(self):
        self.fails(2, "pack", "tiny.safetensors", says="--output is required")
        self.fails(3, "plan", "junk", "-p", "mixed.toml", says="junk")
        self.fails(3, "inspect", "junk", says="junk")
        self.fails(3, "pack", "huge_values.safetensors", "-p", "f16.toml", "-o", "x", says="w")
        self.fails(4, "inspect", "missing", says="missing")
        self.fails(4, "verify", "missing", says="missing")
        self.fails(7, "plan", "tiny.safetensors", "-p", "broken.toml", says="broken.toml:2:")
        self.fails(7, "plan", "tiny.safetensors", "-p", "ambiguous.toml", says="ambiguous.toml:")
        self.fails(7, "plan", "tiny.safetensors", "-p", "unmatched.toml", says="mpl")
        self.fails(7, "plan", "tiny.safetensors", "-p", "q8_strict.toml", says="48")
        self.ok("plan", "tiny.safetensors", "-p", "unmatched.toml", "--allow-unmatched")
        for command in ("verify", "unpack"):
            more = ("-o", "x") if command == "unpack" else ()
            result = self.synps(command, "junk", *more)
            self.assertEqual((result.code, "junk" in result.err), (5, True))
        result = self.synps("verify", "tiny.safetensors")
        self.assertEqual((result.code, "tiny.safetensors" in result.err), (5, True))
        self.assertEqual(self.new_names(), [])

    def test_warnings(self):
        with open(self.path("volatile.toml"), "w") as out:
            out.write(fixtures.F16 + 'volatile = true\n[policies."*".form]\nresidency = "heap"\n')
        for command in (("plan", "tiny.safetensors"), ("pack", "tiny.safetensors", "-o", "x")):
            arguments = (*command, "-p", "volatile.toml")
            result = self.synps(*arguments)
            self.assertEqual(result.code, 0, result.err)
            self.assertRegex(result.err, r"^synps: warning: 18 weights, such as '.*': volatile")
        self.ok("plan", "tiny.safetensors", "-p", "volatile.toml", "--quiet")

    def test_verify_says_all_only_of_some(self):
        self.ok("pack", "small_values.safetensors", "-p", "f16.toml", "-o", "small.synps")
        text = self.ok("verify", "small.synps", "--against", "small_values.safetensors")
        self.assertIn("\n  lossless  0\n  lossy     1\n", text)

    def test_header_beyond_the_limit(self):
        with open(self.path("long"), "wb") as out:
            out.write((100_000_001).to_bytes(8, "little"))
            out.truncate(100_000_100)
        code = self.synps("inspect", "long").code
        self.assertIn(code, (3, 6))

    def test_file_size_limit(self):
        def limit():
            default_signals()
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

        result = subprocess.run([SYNPS, *self.pack("out.synps")], cwd=self.folder,
                                preexec_fn=limit, capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("out.synps", result.stderr)
        self.assertEqual(self.new_names(), [])

    @unittest.skipIf(os.environ.get("SYNPS_TEST_SANITIZERS"),
                     "sanitizers need more address space than the test leaves")
    def test_out_of_memory(self):
        # A header this long needs more than the address space that is left after starting up.
        names = [(f"weight_{i:07}", "F32", [1]) for i in range(200_000)]
        head, size = fixtures.header(names, None)
        with open(self.path("many"), "wb") as out:
            out.write(head)
            out.truncate(len(head) + size)

        def limit():
            default_signals()
            resource.setrlimit(resource.RLIMIT_AS, (64 << 20, 64 << 20))

        result = subprocess.run([SYNPS, "inspect", "many"], cwd=self.folder, preexec_fn=limit,
                                capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stdout), (6, ""), result.stderr)
        self.assertIn("out of memory", result.stderr)

    def test_many_problems_are_cut(self):
        tensors = [(f"w{i:03}", "F32", [1, 33], [0.0] * 33) for i in range(70)]
        fixtures.write_safetensors(self.path("odd.safetensors"), tensors)
        with open(self.path("odd.toml"), "w") as out:
            for i in range(70):
                out.write(f'[[policies."nothing.{i}".schemes]]\nformat = "f32"\n')
        err = self.fails(7, "plan", "odd.safetensors", "-p", "odd.toml")
        lines = err.splitlines()
        self.assertEqual(len(lines), 51)
        self.assertTrue(all(line.startswith("synps: error: ") for line in lines))
        self.assertRegex(lines[-1], r"^synps: error: \.\.\. and \d+ more problems$")

    def test_names_cannot_disturb_the_terminal(self):
        fixtures.write_safetensors(self.path("evil.safetensors"),
                                   [("a\x1b[2Jb\nc", "F32", [1], [0.0])], {"k\x07": "v\x1b"})
        for arguments in (("inspect", "evil.safetensors"), ("inspect", "evil.safetensors", "--all"),
                          ("plan", "evil.safetensors", "-p", "f16.toml")):
            out = self.ok(*arguments)
            self.assertFalse(set(out) & {"\x1b", "\x07"}, arguments)
