#include "ir/precompute.h"

#include <algorithm>
#include <optional>

#include "ir/affine_system.h"
#include "ir/relations.h"
#include "ir/verify.h"
#include "support/is_among.h"

namespace polyte::ir {
namespace {

struct Span {
  std::int64_t first = 0;
  Affine last;
};

// first <= iterator <= last over all points of the domain, `last` over parameters. By elimination
// of the other iterators: an over-approximation, so the definition may compute elements that nobody
// reads, never too few.
std::optional<Span> span_of(const Statement& s, const std::string& iterator) {
  // Fourier-Motzkin: what is left bounds the iterator over parameters alone.
  System system = system_of(s.domain);
  for (const std::string& other : s.iterators)
    if (other != iterator) system = eliminate(system, other);
  const Bounds bounds = bounds_of(system, iterator);
  std::optional<std::int64_t> first;
  for (const Affine& lower : bounds.lower)
    if (lower.is_constant()) first = std::max(first.value_or(lower.constant()), lower.constant());
  if (!first || bounds.upper.empty()) return std::nullopt;
  Affine last = bounds.upper.front();
  for (const Affine& upper : bounds.upper) {
    const Affine further = upper - last;
    // The least of several: an extent is one of them.
    if (!further.is_constant()) return std::nullopt;
    if (further.constant() < 0) last = upper;
  }
  return last.has_division() ? std::nullopt : std::optional(Span{*first, last});
}

bool is_in(const Item& item, std::size_t statement) {
  return std::ranges::count(statements_in({item}), statement) > 0;
}

bool writes_what_is_read(const Statement& writer, const Expr& value) {
  return std::ranges::any_of(loads_of(value), [&](const Load* load) {
    return std::ranges::any_of(writer.writes,
                               [&](const Access& write) { return write.buffer == load->buffer; });
  });
}

// The position of the item that the definition goes in front of: behind the last one before the
// statement that writes what the value reads. Nothing where that is the statement's own.
std::optional<std::size_t> place_of(const Program& program, std::size_t statement,
                                    const Expr& value) {
  const auto changes = [&](const Item& item) {
    return std::ranges::any_of(statements_in({item}), [&](std::size_t each) {
      return writes_what_is_read(program.statements[each], value);
    });
  };
  const auto own =
      std::ranges::find_if(program.order, [&](const Item& item) { return is_in(item, statement); });
  if (changes(*own)) return std::nullopt;
  auto place = own;
  while (place != program.order.begin() && !changes(*std::prev(place))) --place;
  return static_cast<std::size_t>(place - program.order.begin());
}

// What makes the value no tensor of its own, or of another meaning; nothing where all is well.
std::optional<Decline> problem_of(const Program& program, std::size_t at,
                                  const Precomputed& precomputed) {
  const Statement& s = program.statements[at];
  const Expr& value = precomputed.value;
  for (const std::string& symbol : symbols_of(value))
    if (!is_among(symbol, precomputed.iterators) && !is_among(symbol, program.params))
      return Decline{"it depends on " + symbol + ", which is no dimension of " +
                     precomputed.tensor};
  for (const Load* load : loads_of(value))
    if (std::ranges::any_of(load->indices,
                            [](const Index& index) { return index.indirect != nullptr; }))
      return Decline{"it reads " + load->buffer + " at an index known at run time only"};
  int found = 0;
  for (const Expr& whole : s.values) {
    if (equal(whole, value) && is_fused_product(s.combiner, value))
      return Decline{"the products that " + s.name + " adds are not rounded before"};
    replace(whole,
            [&](const Expr& part) { return equal(part, value) ? (++found, part) : nullptr; });
  }
  if (found == 0) return Decline{s.name + " has no value " + to_string(value)};
  if (!place_of(program, at, value))
    return Decline{"what it reads is written in the same region, or by " + s.name + " itself"};
  return std::nullopt;
}

Result<Statement> definition_of(const Statement& s, const Precomputed& precomputed,
                                Buffer& buffer) {
  Statement definition;
  definition.name = precomputed.tensor;
  definition.iterators = precomputed.iterators;
  definition.values = {precomputed.value};
  // The tensor begins at the first value of each range: a[m - 2, k] for m in 2..M.
  Access cell{precomputed.tensor, {}};
  for (const std::string& iterator : precomputed.iterators) {
    if (!is_among(iterator, s.iterators)) return Decline{s.name + " has no iterator " + iterator};
    const std::optional<Span> span = span_of(s, iterator);
    if (!span) return Decline{iterator + " has no range of its own in " + s.name};
    const Affine at = Affine::symbol(iterator);
    definition.domain.push_back(at_least(at, span->first));
    definition.domain.push_back(at_least(span->last, at));
    buffer.shape.push_back(span->last - span->first + 1);
    cell.indices.emplace_back(at - span->first);
  }
  definition.writes = {cell};
  return definition;
}

void move_up(std::vector<Item>& items, std::size_t from) {
  for (Item& item : items) {
    if (auto* region = std::get_if<Region>(&item))
      move_up(region->body, from);
    else if (std::size_t& index = std::get<std::size_t>(item); index >= from)
      ++index;
  }
}

// Statements are kept in text order, so the definition goes in front of the first one of the item,
// and the numbers in the order from there on move up.
void insert(Program& program, Statement definition, std::size_t place) {
  const std::size_t at = std::ranges::min(statements_in({program.order[place]}));
  program.statements.insert(program.statements.begin() + static_cast<std::ptrdiff_t>(at),
                            std::move(definition));
  move_up(program.order, at);
  program.order.insert(program.order.begin() + static_cast<std::ptrdiff_t>(place), Item{at});
}

}  // namespace

Statement reading(const Statement& statement, const Statement& definition, const Expr& value) {
  const Access& cell = definition.writes.front();
  const Expr element = make_load(value->type, cell.buffer, cell.indices);
  Statement result = statement;
  for (Expr& whole : result.values)
    whole =
        replace(whole, [&](const Expr& part) { return equal(part, value) ? element : nullptr; });
  return result;
}

// The definition is put in front of the statement's item after its reads were replaced; verify()
// then has the last word, on names for example.
Result<Program> with_precomputed(const Program& program, const Precomputed& precomputed) {
  const auto found = std::ranges::find(program.statements, precomputed.statement, &Statement::name);
  if (found == program.statements.end())
    return Decline{"there is no statement " + precomputed.statement};
  const auto at = static_cast<std::size_t>(found - program.statements.begin());
  if (auto problem = problem_of(program, at, precomputed)) return *problem;
  Buffer buffer{precomputed.tensor, Role::Temp, precomputed.value->type, {}};
  Result<Statement> definition = definition_of(*found, precomputed, buffer);
  if (!definition) return definition.error();
  Program result = program;
  result.statements[at] = reading(*found, *definition, precomputed.value);
  result.buffers.push_back(std::move(buffer));
  insert(result, *std::move(definition), *place_of(program, at, precomputed.value));
  if (const std::vector<std::string> problems = verify(result); !problems.empty())
    return Decline{"the Program would not be well formed: " + problems.front()};
  return result;
}

}  // namespace polyte::ir
