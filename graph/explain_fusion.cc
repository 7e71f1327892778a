#include "graph/explain_fusion.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

namespace polyte::graph {

namespace {

// Where the text of a decision begins, in characters behind the indentation; longer edges push
// it on.
constexpr std::size_t kEdgeColumn = 23;

std::string rule_text(FusionRule rule) {
  switch (rule) {
    case FusionRule::ElementwiseTail:
      return "an OutEWiseFusable source needs an element-wise path";
    case FusionRule::ElementwiseSource:
      return "an element-wise source needs an injective path, which may end in a reduction";
    case FusionRule::InjectiveSource:
      return "an injective source needs groups that are at most Injective";
    case FusionRule::IntoTuple:
      return "a tuple takes a source only after it was fused into injective operators";
    case FusionRule::AskedFor:
      return "none";
  }
  return {};
}

// The largest pattern on the paths is what a rule compares with its limit.
std::string path_text(OpPattern pattern) {
  switch (pattern) {
    case OpPattern::ElemWise:
      return "the path is element-wise";
    case OpPattern::Broadcast:
      return "the path broadcasts";
    case OpPattern::Injective:
      return "the path is injective";
    case OpPattern::CommReduce:
      return "the path ends in a reduction";
    default:
      return "the path holds an operator that is " + std::string(to_string(pattern));
  }
}

// Names of operators as one group's lines show them: the kind alone for a member whose kind is
// unique among the members, and for another operator whose kind is unique among all that are shown.
class Labels {
 public:
  Labels(const FusionGraph& graph, const std::set<int>& members, const std::set<int>& shown)
      : graph_(graph), members_(members) {
    for (int node : members) ++uses_by_members_[graph.nodes[node].op];
    for (int node : shown) ++uses_[graph.nodes[node].op];
  }
  std::string operator()(int node) const {
    const FusionNode& shown = graph_.nodes[node];
    const auto& uses = members_.count(node) != 0 ? uses_by_members_ : uses_;
    if (uses.at(shown.op) == 1) return shown.op;
    return shown.name.empty() ? shown.op + " #" + std::to_string(node)
                              : shown.op + " '" + shown.name + "'";
  }

 private:
  const FusionGraph& graph_;
  const std::set<int>& members_;
  std::map<std::string, int> uses_by_members_, uses_;
};

// Why an edge was not fused: the verdict in words, with the rule that asked for more, and the
// operator where the check failed (the witness), which may lie on the way to the post-dominator.
std::string refusal_text(const FusionGraph& graph, const FusionOptions& options,
                         const EdgeDecision& decision, const Labels& label) {
  const std::string producer = label(decision.producer);
  std::string rule = " (rule: " + rule_text(decision.rule) + ")";
  // The rule was chosen by the pattern of the group that the producer had joined by then.
  if (decision.source_pattern != graph.nodes[decision.producer].pattern) {
    rule.insert(rule.size() - 1, "; by its group, " + producer + " is one");
  }
  // The obstacle is the consumer itself, or lies further on.
  const bool direct = decision.witness == decision.consumer;
  const std::string where = direct || decision.witness < 0
                                ? ""
                                : "on the way to " + label(decision.post_dominator) + ", ";
  switch (decision.verdict) {
    case FusionVerdict::Fused:
      break;
    case FusionVerdict::Disabled:
      return "fusion is switched off";
    case FusionVerdict::SourceIsOpaque:
      return producer + " is Opaque (rule: an opaque operator is never a source)";
    case FusionVerdict::SourceIsReduction:
      return producer + " is a reduction (rule: a reduction never joins its consumers)";
    case FusionVerdict::NoPostDominator:
      return graph.nodes[decision.producer].external
                 ? "the value of " + producer + " leaves the graph"
                 : "no operator post-dominates " + producer + ": its consumers never meet";
    case FusionVerdict::TooManyNodes:
      return "the group would pass " + std::to_string(options.max_group_nodes) + " operators";
    case FusionVerdict::SinkIsTuple:
      return "a tuple takes only injective sources";
    case FusionVerdict::EdgeTooComplex:
      return where + label(decision.witness) + " is " +
             std::string(to_string(decision.witness_pattern)) + rule;
    case FusionVerdict::GroupTooComplex:
      return where + "the group of " + label(decision.witness) + " is " +
             std::string(to_string(decision.witness_pattern)) + rule;
    case FusionVerdict::TupleIsOutside:
      return producer + " only picks a value of its tuple (rule: it stays where the tuple is made)";
    case FusionVerdict::KeptApart:
      return options.keep_apart[decision.keep_apart].reason;
  }
  return {};
}

// A fused edge is explained by the pair that was fused, source and post-dominator. All edges on
// the paths between the two became fused with it, and say between which operators they lie.
std::string decision_text(const FusionGraph& graph, const FusionOptions& options,
                          const EdgeDecision& decision, const Labels& label) {
  if (!decision.fused()) return "not fused: " + refusal_text(graph, options, decision, label);
  if (decision.rule == FusionRule::AskedFor)
    return "fused: " + options.keep_together[decision.keep_together].reason;
  const std::string where =
      decision.producer == decision.source && decision.consumer == decision.post_dominator
          ? label(decision.post_dominator) + " post-dominates " + label(decision.source)
          : "between " + label(decision.source) + " and its post-dominator " +
                label(decision.post_dominator);
  return "fused: phase " + std::to_string(decision.phase) + ", " + where + ", " +
         path_text(decision.path_pattern);
}

// Every node that the lines of these edges may name.
void add_named_nodes(const EdgeDecision& decision, std::set<int>& shown) {
  for (int node : {decision.producer, decision.consumer, decision.source, decision.post_dominator,
                   decision.witness}) {
    if (node >= 0) shown.insert(node);
  }
}

std::string title(const FusionGraph& graph, const std::vector<int>& group) {
  // The operator that gives the group its character carries its name: the first of
  // the largest pattern.
  const auto largest = std::ranges::max_element(
      group, [&](int a, int b) { return graph.nodes[a].pattern < graph.nodes[b].pattern; });
  std::string text;
  for (int node : group) {
    const FusionNode& shown = graph.nodes[node];
    text += (text.empty() ? "" : " + ") + shown.op;
    if (node == *largest && !shown.name.empty()) text += " '" + shown.name + "'";
    for (const std::string& folded : shown.folded) text += " + " + folded + " (folded)";
  }
  return text;
}

void print_edge(std::ostream& out, const std::string& edge, const std::string& text) {
  out << "  " << edge
      << std::string(std::max<std::size_t>(kEdgeColumn, edge.size() + 2) - edge.size(), ' ') << text
      << '\n';
}

}  // namespace

std::string explain_edge(const FusionGraph& graph, const FusionOptions& options,
                         const EdgeDecision& decision) {
  std::set<int> shown;
  add_named_nodes(decision, shown);
  return decision_text(graph, options, decision, Labels(graph, {}, shown));
}

std::string explain_fusion(const FusionGraph& graph, const FusionOptions& options,
                           const FusionReport& report) {
  // An edge is listed once, with the group of its consumer.
  std::vector<std::vector<const EdgeDecision*>> inside(report.groups.size()),
      into(report.groups.size());
  for (const EdgeDecision& decision : report.edges) {
    const int group = report.group_of[decision.consumer];
    (report.group_of[decision.producer] == group ? inside : into)[group].push_back(&decision);
  }
  std::ostringstream out;
  for (std::size_t g = 0; g < report.groups.size(); ++g) {
    const std::set<int> members(report.groups[g].begin(), report.groups[g].end());
    std::set<int> shown = members;
    // Consumers of this group that also read a value from elsewhere.
    std::set<int> with_outside_operand;
    for (const EdgeDecision* decision : inside[g]) add_named_nodes(*decision, shown);
    for (const EdgeDecision* decision : into[g]) {
      add_named_nodes(*decision, shown);
      with_outside_operand.insert(decision->consumer);
    }
    const Labels label(graph, members, shown);
    const auto edge_text = [&](const EdgeDecision& d) {
      return label(d.producer) + " -> " + label(d.consumer);
    };
    out << "group " << g << "   " << title(graph, report.groups[g]) << '\n';
    for (const EdgeDecision* decision : inside[g]) {
      const std::string operand = with_outside_operand.count(decision->consumer) != 0
                                      ? "; the other operand is an input of the group"
                                      : "";
      print_edge(out, edge_text(*decision),
                 decision_text(graph, options, *decision, label) + operand);
    }
    for (const EdgeDecision* decision : into[g]) {
      print_edge(out, edge_text(*decision), decision_text(graph, options, *decision, label));
    }
  }
  return out.str();
}

}  // namespace polyte::graph
