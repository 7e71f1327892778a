// Templates as files: what the table takes, how a text becomes the Script of a nest, and what a
// person's folder changes. Each script is proved and gives the reference's bits.
#include "schedule/templates/templates.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "schedule/templates/expand_template.h"
#include "tests/schedule/schedule_testing.h"

using namespace polyte;
using schedule::has;

namespace {

namespace fs = std::filesystem;

const ir::Values kSmall = {{"M", 37}, {"N", 67}, {"K", 29}};

struct Written {
  std::string text;
  std::vector<std::string> templates;
};

Written written(const char* program_text, const ir::Values& sizes,
                const schedule::TemplateSet* templates = nullptr,
                const Machine& machine = schedule::wide_machine()) {
  const auto program = schedule::bound_program(program_text, sizes);
  std::vector<schedule::TemplateUse> uses;
  const auto script =
      schedule::make_template(*program, machine, {.templates = templates, .uses = &uses});
  REQUIRE_MESSAGE(script, program_text);
  Written result{schedule::checked_text(program, *script, machine), {}};
  for (const schedule::TemplateUse& use : uses) result.templates.push_back(use.name);
  return result;
}

// A folder of the test's own, gone with it.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "polyte_templates_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  Folder& file(const std::string& name, const std::string& text) {
    std::ofstream(path_ / name) << text;
    return *this;
  }
  schedule::TemplateSet set() const { return schedule::templates_with(path_.string()); }
  // What a folder that cannot be read says, without the path.
  std::string problem() const {
    try {
      set();
    } catch (const UserError& error) {
      std::string text = error.what();
      const std::string place = path_.string() + "/";
      for (std::size_t at = text.find(place); at != std::string::npos; at = text.find(place))
        text.erase(at, place.size());
      return text;
    }
    return "";
  }

 private:
  fs::path path_;
};

constexpr const char* kTile =
    "loop lane = ?, row = ?\neach statement: split statement: row by Mr tail cut\n"
    "each statement: split statement: lane by Nr tail cut\n"
    "nest free > row.o > lane.o > { [row.i] > <lane.i> > init; "
    "steps > [row.i] > <lane.i> > update; each after: [row.i] > <lane.i> > after }\n";

}  // namespace

TEST_CASE("templates: each structure takes its own") {
  struct Row {
    const char* name;
    const char* program;
    ir::Values sizes;
  };
  const Row rows[] = {
      {"contraction_lanes_outside", schedule::kDenseRelu, kSmall},
      {"rows",
       "program p(M, N)\n  in x: f32[M, N]\n"
       "  out y: f32[M, N]\n  t[i] = max[j] x[i, j]\n  y[i, j] = t[i] - x[i, j]\n",
       {{"M", 9}, {"N", 150}}},
      {"window",
       "program p(C, N)\n  in x: f32[C, N + 2]\n"
       "  out y: f32[C, N]\n  y[c, i] = max[k] x[c, i + k]  for c in 0..C, i in 0..N, k in 0..3\n",
       {{"C", 5}, {"N", 70}}},
      {"reduction",
       "program p(M, N)\n  in x: f32[M, N]\n  out y: f32[N]\n  y[j] = sum[i] x[i, j]\n",
       {{"M", 23}, {"N", 90}}},
      {"reduction_turned",
       "program p(M, N)\n  in x: f32[M, N]\n  out y: f32[M]\n  y[i] = sum[j] x[i, j]\n",
       {{"M", 150}, {"N", 40}}},
      {"transpose",
       "program p(M, N)\n  in x: f32[N, M]\n  out y: f32[M, N]\n  y[i, j] = x[j, i]\n",
       {{"M", 40}, {"N", 70}}},
      {"phases",
       "program p(N)\n  in x: f32[N]\n  out y: f32[2*N]\n  y[i] = x[i//2]\n",
       {{"N", 90}}},
      {"blocks",
       "program p(N)\n  in x: f32[N]\n  out y: f32[N]\n  y[i] = x[i//8] * f32(i % 8)\n",
       {{"N", 90}}},
      {"pointwise",
       "program p(N)\n  in x: f32[N]\n  out y: f32[N]\n  y[i] = x[i] + 1\n",
       {{"N", 200}}},
      {"pointwise_short",
       "program p(N)\n  in x: f32[N]\n  out y: f32[N]\n  y[i] = x[i] + 1\n",
       {{"N", 40}}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const bool keeps_order = std::string(row.name) == "reduction_turned";
    const auto program = schedule::bound_program(row.program, row.sizes);
    std::vector<schedule::TemplateUse> uses;
    const auto script = schedule::make_template(*program, schedule::wide_machine(),
                                                {.keep_order = keeps_order, .uses = &uses});
    REQUIRE(script);
    schedule::checked_text(program, *script);
    REQUIRE(uses.size() == 1);
    CHECK(uses[0].name == row.name);
  }
}

TEST_CASE("templates: chains are rows side by side, or lanes in each step") {
  const auto text = [](const char* cell, const char* before) {
    return std::string("program scan(T, N)\n  in  x: f32") + cell + "\n  inout y: f32" + cell +
           "\n  loop t in 1..T\n    y" + before + "  for i in 0..N\n";
  };
  const std::string down = text("[T, N]", "[t, i] = y[t-1, i] + x[t, i]"),
                    along = text("[N, T]", "[i, t] = y[i, t-1] + x[i, t]");
  const ir::Values sizes = {{"T", 20}, {"N", 70}};
  Machine alone = schedule::wide_machine();
  alone.cores = 1;
  CHECK(written(down.c_str(), sizes, nullptr, alone).templates ==
        std::vector<std::string>{"recurrence_steps"});
  // Threads share the chains, not each step.
  CHECK(written(down.c_str(), sizes).templates == std::vector<std::string>{"recurrence"});
  CHECK(written(along.c_str(), sizes, nullptr, alone).templates ==
        std::vector<std::string>{"recurrence"});
}

TEST_CASE("templates: what comes again stays in the second cache") {
  const auto order = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    const auto program =
        schedule::bound_program(schedule::kDenseRelu, {{"M", m}, {"N", n}, {"K", k}});
    std::vector<schedule::TemplateUse> uses;
    CHECK(schedule::make_template(*program, schedule::wide_machine(), {.uses = &uses}));
    return uses.at(0).name;
  };
  CHECK(order(4096, 64, 256) == "contraction_rows_outside");   // w fits: x comes once
  CHECK(order(64, 4096, 256) == "contraction_lanes_outside");  // x fits: w comes once
}

TEST_CASE(
    "templates: what is read once streams, a few lines at a time, of which threads share the "
    "lanes") {
  const char* columns =
      "program p(N, K)\n  in x: f32[K, N]\n  out y: f32[N]\n  y[n] = sum[k] x[k, n]\n";
  Machine machine = schedule::wide_machine();
  const auto taken = [&] {
    const auto program = schedule::bound_program(columns, {{"N", 4096}, {"K", 4096}});
    std::vector<schedule::TemplateUse> uses;
    CHECK(schedule::make_template(*program, machine, {.uses = &uses}));
    return uses.at(0).name;
  };
  CHECK(taken() == "reduction_streams_threads");
  machine.cores = 1;
  CHECK(taken() == "reduction_streams");
}

TEST_CASE("templates: threads share the lanes of a matrix that few rows multiply") {
  const char* product =
      "program p(M, N, K)\n  in a: f32[M, K]\n  in b: f32[K, N]\n  out c: f32[M, N]\n"
      "  c[m, n] = sum[k] a[m, k] * b[k, n]\n";
  const auto taken = [&](std::int64_t rows, int cores) {
    Machine machine = schedule::wide_machine();
    machine.cores = cores;
    const auto program = schedule::bound_program(product, {{"M", rows}, {"N", 4096}, {"K", 4096}});
    const auto script = schedule::make_template(*program, machine);
    REQUIRE(script);
    return print(*script);
  };
  for (const std::int64_t rows : {1, 3}) {
    CAPTURE(rows);
    CHECK(has(taken(rows, 2), "nest n.o > k.o > n.i.o > "));
    CHECK(has(taken(rows, 2), "split c.update: n by Share"));
    CHECK(has(taken(rows, 1), "nest k.o > n.o > "));
  }
}

TEST_CASE("templates: what the nest does not have is left out of every line") {
  const Written with = written(schedule::kDenseRelu, kSmall);
  CHECK(has(with.text, "split y: m by Mr"));
  CHECK(has(with.text, "> acc.update; [m.i] > <n.i> > y }"));
  const Written without = written(
      "program p(M, N, K)\n  in x: f32[M, K]\n"
      "  in w: f32[K, N]\n  out y: f32[M, N]\n  y[m, n] = sum[k] x[m, k] * w[k, n]\n",
      {{"M", 1}, {"N", 67}, {"K", 29}});
  CHECK(!has(without.text, "Mr"));
  CHECK(!has(without.text, "; }"));
}

TEST_CASE("templates: params of several nests are told apart") {
  const Written two = written(R"(
program two(M, K)
  in  x: f32[M, K]
  in  v: f32[K, K]
  in  w: f32[K, K]
  out y: f32[M, K]
  t[m, n] = sum[k] x[m, k] * v[k, n]
  y[m, n] = sum[k] t[m, k] * w[k, n]
)",
                              {{"M", 37}, {"K", 67}});
  CHECK(two.templates.size() == 2);
  CHECK(has(two.text, "param Mr = "));
  CHECK(has(two.text, "param Mr1 = "));
  CHECK(has(two.text, "split y.update: m by Mr1"));
}

TEST_CASE(
    "templates: a folder's file comes first, takes the place of ours, or waits for its line in the "
    "table") {
  Folder folder;
  folder.file(
      "mine.sched",
      std::string("template mine for contraction\n# Mine.\nparam Mr = 2, Nr = L\n") + kTile);
  const schedule::TemplateSet set = folder.set();
  const Written first = written(schedule::kDenseRelu, kSmall, &set);
  CHECK(first.templates == std::vector<std::string>{"mine"});
  CHECK_MESSAGE(has(first.text, "param Mr = 2, Nr = L   #: template"), first.text);
  CHECK(has(first.text, "nest m.o > n.o > { [m.i] > <n.i> > acc.init; k >"));

  folder.file("templates.table",
              "contraction: contraction_rows_outside\ncontraction: mine where L == 3\n");
  const schedule::TemplateSet with_table = folder.set();
  CHECK(written(schedule::kDenseRelu, kSmall, &with_table).templates ==
        std::vector<std::string>{"contraction_rows_outside"});

  Folder other;
  other.file(
      "contraction_lanes_outside.sched",
      std::string("template contraction_lanes_outside for contraction\nparam Mr = ?, Nr = ?\n") +
          kTile);
  const schedule::TemplateSet replaced = other.set();
  CHECK(has(written(schedule::kDenseRelu, kSmall, &replaced).text, "nest m.o > n.o > "));
}

TEST_CASE(
    "templates: the cost model chooses among the sizes that a file allows, or counts with the one "
    "that stands there") {
  for (const char* params :
       {"param Mr = ? in {3, 5}, Nr = ? in {L, 2*L}\n", "param Mr = 5, Nr = ?\n"}) {
    Folder folder;
    folder.file("mine.sched", std::string("template mine for contraction\n") + params + kTile);
    const schedule::TemplateSet set = folder.set();
    const std::string text = written(schedule::kDenseRelu, kSmall, &set).text;
    CHECK((has(text, "param Mr = 5") || has(text, "param Mr = 3")));
  }
  Folder folder;  // no tile has such rows, so that it has none
  folder.file(
      "mine.sched",
      std::string("template mine for contraction\nparam Mr = ? in {999}, Nr = ?\n") + kTile);
  const schedule::TemplateSet set = folder.set();
  CHECK(!has(written(schedule::kDenseRelu, kSmall, &set).text, "Mr"));
}

TEST_CASE("templates: every problem of a folder is reported, with its file and line") {
  Folder folder;
  folder.file("mine.sched",
              "template yours for contraction\n"
              "loop lane = 3\nloop lame = ?\nparam Qr = ?\ninclude \"absent.part\"\n");
  folder.file("other.sched", "template other for matmul\nnest par lane.o > update\n");
  folder.file("templates.table", "contraction other\nrows: other\ncontraction: nowhere\n");
  const std::string problem = folder.problem();
  for (const char* expected :
       {"mine.sched:1: the template yours stands in a file of its name, yours.sched",
        "other.sched:1: no structure 'matmul'",
        "(there are rows, contraction, window, reduction, transpose, phases, blocks, recurrence, "
        "pointwise, "
        "gpu_attention_warps, "
        "gpu_attention, "
        "gpu_rows, "
        "gpu_product, gpu_contraction, gpu_sum, gpu_transpose, gpu_pointwise)",
        "other.sched:2: threads are given by a line of their own",
        "templates.table:1: expected ':'", "templates.table:3: there is no template nowhere",
        "mine.sched:1: a template has one nest, here are 0",
        "mine.sched:5: include \"absent.part\": there is no such file beside it"})
    CHECK_MESSAGE(has(problem, expected), expected << " in\n" << problem);
}

TEST_CASE(
    "templates: an unknown hole, group, and a condition that cannot be counted are errors with "
    "their line") {
  Folder holes;
  holes.file("mine.sched", std::string("template mine for contraction\nparam Qr = ?\n") + kTile);
  CHECK(has(holes.problem(), "mine.sched:2: nothing fills Qr = ? of a contraction"));

  const auto error_of = [](Folder& folder) {
    const schedule::TemplateSet set = folder.set();
    try {
      written(schedule::kDenseRelu, kSmall, &set);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  Folder group;
  group.file("mine.sched",
             "template mine for contraction\n"
             "loop lane = ?\nnest free > lane > { init; each tail: tail }\n");
  CHECK(has(error_of(group), "mine.sched:3: a contraction has no group 'tail'"));
  for (const char* text : {"each", "each tail", "each tail:"}) {
    Folder unfinished;
    unfinished.file("mine.sched", std::string("template mine for contraction\nloop lane = ?\n") +
                                      "nest free > lane > { init; " + text + " }\n");
    CAPTURE(text);
    CHECK(has(error_of(unfinished), "mine.sched:3: expected each GROUP: ..."));
  }
  Folder condition;
  condition.file("templates.table", "contraction: contraction_rows_outside where rows_bytes > 3\n");
  CHECK(has(error_of(condition), "templates.table:1: "));
  CHECK(has(error_of(condition), "'rows_bytes' is not known"));
}

TEST_CASE("templates: lists, fragments and groups of a text") {
  schedule::TemplateFile file;
  file.structure = "contraction";
  for (const char* line :
       {"let tile = [row.i] > <lane.i>",
        "each panel: stage operand layout (dims) [side//size, rest, side%size]",
        "each panel: parallel operand.in:copies",
        "nest free > row.o > gone.o > { tile > first; each after: { tile > after }; gone }"})
    file.lines.push_back({schedule::logical_lines(line).front(), "t.sched"});
  schedule::Scope scope;
  scope.names = {{"row", "m"}, {"lane", "n"}, {"gone", ""}, {"first", "acc.init"}};
  scope.lists = {{"free", {"a", "b"}}};
  scope.groups["after"] = {{{{"after", "y"}}, {}, {}}, {{{"after", "z"}}, {}, {}}};
  schedule::Scope packed{{{"operand", "w"}, {"side", "n"}, {"size", "Nr"}, {"copies", "n.o"}},
                         {{"dims", {"k", "n"}}, {"rest", {"k"}}},
                         {}};
  schedule::Scope alone = packed;
  alone.names["copies"] = "";
  scope.groups["panel"] = {packed, alone};
  std::string text;
  for (const schedule::Directive& directive : expand(file, scope, {}))
    text += print(directive) + "\n";
  CHECK(text ==
        "stage w layout (k, n) [n//Nr, k, n%Nr]   #: template\n"
        "stage w layout (k, n) [n//Nr, k, n%Nr]   #: template\n"
        "parallel w.in:n.o   #: template\nnest a > b > m.o > { "
        "[m.i] > <n.i> > acc.init; [m.i] > <n.i> > y; [m.i] > <n.i> > z }   #: template\n");
}

TEST_CASE("templates: steps of an ordered region take templates as a Program of their own does") {
  // Two sums of rows, a statement that stays as it is, an inner region; before and behind them
  // nests of their own.
  const Written steps = written(R"(
program steps(M, N)
  inout x: f32[M, N]
  out   y: f32[M, N]
  temp  top: f32[M]
  temp  low: f32[M]
  temp  at: i32[]
  y[i, j] = x[i, j] + 1  for i in 0..M, j in 0..N
  loop t in 1..M
    top[i] = max[j] x[i, j]  for i in 0..M, j in 0..N
    low[i] = min[j] x[i, j]  for i in 0..M, j in 0..N
    at[] = i32(t)
    S: y[t, j] = y[t-1, j] + top[t] * low[t]  for j in 0..N
    loop u in 0..2
      x[t, j] = x[t, j] + f32(at[]) + f32(u)  for j in t..N
)",
                                {{"M", 12}, {"N", 150}});
  CHECK_MESSAGE(has(steps.text, "nest t > { "), steps.text);
  for (const char* part : {"<j.i> > top_v.update",
                           "[j.i.i] > <i.i> > low.update }; at; "
                           "j.o > <j.i> > S; j.o > u > <j.i> > x }",
                           "stage low_v at low_v.update:i.i in register"})
    CHECK_MESSAGE(has(steps.text, part), part << " in\n" << steps.text);
}

TEST_CASE("templates: what a step writes is copied in each step") {
  Machine machine = schedule::narrow_machine();
  machine.cores = 1;
  const auto program = schedule::bound_program(R"(
program cell(T, B, H)
  in    w: f32[H, H]
  inout h: f32[B, H]
  temp  s: f32[B, H]
  loop t in 0..T
    P: s[b, n] = sum[k] h[b, k] * w[k, n]
    S: h[b, n] = max(min(s[b, n], 2), -2)
)",
                                               {{"T", 30}, {"B", 16}, {"H", 250}});
  const auto script = schedule::make_template(*program, machine, {});
  REQUIRE(script);
  const std::string text = schedule::print(*script);
  CHECK_MESSAGE(has(text, "stage P.update: h[b, k] at P.update:t layout (b, k) "), text);
}

TEST_CASE("templates: a step with lanes and without a tile is not in reference order") {
  const Written lanes = written(R"(
program lanes(N)
  in  x: f32[N]
  out y: f32[3, N]
  out z: f32[3]
  loop t in 0..3
    R: y[t, i] = (y[t-1, i] else 0) + x[i]
    S: z[t] = y[t, 0]
)",
                                {{"N", 64}});
  CHECK_MESSAGE(has(lanes.text, "nest t > { <i> > R; S }"), lanes.text);
}

TEST_CASE("templates: the step in the middle is no witness for those whose order it breaks") {
  const auto program = schedule::bound_program(schedule::kShifted, {{"N", 70}});
  std::vector<std::string> notes;
  std::vector<schedule::RefusedScript> refused;
  const auto script = schedule::make_template(*program, schedule::wide_machine(),
                                              {.notes = &notes, .refused = &refused});
  CHECK(!script);
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].what == "steps of ordered regions");
  REQUIRE(!notes.empty());
  CHECK_MESSAGE(has(notes.front(), "ordered regions stay in reference order: "), notes.front());
}
