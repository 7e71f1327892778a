// A chain of rows as a plan: splits, sums in parts, one nest, and where its temporaries live.
#include <algorithm>
#include <map>

#include "ir/contraction.h"
#include "schedule/cost/lanes.h"
#include "schedule/cost/row_chain.h"
#include "schedule/cost/row_divisions.h"
#include "schedule/cost/row_memory.h"
#include "schedule/state/digits.h"
#include "support/checked.h"

namespace polyte::schedule {
namespace {

class RowNest {
 public:
  RowNest(const RowQuestion& question, const RowChain& chain, int number)
      : q_(question), program_(*question.program), chain_(chain) {
    plan_.number = number;
  }

  NestPlan run() {
    reciprocals();
    if (chain_.block > 1) {
      plan_.params.push_back({kBlock, Elements{chain_.block}});
      for (const ir::Statement* s : q_.statements) split(*s, row(), Param{kBlock});
    }
    for (const RowPass& pass : chain_.passes) splits(pass);
    nest();
    places_ = rows_in_place(q_);
    for (const RowPass& pass : chain_.passes) stages(pass);
    for (const auto& [temporary, result] : places_) plan_.reuses.push_back({result, temporary});
    for (const RowAhead& ahead : rows_ahead(q_, chain_))
      plan_.prefetches.push_back(
          {ahead.operand, {ahead.statement, ahead.pass->steps()}, row_steps(), ahead.level});
    return std::move(plan_);
  }

 private:
  static constexpr const char* kBlock = "R";

  const RowQuestion& q_;
  const ir::Program& program_;
  const RowChain& chain_;
  NestPlan plan_;
  std::map<std::string, std::string> places_;  // temporary -> the result in whose memory it lies

  struct Parts {  // of a sum: in several vectors, empty where one is enough; in one
    std::string wide, narrow;
  };
  std::map<std::string, Parts> parts_;  // by tensor

  const std::string& row() const { return chain_.rows.back(); }
  static const std::string& lane(const RowPass& pass) { return pass.own.back(); }
  // The script's L counts elements of the result; sums may be of another type.
  TileSize vectors(int count) const {
    DType result = DType::F32;
    for (const ir::Buffer& buffer : program_.buffers)
      if (buffer.role == ir::Role::Out || buffer.role == ir::Role::InOut) result = buffer.dtype;
    const int lanes = q_.machine->lanes(chain_.type);
    if (lanes != q_.machine->lanes(result)) return Elements{std::int64_t{count} * lanes};
    return Vectors{count};
  }

  void split(const ir::Statement& s, const std::string& loop, const TileSize& size) {
    plan_.splits.emplace_back(PlannedSplit{s.name, loop, size});
  }

  std::string fresh(std::string name) const {
    while (program_.find_buffer(name) || program_.find_statement(name)) name += "_";
    return name;
  }

  // The loop over blocks of rows.
  std::string row_steps() const { return chain_.block > 1 ? tiles_of(row()) : row(); }

  void reciprocals() {
    if (q_.keep_order) return;
    for (const RowPass& pass : chain_.passes)
      for (const ir::Statement* s : pass.body)
        if (may_take_reciprocals(program_, *s, lane(pass))) plan_.reciprocals.push_back({s->name});
  }

  void splits(const RowPass& pass) {
    for (const ir::Statement* s : pass.body) {
      if (std::ranges::find(pass.sums, s) != pass.sums.end()) {
        split_sum(pass, *s);
      } else if (pass.hides_sums) {
        split(*s, lane(pass), vectors(1));
        split(*s, tiles_of(lane(pass)), Elements{pass.vectors});
      } else if (!pass.is_whole) {
        split(*s, lane(pass), vectors(pass.vectors));
      }
    }
  }

  // The sum of a row in parts: `wide` holds several vectors of partial sums, `narrow` one vector
  // that these are added up in, and the sum itself adds up its lanes. Without `wide`, terms go to
  // `narrow`.
  void split_sum(const RowPass& pass, const ir::Statement& update) {
    const std::string& sum = update.writes[0].buffer;
    Parts& parts = parts_[sum];
    parts.narrow = fresh(sum + "_l");
    std::string loop = lane(pass);
    if ((pass.vectors > 1 && !pass.hides_sums) || pass.keeps_rows) {
      parts.wide = fresh(sum + "_v");
      plan_.splits.emplace_back(PlannedParts{sum, loop, vectors(pass.vectors), parts.wide});
      loop = within_tile(loop);
    }
    plan_.splits.emplace_back(PlannedParts{sum, loop, vectors(1), parts.narrow});
    plan_.splits.emplace_back(
        PlannedTail{{first_parts(update) + ".update", within_tile(lane(pass))}});
    if (!is_reorderable(update)) plan_.reassociated.insert(lane(pass));
    if (pass.hides_sums)
      plan_.splits.emplace_back(
          PlannedSplit{parts.narrow + ".update", tiles_of(lane(pass)), Elements{pass.vectors}});
    if (!chain_.has_groups(pass)) return;
    plan_.splits.emplace_back(PlannedDistribution{parts.wide + ".init", within_tile(row())});
    for (const std::string& part : {parts.wide, parts.narrow})
      for (const char* which : {".init", ".update"})
        plan_.splits.emplace_back(
            PlannedSplit{part + which, within_tile(row()), Elements{pass.together}});
  }

  // ---- the nest

  static NestTree init_of(const std::string& tensor) { return nest_statement(tensor + ".init"); }
  static NestTree update_of(const std::string& tensor) {
    return nest_statement(tensor + ".update");
  }

  // The loop over the rows of a block, as lanes where these are neighbours in memory.
  NestPath row_lanes(const ir::Statement& s) const {
    if (chain_.block == 1) return {};
    const bool suits =
        ir::stride_of(program_, s.writes[0], row()) == 1 && can_carry_lanes(program_, s, row());
    return {{within_tile(row()), suits ? LoopKind::Vector : LoopKind::Serial}};
  }

  NestPath together(const RowPass& pass) const {
    return pass.together > 1 ? NestPath{{chain_.rows_together(pass), LoopKind::Unrolled}}
                             : NestPath{};
  }

  NestTree steps(const RowPass& pass) const {
    NestPath path;
    for (const std::string& loop : pass.own)
      if (loop != lane(pass)) path.push_back({loop});
    if (!pass.is_whole)
      path.push_back({pass.steps(), pass.keeps_rows ? LoopKind::Unrolled : LoopKind::Serial});
    NestPath lanes = together(pass);
    if (pass.hides_sums) lanes.push_back({pass.vectors_loop(), LoopKind::Unrolled});
    lanes.push_back({pass.is_whole ? lane(pass) : within_tile(lane(pass)), LoopKind::Vector});
    std::vector<NestTree> leaves;
    for (const ir::Statement* s : pass.body) {
      const bool is_sum = std::ranges::find(pass.sums, s) != pass.sums.end();
      leaves.push_back(
          nest_path(lanes, is_sum ? update_of(first_parts(*s)) : nest_statement(s->name)));
    }
    return nest_path(path, nest_sequence(std::move(leaves)));
  }

  // The tensor that the terms of a row are added to first.
  const std::string& first_parts(const ir::Statement& sum) const {
    const Parts& parts = parts_.at(sum.writes[0].buffer);
    return parts.wide.empty() ? parts.narrow : parts.wide;
  }

  // One pass over a row, or over `together` rows side by side: parts begin, the steps of the row,
  // and wide parts become narrow ones.
  void over_a_row(const RowPass& pass, std::vector<NestTree>& body) const {
    const std::string first = within_tile(lane(pass)), second = within_tile(first);
    const NestPath rows = together(pass);
    const NestPath one = joined(rows, {{first, LoopKind::Vector}}),
                   two = {{second, LoopKind::Vector}};
    std::vector<NestTree> in_row;
    for (const ir::Statement* s : pass.sums)
      in_row.push_back(nest_path(one, init_of(first_parts(*s))));
    in_row.push_back(steps(pass));
    for (const ir::Statement* s : pass.sums) {
      const Parts& parts = parts_.at(s->writes[0].buffer);
      if (parts.wide.empty()) continue;
      const NestPath wide = joined({{tiles_of(first), LoopKind::Unrolled}}, two);
      in_row.push_back(nest_path(rows, nest_sequence({nest_path(two, init_of(parts.narrow)),
                                                      nest_path(wide, update_of(parts.narrow))})));
    }
    if (const std::string around = chain_.rows_around(pass); !around.empty())
      body.push_back(nest_path({{around}}, nest_sequence(std::move(in_row))));
    else
      body.insert(body.end(), in_row.begin(), in_row.end());
  }

  // After the rows of a block: the lanes of each row's narrow parts are added up. With block = L
  // rows the parts are a square, transposed in registers, so that rows are lanes there.
  void combine(const RowPass& pass, std::vector<NestTree>& body) const {
    for (const ir::Statement* s : pass.sums) {
      const ir::Statement* init = initial_value(q_.statements, *s);
      const NestPath lanes = row_lanes(init ? *init : *s);
      std::string terms = within_tile(lane(pass));
      if (!parts_.at(s->writes[0].buffer).wide.empty()) terms = within_tile(terms);
      if (init) body.push_back(nest_path(lanes, nest_statement(init->name)));
      body.push_back(
          nest_path(joined({{terms, LoopKind::Unrolled}}, lanes), nest_statement(s->name)));
    }
  }

  std::int64_t trips(const std::string& loop) const {
    const ir::Statement& s = *q_.statements.front();
    const ir::Ranges ranges = iterator_ranges(*q_.reference, q_.reference->at(s.name));
    const std::int64_t extent = *ranges.at(loop).max - *ranges.at(loop).min + 1;
    return loop == row() ? ceil_div(extent, chain_.block) : extent;
  }

  void nest() {
    NestPath path;
    bool is_parallel = q_.machine->cores < 2;
    for (const std::string& loop : chain_.rows) {
      const bool here = !is_parallel && trips(loop) >= q_.machine->cores;
      path.push_back(
          {loop == row() ? row_steps() : loop, here ? LoopKind::Parallel : LoopKind::Serial});
      is_parallel = is_parallel || here;
    }
    std::vector<NestTree> body;
    for (const RowPass& pass : chain_.passes) {
      if (!pass.own.empty()) over_a_row(pass, body);
      combine(pass, body);
      for (const ir::Statement* s : pass.after)
        body.push_back(nest_path(row_lanes(*s), nest_statement(s->name)));
    }
    plan_.tree = nest_path(path, nest_sequence(std::move(body)));
  }

  // ---- storage

  void stages(const RowPass& pass) {
    const std::string site = chain_.rows.empty() ? "" : row_steps();
    for (const ir::Statement* s : pass.sums) {
      const Parts& parts = parts_.at(s->writes[0].buffer);
      if (!site.empty())
        plan_.stages.push_back(narrow_stage(parts.narrow, site, s->writes[0].indices.size()));
      if (parts.wide.empty()) continue;
      PlannedStage wide{.tensor = parts.wide, .memory = Memory::Register};
      const std::string around = chain_.rows_around(pass), within = around.empty() ? site : around;
      if (!within.empty()) wide.at = {parts.wide + ".update", within};
      plan_.stages.push_back(std::move(wide));
    }
    for (const ir::Statement* s : pass.body)
      if (!site.empty() && is_defined_and_read_by(q_, *s) && !places_.contains(s->writes[0].buffer))
        plan_.stages.push_back({.tensor = s->writes[0].buffer, .at = {{s->name, site}}});
  }

  // Narrow parts of a block's rows lie row by row, lanes last, so that combining them reads a
  // square across and transposes it: layout (l, d0) [d0, l].
  PlannedStage narrow_stage(const std::string& tensor, const std::string& site,
                            std::size_t dimensions) const {
    PlannedStage stage{.tensor = tensor, .at = {{tensor + ".update", site}}};
    if (chain_.block == 1) return stage;
    stage.dimensions = {"l"};
    for (std::size_t d = 0; d < dimensions; ++d)
      stage.dimensions.push_back("d" + std::to_string(d));
    for (std::size_t d = 0; d < dimensions; ++d) stage.layout.push_back({stage.dimensions[d + 1]});
    stage.layout.push_back({"l"});
    return stage;
  }
};

constexpr std::size_t kMostBefore = 4;  // definitions before the first sum

}  // namespace

// The longest run of nests from the first one that is a chain of rows. A few definitions may come
// before the first sum; after a chain is found, the first nest that does not continue it ends it.
RowsFound find_rows(RowQuestion question, std::span<const Statements> groups) {
  RowsFound found;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    question.statements.insert(question.statements.end(), groups[i].begin(), groups[i].end());
    if (auto longer = plan_rows(question)) {
      found = {i + 1, question.statements, std::move(*longer)};
    } else if (found.groups > 0 || i >= kMostBefore) {
      break;
    }
  }
  return found;
}

RowRun longest_rows(RowQuestion question, std::span<const Statements> groups, int number) {
  const RowsFound found = find_rows(question, groups);
  if (found.groups == 0) return {};
  question.statements = found.statements;
  return {found.groups, RowNest(question, found.chain, number).run()};
}

}  // namespace polyte::schedule
