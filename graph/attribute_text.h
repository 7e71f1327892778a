// Attributes as text, "kernel=3x3 strides=1x1 ...": what the `print` of a type of attributes
// writes to.
//
//   void TriluAttributes::print(AttributeText& text) const {
//     text.add("k", k).add("upper", upper);
//   }
#pragma once

#include <sstream>
#include <string>

#include "graph/op_kind.h"

namespace polyte::graph {

class AttributeText {
 public:
  template <class T>
  AttributeText& add(const char* name, const T& value) {
    out_ << (first_ ? "" : " ") << name << '=' << value;
    first_ = false;
    return *this;
  }
  // Nothing where it is false.
  AttributeText& flag(const char* name, bool value) { return value ? add(name, "true") : *this; }
  std::string text() const { return out_.str(); }

 private:
  std::ostringstream out_;
  bool first_ = true;
};

}  // namespace polyte::graph
