#include "lower/complete_tiles.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "lower/rewrite_exprs.h"
#include "lower/simplify.h"

namespace polyte::lower {
namespace {

using ir::Affine;
using ir::Constraint;
using ir::Expr;
using ir::Stmt;

// Elements of a register buffer that an access touches, mask or not: buffer and subscripts of each.
using Element = std::pair<std::string, std::vector<std::int64_t>>;
using Elements = std::vector<Element>;

// nullopt: subscripts are not constants.
template <class Access>
std::optional<Elements> elements_of(const Access& access) {
  Elements all;
  for (int lane = 0; lane < access.lanes.count; ++lane) {
    Element element{access.buffer, {}};
    for (std::size_t d = 0; d < access.indices.size(); ++d) {
      const ir::Index& index = access.indices[d];
      if (index.indirect || !index.affine.is_constant()) return std::nullopt;
      const std::int64_t step = access.lanes.count == 1 ? 0 : access.lanes.strides[d];
      element.second.push_back(index.affine.constant() + lane * step);
    }
    all.push_back(std::move(element));
  }
  return all;
}

bool is_same_mask(const ir::Lanes& a, const ir::Lanes& b) {
  return a.active == b.active && a.skipped == b.skipped;
}

// Whether it may be computed of anything: it neither traps nor takes long.
bool is_harmless(const Expr& e) {
  const auto are = [](std::initializer_list<Expr> all) {
    return std::ranges::all_of(all, is_harmless);
  };
  if (const auto* load = std::get_if<ir::Load>(&e->op)) return load->guard.empty();
  if (const auto* fma = std::get_if<ir::Fma>(&e->op)) return are({fma->a, fma->b, fma->c});
  if (const auto* broadcast = std::get_if<ir::Broadcast>(&e->op)) return is_harmless(broadcast->a);
  if (const auto* cast = std::get_if<ir::Cast>(&e->op))
    return is_float(e->type) && is_harmless(cast->a);
  if (const auto* binary = std::get_if<ir::Binary>(&e->op)) {
    using enum ir::BinaryOp;
    const bool is_simple =
        std::ranges::count(std::initializer_list{Add, Sub, Mul, Min, Max}, binary->op) > 0;
    return is_simple && are({binary->a, binary->b});
  }
  return std::holds_alternative<ir::Literal>(e->op);
}

// The accesses to the registers of some allocations, one directly inside the other.
class Registers {
 public:
  explicit Registers(std::set<std::string> names) : names_(std::move(names)) {}

  // False where their accesses are not all known.
  bool see(const Stmt& body) {
    visit(body);
    return is_known_;
  }

  bool contains(const std::string& buffer) const { return names_.contains(buffer); }

  // Whether its value is the same in all of the allocation.
  bool is_steady(const Affine& e) const {
    return std::ranges::none_of(inner_, [&](const std::string& var) { return e.uses(var); });
  }

  // Whether c holds wherever one of these elements is read for anything but its own update.
  bool holds_for_readers(const Constraint& c, const Elements& elements) const {
    return std::ranges::all_of(elements, [&](const Element& element) {
      const auto found = readers_.find(element);
      return found == readers_.end() || std::ranges::find(found->second, c) != found->second.end();
    });
  }

 private:
  std::set<std::string> names_, inner_;  // inner_: variables of loops inside
  bool is_known_ = true;
  std::vector<Constraint> around_;  // what is visited
  // Conditions that hold at every read of the element.
  std::map<Element, std::vector<Constraint>> readers_;

  void visit(const Stmt& s) {
    if (const auto* loop = std::get_if<ir::For>(&s->op)) {
      inner_.insert(loop->var);
      is_known_ = is_known_ && !ir::is_concurrent(loop->kind);
      visit(loop->body);
    } else if (const auto* branch = std::get_if<ir::If>(&s->op)) {
      if (branch->condition) read(branch->condition, nullptr);
      const std::size_t outside = around_.size();
      around_.insert(around_.end(), branch->conditions.begin(), branch->conditions.end());
      visit(branch->body);
      around_.resize(outside);
    } else if (const auto* store = std::get_if<ir::Store>(&s->op)) {
      visit(*store);
    } else if (const auto* block = std::get_if<ir::Block>(&s->op)) {
      for (const Stmt& child : block->body) visit(child);
    } else if (const auto* alloc = std::get_if<ir::Alloc>(&s->op)) {
      visit(alloc->body);
    } else if (const auto* prefetch = std::get_if<ir::Prefetch>(&s->op)) {
      is_known_ = is_known_ && !names_.contains(prefetch->buffer);
    } else {
      is_known_ = is_known_ && std::holds_alternative<ir::Fence>(s->op);
    }
  }

  void visit(const ir::Store& store) {
    const bool is_own = names_.contains(store.buffer);
    const auto written = is_own ? elements_of(store) : std::nullopt;
    is_known_ = is_known_ && (!is_own || written) && !store.atomic;
    read(store.value, written ? &*written : nullptr);
    for (const ir::Index& index : store.indices)
      if (index.indirect) read(index.indirect, nullptr);
  }

  // `updated`: the elements that the value is stored to.
  void read(const Expr& e, const Elements* updated) {
    for (const ir::Load* load : ir::loads_of(e)) {
      if (!names_.contains(load->buffer)) continue;
      const auto elements = elements_of(*load);
      is_known_ = is_known_ && elements;
      if (!elements || (updated && *updated == *elements)) continue;
      for (const Element& element : *elements) {
        const auto [at, is_first] = readers_.emplace(element, around_);
        if (!is_first)
          std::erase_if(at->second, [&](const Constraint& c) {
            return std::ranges::find(around_, c) == around_.end();
          });
      }
    }
  }
};

class Completer {
 public:
  explicit Completer(const ir::LoopProgram& program) : facts_(facts_of(program)) {
    for (const ir::Buffer& buffer : program.buffers) shapes_[buffer.name] = buffer.shape;
    ir::for_each_stmt(program.body, [&](const Stmt& s) {
      if (const auto* alloc = std::get_if<ir::Alloc>(&s->op))
        shapes_[alloc->buffer.name].assign(alloc->buffer.shape.begin(), alloc->buffer.shape.end());
    });
  }

  Stmt statement(const Stmt& s) {
    if (std::holds_alternative<ir::Tensorized>(s->op)) return s;
    if (const auto* alloc = std::get_if<ir::Alloc>(&s->op);
        alloc && alloc->buffer.memory == ir::Memory::Register)
      return tile(s);
    return below(s, [&](const Stmt& child) { return statement(child); });
  }

 private:
  // A branch around what only computes registers.
  struct Branch {
    const ir::If* branch = nullptr;
    std::set<Element> written = {};
    std::vector<Constraint> superfluous = {};
    bool is_in_loop = false;
  };

  ir::Facts facts_;
  std::map<std::string, std::vector<Affine>> shapes_;
  std::set<std::string> shared_;  // what other threads may be writing
  // Of the tile at hand.
  const Registers* registers_ = nullptr;
  int loops_ = 0;  // inside it
  std::vector<Branch> branches_;

  // The children with what holds there.
  template <class F>
  Stmt below(const Stmt& s, const F& rewrite) {
    const ir::Facts::Scope scope(facts_);
    const std::set<std::string> outside = shared_;
    if (const auto* branch = std::get_if<ir::If>(&s->op)) {
      for (const Constraint& c : branch->conditions)
        if (!registers_ || !may_go(*branch, c)) facts_.assume(c);
    } else if (const auto* loop = std::get_if<ir::For>(&s->op)) {
      facts_.bind(loop->var, loop->lower, loop->upper);
      if (ir::is_concurrent(loop->kind)) share(loop->body);
    }
    Stmt result = ir::rewrite_children(s, rewrite);
    shared_ = outside;
    return result;
  }

  void share(const Stmt& body) {
    std::set<std::string> own;
    ir::for_each_stmt(body, [&](const Stmt& s) {
      if (const auto* alloc = std::get_if<ir::Alloc>(&s->op)) own.insert(alloc->buffer.name);
    });
    ir::for_each_stmt(body, [&](const Stmt& s) {
      if (const auto* store = std::get_if<ir::Store>(&s->op); store && !own.contains(store->buffer))
        shared_.insert(store->buffer);
    });
  }

  // --- a tile

  Stmt tile(const Stmt& s) {
    std::set<std::string> names;
    const Stmt* inner = &s;
    while (const auto* alloc = std::get_if<ir::Alloc>(&(*inner)->op)) {
      if (alloc->buffer.memory != ir::Memory::Register) break;
      names.insert(alloc->buffer.name);
      inner = &alloc->body;
    }
    Registers registers(std::move(names));
    if (!registers.see(*inner)) return inside(s, *inner);
    registers_ = &registers;
    branches_.clear();
    find_branches(*inner);
    keep_consistent();
    const Stmt body = completed(*inner);
    registers_ = nullptr;
    return with_body(s, *inner, inside(body, body));
  }

  // What stands inside the allocations may have tiles of its own.
  Stmt inside(const Stmt& s, const Stmt& inner) {
    return with_body(s, inner, below(inner, [&](const Stmt& child) { return statement(child); }));
  }

  // `outer` with `body` in the place of `inner`.
  static Stmt with_body(const Stmt& outer, const Stmt& inner, const Stmt& body) {
    if (outer == inner) return body;
    return ir::rewrite_children(outer,
                                [&](const Stmt& child) { return with_body(child, inner, body); });
  }

  // Whether the branch could do without c, as far as the registers are concerned.
  bool may_go(const ir::If& branch, const Constraint& c) const {
    if (!registers_->is_steady(c.expr)) return false;
    bool may = true;
    ir::for_each_stmt(branch.body, [&](const Stmt& s) {
      const auto* store = std::get_if<ir::Store>(&s->op);
      if (std::holds_alternative<ir::If>(s->op) || std::holds_alternative<ir::Block>(s->op) ||
          std::holds_alternative<ir::For>(s->op) || std::holds_alternative<ir::Fence>(s->op))
        return;
      may = may && store && registers_->contains(store->buffer) && store->lanes.count > 1 &&
            is_harmless(store->value) &&
            registers_->holds_for_readers(c, elements_of(*store).value_or(Elements{}));
    });
    return may;
  }

  void find_branches(const Stmt& s) {
    const auto* branch = std::get_if<ir::If>(&s->op);
    const bool is_loop = std::holds_alternative<ir::For>(s->op);
    if (branch) {
      Branch found{branch, written_in(branch->body), {}, loops_ > 0};
      const ir::Facts::Scope scope(facts_);
      for (const Constraint& c : branch->conditions)
        if (may_go(*branch, c))
          found.superfluous.push_back(c);
        else
          facts_.assume(c);
      if (!loads_stay_inside(branch->body)) found.superfluous.clear();
      branches_.push_back(std::move(found));
    }
    loops_ += is_loop;
    below(s, [&](const Stmt& child) {
      find_branches(child);
      return child;
    });
    loops_ -= is_loop;
  }

  std::set<Element> written_in(const Stmt& s) const {
    std::set<Element> all;
    ir::for_each_stmt(s, [&](const Stmt& each) {
      const auto* store = std::get_if<ir::Store>(&each->op);
      if (!store || !registers_->contains(store->buffer)) return;
      const Elements own = *elements_of(*store);
      all.insert(own.begin(), own.end());
    });
    return all;
  }

  // A condition goes everywhere or nowhere: registers that are summed without it have to be begun
  // without it. It goes for a branch in a loop: one that runs once costs nothing.
  void keep_consistent() {
    for (bool changed = true; changed;) {
      changed = false;
      for (Branch& each : branches_)
        changed |= std::erase_if(each.superfluous, [&](const Constraint& c) {
                     return !is_for_loop(each, c) || stays_elsewhere(each, c);
                   }) > 0;
    }
  }

  static bool has(const std::vector<Constraint>& all, const Constraint& c) {
    return std::ranges::find(all, c) != all.end();
  }

  static bool meet(const Branch& a, const Branch& b) {
    return std::ranges::any_of(a.written,
                               [&](const Element& element) { return b.written.contains(element); });
  }

  bool is_for_loop(const Branch& of, const Constraint& c) const {
    return std::ranges::any_of(branches_, [&](const Branch& each) {
      return each.is_in_loop && has(each.superfluous, c) && meet(of, each);
    });
  }

  bool stays_elsewhere(const Branch& of, const Constraint& c) const {
    return std::ranges::any_of(branches_, [&](const Branch& each) {
      return has(each.branch->conditions, c) && !has(each.superfluous, c) && meet(of, each);
    });
  }

  Stmt completed(const Stmt& s) {
    const bool is_loop = std::holds_alternative<ir::For>(s->op);
    loops_ += is_loop;
    Stmt result = below(s, [&](const Stmt& child) { return completed(child); });
    loops_ -= is_loop;
    if (const auto* store = std::get_if<ir::Store>(&result->op))
      return loops_ > 0 ? without_masks(result, *store) : result;
    const auto* before = std::get_if<ir::If>(&s->op);
    const auto found = std::ranges::find(branches_, before, &Branch::branch);
    if (!before || found == branches_.end() || found->superfluous.empty()) return result;
    ir::If kept = std::get<ir::If>(result->op);
    std::erase_if(kept.conditions, [&](const Constraint& c) { return has(found->superfluous, c); });
    return kept.conditions.empty() && !kept.condition ? kept.body : ir::make_if(std::move(kept));
  }

  // Loads of other buffers under the mask of the store. Constant ones stay: all rows of a tile
  // share them, and what lies behind the last element of a panel could be numbers that take long.
  Stmt without_masks(const Stmt& s, const ir::Store& store) {
    if (!registers_->contains(store.buffer) || !store.lanes.is_masked()) return s;
    return map_own_exprs(s, [&](const Expr& e) {
      return ir::rewrite(e, [&](const Expr& leaf) -> Expr {
        const auto* load = std::get_if<ir::Load>(&leaf->op);
        if (!load || registers_->contains(load->buffer) ||
            !is_same_mask(load->lanes, store.lanes) || !stays_inside(*load))
          return leaf;
        ir::Load whole = *load;
        for (std::optional<Affine>* bound : {&whole.lanes.active, &whole.lanes.skipped})
          if (*bound && !(*bound)->is_constant()) bound->reset();
        return std::make_shared<const ir::ExprNode>(
            ir::ExprNode{leaf->type, leaf->lanes, std::move(whole)});
      });
    });
  }

  // --- loads

  bool loads_stay_inside(const Stmt& s) {
    bool all = true;
    const std::function<Stmt(const Stmt&)> visit = [&](const Stmt& each) {
      if (const auto* store = std::get_if<ir::Store>(&each->op))
        all = all && std::ranges::all_of(ir::loads_of(store->value), [&](const ir::Load* load) {
                return registers_->contains(load->buffer) || stays_inside(*load);
              });
      return below(each, visit);
    };
    visit(s);
    return all;
  }

  // All lanes, masked or not.
  bool stays_inside(const ir::Load& load) const {
    const std::vector<Affine>& shape = shapes_.at(load.buffer);
    if (shared_.contains(load.buffer) || load.indices.size() != shape.size()) return false;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const ir::Index& index = load.indices[d];
      if (index.indirect) return false;
      const std::int64_t reach =
          load.lanes.count == 1 ? 0 : load.lanes.strides[d] * (load.lanes.count - 1);
      if (!facts_.proves(index.affine + std::min<std::int64_t>(reach, 0)) ||
          !facts_.proves(shape[d] - 1 - index.affine - std::max<std::int64_t>(reach, 0)))
        return false;
    }
    return true;
  }
};

}  // namespace

ir::LoopProgram complete_tiles(const ir::LoopProgram& program) {
  ir::LoopProgram result = program;
  result.body = Completer(program).statement(program.body);
  return result;
}

}  // namespace polyte::lower
