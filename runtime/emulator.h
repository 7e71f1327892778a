// Emulator: emulates the threads of a GPU on this CPU, for code that was compiled for that
// (CodegenOptions::emulated). It runs the very IR that PTX is made from, one fibre per thread, and
// watches every access:
//
//   Emulator emulator({.order = ThreadOrder::Backward});
//   emulator.add_memory("x", x, bytes, Emulator::Defined::Yes);
//   const polyte_host host = emulator.host();
//   kernel(buffers, scratch, &host);
//   emulator.faults()  // "mm.launch0: race on x.p + 12: thread 3 writes ..."; empty: all is well
//
// A fault ends its launch: outside of the memory that was added, two threads at one byte without
// a barrier between them and one of them writing, two blocks of a launch likewise, a byte that
// was never written (copied, it is none until the copy is used, or left in an output), an address
// that is no multiple of what the access takes it to be, a byte that is being copied meanwhile
// (cp.async) or read meanwhile (wgmma), or read past the threads with no fence before the barrier,
// a register of another lane that was never written, threads that wait at different barriers.
// Faults do not depend on the order in which threads run; values that are wrong anyway may. Blocks
// run one after another. Not for several threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/access_counter.h"
#include "support/kernel_abi.h"

namespace polyte::runtime {

enum class ThreadOrder { Forward, Backward, Random };

struct EmulatorOptions {
  ThreadOrder order = ThreadOrder::Forward;
  std::uint32_t seed = 1;   // of Random
  bool interleave = false;  // threads also take turns between their accesses, at random
  bool count_accesses = false;
  // What is copied or multiplied meanwhile is there when it is waited for, else at once.
  bool late_copies = false;
};
// What differs most from an order that a person has in mind.
inline constexpr EmulatorOptions kAdverse{
    .order = ThreadOrder::Random, .interleave = true, .late_copies = true};

// What a kernel's launches did, all of them together.
struct LaunchCounts {
  std::string kernel;
  std::int64_t launches = 0, blocks = 0, threads_a_block = 0, shared_bytes = 0;
  std::int64_t block_barriers = 0, warp_barriers = 0;  // how often a block, or a warp, met
  std::vector<AccessCounts> accesses = {};             // where they are counted
};

class Emulator {
 public:
  explicit Emulator(EmulatorOptions options = {});
  ~Emulator();
  Emulator(const Emulator&) = delete;
  Emulator& operator=(const Emulator&) = delete;

  // Whether its bytes have values yet. StatusWords: they have, and several threads may write one at
  // once, as they may the status of host().
  enum class Defined { Yes, No, StatusWords };
  // Memory of the device, until it is removed or the Emulator dies.
  void add_memory(const std::string& name, void* base, std::int64_t bytes, Defined defined);
  void remove_memory(const void* base);
  void define(const void* at, std::int64_t bytes);  // a part of it was written by somebody else

  // Of memory that was added: an output, once all has run.
  void expect_no_undefined_copy(const void* base);

  polyte_host host();  // as long as the Emulator
  int status() const;  // what its code has written to device_status
  const std::vector<std::string>& faults() const;
  // A kernel each, in the order of their first launch.
  const std::vector<LaunchCounts>& counts() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace polyte::runtime
