#include "schedule/cost/launch_price.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "schedule/cost/gpu_price.h"
#include "schedule/cost/warp_access.h"

namespace polyte::schedule {
namespace {

constexpr double kWarp = 32;
// Cycles until a warp's next instruction that needs the last.
constexpr double kArithmeticLatency = 4;
constexpr double kMemoryLatency = 600;       // cycles
constexpr double kRequestsUnderWay = 16;     // of a warp, as loops are written out
constexpr double kMostBlocks = 32;           // of a multiprocessor
constexpr double kMostFromSecondCache = 64;  // bytes per cycle of one multiprocessor

double floor_ratio(double all, double each) {
  return each > 0 ? std::floor(all / each) : kMostBlocks;
}

// Blocks that a multiprocessor runs at once.
double blocks_at_once(const PricedLaunch& launch, const Gpu& gpu) {
  const double threads = static_cast<double>(std::max<std::int64_t>(launch.threads, 1));
  const double least = std::min({floor_ratio(gpu.threads_a_multiprocessor, threads),
                                 floor_ratio(static_cast<double>(gpu.shared_multiprocessor_bytes),
                                             static_cast<double>(launch.shared_bytes)),
                                 floor_ratio(gpu.registers_a_multiprocessor,
                                             static_cast<double>(launch.registers) * threads)});
  return std::clamp(least, 1.0, kMostBlocks);
}

}  // namespace

LaunchPrice price_of(const PricedLaunch& launch, const Gpu& gpu) {
  // `work` counts all launches; `blocks` and all below are of one.
  const ir::LaunchWork& work = launch.work;
  const double launches = std::max(work.launches, 1.0), blocks = work.blocks / launches;
  if (blocks <= 0 || gpu.multiprocessors <= 0 || gpu.clock_ghz <= 0) return {};
  // Blocks of the busiest multiprocessor, and how many of them it runs at a time.
  const double busy = std::ceil(blocks / gpu.multiprocessors);
  const double at_once = std::min(busy, blocks_at_once(launch, gpu));
  const double warps = at_once * std::ceil(static_cast<double>(launch.threads) / kWarp);
  const double share = busy / work.blocks;  // of the work of all
  const double issue_rate = std::min(kSchedulers, warps);
  const double multiprocessors = std::min(blocks, static_cast<double>(gpu.multiprocessors));
  const double second_cache =
      std::min(kMostFromSecondCache,
               second_cache_bytes_a_cycle(gpu) * gpu.multiprocessors / multiprocessors);
  const double products =
      gpu.bf16_tensor_fma_a_cycle > 0 ? work.products * share / gpu.bf16_tensor_fma_a_cycle : 0;
  const auto bytes_a_sector = static_cast<double>(kSectorBytes);
  const double bytes = std::min(launch.bytes, work.sectors / launches * bytes_a_sector);
  const double memory =
      gpu.memory_gb_a_second > 0 ? bytes / gpu.memory_gb_a_second * gpu.clock_ghz : 0;
  struct Unit {
    const char* name;
    double cycles;
  };
  const std::array units{
      Unit{"instructions", (work.instructions + work.requests) * share / issue_rate},
      Unit{"tensor cores", products},
      Unit{"shared memory", work.wavefronts * share},
      Unit{"second cache", work.sectors * share * bytes_a_sector / second_cache},
      Unit{"memory", memory},
      Unit{"latency", work.far_requests * share * kMemoryLatency / (warps * kRequestsUnderWay)}};
  Unit slowest = *std::ranges::max_element(units, {}, &Unit::cycles);
  double others = -slowest.cycles;
  for (const Unit& unit : units) others += unit.cycles;
  // Multiply-adds are instructions already, so that they are a bound of their own but no unit
  // beside: either the units' rate, or the latency of those that wait for each other.
  const double arithmetic = share * std::max(work.instructions * kWarp / gpu.f32_fma_a_cycle,
                                             work.chained * kArithmeticLatency / warps);
  if (arithmetic >= slowest.cycles) slowest = {"multiply-adds", arithmetic};
  const double working = slowest.cycles + kOverlap * others;
  return {launches * (working + kLaunch) / gpu.clock_ghz * 1e-9,
          working > kLaunch ? slowest.name : "launch"};
}

}  // namespace polyte::schedule
