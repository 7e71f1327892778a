// Kernels that tests draw at random, and what each of them has to pass: proved, interpreted as
// loops after every pass, and emulated. All sums are of small whole numbers, so that every bit
// is the reference's.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "tests/gpu/emulate.h"

namespace polyte::gpu::testing {

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  T of(std::initializer_list<T> all) {
    return all.begin()[below(static_cast<int>(all.size()))];
  }

 private:
  std::mt19937 random_;
};

// Calls `drawn` for these seeds, or for POLYTE_SEEDS from POLYTE_FIRST_SEED on, and checks what it
// gives. How many instructions of this prefix the kernels have, all together.
int check_drawn(std::vector<unsigned> seeds, const std::function<KernelFile(unsigned seed)>& drawn,
                const std::string& prefix);

}  // namespace polyte::gpu::testing
