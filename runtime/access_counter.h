// AccessCounter: what the accesses of a launch's warps cost in memory, as the emulator sees them.
// The threads of a warp that execute one access at once are one request:
//
//   shared   wavefronts. 32 banks of 4 bytes; threads that read one word share it, different words
//            of one bank take turns. Of 8 bytes per thread the halves of a warp are served one
//            after the other, of 16 the quarters
//   global   sectors of 32 bytes that it touches. Regions begin at multiples of 32 bytes here, as
//            a device's do
//
// Beside them the ideal: one wavefront for each half or quarter at work; as few sectors as the
// bytes could lie in.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "support/kernel_abi.h"

namespace polyte::runtime {

// Of all accesses of one statement to one buffer, reads or writes, in one kernel.
struct AccessCounts {
  std::string statement, buffer;
  bool write = false, shared = false;
  std::int64_t bytes = 0;     // of a thread, the most
  std::int64_t requests = 0;  // of warps
  std::int64_t cost = 0;      // wavefronts of shared memory, sectors of global memory
  std::int64_t ideal = 0;
};

class AccessCounter {
 public:
  // `offset`: from where the region begins.
  void add(const polyte_access& access, std::int64_t iteration, std::int64_t thread, bool shared,
           std::int64_t offset);
  // All threads have come to one point: what was added belongs to what is counted.
  void flush();
  std::vector<AccessCounts> counts() const;  // ordered by statement, buffer, reads before writes

 private:
  struct Request {
    std::uint32_t lanes = 0;  // a bit each
    bool shared = false;
    std::array<std::int64_t, 32> offsets{};
  };
  // Iteration, warp.
  std::map<std::tuple<const polyte_access*, std::int64_t, std::int64_t>, Request> pending_;
  std::map<std::tuple<std::string, std::string, bool>, AccessCounts> counts_;
};

}  // namespace polyte::runtime
