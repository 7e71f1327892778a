#include "python/core/lab.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <iostream>

#include "driver/cli/lab_verbs.h"
#include "driver/cli/reports.h"
#include "driver/lab/differences.h"
#include "driver/lab/regression.h"
#include "driver/lab/report.h"
#include "driver/lab/runner.h"
#include "driver/lab/worker.h"
#include "python/core/error.h"

namespace nb = nanobind;

namespace polyte::python {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// Results are files like others, in which anything may stand. Runs without the GIL, so that what
// calls Python takes it again.
template <class F>
auto reading(const std::string& folder, F f) {
  return guarded_value([&] {
    try {
      return f();
    } catch (const nlohmann::json::exception& e) {
      throw UserError(ExitStatus::InvalidInput,
                      folder + ": not what an experiment's run writes: " + lab::words_of(e));
    }
  });
}

// `experiment`: TOML, empty where the folder has its plan. `worker`: a command whose last word is a
// result folder. True where Ctrl-C has stopped it.
bool run(const std::string& experiment, const std::string& origin, const std::string& folder,
         const std::vector<std::string>& worker, const nb::callable& say) {
  return reading(folder, [&] {
    const lab::Plan plan =
        experiment.empty()
            ? lab::read_plan(folder)
            : lab::make_plan(lab::parse_experiment(experiment, origin), cli::lab_sources());
    const auto tell = [&](const std::string& line) {
      const nb::gil_scoped_acquire gil;
      say(line);
    };
    const auto measure = [&](const lab::Plan& part, const std::string& where) {
      std::vector<std::string> words = worker;
      words.back() = where;
      return lab::run_plan(part, {where, words, tell});
    };
    const lab::RunResult result = measure(plan, folder);
    if (result.interrupted) return true;
    return lab::take_apart(plan, folder, result.records, cli::lab_sources(), tell,
                           [&](const lab::Plan& part, const std::string& where) {
                             return measure(part, where).interrupted;
                           });
  });
}

// What a worker process does: its order comes from the runner, its records go to stdout, each
// at once.
void work(const std::string& folder, const std::string& order) {
  reading(folder, [&] {
    const Json json = Json::parse(order, nullptr, false);
    if (json.is_discarded())
      throw UserError(ExitStatus::Usage, "stdin: expected the order of an experiment's run");
    const lab::Plan plan = lab::read_plan(folder);
    lab::run_worker(plan, folder, lab::order_from_json(json), {cli::lab_words, cli::lab_model},
                    [](const Json& record) {
                      std::cout << text_of(record) << std::endl;
                    });  // NOLINT: it may be the last
    return api::Done{};
  });
}

std::string report(const std::string& folder, const std::string& format) {
  return reading(folder, [&] { return lab::report(lab::read_results(folder), format); });
}

// (as text, as JSON, whether anything has become slower)
nb::tuple compare(const std::string& before, const std::string& after, const std::string& filter,
                  double min_effect) {
  const auto comparison = reading("lab.compare", [&] {
    lab::RegressionOptions options;
    options.filter = filter;
    options.min_effect = min_effect;
    return lab::compare(lab::measured_of(lab::read_results(before)),
                        lab::measured_of(lab::read_results(after)), options);
  });
  return nb::make_tuple(lab::comparison_text(comparison), text_of(lab::to_json(comparison)),
                        comparison.is_regression());
}

}  // namespace

void bind_lab(nb::module_& module) {
  module.def("lab_run", &run);
  module.def("lab_work", &work);
  module.def("lab_report", &report);
  module.def("lab_compare", &compare);
}

}  // namespace polyte::python
