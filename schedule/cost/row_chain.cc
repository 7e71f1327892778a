#include "schedule/cost/row_chain.h"

#include <algorithm>
#include <map>

#include "ir/contraction.h"
#include "ir/relations.h"
#include "schedule/cost/lanes.h"
#include "schedule/cost/row_sizes.h"
#include "schedule/state/digits.h"
#include "support/checked.h"
#include "support/is_among.h"

namespace polyte::schedule {
namespace {

constexpr std::int64_t kShortRow = 512;  // bytes: over before it is read ahead

bool is_update(const ir::Statement& s) { return s.combiner != ir::Combiner::None; }

class RowPlanner {
 public:
  explicit RowPlanner(const RowQuestion& question)
      : q_(question), program_(*question.program), machine_(*question.machine) {}

  std::optional<RowChain> run() {
    if (!find_rows() || !all_fit()) return std::nullopt;
    for (std::size_t i = 0; i < q_.statements.size(); ++i) {
      const ir::Statement& s = *q_.statements[i];
      if (i + 1 < q_.statements.size() && ir::starts_reduction(s, *q_.statements[i + 1])) continue;
      if (is_update(s)) {
        if (!sums_in_lanes(s)) return std::nullopt;
      } else if (!own_of(s).empty() && !runs_in_lanes(s)) {
        return std::nullopt;
      }
      place(s);
    }
    if (!keep_short_rows()) return std::nullopt;
    choose_row_sizes(q_, *first_sum_, extents_, chain_);
    if (!rows_pay(q_, *first_sum_, extents_, chain_)) return std::nullopt;
    return chain_;
  }

 private:
  const RowQuestion& q_;
  const ir::Program& program_;
  const Machine& machine_;
  RowChain chain_;
  RowExtents extents_;
  const ir::Statement* first_sum_ = nullptr;

  std::int64_t extent(const ir::Statement& s, const std::string& loop) const {
    return extents_.at(s.name).at(loop);
  }
  std::int64_t lanes() const { return machine_.lanes(chain_.type); }

  // The free iterators of the first sum; the block's is the innermost that has iterations to share.
  bool find_rows() {
    const auto found =
        std::ranges::find_if(q_.statements, [](const ir::Statement* s) { return is_update(*s); });
    if (found == q_.statements.end()) return false;
    first_sum_ = *found;
    for (const ir::Statement* s : q_.statements)
      if (!measure(*s)) return false;
    for (const std::string& it : first_sum_->iterators)
      if (!is_among(it, first_sum_->reductions)) chain_.rows.push_back(it);
    chain_.type = program_.buffer(first_sum_->writes[0].buffer).dtype;
    const auto longest =
        std::ranges::find_if(chain_.rows.rbegin(), chain_.rows.rend(),
                             [&](const std::string& row) { return extent(*first_sum_, row) > 1; });
    if (longest != chain_.rows.rend())
      std::rotate(longest.base() - 1, longest.base(), chain_.rows.end());
    return true;
  }

  // Boxes of constant size only.
  bool measure(const ir::Statement& s) {
    const ir::Ranges ranges = iterator_ranges(*q_.reference, q_.reference->at(s.name));
    for (const std::string& it : s.iterators) {
      const auto range = ranges.find(it);
      if (range == ranges.end() || !range->second.min || !range->second.max) return false;
      const std::int64_t size = *range->second.max - *range->second.min + 1;
      if (size < 1) return false;
      extents_[s.name][it] = size;
    }
    return std::ranges::all_of(s.domain, [&](const ir::Constraint& c) {
      return std::ranges::count_if(s.iterators,
                                   [&](const std::string& it) { return c.expr.uses(it); }) <= 1;
    });
  }

  std::vector<std::string> own_of(const ir::Statement& s) const {
    std::vector<std::string> own;
    for (const std::string& it : s.iterators)
      if (!is_among(it, chain_.rows)) own.push_back(it);
    return own;
  }

  // Every statement has the rows, as long as the first sum's, and touches nothing of another
  // row's results.
  bool all_fit() const {
    std::map<std::string, std::vector<std::size_t>> dimensions;  // of each row, by buffer
    return std::ranges::all_of(q_.statements, [&](const ir::Statement* s) {
      if (s->region_depth > 0 || s->guard || s->writes.size() != 1) return false;
      const auto fits = [&](const std::string& row) {
        return is_among(row, s->iterators) && extent(*s, row) == extent(*first_sum_, row);
      };
      return std::ranges::all_of(chain_.rows, fits) && stays_in_rows(*s, dimensions);
    });
  }

  // Whether each row has a dimension of its own in what the statement writes, the same for all
  // writers of the buffer (`dimensions`), and whether reads of what the chain writes are of the
  // same row.
  bool stays_in_rows(const ir::Statement& s,
                     std::map<std::string, std::vector<std::size_t>>& dimensions) const {
    const ir::Access& write = s.writes[0];
    std::vector<std::size_t> own;
    for (const std::string& row : chain_.rows) {
      const auto at = std::ranges::find_if(write.indices, [&](const ir::Index& index) {
        return !index.indirect && index.affine.as_symbol() == row;
      });
      if (at == write.indices.end()) return false;
      own.push_back(static_cast<std::size_t>(at - write.indices.begin()));
    }
    const auto [known, fresh] = dimensions.try_emplace(write.buffer, own);
    if (!fresh && known->second != own) return false;
    return std::ranges::all_of(ir::reads_of(s), [&](const ir::Load* load) {
      const auto of = dimensions.find(load->buffer);
      if (of == dimensions.end()) return !is_written(load->buffer);
      for (std::size_t r = 0; r < chain_.rows.size(); ++r) {
        const ir::Index& index = load->indices[of->second[r]];
        if (index.indirect || index.affine.as_symbol() != chain_.rows[r]) return false;
      }
      return true;
    });
  }

  bool is_written(const std::string& buffer) const {
    return std::ranges::any_of(
        q_.statements, [&](const ir::Statement* s) { return s->writes[0].buffer == buffer; });
  }

  // Whether each read is a vector of neighbours, or one value for all lanes.
  bool reads_neighbours(const ir::Statement& s, const std::string& lane) const {
    return std::ranges::all_of(ir::reads_of(s), [&](const ir::Load* load) {
      const auto stride = ir::stride_of(program_, *load, lane);
      return stride && (*stride == 0 || *stride == 1) && !load->otherwise;
    });
  }

  bool is_of_rows(const ir::Statement& s) const {
    return std::ranges::all_of(s.writes[0].indices, [&](const ir::Index& index) {
      const auto symbol = index.affine.as_symbol();
      return !index.indirect && symbol && is_among(*symbol, chain_.rows);
    });
  }

  // Whether some operand is read along the lanes by one row alone. Where rows share all operands,
  // register tiles do better.
  bool reads_own_row(const ir::Statement& s, const std::string& lane) const {
    return std::ranges::any_of(ir::reads_of(s), [&](const ir::Load* load) {
      const auto moves = [&](const std::string& row) {
        return extent(s, row) == 1 || ir::stride_of(program_, *load, row).value_or(0) != 0;
      };
      return ir::stride_of(program_, *load, lane) == 1 && std::ranges::all_of(chain_.rows, moves);
    });
  }

  bool is_only_update(const ir::Statement& s) const {
    return std::ranges::none_of(program_.statements, [&](const ir::Statement& other) {
      return other.combiner != ir::Combiner::None && other.name != s.name &&
             other.writes[0].buffer == s.writes[0].buffer;
    });
  }

  bool sums_in_lanes(const ir::Statement& s) const {
    using ir::Combiner;
    if (s.combiner == Combiner::ArgMin || s.combiner == Combiner::ArgMax || s.reductions.empty())
      return false;
    if (q_.keep_order && !is_reorderable(s)) return false;
    if (s.iterators.size() != chain_.rows.size() + s.reductions.size() || !is_of_rows(s))
      return false;
    const std::string& lane = s.iterators.back();
    const bool fills_lanes = extent(s, lane) >= 2 * lanes() || is_short_part(s);
    return is_among(lane, s.reductions) && fills_lanes && reads_neighbours(s, lane) &&
           reads_own_row(s, lane) && can_carry_lanes(program_, s, lane) &&
           !ir::reads(s, s.writes[0].buffer) && is_only_update(s);
  }

  // A sum over short rows (at most 512 bytes) and a loop outside of them that moves through the
  // operand in longer steps than the rows do, as the mean of a channel over a batch of small
  // images.
  bool is_short_part(const ir::Statement& s) const {
    const std::string& lane = s.iterators.back();
    const std::int64_t bytes = extent(s, lane) * size_in_bytes(chain_.type);
    if (s.reductions.size() < 2 || chain_.rows.empty() || bytes > kShortRow ||
        extent(s, lane) <= kNearLanes)
      return false;
    return std::ranges::any_of(ir::reads_of(s), [&](const ir::Load* load) {
      const std::int64_t row = ir::stride_of(program_, *load, chain_.rows.back()).value_or(0);
      return row != 0 && std::ranges::all_of(s.reductions, [&](const std::string& loop) {
               return loop == lane || extent(s, loop) == 1 ||
                      ir::stride_of(program_, *load, loop).value_or(0) > row;
             });
    });
  }

  bool runs_in_lanes(const ir::Statement& s) const {
    const std::string lane = own_of(s).back();
    return ir::stride_of(program_, s.writes[0], lane) == 1 && extent(s, lane) >= lanes() &&
           reads_neighbours(s, lane) && can_carry_lanes(program_, s, lane);
  }

  // ---- passes

  bool has_same_loops(const RowPass& pass, const ir::Statement& s) const {
    return own_of(s) == pass.own && std::ranges::all_of(pass.own, [&](const std::string& loop) {
             return extent(s, loop) == extent(*pass.body.front(), loop);
           });
  }

  static bool reads_own_point(const ir::Statement& s, const ir::Statement& definition) {
    return std::ranges::all_of(ir::reads_of(s), [&](const ir::Load* load) {
      const ir::Access& write = definition.writes[0];
      if (load->buffer != write.buffer) return true;
      for (std::size_t d = 0; d < write.indices.size(); ++d)
        if (load->indices[d].indirect || !(load->indices[d].affine == write.indices[d].affine))
          return false;
      return true;
    });
  }

  // Whether the statement can run in the pass's loop: it has the same loops, reads definitions of
  // the pass at its own point only, and none of its sums, which are complete at the end of the loop
  // only.
  bool joins(const RowPass& pass, const ir::Statement& s) const {
    if (pass.body.empty() || !has_same_loops(pass, s)) return false;
    const auto is_apart = [&](const ir::Statement* other) {
      return !ir::reads(s, other->writes[0].buffer) && !ir::reads(*other, s.writes[0].buffer) &&
             other->writes[0].buffer != s.writes[0].buffer;
    };
    const auto goes_with = [&](const ir::Statement* other) {
      return is_apart(other) || (!is_update(*other) && reads_own_point(s, *other) &&
                                 !ir::reads(*other, s.writes[0].buffer) &&
                                 other->writes[0].buffer != s.writes[0].buffer);
    };
    return std::ranges::all_of(pass.after, is_apart) && std::ranges::all_of(pass.body, goes_with);
  }

  void place(const ir::Statement& s) {
    if (own_of(s).empty()) {
      if (chain_.passes.empty()) chain_.passes.emplace_back();
      chain_.passes.back().after.push_back(&s);
      return;
    }
    if (chain_.passes.empty() || !joins(chain_.passes.back(), s)) {
      chain_.passes.emplace_back();
      chain_.passes.back().own = own_of(s);
    }
    chain_.passes.back().body.push_back(&s);
    if (is_update(s)) chain_.passes.back().sums.push_back(&s);
  }

  // Marks the passes that only add up short rows, whose parts stay in registers. False: a pass with
  // other work has sums over rows shorter than two vectors, which it would load and store, masked,
  // in each step.
  bool keep_short_rows() {
    for (RowPass& pass : chain_.passes) {
      if (pass.sums.empty()) continue;
      const auto is_short = [&](const ir::Statement* s) { return is_short_part(*s); };
      pass.keeps_rows =
          pass.body.size() == pass.sums.size() && std::ranges::all_of(pass.sums, is_short);
      if (!pass.keeps_rows && std::ranges::any_of(pass.sums, [&](const ir::Statement* s) {
            return extent(*s, s->iterators.back()) < 2 * lanes();
          }))
        return false;
    }
    return true;
  }
};

}  // namespace

const ir::Statement* initial_value(const Statements& statements, const ir::Statement& update) {
  const auto at = std::ranges::find(statements, &update);
  if (at == statements.begin() || at == statements.end()) return nullptr;
  const ir::Statement* before = *std::prev(at);
  return ir::starts_reduction(*before, update) ? before : nullptr;
}

std::string RowPass::steps() const {
  return hides_sums ? tiles_of(tiles_of(own.back())) : tiles_of(own.back());
}

std::string RowPass::vectors_loop() const {
  return hides_sums ? within_tile(tiles_of(own.back())) : "";
}

std::string RowChain::rows_around(const RowPass& pass) const {
  if (block == 1 || pass.together == block) return "";
  return has_groups(pass) ? tiles_of(within_tile(rows.back())) : within_tile(rows.back());
}

std::string RowChain::rows_together(const RowPass& pass) const {
  if (pass.together == 1) return "";
  return has_groups(pass) ? within_tile(within_tile(rows.back())) : within_tile(rows.back());
}

std::optional<RowChain> plan_rows(const RowQuestion& question) {
  return RowPlanner(question).run();
}

}  // namespace polyte::schedule
