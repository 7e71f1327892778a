// A thread that the emulator plays, and what it waits for. Internal.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "runtime/warp_instructions.h"
#include "support/kernel_abi.h"

namespace polyte::runtime {

inline constexpr std::int64_t kWarp = 32;

// "acc.update reads x.c (access 3)"
inline std::string words_of(const polyte_access& access) {
  return std::string(access.statement) + (access.write != 0 ? " writes " : " reads ") + access.buffer + " (access " +
         std::to_string(access.place) + ")";
}

inline bool has_bit(std::uint64_t bits, std::int64_t i) { return (bits >> static_cast<unsigned>(i) & 1U) != 0; }

enum class Waits { No, ForBlock, ForWarp, ForInstruction, Done };

// From copy to wait.
struct AsyncCopy {
  char* to = nullptr;
  const char* from = nullptr;
  std::int64_t bytes = 0, given = 0;  // zeros behind those
  void land() const {
    std::memcpy(to, from, static_cast<std::size_t>(given));
    std::memset(to + given, 0, static_cast<std::size_t>(bytes - given));
  }
};

// An instruction of the whole warp, as one lane comes to it. Without a name: ldmatrix.
struct WarpInstruction {
  const char* name = nullptr;
  const void* row = nullptr;
  std::int64_t count = 0;
  bool transposed = false;
  LaneRegisters registers;

  bool is_same(const WarpInstruction& other) const {
    const bool has_names = name != nullptr && other.name != nullptr;
    return count == other.count && transposed == other.transposed &&
           (has_names ? std::strcmp(name, other.name) == 0 : name == other.name);
  }
};

struct Fibre {
  polyte_emulated_thread thread{};  // first: what compiled code hands back is the fibre
  void* state = nullptr;
  ucontext_t context{};
  Waits waits = Waits::No;
  std::int64_t place = 0;
  WarpInstruction instruction;                        // that it waits for
  std::set<const char*> undefined;                    // bytes of its own memory: copies of what was never written
  std::vector<std::vector<AsyncCopy>> groups = {{}};  // of its copies, oldest first; the last one is still open
};

}  // namespace polyte::runtime
