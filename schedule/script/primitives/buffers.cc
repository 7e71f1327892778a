#include "schedule/script/primitives/buffers.h"

#include <algorithm>

#include "ir/relations.h"
#include "schedule/script/primitives/lift.h"

namespace polyte::schedule {

namespace {

bool is_access_to(const ir::Expr& e, const std::string& buffer) {
  const ir::Load* load = std::get_if<ir::Load>(&e->op);
  return load && load->buffer == buffer;
}

}  // namespace

// A buffer's own name wins over the tensor's: x.c is one, x may have several.
Result<std::size_t, Refusal> the_buffer(const State& state, const std::string& name) {
  std::vector<std::size_t> found;
  Names candidates, all;
  for (std::size_t i = 0; i < state.staged.size(); ++i) {
    all.push_back(state.staged[i].name);
    if (state.staged[i].name == name) return i;
    if (state.staged[i].of != name) continue;
    found.push_back(i);
    candidates.push_back(state.staged[i].name);
  }
  if (found.size() == 1) return found.front();
  if (found.size() > 1)
    return malformed(name + " has several buffers: say " + join_words(candidates));
  if (state.reference->find_buffer(name))
    return malformed(name + " has no buffer of its own: stage it first");
  return malformed("no buffer is called " + name +
                   (all.empty() ? " (none is staged)" : " (they are " + join_words(all) + ")"));
}

Result<std::size_t, Refusal> the_dimension(const StagedBuffer& buffer, const std::string& name) {
  const auto found = std::ranges::find(buffer.dimensions, name);
  if (found != buffer.dimensions.end())
    return static_cast<std::size_t>(found - buffer.dimensions.begin());
  return malformed(buffer.name + " has no dimension " + name + " (they are " +
                   join_words(buffer.dimensions) + ")");
}

Names users_of(const State& state, const std::string& buffer) {
  Names users;
  for (const ScheduledStatement& s : state.statements)
    if (reads(s, buffer) || writes(s, buffer)) users.push_back(s.body.name);
  return users;
}

void edit_accesses(State& state, const std::string& buffer, const IndexEdit& edit) {
  for (ScheduledStatement& s : state.statements) {
    // `edit` sees the statement as it was: rows and inverse do not change, but accesses do on
    // the way.
    const ScheduledStatement before = s;
    for (ir::Access& write : s.body.writes)
      if (write.buffer == buffer) write.indices = edit(before, write.indices);
    const auto leaf = [&](const ir::Expr& e) {
      if (!is_access_to(e, buffer)) return e;
      const ir::Load& load = std::get<ir::Load>(e->op);
      const std::vector<ir::Index> indices = edit(before, load.indices);
      if (!load.otherwise) return ir::make_load(e->type, buffer, indices);
      return ir::make_guarded_load(e->type, buffer, indices, load.guard, load.otherwise);
    };
    ir::rewrite_reads(s.body, leaf);
  }
}

// Elements `factor` apart along the dimension share a place.
void fold_dimension(State& state, std::size_t buffer, std::size_t dimension, std::int64_t factor) {
  StagedBuffer& b = state.staged[buffer];
  edit_accesses(state, b.name, [&](const ScheduledStatement&, std::vector<ir::Index> indices) {
    indices[dimension].affine = ir::mod(indices[dimension].affine, factor);
    return indices;
  });
  b.shape[dimension] = factor;
}

std::optional<Refusal> check_buffer(const State& state, const StagedBuffer& buffer,
                                    const PrimitiveContext& context) {
  if (!context.prover) return std::nullopt;
  const Names users = users_of(state, buffer.name);
  if (auto refusal = context.prover->check_bounds(state, users)) return refusal;
  if (auto refusal = context.prover->check_storage(state, buffer.of)) return refusal;
  return check_races(state, users, context);
}

// Where the fold is illegal, larger ones are tried, so that the refusal can name one that is legal.
std::optional<Refusal> check_fold(const State& state, const State& unfolded, std::size_t buffer,
                                  std::size_t dimension, std::int64_t factor,
                                  const PrimitiveContext& context) {
  auto refusal = check_buffer(state, state.staged[buffer], context);
  if (!refusal || refusal->kind != RefusalKind::Illegal) return refusal;
  const StagedBuffer& b = unfolded.staged[buffer];
  const std::string& name = b.dimensions[dimension];
  refusal->headline =
      "with " + name + " folded by " + std::to_string(factor) + ", " + refusal->headline;
  // Counted up, then doubled: windows are small, and each candidate is a proof.
  for (std::int64_t f = factor + 1, tried = 0; f < b.shape[dimension] && tried < 12;
       f = ++tried < 8 ? f + 1 : 2 * f) {
    State candidate = unfolded;
    fold_dimension(candidate, buffer, dimension, f);
    if (check_buffer(candidate, candidate.staged[buffer], context)) continue;
    refusal->advice.push_back(name + " folded by " + std::to_string(f));
    return refusal;
  }
  refusal->advice.push_back("no fold of " + name);
  return refusal;
}

}  // namespace polyte::schedule
