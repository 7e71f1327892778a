#include "frontend/onnx_tensor.h"

#include <charconv>
#include <cstring>

#include "frontend/external_data.h"
#include "frontend/onnx_reader.h"
#include "support/error.h"

namespace polyte::frontend {

namespace {

using onnx::TensorProto;

// Without the tensor's name, which the caller puts in front: "initializer 'w' holds 3 elements".
[[noreturn]] void invalid(const std::string& what) {
  throw UserError(ExitStatus::InvalidInput, what);
}

std::int64_t parse_number(const std::string& key, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    invalid("external data: " + key + " is '" + text + "', expected a number of bytes");
  }
  return value;
}

// onnx.proto, TensorProto.external_data: pairs of strings. Other keys, such as a checksum, are
// hints.
ExternalData external_of(const TensorProto& proto) {
  ExternalData data;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") data.location = entry.value();
    if (entry.key() == "offset") data.offset = parse_number("offset", entry.value());
    if (entry.key() == "length") data.length = parse_number("length", entry.value());
  }
  return data;
}

// Elements of a typed field, each narrowed to the width of the type: onnx.proto stores short
// integers, bools and the bits of 16-bit floats in int32_data, and u32 in uint64_data.
template <class To, class Field>
graph::Bytes narrowed(const Field& field, std::int64_t count) {
  if (field.size() != count)
    invalid("holds " + std::to_string(field.size()) + " elements, expected " +
            std::to_string(count));
  graph::Bytes bytes(static_cast<std::size_t>(count) * sizeof(To));
  for (int i = 0; i < field.size(); ++i) {
    const To element = static_cast<To>(field[i]);
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof(To), &element, sizeof(To));
  }
  return bytes;
}

// Which field a type uses is written in onnx.proto, beside each field of TensorProto.
graph::Bytes typed_payload(const TensorProto& proto, DType type, std::int64_t count) {
  switch (type) {
    case DType::F32:
      return narrowed<float>(proto.float_data(), count);
    case DType::F64:
      return narrowed<double>(proto.double_data(), count);
    case DType::I64:
      return narrowed<std::int64_t>(proto.int64_data(), count);
    case DType::U64:
      return narrowed<std::uint64_t>(proto.uint64_data(), count);
    case DType::U32:
      return narrowed<std::uint32_t>(proto.uint64_data(), count);
    case DType::I32:
      return narrowed<std::int32_t>(proto.int32_data(), count);
    case DType::I16:
      return narrowed<std::int16_t>(proto.int32_data(), count);
    case DType::I8:
      return narrowed<std::int8_t>(proto.int32_data(), count);
    case DType::U8:
      return narrowed<std::uint8_t>(proto.int32_data(), count);
    case DType::U16:
    case DType::F16:
    case DType::BF16:
      return narrowed<std::uint16_t>(proto.int32_data(), count);
    case DType::Bool:
      break;
  }
  return narrowed<std::uint8_t>(proto.int32_data(), count);
}

// Little-endian, row-major, as the hosts that this runs on: the bytes are taken over without a
// copy.
graph::Bytes raw_payload(std::string raw, std::int64_t size) {
  if (static_cast<std::int64_t>(raw.size()) != size) {
    invalid("holds " + std::to_string(raw.size()) + " bytes of raw data, expected " +
            std::to_string(size));
  }
  const auto owner = std::make_shared<const std::string>(std::move(raw));
  return {std::as_bytes(std::span(*owner)), owner};
}

graph::Bytes external_payload(const TensorProto& proto, const std::filesystem::path& folder,
                              const ImportOptions& options, std::int64_t size) {
  const ExternalData external = external_of(proto);
  if (options.reads) options.reads(folder / external.location);
  return read_external_data(folder, external, size);
}

}  // namespace

std::string onnx_type_name(int type) {
  const std::string& name = TensorProto::DataType_Name(static_cast<TensorProto::DataType>(type));
  return name.empty() ? std::to_string(type) : name;
}

std::optional<DType> dtype_from_onnx(int type) {
  switch (type) {
    case TensorProto::DOUBLE:
      return DType::F64;
    case TensorProto::FLOAT:
      return DType::F32;
    case TensorProto::FLOAT16:
      return DType::F16;
    case TensorProto::BFLOAT16:
      return DType::BF16;
    case TensorProto::INT8:
      return DType::I8;
    case TensorProto::INT16:
      return DType::I16;
    case TensorProto::INT32:
      return DType::I32;
    case TensorProto::INT64:
      return DType::I64;
    case TensorProto::UINT8:
      return DType::U8;
    case TensorProto::UINT16:
      return DType::U16;
    case TensorProto::UINT32:
      return DType::U32;
    case TensorProto::UINT64:
      return DType::U64;
    case TensorProto::BOOL:
      return DType::Bool;
    default:
      return std::nullopt;
  }
}

void check_size(const graph::TensorType& type, const ImportOptions& options) {
  for (std::int64_t extent : type.shape) {
    if (extent < 0) invalid("has type " + to_string(type) + ", with a negative extent");
  }
  const std::int64_t size = graph::size_in_bytes(type);
  if (size > options.max_tensor_bytes) {
    throw UserError(ExitStatus::ResourceLimit, "has type " + to_string(type) + ", " +
                                                   std::to_string(size) + " bytes; the limit is " +
                                                   std::to_string(options.max_tensor_bytes));
  }
}

// Where the elements are depends on the writer: in another file, as raw bytes, or in a field of
// the type's width. The declared size is checked first, before memory of that size is taken.
graph::Tensor tensor_from_onnx(TensorProto proto, const std::filesystem::path& folder,
                               const ImportOptions& options) {
  const auto dtype = dtype_from_onnx(proto.data_type());
  if (!dtype && proto.data_type() == TensorProto::UNDEFINED) invalid("has no element type");
  if (!dtype)
    throw UserError(
        ExitStatus::Unsupported,
        "has element type " + onnx_type_name(proto.data_type()) + ": " + kSupportedTypes);
  graph::Tensor tensor{{*dtype, {proto.dims().begin(), proto.dims().end()}}, nullptr};
  check_size(tensor.type, options);
  if (proto.has_segment()) throw UserError(ExitStatus::Unsupported, "is stored in segments");
  const std::int64_t size = graph::size_in_bytes(tensor.type);
  graph::Bytes bytes;
  if (proto.data_location() == TensorProto::EXTERNAL)
    bytes = external_payload(proto, folder, options, size);
  else if (proto.has_raw_data())
    bytes = raw_payload(std::move(*proto.mutable_raw_data()), size);
  else
    bytes = typed_payload(proto, *dtype, graph::element_count(tensor.type.shape));
  if (*dtype == DType::Bool) {
    // What is not 0 is true; from here on a Bool is 0 or 1.
    std::vector<std::byte> flags = bytes.copy();
    for (std::byte& b : flags) b = b == std::byte{0} ? b : std::byte{1};
    bytes = graph::Bytes(std::move(flags));
  }
  tensor.bytes = std::make_shared<const graph::Bytes>(std::move(bytes));
  return tensor;
}

graph::Tensor read_tensor_file(const std::filesystem::path& file, std::string* name) {
  const ImportOptions options;
  const TensorProto proto = parse_tensor(read_file(file, options.max_file_bytes), file.string());
  if (name) *name = proto.name();
  try {
    return tensor_from_onnx(proto, file.parent_path(), options);
  } catch (const UserError& error) {
    throw UserError(error.status(), file.string() + ": tensor " + error.problems().front());
  }
}

}  // namespace polyte::frontend
