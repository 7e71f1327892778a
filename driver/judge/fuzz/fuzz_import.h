// fuzz import: small ONNX models, right ones and ones with wrong attributes, their bytes then
// damaged at random, go into the importer. It has to return a graph or to say what is wrong
// (a UserError); anything else is a fault.
#pragma once

#include <optional>
#include <string>

#include "driver/judge/fuzz/random.h"

namespace polyte::fuzz {

// Bytes of a model: a chain of operators on one input, mostly valid.
std::string random_model(Random& random);
// Bytes flipped, cut out, repeated or cut off: none to four times.
std::string damaged(std::string bytes, Random& random);

struct ImportResult {
  bool imported = false;
  std::optional<std::string> fault;
};
ImportResult import_bytes(const std::string& bytes);

}  // namespace polyte::fuzz
