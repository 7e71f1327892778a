// What the emulator notes of each byte of a device's memory. Internal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace polyte::runtime {

// Who touched a byte last; as small as can be, for each byte of the device has two. Epochs count the starts and the
// barriers of all blocks, one after another, so that they say the block and the launch as well; a warp has its own.
struct Touch {
  std::uint32_t epoch = 0, warp_epoch = 0;  // no epoch: nobody
  std::int16_t thread = 0;                  // of at most 1,024
  // Other threads too, of this epoch; of other warps; of other blocks of this launch.
  bool many : 1 = false, many_warps : 1 = false, many_blocks : 1 = false;
  bool atomic : 1 = false;
  bool on_plain : 1 = false;  // atomic, and its block has written plainly in this launch: other blocks race
};
struct Byte {
  Touch write, read;
  bool defined = false;
  bool copied = false;        // what was never written, from elsewhere
  bool in_flight = false;     // copied meanwhile, nobody has waited for it
  std::uint8_t products = 0;  // that are reading it
  std::uint16_t fences = 0;   // that its writer had made before
};

struct Region {
  std::string name;
  const char* base = nullptr;
  std::int64_t bytes = 0;
  std::vector<Byte> contents;
};

}  // namespace polyte::runtime
