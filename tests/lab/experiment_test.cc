// Experiments and plans: what a file may say, and every problem of one that is wrong.
#include "driver/lab/experiment.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "driver/lab/plan.h"
#include "driver/lab/statistics.h"
#include "ir/program_text.h"
#include "support/error.h"
#include "tests/runtime/temp_dir.h"

namespace polyte::lab {
namespace {

std::vector<std::string> problems_of(const std::string& text) {
  try {
    parse_experiment(text, "e.toml").problems.throw_if_any();
  } catch (const UserError& e) {
    CHECK(e.status() == ExitStatus::InvalidInput);
    return e.problems();
  }
  return {};
}

constexpr const char* kWhole = R"(
name = "all keys"
programs = "C[m,n] = sum[k] A[m,k]*B[k,n]"
arms = ["poly", "peer:gcc"]
baseline = "mine Mr=8"
dtypes = ["f32", "f64"]
threads = [1, 2]
fills = "int:3"
caches = ["warm", "cold"]
target = "cpu:native"
tolerance = 1e-3
seed = 42
exact = true
[sizes]
m = [8, 16]
n = 8
k = 8
[[arm]]
name = "mine"
script = "mine.sched"
params = { Mr = [4, 8], Nr = 16 }
[stop]
rounds = [3, 9]
processes = 2
width = 0.05
round_ms = 0.5
process_seconds = 5
)";

TEST_CASE("every key is read") {
  const Experiment e = parse_experiment(kWhole, "e.toml");
  CHECK(e.name == "all keys");
  CHECK(e.sizes.size() == 2);
  CHECK(e.sizes[1] == Sizes{{"k", 8}, {"m", 16}, {"n", 8}});
  REQUIRE(e.arms.size() == 4);
  CHECK(e.arms[1].kind == ArmSpec::Kind::Peer);
  CHECK(e.arms[1].what == "gcc");
  CHECK(e.arms[2].name == "mine Mr=4");
  CHECK(e.arms[3].params == std::vector<std::string>{"Mr=8", "Nr=16"});
  CHECK(e.caches == std::vector<Caches>{Caches::Warm, Caches::Cold});
  CHECK(e.stop.rounds_most == 9);
  CHECK(e.stop.processes_least == 2);
  CHECK(e.stop.processes_most == 2);
  CHECK(e.seed == 42);
  CHECK(e.exact);
}

TEST_CASE("all problems at once, each with its line") {
  const std::vector<std::string> problems = problems_of(R"(programs = 3
arms = ["polly", "peer:icc"]
thread = 1
threads = 0
caches = "hot"
seed = "x"
[sizes]
m = 1.5
[stop]
rounds = [9, 3]
width = 99
)");
  const std::string all = UserError(ExitStatus::InvalidInput, problems).what();
  for (const char* expected : {
           "e.toml:1: 'programs': expected text or a list of texts, got a whole number",
           ("e.toml:2: unknown arm 'polly', expected naive, isl, poly, template, script:FILE or "
            "peer:NAME"),
           ("e.toml:2: unknown peer 'icc', expected gcc, clang, polly, pluto, numpy, torch, "
            "torch-compile, xla, onnxruntime, openvino, onednn, cublas, triton"),
           "e.toml:3: unknown key 'thread', did you mean 'threads'?",
           "e.toml:4: 'threads': expected 1 to 1024",
           "e.toml:5: 'caches': expected warm, cold or rotated, got 'hot'",
           "e.toml:6: 'seed': expected a whole number, got text",
           "e.toml:8: 'sizes.m': expected a whole number or a list of them, got a number",
           "e.toml:10: 'stop.rounds': expected one number, or [least, most]",
           "e.toml:11: 'stop.width': expected 0 to 10",
           "e.toml: no programs",
       })
    CHECK_MESSAGE(all.find(expected) != std::string::npos, expected, " in ", all);
}

TEST_CASE("arms: names are unique, the baseline is one, a table says what it is") {
  CHECK(problems_of("programs='a.program'\narms=['poly','poly']\n")[0] ==
        "e.toml:2: two arms have the name 'poly'");
  CHECK(problems_of("programs='a.program'\narms=['poly']\nbaseline='polly'\n")[0] ==
        "e.toml:3: baseline 'polly' is no arm, did you mean 'poly'?");
  CHECK(problems_of("programs='a.program'\n[[arm]]\nname='x'\n")[0] ==
        "e.toml:2: an [[arm]] needs one of 'scheduler', 'script' and 'peer'");
  CHECK(problems_of("programs='a.program'\n")[0] ==
        "e.toml: no arms: give arms = [\"poly\", \"template\"]");
  CHECK(problems_of("a = [")[0].starts_with("e.toml:1: not TOML: "));
}

TEST_CASE("keys that stand in the wrong table are told where they belong") {
  CHECK(problems_of("programs='a.program'\narms='poly'\nrounds=3\n")[0] ==
        "e.toml:3: unknown key 'rounds': it belongs under [stop]");
  CHECK(problems_of("programs='a.program'\narms='poly'\n[stop]\nexact=true\n")[0] ==
        "e.toml:4: unknown key 'stop.exact': it stands above all tables");
}

TEST_CASE("what is hostile has limits") {
  std::string grid = "programs='a.program'\narms=['poly']\n[sizes]\n";
  for (const char name : {'a', 'b', 'c', 'd', 'e'}) {
    grid += std::string(1, name) + " = [1,2,3,4,5,6,7,8,9";
    grid += "]\n";
  }
  CHECK(problems_of(grid)[0].find("more than 10000 combinations of sizes") != std::string::npos);
  std::string hundred = "[0";
  for (int size = 1; size < 100; ++size) hundred += "," + std::to_string(size);
  const std::string most =
      "programs='a.program'\narms=['poly']\n[sizes]\na = " + hundred + "]\nb = " + hundred + "]\n";
  CHECK(parse_experiment(most, "e.toml").sizes.size() == 10'000);
  CHECK(problems_of(most + "c = [1,2]\n")[0].find("more than 10000") != std::string::npos);
  CHECK_THROWS_AS(parse_experiment(std::string(2U << 20U, '#'), "e.toml"), UserError);
  CHECK_THROWS_AS(parse_experiment(std::string(100'000, '['), "e.toml"), UserError);
}

TEST_CASE("mutated files are errors or experiments, never a crash") {
  Random random(11);
  int well = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::string text = kWhole;
    for (std::size_t edits = 1 + random.below(4); edits > 0; --edits) {
      const std::size_t at = random.below(text.size());
      static constexpr std::string_view kPieces[] = {"[", "]", "\"", "=", "\n",   "{", "}",
                                                     ".", "#", "9",  "-", "\xff", "'"};
      if (random.below(3) == 0)
        text.erase(at, 1 + random.below(6));
      else
        text.insert(at, std::string(kPieces[random.below(std::size(kPieces))]));
    }
    try {
      parse_experiment(text, "e.toml").problems.throw_if_any();
      ++well;
    } catch (const UserError& e) {
      CHECK_FALSE(e.problems().empty());
    }
  }
  CHECK(well > 0);
  CHECK(well < 3000);
}

Sources sources() {
  return {[](const std::string& source, const std::string& dtype) -> std::vector<ir::Program> {
            if (source.find('[') == std::string::npos)
              throw UserError(ExitStatus::InvalidInput, source + ": not there");
            return {ir::parse_index_notation(
                source, dtype.empty() ? DType::F32 : *dtype_from_string(dtype))};
          },
          [](const std::string& path, const std::vector<std::string>&) {
            return std::vector{schedule::parse_script("schedule mine/1 for op f32 exact\n", path)};
          }};
}

TEST_CASE("a plan is every combination, and is the same after its JSON") {
  const Plan plan = make_plan(parse_experiment(kWhole, "e.toml"), sources());
  CHECK(plan.rows.size() == 2 * 2 * 2 * 2);  // sizes, types, threads, caches
  CHECK(plan.programs.size() == 2);
  CHECK(plan.rows[0].name == "op f32 K=8 M=8 N=8 threads=1 caches=warm");
  CHECK(plan.arm("mine Mr=4").script_for("op") != nullptr);
  const Plan again = plan_from_json(to_json(plan), "plan.json");
  CHECK(to_json(again) == to_json(plan));
  CHECK(ir::digest(*bound_program(again, again.rows[0])) == plan.programs[0].digest);
}

// The arm `hand` of a folder with a script for each of these programs.
Plan plan_with_folder(const std::vector<std::string>& programs) {
  Sources from = sources();
  from.scripts = [&](const std::string& path, const std::vector<std::string>&) {
    std::vector<schedule::Script> scripts;
    for (const std::string& program : programs)
      scripts.push_back(
          schedule::parse_script("schedule mine/1 for " + program + " f32 exact\n", path));
    return scripts;
  };
  return make_plan(parse_experiment("programs = ['C[m] = A[m]']\n[sizes]\nm = 4\n"
                                    "[[arm]]\nname = 'hand'\nscript = 'folder'\n",
                                    "e.toml"),
                   from);
}

TEST_CASE("an arm may be a folder: the script of each program") {
  const Plan plan = plan_with_folder({"another", "op"});
  const PlannedArm& hand = plan.arm("hand");
  REQUIRE(hand.scripts.size() == 1);  // no program of the experiment is called another
  CHECK(hand.script_for("op")->text.find("mine/1 for op") != std::string::npos);
  CHECK(hand.script_for("another") == nullptr);
  CHECK(to_json(plan_from_json(to_json(plan), "plan.json")) == to_json(plan));
  CHECK_THROWS_WITH_AS(
      plan_with_folder({"another", "third"}),
      "e.toml:4: arm 'hand': no source has the program 'another', 'third' of these scripts",
      UserError);
  CHECK_THROWS_WITH_AS(plan_with_folder({"op", "op"}),
                       "e.toml:4: arm 'hand': a second script for 'op'", UserError);
}

TEST_CASE("what is wrong with the file and with what it names is said together") {
  const std::string text = R"(programs = ["y[i] = x[i]", "a.program"]
arms = ["polly",
        "script:no.sched"]
dtypes = ["f33", "f34"]
fills = "rand"
[sizes]
i = 4
q = 4
threads = 2
)";
  Sources from = sources();
  from.scripts = [](const std::string& path,
                    const std::vector<std::string>&) -> std::vector<schedule::Script> {
    throw UserError(ExitStatus::InvalidInput, path + ": there is no such file");
  };
  std::vector<std::string> problems;
  try {
    make_plan(parse_experiment(text, "e.toml"), from);
  } catch (const UserError& e) {
    problems = e.problems();
  }
  const std::vector<std::string> begins = {
      "e.toml:1: a.program: not there",
      "e.toml:2: unknown arm 'polly'",
      "e.toml:3: no.sched: there is no such file",
      "e.toml:4: 'dtypes': got 'f33', expected",
      "e.toml:4: 'dtypes': got 'f34', expected",
      "e.toml:5: 'fills': fill is 'rand', expected",
      "e.toml:8: sizes.q: no program has a size 'q'",
      "e.toml:9: sizes.threads: no program has a size 'threads'; the key 'threads' stands above"};
  REQUIRE(problems.size() == begins.size());
  for (std::size_t i = 0; i < begins.size(); ++i) {
    CAPTURE(problems[i]);
    CHECK(problems[i].starts_with(begins[i]));
  }
}

TEST_CASE("files of a folder are in the order of their names") {
  const polyte::testing::TempDir folder;
  for (const char* name : {"b.sched", "a.sched", "notes.txt"})
    polyte::testing::write_file(folder.file(name), {});
  CHECK(files_in(folder.file(""), ".sched") ==
        std::vector{folder.file("a.sched"), folder.file("b.sched")});
  CHECK_THROWS_WITH_AS(files_in(folder.file(""), ".program"),
                       doctest::Contains("a folder without files NAME.program"), UserError);
}

TEST_CASE("a plan of one script an arm is read as it was written") {
  const Plan plan = make_plan(parse_experiment(kWhole, "e.toml"), sources());
  nlohmann::ordered_json json = to_json(plan);
  for (auto& arm : json["arms"]) {
    const auto scripts = arm["scripts"];
    arm.erase("scripts");
    arm["script"] = scripts.empty() ? "" : scripts[0]["text"];
    arm["program"] = scripts.empty() ? "" : scripts[0]["program"];
  }
  CHECK(to_json(plan_from_json(json, "plan.json")) == to_json(plan));
}

TEST_CASE("problems of a plan: sizes, files, programs, scripts") {
  const auto problem = [](const std::string& text) -> std::string {
    try {
      make_plan(parse_experiment(text, "e.toml"), sources());
    } catch (const UserError& e) {
      return e.what();
    }
    return "";
  };
  CHECK(problem("programs=\"y[i] = x[i]\"\narms=['poly']\n") ==
        "e.toml:1: program 'op': sizes needed: I; for example: sizes = { I=SIZE }");
  CHECK(problem("programs=\"y[i] = x[i]\"\narms=['poly']\nsizes.i=4\nsizes.q=4\n")
            .starts_with("e.toml:4: sizes.q: no program has a size 'q'"));
  CHECK(problem("programs=\"y[i] = x[i]\"\narms=['poly']\nsizes.i=4\nsizes.I=8\n") ==
        "e.toml:3: program 'op': size 'I' is given twice");
  CHECK(problem("programs='a.program'\narms=['poly']\n") == "e.toml:1: a.program: not there");
  CHECK(problem("programs=\"y[i] = x[i]\"\nonly='opp'\narms=['poly']\nsizes.i=4\n") ==
        "e.toml:2: only 'opp': no source has this program, did you mean 'op'?");
}

TEST_CASE("a damaged plan is an error, not a crash") {
  nlohmann::ordered_json json = to_json(make_plan(parse_experiment(kWhole, "e.toml"), sources()));
  CHECK_THROWS_AS(plan_from_json(nlohmann::ordered_json::object(), "p"), UserError);
  nlohmann::ordered_json other = json;
  other["arms"][0]["kind"] = "foo";
  CHECK_THROWS_WITH_AS(plan_from_json(other, "p"),
                       "p: arm 'poly': 'kind': expected scheduler, script or peer, got 'foo'",
                       UserError);
  other = json;
  other["rows"][0]["caches"] = "hot";
  CHECK_THROWS_WITH_AS(plan_from_json(other, "p"),
                       doctest::Contains("': 'caches': expected warm, cold or rotated, got 'hot'"),
                       UserError);
  json["rows"][0]["program"] = 99;
  CHECK_THROWS_AS(plan_from_json(json, "p"), UserError);
  json["rows"] = 3;
  CHECK_THROWS_AS(plan_from_json(json, "p"), UserError);
}

}  // namespace
}  // namespace polyte::lab
