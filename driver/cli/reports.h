// The reports that a person reads beside the results: what was decided for a kernel, and where a
// model's bytes lie.
#pragma once

#include <nlohmann/json.hpp>

#include "driver/cli/cli.h"
#include "graph/optimize.h"
#include "runtime/artifact.h"

namespace polyte::cli {

// --explain: a kernel's directives, each with who chose it, what was declined or not done as asked,
// its storage, how it was proved. `proved` is false under --no-proof.
// `with_dependences`: those of the Program, too, which a network would have many of.
std::string explain_kernel(const driver::BuiltKernel& kernel, const Machine& machine, bool proved,
                           bool with_dependences = false);

// Parts of it, for comparisons: the loops; staged buffers, one per line; what changes in the
// order of floating-point operations, each with its bound (the contract alone would say too much);
// how it was proved.
std::string nest_line(const driver::BuiltKernel& kernel);
std::vector<std::string> storage_lines(const driver::BuiltKernel& kernel);
std::vector<std::string> order_lines(const driver::BuiltKernel& kernel);
std::string proof_line(const driver::BuiltKernel& kernel, bool proved);

// Digits behind the point of so many microseconds: a kernel of 20 ns is no 0.0 us.
inline int decimals_of(double microseconds) { return microseconds < 10 ? 3 : 1; }

// What a pass has said.
std::vector<std::string> notes_of(const graph::OptimizeReport& passes, std::string_view pass);
inline constexpr std::string_view kLayoutPass = "choose layouts",
                                  kConvolutionPass = "transform convolutions";
// inspect --layouts: which nodes compute on channels in blocks, which convolutions are transformed,
// and why.
std::string layouts_text(const graph::OptimizeReport& passes);

// inspect: an artifact's code for a GPU; empty where it has none.
std::string device_text(const runtime::Artifact& artifact);

// inspect --memory: every value with its bytes, its place, and the first and last kernel that
// uses it.
std::string memory_text(const runtime::ArtifactManifest& manifest);
std::string arena_text(const runtime::ArtifactManifest& manifest);  // "4096 bytes times batch"
nlohmann::ordered_json memory_json(const runtime::ArtifactManifest& manifest);

}  // namespace polyte::cli
