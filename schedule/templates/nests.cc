#include "schedule/templates/nests.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "ir/contraction.h"
#include "ir/relations.h"
#include "schedule/cost/lanes.h"
#include "schedule/cost/nest_accesses.h"
#include "schedule/cost/operand_staging.h"
#include "schedule/script/size_expr.h"
#include "schedule/state/digits.h"

namespace polyte::schedule {
namespace {

// y[i] = sum[k] x[i + k]: a subscript along which a sum and its neighbours read the same.
bool slides(const ir::Statement& update, const ir::Index& index) {
  const auto is_sum = [&](const std::string& it) {
    return std::ranges::find(update.reductions, it) != update.reductions.end();
  };
  return !index.indirect && std::ranges::any_of(update.iterators, [&](const std::string& step) {
    return is_sum(step) && index.affine.uses(step) &&
           std::ranges::any_of(update.iterators, [&](const std::string& it) {
             return !is_sum(it) && index.affine.uses(it);
           });
  });
}

// Equal as sets of constraints: two ways to write one domain count as different, which keeps
// statements apart that could be together, never the other way round.
bool same_domain(const ir::Statement& a, const ir::Statement& b) {
  std::set<ir::Constraint> left(a.domain.begin(), a.domain.end()),
      right(b.domain.begin(), b.domain.end());
  return left == right;
}

bool starts_nest(const ir::Statement& init, const ir::Statement& update) {
  return update.region_depth == 0 && ir::starts_reduction(init, update);
}

// The definition runs once at each point of `first`, and no iteration of it depends on another one.
bool has_points_of(const ir::Statement& definition, const ir::Statement& first) {
  return definition.combiner == ir::Combiner::None && definition.region_depth == 0 &&
         std::ranges::is_permutation(definition.iterators, first.iterators) &&
         same_domain(definition, first) && ir::stay_at_their_point(definition, definition);
}

// The epilogue can run at once at the point whose sum is finished: what it touches of the members'
// tensors, they touch at the same point.
bool follows_at_point(const ir::Statement& epilogue,
                      const std::vector<const ir::Statement*>& members) {
  return has_points_of(epilogue, *members.front()) &&
         std::ranges::all_of(members, [&](const ir::Statement* member) {
           return ir::stay_at_their_point(epilogue, *member);
         });
}

// Whether a definition can share one nest with those before it, point by point: it reads what one
// of them defines, or fills the elements between those that the last one writes, and its vectors
// lie along the same loop.
//
//   a[i] = x[i] + 1        b[i] = a[i] * y[i]        b reads a at its point
//   y[2*i] = ..            y[2*i + 1] = ..           the lines of y are filled by both
bool lies_beside(const ir::Program& program, const ir::Statement& s,
                 const std::vector<const ir::Statement*>& members) {
  const ir::Statement& first = *members.front();
  const auto is_even = [&](const std::string& loop) {
    const auto stride = write_stride(program, s, loop);
    if (stride != write_stride(program, first, loop)) return false;
    return stride != 1 ||
           (can_carry_lanes(program, s, loop) && can_carry_lanes(program, first, loop) &&
            turning_loop(program, s, loop).empty() && turning_loop(program, first, loop).empty());
  };
  const auto is_read = [&](const ir::Statement* member) {
    return std::ranges::any_of(ir::reads_of(s), [&](const ir::Load* load) {
      return load->buffer == member->writes[0].buffer;
    });
  };
  const auto is_met_at_point = [&](const ir::Statement* member) {
    return ir::stay_at_their_point(s, *member) || ir::write_in_turn(s, *member);
  };
  return first.combiner == ir::Combiner::None && first.region_depth == 0 &&
         !first.iterators.empty() && has_points_of(s, first) &&
         std::ranges::all_of(members, is_met_at_point) &&
         std::ranges::all_of(first.iterators, is_even) &&
         (std::ranges::any_of(members, is_read) || ir::write_in_turn(*members.back(), s));
}

// C[i, j] += ... without an initial value: each element is added to on its own. Free iterators must
// be subscripts, or two of their iterations would add to one element.
bool adds_in_place(const ir::Statement& s) {
  if (s.combiner == ir::Combiner::None || s.region_depth > 0 || s.writes.size() != 1) return false;
  return ir::reads_apart(s, s) &&
         std::ranges::all_of(free_iterators(s), [&](const std::string& it) {
           return std::ranges::any_of(s.writes[0].indices, [&](const ir::Index& index) {
             return !index.indirect && index.affine.as_symbol() == it;
           });
         });
}

}  // namespace

std::vector<StatementGroup> group_statements(const ir::Program& program) {
  std::vector<StatementGroup> groups;
  const std::vector<ir::Statement>& all = program.statements;
  for (std::size_t i = 0; i < all.size(); ++i) {
    StatementGroup group;
    // Three kinds: an initial value with its sum and what follows at its points; a sum that adds
    // to what is there; definitions that lie beside each other.
    if (i + 1 < all.size() && starts_nest(all[i], all[i + 1])) {
      group.init = &all[i];
      group.update = &all[i + 1];
      std::vector<const ir::Statement*> members{group.init, group.update};
      for (i += 2; i < all.size() && follows_at_point(all[i], members); ++i) {
        // This definition is the initial value of the next reduction, not an epilogue of this one.
        if (i + 1 < all.size() && starts_nest(all[i], all[i + 1])) break;
        group.epilogue.push_back(&all[i]);
        members.push_back(&all[i]);
      }
      --i;
    } else if (adds_in_place(all[i])) {
      group.update = &all[i];
    } else {
      group.plain = &all[i];
      std::vector<const ir::Statement*> members{group.plain};
      const auto starts_sum = [&](std::size_t at) {
        return at + 1 < all.size() && starts_nest(all[at], all[at + 1]);
      };
      for (; i + 1 < all.size() && !starts_sum(i + 1) && lies_beside(program, all[i + 1], members);
           ++i) {
        group.epilogue.push_back(&all[i + 1]);
        members.push_back(&all[i + 1]);
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<const ir::Statement*> statements_of(const StatementGroup& group) {
  std::vector<const ir::Statement*> statements;
  for (const ir::Statement* s : {group.init, group.update, group.plain})
    if (s) statements.push_back(s);
  statements.insert(statements.end(), group.epilogue.begin(), group.epilogue.end());
  return statements;
}

std::vector<IteratorFacts> facts_of(const State& reference, const ir::Statement& statement) {
  const ir::Ranges ranges = iterator_ranges(reference, reference.at(statement.name));
  std::vector<IteratorFacts> facts;
  for (const std::string& it : statement.iterators) {
    IteratorFacts fact{it, 0, 0,
                       std::ranges::find(statement.reductions, it) != statement.reductions.end()};
    auto range = ranges.find(it);
    if (range != ranges.end() && range->second.min && range->second.max) {
      fact.begin = *range->second.min;
      fact.extent = std::max<std::int64_t>(0, *range->second.max - *range->second.min + 1);
    }
    facts.push_back(fact);
  }
  return facts;
}

const IteratorFacts* find(const std::vector<IteratorFacts>& facts, const std::string& iterator) {
  auto it = std::ranges::find(facts, iterator, &IteratorFacts::name);
  return it == facts.end() ? nullptr : &*it;
}

std::optional<std::int64_t> write_stride(const ir::Program& program, const ir::Statement& statement,
                                         const std::string& iterator) {
  return ir::stride_of(program, statement.writes[0], iterator);
}

void add_chain(Scope& scope, const ir::Program& program, const ir::Statement& first,
               const std::vector<const ir::Statement*>& after) {
  std::vector<const ir::Statement*> all = {&first};
  all.insert(all.end(), after.begin(), after.end());
  for (const char* group : {"after", "kept"}) scope.groups[group];
  for (const ir::Statement* each : after)
    scope.groups["after"].push_back({{{"after", each->name}}, {}, {}});
  for (const ir::Statement* each : inner_definitions(program, all))
    if (can_stage_accumulator(program, *each, all, false))
      scope.groups["kept"].push_back({{{"kept", each->writes[0].buffer}}, {}, {}});
}

bool reads_windows(const ir::Statement& update) {
  return std::ranges::any_of(ir::reads_of(update), [&](const ir::Load* load) {
    return std::ranges::any_of(load->indices,
                               [&](const ir::Index& index) { return slides(update, index); });
  });
}

void add_copy(Scope& operand, const std::string& tensor, std::vector<CopyLoop> loops,
              std::int64_t vector, std::int64_t threads) {
  const std::string last = loops.back().name;
  // Threads share vectors, not elements: the loop within a vector is split off before they are
  // counted.
  if (vector > 1) loops.back() = {last + ".o", loops.back().extent / vector};
  const CopyThreads shared = share_copy(loops, threads);
  operand.names["operand"] = tensor;
  operand.names["together"] = vector > 1 ? last : "";
  operand.names["vector"] = std::to_string(vector);
  operand.names["cut"] = shared.cut;
  operand.names["size"] = std::to_string(shared.size);
  operand.lists["inner"] = shared.inner;
}

std::map<std::string, std::int64_t> machine_facts(const Machine& machine, DType type) {
  return {{"L", machine.lanes(type)},
          {"cores", machine.cores},
          {"registers", machine.vector_registers},
          {"L1", machine.l1.bytes},
          {"L2", machine.l2.bytes},
          {"L3", machine.l3.bytes},
          {"bytes", size_in_bytes(type)}};
}

std::set<std::int64_t> allowed_values(const TemplateFile& file, const std::string& param,
                                      const Machine& machine, DType type) {
  const auto known = file.params.find(param);
  if (known == file.params.end()) return {};
  std::vector<std::string> texts = known->second.domain;
  if (known->second.value != "?") texts = {known->second.value};
  std::set<std::int64_t> values;
  for (const std::string& text : texts) {
    const auto value = evaluate_size(text, machine_facts(machine, type));
    if (!value)
      throw UserError(ExitStatus::InvalidInput,
                      file.origin + ": param " + param + ": " + value.error().reason);
    values.insert(*value);
  }
  return values;
}

}  // namespace polyte::schedule
