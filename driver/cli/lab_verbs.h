// The verbs of polyte lab, each in the file that its comment names, and what they share.
#pragma once

#include <functional>
#include <string>

#include "driver/cli/verb.h"
#include "driver/lab/contender.h"
#include "driver/lab/runner.h"

namespace polyte::cli {

void add_lab_report(const Verb& lab);     // lab_report.cc
void add_lab_status(const Verb& lab);     // lab_report.cc
void add_lab_compare(const Verb& lab);    // lab_report.cc
void add_lab_bundle(const Verb& lab);     // lab_bundle.cc
void add_lab_reproduce(const Verb& lab);  // lab_bundle.cc
void add_lab_ablate(const Verb& lab);     // lab_why.cc
void add_lab_path(const Verb& lab);       // lab_why.cc
void add_lab_merge(const Verb& lab);      // lab_cluster.cc

// Runs a plan by processes of this binary, with progress on stderr; says how to go on where
// it was stopped.
lab::RunResult run_lab_plan(const lab::Plan& plan, const std::string& folder, bool quiet,
                            const lab::Shard& shard = {});
std::string own_binary();  // lab.cc: its path

// Where shards of a plan are measured in place of here, each as `polyte lab run --shard`.
struct Cluster {
  int slurm = 0;                    // so many tasks of a job array; 0: none
  std::vector<std::string> sbatch;  // options of its script, "--partition=long"
  std::string workers;              // "dask://HOST:PORT"; empty: none
  bool is_asked() const { return slurm > 0 || !workers.empty(); }
};
// Waits until all shards have ended, and joins them in the folder (lab_cluster.cc).
void run_lab_cluster(const lab::Plan& plan, const std::string& folder, const Cluster& cluster);
lab::Prepared lab_model(const lab::ModelArm& arm);  // lab_model.cc
lab::Sources lab_sources();                         // lab.cc
// What reports say of a kernel: nest, storage, order of floats, proof, and of a GPU's
// its launches (lab.cc).
nlohmann::ordered_json lab_words(const driver::BuiltKernel& kernel, const codegen::Target& target);

// Samples are a file like any other, in which anything may stand: UserError(InvalidInput) where
// `f` trips over it.
int lab_with(const std::string& name, const std::function<int()>& f);  // lab_report.cc

}  // namespace polyte::cli
