// Suites: every row of ours is a Program that computes what it says, and what is wrong with a
// file is told at once.
#include "driver/lab/suite.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "driver/lab/plan.h"
#include "driver/lab/suite_check.h"
#include "ir/program_text.h"
#include "support/error.h"
#include "tests/runtime/temp_dir.h"

namespace polyte::lab {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> own_suites() {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator("bench/suites"))
    if (entry.path().extension() == ".toml") files.push_back(fs::absolute(entry.path()).string());
  std::sort(files.begin(), files.end());
  return files;
}

TEST_CASE("every row of every suite has a source and computes what the interpreter does") {
  const std::vector<std::string> files = own_suites();
  REQUIRE(files.size() > 10);
  std::size_t rows = 0, programs = 0;
  for (const std::string& file : files) {
    const Suite suite = read_suite(file, "");
    CHECK_FALSE(suite.title.empty());
    for (const SuiteRow& row : suite.rows) CHECK_FALSE(row.source.empty());
    rows += suite.rows.size();
    for (const SuiteFinding& finding : check_suite(suite, {})) {
      ++programs;
      CHECK_MESSAGE(finding.problem.empty(),
                    suite.name << "/" << finding.row << ": " << finding.problem);
      CHECK_MESSAGE(finding.declined.empty(),
                    suite.name << "/" << finding.row << ": " << finding.declined);
    }
  }
  CHECK(rows > 600);
  CHECK(programs > 150);
}

// What a file computes beside its sizes is told by its constants: extents of a convolution
// fit each other.
TEST_CASE("extents of convolutions fit their strides and padding") {
  std::size_t checked = 0;
  for (const std::string& file : own_suites())
    for (const SuiteRow& row : read_suite(file, "").rows) {
      if (row.program.name != "conv2d") continue;
      // y[.., p, ..] reads x[stride * p + dilation * r - pad]: one more point would leave the
      // image on both sides.
      const ir::Statement& update = row.program.statement("y.update");
      const ir::Load* image = ir::loads_of(update.values[0])[0];
      for (const auto& [d, extent, taps, points, p, r] :
           {std::tuple{2, "H", "R", "P", "p", "r"}, {3, "W", "S", "Q", "q", "s"}}) {
        const ir::Affine& at = image->indices[static_cast<std::size_t>(d)].affine;
        const std::int64_t stride = at.coefficient(p), dilation = at.coefficient(r),
                           pad = -at.constant();
        const std::int64_t window = dilation * (row.sizes.at(taps) - 1) + 1;
        CHECK_MESSAGE(
            row.sizes.at(points) == (row.sizes.at(extent) + 2 * pad - window) / stride + 1,
            row.name);
      }
      ++checked;
    }
  CHECK(checked > 200);
}

void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::vector<std::string> problems_of(const testing::TempDir& folder, const std::string& text) {
  write(folder.file("s.toml"), text);
  try {
    read_suite("s.toml", folder.file("."));
  } catch (const UserError& e) {
    std::vector<std::string> problems;
    for (const std::string& problem : e.problems())
      problems.push_back(problem.substr(problem.find("s.toml")));
    return problems;
  }
  return {};
}

constexpr const char* kSmall =
    "title = 't'\nsource = 's'\n[[table]]\n"
    "program = 'g.program'\ncolumns = ['N', 'scale']\nrows = [['a', 8, 3], ['b', 4, 2]]\n";

TEST_CASE("a file of one's own: constants and types are put in, and every problem has its line") {
  const testing::TempDir folder;
  write(
      folder.file("g.program"),
      "program g(N)\n  const scale = 1\n  in x: f64[N]\n  out y: f64[N]\n  y[i] = x[i] * scale\n");
  write(folder.file("s.toml"), std::string("dtype = 'f32'\n") + kSmall);
  const Suite suite = read_suite("s.toml", folder.file("."));
  REQUIRE(suite.rows.size() == 2);
  CHECK(ir::print(suite.rows[0].program).find("x[i] * 3") != std::string::npos);
  CHECK(suite.rows[1].program.buffers[0].dtype == DType::F32);
  CHECK(suite.rows[1].sizes == Sizes{{"N", 4}});
  for (const SuiteFinding& finding : check_suite(suite, {})) CHECK(finding.problem.empty());

  CHECK(UserError(
            ExitStatus::InvalidInput,
            problems_of(folder,
                        "title = 1\n[[table]]\nprogram = 'g.program'\ncolumns = ['M', 'scale']\n"
                        "rows = [['a', 8, 3], ['a', 8, 3], ['b', 8], ['c', -1, 'x']]\nlines = 3\n"))
            .what() ==
        std::string("s.toml:1: 'title': expected text, got a whole number\n"
                    "s.toml:5: row 'a': program 'g' has no size or constant 'M'\n"
                    "s.toml:5: row 'a': sizes needed: N\n"
                    "s.toml:5: two rows have the name 'a'\n"
                    "s.toml:5: row 'a': program 'g' has no size or constant 'M'\n"
                    "s.toml:5: row 'a': sizes needed: N\n"
                    "s.toml:5: a row: expected a name and 2 values (M, scale), got 2 cells\n"
                    "s.toml:5: 'scale': expected a whole number\n"
                    "s.toml:6: unknown key 'table.lines'\n"
                    "s.toml: no title\n"
                    "s.toml: no source: who these sizes are from"));
  CHECK(problems_of(folder, std::string(kSmall) + "dtype = 'f8'\n") ==
        std::vector<std::string>{"s.toml:3: 'dtype': expected f64, f32, f16, bf16, got 'f8'"});
  CHECK(problems_of(folder, "[[[") ==
        std::vector<std::string>{"s.toml: not TOML: the text is not well-formed"});
  CHECK(problems_of(folder, "base = 's.toml'\ntitle = 't'\nsource = 's'\n") ==
        std::vector<std::string>{"s.toml: 'base': more than 4 of each other"});
  CHECK_FALSE(
      problems_of(
          folder,
          "title = 't'\nsource = 's'\n[[table]]\nprogram = 'none.program'\ncolumns = ['N']\n"
          "rows = [['a', 1]]\n")
          .empty());
}

TEST_CASE("sizes of a data set are whole numbers that fit") {
  const testing::TempDir folder;
  write(folder.file("g.program"), "program g(N)\n  in x: f64[N]\n  out y: f64[N]\n  y[i] = x[i]\n");
  const auto problems = [&](const std::string& sizes) {
    write(folder.file("sets.json"), "{\"g\": {\"MINI\": " + sizes + "}}");
    return problems_of(folder,
                       "title = 't'\nsource = 's'\n[[table]]\nfolder = '.'\n"
                       "datasets = 'sets.json'\ndataset = 'MINI'\n");
  };
  CHECK(problems("{\"N\": 8}").empty());
  CHECK(problems("{\"N\": 8.9, \"M\": \"abc\"}") ==
        std::vector<std::string>{"s.toml:3: row 'g': 'N': expected a whole number, got 8.9",
                                 "s.toml:3: row 'g': 'M': expected a whole number, got \"abc\""});
  CHECK(problems("{\"N\": 18446744073709551615}")[0] ==
        "s.toml:3: row 'g': 'N': expected a size, got 18446744073709551615");
}

TEST_CASE("rows of suites are rows of experiments, by name or pattern") {
  const testing::TempDir folder;
  Experiment experiment;
  experiment.origin = folder.file("e.toml");
  experiment.arms = {arm_of("naive")};
  experiment.baseline = "naive";
  experiment.suites = {fs::absolute("bench/suites/gemm.toml").string()};
  experiment.only = {"square*", "gemm/thin"};
  experiment.threads = {1, 2};
  const Plan plan = make_plan(experiment, {});
  CHECK(plan.rows.size() == 10);
  CHECK(plan.programs.size() == 1);
  CHECK(plan.rows[0].name == "gemm/square 256 threads=1");
  CHECK(plan.rows[0].suite == "gemm");
  CHECK(plan.rows[0].sizes == Sizes{{"K", 256}, {"M", 256}, {"N", 256}});
  CHECK(to_json(plan_from_json(to_json(plan), "p")) == to_json(plan));
  experiment.only = {"sqare 256"};
  CHECK_THROWS_WITH_AS(
      make_plan(experiment, {}),
      doctest::Contains("only 'sqare 256': no source has this program, did you mean 'square 256'?"),
      UserError);
  experiment.only.clear();
  experiment.suites.push_back(experiment.suites[0]);
  CHECK_THROWS_WITH_AS(make_plan(experiment, {}), doctest::Contains("is named twice"), UserError);
  experiment.suites = {fs::absolute("bench/suites/polybench-f64.toml").string() + ":MINI"};
  CHECK(make_plan(experiment, {}).rows.size() == 60);
  experiment.suites = {fs::absolute("bench/suites/polybench-f64.toml").string() + ":HUGE"};
  CHECK_THROWS_WITH_AS(make_plan(experiment, {}),
                       doctest::Contains("no data set 'HUGE', expected one of MINI"), UserError);
}

}  // namespace
}  // namespace polyte::lab
