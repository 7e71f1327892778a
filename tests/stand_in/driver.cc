// The entry points.
#include <elf.h>

#include <algorithm>
#include <cstring>

#include "support/error.h"
#include "tests/stand_in/driver_state.h"
#include "tests/stand_in/stand_in.h"

using namespace polyte::stand_in;
using polyte::runtime::Bytes;

namespace {

using Address = uint64_t;

Driver& driver() { return Driver::get(); }

// What a function does unless it is to fail; nothing is thrown through it.
template <class F>
int entry(const char* name, F&& does) {
  const std::lock_guard lock(driver().mutex);
  try {
    if (const int result = driver().enter(name)) return std::max(result, static_cast<int>(Success));
    return does();
  } catch (...) {
    return OutOfMemory;
  }
}

// Two devices, as stand_in.h says.
struct Attribute {
  int number, emulated, h100;
};
constexpr Attribute kAttributes[] = {
    {1, 1024, 1024},         // threads per block
    {8, 49152, 49152},       // shared bytes per block
    {12, 65536, 65536},      // registers per block
    {13, 1000000, 1980000},  // kHz
    {16, 2, 132},            // multiprocessors
    {36, 1000000, 2619000},  // memory, kHz
    {37, 64, 5120},          // its bus, bits
    {38, 1 << 20, 52428800},
    {39, 2048, 2048},  // threads per multiprocessor
    {75, 0, 9},        // compute capability
    {76, 0, 0},
    {81, 233472, 233472},  // shared bytes per multiprocessor
    {82, 65536, 65536},    // registers per multiprocessor
    {97, 232448, 232448},  // shared bytes per block that asks for them
};

struct Result {
  int number;
  const char *name, *text;
};
constexpr Result kResults[] = {
    {Success, "CUDA_SUCCESS", "no error"},
    {InvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {InvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {InvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {IllegalState, "CUDA_ERROR_ILLEGAL_STATE",
     "the operation cannot be performed in the present state"},
    {NotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {LaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
};

int find_result(int number, const char** text, const char* Result::* which) {
  const auto* found = std::ranges::find(kResults, number, &Result::number);
  *text = found == std::end(kResults) ? nullptr : found->*which;
  return *text == nullptr ? InvalidValue : Success;
}

// A loader is given no length: a shared object of ours ends with its section headers.
Bytes whole_object(const void* image) {
  Elf64_Ehdr header{};
  std::memcpy(&header, image, SELFMAG);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
  std::memcpy(&header, image, sizeof header);
  return {static_cast<const std::byte*>(image),
          header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize};
}

double now_ms() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

template <class T>
int destroy(const char* name, T* object) {
  return entry(name, [&] {
    delete object;  // NOLINT: handles of a C interface
    return static_cast<int>(Success);
  });
}

// A handle of the program's, or the numbers that stand for the default stream.
Stream& at(Stream* stream) {
  return reinterpret_cast<std::uintptr_t>(stream) <= 2 ? driver().standard : *stream;  // NOLINT
}

std::vector<char> copy_of(const void* from, std::size_t bytes) {
  return {static_cast<const char*>(from), static_cast<const char*>(from) + bytes};
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's
extern "C" {

int cuGetErrorName(int result, const char** text) {
  return find_result(result, text, &Result::name);
}
int cuGetErrorString(int result, const char** text) {
  return find_result(result, text, &Result::text);
}

int cuInit(unsigned) {
  return entry("cuInit", [] { return Success; });
}
int cuDriverGetVersion(int* version) {
  *version = 12080;
  return entry("cuDriverGetVersion", [] { return Success; });
}
int cuDeviceGetCount(int* count) {
  *count = 2;
  return entry("cuDeviceGetCount", [] { return Success; });
}
int cuDeviceGet(int* device, int number) {
  return entry("cuDeviceGet", [&] {
    *device = number;
    return number == 0 || number == 1 ? Success : InvalidDevice;
  });
}
int cuDeviceGetName(char* text, int room, int device) {
  return entry("cuDeviceGetName", [&] {
    std::strncpy(text, device == 0 ? "stand-in" : "stand-in H100", static_cast<std::size_t>(room));
    return Success;
  });
}
int cuDeviceGetAttribute(int* value, int which, int device) {
  return entry("cuDeviceGetAttribute", [&] {
    const auto* found = std::ranges::find(kAttributes, which, &Attribute::number);
    if (found == std::end(kAttributes)) return InvalidValue;
    *value = device == 0 ? found->emulated : found->h100;
    return Success;
  });
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  return entry("cuDeviceTotalMem_v2", [&] {
    *bytes = static_cast<std::size_t>(driver().limit);
    return Success;
  });
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  return entry("cuDevicePrimaryCtxRetain", [&] {
    *context = &driver();
    return Success;
  });
}
int cuDevicePrimaryCtxRelease_v2(int) {
  return entry("cuDevicePrimaryCtxRelease_v2", [] { return Success; });
}
int cuCtxPushCurrent_v2(void*) {
  return entry("cuCtxPushCurrent_v2", [] { return Success; });
}
int cuCtxPopCurrent_v2(void** context) {
  return entry("cuCtxPopCurrent_v2", [&] {
    *context = &driver();
    return Success;
  });
}

int cuMemAlloc_v2(Address* address, std::size_t bytes) {
  return entry("cuMemAlloc_v2",
               [&] { return driver().allocate(*address, static_cast<int64_t>(bytes)); });
}
// What is given back is given back, whatever happened before.
int cuMemFree_v2(Address address) {
  const std::lock_guard lock(driver().mutex);
  const int result = driver().enter("cuMemFree_v2");
  const int freed = driver().release(address);
  return result != 0 ? result : freed;
}
int cuMemAllocHost_v2(void** memory, std::size_t bytes) {
  return entry("cuMemAllocHost_v2",
               [&] { return driver().allocate_host(*memory, static_cast<int64_t>(bytes)); });
}
int cuMemFreeHost(void* memory) {
  const std::lock_guard lock(driver().mutex);
  const int result = driver().enter("cuMemFreeHost");
  driver().release_host(memory);
  return result;
}
int cuMemHostGetDevicePointer_v2(Address* address, void* memory, unsigned) {
  return entry("cuMemHostGetDevicePointer_v2", [&] {
    *address = reinterpret_cast<Address>(memory);  // NOLINT
    return Success;
  });
}

// From memory that is not page-locked: the bytes are taken at once, and arrive when it is
// their turn.
int cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, Stream* stream) {
  return entry("cuMemcpyHtoDAsync_v2", [&]() -> int {
    if (at(stream).capture) return IllegalState;
    if (!driver().is_memory(to, static_cast<int64_t>(bytes))) return InvalidValue;
    Driver::put(at(stream), [to, taken = copy_of(from, bytes)] {
      driver().write(to, taken.data(), static_cast<int64_t>(taken.size()));
      return Success;
    });
    return Success;
  });
}
int cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, Stream* stream) {
  return entry("cuMemcpyDtoHAsync_v2", [&]() -> int {
    if (!driver().is_memory(from, static_cast<int64_t>(bytes))) return InvalidValue;
    Driver::put(at(stream), [=] {
      driver().read(to, from, static_cast<int64_t>(bytes));
      return Success;
    });
    return Success;
  });
}
int cuMemcpyDtoDAsync_v2(Address to, Address from, std::size_t bytes, Stream* stream) {
  return entry("cuMemcpyDtoDAsync_v2", [&]() -> int {
    const auto count = static_cast<int64_t>(bytes);
    if (!driver().is_memory(to, count) || !driver().is_memory(from, count)) return InvalidValue;
    Driver::put(at(stream), [=] {
      driver().copy(to, from, count);
      return Success;
    });
    return Success;
  });
}
int cuMemsetD32Async(Address to, unsigned value, std::size_t words, Stream* stream) {
  return entry("cuMemsetD32Async", [&]() -> int {
    const auto bytes = static_cast<int64_t>(4 * words);
    if (!driver().is_memory(to, bytes)) return InvalidValue;
    Driver::put(at(stream), [=] {
      const std::vector<unsigned> values(words, value);
      driver().write(to, values.data(), bytes);
      return Success;
    });
    return Success;
  });
}

int cuStreamCreate(Stream** stream, unsigned) {
  return entry("cuStreamCreate", [&] {
    *stream = new Stream;  // NOLINT
    driver().streams.push_back(*stream);
    return Success;
  });
}
int cuStreamDestroy_v2(Stream* stream) {
  const std::lock_guard lock(driver().mutex);
  std::erase(driver().streams, stream);
  return destroy("cuStreamDestroy_v2", stream);
}
int cuStreamSynchronize(Stream* stream) {
  return entry("cuStreamSynchronize", [&] { return driver().drain(at(stream)); });
}
int cuStreamWaitEvent(Stream* stream, Event* event, unsigned) {
  return entry("cuStreamWaitEvent", [&] {
    Driver::put(at(stream), [event, last = event->recorded] {
      return event->come_by < last ? kNotYet : +Success;
    });
    return Success;
  });
}
int cuStreamBeginCapture_v2(Stream* stream, int) {
  return entry("cuStreamBeginCapture_v2", [&]() -> int {
    if (at(stream).capture) return IllegalState;
    at(stream).capture.emplace();
    return Success;
  });
}
int cuStreamEndCapture(Stream* stream, Graph** graph) {
  return entry("cuStreamEndCapture", [&]() -> int {
    if (!at(stream).capture) return IllegalState;
    *graph = new Graph(*std::move(at(stream).capture));  // NOLINT
    at(stream).capture.reset();
    return Success;
  });
}
int cuGraphInstantiateWithFlags(Graph** executable, const Graph* graph, unsigned long long) {
  return entry("cuGraphInstantiateWithFlags", [&] {
    *executable = new Graph(*graph);  // NOLINT
    return Success;
  });
}
int cuGraphLaunch(const Graph* executable, Stream* stream) {
  return entry("cuGraphLaunch", [&] {
    for (const Operation& operation : executable->operations) Driver::put(at(stream), operation);
    return Success;
  });
}
int cuGraphExecDestroy(Graph* executable) { return destroy("cuGraphExecDestroy", executable); }
int cuGraphDestroy(Graph* graph) { return destroy("cuGraphDestroy", graph); }

int cuEventCreate(Event** event, unsigned) {
  return entry("cuEventCreate", [&] {
    *event = new Event;  // NOLINT
    return Success;
  });
}
int cuEventRecord(Event* event, Stream* stream) {
  return entry("cuEventRecord", [&] {
    event->stream = &at(stream);
    ++event->recorded;
    Driver::put(at(stream), [event] {
      ++event->come_by;
      event->milliseconds = now_ms();
      return Success;
    });
    return Success;
  });
}
int cuEventSynchronize(Event* event) {
  return entry("cuEventSynchronize", [&] {
    const auto stream = std::ranges::find(driver().streams, event->stream);
    return stream != driver().streams.end() ? driver().drain(**stream) : +Success;
  });
}
int cuEventElapsedTime(float* milliseconds, const Event* from, const Event* to) {
  return entry("cuEventElapsedTime", [&] {
    *milliseconds = static_cast<float>(to->milliseconds - from->milliseconds);
    return Success;
  });
}
// Streams may still come by it: it goes with the driver.
int cuEventDestroy_v2(Event* event) {
  return entry("cuEventDestroy_v2", [&] {
    driver().retired.emplace_back(event);
    return Success;
  });
}

int cuModuleLoadData(Module** module, const void* image) {
  return entry("cuModuleLoadData", [&]() -> int {
    try {
      auto library =
          std::make_unique<polyte::runtime::SharedLibrary>(whole_object(image), "stand-in module");
      *module = new Module{std::move(library)};  // NOLINT
      return Success;
    } catch (const polyte::UserError&) {
      return InvalidImage;
    }
  });
}
int cuModuleUnload(Module* module) { return destroy("cuModuleUnload", module); }
int cuModuleGetFunction(Function** function, Module* module, const char* name) {
  return entry("cuModuleGetFunction", [&]() -> int {
    const void* description = module->library->find(std::string(name) + POLYTE_LAUNCH_SUFFIX);
    if (description == nullptr) return NotFound;
    *function =
        &module->functions.emplace_back(Function{static_cast<const polyte_launch*>(description)});
    return Success;
  });
}
int cuFuncSetAttribute(Function* function, int which, int value) {
  return entry("cuFuncSetAttribute", [&]() -> int {
    if (which != 8 || value > 232448) return InvalidValue;
    function->shared_limit = value;
    return Success;
  });
}
int cuLaunchKernel(const Function* function, unsigned x, unsigned y, unsigned z, unsigned threads_x,
                   unsigned threads_y, unsigned threads_z, unsigned shared, Stream* stream,
                   void** parameters, void**) {
  return entry("cuLaunchKernel", [&]() -> int {
    const polyte_launch& launch = *function->description;
    if (threads_x != launch.threads || threads_y != 1 || threads_z != 1 ||
        shared != launch.shared_bytes || shared > function->shared_limit || x == 0 || y == 0 ||
        z == 0 || y > 65535 || z > 65535)
      return InvalidValue;
    std::vector<uint64_t> arguments(static_cast<std::size_t>(launch.arguments));
    for (std::size_t i = 0; i < arguments.size(); ++i)
      std::memcpy(&arguments[i], parameters[i], sizeof(uint64_t));
    Driver::put(at(stream), [&launch, x, y, z, arguments] {
      const int64_t grid[] = {x, y, z};
      return driver().run_kernel(launch, grid, arguments);
    });
    return Success;
  });
}

void polyte_stand_in_reset() { driver().reset(); }
void polyte_stand_in_fail(const char* name, int64_t nth, int result) {
  driver().fail(name, nth, result);
}
int64_t polyte_stand_in_calls(const char* name) { return driver().calls(name); }
void polyte_stand_in_limit(int64_t bytes) { driver().limit = bytes; }
int64_t polyte_stand_in_allocated() { return driver().allocated; }
const char* polyte_stand_in_fault() { return driver().fault.c_str(); }
}
// NOLINTEND(readability-identifier-naming)
