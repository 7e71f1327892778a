#include "runtime/run_profile.h"

#include <chrono>

namespace polyte::runtime {
namespace {

constexpr std::size_t kPartsPerStep = 16;

std::int64_t clock_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

// Stands between the pool and the kernel's body: takes the time around each chunk.
struct Recorder::Call {
  Recorder* recorder;
  polyte_parallel_body body;
  void* context;
  std::uint64_t number;

  static void run(void* self, std::int64_t begin, std::int64_t end, std::int64_t worker) {
    const Call& call = *static_cast<const Call*>(self);
    Span span{call.recorder->steps_.size() - 1, worker, call.recorder->now(), 0};
    call.body(call.context, begin, end, worker);
    span.end_ns = call.recorder->now();
    call.recorder->note(span, call.number);
  }
};

// Memory is taken here, for recording must not allocate while it measures. A lane that is full
// makes its last part longer.
Recorder::Recorder(ThreadPool& pool, std::size_t steps)
    : pool_(pool),
      host_(pool.host()),
      begin_ns_(clock_ns()),
      lanes_(static_cast<std::size_t>(pool.workers())) {
  host_.self = this;
  host_.parallel_for = parallel_for;
  steps_.reserve(steps);
  for (Lane& lane : lanes_) lane.spans.reserve(steps * kPartsPerStep);
}

std::int64_t Recorder::now() const { return clock_ns() - begin_ns_; }

// The chunks that a worker runs of one loop, one after the other, are one part.
void Recorder::note(const Span& span, std::uint64_t call) {
  Lane& lane = lanes_[static_cast<std::size_t>(span.worker)];
  const bool is_full = lane.spans.size() == lane.spans.capacity();
  if (lane.call == call || (is_full && lane.spans.back().step == span.step)) {
    lane.spans.back().end_ns = span.end_ns;
  } else if (!is_full) {
    lane.spans.push_back(span);
    lane.call = call;
  }
}

void Recorder::parallel_for(void* self, polyte_parallel_body body, void* context,
                            std::int64_t begin, std::int64_t end) {
  auto* recorder = static_cast<Recorder*>(self);
  Call call{recorder, body, context, ++recorder->calls_};
  recorder->pool_.parallel_for(Call::run, &call, begin, end);
}

void Recorder::begin_step() { steps_.push_back({steps_.size(), 0, now(), 0}); }
void Recorder::end_step() { steps_.back().end_ns = now(); }

RunProfile Recorder::finish() const {
  RunProfile profile{steps_, {}};
  for (const Lane& lane : lanes_)
    profile.parts.insert(profile.parts.end(), lane.spans.begin(), lane.spans.end());
  return profile;
}

}  // namespace polyte::runtime
