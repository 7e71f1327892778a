// Reductions with their epilogues: contractions, convolutions, pooling, sums. One nest:
//
//   par f.o > h > row.o > k.o > { tile > acc.init when first k.o; k > tile > acc.update; tile > y when last k.o }
//   tile = [row.i] > <lane.i>, the accumulators in registers, operands in panels where that pays
//
// Lanes, rows, their sizes and the order of the loops around are chosen by cost (schedule/cost/tile_choice.h). Where
// the reduction itself is read element by element, free iterations are lanes all the same and squares are turned in
// registers, which keeps every sum's order:
//
//   par others > lane.o > { <lane.i> > s.init; k.o > [k.i] > <lane.i> > s.update; <lane.i> > y }
//
// Without any lane loop, rows give several independent chains of scalars.
#include <algorithm>

#include "schedule/cost/lanes.h"
#include "schedule/cost/operand_staging.h"
#include "schedule/cost/threads.h"
#include "schedule/cost/tile_choice.h"
#include "schedule/templates/nests.h"
#include "support/checked.h"

namespace polyte::schedule {
namespace {

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
    choice_ = choose_tile(question(), machine_);
    if (choice_.turned) turning_ = plan_.update->reductions.back();
    if (!choice_.lane.empty() && is_worth_threads(machine_, choice_.cycles))
      share_ = lanes_a_thread(choice_, extent(choice_.lane), machine_.lanes(dtype_), machine_.cores);
    lane_ = choice_.lane + (share_ > 0 ? ".i" : "");
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
  TileChoice choice_;
  std::string turning_;     // the reduction loop of square tiles; empty: none
  std::int64_t share_ = 0;  // lanes of a thread, cut before all else; 0: none
  std::string lane_;        // the loop of lanes, within a thread's share

  const std::string& accumulator() const { return plan_.update->writes[0].buffer; }
  std::int64_t extent(const std::string& loop) const { return find(facts_, loop)->extent; }

  std::vector<const ir::Statement*> members() const {
    std::vector<const ir::Statement*> all;
    if (plan_.init) all.push_back(plan_.init);
    all.push_back(plan_.update);
    all.insert(all.end(), plan_.epilogue.begin(), plan_.epilogue.end());
    return all;
  }

  TileQuestion question() const {
    TileQuestion question{&program_, plan_.update, {}, {}, {}, {}, {}, 1};
    for (const ir::Statement* s : members())
      if (s != plan_.update) question.others.push_back(s);
    for (const IteratorFacts& fact : facts_) {
      question.loops.push_back({fact.name, fact.extent, fact.reduction});
      if (!fact.reduction) question.candidates.push_back(fact.name);
      if (turns(fact)) question.turned.push_back(fact.name);
    }
    return question;
  }

  // Lanes that stride, turned along the innermost reduction loop.
  bool turns(const IteratorFacts& fact) const {
    const std::int64_t lanes = machine_.lanes(dtype_);
    if (fact.reduction || fact.extent < lanes || plan_.update->reductions.empty()) return false;
    const auto suits = [&](const ir::Statement* s) {
      return write_stride(program_, *s, fact.name) == 1 && can_carry_lanes(program_, *s, fact.name);
    };
    const std::string& last = plan_.update->reductions.back();
    return std::ranges::all_of(members(), suits) && extent(last) >= lanes &&
           turning_loop(program_, *plan_.update, fact.name) == last;
  }

  std::string lanes_text() const {
    const std::int64_t whole = std::int64_t{choice_.tile.vectors} * machine_.lanes(dtype_);
    return whole <= extent(choice_.lane) ? std::to_string(choice_.tile.vectors) + "*L"
                                         : std::to_string(extent(choice_.lane));
  }

  void split(const std::string& loop, const std::string& factor) {
    for (const ir::Statement* s : members()) {
      if (std::ranges::find(s->iterators, loop.substr(0, loop.find('.'))) == s->iterators.end()) continue;
      script_.add("split " + s->name + ": " + loop + " by " + factor + " tail cut");
    }
  }

  void splits() {
    std::string params;
    auto define = [&](const std::string& base, const std::string& value) {
      params += (params.empty() ? "param " : ", ") + script_.param(base) + " = " + value;
    };
    if (!choice_.row.empty()) define("Mr", std::to_string(choice_.tile.rows));
    if (!choice_.outer_row.empty()) define("Mo", std::to_string(choice_.tile.outer_rows));
    if (!choice_.lane.empty()) define("Nr", lanes_text());
    if (!choice_.block.empty()) define("Kc", std::to_string(choice_.block_size));
    if (!params.empty()) script_.add(params);
    if (!choice_.outer_row.empty()) split(choice_.outer_row, script_.param("Mo"));
    if (!choice_.row.empty()) split(choice_.row, script_.param("Mr"));
    if (share_ > 0) split(choice_.lane, std::to_string(share_));
    if (!choice_.lane.empty()) split(lane_, script_.param("Nr"));
    if (!choice_.block.empty()) split(choice_.block, script_.param("Kc"));
    if (!turning_.empty()) script_.add("split " + plan_.update->name + ": " + turning_ + " by L   tail cut");
  }

  std::string around(const std::string& loop) const { return loop == choice_.lane + ".o" ? lane_ + ".o" : loop; }

  std::int64_t trips(const std::string& loop) const {
    if (loop == choice_.lane + ".o")
      return ceil_div(extent(choice_.lane), std::int64_t{choice_.tile.vectors} * machine_.lanes(dtype_));
    if (loop == choice_.outer_row + ".o") return ceil_div(extent(choice_.outer_row), choice_.tile.outer_rows);
    if (loop == choice_.row + ".o") return ceil_div(extent(choice_.row), choice_.tile.rows);
    if (loop == choice_.block + ".o") return ceil_div(extent(choice_.block), choice_.block_size);
    return extent(loop);
  }

  std::string parallel_loop() const {
    std::vector<CountedLoop> loops;
    for (const std::string& loop : choice_.order) loops.push_back({loop, trips(loop), loop != choice_.block + ".o"});
    return loop_for_threads(machine_, choice_.cycles, loops, program_.open);
  }

  std::string reduction_path() const {
    std::string steps;
    for (const std::string& loop : plan_.update->reductions) {
      if (loop == turning_) {
        steps += loop + ".o > [" + loop + ".i] > ";
      } else {
        steps += (loop != choice_.block ? loop : is_short_block(choice_) ? "[" + loop + ".i]" : loop + ".i") + " > ";
      }
    }
    return steps;
  }

  void nest() {
    const std::string par = share_ > 0 ? "" : parallel_loop();
    std::string path = share_ > 0 ? "par " + choice_.lane + ".o > " : "", tile;
    for (const std::string& loop : choice_.order) path += (loop == par ? "par " : "") + around(loop) + " > ";
    if (!choice_.outer_row.empty()) tile += "[" + choice_.outer_row + ".i] > ";
    if (!choice_.row.empty()) tile += "[" + choice_.row + ".i] > ";
    if (!choice_.lane.empty()) tile += "<" + lane_ + ".i> > ";
    const std::string first = choice_.block.empty() ? "" : " when first " + choice_.block + ".o";
    const std::string last = choice_.block.empty() ? "" : " when last " + choice_.block + ".o";
    std::string body = plan_.init ? tile + plan_.init->name + first + "; " : "";
    body += reduction_path() + tile + plan_.update->name;
    for (const ir::Statement* s : plan_.epilogue) body += "; " + tile + s->name + last;
    script_.add("nest " + path + (members().size() > 1 ? "{ " + body + " }" : body));
  }

  // A loop name that several nests share is said with a statement of this one.
  void stages() {
    if (!choice_.order.empty() && can_stage_accumulator(program_, *plan_.update, members(), false))
      script_.add("stage " + accumulator() + " at " + plan_.update->name + ":" + around(choice_.order.back()) +
                  " in register");
    if (choice_.lane.empty() || !turning_.empty()) return;
    const std::int64_t row_panels = choice_.row.empty() ? 0 : trips(choice_.row + ".o");
    const TiledReduction tiled{&program_,
                               &machine_,
                               plan_.update,
                               {choice_.lane, script_.param("Nr"), trips(choice_.lane + ".o")},
                               {choice_.row, script_.param("Mr"), row_panels},
                               choice_.packed,
                               choice_.in_place,
                               choice_.order};
    for (const std::string& line : operand_stages(tiled, script_.staged)) script_.add(line);
  }
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
