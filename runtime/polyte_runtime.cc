#include "runtime/polyte_runtime.h"

#include <algorithm>
#include <new>
#include <string>

#include "runtime/session.h"

struct polyte_session {
  polyte::runtime::Session session;
};

struct polyte_problem {
  int status;
  std::string text;
};

namespace {

using namespace polyte;
using namespace polyte::runtime;

// Without memory for the text the status has to do.
int report(ExitStatus status, const char* text, polyte_problem** problem) noexcept {
  if (problem == nullptr) return static_cast<int>(status);
  try {
    *problem = new polyte_problem{static_cast<int>(status), text};
  } catch (...) {
    *problem = nullptr;
  }
  return static_cast<int>(status);
}

// Runs f; every exception becomes a status and a problem.
template <class F>
int guarded(polyte_problem** problem, F&& f) noexcept {
  try {
    if (problem != nullptr) *problem = nullptr;
    f();
    return 0;
  } catch (const UserError& error) {
    return report(error.status(), error.what(), problem);
  } catch (const std::bad_alloc&) {
    return report(ExitStatus::ResourceLimit, "out of memory", problem);
  } catch (const std::exception& error) {
    return report(ExitStatus::Internal, error.what(), problem);
  } catch (...) {
    return report(ExitStatus::Internal, "unknown error", problem);
  }
}

int session_open(const char* path, int32_t threads, polyte_session** session,
                 polyte_problem** problem) {
  return guarded(problem, [&] {
    if (path == nullptr || session == nullptr)
      throw UserError(ExitStatus::Usage, "path or session is null");
    *session = nullptr;
    *session = new polyte_session{Session(Artifact::open(path), {.threads = threads})};
  });
}

int session_open_signed(const char* path, const char* public_keys, int32_t threads,
                        polyte_session** session, polyte_problem** problem) {
  return guarded(problem, [&] {
    if (path == nullptr || public_keys == nullptr || public_keys[0] == 0 || session == nullptr)
      throw UserError(ExitStatus::Usage, "path, public keys or session is null");
    *session = nullptr;
    *session = new polyte_session{Session(Artifact::open(path, public_keys), {.threads = threads})};
  });
}

int session_open_on_device(const char* path, int32_t device, const char* driver,
                           polyte_session** session, polyte_problem** problem) {
  return guarded(problem, [&] {
    if (path == nullptr || session == nullptr)
      throw UserError(ExitStatus::Usage, "path or session is null");
    *session = nullptr;
    const CudaOptions cuda{driver != nullptr ? driver : "", device};
    *session = new polyte_session{Session(Artifact::open(path), {.cuda = cuda})};
  });
}

polyte_dl_device session_device(const polyte_session* s) {
  return s == nullptr ? polyte_dl_device{POLYTE_DL_CPU, 0} : s->session.device();
}

void session_close(polyte_session* session) { delete session; }

int describe(const std::vector<TensorSpec>& tensors, int32_t index, polyte_tensor_info* info) {
  if (index < 0 || static_cast<std::size_t>(index) >= tensors.size() || info == nullptr) {
    return static_cast<int>(ExitStatus::Usage);
  }
  const TensorSpec& spec = tensors[static_cast<std::size_t>(index)];
  const polyte_dl_tensor shape = to_dlpack({spec.dtype, spec.shape, nullptr});
  *info = {spec.name.c_str(), shape.dtype, shape.ndim, spec.shape.data()};
  return 0;
}

// Of no session there is nothing: counts are 0, and no index is one.
int32_t input_count(const polyte_session* s) {
  return s == nullptr ? 0 : static_cast<int32_t>(s->session.inputs().size());
}
int32_t output_count(const polyte_session* s) {
  return s == nullptr ? 0 : static_cast<int32_t>(s->session.outputs().size());
}
int input_info(const polyte_session* s, int32_t index, polyte_tensor_info* info) {
  return s == nullptr ? static_cast<int>(ExitStatus::Usage)
                      : describe(s->session.inputs(), index, info);
}
int output_info(const polyte_session* s, int32_t index, polyte_tensor_info* info) {
  return s == nullptr ? static_cast<int>(ExitStatus::Usage)
                      : describe(s->session.outputs(), index, info);
}

// Views of the caller's tensors in storage that each thread keeps, so that a run does not allocate.
void read_tensors(const polyte_dl_tensor* tensors, int32_t count, std::vector<TensorView>& views,
                  polyte_dl_device device = {POLYTE_DL_CPU, 0}) {
  if (count < 0 || (count > 0 && tensors == nullptr))
    throw UserError(ExitStatus::Usage, "tensors are null");
  views.clear();
  for (int32_t i = 0; i < count; ++i) views.push_back(from_dlpack(tensors[i], device));
}

const StepSpec* step_at(const polyte_session* s, int32_t index) {
  if (s == nullptr) return nullptr;
  const std::vector<StepSpec>& steps = s->session.steps();
  return index < 0 || static_cast<std::size_t>(index) >= steps.size()
             ? nullptr
             : &steps[static_cast<std::size_t>(index)];
}

int32_t step_count(const polyte_session* s) {
  return s == nullptr ? 0 : static_cast<int32_t>(s->session.steps().size());
}
const char* step_group(const polyte_session* s, int32_t index) {
  const StepSpec* step = step_at(s, index);
  return step == nullptr ? nullptr : step->group.c_str();
}
const char* step_kernel(const polyte_session* s, int32_t index) {
  const StepSpec* step = step_at(s, index);
  return step == nullptr ? nullptr : step->kernel.c_str();
}
const char* step_scheduler_asked(const polyte_session* s, int32_t index) {
  const StepSpec* step = step_at(s, index);
  return step == nullptr ? nullptr : step->scheduling.asked.c_str();
}
const char* step_scheduler_used(const polyte_session* s, int32_t index) {
  const StepSpec* step = step_at(s, index);
  return step == nullptr ? nullptr : step->scheduling.used.c_str();
}
const char* step_declined(const polyte_session* s, int32_t index) {
  const StepSpec* step = step_at(s, index);
  return step == nullptr ? nullptr : step->scheduling.reason.c_str();
}

int session_run_timed(const polyte_session* session, const polyte_dl_tensor* inputs,
                      int32_t inputs_given, const polyte_dl_tensor* outputs, int32_t outputs_given,
                      int64_t* step_ns, polyte_problem** problem) {
  return guarded(problem, [&] {
    // Kept per thread for their capacity alone: they are filled anew by each call.
    thread_local std::vector<TensorView> input_views;
    thread_local std::vector<TensorView> output_views;
    if (session == nullptr) throw UserError(ExitStatus::Usage, "session is null");
    read_tensors(inputs, inputs_given, input_views);
    read_tensors(outputs, outputs_given, output_views);
    const std::span<const TensorView> given(input_views), wanted(output_views);
    if (step_ns == nullptr) return session->session.run(given, wanted);
    const RunProfile profile = session->session.profile(given, wanted);
    // Added, so that a caller can sum up several runs.
    for (const Span& span : profile.steps) step_ns[span.step] += span.nanoseconds();
  });
}

int session_run(const polyte_session* session, const polyte_dl_tensor* inputs, int32_t inputs_given,
                const polyte_dl_tensor* outputs, int32_t outputs_given, polyte_problem** problem) {
  return session_run_timed(session, inputs, inputs_given, outputs, outputs_given, nullptr, problem);
}

int session_run_on_device(const polyte_session* session, const polyte_dl_tensor* inputs,
                          int32_t inputs_given, const polyte_dl_tensor* outputs,
                          int32_t outputs_given, void* stream, polyte_problem** problem) {
  return guarded(problem, [&] {
    thread_local std::vector<TensorView> input_views;
    thread_local std::vector<TensorView> output_views;
    if (session == nullptr) throw UserError(ExitStatus::Usage, "session is null");
    const polyte_dl_device device = session->session.device();
    // Says why not.
    if (device.device_type != POLYTE_DL_CUDA) return session->session.run_on({}, {}, stream);
    read_tensors(inputs, inputs_given, input_views, device);
    read_tensors(outputs, outputs_given, output_views, device);
    session->session.run_on(input_views, output_views, stream);
  });
}

int session_wait(const polyte_session* session, polyte_problem** problem) {
  return guarded(problem, [&] {
    if (session == nullptr) throw UserError(ExitStatus::Usage, "session is null");
    session->session.wait();
  });
}

int32_t symbol_count(const polyte_session* s) {
  return s == nullptr ? 0 : static_cast<int32_t>(s->session.symbols().size());
}
int symbol_info(const polyte_session* s, int32_t index, polyte_symbol_info* info) {
  if (s == nullptr) return static_cast<int>(ExitStatus::Usage);
  const std::vector<SymbolSpec>& symbols = s->session.symbols();
  if (index < 0 || static_cast<std::size_t>(index) >= symbols.size() || info == nullptr)
    return static_cast<int>(ExitStatus::Usage);
  const SymbolSpec& symbol = symbols[static_cast<std::size_t>(index)];
  *info = {symbol.name.c_str(), symbol.least, symbol.most};
  return 0;
}

int output_shape(const polyte_session* session, const polyte_dl_tensor* inputs,
                 int32_t inputs_given, int32_t index, int64_t* shape, polyte_problem** problem) {
  return guarded(problem, [&] {
    if (session == nullptr) throw UserError(ExitStatus::Usage, "session is null");
    const std::size_t outputs = session->session.outputs().size();
    if (index < 0 || static_cast<std::size_t>(index) >= outputs)
      throw UserError(ExitStatus::Usage, "output is " + std::to_string(index) +
                                             ", expected one of " + std::to_string(outputs));
    std::vector<TensorView> views;
    read_tensors(inputs, inputs_given, views);
    const std::vector<std::int64_t> found =
        session->session.output_shapes(views)[static_cast<std::size_t>(index)];
    if (shape == nullptr && !found.empty()) throw UserError(ExitStatus::Usage, "shape is null");
    std::ranges::copy(found, shape);
  });
}

const char* problem_text(const polyte_problem* problem) {
  return problem == nullptr ? "" : problem->text.c_str();
}
int problem_status(const polyte_problem* problem) {
  return problem == nullptr ? 0 : problem->status;
}
void problem_free(polyte_problem* problem) { delete problem; }

constexpr polyte_runtime_api kApi{sizeof(polyte_runtime_api),
                                  POLYTE_RUNTIME_API_VERSION,
                                  session_open,
                                  session_close,
                                  input_count,
                                  output_count,
                                  input_info,
                                  output_info,
                                  session_run,
                                  problem_text,
                                  problem_status,
                                  problem_free,
                                  step_count,
                                  step_group,
                                  step_kernel,
                                  session_run_timed,
                                  symbol_count,
                                  symbol_info,
                                  output_shape,
                                  step_scheduler_asked,
                                  step_scheduler_used,
                                  step_declined,
                                  session_open_signed,
                                  session_open_on_device,
                                  session_device,
                                  session_run_on_device,
                                  session_wait};

}  // namespace

// Any version so far gets the newest table: members are only appended, and `size` says how many
// there are.
const polyte_runtime_api* polyte_runtime_get_api(uint32_t version) {
  return version >= 1 && version <= POLYTE_RUNTIME_API_VERSION ? &kApi : nullptr;
}
