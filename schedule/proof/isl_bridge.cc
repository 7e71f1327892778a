#include "schedule/proof/isl_bridge.h"

#include <isl/aff.h>
#include <isl/ctx.h>
#include <isl/ilp.h>
#include <isl/local_space.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/union_map.h>
#include <isl/val.h>

#include <algorithm>
#include <new>
#include <set>

#include "support/error.h"

namespace polyte::schedule {
namespace {

int position_of(const std::vector<std::string>& names, const std::string& name) {
  auto it = std::find(names.begin(), names.end(), name);
  return it == names.end() ? -1 : static_cast<int>(it - names.begin());
}

isl_aff* atom_aff(const isl::space& space, const std::vector<std::string>& dims, const std::vector<std::string>& params,
                  const ir::Atom& atom) {
  if (atom.div) {
    isl_aff* inner = to_aff(space, dims, params, atom.div->numerator).release();
    isl_val* divisor = isl_val_int_from_si(isl_aff_get_ctx(inner), atom.div->denominator);
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

isl_aff* zero_like(isl_aff* aff) { return isl_aff_zero_on_domain(isl_aff_get_domain_local_space(aff)); }

// Traverses the tree and records every statement's time vector: sequence positions and rows.
struct OrderBuilder {
  struct Step {
    std::string loop;  // empty: a sequence position
    int position = 0;
  };
  std::map<std::string, std::vector<Step>> steps;
  std::map<int, int> depth_of_loop;
  std::vector<Step> path;

  void visit(const Tree& tree) {
    if (!tree) return;  // a Program without statements
    if (const auto* loop = std::get_if<Loop>(&tree->op)) {
      depth_of_loop[loop->id] = static_cast<int>(path.size());
      path.push_back({loop->name, 0});
      visit(loop->body);
      path.pop_back();
    } else if (const auto* sequence = std::get_if<Sequence>(&tree->op)) {
      for (std::size_t i = 0; i < sequence->children.size(); ++i) {
        path.push_back({"", static_cast<int>(i)});
        visit(sequence->children[i]);
        path.pop_back();
      }
    } else {
      steps[std::get<Leaf>(tree->op).statement] = path;
    }
  }
};

isl::set box_set(const isl::space& space, const std::vector<std::string>& params, std::size_t first,
                 const std::vector<ir::Affine>& shape) {
  std::vector<std::string> dims;
  std::vector<ir::Constraint> bounds;
  for (std::size_t i = 0; i < first; ++i) dims.push_back("scope#" + std::to_string(i));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    dims.push_back("d#" + std::to_string(i));
    bounds.push_back(ir::at_least(ir::Affine::symbol(dims.back()), 0));
    bounds.push_back(ir::less_than(ir::Affine::symbol(dims.back()), shape[i]));
  }
  return to_set(space, dims, params, bounds);
}

struct ScopedAccess {
  std::vector<ir::Affine> rows, subscripts;
};

std::int64_t divisions_in(const ir::Affine& e) {
  return std::count_if(e.terms().begin(), e.terms().end(),
                       [](const ir::Term& term) { return term.atom.div != nullptr; });
}

// Divisions that writing the two as one value saves.
std::int64_t divisions_saved(const std::vector<ScopedAccess>& accesses, const CellDigits& d) {
  std::int64_t saved = 0;
  for (const ScopedAccess& access : accesses) {
    const ir::Affine &row = access.rows[d.row], &subscript = access.subscripts[d.subscript];
    saved += divisions_in(row) + divisions_in(subscript) - divisions_in(row * d.extent + subscript);
  }
  return saved;
}

std::vector<CellDigits> find_digits(const std::vector<ScopedAccess>& accesses, const std::vector<std::int64_t>& shape) {
  std::vector<CellDigits> found;
  if (accesses.empty()) return found;
  std::set<std::size_t> taken;
  for (std::size_t subscript = 0; subscript < shape.size(); ++subscript) {
    for (std::size_t row = 0; row < accesses.front().rows.size(); ++row) {
      const CellDigits digits{row, subscript, shape[subscript]};
      if (taken.contains(row) || divisions_saved(accesses, digits) <= 0) continue;
      taken.insert(row);
      found.push_back(digits);
      break;
    }
  }
  return found;
}

class ModelBuilder {
 public:
  ModelBuilder(const IslContext& context, const State& state) : context_(context) { model_.state = &state; }

  IslModel build() {
    const State& state = *model_.state;
    model_.params = state.basis->params;
    add_buffers();
    model_.context = parameter_context();
    for (std::size_t i = 0; i < state.statements.size(); ++i) add_statement(i);
    add_order();
    return std::move(model_);
  }

 private:
  const IslContext& context_;
  IslModel model_;

  static int allocation_of(const StagedBuffer& buffer) {
    return buffer.alloc_loop == StagedBuffer::kAtScope ? buffer.scope_loop : buffer.alloc_loop;
  }

  void add_buffers() {
    for (const ir::Buffer& buffer : model_.state->basis->buffers) {
      IslBuffer b{buffer.name, buffer.name, buffer.shape, -1, -1, buffer.role != ir::Role::Temp, false, false, {}};
      b.input = buffer.role == ir::Role::In || buffer.role == ir::Role::Const || buffer.role == ir::Role::InOut;
      b.output = buffer.role == ir::Role::Out || buffer.role == ir::Role::InOut;
      model_.buffers.push_back(std::move(b));
    }
    for (const StagedBuffer& staged : model_.state->staged) {
      IslBuffer b{staged.name, staged.of, {}, staged.scope_loop, allocation_of(staged), false, false, false, {}};
      for (std::int64_t extent : staged.shape) b.shape.emplace_back(extent);
      b.digits = digits_of(staged);
      model_.buffers.push_back(std::move(b));
    }
    for (std::size_t i = 0; i < model_.buffers.size(); ++i) {
      const auto reused = model_.state->reused.find(model_.buffers[i].name);
      model_.buffers[i].place =
          reused == model_.state->reused.end() ? static_cast<int>(i) : buffer_index(model_, reused->second);
    }
  }

  // Sizes are never negative (ir::bind), nor is an extent.
  isl::set parameter_context() {
    isl::space space = isl::manage(isl_space_params_alloc(context_.get().get(), 0));
    for (const std::string& param : model_.params) {
      isl_id* id = isl_id_alloc(context_.get().get(), param.c_str(), nullptr);
      isl_size at = isl_space_dim(space.get(), isl_dim_param);
      space = isl::manage(isl_space_add_dims(space.release(), isl_dim_param, 1));
      space = isl::manage(isl_space_set_dim_id(space.release(), isl_dim_param, static_cast<unsigned>(at), id));
    }
    isl::space as_set = isl::manage(isl_space_set_from_params(space.copy()));
    std::vector<ir::Constraint> known = model_.state->basis->context;
    for (const std::string& param : model_.params) known.push_back(ir::at_least(ir::Affine::symbol(param), 0));
    for (const IslBuffer& buffer : model_.buffers) {
      for (const ir::Affine& extent : buffer.shape) {
        if (!extent.is_constant()) known.push_back(ir::at_least(extent, 0));
      }
    }
    return isl::manage(isl_set_params(to_set(as_set, {}, model_.params, known).release()));
  }

  void add_statement(std::size_t index) {
    const ScheduledStatement& s = model_.state->statements[index];
    IslStatement out;
    out.statement = &s;
    isl::space space = set_space(context_, model_.params, "S" + std::to_string(index), s.body.iterators.size());
    out.domain = to_set(space, s.body.iterators, model_.params, s.body.domain);
    out.domain = isl::manage(isl_set_intersect_params(out.domain.release(), model_.context.copy()));
    for (const AccessRef& ref : accesses_of(s)) out.accesses.push_back(make_access(s, space, out.domain, ref));
    model_.statements.push_back(std::move(out));
  }

  IslAccess make_access(const ScheduledStatement& s, const isl::space& space, const isl::set& domain,
                        const AccessRef& ref) {
    IslAccess access;
    access.buffer = buffer_index(model_, ref.access.buffer);
    POLYTE_CHECK(access.buffer >= 0, "statement '" + s.body.name + "' accesses unknown '" + ref.access.buffer + "'");
    access.write = ref.write;
    access.own = ref.own;
    access.text = ref.access;
    access.guard = ref.guard;
    const IslBuffer& buffer = model_.buffers[static_cast<std::size_t>(access.buffer)];
    std::vector<ir::Affine> values = scope_rows(s, buffer.scope_loop);
    const std::size_t scoped = values.size();
    std::vector<unsigned> free_dims;
    for (const ir::Index& index : ref.access.indices) {
      if (index.indirect) free_dims.push_back(static_cast<unsigned>(values.size()));
      values.push_back(index.indirect ? ir::Affine(0) : index.affine);
    }
    for (const CellDigits& d : buffer.digits) {
      values[d.row] = values[d.row] * d.extent + values[scoped + d.subscript];
      values[scoped + d.subscript] = 0;
    }
    std::vector<isl::aff> coordinates;
    for (const ir::Affine& value : values) coordinates.push_back(to_aff(space, s.body.iterators, model_.params, value));
    std::string tuple = "B" + std::to_string(access.buffer);
    isl_map* cells = isl_map_from_multi_aff(to_multi_aff(space, tuple, coordinates).release());
    for (unsigned dim : free_dims) cells = isl_map_eliminate(cells, isl_dim_out, dim, 1);
    if (!free_dims.empty()) {
      access.exact = false;
      isl::space target = set_space(context_, model_.params, tuple, values.size());
      cells = isl_map_intersect_range(cells, box_set(target, model_.params, scoped, buffer.shape).release());
    }
    if (s.body.guard && ref.write) access.exact = false;
    isl::set active = domain;
    if (!ref.guard.empty()) {
      isl::set inside = to_set(space, s.body.iterators, model_.params, ref.guard);
      access.outside = domain.subtract(inside);
      active = domain.intersect(inside);
    }
    access.cells = isl::manage(isl_map_intersect_domain(cells, active.release()));
    return access;
  }

  std::vector<ir::Affine> scope_rows(const ScheduledStatement& s, int scope_loop) {
    std::vector<ir::Affine> rows;
    if (scope_loop < 0) return rows;
    for (const Loop* loop : path_to(model_.state->tree, s.body.name)) {
      rows.push_back(row_at(s, loop->name));
      if (loop->id == scope_loop) return rows;
    }
    throw InternalError("statement '" + s.body.name + "' uses a buffer outside its scope");
  }

  // Rows down to the scope and subscripts of every access of the buffer; empty where one is read at run time.
  std::vector<ScopedAccess> accesses_to(const StagedBuffer& buffer) {
    std::vector<ScopedAccess> found;
    for (const ScheduledStatement& s : model_.state->statements) {
      for (const AccessRef& ref : accesses_of(s)) {
        if (ref.access.buffer != buffer.name) continue;
        ScopedAccess access{scope_rows(s, buffer.scope_loop), {}};
        for (const ir::Index& index : ref.access.indices) {
          if (index.indirect) return {};
          access.subscripts.push_back(index.affine);
        }
        found.push_back(std::move(access));
      }
    }
    return found;
  }

  std::vector<CellDigits> digits_of(const StagedBuffer& buffer) {
    if (buffer.scope_loop < 0 || buffer.alloc_loop != StagedBuffer::kAtScope) return {};
    return find_digits(accesses_to(buffer), buffer.shape);
  }

  void add_order() {
    OrderBuilder builder;
    builder.visit(model_.state->tree);
    model_.depth_of_loop = builder.depth_of_loop;
    std::size_t depth = 0;
    for (const auto& [name, steps] : builder.steps) depth = std::max(depth, steps.size());
    for (IslStatement& s : model_.statements) {
      for (std::size_t d = 0; d < depth; ++d) s.time.push_back(time(builder, s, d));
    }
  }

  isl::aff time(const OrderBuilder& builder, const IslStatement& s, std::size_t d) {
    isl::space space = s.domain.get_space();
    auto steps = builder.steps.find(s.statement->body.name);
    POLYTE_CHECK(steps != builder.steps.end(), "statement '" + s.statement->body.name + "' is not in the tree");
    ir::Affine value = 0;
    if (d < steps->second.size()) {
      const auto& step = steps->second[d];
      value = step.loop.empty() ? ir::Affine(step.position) : row_at(*s.statement, step.loop);
    }
    return to_aff(space, s.statement->body.iterators, model_.params, value);
  }
};

}  // namespace

IslContext::IslContext() : ctx_(isl_ctx_alloc()) {
  if (!ctx_) throw std::bad_alloc();
  isl_options_set_on_error(ctx_, ISL_ON_ERROR_CONTINUE);
}
IslContext::~IslContext() { isl_ctx_free(ctx_); }
void IslContext::limit(std::uint64_t operations) {
  isl_ctx_reset_operations(ctx_);
  isl_ctx_reset_error(ctx_);
  isl_ctx_set_max_operations(ctx_, operations);
}

isl::aff to_aff(const isl::space& space, const std::vector<std::string>& dims, const std::vector<std::string>& params,
                const ir::Affine& e) {
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

isl::set to_set(const isl::space& space, const std::vector<std::string>& dims, const std::vector<std::string>& params,
                const std::vector<ir::Constraint>& constraints) {
  isl_basic_set* set = isl_basic_set_universe(isl_space_copy(space.get()));
  for (const ir::Constraint& c : constraints) {
    isl_aff* aff = to_aff(space, dims, params, c.expr).release();
    isl_basic_set* half = c.equality ? isl_aff_zero_basic_set(aff) : isl_aff_ge_basic_set(aff, zero_like(aff));
    set = isl_basic_set_intersect(set, half);
  }
  return isl::manage(isl_set_from_basic_set(set));
}

isl::space set_space(const IslContext& context, const std::vector<std::string>& params, const std::string& tuple,
                     std::size_t dimensions) {
  isl_ctx* ctx = context.get().get();
  isl_space* space = isl_space_set_alloc(ctx, static_cast<unsigned>(params.size()), static_cast<unsigned>(dimensions));
  for (std::size_t i = 0; i < params.size(); ++i) {
    space = isl_space_set_dim_id(space, isl_dim_param, static_cast<unsigned>(i),
                                 isl_id_alloc(ctx, params[i].c_str(), nullptr));
  }
  return isl::manage(isl_space_set_tuple_id(space, isl_dim_set, isl_id_alloc(ctx, tuple.c_str(), nullptr)));
}

isl::multi_aff to_multi_aff(const isl::space& domain, const std::string& tuple, const std::vector<isl::aff>& values) {
  isl_ctx* ctx = isl_space_get_ctx(domain.get());
  isl_space* range = isl_space_params(isl_space_copy(domain.get()));
  range = isl_space_add_unnamed_tuple_ui(range, static_cast<unsigned>(values.size()));
  if (!tuple.empty()) range = isl_space_set_tuple_id(range, isl_dim_set, isl_id_alloc(ctx, tuple.c_str(), nullptr));
  isl_space* space = isl_space_map_from_domain_and_range(isl_space_copy(domain.get()), range);
  isl_aff_list* list = isl_aff_list_alloc(ctx, static_cast<int>(values.size()));
  for (const isl::aff& value : values) list = isl_aff_list_add(list, value.copy());
  return isl::manage(isl_multi_aff_from_aff_list(space, list));
}

IslModel make_model(const IslContext& context, const State& state) { return ModelBuilder(context, state).build(); }

namespace {

// Constant in both and so decided without a set: -1, 0, 1 for source before, with, after sink.
std::optional<int> constant_order(const isl::aff& a, const isl::aff& b) {
  if (isl_aff_is_cst(a.get()) != isl_bool_true || isl_aff_is_cst(b.get()) != isl_bool_true) return std::nullopt;
  isl_val* x = isl_aff_get_constant_val(a.get());
  isl_val* y = isl_aff_get_constant_val(b.get());
  const int order = isl_val_lt(x, y) == isl_bool_true ? -1 : isl_val_gt(x, y) == isl_bool_true ? 1 : 0;
  isl_val_free(x);
  isl_val_free(y);
  return order;
}

isl_pw_aff* as_piece(const isl::aff& aff) { return isl_pw_aff_from_aff(aff.copy()); }

}  // namespace

std::optional<BackwardPairs> find_backwards(const IslModel& model, int a, int b, isl::map pairs) {
  const IslStatement& source = model.statements[static_cast<std::size_t>(a)];
  const IslStatement& sink = model.statements[static_cast<std::size_t>(b)];
  if (pairs.is_empty()) return std::nullopt;
  const int dims = static_cast<int>(source.time.size());
  for (int d = 0; d < dims; ++d) {
    const isl::aff &x = source.time[static_cast<std::size_t>(d)], &y = sink.time[static_cast<std::size_t>(d)];
    if (std::optional<int> order = constant_order(x, y)) {
      if (*order < 0) return std::nullopt;
      if (*order > 0) return BackwardPairs{d, pairs};
      continue;
    }
    isl::map late = isl::manage(isl_map_intersect(pairs.copy(), isl_pw_aff_gt_map(as_piece(x), as_piece(y))));
    if (!late.is_empty()) return BackwardPairs{d, late};
    pairs = isl::manage(isl_map_intersect(pairs.release(), isl_pw_aff_eq_map(as_piece(x), as_piece(y))));
    if (pairs.is_empty()) return std::nullopt;
  }
  return BackwardPairs{dims, pairs};
}

// A dimension whose times are constants decides for all pairs at once, so that most pairs of statements need no set.
isl::map forward_pairs(const IslModel& model, int a, int b, isl::map pairs) {
  const IslStatement& source = model.statements[static_cast<std::size_t>(a)];
  const IslStatement& sink = model.statements[static_cast<std::size_t>(b)];
  isl::map forwards = isl::manage(isl_map_empty(isl_map_get_space(pairs.get())));
  for (std::size_t d = 0; d < source.time.size() && !pairs.is_empty(); ++d) {
    const isl::aff &x = source.time[d], &y = sink.time[d];
    if (std::optional<int> order = constant_order(x, y)) {
      if (*order < 0) return forwards.unite(pairs);
      if (*order > 0) return forwards;
      continue;
    }
    isl::map early = isl::manage(isl_map_intersect(pairs.copy(), isl_pw_aff_lt_map(as_piece(x), as_piece(y))));
    if (!early.is_empty()) forwards = forwards.unite(early);
    pairs = isl::manage(isl_map_intersect(pairs.release(), isl_pw_aff_eq_map(as_piece(x), as_piece(y))));
  }
  return forwards;
}

bool is_never_before(const IslModel& model, int a, int b) {
  const std::vector<isl::aff>& source = model.statements[static_cast<std::size_t>(a)].time;
  const std::vector<isl::aff>& sink = model.statements[static_cast<std::size_t>(b)].time;
  for (std::size_t d = 0; d < source.size(); ++d) {
    const std::optional<int> order = constant_order(source[d], sink[d]);
    if (!order || *order != 0) return order.value_or(-1) > 0;
  }
  return true;
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

std::optional<isl::map> phi_of(const IslModel& model, int statement, const IslModel& basis) {
  const IslStatement& s = model.statements[static_cast<std::size_t>(statement)];
  if (s.statement->kind == StatementKind::Copy) return std::nullopt;
  int target = statement_index(basis, s.statement->reference);
  POLYTE_CHECK(target >= 0, "statement '" + s.statement->body.name + "' has no reference statement");
  isl::space space = s.domain.get_space();
  std::vector<isl::aff> values;
  for (const ir::Affine& value : s.statement->phi) {
    values.push_back(to_aff(space, s.statement->body.iterators, model.params, value));
  }
  isl::multi_aff map = to_multi_aff(space, "S" + std::to_string(target), values);
  return isl::manage(isl_map_intersect_domain(isl_map_from_multi_aff(map.release()), s.domain.copy()));
}

namespace {

// The least value of a coordinate, if it has one.
std::optional<isl::val> least_value(const isl::set& part, unsigned dimension) {
  isl_aff* coordinate =
      isl_aff_var_on_domain(isl_local_space_from_space(isl_set_get_space(part.get())), isl_dim_set, dimension);
  isl::val least = isl::manage(isl_set_min_val(part.get(), coordinate));
  isl_aff_free(coordinate);
  if (isl_val_is_int(least.get()) != isl_bool_true) return std::nullopt;
  return least;
}

// The lexicographically first point of a set without parameters; a dimension without a least value has any. One integer
// program a dimension and basic set: isl_set_lexmin has all other dimensions in its context, and took minutes where
// divisions are many. (isl_set_min_val takes 0 for the least value of an empty part of a union.)
isl_point* lexmin_point(const isl::set& set) {
  std::vector<isl::set> parts;
  set.foreach_basic_set([&](const isl::basic_set& part) {
    if (!part.is_empty()) parts.emplace_back(part);
  });
  POLYTE_CHECK(!parts.empty(), "the first point of an empty set");
  const isl_size dims = isl_set_dim(set.get(), isl_dim_set);
  for (unsigned i = 0; i < static_cast<unsigned>(dims); ++i) {
    std::vector<std::optional<isl::val>> values;
    std::optional<isl::val> least;
    for (const isl::set& part : parts) {
      values.push_back(least_value(part, i));
      if (values.back() && (!least || values.back()->lt(*least))) least = values.back();
    }
    if (!least) continue;
    std::vector<isl::set> rest;
    for (std::size_t k = 0; k < parts.size(); ++k)
      if (values[k] && values[k]->eq(*least))
        rest.push_back(isl::manage(isl_set_fix_val(parts[k].copy(), isl_dim_set, i, least->copy())));
    parts = std::move(rest);
  }
  return isl_set_sample_point(parts.front().release());
}

}  // namespace

Point first_point(const isl::set& set, const std::vector<std::string>& params) {
  isl_set* smallest = set.copy();
  isl_size dims = isl_set_dim(smallest, isl_dim_set);
  isl_size param_count = isl_set_dim(smallest, isl_dim_param);
  // Parameters become leading dimensions: the smallest sizes come first.
  smallest = isl_set_reset_tuple_id(isl_set_flatten(isl_set_reset_tuple_id(smallest)));
  smallest = isl_set_move_dims(smallest, isl_dim_set, 0, isl_dim_param, 0, static_cast<unsigned>(param_count));
  isl_point* point = lexmin_point(isl::manage(smallest));
  auto coordinate = [&](isl_size i) {
    isl_val* value = isl_point_get_coordinate_val(point, isl_dim_set, static_cast<int>(i));
    std::int64_t number = isl_val_get_num_si(value);
    isl_val_free(value);
    return number;
  };
  Point result;
  for (isl_size i = 0; i < param_count; ++i) {
    const char* name = isl_space_get_dim_name(set.get_space().get(), isl_dim_param, static_cast<unsigned>(i));
    result.params[name ? name : params.at(static_cast<std::size_t>(i))] = coordinate(i);
  }
  for (isl_size i = 0; i < dims; ++i) result.values.push_back(coordinate(param_count + i));
  isl_point_free(point);
  return result;
}

isl::multi_aff rows_down_to(const IslModel& model, int statement, int loop_id, bool inclusive) {
  const IslStatement& s = model.statements[static_cast<std::size_t>(statement)];
  isl::space space = s.domain.get_space();
  std::vector<isl::aff> rows;
  for (const Loop* loop : path_to(model.state->tree, s.statement->body.name)) {
    if (loop->id == loop_id && !inclusive) break;
    rows.push_back(to_aff(space, s.statement->body.iterators, model.params, row_at(*s.statement, loop->name)));
    if (loop->id == loop_id) break;
  }
  return to_multi_aff(space, "", rows);
}

}  // namespace polyte::schedule
