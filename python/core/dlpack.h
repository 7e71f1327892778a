// What DLPack's capsules hold, and element types by its numbers and by those of numpy.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>

#include "runtime/dlpack_abi.h"
#include "support/dtype.h"

namespace polyte::python {

// DLPack 0.x: what a capsule named "dltensor" holds. Whoever takes it renames it and calls
// the deleter.
struct ManagedTensor {
  polyte_dl_tensor tensor;
  void* context;
  void (*deleter)(ManagedTensor* self);
};
inline constexpr const char *kTensor = "dltensor", *kTakenTensor = "used_dltensor";

// The tensor of a capsule, which is taken: its deleter runs when the capsule ends. Throws
// Python's error.
const polyte_dl_tensor& take_capsule(nanobind::handle capsule);
// A capsule of a tensor that its deleter frees; it does so by itself where nobody takes it.
nanobind::object make_capsule(ManagedTensor* managed);

std::optional<DType> dtype_of(const polyte_dl_type& type);
polyte_dl_type dl_type_of(DType dtype);
// A format of the struct module, in native order. The size tells the C types apart.
std::optional<DType> dtype_of(const char* format, std::size_t size);
// "<f4", as numpy writes an element type; 16-bit brain floats as their bits.
std::optional<DType> dtype_of_typestr(const std::string& typestr);
std::string typestr_of(DType dtype);

}  // namespace polyte::python
