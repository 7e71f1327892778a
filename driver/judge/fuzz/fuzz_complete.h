// fuzz complete: random scripts with holes on twenty Programs. A completion keeps every pin, is the
// same each time, and computes what the Program does, along every path of judge.h; pins that some
// schedule keeps have one.
#pragma once

#include "driver/judge/fuzz/judge.h"

namespace polyte::fuzz {

struct CompletionCase {
  Case drawn;                 // its script has holes
  codegen::Target target;     // with cores to share loops among, now and then
  bool is_witnessed = false;  // some schedule keeps the pins
};
CompletionCase completion_case(std::uint64_t seed, std::uint64_t run, int native_percent,
                               const codegen::Target& target);

struct CompletionRun {
  Verdict verdict;
  CompletionCase asked;
  schedule::Script completed = {};  // empty where there is none
};
CompletionRun run_completion(std::uint64_t seed, std::uint64_t run, int native_percent,
                             const codegen::Target& target);

}  // namespace polyte::fuzz
