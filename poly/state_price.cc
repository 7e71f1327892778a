#include "poly/state_price.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "poly/price_rates.h"
#include "schedule/state/digits.h"

namespace polyte::poly {
namespace {

using schedule::LoopKind;

constexpr double kSpill = 2;      // slots of a register too many
constexpr double kBeside = 0.25;  // of loads and stores, beside arithmetic
// Instructions of a tile that stay near, and beyond.
constexpr double kMostInTile = 64, kLongTile = 1.25;
constexpr double kStartThreads = 5000;
constexpr int kSamples = 1000;  // of a domain
constexpr std::array<double, 8> kRoots = {2, 3, 5, 7, 11, 13, 17, 19};
// Lines a page or more apart are fetched by no prefetcher: what is left of the latency of the
// second cache and of what is beyond, where many are on their way at once.
constexpr double kPage = 4096, kPageFromL2 = 2, kPageFromL3 = 10;

struct PricedLoop {
  std::string name;
  LoopKind kind = LoopKind::Serial;
  double trips = 1;
};

struct Reference {
  std::string buffer;
  std::vector<std::vector<double>> moves;  // by dimension, what a step of each loop moves
  std::vector<double> strides, extents;    // in elements, by loop; of the buffer, by dimension
  double bytes = 4;
  bool is_written = false, is_register = false;
};

// Cycles of issue, and of what each level hands over.
std::array<double, 4> times_of(const StatePrice& price) {
  return {price.issue, price.beyond_l1 / kLevel2, price.beyond_l2 / kLevel3,
          price.beyond_l3 / kMemory};
}

class Pricer {
 public:
  Pricer(const schedule::State& state, const schedule::ScheduledStatement& s,
         const Machine& machine)
      : state_(state), s_(s), machine_(machine), operations_(operations_of(s.body)) {
    const ir::Ranges ranges = schedule::loop_ranges(state, s);
    for (const schedule::Loop* loop : schedule::path_to(state.tree, s.body.name)) {
      const auto found = ranges.find(loop->name);
      const bool is_known = found != ranges.end() && found->second.min && found->second.max;
      const double trips =
          is_known ? static_cast<double>(*found->second.max - *found->second.min + 1) : kOpenSize;
      // One iteration changes nothing, wherever it stands: below lanes, too.
      if (trips > 1 || loop->kind != LoopKind::Serial)
        loops_.push_back({loop->name, loop->kind, std::max(1.0, trips)});
    }
    share_ = std::min(1.0, points() / box());
    for (const schedule::AccessRef& access : schedule::accesses_of(s)) add(access);
  }

  // The busiest level, a tenth of all of them for what does not overlap, and misses that no
  // prefetcher hides; `share_` of it, as boxes around skewed loops hold more points than there are
  // instances.
  StatePrice price() const {
    StatePrice price;
    price.cycles = price.issue = operations_.cycles(false, machine_);
    if (loops_.empty()) return price;
    price.issue = share_ * issue_cycles();
    price.beyond_l1 = share_ * traffic(static_cast<double>(machine_.l1.bytes));
    price.beyond_l2 = share_ * traffic(static_cast<double>(machine_.l2.bytes));
    price.beyond_l3 = share_ * traffic(static_cast<double>(machine_.l3.bytes));
    const auto [issue, level2, level3, memory] = times_of(price);
    price.cycles = with_threads(std::max({issue, level2, level3, memory}) +
                                0.1 * (issue + level2 + level3 + memory) + share_ * page_cycles());
    return price;
  }

 private:
  const schedule::State& state_;
  const schedule::ScheduledStatement& s_;
  const Machine& machine_;
  std::vector<PricedLoop> loops_;
  std::vector<Reference> references_;
  Operations operations_;
  double share_ = 1;  // of the iterations of all loops that are instances: a skewed loop's are many

  // The core with most iterations of the parallel loop decides; each start of the loop costs.
  double with_threads(double all) const {
    double starts = 1;
    for (const PricedLoop& loop : loops_) {
      if (loop.kind == LoopKind::Parallel) {
        const double cores = std::max(1, machine_.cores);
        return all * std::ceil(loop.trips / cores) / loop.trips + starts * kStartThreads;
      }
      starts *= loop.trips;
    }
    return all;
  }

  double box() const {
    double product = 1;
    for (const PricedLoop& loop : loops_) product *= loop.trips;
    return product;
  }

  // Instances: of the box of the iterators, or, where bounds join several of these, as triangles
  // and the parts of a cut do, the share of it that a sample finds.
  double points() const {
    double product = 1;
    std::vector<std::pair<std::string, ir::Interval>> box;
    for (const auto& [iterator, range] : schedule::iterator_ranges(state_, s_)) {
      if (std::ranges::find(s_.body.iterators, iterator) == s_.body.iterators.end()) continue;
      box.emplace_back(iterator, range);
      product *= range.min && range.max
                     ? static_cast<double>(std::max<std::int64_t>(1, *range.max - *range.min + 1))
                     : kOpenSize;
    }
    return product * share_of(box);
  }

  double share_of(const std::vector<std::pair<std::string, ir::Interval>>& box) const {
    std::vector<ir::Constraint> joining;
    for (const ir::Constraint& c : s_.body.domain) {
      const auto uses = [&](const auto& each) { return c.expr.uses(each.first); };
      if (std::ranges::count_if(box, uses) > 1) joining.push_back(c);
    }
    const bool is_known = std::ranges::all_of(
        box, [](const auto& each) { return each.second.min && each.second.max; });
    if (joining.empty() || !is_known) return 1;
    int inside = 0;
    ir::Values values;
    for (int i = 0; i < kSamples; ++i) {
      // Weyl's sequence: multiples of irrational numbers, a root for each iterator.
      for (std::size_t d = 0; d < box.size(); ++d) {
        const double at = std::fmod((i + 1) * std::sqrt(kRoots.at(d % kRoots.size())), 1);
        const auto& [min, max] = box[d].second;
        values[box[d].first] =
            *min + static_cast<std::int64_t>(at * static_cast<double>(*max - *min + 1));
      }
      inside += std::ranges::all_of(joining,
                                    [&](const ir::Constraint& c) { return ir::holds(c, values); });
    }
    return std::max(1, inside) / static_cast<double>(kSamples);
  }

  // Over the loops, by the State's inverse: `moves` by dimension, and `strides` in elements of
  // memory. Reads that move alike through one shape count once, as a[i] and a[i + 1] share lines.
  void add(const schedule::AccessRef& access) {
    Reference reference;
    const std::string& buffer = access.access.buffer;
    reference.buffer = buffer;
    reference.bytes = size_in_bytes(state_.dtype_of(buffer));
    reference.is_written = access.write;
    for (const schedule::StagedBuffer& staged : state_.staged)
      reference.is_register =
          reference.is_register ||
          (staged.name == buffer && staged.memory == schedule::Memory::Register);
    reference.strides.assign(loops_.size(), 0);
    const std::vector<ir::Affine> shape = state_.shape_of(buffer);
    double below = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      const ir::Affine over_loops = ir::substitute(access.access.indices[d].affine, s_.inverse);
      std::vector<double> moves;
      for (const PricedLoop& loop : loops_)
        moves.push_back(static_cast<double>(over_loops.coefficient(loop.name)));
      for (std::size_t l = 0; l < loops_.size(); ++l) reference.strides[l] += moves[l] * below;
      const double extent =
          shape[d].is_constant() ? static_cast<double>(shape[d].constant()) : kOpenSize;
      reference.moves.insert(reference.moves.begin(), moves);
      reference.extents.insert(reference.extents.begin(), extent);
      below *= std::max(1.0, extent);
    }
    const auto same = [&](const Reference& other) {
      return other.buffer == reference.buffer && other.moves == reference.moves &&
             other.extents == reference.extents && other.is_written == reference.is_written;
    };
    if (std::ranges::none_of(references_, same) || access.write)
      references_.push_back(std::move(reference));
  }

  bool is_in_tile(const PricedLoop& loop) const {
    return loop.kind == LoopKind::Unrolled || loop.kind == LoopKind::Vector;
  }

  bool is_unrolled(std::size_t from) const {
    return std::any_of(loops_.begin() + static_cast<std::ptrdiff_t>(from), loops_.end(),
                       [](const PricedLoop& loop) { return loop.kind == LoopKind::Unrolled; });
  }

  // Cycles of the core. The innermost unrolled and vector loops are a tile: its operands are loaded
  // once per run of it, and its sums stay in registers if the loop around does not move them.
  double issue_cycles() const {
    std::size_t first = loops_.size();
    while (first > 0 && is_in_tile(loops_[first - 1])) --first;
    if (first == loops_.size()) first = loops_.size() - 1;  // one iteration of the innermost loop
    const bool is_tile = is_in_tile(loops_.back());
    const std::size_t lane = loops_.size() - 1;
    const bool is_vector = loops_[lane].kind == LoopKind::Vector;
    const double width =
        is_vector ? machine_.lanes(state_.dtype_of(s_.body.writes.front().buffer)) : 1;
    double points = 1, around = 1, loads = 0, stores = 0, registers = 0;
    const auto turns = [&](std::size_t l) {  // vectors count as one
      return is_vector && l == lane ? std::ceil(loops_[l].trips / width) : loops_[l].trips;
    };
    for (std::size_t l = 0; l < loops_.size(); ++l)
      (l < first || !is_tile ? around : points) *=
          l < first || !is_tile ? loops_[l].trips : turns(l);
    bool is_chain = false;
    // A sum in memory whose last vector is masked is loaded and stored in every step.
    double latency = operations_.latency;
    const bool is_masked = is_vector && std::fmod(loops_[lane].trips, width) != 0;
    for (const Reference& reference : references_) {
      double count = 1;
      for (std::size_t l = first; l < loops_.size() && is_tile; ++l)
        if (reference.strides[l] != 0) count *= turns(l);
      const bool is_sum = s_.kind == schedule::StatementKind::Update && reference.is_written;
      const bool stays = first > 0 && is_tile && reference.strides[first - 1] == 0;
      if (is_sum) is_chain = is_tile ? stays : reference.strides[lane] == 0;
      if (is_sum && is_masked && !reference.is_register) latency += kForward;
      if (reference.is_written && (is_sum || reference.is_register)) registers += count;
      if (reference.is_register || (!is_tile && reference.strides[lane] == 0)) continue;
      const bool is_apart = is_vector && std::abs(reference.strides[lane]) > 1;
      (reference.is_written ? stores : loads) += count * (is_apart ? kGather * width : 1);
    }
    // Two registers are needed beside: for an operand and for what is broadcast.
    const double spilled = std::max(0.0, registers + 2 - machine_.vector_registers);
    const double slots = std::max({loads / kLoadsACycle, stores / kStoresACycle,
                                   points * operations_.cycles(is_vector, machine_)}) +
                         kBeside * (loads / kLoadsACycle + stores / kStoresACycle) +
                         kSpill * spilled;
    double start = 0;
    if (first > 0 || !is_tile)
      start = kLoopStart * around / loops_[is_tile ? first - 1 : lane].trips;
    const double run = is_chain ? std::max(slots, latency) : slots;
    return around * run * (is_tile && is_unrolled(first) && points > kMostInTile ? kLongTile : 1) +
           start;
  }

  // Latency of references that the innermost loop around the tile moves by a page or more.
  double page_cycles() const {
    std::size_t step = loops_.size();
    while (step > 0 && is_in_tile(loops_[step - 1])) --step;
    if (step-- == 0) return 0;
    double around = 1, cycles = 0;
    for (std::size_t l = 0; l <= step; ++l) around *= loops_[l].trips;
    for (const Reference& reference : references_) {
      if (reference.is_register || std::abs(reference.strides[step]) * reference.bytes < kPage)
        continue;
      const double bytes = footprint(reference, 0);
      if (bytes > static_cast<double>(machine_.l2.bytes))
        cycles += kPageFromL3;
      else if (bytes > static_cast<double>(machine_.l1.bytes))
        cycles += kPageFromL2;
    }
    return around * cycles;
  }

  double footprint(const Reference& reference, std::size_t from) const {
    double lines = 1;
    for (std::size_t d = 0; d < reference.moves.size(); ++d) {
      double extent = 1;
      for (std::size_t l = from; l < loops_.size(); ++l)
        extent += std::abs(reference.moves[d][l]) * (loops_[l].trips - 1);
      extent = std::min(extent, std::max(1.0, reference.extents[d]));
      lines *=
          d + 1 == reference.moves.size() ? std::ceil(extent * reference.bytes / kLine) : extent;
    }
    return lines * kLine;
  }

  // Bytes from beyond a cache of this capacity. If it holds what one iteration of a loop needs, the
  // lines are there until the next one, so that the whole loop fetches its footprint once: for each
  // iteration of those loops outside that move the reference.
  double traffic(double capacity) const {
    std::size_t held = loops_.size() - 1;
    for (; held > 0; --held) {
      double bytes = 0;
      for (const Reference& reference : references_) bytes += footprint(reference, held - 1);
      if (bytes > kUsable * capacity) break;
    }
    const bool is_beyond = held > 0;  // the loop from which on footprints are counted
    if (is_beyond) --held;
    double bytes = 0;
    for (const Reference& reference : references_) {
      if (reference.is_register) continue;
      double times = 1;
      bool is_still = !is_beyond || reference.strides[held] == 0;
      for (std::size_t l = held; l-- > 0;) {
        is_still = is_still && reference.strides[l] == 0;
        if (!is_still) times *= loops_[l].trips;
      }
      bytes += times * footprint(reference, held);
    }
    return bytes;
  }
};

}  // namespace

const char* StatePrice::bound() const {
  constexpr std::array kNames{"issue", "second cache", "third cache", "memory"};
  const std::array<double, 4> times = times_of(*this);
  return kNames[static_cast<std::size_t>(std::ranges::max_element(times) - times.begin())];
}

std::vector<StatementCost> prices_of(const schedule::State& state, const Machine& machine) {
  std::vector<StatementCost> costs;
  for (const schedule::Leaf* leaf : schedule::leaves_of(state.tree)) {
    const schedule::ScheduledStatement& s = state.at(leaf->statement);
    const auto stored =
        std::ranges::find_if(state.staged, [&](const schedule::StagedBuffer& staged) {
          return staged.name == s.body.writes.front().buffer && staged.at_compile_time;
        });
    if (stored == state.staged.end())
      costs.push_back({leaf->statement, Pricer(state, s, machine).price()});
  }
  return costs;
}

StatePrice price_of(const schedule::State& state, const Machine& machine) {
  StatePrice sum;
  for (const auto& [statement, price] : prices_of(state, machine)) {
    sum.cycles += price.cycles;
    sum.issue += price.issue;
    sum.beyond_l1 += price.beyond_l1;
    sum.beyond_l2 += price.beyond_l2;
    sum.beyond_l3 += price.beyond_l3;
  }
  return sum;
}

double cycles_of(const schedule::State& state, const Machine& machine) {
  return price_of(state, machine).cycles;
}

}  // namespace polyte::poly
