// Groups that the loop side hands back: split along the cheapest edge, reported, the same bits.
#include "driver/compile/fusion_feedback.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "driver/package/package_model.h"
#include "graph/explain_fusion.h"
#include "tests/driver/integer_network.h"

using namespace polyte;
using driver::PackagedModel;

namespace {

PackagedModel compiled(const driver::ModelOptions& options) {
  return driver::package_model(testing::integer_network(), codegen::detect_host(), options);
}

std::string names_of(const PackagedModel& model) {
  std::string names;
  for (const driver::GroupPlan& group : model.groups)
    names += (names.empty() ? "" : " ") + group.name;
  return names;
}

}  // namespace

TEST_CASE("fusion feedback: within the limits nothing is split") {
  driver::ModelOptions options;
  options.scheduler = driver::Scheduler::Template;
  PackagedModel model = compiled(options);
  CHECK(model.fusion_options.keep_apart.empty());
  for (const driver::BuiltKernel& kernel : model.kernels) {
    CHECK(driver::recompute_factor(kernel) >= 1);
    CHECK(driver::recompute_factor(kernel) < 1.5);
  }
}

TEST_CASE("fusion feedback: a group above a limit is split until it is below, or one operator") {
  driver::ModelOptions options;
  options.scheduler = driver::Scheduler::Template;
  const runtime::Tensor expected = testing::run_once(compiled(options).parts, 1);
  options.limits.recompute = 0.5;  // which nothing keeps
  PackagedModel model = compiled(options);
  CHECK(names_of(model) ==
        "g0a_conv g0b_relu g1_maxpool g2a_conv g2ba_add g2bb_relu g3_globalaveragepool g4_reshape "
        "g5_matmul");
  CHECK(model.notes.size() >= 3);
  CHECK(model.notes[0] ==
        "handed back: as group 'g0_conv_relu' it computes 1.00 times what its operators do, the "
        "limit is 0.50; split "
        "between 'conv1' and 'relu1'");
  const std::string why =
      graph::explain_fusion(model.fusion_graph, model.fusion_options, model.fusion);
  CHECK(why.find("not fused: handed back: as group 'g0_conv_relu' it computes 1.00 times") !=
        std::string::npos);
  CHECK(testing::same_bits(testing::run_once(std::move(model.parts), 2), expected));
}

TEST_CASE("fusion feedback: temporaries above the limit") {
  driver::ModelOptions options;
  options.scheduler = driver::Scheduler::Naive;  // keeps every temporary whole
  PackagedModel before = compiled(options);
  std::int64_t most = 0;
  for (const driver::BuiltKernel& kernel : before.kernels)
    most = std::max(most, driver::scratch_bytes(kernel));
  REQUIRE(most > 0);
  options.limits.temporaries = most - 1;
  PackagedModel after = compiled(options);
  CHECK(after.groups.size() > before.groups.size());
  CHECK(std::ranges::any_of(after.notes, [&](const std::string& note) {
    return note.find("its temporaries need " + std::to_string(most) + " bytes, the limit is " +
                     std::to_string(most - 1)) != std::string::npos;
  }));
  CHECK(testing::same_bits(testing::run_once(std::move(after.parts), 1),
                           testing::run_once(std::move(before.parts), 1)));
}

TEST_CASE("fusion feedback: what a person asked for stays, and that is said") {
  driver::ModelOptions options;
  options.scheduler = driver::Scheduler::Template;
  options.limits.recompute = 0.5;
  options.fusion = driver::parse_fusion_file("together conv1 relu1", "fusion.txt").requests;
  PackagedModel model = compiled(options);
  CHECK(names_of(model).starts_with("g0_conv_relu "));
  CHECK(std::ranges::any_of(model.notes, [](const std::string& note) {
    return note.starts_with("group 'g0_conv_relu' is kept as it was asked for, though it computes");
  }));
}
