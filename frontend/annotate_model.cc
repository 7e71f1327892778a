#include "frontend/annotate_model.h"

#include <fstream>
#include <limits>

#include "frontend/onnx_reader.h"
#include "support/error.h"

namespace polyte::frontend {

Annotated annotate_model(const std::string& from, const std::string& to,
                         const std::map<std::string, std::string>& texts) {
  onnx::ModelProto model = parse_model(read_file(from, std::numeric_limits<int>::max()), from);
  Annotated result;
  for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
    const auto at = texts.find(node.name());
    if (node.name().empty() || at == texts.end()) continue;
    node.set_doc_string(node.doc_string().empty() ? at->second
                                                  : node.doc_string() + "\n" + at->second);
    ++result.nodes;
  }
  // Their locations are relative to the model: a copy in another folder does not find them.
  for (const onnx::TensorProto& tensor : model.graph().initializer())
    result.has_external =
        result.has_external || tensor.data_location() == onnx::TensorProto::EXTERNAL;
  std::ofstream file(to, std::ios::binary);
  if (!model.SerializeToOstream(&file) || !file.flush())
    throw UserError(ExitStatus::InvalidInput, to + ": cannot be written");
  return result;
}

}  // namespace polyte::frontend
