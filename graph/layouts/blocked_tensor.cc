#include "graph/layouts/blocked_tensor.h"

#include <algorithm>
#include <cstring>

#include "support/checked.h"

namespace polyte::graph {

namespace {

// A tensor as [outer, extent, inner] around one of its dimensions.
struct Around {
  std::int64_t outer, extent, inner;
  Around(const Dims& shape, std::size_t axis)
      : outer(
            element_count(Dims(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis)))),
        extent(shape.at(axis)),
        inner(element_count(
            Dims(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end()))) {}
};

template <std::size_t kBytes>
// The gaps behind the last channel stay the zeros that fresh memory holds.
void gather_blocks(const std::byte* from, std::byte* to, const Around& around, std::int64_t block) {
  const std::int64_t blocks = ceil_div(around.extent, block);
  for (std::int64_t a = 0; a < around.outer; ++a) {
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::int64_t used = std::min(block, around.extent - b * block);
      for (std::int64_t i = 0; i < around.inner; ++i) {
        for (std::int64_t c = 0; c < used; ++c) {
          const std::int64_t source = (a * around.extent + b * block + c) * around.inner + i;
          const std::int64_t target = ((a * blocks + b) * around.inner + i) * block + c;
          std::memcpy(to + target * static_cast<std::int64_t>(kBytes),
                      from + source * static_cast<std::int64_t>(kBytes), kBytes);
        }
      }
    }
  }
}

}  // namespace

Tensor blocked_tensor(const Tensor& tensor, std::size_t axis, std::int64_t block) {
  const Around around(tensor.type.shape, axis);
  TensorType type = tensor.type;
  type.shape[axis] = ceil_div(around.extent, block);
  type.shape.push_back(block);
  auto bytes = std::make_shared<Bytes>(static_cast<std::size_t>(size_in_bytes(type)));
  const std::byte* from = tensor.bytes->data();
  switch (polyte::size_in_bytes(type.dtype)) {
    case 1:
      gather_blocks<1>(from, bytes->data(), around, block);
      break;
    case 2:
      gather_blocks<2>(from, bytes->data(), around, block);
      break;
    case 4:
      gather_blocks<4>(from, bytes->data(), around, block);
      break;
    default:
      gather_blocks<8>(from, bytes->data(), around, block);
  }
  return {type, bytes};
}

Tensor padded_tensor(const Tensor& tensor, std::size_t axis, std::int64_t extent) {
  const Around around(tensor.type.shape, axis);
  if (around.extent == extent) return tensor;
  TensorType type = tensor.type;
  type.shape[axis] = extent;
  auto bytes = std::make_shared<Bytes>(static_cast<std::size_t>(size_in_bytes(type)));
  const std::int64_t size = around.inner * polyte::size_in_bytes(type.dtype);
  for (std::int64_t a = 0; a < around.outer; ++a)
    std::copy_n(tensor.bytes->data() + a * around.extent * size, around.extent * size,
                bytes->data() + a * extent * size);
  return {type, bytes};
}

}  // namespace polyte::graph
