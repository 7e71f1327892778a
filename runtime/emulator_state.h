// What the emulator knows of a launch: its threads, what each of them waits for, what it
// has under way. Internal: the emulator's files share it (emulator.cc: blocks, accesses;
// emulated_meanwhile.cc: copies and products that go on meanwhile; emulated_warps.cc: instructions
// of a whole warp).
#pragma once

#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "runtime/emulator.h"
#include "runtime/fibre_control.h"
#include "runtime/fibre_stacks.h"
#include "runtime/thread_products.h"
#include "runtime/touched_bytes.h"
#include "runtime/warp_instructions.h"

namespace polyte::runtime {

inline constexpr std::int64_t kWarp = 32;

// "acc.update reads x.c (access 3)"
inline std::string words_of(const polyte_access& access) {
  return std::string(access.statement) + (access.write != 0 ? " writes " : " reads ") +
         access.buffer + " (access " + std::to_string(access.place) + ")";
}

inline bool has_bit(std::uint64_t bits, std::int64_t i) {
  return (bits >> static_cast<unsigned>(i) & 1U) != 0;
}

enum class Waits { No, ForBlock, ForWarp, ForInstruction, ForProduct, Done };

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

inline constexpr const char* kExchange = "shfl.sync.idx";

// An instruction of the whole warp, as one lane comes to it. Without a name: ldmatrix.
struct WarpInstruction {
  const char* name = nullptr;
  const void* row = nullptr;
  std::int64_t count = 0;
  bool transposed = false;
  LaneRegisters registers;
  std::uint64_t brought = 0;  // exchanged, and got from that lane
  std::int64_t lane = 0;

  bool is_same(const WarpInstruction& other) const {
    const bool has_names = name != nullptr && other.name != nullptr;
    return count == other.count && transposed == other.transposed &&
           (has_names ? std::strcmp(name, other.name) == 0 : name == other.name);
  }
};

// An instruction of a warpgroup, as one of its threads comes to it.
struct SharedInstruction {
  std::string name;
  std::uint64_t a = 0, b = 0;
  std::int64_t across = 0, count = 0;
  const std::uint32_t* in = nullptr;
  std::uint32_t* out = nullptr;

  bool is_same(const SharedInstruction& other) const {
    return name == other.name && a == other.a && b == other.b && across == other.across &&
           count == other.count;
  }
};

struct Fibre {
  polyte_emulated_thread thread{};  // first: what compiled code hands back is the fibre
  void* state = nullptr;
  FibreControl control;
  Waits waits = Waits::No;
  std::int64_t place = 0;
  WarpInstruction instruction;  // that it waits for
  // Bytes of its own memory: copies of what was never written.
  std::set<const char*> undefined;
  // Of its copies, oldest first; the last one is still open.
  std::vector<std::vector<AsyncCopy>> groups = {{}};
  SharedInstruction shared_instruction;  // the same
  ThreadProducts products;
  std::vector<std::uint32_t> fences;  // of what it has written, for products: their epochs
};

struct Emulator::State {
  EmulatorOptions options;
  std::mt19937 random;
  std::vector<Region> regions;
  Region shared;
  std::vector<char> shared_memory;
  FibreStacks stacks;
  std::vector<Fibre> fibres;
  std::vector<std::uint32_t> warp_epochs;
  const polyte_launch* launch = nullptr;
  const void* const* arguments = nullptr;
  std::int64_t block = 0;
  std::uint32_t epoch = 0;
  std::vector<std::uint32_t> block_epochs;  // of the launch: the first epoch of each of its blocks
  bool ended = false;                       // by a fault
  std::int32_t status = 0;
  std::vector<std::string> faults;
  std::vector<LaunchCounts> counts;
  std::map<std::string, AccessCounter> counters;  // by kernel
  AccessCounter* counter = nullptr;               // of the launch

  int run(const polyte_launch& what, const std::int64_t* grid, const void* const* given);
  LaunchCounts& counts_of(const polyte_launch& what);
  void run_block(const std::int64_t* number, LaunchCounts& count);
  std::vector<std::size_t> order(std::size_t threads);
  bool release(LaunchCounts& count);
  bool release_warps(LaunchCounts& count);
  bool run_instruction(std::size_t first);
  void run_exchange(std::size_t first);
  void wait_for_warp(Fibre& fibre, const WarpInstruction& instruction);
  void fail(const std::string& text);
  [[noreturn]] void end_thread(Fibre& fibre);
  static void switch_out(Fibre& fibre) { fibre.control.suspend(); }
  std::uint64_t touch(Fibre& fibre, const char* address, const polyte_access& access,
                      std::int64_t iteration, std::uint64_t undefined);
  std::uint64_t touch_own(Fibre& fibre, const char* address, const polyte_access& access,
                          std::uint64_t undefined);
  bool is_undefined_move(const polyte_access& access, std::int64_t byte, std::uint64_t& undefined);
  Region* region_of(const char* address, std::int64_t bytes);
  std::optional<std::string> conflict(const Touch& before, const Touch& now, bool in_shared) const;
  Touch touch_of(const Fibre& fibre) const;
  void begin_epoch();
  Touch with_others(const Touch& before, Touch now, bool in_shared) const;
  static bool is_before_warp_met(const Touch& before, const Touch& now);
  static void enter(void* fibre);
  void land(Fibre& fibre, const AsyncCopy& copy);
  static void on_copy(polyte_emulated_thread* self, void* to, const void* from,
                      const polyte_access* write, const polyte_access* read, std::int64_t given,
                      std::int64_t iteration);
  static void on_group(polyte_emulated_thread* self, std::int64_t wait, std::int64_t pending);
  static void on_multiply(polyte_emulated_thread* self, const char* instruction,
                          const std::uint32_t* in, std::uint32_t* out);
  static void on_load_matrices(polyte_emulated_thread* self, const void* row, std::int64_t count,
                               std::int64_t transposed, std::uint32_t* out,
                               const polyte_access* access, std::int64_t iteration);
  static std::uint64_t on_exchange(polyte_emulated_thread* self, std::uint64_t value,
                                   std::int64_t lane);
  static void on_use(polyte_emulated_thread* self, const char* statement, const char* buffer,
                     std::int64_t written);
  bool run_product(std::size_t first);
  bool read_matrix(const std::vector<std::uint32_t>& addresses,
                   std::vector<std::uint16_t>& elements, Product& product);
  std::optional<std::string> unreadable(const Byte& byte) const;
  static void on_multiply_shared(polyte_emulated_thread* self, const char* instruction,
                                 std::uint64_t a, std::uint64_t b, std::int64_t across,
                                 std::int64_t count, const std::uint32_t* in, std::uint32_t* out);
  static void on_product_group(polyte_emulated_thread* self, std::int64_t step,
                               std::int64_t pending, std::int64_t count, const std::uint32_t* in,
                               std::uint32_t* out);
  static void on_fence_products(polyte_emulated_thread* self);
  static void on_meet(polyte_emulated_thread* self, std::int64_t of_warp, std::int64_t place);
  static std::uint64_t on_touch(polyte_emulated_thread* self, const void* address,
                                const polyte_access* access, std::int64_t iteration,
                                std::uint64_t undefined);
  static State& of(Fibre& fibre) { return *static_cast<State*>(fibre.state); }
};

}  // namespace polyte::runtime
