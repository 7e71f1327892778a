// reuse y for e:   e[i, j] = ..;  y[i, j] = e[i, j] / t[i]
//             ->   y[i, j] = ..;  y[i, j] = y[i, j] / t[i]
//
// The elements of the temporary e live in the memory of y, each in the place of the same
// subscripts, until y's own are written: no buffer, and no second line fetched. Both have one shape
// and type and are stored as the Program has them. Prover::check_reuse judges: nothing touches an
// element of y before the last access to that of e.
#include "schedule/script/reuse.h"

#include <algorithm>

#include "ir/relations.h"
#include "ir/views.h"
#include "schedule/script/primitives/buffers.h"

namespace polyte::schedule {

namespace {

std::string shape_text(const ir::Buffer& buffer) {
  std::string text = std::string(to_string(buffer.dtype)) + "[";
  for (std::size_t d = 0; d < buffer.shape.size(); ++d)
    text += (d ? ", " : "") + ir::to_string(buffer.shape[d]);
  return text + "]";
}

// A tensor of the Program of which no part is staged.
Result<const ir::Buffer*, Refusal> the_tensor(const State& state, const std::string& name) {
  const ir::Buffer* buffer = state.basis->find_buffer(name);
  if (!buffer) return malformed("no tensor is called " + name);
  for (const StagedBuffer& staged : state.staged)
    if (staged.of == name)
      return malformed(name + " is staged in " + staged.name + " already: reuse comes before");
  return buffer;
}

// The temporary that moves: nobody outside relies on its memory. Chains, e in t and t in y, are
// refused.
std::optional<Refusal> check_kept(const State& state, const ir::Buffer& kept) {
  if (kept.role != ir::Role::Temp)
    return malformed(kept.name + " is an " + ir::to_string(kept.role) +
                     " tensor: only a temporary's memory is ours");
  for (const auto& [temporary, host] : state.reused) {
    if (temporary == kept.name) return malformed(kept.name + " lies in " + host + " already");
    if (host == kept.name)
      return malformed(kept.name + " holds the elements of " + temporary + " itself");
  }
  return std::nullopt;
}

// The tensor that lends its memory: nothing from outside is in it before it is written.
std::optional<Refusal> check_host(const State& state, const ir::Buffer& host) {
  if (host.role != ir::Role::Out && host.role != ir::Role::Temp)
    return malformed(host.name + " is an " + ir::to_string(host.role) +
                     " tensor: what it holds is read from outside");
  if (state.nontemporal.contains(host.name))
    return malformed(host.name + " is streamed past the caches: what is read again stays in them");
  for (const auto& [temporary, other] : state.reused) {
    if (other == host.name)
      return malformed(host.name + " holds the elements of " + temporary + " already");
    if (temporary == host.name) return malformed(host.name + " lies in " + other + " itself");
  }
  return std::nullopt;
}

// Every access to a reused temporary as one to its host, at the same subscripts.
void put_in_place(ir::Statement& s, const State& state) {
  const auto place = [&](std::string& buffer) {
    if (const auto found = state.reused.find(buffer); found != state.reused.end())
      buffer = found->second;
  };
  const auto leaf = [&](const ir::Expr& e) {
    const ir::Load* load = std::get_if<ir::Load>(&e->op);
    if (!load || !state.reused.contains(load->buffer)) return e;
    ir::ExprNode copy = *e;
    place(std::get<ir::Load>(copy.op).buffer);
    return ir::Expr(std::make_shared<const ir::ExprNode>(std::move(copy)));
  };
  for (ir::Access& write : s.writes) place(write.buffer);
  ir::rewrite_reads(s, leaf);
}

void undo_views(ir::Statement& s, const State& state) {
  for (const auto& [tensor, stored] : state.viewed)
    if (const ir::Buffer* seen = state.basis->find_buffer(tensor))
      ir::undo_view(*state.basis, s, tensor, stored, ir::constant_shape(*seen));
}

// The State without views that split a dimension in several; those that join dimensions stay, as
// loops over long rows need them.
State without_digits(const State& state) {
  State result = state;
  std::map<std::string, ir::Extents> merged;
  for (const auto& [tensor, stored] : state.viewed) {
    const ir::Buffer* seen = state.basis->find_buffer(tensor);
    if (seen && seen->shape.size() < stored.size()) merged.emplace(tensor, stored);
  }
  std::erase_if(result.viewed, [&](const auto& view) { return merged.contains(view.first); });
  result = without_views(result);
  result.viewed = std::move(merged);
  return result;
}

std::vector<ir::Affine> stored_shape(const ir::Buffer& buffer, const State& state) {
  const auto view = state.viewed.find(buffer.name);
  return view == state.viewed.end()
             ? buffer.shape
             : std::vector<ir::Affine>(view->second.begin(), view->second.end());
}

}  // namespace

Applied reuse(const State& state, const Reuse& directive, const PrimitiveContext& context) {
  const auto host = the_tensor(state, directive.tensor),
             kept = the_tensor(state, directive.temporary);
  if (!host) return host.error();
  if (!kept) return kept.error();
  if (*host == *kept) return malformed(directive.tensor + " lies in its own memory already");
  if (auto refusal = check_kept(state, **kept)) return *refusal;
  if (auto refusal = check_host(state, **host)) return *refusal;
  if ((*host)->dtype != (*kept)->dtype || (*host)->shape != (*kept)->shape)
    return malformed("reuse needs one shape and type: " + (*host)->name + " is " +
                     shape_text(**host) + ", " + (*kept)->name + " " + shape_text(**kept));
  if (stored_shape(**host, state) != stored_shape(**kept, state))
    return conservative((*host)->name + " and " + (*kept)->name + " are views of other shapes");
  State next = state;
  next.reused[directive.temporary] = directive.tensor;
  Names users = users_of(next, directive.temporary), others = users_of(next, directive.tensor);
  users.insert(users.end(), others.begin(), others.end());
  if (auto refusal = check_races(next, users, context)) return *refusal;
  return next;
}

State without_views(const State& state) {
  if (state.viewed.empty()) return state;
  State result = state;
  for (ScheduledStatement& s : result.statements) undo_views(s.body, state);
  auto basis = std::make_shared<ir::Program>(*state.basis);
  for (ir::Statement& s : basis->statements) undo_views(s, state);
  for (ir::Buffer& buffer : basis->buffers) buffer.shape = stored_shape(buffer, state);
  result.basis = std::move(basis);
  result.viewed.clear();
  return result;
}

State as_lowered(const State& state) {
  State result = without_digits(state);
  for (ScheduledStatement& s : result.statements) put_in_place(s.body, state);
  for (PrefetchHint& hint : result.prefetches)
    if (const auto host = state.reused.find(hint.buffer); host != state.reused.end())
      hint.buffer = host->second;
  result.reused.clear();
  return result;
}

std::optional<Refusal> check_reused(const State& state) {
  for (const auto& [temporary, host] : state.reused) {
    if (users_of(state, temporary).empty())
      return malformed(temporary + " has no element left to lie in " + host + ": reuse comes last");
    if (users_of(state, host).empty())
      return malformed(host + " has no element left whose memory " + temporary +
                       " could lie in: reuse comes last");
  }
  return std::nullopt;
}

}  // namespace polyte::schedule
