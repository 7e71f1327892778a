// TensorProto to graph::Tensor: every payload form (raw_data, the typed fields, half floats as bits
// in int32_data, external data). Sizes are checked before anything is allocated.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "frontend/onnx_import.h"
#include "graph/graph.h"
#include "polyte_onnx.pb.h"

namespace polyte::frontend {

// "STRING" of 8; "99" of an unknown number.
std::string onnx_type_name(int type);
std::optional<DType> dtype_from_onnx(int type);
inline constexpr const char* kSupportedTypes =
    "supported are f64 f32 f16 bf16 i8..i64 u8..u64 bool";

// UserError InvalidInput, Unsupported (strings, complex, sparse) or ResourceLimit; messages name
// no tensor. Give the message away where it is not needed any more: its raw data is taken over,
// not copied.
graph::Tensor tensor_from_onnx(onnx::TensorProto proto, const std::filesystem::path& folder,
                               const ImportOptions& options);

// Dimensions of a tensor or type: none negative, the size within the limit.
void check_size(const graph::TensorType& type, const ImportOptions& options);

}  // namespace polyte::frontend
