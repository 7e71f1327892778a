// A whole network to an artifact: the outermost list.
//
//   graph -> optimise -> fuse -> a Program a group -> a kernel a distinct Program -> objects -> link -> plan, pack
//
// Equal kernels compile once: the identity of a kernel is its canonical Program text. Kernels are scheduled and
// compiled in parallel, each with its own isl and LLVM context; the result does not depend on the number of jobs.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codegen/target.h"
#include "driver/build_kernel.h"
#include "driver/fusion_feedback.h"
#include "driver/fusion_file.h"
#include "driver/network.h"
#include "graph/expand.h"
#include "graph/fuse.h"
#include "graph/optimize.h"
#include "runtime/artifact.h"

namespace polyte::driver {

struct NamedScript {
  std::string origin;  // its file
  schedule::Script script;
};

struct ModelOptions {
  Arm arm = Arm::Poly;
  std::map<std::string, Arm> group_arms;  // by group name
  std::vector<NamedScript> scripts;       // for the groups that their headers name
  schedule::ProofLevel proof = schedule::ProofLevel::Full;
  bool second_judge = true;
  std::int64_t judge_steps = 0;  // of a kernel; 0: what its proof is worth
  bool strict = false, exact = false;
  bool optimize = true;  // graph passes
  graph::Layout layout = graph::Layout::Auto;
  bool fuse = true;                   // false: every operator is its own kernel
  std::vector<FusionRequest> fusion;  // what a person wants fused or not
  FusionLimits limits;                // of a group; one above them is split
  bool share = true;                  // false: values share no bytes on purpose, views are copied; to compare with
  int jobs = 0;                       // 0: one a processor
};
int jobs_of(const ModelOptions& options);  // at least 1

// A group of fused nodes and the kernel that computes it.
struct GroupPlan {
  std::string name;  // "g2_conv_relu": the name of its Program
  std::vector<graph::NodeId> nodes;
  graph::Expansion expansion;
  bool view = false;  // a reshape alone: no kernel, the bytes stay where they are
  int kernel = -1;    // of CompiledModel::kernels
};

struct CompiledModel {
  graph::Graph graph;                // after the passes
  std::vector<OpenSymbol> symbols;   // the sizes that runs choose; the graph is that of the typical ones,
  ir::SizePoints sizes;              // and of the first of these points,
  std::vector<graph::Graph> others;  // and these are the same graph at the others
  graph::OptimizeReport passes;
  graph::FusionGraph fusion_graph;
  graph::FusionOptions fusion_options;  // with what was asked for, and what was handed back
  graph::FusionReport fusion;
  std::vector<GroupPlan> groups;     // in execution order
  std::vector<BuiltKernel> kernels;  // distinct ones, in order of first use
  std::vector<StageTime> times;
  std::vector<std::string> notes;
  runtime::ArtifactParts parts;
};

// Its first half, up to a Program a group: no schedules, no kernels. Scheduling may split groups (fusion_feedback.h);
// those that stay keep their names, the parts of "g3_conv_relu" are "g3a_conv", "g3b_relu".
CompiledModel partition_model(Network network, const Machine& machine, const ModelOptions& options);
// Why no kernel can be scheduled for `group`: an unknown name, with the known ones, or a view. Empty: one can.
std::string missing_kernel(const CompiledModel& model, const std::string& group);
// The list without code generation: for looking at groups, programs and scripts.
CompiledModel schedule_model(Network network, const codegen::Target& target, const ModelOptions& options);
// All of it.
CompiledModel compile_model(Network network, const codegen::Target& target, const ModelOptions& options);

}  // namespace polyte::driver
