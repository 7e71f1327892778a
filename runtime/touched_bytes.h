// What the emulator notes of each byte of a device's memory. Internal.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace polyte::runtime {

// Who touched a byte last; as small as can be, for each byte of the device has two. Epochs count
// the starts and the barriers of all blocks, one after another, so that they say the block and the
// launch as well; a warp has its own.
struct Touch {
  std::uint32_t epoch = 0, warp_epoch = 0;  // no epoch: nobody
  std::int16_t thread = 0;                  // of at most 1,024
  // Other threads too, of this epoch; of other warps; of other blocks of this launch.
  bool many : 1 = false, many_warps : 1 = false, many_blocks : 1 = false;
  bool atomic : 1 = false;
  // Atomic, and its block has written plainly in this launch: other blocks race.
  bool on_plain : 1 = false;
};
struct Byte {
  Touch write, read;
  bool defined = false;
  bool copied = false;        // what was never written, from elsewhere
  bool in_flight = false;     // copied meanwhile, nobody has waited for it
  std::uint8_t products = 0;  // that are reading it
  std::uint16_t fences = 0;   // that its writer had made before
};

// The notes of all bytes of a memory. Of memory that nobody touches there are none: many launches
// touch little of what a device has.
class TouchedBytes {
 public:
  TouchedBytes() = default;
  TouchedBytes(std::int64_t bytes, bool defined)
      : defined_(defined), pages_(static_cast<std::size_t>((bytes + kPage - 1) / kPage)) {}

  Byte& operator[](std::int64_t at) {
    std::unique_ptr<Page>& page = pages_[static_cast<std::size_t>(at / kPage)];
    if (page == nullptr) {
      page = std::make_unique<Page>();
      forget(*page);
    }
    return (*page)[static_cast<std::size_t>(at % kPage)];
  }

  // As if nobody had touched any.
  void forget() {
    for (const std::unique_ptr<Page>& page : pages_)
      if (page != nullptr) forget(*page);
  }

  // The first byte that is a copy of what was never written.
  std::optional<std::int64_t> find_copied() const {
    for (std::size_t i = 0; i < pages_.size(); ++i) {
      if (pages_[i] == nullptr) continue;
      const auto at = std::ranges::find(*pages_[i], true, &Byte::copied);
      if (at != pages_[i]->end())
        return static_cast<std::int64_t>(i) * kPage + (at - pages_[i]->begin());
    }
    return std::nullopt;
  }

 private:
  static constexpr std::int64_t kPage = 512;
  using Page = std::array<Byte, kPage>;

  void forget(Page& page) const {
    Byte untouched;
    untouched.defined = defined_;
    page.fill(untouched);
  }

  bool defined_ = false;
  std::vector<std::unique_ptr<Page>> pages_;
};

struct Region {
  std::string name;
  const char* base = nullptr;
  std::int64_t bytes = 0;
  TouchedBytes contents;
  bool is_noted = false;  // status words: in no order, by any thread
};

}  // namespace polyte::runtime
