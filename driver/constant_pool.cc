#include "driver/constant_pool.h"

#include <algorithm>
#include <numeric>

#include "driver/parallel_jobs.h"
#include "support/checked.h"

namespace polyte::driver {

std::vector<std::int64_t> ConstantPool::add(const std::vector<std::int64_t>& sizes, Filler fill) {
  Piece piece{{}, sizes, std::move(fill)};
  for (const std::int64_t bytes : sizes) {
    size_ = ceil_div(size_, runtime::kAlignment) * runtime::kAlignment;
    if (size_ == 0 && bytes == 0) size_ = runtime::kAlignment;  // what has no elements has a place all the same
    piece.offsets.push_back(size_);
    size_ = checked_add(size_, bytes);
  }
  pieces_.push_back(std::move(piece));
  return pieces_.back().offsets;
}

std::int64_t ConstantPool::add(std::span<const std::byte> bytes) {
  const auto copy = [bytes](std::span<const std::span<std::byte>> to) { std::ranges::copy(bytes, to[0].begin()); };
  return add({static_cast<std::int64_t>(bytes.size())}, copy).front();
}

std::int64_t ConstantPool::add_shared(const std::shared_ptr<const graph::Bytes>& data) {
  const auto [known, fresh] = known_.try_emplace(data, 0);
  if (fresh) known->second = add(*data);
  return known->second;
}

// Largest first: the last job to begin is a short one.
runtime::AlignedBuffer ConstantPool::finish(int jobs) {
  runtime::AlignedBuffer buffer(size_);
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
  return buffer;
}

}  // namespace polyte::driver
