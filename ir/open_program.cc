#include "ir/open_program.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "ir/domain.h"
#include "ir/program_text.h"
#include "support/checked.h"

namespace polyte::ir {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// A whole number begins at `at`: not within a name, not part of a number with a point.
bool begins_number(std::string_view text, std::size_t at) {
  if (!is_digit(text[at])) return false;
  if (at == 0) return true;
  const bool after_point = text[at - 1] == '.' && (at < 2 || text[at - 2] != '.');
  return !is_word(text[at - 1]) && !after_point;
}

std::size_t end_of_number(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

// 1.5, 1e9: such a number is none of the sizes'.
bool goes_on(std::string_view text, std::size_t end) {
  if (end >= text.size()) return false;
  const bool range = text[end] == '.' && end + 1 < text.size() && text[end + 1] == '.';
  return is_word(text[end]) || (text[end] == '.' && !range);
}

// Walks through all texts in step.
class TextFit {
 public:
  TextFit(const SizePoints& sizes, std::span<const std::string> texts)
      : sizes_(sizes), texts_(texts), at_(texts.size(), 0) {}

  Result<std::string> run() {
    const std::string& base = texts_[0];
    while (at_[0] < base.size()) {
      // Everything but numbers has to be the same in all texts.
      if (!(begins_number(base, at_[0]) ? take_number() : take_character()))
        return Decline{difference()};
    }
    for (std::size_t t = 0; t < texts_.size(); ++t)
      if (at_[t] != texts_[t].size()) return Decline{difference()};
    return std::move(result_);
  }

 private:
  const SizePoints& sizes_;
  std::span<const std::string> texts_;
  std::vector<std::size_t> at_;
  std::string result_;

  bool take_character() {
    const char c = texts_[0][at_[0]];
    for (std::size_t t = 0; t < texts_.size(); ++t)
      if (at_[t] >= texts_[t].size() || texts_[t][at_[t]] != c) return false;
    for (std::size_t& at : at_) ++at;
    result_ += c;
    return true;
  }

  // Equal numbers stay numbers. Those that differ have to be one affine function of the sizes,
  // unless they are part of a number with a point or an exponent, or too large for 63 bits.
  bool take_number() {
    std::vector<std::size_t> ends;
    std::vector<std::int64_t> values;
    for (std::size_t t = 0; t < texts_.size(); ++t) {
      ends.push_back(end_of_number(texts_[t], at_[t]));
      std::int64_t value = 0;
      const char* const end = texts_[t].data() + ends[t];
      if (std::from_chars(texts_[t].data() + at_[t], end, value).ptr != end) return take_same(ends);
      values.push_back(value);
    }
    const bool same =
        std::ranges::all_of(values, [&](std::int64_t value) { return value == values[0]; });
    if (same || goes_on(texts_[0], ends[0])) return take_same(ends);
    const std::optional<Affine> value = fit(sizes_, values);
    if (!value) return false;
    // Brackets, as the number may be a factor: 2*7 becomes 2*(N + 1).
    result_ += value->as_symbol() ? to_string(*value) : "(" + to_string(*value) + ")";
    at_ = ends;
    return true;
  }

  bool take_same(const std::vector<std::size_t>& ends) {
    const std::string_view number = std::string_view(texts_[0]).substr(at_[0], ends[0] - at_[0]);
    for (std::size_t t = 0; t < texts_.size(); ++t)
      if (std::string_view(texts_[t]).substr(at_[t], ends[t] - at_[t]) != number) return false;
    result_ += number;
    at_ = ends;
    return true;
  }

  std::string line_at(std::size_t t) const {
    const std::string& text = texts_[t];
    if (text.empty()) return "";
    const std::size_t before = at_[t] == 0 ? std::string::npos : text.rfind('\n', at_[t] - 1);
    const std::size_t begin =
        text.find_first_not_of(' ', before == std::string::npos ? 0 : before + 1);
    return begin == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
  }

  // The base's line, and the first of another point that differs from it.
  std::string difference() const {
    std::string result = "'" + line_at(0) + "' where " + sizes_.text(0);
    for (std::size_t t = 1; t < texts_.size(); ++t)
      if (line_at(t) != line_at(0)) result += ", '" + line_at(t) + "' where " + sizes_.text(t);
    return result;
  }
};

bool has_word(const std::string& text, const std::string& word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end])))
      return true;
  }
  return false;
}

// Names for the symbols that Program text accepts and this text does not use.
std::vector<std::string> parameter_names(const std::vector<std::string>& symbols,
                                         const std::string& text) {
  std::vector<std::string> names;
  for (const std::string& symbol : symbols) {
    std::string name;
    for (const char c : symbol) name += is_word(c) ? c : '_';
    if (name.empty() || is_digit(name[0])) name = "N" + name;
    while (has_word(text, name) || std::ranges::find(names, name) != names.end()) name += "_";
    names.push_back(std::move(name));
  }
  return names;
}

std::ptrdiff_t count_indirect(const std::vector<Index>& indices) {
  return std::ranges::count_if(indices,
                               [](const Index& index) { return index.indirect != nullptr; });
}

// Subscripts that are read or computed at run time.
std::ptrdiff_t count_indirect(const Program& program) {
  std::ptrdiff_t count = 0;
  for (const Statement& statement : program.statements) {
    for (const Access& write : statement.writes) count += count_indirect(write.indices);
    for (const Expr& value : statement.values)
      for (const Load* load : loads_of(value)) count += count_indirect(load->indices);
  }
  return count;
}

std::string header(const std::string& program, const std::vector<std::string>& names,
                   std::span<const SizeRange> ranges) {
  std::string list, context;
  for (std::size_t s = 0; s < names.size(); ++s) {
    list += (s > 0 ? ", " : "") + names[s];
    context += (s > 0 ? " and " : "") + names[s] + " >= " + std::to_string(ranges[s].least) +
               " and " + names[s] + " <= " + std::to_string(ranges[s].most);
  }
  return "program " + program + "(" + list + ") where " + context;
}

// Whether the range of iterator i of the statement depends on a parameter.
bool is_open(const Program& program, const IteratorBounds& bounds) {
  const auto depends = [&](const Affine& bound) {
    return std::ranges::any_of(program.params,
                               [&](const std::string& param) { return bound.uses(param); });
  };
  return std::ranges::any_of(bounds.lower, depends) || std::ranges::any_of(bounds.upper, depends);
}

}  // namespace

std::string SizePoints::text(std::size_t point) const {
  std::string result;
  for (std::size_t s = 0; s < symbols.size(); ++s)
    result += (s > 0 ? ", " : "") + symbols[s] + " = " + std::to_string(points[point][s]);
  return result;
}

// Finite differences: the coefficient of size s is (value at point 1 + s - value at the base) by
// the change of s, which has to be whole. An affine function is determined by that; all points,
// also those that were not used, have to agree with it.
std::optional<Affine> fit(const SizePoints& sizes, std::span<const std::int64_t> values) {
  const std::vector<std::int64_t>& base = sizes.points[0];
  std::vector<std::int64_t> coefficients;
  std::int64_t constant = values[0];
  Affine result;
  for (std::size_t s = 0; s < sizes.symbols.size(); ++s) {
    const std::int64_t run = sizes.points[s + 1][s] - base[s],
                       rise = checked_sub(values[s + 1], values[0]);
    if (run == 0 || rise % run != 0) return std::nullopt;
    coefficients.push_back(rise / run);
    constant = checked_sub(constant, checked_mul(coefficients[s], base[s]));
    result = result + Affine::symbol(sizes.symbols[s]) * coefficients[s];
  }
  for (std::size_t p = 0; p < values.size(); ++p) {
    std::int64_t value = constant;
    for (std::size_t s = 0; s < coefficients.size(); ++s)
      value = checked_add(value, checked_mul(coefficients[s], sizes.points[p][s]));
    if (value != values[p]) return std::nullopt;
  }
  return result + Affine(constant);
}

Result<Program> open_program(const SizePoints& sizes, std::span<const SizeRange> ranges,
                             std::span<const Program> programs) {
  std::vector<std::string> texts;
  for (const Program& program : programs) texts.push_back(print(program));
  if (std::ranges::all_of(texts, [&](const std::string& text) { return text == texts[0]; }))
    return programs[0];
  SizePoints named = sizes;
  named.symbols = parameter_names(sizes.symbols, texts[0]);
  Result<std::string> text = TextFit(named, texts).run();
  if (!text) return Decline{text.error().reason};
  const std::string& name = programs[0].name;
  const std::string body = text->substr(text->find('\n'));
  try {
    Program open = parse_program(header(name, named.symbols, ranges) + body, name);
    // What is a product of a size and an iterator would be computed as if it were a gather.
    if (count_indirect(open) != count_indirect(programs[0]))
      return Decline{"a subscript is not affine: it is a product of a size and an iterator\n" +
                     print(open)};
    return open;
  } catch (const UserError& error) {
    return Decline{error.what()};
  }
}

Program at_typical(const Program& program, const Values& sizes) {
  Program anywhere = program;
  anywhere.context.clear();
  Program result = ir::bind(anywhere, sizes);
  for (const Statement& statement : program.statements) {
    const DomainBounds bounds = bounds_of(statement.domain, statement.iterators);
    for (std::size_t i = 0; i < statement.iterators.size(); ++i)
      if (is_open(program, bounds.of[i])) result.open.insert(statement.iterators[i]);
  }
  return result;
}

}  // namespace polyte::ir
