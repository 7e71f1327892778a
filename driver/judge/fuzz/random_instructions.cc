#include "driver/judge/fuzz/random_styles.h"

namespace polyte::fuzz {
namespace {

struct Dot {
  const char *a, *b, *c, *row, *value;
};

void products(ProgramDraft& draft, const std::string& rows, const std::string& lanes) {
  const std::string type = draft.random().chance(60) ? "f32" : "f64";
  draft.declare("in", "da", type, {rows, lanes});
  draft.declare("in", "db", type, {lanes});
  draft.declare("inout", "dc", type, {rows, lanes});
  const std::string a = draft.random().chance(50) ? "da[r, i]" : "da[r, 0]";
  draft.add_line("U: dc[r, i] += " + a + " * db[i]  for r in 0.." + rows + ", i in 0.." + lanes);
}

void sums(ProgramDraft& draft, const std::string& rows, const std::string& lanes) {
  draft.declare("in", "da", "i32", {rows, lanes});
  draft.declare("inout", "dc", "i32", {rows});
  draft.add_line("U: dc[r] += da[r, i]  for r in 0.." + rows + ", i in 0.." + lanes);
}

}  // namespace

// The dot products are those of x86's vpdpbusd (u8 * i8, four at a time into i32), vpdpwssd (i16,
// two at a time) and psadbw (eight absolute differences of bytes). Lanes are now and then none of
// its vectors' lengths.
void instructions(ProgramDraft& draft) {
  static const std::vector<Dot> kDots = {
      {"u8", "i8", "i32", "4", "i32(da[r, i, k]) * i32(db[i, k])"},
      {"u8", "i8", "i32", "4", "i32(db[i, k]) * i32(da[r, i, k])"},
      {"i16", "i16", "i32", "2", "i32(da[r, i, k]) * i32(db[i, k])"},
      {"u8", "u8", "i64", "8", "i64(abs(i32(da[r, i, k]) - i32(db[i, k])))"}};
  const std::string lanes =
      draft.random().pick(std::vector<std::string>{"2", "4", "4", "8", "8", "16", "12", "6", "5"});
  const std::string rows = std::to_string(draft.random().between(1, 3));
  if (!draft.is_integer()) return products(draft, rows, lanes);
  if (draft.random().chance(25)) return sums(draft, rows, lanes);
  const Dot& dot = draft.random().pick(kDots);
  draft.declare("in", "da", dot.a, {rows, lanes, dot.row});
  draft.declare("const", "db", dot.b, {lanes, dot.row});
  draft.declare("inout", "dc", dot.c, {rows, lanes});
  draft.add_line(std::string("U: dc[r, i] += ") + dot.value + "  for r in 0.." + rows +
                 ", i in 0.." + lanes + ", k in 0.." + dot.row);
}

}  // namespace polyte::fuzz
