// The distribution's conformance cases through importer, shape inference, expansion and
// the Program interpreter.
#include <cstdlib>
#include <map>

#include <doctest/doctest.h>
#include "tests/frontend/conformance_cases.h"

using namespace polyte;
using testing::Verdict;

namespace {

// Cases whose stored output is random, or that ask for what differs by rounding only; none
// is expected to pass.
void check_suite(const std::string& suite, int least) {
  if (testing::conformance_folder().empty()) {
    MESSAGE("skipped: libonnx-testdata is not installed");
    return;
  }
  std::map<Verdict, int> count;
  const bool verbose = std::getenv("POLYTE_LIST_CASES") != nullptr;
  for (const auto& folder : testing::conformance_cases(suite)) {
    const testing::Outcome outcome = testing::check_case(folder, true);
    ++count[outcome.verdict];
    if (verbose && outcome.verdict != Verdict::Pass)
      MESSAGE(folder.filename().string()
              << ": " << static_cast<int>(outcome.verdict) << " " << outcome.detail);
    CHECK_MESSAGE(outcome.verdict != Verdict::Fail, folder.filename().string()
                                                        << ": " << outcome.detail);
  }
  MESSAGE(suite << ": " << count[Verdict::Pass] << " pass, " << count[Verdict::Unsupported]
                << " unsupported, " << count[Verdict::Fail] << " fail");
  CHECK(count[Verdict::Pass] >= least);
}

}  // namespace

TEST_CASE("conformance: node cases") { check_suite("node", 800); }
TEST_CASE("conformance: models converted from PyTorch") { check_suite("pytorch-converted", 82); }
TEST_CASE("conformance: PyTorch operators") { check_suite("pytorch-operator", 35); }
