#include "schedule/script/split_begins.h"

#include <algorithm>
#include <map>
#include <optional>

#include "ir/domain.h"

namespace polyte::schedule {
namespace {

template <typename T>
constexpr bool kRenumbers =
    std::is_same_v<T, Map> || std::is_same_v<T, Remap> || std::is_same_v<T, Skew> ||
    std::is_same_v<T, Shift> || std::is_same_v<T, Reverse> || std::is_same_v<T, Rename> ||
    std::is_same_v<T, AffineMap> || std::is_same_v<T, Wavefront>;

// Behind those a loop's name need not be its iterator.
bool renumbers(const Directive& directive) {
  const auto of = [](const auto& operation) {
    return kRenumbers<std::decay_t<decltype(operation)>>;
  };
  const auto* merge = std::get_if<Merge>(&directive.operation);
  return std::visit(of, directive.operation) || (merge && !merge->with.empty());
}

void collect(std::span<Directive> directives, std::map<std::string, std::vector<Split*>>& splits) {
  for (Directive& directive : directives) {
    if (auto* together = std::get_if<Transaction>(&directive.operation))
      collect(together->steps, splits);
    auto* split = std::get_if<Split>(&directive.operation);
    if (split && split->from.text.empty()) splits[split->loop.loop].push_back(split);
  }
}

std::optional<std::int64_t> begin_of(const ir::Statement& s, const std::string& iterator) {
  const auto at = std::ranges::find(s.iterators, iterator);
  if (at == s.iterators.end()) return std::nullopt;
  const ir::DomainBounds bounds = ir::bounds_of(s.domain, s.iterators);
  std::optional<std::int64_t> begin;
  for (const ir::Affine& lower :
       bounds.of[static_cast<std::size_t>(at - s.iterators.begin())].lower) {
    if (!lower.is_constant()) return std::nullopt;
    begin = std::max(begin.value_or(lower.constant()), lower.constant());
  }
  return begin;
}

// The least first value of the loop in the statements that are split; none where one of them is
// not a number.
std::optional<std::int64_t> begin_of(const ir::Program& program, const std::string& loop,
                                     const std::vector<Split*>& splits) {
  std::optional<std::int64_t> least;
  for (const ir::Statement& s : program.statements) {
    const auto means = [&](const Split* split) {
      return split->loop.statement.empty() || split->loop.statement == s.name;
    };
    if (std::ranges::find(s.iterators, loop) == s.iterators.end() ||
        std::ranges::none_of(splits, means))
      continue;
    const std::optional<std::int64_t> begin = begin_of(s, loop);
    if (!begin) return std::nullopt;
    least = std::min(least.value_or(*begin), *begin);
  }
  return least;
}

}  // namespace

void count_from_begins(const ir::Program& program, std::span<Directive> nest) {
  if (std::ranges::any_of(nest, renumbers)) return;
  std::map<std::string, std::vector<Split*>> splits;
  collect(nest, splits);
  for (const auto& [loop, lines] : splits)
    if (const auto begin = begin_of(program, loop, lines); begin && *begin != 0)
      for (Split* split : lines) split->from.text = std::to_string(*begin);
}

}  // namespace polyte::schedule
