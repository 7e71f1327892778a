#include "poly/order_price.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "poly/row_span.h"

namespace polyte::poly {
namespace {

// Entering an innermost loop inside a tile: it begins and ends in the middle of a vector, and reads
// what was stored a moment before.
constexpr double kTileStart = 18;
// Beside that, where it begins elsewhere each time, in elements that were stored a moment before:
// its loads wait for vectors that were stored in part, or lie across two of them. Measured: lu of
// 320 x 320, a column at a time.
constexpr double kStoredElsewhere = 80;
// Cycles of counting and comparing, beside the rest of an iteration.
constexpr double kTurn = 1;
constexpr double kLeastTurns = 4;  // of several vectors
// Instances, of the product of the means of their ranges: at most, where ranges grow together.
constexpr double kMostOfMean = 2;
constexpr double kScalarTurn = 1.5;  // cycles of an iteration at the least
// Bytes, and how many are known without a walk.
constexpr double kPage = 4096, kNearPages = 64;
constexpr double kWalk = 3;       // cycles of one to a page beyond, partly hidden
constexpr double kAddParts = 60;  // cycles until the parts of a sum are one
// The same, masks at both ends of it included.
constexpr double kAddPartsOfTile = 250;
constexpr double kPartsOfLane = 4;  // of a sum: vectors whose updates do not wait for one another
constexpr double kPutParts = 2;     // cycles of a part that goes to memory and comes again

bool is_associative(const ir::Statement& statement) {
  return statement.combiner != ir::Combiner::None && statement.combiner != ir::Combiner::ArgMin &&
         statement.combiner != ir::Combiner::ArgMax;
}

}  // namespace

// References are kept by what a step of each row moves in them: subscripts give coefficients by
// iterator, and the rows' inverse turns these into moves by row.
StatementPrice::StatementPrice(const ir::Program& program, const ir::Statement& statement,
                               const std::vector<ir::Affine>& rows, const Machine& machine,
                               bool may_reorder, const LaneLayouts& layouts)
    : machine_(machine),
      extents_(program, statement, rows),
      rows_(rows.size()),
      operations_(operations_of(statement)),
      lanes_(machine.lanes(program.buffer(statement.writes[0].buffer).dtype)) {
  RowSpan span(statement.iterators);
  for (const ir::Affine& row : rows) span.add(row);
  const auto inverse = span.inverse();
  for (const ir::Access& write : statement.writes)
    add_reference(program, write, true, statement.iterators, inverse);
  references_.front().is_read = statement.combiner != ir::Combiner::None;
  for (const ir::Expr& value : statement.values)
    for (const ir::Load* load : ir::loads_of(value))
      add_reference(program, {load->buffer, load->indices}, false, statement.iterators, inverse);
  add_distances(statement);
  const auto own =
      std::span(statement.iterators).subspan(static_cast<std::size_t>(statement.region_depth));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto it = rows[r].as_symbol();
    const bool is_own = it && std::ranges::find(own, *it) != own.end();
    can_part_.push_back(may_reorder && is_own && references_.front().strides[r] == 0 &&
                        is_associative(statement));
    is_chain_.push_back(waits_along(r));
  }
  for (Reference& reference : references_)
    if (const auto layout = layouts.find(reference.buffer); layout != layouts.end())
      lay_out(reference, layout->second);
}

// For each dimension d and row r
//
//   move[d][r] = sum over iterators i of coefficient(d, i) * inverse[i][r]
//   stride[r]  = sum over d of move[d][r] * elements below d
//
// Reads whose subscripts differ by constants alone are one reference: its neighbours are in the
// same lines.
void StatementPrice::add_reference(const ir::Program& program, const ir::Access& access,
                                   bool is_written, const std::vector<std::string>& iterators,
                                   const std::vector<std::vector<double>>& inverse) {
  const ir::Buffer& buffer = program.buffer(access.buffer);
  Reference reference;
  reference.buffer = access.buffer;
  std::vector<std::int64_t> place;
  for (const ir::Index& index : access.indices) place.push_back(index.affine.constant());
  reference.places.insert(place);
  reference.bytes = size_in_bytes(buffer.dtype);
  reference.is_written = is_written;
  reference.is_read = !is_written;
  reference.strides.assign(rows_, 0);
  double below = 1;
  for (std::size_t d = access.indices.size(); d-- > 0;) {
    std::vector<double> moves(rows_, 0);
    for (std::size_t i = 0; i < iterators.size(); ++i) {
      const double factor = static_cast<double>(access.indices[d].affine.coefficient(iterators[i]));
      for (std::size_t r = 0; r < rows_; ++r) moves[r] += factor * inverse[i][r];
    }
    for (std::size_t r = 0; r < rows_; ++r) reference.strides[r] += moves[r] * below;
    const double extent =
        buffer.shape[d].is_constant() ? static_cast<double>(buffer.shape[d].constant()) : kOpenSize;
    reference.by_dimension.insert(reference.by_dimension.begin(), moves);
    reference.extents.insert(reference.extents.begin(), extent);
    below *= std::max(1.0, extent);
  }
  for (Reference& other : references_)
    if (other.reads_as(reference) && !other.is_written && !is_written) {
      other.places.insert(place);
      return;
    }
  references_.push_back(std::move(reference));
}

// How far each read of the written buffer is from the write, where that is the same at all points:
// A[i, j-1] from A[i, j] is (0, -1).
void StatementPrice::add_distances(const ir::Statement& statement) {
  const ir::Access& write = statement.writes.front();
  for (const ir::Expr& value : statement.values)
    for (const ir::Load* load : ir::loads_of(value)) {
      if (load->buffer != write.buffer) continue;
      std::vector<double> distance;
      for (std::size_t d = 0; d < write.indices.size(); ++d) {
        const ir::Affine difference = load->indices[d].affine - write.indices[d].affine;
        if (!difference.is_constant()) break;
        distance.push_back(static_cast<double>(difference.constant()));
      }
      if (distance.size() == write.indices.size()) distances_.push_back(std::move(distance));
    }
}

// The reference once the dimension has been laid out for lanes: elements `step` apart lie side by
// side in a last dimension, and which of the `step` interleaved sequences it is comes before it.
void StatementPrice::lay_out(Reference& reference, const LaneLayout& layout) const {
  const auto d = static_cast<std::ptrdiff_t>(layout.dimension);
  const auto step = static_cast<double>(layout.step);
  std::vector<double> along = reference.by_dimension[layout.dimension], between(rows_, 0);
  const double extent = reference.extents[layout.dimension];
  reference.by_dimension.erase(reference.by_dimension.begin() + d);
  reference.extents.erase(reference.extents.begin() + d);
  for (std::size_t r = 0; r < rows_; ++r) {
    between[r] = std::fmod(std::abs(along[r]), step) != 0 ? 1 : 0;
    along[r] /= step;
  }
  if (layout.step > 1) {
    reference.by_dimension.push_back(between);
    reference.extents.push_back(step);
  }
  reference.by_dimension.push_back(along);
  reference.extents.push_back(std::ceil(extent / step));
  reference.strides.assign(rows_, 0);
  double below = 1;
  for (std::size_t k = reference.by_dimension.size(); k-- > 0;) {
    for (std::size_t r = 0; r < rows_; ++r)
      reference.strides[r] += reference.by_dimension[k][r] * below;
    below *= std::max(1.0, reference.extents[k]);
  }
}

std::optional<LaneLayouts> StatementPrice::layouts_for_lanes(std::size_t row) const {
  LaneLayouts all;
  for (const Reference& reference : references_) {
    std::optional<LaneLayout> layout;
    for (std::size_t d = 0; d < reference.by_dimension.size(); ++d) {
      const double move = std::abs(reference.by_dimension[d][row]);
      if (move == 0) continue;
      if (layout || move != std::round(move)) return std::nullopt;
      layout = {d, static_cast<std::int64_t>(move)};
    }
    if (!layout) continue;
    const auto [known, is_new] = all.try_emplace(reference.buffer, *layout);
    if (!is_new && known->second != *layout) return std::nullopt;
  }
  return all;
}

// Whether iterations of the row's loop wait for each other: they write one cell, or there is a
// whole number n, not 0, with distance = n * move in every dimension.
bool StatementPrice::waits_along(std::size_t row) const {
  const Reference& write = references_.front();
  if (write.strides[row] == 0) return true;
  return std::ranges::any_of(distances_, [&](const std::vector<double>& distance) {
    std::optional<double> iterations;
    for (std::size_t d = 0; d < distance.size(); ++d) {
      const double move = write.by_dimension[d][row];
      if (move == 0 && distance[d] != 0) return false;
      if (move == 0) continue;
      const double here = distance[d] / move;
      if (here != std::round(here) || here != iterations.value_or(here)) return false;
      iterations = here;
    }
    return iterations.value_or(0) != 0;
  });
}

// A sum into one cell of what its terms are read from: it is stored and loaded again each time.
bool StatementPrice::is_sum_in_memory(std::size_t row) const {
  const Reference& write = references_.front();
  return write.strides[row] == 0 &&
         std::ranges::count(references_, write.buffer, &Reference::buffer) > 1;
}

// Cycles of adding up the parts of a sum, per run of the innermost loop. Parts stay in registers as
// long as only loops of the sum run, so that they are added up once for all of these; where a loop
// over other cells lies between loops of the sum, the parts go to memory and back as well.
double StatementPrice::cycles_of_parts(const Loops& loops, bool is_in_tile) const {
  const auto is_of_sum = [&](const Loop& loop) { return can_part_[loop.row]; };
  const auto other = std::find_if_not(loops.rbegin(), loops.rend(), is_of_sum);
  double runs = 1;  // of the innermost loop, at one cell
  for (auto loop = std::next(loops.rbegin()); loop < other; ++loop)
    runs *= std::max(1.0, loop->trips);
  const double adding = is_in_tile ? kAddPartsOfTile : kAddParts;
  return std::any_of(other, loops.rend(), is_of_sum)
             ? (kPutParts * kPartsOfLane * lanes_ + adding) / runs
             : adding / runs;
}

// Long rows run several vectors per turn, and count from a cache line: four, of shorter ones that
// all begin at one place two. Fewer than a few turns are hardly worth it.
std::int64_t StatementPrice::vectors_a_turn(const Loops& loops) const {
  const Loop& inner = loops.back();
  const bool is_in_tile = std::ranges::count(loops, inner.row, &Loop::row) > 1;
  const double turns = inner.trips / lanes_ / kLeastTurns;
  if (is_in_tile || turns < 2) return 1;
  return turns >= 4 ? 4 : extents_.begins_anywhere(inner.row) ? 1 : 2;
}

// Whether the innermost loop updates the elements that it updated in the last iteration of the loop
// around it, but begins at another one: its vectors then load across what was stored just before.
bool StatementPrice::stores_elsewhere(const Loops& loops) const {
  if (loops.size() < 2) return false;
  const Loop &inner = loops.back(), &around = loops[loops.size() - 2];
  return around.trips > 1 && extents_.begins_by(inner.row, around.row) &&
         std::ranges::any_of(references_, [&](const Reference& reference) {
           return reference.is_read && reference.is_written && reference.strides[inner.row] != 0 &&
                  reference.strides[around.row] == 0;
         });
}

// One iteration is no loop, and left out.
bool StatementPrice::is_loop(const Loop& loop) { return loop.most > 1; }

// Cycles of the core where all operands come from the first cache. One run of the innermost loop
// takes
//
//   turns * (max(issue slots, latency of a chain) + turning) + walks of pages + start
//
// and there is one for each iteration of the loops around it.
double StatementPrice::issue_cycles(const Loops& loops, Inner how) const {
  if (loops.empty()) return operations_.cycles(false, machine_);
  const Loop& inner = loops.back();
  const bool is_vector = how != Inner::Serial;
  const double lanes = is_vector ? lanes_ : 1;
  // Vectors that one run of the innermost loop takes; scalars where it has none.
  const double turns = std::max(1.0, std::ceil(inner.trips / lanes));
  const bool is_in_tile = std::ranges::count(loops, inner.row, &Loop::row) > 1;
  const bool is_anywhere = !is_in_tile && extents_.begins_anywhere(inner.row);
  // Vectors with masks: those of tiles that are cut short, and all of a short row that begins
  // anywhere.
  const double masked = is_in_tile ? std::min(1.0, inner.most / extents_.extent(inner.row))
                        : is_anywhere && vectors_a_turn(loops) == 1 ? 1
                                                                    : 0;
  double loads = 0, stores = 0, pages = 0;
  // A core that multiplies one vector of a whole line per cycle has paths to the first cache of
  // half a line: such a vector takes two slots.
  const double width =
      machine_.fma_per_cycle < 2 && lanes * references_.front().bytes >= kLine ? 2 : 1;
  for (const Reference& reference : references_) {
    const double stride = std::abs(reference.strides[inner.row] * inner.step);
    if (stride == 0) continue;  // kept in a register
    const bool is_apart = is_vector && stride != 1;
    // Vectors as long as a line lie across two: those of neighbours, and all where a
    // loop begins anywhere.
    const bool is_across = (reference.places.size() > 1 || is_anywhere) && is_vector &&
                           lanes * reference.bytes >= kLine;
    const double count = static_cast<double>(reference.places.size());
    // Backwards a vector with a mask goes lane by lane.
    const bool is_backwards = is_vector && reference.strides[inner.row] < 0;
    const double lane_by_lane = is_apart ? 1 : is_backwards ? masked : 0;
    const double whole = (1 - lane_by_lane) * (is_across ? width + 1 : width);
    if (reference.is_read) loads += count * (lane_by_lane * kGather * lanes + whole);
    pages += std::min(1.0, stride * reference.bytes / kPage);  // an iteration
    if (reference.is_written) stores += count * (lane_by_lane * kScatter * lanes + whole);
  }
  const double slots =
      std::max({loads / kLoadsACycle, stores / kStoresACycle,
                operations_.cycles(is_vector, machine_), is_vector ? 1.0 : kScalarTurn});
  const double start = (is_vector && is_in_tile ? kTileStart
                        : is_loop(inner)        ? kLoopStart
                                                : 0) +
                       (is_vector && stores_elsewhere(loops) ? kStoredElsewhere : 0);
  const bool waits = how != Inner::Parts && is_chain(inner.row);
  const double latency = operations_.latency + (is_sum_in_memory(inner.row) ? kForward : 0);
  const double walks = pages * inner.trips > kNearPages ? kWalk * pages * inner.trips : 0;
  const double turning = how == Inner::Parts || !is_loop(inner)
                             ? 0
                             : kTurn / static_cast<double>(is_vector ? vectors_a_turn(loops) : 1);
  double run = turns * ((waits ? std::max(slots, latency) : slots) + turning) + walks + start +
               (how == Inner::Parts ? cycles_of_parts(loops, is_in_tile) : 0);
  for (std::size_t l = 0; l + 1 < loops.size(); ++l) run *= std::max(1.0, loops[l].trips);
  return run;
}

// The box of elements that the loops from `from` on touch, in bytes of whole lines: per dimension 1
// + sum of |move| * step * (trips - 1), no more than the buffer has.
double StatementPrice::footprint(const Reference& reference, const Loops& loops, std::size_t from,
                                 bool at_most) const {
  double lines = 1;
  for (std::size_t d = 0; d < reference.by_dimension.size(); ++d) {
    double extent = 1;
    for (std::size_t l = from; l < loops.size(); ++l)
      extent += std::abs(reference.by_dimension[d][loops[l].row]) * loops[l].step *
                (std::max(1.0, at_most ? loops[l].most : loops[l].trips) - 1);
    extent = std::min(extent, std::max(1.0, reference.extents[d]));
    const bool is_last = d + 1 == reference.by_dimension.size();
    lines *= is_last ? std::ceil(extent * reference.bytes / kLine) : extent;
  }
  return lines * kLine;
}

std::vector<double> StatementPrice::footprints(const Loops& loops) const {
  std::vector<double> bytes(loops.size(), std::numeric_limits<double>::infinity());
  const auto most =
      static_cast<double>(std::max({machine_.l1.bytes, machine_.l2.bytes, machine_.l3.bytes}));
  for (std::size_t from = loops.size(); from-- > 0;) {
    double sum = 0;
    for (const Reference& reference : references_) sum += footprint(reference, loops, from, true);
    if (sum > most) break;
    bytes[from] = sum;
  }
  return bytes;
}

// The share of a footprint that an iteration of the loop outside has not in common with the one
// before. Boxes of the same size, shifted by the loop's move, have in common the product over the
// dimensions of 1 - shift / extent: skewed tiles, and those with halos, overlap.
double StatementPrice::new_share(const Reference& reference, const Loops& loops, std::size_t from,
                                 const Loop& outside) {
  double same = 1;
  for (const std::vector<double>& moves : reference.by_dimension) {
    double extent = 1;
    for (std::size_t l = from; l < loops.size(); ++l)
      extent += std::abs(moves[loops[l].row]) * loops[l].step * (std::max(1.0, loops[l].trips) - 1);
    same *= std::max(0.0, 1 - std::abs(moves[outside.row]) * outside.step / extent);
  }
  return 1 - same;
}

// Bytes that come from beyond a cache of this capacity: the footprint of the largest sub-nest that
// it holds, each time that loops outside make it another one,
//
//   sum over references of passes * times * footprint
//
// with a pass to read it, unless that is warm, and one to write it back. Loops directly outside of
// the sub-nest that do not move a reference find it still there.
double StatementPrice::traffic(const Loops& loops, const std::vector<double>& footprints,
                               double capacity, const References& warm) const {
  // The sub-nest from this loop on stays in the cache; of the innermost loop at least the lines
  // that it is in.
  std::size_t held = loops.empty() ? 0 : loops.size() - 1;
  while (held > 0 && footprints[held - 1] <= capacity) --held;
  double bytes = 0;
  for (const Reference& reference : references_) {
    // A reference that is written comes with the read of the same elements, if there is one.
    const bool is_warm =
        std::ranges::any_of(warm,
                            [&](const Reference* other) { return other->reads_as(reference); }) ||
        (!reference.is_read && std::ranges::any_of(references_, [&](const Reference& other) {
          return other.is_read && other.reads_as(reference);
        }));
    const double passes = (is_warm ? 0 : 1) + (reference.is_written ? 1 : 0);
    double times = 1;
    bool is_still = true;  // the loops directly outside do not move it
    for (std::size_t l = held; l-- > 0;) {
      const bool is_first = is_still && reference.strides[loops[l].row] != 0;
      is_still = is_still && reference.strides[loops[l].row] == 0;
      const double trips = std::max(1.0, loops[l].trips);
      if (is_first)
        times *= 1 + (trips - 1) * new_share(reference, loops, held, loops[l]);
      else if (!is_still)
        times *= trips;
    }
    bytes += passes * times * footprint(reference, loops, held, false);
  }
  return bytes;
}

StatementPrice::References StatementPrice::touched(const Loops& loops, std::size_t shared) const {
  References found;
  if (shared == 0) return found;
  for (const Reference& reference : references_)
    if (footprint(reference, loops, shared, true) <
        kUsable / 2 * static_cast<double>(machine_.l2.bytes))
      found.push_back(&reference);
  return found;
}

StatementPrice::Loops StatementPrice::counted(const std::vector<PlacedRow>& placed) const {
  Loops loops;
  std::vector<KnownRow> known;
  for (const PlacedRow& p : placed) {
    const auto trips = [&](double extent) {
      return p.tile > 0 ? std::ceil(extent / p.tile) : extent;
    };
    const double extent = extents_.extent(p.row, known);
    const double widest = extents_.is_box() ? extent : extents_.widest(p.row, known);
    loops.push_back({p.row, p.tile > 0 ? p.tile : 1, trips(extent), trips(widest)});
    const auto same = std::ranges::find(known, p.row, &KnownRow::row);
    if (same == known.end())
      known.push_back({p.row, std::max(0.0, p.tile - 1)});
    else
      same->slack = 0;
  }
  return loops;
}

// The last tile of a box is as short as its extent says: so on average all are a little.
void StatementPrice::cut_last_tiles(Loops& loops) const {
  for (auto loop = loops.begin(); loop != loops.end(); ++loop) {
    const auto tiles = std::find_if(loops.begin(), loop,
                                    [&](const Loop& other) { return other.row == loop->row; });
    if (tiles != loop)
      loop->trips = std::min(loop->trips, extents_.extent(loop->row) / std::max(1.0, tiles->trips));
  }
}

// The innermost loop as it is cheapest, then the levels of memory. These work at the same time, so
// that the slowest counts, and a tenth of all for what does not overlap:
//
//   cycles = share * (max(issue, level 2, level 3, memory) + (their sum) / 10)
//
// Loops are counted by the means of their ranges; `share` corrects their product to the number of
// instances.
StatementPrice::Cost StatementPrice::cost(Loops loops, const References& warm) const {
  if (extents_.is_box()) cut_last_tiles(loops);
  double runs = 1;  // of the innermost loop
  for (std::size_t l = 0; l + 1 < loops.size(); ++l) runs *= std::max(1.0, loops[l].trips);
  double share = 1;  // of the box that has points; above 1 where ranges grow together
  if (!loops.empty()) {
    // Boxes of a triangle are empty or whole, tiles of a skewed box are cut short.
    double& trips = loops.back().trips;
    const double average = extents_.points() / runs;
    if (extents_.is_box()) trips = std::clamp(average, 1.0, std::max(1.0, trips));
    share = std::min(kMostOfMean, average / std::max(1.0, trips));
  }
  const double serial = issue_cycles(loops, Inner::Serial);
  Cost best{serial, 0, Inner::Serial};
  const auto consider = [&](Inner inner) {
    const double cycles = issue_cycles(loops, inner);
    if (cycles < best.cycles) best = {cycles, 0, inner};
  };
  if (!loops.empty() && loops.back().trips > 1) {
    if (!is_chain(loops.back().row)) consider(Inner::Vector);
    if (can_part_[loops.back().row] && loops.back().step == 1) consider(Inner::Parts);
  }
  if (best.inner == Inner::Vector) best.vectors = vectors_a_turn(loops);
  const double issue = best.cycles;
  const std::vector<double> held = footprints(loops);
  const double level2 =
      traffic(loops, held, kUsable * static_cast<double>(machine_.l1.bytes), {}) / kLevel2;
  const double level3 =
      traffic(loops, held, kUsable * static_cast<double>(machine_.l2.bytes), warm) / kLevel3;
  const double memory =
      traffic(loops, held, kUsable * static_cast<double>(machine_.l3.bytes), warm) / kMemory;
  const auto all = [&](double core) {
    return share *
           (std::max({core, level2, level3, memory}) + 0.1 * (core + level2 + level3 + memory));
  };
  best.cycles = all(issue);
  best.serial = all(serial);
  return best;
}

}  // namespace polyte::poly
