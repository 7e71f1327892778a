#include "driver/package/constant_pool.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "driver/compile/parallel_jobs.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::driver {

std::vector<std::int64_t> ConstantPool::add(const std::vector<std::int64_t>& sizes, Filler fill) {
  Piece piece{{}, sizes, std::move(fill)};
  for (const std::int64_t bytes : sizes) {
    size_ = ceil_div(size_, runtime::kAlignment) * runtime::kAlignment;
    // What has no elements has a place all the same.
    if (size_ == 0 && bytes == 0) size_ = runtime::kAlignment;
    piece.offsets.push_back(size_);
    size_ = checked_add(size_, bytes);
  }
  pieces_.push_back(std::move(piece));
  return pieces_.back().offsets;
}

std::int64_t ConstantPool::add(std::span<const std::byte> bytes) {
  const auto copy = [bytes](std::span<const std::span<std::byte>> to) {
    std::ranges::copy(bytes, to[0].begin());
  };
  return add({static_cast<std::int64_t>(bytes.size())}, copy).front();
}

// A value that several groups read is one piece; pieces of equal bytes that are several values are
// found by finish().
std::int64_t ConstantPool::add_shared(const std::shared_ptr<const graph::Bytes>& data) {
  const auto [known, fresh] = known_.try_emplace(data, 0);
  if (fresh) known->second = add(*data);
  return known->second;
}

namespace {

using Bytes = std::span<const std::byte>;

struct LessBytes {
  bool operator()(Bytes a, Bytes b) const {
    if (a.size() != b.size()) return a.size() < b.size();
    return !a.empty() && std::memcmp(a.data(), b.data(), a.size()) < 0;
  }
};

// Of pieces with equal bytes the first stays; what is kept moves down over what is not.
// `sizes` by offset. In ascending order, so that a move never writes over bytes that are still
// to be read. `kept` looks at the buffer itself: a piece that moves is entered anew, at the
// place to which its bytes go.
//
//   |  A  |  B  |  A  |  C  |     ->     |  A  |  B  |  C  |
Constants share_equal(runtime::AlignedBuffer bytes,
                      const std::map<std::int64_t, std::int64_t>& sizes) {
  Constants result{std::move(bytes), {}};
  std::byte* const data = result.bytes.data();
  std::map<Bytes, std::int64_t, LessBytes> kept;
  std::int64_t end = sizes.begin()->first;
  for (const auto& [placed, size] : sizes) {
    const std::int64_t next = ceil_div(end, runtime::kAlignment) * runtime::kAlignment;
    const auto count = static_cast<std::size_t>(size);
    const auto [same, fresh] = kept.try_emplace(Bytes(data + placed, count), next);
    result.moved[placed] = same->second;
    if (!fresh) continue;
    if (next < placed) {
      kept.erase(same);
      std::fill(data + end, data + next, std::byte{0});
      std::memmove(data + next, data + placed, count);
      kept.emplace(Bytes(data + next, count), next);
    }
    end = next + size;
  }
  result.bytes.shrink(end);
  return result;
}

}  // namespace

std::int64_t Constants::offset_of(std::int64_t placed) const {
  const auto behind = moved.upper_bound(placed);
  POLYTE_CHECK(behind != moved.begin(), "no constant was placed at " + std::to_string(placed));
  const auto& [from, to] = *std::prev(behind);
  return to + (placed - from);
}

// Largest first: the last job to begin is a short one.
Constants ConstantPool::finish(int jobs) {
  POLYTE_CHECK(!empty(), "a pool without constants is filled");
  runtime::AlignedBuffer buffer(size_);
  // A piece without bytes may lie where the next begins: that one counts.
  std::map<std::int64_t, std::int64_t> sizes;
  for (const Piece& piece : pieces_)
    for (std::size_t k = 0; k < piece.sizes.size(); ++k) sizes[piece.offsets[k]] = piece.sizes[k];
  const auto bytes_of = [](const Piece& piece) {
    return std::accumulate(piece.sizes.begin(), piece.sizes.end(), std::int64_t{0});
  };
  std::ranges::sort(pieces_, std::ranges::greater(), bytes_of);
  run_jobs(jobs, pieces_.size(), [&](std::size_t i) {
    const Piece& piece = pieces_[i];
    std::vector<std::span<std::byte>> into;
    for (std::size_t k = 0; k < piece.sizes.size(); ++k)
      into.emplace_back(buffer.data() + piece.offsets[k], static_cast<std::size_t>(piece.sizes[k]));
    piece.fill(into);
  });
  return share_equal(std::move(buffer), sizes);
}

}  // namespace polyte::driver
