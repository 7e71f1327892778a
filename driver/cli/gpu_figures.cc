#include "driver/cli/gpu_figures.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "codegen/nvptx/assembler.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::cli {
namespace {

using Launch = GpuFigures::Launch;

// ---- the loops: blocks, and where threads meet

// The least of the extents that are constant: a loop of a tail has several upper bounds.
std::optional<std::int64_t> extent_of(const ir::For& loop) {
  if (loop.lower.size() != 1 || loop.upper.empty()) return {};
  std::optional<std::int64_t> least;
  for (const ir::Affine& upper : loop.upper) {
    const ir::Affine extent = upper - loop.lower[0];
    if (extent.is_constant())
      least = std::min(least.value_or(extent.constant()), extent.constant());
  }
  return least;
}

// Blocks of loops inside each other multiply. Barriers are counted as places in the code, not as
// often as threads meet there.
void count_places(const ir::Stmt& s, Launch& launch) {
  if (const auto* barrier = std::get_if<ir::Barrier>(&s->op))
    ++(barrier->of_warp ? launch.warp_barriers : launch.barriers);
  if (const auto* group = std::get_if<ir::CopyGroup>(&s->op); group != nullptr && group->wait)
    ++launch.copy_waits;
  const auto* loop = std::get_if<ir::For>(&s->op);
  if (loop != nullptr && loop->kind == ir::LoopKind::Block) {
    const std::optional<std::int64_t> extent = extent_of(*loop);
    launch.blocks =
        launch.blocks && extent ? std::optional(*launch.blocks * *extent) : std::nullopt;
  }
  ir::rewrite_children(s, [&](const ir::Stmt& child) {
    count_places(child, launch);
    return child;
  });
}

// In the order of the code, as launches are numbered.
void find_launches(const ir::Stmt& s, std::vector<Launch>& launches) {
  const auto* loop = std::get_if<ir::For>(&s->op);
  if (loop != nullptr && loop->kind == ir::LoopKind::Block) {
    launches.emplace_back().blocks = 1;
    return count_places(s, launches.back());
  }
  ir::rewrite_children(s, [&](const ir::Stmt& child) {
    find_launches(child, launches);
    return child;
  });
}

// The bytes of the buffers that a launch touches in the device's memory, each buffer once: what
// it costs to read and write them if nothing is kept in a cache.
double bytes_in_memory(const ir::LoopProgram& program,
                       const std::vector<ir::MemoryAccess>& accesses) {
  std::map<std::string, std::int64_t> bytes;
  for (const ir::Buffer& b : program.buffers)
    bytes[b.name] = checked_mul(size_in_bytes(b.dtype), checked_product(ir::constant_shape(b)));
  ir::for_each_stmt(program.body, [&](const ir::Stmt& s) {
    if (const auto* alloc = std::get_if<ir::Alloc>(&s->op))
      bytes[alloc->buffer.name] =
          checked_mul(size_in_bytes(alloc->buffer.dtype), checked_product(alloc->buffer.shape));
  });
  std::set<std::string> touched;
  for (const ir::MemoryAccess& a : accesses)
    if (!a.shared) touched.insert(a.buffer);
  double sum = 0;
  for (const std::string& name : touched) sum += static_cast<double>(bytes.at(name));
  return sum;
}

// ---- the assembler

void add_assembled(const codegen::DeviceBinary& binary, GpuFigures& figures) {
  figures.assembler = binary.assembler;
  figures.messages = binary.messages;
  for (const codegen::DeviceBinary::Kernel& one : binary.kernels)
    for (Launch& launch : figures.launches)
      if (launch.name == one.name) {
        launch.registers = one.registers;
        launch.stack_bytes = one.stack_bytes;
        launch.spilled_bytes = one.spill_store_bytes;
      }
}

// ---- text

std::string share(std::int64_t cost, std::int64_t ideal) {
  char text[48];
  std::snprintf(text, sizeof text, "%.2fx the least",
                static_cast<double>(cost) / static_cast<double>(ideal));
  return text;
}

std::string a_request(std::int64_t cost, std::int64_t requests) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g",
                static_cast<double>(cost) / static_cast<double>(requests));
  return text;
}

// NVIDIA's units: a request is one instruction of a warp. In shared memory it costs wavefronts,
// more where banks conflict or accesses are wide; in global memory sectors of 32 bytes.
template <class Access>
std::string memory_line(const std::vector<Access>& accesses, bool shared) {
  std::int64_t requests = 0, cost = 0, ideal = 0;
  for (const Access& a : accesses) {
    if (a.shared != shared) continue;
    requests += a.requests;
    cost += a.cost;
    ideal += a.ideal;
  }
  if (requests == 0 || ideal == 0) return "";
  return a_request(cost, requests) + (shared ? " wavefronts" : " sectors") + " a request, " +
         share(cost, ideal);
}

std::string number(std::int64_t n, const char* one) {
  return std::to_string(n) + " " + one + (n == 1 ? "" : "s");
}

std::string threads_line(const Launch& launch) {
  const std::string threads = number(launch.threads, "thread");
  return launch.blocks ? number(*launch.blocks, "block") + " of " + threads
                       : threads + " per block";
}

std::string registers_line(const Launch& launch) {
  if (!launch.registers) return "not known";
  return std::to_string(*launch.registers) + ", " + number(*launch.spilled_bytes, "byte") +
         " spilled";
}

std::string meetings_line(const Launch& launch) {
  std::string text = std::to_string(launch.barriers);
  if (launch.warp_barriers > 0) text += ", " + std::to_string(launch.warp_barriers) + " of warps";
  if (launch.copy_waits > 0) text += ", " + number(launch.copy_waits, "wait") + " for copies";
  return text;
}

// Rows, in this order; the last three of a kernel only.
constexpr std::size_t kBankUse = 4, kSectors = 5;
constexpr std::size_t kMostLaunches = 4;  // of launches, a line each

std::vector<GpuRow> empty_rows(const GpuFigures& figures) {
  std::vector<GpuRow> rows = {{"launches", {}}, {"registers", {}}, {"shared", {}}};
  if (figures.of_kernel)
    for (const char* title : {"barriers", "bank use", "sectors"}) rows.push_back({title, {}});
  return rows;
}

void add_memory(const std::vector<ir::MemoryAccess>& accesses, std::vector<GpuRow>& rows) {
  const bool known = std::ranges::all_of(accesses, &ir::MemoryAccess::known);
  for (const bool shared : {true, false})
    if (const std::string line = memory_line(accesses, shared); !line.empty())
      rows[shared ? kBankUse : kSectors].lines.push_back(
          known ? line : line + ", without subscripts that are data");
}

std::vector<GpuRow> rows_by_launch(const GpuFigures& figures) {
  std::vector<GpuRow> rows = empty_rows(figures);
  for (const Launch& launch : figures.launches) {
    rows[0].lines.push_back(threads_line(launch));
    rows[1].lines.push_back(registers_line(launch));
    rows[2].lines.push_back(number(launch.shared_bytes, "byte") + " per block");
    if (!figures.of_kernel) continue;
    rows[3].lines.push_back(meetings_line(launch));
    add_memory(launch.accesses, rows);
  }
  return rows;
}

std::string range_of(std::int64_t least, std::int64_t most) {
  return least == most ? std::to_string(least)
                       : std::to_string(least) + " to " + std::to_string(most);
}

// Of many launches: from the least to the most.
std::vector<GpuRow> summed_rows(const GpuFigures& figures) {
  std::vector<GpuRow> rows = empty_rows(figures);
  std::vector<std::int64_t> threads, registers, shared;
  std::int64_t spilled = 0;
  Launch all;
  for (const Launch& launch : figures.launches) {
    threads.push_back(launch.threads);
    shared.push_back(launch.shared_bytes);
    if (launch.registers) registers.push_back(*launch.registers);
    spilled += launch.spilled_bytes.value_or(0);
    all.barriers += launch.barriers;
    all.warp_barriers += launch.warp_barriers;
    all.copy_waits += launch.copy_waits;
    all.accesses.insert(all.accesses.end(), launch.accesses.begin(), launch.accesses.end());
  }
  const auto range = [](const std::vector<std::int64_t>& values) {
    const auto [least, most] = std::ranges::minmax(values);
    return range_of(least, most);
  };
  rows[0].lines = {std::to_string(figures.launches.size()) + " of " + range(threads) +
                   " threads per block"};
  rows[1].lines = {registers.empty()
                       ? "not known"
                       : range(registers) + ", " + number(spilled, "byte") + " spilled in all"};
  rows[2].lines = {range(shared) + " bytes per block"};
  if (!figures.of_kernel) return rows;
  rows[3].lines = {meetings_line(all)};
  add_memory(all.accesses, rows);
  return rows;
}

nlohmann::json to_json(const schedule::LaunchPrice& price) {
  return {{"nanoseconds", price.seconds * 1e9}, {"bound", price.bound}};
}

nlohmann::json work_json(const GpuFigures::Launch& launch) {
  const ir::LaunchWork& work = launch.work;
  return {{"launches", work.launches},         {"blocks", work.blocks},
          {"instructions", work.instructions}, {"chained", work.chained},
          {"products", work.products},         {"requests", work.requests},
          {"far_requests", work.far_requests}, {"wavefronts", work.wavefronts},
          {"sectors", work.sectors},           {"bytes", launch.bytes_in_memory}};
}

nlohmann::json optional_json(const std::optional<std::int64_t>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

template <class Access>
nlohmann::json access_json(const Access& a) {
  return {{"statement", a.statement}, {"buffer", a.buffer}, {"write", a.write},
          {"shared", a.shared},       {"bytes", a.bytes},   {"requests", a.requests},
          {"cost", a.cost},           {"ideal", a.ideal}};
}

// A number of an artifact's report, which may be a stranger's; 0 where it has none.
int number_of(const nlohmann::json& kernel, const char* key) {
  const auto found = kernel.find(key);
  return found != kernel.end() && found->is_number_integer() ? found->get<int>() : 0;
}

}  // namespace

// What no device is needed for: the loops are counted, PTX is assembled and not run, accesses are
// predicted from the subscripts of a few iterations.
GpuFigures gpu_figures(const driver::BuiltKernel& kernel, const codegen::Target& target) {
  GpuFigures figures;
  figures.of_kernel = true;
  const auto start = std::chrono::steady_clock::now();
  const codegen::ObjectCode object = codegen::compile({&kernel.kernel, 1}, target);
  find_launches(kernel.kernel.program.body, figures.launches);
  const std::vector<codegen::LaunchInfo>& infos = object.kernels.at(0).launches;
  POLYTE_CHECK(infos.size() == figures.launches.size(), "a launch per loop of blocks");
  for (std::size_t i = 0; i < infos.size(); ++i) {
    figures.launches[i].name = infos[i].name;
    figures.launches[i].threads = infos[i].threads;
    figures.launches[i].shared_bytes = infos[i].shared_bytes;
  }
  if (codegen::has_assembler())
    add_assembled(codegen::assemble_ptx(object.device, target.machine), figures);
  else
    figures.messages.emplace_back("no ptxas and no libnvJitLink: registers are not known");
  figures.machine_code_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  // Where accesses go depends on what is open.
  if (!kernel.kernel.program.params.empty()) return figures;
  const ir::LoopProgram& program = kernel.kernel.program;
  const std::vector<ir::WalkedLaunch> walked =
      ir::launches_of(program, {}, ir::Extent::Representative);
  for (std::size_t i = 0; i < std::min(walked.size(), figures.launches.size()); ++i) {
    Launch& launch = figures.launches[i];
    launch.accesses = walked[i].accesses;
    launch.work = walked[i].work;
    launch.bytes_in_memory = bytes_in_memory(program, launch.accesses);
    launch.price = schedule::price_of({launch.work, launch.threads, launch.shared_bytes,
                                       launch.registers.value_or(0), launch.bytes_in_memory},
                                      *target.machine.gpu);
  }
  return figures;
}

GpuFigures gpu_figures(const runtime::Artifact& artifact) {
  GpuFigures figures;
  for (const runtime::DeviceModule& module : artifact.manifest().device)
    for (const runtime::DeviceKernel& kernel : module.kernels) {
      Launch& launch = figures.launches.emplace_back();
      launch.name = kernel.name;
      launch.threads = kernel.threads;
      launch.shared_bytes = kernel.shared_bytes;
    }
  const nlohmann::json report = nlohmann::json::parse(artifact.report(), nullptr, false);
  if (!report.is_object() || !report.contains("device") || !report["device"].is_array())
    return figures;
  codegen::DeviceBinary said;
  for (const nlohmann::json& module : report["device"]) {
    if (!module.is_object()) continue;
    for (const nlohmann::json& one : module.value("kernels", nlohmann::json::array()))
      if (one.is_object() && one.contains("name") && one["name"].is_string())
        said.kernels.push_back({one["name"].get<std::string>(), number_of(one, "registers"),
                                number_of(one, "stack_bytes"), number_of(one, "spill_store_bytes"),
                                number_of(one, "spill_load_bytes")});
    for (const nlohmann::json& message : module.value("messages", nlohmann::json::array()))
      if (message.is_string()) said.messages.push_back(message.get<std::string>());
  }
  add_assembled(said, figures);
  return figures;
}

// Launches run one after the other; the bound that is named is that of the longest.
std::optional<schedule::LaunchPrice> price_of(const GpuFigures& figures) {
  if (figures.launches.empty()) return {};
  schedule::LaunchPrice sum;
  double longest = 0;
  for (const Launch& launch : figures.launches) {
    if (!launch.price) return {};
    sum.seconds += launch.price->seconds;
    if (launch.price->seconds <= longest) continue;
    longest = launch.price->seconds;
    sum.bound = launch.price->bound;
  }
  return sum;
}

nlohmann::json to_json(const GpuFigures& figures) {
  nlohmann::json launches = nlohmann::json::array();
  for (const Launch& launch : figures.launches) {
    nlohmann::json row{{"name", launch.name},
                       {"blocks", optional_json(launch.blocks)},
                       {"threads", launch.threads},
                       {"shared_bytes", launch.shared_bytes},
                       {"registers", optional_json(launch.registers)},
                       {"stack_bytes", optional_json(launch.stack_bytes)},
                       {"spill_store_bytes", optional_json(launch.spilled_bytes)}};
    if (figures.of_kernel) {
      row["barriers"] = launch.barriers;
      row["warp_barriers"] = launch.warp_barriers;
      row["copy_waits"] = launch.copy_waits;
      row["predicted"] = nlohmann::json::array();
      for (const ir::MemoryAccess& a : launch.accesses) {
        row["predicted"].push_back(access_json(a));
        row["predicted"].back()["known"] = a.known;
      }
      if (launch.price) {
        row["predicted_time"] = to_json(*launch.price);
        row["work"] = work_json(launch);
      }
    }
    launches.push_back(std::move(row));
  }
  return {{"launches", std::move(launches)},
          {"assembler",
           figures.assembler.empty() ? nlohmann::json() : nlohmann::json(figures.assembler)},
          {"messages", figures.messages}};
}

nlohmann::json to_json(const std::vector<runtime::LaunchCounts>& counts) {
  nlohmann::json launches = nlohmann::json::array();
  for (const runtime::LaunchCounts& count : counts) {
    nlohmann::json row{{"name", count.kernel},
                       {"launches", count.launches},
                       {"blocks", count.blocks},
                       {"block_barriers", count.block_barriers},
                       {"warp_barriers", count.warp_barriers},
                       {"accesses", nlohmann::json::array()}};
    for (const runtime::AccessCounts& a : count.accesses) row["accesses"].push_back(access_json(a));
    launches.push_back(std::move(row));
  }
  return launches;
}

// What the emulator has counted stands under what was predicted of the same accesses.
std::vector<GpuRow> gpu_rows(const GpuFigures& figures,
                             const std::vector<runtime::LaunchCounts>& counts) {
  const bool summed = figures.launches.size() > kMostLaunches;
  std::vector<GpuRow> rows = summed ? summed_rows(figures) : rows_by_launch(figures);
  if (figures.launches.empty()) rows[0].lines.emplace_back("none: it runs on the host");
  for (const std::string& message : figures.messages)
    if (std::ranges::find(rows[1].lines, message) == rows[1].lines.end())
      rows[1].lines.push_back(message);
  if (!figures.of_kernel) return rows;
  std::vector<runtime::AccessCounts> all;
  for (const runtime::LaunchCounts& count : counts) {
    all.insert(all.end(), count.accesses.begin(), count.accesses.end());
    if (summed && &count != &counts.back()) continue;
    for (const bool shared : {true, false})
      if (const std::string line = memory_line(summed ? all : count.accesses, shared);
          !line.empty())
        rows[shared ? kBankUse : kSectors].lines.push_back("counted: " + line);
  }
  return rows;
}

}  // namespace polyte::cli
