#include "driver/judge/fuzz/random_styles.h"

namespace polyte::fuzz {
namespace {

std::string neighbour(ProgramDraft& draft, const std::string& array,
                      const std::vector<std::string>& its) {
  std::vector<std::string> subscripts;
  for (const std::string& it : its)
    subscripts.push_back(
        with_offset(it, draft.random().chance(60) ? 0 : draft.random().between(-1, 1)));
  return array + "[" + join_words(subscripts) + "]";
}

std::string combination(ProgramDraft& draft, const std::vector<std::string>& terms) {
  std::string text = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i) {
    const int form = draft.random().between(0, 9);
    text = form < 6   ? text + " + " + terms[i]
           : form < 8 ? "max(" + text + ", " + terms[i] + ")"
                      : text + " - " + terms[i];
  }
  return text;
}

// One to three statements on one or two arrays, any neighbours.
//   loop t in 0..T
//     S0: A[i] = A[i - 1] + B[i]  for i in 1..M - 1
//     S1: B[i] = A[i + 1] + B[i]  for i in 1..M - 1
void stencils(ProgramDraft& draft) {
  const int rank = draft.random().between(1, 2), arrays = draft.random().between(1, 2);
  const std::vector<std::string> its =
      rank == 1 ? std::vector<std::string>{"i"} : std::vector<std::string>{"i", "j"};
  const std::vector<std::string> shape =
      rank == 1 ? std::vector<std::string>{"M"} : std::vector<std::string>{"M", "N"};
  std::vector<std::string> names;
  for (int a = 0; a < arrays; ++a) {
    names.push_back(a == 0 ? "A" : "B");
    draft.declare("inout", names.back(), draft.type(), shape);
  }
  const std::string down = draft.random().chance(15) ? " step -1" : "";
  draft.add_line("loop t in 0..T" + down);
  const int count = draft.random().between(1, arrays + 1);
  for (int s = 0; s < count; ++s) {
    std::vector<std::string> terms;
    for (int n = draft.random().between(1, 4); n > 0; --n)
      terms.push_back(neighbour(draft, draft.random().pick(names), its));
    std::string ranges = "i in 1..M - 1";
    if (rank == 2)
      ranges += draft.random().chance(20) ? ", j in 1..min(i + 1, N) - 1" : ", j in 1..N - 1";
    if (ranges.find("min(") != std::string::npos) ranges = "i in 1..M - 1, j in 1..N - 1 if j <= i";
    draft.add_line("  S" + std::to_string(s) + ": " +
                   names[static_cast<std::size_t>(s) % names.size()] + "[" + join_words(its) +
                   "] = " + combination(draft, terms) + "  for " + ranges);
  }
}

// Time is a dimension of the tensor: nothing is overwritten, unlike in stencils in place.
void time_indexed(ProgramDraft& draft) {
  draft.declare("inout", "A", draft.type(), {"T + 1", "M"});
  draft.declare("in", "x", draft.type(), {"T", "M"});
  const std::string back = draft.random().chance(40) ? "A[t, i - 1]" : "A[t, i]";
  draft.add_line("loop t in 0..T");
  draft.add_line("  S: A[t + 1, i] = " + combination(draft, {back, "x[t, i]", "A[t, i]"}) +
                 "  for i in 1..M");
}

// As a recurrent network: each step needs all of the state before it.
void recurrence(ProgramDraft& draft) {
  draft.declare("inout", "h", draft.type(), {"M"});
  draft.declare("const", "w", draft.type(), {"M", "M"});
  draft.declare("in", "x", draft.type(), {"T", "M"});
  draft.add_line("loop t in 0..T");
  draft.add_line("  g[i] = " + draft.random().pick(std::vector<std::string>{"sum", "max", "min"}) +
                 "[k in 0..M] w[i, k] * h[k]  for i in 0..M");
  draft.add_line("  H: h[i] = " + combination(draft, {"g[i]", "x[t, i]", "h[i]"}) +
                 "  for i in 0..M");
}

// The matrix is accessed as by an LU or Cholesky factorisation: a column below the pivot, then
// what is right of it, which reads that column.
void elimination(ProgramDraft& draft) {
  draft.declare("inout", "A", draft.type(), {"M", "M"});
  draft.add_line("loop k in 0..M");
  draft.add_line("  C: A[i, k] = " + combination(draft, {"A[i, k]", "A[k, k]"}) +
                 "  for i in k + 1..M");
  draft.add_line(std::string("  U: A[i, j] ") + (draft.random().chance(70) ? "+=" : "max=") +
                 " A[i, k] * A[" + (draft.random().chance(50) ? "j, k" : "k, j") +
                 "]  for i in k + 1..M, j in k + 1.." +
                 (draft.random().chance(50) ? "i + 1" : "M"));
}

// Upwards y[t] reads y[t - 1]; downwards y[t + 1].
void scan(ProgramDraft& draft) {
  draft.declare("inout", "y", draft.type(), {"M", "N"});
  draft.declare("in", "x", draft.type(), {"M", "N"});
  const bool down = draft.random().chance(40);
  draft.add_line(down ? "loop t in 0..M - 1 step -1" : "loop t in 1..M");
  const std::string carried = std::string("y[t ") + (down ? "+" : "-") + " 1, j]";
  draft.add_line("  S: y[t, j] = " + combination(draft, {carried, "x[t, j]"}) + "  for j in 0..N");
  if (draft.random().chance(40))
    draft.add_line("  R: y[t, j] += " + carried + " * x[t, j]  for j in 0..N");
}

}  // namespace

void region(ProgramDraft& draft) {
  const int form = draft.random().between(0, 99);
  if (form < 45)
    stencils(draft);
  else if (form < 60)
    time_indexed(draft);
  else if (form < 75)
    recurrence(draft);
  else if (form < 85 && !draft.is_exact())
    elimination(draft);
  else
    scan(draft);
}

}  // namespace polyte::fuzz
