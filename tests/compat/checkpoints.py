"""The checkpoints that make_v1.py packs: files with any dtype, shape and bytes."""

import json
import struct

from fixtures import elements, encode, gguf_text, values, write_gguf_tensors

BITS = {
    "BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8,
    "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
    "I32": 32, "U32": 32, "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64,
}


def some_bytes(count, seed):
    return bytes(int((x + 1) * 128) % 256 for x in values(count, seed))


def tensor(name, dtype, shape, seed):
    """Numbers in [-1, 1) of the dtypes that fixtures.py encodes, any bits of the others."""
    if dtype in ("F32", "F16", "BF16"):
        return name, dtype, shape, encode(dtype, values(elements(shape), seed))
    if dtype == "F64":
        count = elements(shape)
        return name, dtype, shape, struct.pack(f"<{count}d", *values(count, seed))
    raw = some_bytes(elements(shape) * BITS[dtype] // 8, seed)
    return name, dtype, shape, bytes(byte & 1 for byte in raw) if dtype == "BOOL" else raw


def write(path, tensors, metadata=None):
    """A safetensors file of (name, dtype, shape, bytes)."""
    entries, offset = {}, 0
    if metadata:
        entries["__metadata__"] = metadata
    for name, dtype, shape, raw in tensors:
        assert len(raw) * 8 == elements(shape) * BITS[dtype], name
        entries[name] = {"dtype": dtype, "shape": shape,
                         "data_offsets": [offset, offset + len(raw)]}
        offset += len(raw)
    text = json.dumps(entries).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, _, raw in tensors:
            file.write(raw)


# Number, elements and bytes of a block, and where its f16 scales are (docs/codecs.md; sizes of the
# types that no codec decodes: ggml 0.21.0).
GGUF_TYPES = {
    "Q4_0": (2, 32, 18, [0]), "Q4_1": (3, 32, 20, [0, 2]), "Q5_0": (6, 32, 22, [0]),
    "Q5_1": (7, 32, 24, [0, 2]), "Q8_0": (8, 32, 34, [0]), "Q8_1": (9, 32, 36, [0, 2]),
    "Q2_K": (10, 256, 84, [80, 82]), "Q3_K": (11, 256, 110, [108]),
    "Q4_K": (12, 256, 144, [0, 2]), "Q5_K": (13, 256, 176, [0, 2]), "Q6_K": (14, 256, 210, [208]),
    "Q8_K": (15, 256, 292, []), "IQ4_NL": (20, 32, 18, [0]), "IQ4_XS": (23, 256, 136, [0]),
    "TQ1_0": (34, 256, 54, [52]), "TQ2_0": (35, 256, 66, [64]), "MXFP4": (39, 32, 17, []),
    "IQ2_XXS": (16, 256, 66, []), "IQ1_M": (29, 256, 56, []), "NVFP4": (40, 64, 36, []),
}


def gguf_tensor(name, type_, rows, columns, seed):
    """Any codes, and scales that decode to finite values."""
    number, length, size, scales = GGUF_TYPES[type_]
    count = rows * columns // length
    raw = bytearray(some_bytes(count * size, seed))
    for i in range(count):
        for at in scales:
            struct.pack_into("<e", raw, i * size + at, (i % 7 - 3) / 64)
        if type_ == "Q8_K":
            struct.pack_into("<f", raw, i * size, (i % 7 - 3) / 48)
        if type_ == "MXFP4":
            raw[i * size] = 120 + i % 9
    return name, [columns, rows], number, bytes(raw)


def gguf_array(type_, items):
    return struct.pack("<IQ", type_, len(items)) + b"".join(items)


def key_values():
    """Every type, values that JSON cannot write, and arrays and strings that need an entry."""
    numbers = [struct.pack("<i", i - 40) for i in range(80)]
    words = [gguf_text(f"word {i}") for i in range(100)]
    return [
        ("general.architecture", 8, gguf_text("llama")),
        ("general.file_type", 4, struct.pack("<I", 7)),
        ("a.uint8", 0, struct.pack("<B", 255)), ("a.int8", 1, struct.pack("<b", -128)),
        ("a.uint16", 2, struct.pack("<H", 65535)), ("a.int16", 3, struct.pack("<h", -32768)),
        ("a.int32", 5, struct.pack("<i", -2**31)), ("a.float32", 6, struct.pack("<f", 1e-5)),
        ("a.infinite", 6, struct.pack("<f", float("-inf"))),
        ("a.nan", 6, struct.pack("<I", 0x7FC00001)),
        ("a.bool", 7, b"\1"), ("a.uint64", 10, struct.pack("<Q", 2**64 - 1)),
        ("a.int64", 11, struct.pack("<q", -2**63)), ("a.float64", 12, struct.pack("<d", 0.1)),
        ("a.text", 8, gguf_text('{"quoted"} \\ \n\t é')),
        ("a.bytes", 8, struct.pack("<Q", 3) + b"\xff\x00\x80"),
        ("a.short", 9, gguf_array(5, numbers[:5])), ("a.none", 9, gguf_array(8, [])),
        ("a.nested", 9, gguf_array(9, [gguf_array(7, [b"\0", b"\1"]), gguf_array(8, words[:2])])),
        ("a.numbers", 9, gguf_array(5, numbers)), ("a.words", 9, gguf_array(8, words)),
        ("a.long", 8, gguf_text("long " * 14000)),
    ]


def write_gguf(path, tensors, keys):
    write_gguf_tensors(path, keys, tensors)
