// A child that we exchange lines with: neither its silence nor its haste may hold us.
#include "driver/lab/child.h"

#include <doctest/doctest.h>

namespace polyte::lab {
namespace {

// More than a pipe holds, in both directions.
constexpr std::size_t kMuch = 1U << 20U;

std::string ending_of_shell(const std::string& script, double seconds, std::size_t& lines) {
  lines = 0;
  return run_child({"sh", "-c", script}, std::string(kMuch, 'x'), seconds,
                   [&](const std::string&) { ++lines; });
}

TEST_CASE("input and output of a child go together, and the limit holds for both") {
  std::size_t lines = 0;
  // It answers before it has read; it reads nothing and ends; it never reads.
  CHECK(ending_of_shell("yes $(printf %09999d 0) | head -n 100; cat >/dev/null", 500, lines) == "");
  CHECK(lines == 100);
  CHECK(ending_of_shell("exit 5", 500, lines) == "ended with status 5");
  CHECK(ending_of_shell("exec sleep 1000000", 0.1, lines) == "took more than 0 s");
  CHECK(lines == 0);
  CHECK(run_child({"cat"}, "a\nb\n", 500, [&](const std::string&) { ++lines; }) == "");
  CHECK(lines == 2);
}

TEST_CASE("a child is ended where who waits for it is told to stop") {
  int asked = 0;
  CHECK(run_child(
            {"sleep", "1000000"}, "", 500, [](const std::string&) {},
            [&] { return ++asked == 2; }) == "was stopped");
  CHECK(asked == 2);
}

}  // namespace
}  // namespace polyte::lab
