// Tensor: a dense row-major array that owns its memory (64-byte aligned, zeroed) or borrows
// the caller's. TensorView is what a run takes: element type, shape and data, nothing owned,
// nothing allocated.
//
//   Tensor x(DType::F32, {1, 3, 8, 8});          x.as<float>()[0] = 1;
//   Tensor y = Tensor::borrow(DType::F32, {4}, pointer);
//   session.run({x.view()}, {y.view()});
//
// Half and bfloat16 are held as std::uint16_t, Bool as one byte that is 0 or 1. Impossible shapes
// and sizes beyond the machine are UserErrors.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/aligned_buffer.h"
#include "runtime/dlpack_abi.h"
#include "support/dtype.h"
#include "support/error.h"

namespace polyte::runtime {

using Shape = std::vector<std::int64_t>;

struct TensorView {
  DType dtype = DType::F32;
  std::span<const std::int64_t> shape;
  void* data = nullptr;  // never written through when the view is an input
};

// Checked; refuses negative sizes.
std::int64_t count_elements(std::span<const std::int64_t> shape);
std::int64_t count_bytes(DType dtype, std::span<const std::int64_t> shape);
std::string to_string(std::span<const std::int64_t> shape);  // "[1, 3, 8, 8]"

class Tensor {
 public:
  Tensor() = default;  // f32 of shape [0]
  Tensor(DType dtype, Shape shape);
  static Tensor borrow(DType dtype, Shape shape, void* data);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t elements() const { return elements_; }
  std::int64_t bytes() const { return elements_ * size_in_bytes(dtype_); }
  void* data() { return data_; }
  const void* data() const { return data_; }
  std::span<const std::byte> raw() const { return {static_cast<const std::byte*>(data_), size()}; }
  std::span<std::byte> raw() { return {static_cast<std::byte*>(data_), size()}; }
  TensorView view() const { return {dtype_, shape_, data_}; }
  Tensor clone() const;

  // The elements as T, which must have the element's size: float for f32, std::uint16_t for f16.
  template <class T>
  std::span<T> as() {
    POLYTE_CHECK(sizeof(T) == static_cast<std::size_t>(size_in_bytes(dtype_)),
                 "element size differs");
    return {static_cast<T*>(data_), static_cast<std::size_t>(elements_)};
  }
  template <class T>
  std::span<const T> as() const {
    POLYTE_CHECK(sizeof(T) == static_cast<std::size_t>(size_in_bytes(dtype_)),
                 "element size differs");
    return {static_cast<const T*>(data_), static_cast<std::size_t>(elements_)};
  }

 private:
  DType dtype_ = DType::F32;
  Shape shape_{0};
  std::int64_t elements_ = 0;
  AlignedBuffer owned_;
  void* data_ = nullptr;

  std::size_t size() const { return static_cast<std::size_t>(bytes()); }
};

// One element by its row-major number. Integers beyond 2^53 lose low bits as double.
double element_as_double(DType dtype, const void* data, std::int64_t index);
// Shortest text that reads back.
std::string element_text(DType dtype, const void* data, std::int64_t index);
// Floats: rounded once.
void set_element(DType dtype, void* data, std::int64_t index, double value);
// Integers wrap; Bool: != 0.
void set_element_int(DType dtype, void* data, std::int64_t index, std::int64_t value);

// DLPack struct over a view, and back. `shape` of the result points into the view's shape.
polyte_dl_tensor to_dlpack(const TensorView& view);
// UserError when not a dense tensor of our types, on this device.
TensorView from_dlpack(const polyte_dl_tensor& tensor,
                       polyte_dl_device device = {POLYTE_DL_CPU, 0});

}  // namespace polyte::runtime
