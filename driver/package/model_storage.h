// A model as the planner of its memory sees it (bytes are those of runtime::unit_bytes), and the
// plan: values, what each group reads, writes, only copies or may write in place, and the outputs
// that no group writes (repeated ones, inputs and constants handed through).
#pragma once

#include <map>
#include <vector>

#include "driver/compile/model.h"
#include "runtime/storage_plan.h"

namespace polyte::driver {

struct ModelStorage {
  std::vector<runtime::StoredValue> values;
  // Of values; an output that is a copy has the id of what it copies, a temporary of a kernel
  // has none.
  std::vector<graph::ValueId> ids;
  std::vector<std::string> names;  // of values, for reports
  // Of groups: values that are their kernels' temporaries of open size.
  std::vector<std::vector<int>> rooms;
  std::map<graph::ValueId, int> value_of;   // where a step that reads it finds it
  std::vector<runtime::StorageStep> steps;  // one per group, then one for each output to be copied
  std::vector<int> outputs;                 // values, one per output of the graph
  runtime::StoragePlan plan;                // checked
};

// `share`: as ModelOptions has it. Values that are parts of others begin at multiples of so
// many bytes in them.
ModelStorage plan_model_storage(const ScheduledModel& model, bool share, std::int64_t alignment);

}  // namespace polyte::driver
