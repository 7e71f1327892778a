// A network to machine code, stage by stage; each stage is a type that has what the one before it
// has, and more.
//
//   Network -> PartitionedModel  graph passes, fusion, a Program per group
//           -> ScheduledModel    a kernel per distinct Program: its script, proved, and its loops
//           -> CompiledModel     objects, linked to one library
//
// What makes an artifact of the last one is package/package_model.h, the outermost list.
//
// Equal kernels compile once: the identity of a kernel is its canonical Program text. Kernels are
// scheduled and compiled in parallel, each with its own isl and LLVM context; the result does not
// depend on the number of jobs.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codegen/target.h"
#include "driver/compile/build_kernel.h"
#include "driver/compile/device_code.h"
#include "driver/compile/fusion_feedback.h"
#include "driver/compile/fusion_file.h"
#include "driver/compile/network.h"
#include "graph/expand.h"
#include "graph/fuse.h"
#include "graph/optimize.h"

namespace polyte::driver {

struct NamedScript {
  std::string origin;  // its file
  schedule::Script script;
};

struct ModelOptions {
  Scheduler scheduler = Scheduler::Poly;
  std::map<std::string, Scheduler> group_schedulers;  // by group name
  std::vector<NamedScript> scripts;                   // for the groups that their headers name
  schedule::ProofLevel proof = schedule::ProofLevel::Full;
  bool second_judge = true;
  std::int64_t judge_steps = 0;  // of a kernel; 0: what its proof is worth
  bool strict = false, exact = false;
  std::shared_ptr<const schedule::TemplateSet> templates = nullptr;  // a person's; null: ours
  bool optimize = true;                                              // graph passes
  graph::Layout layout = graph::Layout::Auto;
  graph::Convolutions convolutions = graph::Convolutions::Auto;
  bool fuse = true;                   // false: every operator is its own kernel
  std::vector<FusionRequest> fusion;  // what a person wants fused or not
  FusionLimits limits;                // of a group; one above them is split
  // false: values share no bytes on purpose, views are copied; to compare with.
  bool share = true;
  bool emulated = false;  // of a GPU: also code that emulates its threads on a CPU
  int jobs = 0;           // 0: one per processor
};
int jobs_of(const ModelOptions& options);  // at least 1

// A group of fused nodes.
struct GroupPlan {
  std::string name;  // "g2_conv_relu": the name of its Program
  std::vector<graph::NodeId> nodes;
  graph::Expansion expansion;
  bool view = false;  // a reshape alone: no kernel, the bytes stay where they are
};

struct PartitionedModel {
  graph::Graph graph;  // after the passes
  // The sizes that runs choose; `graph` is that of the first point of `sizes`, which are the sizes
  // that are chosen for, and `others` are the same graph at the other points.
  std::vector<OpenSymbol> symbols;
  ir::SizePoints sizes;
  std::vector<graph::Graph> others;
  graph::OptimizeReport passes;
  graph::FusionGraph fusion_graph;
  graph::FusionOptions fusion_options;  // with what was asked for, and what was handed back
  graph::FusionReport fusion;
  std::vector<GroupPlan> groups;  // in execution order
  std::vector<StageTime> times;   // of all stages so far
};

struct ScheduledModel : PartitionedModel {
  std::vector<BuiltKernel> kernels = {};  // distinct ones, in order of first use
  std::vector<int> kernel_of_group = {};  // of `kernels`; -1 for a view
  std::vector<std::string> notes = {};

  // The kernel that computes a group of this model which is no view.
  const BuiltKernel& kernel_of(const GroupPlan& group) const;
};

struct CompiledModel : ScheduledModel {
  std::vector<codegen::ScratchLayout> scratch = {};  // one per kernel
  // The linked shared object; empty where no kernel is.
  std::string library = {};
  std::vector<DeviceCode> device = {};  // of a GPU: one per kernel
};

// No schedules, no kernels. Scheduling may split groups (fusion_feedback.h); those that stay keep
// their names, the parts of "g3_conv_relu" are "g3a_conv", "g3b_relu".
PartitionedModel partition_model(Network network, const Machine& machine,
                                 const ModelOptions& options);
ScheduledModel schedule_model(PartitionedModel partitioned, const codegen::Target& target,
                              const ModelOptions& options);
CompiledModel compile_model(ScheduledModel scheduled, const codegen::Target& target,
                            const ModelOptions& options);
// Up to the loops: for looking at groups, programs and scripts.
ScheduledModel schedule_model(Network network, const codegen::Target& target,
                              const ModelOptions& options);

// Why no kernel can be scheduled for `group`: an unknown name, with the known ones, or a view.
// Empty: one can.
std::string missing_kernel(const PartitionedModel& model, const std::string& group);

}  // namespace polyte::driver
