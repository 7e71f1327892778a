// ONNX test cases: a folder with model.onnx, test_data_set_*/{input,output}_*.pb and perhaps
// data.json with the tolerances `rtol` and `atol`. A case is compiled by one scheduler, run,
// and compared: types and shapes exactly, elements within the case's own tolerance. Used by
// `polyte conformance` and by the test of that name.
//
//   for (const CaseResult& r : run_cases(find_cases({"node"}, "*"), {Scheduler::Poly}, target, 2))
//   ...
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "driver/compile/build_kernel.h"
#include "runtime/emulator.h"
#include "runtime/manifest.h"

namespace polyte::driver {

enum class CaseOutcome { Pass, Fail, Unsupported, Error };
std::string to_string(CaseOutcome outcome);

struct CaseResult {
  std::string name;  // "node/test_relu": suite and folder
  Scheduler scheduler = Scheduler::Poly;
  CaseOutcome outcome = CaseOutcome::Pass;
  std::string detail;  // one line: the notes of a pass, the difference, every reason of a refusal
  std::vector<runtime::StepSpec> steps = {};  // of what was compiled: who scheduled each kernel
  // Kernels whose loops the second judge ran, or would have run too long.
  int executed = 0, not_executed = 0;
};

// Sorted. Each of `folders` is a case or has cases somewhere below; `filter` is a glob over names
// of cases. UserError(InvalidInput) where one is no folder.
std::vector<std::filesystem::path> find_cases(const std::vector<std::string>& folders,
                                              const std::string& filter);

struct CaseOptions {
  bool strict = false;  // a case of which not all was done as asked is an error
  // Of a GPU: its threads are emulated on this CPU; a fault is an error.
  std::optional<runtime::EmulatorOptions> emulator = {};
};

// All cases by all schedulers, `jobs` at a time; results are ordered by case, then as `schedulers`
// is. Never throws for what a case does. Unsupported: the importer refuses it, or its data
// contradicts its own model (bf16 tensors stored as u16, an input of another shape), so that what
// it asks for is not defined.
std::vector<CaseResult> run_cases(const std::vector<std::filesystem::path>& cases,
                                  const std::vector<Scheduler>& schedulers,
                                  const codegen::Target& target, int jobs,
                                  const CaseOptions& options = {});

}  // namespace polyte::driver
