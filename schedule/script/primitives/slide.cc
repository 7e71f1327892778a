// P at L once per M: a sliding window. Of the box that one iteration of L needs, only what no
// iteration since M began has made:
//
//   u.o > u.i > { u > x > bx at u.i;  x > y }          bx(u.o, u.i, u, x): rows u.i + u, 0 <= u < 3
//   bx at u.i once per u.o                       ->    and u >= 2 unless u.i is the first
//
// Each dimension of the box may be moved by some loops between M and L, as the digits of
// one position p (0 for the first iteration, N positions); then `u >= overlap - overlap *
// ((N - p) // N)`. A loop that moves nothing makes all in its first iteration. That nothing needed
// is missing is the business of Prover::check_storage.
#include <algorithm>

#include "schedule/script/primitives/lift.h"

namespace polyte::schedule {

namespace {

using ir::Affine;
using ir::Constraint;

struct SlidingLoop {
  std::string name;
  std::int64_t extent = 0;
  Affine first;
  std::int64_t coefficient = 0;  // in the origin of the dimension that it moves
};

class Slide {
 public:
  Slide(const State& state, const std::string& tensor, const LiftSite& site)
      : state_(state),
        tensor_(tensor),
        site_(site),
        between_(sliding_loops(site.prefix, site.per)) {}

  // Constraints on the elements that each iteration makes, over the loops of the prefix and a
  // symbol $d for each dimension of the box.
  Result<std::vector<Constraint>, Refusal> run() {
    if (auto refusal = check_loops()) return *refusal;
    if (auto refusal = find_box()) return *refusal;
    std::vector<std::vector<SlidingLoop>> moving(box_.origin.size());
    for (const std::string& name : between_)
      if (auto refusal = sort_in(name, moving)) return *refusal;
    for (std::size_t d = 0; d < moving.size(); ++d)
      if (auto refusal = add_window(d, moving[d])) return *refusal;
    const bool moves =
        std::ranges::any_of(moving, [](const auto& loops) { return !loops.empty(); });
    if (constraints_.empty() && moves)
      return malformed("nothing slides: iterations of " + join_words(between_) +
                       " need no common element of " + tensor_ + " ('at " + site_.prefix.back() +
                       "' alone says the same)");
    return constraints_;
  }

 private:
  const State& state_;
  const std::string& tensor_;
  const LiftSite& site_;
  const Names between_;
  Box box_;
  std::vector<Constraint> constraints_;

  std::optional<Refusal> check_loops() const {
    if (site_.per != "root" && std::ranges::find(site_.prefix, site_.per) == site_.prefix.end())
      return malformed("once per " + site_.per + ": " + tensor_ + " is not below " + site_.per +
                       " (it is below " + join_words(site_.prefix) + ")");
    if (between_.empty())
      return malformed("once per " + site_.per +
                       ": the loop of 'at' is meant to be below it, not the same");
    for (const Loop* loop : path_to(state_.tree, site_.consumers.front())) {
      if (std::ranges::find(between_, loop->name) == between_.end()) continue;
      if (is_concurrent(loop->kind))
        return malformed(tensor_ + " slides along " + loop->name + ", and " + loop->name + " is " +
                         ir::description(loop->kind) + ": its iterations have no order");
    }
    return std::nullopt;
  }

  std::optional<Refusal> find_box() {
    std::vector<BoxAccess> accesses;
    for (const std::string& name : site_.consumers)
      for (const AccessRef& ref : accesses_of(state_.at(name)))
        if (ref.access.buffer == tensor_)
          accesses.push_back({&state_.at(name), ref.access.indices});
    auto box =
        box_of(state_, accesses, tensor_, LoopNames(site_.prefix.begin(), site_.prefix.end()));
    if (!box) return conservative(box.error().reason);
    box_ = std::move(*box);
    return std::nullopt;
  }

  // First value and extent over the consumers, the loops down to M fixed.
  std::optional<Refusal> measure(SlidingLoop& loop) const {
    LoopNames outer;
    for (const std::string& name : site_.prefix) {
      if (name == between_.front()) break;
      outer.insert(name);
    }
    const auto extent = extent_of(state_, site_.consumers, loop.name);
    const auto first = value_over(state_, site_.consumers, loop.name, outer, true);
    if (!extent)
      return conservative("the window cannot slide along " + loop.name +
                          ": its extent is no number");
    if (*extent > 1 && !first)
      return conservative("the window cannot slide along " + loop.name +
                          ": its first iteration is not one affine value since " + site_.per +
                          " began");
    loop.extent = *extent;
    if (first) loop.first = *first;
    return std::nullopt;
  }

  std::optional<Refusal> sort_in(const std::string& name,
                                 std::vector<std::vector<SlidingLoop>>& moving) {
    SlidingLoop loop{name, 0, 0, 0};
    if (auto refusal = measure(loop)) return refusal;
    if (loop.extent <= 1) return std::nullopt;
    bool placed = false;
    for (std::size_t d = 0; d < box_.origin.size(); ++d) {
      if (!box_.origin[d].uses(name)) continue;
      loop.coefficient = box_.origin[d].coefficient(name);
      const bool is_divided = (box_.origin[d] - Affine::symbol(name) * loop.coefficient).uses(name);
      if (placed || is_divided)
        return conservative(
            "the window of " + tensor_ + " does not slide along one dimension: " + name +
            (is_divided ? " is divided in " + ir::to_string(box_.origin[d]) : " moves two"));
      moving[d].push_back(loop);
      placed = true;
    }
    if (!placed) constraints_.push_back(ir::equal(Affine::symbol(name), loop.first));
    return std::nullopt;
  }

  // The loops of a dimension have to be the digits of a position, the outermost most significant.
  std::optional<Refusal> add_window(std::size_t d, const std::vector<SlidingLoop>& loops) {
    if (loops.empty()) return std::nullopt;
    const std::int64_t unit = loops.back().coefficient;
    Affine position = 0;
    std::int64_t positions = 1;
    for (std::size_t i = loops.size(); i > 0; --i) {
      const SlidingLoop& loop = loops[i - 1];
      if (loop.coefficient != unit * positions)
        return conservative("the window of " + tensor_ + " moves by " +
                            ir::to_string(box_.origin[d]) +
                            ": its loops do not count through it one by one");
      position = position + (Affine::symbol(loop.name) - loop.first) * positions;
      positions *= loop.extent;
    }
    const std::int64_t overlap = box_.extent[d] - std::abs(unit);
    if (overlap <= 0) return std::nullopt;
    // `overlap` in the first position (position 0) and 0 in all others: floor((N - p) / N) is 1 for
    // p = 0, and 0 for 0 < p < N.
    const Affine all = ir::floor_div(Affine(positions) - position, positions) * overlap;
    const Affine made = Affine::symbol("$" + std::to_string(d));
    constraints_.push_back(unit > 0 ? ir::at_least(made + all, overlap)
                                    : ir::at_least(all + (std::abs(unit) - 1), made));
    return std::nullopt;
  }
};

// The iterator of a lifted writer that counts along a dimension of the box. None: it writes to a
// copy of the tensor.
std::optional<Affine> counter(const ScheduledStatement& s, std::size_t d) {
  for (std::size_t i = static_cast<std::size_t>(s.lifted); i < s.body.iterators.size(); ++i)
    if (s.body.writes.front().indices[d].affine.uses(s.body.iterators[i]))
      return Affine::symbol(s.body.iterators[i]);
  return std::nullopt;
}

}  // namespace

std::vector<std::string> sliding_loops(const std::vector<std::string>& prefix,
                                       const std::string& per) {
  const auto found = std::ranges::find(prefix, per);
  return {found == prefix.end() ? prefix.begin() : found + 1, prefix.end()};
}

std::optional<Refusal> slide(State& state, const std::string& tensor, const LiftSite& site) {
  const auto window = Slide(state, tensor, site).run();
  if (!window) return window.error();
  for (const std::string& name : select_statements(state, tensor)) {
    ScheduledStatement& s = statement_of(state, name);
    // The window speaks of loops and counters $d: here both over the statement's iterators.
    ir::Bindings iterators;
    for (const LoopRow& row : s.rows) iterators[row.loop] = row.value;
    for (std::size_t d = 0; d < s.body.writes.front().indices.size(); ++d) {
      const auto along = counter(s, d);
      if (!along)
        return conservative(name + " writes to a copy of " + tensor + ": it does not slide");
      iterators["$" + std::to_string(d)] = *along;
    }
    for (const Constraint& c : *window) s.body.domain.push_back(ir::substitute(c, iterators));
  }
  return std::nullopt;
}

}  // namespace polyte::schedule
