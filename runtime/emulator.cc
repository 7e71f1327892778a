#include "runtime/emulator.h"

#include <algorithm>

#include "runtime/emulator_state.h"
#include "runtime/warpgroup_instructions.h"
#include "support/error.h"
#include "support/system_error.h"

namespace polyte::runtime {
namespace {

constexpr std::size_t kSharedAlignment = 128;  // as the device's code takes it to be
constexpr int kFault = 3;                      // what a launch returns that ended early

}  // namespace

// Entered on the fibre's own stack at its first turn; returns to nobody, so it ends by a last
// switch.
void Emulator::State::enter(void* self) {
  Fibre& fibre = *static_cast<Fibre*>(self);
  State& state = of(fibre);
  state.launch->emulated(&fibre.thread, state.arguments);
  if (!fibre.products.is_idle())
    state.fail("thread " + std::to_string(fibre.thread.thread) + " has ended before its products");
  state.end_thread(fibre);
}

void Emulator::State::end_thread(Fibre& fibre) {
  fibre.waits = Waits::Done;
  switch_out(fibre);
  std::abort();  // nobody resumes it
}

void Emulator::State::fail(const std::string& text) {
  faults.push_back(std::string(launch->kernel) + ": " + text);
  ended = true;
}

// Threads do not wait actively: a thread says what it waits for and switches out, and release()
// lets it go on once all others have come to the same place.
void Emulator::State::on_meet(polyte_emulated_thread* self, std::int64_t of_warp,
                              std::int64_t place) {
  Fibre& fibre = *reinterpret_cast<Fibre*>(self);  // NOLINT
  fibre.waits = of_warp != 0 ? Waits::ForWarp : Waits::ForBlock;
  fibre.place = place;
  of(fibre).switch_out(fibre);
}

// Called by compiled code, through which nothing may be thrown: a fault ends the launch by
// never resuming this fibre again.
std::uint64_t Emulator::State::on_touch(polyte_emulated_thread* self, const void* address,
                                        const polyte_access* access, std::int64_t iteration,
                                        std::uint64_t undefined) {
  Fibre& fibre = *reinterpret_cast<Fibre*>(self);  // NOLINT
  State& state = of(fibre);
  if (address != nullptr) {
    // One access in four gives the turn to another thread, at random: races that need an
    // interleaving within a phase show in values too, not only in the notes.
    if (state.options.interleave && state.random() % 4 == 0) state.switch_out(fibre);
    undefined =
        state.touch(fibre, static_cast<const char*>(address), *access, iteration, undefined);
  } else if (undefined != 0) {
    state.fail(words_of(*access) + " and uses it: never written");
  }
  if (state.ended) state.end_thread(fibre);
  return undefined;
}

// --- accesses

// Wholly inside one region: an access that straddles two is outside of both.
Region* Emulator::State::region_of(const char* address, std::int64_t bytes) {
  const auto holds = [&](const Region& r) {
    return address >= r.base && address + bytes <= r.base + r.bytes;
  };
  if (holds(shared)) return &shared;
  const auto found = std::ranges::find_if(regions, holds);
  return found == regions.end() ? nullptr : &*found;
}

// Why `now` and an earlier touch of the byte race; nothing where they are ordered. Epochs only
// grow, and each block starts a new one, so comparing them answers in turn:
//   before.epoch < block_epochs.front()   an earlier launch, or nobody: ordered
//   before.epoch < block_epochs.back()    an earlier block of this launch: nothing orders blocks,
//                                         but each has shared memory of its own
//   before.epoch != now.epoch             before a barrier of this block: ordered
//   the same warp, another warp_epoch     before a barrier of this warp: ordered
//   else                                  two threads between the same barriers
std::optional<std::string> Emulator::State::conflict(const Touch& before, const Touch& now,
                                                     bool in_shared) const {
  const auto here = [&] {
    return "thread " + std::to_string(now.thread) + " of block " + std::to_string(block);
  };
  if (before.epoch < block_epochs.front()) return std::nullopt;
  if (before.many_blocks) return here() + " and several blocks of the same launch";
  if (before.epoch < block_epochs.back()) {
    if (in_shared) return std::nullopt;
    // The last block that began at or before the touch.
    const auto next = std::ranges::upper_bound(block_epochs, before.epoch);
    return here() + " and block " + std::to_string(next - block_epochs.begin() - 1) +
           " of the same launch";
  }
  if (before.epoch != now.epoch || (before.thread == now.thread && !before.many))
    return std::nullopt;
  const bool one_warp = !before.many_warps && before.thread / kWarp == now.thread / kWarp;
  if (one_warp && before.warp_epoch != now.warp_epoch) return std::nullopt;
  return here() + " and thread " +
         (before.many ? "several others" : std::to_string(before.thread)) +
         " with no barrier between them";
}

// Whether the byte is one that the read may move although nobody has written it. If so its
// element is marked in `undefined`, one bit per element.
bool Emulator::State::is_undefined_move(const polyte_access& access, std::int64_t byte,
                                        std::uint64_t& undefined) {
  if (access.moves == 0) return false;
  undefined |= std::uint64_t{1} << (byte / access.element);
  return true;
}

// Of a thread's own memory (its stack) only undefined copies are watched: no other thread has
// its address. A write with bits puts copies of what was never written there, any other write
// cleans the bytes.
std::uint64_t Emulator::State::touch_own(Fibre& fibre, const char* address,
                                         const polyte_access& access, std::uint64_t undefined) {
  std::uint64_t read = 0;
  for (std::int64_t i = 0; i < access.bytes; ++i) {
    if (access.write != 0 && has_bit(undefined, i / access.element))
      fibre.undefined.insert(address + i);
    if (access.write != 0 && !has_bit(undefined, i / access.element))
      fibre.undefined.erase(address + i);
    if (access.write == 0 && fibre.undefined.contains(address + i) &&
        !is_undefined_move(access, i, read))
      fail(words_of(access) + ", registers: never written");
  }
  return read;
}

// The note of an atomic update, given that of the byte's last write. Updates do not race with
// each other, so that note has to stand for all of them since anybody else could have come
// between: who else updated (many, many_warps, many_blocks), and whether a plain write of this
// block lies below them (on_plain), with which the updates of other blocks race.
Touch Emulator::State::with_others(const Touch& before, Touch now, bool in_shared) const {
  const bool is_ours = before.epoch >= block_epochs.back();
  // What the thread itself wrote plainly just before is no more atomic for its update.
  now.atomic = before.atomic || before.epoch != now.epoch || is_before_warp_met(before, now);
  now.on_plain = !in_shared && is_ours && (!before.atomic || before.on_plain);
  if (!before.atomic || before.epoch < block_epochs.front()) return now;
  now.many_blocks = !in_shared && (before.many_blocks || before.epoch < block_epochs.back());
  if (before.epoch != now.epoch || is_before_warp_met(before, now)) return now;
  now.many = before.many || before.thread != now.thread;
  now.many_warps = before.many_warps || before.thread / kWarp != now.thread / kWarp;
  return now;
}

// Checks one access and notes it, byte by byte. Returns the elements of a read that may move
// them, of those that nobody has written. In this order:
// - own stack, then regions: outside of all memory, wrongly aligned;
// - in flight, or read before it was written;
// - races: any access with the last write, a write also with the last reads; atomics among
//   themselves are in order;
// - the note: a write replaces the last one. Reads of one epoch are merged, because a later
//   write races with any of them, not only with the last.
std::uint64_t Emulator::State::touch(Fibre& fibre, const char* address, const polyte_access& access,
                                     std::int64_t iteration, std::uint64_t undefined) {
  const std::int64_t bytes = access.bytes;
  const bool write = access.write != 0, atomic = access.write == POLYTE_ATOMIC;
  // NOLINTNEXTLINE: it may be noted by all
  if (reinterpret_cast<const std::int32_t*>(address) == &status) return 0;
  const char* const stack = stacks.at(static_cast<std::size_t>(fibre.thread.thread));
  if (address >= stack && address + bytes <= stack + FibreStacks::kBytes)
    return touch_own(fibre, address, access, undefined);
  Region* region = region_of(address, bytes);
  if (!region) {
    fail(words_of(access) + ", thread " + std::to_string(fibre.thread.thread) +
         ": outside of all memory");
    return 0;
  }
  if ((address - region->base) % access.alignment != 0) {
    fail(words_of(access) + " at " + region->name + " + " + std::to_string(address - region->base) +
         ": not a multiple of " + std::to_string(access.alignment) + " bytes");
    return 0;
  }
  if (region->is_noted) return 0;
  if (options.count_accesses)
    counter->add(access, iteration, fibre.thread.thread, region == &shared, address - region->base);
  const Touch now = touch_of(fibre);
  std::uint64_t read = 0;
  for (std::int64_t i = 0; i < bytes; ++i) {
    const std::int64_t at = address + i - region->base;
    Byte& byte = region->contents[at];
    const auto report = [&](const std::string& text) {
      fail(words_of(access) + " at " + region->name + " + " + std::to_string(at) + ": " + text);
      return std::uint64_t{0};
    };
    if (byte.in_flight) return report("it is being copied meanwhile, and nobody has waited for it");
    if ((!write || atomic) && !byte.defined && !is_undefined_move(access, i, read))
      return report("never written");
    const bool in_order = atomic && byte.write.atomic &&
                          (!byte.write.on_plain || byte.write.epoch >= block_epochs.back());
    auto race = in_order ? std::nullopt : conflict(byte.write, now, region == &shared);
    if (!race && write) race = conflict(byte.read, now, region == &shared);
    if (race) return report("race of " + *race);
    if (write && byte.products > 0)
      return report("products are reading it meanwhile, and nobody has waited for them");
    if (write) {
      byte.fences = static_cast<std::uint16_t>(fibre.fences.size());
      byte.write = atomic ? with_others(byte.write, now, region == &shared) : now;
      byte.copied = has_bit(undefined, i / access.element);
      byte.defined = !byte.copied;
    } else if (byte.read.epoch == now.epoch && !is_before_warp_met(byte.read, now)) {
      const bool other = byte.read.thread != now.thread;
      byte.read.many_warps = byte.read.many_warps || byte.read.thread / kWarp != now.thread / kWarp;
      byte.read.many = byte.read.many || other;
      byte.read.warp_epoch = std::max(byte.read.warp_epoch, now.warp_epoch);
    } else {
      byte.read = now;
    }
  }
  return read;
}

// int16_t holds all threads: a block has at most 1,024.
Touch Emulator::State::touch_of(const Fibre& fibre) const {
  const std::int64_t thread = fibre.thread.thread;
  return {epoch, warp_epochs[static_cast<std::size_t>(thread / kWarp)],
          static_cast<std::int16_t>(thread)};
}

void Emulator::State::begin_epoch() {
  ++epoch;
  POLYTE_CHECK(epoch != 0, "the emulator has counted all the barriers that it can");
}

// Whatever the warp read before it last met is ordered.
bool Emulator::State::is_before_warp_met(const Touch& before, const Touch& now) {
  return !before.many_warps && before.thread / kWarp == now.thread / kWarp &&
         before.warp_epoch < now.warp_epoch;
}

// --- blocks

std::vector<std::size_t> Emulator::State::order(std::size_t threads) {
  std::vector<std::size_t> result(threads);
  for (std::size_t i = 0; i < threads; ++i)
    result[i] = options.order == ThreadOrder::Backward ? threads - 1 - i : i;
  if (options.order == ThreadOrder::Random) std::ranges::shuffle(result, random);
  return result;
}

// Lets go on whoever has come together: warpgroups with a product, warps with an instruction,
// warps at a barrier. False where none has, or after a fault.
bool Emulator::State::release_warps(LaunchCounts& count) {
  bool any = false;
  const auto in_product = [](const Fibre& fibre) { return fibre.waits == Waits::ForProduct; };
  for (std::size_t first = 0; first + kWarpgroupThreads <= fibres.size();
       first += kWarpgroupThreads) {
    const auto begin = fibres.begin() + static_cast<std::ptrdiff_t>(first);
    if (!std::all_of(begin, begin + kWarpgroupThreads, in_product)) continue;
    if (!run_product(first)) return false;
    any = true;
  }
  for (std::size_t first = 0; first < fibres.size(); first += kWarp) {
    const std::size_t last = std::min(fibres.size(), first + kWarp);
    const auto all = [&](auto test) {
      return std::all_of(fibres.begin() + static_cast<std::ptrdiff_t>(first),
                         fibres.begin() + static_cast<std::ptrdiff_t>(last), test);
    };
    if (all([](const Fibre& f) { return f.waits == Waits::ForInstruction; })) {
      if (!run_instruction(first)) return false;
      any = true;
      continue;
    }
    if (!all([](const Fibre& f) { return f.waits == Waits::ForWarp; })) continue;
    if (!all([&](const Fibre& f) { return f.place == fibres[first].place; })) {
      fail("threads of a warp wait at different barriers");
      return false;
    }
    for (std::size_t i = first; i < last; ++i) fibres[i].waits = Waits::No;
    ++warp_epochs[first / kWarp];
    ++count.warp_barriers;
    any = true;
  }
  return any;
}

// Called when no thread can run. A block's barrier opens only when all threads of the block
// wait at it; if no smaller group could go on either, this is a deadlock, and a fault: on a GPU
// it would hang. False once all have ended, or after a fault.
bool Emulator::State::release(LaunchCounts& count) {
  if (std::ranges::all_of(fibres, [](const Fibre& f) { return f.waits == Waits::Done; }))
    return false;
  if (release_warps(count)) return true;
  if (ended) return false;
  const auto waits_here = [&](const Fibre& f) {
    return f.waits == Waits::ForBlock && f.place == fibres[0].place;
  };
  if (!std::ranges::all_of(fibres, waits_here)) {
    fail("threads of a block wait at different barriers, or some have ended");
    return false;
  }
  for (Fibre& fibre : fibres) fibre.waits = Waits::No;
  // Accesses are counted between barriers: those of one warp at one place are one request.
  counter->flush();
  begin_epoch();
  ++count.block_barriers;
  return true;
}

// Runs each thread until it waits, in the order of the options, until none can run; then
// release() opens what all have reached. Shared memory begins with bytes that are no likely
// value, and with no byte defined, as on a device.
void Emulator::State::run_block(const std::int64_t* number, LaunchCounts& count) {
  const auto threads = static_cast<std::size_t>(launch->threads);
  stacks.grow(threads);
  fibres = std::vector<Fibre>(threads);
  warp_epochs.assign((threads + kWarp - 1) / kWarp, 0);
  begin_epoch();
  block_epochs.push_back(epoch);
  std::ranges::fill(shared_memory, static_cast<char>(0xa5));
  shared.contents.forget();
  for (std::size_t i = 0; i < threads; ++i) {
    Fibre& fibre = fibres[i];
    fibre.state = this;
    fibre.thread = {static_cast<std::int64_t>(i),
                    {number[0], number[1], number[2]},
                    const_cast<char*>(shared.base),
                    on_meet,
                    on_touch,
                    on_copy,
                    on_group,
                    on_multiply,
                    on_load_matrices,
                    on_multiply_shared,
                    on_product_group,
                    on_fence_products,
                    on_exchange,
                    on_use};
    fibre.control.begin(stacks.at(i), FibreStacks::kBytes, enter, &fibre);
  }
  do {
    for (bool ran = true; ran && !ended;) {
      ran = false;
      for (const std::size_t i : order(threads)) {
        if (ended || fibres[i].waits != Waits::No) continue;
        fibres[i].control.resume();
        ran = true;
      }
    }
  } while (!ended && release(count));
  counter->flush();
}

LaunchCounts& Emulator::State::counts_of(const polyte_launch& what) {
  const auto known = std::ranges::find(counts, what.kernel, &LaunchCounts::kernel);
  if (known != counts.end()) return *known;
  return counts.emplace_back(
      LaunchCounts{what.kernel, 0, 0, what.threads, what.shared_bytes, 0, 0, {}});
}

int Emulator::State::run(const polyte_launch& what, const std::int64_t* grid,
                         const void* const* given) {
  POLYTE_CHECK(what.emulated != nullptr, std::string(what.kernel) + " was compiled for a GPU");
  launch = &what;
  arguments = given;
  ended = false;
  block_epochs.clear();
  LaunchCounts& count = counts_of(what);
  ++count.launches;
  counter = &counters[what.kernel];
  // Room to align by hand: a vector's memory is aligned for max_align_t only.
  shared_memory.assign(static_cast<std::size_t>(what.shared_bytes) + kSharedAlignment, 0);
  void* aligned = shared_memory.data();
  std::size_t room = shared_memory.size();
  std::align(kSharedAlignment, static_cast<std::size_t>(what.shared_bytes), aligned, room);
  shared = {"shared memory", static_cast<char*>(aligned), what.shared_bytes,
            TouchedBytes(what.shared_bytes, false)};
  block = 0;
  std::int64_t number[3];
  // x first, as a GPU numbers its blocks. Blocks run one after another, so that a race between
  // two of them never depends on timing.
  for (number[2] = 0; number[2] < grid[2]; ++number[2])
    for (number[1] = 0; number[1] < grid[1]; ++number[1])
      for (number[0] = 0; number[0] < grid[0] && !ended; ++number[0], ++block) {
        ++count.blocks;
        run_block(number, count);
      }
  count.accesses = counter->counts();
  return ended ? kFault : 0;
}

Emulator::Emulator(EmulatorOptions options) : state_(std::make_unique<State>()) {
  state_->options = options;
  state_->random.seed(options.seed);
}
Emulator::~Emulator() = default;

void Emulator::add_memory(const std::string& name, void* base, std::int64_t bytes,
                          Defined defined) {
  state_->regions.push_back({name, static_cast<const char*>(base), bytes,
                             TouchedBytes(bytes, defined != Defined::No),
                             defined == Defined::StatusWords});
}

void Emulator::remove_memory(const void* base) {
  std::erase_if(state_->regions, [&](const Region& region) { return region.base == base; });
}

void Emulator::define(const void* at, std::int64_t bytes) {
  const auto* first = static_cast<const char*>(at);
  Region* region = state_->region_of(first, bytes);
  POLYTE_CHECK(region != nullptr, "no memory of the emulator is there");
  // For bytes that somebody other than the emulated code wrote. No touch is noted: it happened
  // between launches.
  for (std::int64_t i = 0; i < bytes; ++i) {
    Byte& byte = region->contents[first - region->base + i];
    byte.defined = true;
    byte.copied = false;
  }
}

void Emulator::expect_no_undefined_copy(const void* base) {
  const auto region =
      std::ranges::find(state_->regions, static_cast<const char*>(base), &Region::base);
  POLYTE_CHECK(region != state_->regions.end(), "no memory of the emulator begins there");
  if (const std::optional<std::int64_t> at = region->contents.find_copied())
    state_->faults.push_back(region->name + " + " + std::to_string(*at) +
                             ": at the end a copy of what was never written");
}

polyte_host Emulator::host() {
  polyte_host host{};
  host.size = sizeof host;
  host.workers = 1;
  host.self = state_.get();
  host.launch = [](void* self, const polyte_launch* launch, const std::int64_t* grid,
                   const void* const* arguments) {
    return static_cast<State*>(self)->run(*launch, grid, arguments);
  };
  host.device_status = &state_->status;
  return host;
}

int Emulator::status() const { return state_->status; }
const std::vector<std::string>& Emulator::faults() const { return state_->faults; }
const std::vector<LaunchCounts>& Emulator::counts() const { return state_->counts; }

}  // namespace polyte::runtime
