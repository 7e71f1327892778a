#include "schedule/templates/templates.h"

#include <algorithm>

#include "ir/free_regions.h"
#include "ir/relations.h"
#include "ir/steady_divisions.h"
#include "schedule/cost/kept_values.h"
#include "schedule/cost/streaming.h"
#include "schedule/script/copy_names.h"
#include "schedule/script/own_script.h"
#include "schedule/script/region_step.h"
#include "schedule/script/replay.h"
#include "schedule/script/size_expr.h"
#include "schedule/script/split_begins.h"
#include "schedule/state/digits.h"
#include "schedule/templates/expand_template.h"
#include "schedule/templates/nests.h"
#include "support/error.h"

namespace polyte::schedule {
namespace {

const ir::Statement& main_of(const StatementGroup& group) {
  return group.update ? *group.update : *group.plain;
}

// One iteration, or not even a loop: there is nothing that a template could do.
bool is_single(const State& reference, const StatementGroup& group) {
  const std::vector<IteratorFacts> facts = facts_of(reference, main_of(group));
  return std::ranges::all_of(facts, [](const IteratorFacts& fact) { return fact.extent <= 1; });
}

// Notes and uses are those of the script that is taken in the end.
class Noted {
 public:
  explicit Noted(const TemplateOptions& options)
      : options_(options),
        notes_(options.notes ? options.notes->size() : 0),
        uses_(options.uses ? options.uses->size() : 0) {}

  void forget() const {
    if (options_.notes) options_.notes->resize(notes_);
    if (options_.uses) options_.uses->resize(uses_);
  }

 private:
  const TemplateOptions& options_;
  std::size_t notes_, uses_;
};

// What the nests have written. Directives of a nest are behind those of the nests before it.
struct ScriptSoFar {
  const ir::Program* program;  // all of it, where a scheduler sees one step of it
  bool takes_steps = true;     // of ordered regions
  std::vector<Directive> directives = {};
  std::vector<std::size_t> begins = {};  // of the nests' directives
  std::set<std::string> reassociated = {}, reused = {};
  bool has_steps = false;
};

// From the front of the Program to its end: which structure begins here, which template of it can
// be filled, and so many groups are done.
class TemplateScheduler {
 public:
  TemplateScheduler(KernelSoFar& kernel, ScriptSoFar& script, const TemplateOptions& options)
      : kernel_(kernel),
        script_(script),
        options_(options),
        set_(options.templates ? *options.templates : own_templates()) {}

  // What no template takes stays in reference order beside the others; alone it is declined.
  std::optional<Decline> run() {
    const std::vector<StatementGroup> groups = group_statements(kernel_.program);
    std::size_t taken = 0;
    for (std::size_t i = 0; i < groups.size(); ++kernel_.number) {
      const std::span<const StatementGroup> rest = std::span(groups).subspan(i);
      // The longest forms first: attention takes several groups, rows one or more, anything else
      // one.
      std::size_t here = take_attention(rest);
      const auto& rows = on_gpu() ? open_gpu_rows : open_rows;
      if (here == 0) here = take(rows(kernel_, rest, options_.keep_order), rest.front());
      if (here == 0) here = take_steps(rest.front());
      if (here == 0) here = take_one(rest.front());
      taken += here;
      i += std::max<std::size_t>(here, 1);
    }
    if (taken == 0 && !groups.empty()) return Decline{reason_};
    return std::nullopt;
  }

 private:
  KernelSoFar& kernel_;
  ScriptSoFar& script_;
  const TemplateOptions& options_;
  const TemplateSet& set_;
  std::string reason_;  // why the last group was not taken

  bool on_gpu() const { return kernel_.machine.gpu.has_value(); }

  // How many groups the nest has whose template was found: the first of its structure whose
  // condition holds and whose holes can be filled. 0: there is none, for reason_.
  // Directives are written only when all holes are filled: a template that is declined leaves no
  // trace.
  std::size_t take(const OpenNest& nest, const StatementGroup& first) {
    reason_ = "no template for a " + nest.structure;
    for (const TemplateChoice& choice : set_.choices) {
      if (choice.structure != nest.structure || !holds(choice, nest)) continue;
      const TemplateFile& file = set_.files.at(choice.name);
      Result<Filling> filling = nest.fill_holes(file);
      if (filling) {
        write(file, *filling, first);
        return filling->groups;
      }
      reason_ = filling.error().reason;
    }
    return 0;
  }

  // Attention in one pass scales its sums as the maximum grows: the terms come in another order
  // than the Program's, which `exact` forbids.
  std::size_t take_attention(std::span<const StatementGroup> groups) {
    if (!on_gpu() || options_.keep_order) return 0;
    for (const auto& open : {open_gpu_attention_warps, open_gpu_attention})
      if (const auto nest = open(kernel_, groups))
        if (const std::size_t taken = take(*nest, groups.front())) return taken;
    return 0;
  }

  static bool holds(const TemplateChoice& choice, const OpenNest& nest) {
    if (choice.condition.empty()) return true;
    const auto value = evaluate_size(choice.condition, nest.facts);
    if (!value)
      throw UserError(ExitStatus::InvalidInput, choice.where + ": " + value.error().reason);
    return *value != 0;
  }

  bool is_recurrence(const StatementGroup& group) const {
    return open_recurrence(kernel_, group).has_value();
  }

  // Takes the ordered region that begins here, step by step; so many groups, of one statement each.
  std::size_t take_steps(const StatementGroup& first) {
    const ir::Region* region = region_begun_by(kernel_.program, main_of(first));
    if (!region || on_gpu() || !script_.takes_steps || is_recurrence(first)) return 0;
    if (region->begin.constant() >= region->end.constant()) return 0;
    const ir::Program step = middle_step(kernel_.program, *region);
    const State reference = reference_state(std::make_shared<const ir::Program>(step));
    KernelSoFar kernel{step, reference, kernel_.machine, kernel_.number, kernel_.staged};
    const std::size_t nests = script_.begins.size(), before = script_.directives.size();
    const Noted noted(options_);
    if (TemplateScheduler(kernel, script_, options_).run() ||
        is_reference_order(std::span(script_.directives).subspan(before))) {
      noted.forget();
      script_.directives.resize(before);
      script_.begins.resize(nests);
      return 0;
    }
    join_steps(kernel_.program, *region, std::span(script_.begins).subspan(nests),
               Provenance::Template, script_.directives);
    script_.begins.resize(nests + 1);
    script_.has_steps = true;
    kernel_.number = kernel.number - 1;
    kernel_.staged = kernel.staged;
    return ir::statements_in(region->body).size();
  }

  // Takes one group that belongs to no chain of rows; 1 where it is done, 0 where it stays as it
  // is.
  std::size_t take_one(const StatementGroup& group) {
    const ir::Statement& s = main_of(group);
    // No points, so there is nothing to schedule.
    if (is_empty(kernel_.reference, kernel_.reference.at(s.name))) return 1;
    if (s.iterators.empty()) return 1;  // a single point has no loops
    const std::size_t taken = group.update ? take_sum(group) : take_plain(group);
    if (taken == 0 && options_.notes && !is_single(kernel_.reference, group))
      options_.notes->push_back("'" + s.name + "' stays in reference order: " + reason_);
    return taken;
  }

  std::size_t take_sum(const StatementGroup& group) {
    if (!on_gpu()) return take(open_reduction(kernel_, group), group);
    if (const std::size_t taken =
            take(open_gpu_product(kernel_, group, options_.keep_order), group))
      return taken;
    return take(open_gpu_sum(kernel_, group), group);
  }

  std::size_t take_plain(const StatementGroup& group) {
    const ir::Statement& s = *group.plain;
    if (s.region_depth == 0 && s.combiner == ir::Combiner::None)
      return take((on_gpu() ? open_gpu_pointwise : open_pointwise)(kernel_, group), group);
    if (const auto nest = on_gpu() ? std::nullopt : open_recurrence(kernel_, group))
      return take(*nest, group);
    reason_ = "no template for " + s.name +
              (s.region_depth > 0 ? " in an ordered region"
                                  : ", which adds to elements that its iterations share");
    return 0;
  }

  void write(const TemplateFile& file, Filling& filling, const StatementGroup& first) {
    for (const auto& [param, known] : file.params) {
      // A hole that has no value is no param of the script: its name is empty, which takes the
      // lines that use it out.
      const bool is_unused = known.value == "?" && !filling.values.contains(param);
      filling.scope.names[param] = is_unused ? "" : param + kernel_.suffix();
    }
    const std::size_t before = script_.directives.size();
    script_.begins.push_back(before);
    for (Directive& directive : expand(file, filling.scope, filling.values))
      script_.directives.push_back(std::move(directive));
    const std::span<Directive> all(script_.directives);
    name_copies(all.first(before), all.subspan(before));
    // Tiles of a loop over 1..501 count from 1: counted from 0 the first one would be cut short,
    // and its bound would stand in all of them.
    if (!on_gpu()) count_from_begins(*script_.program, all.subspan(before));
    kernel_.staged = filling.staged;
    script_.reassociated.insert(filling.reassociated.begin(), filling.reassociated.end());
    script_.reused.insert(filling.reused.begin(), filling.reused.end());
    if (options_.uses) options_.uses->push_back(use_of(file, filling, first));
  }

  static TemplateUse use_of(const TemplateFile& file, const Filling& filling,
                            const StatementGroup& first) {
    TemplateUse use{
        first.init ? first.init->name : main_of(first).name, file.name, file.origin, file.text, {}};
    for (const std::string& loop : file.loop_holes)
      if (const std::string& name = filling.scope.names.at(loop); !name.empty())
        use.roles.push_back(loop + " = " + name);
    for (const auto& [param, value] : filling.values)
      if (file.params.contains(param)) use.roles.push_back(param + " = " + value);
    return use;
  }
};

// The Program is planned in a simpler form, and the Script is for the one that it was made of:
// ordered regions that order nothing are loops (the Script says so by `distribute`), and a division
// in a subscript that changes once is as it is most of the time (ir/steady_divisions.h).
class PlainScript {
 public:
  PlainScript(const ir::Program& program, const Machine& machine, const TemplateOptions& options)
      : program_(program), machine_(machine), options_(options) {
    if (!machine.gpu) steady_ = ir::with_steady_divisions(free_ ? free_->program : program);
  }

  Result<Script> run() const {
    const Noted noted(options_);
    const Written with_steps = write(true);
    if (!with_steps.script || !with_steps.has_steps) return with_steps.script;
    // One step is no witness for all of them: whether their order is legal is proved here.
    const auto state = replay(std::make_shared<const ir::Program>(program_), *with_steps.script,
                              machine_, {ProofLevel::Directive, {}});
    if (state) return with_steps.script;
    if (options_.refused)
      options_.refused->push_back({"steps of ordered regions", *with_steps.script, state.error()});
    noted.forget();
    if (options_.notes)
      options_.notes->push_back("ordered regions stay in reference order: " +
                                state.error().headline);
    return write(false).script;
  }

 private:
  struct Written {
    Result<Script> script;
    bool has_steps = false;  // of ordered regions
  };

  const ir::Program& program_;
  const Machine& machine_;
  const TemplateOptions& options_;
  const std::optional<ir::FreeRegions> free_ = ir::without_regions(program_);
  std::optional<ir::Program> steady_;

  const ir::Program& planned() const {
    return steady_ ? *steady_ : free_ ? free_->program : program_;
  }

  Written write(bool takes_steps) const {
    const State reference = reference_state(std::make_shared<const ir::Program>(planned()));
    ScriptSoFar written{&planned(), takes_steps};
    KernelSoFar kernel{planned(), reference, machine_};
    if (auto declined = TemplateScheduler(kernel, written, options_).run())
      return {*std::move(declined)};
    if (!machine_.gpu)
      for (const std::string& result : streamed_results(planned(), machine_, written.reused))
        written.directives.push_back({StoreNonTemporal{result}, Provenance::TileModel});
    Script script = own_script(program_, "template", machine_, written.reassociated);
    if (free_)
      for (const auto& [statement, loop] : free_->shared)
        script.directives.push_back({Distribute{{statement, loop}}, Provenance::Template});
    std::ranges::move(written.directives, std::back_inserter(script.directives));
    return {std::move(script), written.has_steps};
  }
};

}  // namespace

Result<Script> make_template(const ir::Program& program, const Machine& machine,
                             const TemplateOptions& options) {
  const Noted noted(options);
  return scheduled_reworded(
      program, machine, [&](const ir::Program& seen) { return kept_values(seen, machine); },
      [&](const ir::Program& seen, const Precomputing&) {
        noted.forget();  // it may run for several rewordings of the Program
        return PlainScript(seen, machine, options).run();
      },
      options.refused);
}

}  // namespace polyte::schedule
