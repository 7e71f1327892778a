#include "ir/warp_memory.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <tuple>

#include "ir/memory_cost.h"
#include "ir/warp_steps.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::ir {
namespace {

constexpr std::size_t kWarp = 32;

using Lanes32 = std::array<std::int64_t, kWarp>;
using Mask = std::uint32_t;

bool runs(Mask mask, std::size_t lane) { return (mask >> lane & 1U) != 0; }

// Walks the loops once per warp, with the values of all 32 lanes side by side: a variable is an
// array of 32 numbers, a condition a mask, as on the hardware. Where Representative walks fewer
// iterations than there are, `weight_` scales what is counted in them.
class WarpRunner {
 public:
  WarpRunner(const std::map<std::string, std::size_t>& slots, const Values& sizes, Extent extent)
      : extent_(extent) {
    values_.resize(slots.size());
    for (const auto& [name, size] : sizes)
      if (const auto at = slots.find(name); at != slots.end()) values_[at->second].fill(size);
  }

  std::vector<WalkedLaunch> launches;

  // Outside of blocks: one value for all.
  void host(const WarpStep& step, const std::map<const WarpStep*, std::size_t>& numbers) {
    if (step.kind == WarpStep::Loop && step.loop_kind == LoopKind::Block) {
      current_ = &found_[numbers.at(&step)];
      done_ = &work_[numbers.at(&step)];
      done_->launches += weight_;
      return blocks(step);
    }
    const auto below = [&] {
      for (const WarpStep& child : step.body) host(child, numbers);
    };
    if (step.kind == WarpStep::Branch && !runs(where(step.tests, 1), 0)) return;
    if (step.kind == WarpStep::Loop)
      return serial(step, 1, extent_ == Extent::All ? kAll : 1, [&](Mask) { below(); });
    below();
  }

  void finish(std::size_t count) {
    launches.resize(count);
    for (const auto& [number, accesses] : found_)
      for (const auto& [key, access] : accesses) launches[number].accesses.push_back(access);
    for (const auto& [number, done] : work_) launches[number].work = done;
  }

 private:
  using Found = std::map<std::tuple<std::string, std::string, bool>, MemoryAccess>;
  static constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  Extent extent_;
  std::vector<Lanes32> values_;
  std::map<std::size_t, Found> found_;
  std::map<std::size_t, LaunchWork> work_;
  Found* current_ = nullptr;
  LaunchWork* done_ = nullptr;
  double weight_ = 1;                    // iterations that this one stands for
  std::int64_t warp_ = 0, threads_ = 0;  // of the block, as far as seen

  Lanes32 at(const SlotValue& v) const {
    Lanes32 result;
    result.fill(v.constant);
    for (const auto& [slot, coefficient] : v.terms)
      for (std::size_t lane = 0; lane < kWarp; ++lane)
        result[lane] += coefficient * values_[slot][lane];
    for (const SlotValue::Division& division : v.divisions) {
      const Lanes32 numerator = at(division.numerator);
      for (std::size_t lane = 0; lane < kWarp; ++lane)
        result[lane] +=
            division.coefficient * polyte::floor_div(numerator[lane], division.denominator);
    }
    return result;
  }

  Mask where(const std::vector<SlotTest>& tests, Mask mask) const {
    for (const SlotTest& test : tests) {
      const Lanes32 value = at(test.value);
      for (std::size_t lane = 0; lane < kWarp; ++lane)
        if (!(test.equality ? value[lane] == 0 : value[lane] >= 0)) mask &= ~(1U << lane);
    }
    return mask;
  }

  // Of each lane: the maximum of its lower and the minimum of its upper bounds.
  std::pair<Lanes32, Lanes32> bounds(const WarpStep& loop) const {
    std::pair<Lanes32, Lanes32> result{at(loop.lower[0]), at(loop.upper[0])};
    for (const SlotValue& bound : loop.lower) {
      const Lanes32 value = at(bound);
      for (std::size_t lane = 0; lane < kWarp; ++lane)
        result.first[lane] = std::max(result.first[lane], value[lane]);
    }
    for (const SlotValue& bound : loop.upper) {
      const Lanes32 value = at(bound);
      for (std::size_t lane = 0; lane < kWarp; ++lane)
        result.second[lane] = std::min(result.second[lane], value[lane]);
    }
    return result;
  }

  template <class Body>
  // From the least begin to the greatest end of all lanes that run; a lane takes part in the
  // iterations within its own bounds. Of more than `most` iterations the first ones are walked,
  // and stand for the rest: what is counted in them has the weight of all.
  void serial(const WarpStep& loop, Mask mask, std::int64_t most, const Body& body) {
    const auto [lower, upper] = bounds(loop);
    std::int64_t first = std::numeric_limits<std::int64_t>::max(),
                 last = std::numeric_limits<std::int64_t>::min();
    for (std::size_t lane = 0; lane < kWarp; ++lane) {
      if (!runs(mask, lane)) continue;
      first = std::min(first, lower[lane]);
      last = std::max(last, upper[lane]);
    }
    if (first >= last) return;
    const double outside = weight_;
    weight_ *= std::max(1.0, static_cast<double>(last - first) / static_cast<double>(most));
    for (std::int64_t i = first; i < last && i - first < most; ++i) {
      Mask inside = mask;
      for (std::size_t lane = 0; lane < kWarp; ++lane)
        if (i < lower[lane] || i >= upper[lane]) inside &= ~(1U << lane);
      values_[loop.slot].fill(i);
      if (inside != 0) body(inside);
    }
    weight_ = outside;
  }

  // How many threads a block has is not known beforehand: loops of threads inside say it. The walk
  // of warp 0 meets all of them and raises `threads_`, which the loop over warps reads again each
  // time.
  void blocks(const WarpStep& step) {
    if (step.kind == WarpStep::Loop && step.loop_kind == LoopKind::Block)
      return serial(step, 1, extent_ == Extent::All ? kAll : 1, [&](Mask) {
        for (const WarpStep& child : step.body) blocks(child);
      });
    // One step that is no loop of blocks: the body of the innermost.
    done_->blocks += weight_;
    threads_ = 1;
    for (warp_ = 0; warp_ * kLanes < threads_; ++warp_) block(step, false);
  }

  // What no loop of threads holds runs on one thread: thread 0 of the block, or lane 0 of each warp
  // inside a loop of warps.
  void block(const WarpStep& step, bool in_warp) {
    if (!step.has_threads) {
      if (in_warp || warp_ == 0) thread(step, 1);
      return;
    }
    const auto below = [&](bool warps) {
      for (const WarpStep& child : step.body) block(child, warps);
    };
    if (step.kind == WarpStep::Branch) {
      if (runs(where(step.tests, 1), 0)) below(in_warp);
    } else if (step.kind != WarpStep::Loop) {
      below(in_warp);
    } else if (is_of_threads(step.loop_kind)) {
      threads(step, in_warp);
    } else {
      serial(step, 1, extent_ == Extent::All ? kAll : 2, [&](Mask) { below(in_warp); });
    }
  }

  void threads(const WarpStep& loop, bool in_warp) {
    const auto [lower, upper] = bounds(loop);
    // A warp's number has one value for all its lanes; a thread's is 32 * warp + lane.
    if (loop.loop_kind == LoopKind::Warp) {
      threads_ = std::max(threads_, upper[0] * kLanes);
      if (warp_ < lower[0] || warp_ >= upper[0]) return;
      values_[loop.slot].fill(warp_);
      for (const WarpStep& child : loop.body) block(child, true);
      return;
    }
    threads_ = std::max(threads_, in_warp ? 1 : upper[0]);
    Mask mask = 0;
    for (std::size_t lane = 0; lane < kWarp; ++lane) {
      const std::int64_t number = static_cast<std::int64_t>(lane) + (in_warp ? 0 : warp_ * kLanes);
      values_[loop.slot][lane] = number;
      if (number >= lower[0] && number < upper[0]) mask |= 1U << lane;
    }
    if (mask == 0) return;
    for (const WarpStep& child : loop.body) thread(child, mask);
  }

  void thread(const WarpStep& step, Mask mask) {
    const auto below = [&](Mask inside) {
      for (const WarpStep& child : step.body) thread(child, inside);
    };
    if (step.kind == WarpStep::Access) return access(step, where(step.tests, mask));
    if (step.kind == WarpStep::Work) {
      done_->instructions += weight_ * step.instructions;
      done_->chained += weight_ * step.chained;
      done_->products += weight_ * step.products;
      return;
    }
    if (step.kind == WarpStep::Loop)
      return serial(step, mask, extent_ == Extent::All ? kAll : 64, below);
    if (step.kind == WarpStep::Branch) mask = where(step.tests, mask);
    if (mask != 0) below(mask);
  }

  // A request of 8 bytes per thread in shared memory is served for 16 lanes at a time, of 16 bytes
  // for 8: a wavefront moves 32 words of 4 bytes at most. Each group pays for its own bank
  // conflicts.
  void access(const WarpStep& step, Mask mask) {
    if (mask == 0 || (step.overwritten && *step.overwritten)) return;
    MemoryAccess& a = (*current_)[{step.statement, step.buffer, step.write}];
    const std::int64_t bytes = step.lanes * step.element_bytes;
    a.statement = step.statement;
    a.buffer = step.buffer;
    a.write = step.write;
    a.shared = step.shared;
    a.known = a.known && step.known;
    a.bytes = std::max(a.bytes, bytes);
    ++a.requests;
    done_->requests += weight_;
    // A store or an asynchronous copy does not hold up the thread.
    if (!step.shared && !step.async && !step.write) done_->far_requests += weight_;
    if (!step.known) {  // as if each thread went to a sector of its own
      if (!step.shared) done_->sectors += weight_ * std::popcount(mask);
      return;
    }
    const std::int64_t cost_before = a.cost;
    const Lanes32 place = at(step.place);
    const std::size_t served =
        step.shared && bytes > kWord ? kWarp / static_cast<std::size_t>(bytes / kWord) : kWarp;
    for (std::size_t first = 0; first < kWarp; first += served) {
      std::vector<std::int64_t> offsets;
      for (std::size_t lane = first; lane < first + served; ++lane)
        if (runs(mask, lane))
          offsets.push_back(place_of(step.swizzle, step.element_bytes, place[lane]) *
                            step.element_bytes);
      if (offsets.empty()) continue;
      a.cost += step.shared ? wavefronts(offsets, bytes) : count_pieces(offsets, bytes, kSector);
      a.ideal += step.shared ? 1 : ceil_div(count_pieces(offsets, bytes, 1), kSector);
    }
    (step.shared ? done_->wavefronts : done_->sectors) +=
        weight_ * static_cast<double>(a.cost - cost_before);
  }
};

// Loops of blocks are numbered by their place in the program: the walk meets one of them once
// per iteration of the host's loops around it.
void number_launches(const WarpStep& step, std::map<const WarpStep*, std::size_t>& numbers) {
  if (step.kind == WarpStep::Loop && step.loop_kind == LoopKind::Block) {
    numbers.emplace(&step, numbers.size());
    return;
  }
  for (const WarpStep& child : step.body) number_launches(child, numbers);
}

}  // namespace

std::vector<WalkedLaunch> launches_of(const LoopProgram& program, const Values& sizes,
                                      Extent extent) {
  for (const std::string& param : program.params)
    POLYTE_CHECK(sizes.contains(param), "launches_of: no value of '" + param + "'");
  const WarpSteps steps = warp_steps(program);
  std::map<const WarpStep*, std::size_t> numbers;
  number_launches(steps.root, numbers);
  WarpRunner runner(steps.slots, sizes, extent);
  runner.host(steps.root, numbers);
  runner.finish(numbers.size());
  return std::move(runner.launches);
}

}  // namespace polyte::ir
