#include "driver/compile/execution_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "driver/compile/operator.h"
#include "ir/relations.h"
#include "lower/lower.h"
#include "runtime/compare.h"
#include "runtime/fill.h"
#include "schedule/proof/rounding.h"
#include "schedule/script/reuse.h"
#include "schedule/state/contract.h"

namespace polyte::driver {

namespace {

// Buffers whose elements are subscripts, and below what they must stay.
class IndexLimits {
 public:
  explicit IndexLimits(const ir::Program& program) : program_(program) {
    for (const ir::Statement& statement : program.statements) {
      for (const ir::Access& write : statement.writes) see(write.buffer, write.indices);
      for (const ir::Expr& value : statement.values) see(value);
      if (statement.guard) see(statement.guard);
    }
  }

  std::int64_t of(const std::string& buffer) const {
    auto it = limits_.find(buffer);
    return it == limits_.end() ? 0 : it->second;
  }

 private:
  const ir::Program& program_;
  std::map<std::string, std::int64_t> limits_;

  void see(const ir::Expr& value) {
    for (const ir::Load* load : ir::loads_of(value)) see(load->buffer, load->indices);
  }
  void see(const std::string& buffer, const std::vector<ir::Index>& indices) {
    const std::vector<std::int64_t> shape = ir::constant_shape(program_.buffer(buffer));
    for (std::size_t d = 0; d < indices.size(); ++d) {
      if (!indices[d].indirect) continue;
      for (const ir::Load* load : ir::loads_of(indices[d].indirect)) {
        auto [it, fresh] = limits_.try_emplace(load->buffer, shape[d]);
        it->second = std::min(it->second, shape[d]);
      }
    }
  }
};

// How far two numbers of a buffer may be apart that are rounded otherwise.
double slack_of(const ir::Contents& contents) {
  const bool is_short = size_in_bytes(contents.dtype) < 4;
  const auto count =
      static_cast<std::int64_t>(contents.bytes.size()) / size_in_bytes(contents.dtype);
  double largest = is_short ? 1 : 0.05;  // where all terms cancel, what is left of them is rounding
  for (std::int64_t i = 0; i < count; ++i)
    if (const double value = std::fabs(ir::get_real(contents, i)); std::isfinite(value))
      largest = std::max(largest, value);
  return (is_short ? 0.1 : 1e-3) * largest;
}

// The elements of a that are others than those of b.
std::vector<std::int64_t> differing(const ir::Contents& a, const ir::Contents& b) {
  const double slack = slack_of(b);
  const auto count = static_cast<std::int64_t>(a.bytes.size()) / size_in_bytes(a.dtype);
  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = ir::get_real(a, i), y = ir::get_real(b, i);
    if (std::isfinite(x) && std::isfinite(y) && std::fabs(x - y) > slack) found.push_back(i);
  }
  return found;
}

// Whether a value may jump where another one is rounded otherwise: comparisons, whole
// numbers, positions.
bool jumps(const ir::ExprNode& node) {
  if (const auto* unary = std::get_if<ir::Unary>(&node.op))
    return unary->op == ir::UnaryOp::Floor || unary->op == ir::UnaryOp::Ceil ||
           unary->op == ir::UnaryOp::Round || unary->op == ir::UnaryOp::Trunc ||
           unary->op == ir::UnaryOp::Tf32;
  if (const auto* cast = std::get_if<ir::Cast>(&node.op))
    return is_float(cast->a->type) && !is_float(node.type);
  const auto* binary = std::get_if<ir::Binary>(&node.op);
  if (!binary || !is_float(binary->a->type)) return false;
  return node.type == DType::Bool || binary->op == ir::BinaryOp::Mod;
}

bool jumps(const ir::Statement& statement) {
  // The position of a maximum.
  bool found = statement.writes.size() > 1 && is_float(statement.values.front()->type);
  const auto look = [&](const ir::Expr& e) {
    ir::for_each_node(e, [&](const ir::ExprNode& node) { found = found || jumps(node); });
  };
  for (const ir::Expr& value : statement.values) look(value);
  if (statement.guard) look(statement.guard);
  for (const ir::Access& write : statement.writes)
    for (const ir::Index& index : write.indices)
      if (index.indirect) look(index.indirect);
  return found;
}

// Buffers with values that jump, and what is computed from these, until nothing is added.
std::set<std::string> jumping_buffers(const ir::Program& program) {
  std::set<std::string> found;
  for (std::size_t before = 1; before != found.size();) {
    before = found.size();
    for (const ir::Statement& s : program.statements) {
      const bool reads_one = std::ranges::any_of(
          ir::reads_of(s), [&](const ir::Load* read) { return found.count(read->buffer) > 0; });
      if (!reads_one && !jumps(s)) continue;
      for (const ir::Access& write : s.writes) found.insert(write.buffer);
    }
  }
  return found;
}

// Inputs as they would be after a few roundings, up or down without a pattern: eight units in the
// last place of f64, f32 and f16, one of bf16.
ir::Environment jittered(const ir::Environment& inputs) {
  ir::Environment result = inputs;
  std::mt19937 random(1);
  for (auto& [name, contents] : result) {
    if (!is_float(contents.dtype)) continue;
    const double step = contents.dtype == DType::F64   ? 0x1p-49
                        : contents.dtype == DType::F32 ? 0x1p-20
                                                       : 0x1p-7;
    const auto count =
        static_cast<std::int64_t>(contents.bytes.size()) / size_in_bytes(contents.dtype);
    for (std::int64_t i = 0; i < count; ++i)
      ir::set_real(contents, i,
                   ir::get_real(contents, i) * (random() % 2 == 0 ? 1 + step : 1 - step));
  }
  return result;
}

// Whether the reference itself computes others of these elements from such inputs: then no two ways
// to round agree on them.
bool are_ill_conditioned(const ir::Program& reference, const ir::Environment& inputs,
                         const ir::InterpretOptions& limits, const ir::Contents& value,
                         const std::string& buffer, const std::vector<std::int64_t>& elements) {
  ir::Environment moved = jittered(inputs);
  ir::interpret(reference, moved, limits);
  return std::ranges::includes(differing(moved.at(buffer), value), elements);
}

// Whether a rewrite computes other bits than the Program before it.
bool rewrites_round(const schedule::State& state) {
  using Kind = schedule::Rewrite::Kind;
  return std::ranges::any_of(state.rewrites, [](const schedule::Rewrite& r) {
    return r.kind != Kind::Inline && r.kind != Kind::View && r.kind != Kind::Precompute;
  });
}

// The Program after its rewrites has other instances: only what it computes can be compared. Other
// roundings are what some rewrites are for; what they make jump is not compared, nor elements that
// roundings of the inputs change as well.
void compare_rewritten(const schedule::State& state, const ir::Environment& inputs,
                       const ExecutionOptions& options, std::vector<lower::TraceFault>& faults) {
  if (state.rewrites.empty()) return;
  using Kind = schedule::Rewrite::Kind;
  const bool keeps_bits = !rewrites_round(state);
  const bool rounds_anew = std::ranges::any_of(state.rewrites, [](const schedule::Rewrite& r) {
    return r.kind == Kind::Reciprocal || r.kind == Kind::Online ||
           r.kind == Kind::Deferred;  // small whole numbers, too
  });
  ir::Environment before = inputs, after = inputs;
  const ir::InterpretOptions limits{
      .sizes = options.sizes, .on_event = {}, .max_steps = options.max_steps};
  ir::interpret(*state.reference, before, limits);
  ir::interpret(*schedule::without_views(state).basis, after, limits);
  const std::set<std::string> jumping =
      rounds_anew ? jumping_buffers(*state.reference) : std::set<std::string>();
  for (const ir::Buffer* buffer : state.reference->interface()) {
    if (buffer->role != ir::Role::Out && buffer->role != ir::Role::InOut) continue;
    if (jumping.count(buffer->name) > 0) {
      if (options.not_compared) options.not_compared->insert(buffer->name);
      continue;
    }
    const ir::Contents &value = before.at(buffer->name), &found = after.at(buffer->name);
    const bool is_exact = keeps_bits || !is_float(buffer->dtype);
    const std::vector<std::int64_t> others =
        is_exact ? std::vector<std::int64_t>() : differing(found, value);
    if (is_exact ? found.bytes == value.bytes : others.empty()) continue;
    if (is_exact ||
        !are_ill_conditioned(*state.reference, inputs, limits, value, buffer->name, others))
      faults.push_back({lower::TraceFault::Kind::Values,
                        "the rewritten program computes another " + buffer->name});
    else if (options.not_compared)
      options.not_compared->insert("part of " + buffer->name);
  }
}

}  // namespace

ir::Environment small_integer_environment(const ir::Program& program, std::uint64_t seed) {
  const IndexLimits limits(program);
  ir::Environment buffers;
  for (const ir::Buffer* buffer : program.interface()) {
    runtime::Tensor tensor(buffer->dtype, ir::constant_shape(*buffer));
    if (buffer->role == ir::Role::Out) continue;
    runtime::fill(tensor, {runtime::Fill::Kind::Int, seed}, buffer->name);
    const std::int64_t limit = limits.of(buffer->name);
    for (std::int64_t e = 0; limit > 0 && e < tensor.elements(); ++e) {
      const double value = runtime::element_as_double(tensor.dtype(), tensor.data(), e);
      runtime::set_element_int(tensor.dtype(), tensor.data(), e,
                               static_cast<std::int64_t>(std::fabs(value)) % limit);
    }
    buffers[buffer->name] = to_contents(tensor);
  }
  return buffers;
}

namespace {

// Half of the significand's bits, in its lower half: products of two such numbers have to
// be rounded. Of f32 a multiple of 2^-21 below 2^-9, so that 1 + it is a number of f32, and the
// product of two has bits down to 2^-42.
double odd_bits(DType type, std::mt19937& random) {
  const int digits = -std::ilogb(schedule::unit_roundoff(type));
  return std::ldexp(static_cast<double>(random() % (1U << static_cast<unsigned>(digits / 2))),
                    3 - digits);
}

}  // namespace

ir::Environment adverse_environment(const ir::Program& program, std::uint64_t seed,
                                    bool keeps_rounding) {
  ir::Environment buffers = small_integer_environment(program, seed);
  if (!keeps_rounding) return buffers;
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  for (auto& [name, contents] : buffers) {
    if (!is_float(contents.dtype)) continue;
    const auto count =
        static_cast<std::int64_t>(contents.bytes.size()) / size_in_bytes(contents.dtype);
    for (std::int64_t e = 0, zeros = 0; e < count; ++e) {
      const double value = ir::get_real(contents, e);
      if (value == 0 && zeros++ % 2 == 0) ir::set_real(contents, e, -0.0);
      if (value != 0 && random() % 2 == 0)
        ir::set_real(contents, e, value * (1 + odd_bits(contents.dtype, random)));
    }
  }
  return buffers;
}

bool schedule_relaxes_rounding(const schedule::State& state) {
  return schedule::relaxes_order(state) || rewrites_round(state);
}

void run_loops(const schedule::State& state, const Machine& machine, ir::Environment& buffers,
               const ir::InterpretOptions& options) {
  const ir::LoopProgram packing = lower::lower_packing(state, {.machine = machine});
  if (!packing.buffers.empty()) {
    ir::Environment constants;
    for (const ir::Buffer& buffer : packing.buffers) {
      if (auto it = buffers.find(buffer.name); it != buffers.end()) constants.insert(*it);
    }
    ir::interpret(packing, constants, {});
    for (auto& [name, contents] : constants) buffers.try_emplace(name, contents);
  }
  ir::interpret(lower::lower(state, {.machine = machine}), buffers, options);
}

std::vector<lower::TraceFault> faults_by_execution(const schedule::State& state,
                                                   const Machine& machine,
                                                   const ir::Environment& inputs,
                                                   const ExecutionOptions& options) {
  // What was inlined has no instances any more: the rewritten Program is the reference.
  const std::shared_ptr<const ir::Program> basis = schedule::without_views(state).basis;
  const ir::Program program = options.sizes.empty() ? *basis : ir::bind(*basis, options.sizes);
  const lower::TraceOptions trace{.any_order = lower::reorderable_updates(state),
                                  .max_steps = options.max_steps};
  const lower::ReferenceTrace reference(program, inputs, trace);
  const ir::LoopProgram packing = lower::lower_packing(state, {.machine = machine});
  const std::set<std::string> padded = lower::padded_statements(state);
  const auto compare = [&](const ir::LoopProgram& loops) {
    return compare_traces(reference, packing, loops, padded, options.sizes);
  };
  std::vector<lower::TraceFault> faults =
      compare(options.nest ? *options.nest : lower::lower_to_nest(state));
  if (faults.empty())
    faults = compare(options.loops ? *options.loops : lower::lower(state, {.machine = machine}));
  if (faults.empty()) compare_rewritten(state, inputs, options, faults);
  return faults;
}

}  // namespace polyte::driver
