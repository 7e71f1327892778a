#include "python/core/array.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>
#include <vector>

#include "python/core/dlpack.h"
#include "python/core/error.h"

namespace nb = nanobind;

namespace polyte::python {
namespace {

std::string class_name(nb::handle object) {
  return nb::cast<std::string>(nb::str(nb::handle(object.type()).attr("__name__")));
}

[[noreturn]] void refuse_type(const std::string& name, const std::string& what) {
  throw ProblemError("argument '" + name + "' has elements of " + what +
                     ", which no element type of Polyte is");
}

}  // namespace

// What is a stream to whom: `__cuda_stream__` gives (version, CUstream) and may be a method or
// a property; torch has `cuda_stream`, cupy `ptr`.
std::optional<Stream> stream_of(nb::handle object) {
  if (object.is_none()) return std::nullopt;
  nb::object number = nb::borrow(object);
  if (nb::hasattr(object, "__cuda_stream__")) {
    nb::object said = object.attr("__cuda_stream__");
    if (PyCallable_Check(said.ptr()) != 0) said = said();
    number = said[1];
  } else if (nb::hasattr(object, "cuda_stream")) {
    number = object.attr("cuda_stream");
  } else if (nb::hasattr(object, "ptr")) {
    number = object.attr("ptr");
  }
  std::uintptr_t handle = 0;
  if (!nb::try_cast(number, handle))
    throw ProblemError("stream is of type " + class_name(object) +
                       ", expected None, the number of a CUstream or a stream of torch or cupy");
  return Stream{handle};
}

Array::Array(nb::handle object, const std::string& name, const Stream* stream) try {
  // cupy's have the buffer protocol too, which refuses what is in the device's memory.
  const bool is_there = stream && PyObject_CheckBuffer(object.ptr()) &&
                        nb::hasattr(object, "__cuda_array_interface__");
  if (PyObject_CheckBuffer(object.ptr()) && !is_there)
    take_buffer(object, name);
  else if (nb::hasattr(object, "__dlpack__"))
    take_dlpack(object, name, stream);
  else if (stream && nb::hasattr(object, "__cuda_array_interface__"))
    take_cuda(object, name);
  else
    throw ProblemError(
        "argument '" + name + "' is of type " + class_name(object) +
        ", expected an array: something with the buffer protocol or with __dlpack__");
} catch (const std::bad_cast&) {
  throw ProblemError(
      "argument '" + name + "' is of type " + class_name(object) +
      ", whose __dlpack_device__ or __cuda_array_interface__ says something else than it should");
}

template <class Extents>
void Array::set_shape(const Extents& extents, std::size_t dimensions, const std::string& name) {
  if (dimensions > static_cast<std::size_t>(kMostDimensions))
    throw ProblemError("argument '" + name + "' has " + std::to_string(dimensions) +
                       " dimensions, at most " + std::to_string(kMostDimensions) + " are possible");
  dimensions_ = static_cast<int>(dimensions);
  for (std::size_t d = 0; d < dimensions; ++d) shape_[d] = extents[d];
}

// ctypes says nothing of strides: its arrays are dense.
template <class Strides>
void Array::set_strides(const Strides& strides, std::int64_t unit, const std::string& name) {
  std::array<std::int64_t, kMostDimensions> bytes{};
  const std::int64_t size = size_in_bytes(dtype_);
  const auto all = std::span(bytes).first(static_cast<std::size_t>(dimensions_));
  for (std::size_t d = 0; d < all.size(); ++d) all[d] = strides[d] * (size / unit);
  if (runtime::is_dense(shape(), all, size)) return;
  if (is_on_gpu_)
    throw ProblemError("argument '" + name +
                       "' is not dense in row-major order: give a dense copy of it");
  is_repeated_ = !runtime::is_one_to_one(shape(), all, size);
  try {
    copy_ = std::make_unique<runtime::StridedCopy>(shape(), all, size);
  } catch (const UserError& e) {  // too large
    throw ProblemError("argument '" + name + "' is not dense, and its copy: " + e.what());
  }
  copy_->gather(data_);
  apart_ = std::exchange(data_, copy_->dense());
}

void Array::take_buffer(nb::handle object, const std::string& name) {
  Py_buffer& view = buffer_.view.emplace();
  if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    buffer_.view.reset();
    throw nb::python_error();
  }
  const auto dtype = dtype_of(view.format, static_cast<std::size_t>(view.itemsize));
  if (!dtype)
    refuse_type(name, "format '" + std::string(view.format ? view.format : "") + "' in " +
                          std::to_string(view.itemsize) + " bytes");
  dtype_ = *dtype;
  data_ = view.buf;
  is_writable_ = view.readonly == 0;
  set_shape(view.shape, static_cast<std::size_t>(view.ndim), name);
  if (view.strides) set_strides(view.strides, size_in_bytes(dtype_), name);
}

// The object's capsule keeps the memory. On a GPU it is asked for in the stream that will use
// it, so that its maker orders the two.
void Array::take_dlpack(nb::handle object, const std::string& name, const Stream* stream) {
  int type = POLYTE_DL_CPU;
  if (nb::hasattr(object, "__dlpack_device__")) {
    const nb::object place = object.attr("__dlpack_device__")();
    type = nb::cast<int>(nb::int_(place[0]));  // torch and jax have an enumeration
    gpu_ = nb::cast<int>(nb::int_(place[1]));
  }
  is_on_gpu_ = type == POLYTE_DL_CUDA;
  if (type != POLYTE_DL_CPU && !(is_on_gpu_ && stream))
    throw ProblemError("argument '" + name + "' is in the memory of device type " +
                       std::to_string(type) + " (DLPack), expected this processor's");
  using namespace nb::literals;
  keeper_ = is_on_gpu_ ? object.attr("__dlpack__")("stream"_a = stream->number())
                       : object.attr("__dlpack__")();
  const polyte_dl_tensor& tensor = take_capsule(keeper_);
  if (tensor.device.device_type != type)
    throw ProblemError("argument '" + name + "' says that it is in the memory of device type " +
                       std::to_string(type) + ", and its DLPack capsule that it is in that of " +
                       std::to_string(tensor.device.device_type));
  const auto dtype = dtype_of(tensor.dtype);
  if (!dtype)
    refuse_type(name, "DLPack type " + std::to_string(tensor.dtype.code) + " in " +
                          std::to_string(tensor.dtype.bits) + " bits");
  dtype_ = *dtype;
  data_ = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  // DLPack 0.x has no flag for memory that must not be written.
  is_writable_ = true;
  set_shape(tensor.shape, static_cast<std::size_t>(tensor.ndim), name);
  if (tensor.strides) set_strides(tensor.strides, 1, name);
}

// https://numba.readthedocs.io, "CUDA Array Interface (Version 3)".
void Array::take_cuda(nb::handle object, const std::string& name) {
  is_on_gpu_ = true;
  keeper_ = nb::borrow(object);
  const auto said = nb::cast<nb::dict>(object.attr("__cuda_array_interface__"));
  for (const char* key : {"typestr", "data", "shape"})
    if (!said.contains(key)) throw std::bad_cast();
  const auto typestr = nb::cast<std::string>(said["typestr"]);
  const auto dtype = dtype_of_typestr(typestr);
  if (!dtype) refuse_type(name, "type '" + typestr + "'");
  dtype_ = *dtype;
  const auto data = nb::cast<nb::tuple>(said["data"]);
  data_ = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(data[0]));  // NOLINT: the device's
  is_writable_ = !nb::cast<bool>(data[1]);
  const auto extents = nb::cast<std::vector<std::int64_t>>(said["shape"]);
  set_shape(extents, extents.size(), name);
  if (said.contains("stream") && !said["stream"].is_none())
    maker_ = Stream{nb::cast<std::uintptr_t>(said["stream"])};
  if (!said.contains("strides") || said["strides"].is_none()) return;
  const auto strides = nb::cast<std::vector<std::int64_t>>(said["strides"]);
  if (strides.size() != extents.size()) throw std::bad_cast();
  set_strides(strides, size_in_bytes(dtype_), name);
}

bool fits(DType got, DType wanted) {
  return got == wanted || (got == DType::U16 && (wanted == DType::F16 || wanted == DType::BF16));
}

nb::object empty_array(DType dtype, std::span<const std::int64_t> shape) {
  // Kept for good, by handles that nothing releases: Python may be gone when statics are destroyed.
  static const nb::handle kEmpty =
      nb::object(nb::module_::import_("numpy").attr("empty")).release();
  static const auto kTypes = [] {
    // In the order of DType.
    constexpr const char* kNames[] = {"float64", "float32", "float16", "uint16", "int8",
                                      "int16",   "int32",   "int64",   "uint8",  "uint16",
                                      "uint32",  "uint64",  "bool"};
    std::array<nb::handle, kDTypeCount> types;
    for (int i = 0; i < kDTypeCount; ++i)
      types[static_cast<std::size_t>(i)] =
          nb::module_::import_("numpy").attr("dtype")(kNames[i]).release();
    return types;
  }();
  nb::object extents = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
  for (std::size_t d = 0; d < shape.size(); ++d)
    PyTuple_SetItem(extents.ptr(), static_cast<Py_ssize_t>(d), PyLong_FromLongLong(shape[d]));
  return kEmpty(extents, kTypes[static_cast<std::size_t>(dtype)]);
}

}  // namespace polyte::python
