#include "runtime/tensor.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <type_traits>

#include "support/checked.h"

namespace polyte::runtime {
namespace {

// Calls f with a value of the C++ type that holds an element: half and bfloat16 as std::uint16_t.
template <class F>
auto with_storage_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::F64:
      return f(double{});
    case DType::F32:
      return f(float{});
    case DType::F16:
    case DType::BF16:
    case DType::U16:
      return f(std::uint16_t{});
    case DType::I8:
      return f(std::int8_t{});
    case DType::I16:
      return f(std::int16_t{});
    case DType::I32:
      return f(std::int32_t{});
    case DType::I64:
      return f(std::int64_t{});
    case DType::U8:
    case DType::Bool:
      return f(std::uint8_t{});
    case DType::U32:
      return f(std::uint32_t{});
    case DType::U64:
      return f(std::uint64_t{});
  }
  throw InternalError("unknown element type");
}

template <class T>
T load(const void* data, std::int64_t index) {
  T value;
  std::memcpy(&value,
              static_cast<const std::byte*>(data) + index * static_cast<std::int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

template <class T>
void store(void* data, std::int64_t index, T value) {
  std::memcpy(static_cast<std::byte*>(data) + index * static_cast<std::int64_t>(sizeof(T)), &value,
              sizeof(T));
}

// does not fit. NaN becomes 0. `limit` is 2^kBits, built from its exponent bits, for max()
// itself is no double where T has 64 bits: it would be rounded up to 2^63, which does not fit.
// Saturating, so that no value is undefined; NaN becomes 0.
template <class T>
T to_integer(double value) {
  if (!(value == value)) return 0;
  constexpr int kBits = static_cast<int>(sizeof(T) * 8) - (std::is_signed_v<T> ? 1 : 0);
  const double limit = std::bit_cast<double>(static_cast<std::uint64_t>(1023 + kBits) << 52);
  if (value >= limit) return std::numeric_limits<T>::max();
  if (value <= (std::is_signed_v<T> ? -limit : 0.0)) return std::numeric_limits<T>::min();
  return static_cast<T>(value);
}

template <class T>
std::string number_text(T value) {
  char text[40];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return error == std::errc{} ? std::string(text, end) : std::string("?");
}

// The types of dlpack.h: Bool and bfloat16 have codes of their own. The last number: one
// element per lane.
polyte_dl_type dl_type(DType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * size_in_bytes(dtype));
  const int code = dtype == DType::Bool         ? POLYTE_DL_BOOL
                   : dtype == DType::BF16       ? POLYTE_DL_BFLOAT
                   : is_float(dtype)            ? POLYTE_DL_FLOAT
                   : is_unsigned_integer(dtype) ? POLYTE_DL_UINT
                                                : POLYTE_DL_INT;
  return {static_cast<std::uint8_t>(code), bits, 1};
}

}  // namespace

std::int64_t count_elements(std::span<const std::int64_t> shape) {
  for (const std::int64_t size : shape) {
    if (size < 0)
      throw UserError(ExitStatus::InvalidInput, "negative size in shape " + to_string(shape));
  }
  return checked_product(shape);
}

std::int64_t count_bytes(DType dtype, std::span<const std::int64_t> shape) {
  return checked_mul(count_elements(shape), size_in_bytes(dtype));
}

std::string to_string(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

// In the order of the members: the shape is counted, and so checked, before memory is taken.
Tensor::Tensor(DType dtype, Shape shape)
    : dtype_(dtype),
      shape_(std::move(shape)),
      elements_(count_elements(shape_)),
      owned_(count_bytes(dtype_, shape_)),
      data_(owned_.data()) {}

Tensor Tensor::borrow(DType dtype, Shape shape, void* data) {
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  tensor.elements_ = count_elements(tensor.shape_);
  // Only for its check: bytes() multiplies without one.
  count_bytes(dtype, tensor.shape_);
  tensor.data_ = data;
  return tensor;
}

Tensor Tensor::clone() const {
  Tensor copy(dtype_, shape_);
  if (bytes() > 0) std::memcpy(copy.data(), data_, size());
  return copy;
}

// By way of float where that is exact (every half and bfloat16 is a float); 64-bit integers
// beyond 2^53 are rounded.
double element_as_double(DType dtype, const void* data, std::int64_t index) {
  if (dtype == DType::F16) return half_to_float(load<std::uint16_t>(data, index));
  if (dtype == DType::BF16) return bfloat16_to_float(load<std::uint16_t>(data, index));
  return with_storage_type(
      dtype, [&](auto zero) { return static_cast<double>(load<decltype(zero)>(data, index)); });
}

// A half is printed as the shortest text of the float that it equals: longer than the shortest
// text of the half would be ("0.099975586", not "0.1"), but it reads back in any precision.
std::string element_text(DType dtype, const void* data, std::int64_t index) {
  if (dtype == DType::F16 || dtype == DType::BF16) {
    return number_text(static_cast<float>(element_as_double(dtype, data, index)));
  }
  if (dtype == DType::Bool) return load<std::uint8_t>(data, index) != 0 ? "true" : "false";
  return with_storage_type(
      dtype, [&](auto zero) { return number_text(load<decltype(zero)>(data, index)); });
}

// One rounding from double to the element: by way of float a half could be rounded twice, and
// end beside the nearest.
void set_element(DType dtype, void* data, std::int64_t index, double value) {
  if (dtype == DType::F16) return store(data, index, double_to_half(value));
  if (dtype == DType::BF16) return store(data, index, double_to_bfloat16(value));
  if (dtype == DType::Bool)
    return store(data, index, static_cast<std::uint8_t>(value != 0 ? 1 : 0));
  with_storage_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      store(data, index, static_cast<T>(value));
    } else {
      store(data, index, to_integer<T>(value));
    }
  });
}

// To an integer type not by way of double, which would lose the low bits of I64 and U64.
void set_element_int(DType dtype, void* data, std::int64_t index, std::int64_t value) {
  if (is_float(dtype) || dtype == DType::Bool)
    return set_element(dtype, data, index, static_cast<double>(value));
  with_storage_type(dtype,
                    [&](auto zero) { store(data, index, static_cast<decltype(zero)>(value)); });
}

polyte_dl_tensor to_dlpack(const TensorView& view) {
  polyte_dl_tensor result{};
  result.data = view.data;
  result.device = {POLYTE_DL_CPU, 0};
  result.ndim = static_cast<std::int32_t>(view.shape.size());
  result.dtype = dl_type(view.dtype);
  // A view is dense, so there are no strides: null says row-major.
  result.shape = const_cast<std::int64_t*>(view.shape.data());
  return result;
}

TensorView from_dlpack(const polyte_dl_tensor& tensor, polyte_dl_device device) {
  const auto refuse = [](const std::string& why) -> TensorView {
    throw UserError(ExitStatus::InvalidInput, "tensor " + why);
  };
  const bool is_cpu = device.device_type == POLYTE_DL_CPU;
  if (tensor.device.device_type != device.device_type ||
      (!is_cpu && tensor.device.device_id != device.device_id))
    return refuse("is on device type " + std::to_string(tensor.device.device_type) +
                  (is_cpu ? "" : ", number " + std::to_string(tensor.device.device_id)) +
                  ", expected " +
                  (is_cpu ? "CPU memory" : "CUDA device " + std::to_string(device.device_id)));
  if (tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape == nullptr))
    return refuse("has no valid shape");
  // As many as NumPy has; a shape is read before it is compared.
  constexpr std::int32_t kMostDimensions = 64;
  if (tensor.ndim > kMostDimensions)
    return refuse("has " + std::to_string(tensor.ndim) + " dimensions, expected at most " +
                  std::to_string(kMostDimensions));
  TensorView view;
  view.shape = {tensor.shape, static_cast<std::size_t>(tensor.ndim)};
  view.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  // From the innermost dimension outwards, `dense` is the stride that a row-major tensor has
  // there. A dimension of extent 1 may have any stride, and so may all of a tensor of at most
  // one element: NumPy and PyTorch leave arbitrary values there.
  std::int64_t dense = 1;
  const std::int64_t elements = count_elements(view.shape);
  for (std::size_t i = view.shape.size(); tensor.strides != nullptr && elements > 1 && i-- > 0;) {
    if (view.shape[i] > 1 && tensor.strides[i] != dense) return refuse("is not dense row-major");
    dense = checked_mul(dense, view.shape[i]);
  }
  // The type is found by building the descriptor of each of ours, so that both directions
  // agree.
  for (int i = 0; i < kDTypeCount; ++i) {
    const polyte_dl_type candidate = dl_type(static_cast<DType>(i));
    if (std::memcmp(&candidate, &tensor.dtype, sizeof candidate) != 0) continue;
    view.dtype = static_cast<DType>(i);
    return view;
  }
  return refuse("has element type code " + std::to_string(tensor.dtype.code) + " of " +
                std::to_string(tensor.dtype.bits) + " bits and " +
                std::to_string(tensor.dtype.lanes) + " lanes, which is not supported");
}

}  // namespace polyte::runtime
