#include "python/core/check.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "driver/api/open_sizes.h"
#include "driver/api/requests.h"
#include "driver/cli/check_schedule.h"
#include "driver/cli/dependence_text.h"
#include "python/core/error.h"
#include "python/core/program.h"
#include "support/nearest_word.h"

namespace nb = nanobind;

namespace polyte::python {
namespace {

template <class Json>
std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// (exit status, JSON, what the verb says on stderr, the refusal or None)
nb::tuple told(const cli::ScheduleVerdict& verdict) {
  return nb::make_tuple(
      static_cast<int>(verdict.status), line_of(verdict.json), verdict.explanation,
      verdict.refusal ? to_python(api::refusal_of(*verdict.refusal)) : nb::none());
}

cli::ScheduleCheck check_of(const api::CompileOptions& options, bool by_execution) {
  cli::ScheduleCheck check;
  check.script = api::script_of(options);
  check.target = options.target;
  check.strict = options.strict;
  check.by_execution = by_execution;
  check.second_judge = options.second_judge;
  return check;
}

nb::tuple check_program(const api::Program& program, const nb::dict& given, bool by_execution) {
  const api::CompileOptions options = options_of(given);
  return told(guarded_value([&] {
    cli::ScheduleCheck check = check_of(options, by_execution);
    check.program = api::bind_sizes(program, options, api::Unbound::Open);
    return cli::check_schedule(check);
  }));
}

// `shapes`: "image=1x3x224x224", "N=4".
cli::ModelVerbOptions model_of(const std::vector<std::string>& shapes, const std::string& target) {
  cli::ModelVerbOptions model;
  model.shapes = shapes;
  model.target = target;
  return model;
}

nb::tuple check_model(const std::string& path, const std::string& group,
                      const std::vector<std::string>& shapes, const nb::dict& given,
                      bool by_execution) {
  const api::CompileOptions options = options_of(given);
  return told(guarded_value([&] {
    cli::ScheduleCheck check = check_of(options, by_execution);
    const cli::ModelVerbOptions model = model_of(shapes, options.target);
    check.program = cli::load_group({path, group, "script", model}, &check.script);
    return cli::check_schedule(check);
  }));
}

// (exit status, JSON, text)
nb::tuple check_bits(const std::string& path, const std::vector<std::string>& shapes,
                     const std::string& target) {
  const cli::BitsVerdict verdict =
      guarded_value([&] { return cli::check_model_bits(path, model_of(shapes, target), target); });
  return nb::make_tuple(static_cast<int>(verdict.status), line_of(verdict.json), verdict.text);
}

// (JSON, text)
nb::tuple dependences(const api::Program& program, const api::Sizes& sizes,
                      const std::vector<std::string>& statements, bool all) {
  const auto [json, text] = guarded_value([&] {
    const auto report = cli::dependences_of(
        api::bind_sizes(program, {.sizes = sizes}, api::Unbound::Open), {statements, all});
    return std::pair(cli::dependence_json(report), cli::dependence_text(report));
  });
  return nb::make_tuple(json, text);
}

std::string dependence_picture(const api::Program& program, const api::Sizes& sizes,
                               const std::vector<std::string>& statements) {
  return guarded_value([&] {
    return cli::reference_picture(api::bind_sizes(program, {.sizes = sizes}, api::Unbound::Open),
                                  statements);
  });
}

}  // namespace

void bind_checks(nb::module_& module) {
  module.def("check_program", &check_program);
  module.def("check_model", &check_model);
  module.def("check_bits", &check_bits);
  module.def("dependences", &dependences);
  module.def("dependence_picture", &dependence_picture);
  module.def("directive_words", &api::directive_words);
  module.def("did_you_mean", &did_you_mean);
}

}  // namespace polyte::python
