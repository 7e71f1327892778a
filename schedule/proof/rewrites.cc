// The chain of rewrites from the reference Program to the one that is scheduled. Each step is
// proved from its two Programs, whoever made them; what holds between neighbours holds from end
// to end. Most steps have one shape: the same statements in the same order, but for one group of
// consecutive ones, in whose place others stand.
//
//   before   A | B C | D            statements 0 .. 3, group {1, 3}
//   after    A | B' X C' | D        its place: 1 .. 3; D moved from 3 to 4
//
// `replaced_group` compares everything but the group; what stands in the group is the argument of
// each kind of rewrite, in its own file.
#include "schedule/proof/rewrites.h"

#include <algorithm>

namespace polyte::schedule {

Refusal rewrite_fault(const std::string& headline) {
  Refusal refusal;
  refusal.kind = RefusalKind::Illegal;
  refusal.headline = headline;
  return refusal;
}

std::string region_text(const std::string& iterator, const ir::Affine& begin, const ir::Affine& end,
                        int step) {
  return "loop " + iterator + " " + ir::to_string(begin) + " " + ir::to_string(end) + " " +
         std::to_string(step);
}

namespace {

// Programs without statements, to compare what surrounds them; the new temporaries taken out.
ir::Program surroundings(const ir::Program& program, const std::vector<std::string>& without) {
  ir::Program result = program;
  result.statements.clear();
  result.order.clear();
  std::erase_if(result.buffers, [&](const ir::Buffer& buffer) {
    return std::ranges::find(without, buffer.name) != without.end();
  });
  return result;
}

// The order as a list: positions of statements, and marks where a region begins and ends. Two
// orders are equal exactly if their lists are, as brackets determine the tree.
void flatten(const std::vector<ir::Item>& items, std::vector<std::string>& into) {
  for (const ir::Item& item : items) {
    if (const std::size_t* index = std::get_if<std::size_t>(&item)) {
      into.push_back(std::to_string(*index));
      continue;
    }
    const ir::Region& region = std::get<ir::Region>(item);
    into.push_back(region_text(region.iterator, region.begin, region.end, region.step));
    flatten(region.body, into);
    into.emplace_back("end");
  }
}

std::vector<std::string> flat_order(const ir::Program& program) {
  std::vector<std::string> order;
  flatten(program.order, order);
  return order;
}

}  // namespace

std::optional<std::string> replaced_group(const ir::Program& before, const ir::Program& after,
                                          const Group& group,
                                          const std::vector<std::string>& temporaries,
                                          const std::optional<GroupRegion>& region) {
  for (const std::string& name : temporaries) {
    const ir::Buffer* buffer = after.find_buffer(name);
    if (!buffer || buffer->role != ir::Role::Temp || before.find_buffer(name))
      return name + " is no new temporary";
  }
  if (!ir::equal(surroundings(before, {}), surroundings(after, temporaries)))
    return "another interface";
  // The new group has as many statements more (or fewer) as the new Program.
  const auto extra =
      static_cast<std::ptrdiff_t>(after.statements.size() - before.statements.size());
  const auto new_end = static_cast<std::ptrdiff_t>(group.end) + extra;
  if (new_end < static_cast<std::ptrdiff_t>(group.begin)) return "statements are missing";
  const auto end = static_cast<std::size_t>(new_end);
  for (std::size_t i = 0; i < before.statements.size(); ++i) {
    if (i >= group.begin && i < group.end) continue;
    const std::size_t there = i < group.begin ? i : i - group.end + end;
    if (!ir::equal(before.statements[i], after.statements[there]))
      return before.statements[i].name + " has changed";
  }
  // The old order with the group's positions replaced by those of the new group, in a region of
  // its own if there is one, and every position behind it moved by `extra`. The new Program must
  // have just that.
  std::vector<std::string> expected, members;
  for (std::size_t i = group.begin; i < end; ++i) {
    if (region && i == group.begin + region->in_front) members.push_back(region->text);
    members.push_back(std::to_string(i));
  }
  if (region) members.emplace_back("end");
  for (const std::string& item : flat_order(before)) {
    const bool is_statement = item.find_first_not_of("0123456789") == std::string::npos;
    const std::size_t index = is_statement ? std::stoul(item) : 0;
    if (!is_statement || index < group.begin)
      expected.push_back(item);
    else if (index >= group.end)
      expected.push_back(std::to_string(index - group.end + end));
    else if (index == group.begin)
      expected.insert(expected.end(), members.begin(), members.end());
  }
  if (expected != flat_order(after)) return "another order";
  return std::nullopt;
}

// Only surroundings and order: what became of the other statements is the caller's question,
// since inlining changes all that read the temporary.
std::optional<std::string> dropped_statement(const ir::Program& before, const ir::Program& after,
                                             std::size_t gone, const std::string& temporary) {
  if (!ir::equal(surroundings(before, {temporary}), surroundings(after, {})))
    return "another interface";
  if (after.statements.size() + 1 != before.statements.size()) return "statements are missing";
  std::vector<std::string> expected;
  for (const std::string& item : flat_order(before)) {
    const bool is_statement = item.find_first_not_of("0123456789") == std::string::npos;
    const std::size_t index = is_statement ? std::stoul(item) : 0;
    if (is_statement && index == gone) continue;
    expected.push_back(is_statement && index > gone ? std::to_string(index - 1) : item);
  }
  if (expected != flat_order(after)) return "another order";
  return std::nullopt;
}

const IslAccess& access_of(const IslModel& model, std::size_t statement, const std::string& buffer,
                           bool write) {
  for (const IslAccess& a : model.statements[statement].accesses)
    if (a.write == write && model.buffers[static_cast<std::size_t>(a.buffer)].name == buffer)
      return a;
  POLYTE_CHECK(false, "an access to '" + buffer + "' is missing");
}

bool same_operation(const ir::Expr& now, const ir::Expr& then,
                    const std::function<bool(const ir::Expr& now, const ir::Expr& then)>& match) {
  if (now->op.index() != then->op.index() || now->type != then->type) return false;
  if (const auto* a = std::get_if<ir::Unary>(&now->op)) {
    const auto& b = std::get<ir::Unary>(then->op);
    return a->op == b.op && match(a->a, b.a);
  }
  if (const auto* a = std::get_if<ir::Binary>(&now->op)) {
    const auto& b = std::get<ir::Binary>(then->op);
    return a->op == b.op && match(a->a, b.a) && match(a->b, b.b);
  }
  if (const auto* a = std::get_if<ir::Fma>(&now->op)) {
    const auto& b = std::get<ir::Fma>(then->op);
    return match(a->a, b.a) && match(a->b, b.b) && match(a->c, b.c);
  }
  if (const auto* a = std::get_if<ir::Select>(&now->op)) {
    const auto& b = std::get<ir::Select>(then->op);
    return match(a->condition, b.condition) && match(a->a, b.a) && match(a->b, b.b);
  }
  if (const auto* a = std::get_if<ir::Cast>(&now->op))
    return match(a->a, std::get<ir::Cast>(then->op).a);
  return false;
}

bool touches(const ir::Statement& s, const std::string& buffer) {
  ScheduledStatement plain;
  plain.body = s;
  const std::vector<AccessRef> accesses = accesses_of(plain);
  return std::ranges::any_of(accesses,
                             [&](const AccessRef& ref) { return ref.access.buffer == buffer; });
}

namespace {

// What is proved of the Program after a rewrite holds where its tensors have sizes: that has
// to be everywhere.
std::optional<Refusal> lost_sizes(const IslModel& before, const IslModel& after) {
  const isl::set lost = before.context.subtract(after.context);
  if (lost.is_empty()) return std::nullopt;
  const Point point =
      first_point(isl::manage(isl_set_from_params(isl_set_params(lost.copy()))), before.params);
  std::string sizes;
  for (const auto& [name, value] : point.params)
    sizes += (sizes.empty() ? "" : ", ") + name + "=" + std::to_string(value);
  return rewrite_fault("a tensor that it makes would have a negative extent at " + sizes);
}

}  // namespace

// The last Program of the chain has to be the very object that the State schedules: an equal text
// that no step has led to would not have been proved.
std::optional<Refusal> check_rewrites(Prover::Impl& impl, const State& state) {
  std::shared_ptr<const ir::Program> before = impl.reference;
  for (const Rewrite& rewrite : state.rewrites) {
    std::optional<Refusal> refusal;
    switch (rewrite.kind) {
      case Rewrite::Kind::Inline:
        refusal = check_inlining(impl.basis_of(before), rewrite);
        break;
      case Rewrite::Kind::Precompute:
        refusal = check_precomputed(before, impl.basis_of(rewrite.after), rewrite);
        break;
      case Rewrite::Kind::Factor:
        refusal = check_factor(state, rewrite, *before, impl.basis_of(rewrite.after));
        break;
      case Rewrite::Kind::Online:
        refusal = check_online(state, rewrite, impl.basis_of(before), impl.basis_of(rewrite.after));
        break;
      case Rewrite::Kind::Reciprocal:
        refusal = check_reciprocals(*before, rewrite);
        break;
      case Rewrite::Kind::Deferred:
        refusal = check_deferred(state, rewrite, impl.basis_of(before));
        break;
      case Rewrite::Kind::View:
        refusal = check_view(*before, rewrite, impl.basis_of(rewrite.after));
        break;
    }
    if (refusal) return refusal;
    if (auto lost = lost_sizes(impl.basis_of(before).model, impl.basis_of(rewrite.after).model))
      return lost;
    before = rewrite.after;
  }
  if (before != state.basis)
    return rewrite_fault("the Program was rewritten without a step that says how");
  return std::nullopt;
}

}  // namespace polyte::schedule
