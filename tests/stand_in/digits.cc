#include "tests/stand_in/digits.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "codegen/target.h"
#include "driver/compile/import_network.h"
#include "driver/package/package_model.h"
#include "runtime/fill.h"
#include "support/gpu_machines.h"

namespace polyte::testing {
namespace {

using namespace runtime;

template <class F>
void find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(library, name));  // NOLINT
  POLYTE_CHECK(function != nullptr, std::string("the stand-in has no ") + name);
}

ArtifactParts compiled(Size size, const codegen::Target& target) {
  const bool is_open = size == Size::Open;
  driver::ImportedNetwork imported = driver::import_network(
      is_open ? "examples/digits/digits_batch.onnx" : "examples/digits/digits.onnx", {},
      is_open ? std::vector<driver::OpenSymbol>{{"batch", 1, 4, 8}}
              : std::vector<driver::OpenSymbol>{});
  driver::ModelOptions options;
  options.exact = true;
  options.emulated = target.kind == TargetKind::Cuda;
  return driver::package_model(std::move(imported.network), target, options).parts;
}

AlignedBuffer copy_of(const AlignedBuffer& buffer) {
  AlignedBuffer copy(buffer.bytes());
  std::memcpy(copy.data(), buffer.data(), static_cast<std::size_t>(buffer.bytes()));
  return copy;
}

}  // namespace

const StandIn& stand_in() {
  static const StandIn functions = [] {
    void* library = ::dlopen(POLYTE_STAND_IN, RTLD_NOW | RTLD_LOCAL);
    POLYTE_CHECK(library != nullptr, std::string("the stand-in driver: ") + ::dlerror());
    StandIn found{};
    find(library, "polyte_stand_in_reset", found.reset);
    find(library, "polyte_stand_in_fail", found.fail);
    find(library, "polyte_stand_in_calls", found.calls);
    find(library, "polyte_stand_in_limit", found.limit);
    find(library, "polyte_stand_in_allocated", found.allocated);
    find(library, "polyte_stand_in_fault", found.fault);
    return found;
  }();
  return functions;
}

const CudaOptions& stand_in_device() {
  static const CudaOptions options{POLYTE_STAND_IN, 0};
  return options;
}

const ArtifactParts& digits_for_cpu(Size size) {
  static const ArtifactParts fixed = compiled(Size::Fixed, codegen::detect_host());
  static const ArtifactParts open = compiled(Size::Open, codegen::detect_host());
  return size == Size::Open ? open : fixed;
}

const ArtifactParts& digits_for_gpu(Size size) {
  static const ArtifactParts fixed =
      compiled(Size::Fixed, {*gpu_machine("h100"), TargetKind::Cuda});
  static const ArtifactParts open = compiled(Size::Open, {*gpu_machine("h100"), TargetKind::Cuda});
  return size == Size::Open ? open : fixed;
}

ArtifactParts copy_of(const ArtifactParts& parts) {
  ArtifactParts copy{parts.manifest, parts.kernels, {}, parts.device, parts.scripts, parts.report};
  for (const AlignedBuffer& constants : parts.constants)
    copy.constants.push_back(copy_of(constants));
  return copy;
}

Session cpu_session(Size size) {
  return Session(Artifact::from_parts(copy_of(digits_for_cpu(size))), {.threads = 1});
}
Session gpu_session(Size size) {
  return Session(Artifact::from_parts(copy_of(digits_for_gpu(size))), {.cuda = stand_in_device()});
}

std::vector<Tensor> inputs_of(const Session& session, int seed, std::int64_t batch) {
  std::vector<Tensor> inputs;
  for (const TensorSpec& spec : session.inputs()) {
    std::vector<std::int64_t> shape = spec.shape;
    std::ranges::replace(shape, kOpenExtent, batch);
    inputs.emplace_back(spec.dtype, shape);
    fill(inputs.back(), parse_fill("normal:" + std::to_string(seed)));
  }
  return inputs;
}

bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) {
    return x.shape() == y.shape() && std::ranges::equal(x.raw(), y.raw());
  });
}

}  // namespace polyte::testing
