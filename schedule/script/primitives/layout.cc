#include "schedule/script/primitives/layout.h"

#include <algorithm>
#include <cctype>

#include "support/checked.h"

namespace polyte::schedule {

namespace {

using ir::Affine;

std::string squeezed(const std::string& text) {
  std::string result;
  for (char c : text)
    if (!std::isspace(static_cast<unsigned char>(c))) result += c;
  return result;
}

Refusal not_a_digit(const std::string& text) {
  return conservative("layout index '" + text +
                      "' is not a digit: n, n // F, n % F or (n // F) % G are");
}

// NAME, NAME // size, NAME % size or (NAME // size) % size.
Result<Digit, Refusal> parse_digit(const std::vector<std::string>& names, const std::string& index,
                                   const PrimitiveContext& context) {
  std::string text = squeezed(index);
  Digit digit;
  std::string mod;
  if (!text.empty() && text.front() == '(') {
    const std::size_t close = text.find(")%");
    if (close == std::string::npos) return not_a_digit(index);
    mod = text.substr(close + 2);
    text = text.substr(1, close - 1);
  }
  const std::size_t end = text.find_first_of("/%");
  const std::string name = text.substr(0, end);
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    const bool is_name = std::ranges::all_of(
        name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
    if (is_name)
      return malformed("layout index '" + index + "': no dimension is called " + name +
                       " (they are " + join_words(names) + ")");
    return not_a_digit(index);
  }
  digit.dimension = static_cast<std::size_t>(found - names.begin());
  // What stands behind the name: `//F` or `%F`; with brackets around it and `%G` behind, both.
  std::string div;
  if (end != std::string::npos && text.compare(end, 2, "//") == 0)
    div = text.substr(end + 2);
  else if (end != std::string::npos && text[end] == '/')
    return malformed("layout index '" + index +
                     "': / says that nothing is left: write //, which rounds down");
  else if (end != std::string::npos && mod.empty())
    mod = text.substr(end + 1);
  for (const auto& [size, into] : {std::pair{&div, &digit.div}, std::pair{&mod, &digit.mod}}) {
    if (size->empty()) continue;
    const auto value = evaluate({*size}, context);
    if (!value) return value.error();
    if (*value < 1)
      return malformed("layout index '" + index + "': " + *size + " is " + std::to_string(*value) +
                       ", expected 1 or more");
    *into = *value;
  }
  return digit;
}

// Positions of a dimension's digits, the most significant first.
std::vector<std::size_t> digits_of(const Layout& layout, std::size_t dimension) {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < layout.size(); ++i)
    if (layout[i].dimension == dimension) positions.push_back(i);
  std::ranges::sort(positions,
                    [&](std::size_t a, std::size_t b) { return layout[a].div > layout[b].div; });
  return positions;
}

// Takes the modulus from the most significant digit of each dimension and returns it: [u % 3, x] is
// the plain layout [u, x] whose u is folded by 3.
std::vector<std::int64_t> unfold(Layout& layout, std::size_t dimensions) {
  std::vector<std::int64_t> folds(layout.size(), 0);
  for (std::size_t d = 0; d < dimensions; ++d) {
    const std::vector<std::size_t> positions = digits_of(layout, d);
    if (!positions.empty()) std::swap(folds[positions.front()], layout[positions.front()].mod);
  }
  return folds;
}

// The digits of a dimension are a mixed-radix number: the least has div 1, each one's div * mod is
// the div of the next, and the most significant has no modulus.
bool is_one_to_one(const Layout& layout, std::size_t dimension) {
  const std::vector<std::size_t> positions = digits_of(layout, dimension);
  if (positions.empty() || layout[positions.front()].mod != 0 || layout[positions.back()].div != 1)
    return false;
  for (std::size_t i = 1; i < positions.size(); ++i) {
    const Digit &high = layout[positions[i - 1]], &low = layout[positions[i]];
    if (low.mod == 0 || low.div * low.mod != high.div) return false;
  }
  return true;
}

}  // namespace

Layout plain_layout(std::size_t rank) {
  Layout layout;
  for (std::size_t d = 0; d < rank; ++d) layout.push_back({d, 1, 0});
  return layout;
}

Result<Layout, Refusal> parse_layout(const std::vector<std::string>& names,
                                     const std::vector<std::string>& texts,
                                     const PrimitiveContext& context,
                                     std::vector<std::int64_t>* folds) {
  Layout layout;
  for (const std::string& text : texts) {
    const auto digit = parse_digit(names, text, context);
    if (!digit) return digit.error();
    layout.push_back(*digit);
  }
  if (folds) *folds = unfold(layout, names.size());
  for (std::size_t d = 0; d < names.size(); ++d)
    if (!is_one_to_one(layout, d))
      return malformed("the layout is not one-to-one: the indices of " + names[d] +
                       " do not say where each element is");
  return layout;
}

Affine digit_value(const Digit& digit, const Affine& coordinate) {
  const Affine quotient = ir::floor_div(coordinate, digit.div);
  return digit.mod > 0 ? ir::mod(quotient, digit.mod) : quotient;
}

// A digit takes ceil(extent / div) values, or mod of them where that is less: n in 0..40 as
// [n//16, n%16] is [3, 16].
std::vector<std::int64_t> local_shape(const Layout& layout, const std::vector<std::int64_t>& box) {
  std::vector<std::int64_t> shape;
  for (const Digit& digit : layout) {
    const std::int64_t whole = std::max<std::int64_t>(1, ceil_div(box[digit.dimension], digit.div));
    shape.push_back(digit.mod > 0 ? std::min(whole, digit.mod) : whole);
  }
  return shape;
}

// A loop per digit, called as repeated splits of the dimension would call them: n.o, n.i.o, n.i.i.
DigitLoops digit_loops(const Layout& layout, const std::vector<std::string>& names) {
  DigitLoops loops;
  loops.rows.resize(layout.size());
  for (std::size_t d = 0; d < names.size(); ++d) {
    const Affine coordinate = Affine::symbol(names[d]);
    const std::vector<std::size_t> positions = digits_of(layout, d);
    std::string name = names[d];
    Affine whole = 0;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      const Digit& digit = layout[positions[i]];
      const bool is_last = i + 1 == positions.size();
      const std::string loop = is_last ? name : tiles_of(name);
      loops.rows[positions[i]] = {loop, digit_value(digit, coordinate)};
      // The mixed-radix number: n = 64*n.o + 16*n.i.o + n.i.i.
      whole = whole + Affine::symbol(loop) * digit.div;
      if (digit.mod > 0) {
        loops.domain.push_back(ir::at_least(Affine::symbol(loop), 0));
        loops.domain.push_back(ir::less_than(Affine::symbol(loop), digit.mod));
      }
      name = within_tile(name);
    }
    loops.inverse[names[d]] = whole;
  }
  return loops;
}

}  // namespace polyte::schedule
