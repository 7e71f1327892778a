// A compiled kernel as a file: what a process needs to run it, and what it says of itself. A
// zip with the XXH3-128 of every member in its manifest; written beside its name and renamed, so
// that nobody sees a part of it. It holds machine code: who loads one trusts whoever wrote it, as
// with a shared library.
#pragma once

#include <string>

#include "driver/api/polyte.h"
#include "driver/compile/operator.h"

namespace polyte::api {

// What is said of a kernel: all that is left of its State, Script and loops once it comes from
// a file.
struct KernelTexts {
  std::string script, directives, loops;
  Scheduling scheduling;
};
KernelTexts texts_of(const driver::CompiledOperator& op);

struct StoredKernel {
  driver::CompiledOperator op;
  KernelTexts texts;
};

// `key` says what it was compiled from (kernel_cache.h), or nothing. UserError where it
// cannot be written.
void write_kernel(const std::string& path, const driver::CompiledOperator& op,
                  const KernelTexts& texts, const std::string& key);
// UserError(Artifact) where it is damaged, or no such file, or has another key than the one that
// is wanted ("": any).
StoredKernel read_kernel(const std::string& path, const std::string& key);

}  // namespace polyte::api
