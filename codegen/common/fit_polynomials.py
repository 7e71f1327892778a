#!/usr/bin/env python3
"""Fits the polynomials of codegen/common/vector_math.cc and prints codegen/common/math_tables.h.

Each is minimax on its interval with a weight (Remez exchange in 40 digits), so that the weighted
error alternates. Needs mpmath:

    python3 codegen/common/fit_polynomials.py > codegen/common/math_tables.h
"""

import struct
import mpmath as mp

mp.mp.dps = 40


def remez(f, weight, low, high, degree, steps=10, grid=1201):
    """Coefficients (constant first) of the polynomial with the least maximum of weight * (f - p)
    on [low, high]."""
    n = degree + 2
    low, high = mp.mpf(low), mp.mpf(high)
    at = lambda t: (low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * t)
    xs = [at(mp.mpf(i) / grid) for i in range(grid + 1)]
    fs = [f(x) for x in xs]
    ws = [weight(x) for x in xs]
    chosen = [round(i * grid / (n - 1)) for i in range(n)]
    for _ in range(steps):
        system = mp.matrix(n, n)
        right = mp.matrix(n, 1)
        for row, i in enumerate(chosen):
            for k in range(degree + 1):
                system[row, k] = xs[i] ** k
            system[row, degree + 1] = (-1) ** row / ws[i]
            right[row] = fs[i]
        solution = mp.lu_solve(system, right)
        coefficients = [solution[k] for k in range(degree + 1)]
        errors = [w * (y - mp.polyval(coefficients[::-1], x)) for x, y, w in zip(xs, fs, ws)]
        peaks = []  # the largest error of each run of equal sign
        for i, e in enumerate(errors):
            if peaks and (errors[peaks[-1]] > 0) == (e > 0):
                if abs(e) > abs(errors[peaks[-1]]):
                    peaks[-1] = i
            else:
                peaks.append(i)
        while len(peaks) > n:
            peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
        if len(peaks) < n or peaks == chosen:
            break
        chosen = peaks
    return coefficients, max(abs(e) for e in errors)


def erfcx(t):
    return mp.erfc(t) * mp.exp(t * t)


def exp_slope(r):  # exp(r) = 1 + r * slope
    return 1 + r / 2 if abs(r) < mp.mpf(10) ** -12 else (mp.exp(r) - 1) / r


def exp_tail(r):  # exp(r) = 1 + r + r^2 * tail
    return mp.mpf(1) / 2 + r / 6 if abs(r) < mp.mpf(10) ** -12 else (mp.exp(r) - 1 - r) / r**2


def erf_exponent(t):  # erf(t) = 1 - exp(-t * exponent)
    if t < mp.mpf(10) ** -12:
        return 2 / mp.sqrt(mp.pi) * (1 + t / mp.sqrt(mp.pi))
    return -mp.log(mp.erfc(t)) / t


def erf_exponent_weight(t):  # relative to erf
    if t < mp.mpf(10) ** -12:
        return mp.sqrt(mp.pi) / 2
    return t * mp.erfc(t) / mp.erf(t)


def log_tail(f):  # log(1 + f) = f - f^2 / 2 + f^3 * tail
    return (
        mp.mpf(1) / 3 - f / 4
        if abs(f) < mp.mpf(10) ** -9
        else (mp.log(1 + f) - f + f * f / 2) / f**3
    )


def log_ratio_tail(z):  # log((1 + s) / (1 - s)) = 2 s + s * z * tail, z = s^2
    if z < mp.mpf(10) ** -12:
        return mp.mpf(2) / 3 + z * 2 / 5
    s = mp.sqrt(z)
    return (mp.log((1 + s) / (1 - s)) - 2 * s) / (s * z)


def tanh_tail(z):  # tanh(x) = x + x * z * tail, z = x^2
    if z < mp.mpf(10) ** -12:
        return mp.mpf(-1) / 3 + z * 2 / 15
    x = mp.sqrt(z)
    return (mp.tanh(x) - x) / (x * z)


def erf_tail(z):  # erf(x) = x + x * tail, z = x^2
    if z < mp.mpf(10) ** -12:
        return 2 / mp.sqrt(mp.pi) * (1 - z / 3) - 1
    x = mp.sqrt(z)
    return mp.erf(x) / x - 1


def sin_tail(z):  # sin(x) = x + x * z * tail, z = x^2
    if z < mp.mpf(10) ** -12:
        return mp.mpf(-1) / 6 + z / 120
    x = mp.sqrt(z)
    return (mp.sin(x) - x) / (x * z)


def cos_tail(z):  # cos(x) = 1 + z * tail, z = x^2
    if z < mp.mpf(10) ** -12:
        return mp.mpf(-1) / 2 + z / 24
    return (mp.cos(mp.sqrt(z)) - 1) / z


def root6_map(u):  # u = (t - sqrt 6) / (t + sqrt 6)
    return mp.sqrt(6) * (1 + u) / (1 - u)


half_ln2 = mp.log(2) / 2 * mp.mpf("1.001")
quarter = (mp.pi / 4) ** 2 * mp.mpf("1.001")
low_f, high_f = mp.sqrt(mp.mpf(1) / 2) - 1, mp.sqrt(2) - 1
one = lambda x: mp.mpf(1)
u1, u6 = (1 - mp.sqrt(6)) / (1 + mp.sqrt(6)), (6 - mp.sqrt(6)) / (6 + mp.sqrt(6))

FITS = [
    (
        "kExpF32",
        "exp(r) = 1 + r P(r), |r| <= ln 2 / 2, relative",
        32,
        exp_slope,
        lambda r: abs(r) / mp.exp(r),
        -half_ln2,
        half_ln2,
        4,
    ),
    (
        "kExpTailF32",
        "exp(r) - 1 = r + r^2 P(r), |r| <= ln 2 / 2, relative",
        32,
        exp_tail,
        lambda r: abs(r) / exp_slope(r),
        -half_ln2,
        half_ln2,
        4,
    ),
    (
        "kExpF64",
        "exp(r) = 1 + r + r^2 P(r), |r| <= ln 2 / 2, for f64",
        64,
        exp_tail,
        lambda r: r * r,
        -half_ln2,
        half_ln2,
        9,
    ),
    (
        "kLogF32",
        "log(1 + f) = f - f^2 / 2 + f^3 P(f), 1 + f in [sqrt 1/2, sqrt 2]",
        32,
        log_tail,
        lambda f: f * f,
        low_f,
        high_f,
        7,
    ),
    (
        "kLogF64",
        "log((1 + s) / (1 - s)) = 2 s + s z P(z), z = s^2",
        64,
        log_ratio_tail,
        lambda z: z,
        mp.mpf("1e-4"),
        mp.mpf("0.0295"),
        6,
    ),
    (
        "kTanhF64",
        "tanh(x) = x + x z P(z), z = x^2, |x| < 0.5625",
        64,
        tanh_tail,
        lambda z: z,
        mp.mpf("1e-4"),
        mp.mpf("0.31640625"),
        9,
    ),
    (
        "kErfF32",
        "erf(t) = 1 - exp(-t P(t)), 0 <= t <= 4, relative",
        32,
        erf_exponent,
        erf_exponent_weight,
        0,
        4,
        7,
    ),
    ("kErfF64", "erf(x) = x + x P(z), z = x^2, |x| < 1", 64, erf_tail, one, 0, 1, 11),
    (
        "kErfTailF64",
        "erf(t) = 1 - exp(-t^2) P(u), u = (t - sqrt 6) / (t + sqrt 6), 1 <= t <= 6",
        64,
        lambda u: erfcx(root6_map(u)),
        lambda u: mp.exp(-(root6_map(u) ** 2)) + mp.mpf(10) ** -9,
        u1,
        u6,
        12,
    ),
    (
        "kSin",
        "sin(r) = r + r z P(z), z = r^2, |r| <= pi / 4, in f64 for f32",
        64,
        sin_tail,
        lambda z: z,
        mp.mpf("1e-4"),
        quarter,
        3,
    ),
    (
        "kCos",
        "cos(r) = 1 + z P(z), z = r^2, |r| <= pi / 4, in f64 for f32",
        64,
        cos_tail,
        lambda z: z,
        mp.mpf("1e-4"),
        quarter,
        4,
    ),
]


def literal(value, bits):
    if bits == 32:
        rounded = struct.unpack("f", struct.pack("f", float(value)))[0]
        return float(rounded).hex()
    return float(value).hex()


print(
    "// Polynomials of vector_math.cc, highest power first. Written by "
    "codegen/common/fit_polynomials.py; do not edit."
)
print("#pragma once\n\n#include <cstdint>\n\nnamespace polyte::codegen::tables {\n")
for name, comment, bits, f, weight, low, high, degree in FITS:
    coefficients, error = remez(f, weight, low, high, degree)
    print(f"// {comment}; error {mp.nstr(error, 2)}")
    print(f"inline constexpr double {name}[] = {{")
    text = [literal(c, bits) for c in reversed(coefficients)]
    for i in range(0, len(text), 4):
        print("    " + ", ".join(text[i : i + 4]) + ",")
    print("};\n")
mp.mp.dps = 100
bits = int(mp.floor(2 / mp.pi * mp.mpf(2) ** 248))
print("// 2 / pi, 8 bits of zeros before the point's first, highest bits first")
print("inline constexpr std::uint64_t kTwoOverPi[] = {")
print("    " + ", ".join(f"0x{bits >> 64 * (3 - i) & 2**64 - 1:016x}" for i in range(4)) + ",")
print("};\n")
print("}  // namespace polyte::codegen::tables")
