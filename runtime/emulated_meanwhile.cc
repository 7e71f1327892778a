// Copies to shared memory (cp.async) and products of warpgroups (wgmma), which are there at any
// time up to the wait.
#include "runtime/emulator_state.h"
#include "runtime/warpgroup_instructions.h"

namespace polyte::runtime {

// --- copies

// The accesses are checked when the copy begins, but the bytes are in flight until the thread
// waits for its group: whoever touches them before is at fault. With late_copies they also have
// their old contents until then.
void Emulator::State::on_copy(polyte_emulated_thread* self, void* to, const void* from,
                              const polyte_access* write, const polyte_access* read,
                              std::int64_t given, std::int64_t iteration) {
  on_touch(self, to, write, iteration, given > 0 ? on_touch(self, from, read, iteration, 0) : 0);
  Fibre& fibre = *reinterpret_cast<Fibre*>(self);  // NOLINT
  State& state = of(fibre);
  const AsyncCopy copy{static_cast<char*>(to), static_cast<const char*>(from), write->bytes, given};
  Region* region = state.region_of(copy.to, copy.bytes);
  if (region != &state.shared) {
    state.fail(std::string(write->statement) + " copies to " + write->buffer +
               " meanwhile, which is not in shared memory");
    state.end_thread(fibre);
  }
  for (std::int64_t i = 0; i < copy.bytes; ++i)
    region->contents[copy.to + i - region->base].in_flight = true;
  if (!state.options.late_copies) copy.land();
  fibre.groups.back().push_back(copy);
}

// The open group (the last) does not count as under way until it is closed. Oldest groups are
// done first, as cp.async.wait_group has it.
void Emulator::State::on_group(polyte_emulated_thread* self, std::int64_t wait,
                               std::int64_t pending) {
  Fibre& fibre = *reinterpret_cast<Fibre*>(self);  // NOLINT
  if (wait == 0) return fibre.groups.push_back({});
  const auto closed = static_cast<std::int64_t>(fibre.groups.size()) - 1;
  for (std::int64_t i = 0; i < closed - pending; ++i) {
    for (const AsyncCopy& copy : fibre.groups.front()) of(fibre).land(fibre, copy);
    fibre.groups.erase(fibre.groups.begin());
  }
}

// The thread's wait makes the bytes its own write at this time; other threads are ordered with
// it by the next barrier, as with any write.
void Emulator::State::land(Fibre& fibre, const AsyncCopy& copy) {
  if (options.late_copies) copy.land();
  for (std::int64_t i = 0; i < copy.bytes; ++i) {
    Byte& byte = shared.contents[copy.to + i - shared.base];
    byte.in_flight = false;
    byte.write = touch_of(fibre);
    byte.fences = static_cast<std::uint16_t>(fibre.fences.size());
  }
}

// --- instructions of a warpgroup

void Emulator::State::on_multiply_shared(polyte_emulated_thread* self, const char* instruction,
                                         std::uint64_t a, std::uint64_t b, std::int64_t across,
                                         std::int64_t count, const std::uint32_t* in,
                                         std::uint32_t* out) {
  Fibre& fibre = *reinterpret_cast<Fibre*>(self);  // NOLINT
  fibre.shared_instruction = {instruction, a, b, across, count, in, out};
  fibre.waits = Waits::ForProduct;
  of(fibre).switch_out(fibre);
  if (of(fibre).ended) of(fibre).end_thread(fibre);
}

// The steps are those of wgmma.fence, commit_group and wait_group. After the wait a thread sees
// its registers again, and memory may be written again once all threads of the group have
// waited.
void Emulator::State::on_product_group(polyte_emulated_thread* self, std::int64_t step,
                                       std::int64_t pending, std::int64_t count,
                                       const std::uint32_t* in, std::uint32_t* out) {
  Fibre& fibre = *reinterpret_cast<Fibre*>(self);  // NOLINT
  if (step == 0) fibre.products.is_open = true;
  if (step == 1) fibre.products.commit();
  if (step != 2) return;
  for (const std::shared_ptr<Product>& product : fibre.products.wait(pending))
    for (const std::int64_t byte : product->bytes) --of(fibre).shared.contents[byte].products;
  for (std::int64_t i = 0; i < count; ++i) out[i] = fibre.products.value_of(in[i]);
}

// Fences are counted per thread. A byte notes how many its writer had made before the write, so
// fences[byte.fences] is the first one after it.
void Emulator::State::on_fence_products(polyte_emulated_thread* self) {
  Fibre& fibre = *reinterpret_cast<Fibre*>(self);  // NOLINT
  fibre.fences.push_back(of(fibre).epoch);
}

// Why a product may not read the byte. The asynchronous proxy sees a generic write only after a
// fence of the writer (fence.proxy.async) and a barrier behind that fence: the fence belongs to
// an earlier epoch than this one.
std::optional<std::string> Emulator::State::unreadable(const Byte& byte) const {
  if (byte.in_flight) return "it is being copied meanwhile, and nobody has waited for it";
  if (!byte.defined) return "never written";
  if (byte.write.epoch == epoch) return "written with no barrier behind it";
  const std::vector<std::uint32_t>& fences =
      fibres[static_cast<std::size_t>(byte.write.thread)].fences;
  if (byte.fences >= fences.size() || fences[byte.fences] == epoch)
    return "thread " + std::to_string(byte.write.thread) +
           " wrote it, with no fence between that and a barrier";
  return std::nullopt;
}

// Reads by a product go through no thread, so they are noted as reads by many threads of many
// warps: any write in this epoch races.
bool Emulator::State::read_matrix(const std::vector<std::uint32_t>& addresses,
                                  std::vector<std::uint16_t>& elements, Product& product) {
  for (const std::uint32_t address : addresses) {
    const std::int64_t at = static_cast<std::int64_t>(address) - POLYTE_EMULATED_SHARED;
    std::optional<std::string> why;
    if (at < 0 || at + 2 > shared.bytes) why = "outside of it";
    for (std::int64_t i = at; !why && i < at + 2; ++i) {
      Byte& byte = shared.contents[i];
      why = unreadable(byte);
      byte.read = {epoch, 0, 0, true, true};
      ++byte.products;
      product.bytes.push_back(i);
    }
    if (why) {
      fail("a warpgroup's product reads shared memory + " + std::to_string(at) + ": " + *why);
      return false;
    }
    elements.emplace_back();
    std::memcpy(&elements.back(), shared.base + at, sizeof(std::uint16_t));
  }
  return true;
}

// Once all threads of the group that begins there have come to one.
// The sums are computed at once, from what memory holds now; what is late are the registers
// that get them. No thread may write those bytes meanwhile, so this is what any later time
// would give.
bool Emulator::State::run_product(std::size_t first) {
  const SharedInstruction& what = fibres[first].shared_instruction;
  for (std::size_t i = 0; i < kWarpgroupThreads; ++i) {
    if (!fibres[first + i].shared_instruction.is_same(what)) {
      fail("threads of a warpgroup bring different descriptors");
      return false;
    }
    if (!fibres[first + i].products.is_open) {
      fail(what.name + " before the registers of its sums are handed over");
      return false;
    }
  }
  const auto read = shared_product(what.name, what.a, what.b, what.across);
  if (!read) {
    fail("no instruction " + what.name + " of such descriptors");
    return false;
  }
  const auto product = std::make_shared<Product>();
  product->columns = read->columns;
  product->threads = kWarpgroupThreads;
  std::vector<std::uint16_t> a, b;
  if (!read_matrix(read->a, a, *product) || !read_matrix(read->b, b, *product)) return false;
  product->sums = sums_of(*read, a, b);
  for (std::size_t i = 0; i < kWarpgroupThreads; ++i) {
    Fibre& fibre = fibres[first + i];
    fibre.products.begin(product, static_cast<int>(i), what.count, fibre.shared_instruction.in,
                         fibre.shared_instruction.out, options.late_copies);
    fibre.waits = Waits::No;
  }
  return true;
}

}  // namespace polyte::runtime
