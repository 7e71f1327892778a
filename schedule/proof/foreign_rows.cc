// The times of another tool's schedule as expressions of ours, and whether a State has the
// same order.
#include <isl/aff.h>
#include <isl/local_space.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/val.h>

#include "schedule/proof/foreign_schedule_impl.h"
#include "schedule/proof/isl_faults.h"

namespace polyte::schedule {
namespace {

constexpr std::uint64_t kRowsQuota = 50'000'000;  // isl operations

std::optional<std::int64_t> integer(isl_val* value) {
  const isl::val managed = isl::manage(value);
  if (isl_val_is_int(managed.get()) != isl_bool_true ||
      isl_val_n_abs_num_chunks(managed.get(), 8) > 1)
    return std::nullopt;
  return isl_val_get_num_si(managed.get());
}

// numerator / denominator, the numerator with whole coefficients.
struct Quotient {
  ir::Affine numerator;
  std::int64_t denominator = 1;
};

// isl's expressions have rational coefficients and nested floors: (2*i + floor((j + 1)/3)) / 4.
// Scaled by the common denominator they are whole; a floor's argument is such an expression
// again. What is left as a denominator outside of all floors is no expression of ours, whose
// divisions all round down.
std::optional<Quotient> quotient_of(const isl::aff& aff,
                                    const std::vector<std::string>& iterators) {
  const auto denominator = integer(isl_aff_get_denominator_val(aff.get()));
  if (!denominator) return std::nullopt;
  const isl::aff whole =
      isl::manage(isl_aff_scale_val(aff.copy(), isl_aff_get_denominator_val(aff.get())));
  const auto constant = integer(isl_aff_get_constant_val(whole.get()));
  if (!constant) return std::nullopt;
  ir::Affine sum = *constant;
  for (const auto type : {isl_dim_in, isl_dim_param, isl_dim_div})
    for (isl_size d = 0; d < isl_aff_dim(whole.get(), type); ++d) {
      const auto factor =
          integer(isl_aff_get_coefficient_val(whole.get(), type, static_cast<int>(d)));
      if (!factor) return std::nullopt;
      if (*factor == 0) continue;
      if (type == isl_dim_div) {
        const auto inner =
            quotient_of(isl::manage(isl_aff_get_div(whole.get(), static_cast<int>(d))), iterators);
        if (!inner) return std::nullopt;
        sum = sum + ir::floor_div(inner->numerator, inner->denominator) * *factor;
        continue;
      }
      const std::string name = type == isl_dim_in ? iterators[static_cast<std::size_t>(d)]
                                                  : isl_aff_get_dim_name(whole.get(), isl_dim_param,
                                                                         static_cast<unsigned>(d));
      sum = sum + ir::Affine::symbol(name) * *factor;
    }
  return Quotient{sum, *denominator};
}

}  // namespace

std::optional<ir::Affine> affine_of(const isl::aff& aff,
                                    const std::vector<std::string>& iterators) {
  const auto quotient = quotient_of(aff, iterators);
  if (!quotient || quotient->denominator != 1) return std::nullopt;
  return quotient->numerator;
}

namespace {

using Impl = ForeignSchedule::Impl;

// An iterator that has this value on all instances, where there is one. isl simplifies within the
// domain, and may return another expression that is equal there: of S[i, j] with i = 2*j, [i] as
// 2*j. A Script is shorter with the iterator itself.
std::optional<ir::Affine> as_iterator(const IslStatement& statement, const isl::pw_aff& row) {
  const std::vector<std::string>& iterators = statement.statement->body.iterators;
  for (std::size_t d = 0; d < iterators.size(); ++d) {
    isl_local_space* local = isl_local_space_from_space(isl_set_get_space(statement.domain.get()));
    const isl::pw_aff value = isl::manage(
        isl_pw_aff_from_aff(isl_aff_var_on_domain(local, isl_dim_set, static_cast<unsigned>(d))));
    const isl::set same = isl::manage(isl_pw_aff_eq_set(row.copy(), value.copy()));
    if (statement.domain.is_subset(same)) return ir::Affine::symbol(iterators[d]);
  }
  return std::nullopt;
}

std::optional<ir::Affine> row_of(const IslStatement& statement, const isl::pw_aff& row) {
  std::optional<ir::Affine> value;
  if (isl_pw_aff_n_piece(row.get()) == 1)
    value =
        affine_of(isl::manage(isl_pw_aff_as_aff(row.copy())), statement.statement->body.iterators);
  if (value && (value->is_constant() || value->as_symbol())) return value;
  const auto plain = as_iterator(statement, row);
  return plain ? plain : value;
}

std::optional<std::vector<ir::Affine>> rows_of(const Impl& impl, std::size_t i) {
  const IslStatement& statement = impl.basis.model.statements[i];
  if (statement.domain.is_empty())  // anything will do
    return std::vector<ir::Affine>(
        static_cast<std::size_t>(isl_map_dim(impl.times[i].get(), isl_dim_out)));
  isl_pw_multi_aff* all = isl_pw_multi_aff_from_map(impl.times[i].copy());
  const isl::pw_multi_aff times = isl::manage(
      isl_pw_multi_aff_coalesce(isl_pw_multi_aff_gist(all, impl.times[i].domain().release())));
  std::vector<ir::Affine> rows;
  for (isl_size d = 0; d < isl_pw_multi_aff_dim(times.get(), isl_dim_out); ++d) {
    const auto value = row_of(
        statement, isl::manage(isl_pw_multi_aff_get_pw_aff(times.get(), static_cast<int>(d))));
    if (!value) return std::nullopt;
    rows.push_back(*value);
  }
  return rows;
}

// Statement i of the basis at the times of a State; none where the State has no such statement
// as it is.
std::optional<isl::map> times_in(const Impl& impl, const IslModel& model, std::size_t i) {
  const int at = statement_index(model, impl.basis.model.statements[i].statement->body.name);
  if (at < 0) return std::nullopt;
  const IslStatement& s = model.statements[static_cast<std::size_t>(at)];
  if (!keeps_instances(*s.statement)) return std::nullopt;
  isl_map* times = isl_map_from_multi_aff(to_multi_aff(s.domain.get_space(), "", s.time).release());
  isl_id* id = isl_id_alloc(isl_map_get_ctx(times), ("S" + std::to_string(i)).c_str(), nullptr);
  times = isl_map_set_tuple_id(times, isl_dim_in, id);
  return isl::manage(isl_map_intersect_domain(times, impl.basis.model.statements[i].domain.copy()));
}

bool has_same_order(const Impl& impl, const State& state) {
  const IslModel model = make_model(impl.context, state);
  if (model.statements.size() != impl.times.size()) return false;
  std::vector<isl::map> times;
  for (std::size_t i = 0; i < impl.times.size(); ++i) {
    auto mine = times_in(impl, model, i);
    if (!mine) return false;
    times.push_back(*std::move(mine));
  }
  // Inclusion, not equality: what the file orders must be ordered alike here, no more.
  for (std::size_t i = 0; i < times.size(); ++i)
    for (std::size_t j = 0; j < times.size(); ++j) {
      const auto earlier = [](const isl::map& a, const isl::map& b) {
        return isl::manage(isl_map_lex_lt_map(a.copy(), b.copy()));
      };
      // What runs at one time there may run in any order here.
      if (!earlier(impl.times[i], impl.times[j]).is_subset(earlier(times[i], times[j])))
        return false;
    }
  return true;
}

}  // namespace

std::vector<ForeignRows> ForeignSchedule::rows(std::string& why) const {
  impl_->context.limit(kRowsQuota);
  std::vector<ForeignRows> all;
  try {
    for (std::size_t i = 0; i < impl_->times.size(); ++i) {
      const std::string& name = impl_->basis.model.statements[i].statement->body.name;
      auto rows = rows_of(*impl_, i);
      if (!rows) {
        why = "the time of '" + name + "' is not one expression of its iterators";
        return {};
      }
      all.push_back({name, *std::move(rows)});
    }
  } catch (const isl::exception& e) {
    if (!is_quota(impl_->context, e))
      throw_isl_fault(impl_->context, e, "schedule of another tool");
    why = "isl did not finish within " + std::to_string(kRowsQuota) + " operations";
    return {};
  }
  return all;
}

bool ForeignSchedule::is_order_of(const State& state) const {
  impl_->context.limit(kRowsQuota);
  try {
    return has_same_order(*impl_, state);
  } catch (const isl::exception& e) {
    if (!is_quota(impl_->context, e))
      throw_isl_fault(impl_->context, e, "schedule of another tool");
    return false;
  }
}

}  // namespace polyte::schedule
