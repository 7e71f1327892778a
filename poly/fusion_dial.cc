#include "poly/fusion_dial.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ir/relations.h"
#include "poly/instance_order.h"
#include "poly/order_plan.h"
#include "poly/whole_program.h"
#include "schedule/cost/threads.h"
#include "support/is_among.h"

namespace polyte::poly {
namespace {

constexpr double kWorthFusing = 0.9;  // of the cycles of nests apart
// What another core gains where all wait for memory: measured on two, A x beside A^T y of 32 MB.
constexpr double kOfAnotherCore = 0.3;
// Definitions with their sums count as one: isl's time grows with the square of the run.
constexpr std::size_t kLongestRun = 4, kMostStatements = 12;

// A sum of which each operand stays where it is along some loop: tiles of registers are worth
// more than fusion.
bool has_reused_operands(const ir::Statement& statement) {
  if (statement.reductions.empty()) return false;
  for (const ir::Expr& value : statement.values)
    for (const ir::Load* load : ir::loads_of(value)) {
      const auto moves = [&](const std::string& it) {
        return std::ranges::any_of(load->indices,
                                   [&](const ir::Index& index) { return index.affine.uses(it); });
      };
      if (std::ranges::all_of(statement.iterators, moves)) return false;
    }
  return true;
}

// Along which dimensions of its operands a sum runs from end to end: not in windows, u + r.
std::map<std::string, std::set<std::size_t>> summed_dimensions(const ir::Statement& sum) {
  std::map<std::string, std::set<std::size_t>> found;
  const auto is_of_sum = [&](const ir::Index& index) {
    const auto it = index.affine.as_symbol();
    return !index.indirect && it && is_among(*it, sum.reductions);
  };
  for (const ir::Expr& value : sum.values)
    for (const ir::Load* load : ir::loads_of(value))
      for (std::size_t d = 0; d < load->indices.size(); ++d)
        if (is_of_sum(load->indices[d])) found[load->buffer].insert(d);
  return found;
}

// Whether the two go through a tensor in different directions: sums along other dimensions of it,
// rows and columns of a matrix; or `a` writes what `b` adds up across its rows.
bool cross(const ir::Program& program, const ir::Statement& a, const ir::Statement& b) {
  const auto of_a = summed_dimensions(a);
  return std::ranges::any_of(summed_dimensions(b), [&](const auto& summed) {
    const auto& [tensor, dimensions] = summed;
    const std::size_t rank = program.buffer(tensor).shape.size();
    const auto there = of_a.find(tensor);
    return rank > 1 && ((there != of_a.end() && there->second != dimensions) ||
                        (a.writes[0].buffer == tensor && *dimensions.begin() + 1 < rank));
  });
}

// Whether the two are in one band of the tree.
bool share_a_loop(const OrderTree& tree, const std::string& a, const std::string& b) {
  if (const auto* sequence = std::get_if<OrderSequence>(&tree->op))
    return std::ranges::any_of(sequence->children,
                               [&](const OrderTree& child) { return share_a_loop(child, a, b); });
  const std::vector<std::string> below = statements_below(tree);
  const auto is_below = [&](const std::string& s) {
    return std::ranges::find(below, s) != below.end();
  };
  return std::holds_alternative<OrderBand>(tree->op) && is_below(a) && is_below(b);
}

// Whether threads share all of the nest.
bool is_shared(const schedule::NestTree& tree) {
  if (const auto* sequence = std::get_if<schedule::NestSequence>(&tree->op))
    return std::ranges::all_of(sequence->children, is_shared);
  const auto* loop = std::get_if<schedule::NestLoop>(&tree->op);
  return loop && (loop->kind == schedule::LoopKind::Parallel || is_shared(loop->body));
}

class Dial {
 public:
  Dial(const ir::Program& program, const Machine& machine, const StrategyOptions& options)
      : program_(program), machine_(machine), options_(options) {
    for (std::size_t i = 0; i < program.statements.size(); ++i) {
      begins_.push_back(i);
      const bool has_next = i + 1 < program.statements.size();
      if (has_next && ir::starts_reduction(program.statements[i], program.statements[i + 1])) ++i;
    }
    begins_.push_back(program.statements.size());
  }

  FusionDial run() {
    const std::size_t n = begins_.size() - 1;
    // gain[e]: the most cycles that disjoint runs among the first e clusters save; last[e]: the run
    // of such a choice that ends at e, if one does.
    //
    //   gain[e] = max(gain[e - 1], max over runs [f, e): gain[f] + saved(f, e))
    std::vector<double> gain(n + 1, 0);
    std::vector<std::optional<Fused>> last(n + 1);
    for (std::size_t end = 1; end <= n; ++end) {
      gain[end] = gain[end - 1];
      for (std::size_t first = end > kLongestRun ? end - kLongestRun : 0; first + 1 < end;
           ++first) {
        auto fused = fuse(first, end);
        if (!fused || gain[first] + fused->gain <= gain[end]) continue;
        gain[end] = gain[first] + fused->gain;
        last[end] = std::move(fused);
      }
    }
    for (std::size_t end = n; end > 0;) {
      if (!last[end]) {
        --end;
        continue;
      }
      Fused& fused = *last[end];
      result_.runs.insert(result_.runs.begin(), std::move(fused.run));
      end = fused.first;
    }
    return std::move(result_);
  }

 private:
  struct Fused {
    std::size_t first = 0;  // cluster
    double gain = 0;        // cycles
    FusedRun run;
  };

  const ir::Program& program_;
  const Machine& machine_;
  const StrategyOptions& options_;
  std::vector<std::size_t> begins_;  // of clusters: a sum with its initial value, or one statement
  FusionDial result_;

  const ir::Statement& main_of(std::size_t cluster) const {
    return program_.statements[begins_[cluster + 1] - 1];
  }

  bool crosses_another(std::size_t cluster, std::size_t first, std::size_t end) const {
    for (std::size_t other = first; other < end; ++other)
      if (other != cluster && (cross(program_, main_of(cluster), main_of(other)) ||
                               cross(program_, main_of(other), main_of(cluster))))
        return true;
    return false;
  }

  std::optional<Fused> fuse(std::size_t first, std::size_t end) {
    const ir::Statement &a = main_of(first), &b = main_of(end - 1);
    // A run that begins or ends with a cluster which crosses no other in it gains nothing from that
    // cluster; the shorter run is priced on its own.
    if (!crosses_another(first, first, end) || !crosses_another(end - 1, first, end))
      return std::nullopt;
    for (std::size_t cluster = first; cluster < end; ++cluster)
      if (has_reused_operands(main_of(cluster))) return std::nullopt;
    const ir::Program part = statements_of(program_, begins_[first], begins_[end]);
    const schedule::State reference =
        schedule::reference_state(std::make_shared<const ir::Program>(part));
    const InstanceOrders orders = instance_orders(part);
    std::vector<OrderAttempt> found, others;
    for (const OrderAttempt& attempt : orders.found)
      (share_a_loop(attempt.tree, a.name, b.name) ? found : others).push_back(attempt);
    const auto priced = [&](const std::vector<OrderAttempt>& attempts) {
      return plans_of_attempts(part, reference, machine_, attempts, options_.keep_order);
    };
    std::vector<OrderPlan> fused = priced(found);
    const std::vector<OrderPlan> apart = priced(others);
    consider(a.name + " .. " + b.name, fused, apart);
    if (fused.empty() || apart.empty()) return std::nullopt;
    const double together = time_together(fused.front()), alone = time_apart(apart.front());
    if (together > kWorthFusing * alone) return std::nullopt;
    auto schedule = first_that_is_proved(part, machine_, orders, std::move(fused), options_, false);
    if (!schedule) {
      result_.considered.push_back("lost: " + a.name + " .. " + b.name +
                                   " in one nest: " + schedule.error().reason);
      return std::nullopt;
    }
    return Fused{first, alone - together, {begins_[first], begins_[end], *std::move(schedule)}};
  }

  // Cycles until the work is done. Apart, the threads of each nest share the elements of its sum or
  // definition. Sums along different dimensions leave one nest no loop for threads, so that it runs
  // on one core.
  double time_together(const OrderPlan& plan) const {
    return is_shared(plan.nest.tree) ? time_apart(plan) : plan.cycles;
  }
  double time_apart(const OrderPlan& plan) const {
    return schedule::is_worth_threads(machine_, plan.cycles)
               ? plan.cycles / (1 + kOfAnotherCore * (machine_.cores - 1))
               : plan.cycles;
  }

  void consider(const std::string& run, const std::vector<OrderPlan>& fused,
                const std::vector<OrderPlan>& apart) {
    const auto cycles = [](const std::vector<OrderPlan>& plans) {
      return plans.empty() ? "isl finds no such order" : cycles_text(plans.front().cycles);
    };
    result_.considered.push_back(run + " in one nest: " + cycles(fused) +
                                 "; apart: " + cycles(apart));
  }
};

}  // namespace

FusionDial turn_fusion_dial(const ir::Program& program, const Machine& machine,
                            const StrategyOptions& options) {
  if (program.statements.size() > kMostStatements) return {};
  return Dial(program, machine, options).run();
}

ir::Program statements_of(const ir::Program& program, std::size_t first, std::size_t end) {
  std::set<std::string> names;
  for (std::size_t s = first; s < end; ++s) names.insert(program.statements[s].name);
  return ir::part_of(program, [&](const ir::Statement& s) { return names.contains(s.name); });
}

}  // namespace polyte::poly
