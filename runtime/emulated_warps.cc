// Instructions of a whole warp: they run once all of its lanes have come to one.
#include <algorithm>
#include <array>

#include "runtime/emulator_state.h"

namespace polyte::runtime {

void Emulator::State::wait_for_warp(Fibre& fibre, const WarpInstruction& instruction) {
  fibre.instruction = instruction;
  fibre.waits = Waits::ForInstruction;
  switch_out(fibre);
  if (ended) end_thread(fibre);
}

void Emulator::State::on_multiply(polyte_emulated_thread* self, const char* instruction,
                                  const std::uint32_t* in, std::uint32_t* out) {
  Fibre& fibre = *reinterpret_cast<Fibre*>(self);  // NOLINT
  of(fibre).wait_for_warp(fibre, {instruction, nullptr, 0, false, {in, out}, 0, 0});
}

// With 1, 2 or 4 matrices only the first 8, 16 or 32 lanes bring the address of a row: those
// alone read memory.
void Emulator::State::on_load_matrices(polyte_emulated_thread* self, const void* row,
                                       std::int64_t count, std::int64_t transposed,
                                       std::uint32_t* out, const polyte_access* access,
                                       std::int64_t iteration) {
  Fibre& fibre = *reinterpret_cast<Fibre*>(self);  // NOLINT
  if (fibre.thread.thread % kWarp < 8 * count) on_touch(self, row, access, iteration, 0);
  of(fibre).wait_for_warp(fibre, {nullptr, row, count, transposed != 0, {nullptr, out}, 0, 0});
}

std::uint64_t Emulator::State::on_exchange(polyte_emulated_thread* self, std::uint64_t value,
                                           std::int64_t lane) {
  Fibre& fibre = *reinterpret_cast<Fibre*>(self);  // NOLINT
  of(fibre).wait_for_warp(fibre, {kExchange, nullptr, 0, false, {}, value, lane & (kWarp - 1)});
  return fibre.instruction.brought;
}

void Emulator::State::on_use(polyte_emulated_thread* self, const char* statement,
                             const char* buffer, std::int64_t written) {
  if (written != 0) return;
  Fibre& fibre = *reinterpret_cast<Fibre*>(self);  // NOLINT
  State& state = of(fibre);
  state.fail(std::string(statement) + " reads " + buffer + ", thread " +
             std::to_string(self->thread) + ": a register that was never written");
  state.end_thread(fibre);
}

// All values are taken before any is handed out, for lanes exchange crosswise. Bit 32 of a
// value, whether it was ever written, travels with it.
void Emulator::State::run_exchange(std::size_t first) {
  std::array<std::uint64_t, kWarp> brought{};
  for (std::size_t i = 0; i < brought.size(); ++i)
    brought[i] = fibres[first + i].instruction.brought;
  for (std::size_t i = 0; i < brought.size(); ++i) {
    WarpInstruction& each = fibres[first + i].instruction;
    each.brought = brought[static_cast<std::size_t>(each.lane)];
  }
}

// Once all lanes of the warp that begins there have come to one. No epoch begins: the
// instruction orders no accesses to memory.
bool Emulator::State::run_instruction(std::size_t first) {
  const WarpInstruction& what = fibres[first].instruction;
  WarpRegisters lanes;
  std::array<const void*, kWarp> rows{};
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (first + i >= fibres.size() || !fibres[first + i].instruction.is_same(what)) {
      fail("lanes of a warp run different instructions");
      return false;
    }
    lanes[i] = fibres[first + i].instruction.registers;
    rows[i] = fibres[first + i].instruction.row;
  }
  if (what.name == kExchange) {
    run_exchange(first);
  } else if (what.name == nullptr) {
    load_matrices(rows, what.count, what.transposed, lanes);
  } else if (!multiply_matrices(what.name, lanes)) {
    fail(std::string("no instruction ") + what.name);
    return false;
  }
  for (std::size_t i = 0; i < lanes.size(); ++i) fibres[first + i].waits = Waits::No;
  return true;
}

}  // namespace polyte::runtime
