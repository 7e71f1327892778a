// Normalisations, for inference.
#include "frontend/importers/table.h"

namespace polyte::frontend {

namespace {

void finish_batch_norm(NodeContext& c) {
  const double epsilon = c.real("epsilon", 1e-5);
  c.ignore("momentum");
  c.finish(OpKind::BatchNormalization, graph::NormAttributes{epsilon, 0},
           {c.input(0), c.input(1), c.input(2), c.input(3), c.input(4)});
}

void refuse_training_outputs(NodeContext& c) {
  if (c.output_count() > 1)
    throw Unsupported{"has " + std::to_string(c.output_count()) +
                      " outputs, those of training: supported is inference, with one"};
}

void refuse_per_element_statistics(NodeContext& c) {
  if (!c.flag("spatial", true)) throw Unsupported{"attribute 'spatial' is 0: supported are statistics a channel"};
}

}  // namespace

void import_batch_norm_6(NodeContext& c) {
  if (!c.flag("is_test", false)) throw Unsupported{"is_test is 0: supported is inference"};
  refuse_per_element_statistics(c);
  refuse_training_outputs(c);
  finish_batch_norm(c);
}

void import_batch_norm_7(NodeContext& c) {
  if (c.opset() < 9) refuse_per_element_statistics(c);
  refuse_training_outputs(c);
  finish_batch_norm(c);
}

void import_batch_norm_14(NodeContext& c) {
  if (c.flag("training_mode", false)) throw Unsupported{"training_mode is 1: supported is inference"};
  refuse_training_outputs(c);
  finish_batch_norm(c);
}

void import_instance_norm(NodeContext& c) {
  c.finish(OpKind::InstanceNormalization, graph::NormAttributes{c.real("epsilon", 1e-5), 0},
           {c.input(0), c.input(1), c.input(2)});
}

void import_layer_norm(NodeContext& c) {
  const std::int64_t stash = c.integer("stash_type", 1);
  if (stash != 1) throw Unsupported{"stash_type is " + std::to_string(stash) + ", expected 1 (FLOAT)"};
  const std::int64_t axis = c.axis("axis", -1, c.rank(c.input(0)));
  c.finish(OpKind::LayerNormalization, graph::NormAttributes{c.real("epsilon", 1e-5), axis},
           {c.input(0), c.input(1), c.optional_input(2)});
}

void import_lrn(NodeContext& c) {
  c.finish(OpKind::LRN,
           graph::LrnAttributes{c.real("alpha", 1e-4), c.real("beta", 0.75), c.real("bias", 1), c.integer("size")},
           {c.input(0)});
}

// (x - mean) / sqrt(mean of (x - mean)^2), with the specification's small constant under it.
void import_mean_variance_normalization(NodeContext& c) {
  const ValueId x = c.input(0);
  graph::ReduceAttributes reduce{{}, true};
  for (std::int64_t axis : c.integers("axes").value_or(Dims{0, 2, 3}))
    reduce.axes.push_back(NodeContext::resolve_axis(axis, c.rank(x)));
  const graph::NoAttributes none;
  const ValueId mean = c.emit(OpKind::ReduceMean, reduce, {x});
  const ValueId centred = c.emit(OpKind::Sub, none, {x, mean});
  const ValueId variance = c.emit(OpKind::ReduceMean, reduce, {c.emit(OpKind::Mul, none, {centred, centred})});
  const ValueId epsilon = c.add_constant(graph::make_scalar(c.type(x).dtype, 1e-9));
  const ValueId deviation = c.emit(OpKind::Add, none, {c.emit(OpKind::Sqrt, none, {variance}), epsilon});
  c.finish(OpKind::Div, none, {centred, deviation});
}

}  // namespace polyte::frontend
