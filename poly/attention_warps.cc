#include "poly/attention_warps.h"

#include "ir/loop_program.h"
#include "ir/relations.h"
#include "poly/attention_base.h"
#include "poly/attention_tile.h"
#include "poly/shared_nest.h"
#include "poly/sum_tile.h"
#include "schedule/cost/attention_pass.h"
#include "schedule/cost/copy_threads.h"
#include "schedule/cost/nest_accesses.h"
#include "support/checked.h"

namespace polyte::poly {
namespace {

using ir::LoopKind;
using schedule::LayoutIndex;
using schedule::Memory;
using schedule::NestPath;
using schedule::NestTree;
using schedule::Param;
using schedule::tiles_of;
using schedule::within_tile;

constexpr std::int64_t kRowsAMatrix = schedule::WarpAttentionTile::kRows;
constexpr std::int64_t kMatrixColumns = schedule::WarpAttentionTile::kColumns;
constexpr std::int64_t kMatrixSteps = schedule::WarpAttentionTile::kSteps;
constexpr std::int64_t kChunk = schedule::WarpAttentionTile::kChunk;
constexpr std::int64_t kRun = 4, kRuns = 2;  // neighbouring scores of a thread; threads of a row
constexpr double kHalfBytes = 2;

// A warp has 16 rows, the height of the instruction's matrices. Its 32 threads do the softmax, two
// for each row: of every 8 neighbouring keys (a chunk) one has the first run of 4 and the other the
// second.
//
//   i -> i.o blocks           i.i.o warps             i.i.i rows of a warp
//   j -> j.o tiles of keys    j.i.o chunks of 8       j.i.i keys of a chunk
//                             j.i.i.o the two threads of a row, j.i.i.i the run of each
class WarpAttentionPlanner : AttentionBase {
 public:
  explicit WarpAttentionPlanner(const AttentionNest& nest) : AttentionBase(nest) {}

  AttentionPlan run() {
    const auto found = schedule::find_warp_attention(program_, form_, sizes_, *nest_.machine);
    if (!found) return {std::nullopt, ""};
    by_ = *found;
    const Gpu& gpu = *nest_.machine->gpu;
    tile_ = choose_warp_attention_tile(sizes_, by_.score_bytes, gpu);
    const double others = cycles_apart(gpu.bf16_tensor_fma_a_cycle, kHalfBytes);
    const std::string why = attention_note(nest_, tile_.cycles, others);
    if (tile_.rows == 0 || tile_.cycles >= others) return {std::nullopt, why};
    plan_.number = nest_.number;
    names();
    rewrites();
    splits();
    tree();
    registers();
    shared();
    bind();
    return {std::move(plan_), why};
  }

 private:
  PricedWarpAttentionTile tile_;
  schedule::WarpAttention by_;
  // Maxima and sums of a row in 8 parts, then in halves; what each thread computes of its scores.
  std::string tops_, top_halves_, parts_, part_halves_;
  Names weights_;

  // The last statement that is made of the scores, which the maximum reads.
  const ir::Statement& scores() const { return *form_.made_of_scores.back(); }
  const ir::Statement& operand_weights() const {
    return form_.share ? *form_.share : *form_.weight;
  }

  // --- the Program, and loops in tiles

  void names() {
    tops_ = fresh(maximum() + "_p"), top_halves_ = fresh(maximum() + "_h");
    parts_ = fresh(total() + "_p"), part_halves_ = fresh(total() + "_h");
    weights_ = {form_.weight->name};
    if (form_.share) weights_.push_back(form_.share->name);
  }

  void rewrites() {
    for (const ir::Statement* s : form_.made_of_scores)
      if (s != &scores()) plan_.inlined.push_back({written(*s)});
    if (form_.share) plan_.deferrals.push_back({written(*form_.product), sum_});
    plan_.reassociated = {form_.key, form_.step};
  }

  Names with(Names some, const Names& more) const {
    some.insert(some.end(), more.begin(), more.end());
    return some;
  }
  Names tiled() const { return {form_.scores_init->name, form_.scores->name, scores().name}; }
  Names wide() const { return with({sum_init_, sum_ + ".scale", sum_update_}, after_); }

  void splits() {
    for (const auto& [name, value] : {std::pair{"Bm", tile_.rows}, {"Bn", tile_.keys}})
      plan_.params.push_back({name, schedule::Elements{value}});
    Names keyed = with(tiled(), weights_);
    keyed = with(keyed, {form_.maximum->name, form_.total->name, sum_update_});
    const Names begun = {form_.maximum_init->name, form_.total_init->name, sum_init_};
    const Names rows = with(with(keyed, begun), after_);
    for (const std::string& s : rows) split(s, form_.row, Param{"Bm"});
    std::erase(keyed, form_.scores_init->name);
    keyed.push_back(form_.scores_init->name);
    for (const std::string& s : keyed) split(s, form_.key, Param{"Bn"});
    plan_.splits.emplace_back(
        schedule::PlannedOnline{{total(), sum_}, maximum(), tiles_of(form_.key)});
    for (const std::string& s : with(rows, {old(), total() + ".scale", sum_ + ".scale"}))
      split(s, within_tile(form_.row), schedule::Elements{kRowsAMatrix});
    halves(maximum(), tops_, top_halves_);
    halves(total(), parts_, part_halves_);
    for (const std::string& s : weights_) {
      split(s, within_tile(form_.key), schedule::Elements{kRun * kRuns});
      split(s, chunk(), schedule::Elements{kRun});
    }
    for (const std::string& s : tiled())
      split(s, within_tile(form_.key), schedule::Elements{kMatrixColumns});
    split(form_.scores->name, form_.step, schedule::Elements{kMatrixSteps});
    for (const std::string& s : wide()) split(s, form_.column, schedule::Elements{kMatrixColumns});
    split(sum_update_, within_tile(form_.key), schedule::Elements{kMatrixSteps});
  }

  // A maximum or total of a row in three steps: a vector of 4 per thread, over all chunks (8 parts
  // per row); the 4 of a vector, within its thread (2 parts); the two threads' parts.
  void halves(const std::string& sum, const std::string& parts, const std::string& of_threads) {
    plan_.splits.emplace_back(schedule::PlannedParts{
        sum, within_tile(form_.key), schedule::Elements{kRun * kRuns}, parts, kModel});
    plan_.splits.emplace_back(
        schedule::PlannedParts{sum, chunk(), schedule::Elements{kRuns}, of_threads, kModel, true});
    for (const char* part : {".init", ".update"})
      split(parts + part, chunk(), schedule::Elements{kRun});
  }

  // --- the nest

  std::string chunk() const { return within_tile(within_tile(form_.key)); }
  std::string half() const { return tiles_of(chunk()); }

  NestPath vectors() const {
    return {{row_tiles()}, {own_rows()}, {half()}, {within_tile(chunk()), LoopKind::Vector}};
  }
  NestPath all_vectors() const {
    return {{row_tiles()},
            {own_rows()},
            {half()},
            {tiles_of(within_tile(form_.key)), LoopKind::Unrolled},
            {within_tile(chunk()), LoopKind::Vector}};
  }
  NestPath scores_path(const NestPath& steps = {}) const {
    return joined(
        joined({{row_tiles()}}, steps),
        {{tiles_of(within_tile(form_.key)), LoopKind::Unrolled}, {own_rows()}, {chunk()}});
  }
  NestPath sums(const NestPath& steps = {}) const {
    return joined(
        joined({{row_tiles()}}, steps),
        {{tiles_of(form_.column), LoopKind::Unrolled}, {own_rows()}, {within_tile(form_.column)}});
  }

  // The three steps of `halves` as nests; `row`: the last of them.
  void reduce(const std::string& parts, const std::string& of_threads, NestTree row,
              std::vector<NestTree>& into) {
    into.push_back(leaf(vectors(), parts + ".init"));
    into.push_back(leaf(all_vectors(), parts + ".update"));
    into.push_back(leaf(joined(rows(), {{half()}}), of_threads + ".init"));
    into.push_back(leaf(joined(rows(), {{half()}, {within_tile(chunk()), LoopKind::Unrolled}}),
                        of_threads + ".update"));
    into.push_back(nest_path(rows(), std::move(row)));
  }

  NestTree pass() {
    const NestPath both = {{half(), LoopKind::Unrolled}};
    std::vector<NestTree> steps = {
        leaf(scores_path(), form_.scores_init->name),
        leaf(joined(scores_path({{tiles_of(form_.step)}}), {{within_tile(form_.step)}}),
             form_.scores->name),
        leaf(scores_path(), scores().name), leaf(rows(), old())};
    reduce(tops_, top_halves_, leaf(both, form_.maximum->name), steps);
    for (const std::string& s : weights_) steps.push_back(leaf(all_vectors(), s));
    reduce(parts_, part_halves_,
           schedule::nest_sequence(
               {schedule::nest_statement(total() + ".scale"), leaf(both, form_.total->name)}),
           steps);
    steps.push_back(leaf(sums(), sum_ + ".scale"));
    const NestPath terms = {{tiles_of(within_tile(form_.key)), LoopKind::Unrolled}};
    steps.push_back(leaf(joined(sums(terms), {{chunk()}}), sum_update_));
    return nest_path({{key_tiles()}}, schedule::nest_sequence(std::move(steps)));
  }

  void tree() {
    std::vector<NestTree> last;
    for (const std::string& s : after_) last.push_back(schedule::nest_statement(s));
    AttentionBase::tree(tile_.rows, {leaf(sums(), sum_init_), pass(),
                                     nest_path(sums(), schedule::nest_sequence(std::move(last)))});
  }

  // --- storage

  schedule::PlannedStage& stage(const std::string& tensor, const schedule::LoopName& at,
                                Memory memory) {
    plan_.stages.push_back({.tensor = tensor, .at = at, .memory = memory});
    return plan_.stages.back();
  }

  // A layout whose last digits say which register of a thread an element has: [the block's
  // dimensions, row, digits]. Digits without a name are of the keys' dimension; `first` is a
  // dimension that the tensor has in front of the statement's.
  void in_threads(const std::string& tensor, const std::vector<ir::Index>& indices,
                  const std::string& first, std::vector<LayoutIndex> digits) {
    schedule::PlannedStage& own = stage(tensor, once_a_tile(), Memory::Register);
    if (!first.empty()) own.dimensions.push_back(first);
    LayoutIndex row;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const std::string name = dimension_name(tensor, d), loop = *indices[d].affine.as_symbol();
      own.dimensions.push_back(name);
      if (loop == form_.row) row = {name};
      if (loop == form_.key)
        for (LayoutIndex& digit : digits) digit.dimension = name;
      if (loop != form_.row && loop != form_.key) own.layout.push_back({name});
    }
    own.layout.push_back(row);
    own.layout.insert(own.layout.end(), digits.begin(), digits.end());
  }

  void registers() {
    stage(written(*form_.scores), once_a_tile(), Memory::Register);
    stage(sum_, once_a_block(), Memory::Register);
    const LayoutIndex in_run{"", LayoutIndex::Part::WithinTile, schedule::Elements{kRun}};
    if (form_.share)
      in_threads(written(*form_.weight), form_.weight->writes[0].indices, "",
                 {{"", LayoutIndex::Part::TileOfSome, schedule::Elements{kRun}, kRuns},
                  {"", LayoutIndex::Part::Tile, schedule::Elements{kRun * kRuns}},
                  in_run});
    for (const auto& [parts, threads, sum] :
         {std::tuple{tops_, top_halves_, form_.maximum}, {parts_, part_halves_, form_.total}}) {
      const std::string part = parts + "_part", half = threads + "_part";
      in_threads(parts, sum->writes[0].indices, part,
                 {{part, LayoutIndex::Part::Tile, schedule::Elements{kRun}},
                  {part, LayoutIndex::Part::WithinTile, schedule::Elements{kRun}}});
      in_threads(threads, sum->writes[0].indices, half, {{half}});
    }
    const std::vector<const ir::Statement*> all = form_.all();
    for (std::size_t i = 0; i + 1 < after_.size(); ++i) {
      const ir::Statement& s =
          form_.share && i == 0 ? *form_.product : *form_.after[i - (form_.share ? 1 : 0)];
      if (schedule::stays_inside(program_, written(s), s, all))
        stage(written(s), {after_[i], within_tile(form_.column)}, Memory::Register);
    }
  }

  void shared() {
    for (const auto& [tensor, at] :
         {std::pair{maximum(), once_a_block()}, {total(), once_a_block()}, {old(), once_a_tile()}})
      stage(tensor, at, Memory::Shared);
    rows_of_keys(scores()).pad = kChunk;
    rows_of_keys(operand_weights());
    plan_.steps.emplace_back(schedule::PlannedSwizzle{written(operand_weights()), kChunk});
    operand(*form_.queries, once_a_block());
    operand(*form_.keys, once_a_tile());
    operand(*form_.values, once_a_tile());
  }

  // Stages a tensor with an element at every row and key, so that neighbouring keys of a row are
  // neighbours.
  schedule::PlannedStage& rows_of_keys(const ir::Statement& s) {
    schedule::PlannedStage& own = stage(written(s), once_a_tile(), Memory::Shared);
    std::string row, key;
    for (std::size_t d = 0; d < s.writes[0].indices.size(); ++d) {
      const std::string name = dimension_name(written(s), d),
                        loop = *s.writes[0].indices[d].affine.as_symbol();
      own.dimensions.push_back(name);
      if (loop == form_.row) row = name;
      if (loop == form_.key) key = name;
      if (loop != form_.row && loop != form_.key) own.layout.push_back({name});
    }
    own.layout.insert(own.layout.end(), {{row}, {key}});
    return own;
  }

  // An operand in shared memory in the order in which it lies in memory, copied in chunks of 16
  // bytes. Swizzled or padded rows put the 8 rows that ldmatrix reads at once into different banks.
  void operand(const ir::Load& load, const schedule::LoopName& at) {
    schedule::PlannedStage& own = stage(load.buffer, at, Memory::Shared);
    std::vector<schedule::CopyLoop> loops;
    for (std::size_t d = 0; d < load.indices.size(); ++d) {
      const std::string loop = *load.indices[d].affine.as_symbol();
      loops.push_back({dimension_name(load.buffer, d), box(loop, tile_.rows, tile_.keys)});
      own.dimensions.push_back(loops.back().name);
      own.layout.push_back({loops.back().name});
      if (loop == form_.row && sizes_.rows % tile_.rows != 0)
        plan_.steps.emplace_back(schedule::PlannedPad{load.buffer, loops.back().name, tile_.rows});
    }
    own.copy_loops = own.dimensions;
    const schedule::ChunkedRow row = schedule::chunked_row(loops.back().extent);
    if (row.is_swizzled) plan_.steps.emplace_back(schedule::PlannedSwizzle{load.buffer, kChunk});
    own.pad = row.pad;
    for (schedule::PlannedStep& step :
         schedule::copy_by_threads(load.buffer + ".in", std::move(loops), tile_.threads(), kChunk))
      plan_.steps.push_back(std::move(step));
  }

  // --- warps and blocks

  void to_warps(const Names& statements, const std::string& lanes) {
    for (const std::string& s : statements) {
      plan_.steps.emplace_back(schedule::PlannedBind{s, row_tiles(), LoopKind::Warp});
      if (!lanes.empty()) plan_.steps.emplace_back(schedule::PlannedBind{s, lanes, LoopKind::Lane});
    }
  }

  void bind() {
    std::string lane = "lane";
    while (taken(lane)) lane += "_";
    Names threads = weights_;
    for (const std::string& parts : {tops_, top_halves_, parts_, part_halves_})
      threads = with(threads, {parts + ".init", parts + ".update"});
    for (const std::string& s : threads)
      plan_.steps.emplace_back(schedule::PlannedFuse{s, {own_rows(), half()}, lane});
    to_warps(threads, lane);
    to_warps({form_.maximum_init->name, old(), form_.maximum->name, total() + ".scale"},
             own_rows());
    to_warps(with(tiled(), {sum_init_, sum_ + ".scale", sum_update_, after_.front()}), "");
    bind_blocks(tile_.depth);
    plan_.steps.emplace_back(
        schedule::PlannedTensorize{{form_.scores->name, own_rows()}, by_.of_scores->name});
    plan_.steps.emplace_back(
        schedule::PlannedTensorize{{sum_update_, own_rows()}, by_.of_product->name});
  }
};

}  // namespace

AttentionPlan plan_attention_by_warps(const AttentionNest& nest) {
  return WarpAttentionPlanner(nest).run();
}

}  // namespace polyte::poly
