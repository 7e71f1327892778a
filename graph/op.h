// What the compiler knows of each operator, one row per OpKind in one table (op.cc): its name, how
// it fuses, how types follow from operands, how it becomes statements of a Program, and what other
// parts of the compiler may presume of it (OpTraits). An operator or family is a file in ops/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/op_pattern.h"

namespace polyte::graph {

class Expander;  // expand.h

// Types of the outputs of `node` from those of its inputs (absent inputs: kNoValue in node.inputs).
// A Decline says what does not fit, without naming the node: "input 1 has rank 3, expected 4".
using InferFunction = Result<std::vector<TensorType>> (*)(const Graph& graph, const Node& node);
// Adds the statements of the node to the Program (or describes its output as an expression
// to be inlined).
using ExpandFunction = void (*)(Expander& expander, const Node& node);

// Which operands of an operator something holds for.
enum class Operands : std::uint8_t { None, First, Second, AllButFirst, Each };
constexpr bool includes(Operands operands, std::size_t operand) {
  switch (operands) {
    case Operands::None:
      return false;
    case Operands::First:
      return operand == 0;
    case Operands::Second:
      return operand == 1;
    case Operands::AllButFirst:
      return operand != 0;
    case Operands::Each:
      return true;
  }
  return false;
}

// How an operator computes on channels in blocks, [n, channels / c, spatial.., c]
// (layouts/block_forms.h has each rule). An element-wise operator that does not depend on
// position needs none.
enum class BlockRule : std::uint8_t { None, Convolution, Pool, Fold, Concat, Part };

// What becomes of zeros that pad the last block, in a unary operator or a fold.
// Padded elements are computed like all others, and a convolution multiplies them by weights of
// zero: a NaN or an infinity there would reach real results (layouts/block_padding.h).
enum class Zero : std::uint8_t {
  Anything,   // not known
  ToZero,     // zeros give zero; of other numbers nothing is known
  Stays,      // zeros give zero; a finite number grows by 1 at most (Sign, Ceil), and stays finite
  ToBounded,  // whatever is finite gives a number between -1 and 1
};

// What may be presumed of an operator beyond its types and its meaning. Each default presumes
// nothing: it may cost time, and is never wrong. A column that says more is a promise that the
// operator's expand function has to keep.
struct OpTraits {
  // The expression names these operands once, at one element per element of the result
  // (or per term of its sum): what computes such an operand may be written in its place. Else the
  // operand is computed into a buffer.
  Operands reads_once = Operands::None;
  // No element of such an operand is read for two elements of the result, though it may have
  // fewer of them (a sum, one part of a concatenation): then nothing is computed twice if it is
  // written in its place.
  bool reads_elements_once = false;
  // A constant of one element may stand in the expression as a number. Operands that are read
  // with a guard or at subscripts known at run time (Expander::read_padded, read_guarded, gather)
  // need a buffer even so.
  Operands as_number = Operands::None;
  // What an element becomes depends on where it is, as in a triangle of a matrix. Where it does
  // not, an element-wise operator may be run on the same elements in another layout.
  bool depends_on_position = true;
  BlockRule blocks = BlockRule::None;
  Zero zero = Zero::Anything;
};

struct OpInfo {
  OpKind kind;
  std::string_view name;
  // ElemWise operators of several operands are Broadcast where shapes differ: pattern_of.
  OpPattern pattern;
  InferFunction infer;
  ExpandFunction expand;
  OpTraits traits = {};
};
using OperatorTable = std::span<const OpInfo>;  // indexed by OpKind

OperatorTable all_operators();
const OpInfo& info(OpKind kind);
inline const OpInfo& row_of(OperatorTable table, OpKind kind) {
  return table[static_cast<std::size_t>(kind)];
}

// The pattern of this very node: Add of equal shapes is ElemWise, of unequal ones Broadcast.
OpPattern pattern_of(const Graph& graph, const Node& node);

// Types of the outputs, or why the operands do not fit.
Result<std::vector<TensorType>> infer_types(const Graph& graph, const Node& node);

// The output is the first input's elements in the same order (Reshape, Identity): alone,
// it needs no kernel.
bool is_view(OpKind kind);

// "kernel=3x3 strides=1x1 ..." of a node's attributes, for printing; empty where there are none.
std::string print_attributes(const Attributes& attributes);

}  // namespace polyte::graph
