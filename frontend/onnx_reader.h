// Bytes to protobuf messages, with limits: size, nesting (protobuf's 100 levels), and the sanity
// of what came out, for an empty file parses as an empty model. Errors are UserError(InvalidInput)
// or (ResourceLimit).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "polyte_onnx.pb.h"

namespace polyte::frontend {

// The whole of a regular file of at most `max_bytes`.
std::string read_file(const std::filesystem::path& file, std::int64_t max_bytes);

onnx::ModelProto parse_model(std::string_view bytes, const std::string& name);
onnx::TensorProto parse_tensor(std::string_view bytes, const std::string& name);

}  // namespace polyte::frontend
