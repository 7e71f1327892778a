#include "schedule/cost/kept_values.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "ir/affine_system.h"
#include "schedule/cost/step_cost.h"
#include "schedule/cost/traffic.h"
#include "support/is_among.h"

namespace polyte::schedule {
namespace {

constexpr double kTileVectors = 2, kTileRows = 6;  // of a register tile
constexpr double kNestCycles = 200;                // to begin another nest
constexpr double kLanesOfOpenSize = 64;            // taken for a size that is open
constexpr double kClearly = 2;  // times what it costs, that it saves: a tile hides some of it

// Whether e reads inputs and constants alone, with at most one iterator in each subscript: it then
// has at most as many values as its operands have elements.
bool reads_plainly(const ir::Program& program, const ir::Expr& e) {
  return std::ranges::all_of(ir::loads_of(e), [&](const ir::Load* load) {
    const ir::Role role = program.buffer(load->buffer).role;
    return (role == ir::Role::In || role == ir::Role::Const) && !load->otherwise &&
           std::ranges::all_of(load->indices, [](const ir::Index& index) {
             const ir::Affine moved = index.affine - index.affine.constant();
             return !index.indirect && (moved.is_constant() || moved.as_symbol());
           });
  });
}

// The values of an iterator, in the box around the domain; nullopt where sizes are not known.
std::optional<double> extent_of(const ir::Statement& s, const std::string& iterator) {
  ir::Ranges ranges;
  ir::tighten(ranges, ir::system_of(s.domain));
  const ir::Interval& range = ranges[iterator];
  if (!range.min || !range.max) return std::nullopt;
  return static_cast<double>(std::max<std::int64_t>(*range.max - *range.min + 1, 0));
}

// Instances of a statement, estimated: the box around its domain, halved for each iterator that an
// earlier one bounds, as a triangle is half a square. 0 where sizes are not known.
double points_of(const ir::Statement& s) {
  const ir::System system = ir::system_of(s.domain);
  double points = 1;
  for (std::size_t i = 0; i < s.iterators.size(); ++i) {
    const auto extent = extent_of(s, s.iterators[i]);
    if (!extent) return 0;
    points *= *extent;
    const auto bounds_it = [&](const ir::Affine& e) {
      return e.uses(s.iterators[i]) &&
             std::any_of(s.iterators.begin(), s.iterators.begin() + static_cast<std::ptrdiff_t>(i),
                         [&](const std::string& before) { return e.uses(before); });
    };
    if (std::ranges::any_of(system, bounds_it)) points /= 2;
  }
  return points;
}

struct Kept {
  ir::Precomputed value;
  ir::Program program;  // that computes it before
};

class Keeper {
 public:
  Keeper(const ir::Program& program, const ir::Statement& statement, const Machine& machine)
      : program_(program), s_(statement), machine_(machine) {}

  // The first of the largest parts that are worth it.
  std::optional<Kept> run() {
    if (s_.combiner != ir::Combiner::Sum || s_.reductions.empty() || waits_for_memory())
      return std::nullopt;
    for (const ir::Expr& value : s_.values) look_inside(value);
    return std::move(kept_);
  }

 private:
  const ir::Program& program_;
  const ir::Statement& s_;
  const Machine& machine_;
  std::optional<Kept> kept_;

  // In the order of the first operand's subscripts, so that the values lie as it does.
  std::vector<std::string> iterators_of(const ir::Expr& e) const {
    std::vector<std::string> iterators;
    const auto take = [&](const std::string& symbol) {
      if (is_among(symbol, s_.iterators) && !is_among(symbol, iterators))
        iterators.push_back(symbol);
    };
    for (const ir::Load* load : ir::loads_of(e))
      for (const ir::Index& index : load->indices)
        if (const auto symbol = (index.affine - index.affine.constant()).as_symbol()) take(*symbol);
    std::ranges::for_each(ir::symbols_of(e), take);
    return iterators;
  }

  // An operand that moves with every iterator is read once per instance: the sum runs as fast as
  // memory, and arithmetic is free.
  bool waits_for_memory() const {
    return std::ranges::any_of(s_.values, [&](const ir::Expr& value) {
      return std::ranges::any_of(ir::loads_of(value), [&](const ir::Load* load) {
        std::set<std::string> symbols;
        for (const ir::Index& index : load->indices) index.affine.collect_symbols(symbols);
        return std::ranges::all_of(s_.iterators,
                                   [&](const std::string& it) { return symbols.contains(it); });
      });
    });
  }

  void look_inside(const ir::Expr& value) {
    ir::replace(value, [&](const ir::Expr& part) -> ir::Expr {
      if (kept_) return part;
      const std::vector<std::string> iterators = iterators_of(part);
      if (iterators.size() == s_.iterators.size()) return nullptr;
      return keep(part, iterators) ? part : nullptr;
    });
  }

  bool keep(const ir::Expr& part, const std::vector<std::string>& iterators) {
    const bool is_summed =
        std::ranges::any_of(iterators, [&](const auto& it) { return is_among(it, s_.reductions); });
    if (!is_summed || !is_float(part->type) || instructions(part) == 0 ||
        !reads_plainly(program_, part))
      return false;
    // Operands of mixed products are read as they lie.
    if (std::holds_alternative<ir::Cast>(part->op)) return false;
    ir::Precomputed made{s_.name, fresh_name(part), iterators, part};
    Result<ir::Program> with = ir::with_precomputed(program_, made);
    if (!with || !pays(part, *with->find_statement(made.tensor))) return false;
    kept_ = Kept{std::move(made), *std::move(with)};
    return true;
  }

  std::string fresh_name(const ir::Expr& part) const {
    const auto loads = ir::loads_of(part);
    const std::string base =
        (loads.empty() ? s_.writes.front().buffer : loads.front()->buffer) + "_value";
    std::string name = base;
    for (int number = 2; is_taken(name); ++number) name = base + "_" + std::to_string(number);
    return name;
  }

  bool is_taken(const std::string& name) const {
    return program_.find_buffer(name) || is_among(name, program_.params) ||
           std::ranges::any_of(program_.statements, [&](const ir::Statement& s) {
             return s.name == name || is_among(name, s.iterators);
           });
  }

  // Saved: the operations at every instance, once per vector of a tile (or per row, where lanes do
  // not move the value). Cost: a nest that computes each value once, and writing and reading them.
  bool pays(const ir::Expr& part, const ir::Statement& definition) const {
    const double lanes = machine_.lanes(part->type), operations = instructions(part);
    const std::vector<ir::Index>& cell = s_.writes.front().indices;
    const auto lane = cell.empty() ? std::nullopt : cell.back().affine.as_symbol();
    const bool has_lanes = lane && ir::symbols_of(part).contains(*lane);
    const double values = points_of(definition);
    const double vectors =
        lane ? std::clamp(std::ceil(extent_of(s_, *lane).value_or(kLanesOfOpenSize) / lanes), 1.0,
                          kTileVectors)
             : kTileVectors;
    const double saved = points_of(s_) * operations / (lanes * (has_lanes ? kTileRows : vectors));
    const double bytes = values * size_in_bytes(part->type);
    const double moved = bytes / bytes_per_cycle(bytes, machine_);  // as they are written
    const double cost = kNestCycles + values * operations / lanes / machine_.fma_per_cycle + moved;
    return saved / machine_.fma_per_cycle > kClearly * cost;
  }
};

}  // namespace

std::vector<ir::Precomputed> kept_values(const ir::Program& program, const Machine& machine) {
  std::vector<ir::Precomputed> all;
  if (machine.gpu) return all;
  ir::Program seen = program;
  for (const ir::Statement& s : program.statements)
    while (auto kept = Keeper(seen, seen.statement(s.name), machine).run()) {
      all.push_back(std::move(kept->value));
      seen = std::move(kept->program);
    }
  return all;
}

}  // namespace polyte::schedule
