#include "driver/cli/explain_order.h"

#include <algorithm>
#include <utility>

#include "driver/cli/dependence_text.h"
#include "schedule/proof/prover.h"
#include "support/join_words.h"

namespace polyte::cli {
namespace {

using schedule::Loop;
using schedule::LoopKind;
using schedule::Tree;

constexpr std::size_t kPairsShown = 12;
constexpr std::size_t kLoopsAsked = 3;  // of a nest, the outermost

bool has_kind(const Tree& tree, const std::function<bool(LoopKind)>& is_wanted) {
  return std::ranges::any_of(schedule::all_loops(tree),
                             [&](const Loop* loop) { return is_wanted(loop->kind); });
}

// Why the loop's iterations cannot run at once: two of them that touch one element, in a line.
std::string reason_of(const schedule::Refusal& refusal) {
  return refusal.counterexamples.empty() ? refusal.headline
                                         : refusal.counterexamples.front().scheduled;
}

// What it is where nothing forbids it: schedulers by cost weigh it, others do not.
const char* not_taken(const driver::BuiltKernel& kernel) {
  const driver::Scheduler used = kernel.used();
  return used == driver::Scheduler::Poly || used == driver::Scheduler::Template
             ? "legal, and not taken: priced slower, or too short"
             : "legal, and not asked for";
}

// "S0, S1, .. S7"
std::string below(const Tree& nest) {
  std::vector<std::string> statements;
  for (const schedule::Leaf* leaf : schedule::leaves_of(nest))
    statements.push_back(leaf->statement);
  if (statements.size() <= 3) return join_words(statements, ", ");
  return statements[0] + ", " + statements[1] + ", .. " + statements.back();
}

// The loops around all of a nest, outermost first.
std::vector<const Loop*> shared_loops(const Tree& tree) {
  std::vector<const Loop*> loops;
  for (const Loop* loop = std::get_if<Loop>(&tree->op); loop != nullptr;
       loop = std::get_if<Loop>(&loop->body->op))
    loops.push_back(loop);
  return loops;
}

}  // namespace

std::vector<std::string> dependence_lines(const std::shared_ptr<const ir::Program>& program) {
  const schedule::DependenceReport report =
      schedule::report_dependences(program, schedule::Pairs::Direct);
  std::vector<std::string> lines = dependence_pairs(report);
  if (lines.empty()) return {"none"};
  if (lines.size() > kPairsShown) {
    const std::size_t more = lines.size() - kPairsShown;
    lines.resize(kPairsShown);
    lines.push_back("and " + std::to_string(more) + " more: polyte deps shows them all");
  }
  return lines;
}

std::vector<std::string> thread_lines(const driver::BuiltKernel& kernel, const Machine& machine) {
  const schedule::State& state = *kernel.state;
  if (machine.gpu || !state.tree) return {};
  const auto* sequence = std::get_if<schedule::Sequence>(&state.tree->op);
  const std::vector<Tree> nests = sequence ? sequence->children : std::vector{state.tree};
  std::vector<std::string> lines;
  schedule::Prover prover(state.reference);
  for (const Tree& nest : nests) {
    const std::vector<const Loop*> loops = shared_loops(nest);
    if (loops.empty() || has_kind(nest, [](LoopKind k) { return k == LoopKind::Parallel; }))
      continue;
    if (machine.cores <= 1) return {"one: no loop was asked to be parallel"};
    for (std::size_t l = 0; l < std::min(loops.size(), kLoopsAsked); ++l) {
      const auto refusal = prover.check_independent(state, loops[l]->id);
      lines.push_back(below(nest) + " in " + loops[l]->name + ": " +
                      (refusal ? reason_of(*refusal) : not_taken(kernel)));
      if (!refusal) break;
    }
  }
  return lines;
}

std::vector<std::string> vector_lines(const driver::BuiltKernel& kernel, const Machine& machine) {
  const schedule::State& state = *kernel.state;
  if (machine.gpu || !state.tree) return {};
  // Innermost loops with the statements that they have, in the order of the nests.
  std::vector<std::pair<const Loop*, std::vector<std::string>>> loops;
  for (const schedule::Leaf* leaf : schedule::leaves_of(state.tree)) {
    const std::vector<const Loop*> path = schedule::path_to(state.tree, leaf->statement);
    const bool is_vector =
        std::ranges::any_of(path, [](const Loop* loop) { return loop->kind == LoopKind::Vector; });
    if (path.empty() || is_vector) continue;
    if (loops.empty() || loops.back().first != path.back()) loops.push_back({path.back(), {}});
    loops.back().second.push_back(leaf->statement);
  }
  std::vector<std::string> lines;
  schedule::Prover prover(state.reference);
  for (const auto& [loop, statements] : loops) {
    if (loop->kind != LoopKind::Serial) continue;
    const auto refusal = prover.check_independent(state, loop->id);
    lines.push_back(join_words(statements, ", ") + " in " + loop->name + ": " +
                    (refusal ? reason_of(*refusal) : not_taken(kernel)));
  }
  return lines;
}

}  // namespace polyte::cli
