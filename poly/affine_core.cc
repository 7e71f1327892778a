#include "poly/affine_core.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/schedule.h>
#include <isl/schedule_node.h>
#include <isl/union_map.h>

#include <algorithm>
#include <set>

#include "ir/relations.h"
#include "poly/core_reader.h"
#include "schedule/proof/dependences.h"
#include "schedule/proof/isl_faults.h"

namespace polyte::poly {
namespace {

using schedule::Dependence;
using schedule::DependenceKind;
using schedule::IslContext;
using schedule::IslModel;

// A cluster is a reduction with its initial value, or any other statement by itself.
std::vector<Cluster> make_clusters(const ir::Program& program) {
  std::vector<Cluster> clusters;
  for (std::size_t i = 0; i < program.statements.size(); ++i) {
    Cluster cluster;
    cluster.iterators = program.statements[i].iterators;
    cluster.statements.push_back(&program.statements[i]);
    const bool has_next = i + 1 < program.statements.size();
    if (has_next && ir::starts_reduction(program.statements[i], program.statements[i + 1]))
      cluster.statements.push_back(&program.statements[++i]);
    clusters.push_back(std::move(cluster));
  }
  return clusters;
}

// The Program contracted to clusters, as isl maps and dependences.
class Contraction {
 public:
  // Point-wise definitions join the cluster before them.
  Contraction(const IslModel& model, const std::vector<Dependence>& dependences,
              std::vector<Cluster> clusters)
      : model_(model), dependences_(dependences), clusters_(std::move(clusters)) {
    join_tails();
    build();
  }

  const std::vector<Cluster>& clusters() const { return clusters_; }
  isl::union_set domain() const { return domain_; }
  isl::union_map validity() const { return validity_; }
  isl::union_map flow() const { return flow_; }
  // A reduction may change places with another of its element, but not run beside it.
  isl::union_map coincidence() const { return validity_.unite(reductions_); }

 private:
  const IslModel& model_;
  const std::vector<Dependence>& dependences_;
  std::vector<Cluster> clusters_;
  isl::union_set domain_;
  isl::union_map validity_, flow_, reductions_;

  int statement_number(const ir::Statement* s) const {
    return schedule::statement_index(model_, s->name);
  }

  // Instances of a statement -> instances of its cluster (its leading common iterators). Instances
  // that differ in the iterators of a sum alone fall together.
  isl::map onto_cluster(const ir::Statement& s, const Cluster& cluster, std::size_t number) const {
    const int at = statement_number(&s);
    isl::set domain = model_.statements[static_cast<std::size_t>(at)].domain;
    std::vector<isl::aff> values;
    for (const std::string& it : cluster.iterators) {
      values.push_back(
          schedule::to_aff(domain.get_space(), s.iterators, model_.params, ir::Affine::symbol(it)));
    }
    isl::multi_aff map =
        schedule::to_multi_aff(domain.get_space(), "C" + std::to_string(number), values);
    return isl::manage(
        isl_map_intersect_domain(isl_map_from_multi_aff(map.release()), domain.release()));
  }

  enum class Kind { Flow, Order, Reduction };  // Order: all but those of a reduction on itself

  static bool is_of(const Dependence& d, Kind kind) {
    if (kind == Kind::Reduction) return is_reduction(d);
    return !is_reduction(d) && (kind == Kind::Order || d.kind == DependenceKind::Flow);
  }

  // Contracted dependences between two clusters; empty where they do not depend on each other.
  isl::union_map between(std::size_t a, std::size_t b, Kind kind) const {
    isl::union_map result =
        isl::manage(isl_union_map_empty(isl_set_get_space(model_.context.get())));
    for (const Dependence& d : dependences_) {
      if (!is_of(d, kind)) continue;
      for (const ir::Statement* s : clusters_[a].statements) {
        for (const ir::Statement* t : clusters_[b].statements) {
          if (statement_number(s) != d.source || statement_number(t) != d.sink) continue;
          isl::map pairs = d.pairs.apply_domain(onto_cluster(*s, clusters_[a], a))
                               .apply_range(onto_cluster(*t, clusters_[b], b));
          result = result.unite(isl::manage(isl_union_map_from_map(pairs.release())));
        }
      }
    }
    return result;
  }

  bool same_box(const Cluster& a, const Cluster& b) const {
    const auto& s = model_.statements[static_cast<std::size_t>(statement_number(a.statements[0]))];
    const auto& t = model_.statements[static_cast<std::size_t>(statement_number(b.statements[0]))];
    isl::set renamed =
        isl::manage(isl_set_set_tuple_id(t.domain.copy(), isl_set_get_tuple_id(s.domain.get())));
    return a.iterators == b.iterators &&
           isl_set_is_equal(s.domain.get(), renamed.get()) == isl_bool_true;
  }

  // A definition joins the cluster before it where its points need that cluster's values of the
  // same point only (acc, then y = max(acc, 0)), or where the two fill the same cache lines in turn
  // (y[2*i] and y[2*i + 1]).
  void join_tails() {
    for (std::size_t i = 1; i < clusters_.size();) {
      Cluster& before = clusters_[i - 1];
      Cluster& tail = clusters_[i];
      const bool plain =
          tail.statements.size() == 1 && tail.statements[0]->combiner == ir::Combiner::None;
      if (plain && same_box(before, tail) &&
          ((same_cells(before, *tail.statements[0]) && point_wise(i - 1, i)) ||
           (in_turn(before, *tail.statements[0]) && stays_at_point(i - 1, i)))) {
        before.statements.push_back(tail.statements[0]);
        clusters_.erase(clusters_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
  }

  // C[j, i] = C[i, j] stays at the cluster's point, but not at its cell: a register that holds
  // C[i, j] for the point has no room for C[j, i].
  static bool same_cells(const Cluster& before, const ir::Statement& tail) {
    return std::ranges::all_of(before.statements, [&](const ir::Statement* s) {
      return ir::stay_at_their_point(*s, tail);
    });
  }

  static bool in_turn(const Cluster& before, const ir::Statement& tail) {
    return ir::write_in_turn(*before.statements.back(), tail) &&
           std::ranges::all_of(before.statements, [&](const ir::Statement* s) {
             return s->combiner == ir::Combiner::None &&
                    (ir::write_in_turn(*s, tail) || ir::stay_at_their_point(*s, tail));
           });
  }

  bool point_wise(std::size_t a, std::size_t b) const {
    return !between(a, b, Kind::Order).is_empty() && stays_at_point(a, b);
  }

  // Whether each ordered pair is of two instances at one point. The clusters have the same
  // iterators, so that a map between them, once its tuples have one name, has to be part of the
  // identity.
  bool stays_at_point(std::size_t a, std::size_t b) const {
    isl::union_map pairs = between(a, b, Kind::Order);
    bool identical = true;
    pairs.foreach_map([&](isl::map map) {
      const isl::map renamed = map.set_range_tuple(map.domain_tuple_id());
      const isl::map identity = isl::manage(isl_map_identity(renamed.space().release()));
      identical = identical && renamed.is_subset(identity);
    });
    return identical;
  }

  void build() {
    domain_ = isl::manage(isl_union_set_empty(isl_set_get_space(model_.context.get())));
    validity_ = isl::manage(isl_union_map_empty(isl_set_get_space(model_.context.get())));
    flow_ = reductions_ = validity_;
    for (std::size_t a = 0; a < clusters_.size(); ++a) {
      for (const ir::Statement* s : clusters_[a].statements) {
        isl::set points = onto_cluster(*s, clusters_[a], a).range();
        domain_ = domain_.unite(isl::manage(isl_union_set_from_set(points.release())));
      }
      for (std::size_t b = 0; b < clusters_.size(); ++b) {
        isl::union_map order = between(a, b, Kind::Order),
                       reductions = between(a, b, Kind::Reduction);
        // What runs at one point of a cluster keeps the order of the text. isl sees one instance
        // there, and no schedule puts an instance before itself.
        if (a == b) {
          order = order.subtract(domain_.identity());
          reductions = reductions.subtract(domain_.identity());
        } else {
          flow_ = flow_.unite(between(a, b, Kind::Flow));
        }
        validity_ = validity_.unite(order);
        reductions_ = reductions_.unite(reductions);
      }
    }
  }
};

struct Attempt {
  const char* name;
  bool gist;
  bool serialize;  // one strongly connected component a nest
  bool outer_coincident;
};
// From the most fused to the most modest; the reference order is what remains when all
// are declined.
constexpr Attempt kAttempts[] = {{"fused, parallel outermost", true, false, true},
                                 {"serial components, gisted", true, true, true},
                                 {"serial components", false, true, false}};

// Not whole_component: isl schedules strongly connected components first and then joins them.
// treat_coalescing and the limits on coefficients and constants keep out rows that run two loops as
// one, or one loop behind the end of another in the same band. With outer_coincidence the outermost
// row of each band has to be parallel. Gisting removes from a relation what the domains imply:
// distances become constants where they can, and isl's linear programs are smaller.
isl::schedule run_isl(const IslContext& context, const Contraction& contraction,
                      const Attempt& attempt) {
  isl_ctx* ctx = context.get().get();
  isl_options_set_schedule_whole_component(ctx, 0);
  isl_options_set_schedule_treat_coalescing(ctx, 1);
  isl_options_set_schedule_max_coefficient(ctx, 20);
  isl_options_set_schedule_max_constant_term(ctx, 20);
  isl_options_set_schedule_serialize_sccs(ctx, attempt.serialize ? 1 : 0);
  isl_options_set_schedule_outer_coincidence(ctx, attempt.outer_coincident ? 1 : 0);
  isl::union_set domain = contraction.domain();
  isl::union_map validity = contraction.validity(), proximity = contraction.flow();
  isl::union_map coincidence = contraction.coincidence();
  if (attempt.gist) {
    coincidence = coincidence.gist_domain(domain).gist_range(domain);
    validity = validity.gist_domain(domain).gist_range(domain);
    proximity = proximity.gist_domain(domain).gist_range(domain);
  }
  isl::schedule_constraints constraints = isl::schedule_constraints::on_domain(domain);
  constraints =
      constraints.set_validity(validity).set_coincidence(coincidence).set_proximity(proximity);
  return constraints.compute_schedule();
}

// Whether anything is added up. Programs of definitions alone may be skewed, shifted or reversed
// here; sums are tiled over loops that are plain iterators.
bool has_updates(const ir::Program& program) {
  return std::ranges::any_of(
      program.statements, [](const ir::Statement& s) { return s.combiner != ir::Combiner::None; });
}

// A `map` directive replaces all loops of a statement at once, so that a mapped nest consists of
// bands and, directly below them, definitions. Returns what isl's tree has in place of that.
std::optional<std::string> check_mapped(const Core& core) {
  if (const auto* sequence = std::get_if<CoreSequence>(&core->op)) {
    for (const Core& child : sequence->children)
      if (auto problem = check_mapped(child)) return problem;
    return std::nullopt;
  }
  if (!is_mapped(core)) return std::nullopt;
  Core node = core;
  std::size_t depth = 0;
  while (const auto* band = std::get_if<Band>(&node->op)) {
    depth += band->members.size();
    node = band->child;
  }
  const std::vector<const Cluster*> clusters = clusters_of(node);
  const auto is_leaf = [](const Core& child) { return std::holds_alternative<Cluster>(child->op); };
  const auto* sequence = std::get_if<CoreSequence>(&node->op);
  if (sequence && !std::ranges::all_of(sequence->children, is_leaf))
    return "isl skews or shifts a nest with other nests inside";
  for (const Cluster* cluster : clusters)
    if (cluster->iterators.size() > depth)
      return "isl leaves loops of '" + cluster->statements[0]->name + "' inside a skewed nest";
  return std::nullopt;
}

std::vector<Attempt> attempts_of(const AffineCoreOptions& options) {
  std::vector<Attempt> attempts(std::begin(kAttempts), std::end(kAttempts));
  if (!options.fuse)
    std::erase_if(attempts, [](const Attempt& attempt) { return !attempt.serialize; });
  return attempts;
}

}  // namespace

// Computed once for all attempts: the model, its dependences, and the clusters that these connect.
struct AffineScheduler::Parts {
  const ir::Program& program;
  IslContext context;
  bool has_sums;
  struct Model {
    schedule::State state;
    IslModel model;
    std::vector<Dependence> dependences;
    Contraction contraction;

    Model(IslContext& context, const ir::Program& program)
        : state(schedule::reference_state(std::make_shared<const ir::Program>(program))),
          model(schedule::make_model(context, state)),
          dependences(schedule::compute_dependences(model)),
          contraction(model, dependences, make_clusters(program)) {}
  };
  std::optional<Model> model;  // after the context: its isl objects go first

  explicit Parts(const ir::Program& of) : program(of), has_sums(has_updates(of)) {}

  Result<AffineCore> run(const AffineCoreOptions& options) {
    if (!model) model.emplace(context, program);
    AffineCore result;
    for (const Attempt& attempt : attempts_of(options)) {
      context.limit(options.quota);
      Result<Core> core = try_one(attempt, options, result);
      if (core) {
        result.root = *core;
        result.attempt = attempt.name;
        return result;
      }
      result.notes.push_back(std::string(attempt.name) + ": " + core.error().reason);
    }
    std::string reasons;
    for (const std::string& note : result.notes) reasons += (reasons.empty() ? "" : "; ") + note;
    return Decline{reasons};
  }

  // One attempt. A run that isl did not finish is listed in the result's `given_up`, too.
  Result<Core> try_one(const Attempt& attempt, const AffineCoreOptions& options,
                       AffineCore& result) {
    const auto give_up = [&](const std::string& reason) {
      result.given_up.push_back(std::string(attempt.name) + ": " + reason);
      return Decline{reason};
    };
    try {
      isl::schedule schedule = run_isl(context, model->contraction, attempt);
      Result<Core> core = read_core(schedule.get_root(), model->contraction.clusters(),
                                    options.allow_maps && !has_sums);
      if (!core) return core;
      if (const auto problem = check_mapped(*core)) return Decline{*problem};
      return core;
    } catch (const isl::exception_unsupported& e) {
      return give_up(std::string("the scheduler does not support this: ") + e.what());
    } catch (const isl::exception_unknown& e) {
      // isl's scheduler throws this where dependences between whole clusters are cyclic.
      return Decline{std::string("isl finds no order of whole clusters: ") + e.what()};
    } catch (const isl::exception& e) {
      if (!schedule::is_quota(context, e))
        schedule::throw_isl_fault(context, e,
                                  std::string("isl's scheduler, '") + attempt.name + "'");
      return give_up("the scheduler's budget of " + std::to_string(options.quota) +
                     " operations is spent");
    }
  }
};

AffineScheduler::AffineScheduler(const ir::Program& program)
    : parts_(std::make_unique<Parts>(program)) {}
AffineScheduler::~AffineScheduler() = default;

Result<AffineCore> AffineScheduler::run(const AffineCoreOptions& options) {
  return schedule::translated(parts_->context, "integer set library",
                              [&] { return parts_->run(options); });
}

}  // namespace polyte::poly
