// verify(LoopProgram): names, scopes, types, lanes and the three forms.
#include <algorithm>
#include <set>

#include "ir/loop_program.h"

namespace polyte::ir {
namespace {

struct Known {
  DType dtype;
  std::size_t rank;
  bool read_only;
};

class Verifier {
 public:
  Verifier(const LoopProgram& program, Form form) : form_(form) {
    for (const std::string& p : program.params) bind_symbol(p, "parameter");
    for (const Buffer& b : program.buffers) {
      const bool read_only = b.role == Role::In || b.role == Role::Const;
      if (!buffers_.emplace(b.name, Known{b.dtype, b.shape.size(), read_only}).second)
        report("buffer '" + b.name + "' is declared twice");
      used_.insert(b.name);
      for (const Affine& extent : b.shape) check_symbols(extent, "shape of '" + b.name + "'");
    }
    if (!program.body) {
      report("no body");
      return;
    }
    visit(program.body);
  }

  std::vector<std::string> problems;

 private:
  Form form_;
  std::map<std::string, Known> buffers_;
  std::set<std::string> symbols_;
  std::set<std::string> used_;  // every name ever bound: names are unique

  void report(std::string problem) { problems.push_back(std::move(problem)); }

  void bind_symbol(const std::string& name, const std::string& what) {
    if (!used_.insert(name).second) report(what + " '" + name + "': the name is taken");
    symbols_.insert(name);
  }

  void check_symbols(const Affine& e, const std::string& where) {
    std::set<std::string> names;
    e.collect_symbols(names);
    for (const std::string& name : names)
      if (!symbols_.count(name)) report(where + ": '" + name + "' is not bound here");
  }

  void visit(const Stmt& s) {
    std::visit([&](const auto& op) { check(op); }, s->op);
  }

  void check(const Block& block) {
    for (const Stmt& child : block.body) visit(child);
  }
  void check(const Fence&) {}

  void check(const For& loop) {
    const std::string where = "loop '" + loop.var + "'";
    if (loop.lower.empty() || loop.upper.empty()) report(where + " has no bound");
    for (const Affine& bound : loop.lower) check_symbols(bound, where);
    for (const Affine& bound : loop.upper) check_symbols(bound, where);
    const bool native = loop.kind == LoopKind::Serial || loop.kind == LoopKind::Parallel;
    if (form_ != Form::Nest && !native) report(where + " is " + to_string(loop.kind) + " in native form");
    bind_symbol(loop.var, "loop");
    visit(loop.body);
    symbols_.erase(loop.var);
  }

  void check(const If& branch) {
    if (branch.conditions.empty() && !branch.condition) report("a branch without a condition");
    for (const Constraint& c : branch.conditions) check_symbols(c.expr, "condition " + to_string(c));
    if (branch.condition) {
      if (branch.condition->type != DType::Bool || branch.condition->lanes != 1)
        report("a branch on something else than one bool");
      check_expr(branch.condition, "a branch");
    }
    visit(branch.body);
  }

  void check(const Alloc& alloc) {
    const LoopBuffer& b = alloc.buffer;
    if (!used_.insert(b.name).second) report("allocation '" + b.name + "': the name is taken");
    for (std::int64_t extent : b.shape)
      if (extent < 0) report("allocation '" + b.name + "' has extent " + std::to_string(extent));
    const auto place = buffers_.emplace(b.name, Known{b.dtype, b.shape.size(), false}).first;
    visit(alloc.body);
    buffers_.erase(place);
  }

  void check(const Store& store) {
    const std::string where = "store to '" + store.buffer + "'";
    const Known* known = check_access(store.buffer, store.indices, store.lanes, where);
    check_expr(store.value, where);
    if (store.value->lanes != store.lanes.count)
      report(where + ": value of " + std::to_string(store.value->lanes) + " lanes, expected " +
             std::to_string(store.lanes.count));
    for (const Affine& value : store.origin.instance) check_symbols(value, where + ", origin");
    if (!known) return;
    if (known->read_only) report(where + ": the buffer is read-only");
    if (known->dtype != store.value->type)
      report(where + ": value of type " + std::string(polyte::to_string(store.value->type)) + ", expected " +
             std::string(polyte::to_string(known->dtype)));
    const bool still = std::all_of(store.lanes.strides.begin(), store.lanes.strides.end(),
                                   [](std::int64_t stride) { return stride == 0; });
    if (store.lanes.count > 1 && still) report(where + ": every lane writes the same element");
  }

  const Known* check_access(const std::string& buffer, const std::vector<Index>& indices, const Lanes& lanes,
                            const std::string& where) {
    for (const Index& index : indices) {
      check_symbols(index.affine, where);
      if (!index.indirect) continue;
      check_expr(index.indirect, where);
      if (is_float(index.indirect->type)) report(where + ": a subscript of type float");
    }
    check_lanes(lanes, indices.size(), where);
    const auto at = buffers_.find(buffer);
    if (at == buffers_.end()) {
      report(where + ": no buffer of that name here");
      return nullptr;
    }
    const std::size_t expected = form_ == Form::Flat ? 1 : at->second.rank;
    if (indices.size() != expected)
      report(where + ": " + std::to_string(indices.size()) + " subscripts, expected " + std::to_string(expected));
    return &at->second;
  }

  void check_lanes(const Lanes& lanes, std::size_t subscripts, const std::string& where) {
    if (lanes.count < 1) report(where + ": " + std::to_string(lanes.count) + " lanes");
    if (lanes.active) check_symbols(*lanes.active, where);
    if (lanes.count > 1 && lanes.strides.size() != subscripts)
      report(where + ": " + std::to_string(lanes.strides.size()) + " lane strides, expected " +
             std::to_string(subscripts));
  }

  void check_load(const ExprNode& e, const Load& load, const std::string& where) {
    const std::string here = where + ", load of '" + load.buffer + "'";
    const Known* known = check_access(load.buffer, load.indices, load.lanes, here);
    if (known && known->dtype != e.type) report(here + ": wrong type");
    if (load.lanes.count != e.lanes) report(here + ": lanes of the node and of the access differ");
    for (const Constraint& c : load.guard) check_symbols(c.expr, here + ", guard");
    if (load.guard.empty() != (load.otherwise == nullptr)) report(here + ": a guard needs a value and the reverse");
  }

  void check_expr(const Expr& e, const std::string& where) {
    for_each_node(e, [&](const ExprNode& n) {
      if (const auto* index = std::get_if<IndexValue>(&n.op)) {
        check_symbols(index->value, where);
        check_lanes(index->lanes, 1, where + ", index value");
        if (index->lanes.count != n.lanes) report(where + ": lanes of an index value differ");
      } else if (const auto* load = std::get_if<Load>(&n.op)) {
        check_load(n, *load, where);
      }
    });
  }
};

}  // namespace

std::vector<std::string> verify(const LoopProgram& program, Form form) {
  return std::move(Verifier(program, form).problems);
}

}  // namespace polyte::ir
