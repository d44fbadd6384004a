"""What was measured, as Markdown."""

from .settings import GB, PACK_TARGET_WORKERS

MIB = 1 << 20


def _table(columns, rows):
    """`columns`: headings; one that starts with ">" is a number's."""
    if not rows:
        return []
    heads = [column.lstrip(">") for column in columns]
    rules = ["---:" if column.startswith(">") else "---" for column in columns]
    return [
        "| " + " | ".join(heads) + " |",
        "|" + "|".join(rules) + "|",
        *("| " + " | ".join(map(str, row)) + " |" for row in rows),
        "",
    ]


def _brief(number):
    """Three significant digits, and no exponent."""
    if number >= 100:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 10 else f"{number:.2f}"


def _spread(each):
    if each["low"] == each["high"]:
        return _brief(each["median"])
    return f"{_brief(each['median'])} ({_brief(each['low'])}–{_brief(each['high'])})"


def _against(each, target, reached):
    """A ratio, bold where its median misses the target."""
    text = _spread(each)
    return text if target is None or reached(each["median"], target) else f"**{text}**"


def _size(size):
    return f"{size / GB:g} GB" if size >= GB / 10 else f"{size / 1e6:g} MB"


def _machine(report):
    machine = report["machine"]
    systems = ", ".join(f"{name}: {kind}" for name, kind in machine["file_systems"].items() if kind)
    rows = [
        ("processor", f"{machine['processor']}, {machine['cores']} cores"),
        ("instructions", machine["instructions"]),
        ("caches", machine["caches"]),
        ("memory", f"{machine['memory_bytes'] / (1 << 30):.1f} GiB"),
        ("system", f"{machine['system']}, kernel {machine['kernel']}"),
        ("file systems", systems),
        ("compiler", f"{machine['compiler']}, {machine['build']}"),
        ("version", machine["synps"]),
        ("load at begin and end", " and ".join(f"{load:.1f}" for load in report["load"])),
        ("command", f"`{report['command']}`"),
    ]
    return _table(("what", "here"), [row for row in rows if row[1]])


def _codecs(rows):
    if not rows:
        return []
    by_codec = {}
    for row in rows:
        by_codec.setdefault(row["codec"], {})[row["direction"]] = row

    def cells(row):
        if row is None:
            return ("", "", "")
        target = row["target"]
        ratio = _against(row["ratio"], target, lambda value, least: value >= least)
        return (_brief(row["gb_per_second"]), ratio, "" if target is None else f"≥ {target}")

    table = []
    for codec, found in by_codec.items():
        table.append((f"`{codec}`", *cells(found.get("encode")), *cells(found.get("decode"))))
        if "analyse" in found:
            table.append((f"`{codec}`, analysis", *cells(found["analyse"]), "", "", ""))
    columns = ("codec", ">encode, GB/s", ">× memcpy", "target")
    columns += (">decode, GB/s", ">× memcpy", "target")
    return ["### Codecs", "", *_table(columns, table)]


def _matvec(rows):
    table = [
        (
            f"`{row['operation']}`",
            f"`{row['codec']}`",
            f"`{row['order']}`",
            row["threads"],
            _brief(row["gb_per_second"]),
            _brief(row["read_gb_per_second"]),
            _against(row["ratio"], row["target"], lambda value, least: value >= least),
            "" if row["target"] is None else f"≥ {row['target']}",
            "" if row["ratio_to_rows1"] is None else _spread(row["ratio_to_rows1"]),
        )
        for row in rows
    ]
    columns = ("operation", "codec", "order", ">threads", ">GB/s", ">reading, GB/s", ">× reading")
    columns += ("target", ">× `rows1`")
    return ["### Kernels", "", *_table(columns, table)] if rows else []


def _checksum(rows):
    table = [
        (
            f"`{row['name']}`",
            _brief(row["gb_per_second"]),
            _brief(row["read_gb_per_second"]),
            _spread(row["ratio"]),
        )
        for row in rows
    ]
    columns = ("chunks", ">GB/s", ">reading, GB/s", ">× reading")
    return ["### Checksums", "", *_table(columns, table)] if rows else []


def _opening(rows):
    table = [
        (
            row["what"].replace("_", " "),
            f"{row['weights']:,}",
            _brief(row["milliseconds"]),
            _spread(row["ratio"]),
            row["ratio_to"],
        )
        for row in rows
    ]
    columns = ("what", ">weights", ">ms", ">ratio", "to")
    return ["### Opening", "", *_table(columns, table)] if rows else []


def _policy(rows):
    table = [(f"`{row['name']}`", _spread(row["milliseconds"])) for row in rows]
    return ["### Policies", "", *_table(("case", ">ms"), table)] if rows else []


def _codec_cell(row):
    return f"`{row['policy']}`" + (f" `{row['arguments']}`" if row["arguments"] else "")


def _pack_row(row):
    target = row["target"]
    return (
        row["source"],
        _codec_cell(row),
        row["workers"],
        f"{row['artifact_bytes'] / 1e6:,.0f}",
        _spread(row["seconds"]),
        _brief(row["input_bytes"] / GB / row["seconds"]["median"]),
        _against(row["ratio"], target, lambda value, most: value <= most),
        "" if target is None else f"≤ {target}",
        _spread(row["processor_ratio"]),
        f"{row['user_seconds']:.2f} + {row['system_seconds']:.2f}",
        _brief(row["max_rss_bytes"] / MIB),
    )


PACK_COLUMNS = ("from", "to", ">workers", ">MB written", ">seconds", ">GB/s of input")
PACK_COLUMNS += (">× baseline", "target", ">× baseline, processor", ">user + system s", ">peak MiB")


def _packs(rows):
    out = []
    groups = sorted({(row["nominal_bytes"], row["place"]) for row in rows})
    for size, place in groups:
        chosen = [r for r in rows if (r["nominal_bytes"], r["place"]) == (size, place)]
        out += [f"### Packing {_size(size)} to {place}", ""]
        out += _table(PACK_COLUMNS, [_pack_row(row) for row in chosen])
    return out


def _growth(rows):
    """The cases that were measured at several sizes, side by side."""
    sizes = sorted({row["nominal_bytes"] for row in rows})
    by_case = {}
    for row in rows:
        key = (row["source"], _codec_cell(row), row["workers"], row["place"])
        by_case.setdefault(key, {})[row["nominal_bytes"]] = row
    table = []
    for key, found in by_case.items():
        if len(found) < 2:
            continue
        cells = list(key)
        for size in sizes:
            row = found.get(size)
            if row is None:
                cells += ["", "", ""]
                continue
            per_gb = row["seconds"]["median"] / (row["input_bytes"] / GB)
            cells += [_brief(per_gb), _brief(row["ratio"]["median"])]
            cells.append(_brief(row["max_rss_bytes"] / MIB))
        table.append(cells)
    columns = ["from", "to", ">workers", "place"]
    for size in sizes:
        columns += [f">{_size(size)}: s/GB", ">× baseline", ">peak MiB"]
    return ["### Growth", "", *_table(columns, table)] if table else []


def _counts(rows):
    table = [
        (
            row["source"],
            _codec_cell(row),
            _brief(row["instructions_per_value"]),
            _brief(row["bytes_read_per_value"]),
            _brief(row["bytes_written_per_value"]),
            ", ".join(f"`{name}` {_brief(count)}" for name, count in row["most"].items()),
        )
        for row in rows
    ]
    columns = ("from", "to", ">instructions a value", ">bytes read", ">bytes written", "most in")
    return ["### Instructions", "", *_table(columns, table)] if rows else []


def _comparisons(rows):
    table = [
        (
            row["tool"],
            row["source"],
            f"`{row['policy']}`",
            row["workers"],
            f"{row['input_bytes'] / 1e6:,.0f}",
            _spread(row["seconds"]),
            _spread(row["synps_seconds"]),
            _spread(row["times_as_long"]),
            _brief(row["max_rss_bytes"] / MIB),
            _brief(row["synps_max_rss_bytes"] / MIB),
        )
        for row in rows
    ]
    columns = ("program", "from", "to", ">threads", ">MB of input", ">seconds", ">synps, seconds")
    columns += (">times as long", ">peak MiB", ">synps, peak MiB")
    return ["### Other programs", "", *_table(columns, table)] if rows else []


def _note(report, more):
    text = f"Medians, and quartiles in parentheses{more}"
    text += f" Packs were repeated {report['repetitions']} times."
    if not report["complete"]:
        text = "**Stopped before the end: some of it is missing.** " + text
    return [text, ""]


def _text(lines):
    return "\n".join(lines).rstrip("\n") + "\n"


def comparisons(report):
    """What others took, for a document that has it apart."""
    return _text([*_machine(report), *_note(report, "."), *_comparisons(report["comparisons"])])


def results(report):
    """Everything else."""
    more = "; bold where the median misses its target. Targets for packing hold for"
    more += f" {PACK_TARGET_WORKERS} workers."
    lines = [
        *_machine(report),
        *_note(report, more),
        *_codecs(report["codecs"]),
        *_matvec(report["matvec"]),
        *_checksum(report["checksum"]),
        *_opening(report["open"]),
        *_policy(report["policy"]),
        *_packs(report["pack"]),
        *_growth(report["pack"]),
        *_counts(report["counts"]),
    ]
    return _text(lines)


def markdown(report):
    others = _comparisons(report["comparisons"])
    return results(report) + ("\n" + _text(others) if others else "")
