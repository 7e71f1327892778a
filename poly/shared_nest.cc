#include "poly/shared_nest.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "ir/contraction.h"
#include "schedule/cost/lanes.h"
#include "schedule/cost/nest_accesses.h"
#include "schedule/cost/operand_staging.h"
#include "schedule/state/digits.h"
#include "support/checked.h"

namespace polyte::poly {
namespace {

constexpr std::int64_t kPointwiseVectors = 4;

class SharedNestWriter {
 public:
  explicit SharedNestWriter(const SharedNest& nest)
      : program_(*nest.program),
        reference_(*nest.reference),
        machine_(*nest.machine),
        shared_(nest.shared),
        parts_(nest.parts),
        as_isl_says_(nest.as_isl_says) {}

  std::string lines() {
    lies_along_ = is_along_innermost();
    if (lies_along_) choose_vectors();
    const std::string lane = lies_along_ ? shared_.back().loop : this->lane();
    const std::string size = (vectors_ == 1 ? "" : std::to_string(vectors_) + "*") + "L";
    if (!lane.empty())
      for (const ir::Statement* s : statements())
        add("split " + s->name + ": " + lane + " by " + size + "   tail cut  #: tile-model");
    std::string path;
    bool parallel = machine_.cores > 1;
    for (const BandMember& member : shared_) {
      const bool is_lane = member.loop == lane;
      const std::int64_t points = is_lane ? vectors_ * lanes(main()) : 1;
      const std::int64_t trips = ceil_div(iterations_of(reference_, main(), member.loop), points);
      const bool lead = parallel && member.coincident && trips >= machine_.cores;
      path += (lead ? "par " : "") + member.loop + (is_lane ? ".o > " : " > ");
      if (lead) parallel = false;
    }
    std::set<std::string> taken;
    for (const BandMember& member : shared_) taken.insert(member.loop);
    std::string body;
    for (const ir::Statement* s : statements())
      body += (body.empty() ? "" : "; ") + own_path(*s, taken, lane) + s->name;
    add("nest " + path + (statements().size() > 1 ? "{ " + body + " }" : body) + "  #: isl");
    if (lies_along_)
      for (const ir::Statement* s : kept())
        add("stage " + s->writes[0].buffer + " at " + s->name + ":" + lane + ".o in register  #: tile-model");
    return text_;
  }

  std::string lane() const {
    if (shared_.empty() || !shared_.back().coincident || as_isl_says_) return "";
    const std::string& lane = shared_.back().loop;
    bool found = false;
    for (const Cluster* part : parts_)
      for (const ir::Statement* s : part->statements) {
        if (std::ranges::find(s->iterators, lane) == s->iterators.end()) return "";
        found = found || turns(*s, lane);
      }
    return found ? lane : "";
  }

 private:
  const ir::Program& program_;
  const schedule::State& reference_;
  const Machine& machine_;
  const std::vector<BandMember>& shared_;
  const std::vector<const Cluster*>& parts_;
  const bool as_isl_says_;
  std::string text_;
  bool lies_along_ = false;  // vectors of the innermost shared loop, innermost in every statement
  std::int64_t vectors_ = 1;

  const ir::Statement& main() const {
    const Cluster& first = *parts_[0];
    return first.update() ? *first.update() : *first.statements.back();
  }
  std::vector<const ir::Statement*> statements() const {
    std::vector<const ir::Statement*> all;
    for (const Cluster* part : parts_) all.insert(all.end(), part->statements.begin(), part->statements.end());
    return all;
  }
  void add(const std::string& line) { text_ += line + "\n"; }
  int lanes(const ir::Statement& s) const { return machine_.lanes(program_.buffer(s.writes[0].buffer).dtype); }

  // Along the innermost shared loop every statement writes side by side and no read strides.
  bool is_along_innermost() const {
    if (shared_.empty() || !shared_.back().coincident || as_isl_says_) return false;
    const std::string& lane = shared_.back().loop;
    return std::ranges::all_of(statements(), [&](const ir::Statement* s) {
      return carries_lanes(program_, reference_, machine_, *s, lane) && !strides(*s, lane) &&
             lanes(*s) == lanes(main());
    });
  }

  // Several chains of a sum where the registers hold what is kept of them.
  void choose_vectors() {
    const auto values = std::max<std::int64_t>(1, static_cast<std::int64_t>(kept().size()));
    const std::int64_t most = iterations_of(reference_, main(), shared_.back().loop) / lanes(main());
    vectors_ = std::clamp<std::int64_t>(machine_.vector_registers / 2 / values, 1, kPointwiseVectors);
    vectors_ = std::max<std::int64_t>(1, std::min(vectors_, most));
  }

  // Who defines, for its own point of the shared loops, a temporary that this nest alone reads.
  std::vector<const ir::Statement*> kept() const {
    std::vector<const ir::Statement*> all;
    if (!std::ranges::all_of(shared_, &BandMember::coincident)) return all;
    const std::vector<const ir::Statement*> here = statements();
    std::set<std::string> buffers;
    for (const Cluster* part : parts_) {
      const ir::Statement* s = part->update() ? part->update() : part->statements.back();
      const bool has_point = std::ranges::all_of(s->iterators, [&](const std::string& it) {
        return std::ranges::find(s->reductions, it) != s->reductions.end() ||
               std::ranges::find(shared_, it, &BandMember::loop) != shared_.end();
      });
      if (has_point && schedule::stays_inside(program_, s->writes[0].buffer, *s, here) &&
          schedule::can_stage_accumulator(program_, *s, here, false) && buffers.insert(s->writes[0].buffer).second)
        all.push_back(s);
    }
    return all;
  }

  bool turns(const ir::Statement& s, const std::string& lane) const {
    return !s.reductions.empty() && s.combiner != ir::Combiner::None &&
           carries_lanes(program_, reference_, machine_, s, lane) &&
           schedule::turning_loop(program_, s, lane) == s.reductions.back() &&
           iterations_of(reference_, s, s.reductions.back()) >= lanes(s);
  }

  // A loop of an update's own that can be lanes: they go innermost, past the reduction, which keeps each sum's order.
  std::string own_lane(const ir::Statement& s, const std::set<std::string>& shared) const {
    if (s.combiner == ir::Combiner::None || as_isl_says_) return "";
    for (const ir::Expr& value : s.values)
      for (const ir::Load* load : ir::loads_of(value))
        if (load->buffer == s.writes[0].buffer) return "";
    std::string lane;
    for (const std::string& it : s.iterators) {
      if (shared.contains(it) || std::ranges::find(s.reductions, it) != s.reductions.end() ||
          !carries_lanes(program_, reference_, machine_, s, it))
        continue;
      if (turns(s, it) || !strides(s, it)) lane = it;
    }
    return lane;
  }

  bool strides(const ir::Statement& s, const std::string& lane) const {
    bool found = false;
    for (const ir::Expr& value : s.values)
      for (const ir::Load* load : ir::loads_of(value))
        found = found || std::abs(ir::stride_of(program_, *load, lane).value_or(0)) > 1;
    return found;
  }

  std::string path_with_lane(const ir::Statement& s, const std::set<std::string>& shared, const std::string& lane) {
    const bool turned = turns(s, lane);
    const std::string size = turned ? "L" : std::to_string(kPointwiseVectors) + "*L";
    add("split " + s.name + ": " + lane + " by " + size + "   tail cut  #: tile-model");
    std::string path, steps;
    for (const std::string& it : s.iterators) {
      if (shared.contains(it)) continue;
      const bool is_reduction = std::ranges::find(s.reductions, it) != s.reductions.end();
      if (turned && it == s.reductions.back()) {
        add("split " + s.name + ": " + it + " by L   tail cut  #: tile-model");
        steps += it + ".o > [" + it + ".i] > ";
      } else {
        (is_reduction ? steps : path) += it + (it == lane ? ".o > " : " > ");
      }
    }
    return path + steps + "<" + lane + ".i> > ";
  }

  // The loops of one statement below the shared ones. With lanes of these: what turns has them innermost, and so has a
  // definition of a point each; others have them outermost.
  std::string own_path(const ir::Statement& s, const std::set<std::string>& shared, const std::string& lane) {
    std::string path;
    if (lies_along_) {
      for (const std::string& it : s.iterators)
        if (!shared.contains(it)) path += it + " > ";
      return path + "<" + lane + ".i> > ";
    }
    const bool turned = !lane.empty() && turns(s, lane);
    const std::string own = turned ? "" : own_lane(s, shared);
    if (!own.empty()) {
      path = path_with_lane(s, shared, own);
      return lane.empty() ? path : lane + ".i > " + path;
    }
    for (const std::string& it : s.iterators) {
      if (shared.contains(it)) continue;
      const bool is_last = turned && it == s.reductions.back();
      if (is_last) add("split " + s.name + ": " + it + " by L   tail cut  #: tile-model");
      path += (is_last ? it + ".o > [" + it + ".i]" : loop_of(s, it)) + " > ";
    }
    if (lane.empty()) return path;
    if (turned || (path.empty() && carries_lanes(program_, reference_, machine_, s, lane)))
      return path + "<" + lane + ".i> > ";
    return lane + ".i > " + path;
  }

  std::string loop_of(const ir::Statement& s, const std::string& it) {
    const bool last = s.iterators.back() == it && s.combiner == ir::Combiner::None;
    if (!last || as_isl_says_ || ir::stride_of(program_, s.writes[0], it) != 1) return it;
    if (!schedule::can_carry_lanes(program_, s, it)) return it;
    const std::int64_t step =
        std::int64_t{kPointwiseVectors} * machine_.lanes(program_.buffer(s.writes[0].buffer).dtype);
    if (iterations_of(reference_, s, it) <= step) return "<" + it + ">";
    add("split " + s.name + ": " + it + " by " + std::to_string(kPointwiseVectors) + "*L tail cut  #: tile-model");
    return it + ".o > <" + it + ".i>";
  }
};

}  // namespace

std::int64_t iterations_of(const schedule::State& reference, const ir::Statement& s, const std::string& loop) {
  const ir::Ranges ranges = schedule::iterator_ranges(reference, reference.at(s.name));
  auto it = ranges.find(loop);
  if (it == ranges.end() || !it->second.min || !it->second.max) return 1;
  return std::max<std::int64_t>(0, *it->second.max - *it->second.min + 1);
}

bool carries_lanes(const ir::Program& program, const schedule::State& reference, const Machine& machine,
                   const ir::Statement& s, const std::string& loop) {
  return ir::stride_of(program, s.writes[0], loop) == 1 && schedule::can_carry_lanes(program, s, loop) &&
         iterations_of(reference, s, loop) >= machine.lanes(program.buffer(s.writes[0].buffer).dtype);
}

std::string turned_lane(const SharedNest& nest) { return SharedNestWriter(nest).lane(); }

std::string schedule_shared_nest(const SharedNest& nest) { return SharedNestWriter(nest).lines(); }

}  // namespace polyte::poly
