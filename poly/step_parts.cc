#include "poly/step_parts.h"

#include <algorithm>

namespace polyte::poly {
namespace {

class Cutter {
 public:
  Cutter(const Product& product, const schedule::State& reference, std::int64_t steps,
         std::int64_t panels)
      : product_(product), reference_(reference), panel_(steps), block_(panels * steps) {}

  StepParts run() {
    const std::string& sum = product_.sum->name;
    if (product_.has_steps_around && product_.is_bounded_twice)
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

  // Of the blocks of steps of this size, the own one is cut off. `it`: the iterator whose loop is
  // cut, or the `part` of it that an earlier cut has left. Returns the names of both statements.
  struct Cut {
    std::string own, other;
  };
  Cut cut(const std::string& statement, const std::string& it, const std::string& part,
          std::int64_t size, const std::string& own, const std::string& other) {
    const auto block_of = [&](const std::string& iterator) {
      return ir::floor_div(ir::Affine::symbol(iterator), size) * size;
    };
    const schedule::LoopName loop{statement, part.empty() ? it : it + "." + part};
    const std::string own_loop = it + "." + own, other_loop = it + "." + other;
    if (part.empty()) part_from_others(it);
    if (product_.has_steps_around)
      parts_.cuts.push_back({loop, block_of(product_.step) + size, own_loop, other_loop});
    else
      parts_.cuts.push_back({loop, block_of(product_.bound), other_loop, own_loop});
    return {statement + "." + own, statement + "." + other};
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

  // `it`: the row or lane that the steps of the statement stay below.
  void cut_once(const std::string& statement, const std::string& it) {
    const std::string& loop = product_.has_steps_around ? it : product_.step;
    if (panel_ == block_) {
      const Cut own = cut(statement, loop, "", panel_, "near", "far");
      parts_.near.push_back({own.own, it});
      parts_.far = own.other;
      return;
    }
    const Cut panel = cut(statement, loop, "", panel_, "near", "before");
    const Cut block = cut(panel.other, loop, "before", block_, "mid", "far");
    parts_.near.push_back({panel.own, it});
    parts_.mid.push_back({block.own, it});
    parts_.far = block.other;
  }

  // The outer of the element's loops is cut first, so that each cut is of one statement's loop.
  void cut_twice(const std::string& statement) {
    const auto& iterators = product_.sum->iterators;
    const bool is_row_outside =
        std::ranges::find(iterators, product_.row) < std::ranges::find(iterators, product_.lane);
    const std::string& outer = is_row_outside ? product_.row : product_.lane;
    const std::string& inner = is_row_outside ? product_.lane : product_.row;
    const Cut own = cut(statement, outer, "", panel_, "near", "rest");
    parts_.near.push_back({own.own, outer});
    if (panel_ == block_) return cut_once(own.other, inner);
    const Cut rest = cut(own.other, outer, "rest", block_, "mid", "far");
    const Cut in_block = cut(rest.own, inner, "", panel_, "near", "mid");
    parts_.near.push_back({in_block.own, inner});
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
