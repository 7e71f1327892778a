#include "codegen/nvptx/assembler_report.h"

#include <algorithm>
#include <sstream>

namespace polyte::codegen {
namespace {

// The number before a word: "16 bytes spill stores" and "spill stores" give 16.
int number_before(const std::string& line, const std::string& words) {
  const std::size_t at = line.find(words);
  if (at == std::string::npos) return 0;
  std::size_t begin = at;
  while (begin > 0 && line[begin - 1] == ' ') --begin;
  const std::size_t end = begin;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  return begin == end ? 0 : std::stoi(line.substr(begin, end - begin));
}

}  // namespace

// The text of `ptxas -v`, by kernel:
//
//   ptxas info : Compiling entry function 'k' for 'sm_90a'
//       0 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads
//   ptxas info : Used 255 registers, ...
void read_report(const std::string& log, DeviceBinary& binary) {
  std::stringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (const std::size_t at = line.find("Compiling entry function '"); at != std::string::npos) {
      const std::size_t begin = line.find('\'', at) + 1;
      binary.kernels.push_back({line.substr(begin, line.find('\'', begin) - begin)});
      continue;
    }
    // C75..: ptxas serializes products of a warpgroup, and says so as mere information.
    if (line.find("warning") != std::string::npos || line.find("C75") != std::string::npos)
      binary.messages.push_back(line);
    if (binary.kernels.empty()) continue;
    DeviceBinary::Kernel& kernel = binary.kernels.back();
    kernel.registers = std::max(kernel.registers, number_before(line, "registers"));
    kernel.stack_bytes = std::max(kernel.stack_bytes, number_before(line, "bytes stack frame"));
    kernel.spill_store_bytes =
        std::max(kernel.spill_store_bytes, number_before(line, "bytes spill stores"));
    kernel.spill_load_bytes =
        std::max(kernel.spill_load_bytes, number_before(line, "bytes spill loads"));
  }
}

}  // namespace polyte::codegen
