// Which of a module's codes a device takes.
#include "runtime/cuda_code.h"

#include <doctest/doctest.h>

using polyte::runtime::choose_architecture;

TEST_CASE("machine code for just this device, then the nearest of its generation, then PTX") {
  const std::vector<std::string> all{"ptx", "sm_80", "sm_86", "sm_90", "sm_90a"};
  CHECK(choose_architecture(all, 90) == "sm_90a");
  CHECK(choose_architecture(all, 86) == "sm_86");
  CHECK(choose_architecture(all, 89) == "sm_86");
  CHECK(choose_architecture(all, 80) == "sm_80");
  CHECK(choose_architecture(all, 100) == "ptx");
  CHECK(choose_architecture(all, 75) == "ptx");
}

TEST_CASE("nothing that runs") {
  CHECK(choose_architecture({"sm_90a"}, 91).empty());
  CHECK(choose_architecture({"sm_86"}, 80).empty());
  CHECK(choose_architecture({"sm_100"}, 90).empty());
  CHECK(choose_architecture({"sm_9x", "sm_", "sm_90f"}, 90).empty());
  CHECK(choose_architecture({}, 90).empty());
}
