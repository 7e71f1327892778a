#include "support/aarch64_features.h"

#include <algorithm>
#include <cstdint>

#ifdef __aarch64__
#include <sys/auxv.h>
#endif

namespace polyte {
namespace {

struct KernelFeature {
  const char* name;
  std::uint64_t bits;  // of AT_HWCAP, all of them
};

constexpr std::uint64_t bit(int number) { return std::uint64_t{1} << number; }

// Ordered by bit. Where LLVM has one feature for what the kernel tells apart (AES and PMULL,
// scalar and vector half precision), all of its bits have to be there. Linux,
// arch/arm64/include/uapi/asm/hwcap.h.
constexpr KernelFeature kKernelFeatures[] = {
    {"fp-armv8", bit(0)},
    {"neon", bit(1)},
    {"aes", bit(3) | bit(4)},
    {"sha2", bit(5) | bit(6)},
    {"crc", bit(7)},
    {"lse", bit(8)},
    {"fullfp16", bit(9) | bit(10)},
    {"rdm", bit(12)},
    {"jsconv", bit(13)},
    {"complxnum", bit(14)},
    {"rcpc", bit(15)},
    {"ccpp", bit(16)},
    {"sha3", bit(17) | bit(21)},
    {"sm4", bit(18) | bit(19)},
    {"dotprod", bit(20)},
    {"sve", bit(22)},
    {"fp16fml", bit(23)},
    {"dit", bit(24)},
    {"rcpc-immo", bit(26)},
    {"flagm", bit(27)},
    {"ssbs", bit(28)},
    {"sb", bit(29)},
    {"pauth", bit(30) | bit(31)},
};

}  // namespace

std::vector<std::string> detect_aarch64_features() {
  std::vector<std::string> features;
#ifdef __aarch64__
  const std::uint64_t present = getauxval(AT_HWCAP);
  for (const KernelFeature& f : kKernelFeatures)
    features.push_back(((present & f.bits) == f.bits ? "+" : "-") + std::string(f.name));
  std::ranges::sort(features, {}, [](const std::string& f) { return f.substr(1); });
#endif
  return features;
}

std::vector<std::string> aarch64_feature_names() {
  std::vector<std::string> names;
  for (const KernelFeature& f : kKernelFeatures) names.emplace_back(f.name);
  std::ranges::sort(names);
  return names;
}

}  // namespace polyte
