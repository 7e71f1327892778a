#include "driver/judge/fuzz/random_styles.h"

namespace polyte::fuzz {
namespace {

std::string literal_above_one(ProgramDraft& draft) {
  return std::to_string(draft.random().between(2, 3));
}
std::string read_plain(ProgramDraft& draft, const std::vector<Iterator>& its) {
  return draft.read_new({its[0]});
}

// The tensor itself, one element back: guarded, for the first has none.
std::string shifted_self(ProgramDraft& draft, const DrawnTensor& c,
                         const std::vector<Iterator>& its) {
  std::vector<std::string> subscripts;
  for (std::size_t d = 0; d < its.size(); ++d)
    subscripts.push_back(
        with_offset(its[d].name, draft.random().chance(50) ? -1 : draft.random().between(-1, 1)));
  return "(" + c.name + "[" + join_words(subscripts) + "] else 0)";
}

}  // namespace

//   S2: c0[i, j] += x1[i, k] * 2  for i in 0..M, j in 0..i + 1, k in 0..K if j < N
//
// A second iterator may end at the first one; where it subscripts, the condition keeps it inside.
void in_place(ProgramDraft& draft) {
  const std::vector<Iterator> its = draft.random_iterators(draft.random().between(1, 2), "ij");
  DrawnTensor c{draft.fresh("c"), draft.type(), shape_of(its)};
  for (Extent& e : c.shape) e.halo += draft.random().chance(25) ? 1 : 0;
  draft.declare("inout", c);
  std::vector<Iterator> all = its;
  const int form = draft.random().between(0, 99);
  std::string sign = " = ";
  if (form < 60) {
    sign =
        draft.random().pick(std::vector<std::string>{" += ", " += ", " max= ", " min= ", " *= "});
    if (draft.is_exact() && sign == " *= ") sign = " += ";
    if (draft.random().chance(60)) all.push_back({"k", draft.random_extent()});
  }
  std::vector<std::string> parts, predicates;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::string begin = "0", end = all[i].extent.text();
    if (i > 0 && draft.random().chance(20)) {
      all[i].extent = all[0].extent, all[i].triangular = true;
      if (i < its.size()) predicates.push_back(all[i].name + " < " + its[i].extent.text());
      if (draft.random().chance(50))
        begin = all[0].name, end = all[0].extent.text();
      else
        end = all[0].name + " + 1";
    } else if (i < its.size() && draft.random().chance(20)) {
      begin = "1";
    }
    parts.push_back(all[i].name + " in " + begin + ".." + end);
  }
  if (draft.random().chance(15))
    predicates.push_back(all[0].name + " % " + literal_above_one(draft) + " == 0");
  std::string text =
      draft.fresh("S") + ": " + c.name + "[" + join_words(names_of(its)) + "]" + sign;
  text += draft.clamped(form < 60 ? draft.value(all, 2)
                        : draft.random().chance(50)
                            ? draft.value(its, 2)
                            : shifted_self(draft, c, its) + " + " + draft.value(its, 1));
  text += "  for " + join_words(parts);
  for (std::size_t p = 0; p < predicates.size(); ++p)
    text += (p == 0 ? " if " : " and ") + predicates[p];
  if (draft.random().chance(12)) text += "  when " + read_plain(draft, its) + " < 2";
  draft.add_line(text);
  c.was_read = true;
  draft.add_tensor(c);
}

}  // namespace polyte::fuzz
