// Other compilers as arms: the Program's reference order as C99 (codegen/c), compiled by what is
// installed, loaded with dlopen. A peer shows what a compiler makes of the same loops without a
// schedule; it runs on one thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "driver/compile/build_kernel.h"
#include "runtime/tensor.h"
#include "support/machine.h"

namespace polyte::lab {

// "gcc", "clang", "polly", and "strict", which is any C compiler asked to keep the order of
// operations: a reference that shares nothing with our code generator.
struct Compiler {
  std::string name, path;  // path empty: it is not installed
  std::vector<std::string> flags;
  std::string version;  // first line of --version
};
Compiler find_compiler(const std::string& name);
// The file that a shell would run; empty: there is none.
std::string on_path(const std::string& program);

// C of the reference order with a function `polyte_lab_call(void *const *)` over the interface in
// order. UserError (Unsupported) with all that C cannot say.
std::string peer_source(const driver::BuiltKernel& naive, const Machine& machine);

class PeerKernel {
 public:
  // UserError(InvalidInput) with the compiler's words where it fails. `kept`: a folder of
  // libraries that were made before, by what made them (Polly takes seconds for a kernel); empty:
  // none is kept.
  PeerKernel(const Compiler& compiler, const std::string& source, const std::string& kept);
  ~PeerKernel();
  PeerKernel(const PeerKernel&) = delete;
  PeerKernel& operator=(const PeerKernel&) = delete;
  void bind(std::span<runtime::Tensor> tensors);  // they must outlive it
  void run() { call_(pointers_.data()); }

 private:
  void* handle_ = nullptr;
  void (*call_)(void* const*) = nullptr;
  std::vector<void*> pointers_;
};

}  // namespace polyte::lab
