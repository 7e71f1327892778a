// Tensors known at compile time: making them, and reading their elements as numbers.
#include <algorithm>
#include <cstring>

#include "graph/graph.h"
#include "ir/arithmetic.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::graph {

namespace {

template <class T>
// By memcpy, since the bytes may be part of a file and need not be aligned.
T load_as(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <class T>
void store_as(std::byte* bytes, T value) {
  std::memcpy(bytes, &value, sizeof(T));
}

const std::byte* element_address(const Tensor& tensor, std::int64_t position) {
  const auto offset = static_cast<std::size_t>(position) *
                      static_cast<std::size_t>(size_in_bytes(tensor.type.dtype));
  POLYTE_CHECK(position >= 0 && offset < tensor.bytes->size(), "position is outside the tensor");
  return tensor.bytes->data() + offset;
}

// As a Cast from f64: rounded once to floats, truncated and saturated to integers.
void store_real(DType type, std::byte* to, double value) {
  namespace arithmetic = ir::arithmetic;
  arithmetic::store(type, to, arithmetic::cast(type, DType::F64, arithmetic::of_real(value)));
}

// scale(position, factor) for every element: runs of elements take the factors in turn, from the
// first again after the last. Of 8 elements, run 2, factors p and q:  p p q q p p q q
template <class Scale>
void for_each_run(std::size_t elements, const std::vector<double>& factors, std::size_t run,
                  const Scale& scale) {
  std::size_t factor = 0;
  for (std::size_t begin = 0; begin < elements; begin += run) {
    const std::size_t end = std::min(elements, begin + run);
    for (std::size_t i = begin; i < end; ++i) scale(i, factors[factor]);
    factor = factor + 1 == factors.size() ? 0 : factor + 1;
  }
}

}  // namespace

Tensor make_tensor(TensorType type, const std::vector<double>& elements) {
  POLYTE_CHECK(element_count(type.shape) == static_cast<std::int64_t>(elements.size()),
               "element count of a tensor");
  const auto width = static_cast<std::size_t>(size_in_bytes(type.dtype));
  auto bytes = std::make_shared<Bytes>(elements.size() * width);
  for (std::size_t i = 0; i < elements.size(); ++i)
    store_real(type.dtype, bytes->data() + i * width, elements[i]);
  return {std::move(type), std::move(bytes)};
}

Tensor make_scalar(DType type, double value) { return make_tensor({type, {}}, {value}); }

Tensor make_integers(TensorType type, const Dims& elements) {
  POLYTE_CHECK(element_count(type.shape) == static_cast<std::int64_t>(elements.size()),
               "element count of a tensor");
  const auto width = static_cast<std::size_t>(size_in_bytes(type.dtype));
  auto bytes = std::make_shared<Bytes>(elements.size() * width);
  // Integers of any width are the low bytes of an i64: tensors are little-endian, as this machine
  // is.
  for (std::size_t i = 0; i < elements.size(); ++i)
    std::memcpy(bytes->data() + i * width, &elements[i], width);
  return {std::move(type), std::move(bytes)};
}

Tensor make_int64s(const Dims& elements) {
  return make_integers({DType::I64, {static_cast<std::int64_t>(elements.size())}}, elements);
}

// A 64-bit integer beyond 2^53 is rounded; element_as_int gives it exactly.
double element_as_real(const Tensor& tensor, std::int64_t position) {
  const std::byte* at = element_address(tensor, position);
  switch (tensor.type.dtype) {
    case DType::F64:
      return load_as<double>(at);
    case DType::F32:
      return static_cast<double>(load_as<float>(at));
    case DType::F16:
      return static_cast<double>(half_to_float(load_as<std::uint16_t>(at)));
    case DType::BF16:
      return static_cast<double>(bfloat16_to_float(load_as<std::uint16_t>(at)));
    case DType::U64:
      return static_cast<double>(load_as<std::uint64_t>(at));
    default:
      return static_cast<double>(element_as_int(tensor, position));
  }
}

std::int64_t element_as_int(const Tensor& tensor, std::int64_t position) {
  const std::byte* at = element_address(tensor, position);
  switch (tensor.type.dtype) {
    case DType::I8:
      return load_as<std::int8_t>(at);
    case DType::I16:
      return load_as<std::int16_t>(at);
    case DType::I32:
      return load_as<std::int32_t>(at);
    case DType::I64:
      return load_as<std::int64_t>(at);
    case DType::U8:
      return load_as<std::uint8_t>(at);
    case DType::U16:
      return load_as<std::uint16_t>(at);
    case DType::U32:
      return load_as<std::uint32_t>(at);
    case DType::U64:
      // By its bits, as ir::Literal has it: 2^63 and above come out negative.
      return static_cast<std::int64_t>(load_as<std::uint64_t>(at));
    case DType::Bool:
      return load_as<std::uint8_t>(at) != 0 ? 1 : 0;
    default:
      break;
  }
  POLYTE_CHECK(false, "element_as_int of a tensor of floats");
  return 0;
}

std::vector<double> elements_as_real(const Tensor& tensor) {
  std::vector<double> elements(static_cast<std::size_t>(element_count(tensor.type.shape)));
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = element_as_real(tensor, static_cast<std::int64_t>(i));
  return elements;
}

Tensor scale_runs(const Tensor& tensor, const std::vector<double>& factors, std::size_t run) {
  POLYTE_CHECK(is_float(tensor.type.dtype) && run > 0 && !factors.empty(), "runs of floats");
  const auto elements = static_cast<std::size_t>(element_count(tensor.type.shape));
  const auto width = static_cast<std::size_t>(size_in_bytes(tensor.type.dtype));
  auto scaled = std::make_shared<Bytes>(elements * width);
  const std::byte* from = tensor.bytes->data();
  std::byte* to = scaled->data();
  // The product is taken in double and rounded once, in both branches.
  if (tensor.type.dtype == DType::F32) {  // weights of networks: no branch per element
    for_each_run(elements, factors, run, [&](std::size_t i, double factor) {
      store_as(to + i * sizeof(float),
               static_cast<float>(static_cast<double>(load_as<float>(from + i * sizeof(float))) *
                                  factor));
    });
  } else {
    for_each_run(elements, factors, run, [&](std::size_t i, double factor) {
      store_real(tensor.type.dtype, to + i * width,
                 element_as_real(tensor, static_cast<std::int64_t>(i)) * factor);
    });
  }
  return {tensor.type, std::move(scaled)};
}

Dims elements_as_int(const Tensor& tensor) {
  Dims elements(static_cast<std::size_t>(element_count(tensor.type.shape)));
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = element_as_int(tensor, static_cast<std::int64_t>(i));
  return elements;
}

}  // namespace polyte::graph
