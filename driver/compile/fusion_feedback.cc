#include "driver/compile/fusion_feedback.h"

#include <algorithm>
#include <cstdio>

#include "driver/compile/flops.h"
#include "driver/compile/model.h"
#include "support/checked.h"

namespace polyte::driver {
namespace {

std::string text_of(double factor) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", factor);
  return text;
}

// Why a group cannot stay as it is; empty if it can.
std::string objection(const BuiltKernel& kernel, const FusionLimits& limits) {
  if (kernel.declined) return "no schedule takes it whole";
  const std::int64_t scratch = scratch_bytes(kernel);
  if (scratch > limits.temporaries)
    return "its temporaries need " + std::to_string(scratch) + " bytes, the limit is " +
           std::to_string(limits.temporaries);
  const double recompute = recompute_factor(kernel);
  if (recompute > limits.recompute)
    return "it computes " + text_of(recompute) + " times what its operators do, the limit is " +
           text_of(limits.recompute);
  return "";
}

// What the edge would cost if it were cut: the value goes through memory.
std::int64_t bytes_of_edge(const graph::Graph& graph, const graph::EdgeDecision& edge) {
  std::int64_t bytes = 0;
  const graph::Node& consumer = graph.node(edge.consumer);
  for (const graph::ValueId id : graph.node(edge.producer).outputs) {
    if (id != graph::kNoValue && std::ranges::find(consumer.inputs, id) != consumer.inputs.end())
      bytes += size_in_bytes(graph.value(id).type);
  }
  return bytes;
}

// The edge within a group whose value has the fewest bytes, the first of several.
const graph::EdgeDecision& cheapest_edge(const ScheduledModel& model, int group) {
  const graph::EdgeDecision* cheapest = nullptr;
  std::int64_t least = 0;
  for (const graph::EdgeDecision& edge : model.fusion.edges) {
    if (model.fusion.group_of[edge.producer] != group ||
        model.fusion.group_of[edge.consumer] != group)
      continue;
    const std::int64_t bytes = bytes_of_edge(model.graph, edge);
    if (cheapest && bytes >= least) continue;
    cheapest = &edge;
    least = bytes;
  }
  POLYTE_CHECK(cheapest != nullptr, "a group of several nodes has an edge");
  return *cheapest;
}

// The request, of a person or a proposal, that made the group.
const graph::KeepTogether* request_of(const ScheduledModel& model, int group, bool proposed) {
  const auto& requests = model.fusion_options.keep_together;
  const auto found = std::ranges::find_if(requests, [&](const graph::KeepTogether& together) {
    return together.proposed == proposed && model.fusion.group_of[together.first] == group &&
           model.fusion.group_of[together.second] == group;
  });
  return found == requests.end() ? nullptr : &*found;
}

// Why a group that was proposed is worth no more than its parts; empty if it is.
std::string objection_to_join(const BuiltKernel& kernel, const FusionLimits& limits) {
  const bool has_pass =
      std::ranges::any_of(kernel.script.directives, [](const schedule::Directive& directive) {
        return std::holds_alternative<schedule::Online>(directive.operation);
      });
  return has_pass ? objection(kernel, limits) : "it is not computed in one pass";
}

}  // namespace

// Heap storage of one worker, all of it together, also where two allocations never live at once.
std::int64_t scratch_bytes(const BuiltKernel& kernel) {
  std::int64_t bytes = 0;
  ir::for_each_stmt(kernel.kernel.program.body, [&](const ir::Stmt& s) {
    const auto* alloc = std::get_if<ir::Alloc>(&s->op);
    if (!alloc || alloc->buffer.memory != ir::Memory::Heap) return;
    std::int64_t size = size_in_bytes(alloc->buffer.dtype);
    for (const std::int64_t extent : alloc->buffer.shape) size = checked_mul(size, extent);
    bytes = checked_add(bytes, size);
  });
  return bytes;
}

// Of the Program after its rewrites, which may have less to do than the one before: what the
// schedule repeats is the question.
double recompute_factor(const BuiltKernel& kernel) {
  std::vector<ir::Statement> scheduled;
  for (const schedule::ScheduledStatement& statement : kernel.state->statements)
    scheduled.push_back(statement.body);
  const double wanted = count_flops(kernel.state->basis->statements, kernel.typical),
               done = count_flops(scheduled, kernel.typical);
  return wanted > 0 && done > 0 ? done / wanted : 1;
}

// A group with a person's script is left alone; one that was proposed is cut where it was
// joined; one that a person asked for is kept, with a note; any other is cut at its cheapest
// edge, and its parts are judged in the next round.
std::vector<graph::KeepApart> groups_to_split(const ScheduledModel& model,
                                              const ModelOptions& options,
                                              std::vector<std::string>& kept) {
  std::vector<graph::KeepApart> apart;
  for (std::size_t g = 0; g < model.groups.size(); ++g) {
    const GroupPlan& group = model.groups[g];
    const bool is_scripted = std::ranges::any_of(options.scripts, [&](const NamedScript& script) {
      return script.script.program == group.name;
    });
    if (group.view || group.nodes.size() < 2 || is_scripted) continue;
    const int number = static_cast<int>(g);
    const graph::KeepTogether* join = request_of(model, number, true);
    const std::string why =
        (join ? objection_to_join : objection)(model.kernel_of(group), options.limits);
    if (why.empty()) continue;
    if (join) {
      apart.push_back(
          {{join->first, join->second}, "handed back: as group '" + group.name + "' " + why});
      continue;
    }
    if (request_of(model, number, false)) {
      kept.push_back("group '" + group.name + "' is kept as it was asked for, though " + why);
      continue;
    }
    const graph::EdgeDecision& edge = cheapest_edge(model, number);
    apart.push_back(
        {{edge.producer, edge.consumer}, "handed back: as group '" + group.name + "' " + why});
  }
  return apart;
}

}  // namespace polyte::driver
