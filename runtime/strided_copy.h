// Memory whose elements lie apart (a transposed array, a reversed one, a part of a larger one), and
// a dense copy of it: kernels take dense memory alone.
//
//   StridedCopy copy(shape, strides, 4);   // strides in bytes, outermost first
//   copy.gather(data);                     // the elements of `data` ..
//   run(copy.dense());
//   copy.scatter(data);                    // .. and back
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/aligned_buffer.h"

namespace polyte::runtime {

// Row-major without gaps. Along a dimension of extent 1 no step is taken, and any stride will do;
// what has no elements is dense. `unit`: an element, in what strides count.
bool is_dense(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
              std::int64_t unit);
// Whether no two elements share memory, by a rule that holds of transposed, reversed and sliced
// dense arrays: it can be written.
bool is_one_to_one(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                   std::int64_t unit);

class StridedCopy {
 public:
  // As many strides as extents, in bytes; they may be negative. `size`: an element's, 1 to 8 bytes.
  StridedCopy(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
              std::int64_t size);
  void* dense() { return dense_.data(); }
  // `data`: where the element of the subscripts 0 is.
  void gather(const void* data);
  void scatter(void* data) const;

 private:
  std::vector<std::int64_t> shape_, strides_;
  std::int64_t size_;
  AlignedBuffer dense_;
};

}  // namespace polyte::runtime
