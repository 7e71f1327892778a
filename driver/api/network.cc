#include "driver/api/guard.h"
#include "driver/api/requests.h"
#include "driver/package/specialised_model.h"

namespace polyte::api {

struct Network::Impl {
  Impl(const std::string& onnx, const ModelOptions& options, const frontend::ImportOptions& import,
       int threads)
      : model(onnx, driver_options(options),
              driver::target_named(options.target, cuda_options(options.gpu)), import,
              {.threads = threads, .cuda = cuda_options(options.gpu)}) {}
  driver::SpecialisedModel model;
};

namespace {

// Views of the caller's memory, valid during the call; elements and shape have to agree, since
// a run reads all that the shape says.
runtime::NamedTensors borrowed(const std::vector<NetworkTensor>& inputs) {
  runtime::NamedTensors tensors;
  std::vector<std::string> problems;
  for (const NetworkTensor& input : inputs) {
    const std::int64_t wanted = runtime::count_elements(input.shape);
    if (wanted != static_cast<std::int64_t>(input.elements) || (!input.data && wanted > 0)) {
      problems.push_back("input '" + input.name + "' has " +
                         std::to_string(input.data ? input.elements : 0) + " elements, its shape " +
                         runtime::to_string(input.shape) + " says " + std::to_string(wanted));
      continue;
    }
    // Inputs of a session are never written.
    tensors.emplace_back(input.name, runtime::Tensor::borrow(input.dtype, input.shape,
                                                             const_cast<void*>(input.data)));
  }
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, problems);
  return tensors;
}

}  // namespace

Outcome<Network> Network::open(const std::string& onnx, const ModelOptions& options, int threads) {
  return guarded([&] {
    frontend::ImportOptions import;
    import.shapes.insert(options.shapes.begin(), options.shapes.end());
    Network network;
    network.impl_ = std::make_shared<Impl>(onnx, options, import, threads);
    return network;
  });
}

Outcome<std::vector<NetworkOutput>> Network::run(const std::vector<NetworkTensor>& inputs) const {
  return guarded([&] {
    std::vector<NetworkOutput> outputs;
    for (const auto& [name, tensor] : impl_->model.run(borrowed(inputs)))
      outputs.push_back(
          {name, tensor.dtype(), tensor.shape(), {tensor.raw().begin(), tensor.raw().end()}});
    return outputs;
  });
}

int Network::compilations() const { return impl_->model.compilations(); }
std::vector<std::string> Network::notes() const { return impl_->model.notes(); }

}  // namespace polyte::api
