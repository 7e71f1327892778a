#include "driver/compile/least_time.h"

#include <algorithm>

namespace polyte::driver {
namespace {

// What tensor cores multiply.
bool has_short_operands(const ir::Program& program) {
  return std::ranges::any_of(program.interface(), [](const ir::Buffer* buffer) {
    return buffer->dtype == DType::BF16 || buffer->dtype == DType::F16;
  });
}

bool has(const ir::Program& program, DType type) {
  return std::ranges::find(program.buffers, type, &ir::Buffer::dtype) != program.buffers.end();
}

}  // namespace

GpuRates rates_for(const ir::Program* program, const Machine& machine) {
  if (!machine.gpu) return {};
  const Gpu& gpu = *machine.gpu;
  GpuRates rates{0, 1e9 * gpu.memory_gb_a_second};
  if (program && (!has(*program, DType::F32) || has(*program, DType::F64))) return rates;
  const bool is_short = program && has_short_operands(*program);
  const int fma =
      is_short ? std::max(gpu.f32_fma_a_cycle, gpu.bf16_tensor_fma_a_cycle) : gpu.f32_fma_a_cycle;
  // Multiprocessors * FMAs per cycle * cycles a second, two operations per FMA.
  rates.flops = 2e9 * gpu.multiprocessors * fma * gpu.clock_ghz;
  return rates;
}

LeastTime least_time(const GpuRates& rates, double flops, double bytes) {
  const LeastTime least{rates.bytes > 0 ? bytes / rates.bytes : 0};
  const double adding = rates.flops > 0 ? flops / rates.flops : 0;
  return adding > least.seconds ? LeastTime{adding, "multiply-adds"} : least;
}

}  // namespace polyte::driver
