#include "lower/divide_registers.h"

#include <algorithm>
#include <numeric>

#include "ir/facts.h"
#include "lower/open_threads.h"
#include "lower/rewrite_exprs.h"
#include "lower/simplify.h"

namespace polyte::lower {

using ir::Affine;
using ir::LoopKind;
using ir::Stmt;

namespace {

// The accesses to one buffer: what they share of each subscript, and how far the rest goes. Three
// passes over the body:
//
//   Choose   the thread's part of each dimension, from the first access that has one
//   Compare  every other access has the same part, or none of its own
//   Measure  the rest of each subscript: its greatest value, and what all of it is a multiple of
//
// Then a subscript e becomes (e - part) / step, and the extent reach / step + 1.
class Divider {
 public:
  Divider(const ir::Alloc& alloc, ir::Facts& facts)
      : name_(alloc.buffer.name), of_lanes_(alloc.buffer.of_lanes), facts_(facts) {
    parts_.resize(alloc.buffer.shape.size());
    shared_.assign(alloc.buffer.shape.size(), true);
    visit(alloc.body);
    pass_ = Pass::Compare;
    visit(alloc.body);
    reach_.assign(alloc.buffer.shape.size(), 0);
    step_.assign(alloc.buffer.shape.size(), 0);
    pass_ = Pass::Measure;
    visit(alloc.body);
    for (std::size_t d = 0; d < reach_.size(); ++d) {
      step_[d] = std::max<std::int64_t>(step_[d], 1);
      shape_.push_back(divides(d) ? reach_[d] / step_[d] + 1 : alloc.buffer.shape[d]);
    }
  }

  Stmt divided(const ir::Alloc& alloc) {
    ir::Alloc copy = alloc;
    copy.buffer.shape = shape_;
    copy.buffer.of_each_thread = true;
    copy.body = rewritten(alloc.body);
    return ir::make_alloc(std::move(copy));
  }

 private:
  const std::string& name_;
  const bool of_lanes_;
  ir::Facts& facts_;
  OpenThreads open_;
  Affine thread_ = 0;                         // the number of the one here, over the open loops
  std::vector<std::optional<Affine>> parts_;  // by dimension: what the thread says of it
  std::vector<bool> shared_;                  // all accesses have that part
  // For the subscripts without the thread's part, by dimension: the largest value, and what all
  // values are multiples of.
  std::vector<std::int64_t> reach_, step_;
  std::vector<std::int64_t> shape_;
  enum class Pass { Choose, Compare, Measure } pass_ = Pass::Choose;

  // The lane of a warp's registers says whose they are, and stays.
  bool divides(std::size_t d) const {
    return !(of_lanes_ && d + 1 == parts_.size()) && shared_[d] && parts_[d] &&
           *parts_[d] != Affine(0);
  }

  void enter(const ir::For& loop) {
    facts_.bind(loop.var, loop.lower, loop.upper);
    open_.enter(loop);
    thread_ = thread_ + number_of(loop);
  }
  void leave(const ir::For& loop) {
    open_.leave(loop);
    thread_ = thread_ - number_of(loop);
  }
  void assume(const Stmt& s) {
    if (const auto* branch = std::get_if<ir::If>(&s->op))
      for (const ir::Constraint& c : branch->conditions) facts_.assume(c);
  }
  static Affine number_of(const ir::For& loop) {
    if (!ir::is_of_threads(loop.kind)) return 0;
    return Affine::symbol(loop.var) * (loop.kind == LoopKind::Warp ? ir::kLanes : 1);
  }

  void visit(const Stmt& s) {
    const ir::Facts::Scope scope(facts_);
    if (const auto* loop = std::get_if<ir::For>(&s->op)) {
      enter(*loop);
      visit(loop->body);
      leave(*loop);
      return;
    }
    assume(s);
    if (const auto* store = std::get_if<ir::Store>(&s->op)) {
      if (store->buffer == name_) see(store->indices, store->lanes);
      see_loads(store->value);
    }
    if (const auto* branch = std::get_if<ir::If>(&s->op); branch && branch->condition)
      see_loads(branch->condition);
    ir::rewrite_children(s, [&](const Stmt& child) {
      visit(child);
      return child;
    });
  }

  void see_loads(const ir::Expr& e) {
    for (const ir::Load* load : ir::loads_of(e))
      if (load->buffer == name_) see(load->indices, load->lanes);
  }

  void see(const std::vector<ir::Index>& indices, const ir::Lanes& lanes) {
    for (std::size_t d = 0; d < indices.size(); ++d) {
      if (pass_ == Pass::Choose) choose(d, indices[d]);
      if (pass_ == Pass::Compare) compare(d, indices[d]);
      if (pass_ == Pass::Measure) measure(d, indices[d], lanes);
    }
  }

  Affine part_of(const ir::Index& index) const {
    return index.indirect ? Affine(0) : open_.part_of(index.affine).value_or(0);
  }

  // The thread's part is taken from the first access that has one. Outside of loops of threads
  // thread 0 runs alone, and its subscript is what the others' would be for thread 0. A condition
  // that leaves an access to one thread may have put a number in the thread's place, so that it has
  // no part either.
  void choose(std::size_t d, const ir::Index& index) {
    if (!open_.none() && (!parts_[d] || *parts_[d] == Affine(0))) parts_[d] = part_of(index);
  }

  void compare(std::size_t d, const ir::Index& index) {
    if (open_.none() || part_of(index) == *parts_[d]) return;
    shared_[d] =
        shared_[d] && !index.indirect && open_.own_part_of(rest_here(d, index.affine)) == Affine(0);
  }

  void measure(std::size_t d, const ir::Index& index, const ir::Lanes& lanes) {
    if (!divides(d)) return;
    const Affine left = rest(d, index.affine);
    const ir::Interval range = facts_.range(left);
    const std::int64_t stride = lanes.strides.empty() ? 0 : lanes.strides[d];
    if (!range.max || !range.min || *range.min < 0 || stride < 0) {
      shared_[d] = false;
      return;
    }
    reach_[d] = std::max(reach_[d], *range.max + stride * (lanes.count - 1));
    for (const ir::Term& term : left.terms()) step_[d] = std::gcd(step_[d], term.coefficient);
    step_[d] = std::gcd(std::gcd(step_[d], left.constant()), stride);
  }

  // The subscript without the thread's part. Outside loops of threads it is thread 0 that runs;
  // where an access has another part than the rest (a condition has put the thread's number in the
  // variable's place), the part is evaluated for the thread that is here.
  Affine rest(std::size_t d, const Affine& subscript) const {
    if (open_.none())
      return subscript - ir::substitute(*parts_[d], {{OpenThreads::kThread, Affine(0)}});
    if (part_of(subscript) != *parts_[d]) return rest_here(d, subscript);
    return facts_.simplify(subscript - open_.own_part_of(subscript));
  }

  // The subscript less the part's value for the thread that runs here.
  Affine rest_here(std::size_t d, const Affine& subscript) const {
    return facts_.simplify(subscript -
                           ir::substitute(*parts_[d], {{OpenThreads::kThread, thread_}}));
  }

  void divide(std::vector<ir::Index>& indices, ir::Lanes& lanes) const {
    for (std::size_t d = 0; d < lanes.strides.size(); ++d)
      if (divides(d)) lanes.strides[d] /= step_[d];
    for (std::size_t d = 0; d < indices.size(); ++d)
      if (divides(d)) indices[d].affine = ir::floor_div(rest(d, indices[d].affine), step_[d]);
  }

  Stmt rewritten(const Stmt& s) {
    const auto* loop = std::get_if<ir::For>(&s->op);
    const ir::Facts::Scope scope(facts_);
    if (loop) enter(*loop);
    assume(s);
    Stmt result = ir::rewrite_children(s, [&](const Stmt& child) { return rewritten(child); });
    if (loop) leave(*loop);
    result = map_own_exprs(result, [&](const ir::Expr& e) {
      return ir::rewrite(e, [&](const ir::Expr& leaf) -> ir::Expr {
        const auto* load = std::get_if<ir::Load>(&leaf->op);
        if (!load || load->buffer != name_) return leaf;
        ir::Load copy = *load;
        divide(copy.indices, copy.lanes);
        return std::make_shared<const ir::ExprNode>(
            ir::ExprNode{leaf->type, leaf->lanes, std::move(copy)});
      });
    });
    const auto* store = std::get_if<ir::Store>(&result->op);
    if (!store || store->buffer != name_) return result;
    ir::Store copy = *store;
    divide(copy.indices, copy.lanes);
    return ir::make_store(std::move(copy));
  }
};

// Register buffers of a block or a warp: inside blocks, outside threads and lanes.
class Walker {
 public:
  explicit Walker(const ir::LoopProgram& program) : facts_(facts_of(program)) {}

  Stmt visit(const Stmt& s, bool in_block) {
    const ir::Facts::Scope scope(facts_);
    if (const auto* loop = std::get_if<ir::For>(&s->op)) {
      if (loop->kind == LoopKind::Thread || loop->kind == LoopKind::Lane) return s;
      facts_.bind(loop->var, loop->lower, loop->upper);
      in_block = in_block || loop->kind == LoopKind::Block;
    }
    Stmt below = ir::rewrite_children(s, [&](const Stmt& child) { return visit(child, in_block); });
    const auto* alloc = std::get_if<ir::Alloc>(&below->op);
    if (!alloc || !in_block || alloc->buffer.memory != ir::Memory::Register) return below;
    if (alloc->buffer.of_each_thread) return below;
    return Divider(*alloc, facts_).divided(*alloc);
  }

 private:
  ir::Facts facts_;
};

}  // namespace

ir::LoopProgram divide_registers(const ir::LoopProgram& program) {
  ir::LoopProgram result = program;
  result.body = Walker(program).visit(program.body, false);
  return result;
}

}  // namespace polyte::lower
