"""Policy files, each with a fault of another kind, and what check must say of them."""

import json

import fixtures

ROOT = '[myelin]\nformats = ["bf16"]\n\n[[policies."*".schemes]]\nformat = "f32"\n'


def entries(fields):
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in fields.items())


def scheme(pattern, **fields):
    return f"\n[[policies.'{pattern}'.schemes]]\n" + entries(fields)


def group_of(paths, **fields):
    return "\n[groups.g]\n" + entries({"paths": paths, **fields})


def feed(pattern):
    return f'\n[policies."{pattern}".form]\norder = "kernel_feed"\n'


QK = group_of("model.layers.*.self_attn.{q,k}_proj")




def tangled(count):
    """Policies of one long glob each, `*p*q*...`, each with letters of its own."""
    out, state = ROOT, 1
    for i in range(count):
        glob = "*"
        for _ in range(60):
            state = (state * 1664525 + 1013904223) % 2**32
            glob += chr(ord("a") + (state >> 16) % 26) + "*"
        out += scheme(glob, format="q8_0" if i % 2 else "f16")
    return out


def hard_to_compare(n, **fields):
    """Two patterns, one inside the other; to see it, n letters have to be remembered. Both cover
    the weight of 2n + 1 times `a`."""
    def twice(letter, apart):
        return f"*{letter}{'?' * (apart - 1)}{letter}*"
    repeats = ",".join(twice(letter, apart) for apart in (n, 2 * n) for letter in "ab")
    words = scheme("{a,b}" * (2 * n + 1), format="f16", **fields)
    return ROOT + words + scheme("{" + repeats + "}", format="q8_0", **fields)


class Bad:
    """A policy file with a fault, and what check must say of it."""

    def __init__(self, says, text, line, code=7, weights=None, files=None,
                 to=None):
        self.says = says          # part of the message
        self.text = text          # str or bytes
        self.line = line          # the offending line as it is shown; None: there is none
        self.code = code          # exit code
        self.weights = weights    # checkpoint
        self.files = files or {}  # beside the policy
        self.to = to              # what pack is to make


def faults_of_the_text():
    yield Bad("unknown key", ROOT + '[policies."*"]\ndtpe = "f32"\n', 'dtpe = "f32"')
    yield Bad(
        "a pattern with dots is one quoted key",
        ROOT + '[policies.model.layers]\ndtype = "f32"\n',
        "[policies.model.layers]",
    )
    yield Bad(
        "wrong type", '[policies."*".schemes]\nformat = "f32"\n', '[policies."*".schemes]'
    )
    yield Bad("unknown value", ROOT + '[policies."*"]\ndtype = "f23"\n', 'dtype = "f23"')
    yield Bad(
        "unknown compression level",
        ROOT + '[policies."*".form]\ncompress = "zstd:22"\n',
        'compress = "zstd:22"',
    )
    yield Bad("unknown codec", scheme("*", format="q8_2"), 'format = "q8_2"')
    yield Bad("codec is for reading only", scheme("*", format="f64"), 'format = "f64"')
    yield Bad("unknown encoding", '[myelin]\nformats = ["bf61"]\n', 'formats = ["bf61"]')
    yield Bad(
        "unknown device", ROOT + '[policies."*".backend]\ndevice = "bord"\n', 'device = "bord"'
    )
    yield Bad(
        "device `local` is built in",
        ROOT + '[devices.local]\ntarget = "cpu"\n',
        "[devices.local]",
    )
    yield Bad(
        "unknown profile", ROOT + '[devices.a]\nprofile = "egde"\n', 'profile = "egde"'
    )
    yield Bad("profile `edge` is built in", ROOT + "[profiles.edge]\n", "[profiles.edge]")
    yield Bad("a profile without a name", ROOT + '[profiles.""]\n', '[profiles.""]')
    yield Bad(
        "profiles that extend one another in a circle",
        ROOT + '[profiles.a]\nextends = "a"\n',
        'extends = "a"',
    )
    yield Bad(
        "not a size in bytes", ROOT + '[profiles.a]\nreserve = "7M"\n', 'reserve = "7M"'
    )
    yield Bad(
        "the reserve of the profile is larger than its memory",
        ROOT + '[profiles.a]\nmemory = "1GiB"\nreserve = "2GiB"\n',
        "[profiles.a]",
    )
    yield Bad("a key is missing", ROOT + scheme("a", volatile=True), "[[policies.'a'.schemes]]")
    yield Bad(
        "a contradiction with scope constant",
        scheme("*", lifetime="session", format="f32"),
        'lifetime = "session"',
    )
    yield Bad(
        "a contradiction with scope input",
        ROOT + scheme("*", scope="input", volatile=True, format="f32"),
        "volatile = true",
    )
    yield Bad(
        "ambiguous schemes: two of one policy",
        ROOT + scheme("*", format="f16"),
        "[[policies.'*'.schemes]]",
    )
    yield Bad(
        "policies disagree about values that are not constants",
        ROOT
        + scheme("a.*", scope="input", format="f16")
        + scheme("*.b", scope="input", format="q8_0"),
        "[[policies.'*.b'.schemes]]",
    )
    yield Bad("a key or table is set twice", ROOT + ROOT, "[myelin]")
    yield Bad("TOML syntax error", ROOT + "[policies.a*]\n", "[policies.a*]")
    nested = "a = " + "[" * 40 + "]" * 40
    yield Bad("arrays and tables are nested too deep", nested + "\n", nested, code=6)
    dotted = ".".join("a" * 40) + " = 1"
    yield Bad("a dotted key has too many parts", dotted + "\n", dotted, code=6)
    yield Bad("the file is not UTF-8", ROOT.encode() + b"# \xff\n", "# \\xff")
    yield Bad("a byte order mark", b"\xef\xbb\xbf" + ROOT.encode(), "\\u{feff}[myelin]")
    yield Bad("a NUL character", ROOT + "# a\0b\n", "# a\\x00b")


def faults_of_patterns():
    for says, pattern in (
        ("an empty pattern", ""),
        ("a dot inside braces", "{a.b,c}"),
        ("an escaped dot", "a\\.b"),
        ("a backslash at the end escapes nothing", "a\\"),
        ("a brace that is never closed", "a.{b"),
        ("a closing brace that nothing opened", "a}"),
        ("empty braces", "{}"),
        ("braces nested too deeply", "{" * 9 + "a" + "}" * 9),
        ("`**` with something beside it in its segment", "a**"),
        ("a range that does not count integers", "{a..c}"),
        ("a range that counts down", "{3..0}"),
        ("a range of zero-padded numbers of different widths", "{00..100}"),
        ("a range with too many numbers", "{0..99999999}"),
        ("a pattern that is too long", "a" * 9000),
        ("a pattern that expands too far", "{17..988871}x" * 600),
    ):
        code = 6 if "too" in says else 7
        yield Bad(says, ROOT + scheme(pattern, format="f16"), "[[policies.'" + pattern[:30], code)


def faults_of_files_and_groups():
    yield Bad("no file has such a name", 'extends = ""\n' + ROOT, 'extends = ""')
    yield Bad(
        "the file to extend cannot be used", 'extends = "no.toml"\n' + ROOT, 'extends = "no.toml"'
    )
    yield Bad(
        "the file to extend lies outside", 'extends = "../x.toml"\n' + ROOT, 'extends = "../x.toml"'
    )
    yield Bad(
        "the files extend one another in a circle",
        'extends = "b.toml"\n',
        'extends = "bad.toml"',
        files={"b.toml": 'extends = "bad.toml"\n'},
    )
    chain = {f"c{i}.toml": f'extends = "c{i + 1}.toml"\n' for i in range(20)}
    yield Bad(
        "too many files extend one another",
        'extends = "c0.toml"\n',
        'extends = "c15.toml"',
        code=6,
        files=chain,
    )
    yield Bad(
        "unknown key",
        'extends = "b.toml"\n',
        'dtpe = "f32"',
        files={"b.toml": '[policies.a]\ndtpe = "f32"\n'},
    )
    yield Bad("a group that asks for nothing", ROOT + group_of("a.{b,c}", same=[]), "same = []")
    yield Bad(
        "a wildcard inside the braces of a group",
        ROOT + group_of("a.{b*,c}"),
        'paths = "a.{b*,c}"',
    )


LONG_PATH = "abcdefghijklmnopqrstuvwxyz" * 60


def hard_groups(count):
    """Groups whose members take long to find among the weights of LONG_PATH."""
    glob = "*" + "".join(f"{letter}*" for letter in LONG_PATH[:1500])
    return ROOT + "".join(f'[groups.g{i}]\npaths = "{glob}"\n' for i in range(count))


def faults_against(tiny):
    yield Bad(
        "ambiguous: policies disagree",
        fixtures.AMBIGUOUS,
        '[[policies."model.*.*.self_attn".schemes]]',
        weights=tiny,
    )
    yield Bad(
        "they cover the same paths",
        ROOT
        + scheme("model.{layers,scale}", format="f16")
        + scheme("model.{scale,layers}", format="q8_0"),
        "[[policies.'model.{layers,scale}'.schemes]]",
        weights=tiny,
    )
    yield Bad(
        "the pattern matches no weight",
        fixtures.UNMATCHED,
        '[[policies."model.layers.*.mpl".schemes]]',
        weights=tiny,
    )
    yield Bad(
        "the pattern matches only scales, which go with their weights",
        fixtures.POLICIES["fp8_scale.toml"],
        '[[policies."**.scale_weight".schemes]]',
        weights="fp8.safetensors",
    )
    yield Bad(
        "the codec cannot store a weight",
        fixtures.Q8_STRICT,
        '[[policies."*".schemes]]',
        weights=tiny,
    )
    yield Bad(
        "neither the codec nor the fallback can store a weight",
        fixtures.Q8_STRICT + '[policies."*"]\nfallback = "q4_0"\n',
        '[[policies."*".schemes]]',
        weights=tiny,
    )
    yield Bad(
        "the group matches no weight",
        ROOT + group_of("a.{b,c}"),
        'paths = "a.{b,c}"',
        weights=tiny,
    )
    yield Bad(
        "members of a group differ",
        ROOT + scheme("**.q_proj", format="f16") + QK,
        "[groups.g]",
        weights=tiny,
    )
    yield Bad(
        "a contradiction: compressed, and to be mapped from the file",
        scheme("*", format="f16") + '[policies."*".form]\ncompress = "zstd"\nresidency = "mapped"\n',
        'compress = "zstd"',
        weights=tiny,
    )
    yield Bad(
        "no kernel of cpu feeds on a codec: 'model.embed_tokens.weight'",
        ROOT + scheme("**.embed_tokens", format="q5_1") + feed("**.embed_tokens"),
        'order = "kernel_feed"',
        weights=tiny,
    )
    yield Bad(
        "no kernel multiplies a weight of this orientation: 'model.embed_tokens.weight'",
        ROOT + feed("**.embed_tokens") + 'orientation = "in_out"\n',
        'order = "kernel_feed"',
        weights=tiny,
    )
    yield Bad("a float weight that no scheme covers", "", None, weights=tiny)
    yield Bad(
        "a float weight that no scheme covers",
        '[policies."*"]\ndtype = "f16"\n',
        '[policies."*"]',
        weights=tiny,
    )
    yield Bad(
        "a source encoding that the policy does not name",
        scheme("*", format="f16"),
        "[[policies",
        weights=tiny,
    )
    yield Bad(
        "no codec here decodes a source encoding",
        scheme("*", format="f16"),
        "[[policies",
        weights="e8m0.safetensors",
    )
    yield Bad(
        "GGUF has no tensor type for a codec: 2 weights",
        fixtures.GGUF_TERNARY,
        "[[policies",
        weights="tiny.gguf",
        to="gguf",
    )
    yield Bad(
        "GGUF holds rows one after the other alone: 'output_norm.weight'",
        fixtures.GGUF + feed("output_norm"),
        'order = "kernel_feed"',
        weights="tiny.gguf",
        to="gguf",
    )
    yield Bad(
        "GGUF holds no compressed weights: 'output_norm.weight'",
        fixtures.GGUF + '\n[policies."output_norm".form]\ncompress = "zstd"\n',
        "compress",
        weights="tiny.gguf",
        to="gguf",
    )


def faults_of_scale(tiny):
    yield Bad("the policy file is too large", ROOT + "#" * (1 << 20), None, code=6)
    yield Bad(
        "too many policies",
        ROOT + "".join(f'[policies.p{i}]\ndtype = "f16"\n' for i in range(10_001)),
        "[policies.p9999]",
        code=6,
    )
    yield Bad(
        "too many policies cover one path",
        ROOT + "".join(f'[policies."{{model,p{i}}}"]\ndtype = "f16"\n' for i in range(300)),
        '[policies."{model,p255}"]',
        code=6,
        weights=tiny,
    )
    yield Bad(
        "cannot tell which of two patterns is narrower",
        hard_to_compare(30),
        "[[policies.'{*a??????",
        code=6,
        weights="hard.safetensors",
    )
    yield Bad(
        "patterns are too complex to compare with one another",
        hard_to_compare(30, scope="input"),
        "[[policies.'{*a??????",
        code=6,
    )
    yield Bad(
        "finding the members of the groups takes too long",
        hard_groups(30),
        'paths = "*a*b*',
        code=6,
        weights="tangled.safetensors",
    )
    yield Bad(
        "deciding between the policies takes too long",
        tangled(250),
        None,
        code=6,
        weights="tangled.safetensors",
    )


def bad_files():
    tiny = "tiny.safetensors"
    yield from faults_of_the_text()
    yield from faults_of_patterns()
    yield from faults_of_files_and_groups()
    yield from faults_against(tiny)
    yield from faults_of_scale(tiny)
