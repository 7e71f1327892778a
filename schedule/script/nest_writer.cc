#include "schedule/script/nest_writer.h"

#include "schedule/script/copy_names.h"
#include "schedule/script/own_script.h"
#include "schedule/script/split_begins.h"

namespace polyte::schedule {
namespace {

Directive directive_of(const PlannedDistribution& apart) {
  return {Distribute{{apart.statement, apart.loop}}, apart.by};
}

// The parts come in an order in which they replay. Cuts make the statements of which all others
// speak. Maps make loops, tiles and splits divide them. Rewrites want statements that no nest has
// placed and no stage has redirected (primitives/rewriting.h). Stages, prefetches and steps name
// loops of the nest. A plan with a param, a split, a tree and a stage becomes
//
//   param Mr = 4
//   split acc.update: m by Mr   tail cut
//   nest m.o > [m.i] > acc.update
//   stage acc at acc.update:m.o in register
class NestWriter {
 public:
  NestWriter(const NestPlan& plan, std::vector<Directive>& into)
      : plan_(plan), into_(into), before_(into.size()) {}

  void run() {
    for (const PlannedDistribution& apart : plan_.apart) write(apart);
    for (const PlannedCut& cut : plan_.cuts) write(cut);
    const std::size_t first = into_.size();
    for (const PlannedMap& map : plan_.maps) write(map);
    if (plan_.tile) write(*plan_.tile);
    for (const PlannedReciprocal& reciprocal : plan_.reciprocals)
      add(Reciprocal{reciprocal.statement}, reciprocal.by);
    for (const PlannedInline& inlined : plan_.inlined)
      add(ComputeInline{inlined.tensor}, inlined.by);
    for (const PlannedDeferral& each : plan_.deferrals)
      add(DeferDivision{each.tensor, each.sum}, each.by);
    for (const PlannedParam& param : plan_.params)
      add(SetParam{numbered(param.name), {factor(param.size)}, {}}, param.by);
    for (const auto& split : plan_.splits)
      std::visit([this](const auto& each) { write(each); }, split);
    if (plan_.tree) add(Nest{"", plan_.tree}, plan_.tree_by);
    if (plan_.is_one_step) put_together(first);
    for (const PlannedStage& stage : plan_.stages) write(stage);
    for (const PlannedReuse& reuse : plan_.reuses)
      add(Reuse{reuse.result, reuse.temporary}, reuse.by);
    for (const PlannedPrefetch& prefetch : plan_.prefetches)
      add(Prefetch{prefetch.operand,
                   prefetch.at,
                   {std::to_string(prefetch.distance)},
                   prefetch.level,
                   prefetch.along},
          prefetch.by);
    for (const PlannedStep& step : plan_.steps)
      std::visit([this](const auto& each) { write(each); }, step);
    const std::span<Directive> all(into_);
    name_copies(all.first(before_), all.subspan(before_));
  }

 private:
  const NestPlan& plan_;
  std::vector<Directive>& into_;
  std::size_t before_;  // directives of the nests before

  void add(Operation operation, Provenance by) { into_.push_back({std::move(operation), by}); }

  // Puts what has been written from this directive on into braces, so that it is proved as one
  // step.
  void put_together(std::size_t from) {
    const auto first = into_.begin() + static_cast<std::ptrdiff_t>(from);
    Transaction together{{std::make_move_iterator(first), std::make_move_iterator(into_.end())}};
    into_.erase(first, into_.end());
    add(std::move(together), plan_.tree_by);
  }

  // The nests of a kernel are one script, in which a name is given once: Nr of the second nest
  // is Nr1.
  std::string numbered(const std::string& param) const {
    return plan_.number == 0 ? param : param + std::to_string(plan_.number);
  }

  // The value of a param, 1*L even for one vector: the factor is what a person changes first.
  std::string factor(const TileSize& size) const {
    if (const Vectors* vectors = std::get_if<Vectors>(&size))
      return std::to_string(vectors->count) + "*L";
    if (const Elements* elements = std::get_if<Elements>(&size))
      return std::to_string(elements->count);
    return numbered(std::get<Param>(size).name);
  }
  // The same where nobody is invited to change it: L for one vector.
  std::string text(const TileSize& size) const {
    const Vectors* vectors = std::get_if<Vectors>(&size);
    return vectors && vectors->count == 1 ? "L" : factor(size);
  }

  // One directive for all statements that get the same loops:
  // map S (t, 2*t + i), T (t, 2*t + i + 1) as (t, I)
  void write(const PlannedMap& map) {
    Map directive{{}, map.loops};
    for (const PlannedMap::Item& item : map.items) {
      Map::Item& row = directive.items.emplace_back(Map::Item{item.statement, {}});
      for (const ir::Affine& value : item.values) row.values.push_back({ir::to_string(value)});
    }
    add(std::move(directive), map.by);
  }

  void write(const PlannedTile& tile) {
    Tile directive{"", tile.loops, {}, Tail::Cut};
    for (const std::int64_t size : tile.sizes) directive.factors.push_back({std::to_string(size)});
    add(std::move(directive), tile.by);
  }

  void write(const PlannedSplit& split) {
    add(Split{{split.statement, split.loop},
              {text(split.size)},
              false,
              {},
              split.is_guarded ? Tail::Guard : Tail::Cut},
        split.by);
  }

  // A fuse takes two loops: of i, j, k it is `fuse i, j as t`, then `fuse t, k as t`.
  void write(const PlannedFuse& fuse) {
    std::string outer = fuse.loops.front();
    for (std::size_t i = 1; i < fuse.loops.size(); ++i) {
      add(Fuse{{fuse.statement, outer}, {"", fuse.loops[i]}, fuse.name}, fuse.by);
      outer = fuse.name;
    }
  }

  void write(const PlannedBind& bind) {
    const LoopName loop{bind.statement, bind.loop};
    if (bind.kind == LoopKind::Unrolled)
      add(Unroll{loop, {}}, bind.by);
    else if (bind.kind == LoopKind::Vector)
      add(Vectorize{loop}, bind.by);
    else if (bind.kind == LoopKind::Parallel)
      add(Parallel{loop}, bind.by);
    else
      add(Bind{loop, bind.kind}, bind.by);
  }

  void write(const PlannedParts& parts) {
    using Form = SplitReduction::Form;
    add(SplitReduction{parts.sum,
                       parts.loop,
                       {text(parts.size)},
                       parts.partial,
                       parts.by_halves       ? Form::Halves
                       : parts.of_neighbours ? Form::Blocks
                                             : Form::Interleaved},
        parts.by);
  }

  void write(const PlannedOnline& online) {
    add(Online{online.sums, online.maximum, {"", online.loop}}, online.by);
  }

  void write(const PlannedDistribution& apart) { into_.push_back(directive_of(apart)); }

  void write(const PlannedRename& rename) {
    add(Rename{{rename.statement, rename.loop}, rename.name}, rename.by);
  }

  void write(const PlannedCut& cut) {
    add(Cut{cut.loop, {ir::to_string(cut.at)}, {cut.below, cut.rest}}, cut.by);
  }
  void write(const PlannedTail& tail) {
    add(SetTail{tail.loop, tail.is_rounded ? Tail::Round : Tail::Cut}, tail.by);
  }
  void write(const PlannedReorder& reorder) {
    add(Reorder{reorder.statement, reorder.loops}, reorder.by);
  }
  // wavefront w = i + j for i
  void write(const PlannedWavefront& front) {
    add(Wavefront{"", front.name, {front.outer + " + " + front.inner}, front.outer}, front.by);
  }
  void write(const PlannedPad& pad) {
    add(Pad{pad.tensor, pad.dimension, {std::to_string(pad.multiple)}}, pad.by);
  }
  void write(const PlannedSwizzle& swizzle) {
    add(Swizzle{swizzle.tensor, {std::to_string(swizzle.chunk)}, {}}, swizzle.by);
  }
  void write(const PlannedPipeline& pipeline) {
    add(DoubleBuffer{pipeline.tensor, pipeline.at, {std::to_string(pipeline.depth)}}, pipeline.by);
  }
  void write(const PlannedTensorize& tensorize) {
    add(Tensorize{tensorize.loop, tensorize.intrinsic}, tensorize.by);
  }

  std::string text(const LayoutIndex& index) const {
    switch (index.part) {
      case LayoutIndex::Part::Tile:
        return index.dimension + "//" + text(index.size);
      case LayoutIndex::Part::TileOfSome:
        return "(" + index.dimension + "//" + text(index.size) + ")%" + std::to_string(index.count);
      case LayoutIndex::Part::WithinTile:
        return index.dimension + "%" + text(index.size);
      case LayoutIndex::Part::Whole:
        break;
    }
    return index.dimension;
  }

  // The stage, then directives for the copy that it has just made: its loop for
  // threads, and squares of L by L elements, which vectors of loads and shuffles transpose
  // where the inner loop is unrolled.
  //
  //   stage B at n.o layout (n, k) [n//Nr, k, n%Nr]
  //   split B.in: k by L   tail cut
  //   unroll B.in:k.i
  void write(const PlannedStage& stage) {
    Stage directive;
    directive.tensor = stage.tensor;
    directive.at = stage.at;
    directive.memory = stage.memory;
    directive.names = stage.dimensions;
    for (const LayoutIndex& index : stage.layout) directive.layout.push_back(text(index));
    if (stage.pad > 0) directive.pad = {std::to_string(stage.pad)};
    directive.when_compile = stage.when_compile;
    directive.updates_only = stage.updates_only;
    directive.reader = stage.reader;
    directive.subscripts = stage.subscripts;
    NestPath loops;
    for (const std::string& loop : stage.copy_loops) loops.push_back({loop});
    if (!loops.empty()) directive.copy = nest_path(loops, nest_statement(stage.tensor + ".in"));
    add(std::move(directive), stage.by);
    if (!stage.shared_loop.empty())
      add(Parallel{{stage.tensor + ".in", stage.shared_loop}}, stage.by);
    if (!stage.square_loop.empty()) {
      const std::string copy = stage.tensor + ".in";
      write(PlannedSplit{copy, stage.square_loop, Vectors{1}, stage.by});
      add(Unroll{{copy, within_tile(stage.square_loop)}}, stage.by);
    }
  }
};

}  // namespace

void write_nest(const NestPlan& plan, std::vector<Directive>& into) {
  NestWriter(plan, into).run();
}

Script write_script(const ir::Program& program, const std::string& writer, const Machine& machine,
                    const KernelPlan& plan) {
  std::set<std::string> reassociated;
  for (const NestPlan& nest : plan.nests)
    reassociated.insert(nest.reassociated.begin(), nest.reassociated.end());
  Script script = own_script(program, writer, machine, reassociated);
  for (const PlannedDistribution& each : plan.apart)
    script.directives.push_back(directive_of(each));
  for (const NestPlan& nest : plan.nests) {
    const std::size_t before = script.directives.size();
    write_nest(nest, script.directives);
    // On a GPU loops of threads have to count from 0 (state/launches.h).
    if (!machine.gpu) count_from_begins(program, std::span(script.directives).subspan(before));
  }
  for (const PlannedStream& stream : plan.streams)
    script.directives.push_back({StoreNonTemporal{stream.result}, stream.by});
  return script;
}

}  // namespace polyte::schedule
