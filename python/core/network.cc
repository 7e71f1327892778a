#include "python/core/network.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>

#include "python/core/array.h"
#include "python/core/error.h"
#include "runtime/session.h"

namespace nb = nanobind;

namespace polyte::python {
namespace {

using Shapes = std::map<std::string, std::vector<std::int64_t>>;

// The options of polyte.compile_onnx and polyte.Network. Those that are not given keep their
// defaults; unknown ones have been refused in Python.
api::ModelOptions model_options_of(const nb::dict& given) {
  api::ModelOptions options;
  const std::map<std::string, api::Scheduler> schedulers{{"naive", api::Scheduler::Naive},
                                                         {"isl", api::Scheduler::Isl},
                                                         {"poly", api::Scheduler::Poly},
                                                         {"template", api::Scheduler::Template}};
  const auto scheduler_of = [&](nb::handle value) {
    const auto found = schedulers.find(nb::cast<std::string>(value));
    if (found == schedulers.end())
      raise(ExitStatus::Usage, {"scheduler '" + nb::cast<std::string>(value) +
                                "': expected naive, isl, poly or template"});
    return found->second;
  };
  for (const auto [key, value] : given) {
    const auto name = nb::cast<std::string>(key);
    if (name == "scheduler") options.scheduler = scheduler_of(value);
    if (name == "scripts") options.scripts = nb::cast<std::vector<std::string>>(value);
    if (name == "shapes") options.shapes = nb::cast<Shapes>(value);
    if (name == "target") options.target = nb::cast<std::string>(value);
    if (name == "templates") options.templates = nb::cast<std::string>(value);
    if (name == "strict") options.strict = nb::cast<bool>(value);
    if (name == "exact") options.exact = nb::cast<bool>(value);
    if (name == "optimize") options.optimize = nb::cast<bool>(value);
  }
  return options;
}

// (groups, notes), of each group: name, Program, Script, asked, used, reason, where. An empty
// reason where nothing declined.
nb::tuple to_python(const api::ModelReport& report) {
  nb::list groups;
  for (const api::GroupInfo& group : report.groups) {
    const api::Declined declined = group.scheduling.declined.value_or(api::Declined{});
    groups.append(nb::make_tuple(group.name, group.program, group.script, group.scheduling.asked,
                                 group.scheduling.used, declined.reason, declined.where));
  }
  return nb::make_tuple(groups, report.notes);
}

// ---- a network that is run where it is compiled

// Results are copied to arrays of numpy: the network keeps its own memory for the next run.
nb::dict run_network(const api::Network& network, const nb::dict& inputs) {
  std::vector<std::unique_ptr<Array>> arrays;
  std::vector<api::NetworkTensor> tensors;
  for (const auto [key, value] : inputs) {
    const auto name = nb::cast<std::string>(key);
    try {
      arrays.push_back(std::make_unique<Array>(value, name));
    } catch (const ProblemError& e) {
      raise(ExitStatus::InvalidInput, {e.what()});
    }
    const Array& array = *arrays.back();
    tensors.push_back({name,
                       array.dtype(),
                       {array.shape().begin(), array.shape().end()},
                       array.data(),
                       static_cast<std::size_t>(runtime::count_elements(array.shape()))});
  }
  const std::vector<api::NetworkOutput> outputs =
      value_of(without_gil([&] { return network.run(tensors); }));
  nb::dict results;
  for (const api::NetworkOutput& output : outputs) {
    const nb::object result = empty_array(output.dtype, output.shape);
    std::memcpy(Array(result, output.name).data(), output.bytes.data(), output.bytes.size());
    results[output.name.c_str()] = result;
  }
  return results;
}

// ---- an artifact

class ArtifactSession {
 public:
  ArtifactSession(const std::string& path, int threads)
      : session_(guarded_value([&] {
          return std::make_shared<runtime::Session>(runtime::Artifact::open(path),
                                                    runtime::SessionOptions{.threads = threads});
        })) {}

  // By name; new arrays unless `out` has them.
  nb::dict run(const nb::dict& inputs, const nb::dict& out) const {
    std::vector<std::string> problems;
    std::vector<std::unique_ptr<Array>> arrays;
    const std::vector<runtime::TensorView> given =
        views(session_->inputs(), inputs, Use::Read, arrays, problems);
    check_names(session_->inputs(), inputs, "input", problems);
    check_names(session_->outputs(), out, "output", problems);
    if (!problems.empty()) raise(ExitStatus::InvalidInput, problems);
    // Those of the outputs follow from the inputs where sizes are open.
    const auto shapes = guarded_value([&] { return session_->output_shapes(given); });
    nb::dict results;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const runtime::TensorSpec& spec = session_->outputs()[i];
      const char* name = spec.name.c_str();
      results[name] =
          out.contains(name) ? nb::object(out[name]) : empty_array(spec.dtype, shapes[i]);
    }
    const std::size_t read = arrays.size();
    const std::vector<runtime::TensorView> made =
        views(session_->outputs(), results, Use::Written, arrays, problems);
    if (!problems.empty()) raise(ExitStatus::InvalidInput, problems);
    // guarded_value lets the GIL go for the run; arrays, which Python owns, are released after
    // it.
    guarded_value([&] {
      session_->run(given, made);
      return api::Done{};
    });
    for (std::size_t i = read; i < arrays.size(); ++i) arrays[i]->copy_back();
    return results;
  }

  static nb::list describe(const std::vector<runtime::TensorSpec>& specs) {
    nb::list all;
    for (const runtime::TensorSpec& spec : specs)
      all.append(nb::make_tuple(spec.name, name_of(spec.dtype), nb::tuple(nb::cast(spec.shape))));
    return all;
  }
  nb::list inputs() const { return describe(session_->inputs()); }
  nb::list outputs() const { return describe(session_->outputs()); }
  int threads() const { return session_->threads(); }

 private:
  enum class Use { Read, Written };
  std::shared_ptr<runtime::Session> session_;

  // Views of `given` in the order of `specs`; `arrays` keep the memory until the run is over.
  static std::vector<runtime::TensorView> views(const std::vector<runtime::TensorSpec>& specs,
                                                const nb::dict& given, Use use,
                                                std::vector<std::unique_ptr<Array>>& arrays,
                                                std::vector<std::string>& problems) {
    std::vector<runtime::TensorView> result;
    for (const runtime::TensorSpec& spec : specs) {
      if (!given.contains(spec.name.c_str())) {
        problems.push_back("input '" + spec.name + "' is missing");
        continue;
      }
      try {
        arrays.push_back(std::make_unique<Array>(given[spec.name.c_str()], spec.name));
      } catch (const ProblemError& e) {
        problems.emplace_back(e.what());
        continue;
      }
      const Array& array = *arrays.back();
      if (use == Use::Written && !array.is_writable())
        problems.push_back("output '" + spec.name + "' is read-only");
      else if (use == Use::Written && array.is_repeated())
        problems.push_back("output '" + spec.name + "' has several elements in one place");
      // Bits of 16-bit floats in uint16 count as what is wanted; other types are the session's to
      // refuse.
      const DType dtype = fits(array.dtype(), spec.dtype) ? spec.dtype : array.dtype();
      result.push_back({dtype, array.shape(), array.data()});
    }
    return result;
  }

  // A name that no tensor has is a mistake, not an extension.
  static void check_names(const std::vector<runtime::TensorSpec>& specs, const nb::dict& given,
                          const char* what, std::vector<std::string>& problems) {
    for (const auto [key, value] : given) {
      const auto name = nb::cast<std::string>(key);
      if (std::ranges::find(specs, name, &runtime::TensorSpec::name) == specs.end())
        problems.push_back("there is no " + std::string(what) + " '" + name + "'");
    }
  }
};

}  // namespace

void bind_networks(nb::module_& module) {
  nb::class_<api::Network>(module, "Network")
      .def("run", &run_network)
      .def_prop_ro("compilations", &api::Network::compilations)
      .def_prop_ro("notes", &api::Network::notes);
  module.def("open_network", [](const std::string& onnx, const nb::dict& given, int threads) {
    const api::ModelOptions options = model_options_of(given);
    return value_of(without_gil([&] { return api::Network::open(onnx, options, threads); }));
  });
  module.def("compile_model",
             [](const std::string& onnx, const std::string& artifact, const nb::dict& given) {
               const api::ModelOptions options = model_options_of(given);
               return to_python(value_of(
                   without_gil([&] { return api::compile_model(onnx, artifact, options); })));
             });
  nb::class_<ArtifactSession>(module, "Session")
      .def(nb::init<const std::string&, int>())
      .def("run", &ArtifactSession::run)
      .def_prop_ro("inputs", &ArtifactSession::inputs)
      .def_prop_ro("outputs", &ArtifactSession::outputs)
      .def_prop_ro("threads", &ArtifactSession::threads);
}

}  // namespace polyte::python
