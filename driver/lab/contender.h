// One arm of one row, ready to be timed in this process: compiled, with tensors of its own, so that
// no arm finds another's data in the caches.
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/target.h"
#include "driver/compile/operator.h"
#include "driver/lab/device_clock.h"
#include "driver/lab/interface.h"
#include "driver/lab/peers.h"
#include "driver/lab/plan.h"

namespace polyte::lab {

// What reports show of a kernel beyond its script: nest, storage, float order, proof; of a GPU's
// its launches and what they are predicted to take. The command line has the words.
using Describe =
    std::function<nlohmann::ordered_json(const driver::BuiltKernel&, const codegen::Target&)>;

// Code that runs on a set of tensors of the interface, in order.
class Contender {
 public:
  virtual ~Contender() = default;
  // Tensors with inputs filled; several sets where executions take turns. They must outlive it.
  virtual void add_set(std::span<runtime::Tensor> tensors) = 0;
  virtual void clear_sets() = 0;
  virtual void run(std::size_t set) = 0;
  // Nanoseconds of so many executions, in turns over the sets, by the clock of who executes them;
  // nullopt: the caller times run() itself. Before each, memory of `evict` bytes is written,
  // outside of the time.
  virtual std::optional<double> timed(std::int64_t executions, std::int64_t evict) {
    static_cast<void>(executions), static_cast<void>(evict);
    return std::nullopt;
  }
};

struct Prepared {
  // Of a model, which knows it when it is compiled; else the Program's.
  Interface interface;
  std::unique_ptr<Contender> contender;  // null: it is not timed, `status` says why
  std::string status = "ok", reason;
  nlohmann::ordered_json facts;
};

// A model as one scheduler's arm.
struct ModelArm {
  std::string path, scheduler;
  std::string target;  // as --target
  int threads = 1;     // of this processor
  bool exact = false, emulate = false;
  std::shared_ptr<DeviceClock> device = nullptr;  // null: it runs on this processor
};

// What a worker is given by the command line: words for a kernel, and a model that is compiled.
struct Hooks {
  Describe describe;
  std::function<Prepared(const ModelArm&)> model;
};

class PythonWorker;

// What the preparation of a row's arms shares.
struct Workshop {
  const Plan& plan;
  const Row& row;
  codegen::Target target, host;  // of the arms; this processor, on which references run
  // Of a GPU that arms run on; null: they run on this processor.
  std::shared_ptr<DeviceClock> device;
  // Bound, and as it was; null: the row is a model's.
  std::shared_ptr<const ir::Program> program, open;
  Interface interface;  // of a model empty until an arm is prepared
  Hooks hooks;
  std::string kept;  // a folder for what compilers of peers have made
  // Of libraries for a GPU, by name: processes that load theirs while others compile. Each is for
  // who takes it first.
  std::shared_ptr<std::map<std::string, std::unique_ptr<PythonWorker>>> started = {};
};
// `folder`: the result folder; empty: nothing is kept. UserError(Device) where there is no GPU for
// a target that is one.
Workshop make_workshop(const Plan& plan, const Row& row, Hooks hooks, const std::string& folder);

// Compiles an arm for a Program (the row's, or the same at smaller sizes; null: for the row's
// model). What it cannot do is a status, not an exception: `declined` fell back to the reference
// order, `refused` a script whose proof fails, `absent` a compiler that is not installed,
// `other program` a script for another one, `failed` the rest.
Prepared prepare(const Workshop& workshop, const PlannedArm& arm,
                 const std::shared_ptr<const ir::Program>& program);

// The reference that shares no code generator with the arms: C, its order kept. Null contender
// where there is none.
Prepared prepare_strict(const Workshop& workshop,
                        const std::shared_ptr<const ir::Program>& program);
// What a model's outputs are held to first: onnxruntime, on this processor.
Prepared prepare_model_reference(const Workshop& workshop);
// Of a GPU's arms: Polyte on all of this processor, its order kept too; null as in prepare().
Prepared prepare_here(const Workshop& workshop, const std::shared_ptr<const ir::Program>& program);

}  // namespace polyte::lab
