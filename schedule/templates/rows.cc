// Holes and roles of templates for chains of rows: softmax, norms, sums and means
// of rows (schedule/cost/row_chain.h).
//
//   top[i] = max[j] x[i, j]                     rows: i    pass: lane j, sum top
//   e[i, j] = exp(x[i, j] - top[i])             pass: lane j, define e, sum total
//   total[i] = sum[j] e[i, j]
#include <algorithm>
#include <limits>

#include "ir/contraction.h"
#include "schedule/cost/lanes.h"
#include "schedule/cost/row_chain.h"
#include "schedule/cost/row_divisions.h"
#include "schedule/cost/row_memory.h"
#include "schedule/state/digits.h"
#include "schedule/templates/nests.h"
#include "support/checked.h"

namespace polyte::schedule {
namespace {

bool contains(const Statements& all, const ir::Statement* s) {
  return std::ranges::find(all, s) != all.end();
}

class RowsFiller {
 public:
  RowsFiller(const RowQuestion& question, RowsFound found, std::string number)
      : q_(question),
        program_(*question.program),
        found_(std::move(found)),
        chain_(found_.chain),
        number_(std::move(number)) {
    q_.statements = found_.statements;
    places_ = rows_in_place(q_);
  }

  Filling run() {
    filling_.groups = found_.groups;
    rows();
    sizes();
    for (const ir::Statement* s : q_.statements)
      add(filling_.scope, "statement", {{"statement", s->name}});
    for (const RowPass& pass : chain_.passes) add_pass(pass);
    memory();
    return std::move(filling_);
  }

 private:
  RowQuestion q_;
  const ir::Program& program_;
  const RowsFound found_;
  const RowChain& chain_;
  const std::string number_;  // behind the params of this nest; empty: the first
  Filling filling_;
  // Temporary -> the result in whose memory it lies.
  std::map<std::string, std::string> places_;
  // Passes have sizes of three kinds, and a script one param per kind: Nv, Nt, Np.
  int of_sums_ = std::numeric_limits<int>::max();  // vectors side by side in passes that sum up,
  int of_rows_ = std::numeric_limits<int>::max();  // in those whose rows run together,
  // And in the others.
  int of_definitions_ = std::numeric_limits<int>::max();

  using Names = std::map<std::string, std::string>;

  static Scope& add(Scope& scope, const char* group, Names names) {
    return scope.groups[group].emplace_back(Scope{std::move(names), {}, {}});
  }

  bool in_blocks() const { return chain_.block > 1; }
  const std::string& row() const { return chain_.rows.back(); }
  std::string inmost() const {
    if (chain_.rows.empty()) return "";
    return in_blocks() ? tiles_of(row()) : row();
  }
  static const std::string& lane(const RowPass& pass) { return pass.own.back(); }

  std::int64_t extent(const ir::Statement& s, const std::string& loop) const {
    const ir::Ranges ranges = iterator_ranges(*q_.reference, q_.reference->at(s.name));
    return *ranges.at(loop).max - *ranges.at(loop).min + 1;
  }

  // The script's L counts elements of the result; sums may be of another type.
  // `2*L`, so that a script may be used for another vector length; a number where L is not that
  // of the sums.
  std::string vectors(int count) const {
    DType result = DType::F32;
    for (const ir::Buffer& buffer : program_.buffers)
      if (buffer.role == ir::Role::Out || buffer.role == ir::Role::InOut) result = buffer.dtype;
    const int lanes = q_.machine->lanes(chain_.type);
    if (lanes != q_.machine->lanes(result)) return std::to_string(count * lanes);
    return count == 1 ? "L" : std::to_string(count) + "*L";
  }

  std::string fresh(std::string name) const {
    while (program_.find_buffer(name) || program_.find_statement(name)) name += "_";
    return name;
  }

  void rows() {
    std::vector<std::string>& rows = filling_.scope.lists["rows"];
    rows = chain_.rows;
    if (in_blocks()) rows.pop_back();
    // The outermost loop with a trip for each core runs in threads.
    std::string threads;
    for (const std::string& loop : chain_.rows) {
      std::int64_t trips = extent(*q_.statements.front(), loop);
      if (in_blocks() && loop == row()) trips = ceil_div(trips, chain_.block);
      if (threads.empty() && q_.machine->cores > 1 && trips >= q_.machine->cores)
        threads = in_blocks() && loop == row() ? tiles_of(loop) : loop;
    }
    filling_.scope.names = {{"row", in_blocks() ? row() : ""},
                            {"inmost", inmost()},
                            {"threads", threads},
                            {"vector", vectors(1)},
                            {"first", q_.statements.front()->name}};
  }

  // A param serves all passes of its kind, so the pass with the fewest vectors decides. Passes
  // whose loop is not split have no size.
  void sizes() {
    for (const RowPass& pass : chain_.passes) {
      if (pass.own.empty() || pass.is_whole || pass.hides_sums) continue;
      int& least = pass.sums.empty() ? of_definitions_ : pass.together > 1 ? of_rows_ : of_sums_;
      least = std::min(least, pass.vectors);
    }
    if (in_blocks()) filling_.values["R"] = std::to_string(chain_.block);
    if (of_sums_ < std::numeric_limits<int>::max()) filling_.values["Nv"] = vectors(of_sums_);
    if (of_rows_ < std::numeric_limits<int>::max()) filling_.values["Nt"] = vectors(of_rows_);
    if (of_definitions_ < std::numeric_limits<int>::max())
      filling_.values["Np"] = vectors(of_definitions_);
  }

  // The name of the param in the script: each nest has its own.
  std::string param(const std::string& name) const { return name + number_; }

  // How the rows of a block run where an element of each is computed: <i.i>, as lanes, where these
  // elements are neighbours, else the plain loop i.i.
  std::string across(const ir::Statement& s) const {
    if (!in_blocks()) return "";
    const bool suits =
        ir::stride_of(program_, s.writes[0], row()) == 1 && can_carry_lanes(program_, s, row());
    return suits ? "<" + within_tile(row()) + ">" : within_tile(row());
  }

  void add_pass(const RowPass& pass) {
    Scope& scope = add(filling_.scope, "pass", {});
    for (const char* group : {"define", "sum", "wide", "body", "after"}) scope.groups[group];
    if (!pass.own.empty()) over_a_row(pass, scope);
    for (const ir::Statement* s : pass.after)
      add(scope, "after", {{"after", s->name}, {"across", across(*s)}});
  }

  void over_a_row(const RowPass& pass, Scope& scope) {
    scope.names["lane"] = lane(pass);
    scope.lists["own"].assign(pass.own.begin(), pass.own.end() - 1);
    const std::string size = pass.sums.empty() ? "Np" : pass.together > 1 ? "Nt" : "Nv";
    scope.names["size"] = pass.hides_sums ? vectors(1)
                          : pass.is_whole ? std::to_string(extent(*pass.body.front(), lane(pass)))
                                          : param(size);
    scope.names["steps"] = pass.steps();
    scope.names["unrolled"] = pass.hides_sums ? "[" + pass.vectors_loop() + "]" : "";
    scope.names["around"] = chain_.rows_around(pass);
    scope.names["together"] = pass.together > 1 ? "[" + chain_.rows_together(pass) + "]" : "";
    for (const ir::Statement* s : pass.body) {
      std::string name = s->name;
      if (contains(pass.sums, s))
        name = add_sum(pass, *s, scope) + ".update";
      else
        add(scope, "define", {{"define", s->name}});
      add(scope, "body", {{"body", name}});
      if (pass.hides_sums)
        add(filling_.scope, "beside",
            {{"beside", name}, {"lane", lane(pass)}, {"count", std::to_string(pass.vectors)}});
      if (!q_.keep_order && may_take_reciprocals(program_, *s, lane(pass)))
        add(filling_.scope, "reciprocal", {{"statement", s->name}});
      temporary(*s);
    }
  }

  // Returns the tensor in which the terms of a row are summed up first.
  std::string add_sum(const RowPass& pass, const ir::Statement& update, Scope& scope) {
    const std::string& tensor = update.writes[0].buffer;
    // Terms are summed into several vectors side by side (wide), these into one (narrow), and its
    // lanes into the sum: additions of one vector would wait for each other.
    const bool is_wide = pass.keeps_rows || pass.together > 1 || (of_sums_ > 1 && !pass.hides_sums);
    const std::string narrow = fresh(tensor + "_l"), wide = is_wide ? fresh(tensor + "_v") : "";
    const std::string first = is_wide ? wide : narrow;
    const ir::Statement* init = initial_value(q_.statements, update);
    const std::string around = chain_.rows_around(pass);
    const Names names = {{"sum", tensor},
                         {"narrow", narrow},
                         {"wide", wide},
                         {"first", first},
                         {"update", update.name},
                         {"lane", lane(pass)},
                         {"across", across(init ? *init : update)},
                         {"terms", is_wide ? within_tile(lane(pass)) : lane(pass)},
                         {"within", around.empty() ? inmost() : around}};
    Scope& sum = add(scope, "sum", names);
    sum.groups["begun"];
    if (init) add(sum, "begun", {{"init", init->name}});
    for (std::size_t d = 0; d < update.writes[0].indices.size(); ++d)
      sum.lists["dims"].push_back("d" + std::to_string(d));
    if (is_wide) scope.groups["wide"].push_back(sum);
    filling_.scope.groups[in_blocks() ? "square" : "line"].push_back(sum);
    if (is_wide) filling_.scope.groups[inmost().empty() ? "whole" : "wide"].push_back(sum);
    if (chain_.has_groups(pass)) {
      filling_.scope.groups["grouped"].push_back(sum);
      for (const std::string& part : {wide, narrow})
        for (const char* which : {".init", ".update"})
          add(filling_.scope, "part",
              {{"part", part + which}, {"count", std::to_string(pass.together)}});
    }
    if (!is_reorderable(update)) filling_.reassociated.insert(lane(pass));
    return first;
  }

  // ---- memory

  void temporary(const ir::Statement& s) {
    const std::string& tensor = s.writes[0].buffer;
    if (!inmost().empty() && is_defined_and_read_by(q_, s) && !places_.contains(tensor))
      add(filling_.scope, "kept", {{"kept", tensor}, {"statement", s.name}});
  }

  void memory() {
    for (const char* group : {"pass", "reciprocal", "square", "line", "wide", "whole", "kept",
                              "reused", "ahead", "grouped", "part", "beside"})
      filling_.scope.groups[group];
    for (const auto& [temporary, result] : places_) {
      add(filling_.scope, "reused", {{"temporary", temporary}, {"result", result}});
      filling_.reused.insert(result);
    }
    for (const RowAhead& ahead : rows_ahead(q_, chain_))
      add(filling_.scope, "ahead",
          {{"operand", ahead.operand},
           {"statement", ahead.statement},
           {"lane", lane(*ahead.pass)},
           {"steps", ahead.pass->steps()},
           {"cache", std::to_string(ahead.level)}});
  }
};

}  // namespace

OpenNest open_rows(const KernelSoFar& kernel, std::span<const StatementGroup> groups,
                   bool keep_order) {
  std::vector<Statements> statements;
  for (const StatementGroup& group : groups) statements.push_back(statements_of(group));
  return {"rows", machine_facts(kernel.machine, DType::F32),
          [&kernel, statements, keep_order](const TemplateFile& file) -> Result<Filling> {
            RowQuestion question{
                &kernel.program, &kernel.reference, &kernel.machine, {}, keep_order};
            question.blocks = allowed_values(file, "R", kernel.machine, DType::F32);
            RowsFound found = find_rows(question, statements);
            if (found.groups == 0) return Decline{"no chain of rows"};
            Filling filling = RowsFiller(question, std::move(found), kernel.suffix()).run();
            filling.staged = kernel.staged;
            return filling;
          }};
}

}  // namespace polyte::schedule
