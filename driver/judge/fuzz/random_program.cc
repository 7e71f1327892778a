#include "driver/judge/fuzz/random_program.h"

#include <algorithm>

#include "driver/judge/fuzz/random_updates.h"
#include "ir/program_text.h"

namespace polyte::fuzz {
namespace {

// An extent: a parameter and a constant more, or a constant alone.
struct Extent {
  std::string param;  // empty: constant
  int halo = 0;
  std::string text() const {
    if (param.empty()) return std::to_string(halo);
    return halo == 0 ? param : param + " + " + std::to_string(halo);
  }
};
struct Tensor {
  std::string name, type;
  std::vector<Extent> shape;
  bool was_read = false;
};
struct Iterator {
  std::string name;
  Extent extent;
  bool triangular = false;  // ends at another iterator: the extent bounds it only
};

const std::vector<std::string> kParams = {"M", "N", "K", "P"};

std::string with_offset(const std::string& iterator, int offset) {
  if (offset == 0) return iterator;
  return iterator + (offset > 0 ? " + " : " - ") + std::to_string(std::abs(offset));
}

std::string list(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + item;
  return text;
}

std::string ranges_text(const std::vector<Iterator>& iterators) {
  std::vector<std::string> parts;
  for (const Iterator& it : iterators) parts.push_back(it.name + " in 0.." + it.extent.text());
  return list(parts);
}

class Writer {
 public:
  explicit Writer(Random& random) : random_(random) {
    static const std::vector<std::string> kIntegers = {"i32", "i32", "i32", "i64", "u8",
                                                       "i8",  "u16", "u32", "i16", "u64"};
    static const std::vector<std::string> kFloats = {"f32", "f32", "f32", "f64", "f16", "bf16"};
    is_integer_ = random_.chance(67);
    type_ = random_.pick(is_integer_ ? kIntegers : kFloats);
    is_exact_ = !is_integer_ && random_.chance(30);
    if (is_exact_) type_ = "f64";
  }

  RandomProgram write() {
    if (random_.chance(9)) {
      instructions();
      return finish();
    }
    if (random_.chance(6)) return softmax();
    const int style = random_.between(0, 99);
    if (style < 60) {
      pipeline(random_.between(1, 4));
    } else if (style < 82) {
      region();
      if (random_.chance(25)) pipeline(1);
    } else {
      in_place();
      if (random_.chance(40)) in_place();
      if (random_.chance(25)) pipeline(1);
    }
    return finish();
  }

 private:
  Random& random_;
  std::string type_;
  bool is_integer_ = true;
  bool is_exact_ = false;               // floats, whole and small: sums have the same bits in any order
  std::vector<Tensor> pool_;            // can be read everywhere within their extents
  std::vector<std::string> interface_;  // declarations that stay as they are
  std::vector<std::string> body_;
  int fresh_ = 0;

  std::string fresh(const std::string& base) { return base + std::to_string(fresh_++); }
  Extent random_extent() { return {random_.pick(kParams), random_.chance(15) ? random_.between(1, 2) : 0}; }

  void declare(const std::string& role, const std::string& name, const std::string& type,
               const std::vector<std::string>& shape) {
    interface_.push_back(role + std::string(6 - role.size(), ' ') + name + ": " + type + "[" + list(shape) + "]");
  }
  void declare(const std::string& role, const Tensor& tensor) {
    std::vector<std::string> shape;
    for (const Extent& e : tensor.shape) shape.push_back(e.text());
    declare(role, tensor.name, tensor.type, shape);
  }

  // --- reads ---

  // A subscript of `e` that stays inside for every value of some iterator; empty if there is none.
  std::string fitting_subscript(const Extent& e, const std::vector<Iterator>& iterators) {
    std::vector<std::string> choices;
    for (const Iterator& it : iterators) {
      if (it.extent.param != e.param || it.extent.halo > e.halo) continue;
      choices.push_back(with_offset(it.name, random_.between(0, e.halo - it.extent.halo)));
      if (!it.triangular && random_.chance(6))
        choices.push_back(Extent{it.extent.param, it.extent.halo - 1}.text() + " - " + it.name);
    }
    return choices.empty() ? "" : random_.pick(choices);
  }

  std::string read_old(const std::vector<Iterator>& iterators) {
    std::vector<Tensor*> candidates;
    for (Tensor& t : pool_)
      if (t.type == type_) candidates.push_back(&t);
    if (candidates.empty()) return "";
    Tensor& tensor = random_.chance(60) ? *candidates.back() : *candidates[random_.below(candidates.size())];
    std::vector<std::string> subscripts;
    bool padded = false;
    for (const Extent& e : tensor.shape) {
      std::string subscript = fitting_subscript(e, iterators);
      if (subscript.empty() || random_.chance(12)) {
        padded = true;
        subscript = with_offset(random_.pick(iterators).name, random_.between(-2, 2));
      }
      subscripts.push_back(subscript);
    }
    tensor.was_read = true;
    const std::string access = tensor.name + "[" + list(subscripts) + "]";
    if (!padded) return access;
    if (random_.chance(70)) return "(" + access + " else " + literal() + ")";
    std::string inside = random_.pick(iterators).name + " >= " + std::to_string(random_.between(0, 3));
    for (std::size_t d = 0; d < subscripts.size(); ++d)
      inside += " and " + subscripts[d] + " >= 0 and " + subscripts[d] + " < " + tensor.shape[d].text();
    return "(" + access + " if " + inside + " else " + literal() + ")";
  }

  std::string read_new(const std::vector<Iterator>& iterators) {
    Tensor tensor{fresh("x"), type_, {}, true};
    std::vector<Iterator> chosen = iterators;
    if (random_.chance(50)) random_.shuffle(chosen);
    chosen.resize(std::min<std::size_t>(chosen.size(), static_cast<std::size_t>(random_.between(1, 3))));
    std::vector<std::string> subscripts, shape;
    bool simple = true;
    for (const Iterator& it : chosen) {
      const int form = random_.between(0, 99);
      if (form < 70) {
        const int offset = random_.chance(20) ? random_.between(1, 2) : 0;
        tensor.shape.push_back({it.extent.param, it.extent.halo + offset});
        subscripts.push_back(with_offset(it.name, random_.between(0, offset)));
      } else if (form < 80) {
        tensor.shape.push_back(it.extent);
        subscripts.push_back(it.name + " // 2");
      } else if (form < 88) {
        simple = false;
        tensor.shape.push_back(it.extent);
        subscripts.push_back("2*" + it.name);
      } else if (form < 94) {
        tensor.shape.push_back({"", 3});
        subscripts.push_back(it.name + " % 3");
      } else {
        tensor.shape.push_back({"", 4});
        subscripts.push_back(gathered(it));
      }
    }
    for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
      const bool doubled = subscripts[d].rfind("2*", 0) == 0;
      const Extent& e = tensor.shape[d];
      const std::string twice = std::to_string(2 * e.halo);
      shape.push_back(!doubled ? e.text() : e.param.empty() ? twice : "2*" + e.param + " + " + twice);
    }
    declare(random_.chance(30) ? "const" : "in", tensor.name, type_, shape);
    if (simple) pool_.push_back(tensor);
    return tensor.name + "[" + list(subscripts) + "]";
  }

  std::string gathered(const Iterator& it) {
    const std::string name = fresh("index");
    declare("in", name, "i32", {it.extent.text()});
    return name + "[" + it.name + "]";
  }

  std::string read(const std::vector<Iterator>& iterators) {
    const std::string old = random_.chance(70) ? read_old(iterators) : "";
    return old.empty() ? read_new(iterators) : old;
  }

  // --- values ---

  std::string literal() { return std::to_string(random_.between(0, 5)); }

  std::string value(const std::vector<Iterator>& iterators, int depth) {
    const int form = random_.between(0, 99);
    if (depth == 0 || form < 20) return read(iterators);
    const auto operand = [&] { return value(iterators, depth - 1); };
    if (form < 42) return "(" + operand() + (random_.chance(60) ? " + " : " - ") + operand() + ")";
    if (form < 60) return operand() + " * " + operand();
    if (form < 68) return std::string(random_.chance(50) ? "max" : "min") + "(" + operand() + ", " + operand() + ")";
    if (form < 74) return "(" + operand() + " + " + literal() + ")";
    if (form < 80) return "(" + operand() + " - " + random_.pick(iterators).name + ")";
    if (form < 86) return "select(" + operand() + " < " + operand() + ", " + operand() + ", " + literal() + ")";
    if (form < 90) return "(-" + operand() + ")";
    if (form < 94 && !is_exact_) return "(" + operand() + " / " + operand() + ")";
    if (form < 97) return type_ + "(" + (is_integer_ ? "i64" : "f64") + "(" + operand() + ") + 1)";
    return std::string("abs") + "(" + operand() + ")";
  }

  std::string clamped(const std::string& value) { return is_exact_ ? "min(max(" + value + ", -9), 9)" : value; }

  // --- statements ---

  std::vector<Iterator> random_iterators(int count, const std::string& letters) {
    std::vector<Iterator> result;
    for (int i = 0; i < count; ++i)
      result.push_back({std::string(1, letters[static_cast<std::size_t>(i)]), random_extent()});
    return result;
  }
  // Iterators over a tensor of the pool: so that chains share loops.
  std::vector<Iterator> free_iterators() {
    static const std::string kLetters = "ijvw";
    if (pool_.empty() || random_.chance(25)) return random_iterators(random_.between(1, 3), kLetters);
    std::vector<Iterator> result;
    const Tensor& model = random_.chance(70) ? pool_.back() : random_.pick(pool_);
    for (std::size_t d = 0; d < model.shape.size() && d < 3; ++d) {
      const Extent& e = model.shape[d];
      result.push_back({std::string(1, kLetters[d]), {e.param, e.param.empty() ? e.halo : random_.between(0, e.halo)}});
    }
    return result;
  }

  static std::vector<std::string> names_of(const std::vector<Iterator>& iterators) {
    std::vector<std::string> names;
    for (const Iterator& it : iterators) names.push_back(it.name);
    return names;
  }
  static std::vector<Extent> shape_of(const std::vector<Iterator>& iterators) {
    std::vector<Extent> shape;
    for (const Iterator& it : iterators) shape.push_back(it.extent);
    return shape;
  }

  void pipeline(int statements) {
    for (int s = 0; s < statements; ++s) {
      const int form = random_.between(0, 99);
      if (form < 50)
        pointwise();
      else if (form < 92)
        reduction();
      else
        arg_reduction();
    }
  }

  void pointwise() {
    const std::vector<Iterator> its = free_iterators();
    const std::string name = fresh("t");
    body_.push_back(name + "[" + list(names_of(its)) + "] = " + clamped(value(its, random_.between(1, 3))) + "  for " +
                    ranges_text(its));
    pool_.push_back({name, type_, shape_of(its)});
  }

  void reduction() {
    static const std::vector<std::string> kAny = {"sum", "sum", "sum", "sum", "max", "min", "product"};
    std::vector<Iterator> its = free_iterators();
    if (its.size() > 2) its.pop_back();
    if (its.size() > 1 && random_.chance(30)) its.pop_back();
    std::vector<Iterator> reduced = random_iterators(random_.between(1, 2), "kr");
    std::string over = reduced_text(its, reduced);
    std::vector<Iterator> all = its;
    all.insert(all.end(), reduced.begin(), reduced.end());
    std::string combiner = random_.pick(kAny);
    if (is_exact_ && combiner == "product") combiner = "sum";
    if (is_integer_ && random_.chance(10)) combiner = random_.chance(50) ? "and" : "or";
    const std::string name = fresh("t");
    const std::string product = random_.chance(60) ? read(all) + " * " + read(all) : value(all, 2);
    body_.push_back(name + "[" + list(names_of(its)) + "] = " + combiner + "[" + over + "] " + clamped(product) +
                    "  for " + ranges_text(its));
    pool_.push_back({name, type_, shape_of(its)});
  }

  // `k in 0..M, r in 0..3`; now and then one ends or begins at a free iterator: a triangle.
  std::string reduced_text(const std::vector<Iterator>& its, std::vector<Iterator>& reduced) {
    std::vector<std::string> parts;
    for (Iterator& r : reduced) {
      if (random_.chance(20)) r.extent = {"", random_.between(1, 3)};
      const Iterator& outer = random_.pick(its);
      std::string begin = "0", end = r.extent.text();
      if (random_.chance(22)) {
        r.extent = outer.extent;
        r.triangular = true;
        if (random_.chance(50))
          begin = outer.name, end = outer.extent.text();
        else
          end = outer.name + (random_.chance(50) ? " + 1" : "");
      }
      parts.push_back(r.name + " in " + begin + ".." + end);
    }
    return list(parts);
  }

  void arg_reduction() {
    std::vector<Iterator> its = free_iterators();
    if (its.size() > 2) its.resize(2);
    const Iterator k{"k", random_extent()};
    std::vector<Iterator> all = its;
    all.push_back(k);
    const std::string best = fresh("v"), place = fresh("p");
    const std::string subscripts = "[" + list(names_of(its)) + "]";
    // Positions that several terms share: which of equal values it is shows in their bits.
    const std::string position = random_.chance(80) ? "k" : random_.chance(50) ? "k // 3" : "k % 2";
    body_.push_back("(" + best + ", " + place + ")" + subscripts + " = " + (random_.chance(50) ? "argmax" : "argmin") +
                    "[k in 0.." + k.extent.text() + "] (" + value(all, 1) + ", " + position + ")  for " +
                    ranges_text(its));
    pool_.push_back({best, type_, shape_of(its)});
    pool_.push_back({place, "i64", shape_of(its)});
  }

  // --- ordered regions ---

  void region() {
    const int form = random_.between(0, 99);
    if (form < 45)
      stencils();
    else if (form < 60)
      time_indexed();
    else if (form < 75)
      recurrence();
    else if (form < 85 && !is_exact_)
      elimination();
    else
      scan();
  }

  std::string neighbour(const std::string& array, const std::vector<std::string>& its) {
    std::vector<std::string> subscripts;
    for (const std::string& it : its)
      subscripts.push_back(with_offset(it, random_.chance(60) ? 0 : random_.between(-1, 1)));
    return array + "[" + list(subscripts) + "]";
  }

  std::string combination(const std::vector<std::string>& terms) {
    std::string text = terms[0];
    for (std::size_t i = 1; i < terms.size(); ++i) {
      const int form = random_.between(0, 9);
      text = form < 6   ? text + " + " + terms[i]
             : form < 8 ? "max(" + text + ", " + terms[i] + ")"
                        : text + " - " + terms[i];
    }
    return text;
  }

  // One to three statements on one or two arrays, any neighbours.
  void stencils() {
    const int rank = random_.between(1, 2), arrays = random_.between(1, 2);
    const std::vector<std::string> its = rank == 1 ? std::vector<std::string>{"i"} : std::vector<std::string>{"i", "j"};
    const std::vector<std::string> shape =
        rank == 1 ? std::vector<std::string>{"M"} : std::vector<std::string>{"M", "N"};
    std::vector<std::string> names;
    for (int a = 0; a < arrays; ++a) {
      names.push_back(a == 0 ? "A" : "B");
      declare("inout", names.back(), type_, shape);
    }
    const std::string down = random_.chance(15) ? " step -1" : "";
    body_.push_back("loop t in 0..T" + down);
    const int count = random_.between(1, arrays + 1);
    for (int s = 0; s < count; ++s) {
      std::vector<std::string> terms;
      for (int n = random_.between(1, 4); n > 0; --n) terms.push_back(neighbour(random_.pick(names), its));
      std::string ranges = "i in 1..M - 1";
      if (rank == 2) ranges += random_.chance(20) ? ", j in 1..min(i + 1, N) - 1" : ", j in 1..N - 1";
      if (ranges.find("min(") != std::string::npos) ranges = "i in 1..M - 1, j in 1..N - 1 if j <= i";
      body_.push_back("  S" + std::to_string(s) + ": " + names[static_cast<std::size_t>(s) % names.size()] + "[" +
                      list(its) + "] = " + combination(terms) + "  for " + ranges);
    }
  }

  void time_indexed() {
    declare("inout", "A", type_, {"T + 1", "M"});
    declare("in", "x", type_, {"T", "M"});
    const std::string back = random_.chance(40) ? "A[t, i - 1]" : "A[t, i]";
    body_.push_back("loop t in 0..T");
    body_.push_back("  S: A[t + 1, i] = " + combination({back, "x[t, i]", "A[t, i]"}) + "  for i in 1..M");
  }

  void recurrence() {
    declare("inout", "h", type_, {"M"});
    declare("const", "w", type_, {"M", "M"});
    declare("in", "x", type_, {"T", "M"});
    body_.push_back("loop t in 0..T");
    body_.push_back("  g[i] = " + random_.pick(std::vector<std::string>{"sum", "max", "min"}) +
                    "[k in 0..M] w[i, k] * h[k]  for i in 0..M");
    body_.push_back("  H: h[i] = " + combination({"g[i]", "x[t, i]", "h[i]"}) + "  for i in 0..M");
  }

  void elimination() {
    declare("inout", "A", type_, {"M", "M"});
    body_.push_back("loop k in 0..M");
    body_.push_back("  C: A[i, k] = " + combination({"A[i, k]", "A[k, k]"}) + "  for i in k + 1..M");
    body_.push_back(std::string("  U: A[i, j] ") + (random_.chance(70) ? "+=" : "max=") + " A[i, k] * A[" +
                    (random_.chance(50) ? "j, k" : "k, j") + "]  for i in k + 1..M, j in k + 1.." +
                    (random_.chance(50) ? "i + 1" : "M"));
  }

  void scan() {
    declare("inout", "y", type_, {"M", "N"});
    declare("in", "x", type_, {"M", "N"});
    const bool down = random_.chance(40);
    body_.push_back(down ? "loop t in 0..M - 1 step -1" : "loop t in 1..M");
    const std::string carried = std::string("y[t ") + (down ? "+" : "-") + " 1, j]";
    body_.push_back("  S: y[t, j] = " + combination({carried, "x[t, j]"}) + "  for j in 0..N");
    if (random_.chance(40)) body_.push_back("  R: y[t, j] += " + carried + " * x[t, j]  for j in 0..N");
  }

  // --- updates in place ---

  void in_place() {
    const std::vector<Iterator> its = random_iterators(random_.between(1, 2), "ij");
    Tensor c{fresh("c"), type_, shape_of(its)};
    for (Extent& e : c.shape) e.halo += random_.chance(25) ? 1 : 0;
    declare("inout", c);
    std::vector<Iterator> all = its;
    const int form = random_.between(0, 99);
    std::string sign = " = ";
    if (form < 60) {
      sign = random_.pick(std::vector<std::string>{" += ", " += ", " max= ", " min= ", " *= "});
      if (is_exact_ && sign == " *= ") sign = " += ";
      if (random_.chance(60)) all.push_back({"k", random_extent()});
    }
    std::vector<std::string> parts, predicates;
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::string begin = "0", end = all[i].extent.text();
      if (i > 0 && random_.chance(20)) {
        all[i].extent = all[0].extent, all[i].triangular = true;
        if (i < its.size()) predicates.push_back(all[i].name + " < " + its[i].extent.text());
        if (random_.chance(50))
          begin = all[0].name, end = all[0].extent.text();
        else
          end = all[0].name + " + 1";
      } else if (i < its.size() && random_.chance(20)) {
        begin = "1";
      }
      parts.push_back(all[i].name + " in " + begin + ".." + end);
    }
    if (random_.chance(15)) predicates.push_back(all[0].name + " % " + literal_above_one() + " == 0");
    std::string text = fresh("S") + ": " + c.name + "[" + list(names_of(its)) + "]" + sign;
    text += clamped(form < 60            ? value(all, 2)
                    : random_.chance(50) ? value(its, 2)
                                         : shifted_self(c, its) + " + " + value(its, 1));
    text += "  for " + list(parts);
    for (std::size_t p = 0; p < predicates.size(); ++p) text += (p == 0 ? " if " : " and ") + predicates[p];
    if (random_.chance(12)) text += "  when " + read_plain(its) + " < 2";
    body_.push_back(text);
    c.was_read = true;
    pool_.push_back(c);
  }

  std::string literal_above_one() { return std::to_string(random_.between(2, 3)); }
  std::string read_plain(const std::vector<Iterator>& its) { return read_new({its[0]}); }
  // The tensor itself, one element back: guarded, for the first has none.
  std::string shifted_self(const Tensor& c, const std::vector<Iterator>& its) {
    std::vector<std::string> subscripts;
    for (std::size_t d = 0; d < its.size(); ++d)
      subscripts.push_back(with_offset(its[d].name, random_.chance(50) ? -1 : random_.between(-1, 1)));
    return "(" + c.name + "[" + list(subscripts) + "] else 0)";
  }

  // --- what instructions compute: rows of a few elements that tiles divide, or nearly ---

  struct Dot {
    const char *a, *b, *c, *row, *value;
  };
  void instructions() {
    static const std::vector<Dot> kDots = {{"u8", "i8", "i32", "4", "i32(da[r, i, k]) * i32(db[i, k])"},
                                           {"u8", "i8", "i32", "4", "i32(db[i, k]) * i32(da[r, i, k])"},
                                           {"i16", "i16", "i32", "2", "i32(da[r, i, k]) * i32(db[i, k])"},
                                           {"u8", "u8", "i64", "8", "i64(abs(i32(da[r, i, k]) - i32(db[i, k])))"}};
    const std::string lanes = random_.pick(std::vector<std::string>{"2", "4", "4", "8", "8", "16", "12", "6", "5"});
    const std::string rows = std::to_string(random_.between(1, 3));
    if (!is_integer_) return products(rows, lanes);
    if (random_.chance(25)) return sums(rows, lanes);
    const Dot& dot = random_.pick(kDots);
    declare("in", "da", dot.a, {rows, lanes, dot.row});
    declare("const", "db", dot.b, {lanes, dot.row});
    declare("inout", "dc", dot.c, {rows, lanes});
    body_.push_back(std::string("U: dc[r, i] += ") + dot.value + "  for r in 0.." + rows + ", i in 0.." + lanes +
                    ", k in 0.." + dot.row);
  }

  void products(const std::string& rows, const std::string& lanes) {
    const std::string type = random_.chance(60) ? "f32" : "f64";
    declare("in", "da", type, {rows, lanes});
    declare("in", "db", type, {lanes});
    declare("inout", "dc", type, {rows, lanes});
    const std::string a = random_.chance(50) ? "da[r, i]" : "da[r, 0]";
    body_.push_back("U: dc[r, i] += " + a + " * db[i]  for r in 0.." + rows + ", i in 0.." + lanes);
  }

  void sums(const std::string& rows, const std::string& lanes) {
    declare("in", "da", "i32", {rows, lanes});
    declare("inout", "dc", "i32", {rows});
    body_.push_back("U: dc[r] += da[r, i]  for r in 0.." + rows + ", i in 0.." + lanes);
  }

  // --- maxima and the sums that can run along with them ---

  RandomProgram softmax() {
    const bool weighs = random_.chance(50), lives_on = random_.chance(30);
    std::string text = "program f(M, N, K)\n  in    x: f64[M, N]\n";
    if (weighs) text += "  in    v: f64[N, K]\n  out   o: f64[M, K]\n";
    text += "  out   y: f64[M, N]\n\n  top[i] = max[j] x[i, j]\n";
    const std::string term = lives_on ? "e[i, j]" : "exp(x[i, j] - top[i])";
    if (lives_on) text += "  e[i, j] = exp(x[i, j] - top[i])\n";
    text += "  total[i] = sum[j in 0..N] " + term + "\n";
    if (weighs) text += "  w[i, d] = sum[j] " + term + " * v[j, d]\n  o[i, d] = w[i, d] / total[i]\n";
    text += "  y[i, j] = " + term + " / total[i]\n";
    return {.text = text, .exact_sums = true, .tolerance = 1e-9};
  }

  // --- the end ---

  RandomProgram finish() {
    for (std::size_t i = 0; i < pool_.size(); ++i) {
      const Tensor& t = pool_[i];
      const bool computed = t.name[0] == 't' || t.name[0] == 'v' || t.name[0] == 'p';
      if (computed && (!t.was_read || random_.chance(12))) declare("out", t);
    }
    RandomProgram result;
    result.exact_sums = is_integer_ || is_exact_;
    result.text = "program f(M, N, K, P, T)\n";
    for (const std::string& line : interface_) result.text += "  " + line + "\n";
    result.text += "\n";
    for (const std::string& line : body_) result.text += "  " + line + "\n";
    return result;
  }
};

std::int64_t random_size(Random& random) {
  const int form = random.between(0, 99);
  if (form < 4) return 0;
  if (form < 18) return 1;
  if (form < 80) return random.between(2, 7);
  return random.between(8, 12);
}

// What a person may know of the sizes, said in the header of one Program of six.
void draw_context(RandomProgram& program, Random& random) {
  static const std::vector<std::string> kFacts = {"M >= 1", "M <= N",     "K >= 2",     "N >= 1 and K >= 1",
                                                  "T >= 1", "N <= K + 2", "2*M >= N",   "P == 3",
                                                  "K >= M", "T <= 3",     "M + N <= 14"};
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
  RandomProgram program = random.chance(45) ? random_updates(random) : Writer(random).write();
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
