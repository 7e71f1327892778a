#include "schedule/proof/dependences.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/union_map.h>

#include <set>

namespace polyte::schedule {
namespace {

std::string access_text(const ir::Access& access) {
  std::string text = access.buffer;
  for (const ir::Index& index : access.indices) {
    text += '|' + ir::to_string(index.affine) + (index.indirect ? ir::to_string(index.indirect) : "");
  }
  return text;
}

DependenceKind kind_of(bool source_writes, bool sink_writes) {
  if (source_writes) return sink_writes ? DependenceKind::Output : DependenceKind::Flow;
  return DependenceKind::Anti;
}

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

  void add_pair(int source, int sink) {
    // Flow first: where two kinds relate the same cells, the message speaks of the value that is read.
    for (DependenceKind kind : {DependenceKind::Flow, DependenceKind::Anti, DependenceKind::Output}) {
      for (const IslAccess& a : at(source).accesses) {
        for (const IslAccess& b : at(sink).accesses) {
          bool related = a.buffer == b.buffer && (a.write || b.write) && kind_of(a.write, b.write) == kind;
          if (related) add(kind, source, sink, a, b);
        }
      }
    }
  }

  void add(DependenceKind kind, int source, int sink, const IslAccess& a, const IslAccess& b) {
    std::string key = std::to_string(source) + ">" + std::to_string(sink) + access_text(a.text) + access_text(b.text);
    if (!seen_.insert(key).second) return;
    if (is_never_before(basis_, source, sink)) return;
    const isl::map forwards = forward_pairs(basis_, source, sink, a.cells.apply_range(b.cells.reverse()));
    if (forwards.is_empty()) return;
    Dependence dependence{kind, source, sink, a.buffer, a.text, b.text, false, forwards};
    const ir::Statement& s = at(source).statement->body;
    dependence.reduction = source == sink && s.combiner != ir::Combiner::None && writes(s, a.text) && writes(s, b.text);
    result_.push_back(std::move(dependence));
  }

  static bool writes(const ir::Statement& s, const ir::Access& access) {
    for (const ir::Access& write : s.writes) {
      if (access_text(write) == access_text(access)) return true;
    }
    return false;
  }
};

}  // namespace

std::vector<Dependence> compute_dependences(const IslModel& basis) { return DependenceBuilder(basis).build(); }

}  // namespace polyte::schedule
