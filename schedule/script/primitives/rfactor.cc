// rewrite rfactor T over L as P, L a loop over reduction iterators (k.i of a split k, or k itself),
// T a tensor or, where several statements update it, one of these:
//   T.update: T[m] += v   ->
//     P.init:   P[l, m] = 0         for l in the values of L
//     P.update: P[L(k), m] += v     the instances and loops of T.update
//     T.update: T[m] += P[l, m]     its loop over the parts is called L again
// P.init and T.update inherit the splits of T's free loops and stand before and after P.update,
// below the loops that T.update has outside its reduction. A cell known at run time only
// (h[bin[n]] += 1) has a part per cell of T. In an ordered region the three stand in the place
// of T.update: each iteration of the region has parts of its own. A rewrite of the Program: the
// contract has to name the loop, unless no order can change a bit.
#include <algorithm>

#include "schedule/script/primitives/edit.h"
#include "schedule/script/primitives/lift.h"
#include "schedule/script/primitives/rewriting.h"
#include "schedule/state/contract.h"

namespace polyte::schedule {

namespace {

using ir::Affine;

class Factoring {
 public:
  Factoring(const State& state, const Rfactor& directive, const PrimitiveContext& context)
      : before_(state), next_(state), directive_(directive), context_(context) {}

  Applied run() {
    if (auto refusal = find_update()) return *refusal;
    if (auto refusal = find_loop()) return *refusal;
    if (auto refusal = check_contract()) return *refusal;
    if (auto refusal = find_range()) return *refusal;
    find_cells();
    if (auto refusal = rewrite_program()) return *refusal;
    if (auto refusal = rewrite_statements()) return *refusal;
    rewrite_tree();
    if (auto refusal = settle(next_)) return *refusal;
    if (!context_.prover) return std::move(next_);
    if (auto refusal = context_.prover->check_rewrites(next_)) return *refusal;
    const Names moved = {part_init_.name, part_update_.name, merge_.name};
    if (auto refusal = check_moved(next_, moved, context_)) return *refusal;
    if (auto refusal = check_races(next_, moved, context_)) return *refusal;
    return std::move(next_);
  }

 private:
  const State& before_;
  State next_;
  const Rfactor& directive_;
  const PrimitiveContext& context_;

  std::string tensor_;  // T
  std::string update_;  // T.update
  std::string loop_;    // L
  Names ordered_;       // its iterators that ordered regions bind
  Names reduced_;       // those that are no subscripts of the write
  Affine row_;          // L over them
  Affine first_, count_;
  // The merge has T.update's free iterators; else one per dimension of T.
  bool by_iterators_ = true;
  Names free_;  // those iterators
  ir::Statement part_init_, part_update_, merge_;

  const ScheduledStatement& update() const { return before_.at(update_); }
  const ir::Statement& body() const { return update().body; }

  std::optional<Refusal> find_update() {
    const auto found = update_named(before_, directive_.tensor, "rfactor");
    if (!found) return found.error();
    update_ = *found;
    tensor_ = body().writes.front().buffer;
    if (ir::Combiner c = body().combiner; c == ir::Combiner::ArgMin || c == ir::Combiner::ArgMax)
      return conservative(tensor_ + " is a pair (" + ir::to_string(c) +
                          "): pairs are not reduced in parts");
    if (has_term_at_cell())
      return malformed(update_ + " reads " + tensor_ + ": its updates depend on each other");
    return check_new_tensor(before_, directive_.partial);
  }

  // Whether a term reads the very cell that the update writes. What terms read of other cells is
  // for the proof to judge.
  bool has_term_at_cell() const {
    const std::vector<ir::Index>& cell = body().writes.front().indices;
    const auto is_cell = [&](const ir::Load* load) {
      return load->buffer == tensor_ &&
             std::ranges::equal(load->indices, cell, [](const auto& a, const auto& b) {
               return a.affine == b.affine && !a.indirect && !b.indirect;
             });
    };
    return std::ranges::any_of(body().values, [&](const ir::Expr& value) {
      return std::ranges::any_of(ir::loads_of(value), is_cell);
    });
  }

  std::optional<Refusal> find_loop() {
    if (!directive_.loop.statement.empty() && directive_.loop.statement != update_ &&
        directive_.loop.statement != tensor_)
      return malformed("the loop is one of " + update_ + ", not of " + directive_.loop.statement);
    loop_ = directive_.loop.loop;
    const LoopRow* row = row_of(update(), loop_);
    if (!row) return malformed(no_loop_text(before_, update_, loop_));
    row_ = row->value;
    // An iterator is free if a subscript of the element uses it, else reduced. L has to count
    // reduced ones alone, as a part is one value of L for every element.
    const auto inner = body().iterators.begin() + body().region_depth;
    ordered_.assign(body().iterators.begin(), inner);
    for (const std::string& iterator : Names(inner, body().iterators.end())) {
      const auto& indices = body().writes.front().indices;
      const bool is_free = std::ranges::any_of(
          indices, [&](const ir::Index& index) { return index.affine.uses(iterator); });
      (is_free ? free_ : reduced_).push_back(iterator);
    }
    const auto is_reduced = [&](const Affine& value) {
      return !uses_any(value, free_) && !uses_any(value, ordered_) && uses_any(value, reduced_);
    };
    if (is_reduced(row_)) return std::nullopt;
    Names candidates;
    for (const LoopRow& other : update().rows)
      if (is_reduced(other.value)) candidates.push_back(other.loop);
    if (uses_any(row_, ordered_))
      return malformed(loop_ + " runs over iterations of an ordered region");
    return malformed(loop_ + " is a free loop of " + tensor_ +
                     ": parts are made over a reduction loop (" +
                     (candidates.empty() ? "it has none" : join_words(candidates)) + ")");
  }

  std::optional<Refusal> check_contract() const {
    if (may_exchange(before_, before_.basis->statement(update().reference), row_))
      return std::nullopt;
    return malformed("the parts of " + tensor_ + " add up in another order, and the contract is " +
                     (before_.contract == Contract::Exact ? "exact" : "reassoc of other loops") +
                     ": say `reassoc " + join_words(reduced_) + "`");
  }

  std::optional<Refusal> find_range() {
    const ir::Ranges ranges = loop_ranges(before_, update());
    const auto range = ranges.find(loop_);
    if (range != ranges.end() && range->second.min && range->second.max) {
      first_ = *range->second.min;
      count_ = std::max<std::int64_t>(0, *range->second.max - *range->second.min + 1);
      return std::nullopt;
    }
    const auto first = first_value(before_, update(), loop_, {}),
               last = last_value(before_, update(), loop_, {});
    if (!first || !last)
      return conservative(loop_ + " has no first and last value that one expression gives");
    first_ = *first;
    count_ = *last - *first + 1;
    return std::nullopt;
  }

  // By T.update's own iterators where each dimension is one of them (A[i, i]: of the diagonal); by
  // the cells of T otherwise.
  void find_cells() {
    for (const ir::Index& index : body().writes.front().indices) {
      const auto symbol = (index.affine - index.affine.constant()).as_symbol();
      const bool is_own = symbol && (has(free_, *symbol) || has(ordered_, *symbol));
      by_iterators_ = by_iterators_ && !index.indirect && is_own;
    }
    if (by_iterators_ || !ordered_.empty()) return;
    free_ = cell_names(before_, tensor_);
  }

  ir::Access cell_of_tensor() const {
    if (by_iterators_) return body().writes.front();
    ir::Access cell = {tensor_, {}};
    for (const std::string& name : free_) cell.indices.emplace_back(Affine::symbol(name));
    return cell;
  }

  // All cells of T that T.update may reach: its domain without what the reduction says, and
  // the tensor's bounds.
  std::vector<ir::Constraint> merge_domain() const {
    std::vector<ir::Constraint> domain;
    const auto add = [&](const ir::Constraint& c) {
      if (std::ranges::find(domain, c) == domain.end()) domain.push_back(c);
    };
    if (by_iterators_)
      for (const ir::Constraint& c : body().domain)
        if (!uses_any(c.expr, reduced_)) add(c);
    const std::vector<Affine> shape = before_.shape_of(tensor_);
    const ir::Access cell = cell_of_tensor();
    for (std::size_t d = 0; d < shape.size(); ++d) {
      add(ir::at_least(cell.indices[d].affine, 0));
      add(ir::less_than(cell.indices[d].affine, shape[d]));
    }
    add(ir::at_least(Affine::symbol(loop_), first_));
    add(ir::less_than(Affine::symbol(loop_), first_ + count_));
    return domain;
  }

  // P[l - first, cell]: parts are counted from 0.
  ir::Access part(const Affine& which, const ir::Access& cell) const {
    ir::Access access = {directive_.partial, {which - first_}};
    access.indices.insert(access.indices.end(), cell.indices.begin(), cell.indices.end());
    return access;
  }

  void make_statements() {
    const ir::Statement& old = before_.basis->statement(update().reference);
    const DType type = before_.dtype_of(tensor_);
    const ir::Access cell = cell_of_tensor(), own = part(Affine::symbol(loop_), cell);
    part_update_ = old;
    part_update_.name = directive_.partial + ".update";
    part_update_.writes = {part(row_, old.writes.front())};
    // A reduction iterator that is P's own subscript now says which part: it is none any more.
    std::erase_if(part_update_.reductions, [&](const std::string& iterator) {
      return std::ranges::any_of(part_update_.writes[0].indices, [&](const ir::Index& index) {
        return index.affine.as_symbol() == iterator;
      });
    });
    merge_ = old;
    merge_.iterators = ordered_;
    merge_.iterators.insert(merge_.iterators.end(), free_.begin(), free_.end());
    merge_.iterators.push_back(loop_);
    merge_.reductions = {loop_};
    merge_.domain = merge_domain();
    merge_.guard = nullptr;
    merge_.writes = {cell};
    merge_.values = {ir::make_load(type, directive_.partial, own.indices)};
    // P.init has the merge's domain and L, outermost of its own iterators, as its element has
    // it first.
    part_init_ = merge_;
    part_init_.name = directive_.partial + ".init";
    part_init_.combiner = ir::Combiner::None;
    part_init_.reductions.clear();
    part_init_.iterators.pop_back();
    part_init_.iterators.insert(part_init_.iterators.begin() + part_init_.region_depth, loop_);
    part_init_.writes = {own};
    part_init_.values = {ir::identity_of(old.combiner, type)};
  }

  std::optional<Refusal> rewrite_program() {
    if (!by_iterators_ && !ordered_.empty())
      return conservative("the cells of " + tensor_ +
                          " move with an ordered region: it is not reduced in parts");
    if (has(free_, loop_)) return conservative("a dimension of " + tensor_ + " is called " + loop_);
    make_statements();
    std::vector<Affine> shape = {count_};
    const std::vector<Affine> of = before_.shape_of(tensor_);
    shape.insert(shape.end(), of.begin(), of.end());
    const ir::Buffer parts = {directive_.partial, ir::Role::Temp, before_.dtype_of(tensor_), shape};
    auto program = replace_statement(*before_.basis, update().reference,
                                     {part_init_, part_update_, merge_}, {parts});
    if (!program) return program.error();
    next_.basis = *program;
    for (const std::string& said : {tensor_, update_})
      if (const auto own = before_.reassociated.find(said); own != before_.reassociated.end())
        next_.reassociated[directive_.partial].insert(own->second.begin(), own->second.end());
    next_.rewrites.push_back({.kind = Rewrite::Kind::Factor,
                              .tensor = tensor_,
                              .other = directive_.partial,
                              .loop = loop_,
                              .after = next_.basis,
                              .update = update_});
    return std::nullopt;
  }

  // The loops that all three share, as T.update had them: L, and those of free iterators.
  std::optional<Refusal> rewrite_statements() {
    ScheduledStatement update_now = update();
    update_now.reference = update_now.body.name = part_update_.name;
    update_now.body.writes = part_update_.writes;
    update_now.body.reductions = part_update_.reductions;
    ScheduledStatement merge = scheduled_statement(*next_.basis, merge_.name);
    ScheduledStatement init = scheduled_statement(*next_.basis, part_init_.name);
    if (by_iterators_)
      if (auto refusal = inherit(merge)) return refusal;
    init.rows = merge.rows;
    init.inverse = merge.inverse;
    init.loop_domain = merge.loop_domain;
    if (!wrong_inverses(next_, merge).empty())
      return conservative("loops of " + update_ +
                          " count no more than the elements that it adds to: rfactor comes before");
    const auto at = std::ranges::find_if(
        next_.statements, [&](const ScheduledStatement& s) { return s.body.name == update_; });
    *at = std::move(update_now);
    const auto after = next_.statements.insert(at, std::move(init));
    next_.statements.insert(after + 2, std::move(merge));
    return std::nullopt;
  }

  // Whether a reduced iterator is computed from the loop. The outer loop of a split with one tile
  // has the constant 0 for a row, which uses no iterator, and is one of the reduction all the same.
  bool counts_reduced(const std::string& loop) const {
    return std::ranges::any_of(reduced_, [&](const std::string& iterator) {
      return update().inverse.at(iterator).uses(loop);
    });
  }

  // The merge has T.update's loops over free iterators, and L over the parts; loops of the
  // reduction are lost. Loops that count free and reduced iterators together cannot be told apart.
  std::optional<Refusal> inherit(ScheduledStatement& merge) const {
    merge.rows.clear();
    Names kept, lost;
    for (const LoopRow& row : update().rows) {
      if (row.loop == loop_) {
        merge.rows.push_back({loop_, Affine::symbol(loop_), row.tail});
      } else if (!uses_any(row.value, reduced_) && !counts_reduced(row.loop)) {
        merge.rows.push_back(row);
        kept.push_back(row.loop);
      } else {
        if (uses_any(row.value, free_))
          return conservative(row.loop +
                              " counts free and reduced iterators together: rfactor comes before");
        lost.push_back(row.loop);
      }
    }
    Names known = ordered_;
    known.insert(known.end(), free_.begin(), free_.end());
    for (const std::string& iterator : known) {
      const Affine value = update().inverse.at(iterator);
      if (uses_any(value, lost))
        return conservative(iterator + " is known from loops of the reduction only");
      merge.inverse[iterator] = value;
    }
    for (const ir::Constraint& c : update().loop_domain)
      if (!uses_any(c.expr, lost) && !c.expr.uses(loop_)) merge.loop_domain.push_back(c);
    return std::nullopt;
  }

  // How many of the loops above T.update are outside its reduction (and inherited).
  std::size_t shared_depth(const std::vector<const Loop*>& path) const {
    std::size_t depth = 0;
    while (by_iterators_ && depth < path.size() && path[depth]->name != loop_ &&
           row_of(next_.at(merge_.name), path[depth]->name))
      ++depth;
    return depth;
  }

  // P.init and the merge stand beside P.update, in the innermost loop that all three share
  // (depth 0: the kernel), each below the loops that it has besides:
  //
  //   m > k.o > k.i > T.update   ->   m > { k.i > P.init; k.o > k.i > P.update; k.i > T.update }
  void rewrite_tree() {
    const std::vector<const Loop*> path = path_to(before_.tree, update_);
    const std::size_t depth = shared_depth(path);
    const Leaf old = leaf_of(before_, update_);
    Names below;
    for (const LoopRow& row : next_.at(merge_.name).rows) below.push_back(row.loop);
    std::erase_if(below, [&](const std::string& loop) {
      return std::any_of(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(depth),
                         [&](const Loop* l) { return l->name == loop; });
    });
    next_.tree = map_leaves(next_.tree, [&](const Leaf& leaf) {
      Leaf renamed = leaf;
      if (leaf.statement == update_) renamed.statement = part_update_.name;
      return renamed;
    });
    const auto with_parts = [&](const Tree& body) {
      std::vector<Tree> children;
      for (const Tree& child : top_level(body)) {
        const bool here = contains(child, part_update_.name);
        if (here)
          children.push_back(loops_around(next_, below, make_leaf({part_init_.name, {}, {}})));
        children.push_back(child);
        if (here) children.push_back(loops_around(next_, below, make_leaf({merge_.name, {}, {}})));
      }
      return make_sequence(std::move(children));
    };
    if (depth == 0) {
      next_.tree = with_parts(next_.tree);
      return;
    }
    next_.tree = replace_loop(next_.tree, path[depth - 1]->id, [&](const Loop& loop) {
      Loop rebuilt = loop;
      rebuilt.body = with_parts(loop.body);
      return make_loop(std::move(rebuilt));
    });
  }
};

}  // namespace

Applied rfactor(const State& state, const Rfactor& directive, const PrimitiveContext& context) {
  return Factoring(state, directive, context).run();
}

}  // namespace polyte::schedule
