// A file that forces and forbids edges: what it says is done, without a change of a bit, or
// refused with the reason.
#include "driver/compile/fusion_file.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "codegen/target.h"
#include "driver/package/package_model.h"
#include "tests/driver/integer_network.h"

using namespace polyte;
using driver::PackagedModel;

namespace {

driver::ModelOptions options_of(const std::string& text,
                                driver::Scheduler scheduler = driver::Scheduler::Template) {
  driver::ModelOptions options;
  options.scheduler = scheduler;
  options.fusion = driver::parse_fusion_file(text, "fusion.txt").requests;
  return options;
}

driver::PartitionedModel partitioned(const std::string& text) {
  return driver::partition_model(testing::integer_network(),
                                 codegen::target_for_cpu("x86-64-v3").machine, options_of(text));
}

// "conv1 relu1 | pool | ..."
std::string groups_of(const driver::PartitionedModel& model) {
  std::string text;
  for (const driver::GroupPlan& group : model.groups) {
    text += text.empty() ? "" : " |";
    for (const graph::NodeId node : group.nodes)
      text += (text.empty() ? "" : " ") + model.graph.node(node).name;
  }
  return text;
}

std::string refusal(const std::string& text) {
  try {
    partitioned(text);
  } catch (const UserError& error) {
    CHECK(error.status() == ExitStatus::InvalidInput);
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("fusion file: what it forces and forbids is what the groups are") {
  CHECK(groups_of(partitioned("")) == "conv1 relu1 | pool | conv2 add relu2 | mean | flat | fc");
  CHECK(groups_of(partitioned("apart conv1 relu1  # alone\n\n")) ==
        "conv1 | relu1 | pool | conv2 add relu2 | mean | flat | fc");
  CHECK(groups_of(partitioned("apart 'add' relu2")) ==
        "conv1 relu1 | pool | conv2 add | relu2 | mean | flat | fc");
  CHECK(groups_of(partitioned("together fc flat")) ==
        "conv1 relu1 | pool | conv2 add relu2 | mean | flat fc");
  CHECK(groups_of(partitioned("together relu1 pool\napart conv1 relu1")) ==
        "conv1 | relu1 pool | conv2 add relu2 | mean | flat | fc");
  CHECK(groups_of(partitioned("together relu2 mean\napart conv2 add")) ==
        "conv1 relu1 | pool | conv2 | add relu2 mean | flat | fc");
}

TEST_CASE("fusion file: every scheduler gives the same bits, however it is fused") {
  const codegen::Target target = codegen::detect_host();
  driver::ModelOptions reference = options_of("", driver::Scheduler::Naive);
  reference.fuse = false;
  const runtime::Tensor expected = testing::run_once(
      driver::package_model(testing::integer_network(), target, reference).parts, 1);
  for (const char* text :
       {"apart conv1 relu1\napart conv2 add", "together flat fc",
        "together relu1 pool\napart conv1 relu1", "together relu2 mean\napart conv2 add"}) {
    for (const driver::Scheduler scheduler :
         {driver::Scheduler::Naive, driver::Scheduler::Template, driver::Scheduler::Poly}) {
      CAPTURE(text);
      CAPTURE(driver::to_string(scheduler));
      PackagedModel model =
          driver::package_model(testing::integer_network(), target, options_of(text, scheduler));
      CHECK(testing::same_bits(testing::run_once(std::move(model.parts), 2), expected));
    }
  }
}

TEST_CASE("fusion file: what cannot be is refused, all of it at once") {
  CHECK(refusal("together conv1 conv2\ntogether relu1 fc\n") ==
        "fusion.txt:1: together 'conv1' 'conv2': 'conv1' (Conv) and 'pool' (MaxPool) "
        "would meet in one group, which has at most one operator that is OutEWiseFusable\n"
        "fusion.txt:2: together 'relu1' 'fc': 'conv1' (Conv) and 'pool' (MaxPool) "
        "would meet in one group, which has at most one operator that is OutEWiseFusable");
  CHECK(refusal("apart conv1 conv3\ntogether relu7 pool") ==
        "fusion.txt:1: apart 'conv1' 'conv3': the model has no node 'conv3'; "
        "polyte inspect --groups lists them\n"
        "fusion.txt:2: together 'relu7' 'pool': the model has no node 'relu7'; "
        "polyte inspect --groups lists them");
  CHECK(
      refusal("together mean flat\napart flat mean") ==
      "fusion.txt:1: together 'mean' 'flat': that contradicts: fusion.txt:2: apart 'flat' 'mean'");
}

TEST_CASE("fusion file: errors of its text name the line") {
  const auto parse = [](const std::string& text) { return driver::parse_fusion_file(text, "f"); };
  CHECK_THROWS_WITH_AS(parse("apart a\nbring a b\n'a b\n"
                             "limit time 3\nlimit temporaries -1\nlimit recompute x\napart a a"),
                       "f:1: apart takes two nodes, got 1 word\n"
                       "f:2: 'bring', expected apart, together or limit\n"
                       "f:3: a quote is not closed\n"
                       "f:4: limit 'time', expected temporaries or recompute\n"
                       "f:5: '-1', expected a number of bytes\n"
                       "f:6: 'x', expected a factor such as 1.5\n"
                       "f:7: apart 'a' and itself",
                       UserError);
  const driver::FusionFile file =
      parse("# nothing\n\nlimit temporaries 65536\r\nlimit recompute 1.5");
  CHECK(file.requests.empty());
  CHECK(file.temporaries == 65536);
  CHECK(file.recompute == 1.5);
}
