// Scripts taken apart: words, steps, and an order of steps in which each is legal.
#include "driver/lab/script_steps.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "driver/lab/ablation.h"
#include "driver/lab/script_variants.h"
#include "ir/program_text.h"
#include "support/error.h"

namespace polyte::lab {
namespace {

using schedule::Script;

Script script_of(const std::string& lines, const std::string& head = "f32 exact") {
  return schedule::parse_script("schedule s/1 for op " + head + "\n" + lines, "s");
}

constexpr const char* kFirst =
    "param Mr = 4\n"
    "split m by Mr tail cut\nnest m.o > n > { m.i > C.init; k > m.i > C.update }\nparallel m.o\n";
constexpr const char* kSecond =
    "param Mr = 8\nsplit m by Mr tail cut\n"
    "split n by 4 tail cut\nnest m.o > n.o > { m.i > n.i > C.init; k > m.i > n.i > C.update }\n";

TEST_CASE("differences in words") {
  const std::vector<std::string> lines = differences(script_of(kFirst), script_of(kSecond));
  REQUIRE(lines.size() == 6);
  CHECK(lines[0] == "changed: param Mr = 4");
  CHECK(lines[1] == "now:     param Mr = 8");
  CHECK(lines[2].starts_with("changed: nest m.o"));
  CHECK(lines[4] == "only in the first:  parallel m.o");
  CHECK(lines[5].starts_with("only in the second: split n by 4"));
  CHECK(differences(script_of(kFirst), script_of(kFirst)).empty());
  CHECK(differences(script_of(kFirst), script_of(kFirst, "f64 exact"))[0].starts_with(
      "header:  for op"));
}

TEST_CASE("all steps lead to the second script, none to the first, some keep the order of lines") {
  const Script first = script_of(kFirst), second = script_of(kSecond);
  const std::vector<Step> steps = steps_between(first, second);
  REQUIRE(steps.size() == 4);
  const auto lines = [](const Script& script) {
    std::string text;
    for (const schedule::Directive& directive : script.directives)
      text += directive_text(directive) + "\n";
    return text;
  };
  CHECK(lines(with_steps(first, second, steps, {false, false, false, false})) == lines(first));
  CHECK(lines(with_steps(first, second, steps, {true, true, true, true})) == lines(second));
  const std::string one = lines(with_steps(first, second, steps, {true, false, false, false}));
  CHECK(one.starts_with("param Mr = 8\nsplit m by Mr"));
  CHECK(one.find("parallel m.o") != std::string::npos);
}

TEST_CASE("a path takes steps in an order that is legal, together where there is none") {
  const Script first = script_of(kFirst), second = script_of(kSecond);
  const auto has = [](const Script& script, const std::string& begin) {
    return std::ranges::any_of(script.directives, [&](const schedule::Directive& d) {
      return directive_text(d).starts_with(begin);
    });
  };
  int asked = 0;
  // Legal: n is split where the nest has n.o; Mr = 8 only without `parallel`.
  const std::vector<PathStep> path = find_path(first, second, [&](const Script& script) {
    ++asked;
    return has(script, "split n") == has(script, "nest m.o > n.o") &&
           !(has(script, "param Mr = 8") && has(script, "parallel"));
  });
  REQUIRE(path.size() == 3);
  CHECK(path[0].text == "without parallel m.o");
  CHECK(path[1].text.starts_with("param Mr = 8, in place of param Mr = 4"));
  CHECK(path[2].text.find("; ") != std::string::npos);  // the split with the nest
  CHECK(find_path(first, second, [](const Script&) { return false; }).size() == 1);
  CHECK(find_path(first, first, [](const Script&) { return true; }).empty());
  CHECK(asked > 0);
}

Sources notation_sources() {
  return {[](const std::string& source, const std::string&) -> std::vector<ir::Program> {
            return {ir::parse_index_notation(source, DType::F32)};
          },
          {}};
}

Subject subject() {
  Subject subject;
  subject.source = "C[m,n] = sum[k] A[m,k]*B[k,n]";
  subject.sizes = {{"m", 8}, {"n", 8}, {"k", 8}};
  return subject;
}

TEST_CASE("an ablation has the whole, each line left out, each param reset, and each beginning") {
  const Plan plan = ablation_plan(script_of(kFirst), "mine.sched", subject(), notation_sources());
  std::vector<std::string> names;
  for (const PlannedArm& arm : plan.arms) names.push_back(arm.spec.name);
  CHECK(plan.baseline == "mine.sched");
  // The whole; a reset; three lines left out; three beginnings; of Mr two neighbours
  // (m is split by Mr: no number).
  CHECK(names.size() == 1 + 1 + 3 + 3 + 2);
  CHECK(std::ranges::find(names, "with param Mr = 1, not 4") != names.end());
  CHECK(std::ranges::find(names, "without 5: parallel m.o") != names.end());
  CHECK(std::ranges::find(names, "first 5: parallel m.o") == names.end());  // that is the whole
  CHECK(plan.arm("without 5: parallel m.o").scripts[0].text.find("parallel") == std::string::npos);
  CHECK(plan.arm("first 3: split m by Mr   tail cut").scripts[0].text.find("param Mr = 4") !=
        std::string::npos);
}

constexpr const char* kTile =
    "split m by 4 tail cut\nsplit n by 2*L tail cut\n"
    "nest par m.o > n.o > { [m.i] > <n.i> > C.init; k > [m.i] > <n.i> > C.update }\n"
    "stage C at C.update:n.o in register\n";

TEST_CASE("variants: each factor at its neighbours and 1, each marker taken away") {
  std::vector<std::string> texts;
  for (const Variant& variant : factor_variants(script_of(kTile))) texts.push_back(variant.text);
  CHECK(texts == std::vector<std::string>{"m by 1, not 4", "m by 2, not 4", "m by 8, not 4",
                                          "n by 1, not 2*L", "n by 1*L, not 2*L",
                                          "n by 4*L, not 2*L"});
  const std::vector<Variant> markers = marker_variants(script_of(kTile));
  texts.clear();
  for (const Variant& variant : markers) texts.push_back(variant.text);
  CHECK(texts == std::vector<std::string>{"par m.o of C.init, C.update: serial",
                                          "[m.i] of C.init: serial", "<n.i> of C.init: serial",
                                          "[m.i] of C.update: serial",
                                          "<n.i> of C.update: serial"});
  CHECK(schedule::print(markers[3].script).find("k > m.i > <n.i> > C.update") != std::string::npos);
  CHECK(schedule::print(markers[3].script).find("[m.i] > <n.i> > C.init") != std::string::npos);
  // What is no number, or past any sense, has no neighbours.
  CHECK(factor_variants(script_of("split m by Mr tail cut\nsplit n by 99999999999 tail cut\n"))
            .empty());
}

TEST_CASE(
    "splits of one loop by one factor change together, another factor of the same loop stays") {
  const std::vector<Variant> variants = factor_variants(
      script_of("split C.update: m by 4 tail cut\nsplit C.init: m by 4 tail cut\nsplit n by 3\n"));
  REQUIRE(variants.size() == 3 + 2);
  const std::string text = schedule::print(variants[0].script);
  CHECK(text.find("by 4") == std::string::npos);
  CHECK(text.find("by 3") != std::string::npos);
}

TEST_CASE("a line that differs in several ways is changed in parts, in their order") {
  const Script first = script_of("split m by 4 tail cut\nnest m > n > { C.init; k > C.update }\n");
  const Script second =
      script_of("split m by 8 tail guard\nnest par m > { n > C.init; k > <n> > C.update }\n");
  const std::vector<Step> steps = steps_between(first, second);
  std::vector<std::string> texts;
  for (const Step& step : steps)
    texts.push_back(step.text.substr(0, step.text.find(", in place of")));
  CHECK(texts == std::vector<std::string>{"split m by 8   tail cut", "split m by 8   tail guard",
                                          "nest m > { n > C.init; k > n > C.update }",
                                          "nest par m > { n > C.init; k > n > C.update }",
                                          "nest par m > { n > C.init; k > <n> > C.update }"});
  CHECK(differences(first, second).size() == 4);  // in words the line has changed once
  const Script half = with_steps(first, second, steps, {false, false, true, true, false});
  CHECK(directive_text(half.directives[0]) == directive_text(first.directives[0]));
  CHECK(directive_text(half.directives[1]) == texts[3]);
  // A part never comes before an earlier one: where no half is legal, all of it is one step.
  const std::vector<PathStep> path = find_path(first, second, [](const Script&) { return true; });
  CHECK(path.size() == 5);
  CHECK(find_path(first, second, [](const Script&) { return false; }).size() == 1);
}

TEST_CASE("an ablation takes what is asked for, and says when that is too much") {
  constexpr Ablated kMarkersOnly[] = {Ablated::Markers};
  const Plan plan =
      ablation_plan(script_of(kTile), "t", subject(), notation_sources(), kMarkersOnly);
  CHECK(plan.arms.size() == 1 + 5);
  std::string many = "nest C.init\n";
  for (int i = 1; i < 60; ++i) many += "split m by " + std::to_string(2 * i + 2) + " tail cut\n";
  CHECK_THROWS_WITH_AS(ablation_plan(script_of(many), "many", subject(), notation_sources()),
                       doctest::Contains("at most 200 are measured"), UserError);
}

TEST_CASE("a path asks the prover; scripts of two programs have none") {
  const Script plain = script_of("split m by 4 tail cut\n"),
               more = script_of("split m by 4 tail cut\nparallel m.o\n");
  CHECK_THROWS_AS(path_plan(plain, "a", plain, "b", subject(), notation_sources()), UserError);
  const Plan plan = path_plan(plain, "a", more, "b", subject(), notation_sources());
  CHECK(plan.arms.size() == 2);
  const Script other = schedule::parse_script("schedule s/1 for other f32 exact\n", "o");
  CHECK_THROWS_WITH_AS(path_plan(plain, "a", other, "b", subject(), notation_sources()),
                       "a is for 'op', b for 'other': expected two scripts of one program",
                       UserError);
}

}  // namespace
}  // namespace polyte::lab
