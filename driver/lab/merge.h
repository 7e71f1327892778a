// Runs of one plan joined to one: the shards of a job array, or more processes that were measured
// later. Rows keep the samples of one machine; a row that two machines have measured is refused.
#pragma once

#include <string>
#include <vector>

namespace polyte::lab {

struct Merged {
  std::size_t processes = 0, rows = 0, machines = 0;  // rows that have any
};
// `out` gets the plan and all complete processes, numbered anew where two folders have the same
// row. UserError(Usage) where plans or builds of Polyte differ, where a row has two machines
// (all of them are reported), or where `out` has samples already.
Merged merge_runs(const std::vector<std::string>& folders, const std::string& out);

}  // namespace polyte::lab
