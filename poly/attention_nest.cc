#include "poly/attention_nest.h"

#include <algorithm>

#include "ir/relations.h"
#include "poly/attention_base.h"
#include "poly/attention_tile.h"
#include "poly/attention_warps.h"
#include "poly/shared_nest.h"
#include "poly/sum_tile.h"
#include "schedule/cost/copy_threads.h"
#include "support/checked.h"

namespace polyte::poly {
namespace {

using ir::LoopKind;
using schedule::LayoutIndex;
using schedule::NestPath;
using schedule::NestTree;
using schedule::Param;
using schedule::tiles_of;
using schedule::within_tile;

constexpr std::int64_t kVector = 4;  // numbers of an access
constexpr double kNumberBytes = 4;   // of a number

// Threads form a grid of rows and lanes. A thread owns Tm neighbouring rows, and of a tile of keys,
// or of the columns, every Wn-th element:
//
//   i -> i.o blocks             i.i.o threads             i.i.i rows of a thread
//   j -> j.o tiles of keys      j.i.o keys of a thread    j.i.i threads (lanes)
//   c ->                        c.o columns of a thread   c.i threads (lanes)
class AttentionPlanner : AttentionBase {
 public:
  explicit AttentionPlanner(const AttentionNest& nest) : AttentionBase(nest) {}

  AttentionPlan run() {
    if (schedule::why_not_by_threads(program_, form_, sizes_)) return {std::nullopt, ""};
    tile_ = choose_attention_tile(sizes_, *nest_.machine->gpu);
    const double others = cycles_apart(nest_.machine->gpu->f32_fma_a_cycle, kNumberBytes);
    const std::string why = attention_note(nest_, tile_.cycles, others);
    if (tile_.rows == 0 || tile_.cycles >= others) return {std::nullopt, why};
    plan_.number = nest_.number;
    names();
    rewrites();
    splits();
    tree();
    keep_scores();
    stage_operands();
    stage_rows();
    bind();
    return {std::move(plan_), why};
  }

 private:
  PricedAttentionTile tile_;
  std::string tops_, parts_;
  Names scored_, every_;  // statements along rows and keys; before the rewrite, all of them

  // --- the Program, and loops in tiles

  void names() {
    tops_ = fresh(maximum() + "_p");
    parts_ = fresh(total() + "_p");
    scored_ = {form_.scores_init->name, form_.scores->name};
    for (const ir::Statement* s : form_.made_of_scores) scored_.push_back(s->name);
    scored_.push_back(form_.weight->name);
    every_ = scored_;
    for (const ir::Statement* s :
         {form_.maximum_init, form_.maximum, form_.total_init, form_.total})
      every_.push_back(s->name);
    every_.insert(every_.end(), {sum_init_, sum_update_});
    every_.insert(every_.end(), after_.begin(), after_.end());
  }

  void rewrites() {
    if (!form_.share) return;
    plan_.inlined.push_back({written(*form_.share)});
    plan_.deferrals.push_back({written(*form_.product), sum_});
  }

  void splits() {
    const std::pair<const char*, std::int64_t> params[] = {
        {"Bm", tile_.rows}, {"Bn", tile_.keys}, {"Tm", tile_.thread_rows}, {"Wn", tile_.lanes}};
    for (const auto& [name, value] : params)
      plan_.params.push_back({name, schedule::Elements{value}});
    for (const std::string& s : every_) split(s, form_.row, Param{"Bm"});
    Names keyed = scored_;
    keyed.insert(keyed.end(), {form_.maximum->name, form_.total->name, sum_update_});
    for (const std::string& s : keyed) split(s, form_.key, Param{"Bn"});
    // From here on the total and the sums run over tiles of keys with the maximum so far (online
    // softmax); m.old, l.scale and u.scale come into being.
    plan_.splits.emplace_back(
        schedule::PlannedOnline{{total(), sum_}, maximum(), tiles_of(form_.key)});
    Names moved = every_;
    moved.insert(moved.end(), {old(), total() + ".scale", sum_ + ".scale"});
    for (const std::string& s : moved) split(s, within_tile(form_.row), Param{"Tm"});
    for (const auto& [sum, parts] : {std::pair{maximum(), tops_}, {total(), parts_}})
      plan_.splits.emplace_back(
          schedule::PlannedParts{sum, within_tile(form_.key), Param{"Wn"}, parts, kModel});
    for (const std::string& s : scored_) split(s, within_tile(form_.key), Param{"Wn"});
    for (const std::string& s : wide()) split(s, form_.column, Param{"Wn"});
    plan_.reassociated.insert(form_.key);
  }

  Names wide() const {
    Names names = {sum_init_, sum_ + ".scale", sum_update_};
    names.insert(names.end(), after_.begin(), after_.end());
    return names;
  }

  // --- the nest

  std::string key_lanes() const { return within_tile(within_tile(form_.key)); }
  std::string own_keys() const { return tiles_of(within_tile(form_.key)); }

  // The loops of the scores: threads along rows and keys, `steps` of the sum, then the elements of
  // one thread.
  NestPath tile(const NestPath& steps = {}) const {
    return joined(joined({{row_tiles()}, {key_lanes()}}, steps),
                  {{own_keys(), LoopKind::Unrolled}, {own_rows(), LoopKind::Vector}});
  }
  // The loops of the product: the same with columns in place of keys.
  NestPath sums(const NestPath& steps = {}) const {
    return joined(joined({{row_tiles()}, {within_tile(form_.column)}}, steps),
                  {{tiles_of(form_.column), LoopKind::Unrolled}, {own_rows(), LoopKind::Vector}});
  }
  NestPath begin_parts() const {
    return {{row_tiles()}, {key_lanes()}, {own_rows(), LoopKind::Vector}};
  }
  NestPath lanes() const { return {{within_tile(within_tile(form_.key)), LoopKind::Unrolled}}; }

  // One tile of keys. Each line is a thread region of its own, since threads of different grids
  // meet:
  //
  //   t.init, t.update, s      scores of the tile
  //   m.old; m_p, m            the maximum before; that of each lane's keys, then of the row
  //   e                        weights, by the new maximum
  //   l_p, l.scale, l          total: scaled to the new maximum, then this tile's terms
  //   u.scale, u.update        the same of the product
  NestTree pass() const {
    std::vector<NestTree> steps = {leaf(tile(), form_.scores_init->name),
                                   leaf(tile({{form_.step}}), form_.scores->name)};
    for (const ir::Statement* s : form_.made_of_scores) steps.push_back(leaf(tile(), s->name));
    steps.push_back(leaf(rows(), old()));
    steps.push_back(leaf(begin_parts(), tops_ + ".init"));
    steps.push_back(leaf(tile(), tops_ + ".update"));
    steps.push_back(leaf(joined(rows(), lanes()), form_.maximum->name));
    steps.push_back(leaf(tile(), form_.weight->name));
    steps.push_back(leaf(begin_parts(), parts_ + ".init"));
    steps.push_back(leaf(tile(), parts_ + ".update"));
    steps.push_back(
        nest_path(rows(), schedule::nest_sequence({schedule::nest_statement(total() + ".scale"),
                                                   leaf(lanes(), form_.total->name)})));
    steps.push_back(leaf(sums(), sum_ + ".scale"));
    steps.push_back(leaf(sums({{within_tile(form_.key)}}), sum_update_));
    return nest_path({{key_tiles()}}, schedule::nest_sequence(std::move(steps)));
  }

  void tree() {
    std::vector<NestTree> body = {leaf(sums(), sum_init_), pass()};
    for (const std::string& s : after_)
      body.push_back(leaf({{row_tiles()},
                           {within_tile(form_.column)},
                           {own_rows(), LoopKind::Unrolled},
                           {tiles_of(form_.column), LoopKind::Unrolled}},
                          s));
    AttentionBase::tree(tile_.rows, std::move(body));
  }

  // --- storage

  // Lays the tensor out as [the block's dimensions, threads along rows, lanes, elements along the
  // loop, rows of a thread], so that without the digits of threads an address is a register of one
  // thread. `along`: the loop that the lanes share with the rows.
  void in_registers(const std::string& tensor, const ir::Access& element, const std::string& along,
                    const schedule::LoopName& at) {
    schedule::PlannedStage stage{.tensor = tensor, .at = at, .memory = schedule::Memory::Register};
    std::vector<LayoutIndex> threads(2), own(2);
    for (std::size_t d = 0; d < element.indices.size(); ++d) {
      const std::string name = dimension_name(tensor, d),
                        loop = *element.indices[d].affine.as_symbol();
      stage.dimensions.push_back(name);
      if (loop == form_.row) {
        threads[0] = {name, LayoutIndex::Part::Tile, Param{"Tm"}};
        own[1] = {name, LayoutIndex::Part::WithinTile, Param{"Tm"}};
      } else if (loop == along) {
        threads[1] = {name, LayoutIndex::Part::WithinTile, Param{"Wn"}};
        own[0] = {name, LayoutIndex::Part::Tile, Param{"Wn"}};
      } else {
        stage.layout.push_back({name});
      }
    }
    stage.layout.insert(stage.layout.end(), threads.begin(), threads.end());
    stage.layout.insert(stage.layout.end(), own.begin(), own.end());
    plan_.stages.push_back(std::move(stage));
  }

  void keep_scores() {
    in_registers(written(*form_.scores), form_.scores->writes[0], form_.key, once_a_tile());
    for (const ir::Statement* s : form_.made_of_scores)
      in_registers(written(*s), s->writes[0], form_.key, once_a_tile());
    in_registers(sum_, form_.product->writes[0], form_.column, once_a_block());
  }

  // The dimensions that `last` names come last, in its order; all others stay in front of them.
  schedule::PlannedStage in_shared(const std::string& tensor, const std::vector<ir::Index>& indices,
                                   const Names& last, const schedule::LoopName& at) const {
    schedule::PlannedStage stage{.tensor = tensor, .at = at, .memory = schedule::Memory::Shared};
    const auto place = [&](const ir::Index& index) {
      return std::ranges::find(last, *index.affine.as_symbol()) - last.begin();
    };
    for (std::size_t d = 0; d < indices.size(); ++d) {
      stage.dimensions.push_back(dimension_name(tensor, d));
      if (place(indices[d]) == static_cast<std::ptrdiff_t>(last.size()))
        stage.layout.push_back({stage.dimensions[d]});
    }
    for (const std::string& loop : last)
      for (std::size_t d = 0; d < indices.size(); ++d)
        if (indices[d].affine.as_symbol() == loop) stage.layout.push_back({stage.dimensions[d]});
    return stage;
  }

  void stage_operands() {
    operand(*form_.queries, {form_.step, form_.row}, once_a_block(), kVector);
    operand(*form_.keys, {form_.step, form_.key}, once_a_tile(), 1);
    operand(*form_.values, {form_.key, form_.column}, once_a_tile(), kVector);
  }

  void operand(const ir::Load& load, const Names& last, const schedule::LoopName& at,
               std::int64_t pad) {
    schedule::PlannedStage stage = in_shared(load.buffer, load.indices, last, at);
    stage.pad = pad;
    stage.copy_loops = stage.dimensions;
    std::vector<schedule::CopyLoop> loops;
    for (std::size_t d = 0; d < load.indices.size(); ++d)
      loops.push_back(
          {stage.dimensions[d], box(*load.indices[d].affine.as_symbol(), tile_.rows, tile_.keys)});
    // Vectors of 16 bytes where the tensor's last dimension is the last one here, too, and rows,
    // pad included, are whole vectors; else element by element.
    const bool is_along = *load.indices.back().affine.as_symbol() == last.back();
    const std::int64_t vector =
        is_along && pad == kVector && loops.back().extent % kVector == 0 ? kVector : 1;
    for (schedule::PlannedStep& step :
         schedule::copy_by_threads(load.buffer + ".in", std::move(loops), tile_.threads(), vector))
      plan_.steps.push_back(std::move(step));
    plan_.stages.push_back(std::move(stage));
  }

  void stage_rows() {
    const auto add = [&](schedule::PlannedStage stage, std::int64_t pad) {
      stage.pad = pad;
      plan_.stages.push_back(std::move(stage));
    };
    add(in_shared(written(*form_.weight), form_.weight->writes[0].indices, {form_.key, form_.row},
                  once_a_tile()),
        kVector);
    for (const auto& [tensor, at] :
         {std::pair{maximum(), once_a_block()}, {total(), once_a_block()}, {old(), once_a_tile()}})
      add({.tensor = tensor, .at = at, .memory = schedule::Memory::Shared}, 0);
    for (const auto& [parts, sum] : {std::pair{tops_, form_.maximum}, {parts_, form_.total}}) {
      schedule::PlannedStage stage =
          in_shared(parts, sum->writes[0].indices, {form_.row}, once_a_tile());
      stage.layout.insert(stage.layout.end() - 1, LayoutIndex{parts + "_part"});
      stage.dimensions.insert(stage.dimensions.begin(), parts + "_part");
      add(std::move(stage), kVector);
    }
  }

  // --- threads and blocks

  void bind() {
    std::string name = "t";
    while (taken(name)) name += "_";
    const auto to_threads = [&](const Names& statements, const Names& loops) {
      for (const std::string& s : statements)
        schedule::bind_to_threads(s, loops, name, plan_.steps);
    };
    Names tiled = scored_;
    for (const std::string& parts : {tops_, parts_})
      tiled.insert(tiled.end(), {parts + ".init", parts + ".update"});
    to_threads(tiled, {row_tiles(), key_lanes()});
    to_threads(wide(), {row_tiles(), within_tile(form_.column)});
    to_threads({form_.maximum_init->name, old(), form_.maximum->name, total() + ".scale"},
               {row_tiles(), own_rows()});
    bind_blocks(tile_.depth);
  }
};

}  // namespace

AttentionPlan plan_attention_nest(const AttentionNest& nest) {
  AttentionPlan by_warps = plan_attention_by_warps(nest);
  return by_warps.why.empty() ? AttentionPlanner(nest).run() : std::move(by_warps);
}

std::string attention_note(const AttentionNest& nest, double cycles, double others) {
  const auto microseconds = [&](double some) {
    const std::string digits = std::to_string(some / nest.machine->gpu->clock_ghz / 1000);
    return digits.substr(0, digits.find('.') + 2) + " us";
  };
  const std::string product = nest.form.product->name;
  const std::string apart =
      (nest.is_one ? "a row per block, predicted " : "three launches, at least ") +
      microseconds(others);
  if (cycles <= 0)
    return product + " stays in " + apart + ": no tile of one pass over the keys fits";
  const std::string pass = "one pass over the keys, predicted " + microseconds(cycles);
  return cycles < others ? product + " in " + pass + ", in place of " + apart
                         : product + " stays in " + apart + ", in place of " + pass;
}

}  // namespace polyte::poly
