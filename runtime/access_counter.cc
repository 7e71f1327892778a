#include "runtime/access_counter.h"

#include <algorithm>
#include <set>

namespace polyte::runtime {
namespace {

constexpr std::int64_t kLanes = 32, kBanks = 32, kWord = 4, kSector = 32;

// How many turns shared memory takes for these accesses: each bank serves one word per turn, to
// all threads that want that word, so the fullest bank decides.
std::int64_t turns(const std::vector<std::int64_t>& offsets, std::int64_t bytes) {
  std::array<std::set<std::int64_t>, kBanks> banks;
  for (const std::int64_t offset : offsets)
    for (std::int64_t word = offset / kWord; word <= (offset + bytes - 1) / kWord; ++word)
      banks[static_cast<std::size_t>(word % kBanks)].insert(word);
  std::size_t most = 0;
  for (const auto& words : banks) most = std::max(most, words.size());
  return static_cast<std::int64_t>(most);
}

std::int64_t sectors(const std::vector<std::int64_t>& offsets, std::int64_t bytes) {
  std::set<std::int64_t> touched;
  for (const std::int64_t offset : offsets)
    for (std::int64_t sector = offset / kSector; sector <= (offset + bytes - 1) / kSector; ++sector)
      touched.insert(sector);
  return static_cast<std::int64_t>(touched.size());
}

// The union of the byte ranges, packed densely. Sorted by offset, a range adds what lies beyond
// the end of all before it.
std::int64_t least_sectors(std::vector<std::int64_t> offsets, std::int64_t bytes) {
  std::ranges::sort(offsets);
  std::int64_t distinct = 0, end = offsets.front();
  for (const std::int64_t offset : offsets) {
    distinct += offset + bytes - std::max(offset, std::min(end, offset + bytes));
    end = std::max(end, offset + bytes);
  }
  return (distinct + kSector - 1) / kSector;
}

}  // namespace

// A request is one execution of one access by a warp: the same place, the same iteration. Lanes
// come one after the other, because each is a fibre of its own.
void AccessCounter::add(const polyte_access& access, std::int64_t iteration, std::int64_t thread,
                        bool shared, std::int64_t offset) {
  Request& request = pending_[{&access, iteration, thread / kLanes}];
  request.lanes |= 1U << static_cast<unsigned>(thread % kLanes);
  request.shared = shared;
  request.offsets[static_cast<std::size_t>(thread % kLanes)] = offset;
}

void AccessCounter::flush() {
  for (const auto& [key, request] : pending_) {
    const polyte_access& access = *std::get<0>(key);
    AccessCounts& counts = counts_[{access.statement, access.buffer, access.write != 0}];
    counts.statement = access.statement;
    counts.buffer = access.buffer;
    counts.write = access.write != 0;
    counts.shared = request.shared;
    counts.bytes = std::max(counts.bytes, access.bytes);
    ++counts.requests;
    // Shared memory serves 32 words per wavefront: of 8 bytes per thread 16 lanes, of 16 bytes
    // 8.
    const std::int64_t served =
        request.shared ? kLanes / std::max<std::int64_t>(access.bytes / kWord, 1) : kLanes;
    for (std::int64_t first = 0; first < kLanes; first += served) {
      std::vector<std::int64_t> offsets;
      for (std::int64_t lane = first; lane < first + served; ++lane)
        if ((request.lanes >> static_cast<unsigned>(lane) & 1U) != 0)
          offsets.push_back(request.offsets[static_cast<std::size_t>(lane)]);
      if (offsets.empty()) continue;
      counts.cost += request.shared ? turns(offsets, access.bytes) : sectors(offsets, access.bytes);
      counts.ideal += request.shared ? 1 : least_sectors(offsets, access.bytes);
    }
  }
  pending_.clear();
}

std::vector<AccessCounts> AccessCounter::counts() const {
  std::vector<AccessCounts> all;
  for (const auto& [key, counts] : counts_) all.push_back(counts);
  return all;
}

}  // namespace polyte::runtime
