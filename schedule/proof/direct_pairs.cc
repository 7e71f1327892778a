#include "schedule/proof/direct_pairs.h"

#include <isl/aff.h>
#include <isl/flow.h>
#include <isl/map.h>
#include <isl/union_map.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace polyte::schedule {
namespace {

// Source, sink, buffer, kind, reduction.
using Key = std::tuple<int, int, int, DependenceKind, bool>;

class Joined {
 public:
  explicit Joined(const IslModel& basis) : basis_(basis) {}

  void add(const Key& key, const isl::map& pairs) {
    const auto [at, is_new] = found_.try_emplace(key, pairs);
    if (!is_new) at->second = at->second.unite(pairs);
  }

  std::vector<RelatedPairs> all() const {
    std::vector<RelatedPairs> result;
    for (const auto& [key, pairs] : found_) {
      const auto [source, sink, buffer, kind, reduction] = key;
      if (pairs.is_empty()) continue;
      const bool exact = is_exact(source, buffer) && is_exact(sink, buffer);
      result.push_back({kind, source, sink, buffer, reduction, exact, pairs.coalesce()});
    }
    return result;
  }

 private:
  const IslModel& basis_;
  std::map<Key, isl::map> found_;

  bool is_exact(int statement, int buffer) const {
    return std::ranges::all_of(
        basis_.statements[static_cast<std::size_t>(statement)].accesses,
        [&](const IslAccess& access) { return access.buffer != buffer || access.exact; });
  }
};

// isl's dataflow tells accesses of one instance apart by their tuples only. An update has two
// kinds: of s[i] += s[i - 1] * w[k] the read of its own element makes a sum over k, the read of
// s[i - 1] a recurrence over i. So the reads that the expressions of statement i state are accesses
// of R<i>, and what it does to its own element those of S<i>.
constexpr const char* kStated = "R";

bool is_stated(const IslAccess& access) { return !access.write && !access.own; }

isl::map tagged(isl::map from_instances, std::size_t statement, bool stated) {
  if (!stated) return from_instances;
  isl_map* map = from_instances.release();
  isl_id* id =
      isl_id_alloc(isl_map_get_ctx(map), (kStated + std::to_string(statement)).c_str(), nullptr);
  return isl::manage(isl_map_set_tuple_id(map, isl_dim_in, id));
}

struct Accesses {  // of one buffer
  isl_union_map *reads, *must_writes, *may_writes;
};

class DirectFinder {
 public:
  explicit DirectFinder(const IslModel& basis) : basis_(basis), joined_(basis) {
    order_ = none();
    for (std::size_t i = 0; i < basis_.statements.size(); ++i) {
      const IslStatement& s = basis_.statements[i];
      const isl::map time = isl::manage(
          isl_map_from_multi_aff(to_multi_aff(s.domain.get_space(), "time", s.time).release()));
      for (const bool stated : {false, true})
        order_ = order_.unite(as_union(tagged(time, i, stated)));
    }
  }

  std::vector<RelatedPairs> run() {
    for (std::size_t b = 0; b < basis_.buffers.size(); ++b) add_buffer(static_cast<int>(b));
    return joined_.all();
  }

 private:
  const IslModel& basis_;
  Joined joined_;
  isl::union_map order_;

  static isl::union_map as_union(const isl::map& map) {
    return isl::manage(isl_union_map_from_map(map.copy()));
  }

  isl::union_map none() const {
    return isl::manage(isl_union_map_empty(isl_set_get_space(basis_.context.get())));
  }

  // The last write before a read (flow) and before a write (output); the reads before a write
  // that no other write comes after (anti). For anti the reads are may-sources, since each counts
  // and none hides another, and the writes are kills, behind which a read belongs to an earlier
  // write.
  //
  //   w1 r1 r2 w2         flow w1 -> r1, r2; anti r1, r2 -> w2; output w1 -> w2
  void add_buffer(int buffer) {
    isl::union_map reads = none(), writes = none(), may_writes = none();
    for (std::size_t i = 0; i < basis_.statements.size(); ++i)
      for (const IslAccess& access : basis_.statements[i].accesses) {
        if (access.buffer != buffer) continue;
        isl::union_map& kind = !access.write ? reads : access.exact ? writes : may_writes;
        kind = kind.unite(as_union(tagged(access.cells, i, is_stated(access))));
      }
    if (writes.is_empty() && may_writes.is_empty()) return;
    const isl::union_map all_writes = writes.unite(may_writes);
    add(DependenceKind::Flow, buffer, reads, writes, may_writes, std::nullopt);
    add(DependenceKind::Output, buffer, all_writes, writes, may_writes, std::nullopt);
    add(DependenceKind::Anti, buffer, all_writes, none(), reads, writes);
  }

  // From each sink back to the last must-source, and to the may-sources behind it; what lies
  // before a kill is none.
  void add(DependenceKind kind, int buffer, const isl::union_map& sink, const isl::union_map& must,
           const isl::union_map& may, const std::optional<isl::union_map>& kill) {
    auto info = isl::union_access_info(sink).set_must_source(must).set_may_source(may);
    if (kill) info = info.set_kill(*kill);
    const isl::union_map pairs = info.set_schedule_map(order_).compute_flow().may_dependence();
    pairs.foreach_map([&](const isl::map& each) { add_pairs(kind, buffer, each); });
  }

  void add_pairs(DependenceKind kind, int buffer, const isl::map& each) {
    const std::string from = isl_map_get_tuple_name(each.get(), isl_dim_in);
    const std::string to = isl_map_get_tuple_name(each.get(), isl_dim_out);
    const int source = std::stoi(from.substr(1)), sink = std::stoi(to.substr(1));
    const bool is_update = statement_at(source).combiner != ir::Combiner::None;
    const bool reduction = source == sink && is_update && from == to && from.front() == 'S';
    isl_map* pairs = each.copy();
    for (const auto& [side, statement] : {std::pair{isl_dim_in, source}, {isl_dim_out, sink}})
      pairs = isl_map_set_tuple_id(
          pairs, side,
          isl_id_alloc(isl_map_get_ctx(pairs), ("S" + std::to_string(statement)).c_str(), nullptr));
    joined_.add({source, sink, buffer, kind, reduction}, isl::manage(pairs));
  }

  const ir::Statement& statement_at(int i) const {
    return basis_.statements[static_cast<std::size_t>(i)].statement->body;
  }
};

}  // namespace

std::vector<RelatedPairs> direct_pairs(const IslModel& basis) { return DirectFinder(basis).run(); }

std::vector<RelatedPairs> all_pairs(const IslModel& basis) {
  Joined joined(basis);
  for (const Dependence& d : compute_dependences(basis))
    joined.add({d.source, d.sink, d.buffer, d.kind, is_reduction(d)}, d.pairs);
  return joined.all();
}

}  // namespace polyte::schedule
