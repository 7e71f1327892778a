// Operands and gates of a Recurrence, by position (RecurrenceAttributes in op_kind.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace polyte::graph {

enum RecurrenceOperand : std::size_t { kX, kWeight, kH0, kC0, kLengths, kPeepholes, kBias };
enum GruGate : std::int64_t { kUpdate, kReset, kCandidate };
enum LstmGate : std::int64_t { kIn, kOutOf, kForget, kNew };  // peepholes: of the first three

}  // namespace polyte::graph
