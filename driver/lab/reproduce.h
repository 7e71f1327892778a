// The same plan measured twice, perhaps on two machines: what agrees, row by row. Times may differ;
// that is no disagreement. What should hold elsewhere is which arms can be had, what they compute,
// and who is faster than whom.
#pragma once

#include <string>
#include <vector>

#include "driver/lab/results.h"

namespace polyte::lab {

struct ReproducedArm {
  std::string arm;
  std::string status;  // "ok", "was ok, is absent: .."
  bool same_status = true, same_outputs = true, same_loops = true;
  bool has_outputs = false, has_loops = false;  // both runs know them
  std::optional<Interval> was, is;              // ratios to the baseline
  bool ratios_agree = true;                     // their intervals overlap
};

struct ReproducedRow {
  std::string row;
  std::vector<ReproducedArm> arms;
  // "poly before naive": pairs that were told apart at first.
  std::vector<std::string> kept, turned, untold;
  bool agrees() const;  // all arms can be had again and no pair has turned around
};

struct Reproduction {
  std::vector<ReproducedRow> rows;
  std::string was, is;  // the machines
  bool agrees() const;
};

// Of two evaluations of one plan.
Reproduction reproduce(const Results& was, const Results& is);
std::string reproduction_text(const Reproduction& reproduction);  // 80 columns
nlohmann::ordered_json to_json(const Reproduction& reproduction);

}  // namespace polyte::lab
