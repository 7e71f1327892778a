#include "poly/row_nest.h"

#include <algorithm>

#include "ir/contraction.h"
#include "ir/relations.h"
#include "poly/chosen_by_model.h"
#include "poly/shared_nest.h"
#include "schedule/cost/copy_threads.h"
#include "schedule/cost/nest_accesses.h"
#include "schedule/cost/warp_access.h"
#include "support/checked.h"
#include "support/is_among.h"

namespace polyte::poly {
namespace {

using ir::LoopKind;
using schedule::LayoutIndex;
using schedule::NestPath;
using schedule::tiles_of;
using schedule::within_tile;

constexpr std::int64_t kShortestRow = 16, kTermsAThread = 4;
// One warp adds up a row that is no longer, where there are rows enough for so many warps per
// multiprocessor: it needs no barrier and no shared memory.
constexpr std::int64_t kRowOfAWarp = 1024, kWarpsAMultiprocessor = 4;
constexpr std::int64_t kFewestRowThreads = 32, kMostRowThreads = 256, kThreadsABlock = 128;
constexpr std::int64_t kFewestTerms = 8;     // that are worth several threads
constexpr std::int64_t kMostRegisters = 32;  // of a thread, for the elements of one temporary
constexpr std::int64_t kSharedBytes = 32 * 1024;
constexpr std::size_t kMostBlockLoops = 3;

// A statement of the nest, or a sum with its initial value.
struct RowStep {
  const ir::Statement* init = nullptr;  // of a sum
  const ir::Statement* body = nullptr;
  std::vector<std::string> own;  // free loops inside the row
  // The loop along which threads lie, one of `own` or of the sum's; empty: the step runs once per
  // row.
  std::string lane;

  bool is_sum() const { return init != nullptr; }
  bool is_row_sum() const { return is_sum() && own.empty(); }
};

class RowPlanner {
 public:
  explicit RowPlanner(const RowNest& nest) : nest_(nest), program_(*nest.program) {
    for (const Cluster* part : nest.parts)
      statements_.insert(statements_.end(), part->statements.begin(), part->statements.end());
  }

  std::optional<schedule::NestPlan> run() {
    if (!find_steps() || !choose()) return std::nullopt;
    plan_.number = nest_.number;
    cut();
    tree();
    keep();
    bind();
    return std::move(plan_);
  }

 private:
  const RowNest& nest_;
  const ir::Program& program_;
  std::vector<const ir::Statement*> statements_;
  std::vector<RowStep> steps_;
  std::int64_t threads_ = kFewestRowThreads, rows_ = 1;  // of a row; of a block
  std::vector<std::string> blocks_;
  schedule::NestPlan plan_;

  bool is_shared(const std::string& loop) const {
    return std::ranges::find(nest_.shared, loop, &BandMember::loop) != nest_.shared.end();
  }
  std::int64_t extent(const ir::Statement& s, const std::string& loop) const {
    return iterations_of(*nest_.reference, s, loop);
  }
  const std::string& row() const { return nest_.shared.back().loop; }
  std::string row_of_thread() const { return rows_ > 1 ? within_tile(row()) : ""; }

  // --- what there is

  bool find_steps() {
    if (nest_.shared.empty() || !std::ranges::all_of(nest_.shared, &BandMember::coincident))
      return false;
    if (!program_.open.empty()) return false;
    for (std::size_t i = 0; i < statements_.size(); ++i) {
      RowStep step{nullptr, statements_[i], {}, ""};
      if (i + 1 < statements_.size() && ir::starts_reduction(*statements_[i], *statements_[i + 1]))
        step = {statements_[i], statements_[i + 1], {}, ""}, ++i;
      if (step.is_sum() != (step.body->combiner != ir::Combiner::None)) return false;
      for (const std::string& it : ir::free_iterators(*step.body))
        if (!is_shared(it)) step.own.push_back(it);
      step.lane = lane_of(step);
      steps_.push_back(std::move(step));
    }
    return std::ranges::all_of(steps_, [&](const RowStep& step) { return is_allowed(step); });
  }

  // The loop along which a warp reads or writes the fewest sectors; of equals the innermost.
  std::string lane_of(const RowStep& step) const {
    const std::vector<std::string>& candidates =
        step.own.empty() ? step.body->reductions : step.own;
    std::string best;
    double least = 0;
    for (const std::string& loop : candidates) {
      const double sectors =
          schedule::sectors_a_warp(program_, *step.body, loop, extent(*step.body, loop));
      if (best.empty() || sectors <= least) best = loop, least = sectors;
    }
    return best;
  }

  bool is_allowed(const RowStep& step) const {
    if (!step.is_row_sum()) return true;
    if (step.body->writes.size() > 1 || step.body->guard) return false;
    return !nest_.keep_order || schedule::is_reorderable(*step.body);
  }

  // Long rows, and either too few of them for a thread each, or lying along the lanes in memory.
  bool choose() {
    std::int64_t longest = 0, rows = 1;
    bool lies_along = false;
    for (const BandMember& member : nest_.shared) rows *= extent(*steps_.front().body, member.loop);
    for (const RowStep& step : steps_) {
      if (step.lane.empty()) continue;
      const std::int64_t length = extent(*step.body, step.lane);
      longest = std::max(longest, length);
      lies_along = lies_along || schedule::sectors_a_warp(program_, *step.body, step.lane, length) <
                                     schedule::sectors_a_warp(program_, *step.body, row(),
                                                              extent(*step.body, row()));
    }
    const std::int64_t at_once = std::int64_t{nest_.machine->gpu->multiprocessors} *
                                 nest_.machine->gpu->threads_a_multiprocessor / 4;
    if (longest < kShortestRow || (rows >= at_once && !lies_along)) return false;
    const bool is_of_warps = longest <= kRowOfAWarp &&
                             rows >= kWarpsAMultiprocessor * nest_.machine->gpu->multiprocessors;
    while (!is_of_warps && threads_ < kMostRowThreads && threads_ * kTermsAThread < longest)
      threads_ *= 2;
    const std::int64_t rows_of_loop = extent(*steps_.front().body, row());
    while (threads_ * rows_ * 2 <= kThreadsABlock && rows_ * 2 <= rows_of_loop &&
           rows / (rows_ * 2) >= nest_.machine->gpu->multiprocessors)
      rows_ *= 2;
    return true;
  }

  // --- loops

  std::string partial(const RowStep& step, const char* suffix) const {
    std::string name = step.body->writes[0].buffer + suffix;
    while (program_.find_buffer(name) || program_.find_statement(name)) name += "_";
    return name;
  }
  std::string parts_of(const RowStep& step) const { return partial(step, "_p"); }
  bool in_parts(const RowStep& step) const { return extent(*step.body, step.lane) > kFewestTerms; }

  // Whether each row has one warp, whose lanes hold all of it.
  bool is_of_warps() const { return threads_ == ir::kLanes; }
  // A row is added up as a tree: parts of all its threads, then of `lanes()` lanes of one warp, of
  // half as many, down to two, and the sum. `lanes()` is the widest of these steps.
  std::int64_t lanes() const { return is_of_warps() ? ir::kLanes / 2 : ir::kLanes; }
  // Their sums, widest first.
  std::vector<std::string> halves_of(const RowStep& step) const {
    const std::string first = partial(step, "_q");
    std::vector<std::string> names = {first};
    for (std::int64_t half = lanes() / 2; half > 1; half /= 2)
      names.push_back(first + "_" + std::to_string(half));
    return names;
  }

  void cut() {
    for (const RowStep& step : steps_) {
      if (rows_ > 1)
        for (const ir::Statement* s : {step.init, step.body})
          if (s) split(s->name, row(), rows_);
      if (step.lane.empty()) continue;
      if (!step.is_row_sum()) {
        for (const ir::Statement* s : {step.init, step.body})
          if (s) split(s->name, step.lane, threads_);
      } else if (in_parts(step)) {
        const std::string& sum = step.body->writes[0].buffer;
        plan_.splits.emplace_back(schedule::PlannedParts{
            sum, step.lane, schedule::Elements{threads_}, parts_of(step), kModel});
        plan_.splits.emplace_back(
            schedule::PlannedParts{sum, within_tile(step.lane), schedule::Elements{lanes()},
                                   halves_of(step).front(), kModel, false, true});
        if (!schedule::is_reorderable(*step.body)) plan_.reassociated.insert(step.lane);
      }
    }
  }

  void split(const std::string& statement, const std::string& loop, std::int64_t size) {
    plan_.splits.emplace_back(
        schedule::PlannedSplit{statement, loop, schedule::Elements{size}, kModel, true});
  }

  void tree() {
    for (const BandMember& member : nest_.shared) blocks_.push_back(member.loop);
    if (rows_ > 1) blocks_.back() = tiles_of(row());
    std::vector<schedule::NestTree> regions;
    for (const RowStep& step : steps_) add_regions(step, regions);
    NestPath around;
    const bool is_fused = blocks_.size() > kMostBlockLoops;
    for (const std::string& loop : blocks_)
      around.push_back({loop, is_fused ? LoopKind::Serial : LoopKind::Block});
    plan_.tree = nest_path(around, schedule::nest_sequence(std::move(regions)));
    plan_.tree_by = kModel;
  }

  // Threads, then what each of them does. By lanes: of the row's warp, or of its first one,
  // where it has several.
  schedule::NestTree region(const std::string& lane, std::vector<schedule::NestTree> body,
                            bool by_lanes) const {
    NestPath path;
    if (rows_ > 1) path.push_back({row_of_thread(), by_lanes ? LoopKind::Warp : LoopKind::Serial});
    if (!lane.empty())
      path.push_back({lane, !by_lanes   ? LoopKind::Serial
                            : rows_ > 1 ? LoopKind::Lane
                                        : LoopKind::Thread});
    return nest_path(path, schedule::nest_sequence(std::move(body)));
  }

  static NestPath serial(const std::vector<std::string>& loops) {
    NestPath path;
    for (const std::string& loop : loops) path.push_back({loop});
    return path;
  }

  void add_regions(const RowStep& step, std::vector<schedule::NestTree>& regions) const {
    const auto leaf = [](const std::string& name) { return schedule::nest_statement(name); };
    if (step.is_row_sum()) return add_sum(step, regions);
    NestPath own;
    for (const std::string& loop : step.own)
      if (loop != step.lane) own.push_back({loop});
    if (!step.lane.empty())
      own.push_back({tiles_of(step.lane),
                     is_kept(step) || reads_kept(step) ? LoopKind::Unrolled : LoopKind::Serial});
    const std::string lane = step.lane.empty() ? "" : within_tile(step.lane);
    if (!step.is_sum())
      return regions.push_back(
          region(lane, {nest_path(own, leaf(step.body->name))}, is_of_warps()));
    regions.push_back(region(
        lane,
        {nest_path(own, schedule::nest_sequence(
                            {leaf(step.init->name),
                             nest_path(serial(step.body->reductions), leaf(step.body->name))}))},
        is_of_warps()));
  }

  void add_sum(const RowStep& step, std::vector<schedule::NestTree>& regions) const {
    if (!in_parts(step)) {
      regions.push_back(region(
          "",
          {schedule::nest_statement(step.init->name),
           nest_path(serial(step.body->reductions), schedule::nest_statement(step.body->name))},
          is_of_warps()));
      return;
    }
    std::string lane = within_tile(step.lane);
    std::vector<std::string> terms;
    for (const std::string& loop : step.body->reductions)
      terms.push_back(loop == step.lane ? tiles_of(loop) : loop);
    add_partial(lane, parts_of(step), serial(terms), is_of_warps(), regions);
    for (const std::string& half : halves_of(step)) {
      add_partial(within_tile(lane), half, {{tiles_of(lane), LoopKind::Unrolled}}, true, regions);
      lane = within_tile(lane);
    }
    regions.push_back(
        region("",
               {schedule::nest_statement(step.init->name),
                nest_path({{lane, LoopKind::Unrolled}}, schedule::nest_statement(step.body->name))},
               true));
  }

  // Its initial value has threads of its own: the loops of the two count different iterators.
  void add_partial(const std::string& lane, const std::string& tensor, const NestPath& terms,
                   bool by_lanes, std::vector<schedule::NestTree>& regions) const {
    regions.push_back(region(lane, {schedule::nest_statement(tensor + ".init")}, by_lanes));
    regions.push_back(
        region(lane, {nest_path(terms, schedule::nest_statement(tensor + ".update"))}, by_lanes));
  }

  // --- storage

  bool stays_inside(const RowStep& step) const {
    return schedule::stays_inside(program_, step.body->writes[0].buffer, *step.body, statements_);
  }

  // Whether the reader reads at its own point of the row what the writer wrote at the same point:
  // the same symbol in each dimension, where the writer's lane corresponds to the reader's.
  static bool is_at_own_point(const ir::Load& load, const ir::Access& write,
                              const std::string& lane, const std::string& reader_lane) {
    for (std::size_t d = 0; d < write.indices.size(); ++d) {
      const auto mine = write.indices[d].affine.as_symbol(),
                 theirs = load.indices[d].affine.as_symbol();
      if (load.indices[d].indirect || !mine || !theirs) return false;
      if (*mine == lane ? *theirs != reader_lane : *mine != *theirs) return false;
    }
    return true;
  }

  // Written and read by the same thread: it can stay in its registers.
  bool is_kept(const RowStep& step) const {
    if (step.is_sum() || step.lane.empty() || step.own.size() != 1 || !stays_inside(step))
      return false;
    if (ceil_div(extent(*step.body, step.lane), threads_) > kMostRegisters) return false;
    const ir::Access& write = step.body->writes[0];
    return std::ranges::all_of(steps_, [&](const RowStep& reader) {
      return std::ranges::all_of(ir::reads_of(*reader.body), [&](const ir::Load* load) {
        const bool is_on_threads =
            !reader.lane.empty() && (!reader.is_sum() || (reader.is_row_sum() && in_parts(reader)));
        return load->buffer != write.buffer ||
               (is_on_threads && !load->otherwise && is_unrolled(reader) &&
                is_at_own_point(*load, write, step.lane, reader.lane));
      });
    });
  }

  // Registers are addressed by constants only: the reader's loop over a thread's elements must be
  // short enough to be unrolled.
  bool is_unrolled(const RowStep& reader) const {
    return reader.body->reductions.size() <= 1 &&
           ceil_div(extent(*reader.body, reader.lane), threads_) <= kMostRegisters;
  }

  void keep() {
    std::set<std::string> placed;
    const auto place = [&](const std::string& tensor, const std::string& statement,
                           schedule::Memory memory) {
      if (placed.insert(tensor).second)
        plan_.stages.push_back(
            {.tensor = tensor, .at = {{statement, blocks_.back()}}, .memory = memory});
    };
    // Parts and totals of a row stay in registers where one warp has the row; else all of its warps
    // need them, by way of shared memory.
    const schedule::Memory of_rows =
        is_of_warps() ? schedule::Memory::Register : schedule::Memory::Shared;
    for (const RowStep& step : steps_) {
      if (step.is_row_sum() && in_parts(step)) {
        place(parts_of(step), parts_of(step) + ".update", of_rows);
        for (const std::string& half : halves_of(step))
          place(half, half + ".update", schedule::Memory::Register);
      }
      if (!stays_inside(step)) continue;
      const std::string& tensor = step.body->writes[0].buffer;
      if (is_kept(step))
        keep_in_registers(step);
      else if (bytes_of(step) <= kSharedBytes)
        place(tensor, step.body->name, step.own.empty() ? of_rows : schedule::Memory::Shared);
    }
  }

  std::int64_t bytes_of(const RowStep& step) const {
    std::int64_t bytes = rows_ * size_in_bytes(program_.buffer(step.body->writes[0].buffer).dtype);
    for (const std::string& loop : step.own) bytes *= extent(*step.body, loop);
    return bytes;
  }

  // Row i of an element x[i, j], j along threads of which there are T: j % T is the thread, j //
  // T the register, so that the layout is [i, j % T, j // T].
  void keep_in_registers(const RowStep& step) {
    const ir::Access& write = step.body->writes[0];
    schedule::PlannedStage stage{.tensor = write.buffer,
                                 .at = {{step.body->name, blocks_.back()}},
                                 .memory = schedule::Memory::Register};
    std::optional<LayoutIndex> own;
    for (std::size_t d = 0; d < write.indices.size(); ++d) {
      const std::string name = write.buffer + std::to_string(d);
      stage.dimensions.push_back(name);
      if (write.indices[d].affine.as_symbol() != step.lane) {
        stage.layout.push_back({name});
        continue;
      }
      stage.layout.push_back({name, LayoutIndex::Part::WithinTile, schedule::Elements{threads_}});
      own = {name, LayoutIndex::Part::Tile, schedule::Elements{threads_}};
    }
    if (own) stage.layout.push_back(*own);
    plan_.stages.push_back(std::move(stage));
  }

  // --- threads and blocks

  void step(schedule::PlannedStep step) { plan_.steps.push_back(std::move(step)); }

  // Regions by lanes have their threads already.
  void to_threads(const std::string& statement, const std::string& lane) {
    if (is_of_warps()) return;
    std::vector<std::string> loops;
    if (rows_ > 1) loops.push_back(row_of_thread());
    if (!lane.empty()) loops.push_back(lane);
    if (loops.empty()) return;  // one thread
    std::string name = "t";
    while (is_an_iterator(name)) name += "_";
    schedule::bind_to_threads(statement, loops, name, plan_.steps);
  }

  bool is_an_iterator(const std::string& name) const {
    return std::ranges::any_of(
        statements_, [&](const ir::Statement* s) { return is_among(name, s->iterators); });
  }

  void bind() {
    for (const RowStep& each : steps_) {
      const bool is_parted = each.is_row_sum() && in_parts(each);
      if (!each.is_row_sum()) {
        to_threads(each.body->name, each.lane.empty() ? "" : within_tile(each.lane));
        continue;
      }
      if (!is_parted) {
        to_threads(each.body->name, "");
        continue;
      }
      for (const char* part : {".init", ".update"})
        to_threads(parts_of(each) + part, within_tile(each.lane));
      if (reads_kept(each))
        step(schedule::PlannedBind{parts_of(each) + ".update", tiles_of(each.lane),
                                   LoopKind::Unrolled});
    }
    if (blocks_.size() <= kMostBlockLoops) return;
    std::string block = "b";
    while (is_an_iterator(block)) block += "_";
    step(schedule::PlannedFuse{statements_.back()->name, blocks_, block});
    step(schedule::PlannedBind{statements_.back()->name, block, LoopKind::Block});
  }

  bool reads_kept(const RowStep& reader) const {
    return std::ranges::any_of(steps_, [&](const RowStep& writer) {
      return is_kept(writer) &&
             std::ranges::any_of(ir::reads_of(*reader.body), [&](const ir::Load* load) {
               return load->buffer == writer.body->writes[0].buffer;
             });
    });
  }
};

}  // namespace

std::optional<schedule::NestPlan> plan_row_nest(const RowNest& nest) {
  return RowPlanner(nest).run();
}

}  // namespace polyte::poly
