#include "driver/cli/access_report.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "ir/warp_memory.h"
#include "support/error.h"

namespace polyte::cli {
namespace {

using Row = std::array<std::string, 5>;

// "2", "4.5"
std::string a_request(std::int64_t cost, std::int64_t requests) {
  char text[32];
  std::snprintf(
      text, sizeof text, "%.3g",
      static_cast<double>(cost) / static_cast<double>(std::max<std::int64_t>(requests, 1)));
  return text;
}

template <class Access>
Row row_of(const Access& a) {
  const std::string what = a.statement + (a.write ? " writes " : " reads ") + a.buffer;
  const std::string unit = a.shared ? " wavefronts" : " sectors";
  return {what, a.shared ? "shared" : "global", std::to_string(a.bytes) + " bytes",
          a_request(a.cost, a.requests) + unit, "at least " + a_request(a.ideal, a.requests)};
}

std::string table(const std::vector<Row>& rows) {
  std::array<std::size_t, 5> widths{};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const Row& row : rows) {
    text += " ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += " " + row[i];
      if (i + 1 < row.size()) text += std::string(widths[i] - row[i].size() + 1, ' ');
    }
    text += "\n";
  }
  return text;
}

}  // namespace

// Addresses of a warp's threads follow from the loops where all sizes are known; what data decides
// is said to be so.
//   launch 0, a warp's access
//     y reads x   global  16 bytes  16 sectors  at least 16
std::string predicted_memory(const ir::LoopProgram& program) {
  if (!program.params.empty())
    throw UserError(ExitStatus::Usage,
                    "--emit memory: the size " + program.params.front() +
                        " is open, which accesses go where depends on it: give --shape");
  std::string text;
  int number = 0;
  for (const auto& [launch, work] : ir::launches_of(program, {}, ir::Extent::Representative)) {
    text += "launch " + std::to_string(number++) + ", a warp's access\n";
    std::vector<Row> rows;
    for (const ir::MemoryAccess& a : launch) {
      rows.push_back(row_of(a));
      if (!a.known) rows.back()[3] = "where data says", rows.back()[4] = "";
    }
    text += table(rows);
  }
  return text;
}

std::string counted_memory(const runtime::LaunchCounts& launch) {
  std::vector<Row> rows;
  for (const runtime::AccessCounts& a : launch.accesses) rows.push_back(row_of(a));
  return launch.kernel + ", a warp's access as counted\n" + table(rows);
}

std::string memory_totals(const runtime::LaunchCounts& launch) {
  std::string text;
  for (const bool shared : {true, false}) {
    std::int64_t requests = 0, cost = 0, ideal = 0;
    for (const runtime::AccessCounts& a : launch.accesses) {
      if (a.shared != shared) continue;
      requests += a.requests;
      cost += a.cost;
      ideal += a.ideal;
    }
    if (requests == 0) continue;
    text += std::string(text.empty() ? "" : ", ") + (shared ? "shared memory " : "global memory ") +
            std::to_string(cost) + (shared ? " wavefronts (" : " sectors (") +
            std::to_string(ideal) + (shared ? " without conflicts)" : " at least)");
  }
  return text;
}

}  // namespace polyte::cli
