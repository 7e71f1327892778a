#include "poly/strategy_cpu.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "ir/contraction.h"
#include "poly/strategy_maps.h"
#include "poly/tile_choice.h"
#include "schedule/lanes.h"
#include "schedule/language/digits.h"
#include "schedule/operand_staging.h"
#include "support/checked.h"

namespace polyte::poly {
namespace {

constexpr double kParallelCycles = 20'000;  // a region below this costs more than a second core gives
constexpr int kCoreTile = 32;               // of the `isl` arm
constexpr int kPointwiseVectors = 4;

struct OuterLoop {
  std::string name;  // as the path writes it, "n.o"
  std::int64_t trips = 1;
  bool coincident = false;
};

std::int64_t extent_of(const schedule::State& reference, const ir::Statement& s, const std::string& loop) {
  const ir::Ranges ranges = schedule::iterator_ranges(reference, reference.at(s.name));
  auto it = ranges.find(loop);
  if (it == ranges.end() || !it->second.min || !it->second.max) return 1;
  return std::max<std::int64_t>(0, *it->second.max - *it->second.min + 1);
}

// A top-level nest: shared bands, then clusters.
class NestStrategy {
 public:
  NestStrategy(const ir::Program& program, const schedule::State& reference, const Core& core, const Machine& machine,
               const StrategyOptions& options, int number)
      : program_(program), reference_(reference), machine_(machine), options_(options), number_(number) {
    collect(core);
  }

  // The list: tiles, order, reduction block, parallel loop, nest, staging.
  std::string run() {
    if (options_.affine_core_only) return plain_nest(kCoreTile);
    if (parts_.size() != 1 || !outer_.empty()) return plain_nest(0);
    leave_reductions_inside();
    choose_tiles();
    if (tile_.lane.empty() && !turned_lane().empty()) return plain_nest(0);
    choose_reduction_block();
    write_params_and_splits();
    order_outer_loops();
    choose_parallel_loop();
    write_nest();
    write_stages();
    return text_;
  }

 private:
  const ir::Program& program_;
  const schedule::State& reference_;
  const Machine& machine_;
  const StrategyOptions& options_;
  int number_;
  std::vector<OuterLoop> outer_;  // bands above a sequence of several clusters
  std::vector<BandMember> own_;   // the band of a single cluster
  std::vector<const Cluster*> parts_;
  std::vector<Core> keep_;  // owns what parts_ points to
  TileChoice tile_;
  std::string block_;  // the reduction loop that is split; empty: none
  std::int64_t block_size_ = 0;
  std::vector<OuterLoop> order_;
  std::string parallel_;
  std::string text_;

  const Cluster& cluster() const { return *parts_[0]; }
  const ir::Statement& main() const { return cluster().update() ? *cluster().update() : *cluster().statements.back(); }
  void add(const std::string& line) { text_ += line + "\n"; }
  std::string param(const std::string& base) const { return number_ == 0 ? base : base + std::to_string(number_); }

  void collect(const Core& core) {
    Core node = core;
    while (const auto* band = std::get_if<Band>(&node->op)) {
      for (const BandMember& member : band->members) own_.push_back(member);
      keep_.push_back(band->child);
      node = band->child;
    }
    keep_.push_back(node);
    parts_ = clusters_of(node);
    if (parts_.size() > 1) {
      for (const BandMember& member : own_) {
        outer_.push_back({member.loop, extent_of(reference_, main(), member.loop), member.coincident});
      }
    }
  }

  // A scatter's loop is a band of its own; like any reduction it runs inside the tile.
  void leave_reductions_inside() {
    std::erase_if(own_, [&](const BandMember& member) {
      return std::ranges::find(main().reductions, member.loop) != main().reductions.end();
    });
  }

  std::vector<TileLoop> loops() const {
    std::vector<TileLoop> all;
    for (const std::string& it : main().iterators) {
      const bool reduction = std::ranges::find(main().reductions, it) != main().reductions.end();
      all.push_back({it, extent_of(reference_, main(), it), reduction});
    }
    return all;
  }

  void choose_tiles() {
    std::vector<std::string> candidates;
    for (const BandMember& member : own_) {
      if (member.coincident) candidates.push_back(member.loop);
    }
    tile_ = choose_tile(program_, main(), loops(), candidates, machine_);
    if (cluster().update() == nullptr && tile_.lane.empty()) choose_square(candidates);
    if (tile_.row.empty() && cluster().update() == nullptr && !tile_.lane.empty()) {
      tile_.row.clear();  // a definition has no value to keep: vectors side by side are enough
      const std::int64_t most = ceil_div(extent(tile_.lane), machine_.lanes(dtype()));
      tile_.tile = {1, static_cast<int>(std::min<std::int64_t>(kPointwiseVectors, most))};
    }
  }

  // Reads that stride along the lanes: a square tile with the loop along which they do not, turned in registers.
  void choose_square(const std::vector<std::string>& candidates) {
    const int lanes = machine_.lanes(dtype());
    for (const std::string& lane : candidates) {
      const std::string turning = schedule::turning_loop(program_, main(), lane);
      const bool is_candidate = std::ranges::find(candidates, turning) != candidates.end();
      if (!is_candidate || extent(turning) < lanes || !carries(main(), lane)) continue;
      tile_.lane = lane;
      tile_.row = turning;
      tile_.tile = {lanes, 1};
    }
  }

  DType dtype() const { return program_.buffer(main().writes[0].buffer).dtype; }
  std::int64_t extent(const std::string& loop) const { return loop.empty() ? 1 : extent_of(reference_, main(), loop); }
  std::int64_t lane_size() const {
    return std::min<std::int64_t>(extent(tile_.lane), std::int64_t{tile_.tile.vectors} * machine_.lanes(dtype()));
  }
  std::int64_t steps() const {
    std::int64_t product = 1;
    for (const std::string& loop : main().reductions) product *= std::max<std::int64_t>(1, extent(loop));
    return product;
  }

  // One long reduction loop is blocked so that a panel stays in cache; several stay whole (their panel is short).
  void choose_reduction_block() {
    if (main().reductions.size() != 1 || tile_.lane.empty() || tile_.row.empty()) return;
    schedule::ContractionShape shape{extent(tile_.row), extent(tile_.lane), steps(), dtype()};
    const std::int64_t size = schedule::choose_reduction_block(machine_, shape, tile_.tile);
    if (size >= steps()) return;
    block_ = main().reductions[0];
    block_size_ = size;
  }

  void split(const std::string& loop, const std::string& size) {
    for (const ir::Statement* s : cluster().statements) {
      if (std::ranges::find(s->iterators, loop) == s->iterators.end()) continue;
      add("split " + s->name + ": " + loop + " by " + size + " tail cut  #: tile-model");
    }
  }

  std::string lane_text() const {
    const std::int64_t lanes = machine_.lanes(dtype());
    return lane_size() % lanes == 0 ? std::to_string(lane_size() / lanes) + "*L" : std::to_string(lane_size());
  }

  void write_params_and_splits() {
    std::string params;
    auto define = [&](const std::string& name, const std::string& value) {
      params += (params.empty() ? "param " : ", ") + param(name) + " = " + value;
    };
    if (!tile_.row.empty()) define("Mr", std::to_string(tile_.tile.rows));
    if (!tile_.lane.empty()) define("Nr", lane_text());
    if (!block_.empty()) define("Kc", std::to_string(block_size_));
    if (!params.empty()) add(params + "  #: tile-model");
    if (!tile_.row.empty()) split(tile_.row, param("Mr"));
    if (!tile_.lane.empty()) split(tile_.lane, param("Nr"));
    if (!block_.empty()) split(block_, param("Kc"));
  }

  // isl's order of the band, but with the tile loops last: first the one whose panel is read anew least.
  void order_outer_loops() {
    for (const BandMember& member : own_) {
      if (member.loop != tile_.lane && member.loop != tile_.row) {
        order_.push_back({member.loop, extent(member.loop), member.coincident});
      }
    }
    const OuterLoop lane{tile_.lane + ".o", ceil_div(extent(tile_.lane), lane_size()), true};
    const OuterLoop row{tile_.row + ".o", ceil_div(extent(tile_.row), std::max(1, tile_.tile.rows)), true};
    const OuterLoop block{block_ + ".o", ceil_div(steps(), std::max<std::int64_t>(1, block_size_)), false};
    // With the row loop innermost the row operand streams once a lane tile, and the other way round.
    const double row_inner = static_cast<double>(lane.trips) * static_cast<double>(extent(tile_.row));
    const double lane_inner = static_cast<double>(row.trips) * static_cast<double>(extent(tile_.lane));
    const bool lane_first = row_inner <= lane_inner;
    const OuterLoop &first = lane_first ? lane : row, &second = lane_first ? row : lane;
    if (first.name.size() > 2) order_.push_back(first);
    if (!block_.empty()) order_.push_back(block);
    if (second.name.size() > 2) order_.push_back(second);
  }

  void choose_parallel_loop() {
    if (machine_.cores < 2 || tile_.cycles < kParallelCycles) return;
    for (const OuterLoop& loop : order_) {
      if (loop.coincident && loop.trips >= machine_.cores) {
        parallel_ = loop.name;
        return;
      }
    }
  }

  std::string tile_path() const {
    std::string path;
    if (!tile_.row.empty()) path += "[" + tile_.row + ".i] > ";
    if (!tile_.lane.empty()) path += "<" + tile_.lane + ".i> > ";
    return path;
  }

  void write_nest() {
    std::string path;
    for (const OuterLoop& loop : order_) path += (loop.name == parallel_ ? "par " : "") + loop.name + " > ";
    const std::string tile = tile_path();
    std::string body;
    bool before = true;
    for (const ir::Statement* s : cluster().statements) {
      std::string when, steps_path;
      if (s == cluster().update()) {
        before = false;
        for (const std::string& loop : s->reductions) steps_path += (loop == block_ ? loop + ".i" : loop) + " > ";
      } else if (!block_.empty()) {
        when = std::string(before ? " when first " : " when last ") + block_ + ".o";
      }
      body += (body.empty() ? "" : "; ") + steps_path + tile + s->name + when;
    }
    const bool several = cluster().statements.size() > 1;
    add("nest " + path + (several ? "{ " + body + " }" : body) + "  #: isl");
  }

  static bool has_single_cell(const ir::Statement& update) {
    return std::ranges::all_of(update.writes[0].indices, [&](const ir::Index& index) {
      return !index.indirect &&
             std::ranges::none_of(update.reductions, [&](const std::string& it) { return index.affine.uses(it); });
    });
  }

  void write_stages() {
    if (!cluster().update()) return;
    const ir::Statement& update = *cluster().update();
    if (!schedule::can_stage_accumulator(program_, update, order_.empty())) return;
    if (order_.empty() && has_single_cell(update))
      add("stage " + update.writes[0].buffer + " in register  #: tile-model");
    if (order_.empty()) return;
    add("stage " + update.writes[0].buffer + " at " + update.name + ":" + order_.back().name +
        " in register  #: tile-model");
    if (tile_.lane.empty()) return;
    schedule::TiledReduction tiled{&program_,
                                   &update,
                                   tile_.lane,
                                   tile_.row,
                                   param("Nr"),
                                   param("Mr"),
                                   tile_.tile,
                                   ceil_div(extent(tile_.lane), lane_size()),
                                   ceil_div(extent(tile_.row), std::max(1, tile_.tile.rows)),
                                   steps(),
                                   {}};
    for (const BandMember& member : own_) {
      if (member.loop != tile_.lane && member.loop != tile_.row) tiled.others[member.loop] = extent(member.loop);
    }
    for (const std::string& line : schedule::operand_stages(tiled, machine_)) add(line + "  #: tile-model");
  }

  // Several clusters under shared loops, or isl's order as it is: no register tile, the last loop in vectors where
  // it is a definition's and has stride 1.
  std::string plain_nest(int) {
    const std::vector<BandMember>& shared = own_;
    const std::string lane = turned_lane();
    if (!lane.empty())
      for (const Cluster* part : parts_)
        for (const ir::Statement* s : part->statements)
          add("split " + s->name + ": " + lane + " by L   tail cut  #: tile-model");
    std::string path;
    bool parallel = machine_.cores > 1;
    for (const BandMember& member : shared) {
      const bool is_lane = member.loop == lane;
      const std::int64_t trips = extent_of(reference_, main(), member.loop) / (is_lane ? machine_.lanes(dtype()) : 1);
      const bool lead = parallel && member.coincident && trips >= machine_.cores;
      path += (lead ? "par " : "") + member.loop + (is_lane ? ".o > " : " > ");
      if (lead) parallel = false;
    }
    std::set<std::string> taken;
    for (const BandMember& member : shared) taken.insert(member.loop);
    std::string body;
    int statements = 0;
    for (const Cluster* part : parts_) {
      for (const ir::Statement* s : part->statements) {
        body += (body.empty() ? "" : "; ") + own_path(*s, taken, lane) + s->name;
        ++statements;
      }
    }
    add("nest " + path + (statements > 1 ? "{ " + body + " }" : body) + "  #: isl");
    return text_;
  }

  // The innermost shared loop, if its iterations can be the lanes of sums that each read a row: squares of these are
  // turned in registers, and each sum keeps its order. Independent iterations may leave each other's way.
  std::string turned_lane() const {
    if (own_.empty() || !own_.back().coincident || options_.affine_core_only) return "";
    const std::string& lane = own_.back().loop;
    bool found = false;
    for (const Cluster* part : parts_)
      for (const ir::Statement* s : part->statements) {
        if (std::ranges::find(s->iterators, lane) == s->iterators.end()) return "";
        found = found || turns(*s, lane);
      }
    return found ? lane : "";
  }

  bool carries(const ir::Statement& s, const std::string& lane) const {
    return ir::stride_of(program_, s.writes[0], lane) == 1 && schedule::can_carry_lanes(program_, s, lane) &&
           extent_of(reference_, s, lane) >= machine_.lanes(dtype());
  }

  bool turns(const ir::Statement& s, const std::string& lane) const {
    return !s.reductions.empty() && s.combiner != ir::Combiner::None && carries(s, lane) &&
           schedule::turning_loop(program_, s, lane) == s.reductions.back() &&
           extent_of(reference_, s, s.reductions.back()) >= machine_.lanes(dtype());
  }

  // A loop of an update's own that can be lanes: they go innermost, past the reduction, which keeps each sum's order.
  std::string own_lane(const ir::Statement& s, const std::set<std::string>& shared) const {
    if (s.combiner == ir::Combiner::None || options_.affine_core_only) return "";
    for (const ir::Expr& value : s.values)
      for (const ir::Load* load : ir::loads_of(value))
        if (load->buffer == s.writes[0].buffer) return "";
    std::string lane;
    for (const std::string& it : s.iterators) {
      if (shared.contains(it) || std::ranges::find(s.reductions, it) != s.reductions.end() || !carries(s, it)) continue;
      if (turns(s, it) || !strides(s, it)) lane = it;
    }
    return lane;
  }

  bool strides(const ir::Statement& s, const std::string& lane) const {
    bool found = false;
    for (const ir::Expr& value : s.values)
      for (const ir::Load* load : ir::loads_of(value))
        found = found || std::abs(ir::stride_of(program_, *load, lane).value_or(0)) > 1;
    return found;
  }

  std::string path_with_lane(const ir::Statement& s, const std::set<std::string>& shared, const std::string& lane) {
    const bool turned = turns(s, lane);
    const std::string size = turned ? "L" : std::to_string(kPointwiseVectors) + "*L";
    add("split " + s.name + ": " + lane + " by " + size + "   tail cut  #: tile-model");
    std::string path, steps;
    for (const std::string& it : s.iterators) {
      if (shared.contains(it)) continue;
      const bool is_reduction = std::ranges::find(s.reductions, it) != s.reductions.end();
      if (turned && it == s.reductions.back()) {
        add("split " + s.name + ": " + it + " by L   tail cut  #: tile-model");
        steps += it + ".o > [" + it + ".i] > ";
      } else {
        (is_reduction ? steps : path) += it + (it == lane ? ".o > " : " > ");
      }
    }
    return path + steps + "<" + lane + ".i> > ";
  }

  // The loops of one statement below the shared ones. With lanes of these: what turns has them innermost, and so has a
  // definition of a point each; others have them outermost.
  std::string own_path(const ir::Statement& s, const std::set<std::string>& shared, const std::string& lane) {
    std::string path;
    const bool turned = !lane.empty() && turns(s, lane);
    const std::string own = turned ? "" : own_lane(s, shared);
    if (!own.empty()) {
      path = path_with_lane(s, shared, own);
      return lane.empty() ? path : lane + ".i > " + path;
    }
    for (const std::string& it : s.iterators) {
      if (shared.contains(it)) continue;
      const bool is_last = turned && it == s.reductions.back();
      if (is_last) add("split " + s.name + ": " + it + " by L   tail cut  #: tile-model");
      path += (is_last ? it + ".o > [" + it + ".i]" : loop_of(s, it)) + " > ";
    }
    if (lane.empty()) return path;
    if (turned || (path.empty() && carries(s, lane))) return path + "<" + lane + ".i> > ";
    return lane + ".i > " + path;
  }

  std::string loop_of(const ir::Statement& s, const std::string& it) {
    const bool last = s.iterators.back() == it && s.combiner == ir::Combiner::None;
    if (!last || options_.affine_core_only || ir::stride_of(program_, s.writes[0], it) != 1) return it;
    if (!schedule::can_carry_lanes(program_, s, it)) return it;
    const std::int64_t step =
        std::int64_t{kPointwiseVectors} * machine_.lanes(program_.buffer(s.writes[0].buffer).dtype);
    if (extent_of(reference_, s, it) <= step) return "<" + it + ">";
    add("split " + s.name + ": " + it + " by " + std::to_string(kPointwiseVectors) + "*L tail cut  #: tile-model");
    return it + ".o > <" + it + ".i>";
  }
};

void top_nests(const Core& core, std::vector<Core>& nests) {
  if (const auto* sequence = std::get_if<CoreSequence>(&core->op)) {
    for (const Core& child : sequence->children) top_nests(child, nests);
  } else {
    nests.push_back(core);
  }
}

}  // namespace

std::optional<std::string> schedule_for_cpu(const ir::Program& program, const schedule::State& reference,
                                            const AffineCore& core, const Machine& machine,
                                            const StrategyOptions& options) {
  std::vector<Core> nests;
  top_nests(core.root, nests);
  std::string text;
  int number = 0;
  for (const Core& nest : nests) {
    if (is_mapped(nest)) {
      const std::string lines = schedule_mapped_nest(program, nest, machine, options.affine_core_only, text);
      if (lines.empty()) return std::nullopt;
      text += lines;
      continue;
    }
    text += NestStrategy(program, reference, nest, machine, options, number++).run();
  }
  return text;
}

}  // namespace polyte::poly
