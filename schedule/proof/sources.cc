// The end-to-end criterion: every read's source, followed through copies, is the reference's. Values are
// uninterpreted, so equal sources and equal expressions give equal results, by induction along the execution.
// Only buffers whose accesses or instances changed are examined; the rest is decided by the order walk.
#include <isl/map.h>
#include <isl/set.h>
#include <isl/union_map.h>
#include <isl/union_set.h>

#include <algorithm>

#include "schedule/language/contract.h"
#include "schedule/proof/prover_impl.h"
#include "schedule/proof/reduction_paths.h"
#include "schedule/proof/source_finder.h"
#include "schedule/proof/source_refusals.h"

namespace polyte::schedule {
namespace {

constexpr int kMaxCopyRounds = 12;

Refusal not_decided(std::string reason) {
  Refusal refusal;
  refusal.kind = RefusalKind::Unknown;
  refusal.headline = std::move(reason);
  return refusal;
}

class FamilyCheck {
 public:
  FamilyCheck(const Basis& basis, const IslModel& model, std::string family)
      : basis_(basis),
        model_(model),
        family_(std::move(family)),
        then_(basis.model),
        now_(model),
        paths_(model, basis.model),
        refusals_(model, basis.model, family_) {}

  std::optional<Refusal> run() {
    if (!decidable()) return not_decided("accesses of '" + family_ + "' are not affine, and its storage has changed");
    follow_copies();
    // Updates first: readers are held against the values that updates go on from.
    for (const bool updates : {true, false}) {
      for (std::size_t i = 0; i < model_.statements.size(); ++i) {
        const StatementKind kind = model_.statements[i].statement->kind;
        if (kind == StatementKind::Copy || (kind == StatementKind::Update) != updates) continue;
        for (const Sink& sink : reads_of(model_, static_cast<int>(i), family_)) {
          if (auto refusal = check(sink)) return refusal;
        }
      }
    }
    int buffer = buffer_index(model_, family_);
    if (model_.buffers[static_cast<std::size_t>(buffer)].output) return check(out_sink(model_, buffer));
    return std::nullopt;
  }

 private:
  const Basis& basis_;
  const IslModel& model_;
  std::string family_;
  SourceFinder then_, now_;
  isl::union_map copies_;  // copy instance -> its source
  isl::union_set copy_instances_;
  ReductionPaths paths_;
  SourceRefusals refusals_;

  bool decidable() {
    for (const IslModel* model : {&basis_.model, &model_}) {
      for (const IslStatement& s : model->statements) {
        for (const IslAccess& access : s.accesses) {
          if (model->buffers[static_cast<std::size_t>(access.buffer)].of == family_ && !access.exact) return false;
        }
      }
    }
    return true;
  }

  void follow_copies() {
    isl_space* params = isl_set_get_space(model_.context.get());
    copies_ = isl::manage(isl_union_map_empty(isl_space_copy(params)));
    copy_instances_ = isl::manage(isl_union_set_empty(params));
    for (std::size_t i = 0; i < model_.statements.size(); ++i) {
      const ScheduledStatement& s = *model_.statements[i].statement;
      if (s.kind != StatementKind::Copy) continue;
      for (const Sink& sink : reads_of(model_, static_cast<int>(i), family_)) {
        copies_ = copies_.unite(with_fill(now_.sources(sink), sink));
        copy_instances_ =
            copy_instances_.unite(isl::manage(isl_union_set_from_set(model_.statements[i].domain.copy())));
      }
    }
  }

  // Sources after copies; nullopt if a chain does not end.
  std::optional<isl::union_map> followed(isl::union_map sources) {
    for (int round = 0; round < kMaxCopyRounds; ++round) {
      isl::union_map into_copies = sources.intersect_range(copy_instances_);
      if (into_copies.is_empty()) return sources;
      sources = sources.subtract(into_copies).unite(into_copies.apply_range(copies_)).coalesce();
    }
    return std::nullopt;
  }

  // Instances of the model and of IN as the reference's.
  isl::union_map to_reference() {
    isl_space* params = isl_set_get_space(model_.context.get());
    isl::union_map map = isl::manage(isl_union_map_empty(params));
    for (std::size_t i = 0; i < model_.statements.size(); ++i) {
      std::optional<isl::map> phi = phi_of(model_, static_cast<int>(i), basis_.model);
      if (phi) map = map.unite(to_union(*phi));
    }
    return map;
  }

  isl::union_map mapped(const isl::union_map& sources) {
    isl::union_set virtual_range = isl::manage(isl_union_set_empty(isl_set_get_space(model_.context.get())));
    sources.range().foreach_set([&](isl::set set) {
      const char* name = isl_set_get_tuple_name(set.get());
      if (name && name[0] != 'S') virtual_range = virtual_range.unite(isl::manage(isl_union_set_from_set(set.copy())));
    });
    isl::union_map plain = sources.subtract_range(virtual_range);
    return plain.apply_range(to_reference()).unite(sources.intersect_range(virtual_range));
  }

  // True where the contract lets the updates of this buffer run in another order. Where it does so for some of their
  // loops, the order walk has to say what happened to the others.
  // Not where something else goes on from a partial sum (the scale of a running maximum): there sources are exact.
  bool is_relaxed() const {
    const std::vector<ScheduledStatement>& statements = basis_.state.statements;
    const auto writes = [&](const ScheduledStatement& s) { return s.body.writes.front().buffer == family_; };
    const auto is_walked = [&](const ScheduledStatement& update) {
      return std::ranges::all_of(model_.state->statements, [&](const ScheduledStatement& s) {
        return s.reference != update.reference || keeps_instances(s);
      });
    };
    return std::ranges::any_of(statements,
                               [&](const ScheduledStatement& s) {
                                 return writes(s) && s.kind == StatementKind::Update &&
                                        !reorderable_iterators(*model_.state, s.body).empty() &&
                                        (model_.state->may_reorder(s.body) || is_walked(s));
                               }) &&
           std::ranges::none_of(
               statements, [&](const ScheduledStatement& s) { return writes(s) && s.kind == StatementKind::Plain; });
  }

  // Under `reassoc` the updates and the initial value of one cell count as one source.
  isl::union_map up_to_reduction(const isl::union_map& sources) {
    isl::union_map result = sources;
    if (!is_relaxed()) return result;
    for (std::size_t i = 0; i < basis_.model.statements.size(); ++i) {
      const IslStatement& s = basis_.model.statements[i];
      if (s.statement->kind == StatementKind::Plain) continue;
      for (const IslAccess& access : s.accesses) {
        if (!access.write) continue;
        isl::union_map here = result.intersect_range(isl::manage(isl_union_set_from_set(s.domain.copy())));
        result = result.subtract(here).unite(here.apply_range(to_union(access.cells)));
        break;
      }
    }
    return result;
  }

  std::optional<Sink> reference_sink(const Sink& sink) {
    if (sink.statement < 0) return out_sink(basis_.model, buffer_index(basis_.model, family_));
    const ScheduledStatement& s = *model_.statements[static_cast<std::size_t>(sink.statement)].statement;
    for (Sink& candidate : reads_of(basis_.model, statement_index(basis_.model, s.reference), family_)) {
      if (candidate.read == sink.read) return std::move(candidate);
    }
    return std::nullopt;
  }

  isl::union_map phi_of_sink(const Sink& sink) {
    if (sink.statement >= 0) return to_union(*phi_of(model_, sink.statement, basis_.model));
    isl::set out = sink.cells.domain();
    return to_union(isl::manage(isl_set_identity(out.copy())));
  }

  // Instances of a padded statement that the reference has not. What they read has to exist; what they make is no
  // value of the reference, so that a read that takes it has another source than there.
  isl::union_set beyond_reference(const Sink& sink) {
    isl::union_set none = isl::manage(isl_union_set_empty(isl_set_get_space(model_.context.get())));
    if (sink.statement < 0) return none;
    const IslStatement& s = model_.statements[static_cast<std::size_t>(sink.statement)];
    if (!s.statement->padded) return none;
    const int at = statement_index(basis_.model, s.statement->reference);
    const isl::set known = basis_.model.statements[static_cast<std::size_t>(at)].domain;
    const isl::map phi = *phi_of(model_, sink.statement, basis_.model);
    isl_set* inside = isl_set_apply(known.copy(), isl_map_reverse(phi.copy()));
    return isl::manage(isl_union_set_from_set(isl_set_subtract(s.domain.copy(), inside)));
  }

  std::optional<Refusal> check(const Sink& sink) {
    std::optional<Sink> original = reference_sink(sink);
    POLYTE_CHECK(original.has_value(), "a read of '" + family_ + "' has no counterpart in the reference");
    std::optional<isl::union_map> found = followed(with_fill(now_.sources(sink), sink));
    if (!found)
      return not_decided("a chain of copies of '" + family_ + "' is longer than " + std::to_string(kMaxCopyRounds));
    isl::union_map actual = *found;
    isl::union_set undefined =
        isl::manage(isl_union_set_from_set(sink.instances().release())).subtract(actual.domain());
    const isl::union_set beyond = beyond_reference(sink);
    const isl::union_set unfilled = undefined.intersect(beyond);
    if (!unfilled.is_empty()) return refusals_.undefined_read(sink, unfilled);
    actual = actual.subtract_domain(beyond);
    isl::union_map expected = phi_of_sink(sink).apply_range(with_fill(then_.sources(*original), *original));
    undefined = undefined.intersect(expected.domain());
    if (!undefined.is_empty()) return refusals_.undefined_read(sink, undefined);
    isl::union_map wrong = up_to_reduction(mapped(actual)).subtract(up_to_reduction(expected));
    if (!wrong.is_empty()) return refusals_.wrong_source(sink, wrong, expected);
    return reduction_path(sink, actual, expected);
  }

  std::optional<Refusal> reduction_path(const Sink& sink, const isl::union_map& actual,
                                        const isl::union_map& expected) {
    if (!is_relaxed()) return std::nullopt;
    if (continues_a_sum(sink)) return link_refusal(sink, actual);
    const isl::union_map early = paths_.early(actual, expected);
    if (early.is_empty()) return std::nullopt;
    return refusals_.wrong_path(sink, early, "a sum would be read before it is complete",
                                " reads a partial sum of " + family_ + ", ");
  }

  // An update takes its place in the path of its element.
  std::optional<Refusal> link_refusal(const Sink& sink, const isl::union_map& actual) {
    if (!actual.is_injective()) return refusals_.counted_twice(sink);
    const isl::union_map leaving = paths_.leaving(sink.statement, actual);
    if (!leaving.is_empty())
      return refusals_.wrong_path(sink, leaving, "a sum would go on from what an earlier computation of it has left",
                                  " goes on from ");
    paths_.add(actual);
    const isl::union_map twins = paths_.twin_starts();
    if (twins.is_empty()) return std::nullopt;
    return refusals_.wrong_path(sink, actual.intersect_range(twins.domain()), "a sum would be cut in two",
                                " does not go on from the others, but from ");
  }

  bool continues_a_sum(const Sink& sink) const {
    if (sink.statement < 0) return false;
    const ScheduledStatement& s = *model_.statements[static_cast<std::size_t>(sink.statement)].statement;
    const IslBuffer& buffer = model_.buffers[static_cast<std::size_t>(sink.buffer)];
    return s.kind == StatementKind::Update &&
           std::ranges::any_of(s.body.writes, [&](const ir::Access& write) { return write.buffer == buffer.name; });
  }
};

bool changed(const IslModel& model, const Basis& basis, const std::string& buffer) {
  bool written = false;
  for (const IslStatement& s : basis.model.statements) {
    for (const IslAccess& a : s.accesses) {
      if (!a.write || basis.model.buffers[static_cast<std::size_t>(a.buffer)].name != buffer) continue;
      written = true;
      if (statement_index(model, s.statement->body.name) < 0) return true;
    }
  }
  for (const IslBuffer& b : model.buffers) {
    if (b.of == buffer && b.name != buffer) return true;
  }
  if (!written) return false;
  for (const IslStatement& s : model.statements) {
    if (keeps_instances(*s.statement)) continue;
    for (const IslAccess& a : s.accesses) {
      if (model.buffers[static_cast<std::size_t>(a.buffer)].of == buffer) return true;
    }
  }
  return false;
}

// Statements that keep their instances must run all of them, and no others.
void check_domains(const Basis& basis, const IslModel& model) {
  for (const IslStatement& s : model.statements) {
    if (!keeps_instances(*s.statement)) continue;
    int at = statement_index(basis.model, s.statement->reference);
    isl_set* then = basis.model.statements[static_cast<std::size_t>(at)].domain.copy();
    isl_set* now = isl_set_set_tuple_id(s.domain.copy(), isl_set_get_tuple_id(then));
    bool same = isl_set_is_equal(now, then) == isl_bool_true;
    isl_set_free(now);
    isl_set_free(then);
    POLYTE_CHECK(same, "statement '" + s.statement->body.name + "' lost or gained instances");
  }
}

}  // namespace

std::optional<Refusal> check_sources(const Basis& basis, const IslModel& model, const std::string& buffer) {
  check_domains(basis, model);
  for (const IslBuffer& b : basis.model.buffers) {
    if ((!buffer.empty() && b.name != buffer) || !changed(model, basis, b.name)) continue;
    if (auto refusal = FamilyCheck(basis, model, b.name).run()) return refusal;
  }
  return std::nullopt;
}

}  // namespace polyte::schedule
