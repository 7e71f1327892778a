#include "poly/step_parts.h"

#include <algorithm>
#include <map>

namespace polyte::poly {
namespace {

class Cutter {
 public:
  Cutter(const Product& product, const schedule::State& reference, std::int64_t steps,
         std::int64_t panels)
      : product_(product), reference_(reference), panel_(steps), block_(panels * steps) {}

  StepParts run() {
    const std::string& sum = product_.sum->name;
    for (const std::string& it : product_.sum->iterators) loops_[sum][it] = it;
    if (product_.is_bounded_twice)
      cut_twice(sum);
    else
      cut_once(sum, product_.bound);
    return std::move(parts_);
  }

 private:
  const Product& product_;
  const schedule::State& reference_;
  const std::int64_t panel_, block_;
  StepParts parts_ = {};
  std::map<std::string, std::map<std::string, std::string>> loops_ = {};  // of parts, by iterator

  std::ptrdiff_t place_of(const std::string& it) const {
    const auto& iterators = product_.sum->iterators;
    return std::ranges::find(iterators, it) - iterators.begin();
  }
  // The inner one of the steps and what they stay below: its loop is cut at values of the other.
  const std::string& cut_iterator(const std::string& bound) const {
    return place_of(product_.step) > place_of(bound) ? product_.step : bound;
  }

  // Of the blocks of steps of this size, that of the element is cut off. `bound`: the row or lane
  // that the steps stay below. Returns the names of both statements.
  struct Cut {
    std::string own, other;
  };
  Cut cut(const std::string& statement, const std::string& bound, std::int64_t size,
          const std::string& own, const std::string& other) {
    const std::string it = cut_iterator(bound);
    const bool is_of_steps = it == product_.step;
    const auto loops = loops_.at(statement);
    const std::string& loop = loops.at(it);
    if (loop == it) part_from_others(it);
    const std::string own_loop = it + "." + own, other_loop = it + "." + other;
    // The first step of the other's block; where all is counted downwards, minus that.
    const std::string& of = loops.at(is_of_steps ? bound : product_.step);
    const int sign = product_.is_mirrored ? -1 : 1;
    const ir::Affine counted =
        ir::Affine::symbol(of) * (sign * step_of(is_of_steps ? bound : product_.step));
    const ir::Affine block = ir::floor_div(counted, size) * size * sign;
    // The own block lies behind the cut, but for elements in the order of their steps.
    const bool is_own_first = is_of_steps == product_.is_mirrored;
    const ir::Affine at = is_of_steps            ? block + (product_.is_mirrored ? 1 : 0)
                          : product_.is_mirrored ? block - size + 1
                                                 : block + size;
    parts_.cuts.push_back({{statement, loop},
                           at,
                           is_own_first ? own_loop : other_loop,
                           is_own_first ? other_loop : own_loop});
    const Cut names{statement + "." + own, statement + "." + other};
    loops_[names.own] = loops_[names.other] = loops;
    loops_[names.own][it] = own_loop;
    loops_[names.other][it] = other_loop;
    return names;
  }

  // 1, or -1 where the loop of the iterator counts it downwards, as a region's may.
  std::int64_t step_of(const std::string& it) const {
    const auto& rows = reference_.at(product_.sum->name).rows;
    return std::ranges::find(rows, it, &schedule::LoopRow::loop)->value.coefficient(it);
  }

  // A loop of a region may hold other statements, too.
  void part_from_others(const std::string& it) {
    const std::string& sum = product_.sum->name;
    const auto path = schedule::path_to(reference_.tree, sum);
    const auto loop = std::ranges::find(path, it, &schedule::Loop::name);
    const bool is_known =
        std::ranges::find(parts_.apart, it, &schedule::PlannedDistribution::loop) !=
        parts_.apart.end();
    if (!is_known && schedule::statements_below(reference_.tree, (*loop)->id).size() > 1)
      parts_.apart.push_back({sum, it});
  }

  void add_near(const std::string& statement, const std::string& bound) {
    const bool is_by_lane =
        bound == product_.lane ||
        (product_.is_bounded_twice && cut_iterator(product_.lane) == product_.step);
    parts_.near.push_back({statement, bound, is_by_lane});
  }

  void cut_once(const std::string& statement, const std::string& bound) {
    if (panel_ == block_) {
      const Cut own = cut(statement, bound, panel_, "near", "far");
      add_near(own.own, bound);
      parts_.far = own.other;
      return;
    }
    const Cut panel = cut(statement, bound, panel_, "near", "before");
    const Cut block = cut(panel.other, bound, block_, "mid", "far");
    add_near(panel.own, bound);
    parts_.mid.push_back({block.own, bound});
    parts_.far = block.other;
  }

  // The outer loop is cut first, so that each cut is of one statement's loop.
  void cut_twice(const std::string& statement) {
    const bool is_row_outside =
        place_of(cut_iterator(product_.row)) < place_of(cut_iterator(product_.lane));
    const std::string& outer = is_row_outside ? product_.row : product_.lane;
    const std::string& inner = is_row_outside ? product_.lane : product_.row;
    const Cut own = cut(statement, outer, panel_, "near", "rest");
    add_near(own.own, outer);
    if (panel_ == block_) return cut_once(own.other, inner);
    const Cut rest = cut(own.other, outer, block_, "mid", "far");
    const Cut in_block = cut(rest.own, inner, panel_, "near", "mid");
    add_near(in_block.own, inner);
    parts_.mid.push_back({in_block.other, outer});
    cut_once(rest.other, inner);
  }
};

}  // namespace

std::vector<std::string> StepParts::tiled() const {
  std::vector<std::string> all{far};
  for (const StepPart& part : mid) all.push_back(part.statement);
  return all;
}

StepParts parts_of_steps(const Product& product, const schedule::State& reference,
                         std::int64_t steps, std::int64_t panels) {
  return Cutter(product, reference, steps, panels).run();
}

}  // namespace polyte::poly
