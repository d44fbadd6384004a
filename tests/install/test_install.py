"""Installs synps into a fresh prefix and builds programs against it, as a user outside would.

Needs the whole project built. Only the Python standard library, cmake, nm and the compiler.
"""

import argparse
import json
import math
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

ARGS = None


def run(*command, expect=0):
    """Runs a command and returns its stdout; fails with all it said when its exit code is another."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != expect:
        raise AssertionError(
            f"{' '.join(map(str, command))}\nexit code {done.returncode}, want {expect}\n"
            f"{done.stdout}\n{done.stderr}")
    return done.stdout if expect == 0 else done.stdout + done.stderr


def write_checkpoint(path, tensors):
    """tensors: name -> (safetensors dtype, shape, bytes)."""
    header, data = {}, b""
    for name, (dtype, shape, raw) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


# Multiples of a power of two, up to 127 of them in each block: q8_0 holds these exactly.
MATRIX = [(127 if i % 32 == 0 else (i * 37) % 255 - 127) / 32 for i in range(64 * 96)]
VECTOR = [math.sin(i) for i in range(50)]

POLICY = """
[policies."*"]
[[policies."*".schemes]]
format = "f32"

[policies."layer.weight".form]
residency = "heap"

[[policies."layer.weight".schemes]]
format = "q8_0"
"""

STATISTICS = re.compile(r"^(\S+) (\[.*?\]) (\S+) (\S+) (\S+) (\S+) "
                        r"min (\S+) max (\S+) mean (\S+) rms (\S+)$")


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="synps-install-")
        cls.work = pathlib.Path(cls.temporary.name)
        cls.prefix = cls.work / "prefix"
        run(ARGS.cmake, "--install", ARGS.build_dir, "--prefix", cls.prefix)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def configure(self, source, build, *options, expect=0):
        return run(ARGS.cmake, "-S", source, "-B", build, "-G", ARGS.generator,
                   f"-DCMAKE_CXX_COMPILER={ARGS.compiler}", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                   *options, expect=expect)

    def project(self, name, cmake, source="int main() {}\n"):
        folder = self.work / name
        folder.mkdir()
        (folder / "CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.25)\nproject({name} LANGUAGES CXX)\n{cmake}")
        (folder / "main.cpp").write_text(source)
        return folder

    def symbols(self, file, *options):
        """Mangled name -> nm's letter."""
        found = {}
        for line in run(ARGS.nm, *options, file).splitlines():
            words = line.split()
            if len(words) >= 2 and len(words[-2]) == 1:
                found[words[-1]] = words[-2]
        return found

    def library(self, part):
        [path] = self.prefix.glob(f"lib*/**/libsynps_{part}.a")
        return path

    def check_statistics(self, words, values):
        low, high, mean, rms = (float(word) for word in words)
        self.assertAlmostEqual(low, min(values), delta=1e-7)
        self.assertAlmostEqual(high, max(values), delta=1e-7)
        self.assertAlmostEqual(mean, sum(values) / len(values), delta=1e-7)
        self.assertAlmostEqual(rms, math.sqrt(sum(v * v for v in values) / len(values)), delta=1e-7)

    def test_example_reads_an_artifact(self):
        checkpoint, policy, artifact = (self.work / n for n in ("model.safetensors", "synps.toml", "model.synps"))
        write_checkpoint(checkpoint, {
            "layer.weight": ("F32", [64, 96], struct.pack(f"<{len(MATRIX)}f", *MATRIX)),
            "layer.bias": ("F32", [50], struct.pack("<50f", *VECTOR)),
            "position_ids": ("I64", [1, 2], struct.pack("<2q", 0, 1)),
        })
        policy.write_text(POLICY)
        run(self.prefix / "bin/synps", "pack", checkpoint, "-o", artifact, "-p", policy)

        build = self.work / "example"
        self.configure(pathlib.Path(ARGS.source_dir) / "examples/weight_stats", build,
                       "-DCMAKE_DISABLE_FIND_PACKAGE_tomlplusplus=ON")
        run(ARGS.cmake, "--build", build)
        program = build / "weight_stats"

        bias, weight, ids = run(program, artifact).splitlines()
        bias, weight = STATISTICS.match(bias), STATISTICS.match(weight)
        self.assertEqual(bias.groups()[:3], ("layer.bias", "[50]", "f32:f32"))
        self.assertEqual(bias.group(6), "mapped")
        self.check_statistics(bias.groups()[6:], struct.unpack("<50f", struct.pack("<50f", *VECTOR)))
        self.assertEqual(weight.groups()[:6], ("layer.weight", "[64, 96]", "q8_0:q8_0",
                                               "requantize_to(q8_0:q8_0)", "rows1", "heap"))
        self.check_statistics(weight.groups()[6:], MATRIX)
        self.assertTrue(ids.startswith("position_ids [1, 2] keep "), ids)

        self.assertEqual(run(program, artifact, "layer.bias").splitlines(), [bias.group(0)])
        error = run(program, artifact, "layer.bais", expect=2)
        self.assertIn("layer.bias", error)
        self.check_links_only_the_runtime(program)

    def check_links_only_the_runtime(self, program):
        outside = {}
        for part in ("policy", "packager"):
            strong = {name for name, kind in self.symbols(self.library(part)).items() if kind in "TDBR"}
            self.assertTrue(strong)
            outside.update(dict.fromkeys(strong, part))
        [shared] = self.prefix.glob("lib*/**/libsynps.so")
        for file in (program, shared, self.library("core"), self.library("codecs")):
            used = self.symbols(file)
            self.assertTrue(used)
            self.assertEqual({name: outside[name] for name in used if name in outside}, {}, file)
            # toml++ has everything in namespace toml, in an inline namespace of its version.
            self.assertEqual([name for name in used if "4toml2v" in name], [], file)
        self.assertNotIn("toml", run(ARGS.cmake, "-E", "env", "LC_ALL=C", "ldd", program))

    def test_a_codec_package_is_built_and_used_outside(self):
        [source] = self.prefix.glob("share/doc/**/codec_package")
        build = self.work / "q8_row"
        self.configure(source, build)
        run(ARGS.cmake, "--build", build)
        package = build / "q8_row.so"
        self.assertEqual(run(build / "conformance_test", "q8_row", package),
                         "q8_row:q8_row: keeps the contract\n")
        # It exports one function, and needs nothing of synps.
        names = {name: kind for name, kind in self.symbols(package, "-D").items()}
        self.assertEqual([name for name, kind in names.items() if kind == "T"],
                         ["synps_codec_package_v1"])
        self.assertEqual([name for name, kind in names.items() if kind == "U" and "synps" in name], [])

        synps, artifact = self.prefix / "bin/synps", self.work / "packed.synps"
        checkpoint = pathlib.Path(ARGS.source_dir) / "examples/tiny-llama"
        policy = self.work / "packaged.toml"
        policy.write_text('[myelin]\nformats = ["bf16"]\n'
                          '[packages]\nq8_row = { path = "q8_row/q8_row.so" }\n'
                          '[[policies."*".schemes]]\nformat = "q8_row"\n')
        option = f"--package=q8_row={package}"
        self.assertIn("q8_row", run(synps, "codecs", option))
        run(synps, "pack", checkpoint, "-p", policy, "-o", artifact)
        plan = json.loads(run(synps, "plan", checkpoint, "-p", policy, "--json"))
        self.assertEqual(plan["artifact_bytes"], artifact.stat().st_size)
        self.assertEqual({weight["codec"] for weight in plan["weights"]}, {"q8_row:q8_row"})
        verified = json.loads(run(synps, "verify", artifact, "--against", checkpoint, "--json", option))
        self.assertTrue(verified["ok"])
        self.assertGreater(min(weight["snr_db"] for weight in verified["weights"]), 35)
        run(synps, "unpack", artifact, "-o", self.work / "unpacked.safetensors", option)
        self.assertIn("--package q8_row=PATH",
                      run(synps, "unpack", artifact, "-o", self.work / "no.safetensors", expect=9))

    def c_project(self, name, component, cmake=""):
        """The C test program, built outside against `component`, and run."""
        folder = self.work / name
        folder.mkdir()
        sources = sorted((pathlib.Path(ARGS.source_dir) / "tests/capi").glob("*.c"))
        self.assertGreater(len(sources), 3)
        (folder / "CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.25)\nproject({name} LANGUAGES C{cmake})\n"
            f"find_package(synps 0.1 REQUIRED COMPONENTS {component})\n"
            f"find_package(Threads REQUIRED)\n"
            f"add_executable({name} {' '.join(map(str, sources))})\n"
            f"target_link_libraries({name} PRIVATE synps::{component} Threads::Threads)\n"
            f"set_target_properties({name} PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF)\n"
            f"target_compile_options({name} PRIVATE -Wall -Wextra -Wpedantic -Werror)\n"
            + (f"set_target_properties({name} PROPERTIES LINKER_LANGUAGE CXX)\n" if cmake else ""))
        build = self.work / f"{name}-build"
        self.configure(folder, build, "-DCMAKE_DISABLE_FIND_PACKAGE_tomlplusplus=ON",
                       *([] if cmake else ["-DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON"]))
        run(ARGS.cmake, "--build", build)
        run(build / name, self.c_artifacts())
        return build / name

    def c_artifacts(self):
        folder = self.work / "c-artifacts"
        if not folder.exists():
            folder.mkdir()
            run(pathlib.Path(ARGS.build_dir) / "tests/capi/make_c_artifacts", folder)
        return folder

    def test_the_c_interface_is_used_outside(self):
        program = self.c_project("c_shared", "c")
        self.assertIn("libsynps.so.0", run(ARGS.cmake, "-E", "env", "LC_ALL=C", "ldd", program))
        self.assertNotIn("synps_open", {name for name, kind in self.symbols(program).items() if kind == "T"})

    def test_the_c_interface_is_linked_statically(self):
        program = self.c_project("c_static_program", "c_static", " CXX")
        self.assertNotIn("libsynps.so", run(ARGS.cmake, "-E", "env", "LC_ALL=C", "ldd", program))

    def test_the_c_example_is_built_with_cmake_and_with_pkg_config(self):
        source = pathlib.Path(ARGS.source_dir) / "examples/c"
        model = self.c_artifacts() / "model.synps"
        build = self.work / "c-example"
        self.configure(source, build)
        run(ARGS.cmake, "--build", build)
        lines = run(build / "print_weights", model, "edge").splitlines()
        self.assertEqual(lines[0], "ids [3] keep rows1 mapped: (no values to decode)")
        self.assertEqual(lines[2], "layer.0.norm [6] f32:f32 rows1 mapped: 0 0.5 1 1.5 ...")
        self.assertIn("did you mean 'edge'?", run(build / "print_weights", model, "egde", expect=2))

        [description] = self.prefix.glob("lib*/**/synps.pc")
        self.assertNotIn(str(self.prefix), description.read_text())
        flags = run(ARGS.cmake, "-E", "env", f"PKG_CONFIG_PATH={description.parent}",
                    "pkg-config", "--cflags", "--libs", "synps").split()
        program = self.work / "print_weights"
        [library] = self.prefix.glob("lib*/**/libsynps.so")
        if ARGS.sanitize:  # pkg-config does not know of it, and the library needs its runtime
            flags.append(f"-fsanitize={ARGS.sanitize}")
        run(ARGS.c_compiler, "-std=c99", source / "print_weights.c", *flags,
            f"-Wl,-rpath,{library.parent}", "-o", program)
        self.assertEqual(run(program, model, "edge").splitlines(), lines)

    def test_every_component_links(self):
        include = self.prefix / "include"
        headers = sorted(include.glob("synps/**/*.h"))
        self.assertTrue(headers)
        includes = "".join(f'#include "{header.relative_to(include)}"\n' for header in headers)
        folder = self.project(
            "consumer",
            "find_package(synps 0.1 REQUIRED COMPONENTS packager)\n"
            "add_executable(consumer main.cpp)\n"
            "target_link_libraries(consumer PRIVATE synps::packager synps::codecs)\n",
            includes + """
#include <cstdio>
int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const auto policy = synps::Policy::parse("[policies.\\"*\\"]\\n[[policies.\\"*\\".schemes]]\\n"
                                             "format = \\"f16\\"\\n", "p", synps::builtin_registry());
    const auto checkpoint = synps::Checkpoint::open(argv[1]);
    const auto plan = synps::make_plan(checkpoint, policy);
    std::printf("%zu\\n", plan.weights.size());
  } catch (const synps::Error& error) {
    std::printf("%s\\n", error.what());
    return static_cast<int>(error.code());
  }
}
""")
        checkpoint = self.work / "small.safetensors"
        write_checkpoint(checkpoint, {"a": ("F32", [1], b"\0\0\0\0"), "b": ("F32", [2], b"\0" * 8)})
        self.configure(folder, self.work / "consumer-build")
        run(ARGS.cmake, "--build", self.work / "consumer-build")
        self.assertEqual(run(self.work / "consumer-build/consumer", checkpoint), "2\n")

    def test_runtime_alone_is_the_default(self):
        folder = self.project(
            "default",
            "find_package(synps REQUIRED)\n"
            "foreach(part core codecs runtime)\n"
            "  if(NOT TARGET synps::${part})\n    message(FATAL_ERROR \"no ${part}\")\n  endif()\n"
            "endforeach()\n"
            "if(TARGET synps::policy OR TARGET tomlplusplus::tomlplusplus)\n"
            "  message(FATAL_ERROR \"more than the runtime\")\nendif()\n")
        self.configure(folder, self.work / "default-build")

    def test_what_is_missing_is_said(self):
        folder = self.project("wrong", "find_package(synps REQUIRED COMPONENTS kernels)\n")
        self.assertIn("no component 'kernels'",
                      self.configure(folder, self.work / "wrong-build", expect=1))
        folder = self.project("hidden", "find_package(synps REQUIRED COMPONENTS policy)\n")
        self.assertIn("tomlplusplus",
                      self.configure(folder, self.work / "hidden-build",
                                     "-DCMAKE_DISABLE_FIND_PACKAGE_tomlplusplus=ON", expect=1))

    def test_the_package_can_be_moved(self):
        files = list(self.prefix.glob("lib*/**/*.cmake"))
        self.assertTrue(files)
        for file in files:
            text = file.read_text()
            for place in (ARGS.build_dir, ARGS.source_dir, str(self.prefix)):
                self.assertNotIn(place, text, file)

    def test_documentation_and_licence_are_installed(self):
        names = {path.name for path in self.prefix.glob("share/doc/**/*")}
        for name in ("LICENSE", "README.md", "format.md", "runtime.md"):
            self.assertIn(name, names)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("cmake", "build-dir", "source-dir", "generator", "compiler", "c-compiler", "nm",
                 "sanitize"):
        parser.add_argument(f"--{name}", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=sys.argv[:1] + rest)
