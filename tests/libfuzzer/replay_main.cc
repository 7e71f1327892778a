// Runs one input of the importer's fuzzer without sanitizers and prints how many seconds of CPU
// time it took.
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

// NOLINTBEGIN(readability-identifier-naming): libFuzzer calls them so
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// NOLINTEND(readability-identifier-naming)

int main(int argc, char** argv) {
  std::ifstream file(argc == 2 ? argv[1] : "", std::ios::binary);
  if (!file) {
    std::cerr << "usage: polyte_replay_import FILE\n";
    return 2;
  }
  const std::string input{std::istreambuf_iterator<char>(file), {}};
  LLVMFuzzerInitialize(&argc, &argv);
  const std::clock_t start = std::clock();
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  std::cout << static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC << "\n";
  return 0;
}
