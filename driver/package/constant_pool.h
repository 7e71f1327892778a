// The constants member of an artifact under construction: 64-byte aligned pieces in one buffer.
// Pieces are placed first and filled at the end, straight into the buffer and by several jobs,
// so that no weight is held twice. Pieces that are then equal are stored once, wherever they came
// from: two layers with the same weights, zeros of one size.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "runtime/aligned_buffer.h"

namespace polyte::driver {

// Filled, and without repetitions.
struct Constants {
  runtime::AlignedBuffer bytes;
  // The offset that a piece was placed at -> its offset in `bytes`.
  std::map<std::int64_t, std::int64_t> moved;
  // Of a byte in a piece, by where it was placed.
  std::int64_t offset_of(std::int64_t placed) const;
};

class ConstantPool {
 public:
  using Filler = std::function<void(std::span<const std::span<std::byte>>)>;

  // Where new pieces are placed. `fill` is called once, by finish(), with their bytes, which
  // are zero.
  std::vector<std::int64_t> add(const std::vector<std::int64_t>& sizes, Filler fill);
  std::int64_t add(std::span<const std::byte> bytes);  // copied by finish()
  // Equal sources are placed once.
  std::int64_t add_shared(const std::shared_ptr<const graph::Bytes>& data);
  bool empty() const { return size_ == 0; }
  Constants finish(int jobs);

 private:
  struct Piece {
    std::vector<std::int64_t> offsets, sizes;
    Filler fill;
  };
  std::int64_t size_ = 0;
  std::vector<Piece> pieces_;
  // By address: looked up, never iterated.
  std::map<std::shared_ptr<const graph::Bytes>, std::int64_t> known_;
};

}  // namespace polyte::driver
