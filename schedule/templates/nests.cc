#include "schedule/templates/nests.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "ir/contraction.h"
#include "schedule/language/digits.h"

namespace polyte::schedule {
namespace {

bool is_update_of(const ir::Statement& update, const ir::Statement& init) {
  return update.combiner != ir::Combiner::None && init.combiner == ir::Combiner::None && !init.guard &&
         update.writes[0].buffer == init.writes[0].buffer && update.region_depth == 0;
}

std::vector<std::string> free_iterators(const ir::Statement& update) {
  std::vector<std::string> free;
  for (const std::string& it : update.iterators) {
    if (std::ranges::find(update.reductions, it) == update.reductions.end()) free.push_back(it);
  }
  return free;
}

bool same_iterators(const ir::Statement& statement, const std::vector<std::string>& free) {
  return std::set<std::string>(statement.iterators.begin(), statement.iterators.end()) ==
         std::set<std::string>(free.begin(), free.end());
}

bool same_domain(const ir::Statement& a, const ir::Statement& b) {
  std::set<ir::Constraint> left(a.domain.begin(), a.domain.end()), right(b.domain.begin(), b.domain.end());
  return left == right;
}

// Accesses to another buffer, or to the same element at each point.
bool is_apart_or_same(const std::string& buffer, const std::vector<ir::Index>& indices, const std::string& other,
                      const std::vector<ir::Index>& others) {
  if (buffer != other) return true;
  return std::ranges::equal(indices, others, [](const ir::Index& a, const ir::Index& b) {
    return !a.indirect && !b.indirect && a.affine == b.affine;
  });
}

// An epilogue runs at the point that the accumulator has just finished: what the nest writes it may read and write at
// its own subscripts only, and it may not write what the nest reads elsewhere.
bool stays_at_own_point(const ir::Statement& epilogue, const std::vector<const ir::Statement*>& members) {
  const ir::Access& own = epilogue.writes[0];
  return std::ranges::all_of(members, [&](const ir::Statement* member) {
    const ir::Access& write = member->writes[0];
    const auto reads_apart = [&](const ir::Statement& s, const ir::Access& from) {
      return std::ranges::all_of(s.values, [&](const ir::Expr& value) {
        return std::ranges::all_of(ir::loads_of(value), [&](const ir::Load* load) {
          return is_apart_or_same(load->buffer, load->indices, from.buffer, from.indices);
        });
      });
    };
    return is_apart_or_same(own.buffer, own.indices, write.buffer, write.indices) && reads_apart(epilogue, write) &&
           reads_apart(*member, own);
  });
}

// C[i, j] += ... on what is there already, each element by itself.
bool adds_in_place(const ir::Statement& s) {
  if (s.combiner == ir::Combiner::None || s.region_depth > 0 || s.writes.size() != 1) return false;
  return std::ranges::all_of(free_iterators(s), [&](const std::string& it) {
    return std::ranges::any_of(
        s.writes[0].indices, [&](const ir::Index& index) { return !index.indirect && index.affine.as_symbol() == it; });
  });
}

}  // namespace

std::vector<NestPlan> plan_nests(const ir::Program& program) {
  std::vector<NestPlan> plans;
  const std::vector<ir::Statement>& all = program.statements;
  for (std::size_t i = 0; i < all.size(); ++i) {
    NestPlan plan;
    if (i + 1 < all.size() && is_update_of(all[i + 1], all[i]) && same_iterators(all[i], free_iterators(all[i + 1]))) {
      plan.init = &all[i];
      plan.update = &all[i + 1];
      std::vector<const ir::Statement*> members{plan.init, plan.update};
      i += 2;
      for (; i < all.size() && all[i].combiner == ir::Combiner::None && all[i].region_depth == 0; ++i) {
        bool next_reduction = i + 1 < all.size() && is_update_of(all[i + 1], all[i]);
        if (next_reduction || !same_iterators(all[i], plan.init->iterators) || !same_domain(all[i], *plan.init)) break;
        if (!stays_at_own_point(all[i], members)) break;
        plan.epilogue.push_back(&all[i]);
        members.push_back(&all[i]);
      }
      --i;
    } else if (adds_in_place(all[i])) {
      plan.update = &all[i];
    } else {
      plan.plain = &all[i];
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

std::vector<IteratorFacts> facts_of(const State& reference, const ir::Statement& statement) {
  const ir::Ranges ranges = iterator_ranges(reference, reference.at(statement.name));
  std::vector<IteratorFacts> facts;
  for (const std::string& it : statement.iterators) {
    IteratorFacts fact{it, 0, 0, std::ranges::find(statement.reductions, it) != statement.reductions.end()};
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

std::optional<std::int64_t> load_stride(const ir::Program& program, const ir::Statement& statement,
                                        const std::string& iterator) {
  std::int64_t largest = 0;
  for (const ir::Expr& value : statement.values) {
    for (const ir::Load* load : ir::loads_of(value)) {
      std::optional<std::int64_t> stride = ir::stride_of(program, *load, iterator);
      if (!stride) return std::nullopt;
      largest = std::max(largest, std::abs(*stride));
    }
  }
  return largest;
}

}  // namespace polyte::schedule
