// SharedLibrary: compiled kernels, loaded from memory. The bytes of an ELF shared object go to a
// memfd, which is sealed against changes and opened by /proc/self/fd (dlopen takes no offset into a
// file), with local symbols and no search path.
//
//   SharedLibrary library(object_bytes, "kernels.so");
//   polyte_kernel kernel = library.kernel("k0");
//
// The object's headers are checked first, since a truncated object would crash the loader; what the
// code does is the code's own affair. Problems are UserError(Artifact), memory or descriptors that
// have run out ResourceLimit.
#pragma once

#include <memory>
#include <string>

#include "runtime/file.h"
#include "support/kernel_abi.h"

namespace polyte::runtime {

class SharedLibrary {
 public:
  SharedLibrary(Bytes elf, std::string name);  // `name` appears in messages and in /proc/self/maps
  ~SharedLibrary();
  SharedLibrary(SharedLibrary&& other) noexcept;
  SharedLibrary& operator=(SharedLibrary&&) = delete;

  void* find(const std::string& symbol) const;            // null when there is none
  polyte_kernel kernel(const std::string& symbol) const;  // UserError when there is none

 private:
  std::string name_;
  // Open as long as the library: dlopen tells libraries apart by their path.
  std::shared_ptr<const void> file_;
  void* handle_ = nullptr;
};

}  // namespace polyte::runtime
