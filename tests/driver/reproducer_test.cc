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

TEST_CASE("two files of one name are both there, and a secret key is not") {
  const fs::path folder = fs::temp_directory_path() / "polyte_reproducer_inputs";
  const fs::path first = folder / "1" / "x.npy", second = folder / "2" / "x.npy";
  for (const fs::path& file : {first, second}) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << file.parent_path().filename().string();
  }
  const fs::path key = folder / "k.key", own = folder / "command.txt";
  std::ofstream(key) << "polyte secret key v1\n00\n";
  std::ofstream(own) << "mine";
  const fs::path made =
      polyte::cli::write_reproducer({"a=@" + first.string(), "b=@" + second.string(),
                                     "a=@" + first.string(), "--key", key.string(), own.string()},
                                    "m");
  REQUIRE(fs::is_directory(made));
  CHECK(contents(made / "x.npy") == "1");
  CHECK(contents(made / "2-x.npy") == "2");
  CHECK_FALSE(fs::exists(made / "3-x.npy"));
  CHECK_FALSE(fs::exists(made / "k.key"));
  CHECK(contents(made / "2-command.txt") == "mine");
  const std::string command = contents(made / "command.txt");
  CHECK(command.find("'--key' '" + key.string() + "'") != std::string::npos);
  CHECK(command.ends_with("# 2-x.npy is '" + second.string() + "'\n# 2-command.txt is '" +
                          own.string() + "'\n"));
  fs::remove_all(made);
  fs::remove_all(folder);
}
