#include "python/core/kernel.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "python/core/device_array.h"
#include "python/core/error.h"
#include "runtime/tensor.h"

namespace nb = nanobind;

namespace polyte::python {
namespace {

using ir::Role;

bool is_written(const api::TensorInfo& tensor) {
  return tensor.role == Role::Out || tensor.role == Role::InOut;
}

api::Argument argument_of(const api::TensorInfo& tensor, const Array& array) {
  return {tensor.name,         tensor.dtype,
          array.data(),        static_cast<std::size_t>(runtime::count_elements(array.shape())),
          array.is_writable(), {array.shape().begin(), array.shape().end()}};
}

bool is_open(const api::TensorInfo& tensor) {
  return std::ranges::find(tensor.shape, api::kOpenExtent) != tensor.shape.end();
}

// Extents as the Program has them where sizes are open.
std::string shape_text(const api::TensorInfo& tensor) {
  std::string text;
  for (const std::string& extent : tensor.extents) text += (text.empty() ? "" : ", ") + extent;
  return "[" + text + "]";
}

constexpr std::uintptr_t kGpuAlignment = 16;  // of the widest access of a thread

// What is wrong with an array for a tensor, added to `problems`.
void check(const api::TensorInfo& tensor, const Array& array, std::vector<std::string>& problems) {
  const auto complain = [&](const std::string& what) {
    problems.push_back("argument '" + tensor.name + "' " + what);
  };
  if (!fits(array.dtype(), tensor.dtype))
    complain("is " + name_of(array.dtype()) + ", expected " + name_of(tensor.dtype));
  if (!is_open(tensor) && !std::ranges::equal(array.shape(), tensor.shape))
    complain("has shape " + runtime::to_string(array.shape()) + ", expected " +
             runtime::to_string(tensor.shape));
  if (is_written(tensor) && !array.is_writable())
    complain("is written, and read-only");
  else if (is_written(tensor) && array.is_repeated())
    complain("is written, and several of its elements are in one place");
  if (array.is_on_gpu() && reinterpret_cast<std::uintptr_t>(array.data()) % kGpuAlignment != 0)
    complain("begins at an address that is no multiple of 16 bytes: give a copy of it");
}

// Executions with as many threads share them. Under the GIL, which guards the map.
const api::Workers& workers_of(int threads) {
  // Threads are not joined when Python ends.
  static auto* const kWorkers = new std::map<int, api::Workers>();
  return kWorkers->try_emplace(threads, threads).first->second;
}

}  // namespace

CallableKernel::CallableKernel(api::Kernel kernel, int threads, std::optional<GpuUse> gpu)
    : kernel_(std::move(kernel)), threads_(threads), gpu_(std::move(gpu)) {
  bound_.resize(tensors().size());
  has_loose_constants_ = std::ranges::any_of(
      tensors(), [](const api::TensorInfo& tensor) { return tensor.role == Role::Const; });
}

// One call: what was given, tensor by tensor.
struct CallableKernel::Call {
  const CallableKernel& self;
  std::vector<nb::handle> given;                 // one per tensor; null: nothing
  std::vector<std::string> misplaced, problems;  // names and counts; types, shapes and memory
  std::vector<std::shared_ptr<Array>> arrays;
  std::vector<nb::object> results;  // of `out` tensors, in order
  api::Sizes given_sizes;           // by name, of what no shape says
  std::vector<std::int64_t> sizes;  // open ones
  std::vector<std::vector<std::int64_t>> shapes;
  std::optional<Stream> stream;

  explicit Call(const CallableKernel& kernel)
      : self(kernel), given(kernel.tensors().size()), arrays(kernel.bound_) {}

  const api::TensorInfo& tensor(std::size_t i) const { return self.tensors()[i]; }
  bool is_input(std::size_t i) const { return tensor(i).role != Role::Out && !self.bound_[i]; }

  // Positional arguments are the inputs that are not bound, in the Program's order.
  void take_positional(const nb::args& args) {
    std::size_t next = 0;
    for (std::size_t i = 0; i < given.size() && next < args.size(); ++i)
      if (is_input(i)) given[i] = args[next++];
    if (next == args.size()) return;
    misplaced.push_back(std::to_string(args.size()) + " positional arguments, expected at most " +
                        std::to_string(next));
  }

  void take_named(const nb::kwargs& named) {
    for (const auto [key, value] : named) {
      const auto name = nb::cast<std::string>(key);
      if (name == "out") {
        take_out(value);
        continue;
      }
      if (name == "stream" && self.gpu_) {
        take_stream(value);
        continue;
      }
      const auto found = std::ranges::find(self.tensors(), name, &api::TensorInfo::name);
      const auto i = static_cast<std::size_t>(found - self.tensors().begin());
      if (found == self.tensors().end() && take_size(name, value)) continue;
      if (found == self.tensors().end()) {
        misplaced.push_back("there is no tensor '" + name + "'");
      } else if (given[i].is_valid() || self.bound_[i]) {
        misplaced.push_back("argument '" + name + "' is given twice");
      } else {
        given[i] = value;
      }
    }
  }

  // A keyword that is no tensor may be an open size. False where it is neither.
  bool take_size(const std::string& name, nb::handle value) {
    std::int64_t number = 0;
    if (std::ranges::find(self.kernel_.sizes(), name, &api::SizeInfo::name) ==
        self.kernel_.sizes().end())
      return false;
    if (nb::try_cast(value, number, false))
      given_sizes[name] = number;
    else
      misplaced.push_back("size '" + name + "' is no number");
    return true;
  }

  void take_out(nb::handle out) {
    std::vector<nb::handle> outs;
    if (nb::isinstance<nb::tuple>(out) || nb::isinstance<nb::list>(out)) {
      for (nb::handle each : nb::borrow<nb::sequence>(out)) outs.push_back(each);
    } else if (!out.is_none()) {
      outs.push_back(out);
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < given.size() && next < outs.size(); ++i)
      if (tensor(i).role == Role::Out && !given[i].is_valid()) given[i] = outs[next++];
    if (next < outs.size())
      misplaced.push_back("out has " + std::to_string(outs.size()) + " arrays, expected at most " +
                          std::to_string(next));
  }

  void take_stream(nb::handle value) {
    try {
      stream = stream_of(value);
    } catch (const ProblemError& e) {
      misplaced.emplace_back(e.what());
    }
  }

  // Those that were given.
  void make_arrays() {
    const Stream used = stream.value_or(Stream{});
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (self.bound_[i] || !given[i].is_valid()) {
        if (is_input(i)) misplaced.push_back("argument '" + tensor(i).name + "' is missing");
        continue;
      }
      try {
        arrays[i] = std::make_shared<Array>(given[i], tensor(i).name, self.gpu_ ? &used : nullptr);
        check(tensor(i), *arrays[i], problems);
      } catch (const ProblemError& e) {
        problems.emplace_back(e.what());
      }
    }
  }

  // What the shapes of the arguments say; where sizes are open they have not been compared before.
  void settle_sizes() {
    // Sizes of an array that is missing would be reported a second time.
    if (self.kernel_.sizes().empty() || !misplaced.empty()) return;
    std::map<std::string, std::vector<std::int64_t>> known;
    for (std::size_t i = 0; i < arrays.size(); ++i)
      if (arrays[i]) known[tensor(i).name] = {arrays[i]->shape().begin(), arrays[i]->shape().end()};
    auto found = self.kernel_.sizes_by(known, given_sizes);
    if (!found) {
      const std::vector<std::string>& more = found.error().messages;
      problems.insert(problems.end(), more.begin(), more.end());
      return;
    }
    sizes = *std::move(found);
    shapes = value_of(self.kernel_.shapes_at(sizes));
  }

  const std::vector<std::int64_t>& shape(std::size_t i) const {
    return shapes.empty() ? tensor(i).shape : shapes[i];
  }

  // Whether an argument is there; bound constants do not count: they are packed.
  bool has(bool on_gpu) const {
    for (std::size_t i = 0; i < given.size(); ++i)
      if (given[i].is_valid() && arrays[i] && arrays[i]->is_on_gpu() == on_gpu) return true;
    return false;
  }
  // Where the kernel runs: where the arrays are, and with none where the stream is.
  bool is_on_gpu() const { return has(true) || (stream && !has(false)); }

  void check_places() {
    if (has(true) && has(false))
      problems.emplace_back(
          "some arguments are in the memory of a GPU and some in this processor's, expected all in "
          "one");
    if (stream && has(false) && !has(true))
      problems.emplace_back("stream is given, and the arguments are in this processor's memory");
    if (self.gpu_ && self.has_loose_constants_)
      for (std::size_t i = 0; i < given.size(); ++i)
        if (tensor(i).role == Role::Const && !self.bound_[i])
          misplaced.push_back("constant '" + tensor(i).name +
                              "' is no argument of a kernel for a GPU: kernel.bind(" +
                              tensor(i).name + "=..) packs it");
    for (std::size_t i = 0; i < given.size(); ++i)
      if (given[i].is_valid() && arrays[i] && arrays[i]->gpu() && arrays[i]->is_on_gpu() &&
          *arrays[i]->gpu() != self.gpu_->cuda.device)
        problems.push_back("argument '" + tensor(i).name + "' is on GPU " +
                           std::to_string(*arrays[i]->gpu()) + ", the kernel on GPU " +
                           std::to_string(self.gpu_->cuda.device));
  }

  // Results that are not given, where the others are.
  void make_results(const runtime::CudaDevicePtr& device) {
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (tensor(i).role != Role::Out) continue;
      if (given[i].is_valid()) {
        results.push_back(nb::borrow(given[i]));
        continue;
      }
      if (device) {
        auto made = guarded_value(
            [&] { return std::make_unique<DeviceArray>(device, tensor(i).dtype, shape(i)); });
        results.push_back(nb::cast(std::move(made)));
      } else {
        results.push_back(empty_array(tensor(i).dtype, shape(i)));
      }
      const Stream used = stream.value_or(Stream{});
      arrays[i] = std::make_shared<Array>(results.back(), tensor(i).name, &used);
    }
  }

  // Arrays of ours stay, and others wait for them, until the stream has come by.
  void mark_used() const {
    if (!stream) return;
    const auto mark = [&](nb::handle object, bool writes) {
      DeviceArray* array = nullptr;
      if (nb::try_cast(object, array, false))
        guarded_value([&] {
          array->mark_used(*stream, writes);
          return api::Done{};
        });
    };
    for (std::size_t i = 0; i < given.size(); ++i)
      if (given[i].is_valid()) mark(given[i], is_written(tensor(i)));
    for (const nb::object& result : results) mark(result, true);
  }

  void copy_back() const {
    for (std::size_t i = 0; i < arrays.size(); ++i)
      if (arrays[i] && is_written(tensor(i))) arrays[i]->copy_back();
  }

  // Wrong names and numbers of arguments are Python's TypeError.
  void raise_problems() const {
    if (!misplaced.empty()) {
      const nb::object made =
          nb::module_::import_("polyte.errors").attr("ArgumentError")(misplaced);
      PyErr_SetObject(made.type().ptr(), made.ptr());
      throw nb::python_error();
    }
    if (!problems.empty()) raise(ExitStatus::InvalidInput, problems);
  }

  nb::object result() const {
    if (results.empty()) return nb::none();
    if (results.size() == 1) return results.front();
    nb::list all;
    for (const nb::object& each : results) all.append(each);
    return nb::tuple(all);
  }
};

nb::object CallableKernel::operator()(nb::args args, nb::kwargs named) {
  Call call(*this);
  // All that is wrong is collected before anything is raised; nothing is written until then.
  call.take_positional(args);
  call.take_named(named);
  call.make_arrays();
  call.check_places();
  call.settle_sizes();
  call.raise_problems();
  if (!gpu_ || (gpu_->is_played && !call.is_on_gpu())) {
    call.make_results(nullptr);
    run(call.arrays, call.sizes);
    call.copy_back();
    return call.result();
  }
  GpuKernel& kernel = on_gpu();
  const bool is_there = call.is_on_gpu();
  call.make_results(is_there ? kernel.device() : nullptr);
  guarded_value([&] {
    if (is_there)
      kernel.run_on(call.arrays, call.stream);
    else
      kernel.run(call.arrays);
    return api::Done{};
  });
  call.copy_back();
  call.mark_used();
  return call.result();
}

GpuKernel& CallableKernel::on_gpu() {
  if (!on_gpu_) {
    const std::vector<api::Argument> constants = bound_arguments();
    auto made =
        guarded_value([&] { return std::make_unique<GpuKernel>(kernel_, constants, gpu_->cuda); });
    if (!on_gpu_) on_gpu_ = std::move(made);  // another thread may have been faster
  }
  return *on_gpu_;
}

void CallableKernel::wait() {
  if (on_gpu_)
    guarded_value([&] {
      on_gpu_->wait();
      return api::Done{};
    });
}

std::vector<api::Argument> CallableKernel::bound_arguments() const {
  std::vector<api::Argument> arguments;
  for (std::size_t i = 0; i < bound_.size(); ++i)
    if (bound_[i]) arguments.push_back(argument_of(tensors()[i], *bound_[i]));
  return arguments;
}

void CallableKernel::run(const std::vector<std::shared_ptr<Array>>& arrays,
                         const std::vector<std::int64_t>& sizes) {
  const api::Workers& workers = workers_of(threads_);
  // Packed anew by each call, so no execution is kept.
  if (has_loose_constants_) {
    std::vector<api::Argument> arguments;
    for (std::size_t i = 0; i < arrays.size(); ++i)
      arguments.push_back(argument_of(tensors()[i], *arrays[i]));
    api::Sizes named;
    for (std::size_t i = 0; i < sizes.size(); ++i) named[kernel_.sizes()[i].name] = sizes[i];
    value_of(without_gil([&] { return kernel_.run(arguments, workers, named); }));
    return;
  }
  // Constants that are bound are packed once per execution, which later calls find in the pool.
  const auto lease = executions_.take([&] {
    return std::make_unique<api::Execution>(
        value_of(kernel_.prepare_calls(bound_arguments(), workers)));
  });
  // Addresses of a call without taking memory, for up to 64 tensors.
  std::array<void*, 64> few;
  std::vector<void*> many(arrays.size() > few.size() ? arrays.size() : 0);
  const std::span<void*> data =
      many.empty() ? std::span(few).first(arrays.size()) : std::span(many);
  for (std::size_t i = 0; i < arrays.size(); ++i) data[i] = arrays[i]->data();
  value_of(without_gil([&] { return lease->run_on(data, sizes); }));
}

std::string CallableKernel::description() const {
  std::string text;
  for (const api::TensorInfo& tensor : tensors())
    text += (text.empty() ? "" : ", ") + tensor.name + ": " + name_of(tensor.dtype) +
            shape_text(tensor);
  return "<polyte.Kernel (" + text + ") by " + kernel_.scheduling().used + ">";
}

std::unique_ptr<CallableKernel> CallableKernel::bind(const nb::kwargs& constants) const {
  // The kernel is shared with the one it comes from, the executions are not: they have the
  // constants packed.
  auto bound = std::make_unique<CallableKernel>(kernel_, threads_, gpu_);
  bound->bound_ = bound_;
  std::vector<std::string> problems;
  for (const auto [key, value] : constants) {
    const auto name = nb::cast<std::string>(key);
    const auto found = std::ranges::find(tensors(), name, &api::TensorInfo::name);
    if (found == tensors().end() || found->role != Role::Const) {
      problems.push_back("there is no constant '" + name + "'");
      continue;
    }
    try {
      auto array = std::make_shared<Array>(value, name);
      check(*found, *array, problems);
      bound->bound_[static_cast<std::size_t>(found - tensors().begin())] = std::move(array);
    } catch (const ProblemError& e) {
      problems.emplace_back(e.what());
    }
  }
  if (!problems.empty()) raise(ExitStatus::InvalidInput, problems);
  bound->has_loose_constants_ = false;
  for (std::size_t i = 0; i < bound->bound_.size(); ++i)
    if (tensors()[i].role == Role::Const && !bound->bound_[i]) bound->has_loose_constants_ = true;
  return bound;
}

static void bind_tensors(nb::module_& module) {
  nb::class_<api::TensorInfo>(module, "TensorInfo",
                              "A tensor of a kernel: its name, role, dtype and shape.")
      .def_ro("name", &api::TensorInfo::name)
      .def_prop_ro("role", [](const api::TensorInfo& t) { return ir::to_string(t.role); })
      .def_prop_ro("dtype", [](const api::TensorInfo& t) { return name_of(t.dtype); })
      .def_prop_ro("shape", [](const api::TensorInfo& t) {
        nb::list shape;
        for (std::size_t d = 0; d < t.shape.size(); ++d)
          shape.append(t.shape[d] == api::kOpenExtent ? nb::cast(t.extents[d])
                                                      : nb::cast(t.shape[d]));
        return nb::tuple(shape);
      });
}

static const char* const kKernel = R"(A compiled Program.

kernel(x, w): arrays in the order of the Program's tensors that are read, or by name; outputs are
new numpy arrays, or those of out= (one, or a tuple). Arrays are whatever has the buffer protocol or
DLPack, of the tensor's type and shape; those that are dense are not copied, others are, and back
where they are written. 16-bit floats are float16, or uint16 with their bits. Calls may come from several threads; the GIL is released
meanwhile. Raises ArgumentError (a TypeError), InvalidInput (a ValueError), with all problems. Sizes
that are open are those of the arrays; one that no array says is given by its name.

Of a kernel for a GPU arrays may be in its memory (DLPack, __cuda_array_interface__): nothing is
copied, and results are DeviceArrays. With stream= (a CUstream's number, or a stream of torch or
cupy) the call returns at once and wait() raises what it finds later; without one it waits. Arrays
of this processor are copied there and back.)";

static void save(const CallableKernel& k, nb::handle path) {
  const auto file = nb::cast<std::string>(nb::module_::import_("os").attr("fspath")(path));
  value_of(without_gil([&] { return k.kernel().save(file); }));
}

static nb::dict sizes_of(const CallableKernel& k) {
  nb::dict sizes;
  for (const api::SizeInfo& size : k.kernel().sizes())
    sizes[size.name.c_str()] = nb::make_tuple(size.least, size.most);
  return sizes;
}

static nb::object declined_of(const CallableKernel& k) {
  const auto declined = k.kernel().scheduling().declined;
  if (!declined) return nb::none();
  return nb::make_tuple(declined->reason, declined->where);
}

void bind_kernels(nb::module_& module) {
  bind_tensors(module);
  // In C++ whole: a class of Python's around it would double what a call costs.
  nb::class_<CallableKernel>(module, "Kernel", kKernel)
      .def("__call__", &CallableKernel::operator())
      .def("save", &save, "As a file, for polyte.load: machine code, so load what you trust.")
      .def("wait", &CallableKernel::wait,
           "Of a kernel for a GPU: waits for all calls that were put into streams, and raises what "
           "they found.")
      .def("bind", &CallableKernel::bind,
           "The kernel with these const tensors packed for good: they are no arguments of its "
           "calls any more. What a "
           "schedule lays out anew is packed here once, and at every call where it is not bound.")
      .def_prop_ro(
          "tensors",
          [](const CallableKernel& k) { return nb::tuple(nb::cast(k.kernel().tensors())); },
          "Of each: name, role, dtype, shape; in the Program's order.")
      .def_prop_ro("sizes", &sizes_of,
                   "Those that are open, by name: the least and the most that each may be.")
      .def_prop_ro(
          "notes", [](const CallableKernel& k) { return nb::tuple(nb::cast(k.kernel().notes())); },
          "What was not done as asked.")
      .def_prop_ro(
          "script", [](const CallableKernel& k) { return k.kernel().script(); },
          "The schedule, as Script text.")
      .def_prop_ro(
          "directives", [](const CallableKernel& k) { return k.kernel().directives(); },
          "The schedule, one step a line, with who chose it.")
      .def_prop_ro(
          "loops", [](const CallableKernel& k) { return k.kernel().loops(); },
          "The loops that it led to.")
      .def_prop_ro("threads", &CallableKernel::threads, "That it runs with.")
      .def_prop_ro(
          "scheduler", [](const CallableKernel& k) { return k.kernel().scheduling().used; },
          "Whose schedule it has: what was asked for or, where that declined, 'naive'.")
      .def_prop_ro("declined", &declined_of,
                   "Why it has not the schedule that was asked for: (reason, where), or None.")
      .def("__repr__", &CallableKernel::description);
}

}  // namespace polyte::python
