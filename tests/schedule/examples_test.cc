// The schedules of examples/ that maps and triangles are for: proved and executed at small
// odd sizes.
#include <fstream>
#include <sstream>

#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule::examples_test {

namespace {

std::string file(const std::string& path) {
  std::ifstream in(std::string(POLYTE_SOURCE_DIR) + "/examples/" + path);
  REQUIRE(in.good());
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// `smaller`: text of a tile size and the one to test with, so that there are several tiles.
void check_example(const std::string& program_name, const std::string& script_name,
                   const std::vector<ir::Values>& sizes, const std::string& params = "") {
  CAPTURE(script_name);
  std::string text = file("schedules/" + script_name + ".sched");
  if (!params.empty()) {
    const std::size_t begin = text.find("param "), end = text.find('\n', begin);
    REQUIRE(begin != std::string::npos);
    text.replace(begin, end - begin, "param " + params);
  }
  for (const ir::Values& each : sizes) {
    CAPTURE(each.begin()->second);
    const auto program = bound_program(file("programs/" + program_name + ".program"), each);
    const auto state =
        replay(program, parse_script(text, script_name), test_machine(), {ProofLevel::Full, {}});
    REQUIRE_MESSAGE(static_cast<bool>(state),
                    (state ? std::string() : to_string(state.error(), script_name, "")));
    CHECK(joined_problems(compare_with_reference(*state)) == "");
  }
}

}  // namespace

TEST_CASE("examples: stencils in time") {
  const std::vector<ir::Values> sizes = {
      {{"T", 3}, {"N", 11}}, {{"T", 5}, {"N", 8}}, {{"T", 1}, {"N", 3}}};
  for (const char* params : {"Tt = 2, Ti = 4, Tj = 5", ""}) {
    check_example("jacobi_2d", "jacobi_2d_time", sizes, params);
    check_example("jacobi_2d", "jacobi_2d_wavefront", sizes, params);
    check_example("seidel_2d", "seidel_2d_wavefront", sizes, params);
  }
}

TEST_CASE("examples: triangles") {
  check_example("trmm", "trmm", {{{"M", 7}, {"N", 37}}, {{"M", 1}, {"N", 3}}});
  check_example("syrk", "syrk", {{{"N", 13}, {"K", 5}}, {{"N", 1}, {"K", 2}}});
}

}  // namespace polyte::schedule::examples_test
