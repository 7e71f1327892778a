// Other compilers as arms: the Program's reference order as C99 (codegen/c), compiled by what is
// installed, loaded with dlopen. A peer shows what a compiler makes of the same loops without a
// schedule of ours; only Pluto makes it parallel.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "driver/compile/build_kernel.h"
#include "runtime/tensor.h"
#include "support/machine.h"

namespace polyte::lab {

// "gcc", "clang", "polly", "pluto", and "strict", which is any C compiler asked to keep the order
// of operations: a reference that shares nothing with our code generator.
struct Compiler {
  std::string name, path;  // path empty: it is not installed, `missing` says what
  std::vector<std::string> flags;
  std::string version;  // first line of --version
  std::string missing;
  int threads = 1;
  // Of Pluto: polycc and its flags, which rewrites the C for the compiler, for several threads too.
  std::vector<std::string> rewriter = {};
  std::string command() const;  // in words
};
Compiler find_compiler(const std::string& name, int threads = 1);
// The file that a shell would run; empty: there is none.
std::string on_path(const std::string& program);

// C of the reference order with a function `polyte_lab_call(void *const *)` over the interface in
// order.
struct PeerSource {
  std::string loops;   // what a rewriter is given
  std::string behind;  // what comes behind it in the same file
};
// UserError (Unsupported) with all that C cannot say.
PeerSource peer_source(const Compiler& compiler, const driver::BuiltKernel& naive,
                       const Machine& machine);

class PeerKernel {
 public:
  // UserError(InvalidInput) with the compiler's words where it fails. `kept`: a folder of
  // libraries that were made before, by what made them (Polly takes seconds for a kernel); empty:
  // none is kept.
  PeerKernel(const Compiler& compiler, const PeerSource& source, const std::string& kept);
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
