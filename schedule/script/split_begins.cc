#include "schedule/script/split_begins.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "ir/domain.h"

namespace polyte::schedule {
namespace {

constexpr std::int64_t kLineBytes = 64;
constexpr std::int64_t kLongRow = 32;  // lines: one more, shorter tile counts little

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

void add_vectors(const NestTree& tree, std::set<std::string>& into) {
  if (const auto* sequence = std::get_if<NestSequence>(&tree->op))
    for (const NestTree& child : sequence->children) add_vectors(child, into);
  if (const auto* loop = std::get_if<NestLoop>(&tree->op)) {
    if (loop->kind == LoopKind::Vector) into.insert(loop->name);
    add_vectors(loop->body, into);
  }
}

struct Lines {
  std::map<std::string, std::vector<Split*>> splits;  // by loop
  std::set<std::string> vectors;                      // loops in lanes
};

void collect(std::span<Directive> directives, Lines& lines) {
  for (Directive& directive : directives) {
    if (auto* together = std::get_if<Transaction>(&directive.operation))
      collect(together->steps, lines);
    auto* split = std::get_if<Split>(&directive.operation);
    if (split && split->from.text.empty()) lines.splits[split->loop.loop].push_back(split);
    if (const auto* nest = std::get_if<Nest>(&directive.operation))
      add_vectors(nest->tree, lines.vectors);
  }
}

struct Range {
  std::int64_t begin = 0;
  std::optional<std::int64_t> end = {};  // nullopt: no number
};

std::optional<Range> range_of(const ir::Statement& s, const std::string& iterator) {
  const auto at = std::ranges::find(s.iterators, iterator);
  if (at == s.iterators.end()) return std::nullopt;
  const ir::DomainBounds bounds = ir::bounds_of(s.domain, s.iterators);
  const auto& own = bounds.of[static_cast<std::size_t>(at - s.iterators.begin())];
  std::optional<std::int64_t> begin, end;
  for (const ir::Affine& lower : own.lower) {
    if (!lower.is_constant()) return std::nullopt;
    begin = std::max(begin.value_or(lower.constant()), lower.constant());
  }
  for (const ir::Affine& upper : own.upper)
    if (upper.is_constant()) end = std::min(end.value_or(upper.constant()), upper.constant());
  if (!begin) return std::nullopt;
  return Range{*begin, end};
}

// Elements of a cache line, where iteration n of the loop writes the n-th element of a row that
// begins with one; 1: elsewhere.
std::int64_t line_of(const ir::Program& program, const ir::Statement& s, const std::string& loop) {
  const ir::Access& write = s.writes.front();
  if (write.indices.empty() || write.indices.back().indirect) return 1;
  const ir::Buffer& buffer = program.buffer(write.buffer);
  const std::int64_t line = kLineBytes / size_in_bytes(buffer.dtype);
  const ir::Affine& row = buffer.shape.back();
  const bool begins_lines =
      buffer.shape.size() == 1 || (row.is_constant() && row.constant() % line == 0);
  const ir::Affine beside = write.indices.back().affine - ir::Affine::symbol(loop);
  return begins_lines && beside.is_constant() && beside.constant() % line == 0 ? line : 1;
}

// Where tiles of the loop in these statements count from: the least first value, none where one of
// them is not a number; of long rows in vectors the line that it lies in.
std::optional<std::int64_t> begin_of(const ir::Program& program, const std::string& loop,
                                     const std::vector<Split*>& splits, bool is_in_lanes) {
  std::optional<std::int64_t> least;
  std::int64_t line = 0;
  for (const ir::Statement& s : program.statements) {
    const auto means = [&](const Split* split) {
      return split->loop.statement.empty() || split->loop.statement == s.name;
    };
    if (std::ranges::find(s.iterators, loop) == s.iterators.end() ||
        std::ranges::none_of(splits, means))
      continue;
    const std::optional<Range> range = range_of(s, loop);
    if (!range) return std::nullopt;
    least = std::min(least.value_or(range->begin), range->begin);
    std::int64_t own = is_in_lanes ? line_of(program, s, loop) : 1;
    if (!range->end || *range->end - range->begin < own * kLongRow) own = 1;
    line = std::gcd(line, own);
  }
  return least ? *least - ((*least % line) + line) % line : least;
}

}  // namespace

void count_from_begins(const ir::Program& program, std::span<Directive> nest) {
  if (std::ranges::any_of(nest, renumbers)) return;
  Lines lines;
  collect(nest, lines);
  for (const auto& [loop, splits] : lines.splits) {
    const bool is_in_lanes = lines.vectors.contains(within_tile(loop));
    if (const auto begin = begin_of(program, loop, splits, is_in_lanes); begin && *begin != 0)
      for (Split* split : splits) split->from.text = std::to_string(*begin);
  }
}

}  // namespace polyte::schedule
