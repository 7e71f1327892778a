// Where lanes have their elements: the compiler's description (ir/fragments.h) against the emulator's, which is written
// from the PTX ISA's own tables.
#include "ir/fragments.h"

#include <doctest/doctest.h>

#include <cstring>
#include <set>

#include "ir/interpret.h"
#include "ir/intrinsics.h"
#include "runtime/warp_instructions.h"

using namespace polyte;

namespace {

struct Registers {
  std::array<std::array<std::uint32_t, 12>, 32> in{};
  std::array<std::array<std::uint32_t, 4>, 32> out{};

  runtime::WarpRegisters lanes() {
    runtime::WarpRegisters result;
    for (std::size_t i = 0; i < 32; ++i) result[i] = {in[i].data(), out[i].data()};
    return result;
  }
};

std::int64_t value_of(const ir::Affine& e) { return ir::evaluate(e, ir::Values{}); }

// Calls f(point, lane, register) for each element of an operand.
template <class F>
void for_each_element(const ir::Intrinsic& row, std::size_t operand, const ir::Fragment& fragment, const F& f) {
  const std::vector<std::int64_t> shape = ir::constant_shape(row.program.buffers[operand]);
  for (std::int64_t i = 0; i < shape[0]; ++i)
    for (std::int64_t j = 0; j < shape[1]; ++j)
      f(i * shape[1] + j, value_of(ir::lane_of(fragment, {i, j})), value_of(ir::register_of(fragment, {i, j})));
}

// Runs the emulator's instruction on registers that are filled by these fragments; the number of wrong elements.
int wrong_elements(const ir::Intrinsic& row, const std::vector<ir::Fragment>& fragments) {
  ir::Environment operands;
  Registers registers;
  std::size_t first = 0;  // register of the operand
  for (std::size_t n = 0; n < 3; ++n) {
    const ir::Buffer& buffer = row.program.buffers[n];
    ir::Contents& contents = operands[buffer.name] = ir::make_contents(buffer.dtype, ir::constant_shape(buffer));
    const auto size = static_cast<std::size_t>(size_in_bytes(buffer.dtype));
    for_each_element(row, n, fragments[n], [&](std::int64_t at, std::int64_t lane, std::int64_t reg) {
      ir::set_real(contents, at, static_cast<double>((at * 7 + static_cast<std::int64_t>(n) * 5) % 11 - 5));
      std::memcpy(reinterpret_cast<char*>(registers.in[static_cast<std::size_t>(lane)].data() + first) +
                      static_cast<std::size_t>(reg) * size,
                  contents.bytes.data() + static_cast<std::size_t>(at) * size, size);
    });
    first += static_cast<std::size_t>(ir::registers_of(fragments[n])) * size / 4;
  }
  REQUIRE(runtime::multiply_matrices(row.call.ptx, registers.lanes()));
  ir::interpret(row.program, operands, {});
  int wrong = 0;
  for_each_element(row, 2, fragments[2], [&](std::int64_t at, std::int64_t lane, std::int64_t reg) {
    const std::uint32_t got = registers.out[static_cast<std::size_t>(lane)][static_cast<std::size_t>(reg)];
    wrong += std::memcmp(&got, operands.at("c").bytes.data() + 4 * at, 4) != 0 ? 1 : 0;
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
      for_each_element(*row, n, fragment, [&](std::int64_t at, std::int64_t lane, std::int64_t reg) {
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

TEST_CASE("fragments: what the instruction makes of them, and that another digit is another result") {
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
