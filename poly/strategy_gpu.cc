#include "poly/strategy_gpu.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>

#include "ir/relations.h"
#include "poly/attention_nest.h"
#include "poly/block_nest.h"
#include "poly/nest_order.h"
#include "poly/parts_nest.h"
#include "poly/point_nest.h"
#include "poly/point_sum.h"
#include "poly/row_nest.h"
#include "poly/shared_nest.h"
#include "poly/spread_nest.h"
#include "poly/square_nest.h"
#include "poly/warp_nest.h"

namespace polyte::poly {
namespace {

// The bands above the clusters of a nest, and these.
struct Bands {
  std::vector<BandMember> members;
  std::vector<const Cluster*> parts;
};
// Bands directly below each other are one list of loops.
Bands bands_of(const Core& nest) {
  Bands bands;
  Core node = nest;
  while (const auto* band = std::get_if<Band>(&node->op)) {
    bands.members.insert(bands.members.end(), band->members.begin(), band->members.end());
    node = band->child;
  }
  bands.parts = clusters_of(node);
  return bands;
}

// A single row (batch 1) has a row loop of one iteration, which isl leaves out of its bands.
// Returns that loop, where all statements have it.
std::string single_row(const schedule::State& reference, std::span<const Cluster* const> parts) {
  const auto has_row = [&](const std::string& loop) {
    return std::ranges::all_of(parts, [&](const Cluster* part) {
      return std::ranges::all_of(part->statements, [&](const ir::Statement* s) {
        return std::ranges::find(s->iterators, loop) != s->iterators.end() &&
               iterations_of(reference, *s, loop) == 1;
      });
    });
  };
  for (const std::string& loop : ir::free_iterators(*parts.front()->statements.front()))
    if (has_row(loop)) return loop;
  return "";
}

// The plan for whichever units are cheaper: tensor cores or the threads' own.
std::optional<SumPlan> plan_tiles(const SumNest& sum) {
  auto warps = plan_warp_nest(sum), threads = plan_block_nest(sum);
  return !threads || (warps && warps->cycles < threads->cycles) ? warps : threads;
}

class GpuStrategy {
 public:
  GpuStrategy(const ir::Program& program, const schedule::State& reference, const Machine& machine,
              const StrategyOptions& options)
      : program_(program), reference_(reference), machine_(machine), options_(options) {}

  // Plans the first nest, or several from the front together; how many, and their plans. Forms that
  // reuse most are asked first: attention, then a sum in tiles, by points, in parts or spread over
  // the device, then rows, and points for all else.
  std::pair<std::size_t, std::vector<schedule::NestPlan>> plan(
      std::span<const Core> nests, int number, std::vector<std::string>& notes) const {
    const Bands bands = bands_of(nests.front());
    if (options_.affine_core_only) return {1, {points(bands, number)}};
    if (!options_.keep_order)
      if (auto attention = plan_attention(nests, number, notes))
        return {attention->first, {attention->second}};
    if (auto sum = plan_sum(bands, number)) return {1, std::move(sum->nests)};
    for (std::size_t count = nests.size(); bands.members.empty() && count > 0; --count)
      if (auto row = plan_single_row(nests.first(count), number)) return {count, {*std::move(row)}};
    if (auto rows = plan_rows(bands.members, bands.parts, number)) return {1, {*std::move(rows)}};
    return {1, {points(bands, number)}};
  }

 private:
  const ir::Program& program_;
  const schedule::State& reference_;
  const Machine& machine_;
  const StrategyOptions& options_;

  schedule::NestPlan points(const Bands& bands, int number) const {
    const PointNest nest{&program_,
                         &reference_,
                         &machine_,
                         bands.members,
                         bands.parts,
                         number,
                         options_.affine_core_only};
    auto squares = plan_square_nest(nest);
    return squares ? *std::move(squares) : plan_point_nest(nest);
  }

  // The nests from the front whose statements are two contractions and the softmax between them,
  // and no others.
  std::optional<std::pair<std::size_t, schedule::NestPlan>> plan_attention(
      std::span<const Core> nests, int number, std::vector<std::string>& notes) const {
    std::set<const ir::Statement*> here;
    for (std::size_t count = 1; count <= nests.size(); ++count) {
      for (const Cluster* part : clusters_of(nests[count - 1]))
        here.insert(part->statements.begin(), part->statements.end());
      const auto form = schedule::find_softmax_product(
          program_,
          static_cast<std::size_t>(*std::ranges::min_element(here) - program_.statements.data()));
      if (!form) return std::nullopt;
      if (form->end - form->begin != here.size()) continue;
      const std::vector<const ir::Statement*> all = form->all();
      if (std::ranges::any_of(all, [&](const ir::Statement* s) { return !here.contains(s); }))
        return std::nullopt;
      AttentionPlan attention =
          plan_attention_nest({&program_, &reference_, &machine_, *form, number, count == 1});
      if (!attention.why.empty()) notes.push_back(attention.why);
      if (!attention.plan) return std::nullopt;
      return std::pair{count, *std::move(attention.plan)};
    }
    return std::nullopt;
  }

  std::optional<SumPlan> plan_sum(const Bands& bands, int number) const {
    const bool is_sum = bands.parts.size() == 1 && bands.parts[0]->update() != nullptr;
    if (!is_sum || !std::ranges::all_of(bands.members, &BandMember::coincident))
      return std::nullopt;
    const SumNest sum{&program_,      &reference_, &machine_,
                      bands.parts[0], number,      options_.keep_order};
    for (const auto planner : {plan_tiles, plan_point_sum})
      if (auto whole = planner(sum)) {
        auto parts = plan_parts_nest(sum, whole->cycles, planner);
        return parts ? parts : whole;
      }
    if (auto spread = plan_spread_nest(sum)) return SumPlan{{*std::move(spread)}};
    return std::nullopt;
  }

  std::optional<schedule::NestPlan> plan_rows(const std::vector<BandMember>& rows,
                                              const std::vector<const Cluster*>& parts,
                                              int number) const {
    return plan_row_nest(
        {&program_, &reference_, &machine_, rows, parts, number, options_.keep_order});
  }

  std::optional<schedule::NestPlan> plan_single_row(std::span<const Core> nests, int number) const {
    std::vector<const Cluster*> parts;
    for (const Core& nest : nests)
      for (const Cluster* part : clusters_of(nest)) parts.push_back(part);
    const std::string row = single_row(reference_, parts);
    if (row.empty()) return std::nullopt;
    return plan_rows({{row, true}}, parts, number);
  }
};

}  // namespace

NestSchedule schedule_for_gpu(const ir::Program& program, const schedule::State& reference,
                              const AffineCore& core, const Machine& machine,
                              const StrategyOptions& options) {
  const std::vector<Core> nests = top_nests(core.root);
  NestSchedule schedule;
  if (auto order = order_of_nests(reference, nests)) schedule.nests.push_back(std::move(*order));
  const GpuStrategy strategy(program, reference, machine, options);
  int number = 0;
  for (std::size_t i = 0; i < nests.size(); ++number) {
    auto [count, plans] = strategy.plan(std::span(nests).subspan(i), number, schedule.notes);
    std::ranges::move(plans, std::back_inserter(schedule.nests));
    i += count;
  }
  return schedule;
}

}  // namespace polyte::poly
