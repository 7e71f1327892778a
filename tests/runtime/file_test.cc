// Files written whole or not at all, and read to memory of our own.
#include "runtime/file.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <algorithm>
#include <filesystem>

#include "support/error.h"
#include "tests/runtime/temp_dir.h"

namespace {

using namespace polyte;
using namespace polyte::runtime;
using polyte::testing::TempDir;

std::ptrdiff_t files_in(const TempDir& dir) {
  return std::distance(std::filesystem::directory_iterator(dir.file("")), {});
}

TEST_CASE("an output file appears when it is finished, by any name that a file may have") {
  const TempDir dir;
  const std::string path = dir.file(std::string(255, 'n'));
  {
    OutputFile given_up(path);
    given_up.write(as_bytes("half"));
    CHECK(files_in(dir) == 0);
  }
  CHECK(files_in(dir) == 0);
  for (const char* text : {"one", "another"}) {
    OutputFile file(path);
    file.write(as_bytes(text));
    file.finish();
    CHECK(testing::read_file(path) == testing::to_bytes(text));
    CHECK(files_in(dir) == 1);
  }
  CHECK_THROWS_AS(OutputFile(dir.file(std::string(256, 'n'))), UserError);
}

TEST_CASE("an output file has the rights that the umask leaves") {
  const TempDir dir;
  const mode_t old = umask(027);
  OutputFile file(dir.file("a"));
  file.finish();
  umask(old);
  struct stat status{};
  REQUIRE(stat(dir.file("a").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
}

TEST_CASE("what was read of a file stays, what is cut off is missed") {
  const TempDir dir;
  const std::string path = dir.file("a");
  std::vector<std::byte> content(1 << 18, std::byte{7});
  testing::write_file(path, content);
  FileContent file(path);
  CHECK(file.bytes(0, 10)[9] == std::byte{7});
  std::filesystem::resize_file(path, 100);
  CHECK(file.bytes(0, 1 << 16).back() == std::byte{7});
  CHECK_THROWS_WITH_AS(
      file.all(), ("file '" + path + "': became shorter while it was read").c_str(), UserError);
}

}  // namespace
