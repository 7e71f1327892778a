#include "lower/trace_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "support/error.h"

namespace polyte::lower {

using ir::Event;
using Point = std::vector<std::int64_t>;
using Sources = std::vector<int>;  // sorted: what a value was made from, by number in Known

namespace {

struct Cell {
  std::string buffer;
  Point index;
  auto operator<=>(const Cell&) const = default;
};

std::string list(const Point& point) {
  std::string text;
  for (std::size_t i = 0; i < point.size(); ++i) text += (i ? ", " : "") + std::to_string(point[i]);
  return text;
}

// Where a value comes from: an instance, an element of an input (`updates` -1), or the first `updates` updates of a
// reduction's element.
struct Source {
  std::string name;
  Point at;
  int updates = 0;
  auto operator<=>(const Source&) const = default;
  std::string text() const {
    if (updates < 0) return "input " + name + "[" + list(at) + "]";
    if (updates == 0) return name + "(" + list(at) + ")";
    return std::to_string(updates) + " updates of " + name + " at [" + list(at) + "]";
  }
};

// Numbers of sources, the same for both executions.
class Known {
 public:
  int number(const Source& source) {
    const auto [at, is_new] = numbers_.emplace(source, static_cast<int>(sources_.size()));
    if (is_new) sources_.push_back(source);
    return at->second;
  }
  const Source& operator[](int number) const { return sources_[static_cast<std::size_t>(number)]; }

 private:
  std::map<Source, int> numbers_;
  std::vector<Source> sources_;
};

void unite(Sources& into, const Sources& more) {
  Sources all;
  std::set_union(into.begin(), into.end(), more.begin(), more.end(), std::back_inserter(all));
  into = std::move(all);
}

struct Instance {
  Sources reads;
  Cell written;  // the first write
};

// Follows values through one execution.
class Follower {
 public:
  Follower(const ir::Program& program, const TraceOptions& options, Known& known) : known_(known) {
    for (const ir::Buffer* buffer : program.interface())
      if (buffer->role != ir::Role::Out) inputs_.insert(buffer->name);
    for (const ir::Statement& s : program.statements)
      if (options.any_order_of_sums && s.combiner != ir::Combiner::None) chains_.insert(s.name);
  }

  const Sources& of(const Cell& cell) {
    const auto [at, is_new] = cells_.try_emplace(cell);
    if (is_new && inputs_.count(cell.buffer) > 0) at->second = {known_.number({cell.buffer, cell.index, -1})};
    return at->second;
  }
  void set(const Cell& cell, Sources sources) { cells_[cell] = std::move(sources); }

  Sources reads_of(const Event& event, int lane) {
    Sources all;
    for (const Event::Cell& cell : event.cells)
      if (!cell.write && (cell.lane < 0 || cell.lane == lane)) unite(all, of({cell.buffer, cell.index}));
    return all;
  }

  // What the instance leaves in the elements it writes. Updates in any order: only how many there were counts, and
  // their own element, which holds `own`, does not count as read. `start` receives what the first one finds there.
  int result_of(const std::string& statement, const Point& instance, const Cell& written, const Sources& own,
                Sources& reads, const Sources** start) {
    if (chains_.count(statement) == 0) return known_.number({statement, instance, 0});
    int before = 0;
    const auto is_update = [&](int number) {
      const Source& source = known_[number];
      return source.updates > 0 && source.name == statement && source.at == written.index;
    };
    for (const int number : own)
      if (is_update(number)) before = std::max(before, known_[number].updates);
    if (before == 0) *start = &own;
    std::erase_if(reads, [&](int number) { return is_update(number) || std::ranges::binary_search(own, number); });
    return known_.number({statement, written.index, before + 1});
  }

 private:
  Known& known_;
  std::set<std::string> inputs_, chains_;
  std::map<Cell, Sources> cells_;
};

}  // namespace

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
  struct Stored {
    std::string buffer;
    int result = 0;
  };
  std::map<const std::pair<std::string, Point>*, Stored>
      stored_;                          // instances whose first store was the last; looked up
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
    seen_.insert(known->first);
    const Sources own = own_of(event, lane);
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
