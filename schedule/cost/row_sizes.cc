#include "schedule/cost/row_sizes.h"

#include <algorithm>
#include <set>

#include "ir/contraction.h"
#include "ir/relations.h"
#include "schedule/cost/streaming.h"
#include "support/checked.h"
#include "support/is_among.h"

namespace polyte::schedule {
namespace {

constexpr int kPointwiseVectors = 4, kMostVectors = 8;
constexpr double kSquareCycles = 30;  // of a square of lanes
constexpr double kCombineCycles = 3;  // one step of a chain
// A vector of a row: transposed in registers, or as it lies.
constexpr double kTurnedStep = 3, kLaneStep = 1;
// A factor where the lanes of a single row are taken out of their vector one by one.
constexpr double kAloneShare = 1.5;
constexpr double kRowL2Rate = 24, kRowL3Rate = 8;
constexpr std::int64_t kMostRows = 16;
// That a function of a vector takes meanwhile, as codegen/common/interleave_chains.h has them side
// by side.
constexpr int kFunctionRegisters = 4;
// Vectors of a row that runs with others: whole lines of memory.
constexpr int kFewestTogether = 2;
constexpr std::int64_t kSpareRegisters = 4;  // beside the chains of rows together
constexpr std::int64_t kRowStreams = 4;      // that memory hands over at once faster than fewer
constexpr std::int64_t kNearRows = 4;        // the same of rows that a cache holds
constexpr std::int64_t kRowPage = 4096;      // bytes
constexpr double kRowLoads = 2;              // a cycle
constexpr double kPassCycles = 20;           // of entering and leaving the loop along a row

class RowSizer {
 public:
  RowSizer(const RowQuestion& question, const ir::Statement& first_sum, const RowExtents& extents,
           RowChain chain)
      : q_(question),
        program_(*question.program),
        machine_(*question.machine),
        first_sum_(first_sum),
        extents_(extents),
        chain_(std::move(chain)) {}

  RowChain run() {
    choose_block();
    choose_vectors();
    return std::move(chain_);
  }

  // Whether lanes along rows gain more, in reading vectors as they lie, than combining the lanes
  // costs. With fewer rows than lanes there is no choice.
  bool pay() const {
    const double rows =
        chain_.rows.empty() ? 1 : static_cast<double>(extent(first_sum_, chain_.rows.back()));
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

 private:
  const RowQuestion& q_;
  const ir::Program& program_;
  const Machine& machine_;
  const ir::Statement& first_sum_;
  const RowExtents& extents_;
  RowChain chain_;

  std::int64_t extent(const ir::Statement& s, const std::string& loop) const {
    return extents_.at(s.name).at(loop);
  }
  std::int64_t lanes() const { return machine_.lanes(chain_.type); }

  void choose_block() {
    if (chain_.rows.empty()) return;
    const RowBytes bytes = row_bytes();
    std::int64_t most = std::min({kMostRows, lanes(), extent(first_sum_, chain_.rows.back())});
    for (const RowPass& pass : chain_.passes)
      if (pass.keeps_rows)
        most = std::min(
            most, std::max<std::int64_t>(1, machine_.vector_registers / 2 / std::ssize(pass.sums)));
    double least = -1;
    for (std::int64_t rows = 1; rows <= most; rows *= 2) {
      if (!q_.blocks.empty() && !q_.blocks.contains(rows)) continue;
      const double cycles = block_cycles(rows, bytes);
      if (least >= 0 && cycles > least) continue;
      least = cycles;
      chain_.block = rows;
    }
  }

  void choose_vectors() {
    for (RowPass& pass : chain_.passes) {
      if (pass.own.empty()) continue;
      pass.together = rows_together(pass, chain_.block);
      if (pass.keeps_rows) continue;
      int wanted = pass.sums.empty() ? kPointwiseVectors : vectors_of_sums(pass, pass.together);
      if (has_functions(pass.body))
        wanted = std::min(wanted, machine_.vector_registers / kFunctionRegisters);
      if (pass.together > 1) wanted = std::max(kFewestTogether, wanted);
      pass.vectors = 1;
      while (pass.vectors < wanted && 2 * pass.vectors <= vectors_of_row(pass)) pass.vectors *= 2;
      pass.hides_sums = pass.vectors > 1 && !pass.sums.empty() && has_functions(pass.body);
      pass.is_whole = pass.sums.empty() &&
                      extent(*pass.body.front(), pass.own.back()) <= kPointwiseVectors * lanes();
    }
  }

  std::int64_t vectors_of_row(const RowPass& pass) const {
    const std::int64_t length = extent(*pass.body.front(), pass.own.back());
    return pass.keeps_rows ? ceil_div(length, lanes()) : length / lanes();
  }

  // Vectors side by side in a pass with sums: so many that the chains of all sums and of `rows`
  // rows together hide an addition's latency, chains = latency * additions per cycle.
  int vectors_of_sums(const RowPass& pass, std::int64_t rows) const {
    const int chains = std::min(kMostVectors, machine_.fma_latency * machine_.fma_per_cycle);
    return static_cast<int>(ceil_div(chains, rows * static_cast<std::int64_t>(pass.sums.size())));
  }

  // How many rows of a block run side by side in a pass. Their chains have to fit the registers.
  // Rows that share an operand load it once for all: as many as fit from memory, a few where caches
  // hold the rows, one where each row is several streams from beyond the second cache. Rows that
  // share nothing gain by streams from memory alone, kRowStreams at most. One row where the pass
  // computes more than sums, and where rows are short.
  std::int64_t rows_together(const RowPass& pass, std::int64_t block) const {
    if (pass.keeps_rows) return block;
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

  // Streams of a row from memory; 0: the operands are in a cache, or the row is shorter than a
  // page.
  std::int64_t streams_of_row(const RowPass& pass) const {
    return bytes_of_interface(program_) > static_cast<double>(machine_.l3.bytes) ? own_streams(pass)
                                                                                 : 0;
  }

  // Operands that a row of a page or more reads alone, each a stream for the prefetcher.
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

  // Cycles per row of a pass with sums: its loads, where rows together share some, and a share of
  // entering and leaving the loop.
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

  // Cycles per row with so many rows in a block: combining, summing up, and what later passes read
  // again. The more rows wait for the next pass, the more of it comes from further off. What comes
  // from the second cache hides behind functions (exp, ..), which take many steps.
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
};

}  // namespace

void choose_row_sizes(const RowQuestion& question, const ir::Statement& first_sum,
                      const RowExtents& extents, RowChain& chain) {
  chain = RowSizer(question, first_sum, extents, std::move(chain)).run();
}

bool rows_pay(const RowQuestion& question, const ir::Statement& first_sum,
              const RowExtents& extents, const RowChain& chain) {
  return RowSizer(question, first_sum, extents, chain).pay();
}

}  // namespace polyte::schedule
