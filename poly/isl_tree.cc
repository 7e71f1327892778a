#include "poly/isl_tree.h"

#include <isl/aff.h>
#include <isl/schedule_node.h>
#include <isl/set.h>

#include <optional>
#include <set>

namespace polyte::poly {
namespace {

using schedule::IslModel;

// A constant row places a statement between the iterations of others in the band. A larger number
// is an iteration count in disguise, "after all of them".
constexpr std::int64_t kLargestPlace = 2;  // of a row that is a number, as large
// The same for the constant in any row: a larger one is a size of the Program in disguise.
constexpr std::int64_t kLargestShift = 12;

// isl's tree brought back to names. Unlike core_reader.cc, which reads clusters, each statement is
// by itself here, and its reduction loops are rows too; any affine row with small constants will
// do.
class TreeReader {
 public:
  explicit TreeReader(const IslModel& model) : model_(model) {}

  Result<OrderTree> read(const isl::schedule_node& root) {
    OrderTree tree = visit(root);
    if (!reason_.empty()) return Decline{reason_};
    return tree;
  }

 private:
  const IslModel& model_;
  std::string reason_;

  OrderTree fail(const std::string& reason) {
    if (reason_.empty()) reason_ = reason;
    return nullptr;
  }

  const ir::Statement& statement(std::size_t i) const {
    return model_.statements[i].statement->body;
  }

  static std::size_t number_of(const isl::set& instances) {
    return static_cast<std::size_t>(std::stoul(isl_set_get_tuple_name(instances.get()) + 1));
  }

  static std::set<std::size_t> statements_at(const isl::schedule_node& node) {
    std::set<std::size_t> found;
    isl::union_set domain = isl::manage(isl_schedule_node_get_domain(node.get()));
    domain.foreach_set([&](isl::set set) { found.insert(number_of(set)); });
    return found;
  }

  OrderTree visit(const isl::schedule_node& node) {
    switch (isl_schedule_node_get_type(node.get())) {
      case isl_schedule_node_domain:
      case isl_schedule_node_filter:
      case isl_schedule_node_context:
        return visit(node.child(0));
      case isl_schedule_node_band:
        return visit_band(node);
      case isl_schedule_node_sequence:
      case isl_schedule_node_set:
        return visit_children(node);
      case isl_schedule_node_leaf:
        return visit_leaf(node);
      default:
        return fail("isl's tree has a node that schedules do not have");
    }
  }

  // Statements that isl leaves unordered at one point stand as in the text.
  OrderTree visit_leaf(const isl::schedule_node& node) {
    std::vector<OrderTree> leaves;
    for (const std::size_t i : statements_at(node)) leaves.push_back(order_leaf(statement(i).name));
    return order_sequence(std::move(leaves));
  }

  OrderTree visit_children(const isl::schedule_node& node) {
    std::vector<OrderTree> children;
    for (isl_size i = 0; i < isl_schedule_node_n_children(node.get()); ++i) {
      OrderTree child = visit(node.child(static_cast<int>(i)));
      if (!child) return nullptr;
      children.push_back(std::move(child));
    }
    return order_sequence(std::move(children));
  }

  OrderTree visit_band(const isl::schedule_node& node) {
    const auto band_node = node.as<isl::schedule_node_band>();
    const isl::multi_union_pw_aff rows = band_node.partial_schedule();
    OrderBand band;
    band.permutable = band_node.permutable();
    for (isl_size m = 0; m < isl_schedule_node_band_n_member(node.get()); ++m) {
      OrderLoop loop{{}, band_node.member_get_coincident(static_cast<int>(m))};
      for (const std::size_t i : statements_at(node)) {
        auto row = row_of(rows.at(static_cast<int>(m)), i);
        if (!row)
          return fail("a row of '" + statement(i).name +
                      "' is no affine expression of its iterators");
        if (row->is_constant()) row = without_number(*row, i);
        if (std::abs(row->constant()) > kLargestShift ||
            (row->is_constant() && std::abs(row->constant()) > kLargestPlace))
          return fail("'" + statement(i).name +
                      "' runs after all of another loop inside the same band");
        loop.rows[statement(i).name] = *row;
      }
      band.loops.push_back(std::move(loop));
    }
    band.child = visit(node.child(0));
    return band.child ? order_band(std::move(band)) : nullptr;
  }

  // A constant row that equals the only value of an iterator is taken for that iterator, which is
  // the row for other sizes, too.
  ir::Affine without_number(const ir::Affine& row, std::size_t i) const {
    const std::vector<std::string>& iterators = statement(i).iterators;
    for (std::size_t d = 0; d < iterators.size(); ++d) {
      const isl::val only = isl::manage(isl_set_plain_get_val_if_fixed(
          model_.statements[i].domain.get(), isl_dim_set, static_cast<unsigned>(d)));
      if (isl_val_is_int(only.get()) == isl_bool_true &&
          isl_val_get_num_si(only.get()) == row.constant())
        return ir::Affine::symbol(iterators[d]);
    }
    return row;
  }

  // Over the statement's iterators and sizes; nullopt where it has pieces, divisions or fractions.
  std::optional<ir::Affine> row_of(const isl::union_pw_aff& row, std::size_t i) const {
    isl::pw_aff_list pieces = isl::manage(isl_union_pw_aff_get_pw_aff_list(row.get()));
    for (unsigned p = 0; p < pieces.size(); ++p) {
      isl::pw_aff piece = pieces.at(static_cast<int>(p));
      if (number_of(piece.domain()) != i) continue;
      if (isl_pw_aff_n_piece(piece.get()) != 1) return std::nullopt;
      return affine_of(isl::manage(isl_pw_aff_as_aff(piece.copy())), statement(i).iterators);
    }
    return std::nullopt;
  }

  static std::optional<ir::Affine> affine_of(const isl::aff& aff,
                                             const std::vector<std::string>& iterators) {
    if (isl_aff_dim(aff.get(), isl_dim_div) != 0) return std::nullopt;
    const auto constant = integer(isl::manage(isl_aff_get_constant_val(aff.get())));
    if (!constant) return std::nullopt;
    ir::Affine sum = *constant;
    for (const auto type : {isl_dim_in, isl_dim_param})
      for (isl_size d = 0; d < isl_aff_dim(aff.get(), type); ++d) {
        const auto factor =
            integer(isl::manage(isl_aff_get_coefficient_val(aff.get(), type, static_cast<int>(d))));
        if (!factor) return std::nullopt;
        if (*factor == 0) continue;
        const std::string name =
            type == isl_dim_in
                ? iterators[static_cast<std::size_t>(d)]
                : isl_aff_get_dim_name(aff.get(), isl_dim_param, static_cast<unsigned>(d));
        sum = sum + ir::Affine::symbol(name) * *factor;
      }
    return sum;
  }

  static std::optional<std::int64_t> integer(const isl::val& value) {
    if (isl_val_is_int(value.get()) != isl_bool_true) return std::nullopt;
    return isl_val_get_num_si(value.get());
  }
};

}  // namespace

Result<OrderTree> order_of(const isl::schedule& schedule, const IslModel& model) {
  return TreeReader(model).read(schedule.get_root());
}

}  // namespace polyte::poly
