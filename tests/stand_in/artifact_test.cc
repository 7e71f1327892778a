// Artifacts with code for GPUs: written, read again, and refused where they are damaged or
// not what they say.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/runtime/temp_dir.h"
#include "tests/stand_in/digits.h"

using namespace polyte;
using namespace polyte::runtime;
using namespace polyte::testing;

namespace {

std::string opened(ArtifactParts parts) {
  return problem_of([&] { Artifact::from_parts(std::move(parts)); });
}

template <class F>
std::string opened_with(F change) {
  ArtifactParts parts = copy_of(digits_for_gpu());
  change(parts);
  return opened(std::move(parts));
}

}  // namespace

TEST_CASE("device code is in the file, by kernel and architecture") {
  const TempDir dir;
  const ArtifactParts& parts = digits_for_gpu();
  write_artifact(dir.file("a.polyte"), parts);
  const auto artifact = Artifact::open(dir.file("a.polyte"));
  CHECK(artifact->manifest().arch == "cuda");
  CHECK(artifact->manifest().cpu == "h100");
  REQUIRE(artifact->manifest().device.size() == parts.manifest.device.size());
  for (const DeviceCode& code : parts.device) {
    const Bytes read = artifact->device_code(code.module, code.architecture);
    CHECK(std::equal(read.begin(), read.end(), code.bytes.begin(), code.bytes.end()));
  }
  CHECK(manifest_to_json(artifact->manifest()) ==
        manifest_to_json(manifest_from_json(manifest_to_json(artifact->manifest()), "x")));
  CHECK(artifact->report().find("\"registers\"") != std::string::npos);
  const Session gpu(artifact, {.cuda = stand_in_device()});
  CHECK(same_bits(gpu.run(inputs_of(gpu, 1)), cpu_session().run(inputs_of(gpu, 1))));
}

TEST_CASE("each member may be damaged: exit status 7") {
  const TempDir dir;
  write_artifact(dir.file("a.polyte"), digits_for_gpu());
  const std::vector<std::byte> file = read_file(dir.file("a.polyte"));
  for (const DeviceCode& code : digits_for_gpu().device) {
    const std::string member = device_member(code.module, code.architecture);
    CAPTURE(member);
    const auto at = std::search(file.begin(), file.end(), code.bytes.begin(), code.bytes.end());
    REQUIRE(at != file.end());
    std::vector<std::byte> damaged = file;
    damaged[static_cast<std::size_t>(at - file.begin()) + code.bytes.size() / 2] ^= std::byte{1};
    testing::write_file(dir.file("b.polyte"), damaged);
    CHECK(problem_of([&] { Artifact::open(dir.file("b.polyte")); }) ==
          "7: artifact '" + dir.file("b.polyte") + "': member '" + member +
              "' is damaged (its digest differs)");
  }
}

TEST_CASE("a manifest that does not fit its device code") {
  CHECK(opened_with([](ArtifactParts&) {}).empty());
  CHECK(opened_with([](ArtifactParts& p) { p.device.pop_back(); }) ==
        "7: artifact 'in memory': has no member 'device/k8.sm_0.cubin'");
  CHECK(opened_with([](ArtifactParts& p) { p.manifest.device.pop_back(); }) ==
        "7: artifact 'in memory': has device code that its manifest does not list");
  CHECK(opened_with([](ArtifactParts& p) { p.manifest.arch = "x86_64"; }) ==
        "7: artifact 'in memory': code for a GPU, but it is built for x86_64");
  CHECK(opened_with([](ArtifactParts& p) { p.manifest.device[1].name = "../k1"; }) ==
        "7: artifact 'in memory': device code '../k1' has no name of its own");
  CHECK(opened_with([](ArtifactParts& p) { p.manifest.device[1].name = "k0"; }) ==
        "7: artifact 'in memory': device code 'k0' has no name of its own");
  CHECK(opened_with([](ArtifactParts& p) { p.manifest.device[1].architectures[0] = "gfx90a"; }) ==
        "7: artifact 'in memory': device code 'k1' is for the impossible architecture 'gfx90a'");
  CHECK(opened_with([](ArtifactParts& p) { p.manifest.device[1].architectures[0] = "ptx"; }) ==
        "7: artifact 'in memory': device code 'k1' is for the impossible architecture 'ptx'");
  for (const auto change :
       {+[](DeviceKernel& k) { k.threads = 1025; }, +[](DeviceKernel& k) { k.threads = 0; },
        +[](DeviceKernel& k) { k.shared_bytes = -1; }, +[](DeviceKernel& k) { k.name = ""; }})
    CHECK(opened_with([&](ArtifactParts& p) {
            change(p.manifest.device[0].kernels[0]);
          }).starts_with("7: artifact 'in memory': device code 'k0': impossible kernel '"));
}
