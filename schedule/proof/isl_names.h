// Names for isl's own text, where a reader or another tool is to find a Program's: statement
// acc.update is the tuple acc_update (isl's names have no dots), iterators and sizes keep theirs.
// Within the proof tuples are numbered (isl_bridge.h); these are for what goes out and comes in.
#pragma once

#include "schedule/proof/isl_bridge.h"

namespace polyte::schedule {

// Letters, digits and underscores, none of isl's own words; two names may become one.
std::string isl_name(const std::string& name);

// Of the statements of a model, in their order, and of its sizes: no two alike.
class IslNames {
 public:
  explicit IslNames(const IslModel& model);

  const std::string& statement(std::size_t i) const { return statements_[i]; }
  const std::vector<std::string>& iterators(std::size_t i) const { return iterators_[i]; }
  const std::vector<std::string>& params() const { return params_; }

  // Instances of statement i, or pairs of them, under these names. A range without a statement
  // keeps its own.
  isl::set readable(isl::set instances, std::size_t i) const;
  isl::map readable(isl::map from_instances, std::size_t i) const;
  isl::map readable(isl::map pairs, std::size_t i, std::size_t j) const;
  isl::set readable_params(isl::set of_params) const;

 private:
  std::vector<std::string> statements_, params_;
  std::vector<std::vector<std::string>> iterators_;
};

std::string text_of(const isl::set& set);
std::string text_of(const isl::map& map);

}  // namespace polyte::schedule
