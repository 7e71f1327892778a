#include "driver/compile/network.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "graph/op.h"

namespace polyte::driver {
namespace {

using graph::Graph;

// The numbers of a text, and what stands between them: "pads=[1, 1], group=2" is "pads=[#, #],
// group=#" and 1, 1, 2. The same text at several sizes has one skeleton, and each number is a
// function of the sizes.
struct Numbers {
  std::string skeleton;
  std::vector<std::int64_t> values;
};

// A number that does not fit in 64 bits stays text, digit by digit: then it has to be equal at
// all sizes.
Numbers numbers_of(const std::string& text) {
  Numbers result;
  for (const char* at = text.data(); at != text.data() + text.size();) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(at, text.data() + text.size(), value);
    if (error == std::errc()) result.values.push_back(value);
    result.skeleton += error == std::errc() ? '#' : *at;
    at = error == std::errc() ? end : at + 1;
  }
  return result;
}

// Holds the graphs of one network at several sizes against each other: they have to be one
// graph whose numbers are affine functions of the sizes.
class Comparison {
 public:
  Comparison(const ir::SizePoints& sizes, const std::vector<Graph>& graphs)
      : sizes_(sizes), graphs_(graphs) {}

  // Counts, then nodes, then values: a graph with other nodes has other values everywhere, which is
  // one problem and not many.
  std::vector<std::string> run() {
    compare_counts();
    if (!problems_.empty()) return std::move(problems_);
    for (std::size_t n = 0; n < graphs_[0].nodes.size(); ++n) compare_node(n);
    if (!problems_.empty()) return std::move(problems_);
    for (std::size_t v = 0; v < graphs_[0].values.size(); ++v) compare_value(v);
    return std::move(problems_);
  }

 private:
  const ir::SizePoints& sizes_;
  const std::vector<Graph>& graphs_;
  std::vector<std::string> problems_;
  std::set<graph::ValueId> refused_;  // and what is computed of them: one message a cause

  void compare_counts() {
    for (std::size_t p = 1; p < graphs_.size(); ++p) {
      const Graph &a = graphs_[0], &b = graphs_[p];
      if (a.nodes.size() != b.nodes.size() || a.values.size() != b.values.size() ||
          a.inputs != b.inputs || a.outputs != b.outputs)
        return problems_.push_back("the network has " + std::to_string(a.nodes.size()) +
                                   " operators where " + sizes_.text(0) + ", and other " +
                                   std::to_string(b.nodes.size()) + " where " + sizes_.text(p));
    }
  }

  // False, and a message, where what `text` gives at each point is no affine function.
  template <class F>
  bool compare_texts(const std::string& who, F text) {
    std::vector<Numbers> all;
    for (const Graph& graph : graphs_) all.push_back(numbers_of(text(graph)));
    bool fits =
        std::ranges::all_of(all, [&](const Numbers& n) { return n.skeleton == all[0].skeleton; });
    for (std::size_t i = 0; fits && i < all[0].values.size(); ++i) {
      std::vector<std::int64_t> values;
      for (const Numbers& numbers : all) values.push_back(numbers.values[i]);
      fits = ir::fit(sizes_, values).has_value();
    }
    if (fits) return true;
    std::string problem = who + " is no affine function of the sizes: ";
    for (std::size_t p = 0; p < graphs_.size(); ++p)
      problem += (p > 0 ? ", " : "") + text(graphs_[p]) + " where " + sizes_.text(p);
    problems_.push_back(problem);
    return false;
  }

  // A node whose inputs have been refused is refused silently: it only repeats their problem.
  void compare_node(std::size_t n) {
    const graph::Node& node = graphs_[0].nodes[n];
    const auto is_refused = [&](graph::ValueId id) { return refused_.contains(id); };
    if (std::ranges::none_of(node.inputs, is_refused) && is_same(n, node)) return;
    refused_.insert(node.outputs.begin(), node.outputs.end());
  }

  bool is_same(std::size_t n, const graph::Node& node) {
    const std::string who =
        "node '" + node.name + "' (" + std::string(graph::info(node.op).name) + ")";
    for (std::size_t p = 1; p < graphs_.size(); ++p) {
      const graph::Node& other = graphs_[p].nodes[n];
      if (other.op == node.op && other.inputs == node.inputs && other.outputs == node.outputs)
        continue;
      problems_.push_back(who + " is " + std::string(graph::info(other.op).name) + " '" +
                          other.name + "' where " + sizes_.text(p));
      return false;
    }
    // The result's type first: where that is not affine, attributes such as a Reshape's target
    // hardly are.
    const auto is_affine = [&](graph::ValueId id) {
      return id == graph::kNoValue || compare_texts(who + ": its result", [id](const Graph& graph) {
               return graph::to_string(graph.value(id).type);
             });
    };
    return std::ranges::all_of(node.outputs, is_affine) &&
           compare_texts(who, [n](const Graph& graph) {
             return graph::print_attributes(graph.nodes[n].attributes);
           });
  }

  void compare_value(std::size_t v) {
    const graph::Value& value = graphs_[0].values[v];
    for (std::size_t p = 1; p < graphs_.size(); ++p) {
      const graph::Value& other = graphs_[p].values[v];
      // A constant that is computed from sizes differs between the points, and is a problem.
      // Data are compared as pointers: equal ones are shared by then (share_constants).
      const bool both = value.is_constant() && other.is_constant();
      if (value.is_constant() != other.is_constant() ||
          (both && (!(value.type == other.type) || value.data != other.data)))
        return problems_.push_back("constant '" + value.name + "' is another one where " +
                                   sizes_.text(p));
    }
    // Inputs; results of nodes have been compared with their nodes.
    if (value.producer == graph::kNoNode && !value.is_constant())
      compare_texts("input '" + value.name + "'",
                    [&](const Graph& graph) { return graph::to_string(graph.values[v].type); });
  }
};

void check_ranges(const std::vector<OpenSymbol>& symbols) {
  constexpr std::int64_t kGreatest = std::int64_t{1} << 31;
  std::vector<std::string> problems;
  for (const OpenSymbol& s : symbols)
    if (s.least < 1 || s.typical < s.least || s.most < s.typical || s.most > kGreatest)
      problems.push_back(
          "the range of " + s.name + " is " + std::to_string(s.least) + ".." +
          std::to_string(s.typical) + ".." + std::to_string(s.most) +
          ", expected 1 <= least <= typical <= most <= " + std::to_string(kGreatest));
  if (!problems.empty()) throw UserError(ExitStatus::Usage, problems);
}

constexpr std::int64_t kReach = 2;  // of the points near the sizes chosen for

bool is_prime(std::int64_t n) {
  for (std::int64_t d = 2; d * d <= n; ++d)
    if (n % d == 0) return false;
  return n > 1;
}

template <class F>
std::vector<std::int64_t> values_of(const std::vector<OpenSymbol>& symbols, F value) {
  std::vector<std::int64_t> values;
  for (const OpenSymbol& symbol : symbols) values.push_back(value(symbol));
  return values;
}

// What is chosen for; one more of each; and one point to check, beyond both. An affine function of
// s sizes has s + 1 coefficients, which the first s + 1 points determine; a function that is not
// affine misses the last one, or is affine near these sizes at least.
std::vector<std::vector<std::int64_t>> near_points(const std::vector<OpenSymbol>& symbols) {
  const std::vector<std::int64_t> base =
      values_of(symbols, [](const OpenSymbol& s) { return s.chosen_for(); });
  std::vector<std::vector<std::int64_t>> points{base};
  for (std::size_t s = 0; s < symbols.size(); ++s) {
    points.push_back(base);
    ++points.back()[s];
  }
  points.push_back(values_of(symbols, [](const OpenSymbol& s) { return s.chosen_for() + kReach; }));
  return points;
}

Graph graph_at(const GraphOfSizes& graph_of, const ir::SizePoints& sizes, std::size_t point) {
  ir::Values values;
  for (std::size_t s = 0; s < sizes.symbols.size(); ++s)
    values[sizes.symbols[s]] = sizes.points[point][s];
  return graph_of(values);
}

}  // namespace

// A prime, so that no factor divides it by chance and every tile has a remainder, with room for
// the further points below `most` where the range has any.
std::int64_t OpenSymbol::chosen_for() const {
  constexpr std::int64_t kLeast = 67;  // more than a tile of four long vectors
  std::int64_t size = std::max(typical, kLeast);
  while (!is_prime(size)) ++size;
  if (size + kReach <= most || most - kReach < 2) return size;
  size = most - kReach;
  while (!is_prime(size)) --size;
  return size;
}

Network::Network(Graph graph) : sizes{{}, {{}}} { graphs.push_back(std::move(graph)); }

Network::Network(std::vector<OpenSymbol> open, const GraphOfSizes& graph_of)
    : symbols(std::move(open)) {
  check_ranges(symbols);
  for (const OpenSymbol& symbol : symbols) sizes.symbols.push_back(symbol.name);
  sizes.points = near_points(symbols);
  // The ends of the ranges are compared too: a function that is affine near the typical size
  // may have a corner elsewhere (a Max of two sizes).
  ir::SizePoints all = sizes;
  all.points.push_back(values_of(symbols, [](const OpenSymbol& s) { return s.least; }));
  all.points.push_back(values_of(symbols, [](const OpenSymbol& s) { return s.most; }));
  for (std::size_t p = 0; p < all.points.size(); ++p) {
    graphs.push_back(graph_at(graph_of, all, p));
    share_constants(graphs.front(), graphs.back());
  }
  refuse_open_sizes(sizes, differences(all, graphs));
  // The graphs at the ends of the ranges were only to be compared: nothing is compiled of them.
  graphs.erase(graphs.begin() + static_cast<std::ptrdiff_t>(sizes.points.size()), graphs.end());
}

void refuse_open_sizes(const ir::SizePoints& sizes, std::vector<std::string> problems) {
  if (problems.empty()) return;
  std::string names, options;
  for (const std::string& symbol : sizes.symbols) {
    names += (names.empty() ? "" : ", ") + symbol;
    options += " --shape " + symbol + "=...";
  }
  problems.insert(
      problems.begin(),
      names + " cannot stay open, for not every use is affine; give a size with" + options);
  throw UserError(ExitStatus::Unsupported, std::move(problems));
}

std::vector<std::string> differences(const ir::SizePoints& sizes,
                                     const std::vector<Graph>& graphs) {
  return Comparison(sizes, graphs).run();
}

// Equal constants of several graphs share one copy, so that comparing them is comparing
// pointers, and memory is taken once.
void share_constants(const Graph& other, Graph& graph) {
  for (std::size_t v = 0; v < std::min(other.values.size(), graph.values.size()); ++v) {
    const graph::Value& held = other.values[v];
    graph::Value& value = graph.values[v];
    if (held.is_constant() && value.is_constant() && *held.data == *value.data)
      value.data = held.data;
  }
}

}  // namespace polyte::driver
