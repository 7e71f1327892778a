// The automatic scheduler: a Program to a Script, by isl. The affine core (order, fusion, which
// loops are parallel) comes from dependences and isl's scheduler; tiles, vectors, packing and
// placement from cost formulas over the machine (strategy_cpu.cc is the list). Everything it
// decides is a directive of the Script.
#pragma once

#include "schedule/script/refused_script.h"
#include "support/machine.h"
#include "support/result.h"

namespace polyte::poly {

struct PolyOptions {
  bool affine_core_only = false;  // `--scheduler isl`: isl's order with fixed tiles, nothing else
  bool keep_order = false;        // of floating-point sums: no `reassoc`
  // False: the caller proves the script as a whole, and asks again where that is refused. The
  // cheapest plan is then taken for right in all that it was priced for, as it nearly always is.
  bool proves = true;
  // isl operations per attempt of the affine core; whole Programs have their own.
  std::uint64_t quota = 5'000'000;
  std::vector<std::string>* notes = nullptr;  // receives what could not be had: a spent budget
  // Receives the orders and plans that were weighed, each a line.
  std::vector<std::string>* considered = nullptr;
  // Receives plans that were not proved, whole.
  std::vector<schedule::RefusedScript>* refused = nullptr;
};

// A Script that replays on `program` (sizes bound), or why there is none: rows that the schedule
// language cannot say, an isl budget spent in every attempt, ...
Result<schedule::Script> auto_schedule(const ir::Program& program, const Machine& machine,
                                       const PolyOptions& options);

}  // namespace polyte::poly
