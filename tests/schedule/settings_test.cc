// What a script says besides schedules: params with domains and holes, includes, selectors, and
// notes about directives without effect.
#include <filesystem>
#include <fstream>

#include "schedule/script/selectors.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule::settings_test {

namespace {

std::shared_ptr<const ir::Program> gemm() {
  return bound_program(kDenseRelu, {{"M", 7}, {"N", 9}, {"K", 10}});
}

std::string nest_of(const std::string& lines) { return print_nest(state_of(gemm(), lines).tree); }

std::string refusal_of(const std::string& lines) {
  const auto program = gemm();
  const auto state =
      replay(program, script_of(*program, lines), test_machine(), {ProofLevel::Full, {}});
  return state ? "accepted" : state.error().headline;
}

std::string round_trip(const std::string& line) {
  const auto program = gemm();
  const std::string text = print(script_of(*program, line));
  CHECK(print(parse_script(text, "again")) == text);
  return text.substr(text.find('\n') + 1);
}

std::vector<std::string> notes_of(const std::string& lines) {
  const auto program = gemm();
  std::vector<std::string> notes;
  const auto state =
      replay(program, script_of(*program, lines), test_machine(), {ProofLevel::Off, {}, &notes});
  REQUIRE_MESSAGE(static_cast<bool>(state), (state ? std::string() : state.error().headline));
  return notes;
}

std::string problems_of(const std::string& text, const Includer& includer = {}) {
  try {
    parse_script(text, "s.sched", includer);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("params with domains and holes") {
  CHECK(round_trip("param F = 4 in {4, 8}, G = ? in {2*L}") ==
        "param F = 4 in {4, 8}, G = ? in {2*L}\n");
  CHECK(round_trip("let rest = ...") == "let rest = ...\n");
  CHECK(refusal_of("param F = 8 in {4, 2*L}\nsplit m by F") == "accepted");
  CHECK(refusal_of("param F = 5 in {4, 2*L}") == "F is 5, not one of {4, 8}");
  CHECK(refusal_of("param F = ? in {4, 8}") ==
        "F has no value yet: give it one with --param F=VALUE, one of {4, 8}, or let polyte "
        "complete fill it");
  CHECK(refusal_of("param F = ?") ==
        "F has no value yet: give it one with --param F=VALUE, or let polyte complete fill it");
  CHECK(
      refusal_of("let rest = ...") ==
      "rest has no value yet: give it one with --param rest=PATH, or let polyte complete fill it");
  const std::string header = "schedule s/1 for p f32 exact\n";
  for (const std::string name : {"level", "pad", "every", "fold", "updates", "min", "and"})
    for (const std::string& line : {"param F = 8, " + name + " = 4", "let " + name + " = 2*L"})
      CHECK(problems_of(header + line) ==
            "s.sched:2: no size can be called " + name + ", which is a word of the language");
  CHECK(nest_of(
            "split n by 4\nlet level = n.o > n.i\nnest m > { level > acc.init; acc.update; y }") ==
        "m > { n.o > n.i > acc.init; n.o > n.i > k > acc.update; n.o > n.i > y }");
  Script script = script_of(
      *gemm(),
      "param F = ?\nlet rest = ...\nsplit n by F\nnest m > { rest > acc.init; acc.update; y }");
  fill(script, {{"F", "4"}, {"rest", "n.o > <n.i>"}});
  const auto state = replay(gemm(), script, test_machine(), {ProofLevel::Full, {}});
  REQUIRE(static_cast<bool>(state));
  CHECK(print_nest(state->tree) ==
        "m > { n.o > <n.i> > acc.init; n.o > n.i > k > acc.update; n.o > n.i > y }");
  CHECK_THROWS_WITH_AS(fill(script, {{"Q", "4"}}),
                       "--param Q=4: the script has no param or let 'Q' (it has F, rest)",
                       UserError);
}

TEST_CASE("a condition that fails shows its sides and values") {
  CHECK(refusal_of("param F = 8, G = 6 where F > 4 and F % G == 0") ==
        "the condition does not hold: 2 == 0 where F = 8, G = 6");
  CHECK(refusal_of("param F = 8 where min(F, 4) >= max(2, 5)") ==
        "the condition does not hold: 4 >= 5 where F = 8");
  CHECK(refusal_of("param F = 8 where F < 4 or F > 12") == "the condition does not hold: F = 8");
  CHECK(refusal_of("where L == 3") == "the condition does not hold: 4 == 3 where L = 4");
}

TEST_CASE("selectors mean many loops") {
  CHECK(nest_of("split acc: m by 2, n by 4\nunroll acc: *.i") ==
        "{ m.o > [m.i] > n.o > [n.i] > acc.init; m.o > [m.i] > n.o > [n.i] > k > acc.update; m > n "
        "> y }");
  CHECK(nest_of("nest m > n > { acc.init; k > acc.update; y }\nunroll all: innermost") ==
        "m > n > { acc.init; [k] > acc.update; y }");
  CHECK(nest_of("parallel all: outermost") ==
        "{ par m > n > acc.init; par m > n > k > acc.update; par m > n > y }");
  CHECK(nest_of("parallel y: *") ==
        "{ m > n > acc.init; m > n > k > acc.update; par m > par n > y }");
  CHECK(round_trip("unroll acc: *.i, m.*") == "unroll acc:*.i\nunroll acc:m.*\n");
  CHECK(refusal_of("unroll acc: *.i") == "no loop of acc is meant by *.i (loops are m, n, k)");
  CHECK(refusal_of("unroll accu: *") ==
        "no statement is called accu (statements are acc.init, acc.update, y)");
  CHECK(refusal_of("vectorize all: innermost") ==
        "for acc.update:k: vector loop k carries a dependence through acc[0, 0]");
  CHECK(round_trip("unroll all: *.i") == "unroll all:*.i\n");
}

TEST_CASE("includes stand in their place") {
  const std::string header = "schedule s/1 for p f32 exact\n";
  const std::map<std::string, std::string> files = {{"a", "split m by 4\ninclude \"b\"\n"},
                                                    {"b", "unroll m.i\n"},
                                                    {"c", "include \"d\"\n"},
                                                    {"d", "include \"c\"\n"},
                                                    {"wrong", "\nunroll\n"}};
  const Includer includer = [&](const std::string& name, const std::string&) -> IncludedText {
    if (files.count(name) == 0) throw UserError(ExitStatus::InvalidInput, "there is no " + name);
    return {name, files.at(name)};
  };
  const Script script = parse_script(header + "include \"a\"\nparallel m.o\n", "s.sched", includer);
  CHECK(print(script) ==
        "schedule s/1 for p  f32  exact\nsplit m by 4   tail guard\nunroll m.i\nparallel m.o\n");
  CHECK(script.directives[1].file == "b");
  CHECK(script.directives[1].line == 1);
  CHECK(problems_of(header + "include \"c\"\n", includer) ==
        "d:1: a cycle: c includes d includes c");
  CHECK(problems_of(header + "include \"s.sched\"\n", [](const auto&, const auto&) {
          return IncludedText{"s.sched", ""};
        }) == "s.sched:2: a cycle: s.sched is this script");
  CHECK(problems_of(header + "include \"wrong\"\n", includer) ==
        "wrong:2: expected a loop, got the end of the line; for example: unroll n.i, after split n "
        "by 8");
  CHECK(problems_of(header + "include \"e\"\n", includer) == "s.sched:2: there is no e");
  CHECK(problems_of(header + "include \"a\"\n") ==
        "s.sched:2: this script comes from no file: it cannot include one");
  CHECK(problems_of(header + "include a\n", includer) == "s.sched:2: expected include \"FILE\"");
}

TEST_CASE("an included file stands as far in as the line that includes it") {
  const std::map<std::string, std::string> files = {{"two", "split m by 4\nunroll m.i\n"},
                                                    {"in", "  unroll m.i\n"},
                                                    {"block", "specialize M > 8\n  unroll m\n"},
                                                    {"open", "specialize M > 8\n"}};
  const Includer includer = [&](const std::string& name, const std::string&) -> IncludedText {
    return {name, files.at(name)};
  };
  const std::string header = "schedule s/1 for p f32 exact\n";
  const auto same = [&](const std::string& lines, const std::string& written_out) {
    CAPTURE(lines);
    CHECK(print(parse_script(header + lines, "s.sched", includer)) ==
          print(parse_script(header + written_out, "s.sched")));
  };
  same("specialize M > 4\n  include \"two\"\nelse\n  unroll n\n  include \"two\"\nunroll k\n",
       "specialize M > 4\n  split m by 4\n  unroll m.i\nelse\n  unroll n\n  split m by 4\n"
       "  unroll m.i\nunroll k\n");
  same("specialize M > 4\n  split m by 4\ninclude \"in\"\n",
       "specialize M > 4\n  split m by 4\nunroll m.i\n");
  same("specialize M > 4\n  include \"block\"\n  unroll k\n",
       "specialize M > 4\n  specialize M > 8\n    unroll m\n  unroll k\n");
  same("include \"block\"\n  unroll k\n", "specialize M > 8\n  unroll m\nunroll k\n");
  CHECK(problems_of(header + "include \"open\"\n  unroll k\n", includer) ==
        "open:1: specialize needs directives below it, further in");
}

TEST_CASE("directives without effect are noted") {
  CHECK(notes_of("split m by 4\nunroll y: m.i").empty());
  CHECK(notes_of("split y: m by 1\nunroll m.i") ==
        std::vector<std::string>{
            "line 3: unroll m.i: unrolled loop m.i runs once: it has no effect"});
  CHECK(notes_of("reorder y: m > n") ==
        std::vector<std::string>{"line 2: reorder y: m > n: it has no effect"});
  CHECK(notes_of("param F = 4, G = 8\nsplit m by F") ==
        std::vector<std::string>{"line 2: param G is not used"});
  CHECK(notes_of("let t = [m.i]") == std::vector<std::string>{"line 2: let t is not used"});
  CHECK(notes_of("vectorize y:n") ==
        std::vector<std::string>{"line 2: vectorize y:n: vector loop n runs 9 iterations, no "
                                 "multiple of the 4 lanes of a vector"});
  CHECK(notes_of("unroll y:n\nunroll y:n") ==
        std::vector<std::string>{"line 3: unroll y:n: it has no effect"});
}

}  // namespace polyte::schedule::settings_test
