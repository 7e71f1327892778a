#include "poly/region_nest.h"

#include <algorithm>

#include "schedule/proof/prover.h"
#include "schedule/state/digits.h"
#include "schedule/state/nest_tree.h"
#include "support/checked.h"

namespace polyte::poly {
namespace {

using schedule::Loop;
using schedule::Provenance;
using schedule::Tree;

constexpr std::int64_t kRegionThreads = 256, kMostRegionThreads = 1024;
// In cycles: a launch behind another one, a barrier of a block, an operation that waits for memory.
constexpr double kLaunch = 4000, kBarrier = 100, kStep = 30;

std::int64_t extent_of(const schedule::State& state, const Loop& loop) {
  return std::max<std::int64_t>(
      1, schedule::extent_of(state, statements_below(state.tree, loop.id), loop.name).value_or(1));
}

// Loops directly within each other whose iterations are threads.
struct Threads {
  std::string statement;
  std::vector<const Loop*> loops;
  double points = 1;
};

class RegionPlanner {
 public:
  RegionPlanner(const schedule::State& state, const Machine& machine, schedule::Prover& prover,
                const Tree& nest, int number, bool as_isl_says)
      : state_(state),
        machine_(machine),
        prover_(prover),
        nest_(nest),
        number_(number),
        as_isl_says_(as_isl_says) {}

  schedule::NestPlan run() {
    visit(nest_, 1);
    const Loop* const outermost = std::get_if<Loop>(&nest_->op);
    const bool is_serial =
        outermost && (found_.empty() || found_.front().loops.front() != outermost);
    // An outermost serial loop has two forms: a launch for each of its iterations, or one block
    // that runs them all, with barriers between them. The block loop has one iteration then, which
    // holds all of the serial loop.
    const auto whole = is_serial && !as_isl_says_ ? one_tile(*outermost) : std::nullopt;
    const bool in_one_block = whole && one_block_ < launches_;
    schedule::NestPlan plan;
    plan.number = number_;
    if (found_.empty()) return plan;
    int part = 0;
    for (const Threads& threads : found_) bind(threads, in_one_block, part++, plan.steps);
    if (in_one_block) {  // other regions may have a loop of the same name: this one gets its own
      const std::string statement = in_nest(*outermost).front(), turn = fresh("turn", statement, 0);
      plan.steps.emplace_back(
          schedule::PlannedRename{statement, outermost->name, turn, Provenance::TileModel});
      plan.steps.emplace_back(schedule::PlannedSplit{"", turn, schedule::Elements{*whole},
                                                     Provenance::TileModel, true});
      plan.steps.emplace_back(
          schedule::PlannedBind{statement, schedule::tiles_of(turn), ir::LoopKind::Block});
    }
    return plan;
  }

 private:
  const schedule::State& state_;
  const Machine& machine_;
  schedule::Prover& prover_;
  const Tree& nest_;
  int number_;
  bool as_isl_says_;
  std::vector<Threads> found_;
  double launches_ = 0, one_block_ = 0;  // cycles of the two ways

  std::vector<std::string> in_nest(const Loop& loop) const {
    return statements_below(state_.tree, loop.id);
  }

  bool has_constant_extent(const Loop& loop) const {
    return schedule::extent_of(state_, in_nest(loop), loop.name).has_value();
  }

  // The size of a tile that holds all iterations; tiles begin at 0, whatever the loop does. None
  // has all of an open one.
  std::optional<std::int64_t> one_tile(const Loop& loop) const {
    if (state_.reference->open.contains(loop.name)) return std::nullopt;
    const ir::Ranges ranges = schedule::loop_ranges(state_, in_nest(loop));
    const auto range = ranges.find(loop.name);
    if (range == ranges.end() || !range->second.max || range->second.min.value_or(-1) < 0)
      return std::nullopt;
    return *range->second.max + 1;
  }

  // Threads take a loop around one statement whose iterations the prover finds independent.
  bool is_independent(const Loop& loop) {
    return leaves_of(loop.body).size() == 1 && !prover_.check_independent(state_, loop.id);
  }

  // `times`: iterations of the loops around.
  void visit(const Tree& tree, double times) {
    if (const auto* sequence = std::get_if<schedule::Sequence>(&tree->op)) {
      for (const Tree& child : sequence->children) visit(child, times);
    } else if (const auto* loop = std::get_if<Loop>(&tree->op)) {
      if (is_independent(*loop))
        take(*loop, times);
      else
        visit(loop->body, times * static_cast<double>(extent_of(state_, *loop)));
    } else {
      price(1, 1, times);
    }
  }

  // Loops directly inside are fused with it as long as they are independent as well; what is left
  // below them is the thread's own work.
  void take(const Loop& first, double times) {
    Threads threads{
        in_nest(first).front(), {&first}, static_cast<double>(extent_of(state_, first))};
    const Loop* inner = std::get_if<Loop>(&first.body->op);
    while (inner && has_constant_extent(*inner) && is_independent(*inner)) {
      threads.loops.push_back(inner);
      threads.points *= static_cast<double>(extent_of(state_, *inner));
      inner = std::get_if<Loop>(&inner->body->op);
    }
    double steps = 1;
    for (; inner; inner = std::get_if<Loop>(&inner->body->op))
      steps *= static_cast<double>(extent_of(state_, *inner));
    price(threads.points, steps, times);
    found_.push_back(std::move(threads));
  }

  // Cycles of one loop of threads in the two ways: a launch spreads its points over all
  // multiprocessors, a block has one of them and pays a barrier instead of a launch.
  void price(double points, double steps, double times) {
    const double at_once = kMostRegionThreads;
    const auto turns = [&](double multiprocessors) {
      return std::max(1.0, points / at_once / multiprocessors);
    };
    launches_ += times * (kLaunch + steps * kStep * turns(machine_.gpu->multiprocessors));
    one_block_ += times * (kBarrier + steps * kStep * turns(1));
  }

  void bind(const Threads& threads, bool in_one_block, int part,
            std::vector<schedule::PlannedStep>& steps) const {
    std::string point = threads.loops.front()->name;
    if (threads.loops.size() > 1) {
      std::vector<std::string> names;
      for (const Loop* loop : threads.loops) names.push_back(loop->name);
      point = fresh("point", threads.statement, part);
      steps.emplace_back(
          schedule::PlannedFuse{threads.statement, names, point, Provenance::TileModel});
    }
    const std::int64_t size =
        in_one_block && threads.points > kRegionThreads ? kMostRegionThreads : kRegionThreads;
    steps.emplace_back(schedule::PlannedSplit{threads.statement, point, schedule::Elements{size},
                                              Provenance::TileModel, true});
    if (!in_one_block)
      steps.emplace_back(schedule::PlannedBind{threads.statement, schedule::tiles_of(point),
                                               ir::LoopKind::Block, Provenance::TileModel});
    steps.emplace_back(schedule::PlannedBind{threads.statement, schedule::within_tile(point),
                                             ir::LoopKind::Thread, Provenance::Isl});
  }

  std::string fresh(std::string name, const std::string& statement, int part) const {
    if (number_ + part > 0) name += std::to_string(number_ + part);
    const auto is_taken = [&](const Loop* loop) { return loop->name == name; };
    while (std::ranges::any_of(path_to(state_.tree, statement), is_taken)) name += "_";
    return name;
  }
};

}  // namespace

std::vector<schedule::NestPlan> plan_regions(const schedule::State& reference,
                                             const Machine& machine, bool as_isl_says) {
  schedule::Prover prover(reference.reference);
  std::vector<Tree> nests = {reference.tree};
  if (!reference.tree) return {};
  if (const auto* all = std::get_if<schedule::Sequence>(&reference.tree->op)) nests = all->children;
  std::vector<schedule::NestPlan> plans;
  for (const Tree& nest : nests)
    plans.push_back(
        RegionPlanner(reference, machine, prover, nest, static_cast<int>(plans.size()), as_isl_says)
            .run());
  return plans;
}

}  // namespace polyte::poly
