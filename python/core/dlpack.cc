#include "python/core/dlpack.h"

#include <cstring>

namespace nb = nanobind;

namespace polyte::python {
namespace {

// A capsule has one owner of its tensor at a time, which its name tells: "dltensor" while nobody
// has taken it, "used_dltensor" afterwards.
void release_taken(PyObject* capsule) {
  auto* managed = static_cast<ManagedTensor*>(PyCapsule_GetPointer(capsule, kTakenTensor));
  if (!managed) return PyErr_Clear();
  if (managed->deleter) managed->deleter(managed);
}

void release_untaken(PyObject* capsule) {
  // The name is tested first: asking for the pointer by a wrong name sets Python's error, and a
  // destructor must leave none.
  if (PyCapsule_IsValid(capsule, kTensor) == 0) return;  // whoever took it frees it
  auto* managed = static_cast<ManagedTensor*>(PyCapsule_GetPointer(capsule, kTensor));
  managed->deleter(managed);
}

}  // namespace

const polyte_dl_tensor& take_capsule(nb::handle capsule) {
  auto* managed = static_cast<ManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), kTensor));
  if (!managed) throw nb::python_error();
  // Renamed before it has the other destructor: should that fail, the tensor is leaked, not
  // freed twice.
  if (PyCapsule_SetName(capsule.ptr(), kTakenTensor) != 0 ||
      PyCapsule_SetDestructor(capsule.ptr(), release_taken) != 0)
    throw nb::python_error();
  return managed->tensor;
}

nb::object make_capsule(ManagedTensor* managed) {
  PyObject* capsule = PyCapsule_New(managed, kTensor, release_untaken);
  if (!capsule) {
    managed->deleter(managed);
    throw nb::python_error();
  }
  return nb::steal(capsule);
}

std::optional<DType> dtype_of(const char* format, std::size_t size) {
  // The buffer protocol: no format stands for unsigned bytes.
  if (!format) return size == 1 ? std::optional(DType::U8) : std::nullopt;
  // What remains after an order mark is one letter; with '>' it is two, so foreign byte order
  // is refused.
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (std::strlen(format) != 1) return std::nullopt;
  constexpr DType kSigned[] = {DType::I8, DType::I16, DType::I32, DType::I64};
  constexpr DType kUnsigned[] = {DType::U8, DType::U16, DType::U32, DType::U64};
  // `l` is 4 bytes on some systems and 8 on others, so letters say the kind alone.
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

namespace {

// A kind of numbers and its size, as formats have it.
std::optional<DType> dtype_of_kind(char kind, std::size_t size) {
  if (kind == 'b') return size == 1 ? std::optional(DType::Bool) : std::nullopt;
  const char format = kind == 'i'                ? 'q'
                      : kind == 'u'              ? 'Q'
                      : kind == 'f' && size == 8 ? 'd'
                      : kind == 'f' && size == 4 ? 'f'
                      : kind == 'f' && size == 2 ? 'e'
                                                 : '\0';
  const char text[] = {format, '\0'};
  return format ? dtype_of(text, size) : std::nullopt;
}

}  // namespace

std::optional<DType> dtype_of(const polyte_dl_type& type) {
  if (type.lanes != 1 || type.bits % 8 != 0) return std::nullopt;
  if (type.code == POLYTE_DL_BFLOAT && type.bits == 16) return DType::BF16;
  const char kind = type.code == POLYTE_DL_BOOL    ? 'b'
                    : type.code == POLYTE_DL_INT   ? 'i'
                    : type.code == POLYTE_DL_UINT  ? 'u'
                    : type.code == POLYTE_DL_FLOAT ? 'f'
                                                   : '\0';
  return dtype_of_kind(kind, type.bits / 8);
}

polyte_dl_type dl_type_of(DType dtype) {
  const bool is_signed = is_integer(dtype) && name_of(dtype).front() == 'i';
  const int code = dtype == DType::BF16   ? POLYTE_DL_BFLOAT
                   : dtype == DType::Bool ? POLYTE_DL_BOOL
                   : is_float(dtype)      ? POLYTE_DL_FLOAT
                   : is_signed            ? POLYTE_DL_INT
                                          : POLYTE_DL_UINT;
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * size_in_bytes(dtype)), 1};
}

std::optional<DType> dtype_of_typestr(const std::string& typestr) {
  // '|' is for types that have no byte order, those of one byte.
  if (typestr.size() != 3 || (typestr[0] != '<' && typestr[0] != '|' && typestr[0] != '='))
    return std::nullopt;
  return dtype_of_kind(typestr[1], static_cast<std::size_t>(typestr[2] - '0'));
}

std::string typestr_of(DType dtype) {
  // numpy has no letter for bfloat16.
  const char kind = dtype == DType::Bool   ? 'b'
                    : dtype == DType::BF16 ? 'u'
                    : is_float(dtype)      ? 'f'
                                           : name_of(dtype).front();
  const int size = size_in_bytes(dtype);
  return std::string(1, size == 1 ? '|' : '<') + kind + std::to_string(size);
}

}  // namespace polyte::python
