// SpecialisedModel: a network whose open dimensions, and inputs that decide shapes, are settled by
// what it is run on. The first run with inputs of a kind imports, compiles and loads it for them;
// later runs of the same kind take what is there. Of a kind are inputs that agree in everything
// the importer asked about: the shapes of inputs with open dimensions, and the values of those
// that became constants.
//
//   SpecialisedModel model("yolo.onnx", {.scheduler = Scheduler::Template}, detect_host(), {});
//   model.run({{"image", image}, {"sizes", sizes}});      // compiled here
//   model.run({{"image", other}, {"sizes", sizes}});      // not again
//
// `run` may be called from several threads; a kind is compiled once, and the other runs
// wait meanwhile.
#pragma once

#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "driver/compile/model.h"
#include "frontend/onnx_import.h"
#include "runtime/cuda_options.h"
#include "runtime/npy.h"
#include "runtime/session.h"

namespace polyte::driver {

struct SpecialisationOptions {
  int threads = 0;              // of each session; 0: as many as processors
  std::size_t most_kept = 8;    // specialisations; the one that was not used for longest goes
  runtime::CudaOptions cuda{};  // of a model for a GPU
};

class SpecialisedModel {
 public:
  // `import` may bind shapes and values; its `offer` is not used.
  SpecialisedModel(std::filesystem::path onnx, ModelOptions options, codegen::Target target,
                   frontend::ImportOptions import, SpecialisationOptions how = {});

  // Inputs by name, in any order; all are needed but those bound by `import`. Outputs in the
  // model's order. UserErrors of importing and compiling; UserError(InvalidInput) lists inputs that
  // lack or are not known.
  runtime::NamedTensors run(const runtime::NamedTensors& inputs);

  int compilations() const;
  std::vector<std::string> notes() const;  // of the last compilation

 private:
  struct Specialisation;

  std::filesystem::path onnx_;
  ModelOptions options_;
  codegen::Target target_;
  frontend::ImportOptions import_;
  SpecialisationOptions how_;
  mutable std::mutex mutex_;
  std::list<std::shared_ptr<const Specialisation>> kept_;  // the last used first
  int compilations_ = 0;
  std::vector<std::string> notes_;

  std::shared_ptr<const Specialisation> specialise(const runtime::NamedTensors& inputs);
  std::shared_ptr<const Specialisation> compile(const runtime::NamedTensors& inputs);
};

}  // namespace polyte::driver
