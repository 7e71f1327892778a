// polyte bench: times artifacts, ONNX files and operators, interleaved.
#include "driver/cli/proof_costs.h"
#include "driver/cli/works.h"

namespace polyte::cli {
namespace {

// Instead of the kernels: their schedules' proofs.
int run_proofs(const BenchOptions& options) {
  const Machine machine = target_from(options.verb.target, 0, options.verb.cuda).machine;
  std::vector<std::string> schedulers = options.schedulers;
  if (schedulers.empty()) schedulers = {options.verb.schedule.scheduler};
  std::vector<ProofCost> costs;
  for (const std::string& source : options.sources) {
    if (!is_operator(source))
      throw UserError(ExitStatus::Usage, source + ": --proof takes Programs");
    OperatorOptions op = options.op;
    op.source = source;
    op.shape = options.verb.shapes;
    for (const std::shared_ptr<const ir::Program>& program : load_programs(op))
      for (const std::string& scheduler : schedulers)
        costs.push_back(proof_cost(program, *driver::scheduler_from_string(scheduler), machine, 3));
  }
  print_proof_costs(costs, options.json);
  return 0;
}

// Contenders take turns (bench::measure), so that a clock that changes changes all of them.
int run_bench(const BenchOptions& options) {
  if (options.proof) return run_proofs(options);
  int status = 0;
  std::vector<std::unique_ptr<Work>> works = all_work(options, status);
  const Machine machine = target_from(options.verb.target, 0, options.verb.cuda).machine;
  const Figures figures = time_all(works, options, machine);
  nlohmann::json rows = nlohmann::json::array();
  for (std::size_t i = 0; i < works.size(); ++i) {
    const double peak = figures.peaks.at(works[i]->dtype);
    rows.push_back(to_json(*works[i], &figures.timings[i], peak, machine, options.threads));
    if (!options.json) print_row(rows.back());
  }
  if (options.json) print_json(rows, machine, options.repetitions);
  return status;
}

}  // namespace

void add_bench(const Verb& app) {
  const Verb verb = app.verb("bench", "time artifacts, ONNX files and operators, interleaved");
  std::shared_ptr<BenchOptions> options = bench_options(verb);
  verb.flag("--proof", options->proof,
            "not the kernels: the proofs of their schedules, by directive and whole");
  verb.example("polyte bench poly.polyte template.polyte --threads 1");
  verb.calls([options, verb] {
    if (verb.is_given("--scheduler") && verb.is_given("--schedulers"))
      throw UserError(ExitStatus::Usage,
                      "--scheduler and --schedulers: expected one of them; give all of them as "
                      "--schedulers poly,template");
    if (verb.is_given("--threads")) options->verb.schedule_threads = options->threads;
    return run_bench(*options);
  });
}

}  // namespace polyte::cli
