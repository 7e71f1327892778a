#include "schedule/proof/generations.h"

#include <isl/map.h>
#include <isl/set.h>
#include <isl/union_map.h>
#include <isl/union_set.h>

#include <algorithm>

#include "schedule/proof/correspondence.h"

namespace polyte::schedule {

namespace {

isl::set as_set_of(const isl::union_set& instances, const isl::set& domain) {
  isl_set* set = isl_union_set_extract_set(instances.get(), isl_set_get_space(domain.get()));
  return isl::manage(set);
}

}  // namespace

Generations::Generations(const Basis& basis, const State& contract, std::string tensor,
                         SourceFinder& then)
    : basis_(basis),
      tensor_(std::move(tensor)),
      begin_(no_pairs(basis.model)),
      previous_(no_pairs(basis.model)) {
  classify(contract);
  if (!any()) return;
  find_later_beginnings(then);
  find_beginnings();
}

void Generations::classify(const State& contract) {
  for (std::size_t i = 0; i < basis_.model.statements.size(); ++i) {
    const ir::Statement& s = basis_.model.statements[i].statement->body;
    const bool updates =
        s.combiner != ir::Combiner::None &&
        std::ranges::any_of(s.writes, [&](const ir::Access& w) { return w.buffer == tensor_; });
    const std::optional<UpdateClass> found = updates ? class_of(contract, s) : std::nullopt;
    if (!found) continue;
    classes_.emplace(static_cast<int>(i), *found);
    if (!is_reorderable(s)) by_contract_.insert(static_cast<int>(i));
  }
}

std::vector<Sink> Generations::own_reads(int statement) const {
  std::vector<Sink> sinks = reads_of(basis_.model, statement, tensor_);
  std::erase_if(sinks, [](const Sink& sink) { return !sink.own; });
  return sinks;
}

// First step: which updates begin a generation although they accumulate. u does where its own read
// has, in R, an update of another class as its source:
//
//   P: m[i] max= a[i, k]   class max
//   S: m[i] += b[t, i]     class sum; S(t = 0) reads what P has made: it begins the next generation
//
// `then` asks for the last writer among all writers, so one question per own read suffices.
void Generations::find_later_beginnings(SourceFinder& then) {
  for (const auto& [statement, own_class] : classes_) {
    const isl::set& domain = basis_.model.statements[static_cast<std::size_t>(statement)].domain;
    isl::set later = domain.subtract(domain);
    isl::union_set others = no_instances(basis_.model);
    for (const auto& [other, other_class] : classes_)
      if (other_class != own_class)
        others =
            others.unite(to_union(basis_.model.statements[static_cast<std::size_t>(other)].domain));
    if (!others.is_empty())
      for (const Sink& sink : own_reads(statement))
        later = later.unite(as_set_of(then.sources(sink).intersect_range(others).domain(), domain));
    later_.emplace(statement, later);
  }
}

// The instances of a statement that count as writers when the question is "who began it": of a
// relaxed update the later beginnings only, of every other statement all.
isl::set Generations::beginnings_of(int statement) const {
  const auto later = later_.find(statement);
  return later == later_.end() ? basis_.model.statements[static_cast<std::size_t>(statement)].domain
                               : later->second;
}

// Second step: G(u), by dataflow in which the beginnings are the only writers (docs/proof.md, 3).
// The source of u's own read is then the beginning that runs when u comes:
//
//   u joins            G(u) = that beginning
//   u is a beginning   G(u) = u, and that beginning is before(G(u)), the generation which it reads
void Generations::find_beginnings() {
  SourceFinder beginnings(basis_.model, [this](int statement) { return beginnings_of(statement); });
  for (const auto& [statement, own_class] : classes_) {
    isl::union_map running = no_pairs(basis_.model);
    for (const Sink& sink : own_reads(statement)) running = running.unite(beginnings.sources(sink));
    const isl::set& later = later_.at(statement);
    begin_ = begin_.unite(running.subtract_domain(to_union(later)))
                 .unite(to_union(isl::manage(isl_set_identity(later.copy()))));
    previous_ = previous_.unite(running.intersect_domain(to_union(later)));
  }
}

// G extended to all writers: what is no relaxed update is its own beginning.
isl::union_map Generations::begun_by(const isl::union_map& sources) const {
  const isl::union_map updates = sources.intersect_range(begin_.domain());
  return sources.subtract(updates).unite(updates.apply_range(begin_));
}

}  // namespace polyte::schedule
