#include "schedule/script/pins.h"

#include <algorithm>
#include <span>

#include "schedule/script/nest_pattern.h"
#include "schedule/script/primitives/edit.h"
#include "schedule/script/script_text.h"

namespace polyte::schedule {

namespace {

NestTree gap(NestTree body) { return nest_path({{kRestHole}}, std::move(body)); }

std::set<std::string> statements_of(const Directive& line) {
  std::set<std::string> all;
  if (const Nest* nest = std::get_if<Nest>(&line.operation)) return statements_in(nest->tree);
  if (const Order* order = std::get_if<Order>(&line.operation)) return {order->statement};
  if (const Transaction* together = std::get_if<Transaction>(&line.operation))
    for (const Directive& step : together->steps) all.merge(statements_of(step));
  return all;
}

// Loops of which a line has changed the kind, each by its first statement. Compared by name: a
// nest gives all of its loops new ids.
std::vector<std::pair<std::string, const Loop*>> kinds_set(const State& before,
                                                           const State& after) {
  std::vector<std::pair<std::string, const Loop*>> found;
  std::set<LoopId> seen;
  for (const Leaf* leaf : leaves_of(after.tree)) {
    std::map<std::string, LoopKind> was;
    if (before.find(leaf->statement))
      for (const Loop* loop : path_to(before.tree, leaf->statement)) was[loop->name] = loop->kind;
    for (const Loop* loop : path_to(after.tree, leaf->statement)) {
      const auto old = was.find(loop->name);
      const LoopKind kind = old == was.end() ? LoopKind::Serial : old->second;
      if (kind != loop->kind && seen.insert(loop->id).second)
        found.emplace_back(leaf->statement, loop);
    }
  }
  return found;
}

// How many loops two statements share: in one tree a loop is one node.
std::size_t shared_loops(const State& state, const std::string& a, const std::string& b) {
  const auto x = path_to(state.tree, a), y = path_to(state.tree, b);
  return static_cast<std::size_t>(std::ranges::mismatch(x, y).in1 - x.begin());
}

// The pattern of two statements that share the loops of the path, one after the other below it:
// `... > through > ... > { ... > a; ... > b }`.
NestTree fused(const NestPath& path, const std::string& a, const std::string& b) {
  return nest_path(path, nest_sequence({gap(nest_statement(a)), gap(nest_statement(b))}));
}

}  // namespace

// --- what lines pin

// `end` is the State after all lines above the holes: what a later line of the person has undone is
// not pinned.
namespace {

class LineForms {
 public:
  LineForms(const State& before, const State& after, const State& end)
      : before_(before), after_(after), end_(end) {}

  std::vector<PinnedForm> run(const Directive& line) {
    if (const auto whole = statements_of(line); !whole.empty()) add_whole(whole);
    if (const Reorder* reorder = std::get_if<Reorder>(&line.operation))
      add_order(reorder->statement, reorder->loops);
    if (const Interchange* two = std::get_if<Interchange>(&line.operation))
      add_order(two->statement, {two->inner, two->outer});
    if (const Merge* merge = std::get_if<Merge>(&line.operation))
      add_fused(merge->statements, merge->through);
    if (const ComputeWith* with = std::get_if<ComputeWith>(&line.operation))
      add_fused({with->with, with->statement}, with->through);
    if (const Distribute* apart = std::get_if<Distribute>(&line.operation)) add_apart(apart->loop);
    if (statements_of(line).empty())
      for (const auto& [statement, loop] : kinds_set(before_, after_)) add_kind(statement, *loop);
    return std::move(forms_);
  }

 private:
  const State &before_, &after_, &end_;
  std::vector<PinnedForm> forms_;

  // Only what still holds at the end.
  void add(NestTree pattern, bool strict = false) {
    if (matches(pattern, nest_of(end_.tree, end_.tree), strict))
      forms_.push_back({std::move(pattern), strict});
  }

  void add_whole(const std::set<std::string>& statements) {
    if (const NestTree nest = restricted(nest_of(end_.tree, end_.tree), statements))
      add(nest, true);
  }

  // `... > [i] > ... > S`
  void add_kind(const std::string& statement, const Loop& loop) {
    add(gap(nest_path({{loop.name, loop.kind}}, gap(nest_statement(statement)))));
  }

  void add_order(const std::string& selector, const std::vector<std::string>& loops) {
    for (const Leaf* leaf : leaves_of(end_.tree)) {
      const auto selected = select_statements(end_, selector);
      if (!selector.empty() && !has(selected, leaf->statement)) continue;
      NestTree pattern = gap(nest_statement(leaf->statement));
      for (std::size_t i = loops.size(); i > 0; --i)
        pattern = gap(nest_path({{loops[i - 1]}}, std::move(pattern)));
      add(std::move(pattern));
    }
  }

  void add_fused(const std::vector<std::string>& statements, const std::string& through) {
    for (std::size_t i = 1; i < statements.size(); ++i)
      add(fused({{kRestHole}, {through}, {kRestHole}}, statements[i - 1], statements[i]));
  }

  // Statements that shared the loop and do so no more.
  // Neighbours that shared a loop before the line and no longer do: the pattern says that they
  // are in one nest down to the loops that they still share, and apart below.
  void add_apart(const LoopName& name) {
    const std::vector<const Leaf*> leaves = leaves_of(before_.tree);
    for (std::size_t i = 1; i < leaves.size(); ++i) {
      const std::string &a = leaves[i - 1]->statement, &b = leaves[i]->statement;
      const std::size_t depth = shared_loops(after_, a, b);
      const auto path = path_to(before_.tree, b);
      if (shared_loops(before_, a, b) <= depth || path[depth]->name != name.loop) continue;
      NestPath shared;
      for (std::size_t d = 0; d < depth; ++d) shared.push_back({path[d]->name});
      add(fused(shared, a, b));
    }
  }
};

}  // namespace

// What is true after the line and was not before it, if it is still true behind the last line.
void Pins::add_pin(const Directive& line, const State& before, const State& after) {
  const std::set<PinnedFact> had = facts_of(before);
  PinnedLine pin{line, {}, {}};
  for (const PinnedFact& fact : facts_of(after))
    if (!had.contains(fact) && missing(state_, fact).empty()) pin.facts.push_back(fact);
  const std::set<PinnedFact> still = facts_of(state_);
  // Facts of no statement, such as storage, are compared as words.
  std::erase_if(pin.facts, [&](const PinnedFact& fact) {
    return fact.statement.empty() && !still.contains(fact);
  });
  pin.forms = LineForms(before, after, state_).run(line);
  if (!pin.facts.empty() || !pin.forms.empty()) pins_.push_back(std::move(pin));
}

Result<Pins, Refusal> Pins::of(const std::shared_ptr<const ir::Program>& program,
                               const Script& script, const Machine& machine, ProofLevel proof) {
  Pins pins;
  pins.parts_ = parts_of(script);
  Script above = script;
  above.directives = pins.parts_.before;
  std::vector<State> states;
  const ReplayOptions options{
      proof, [&](const Directive&, const State& state, double) { states.push_back(state); }};
  auto state = replay(program, above, machine, options);
  if (!state) return state.error();
  pins.state_ = *state;
  pins.environment_ = initial_environment(above, *program, machine);
  // replay hands out the States; the values of params are collected by walking the same lines
  // again without proof.
  State before = reference_state(program);
  before.contract = state->contract, before.reassociable = state->reassociable;
  State walked = before;
  for (const Directive& line : above.directives) {
    auto next = apply(walked, line, pins.environment_, nullptr);
    POLYTE_CHECK(static_cast<bool>(next), "a line that was accepted is refused");
    walked = *std::move(next);
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    pins.add_pin(above.directives[i], before, states[i]);
    before = states[i];
  }
  for (const Directive& nest : pins.parts_.nests)
    if (const NestTree& tree = std::get<Nest>(nest.operation).tree; !is_rest(tree))
      pins.pins_.push_back(PinnedLine{nest, {}, {{tree, false}}});
  return pins;
}

// --- names by what loops count

// A loop of the finished script is named as the pinned lines call what it counts: `split i by 8` of
// the scheduler may be called anything, and is i.o if its row is i // 8. With a name of theirs that
// means something else it gets a ' behind it.
std::string Pins::meaning_of(const State& state, const Loop& loop) const {
  std::vector<std::string> below = statements_below(state.tree, loop.id);
  // Statements that the pinned lines did not have: copies, parts of sums.
  std::erase_if(below, [&](const std::string& statement) { return !state_.find(statement); });
  std::vector<std::string> names;
  for (const std::string_view chain : kPartChains)
    for (const std::string& statement : below)
      for (const LoopRow& row : state_.at(statement).rows)
        names.push_back(row.loop + std::string(chain));
  // A loop, or the part of one that the rest of the name says.
  const auto counts = [&](const std::string& statement, const std::string& name) {
    const LoopRow* row = row_of(state.at(statement), loop.name);
    return row && std::ranges::any_of(state_.at(statement).rows, [&](const LoopRow& meant) {
             const std::string_view chain =
                 std::string_view(name).substr(std::min(name.size(), meant.loop.size()));
             return name == meant.loop + std::string(chain) &&
                    std::ranges::find(kPartChains, chain) != std::end(kPartChains) &&
                    is_part(row->value, meant.value, chain);
           });
  };
  const auto is_meant = [&](const std::string& name) {
    return std::ranges::all_of(
        below, [&](const std::string& statement) { return counts(statement, name); });
  };
  const bool is_known = std::ranges::find(names, loop.name) != names.end();
  if (is_known && is_meant(loop.name)) return loop.name;
  const auto meant = std::ranges::find_if(names, is_meant);
  if (meant != names.end() && !below.empty()) return *meant;
  return is_known || below.empty() ? loop.name + "'" : loop.name;
}

NestTree Pins::by_meaning(const State& state) const {
  State named = state;
  named.tree = map_loops(state.tree, [&](const Loop& loop) {
    Loop result = loop;
    result.name = meaning_of(state, loop);
    return result;
  });
  return nest_of(named.tree, named.tree);
}

// --- whether they hold

namespace {

void collect_paths(const NestTree& tree, std::vector<std::string> above,
                   std::map<std::string, std::vector<std::string>>& into) {
  if (const NestLeaf* leaf = std::get_if<NestLeaf>(&tree->op)) {
    into[leaf->statement] = std::move(above);
  } else if (const NestLoop* loop = std::get_if<NestLoop>(&tree->op)) {
    if (loop->name != kRestHole) above.push_back(loop->name);
    collect_paths(loop->body, std::move(above), into);
  } else {
    for (const NestTree& child : std::get<NestSequence>(tree->op).children)
      collect_paths(child, above, into);
  }
}

// Why a nest does not have the form: the loop that a statement lacks, or else the nest itself.
std::string other_form(const NestTree& pattern, const NestTree& nest) {
  std::map<std::string, std::vector<std::string>> wanted, there;
  collect_paths(pattern, {}, wanted);
  collect_paths(nest, {}, there);
  for (const auto& [statement, loops] : wanted) {
    if (statement == kRestHole) continue;
    const auto found = there.find(statement);
    if (found == there.end()) return "there is no statement " + statement;
    for (const std::string& loop : loops)
      if (!has(found->second, loop))
        return statement + " has no loop " + loop + " (its loops are " + join_words(found->second) +
               ")";
  }
  return "the nest has another form: " + print(nest);
}

}  // namespace

std::vector<BrokenPin> Pins::broken_in(const State& filled, const State& end) const {
  std::vector<BrokenPin> broken;
  const std::set<PinnedFact> facts = facts_of(filled);
  const NestTree nest = by_meaning(filled), last = by_meaning(end);
  for (const PinnedLine& pin : pins_) {
    std::string why;
    for (const PinnedFact& fact : pin.facts) {
      if (!why.empty()) break;
      const bool is_there = fact.statement.empty() && facts.contains(fact);
      if (!is_there) why = missing(filled, fact);
    }
    const Nest* line = std::get_if<Nest>(&pin.line.operation);
    const bool is_open = line && has_holes(line->tree);
    for (const PinnedForm& form : pin.forms)
      if (why.empty() && !matches(form.pattern, is_open ? last : nest, form.strict))
        why = other_form(form.pattern, is_open ? last : nest);
    if (!why.empty()) broken.push_back({pin.line, why});
  }
  return broken;
}

std::string print(const BrokenPin& broken) {
  const std::string line =
      broken.line.line > 0 ? "line " + std::to_string(broken.line.line) + ": " : "";
  return line + print(broken.line) + ": " + broken.why;
}

namespace {

// The text of a line without its holes and without who chose it: "split k by ", "   tail cut".
std::vector<std::string> pieces_of(Directive line) {
  line.provenance = Provenance::Person;
  std::vector<std::string> pieces = {""};
  std::string text = print(line);
  for (std::size_t at = text.find(kSizeHole); at != std::string::npos; at = text.find(kSizeHole)) {
    pieces.back() = text.substr(0, at);
    pieces.emplace_back();
    text = text.substr(at + 1);
  }
  pieces.back() = text;
  return pieces;
}

// Whether the line is the open one with each hole filled by one character or more: its pieces stand
// in the line in order, the last one at its end.
bool is_filled_from(const Directive& open, Directive line) {
  line.provenance = Provenance::Person;
  std::string text = print(line);
  const std::vector<std::string> pieces = pieces_of(open);
  if (pieces.size() == 1) return text == pieces.front();
  if (!text.starts_with(pieces.front())) return false;
  std::size_t at = pieces.front().size();
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    const std::size_t found = i + 1 == pieces.size()
                                  ? text.size() - std::min(text.size(), pieces[i].size())
                                  : text.find(pieces[i], at + 1);
    if (found == std::string::npos || found <= at ||
        text.compare(found, pieces[i].size(), pieces[i]) != 0)
      return false;
    at = found + pieces[i].size();
  }
  return true;
}

void compare_lines(std::span<const Directive> open, std::span<const Directive> lines,
                   std::vector<BrokenPin>& broken) {
  for (std::size_t i = 0; i < open.size(); ++i)
    if (!is_filled_from(open[i], lines[i]))
      broken.push_back({open[i], "it is now: " + print(lines[i])});
}

}  // namespace

// By text first: each line of the person stands where it stood, its holes filled. Then by
// meaning: the lines above the holes, with the sizes that were filled in, say what the final
// State has to show.
std::vector<BrokenPin> broken_pins(const std::shared_ptr<const ir::Program>& program,
                                   const Script& partial, const Script& completed,
                                   const Machine& machine) {
  std::vector<BrokenPin> broken;
  PartialScript parts = parts_of(partial);
  const std::span<const Directive> lines(completed.directives);
  if (lines.size() < parts.before.size() + parts.after.size())
    return {{partial.directives.front(), "the script has lost lines"}};
  const std::size_t last = lines.size() - parts.after.size();
  // The person's lines stand at the beginning and the end of the finished script; what fills the
  // holes lies between.
  compare_lines(parts.before, lines.first(parts.before.size()), broken);
  compare_lines(parts.after, lines.subspan(last), broken);
  if (!broken.empty()) return broken;
  Script above = partial;  // with the sizes of the finished one
  above.directives.assign(lines.begin(),
                          lines.begin() + static_cast<std::ptrdiff_t>(parts.before.size()));
  above.directives.insert(above.directives.end(), parts.nests.begin(), parts.nests.end());
  above.digest = completed.digest, above.target = completed.target,
  above.threads = completed.threads;
  above.dtype = completed.dtype, above.contract = completed.contract,
  above.reassociable = completed.reassociable;
  const auto pins = Pins::of(program, above, machine, ProofLevel::Off);
  if (!pins) return {{lines.front(), pins.error().headline}};
  std::vector<State> states;
  const ReplayOptions options{ProofLevel::Off, [&](const Directive&, const State& state, double) {
                                states.push_back(state);
                              }};
  const auto end = replay(program, completed, machine, options);
  if (!end) return {{lines.back(), end.error().headline}};
  return pins->broken_in(last == 0 ? reference_state(program) : states[last - 1], *end);
}

}  // namespace polyte::schedule
