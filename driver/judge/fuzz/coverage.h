// Coverage: what the random cases of a report have been. One row for each feature of Programs and
// each directive, with the runs that had it: drawn, accepted, refused, executed (along every path
// where accepted, without proof where refused). A row that stays empty is a hole in the generators:
// what is never drawn is never tested. Tables are written out here, so that a new directive without
// a row does not compile.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "driver/judge/fuzz/judge.h"

namespace polyte::fuzz {

struct CoverageRow {
  std::uint64_t drawn = 0, accepted = 0, refused = 0, executed = 0;  // runs
};

struct Coverage {
  std::map<std::string, CoverageRow> features, directives;
  // Of directives in one accepted script, in order of the names.
  std::set<std::pair<std::string, std::string>> pairs;
};

// In the order of the table.
const std::vector<std::string>& feature_names();
const std::vector<std::string>& directive_names();
std::uint64_t possible_pairs();

void add(Coverage& coverage, const Case& c, const Verdict& verdict);
void append(Coverage& coverage, const Coverage& more);
// "feature scatter: never accepted": what was never drawn, accepted or executed.
// Of a run for a CPU or a GPU: some rows are of one of them alone.
std::vector<std::string> empty_rows(const Coverage& coverage, bool gpu);
// Text for a person.
std::string to_table(const Coverage& coverage);

}  // namespace polyte::fuzz
