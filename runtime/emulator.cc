#include "runtime/emulator.h"

#include <algorithm>

#include "runtime/emulator_state.h"
#include "support/error.h"
#include "support/system_error.h"

namespace polyte::runtime {

// makecontext passes ints only.
void Emulator::State::enter(unsigned low, unsigned high) {
  const auto address = static_cast<std::uintptr_t>(low) | (static_cast<std::uintptr_t>(high) << 32U);
  Fibre& fibre = *reinterpret_cast<Fibre*>(address);  // NOLINT
  State& state = of(fibre);
  state.launch->emulated(&fibre.thread, state.arguments);
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

void Emulator::State::on_meet(polyte_emulated_thread* self, std::int64_t of_warp, std::int64_t place) {
  Fibre& fibre = *reinterpret_cast<Fibre*>(self);  // NOLINT
  fibre.waits = of_warp != 0 ? Waits::ForWarp : Waits::ForBlock;
  fibre.place = place;
  of(fibre).switch_out(fibre);
}

void Emulator::State::on_touch(polyte_emulated_thread* self, const void* address, const polyte_access* access,
                               std::int64_t iteration) {
  Fibre& fibre = *reinterpret_cast<Fibre*>(self);  // NOLINT
  State& state = of(fibre);
  if (state.options.interleave && state.random() % 4 == 0) state.switch_out(fibre);
  state.touch(fibre, static_cast<const char*>(address), *access, iteration);
  if (state.ended) state.end_thread(fibre);
}

void Emulator::State::on_copy(polyte_emulated_thread* self, void* to, const void* from, const polyte_access* write,
                              const polyte_access* read, std::int64_t given, std::int64_t iteration) {
  if (given > 0) on_touch(self, from, read, iteration);
  on_touch(self, to, write, iteration);
  Fibre& fibre = *reinterpret_cast<Fibre*>(self);  // NOLINT
  State& state = of(fibre);
  const Copy copy{static_cast<char*>(to), static_cast<const char*>(from), write->bytes, given};
  Region* region = state.region_of(copy.to, copy.bytes);
  if (region != &state.shared) {
    state.fail(std::string(write->statement) + " copies to " + write->buffer +
               " meanwhile, which is not in shared memory");
    state.end_thread(fibre);
  }
  for (std::int64_t i = 0; i < copy.bytes; ++i)
    region->contents[static_cast<std::size_t>(copy.to + i - region->base)].in_flight = true;
  if (!state.options.late_copies) copy.land();
  fibre.groups.back().push_back(copy);
}

void Emulator::State::on_group(polyte_emulated_thread* self, std::int64_t wait, std::int64_t pending) {
  Fibre& fibre = *reinterpret_cast<Fibre*>(self);  // NOLINT
  if (wait == 0) return fibre.groups.push_back({});
  const auto closed = static_cast<std::int64_t>(fibre.groups.size()) - 1;
  for (std::int64_t i = 0; i < closed - pending; ++i) {
    for (const Copy& copy : fibre.groups.front()) of(fibre).land(fibre, copy);
    fibre.groups.erase(fibre.groups.begin());
  }
}

// Seen by others once they have met.
void Emulator::State::land(Fibre& fibre, const Copy& copy) {
  if (options.late_copies) copy.land();
  for (std::int64_t i = 0; i < copy.bytes; ++i) {
    Byte& byte = shared.contents[static_cast<std::size_t>(copy.to + i - shared.base)];
    byte.in_flight = false;
    byte.write = touch_of(fibre);
  }
}

// --- accesses

Region* Emulator::State::region_of(const char* address, std::int64_t bytes) {
  const auto holds = [&](const Region& r) { return address >= r.base && address + bytes <= r.base + r.bytes; };
  if (holds(shared)) return &shared;
  const auto found = std::ranges::find_if(regions, holds);
  return found == regions.end() ? nullptr : &*found;
}

std::optional<std::string> Emulator::State::conflict(const Touch& before, const Touch& now, bool in_shared) const {
  const std::string here = "thread " + std::to_string(now.thread) + " of block " + std::to_string(block);
  if (before.epoch < block_epochs.front()) return std::nullopt;
  if (before.epoch < block_epochs.back()) {
    if (in_shared) return std::nullopt;
    const auto next = std::ranges::upper_bound(block_epochs, before.epoch);
    return here + " and block " + std::to_string(next - block_epochs.begin() - 1) + " of the same launch";
  }
  if (before.epoch != now.epoch || (before.thread == now.thread && !before.many)) return std::nullopt;
  const bool one_warp = !before.many_warps && before.thread / kWarp == now.thread / kWarp;
  if (one_warp && before.warp_epoch != now.warp_epoch) return std::nullopt;
  return here + " and thread " + (before.many ? "several others" : std::to_string(before.thread)) +
         " with no barrier between them";
}

void Emulator::State::touch(Fibre& fibre, const char* address, const polyte_access& access, std::int64_t iteration) {
  const std::int64_t bytes = access.bytes;
  const bool write = access.write != 0;
  const auto what = [&] {
    return std::string(access.statement) + (write ? " writes " : " reads ") + access.buffer + " (access " +
           std::to_string(access.place) + ")";
  };
  if (reinterpret_cast<const std::int32_t*>(address) == &status) return;  // NOLINT: it may be noted by all
  const char* const stack = stacks.at(static_cast<std::size_t>(fibre.thread.thread));
  if (address >= stack && address + bytes <= stack + FibreStacks::kBytes)
    return;  // the thread's own, by a vector of addresses
  Region* region = region_of(address, bytes);
  if (!region) {
    fail(what() + ", thread " + std::to_string(fibre.thread.thread) + ": outside of all memory");
    return;
  }
  if ((address - region->base) % access.alignment != 0) {
    fail(what() + " at " + region->name + " + " + std::to_string(address - region->base) + ": not a multiple of " +
         std::to_string(access.alignment) + " bytes");
    return;
  }
  if (options.count_accesses)
    counter->add(access, iteration, fibre.thread.thread, region == &shared, address - region->base);
  const Touch now = touch_of(fibre);
  for (std::int64_t i = 0; i < bytes; ++i) {
    const std::int64_t at = address + i - region->base;
    Byte& byte = region->contents[static_cast<std::size_t>(at)];
    const auto report = [&](const std::string& text) {
      fail(what() + " at " + region->name + " + " + std::to_string(at) + ": " + text);
    };
    if (byte.in_flight) return report("it is being copied meanwhile, and nobody has waited for it");
    if (!write && !byte.defined) return report("never written");
    auto race = conflict(byte.write, now, region == &shared);
    if (!race && write) race = conflict(byte.read, now, region == &shared);
    if (race) return report("race of " + *race);
    if (write) {
      byte.write = now;
      byte.defined = true;
    } else if (byte.read.epoch == now.epoch && !is_before_warp_met(byte.read, now)) {
      const bool other = byte.read.thread != now.thread;
      byte.read.many_warps = byte.read.many_warps || byte.read.thread / kWarp != now.thread / kWarp;
      byte.read.many = byte.read.many || other;
      byte.read.warp_epoch = std::max(byte.read.warp_epoch, now.warp_epoch);
    } else {
      byte.read = now;
    }
  }
}

Touch Emulator::State::touch_of(const Fibre& fibre) const {
  const std::int64_t thread = fibre.thread.thread;
  return {epoch, warp_epochs[static_cast<std::size_t>(thread / kWarp)], static_cast<std::int16_t>(thread)};
}

void Emulator::State::begin_epoch() {
  ++epoch;
  POLYTE_CHECK(epoch != 0, "the emulator has counted all the barriers that it can");
}

// Whatever the warp read before it last met is ordered.
bool Emulator::State::is_before_warp_met(const Touch& before, const Touch& now) {
  return !before.many_warps && before.thread / kWarp == now.thread / kWarp && before.warp_epoch < now.warp_epoch;
}

// --- blocks

std::vector<std::size_t> Emulator::State::order(std::size_t threads) {
  std::vector<std::size_t> result(threads);
  for (std::size_t i = 0; i < threads; ++i) result[i] = options.order == ThreadOrder::Backward ? threads - 1 - i : i;
  if (options.order == ThreadOrder::Random) std::ranges::shuffle(result, random);
  return result;
}

// Warps whose threads all wait go on.
bool Emulator::State::release_warps(LaunchCounts& count) {
  bool any = false;
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

// Called when no thread can run: false once all have ended.
bool Emulator::State::release(LaunchCounts& count) {
  if (std::ranges::all_of(fibres, [](const Fibre& f) { return f.waits == Waits::Done; })) return false;
  if (release_warps(count)) return true;
  if (ended) return false;
  const auto waits_here = [&](const Fibre& f) { return f.waits == Waits::ForBlock && f.place == fibres[0].place; };
  if (!std::ranges::all_of(fibres, waits_here)) {
    fail("threads of a block wait at different barriers, or some have ended");
    return false;
  }
  for (Fibre& fibre : fibres) fibre.waits = Waits::No;
  counter->flush();
  begin_epoch();
  ++count.block_barriers;
  return true;
}

void Emulator::State::run_block(const std::int64_t* number, LaunchCounts& count) {
  const auto threads = static_cast<std::size_t>(launch->threads);
  stacks.grow(threads);
  fibres = std::vector<Fibre>(threads);
  warp_epochs.assign((threads + kWarp - 1) / kWarp, 0);
  begin_epoch();
  block_epochs.push_back(epoch);
  std::ranges::fill(shared_memory, static_cast<char>(0xa5));
  std::ranges::fill(shared.contents, Byte{});
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
                    on_exchange,
                    on_use};
    ::getcontext(&fibre.context);
    fibre.context.uc_stack.ss_sp = stacks.at(i);
    fibre.context.uc_stack.ss_size = FibreStacks::kBytes;
    fibre.context.uc_link = nullptr;
    const auto address = reinterpret_cast<std::uintptr_t>(&fibre);                                         // NOLINT
    ::makecontext(&fibre.context, reinterpret_cast<void (*)()>(enter), 2, static_cast<unsigned>(address),  // NOLINT
                  static_cast<unsigned>(address >> 32U));
  }
  do {
    for (bool ran = true; ran && !ended;) {
      ran = false;
      for (const std::size_t i : order(threads)) {
        if (ended || fibres[i].waits != Waits::No) continue;
        ::swapcontext(&scheduler, &fibres[i].context);
        ran = true;
      }
    }
  } while (!ended && release(count));
  counter->flush();
}

LaunchCounts& Emulator::State::counts_of(const polyte_launch& what) {
  const auto known = std::ranges::find(counts, what.kernel, &LaunchCounts::kernel);
  if (known != counts.end()) return *known;
  return counts.emplace_back(LaunchCounts{what.kernel, 0, 0, what.threads, what.shared_bytes, 0, 0, {}});
}

int Emulator::State::run(const polyte_launch& what, const std::int64_t* grid, const void* const* given) {
  POLYTE_CHECK(what.emulated != nullptr, std::string(what.kernel) + " was compiled for a GPU");
  launch = &what;
  arguments = given;
  ended = false;
  block_epochs.clear();
  LaunchCounts& count = counts_of(what);
  ++count.launches;
  counter = &counters[what.kernel];
  shared_memory.assign(static_cast<std::size_t>(what.shared_bytes) + kSharedAlignment, 0);
  void* aligned = shared_memory.data();
  std::size_t room = shared_memory.size();
  std::align(kSharedAlignment, static_cast<std::size_t>(what.shared_bytes), aligned, room);
  shared = {"shared memory", static_cast<char*>(aligned), what.shared_bytes, {}};
  shared.contents.resize(static_cast<std::size_t>(what.shared_bytes));
  block = 0;
  std::int64_t number[3];
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

void Emulator::add_memory(const std::string& name, void* base, std::int64_t bytes, Defined defined) {
  Region region{name, static_cast<const char*>(base), bytes, {}};
  region.contents.resize(static_cast<std::size_t>(bytes));
  for (Byte& byte : region.contents) byte.defined = defined == Defined::Yes;
  state_->regions.push_back(std::move(region));
}

void Emulator::remove_memory(const void* base) {
  std::erase_if(state_->regions, [&](const Region& region) { return region.base == base; });
}

void Emulator::define(const void* at, std::int64_t bytes) {
  const auto* first = static_cast<const char*>(at);
  Region* region = state_->region_of(first, bytes);
  POLYTE_CHECK(region != nullptr, "no memory of the emulator is there");
  for (std::int64_t i = 0; i < bytes; ++i)
    region->contents[static_cast<std::size_t>(first - region->base + i)].defined = true;
}

polyte_host Emulator::host() {
  polyte_host host{};
  host.size = sizeof host;
  host.workers = 1;
  host.self = state_.get();
  host.launch = [](void* self, const polyte_launch* launch, const std::int64_t* grid, const void* const* arguments) {
    return static_cast<State*>(self)->run(*launch, grid, arguments);
  };
  host.device_status = &state_->status;
  return host;
}

int Emulator::status() const { return state_->status; }
const std::vector<std::string>& Emulator::faults() const { return state_->faults; }
const std::vector<LaunchCounts>& Emulator::counts() const { return state_->counts; }

}  // namespace polyte::runtime
