// verify(LoopProgram): names, scopes, types, lanes and the three forms.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "ir/intrinsics.h"
#include "ir/matrix_load.h"

namespace polyte::ir {
namespace {

struct Known {
  DType dtype;
  std::size_t rank;
  bool read_only;
};

// A branch has no name; at() keeps a pointer, so the word needs a place that stays.
const std::string kNoName = "if";

// One walk, with what is in scope and who runs there: names, threads that are open, whether
// lanes are whole.
class Verifier {
 public:
  Verifier(const LoopProgram& program, Form form) : form_(form) {
    for (const std::string& p : program.params) {
      at("parameter", p);
      bind_symbol(p);
    }
    for (const Buffer& b : program.buffers) {
      at("buffer", b.name);
      const bool read_only = b.role == Role::In || b.role == Role::Const;
      if (!buffers_.emplace(b.name, Known{b.dtype, b.shape.size(), read_only}).second)
        report("declared twice");
      used_.insert(b.name);
      check_symbols(b.shape);
    }
    if (!program.body) {
      at("program", program.name);
      report("no body");
      return;
    }
    visit(program.body);
  }

  std::vector<std::string> problems;

 private:
  Form form_;
  std::map<std::string, Known> buffers_;
  std::unordered_set<std::string> symbols_;
  int threads_ = 0;                       // loops of threads that are open
  bool is_whole_ = false;                 // all lanes of a warp reach this point
  std::unordered_set<std::string> own_;   // of these, what differs from lane to lane
  bool warps_ = false;                    // one of them is of warps
  std::unordered_set<std::string> each_;  // registers of each thread
  std::unordered_set<std::string> used_;  // every name ever bound: names are unique
  // Where the walk is; put into words only for a problem.
  const char* what_ = "";
  const std::string* name_ = nullptr;

  void at(const char* what, const std::string& name) {
    what_ = what;
    name_ = &name;
  }
  void report(const std::string& problem) {
    problems.push_back(name_ ? std::string(what_) + " '" + *name_ + "': " + problem : problem);
  }

  // No name is bound twice in a program, not even in separate loops: substitution relies on it.
  void bind_symbol(const std::string& name) {
    if (!used_.insert(name).second) report("the name is taken");
    symbols_.insert(name);
  }

  void check_symbols(const Affine& e) {
    for (const Term& term : e.terms()) {
      if (term.atom.div) {
        check_symbols(term.atom.div->numerator);
      } else if (!symbols_.count(term.atom.symbol)) {
        report("'" + term.atom.symbol + "' is not bound here");
      }
    }
  }
  void check_symbols(const std::vector<Affine>& values) {
    for (const Affine& value : values) check_symbols(value);
  }

  void visit(const Stmt& s) {
    std::visit([&](const auto& op) { check(op); }, s->op);
  }

  void check(const Block& block) {
    for (const Stmt& child : block.body) visit(child);
  }
  void check(const Fence&) {}
  // All threads reach this point: no loop of threads is open, but that of the warps around a
  // barrier of a warp. A barrier that some threads do not reach is undefined on a GPU, and often a
  // hang.
  void check(const Barrier& barrier) {
    at("barrier on", barrier.buffer);
    if (threads_ != (barrier.of_warp && warps_ ? 1 : 0)) report("not all threads reach it");
  }
  void check(const ProductGroup& group) {
    at("products", group.step == ProductGroup::Step::Wait ? "awaited" : "grouped");
    if (threads_ != 1 || !warps_) report("they are those of a warp, which is not whole here");
    if (group.pending < 0) report(std::to_string(group.pending) + " groups");
  }
  void check(const CopyGroup& group) {
    at("copies", group.wait ? "awaited" : "committed");
    if (threads_ != 0) report("not all threads reach it");
    if (group.pending < 0) report(std::to_string(group.pending) + " groups");
  }
  void check(const Prefetch& prefetch) {
    at("prefetch of", prefetch.buffer);
    check_access(prefetch.buffer, prefetch.indices, {});
    for (const Index& index : prefetch.indices)
      if (index.indirect && !loads_of(index.indirect).empty())
        report("a prefetch through a gather");
    if (prefetch.level < 1 || prefetch.level > 3) report("level " + std::to_string(prefetch.level));
  }

  // Loops of constant extent around one store, which may have a condition.
  static bool is_point_nest(const Stmt& s) {
    const auto* loop = std::get_if<For>(&s->op);
    const auto* branch = std::get_if<If>(&s->op);
    if (branch && !branch->condition) return std::holds_alternative<Store>(branch->body->op);
    if (!loop) return std::holds_alternative<Store>(s->op);
    const bool is_plain =
        loop->kind == LoopKind::Serial && loop->lower.size() == 1 && loop->upper.size() == 1;
    return is_plain && (loop->upper[0] - loop->lower[0]).is_constant() && is_point_nest(loop->body);
  }

  // In Flat form the body is compared with the catalogue once more; subscripts may need
  // simplifying before.
  void check(const Tensorized& tensorized) {
    visit(tensorized.body);
    at("tensorized", tensorized.intrinsic);
    const Intrinsic* intrinsic = find_intrinsic(tensorized.intrinsic);
    if (!intrinsic && !matrix_load_of(tensorized)) return report("no such intrinsic");
    if (!intrinsic) return;
    if (!is_point_nest(tensorized.body))
      return report("expected loops of constant extent around one store");
    if (form_ != Form::Flat) return;
    if (is_of_warps(intrinsic->scope)) {
      if (const auto match = match_warp(*intrinsic, tensorized.body); !match)
        report(match.error().difference);
      return;
    }
    const auto one = [](const std::string&) { return std::vector<std::optional<std::int64_t>>{1}; };
    const auto tiles = match(*intrinsic, tensorized.body, one);
    if (!tiles) report(tiles.error().difference);
  }

  void check(const For& loop) {
    at("loop", loop.var);
    if (loop.lower.empty() || loop.upper.empty()) report("no bound");
    if (loop.var == kLaneNumber) report("no loop is called " + kLaneNumber);
    check_symbols(loop.lower);
    check_symbols(loop.upper);
    const bool expanded = is_expanded(loop.kind);
    if (form_ != Form::Nest && expanded) report(to_string(loop.kind) + " in native form");
    if (loop.uncut && !expanded) report("uncut, but neither vector nor unrolled");
    bind_symbol(loop.var);
    // What holds inside the loop only: put back below in reverse order.
    threads_ += is_of_threads(loop.kind) ? 1 : 0;
    const bool outside = std::exchange(warps_, warps_ || loop.kind == LoopKind::Warp);
    const bool was_whole = std::exchange(is_whole_, is_whole(loop));
    if (loop.kind == LoopKind::Thread || loop.kind == LoopKind::Lane) own_.insert(loop.var);
    visit(loop.body);
    own_.erase(loop.var);
    is_whole_ = was_whole;
    warps_ = outside;
    threads_ -= is_of_threads(loop.kind) ? 1 : 0;
    symbols_.erase(loop.var);
  }

  // Whether a loop of whole warps begins here, or lanes that have been running together still do.
  // `shfl.sync` and the instructions of a warp need all 32 lanes: a loop of threads from 0 to a
  // constant multiple of 32 has no partial warp, and inside it only bounds and conditions that
  // differ between threads separate the lanes.
  bool is_whole(const For& loop) const {
    if (loop.kind != LoopKind::Thread && loop.kind != LoopKind::Lane)
      return is_whole_ && !differs(loop.lower) && !differs(loop.upper);
    const bool is_fixed = loop.lower.size() == 1 && loop.lower[0] == Affine(0) &&
                          loop.upper.size() == 1 && loop.upper[0].is_constant();
    return is_fixed && loop.upper[0].constant() % kLanes == 0;
  }
  bool differs(const std::vector<Affine>& values) const {
    std::set<std::string> symbols;
    for (const Affine& value : values) value.collect_symbols(symbols);
    return std::ranges::any_of(symbols, [&](const std::string& s) { return own_.count(s) > 0; });
  }

  // A condition on data may differ from lane to lane, so lanes are no longer whole behind it.
  void check(const If& branch) {
    at("a branch", kNoName);
    if (branch.conditions.empty() && !branch.condition) report("no condition");
    for (const Constraint& c : branch.conditions) check_symbols(c.expr);
    if (branch.condition) {
      if (branch.condition->type != DType::Bool || branch.condition->lanes != 1)
        report("not on one bool");
      check_expr(branch.condition);
    }
    std::vector<Affine> tested;
    for (const Constraint& c : branch.conditions) tested.push_back(c.expr);
    const bool was_whole =
        std::exchange(is_whole_, is_whole_ && !branch.condition && !differs(tested));
    visit(branch.body);
    is_whole_ = was_whole;
  }

  void check(const Swizzle& swizzle, const LoopBuffer& b) {
    if (swizzle.none()) return;
    const std::int64_t line = kSharedLine / size_in_bytes(b.dtype);
    const auto is_power = [](std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; };
    if (!is_power(swizzle.chunk) || !is_power(swizzle.period) || swizzle.chunk >= line ||
        swizzle.period < line)
      report("swizzle " + std::to_string(swizzle.chunk) + " every " +
             std::to_string(swizzle.period) + ": expected powers of two, the first below " +
             std::to_string(line) + " and the second not");
    if (b.memory != Memory::Shared) report("it is swizzled and not in shared memory");
  }

  void check(const Alloc& alloc) {
    const LoopBuffer& b = alloc.buffer;
    at("allocation", b.name);
    if (!used_.insert(b.name).second) report("the name is taken");
    for (std::int64_t extent : b.shape)
      if (extent < 0) report("extent " + std::to_string(extent));
    check(b.swizzle, b);
    // A second buffer of the name is reported above; the first one keeps its entry.
    const bool fresh = buffers_.emplace(b.name, Known{b.dtype, b.shape.size(), false}).second;
    if (b.of_each_thread && !b.of_lanes) each_.insert(b.name);
    visit(alloc.body);
    each_.erase(b.name);
    if (fresh) buffers_.erase(b.name);
  }

  void check(const Store& store) {
    at("store to", store.buffer);
    const Known* known = check_access(store.buffer, store.indices, store.lanes);
    for (const Index& index : store.indices)
      if (index.indirect) check_expr(index.indirect);
    check_value(store.value);
    at("store to", store.buffer);
    if (store.value->lanes != store.lanes.count)
      report("value of " + std::to_string(store.value->lanes) + " lanes, expected " +
             std::to_string(store.lanes.count));
    // The number of the lane is bound in the origin alone.
    const bool is_new = is_uneven(store.origin) && symbols_.insert(kLaneNumber).second;
    check_symbols(store.origin.instance);
    if (is_new) symbols_.erase(kLaneNumber);
    if (store.atomic) check_atomic(store);
    if (store.async && (!std::holds_alternative<Load>(store.value->op) || store.atomic))
      report("an async store of more than a load");
    if (!known) return;
    if (known->read_only) report("the buffer is read-only");
    if (known->dtype != store.value->type)
      report("value of type " + std::string(polyte::to_string(store.value->type)) + ", expected " +
             std::string(polyte::to_string(known->dtype)));
    // A vector store needs lanes that move, by a stride or by an indirect subscript; else they
    // would race.
    const bool still =
        std::ranges::all_of(store.lanes.strides, [](std::int64_t stride) { return stride == 0; }) &&
        std::ranges::none_of(store.indices, [](const Index& index) {
          return index.indirect && index.indirect->lanes > 1;
        });
    if (store.lanes.count > 1 && still) report("every lane writes the same element");
  }

  // One element, which the value is made from. Code generators make it one atomic instruction, or a
  // loop around a compare-and-swap of that element, and take every read of the buffer in the value
  // for a read of it.
  void check_atomic(const Store& store) {
    if (store.lanes.count > 1) report("an atomic store of several lanes");
    bool reads_it = false;
    for (const Load* load : loads_of(store.value)) {
      if (load->buffer != store.buffer) continue;
      reads_it = true;
      for (std::size_t d = 0; d < load->indices.size() && d < store.indices.size(); ++d)
        if (load->indices[d].affine != store.indices[d].affine)
          report("an atomic store that reads another element");
    }
    if (!reads_it) report("an atomic store that does not read its element");
  }

  const Known* check_access(const std::string& buffer, const std::vector<Index>& indices,
                            const Lanes& lanes) {
    for (const Index& index : indices) {
      check_symbols(index.affine);
      if (!index.indirect) continue;
      if (is_float(index.indirect->type)) report("a subscript of type float");
    }
    check_lanes(lanes, indices.size());
    const auto known = buffers_.find(buffer);
    if (known == buffers_.end()) {
      report("no buffer '" + buffer + "' here");
      return nullptr;
    }
    const std::size_t expected = form_ == Form::Flat ? 1 : known->second.rank;
    if (indices.size() != expected)
      report(std::to_string(indices.size()) + " subscripts, expected " + std::to_string(expected));
    return &known->second;
  }

  void check_lanes(const Lanes& lanes, std::size_t subscripts) {
    if (lanes.count < 1) report(std::to_string(lanes.count) + " lanes");
    for (const std::optional<Affine>* bound : {&lanes.active, &lanes.skipped})
      if (*bound) check_symbols(**bound);
    if (lanes.count > 1 && lanes.strides.size() != subscripts)
      report(std::to_string(lanes.strides.size()) + " lane strides, expected " +
             std::to_string(subscripts));
  }

  void check_load(const ExprNode& e, const Load& load) {
    at("load of", load.buffer);
    const Known* known = check_access(load.buffer, load.indices, load.lanes);
    if (known && known->dtype != e.type) report("wrong type");
    if (load.lanes.count != e.lanes) report("lanes of the node and of the access differ");
    for (const Constraint& c : load.guard) check_symbols(c.expr);
    if (load.guard.empty() != (load.otherwise == nullptr))
      report("a guard needs a value and the reverse");
  }

  // A register of another lane: shfl.sync is executed by all lanes, and each names its own
  // register, whose number is part of the instruction and cannot differ from lane to lane.
  void check_value(const Expr& value) {
    const auto* read = std::get_if<LaneRead>(&value->op);
    if (!read) return check_expr(value);
    const Load& load = std::get<Load>(read->load->op);
    if (!is_whole_) report("a register of another lane, where not all lanes take part");
    check_symbols(read->lane);
    check_expr(read->load);
    std::vector<Affine> subscripts;
    for (const Index& index : load.indices) subscripts.push_back(index.affine);
    if (!load.guard.empty() || differs(subscripts)) report("lanes name different registers");
    if (each_.count(load.buffer) == 0)
      report("'" + load.buffer + "' is no register of each thread");
  }

  // Sub-expressions included, those of subscripts too.
  void check_expr(const Expr& e) {
    for_each_node(e, [&](const ExprNode& n) {
      if (const auto* index = std::get_if<IndexValue>(&n.op)) {
        check_symbols(index->value);
        check_lanes(index->lanes, 1);
        if (index->lanes.count != n.lanes) report("lanes of an index value differ");
      } else if (const auto* load = std::get_if<Load>(&n.op)) {
        check_load(n, *load);
      } else if (std::holds_alternative<LaneRead>(n.op)) {
        report("a register of another lane within an expression");
      }
    });
  }
};

}  // namespace

std::vector<std::string> verify(const LoopProgram& program, Form form) {
  return std::move(Verifier(program, form).problems);
}

}  // namespace polyte::ir
