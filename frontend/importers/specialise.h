// Values that decide shapes. An adapter needs some operands as numbers: axes, sizes, pads. They
// are constants of the model, or computed from constants, or run-time inputs whose value somebody
// offers (ImportOptions::offer): the model is then compiled for that value, and the input is a
// constant of what is compiled.
//
//    Reshape(x, Concat(n, Const(-1)))      n is an input, offered 3: compiled for [3, -1]
#pragma once

#include <optional>
#include <string>

#include "frontend/importers/context.h"

namespace polyte::frontend {

// The elements of `id`. Unsupported{"<what> ..."} names the run-time inputs it depends on where
// they are not offered.
Tensor specialised(ImportState& state, ValueId id, const std::string& what);

}  // namespace polyte::frontend
