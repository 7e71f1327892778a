#include "python/core/program.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "python/core/error.h"
#include "python/core/kernel.h"

namespace nb = nanobind;

namespace polyte::python {
namespace {

api::Scheduler scheduler_of(const std::string& name) {
  if (name == "naive") return api::Scheduler::Naive;
  if (name == "isl") return api::Scheduler::Isl;
  if (name == "poly") return api::Scheduler::Poly;
  if (name == "template") return api::Scheduler::Template;
  raise(ExitStatus::Usage, {"scheduler '" + name + "': expected naive, isl, poly or template"});
}

}  // namespace

api::CompileOptions options_of(const nb::dict& given) {
  api::CompileOptions options;
  for (const auto [key, value] : given) {
    const auto name = nb::cast<std::string>(key);
    if (name == "scheduler") options.scheduler = scheduler_of(nb::cast<std::string>(value));
    if (name == "script") options.script = nb::cast<std::string>(value);
    if (name == "params") options.params = nb::cast<std::map<std::string, std::string>>(value);
    if (name == "templates") options.templates = nb::cast<std::string>(value);
    if (name == "sizes") options.sizes = nb::cast<api::Sizes>(value);
    if (name == "open")
      for (const auto& [size, range] :
           nb::cast<std::map<std::string, std::vector<std::int64_t>>>(value))
        options.open[size] = range.empty() ? api::OpenRange{}
                                           : api::OpenRange{range.at(0), range.at(1), range.at(2)};
    if (name == "target") options.target = nb::cast<std::string>(value);
    if (name == "threads") options.threads = nb::cast<int>(value);
    if (name == "strict") options.strict = nb::cast<bool>(value);
    if (name == "exact") options.exact = nb::cast<bool>(value);
    if (name == "cache") options.cache = nb::cast<std::string>(value);
    if (name == "second_judge") options.second_judge = nb::cast<bool>(value);
    if (name == "device") options.gpu.device = nb::cast<int>(value);
    if (name == "driver") options.gpu.driver = nb::cast<std::string>(value);
    if (name == "emulate") options.emulated = nb::cast<bool>(value);
  }
  return options;
}

namespace {

DType dtype_named(const std::string& name) {
  if (const auto dtype = dtype_from_string(name)) return *dtype;
  std::string known;
  for (int i = 0; i < kDTypeCount; ++i)
    known += (i == 0 ? "" : ", ") + name_of(static_cast<DType>(i));
  raise(ExitStatus::Usage, {"dtype '" + name + "': expected one of " + known});
}

nb::tuple to_python(const api::CheckedScript& checked) {
  return nb::make_tuple(checked.script, checked.nest, checked.notes, checked.rounding);
}

nb::list tensors_of(const api::Program& program) {
  nb::list tensors;
  for (const ir::Buffer* buffer : program.ir().interface()) {
    nb::list shape;
    for (const ir::Affine& extent : buffer->shape) {
      if (extent.is_constant())
        shape.append(extent.constant());
      else
        shape.append(ir::to_string(extent));
    }
    tensors.append(nb::make_tuple(buffer->name, ir::to_string(buffer->role), name_of(buffer->dtype),
                                  nb::tuple(shape)));
  }
  return tensors;
}

}  // namespace

void bind_programs(nb::module_& module) {
  nb::class_<api::Program>(module, "Program")
      .def_prop_ro("name", [](const api::Program& p) { return p.ir().name; })
      .def_prop_ro("text", &api::Program::text)
      .def_prop_ro("sizes", [](const api::Program& p) { return p.ir().params; })
      .def_prop_ro("tensors", &tensors_of)
      // None where there is no such size.
      .def("size_named", [](const api::Program& p, const std::string& name) {
        const auto found = ir::find_param(p.ir(), name);
        return found ? nb::object(nb::cast(*found)) : nb::none();
      });
  module.def("parse_notation", [](const std::string& text, const std::string& dtype) {
    return value_of(api::parse_notation(text, dtype_named(dtype)));
  });
  module.def("parse_program", [](const std::string& text, const std::string& origin) {
    return value_of(api::parse_program(text, origin));
  });
  module.def("compile", [](const api::Program& program, const nb::dict& given, int threads) {
    const api::CompileOptions options = options_of(given);
    // An emulated kernel runs on the host, unless a driver is named to play the GPU.
    std::optional<GpuUse> gpu;
    if (options.target.starts_with("cuda"))
      gpu = {{options.gpu.driver, options.gpu.device},
             options.emulated && options.gpu.driver.empty()};
    // The options are read before: Python's objects may be touched only while the GIL is held.
    return std::make_unique<CallableKernel>(
        value_of(without_gil([&] { return api::compile(program, options); })), threads,
        std::move(gpu));
  });
  module.def("load_kernel", [](const std::string& path, int threads) {
    return std::make_unique<CallableKernel>(
        value_of(without_gil([&] { return api::Kernel::load(path); })), threads);
  });
  module.def("check", [](const api::Program& program, const nb::dict& given) {
    const api::CompileOptions options = options_of(given);
    return to_python(value_of(without_gil([&] { return api::check(program, options); })));
  });
  module.def("write_script", [](const api::Program& program, const nb::dict& given) {
    const api::CompileOptions options = options_of(given);
    return to_python(value_of(without_gil([&] { return api::write_script(program, options); })));
  });
}

}  // namespace polyte::python
