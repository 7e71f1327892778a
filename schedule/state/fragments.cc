#include "schedule/state/fragments.h"

#include <algorithm>

#include "ir/facts.h"
#include "ir/intrinsics.h"
#include "schedule/state/digits.h"

namespace polyte::schedule {
namespace {

// A staged buffer in registers that an instruction takes an operand from, its tiles spread over the
// lanes of a warp: along which dimensions of the buffer a tile lies, and how long it is there.
struct Spread {
  const StagedBuffer* buffer = nullptr;
  std::string instruction;
  std::map<std::size_t, std::int64_t> tile;  // extents by dimension
};

class FragmentChecker {
 public:
  // Three steps, each on what the one before has found: the instructions say which registers
  // are spread and how; other statements that touch these have their loops shared by the lanes;
  // and those loops must hold nothing else.
  explicit FragmentChecker(const State& state) : state_(state) {
    for (const TensorizedLoop& tensorized : state.tensorized) {
      const ir::Intrinsic* row = ir::find_intrinsic(tensorized.intrinsic);
      if (row && ir::is_of_warps(row->scope)) add(tensorized);
    }
    for (const Leaf* leaf : leaves_of(state.tree))
      if (!spread_.empty() && !instructions_.contains(leaf->statement)) see(leaf->statement);
    for (const LoopId loop : loops_) check_company(loop);
  }

  std::vector<LoopId> loops() const { return loops_; }
  std::vector<std::string> problems() const { return problems_; }

 private:
  const State& state_;
  std::map<std::string, Spread> spread_;               // by buffer
  std::map<std::string, std::vector<LoopId>> shared_;  // by statement: its loops that lanes share
  std::set<std::string> instructions_;                 // statements that are one
  std::vector<LoopId> loops_;
  std::vector<std::string> problems_;

  void report(const std::string& text) {
    if (std::ranges::find(problems_, text) == problems_.end()) problems_.push_back(text);
  }

  const StagedBuffer* registers(const std::string& buffer) const {
    for (const StagedBuffer& b : state_.staged)
      if (b.name == buffer && b.memory == Memory::Register) return &b;
    return nullptr;
  }

  // Whether the loop `outer` stands on the path above `inner`; kKernel is around everything.
  static bool is_around(const std::vector<const Loop*>& path, LoopId outer, const Loop& inner) {
    for (const Loop* loop : path) {
      if (loop->id == inner.id) return false;
      if (loop->id == outer) return true;
    }
    return outer == kKernel;
  }

  // The loop of warps above; null where a loop of threads or lanes gives each lane iterations
  // of its own, which no instruction of all lanes can be.
  static const Loop* warp_of(const std::vector<const Loop*>& path) {
    const Loop* warp = nullptr;
    for (const Loop* loop : path) {
      if (loop->kind == LoopKind::Warp) warp = loop;
      if (loop->kind == LoopKind::Thread || loop->kind == LoopKind::Lane) return nullptr;
    }
    return warp;
  }

  // The subscripts of an access over the loops, also those that run once.
  static std::vector<ir::Affine> over_loops(const ScheduledStatement& s, const ir::Access& access) {
    std::vector<ir::Affine> result;
    for (const ir::Index& index : access.indices)
      result.push_back(ir::substitute(index.affine, s.inverse));
    return result;
  }

  // One instruction: it stands in a loop of warps, its accumulator in registers around its
  // nest. Operands in registers are spread over the lanes; others are read from memory, which
  // all lanes share.
  void add(const TensorizedLoop& tensorized) {
    const Loop* loop = find_loop(state_.tree, tensorized.loop);
    if (!loop) return;
    const std::string statement = statements_below(state_.tree, loop->id).front();
    instructions_.insert(statement);
    const std::vector<const Loop*> path = path_to(state_.tree, statement);
    if (!warp_of(path))
      report(tensorized.name + " is " + tensorized.intrinsic +
             ", an instruction of all lanes of a warp: bind a loop around it to warp");
    const ScheduledStatement& s = state_.at(statement);
    const std::string& accumulator = s.body.writes.front().buffer;
    const StagedBuffer* staged = registers(accumulator);
    if (!staged || !is_around(path, staged->allocated_at(), *loop))
      report(tensorized.intrinsic + " keeps its sums in registers of the warp, " + accumulator +
             " is not there: stage it in register at a loop around " + loop->name);
    for (const AccessRef& ref : accesses_of(s)) {
      const StagedBuffer* b = registers(ref.access.buffer);
      if (!b) continue;
      add_operand(tensorized, *b, s, ref.access, path, *loop);
      if (b->name != accumulator && cuts_sum(s, *loop))
        report(b->name + " is kept in registers, and sizes cut the sum of " + tensorized.intrinsic +
               " short: what is beyond it has to be zero; read " + b->of +
               " from memory, or from shared filled by pad");
    }
  }

  // Whether some terms of a whole tile do not exist: a condition on a loop of the sum, along which
  // the accumulator stands still, that is not true for all iterations of whole tiles. Registers
  // beyond the last term hold anything, and the instruction would add it.
  bool cuts_sum(const ScheduledStatement& s, const Loop& outermost) const {
    ir::Ranges whole = loop_ranges(state_, s);
    std::vector<std::string> of_sum;
    const std::vector<ir::Affine> sums = over_loops(s, s.body.writes.front());
    for (const Loop* at = &outermost; at; at = std::get_if<Loop>(&at->body->op)) {
      const auto extent = tile_extent(state_, s, at->name);
      if (!extent) return true;
      whole[at->name] = {0, *extent - 1};
      if (std::ranges::none_of(sums, [&](const ir::Affine& e) { return e.uses(at->name); }))
        of_sum.push_back(at->name);
    }
    return std::ranges::any_of(loop_constraints(s), [&](const ir::Constraint& c) {
      const ir::Constraint simple{ir::simplified(c.expr, whole), c.equality};
      const bool is_of_sum = std::ranges::any_of(
          of_sum, [&](const std::string& name) { return simple.expr.uses(name); });
      return is_of_sum && ir::truth_of(simple, whole) != ir::Truth::True;
    });
  }

  // A tile of the instruction in a buffer: along each loop of the nest, the dimension that the
  // loop moves holds `loop + multiple of extent`, and no two loops move one dimension. Tiles
  // are then boxes that neither overlap nor begin within each other, and each is spread by
  // itself:
  //
  //   acc[16*m.o + m.i, 8*n.o + n.i]   tile {0: 16, 1: 8}
  void add_operand(const TensorizedLoop& tensorized, const StagedBuffer& b,
                   const ScheduledStatement& s, const ir::Access& access,
                   const std::vector<const Loop*>& path, const Loop& outermost) {
    Spread own{&b, tensorized.intrinsic, {}};
    const std::vector<ir::Affine> subscripts = over_loops(s, access);
    bool inside = false;
    for (const Loop* loop : path) {
      inside = inside || loop->id == outermost.id;
      if (!inside) continue;
      const auto tile = tile_extent(state_, s, loop->name);
      for (std::size_t d = 0; d < subscripts.size(); ++d) {
        if (!subscripts[d].uses(loop->name)) continue;
        const std::int64_t extent = tile.value_or(0);
        if (extent == 0 || !ir::tile_base(subscripts[d], loop->name, extent) ||
            own.tile.contains(d))
          return report(b.name + ", kept in registers, is no whole tile for " +
                        tensorized.intrinsic + ": " + loop->name + " in its subscript " +
                        ir::to_string(subscripts[d]) + ", expected it and multiples of " +
                        std::to_string(extent));
        own.tile[d] = extent;
      }
    }
    const auto [at, fresh] = spread_.emplace(b.name, own);
    if (!fresh && at->second.tile != own.tile)
      report(b.name + " is kept in registers for two instructions in two ways: " +
             at->second.instruction + " and " + tensorized.intrinsic);
  }

  // A statement that is no instruction but touches registers of one: along each dimension of a
  // tile its innermost loop that runs within the tile, 0 <= loop < extent beside a multiple of
  // the extent, is shared by the lanes, so that each of them computes the elements that it
  // holds.
  void see(const std::string& statement) {
    const ScheduledStatement& s = state_.at(statement);
    const std::vector<const Loop*> path = path_to(state_.tree, statement);
    const ir::Ranges ranges = loop_ranges(state_, s);
    for (const AccessRef& ref : accesses_of(s)) {
      const auto at = spread_.find(ref.access.buffer);
      if (at == spread_.end()) continue;
      if (!warp_of(path)) {
        report(statement + " touches " + at->first + ", registers of a warp for " +
               at->second.instruction + ": bind a loop around it to warp, and none to lane");
        continue;
      }
      const std::vector<ir::Affine> subscripts = over_loops(s, ref.access);
      std::vector<LoopId> own;
      for (const auto& [d, extent] : at->second.tile) {
        const Loop* along = nullptr;
        for (const Loop* loop : path) {
          const auto range = ranges.find(loop->name);
          const bool fits = range != ranges.end() && range->second.min && range->second.max &&
                            *range->second.min >= 0 && *range->second.max < extent;
          if (fits && !ir::is_threaded(loop->kind) &&
              ir::tile_base(subscripts[d], loop->name, extent))
            along = loop;
        }
        if (!along) {
          report(statement + " does not touch " + at->first + " tile by tile, as " +
                 at->second.instruction + " has it: in subscript " + ir::to_string(subscripts[d]) +
                 " no loop runs from 0 up to " + std::to_string(extent) + " beside multiples of " +
                 std::to_string(extent));
          continue;
        }
        own.push_back(along->id);
      }
      share(statement, own);
    }
    check_registers(statement, path);
  }

  // The loops of one statement: along all registers that it touches they have to be the same
  // ones, as a point runs on one lane.
  void share(const std::string& statement, const std::vector<LoopId>& own) {
    std::vector<LoopId>& known = shared_[statement];
    if (known.empty()) known = own;
    if (known != own) report(statement + " touches tiles of registers along different loops");
    for (const LoopId loop : own)
      if (std::ranges::find(loops_, loop) == loops_.end()) loops_.push_back(loop);
  }

  // Other registers around these loops: the points of the statement are spread over lanes as the
  // instruction has it, and an element in a plain register would lie in the lane that wrote it, not
  // in the one that reads it.
  void check_registers(const std::string& statement, const std::vector<const Loop*>& path) {
    if (!shared_.contains(statement)) return;
    for (const AccessRef& ref : accesses_of(state_.at(statement))) {
      const StagedBuffer* b = registers(ref.access.buffer);
      if (!b || spread_.contains(b->name)) continue;
      const auto inside = std::ranges::find_if(path, [&](const Loop* loop) {
        return std::ranges::find(shared_.at(statement), loop->id) != shared_.at(statement).end();
      });
      const bool is_own = std::any_of(
          inside, path.end(), [&](const Loop* loop) { return loop->id == b->allocated_at(); });
      if (!is_own)
        report(statement + ", whose points lanes share, touches " + b->name +
               ", registers that no instruction spreads over lanes: keep it in shared");
    }
  }

  // Lanes share the iterations of all loops of a tile together, so whatever runs in one of them
  // runs in all.
  void check_company(LoopId loop) {
    std::vector<LoopId> tile;
    for (const auto& [statement, own] : shared_)
      if (std::ranges::find(own, loop) != own.end()) tile = own;
    for (const std::string& statement : statements_below(state_.tree, loop)) {
      const std::vector<const Loop*> path = path_to(state_.tree, statement);
      const auto has = [&](LoopId id) {
        return std::ranges::any_of(path, [&](const Loop* each) { return each->id == id; });
      };
      if (!std::ranges::all_of(tile, has) || instructions_.contains(statement))
        report(statement + " is in " + find_loop(state_.tree, loop)->name +
               ", whose iterations lanes share, but not in all loops of the tile: give it a nest "
               "of its own");
    }
  }
};

}  // namespace

// The number of iterations of a loop from 0: by constraints 0 <= loop <= c that are on the loop
// alone, as `split` adds them (the last tile may be cut further), else by its range.
std::optional<std::int64_t> tile_extent(const State& state, const ScheduledStatement& s,
                                        const std::string& loop) {
  std::optional<std::int64_t> extent;
  bool from_zero = false;
  for (const ir::Constraint& c : s.loop_domain) {
    const ir::Affine most = c.expr + ir::Affine::symbol(loop),
                     least = c.expr - ir::Affine::symbol(loop);
    if (c.equality) continue;
    if (most.is_constant())
      extent = std::min(extent.value_or(most.constant() + 1), most.constant() + 1);
    from_zero = from_zero || least == ir::Affine(0);
  }
  if (from_zero && extent) return extent;
  const ir::Ranges ranges = loop_ranges(state, s);
  const auto range = ranges.find(loop);
  const bool is_known = range != ranges.end() && range->second.min == 0 && range->second.max;
  return is_known ? std::optional(*range->second.max + 1) : std::nullopt;
}

std::vector<LoopId> loops_of_lanes(const State& state) {
  if (state.tensorized.empty()) return {};
  return FragmentChecker(state).loops();
}

std::vector<std::string> fragment_problems(const State& state) {
  if (state.tensorized.empty()) return {};
  return FragmentChecker(state).problems();
}

}  // namespace polyte::schedule
