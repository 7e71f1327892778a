// What is known of a GPU's kernel without running it: its launches, what the assembler makes of
// them, where threads meet, what their accesses cost. For comparisons:
//
//   GpuFigures figures = gpu_figures(kernel, target);
//   figures.launches[0].registers         // 96
//   row["gpu"] = to_json(figures);
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codegen/target.h"
#include "driver/compile/build_kernel.h"
#include "ir/warp_memory.h"
#include "runtime/artifact.h"
#include "runtime/emulator.h"
#include "schedule/cost/launch_price.h"

namespace polyte::cli {

struct GpuFigures {
  struct Launch {
    std::string name;
    std::optional<std::int64_t> blocks;  // where sizes say it
    std::int64_t threads = 0, shared_bytes = 0;
    // Stores; where there is an assembler.
    std::optional<std::int64_t> registers, stack_bytes, spilled_bytes;
    std::int64_t barriers = 0, warp_barriers = 0, copy_waits = 0;  // places in the code
    // Predicted: the first block, the first iterations of loops.
    std::vector<ir::MemoryAccess> accesses;
    std::optional<schedule::LaunchPrice> price;  // of a kernel whose sizes are known,
    ir::LaunchWork work;                         // and what it is the price of
    double bytes_in_memory = 0;
  };
  bool of_kernel = false;  // of an artifact barriers and accesses are not known
  std::vector<Launch> launches;
  std::string assembler;  // a path; empty: none was found
  // Its words that are more than figures, or why it was not asked.
  std::vector<std::string> messages;
  double machine_code_ms = 0;  // PTX and machine code
};

GpuFigures gpu_figures(const driver::BuiltKernel& kernel, const codegen::Target& target);
// From the report of an artifact for a GPU.
GpuFigures gpu_figures(const runtime::Artifact& artifact);

// Launch after launch; nullopt where the price of one is not known.
std::optional<schedule::LaunchPrice> price_of(const GpuFigures& figures);

nlohmann::json to_json(const GpuFigures& figures);
nlohmann::json to_json(const std::vector<runtime::LaunchCounts>& counts);  // of the emulator

// Lines of a comparison's column.
struct GpuRow {
  std::string title;
  std::vector<std::string> lines;
};
std::vector<GpuRow> gpu_rows(const GpuFigures& figures,
                             const std::vector<runtime::LaunchCounts>& counts);

}  // namespace polyte::cli
