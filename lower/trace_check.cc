#include "lower/trace_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "lower/trace_follower.h"
#include "schedule/state/contract.h"
#include "support/error.h"

namespace polyte::lower {

using ir::Event;

namespace {

// What the reference does in one instance.
struct Instance {
  int number = -1;     // in Known; numbers grow in reference order
  Sources reads;       // an update's own reads of what it writes left out
  std::string buffer;  // of the first write
  std::int64_t element = 0;
  std::size_t writes = 0;
  int group = -1;               // of updates that may change places; -1: keeps its order
  std::vector<Sources> starts;  // a write: what its generation began with
};

struct PointHash {
  std::size_t operator()(const Point& point) const {
    std::uint64_t h = point.size();
    for (const std::int64_t i : point)
      h = (h ^ static_cast<std::uint64_t>(i)) * 0x9e3779b97f4a7c15U;
    return h ^ (h >> 31U);
  }
};
using Instances = std::unordered_map<Point, Instance, PointHash>;

// Integers of this magnitude have sums without rounding: 2^p for a type of p significant bits.
double exact_below(DType type) {
  if (!is_float(type)) return INFINITY;
  return type == DType::F64   ? 0x1p53
         : type == DType::F32 ? 0x1p24
         : type == DType::F16 ? 0x1p11
                              : 0x1p8;
}

}  // namespace

struct ReferenceTrace::Impl {
  Impl(const ir::Program& p, ir::Environment in, TraceOptions o)
      : program(p), inputs(std::move(in)), options(std::move(o)) {
    run();
  }

  const ir::Program& program;
  ir::Environment inputs, expected;
  TraceOptions options;
  mutable Known known;
  mutable std::optional<Follower> follower;
  std::map<std::string, Instances> instances;
  std::unordered_map<int, std::pair<const std::string*, const Point*>> of_number;
  bool exact = true;  // sums in another order have the same bits on these inputs

  const Instance& at(int number) const {
    const auto& [statement, point] = of_number.at(number);
    return instances.at(*statement).at(*point);
  }

 private:
  std::unordered_map<int, double> magnitudes_;  // of a generation: of all its terms together

  void run() {
    known = {};
    follower.emplace(program, known);
    instances.clear(), of_number.clear(), magnitudes_.clear();
    exact = true;
    expected = inputs;
    ir::InterpretOptions interpret_options;
    interpret_options.max_steps = options.max_steps;
    interpret_options.on_event = [&](const Event& event) { see(event); };
    ir::interpret(program, expected, interpret_options);
  }

  // The group of updates that the statement's updates may change places with: all of the same
  // combiner and buffer, or only those of this statement.
  int group_of(const ir::Statement& s) {
    const auto free = options.any_order.find(s.name);
    if (free == options.any_order.end()) return -1;
    return known.name(ir::to_string(s.combiner) + " of " + s.writes.front().buffer +
                      (free->second.with_others ? "" : " by " + s.name));
  }

  void see(const Event& event) {
    const ir::Statement& s = program.statement(*event.statement);
    Instance instance;
    std::vector<const Event::Cell*> writes;
    for (const Event::Cell& cell : event.cells)
      if (cell.write) writes.push_back(&cell);
    const auto reads_own = [&](const Event::Cell& cell) {
      return !cell.write && !cell.combined &&
             std::ranges::any_of(writes, [&](const Event::Cell* w) {
               return w->buffer == cell.buffer && w->position == cell.position;
             });
    };
    // One that reads its own element besides is no update, and keeps its order.
    instance.group = std::ranges::any_of(event.cells, reads_own) ? -1 : group_of(s);
    for (const Event::Cell& cell : event.cells)
      if (!cell.write && !(cell.combined && instance.group >= 0))
        unite(instance.reads, follower->of(cell));
    instance.number =
        known.number({Source::Kind::Instance, known.name(s.name), event.instance, {}, {}});
    instance.writes = writes.size();
    instance.buffer = writes.front()->buffer;
    instance.element = writes.front()->position;
    for (const Event::Cell* cell : writes)
      follower->set(*cell, {result_of(s, instance, *cell, event)});
    const auto entry =
        instances[s.name].insert_or_assign(event.instance, std::move(instance)).first;
    of_number[entry->second.number] = {&s.name, &entry->first};
  }

  int result_of(const ir::Statement& s, Instance& instance, const Event::Cell& cell,
                const Event& event) {
    if (instance.group < 0) return instance.number;
    const Sources own = follower->of(cell);
    const int before = generation_of(known, own, instance);
    instance.starts.push_back(before < 0 ? own : known[before].start);
    const int result =
        known.updated(instance.group, instance.element, own, before, instance.number);
    if (s.combiner == ir::Combiner::Sum || s.combiner == ir::Combiner::Product)
      weigh(s, cell, event, before, result);
    return result;
  }

  void weigh(const ir::Statement& s, const Event::Cell& cell, const Event& event, int before,
             int result) {
    const DType type = program.buffer(cell.buffer).dtype;
    if (!is_float(type)) return;
    double found = 0;
    for (const Event::Cell& other : event.cells)
      if (other.combined && other.buffer == cell.buffer) found = other.value;
    const double sum =
        (before < 0 ? std::fabs(found) : magnitudes_[before]) + std::fabs(cell.value - found);
    magnitudes_[result] = sum;
    const bool is_whole =
        std::nearbyint(cell.value) == cell.value && std::nearbyint(found) == found;
    exact = exact && s.combiner == ir::Combiner::Sum && is_whole && sum < exact_below(type);
  }

 public:
  // The number of what its element holds, where that is a generation that this update goes on with.
  static int generation_of(const Known& known, const Sources& own, const Instance& instance) {
    if (own.size() != 1) return -1;
    const Source& source = known[own[0]];
    const bool is_one = source.kind == Source::Kind::Updates && source.name == instance.group &&
                        source.at[0] == instance.element;
    return is_one ? own[0] : -1;
  }
};

namespace {

class Comparison {
 public:
  Comparison(const ReferenceTrace::Impl& reference, const std::set<std::string>& padded,
             const ir::Values& sizes)
      : reference_(reference),
        padded_(padded),
        sizes_(sizes),
        follower_(reference.program, reference.known) {}

  std::vector<TraceFault> run(const ir::LoopProgram& packing, const ir::LoopProgram& loops) {
    ir::InterpretOptions options;
    options.sizes = sizes_;
    options.max_steps = reference_.options.max_steps;
    options.on_event = [&](const Event& event) { see(event); };
    ir::Environment buffers = reference_.inputs;
    try {
      pack(packing, buffers, options);
      ir::interpret(loops, buffers, options);
    } catch (const UserError& error) {
      if (error.status() == ExitStatus::ResourceLimit) throw;
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
  const ir::Values& sizes_;
  Follower follower_;
  NumberSet seen_;                                // instances
  bool may_be_spare_ = false, is_spare_ = false;  // of the lane at hand
  std::set<std::string> not_followed_;            // statements whose lanes have no known instances
  std::map<TraceFault::Kind, std::size_t> counts_;
  std::vector<TraceFault> faults_;

  // What a lane that may be spare does otherwise than its instance shows where it is read.
  void report(TraceFault::Kind kind, const std::string& text) {
    is_spare_ = may_be_spare_;
    if (is_spare_) return;
    if (counts_[kind]++ < reference_.options.max_faults) faults_.push_back({kind, text});
  }
  Known& known() const { return reference_.known; }

  static void pack(const ir::LoopProgram& packing, ir::Environment& buffers,
                   const ir::InterpretOptions& options) {
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
        follower_.set(cell, results[static_cast<std::size_t>(std::max(cell.lane, 0))]);
  }

  static bool is_of(const Event::Cell& cell, int lane) {
    return cell.lane < 0 || cell.lane == lane;
  }

  static const Event::Cell* written(const Event& event, int lane) {
    for (const Event::Cell& cell : event.cells)
      if (cell.write && is_of(cell, lane)) return &cell;
    return nullptr;
  }

  Sources reads_of(const Event& event, int lane, const Event::Cell* but) {
    Sources all;
    for (const Event::Cell& cell : event.cells) {
      if (cell.write || !is_of(cell, lane)) continue;
      if (but && cell.buffer == but->buffer && cell.position == but->position) continue;
      unite(all, follower_.of(cell));
    }
    return all;
  }

  // A lane that fills a place of its own in a private buffer: it may be past the last iteration,
  // for masks and guards are dropped there. Who reads what it leaves follows from the order.
  bool is_spare(const Event& event, int lane) const {
    return event.is_vector && std::ranges::none_of(event.cells, [&](const Event::Cell& cell) {
             return cell.write && is_of(cell, lane) && reference_.program.find_buffer(cell.buffer);
           });
  }

  Sources result_of(const Event& event, int lane) {
    if (event.statement->empty()) return reads_of(event, lane, nullptr);
    const bool is_known = event.lanes == 1 || !event.strides.empty() || !event.of_lanes.empty();
    if (!is_known && !event.instance.empty()) not_followed_.insert(*event.statement);
    Point point =
        event.of_lanes.empty() ? event.instance : event.of_lanes[static_cast<std::size_t>(lane)];
    for (std::size_t i = 0; i < event.strides.size(); ++i) point[i] += lane * event.strides[i];
    const int number =
        known().number({Source::Kind::Instance, known().name(*event.statement), point, {}, {}});
    const auto of_statement = reference_.instances.find(*event.statement);
    if (of_statement == reference_.instances.end() || !of_statement->second.contains(point)) {
      if (!is_spare(event, lane) && !padded_.contains(*event.statement))
        report(TraceFault::Kind::Coverage,
               known().text(number) + " runs, which the reference does not");
      return {number};
    }
    const Instance& instance = of_statement->second.at(point);
    may_be_spare_ = is_spare(event, lane);
    is_spare_ = false;
    const int result = instance.group < 0 ? plain_result(event, lane, instance)
                                          : updated_result(event, lane, instance);
    may_be_spare_ = false;
    if (!is_spare_) {
      seen_.insert(instance.number);
      return {result};
    }
    // A spare lane may have the number of an instance that runs elsewhere.
    const int name = known().name("a spare lane of " + *event.statement);
    return {known().number({Source::Kind::Instance, name, point, {}, {}})};
  }

  // An instance that writes two elements is two stores: the second may read what the first wrote.
  int plain_result(const Event& event, int lane, const Instance& instance) {
    Sources reads = reads_of(event, lane, nullptr);
    if (instance.writes > 1) std::erase(reads, instance.number);
    check_reads(instance, reads);
    return instance.number;
  }

  int updated_result(const Event& event, int lane, const Instance& instance) {
    const Event::Cell* cell = written(event, lane);
    const Sources own = cell ? follower_.of(*cell) : Sources{};
    const int before = ReferenceTrace::Impl::generation_of(known(), own, instance);
    check_start(instance, before < 0 ? own : known()[before].start);
    check_place(instance, before);
    Sources reads = reads_of(event, lane, cell);
    if (instance.writes > 1)
      std::erase_if(reads, [&](int read) { return is_partner(instance, read, before); });
    check_reads(instance, reads);
    return known().updated(instance.group, instance.element, own, before, instance.number);
  }

  // For an update of a pair: whether the read is of the other element as this update finds or has
  // left it.
  bool is_partner(const Instance& instance, int read, int before) const {
    if (ReferenceTrace::Impl::generation_of(known(), {read}, instance) < 0)
      return std::ranges::any_of(
          instance.starts, [&](const Sources& s) { return std::ranges::find(s, read) != s.end(); });
    const InstanceSum had = before < 0 ? InstanceSum{} : known()[before].sum;
    const InstanceSum& has = known()[read].sum;
    return has == had || has == had.with(instance.number);
  }

  void check_reads(const Instance& instance, const Sources& reads) {
    for (const int source : reads)
      if (!std::ranges::binary_search(instance.reads, source))
        report(TraceFault::Kind::Order, known().text(instance.number) + " reads what " +
                                            known().text(source) + " left; the reference reads " +
                                            known().text(instance.reads));
  }

  void check_start(const Instance& instance, const Sources& start) {
    if (std::ranges::find(instance.starts, start) != instance.starts.end()) return;
    report(TraceFault::Kind::Order, known().text(instance.number) + " adds to what " +
                                        known().text(start) + " left; in the reference to what " +
                                        known().text(instance.starts[0]) + " left");
  }

  // Updates of a generation that differ in no iterator over which terms may change places come
  // in order.
  void check_place(const Instance& instance, int before) {
    const std::string& statement = *reference_.of_number.at(instance.number).first;
    const TraceOptions::Relaxed& relaxed = reference_.options.any_order.at(statement);
    if (relaxed.all) return;
    known().for_each_update(before, [&](int other) {
      if (other > instance.number &&
          is_same_place(statement, relaxed.iterators, instance.number, other))
        report(TraceFault::Kind::Order, known().text(instance.number) + " runs after " +
                                            known().text(other) +
                                            ", and their order may not change");
    });
  }

  bool is_same_place(const std::string& statement, const std::set<std::string>& free, int a,
                     int b) const {
    if (*reference_.of_number.at(b).first != statement) return false;
    const auto& iterators = reference_.program.statement(statement).iterators;
    const Point &one = *reference_.of_number.at(a).second,
                &other = *reference_.of_number.at(b).second;
    for (std::size_t i = 0; i < iterators.size(); ++i)
      if (free.contains(iterators[i]) && one[i] != other[i]) return false;
    return true;
  }

  // Numbers of the reference's instances whose values reach an output, found backwards along what
  // was read. A schedule may leave out an instance whose value nobody uses.
  std::vector<int> needed() const {
    std::vector<int> result;
    NumberSet looked_at;
    std::vector<int> open;  // sources
    for (const auto& [statement, instances] : reference_.instances) {
      for (const auto& [point, instance] : instances)
        if (reference_.program.buffer(instance.buffer).role != ir::Role::Temp)
          open.push_back(instance.number);
    }
    const auto need = [&](const Sources& sources) {
      open.insert(open.end(), sources.begin(), sources.end());
    };
    while (!open.empty()) {
      const int number = open.back();
      open.pop_back();
      if (!looked_at.insert(number)) continue;
      const Source& source = known()[number];
      if (source.kind == Source::Kind::Updates) {
        need(source.start);
        known().for_each_update(number, [&](int instance) { open.push_back(instance); });
      } else if (source.kind == Source::Kind::Instance && reference_.of_number.contains(number)) {
        result.push_back(number);
        need(reference_.at(number).reads);
        for (const Sources& start : reference_.at(number).starts) need(start);
      }
    }
    std::ranges::sort(result);
    return result;
  }

  void check_coverage() {
    for (const int number : needed())
      if (!seen_.contains(number) &&
          !not_followed_.contains(*reference_.of_number.at(number).first))
        report(TraceFault::Kind::Coverage, known().text(number) + " never runs");
  }

  void check_outputs(const ir::Environment& buffers) {
    for (const ir::Buffer* buffer : reference_.program.interface()) {
      if (buffer->role != ir::Role::Out && buffer->role != ir::Role::InOut) continue;
      const ir::Contents &expected = reference_.expected.at(buffer->name),
                         &got = buffers.at(buffer->name);
      Point index(expected.shape.size(), 0);
      const auto width = static_cast<std::size_t>(size_in_bytes(expected.dtype));
      for (std::size_t at = 0; at * width < expected.bytes.size();
           ++at, advance(index, expected.shape)) {
        const auto begin = expected.bytes.begin() + static_cast<std::ptrdiff_t>(at * width);
        const bool same = std::equal(begin, begin + static_cast<std::ptrdiff_t>(width),
                                     got.bytes.begin() + static_cast<std::ptrdiff_t>(at * width));
        const std::string shown = buffer->name + "[" + list(index) + "]";
        if (reference_.exact && !same && !both_nan(expected, got, static_cast<std::int64_t>(at)))
          report(TraceFault::Kind::Values,
                 shown + " is " + number(got, at) + ", in the reference " + number(expected, at));
        check_source(shown, buffer->name, static_cast<std::int64_t>(at), index);
      }
    }
  }

  void check_source(const std::string& shown, const std::string& buffer, std::int64_t position,
                    const Point& index) {
    const Sources &expected = reference_.follower->of(buffer, position, index),
                  &got = follower_.of(buffer, position, index);
    if (not_followed_.empty() && got != expected)
      report(TraceFault::Kind::Order, shown + " is what " + known().text(got) +
                                          " left; in the reference " + known().text(expected));
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

ReferenceTrace::ReferenceTrace(const ir::Program& program, ir::Environment inputs,
                               TraceOptions options)
    : impl_(std::make_unique<Impl>(program, std::move(inputs), options)) {}
ReferenceTrace::~ReferenceTrace() = default;
ReferenceTrace::ReferenceTrace(ReferenceTrace&&) noexcept = default;

std::map<std::string, TraceOptions::Relaxed> reorderable_updates(const schedule::State& state) {
  std::map<std::string, TraceOptions::Relaxed> result;
  for (const ir::Statement& s : state.basis->statements) {
    const std::optional<schedule::UpdateClass> found = schedule::class_of(state, s);
    if (!found) continue;
    result.emplace(s.name, TraceOptions::Relaxed{schedule::is_reorderable(s),
                                                 schedule::reorderable_iterators(state, s),
                                                 found->statement.empty()});
  }
  return result;
}

std::set<std::string> padded_statements(const schedule::State& state) {
  std::set<std::string> names;
  for (const schedule::ScheduledStatement& s : state.statements)
    if (s.padded) names.insert(s.reference);
  return names;
}

std::vector<TraceFault> compare_traces(const ReferenceTrace& reference,
                                       const ir::LoopProgram& packing, const ir::LoopProgram& loops,
                                       const std::set<std::string>& padded,
                                       const ir::Values& sizes) {
  return Comparison(reference.impl(), padded, sizes).run(packing, loops);
}

}  // namespace polyte::lower
