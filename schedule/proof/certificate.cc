// A certificate is the models of both sides in isl's text, and the operations as strings: a
// checker asks whether an instance of the schedule computes the same expression as its phi, of
// which only the reads and index values may differ.
//
//   acc.update   f32 *(#0, #1)         reads numbered in the order of `accesses`
//                @0 + ...              `indices[0]` says what @0 is at each instance
#include "schedule/proof/certificate.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>

#include "ir/program_text.h"
#include "schedule/proof/isl_bridge.h"
#include "schedule/proof/isl_faults.h"
#include "schedule/proof/isl_names.h"
#include "schedule/proof/prover_impl.h"
#include "schedule/state/contract.h"
#include "schedule/state/fragments.h"
#include "support/error.h"

namespace polyte::schedule {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

// An expression with its reads and index values numbered instead of spelled out. In pre-order, in
// which accesses_of lists reads, so that #k is read number k of the statement.
class OperationText {
 public:
  std::vector<ir::Affine> indices;

  std::string of(const ir::Expr& e) {
    const std::string type = std::string(to_string(e->type)) + " ";
    return std::visit(
        Overloaded{[&](const ir::Literal&) { return type + ir::to_string(e); },
                   [&](const ir::IndexValue& o) { return type + number(o.value); },
                   [&](const ir::Load& o) { return load(o); },
                   [&](const ir::Unary& o) { return type + to_string(o.op) + list({o.a}); },
                   [&](const ir::Binary& o) { return type + to_string(o.op) + list({o.a, o.b}); },
                   [&](const ir::Fma& o) { return type + "fma" + list({o.a, o.b, o.c}); },
                   [&](const ir::Select& o) { return type + "if" + list({o.condition, o.a, o.b}); },
                   [&](const ir::Cast& o) { return type + "cast" + list({o.a}); },
                   [&](const ir::Broadcast& o) { return type + "broadcast" + list({o.a}); },
                   [&](const ir::LaneRead& o) { return type + "lane_read" + list({o.load}); }},
        e->op);
  }

  // An affine subscript is in the access's map already: "_" keeps its place. Where one is read at
  // run time the map says "any cell" and no more, so that what is read, and what is added to it,
  // belongs to the operation: x[idx[i] + 2*j, k] is "#0[@0 + #1, _]".
  std::string subscripts(const std::vector<ir::Index>& all) {
    std::string text = "[";
    for (const ir::Index& index : all)
      text += (text == "[" ? "" : ", ") +
              (index.indirect ? number(index.affine) + " + " + of(index.indirect) : "_");
    return text + "]";
  }

 private:
  int reads_ = 0;

  std::string number(const ir::Affine& value) {
    indices.push_back(value);
    return "@" + std::to_string(indices.size() - 1);
  }

  std::string load(const ir::Load& o) {
    std::string text = "#" + std::to_string(reads_++);
    const bool gathers =
        std::ranges::any_of(o.indices, [](const ir::Index& i) { return i.indirect != nullptr; });
    if (gathers) text += subscripts(o.indices);
    if (o.otherwise) of(o.otherwise);  // the value of a guard is a source; reads in it count
    return text;
  }

  std::string list(const std::vector<ir::Expr>& operands) {
    std::string text = "(";
    for (const ir::Expr& operand : operands) text += (text == "(" ? "" : ", ") + of(operand);
    return text + ")";
  }
};

std::string kind_text(StatementKind kind) {
  switch (kind) {
    case StatementKind::Plain:
      return "plain";
    case StatementKind::Init:
      return "init";
    case StatementKind::Update:
      return "update";
    case StatementKind::Copy:
      return "copy";
  }
  return "";
}

std::string contract_text(const State& state) {
  std::string text = state.contract == Contract::Exact    ? "exact"
                     : state.contract == Contract::Unsafe ? "unsafe"
                                                          : "reassoc";
  for (const std::string& loop : state.reassociable) text += " " + loop;
  for (const auto& [tensor, loops] : state.reassociated)
    for (const std::string& loop : loops) text += "; reassociate " + tensor + " over " + loop;
  return text;
}

std::string rewrite_text(const Rewrite& rewrite) {
  switch (rewrite.kind) {
    case Rewrite::Kind::Inline:
      return "inline " + rewrite.tensor;
    case Rewrite::Kind::Factor:
      return "factor " + rewrite.update + " of " + rewrite.tensor + " into " + rewrite.other;
    case Rewrite::Kind::Online:
      return "online " + rewrite.tensor;
    case Rewrite::Kind::Reciprocal:
      return "reciprocal " + rewrite.tensor;
    case Rewrite::Kind::Deferred:
      return "defer " + rewrite.tensor + " to " + rewrite.other;
    case Rewrite::Kind::View:
      return "view " + rewrite.tensor;
    case Rewrite::Kind::Precompute:
      return "precompute " + rewrite.tensor;
  }
  return "";
}

// How many loops are around the body of this loop, itself included: rows of a scope.
std::size_t rows_down_to(const State& state, LoopId loop) {
  if (loop == kKernel) return 0;
  const std::vector<std::string> below = statements_below(state.tree, loop);
  POLYTE_CHECK(!below.empty(),
               "loop " + std::to_string(static_cast<int>(loop)) + " has no statement");
  const std::vector<const Loop*> path = path_to(state.tree, below.front());
  const auto at = std::ranges::find(path, loop, &Loop::id);
  return static_cast<std::size_t>(at - path.begin()) + 1;
}

// One side of the certificate: statements of the reference as "R<i>", or of the schedule as "S<i>".
// Domains and accesses are made anew, for two reasons: the tuples of a model are "S<i>" on either
// side, and its accesses have digits joined (CellDigits), where a certificate has the subscripts
// as they are.
class SideWriter {
 public:
  SideWriter(const IslContext& context, const IslModel& model, std::string tuple)
      : context_(context), model_(model), tuple_(std::move(tuple)) {}

  CertificateStatement write(std::size_t index, const IslModel* reference) const {
    const ScheduledStatement& s = *model_.statements[index].statement;
    const isl::space space =
        set_space(context_, model_.params, tuple_ + std::to_string(index), s.body.iterators.size());
    const isl::set domain = to_set(space, s.body.iterators, model_.params, s.body.domain)
                                .intersect_params(model_.context);
    CertificateStatement out{
        .id = tuple_ + std::to_string(index), .name = s.body.name, .kind = kind_text(s.kind)};
    out.combiner = s.kind == StatementKind::Update ? ir::to_string(s.body.combiner) : "none";
    out.domain = text_of(domain);
    out.time = text_of(time_of(index, domain));
    if (reference && s.kind != StatementKind::Copy) out.phi = text_of(phi(s, domain, *reference));
    out.iterators = s.body.iterators;
    out.atomic = s.atomic;
    out.padded = s.padded;
    out.prefix = s.lifted;
    add_operation(s, domain, out);
    add_accesses(index, domain, out);
    return out;
  }

 private:
  const IslContext& context_;
  const IslModel& model_;
  std::string tuple_;

  isl::map map_to(const std::string& tuple, const std::vector<ir::Affine>& values,
                  const ScheduledStatement& s, const isl::set& domain) const {
    std::vector<isl::aff> coordinates;
    for (const ir::Affine& value : values)
      coordinates.push_back(to_aff(domain.get_space(), s.body.iterators, model_.params, value));
    isl_map* map =
        isl_map_from_multi_aff(to_multi_aff(domain.get_space(), tuple, coordinates).release());
    return isl::manage(isl_map_intersect_domain(map, domain.copy()));
  }

  isl::map phi(const ScheduledStatement& s, const isl::set& domain,
               const IslModel& reference) const {
    return map_to("R" + std::to_string(statement_index(reference, s.reference)), s.phi, s, domain);
  }

  // The time vector of the model, over the certificate's names.
  isl::map time_of(std::size_t index, const isl::set& domain) const {
    const IslStatement& s = model_.statements[index];
    isl_map* map = isl_map_from_multi_aff(to_multi_aff(s.domain.get_space(), "", s.time).release());
    map = isl_map_set_tuple_id(map, isl_dim_in, isl_set_get_tuple_id(domain.get()));
    return isl::manage(isl_map_intersect_domain(map, domain.copy()));
  }

  void add_operation(const ScheduledStatement& s, const isl::set& domain,
                     CertificateStatement& out) const {
    OperationText text;
    for (const ir::Expr& value : s.body.values)
      out.operation += (out.operation.empty() ? "" : "; ") + text.of(value);
    if (s.body.guard) out.operation += " when " + text.of(s.body.guard);
    for (const ir::Access& write : s.body.writes)
      if (std::ranges::any_of(write.indices,
                              [](const ir::Index& i) { return i.indirect != nullptr; }))
        out.operation += " at " + text.subscripts(write.indices);
    for (const ir::Affine& index : text.indices)
      out.indices.push_back(text_of(map_to("", {index}, s, domain)));
  }

  void add_accesses(std::size_t index, const isl::set& domain, CertificateStatement& out) const {
    const ScheduledStatement& s = *model_.statements[index].statement;
    for (const AccessRef& ref : accesses_of(s)) out.accesses.push_back(make_access(s, ref, domain));
  }

  // What IslModel's make_access does, but for the joined digits. Cells have the rows down to the
  // scope in front: those of two iterations are different cells.
  CertificateAccess make_access(const ScheduledStatement& s, const AccessRef& ref,
                                const isl::set& domain) const {
    const int index = buffer_index(model_, ref.access.buffer);
    const IslBuffer& buffer = model_.buffers.at(static_cast<std::size_t>(index));
    std::vector<ir::Affine> values = scope_rows(s, buffer);
    const std::size_t scoped = values.size();
    CertificateAccess out{
        .buffer = "B" + std::to_string(index), .write = ref.write, .own = ref.own};
    // A statement's guard is known at run time only; where it is false, nothing is written.
    out.exact = !(s.body.guard && ref.write);
    std::vector<unsigned> free_dimensions;
    for (const ir::Index& i : ref.access.indices) {
      if (i.indirect) free_dimensions.push_back(static_cast<unsigned>(values.size()));
      values.push_back(i.indirect ? ir::Affine(0) : i.affine);
    }
    isl::set active = domain;
    if (!ref.guard.empty()) {
      active =
          domain.intersect(to_set(domain.get_space(), s.body.iterators, model_.params, ref.guard));
      out.outside = text_of(domain.subtract(active));
      out.fill = OperationText().of(ref.load->otherwise);
    }
    isl::map cells = map_to(out.buffer, values, s, active);
    // Any cell along these dimensions: the placeholder 0 is dropped for the whole extent.
    if (!free_dimensions.empty()) {
      out.exact = false;
      isl_map* widened = cells.copy();
      for (unsigned d : free_dimensions) widened = isl_map_eliminate(widened, isl_dim_out, d, 1);
      for (unsigned d : free_dimensions) widened = within(widened, d, buffer.shape[d - scoped]);
      cells = isl::manage(widened);
    }
    out.cells = text_of(cells);
    return out;
  }

  // 0 <= output d < extent.
  isl_map* within(isl_map* map, unsigned d, const ir::Affine& extent) const {
    isl_space* range = isl_space_range(isl_map_get_space(map));
    const isl::space space = isl::manage(range);
    std::vector<std::string> names(static_cast<std::size_t>(isl_space_dim(range, isl_dim_set)));
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = "d#" + std::to_string(i);
    const ir::Affine at = ir::Affine::symbol(names[d]);
    return isl_map_intersect_range(
        map, to_set(space, names, model_.params, {ir::at_least(at, 0), ir::less_than(at, extent)})
                 .release());
  }

  std::vector<ir::Affine> scope_rows(const ScheduledStatement& s, const IslBuffer& buffer) const {
    std::vector<ir::Affine> rows;
    const std::size_t count = rows_down_to(*model_.state, buffer.scope_loop);
    for (const Loop* loop : path_to(model_.state->tree, s.body.name))
      if (rows.size() < count) rows.push_back(row_at(s, loop->name));
    return rows;
  }
};

// The rows in front of the subscripts have no bounds: they label iterations.
std::string box_of(const IslContext& context, const IslModel& model, const IslBuffer& buffer,
                   const std::string& id, std::size_t rows) {
  std::vector<std::string> names;
  std::vector<ir::Constraint> bounds;
  for (std::size_t i = 0; i < rows; ++i) names.push_back("row#" + std::to_string(i));
  for (std::size_t i = 0; i < buffer.shape.size(); ++i) {
    names.push_back("d#" + std::to_string(i));
    bounds.push_back(ir::at_least(ir::Affine::symbol(names.back()), 0));
    bounds.push_back(ir::less_than(ir::Affine::symbol(names.back()), buffer.shape[i]));
  }
  const isl::space space = set_space(context, model.params, id, names.size());
  return text_of(to_set(space, names, model.params, bounds).intersect_params(model.context));
}

CertificateBuffer make_buffer(const IslContext& context, const IslModel& model, std::size_t index) {
  const IslBuffer& buffer = model.buffers[index];
  const State& state = *model.state;
  const auto id = [](int i) { return "B" + std::to_string(i); };
  CertificateBuffer out{.id = id(static_cast<int>(index)),
                        .name = buffer.name,
                        .of = id(buffer_index(model, buffer.of))};
  const bool staged = buffer.name != buffer.of;
  out.role = staged ? "staged" : ir::to_string(state.basis->buffer(buffer.name).role);
  out.dtype = to_string(state.dtype_of(buffer.name));
  out.scope_rows = static_cast<int>(rows_down_to(state, buffer.scope_loop));
  out.alloc_rows = static_cast<int>(rows_down_to(state, buffer.alloc_loop));
  out.box = box_of(context, model, buffer, out.id, static_cast<std::size_t>(out.scope_rows));
  out.place = id(buffer.place);
  for (const StagedBuffer& b : state.staged)
    if (b.name == buffer.name) out.at_compile_time = b.at_compile_time;
  out.of_threads = is_spread(model, buffer);
  return out;
}

// Lanes of a warp run at once though no kind of loop says so (fragments.h).
std::vector<CertificateLoop> concurrent_loops(const IslModel& model) {
  std::vector<CertificateLoop> loops;
  if (!model.state->tree) return loops;
  const std::vector<LoopId> of_lanes = loops_of_lanes(*model.state);
  map_loops(model.state->tree, [&](const Loop& loop) {
    if (!is_concurrent(loop.kind) && std::ranges::find(of_lanes, loop.id) == of_lanes.end())
      return loop;
    CertificateLoop out{.name = loop.name,
                        .kind = loop.kind == LoopKind::Vector ? "vector" : "parallel"};
    out.depth = model.depth_of_loop.at(loop.id);
    for (const std::string& name : statements_below(model.state->tree, loop.id))
      out.statements.push_back("S" + std::to_string(statement_index(model, name)));
    loops.push_back(std::move(out));
    return loop;
  });
  return loops;
}

Certificate certificate_in(const IslContext& context, const State& state) {
  const State reference = reference_state(state.basis);
  const IslModel then = make_model(context, reference), now = make_model(context, state);
  Certificate out{.name = state.basis->name,
                  .reference = ir::print(*state.reference),
                  .basis = ir::print(*state.basis)};
  for (const Rewrite& rewrite : state.rewrites) out.rewrites.push_back(rewrite_text(rewrite));
  out.contract = contract_text(state);
  out.params = now.params;
  out.context = text_of(isl::manage(isl_set_params(now.context.copy())));
  for (std::size_t i = 0; i < now.buffers.size(); ++i)
    out.buffers.push_back(make_buffer(context, now, i));
  for (std::size_t i = 0; i < then.statements.size(); ++i) {
    out.program.push_back(SideWriter(context, then, "R").write(i, nullptr));
    const ir::Statement& body = then.statements[i].statement->body;
    if (body.combiner == ir::Combiner::None) continue;
    out.program.back().reductions = body.reductions;
    for (const std::string& iterator : reorderable_iterators(state, body))
      out.program.back().permitted.push_back(iterator);
  }
  for (std::size_t i = 0; i < now.statements.size(); ++i)
    out.schedule.push_back(SideWriter(context, now, "S").write(i, &then));
  const bool any =
      std::ranges::any_of(out.buffers, [](const CertificateBuffer& b) { return b.of_threads; });
  for (std::size_t i = 0; any && i < now.statements.size(); ++i)
    out.schedule[i].thread = text_of(threads_of(now, i).intersect_domain(now.statements[i].domain));
  out.concurrent = concurrent_loops(now);
  return out;
}

}  // namespace

Certificate make_certificate(const State& state) {
  const IslContext context;
  return translated(context, "integer set library", [&] { return certificate_in(context, state); });
}

}  // namespace polyte::schedule
