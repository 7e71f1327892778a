// One process of one row: prepares the arms, checks them, times them in turns. Runs in a process of
// its own, started by the runner (runner.h), which keeps what it writes.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "driver/lab/contender.h"

namespace polyte::lab {

struct WorkerOrder {
  std::size_t row = 0;
  int process = 0, attempt = 0;
  std::set<std::string> left_out;  // arms that ended an earlier attempt
  // Arm -> digest of outputs that process 0 has found right.
  std::map<std::string, std::string> outputs;
};
nlohmann::ordered_json to_json(const WorkerOrder& order);
WorkerOrder order_from_json(const nlohmann::ordered_json& json);

// Calls `write` with each record (record.h), and with {"kind": "stage", "arm": .., "doing": ..}
// before anything that may end the process, so that the runner knows who did.
void run_worker(const Plan& plan, const std::string& folder, const WorkerOrder& order,
                const Hooks& hooks,
                const std::function<void(const nlohmann::ordered_json&)>& write);

}  // namespace polyte::lab
