// Statements that run over the same rows: sums and maxima of each row, and what is made of a row
// element by element with them (softmax, norms, a mean alone). Rows are independent, so the whole
// chain runs a few rows at a time while these are near, in passes over the row; its lanes lie along
// the row, and sums are taken in several of them:
//
//   top[i] = max[j] x[i, j]                 rows i, R at a time
//   e[i, j] = exp(x[i, j] - top[i])         pass 1 over j: top       pass 2 over j: e, total
//   total[i] = sum[j] e[i, j]               pass 3 over j: y
//   y[i, j] = e[i, j] / total[i]
//
// Where a pass only sums up, some of its R rows run together, if they share what they read or come
// from memory, which hands over more at a time of several streams than of one. The lanes of R rows
// are combined last, transposed, for all R at once. A sum of floating-point numbers is taken in
// another order so: its loops are returned, the script's contract has to name them. poly makes a
// nest of it here, the templates by schedule/templates/rows.sched.
//
// Short rows that further loops add up keep a vector each in registers from the first i to the
// last. What R of them read lies side by side, and each i is visited once:
//
//   y[j] = sum[i, k] x[i, j, k]             rows j; for each i the elements x[i, j, ..] of R rows
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ir/program.h"
#include "schedule/state/nest_plan.h"
#include "schedule/state/state.h"
#include "support/machine.h"

namespace polyte::schedule {

using Statements = std::vector<const ir::Statement*>;

struct RowQuestion {
  const ir::Program* program = nullptr;
  const State* reference = nullptr;
  const Machine* machine = nullptr;
  Statements statements;    // in order, initial values, where sums have one, before their updates
  bool keep_order = false;  // of floating-point sums: `exact`
  std::set<std::int64_t> blocks = {};  // how many rows may run at a time; empty: any
};

struct RowPass {
  // Loops inside the row, that of the lanes last; empty: once per row.
  std::vector<std::string> own;
  int vectors = 1;            // side by side
  std::int64_t together = 1;  // rows side by side, too: what they all read is loaded once for them
  bool is_whole = false;      // the lanes' loop is not split
  bool keeps_rows = false;    // short rows, added up over the loops around them
  // Functions of a vector take longer than its additions: a row's sums need one vector, however
  // many the pass has side by side.
  bool hides_sums = false;
  Statements body;   // definitions and updates, in order
  Statements sums;   // the updates among them
  Statements after;  // once per row, when the sums are there

  // The loop along a row, over the vectors side by side; and, where these are written out one by
  // one, the loop over them. Empty: they are one.
  std::string steps() const;
  std::string vectors_loop() const;
};

struct RowChain {
  std::vector<std::string> rows;  // outermost first, the one that runs in blocks last
  std::int64_t block = 1;         // rows at a time
  std::vector<RowPass> passes;
  DType type = DType::F32;  // whose vectors the lanes fill

  // Loops over the rows of a block in a pass: around its loop along the row, and inside that,
  // written out. Empty: none.
  std::string rows_around(const RowPass& pass) const;
  std::string rows_together(const RowPass& pass) const;
  // Whether these are two loops.
  bool has_groups(const RowPass& pass) const { return pass.together > 1 && pass.together < block; }
};

// What begins the sum, the statement before its update; null: it is added to what is there. A
// person may have called it anything.
const ir::Statement* initial_value(const Statements& statements, const ir::Statement& update);

// nullopt where the statements are no chain of rows, where rows are too short for lanes, or where
// other loops serve the lanes better.
std::optional<RowChain> plan_rows(const RowQuestion& question);

// The longest chain that the groups from the first one on give together; 0 groups where there
// is none.
struct RowsFound {
  std::size_t groups = 0;
  Statements statements;
  RowChain chain;
};
RowsFound find_rows(RowQuestion question, std::span<const Statements> groups);
// The same as a plan.
struct RowRun {
  std::size_t groups = 0;
  NestPlan plan;
};
RowRun longest_rows(RowQuestion question, std::span<const Statements> groups, int number);

}  // namespace polyte::schedule
