#include "poly/core_reader.h"

#include <isl/aff.h>
#include <isl/schedule_node.h>

#include <algorithm>
#include <set>

namespace polyte::poly {
namespace {

// A row of isl's is an expression over a cluster's iterators. Two kinds of it can be said:
//
//   S[i, j] -> i       for all clusters one iterator i: a loop of that name
//   S[i, j] -> i + j   of a definition: a loop with a row of its own, named later (`map`)
//
// Others are declined: fractions, floors, pieces, sizes.
class TreeReader {
 public:
  TreeReader(const std::vector<Cluster>& clusters, bool allow_maps)
      : clusters_(clusters), allow_maps_(allow_maps) {}

  Result<Core> read(const isl::schedule_node& node) {
    Core core = visit(node, std::vector<std::set<std::string>>(clusters_.size()));
    if (!reason_.empty()) return Decline{reason_};
    return core;
  }

 private:
  const std::vector<Cluster>& clusters_;
  const bool allow_maps_;
  std::string reason_;

  Core fail(const std::string& reason) {
    if (reason_.empty()) reason_ = reason;
    return nullptr;
  }

  // Instances are named by a letter and the number of their cluster.
  static std::size_t cluster_number(const isl::set& instances) {
    return static_cast<std::size_t>(std::stoul(isl_set_get_tuple_name(instances.get()) + 1));
  }

  using Taken = std::vector<std::set<std::string>>;  // a cluster's iterators that bands above own

  Core visit(const isl::schedule_node& node, const Taken& taken) {
    isl_schedule_node* raw = node.get();
    switch (isl_schedule_node_get_type(raw)) {
      case isl_schedule_node_domain:
      case isl_schedule_node_filter:
      case isl_schedule_node_context:
        return visit(node.child(0), taken);
      case isl_schedule_node_band:
        return visit_band(node, taken);
      case isl_schedule_node_sequence:
      case isl_schedule_node_set:
        return visit_sequence(node, taken);
      case isl_schedule_node_leaf:
        return visit_leaf(node, taken);
      default:
        return fail("isl's tree has a node that schedules do not have");
    }
  }

  std::vector<std::size_t> clusters_at(const isl::schedule_node& node) {
    std::vector<std::size_t> found;
    isl::union_set domain = isl::manage(isl_schedule_node_get_domain(node.get()));
    domain.foreach_set([&](isl::set set) { found.push_back(cluster_number(set)); });
    std::ranges::sort(found);
    return found;
  }

  Core visit_leaf(const isl::schedule_node& node, const Taken& taken) {
    std::vector<Core> parts;
    for (std::size_t c : clusters_at(node)) {
      Cluster rest = clusters_[c];
      std::erase_if(rest.iterators, [&](const std::string& it) { return taken[c].contains(it); });
      parts.push_back(std::make_shared<const CoreNode>(CoreNode{rest}));
    }
    if (parts.size() == 1) return parts[0];
    return std::make_shared<const CoreNode>(CoreNode{CoreSequence{parts}});
  }

  Core visit_sequence(const isl::schedule_node& node, const Taken& taken) {
    CoreSequence sequence;
    // A set node lets its children run in any order: isl's own is taken.
    const isl_size count = isl_schedule_node_n_children(node.get());
    for (isl_size i = 0; i < count; ++i) {
      Core child = visit(node.child(static_cast<int>(i)), taken);
      if (!child) return nullptr;
      sequence.children.push_back(child);
    }
    return std::make_shared<const CoreNode>(CoreNode{std::move(sequence)});
  }

  // A row over the cluster's iterators; nullopt where it is not one affine expression
  // with integer coefficients.
  std::optional<ir::Affine> row_of(const isl::union_pw_aff& row, std::size_t cluster) {
    isl::pw_aff_list pieces = isl::manage(isl_union_pw_aff_get_pw_aff_list(row.get()));
    for (unsigned i = 0; i < pieces.size(); ++i) {
      isl::pw_aff piece = pieces.at(static_cast<int>(i));
      // A union has a piece for each cluster; within one cluster a row with several pieces is no
      // single expression.
      if (cluster_number(piece.domain()) != cluster) continue;
      if (isl_pw_aff_n_piece(piece.get()) != 1) return std::nullopt;
      return over_iterators(isl::manage(isl_pw_aff_as_aff(piece.copy())),
                            clusters_[cluster].iterators);
    }
    return std::nullopt;
  }

  static std::optional<ir::Affine> over_iterators(const isl::aff& aff,
                                                  const std::vector<std::string>& iterators) {
    if (isl_aff_dim(aff.get(), isl_dim_div) != 0) return std::nullopt;
    const auto coefficient = [&](isl_dim_type type, isl_size d) {
      return isl::manage(isl_aff_get_coefficient_val(aff.get(), type, static_cast<int>(d)));
    };
    const isl::val constant = aff.constant_val();
    if (!constant.is_int()) return std::nullopt;
    ir::Affine result = constant.num_si();
    for (isl_size d = 0; d < isl_aff_dim(aff.get(), isl_dim_in); ++d) {
      const isl::val factor = coefficient(isl_dim_in, d);
      if (!factor.is_int()) return std::nullopt;
      result =
          result + ir::Affine::symbol(iterators[static_cast<std::size_t>(d)]) * factor.num_si();
    }
    for (isl_size d = 0; d < isl_aff_dim(aff.get(), isl_dim_param); ++d)
      if (!coefficient(isl_dim_param, d).is_zero()) return std::nullopt;
    return result;
  }

  // Only a definition outside of reductions may have any row: an initial value and its update share
  // loops by the names of their iterators.
  bool may_map(std::size_t cluster) const {
    return allow_maps_ && clusters_[cluster].statements.size() == 1 && !clusters_[cluster].update();
  }

  std::string decline_text(std::size_t cluster) const {
    return "isl skews, shifts or reverses a loop of '" + clusters_[cluster].statements[0]->name +
           "'";
  }

  // A member whose row is one and the same iterator for all clusters keeps its name. Any other is a
  // loop of its own, with a row for each cluster, which only definitions may have.
  std::optional<BandMember> read_member(const isl::union_pw_aff& row,
                                        const std::vector<std::size_t>& here, Taken& taken) {
    BandMember member;
    bool is_plain = true;
    for (std::size_t c : here) {
      const auto value = row_of(row, c);
      if (!value) {
        fail(decline_text(c));
        return std::nullopt;
      }
      const auto iterator = value->as_symbol();
      is_plain = is_plain && iterator && (member.loop.empty() || member.loop == *iterator);
      if (!iterator && !may_map(c)) {
        fail(decline_text(c));
        return std::nullopt;
      }
      if (iterator && member.loop.empty()) member.loop = *iterator;
      member.rows[clusters_[c].statements[0]->name] = *value;
      // A row takes every iterator that it uses: i + j takes both.
      std::set<std::string> used;
      value->collect_symbols(used);
      taken[c].insert(used.begin(), used.end());
    }
    if (is_plain) {
      member.rows.clear();
      return member;
    }
    for (std::size_t c : here) {
      if (may_map(c)) continue;
      fail("isl fuses loop '" + member.loop + "' with a loop of another name");
      return std::nullopt;
    }
    member.loop.clear();  // named when all members are known
    return member;
  }

  // Bands above own the iterators that their rows use: those that are left at a leaf become loops
  // there (visit_leaf).
  Core visit_band(const isl::schedule_node& node, Taken taken) {
    isl::schedule_node_band band_node = node.as<isl::schedule_node_band>();
    isl::multi_union_pw_aff rows = band_node.partial_schedule();
    Band band;
    band.permutable = band_node.permutable();
    const std::vector<std::size_t> here = clusters_at(node);
    const isl_size members = isl_schedule_node_band_n_member(node.get());
    for (isl_size m = 0; m < members; ++m) {
      auto member = read_member(rows.at(static_cast<int>(m)), here, taken);
      if (!member) return nullptr;
      if (member->loop.empty() && member->rows.empty())
        return fail("isl's band has a loop that no statement owns");
      member->coincident = band_node.member_get_coincident(static_cast<int>(m));
      band.members.push_back(std::move(*member));
    }
    band.child = visit(node.child(0), taken);
    if (!band.child) return nullptr;
    return std::make_shared<const CoreNode>(CoreNode{std::move(band)});
  }
};

}  // namespace

Result<Core> read_core(const isl::schedule_node& node, const std::vector<Cluster>& clusters,
                       bool allow_maps) {
  return TreeReader(clusters, allow_maps).read(node);
}

}  // namespace polyte::poly
