// The table of GPUs: what each name stands for, and what is assumed of a compute capability.
#include "support/gpu_machines.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace polyte;

TEST_CASE("GPUs by name: numbers of the device, vectors of 16 bytes, nothing assumed") {
  for (const std::string& name : gpu_names()) {
    CAPTURE(name);
    const auto machine = gpu_machine(name);
    REQUIRE(machine);
    REQUIRE(machine->gpu);
    CHECK(machine->cpu == name);
    CHECK(machine->lanes(DType::F32) == 4);
    CHECK(machine->assumed.empty());
    CHECK(machine->gpu->multiprocessors > 0);
    CHECK(machine->gpu->shared_block_bytes < machine->gpu->shared_multiprocessor_bytes);
    CHECK(machine->gpu->memory_gb_a_second > 0);
  }
  CHECK(gpu_machine("h100")->gpu->specific);
  CHECK_FALSE(gpu_machine("a100")->gpu->specific);
}

TEST_CASE("a compute capability: the least GPU of it, what differs among them assumed") {
  const auto machine = gpu_machine("sm_89");
  REQUIRE(machine);
  CHECK(machine->gpu->compute_capability == 89);
  CHECK(machine->gpu->multiprocessors == 58);
  CHECK(std::ranges::find(machine->assumed, "multiprocessors") != machine->assumed.end());
  CHECK_FALSE(gpu_machine("sm_90")->gpu->specific);
}

TEST_CASE("no GPU of that name") {
  for (const char* name : {"", "h10", "sm_9", "sm_999", "znver4"}) CHECK_FALSE(gpu_machine(name));
}
