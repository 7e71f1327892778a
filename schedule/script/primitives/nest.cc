// nest: order, placement, recomputation and kinds of several statements at once, checked once
// at its end. The statements leave their places, and the nest stands where the last of them
// stood; all else stays. A loop is shared by the leaves below it that own a loop of its name. A
// leaf below a loop that it does not own has to say in which iterations it runs: `when first
// k`, `when last k`, or `at x.o`. Loops that a path omits follow innermost, serial.
#include "schedule/script/script_text.h"

#include <algorithm>

#include "ir/relations.h"
#include "schedule/script/primitives/lift.h"

namespace polyte::schedule {

namespace {

// The tree of the directive: fragments expanded, fresh loops. Problems are collected, all at once.
class NestBuilder {
 public:
  NestBuilder(State& state, const PrimitiveContext& context) : state_(state), context_(context) {}

  Tree build(const NestTree& node) {
    if (const NestLoop* loop = std::get_if<NestLoop>(&node->op)) return build_loop(*loop);
    if (const NestLeaf* leaf = std::get_if<NestLeaf>(&node->op)) return build_leaf(*leaf);
    std::vector<Tree> children;
    for (const NestTree& child : std::get<NestSequence>(node->op).children)
      children.push_back(build(child));
    return make_sequence(std::move(children));
  }
  const Names& statements() const { return statements_; }
  const std::vector<NestLeaf>& leaves() const { return leaves_; }  // in text order
  const Names& problems() const { return problems_; }

 private:
  State& state_;
  const PrimitiveContext& context_;
  Names statements_, problems_;
  std::vector<NestLeaf> leaves_;

  // A plain name may stand for a fragment, `tile` for [m.i] > <n.i>.
  Tree build_loop(const NestLoop& loop) {
    Tree body = build(loop.body);
    const auto fragment = context_.environment.fragments.find(loop.name);
    if (loop.kind != LoopKind::Serial || fragment == context_.environment.fragments.end())
      return around(loop.name, loop.kind, std::move(body));
    const auto path = parse_path(fragment->second);
    if (!path) {
      problems_.push_back("fragment " + loop.name + ": " + path.error().reason);
      return body;
    }
    for (std::size_t i = path->size(); i > 0; --i)
      body = around((*path)[i - 1].name, (*path)[i - 1].kind, std::move(body));
    return body;
  }

  Tree around(const std::string& name, LoopKind kind, Tree body) {
    return make_loop(
        {.id = state_.fresh_loop(), .name = name, .kind = kind, .body = std::move(body)});
  }

  // A leaf without its `when` and `at`: these are added when the loops that a path omits are there
  // (NestApplication::place).
  Tree build_leaf(const NestLeaf& leaf) {
    const auto statement = the_statement(state_, leaf.statement);
    if (!statement)
      problems_.push_back(statement.error().headline);
    else if (has(statements_, leaf.statement))
      problems_.push_back(leaf.statement + " is placed twice");
    else
      statements_.push_back(leaf.statement);
    leaves_.push_back(leaf);
    return make_leaf({leaf.statement, {}, {}});
  }
};

// Replaces a leaf by what `f` makes of it.
Tree replace_leaf(const Tree& tree, const std::string& statement,
                  const std::function<Tree(const Tree&)>& f) {
  if (const Leaf* leaf = std::get_if<Leaf>(&tree->op))
    return leaf->statement == statement ? f(tree) : tree;
  if (const Loop* loop = std::get_if<Loop>(&tree->op)) {
    Loop rebuilt = *loop;
    rebuilt.body = replace_leaf(loop->body, statement, f);
    return make_loop(std::move(rebuilt));
  }
  std::vector<Tree> children;
  for (const Tree& child : std::get<Sequence>(tree->op).children)
    children.push_back(replace_leaf(child, statement, f));
  return make_sequence(std::move(children));
}

// Owned loops of a statement that is being placed anew: all rows (its old `when` rows are gone).
Names loops_of(const ScheduledStatement& s) {
  Names names;
  for (const LoopRow& row : s.rows) names.push_back(row.loop);
  return names;
}

// Each loop above is either the statement's own or named by `when`, and none is both:
//
//   nest k.o > { m > acc.init; .. }   acc.init has no loop k.o: when first k.o?
void check_leaf(const State& state, const Tree& tree, const NestLeaf& leaf, Names& problems) {
  const Names owned = loops_of(state.at(leaf.statement));
  Names path;
  for (const Loop* loop : path_to(tree, leaf.statement)) {
    if (has(path, loop->name)) problems.push_back(loop->name + " is twice above " + leaf.statement);
    path.push_back(loop->name);
    const bool is_owned = has(owned, loop->name);
    const bool pinned = std::ranges::find(leaf.when, loop->name, &When::loop) != leaf.when.end();
    if (is_owned && pinned)
      problems.push_back(leaf.statement + " has a loop " + loop->name +
                         " of its own: when means a loop it does not have");
    if (!is_owned && !pinned) {
      const std::string fate = fate_of(state.at(leaf.statement), loop->name);
      if (!fate.empty())
        problems.push_back(leaf.statement + " has no loop " + loop->name + fate +
                           " (its loops are " + join_words(owned) + ")");
      else
        problems.push_back(
            leaf.statement + " is inside " + loop->name +
            " and has no loop of that name: say when first, when last or at (its loops are " +
            join_words(owned) + ")");
    }
  }
  for (const When& when : leaf.when)
    if (!has(path, when.loop))
      problems.push_back(leaf.statement + " when " + (when.first ? "first " : "last ") + when.loop +
                         ": it is not below " + when.loop);
}

// nest m.o > y, of a y with loops m.o, m.i, n:   m.o > m.i > n > y
Tree with_omitted_loops(State& state, const Tree& tree, const std::string& statement) {
  Names path, omitted;
  for (const Loop* loop : path_to(tree, statement)) path.push_back(loop->name);
  for (const std::string& loop : loops_of(state.at(statement)))
    if (!has(path, loop)) omitted.push_back(loop);
  if (omitted.empty()) return tree;
  return replace_leaf(tree, statement,
                      [&](const Tree& leaf) { return loops_around(state, omitted, leaf); });
}

bool share_a_loop(const Tree& tree, const std::string& a, const std::string& b) {
  const std::vector<const Loop*> of_a = path_to(tree, a), of_b = path_to(tree, b);
  return !of_a.empty() && !of_b.empty() && of_a.front()->id == of_b.front()->id;
}

// A statement of an ordered region that shares its loop with statements of the nest has to be
// placed with them: left behind, it would have no loop that orders it.
void check_regions(const State& state, const Names& named, Names& problems) {
  for (const ir::Item& item : state.basis->order) {
    const ir::Region* region = std::get_if<ir::Region>(&item);
    if (!region) continue;
    Names now;  // as they are called: a cut into parts has made several of one
    for (const std::size_t inside : ir::statements_in(region->body))
      for (const ScheduledStatement& part : state.statements)
        if (part.reference == state.basis->statements[inside].name) now.push_back(part.body.name);
    const auto is_left = [&](const std::string& s) {
      return std::ranges::any_of(now, [&](const std::string& other) {
        return has(named, other) && share_a_loop(state.tree, s, other);
      });
    };
    for (const std::string& s : now)
      if (!has(named, s) && is_left(s))
        problems.push_back(s + " is in the ordered region " + region->iterator +
                           " with statements of this nest: place it too");
  }
}

// The tree with the nest in the place of the last of its statements.
Tree in_place(const Tree& tree, const Names& named, const Tree& nest_tree) {
  const std::vector<Tree> children = top_level(tree);
  std::size_t last = 0;
  for (std::size_t i = 0; i < children.size(); ++i)
    for (const std::string& name : named)
      if (contains(children[i], name)) last = i;
  std::vector<Tree> result;
  for (std::size_t i = 0; i < children.size(); ++i) {
    Tree kept = children[i];
    const std::vector<const Leaf*> leaves = leaves_of(children[i]);
    // The child where the nest goes may keep statements that the nest does not name: in front
    // of them, or behind, as its own statements were.
    const bool leads =
        has(named, leaves.front()->statement) && !has(named, leaves.back()->statement);
    for (const std::string& name : named)
      if (kept) kept = without_statement(kept, name);
    if (i == last && leads) result.push_back(nest_tree);
    if (kept) result.push_back(kept);
    if (i == last && !leads) result.push_back(nest_tree);
  }
  return make_sequence(std::move(result));
}

std::string tensor_of(const State& state, const std::string& statement) {
  const ScheduledStatement& s = state.at(statement);
  return s.reference.empty() ? s.body.writes.front().buffer
                             : state.basis->statement(s.reference).writes.front().buffer;
}

// Applies one nest: ordinary leaves first, then the recomputed ones from the last to the first, so
// that consumers are in place before their producers' boxes are computed.
class NestApplication {
 public:
  NestApplication(const State& state, const PrimitiveContext& context)
      : next_(state), context_(context) {}

  Applied run(const Nest& directive) {
    NestBuilder builder(next_, context_);
    nest_ = builder.build(directive.tree);
    named_ = builder.statements();
    leaves_ = builder.leaves();
    Names problems = builder.problems();
    if (problems.empty()) check_regions(next_, named_, problems);
    if (problems.empty()) place_ordinary(problems);
    if (!problems.empty()) return refuse_all(problems);
    if (auto refusal = settle_without(recomputed_)) return *refusal;
    while (!recomputed_.empty())
      if (auto refusal = place_recomputed()) return *refusal;
    if (auto refusal = prove()) return *refusal;
    return std::move(next_);
  }

 private:
  State next_;
  const PrimitiveContext& context_;
  Tree nest_;
  Names named_;
  std::vector<NestLeaf> leaves_, recomputed_;  // in text order; the second: not lifted yet
  Names lifted_tensors_;

  static Refusal refuse_all(const Names& problems) {
    std::string text;
    for (const std::string& problem : problems) text += (text.empty() ? "" : "; ") + problem;
    return malformed(text);
  }

  // A statement that is recomputed already keeps its `at`, of which it has the iterators; its
  // new place may say nothing else.
  void place_ordinary(Names& problems) {
    for (NestLeaf& leaf : leaves_) {
      const NestLeaf old = leaf_said(leaf_of(next_, leaf.statement), next_.tree);
      unpin(next_, leaf.statement);
      const ScheduledStatement& s = next_.at(leaf.statement);
      if (s.lifted == 0 || s.kind == StatementKind::Copy) continue;
      if (!leaf.at.empty())
        problems.push_back(leaf.statement + " is recomputed already, at " + old.at);
      leaf.at = old.at;
      leaf.per = old.per;
    }
    next_.tree = in_place(next_.tree, named_, nest_);
    for (const NestLeaf& leaf : leaves_) {
      if (!leaf.at.empty() && next_.at(leaf.statement).lifted == 0)
        recomputed_.push_back(leaf);
      else
        place(leaf, problems);
    }
  }

  // Puts the leaf below its loops, with those that the path omits innermost.
  void place(const NestLeaf& leaf, Names& problems) {
    check_leaf(next_, next_.tree, leaf, problems);
    if (!problems.empty()) return;
    next_.tree = with_omitted_loops(next_, next_.tree, leaf.statement);
    next_.tree = with_leaf(next_.tree, leaf);
  }

  // Settles the tree without the leaves that are still to be lifted; then puts them back.
  // A leaf to be lifted stands below loops of which it has no rows yet, so that settle could
  // not order its rows.
  std::optional<Refusal> settle_without(const std::vector<NestLeaf>& waiting) {
    const Tree whole = next_.tree;
    for (const NestLeaf& leaf : waiting) {
      next_.tree = without_statement(next_.tree, leaf.statement);
      if (!next_.tree)
        return malformed("every statement of the nest is recomputed: none reads what they compute");
    }
    auto refusal = settle(next_);
    next_.tree = whole;
    return refusal;
  }

  // Lifts the tensor of the last waiting leaf. Behind it every statement has its place, so that
  // the reads below the site give the box. All writers of the tensor go with it, since a box of
  // some of them would not hold the tensor's values:
  //
  //   bx at x.o; by at x.o; y   ->   by for the reads of y, then bx for those of by and y
  std::optional<Refusal> place_recomputed() {
    const NestLeaf last = recomputed_.back();
    const std::string tensor = tensor_of(next_, last.statement);
    const Names writers = select_statements(next_, tensor);
    std::vector<NestLeaf> lifted;
    for (const std::string& writer : writers) {
      const auto waiting = std::ranges::find(recomputed_, writer, &NestLeaf::statement);
      if (waiting == recomputed_.end())
        return malformed("recomputing " + last.statement + " alone is not enough: say " + writer +
                         " at " + last.at + " too");
      if (waiting->at != last.at)
        return malformed(join_words(writers) + " go together: both at " + last.at);
      if (waiting->per != last.per)
        return malformed(join_words(writers) + " go together: both once per " +
                         (last.per.empty() ? waiting->per : last.per));
      lifted.push_back(*waiting);
    }
    std::erase_if(recomputed_, [&](const NestLeaf& leaf) { return has(writers, leaf.statement); });
    LiftSite site;
    site.per = last.per;
    const Loop* loop = nullptr;
    for (const Loop* above : path_to(next_.tree, last.statement)) {
      site.prefix.push_back(above->name);
      if (above->name != last.at) continue;
      loop = above;
      break;
    }
    if (!loop) return malformed(last.statement + " at " + last.at + ": it is not below " + last.at);
    for (const std::string& consumer : consumers_below(next_, *loop, tensor)) {
      const bool waits =
          std::ranges::find(recomputed_, consumer, &NestLeaf::statement) != recomputed_.end();
      if (waits)
        return malformed(consumer + " reads " + tensor + " and stands before " + last.statement);
      site.consumers.push_back(consumer);
    }
    for (const ScheduledStatement& s : next_.statements)
      if (reads(s, tensor) && !writes(s, tensor) && !has(site.consumers, s.body.name))
        return malformed(s.body.name + " reads " + tensor + " outside " + last.at);
    if (auto refusal = lift(next_, tensor, site)) return refusal;
    Names problems;
    for (const NestLeaf& leaf : lifted) place(leaf, problems);
    if (!problems.empty()) return refuse_all(problems);
    lifted_tensors_.push_back(tensor);
    return settle_without(recomputed_);
  }

  std::optional<Refusal> prove() const {
    if (!context_.prover) return std::nullopt;
    Names lifted;
    for (const std::string& tensor : lifted_tensors_)
      for (const std::string& writer : select_statements(next_, tensor)) lifted.push_back(writer);
    if (auto refusal = check_moved(next_, named_, context_)) return refusal;
    if (!lifted.empty())
      if (auto refusal = context_.prover->check_bounds(next_, lifted)) return refusal;
    for (const std::string& tensor : lifted_tensors_)
      if (auto refusal = context_.prover->check_storage(next_, tensor)) return refusal;
    return check_races(next_, named_, context_);
  }
};

}  // namespace

Applied nest(const State& state, const Nest& directive, const PrimitiveContext& context) {
  return NestApplication(state, context).run(directive);
}

}  // namespace polyte::schedule
