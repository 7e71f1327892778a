// Products that a thread of the emulator has under way (wgmma): registers whose sums are not there
// before its wait, and memory that is being read meanwhile. Internal.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace polyte::runtime {

// One instruction of a warpgroup, of all its threads.
struct Product {
  int columns = 0;
  std::vector<double> sums;         // row after row
  std::vector<std::int64_t> bytes;  // of shared memory that it reads, by their places
  int threads = 0;                  // that have not waited for it yet
};

class ThreadProducts {
 public:
  bool is_open = false;  // registers are handed over (wgmma.fence)

  // Adds the thread's part of the sums to registers. Late: `out` are tokens until the wait.
  void begin(std::shared_ptr<Product> product, int thread, std::int64_t count,
             const std::uint32_t* in, std::uint32_t* out, bool late);
  void commit() { groups_.emplace_back(); }
  // Until at most so many groups are under way; those that nobody reads memory for any more.
  std::vector<std::shared_ptr<Product>> wait(std::int64_t pending);
  std::uint32_t value_of(std::uint32_t bits) const;  // of a register: of a token, its sum
  bool is_idle() const { return groups_.size() == 1 && groups_.front().empty(); }

 private:
  struct Begun {
    std::shared_ptr<Product> product;
    int thread = 0;
    std::vector<std::uint32_t> in, tokens;
  };
  std::vector<std::vector<Begun>> groups_ = {{}};  // oldest first; the last one is still open
  std::map<std::uint32_t, std::uint32_t> sums_;    // of tokens
  std::uint32_t tokens_ = 0;

  static std::uint32_t sum(const Product& product, int thread, std::size_t reg, std::uint32_t in);
};

}  // namespace polyte::runtime
