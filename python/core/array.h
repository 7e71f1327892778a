// The memory of a Python object, without a copy: what has the buffer protocol (numpy, array,
// memoryview), else what has DLPack's `__dlpack__` (torch, jax), else `__cuda_array_interface__`
// (numba). What is not dense in row-major order is copied after all, of a GPU refused.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "runtime/strided_copy.h"
#include "support/dtype.h"

namespace polyte::python {

// A stream of a GPU, by its CUstream; 0 is the default one.
struct Stream {
  std::uintptr_t handle = 0;
  // As DLPack and __cuda_array_interface__ number them, whose 0 means nothing.
  std::uintptr_t number() const { return handle == 0 ? 1 : handle; }
};

// None, a number, or a stream of torch (`cuda_stream`), cupy (`ptr`) or anything with
// `__cuda_stream__`. Throws ProblemError.
std::optional<Stream> stream_of(nanobind::handle object);

class Array {
 public:
  static constexpr int kMostDimensions = 16;

  // Throws what the object's own protocol throws, and ProblemError (error.h) where it is no dense
  // array in this processor's memory or, with a stream in which it will be used, in a GPU's. `name`
  // appears in messages.
  Array(nanobind::handle object, const std::string& name, const Stream* stream = nullptr);

  void* data() const { return data_; }
  DType dtype() const { return dtype_; }
  std::span<const std::int64_t> shape() const {
    return {shape_.data(), static_cast<std::size_t>(dimensions_)};
  }
  bool is_writable() const { return is_writable_; }
  // Of memory that is not dense, data() is that of a copy; after a call that has written to it
  // the elements go back to their places.
  void copy_back() const {
    if (copy_) copy_->scatter(apart_);
  }
  // Several elements in one place, as numpy.broadcast_to has them: it can only be read.
  bool is_repeated() const { return is_repeated_; }

  bool is_on_gpu() const { return is_on_gpu_; }
  std::optional<int> gpu() const { return gpu_; }  // which one, where the object says so
  // The stream in which its maker may still be at work, where that is for us to wait for.
  std::optional<Stream> maker() const { return maker_; }

 private:
  void* data_ = nullptr;
  DType dtype_ = DType::F32;
  int dimensions_ = 0;
  bool is_writable_ = false, is_on_gpu_ = false, is_repeated_ = false;
  std::optional<int> gpu_;
  std::optional<Stream> maker_;
  std::array<std::int64_t, kMostDimensions> shape_{};
  struct Buffer {
    std::optional<Py_buffer> view;
    Buffer() = default;
    ~Buffer() {
      if (view) PyBuffer_Release(&*view);
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
  };
  Buffer buffer_;  // one of the two keeps the memory
  nanobind::object keeper_;
  std::unique_ptr<runtime::StridedCopy> copy_;
  void* apart_ = nullptr;  // what is copied

  // Each takes the memory by one protocol and fills in the fields above.
  void take_buffer(nanobind::handle object, const std::string& name);
  void take_dlpack(nanobind::handle object, const std::string& name, const Stream* stream);
  void take_cuda(nanobind::handle object, const std::string& name);
  // `unit`: an element, in what the strides count.
  template <class Strides>
  void set_strides(const Strides& strides, std::int64_t unit, const std::string& name);
  template <class Extents>
  void set_shape(const Extents& extents, std::size_t dimensions, const std::string& name);
};

// Elements of `got` are those of `wanted`: the same type, or for 16-bit floats, which few libraries
// know, their bits as u16.
bool fits(DType got, DType wanted);

// A new array of numpy, not initialised; 16-bit brain floats as uint16.
nanobind::object empty_array(DType dtype, std::span<const std::int64_t> shape);

}  // namespace polyte::python
