#include "poly/strategy_maps.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "ir/contraction.h"
#include "schedule/script/nest_writer.h"
#include "schedule/script/replay.h"

namespace polyte::poly {
namespace {

class MappedNest {
 public:
  MappedNest(const ir::Program& program, const Core& nest, const Machine& machine,
             bool affine_core_only, std::span<const schedule::NestPlan> before)
      : program_(program), machine_(machine), affine_core_only_(affine_core_only), before_(before) {
    Core node = nest;
    while (const auto* band = std::get_if<Band>(&node->op)) {
      members_.insert(members_.end(), band->members.begin(), band->members.end());
      node = band->child;
    }
    core_ = node;
    clusters_ = clusters_of(node);
    choose_names();
  }

  // The mapped nest, vectors innermost. None without vectors, nor on several cores, which the loops
  // of the plain order suit better.
  std::optional<schedule::NestPlan> run() {
    plan_.maps = {map()};
    const auto lane = lane_member();
    if (!lane || affine_core_only_ || machine_.cores > 1) return std::nullopt;
    plan_.tree = nest(*lane);
    plan_.tree_by = schedule::Provenance::TileModel;
    if (!replays()) return std::nullopt;
    return std::move(plan_);
  }

 private:
  const ir::Program& program_;
  const Machine& machine_;
  const bool affine_core_only_;
  const std::span<const schedule::NestPlan> before_;
  schedule::NestPlan plan_;
  std::vector<BandMember> members_;
  Core core_;  // owns what clusters_ points to
  std::vector<const Cluster*> clusters_;
  std::vector<std::string> names_;

  const ir::Statement& statement(std::size_t i) const { return *clusters_[i]->statements[0]; }

  // Members without rows are loops over one iterator of their name.
  ir::Affine row(std::size_t member, std::size_t cluster) const {
    const BandMember& m = members_[member];
    const auto found = m.rows.find(statement(cluster).name);
    return found == m.rows.end() ? ir::Affine::symbol(m.loop) : found->second;
  }

  // The loop of a plain iterator t is called t; that of a row which brings in a new iterator i is
  // called I.
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
      if (row(m, 0).as_symbol() != name)
        name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
      names_.push_back(std::ranges::count(names_, name) > 0 ? "c" + std::to_string(m) : name);
    }
  }

  schedule::PlannedMap map() const {
    schedule::PlannedMap map{.items = {}, .loops = names_};
    for (std::size_t c = 0; c < clusters_.size(); ++c) {
      schedule::PlannedMap::Item& item =
          map.items.emplace_back(schedule::PlannedMap::Item{statement(c).name, {}});
      for (std::size_t m = 0; m < members_.size(); ++m) item.values.push_back(row(m, c));
    }
    return map;
  }

  // The loops in isl's order but for the lanes, which run innermost, once per statement.
  schedule::NestTree nest(std::size_t lane) const {
    schedule::NestPath path;
    for (std::size_t m = 0; m < members_.size(); ++m)
      if (m != lane) path.push_back({names_[m]});
    std::vector<schedule::NestTree> leaves;
    for (std::size_t c = 0; c < clusters_.size(); ++c)
      leaves.push_back(nest_path({{names_[lane], schedule::LoopKind::Vector}},
                                 schedule::nest_statement(statement(c).name)));
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

  // After the nests before it, with the proof of each directive: a `map` is only worth its nest
  // if it is legal.
  bool replays() const {
    schedule::KernelPlan kernel{{before_.begin(), before_.end()}, {}};
    kernel.nests.push_back(plan_);
    const auto program = std::make_shared<const ir::Program>(program_);
    const schedule::Script script = schedule::write_script(program_, "mapped", machine_, kernel);
    return static_cast<bool>(
        schedule::replay(program, script, machine_, {schedule::ProofLevel::Directive, {}}));
  }
};

}  // namespace

std::optional<schedule::NestPlan> plan_mapped_nest(const ir::Program& program, const Core& nest,
                                                   const Machine& machine, bool affine_core_only,
                                                   std::span<const schedule::NestPlan> before) {
  return MappedNest(program, nest, machine, affine_core_only, before).run();
}

}  // namespace polyte::poly
