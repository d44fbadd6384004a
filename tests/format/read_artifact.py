"""An independent reader of synps artifacts, written from docs/format.md and docs/codecs.md alone.

Python's standard library only, so without checksums of its own; compressed components need libzstd.
`read_artifact.py FILE` prints every weight.
"""

import array
import ctypes
import ctypes.util
import functools
import json
import struct
import sys

SEGMENT = 1 << 20  # bytes that are split into byte planes at a time

# Bytes of the dtypes that decode to floats.
WIDTH = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2,
         "F8_E4M3": 1, "F8_E5M2": 1, "F8_E4M3FNUZ": 1, "F8_E5M2FNUZ": 1}

# Bits of fraction and bias.
FLOAT8 = {"F8_E4M3": (3, 7), "F8_E5M2": (2, 15), "F8_E4M3FNUZ": (3, 8), "F8_E5M2FNUZ": (2, 16)}


def floats(bits):
    """An array of f32 from their bit patterns."""
    return array.array("f", struct.pack(f"={len(bits)}I", *bits))


def f16(raw):
    def bits(half):
        sign, exponent, fraction = half >> 15, half >> 10 & 31, half & 1023
        if exponent == 31:  # a NaN becomes quiet
            return sign << 31 | 0x7F800000 | fraction << 13 | (0x400000 if fraction else 0)
        value = fraction * 2.0**-24 if exponent == 0 else (1024 + fraction) * 2.0 ** (exponent - 25)
        return struct.unpack("<I", struct.pack("<f", -value if sign else value))[0]
    return floats([bits(half) for half in struct.unpack(f"<{len(raw) // 2}H", raw)])


def float8(raw, dtype):
    bits, bias = FLOAT8[dtype]

    def pattern(code):
        sign, exponent, fraction = code >> 7, (code & 127) >> bits, code & (1 << bits) - 1
        if dtype.endswith("FNUZ") and code == 128:
            return 0x7FC00000
        if dtype == "F8_E5M2" and exponent == 31 and fraction == 0:
            return sign << 31 | 0x7F800000
        if (dtype == "F8_E4M3" and code & 127 == 127) or (dtype == "F8_E5M2" and exponent == 31):
            return sign << 31 | 0x7FC00000 | fraction << 23 - bits
        whole = fraction + (1 << bits) if exponent else fraction
        value = whole * 2.0 ** (max(exponent, 1) - bias - bits)
        return struct.unpack("<I", struct.pack("<f", -value if sign else value))[0]
    return floats([pattern(code) for code in raw])


def dense(raw, dtype):
    if dtype in FLOAT8:
        return float8(raw, dtype)
    count = len(raw) // WIDTH[dtype]
    if dtype == "F64":
        return array.array("f", struct.unpack(f"<{count}d", raw))
    if dtype == "F32":
        return floats(struct.unpack(f"<{count}I", raw))
    if dtype == "BF16":
        return floats([half << 16 for half in struct.unpack(f"<{count}H", raw)])
    return f16(raw)


def blocks(raw, size, decode):
    for at in range(0, len(raw), size):
        yield from decode(raw[at:at + size])


def q8_0(block):
    [d] = f16(block[:2])
    return [q * d for q in struct.unpack("<32b", block[2:])]


def q4_0(block):
    [d] = f16(block[:2])
    return [((byte >> shift & 15) - 8) * d for shift in (0, 4) for byte in block[2:]]


def nibbles(raw):
    """The lower halves of all bytes, then the upper ones."""
    return [byte >> shift & 15 for shift in (0, 4) for byte in raw]


def with_bits(codes, raw, weight):
    """Codes with a bit more each: bit i of `raw` belongs to code i."""
    return [code + weight * (raw[i // 8] >> i % 8 & 1) for i, code in enumerate(codes)]


def q4_1(block):
    d, m = f16(block[:4])
    return [q * d + m for q in nibbles(block[4:])]


def q5_0(block):
    [d] = f16(block[:2])
    return [(q - 16) * d for q in with_bits(nibbles(block[6:]), block[2:6], 16)]


def q5_1(block):
    d, m = f16(block[:4])
    return [q * d + m for q in with_bits(nibbles(block[8:]), block[4:8], 16)]


def scales_and_mins(raw):
    """Eight pairs of six bits."""
    low, high, rest = raw[:4], raw[4:8], raw[8:]
    return ([(s & 63, m & 63) for s, m in zip(low, high)] +
            [((r & 15) + (s >> 6) * 16, (r >> 4) + (m >> 6) * 16)
             for s, m, r in zip(low, high, rest)])


def q4_k(block):
    d, dmin = f16(block[:4])
    codes = [q for at in range(16, 144, 32) for q in nibbles(block[at:at + 32])]
    pairs = scales_and_mins(block[4:16])
    return [d * pairs[i // 32][0] * q - dmin * pairs[i // 32][1] for i, q in enumerate(codes)]


def q5_k(block):
    d, dmin = f16(block[:4])
    codes = [q for at in range(48, 176, 32) for q in nibbles(block[at:at + 32])]
    codes = [q + 16 * (block[16 + i % 32] >> i // 32 & 1) for i, q in enumerate(codes)]
    pairs = scales_and_mins(block[4:16])
    return [d * pairs[i // 32][0] * q - dmin * pairs[i // 32][1] for i, q in enumerate(codes)]


def q6_k(block):
    [d] = f16(block[208:])
    scales = struct.unpack("<16b", block[192:208])
    values = []
    for half in range(2):
        # Byte l of 64: elements l and l + 64 of the half; bits 2n and 2n + 1 of byte l % 32 of 32:
        # element 32 n + l % 32.
        low = nibbles(block[64 * half:64 * half + 64])
        high = block[128 + 32 * half:160 + 32 * half]
        values += [low[i] + 16 * (high[i % 32] >> i // 32 * 2 & 3) - 32 for i in range(128)]
    return [d * scales[i // 16] * q for i, q in enumerate(values)]


def q8_1(block):
    [d] = f16(block[:2])
    return [q * d for q in struct.unpack("<32b", block[4:])]


def q8_k(block):
    [d] = struct.unpack("<f", block[:4])
    return [q * d for q in struct.unpack("<256b", block[4:260])]


def pairs_of_bits(raw):
    """Codes of two bits: element 128h + 32n + l in bits 2n and 2n + 1 of byte 32h + l."""
    return [raw[i // 128 * 32 + i % 32] >> i // 32 % 4 * 2 & 3 for i in range(4 * len(raw))]


def q2_k(block):
    d, dmin = f16(block[80:])
    return [d * (block[i // 16] & 15) * q - dmin * (block[i // 16] >> 4)
            for i, q in enumerate(pairs_of_bits(block[16:80]))]


def q3_k(block):
    [d] = f16(block[108:])
    scales = [low + 16 * (block[104 + j % 4] >> j // 4 * 2 & 3)
              for j, low in enumerate(nibbles(block[96:104]))]
    codes = [q + 4 * (block[i % 32] >> i // 32 & 1) for i, q in enumerate(pairs_of_bits(block[32:96]))]
    return [d * (scales[i // 16] - 32) * (q - 4) for i, q in enumerate(codes)]


IQ4 = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)
E2M1 = (0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6)


def iq4_nl(block):
    [d] = f16(block[:2])
    return [IQ4[q] * d for q in nibbles(block[2:])]


def iq4_xs(block):
    d, high = f16(block[:2])[0], int.from_bytes(block[2:4], "little")
    values = []
    for j in range(8):
        scale = (block[4 + j // 2] >> j % 2 * 4 & 15) + 16 * (high >> 2 * j & 3)
        values += [d * (scale - 32) * IQ4[q] for q in nibbles(block[8 + 16 * j:24 + 16 * j])]
    return values


def mxfp4(block):
    return [E2M1[q] * 2.0 ** (block[0] - 127) for q in nibbles(block[1:])]


def trits(raw):
    """Two-bit codes of groups of 128 elements in 32 bytes: -1, 0, 1."""
    return [(byte >> shift & 3) - 1 for at in range(0, len(raw), 32)
            for shift in (0, 2, 4, 6) for byte in raw[at:at + 32]]


def tq2_0(block):
    [d] = f16(block[64:])
    return [t * d for t in trits(block[:64])]


def tq1_0(block):
    [d] = f16(block[52:])
    return [(((byte * 3**n & 255) * 3 >> 8) - 1) * d
            for part, count in ((block[:32], 5), (block[32:48], 5), (block[48:52], 4))
            for n in range(count) for byte in part]


def ternary(weight, codes, scales):
    columns = (weight["shape"] or [1])[-1]
    row_bytes = (columns + 127) // 128 * 32
    for row in range(len(codes) // row_bytes if row_bytes else 0):
        # One scale a row, or one a weight.
        scale = scales[row] if len(scales) > 1 else scales[0]
        yield from (t * scale for t in trits(codes[row * row_bytes:][:row_bytes])[:columns])


def planes(weight, raw, scales):
    columns = weight["shape"][-1]
    plane_bytes = (columns + 127) // 128 * 32
    for row, scale in enumerate(scales):
        digits = [trits(raw[(row * 8 + p) * plane_bytes:][:plane_bytes]) for p in range(8)]
        for column in range(columns):
            value = 0
            for plane in digits:
                value = 3 * value + plane[column]
            # The quotient is rounded to f32, then the product.
            yield array.array("f", [value / 2187])[0] * scale


# Bytes of a block, and what it decodes to, of codecs whose one component is `blocks`.
BLOCKS = {"q8_0:q8_0": (34, q8_0), "q4_0:q4_0": (18, q4_0), "q4_1:q4_1": (20, q4_1),
          "q5_0:q5_0": (22, q5_0), "q5_1:q5_1": (24, q5_1), "q8_1:q8_1": (36, q8_1),
          "q2_k:q2_k": (84, q2_k), "q3_k:q3_k": (110, q3_k), "q4_k:q4_k": (144, q4_k),
          "q5_k:q5_k": (176, q5_k), "q6_k:q6_k": (210, q6_k), "q8_k:q8_k": (292, q8_k),
          "iq4_nl:iq4_nl": (18, iq4_nl), "iq4_xs:iq4_xs": (136, iq4_xs),
          "mxfp4:mxfp4": (17, mxfp4), "ternary:tq1_0": (54, tq1_0), "ternary:tq2_0": (66, tq2_0)}


def block_bytes(codec, component):
    """Of the blocks that `rows8` moves."""
    if codec == "ternary:ternary":
        return {"codes": 32, "scales": 4}[component]
    return BLOCKS[codec][0]


def as_rows1(weight, codec, component, raw):
    """The rows of a component, one after the other, whatever its order."""
    if component["order"] == "rows1":
        return raw
    if component["order"] != "rows8" or len(weight["shape"]) != 2:
        raise ValueError(f"{weight['path']}: unknown order {component['order']}")
    rows = weight["shape"][0]
    size = block_bytes(codec, component["name"])
    blocks = len(raw) // rows // size
    result = []
    for row in range(rows):
        group, i = divmod(row, 8)
        for k in range(blocks):
            at = row * blocks + k
            if row < rows // 8 * 8:
                at = 8 * group * blocks + 8 * k + i
            result.append(raw[at * size:(at + 1) * size])
    return b"".join(result)


def decode(weight, codec, parts):
    """The f32 values of a weight, or its bytes when they are no floats."""
    if len(parts) == 1 and "values" in parts:
        dtype = weight["components"][0]["dtype"]
        return dense(parts["values"], dtype) if dtype in WIDTH else parts["values"]
    if codec in BLOCKS:
        return array.array("f", blocks(parts["blocks"], *BLOCKS[codec]))
    if codec in ("ternary:ternary", "ternary:absmean"):
        return array.array("f", ternary(weight, parts["codes"], dense(parts["scales"], "F32")))
    if codec == "ternary:planes":
        return array.array("f", planes(weight, parts["planes"], f16(parts["scales"])))
    raise ValueError(f"{weight['path']}: unknown codec {codec}")


@functools.cache
def libzstd():
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t] * 2
    return library


def inflate(frame, size):
    content = ctypes.create_string_buffer(size)
    if libzstd().ZSTD_decompress(content, size, frame, len(frame)) != size:
        raise ValueError("a frame does not hold its chunk")
    return content.raw


def join_planes(planes, width):
    """Elements of `width` bytes from the planes of a chunk's segments."""
    joined = bytearray(len(planes))
    for at in range(0, len(planes), SEGMENT):
        segment = planes[at:at + SEGMENT]
        count = len(segment) // width
        for p in range(width):
            joined[at + p:at + len(segment):width] = segment[p * count:(p + 1) * count]
    return bytes(joined)


def frame_sizes(index, sums, component):
    """Sizes of a compressed component's frames: they stand behind their digests, 24 bytes for each,
    after the digests of all that is not compressed, 16 bytes each."""
    plain = sum(chunks(part) for weight in index["weights"] for part in weight["components"]
                if part["compression"] == "none")
    begin = 16 * plain + 24 * (component["digest"] - plain)
    return [struct.unpack("<Q", sums[begin + 24 * i + 16:][:8])[0]
            for i in range(chunks(component))]


def chunks(component):
    """Chunks of a component. (The entry has no bytes exactly where the component has none.)"""
    if component["bytes"] == 0:
        return 0
    return max(1, -(-component["bytes"] // component["chunk_bytes"]))


def true_bytes(index, data, sums, weight, component):
    """The bytes of a component, inflated where they are compressed."""
    if component["compression"] == "none":
        return data[component["offset"]:component["offset"] + component["bytes"]]
    at = int(component["offset"], 16)
    dense_float = len(weight["components"]) == 1 and component["name"] == "values"
    width = WIDTH.get(component["dtype"], 1) if dense_float else 1
    result = b""
    for i, size in enumerate(frame_sizes(index, sums, component)):
        content = min(component["chunk_bytes"], component["bytes"] - i * component["chunk_bytes"])
        chunk = inflate(data[at:at + size], content)
        result += join_planes(chunk, width) if width > 1 else chunk
        at += size
    return result


def read_index(path):
    """The index as parsed, its text, the data section, and the sums."""
    with open(path, "rb") as file:
        content = file.read()
    [length] = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    if header["__metadata__"].get("synps.version") != "1":
        raise ValueError("not an artifact of version 1")
    data = content[8 + length:]
    begin, end = header["__synps__"]["data_offsets"]
    sums = slice(*header["__synps_sums__"]["data_offsets"])
    return json.loads(data[begin:end]), data[begin:end], data, data[sums]


def history(index, weight):
    """Encodings that have rounded a weight's values before its own, oldest first."""
    codecs = [index["codecs"][number] for number in weight.get("history", [])]
    if "history" in weight and (not codecs or weight["lossless"]):
        raise ValueError(f"{weight['path']}: a history that cannot be")
    if not all(codec["package"] for codec in codecs):
        raise ValueError(f"{weight['path']}: a history with what is no codec")
    return [f"{codec['package']}:{codec['name']}" for codec in codecs]


def read_artifact(path):
    """Path of every weight -> its values (an array of f32), or bytes for what is no float."""
    index, _, data, sums = read_index(path)
    result = {}
    for weight in index["weights"]:
        codec = index["codecs"][weight["codec"]]
        if codec["revision"] > 1:
            raise ValueError(f"{weight['path']}: unknown revision of {codec['name']}")
        name = f"{codec['package']}:{codec['name']}"
        history(index, weight)
        parts = {part["name"]: as_rows1(weight, name, part,
                                        true_bytes(index, data, sums, weight, part))
                 for part in weight["components"]}
        result[weight["path"]] = decode(weight, name, parts)
    return result


if __name__ == "__main__":
    for name, values in read_artifact(sys.argv[1]).items():
        print(name, list(values))
