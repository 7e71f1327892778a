#include "schedule/script/script_of_times.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <ranges>

#include "schedule/script/nest_writer.h"

namespace polyte::schedule {
namespace {

using Rows = std::map<std::string, ir::Affine>;  // by statement

// A loop over tiles of loops further in.
struct TileLoop {
  std::string name;  // of the loops
  std::int64_t size = 1;
  Rows of;                         // what they are the tiles of
  std::set<std::string> complete;  // statements that have their loop within the tile
};

// The row as one division, e // c: r + n // c is (n + c*r) // c, so that t + (i - t) // 3 becomes
// (2*t + i) // 3.
std::optional<ir::FloorDiv> as_division(const ir::Affine& row) {
  std::optional<ir::FloorDiv> found;
  ir::Affine rest = row.constant();
  for (const ir::Term& term : row.terms()) {
    if (!term.atom.div) {
      rest = rest + ir::Affine::symbol(term.atom.symbol) * term.coefficient;
      continue;
    }
    if (found || term.coefficient != 1) return std::nullopt;
    found = *term.atom.div;
  }
  if (found) found->numerator = found->numerator + rest * found->denominator;
  return found;
}

// From rows to a nest, depth by depth, as isl orders: all statements at hand have a row at this
// depth. Constants put them into a sequence; divisions e // c are tiles, whose points e (or e %
// c) come further in; any other row is a loop.
//
//   S: (0, i//8, i)   T: (1, j, 0)     { i.o > i.i > S; j > T }
class NestOfTimes {
 public:
  NestOfTimes(const ir::Program& program, std::span<const ForeignRows> times) : program_(program) {
    for (const ir::Buffer& buffer : program.buffers) names_.insert(buffer.name);
    names_.insert(program.params.begin(), program.params.end());
    for (const auto& [size, value] : program.sizes) names_.insert(size);
    std::vector<std::string> all;
    for (const ForeignRows& each : times) {
      times_[each.statement] = each.rows;
      all.push_back(each.statement);
    }
    length_ = times.empty() ? 0 : times.front().rows.size();
    if (!all.empty()) plan_.tree = visit(all, 0, names_);
  }

  Result<NestPlan> run() {
    for (const TileLoop& tile : tiles_)
      for (const auto& [statement, row] : tile.of)
        if (!tile.complete.contains(statement))
          return Decline{"tiles of " + ir::to_string(row) + " by " + std::to_string(tile.size) +
                         " of '" + statement + "' have no loop within them"};
    plan_.maps = maps();
    plan_.is_one_step = !plan_.maps.empty();
    plan_.tree_by = Provenance::Person;
    if (!tiles_.empty()) {
      PlannedTile& tile = plan_.tile.emplace();
      tile.by = Provenance::Person;
      for (const TileLoop& each : tiles_) {
        tile.loops.push_back(each.name);
        tile.sizes.push_back(each.size);
      }
    }
    return plan_;
  }

 private:
  const ir::Program& program_;
  std::map<std::string, std::vector<ir::Affine>> times_;
  std::size_t length_ = 0;
  std::set<std::string> names_;  // of tensors, sizes and tiled loops
  std::vector<TileLoop> tiles_;
  // By statement: name and row.
  std::map<std::string, std::vector<std::pair<std::string, ir::Affine>>> loops_;
  NestPlan plan_;

  // `taken`: names on the path, which a loop of another branch may have again.
  NestTree visit(const std::vector<std::string>& statements, std::size_t depth,
                 std::set<std::string> taken) {
    if (depth == length_) return leaves(statements);
    Rows rows;
    for (const std::string& statement : statements) rows[statement] = times_.at(statement)[depth];
    // Constants order statements: those with a smaller one come first, and each value becomes a
    // child of a sequence.
    if (std::ranges::all_of(rows, [](const auto& entry) { return entry.second.is_constant(); }))
      return visit_places(rows, statements, depth, taken);
    const std::string name =
        add_tile(rows) ? tiles_of(tiles_.back().name) : point_loop(rows, taken);
    return nest_path({{name}}, visit(statements, depth + 1, std::move(taken)));
  }

  // In the order of the Program.
  static NestTree leaves(const std::vector<std::string>& statements) {
    std::vector<NestTree> all;
    for (const std::string& statement : statements) all.push_back(nest_statement(statement));
    return nest_sequence(std::move(all));
  }

  NestTree visit_places(const Rows& rows, const std::vector<std::string>& statements,
                        std::size_t depth, const std::set<std::string>& taken) {
    std::map<std::int64_t, std::vector<std::string>> places;
    for (const std::string& statement : statements)
      places[rows.at(statement).constant()].push_back(statement);
    std::vector<NestTree> children;
    for (const auto& [place, there] : places) children.push_back(visit(there, depth + 1, taken));
    return nest_sequence(std::move(children));
  }

  // A loop over tiles if every row is a division by one and the same number.
  bool add_tile(const Rows& rows) {
    TileLoop tile;
    for (const auto& [statement, row] : rows) {
      const std::optional<ir::FloorDiv> division = as_division(row);
      if (!division || (tile.size > 1 && division->denominator != tile.size)) return false;
      tile.size = division->denominator;
      tile.of[statement] = division->numerator;
    }
    // The directive `tile` means every loop of a name, so no other loop may have it.
    tile.name = fresh(wanted_name(tile.of), names_);
    tiles_.push_back(std::move(tile));
    return true;
  }

  // The name of a loop that is no tile loop: that of the tile whose points it counts, e or e % c
  // within e // c, or a new one. Every statement gets its row.
  std::string point_loop(const Rows& rows, std::set<std::string>& taken) {
    for (TileLoop& tile : tiles_) {
      const auto is_within = [&](const auto& entry) {
        const auto whole = tile.of.find(entry.first);
        return whole != tile.of.end() && !tile.complete.contains(entry.first) &&
               (entry.second == whole->second || entry.second == ir::mod(whole->second, tile.size));
      };
      if (!std::ranges::all_of(rows, is_within)) continue;
      for (const auto& [statement, row] : rows) {
        tile.complete.insert(statement);
        loops_[statement].emplace_back(tile.name, tile.of.at(statement));
      }
      return within_tile(tile.name);
    }
    taken.insert(names_.begin(), names_.end());
    const std::string name = fresh(wanted_name(rows), taken);
    for (const auto& [statement, row] : rows) loops_[statement].emplace_back(name, row);
    return name;
  }

  // The iterator's name where a statement's row is that iterator, its name with a capital where the
  // row merely contains it.
  std::string wanted_name(const Rows& rows) const {
    for (const auto& [statement, row] : rows)
      if (const auto symbol = row.as_symbol()) return *symbol;
    for (const auto& [statement, row] : rows)
      for (const std::string& it : program_.statement(statement).iterators | std::views::reverse)
        if (row.uses(it))
          return std::string(1, static_cast<char>(std::toupper(it[0]))) + it.substr(1);
    return "c";
  }

  static std::string fresh(const std::string& wanted, std::set<std::string>& taken) {
    std::string name = wanted;
    for (int i = 2; !taken.insert(name).second; ++i) name = wanted + std::to_string(i);
    return name;
  }

  // One for statements of the same loops; none where all have the loops of the reference.
  std::vector<PlannedMap> maps() const {
    std::vector<PlannedMap> all;
    for (const ir::Statement& s : program_.statements) {
      const auto found = loops_.find(s.name);
      if (found == loops_.end()) continue;
      std::vector<std::string> loops;
      PlannedMap::Item item{s.name, {}};
      for (const auto& [name, row] : found->second) {
        loops.push_back(name);
        item.values.push_back(row);
      }
      if (is_plain(s, loops, item.values)) continue;
      auto same = std::ranges::find(all, loops, &PlannedMap::loops);
      if (same == all.end())
        same = all.insert(all.end(),
                          PlannedMap{.items = {}, .loops = loops, .by = Provenance::Person});
      same->items.push_back(std::move(item));
    }
    return all;
  }

  bool is_plain(const ir::Statement& s, const std::vector<std::string>& loops,
                const std::vector<ir::Affine>& rows) const {
    // Tiles are of loops that a map has made, so with tiles every statement is mapped.
    if (!tiles_.empty() || loops.size() != s.iterators.size()) return false;
    for (std::size_t i = 0; i < loops.size(); ++i)
      if (rows[i].as_symbol() != loops[i]) return false;
    return std::ranges::is_permutation(loops, s.iterators);
  }
};

}  // namespace

Result<Script> script_of_times(const ir::Program& program, std::span<const ForeignRows> times,
                               Terms terms, const Machine& machine) {
  Result<NestPlan> plan = NestOfTimes(program, times).run();
  if (!plan) return plan.error();
  if (terms == Terms::AnyOrder)
    for (const ir::Statement& s : program.statements)
      plan->reassociated.insert(s.reductions.begin(), s.reductions.end());
  return write_script(program, "given", machine, {.nests = {*std::move(plan)}, .streams = {}});
}

}  // namespace polyte::schedule
