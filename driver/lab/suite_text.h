// Changes to the text of a Program before it is read: values of its constants, and the type
// of its tensors.
#pragma once

#include <map>
#include <string>

namespace polyte::lab {

using Constants = std::map<std::string, std::string>;

// Whether a line is `const NAME = ..`.
bool has_constant(const std::string& text, const std::string& name);
std::string with_constants(const std::string& text, const Constants& constants);

// f64 and f32, where they stand as words, become `dtype`; empty: as it is.
std::string with_type(const std::string& text, const std::string& dtype);

// "a=24 b=16"; false where it is something else.
bool read_sizes(const std::string& text, std::map<std::string, std::string>& values);

}  // namespace polyte::lab
