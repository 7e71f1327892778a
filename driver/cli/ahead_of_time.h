// An operator for programs in C: what --emit object, header and c write of a kernel for a CPU.
#pragma once

#include <string>

#include "codegen/c/write_header.h"
#include "driver/compile/build_kernel.h"

namespace polyte::cli {

struct AheadOfTime {
  std::string object;         // ELF, relocatable
  codegen::CKernel c_kernel;  // what its header says
};

// UserError(Unsupported) for a GPU.
AheadOfTime compile_ahead(const driver::BuiltKernel& kernel, const codegen::Target& target);
// Behind the text of emit_c: the symbols that the header declares.
std::string c_entries(const driver::BuiltKernel& kernel, const codegen::Target& target);
// "o", "h", "c": of the file that a kind goes to; the kind itself where it is a text of ours.
std::string extension_of(const std::string& kind);

}  // namespace polyte::cli
