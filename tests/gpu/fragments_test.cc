// Where lanes have their elements: the compiler's description (ir/fragments.h) against the
// emulator's, which is written from the PTX ISA's own tables.
#include "ir/fragments.h"

#include <doctest/doctest.h>

#include <cstring>
#include <set>

#include "ir/interpret.h"
#include "ir/intrinsics.h"
#include "ir/shared_matrix.h"
#include "runtime/warp_instructions.h"
#include "runtime/warpgroup_instructions.h"

using namespace polyte;

namespace {

struct Registers {
  std::array<std::array<std::uint32_t, 20>, 32> in{};  // as many as those of f64 are
  std::array<std::array<std::uint32_t, 8>, 32> out{};

  runtime::WarpRegisters lanes() {
    runtime::WarpRegisters result;
    for (std::size_t i = 0; i < 32; ++i) result[i] = {in[i].data(), out[i].data()};
    return result;
  }
};

std::int64_t value_of(const ir::Affine& e) { return ir::evaluate(e, ir::Values{}); }

// Calls f(point, lane, register) for each element of an operand.
template <class F>
void for_each_element(const ir::Intrinsic& row, std::size_t operand, const ir::Fragment& fragment,
                      const F& f) {
  const std::vector<std::int64_t> shape = ir::constant_shape(row.program.buffers[operand]);
  for (std::int64_t i = 0; i < shape[0]; ++i)
    for (std::int64_t j = 0; j < shape[1]; ++j)
      f(i * shape[1] + j, value_of(ir::lane_of(fragment, {i, j})),
        value_of(ir::register_of(fragment, {i, j})));
}

// Runs the emulator's instruction on registers that are filled by these fragments; the number
// of wrong elements.
int wrong_elements(const ir::Intrinsic& row, const std::vector<ir::Fragment>& fragments) {
  ir::Environment operands;
  Registers registers;
  std::size_t first = 0;  // register of the operand
  for (std::size_t n = 0; n < 3; ++n) {
    const ir::Buffer& buffer = row.program.buffers[n];
    ir::Contents& contents = operands[buffer.name] =
        ir::make_contents(buffer.dtype, ir::constant_shape(buffer));
    const auto size = static_cast<std::size_t>(size_in_bytes(buffer.dtype));
    for_each_element(
        row, n, fragments[n], [&](std::int64_t at, std::int64_t lane, std::int64_t reg) {
          ir::set_real(contents, at,
                       static_cast<double>((at * 7 + static_cast<std::int64_t>(n) * 5) % 11 - 5));
          std::memcpy(
              reinterpret_cast<char*>(registers.in[static_cast<std::size_t>(lane)].data() + first) +
                  static_cast<std::size_t>(reg) * size,
              contents.bytes.data() + static_cast<std::size_t>(at) * size, size);
        });
    first += static_cast<std::size_t>(ir::registers_of(fragments[n])) * size / 4;
  }
  REQUIRE(runtime::multiply_matrices(row.call.ptx, registers.lanes()));
  ir::interpret(row.program, operands, {});
  int wrong = 0;
  for_each_element(row, 2, fragments[2], [&](std::int64_t at, std::int64_t lane, std::int64_t reg) {
    const auto size = size_in_bytes(row.program.buffers[2].dtype);
    const auto* const got =
        reinterpret_cast<const char*>(registers.out[static_cast<std::size_t>(lane)].data());
    wrong +=
        std::memcmp(got + reg * size, operands.at("c").bytes.data() + size * at, size) != 0 ? 1 : 0;
  });
  return wrong;
}

std::vector<const ir::Intrinsic*> rows_of_warps() {
  std::vector<const ir::Intrinsic*> rows;
  for (const ir::Intrinsic& row : ir::intrinsics())
    if (row.scope == ir::Scope::Warp) rows.push_back(&row);
  return rows;
}

}  // namespace

TEST_CASE("fragments: each element has one place, and each place one element") {
  for (const ir::Intrinsic* row : rows_of_warps())
    for (std::size_t n = 0; n < 3; ++n) {
      CAPTURE(row->name);
      std::set<std::pair<std::int64_t, std::int64_t>> places;
      const ir::Fragment& fragment = row->fragments[n];
      const std::int64_t columns = ir::constant_shape(row->program.buffers[n])[1];
      for_each_element(*row, n, fragment,
                       [&](std::int64_t at, std::int64_t lane, std::int64_t reg) {
                         CHECK(lane >= 0);
                         CHECK(lane < 32);
                         CHECK(reg < ir::registers_of(fragment));
                         CHECK(places.insert({lane, reg}).second);
                         CHECK(value_of(ir::subscript_of(fragment, 0, lane, reg)) == at / columns);
                         CHECK(value_of(ir::subscript_of(fragment, 1, lane, reg)) == at % columns);
                       });
      CHECK(static_cast<std::int64_t>(places.size()) == 32 * ir::registers_of(fragment));
    }
}

TEST_CASE(
    "fragments: what the instruction makes of them, and that another digit is another result") {
  for (const ir::Intrinsic* row : rows_of_warps()) {
    CAPTURE(row->name);
    CHECK(wrong_elements(*row, row->fragments) == 0);
    for (std::size_t n = 0; n < 3; ++n)
      for (std::size_t i = 0; i < row->fragments[n].digits.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) {
          std::vector<ir::Fragment> faulty = row->fragments;
          ir::FragmentDigit &one = faulty[n].digits[i], &other = faulty[n].digits[j];
          if (one.extent != other.extent) continue;
          std::swap(one.of_lane, other.of_lane);
          std::swap(one.weight, other.weight);
          CAPTURE(n);
          CAPTURE(i);
          CAPTURE(j);
          CHECK(wrong_elements(*row, faulty) > 0);
        }
  }
}

TEST_CASE("fragments: the sums of a warpgroup, a warp's 16 rows each") {
  for (const ir::Intrinsic& row : ir::intrinsics()) {
    if (row.scope != ir::Scope::Warpgroup) continue;
    CAPTURE(row.name);
    const ir::Fragment& fragment = row.fragments[2];
    const std::int64_t columns = ir::constant_shape(row.program.buffers[2])[1];
    CHECK(ir::registers_of(fragment) == columns / 2);
    for (int warp = 0; warp < 4; ++warp)
      for_each_element(row, 2, fragment, [&](std::int64_t at, std::int64_t lane, std::int64_t reg) {
        const int thread = 32 * warp + static_cast<int>(lane);
        CHECK(runtime::row_of_sum(thread, static_cast<int>(reg)) == 16 * warp + at / columns);
        CHECK(runtime::column_of_sum(thread, static_cast<int>(reg)) == at % columns);
      });
  }
}

namespace {

// A matrix in memory of its own, as its buffer is indexed.
struct Laid {
  const char* name;
  bool across;
  std::int64_t rows;
  ir::MatrixOffset offset;  // in elements
};

// The places that the emulator's instruction reads, against those where the compiler's swizzle
// puts the elements.
int misplaced(const Laid& laid, std::int64_t first) {
  constexpr std::int64_t kTerms = 16, kBytes = 2;
  const auto matrix = ir::shared_matrix(laid.rows, kTerms, kBytes, laid.offset);
  REQUIRE(matrix);
  CHECK(matrix->across == laid.across);
  const std::uint64_t descriptor =
      ir::descriptor_bits(*matrix) | static_cast<std::uint64_t>(first * kBytes) >> 4U;
  const std::string instruction =
      "wgmma.mma_async.sync.aligned.m64n" + std::to_string(laid.rows) + "k16.f32.bf16.bf16";
  const auto read =
      runtime::shared_product(instruction, descriptor, descriptor, laid.across ? 3 : 0);
  REQUIRE(read);
  int wrong = 0;
  for (std::int64_t i = 0; i < laid.rows; ++i)
    for (std::int64_t k = 0; k < kTerms; ++k) {
      const std::int64_t place =
          kBytes * ir::place_of(ir::matrix_swizzle(kBytes), kBytes, first + laid.offset(i, k));
      wrong += read->b[static_cast<std::size_t>(i * kTerms + k)] == place ? 0 : 1;
      if (i < 64) wrong += read->a[static_cast<std::size_t>(i * kTerms + k)] == place ? 0 : 1;
    }
  return wrong;
}

}  // namespace

TEST_CASE("fragments: matrices in shared memory, by their descriptors") {
  const Laid all[] = {
      {"[rows, 64 terms]", false, 128, [](std::int64_t i, std::int64_t k) { return 64 * i + k; }},
      {"[rows//8, 2, rows%8, 64 terms]", false, 64,
       [](std::int64_t i, std::int64_t k) { return i / 8 * 1024 + i % 8 * 64 + k; }},
      {"[terms, 64]", true, 64, [](std::int64_t i, std::int64_t k) { return 64 * k + i; }},
      {"[columns//64, 32 terms, 64]", true, 256,
       [](std::int64_t i, std::int64_t k) { return i / 64 * 2048 + 64 * k + i % 64; }},
      {"[terms//8, columns//64, terms%8, 64]", true, 128,
       [](std::int64_t i, std::int64_t k) {
         return k / 8 * 1024 + i / 64 * 512 + k % 8 * 64 + i % 64;
       }},
  };
  for (const Laid& laid : all) {
    CAPTURE(laid.name);
    CHECK(misplaced(laid, 0) == 0);
    CHECK(misplaced(laid, 3 * 512) == 0);
    if (!laid.across) CHECK(misplaced(laid, 512 + 48) == 0);  // the last 16 terms of the lines
    if (laid.across) CHECK(misplaced(laid, 1024) == 0);       // the next 16 terms
  }
  const auto none = [](const ir::MatrixOffset& offset) {
    return !ir::shared_matrix(64, 16, 2, offset);
  };
  // Lines of 64 bytes.
  CHECK(none([](std::int64_t i, std::int64_t k) { return 32 * i + k; }));
  CHECK(none([](std::int64_t i, std::int64_t k) { return 128 * i + k; }));       // of 256
  CHECK(none([](std::int64_t i, std::int64_t k) { return 64 * i + (k ^ 1); }));  // not side by side
  CHECK(none([](std::int64_t i, std::int64_t k) { return 64 * (i ^ 1) + k; }));  // not in order
  CHECK_FALSE(
      ir::shared_matrix(128, 16, 2, [](std::int64_t i, std::int64_t k) { return 128 * k + i; }));
}
