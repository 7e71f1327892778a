#include "python/core/array.h"

#include <nanobind/stl/string.h>

#include <cstring>

#include "python/core/error.h"
#include "runtime/dlpack_abi.h"

namespace nb = nanobind;

namespace polyte::python {
namespace {

// DLPack 0.x: what a capsule named "dltensor" holds. Whoever takes it renames it and calls the deleter.
struct ManagedTensor {
  polyte_dl_tensor tensor;
  void* context;
  void (*deleter)(ManagedTensor* self);
};
constexpr const char *kTensor = "dltensor", *kTakenTensor = "used_dltensor";

void release(PyObject* capsule) {
  auto* managed = static_cast<ManagedTensor*>(PyCapsule_GetPointer(capsule, kTakenTensor));
  if (!managed) return PyErr_Clear();
  if (managed->deleter) managed->deleter(managed);
}

// A format of the struct module, in native order. The size tells the C types apart.
std::optional<DType> dtype_of(const char* format, Py_ssize_t size) {
  if (!format) return size == 1 ? std::optional(DType::U8) : std::nullopt;
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (std::strlen(format) != 1) return std::nullopt;
  constexpr DType kSigned[] = {DType::I8, DType::I16, DType::I32, DType::I64};
  constexpr DType kUnsigned[] = {DType::U8, DType::U16, DType::U32, DType::U64};
  const int at = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : -1;
  if (at < 0) return std::nullopt;
  if (*format == '?') return DType::Bool;
  if (*format == 'e') return DType::F16;
  if (*format == 'f') return DType::F32;
  if (*format == 'd') return DType::F64;
  if (std::strchr("bhilqn", *format)) return kSigned[at];
  if (std::strchr("BHILQN", *format)) return kUnsigned[at];
  return std::nullopt;
}

std::optional<DType> dtype_of(const polyte_dl_type& type) {
  if (type.lanes != 1) return std::nullopt;
  if (type.code == POLYTE_DL_BFLOAT && type.bits == 16) return DType::BF16;
  if (type.code == POLYTE_DL_BOOL && type.bits == 8) return DType::Bool;
  const char format = type.code == POLYTE_DL_INT                        ? 'q'
                      : type.code == POLYTE_DL_UINT                     ? 'Q'
                      : type.code == POLYTE_DL_FLOAT && type.bits == 64 ? 'd'
                      : type.code == POLYTE_DL_FLOAT && type.bits == 32 ? 'f'
                      : type.code == POLYTE_DL_FLOAT && type.bits == 16 ? 'e'
                                                                        : '\0';
  const char text[] = {format, '\0'};
  return format ? dtype_of(text, type.bits / 8) : std::nullopt;
}

std::string class_name(nb::handle object) {
  return nb::cast<std::string>(nb::str(nb::handle(object.type()).attr("__name__")));
}

// Strides count bytes, or elements (`unit` 1).
bool is_dense(std::span<const std::int64_t> shape, const std::int64_t* strides, std::int64_t unit) {
  for (std::size_t d = shape.size(); d-- > 0; unit *= shape[d]) {
    if (shape[d] == 0) return true;
    if (shape[d] != 1 && strides[d] != unit) return false;
  }
  return true;
}

[[noreturn]] void refuse_strides(const std::string& name) {
  throw ProblemError("argument '" + name + "' is not dense in row-major order: give numpy.ascontiguousarray of it");
}

}  // namespace

Array::Array(nb::handle object, const std::string& name) {
  if (PyObject_CheckBuffer(object.ptr()))
    take_buffer(object, name);
  else if (nb::hasattr(object, "__dlpack__"))
    take_dlpack(object, name);
  else
    throw ProblemError("argument '" + name + "' is of type " + class_name(object) +
                       ", expected an array: something with the buffer protocol or with __dlpack__");
}

Array::~Array() {
  if (buffer_) PyBuffer_Release(&*buffer_);
}

void Array::set_shape(const Py_ssize_t* shape, int dimensions, const std::string& name) {
  if (dimensions > kMostDimensions)
    throw ProblemError("argument '" + name + "' has " + std::to_string(dimensions) + " dimensions, at most " +
                       std::to_string(kMostDimensions) + " are possible");
  dimensions_ = dimensions;
  for (int d = 0; d < dimensions; ++d) shape_[static_cast<std::size_t>(d)] = shape[d];
}

void Array::take_buffer(nb::handle object, const std::string& name) {
  Py_buffer view;
  if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_STRIDES | PyBUF_FORMAT) != 0) throw nb::python_error();
  buffer_ = view;
  const auto dtype = dtype_of(view.format, view.itemsize);
  if (!dtype)
    throw ProblemError("argument '" + name + "' has elements of format '" + (view.format ? view.format : "") + "' in " +
                       std::to_string(view.itemsize) + " bytes, which no element type of Polyte is");
  dtype_ = *dtype;
  data_ = view.buf;
  is_writable_ = view.readonly == 0;
  set_shape(view.shape, view.ndim, name);
  if (!view.strides) return;  // ctypes says nothing of them: its arrays are dense
  std::array<std::int64_t, kMostDimensions> strides{};
  for (int d = 0; d < view.ndim; ++d) strides[static_cast<std::size_t>(d)] = view.strides[d];
  if (!is_dense(shape(), strides.data(), view.itemsize)) refuse_strides(name);
}

void Array::take_dlpack(nb::handle object, const std::string& name) {
  capsule_ = object.attr("__dlpack__")();
  auto* managed = static_cast<ManagedTensor*>(PyCapsule_GetPointer(capsule_.ptr(), kTensor));
  if (!managed) throw nb::python_error();
  if (PyCapsule_SetName(capsule_.ptr(), kTakenTensor) != 0 || PyCapsule_SetDestructor(capsule_.ptr(), release) != 0)
    throw nb::python_error();
  const polyte_dl_tensor& tensor = managed->tensor;
  if (tensor.device.device_type != POLYTE_DL_CPU)
    throw ProblemError("argument '" + name + "' is in the memory of device type " +
                       std::to_string(tensor.device.device_type) + " (DLPack), expected this processor's");
  const auto dtype = dtype_of(tensor.dtype);
  if (!dtype)
    throw ProblemError("argument '" + name + "' has elements of DLPack type " + std::to_string(tensor.dtype.code) +
                       " in " + std::to_string(tensor.dtype.bits) + " bits, which no element type of Polyte is");
  dtype_ = *dtype;
  data_ = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  is_writable_ = true;
  set_shape(reinterpret_cast<const Py_ssize_t*>(tensor.shape), tensor.ndim, name);
  if (tensor.strides && !is_dense(shape(), tensor.strides, 1)) refuse_strides(name);
}

bool fits(DType got, DType wanted) {
  return got == wanted || (got == DType::U16 && (wanted == DType::F16 || wanted == DType::BF16));
}

nb::object empty_array(DType dtype, std::span<const std::int64_t> shape) {
  static const nb::handle kEmpty = nb::object(nb::module_::import_("numpy").attr("empty")).release();
  static const auto kTypes = [] {
    constexpr const char* kNames[] = {"float64", "float32", "float16", "uint16", "int8",   "int16", "int32",
                                      "int64",   "uint8",   "uint16",  "uint32", "uint64", "bool"};
    std::array<nb::handle, kDTypeCount> types;
    for (int i = 0; i < kDTypeCount; ++i)
      types[static_cast<std::size_t>(i)] = nb::module_::import_("numpy").attr("dtype")(kNames[i]).release();
    return types;
  }();
  nb::object extents = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
  for (std::size_t d = 0; d < shape.size(); ++d)
    PyTuple_SET_ITEM(extents.ptr(), static_cast<Py_ssize_t>(d), PyLong_FromLongLong(shape[d]));
  return kEmpty(extents, kTypes[static_cast<std::size_t>(dtype)]);
}

}  // namespace polyte::python
