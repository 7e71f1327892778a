// merge A, B through L:    { i > j > A;  i > j > B }   ->   i > { j > A;  j > B }      (L = i)
// Loop fusion by equal names; the merged nest stands where B's stood. Loops must be counted
// alike (settle checks).
// merge A, B through i with i+1:   B's loop is shifted first, so that it may read what A makes
// one iteration ahead.
// distribute L:            i > { A;  B }   ->   { i > A;  i > B }, and with L what is between:
//                          i > j > { A;  B }   ->   { i > j > A;  i > j > B }
#include <algorithm>
#include <ranges>

#include "schedule/script/primitives/edit.h"

namespace polyte::schedule {

namespace {

// Kind of the merged loop: a serial one takes the kind of the other.
std::optional<LoopKind> common_kind(LoopKind a, LoopKind b) {
  if (a == b || b == LoopKind::Serial) return a;
  if (a == LoopKind::Serial) return b;
  return std::nullopt;
}

class Merger {
 public:
  Merger(const std::string& first, const std::string& second, const std::string& through)
      : first_(first), second_(second), through_(through) {}

  // The two subtrees as one; null where `problem` says why not.
  // Loops of equal names become one, from here down to `through`; there the bodies follow one
  // another. On the way down a's last child meets b's first one, so that nothing stands between
  // them:
  //
  //   i > { X; j > A },  i > { j > B; Y }   through j   ->   i > { X; j > { A; B }; Y }
  Tree merge(const Tree& a, const Tree& b) {
    const Loop* la = std::get_if<Loop>(&a->op);
    const Loop* lb = std::get_if<Loop>(&b->op);
    if (!la || !lb || la->name != lb->name) {
      problem = first_ + " and " + second_ + " have different loops above " + through_ + ": " +
                describe(a) + " and " + describe(b);
      return nullptr;
    }
    const auto kind = common_kind(la->kind, lb->kind);
    if (!kind) {
      problem = la->name + " is " + ir::to_string(la->kind) + " for " + first_ + " and " +
                ir::to_string(lb->kind) + " for " + second_;
      return nullptr;
    }
    Loop merged = *lb;
    merged.kind = *kind;
    replaced[la->id] = lb->id;
    std::vector<Tree> heads = top_level(la->body), tails = top_level(lb->body);
    if (la->name != through_) {
      if (!contains(heads.back(), first_) || !contains(tails.front(), second_)) {
        problem =
            "other statements of " + la->name + " stand between " + first_ + " and " + second_;
        return nullptr;
      }
      const Tree inner = merge(heads.back(), tails.front());
      if (!inner) return nullptr;
      heads.back() = inner;
      tails.erase(tails.begin());
    }
    heads.insert(heads.end(), tails.begin(), tails.end());
    merged.body = make_sequence(std::move(heads));
    return make_loop(std::move(merged));
  }
  std::string problem;
  std::map<LoopId, LoopId> replaced;  // loops of the first nest, and those they are now

 private:
  const std::string &first_, &second_, &through_;

  static std::string describe(const Tree& tree) {
    const Loop* loop = std::get_if<Loop>(&tree->op);
    return loop ? loop->name : std::string("no loop");
  }
};

// Merges two children of one sequence, found by descending through the loops that both
// share already.
Tree merge_in(const Tree& tree, const std::string& first, const std::string& second,
              Merger& merger) {
  if (const Loop* loop = std::get_if<Loop>(&tree->op)) {
    Loop rebuilt = *loop;
    rebuilt.body = merge_in(loop->body, first, second, merger);
    return rebuilt.body ? make_loop(std::move(rebuilt)) : nullptr;
  }
  std::vector<Tree> children = std::get<Sequence>(tree->op).children;
  std::size_t a = children.size(), b = children.size();
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (contains(children[i], first)) a = i;
    if (contains(children[i], second)) b = i;
  }
  if (a == b) {
    children[a] = merge_in(children[a], first, second, merger);
    return children[a] ? make_sequence(std::move(children)) : nullptr;
  }
  if (a > b) {
    merger.problem = second + " stands before " + first + ": name them in their order";
    return nullptr;
  }
  // The merged nest stands where b stood: a now runs behind what was between them.
  children[b] = merger.merge(children[a], children[b]);
  if (!children[b]) return nullptr;
  children.erase(children.begin() + static_cast<std::ptrdiff_t>(a));
  return make_sequence(std::move(children));
}

// Whether both are below one loop of this name already; then there is nothing to do.
bool shares(const State& state, const std::string& a, const std::string& b,
            const std::string& loop) {
  for (const Loop* above : path_to(state.tree, a))
    if (above->name == loop) return contains(above->body, b);
  return false;
}

}  // namespace

namespace {

// Applies the shifts one after the other: to the loop of the second statement and to all statements
// that share it, but not to the first statement.
Applied with_shifts(const State& state, const Merge& directive, const PrimitiveContext& context) {
  if (!directive.with.empty() && directive.statements.size() != 2)
    return malformed("merge .. with shifts the second of two statements, got " +
                     std::to_string(directive.statements.size()));
  Applied next = state;
  const PrimitiveContext structure = {context.environment, nullptr};
  for (const Merge::Shift& shift : directive.with) {
    if (!next) return next;
    const auto by = evaluate({"0" + shift.by.text}, context);  // of i-2+3 where i is 0
    if (!by) return by.error();
    const std::string& second = directive.statements[1];
    const auto loop = the_loop(*next, {second, shift.loop});
    if (!loop) return loop.error();
    Remap remap;
    for (const std::string& below : statements_below(next->tree, (*loop)->id))
      if (below == second || !contains((*loop)->body, directive.statements[0]))
        if (row_of(next->at(below), shift.loop) && !is_pinned(*next, below, shift.loop))
          remap.statements.push_back(below);
    remap.loops = remap.replaced = {shift.loop};
    remap.values = {{shift.loop + " + (" + std::to_string(*by) + ")"}};
    next = schedule::remap(*next, remap, structure);
  }
  return next;
}

Applied merged(const State& state, const Merge& directive, const PrimitiveContext& context) {
  if (directive.statements.size() < 2) return malformed("merge needs two statements or more");
  for (auto name = directive.statements.begin(); name != directive.statements.end(); ++name)
    if (std::find(directive.statements.begin(), name, *name) != name)
      return malformed("merge names " + *name + " twice");
  for (const std::string& name : directive.statements) {
    const auto statement = the_statement(state, name);
    if (!statement) return statement.error();
    const std::vector<const Loop*> path = path_to(state.tree, name);
    if (std::ranges::none_of(path, [&](const Loop* l) { return l->name == directive.through; }))
      return malformed(no_loop_text(state, name, directive.through));
  }
  Applied start = with_shifts(state, directive, context);
  if (!start) return start;
  State next = std::move(*start);
  for (std::size_t i = 0; i + 1 < directive.statements.size(); ++i) {
    const std::string &a = directive.statements[i], &b = directive.statements[i + 1];
    if (shares(next, a, b, directive.through)) continue;
    Merger merger(a, b, directive.through);
    const Tree tree = merge_in(next.tree, a, b, merger);
    if (!tree) return malformed(merger.problem);
    next.tree = with_other_loops(tree, merger.replaced);
    for (StagedBuffer& buffer : next.staged)
      for (const auto& [old_id, new_id] : merger.replaced)
        for (LoopId* loop : {&buffer.scope_loop, &buffer.alloc_loop})
          if (*loop == old_id) *loop = new_id;
  }
  // All below the merged loop: merging moves the first nest's statements against the second's,
  // and both against what stood between.
  std::vector<std::string> moved;
  for (const Loop* above : path_to(next.tree, directive.statements.front()))
    if (above->name == directive.through) moved = statements_below(next.tree, above->id);
  if (auto refusal = settle(next)) return *refusal;
  if (auto refusal = check_moved(next, moved, context)) return *refusal;
  if (auto refusal = check_races(next, moved, context)) return *refusal;
  return next;
}

// Advice tries shifts by 1 to 4, each with proofs of its own.
constexpr int kMostShift = 4;

bool is_legal(const State& state, const Merge& directive, const PrimitiveContext& context) {
  return static_cast<bool>(merged(state, directive, context));
}

// For advice: the least amount by which all merged loops have to be shifted for the merge to be
// legal, and of those shifts only the ones that it needs.
std::optional<Merge> legal_form(const State& state, const Merge& directive,
                                const PrimitiveContext& context) {
  Merge form = directive;
  const std::vector<const Loop*> path = path_to(state.tree, directive.statements[1]);
  for (const Loop* loop : path) {
    if (!contains(loop->body, directive.statements[0])) form.with.push_back({loop->name, {"+0"}});
    if (loop->name == directive.through) break;
  }
  for (int amount = 1; amount <= kMostShift; ++amount) {
    for (Merge::Shift& shift : form.with) shift.by = {"+" + std::to_string(amount)};
    if (!is_legal(state, form, context)) continue;
    for (std::size_t i = form.with.size(); i > 0; --i) {
      Merge less = form;
      less.with.erase(less.with.begin() + static_cast<std::ptrdiff_t>(i - 1));
      if (is_legal(state, less, context)) form = less;
    }
    return form;
  }
  return std::nullopt;
}

// The loop and those below it that each hold the next one alone.
std::vector<const Loop*> single_loops(const Loop& loop) {
  std::vector<const Loop*> found = {&loop};
  while (const auto* next = std::get_if<Loop>(&found.back()->body->op)) found.push_back(next);
  return found;
}

}  // namespace

Applied merge(const State& state, const Merge& directive, const PrimitiveContext& context) {
  Applied result = merged(state, directive, context);
  if (result || result.error().kind != RefusalKind::Illegal || !context.prover) return result;
  if (directive.statements.size() != 2 || !directive.with.empty()) return result;
  const auto form = legal_form(state, directive, context);
  if (!form) return result;
  Refusal refusal = result.error();
  std::erase_if(refusal.advice, [](const std::string& text) {
    return text.find(" shifted by ") != std::string::npos;
  });
  refusal.advice.insert(refusal.advice.begin(), print(Directive{*form, Provenance::Person, 0}));
  return refusal;
}

// The first part keeps the loops' ids, each other part gets fresh ones; leaves that speak of
// the loops follow to their own.
Applied distribute(const State& state, const Distribute& directive,
                   const PrimitiveContext& context) {
  const auto loop = the_loop(state, directive.loop);
  if (!loop) return loop.error();
  const std::vector<const Loop*> around = single_loops(**loop);
  const std::vector<Tree> children = top_level(around.back()->body);
  if (children.size() < 2)
    return malformed((*loop)->name + " holds one nest only: there is nothing to distribute");
  for (const StagedBuffer& buffer : state.staged)
    if (std::ranges::any_of(around,
                            [&](const Loop* each) { return each->id == buffer.scope_loop; }))
      return malformed(buffer.of + " is staged at " +
                       find_loop(state.tree, buffer.scope_loop)->name +
                       ": its iterations would no longer be one");
  State next = state;
  const std::vector<std::string> moved = statements_below(state.tree, (*loop)->id);
  next.tree = replace_loop(state.tree, (*loop)->id, [&](const Loop&) {
    std::vector<Tree> parts;
    for (const Tree& child : children) {
      std::map<LoopId, LoopId> own;
      if (!parts.empty())
        for (const Loop* each : around) own[each->id] = next.fresh_loop();
      Tree part = with_other_loops(child, own);
      for (const Loop* each : around | std::views::reverse) {
        Loop one = *each;
        if (const auto id = own.find(one.id); id != own.end()) one.id = id->second;
        one.body = std::move(part);
        part = make_loop(std::move(one));
      }
      parts.push_back(std::move(part));
    }
    return make_sequence(std::move(parts));
  });
  if (auto refusal = settle(next)) return *refusal;
  if (auto refusal = check_moved(next, moved, context)) return *refusal;
  if (auto refusal = check_races(next, moved, context)) return *refusal;
  return next;
}

}  // namespace polyte::schedule
