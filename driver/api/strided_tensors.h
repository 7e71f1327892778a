// Tensors whose memory is not dense in row-major order. Kernels take dense memory: each of these
// has a copy, which is filled before a run and, where the kernel writes, put back after it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "driver/api/polyte.h"
#include "runtime/strided_copy.h"

namespace polyte::api {

// What is wrong with these strides, in elements, of a tensor whose shape is known; "": nothing.
std::string stride_problem(const TensorInfo& tensor, std::span<const std::int64_t> strides);

class StridedTensors {
 public:
  bool empty() const { return tensors_.empty(); }
  // Of the tensor with this number; none: it is dense.
  void set(std::size_t tensor, std::span<const std::int64_t> strides);
  // The addresses of dense memory, one per tensor, filled from `data`. Allocates where a shape is
  // not that of the time before. UserError(InvalidInput).
  std::span<void* const> gather(const std::vector<TensorInfo>& infos, std::span<void* const> data);
  // What was written, to where it came from.
  void scatter(const std::vector<TensorInfo>& infos, std::span<void* const> data) const;

 private:
  struct Strided {
    std::vector<std::int64_t> strides, shape;  // `shape`: of the copy
    std::optional<runtime::StridedCopy> copy;
  };
  std::map<std::size_t, Strided> tensors_;
  std::vector<void*> dense_;
};

}  // namespace polyte::api
