// Overflows an integer: under the sanitizers it ends there, and fails; else it prints a
// number and passes.
#include <cstdio>
#include <limits>

int main(int count, char** /*arguments*/) {
  std::printf("%d\n", std::numeric_limits<int>::max() + count);
}
