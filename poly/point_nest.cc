#include "poly/point_nest.h"

#include <algorithm>
#include <set>

#include "ir/contraction.h"
#include "ir/relations.h"
#include "poly/shared_nest.h"
#include "schedule/cost/nest_accesses.h"
#include "schedule/cost/operand_staging.h"
#include "schedule/cost/warp_access.h"
#include "support/checked.h"
#include "support/is_among.h"
#include "support/stable_sort.h"

namespace polyte::poly {
namespace {

using schedule::NestPath;

constexpr schedule::Provenance kOurs = schedule::Provenance::TileModel;
constexpr std::int64_t kPointThreads = 256, kFewestPointThreads = 32;
constexpr std::int64_t kVectorBytes = 16;  // of a thread's widest access

class PointPlanner {
 public:
  explicit PointPlanner(const PointNest& nest) : nest_(nest), program_(*nest.program) {
    for (const Cluster* part : nest.parts)
      statements_.insert(statements_.end(), part->statements.begin(), part->statements.end());
  }

  schedule::NestPlan run() {
    choose_points();
    choose_vector();
    std::vector<schedule::NestTree> leaves;
    for (const ir::Statement* s : statements_)
      leaves.push_back(nest_path(own_path(*s), schedule::nest_statement(s->name)));
    plan_.tree = nest_path(shared_path(), schedule::nest_sequence(std::move(leaves)));
    plan_.tree_by = is_turned_ ? kOurs : schedule::Provenance::Isl;
    if (!points_.empty()) {
      keep();
      bind();
    }
    return std::move(plan_);
  }

 private:
  const PointNest& nest_;
  const ir::Program& program_;
  std::vector<const ir::Statement*> statements_;
  // Shared loops: the host's, and those whose iterations are threads.
  std::vector<std::string> around_, points_;
  bool is_turned_ = false;   // another order than isl's
  std::int64_t vector_ = 1;  // neighbours along the last point loop that are one thread's
  schedule::NestPlan plan_;

  const ir::Statement& main() const {
    const Cluster& first = *nest_.parts.front();
    return first.update() ? *first.update() : *first.statements.back();
  }
  std::int64_t extent(const std::string& loop) const {
    return iterations_of(*nest_.reference, main(), loop);
  }

  // Iterations of a sum, or of a scatter, may change places, but not run beside each other.
  bool is_point(const BandMember& member) const {
    return member.coincident && std::ranges::none_of(statements_, [&](const ir::Statement* s) {
             return is_among(member.loop, s->reductions);
           });
  }

  // The point loops are the first run of shared loops without dependences: loops before it stay
  // with the host, those behind it inside a thread. Lanes of a warp are neighbours along the last
  // one, which is that along which a warp touches the fewest sectors of 32 bytes.
  void choose_points() {
    auto first =
        std::ranges::find_if(nest_.shared, [&](const BandMember& m) { return is_point(m); });
    const auto last = std::find_if_not(first, nest_.shared.end(),
                                       [&](const BandMember& m) { return is_point(m); });
    for (auto member = nest_.shared.begin(); member != first; ++member)
      around_.push_back(member->loop);
    for (; first != last; ++first) points_.push_back(first->loop);
    if (points_.empty() || nest_.as_isl_says) return;
    const auto sectors = [&](const std::string& loop) {
      double all = 0;
      for (const ir::Statement* s : statements_)
        all += schedule::sectors_a_warp(program_, *s, loop, extent(loop));
      return all;
    };
    auto best = std::prev(points_.end());
    for (auto loop = points_.begin(); loop != points_.end(); ++loop)
      if (sectors(*loop) < sectors(*best)) best = loop;
    const std::vector<std::string> of_isl = points_;
    std::rotate(best, std::next(best), points_.end());
    sort_stably(points_, std::greater(),
                [&](const std::string& loop) { return stays_apart(loop); });
    is_turned_ = points_ != of_isl;
  }

  // Definitions whose accesses lie side by side along the lanes, in rows of whole vectors: 16 bytes
  // per thread, as long as every multiprocessor has threads enough.
  void choose_vector() {
    if (points_.empty() || nest_.as_isl_says || program_.open.contains(points_.back())) return;
    std::int64_t widest = 1;
    for (const ir::Statement* s : statements_) {
      if (s->guard || s->combiner != ir::Combiner::None ||
          s->iterators.size() != around_.size() + points_.size())
        return;
      for (const ir::Access& write : s->writes)
        if (!is_side_by_side(write, widest)) return;
      for (const ir::Load* load : ir::reads_of(*s))
        if (load->otherwise || !is_side_by_side(*load, widest)) return;
    }
    std::int64_t vector = kVectorBytes / widest, points = 1;
    for (const std::string& loop : points_) points *= extent(loop);
    while (vector > 1 && points / vector < nest_.machine->gpu->multiprocessors * kPointThreads)
      vector /= 2;
    if (vector <= 1 || extent(points_.back()) % vector != 0) return;
    vector_ = vector;
    for (const ir::Statement* s : statements_)
      plan_.splits.emplace_back(
          schedule::PlannedSplit{s->name, points_.back(), schedule::Elements{vector}, kOurs, true});
  }

  template <class Access>
  bool is_side_by_side(const Access& access, std::int64_t& widest) const {
    const auto stride = ir::stride_of(program_, access, points_.back());
    widest = std::max<std::int64_t>(widest, size_in_bytes(program_.buffer(access.buffer).dtype));
    return stride == 0 || stride == 1;
  }

  // Whether the loop comes first among the points: a loop of open size can only be the outermost of
  // those that are fused, and the loop over parts is fused with none.
  bool stays_apart(const std::string& loop) const {
    return program_.open.contains(loop) || loop == nest_.part;
  }

  // The point loops that are blocks of their own, and those that become one, cut into blocks
  // of threads.
  struct Grid {
    std::vector<std::string> blocks, fused;
  };
  Grid grid() const {
    std::vector<std::string> loops = points_;
    if (vector_ > 1) loops.back() = schedule::tiles_of(loops.back());
    std::size_t first = 0;
    for (std::size_t i = 0; i < points_.size(); ++i)
      if (stays_apart(points_[i])) first = points_[i] == nest_.part ? i + 1 : i;
    const auto fused = loops.begin() + static_cast<std::ptrdiff_t>(first);
    return {{loops.begin(), fused}, {fused, loops.end()}};
  }

  NestPath shared_path() const {
    NestPath path;
    const Grid loops = grid();
    const bool is_one = loops.fused.size() == 1;
    for (const std::string& loop : around_) path.push_back({loop});
    for (const std::string& loop : loops.blocks)
      path.push_back({loop, is_one ? ir::LoopKind::Block : ir::LoopKind::Serial});
    if (is_one) {
      path.push_back({schedule::tiles_of(loops.fused[0]), ir::LoopKind::Block});
      path.push_back({schedule::within_tile(loops.fused[0]), ir::LoopKind::Thread});
    } else {
      for (const std::string& loop : loops.fused) path.push_back({loop});
    }
    for (const BandMember& member : nest_.shared)
      if (!is_among(member.loop, around_) && !is_among(member.loop, points_))
        path.push_back({member.loop});
    return path;
  }

  NestPath own_path(const ir::Statement& s) const {
    NestPath path;
    for (const std::string& it : s.iterators)
      if (std::ranges::find(nest_.shared, it, &BandMember::loop) == nest_.shared.end())
        path.push_back({it});
    if (vector_ > 1) path.push_back({schedule::within_tile(points_.back()), ir::LoopKind::Vector});
    return path;
  }

  // One loop of points is cut into blocks of threads as it is; several are fused into one first,
  // so that blocks are full whatever the extents.
  void bind() {
    const Grid loops = grid();
    if (loops.fused.size() == 1) {
      for (const ir::Statement* s : statements_)
        plan_.splits.emplace_back(schedule::PlannedSplit{
            s->name, loops.fused[0], schedule::Elements{threads()}, kOurs, true});
      return;
    }
    const std::string point = fresh("point");
    step(schedule::PlannedFuse{main().name, loops.fused, point});
    step(schedule::PlannedSplit{"", point, schedule::Elements{threads()}, kOurs, true});
    for (const std::string& block : loops.blocks)
      step(schedule::PlannedBind{main().name, block, ir::LoopKind::Block});
    step(schedule::PlannedBind{main().name, schedule::tiles_of(point), ir::LoopKind::Block});
    step(schedule::PlannedBind{main().name, schedule::within_tile(point), ir::LoopKind::Thread});
  }

  // Registers for what a thread keeps. Stages come before the loops are fused, so they are at the
  // last loop of those that will be fused and cut.
  void keep() {
    if (nest_.as_isl_says) return;
    const std::vector<std::string> fused = grid().fused;
    const std::string at = fused.size() == 1 ? schedule::within_tile(fused[0]) : fused.back();
    for (const ir::Statement* s : kept())
      plan_.stages.push_back({.tensor = s->writes[0].buffer,
                              .at = {{s->name, at}},
                              .memory = schedule::Memory::Register});
  }

  void step(schedule::PlannedStep step) { plan_.steps.push_back(std::move(step)); }

  // So few that every multiprocessor has a block, where there are enough points for that.
  std::int64_t threads() const {
    std::int64_t points = 1;
    for (const std::string& loop : points_) points *= std::max<std::int64_t>(1, extent(loop));
    points = ceil_div(points, vector_);
    std::int64_t threads = kPointThreads;
    while (threads > kFewestPointThreads &&
           ceil_div(points, threads) < nest_.machine->gpu->multiprocessors)
      threads /= 2;
    return threads;
  }

  // Numbered where the kernel has several nests, each with such a loop.
  std::string fresh(std::string name) const {
    if (nest_.number > 0) name += std::to_string(nest_.number);
    const auto is_taken = [&](const ir::Statement* s) { return is_among(name, s->iterators); };
    while (std::ranges::any_of(statements_, is_taken)) name += "_";
    return name;
  }

  // Statements whose result a thread can keep in a register: sums, and definitions of a point of
  // its own that only this nest reads. The initial value of a sum is kept with the sum.
  std::vector<const ir::Statement*> kept() const {
    std::vector<const ir::Statement*> all;
    std::set<std::string> buffers;
    for (const Cluster* part : nest_.parts) {
      for (const ir::Statement* s : part->statements) {
        const bool is_sum = s == part->update();
        const bool is_point = std::ranges::all_of(
            ir::free_iterators(*s),
            [&](const std::string& it) { return is_among(it, points_) || is_among(it, around_); });
        const std::string& buffer = s->writes[0].buffer;
        const bool is_begin =
            !is_sum && part->update() && part->update()->writes[0].buffer == buffer;
        if (!is_begin && is_point &&
            (is_sum || schedule::stays_inside(program_, buffer, *s, statements_)) &&
            schedule::can_stage_accumulator(program_, *s, statements_, false) &&
            buffers.insert(buffer).second)
          all.push_back(s);
      }
    }
    return all;
  }
};

}  // namespace

schedule::NestPlan plan_point_nest(const PointNest& nest) { return PointPlanner(nest).run(); }

}  // namespace polyte::poly
