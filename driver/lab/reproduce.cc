#include "driver/lab/reproduce.h"

#include <algorithm>

#include "driver/lab/report.h"
#include "driver/lab/text_table.h"
#include "support/join_words.h"

namespace polyte::lab {
namespace {

using Json = nlohmann::ordered_json;

// Three questions, from the exact to the statistical: can the arm be had, are outputs and loops
// the same bits, do the ratios agree.
ReproducedArm reproduced(const ArmResult& was, const ArmResult& is) {
  ReproducedArm arm;
  arm.arm = was.name;
  arm.same_status = was.status == is.status;
  arm.status = arm.same_status ? was.status
                               : "was " + was.status + ", is " + is.status +
                                     (is.reason.empty() ? "" : ": " + is.reason);
  const auto compare = [&](const char* key, bool& has, bool& same) {
    const std::string before = fact(was, key), now = fact(is, key);
    has = !before.empty() && !now.empty();
    same = !has || before == now;
  };
  compare("outputs_digest", arm.has_outputs, arm.same_outputs);
  compare("loops_digest", arm.has_loops, arm.same_loops);
  arm.was = was.ratio;
  arm.is = is.ratio;
  if (arm.was && arm.is)
    // Two 95 % intervals that overlap.
    arm.ratios_agree = arm.was->low <= arm.is->high && arm.is->low <= arm.was->high;
  return arm;
}

// The order of two arms as a run tells it: by the ratio of their own rounds, if that is beyond
// the row's noise.
// -1: a is faster, 1: b is, 0: undecided.
int order_of(const RowResult& row, const std::string& a, const std::string& b) {
  const ArmResult *first = row.find(a), *second = row.find(b);
  if (!first || !second || !first->is_timed() || !second->is_timed()) return 0;
  const Interval ratio = paired_ratio(first->samples, second->samples, {1000, 1});
  if (!passes_noise(ratio, row)) return 0;
  return ratio.estimate < 1 ? -1 : 1;
}

// Only pairs that the first run told apart are claims to be reproduced. Absolute times are none:
// they are of a machine.
void compare_order(const RowResult& was, const RowResult& is, ReproducedRow& row) {
  for (std::size_t i = 0; i < was.arms.size(); ++i)
    for (std::size_t j = i + 1; j < was.arms.size(); ++j) {
      const std::string &a = was.arms[i].name, &b = was.arms[j].name;
      const int before = order_of(was, a, b), now = order_of(is, a, b);
      if (before == 0) continue;
      const std::string words = before < 0 ? a + " before " + b : b + " before " + a;
      (now == before ? row.kept : now == 0 ? row.untold : row.turned).push_back(words);
    }
}

//   gemm m=64 n=64 k=64: agrees
//                          ratio was             ratio is
//   template    1.21x [1.190, 1.232]  1.18x [1.160, 1.201]  ok, same outputs, same loops
//   order kept: poly before template
std::string row_text(const ReproducedRow& row) {
  std::vector<Cells> cells;
  for (const ReproducedArm& arm : row.arms) {
    const auto ratio = [](const std::optional<Interval>& r) {
      return r ? ratio_text(r->estimate) + " " + interval_text(*r) : std::string("-");
    };
    std::string words = arm.status;
    if (arm.has_outputs) words += arm.same_outputs ? ", same outputs" : ", other outputs";
    if (arm.has_loops) words += arm.same_loops ? ", same loops" : ", other loops";
    if (!arm.ratios_agree) words += ", other ratio";
    cells.push_back({arm.arm, ratio(arm.was), ratio(arm.is), words});
  }
  std::string text = row.row + (row.agrees() ? ": agrees\n" : ": differs\n");
  text += text_table({"", "ratio was", "ratio is", ""}, cells);
  if (!row.kept.empty()) text += wrapped("order kept: " + join_words(row.kept), "");
  if (!row.untold.empty())
    text += wrapped("not distinguishable here: " + join_words(row.untold), "");
  if (!row.turned.empty()) text += wrapped("turned around: " + join_words(row.turned), "");
  return text;
}

}  // namespace

// Ratios may differ from machine to machine; what must not change is which arms can be had, and
// an order that both runs can tell.
bool ReproducedRow::agrees() const {
  return turned.empty() &&
         std::ranges::all_of(arms, [](const ReproducedArm& arm) { return arm.same_status; });
}

bool Reproduction::agrees() const { return std::ranges::all_of(rows, &ReproducedRow::agrees); }

Reproduction reproduce(const Results& was, const Results& is) {
  Reproduction result;
  result.was = machine_line(was) + "; " + origin_line(was);
  result.is = machine_line(is) + "; " + origin_line(is);
  for (std::size_t i = 0; i < std::min(was.rows.size(), is.rows.size()); ++i) {
    ReproducedRow row;
    row.row = was.rows[i].name;
    for (const ArmResult& arm : was.rows[i].arms)
      if (const ArmResult* other = is.rows[i].find(arm.name))
        row.arms.push_back(reproduced(arm, *other));
    compare_order(was.rows[i], is.rows[i], row);
    result.rows.push_back(std::move(row));
  }
  return result;
}

std::string reproduction_text(const Reproduction& reproduction) {
  std::string text =
      wrapped("was: " + reproduction.was, "") + wrapped("is:  " + reproduction.is, "");
  std::size_t agreeing = 0;
  for (const ReproducedRow& row : reproduction.rows) {
    text += "\n" + row_text(row);
    agreeing += row.agrees() ? 1 : 0;
  }
  return text + "\n" +
         wrapped(std::to_string(agreeing) + " of " + std::to_string(reproduction.rows.size()) +
                     " rows agree: the same arms can be had, and none that were told apart have "
                     "changed places",
                 "");
}

nlohmann::ordered_json to_json(const Reproduction& reproduction) {
  Json rows = Json::array();
  for (const ReproducedRow& row : reproduction.rows) {
    Json arms = Json::array();
    for (const ReproducedArm& arm : row.arms)
      arms.push_back({{"arm", arm.arm},
                      {"status", arm.status},
                      {"same_status", arm.same_status},
                      {"same_outputs", arm.has_outputs ? Json(arm.same_outputs) : Json()},
                      {"same_loops", arm.has_loops ? Json(arm.same_loops) : Json()},
                      {"ratio_was", arm.was ? to_json(*arm.was) : Json()},
                      {"ratio_is", arm.is ? to_json(*arm.is) : Json()},
                      {"ratios_agree", arm.ratios_agree}});
    rows.push_back({{"row", row.row},
                    {"agrees", row.agrees()},
                    {"arms", arms},
                    {"order_kept", row.kept},
                    {"order_not_told", row.untold},
                    {"order_turned", row.turned}});
  }
  return {{"format", "polyte-lab-reproduction/1"},
          {"agrees", reproduction.agrees()},
          {"was", reproduction.was},
          {"is", reproduction.is},
          {"rows", rows}};
}

}  // namespace polyte::lab
