#include "tests/stand_in/driver_state.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace polyte::stand_in {
namespace {

// And no more: allocations begin so far into their first page.
constexpr std::size_t kAlignment = 256;

}  // namespace

// The processor's code may touch the device's memory as long as one of these lives.
class Driver::Open {
 public:
  explicit Open(Driver& driver) : driver_(driver) { protect(PROT_READ | PROT_WRITE); }
  ~Open() { protect(PROT_NONE); }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;

 private:
  Driver& driver_;
  void protect(int how) {
    for (const auto& [address, allocation] : driver_.memory_)
      ::mprotect(allocation.pages, allocation.page_bytes, how);
  }
};

Driver& Driver::get() {
  static Driver driver;
  return driver;
}

int Driver::planned(const std::string& name) {
  ++calls_[name];
  const auto found = failures_.find(name);
  if (found == failures_.end() || --found->second.nth > 0) return Success;
  const int result = found->second.result;
  failures_.erase(found);
  return result;
}

int Driver::enter(const std::string& name) {
  const int result = planned(name);
  return lost_ != 0 ? lost_ : result;
}

void Driver::reset() {
  failures_.clear();
  calls_.clear();
  lost_ = 0;
  limit = int64_t{1} << 40;
  fault.clear();
}

int64_t Driver::calls(const std::string& name) const {
  const auto found = calls_.find(name);
  return found == calls_.end() ? 0 : found->second;
}

int Driver::allocate(uint64_t& address, int64_t bytes) {
  if (bytes <= 0) return InvalidValue;
  if (allocated + bytes > limit) return OutOfMemory;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t total = (kAlignment + static_cast<std::size_t>(bytes) + page - 1) / page * page;
  void* pages = ::mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return OutOfMemory;
  address = reinterpret_cast<uint64_t>(pages) + kAlignment;  // NOLINT
  memory_[address] = {static_cast<char*>(pages), total, bytes};
  allocated += bytes;
  emulator_->add_memory("memory " + std::to_string(memory_.size()),
                        reinterpret_cast<void*>(address),  // NOLINT
                        bytes, runtime::Emulator::Defined::No);
  return Success;
}

int Driver::release(uint64_t address) {
  const auto found = memory_.find(address);
  if (found == memory_.end()) return InvalidValue;
  emulator_->remove_memory(reinterpret_cast<void*>(address));  // NOLINT
  ::munmap(found->second.pages, found->second.page_bytes);
  allocated -= found->second.bytes;
  memory_.erase(found);
  return Success;
}

int Driver::allocate_host(void*& memory, int64_t bytes) {
  memory = std::malloc(static_cast<std::size_t>(bytes));  // NOLINT
  if (memory == nullptr) return OutOfMemory;
  emulator_->add_memory("status words", memory, bytes, runtime::Emulator::Defined::StatusWords);
  return Success;
}

void Driver::release_host(void* memory) {
  emulator_->remove_memory(memory);
  std::free(memory);  // NOLINT
}

bool Driver::is_memory(uint64_t address, int64_t bytes) const {
  auto after = memory_.upper_bound(address);
  if (after == memory_.begin()) return false;
  const auto& [base, allocation] = *--after;
  return address + static_cast<uint64_t>(bytes) <= base + static_cast<uint64_t>(allocation.bytes);
}

void Driver::define(uint64_t at, int64_t bytes) {
  emulator_->define(reinterpret_cast<const void*>(at), bytes);  // NOLINT
}

void Driver::write(uint64_t to, const void* from, int64_t bytes) {
  const Open open(*this);
  std::memcpy(reinterpret_cast<void*>(to), from, static_cast<std::size_t>(bytes));  // NOLINT
  define(to, bytes);
}

void Driver::read(void* to, uint64_t from, int64_t bytes) {
  const Open open(*this);
  std::memcpy(to, reinterpret_cast<const void*>(from), static_cast<std::size_t>(bytes));  // NOLINT
}

void Driver::copy(uint64_t to, uint64_t from, int64_t bytes) {
  const Open open(*this);
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from),  // NOLINT
              static_cast<std::size_t>(bytes));
  define(to, bytes);
}

int Driver::run_kernel(const polyte_launch& launch, const int64_t* grid,
                       const std::vector<uint64_t>& arguments) {
  if (const int result = planned("kernel")) return lost_ = result;
  const Open open(*this);
  std::vector<const void*> places;
  for (const uint64_t& argument : arguments) places.push_back(&argument);
  const polyte_host host = emulator_->host();
  const std::size_t before = emulator_->faults().size();
  if (host.launch(host.self, &launch, grid, places.data()) == 0) return Success;
  fault = emulator_->faults().at(before);
  return lost_ = LaunchFailed;
}

void Driver::put(Stream& stream, Operation operation) {
  if (stream.capture)
    stream.capture->operations.push_back(std::move(operation));
  else
    stream.waiting.push_back(std::move(operation));
}

// What a lost device had still to do never happens: the tensors that it would touch may be gone.
void Driver::lose_waiting() {
  for (Stream* const each : streams) each->waiting.clear();
}

// One operation of each stream after the other: what is not ordered between streams happens in
// a bad order.
int Driver::drain(const Stream& stream) {
  while (!stream.waiting.empty()) {
    bool any = false;
    for (Stream* const each : streams) {
      if (each->waiting.empty()) continue;
      const Operation next = each->waiting.front();
      const int result = next();
      if (result == kNotYet) continue;
      any = true;
      each->waiting.pop_front();
      if (result != Success) {
        if (lost_ != 0) lose_waiting();
        return result;
      }
    }
    if (!any) return IllegalState;
  }
  return Success;
}

}  // namespace polyte::stand_in
