// ONNX's conformance cases as the tests see them: folders with model.onnx and
// test_data_set_*/{input,output}_*.pb.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "frontend/onnx_import.h"

namespace polyte::testing {

// Where the distribution keeps them; empty if they are not installed.
std::filesystem::path conformance_folder();
std::vector<std::filesystem::path> conformance_cases(const std::string& suite);  // sorted

enum class Verdict { Pass, Unsupported, Fail };
struct Outcome {
  Verdict verdict = Verdict::Fail;
  std::string detail;
};
// Imports the case, compares the inferred types with those of the stored outputs and, if `run`, the
// values that the interpreter computes with theirs, by the suite's own tolerance.
Outcome check_case(const std::filesystem::path& folder, bool run);

}  // namespace polyte::testing
