// What is planned for large sizes, by threads and in tiles, proved and executed at small ones:
// sweeps in time with borders, sums along rows and columns of one matrix, rows that begin elsewhere
// each, products in place that read the rows ahead, or those behind, recurrences along rows.
#include <doctest/doctest.h>

#include <map>

#include "driver/compile/describe_target.h"
#include "driver/judge/fuzz/judge.h"
#include "poly/auto_schedule.h"
#include "schedule/templates/templates.h"
#include "support/join_words.h"
#include "tests/fuzz/executed.h"
#include "tests/sweep.h"

namespace polyte::fuzz::planned_test {
namespace {

struct Drawn {
  std::string text;
  ir::Values large, small;
};

std::string number(int value) { return std::to_string(value); }

std::string beside(const std::string& iterator, int by) {
  return by == 0 ? iterator : iterator + (by < 0 ? " - " : " + ") + number(std::abs(by));
}

// One array in place or two in turn, each cell from some neighbours.
Drawn drawn_sweeps(Random& random) {
  const bool is_in_place = random.chance(30), has_border = random.chance(50);
  const int reach = random.between(1, 2);
  std::string text = "program sweeps(T, N)\n  inout A: f64[N, N]\n";
  if (!is_in_place) text += "  inout B: f64[N, N]\n";
  if (has_border) text += "  in    c: f64[T]\n";
  text += "  loop t in 0..T\n";
  if (has_border) text += "    C: A[0, j] = c[t]   for j in 0..N\n";
  const auto sweep = [&](const char* name, const std::string& to, const std::string& from) {
    std::string value = from + "[i, j]";
    for (int n = random.between(1, 3); n > 0; --n)
      value += " + " + from + "[" + beside("i", random.between(-reach, reach)) + ", " +
               beside("j", random.between(-reach, reach)) + "]";
    const std::string range = number(reach) + "..N - " + number(reach);
    text += std::string("    ") + name + ": " + to + "[i, j] = 0.5 * (" + value + ")   for i in " +
            range + ", j in " + range + "\n";
  };
  if (is_in_place) {
    sweep("S", "A", "A");
  } else {
    sweep("S", "B", "A");
    sweep("R", "A", "B");
  }
  return {text,
          {{"T", 400}, {"N", 1500}},
          {{"T", random.between(17, 20)}, {"N", random.between(30, 60)}}};
}

// Arrays of one to three dimensions in place, of one type or another, with and without others
// beside them.
Drawn drawn_sweeps_in_place(Random& random) {
  const auto rank = static_cast<std::size_t>(random.between(1, 3));
  std::vector<std::string> its{"i", "j", "k"};
  its.resize(rank);
  const std::string type = random.chance(50) ? "f64" : "f32",
                    sizes = join_words(std::vector(rank, std::string("N")));
  const int reach = random.between(1, 2);
  const auto place = [&](const std::string& array, int most) {
    std::vector<std::string> subscripts;
    for (const std::string& it : its)
      subscripts.push_back(beside(it, random.chance(50) ? 0 : random.between(-most, most)));
    return array + "[" + join_words(subscripts) + "]";
  };
  std::string value = place("A", 0);
  for (int n = random.between(1, 5); n > 0; --n) value += " + " + place("A", reach);
  const bool has_other = random.chance(30), has_second = random.chance(25);
  if (has_other) value += " - " + place("B", reach);
  std::vector<std::string> ranges;
  for (const std::string& it : its)
    ranges.push_back(it + " in " + number(reach) + "..N - " + number(reach));
  const std::string domain = "   for " + join_words(ranges) + "\n";
  return {"program in_place_sweeps(T, N)\n  inout A: " + type + "[" + sizes + "]\n" +
              (has_other ? "  in    B: " + type + "[" + sizes + "]\n" : "") +
              "  loop t in 0..T\n    S: " + place("A", 0) + " = 0.5 * (" + value + ")" + domain +
              (has_second ? "    R: " + place("A", 0) + " = " + place("A", 0) + " + " +
                                place("A", reach) + domain
                          : ""),
          {{"T", 200},
           {"N", rank == 1   ? 40000
                 : rank == 2 ? 1000
                             : 100}},
          {{"T", random.between(17, 40)},
           {"N", rank == 1   ? random.between(20, 90)
                 : rank == 2 ? random.between(8, 30)
                             : random.between(6, 10)}}};
}

// Statements of one matrix: it is updated, added up along rows or columns, and what comes of that
// is used again or not.
Drawn drawn_sums(Random& random) {
  const int count = random.between(2, 4);
  std::string head = "program sums(N)\n  inout A: f64[N, N]\n  in    p: f64[N]\n", body;
  std::string read = "p";
  for (int s = 0; s < count; ++s) {
    const std::string name = "S" + number(s), vector = "x" + number(s);
    const int kind = random.between(0, 9);
    if (kind < 2) {
      body += "  " + name + ": A[i, j] = A[i, j] + p[i] * " + read + "[j]\n";
      continue;
    }
    head += "  inout " + vector + ": f64[N]\n";
    if (kind < 3)
      body += "  " + name + ": " + vector + "[i] = " + vector + "[i] + " + read + "[i]\n";
    else
      body += "  " + name + ": " + vector + "[i] += " + (kind < 6 ? "A[i, j]" : "A[j, i]") + " * " +
              read + "[j]\n";
    if (random.chance(30)) read = vector;
  }
  return {head + body, {{"N", 2000}}, {{"N", random.between(20, 75)}}};
}

// Rows from the step on, and what the step does before or after them.
Drawn drawn_rows(Random& random) {
  const std::string first = beside("k", random.between(0, 2));
  const std::string rows = "    S: A[i, j] -= Q[i, k] * R[k, j]   for i in 0..M, j in " + first +
                           "..N\n",
                    column = "    P: A[i, k] = A[i, k] * R[k, k]    for i in 0..M\n";
  const bool is_before = random.chance(50);
  return {
      "program rows(M, N)\n  inout A: f64[M, N]\n  in    Q: f64[M, N]\n  in    R: f64[N, N]\n"
      "  loop k in 0..N\n" +
          (is_before ? column + rows : rows + column),
      {{"M", 800}, {"N", random.between(1190, 1200)}},
      {{"M", random.between(3, 9)}, {"N", random.between(20, 60)}}};
}

// Each row adds rows ahead of it, or behind, to itself; definitions of it come before or after.
Drawn drawn_in_place(Random& random) {
  const std::string type = random.chance(50) ? "f64" : "f32";
  const int gap = random.between(1, 3);
  const std::string ahead = beside("i", gap) + "..M", behind = "0..i";
  const std::string sum = std::string("    S: B[i, j] += ") +
                          (random.chance(50) ? "A[k, i]" : "A[i, k]") +
                          " * B[k, j]   for j in 0..N, k in " +
                          (random.chance(80) ? ahead : behind) + "\n",
                    factor = "    P: B[i, j] = B[i, j] * d[i]   for j in 0..N\n",
                    shift = "    Q: B[i, j] = B[i, j] + d[i]   for j in 0..N\n";
  const std::string after = random.chance(80) ? factor : "", more = random.chance(30) ? shift : "";
  return {"program in_place(M, N)\n  in    A: " + type + "[M, M]\n  in    d: " + type +
              "[M]\n  inout B: " + type + "[M, N]\n  loop i in 0..M\n" +
              (random.chance(15) ? factor.substr(0, 4) + "F" + factor.substr(5) : "") + sum +
              after + more,
          {{"M", random.between(700, 900)}, {"N", random.between(900, 1100)}},
          {{"M", random.between(4, 30)}, {"N", random.between(1, 120)}}};
}

// Rows whose steps wait for each other, forwards and then backwards, with temporaries that each row
// keeps to itself, or takes from outside, or leaves for others; rows that wait for the one before.
Drawn drawn_chains(Random& random) {
  const bool enters = random.chance(15), leaves = random.chance(25), waits = random.chance(10),
             is_turned = random.chance(80), has_second = random.chance(40);
  const auto result = [&](const std::string& row, const std::string& step) {
    return is_turned ? "v[" + step + ", " + row + "]" : "v[" + row + ", " + step + "]";
  };
  const auto rows = [&](const std::string& i, const std::string& from) {
    const std::string first = enters ? "" : "    A" + i + ": p[" + i + ", 0] = x[" + i + ", 0]\n";
    return "  loop " + i + " in 1..N\n" + first + "    B" + i + ": q[" + i + ", 0] = x[" + i +
           ", 1]\n    loop j" + i + " in 1..M\n      P" + i + ": p[" + i + ", j" + i +
           "] = " + from + " - p[" + i + ", j" + i + "-1]" +
           (waits ? " + p[" + i + "-1, j" + i + "]" : "") + "\n      Q" + i + ": q[" + i + ", j" +
           i + "] = q[" + i + ", j" + i + "-1] + p[" + i + ", j" + i + "]\n    loop b" + i +
           " in 0..M-1 step -1\n      V" + i + ": " + result(i, "b" + i) + " = " +
           result(i, "b" + i + "+1") + " + q[" + i + ", b" + i + "] - p[" + i + ", b" + i + "]\n";
  };
  const std::string sizes = is_turned ? "[M, N]" : "[N, M]";
  return {"program chains(N, M)\n  in    x: f64[N, M]\n  inout v: f64" + sizes +
              "\n  inout z: f64[N]\n  temp  p: f64[N, M]\n  temp  q: f64[N, M]\n" +
              "  E: p[i, j] = x[i, j]   for i in 0..N, j in 0.." + (enters || waits ? "M" : "1") +
              "\n" + rows("i", "x[i, ji]") +
              (leaves ? "  L: z[i] = p[i, M-1] + q[i, 0]   for i in 1..N\n" : "") +
              (has_second ? rows("k", result("k", "jk")) : ""),
          {{"N", random.between(700, 900)}, {"M", random.between(500, 900)}},
          {{"N", random.between(2, 40)}, {"M", random.between(2, 12)}}};
}

// One tensor reduced along some of its dimensions, what comes of it taken up or not, and sometimes
// a subscript that keeps dimensions apart.
std::string drawn_reduction(Random& random) {
  const auto rank = static_cast<std::size_t>(random.between(2, 4));
  std::vector<std::string> its{"i", "j", "k", "l"}, kept, along, shape, sizes;
  its.resize(rank);
  for (const std::string& it : its) {
    shape.push_back(number(random.chance(10) ? 1 : random.between(2, rank > 3 ? 6 : 19)));
    (random.chance(50) ? kept : along).push_back(it);
    if (!kept.empty() && kept.back() == it) sizes.push_back(shape.back());
  }
  if (along.empty()) {
    along.push_back(kept.back());
    kept.pop_back(), sizes.pop_back();
  }
  const std::size_t beside = random.below(rank);
  const bool has_second = random.chance(25);  // of the same rows
  const std::string type = random.pick(std::vector<std::string>{"f32", "f64", "i32", "f32"}),
                    x = "x[" + join_words(its) + "]", y = "[" + join_words(kept) + "]";
  std::string text = "program reduced()\n  in  x: " + type + "[" + join_words(shape) +
                     "]\n  in  v: " + type + "[" + shape[beside] + "]\n  out y: " + type + "[" +
                     join_words(sizes) + "]\n" +
                     (has_second ? "  out u: " + type + "[" + join_words(sizes) + "]\n" : ""),
              to = "y", value = x;
  if (random.chance(20)) value += " + v[" + its[beside] + "]";
  if (random.chance(20)) value = x + " * " + x;
  const bool is_taken_up = random.chance(40);
  if (is_taken_up) to = "t";
  text += "  " + to + y + " = " + random.pick(std::vector<std::string>{"sum", "max", "min"}) + "[" +
          join_words(along) + "] " + value + "\n";
  if (is_taken_up) text += "  y" + y + " = t" + y + " * 2\n";
  if (has_second)
    text += "  u" + y + " = " + random.pick(std::vector<std::string>{"sum", "max"}) + "[" +
            join_words(along) + "] " + x + "\n";
  return text;
}

// Dimensions in another order, lines of few elements among them, and sometimes a second operand
// that has the order of the result.
std::string drawn_turn(Random& random) {
  std::vector<std::string> its{"i", "j", "k"}, turned = its, shape, sizes;
  for (std::size_t d = 0; d < its.size(); ++d) shape.push_back(number(random.between(1, 21)));
  do {
    for (std::size_t d = turned.size(); d-- > 1;) std::swap(turned[d], turned[random.below(d + 1)]);
  } while (turned == its);
  for (const std::string& it : turned)
    sizes.push_back(shape[static_cast<std::size_t>(it.front() - 'i')]);
  const std::string type = random.pick(std::vector<std::string>{"f32", "f64", "i8", "i16", "f32"}),
                    of = type + "[" + join_words(sizes) + "]", at = "[" + join_words(turned) + "]";
  const bool has_other = random.chance(30);
  return "program turned()\n  in  x: " + type + "[" + join_words(shape) + "]\n" +
         (has_other ? "  in  z: " + of + "\n" : "") + "  out y: " + of + "\n  y" + at + " = x[" +
         join_words(its) + "]" + (has_other ? " + z" + at : "") + "\n";
}

// A region that does several things in a step: sums of rows, rows in place, what a step before has
// left, a part of the rows that becomes smaller, steps within a step, and reads that are at the
// point of a write in one step and elsewhere in others.
std::string drawn_steps(Random& random) {
  const int rows = random.between(3, 12), row = random.between(6, 45), begin = random.between(1, 2),
            end = random.between(begin + 1, std::min(rows, 6)), middle = begin + (end - begin) / 2;
  const std::string type = random.pick(std::vector<std::string>{"f64", "i32", "f64"}),
                    all = "i in 0.." + number(rows) + ", j in 0.." + number(row),
                    of_row = "j in 0.." + number(row);
  std::vector<std::string> lines;
  const auto add = [&](const std::string& line, int depth = 2) {
    lines.push_back(std::string(2 * static_cast<std::size_t>(depth), ' ') + "S" +
                    number(static_cast<int>(lines.size())) + ": " + line + "\n");
  };
  for (int n = random.between(2, 5); n > 0; --n) switch (random.between(0, 6)) {
      case 0:
        add("s[i] = " + random.pick(std::vector<std::string>{"sum", "max", "min"}) +
            "[j] x[i, j]  for " + all);
        break;
      case 1:
        add("x[i, j] = max(x[i, j], s[i]) - s[t]  for i in t.." + number(rows) + ", " + of_row);
        break;
      case 2:
        add("x[t, j] = x[t-1, j] + y[t, j]  for " + of_row);
        break;
      case 3:
        add("d[t + j] = x[t, j] + 1  for " + of_row);
        add("y[t, j] = d[" + number(random.between(1, 2)) + "*t + " +
            number(random.between(0, 1) * middle) + " + j]  for " + of_row);
        break;
      case 4:
        add("d[j + " + number(2 * middle) + "] = x[t, j]  for " + of_row);
        add("y[t, j] = d[2*t + j] + y[t, j]  for " + of_row);
        break;
      case 5:
        add("x[i, j] = x[i, j] - x[t-1, j]  for i in t.." + number(rows) + ", j in t.." +
            number(row));
        break;
      default:
        lines.push_back("    loop u in 0..2\n");
        add("x[t, j] = x[t, j] + s[t-u]  for " + of_row, 3);
    }
  const auto tensor = [&](const std::string& name, const std::string& shape) {
    return "  inout " + name + ": " + type + "[" + shape + "]\n";
  };
  std::string text = "program steps()\n" + tensor("x", number(rows) + ", " + number(row)) +
                     tensor("y", number(rows) + ", " + number(row)) + tensor("s", number(rows)) +
                     tensor("d", number(row + 3 * end)) + "  Y: y[i, j] = y[i, j] + 1  for " + all +
                     "\n  loop t in " + number(begin) + ".." + number(end) + "\n";
  for (const std::string& line : lines) text += line;
  return text;
}

// A recurrent cell: a product with the state for each of its gates, then the state element by
// element, cut so that it stays small. What gates have beside the product is where the sum begins,
// or is added behind it; there may be one sequence, one gate, one step.
std::string drawn_cells(Random& random) {
  const int batch = random.chance(30) ? 1 : random.between(2, 12), hidden = random.between(1, 40),
            gates = random.between(1, 2);
  const bool begins_with_x = random.chance(50), keeps_all = random.chance(60);
  const std::string type = random.pick(std::vector<std::string>{"f64", "f32", "f32"}),
                    b = number(batch), n = number(hidden), all = number(gates * hidden),
                    of_state = "  for b in 0.." + b + ", n in 0.." + n + "\n";
  const auto gate = [&](int which) {
    const std::string column = "n + " + number((which % gates) * hidden);
    return "(g[b, " + column + "]" + (begins_with_x ? "" : " + x[t, b, " + column + "]") + ")";
  };
  const std::string steps = number(random.between(1, 4)),
                    weight = random.chance(70) ? "w[k, q]" : "(2 * w[k, q])",
                    sum = "h[b, k] * " + weight + "  for b in 0.." + b + ", q in 0.." + all +
                          ", k in 0.." + n + "\n";
  std::string text = "program cells()\n  in x: " + type + "[" + steps + ", " + b + ", " + all +
                     "]\n  in w: " + type + "[" + n + ", " + all + "]\n  inout h: " + type + "[" +
                     b + ", " + n + "]\n  inout c: " + type + "[" + b + ", " + n +
                     "]\n  temp g: " + type + "[" + b + ", " + all + "]\n";
  if (keeps_all) text += "  out y: " + type + "[" + steps + ", " + b + ", " + n + "]\n";
  text += "  loop t in 0.." + steps + "\n    G: g[b, q] = " + (begins_with_x ? "x[t, b, q]" : "0") +
          "  for b in 0.." + b + ", q in 0.." + all + "\n    P: g[b, q] += " + sum +
          "    C: c[b, n] = max(min(c[b, n] - " + gate(0) + " * " + gate(1) + ", 3), -3)" +
          of_state + "    H: h[b, n] = max(min(" + gate(2) + " - c[b, n], 2), -2)" + of_state;
  if (keeps_all) text += "    Y: y[t, b, n] = h[b, n]\n";
  return text;
}

// Whether a nest holds two of the sums.
bool fuses_sums(const std::string& script) {
  std::size_t at = 0;
  while ((at = script.find("nest ", at)) != std::string::npos) {
    const std::string line = script.substr(at, script.find('\n', at) - at);
    int held = 0;
    for (int s = 0; s < 4; ++s) held += line.find("S" + number(s)) != std::string::npos ? 1 : 0;
    if (held > 1) return true;
    ++at;
  }
  return false;
}

// Programs by one of the schedulers each, for processors with masks and without; each feature has
// to be in the scripts of five.
// Each of the parts between ` & `.
bool has_all(const std::string& lines, const std::string& parts) {
  constexpr std::string_view kAnd = " & ";
  for (std::size_t begin = 0;;) {
    const std::size_t end = parts.find(kAnd, begin);
    if (lines.find(parts.substr(begin, end - begin)) == std::string::npos) return false;
    if (end == std::string::npos) return true;
    begin = end + kAnd.size();
  }
}

void check_drawn(std::string (*draw)(Random&), std::uint64_t seed, std::uint64_t runs,
                 const std::vector<std::string>& features) {
  const Machine machines[] = {codegen::target_for_cpu("x86-64-v3").machine,
                              codegen::target_for_cpu("x86-64-v4").machine};
  std::map<std::string, int> drawn;
  for (std::uint64_t run = 0; run < runs; ++run) {
    Random random(seed, run);
    const auto program = bound_to(draw(random), {});
    Machine machine = machines[random.between(0, 1)];
    machine.cores = random.between(1, 2);
    const auto script = random.chance(50) ? poly::auto_schedule(*program, machine, {})
                                          : schedule::make_template(*program, machine, {});
    REQUIRE(static_cast<bool>(script));
    const std::string lines = schedule::print(*script);
    CAPTURE(ir::print(*program));
    CAPTURE(lines);
    for (const std::string& feature : features) drawn[feature] += has_all(lines, feature) ? 1 : 0;
    check_executed(program, *script, machine, run);
  }
  for (const std::string& feature : features) {
    CAPTURE(feature);
    CHECK(drawn[feature] >= 5);
  }
}

}  // namespace

TEST_CASE("what is planned for large sizes is right at small ones") {
  const Machine machines[] = {codegen::target_for_cpu("x86-64-v3").machine,
                              codegen::target_for_cpu("x86-64-v4").machine};  // masks
  std::map<std::string, int> drawn = {{"wavefront w", 0},
                                      {"4*L", 0},
                                      {"par ", 0},
                                      {"fused", 0},
                                      {"k.far", 0},
                                      {"layout (d0, d1) [d1, d0]", 0},
                                      {"\nstage A layout (A0", 0}};
  for (std::uint64_t run = 0; run < (test::takes_all() ? 700 : 44); ++run) {
    Random random(23, run);
    const auto make = {drawn_sweeps, drawn_sums, drawn_in_place, drawn_chains,
                       drawn_sums,   drawn_rows, drawn_chains,   drawn_sweeps_in_place};
    const Drawn program = make.begin()[run % make.size()](random);
    CAPTURE(program.text);
    Machine machine = machines[random.between(0, 1)];
    machine.cores = random.between(1, 2);
    auto script = poly::auto_schedule(*bound_to(program.text, program.large), machine, {});
    REQUIRE(static_cast<bool>(script));
    script->digest.clear();
    const std::string lines = schedule::print(*script);
    CAPTURE(lines);
    for (auto& [feature, times] : drawn) times += lines.find(feature) != std::string::npos ? 1 : 0;
    drawn["fused"] += program.text.starts_with("program sums") && fuses_sums(lines) ? 1 : 0;
    const auto small = bound_to(program.text, program.small);
    check_executed(small, *script, machine, run);
  }
  for (const auto& [feature, times] : drawn) {
    CAPTURE(feature);
    CHECK(times >= 2);  // or nothing was tried
  }
}

TEST_CASE("reductions along dimensions that become one are right, by both schedulers") {
  check_drawn(
      drawn_reduction, 29, test::takes_all() ? 1500 : 100,
      {"view x as", "view y as", "fuse y.update", "as y_v interleaved", "as u_v interleaved"});
}

TEST_CASE("what several statements do in each step of a region is right, by both schedulers") {
  check_drawn(drawn_steps, 37, test::takes_all() ? 1000 : 48,
              {"nest t > { ", "u > ", "_v interleaved"});
}

TEST_CASE("recurrent cells are right, by both schedulers, as a whole and step by step") {
  check_drawn(drawn_cells, 47, test::takes_all() ? 600 : 26,
              {"nest t > { ", "/poly for & \nnest t > { & stage g", "/poly for & t > { & L "});
}

TEST_CASE("transposes into lines of any length are right, by both schedulers") {
  check_drawn(drawn_turn, 31, test::takes_all() ? 1000 : 80, {"param Side", "param Mr", " > ["});
}

}  // namespace polyte::fuzz::planned_test
