// Equal bits of naive, template, poly and the interpreter, with 1 and 2 threads, on every kernel of
// the shipped model and of the conformance cases.
#include <cstdlib>

#include <doctest/doctest.h>
#include "driver/judge/bit_check.h"
#include "driver/judge/conformance.h"
#include "frontend/onnx_import.h"
#include "ir/program_text.h"
#include "tests/conformance/suites.h"
#include "tests/sweep.h"

using namespace polyte;

namespace {

void expect_no_problem(const driver::BitCheck& check) {
  for (const std::string& problem : check.report().problems) FAIL_CHECK(problem);
  for (const std::string& skipped : check.report().skipped) MESSAGE("skipped: " << skipped);
  MESSAGE(check.report().kernels << " kernels compared, " << check.report().skipped.size()
                                 << " skipped");
}

}  // namespace

TEST_CASE("bits: every kernel of digits") {
  driver::BitCheck check(codegen::detect_host(), {});
  check.model(frontend::import_onnx("examples/digits/digits.onnx").graph);
  CHECK(check.report().kernels >= 5);
  CHECK(check.report().skipped.empty());
  expect_no_problem(check);
}

TEST_CASE("bits: every kernel of the conformance models") {
  if (testing::suites().empty()) {
    MESSAGE("skipped: libonnx-testdata is not installed");
    return;
  }
  driver::BitCheck check(codegen::detect_host(), {});
  std::size_t number = 0;
  for (const auto& folder : driver::find_cases(testing::suites(), "*")) {
    if (!test::is_swept(number++, 6)) continue;
    CAPTURE(folder.filename().string());
    try {
      check.model(frontend::import_onnx(folder / "model.onnx").graph);
    } catch (const UserError& e) {
      CHECK_MESSAGE(e.status() == ExitStatus::Unsupported, e.what());
    }
  }
  CHECK(check.report().kernels >= (test::takes_all() ? 100 : 70));
  expect_no_problem(check);
}
