// Operands and gates of a Recurrence, by position (RecurrenceAttributes in op_kind.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace polyte::graph {

struct Recurrent {
  enum Operand : std::size_t { X, Weight, H0, C0, Lengths, Peepholes, Bias };
  enum GruGate : std::int64_t { Update, Reset, Candidate };
  enum LstmGate : std::int64_t { In, Out, Forget, New };  // peepholes: of the first three
};

}  // namespace polyte::graph
