#include "poly/strategy_maps.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "ir/contraction.h"
#include "schedule/script/nest_writer.h"
#include "schedule/script/replay.h"

namespace polyte::poly {
namespace {

constexpr std::int64_t kTimeTile = 16;   // steps a tile stays in cache for
constexpr std::int64_t kLaneTile = 256;  // elements along the innermost loop
constexpr std::int64_t kCoreTile = 32;   // of the `isl` arm

class MappedNest {
 public:
  MappedNest(const ir::Program& program, const Core& nest, const Machine& machine, bool affine_core_only,
             std::span<const schedule::NestPlan> before)
      : program_(program), machine_(machine), affine_core_only_(affine_core_only), before_(before) {
    Core node = nest;
    while (const auto* band = std::get_if<Band>(&node->op)) {
      permutable_ = permutable_ && band->permutable && members_.empty();
      members_.insert(members_.end(), band->members.begin(), band->members.end());
      node = band->child;
    }
    core_ = node;
    clusters_ = clusters_of(node);
    choose_names();
  }

  // Simpler and simpler, until it is proved: tiles with a nest, the map with a nest, in time the map alone.
  std::optional<MappedPlan> run() {
    if (!is_reference_order()) plan_.map = map();
    const bool wants_tile = members_.size() > 1 && is_in_time();
    if (permutable_ && wants_tile) plan_.tile = tile();
    bool is_proved = take_first(candidates()) || (is_in_time() && replays(plan_));
    if (!is_proved && plan_.tile) {
      plan_.tile.reset();
      is_proved = take_first(candidates()) || replays(plan_);
    }
    if (!is_proved) return std::nullopt;
    MappedPlan result{plan_, {}};
    if (!plan_.map && !plan_.tile && !plan_.tree)
      result.notes.push_back("isl's order of '" + statement(0).name + "' is the Program's");
    if (wants_tile && !plan_.tile)
      result.notes.push_back("no tile in time for '" + statement(0).name +
                             "': " + (permutable_ ? "it is not proved" : "isl's band is not permutable"));
    return result;
  }

 private:
  const ir::Program& program_;
  const Machine& machine_;
  const bool affine_core_only_;
  const std::span<const schedule::NestPlan> before_;
  schedule::NestPlan plan_;
  std::vector<BandMember> members_;
  bool permutable_ = true;
  Core core_;  // owns what clusters_ points to
  std::vector<const Cluster*> clusters_;
  std::vector<std::string> names_;

  const ir::Statement& statement(std::size_t i) const { return *clusters_[i]->statements[0]; }
  bool is_in_time() const { return statement(0).region_depth > 0; }

  ir::Affine row(std::size_t member, std::size_t cluster) const {
    const BandMember& m = members_[member];
    const auto found = m.rows.find(statement(cluster).name);
    return found == m.rows.end() ? ir::Affine::symbol(m.loop) : found->second;
  }

  // t for a plain t, I for what brings in i.
  void choose_names() {
    std::set<std::string> used;
    for (std::size_t m = 0; m < members_.size(); ++m) {
      std::string name = "c" + std::to_string(m);
      std::set<std::string> symbols;
      row(m, 0).collect_symbols(symbols);
      for (const std::string& iterator : statement(0).iterators)
        if (symbols.count(iterator) > 0 && used.count(iterator) == 0) {
          used.insert(iterator);
          name = iterator;
          break;
        }
      if (row(m, 0).as_symbol() != name) name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
      names_.push_back(std::count(names_.begin(), names_.end(), name) > 0 ? "c" + std::to_string(m) : name);
    }
  }

  bool is_reference_order() const {
    const schedule::State reference = schedule::reference_state(std::make_shared<const ir::Program>(program_));
    const std::vector<schedule::LoopRow>& rows = reference.at(statement(0).name).rows;
    bool is_same = clusters_.size() == 1 && rows.size() == members_.size();
    for (std::size_t m = 0; is_same && m < rows.size(); ++m)
      is_same = rows[m].loop == names_[m] && rows[m].value == row(m, 0);
    return is_same;
  }

  schedule::PlannedMap map() const {
    schedule::PlannedMap map{.items = {}, .loops = names_};
    for (std::size_t c = 0; c < clusters_.size(); ++c) {
      schedule::PlannedMap::Item& item = map.items.emplace_back(schedule::PlannedMap::Item{statement(c).name, {}});
      for (std::size_t m = 0; m < members_.size(); ++m) item.values.push_back(row(m, c));
    }
    return map;
  }

  // A tile of some time steps whose planes fit half of the second cache; the innermost loop is long, for lanes.
  schedule::PlannedTile tile() const {
    const std::size_t n = members_.size();
    std::vector<std::int64_t> sizes(n, kCoreTile);
    if (!affine_core_only_) {
      std::set<std::string> buffers;
      std::int64_t bytes = 1;
      for (std::size_t c = 0; c < clusters_.size(); ++c)
        if (buffers.insert(statement(c).writes[0].buffer).second)
          bytes += size_in_bytes(program_.buffer(statement(c).writes[0].buffer).dtype);
      std::int64_t points = std::max<std::int64_t>(machine_.l2.bytes / 2 / bytes, 4096);
      sizes[0] = kTimeTile;
      for (std::size_t m = n - 1; m >= 1; --m) {
        const std::int64_t most = m == n - 1 ? kLaneTile : kCoreTile * 2;
        sizes[m] = std::clamp<std::int64_t>(points, 8, most);
        points /= sizes[m];
      }
    }
    return {names_, sizes};
  }

  // The loops in this order, the last of them once a statement.
  schedule::NestTree nest(const std::vector<std::size_t>& order, schedule::LoopKind last) const {
    const auto loop_of = [&](std::size_t member) {
      return plan_.tile ? schedule::within_tile(names_[member]) : names_[member];
    };
    schedule::NestPath path;
    if (plan_.tile)
      for (const std::string& name : names_) path.push_back({schedule::tiles_of(name)});
    for (std::size_t i = 0; i + 1 < order.size(); ++i) path.push_back({loop_of(order[i])});
    std::vector<schedule::NestTree> leaves;
    for (std::size_t c = 0; c < clusters_.size(); ++c)
      leaves.push_back(nest_path({{loop_of(order.back()), last}}, schedule::nest_statement(statement(c).name)));
    return nest_path(path, schedule::nest_sequence(std::move(leaves)));
  }

  // The member whose neighbouring iterations write neighbouring elements in every statement.
  std::optional<std::size_t> lane_member() const {
    std::optional<std::size_t> found;
    for (std::size_t c = 0; c < clusters_.size(); ++c) {
      std::string lane;
      for (const std::string& it : statement(c).iterators)
        if (ir::stride_of(program_, statement(c).writes[0], it) == 1) lane = it;
      for (std::size_t m = 0; m < members_.size(); ++m) {
        if (lane.empty() || !row(m, c).uses(lane)) continue;
        if (row(m, c).coefficient(lane) != 1 || (found && *found != m)) return std::nullopt;
        found = m;
      }
    }
    return found;
  }

  struct Candidate {
    schedule::NestTree tree;
    schedule::Provenance by;
  };

  // Vectors innermost first; tiles at least have their loops in order. Lanes are put innermost by us, the other loops
  // are in isl's order.
  std::vector<Candidate> candidates() const {
    std::vector<Candidate> nests;
    std::vector<std::size_t> order;
    for (std::size_t m = 0; m < members_.size(); ++m) order.push_back(m);
    const auto lane = lane_member();
    if (lane && !affine_core_only_ && (is_in_time() || machine_.cores == 1)) {
      std::vector<std::size_t> lane_last = order;
      std::erase(lane_last, *lane);
      lane_last.push_back(*lane);
      nests.push_back({nest(lane_last, schedule::LoopKind::Vector), schedule::Provenance::TileModel});
    }
    if (plan_.tile) nests.push_back({nest(order, schedule::LoopKind::Serial), schedule::Provenance::Isl});
    return nests;
  }

  bool replays(const schedule::NestPlan& plan) const {
    schedule::KernelPlan kernel{{before_.begin(), before_.end()}, {}};
    kernel.nests.push_back(plan);
    const auto program = std::make_shared<const ir::Program>(program_);
    const schedule::Script script = schedule::write_script(program_, "mapped", machine_, kernel);
    return static_cast<bool>(schedule::replay(program, script, machine_, {schedule::ProofLevel::Directive, {}}));
  }

  // The first that is proved; false if none is.
  bool take_first(const std::vector<Candidate>& nests) {
    for (const Candidate& candidate : nests) {
      schedule::NestPlan plan = plan_;
      plan.tree = candidate.tree;
      plan.tree_by = candidate.by;
      if (!replays(plan)) continue;
      plan_ = std::move(plan);
      return true;
    }
    return false;
  }
};

}  // namespace

std::optional<MappedPlan> plan_mapped_nest(const ir::Program& program, const Core& nest, const Machine& machine,
                                           bool affine_core_only, std::span<const schedule::NestPlan> before) {
  return MappedNest(program, nest, machine, affine_core_only, before).run();
}

}  // namespace polyte::poly
