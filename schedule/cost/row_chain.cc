#include "schedule/cost/row_chain.h"

#include <algorithm>
#include <map>

#include "ir/contraction.h"
#include "ir/relations.h"
#include "schedule/cost/lanes.h"
#include "schedule/cost/streaming.h"
#include "schedule/state/digits.h"
#include "support/checked.h"
#include "support/is_among.h"

namespace polyte::schedule {
namespace {

constexpr int kPointwiseVectors = 4, kMostVectors = 8;
constexpr double kSquareCycles = 30;  // of a square of lanes
constexpr double kCombineCycles = 3;  // one step of a chain
// A vector of a row: transposed in registers, or as it lies.
constexpr double kTurnedStep = 3, kLaneStep = 1;
// Where a single row's lanes are taken out of their vector one by one.
constexpr double kAloneShare = 1.5;
constexpr double kRowL2Rate = 24, kRowL3Rate = 8;
constexpr std::int64_t kMostRows = 16;
// Vectors of a row that runs with others: whole lines of memory.
constexpr int kFewestTogether = 2;
constexpr std::int64_t kSpareRegisters = 4;  // beside the chains of rows together
constexpr std::int64_t kRowStreams = 4;      // that memory hands over at once faster than fewer
constexpr std::int64_t kNearRows = 4;        // the same of rows that a cache holds
constexpr std::int64_t kRowPage = 4096;      // bytes
constexpr double kRowLoads = 2;              // a cycle
constexpr double kPassCycles = 20;           // of entering and leaving the loop along a row

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
    choose_block();
    choose_vectors();
    if (!pays()) return std::nullopt;
    return chain_;
  }

 private:
  const RowQuestion& q_;
  const ir::Program& program_;
  const Machine& machine_;
  RowChain chain_;
  std::map<std::string, std::map<std::string, std::int64_t>> extents_;  // by statement, by iterator
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

  // Vectors of neighbours, or of one value for all lanes.
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

  // Each row reads elements that no other row does: with operands to share, tiles of registers
  // do better.
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
    return is_among(lane, s.reductions) && extent(s, lane) >= 2 * lanes() &&
           reads_neighbours(s, lane) && reads_own_row(s, lane) &&
           can_carry_lanes(program_, s, lane) && !ir::reads(s, s.writes[0].buffer) &&
           is_only_update(s);
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

  // Of what the pass computes it may read definitions, each at its own point; no sum is there
  // before the end.
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

  // ---- sizes

  std::int64_t vectors_of_row(const RowPass& pass) const {
    return extent(*pass.body.front(), pass.own.back()) / lanes();
  }

  // Of a pass with sums: as many chains, of all of them and of `rows` together, as hide
  // an addition's latency.
  int vectors_of_sums(const RowPass& pass, std::int64_t rows) const {
    const int chains = std::min(kMostVectors, machine_.fma_latency * machine_.fma_per_cycle);
    return static_cast<int>(ceil_div(chains, rows * static_cast<std::int64_t>(pass.sums.size())));
  }

  // Rows that run side by side: as many as have registers for all chains and for what is read
  // beside, few where caches hold them, and of those that read nothing together as are few enough
  // streams. Of short rows, where more than sums is computed, and of long ones that are several
  // streams each from beyond the second cache, one.
  std::int64_t rows_together(const RowPass& pass, std::int64_t block) const {
    if (block == 1 || pass.sums.empty() || pass.sums.size() != pass.body.size() ||
        has_functions(pass.body))
      return 1;
    if (vectors_of_row(pass) < kFewestTogether) return 1;
    const std::int64_t streams = streams_of_row(pass);
    const auto chains = [&](std::int64_t rows) {
      return rows * std::max(kFewestTogether, vectors_of_sums(pass, rows)) * std::ssize(pass.sums);
    };
    std::int64_t rows = block;
    while (rows > 1 && chains(rows) + kSpareRegisters > machine_.vector_registers) rows /= 2;
    const double bytes = bytes_of_interface(program_);
    if (reads_together(pass)) {
      if (bytes > static_cast<double>(machine_.l2.bytes) && own_streams(pass) > 1) return 1;
      return bytes > static_cast<double>(machine_.l3.bytes) ? rows : std::min(rows, kNearRows);
    }
    return std::min(rows, std::max<std::int64_t>(1, streams == 0 ? 1 : kRowStreams / streams));
  }

  // Vectors of the row's steps that come from memory, each page by page; 0: from a cache, or from
  // the next row's page.
  std::int64_t streams_of_row(const RowPass& pass) const {
    return bytes_of_interface(program_) > static_cast<double>(machine_.l3.bytes) ? own_streams(pass)
                                                                                 : 0;
  }

  // Vectors of the row's steps that are read page by page, by this row alone.
  std::int64_t own_streams(const RowPass& pass) const {
    std::set<std::string> streams;
    for (const ir::Statement* s : pass.sums)
      for (const ir::Load* load : ir::reads_of(*s))
        if (ir::stride_of(program_, *load, pass.own.back()) == 1 && !is_of_all_rows(pass, *load))
          streams.insert(load->buffer);
    const std::int64_t bytes =
        extent(*pass.body.front(), pass.own.back()) * size_in_bytes(chain_.type);
    return bytes >= kRowPage ? std::ssize(streams) : 0;
  }

  bool reads_together(const RowPass& pass) const {
    return std::ranges::any_of(pass.sums, [&](const ir::Statement* s) {
      return std::ranges::any_of(ir::reads_of(*s),
                                 [&](const ir::Load* load) { return is_of_all_rows(pass, *load); });
    });
  }
  bool is_of_all_rows(const RowPass& pass, const ir::Load& load) const {
    return ir::stride_of(program_, load, pass.own.back()).value_or(0) != 0 &&
           ir::stride_of(program_, load, chain_.rows.back()) == 0;
  }

  void choose_vectors() {
    for (RowPass& pass : chain_.passes) {
      if (pass.own.empty()) continue;
      pass.together = rows_together(pass, chain_.block);
      int wanted = pass.sums.empty() ? kPointwiseVectors : vectors_of_sums(pass, pass.together);
      if (pass.together > 1) wanted = std::max(kFewestTogether, wanted);
      pass.vectors = 1;
      while (pass.vectors < wanted && 2 * pass.vectors <= vectors_of_row(pass)) pass.vectors *= 2;
      pass.is_whole = pass.sums.empty() &&
                      extent(*pass.body.front(), pass.own.back()) <= kPointwiseVectors * lanes();
    }
  }

  // Bytes of a row that a later pass reads again, and how many of them wait at a time.
  struct RowBytes {
    double again = 0, waiting = 0;
  };
  RowBytes row_bytes() const {
    RowBytes bytes;
    std::set<std::string> seen;
    for (const RowPass& pass : chain_.passes) {
      std::map<std::string, double> here;
      for (const ir::Statement* s : pass.body) {
        const auto add = [&](const std::string& buffer, std::optional<std::int64_t> stride) {
          if (stride.value_or(0) == 0) return;
          double elements = 1;
          for (const std::string& loop : pass.own)
            elements *= static_cast<double>(extent(*s, loop));
          here[buffer] = elements * size_in_bytes(program_.buffer(buffer).dtype);
        };
        for (const ir::Load* load : ir::reads_of(*s))
          add(load->buffer, ir::stride_of(program_, *load, pass.own.back()));
        add(s->writes[0].buffer, ir::stride_of(program_, s->writes[0], pass.own.back()));
      }
      for (const auto& [buffer, size] : here)
        if (!seen.insert(buffer).second) bytes.again += size;
    }
    bytes.waiting =
        bytes.again / static_cast<double>(std::max<std::size_t>(2, chain_.passes.size()) - 1);
    return bytes;
  }

  std::size_t sums() const {
    std::size_t count = 0;
    for (const RowPass& pass : chain_.passes) count += pass.sums.size();
    return count;
  }

  static bool has_functions(const Statements& statements) {
    bool found = false;
    for (const ir::Statement* s : statements)
      for (const ir::Expr& value : s->values)
        ir::for_each_node(value, [&](const ir::ExprNode& node) {
          const auto* function = std::get_if<ir::Unary>(&node.op);
          found = found || (function && function->op >= ir::UnaryOp::Exp &&
                            function->op <= ir::UnaryOp::Cos);
        });
    return found;
  }

  // Of the loads of a row where a pass sums up, and of entering and leaving its loop.
  double summing_cycles(const RowPass& pass, std::int64_t rows) const {
    if (pass.sums.empty() || pass.own.empty()) return 0;
    const double together = static_cast<double>(rows_together(pass, rows));
    double loads = 0;
    std::set<std::string> seen;
    for (const ir::Statement* s : pass.sums)
      for (const ir::Load* load : ir::reads_of(*s)) {
        if (ir::stride_of(program_, *load, pass.own.back()).value_or(0) == 0 ||
            !seen.insert(load->buffer).second)
          continue;
        loads += is_of_all_rows(pass, *load) ? 1 / together : 1;
      }
    double vectors = static_cast<double>(vectors_of_row(pass));
    for (const std::string& loop : pass.own)
      if (loop != pass.own.back()) vectors *= static_cast<double>(extent(*pass.body.front(), loop));
    return vectors * loads / kRowLoads + kPassCycles / together;
  }

  // A row's share of combining the lanes.
  double combining_cycles(std::int64_t rows) const {
    const double steps = static_cast<double>(lanes()) * kCombineCycles;
    const double each =
        rows == 1 ? steps * kAloneShare : (steps + kSquareCycles) / static_cast<double>(rows);
    return static_cast<double>(sums()) * each;
  }

  // The same with what it takes to sum up and what is read again: the more rows wait, the more
  // comes from further off. What comes from the second cache hides behind a function that takes
  // many steps.
  double block_cycles(std::int64_t rows, const RowBytes& bytes) const {
    const auto beyond = [&](const Cache& cache) {
      const double waiting = static_cast<double>(rows) * bytes.waiting;
      return std::min(1.0, waiting / static_cast<double>(std::max<std::int64_t>(1, cache.bytes)));
    };
    double cycles = combining_cycles(rows);
    for (const RowPass& pass : chain_.passes) cycles += summing_cycles(pass, rows);
    const double from_l2 = has_functions(q_.statements) ? 0 : beyond(machine_.l1) / kRowL2Rate;
    return cycles + bytes.again * (from_l2 + beyond(machine_.l2) / kRowL3Rate);
  }

  void choose_block() {
    if (chain_.rows.empty()) return;
    const RowBytes bytes = row_bytes();
    const std::int64_t most =
        std::min({kMostRows, lanes(), extent(*first_sum_, chain_.rows.back())});
    double least = -1;
    for (std::int64_t rows = 1; rows <= most; rows *= 2) {
      if (!q_.blocks.empty() && !q_.blocks.contains(rows)) continue;
      const double cycles = block_cycles(rows, bytes);
      if (least >= 0 && cycles > least) continue;
      least = cycles;
      chain_.block = rows;
    }
  }

  // With rows enough for a vector, rows as lanes keep the order of the sums and need no combining.
  bool pays() const {
    const double rows =
        chain_.rows.empty() ? 1 : static_cast<double>(extent(*first_sum_, chain_.rows.back()));
    if (rows < static_cast<double>(lanes())) return true;
    double gained = 0;
    for (const RowPass& pass : chain_.passes) {
      double vectors = static_cast<double>(pass.sums.size());
      for (const std::string& loop : pass.own)
        vectors *= static_cast<double>(extent(*pass.body.front(), loop));
      gained += vectors / static_cast<double>(lanes()) * (kTurnedStep - kLaneStep);
    }
    return gained > combining_cycles(chain_.block);
  }
};

}  // namespace

const ir::Statement* initial_value(const Statements& statements, const ir::Statement& update) {
  const auto at = std::ranges::find(statements, &update);
  if (at == statements.begin() || at == statements.end()) return nullptr;
  const ir::Statement* before = *std::prev(at);
  return ir::starts_reduction(*before, update) ? before : nullptr;
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
