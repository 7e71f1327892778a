#include "driver/lab/array_form.h"

#include <algorithm>
#include <set>

#include "driver/lab/array_statement.h"
#include "ir/domain.h"

namespace polyte::lab {
namespace {

using Json = nlohmann::ordered_json;

// {"buffers": [{"name": "A", "dtype": "f32", "shape": [64, 32], "role": "in"}, ..],
//  "steps": [{"op": "view", "from": "A", "dims": [..], "out": 0, "rank": 3}, ..]}
class Form {
 public:
  explicit Form(const ir::Program& program) : program_(program) {}

  Json make() {
    Json form{{"buffers", Json::array()}, {"steps", Json::array()}};
    for (const ir::Buffer& buffer : program_.buffers)
      form["buffers"].push_back({{"name", buffer.name},
                                 {"dtype", std::string(to_string(buffer.dtype))},
                                 {"shape", ir::constant_shape(buffer)},
                                 {"role", ir::to_string(buffer.role)}});
    form["steps"] = steps_of(program_.order);
    return form;
  }

 private:
  const ir::Program& program_;
  ValueIds ids_;

  Json steps_of(const std::vector<ir::Item>& items) {
    Json steps = Json::array();
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (const auto* region = std::get_if<ir::Region>(&items[i])) {
        steps.push_back(loop_of(*region));
        continue;
      }
      const ir::Statement& statement = program_.statements[std::get<std::size_t>(items[i])];
      // `x.init` before `x.update` of the same elements is one operation of a library, a sum or a
      // maximum: the reduction alone says both.
      const bool next = i + 1 < items.size() && std::holds_alternative<std::size_t>(items[i + 1]);
      const ir::Statement* update =
          next ? &program_.statements[std::get<std::size_t>(items[i + 1])] : nullptr;
      if (update && is_initialised_by(*update, statement)) {
        const std::vector<Json> both = statement_steps(program_, *update, true, ids_);
        for (const Json& step : both) steps.push_back(step);
        if (!both.empty()) ++i;
        if (!both.empty()) continue;  // else nothing is reduced, and the identity stays
      }
      for (const Json& step : statement_steps(program_, statement, false, ids_))
        steps.push_back(step);
    }
    return steps;
  }

  // A loop over whole arrays has the same steps each time: nothing in it may depend on its counter.
  Json loop_of(const ir::Region& region) {
    const ir::Affine trips = region.end - region.begin;
    if (!trips.is_constant())
      throw NoForm{"the loop '" + region.iterator + "' has bounds that vary"};
    for (const std::size_t i : statements_in(region.body))
      if (reads_counter(program_.statements[i], region.iterator))
        throw NoForm{"the steps of the ordered loop '" + region.iterator + "' differ: '" +
                     program_.statements[i].name + "' reads it"};
    return {{"op", "loop"},
            {"count", std::max<std::int64_t>(trips.constant(), 0)},
            {"body", steps_of(region.body)}};
  }

  static std::vector<std::size_t> statements_in(const std::vector<ir::Item>& items) {
    std::vector<std::size_t> all;
    for (const ir::Item& item : items) {
      const auto* region = std::get_if<ir::Region>(&item);
      const std::vector<std::size_t> some =
          region ? statements_in(region->body)
                 : std::vector<std::size_t>{std::get<std::size_t>(item)};
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  // Beyond the bounds of the counter itself, which every statement of the loop's body has
  // in its domain.
  static bool reads_counter(const ir::Statement& statement, const std::string& counter) {
    if (std::ranges::find(statement.iterators, counter) == statement.iterators.end()) return false;
    bool reads = false;
    const auto look = [&](const ir::Affine& e) { reads = reads || e.uses(counter); };
    for (const ir::Constraint& c : statement.domain) {
      std::set<std::string> symbols;
      c.expr.collect_symbols(symbols);
      if (symbols.size() > 1) look(c.expr);
    }
    for (const ir::Access& write : statement.writes)
      for (const ir::Index& index : write.indices) look(index.affine);
    for (const ir::Expr& value : statement.values)
      ir::for_each_node(value, [&](const ir::ExprNode& node) {
        if (const auto* index = std::get_if<ir::IndexValue>(&node.op)) look(index->value);
        if (const auto* load = std::get_if<ir::Load>(&node.op))
          for (const ir::Index& index : load->indices) look(index.affine);
      });
    return reads;
  }
};

}  // namespace

Result<nlohmann::ordered_json> array_form(const ir::Program& program) {
  try {
    return Form(program).make();
  } catch (const NoForm& no) {
    return Decline{no.reason};
  }
}

}  // namespace polyte::lab
