#include "driver/judge/fuzz/random_styles.h"

namespace polyte::fuzz {
namespace {

//   t1[i, j] = x0[i, j] + max(x2[j], 3)  for i in 0..M, j in 0..N
void pointwise(ProgramDraft& draft) {
  const std::vector<Iterator> its = draft.free_iterators();
  const std::string name = draft.fresh("t");
  draft.add_line(name + "[" + join_words(names_of(its)) +
                 "] = " + draft.clamped(draft.value(its, draft.random().between(1, 3))) + "  for " +
                 ranges_text(its));
  draft.add_tensor({name, draft.type(), shape_of(its)});
}

// `k in 0..M, r in 0..3`; now and then one ends or begins at a free iterator: a triangle.
std::string reduced_text(ProgramDraft& draft, const std::vector<Iterator>& its,
                         std::vector<Iterator>& reduced) {
  std::vector<std::string> parts;
  for (Iterator& r : reduced) {
    if (draft.random().chance(20)) r.extent = {"", draft.random().between(1, 3)};
    const Iterator& outer = draft.random().pick(its);
    std::string begin = "0", end = r.extent.text();
    if (draft.random().chance(22)) {
      r.extent = outer.extent;
      r.triangular = true;
      if (draft.random().chance(50))
        begin = outer.name, end = outer.extent.text();
      else
        end = outer.name + (draft.random().chance(50) ? " + 1" : "");
    }
    parts.push_back(r.name + " in " + begin + ".." + end);
  }
  return join_words(parts);
}

//   t3[i] = sum[k in 0..i + 1, r in 0..3] t1[i, k] * x4[r]  for i in 0..M
void reduction(ProgramDraft& draft) {
  static const std::vector<std::string> kAny = {"sum", "sum", "sum",    "sum",
                                                "max", "min", "product"};
  std::vector<Iterator> its = draft.free_iterators();
  if (its.size() > 2) its.pop_back();
  if (its.size() > 1 && draft.random().chance(30)) its.pop_back();
  std::vector<Iterator> reduced = draft.random_iterators(draft.random().between(1, 2), "kr");
  std::string over = reduced_text(draft, its, reduced);
  std::vector<Iterator> all = its;
  all.insert(all.end(), reduced.begin(), reduced.end());
  std::string combiner = draft.random().pick(kAny);
  if (draft.is_exact() && combiner == "product") combiner = "sum";
  if (draft.is_integer() && draft.random().chance(10))
    combiner = draft.random().chance(50) ? "and" : "or";
  const std::string name = draft.fresh("t");
  const std::string product =
      draft.random().chance(60) ? draft.read(all) + " * " + draft.read(all) : draft.value(all, 2);
  draft.add_line(name + "[" + join_words(names_of(its)) + "] = " + combiner + "[" + over + "] " +
                 draft.clamped(product) + "  for " + ranges_text(its));
  draft.add_tensor({name, draft.type(), shape_of(its)});
}

//   (v1, p2)[i] = argmax[k in 0..K] (x0[i, k], k)  for i in 0..M
void arg_reduction(ProgramDraft& draft) {
  std::vector<Iterator> its = draft.free_iterators();
  if (its.size() > 2) its.resize(2);
  const Iterator k{"k", draft.random_extent()};
  std::vector<Iterator> all = its;
  all.push_back(k);
  const std::string best = draft.fresh("v"), place = draft.fresh("p");
  const std::string subscripts = "[" + join_words(names_of(its)) + "]";
  // Positions that several terms share: which of equal values it is shows in their bits.
  const std::string position = draft.random().chance(80)   ? "k"
                               : draft.random().chance(50) ? "k // 3"
                                                           : "k % 2";
  draft.add_line("(" + best + ", " + place + ")" + subscripts + " = " +
                 (draft.random().chance(50) ? "argmax" : "argmin") + "[k in 0.." + k.extent.text() +
                 "] (" + draft.value(all, 1) + ", " + position + ")  for " + ranges_text(its));
  draft.add_tensor({best, draft.type(), shape_of(its)});
  draft.add_tensor({place, "i64", shape_of(its)});
}

}  // namespace

// Half element-wise, most others reductions: what a fused kernel of a network looks like.
void pipeline(ProgramDraft& draft, int statements) {
  for (int s = 0; s < statements; ++s) {
    const int form = draft.random().between(0, 99);
    if (form < 50)
      pointwise(draft);
    else if (form < 92)
      reduction(draft);
    else
      arg_reduction(draft);
  }
}

}  // namespace polyte::fuzz
