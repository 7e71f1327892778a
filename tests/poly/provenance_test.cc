// Who is said to have chosen a line has chosen it; and what isl could not do is reported apart.
#include <doctest/doctest.h>

#include <sstream>

#include "tests/poly/poly_testing.h"

namespace polyte::poly {
namespace {

constexpr const char* kProduct = R"(
program product(M, N, K)
  in  a: f32[M, K]
  in  b: f32[K, N]
  out c: f32[M, N]
  c[i, j] = sum[k] a[i, k] * b[k, j]
)";
constexpr const char* kNorm = R"(
program norm(I, J)
  in  x: f32[I, J]
  out y: f32[I, J]
  temp s: f32[I]
  s[i] = sum[j] x[i, j] * x[i, j]
  Y: y[i, j] = x[i, j] / s[i]
)";

const ir::Values kSizes = {{"M", 96}, {"N", 128}, {"K", 64}};

// The lines that begin so, of a script.
std::vector<std::string> lines_of(const schedule::Script& script, const std::string& word) {
  std::vector<std::string> found;
  std::istringstream text(schedule::print(script));
  for (std::string line; std::getline(text, line);)
    if (line.starts_with(word)) found.push_back(line);
  return found;
}

Result<schedule::Script> written(const char* text, const ir::Values& sizes,
                                 const PolyOptions& options) {
  return auto_schedule(*schedule::bound_program(text, sizes), schedule::wide_machine(), options);
}

void check_nests(const Result<schedule::Script>& script, const std::string& provenance) {
  REQUIRE(static_cast<bool>(script));
  const std::vector<std::string> nests = lines_of(*script, "nest");
  REQUIRE(nests.size() >= 1);
  for (const std::string& nest : nests) CHECK_MESSAGE(nest.ends_with("#: " + provenance), nest);
}

TEST_CASE("a nest says isl only where isl has put its loops in order") {
  check_nests(written(kProduct, kSizes, {}), "tile-model");  // choose_tile's order
  check_nests(written(kNorm, {{"I", 64}, {"J", 256}}, {}), "tile-model");
  check_nests(written(kProduct, kSizes, {.affine_core_only = true}), "isl");
}

TEST_CASE("a spent budget is a decline that says so") {
  const auto script = written(kProduct, kSizes, {.quota = 10});
  REQUIRE_FALSE(static_cast<bool>(script));
  CHECK(script.error().reason.find("the scheduler's budget of 10 operations is spent") !=
        std::string::npos);
}

}  // namespace
}  // namespace polyte::poly
