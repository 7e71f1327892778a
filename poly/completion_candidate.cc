#include "poly/completion_candidate.h"

#include <algorithm>

#include "poly/fit_nest.h"
#include "poly/state_price.h"
#include "schedule/script/explain.h"
#include "schedule/script/nest_pattern.h"
#include "schedule/script/script_lexer.h"
#include "schedule/state/digits.h"

namespace polyte::poly {

using schedule::Directive;
using schedule::LoopKind;
using schedule::NestTree;
using schedule::Refusal;

namespace {

bool is_nest(const Directive& line) {
  return std::holds_alternative<schedule::Nest>(line.operation) ||
         std::holds_alternative<schedule::Transaction>(line.operation);
}

void collect_loops(const NestTree& tree, std::set<std::string>& into) {
  if (const auto* loop = std::get_if<schedule::NestLoop>(&tree->op)) {
    into.insert(loop->name);
    collect_loops(loop->body, into);
  } else if (const auto* sequence = std::get_if<schedule::NestSequence>(&tree->op)) {
    for (const NestTree& child : sequence->children) collect_loops(child, into);
  }
}

Refusal broken(const schedule::BrokenPin& pin) {
  return schedule::located(Refusal(schedule::RefusalKind::Malformed, pin.why), pin.line);
}

// The lines without those params that no later line names. Read from the last line to the first, so
// that the names of all later lines are known.
std::vector<Directive> used(const std::vector<Directive>& lines) {
  std::vector<Directive> kept;
  std::set<std::string> names;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    const auto* param = std::get_if<schedule::SetParam>(&line->operation);
    if (param && !names.contains(param->name)) continue;
    for (const schedule::Token& token : schedule::tokenize(schedule::print(*line)))
      names.insert(token.text);
    kept.push_back(*line);
  }
  std::ranges::reverse(kept);
  return kept;
}

// Everything that becomes of one source. Lines are applied to a State as they are taken, so that
// each is asked whether it still means something after the person's.
class CandidateMaker {
 public:
  CandidateMaker(const CompletionTask& task, const CompletionSource& source,
                 const schedule::Pins& pins)
      : task_(task),
        source_(source),
        pins_(pins),
        lines_(given_splits(pins.parts().before), pins.state(), pins.environment()) {}

  Result<CompletionCandidate, Refusal> run(const schedule::Script& filled,
                                           const std::vector<GivenSplit>& needed) {
    if (pins_.parts().is_open()) add_lines(needed);
    const std::vector<Directive> added = used(lines_.taken());
    CompletionCandidate candidate{source_.name, filled, pins_.parts().before.size(), added.size(),
                                  0};
    std::vector<Directive>& all = candidate.script.directives = pins_.parts().before;
    all.insert(all.end(), added.begin(), added.end());
    schedule::State end = lines_.state();
    schedule::ScriptEnvironment environment = lines_.environment();
    for (const Directive& line : pins_.parts().after) {
      auto next = schedule::apply(end, line, environment, nullptr);
      if (!next) return next.error();
      end = *std::move(next);
      all.push_back(line);
    }
    const auto lost = pins_.broken_in(lines_.state(), end);
    if (!lost.empty()) return broken(lost.front());
    candidate.cycles = cycles_of(end, task_.machine);
    return candidate;
  }

 private:
  const CompletionTask& task_;
  const CompletionSource& source_;
  const schedule::Pins& pins_;
  BorrowedLines lines_;

  // In this order: splits that the forms name the parts of, the source's lines down to its last
  // nest, that nest brought into the forms, kinds of loops, and the source's lines behind its
  // nests. A source that was taken whole and unchanged keeps its own kinds.
  void add_lines(const std::vector<GivenSplit>& needed) {
    for (const GivenSplit& split : needed)
      lines_.take(
          {schedule::Split{{split.statement, split.loop}, split.size, false, {}, split.tail},
           schedule::Provenance::TileModel,
           0,
           {}});
    const std::vector<Directive>& source = source_.script.directives;
    const auto behind_nests = std::find_if(source.rbegin(), source.rend(), is_nest).base();
    bool all_taken = true;
    for (auto line = source.begin(); line != behind_nests; ++line)
      all_taken = lines_.take(*line) && all_taken;
    const bool is_fitted = !have_forms() && fit();
    const bool is_whole = source_.has_kinds && all_taken && !is_fitted;
    if (!is_whole && !task_.is_draft) add_kinds();
    for (auto line = behind_nests; line != source.end(); ++line) lines_.take(*line);
  }

  // All forms of all pins match the nest as it stands.
  bool have_forms() const {
    const NestTree nest = pins_.by_meaning(lines_.state());
    return std::ranges::all_of(pins_.all(), [&](const schedule::PinnedLine& pin) {
      return std::ranges::all_of(pin.forms, [&](const schedule::PinnedForm& form) {
        return schedule::matches(form.pattern, nest, form.strict);
      });
    });
  }

  bool fit() {
    const NestTree tree = fit_nest(lines_.state(), pins_);
    return lines_.replace_nests(tree);
  }

  // Vectors and threads, where iterations are independent and no pin speaks against them.
  void add_kinds() {
    for (const schedule::Leaf* leaf : schedule::leaves_of(lines_.state().tree))
      add_vector(leaf->statement);
    if (task_.machine.cores > 1) add_threads();
  }

  void add_vector(const std::string& statement) {
    const schedule::State& state = lines_.state();
    const auto path = schedule::path_to(state.tree, statement);
    if (path.empty() || path.back()->kind != LoopKind::Serial) return;
    // A vector loop around several statements would have to be split among them.
    if (schedule::statements_below(state.tree, path.back()->id).size() > 1) return;
    try_kind(statement, *path.back(), LoopKind::Vector);
  }

  void add_threads() {
    const auto is_shared = [](const schedule::Loop* loop) {
      return loop->kind == LoopKind::Parallel;
    };
    const schedule::State state = lines_.state();
    for (const schedule::Leaf* leaf : schedule::leaves_of(state.tree)) {
      const auto path = schedule::path_to(lines_.state().tree, leaf->statement);
      if (path.size() < 2 || std::ranges::any_of(path, is_shared)) continue;
      try_kind(leaf->statement, *path.front(), LoopKind::Parallel);
    }
  }

  void try_kind(const std::string& statement, const schedule::Loop& loop, LoopKind kind) {
    if (task_.prover.check_independent(lines_.state(), loop.id)) return;
    const double before = cycles_of(lines_.state(), task_.machine);
    BorrowedLines longer = lines_;
    if (!longer.set_kind(statement, loop.name, kind) ||
        cycles_of(longer.state(), task_.machine) >= before)
      return;
    // have_forms() asks lines_, so that the change is made, and undone where a form breaks.
    std::swap(lines_, longer);
    if (!have_forms()) std::swap(lines_, longer);
  }
};

// A form that names k.o or k.i needs k to be split: by the size that the person gave another
// statement's k, else by one that is still open.
void need(const std::string& loop, const schedule::Pins& pins, std::vector<GivenSplit>& needed) {
  const std::vector<GivenSplit> given = given_splits(pins.parts().before);
  for (const schedule::ScheduledStatement& s : pins.state().statements)
    for (const schedule::LoopRow& row : s.rows) {
      if (loop != schedule::tiles_of(row.loop) && loop != schedule::within_tile(row.loop)) continue;
      if (std::ranges::find(needed, row.loop, &GivenSplit::loop) != needed.end()) continue;
      const auto same = std::ranges::find(given, row.loop, &GivenSplit::loop);
      const bool is_given = same != given.end();
      needed.push_back({"", row.loop, is_given ? same->size : schedule::Size{schedule::kSizeHole},
                        is_given ? same->tail : schedule::Tail::Cut});
    }
}

// A source that splits the loop itself chooses the size.
bool splits(const Directive& line, const std::string& loop) {
  if (const auto* together = std::get_if<schedule::Transaction>(&line.operation))
    return std::ranges::any_of(together->steps,
                               [&](const Directive& step) { return splits(step, loop); });
  const std::vector<GivenSplit> made = given_splits({line});
  return std::ranges::find(made, loop, &GivenSplit::loop) != made.end();
}

}  // namespace

std::vector<GivenSplit> needed_splits(const schedule::Pins& pins, const schedule::Script& source) {
  std::vector<GivenSplit> needed;
  for (const Directive& nest : pins.parts().nests) {
    std::set<std::string> loops;
    collect_loops(std::get<schedule::Nest>(nest.operation).tree, loops);
    for (const std::string& loop : loops) need(loop, pins, needed);
  }
  std::erase_if(needed, [&](const GivenSplit& split) {
    return std::ranges::any_of(source.directives,
                               [&](const Directive& line) { return splits(line, split.loop); });
  });
  return needed;
}

schedule::Script filled(const schedule::Script& partial, const Sizes& sizes) {
  schedule::Script script = partial;
  std::size_t next = 0;
  for (Directive& line : script.directives) {
    const auto holes = schedule::size_holes(line);
    for (schedule::Size* hole : holes) hole->text = std::to_string(sizes.at(next++));
    if (!holes.empty()) line.provenance = schedule::Provenance::TileModel;
  }
  return script;
}

Result<CompletionCandidate, Refusal> candidate_of(const CompletionTask& task,
                                                  const CompletionSource& source,
                                                  const Sizes& sizes) {
  schedule::Script script = filled(task.partial, sizes);
  if (!script.says_contract) {
    script.contract = source.script.contract;
    script.reassociable = source.script.reassociable;
  }
  const auto pins =
      schedule::Pins::of(task.program, script, task.machine, schedule::ProofLevel::Off);
  if (!pins) return pins.error();
  std::vector<GivenSplit> needed =
      pins->parts().is_open() ? needed_splits(*pins, source.script) : std::vector<GivenSplit>{};
  auto size = sizes.rbegin();  // those of needed splits are the last
  for (auto split = needed.rbegin(); split != needed.rend(); ++split)
    if (split->size.text == schedule::kSizeHole) split->size = {std::to_string(*size++)};
  return CandidateMaker(task, source, *pins).run(script, needed);
}

}  // namespace polyte::poly
