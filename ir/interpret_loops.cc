// interpret(LoopProgram): executes the loops as written, in any form, and checks bounds,
// initialisation and races (race_check.h). Names are resolved to slots first; nothing else is
// shared with `lower` or `codegen`.
//
// Threads of a GPU: iteration i of a loop of threads is thread i of its block, iteration (i, j)
// of warps and lanes thread 32 i + j, everything else thread 0. A register belongs to the thread
// that wrote it first, since its allocation; another thread that writes it is a fault, and one of
// another warp that reads it.
#include <algorithm>

#include "ir/interpret.h"
#include "ir/race_check.h"
#include "ir/resolved_loops.h"
#include "ir/views.h"

namespace polyte::ir {
namespace {

using namespace resolved;

// --- executing -----------------------------------------------------------------------------------

class LoopMachine {
 public:
  LoopMachine(Resolver& resolver, const InterpretOptions& options)
      : buffers_(resolver.buffers), options_(options), races_(resolver.race_depth) {
    slots_.resize(resolver.symbols.size());
    for (const auto& [name, value] : options.sizes) {
      const auto known = resolver.symbols.find(name);
      if (known != resolver.symbols.end()) slots_[static_cast<std::size_t>(known->second)] = value;
    }
  }

  void run(Steps& steps) {
    for (Step& step : steps) {
      switch (step.kind) {
        case Step::DoStore:
          store(step);
          break;
        case Step::DoFor:
          loop(step);
          break;
        case Step::DoIf:
          branch(step);
          break;
        case Step::DoAlloc:
          allocate(step);
          break;
        case Step::DoNothing:
          break;
      }
    }
  }

 private:
  std::vector<Cells>& buffers_;
  const InterpretOptions& options_;
  Races races_;
  std::vector<std::int64_t> slots_;
  std::int64_t executed_ = 0;
  std::int64_t thread_ = 0;
  const Step* current_ = nullptr;
  Event event_;
  int first_lane_ = 0;               // of those of a vector that run; the event counts from it
  std::vector<Event::Cell> guards_;  // what the run-time guards around this statement have read
  // Of a statement that may do so: lanes that have read what was never written; else empty.
  std::vector<char> undefined_;

  // "acc.update(3, 0)", or the buffer of a copy
  std::string where() const {
    if (!current_) return "a condition";
    if (current_->origin->statement.empty())
      return "a copy to '" + buffers_[static_cast<std::size_t>(current_->access.buffer)].name + "'";
    std::string text;
    for (const Linear& value : current_->instance)
      text += (text.empty() ? "" : ", ") + std::to_string(value.at(slots_));
    return current_->origin->statement + "(" + text + ")";
  }

  static std::string element(const Cells& cells, std::int64_t position, std::size_t subscripts) {
    if (cells.copies > 1) position %= cells.size;
    if (subscripts != cells.shape.size()) return cells.name + "[" + std::to_string(position) + "]";
    std::string text;
    for (std::size_t d = cells.shape.size(); d-- > 0; position /= cells.shape[d])
      text = std::to_string(position % cells.shape[d]) + (text.empty() ? "" : ", ") + text;
    return cells.name + "[" + text + "]";
  }

  void count_step() {
    if (options_.max_steps && ++executed_ > options_.max_steps)
      throw UserError(ExitStatus::ResourceLimit, "interpretation stopped after " +
                                                     std::to_string(options_.max_steps) + " steps");
  }

  // --- statements

  void loop(Step& step) {
    std::int64_t begin = step.lower[0].at(slots_), end = step.upper[0].at(slots_);
    for (const Linear& bound : step.lower) begin = std::max(begin, bound.at(slots_));
    for (const Linear& bound : step.upper) end = std::min(end, bound.at(slots_));
    if (step.races) races_.begin_loop();
    const std::int64_t outside = thread_;
    for (std::int64_t i = begin; i < end; ++i) {
      slots_[static_cast<std::size_t>(step.slot)] = i;
      if (step.races) races_.begin_iteration(i);
      if (is_of_threads(step.loop_kind))
        thread_ = outside + i * (step.loop_kind == LoopKind::Warp ? kLanes : 1);
      count_step();
      run(step.body);
    }
    thread_ = outside;
    if (step.races) races_.end_loop();
  }

  bool all_hold(const std::vector<Test>& tests) const {
    return std::ranges::all_of(tests, [&](const Test& t) { return t.holds(slots_); });
  }

  void branch(Step& step) {
    if (!all_hold(step.tests)) return;
    current_ = nullptr;
    if (step.value.empty()) return run(step.body);
    event_.cells.clear();
    if (evaluate_defined(step.value[0])[0].integer == 0) return;
    const std::size_t outside = guards_.size();
    guards_.insert(guards_.end(), event_.cells.begin(), event_.cells.end());
    run(step.body);
    guards_.resize(outside);
  }

  // 0xA5 and not 0: code that relies on zeroed memory shows. An allocation in a loop begins anew in
  // each iteration, with nothing written, no owners and no records of races.
  void allocate(Step& step) {
    Cells& cells = buffers_[static_cast<std::size_t>(step.buffer)];
    cells.unit = step.of_lanes ? kLanes : 1;
    cells.copies = step.of_each_thread ? kMostThreads / cells.unit : 1;
    const std::int64_t elements = cells.size * cells.copies;
    cells.own.assign(static_cast<std::size_t>(elements * size_in_bytes(cells.dtype)),
                     std::byte{0xA5});
    cells.bytes = cells.own.data();
    cells.contents.assign(static_cast<std::size_t>(std::max<std::int64_t>(elements, 1)),
                          Content::None);
    cells.records.clear();
    cells.owners.assign(step.of_threads ? cells.contents.size() : 0, -1);
    cells.first_level = races_.depth();
    run(step.body);
  }

  // All lanes of the value are computed before any is stored, as a vector store has it.
  void store(Step& step) {
    count_step();
    current_ = &step;
    if (options_.on_event) begin_event(step);
    Cells& cells = buffers_[static_cast<std::size_t>(step.access.buffer)];
    begin_undefined(step, cells);
    const std::vector<Scalar>& value = evaluate(step.value[0]);
    for_each_lane(step.access, [&](int lane, std::int64_t position) {
      touch_write(cells, position, step,
                  undefined_.empty() || !undefined_[static_cast<std::size_t>(lane)]);
      arithmetic::store(cells.dtype, cells.bytes + position * size_in_bytes(cells.dtype),
                        value[static_cast<std::size_t>(lane)]);
      if (options_.on_event) note(cells, position, true, step.access.lanes > 1 ? lane : -1);
    });
    if (options_.on_event) options_.on_event(event_);
  }

  // A copy moves what was never written as such: it may copy more than is used. So does what
  // computes a vector of registers: of a tile that a diagonal cuts all lanes are computed.
  void begin_undefined(const Step& step, const Cells& cells) {
    const auto& value = step.value[0].source->op;
    const bool moves =
        std::holds_alternative<Load>(value) || std::holds_alternative<LaneRead>(value);
    const bool is_copy = step.origin->statement.empty() && moves && !cells.contents.empty();
    undefined_.assign(is_copy || step.may_be_undefined ? step.value[0].value.size() : 0, 0);
  }

  std::vector<std::int64_t> instance_of(const Step& step) const {
    std::vector<std::int64_t> instance;
    for (const Linear& value : step.instance) instance.push_back(value.at(slots_));
    return instance;
  }

  void begin_event(const Step& step) {
    event_.statement = &step.origin->statement;
    event_.strides = step.origin->strides;
    const auto [begin, end] = lanes_that_run(step.access);
    first_lane_ = static_cast<int>(begin);
    event_.lanes = static_cast<int>(end - begin);
    event_.is_vector = step.access.lanes > 1;
    event_.of_lanes.clear();
    if (step.lane_slot >= 0)
      for (std::int64_t lane = begin; lane < end; ++lane) {
        slots_[static_cast<std::size_t>(step.lane_slot)] = lane;
        event_.of_lanes.push_back(instance_of(step));
      }
    event_.instance = event_.of_lanes.empty() ? instance_of(step) : event_.of_lanes.front();
    for (std::size_t i = 0; i < event_.strides.size(); ++i)
      event_.instance[i] += begin * event_.strides[i];
    event_.cells = guards_;
  }

  void note(const Cells& cells, std::int64_t position, bool write, int lane) {
    if (lane >= 0 && lane < first_lane_) return;
    if (lane >= 0) lane -= first_lane_;
    Event::Cell cell{cells.name, {position}, write, 0, lane, position, false};
    if (const auto& shape = cells.noted.empty() ? cells.shape : cells.noted; !shape.empty()) {
      cell.index.assign(shape.size(), 0);
      std::int64_t rest = position;
      for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) cell.index[d] = rest % shape[d];
    } else {
      cell.index.clear();
    }
    const Scalar value =
        arithmetic::load(cells.dtype, cells.bytes + position * size_in_bytes(cells.dtype));
    cell.value = is_float(cells.dtype) ? value.real : static_cast<double>(value.integer);
    event_.cells.push_back(std::move(cell));
  }

  // --- accesses

  // From the first to behind the last; none: the same twice.
  std::pair<std::int64_t, std::int64_t> lanes_that_run(const ResolvedAccess& access) const {
    std::int64_t begin = 0, end = access.lanes;
    if (access.active) end = std::clamp<std::int64_t>(access.active->at(slots_), 0, end);
    if (access.skipped) begin = std::clamp<std::int64_t>(access.skipped->at(slots_), 0, end);
    return {begin, end};
  }

  template <class F>
  void for_each_lane(ResolvedAccess& access, const F& f) {
    const Cells& cells = buffers_[static_cast<std::size_t>(access.buffer)];
    std::int64_t base[16];
    POLYTE_CHECK(access.subscripts.size() <= 16, "more than 16 subscripts");
    const std::vector<Scalar>* indirect[16] = {};
    for (std::size_t d = 0; d < access.subscripts.size(); ++d) {
      Subscript& s = access.subscripts[d];
      base[d] = s.affine.at(slots_);
      if (!s.indirect.empty()) indirect[d] = &evaluate_defined(s.indirect[0]);
    }
    const auto [begin, end] = lanes_that_run(access);
    POLYTE_CHECK(cells.copies == 1 || thread_ / cells.unit < cells.copies,
                 "more threads than a block has");
    const std::int64_t copy = cells.copies == 1 ? 0 : thread_ / cells.unit * cells.size;
    for (int lane = static_cast<int>(begin); lane < end; ++lane) {
      std::int64_t subscripts[16];
      for (std::size_t d = 0; d < access.subscripts.size(); ++d) {
        subscripts[d] = base[d] + lane * access.strides[d];
        if (indirect[d])
          subscripts[d] +=
              (*indirect[d])[indirect[d]->size() == 1 ? 0 : static_cast<std::size_t>(lane)].integer;
      }
      f(lane, position_of(cells, subscripts, access.subscripts.size()) + copy);
    }
  }

  std::int64_t position_of(const Cells& cells, const std::int64_t* subscripts,
                           std::size_t count) const {
    if (count != cells.shape.size()) {
      if (subscripts[0] < 0 || subscripts[0] >= cells.size) out_of_bounds(cells, subscripts, count);
      return subscripts[0];
    }
    std::int64_t position = 0;
    for (std::size_t d = 0; d < count; ++d) {
      if (subscripts[d] < 0 || subscripts[d] >= cells.shape[d])
        out_of_bounds(cells, subscripts, count);
      position = position * cells.shape[d] + subscripts[d];
    }
    return position;
  }

  [[noreturn]] void out_of_bounds(const Cells& cells, const std::int64_t* subscripts,
                                  std::size_t count) const {
    std::string text, shape;
    for (std::size_t d = 0; d < count; ++d) text += (d ? ", " : "") + std::to_string(subscripts[d]);
    for (std::size_t d = 0; d < cells.shape.size(); ++d)
      shape += (d ? ", " : "") + std::to_string(cells.shape[d]);
    fault(where() + ": " + cells.name + "[" + text + "] is outside the buffer, shape [" + shape +
          "]");
  }

  void expect_none(const std::optional<Races::Race>& race, const Cells& cells,
                   std::int64_t position, std::size_t subscripts) const {
    if (race)
      fault(where() + ": race on " + element(cells, position, subscripts) +
            ", touched in iterations " + std::to_string(race->earlier) + " and " +
            std::to_string(race->now) + " of a parallel or vector loop");
  }

  void check_owner(Cells& cells, std::int64_t position, std::size_t subscripts, bool write) const {
    if (cells.owners.empty()) return;
    std::int64_t& owner = cells.owners[static_cast<std::size_t>(position)];
    const std::int64_t own = thread_ / cells.unit;
    if (owner < 0 && write) owner = own;
    const std::int64_t together = write ? 1 : kLanes / cells.unit;
    if (owner < 0 || owner / together == own / together) return;
    const std::string unit = cells.unit == 1 ? "thread " : "warp ";
    fault(where() + ": " + unit + std::to_string(own) + (write ? " writes " : " reads ") +
          element(cells, position, subscripts) + ", a register of " + unit + std::to_string(owner));
  }

  void touch_read(Cells& cells, std::int64_t position, const ResolvedAccess& access, int lane) {
    const bool is_defined = cells.contents.empty() ||
                            cells.contents[static_cast<std::size_t>(position)] == Content::Value;
    if (!is_defined && !undefined_.empty() && access.lanes == 1)
      std::ranges::fill(undefined_, 1);
    else if (!is_defined && !undefined_.empty())
      undefined_[static_cast<std::size_t>(lane)] = 1;
    else if (!is_defined)
      fault(where() + ": reads " + element(cells, position, access.subscripts.size()) +
            ", which was never written");
    check_owner(cells, position, access.subscripts.size(), false);
    if (!is_atomic_part(access))
      expect_none(races_.read(cells, position), cells, position, access.subscripts.size());
  }

  // The read of an atomic update: its write is checked.
  bool is_atomic_part(const ResolvedAccess& access) const {
    return current_ && current_->atomic && current_->access.buffer == access.buffer;
  }

  void touch_write(Cells& cells, std::int64_t position, const Step& step, bool defined) {
    if (!cells.contents.empty())
      cells.contents[static_cast<std::size_t>(position)] =
          defined ? Content::Value : Content::UndefinedCopy;
    check_owner(cells, position, step.access.subscripts.size(), true);
    expect_none(races_.write(cells, position, step.atomic), cells, position,
                step.access.subscripts.size());
  }

  // --- expressions

  const std::vector<Scalar>& evaluate(Node& node) {
    std::visit([&](const auto& op) { compute(node, op); }, node.source->op);
    return node.value;
  }

  // A subscript or a condition: of nothing that was never written, whatever its statement may do.
  const std::vector<Scalar>& evaluate_defined(Node& node) {
    std::vector<char> outside = std::exchange(undefined_, {});
    const std::vector<Scalar>& value = evaluate(node);
    undefined_ = std::move(outside);
    return value;
  }

  // Value of lane `l` of an evaluated operand.
  static Scalar lane(const Node& node, std::size_t l) { return node.value[l]; }

  void compute(Node&, const Literal&) {}
  void compute(Node& node, const IndexValue&) {
    const std::int64_t base = node.index.at(slots_);
    for (std::size_t l = 0; l < node.value.size(); ++l)
      node.value[l] = arithmetic::cast(
          node.source->type, DType::I64,
          arithmetic::of_integer(base + static_cast<std::int64_t>(l) * node.stride));
  }
  void compute(Node& node, const Load&) {
    if (!all_hold(node.guard)) {
      node.value = evaluate(node.operands[0]);
      return;
    }
    std::ranges::fill(node.value, Scalar{});
    Cells& cells = buffers_[static_cast<std::size_t>(node.access.buffer)];
    for_each_lane(node.access, [&](int l, std::int64_t position) {
      touch_read(cells, position, node.access, l);
      node.value[static_cast<std::size_t>(l)] =
          arithmetic::load(cells.dtype, cells.bytes + position * size_in_bytes(cells.dtype));
      if (options_.on_event) note(cells, position, false, node.access.lanes > 1 ? l : -1);
    });
  }
  void compute(Node& node, const Unary& o) {
    evaluate(node.operands[0]);
    for (std::size_t l = 0; l < node.value.size(); ++l)
      node.value[l] = arithmetic::apply(o.op, node.source->type, lane(node.operands[0], l));
  }
  void compute(Node& node, const Binary& o) {
    for (Node& operand : node.operands) evaluate(operand);
    const DType type = o.a->type;
    for (std::size_t l = 0; l < node.value.size(); ++l)
      node.value[l] =
          arithmetic::apply(o.op, type, lane(node.operands[0], l), lane(node.operands[1], l));
  }
  void compute(Node& node, const Fma&) {
    for (Node& operand : node.operands) evaluate(operand);
    for (std::size_t l = 0; l < node.value.size(); ++l)
      node.value[l] = arithmetic::fma(node.source->type, lane(node.operands[0], l),
                                      lane(node.operands[1], l), lane(node.operands[2], l));
  }
  void compute(Node& node, const Select&) {
    for (Node& operand : node.operands) evaluate(operand);
    for (std::size_t l = 0; l < node.value.size(); ++l)
      node.value[l] = lane(node.operands[lane(node.operands[0], l).integer != 0 ? 1 : 2], l);
  }
  void compute(Node& node, const Cast& o) {
    evaluate(node.operands[0]);
    for (std::size_t l = 0; l < node.value.size(); ++l)
      node.value[l] = arithmetic::cast(node.source->type, o.a->type, lane(node.operands[0], l));
  }
  // The operand is evaluated as if the other lane of the same warp did it: registers of each thread
  // are copies chosen by `thread_`.
  void compute(Node& node, const LaneRead&) {
    const std::int64_t reader = thread_;
    thread_ = reader - reader % kLanes + floor_mod(node.index.at(slots_), kLanes);
    node.value = evaluate(node.operands[0]);
    thread_ = reader;
  }
  void compute(Node& node, const Broadcast&) {
    evaluate(node.operands[0]);
    std::ranges::fill(node.value, node.operands[0].value[0]);
  }
};

// An output may hold such a copy for a while: other tensors are kept in its memory, or a copy of
// more than was made comes before the rest is.
void expect_no_undefined_copy(const Cells& output) {
  const auto at = std::ranges::find(output.contents, Content::UndefinedCopy);
  if (at != output.contents.end())
    fault("output '" + output.name + "' ends with a copy of what was never written, element " +
          std::to_string(at - output.contents.begin()));
}

std::vector<std::int64_t> shape_at(const Buffer& buffer, const Values& sizes) {
  std::vector<std::int64_t> shape;
  for (const Affine& extent : buffer.shape) shape.push_back(evaluate(extent, sizes));
  return shape;
}

// The interface buffer in the environment: checked where it is an input, made where it is
// an output.
Contents& bind_interface(const Buffer& buffer, const std::vector<std::int64_t>& shape,
                         Environment& environment) {
  if (buffer.role == Role::Out || buffer.role == Role::Temp)
    return environment[buffer.name] = make_contents(buffer.dtype, shape);
  const auto given = environment.find(buffer.name);
  if (given == environment.end()) fault("buffer '" + buffer.name + "' is missing");
  if (given->second.dtype != buffer.dtype ||
      (given->second.shape != shape && !is_view_of(given->second.shape, shape)))
    fault("buffer '" + buffer.name + "' has another type or shape than declared");
  return given->second;
}

}  // namespace

void interpret(const LoopProgram& program, Environment& environment,
               const InterpretOptions& options) {
  Resolver resolver;
  resolver.check_races = options.check_races;
  for (const std::string& p : program.params) {
    if (!options.sizes.count(p)) fault("parameter '" + p + "' has no value");
    resolver.slot(p);
  }
  for (const Buffer& buffer : program.buffers) {
    const std::vector<std::int64_t> shape = shape_at(buffer, options.sizes);
    Contents& contents = bind_interface(buffer, shape, environment);
    Cells& cells = resolver.buffers[static_cast<std::size_t>(
        resolver.add_buffer(buffer.name, buffer.dtype, shape))];
    cells.bytes = contents.bytes.data();
    cells.noted = contents.shape;
    if (buffer.role == Role::Out || buffer.role == Role::InOut)
      cells.contents.assign(static_cast<std::size_t>(std::max<std::int64_t>(cells.size, 1)),
                            buffer.role == Role::Out ? Content::None : Content::Value);
  }
  Steps steps = resolver.steps(program.body, 0);
  LoopMachine(resolver, options).run(steps);
  for (const Cells& cells : resolver.buffers)
    if (cells.own.empty()) expect_no_undefined_copy(cells);
}

}  // namespace polyte::ir
