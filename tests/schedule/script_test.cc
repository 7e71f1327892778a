// Text of scripts: print and parse are inverse, every problem of a file is reported at once,
// sizes are evaluated.
#include "schedule/script/directive_table.h"

#include <algorithm>

#include "schedule/script/size_expr.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule::script_test {

namespace {

const char* const kScript = R"(schedule dense_relu/1 for dense_relu@7c3f91  on znver5  f32  exact
param Mr = 12, Nr = 2*L, Kc = 384
where (Mr + 1) * Nr/L <= registers - 2
split m by Mr, n by Nr, k by Kc   tail cut
split acc.update: k.i into 4 from 1   tail guard   #: isl
tile y: (m, n) by (2*L, 4)   tail mask
let tile = [m.i] > <n.i>
nest par n.o > k.o > m.o > { tile > acc.init when first k.o and last c; k.i > tile > acc.update; bx at m.o }   #: template
order acc.init: n.o > m.o
reorder acc.update: k.o > m.i
reorder m > n
fuse acc.update:m, n as mn
merge acc.init, acc.update through n.o
distribute acc.update:m
unroll y:m.i
vectorize n.i
parallel acc.init:n.o   #: tile-model
compute_inline bx
compute_at bx at y:u.o
reverse_compute_at y at k.o when last k.o
place acc.init when first k.o
stage acc at m.o in register
cache_read x at y:m.o in stack pad 1
stage S0.far: A[j, k] at S0.far:j.o layout (j, k) [j//2*L, k, j%2*L]
stage A[2*i + 1, k] at i
cache_write y at m.o in heap
pack w layout (k, n) [n//Nr, k, n%Nr] pad 0 when compile copy n.o > k > <n.i> > w.in
{
  order acc.init: n.o > m.o
  place acc.init when first k.o
}   #: isl
)";

std::vector<std::string> problems_of(const std::string& text) {
  try {
    parse_script(text, "f");
  } catch (const UserError& error) {
    CHECK(error.status() == ExitStatus::InvalidInput);
    return error.problems();
  }
  return {};
}

std::vector<std::string> line_problem(const std::string& line) {
  return problems_of("schedule s/1 for p f32 exact\n" + line);
}

using List = std::vector<std::string>;

}  // namespace

TEST_CASE("every directive has a row in the table, every word one") {
  for (std::size_t type = 0; type < std::variant_size_v<AnyOperation>; ++type) {
    CAPTURE(type);
    const auto row = std::ranges::find(all_directives(), type, &DirectiveRow::type);
    REQUIRE(row != all_directives().end());
    CHECK((row->print && row->apply));
  }
  std::set<std::string> words;
  for (const DirectiveRow& row : all_directives()) {
    CAPTURE(row.word);
    CHECK(std::string(row.word).empty() == (row.parse == nullptr));
    if (row.parse) CHECK(words.insert(row.word).second);
  }
}

TEST_CASE("print and parse are inverse") { CHECK(print(parse_script(kScript, "f")) == kScript); }

TEST_CASE("a stage of updates is read back behind its padding") {
  check_reads_back("stage acc at m.o in register pad 1 updates");
  check_reads_back("stage acc at m.o in register pad 2*L updates copy n > m > acc.in");
}

TEST_CASE("the script of the guide parses, comments and spaces aside") {
  const Script script =
      parse_script(R"(schedule dense_relu/1 for dense_relu@7c3f91  on znver5  f32  reassoc k, c
param Mr = 12, Nr = 2*L, Kc = 384             where (Mr + 1) * Nr/L <= registers - 2      # lanes

split m by Mr, n by Nr, k by Kc               tail cut            # what owns the loop
let   tile = [m.i] > <n.i>
nest  par n.o > k.o > m.o > {
        tile > acc.init when first k.o;       # placed
        k.i > tile > acc.update;
        tile > y when last k.o
      }
stage acc at m.o in register
stage w   layout (k, n) [n//Nr, k, n%Nr] pad 0 when compile
)",
                   "f");
  CHECK(script.name == "dense_relu/1");
  CHECK(script.digest == "7c3f91");
  CHECK(script.target == "znver5");
  CHECK(script.contract == Contract::Reassoc);
  CHECK(script.reassociable == List{"k", "c"});
  CHECK(script.directives.size() == 11);
  CHECK(script.directives[8].line == 6);
  const std::string text = print(script);
  CHECK(print(parse_script(text, "f")) == text);
  CHECK(text.find(
            "nest par n.o > k.o > m.o > { tile > acc.init when first k.o; k.i > tile > acc.update; "
            "tile > y when last k.o }\n") != std::string::npos);
}

TEST_CASE("the header says for how many threads, and that is what `cores` counts") {
  const std::string text =
      "schedule s/1 for p  on znver5 with 8 threads  f32  exact\nparam Mr = cores\n";
  const Script script = parse_script(text, "f");
  CHECK(script.threads == 8);
  CHECK(print(script) == text);
  CHECK(initial_environment(script, {}, test_machine()).values.at("cores") == 8);
  CHECK(initial_environment({}, {}, test_machine()).values.at("cores") == test_machine().cores);
  const std::string expected =
      "f:1: 'with' says how many threads share the loops, 1 to 1024: with 8 threads";
  for (const char* count :
       {"with", "with f32", "with 0 threads", "with 1025 threads", "with 8", "with 8x threads"})
    CHECK(problems_of("schedule s/1 for p on znver5 " + std::string(count) + "\n") ==
          List{expected});
}

TEST_CASE("a line ends where its brackets are closed") {
  const Script script = parse_script(
      "schedule s/1 for p f32 exact\nview C as [64,   # rows\n  63]\n"
      "pack w layout (k,\n  n) [n//4,\n  k, n%4] pad 1\nnest {\n  m > A\n  }\nunroll m\n",
      "f");
  CHECK(print(script) ==
        "schedule s/1 for p  f32  exact\nview C as [64, 63]\n"
        "pack w layout (k, n) [n//4, k, n%4] pad 1\nnest m > A\nunroll m\n");
  CHECK(script.directives[0].line == 2);
  CHECK(script.directives[3].line == 10);
}

TEST_CASE("every problem of a file at once") {
  CHECK(problems_of("schedule s/1 for p f32 exact\n"
                    "split m by\nnest a > b >\nturn m\nsplit k by 4 tail soft\n") ==
        List{"f:2: a size is missing before the end of the line; for example: split m by 8",
             "f:3: expected a loop or a statement, got the end of the line",
             "f:4: 'turn' is not a directive (param, where, let, split, tile, reorder, order, "
             "fuse, merge, distribute, "
             "tail, "
             "unroll, unroll_and_jam, cut, peel, tensorize, vectorize, parallel, bind, "
             "gpu_tile, map, skew, "
             "shift, reverse, rename, "
             "affine, "
             "interchange, wavefront, compute_inline, compute_at, compute_root, store_at, "
             "compute_with, "
             "reverse_compute_at, place, nest, rewrite, rfactor, split_reduction, reassociate, "
             "reciprocal, "
             "defer_division, precompute, atomic, "
             "specialize, "
             "stage, cache_read, cache_write, pack, registers, fold_storage, bound_storage, "
             "storage_align, "
             "hoist_storage, reuse, "
             "set_scope, transform_layout, view, double_buffer, pipeline, prefetch, stream, pad, "
             "swizzle are)",
             "f:5: tail 'soft': expected guard, mask, cut, round or shift; for example: split m by "
             "8"});
  CHECK(problems_of("") == List{"f:1: the script is empty"});
  CHECK(problems_of("split m by 4\n") ==
        List{"f:1: a script begins with: schedule NAME/1 for PROGRAM@DIGEST on CPU TYPE CONTRACT, "
             "got 'split m by 4'"});
  CHECK(problems_of("schedule s/1 for p f33 exact\n") ==
        List{"f:1: 'f33' is no type or contract (exact, reassoc LOOPS, unsafe)"});
  CHECK(problems_of("schedule s/1 for p f32 reassoc\n") ==
        List{"f:1: reassoc names the loops whose order may change"});
}

TEST_CASE("what a line may not say") {
  CHECK(line_problem("split k by 2*?") ==
        List{"f:2: a hole ('?') stands for the whole size of a split, a tile or an unroll; "
             "elsewhere it needs a name to "
             "be filled by: param F = ? on a line before, and F here; for example: split m by 8"});
  CHECK(line_problem("nest par n.o > ?") ==
        List{"f:2: a hole of a nest is written '...', and '?' asks for a size"});
  CHECK(line_problem("nest <J.i> B") ==
        List{"f:2: expected '>' after loop J.i, got 'B' (a nest ends in statements)"});
  CHECK(line_problem("nest u > { x > bx once per v; y }") ==
        List{"f:2: 'once per' goes with 'at': S at LOOP once per v"});
  CHECK(line_problem("param F in {1, 2}") == List{"f:2: expected '=', got 'in'"});
  CHECK(line_problem("stage x in cache") ==
        List{"f:2: memory 'cache': expected register, stack, shared or heap; for example: stage "
             "acc at m.o in register"});
  CHECK(
      line_problem("stage S: x[i] at i updates") ==
      List{"f:2: updates is for what is written, x[i] of S is what is read; for example: stage acc "
           "at m.o in register"});
  CHECK(line_problem("stage x twice") ==
        List{"f:2: 'twice' is not expected in a stage (at, in, layout, fold, pad, "
             "when compile, updates, copy are); for example: stage acc at m.o in register"});
  CHECK(line_problem("unroll m   #: me") ==
        List{"f:2: provenance 'me': expected person, template, isl or tile-model"});
  for (const std::string word : {"template", "note"})
    CHECK(
        line_problem("#: " + word + "\nunroll m") ==
        List{"f:2: '#:' says who chose the directive in front of it, and there is none: a comment "
             "begins with '# '"});
  CHECK(problems_of("#: isl\nschedule s/1 for p f32 exact\nunroll m n\n").size() == 2);
  CHECK(line_problem("nest m > {   # in braces\n  #: isl\n  A }").empty());
  CHECK(line_problem("unroll m n") ==
        List{"f:2: 'n' is not expected here; for example: unroll n.i, after split n by 8"});
  CHECK(line_problem("{\norder y: m") == List{"f:2: '{' is not closed"});
  CHECK(line_problem("}") == List{"f:2: '}' without '{'"});
}

TEST_CASE("sizes") {
  const std::map<std::string, std::int64_t> values = {{"L", 16}, {"Mr", 14}};
  const auto value = [&](const std::string& text) { return *evaluate_size(text, values); };
  CHECK(value("2*L") == 32);
  CHECK(value("(Mr + 1) * 2*L/L <= 32 - 2") == 1);
  CHECK(value("-7 // 2") == -4);
  CHECK(value("7 - 2 - 1") == 4);
  CHECK(value("min(Mr, L) + max(1, 2) % 2") == 14);
  CHECK(value("Mr > 20 or L == 16 and Mr != 3") == 1);
  CHECK(evaluate_size("2 *", values).error().reason == "size '2 *': a number or name is missing");
  CHECK(evaluate_size("2 3", values).error().reason == "size '2 3': '3' is not understood");
}

}  // namespace polyte::schedule::script_test
