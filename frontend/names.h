// Names of a model as messages show them, and the domains and opsets that the importer knows.
#pragma once

#include <string>

namespace polyte::frontend {

// Text with what comes from the file in it: control characters would reach a terminal, and what is
// no UTF-8 a JSON document. Both become '?'.
std::string plain(const std::string& text);
// A name, plain and not too long.
std::string printable(const std::string& name);
std::string named(const std::string& name);  // printable, in quotes

bool is_onnx_domain(const std::string& domain);
std::string opset_range();  // "1 to 28"

}  // namespace polyte::frontend
