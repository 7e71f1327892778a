#include "graph/passes/choose_layouts.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "graph/layouts/block_rewriter.h"
#include "graph/layouts/layout_choice.h"

namespace polyte::graph {

namespace {

// Of a region's cycles; the prices are no better than that.
constexpr double kWorthwhile = 0.03;
constexpr std::int64_t kLeastGain = 20000;  // cycles; of kernels this short they know little

constexpr std::array<std::string_view, 3> kNames = {"auto", "plain", "blocked"};

std::string cycles_text(std::int64_t cycles) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f k", static_cast<double>(cycles) / 1000);
  return text;
}

std::size_t at(NodeId id) { return static_cast<std::size_t>(id); }

// One choice of layouts, region by region, and what is to be said of it.
class Chooser {
 public:
  Chooser(const Graph& graph, const LayoutOptions& options)
      : graph_(graph),
        forced_(options.layout == Layout::Blocked),
        forms_(graph, options.unit.lanes, options.transforms),
        prices_(graph, forms_, options.unit),
        choice_(graph, forms_, prices_) {}

  std::vector<bool> run(PassResult& result) {
    // The best choice as a whole first; then each region has to be worth its while by itself.
    std::vector<bool> in_blocks = choice_.choose(forced_);
    for (const std::vector<NodeId>& region : choice_.regions(in_blocks)) {
      // What the whole costs more without this region; a reorder that another region needs as well
      // stays either way.
      std::vector<bool> without = in_blocks;
      for (const NodeId id : region) without[at(id)] = false;
      const std::int64_t gain = choice_.cost(without) - choice_.cost(in_blocks),
                         now = plain_cost(region);
      const bool pays =
          gain >= kLeastGain && static_cast<double>(gain) >= kWorthwhile * static_cast<double>(now);
      const std::string what = region_text(region);
      const std::string why = cycles_text(now) + " cycles as they are, " + cycles_text(now - gain) +
                              " in blocks and with the reorders";
      if (pays || forced_) {
        result.notes.push_back(what + " in blocks of " + std::to_string(forms_.block()) +
                               " channels" + (forced_ ? ", as was asked for: " : ": ") + why);
        result.rewrites += static_cast<int>(region.size());
      } else {
        result.notes.push_back(what + " plain, for little would be won: " + why);
        in_blocks = without;
      }
    }
    say_what_ends_regions(in_blocks, result);
    return in_blocks;
  }

  const BlockForms& forms() const { return forms_; }

 private:
  const Graph& graph_;
  bool forced_;
  BlockForms forms_;
  LayoutPrices prices_;
  LayoutChoice choice_;

  std::int64_t plain_cost(const std::vector<NodeId>& region) const {
    std::int64_t sum = 0;
    for (const NodeId id : region) sum += prices_.plain(id);
    return sum;
  }

  std::string region_text(const std::vector<NodeId>& region) const {
    std::string first = "'" + graph_.node(region.front()).name + "'";
    if (region.size() == 1) return first;
    return std::to_string(region.size()) + " nodes, " + first + " to '" +
           graph_.node(region.back()).name + "',";
  }

  // Convolutions that cannot compute in blocks.
  void say_what_ends_regions(const std::vector<bool>& in_blocks, PassResult& result) const {
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes.size()); ++id) {
      const Node& node = graph_.node(id);
      if (node.op != OpKind::Conv || in_blocks[at(id)]) continue;
      if (!forms_.has(id))
        result.notes.push_back("'" + node.name + "' plain: " + forms_.of(id).error().reason);
    }
  }
};

}  // namespace

std::string_view to_string(Layout layout) { return kNames[static_cast<std::size_t>(layout)]; }

std::optional<Layout> layout_from_string(std::string_view text) {
  const auto found = std::ranges::find(kNames, text);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Layout>(found - kNames.begin());
}

PassResult choose_layouts(Graph& graph, const LayoutOptions& options) {
  PassResult result;
  if (options.layout == Layout::Plain || options.unit.lanes < 2) return result;
  Chooser chooser(graph, options);
  const std::vector<bool> in_blocks = chooser.run(result);
  if (result.rewrites == 0) return result;
  // Rewriting adds nodes behind these; the walk is over those that were there.
  BlockRewriter rewriter(graph, chooser.forms());
  for (NodeId id = 0; id < static_cast<NodeId>(in_blocks.size()); ++id) {
    if (in_blocks[at(id)])
      rewriter.rewrite(id);
    else
      rewriter.keep(id);
  }
  rewriter.finish();
  return result;
}

}  // namespace polyte::graph
