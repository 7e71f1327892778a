// The thirty kernels of bench/polybench: poly and isl schedule each without falling back, and the
// scripts by hand for them are legal; all compute the reference's bits.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "frontend/c/c_reader.h"
#include "poly/auto_schedule.h"
#include "tests/poly/checked_script.h"
#include "tests/sweep.h"

#include <nlohmann/json.hpp>

namespace polyte::poly {

namespace {

namespace fs = std::filesystem;

const fs::path kPrograms = "bench/polybench", kScripts = "examples/schedules/polybench";

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  REQUIRE_MESSAGE(file.good(), path.string());
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Sizes of which no two are equal, so that no dimension passes for another; few steps in time.
std::shared_ptr<const ir::Program> small(const ir::Program& open) {
  ir::Values sizes;
  std::int64_t next = 17;  // sizes that poly takes for sizes, not for windows
  for (const std::string& param : open.params) sizes[param] = param.starts_with("T") ? 3 : next++;
  return std::make_shared<const ir::Program>(ir::bind(open, sizes));
}

std::shared_ptr<const ir::Program> small(const std::string& name) {
  return small(ir::parse_program(text_of(kPrograms / (name + ".program")), name));
}

std::vector<std::string> names_in(const fs::path& folder, const std::string& extension) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == extension) names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

// lu and lu.rows are for lu.program, fdtd_2d for fdtd-2d.program.
std::string program_of(const std::string& script) {
  std::string name = script.substr(0, script.find('.'));
  std::ranges::replace(name, '_', '-');
  return name;
}

}  // namespace

TEST_CASE("poly and isl schedule all of PolyBench") {
  const std::vector<std::string> names = names_in(kPrograms, ".program");
  CHECK(names.size() == 30);
  std::size_t number = 0;
  for (const std::string& name : names)
    for (const bool as_isl_says : {false, true}) {
      if (as_isl_says && !test::is_swept(number++, 3)) continue;
      CAPTURE(name);
      CAPTURE(as_isl_says);
      const auto program = small(name);
      const auto script = auto_schedule(*program, one_core(),
                                        {.affine_core_only = as_isl_says, .keep_order = true});
      REQUIRE_MESSAGE(static_cast<bool>(script), (script ? std::string() : script.error().reason));
      CAPTURE(schedule::print(*script));
      const auto state =
          schedule::replay(program, *script, one_core(), {schedule::ProofLevel::Off, {}});
      REQUIRE(static_cast<bool>(state));
      CHECK(schedule::joined_problems(schedule::compare_with_reference(*state)) == "");
    }
}

// Which tiles are chosen depends on the caches; whether there is a schedule must not. symm was
// refused where its reduction came in blocks, which the first-level cache of one processor decided.
TEST_CASE("poly schedules PolyBench at its large sizes whatever the caches") {
  const auto sizes = nlohmann::json::parse(text_of("bench/polybench/sizes.json"));
  std::size_t number = 0;
  for (const std::string& name : names_in(kPrograms, ".program"))
    for (const int bits : {256, 512})
      for (const std::int64_t l1 : {32, 48})
        for (const std::int64_t l2 : {256, 1024, 2048}) {
          // One or two of the twelve machines for each kernel, others for the next.
          if (!test::is_swept(number++, 7)) continue;
          CAPTURE(name);
          CAPTURE(bits);
          CAPTURE(l1);
          CAPTURE(l2);
          Machine machine = one_core();
          machine.vector_bits = bits;
          machine.l1 = {l1 * 1024, 8, 64};
          machine.l2 = {l2 * 1024, 8, 64};
          const ir::Values large = sizes.at(name).at("LARGE").get<ir::Values>();
          const auto program =
              schedule::bound_program(text_of(kPrograms / (name + ".program")), large);
          const auto script = auto_schedule(*program, machine, {});
          REQUIRE_MESSAGE(static_cast<bool>(script),
                          (script ? std::string() : script.error().reason));
          CAPTURE(schedule::print(*script));
          const auto state =
              schedule::replay(program, *script, machine, {schedule::ProofLevel::Final, {}});
          CHECK_MESSAGE(static_cast<bool>(state), (state ? "" : state.error().headline));
        }
}

TEST_CASE("poly schedules PolyBench as it is read from C") {
  for (std::size_t number = 0; const std::string& name : names_in(kPrograms, ".program")) {
    if (!test::is_swept(number++, 3)) continue;
    if (name == "deriche") continue;  // scalars that each row uses again: isl's budget is spent
    CAPTURE(name);
    const fs::path file = kPrograms / "peers" / (name + ".c");
    const auto program = small(frontend::read_c(text_of(file), file.string(), DType::F64).at(0));
    const auto script = auto_schedule(*program, one_core(), {.keep_order = true});
    REQUIRE_MESSAGE(static_cast<bool>(script), (script ? std::string() : script.error().reason));
    CAPTURE(schedule::print(*script));
    const auto state =
        schedule::replay(program, *script, one_core(), {schedule::ProofLevel::Off, {}});
    REQUIRE(static_cast<bool>(state));
    CHECK(schedule::joined_problems(schedule::compare_with_reference(*state)) == "");
  }
}

TEST_CASE("scripts by hand for PolyBench are legal and keep what their contracts say") {
  const std::vector<std::string> names = names_in(kScripts, ".sched");
  CHECK(names.size() >= 12);
  for (const std::string& name : names) {
    CAPTURE(name);
    const auto program = small(program_of(name));
    const schedule::Script script =
        schedule::parse_script(text_of(kScripts / (name + ".sched")), name);
    const auto state =
        schedule::replay(program, script, one_core(), {schedule::ProofLevel::Full, {}});
    REQUIRE_MESSAGE(static_cast<bool>(state), (state ? std::string() : state.error().headline));
    if (state->contract == schedule::Contract::Exact)  // others may round elsewhere, as they say
      CHECK(schedule::joined_problems(schedule::compare_with_reference(*state)) == "");
  }
}

}  // namespace polyte::poly
