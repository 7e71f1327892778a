// The end-to-end criterion (docs/proof.md): every read's source, followed through copies, is the
// reference's. Values are uninterpreted, so equal sources and equal expressions give equal results,
// by induction along the execution. Where that fails and updates may change places, the relaxed
// criterion decides (relaxed_sources.h). Only tensors whose accesses or instances changed are
// examined; the rest is decided by the order walk.
#include <isl/map.h>
#include <isl/set.h>
#include <isl/union_map.h>
#include <isl/union_set.h>

#include <algorithm>

#include "schedule/proof/prover_impl.h"
#include "schedule/proof/relaxed_sources.h"
#include "schedule/proof/transparent_copies.h"

namespace polyte::schedule {
namespace {

constexpr int kMaxCopyRounds = 12;

Refusal not_decided(std::string reason) {
  Refusal refusal;
  refusal.kind = RefusalKind::Unknown;
  refusal.headline = std::move(reason);
  return refusal;
}

// The reads of one tensor of the basis and of what holds its values.
class FamilyCheck {
 public:
  FamilyCheck(const Basis& basis, const IslModel& model, std::string family)
      : basis_(basis),
        model_(model),
        family_(std::move(family)),
        then_(basis.model),
        now_(model),
        correspondence_(model, basis.model),
        refusals_(model, basis.model, family_) {}

  std::optional<Refusal> run() {
    if (!decidable())
      return not_decided("accesses of '" + family_ +
                         "' are not affine, and its storage has changed");
    follow_copies();
    std::vector<ReadSources> reads;
    std::optional<Refusal> inexact;
    for (const Sink& sink : sinks()) {
      std::optional<ReadSources> read = find(sink);
      if (!read)
        return not_decided("a chain of copies of '" + family_ + "' is longer than " +
                           std::to_string(kMaxCopyRounds));
      if (auto refusal = check_defined(*read)) return refusal;
      if (!inexact) inexact = check_exact(*read);
      reads.push_back(*std::move(read));
    }
    if (!inexact) return std::nullopt;
    const Generations generations(basis_, *model_.state, family_, then_);
    if (!generations.any()) return inexact;
    return RelaxedSources(basis_, model_, correspondence_, generations, refusals_).check(reads);
  }

 private:
  const Basis& basis_;
  const IslModel& model_;
  std::string family_;
  SourceFinder then_, now_;
  Correspondence correspondence_;
  isl::union_map copies_;  // copy instance -> its source
  SourceRefusals refusals_;

  bool decidable() {
    for (const IslModel* model : {&basis_.model, &model_}) {
      for (const IslStatement& s : model->statements) {
        for (const IslAccess& access : s.accesses) {
          if (model->buffers[static_cast<std::size_t>(access.buffer)].of == family_ &&
              !access.exact)
            return false;
        }
      }
    }
    return true;
  }

  // Updates first: what a person sees is the first value that differs.
  std::vector<Sink> sinks() const {
    std::vector<Sink> result;
    for (const bool updates : {true, false}) {
      for (std::size_t i = 0; i < model_.statements.size(); ++i) {
        const StatementKind kind = model_.statements[i].statement->kind;
        if (kind == StatementKind::Copy || (kind == StatementKind::Update) != updates) continue;
        for (Sink& sink : reads_of(model_, static_cast<int>(i), family_))
          result.push_back(std::move(sink));
      }
    }
    const int buffer = buffer_index(model_, family_);
    if (model_.buffers[static_cast<std::size_t>(buffer)].output)
      result.push_back(out_sink(model_, buffer));
    return result;
  }

  void follow_copies() {
    copies_ = no_pairs(model_);
    for (std::size_t i = 0; i < model_.statements.size(); ++i) {
      const ScheduledStatement& s = *model_.statements[i].statement;
      if (s.kind != StatementKind::Copy) continue;
      for (const Sink& sink : reads_of(model_, static_cast<int>(i), family_))
        copies_ = copies_.unite(with_fill(now_.sources(sink), sink));
    }
  }

  bool is_copy(const char* tuple) const {
    const int at = statement_of_tuple(tuple);
    return at >= 0 &&
           model_.statements[static_cast<std::size_t>(at)].statement->kind == StatementKind::Copy;
  }

  // Sources after copies; nullopt if a chain does not end.
  std::optional<isl::union_map> followed(isl::union_map sources) {
    for (int round = 0; round < kMaxCopyRounds; ++round) {
      isl::union_map of_copies = no_pairs(model_), others = no_pairs(model_);
      sources.foreach_map([&](isl::map map) {
        isl::union_map& part =
            is_copy(isl_map_get_tuple_name(map.get(), isl_dim_out)) ? of_copies : others;
        part = part.unite(to_union(map));
      });
      if (of_copies.is_empty()) return sources;
      sources = others.unite(of_copies.apply_range(copies_)).coalesce();
    }
    return std::nullopt;
  }

  Sink reference_sink(const Sink& sink) {
    if (sink.statement < 0) return out_sink(basis_.model, buffer_index(basis_.model, family_));
    const ScheduledStatement& s =
        *model_.statements[static_cast<std::size_t>(sink.statement)].statement;
    for (Sink& candidate :
         reads_of(basis_.model, statement_index(basis_.model, s.reference), family_)) {
      if (candidate.read == sink.read) return std::move(candidate);
    }
    throw InternalError("a read of '" + family_ + "' in '" + s.body.name +
                        "' has no counterpart in the reference");
  }

  std::optional<ReadSources> find(const Sink& sink) {
    std::optional<isl::union_map> actual = followed(with_fill(now_.sources(sink), sink));
    if (!actual) return std::nullopt;
    const Sink original = reference_sink(sink);
    const isl::union_map reference = with_fill(then_.sources(original), original);
    return ReadSources{sink, *std::move(actual), reference,
                       correspondence_.of_sink(sink).apply_range(reference)};
  }

  // Instances of a padded statement that the reference has not. What they read has to exist;
  // what they make is no value of the reference, so that a read that takes it has another
  // source than there.
  isl::union_set beyond_reference(const Sink& sink) {
    if (sink.statement < 0) return no_instances(model_);
    const IslStatement& s = model_.statements[static_cast<std::size_t>(sink.statement)];
    if (!s.statement->padded) return no_instances(model_);
    const int at = statement_index(basis_.model, s.statement->reference);
    const isl::set known = basis_.model.statements[static_cast<std::size_t>(at)].domain;
    const isl::map phi = *phi_of(model_, sink.statement, basis_.model);
    isl_set* inside = isl_set_apply(known.copy(), isl_map_reverse(phi.copy()));
    return isl::manage(isl_union_set_from_set(isl_set_subtract(s.domain.copy(), inside)));
  }

  // Every read takes something. Leaves the instances beyond the reference out of what it found.
  std::optional<Refusal> check_defined(ReadSources& read) {
    const isl::union_set undefined = to_union(read.sink.instances()).subtract(read.actual.domain());
    const isl::union_set beyond = beyond_reference(read.sink);
    const isl::union_set unfilled = undefined.intersect(beyond);
    if (!unfilled.is_empty()) return refusals_.undefined_read(read.sink, unfilled);
    read.actual = read.actual.subtract_domain(beyond);
    const isl::union_set missing = undefined.intersect(read.expected.domain());
    if (!missing.is_empty()) return refusals_.undefined_read(read.sink, missing);
    return std::nullopt;
  }

  // Asked of instances of the reference: phi is defined wherever the sink reads, and the sources
  // that the reference has are written without divisions, where those that are expected of the
  // sink, which fused its loops, are not.
  std::optional<Refusal> check_exact(const ReadSources& read) {
    const isl::union_map actual = correspondence_.of_range(read.actual);
    if (actual.apply_domain(correspondence_.of_sink(read.sink)).is_subset(read.reference))
      return std::nullopt;
    return refusals_.wrong_source(read.sink, actual.subtract(read.expected), read.expected);
  }
};

bool runs(const IslModel& model, const std::string& reference) {
  return std::ranges::any_of(
      model.statements, [&](const IslStatement& s) { return s.statement->reference == reference; });
}

bool changed(const IslModel& model, const Basis& basis, const std::string& buffer) {
  bool written = false;
  for (const IslStatement& s : basis.model.statements) {
    for (const IslAccess& a : s.accesses) {
      if (!a.write || basis.model.buffers[static_cast<std::size_t>(a.buffer)].name != buffer)
        continue;
      written = true;
      if (!runs(model, s.statement->body.name)) return true;
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

// Statements that keep their instances must run all of them, once, and no others: by themselves, or
// in the parts that a cut has made of them.
void check_domains(const Basis& basis, const IslModel& model) {
  for (const IslStatement& then : basis.model.statements) {
    std::optional<isl::set> now;
    bool all_keep = true;
    for (const IslStatement& s : model.statements) {
      if (s.statement->reference != then.statement->body.name) continue;
      all_keep = all_keep && keeps_instances(*s.statement);
      if (!keeps_instances(*s.statement)) continue;
      const isl::set part = isl::manage(
          isl_set_set_tuple_id(s.domain.copy(), isl_set_get_tuple_id(then.domain.get())));
      POLYTE_CHECK(!now || now->intersect(part).is_empty(),
                   "'" + s.statement->body.name + "' repeats instances");
      now = now ? now->unite(part) : part;
    }
    if (!now) continue;
    const bool same = all_keep ? now->is_equal(then.domain) : now->is_subset(then.domain);
    POLYTE_CHECK(same, "statement '" + then.statement->body.name + "' lost or gained instances");
  }
}

}  // namespace

std::optional<Refusal> check_sources(const Basis& basis, const IslModel& model,
                                     const std::string& buffer) {
  check_domains(basis, model);
  for (const IslBuffer& b : basis.model.buffers) {
    if ((!buffer.empty() && b.name != buffer) || !changed(model, basis, b.name)) continue;
    const IslModel in_place = without_transparent_copies(model, b.name);
    if (!changed(in_place, basis, b.name) && runs_forwards(basis, in_place, b.name)) continue;
    if (auto refusal = FamilyCheck(basis, in_place, b.name).run()) return refusal;
  }
  return std::nullopt;
}

}  // namespace polyte::schedule
