// A tiny experiment from end to end, by the built binary: what is measured, what is refused, that a
// run goes on where it was cut off, and that two runs do not mix. Nothing here looks at a time.
#include <doctest/doctest.h>

#include <sys/wait.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "driver/lab/results.h"
#include "tests/runtime/temp_dir.h"

namespace polyte::lab {
namespace {

namespace fs = std::filesystem;

struct Answer {
  int status = 0;
  std::string out;  // both streams
};

Answer polyte(const std::string& arguments) {
  Answer answer;
  FILE* pipe = popen((std::string(POLYTE_BINARY) + " " + arguments + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[4096];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, pipe))
    answer.out.append(buffer, count);
  const int status = pclose(pipe);
  answer.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return answer;
}

void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// One row in two processes; a script that is right, one whose proof fails, one for another program.
void write_experiment(const testing::TempDir& folder) {
  write(folder.file("sums.program"),
        "program sums(N)\n  in x: f32[N]\n  out y: f32[N]\n  y.up: y[i] = x[i] + 1 for i in 0..N\n"
        "\nprogram scan(N)\n  in x: f32[N]\n  out y: f32[N]\n  y.first: y[i] = x[i] for i in 0..1\n"
        "  loop t in 1..N\n    y.next: y[t] = y[t - 1] + x[t]\n");
  write(folder.file("right.sched"),
        "schedule right/1 for sums f32 exact\nsplit y.up: i by 8 tail cut\n");
  write(folder.file("wrong.sched"), "schedule wrong/1 for scan f32 exact\nparallel t\n");
  write(folder.file("e.toml"),
        "programs = 'sums.program'\n"
        "arms = ['naive', 'poly', 'script:right.sched', 'script:wrong.sched', 'peer:gcc']\n"
        "[sizes]\nn = 64\n[stop]\nrounds = 2\nprocesses = 2\nround_ms = 0.01\n");
}

std::string run(const testing::TempDir& folder) {
  return "lab run " + folder.file("e.toml") + " --out " + folder.file("out") + " --quiet";
}

const ArmResult& arm_of(const Results& results, const std::string& row, const std::string& arm) {
  for (const RowResult& one : results.rows)
    if (one.name == row) {
      const ArmResult* found = one.find(arm);
      REQUIRE(found != nullptr);
      return *found;
    }
  FAIL("no row " << row);
  return *results.rows[0].find(arm);
}

TEST_CASE("an experiment from end to end") {
  const testing::TempDir folder;
  write_experiment(folder);
  const Answer first = polyte(run(folder));
  REQUIRE_MESSAGE(first.status == 0, first.out);
  const Results results = read_results(folder.file("out"));
  REQUIRE(results.rows.size() == 2);
  CHECK(arm_of(results, "sums N=64", "poly").samples ==
        arm_of(results, "sums N=64", "poly").samples);
  CHECK(count_samples(arm_of(results, "sums N=64", "script:right.sched").samples) == 4);
  CHECK(arm_of(results, "sums N=64", "script:wrong.sched").status == "other program");
  CHECK(arm_of(results, "scan N=64", "script:wrong.sched").status == "refused");
  CHECK(arm_of(results, "scan N=64", "script:wrong.sched").reason.find("parallel") !=
        std::string::npos);
  CHECK_FALSE(arm_of(results, "scan N=64", "script:wrong.sched").is_timed());
  const std::string peer = arm_of(results, "sums N=64", "peer:gcc").status;
  CHECK((peer == "ok" || peer == "absent"));
  CHECK(results.rows[0].why == "most processes");

  // A complete run has nothing to add, not even by its folder.
  const std::string samples = folder.file("out") + "/samples.jsonl", whole = read(samples);
  CHECK(polyte("lab run " + folder.file("out") + " --quiet").status == 0);
  CHECK(read(samples) == whole);

  // Cut off in the middle of a line: what is complete stays, the rest is measured anew.
  write(samples, whole.substr(0, whole.size() * 2 / 3));
  const Answer status = polyte("lab status " + folder.file("out"));
  CHECK(status.out.find("goes on") != std::string::npos);
  REQUIRE(polyte(run(folder)).status == 0);
  const Results again = read_results(folder.file("out"));
  CHECK(count_samples(arm_of(again, "sums N=64", "poly").samples) == 4);
  CHECK(count_samples(arm_of(again, "scan N=64", "poly").samples) == 4);
  CHECK(again.contexts.size() == 2);

  // Another experiment does not go into the same folder.
  write(folder.file("e.toml"), read(folder.file("e.toml")) + "width = 0.5\n");
  const Answer mixed = polyte(run(folder));
  CHECK(mixed.status == 2);
  CHECK(mixed.out.find("holds the results of another experiment") != std::string::npos);

  // Nor do samples of another build.
  write(folder.file("e.toml"),
        read(folder.file("e.toml")).substr(0, read(folder.file("e.toml")).size() - 12));
  std::string foreign = whole.substr(0, whole.size() / 3);
  const std::size_t at = foreign.find("\"digest\":\"") + 10;
  foreign[at] = foreign[at] == '0' ? '1' : '0';
  write(samples, foreign);
  const Answer other = polyte(run(folder));
  CHECK(other.status == 2);
  CHECK(other.out.find("of another build of Polyte") != std::string::npos);
}

// The whole in one file, the same bytes for the same folder; run again it has the same outputs.
TEST_CASE("a bundle reproduces") {
  const testing::TempDir folder;
  write_experiment(folder);
  REQUIRE(polyte(run(folder)).status == 0);
  const std::string bundle = folder.file("b.zip"), other_bundle = folder.file("c.zip");
  REQUIRE(polyte("lab bundle " + folder.file("out") + " -o " + bundle).status == 0);
  REQUIRE(polyte("lab bundle " + folder.file("out") + " -o " + other_bundle).status == 0);
  CHECK(read(bundle) == read(other_bundle));
  const Answer again_elsewhere = polyte("lab reproduce " + bundle + " --json --quiet");
  // A busy machine is warned of on stderr, before it.
  const auto json = nlohmann::json::parse(again_elsewhere.out.substr(again_elsewhere.out.find('{')),
                                          nullptr, false);
  REQUIRE_MESSAGE(json.is_object(), again_elsewhere.out);
  for (const auto& row : json["rows"])
    for (const auto& arm : row["arms"]) {
      CHECK(arm["same_status"] == true);
      CHECK(arm["same_outputs"] != false);
      CHECK(arm["same_loops"] != false);
    }
  // Beside the folder, under its whole name.
  REQUIRE(polyte("lab bundle " + folder.file("out") + "/").status == 0);
  CHECK(read(folder.file("out.zip")) == read(bundle));
  fs::rename(folder.file("out"), folder.file("run.v1"));
  REQUIRE(polyte("lab bundle " + folder.file("run.v1")).status == 0);
  CHECK(read(folder.file("run.v1.zip")) == read(bundle));
  write(bundle, read(bundle).substr(0, 2000));
  CHECK(polyte("lab reproduce " + bundle).status == 3);
  write(bundle, "not a zip");
  CHECK(polyte("lab reproduce " + bundle).status == 3);
}

TEST_CASE("a model is a row; its file has to stay what it was") {
  const testing::TempDir folder;
  fs::copy_file("examples/digits/digits.onnx", folder.file("digits.onnx"));
  write(folder.file("e.toml"),
        "programs = 'digits.onnx'\n"
        "arms = ['naive', 'peer:gcc']\n[stop]\nrounds = 1\nprocesses = 1\nround_ms = 0.01\n");
  const Answer first = polyte(run(folder));
  REQUIRE_MESSAGE(first.status == 0, first.out);
  const Results results = read_results(folder.file("out"));
  CHECK(arm_of(results, "digits", "naive").is_timed());
  CHECK(arm_of(results, "digits", "peer:gcc").reason == "the row is a model");
  CHECK(
      (results.rows[0].reference == "onnxruntime" || results.rows[0].reference == "the arm naive"));

  // Its bundle brings the model along.
  REQUIRE(polyte("lab bundle " + folder.file("out") + " -o " + folder.file("m.zip")).status == 0);
  fs::rename(folder.file("digits.onnx"), folder.file("elsewhere.onnx"));
  const Answer again = polyte("lab reproduce " + folder.file("m.zip") + " --out " +
                              folder.file("again") + " --quiet");
  CHECK_MESSAGE(again.status == 0, again.out);
  CHECK(arm_of(read_results(folder.file("again")), "digits", "naive").is_timed());
  const bool same = read(folder.file("again/models/0.onnx")) == read(folder.file("elsewhere.onnx"));
  CHECK(same);
  fs::remove(folder.file("out") + "/samples.jsonl");
  write(folder.file("digits.onnx"), "another");
  REQUIRE(polyte("lab run " + folder.file("out") + " --quiet").status == 0);
  const Results changed = read_results(folder.file("out"));
  CHECK(arm_of(changed, "digits", "naive").status == "failed");
  CHECK(arm_of(changed, "digits", "naive").reason.find("has changed since the plan was made") !=
        std::string::npos);
}

// In place of bench/lab_peers: adds one as the Program says, and ends when it is timed.
constexpr const char* kEndingPeer = R"(import json, os, struct, sys
tensors = {}
for line in sys.stdin:
    order = json.loads(line)
    if order["do"] == "time":
        os._exit(7)
    if order["do"] == "begin" and order["peer"] == "torch":
        print(json.dumps({"absent": "no module"}), flush=True)
        continue
    if order["do"] == "set":
        tensors = {t["name"]: (t["at"], t["shape"][0]) for t in order["tensors"]}
    if order["do"] == "run":
        (x, count), (y, _) = tensors["x"], tensors["y"]
        values = struct.unpack(f"{count}f", os.pread(3, 4 * count, x))
        os.pwrite(3, struct.pack(f"{count}f", *(v + 1 for v in values)), y)
    print(json.dumps({"version": "a stand-in"}), flush=True)
)";

TEST_CASE("a library that ends takes its own arm with it alone") {
  if (std::system("python3 -c '' 2>/dev/null") != 0) {
    MESSAGE("not run: no python3");
    return;
  }
  const testing::TempDir folder;
  write_experiment(folder);
  fs::create_directory(folder.file("lab_peers"));
  write(folder.file("lab_peers/__init__.py"), "");
  write(folder.file("lab_peers/__main__.py"), kEndingPeer);
  write(folder.file("e.toml"),
        "programs = 'sums.program'\n"
        "only = ['sums', 'scan']\narms = ['naive', 'peer:numpy', 'peer:torch']\n"
        "[sizes]\nn = 64\n[stop]\nrounds = 2\nprocesses = 1\nround_ms = 0.01\n");
  setenv("POLYTE_LAB_PEERS", folder.file("").c_str(), 1);
  unsetenv("POLYTE_PYTHON");
  const Answer answer = polyte(run(folder));
  unsetenv("POLYTE_LAB_PEERS");
  REQUIRE_MESSAGE(answer.status == 0, answer.out);
  const Results results = read_results(folder.file("out"));
  CHECK(arm_of(results, "sums N=64", "naive").is_timed());
  CHECK(arm_of(results, "sums N=64", "peer:numpy").status == "crashed");
  CHECK(arm_of(results, "sums N=64", "peer:numpy").reason.find("while timing") !=
        std::string::npos);
  CHECK(arm_of(results, "sums N=64", "peer:torch").status == "absent");
  CHECK(arm_of(results, "scan N=64", "peer:numpy").status == "declined");
  CHECK(arm_of(results, "scan N=64", "peer:numpy").reason.find("'y.next' reads it") !=
        std::string::npos);
}

// In place of Pluto's polycc: what it is given has marks around its loops, no array of its own
// and no function's body but the loops. It writes them as they are, a wrong one for a scan.
constexpr const char* kPolycc = R"(#!/bin/sh
if [ "$1" = --version ]; then echo "polycc of a test"; exit 1; fi
[ "$*" = "--pet --tile $WORDS kernel.c -o rewritten.c" ] || { echo "error: got $*"; exit 1; }
grep -q '^#pragma scop$' kernel.c && grep -q '^#pragma endscop$' kernel.c || exit 2
grep -q 'return' kernel.c && { echo "error: the body of a helper"; exit 1; }
grep -q 'float t\[restrict 64\]' kernel.c || grep -q scan kernel.c || { echo "error: no t"; exit 1; }
if grep -q cannot kernel.c; then echo "[pluto] begins"; echo "error: it cannot"; exit 1; fi
sed 's/+ x\[/- x[/' kernel.c > rewritten.c
)";

TEST_CASE("Pluto: marked loops, temporaries as parameters; what it makes wrong is not timed") {
  if (std::system("gcc --version > /dev/null 2>&1") != 0) {
    MESSAGE("not run: no gcc");
    return;
  }
  const testing::TempDir folder;
  write(folder.file("p.program"),
        "program least(N)\n  in x: f32[N]\n  out y: f32[N]\n  t[i] = min(x[i], 2)\n"
        "  y[i] = t[i] * t[i]\n\nprogram scan(N)\n  in x: f32[N]\n  out y: f32[N]\n"
        "  y.first: y[i] = x[i] for i in 0..1\n  loop t in 1..N\n"
        "    y.next: y[t] = y[t - 1] + x[t]\n\nprogram cannot(N)\n  in x: f32[N]\n"
        "  out y: f32[N]\n  t[i] = x[i]\n  y[i] = t[i] + t[i]\n");
  write(folder.file("polycc"), kPolycc);
  fs::permissions(folder.file("polycc"), fs::perms::owner_all);
  setenv("POLYTE_POLYCC", folder.file("polycc").c_str(), 1);
  for (const auto& [threads, words] :
       {std::pair{"1", "--noparallel"}, {"2", "--parallel --nounrolljam"}}) {
    write(folder.file("e.toml"),
          "programs = 'p.program'\narms = ['naive', 'peer:pluto']\nthreads = " +
              std::string(threads) +
              "\n[sizes]\nn = 64\n[stop]\nrounds = 1\nprocesses = 1\nround_ms = 0.01\n");
    setenv("WORDS", words, 1);
    fs::remove_all(folder.file("out"));
    const Answer answer = polyte(run(folder));
    REQUIRE_MESSAGE(answer.status == 0, answer.out);
    const Results results = read_results(folder.file("out"));
    const auto arm = [&](const char* program) {
      const std::string row = std::string(program) + " N=64";
      return arm_of(results, threads[0] == '1' ? row : row + " threads=2", "peer:pluto");
    };
    const ArmResult least = arm("least");
    CHECK_MESSAGE(least.is_timed(), least.reason);
    CHECK(fact(least, "compiler").starts_with("polycc of a test, gcc"));
    CHECK(fact(least, "command").find(words) != std::string::npos);
    CHECK(arm("scan").status == "wrong");
    CHECK(arm("cannot").status == "failed");
    CHECK(arm("cannot").reason == "peer:pluto: polycc fails: error: it cannot");
  }
  setenv("POLYTE_POLYCC", folder.file("none").c_str(), 1);
  fs::remove_all(folder.file("out"));
  REQUIRE(polyte(run(folder)).status == 0);
  const ArmResult absent =
      arm_of(read_results(folder.file("out")), "least N=64 threads=2", "peer:pluto");
  unsetenv("POLYTE_POLYCC");
  CHECK(absent.status == "absent");
  CHECK(absent.reason == "POLYTE_POLYCC: " + folder.file("none") + " is no program");
}

TEST_CASE("what the lines of a script are worth, and two scripts in words") {
  const testing::TempDir folder;
  write_experiment(folder);
  write(folder.file("more.sched"),
        "schedule more/1 for sums f32 exact\nsplit y.up: i by 8 tail cut\nparallel i.o\n");
  const std::string on = " --program " + folder.file("sums.program") + " --shape n=64 ";
  const Answer ablation =
      polyte("lab ablate " + folder.file("more.sched") + on + "--processes 2 --quiet");
  REQUIRE_MESSAGE(ablation.status == 0, ablation.out);
  CHECK(ablation.out.find("  3: parallel i.o") != std::string::npos);
  CHECK(ablation.out.find(
            "without one line: cannot be had\n  2: split y.up: i by 8 tail cut\n      refused: ") !=
        std::string::npos);
  const std::string two = folder.file("right.sched") + " " + folder.file("more.sched");
  const Answer path = polyte("lab path " + two + on + "--processes 2 --quiet");
  REQUIRE_MESSAGE(path.status == 0, path.out);
  CHECK(path.out.find("1: parallel i.o") != std::string::npos);
  CHECK(path.out.find("in all: ") != std::string::npos);
  const Answer words = polyte("diff " + two + on);
  CHECK(words.status == 0);
  CHECK(words.out.starts_with("only in the second: parallel i.o\nnest of "));
}

TEST_CASE("the largest difference is taken apart, in every report and in the bundle") {
  const testing::TempDir folder;
  const std::string file = folder.file("e.toml"), out = folder.file("out");
  write(file,
        "programs = ['C[m,n] = sum[k] A[m,k]*B[k,n]']\n"
        "arms = ['poly', 'naive', 'peer:gcc']\nexplain = 2\n"
        "[sizes]\nm = 64\nn = 64\nk = 64\n[stop]\nrounds = 5\nprocesses = 4\nround_ms = 0.5\n");
  const Answer first = polyte("lab run " + file + " --out " + out + " --quiet");
  REQUIRE_MESSAGE(first.status == 0, first.out);
  CAPTURE(polyte("lab report " + out).out);
  const Results results = read_results(out);
  REQUIRE(results.differences.size() == 1);  // of one row, and a peer has no script
  CHECK(results.differences[0].title.find("naive takes ") != std::string::npos);
  const Results &path = results.differences[0].path, &lines = results.differences[0].lines;
  REQUIRE(path.rows.size() == 1);
  REQUIRE(lines.rows.size() == 1);
  CHECK(path.rows[0].arms.front().name == "naive");
  CHECK(path.rows[0].arms.back().is_timed());
  CHECK(lines.rows[0].arms.front().name == "poly");
  for (const char* format : {"text", "markdown", "html", "latex"}) {
    CAPTURE(format);
    const Answer report = polyte("lab report " + out + " --format " + format);
    CHECK(report.out.find("to the step before") != std::string::npos);
  }
  const auto json = nlohmann::json::parse(polyte("lab report " + out + " --format json").out);
  CHECK(json.at("differences").at(0).at("path").at("rows").size() == 1);

  // Again nothing is measured.
  const std::string samples = out + "/differences/1/path/samples.jsonl", whole = read(samples);
  REQUIRE(polyte("lab run " + out + " --quiet").status == 0);
  CHECK(read(samples) == whole);
  REQUIRE(polyte("lab bundle " + out + " -o " + folder.file("b.zip")).status == 0);
  const std::string bundle = read(folder.file("b.zip"));
  for (const char* member : {"differences/1/path/samples.jsonl", "differences/1/lines/plan.json"})
    CHECK(bundle.find(member) != std::string::npos);
}

TEST_CASE("a suite that is checked says what it found as JSON, too") {
  const testing::TempDir folder;
  write(folder.file("g.program"),
        "program g(N)\n  in x: f32[N]\n  out y: f32[N]\n  y[i] = x[i] + 1\n");
  write(folder.file("s.toml"),
        "title = 't'\nsource = 's'\n[[table]]\nprogram = 'g.program'\ncolumns = ['N']\n"
        "rows = [['a', 8]]\n");
  const Answer answer = polyte("suites " + folder.file("s.toml") + " --check --json --arm naive");
  CHECK(answer.status == 0);
  const auto json = nlohmann::json::parse(answer.out, nullptr, false);
  REQUIRE_MESSAGE(json.is_object(), answer.out);
  REQUIRE(json.at("checks").size() == 1);
  CHECK(json.at("checks").at(0).at("row") == "a");
  CHECK(json.at("checks").at(0).at("arm") == "naive");
  CHECK(json.at("checks").at(0).at("problem") == "");
}

TEST_CASE("a regression is exit status 1") {
  const testing::TempDir folder;
  write_experiment(folder);
  REQUIRE(polyte(run(folder)).status == 0);
  // Twenty processes whose numbers are made up: the new ones are twice as slow in one arm.
  for (const char* name : {"old", "new"}) {
    const std::string to = folder.file(name);
    fs::create_directories(to);
    fs::copy_file(folder.file("out") + "/plan.json", to + "/plan.json");
    std::ofstream out(to + "/samples.jsonl");
    for (int process = 0; process < 8; ++process) {
      const double poly = (std::string(name) == "new" ? 200.0 : 100.0) + process % 3,
                   naive = 300.0 + process;
      const std::string head =
          R"("row":0,"process":)" + std::to_string(process) + R"(,"attempt":0)";
      for (const char* arm : {"poly", "naive"})
        out << R"({"kind":"arm",)" << head << R"(,"arm":")" << arm << R"(","status":"ok"})" << "\n";
      for (int round = 0; round < 3; ++round)
        out << R"({"kind":"round",)" << head << R"(,"round":)" << round << R"(,"samples":[["poly",)"
            << poly + round * 0.1 << R"(,1],["naive",)" << naive + round * 0.1 << ",1]]}\n";
      out << R"({"kind":"process",)" << head << "}\n";
    }
  }
  const std::string junit = folder.file("lab.xml");
  const Answer answer =
      polyte("lab compare " + folder.file("old") + " " + folder.file("new") + " --junit " + junit);
  CHECK(answer.status == 1);
  CHECK(answer.out.find("regression: 1 row is slower") != std::string::npos);
  CHECK(read(junit).find("failures=\"1\"") != std::string::npos);
  CHECK(polyte("lab compare " + folder.file("new") + " --baseline " + folder.file("old")).status ==
        1);
  CHECK(polyte("lab compare " + folder.file("new") + " " + folder.file("old")).status == 0);
  CHECK(polyte("lab compare " + folder.file("old") + " " + folder.file("new") + " --filter naive")
            .status == 0);
}

}  // namespace
}  // namespace polyte::lab
