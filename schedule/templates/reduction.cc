// Holes and roles of templates for sums with their epilogues: contractions, windows, any other. The
// cost model says which loops are lanes and rows, how large the tile is, and what is worth a copy
// in panels; the order is the file's.
//
//   C[m, n] = sum[k] A[m, k] * B[k, n]     lane n, row m, steps k, panel B (Nr along n)
#include <algorithm>
#include <array>
#include <memory>

#include "ir/contraction.h"
#include "schedule/cost/operand_staging.h"
#include "schedule/cost/threads.h"
#include "schedule/templates/reduction_nest.h"
#include "support/checked.h"

namespace polyte::schedule {
namespace {

const std::string kLaneBlocks = "lane.o.o";  // in a nest: over blocks of tiles

// Fills the holes of one template for one nest.
class ReductionFiller {
 public:
  ReductionFiller(const KernelSoFar& kernel, const ReductionNest& nest, const TileChoice& free,
                  const TemplateFile& file)
      : nest_(nest), free_(free), file_(file), suffix_(kernel.suffix()) {
    filling_.staged = kernel.staged;
  }

  Result<Filling> run() {
    if (file_.loop_holes.contains("block") && free_.block.empty())
      return Decline{"the sum needs no blocks"};
    if (file_.loop_holes.contains("turn") && !file_.loop_holes.contains("row") && free_.turned == 0)
      return Decline{"nothing is turned in registers"};
    if (!choose()) return Decline{"no tile has the form of " + file_.name};
    if (file_.params.contains("Share")) {
      if (choice_.lane.empty() || !is_worth_threads(machine(), choice_.cycles))
        return Decline{"one thread is enough"};
      share_ = lanes_a_thread(choice_, nest_.extent(choice_.lane), machine().lanes(nest_.dtype()),
                              machine().cores);
      if (share_ == 0) return Decline{"there are no lanes for each thread"};
    }
    roles();
    if (!places_all_loops())
      return Decline{file_.name + " does not say where the other free loops stand"};
    sizes();
    loops_around();
    copies();
    return std::move(filling_);
  }

 private:
  const ReductionNest& nest_;
  const TileChoice& free_;  // what the cost model takes where the order is its own
  const TemplateFile& file_;
  const std::string suffix_;  // of this nest's params
  TileChoice choice_;
  std::int64_t share_ = 0;  // lanes of a thread, cut before all else; 0: none
  Filling filling_;

  const Machine& machine() const { return nest_.machine(); }
  const ir::Statement& update() const { return *nest_.group().update; }
  TiledSum tiled() const { return {nest_, choice_}; }

  // --- what the cost model is asked

  // First with the loops that the free choice has taken, then with any: a form need not have a tile
  // of the former.
  bool choose() {
    TileForm form = form_of_file();
    form.fixed = {{"lane", free_.lane}, {"row", free_.row}, {"outer_row", free_.outer_row}};
    choice_ = nest_.choose(&form);
    form.fixed.clear();
    if (choice_.cycles < 0) choice_ = nest_.choose(&form);
    return choice_.cycles >= 0;
  }

  TileForm form_of_file() const {
    TileForm form;
    form.loops = file_.loop_holes;
    form.packs = file_.mentions("panel") || file_.mentions("weight");
    form.rows = allowed_values(file_, "Mr", machine(), nest_.dtype());
    form.outer_rows = allowed_values(file_, "Mo", machine(), nest_.dtype());
    form.lanes = allowed_values(file_, "Nr", machine(), nest_.dtype());
    form.block = allowed_values(file_, "Kc", machine(), nest_.dtype());
    for (const std::string& item : file_.around) {
      const std::string role = item == kLaneBlocks ? "lane_blocks" : item.substr(0, item.find('.'));
      // lane.o > block.o > lane.i.o: the tiles are the innermost ones.
      std::erase(form.order, role);
      form.order.push_back(role);
    }
    return form;
  }

  // Each free loop stands in the nest: by the list of them all, or by the lists of its parts, which
  // have to be named unless they are empty.
  bool places_all_loops() const {
    const auto stands = [&](const char* list) {
      return std::ranges::find(file_.around, list) != file_.around.end();
    };
    if (stands("free")) return true;
    return std::ranges::all_of(std::array{"batch", "lane_free", "row_free"}, [&](const char* list) {
      return stands(list) || filling_.scope.lists.at(list).empty();
    });
  }

  // --- roles

  void name(const char* role, const std::string& value) { filling_.scope.names[role] = value; }

  void roles() {
    const StatementGroup& group = nest_.group();
    name("init", group.init ? group.init->name : "");
    name("update", update().name);
    name("lane", choice_.lane);
    name("row", choice_.row);
    name("outer_row", choice_.outer_row);
    name("block", choice_.block);
    name("turn", choice_.turned > 0 ? update().reductions.back() : "");
    filling_.scope.lists = tiled().free_loops();
    for (const std::string& loop : update().reductions)
      if (loop != choice_.block && loop != filling_.scope.names["turn"])
        filling_.scope.lists["steps"].push_back(
            choice_.written_out.contains(loop) ? "[" + loop + "]" : loop);
    filling_.scope.lists["steps"];
    for (const ir::Statement* s : nest_.statements())
      filling_.scope.groups["statement"].push_back({{{"statement", s->name}}, {}, {}});
    filling_.scope.groups["after"];
    for (const ir::Statement* s : group.epilogue)
      filling_.scope.groups["after"].push_back({{{"after", s->name}}, {}, {}});
  }

  void sizes() {
    const auto size = [&](const char* param, const std::string& loop, const std::string& value) {
      if (!loop.empty()) filling_.values[param] = value;
    };
    const std::int64_t lanes = tiled().lanes(), vector = machine().lanes(nest_.dtype());
    size("Mr", choice_.row, std::to_string(choice_.tile.rows));
    size("Mo", choice_.outer_row, std::to_string(choice_.tile.outer_rows));
    size("Nr", choice_.lane,
         lanes % vector == 0 ? std::to_string(lanes / vector) + "*L" : std::to_string(lanes));
    size("Sq", filling_.scope.names["turn"], std::to_string(choice_.turned));
    size("Kc", choice_.block, std::to_string(choice_.block_size));
    size("Tb", choice_.in_blocks, std::to_string(choice_.block_tiles));
    if (share_ > 0) filling_.values["Share"] = std::to_string(share_);
  }

  // --- the loops around the tile

  // A free loop h with its trips; of a second row loop it is h.o, the loop over its tiles.
  CountedLoop counted(const std::string& loop) const {
    const bool is_row = loop == tiles_of(choice_.outer_row);
    return {loop, tiled().trips_of(loop), true, is_row ? choice_.outer_row : loop};
  }

  // With blocks of tiles lane.o counts the tiles of a block and lane.o.o the blocks; shared lanes
  // are cut in a part for each thread first.
  std::int64_t trips(const std::string& item, const std::string& role) const {
    if (share_ > 0 && item == "lane.o") return machine().cores;
    const std::int64_t tiles = tiled().trips(role);
    if (role != "lane" || choice_.block_tiles == 0) return tiles;
    return item == kLaneBlocks ? ceil_div(tiles, choice_.block_tiles) : choice_.block_tiles;
  }

  std::vector<CountedLoop> around() const {
    std::vector<CountedLoop> loops;
    for (const std::string& item : file_.around) {
      if (const auto list = filling_.scope.lists.find(item); list != filling_.scope.lists.end()) {
        for (const std::string& loop : list->second) loops.push_back(counted(loop));
        continue;
      }
      const std::string role = item.substr(0, item.find('.'));
      const auto named = filling_.scope.names.find(role);
      if (named == filling_.scope.names.end() || named->second.empty()) continue;
      loops.push_back({named->second + item.substr(role.size()), trips(item, role), role != "block",
                       named->second});
    }
    return loops;
  }

  void loops_around() {
    const std::vector<CountedLoop> loops = around();
    const bool may_stay =
        can_stage_accumulator(nest_.program(), update(), nest_.statements(), false);
    name("sum", may_stay ? update().writes[0].buffer : "");
    name("inmost", loops.empty() ? "" : loops.back().name);
    name("threads", share_ > 0
                        ? loops.front().name
                        : loop_for_threads(machine(), choice_.cycles, loops, nest_.program().open));
  }

  // --- copies of operands

  void copies() {
    for (const char* group : {"weight", "panel", "part", "read", "border", "padded", "ahead"})
      filling_.scope.groups[group];
    // Panels lie along the lanes. Without them, or where squares are transposed in registers,
    // operands are read where they are.
    if (choice_.lane.empty() || (choice_.turned > 0 && choice_.row.empty())) return;
    const std::int64_t row_panels = choice_.row.empty() ? 0 : tiled().trips("row");
    const TiledReduction reduction{&nest_.program(),
                                   &machine(),
                                   &update(),
                                   {choice_.lane, Param{"Nr"}, tiled().trips("lane")},
                                   {choice_.row, Param{"Mr"}, row_panels},
                                   choice_.packed,
                                   choice_.in_place,
                                   choice_.order,
                                   filling_.scope.names.at("threads")};
    std::set<std::string> copied;
    for (const PlannedStage& stage : operand_stages(reduction, filling_.staged)) {
      copy(stage);
      copied.insert(stage.tensor);
    }
    for (const TileChoice::Ahead& each : choice_.ahead)
      if (!copied.contains(each.operand))
        filling_.scope.groups["ahead"].push_back({{{"operand", each.operand},
                                                   {"site", each.at},
                                                   {"counted", each.along},
                                                   {"count", std::to_string(each.distance)}},
                                                  {},
                                                  {}});
  }

  void copy(const PlannedStage& stage) {
    Scope member{{{"operand", stage.tensor},
                  {"copies", stage.shared_loop},
                  {"square", stage.square_loop},
                  {"site", stage.at ? stage.at->loop : ""}},
                 {},
                 {}};
    if (stage.layout.empty()) {
      filling_.scope.groups[stage.at ? "border" : "padded"].push_back(std::move(member));
      return;
    }
    member.names["side"] = stage.layout.front().dimension;
    member.names["size"] = std::get<Param>(stage.layout.front().size).name + suffix_;
    member.lists["dims"] = stage.dimensions;
    for (auto index = stage.layout.begin() + 1; index + 1 != stage.layout.end(); ++index)
      member.lists["rest"].push_back(index->dimension);
    member.lists["rest"];
    // The group says when the copy is made and for whom: as the kernel is compiled, part by part at
    // a loop, for one statement's reads alone, or once before the nest.
    const char* group = stage.when_compile      ? "weight"
                        : stage.at              ? "part"
                        : !stage.reader.empty() ? "read"
                                                : "panel";
    filling_.scope.groups[group].push_back(std::move(member));
  }
};

}  // namespace

OpenNest open_reduction(const KernelSoFar& kernel, const StatementGroup& group) {
  const auto nest = std::make_shared<ReductionNest>(kernel, group);
  const auto free = std::make_shared<TileChoice>(nest->choose(nullptr));
  std::map<std::string, std::int64_t> facts = TiledSum(*nest, *free).facts();
  const bool is_product =
      static_cast<bool>(ir::classify_contraction(kernel.program, *group.update));
  const bool is_shared = facts["lane_bytes"] > 0 && facts["row_bytes"] > 0;
  return {is_product && is_shared        ? "contraction"
          : reads_windows(*group.update) ? "window"
                                         : "reduction",
          facts, [&kernel, nest, free](const TemplateFile& file) {
            return ReductionFiller(kernel, *nest, *free, file).run();
          }};
}

}  // namespace polyte::schedule
