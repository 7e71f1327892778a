#include "driver/package/package_model.h"

#include "driver/package/assemble.h"

namespace polyte::driver {

// The pipeline of a network, in order; each stage takes what it needs of the one before, and
// the last has all of them for reports.
PackagedModel package_model(Network network, const codegen::Target& target,
                            const ModelOptions& options) {
  PartitionedModel partitioned = partition_model(std::move(network), target.machine, options);
  ScheduledModel scheduled = schedule_model(std::move(partitioned), target, options);
  PackagedModel model{compile_model(std::move(scheduled), target, options), {}};
  StageLog(model.times).run("assembly", [&] { model.parts = assemble(model, target, options); });
  return model;
}

}  // namespace polyte::driver
