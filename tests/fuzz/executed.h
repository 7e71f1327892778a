// A script of ours, replayed with every proof and executed: what all drawn Programs are held to.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "driver/compile/execution_check.h"
#include "ir/program_text.h"
#include "schedule/script/replay.h"

namespace polyte::fuzz {

inline std::shared_ptr<const ir::Program> bound_to(const std::string& text,
                                                   const ir::Values& sizes) {
  return std::make_shared<const ir::Program>(ir::bind(ir::parse_program(text, "drawn"), sizes));
}

inline void check_executed(const std::shared_ptr<const ir::Program>& program,
                           const schedule::Script& script, const Machine& machine,
                           std::uint64_t seed) {
  const auto state = schedule::replay(program, script, machine, {schedule::ProofLevel::Full, {}});
  REQUIRE_MESSAGE(static_cast<bool>(state), (state ? std::string() : state.error().headline));
  const ir::Environment inputs = driver::adverse_environment(*program, seed, true);
  CHECK(driver::faults_by_execution(*state, machine, inputs).empty());
}

}  // namespace polyte::fuzz
