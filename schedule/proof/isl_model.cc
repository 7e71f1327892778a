// The statements, buffers and order of a State as sets and maps.
#include <isl/aff.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/space.h>

#include <algorithm>
#include <set>

#include "schedule/proof/isl_bridge.h"
#include "support/error.h"

namespace polyte::schedule {
namespace {

// Traverses the tree and records every statement's time vector: positions in sequences and rows
// of loops, one dimension per node on the path.
//
//   t > { i > A; B }       A: [t, 0, i]     B: [t, 1, 0]      (filled up with zeros)
//
// Unlike in the form 2d+1, a loop directly below a loop has no position in between.
struct OrderBuilder {
  struct Step {
    std::string loop;  // empty: a sequence position
    int position = 0;
  };
  std::map<std::string, std::vector<Step>> steps;
  std::map<LoopId, int> depth_of_loop;
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

// The first dimensions are rows of a scope, which are not bounded here.
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

// The rows down to the scope of an access's buffer, then its subscripts.
struct ScopedAccess {
  std::vector<ir::Affine> coordinates;
};

std::int64_t divisions_in(const ir::Affine& e) {
  return std::ranges::count_if(e.terms(),
                               [](const ir::Term& term) { return term.atom.div != nullptr; });
}

// How many divisions fewer the accesses have if two coordinates are written as one value.
// Divisions are what makes sets slow: each is one more dimension, quantified, with two
// inequalities.
//
//   m//14 and m%14 = m - 14*(m//14)       14 * (m//14) + m%14 = m       saves two
std::int64_t divisions_saved(const std::vector<ScopedAccess>& accesses, const CellDigits& d) {
  std::int64_t saved = 0;
  for (const ScopedAccess& access : accesses) {
    const ir::Affine &high = access.coordinates[d.high], &low = access.coordinates[d.low];
    saved += divisions_in(high) + divisions_in(low) - divisions_in(high * d.extent + low);
  }
  return saved;
}

void join(std::vector<ir::Affine>& coordinates, const CellDigits& d) {
  coordinates[d.high] = coordinates[d.high] * d.extent + coordinates[d.low];
  coordinates[d.low] = 0;
}

// Greedy: the pair that saves most is joined first, until no pair saves anything. For a tile in
// registers this finds first the digits of a subscript that a layout has taken apart, then the
// loop outside, whose row is the tile's number: m//8 with m%8 is m again.
//
// `high` may be a subscript or a row of the scope; `low` is a subscript, as its extent has to be
// known. What is joined holds high * extent + low in `high`, and 0 in `low`, so that coordinates
// keep their number.
std::vector<CellDigits> find_digits(std::vector<ScopedAccess> accesses,
                                    const std::vector<std::int64_t>& shape) {
  std::vector<CellDigits> found;
  if (accesses.empty()) return found;
  const std::size_t all = accesses.front().coordinates.size(), rows = all - shape.size();
  std::vector<std::int64_t> extents(all, 1);
  std::ranges::copy(shape, extents.begin() + static_cast<std::ptrdiff_t>(rows));
  std::set<std::size_t> gone;
  for (;;) {
    CellDigits best;
    std::int64_t most = 0;
    for (std::size_t low = rows; low < all; ++low)
      for (std::size_t high = 0; high < all; ++high) {
        if (high == low || gone.contains(low) || gone.contains(high)) continue;
        const CellDigits digits{high, low, extents[low]};
        const std::int64_t saved = divisions_saved(accesses, digits);
        if (saved > most) best = digits, most = saved;
      }
    if (most == 0) return found;
    for (ScopedAccess& access : accesses) join(access.coordinates, best);
    if (best.high >= rows)
      extents[best.high] *= best.extent;
    else
      gone.insert(best.high);  // a loop has been given the one digit that it lacked
    gone.insert(best.low);
    found.push_back(best);
  }
}

class ModelBuilder {
 public:
  ModelBuilder(const IslContext& context, const State& state) : context_(context) {
    model_.state = &state;
  }

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

  void add_buffers() {
    for (const ir::Buffer& buffer : model_.state->basis->buffers) {
      IslBuffer b{buffer.name, buffer.name, buffer.shape,
                  kKernel,     kKernel,     buffer.role != ir::Role::Temp,
                  false,       false,       {}};
      // Which virtual statements it has, IN and OUT (the head of isl_bridge.h).
      b.input = buffer.role == ir::Role::In || buffer.role == ir::Role::Const ||
                buffer.role == ir::Role::InOut;
      b.output = buffer.role == ir::Role::Out || buffer.role == ir::Role::InOut;
      model_.buffers.push_back(std::move(b));
    }
    // Behind the Program's buffers, so that these have the same numbers in a basis and in a State
    // of it.
    for (const StagedBuffer& staged : model_.state->staged) {
      IslBuffer b{staged.name, staged.of, {}, staged.scope_loop, staged.allocated_at(), false,
                  false,       false,     {}};
      for (std::int64_t extent : staged.shape) b.shape.emplace_back(extent);
      b.digits = digits_of(staged);
      model_.buffers.push_back(std::move(b));
    }
    for (std::size_t i = 0; i < model_.buffers.size(); ++i) {
      const auto reused = model_.state->reused.find(model_.buffers[i].name);
      model_.buffers[i].place = reused == model_.state->reused.end()
                                    ? static_cast<int>(i)
                                    : buffer_index(model_, reused->second);
    }
  }

  // Sizes are never negative (ir::bind), nor is an extent.
  // All sets are intersected with this context: a verdict holds for the sizes in it, and no
  // others are asked about.
  isl::set parameter_context() {
    isl::space space = isl::manage(isl_space_params_alloc(context_.get().get(), 0));
    for (const std::string& param : model_.params) {
      isl_id* id = isl_id_alloc(context_.get().get(), param.c_str(), nullptr);
      isl_size at = isl_space_dim(space.get(), isl_dim_param);
      space = isl::manage(isl_space_add_dims(space.release(), isl_dim_param, 1));
      space = isl::manage(
          isl_space_set_dim_id(space.release(), isl_dim_param, static_cast<unsigned>(at), id));
    }
    isl::space as_set = isl::manage(isl_space_set_from_params(space.copy()));
    std::vector<ir::Constraint> known = model_.state->basis->context;
    for (const std::string& param : model_.params)
      known.push_back(ir::at_least(ir::Affine::symbol(param), 0));
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
    isl::space space =
        set_space(context_, model_.params, "S" + std::to_string(index), s.body.iterators.size());
    out.domain = to_set(space, s.body.iterators, model_.params, s.body.domain);
    out.domain = isl::manage(isl_set_intersect_params(out.domain.release(), model_.context.copy()));
    for (const AccessRef& ref : accesses_of(s))
      out.accesses.push_back(make_access(s, space, out.domain, ref));
    model_.statements.push_back(std::move(out));
  }

  // { instance -> cell }. A subscript read at run time is taken for any within the extent, and
  // the access is then not exact: it may touch each of these cells, and must touch none. So is a
  // write under a guard of its statement. The guard of a read is affine: it narrows the domain
  // exactly.
  IslAccess make_access(const ScheduledStatement& s, const isl::space& space,
                        const isl::set& domain, const AccessRef& ref) {
    IslAccess access;
    access.buffer = buffer_index(model_, ref.access.buffer);
    POLYTE_CHECK(access.buffer >= 0,
                 "statement '" + s.body.name + "' accesses unknown '" + ref.access.buffer + "'");
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
    for (const CellDigits& d : buffer.digits) join(values, d);
    std::vector<isl::aff> coordinates;
    for (const ir::Affine& value : values)
      coordinates.push_back(to_aff(space, s.body.iterators, model_.params, value));
    std::string tuple = "B" + std::to_string(access.buffer);
    isl_map* cells = isl_map_from_multi_aff(to_multi_aff(space, tuple, coordinates).release());
    for (unsigned dim : free_dims) cells = isl_map_eliminate(cells, isl_dim_out, dim, 1);
    if (!free_dims.empty()) {
      access.exact = false;
      isl::space target = set_space(context_, model_.params, tuple, values.size());
      cells = isl_map_intersect_range(
          cells, box_set(target, model_.params, scoped, buffer.shape).release());
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

  std::vector<ir::Affine> scope_rows(const ScheduledStatement& s, LoopId scope_loop) {
    std::vector<ir::Affine> rows;
    if (scope_loop == kKernel) return rows;
    for (const Loop* loop : path_to(model_.state->tree, s.body.name)) {
      rows.push_back(row_at(s, loop->name));
      if (loop->id == scope_loop) return rows;
    }
    throw InternalError("statement '" + s.body.name + "' uses a buffer outside its scope");
  }

  // Rows down to the scope and subscripts of every access of the buffer; empty where one is read
  // at run time.
  std::vector<ScopedAccess> accesses_to(const StagedBuffer& buffer) {
    std::vector<ScopedAccess> found;
    for (const ScheduledStatement& s : model_.state->statements) {
      for (const AccessRef& ref : accesses_of(s)) {
        if (ref.access.buffer != buffer.name) continue;
        ScopedAccess access{scope_rows(s, buffer.scope_loop)};
        for (const ir::Index& index : ref.access.indices) {
          if (index.indirect) return {};
          access.coordinates.push_back(index.affine);
        }
        found.push_back(std::move(access));
      }
    }
    return found;
  }

  // Only where the scope has rows, and they tell memory apart as they do cells. Of a buffer that
  // is allocated outside its scope `places` takes the rows off again, which a joined coordinate
  // would not allow.
  std::vector<CellDigits> digits_of(const StagedBuffer& buffer) {
    if (buffer.scope_loop == kKernel || buffer.alloc_loop != StagedBuffer::kAtScope) return {};
    return find_digits(accesses_to(buffer), buffer.shape);
  }

  // All times of one length, as comparing them takes.
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
    POLYTE_CHECK(steps != builder.steps.end(),
                 "statement '" + s.statement->body.name + "' is not in the tree");
    ir::Affine value = 0;
    if (d < steps->second.size()) {
      const auto& step = steps->second[d];
      value = step.loop.empty() ? ir::Affine(step.position) : row_at(*s.statement, step.loop);
    }
    return to_aff(space, s.statement->body.iterators, model_.params, value);
  }
};

}  // namespace

IslModel make_model(const IslContext& context, const State& state) {
  return ModelBuilder(context, state).build();
}

}  // namespace polyte::schedule
