// Programs as operations on arrays: what becomes of each shape of statement, what is declined and
// why, and that NumPy computes with them what the interpreter does, where it is installed.
#include "driver/lab/array_form.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "driver/lab/python_peer.h"
#include "driver/lab/suite_check.h"
#include "ir/program_text.h"

namespace polyte::lab {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

ir::Program bound(const std::string& text, const ir::Values& sizes) {
  const bool notation = text.find("program") == std::string::npos;
  return ir::bind(
      notation ? ir::parse_index_notation(text, DType::F32) : ir::parse_program(text, "p"), sizes);
}

// The steps by name, loops with theirs in brackets.
std::string words_of(const Json& steps) {
  std::string words;
  for (const Json& step : steps) {
    words += (words.empty() ? "" : " ") + step["op"].get<std::string>();
    if (step.contains("body")) words += "(" + words_of(step["body"]) + ")";
  }
  return words;
}

std::string form_of(const ir::Program& program) {
  const Result<Json> form = array_form(program);
  return form ? words_of((*form)["steps"]) : "no form: " + form.error().reason;
}

TEST_CASE("statements as a person would write them with arrays") {
  CHECK(form_of(bound("C[m,n] = sum[k] A[m,k]*B[k,n]", {{"M", 4}, {"N", 5}, {"K", 6}})) ==
        "view view einsum store");
  CHECK(form_of(bound("y[i] = max[j] x[i,j]", {{"I", 4}, {"J", 5}})) == "view reduce store");
  CHECK(form_of(bound("y[i,j] = x[j,i] + 1", {{"I", 4}, {"J", 5}})) == "view literal binary store");
  CHECK(form_of(
            bound("program p()\n  in x: f32[8]\n  out y: f32[8]\n  y[i] = (x[i-1] else 0) + x[i]\n",
                  {})) == "pad view view binary store");
  CHECK(form_of(bound("program p()\n  in x: f32[3, 8]\n  in w: f32[2, 3, 3]\n  out y: f32[2, 8]\n"
                      "  y[f, p] = sum[c, r] (x[c, p + r - 1] else 0) * w[f, c, r]\n",
                      {})) == "view conv store");
  CHECK(form_of(bound("program p()\n  in x: f32[3, 8]\n  out y: f32[3, 4]\n"
                      "  y[c, p] = max[r in 0..2] x[c, 2*p + r]\n",
                      {})) == "pool store");
  // A window of three points without weights of its own: three slices.
  CHECK(form_of(bound(
            "program p()\n  in x: f32[8]\n  out y: f32[6]\n  y[p] = min[r in 0..3] x[p + r]\n",
            {})) == "view view binary view binary store");
  // A triangle: what the mask hides counts nothing.
  CHECK(form_of(bound("program p()\n  in A: f32[4, 4]\n  in x: f32[4]\n  out y: f32[4]\n"
                      "  y[i] = sum[j] A[i, j] * x[j] for i in 0..4, j in 0..i+1\n",
                      {}))
            .find("select") != std::string::npos);
  CHECK(form_of(bound("program p()\n  inout A: f32[8]\n  inout B: f32[8]\n  loop t in 0..5\n"
                      "    B[i] = A[i-1] + A[i+1] for i in 1..7\n    A[i] = B[i] for i in 1..7\n",
                      {})) == "loop(view view binary store view store)");
}

TEST_CASE("what arrays cannot say has a reason") {
  const auto reason = [](const std::string& statements) {
    const std::string head = "program p()\n  inout A: f32[8]\n  in b: i64[8]\n  out y: f32[8]\n";
    return form_of(bound(head + statements + "  Y: y[i] = A[i]\n", {}));
  };
  CHECK(reason("  S: A[i] = A[i-1] for i in 1..8\n") ==
        "no form: 'S': each step reads what another one has written to 'A'");
  CHECK(reason("  Z: y[i] = 0 for i in 0..8\n  S: y[b[i]] += A[i]\n") ==
        "no form: 'S': it scatters into 'y'");
  CHECK(reason("  loop t in 1..8\n    S: A[t] = A[t-1]\n") ==
        "no form: the steps of the ordered loop 't' differ: 'S' reads it");
  CHECK(reason("  S: A[i] = f32(b[i] / 2)\n").starts_with("no form: integers"));
}

// 2^28 times 2^36 would be 0 in 64 bits.
TEST_CASE("an array of more elements than can be counted is too large, too") {
  const std::string reason =
      form_of(bound("program p()\n  in a: f32[268435456]\n  in b: f32[68719476736]\n"
                    "  out y: f32[268435456]\n  S: y[i] = max[j] (a[i] + b[j])\n",
                    {}));
  CHECK_MESSAGE(reason.find("would need an array of more than 2^28 elements") != std::string::npos,
                reason);
}

// POLYTE_PYTHON, else what tools/setup has made.
bool has_numpy() {
  setenv("POLYTE_LAB_PEERS", fs::absolute("bench").c_str(), 1);
  if (fs::exists("build/python/bin/python"))
    setenv("POLYTE_PYTHON", fs::absolute("build/python/bin/python").c_str(), 0);
  const std::string version = versions_of_libraries({"numpy"}, false)["numpy"];
  if (version.starts_with("numpy ")) return true;
  MESSAGE("not run: " << version);
  return false;
}

TEST_CASE("NumPy computes with them what the interpreter does") {
  if (!has_numpy()) return;
  std::size_t right = 0, declined = 0;
  for (const char* name : {"kernelbench-1", "halide"}) {
    const Suite suite =
        read_suite(fs::absolute("bench/suites/" + std::string(name) + ".toml").string(), "");
    for (const SuiteFinding& finding : check_suite(suite, {arm_of("peer:numpy")})) {
      CHECK_MESSAGE(finding.problem.empty(),
                    suite.name << "/" << finding.row << ": " << finding.problem);
      ++(finding.declined.empty() ? right : declined);
    }
  }
  CHECK(right > 60);
}

}  // namespace
}  // namespace polyte::lab
