#include "runtime/warp_instructions.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace polyte::runtime {

// IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits. A subnormal is fraction *
// 2^-24, a normal number (1024 + fraction) * 2^(exponent - 15 - 10).
double of_half(std::uint32_t bits) {
  const std::uint32_t exponent = bits >> 10U & 31U, fraction = bits & 1023U;
  double value = 0;
  if (exponent == 31) {
    value = fraction != 0 ? std::nan("") : INFINITY;
  } else if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else {
    value = std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25);
  }
  return (bits & 0x8000U) != 0 ? -value : value;
}
// A bfloat16 is the upper half of a float.
double of_bfloat(std::uint32_t bits) { return std::bit_cast<float>(bits << 16U); }

namespace {

// Element i of registers that hold several: of 16 or 8 bits.
std::uint32_t short_of(const std::uint32_t* registers, int i) {
  return registers[i / 2] >> 16U * (i % 2) & 0xffffU;
}
std::int32_t byte_of(const std::uint32_t* registers, int i) {
  return static_cast<std::int8_t>(registers[i / 4] >> 8U * (i % 4) & 0xffU);
}

// All shapes are m16n8kK. A lane has 4 registers of A, 2 of B and then 4 of C, whatever K is,
// for K grows as the elements shrink. Doubles take two registers each, so twice as many.
constexpr int kRows = 16, kColumns = 8, kRegistersOfA = 4, kRegistersOfB = 2;

// c_i of a lane: rows groupID and groupID + 8, columns threadID_in_group * 2 and the next.
int row_of_c(int lane, int i) { return i < 2 ? lane / 4 : lane / 4 + 8; }
int column_of_c(int lane, int i) { return lane % 4 * 2 + (i & 1); }

template <class Float>
void multiply_shorts(const WarpRegisters& lanes, Float value) {
  double a[kRows][16] = {}, b[16][kColumns] = {};
  for (int lane = 0; lane < 32; ++lane) {
    const std::uint32_t* in = lanes[static_cast<std::size_t>(lane)].in;
    const int group = lane / 4, thread = lane % 4;
    for (int i = 0; i < 8; ++i) {
      const int row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
      const int column = i < 4 ? thread * 2 + (i & 1) : thread * 2 + (i & 1) + 8;
      a[row][column] = value(short_of(in, i));
    }
    for (int i = 0; i < 4; ++i)
      b[i < 2 ? thread * 2 + (i & 1) : thread * 2 + (i & 1) + 8][group] =
          value(short_of(in + kRegistersOfA, i));
  }
  for (int lane = 0; lane < 32; ++lane) {
    const LaneRegisters& own = lanes[static_cast<std::size_t>(lane)];
    for (int i = 0; i < 4; ++i) {
      double sum = std::bit_cast<float>(own.in[kRegistersOfA + kRegistersOfB + i]);
      for (int k = 0; k < 16; ++k) sum += a[row_of_c(lane, i)][k] * b[k][column_of_c(lane, i)];
      own.out[i] = std::bit_cast<std::uint32_t>(static_cast<float>(sum));
    }
  }
}

// Of 32 bits the instruction reads 19 (1 sign, 8 exponent, 10 fraction). What the 13 below do
// is not specified, so they have to be zeros: anything else poisons the sum.
double of_tf32(std::uint32_t bits) {
  return (bits & 0x1fffU) != 0 ? std::nan("") : std::bit_cast<float>(bits);
}

void multiply_words(const WarpRegisters& lanes) {
  double a[kRows][8] = {}, b[8][kColumns] = {};
  for (int lane = 0; lane < 32; ++lane) {
    const std::uint32_t* in = lanes[static_cast<std::size_t>(lane)].in;
    const int group = lane / 4, thread = lane % 4;
    for (int i = 0; i < 4; ++i)
      a[i == 0 || i == 2 ? group : group + 8][i < 2 ? thread : thread + 4] = of_tf32(in[i]);
    for (int i = 0; i < 2; ++i)
      b[i == 0 ? thread : thread + 4][group] = of_tf32(in[kRegistersOfA + i]);
  }
  for (int lane = 0; lane < 32; ++lane) {
    const LaneRegisters& own = lanes[static_cast<std::size_t>(lane)];
    for (int i = 0; i < 4; ++i) {
      double sum = std::bit_cast<float>(own.in[kRegistersOfA + kRegistersOfB + i]);
      for (int k = 0; k < 8; ++k) sum += a[row_of_c(lane, i)][k] * b[k][column_of_c(lane, i)];
      own.out[i] = std::bit_cast<std::uint32_t>(static_cast<float>(sum));
    }
  }
}

// A double takes two registers, so operand i lies at registers 2*i and 2*i + 1, in the host's
// byte order.
double double_of(const std::uint32_t* registers, int i) {
  double value = 0;
  std::memcpy(&value, registers + std::ptrdiff_t{2} * i, sizeof value);
  return value;
}

// m16n8k8 of doubles: the fragments of tf32's m16n8k8. Doubles have no wider type to add up in,
// so each product is fused, as the hardware's are.
void multiply_doubles(const WarpRegisters& lanes) {
  double a[kRows][8] = {}, b[8][kColumns] = {};
  for (int lane = 0; lane < 32; ++lane) {
    const std::uint32_t* in = lanes[static_cast<std::size_t>(lane)].in;
    const int group = lane / 4, thread = lane % 4;
    for (int i = 0; i < 4; ++i)
      a[i % 2 == 0 ? group : group + 8][i < 2 ? thread : thread + 4] = double_of(in, i);
    for (int i = 0; i < 2; ++i) b[i == 0 ? thread : thread + 4][group] = double_of(in, 4 + i);
  }
  for (int lane = 0; lane < 32; ++lane) {
    const LaneRegisters& own = lanes[static_cast<std::size_t>(lane)];
    for (int i = 0; i < 4; ++i) {
      double sum = double_of(own.in, 6 + i);
      for (int k = 0; k < 8; ++k)
        sum = std::fma(a[row_of_c(lane, i)][k], b[k][column_of_c(lane, i)], sum);
      std::memcpy(own.out + std::ptrdiff_t{2} * i, &sum, sizeof sum);
    }
  }
}

// m16n8k32: a register holds 4 consecutive columns of A (rows of B); the second half of the
// registers is 16 further along K. Sums wrap, since the instruction without .satfinite does.
void multiply_bytes(const WarpRegisters& lanes) {
  std::int32_t a[kRows][32] = {}, b[32][kColumns] = {};
  for (int lane = 0; lane < 32; ++lane) {
    const std::uint32_t* in = lanes[static_cast<std::size_t>(lane)].in;
    const int group = lane / 4, thread = lane % 4;
    for (int i = 0; i < 16; ++i) {
      const int row = i < 4 || (i >= 8 && i < 12) ? group : group + 8;
      const int column = i < 8 ? thread * 4 + (i & 3) : thread * 4 + (i & 3) + 16;
      a[row][column] = byte_of(in, i);
    }
    for (int i = 0; i < 8; ++i)
      b[i < 4 ? thread * 4 + (i & 3) : thread * 4 + (i & 3) + 16][group] =
          byte_of(in + kRegistersOfA, i);
  }
  for (int lane = 0; lane < 32; ++lane) {
    const LaneRegisters& own = lanes[static_cast<std::size_t>(lane)];
    for (int i = 0; i < 4; ++i) {
      std::uint32_t sum = own.in[kRegistersOfA + kRegistersOfB + i];  // wraps
      for (int k = 0; k < 32; ++k)
        sum += static_cast<std::uint32_t>(a[row_of_c(lane, i)][k] * b[k][column_of_c(lane, i)]);
      own.out[i] = sum;
    }
  }
}

}  // namespace

bool multiply_matrices(const std::string& instruction, const WarpRegisters& lanes) {
  if (instruction == "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") {
    multiply_shorts(lanes, of_bfloat);
  } else if (instruction == "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32") {
    multiply_shorts(lanes, of_half);
  } else if (instruction == "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32") {
    multiply_words(lanes);
  } else if (instruction == "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32") {
    multiply_bytes(lanes);
  } else if (instruction == "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64") {
    multiply_doubles(lanes);
  } else {
    return false;
  }
  return true;
}

// Element [r][c] of an 8x8 matrix of 16 bits goes to lane 4*r + c/2, its half c%2; transposed,
// element [c][r] does. One register per matrix.
void load_matrices(const std::array<const void*, 32>& rows, std::int64_t count, bool transposed,
                   const WarpRegisters& lanes) {
  for (std::int64_t matrix = 0; matrix < count; ++matrix) {
    std::uint16_t elements[8][8];
    for (int row = 0; row < 8; ++row)
      std::memcpy(elements[row], rows[static_cast<std::size_t>(8 * matrix + row)],
                  sizeof(elements[row]));
    for (int lane = 0; lane < 32; ++lane) {
      const int row = lane / 4, column = lane % 4 * 2;
      const std::uint32_t low = transposed ? elements[column][row] : elements[row][column];
      const std::uint32_t high = transposed ? elements[column + 1][row] : elements[row][column + 1];
      lanes[static_cast<std::size_t>(lane)].out[matrix] = low | high << 16U;
    }
  }
}

}  // namespace polyte::runtime
