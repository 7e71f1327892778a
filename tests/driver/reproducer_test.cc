// An internal error leaves the command, the message and the named files behind.
#include "driver/cli/reproducer.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("a reproducer holds what is needed to see the error again") {
  const fs::path input = fs::temp_directory_path() / "polyte_reproducer_input.program";
  std::ofstream(input) << "program p()\n";
  const std::string folder = polyte::cli::write_reproducer(
      {"op", input.string(), "it's", "x=@" + input.string()}, "a promise was broken");
  REQUIRE(fs::is_directory(folder));
  CHECK(contents(fs::path(folder) / "command.txt") ==
        "polyte 'op' '" + input.string() + "' 'it'\\''s' 'x=@" + input.string() + "'\n");
  CHECK(contents(fs::path(folder) / "message.txt") == "a promise was broken\n");
  CHECK(contents(fs::path(folder) / input.filename()) == "program p()\n");
  fs::remove_all(folder);
  fs::remove(input);
}
