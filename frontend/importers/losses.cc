// The two loss operators: the score of the right class, gathered, weighted, and averaged or summed.
#include "frontend/importers/build.h"
#include "frontend/importers/table.h"

namespace polyte::frontend {

namespace {

Dims all_axes(NodeContext& c, ValueId x) {
  Dims axes;
  for (std::int64_t d = 0; d < c.rank(x); ++d) axes.push_back(d);
  return axes;
}

// -weight[target] * log_probability[n, target, ...]; targets that are to be ignored weigh nothing.
// Their labels may be no class at all, and are read as class 0. The mean is a weighted one:
//
//    sum of weight[target] * loss  /  sum of weight[target]
void finish_loss(NodeContext& c, ValueId log_probability, ValueId target, ValueId class_weight) {
  const Build b(c);
  const std::string reduction = c.text("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    throw Invalid{"reduction is '" + reduction + "', expected none, sum or mean"};
  const Dims scores = c.type(log_probability).shape, labels = c.type(target).shape;
  Dims expected = scores;
  // Scores are [N, C, d1, ..], labels [N, d1, ..]: the classes are dimension 1.
  if (expected.size() > 1) expected.erase(expected.begin() + 1);
  if (scores.size() < 2 || labels != expected)
    throw Invalid{"labels have shape " + dims_text(labels) + ", the scores " + dims_text(scores)};
  const DType type = c.type(log_probability).dtype;
  if (!is_integer(c.type(target).dtype)) throw Invalid{"labels are no integers"};
  ValueId index = c.cast(target, DType::I64), weight = graph::kNoValue;
  ValueId ignored = graph::kNoValue;
  if (c.has_attribute("ignore_index")) {
    ignored = b.equal(index, b.scalar(DType::I64, static_cast<double>(c.integer("ignore_index"))));
    index = b.where(ignored, b.scalar(DType::I64, 0), index);
  }
  if (class_weight != graph::kNoValue) {
    if (c.type(class_weight).shape != Dims{scores[1]})
      throw Invalid{"weights have shape " + dims_text(c.type(class_weight).shape) + ", expected " +
                    dims_text({scores[1]})};
    weight = b.gather(class_weight, 0, index);
  }
  if (ignored != graph::kNoValue) {
    const ValueId one = b.scalar(type, 1);
    weight = b.where(ignored, b.scalar(type, 0), weight == graph::kNoValue ? one : weight);
  }
  // GatherElements takes indices of the scores' rank: the class axis comes back with extent 1.
  Dims column = labels;
  column.insert(column.begin() + 1, 1);
  const ValueId picked = c.reshape(c.emit(OpKind::GatherElements, graph::AxisAttributes{1},
                                          {log_probability, c.reshape(index, column)}),
                                   labels);
  ValueId loss = b.unary(OpKind::Neg, picked);
  if (weight != graph::kNoValue) loss = b.mul(loss, weight);
  const Dims all = all_axes(c, loss);
  if (reduction == "none") return c.finish_output(0, loss);
  if (reduction == "sum")
    return c.finish_output(0, OpKind::ReduceSum, graph::ReduceAttributes{all, false}, {loss});
  if (weight == graph::kNoValue)
    return c.finish_output(0, OpKind::ReduceMean, graph::ReduceAttributes{all, false}, {loss});
  const ValueId total = b.reduce(OpKind::ReduceSum, loss, all, false);
  c.finish_output(0, OpKind::Div, graph::NoAttributes{},
                  {total, b.reduce(OpKind::ReduceSum, weight, all, false)});
}

}  // namespace

static void import_nll_loss(NodeContext& c) {
  finish_loss(c, c.input(0), c.input(1), c.optional_input(2));
}

static void import_softmax_loss(NodeContext& c) {
  if (c.rank(c.input(0)) < 2)
    throw Invalid{"input 0 has shape " + dims_text(c.type(c.input(0)).shape) +
                  ", expected rank 2 or more"};
  const ValueId log_probability =
      c.emit(OpKind::LogSoftmax, graph::SoftmaxAttributes{1, 2}, {c.input(0)});
  finish_loss(c, log_probability, c.input(1), c.optional_input(2));
  if (c.wants_output(1)) c.finish_output(1, log_probability);
}

Rows losses_rows() {
  static constexpr Row kRows[] = {
      {"NegativeLogLikelihoodLoss", 12, import_nll_loss},
      {"SoftmaxCrossEntropyLoss", 12, import_softmax_loss},
  };
  return kRows;
}

}  // namespace polyte::frontend
