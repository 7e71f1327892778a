// The table of processors, and what is asked of a processor that nobody runs on.
#include "support/processors.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "support/features.h"

namespace {

using namespace polyte;

TEST_CASE("a processor is found by LLVM's name") {
  REQUIRE(find_processor("neoverse-n1") != nullptr);
  CHECK(find_processor("neoverse-n1")->kind == TargetKind::AArch64);
  CHECK(find_processor("neoverse-n1")->vector_bits == 128);
  CHECK(find_processor("znver4")->vector_bits == 512);
  CHECK(find_processor("no-such-processor") == nullptr);
}

TEST_CASE(
    "what is known of a processor comes from the table, for others what all of its kind have") {
  const Machine n1 = named_machine(TargetKind::AArch64, "neoverse-n1", {"+neon"});
  CHECK(n1.vector_registers == 32);
  CHECK(n1.has_fma);
  CHECK(n1.l1.bytes == 64 << 10);
  CHECK(n1.lanes(DType::F32) == 4);
  const Machine other = named_machine(TargetKind::AArch64, "cortex-a510", {"+sve2"});
  CHECK(other.vector_bits == 128);
  CHECK(other.vector_registers == 32);
  CHECK(other.l1.bytes == 32 << 10);
}

TEST_CASE("a name of another kind brings nothing but itself") {
  const Machine machine = named_machine(TargetKind::X86, "neoverse-n1", {"+avx"});
  CHECK(machine.vector_bits == 256);
  CHECK(machine.l1.bytes == 32 << 10);
}

TEST_CASE("the features of x86 decide its vectors, whatever the name") {
  CHECK(named_machine(TargetKind::X86, "some", {"+avx512f"}).vector_bits == 512);
  CHECK(named_machine(TargetKind::X86, "some", {"+avx", "-avx512f"}).vector_bits == 256);
  CHECK(named_machine(TargetKind::X86, "znver4", {}).vector_bits == 128);
}

TEST_CASE("features can be asked for where their kind of processor has them") {
  CHECK(is_checkable(TargetKind::X86, "avx2"));
  CHECK_FALSE(is_checkable(TargetKind::X86, "dotprod"));
  CHECK(is_checkable(TargetKind::AArch64, "dotprod"));
  CHECK_FALSE(is_checkable(TargetKind::AArch64, "fuse-aes"));
}

TEST_CASE("this processor's features are of its kind, sorted, each with a sign") {
  const std::vector<std::string> features = detect_features();
  REQUIRE_FALSE(features.empty());
  const auto name = [](const std::string& f) { return f.substr(1); };
  CHECK(std::ranges::is_sorted(features, {}, name));
  for (const std::string& f : features) CHECK(is_checkable(kNativeKind, name(f)));
}

}  // namespace
