// Plans become directives: each part in its place, with the provenance of who decided it; what they
// print as is what a person would have written, and reads back as the same.
#include "schedule/script/nest_writer.h"

#include <regex>

#include "ir/program_text.h"
#include "schedule/script/split_begins.h"

#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule::nest_writer_test {
namespace {

std::string lines_of(const NestPlan& plan) {
  std::vector<Directive> directives;
  write_nest(plan, directives);
  std::string text;
  for (const Directive& directive : directives) text += print(directive) + "\n";
  const std::string header = "schedule s/1 for p  f32  exact\n";
  CHECK(print(parse_script(header + text, "s")) == header + text);
  return text;
}

NestTree tile(const char* statement, std::vector<When> when = {}) {
  return nest_path({{"m.i", LoopKind::Unrolled}, {"n.i", LoopKind::Vector}},
                   nest_statement(statement, std::move(when)));
}

// What docs/script-text.md begins with, as a scheduler decides it.
NestPlan dense_relu() {
  NestPlan plan;
  plan.params = {{"Mr", Elements{3}, Provenance::TileModel},
                 {"Nr", Vectors{1}, Provenance::TileModel}};
  for (const char* statement : {"acc.init", "acc.update", "y"}) {
    plan.splits.emplace_back(PlannedSplit{statement, "m", Param{"Mr"}});
    plan.splits.emplace_back(PlannedSplit{statement, "n", Param{"Nr"}});
  }
  plan.splits.emplace_back(PlannedSplit{"acc.update", "k", Elements{4}});
  const NestTree steps = nest_path({{"k.i"}}, tile("acc.update"));
  plan.tree = nest_path(
      {{"n.o", LoopKind::Parallel}, {"k.o"}, {"m.o"}},
      nest_sequence({tile("acc.init", {{true, "k.o"}}), steps, tile("y", {{false, "k.o"}})}));
  plan.tree_by = Provenance::Isl;
  plan.stages = {{.tensor = "acc", .at = {{"acc.update", "m.o"}}, .memory = Memory::Register}};
  return plan;
}

}  // namespace

TEST_CASE("a plan says what its text says") {
  CHECK(lines_of(dense_relu()) ==
        R"(param Mr = 3   #: tile-model
param Nr = 1*L   #: tile-model
split acc.init: m by Mr   tail cut   #: tile-model
split acc.init: n by Nr   tail cut   #: tile-model
split acc.update: m by Mr   tail cut   #: tile-model
split acc.update: n by Nr   tail cut   #: tile-model
split y: m by Mr   tail cut   #: tile-model
split y: n by Nr   tail cut   #: tile-model
split acc.update: k by 4   tail cut   #: tile-model
)"
        "nest par n.o > k.o > m.o > { [m.i] > <n.i> > acc.init when first k.o; "
        "k.i > [m.i] > <n.i> > acc.update; [m.i] > <n.i> > y when last k.o }   #: isl\n"
        "stage acc at acc.update:m.o in register   #: tile-model\n");
}

TEST_CASE("a plan replays, and computes what the Program computes") {
  const auto program = bound_program(kDenseRelu, {{"M", 7}, {"N", 9}, {"K", 10}});
  const Script script = write_script(*program, "poly", test_machine(), {.nests = {dense_relu()}});
  CHECK(script.name == "dense_relu/poly");
  CHECK(script.contract == Contract::Exact);
  const auto state = replay(program, script, test_machine(), {ProofLevel::Full, {}});
  REQUIRE(static_cast<bool>(state));
  CHECK(joined_problems(compare_with_reference(*state)) == "");
}

TEST_CASE("parameters of a later nest have its number, wherever they are used") {
  NestPlan plan;
  plan.number = 2;
  plan.params = {{"Nr", Vectors{2}}};
  plan.splits.emplace_back(PlannedSplit{"y", "n", Param{"Nr"}, Provenance::Template});
  plan.stages = {{.tensor = "w",
                  .dimensions = {"k", "n"},
                  .layout = {{"n", LayoutIndex::Part::Tile, Param{"Nr"}},
                             {"k"},
                             {"n", LayoutIndex::Part::WithinTile, Param{"Nr"}}},
                  .shared_loop = "n.o"},
                 {.tensor = "v", .when_compile = true, .by = Provenance::Template}};
  CHECK(lines_of(plan) == R"(param Nr2 = 2*L   #: tile-model
split y: n by Nr2   tail cut   #: template
stage w layout (k, n) [n//Nr2, k, n%Nr2]   #: tile-model
parallel w.in:n.o   #: tile-model
stage v when compile   #: template
)");
}

TEST_CASE("what a later nest says of its copy of a tensor is said of that copy") {
  NestPlan plan;
  plan.stages = {
      {.tensor = "x", .at = {{"y", "k.o"}}, .memory = Memory::Shared, .copy_loops = {"m", "k"}}};
  plan.steps.emplace_back(PlannedSplit{"x.in", "k", Elements{4}});
  plan.steps.emplace_back(PlannedReorder{"x.in", {"k.o", "m", "k.i"}});
  plan.steps.emplace_back(PlannedBind{"x.in", "k.i", LoopKind::Thread});
  std::vector<Directive> directives;
  write_nest(plan, directives);
  const std::size_t first = directives.size();
  write_nest(plan, directives);
  std::string text;
  for (std::size_t i = first; i < directives.size(); ++i) text += print(directives[i]) + "\n";
  CHECK(text == R"(stage x at y:k.o in shared copy m > k > x.in_2   #: tile-model
split x.in_2: k by 4   tail cut   #: tile-model
reorder x.in_2: k.o > m > k.i   #: tile-model
bind x.in_2:k.i to thread   #: tile-model
)");
}

TEST_CASE("maps come first, what is said of memory last") {
  NestPlan plan;
  plan.prefetches = {{"x", {"e", "j.o"}, "i.o", 2}};
  plan.reuses = {{"y", "e"}};
  plan.splits.emplace_back(PlannedParts{"s", "j", Vectors{2}, "s_v"});
  plan.splits.emplace_back(PlannedParts{"s", "j.i", Vectors{1}, "s_l"});
  plan.reciprocals = {{"y"}};
  plan.tile = {{"t", "I"}, {16, 64}};
  plan.maps = {
      {{{"S", {ir::Affine::symbol("t"), ir::Affine::symbol("t") + ir::Affine::symbol("i")}}},
       {"t", "I"}}};
  CHECK(lines_of(plan) == R"(map S (t, i + t) as (t, I)   #: isl
tile (t, I) by (16, 64)   tail cut   #: tile-model
reciprocal y   #: tile-model
split_reduction s: j by 2*L as s_v interleaved   #: tile-model
split_reduction s: j.i by L as s_l interleaved   #: tile-model
reuse y for e   #: tile-model
prefetch x at e:j.o distance 1 along i.o level 2   #: tile-model
)");
}

TEST_CASE("a plan without parts writes nothing; the contract names what a plan reassociates") {
  CHECK(lines_of({}).empty());
  const auto program = bound_program(kDenseRelu, {{"M", 7}, {"N", 9}, {"K", 10}});
  const Script script =
      write_script(*program, "template", test_machine(),
                   {.nests = {{.reassociated = {"k"}}, {.reassociated = {"k", "j"}}},
                    .streams = {{"y", Provenance::Template}}});
  CHECK(script.contract == Contract::Reassoc);
  CHECK(script.reassociable == std::vector<std::string>{"j", "k"});
  REQUIRE(script.directives.size() == 1);
  CHECK(print(script.directives.front()) == "stream y   #: template");
}

TEST_CASE("braces of one statement are the statement; a State's tree is the nest that it prints") {
  CHECK(print(nest_sequence({nest_statement("y")})) == "y");
  const std::string text = "{ par m > n > { acc.init; k > acc.update; y } }";
  const auto program = bound_program(kDenseRelu, {{"M", 7}, {"N", 9}, {"K", 10}});
  const State state = state_of(program, "nest " + text);
  CHECK(print(nest_of(state.tree, state.tree)) == "par m > n > { acc.init; k > acc.update; y }");
}

// a and y share their tiles if both are split; k begins where i is, at the earliest.
TEST_CASE("nest writer: splits count from the first iteration of their loops") {
  const ir::Program program = ir::parse_program(R"(
program smooth()
  in  x: f32[66, 66]
  out y: f32[66, 66]
  out t: f32[66, 66]
  a[i, j] = x[i, j] * 2                        for i in 2..65, j in 3..65
  y[i, j] = a[i, j] + a[i, j - 1] * x[i, j]    for i in 2..65, j in 4..65
  t[i, k] = x[k, i]                            for i in 2..65, k in i..65
)",
                                                "test");
  const auto counted = [&](const std::string& lines) {
    const std::string header = "schedule s/1 for smooth  f32  exact\n";
    Script script = parse_script(header + lines, "s");
    count_from_begins(program, script.directives);
    return std::regex_replace(print(script).substr(header.size()), std::regex("   tail guard"), "");
  };
  CHECK(counted("split j by 8\n") == "split j by 8 from 3\n");
  CHECK(counted("split y: j by 8\n") == "split y: j by 8 from 4\n");
  CHECK(counted("split y: j by 8\nsplit a: j by 8\n") ==
        "split y: j by 8 from 3\nsplit a: j by 8 from 3\n");
  CHECK(counted("split i by 8 from 1\nsplit i.i by 4\n") ==
        "split i by 8 from 1\nsplit i.i by 4\n");
  CHECK(counted("split t: k by 8\n") == "split t: k by 8 from 2\n");
  CHECK(counted("{\n  split y: i by 8\n}\n") == "{\n  split y: i by 8 from 2\n}\n");
  CHECK(counted("skew y: j by i\nsplit y: j by 8\n") == "skew y: j by i\nsplit y: j by 8\n");
}

TEST_CASE("nest writer: long rows in vectors count from the line in which they begin") {
  const auto begin_of = [](const std::string& row, const std::string& lines,
                           const std::string& place = "i") {
    const ir::Program program = ir::parse_program(
        "program rows()\n  in  x: f32[4, 4096]\n  out y: f32[4, " + row + "]\n  y[h, " + place +
            "] = x[h, i] * 2   for h in 0..4, i in 37.." + row + "\n",
        "test");
    Script script = parse_script("schedule s/1 for rows  f32  exact\n" + lines, "s");
    count_from_begins(program, script.directives);
    return std::get<Split>(script.directives.front().operation).from.text;
  };
  const std::string vectors = "split i by 4*L\nnest h > i.o > <i.i> > y\n";
  CHECK(begin_of("1024", vectors) == "32");
  CHECK(begin_of("1024", "split i by 4*L\nnest h > i.o > i.i > y\n") == "37");
  CHECK(begin_of("1023", vectors) == "37");           // other rows begin elsewhere
  CHECK(begin_of("240", vectors) == "32");            // 12 lines
  CHECK(begin_of("224", vectors) == "37");            // 11 lines
  CHECK(begin_of("1024", vectors, "i - 1") == "37");  // another element of its line
  CHECK(begin_of("1024", vectors, "i - 16") == "32");
}

}  // namespace polyte::schedule::nest_writer_test
