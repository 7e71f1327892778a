#include "schedule/proof/isl_bridge.h"

#include <isl/aff.h>
#include <isl/ctx.h>
#include <isl/local_space.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

#include <algorithm>
#include <new>

#include "support/error.h"

namespace polyte::schedule {
namespace {

int position_of(const std::vector<std::string>& names, const std::string& name) {
  auto it = std::ranges::find(names, name);
  return it == names.end() ? -1 : static_cast<int>(it - names.begin());
}

isl_aff* atom_aff(const isl::space& space, const std::vector<std::string>& dims,
                  const std::vector<std::string>& params, const ir::Atom& atom) {
  if (atom.div) {
    isl_aff* inner = to_aff(space, dims, params, atom.div->numerator).release();
    isl_val* divisor = isl_val_int_from_si(isl_aff_get_ctx(inner), atom.div->denominator);
    // isl divides exactly, then rounds down.
    return isl_aff_floor(isl_aff_scale_down_val(inner, divisor));
  }
  isl_local_space* local = isl_local_space_from_space(isl_space_copy(space.get()));
  if (int dim = position_of(dims, atom.symbol); dim >= 0) {
    return isl_aff_var_on_domain(local, isl_dim_set, static_cast<unsigned>(dim));
  }
  int param = position_of(params, atom.symbol);
  POLYTE_CHECK(param >= 0, "symbol '" + atom.symbol + "' is neither an iterator nor a parameter");
  return isl_aff_var_on_domain(local, isl_dim_param, static_cast<unsigned>(param));
}

isl_aff* zero_like(isl_aff* aff) {
  return isl_aff_zero_on_domain(isl_aff_get_domain_local_space(aff));
}

}  // namespace

IslContext::IslContext() : ctx_(isl_ctx_alloc()) {
  if (!ctx_) throw std::bad_alloc();
  // A failing call of the C interface gives a null object, which isl's C++ interface throws; by
  // default isl would print a warning as well.
  isl_options_set_on_error(ctx_, ISL_ON_ERROR_CONTINUE);
}
IslContext::~IslContext() { isl_ctx_free(ctx_); }
// isl counts since the context was made: both the count and the error of a limit that was reached
// are taken back. 0 is no limit.
void IslContext::limit(std::uint64_t operations) {
  isl_ctx_reset_operations(ctx_);
  isl_ctx_reset_error(ctx_);
  isl_ctx_set_max_operations(ctx_, operations);
}

isl::aff to_aff(const isl::space& space, const std::vector<std::string>& dims,
                const std::vector<std::string>& params, const ir::Affine& e) {
  isl_local_space* local = isl_local_space_from_space(isl_space_copy(space.get()));
  isl_val* constant = isl_val_int_from_si(isl_space_get_ctx(space.get()), e.constant());
  isl_aff* sum = isl_aff_val_on_domain(local, constant);
  for (const ir::Term& term : e.terms()) {
    isl_aff* atom = atom_aff(space, dims, params, term.atom);
    isl_val* factor = isl_val_int_from_si(isl_space_get_ctx(space.get()), term.coefficient);
    sum = isl_aff_add(sum, isl_aff_scale_val(atom, factor));
  }
  return isl::manage(sum);
}

isl::set to_set(const isl::space& space, const std::vector<std::string>& dims,
                const std::vector<std::string>& params,
                const std::vector<ir::Constraint>& constraints) {
  isl_basic_set* set = isl_basic_set_universe(isl_space_copy(space.get()));
  for (const ir::Constraint& c : constraints) {
    isl_aff* aff = to_aff(space, dims, params, c.expr).release();
    isl_basic_set* half =
        c.equality ? isl_aff_zero_basic_set(aff) : isl_aff_ge_basic_set(aff, zero_like(aff));
    set = isl_basic_set_intersect(set, half);
  }
  return isl::manage(isl_set_from_basic_set(set));
}

isl::space set_space(const IslContext& context, const std::vector<std::string>& params,
                     const std::string& tuple, std::size_t dimensions) {
  isl_ctx* ctx = context.get().get();
  isl_space* space = isl_space_set_alloc(ctx, static_cast<unsigned>(params.size()),
                                         static_cast<unsigned>(dimensions));
  for (std::size_t i = 0; i < params.size(); ++i) {
    space = isl_space_set_dim_id(space, isl_dim_param, static_cast<unsigned>(i),
                                 isl_id_alloc(ctx, params[i].c_str(), nullptr));
  }
  return isl::manage(
      isl_space_set_tuple_id(space, isl_dim_set, isl_id_alloc(ctx, tuple.c_str(), nullptr)));
}

isl::multi_aff to_multi_aff(const isl::space& domain, const std::string& tuple,
                            const std::vector<isl::aff>& values) {
  isl_ctx* ctx = isl_space_get_ctx(domain.get());
  isl_space* range = isl_space_params(isl_space_copy(domain.get()));
  range = isl_space_add_unnamed_tuple_ui(range, static_cast<unsigned>(values.size()));
  if (!tuple.empty())
    range = isl_space_set_tuple_id(range, isl_dim_set, isl_id_alloc(ctx, tuple.c_str(), nullptr));
  isl_space* space = isl_space_map_from_domain_and_range(isl_space_copy(domain.get()), range);
  isl_aff_list* list = isl_aff_list_alloc(ctx, static_cast<int>(values.size()));
  for (const isl::aff& value : values) list = isl_aff_list_add(list, value.copy());
  return isl::manage(isl_multi_aff_from_aff_list(space, list));
}

const ir::Affine& row_at(const ScheduledStatement& statement, const std::string& loop) {
  for (const LoopRow& row : statement.rows) {
    if (row.loop == loop) return row.value;
  }
  throw InternalError("statement '" + statement.body.name + "' has no row for loop '" + loop + "'");
}

int buffer_index(const IslModel& model, const std::string& name) {
  for (std::size_t i = 0; i < model.buffers.size(); ++i) {
    if (model.buffers[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

int statement_index(const IslModel& model, const std::string& name) {
  for (std::size_t i = 0; i < model.statements.size(); ++i) {
    if (model.statements[i].statement->body.name == name) return static_cast<int>(i);
  }
  return -1;
}

// { S2[i.o, i] -> S1[i] }, on the instances that the statement has in this model.
std::optional<isl::map> phi_of(const IslModel& model, int statement, const IslModel& basis) {
  const IslStatement& s = model.statements[static_cast<std::size_t>(statement)];
  if (s.statement->kind == StatementKind::Copy) return std::nullopt;
  int target = statement_index(basis, s.statement->reference);
  POLYTE_CHECK(target >= 0,
               "statement '" + s.statement->body.name + "' has no reference statement");
  isl::space space = s.domain.get_space();
  std::vector<isl::aff> values;
  for (const ir::Affine& value : s.statement->phi) {
    values.push_back(to_aff(space, s.statement->body.iterators, model.params, value));
  }
  isl::multi_aff map = to_multi_aff(space, "S" + std::to_string(target), values);
  return isl::manage(
      isl_map_intersect_domain(isl_map_from_multi_aff(map.release()), s.domain.copy()));
}

isl::multi_aff rows_down_to(const IslModel& model, int statement, LoopId loop_id, bool inclusive) {
  const IslStatement& s = model.statements[static_cast<std::size_t>(statement)];
  isl::space space = s.domain.get_space();
  std::vector<isl::aff> rows;
  for (const Loop* loop : path_to(model.state->tree, s.statement->body.name)) {
    if (loop->id == loop_id && !inclusive) break;
    rows.push_back(
        to_aff(space, s.statement->body.iterators, model.params, row_at(*s.statement, loop->name)));
    if (loop->id == loop_id) break;
  }
  return to_multi_aff(space, "", rows);
}

}  // namespace polyte::schedule
