// The end-to-end criterion: every read's source, followed through copies, is the reference's. Values are
// uninterpreted, so equal sources and equal expressions give equal results, by induction along the execution.
// Only buffers whose accesses or instances changed are examined; the rest is decided by the order walk.
#include <isl/flow.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/union_map.h>
#include <isl/union_set.h>

#include <algorithm>

#include "schedule/language/contract.h"
#include "schedule/proof/clock.h"
#include "schedule/proof/prover_impl.h"
#include "schedule/proof/reduction_paths.h"

namespace polyte::schedule {
namespace {

constexpr int kMaxCopyRounds = 12;

Refusal illegal(std::string headline, Counterexample example) {
  Refusal refusal;
  refusal.kind = RefusalKind::Illegal;
  refusal.headline = std::move(headline);
  refusal.counterexamples.push_back(std::move(example));
  return refusal;
}

Refusal not_decided(std::string reason) {
  Refusal refusal;
  refusal.kind = RefusalKind::Unknown;
  refusal.headline = std::move(reason);
  return refusal;
}

isl_id* make_id(isl_ctx* ctx, const std::string& name) { return isl_id_alloc(ctx, name.c_str(), nullptr); }

// One read: who executes it (a statement's tuple or OUT), the cells, and where its guard is false.
struct Sink {
  int statement = -1;  // -1: OUT of `buffer`
  int read = 0;        // position among the statement's accesses
  int buffer = 0;
  isl::map cells;
  std::optional<isl::set> outside;  // none: unguarded
  std::string fill;                 // name of the guard's value
  bool exact = true;
  isl::set instances() const { return outside ? cells.domain().unite(*outside) : cells.domain(); }
};

std::string fill_name(const ScheduledStatement& s, int read) {
  std::vector<const ir::Load*> loads;
  for (const ir::Expr& value : s.body.values) {
    for (const ir::Load* load : ir::loads_of(value)) loads.push_back(load);
  }
  const auto at = static_cast<std::size_t>(read);
  if (at >= loads.size() || !loads[at]->otherwise) return "";
  return "FILL " + ir::to_string(loads[at]->otherwise);
}

isl::set cells_of(const IslModel& model, int buffer, const std::string& tuple) {
  const IslBuffer& b = model.buffers[static_cast<std::size_t>(buffer)];
  isl_space* space = isl_space_set_from_params(isl_set_get_space(model.context.get()));
  isl_set* base = isl_set_universe(space);
  base = isl_set_add_dims(base, isl_dim_set, static_cast<unsigned>(b.shape.size()));
  base = isl_set_set_tuple_id(base, make_id(isl_set_get_ctx(base), tuple));
  std::vector<std::string> dims;
  std::vector<ir::Constraint> bounds;
  for (std::size_t i = 0; i < b.shape.size(); ++i) {
    dims.push_back("d#" + std::to_string(i));
    bounds.push_back(ir::at_least(ir::Affine::symbol(dims[i]), 0));
    bounds.push_back(ir::less_than(ir::Affine::symbol(dims[i]), b.shape[i]));
  }
  isl::space target = isl::manage(isl_set_get_space(base));
  isl_set_free(base);
  isl::set cells = to_set(target, dims, model.params, bounds);
  return isl::manage(isl_set_intersect_params(cells.release(), model.context.copy()));
}

isl::map identity_onto(const isl::set& from, const std::string& tuple) {
  isl_map* map = isl_set_identity(from.copy());
  return isl::manage(isl_map_set_tuple_id(map, isl_dim_out, make_id(isl_map_get_ctx(map), tuple)));
}

isl::union_map to_union(const isl::map& map) { return isl::manage(isl_union_map_from_map(map.copy())); }

// Sources of reads in one model (a State's or a basis').
class SourceFinder {
 public:
  explicit SourceFinder(const IslModel& model) : model_(model), clock_(model) {}

  // sink instance -> source instance (a statement's tuple, or IN<buffer>), for the reads that read something.
  isl::union_map sources(const Sink& sink) {
    Writers& writers = writers_of(sink.buffer);
    isl::union_map reads = to_union(sink.cells);
    if (writers.injective) {
      isl::union_map claimed = reads.apply_range(writers.cells.reverse());
      return in_order(claimed, writers, sink);
    }
    return flow(reads, writers, sink);
  }
  bool exact(int buffer) { return writers_of(buffer).exact; }

 private:
  struct Writers {
    isl::union_map cells;  // writer instance -> cell
    isl::union_map times;
    bool injective = true;
    bool exact = true;
  };
  const IslModel& model_;
  Clock clock_;
  std::map<int, Writers> writers_;

  isl::map time_of(const Sink& sink) {
    if (sink.statement >= 0) return clock_.of_statement(sink.statement, sink.buffer);
    return clock_.of_virtual(sink.cells.domain(), sink.buffer, 1);
  }

  Writers& writers_of(int buffer) {
    auto [it, fresh] = writers_.try_emplace(buffer);
    if (!fresh) return it->second;
    Writers& w = it->second;
    isl_space* params = isl_set_get_space(model_.context.get());
    w.cells = isl::manage(isl_union_map_empty(isl_space_copy(params)));
    w.times = isl::manage(isl_union_map_empty(params));
    if (model_.buffers[static_cast<std::size_t>(buffer)].interface) {
      isl::set in = cells_of(model_, buffer, "IN" + std::to_string(buffer));
      add(w, identity_onto(in, "B" + std::to_string(buffer)), clock_.of_virtual(in, buffer, -1));
    }
    for (std::size_t i = 0; i < model_.statements.size(); ++i) {
      for (const IslAccess& access : model_.statements[i].accesses) {
        if (!access.write || access.buffer != buffer) continue;
        w.exact = w.exact && access.exact;
        add(w, access.cells, clock_.of_statement(static_cast<int>(i), buffer));
      }
    }
    return w;
  }

  static void add(Writers& w, const isl::map& cells, const isl::map& times) {
    isl::union_map more = to_union(cells);
    w.injective = w.injective && cells.is_injective() && w.cells.range().intersect(more.range()).is_empty();
    w.cells = w.cells.unite(more);
    w.times = w.times.unite(to_union(times));
  }

  // The pairs (sink -> source) whose source has run before the sink; the others found nothing written.
  isl::union_map in_order(const isl::union_map& claimed, const Writers& writers, const Sink& sink) {
    if (all_forwards(claimed, sink)) return claimed;
    isl::union_map times = writers.times.unite(to_union(time_of(sink)));
    isl::multi_union_pw_aff order = isl::manage(isl_multi_union_pw_aff_from_union_map(times.release()));
    isl::union_map late = isl::manage(isl_union_map_lex_le_at_multi_union_pw_aff(claimed.copy(), order.release()));
    return claimed.subtract(late);
  }

  bool all_forwards(const isl::union_map& claimed, const Sink& sink) const {
    if (sink.statement < 0) return true;
    bool forwards = true;
    claimed.foreach_map([&](isl::map map) {
      const std::string source = isl_map_get_tuple_name(map.get(), isl_dim_out);
      if (source[0] != 'S') return;
      forwards = forwards && !find_backwards(model_, std::stoi(source.substr(1)), sink.statement, map.reverse());
    });
    return forwards;
  }

  isl::union_map flow(const isl::union_map& reads, const Writers& writers, const Sink& sink) {
    isl_union_access_info* info = isl_union_access_info_from_sink(reads.copy());
    info = isl_union_access_info_set_must_source(info, writers.cells.copy());
    info = isl_union_access_info_set_schedule_map(info, writers.times.unite(to_union(time_of(sink))).release());
    isl_union_flow* result = isl_union_access_info_compute_flow(info);
    isl::union_map dependence = isl::manage(isl_union_flow_get_must_dependence(result));
    isl_union_flow_free(result);
    return dependence.reverse();
  }
};

std::vector<Sink> reads_of(const IslModel& model, int statement, const std::string& family) {
  std::vector<Sink> sinks;
  const IslStatement& s = model.statements[static_cast<std::size_t>(statement)];
  for (std::size_t k = 0; k < s.accesses.size(); ++k) {
    const IslAccess& access = s.accesses[k];
    if (access.write || model.buffers[static_cast<std::size_t>(access.buffer)].of != family) continue;
    Sink sink{statement, static_cast<int>(k), access.buffer, access.cells, access.outside, "", access.exact};
    sink.fill = fill_name(*s.statement, static_cast<int>(k));
    sinks.push_back(std::move(sink));
  }
  return sinks;
}

Sink out_sink(const IslModel& model, int buffer) {
  isl::set out = cells_of(model, buffer, "OUT" + std::to_string(buffer));
  return Sink{-1, 0, buffer, identity_onto(out, "B" + std::to_string(buffer)), {}, "", true};
}

isl::union_map with_fill(const isl::union_map& sources, const Sink& sink) {
  if (!sink.outside) return sources;
  isl_space* space = isl_space_add_unnamed_tuple_ui(isl_space_params(isl_set_get_space(sink.outside->get())), 0);
  isl_set* fill =
      isl_set_set_tuple_id(isl_set_universe(space), make_id(isl_set_get_ctx(sink.outside->get()), sink.fill));
  isl_map* map = isl_map_from_domain_and_range(sink.outside->copy(), fill);
  return sources.unite(isl::manage(isl_union_map_from_map(map)));
}

class FamilyCheck {
 public:
  FamilyCheck(const Basis& basis, const IslModel& model, std::string family)
      : basis_(basis),
        model_(model),
        family_(std::move(family)),
        then_(basis.model),
        now_(model),
        paths_(model, basis.model) {}

  std::optional<Refusal> run() {
    if (!decidable()) return not_decided("accesses of '" + family_ + "' are not affine, and its storage has changed");
    if (auto refusal = follow_copies_of()) return refusal;
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

  std::optional<Refusal> follow_copies_of() {
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
    return std::nullopt;
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
    if (!unfilled.is_empty()) return undefined_read(sink, unfilled);
    actual = actual.subtract_domain(beyond);
    isl::union_map expected = phi_of_sink(sink).apply_range(with_fill(then_.sources(*original), *original));
    undefined = undefined.intersect(expected.domain());
    if (!undefined.is_empty()) return undefined_read(sink, undefined);
    isl::union_map wrong = up_to_reduction(mapped(actual)).subtract(up_to_reduction(expected));
    if (!wrong.is_empty()) return wrong_source(sink, wrong, expected);
    return reduction_path(sink, actual, expected);
  }

  std::optional<Refusal> reduction_path(const Sink& sink, const isl::union_map& actual,
                                        const isl::union_map& expected) {
    if (!is_relaxed()) return std::nullopt;
    if (continues_a_sum(sink)) return link_refusal(sink, actual);
    const isl::union_map early = paths_.early(actual, expected);
    if (early.is_empty()) return std::nullopt;
    return path_refusal(sink, early, "a sum would be read before it is complete",
                        " reads a partial sum of " + family_ + ", ");
  }

  // An update takes its place in the path of its element.
  std::optional<Refusal> link_refusal(const Sink& sink, const isl::union_map& actual) {
    if (!actual.is_injective()) return counted_twice(sink);
    const isl::union_map leaving = paths_.leaving(sink.statement, actual);
    if (!leaving.is_empty())
      return path_refusal(sink, leaving, "a sum would go on from what an earlier computation of it has left",
                          " goes on from ");
    paths_.add(actual);
    const isl::union_map twins = paths_.twin_starts();
    if (twins.is_empty()) return std::nullopt;
    return path_refusal(sink, actual.intersect_range(twins.domain()), "a sum would be cut in two",
                        " does not go on from the others, but from ");
  }

  Refusal path_refusal(const Sink& sink, const isl::union_map& pairs, const std::string& headline,
                       const std::string& does) {
    const isl::map map = *first_map(pairs);
    const Point point = first_point(isl::manage(isl_map_wrap(map.copy())), model_.params);
    const auto own = static_cast<std::size_t>(isl_map_dim(map.get(), isl_dim_in));
    Counterexample c;
    c.sizes = point.params;
    c.size_names = model_.params;
    c.sink = sink_instance(sink, {point.values.begin(), point.values.begin() + static_cast<std::ptrdiff_t>(own)});
    c.scheduled = to_string(c.sink) + does + describe(map, point, model_);
    return illegal(headline, c);
  }

  bool continues_a_sum(const Sink& sink) const {
    if (sink.statement < 0) return false;
    const ScheduledStatement& s = *model_.statements[static_cast<std::size_t>(sink.statement)].statement;
    const IslBuffer& buffer = model_.buffers[static_cast<std::size_t>(sink.buffer)];
    return s.kind == StatementKind::Update &&
           std::ranges::any_of(s.body.writes, [&](const ir::Access& write) { return write.buffer == buffer.name; });
  }

  Refusal counted_twice(const Sink& sink) const {
    const ScheduledStatement& s = *model_.statements[static_cast<std::size_t>(sink.statement)].statement;
    Counterexample c;
    c.scheduled = "two updates of '" + s.body.name + "' continue from one value";
    return illegal("a partial sum would be counted twice", c);
  }

  static std::optional<isl::map> first_map(const isl::union_map& maps) {
    std::optional<isl::map> first;
    maps.foreach_map([&](isl::map map) {
      if (!first) first = map;
    });
    return first;
  }

  std::string describe(const isl::map& map, const Point& point, const IslModel& of) {
    const char* tuple = isl_map_get_tuple_name(map.get(), isl_dim_out);
    std::string name = tuple ? tuple : "";
    std::vector<std::int64_t> values(point.values.begin() + isl_map_dim(map.get(), isl_dim_in), point.values.end());
    if (name.rfind("FILL ", 0) == 0) return "the padding value " + name.substr(5);
    std::string cell;
    for (std::int64_t v : values) cell += (cell.empty() ? "" : ", ") + std::to_string(v);
    if (name[0] == 'I') return "the input " + family_ + "[" + cell + "]";
    if (name[0] == 'B') return "another partial sum of " + family_ + "[" + cell + "]";
    const ir::Statement& s = of.statements[static_cast<std::size_t>(std::stoi(name.substr(1)))].statement->body;
    return to_string(make_instance(s, values));
  }

  Instance sink_instance(const Sink& sink, const std::vector<std::int64_t>& values) {
    if (sink.statement < 0) {
      Instance out{"the result " + family_, {}};
      for (std::size_t i = 0; i < values.size(); ++i) out.iterators.emplace_back("d" + std::to_string(i), values[i]);
      return out;
    }
    return make_instance(model_.statements[static_cast<std::size_t>(sink.statement)].statement->body, values);
  }

  std::string sink_cell(const Sink& sink, const Point& point) {
    if (sink.statement < 0) return family_;
    const IslStatement& s = model_.statements[static_cast<std::size_t>(sink.statement)];
    return cell_text(s.accesses[static_cast<std::size_t>(sink.read)].text, s.statement->body, point, 0);
  }

  Refusal undefined_read(const Sink& sink, const isl::union_set& instances) {
    Counterexample c;
    instances.foreach_set([&](isl::set set) {
      if (!c.scheduled.empty()) return;
      Point point = first_point(set, model_.params);
      c.sizes = point.params;
      c.size_names = model_.params;
      c.sink = sink_instance(sink, point.values);
      c.watch = sink_cell(sink, point);
      c.scheduled = to_string(c.sink) + " reads " + c.watch + ", which nothing has written";
    });
    return illegal("a value would be read that was never written", c);
  }

  Refusal wrong_source(const Sink& sink, const isl::union_map& wrong, const isl::union_map& expected) {
    isl::map map = *first_map(wrong);
    Counterexample c;
    Point point = first_point(isl::manage(isl_map_wrap(map.copy())), model_.params);
    Point reader = point;
    reader.values.resize(static_cast<std::size_t>(isl_map_dim(map.get(), isl_dim_in)));
    c.sizes = point.params;
    c.size_names = model_.params;
    c.sink = sink_instance(sink, reader.values);
    c.watch = sink_cell(sink, reader);
    c.scheduled = to_string(c.sink) + " reads " + c.watch + " and gets " + describe(map, point, basis_.model);
    c.reference = to_string(c.sink) + " gets " + expected_source(map, reader, expected);
    return illegal("a read would get another value", c);
  }

  std::string expected_source(const isl::map& map, const Point& reader, const isl::union_map& expected) {
    isl_set* at = isl_set_universe(isl_space_domain(isl_map_get_space(map.get())));
    for (std::size_t i = 0; i < reader.values.size(); ++i) {
      at = isl_set_fix_si(at, isl_dim_set, static_cast<unsigned>(i), static_cast<int>(reader.values[i]));
    }
    isl::union_map here = expected.intersect_domain(isl::manage(isl_union_set_from_set(at)));
    std::optional<isl::map> first = first_map(here);
    if (!first) return "nothing";
    Point point = first_point(isl::manage(isl_map_wrap(first->copy())), model_.params);
    return describe(*first, point, basis_.model);
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
std::optional<Refusal> check_domains(const Basis& basis, const IslModel& model) {
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
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> check_sources(const Basis& basis, const IslModel& model, const std::string& buffer) {
  if (auto refusal = check_domains(basis, model)) return refusal;
  for (const IslBuffer& b : basis.model.buffers) {
    if ((!buffer.empty() && b.name != buffer) || !changed(model, basis, b.name)) continue;
    if (auto refusal = FamilyCheck(basis, model, b.name).run()) return refusal;
  }
  return std::nullopt;
}

}  // namespace polyte::schedule
