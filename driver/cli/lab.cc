// polyte lab: experiments as files, measured in processes of their own, and what may be said
// of the results.
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iostream>
#include <iterator>

#include "driver/cli/cli.h"
#include "driver/cli/gpu_figures.h"
#include "driver/cli/lab_verbs.h"
#include "driver/cli/reports.h"
#include "driver/lab/differences.h"
#include "driver/lab/runner.h"
#include "driver/lab/worker.h"

namespace polyte::cli {
namespace {

namespace fs = std::filesystem;

// ---- run

struct RunVerb {
  std::string file, out, shard;
  bool quiet = false;
  Cluster cluster;
};

// An experiment's file, or a result folder, whose plan says it all.
bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

lab::Plan plan_of(const RunVerb& verb) {
  if (!is_folder(verb.file))
    return lab::make_plan(lab::parse_experiment(read_text_file(verb.file), verb.file),
                          lab_sources());
  if (!verb.out.empty())
    throw UserError(ExitStatus::Usage, "--out: " + verb.file + " is a result folder already");
  return lab::read_plan(verb.file);
}

std::string folder_of(const RunVerb& verb) {
  if (is_folder(verb.file)) return verb.file;
  return verb.out.empty() ? fs::path(verb.file).replace_extension(".lab").string() : verb.out;
}

int run_lab_run(const RunVerb& verb) {
  const lab::Plan plan = plan_of(verb);
  const std::string folder = folder_of(verb);
  if (plan.explain > 0 && (verb.cluster.is_asked() || !verb.shard.empty()))
    std::cerr << "warning: explain: nothing is taken apart by a part of a run; polyte lab run "
              << folder << " does it once all rows are there, on the machine that measured them\n";
  if (verb.cluster.is_asked()) {
    if (!verb.shard.empty())
      throw UserError(ExitStatus::Usage, "--shard: the cluster's tasks are given theirs");
    run_lab_cluster(plan, folder, verb.cluster);
    return 0;
  }
  const lab::Shard shard = verb.shard.empty() ? lab::Shard{} : lab::parse_shard(verb.shard);
  const lab::RunResult result = run_lab_plan(plan, folder, verb.quiet, shard);
  // 128 + SIGINT, as shells report it.
  if (result.interrupted) return 130;
  // A part of the rows: nothing is summed up or taken apart until all parts are merged.
  if (shard.count > 1) {
    std::cout << folder << ": shard " << verb.shard
              << " is measured; polyte lab merge joins shards\n";
    return 0;
  }
  const auto say = [&](const std::string& line) {
    if (!verb.quiet || line.starts_with("warning")) std::cerr << line << "\n";
  };
  const auto run = [&](const lab::Plan& part, const std::string& where) {
    return run_lab_plan(part, where, verb.quiet).interrupted;
  };
  if (lab::take_apart(plan, folder, result.records, lab_sources(), say, run)) return 130;
  std::cout << folder << ": " << plan.rows.size() << (plan.rows.size() == 1 ? " row" : " rows")
            << ", " << plan.arms.size() << (plan.arms.size() == 1 ? " arm" : " arms")
            << " are measured; polyte lab report " << folder << "\n";
  return 0;
}

void add_lab_run(const Verb& lab) {
  const Verb verb =
      lab.verb("run", "measure an experiment; goes on where an earlier run was stopped");
  auto options = std::make_shared<RunVerb>();
  verb.option("experiment", options->file, "experiment.toml, or a result folder to go on with")
      .required();
  verb.option("-o,--out", options->out, "the result folder; else the file's name with .lab");
  verb.flag("--quiet", options->quiet, "no progress on stderr");
  verb.option("--shard", options->shard,
              "only each N-th row from the I-th on, I/N from 0/N on; lab merge joins them");
  verb.option("--slurm", options->cluster.slurm,
              "measure on a Slurm cluster: a job array of so many tasks, waited for")
      .within(1, 10000);
  verb.option("--sbatch", options->cluster.sbatch,
              "an option of the job array, --sbatch=--partition=long; repeatable")
      .one_at_a_time();
  verb.option("--workers", options->cluster.workers,
              "measure on the hosts of a Dask cluster, dask://HOST:PORT");
  verb.example("polyte lab run experiment.toml --out results");
  verb.calls([options] { return run_lab_run(*options); });
}

// ---- worker: what a run starts, once per process of a row

// stdout is the channel to the runner, a record per line; words for a person go to stderr.
int run_lab_worker(const std::string& folder) {
  // Whatever ends the runner ends the worker: nobody would read what it measures, and it would
  // disturb the next run.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (json.is_discarded())
    throw UserError(ExitStatus::Usage, "stdin: expected the order of polyte lab run");
  const lab::Plan plan = lab::read_plan(folder);
  lab::run_worker(plan, folder, lab::order_from_json(json), {lab_words, lab_model},
                  [](const nlohmann::ordered_json& record) {
                    const auto replace = nlohmann::ordered_json::error_handler_t::replace;
                    std::cout << record.dump(-1, ' ', false, replace)
                              << std::endl;  // NOLINT: each line at once, it may be the last
                  });
  return 0;
}

void add_lab_worker(const Verb& lab) {
  const Verb verb = lab.verb("worker", "what lab run starts: one process of one row");
  verb.hide();
  auto folder = std::make_shared<std::string>();
  verb.option("folder", *folder, "the result folder").required();
  verb.calls([folder] { return run_lab_worker(*folder); });
}

}  // namespace

// What only the command line's printers know, for the facts of an arm (Hooks::describe).
nlohmann::ordered_json lab_words(const driver::BuiltKernel& kernel, const codegen::Target& target) {
  nlohmann::ordered_json facts{{"nest", schedule::print_nests(kernel.state->tree)},
                               {"storage", storage_lines(kernel)},
                               {"order", order_lines(kernel)},
                               {"proof", proof_line(kernel, true)}};
  if (target.kind != TargetKind::Cuda) return facts;
  const GpuFigures figures = gpu_figures(kernel, target);
  facts["launches"] = nlohmann::ordered_json::array();
  for (const GpuRow& row : gpu_rows(figures, {}))
    for (const std::string& line : row.lines) facts["launches"].push_back(row.title + ": " + line);
  if (const auto price = price_of(figures))
    facts["predicted"] = {
        {"model", "launch price"}, {"bound", price->bound}, {"nanoseconds", price->seconds * 1e9}};
  return facts;
}

lab::Sources lab_sources() {
  return {[](const std::string& source, const std::string& dtype) {
            OperatorOptions options;
            options.source = source;
            options.dtype = dtype;
            return read_programs(options);
          },
          [](const std::string& path, const std::vector<std::string>& params) {
            std::error_code error;
            if (!fs::is_directory(path, error)) return std::vector{load_script(path, params)};
            if (!params.empty())
              throw UserError(ExitStatus::InvalidInput,
                              path + ": params are of one script, and this is a folder");
            std::vector<schedule::Script> scripts;
            for (const std::string& file : lab::files_in(path, ".sched"))
              scripts.push_back(load_script(file, {}));
            return scripts;
          }};
}

// Workers are this very binary, whatever PATH says.
std::string own_binary() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (error) throw UserError(ExitStatus::ResourceLimit, "/proc/self/exe: cannot be read");
  return path.string();
}

lab::RunResult run_lab_plan(const lab::Plan& plan, const std::string& folder, bool quiet,
                            const lab::Shard& shard) {
  const lab::RunOptions options{folder,
                                {own_binary(), "lab", "worker", folder},
                                [&](const std::string& line) {
                                  if (!quiet || line.starts_with("warning"))
                                    std::cerr << line << "\n";
                                },
                                shard};
  lab::RunResult result = lab::run_plan(plan, options);
  if (result.interrupted)
    std::cerr << "stopped; what is measured is kept, polyte lab run " << folder << " goes on\n";
  return result;
}

void add_lab(const Verb& app) {
  const Verb verb = app.verb(
      "lab", "experiments: measured in processes of their own, reported with their intervals");
  verb.needs_verb();
  add_lab_run(verb);
  add_lab_status(verb);
  add_lab_report(verb);
  add_lab_compare(verb);
  add_lab_bundle(verb);
  add_lab_reproduce(verb);
  add_lab_ablate(verb);
  add_lab_path(verb);
  add_lab_merge(verb);
  add_lab_worker(verb);
}

}  // namespace polyte::cli
