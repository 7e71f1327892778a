#include "poly/fill_sizes.h"

#include <algorithm>

#include "schedule/script/size_expr.h"

namespace polyte::poly {
namespace {

using schedule::Directive;
using schedule::Refusal;

// The first is where the search begins; of equal prices the first size stays.
constexpr std::int64_t kSizes[] = {32, 16, 8, 64, 4, 128, 256, 2, 6, 12, 24, 48, 512};

// A hole of the script, or a split that a form needs.
struct SizeHole {
  std::vector<std::string> loops;     // that it is the size of
  std::vector<std::int64_t> domain;   // empty: any
  std::optional<std::int64_t> known;  // what the schedule has for one of them
};

class Holes {
 public:
  Holes(const CompletionTask& task, const CompletionSource& source)
      : environment_(schedule::initial_environment(task.partial, *task.program, task.machine)) {
    learn(source.script.directives,
          schedule::initial_environment(source.script, *task.program, task.machine));
    for (const Directive& line : task.partial.directives) read(line, task.partial.directives);
  }

  std::vector<SizeHole> run(const std::vector<GivenSplit>& needed) {
    for (const GivenSplit& split : needed)
      if (split.size.text == schedule::kSizeHole) holes_.push_back({{split.loop}, {}, {}});
    for (SizeHole& hole : holes_)
      for (const std::string& loop : hole.loops)
        if (const auto size = known_.find(loop);
            size != known_.end() && !hole.known && allows(hole, size->second))
          hole.known = size->second;
    return std::move(holes_);
  }

  // A size that the person has given to a loop which the schedule splits otherwise.
  bool is_otherwise() const { return is_otherwise_; }

 private:
  schedule::ScriptEnvironment environment_;
  std::map<std::string, std::int64_t> known_;  // by loop
  std::vector<SizeHole> holes_;
  bool is_otherwise_ = false;

  static bool allows(const SizeHole& hole, std::int64_t size) {
    return hole.domain.empty() || std::ranges::find(hole.domain, size) != hole.domain.end();
  }

  // Splits of the source, its params evaluated, those within braces too.
  void learn(const std::vector<Directive>& lines, schedule::ScriptEnvironment environment) {
    for (const Directive& line : lines) {
      if (const auto* param = std::get_if<schedule::SetParam>(&line.operation))
        if (const auto value = schedule::evaluate_size(param->value.text, environment.values))
          environment.values[param->name] = *value;
      if (const auto* together = std::get_if<schedule::Transaction>(&line.operation))
        learn(together->steps, environment);
      for (const GivenSplit& split : given_splits({line}))
        if (const auto size = schedule::evaluate_size(split.size.text, environment.values))
          // The first line that splits the loop counts.
          known_.try_emplace(split.loop, *size);
    }
  }

  // One entry per hole, in the order in which `filled` fills them. A hole that is no split's size
  // has no loop, and is searched by price alone.
  void read(const Directive& line, const std::vector<Directive>& all) {
    Directive copy = line;
    const std::size_t count = schedule::size_holes(copy).size();
    if (const auto* param = std::get_if<schedule::SetParam>(&line.operation)) {
      if (count == 0) {
        if (const auto value = schedule::evaluate_size(param->value.text, environment_.values))
          environment_.values[param->name] = *value;
        return;
      }
      return read_param(*param, all);
    }
    std::vector<GivenSplit> splits = given_splits({line});
    if (const auto* parts = std::get_if<schedule::SplitReduction>(&line.operation))
      splits.push_back({"", parts->loop, parts->parts, schedule::Tail::Guard});
    if (const auto* unroll = std::get_if<schedule::Unroll>(&line.operation))
      splits.push_back({"", unroll->loop.loop, unroll->by, schedule::Tail::Guard});
    std::size_t found = 0;
    for (const GivenSplit& split : splits) {
      if (split.size.text == schedule::kSizeHole) {
        holes_.push_back({{split.loop}, {}, {}});
        ++found;
      } else if (const auto size = schedule::evaluate_size(split.size.text, environment_.values)) {
        const auto known = known_.find(split.loop);
        is_otherwise_ = is_otherwise_ || (known != known_.end() && known->second != *size);
      }
    }
    for (; found < count; ++found) holes_.push_back({});  // within braces
  }

  void read_param(const schedule::SetParam& param, const std::vector<Directive>& all) {
    SizeHole hole;
    for (const schedule::Size& size : param.domain)
      if (const auto value = schedule::evaluate_size(size.text, environment_.values))
        hole.domain.push_back(*value);
    for (const GivenSplit& split : given_splits(all))
      if (split.size.text == param.name) hole.loops.push_back(split.loop);
    holes_.push_back(std::move(hole));
  }
};

// The splits that the forms of a script need, once its holes have any sizes.
Result<std::vector<GivenSplit>, Refusal> needed_of(const CompletionTask& task,
                                                   const CompletionSource& source,
                                                   const std::vector<SizeHole>& holes) {
  Sizes any;
  for (const SizeHole& hole : holes)
    any.push_back(hole.known.value_or(hole.domain.empty() ? 4 : hole.domain.front()));
  const auto pins = schedule::Pins::of(task.program, filled(task.partial, any), task.machine,
                                       schedule::ProofLevel::Off);
  if (!pins) return pins.error();
  return pins->parts().is_open() ? needed_splits(*pins, source.script) : std::vector<GivenSplit>{};
}

}  // namespace

// Hole by hole: all begin with the size that the source has for the loop, or the first of the
// domain, and each in turn takes the size by which the candidate costs least while the others
// stand. That is a sum of domain sizes in place of their product. Splits that forms need are known
// only once the person's holes have some size, hence two passes of Holes.
Result<Sizes, Refusal> sizes_for(const CompletionTask& task, const CompletionSource& source) {
  const auto needed = needed_of(task, source, Holes(task, source).run({}));
  if (!needed) return needed.error();
  Holes reader(task, source);
  const std::vector<SizeHole> holes = reader.run(*needed);
  Sizes best;
  for (const SizeHole& hole : holes)
    best.push_back(hole.known.value_or(hole.domain.empty() ? kSizes[0] : hole.domain.front()));
  const bool all_known =
      std::ranges::all_of(holes, [](const SizeHole& hole) { return hole.known.has_value(); });
  if (holes.empty() || (all_known && !reader.is_otherwise())) return best;
  CompletionTask draft = task;
  draft.is_draft = true;
  auto least = candidate_of(draft, source, best);
  for (std::size_t h = 0; h < holes.size(); ++h) {
    std::vector<std::int64_t> domain = holes[h].domain;
    if (domain.empty()) domain.assign(std::begin(kSizes), std::end(kSizes));
    for (const std::int64_t size : domain) {
      Sizes sizes = best;
      sizes[h] = size;
      auto candidate = candidate_of(draft, source, sizes);
      if (!candidate || (least && candidate->cycles >= least->cycles)) continue;
      least = std::move(candidate);
      best = std::move(sizes);
    }
  }
  if (!least) return least.error();
  return best;
}

}  // namespace polyte::poly
