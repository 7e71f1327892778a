// The directives of a chain of rows: splits, sums in parts, one nest, and where its temporaries live.
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

class RowWriter {
 public:
  RowWriter(const RowQuestion& question, const RowChain& chain, const std::string& suffix)
      : q_(question), program_(*question.program), chain_(chain), block_("R" + suffix) {}

  RowScript run() {
    reciprocals();
    if (chain_.block > 1) {
      add("param " + block_ + " = " + std::to_string(chain_.block));
      for (const ir::Statement* s : q_.statements) split(*s, row(), block_);
    }
    for (const RowPass& pass : chain_.passes) splits(pass);
    nest();
    places_ = rows_in_place(q_);
    for (const RowPass& pass : chain_.passes) stages(pass);
    for (const auto& [temporary, result] : places_) {
      add("reuse " + result + " for " + temporary);
      script_.in_place.insert(result);
    }
    for (const RowAhead& ahead : rows_ahead(q_, chain_))
      add("prefetch " + ahead.operand + " at " + ahead.statement + ":" + lane(*ahead.pass) + ".o distance 1 along " +
          row_steps() + " level " + std::to_string(ahead.level));
    return std::move(script_);
  }

 private:
  const RowQuestion& q_;
  const ir::Program& program_;
  const RowChain& chain_;
  std::string block_;
  RowScript script_;
  std::map<std::string, std::string> places_;  // temporary -> the result in whose memory it lies

  struct Parts {  // of a sum: in several vectors, empty where one is enough; in one
    std::string wide, narrow;
  };
  std::map<std::string, Parts> parts_;  // by tensor

  void add(const std::string& line) { script_.lines.push_back(line); }
  const std::string& row() const { return chain_.rows.back(); }
  static const std::string& lane(const RowPass& pass) { return pass.own.back(); }
  // The script's L counts elements of the result; sums may be of another type.
  std::string vectors(int count) const {
    DType result = DType::F32;
    for (const ir::Buffer& buffer : program_.buffers)
      if (buffer.role == ir::Role::Out || buffer.role == ir::Role::InOut) result = buffer.dtype;
    const int lanes = q_.machine->lanes(chain_.type);
    if (lanes != q_.machine->lanes(result)) return std::to_string(count * lanes);
    return count == 1 ? "L" : std::to_string(count) + "*L";
  }

  void split(const ir::Statement& s, const std::string& loop, const std::string& size) {
    add("split " + s.name + ": " + loop + " by " + size + "   tail cut");
  }

  std::string fresh(std::string name) const {
    while (program_.find_buffer(name) || program_.find_statement(name)) name += "_";
    return name;
  }

  // The loop over blocks of rows.
  std::string row_steps() const { return row() + (chain_.block > 1 ? ".o" : ""); }

  void reciprocals() {
    if (q_.keep_order) return;
    for (const RowPass& pass : chain_.passes)
      for (const ir::Statement* s : pass.body)
        if (may_take_reciprocals(program_, *s, lane(pass))) add("reciprocal " + s->name);
  }

  void splits(const RowPass& pass) {
    for (const ir::Statement* s : pass.body) {
      if (std::ranges::find(pass.sums, s) != pass.sums.end()) {
        split_sum(pass, *s);
      } else if (!pass.is_whole) {
        split(*s, lane(pass), vectors(pass.vectors));
      }
    }
  }

  void split_sum(const RowPass& pass, const ir::Statement& update) {
    const std::string& sum = update.writes[0].buffer;
    Parts& parts = parts_[sum];
    parts.narrow = fresh(sum + "_l");
    std::string loop = lane(pass);
    if (pass.vectors > 1) {
      parts.wide = fresh(sum + "_v");
      add("split_reduction " + sum + ": " + loop + " by " + vectors(pass.vectors) + " as " + parts.wide +
          " interleaved");
      loop += ".i";
    }
    add("split_reduction " + sum + ": " + loop + " by " + vectors(1) + " as " + parts.narrow + " interleaved");
    if (!is_reorderable(update)) script_.reassociated.insert(lane(pass));
  }

  // ---- the nest

  static std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
    return parts.size() > 1 ? "{ " + text + " }" : text;
  }

  // Below the rows of the block, one by one or as lanes.
  std::string each_row() const { return chain_.block > 1 ? row() + ".i > " : ""; }
  std::string row_lanes(const ir::Statement& s) const {
    if (chain_.block == 1) return "";
    const bool suits = ir::stride_of(program_, s.writes[0], row()) == 1 && can_carry_lanes(program_, s, row());
    return suits ? "<" + row() + ".i> > " : row() + ".i > ";
  }

  std::string steps(const RowPass& pass) const {
    std::string path;
    for (const std::string& loop : pass.own)
      if (loop != lane(pass)) path += loop + " > ";
    if (!pass.is_whole) path += lane(pass) + ".o > ";
    const std::string lanes = pass.is_whole ? "<" + lane(pass) + "> > " : "<" + lane(pass) + ".i> > ";
    std::vector<std::string> leaves;
    for (const ir::Statement* s : pass.body) {
      const auto parts = parts_.find(s->writes[0].buffer);
      const bool is_sum = parts != parts_.end() && std::ranges::find(pass.sums, s) != pass.sums.end();
      leaves.push_back(lanes + (!is_sum                      ? s->name
                                : parts->second.wide.empty() ? parts->second.narrow + ".update"
                                                             : parts->second.wide + ".update"));
    }
    return path + joined(leaves);
  }

  void over_a_row(const RowPass& pass, std::vector<std::string>& body) const {
    const std::string one = "<" + lane(pass) + ".i> > ", two = "<" + lane(pass) + ".i.i> > ";
    std::vector<std::string> in_row;
    for (const ir::Statement* s : pass.sums) {
      const Parts& parts = parts_.at(s->writes[0].buffer);
      in_row.push_back(one + (parts.wide.empty() ? parts.narrow : parts.wide) + ".init");
    }
    in_row.push_back(steps(pass));
    for (const ir::Statement* s : pass.sums) {
      const Parts& parts = parts_.at(s->writes[0].buffer);
      if (parts.wide.empty()) continue;
      in_row.push_back(two + parts.narrow + ".init");
      in_row.push_back("[" + lane(pass) + ".i.o] > " + two + parts.narrow + ".update");
    }
    if (chain_.block > 1)
      body.push_back(each_row() + joined(in_row));
    else
      body.insert(body.end(), in_row.begin(), in_row.end());
  }

  // A person may have called it anything.
  const ir::Statement& init_of(const ir::Statement& update) const {
    const auto at = std::ranges::find(q_.statements, &update);
    POLYTE_CHECK(at != q_.statements.begin() && at != q_.statements.end(),
                 "the sum '" + update.name + "' has its initial value before it");
    return **std::prev(at);
  }

  void combine(const RowPass& pass, std::vector<std::string>& body) const {
    for (const ir::Statement* s : pass.sums) {
      const std::string& sum = s->writes[0].buffer;
      const ir::Statement& init = init_of(*s);
      const std::string lanes = row_lanes(init);
      body.push_back(lanes + init.name);
      body.push_back("[" + lane(pass) + (parts_.at(sum).wide.empty() ? ".i] > " : ".i.i] > ") + lanes + s->name);
    }
  }

  std::int64_t trips(const std::string& loop) const {
    const ir::Statement& s = *q_.statements.front();
    const ir::Ranges ranges = iterator_ranges(*q_.reference, q_.reference->at(s.name));
    const std::int64_t extent = *ranges.at(loop).max - *ranges.at(loop).min + 1;
    return loop == row() ? ceil_div(extent, chain_.block) : extent;
  }

  void nest() {
    std::string path;
    bool is_parallel = q_.machine->cores < 2;
    for (const std::string& loop : chain_.rows) {
      const bool here = !is_parallel && trips(loop) >= q_.machine->cores;
      path += (here ? "par " : "") + loop + (loop == row() && chain_.block > 1 ? ".o > " : " > ");
      is_parallel = is_parallel || here;
    }
    std::vector<std::string> body;
    for (const RowPass& pass : chain_.passes) {
      if (!pass.own.empty()) over_a_row(pass, body);
      combine(pass, body);
      for (const ir::Statement* s : pass.after) body.push_back(row_lanes(*s) + s->name);
    }
    add("nest " + path + joined(body));
  }

  // ---- storage

  // Lanes of a block's rows lie row by row, so that combining them turns a square.
  void stages(const RowPass& pass) {
    const std::string site = chain_.rows.empty() ? "" : row_steps();
    for (const ir::Statement* s : pass.sums) {
      const Parts& parts = parts_.at(s->writes[0].buffer);
      if (!site.empty())
        add("stage " + parts.narrow + " at " + parts.narrow + ".update:" + site +
            (chain_.block > 1 ? lanes_last(s->writes[0].indices.size()) : ""));
      if (parts.wide.empty()) continue;
      const std::string within = chain_.block > 1 ? row() + ".i" : site;
      add("stage " + parts.wide + (within.empty() ? "" : " at " + parts.wide + ".update:" + within) + " in register");
    }
    for (const ir::Statement* s : pass.body)
      if (!site.empty() && is_defined_and_read_by(q_, *s) && !places_.contains(s->writes[0].buffer))
        add("stage " + s->writes[0].buffer + " at " + s->name + ":" + site);
  }

  static std::string lanes_last(std::size_t dimensions) {
    std::string names;
    for (std::size_t d = 0; d < dimensions; ++d) names += "d" + std::to_string(d) + ", ";
    return " layout (l, " + names.substr(0, names.size() - 2) + ") [" + names + "l]";
  }
};

constexpr std::size_t kMostBefore = 4;  // definitions before the first sum

}  // namespace

RowRun longest_rows(RowQuestion question, std::span<const Statements> groups, const std::string& suffix) {
  RowRun run;
  std::optional<RowChain> chain;
  Statements taken;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    question.statements.insert(question.statements.end(), groups[i].begin(), groups[i].end());
    if (auto longer = plan_rows(question)) {
      chain = std::move(longer);
      taken = question.statements;
      run.groups = i + 1;
    } else if (run.groups > 0 || i >= kMostBefore) {
      break;
    }
  }
  if (!chain) return run;
  question.statements = taken;
  run.script = write_rows(question, *chain, suffix);
  return run;
}

RowScript write_rows(const RowQuestion& question, const RowChain& chain, const std::string& suffix) {
  return RowWriter(question, chain, suffix).run();
}

}  // namespace polyte::schedule
