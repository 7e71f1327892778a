#include "schedule/script/effects.h"

#include <algorithm>
#include <set>

#include "schedule/script/directive_table.h"
#include "schedule/script/hints.h"
#include "schedule/script/primitives/edit.h"
#include "schedule/script/script_lexer.h"
#include "schedule/script/size_expr.h"
#include "schedule/state/digits.h"

namespace polyte::schedule {

namespace {

bool same_rows(const ScheduledStatement& a, const ScheduledStatement& b) {
  return std::ranges::equal(a.rows, b.rows, [](const LoopRow& x, const LoopRow& y) {
    return x.loop == y.loop && x.value == y.value && x.tail == y.tail && x.cuts == y.cuts;
  });
}

// What a directive may change of a buffer that there is.
bool same_storage(const StagedBuffer& a, const StagedBuffer& b) {
  return a.name == b.name && a.shape == b.shape && a.memory == b.memory &&
         a.scope_loop == b.scope_loop && a.alloc_loop == b.alloc_loop && a.swizzle == b.swizzle;
}

// Whether nothing that a later stage sees has changed: tree, kinds, rows, storage, hints.
bool is_same(const State& a, const State& b) {
  if (!a.tree || !b.tree) return !a.tree && !b.tree;
  return a.basis == b.basis && a.reassociated == b.reassociated &&
         a.prefetches.size() == b.prefetches.size() && a.nontemporal == b.nontemporal &&
         a.reused == b.reused && a.tensorized.size() == b.tensorized.size() &&
         std::ranges::equal(a.staged, b.staged, same_storage) &&
         print_nest(a.tree) == print_nest(b.tree) &&
         std::ranges::equal(a.statements, b.statements, [](const auto& x, const auto& y) {
           return x.body.name == y.body.name && x.atomic == y.atomic && x.padded == y.padded &&
                  same_rows(x, y) && x.body.domain == y.body.domain;
         });
}

// Iterations of the loop, where that is one number.
std::optional<std::int64_t> trips_of(const State& state, const Loop& loop) {
  return extent_of(state, statements_below(state.tree, loop.id), loop.name);
}

void collect_kinds(const Tree& tree, std::vector<const Loop*>& into) {
  if (const Sequence* sequence = std::get_if<Sequence>(&tree->op)) {
    for (const Tree& child : sequence->children) collect_kinds(child, into);
  } else if (const Loop* loop = std::get_if<Loop>(&tree->op)) {
    if (loop->kind != LoopKind::Serial) into.push_back(loop);
    collect_kinds(loop->body, into);
  }
}

// The note that a kind which another directive gave is overwritten; empty: none was.
std::string replaced_kind(const State& before, const Loop& loop) {
  const Loop* old = before.tree ? find_loop(before.tree, loop.id) : nullptr;
  if (!old || old->kind == LoopKind::Serial) return "";
  return loop.name + " was " + print_loop(old->name, old->kind) + " before: that is undone";
}

// Loops whose kind this directive has set.
std::vector<const Loop*> new_kinds(const State& before, const State& after) {
  std::vector<const Loop*> loops, result;
  if (after.tree) collect_kinds(after.tree, loops);
  for (const Loop* loop : loops) {
    const Loop* old = before.tree ? find_loop(before.tree, loop->id) : nullptr;
    if (!old || old->kind != loop->kind) result.push_back(loop);
  }
  return result;
}

// `unroll` and `parallel` of one iteration do nothing; lanes of a vector that has not enough
// iterations stay idle.
std::string kind_note(const State& after, const Loop& loop, std::int64_t lanes) {
  const auto trips = trips_of(after, loop);
  if (!trips) return "";
  const std::string name = ir::to_string(loop.kind) + " loop ";
  if (*trips == 1) return name + loop.name + " runs once: it has no effect";
  if (loop.kind != LoopKind::Vector || *trips % lanes == 0) return "";
  return name + loop.name + " runs " + std::to_string(*trips) + " iterations, no multiple of the " +
         std::to_string(lanes) + " lanes of a vector";
}

// A point at which the loop of a statement is cut.
struct LoopCut {
  const ScheduledStatement* statement = nullptr;
  std::string loop;
  ir::Affine at;
};

// Cuts that `after` has and `before` does not; none for a statement that is new.
std::vector<LoopCut> new_cuts(const State& before, const State& after) {
  std::vector<LoopCut> cuts;
  for (const ScheduledStatement& s : after.statements) {
    const ScheduledStatement* old = before.find(s.body.name);
    for (std::size_t i = 0; old && i < s.rows.size(); ++i)
      for (std::size_t c = old->rows[i].cuts.size(); c < s.rows[i].cuts.size(); ++c)
        cuts.push_back({old, s.rows[i].loop, s.rows[i].cuts[c]});
  }
  return cuts;
}

// The range of the statement's loop, as words, where the cut falls outside of it; empty where it
// cuts the loop in two, or where that is not known.
std::string uncut_loop(const State& before, const LoopCut& cut) {
  const ir::Ranges ranges = loop_ranges(before, *cut.statement);
  const auto range = ranges.find(cut.loop);
  if (!cut.at.is_constant() || range == ranges.end() || !range->second.min || !range->second.max)
    return "";
  const std::int64_t first = *range->second.min, last = *range->second.max;
  if (cut.at.constant() > first && cut.at.constant() <= last) return "";
  return cut.loop + " runs from " + std::to_string(first) + " to " + std::to_string(last);
}

// The same for all new cuts: empty as soon as one of them cuts a loop in two.
std::string uncut_loop(const State& before, const std::vector<LoopCut>& cuts) {
  std::string loop;
  for (const LoopCut& cut : cuts) {
    loop = uncut_loop(before, cut);
    if (loop.empty()) return "";
  }
  return loop;
}

// The note on a cut that leaves a part empty at the sizes at hand. It is a note and no refusal,
// since the cut is legal at any size.
std::string cut_note(const State& before, const State& after) {
  const std::vector<LoopCut> cuts = new_cuts(before, after);
  const std::string loop = uncut_loop(before, cuts);
  if (loop.empty()) return "";
  return loop + ": a cut at " + ir::to_string(cuts.back().at) +
         " leaves one part empty, it has no effect";
}

// A peel of all iterations, for every statement, leaves one part: the loop as it was.
std::string peel_note(const State& before, const State& after, const Peel& peel) {
  const std::string loop = uncut_loop(before, new_cuts(before, after));
  if (loop.empty()) return "";
  return loop + ": with its " + (peel.first ? "first " : "last ") +
         (peel.count.text.empty() ? "1" : peel.count.text) +
         " peeled nothing is left, it has no effect";
}

// A prefetch that comes too late to be used, or brings what is there.
std::string prefetch_note(const State& after, const PrefetchHint& hint) {
  const Loop& loop = *find_loop(after.tree, hint.along);
  const auto trips = trips_of(after, loop);
  if (trips && *trips <= hint.distance)
    return loop.name + " runs " + std::to_string(*trips) + " iterations, " +
           std::to_string(hint.distance) + " ahead is past its end: it has no effect there";
  const auto box = ahead_of(after, hint);
  const bool moves = !box || std::ranges::any_of(box->origin, [&](const ir::Affine& origin) {
    return origin.uses(loop.name);
  });
  return moves ? ""
               : "every iteration of " + loop.name + " reads the same of " + hint.buffer +
                     ": it has no effect";
}

using Notes = std::vector<std::string>;

Notes said(const std::string& note) { return note.empty() ? Notes{} : Notes{note}; }

// The names that a text uses.
void collect_names(const std::string& text, std::set<std::string>& into) {
  for (const Token& token : tokenize(text))
    if (token.kind == Token::Kind::Name) into.insert(token.text);
}

}  // namespace

Notes idle_kind(const State& before, const Operation&, const State& after,
                const ScriptEnvironment&) {
  Notes notes;
  for (const Loop* loop : new_kinds(before, after))
    if (std::string note = replaced_kind(before, *loop); !note.empty()) notes.push_back(note);
  return notes;
}

Notes idle_cut(const State& before, const Operation&, const State& after,
               const ScriptEnvironment&) {
  return said(cut_note(before, after));
}

Notes idle_peel(const State& before, const Operation& operation, const State& after,
                const ScriptEnvironment&) {
  return said(peel_note(before, after, std::get<Peel>(operation)));
}

Notes idle_prefetch(const State&, const Operation&, const State& after, const ScriptEnvironment&) {
  return said(prefetch_note(after, after.prefetches.back()));
}

Notes idle_stage(const State&, const Operation& operation, const State&,
                 const ScriptEnvironment& environment) {
  const std::string& text = std::get<Stage>(operation).pad.text;
  if (text.empty()) return {};
  const auto pad = evaluate_size(text, environment.values);
  return said(pad && *pad == 0 ? "pad 0 has no effect" : "");
}

// A directive that leaves the State as it was is idle as a whole. Else its parts: kinds that it
// has set, and what its row in the table looks at.
std::vector<std::string> idle_parts(const State& before, const Directive& directive,
                                    const State& after, const ScriptEnvironment& environment) {
  const DirectiveRow& row = row_of(directive.operation);
  if (row.is_setting) return {};
  if (is_same(before, after)) return {"it has no effect"};
  Notes notes;
  const auto lanes = environment.values.find("L");
  for (const Loop* loop : new_kinds(before, after))
    if (std::string note =
            kind_note(after, *loop, lanes == environment.values.end() ? 1 : lanes->second);
        !note.empty() && std::ranges::find(notes, note) == notes.end())
      notes.push_back(note);
  const Notes own = row.idle ? row.idle(before, directive.operation, after, environment) : Notes{};
  notes.insert(notes.end(), own.begin(), own.end());
  return notes;
}

// From the last line up: a name counts as used if the text of a directive behind its line has
// it as a token.
std::vector<std::pair<int, std::string>> unused_names(const Script& script) {
  std::vector<std::pair<int, std::string>> unused;
  std::set<std::string> used;  // by the directives that come after
  for (auto directive = script.directives.rbegin(); directive != script.directives.rend();
       ++directive) {
    const SetParam* param = std::get_if<SetParam>(&directive->operation);
    const Let* let = std::get_if<Let>(&directive->operation);
    if (param && !used.contains(param->name))
      unused.emplace_back(directive->line, "param " + param->name + " is not used");
    if (let && !used.contains(let->name))
      unused.emplace_back(directive->line, "let " + let->name + " is not used");
    Directive plain = *directive;
    plain.provenance = Provenance::Person;
    collect_names(print(plain), used);
  }
  std::ranges::reverse(unused);
  return unused;
}

}  // namespace polyte::schedule
