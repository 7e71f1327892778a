// The memory of a Python object, without a copy: what has the buffer protocol (numpy, array, memoryview), else what has
// DLPack's `__dlpack__` (torch, jax). Rows have to be dense.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "support/dtype.h"

namespace polyte::python {

class Array {
 public:
  static constexpr int kMostDimensions = 16;

  // Throws what the object's own protocol throws, and ProblemError (error.h) where it is no dense array on this
  // processor. `name` appears in messages.
  Array(nanobind::handle object, const std::string& name);
  ~Array();
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  void* data() const { return data_; }
  DType dtype() const { return dtype_; }
  std::span<const std::int64_t> shape() const { return {shape_.data(), static_cast<std::size_t>(dimensions_)}; }
  bool is_writable() const { return is_writable_; }

 private:
  void* data_ = nullptr;
  DType dtype_ = DType::F32;
  int dimensions_ = 0;
  bool is_writable_ = false;
  std::array<std::int64_t, kMostDimensions> shape_{};
  std::optional<Py_buffer> buffer_;  // one of the two keeps the memory
  nanobind::object capsule_;

  void take_buffer(nanobind::handle object, const std::string& name);
  void take_dlpack(nanobind::handle object, const std::string& name);
  void set_shape(const Py_ssize_t* shape, int dimensions, const std::string& name);
};

// Elements of `got` are those of `wanted`: the same type, or for 16-bit floats, which few libraries know, their bits as
// u16.
bool fits(DType got, DType wanted);

// A new array of numpy, not initialised; 16-bit brain floats as uint16.
nanobind::object empty_array(DType dtype, std::span<const std::int64_t> shape);

}  // namespace polyte::python
