// What an x86 processor and its operating system offer, by cpuid and xgetbv, under LLVM's feature
// names. One table of bits (Intel SDM volume 2, CPUID; AMD APM volume 3, appendix E); a feature
// whose registers the system does not save counts as absent. Enough for a runtime without LLVM to
// check what an artifact needs.
#pragma once

#include <string>
#include <vector>

namespace polyte {

// Every known feature with its sign, "+avx2" or "-amx-tile", sorted by name. Empty off x86-64.
std::vector<std::string> detect_x86_features();
std::vector<std::string> x86_feature_names();

struct X86Model {
  std::string vendor;  // "AuthenticAMD", "GenuineIntel"; empty off x86-64
  int family = 0;      // with the extended family added
  int model = 0;
  bool hypervisor = false;
};
X86Model detect_x86_model();

}  // namespace polyte
