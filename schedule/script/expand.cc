// A nest as classic directives, and back. A tree is its leaves in order, the path of each, and
// the depth that each shares with the one before; so `order`, `place`, `merge .. through` and the
// kinds say the same:
//
//   nest par n.o > k.o > { m > <n.i> > init when first k.o;  k.i > m > <n.i> > update }
//
//   {
//     order init: n.o > k.o > m > n.i         place init when first k.o
//     order update: n.o > k.o > k.i > m > n.i merge init, update through k.o
//     parallel init:n.o   vectorize init:n.i   vectorize update:n.i
//   }
#include <algorithm>
#include <span>

#include "schedule/script/primitives/remap.h"
#include "schedule/script/script_text.h"

namespace polyte::schedule {

namespace {

struct PathedLeaf {
  NestLeaf leaf;
  NestPath path;
  std::vector<int> nodes;  // which loop of the nest each is, to tell shared loops
};

// Walks the nest with the loops above in `open_`. A loop gets its number where it is entered,
// so that two leaves share the loops of equal numbers.
class NestFlattener {
 public:
  explicit NestFlattener(const std::map<std::string, std::string>& fragments)
      : fragments_(fragments) {}
  std::vector<PathedLeaf> run(const NestTree& tree) {
    visit(tree);
    return std::move(leaves_);
  }

 private:
  const std::map<std::string, std::string>& fragments_;
  std::vector<PathedLeaf> leaves_;
  PathedLeaf open_;
  int next_node_ = 0;

  void visit(const NestTree& node) {
    if (const NestLeaf* leaf = std::get_if<NestLeaf>(&node->op)) {
      open_.leaf = *leaf;
      leaves_.push_back(open_);
    } else if (const NestSequence* sequence = std::get_if<NestSequence>(&node->op)) {
      for (const NestTree& child : sequence->children) visit(child);
    } else {
      visit_loop(std::get<NestLoop>(node->op));
    }
  }

  void visit_loop(const NestLoop& loop) {
    NestPath loops = {{loop.name, loop.kind}};
    const auto fragment = fragments_.find(loop.name);
    if (loop.kind == LoopKind::Serial && fragment != fragments_.end())
      if (auto path = parse_path(fragment->second)) loops = std::move(*path);
    for (const NestLoop& each : loops) {
      open_.path.push_back(each);
      open_.nodes.push_back(next_node_++);
    }
    visit(loop.body);
    open_.path.resize(open_.path.size() - loops.size());
    open_.nodes.resize(open_.path.size());
  }
};

// How many loops the two share. By number, not by name: `{ m > A; m > B }` are two loops m.
std::size_t shared_depth(const PathedLeaf& a, const PathedLeaf& b) {
  std::size_t depth = 0;
  while (depth < a.nodes.size() && depth < b.nodes.size() && a.nodes[depth] == b.nodes[depth])
    ++depth;
  return depth;
}

void add_kind(const std::string& statement, const NestLoop& loop, std::vector<Operation>& steps) {
  const LoopName name = {statement, loop.name};
  switch (loop.kind) {
    case LoopKind::Parallel:
      steps.push_back(Parallel{name});
      return;
    case LoopKind::Vector:
      steps.push_back(Vectorize{name});
      return;
    case LoopKind::Unrolled:
      steps.push_back(Unroll{name, {}});
      return;
    case LoopKind::Block:
    case LoopKind::Thread:
    case LoopKind::Warp:
    case LoopKind::Lane:
      steps.push_back(Bind{name, loop.kind});
      return;
    case LoopKind::Serial:
      return;
  }
}

// Statement by statement: its path, its place, then the merge with the statement before it, and
// the kinds of loops that are new.
Transaction expanded(const std::vector<PathedLeaf>& leaves) {
  std::vector<Operation> steps;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const PathedLeaf& each = leaves[i];
    const std::string& statement = each.leaf.statement;
    std::vector<std::string> names;
    for (const NestLoop& loop : each.path) names.push_back(loop.name);
    steps.push_back(Order{statement, names});
    if (!each.leaf.at.empty())
      steps.push_back(ComputeAt{statement, {"", each.leaf.at}, each.leaf.per});
    if (!each.leaf.when.empty()) steps.push_back(Place{statement, each.leaf.when});
    // Loops that are shared with the leaf before are merged with its loops, whose kinds are said
    // already.
    const std::size_t shared = i == 0 ? 0 : shared_depth(leaves[i - 1], each);
    if (shared > 0)
      steps.push_back(Merge{{leaves[i - 1].leaf.statement, statement}, names[shared - 1], {}});
    for (std::size_t d = shared; d < each.path.size(); ++d)
      add_kind(statement, each.path[d], steps);
  }
  Transaction transaction;
  for (Operation& step : steps)
    transaction.steps.push_back({std::move(step), Provenance::Person, 0});
  return transaction;
}

// Reads the steps of a transaction back into leaves with paths. `order` gives a statement a
// path of loops that are its own, `merge` makes the first loops of two neighbours one (equal
// numbers), and a kind is that of all loops of its number; `build` then reads the tree off the
// numbers.
class TransactionReader {
 public:
  std::optional<Refusal> read(const Operation& step) {
    if (const Order* order = std::get_if<Order>(&step)) return add_order(*order);
    if (const Place* place = std::get_if<Place>(&step))
      return set(place->statement, [&](PathedLeaf& l) { l.leaf.when = place->when; });
    if (const ComputeAt* at = std::get_if<ComputeAt>(&step))
      return set(at->producer, [&](PathedLeaf& l) {
        l.leaf.at = at->at.loop;
        l.leaf.per = at->per;
      });
    if (const Merge* merge = std::get_if<Merge>(&step)) return add_merge(*merge);
    if (const Parallel* loop = std::get_if<Parallel>(&step))
      return add_kind(loop->loop, LoopKind::Parallel);
    if (const Bind* loop = std::get_if<Bind>(&step)) return add_kind(loop->loop, loop->kind);
    if (const Vectorize* loop = std::get_if<Vectorize>(&step))
      return add_kind(loop->loop, LoopKind::Vector);
    if (const Unroll* loop = std::get_if<Unroll>(&step))
      return add_kind(loop->loop, LoopKind::Unrolled);
    return malformed(
        "a transaction holds map, tile and split first, then one nest, or order, place, "
        "compute_at, merge, "
        "parallel, bind, vectorize and unroll");
  }

  Result<NestTree, Refusal> nest() const {
    if (leaves_.empty()) return malformed("a transaction without a statement");
    return build(0, leaves_.size(), 0);
  }

 private:
  std::vector<PathedLeaf> leaves_;
  int next_node_ = 0;

  template <class F>
  std::optional<Refusal> set(const std::string& statement, F f) {
    for (PathedLeaf& leaf : leaves_) {
      if (leaf.leaf.statement != statement) continue;
      f(leaf);
      return std::nullopt;
    }
    return malformed("in a transaction " + statement + " needs an order first");
  }
  std::optional<Refusal> add_order(const Order& order) {
    PathedLeaf leaf;
    leaf.leaf.statement = order.statement;
    for (const std::string& loop : order.loops) {
      leaf.path.push_back({loop, LoopKind::Serial, nullptr});
      leaf.nodes.push_back(next_node_++);
    }
    leaves_.push_back(std::move(leaf));
    return std::nullopt;
  }
  std::optional<Refusal> add_merge(const Merge& merge) {
    for (std::size_t i = 1; i < leaves_.size(); ++i) {
      PathedLeaf &a = leaves_[i - 1], &b = leaves_[i];
      if (merge.statements.size() != 2 || a.leaf.statement != merge.statements[0] ||
          b.leaf.statement != merge.statements[1])
        continue;
      // Equal names from the outermost loop down to the one that is named: these are one loop from
      // now on.
      for (std::size_t d = 0;
           d < a.path.size() && d < b.path.size() && a.path[d].name == b.path[d].name; ++d) {
        b.nodes[d] = a.nodes[d];
        b.path[d].kind = a.path[d].kind;
        if (a.path[d].name == merge.through) return std::nullopt;
      }
    }
    return malformed(
        "in a transaction merge joins a statement with the one before, through a loop of both "
        "paths");
  }
  // The kind of one loop, for all leaves that share it by number.
  std::optional<Refusal> add_kind(const LoopName& name, LoopKind kind) {
    int node = -1;
    for (const PathedLeaf& leaf : leaves_)
      for (std::size_t d = 0; d < leaf.path.size(); ++d)
        if (leaf.leaf.statement == name.statement && leaf.path[d].name == name.loop)
          node = leaf.nodes[d];
    if (node < 0)
      return malformed("in a transaction " + print(name) + " names no loop of an order");
    for (PathedLeaf& leaf : leaves_)
      for (std::size_t d = 0; d < leaf.path.size(); ++d)
        if (leaf.nodes[d] == node) leaf.path[d].kind = kind;
    return std::nullopt;
  }
  // The tree of the leaves [begin, end), which share the loops above `depth`: neighbours with the
  // same loop at that depth go below one node.
  NestTree build(std::size_t begin, std::size_t end, std::size_t depth) const {
    std::vector<NestTree> children;
    for (std::size_t i = begin; i < end;) {
      const PathedLeaf& first = leaves_[i];
      if (depth >= first.path.size()) {
        children.push_back(std::make_shared<const NestNode>(NestNode{first.leaf}));
        ++i;
        continue;
      }
      std::size_t last = i + 1;
      while (last < end && depth < leaves_[last].nodes.size() &&
             leaves_[last].nodes[depth] == first.nodes[depth])
        ++last;
      children.push_back(nest_path({first.path[depth]}, build(i, last, depth + 1)));
      i = last;
    }
    return nest_sequence(std::move(children));
  }
};

}  // namespace

namespace {

// The steps that say what the loops are, not in which order: nothing is proved until the nest says
// the order. `named`: the statements of that nest.
class LoopsOfTransaction {
 public:
  LoopsOfTransaction(const State& state, const Names& named, const PrimitiveContext& context)
      : state_(state), named_(named), context_{context.environment} {}

  Applied run(std::span<const Directive> steps) {
    bool are_apart = false;
    for (const Directive& step : steps) {
      const Map* map = std::get_if<Map>(&step.operation);
      if (map && are_apart) return malformed("in a transaction map comes before tile and split");
      if (map) {
        if (auto refusal = take(*map)) return *refusal;
        continue;
      }
      if (!are_apart) put_apart();
      are_apart = true;
      if (!problem_) divide(step.operation);
    }
    if (!are_apart) put_apart();
    if (problem_) return *problem_;
    return std::move(state_);
  }

 private:
  State state_;
  const Names& named_;
  const PrimitiveContext context_;
  std::optional<Refusal> problem_;
  bool has_maps_ = false;

  std::optional<Refusal> take(const Map& map) {
    has_maps_ = true;
    for (const Map::Item& item : map.items)  // only statements of the nest are proved
      if (!has(named_, item.statement))
        return malformed(item.statement + " is mapped and does not stand in the nest");
    return map_rows(state_, map, context_);
  }

  void set(Applied next) {
    if (next)
      state_ = *std::move(next);
    else
      problem_ = next.error();
  }

  // Maps change rows only, and the tree still has the loops of before. Each statement gets a nest
  // of its own rows, so that splits find them, until the nest of the transaction comes.
  void put_apart() {
    if (!has_maps_) return;
    std::vector<NestTree> nests;
    for (const std::string& statement : named_) {
      NestPath path;
      for (const LoopRow& row : state_.at(statement).rows) path.push_back({row.loop});
      nests.push_back(nest_path(path, nest_statement(statement)));
    }
    set(nest(state_, {"", nest_sequence(std::move(nests))}, context_));
    if (!problem_ && !verify(state_).empty()) problem_ = iterators_lost();
  }

  void divide(const Operation& step) {
    const Tile* t = std::get_if<Tile>(&step);
    const Tail tail = t ? t->tail : std::get<Split>(step).tail;
    // Tails that run more or other iterations are proved by themselves, which has no place before
    // the nest.
    if (tail == Tail::Round || tail == Tail::Shift)
      problem_ = malformed("in a transaction a tail is guard, mask or cut");
    else
      set(t ? tile(state_, *t, context_) : split(state_, std::get<Split>(step), context_));
  }
};

bool is_about_loops(const Directive& step) {
  return std::holds_alternative<Map>(step.operation) ||
         std::holds_alternative<Tile>(step.operation) ||
         std::holds_alternative<Split>(step.operation);
}

Names statements_of(const NestTree& tree) {
  if (const NestLeaf* leaf = std::get_if<NestLeaf>(&tree->op)) return {leaf->statement};
  if (const NestLoop* loop = std::get_if<NestLoop>(&tree->op)) return statements_of(loop->body);
  Names all;
  for (const NestTree& child : std::get<NestSequence>(tree->op).children)
    for (std::string& statement : statements_of(child)) all.push_back(std::move(statement));
  return all;
}

Result<NestTree, Refusal> nest_of_steps(std::span<const Directive> steps) {
  if (steps.size() == 1)
    if (const Nest* nest = std::get_if<Nest>(&steps.front().operation)) return nest->tree;
  TransactionReader reader;
  for (const Directive& step : steps)
    if (auto refusal = reader.read(step.operation)) return *refusal;
  return reader.nest();
}

}  // namespace

// First what the loops are, then the nest that says their order, which is what is proved.
Applied transaction(const State& state, const Transaction& directive,
                    const PrimitiveContext& context) {
  const std::span<const Directive> steps = directive.steps;
  const auto first_of_nest = std::ranges::find_if_not(steps, is_about_loops);
  const std::size_t count = static_cast<std::size_t>(first_of_nest - steps.begin());
  const auto tree = nest_of_steps(steps.subspan(count));
  if (!tree) return tree.error();
  const Names named = statements_of(*tree);
  Applied divided = LoopsOfTransaction(state, named, context).run(steps.first(count));
  if (!divided) return divided;
  return nest(*divided, {"", *tree}, context);
}

namespace {

using Fragments = std::map<std::string, std::string>;

// tile (m, n) by (8, 16) is split m by 8 and split n by 16, with its tail.
std::vector<Operation> splits_of(const Tile& tile) {
  std::vector<Operation> splits;
  for (std::size_t i = 0; i < tile.loops.size() && i < tile.factors.size(); ++i)
    splits.emplace_back(
        Split{{tile.statement, tile.loops[i]}, tile.factors[i], false, {}, tile.tail});
  return splits;
}

// A nest within braces becomes steps of these braces; one outside becomes a transaction by itself.
Transaction flat(const Transaction& transaction, const Fragments& fragments) {
  Transaction result;
  for (const Directive& step : transaction.steps) {
    if (const Tile* tile = std::get_if<Tile>(&step.operation)) {
      for (Operation& split : splits_of(*tile))
        result.steps.push_back({std::move(split), step.provenance, 0});
    } else if (const Nest* nest = std::get_if<Nest>(&step.operation)) {
      for (Directive& each : expanded(NestFlattener(fragments).run(nest->tree)).steps)
        result.steps.push_back(std::move(each));
    } else {
      result.steps.push_back(step);
    }
  }
  return result;
}

void expand_all(const std::vector<Directive>& directives, Fragments fragments,
                std::vector<Directive>& into) {
  for (const Directive& directive : directives) {
    const auto add = [&](Operation operation) {
      into.push_back({std::move(operation), directive.provenance, 0});
    };
    if (const Let* let = std::get_if<Let>(&directive.operation); let && is_path_text(let->text)) {
      fragments[let->name] = let->text;
    } else if (const Tile* t = std::get_if<Tile>(&directive.operation)) {
      for (Operation& split : splits_of(*t)) add(std::move(split));
    } else if (const Transaction* together = std::get_if<Transaction>(&directive.operation)) {
      add(flat(*together, fragments));
    } else if (const Nest* n = std::get_if<Nest>(&directive.operation)) {
      add(expanded(NestFlattener(fragments).run(n->tree)));
    } else if (const Specialize* s = std::get_if<Specialize>(&directive.operation)) {
      Specialize inner{s->condition, {}, {}};
      expand_all(s->then, fragments, inner.then);
      expand_all(s->otherwise, fragments, inner.otherwise);
      add(inner);
    } else {
      add(directive.operation);
    }
  }
}

}  // namespace

Script expand_to_directives(const Script& script) {
  Script expanded_script = script;
  expanded_script.directives.clear();
  expand_all(script.directives, {}, expanded_script.directives);
  return expanded_script;
}

}  // namespace polyte::schedule
