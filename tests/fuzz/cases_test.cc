// Cases that fuzzers found, one file each: a Program with its sizes, then a Script. Each goes down
// every path again, machine code included, and must be accepted, or refused as its first line says:
// `# refused: WORDS`. After `# open: M=3, T=4` its sizes are open, and these are some of them.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "driver/compile/describe_target.h"
#include "driver/judge/fuzz/judge.h"

using namespace polyte;
using namespace polyte::fuzz;

namespace {

const codegen::Target& shared_target() {
  static const codegen::Target target = codegen::target_for_cpu("x86-64-v3");
  return target;
}

std::string words_after(const std::string& mark, const std::string& text) {
  const std::size_t at = text.find(mark);
  return at == std::string::npos
             ? ""
             : text.substr(at + mark.size(), text.find('\n', at) - at - mark.size());
}

Case case_of(const std::string& text) {
  const std::size_t script = text.find("\nschedule ");
  REQUIRE(script != std::string::npos);
  Case c;
  c.program.text = text.substr(0, script + 1);
  c.script = schedule::parse_script(text.substr(script + 1), "case.sched");
  c.native = true;
  c.renames = true;
  c.data_seed = 4;  // isl's order is compared
  std::istringstream sizes(words_after("# open: ", text));
  for (std::string size; std::getline(sizes >> std::ws, size, ',');)
    c.program.sizes[size.substr(0, size.find('='))] = std::stoll(size.substr(size.find('=') + 1));
  c.open = !c.program.sizes.empty();
  return c;
}

constexpr const char* kSum = R"(program total(N)
  in  x: i32[5]
  out y: i32[1]

  y[i] = sum[k in 0..5] x[k]  for i in 0..1

schedule s/1 for total  i32  exact
)";

}  // namespace

TEST_CASE("what fuzzers found stays right") {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("tests/fuzz/cases"))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  REQUIRE(!files.empty());
  for (const auto& file : files) {
    INFO(file.string());
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    const std::string target = words_after("# target: ", text.str());
    const Verdict verdict =
        judge(case_of(text.str()), target.empty() ? shared_target() : driver::target_named(target));
    const std::string refusal = words_after("# refused: ", text.str());
    INFO(verdict.failure);
    INFO(verdict.detail);
    if (refusal.empty()) {
      CHECK(verdict.outcome == Outcome::Accepted);
    } else {
      CHECK(verdict.outcome != Outcome::Accepted);
      CHECK(verdict.outcome != Outcome::Failed);
      CHECK(verdict.detail.find(refusal) != std::string::npos);
    }
  }
}

TEST_CASE("the judge: accepted, refused and justified, malformed") {
  Case c = case_of(std::string(kSum) + "split k by 2\nunroll k.i\n");
  c.program.sizes["N"] = 1;
  CHECK(judge(c, shared_target()).outcome == Outcome::Accepted);
  c.script = case_of(std::string(kSum) + "parallel k\n").script;
  const Verdict race = judge(c, shared_target());
  CHECK(race.outcome == Outcome::Illegal);
  CHECK(race.executed);
  CHECK(race.justified);
  c.script = case_of(std::string(kSum) + "split q by 2\n").script;
  CHECK(judge(c, shared_target()).outcome == Outcome::Malformed);
  c.program.text = "program total()\n  out y: i32[1]\n  y[i] = z[i]\n";
  CHECK(judge(c, shared_target()).outcome == Outcome::Failed);
}
