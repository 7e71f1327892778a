// Schedules of other tools: the verdict against brute force, the words of a refusal, what is no
// schedule at all, and the Scripts that come of them.
#include "schedule/proof/foreign_schedule.h"

#include <algorithm>
#include <random>

#include "schedule/proof/isl_schedule_text.h"
#include "schedule/script/script_of_times.h"
#include "tests/schedule/leaks_of_isl.h"
#include "tests/schedule/schedule_testing.h"
#include "tests/schedule/trace_pairs.h"

namespace polyte::schedule::foreign_schedule_test {
namespace {

constexpr const char* kStencil = R"(program stencil(T, N)
  inout A: f64[N]
  inout B: f64[N]
  loop t in 0..T
    S0: B[i] = A[i-1] + A[i] + A[i+1]    for i in 1..N-1
    S1: A[i] = B[i-1] + B[i] + B[i+1]    for i in 1..N-1
)";
constexpr const char* kInPlace = R"(program in_place(T, N)
  inout A: f64[N]
  loop t in 0..T
    S: A[i] = A[i-1] + A[i+1]    for i in 1..N-1
)";
constexpr const char* kProduct = R"(program product(M, N, K)
  in  a: f32[M, K]
  in  b: f32[K, N]
  out c: f32[M, N]
  c[m, n] = sum[k] a[m, k] * b[k, n]
)";
// S1 needs the last S0 alone; the sum in integers.
constexpr const char* kTotal = R"(program total(M, N)
  in  a: i32[M, N]
  out y: i32[M]
  s[m] = sum[n] a[m, n]
  y[m] = s[m] * s[0]
)";

ForeignVerdict verdict_of(const std::string& program, const std::string& text,
                          Terms terms = Terms::InOrder) {
  return ForeignSchedule(open_program(program), text, "f.isl").judge(terms);
}

std::string words_of(const ForeignVerdict& verdict) {
  const Refusal* refusal = verdict.first_refusal();
  return refusal ? to_string(*refusal, "f.isl", "") : "legal";
}

std::string words_of(const std::string& program, const std::string& text,
                     Terms terms = Terms::InOrder) {
  return words_of(verdict_of(program, text, terms));
}

std::string problem_of(const std::string& program, const std::string& text) {
  try {
    ForeignSchedule(open_program(program), text, "f.isl");
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

// --- brute force

constexpr int kRuns = 120;

using Times = std::map<std::string, std::vector<ir::Affine>>;

std::string text_of(const Times& times, const ir::Program& program) {
  std::string text;
  for (const auto& [statement, rows] : times) {
    std::string iterators, values;
    for (const std::string& it : program.statement(statement).iterators)
      iterators += (iterators.empty() ? "" : ", ") + it;
    for (const ir::Affine& row : rows) values += (values.empty() ? "" : ", ") + ir::to_string(row);
    text += (text.empty() ? "{ " : "; ") + statement + "[" + iterators + "] -> [" + values + "]";
  }
  return text + " }";
}

std::vector<std::int64_t> time_of(const Times& times, const ir::Program& program,
                                  const std::string& statement,
                                  const std::vector<std::int64_t>& instance) {
  ir::Values values;
  const std::vector<std::string>& iterators = program.statement(statement).iterators;
  for (std::size_t i = 0; i < instance.size(); ++i) values[iterators[i]] = instance[i];
  std::vector<std::int64_t> time;
  for (const ir::Affine& row : times.at(statement)) time.push_back(ir::evaluate(row, values));
  return time;
}

bool keeps_order(const Times& times, const ir::Program& program, const TracePairs& pairs) {
  return std::ranges::all_of(pairs, [&](const TracePair& pair) {
    const auto& [kind, source, sink, tensor, reduction, from, to] = pair;
    return time_of(times, program, source, from) < time_of(times, program, sink, to);
  });
}

// Pairs of all sizes up to these.
std::map<ir::Values, TracePairs> pairs_of_sizes(const std::string& program, const ir::Values& least,
                                                const ir::Values& most) {
  std::map<ir::Values, TracePairs> all;
  ir::Values sizes = least;
  for (;;) {
    all[sizes] = pairs_of_trace(*bound_program(program, sizes), false);
    auto size = sizes.begin();
    while (size != sizes.end() && size->second == most.at(size->first)) {
      size->second = least.at(size->first);
      ++size;
    }
    if (size == sizes.end()) return all;
    ++size->second;
  }
}

ir::Affine random_row(std::mt19937& random, const std::vector<std::string>& iterators) {
  ir::Affine row = static_cast<std::int64_t>(random() % 3);
  for (const std::string& it : iterators) {
    const std::int64_t factor = std::array<std::int64_t, 7>{0, 0, 1, 1, 1, 2, -1}[random() % 7];
    row = row + ir::Affine::symbol(it) * factor;
  }
  return random() % 8 == 0 ? ir::floor_div(row, 2) : row;
}

std::int64_t total_of(const ir::Values& sizes) {
  std::int64_t total = 0;
  for (const auto& [name, value] : sizes) total += value;
  return total;
}

struct Counts {
  int legal = 0, illegal = 0;
};

Counts try_random_schedules(const std::string& text, const ir::Values& least,
                            const ir::Values& most, int runs) {
  const auto program = open_program(text);
  auto pairs = pairs_of_sizes(text, least, most);
  std::mt19937 random(4711);
  Counts counts;
  for (int run = 0; run < runs; ++run) {
    Times times;
    const ir::Affine shared = random_row(random, program->statements.front().iterators);
    for (const ir::Statement& s : program->statements) {
      std::vector<ir::Affine> rows = {random() % 2 == 0 ? shared : random_row(random, s.iterators)};
      while (rows.size() < 4) rows.push_back(random_row(random, s.iterators));
      times[s.name] = rows;
    }
    const std::string schedule = text_of(times, *program);
    CAPTURE(schedule);
    const ForeignVerdict verdict =
        ForeignSchedule(program, schedule, "f.isl").judge(Terms::InOrder);
    std::int64_t least_total = 1000;  // of sizes at which it fails
    for (const auto& [sizes, related] : pairs)
      if (!keeps_order(times, *program, related))
        least_total = std::min(least_total, total_of(sizes));
    const bool legal = least_total == 1000;
    CHECK(legal == !verdict.refusal);
    ++(legal ? counts.legal : counts.illegal);
    if (!verdict.refusal) continue;
    REQUIRE(!verdict.refusal->counterexamples.empty());
    const Counterexample& c = verdict.refusal->counterexamples.front();
    const auto values = [](const Instance& instance) {
      std::vector<std::int64_t> all;
      for (const auto& [name, value] : instance.iterators) all.push_back(value);
      return all;
    };
    CHECK(time_of(times, *program, c.source.statement, values(c.source)) >=
          time_of(times, *program, c.sink.statement, values(c.sink)));
    CHECK(total_of(c.sizes) == least_total);
    TracePairs& there = pairs[c.sizes];
    if (there.empty()) there = pairs_of_trace(*bound_program(text, c.sizes), false);
    CHECK(std::ranges::any_of(there, [&](const TracePair& pair) {
      return std::get<1>(pair) == c.source.statement && std::get<2>(pair) == c.sink.statement &&
             std::get<5>(pair) == values(c.source) && std::get<6>(pair) == values(c.sink);
    }));
  }
  return counts;
}

}  // namespace

TEST_CASE("random schedules: the verdict is that of brute force, and a counterexample is one") {
  const Counts stencil =
      try_random_schedules(kStencil, {{"T", 1}, {"N", 3}}, {{"T", 3}, {"N", 7}}, kRuns);
  CHECK(stencil.illegal > kRuns / 4);
  const Counts in_place =
      try_random_schedules(kInPlace, {{"T", 1}, {"N", 3}}, {{"T", 4}, {"N", 7}}, kRuns);
  CHECK(in_place.legal > kRuns / 20);
  CHECK(in_place.illegal > kRuns / 4);
}

TEST_CASE("the reference order is legal, its reverse is not, a skew is where it is steep enough") {
  CHECK(words_of(kStencil, "{ S0[t, i] -> [t, 0, i]; S1[t, i] -> [t, 1, i] }") == "legal");
  CHECK(words_of(kStencil, "{ S0[t, i] -> [-t, 0, i]; S1[t, i] -> [-t, 1, i] }") ==
        "f.isl: the schedule  is illegal: two writes of one element would change places\n"
        "  dependence    output of B[i], from S0 to S0\n"
        "  reference     S0(t=0, i=1) writes B[1], then S0(t=1, i=1) writes it\n"
        "  scheduled     S0(t=1, "
        "i=1) at [-1, 0, 1], S0(t=0, i=1) at [0, 0, 1]      (smallest case: T = 2, N = 3)\n");
  CHECK(words_of(kStencil, "{ S0[t, i] -> [2t + i, t, 0]; S1[t, i] -> [2t + i + 1, t, 1] }") ==
        "legal");
  CHECK(has(words_of(kStencil, "{ S0[t, i] -> [t + i, t, 0]; S1[t, i] -> [t + i + 1, t, 1] }"),
            "illegal"));
  CHECK(words_of(kStencil,
                 "{ S0[t, i] -> [floor(t/4), floor((2t + i)/8), t, 2t + i, 0];"
                 "  S1[t, i] -> [floor(t/4), floor((2t + i + 1)/8), t, 2t + i + 1, 1] }") ==
        "legal");
}

TEST_CASE("what runs at one time is not ordered") {
  CHECK(has(words_of(kStencil, "{ S0[t, i] -> [t, i]; S1[t, i] -> [t, i] }"),
            "both run at [0, 1]: nothing orders them"));
  CHECK(words_of("program f(N)\n  in x: f32[N]\n  out y: f32[N]\n  S: y[i] = x[i]\n",
                 "{ S[i] -> [0] }") == "legal");
}

TEST_CASE("every instance has one time") {
  CHECK(has(words_of(kStencil, "{ S0[t, i] -> [t, 0, i] }"), "S1 would leave an instance out"));
  CHECK(has(words_of(kStencil, "{ S0[t, i] -> [t, 0, i]; S1[t, i] -> [t, 1, i] : i > 1 }"),
            "S1(t=0, i=1) has no time"));
  CHECK(has(words_of(kStencil, "{ S0[t, i] -> [t, 0, i]; S1[t, i] -> [t, 1, j] }"),
            "S1(t=0, i=1) has more than one"));
  CHECK(
      has(words_of(kStencil, "{ S0[t, i] -> [t, 0, i]; S1[t, i] -> [t, 1, j] : i <= j <= i + 1 }"),
          "S1 would run"));
}

TEST_CASE("terms of a sum keep their order, but for integers and where they may not") {
  const std::string reversed =
      "{ c_init[m, n] -> [0, m, n, 0]; c_update[m, n, k] -> [1, m, n, -k] }";
  CHECK(has(words_of(kProduct, reversed), "the updates of one element would change their order"));
  CHECK(words_of(kProduct, reversed, Terms::AnyOrder) == "legal");
  const std::string before = "{ c_init[m, n] -> [1, m, n, 0]; c_update[m, n, k] -> [0, m, n, k] }";
  CHECK(has(words_of(kProduct, before, Terms::AnyOrder), "illegal"));
  CHECK(words_of(kTotal,
                 "{ s_init[m] -> [0, m, 0]; s_update[m, n] -> [1, -n, m]; y[m] -> [2, m, 0] }") ==
        "legal");
  CHECK(
      has(words_of(kTotal,
                   "{ s_init[m] -> [0, m, 0]; s_update[m, n] -> [1, m, n]; y[m] -> [1, m, 1000] }"),
          "smallest case: M = 1, N = 1001"));
}

TEST_CASE("sizes may be bound, in the file as in the Program") {
  const std::string tail =
      "{ s_init[m] -> [0, m, 0]; s_update[m, n] -> [1, m, n]; y[m] -> [2, m, N] }";
  const auto bound = bound_program(kTotal, {{"M", 3}, {"N", 4}});
  CHECK(!ForeignSchedule(bound, "[N] -> " + tail, "f.isl").judge(Terms::InOrder).refusal);
  CHECK(words_of(kTotal, "[N] -> " + tail) == "legal");
  const std::string mixed =
      "[M, N] -> { s_init[m] -> [m, 0]; s_update[m, n] -> [m, n + 1]; y[m] -> [M + m, 0] }";
  CHECK(words_of(kTotal, mixed) == "legal");
  CHECK(!ForeignSchedule(bound, mixed, "f.isl").judge(Terms::InOrder).refusal);
}

TEST_CASE("schedules of the kind whose results the peers had wrong are refused") {
  // gemver: w = A x fused with the loop that finishes x.
  constexpr const char* kGemver = R"(program gemver(N)
  inout A: f64[N, N]
  in    y: f64[N]
  inout x: f64[N]
  inout w: f64[N]
  in    z: f64[N]
  S1: x[i] += A[j, i] * y[j]
  S2: x[i] = x[i] + z[i]
  S3: w[i] += A[i, j] * x[j]
)";
  CHECK(
      has(words_of(kGemver, "{ S1[i, j] -> [i, 0, j]; S2[i] -> [i, 1, 0]; S3[i, j] -> [i, 2, j] }"),
          "S3(i=0, j=1) at [0, 2, 1], S1(i=1, j=0) at [1, 0, 0]"));
  // symm: the sum t of a row taken before it is complete.
  constexpr const char* kSymm = R"(program symm(M, N)
  inout C: f64[M, N]
  in    A: f64[M, M]
  in    B: f64[M, N]
  t[i, j] = sum[k] B[k, j] * A[i, k]    for i in 0..M, j in 0..N, k in 0..i
  S0: C[i, j] = C[i, j] + t[i, j]
  S1: C[k, j] += B[i, j] * A[i, k]      for k in 0..M, j in 0..N, i in k+1..M
)";
  CHECK(has(words_of(kSymm,
                     "{ t_init[i, j] -> [i, j, 0, 0]; t_update[i, j, k] -> [i, j, 2, k]; S0[i, j] "
                     "-> [i, j, 1, 0];"
                     "  S1[k, j, i] -> [i, j, 3, k] }"),
            "flow of t[i, j], from t.update to S0"));
  // durbin: the recursion over k unrolled in parallel, its scalars shared.
  constexpr const char* kDurbin = R"(program durbin(N)
  in    r: f64[N]
  inout y: f64[N]
  temp  alpha: f64[]
  loop k in 1..N
    S4: alpha[] = r[k] + y[k-1]
    S7: y[k] = alpha[]
)";
  CHECK(has(words_of(kDurbin, "{ S4[k] -> [0, k]; S7[k] -> [1, k] }"), "illegal"));
}

TEST_CASE("marks of a tree: coincident and permutable are judged by what they say") {
  const auto tree = [](const std::string& rows, const std::string& marks) {
    return "domain: \"[T, N] -> { S[t, i] : 0 <= t < T and 1 <= i < N - 1 }\"\n"
           "child:\n  schedule: \"" +
           rows + "\"\n" + marks;
  };
  const std::string skewed = "[{ S[t, i] -> [(t)] }, { S[t, i] -> [(t + i)] }]";
  CHECK(words_of(kInPlace, tree(skewed, "  permutable: 1\n")) == "legal");
  CHECK(verdict_of(kInPlace, tree(skewed, "  permutable: 1\n")).marks.size() == 1);
  const std::string plain = "[{ S[t, i] -> [(t)] }, { S[t, i] -> [(i)] }]";
  CHECK(words_of(kInPlace, tree(plain, "")) == "legal");
  CHECK(has(words_of(kInPlace, tree(plain, "  permutable: 1\n")),
            "one of its loops runs against a dependence"));
  CHECK(has(words_of(kInPlace, tree(plain, "  coincident: [ 0, 1 ]\n")),
            "its iterations depend on each other"));
  // The front of a wave: all of its instances are independent, in a band of their own.
  const std::string front = "[{ S[t, i] -> [(2t + i)] }]";
  CHECK(words_of(
            kInPlace,
            tree(front,
                 "  child:\n    schedule: \"[{ S[t, i] -> [(t)] }]\"\n    coincident: [ 1 ]\n")) ==
        "legal");
  const std::string trmm = R"(program trmm(M, N)
  in    A: f64[M, M]
  inout B: f64[M, N]
  loop i in 0..M
    S0: B[i, j] += A[k, i] * B[k, j]    for j in 0..N, k in i+1..M
)";
  CHECK(has(
      words_of(trmm,
               "domain: \"[M, N] -> { S0[i, j, k] : 0 <= i < M and 0 <= j < N and i < k < M }\"\n"
               "child:\n  schedule: \"[{ S0[i, j, k] -> [(i)] }, { "
               "S0[i, j, k] -> [(j)] }, { S0[i, j, k] -> [(k)] }]\"\n  coincident: [ 1, 1, 0 ]\n"),
      "anti of B[i, j], from S0 to S0"));
}

TEST_CASE("a tree runs its domain, no more and no less") {
  const auto tree = [](const std::string& domain) {
    return "domain: \"[T, N] -> { S[t, i] : " + domain +
           " }\"\nchild:\n  schedule: \"[{ S[t, i] -> [(t)] }, { S[t, i] -> [(i)] }]\"\n";
  };
  CHECK(words_of(kInPlace, tree("0 <= t < T and 1 <= i < N - 1")) == "legal");
  CHECK(has(words_of(kInPlace, tree("0 <= t < T and 1 <= i < N")),
            "S would run where it has no instance"));
  CHECK(has(words_of(kInPlace, tree("0 <= t < T and 2 <= i < N - 1")),
            "S would leave an instance out"));
}

TEST_CASE("the children of a set may come in any order, those of a sequence do not") {
  const auto tree = [](const std::string& kind) {
    return "domain: \"[T, N] -> { S0[t, i] : 0 <= t < T and 1 <= i < N - 1; "
           "S1[t, i] : 0 <= t < T and 1 <= i < N - 1 }\"\n"
           "child:\n  schedule: \"[{ S0[t, i] -> [(t)]; S1[t, i] -> [(t)] }]\"\n  child:\n    " +
           kind +
           ":\n    - filter: \"{ S0[t, i] }\"\n      child:\n"
           "        schedule: \"[{ S0[t, i] -> [(i)] }]\"\n    - filter: \"{ S1[t, i] }\"\n"
           "      child:\n        schedule: \"[{ S1[t, i] -> [(i)] }]\"\n";
  };
  CHECK(words_of(kStencil, tree("sequence")) == "legal");
  CHECK(has(words_of(kStencil, tree("set")), "the set node of line 5 lets either come first"));
}

TEST_CASE("what isl does not read, or the Program does not have, is refused with its line") {
  [[maybe_unused]] const LeaksOfIsl expected;
  CHECK(problem_of(kStencil, "{ S0[t, i] -> [t, 0, i];\n  S1[t, i -> [t] }") ==
        "f.isl:2: expected isl's union map, a statement and its time: { S[i, j] -> [i, 0, j]; T[i] "
        "-> [i, 1, 0] }");
  CHECK(problem_of(kStencil, "schedule s/1") ==
        "f.isl:1: expected isl's union map, { S[i] -> [i] }, or a schedule tree that begins with "
        "domain:");
  CHECK(problem_of(kStencil, "{ S2[t, i] -> [t, i] }") ==
        "f.isl: 'S2' is no statement of the program, which has S0, S1");
  CHECK(problem_of(kStencil, "{ S0[t] -> [t] }") ==
        "f.isl: S0 has 2 iterators (t, i), here it has 1");
  CHECK(problem_of(kStencil, "[Q] -> { S0[t, i] -> [Q + t] }") ==
        "f.isl: 'Q' is no size of the program, which has T, N");
  CHECK(has(problem_of(kStencil, "{ S0[t, i] -> [t, i]; S1[t, i] -> [t] }"),
            "that of S1 has 1: expected as many"));
  CHECK(has(problem_of(kStencil, ""), "nothing in it"));
  CHECK(
      has(problem_of(kStencil,
                     "domain: \"{ S0[t, i] }\"\nchild:\n  schedule: \"[{ S0[t, i] -> [(t] }]\"\n"),
          "f.isl:3: schedule: expected rows"));
  CHECK(has(
      problem_of(kStencil, "domain: \"{ S0[t, i] }\"\nchild:\n  extension: \"{ [] -> X[] }\"\n"),
      "f.isl:3: 'extension': a tree whose nodes add"));
  const std::string domain = "domain: \"{ S0[t, i] }\"\n";
  CHECK(problem_of(kStencil, domain + "childs: \"{ }\"\n") ==
        "f.isl:2: 'childs' is not known here, expected domain, child");
  CHECK(problem_of(kStencil, domain + "child:\n  mark: 5\n   child: 3\n") ==
        "f.isl:4: expected a key in line with those above, got child");
  CHECK(problem_of(kStencil, domain + "child:\n  sequence:\n  - mark: a\n") ==
        "f.isl:4: expected filter: \"{ S[i] }\"");
  CHECK(problem_of(kStencil, "{ domain: \"{ S0[t, i] : 0 }\" }") ==
        "f.isl:1: domain: expected a set such as { S[i] : 0 <= i < 8 }, got { S0[t, i] : 0 }");
  CHECK(has(problem_of(kStencil, "{ S0[t, i] -> [" + std::string(5000, '(')),
            "brackets within each other"));
  CHECK(has(problem_of(kStencil, "{ S0[t, i] -> [" + std::string(5000, '-')), "signs in a row"));
  CHECK(has(problem_of(kStencil, "{ S0[t, i] -> [99999999999999999999] }"), "digits in a number"));
  CHECK(problem_of(kStencil, std::string(2 << 20, ' ')) == "f.isl: a schedule of more than 1 MiB");
}

TEST_CASE("texts with bytes changed are read or refused, never more") {
  [[maybe_unused]] const LeaksOfIsl expected;
  const std::string good =
      "[T, N] -> { S0[t, i] -> [floor(t/2), 2t + i, 0] : i > 0; S1[t, i] -> [t, 2t + i, 1] }";
  const std::string tree = isl_schedule_text(reference_state(open_program(kStencil)));
  std::mt19937 random(17);
  const std::string bytes = "{}[]()->:;,\"0123456789tiNT \n+*/-<>=#_andormodexists";
  int read = 0;
  for (int run = 0; run < 10 * kRuns; ++run) {
    std::string text = run % 2 == 0 ? good : tree;
    for (std::size_t changes = 1 + random() % 4; changes-- > 0;) {
      const std::size_t at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, 1 + random() % 5);
      else
        text[at] = bytes[random() % bytes.size()];
    }
    try {
      ForeignSchedule(open_program(kStencil), text, "f.isl").judge(Terms::InOrder);
      ++read;
    } catch (const UserError&) {
      continue;  // most damage is noticed
    }
  }
  CHECK(read > kRuns / 4);
}

TEST_CASE("a schedule becomes a script in its very order") {
  for (const std::string& text :
       {std::string("{ S0[t, i] -> [t, 0, i]; S1[t, i] -> [t, 1, i] }"),
        std::string("{ S0[t, i] -> [2t + i, t, 0]; S1[t, i] -> [2t + i + 1, t, 1] }"),
        std::string("{ S0[t, i] -> [floor(t/2), floor((2t + i)/3), t, 2t + i, 0];"
                    "  S1[t, i] -> [floor(t/2), floor((2t + i + 1)/3), t, 2t + i + 1, 1] }")}) {
    CAPTURE(text);
    const auto program = bound_program(kStencil, {{"T", 5}, {"N", 9}});
    const ForeignSchedule foreign(program, text, "f.isl");
    CHECK(!foreign.judge(Terms::InOrder).refusal);
    std::string why;
    const auto script =
        script_of_times(*program, foreign.rows(why), Terms::InOrder, test_machine());
    REQUIRE(script);
    CAPTURE(print(*script));
    const auto state = replay(program, *script, test_machine(), {});
    REQUIRE_MESSAGE(static_cast<bool>(state), (state ? "" : state.error().headline));
    CHECK(foreign.is_order_of(*state));
    if (has(text, "floor(t/2)")) CHECK(has(print(*script), "tile (t, I) by (2, 3)"));
    CHECK(joined_problems(compare_with_reference(*state)) == "");
    CHECK(!ForeignSchedule(program, isl_schedule_text(*state), "back.isl")
               .judge(Terms::InOrder)
               .first_refusal());
  }
}

TEST_CASE("another order is not taken for it, and tiles without their loops are no script") {
  const auto program = bound_program(kInPlace, {{"T", 4}, {"N", 8}});
  const ForeignSchedule skewed(program, "{ S[t, i] -> [2t + i, t] }", "f.isl");
  CHECK(!skewed.is_order_of(reference_state(program)));
  CHECK(ForeignSchedule(program, "{ S[t, i] -> [t, i] }", "f.isl")
            .is_order_of(reference_state(program)));
  const auto open = open_program(kInPlace);
  const ForeignSchedule tiles(open, "{ S[t, i] -> [floor(t/2), 2t + i, t] }", "f.isl");
  std::string why;
  const auto rows = tiles.rows(why);
  CHECK(rows.size() == 1);
  const ForeignSchedule halves(open, "{ S[t, i] -> [floor(t/2), t, floor(i/3)] }", "f.isl");
  const auto script = script_of_times(*open, halves.rows(why), Terms::InOrder, test_machine());
  REQUIRE(!script);
  CHECK(script.error().reason == "tiles of i by 3 of 'S' have no loop within them");
  const ForeignSchedule pieces(open, "{ S[t, i] -> [t, i] : i < 3; S[t, i] -> [t, 2i] : i >= 3 }",
                               "f.isl");
  CHECK(pieces.rows(why).empty());
  CHECK(why == "the time of 'S' is not one expression of its iterators");
}

}  // namespace polyte::schedule::foreign_schedule_test
