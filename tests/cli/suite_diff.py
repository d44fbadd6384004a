"""`synps diff`, the policies that it suggests, and the pages that --report writes."""

import json
import math
import os
import re
from html.parser import HTMLParser

import fixtures
from support import CliTest

FIGURES = ("elements", "max_abs_error", "mean_abs_error", "rmse", "relative_error", "snr_db")
DIFF_KEYS = {"equal", "a", "b", "paired", "weights", "only_in_a", "only_in_b", "groups"}
SIDE_KEYS = {"path", "kind", "weights", "elements", "weight_bytes", "file_bytes"}
WEIGHT_KEYS = {"path", "status", "a", "b", "decoded", "reason", *FIGURES}
VOID = {"meta", "wbr"}
# Of the page's style at 16 pixels: what a character of a cell takes, and what is left of it.
CHARACTER = 0.92 * 16 * 0.62


class Page(HTMLParser):
    """Checks that tags are closed in order, and collects what tests ask for."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.tags = []
        self.attributes = []
        self.rows = {}
        self.row = None
        self.titles = []
        self.style = ""
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append((tag, dict(attrs)))
        if tag == "tr":
            self.row = []
        elif tag in ("td", "th"):
            self.row.append({"text": "", "value": None})
        elif tag == "data" and self.row:
            self.row[-1]["value"] = float(dict(attrs)["value"])
        elif tag == "title":
            self.titles.append("")

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, (tag, self.open)
        self.open.pop()
        if tag == "tr":
            table = [a for t, a in self.open if t == "table"][-1]
            self.rows.setdefault(table.get("id", ""), []).append(self.row)
            self.row = None

    def handle_data(self, data):
        tags = [tag for tag, _ in self.open]
        if tags and tags[-1] == "style":
            self.style += data
        elif tags and tags[-1] == "title":
            self.titles[-1] += data
        elif self.row:
            self.row[-1]["text"] += data

    def width(self, table):
        """Pixels that the columns but the first take, where none of their cells is broken."""
        head, *rows = self.rows[table]
        pixels = 0
        for i, title in enumerate(head[1:], 1):
            words = [len(word) for word in title["text"].split()]
            cells = [len(row[i]["text"]) for row in rows]
            pixels += max(words + cells) * CHARACTER + 0.9 * 16
        return pixels

    def worst(self):
        """By path: the figures of the table of worst weights, as programs read them."""
        head, *rows = self.rows["worst"]
        names = [cell["text"] for cell in head]
        return {row[0]["text"]: {name: cell["value"] for name, cell in zip(names, row)}
                for row in rows}


class Diff(CliTest):
    def diff(self, *arguments, code=1):
        result = self.synps("diff", *arguments, "--json")
        self.assertEqual((result.code, result.err), (code, ""), arguments)
        return json.loads(result.out)

    def pack(self, output="tiny.synps", policy="mixed.toml", *more, source="tiny.safetensors"):
        self.ok("pack", source, "-p", policy, "-o", output, *more)

    def verified(self, artifact, checkpoint):
        report = json.loads(self.ok("verify", artifact, "--against", checkpoint, "--json"))
        return {weight["path"]: weight for weight in report["weights"]}

    def flip(self, name, offset):
        data = bytearray(self.read(name))
        data[offset] ^= 1
        with open(self.path(name), "wb") as out:
            out.write(data)

    def write(self, name, *tensors):
        fixtures.write_safetensors(self.path(name), tensors)


class Files(Diff):
    def test_a_file_is_equal_to_itself(self):
        self.pack()
        for name in ("tiny.safetensors", "sharded", "tiny.gguf", "tiny.synps"):
            report = self.diff(name, name, code=0)
            self.assertIs(report["equal"], True)
            self.assertEqual(report["paired"], len(report["weights"]))
            self.assertIn("all equal in value", self.ok("diff", name, name, "--forms"))

    def test_keys(self):
        self.pack()
        report = self.diff("tiny.safetensors", "tiny.synps")
        self.assertEqual(set(report), DIFF_KEYS)
        self.assertEqual([report[side]["kind"] for side in "ab"], ["safetensors", "artifact"])
        self.assertEqual([w["path"] for w in report["weights"]],
                         sorted(t[0] for t in fixtures.tiny_tensors()))
        for side in "ab":
            self.assertEqual(set(report[side]), SIDE_KEYS)
            self.assertEqual(report[side]["weight_bytes"],
                             sum(weight[side]["bytes"] for weight in report["weights"]))
            name = report[side]["path"]
            self.assertEqual(report[side]["file_bytes"], len(self.read(name)))
        for weight in report["weights"]:
            self.assertEqual(set(weight), WEIGHT_KEYS)
        weights = {weight["path"]: weight for weight in report["weights"]}
        query = weights["model.layers.1.self_attn.q_proj.weight"]
        self.assertEqual(query["a"], {"encoding": "bf16", "dtype": "bf16", "shape": [64, 64],
                                      "bytes": 8192})
        self.assertEqual((query["b"]["encoding"], query["b"]["bytes"]), ("q8_0:q8_0", 4352))
        self.assertEqual((query["status"], query["elements"]), ("value", 4096))
        ids = weights["model.position_ids"]
        self.assertEqual((ids["status"], ids["decoded"], ids["rmse"]), ("equal", False, 0))
        (group,) = [g for g in report["groups"] if "q_proj" in g["pattern"]]
        self.assertEqual((group["a"], group["b"], group["weights"]), ("bf16", "q8_0", 3))
        self.assertEqual(group["rmse"], max(w["rmse"] for p, w in weights.items() if "q_proj" in p))
        order = [g["snr_db"] for g in report["groups"]]
        self.assertEqual(order, sorted(order))

    def test_figures_are_those_of_verify(self):
        self.pack()
        self.pack("set.synps", "mixed.toml", "--max-shard-size", "50KB", "--compress", "zstd")
        self.pack("g.synps", "gguf.toml", source="tiny.gguf")
        self.pack("out.gguf", "gguf_out.toml", source="tiny.gguf")
        for source, packed in (("tiny.safetensors", "tiny.synps"),
                               ("tiny.safetensors", "set.synps.index.json"),
                               ("tiny.gguf", "g.synps"), ("tiny.gguf", "out.gguf")):
            verified = self.verified(packed, source)
            report = self.diff(source, packed)
            compared = [w for w in report["weights"] if w["path"] in verified]
            self.assertGreater(len(compared), 5)
            for weight in compared:
                other = verified[weight["path"]]
                for key in FIGURES:
                    self.assertEqual(weight[key], other[key], (packed, weight["path"], key))
                self.assertEqual(weight["b"]["bytes"], other["bytes"])
                self.assertEqual(weight["status"] == "equal", other["max_abs_error"] == 0)

    def test_orders_of_arguments(self):
        self.pack()
        there = self.diff("tiny.safetensors", "tiny.synps")
        back = self.diff("tiny.synps", "tiny.safetensors")
        for a, b in zip(there["weights"], back["weights"]):
            self.assertEqual((a["a"], a["b"], a["status"]), (b["b"], b["a"], b["status"]))
            self.assertEqual((a["rmse"], a["max_abs_error"]), (b["rmse"], b["max_abs_error"]))
        self.write("less.safetensors", ("w", "F32", [2], [1, 2]))
        self.write("more.safetensors", ("v", "F32", [1], [1]), ("w", "F32", [2], [1, 2]))
        report = self.diff("less.safetensors", "more.safetensors")
        self.assertEqual((report["only_in_a"], report["only_in_b"]), ([], ["v"]))
        report = self.diff("more.safetensors", "less.safetensors")
        self.assertEqual((report["only_in_a"], report["only_in_b"]), (["v"], []))

    def test_threads_change_nothing(self):
        self.pack()
        for more in ((), ("--json",), ("--all",)):
            one = self.synps("diff", "tiny.safetensors", "tiny.synps", "-j1", *more)
            many = self.synps("diff", "tiny.safetensors", "tiny.synps", "-j7", *more)
            self.assertEqual(one.out, many.out)

    def test_forms(self):
        self.pack()
        self.pack("z.synps", "mixed.toml", "--compress", "zstd:5")
        self.diff("tiny.synps", "z.synps", code=0)
        report = self.diff("tiny.synps", "z.synps", "--forms")
        self.assertEqual((report["equal"], report["same_forms"]), (True, False))
        (query,) = [w for w in report["weights"] if w["path"].endswith("1.self_attn.q_proj.weight")]
        self.assertEqual(query["forms"],
                         [{"field": "residency", "a": "mapped", "b": "heap"},
                          {"field": "compress", "a": "none", "b": "zstd:5"}])
        self.assertIs(self.diff("z.synps", "z.synps", "--forms", code=0)["same_forms"], True)
        # The other order of blocks, too.
        self.ok("repack", "tiny.synps", "-o", "rows8.synps", "--order", "rows8")
        self.diff("tiny.synps", "rows8.synps", code=0)
        report = self.diff("rows8.synps", "z.synps", "--forms")
        self.assertIs(report["equal"], True)
        fields = {form["field"] for weight in report["weights"] for form in weight["forms"]}
        self.assertEqual(fields, {"order", "residency", "compress"})
        # Of a checkpoint the encoding alone.
        report = self.diff("tiny.safetensors", "tiny.synps", "--forms")
        fields = {form["field"] for weight in report["weights"] for form in weight["forms"]}
        self.assertEqual(fields, {"encoding"})

    def test_nothing_in_common(self):
        result = self.synps("diff", "tiny.gguf", "tiny.safetensors")
        self.assertEqual((result.code, result.err), (1, ""))
        self.assertIn("no weight of A has the name of a weight of B", result.out)
        self.assertIn("GGUF files have names of their own", result.out)
        self.assertEqual(self.diff("tiny.gguf", "tiny.safetensors")["paired"], 0)

    def test_faults(self):
        self.pack()
        self.flip("tiny.synps", len(self.read("tiny.synps")) - 1)
        for pair in (("tiny.synps", "tiny.safetensors"), ("tiny.safetensors", "tiny.synps")):
            self.fails(5, "diff", *pair, says="tiny.synps")
        with open(self.path("bad.safetensors"), "wb") as out:
            out.write(b"\xff" * 100)
        os.mkdir(self.path("empty"))
        for bad, code in (("bad.safetensors", 3), ("empty", 3), ("gone", 4)):
            self.fails(code, "diff", "tiny.safetensors", bad, says=bad)
            self.fails(code, "diff", bad, "tiny.safetensors", says=bad)
        self.fails(6, "diff", "tiny.safetensors", "tiny.safetensors", "--max-memory", "1MiB")
        self.fails(2, "diff", "tiny.safetensors")
        self.fails(2, "diff", "tiny.safetensors", "tiny.safetensors", "x")


class SuggestedPolicies(Diff):
    def suggest(self, a, b, count):
        policy = self.ok("diff", a, b, "--suggest-policy", str(count))
        with open(self.path("suggested.toml"), "w", encoding="utf-8") as out:
            out.write(policy)
        return policy

    def encodings(self, name):
        report = self.synps("diff", name, name, "--json")
        return {w["path"]: w["b"]["encoding"] for w in json.loads(report.out)["weights"]}

    def check_round_trip(self, a, b, count):
        """Packing A under the policy gives B, but for the worst weights."""
        differing = [w for w in self.diff(a, b)["weights"] if w["status"] == "value"]
        differing.sort(key=lambda w: -w["relative_error"])
        worst = [w["path"] for w in differing[:count]]
        policy = self.suggest(a, b, count)
        for path in worst:
            self.assertIn(f'[[policies."{path}".schemes]]\nformat = "keep"\n', policy)
        self.ok("check", a, "-p", "suggested.toml")
        self.ok("pack", a, "-p", "suggested.toml", "-o", "again.synps", "--force")
        wanted = self.encodings(b) | {path: self.encodings(a)[path] for path in worst}
        self.assertEqual(self.encodings("again.synps"), wanted)
        code = 1 if count else 0
        rest = [w for w in self.diff(b, "again.synps", code=code)["weights"]
                if w["status"] == "value"]
        self.assertEqual(sorted(w["path"] for w in rest), sorted(worst))
        code = 1 if count < len(differing) else 0
        kept = self.diff(a, "again.synps", code=code)["weights"]
        self.assertTrue(all(w["status"] == "equal" for w in kept if w["path"] in worst))

    def test_round_trip(self):
        self.pack()
        for count in (0, 1, 3, 9):
            self.check_round_trip("tiny.safetensors", "tiny.synps", count)

    def test_round_trip_of_gguf(self):
        self.pack("g.synps", "gguf.toml", source="tiny.gguf")
        for count in (0, 1):
            self.check_round_trip("tiny.gguf", "g.synps", count)

    def test_round_trip_by_requantizing(self):
        self.pack("f16.synps", "f16.toml")
        self.ok("requantize", "f16.synps", "-o", "q8.synps", "--to", "q8_0", "--only",
                "**.self_attn", "--report", "r.html")
        (worst,) = [w["path"] for w in sorted(
            (w for w in self.diff("f16.synps", "q8.synps")["weights"] if w["status"] == "value"),
            key=lambda w: w["snr_db"])[:1]]
        self.suggest("f16.synps", "q8.synps", 1)
        self.ok("requantize", "f16.synps", "-p", "suggested.toml", "-o", "but.synps")
        rest = [w["path"] for w in self.diff("q8.synps", "but.synps")["weights"]
                if w["status"] == "value"]
        self.assertEqual(rest, [worst])

    def test_volatile_schemes_stay(self):
        with open(self.path("volatile.toml"), "w", encoding="utf-8") as out:
            out.write(self.read("f16.toml").decode() +
                      '[[policies."**.self_attn".schemes]]\nformat = "f16"\nvolatile = true\n')
        self.pack("f16.synps", "volatile.toml")
        self.ok("requantize", "f16.synps", "-o", "q8.synps", "--to", "q8_0", "--only",
                "**.self_attn")
        volatile = self.volatile("f16.synps")
        self.assertGreater(len(volatile), 2)
        self.assertLess(len(volatile), len(fixtures.tiny_tensors()))
        for count in (0, 1):
            policy = self.suggest("f16.synps", "q8.synps", count)
            self.ok("requantize", "f16.synps", "-p", "suggested.toml", "-o", "again.synps", "-f")
            self.assertEqual(self.volatile("again.synps"), volatile)
            self.assertEqual(self.volatile("q8.synps"), volatile)
            self.assertIn("`synps requantize` leaves", policy)
        self.assertIn('format = "keep"\nvolatile = true\n', policy)
        self.assertIn("get their defaults",
                      self.suggest("tiny.safetensors", "q8.synps", 0).replace("\n# ", " "))

    def volatile(self, name):
        data = self.read(name)
        size = int.from_bytes(data[:8], "little")
        begin, end = json.loads(data[8:8 + size])["__synps__"]["data_offsets"]
        index = json.loads(data[8 + size + begin:8 + size + end].decode().rstrip(" \0\n"))
        volatile = [scheme["volatile"] for scheme in index["schemes"]]
        return [w["path"] for w in index["weights"] if w["scheme"] is not None and
                volatile[w["scheme"]]]

    def test_more_weights_than_a_policy_can_name(self):
        names = [f"w{i}." + "long" * 50 for i in range(4000)]
        self.write("a.safetensors", *((n, "F32", [1], [1]) for n in names))
        self.write("b.safetensors", *((n, "F32", [1], [2]) for n in names))
        told = self.fails(6, "diff", "a.safetensors", "b.safetensors", "--suggest-policy", "4000",
                          says="at most 1048576 bytes; name fewer weights")
        self.assertNotIn("toml", told)
        self.assertIn("--suggest-policy 4000", told)
        self.suggest("a.safetensors", "b.safetensors", 100)

    def test_round_trip_of_an_f16_model(self):
        self.pack("q8.synps", "mixed.toml")
        self.ok("unpack", "q8.synps", "-o", "wide.safetensors")
        self.pack("b.synps", "f16.toml", source="wide.safetensors")
        self.check_round_trip("wide.safetensors", "b.synps", 2)

    def test_refusals(self):
        self.pack()
        pair = ("diff", "tiny.safetensors", "tiny.synps", "--suggest-policy")
        self.fails(2, *pair, "99", says="weights differ in value")
        self.fails(2, *pair, "some", says="needs a number of weights")
        self.fails(2, *pair, "-1")
        self.fails(2, *pair, "1", "--json", says="nothing else")
        self.fails(2, "diff", "tiny.gguf", "tiny.safetensors", "--suggest-policy", "0",
                   says="no policy makes one of the other")
        self.fails(2, "diff", "tiny.safetensors", "tiny.safetensors", "--suggest-policy", "1",
                   says="no weight differs")
        self.write("a.safetensors", ("w", "F32", [2], [1, 2]))
        self.write("b.safetensors", ("w", "F32", [1, 2], [1, 2]))
        self.fails(2, "diff", "a.safetensors", "b.safetensors", "--suggest-policy", "0",
                   says="1 weight of another shape")

    def test_what_no_policy_can_do_is_told(self):
        self.write("a.safetensors", ("v", "F32", [1], [1]), ("w", "F32", [2], [1, 2]))
        self.write("b.safetensors", ("w", "F32", [2], [1, 3]), ("x", "F32", [1], [1]))
        policy = self.suggest("a.safetensors", "b.safetensors", 0)
        for told in ("1 weight that the latter lacks", "1 weight that the former lacks",
                     "1 weight of other values in the same encoding"):
            self.assertIn(told, policy)

    def test_hostile_names(self):
        names = ['a"]\n[x', "b.*.{0..3}", "b.c.0", "", "\u202e.w", "b", "b.c"]
        self.write("a.safetensors", *((n, "F32", [32], fixtures.values(32, i))
                                      for i, n in enumerate(names, 1)))
        with open(self.path("q8.toml"), "w", encoding="utf-8") as out:
            out.write('[[policies."*".schemes]]\nformat = "q8_0"\n'
                      '[[policies."b.c".schemes]]\nformat = "f16"\n')
        self.pack("b.synps", "q8.toml", source="a.safetensors")
        for count in range(len(names) + 1):
            self.suggest("a.safetensors", "b.synps", count)
            self.ok("pack", "a.safetensors", "-p", "suggested.toml", "-o", "c.synps", "--force")
            report = self.diff("b.synps", "c.synps", code=1 if count else 0)
            self.assertEqual(sum(w["status"] == "value" for w in report["weights"]), count)


class Reports(Diff):
    def page(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            text = file.read()
        page = Page(text)
        self.assertTrue(text.startswith("<!DOCTYPE html>\n"))
        self.assertEqual({"script", "link", "img", "iframe", "object", "base"} & set(page.tags),
                         set())
        names = {name for name, _ in page.attributes}
        self.assertEqual({"src", "href", "xlink:href", "srcset", "action"} & names, set())
        self.assertFalse([name for name in names if name.startswith("on")])
        self.assertNotRegex(text, r"https?://|//[a-z]|url\(|@import")
        self.assertNotIn(self.folder, text)
        return page

    def check_worst(self, page, weights):
        differing = {w["path"]: w for w in weights if w["max_abs_error"]}
        worst = page.worst()
        self.assertEqual(set(worst), set(differing))
        for path, row in worst.items():
            for title, key in (("SNR, dB", "snr_db"), ("relative error", "relative_error"),
                               ("RMSE", "rmse"), ("mean abs error", "mean_abs_error"),
                               ("max abs error", "max_abs_error")):
                self.assertEqual(row[title], differing[path][key], (path, title))
        ratios = [row["SNR, dB"] for row in worst.values()]
        self.assertEqual(ratios, sorted(ratios))
        # A point for each weight that has values.
        points = [title for title in page.titles if "bits per weight" in title]
        self.assertEqual(len(points), sum(w["elements"] > 0 for w in weights))

    def test_figures_are_those_of_json(self):
        self.ok("pack", "tiny.safetensors", "-p", "mixed.toml", "-o", "tiny.synps", "--report",
                "pack.html")
        weights = list(self.verified("tiny.synps", "tiny.safetensors").values())
        self.check_worst(self.page("pack.html"), weights)
        self.ok("verify", "tiny.synps", "--against", "tiny.safetensors", "--report", "verify.html")
        self.assertEqual(self.read("verify.html"), self.read("pack.html"))
        self.diff("tiny.safetensors", "tiny.synps", "--report", "diff.html")
        # With what is kept under the same name, too.
        self.assertEqual(self.read("diff.html"), self.read("pack.html"))
        self.assertNotIn(">keep<", self.read("pack.html").decode())

    def pack_huge(self):
        """Equal weights, some of 64 bits, and one each with a finite and an infinite error."""
        self.write("h.safetensors", ("big", "F32", [32], [1e30] * 32),
                   ("fine", "F32", [32], fixtures.values(32, 1)),
                   ("ids", "I64", [32], list(range(32))), ("kept", "F32", [32], [0.5] * 32))
        with open(self.path("h.toml"), "w", encoding="utf-8") as out:
            out.write('[myelin]\nformats = ["f16", "f32", "i64"]\n\n'
                      '[[policies."*".schemes]]\nformat = "keep"\n'
                      '[[policies."{big,fine}".schemes]]\nformat = "f16"\n')
        return self.ok("pack", "h.safetensors", "-p", "h.toml", "-o", "h.synps",
                       "--allow-overflow", "--report", "h.html")

    def test_an_infinite_error_is_not_none(self):
        self.pack_huge()
        page = self.page("h.html")
        worst = {row[0]["text"]: [cell["text"] for cell in row] for row in page.rows["worst"]}
        self.assertEqual(worst["big"][4:], ["−∞"] + ["∞"] * 4)
        self.assertEqual(list(page.worst()), ["big", "fine"])
        codecs = {row[0]["text"]: row[-1]["text"] for row in page.rows["codecs"]}
        self.assertEqual(codecs, {"codec": "worst SNR, dB", "f16": "−∞", "f32": "equal",
                                  "i64": "equal"})
        self.assertIn("worst SNR</dt><dd>−∞ ", self.read("h.html").decode())
        table = self.synps("diff", "h.safetensors", "h.synps", "--all").out
        self.assertRegex(table, r"(?m)^big +f32 +f16 +-inf +inf +inf +inf$")
        self.assertRegex(table, r"(?m)^kept +f32 +f32 +equal +0 +0 +0$")
        table = self.ok("verify", "h.synps", "--against", "h.safetensors")
        self.assertRegex(table, r"(?m)^big +1 +f16 +-inf +inf +inf +inf$")
        weights = {w["path"]: w for w in self.diff("h.safetensors", "h.synps")["weights"]}
        for path in ("big", "kept"):
            self.assertIsNone(weights[path]["snr_db"])

    def test_plot(self):
        self.pack_huge()
        text = self.read("h.html").decode()
        ticks = {float(bits): float(x) for x, bits in re.findall(
            r'<text class="tick" x="([0-9.]+)" y="[0-9.]+" text-anchor="middle">(\d+)<', text)}
        right = max(ticks)
        self.assertEqual(right, 32)  # not 64, for equal integers
        self.assertIn("At the right edge: 1 weight of more than 32 bits each.", text)
        unit = (ticks[right] - ticks[0]) / right
        bits = {"big": 16, "fine": 16, "ids": right, "kept": 32}
        points = re.findall(r'<circle class="k(\d+)" cx="([0-9.]+)"[^>]*><title>(\w+)\n', text)
        self.assertEqual(sorted(path for *_, path in points), sorted(bits))
        for _, x, path in points:
            self.assertLess(abs(float(x) - ticks[0] - unit * bits[path]), 0.005 * unit * right)
            self.assertLessEqual(float(x), ticks[right])
        colours = {path: colour for colour, _, path in points}
        self.assertEqual(len({colours[path] for path in ("fine", "ids", "kept")}), 3)
        # A codec has its colour in any other company, too.
        self.pack(policy="f16.toml", output="f16.synps")
        self.diff("tiny.safetensors", "f16.synps", "--report", "f16.html")
        found = set(re.findall(r'"swatch s(\d+)"></span>f16<', self.read("f16.html").decode()))
        self.assertEqual(found, {colours["fine"]})

    def test_no_plot_without_a_ratio(self):
        self.pack()
        self.diff("tiny.synps", "tiny.synps", "--report", "r.html", code=0)
        self.assertNotIn("svg", self.page("r.html").tags)
        self.assertIn("No weight has an error to draw.", self.read("r.html").decode())

    def test_tables_fit(self):
        # The longest numbers, between names of the longest codecs of ours.
        numbers = [1.2345e-30 * (i % 7 + 1) for i in range(256)]
        self.write("a.safetensors", ("model.layers.11.post_attention_layernorm.weight", "F32", [256],
                                     numbers), ("x", "F32", [256], fixtures.values(256, 1)))
        with open(self.path("t.toml"), "w", encoding="utf-8") as out:
            out.write('[[policies."*".schemes]]\nformat = "ternary:tq2_0"\n')
        self.pack("b.synps", "t.toml", source="a.safetensors")
        self.diff("a.safetensors", "b.synps", "--report", "r.html")
        page = self.page("r.html")
        width = int(re.search(r"main \{ max-width: (\d+)rem", page.style)[1]) * 16
        name = int(re.search(r"td\.path \{ min-width: (\d+)rem", page.style)[1]) * 16
        room = min(width, 1200 - 15) - 2 * 24  # a scroll bar, and main's padding
        for table in ("sides", "codecs", "patterns", "worst"):
            self.assertLess(name + page.width(table), room, table)
        # Titles may be broken, and in print nothing scrolls.
        head = re.search(r"\nth \{[^}]*\}", page.style)[0]
        self.assertNotIn("nowrap", head)
        printed = page.style[page.style.rindex("@media print"):]
        self.assertRegex(printed, r"\.wide \{ overflow: visible; \}")

    def test_files_of_one_name(self):
        self.pack()
        os.mkdir(self.path("other"))
        self.pack("other/tiny.synps", "f16.toml")
        self.diff("tiny.synps", "other/tiny.synps", "--report", "r.html")
        self.assertEqual(self.page("r.html").titles[0], "tiny.synps (B) against tiny.synps (A)")

    def test_nothing_in_common(self):
        result = self.synps("diff", "tiny.gguf", "tiny.safetensors", "--report", "r.html")
        self.assertEqual(result.code, 1)
        self.page("r.html")
        text = self.read("r.html").decode()
        self.assertIn("No weight was compared.", text)
        self.assertIn("<p class=\"note\">No weight of A has the name of a weight of B", text)
        self.assertIn("GGUF files have names of their own", text)
        report = self.diff("tiny.gguf", "tiny.safetensors")
        for title, key in (("Only in the reference", "only_in_a"),
                           ("Not in the reference", "only_in_b")):
            self.assertIn(f"<h2>{title}: {len(report[key])}</h2>", text)
        self.assertIn("<code>model.layers.{0..2}.self_attn.{k,q}_proj.weight (6): bf16 ", text)

    def test_page_is_told_of(self):
        self.pack()
        line = "\nreport    r.html\n"
        force = ("--report", "r.html", "--force")
        pack = ("pack", "tiny.safetensors", "-p", "mixed.toml", "-o", "tiny.synps", *force)
        verify = ("verify", "tiny.synps", "--against", "tiny.safetensors", *force)
        repack = ("repack", "tiny.synps", "-o", "z.synps", "--compress", "zstd", *force)
        for command in (pack, verify, repack):
            self.assertTrue(self.ok(*command).endswith(line), command)
            json.loads(self.ok(*command, "--json"))
        self.assertTrue(self.synps("diff", "tiny.safetensors", "tiny.synps",
                                   *force).out.endswith(line))
        self.assertNotIn("report", self.ok("diff", "tiny.safetensors", "tiny.synps", *force,
                                           "--suggest-policy", "1"))

    def test_requantize_compares_two_artifacts(self):
        self.pack()
        self.ok("requantize", "tiny.synps", "-o", "q4.synps", "--to", "q4_0", "--only",
                "**.self_attn", "--report", "q4.html")
        self.check_worst(self.page("q4.html"), self.diff("tiny.synps", "q4.synps")["weights"])
        self.ok("repack", "tiny.synps", "-o", "z.synps", "--compress", "zstd", "--report", "z.html")
        self.assertNotIn("worst", self.page("z.html").rows)
        self.assertIn("all equal in value", self.read("z.html").decode())

    def test_no_page_takes_the_place_of_a_shard(self):
        self.ok("pack", "tiny.safetensors", "-p", "mixed.toml", "-o", "set.synps",
                "--max-shard-size", "20KB")
        self.ok("pack", "tiny.gguf", "-p", "gguf_out.toml", "-o", "parts.gguf",
                "--max-shard-size", "7KB")
        shards = [n for n in self.new_names() if n.startswith("set-")]
        parts = [n for n in self.new_names() if n.startswith("parts-")]
        for files, name, source in ((shards, "set.synps.index.json", "tiny.safetensors"),
                                    (parts, parts[0], "tiny.gguf")):
            self.assertGreater(len(files), 2)
            self.fails(8, "verify", name, "--against", source, "--report", files[0], "-f")
            self.flip(files[1], 0)
            before = {n: self.read(n) for n in files}, self.names()
            for report in (files[-1], "page.html"):
                result = self.synps("verify", name, "--against", source, "--report", report, "-f")
                self.assertEqual(result.code, 5, result.err)
                self.assertIn("no report is written", result.err)
                self.assertNotIn("\nreport ", result.out)
            self.assertEqual(({n: self.read(n) for n in files}, self.names()), before)

    def test_gguf_and_shards(self):
        self.ok("pack", "tiny.gguf", "-p", "gguf_out.toml", "-o", "out.gguf", "--report", "g.html")
        weights = self.verified("out.gguf", "tiny.gguf").values()
        self.check_worst(self.page("g.html"), weights)
        self.ok("pack", "tiny.safetensors", "-p", "mixed.toml", "-o", "set.synps",
                "--max-shard-size", "50KB", "--report", "s.html")
        weights = self.verified("set.synps.index.json", "tiny.safetensors").values()
        self.check_worst(self.page("s.html"), weights)
        self.ok("pack", "tiny.gguf", "-p", "gguf_out.toml", "-o", "parts.gguf",
                "--max-shard-size", "12KB", "--report", "p.html")
        (first,) = [name for name in self.new_names() if name.startswith("parts-00001-of-")]
        self.check_worst(self.page("p.html"), self.verified(first, "tiny.gguf").values())
        self.assertIn("parts.gguf against tiny.gguf", self.page("p.html").titles)

    def test_bytes_depend_on_files_alone(self):
        self.pack()
        self.synps("diff", "tiny.safetensors", "tiny.synps", "--report", "one.html", "-j1")
        self.synps("diff", self.path("tiny.safetensors"), self.path("tiny.synps"), "--report",
                   "two.html", "-j5")
        self.assertEqual(self.read("one.html"), self.read("two.html"))

    def test_names_are_text(self):
        evil = '</title><script>alert(1)</script>&"\' onload=x'
        self.write("a<b>.safetensors", (evil, "F32", [32], fixtures.values(32, 1)))
        self.write("b.safetensors", (evil, "F32", [32], fixtures.values(32, 2)),
                   ("<i>", "F32", [], [1]))
        self.diff("a<b>.safetensors", "b.safetensors", "--report", "r.html")
        page = self.page("r.html")
        self.assertEqual(list(page.worst()), [evil])
        self.assertIn("a<b>.safetensors", page.titles[0])
        self.assertNotIn("i", page.tags)

    def test_large_models_keep_the_page_small(self):
        count = 6000
        for name, off in (("a", 0), ("b", 0.001)):
            self.write(f"{name}.safetensors", *((f"m{i}.w", "F32", [2], [i + 1, 1 + off * i])
                                                for i in range(count)))
        self.diff("a.safetensors", "b.safetensors", "--report", "r.html")
        page = self.page("r.html")
        points = [title for title in page.titles if "bits per weight" in title]
        self.assertEqual(len(points), 2000)
        text = self.read("r.html").decode()
        self.assertIn("2,000 of 6,000 weights are drawn", text)
        self.assertIn("more left out.", text)
        self.assertLess(len(text), 1 << 20)
        # The worst are all there.
        report = self.diff("a.safetensors", "b.safetensors")
        worst = sorted(report["weights"], key=lambda w: w["snr_db"] or math.inf)[:800]
        shown = {title.split("\n")[0] for title in points}
        self.assertEqual({w["path"] for w in worst} - shown, set())

    def test_what_is_not_compared_is_told(self):
        self.write("a.safetensors", ("w", "F32", [2], [1, 2]), ("x", "F32", [2], [1, 2]))
        self.write("b.safetensors", ("w", "F32", [1, 2], [1, 2]), ("y", "F32", [2], [1, 2]))
        self.diff("a.safetensors", "b.safetensors", "--report", "r.html")
        text = self.read("r.html").decode()
        for told in ("Only in the reference: 1", "Not in the reference: 1", "Of another shape: 1",
                     "[2] against [1, 2]"):
            self.assertIn(told, text)

    def test_files(self):
        self.pack()
        pair = ("tiny.safetensors", "tiny.synps")
        self.diff(*pair, "--report", "r.html")
        self.fails(8, "diff", *pair, "--report", "r.html", says="--force")
        self.diff(*pair, "--report", "r.html", "--force")
        before = {name: self.read(name) for name in pair}
        for name in pair:
            self.fails(8, "diff", *pair, "--report", name, "--force", says=name)
            self.fails(8, "verify", pair[1], "--against", pair[0], "--report", name, "--force",
                       says=name)
        self.fails(8, "pack", pair[0], "-p", "mixed.toml", "-o", "x.synps", "--report", "x.synps")
        self.fails(8, "pack", pair[0], "-p", "mixed.toml", "-o", "x.synps", "--report",
                   "mixed.toml", "--force")
        self.fails(8, "pack", pair[0], "-p", "mixed.toml", "-o", "x.synps", "--report", "x.html",
                   "--trace", "x.html")
        self.fails(2, "pack", pair[0], "-p", "mixed.toml", "-o", "x.synps", "--report", "x.html",
                   "--dry-run", says="--report")
        self.fails(2, "verify", pair[1], "--report", "x.html", says="--against")
        self.fails(4, "diff", *pair, "--report", "no/x.html")
        self.assertEqual({name: self.read(name) for name in pair}, before)
        self.assertEqual(self.new_names(), ["r.html", "tiny.synps"])

    def test_what_was_to_be_an_artifact_is_a_damaged_one(self):
        self.pack()
        whole = self.read("tiny.synps")
        for size in (0, 7, 100, 5000):
            with open(self.path("cut.synps"), "wb") as out:
                out.write(whole[:size])
            for arguments in (("diff", "cut.synps", "tiny.synps"),
                              ("diff", "tiny.safetensors", "cut.synps"),
                              ("repack", "cut.synps", "-o", "no.synps", "--to", "f32")):
                self.fails(5, *arguments)

    def test_damage_has_its_report_too(self):
        self.pack()
        weights = json.loads(self.ok("inspect", "tiny.synps", "--json"))["weights"]
        (query,) = [w for w in weights if w["path"].endswith("1.self_attn.q_proj.weight")]
        self.flip("tiny.synps", query["components"][0]["offset"])
        result = self.synps("verify", "tiny.synps", "--against", "tiny.safetensors", "--report",
                            "r.html")
        self.assertEqual(result.code, 5)
        self.page("r.html")
        self.assertRegex(self.read("r.html").decode(), r"Problems: \d")
        self.assertTrue(re.search("q_proj", self.read("r.html").decode()))
        with open(self.path("tiny.synps"), "r+b") as out:
            out.truncate(5000)
        page = self.read("r.html")
        result = self.synps("verify", "tiny.synps", "--against", "tiny.safetensors", "--report",
                            "r.html", "--force")
        self.assertEqual(result.code, 5)
        self.assertIn("no report is written of what does not open", result.err)
        self.assertEqual(self.read("r.html"), page)
