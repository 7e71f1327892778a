// What an artifact's report says of a GPU's kernels: the report may be a stranger's.
#include "driver/cli/gpu_figures.h"

#include <doctest/doctest.h>

#include "support/target.h"

TEST_CASE("what a report says otherwise than ours do is passed over") {
  using namespace polyte;
  runtime::ArtifactParts parts;
  parts.manifest.arch = to_string(TargetKind::Cuda);
  parts.manifest.device = {{"k", {{"k0", 128, 0}}, {}}};
  parts.report =
      R"({"device":[{"kernels":[{"name":5},{"name":"k0","registers":"many","stack_bytes":8}],)"
      R"("messages":["kept",3]},{"kernels":7},4]})";
  const cli::GpuFigures figures =
      cli::gpu_figures(*runtime::Artifact::from_parts(std::move(parts)));
  REQUIRE(figures.launches.size() == 1);
  CHECK(figures.launches[0].registers == 0);
  CHECK(figures.launches[0].stack_bytes == 8);
  CHECK(figures.messages == std::vector<std::string>{"kept"});
}
