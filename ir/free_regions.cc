#include "ir/free_regions.h"

#include <algorithm>
#include <functional>
#include <span>

#include "ir/relations.h"
#include "support/is_among.h"

namespace polyte::ir {
namespace {

// c * iterator + constant: another element in each iteration.
bool moves_with(const Index& index, const std::string& iterator) {
  if (index.indirect || index.affine.coefficient(iterator) == 0) return false;
  const Affine rest = index.affine - Affine::symbol(iterator) * index.affine.coefficient(iterator);
  return rest.is_constant();
}

// No two iterations meet in it: there is a subscript that moves with the iterator, and it is the
// same in both. Equal subscripts c * t + d and c * t' + d with c != 0 force t = t'.
bool are_apart(const std::vector<Index>& a, const std::vector<Index>& b,
               const std::string& iterator) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (moves_with(a[i], iterator) && !b[i].indirect && a[i].affine == b[i].affine) return true;
  return false;
}

class Dissolver {
 public:
  explicit Dissolver(const Program& program) : result_{program, {}} {}

  std::optional<FreeRegions> run() {
    std::vector<Item> order;
    bool has_region = false;
    for (const Item& item : result_.program.order) {
      has_region = has_region || std::holds_alternative<Region>(item);
      const auto statements = dissolved(item);
      if (!statements) return std::nullopt;
      order.insert(order.end(), statements->begin(), statements->end());
    }
    if (!has_region) return std::nullopt;
    result_.program.order = std::move(order);
    for (Statement& s : result_.program.statements) {
      // An iterator of a region that no write uses is now one that the statement sums over.
      const auto is_of_sum = [&](const std::string& iterator) {
        return !is_written_by(s, iterator) && !is_among(iterator, s.reductions);
      };
      std::vector<std::string> outer(s.iterators.begin(), s.iterators.begin() + s.region_depth);
      std::erase_if(outer, std::not_fn(is_of_sum));
      // In their order: terms come in it.
      s.reductions.insert(s.reductions.begin(), outer.begin(), outer.end());
      s.region_depth = 0;
    }
    return std::move(result_);
  }

 private:
  FreeRegions result_;

  // The statements of an item, if its regions order nothing; nullopt if one of them may. Inner
  // regions are dissolved before the one around them, so `shared` lists the innermost loops
  // first.
  std::optional<std::vector<std::size_t>> dissolved(const Item& item) {
    const Region* region = std::get_if<Region>(&item);
    if (!region) return std::vector<std::size_t>{std::get<std::size_t>(item)};
    std::vector<std::size_t> statements;
    for (const Item& inner : region->body) {
      const auto below = dissolved(inner);
      if (!below) return std::nullopt;
      statements.insert(statements.end(), below->begin(), below->end());
    }
    if (!is_free(*region, statements)) return std::nullopt;
    if (statements.size() > 1)
      result_.shared.push_back({at(statements.front()).name, region->iterator});
    return statements;
  }

  const Statement& at(std::size_t statement) const { return result_.program.statements[statement]; }

  // Every pair is tested in both orders, since stays_apart() looks only at what its first
  // statement writes. A statement may meet itself if its iterations are the terms of one sum.
  bool is_free(const Region& region, const std::vector<std::size_t>& statements) const {
    return std::ranges::all_of(statements, [&](std::size_t a) {
      const bool is_sum = is_term(at(a), region);
      return std::ranges::all_of(statements, [&](std::size_t b) {
        return (a == b && is_sum) || stays_apart(at(a), at(b), region.iterator);
      });
    });
  }

  // Iterations are terms, in their order, of a sum that reads nothing of itself.
  static bool is_term(const Statement& s, const Region& region) {
    return s.combiner != Combiner::None && region.step == 1 && reads_no_result(s) &&
           !is_written_by(s, region.iterator);
  }

  static bool reads_no_result(const Statement& s) {
    return std::ranges::none_of(reads_of(s), [&](const Load* read) {
      return std::ranges::any_of(s.writes,
                                 [&](const Access& write) { return write.buffer == read->buffer; });
    });
  }

  static bool is_written_by(const Statement& s, const std::string& iterator) {
    return std::ranges::any_of(s.writes, [&](const Access& write) {
      return std::ranges::any_of(write.indices, [&](const Index& index) {
        return index.indirect || index.affine.uses(iterator);
      });
    });
  }

  // What a writes, no other iteration of b reads or writes.
  static bool stays_apart(const Statement& a, const Statement& b, const std::string& iterator) {
    return std::ranges::all_of(a.writes, [&](const Access& write) {
      const auto meets = [&](const std::string& buffer, const std::vector<Index>& indices) {
        return buffer == write.buffer && !are_apart(write.indices, indices, iterator);
      };
      const auto of_write = [&](const Access& other) { return meets(other.buffer, other.indices); };
      const auto of_read = [&](const Load* other) { return meets(other->buffer, other->indices); };
      return std::ranges::none_of(b.writes, of_write) && std::ranges::none_of(reads_of(b), of_read);
    });
  }
};

}  // namespace

std::optional<FreeRegions> without_regions(const Program& program) {
  return Dissolver(program).run();
}

}  // namespace polyte::ir
