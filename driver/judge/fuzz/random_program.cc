#include "driver/judge/fuzz/random_program.h"

#include <algorithm>

#include "driver/judge/fuzz/random_styles.h"
#include "driver/judge/fuzz/random_updates.h"
#include "ir/program_text.h"

namespace polyte::fuzz {
namespace {

// Maxima and the sums that can run along with them. A quotient may have a definition, rounded or
// not, whose divisor may change before the sum reads it.
//   top[i] = max[j] x[i, j]
//   total[i] = sum[j in 0..N] exp(x[i, j] - top[i])
//   w[i, d] = sum[j] exp(x[i, j] - top[i]) * v[j, d]
//   o[i, d] = w[i, d] / total[i]
//   y[i, j] = exp(x[i, j] - top[i]) / total[i]
RandomProgram softmax(Random& random) {
  const bool weighs = random.chance(50), lives_on = random.chance(30),
             divides_terms = weighs && random.chance(50);
  const bool defines = divides_terms && random.chance(50),
             rounds = defines && lives_on && random.chance(50);
  std::string text = "program f(M, N, K)\n  in    x: f64[M, N]\n";
  if (weighs) text += "  in    v: f64[N, K]\n  out   o: f64[M, K]\n";
  text += "  out   y: f64[M, N]\n\n  top[i] = max[j] x[i, j]\n";
  const std::string term = lives_on ? "e[i, j]" : "exp(x[i, j] - top[i])";
  if (lives_on) text += "  e[i, j] = exp(x[i, j] - top[i])\n";
  text += "  total[i] = sum[j in 0..N] " + term + "\n";
  if (defines) {
    const std::string quotient = term + " / total[i]";
    text += "  p[i, j] = " + (rounds ? "f32(" + quotient + ")" : quotient) + "\n";
    if (random.chance(30)) text += "  T: total[i] = total[i] * 2\n";
    text +=
        std::string("  o[i, d] = sum[j] ") + (rounds ? "f64(p[i, j])" : "p[i, j]") + " * v[j, d]\n";
  } else if (divides_terms)
    text += "  o[i, d] = sum[j] " + term + " / total[i] * v[j, d]\n";
  else if (weighs)
    text += "  w[i, d] = sum[j] " + term + " * v[j, d]\n  o[i, d] = w[i, d] / total[i]\n";
  text += "  y[i, j] = " + term + " / total[i]\n";
  return {
      .text = text, .exact_sums = true, .tolerance = rounds ? 1e-6 : 1e-9, .has_functions = true};
}

// Products of columns above a diagonal, below one, or near it: tiles of their sums are cut
// on either side.
//   S: y[i, j] += x[k, i] * x[k, j]  for i in 0..N, k in 0..K, j in i..N
RandomProgram gram(Random& random) {
  static const std::vector<std::string> kColumns = {"j in i..N", "j in i+1..N", "j in 0..i+1",
                                                    "j in 0..i", "j in i..i+3 if j < N"};
  static const std::vector<std::string> kTypes = {"f64", "f64", "f32", "i32"};
  const std::string type = random.pick(kTypes), columns = random.pick(kColumns);
  std::string text =
      "program f(N, K)\n  in    x: " + type + "[K, N]\n  inout y: " + type + "[N, N]\n\n";
  if (random.chance(40)) text += "  Z: y[i, j] = 0  for i in 0..N, " + columns + "\n";
  text += "  S: y[i, j] += x[k, i] * x[k, j]  for i in 0..N, k in 0..K, " + columns + "\n";
  return {.text = text, .exact_sums = true};
}

// Rows, enough for several to come together, that are added to the same cells: beside what each
// row makes of itself, or of what the rows before it have added. Of a triangle each sum needs
// all of the one before, by what that does to `w`: its terms are added up in parts, and end
// anywhere in these.
//   loop i in 0..37
//     Q: q[i] += x[i, j] * p[j]  for j in 0..N
//     S: s[j] += x[i, j] * q[i]  for j in 0..N
RandomProgram rows(Random& random) {
  static const std::vector<std::string> kTypes = {"f64", "f64", "f32", "i32"};
  static const std::vector<std::string> kWraps = {"i32", "i64"};  // of what grows with each row
  static const std::vector<std::string> kColumns = {"j in 0..N", "j in 0..N",
                                                    "j in 0..i+1 if j < N", "j in 1..N"};
  enum { Waits, Sums, Triangle, Reads };
  const int form = random.between(Waits, Reads);
  const std::string type = random.pick(form == Waits || form == Triangle ? kWraps : kTypes);
  const std::string rows =
      std::to_string(form == Triangle ? random.between(60, 90) : random.between(32, 45));
  std::string text = "program f(N)\n  in    x: " + type + "[" + rows + ", " + rows +
                     " + N]\n  in    p: " + type + "[N + 1]\n  inout q: " + type + "[" + rows +
                     "]\n  inout s: " + type + "[N + 1]\n";
  if (form == Triangle) text += "  inout w: " + type + "[" + rows + "]\n";
  text += "\n  loop i in 0.." + rows + "\n    Q: q[i] ";
  text += form == Sums ? "+= x[i, j] * p[j]  for j in 0..N\n"
          : form == Triangle
              ? "+= x[i, j] * w[j]  for j in 0..i\n    W: w[j] += q[i]  for j in 0.." + rows + "\n"
              : std::string("= ") + (form == Waits ? "s" : "p") + "[0] * 2\n";
  const bool is_maximum = random.chance(25), is_first = random.chance(50);
  text += std::string("    S: s[j] ") + (is_maximum ? "max= x[i, j] + " : "+= x[i, j] * ") +
          (is_first && form != Waits ? "p[j]" : "q[i]") + "  for " + random.pick(kColumns) + "\n";
  return {.text = text, .exact_sums = true};
}

// One matrix in both directions: sums along its rows and over them, perhaps of rows that have just
// been made. They take one pass over it, unless one of them needs what another makes of a whole
// row, or has other terms.
//   U: x[i, j] = x[i, j] + r[i] * p[j]  for i in 0..37, j in 0..40
//   Q: q[i] += x[i, j] * p[j]           for i in 0..37, j in 0..40
//   S: s[j] += x[i, j] * r[i]           for j in 0..40, i in 0..37
RandomProgram both_ways(Random& random) {
  static const std::vector<std::string> kTypes = {"f64", "f64", "i64", "f32"};
  const std::string type = random.pick(kTypes);
  const std::string rows = std::to_string(random.between(32, 45)),
                    columns =
                        random.chance(50) ? "N + 140" : std::to_string(random.between(120, 180));
  const bool is_made = random.chance(35), waits = random.chance(20), is_other = random.chance(20);
  const std::string row = "i in 0.." + rows, all = "j in 0.." + columns,
                    some = is_other ? "j in 1.." + columns : all;
  std::string text = "program f(N)\n  " + std::string(is_made ? "inout" : "in   ") + " x: " + type +
                     "[" + rows + ", " + columns + "]\n  in    p: " + type + "[" + columns +
                     "]\n  in    r: " + type + "[" + rows + "]\n  inout q: " + type + "[" + rows +
                     "]\n  inout s: " + type + "[" + columns + "]\n\n";
  const bool is_maximum = random.chance(20);
  const std::string sums[] = {"  Q: q[i] += x[i, j] * p[j]  for " + row + ", " + some + "\n",
                              "  S: s[j] " +
                                  std::string(is_maximum ? "max= x[i, j] + " : "+= x[i, j] * ") +
                                  (waits ? "q" : "r") + "[i]  for " + all + ", " + row + "\n"};
  const bool is_turned = random.chance(40);
  if (is_made) text += "  U: x[i, j] = x[i, j] + r[i] * p[j]  for " + row + ", " + all + "\n";
  text += sums[is_turned ? 1 : 0];
  if (!is_made || random.chance(60)) text += sums[is_turned ? 0 : 1];
  return {.text = text, .exact_sums = true};
}

// A product of matrices for each of some batches. Dimensions of one element stand before the others
// or behind them, as networks have them; a chain of definitions may follow. Its loops may be those
// of regions that order nothing. Tiles have room: its sizes are no parameters, but for the rows of
// some. Some multiply bf16 into f32, as tensor cores do.
//   o[b, m, n] = sum[k in 0..20] p[b, m, k] * q[b, k, n]
//   r[b, m, n] = o[b, m, n] * 2
//   y[b, m, n] = max(r[b, m, n], 0) + r[b, m, n]
RandomProgram batches(Random& random) {
  static const std::vector<std::string> kTypes = {"f32", "f32", "i32", "f64"};
  const bool is_large = random.chance(50), is_short = random.chance(25);
  std::string m = std::to_string(is_large ? random.between(32, 48) : random.between(8, 24));
  const std::string n = std::to_string(is_large ? random.between(32, 48) : random.between(8, 24)),
                    k = std::to_string(is_large ? random.between(16, 40) : random.between(4, 20));
  const std::string type = is_short ? "f32" : random.pick(kTypes), read = is_short ? "bf16" : type;
  std::string before, behind, ranges, at_front, at_back;  // dimensions and their subscripts
  for (const char* loop : {"b", "c"}) {
    if (random.chance(40)) continue;
    const std::string size = random.chance(60) ? "1" : "2";
    before += size + ", ", at_front += std::string(loop) + ", ",
        ranges += std::string(", ") + loop + " in 0.." + size;
  }
  const bool rows_are_outermost = before.find('2') == std::string::npos;
  if (rows_are_outermost && random.chance(50)) m = "M";
  if (random.chance(40)) behind = ", 1", at_back = ", u", ranges += ", u in 0..1";
  const auto tensor = [&](const std::string& of, const std::string& rows,
                          const std::string& columns) {
    return of + "[" + before + rows + ", " + columns + behind + "]\n";
  };
  const auto element = [&](const char* name, const char* row, const char* column) {
    return std::string(name) + "[" + at_front + row + ", " + column + at_back + "]";
  };
  const std::string row = "  for n in 0.." + n + ranges + "\n", o = element("o", "m", "n");
  const std::string all = "  for m in 0.." + m + ", n in 0.." + n + ranges + "\n";
  std::string text = "program f(" + std::string(m == "M" ? m : "") +
                     ")\n  in    p: " + tensor(read, m, k) + "  in    q: " + tensor(read, k, n) +
                     "  out   y: " + tensor(type, m, n) + "\n";
  const bool follows = random.chance(60);
  const std::string sum = follows ? o : element("y", "m", "n");
  const auto factor = [&](const std::string& x) { return is_short ? "f32(" + x + ")" : x; };
  const std::string term = factor(element("p", "m", "k")) + " * " + factor(element("q", "k", "n"));
  if (random.chance(20))
    text += "  loop m in 0.." + m + "\n    " + sum + " = sum[k in 0.." + k + "] " + term + row;
  else if (random.chance(20))
    text += "  " + sum + " = " + type + "(0)" + all + "  loop k in 0.." + k + "\n    " + sum +
            " += " + term + all;
  else if (random.chance(20))
    text += "  loop m in 0.." + m + "\n    H1: " + sum + " = " + type + "(0)" + row +
            "    loop k in 0.." + k + "\n      H2: " + sum + " += " + term + row;
  else
    text += "  " + sum + " = sum[k in 0.." + k + "] " + term + all;
  const std::string r = element("r", "m", "n");
  if (follows)
    text += "  " + r + " = " + o + " * 2" + all + "  " + element("y", "m", "n") + " = max(" + r +
            ", 0) + " + r + all;
  return {.text = text, .exact_sums = true};
}

// Products of whole images: convolutions by 1x1, whose rows and columns are walked as one
// dimension, and sums over channels in two dimensions. Or of nearly whole ones: part of each row,
// rows of another length in memory, a factor for each row, results that are read turned.
//   y[o, i, j] = sum[c, r in 0..1, s in 0..1] x[c, i + r, j + s] * w[o, c, r, s]
RandomProgram images(Random& random) {
  static const std::vector<std::string> kTypes = {"f32", "f32", "i32", "f64"};
  enum { Whole, Part, Longer, ByRow, Turned };
  const int form = random.chance(60) ? Whole : random.between(Part, Turned);
  const bool has_taps = random.chance(40), is_last = random.chance(30), has_two = random.chance(30),
             is_offset = random.chance(25);  // by an iterator that is never but 0
  const std::string type = random.pick(kTypes), rows = std::to_string(random.between(2, 8)),
                    channels = std::to_string(random.between(3, 9));
  const int columns = random.between(3, 20);
  const std::string row = has_taps ? "i + r" : "i", column = has_taps ? "j + s" : "j",
                    c = has_two ? "c, d" : "c", deep = channels + (has_two ? ", 3" : ""),
                    taps = has_taps ? ", 1, 1" : "";
  const auto order = [&](const std::string& first, const std::string& image) {
    return "[" + (is_last ? image + ", " + first : first + ", " + image) + "]";
  };
  const std::string image = rows + ", " + std::to_string(columns),
                    stored = rows + ", " + std::to_string(columns + (form == Longer ? 2 : 0));
  std::string text = "program f(N)\n  in    x: " + type + order(deep, stored) +
                     "\n  in    w: " + type + "[N + 3, " + deep + taps + "]\n  in    b: " + type +
                     "[" + rows + "]\n  out   y: " + type + order("N + 3", image) + "\n";
  const bool follows = form == Turned || (form != Part && random.chance(40));
  if (follows)
    text += "  out   z: " + type +
            order("N + 3", form == Turned ? std::to_string(columns) + ", " + rows : image) + "\n";
  text += "\n  y" + order("o", is_offset ? "i + u, j" : "i, j") + " = sum[" + c +
          (has_taps ? ", r, s" : "") + "] x" + order(c, row + ", " + column) + " * w[o, " + c +
          (has_taps ? ", r, s" : "") + "]" + (form == ByRow ? " * b[i]" : "") +
          "  for o in 0..N + 3, i in 0.." + rows + ", j in " + (form == Part ? "1.." : "0..") +
          std::to_string(columns) + (is_offset ? ", u in 0..1\n" : "\n");
  if (follows)
    text += "  z" + order("o", "i, j") + " = max(y" + order("o", form == Turned ? "j, i" : "i, j") +
            ", 1) + 1\n";
  return {.text = text, .exact_sums = true};
}

RandomProgram styled_program(Random& random) {
  ProgramDraft draft(random);
  if (random.chance(9)) {
    instructions(draft);
    return draft.finish();
  }
  if (random.chance(6)) return softmax(random);
  if (random.chance(7)) {
    const int form = random.between(0, 99);
    return form < 30 ? scaled(random) : form < 60 ? turns(random) : flat(random);
  }
  const int style = random.between(0, 99);
  if (style < 2) return random.chance(50) ? rows(random) : both_ways(random);
  if (style < 5) return gram(random);
  if (style < 9) return batches(random);
  if (style < 14) return images(random);
  if (style < 60) {
    pipeline(draft, random.between(1, 4));
  } else if (style < 82) {
    region(draft);
    if (random.chance(25)) pipeline(draft, 1);
  } else {
    in_place(draft);
    if (random.chance(40)) in_place(draft);
    if (random.chance(25)) pipeline(draft, 1);
  }
  return draft.finish();
}

// Mostly about the size of the tiles that are drawn; 0 and 1 are where code for whole tiles, first
// and last iterations goes wrong.
std::int64_t random_size(Random& random) {
  const int form = random.between(0, 99);
  if (form < 4) return 0;
  if (form < 18) return 1;
  if (form < 80) return random.between(2, 7);
  return random.between(8, 12);
}

// What a person may know of the sizes, said in the header of one Program of six.
void draw_context(RandomProgram& program, Random& random) {
  static const std::vector<std::string> kFacts = {
      "M >= 1", "M <= N", "K >= 2", "N >= 1 and K >= 1", "T >= 1", "N <= K + 2", "2*M >= N",
      "P == 3", "K >= M", "T <= 3", "M + N <= 14"};
  if (!random.chance(16)) return;
  const std::size_t end = program.text.find('\n');
  if (program.text.substr(0, end).find("T)") == std::string::npos) return;
  const bool has_one = program.text.substr(0, end).find(" where ") != std::string::npos;
  program.text.insert(end, (has_one ? " and " : " where ") + random.pick(kFacts));
}

// What is drawn has to be a Program: where it is none, it is shown.
ir::Program parsed_program(const RandomProgram& program) {
  try {
    return ir::parse_program(program.text, "random.program");
  } catch (const UserError& e) {
    throw UserError(e.status(), std::string(e.what()) + "\n" + program.text);
  }
}

// Sizes that the Program's context allows.
// By trying: a context is seldom hard to satisfy, and one that 200 draws do not satisfy is a fault
// of the generator.
void draw_sizes(RandomProgram& program, Random& random) {
  const ir::Program parsed = parsed_program(program);
  for (int trial = 0; trial < 200; ++trial) {
    for (const std::string& param : kParams) program.sizes[param] = random_size(random);
    program.sizes["T"] = random.between(0, 4);
    if (allows(parsed, program.sizes)) return;
  }
  throw InternalError("no sizes for\n" + program.text);
}

}  // namespace

RandomProgram random_program(Random& random) {
  RandomProgram program = random.chance(45) ? random_updates(random) : styled_program(random);
  draw_context(program, random);
  draw_sizes(program, random);
  return program;
}

bool allows(const ir::Program& program, const ir::Values& sizes) {
  return std::ranges::all_of(program.context, [&](const ir::Constraint& c) {
    const std::int64_t value = ir::evaluate(c.expr, sizes);
    return c.equality ? value == 0 : value >= 0;
  });
}

std::shared_ptr<const ir::Program> bound_program(const RandomProgram& program) {
  const ir::Program parsed = ir::parse_program(program.text, "random.program");
  ir::Values sizes;
  for (const std::string& param : parsed.params) sizes[param] = program.sizes.at(param);
  return std::make_shared<const ir::Program>(ir::bind(parsed, sizes));
}

}  // namespace polyte::fuzz
