// Polynomials of vector_math.cc, highest power first. Written by codegen/common/fit_polynomials.py;
// do not edit.
#pragma once

#include <cstdint>

namespace polyte::codegen::tables {

// exp(r) = 1 + r P(r), |r| <= ln 2 / 2, relative; error 9.2e-8
inline constexpr double kExpF32[] = {
    0x1.0fa77e0000000p-7, 0x1.573b4c0000000p-5, 0x1.555a700000000p-3,
    0x1.fffdc20000000p-2, 0x1.fffff60000000p-1,
};

// exp(r) - 1 = r + r^2 P(r), |r| <= ln 2 / 2, relative; error 1.3e-8
inline constexpr double kExpTailF32[] = {
    0x1.6bebee0000000p-10, 0x1.1227f60000000p-7, 0x1.5556740000000p-5,
    0x1.5554b00000000p-3,  0x1.fffffe0000000p-2,
};

// exp(r) = 1 + r + r^2 P(r), |r| <= ln 2 / 2, for f64; error 3.5e-18
inline constexpr double kExpF64[] = {
    0x1.af8611b78f41bp-26, 0x1.28b0a6e05c4f9p-22, 0x1.71dddf74cd06cp-19, 0x1.a0199630ef223p-16,
    0x1.a01a01bb093eep-13, 0x1.6c16c185cabe9p-10, 0x1.111111110d5c6p-7,  0x1.555555554ff93p-5,
    0x1.5555555555561p-3,  0x1.000000000000cp-1,
};

// log(1 + f) = f - f^2 / 2 + f^3 P(f), 1 + f in [sqrt 1/2, sqrt 2]; error 5.9e-9
inline constexpr double kLogF32[] = {
    -0x1.41ee400000000p-4, 0x1.07d0fe0000000p-3, -0x1.0ce0760000000p-3, 0x1.226e460000000p-3,
    -0x1.54788c0000000p-3, 0x1.99a5960000000p-3, -0x1.0002200000000p-2, 0x1.55554a0000000p-2,
};

// log((1 + s) / (1 - s)) = 2 s + s z P(z), z = s^2; error 2.5e-18
inline constexpr double kLogF64[] = {
    0x1.2f16cf5772840p-3, 0x1.39a014cb12cf5p-3, 0x1.74664e6c818d9p-3, 0x1.c71c51c200d89p-3,
    0x1.24924942436dfp-2, 0x1.999999997f851p-2, 0x1.5555555555593p-1,
};

// tanh(x) = x + x z P(z), z = x^2, |x| < 0.5625; error 3.0e-17
inline constexpr double kTanhF64[] = {
    0x1.a0b78df87378fp-15, -0x1.b4ede8192384ap-13, 0x1.2f008911050e3p-11, -0x1.7cd843693144fp-10,
    0x1.d6c351ab6bf72p-9,  -0x1.226dc6ee938a9p-7,  0x1.664f44ec42176p-6,  -0x1.ba1ba1a8eae02p-5,
    0x1.11111110fca4ep-3,  -0x1.5555555555448p-2,
};

// erf(t) = 1 - exp(-t P(t)), 0 <= t <= 4, relative; error 3.5e-8
inline constexpr double kErfF32[] = {
    0x1.557b960000000p-15, -0x1.8f821c0000000p-12, 0x1.4823580000000p-10, 0x1.af6a2e0000000p-13,
    -0x1.3c91260000000p-6, 0x1.a520ba0000000p-4,   0x1.45f2980000000p-1,  0x1.20dd760000000p+0,
};

// erf(x) = x + x P(z), z = x^2, |x| < 1; error 7.1e-18
inline constexpr double kErfF64[] = {
    -0x1.acdff727c5836p-31, 0x1.d784904a324d4p-27, -0x1.5c16e23271b30p-23, 0x1.b9827ae03a87cp-20,
    -0x1.f4ca9490f5af4p-17, 0x1.f9a2bf733b83ep-14, -0x1.c02db072ea24cp-11, 0x1.565bccfa9a2efp-8,
    -0x1.b82ce31206289p-6,  0x1.ce2f21a041017p-4,  -0x1.812746b0379c2p-2,  0x1.06eba8214db68p-3,
};

// erf(t) = 1 - exp(-t^2) P(u), u = (t - sqrt 6) / (t + sqrt 6), 1 <= t <= 6; error 7.5e-19
inline constexpr double kErfTailF64[] = {
    0x1.db8743220e3cap-18, 0x1.4affe0d510504p-17, -0x1.98150ca9d0601p-15, -0x1.b30d47648e01dp-14,
    0x1.354d49912772dp-12, 0x1.676ed98cfe774p-11, -0x1.7688566c39017p-9,  -0x1.29648a01c1b72p-9,
    0x1.296faba4dcbffp-5,  -0x1.f17706b4844e0p-4, 0x1.01b4f390db70fp-2,   -0x1.81eb530c3acd6p-2,
    0x1.b78e039952199p-3,
};

// sin(r) = r + r z P(z), z = r^2, |r| <= pi / 4, in f64 for f32; error 4.9e-12
inline constexpr double kSin[] = {
    0x1.6cd733510e9a3p-19,
    -0x1.a00f98e6e0d38p-13,
    0x1.1111089078faap-7,
    -0x1.5555554cb2052p-3,
};

// cos(r) = 1 + z P(z), z = r^2, |r| <= pi / 4, in f64 for f32; error 6.2e-14
inline constexpr double kCos[] = {
    -0x1.23d712d49cd31p-22, 0x1.a00f0c789f46bp-16, -0x1.6c16b3f6ff455p-10,
    0x1.55555546e6f17p-5,   -0x1.ffffffffebe50p-2,
};

// 2 / pi, 8 bits of zeros before the point's first, highest bits first
inline constexpr std::uint64_t kTwoOverPi[] = {
    0x00a2f9836e4e4415,
    0x29fc2757d1f534dd,
    0xc0db6295993c4390,
    0x41fe5163abdebbc5,
};

}  // namespace polyte::codegen::tables
