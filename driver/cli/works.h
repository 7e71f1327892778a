// What bench and compare time: the options that both verbs have, the contenders made of them,
// and their figures.
#pragma once

#include <nlohmann/json.hpp>

#include <map>

#include "bench/measure.h"
#include "driver/cli/gpu_figures.h"
#include "driver/cli/model_options.h"
#include "driver/cli/scheduling_report.h"
#include "driver/compile/operator.h"
#include "driver/package/operator_session.h"
#include "runtime/session.h"

namespace polyte::cli {

struct BenchOptions {
  std::vector<std::string> sources;
  ModelVerbOptions verb;
  OperatorOptions op;
  std::vector<std::string> schedulers;
  std::string fill = "normal";
  int threads = 1, repetitions = 15;
  bool json = false, proof = false;
  bool predicted = false;  // compare: the model's figures, too
  // Of a GPU, what compare decides: whether the work is on a device, is emulated, or is
  // compiled only.
  enum class On { Device, Emulator, Nothing } on = On::Device;
  std::string why_not_measured;
  std::string order;                   // of --emulate
  runtime::EmulatorOptions emulation;  // the same, read
};

// Something that can be run again and again, with what is known of it.
struct Work {
  std::string name;
  double flops = 0;  // 0: not known
  double bytes = 0;  // of the operator's interface, each element once
  DType dtype = DType::F32;
  std::string script;
  std::string source, scheduler;  // what is computed, and by which scheduler or script
  Scheduling scheduling;          // of its kernels
  std::string loops;              // digest of them; empty: not known
  std::string identical_to;       // the scheduler of an earlier one with the same source and loops
  std::vector<runtime::Tensor> tensors;
  std::vector<runtime::Tensor> results;
  std::unique_ptr<driver::CompiledOperator> op;
  std::unique_ptr<driver::OperatorRunner> runner;
  std::unique_ptr<driver::OperatorSession> device;  // of a GPU; it has run once
  std::unique_ptr<runtime::Session> session;        // on a GPU it has run once
  std::vector<runtime::TensorView> inputs, outputs;
  std::optional<GpuFigures> gpu;              // of a GPU
  std::vector<runtime::LaunchCounts> counts;  // of its emulator

  bool can_run() const { return runner || device || session; }
  const std::vector<runtime::Tensor>& written() const { return session ? results : tensors; }
  void run() {
    if (runner) {
      runner->run();
    } else if (device) {
      device->replay();
    } else if (session->device().device_type == POLYTE_DL_CUDA) {
      session->replay();
    } else {
      session->run(inputs, outputs);
    }
  }
};

std::shared_ptr<BenchOptions> bench_options(const Verb& verb);

bool is_operator(const std::string& source);
// Of all sources, each by every scheduler and script that was asked for. A script of an operator
// that is refused is reported on stderr and left out; `status` is then what the process returns.
std::vector<std::unique_ptr<Work>> all_work(const BenchOptions& options, int& status);

// On the same source; where it is known.
bool has_same_loops(const Work& one, const Work& other);

struct Figures {
  std::vector<bench::Timing> timings;
  std::map<DType, double> peaks;
};
Figures time_all(std::vector<std::unique_ptr<Work>>& works, const BenchOptions& options,
                 const Machine& machine);

// A row of the report, and all of them with what the machine is. `timing` null: it was
// not measured.
nlohmann::json to_json(const Work& work, const bench::Timing* timing, double peak,
                       const Machine& machine, int threads);
void print_json(const nlohmann::json& rows, const Machine& machine, int rounds);
void print_row(const nlohmann::json& row);

}  // namespace polyte::cli
