#include "schedule/proof/dependences.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/union_map.h>

#include <algorithm>
#include <set>

#include "schedule/state/contract.h"

namespace polyte::schedule {
namespace {

// Part of the one step in which an update reads, combines and writes its element.
bool is_own(const IslAccess& access) { return access.write || access.own; }

// Accesses of one pair of statements with equal keys relate the same instances: buffer, subscripts
// and guard. What an expression reads and what an update reads of its own element are two things,
// whatever their subscripts.
std::string access_key(const IslAccess& access) {
  std::string text = access.text.buffer;
  for (const ir::Index& index : access.text.indices)
    text +=
        '|' + ir::to_string(index.affine) + (index.indirect ? ir::to_string(index.indirect) : "");
  for (const ir::Constraint& c : access.guard)
    text += (c.equality ? "|0==" : "|0<=") + ir::to_string(c.expr);
  return text + (is_own(access) ? "|own" : "");
}

DependenceKind kind_of(bool source_writes, bool sink_writes) {
  if (source_writes) return sink_writes ? DependenceKind::Output : DependenceKind::Flow;
  return DependenceKind::Anti;
}

// Memory-based and exact: for each pair of accesses to one buffer, of which one writes, the
// instances that touch one cell
//
//   { source -> sink : cells_a(source) = cells_b(sink), source before sink in R }
//
// Transitively implied ones are kept: they cost time in the order walk and never change its answer.
// Which are direct, for people to look at, is direct_pairs.cc.
class DependenceBuilder {
 public:
  explicit DependenceBuilder(const IslModel& basis) : basis_(basis) {}

  std::vector<Dependence> build() {
    const int count = static_cast<int>(basis_.statements.size());
    for (int source = 0; source < count; ++source) {
      for (int sink = 0; sink < count; ++sink) add_pair(source, sink);
    }
    return std::move(result_);
  }

 private:
  const IslModel& basis_;
  std::vector<Dependence> result_;
  std::set<std::string> seen_;

  const IslStatement& at(int i) const { return basis_.statements[static_cast<std::size_t>(i)]; }
  bool is_update(int i) const { return at(i).statement->body.combiner != ir::Combiner::None; }

  void add_pair(int source, int sink) {
    // Flow first: where two kinds relate the same cells, the message speaks of the value that
    // is read.
    for (DependenceKind kind :
         {DependenceKind::Flow, DependenceKind::Anti, DependenceKind::Output}) {
      for (const IslAccess& a : at(source).accesses) {
        for (const IslAccess& b : at(sink).accesses) {
          bool related =
              a.buffer == b.buffer && (a.write || b.write) && kind_of(a.write, b.write) == kind;
          if (related) add(kind, source, sink, a, b);
        }
      }
    }
  }

  void add(DependenceKind kind, int source, int sink, const IslAccess& a, const IslAccess& b) {
    const std::string key =
        std::to_string(source) + ">" + std::to_string(sink) + access_key(a) + ">" + access_key(b);
    if (!seen_.insert(key).second) return;
    if (is_never_before(basis_, source, sink)) return;
    const isl::map forwards =
        forward_pairs(basis_, source, sink, a.cells.apply_range(b.cells.reverse()));
    if (forwards.is_empty()) return;
    const bool updates = is_update(source) && is_update(sink) && is_own(a) && is_own(b);
    result_.push_back({kind, source, sink, a.buffer, a.text, b.text, updates, forwards});
  }
};

}  // namespace

std::string to_string(DependenceKind kind) {
  switch (kind) {
    case DependenceKind::Flow:
      return "flow";
    case DependenceKind::Anti:
      return "anti";
    case DependenceKind::Output:
      return "output";
  }
  return "";
}

std::vector<Dependence> compute_dependences(const IslModel& basis) {
  return DependenceBuilder(basis).build();
}

// What of a dependence a State has to keep. Between the steps of two updates of one class nothing,
// if any order has the same bits (the empty map); where the contract names loops, the pairs that
// are equal in all of them: their order in the others stays. Everything else stays as it is.
isl::map ordered_pairs(const Dependence& d, const IslModel& basis, const State& state) {
  if (!d.updates) return d.pairs;
  const ir::Statement& first = basis.statements[static_cast<std::size_t>(d.source)].statement->body;
  const ir::Statement& second = basis.statements[static_cast<std::size_t>(d.sink)].statement->body;
  const std::optional<UpdateClass> one = class_of(state, first), other = class_of(state, second);
  if (!one || one != other) return d.pairs;
  if (!is_reduction(d) || is_reorderable(first))
    return isl::manage(isl_map_empty(isl_map_get_space(d.pairs.get())));
  isl_map* pairs = d.pairs.copy();
  for (const std::string& iterator : reorderable_iterators(state, first)) {
    const auto at = std::ranges::find(first.iterators, iterator) - first.iterators.begin();
    pairs =
        isl_map_equate(pairs, isl_dim_in, static_cast<int>(at), isl_dim_out, static_cast<int>(at));
  }
  return isl::manage(pairs);
}

}  // namespace polyte::schedule
