#include "lower/trace_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "lower/trace_follower.h"
#include "schedule/language/contract.h"
#include "support/error.h"

namespace polyte::lower {

using ir::Event;

struct ReferenceTrace::Impl {
  Impl(const ir::Program& p, ir::Environment in, TraceOptions o)
      : program(p), inputs(std::move(in)), options(o), follower(program, options, known) {
    expected = inputs;
    ir::InterpretOptions interpret_options;
    interpret_options.on_event = [&](const Event& event) { see(event); };
    ir::interpret(program, expected, interpret_options);
  }

  const ir::Program& program;
  ir::Environment inputs, expected;
  TraceOptions options;
  mutable Known known;
  mutable Follower follower;
  std::map<std::pair<std::string, Point>, Instance> instances;
  // What the first update of an element finds there; several where a region sums anew in each iteration.
  std::map<std::pair<std::string, Point>, std::set<Sources>> starts;

 private:
  void see(const Event& event) {
    Instance instance{follower.reads_of(event, 0), {}};
    for (auto cell = event.cells.rbegin(); cell != event.cells.rend() && cell->write; ++cell)
      instance.written = {cell->buffer, cell->index};
    const Sources own = follower.of(instance.written);
    const Sources* start = nullptr;
    const int result =
        follower.result_of(*event.statement, event.instance, instance.written, own, instance.reads, &start);
    if (start != nullptr) starts[{*event.statement, instance.written.index}].insert(*start);
    for (const Event::Cell& cell : event.cells)
      if (cell.write) follower.set({cell.buffer, cell.index}, {result});
    instances[{*event.statement, event.instance}] = std::move(instance);
  }
};

namespace {

class Comparison {
 public:
  Comparison(const ReferenceTrace::Impl& reference, const std::set<std::string>& padded)
      : reference_(reference), padded_(padded), follower_(reference.program, reference.options, reference.known) {}

  std::vector<TraceFault> run(const ir::LoopProgram& packing, const ir::LoopProgram& loops) {
    ir::InterpretOptions options;
    options.max_steps = reference_.options.max_steps;
    options.on_event = [&](const Event& event) { see(event); };
    ir::Environment buffers = reference_.inputs;
    try {
      pack(packing, buffers, options);
      ir::interpret(loops, buffers, options);
    } catch (const UserError& error) {
      report(TraceFault::Kind::Fault, error.what());
      return faults_;
    }
    check_coverage();
    check_outputs(buffers);
    return faults_;
  }

 private:
  const ReferenceTrace::Impl& reference_;
  const std::set<std::string>& padded_;
  Follower follower_;
  std::set<std::pair<std::string, Point>> seen_;
  std::map<std::pair<std::string, Point>, Point> last_;  // of the updates of an element that keep their order
  struct Stored {
    std::string buffer;
    int result = 0;
  };
  std::map<const std::pair<std::string, Point>*, Stored>
      stored_;                          // instances whose first store was the last; looked up
  std::set<int> spare_;                 // what spare lanes left
  std::set<std::string> not_followed_;  // statements whose lanes have no known instances
  std::map<TraceFault::Kind, std::size_t> counts_;
  std::vector<TraceFault> faults_;

  void report(TraceFault::Kind kind, const std::string& text) {
    if (counts_[kind]++ < reference_.options.max_faults) faults_.push_back({kind, text});
  }

  static void pack(const ir::LoopProgram& packing, ir::Environment& buffers, const ir::InterpretOptions& options) {
    if (packing.buffers.empty()) return;
    ir::Environment constants;
    for (const ir::Buffer& buffer : packing.buffers)
      if (auto it = buffers.find(buffer.name); it != buffers.end()) constants.insert(*it);
    ir::interpret(packing, constants, options);
    for (auto& [name, contents] : constants) buffers.try_emplace(name, contents);
  }

  // All lanes read before any writes.
  void see(const Event& event) {
    std::vector<Sources> results;
    for (int lane = 0; lane < event.lanes; ++lane) results.push_back(result_of(event, lane));
    for (const Event::Cell& cell : event.cells)
      if (cell.write)
        follower_.set({cell.buffer, cell.index}, results[static_cast<std::size_t>(std::max(cell.lane, 0))]);
  }

  static std::string written_buffer(const Event& event) {
    return event.cells.empty() || !event.cells.back().write ? "" : event.cells.back().buffer;
  }

  // What the element that a lane writes holds.
  Sources own_of(const Event& event, int lane) {
    for (const Event::Cell& cell : event.cells)
      if (cell.write && (cell.lane < 0 || cell.lane == lane)) return follower_.of({cell.buffer, cell.index});
    return {};
  }

  void check_start(const std::string& statement, const Point& element, const Sources& start) {
    const auto expected = reference_.starts.find({statement, element});
    if (expected != reference_.starts.end() && expected->second.contains(start)) return;
    report(TraceFault::Kind::Order,
           "the first " + statement + " of element [" + list(element) + "] finds what " + text_of(start) + " left");
  }

  // Updates of an element that differ in no iterator over which terms may change places come in order.
  void check_place(const std::pair<std::string, Point>& instance, const Point& element) {
    const auto free = reference_.options.any_order.find(instance.first);
    if (free == reference_.options.any_order.end()) return;
    const auto& iterators = reference_.program.statement(instance.first).iterators;
    Point place = element;
    for (std::size_t i = 0; i < iterators.size(); ++i)
      if (free->second.contains(iterators[i])) place.push_back(instance.second[i]);
    const auto last = last_.try_emplace({instance.first, place}, instance.second).first;
    if (instance.second < last->second)
      report(TraceFault::Kind::Order, instance.first + "(" + list(instance.second) + ") runs after " + instance.first +
                                          "(" + list(last->second) + "), and their order may not change");
    last->second = instance.second;
  }

  // An instance that writes two elements is two stores (other lanes' may be between them): the second may read what
  // the first wrote. The result of the first, once.
  std::optional<int> first_store(const std::pair<std::string, Point>& instance, const Event& event, int result) {
    const std::string buffer = event.cells.empty() || !event.cells.back().write ? "" : event.cells.back().buffer;
    const auto [open, is_new] = stored_.try_emplace(&instance, Stored{buffer, result});
    if (is_new) return std::nullopt;
    const Stored first = std::exchange(open->second, Stored{buffer, result});
    if (first.buffer == buffer) return std::nullopt;
    stored_.erase(open);
    return first.result;
  }

  // A lane past the last iteration that fills a place of its own in a private buffer: masks are dropped there. Who
  // reads what it leaves is told by the order.
  bool is_spare(const Event& event, int lane) const {
    return event.lanes > 1 && std::none_of(event.cells.begin(), event.cells.end(), [&](const Event::Cell& cell) {
             return cell.write && (cell.lane < 0 || cell.lane == lane) && reference_.program.find_buffer(cell.buffer);
           });
  }

  // A spare lane may have the number of an instance that runs later, in a tile that begins there: its own place holds
  // nothing to go on from, or what such lanes left. The instance itself is yet to be seen.
  bool is_early(const std::pair<std::string, Point>& update, const Sources& own) const {
    const auto expected = reference_.starts.find(update);
    return expected != reference_.starts.end() && !expected->second.contains(Sources{}) &&
           std::ranges::all_of(own, [&](int source) { return spare_.contains(source); });
  }

  Sources result_of(const Event& event, int lane) {
    Sources reads = follower_.reads_of(event, lane);
    if (event.statement->empty()) return reads;
    if (event.lanes > 1 && event.strides.empty() && !event.instance.empty()) not_followed_.insert(*event.statement);
    Point instance = event.instance;
    for (std::size_t i = 0; i < event.strides.size(); ++i) instance[i] += lane * event.strides[i];
    const auto known = reference_.instances.find({*event.statement, instance});
    const std::string shown = *event.statement + "(" + list(instance) + ")";
    if (known == reference_.instances.end()) {
      if (!is_spare(event, lane) && !padded_.contains(*event.statement))
        report(TraceFault::Kind::Coverage, shown + " runs, which the reference does not");
      return {reference_.known.number({*event.statement, instance, 0})};
    }
    const Sources own = own_of(event, lane);
    if (is_spare(event, lane) && is_early({*event.statement, known->second.written.index}, own)) {
      const int left = reference_.known.number({*event.statement, instance, 0});
      spare_.insert(left);
      return {left};
    }
    seen_.insert(known->first);
    check_place(known->first, known->second.written.index);
    const Sources* start = nullptr;
    int result = follower_.result_of(*event.statement, instance, known->second.written, own, reads, &start);
    if (const auto first = first_store(known->first, event, result)) {
      result = *first;
      std::erase(reads, result);
    } else if (start != nullptr) {
      check_start(*event.statement, known->second.written.index, *start);
    }
    for (const int source : reads)
      if (!std::binary_search(known->second.reads.begin(), known->second.reads.end(), source))
        report(TraceFault::Kind::Order, shown + " reads what " + reference_.known[source].text() +
                                            " left; the reference reads " + text_of(known->second.reads));
    return {result};
  }

  std::string text_of(const Sources& sources) const {
    std::string text;
    for (const int source : sources) text += (text.empty() ? "" : ", ") + reference_.known[source].text();
    return text.empty() ? "nothing" : text;
  }

  // Instances of the reference whose values reach an output.
  std::set<std::pair<std::string, Point>> needed() const {
    std::map<std::pair<std::string, Point>, std::vector<Point>> updates;
    for (const auto& [key, instance] : reference_.instances)
      updates[{key.first, instance.written.index}].push_back(key.second);
    std::set<std::pair<std::string, Point>> result;
    std::vector<int> open;
    for (const auto& [key, instance] : reference_.instances) {
      if (reference_.program.buffer(instance.written.buffer).role == ir::Role::Temp) continue;
      result.insert(key);
      open.insert(open.end(), instance.reads.begin(), instance.reads.end());
    }
    while (!open.empty()) {
      const Source source = reference_.known[open.back()];
      open.pop_back();
      std::vector<Point> points;
      if (source.updates == 0) points = {source.at};
      if (source.updates > 0) points = updates[{source.name, source.at}];
      for (const Point& point : points) {
        const auto instance = reference_.instances.find({source.name, point});
        if (instance == reference_.instances.end() || !result.insert(instance->first).second) continue;
        open.insert(open.end(), instance->second.reads.begin(), instance->second.reads.end());
      }
    }
    return result;
  }

  void check_coverage() {
    for (const auto& key : needed())
      if (seen_.count(key) == 0 && not_followed_.count(key.first) == 0)
        report(TraceFault::Kind::Coverage, key.first + "(" + list(key.second) + ") never runs");
  }

  void check_outputs(const ir::Environment& buffers) {
    for (const ir::Buffer* buffer : reference_.program.interface()) {
      if (buffer->role != ir::Role::Out && buffer->role != ir::Role::InOut) continue;
      const ir::Contents &expected = reference_.expected.at(buffer->name), &got = buffers.at(buffer->name);
      Point index(expected.shape.size(), 0);
      const auto width = static_cast<std::size_t>(size_in_bytes(expected.dtype));
      for (std::size_t at = 0; at * width < expected.bytes.size(); ++at, advance(index, expected.shape)) {
        const auto begin = expected.bytes.begin() + static_cast<std::ptrdiff_t>(at * width);
        const bool same = std::equal(begin, begin + static_cast<std::ptrdiff_t>(width),
                                     got.bytes.begin() + static_cast<std::ptrdiff_t>(at * width));
        const std::string shown = buffer->name + "[" + list(index) + "]";
        if (!same && !both_nan(expected, got, static_cast<std::int64_t>(at)))
          report(TraceFault::Kind::Values,
                 shown + " is " + number(got, at) + ", in the reference " + number(expected, at));
        check_source(shown, {buffer->name, index});
      }
    }
  }

  void check_source(const std::string& shown, const Cell& cell) {
    const Sources &expected = reference_.follower.of(cell), &got = follower_.of(cell);
    if (not_followed_.empty() && got != expected)
      report(TraceFault::Kind::Order,
             shown + " is what " + text_of(got) + " left; in the reference " + text_of(expected));
  }

  static void advance(Point& index, const Point& shape) {
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) return;
      index[d] = 0;
    }
  }
  static bool both_nan(const ir::Contents& a, const ir::Contents& b, std::int64_t at) {
    return is_float(a.dtype) && std::isnan(ir::get_real(a, at)) && std::isnan(ir::get_real(b, at));
  }
  static std::string number(const ir::Contents& contents, std::size_t at) {
    return std::to_string(ir::get_real(contents, static_cast<std::int64_t>(at)));
  }
};

}  // namespace

std::string to_string(TraceFault::Kind kind) {
  switch (kind) {
    case TraceFault::Kind::Coverage:
      return "coverage";
    case TraceFault::Kind::Order:
      return "order";
    case TraceFault::Kind::Values:
      return "values";
    case TraceFault::Kind::Fault:
      return "fault";
  }
  return "";
}

ReferenceTrace::ReferenceTrace(const ir::Program& program, ir::Environment inputs, TraceOptions options)
    : impl_(std::make_unique<Impl>(program, std::move(inputs), options)) {}
ReferenceTrace::~ReferenceTrace() = default;
ReferenceTrace::ReferenceTrace(ReferenceTrace&&) noexcept = default;

// What is computed several times has to come in order where terms of some iterators have to: nothing else would tell
// its sums apart.
std::map<std::string, std::set<std::string>> reorderable_updates(const schedule::State& state) {
  std::map<std::string, std::set<std::string>> result;
  for (const ir::Statement& s : state.basis->statements)
    if (s.combiner != ir::Combiner::None) result[s.name] = schedule::reorderable_iterators(state, s);
  for (const schedule::ScheduledStatement& s : state.statements) {
    const auto at = result.find(s.reference);
    if (at != result.end() && s.lifted > 0 && !state.may_reorder(state.basis->statement(s.reference))) result.erase(at);
  }
  std::erase_if(result, [](const auto& entry) { return entry.second.empty(); });
  return result;
}

std::set<std::string> padded_statements(const schedule::State& state) {
  std::set<std::string> names;
  for (const schedule::ScheduledStatement& s : state.statements)
    if (s.padded) names.insert(s.reference);
  return names;
}

std::vector<TraceFault> compare_traces(const ReferenceTrace& reference, const ir::LoopProgram& packing,
                                       const ir::LoopProgram& loops, const std::set<std::string>& padded) {
  return Comparison(reference.impl(), padded).run(packing, loops);
}

}  // namespace polyte::lower
