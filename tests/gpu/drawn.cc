#include "tests/gpu/drawn.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <numeric>

#include "lower/lower.h"
#include "tests/schedule/execute_state.h"
#include "tests/sweep.h"

namespace polyte::gpu::testing {
namespace {

std::string differences(const ir::Program& program, const ir::Environment& expected,
                        const ir::Environment& got) {
  std::string names;
  for (const ir::Buffer* buffer : program.interface())
    if (expected.at(buffer->name).bytes != got.at(buffer->name).bytes) names += buffer->name + " ";
  return names;
}

int check(const KernelFile& file, unsigned seed, const Machine& machine,
          const std::string& prefix) {
  const schedule::State state = scheduled(file, file.sizes.front(), machine);
  const ir::Environment inputs = schedule::make_inputs(*state.reference, static_cast<int>(seed));
  ir::Environment expected = inputs;
  ir::interpret(*state.reference, expected, {});
  std::size_t number = seed;  // every third pass where time counts, of other seeds those between
  const auto interpreted = [&](const lower::PassRun& pass) {
    if (!pass.changed && pass.name != "build loops") return;
    if (!test::is_swept(number++, 3)) return;
    CAPTURE(pass.name);
    CAPTURE(ir::print(*pass.program));
    ir::Environment got = inputs;
    ir::interpret(*pass.program, got, {});
    CHECK(differences(*state.reference, expected, got) == "");
  };
  const ir::LoopProgram loops = lower::lower(state, {.machine = machine, .on_pass = interpreted});
  int instructions = 0;
  ir::for_each_stmt(loops.body, [&](const ir::Stmt& s) {
    const auto* tensorized = std::get_if<ir::Tensorized>(&s->op);
    instructions += tensorized && tensorized->intrinsic.starts_with(prefix) ? 1 : 0;
  });
  CAPTURE(ir::print(loops));
  const Emulated got = emulate(
      loops, inputs, {},
      {.order = seed % 2 != 0 ? runtime::ThreadOrder::Backward : runtime::ThreadOrder::Random,
       .late_copies = seed % 3 == 0});
  REQUIRE(joined(got.faults) == "");
  CHECK(differences(*state.reference, expected, got.buffers) == "");
  return instructions;
}

}  // namespace

int check_drawn(std::vector<unsigned> seeds, const std::function<KernelFile(unsigned seed)>& drawn,
                const std::string& prefix) {
  if (const char* const count = std::getenv("POLYTE_SEEDS")) {
    const char* const first = std::getenv("POLYTE_FIRST_SEED");
    seeds.resize(std::stoul(count));
    std::iota(seeds.begin(), seeds.end(), first ? static_cast<unsigned>(std::stoul(first)) : 1U);
  }
  const Machine machine = gpu("h100").machine;
  int instructions = 0;
  for (const unsigned seed : seeds) {
    KernelFile file = drawn(seed);
    file.name = "seed " + std::to_string(seed);
    CAPTURE(file.name);
    CAPTURE(file.program);
    CAPTURE(file.script);
    std::string sizes;
    for (const auto& [name, value] : file.sizes.front())
      sizes += name + "=" + std::to_string(value) + " ";
    CAPTURE(sizes);
    instructions += check(file, seed, machine, prefix);
  }
  return instructions;
}

}  // namespace polyte::gpu::testing
