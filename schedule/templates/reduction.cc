// Reductions with their epilogues: contractions, convolutions, pooling, sums. One nest:
//
//   par others > lane.o > row.o > k.o > { tile > acc.init when first k.o; k > tile > acc.update; tile > y when last k.o
//   } tile = [row.i] > <lane.i>, the accumulators in registers, operands packed where their strides hurt
//
// The lane loop has stride 1 in the result and stride 0 or 1 in what is read; the row loop is one over which a
// vector operand is reused. Both are tiled by the register-tile formula. Where the reduction itself is read element by
// element, free iterations are lanes all the same and squares are turned in registers, which keeps every sum's order:
//
//   par others > lane.o > { <lane.i> > s.init; k.o > [k.i] > <lane.i> > s.update; <lane.i> > y }
//
// Without any lane loop, rows give several independent chains of scalars.
#include <algorithm>
#include <cstdlib>
#include <limits>

#include "ir/contraction.h"
#include "schedule/lanes.h"
#include "schedule/operand_staging.h"
#include "schedule/templates/nests.h"

namespace polyte::schedule {
namespace {

constexpr double kParallelWork = 32 * 1024;
constexpr int kScalarRows = 8;  // chains in flight where there are no lanes

struct ReductionShape {
  std::string lane, row;            // empty: none
  std::string turning;              // the reduction loop of square tiles; empty: none
  std::vector<std::string> others;  // free loops besides, in order
  std::vector<std::string> reductions;
  std::string block;  // the reduction loop to split; empty: none
  RegisterTile tile;
  std::int64_t lane_extent = 1, row_extent = 1, reduction_extent = 1;
  std::int64_t block_size = 0;
};

class ReductionTemplate {
 public:
  ReductionTemplate(const ir::Program& program, const State& reference, const Machine& machine, const NestPlan& plan,
                    ScriptText& script)
      : program_(program),
        machine_(machine),
        plan_(plan),
        script_(script),
        facts_(facts_of(reference, *plan.update)),
        dtype_(program.buffer(plan.update->writes[0].buffer).dtype) {}

  void run() {
    choose_loops();
    choose_tile();
    splits();
    nest();
    stages();
  }
  bool has_loops() const { return !facts_.empty(); }

 private:
  const ir::Program& program_;
  const Machine& machine_;
  const NestPlan& plan_;
  ScriptText& script_;
  std::vector<IteratorFacts> facts_;
  DType dtype_;
  ReductionShape shape_;

  const std::string& accumulator() const { return plan_.update->writes[0].buffer; }

  std::vector<const ir::Load*> loads() const {
    std::vector<const ir::Load*> all;
    for (const ir::Expr& value : plan_.update->values) {
      for (const ir::Load* load : ir::loads_of(value)) all.push_back(load);
    }
    return all;
  }

  // Stride 1 in every statement's result, 0 or small in every operand.
  bool suits_lanes(const IteratorFacts& fact) const {
    std::optional<std::int64_t> read = load_stride(program_, *plan_.update, fact.name);
    if (fact.reduction || fact.extent < 2 || !read || *read > 4) return false;
    return write_stride(program_, *plan_.update, fact.name) == 1 && can_carry_lanes(program_, *plan_.update, fact.name);
  }

  // Operands that do not move with the iterator: what a register row reuses.
  int reused_operands(const std::string& iterator) const {
    int count = 0;
    for (const ir::Load* load : loads()) count += ir::stride_of(program_, *load, iterator) == 0;
    return count;
  }

  bool reuses_a_vector(const std::string& iterator) const {
    for (const ir::Load* load : loads()) {
      bool vector = ir::stride_of(program_, *load, shape_.lane).value_or(0) != 0;
      if (vector && ir::stride_of(program_, *load, iterator) == 0) return true;
    }
    return false;
  }

  // Lanes that stride, turned along the innermost reduction loop.
  bool turns(const IteratorFacts& fact) const {
    const std::int64_t lanes = machine_.lanes(dtype_);
    if (fact.reduction || fact.extent < lanes || shape_.reductions.empty()) return false;
    const auto suits = [&](const ir::Statement* s) {
      return write_stride(program_, *s, fact.name) == 1 && can_carry_lanes(program_, *s, fact.name);
    };
    const std::string& last = shape_.reductions.back();
    return std::ranges::all_of(members(), suits) && find(facts_, last)->extent >= lanes &&
           turning_loop(program_, *plan_.update, fact.name) == last;
  }

  void choose_loops() {
    for (const IteratorFacts& fact : facts_) {
      if (fact.reduction) shape_.reductions.push_back(fact.name);
      if (fact.reduction) shape_.reduction_extent *= std::max<std::int64_t>(1, fact.extent);
      if (suits_lanes(fact)) shape_.lane = fact.name;
    }
    if (shape_.lane.empty()) {
      for (const IteratorFacts& fact : facts_)
        if (turns(fact)) shape_.lane = fact.name, shape_.turning = shape_.reductions.back();
    }
    const IteratorFacts* row = nullptr;
    for (const IteratorFacts& fact : facts_) {
      if (!shape_.turning.empty() || fact.reduction || fact.name == shape_.lane || fact.extent < 2) continue;
      if (!row || better_row(fact, *row)) row = &fact;
    }
    if (row) {
      shape_.row = row->name;
      shape_.row_extent = row->extent;
    }
    if (!shape_.lane.empty()) shape_.lane_extent = find(facts_, shape_.lane)->extent;
    for (const IteratorFacts& fact : facts_) {
      if (!fact.reduction && fact.name != shape_.lane && fact.name != shape_.row) shape_.others.push_back(fact.name);
    }
  }

  // The smallest step that a row makes in an operand: neighbours share lines.
  std::int64_t near_stride(const std::string& iterator) const {
    std::int64_t nearest = std::numeric_limits<std::int64_t>::max();
    for (const ir::Load* load : loads()) {
      const std::int64_t stride = std::abs(ir::stride_of(program_, *load, iterator).value_or(0));
      if (stride != 0) nearest = std::min(nearest, stride);
    }
    return nearest;
  }

  bool better_row(const IteratorFacts& a, const IteratorFacts& b) const {
    if (!shape_.lane.empty() && reuses_a_vector(a.name) != reuses_a_vector(b.name)) return reuses_a_vector(a.name);
    if (reused_operands(a.name) != reused_operands(b.name)) return reused_operands(a.name) > reused_operands(b.name);
    if (near_stride(a.name) != near_stride(b.name)) return near_stride(a.name) < near_stride(b.name);
    return a.extent > b.extent;
  }

  void choose_tile() {
    ContractionShape shape{shape_.row_extent, shape_.lane_extent, shape_.reduction_extent, dtype_};
    if (!shape_.turning.empty()) return;
    if (shape_.lane.empty()) {
      shape_.tile = {static_cast<int>(std::min<std::int64_t>(kScalarRows, shape_.row_extent)), 1};
    } else {
      shape_.tile = choose_register_tile(machine_, shape);
    }
    std::int64_t longest = 0;
    for (const std::string& loop : shape_.reductions) {
      const std::int64_t extent = find(facts_, loop)->extent;
      if (extent > longest) shape_.block = loop, longest = extent;
    }
    const std::int64_t steps = choose_reduction_block(machine_, shape, shape_.tile);
    const std::int64_t inner = std::max<std::int64_t>(1, shape_.reduction_extent / std::max<std::int64_t>(1, longest));
    shape_.block_size = std::max<std::int64_t>(1, steps / inner);
    if (shape_.block_size >= longest || shape_.reductions.size() > 1 || shape_.lane.empty()) shape_.block.clear();
  }

  std::string lanes_text() const {
    const std::int64_t whole = std::int64_t{shape_.tile.vectors} * machine_.lanes(dtype_);
    return whole <= shape_.lane_extent ? std::to_string(shape_.tile.vectors) + "*L"
                                       : std::to_string(shape_.lane_extent);
  }

  std::vector<const ir::Statement*> members() const {
    std::vector<const ir::Statement*> all{plan_.init, plan_.update};
    all.insert(all.end(), plan_.epilogue.begin(), plan_.epilogue.end());
    return all;
  }

  void split(const std::string& loop, const std::string& factor) {
    for (const ir::Statement* s : members()) {
      if (std::ranges::find(s->iterators, loop) == s->iterators.end()) continue;
      script_.add("split " + s->name + ": " + loop + " by " + factor + " tail cut");
    }
  }

  void splits() {
    std::string params;
    auto define = [&](const std::string& base, const std::string& value) {
      params += (params.empty() ? "param " : ", ") + script_.param(base) + " = " + value;
    };
    if (!shape_.row.empty()) define("Mr", std::to_string(shape_.tile.rows));
    if (!shape_.lane.empty()) define("Nr", lanes_text());
    if (!shape_.block.empty()) define("Kc", std::to_string(shape_.block_size));
    if (!params.empty()) script_.add(params);
    if (!shape_.row.empty()) split(shape_.row, script_.param("Mr"));
    if (!shape_.lane.empty()) split(shape_.lane, script_.param("Nr"));
    if (!shape_.block.empty()) split(shape_.block, script_.param("Kc"));
    if (!shape_.turning.empty())
      script_.add("split " + plan_.update->name + ": " + shape_.turning + " by L   tail cut");
  }

  // Free loops outermost first: the one with most iterations leads, for the cores.
  std::vector<std::string> outer_loops() const {
    std::vector<std::string> loops = shape_.others;
    if (!shape_.lane.empty()) loops.push_back(shape_.lane + ".o");
    if (!shape_.block.empty()) loops.push_back(shape_.block + ".o");
    if (!shape_.row.empty()) loops.push_back(shape_.row + ".o");
    return loops;
  }

  std::int64_t trips(const std::string& loop) const {
    if (loop == shape_.lane + ".o") {
      return shape_.lane_extent / std::max<std::int64_t>(1, std::int64_t{shape_.tile.vectors} * machine_.lanes(dtype_));
    }
    if (loop == shape_.row + ".o") return shape_.row_extent / shape_.tile.rows;
    const IteratorFacts* fact = find(facts_, loop);
    return fact ? fact->extent : 0;
  }

  void nest() {
    std::vector<std::string> outer = outer_loops();
    const bool parallel = machine_.cores > 1 && work_of(facts_) >= kParallelWork;
    std::string par;
    for (const std::string& loop : outer) {
      if (loop == shape_.block + ".o" || !par.empty() || !parallel) continue;
      if (trips(loop) >= machine_.cores) par = loop;
    }
    std::string path;
    for (const std::string& loop : outer) path += (loop == par ? "par " : "") + loop + " > ";
    std::string tile;
    if (!shape_.row.empty()) tile += "[" + shape_.row + ".i] > ";
    if (!shape_.lane.empty()) tile += "<" + shape_.lane + ".i> > ";
    std::string steps;
    for (const std::string& loop : shape_.reductions) {
      if (loop == shape_.turning) steps += loop + ".o > [" + loop + ".i] > ";
      if (loop != shape_.turning) steps += (loop == shape_.block ? loop + ".i" : loop) + " > ";
    }
    const std::string first = shape_.block.empty() ? "" : " when first " + shape_.block + ".o";
    const std::string last = shape_.block.empty() ? "" : " when last " + shape_.block + ".o";
    std::string body = tile + plan_.init->name + first + "; " + steps + tile + plan_.update->name;
    for (const ir::Statement* s : plan_.epilogue) body += "; " + tile + s->name + last;
    script_.add("nest " + path + "{ " + body + " }");
    site_ = outer.empty() ? "" : outer.back();
  }
  std::string site_;  // the innermost loop around the tile

  void stages() {
    if (!site_.empty() && can_stage_accumulator(program_, *plan_.update, false))
      script_.add("stage " + accumulator() + " at " + site_of() + " in register");
    if (shape_.lane.empty() || !shape_.turning.empty()) return;
    TiledReduction tiled{&program_,
                         plan_.update,
                         shape_.lane,
                         shape_.row,
                         script_.param("Nr"),
                         script_.param("Mr"),
                         shape_.tile,
                         trips(shape_.lane + ".o"),
                         trips(shape_.row + ".o"),
                         shape_.reduction_extent,
                         {}};
    for (const std::string& loop : shape_.others) tiled.others[loop] = find(facts_, loop)->extent;
    for (const std::string& line : operand_stages(tiled, machine_)) script_.add(line);
  }

  // A loop name that several nests share is said with a statement of this one.
  std::string site_of() const { return plan_.update->name + ":" + site_; }
};

}  // namespace

bool schedule_reduction(const ir::Program& program, const State& reference, const Machine& machine,
                        const NestPlan& plan, ScriptText& script, std::string& reason) {
  if (!plan.update) {
    reason = "not a reduction";
    return false;
  }
  ReductionTemplate reduction(program, reference, machine, plan, script);
  if (reduction.has_loops()) reduction.run();
  return true;
}

}  // namespace polyte::schedule
