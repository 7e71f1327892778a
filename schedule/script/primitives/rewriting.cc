#include "schedule/script/primitives/rewriting.h"

#include <algorithm>
#include <functional>

namespace polyte::schedule {

namespace {

// Statement `at` becomes 1 + extra statements: numbers behind it grow, and the new ones follow
// it in whichever region it is. Statement 1 of four becomes three:
//
//   0, region { 1, 2 }, 3   ->   0, region { 1, 2, 3, 4 }, 5
void make_room(std::vector<ir::Item>& items, std::size_t at, std::size_t extra) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (auto* region = std::get_if<ir::Region>(&items[i])) {
      make_room(region->body, at, extra);
      continue;
    }
    std::size_t& index = std::get<std::size_t>(items[i]);
    if (index > at) index += extra;
    if (index != at) continue;
    std::vector<ir::Item> added;
    for (std::size_t k = 1; k <= extra; ++k) added.emplace_back(at + k);
    items.insert(items.begin() + static_cast<std::ptrdiff_t>(i) + 1, added.begin(), added.end());
    i += extra;
  }
}

}  // namespace

// A rewrite edits a statement of the Program and the scheduled one alike. That is possible only
// while the second still is the first with other loops: it has not been staged (it would read
// or write a copy), cut into parts (its domain is a part), lifted (its iterators are positions
// in a box) or placed in another nest.
Result<std::string, Refusal> unchanged(const State& state, const std::string& update,
                                       const std::string& what) {
  const ScheduledStatement& s = state.at(update);
  const std::string& tensor = state.basis->statement(s.reference).writes.front().buffer;
  if (s.body.writes.front().buffer != tensor)
    return malformed(tensor + " is staged already: " + what + " comes before its stage");
  if (s.reference != update)
    return malformed(update + " is a part of " + s.reference + ": " + what +
                     " comes before the cut");
  if (s.lifted > 0)
    return malformed(tensor + " is recomputed at a loop already: " + what + " comes before");
  const Leaf& leaf = leaf_of(state, update);
  if (!leaf.pins.empty() || leaf.at)
    return malformed(update + " is placed in another nest: " + what + " comes before");
  for (const ir::Expr& value : s.body.values)
    for (const ir::Load* load : ir::loads_of(value))
      if (!state.basis->find_buffer(load->buffer))
        return malformed(update + " reads the staged " + load->buffer + ": " + what +
                         " comes before that stage");
  return update;
}

Result<std::string, Refusal> reduction_of(const State& state, const std::string& tensor,
                                          const std::string& what) {
  if (!state.basis->find_buffer(tensor)) {
    if (state.find(tensor))
      return malformed(what + " names a tensor, and " + tensor + " is a statement");
    return malformed("no tensor is called " + tensor);
  }
  // `lost`: updates that by now write to a staged copy.
  std::vector<std::string> updates, lost;
  for (const ScheduledStatement& s : state.statements) {
    if (s.kind != StatementKind::Update) continue;
    if (state.basis->statement(s.reference).writes.front().buffer == tensor)
      (s.body.writes.front().buffer == tensor ? updates : lost).push_back(s.body.name);
  }
  if (!lost.empty())
    return malformed(tensor + " is staged already: " + what + " comes before its stage");
  if (updates.empty()) return malformed(tensor + " is no reduction: no statement updates it");
  if (updates.size() > 1)
    return conservative(tensor + " is updated by several statements (" + join_words(updates) + ")");
  return unchanged(state, updates.front(), what);
}

Result<std::string, Refusal> update_named(const State& state, const std::string& name,
                                          const std::string& what) {
  if (state.basis->find_buffer(name)) {
    Names updates;
    for (const ir::Statement& s : state.basis->statements)
      if (s.combiner != ir::Combiner::None && s.writes.front().buffer == name)
        updates.push_back(s.name);
    if (updates.size() < 2) return reduction_of(state, name, what);
    return malformed(name + " is updated by several statements: name the one that is meant (" +
                     join_words(updates) + ")");
  }
  const ScheduledStatement* s = state.find(name);
  if (!s) return malformed("no tensor or statement is called " + name);
  if (s->kind != StatementKind::Update)
    return malformed(name + " updates nothing: " + what + " is for a reduction");
  return unchanged(state, name, what);
}

// A name for a tensor P, whose statements will be P.init, P.update or P. Loops and iterators
// are asked too: a dimension of P may be called after them in a layout, where one name must
// mean one thing.
std::optional<Refusal> check_new_tensor(const State& state, const std::string& name) {
  const auto taken = [&](const std::string& what) {
    return malformed("the name " + name + " is taken: " + what + " is called so");
  };
  if (state.basis->find_buffer(name) || state.reference->find_buffer(name))
    return taken("a tensor");
  for (const StagedBuffer& buffer : state.staged)
    if (buffer.name == name) return taken("a staged buffer");
  for (const std::string& param : state.basis->params)
    if (param == name) return taken("a size");
  for (const ScheduledStatement& s : state.statements) {
    if (s.body.name == name || s.body.name.rfind(name + ".", 0) == 0) return taken("a statement");
    for (const std::string& iterator : s.body.iterators)
      if (iterator == name) return taken("an iterator");
    if (row_of(s, name)) return taken("a loop");
  }
  return std::nullopt;
}

// Unlike dimension_names (schedule/state), by writes only: these iterators become those of
// statements that go over the cells of the tensor.
std::vector<std::string> cell_names(const State& state, const std::string& tensor) {
  std::vector<std::string> names(state.basis->buffer(tensor).shape.size());
  for (const ir::Statement& s : state.basis->statements)
    for (const ir::Access& write : s.writes)
      for (std::size_t d = 0; d < names.size() && write.buffer == tensor; ++d) {
        const auto symbol = write.indices[d].affine.as_symbol();
        const bool is_new = symbol && std::ranges::find(names, *symbol) == names.end();
        if (names[d].empty() && is_new && !write.indices[d].indirect) names[d] = *symbol;
      }
  for (std::size_t d = 0; d < names.size(); ++d)
    if (names[d].empty()) names[d] = "d" + std::to_string(d);
  return names;
}

// What results is verified, since a rewrite puts it together from parts: a name that is taken
// or an iterator without bounds is a reason not to rewrite, and no crash later.
Result<std::shared_ptr<const ir::Program>, Refusal> replace_statement(
    const ir::Program& program, const std::string& statement, std::vector<ir::Statement> by,
    std::vector<ir::Buffer> temporaries) {
  auto result = std::make_shared<ir::Program>(program);
  const auto at = std::ranges::find_if(result->statements,
                                       [&](const ir::Statement& s) { return s.name == statement; });
  POLYTE_CHECK(at != result->statements.end(), "no statement '" + statement + "' to replace");
  const auto index = static_cast<std::size_t>(at - result->statements.begin());
  make_room(result->order, index, by.size() - 1);
  result->statements.erase(at);
  result->statements.insert(result->statements.begin() + static_cast<std::ptrdiff_t>(index),
                            by.begin(), by.end());
  result->buffers.insert(result->buffers.end(), temporaries.begin(), temporaries.end());
  const std::vector<std::string> problems = ir::verify(*result);
  if (!problems.empty())
    return conservative("the rewritten Program would not be well formed: " + problems.front());
  return std::shared_ptr<const ir::Program>(std::move(result));
}

// Numbers and order of four statements, of which 1 and 2 become four new ones, one of them in
// front:
//
//   0, 1, 2, 3   ->   0, 1, region { 2, 3, 4 }, 5
//
// The replaced statements stand on the outermost level; other regions keep theirs, with new
// numbers.
Result<std::shared_ptr<const ir::Program>, Refusal> replace_by_region(
    const ir::Program& program, std::size_t begin, std::size_t end,
    const std::vector<ir::Statement>& by, std::size_t in_front, ir::Region region,
    const std::vector<ir::Buffer>& temporaries) {
  auto result = std::make_shared<ir::Program>(program);
  const auto at = [&](std::size_t i) {
    return result->statements.begin() + static_cast<std::ptrdiff_t>(i);
  };
  result->statements.erase(at(begin), at(end));
  result->statements.insert(at(begin), by.begin(), by.end());
  for (std::size_t i = in_front; i < by.size(); ++i) region.body.emplace_back(begin + i);
  std::vector<ir::Item> order;
  // Statements behind the replaced ones [begin, end) get the numbers that the new ones leave.
  const std::function<void(std::vector<ir::Item>&)> shift = [&](std::vector<ir::Item>& items) {
    for (ir::Item& item : items) {
      if (auto* inner = std::get_if<ir::Region>(&item))
        shift(inner->body);
      else if (std::size_t& index = std::get<std::size_t>(item); index >= end)
        index = index - end + begin + by.size();
    }
  };
  for (const ir::Item& item : program.order) {
    const std::size_t* index = std::get_if<std::size_t>(&item);
    if (!index || *index < begin || *index >= end) {
      std::vector<ir::Item> kept = {item};
      shift(kept);
      order.push_back(kept.front());
    } else if (*index == begin) {
      for (std::size_t i = 0; i < in_front; ++i) order.emplace_back(begin + i);
      order.emplace_back(region);
    }
  }
  result->order = std::move(order);
  result->buffers.insert(result->buffers.end(), temporaries.begin(), temporaries.end());
  const std::vector<std::string> problems = ir::verify(*result);
  if (!problems.empty())
    return conservative("the rewritten Program would not be well formed: " + problems.front());
  return std::shared_ptr<const ir::Program>(std::move(result));
}

bool states_a_read(const ScheduledStatement& s, const std::string& tensor) {
  return std::ranges::any_of(accesses_of(s), [&](const AccessRef& ref) {
    return ref.load && ref.access.buffer == tensor;
  });
}

// Asked of the reference, as the basis no longer has what was inlined.
std::string inlined_text(const State& state, const std::string& name) {
  const ir::Statement* statement = state.reference->find_statement(name);
  for (const Rewrite& rewrite : state.rewrites) {
    if (rewrite.kind != Rewrite::Kind::Inline) continue;
    if (rewrite.tensor == name || (statement && statement->writes.front().buffer == rewrite.tensor))
      return ": it was inlined";
  }
  return "";
}

}  // namespace polyte::schedule
