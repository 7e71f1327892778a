// Holes and roles of templates for GPUs. Sizes follow rules of thumb: what stands in the file
// is ours, and of the tiles that it allows the largest that leaves every multiprocessor a block
// is taken.
#include <algorithm>
#include <iterator>

#include "ir/contraction.h"
#include "ir/relations.h"
#include "schedule/cost/copy_threads.h"
#include "schedule/cost/lanes.h"
#include "schedule/cost/nest_accesses.h"
#include "schedule/cost/operand_staging.h"
#include "schedule/cost/warp_access.h"
#include "schedule/templates/nests.h"
#include "support/checked.h"
#include "support/is_among.h"

namespace polyte::schedule {
namespace {

constexpr std::int64_t kThreads = 256, kFewestThreads = 32;
constexpr std::int64_t kShortLane = 32, kLongLane = 64;  // lanes of a tile
constexpr std::int64_t kShortestSide = 8;                // of a tile that is worth shared memory
constexpr std::int64_t kMostOfSlice = 40 * 1024;         // bytes

using Names = std::map<std::string, std::string>;

// The loop is cut in the fewest parts of at most `most`, which are then made as even as their size
// allows: 100 by at most 64 is two parts of 50, not 64 and 36.
std::int64_t even_part(std::int64_t extent, std::int64_t most) {
  return ceil_div(extent, ceil_div(extent, most));
}

// Neighbouring threads run along the last loop: the one along which a warp touches the fewest
// sectors of memory takes that place.
std::vector<std::string> in_thread_order(const ir::Program& program,
                                         const std::vector<const ir::Statement*>& all,
                                         const std::vector<IteratorFacts>& facts,
                                         std::vector<std::string> loops) {
  if (loops.empty()) return loops;
  const auto sectors = [&](const std::string& loop) {
    double sum = 0;
    for (const ir::Statement* s : all)
      sum += sectors_a_warp(program, *s, loop, find(facts, loop)->extent);
    return sum;
  };
  auto best = std::prev(loops.end());
  for (auto loop = loops.begin(); loop != loops.end(); ++loop)
    if (sectors(*loop) < sectors(*best)) best = loop;
  std::rotate(best, std::next(best), loops.end());
  return loops;
}

// ---- a sum

struct SumRoles {
  std::string row, outer_lane, lane, block;
};

class GpuSum {
 public:
  GpuSum(const KernelSoFar& kernel, const StatementGroup& group)
      : kernel_(&kernel),
        group_(group),
        statements_(statements_of(group)),
        facts_(facts_of(kernel.reference, *group.update)),
        roles_(find_roles()) {}

  bool is_contraction() const { return !roles_.row.empty(); }

  Result<Filling> fill(const TemplateFile& file) const {
    return is_contraction() ? tile(file) : points(file);
  }

 private:
  const KernelSoFar* kernel_;
  StatementGroup group_;
  std::vector<const ir::Statement*> statements_;
  std::vector<IteratorFacts> facts_;
  SumRoles roles_;  // of a contraction

  const ir::Program& program() const { return kernel_->program; }
  const ir::Statement& update() const { return *group_.update; }
  const std::string& sum() const { return update().writes[0].buffer; }
  std::int64_t extent(const std::string& loop) const {
    return std::max<std::int64_t>(1, find(facts_, loop)->extent);
  }
  std::string numbered(const std::string& name) const { return name + kernel_->suffix(); }

  // The longest of the loops; empty: there is none.
  std::string longest(const std::vector<std::string>& loops, const std::string& but) const {
    std::string best;
    for (const std::string& loop : loops)
      if (loop != but && (best.empty() || extent(loop) > extent(best))) best = loop;
    return best;
  }

  SumRoles find_roles() const {
    const auto contraction = ir::classify_contraction(program(), update());
    const bool is_plain =
        std::ranges::all_of(update().writes[0].indices, [](const ir::Index& index) {
          return !index.indirect && (index.affine.as_symbol() || index.affine.is_constant());
        });
    if (!contraction || !group_.init || !is_plain || contraction->a == contraction->b ||
        contraction->lane.empty() || contraction->m.empty() || !program().open.empty() ||
        !can_stage_accumulator(program(), update(), statements_, false))
      return {};
    SumRoles roles{longest(contraction->m, ""), "", contraction->lane, longest(contraction->k, "")};
    if (extent(roles.lane) < kShortLane) roles.outer_lane = longest(contraction->n, roles.lane);
    // A tile narrower than this reads its operands too seldom again to pay for their copies. Lanes
    // shorter than a warp are joined by a second free loop.
    if (extent(roles.row) < kShortestSide || lanes(roles) < kShortestSide) return {};
    return roles;
  }

  std::int64_t lanes(const SumRoles& roles) const {
    return even_part(extent(roles.lane), kLongLane) *
           (roles.outer_lane.empty() ? 1 : outer_lanes(roles));
  }
  std::int64_t outer_lanes(const SumRoles& roles) const {
    return even_part(extent(roles.outer_lane),
                     std::max<std::int64_t>(1, kLongLane / extent(roles.lane)));
  }

  // How many threads lie along the lanes: the fewest that divide them evenly, are at least four,
  // with the outer lanes at least eight, and have at most eight lanes each.
  static std::int64_t lane_threads(std::int64_t lanes, std::int64_t outer) {
    std::int64_t threads = lanes;
    for (std::int64_t d = lanes; d >= 1; --d)
      if (lanes % d == 0 && d >= std::min<std::int64_t>(lanes, 4) && d * outer >= 8 &&
          lanes / d <= 8)
        threads = d;
    return threads;
  }

  Result<Filling> points(const TemplateFile& file) const {
    Filling filling;
    filling.staged = kernel_->staged;
    std::vector<std::string> free =
        in_thread_order(program(), statements_, facts_, ir::free_iterators(update()));
    if (free.empty()) return Decline{"there is one sum"};
    std::int64_t all = 1, threads = kThreads;
    for (const std::string& loop : free) all *= extent(loop);
    // Blocks become smaller until every multiprocessor has one.
    while (threads > kFewestThreads &&
           ceil_div(all, threads) < kernel_->machine.gpu->multiprocessors)
      threads /= 2;
    common(filling);
    const bool stays =
        group_.init && can_stage_accumulator(program(), update(), statements_, false);
    filling.scope.names["sum"] = stays ? sum() : "";
    filling.scope.names["inmost"] = free.back();
    filling.scope.names["point"] = numbered("point");
    filling.scope.lists["free"] = free;
    filling.scope.lists["steps"] = update().reductions;
    if (file.params.contains("Threads")) filling.values["Threads"] = std::to_string(threads);
    return filling;
  }

  void common(Filling& filling) const {
    filling.scope.names["init"] = group_.init ? group_.init->name : "";
    filling.scope.names["update"] = update().name;
    filling.scope.groups["after"];
    for (const ir::Statement* s : group_.epilogue)
      filling.scope.groups["after"].push_back({{{"after", s->name}}, {}, {}});
    for (const ir::Statement* s : statements_)
      filling.scope.groups["statement"].push_back({{{"statement", s->name}}, {}, {}});
  }

  Result<Filling> tile(const TemplateFile& file) const {
    Filling filling;
    filling.staged = kernel_->staged;
    common(filling);
    const std::int64_t bn = even_part(extent(roles_.lane), kLongLane);
    const std::int64_t bh = roles_.outer_lane.empty() ? 1 : outer_lanes(roles_);
    const std::int64_t wn = lane_threads(bn, bh), bm = rows_of(file, bn, bh);
    // Eight rows per thread where that leaves two warps per block, else four: each value of the
    // other operand is read from shared memory once for all of them.
    const std::int64_t tm = bm % 8 == 0 && bm / 8 * bh * wn >= kFewestThreads * 2 ? 8
                            : bm % 4 == 0                                         ? 4
                                                                                  : 1;
    std::int64_t kc = 1;
    for (const std::int64_t steps : allowed_values(file, "Kc", kernel_->machine, type()))
      if (slice_bytes({{"Bm", bm}, {"Bh", bh}, {"Bn", bn}, {"Kc", steps}}) <= kMostOfSlice ||
          kc == 1)
        kc = std::min(steps, extent(roles_.block));
    const std::map<std::string, std::int64_t> sizes = {{"Bm", bm}, {"Tm", tm}, {"Bh", bh},
                                                       {"Bn", bn}, {"Wn", wn}, {"Kc", kc}};
    for (const auto& [param, value] : sizes)
      // Without outer lanes the template has no use for their size.
      if (param != "Bh" || !roles_.outer_lane.empty())
        filling.values[param] = std::to_string(value);
    filling.scope.names["lane"] = roles_.lane;
    filling.scope.names["outer_lane"] = roles_.outer_lane;
    filling.scope.names["row"] = roles_.row;
    filling.scope.names["block"] = roles_.block;
    // Where two slices have room, the next one comes while this one is added.
    const bool has_room = 2 * slice_bytes(sizes) <= kernel_->machine.gpu->shared_block_bytes;
    filling.scope.names["slices"] = extent(roles_.block) > kc && has_room ? roles_.block : "";
    loops(filling);
    dimensions_of_sum(filling);
    const std::set<std::string> rests = loops_with_rests(sizes);
    filling.scope.groups["rounded"];
    for (const std::string& loop : rests)
      filling.scope.groups["rounded"].push_back({{{"edge", loop + edge_of(loop, sizes)}}, {}, {}});
    operands(filling, sizes, bm / tm * bh * wn, rests);
    return filling;
  }

  // Blocks at the edges run whole tiles, on zeros that operands are filled up with: guards for
  // each sum would have the threads of a warp take different ways. None where an operand has a
  // border of its own.
  std::set<std::string> loops_with_rests(const std::map<std::string, std::int64_t>& sizes) const {
    if (std::ranges::any_of(ir::reads_of(update()),
                            [](const ir::Load* load) { return load->otherwise != nullptr; }))
      return {};
    std::set<std::string> rests;
    for (const auto& [loop, param] :
         {std::pair{roles_.row, "Bm"}, {roles_.outer_lane, "Bh"}, {roles_.lane, "Bn"}})
      if (!loop.empty() && extent(loop) > sizes.at(param) && extent(loop) % sizes.at(param) != 0)
        rests.insert(loop);
    return rests;
  }

  // The loop whose last iterations are the rest of a tile: .i.o, which counts the threads' parts of
  // it, or .i.i where a tile is one part.
  std::string edge_of(const std::string& loop,
                      const std::map<std::string, std::int64_t>& sizes) const {
    if (loop == roles_.outer_lane) return ".i";
    const bool is_row = loop == roles_.row;
    return sizes.at(is_row ? "Tm" : "Wn") == sizes.at(is_row ? "Bm" : "Bn") ? ".i.i" : ".i.o";
  }

  DType type() const { return program().buffer(sum()).dtype; }

  // The most rows that leave every multiprocessor a block.
  std::int64_t rows_of(const TemplateFile& file, std::int64_t bn, std::int64_t bh) const {
    std::int64_t tiles = 1;
    for (const std::string& loop : ir::free_iterators(update()))
      if (loop != roles_.row)
        tiles *= ceil_div(extent(loop), loop == roles_.lane         ? bn
                                        : loop == roles_.outer_lane ? bh
                                                                    : 1);
    std::int64_t best = 0;
    for (const std::int64_t rows : allowed_values(file, "Bm", kernel_->machine, type())) {
      const bool is_longer = best >= extent(roles_.row);
      const std::int64_t blocks = tiles * ceil_div(extent(roles_.row), rows);
      if (best == 0 || (!is_longer && blocks >= kernel_->machine.gpu->multiprocessors)) best = rows;
    }
    return best == 0 ? kLongLane : best;
  }

  // What the tile reads in one slice of the sum, loop by loop.
  std::vector<CopyRange> ranges(const std::map<std::string, std::int64_t>& sizes) const {
    std::vector<CopyRange> ranges;
    bool is_inside = false;  // of the slice: behind the loop that is cut
    for (const std::string& it : update().iterators) {
      is_inside = is_inside || it == roles_.block;
      std::int64_t points = is_among(it, update().reductions) && is_inside ? extent(it) : 1;
      if (it == roles_.row) points = sizes.at("Bm");
      if (it == roles_.lane) points = sizes.at("Bn");
      if (it == roles_.outer_lane) points = sizes.at("Bh");
      if (it == roles_.block) points = sizes.at("Kc");
      ranges.push_back({it, extent(it), points});
    }
    return ranges;
  }

  // Bytes of shared memory that the operands of a slice take, with the zeros that fill them up,
  // without the padding of rows.
  std::int64_t slice_bytes(const std::map<std::string, std::int64_t>& sizes) const {
    const std::vector<CopyRange> slice = ranges(sizes);
    std::int64_t bytes = 0;
    for (const ir::Load* load : ir::reads_of(update())) {
      std::int64_t elements = size_in_bytes(program().buffer(load->buffer).dtype);
      for (const ir::Index& index : load->indices) elements *= box_width(index, slice);
      bytes += elements;
    }
    return bytes;
  }

  void loops(Filling& filling) const {
    for (const std::string& loop : ir::free_iterators(update()))
      if (loop != roles_.row && loop != roles_.lane && loop != roles_.outer_lane)
        filling.scope.lists["free"].push_back(loop);
    filling.scope.lists["free"], filling.scope.lists["outer"], filling.scope.lists["steps"];
    const auto& steps = update().reductions;
    const auto block = std::ranges::find(steps, roles_.block);
    filling.scope.lists["outer"].assign(steps.begin(), block);  // the order of the terms stays
    filling.scope.lists["steps"].assign(std::next(block), steps.end());
  }

  static std::string dimension(const std::string& tensor, std::size_t d) {
    return tensor + std::to_string(d);
  }

  void dimensions_of_sum(Filling& filling) const {
    Scope& scope = filling.scope;
    scope.names["sum"] = sum();
    scope.lists["dims"], scope.lists["places"];
    for (const char* role : {"rows", "outer_lanes", "lanes"}) scope.names[role] = "";
    for (std::size_t d = 0; d < update().writes[0].indices.size(); ++d) {
      const std::string name = dimension(sum(), d);
      const auto loop = update().writes[0].indices[d].affine.as_symbol();
      scope.lists["dims"].push_back(name);
      if (loop == roles_.row)
        scope.names["rows"] = name;
      else if (loop == roles_.lane)
        scope.names["lanes"] = name;
      else if (loop && loop == roles_.outer_lane)
        scope.names["outer_lanes"] = name;
      else
        scope.lists["places"].push_back(name);
    }
    scope.groups["result"];
    const std::vector<const ir::Statement*>& all = statements_;
    std::vector<const ir::Statement*> others;
    std::ranges::copy_if(all, std::back_inserter(others),
                         [&](const ir::Statement* s) { return s != group_.update; });
    if (!stays_inside(program(), sum(), update(), others)) scope.groups["result"].emplace_back();
  }

  void operands(Filling& filling, const std::map<std::string, std::int64_t>& sizes,
                std::int64_t threads, const std::set<std::string>& rests) const {
    for (const ir::Load* load : ir::reads_of(update())) {
      Scope& operand = filling.scope.groups["operand"].emplace_back();
      // The dimension along which the threads of a warp read, by a loop of the tile; it comes last
      // in shared memory.
      std::size_t side = load->indices.size() - 1;
      for (std::size_t d = 0; d < load->indices.size(); ++d)
        if (load->indices[d].affine.uses(roles_.lane) || load->indices[d].affine.uses(roles_.row))
          side = d;
      std::vector<CopyLoop> copies;
      operand.lists["rest"];
      operand.groups["filled"];
      for (std::size_t d = 0; d < load->indices.size(); ++d) {
        const std::string name = dimension(load->buffer, d);
        operand.lists["dims"].push_back(name);
        if (d != side) operand.lists["rest"].push_back(name);
        copies.push_back({name, box_width(load->indices[d], ranges(sizes))});
        const auto is_along = [&](const std::string& loop) {
          return load->indices[d].affine.uses(loop);
        };
        if (std::ranges::any_of(rests, is_along))
          operand.groups["filled"].push_back(
              {{{"filled", name}, {"size", std::to_string(copies.back().extent)}}, {}, {}});
      }
      operand.names["side"] = dimension(load->buffer, side);
      TurnedCopy turned{copies[side].extent, 1,
                        size_in_bytes(program().buffer(load->buffer).dtype)};
      for (std::size_t d = side + 1; d < copies.size(); ++d) turned.neighbours *= copies[d].extent;
      operand.names["padding"] = std::to_string(bank_padding(turned).pad);
      // Where that is not the last one in memory, the copy transposes: its writes are padded into
      // different banks, and it moves single elements.
      const bool is_turned = side + 1 != copies.size();
      add_copy(operand, load->buffer, std::move(copies),
               is_turned ? 1 : copy_vector(program(), *load, ranges(sizes)), threads);
    }
  }
};

// ---- a definition

struct GpuPoints {
  const KernelSoFar* kernel;
  const ir::Statement* s;
  std::vector<IteratorFacts> facts;
  std::vector<std::string> order;  // the last is the threads'
  // The loop along which the read lies in memory, where it strides along the threads' loop; empty:
  // there is none.
  std::string turning;
  const ir::Load* operand = nullptr;
  std::vector<const ir::Statement*> after = {};  // at the same points

  Result<Filling> fill(const TemplateFile& file) const {
    Filling filling;
    filling.staged = kernel->staged;
    if (const ir::Statement* shared = sharing_elements())
      return Decline{"iterations of " + shared->name + " share elements"};
    Scope& scope = filling.scope;
    scope.names = {{"define", s->name},
                   {"lane", order.back()},
                   {"turning", turning},
                   {"point", "point" + kernel->suffix()}};
    scope.lists["free"];
    for (const std::string& loop : order)
      if (loop != order.back() && loop != turning) scope.lists["free"].push_back(loop);
    if (operand) read(scope);
    add_chain(scope, kernel->program, *s, after);
    if (file.params.contains("Threads") && file.params.at("Threads").value == "?")
      filling.values["Threads"] = std::to_string(kThreads);
    return filling;
  }

  // A statement of which two iterations may touch one element, so that they cannot run at the same
  // time; null: there is none. Each iterator has to be a subscript of its own, up to a constant.
  const ir::Statement* sharing_elements() const {
    std::vector<const ir::Statement*> all = {s};
    all.insert(all.end(), after.begin(), after.end());
    for (const ir::Statement* each : all) {
      const auto names_element = [&](const std::string& loop) {
        return std::ranges::any_of(each->writes[0].indices, [&](const ir::Index& index) {
          return !index.indirect && (index.affine - index.affine.constant()).as_symbol() == loop;
        });
      };
      if (!ir::stay_at_their_point(*each, *each) ||
          !std::ranges::all_of(each->iterators, names_element))
        return each;
    }
    return nullptr;
  }

  void read(Scope& scope) const {
    scope.names["operand"] = operand->buffer;
    scope.lists["rest"];
    for (std::size_t d = 0; d < operand->indices.size(); ++d) {
      const std::string name = operand->buffer + std::to_string(d);
      const bool is_slow = operand->indices[d].affine.uses(order.back()),
                 is_fast = operand->indices[d].affine.uses(turning);
      scope.lists["dims"].push_back(name);
      if (is_slow) scope.names["slow"] = name;
      if (is_fast) scope.names["fast"] = name;
      if (!is_slow && !is_fast) scope.lists["rest"].push_back(name);
    }
  }
};

GpuPoints points_of(const KernelSoFar& kernel, const ir::Statement& s) {
  GpuPoints points{&kernel, &s, facts_of(kernel.reference, s), {}, "", nullptr};
  points.order = in_thread_order(kernel.program, {&s}, points.facts, s.iterators);
  // Loops along which the result's neighbours lie come last, as the threads' loop: writes that
  // stride cannot go through shared memory here, reads can.
  const auto writes_neighbours = [&](const std::string& loop) {
    return write_stride(kernel.program, s, loop).value_or(0) == 1;
  };
  std::vector<std::string> last;
  std::ranges::copy_if(points.order, std::back_inserter(last), writes_neighbours);
  std::erase_if(points.order, writes_neighbours);
  points.order.insert(points.order.end(), last.begin(), last.end());
  const std::string turning = turning_loop(kernel.program, s, points.order.back());
  const auto is_long = [&](const std::string& loop) {
    return find(points.facts, loop)->extent >= kShortLane;
  };
  const std::vector<const ir::Load*> reads = ir::reads_of(s);
  const auto turned = std::ranges::find_if(reads, [&](const ir::Load* load) {
    return !turning.empty() && ir::stride_of(kernel.program, *load, turning) == 1 &&
           !load->otherwise &&
           ir::stride_of(kernel.program, *load, points.order.back()).value_or(0) > 1;
  });
  // Squares pay where both loops are longer than a warp, the write lies along the lanes, and the
  // tensor is read once: one copy in shared memory serves all of its reads.
  const bool pays = turned != reads.end() && is_long(turning) && is_long(points.order.back()) &&
                    write_stride(kernel.program, s, points.order.back()) == 1 &&
                    std::ranges::count(reads, (*turned)->buffer, &ir::Load::buffer) == 1;
  if (pays) points.turning = turning, points.operand = *turned;
  return points;
}

}  // namespace

OpenNest open_gpu_sum(const KernelSoFar& kernel, const StatementGroup& group) {
  const auto sum = std::make_shared<GpuSum>(kernel, group);
  return {sum->is_contraction() ? "gpu_contraction" : "gpu_sum",
          machine_facts(kernel.machine, DType::F32),
          [sum](const TemplateFile& file) { return sum->fill(file); }};
}

OpenNest open_gpu_pointwise(const KernelSoFar& kernel, const StatementGroup& group) {
  GpuPoints points = points_of(kernel, *group.plain);
  points.after = group.epilogue;
  return {points.turning.empty() ? "gpu_pointwise" : "gpu_transpose",
          machine_facts(kernel.machine, DType::F32),
          [points](const TemplateFile& file) { return points.fill(file); }};
}

}  // namespace polyte::schedule
