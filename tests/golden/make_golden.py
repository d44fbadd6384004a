#!/usr/bin/env python3
"""Writes the golden files of the codecs that have no reference implementation elsewhere, or none
that the reference vectors show (q8_1, q8_k, iq4_xs): f32, f64, the 8-bit floats, ternary,
ternary:absmean, ternary:planes, and their own inputs.

Independent of the C++ code: integers and fractions only, each rounding made by round_float() from
the exact value. Standard library only.

    make_golden.py           writes the files
    make_golden.py --check   exits 1, naming what differs, when a file is not what it would write
"""

import random
import struct
import sys
from fractions import Fraction
from pathlib import Path

HERE = Path(__file__).resolve().parent

# Significand bits, smallest and largest exponent of a normal number, bytes.
F16 = (11, -14, 15, 2)
F32 = (24, -126, 127, 4)
F64 = (53, -1022, 1023, 8)

# Fraction bits, bias, and which codes are NaN, of 8-bit floats.
FLOAT8 = {
    "f8_e4m3": (3, 7, "all ones"),
    "f8_e5m2": (2, 15, "top exponent"),
    "f8_e4m3fnuz": (3, 8, "negative zero"),
    "f8_e5m2fnuz": (2, 16, "negative zero"),
}

GROUP = 128  # elements of a group of two-bit codes
PLANES = 8


# Floats as bits and exact values.


def sign_and_magnitude(bits, kind):
    width = 8 * kind[3]
    return bits >> (width - 1), bits & ((1 << (width - 1)) - 1)


def infinity(kind):
    return (2 * kind[2] + 1) << (kind[0] - 1)


def is_finite(bits, kind=F32):
    return sign_and_magnitude(bits, kind)[1] < infinity(kind)


def exact(bits, kind=F32):
    """The value of a finite float."""
    precision, smallest, _, _ = kind
    sign, magnitude = sign_and_magnitude(bits, kind)
    field, fraction = magnitude >> (precision - 1), magnitude & ((1 << (precision - 1)) - 1)
    if field:
        fraction += 1 << (precision - 1)
        field -= 1
    value = Fraction(fraction) * Fraction(2) ** (field + smallest - (precision - 1))
    return -value if sign else value


def round_float(value, kind=F32, negative_zero=False):
    """Bits of the float nearest to an exact value, ties to even."""
    precision, smallest, largest, size = kind
    sign = 1 << (8 * size - 1)
    if value == 0:
        return sign if negative_zero else 0
    magnitude = abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    exponent = max(exponent, smallest)
    steps = magnitude / Fraction(2) ** (exponent - (precision - 1))
    whole, rest = divmod(steps.numerator, steps.denominator)
    twice = 2 * rest
    if twice > steps.denominator or (twice == steps.denominator and whole % 2 == 1):
        whole += 1
    # A carry out of the significand is the next exponent: the fields are adjacent.
    bits = ((exponent - smallest) << (precision - 1)) + whole
    bits = min(bits, infinity(kind))
    assert exponent <= largest or bits == infinity(kind)
    return bits | (sign if value < 0 else 0)


def unpack(data, letter, size):
    return [v for (v,) in struct.iter_unpack("<" + letter, data)]


def read_input(name):
    return unpack((HERE / "inputs" / f"{name}.f32").read_bytes(), "I", 4)


def pack32(bits):
    return struct.pack(f"<{len(bits)}I", *bits)


def f32(number):
    """Bits of the f32 nearest to a Python number."""
    return round_float(Fraction(number), F32, str(number).startswith("-"))


# Two-bit codes.


def pack_codes(codes):
    """A row of codes of -1, 0, 1, padded with zeros to whole groups."""
    padded = codes + [0] * (-len(codes) % GROUP)
    out = bytearray()
    for first in range(0, len(padded), GROUP):
        for m in range(32):
            out.append(sum((padded[first + 32 * n + m] + 1) << (2 * n) for n in range(4)))
    return bytes(out)


def scaled_code(code, scale_bits, kind=F32):
    """code × scale in f32, with the sign of a zero product."""
    sign, _ = sign_and_magnitude(scale_bits, kind)
    return round_float(code * exact(scale_bits, kind), F32, (code < 0) != bool(sign))


def finite_or_zero(bits):
    return exact(bits) if is_finite(bits) else Fraction(0)


# Codecs: encode a list of rows of f32 bits to {component: bytes} and the decoded f32 bits.


def encode_f32(rows):
    flat = [bits for row in rows for bits in row]
    return {"values": pack32(flat)}, flat


def ternary_row(row):
    values = [finite_or_zero(bits) for bits in row]
    # Whole numbers of the smallest subnormal, so that the sums are integers.
    magnitudes = sorted((int(abs(v) * 2**149) for v in values), reverse=True)
    best_sum, best_k, total = 0, 1, 0
    for k, magnitude in enumerate(magnitudes, 1):
        total += magnitude
        if magnitude and total * total * best_k > best_sum * best_sum * k:
            best_sum, best_k = total, k
    scale = round_float(Fraction(best_sum, best_k << 149))
    kept = [0] * len(row)
    by_magnitude = sorted(range(len(row)), key=lambda i: -abs(values[i]))
    for i in by_magnitude[: best_k if best_sum else 0]:
        kept[i] = 1 if values[i] > 0 else -1
    return kept, scale


def encode_ternary(rows):
    codes, scales, decoded = b"", [], []
    for row in rows:
        row_codes, scale = ternary_row(row)
        codes += pack_codes(row_codes)
        scales.append(scale)
        decoded += [scaled_code(code, scale) for code in row_codes]
    return {"codes": codes, "scales": pack32(scales)}, decoded


def encode_absmean(rows):
    flat = [finite_or_zero(bits) for row in rows for bits in row]
    scale_bits = round_float(sum(abs(v) for v in flat) / len(flat))
    scale = exact(scale_bits)
    codes, decoded = b"", []
    for row in rows:
        row_codes = []
        for bits in row:
            code = 0
            if scale:
                ratio = round_float(finite_or_zero(bits) / scale)
                rounded = round(exact(ratio)) if is_finite(ratio) else finite_or_zero(bits)
                code = int(max(-1, min(1, rounded)))  # round() takes halves to even
            row_codes.append(code)
        codes += pack_codes(row_codes)
        decoded += [scaled_code(code, scale_bits) for code in row_codes]
    return {"codes": codes, "scales": pack32([scale_bits])}, decoded


def f32_of(value):
    return exact(round_float(value))


def planes_row(row, scale):
    """Eight lists of digits."""
    remainders = [f32_of(finite_or_zero(bits) / scale) if scale else Fraction(0) for bits in row]
    planes = []
    for _ in range(PLANES):
        half = Fraction(1, 2)
        digits = [1 if r > half else -1 if r < -half else 0 for r in remainders]
        remainders = [f32_of(3 * f32_of(r - t)) for r, t in zip(remainders, digits)]
        planes.append(digits)
    return planes


def encode_planes(rows):
    planes_bytes, scales, decoded = b"", b"", []
    for row in rows:
        scale_bits = round_float(max(abs(finite_or_zero(bits)) for bits in row), F16)
        scales += struct.pack("<H", scale_bits)
        overflow = not is_finite(scale_bits, F16)
        # A finite value divided by an infinite scale is 0, like one divided by no scale at all.
        scale = Fraction(0) if overflow else exact(scale_bits, F16)
        planes = planes_row(row, scale)
        for digits in planes:
            planes_bytes += pack_codes(digits)
        for i in range(len(row)):
            value = sum(planes[p][i] * 3 ** (7 - p) for p in range(PLANES))
            if overflow:
                decoded.append(None)  # 0 × infinity
            else:
                decoded.append(round_float(scale * f32_of(Fraction(value, 3**7)), F32, value < 0))
    return {"planes": planes_bytes, "scales": scales}, decoded


def f64_cases():
    """f64 bits, with ties and ends of the f32 range, and f32 bits."""
    one = 1 << 52
    tops = [0, 1, 0x10000000, 0x0FFFFFFF, 0x10000001, 0x30000000, 0x2FFFFFFF, 0x1FFFFFFF]
    fields = [0, 1, 872, 873, 874, 880, 895, 896, 897, 898, 1022, 1023, 1149, 1150, 1151, 2046]
    source = [(field << 52) + low for field in fields for low in tops + [one - 1, one - tops[2]]]
    generator = random.Random(64)
    source += [generator.getrandbits(63) for _ in range(200)]
    source += [((generator.randrange(870, 1152)) << 52) + generator.getrandbits(52) for _ in range(400)]
    nans = [1, one // 2, one // 2 + 5, one - 1, 1 << 29, (1 << 29) - 1, 0x123456789ABCD]
    source += [infinity(F64)] + [infinity(F64) + payload for payload in nans]
    source += [bits | 1 << 63 for bits in source]
    decoded = []
    for bits in source:
        sign, magnitude = sign_and_magnitude(bits, F64)
        if magnitude > infinity(F64):  # the top of the payload, quiet
            result = infinity(F32) | 1 << 22 | (magnitude >> 29) & ((1 << 22) - 1)
            result |= sign << 31
        elif magnitude == infinity(F64):
            result = infinity(F32) | sign << 31
        else:
            result = round_float(exact(bits, F64), F32, bool(sign))
        decoded.append(result)
    return source, decoded


def float8_decoded(fraction_bits, bias, nan):
    """f32 bits of all codes of an 8-bit float."""
    decoded = []
    for code in range(256):
        sign, magnitude = code >> 7, code & 127
        exponent, fraction = divmod(magnitude, 1 << fraction_bits)
        quiet = infinity(F32) | 1 << 22 | fraction << (23 - fraction_bits) | sign << 31
        if nan == "negative zero" and code == 128:
            decoded.append(infinity(F32) | 1 << 22)
        elif nan == "all ones" and magnitude == 127:
            decoded.append(quiet)
        elif nan == "top exponent" and exponent == 127 >> fraction_bits:
            decoded.append(quiet if fraction else infinity(F32) | sign << 31)
        else:
            whole = fraction + (1 << fraction_bits) if exponent else fraction
            value = whole * Fraction(2) ** (max(exponent, 1) - bias - fraction_bits)
            decoded.append(round_float(-value if sign else value, F32, bool(sign)))
    return decoded


# Layouts of GGUF that are only read. A block is bytes; its values are exact, or None: a NaN.


IQ4 = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113]

F16_SCALES = [0, 1, 0x3FF, 0x400, 0x3C00, 0x2A66, 0x7BFF, 0x7C00, 0x7E01]
F32_SCALES = [0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x3DCCCCCD, 0x7C000000, 0x7F7FFFFF, 0x7F800000,
              0x7F800001]


def signed(byte):
    return byte - 256 if byte > 127 else byte


def product(scale_bits, kind, factor):
    """f32 bits of scale × factor."""
    sign, magnitude = sign_and_magnitude(scale_bits, kind)
    negative = bool(sign) != (factor < 0)
    if magnitude > infinity(kind) or (magnitude == infinity(kind) and factor == 0):
        return 0x7FC00000
    if magnitude == infinity(kind):
        return infinity(F32) | int(negative) << 31
    return round_float(exact(scale_bits, kind) * factor, F32, negative)


def q8_1_blocks(generator):
    """f16 scale, f16 sum, 32 int8."""
    blocks, decoded = b"", []
    for scale in F16_SCALES + [v | 0x8000 for v in F16_SCALES] + [0x2E66] * 14:
        codes = generator.randbytes(32)
        blocks += struct.pack("<HH", scale, generator.getrandbits(16)) + codes
        decoded += [product(scale, F16, signed(q)) for q in codes]
    return blocks, decoded, 128


def q8_k_blocks(generator):
    """f32 scale, 256 int8, 16 int16 sums."""
    blocks, decoded = b"", []
    for scale in F32_SCALES + [v | 1 << 31 for v in F32_SCALES]:
        codes = generator.randbytes(256)
        blocks += struct.pack("<I", scale) + codes + generator.randbytes(32)
        decoded += [product(scale, F32, signed(q)) for q in codes]
    return blocks, decoded, 512


def iq4_xs_blocks(generator):
    """f16 scale, 16 bits and four bytes of parts of six-bit scales, eight times 16 bytes of codes."""
    blocks, decoded = b"", []
    for scale in F16_SCALES + [v | 0x8000 for v in F16_SCALES]:
        high, low = generator.getrandbits(16), generator.randbytes(4)
        codes = generator.randbytes(128)
        blocks += struct.pack("<HH", scale, high) + low + codes
        for sub in range(8):
            steps = (low[sub // 2] // 16 ** (sub % 2)) % 16 + 16 * (high // 4**sub % 4) - 32
            block = codes[16 * sub : 16 * sub + 16]
            for code in [q % 16 for q in block] + [q // 16 for q in block]:
                bits = product(scale, F16, steps * IQ4[code])
                # d × steps comes first: its zero has a sign of its own, as has the product's.
                if steps == 0 and bits != 0x7FC00000:
                    bits = int(bool(scale >> 15) != (IQ4[code] < 0)) << 31
                decoded.append(bits)
    return blocks, decoded, 256


READ_ONLY = {"q8_1": q8_1_blocks, "q8_k": q8_k_blocks, "iq4_xs": iq4_xs_blocks}


# Inputs.


def bell(generator):
    """Roughly normal, exactly the same with every Python: sums of whole numbers."""
    return Fraction(sum(generator.randrange(1 << 20) for _ in range(12)) - 6 * (1 << 20), 1 << 20)


def ternary_rows():
    """Rows of 100: what a row of a weight can be."""
    generator = random.Random(100)
    rows = []

    def row(values):
        values = list(values)
        rows.append([v if isinstance(v, str) else f32(v) for v in values + [0] * (100 - len(values))])

    def signed(magnitude):
        return generator.choice([-1, 1]) * magnitude

    for scale in [1, Fraction(1, 50), Fraction(2) ** 100, Fraction(2) ** -120]:
        row(bell(generator) * scale for _ in range(100))
    for s in ["0.0371", "1", "3.4028234663852886e38", "1e-45", "7e-42", "1e-30"]:  # {-s, 0, s}
        row(generator.choice([-1, 0, 1]) * Fraction(s) for _ in range(100))
    row([])
    row([3, -1, 1, 1])  # a tie of k = 1 and k = 4
    row([6, 2, -2, 2, 2])
    row([1000] + [signed(Fraction(1, 1000)) for _ in range(99)])  # one outlier
    row([1000] + [signed(Fraction(99, 2)) for _ in range(99)])
    row(signed(Fraction(5, 8)) for _ in range(100))  # one magnitude, both signs
    row(signed(generator.choice([1, 2, 3])) for _ in range(100))
    row(signed(generator.randrange(1, 1 << 23) * Fraction(2) ** -149) for _ in range(100))
    row(signed(Fraction(2) ** 127 * (1 + Fraction(generator.randrange(1 << 23), 1 << 23)))
        for _ in range(100))
    row([70000, 1, -70000])  # above f16
    row([Fraction(2) ** -25, Fraction(-3) * Fraction(2) ** -26])  # at the bottom of f16
    row(signed(Fraction(2) ** generator.randrange(-149, 128)) for _ in range(100))
    row([Fraction(1, 2), Fraction(-1, 2), 1, Fraction(1, 6), Fraction(1, 3), Fraction(-1, 4)])
    return rows


def special_rows():
    """Rows of 5 with signed zeros, NaN and infinities."""
    nan, inf, minus = 0x7FC00000, 0x7F800000, 0x80000000
    one, half, two = f32(1), f32(Fraction(1, 2)), f32(2)
    return [
        [nan, one, minus | half, 0, minus],
        [inf, minus | inf, two, half, nan | minus],
        [nan, nan, inf, nan, minus | inf],
        [minus, minus, minus, 0, minus],
        [0x7F800001, one, one, minus | one, 0xFFFFFFFF],
    ]


def tie_rows():
    """Two rows of 130 whose mean magnitude is 1, with ratios at and around one half and 3/2."""
    quarter = [Fraction(1, 2), Fraction(-1, 2), Fraction(3, 2), Fraction(-3, 2)]
    near = [0x3F000001, 0xBF000001, 0x3EFFFFFF, 0xBEFFFFFF]
    bits = [f32(v) for v in quarter] * 32 + near * 32
    rest = 260 - len(bits)
    missing = 260 - sum(abs(exact(b)) for b in bits)
    share = missing / rest
    bits += [f32(share)] * rest
    return [bits[:130], bits[130:]]


def all_f32_kinds():
    generator = random.Random(32)
    bits = [0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000]
    bits += [b | 1 << 31 for b in bits]
    bits += [generator.getrandbits(32) for _ in range(256 - len(bits))]
    return [bits[:128], bits[128:]]


INPUTS = {
    "ternary_rows": ternary_rows,
    "special_rows": special_rows,
    "tie_rows": tie_rows,
    "all_f32_kinds": all_f32_kinds,
}

# Inputs that came with the reference vectors, and the row length to read them with.
REFERENCE = {"normal002": 512, "outlier": 256, "tiny": 128, "f32_denormals": 64,
             "ternary_exact": 256, "zeros": 256, "neg_zero": 1, "special": 16, "scale_overflow": 64}

CODECS = {
    "f32": (encode_f32, ["all_f32_kinds", "special_rows", "normal002"]),
    "ternary": (encode_ternary, ["ternary_rows", "special_rows", *REFERENCE]),
    "ternary_absmean": (encode_absmean, ["ternary_rows", "special_rows", "tie_rows", *REFERENCE]),
    "ternary_planes": (encode_planes, ["ternary_rows", "special_rows", *REFERENCE]),
}


def rows_of(case):
    if case in INPUTS:
        return INPUTS[case]()
    values, columns = read_input(case), REFERENCE[case]
    return [values[i : i + columns] for i in range(0, len(values), columns)]


def manifest(lines):
    return ("# case (its input), rows, columns\n" + "".join(f"{line}\n" for line in lines)).encode()


def all_files():
    files = {}
    for name, make in INPUTS.items():
        files[f"inputs/{name}.f32"] = b"".join(pack32(row) for row in make())
    for codec, (encode, cases) in CODECS.items():
        lines = []
        for case in cases:
            rows = rows_of(case)
            components, decoded = encode(rows)
            for component, data in components.items():
                files[f"{codec}/{case}.{component}.bin"] = data
            # A NaN that arithmetic makes has no defined bits: the test compares it as a NaN.
            bits = [0x7FC00000 if b is None else b for b in decoded]
            files[f"{codec}/{case}.decoded.f32"] = pack32(bits)
            lines.append(f"{case} {len(rows)} {len(rows[0])}")
        files[f"{codec}/manifest.txt"] = manifest(lines)
    for codec, make in READ_ONLY.items():
        blocks, decoded, columns = make(random.Random(codec))
        files[f"{codec}/blocks.blocks.bin"] = blocks
        files[f"{codec}/blocks.decoded.f32"] = pack32(decoded)
        files[f"{codec}/manifest.txt"] = manifest([f"blocks {len(decoded) // columns} {columns}"])
    source, decoded = f64_cases()
    files["f64/edges.values.bin"] = struct.pack(f"<{len(source)}Q", *source)
    files["f64/edges.decoded.f32"] = pack32(decoded)
    files["f64/manifest.txt"] = manifest([f"edges 1 {len(source)}"])
    for codec, facts in FLOAT8.items():
        files[f"{codec}/codes.values.bin"] = bytes(range(256))
        files[f"{codec}/codes.decoded.f32"] = pack32(float8_decoded(*facts))
        files[f"{codec}/manifest.txt"] = manifest(["codes 1 256"])
    return files


def main():
    files = all_files()
    if sys.argv[1:] == ["--check"]:
        wrong = [n for n, data in files.items()
                 if not (HERE / n).is_file() or (HERE / n).read_bytes() != data]
        for name in sorted(wrong):
            print(f"differs: tests/golden/{name}", file=sys.stderr)
        sys.exit(1 if wrong else 0)
    for name, data in files.items():
        (HERE / name).parent.mkdir(exist_ok=True)
        (HERE / name).write_bytes(data)


if __name__ == "__main__":
    main()
