// What an operator's expand function works with: reading operands, defining outputs, adding
// statements to the Program of the group. Used by ops/*.cc only.
//
//   expander.define(node.outputs[0], [&](const Subscripts& at) {
//     return make_unary(Exp, expander.read(x, at));
//   });
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "graph/expand.h"
#include "graph/op.h"
#include "ir/builder.h"

namespace polyte::graph {

using Subscripts = std::vector<ir::Affine>;
using Element = std::function<ir::Expr(const Subscripts& at)>;  // an element of a value
using Ranges = std::vector<ir::Range>;
using Constraints = std::vector<ir::Constraint>;

// An operator describes its output as an Element, a function from subscripts to an expression. That
// makes inlining a matter of calling it: the reader passes the subscripts that it would read, and
// gets an expression in place of a load.
//
//   b = Transpose(a), perm 1,0        define(b, at -> read(a, {at[1], at[0]}))
//   c = Relu(b)                       define(c, at -> max(read(b, at), 0))
//   c[i, j] = max(a[j, i], 0)         needs_buffer(b) is false: no statement for b
//
// Nodes are expanded in topological order, so a value has its buffer or its Element before it is
// read.
class Expander {
 public:
  // `operators`: all_operators(), or a table of a test.
  Expander(const Graph& graph, std::span<const NodeId> nodes, const std::string& name,
           OperatorTable operators);
  Expansion run();

  const TensorType& type(ValueId id) const { return graph_.value(id).type; }
  const Dims& shape(ValueId id) const { return type(id).shape; }

  // An element of an operand; subscripts within its shape.
  ir::Expr read(ValueId id, const Subscripts& at);
  // The same with NumPy broadcasting: `at` are subscripts of a shape that the operand
  // broadcasts to.
  ir::Expr read_broadcast(ValueId id, const Subscripts& at);
  // The only element of an operand of one element.
  ir::Expr read_scalar(ValueId id) { return read(id, Subscripts(shape(id).size(), ir::Affine(0))); }
  // Only of operands that neither `reads_once` nor `as_number` names (OpTraits), for they need
  // a buffer: a read with a guard where `at` can leave the shape, and a read at subscripts known
  // at run time.
  ir::Expr read_padded(ValueId id, const Subscripts& at, ir::Expr otherwise);
  ir::Expr read_guarded(ValueId id, std::vector<ir::Index> at, std::vector<ir::Constraint> guard,
                        ir::Expr otherwise);
  ir::Expr gather(ValueId id, std::vector<ir::Index> at);

  // The output as an expression of its subscripts: a statement, or inlined into its only reader.
  void define(ValueId output, Element element);
  // The same, where the statement's iterators are to have names of the operator's.
  void define(ValueId output, const Ranges& ranges, Element element);
  // output[ranges] = post(combination of element over `reductions`); `post` may be empty. Short
  // floats are summed in f32 and rounded at the end: `element` is then f32 (accumulator_of), and so
  // is what `post` gets and gives. Only elements where `where` holds are combined.
  using Post = std::function<ir::Expr(ir::Expr accumulated, const Subscripts& at)>;
  void reduce(ValueId output, const Ranges& ranges, const Ranges& reductions, ir::Combiner combiner,
              const Element& element, const Post& post = {}, const Constraints& where = {});

  // For operators that place statements themselves. store: the buffer of the output, to be filled
  // part by part.
  std::string store(ValueId output);
  std::string temporary(const std::string& base, DType dtype, const Dims& extents);
  // buffer[to] = value over ranges; several parts of one buffer get names of their own.
  void assign(const std::string& buffer, const Subscripts& to, const Ranges& ranges,
              const Element& element);
  // The same where the position is read at run time: buffer[to(at)] = element(at).
  using Position = std::function<std::vector<ir::Index>(const Subscripts& at)>;
  void scatter(const std::string& buffer, const Ranges& ranges, const Position& to,
               const Element& element);
  void accumulate(const std::string& buffer, const Ranges& ranges, const Ranges& reductions,
                  ir::Combiner combiner, const Element& element, const Constraints& where = {},
                  const Element& initial = {});  // empty: the combiner's identity
  void accumulate_arg(const std::string& best, const std::string& position, const Ranges& ranges,
                      const Ranges& reductions, ir::Combiner combiner, const Element& value,
                      const Element& place, const Constraints& where = {});
  // What `body` adds, once for each value of the iterator, in order.
  void in_order(const ir::Range& iterator, const std::function<void()>& body);
  ir::Expr load(const std::string& buffer, const Subscripts& at) const {
    return program_.load(buffer, at);
  }
  ir::Expr load_at(const std::string& buffer, std::vector<ir::Index> at) const {
    return ir::make_load(program_.buffer(buffer).dtype, buffer, std::move(at));
  }

 private:
  // A name for a buffer that is neither taken nor a word of Program text.
  std::string claim(const std::string& base);
  void declare_buffer(ValueId id, ir::Role role);
  void declare_interface();
  void mark_outside_readers();
  void define_empty(ValueId output);
  bool needs_buffer(ValueId id) const;
  bool is_copy(ValueId id) const;
  bool is_single(const ir::Affine& subscript) const;
  Ranges iterators_of(ValueId output);

  const Graph& graph_;
  OperatorTable operators_;
  std::vector<NodeId> nodes_;
  ir::ProgramBuilder program_;
  std::map<ValueId, std::string> buffers_;
  std::map<ValueId, Element> inlined_;
  // In the group: node, operand. One entry per operand position, so x * x has two readers.
  std::map<ValueId, std::vector<std::pair<NodeId, std::size_t>>> readers_;
  std::map<ValueId, bool> read_outside_;
  std::map<ValueId, Ranges> iterators_;  // of values that a reduction gave, or a tail of one
  std::map<std::string, int> parts_;     // statements that assign to a buffer, so far
  std::vector<ValueId> arguments_;
  const Node* node_ = nullptr;  // that is being expanded
  Ranges scope_;                // iterators of the statement that is being written
};

// One iterator per dimension of `shape`, named by rank: (i), (i, j), (i, j, k), (n, c, h, w),
// (n, c, d, h, w).
Ranges ranges_over(const Dims& shape);
Subscripts subscripts_of(const Ranges& ranges);
DType accumulator_of(DType type);  // f32 for f16 and bf16, else the type

}  // namespace polyte::graph
