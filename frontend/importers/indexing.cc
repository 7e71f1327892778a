// Operators that read or write at positions known at run time.
#include <algorithm>
#include <numeric>

#include "frontend/importers/build.h"
#include "frontend/importers/table.h"

namespace polyte::frontend {

namespace {

graph::ScatterReduction reduction_of(NodeContext& c) {
  using graph::ScatterReduction;
  static const std::pair<const char*, ScatterReduction> kReductions[] = {
      {"none", ScatterReduction::None},
      {"add", ScatterReduction::Add},
      {"mul", ScatterReduction::Mul},
      {"max", ScatterReduction::Max},
      {"min", ScatterReduction::Min}};
  const std::string name = c.text("reduction", "none");
  for (const auto& [known, reduction] : kReductions) {
    if (name == known) return reduction;
  }
  throw Invalid{"reduction is '" + name + "', expected none, add, mul, max or min"};
}

void finish_top_k(NodeContext& c, std::int64_t k) {
  const std::int64_t axis = c.axis("axis", -1, c.rank(c.input(0)));
  c.ignore("sorted");  // sorted is one of the orders that unsorted may have
  c.finish(OpKind::TopK, graph::TopKAttributes{axis, k, c.flag("largest", true)}, {c.input(0)});
}

}  // namespace

static void import_gather_nd(NodeContext& c) {
  const std::int64_t batch = c.integer("batch_dims", 0);
  if (batch < 0) throw Invalid{"batch_dims is " + std::to_string(batch)};
  c.finish(OpKind::GatherND, graph::GatherNDAttributes{batch}, {c.input(0), c.input(1)});
}

static void import_scatter_elements(NodeContext& c) {
  const std::int64_t axis = c.axis("axis", 0, c.rank(c.input(0)));
  c.finish(OpKind::ScatterElements, graph::ScatterAttributes{axis, reduction_of(c)},
           {c.input(0), c.input(1), c.input(2)});
}

static void import_scatter_nd(NodeContext& c) {
  c.finish(OpKind::ScatterND, graph::ScatterAttributes{0, reduction_of(c)},
           {c.input(0), c.input(1), c.input(2)});
}

static void import_top_k_1(NodeContext& c) { finish_top_k(c, c.integer("k")); }

static void import_top_k_10(NodeContext& c) {
  const Dims k = c.constant_integers(1, "k");
  if (k.size() != 1) throw Invalid{"k is not a scalar"};
  finish_top_k(c, k[0]);
}

// The condition decides the shape: what it keeps is gathered.
static void import_compress(NodeContext& c) {
  ValueId x = c.input(0);
  std::int64_t axis = 0;
  if (c.has_attribute("axis"))
    axis = c.axis("axis", {}, c.rank(x));
  else
    x = c.reshape(x, {graph::element_count(c.type(x).shape)});
  const Tensor condition = c.constant(1, "the condition");
  const std::int64_t extent = c.type(x).shape[static_cast<std::size_t>(axis)];
  if (condition.type.dtype != DType::Bool || condition.type.shape.size() != 1 ||
      condition.type.shape[0] > extent)
    throw Invalid{"the condition is " + to_string(condition.type) + ", expected at most " +
                  std::to_string(extent) + " bools"};
  Dims kept;
  const Dims flags = elements_as_int(condition);
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (flags[i] != 0) kept.push_back(static_cast<std::int64_t>(i));
  }
  c.finish(OpKind::Gather, graph::AxisAttributes{axis},
           {x, c.add_constant(graph::make_int64s(kept))});
}

// Positions of the elements that are not 0, of a constant: how many there are decides the shape.
static void import_non_zero(NodeContext& c) {
  if (!c.is_constant(0))
    throw Unsupported{
        "the shape of its result depends on its data, known only at run time; supported are "
        "constants"};
  const Tensor x = c.constant(0, "the data");
  const std::vector<double> elements = elements_as_real(x);
  const std::size_t rank = x.type.shape.size();
  std::vector<Dims> places(rank);
  std::int64_t count = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements[i] == 0) continue;
    ++count;
    auto rest = static_cast<std::int64_t>(i);
    // The position in row-major order, taken apart from the last dimension on.
    for (std::size_t d = rank; d-- > 0; rest /= x.type.shape[d])
      places[d].push_back(rest % x.type.shape[d]);
  }
  Dims all;
  for (const Dims& row : places) all.insert(all.end(), row.begin(), row.end());
  Tensor result = graph::make_int64s(all);
  result.type.shape = {static_cast<std::int64_t>(rank), count};
  c.finish_constant(result);
}

// The first len[b] elements along the time axis in reverse order: element t comes from len - 1 - t,
// or from t.
static void import_reverse_sequence(NodeContext& c) {
  const Build b(c);
  const ValueId x = c.input(0);
  const Dims shape = c.type(x).shape;
  const std::int64_t rank = c.rank(x), time = c.axis("time_axis", 0, rank),
                     batch = c.axis("batch_axis", 1, rank);
  if (time == batch) throw Invalid{"time_axis and batch_axis are both " + std::to_string(time)};
  const Dims expected = {shape[static_cast<std::size_t>(batch)]};
  if (c.type(c.input(1)).shape != expected)
    throw Invalid{"input 1 has shape " + dims_text(c.type(c.input(1)).shape) + ", expected " +
                  dims_text(expected)};
  Dims counting(static_cast<std::size_t>(shape[static_cast<std::size_t>(time)]));
  std::iota(counting.begin(), counting.end(), 0);
  const ValueId at = b.along(c.add_constant(graph::make_int64s(counting)), time, rank);
  const ValueId length = b.along(c.cast(c.input(1), DType::I64), batch, rank);
  const ValueId mirrored = b.sub(b.sub(length, b.scalar(DType::I64, 1)), at);
  const ValueId from = b.expand(b.where(b.less(at, length), mirrored, at), shape);
  c.finish(OpKind::GatherElements, graph::AxisAttributes{time}, {x, from});
}

namespace {

// Letters to labels; an ellipsis stands for the labels that an operand has besides its letters,
// aligned at the end. Of `...ij,...jk->...ik` with ranks 4 and 3 the ellipsis is labels 128, 129 in
// the first operand and 129 in the second, and widest_ is 2.
class Equation {
 public:
  Equation(NodeContext& c, const std::string& text) : c_(c) {
    for (char letter : text) {
      if (letter != ' ') text_ += letter;
    }
    const std::size_t arrow = text_.find("->");
    read_inputs(text_.substr(0, arrow));
    if (arrow == std::string::npos)
      imply_output();
    else
      einsum_.output = labels_of(text_.substr(arrow + 2), widest_);
  }
  const graph::EinsumAttributes& attributes() const { return einsum_; }

 private:
  void read_inputs(const std::string& text) {
    std::vector<std::string> terms(1);
    for (char letter : text) {
      if (letter == ',')
        terms.emplace_back();
      else
        terms.back() += letter;
    }
    if (terms.size() != c_.input_count()) {
      throw Invalid{"the equation has " + std::to_string(terms.size()) +
                    " operands, the node has " + std::to_string(c_.input_count())};
    }
    std::vector<std::int64_t> besides;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const bool has_ellipsis = terms[i].find("...") != std::string::npos;
      const auto letters = static_cast<std::int64_t>(terms[i].size()) - (has_ellipsis ? 3 : 0);
      const std::int64_t rank = c_.rank(c_.input(i));
      if (letters > rank || (!has_ellipsis && letters != rank))
        throw Invalid{"operand " + std::to_string(i) + " has rank " + std::to_string(rank) +
                      ", the equation gives it '" + printable(terms[i]) + "'"};
      besides.push_back(rank - letters);
      widest_ = std::max(widest_, rank - letters);
    }
    for (std::size_t i = 0; i < terms.size(); ++i)
      einsum_.inputs.push_back(labels_of(terms[i], besides[i]));
  }

  // Letters are labels 0 to 127, the dimensions of an ellipsis come after them.
  Dims labels_of(const std::string& term, std::int64_t besides) const {
    Dims labels;
    for (std::size_t at = 0; at < term.size(); ++at) {
      if (term.compare(at, 3, "...") == 0) {
        for (std::int64_t d = widest_ - besides; d < widest_; ++d) labels.push_back(128 + d);
        at += 2;
        continue;
      }
      const bool is_letter =
          (term[at] >= 'a' && term[at] <= 'z') || (term[at] >= 'A' && term[at] <= 'Z');
      if (!is_letter)
        throw Invalid{"the equation '" + printable(text_) + "' has something that is no letter"};
      labels.push_back(term[at]);
    }
    return labels;
  }

  // The ellipsis, then what occurs once, in the order of the alphabet.
  void imply_output() {
    for (std::int64_t d = 0; d < widest_; ++d) einsum_.output.push_back(128 + d);
    for (std::int64_t label = 0; label < 128; ++label) {
      std::int64_t count = 0;
      for (const Dims& labels : einsum_.inputs) count += std::ranges::count(labels, label);
      if (count == 1) einsum_.output.push_back(label);
    }
  }

  static std::string printable(const std::string& text) {
    std::string plain;
    for (char letter : text.substr(0, 100)) plain += letter < 0x20 || letter == 0x7f ? '?' : letter;
    return plain;
  }

  NodeContext& c_;
  std::string text_;
  graph::EinsumAttributes einsum_;
  std::int64_t widest_ = 0;
};

}  // namespace

static void import_einsum(NodeContext& c) {
  if (c.input_count() == 0) throw Invalid{"has no inputs"};
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < c.input_count(); ++i) operands.push_back(c.input(i));
  c.finish(OpKind::Einsum, Equation(c, c.text("equation")).attributes(), operands);
}

Rows indexing_rows() {
  static constexpr Row kRows[] = {
      {"Compress", 9, import_compress, kConstant},
      {"Einsum", 12, import_einsum},
      {"GatherND", 11, import_gather_nd},
      {"NonZero", 9, import_non_zero, "of a constant"},
      {"ReverseSequence", 10, import_reverse_sequence},
      {"Scatter", 9, import_scatter_elements},
      {"ScatterElements", 11, import_scatter_elements},
      {"ScatterND", 11, import_scatter_nd},
      {"TopK", 1, import_top_k_1},
      {"TopK", 10, import_top_k_10, "k is a constant or given with --value"},
  };
  return kRows;
}

}  // namespace polyte::frontend
