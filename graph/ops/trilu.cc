// Trilu: the upper or lower triangle of the last two dimensions, zero elsewhere.
#include "graph/attribute_text.h"
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"

namespace polyte::graph {

void TriluAttributes::print(AttributeText& text) const { text.add("k", k).add("upper", upper); }

Types infer_trilu(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 1, 1)) return *no;
  if (auto no = expect_rank_at_least(graph, node, 0, 2)) return *no;
  return std::vector{input_type(graph, node, 0)};
}

void expand_trilu(Expander& expander, const Node& node) {
  const TriluAttributes trilu = std::get<TriluAttributes>(node.attributes);
  expander.define(node.outputs[0], [&expander, &node, trilu](const Subscripts& at) {
    const ir::Expr x = expander.read(node.inputs[0], at);
    // Upper keeps column - row >= k, lower column - row <= k: a larger k lies further to the right.
    const ir::Expr diagonal = ir::make_index(at[at.size() - 1] - at[at.size() - 2]);
    const ir::Expr bound = ir::make_int(DType::I64, trilu.k);
    const ir::Expr kept = trilu.upper ? ir::make_binary(ir::BinaryOp::Le, bound, diagonal)
                                      : ir::make_binary(ir::BinaryOp::Le, diagonal, bound);
    return ir::make_select(kept, x, ir::make_literal(x->type, 0));
  });
}

}  // namespace polyte::graph
