// Scripts with holes: what completes them, what stays, and what is reported where nothing does.
#include "poly/complete.h"

#include <fstream>
#include <sstream>

#include "schedule/script/pins.h"
#include "tests/poly/checked_script.h"

namespace polyte::poly {

using schedule::has;

namespace {

std::shared_ptr<const ir::Program> dense() {
  return schedule::bound_program(schedule::kDenseRelu, {{"M", 40}, {"N", 70}, {"K", 50}});
}
std::shared_ptr<const ir::Program> jacobi() {
  return schedule::bound_program(schedule::kJacobi, {{"T", 6}, {"N", 40}});
}

schedule::Script partial_of(const ir::Program& program, const std::string& lines) {
  return schedule::parse_script("schedule s/1 for " + program.name + "\n" + lines, "s.sched");
}

// The completion as text, once its pins are held against it, and it is proved and executed.
std::string completed(const std::shared_ptr<const ir::Program>& program, const std::string& lines) {
  const schedule::Script partial = partial_of(*program, lines);
  const auto completion = complete(program, partial, one_core());
  REQUIRE_MESSAGE(static_cast<bool>(completion),
                  (completion ? std::string() : completion.error().headline));
  const auto broken = schedule::broken_pins(program, partial, completion->script, one_core());
  CHECK_MESSAGE(broken.empty(), schedule::print(broken.front()));
  return schedule::checked_text(program, completion->script, one_core());
}

std::string body_of(const std::string& script) { return script.substr(script.find('\n') + 1); }

std::string refused(const std::shared_ptr<const ir::Program>& program, const std::string& lines) {
  const auto completion = complete(program, partial_of(*program, lines), one_core());
  REQUIRE(!completion);
  return schedule::to_string(completion.error(), "s.sched", "");
}

}  // namespace

TEST_CASE("nothing pinned is poly's script") {
  for (const auto& program : {dense(), jacobi()}) {
    const auto own = auto_schedule(*program, one_core(), {});
    REQUIRE(static_cast<bool>(own));
    CHECK(body_of(completed(program, "")) == body_of(schedule::print(*own)));
    CHECK(body_of(completed(program, "...\n")) == body_of(schedule::print(*own)));
  }
}

TEST_CASE("everything pinned is the script itself") {
  const std::string lines =
      "split n by 8   tail cut\n"
      "nest m > n.o > { <n.i> > acc.init; k > <n.i> > acc.update; <n.i> > y }\n";
  const auto completion = complete(dense(), partial_of(*dense(), lines), one_core());
  REQUIRE(static_cast<bool>(completion));
  CHECK(body_of(schedule::print(completion->script)) == lines);
}

TEST_CASE("a size that is given, and one that is asked for") {
  const std::string given = completed(dense(), "split m by 5   tail cut\n...\n");
  CHECK(body_of(given).starts_with("split m by 5   tail cut\n"));
  CHECK(has(given, "[m.i]"));
  CHECK(has(given, "stage acc at"));
  const std::string asked = completed(dense(), "param F = ? in {2, 4}\nsplit m by F   tail cut\n");
  CHECK((has(asked, "param F = 2 in {2, 4}   #: tile-model\n") ||
         has(asked, "param F = 4 in {2, 4}   #: tile-model\n")));
  CHECK(has(completed(jacobi(), "split t by 3   tail cut\n...\n"), "> B; "));
}

TEST_CASE("loops by their places, kinds and company") {
  CHECK(has(completed(dense(), "nest par n.o > ...\n"), "nest par n.o > "));
  CHECK(has(completed(dense(), "nest ... > par m.o > ... > y\n"), "par m"));
  const std::string apart = completed(dense(), "nest { ... > acc.update; ... > y }\n");
  CHECK(has(apart, "; m.o > n.o > [m.i] > <n.i> > y }"));
  CHECK(has(completed(jacobi(), "nest ... > par i > ... > B\n"), "par i > "));
  CHECK(has(completed(jacobi(), "nest ... > <j> > A\n"), "<j> > A"));
}

TEST_CASE("lines of the person stay first and last, and poly's say whose they are") {
  const std::string text = completed(dense(), "split m by 5   tail cut\n...\nstream y\n");
  CHECK(has(text, "\nsplit m by 5   tail cut\n"));
  CHECK(text.ends_with("\nstream y\n"));
  std::istringstream lines(body_of(text));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line))
    if (line != "stream y") CHECK_MESSAGE(has(line, "#: "), line);
}

TEST_CASE("the line that stands in the way, with its counterexample") {
  const std::string fused =
      refused(jacobi(), "nest ... > <j> > A\nnest t > i > { ... > B; ... > A }\n");
  CHECK(has(fused, "s.sched:3: nest t > i > { ... > B; ... > A }  is illegal"));
  CHECK(has(fused, "A(t=0, i=1, j=1) comes first"));
  const auto in_place = schedule::bound_program(schedule::kSeidel, {{"T", 4}, {"N", 12}});
  CHECK(has(refused(in_place, "reverse i\n...\n"), "s.sched:2: reverse i  is illegal"));
  CHECK(has(refused(jacobi(), "nest ... > z > B\n"), "s.sched:2: nest ... > z > B"));
  CHECK(has(refused(jacobi(), "nest par t > ...\n"), "s.sched:2: nest par t > ...  is illegal"));
}

TEST_CASE("a header that says exact keeps the order of sums") {
  const auto program = schedule::bound_program(schedule::kRowSums, {{"M", 20}, {"N", 90}});
  CHECK(has(completed(program, "...\n"), "reassoc"));
  const schedule::Script exact =
      schedule::parse_script("schedule s/1 for row_sums f32 exact\n...\n", "s.sched");
  const auto completion = complete(program, exact, one_core());
  REQUIRE(static_cast<bool>(completion));
  CHECK(has(schedule::print(completion->script), "f32  exact\n"));
}

}  // namespace polyte::poly
