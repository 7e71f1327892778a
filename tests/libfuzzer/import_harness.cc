// Import and shape inference of any bytes: a graph that verifies, or a UserError that says
// something in printable words. Anything else, a sanitizer's finding, a second or half a gigabyte
// is a fault (tools/fuzz_import sets the limits; inputs that take a second of CPU time here are
// kept in $POLYTE_SLOW_INPUTS). Graph passes are not run: they see graphs that were verified, and
// `polyte fuzz graph` has them.
#include <google/protobuf/stubs/logging.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "frontend/onnx_import.h"
#include "support/error.h"

namespace {

using polyte::ExitStatus;
using polyte::UserError;

[[noreturn]] void fault(const std::string& what) {
  std::fprintf(stderr, "fault: %s\n", what.c_str());
  std::abort();
}

void check_answer(const UserError& error) {
  const bool is_answer = error.status() == ExitStatus::InvalidInput ||
                         error.status() == ExitStatus::Unsupported ||
                         error.status() == ExitStatus::ResourceLimit;
  if (!is_answer)
    fault("a UserError of status " + std::to_string(static_cast<int>(error.status())));
  if (error.problems().empty()) fault("a UserError without problems");
  for (const std::string& problem : error.problems()) {
    if (problem.empty()) fault("an empty problem");
    for (const char c : problem)
      if (static_cast<unsigned char>(c) < 0x20) fault("a control character in a message");
  }
}

// Of this thread: other work on the machine does not count.
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Kept for tools/fuzz_import, which asks a build without sanitizers.
void keep_slow(std::string_view input) {
  const char* folder = std::getenv("POLYTE_SLOW_INPUTS");
  if (!folder) return;
  const std::string name = "slow-" + std::to_string(std::hash<std::string_view>()(input));
  std::ofstream(std::filesystem::path(folder) / name, std::ios::binary) << input;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): libFuzzer calls them so
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);  // names that are no UTF-8 are what is tried
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  polyte::frontend::ImportOptions options;
  options.max_tensor_bytes = std::int64_t{1} << 24;
  options.max_made_bytes = std::int64_t{1} << 26;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const double start = cpu_seconds();
  try {
    polyte::frontend::import_onnx_bytes(input, "m.onnx", "/nonexistent", options);
  } catch (const UserError& error) {
    check_answer(error);
  } catch (const std::exception& error) {
    fault(error.what());
  }
  if (cpu_seconds() - start >= 1) keep_slow(input);
  return 0;
}
// NOLINTEND(readability-identifier-naming)
