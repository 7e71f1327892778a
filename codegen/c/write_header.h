// The C header of a kernel that was compiled ahead of time, and the same entry points over
// write_c's functions: a program that includes the one links the object or the C text, and
// nothing of Polyte.
//
//   static inline int gemm(const float* A, const float* B, float* C, void* workspace,
//                          const polyte_threads* threads);
//   static inline int gemm_pack(const float* B, float* B_packed);   // where constants are packed
//
// The functions check their pointers and call `gemm_kernel` and `gemm_pack_kernel`, which have the
// signature of support/kernel_abi.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/dtype.h"

namespace polyte::codegen {

struct CArgument {
  std::string name;  // the Program's
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;
  bool is_written = false;
  bool is_passed = true;  // else the caller does not give it: the kernel never looks at it
  int alignment = 1;      // bytes, that the code relies on
};

struct CKernel {
  std::string name;  // the Program's
  // In the kernel's order; of a packed constant as the packing makes it.
  std::vector<CArgument> arguments;
  std::vector<CArgument> packing;  // of the function that packs; empty: there is none
  std::int64_t shared_bytes = 0, bytes_per_worker = 0;  // of the workspace
  bool is_parallel = false;                             // it has a loop for several workers
  // Lines for a comment: what it computes, for which processor.
  std::vector<std::string> about;
  // Features of an x86 processor, by LLVM's names; empty: another processor.
  std::vector<std::string> needs;
};

struct CNamesOfKernel {
  std::string call, pack;           // what a program calls
  std::string kernel, pack_kernel;  // symbols of the object
  std::string prefix;               // of its macros
};
CNamesOfKernel c_names_of(const std::string& program);

std::string write_c_header(const CKernel& kernel);
// To stand behind what write_c made of the same kernel: the two symbols, by its functions.
std::string write_c_entries(const CKernel& kernel);

}  // namespace polyte::codegen
