#include "poly/step_by_step.h"

#include <algorithm>
#include <set>
#include <span>
#include <string>

#include "ir/relations.h"
#include "schedule/script/copy_names.h"
#include "schedule/script/nest_pattern.h"
#include "schedule/script/nest_writer.h"
#include "schedule/script/own_script.h"
#include "schedule/script/region_step.h"
#include "schedule/script/split_begins.h"

namespace polyte::poly {
namespace {

// A nest that is one line of the script, and can be part of another one.
bool is_plain(const schedule::NestPlan& plan) {
  return plan.tree && !plan.is_one_step && !plan.tile && plan.maps.empty() && plan.cuts.empty() &&
         plan.apart.empty();
}

// Without those whose statements others place anew: isl's order of several nests, before each.
std::vector<schedule::NestPlan> last_places(std::vector<schedule::NestPlan> plans) {
  std::set<std::string> placed;
  for (auto plan = plans.rbegin(); plan != plans.rend(); ++plan) {
    if (!plan->tree) continue;
    const std::set<std::string> named = schedule::statements_in(plan->tree);
    const auto is_placed = [&](const std::string& name) { return placed.contains(name); };
    if (std::ranges::any_of(named, is_placed)) plan->tree = nullptr;
    placed.insert(named.begin(), named.end());
  }
  return plans;
}

class Steps {
 public:
  Steps(const ir::Program& planned, const PlanPart& plan) : planned_(planned), plan_(plan) {}

  std::optional<schedule::Script> run(const ir::Program& program, const Machine& machine) {
    add(planned_);
    if (!has_regions_) return std::nullopt;
    schedule::Script script = schedule::own_script(program, "poly", machine, reassociated_);
    script.directives = std::move(directives_);
    return script;
  }

 private:
  const ir::Program& planned_;
  const PlanPart& plan_;
  std::vector<schedule::Directive> directives_;
  std::vector<std::size_t> begins_;  // of the nests' directives
  std::set<std::string> reassociated_;
  int number_ = 0;
  bool has_regions_ = false;

  // Runs of statements between regions, and the regions, in order.
  void add(const ir::Program& part) {
    std::set<std::string> run;
    const auto add_run = [&] {
      if (!run.empty())
        add_nests(ir::part_of(part, [&](const ir::Statement& s) { return run.contains(s.name); }));
      run.clear();
    };
    for (const ir::Item& item : part.order) {
      if (const auto* region = std::get_if<ir::Region>(&item)) {
        add_run();
        add_region(part, *region);
      } else {
        run.insert(part.statements[std::get<std::size_t>(item)].name);
      }
    }
    add_run();
  }

  void add_region(const ir::Program& part, const ir::Region& region) {
    if (region.begin.constant() >= region.end.constant()) return;
    const std::size_t before = begins_.size();
    add(schedule::middle_step(part, region));
    if (begins_.size() == before) return;
    schedule::join_steps(part, region, std::span(begins_).subspan(before),
                         schedule::Provenance::TileModel, directives_);
    begins_.resize(before + 1);
    has_regions_ = true;
  }

  void add_nests(const ir::Program& part) {
    for (const schedule::NestPlan& plan : last_places(plan_(part, number_))) {
      ++number_;
      if (!is_plain(plan)) continue;
      const std::size_t begin = directives_.size();
      begins_.push_back(begin);
      schedule::write_nest(plan, directives_);
      const std::span<schedule::Directive> all(directives_);
      schedule::name_copies(all.first(begin), all.subspan(begin));
      schedule::count_from_begins(planned_, all.subspan(begin));
      reassociated_.insert(plan.reassociated.begin(), plan.reassociated.end());
    }
  }
};

}  // namespace

std::optional<schedule::Script> script_by_steps(const ir::Program& program,
                                                const ir::Program& planned, const Machine& machine,
                                                const PlanPart& plan) {
  return Steps(planned, plan).run(program, machine);
}

}  // namespace polyte::poly
