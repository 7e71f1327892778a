// fuzz complete: random scripts with holes on twenty Programs. A completion keeps every pin, is the same each time, and
// computes what the Program does, down every road of judge.h; pins that some schedule keeps have one.
#pragma once

#include <optional>

#include "driver/judge/fuzz/judge.h"

namespace polyte::fuzz {

struct CompletionRun {
  Verdict verdict;
  schedule::Script partial;
  Case completed;             // its script is empty where there is none
  bool is_witnessed = false;  // some schedule keeps the pins
};

CompletionRun run_completion(std::uint64_t seed, std::uint64_t run, int native_percent, const codegen::Target& target);

}  // namespace polyte::fuzz
