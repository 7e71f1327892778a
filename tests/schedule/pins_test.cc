// What the lines of a script pin, and whether a finished one keeps it.
#include "schedule/script/pins.h"

#include "schedule/script/nest_pattern.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule::pins_test {

namespace {

NestTree nest_from(const std::string& text) {
  const Script script = parse_script("schedule s/1 for p\nnest " + text + "\n", "s.sched");
  return std::get<Nest>(script.directives.front().operation).tree;
}

bool fits(const std::string& pattern, const std::string& nest) {
  return matches(nest_from(pattern), nest_from(nest), false);
}

std::shared_ptr<const ir::Program> dense() {
  return bound_program(kDenseRelu, {{"M", 8}, {"N", 12}, {"K", 10}});
}

Script lines(const std::string& text) {
  return parse_script("schedule s/1 for dense_relu\n" + text, "s.sched");
}

// The first pin that the finished script breaks.
std::string broken(const std::string& partial, const std::string& finished) {
  const auto found = broken_pins(dense(), lines(partial), lines(finished), test_machine());
  return found.empty() ? "" : print(found.front());
}

}  // namespace

TEST_CASE("patterns of nests") {
  CHECK(fits("...", "i > j > a"));
  CHECK(fits("i > ...", "par i > j > a"));
  CHECK(!fits("par i > ...", "i > j > a"));
  CHECK(fits("i > ...", "{ k > b; i > a }"));
  CHECK(!fits("i > ...", "k > i > a"));
  CHECK(fits("... > i > ...", "k > { b; i > a }"));
  CHECK(fits("... > i > ... > a", "k > { b; i > j > a }"));
  CHECK(!fits("... > i > a", "k > { b; i > j > a }"));
  CHECK(fits("... > i > { ... > a; ... > b }", "t > i > { j > a; c; k > b }"));
  CHECK(!fits("... > i > { ... > a; ... > b }", "t > i > j > { a; b }"));
  CHECK(!fits("{ ... > a; ... > b }", "i > { a; b }"));
  CHECK(fits("{ ... > a; ... > b }", "{ i > a; i > b }"));
  CHECK(fits("i > { ...; b }", "i > { j > a; b }"));
  CHECK(!fits("i > { a; b }", "i > { b; a }"));
  CHECK(!fits("... > a", "i > b"));
}

TEST_CASE("holes are listed, all of them, and what fills them") {
  const Script script = lines("split k by ?\nparam F = ? in {2, 4}\nnest m > ...\n");
  const auto refusal = refuse_holes(script);
  REQUIRE(refusal.has_value());
  CHECK(to_string(*refusal, "s.sched", "") ==
        "s.sched:2: split k by ?   tail guard  is not a schedule: a size is open: "
        R"(polyte complete fills it
  also open     3: param F = ? in {2, 4}
  also open     4: nest m > ...
)");
  CHECK(print(lines("...\ntile (m, n) by (?, 4)\n")).find("\n...\ntile (m, n) by (?, 4)") !=
        std::string::npos);
}

TEST_CASE("a split is pinned by what its loops count, whole or in parts") {
  const std::string rest = "nest m > n > { acc.init; k.o > k.i > acc.update; y }\n";
  CHECK(broken("split k by 4\n...\n", "split k by 4\n" + rest) == "");
  CHECK(broken("split k by ?\n...\n", "split k by 4\n" + rest) == "");
  CHECK(broken("split k by 4\n...\n", "split k by 4\nsplit k.o by 2\n") == "");
  CHECK(broken("split k by 4\n...\n", "split k by 2\n" + rest) ==
        "line 2: split k by 4   tail guard: it is now: split k by 2   tail guard");
  CHECK(broken("split k by 4\n...\n", "split k by 4\nfuse acc.update: k.o, k.i as k\n") ==
        "line 2: split k by 4   tail guard: acc.update has no loop that counts k % 4");
}

TEST_CASE("kinds, orders, and loops in common are pinned") {
  CHECK(broken("parallel y: m\n...\n", "parallel y: m\nsplit y: n by 4\n") == "");
  CHECK(broken("parallel y: m\n...\n", "parallel y: m\nnest m > n > y\n") ==
        "line 2: parallel y:m: the nest has another form: { m > n > acc.init; m > n > k > "
        "acc.update; m > n > y }");
  CHECK(broken("reorder y: n > m\n...\n", "reorder y: n > m\nnest m > n > y\n") != "");
  CHECK(broken("merge acc.init, acc.update through m\n...\n",
               "merge acc.init, acc.update through m\nnest { m > n > acc.init; m > n > k > "
               "acc.update; m > n > y }\n") != "");
  CHECK(broken("nest m > n > { acc.init; k > acc.update; y }\n...\n",
               "nest m > n > { acc.init; k > acc.update; y }\nparallel m\n") != "");
}

TEST_CASE("a loop is known by what it counts") {
  const std::string turned = "map y (n, m) as (m, n)\n";  // its m counts n
  CHECK(broken("nest ... > m > ... > n > y\n", turned + "nest m > n > y\n") != "");
  CHECK(broken("nest ... > m > ... > n > y\n", turned + "nest n > m > y\n") == "");
  CHECK(broken("nest ... > par m.o > ... > y\n", "split y: m by 4\nparallel y: m.o\n") == "");
}

TEST_CASE("a loop that one statement has and another gets") {
  const std::string open =
      "split acc.init: m by 4\nnest m.o > { ... > acc.init; ... > acc.update }\n";
  CHECK(broken(open,
               "split acc.init: m by 4\nsplit acc.update: m by 4\n"
               "nest m.o > { m.i > n > acc.init; k > m.i > n > acc.update }\n") == "");
}

TEST_CASE("storage and hints are pinned") {
  CHECK(broken("stage acc\n...\n", "stage acc\nparallel y: m\n") == "");
  CHECK(broken("stream y\n...\n", "stream y\nparallel y: m\n") == "");
  CHECK(broken("...\nvectorize y: n\n", "parallel y: m\nvectorize y: n\n") == "");
  CHECK(broken("...\nvectorize y: n\n", "vectorize y: n\nparallel y: m\n") ==
        "line 3: vectorize y:n: it is now: parallel y:m");
}

}  // namespace polyte::schedule::pins_test
