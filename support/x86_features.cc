#include "support/x86_features.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace polyte {
namespace {

enum class Reg : std::uint8_t { Eax, Ebx, Ecx, Edx };

// Register state that the operating system must save before a feature may be used, as bits of
// XCR0 (Intel SDM volume 1, 13.1): 1 and 2 the XMM registers and the upper halves of YMM; 5, 6
// and 7 the mask registers, the upper halves of ZMM0-15 and all of ZMM16-31; 17 and 18 the
// configuration and data of AMX tiles.
enum class State : std::uint32_t { None = 0, Avx = 0x6, Avx512 = 0xe6, Amx = 0x60000 };

// cpuid leaf and subleaf.
enum class Leaf : std::uint8_t { L1, L7, L7s1, LDs1, L14, L19, L24, Ext1, Ext8 };
struct LeafNumber {
  std::uint32_t leaf, subleaf;
};
constexpr std::array<LeafNumber, 9> kLeaves{{{1, 0},
                                             {7, 0},
                                             {7, 1},
                                             {0xd, 1},
                                             {0x14, 0},
                                             {0x19, 0},
                                             {0x24, 0},
                                             {0x80000001, 0},
                                             {0x80000008, 0}}};

struct Feature {
  const char* name;
  Leaf leaf;
  Reg reg;
  int bit;
  State state = State::None;
};

// Ordered by leaf, register, bit.
constexpr Feature kFeatures[] = {
    {"sse3", Leaf::L1, Reg::Ecx, 0},
    {"pclmul", Leaf::L1, Reg::Ecx, 1},
    {"ssse3", Leaf::L1, Reg::Ecx, 9},
    {"fma", Leaf::L1, Reg::Ecx, 12, State::Avx},
    {"cx16", Leaf::L1, Reg::Ecx, 13},
    {"sse4.1", Leaf::L1, Reg::Ecx, 19},
    {"sse4.2", Leaf::L1, Reg::Ecx, 20},
    {"crc32", Leaf::L1, Reg::Ecx, 20},
    {"movbe", Leaf::L1, Reg::Ecx, 22},
    {"popcnt", Leaf::L1, Reg::Ecx, 23},
    {"aes", Leaf::L1, Reg::Ecx, 25},
    {"xsave", Leaf::L1, Reg::Ecx, 26, State::Avx},
    {"avx", Leaf::L1, Reg::Ecx, 28, State::Avx},
    {"f16c", Leaf::L1, Reg::Ecx, 29, State::Avx},
    {"rdrnd", Leaf::L1, Reg::Ecx, 30},
    {"cx8", Leaf::L1, Reg::Edx, 8},
    {"cmov", Leaf::L1, Reg::Edx, 15},
    {"mmx", Leaf::L1, Reg::Edx, 23},
    {"fxsr", Leaf::L1, Reg::Edx, 24},
    {"sse", Leaf::L1, Reg::Edx, 25},
    {"sse2", Leaf::L1, Reg::Edx, 26},
    {"fsgsbase", Leaf::L7, Reg::Ebx, 0},
    {"sgx", Leaf::L7, Reg::Ebx, 2},
    {"bmi", Leaf::L7, Reg::Ebx, 3},
    {"avx2", Leaf::L7, Reg::Ebx, 5, State::Avx},
    {"bmi2", Leaf::L7, Reg::Ebx, 8},
    {"invpcid", Leaf::L7, Reg::Ebx, 10},
    {"rtm", Leaf::L7, Reg::Ebx, 11},
    {"avx512f", Leaf::L7, Reg::Ebx, 16, State::Avx512},
    {"evex512", Leaf::L7, Reg::Ebx, 16, State::Avx512},
    {"avx512dq", Leaf::L7, Reg::Ebx, 17, State::Avx512},
    {"rdseed", Leaf::L7, Reg::Ebx, 18},
    {"adx", Leaf::L7, Reg::Ebx, 19},
    {"avx512ifma", Leaf::L7, Reg::Ebx, 21, State::Avx512},
    {"clflushopt", Leaf::L7, Reg::Ebx, 23},
    {"clwb", Leaf::L7, Reg::Ebx, 24},
    {"avx512cd", Leaf::L7, Reg::Ebx, 28, State::Avx512},
    {"sha", Leaf::L7, Reg::Ebx, 29},
    {"avx512bw", Leaf::L7, Reg::Ebx, 30, State::Avx512},
    {"avx512vl", Leaf::L7, Reg::Ebx, 31, State::Avx512},
    {"avx512vbmi", Leaf::L7, Reg::Ecx, 1, State::Avx512},
    {"pku", Leaf::L7, Reg::Ecx, 4},
    {"waitpkg", Leaf::L7, Reg::Ecx, 5},
    {"avx512vbmi2", Leaf::L7, Reg::Ecx, 6, State::Avx512},
    {"shstk", Leaf::L7, Reg::Ecx, 7},
    {"gfni", Leaf::L7, Reg::Ecx, 8},
    {"vaes", Leaf::L7, Reg::Ecx, 9, State::Avx},
    {"vpclmulqdq", Leaf::L7, Reg::Ecx, 10, State::Avx},
    {"avx512vnni", Leaf::L7, Reg::Ecx, 11, State::Avx512},
    {"avx512bitalg", Leaf::L7, Reg::Ecx, 12, State::Avx512},
    {"avx512vpopcntdq", Leaf::L7, Reg::Ecx, 14, State::Avx512},
    {"rdpid", Leaf::L7, Reg::Ecx, 22},
    {"kl", Leaf::L7, Reg::Ecx, 23},
    {"cldemote", Leaf::L7, Reg::Ecx, 25},
    {"movdiri", Leaf::L7, Reg::Ecx, 27},
    {"movdir64b", Leaf::L7, Reg::Ecx, 28},
    {"enqcmd", Leaf::L7, Reg::Ecx, 29},
    {"uintr", Leaf::L7, Reg::Edx, 5},
    {"avx512vp2intersect", Leaf::L7, Reg::Edx, 8, State::Avx512},
    {"serialize", Leaf::L7, Reg::Edx, 14},
    {"tsxldtrk", Leaf::L7, Reg::Edx, 16},
    {"pconfig", Leaf::L7, Reg::Edx, 18},
    {"amx-bf16", Leaf::L7, Reg::Edx, 22, State::Amx},
    {"avx512fp16", Leaf::L7, Reg::Edx, 23, State::Avx512},
    {"amx-tile", Leaf::L7, Reg::Edx, 24, State::Amx},
    {"amx-int8", Leaf::L7, Reg::Edx, 25, State::Amx},
    {"sha512", Leaf::L7s1, Reg::Eax, 0},
    {"sm3", Leaf::L7s1, Reg::Eax, 1},
    {"sm4", Leaf::L7s1, Reg::Eax, 2},
    {"raoint", Leaf::L7s1, Reg::Eax, 3},
    {"avxvnni", Leaf::L7s1, Reg::Eax, 4, State::Avx},
    {"avx512bf16", Leaf::L7s1, Reg::Eax, 5, State::Avx512},
    {"cmpccxadd", Leaf::L7s1, Reg::Eax, 7},
    {"amx-fp16", Leaf::L7s1, Reg::Eax, 21, State::Amx},
    {"hreset", Leaf::L7s1, Reg::Eax, 22},
    {"avxifma", Leaf::L7s1, Reg::Eax, 23, State::Avx},
    {"avxvnniint8", Leaf::L7s1, Reg::Edx, 4, State::Avx},
    {"avxneconvert", Leaf::L7s1, Reg::Edx, 5, State::Avx},
    {"amx-complex", Leaf::L7s1, Reg::Edx, 8, State::Amx},
    {"avxvnniint16", Leaf::L7s1, Reg::Edx, 10, State::Avx},
    {"prefetchi", Leaf::L7s1, Reg::Edx, 14},
    {"usermsr", Leaf::L7s1, Reg::Edx, 15},
    {"avx10.1-256", Leaf::L7s1, Reg::Edx, 19, State::Avx},
    {"egpr", Leaf::L7s1, Reg::Edx, 21},
    {"push2pop2", Leaf::L7s1, Reg::Edx, 21},
    {"ppx", Leaf::L7s1, Reg::Edx, 21},
    {"ndd", Leaf::L7s1, Reg::Edx, 21},
    {"ccmp", Leaf::L7s1, Reg::Edx, 21},
    {"cf", Leaf::L7s1, Reg::Edx, 21},
    {"xsaveopt", Leaf::LDs1, Reg::Eax, 0, State::Avx},
    {"xsavec", Leaf::LDs1, Reg::Eax, 1, State::Avx},
    {"xsaves", Leaf::LDs1, Reg::Eax, 3, State::Avx},
    {"ptwrite", Leaf::L14, Reg::Ebx, 4},
    {"widekl", Leaf::L19, Reg::Ebx, 2},
    {"avx10.1-512", Leaf::L24, Reg::Ebx, 18, State::Avx512},
    {"sahf", Leaf::Ext1, Reg::Ecx, 0},
    {"lzcnt", Leaf::Ext1, Reg::Ecx, 5},
    {"sse4a", Leaf::Ext1, Reg::Ecx, 6},
    {"prfchw", Leaf::Ext1, Reg::Ecx, 8},
    {"xop", Leaf::Ext1, Reg::Ecx, 11, State::Avx},
    {"lwp", Leaf::Ext1, Reg::Ecx, 15},
    {"fma4", Leaf::Ext1, Reg::Ecx, 16, State::Avx},
    {"tbm", Leaf::Ext1, Reg::Ecx, 21},
    {"mwaitx", Leaf::Ext1, Reg::Ecx, 29},
    {"64bit", Leaf::Ext1, Reg::Edx, 29},
    {"clzero", Leaf::Ext8, Reg::Ebx, 0},
    {"rdpru", Leaf::Ext8, Reg::Ebx, 4},
    {"wbnoinvd", Leaf::Ext8, Reg::Ebx, 9},
};

#ifdef __x86_64__
using Registers = std::array<std::uint32_t, 4>;  // eax, ebx, ecx, edx

Registers cpuid(std::uint32_t leaf, std::uint32_t subleaf) {
  Registers r{};
  // Some processors return nonsense for a subleaf they lack; subleaf 0 of leaf 7 says how many
  // there are.
  if (leaf == 7 && subleaf > 0 && cpuid(7, 0)[0] < subleaf) return r;
  if (__get_cpuid_count(leaf, subleaf, &r[0], &r[1], &r[2], &r[3]) == 0) r = {};
  return r;
}

// XCR0, or 0 where the system does not use XSAVE: then xgetbv itself would be an invalid
// instruction.
std::uint32_t saved_state() {
  if (((cpuid(1, 0)[2] >> 27) & 1) == 0) return 0;  // OSXSAVE
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}
#endif

}  // namespace

std::vector<std::string> x86_feature_names() {
  std::vector<std::string> names;
  for (const Feature& f : kFeatures) names.emplace_back(f.name);
  std::ranges::sort(names);
  return names;
}

#ifdef __x86_64__
std::vector<std::string> detect_x86_features() {
  std::array<Registers, kLeaves.size()> leaves{};
  for (std::size_t i = 0; i < kLeaves.size(); ++i)
    leaves[i] = cpuid(kLeaves[i].leaf, kLeaves[i].subleaf);
  const std::uint32_t saved = saved_state();
  std::vector<std::string> features;
  for (const Feature& f : kFeatures) {
    const auto needed = static_cast<std::uint32_t>(f.state);
    const std::uint32_t word =
        leaves[static_cast<std::size_t>(f.leaf)][static_cast<std::size_t>(f.reg)];
    // All the state that the feature needs is saved, not only some of it.
    const bool present = ((word >> f.bit) & 1) != 0 && (saved & needed) == needed;
    features.push_back((present ? "+" : "-") + std::string(f.name));
  }
  std::ranges::sort(features, {}, [](const std::string& f) { return f.substr(1); });
  return features;
}

X86Model detect_x86_model() {
  X86Model result;
  const Registers vendor = cpuid(0, 0);
  char text[12];
  // The 12 letters are in ebx, edx, ecx, in that order.
  std::memcpy(text, &vendor[1], 4);
  std::memcpy(text + 4, &vendor[3], 4);
  std::memcpy(text + 8, &vendor[2], 4);
  result.vendor.assign(text, sizeof text);
  const Registers leaf1 = cpuid(1, 0);
  // Leaf 1, eax: model in bits 4 to 7, family in 8 to 11, extended model in 16 to 19, extended
  // family in 20 to 27, which is added to a family of 15 only.
  const std::uint32_t base = (leaf1[0] >> 8) & 0xf;
  result.family = static_cast<int>(base == 0xf ? base + ((leaf1[0] >> 20) & 0xff) : base);
  result.model = static_cast<int>(((leaf1[0] >> 4) & 0xf) | ((leaf1[0] >> 16) & 0xf) << 4);
  result.hypervisor = (leaf1[2] >> 31) != 0;
  return result;
}

#else

std::vector<std::string> detect_x86_features() { return {}; }
X86Model detect_x86_model() { return {}; }

#endif
}  // namespace polyte
