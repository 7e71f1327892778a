// Values that a block computes one after another, each by a long chain of operations, side by
// side: the instructions that a core lets wait are as many as two or three such chains have, and in
// the order of the statements few of them can begin.
//
//   y[0] = exp(x[0])      load x[0]; load x[1]; the first operation of both, the second of both ..
//   y[1] = exp(x[1])      store y[0]; store y[1]
//
// After emission, since what is a chain shows only there. What is computed stays, and so does the
// order of accesses to one element.
//
// Internal: includes LLVM headers.
#pragma once

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/IR/Function.h>

namespace polyte::codegen {

// Those of a CPU that are left for values; on a GPU there are none.
struct VectorRegisters {
  std::size_t count = 0, bits = 0;
};

// As many side by side as have their values in the registers for vectors.
void interleave_chains(llvm::Function& function, llvm::AAResults& aliases,
                       const VectorRegisters& registers);

}  // namespace polyte::codegen
