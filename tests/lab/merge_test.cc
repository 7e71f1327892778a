// Runs that are joined: what is wrong with a folder's samples is said in our words.
#include "driver/lab/merge.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "driver/lab/runner.h"
#include "support/error.h"
#include "tests/lab/made_up.h"
#include "tests/runtime/temp_dir.h"

namespace polyte::lab {
namespace {

constexpr const char* kContextLine =
    R"({"kind":"context","machine":{"id":"m"},"polyte":{"digest":"d"}})"
    "\n";

std::string merged_or_problem(const std::string& samples) {
  const polyte::testing::TempDir folder;
  const std::string run = folder.file("run");
  keep_plan(testing::made_up_plan({"poly", "mine"}, 1), run);
  polyte::testing::write_file(run + "/samples.jsonl", polyte::testing::to_bytes(samples));
  try {
    return std::to_string(merge_runs({run}, folder.file("all")).processes);
  } catch (const UserError& e) {
    CHECK(e.status() == ExitStatus::InvalidInput);
    CHECK_FALSE(std::filesystem::exists(folder.file("all")));
    const std::string text = e.what();
    return text.substr(text.find("samples.jsonl"));
  }
}

TEST_CASE("samples are joined by their contexts, which have to be there") {
  const std::string process = testing::process_text(0, 0, {{"poly", {10}}, {"mine", {20}}}, 0);
  CHECK(merged_or_problem(kContextLine + process) == "1");
  CHECK(merged_or_problem(process) ==
        "samples.jsonl: samples without a line of kind 'context', which says of which machine they "
        "are");
  CHECK(merged_or_problem("{\"kind\":\"context\",\"machine\":{\"id\":\"m\"}}\n" + process) ==
        "samples.jsonl:1: not a record of a run: key 'polyte' not found");
}

}  // namespace
}  // namespace polyte::lab
