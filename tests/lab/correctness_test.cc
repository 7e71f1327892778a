// What is right and what is wrong before anything is timed, and how executions begin.
#include "driver/lab/correctness.h"

#include <doctest/doctest.h>

#include "driver/lab/stopwatch.h"
#include "ir/program_text.h"

namespace polyte::lab {
namespace {

Plan plan_of(const std::string& text, const Sizes& sizes) {
  const ir::Program program = ir::parse_program(text, "p");
  Plan plan;
  plan.target = "cpu:native";
  plan.programs.push_back({program.name, ir::digest(program), ir::print(program), ""});
  plan.rows.push_back({"row", 0, sizes, 1, "normal:1", Caches::Warm});
  plan.arms.push_back({{"naive", ArmSpec::Kind::Scheduler, "naive", {}}, {}});
  plan.baseline = "naive";
  return plan;
}

constexpr const char* kSums =
    "program sums(N)\n  in x: f32[N]\n  out y: f32[N]\n  y.up: y[i] = x[i] + 1 for i in 0..N\n";

TEST_CASE("outputs are held to a reference: the same, near, and wrong") {
  const Plan plan = plan_of(kSums, {{"N", 40}});
  const Workshop workshop = make_workshop(plan, plan.rows[0], {}, "");
  const Prepared prepared = prepare(workshop, plan.arms[0], workshop.program);
  REQUIRE(prepared.contender != nullptr);
  std::vector<runtime::Tensor> got = run_once(workshop, *prepared.contender);
  const Reference reference = make_reference(workshop);
  REQUIRE(reference.tensors.size() == 2);
  CHECK(check_real(workshop, got, reference).text == "same bits as " + reference.name);
  float& last = got[1].as<float>()[39];
  last *= 1.00001F;
  const Verdict near = check_real(workshop, got, reference);
  CHECK(near.right);
  CHECK(near.text == "within 0.0001 of " + reference.name);
  last += 1;
  const Verdict wrong = check_real(workshop, got, reference);
  CHECK_FALSE(wrong.right);
  CHECK(wrong.text.starts_with("'y' differs from " + reference.name));
  // An input that differs is no output that does.
  last -= 1;
  got[0].as<float>()[0] += 5;
  CHECK(check_real(workshop, got, reference).right);
}

struct Checked {
  explicit Checked(const Plan& made)
      : plan(made),
        workshop(make_workshop(plan, plan.rows[0], {}, "")),
        prepared(prepare(workshop, plan.arms[0], workshop.program)),
        reference(make_reference(workshop)),
        got(run_once(workshop, *prepared.contender)) {}
  Plan plan;
  Workshop workshop;
  Prepared prepared;
  Reference reference;
  std::vector<runtime::Tensor> got;
  Verdict verdict() const { return check_real(workshop, got, reference); }
};

// The logistic map forgets where it began: after 90 steps nothing of its start is left in 53 bits.
constexpr const char* kChaos =
    "program chaos(N)\n  in x: f64[N]\n  out y: f64[90, N]\n"
    "  out z: f64[N]\n  first: y[0, i] = x[i] * x[i] / (1 + x[i] * x[i]) for i in 0..N\n"
    "  z: z[i] = x[i] * 2 for i in 0..N\n"
    "  loop t in 1..90\n    next: y[t, i] = 4 * y[t - 1, i] * (1 - y[t - 1, i]) for i in 0..N\n";

TEST_CASE("what is rounding alone in the reference is not held against an arm, all else is") {
  Checked chaos(plan_of(kChaos, {{"N", 50}}));
  const std::size_t early = std::size_t{2} * 50 + 7, late = std::size_t{89} * 50 + 7;
  chaos.got[1].as<double>()[late] += 0.1;
  CHECK_MESSAGE(chaos.verdict().right, chaos.verdict().text);
  CHECK(chaos.verdict().left_out.find(" of 4500 elements of 'y'") != std::string::npos);
  chaos.got[1].as<double>()[early] += 1e-6;
  CHECK_FALSE(chaos.verdict().right);
  chaos.got[1].as<double>()[early] -= 1e-6;
  chaos.got[2].as<double>()[7] += 1e-6;
  CHECK_FALSE(chaos.verdict().right);
}

// Small integers lie on every step there is: an input that is moved crosses it, and that
// is no rounding.
TEST_CASE(
    "steps are no rounding: floors and comparisons of whole numbers stay checked, each element") {
  Plan plan = plan_of(
      "program steps(N)\n  in x: f64[N]\n  in w: f64[N]\n  out y: f64[N]\n"
      "  out z: f64[N]\n  out s: f64[1]\n  y: y[i] = floor(x[i]) + ceil(w[i]) for i in 0..N\n"
      "  z: z[i] = select(x[i] > w[i], x[i], 100) + select(x[i] == w[i], 7, 0) for i in 0..N\n"
      "  s: s[0] = sum[i in 0..N] floor(x[i])\n",
      {{"N", 40}});
  plan.rows[0].fill = "int:1";
  for (const std::size_t output : {2U, 3U, 4U}) {
    Checked steps(plan);
    REQUIRE(steps.verdict().right);
    const std::size_t count = steps.got[output].as<double>().size();
    for (std::size_t i = 0; i < count; ++i) {
      CAPTURE(output);
      CAPTURE(i);
      double& element = steps.got[output].as<double>()[i];
      element += 1;
      CHECK_FALSE(steps.verdict().right);
      element -= 1;
    }
  }
}

TEST_CASE("and to the interpreter at small sizes") {
  const Plan plan = plan_of(kSums, {{"N", 1'000'000}});
  const Workshop workshop = make_workshop(plan, plan.rows[0], {}, "");
  SmallProgram small = make_small(workshop);
  REQUIRE(small.program != nullptr);
  CHECK(small.sizes == "N=5");
  CHECK(check_small(workshop, plan.arms[0], small).text == "same bits as the interpreter at N=5");
  const ir::Program other = ir::parse_program(
      "program sums(N)\n  in x: f32[N]\n  out y: f32[N]\n  y.up: y[i] = x[i] + 1.5 for i in 0..N\n",
      "other");
  const Prepared wrong = prepare(workshop, plan.arms[0],
                                 std::make_shared<const ir::Program>(ir::bind(other, {{"N", 5}})));
  REQUIRE(wrong.contender != nullptr);
  CHECK_FALSE(check_small(workshop, *wrong.contender, small).right);
}

TEST_CASE("a Program whose condition forbids small sizes is taken at the first that it allows") {
  const Plan plan = plan_of(
      "program even(N) where N >= 12\n  in x: f32[N]\n  out y: f32[N]\n"
      "  y.up: y[i] = x[i] + 1 for i in 0..N\n",
      {{"N", 100}});
  const SmallProgram small = make_small(make_workshop(plan, plan.rows[0], {}, ""));
  CHECK(small.sizes == "N=16");
}

// Doubles its tensor in place, and notes what it has found and in which set.
class Recorder : public Contender {
 public:
  void add_set(std::span<runtime::Tensor> tensors) override { sets_.push_back(tensors); }
  void clear_sets() override { sets_.clear(); }
  void run(std::size_t set) override {
    float& value = sets_.at(set)[0].as<float>()[0];
    found.push_back(value);
    used.push_back(set);
    value *= 2;
  }
  std::vector<float> found;
  std::vector<std::size_t> used;

 private:
  std::vector<std::span<runtime::Tensor>> sets_;
};

TEST_CASE(
    "what is updated in place is put back before each execution, and each is timed by itself") {
  Recorder recorder;
  Stopwatch watch(recorder, {{"x", DType::F32, {4}, ir::Role::InOut}}, "ones", Caches::Warm);
  watch.nanoseconds(5);
  CHECK(watch.is_single());
  CHECK(recorder.found == std::vector<float>(5, 1.0F));
  Recorder plain;
  Stopwatch other(plain, {{"x", DType::F32, {4}, ir::Role::In}}, "ones", Caches::Warm);
  other.nanoseconds(3);
  CHECK_FALSE(other.is_single());
  CHECK(plain.found == std::vector<float>{1, 2, 4});
}

TEST_CASE("rotated tensors take turns, cold ones are timed one by one") {
  Recorder recorder;
  Stopwatch watch(recorder, {{"x", DType::F32, {4}, ir::Role::In}}, "ones", Caches::Rotated);
  CHECK(watch.sets() == 64);  // so small that twice the last cache is never reached
  watch.nanoseconds(3);
  CHECK(recorder.used[0] != recorder.used[1]);
  CHECK(recorder.used[1] != recorder.used[2]);
  Recorder cold;
  Stopwatch slow(cold, {{"x", DType::F32, {4}, ir::Role::In}}, "ones", Caches::Cold);
  slow.nanoseconds(2);
  CHECK(slow.is_single());
  CHECK(slow.sets() == 1);
}

}  // namespace
}  // namespace polyte::lab
