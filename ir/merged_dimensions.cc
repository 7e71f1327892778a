#include "ir/merged_dimensions.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "ir/domain.h"
#include "ir/relations.h"
#include "support/is_among.h"

namespace polyte::ir {
namespace {

// None of which is 0.
bool has_constant_shape(const Buffer& buffer) {
  return std::ranges::all_of(buffer.shape, [](const Affine& extent) {
    return extent.is_constant() && extent.constant() > 0;
  });
}

class Merger {
 public:
  explicit Merger(const Program& program) : program_(program) {}

  std::optional<MergedDimensions> run() {
    if (!program_.params.empty() || !reduces_tensors()) return std::nullopt;
    for (const Buffer& buffer : program_.buffers) {
      if (!has_constant_shape(buffer)) return std::nullopt;
      if (!buffer.shape.empty()) joined_[buffer.name].assign(buffer.shape.size() - 1, true);
    }
    for (const Statement& s : program_.statements) add_pairs(s);
    while (drop_dimensions() || drop_pairs()) {
    }
    if (!is_worth_it()) return std::nullopt;
    return merged();
  }

 private:
  using Pair = std::pair<std::string, std::string>;  // neighbours among a statement's iterators

  const Program& program_;
  std::map<std::string, std::vector<bool>> joined_;  // by buffer: a dimension with the next one
  std::map<std::string, std::set<Pair>> pairs_;      // by statement

  // Some statement reduces.
  bool reduces_tensors() const {
    bool reduces = false;
    for (const Statement& s : program_.statements) {
      if (s.region_depth > 0 || s.writes.size() > 1 || s.guard) return false;
      reduces = reduces || s.combiner != Combiner::None;
    }
    return reduces;
  }

  // From 0 to below this, and nothing else is known of it.
  static std::optional<std::int64_t> extent_of(const Statement& s, const std::string& iterator) {
    const Affine it = Affine::symbol(iterator);
    bool begins = false;
    std::optional<std::int64_t> end;
    for (const Constraint& c : s.domain) {
      if (!c.expr.uses(iterator)) continue;
      // `it >= 0`, or `number - it >= 0`: the iterator is at most that number.
      if (c == at_least(it, 0))
        begins = true;
      else if ((c.expr + it).is_constant() && !end && c == at_least(-it, -(c.expr + it).constant()))
        end = (c.expr + it).constant() + 1;
      else
        return std::nullopt;
    }
    return begins ? end : std::nullopt;
  }

  // The one that an expression is, beside iterators that are never but 0.
  static std::optional<std::string> only_iterator(const Statement& s, Affine e) {
    if (e.as_symbol()) return e.as_symbol();
    for (const std::string& it : s.iterators)
      if (e.uses(it) && extent_of(s, it) == 1) e = e - Affine::symbol(it) * e.coefficient(it);
    return e.as_symbol();
  }

  void add_pairs(const Statement& s) {
    for (std::size_t i = 0; i + 1 < s.iterators.size(); ++i) {
      const std::string &a = s.iterators[i], &b = s.iterators[i + 1];
      // Both are summed over, or neither is.
      const bool is_one_kind = is_among(a, s.reductions) == is_among(b, s.reductions);
      if (is_one_kind && extent_of(s, a) && extent_of(s, b)) pairs_[s.name].insert({a, b});
    }
  }

  // The pair that two subscripts are, one of the statement's and as long as the dimension.
  std::optional<Pair> pair_at(const Statement& s, const std::string& buffer,
                              const std::vector<Index>& indices, std::size_t d) const {
    const Index &a = indices[d], &b = indices[d + 1];
    const auto first = only_iterator(s, a.affine), second = only_iterator(s, b.affine);
    if (a.indirect || b.indirect || !first || !second) return std::nullopt;
    const auto known = pairs_.find(s.name);
    if (known == pairs_.end() || !known->second.contains({*first, *second})) return std::nullopt;
    const bool is_whole = extent_of(s, *second) == program_.buffer(buffer).shape[d + 1].constant();
    return is_whole ? std::optional(Pair{*first, *second}) : std::nullopt;
  }

  template <class Visit>
  static void for_each_access(const Statement& s, const Visit& visit) {
    for (const Access& write : s.writes) visit(write.buffer, write.indices, true);
    for (const Load* load : reads_of(s))
      visit(load->buffer, load->indices, load->guard.empty() && !load->otherwise);
  }

  // Dimensions that some access has otherwise. With `drop_pairs` a greatest fixed point: everything
  // is joined at first, and each removal may take the reason of another away, so both run until
  // nothing changes.
  bool drop_dimensions() {
    bool changed = false;
    for (const Statement& s : program_.statements)
      for_each_access(
          s, [&](const std::string& buffer, const std::vector<Index>& indices, bool is_plain) {
            std::vector<bool>& joined = joined_[buffer];
            for (std::size_t d = 0; d < joined.size(); ++d)
              if (joined[d] && (!is_plain || !pair_at(s, buffer, indices, d)))
                joined[d] = false, changed = true;
          });
    return changed;
  }

  // Iterators that are somewhere else than in dimensions that merge.
  bool drop_pairs() {
    bool changed = false;
    for (const Statement& s : program_.statements)
      changed = std::erase_if(pairs_[s.name],
                              [&](const Pair& pair) { return !stays_together(s, pair); }) > 0 ||
                changed;
    return changed;
  }

  bool stays_together(const Statement& s, const Pair& pair) const {
    bool is_together = true;
    for (const Expr& value : s.values)
      for_each_node(value, [&](const ExprNode& node) {
        if (const auto* index = std::get_if<IndexValue>(&node.op))
          is_together =
              is_together && !index->value.uses(pair.first) && !index->value.uses(pair.second);
      });
    for (const Load* load : reads_of(s))
      for (const Constraint& c : load->guard)
        is_together = is_together && !c.expr.uses(pair.first) && !c.expr.uses(pair.second);
    for_each_access(s, [&](const std::string& buffer, const std::vector<Index>& indices, bool) {
      for (std::size_t d = 0; d < indices.size(); ++d) {
        const Affine& at = indices[d].affine;
        if (at.uses(pair.first))
          is_together = is_together && d + 1 < indices.size() && joined_.at(buffer)[d] &&
                        pair_at(s, buffer, indices, d) == pair;
        if (at.uses(pair.second))
          is_together = is_together && d > 0 && joined_.at(buffer)[d - 1] &&
                        pair_at(s, buffer, indices, d - 1) == pair;
      }
    });
    return is_together;
  }

  // The rows of what the caller gives become longer, or sums along several dimensions are along
  // one.
  bool is_worth_it() const {
    const auto has_longer_rows = [&](const Buffer& buffer) {
      const auto joined = joined_.find(buffer.name);
      return buffer.role == Role::In && joined != joined_.end() && !joined->second.empty() &&
             joined->second.back();
    };
    const auto has_longer_sums = [&](const Statement& s) {
      return std::ranges::any_of(
          pairs_.at(s.name), [&](const Pair& pair) { return is_among(pair.first, s.reductions); });
    };
    return std::ranges::any_of(program_.buffers, has_longer_rows) ||
           std::ranges::any_of(program_.statements, has_longer_sums);
  }

  std::optional<MergedDimensions> merged() const {
    MergedDimensions result{{}, {}, program_};
    for (const auto& [buffer, joined] : joined_) {
      if (std::ranges::count(joined, true) == 0) continue;
      View view{buffer, {}};
      const Extents stored = constant_shape(program_.buffer(buffer));
      for (std::size_t d = 0; d < stored.size(); ++d)
        if (d > 0 && joined[d - 1])
          view.shape.back() *= stored[d];
        else
          view.shape.push_back(stored[d]);
      Result<Program> seen = with_view(result.program, view);
      // Beside dimensions of extent 1 the shape alone does not say which of them merge: [3, 1, 1,
      // 4] as [3, 4] may be 3*1 and 1*4, or 3*1*1 and 4, which is where the elements are not.
      if (!seen) return std::nullopt;
      result.program = *std::move(seen);
      result.views.push_back(std::move(view));
    }
    for (Statement& s : result.program.statements)
      while (fuse_first(s, result.fused)) {
      }
    return result;
  }

  // The first run of pairs that is left.
  bool fuse_first(Statement& s, std::vector<MergedDimensions::Fused>& fused) const {
    const std::set<Pair>& pairs = pairs_.at(s.name);
    const auto are_pair = [&](const std::string& a, const std::string& b) {
      return pairs.contains({a, b});
    };
    const auto first = std::ranges::adjacent_find(s.iterators, are_pair);
    if (first == s.iterators.end()) return false;
    // (a, b) and (b, c) are pairs: a, b and c become one iterator.
    auto end = std::next(first);
    while (end != s.iterators.end() && are_pair(*std::prev(end), *end)) ++end;
    MergedDimensions::Fused run{s.name, {first, end}, ""};
    for (const std::string& it : run.iterators) run.name += it;
    while (is_among(run.name, s.iterators) || program_.find_buffer(run.name)) run.name += '_';
    replace(s, run);
    fused.push_back(std::move(run));
    return true;
  }

  // a, b, c of extents A, B, C become abc of extent A*B*C. A view has already put B*C*a + C*b + c
  // where the dimensions merge, so that the coefficient of the last iterator is the one that the
  // new iterator takes; the domain of the old ones, a box, is that of the new one.
  static void replace(Statement& s, const MergedDimensions::Fused& run) {
    std::int64_t extent = 1;
    for (const std::string& it : run.iterators) extent *= *extent_of(s, it);
    const Affine whole = Affine::symbol(run.name);
    const auto without = [&](const Affine& e) {
      const std::int64_t factor = e.coefficient(run.iterators.back());
      Affine rest = e;
      for (const std::string& it : run.iterators)
        rest = rest - Affine::symbol(it) * e.coefficient(it);
      return rest + whole * factor;
    };
    const auto change = [&](std::vector<Index>& indices) {
      for (Index& index : indices) index.affine = without(index.affine);
    };
    for (Access& write : s.writes) change(write.indices);
    for (Expr& value : s.values)
      value = rewrite(value, [&](const Expr& e) {
        if (!std::holds_alternative<Load>(e->op)) return e;
        ExprNode copy = *e;
        change(std::get<Load>(copy.op).indices);
        return Expr(std::make_shared<const ExprNode>(std::move(copy)));
      });
    std::erase_if(s.domain, [&](const Constraint& c) {
      return std::ranges::any_of(run.iterators,
                                 [&](const std::string& it) { return c.expr.uses(it); });
    });
    s.domain.push_back(at_least(whole, 0));
    s.domain.push_back(less_than(whole, extent));
    for (std::vector<std::string>* list : {&s.iterators, &s.reductions}) {
      const auto at = std::ranges::find(*list, run.iterators.front());
      if (at != list->end()) *at = run.name;
      std::erase_if(*list, [&](const std::string& it) { return is_among(it, run.iterators); });
    }
  }
};

}  // namespace

std::optional<MergedDimensions> merged_dimensions(const Program& program) {
  return Merger(program).run();
}

}  // namespace polyte::ir
