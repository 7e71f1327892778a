// Links relocatable objects into one shared object, in this process, with lld. Nothing outside is
// referenced but libm (only where a kernel calls it); an undefined symbol is an error. lld is not
// thread-safe: calls take turns. Everything is in memory; memory, descriptors or threads that run
// out are UserError(ResourceLimit).
#pragma once

#include <span>
#include <string>

namespace polyte::codegen {

// `objects` are the contents of ELF files, all for one kind of processor; the result is the
// content of the .so.
std::string link(std::span<const std::string> objects);

}  // namespace polyte::codegen
