// The Programs of examples/ in reference order, and its schedules: proved, and executed after
// every pass.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "ir/program_text.h"
#include "schedule/script/replay.h"
#include "tests/lower/check_passes.h"

using namespace polyte;

namespace {

// The Program that a schedule of examples/ names: beside it, or in examples/programs; none of
// fixed, large sizes.
std::optional<ir::Program> example_program(const std::string& name) {
  for (const std::string folder : {"examples/schedules/", "examples/programs/"}) {
    const std::string path = folder + name + ".program";
    if (!std::filesystem::exists(path)) continue;
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return ir::parse_program(text.str(), path);
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("every example in reference order") {
  for (const auto& entry : std::filesystem::directory_iterator("examples/programs")) {
    CAPTURE(entry.path().string());
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const ir::Program parsed = ir::parse_program(text.str(), entry.path().string());
    ir::Values sizes;
    for (std::size_t i = 0; i < parsed.params.size(); ++i)
      sizes[parsed.params[i]] = 4 + static_cast<int>(i);
    const auto program = std::make_shared<const ir::Program>(ir::bind(parsed, sizes));
    // Data are subscripts.
    if (entry.path().stem() == "gather" || entry.path().stem() == "histogram") continue;
    test::check_passes(schedule::reference_state(program), 128);
  }
}

TEST_CASE("every example schedule is proved and executed") {
  const std::map<std::string, std::vector<ir::Values>> sizes = {
      {"blur_3x3", {{{"M", 37}, {"N", 19}}, {{"M", 1}, {"N", 1}}}},
      {"conv_nchwc", {{{"C", 1}, {"F", 2}, {"N", 3}}}},
      {"gemm_u8i8", {{{"M", 13}, {"N", 64}, {"K", 24}}, {{"M", 1}, {"N", 32}, {"K", 4}}}},
      {"depthwise", {{{"C", 1}, {"N", 9}}, {{"C", 2}, {"N", 1}}}},
      {"transpose", {{{"M", 13}, {"N", 21}}, {{"M", 8}, {"N", 16}}}}};
  Machine machine;
  machine.vector_bits = 128;
  machine.vector_registers = 32;
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator("examples/schedules")) {
    if (entry.path().extension() != ".sched") continue;
    CAPTURE(entry.path().string());
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const auto script = schedule::parse_script(text.str(), entry.path().string());
    const auto parsed = example_program(script.program);
    if (!parsed) continue;
    std::vector<ir::Values> tried{{}};
    for (std::size_t i = 0; i < parsed->params.size(); ++i)
      tried[0][parsed->params[i]] = 9 + 2 * static_cast<int>(i);
    if (const auto found = sizes.find(script.program); found != sizes.end()) tried = found->second;
    for (const ir::Values& size : tried) {
      const auto program = std::make_shared<const ir::Program>(ir::bind(*parsed, size));
      const auto state =
          schedule::replay(program, script, machine, {schedule::ProofLevel::Full, {}});
      REQUIRE_MESSAGE(static_cast<bool>(state),
                      (state ? std::string() : to_string(state.error(), "s", "")));
      // Bits are the same where no sum is reordered; the docs compare the others. A histogram's
      // data are subscripts.
      const bool exact = script.contract == schedule::Contract::Exact;
      if (exact && script.program != "histogram") test::check_passes(*state, 128);
    }
    ++seen;
  }
  CHECK(seen >= 24);
}
