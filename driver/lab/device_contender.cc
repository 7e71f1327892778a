#include "driver/lab/device_contender.h"

#include <algorithm>

#include "driver/package/assemble.h"
#include "runtime/session.h"

namespace polyte::lab {
namespace {

using runtime::CudaMemory;
using runtime::TensorView;

constexpr unsigned kPoison = 0xffffffff;  // not a number, in every type of floating point

// A session and the tensors that it runs on.
class DeviceSet {
 public:
  DeviceSet(const std::shared_ptr<const runtime::Artifact>& artifact, const Interface& interface,
            std::span<runtime::Tensor> tensors, const DeviceClock& clock)
      : clock_(clock), session_(artifact, {.cuda = {.device = clock.device()->number()}}) {
    const runtime::CudaCurrent current(*clock_.device());
    for (std::size_t i = 0; i < interface.size(); ++i) {
      const ir::Role role = interface[i].role;
      if (role == ir::Role::In || role == ir::Role::InOut) add(tensors[i], inputs_, given_);
      if (interface[i].is_written()) add(tensors[i], outputs_, made_);
    }
    upload();
  }

  void start() const { session_.run_on(inputs_, outputs_, clock_.stream()); }

  // As the host's tensors are now, and back; what the kernel leaves out of its outputs is not
  // a number.
  void run() {
    const runtime::CudaCurrent current(*clock_.device());
    upload();
    for (const Copy& copy : made_)
      cuda().set_words(copy.there.get(), kPoison, words(*copy.here), clock_.stream());
    start();
    for (const Copy& copy : made_)
      cuda().copy_to_host(copy.here->data(), copy.there.get(), copy.here->raw().size(),
                          clock_.stream());
    cuda().stream_synchronize(clock_.stream());
    session_.wait();
  }

  void wait() const { session_.wait(); }  // what executions have found

 private:
  struct Copy {
    runtime::Tensor* here;
    CudaMemory there;
  };
  const DeviceClock& clock_;
  runtime::Session session_;
  std::vector<TensorView> inputs_, outputs_;
  std::vector<Copy> given_, made_;

  const runtime::CudaDriver& cuda() const { return clock_.device()->driver(); }
  static std::size_t words(const runtime::Tensor& tensor) { return (tensor.raw().size() + 3) / 4; }

  // Of a multiple of 4 bytes, for set_words counts in words.
  void add(runtime::Tensor& tensor, std::vector<TensorView>& views, std::vector<Copy>& copies) {
    CudaMemory there = runtime::make_cuda_memory(
        clock_.device(), static_cast<std::int64_t>(4 * words(tensor)), "a tensor");
    views.push_back(
        {tensor.dtype(), tensor.shape(), reinterpret_cast<void*>(there.get())});  // NOLINT
    if (there.get() != 0) copies.push_back({&tensor, std::move(there)});
  }

  void upload() const {
    for (const Copy& copy : given_)
      cuda().copy_to_device(copy.there.get(), copy.here->data(), copy.here->raw().size(),
                            clock_.stream());
    cuda().stream_synchronize(clock_.stream());
  }
};

class DeviceContender : public Contender {
 public:
  DeviceContender(Interface interface, ArtifactFor artifact_for, std::shared_ptr<DeviceClock> clock)
      : interface_(std::move(interface)),
        artifact_for_(std::move(artifact_for)),
        clock_(std::move(clock)) {}

  void add_set(std::span<runtime::Tensor> tensors) override {
    sets_.push_back(
        std::make_unique<DeviceSet>(artifact_for_(tensors), interface_, tensors, *clock_));
  }
  void clear_sets() override { sets_.clear(); }
  void run(std::size_t set) override { sets_[set]->run(); }

  // Sets in turn, one per execution: with several of them caches see other memory each time.
  // What the kernels found shows after the clock has stopped.
  std::optional<double> timed(std::int64_t executions, std::int64_t evict) override {
    const auto start = [this] { sets_[next_ = (next_ + 1) % sets_.size()]->start(); };
    const double nanoseconds = evict > 0 ? clock_->cold_nanoseconds_of(executions, start)
                                         : clock_->nanoseconds_of(executions, start);
    for (const std::unique_ptr<DeviceSet>& set : sets_) set->wait();
    return nanoseconds;
  }

 private:
  Interface interface_;
  ArtifactFor artifact_for_;
  std::shared_ptr<DeviceClock> clock_;
  std::vector<std::unique_ptr<DeviceSet>> sets_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Contender> make_device_contender(Interface interface, ArtifactFor artifact_for,
                                                 std::shared_ptr<DeviceClock> clock) {
  return std::make_unique<DeviceContender>(std::move(interface), std::move(artifact_for),
                                           std::move(clock));
}

// One artifact for all sets, unless it has constants.
std::unique_ptr<Contender> make_device_contender(driver::CompiledOperator op,
                                                 const codegen::Target& target,
                                                 std::shared_ptr<DeviceClock> clock) {
  Interface interface = interface_of(*op.built.program);
  const bool has_constants =
      std::ranges::any_of(interface, [](const Slot& slot) { return slot.role == ir::Role::Const; });
  std::shared_ptr<const runtime::Artifact> last;
  return make_device_contender(
      std::move(interface),
      [op = std::make_shared<const driver::CompiledOperator>(std::move(op)), target, has_constants,
       last](std::span<runtime::Tensor> tensors) mutable {
        if (!last || has_constants)
          last = runtime::Artifact::from_parts(driver::assemble(*op, tensors, target));
        return last;
      },
      std::move(clock));
}

}  // namespace polyte::lab
