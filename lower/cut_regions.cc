#include "lower/cut_regions.h"

#include <algorithm>
#include <vector>

#include "lower/cut_conditions.h"
#include "lower/names.h"
#include "lower/open_threads.h"
#include "lower/simplify.h"
#include "lower/unroll_loops.h"

namespace polyte::lower {

using ir::Affine;
using ir::Constraint;
using ir::LoopKind;
using ir::Stmt;

namespace {

constexpr std::int64_t kMostStores = 2400;  // of a program, unrolled loops written out

class RegionCutter {
 public:
  explicit RegionCutter(const ir::LoopProgram& program)
      : names_(program, true),
        facts_(facts_of(program)),
        budget_(kMostStores - count_unrolled_stores(program.body)) {}

  // Down to the innermost loop of threads, whose body gets the forms: outside of it every thread
  // has to come to the same barriers.
  Stmt statement(const Stmt& s) {
    const ir::Facts::Scope scope(facts_);
    if (const auto* branch = std::get_if<ir::If>(&s->op))
      for (const Constraint& c : branch->conditions) facts_.assume(c);
    if (const auto* loop = std::get_if<ir::For>(&s->op)) {
      facts_.bind(loop->var, loop->lower, loop->upper);
      if (loop->kind == LoopKind::Thread || loop->kind == LoopKind::Lane)
        return ir::rewrite_children(s, [&](const Stmt& body) { return in_forms(body); });
    }
    return ir::rewrite_children(s, [&](const Stmt& child) { return statement(child); });
  }

 private:
  Names names_;
  ir::Facts facts_;
  std::int64_t budget_;

  // All lanes have to take part in an exchange of registers, so that no condition may stand around
  // it: only what stands beside an exchange gets several forms.
  Stmt beside_exchanges(const Stmt& s) {
    const ir::Facts::Scope scope(facts_);
    if (const auto* branch = std::get_if<ir::If>(&s->op))
      for (const Constraint& c : branch->conditions) facts_.assume(c);
    if (const auto* loop = std::get_if<ir::For>(&s->op))
      facts_.bind(loop->var, loop->lower, loop->upper);
    return ir::rewrite_children(s, [&](const Stmt& child) { return in_forms(child); });
  }

  // With conditions c1, c2, .. the forms are {c1 and c2 and ..}, {not c1}, {c1 and not c2}, ..:
  // exactly one of them runs, without an `else`, which loops do not have.
  Stmt in_forms(const Stmt& body) {
    if (has_exchange(body)) return beside_exchanges(body);
    const std::vector<Affine> conditions = conditions_of(body);
    const std::int64_t cost =
        static_cast<std::int64_t>(conditions.size()) * count_unrolled_stores(body);
    if (conditions.empty() || cost > budget_) return body;
    budget_ -= cost;
    std::vector<Stmt> forms;
    std::vector<Constraint> all;
    for (const Affine& e : conditions) all.push_back({e, false});
    forms.push_back(form(body, all, true));
    for (std::size_t i = 0; i < conditions.size(); ++i) {
      std::vector<Constraint> first(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i));
      first.push_back(ir::less_than(conditions[i], 0));
      forms.push_back(form(body, first, false));
    }
    std::erase(forms, nullptr);
    return ir::make_block(std::move(forms));
  }

  // Null: nothing runs there.
  Stmt form(const Stmt& body, const std::vector<Constraint>& where, bool first) {
    const ir::Facts::Scope scope(facts_);
    for (const Constraint& c : where) facts_.assume(c);
    // Elsewhere minima stay: they say how often a loop runs at the most.
    Stmt own =
        first ? simplify(body, facts_)
              : ir::rename_bound(body, [&](const std::string& name) { return names_.fresh(name); });
    if (!own) return nullptr;
    return ir::make_if({where, nullptr, std::move(own)});
  }

  // Conditions that hold for all values of the loops inside, each that those before it do not
  // imply. A condition that uses loops inside is replaced by its least value over them.
  std::vector<Affine> conditions_of(const Stmt& body) {
    std::vector<Affine> found;
    for_each_cut_condition(body, false, "", facts_,
                           [&](const Affine& e, const std::set<std::string>& inside) {
                             if (facts_.truth({e, false}) != ir::Truth::Unknown) return;
                             const auto least = ir::least_over(e, inside, facts_.ranges());
                             if (!least || facts_.truth({*least, false}) != ir::Truth::Unknown)
                               return;
                             if (std::ranges::find(found, *least) == found.end())
                               found.push_back(*least);
                           });
    const ir::Facts::Scope scope(facts_);
    std::vector<Affine> needed;
    for (const Affine& e : found) {
      if (facts_.proves(e)) continue;
      facts_.assume({e, false});
      needed.push_back(e);
    }
    return needed;
  }
};

}  // namespace

ir::LoopProgram cut_regions(const ir::LoopProgram& program) {
  ir::LoopProgram result = program;
  result.body = RegionCutter(program).statement(program.body);
  return result;
}

}  // namespace polyte::lower
