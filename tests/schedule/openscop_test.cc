// OpenScop out and in: what goes out of every kernel of PolyBench comes in as its own order, tiles
// and floors too; what is no OpenScop.
#include "schedule/proof/openscop.h"

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "schedule/proof/foreign_schedule.h"
#include "tests/schedule/leaks_of_isl.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule::openscop_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInPlace = R"(program in_place(T, N)
  inout A: f64[N]
  loop t in 0..T
    S: A[i] = A[i-1] + A[i+1]    for i in 1..N-1
)";

// The scattering (t, t + i), as another tool writes it.
constexpr const char* kSkewed = R"(<OpenScop>
C
CONTEXT
0 4 0 0 0 2
1
<strings>
T N
</strings>
1   # one statement
2
DOMAIN
2 6 2 0 0 2
1 1 0 0 0 0
1 0 1 0 0 -1
SCATTERING
2 8 2 2 0 2
0 -1 0 1 0 0 0 0
0 0 -1 1 1 0 0 0
1
<body>
2
t i
A[i] = A[i-1] + A[i+1];
</body>
<scatnames>
c1 c2
</scatnames>
</OpenScop>
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string problem_with(const std::string& text) {
  try {
    isl_text_of_openscop(text, *open_program(kInPlace), "f.scop");
  } catch (const UserError& error) {
    CHECK(error.status() == ExitStatus::InvalidInput);
    return error.what();
  }
  return "no problem";
}

std::string words_of(const ForeignVerdict& verdict) {
  const Refusal* refusal = verdict.first_refusal();
  return refusal ? refusal->headline : "legal";
}

std::string judged(const std::string& scop) {
  const auto program = open_program(kInPlace);
  return words_of(ForeignSchedule(program, isl_text_of_openscop(scop, *program, "f.scop"), "f.scop")
                      .judge(Terms::InOrder));
}

}  // namespace

TEST_CASE("the order of each kernel of PolyBench goes out and comes in") {
  int count = 0;
  for (const auto& entry : fs::directory_iterator("bench/polybench")) {
    if (entry.path().extension() != ".program") continue;
    CAPTURE(entry.path().string());
    ++count;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const auto program = open_program(text.str());
    const State state = reference_state(program);
    const std::string scop = openscop_text(state);
    CHECK(is_openscop(scop));
    const ForeignSchedule foreign(program, isl_text_of_openscop(scop, *program, "t.scop"),
                                  "t.scop");
    CHECK(words_of(foreign.judge(Terms::InOrder)) == "legal");
    CHECK(foreign.is_order_of(state));
  }
  CHECK(count == 30);
}

TEST_CASE("tiles are floors, which are local dimensions") {
  const auto program = open_program(kInPlace);
  const auto state = replay(program, script_of(*program, R"(map  S (t, t+i) as (t, I)
tile  (t, I) by (2, 3)   tail cut
nest  t.o > I.o > t.i > I.i > S)"),
                            test_machine(), {});
  REQUIRE(static_cast<bool>(state));
  const std::string scop = openscop_text(*state);
  CHECK(scop.find("SCATTERING\n13 17 9 2 2 2\n") != std::string::npos);
  const ForeignSchedule foreign(program, isl_text_of_openscop(scop, *program, "t.scop"), "t.scop");
  CHECK(words_of(foreign.judge(Terms::InOrder)) == "legal");
  CHECK(foreign.is_order_of(*state));
}

TEST_CASE("another tool's scatterings are judged") {
  CHECK(judged(kSkewed) == "legal");
  const std::string swapped = replaced(replaced(kSkewed, "0 -1 0 1 0 0 0 0", "0 -1 0 0 1 0 0 0"),
                                       "0 0 -1 1 1", "0 0 -1 1 0");
  CHECK(judged(swapped).find("read before it is written") != std::string::npos);
  const std::string half = replaced(kSkewed, "0 -1 0 1 0 0 0 0", "1 1 0 -1 0 0 0 0");
  CHECK(judged(half) != "legal");
  const std::string unnamed = replaced(kSkewed, "1\n<strings>\nT N\n</strings>", "0");
  CHECK(judged(unnamed) == "legal");
  const std::string parts =
      replaced(kSkewed, "SCATTERING\n2 8 2 2 0 2\n0 -1 0 1 0 0 0 0\n0 0 -1 1 1 0 0 0\n",
               "SCATTERING\n2\n3 8 2 2 0 2\n0 -1 0 1 0 0 0 0\n0 0 -1 1 1 0 0 0\n1 0 0 1 0 0 0 -1\n"
               "3 8 2 2 0 2\n0 -1 0 1 0 0 0 0\n0 0 -1 1 1 0 0 0\n1 0 0 -1 0 0 0 0\n");
  CHECK(judged(parts) == "legal");
}

TEST_CASE("what is no OpenScop is refused, with its line") {
  const std::string good = kSkewed;
  CHECK(problem_with("") == "f.scop:1: expected <OpenScop>, got the end of the file");
  CHECK(problem_with("<OpenScop>\nC\nCONTEXT\n0 5 0 0 0 2\n") ==
        "f.scop:4: the relation has 5 columns, its dimensions make 4");
  CHECK(problem_with(replaced(good, "1   # one", "2   # one")) ==
        "f.scop:9: has 2 statements, the program has 1: S");
  CHECK(problem_with(replaced(good, "0 -1 0 1 0 0 0 0", "0 -1 0 1 0 0 0")) ==
        "f.scop:17: expected 8 numbers, got 7");
  CHECK(problem_with(replaced(good, "0 -1 0 1 0 0 0 0", "2 -1 0 1 0 0 0 0")) ==
        "f.scop:17: a row begins with 0 (equality) or 1 (inequality)");
  CHECK(problem_with(replaced(good, "0 -1 0 1 0 0 0 0", "0 -1 0 x 0 0 0 0")) ==
        "f.scop:17: expected a number, got 'x'");
  CHECK(problem_with(replaced(good, "0 -1 0 1 0 0 0 0", "0 -1 0 99999999999999999999 0 0 0 0")) ==
        "f.scop:17: expected a number, got '99999999999999999999'");
  CHECK(problem_with(replaced(good, "2 8 2 2 0 2", "2 100000 2 2 0 2")) ==
        "f.scop:16: expected a size from 0 to 10000, got 100000");
  CHECK(problem_with(replaced(good, "SCATTERING", "SCATTER")) == "f.scop:18: S has no scattering");
  CHECK(problem_with(replaced(good, "</body>", "")) ==
        "f.scop:28: expected </body>, got the end of the file");
  CHECK(problem_with(replaced(good, "</OpenScop>", "</OpenScop>\n<OpenScop>")) ==
        "f.scop:28: has more than one scop, expected one");
  CHECK(problem_with(replaced(good, "T N", "T -> N")) ==
        "f.scop:8: the relations have 2 parameters, 3 are named");
  CHECK(problem_with(replaced(good, "T N", "T },{")) == "f.scop:8: '},{' is no name of a size");
}

TEST_CASE("damaged OpenScop is refused, never followed into a crash") {
  [[maybe_unused]] const LeaksOfIsl expected;
  std::mt19937 random(3);
  const auto program = open_program(kInPlace);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string text = kSkewed;
    for (int k = 0; k < 3; ++k) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0) text.erase(at, random() % 5);
      if (random() % 2 == 0)
        text.insert(std::min(at, text.size()), text.substr(random() % text.size(), random() % 9));
    }
    try {
      ForeignSchedule(program, isl_text_of_openscop(text, *program, "damaged"), "damaged");
    } catch (const UserError&) {
      ++refused;
    }
  }
  CHECK(refused > 500);
}

}  // namespace polyte::schedule::openscop_test
