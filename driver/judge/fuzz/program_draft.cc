#include "driver/judge/fuzz/program_draft.h"

#include <algorithm>

namespace polyte::fuzz {

std::string with_offset(const std::string& iterator, int offset) {
  if (offset == 0) return iterator;
  return iterator + (offset > 0 ? " + " : " - ") + std::to_string(std::abs(offset));
}

std::string ranges_text(const std::vector<Iterator>& iterators) {
  std::vector<std::string> parts;
  for (const Iterator& it : iterators) parts.push_back(it.name + " in 0.." + it.extent.text());
  return join_words(parts);
}

std::vector<std::string> names_of(const std::vector<Iterator>& iterators) {
  std::vector<std::string> names;
  for (const Iterator& it : iterators) names.push_back(it.name);
  return names;
}

std::vector<Extent> shape_of(const std::vector<Iterator>& iterators) {
  std::vector<Extent> shape;
  for (const Iterator& it : iterators) shape.push_back(it.extent);
  return shape;
}

// Two thirds of integers, whose sums may change places; of the floats a third are exact, with
// values clamped to whole numbers of f64.
ProgramDraft::ProgramDraft(Random& random) : random_(random) {
  static const std::vector<std::string> kIntegers = {"i32", "i32", "i32", "i64", "u8",
                                                     "i8",  "u16", "u32", "i16", "u64"};
  static const std::vector<std::string> kFloats = {"f32", "f32", "f32", "f64", "f16", "bf16"};
  is_integer_ = random_.chance(67);
  type_ = random_.pick(is_integer_ ? kIntegers : kFloats);
  is_exact_ = !is_integer_ && random_.chance(30);
  if (is_exact_) type_ = "f64";
}

void ProgramDraft::declare(const std::string& role, const std::string& name,
                           const std::string& type, const std::vector<std::string>& shape) {
  interface_.push_back(role + std::string(6 - role.size(), ' ') + name + ": " + type + "[" +
                       join_words(shape) + "]");
}

void ProgramDraft::declare(const std::string& role, const DrawnTensor& tensor) {
  std::vector<std::string> shape;
  for (const Extent& e : tensor.shape) shape.push_back(e.text());
  declare(role, tensor.name, tensor.type, shape);
}

// A subscript of `e` that stays inside for every value of some iterator; empty if there is none.
// An iterator over the same parameter has room to be shifted by the difference of the halos:
// i in 0..M + 1 may read x: [M + 3] at i, i + 1 and i + 2; reversed, at M - i.
std::string ProgramDraft::fitting_subscript(const Extent& e,
                                            const std::vector<Iterator>& iterators) {
  std::vector<std::string> choices;
  for (const Iterator& it : iterators) {
    if (it.extent.param != e.param || it.extent.halo > e.halo) continue;
    choices.push_back(with_offset(it.name, random_.between(0, e.halo - it.extent.halo)));
    if (!it.triangular && random_.chance(6))
      choices.push_back(Extent{it.extent.param, it.extent.halo - 1}.text() + " - " + it.name);
  }
  return choices.empty() ? "" : random_.pick(choices);
}

// A read that may leave its tensor says what stands outside, by `else` or by a guard that names the
// bounds itself; the guard also has a condition of its own, so that it is more than padding.
std::string ProgramDraft::read_old(const std::vector<Iterator>& iterators) {
  std::vector<DrawnTensor*> candidates;
  for (DrawnTensor& t : pool_)
    if (t.type == type_) candidates.push_back(&t);
  if (candidates.empty()) return "";
  DrawnTensor& tensor =
      random_.chance(60) ? *candidates.back() : *candidates[random_.below(candidates.size())];
  std::vector<std::string> subscripts;
  bool padded = false;
  for (const Extent& e : tensor.shape) {
    std::string subscript = fitting_subscript(e, iterators);
    if (subscript.empty() || random_.chance(12)) {
      padded = true;
      const int offset = random_.between(-2, 2);
      subscript = with_offset(random_.pick(iterators).name, offset);
    }
    subscripts.push_back(subscript);
  }
  tensor.was_read = true;
  std::string access = tensor.name + "[" + join_words(subscripts) + "]";
  if (!padded) return access;
  if (random_.chance(70)) return "(" + access + " else " + literal() + ")";
  std::string inside =
      random_.pick(iterators).name + " >= " + std::to_string(random_.between(0, 3));
  for (std::size_t d = 0; d < subscripts.size(); ++d)
    inside +=
        " and " + subscripts[d] + " >= 0 and " + subscripts[d] + " < " + tensor.shape[d].text();
  return "(" + access + " if " + inside + " else " + literal() + ")";
}

// Each form gives the new input the extent that keeps the subscript inside: i + 2 needs a halo of
// 2, 2*i twice the extent, i % 3 three elements.
std::string ProgramDraft::read_new(const std::vector<Iterator>& iterators) {
  DrawnTensor tensor{fresh("x"), type_, {}, true};
  std::vector<Iterator> chosen = iterators;
  if (random_.chance(50)) random_.shuffle(chosen);
  chosen.resize(
      std::min<std::size_t>(chosen.size(), static_cast<std::size_t>(random_.between(1, 3))));
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
  return tensor.name + "[" + join_words(subscripts) + "]";
}

std::string ProgramDraft::gathered(const Iterator& it) {
  const std::string name = fresh("index");
  declare("in", name, "i32", {it.extent.text()});
  return name + "[" + it.name + "]";
}

// Old tensors mostly, for statements to depend on each other.
std::string ProgramDraft::read(const std::vector<Iterator>& iterators) {
  const std::string old = random_.chance(70) ? read_old(iterators) : "";
  return old.empty() ? read_new(iterators) : old;
}

// Depth bounds the tree: at 0 all operands are reads. A division is left out where sums have to
// be exact.
std::string ProgramDraft::value(const std::vector<Iterator>& iterators, int depth) {
  const int form = random_.between(0, 99);
  if (depth == 0 || form < 20) return read(iterators);
  const auto operand = [&] { return value(iterators, depth - 1); };
  if (form < 42) return "(" + operand() + (random_.chance(60) ? " + " : " - ") + operand() + ")";
  if (form < 60) return operand() + " * " + operand();
  if (form < 68)
    return std::string(random_.chance(50) ? "max" : "min") + "(" + operand() + ", " + operand() +
           ")";
  if (form < 74) return "(" + operand() + " + " + literal() + ")";
  if (form < 80) return "(" + operand() + " - " + random_.pick(iterators).name + ")";
  if (form < 86)
    return "select(" + operand() + " < " + operand() + ", " + operand() + ", " + literal() + ")";
  if (form < 90) return "(-" + operand() + ")";
  if (form < 94 && !is_exact_) return "(" + operand() + " / " + operand() + ")";
  // A round trip through a wider type.
  if (form < 97) return type_ + "(" + (is_integer_ ? "i64" : "f64") + "(" + operand() + ") + 1)";
  return std::string("abs") + "(" + operand() + ")";
}

std::vector<Iterator> ProgramDraft::random_iterators(int count, const std::string& letters) {
  std::vector<Iterator> result;
  for (int i = 0; i < count; ++i)
    result.push_back({std::string(1, letters[static_cast<std::size_t>(i)]), random_extent()});
  return result;
}
// Mostly those of a tensor that exists, with the same parameters and no larger halos, so that it
// can be read at the iterators themselves.
std::vector<Iterator> ProgramDraft::free_iterators() {
  static const std::string kLetters = "ijvw";
  if (pool_.empty() || random_.chance(25)) return random_iterators(random_.between(1, 3), kLetters);
  std::vector<Iterator> result;
  const DrawnTensor& model = random_.chance(70) ? pool_.back() : random_.pick(pool_);
  for (std::size_t d = 0; d < model.shape.size() && d < 3; ++d) {
    const Extent& e = model.shape[d];
    result.push_back({std::string(1, kLetters[d]),
                      {e.param, e.param.empty() ? e.halo : random_.between(0, e.halo)}});
  }
  return result;
}

// Results are those computed tensors that nobody reads, and some others: without an output a
// statement could be dropped unseen. Inputs have other letters.
RandomProgram ProgramDraft::finish() {
  for (std::size_t i = 0; i < pool_.size(); ++i) {
    const DrawnTensor& t = pool_[i];
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

}  // namespace polyte::fuzz
