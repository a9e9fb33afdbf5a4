"""Golden blocks: random raw blocks of each format, and their values by the definition of the format alone.

    python3 kernels/blocks/testdata/golden.py

writes the files beside this script, the same ones every time. It needs Python 3 and its standard library. It shares nothing
with the Go code: products and sums are formed in float64, in which all but the last rounding are exact.

FORMAT.golden       raw blocks one after the other, then the float32 value of each weight
FORMAT.activations  for each block: float32 values, then the block that they are quantised to
halves.golden       records of the bits of a float32, of the nearest fp16, and of the nearest bf16
"""

import math
import os
import random
import struct
from fractions import Fraction

HERE = os.path.dirname(os.path.abspath(__file__))


def single(v):
    """Round to float32."""
    try:
        return struct.unpack("<f", struct.pack("<f", v))[0]
    except OverflowError:
        return math.copysign(math.inf, v)


def fp16(bits):
    """The value of an fp16, from its fields."""
    sign = -1.0 if bits & 0x8000 else 1.0
    exponent, fraction = bits >> 10 & 31, bits & 1023
    if exponent == 31:
        return sign * math.inf if fraction == 0 else math.nan
    if exponent == 0:
        return sign * fraction * 2.0**-24
    return sign * (1024 + fraction) * 2.0 ** (exponent - 25)


# Scales of blocks: zero, subnormal, smallest normal, ordinary, largest, of both signs; last, infinity and NaN.
SCALES = [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x83FE, 0x0400, 0x8400, 0x3C00, 0xBC00, 0x2E66, 0xA94B, 0x7BFF, 0xFBFF]
BAD_SCALES = [0x7C00, 0xFC00, 0x7E00, 0xFE01]


def scale(rng, n, i):
    """The scale of block i of n: each special one once, random ones between."""
    special = SCALES + BAD_SCALES
    if i < len(special):
        return special[i]
    return rng.randrange(0x8000) % 0x7C00 | rng.randrange(2) << 15


def raw(rng, n, i):
    """Random bytes; some blocks have every bit or no bit set, or all nibbles in a row."""
    if i % 8 == 5:
        return bytes([255]) * n
    if i % 8 == 6:
        return bytes(n)
    if i % 8 == 7:
        return bytes((17 * j + i) % 256 for j in range(n))
    return rng.randbytes(n)


def nibbles(b):
    """The quants of 32 elements: the low nibbles, then the high ones."""
    return [v & 15 for v in b] + [v >> 4 for v in b]


def fifth(qh, i):
    """Bit i of four bytes."""
    return qh[i // 8] >> i % 8 & 1


def q4_0(b):
    d = fp16(b[0] | b[1] << 8)
    return [d * (q - 8) for q in nibbles(b[2:])]


def q4_1(b):
    d, m = fp16(b[0] | b[1] << 8), fp16(b[2] | b[3] << 8)
    return [d * q + m for q in nibbles(b[4:])]


def q5_0(b):
    d = fp16(b[0] | b[1] << 8)
    return [d * (q + 16 * fifth(b[2:6], i) - 16) for i, q in enumerate(nibbles(b[6:]))]


def q5_1(b):
    d, m = fp16(b[0] | b[1] << 8), fp16(b[2] | b[3] << 8)
    return [d * (q + 16 * fifth(b[4:8], i)) + m for i, q in enumerate(nibbles(b[8:]))]


def q8_0(b):
    d = fp16(b[0] | b[1] << 8)
    return [d * q for q in struct.unpack("<32b", b[2:])]


def six_bits(s):
    """Eight scales and eight minima of six bits, as the table of the format has them."""
    sc, m = [], []
    for i in range(8):
        if i < 4:
            sc.append(s[i] & 63)
            m.append(s[4 + i] & 63)
        else:
            sc.append((s[4 + i] & 15) | ((s[i - 4] >> 6) << 4))
            m.append((s[4 + i] >> 4) | ((s[i] >> 6) << 4))
    return sc, m


def with_mins(b, qs, high):
    d, dmin = fp16(b[0] | b[1] << 8), fp16(b[2] | b[3] << 8)
    sc, m = six_bits(b[4:16])
    values = []
    for group in range(4):
        for half in range(2):
            s = 2 * group + half
            for l in range(32):
                q = qs[32 * group + l] >> 4 * half & 15
                if high:
                    q += 16 * (high[l] >> s & 1)
                values.append(d * sc[s] * q - dmin * m[s])
    return values


def q4_k(b):
    return with_mins(b, b[16:], None)


def q5_k(b):
    return with_mins(b, b[48:], b[16:48])


def q6_k(b):
    scales, d = struct.unpack("<16b", b[192:208]), fp16(b[208] | b[209] << 8)
    values = [0.0] * 256
    for half in range(2):
        ql, qh, sc, at = b[64 * half :], b[128 + 32 * half :], scales[8 * half :], 128 * half
        for l in range(32):
            quants = [
                ql[l] & 15 | (qh[l] & 3) << 4,
                ql[l + 32] & 15 | (qh[l] >> 2 & 3) << 4,
                ql[l] >> 4 | (qh[l] >> 4 & 3) << 4,
                ql[l + 32] >> 4 | (qh[l] >> 6 & 3) << 4,
            ]
            for k, q in enumerate(quants):
                values[at + l + 32 * k] = d * sc[l // 16 + 2 * k] * (q - 32)
    return values


def q8_k(b):
    (d,) = struct.unpack("<f", b[:4])
    return [d * q for q in struct.unpack("<256b", b[4:260])]


def fp16_at(*places):
    """A maker of random blocks whose fp16 scales are at some places."""

    def make(rng, n, i):
        b = bytearray(raw(rng, n, i))
        for k, at in enumerate(places):
            v = scale(rng, n, i if k == 0 or i % 3 else (i * 5 + 3) % len(SCALES))
            b[at : at + 2] = struct.pack("<H", v)
        return bytes(b)

    return make


def fp32_first(rng, n, i):
    b = bytearray(raw(rng, n, i))
    special = [0.0, -0.0, 1.0, -0.0123, 1e-45, 1.1754944e-38, 3.4e38, -3.4e38, math.inf, math.nan]
    b[:4] = struct.pack("<f", special[i] if i < len(special) else rng.gauss(0, 1))
    return bytes(b)


# name, bytes of a block, number of blocks, maker, definition
FORMATS = [
    ("q4_0", 18, 40, fp16_at(0), q4_0),
    ("q4_1", 20, 40, fp16_at(0, 2), q4_1),
    ("q5_0", 22, 40, fp16_at(0), q5_0),
    ("q5_1", 24, 40, fp16_at(0, 2), q5_1),
    ("q8_0", 34, 40, fp16_at(0), q8_0),
    ("q4_k", 144, 24, fp16_at(0, 2), q4_k),
    ("q5_k", 176, 24, fp16_at(0, 2), q5_k),
    ("q6_k", 210, 24, fp16_at(208), q6_k),
    ("q8_k", 292, 16, fp32_first, q8_k),
]


def nearest(v, step):
    """The multiple of a step that is nearest to a fraction, ties to even."""
    return round(v / step) * step


def bits16(v, fraction_bits, lowest, largest):
    """The exponent and fraction fields of a positive value in a small float type."""
    v = Fraction(v)
    exponent = lowest
    while v >= Fraction(2) ** (exponent + 1):
        exponent += 1
    step = Fraction(2) ** (exponent - fraction_bits)
    r = nearest(v, step)
    if r >= Fraction(2) ** (exponent + 1):
        exponent += 1
        step *= 2
    if r > largest:
        return None
    if r < Fraction(2) ** lowest:
        return int(r / step)
    return (exponent - lowest + 1) << fraction_bits | int(r / step) - (1 << fraction_bits)


def halves(rng):
    """Ordinary values, ties, and the edges of both types."""
    values = [0, 1, 0x00800000, 0x007FFFFF, 0x3F800000, 0x7F800000, 0x7F7FFFFF, 0x477FE000, 0x477FEFFF, 0x477FF000, 0x477FF001]
    values += [0x33000000, 0x33000001, 0x32FFFFFF, 0x33800000, 0x33C00000, 0x38800000, 0x387FFFFF, 0x387FE000, 0x387FF000]
    values += [0x3F801000, 0x3F803000, 0x3F801001, 0x3F808000, 0x3F818000, 0x3F808001, 0x7F7F8000, 0x7F7F7FFF]
    values += [rng.randrange(0x7F800000) for _ in range(150)]
    values += [rng.randrange(0x33000000, 0x47800000) for _ in range(300)]
    values += [rng.randrange(0x33000000, 0x47800000) & ~0xFFF for _ in range(150)]
    for b in values:
        for sign in (0, 0x80000000):
            (v,) = struct.unpack("<f", struct.pack("<I", b))
            if math.isinf(v):
                h, w = 0x7C00, 0x7F80
            else:
                h = bits16(v, 10, -14, Fraction(65504))
                w = bits16(v, 7, -126, Fraction(2) ** 127 * Fraction(255, 128))
                h, w = 0x7C00 if h is None else h, 0x7F80 if w is None else w
            yield struct.pack("<IHH", b | sign, h | sign >> 16, w | sign >> 16)


def activations(rng, n, i):
    """Values to quantise: ordinary ones, one large one, ties, zeros, tiny and huge ones."""
    kind = i % 8
    if kind == 5:
        return [0.0] * n
    if kind == 6:
        return [single(rng.randrange(-254, 255) / 2) if j else 127.0 for j in range(n)]
    size = [1, 1e-3, 30, 1e-6, 1e6, 1, 1, 1e-9][kind]
    x = [single(rng.gauss(0, 1) * size) for _ in range(n)]
    if kind == 2:
        x[rng.randrange(n)] = -1000.0
    return x


def quantised(x, store):
    """d and the quants by the definition, each step rounded to float32."""
    d = single(max(abs(v) for v in x) / 127)
    stored = store(d)
    if stored == 0:
        return 0.0, [0] * len(x)
    inverse = single(1 / d)
    return stored, [round(single(v * inverse)) for v in x]


def q8_0_of(x):
    d, q = quantised(x, lambda d: struct.unpack("<e", struct.pack("<e", d))[0])
    return struct.pack("<e32b", d, *q)


def q8_k_of(x):
    d, q = quantised(x, lambda d: d if d >= 2.0**-126 else 0.0)
    sums = [sum(q[i : i + 16]) for i in range(0, 256, 16)]
    return struct.pack("<f256b16h", d, *q, *sums)


def write(name, parts):
    with open(os.path.join(HERE, name), "wb") as f:
        for p in parts:
            f.write(p)


def main():
    for name, size, count, make, definition in FORMATS:
        rng = random.Random("blocks of " + name)
        blocks = [make(rng, size, i) for i in range(count)]
        values = [single(v) for b in blocks for v in definition(b)]
        write(name + ".golden", blocks + [struct.pack("<f", v) for v in values])
    for name, n, of in [("q8_0", 32, q8_0_of), ("q8_k", 256, q8_k_of)]:
        rng = random.Random("activations of " + name)
        parts = []
        for i in range(16):
            x = activations(rng, n, i)
            parts += [struct.pack("<%df" % n, *x), of(x)]
        write(name + ".activations", parts)
    write("halves.golden", halves(random.Random("halves")))


if __name__ == "__main__":
    main()
