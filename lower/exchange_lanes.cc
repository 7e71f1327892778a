#include "lower/exchange_lanes.h"

#include <algorithm>
#include <set>
#include <utility>

#include "ir/matrix_load.h"
#include "lower/cut_conditions.h"
#include "lower/names.h"
#include "lower/register_owner.h"
#include "lower/rewrite_exprs.h"
#include "lower/simplify.h"
#include "support/checked.h"

namespace polyte::lower {

using ir::Affine;
using ir::Constraint;
using ir::Expr;
using ir::LoopKind;
using ir::Stmt;

namespace {

// A copy of a register of another lane: `buffer[reg]` of lane `lane` goes to the register `name`.
struct LaneCopy {
  std::string name, buffer;
  DType dtype = DType::F32;
  std::vector<ir::Index> reg;
  Affine lane;
  std::set<std::string> variables;  // that say which
};

// Why a buffer is not exchanged.
struct NoExchange {
  std::string buffer, why;
};

bool has_threads(const Stmt& s) {
  bool found = false;
  ir::for_each_stmt(s, [&](const Stmt& each) {
    const auto* loop = std::get_if<ir::For>(&each->op);
    found = found || (loop && ir::is_of_threads(loop->kind)) || ir::is_of_warp(each);
  });
  return found;
}

std::set<std::string> loops_of(const Stmt& s) {
  std::set<std::string> loops;
  ir::for_each_stmt(s, [&](const Stmt& each) {
    if (const auto* loop = std::get_if<ir::For>(&each->op)) loops.insert(loop->var);
  });
  return loops;
}

// A register that the region itself writes may have another value at each point of it: its copy
// cannot move to the front.
std::set<std::string> stored_in(const Stmt& s) {
  std::set<std::string> buffers;
  ir::for_each_stmt(s, [&](const Stmt& each) {
    if (const auto* store = std::get_if<ir::Store>(&each->op)) buffers.insert(store->buffer);
  });
  return buffers;
}

// A store and its loads with other subscripts.
using Subscripts = std::function<void(const std::string& buffer, std::vector<ir::Index>& indices)>;
Stmt with_subscripts(const Stmt& s, const Subscripts& change) {
  Stmt result = map_own_exprs(s, [&](const Expr& e) {
    return ir::rewrite(e, [&](const Expr& leaf) -> Expr {
      const auto* load = std::get_if<ir::Load>(&leaf->op);
      if (!load) return leaf;
      ir::Load copy = *load;
      change(copy.buffer, copy.indices);
      return std::make_shared<const ir::ExprNode>(
          ir::ExprNode{leaf->type, leaf->lanes, std::move(copy)});
    });
  });
  const auto* store = std::get_if<ir::Store>(&result->op);
  if (!store) return result;
  ir::Store copy = *store;
  change(copy.buffer, copy.indices);
  return ir::make_store(std::move(copy));
}

// alloc acc.l { acc.l[0] = lane_read(acc[2], lane); s }, s reading acc.l[0] where it read the
// register.
Stmt with_copies(const std::vector<LaneCopy>& copies, const Stmt& s) {
  std::vector<Stmt> body;
  for (const LaneCopy& copy : copies)
    body.push_back(ir::make_store(
        {copy.name,
         {Affine(0)},
         ir::make_lane_read(ir::make_load(copy.dtype, copy.buffer, copy.reg), copy.lane),
         {},
         {}}));
  body.push_back(s);
  Stmt result = ir::make_block(std::move(body));
  for (const LaneCopy& copy : copies)
    result =
        ir::make_alloc({{copy.name, copy.dtype, {1}, ir::Memory::Register}, std::move(result)});
  return result;
}

// One region: accesses to the exchanged buffers rewritten, and copies placed where all lanes
// take part.
class Region {
 public:
  Region(Names& names, ThreadPlace& place, const std::map<std::string, RegisterOwner>& owners,
         std::vector<std::string>& notes)
      : names_(names), place_(place), owners_(owners), notes_(notes) {}

  // A loop of threads or lanes. Where something is exchanged it is widened to whole warps, 0 to a
  // multiple of 32, and its own bounds become conditions behind the exchange. The body is rewritten
  // twice: once to see what is copied, and again with the copies in their places.
  Stmt of_loop(const Stmt& s, const ir::For& loop) {
    const ThreadPlace::Inside inside(place_, s);
    lane_ = loop.var;
    stored_ = stored_in(s);
    std::vector<LaneCopy> copies;
    Stmt plain = rewritten(loop.body, copies);
    ir::For whole = loop;
    whole.body = std::move(plain);
    if (copies.empty()) return ir::make_for(std::move(whole));
    const auto last = place_.facts.range(Affine::symbol(loop.var)).max;
    if (!last) throw NoExchange{copies[0].buffer, "how many threads read it is not known"};
    whole.lower = {0};
    whole.upper = {ceil_div(*last + 1, ir::kLanes) * ir::kLanes};
    for (const Affine& low : loop.lower)
      if (low != Affine(0)) conditions_.push_back(ir::at_least(Affine::symbol(loop.var), low));
    for (const Affine& high : loop.upper)
      if (high != whole.upper[0])
        conditions_.push_back(ir::less_than(Affine::symbol(loop.var), high));
    whole.body = with_all(converged(loop.body));
    return ir::make_for(std::move(whole));
  }

  // A lane read stands in front of the conditions that kept its subscripts inside the buffer, as
  // every lane takes part in it. The register it names has to exist without them.
  void expect_registers(const Stmt& s) {
    const ThreadPlace::Inside inside(place_, s);
    const auto* store = std::get_if<ir::Store>(&s->op);
    if (const auto* read = store ? std::get_if<ir::LaneRead>(&store->value->op) : nullptr) {
      const auto& load = std::get<ir::Load>(read->load->op);
      const std::vector<std::int64_t>& registers = owners_.at(load.buffer).registers();
      for (std::size_t d = 0; d < registers.size(); ++d) {
        const ir::Interval range = place_.facts.range(load.indices[d].affine);
        if (!range.min || *range.min < 0 || !range.max || *range.max >= registers[d])
          throw NoExchange{
              load.buffer,
              "lanes that take part without reading would name registers that are not there"};
      }
    }
    ir::rewrite_children(s, [&](const Stmt& child) {
      expect_registers(child);
      return child;
    });
  }

  // Code outside of the loops of threads is run by one thread, of the block or of the warp. Where
  // it reads a register of another lane, it becomes a loop over the lanes of a whole warp, and all
  // that it does with what it read stands under `lane == 0`.
  Stmt of_first(const Stmt& s, bool in_warp) {
    stored_ = stored_in(s);
    std::vector<LaneCopy> copies;
    Stmt plain = rewritten(s, copies);
    if (copies.empty()) return plain;
    lane_ = names_.fresh("lane");
    conditions_.push_back(ir::equal(Affine::symbol(lane_), 0));
    Stmt body = with_all(converged(s));
    return ir::make_for({lane_,
                         {0},
                         {ir::kLanes},
                         in_warp ? LoopKind::Lane : LoopKind::Thread,
                         lane_,
                         std::move(body)});
  }

 private:
  Names& names_;
  ThreadPlace& place_;
  const std::map<std::string, RegisterOwner>& owners_;
  std::vector<std::string>& notes_;
  std::string lane_;                    // the variable that lanes differ in
  std::set<std::string> stored_;        // buffers written in the region
  std::vector<Constraint> conditions_;  // of what runs, that lanes differ in
  std::vector<LaneCopy> waiting_;       // for the loops that they need nothing of to end
  std::vector<LaneCopy> known_;         // of the region, by name

  // --- accesses

  Stmt rewritten(const Stmt& s, std::vector<LaneCopy>& copies) {
    const ThreadPlace::Inside inside(place_, s);
    const Stmt below =
        ir::rewrite_children(s, [&](const Stmt& child) { return rewritten(child, copies); });
    Stmt own = map_own_exprs(below, [&](const Expr& e) {
      return ir::rewrite(e, [&](const Expr& leaf) { return read(leaf, copies); });
    });
    const auto* store = std::get_if<ir::Store>(&own->op);
    const auto owner = store ? owners_.find(store->buffer) : owners_.end();
    if (owner == owners_.end()) return own;
    ir::Store copy = *store;
    copy.indices = simple(owner->second.register_of(copy.indices));
    return ir::make_store(std::move(copy));
  }

  std::vector<ir::Index> simple(std::vector<ir::Index> indices) const {
    for (ir::Index& index : indices) index.affine = place_.facts.simplify(index.affine);
    return indices;
  }

  Expr read(const Expr& leaf, std::vector<LaneCopy>& copies) {
    const auto* load = std::get_if<ir::Load>(&leaf->op);
    const auto owner = load ? owners_.find(load->buffer) : owners_.end();
    if (owner == owners_.end()) return leaf;
    for (const ir::Index& index : load->indices)
      if (index.indirect)
        throw NoExchange{load->buffer, "it is read by a subscript that is read at run time"};
    ir::Load copy = *load;
    copy.indices = simple(owner->second.register_of(load->indices));
    const Affine lane = place_.facts.simplify(owner->second.lane_of(load->indices));
    if (!place_.is_own_lane(lane)) {
      copies.push_back(copy_of({"", load->buffer, leaf->type, copy.indices, lane, {}}));
      copy.buffer = copies.back().name;
      copy.indices = {Affine(0)};
    }
    return std::make_shared<const ir::ExprNode>(
        ir::ExprNode{leaf->type, leaf->lanes, std::move(copy)});
  }

  // One name for one register of one lane.
  LaneCopy copy_of(LaneCopy copy) {
    std::vector<Affine> says = {copy.lane};
    for (const ir::Index& index : copy.reg) {
      says.push_back(index.affine);
      if (!lane_.empty() && index.affine.uses(lane_))
        throw NoExchange{copy.buffer, "lanes read different registers of each other"};
    }
    const auto same = std::ranges::find_if(known_, [&](const LaneCopy& k) {
      const auto is_same = [](const ir::Index& a, const ir::Index& b) {
        return a.affine == b.affine;
      };
      return k.buffer == copy.buffer && k.lane == copy.lane &&
             std::ranges::equal(k.reg, copy.reg, is_same);
    });
    if (same != known_.end()) return *same;
    for (const Affine& e : says) e.collect_symbols(copy.variables);
    copy.name = names_.fresh(copy.buffer + ".l");
    known_.push_back(copy);
    return copy;
  }

  // --- places

  Stmt guarded(Stmt s) const {
    return conditions_.empty() ? s : ir::make_if({conditions_, nullptr, std::move(s)});
  }

  // Whether the copy can stand in front of s: nothing in the region stores to the buffer, and s
  // binds no loop that the register or the lane depend on.
  bool is_before(const LaneCopy& copy, const Stmt& s) const {
    const std::set<std::string> loops = loops_of(s);
    return !stored_.contains(copy.buffer) &&
           std::ranges::none_of(
               loops, [&](const std::string& loop) { return copy.variables.contains(loop); });
  }

  void wait(const LaneCopy& copy) {
    if (std::ranges::find(waiting_, copy.name, &LaneCopy::name) == waiting_.end())
      waiting_.push_back(copy);
  }
  Stmt with_all(const Stmt& s) { return with_copies(std::exchange(waiting_, {}), s); }
  Stmt with_those_of(const std::string& loop, const Stmt& s) {
    std::vector<LaneCopy> here;
    std::ranges::copy_if(waiting_, std::back_inserter(here),
                         [&](const LaneCopy& copy) { return copy.variables.contains(loop); });
    std::erase_if(waiting_, [&](const LaneCopy& copy) { return copy.variables.contains(loop); });
    return with_copies(here, s);
  }

  // s with its copies where all lanes take part, and what it does where it did. `shfl.sync` needs
  // every lane of its mask (PTX ISA, "shfl.sync"), so no copy may stand under a condition or bound
  // that lanes differ in: such conditions are collected in `conditions_` on the way down and put
  // around what uses the copies.
  Stmt converged(const Stmt& s) {
    std::vector<LaneCopy> copies;
    const Stmt plain = rewritten(s, copies);
    if (std::ranges::all_of(copies, [&](const LaneCopy& copy) { return is_before(copy, s); })) {
      for (const LaneCopy& copy : copies) wait(copy);
      return guarded(plain);
    }
    if (const auto* loop = std::get_if<ir::For>(&s->op)) return converged_loop(s, *loop);
    if (const auto* branch = std::get_if<ir::If>(&s->op))
      return converged_branch(s, *branch, copies);
    if (!std::holds_alternative<ir::Store>(s->op))
      return ir::rewrite_children(s, [&](const Stmt& child) { return converged(child); });
    std::vector<LaneCopy> once;
    for (const LaneCopy& copy : copies)
      if (std::ranges::find(once, copy.name, &LaneCopy::name) == once.end()) once.push_back(copy);
    return with_copies(once, guarded(plain));
  }

  Stmt converged_loop(const Stmt& s, ir::For loop) {
    const ThreadPlace::Inside inside(place_, s);
    const Affine var = Affine::symbol(loop.var);
    const std::size_t outside = conditions_.size();
    for (Affine& low : loop.lower) {
      if (!low.uses(lane_)) continue;
      conditions_.push_back(ir::at_least(var, low));
      low = least(low);
    }
    for (Affine& high : loop.upper) {
      if (!high.uses(lane_)) continue;
      conditions_.push_back(ir::less_than(var, high));
      high = -least(-high);
    }
    if (loop.kind == LoopKind::Vector) {
      notes_.push_back("loop '" + loop.loop +
                       "' is not vectorised: each of its iterations reads from another lane");
      loop.kind = LoopKind::Unrolled;
    }
    const Stmt body = converged(loop.body);
    loop.body = with_those_of(loop.var, body);
    conditions_.resize(outside);
    return ir::make_for(std::move(loop));
  }

  // The least value of a bound over all lanes that read. The loop around an exchange has to run
  // equally often in every lane, from the least lower to the greatest upper bound of any; lanes
  // outside of their own bounds take part and store nothing.
  Affine least(const Affine& bound) const {
    std::set<std::string> symbols;
    bound.collect_symbols(symbols);
    const ir::Interval lanes = place_.facts.range(Affine::symbol(lane_));
    if (symbols == std::set{lane_} && lanes.min && lanes.max) {
      std::vector<std::int64_t> values;
      for (std::int64_t lane = *lanes.min; lane <= *lanes.max; ++lane)
        values.push_back(ir::evaluate(bound, {{lane_, lane}}));
      return values.empty() ? Affine(0) : Affine(*std::ranges::min_element(values));
    }
    if (const auto value = ir::least_over(bound, {lane_}, place_.facts.ranges());
        value && !value->uses(lane_))
      return *value;
    throw NoExchange{known_.back().buffer, "how often lanes read it is not known"};
  }

  Stmt converged_branch(const Stmt& s, const ir::If& branch, const std::vector<LaneCopy>& copies) {
    if (branch.condition)
      throw NoExchange{copies[0].buffer, "a condition that is read at run time says who reads it"};
    const ThreadPlace::Inside inside(place_, s);
    const std::size_t outside = conditions_.size();
    std::vector<Constraint> common;
    for (const Constraint& c : branch.conditions)
      (c.expr.uses(lane_) ? conditions_ : common).push_back(c);
    Stmt body = converged(branch.body);
    conditions_.resize(outside);
    return common.empty() ? body : ir::make_if({std::move(common), nullptr, std::move(body)});
  }
};

class Exchanger {
 public:
  Exchanger(const ir::LoopProgram& program, std::vector<std::string>& notes)
      : names_(program, true), place_{facts_of(program), {}, 0}, notes_(notes) {}

  Stmt visit(const Stmt& s, bool in_block) {
    const auto* loop = std::get_if<ir::For>(&s->op);
    if (!owners_.empty()) {
      if (loop && (loop->kind == LoopKind::Thread || loop->kind == LoopKind::Lane))
        return region(s, loop);
      if (!std::holds_alternative<ir::Block>(s->op) && !has_threads(s)) return region(s, nullptr);
    }
    const ThreadPlace::Inside inside(place_, s);
    in_block = in_block || (loop && loop->kind == LoopKind::Block);
    if (loop && loop->kind == LoopKind::Warp) warp_ = loop;
    const auto* alloc = std::get_if<ir::Alloc>(&s->op);
    if (alloc && in_block && is_spread(*alloc)) return allocation(*alloc);
    if (loop && (loop->kind == LoopKind::Thread || loop->kind == LoopKind::Lane)) return s;
    Stmt result =
        ir::rewrite_children(s, [&](const Stmt& child) { return visit(child, in_block); });
    if (loop && loop->kind == LoopKind::Warp) warp_ = nullptr;
    return result;
  }

 private:
  Names names_;
  ThreadPlace place_;
  std::vector<std::string>& notes_;
  std::map<std::string, RegisterOwner> owners_;  // of buffers that are exchanged
  const ir::For* warp_ = nullptr;                // the loop of warps that is open

  Stmt region(const Stmt& s, const ir::For* loop) {
    Region region(names_, place_, owners_, notes_);
    Stmt result = loop ? region.of_loop(s, *loop) : region.of_first(s, !place_.open.none());
    region.expect_registers(result);
    return result;
  }

  // Whether the registers are spread over the threads of a block: allocated between blocks and
  // threads, and not as the fragment of an instruction.
  static bool is_spread(const ir::Alloc& alloc) {
    const ir::LoopBuffer& buffer = alloc.buffer;
    return buffer.memory == ir::Memory::Register && !buffer.of_lanes && !buffer.of_each_thread &&
           has_threads(alloc.body);
  }

  // Tries to exchange the buffer; where something below has no form, NoExchange unwinds to here,
  // and the same subtree is visited again with the buffer in shared memory.
  Stmt allocation(const ir::Alloc& alloc) {
    const auto below = [&] { return visit(alloc.body, true); };
    const std::string& name = alloc.buffer.name;
    std::string why = "which thread has an element is not known";
    if (const auto owner = RegisterOwner::of(alloc, place_)) {
      if (is_of_one_thread(alloc.body, name, *owner))
        return ir::make_alloc({alloc.buffer, below()});
      owners_.emplace(name, *owner);
      const ir::For* const warp = warp_;
      try {
        ir::Alloc copy{alloc.buffer, below()};
        copy.buffer.shape = owner->registers();
        copy.buffer.of_each_thread = true;
        owners_.erase(name);
        return ir::make_alloc(std::move(copy));
      } catch (const NoExchange& reason) {
        owners_.erase(name);
        warp_ = warp;
        if (reason.buffer != name) throw;
        why = reason.why;
      }
    }
    notes_.push_back("buffer '" + name + "' is not kept in registers but in shared memory: " + why);
    return visit(in_shared_memory(alloc), true);
  }

  bool is_own(const std::vector<ir::Index>& element, const RegisterOwner& owner) const {
    return std::ranges::none_of(element,
                                [](const ir::Index& index) { return index.indirect != nullptr; }) &&
           place_.is_own_lane(owner.lane_of(element));
  }
  bool is_of_one_thread(const Stmt& s, const std::string& buffer, const RegisterOwner& owner) {
    const ThreadPlace::Inside inside(place_, s);
    bool is_one = true;
    map_own_exprs(s, [&](const Expr& e) {
      for (const ir::Load* load : ir::loads_of(e))
        if (load->buffer == buffer) is_one = is_one && is_own(load->indices, owner);
      return e;
    });
    ir::rewrite_children(s, [&](const Stmt& child) {
      is_one = is_one && is_of_one_thread(child, buffer, owner);
      return child;
    });
    return is_one;
  }

  // Inside a loop of warps each of them has its own.
  Stmt in_shared_memory(const ir::Alloc& alloc) const {
    ir::Alloc copy = alloc;
    copy.buffer.memory = ir::Memory::Shared;
    if (!warp_) return ir::make_alloc(std::move(copy));
    const Affine warp = Affine::symbol(warp_->var);
    const auto of_warp = [&](const std::string& buffer, std::vector<ir::Index>& indices) {
      if (buffer == alloc.buffer.name) indices.insert(indices.begin(), ir::Index(warp));
    };
    const std::function<Stmt(const Stmt&)> below = [&](const Stmt& s) {
      const Stmt own = with_subscripts(ir::rewrite_children(s, below), of_warp);
      return own;
    };
    copy.buffer.shape.insert(copy.buffer.shape.begin(),
                             place_.facts.range(warp).max.value_or(ir::kLanes - 1) + 1);
    copy.body = below(alloc.body);
    return ir::make_alloc(std::move(copy));
  }
};

}  // namespace

ir::LoopProgram exchange_lanes(const ir::LoopProgram& program, std::vector<std::string>& notes) {
  ir::LoopProgram result = program;
  result.body = Exchanger(program, notes).visit(program.body, false);
  return result;
}

}  // namespace polyte::lower
