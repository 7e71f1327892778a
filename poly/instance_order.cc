#include "poly/instance_order.h"

#include <isl/flow.h>
#include <isl/map.h>
#include <isl/schedule.h>
#include <isl/schedule_node.h>
#include <isl/set.h>
#include <isl/union_map.h>

#include <algorithm>
#include <optional>
#include <set>

#include "ir/relations.h"
#include "poly/isl_tree.h"
#include "poly/pushed_sums.h"
#include "poly/sizes_as_parameters.h"
#include "schedule/proof/dependences.h"
#include "schedule/proof/isl_faults.h"
#include "support/result.h"

namespace polyte::poly {
namespace {

using schedule::IslAccess;
using schedule::IslContext;
using schedule::IslModel;
using schedule::IslStatement;

// Which constraints of the domains leave the dependences before isl schedules them. Fewer
// constraints are more dependences, and shorter work.
enum class Gist {
  All,  // distances are constants where they can be
  Box,  // those of one iterator alone: triangles and windows stay
  None,
};

struct Attempt {
  const char* name;
  Gist gist;
  bool sizes_are_parameters;
  bool serialize;           // one strongly connected component a nest
  bool outer_coincident;    // else bands as deep as they come
  std::uint64_t quota;      // isl operations
  bool only_after_failure;  // of all attempts before it
  bool is_hard;             // not worth trying where an attempt before it was not finished
  // Ordered regions run as they are written, isl orders what one iteration does.
  bool inside_regions = false;
  // For Programs with triangles: in boxes there are none to keep, so that nothing is left to find
  // where regions are one permutable band of all statements already, and all that they cost is
  // lost where the first attempt was too much.
  bool is_for_triangles = false;
  // Terms of float sums in any order, which the contract has to allow: of Programs with a region
  // that runs downwards, where the first terms of a sum are the last to be known.
  bool is_reassociated = false;
};
constexpr Attempt kAttempts[] = {
    {"fused", Gist::All, false, false, false, 60'000, false, false},
    {"triangles kept, serial components", Gist::None, true, true, false, 100'000, false, false,
     false, true},
    {"sums in any order", Gist::None, true, true, false, 100'000, false, false, false, true, true},
    {"triangles kept", Gist::Box, false, false, false, 60'000, false, true},
    {"serial components", Gist::All, false, true, false, 60'000, false, true},
    {"regions as written", Gist::None, true, true, false, 200'000, true, false, true},
    {"parallel outermost", Gist::All, false, false, true, 60'000, true, false},
};
// With so many statements or more, joining the pieces of relations between them is worth its time.
constexpr std::size_t kManyStatements = 10;
constexpr std::uint64_t kQuotaOfNumbers = 15'000;
constexpr double kLoopsOfQuota = 15;  // of all statements: with more of them the quota is less
// isl operations for the question whether sums that are pushed keep all dependences.
constexpr std::uint64_t kQuotaOfPushed = 60'000;
// The largest constant of a row: a larger one means that isl runs one loop after the other.
constexpr std::int64_t kLargestConstant = 20;

isl::union_map no_pairs(const IslContext& context) {
  return isl::manage(isl_union_map_empty(isl_space_params_alloc(context.get().get(), 0)));
}

isl::union_map as_union(isl::map map) { return isl::manage(isl_union_map_from_map(map.release())); }

// A Program's instances and the pairs of them that isl is told about. Its scheduler gets three
// relations (Verdoolaege and Janssens, *Scheduling for PPCG*):
//
//   validity     source before sink, whatever else happens
//   coincidence  what may not run at once: validity, and updates of one class, whose order is free
//   proximity    what should be near: writes and the reads of their values
//
// The proof does not depend on any of it: what isl gives is written as a Script and proved like
// every other.
class Relations {
 public:
  // `reassociated`: reductions whose terms may come in any order.
  Relations(IslContext& context, const ir::Program& program,
            const std::set<std::string>& reassociated = {})
      : context_(context),
        state_(state_of(program, reassociated)),
        model_(schedule::make_model(context, state_)) {
    domain_ = isl::manage(isl_union_set_empty(isl_space_params_alloc(context.get().get(), 0)));
    for (const IslStatement& s : model_.statements) {
      isl::set instances = s.domain;
      domain_ = domain_.unite(isl::manage(isl_union_set_from_set(instances.release())));
    }
    validity_ = commuting_ = no_pairs(context);
    for (const schedule::Dependence& d : schedule::compute_dependences(model_)) {
      isl::map ordered = schedule::ordered_pairs(d, model_, state_);
      validity_ = validity_.unite(as_union(ordered));
      if (d.updates) commuting_ = commuting_.unite(as_union(d.pairs.subtract(ordered)));
      ordered_.push_back({d.source, d.sink, ordered});
    }
    proximity_ = value_flow();
    if (model_.statements.size() >= kManyStatements) {
      validity_ = validity_.coalesce();
      proximity_ = proximity_.coalesce();
    }
    if (std::ranges::none_of(program.statements,
                             [](const ir::Statement& s) { return s.region_depth > 0; }))
      same_reads_ = pairs_of_reads();
  }

  const IslModel& model() const { return model_; }

  // Whether every pair that has to keep its order does in this tree. For trees that isl has not
  // made (pushed sums): time vectors are read off the tree and padded with zeros to one length, and
  // the sink of each pair must be lexicographically behind its source.
  bool run_forwards(const OrderTree& tree) const {
    std::map<std::string, std::vector<ir::Affine>> times;
    add_times(tree, {}, times);
    std::size_t depth = 0;
    for (const auto& [statement, time] : times) depth = std::max(depth, time.size());
    IslModel model = model_;
    for (IslStatement& s : model.statements) {
      std::vector<ir::Affine>& time = times.at(s.statement->body.name);
      time.resize(depth, ir::Affine(0));
      s.time.clear();
      for (const ir::Affine& value : time)
        s.time.push_back(schedule::to_aff(s.domain.get_space(), s.statement->body.iterators,
                                          model.params, value));
    }
    return std::ranges::none_of(ordered_, [&](const Ordered& d) {
      return schedule::find_backwards(model, d.source, d.sink, d.pairs).has_value();
    });
  }

  // Constraints for the statements of one ordered region while its loop stands still: pairs whose
  // source and sink have the same value of its iterator, which is the first of both.
  isl::schedule_constraints constraints_inside(const std::set<std::string>& statements) const {
    isl::union_set domain = isl::manage(isl_union_set_empty(domain_.get_space().release()));
    for (const IslStatement& s : model_.statements) {
      if (!statements.contains(s.statement->body.name)) continue;
      isl::set instances = s.domain;
      domain = domain.unite(isl::manage(isl_union_set_from_set(instances.release())));
    }
    const auto standing = [&](const isl::union_map& pairs) {
      isl::union_map kept = no_pairs(context_);
      pairs.intersect_domain(domain).intersect_range(domain).foreach_map([&](isl::map map) {
        kept = kept.unite(
            as_union(isl::manage(isl_map_equate(map.release(), isl_dim_in, 0, isl_dim_out, 0))));
      });
      return kept;
    };
    const isl::union_map validity = standing(validity_);
    return isl::schedule_constraints::on_domain(domain)
        .set_validity(validity)
        .set_coincidence(validity.unite(standing(commuting_)))
        .set_proximity(standing(proximity_));
  }

  // `together`: statements that read the same cells are drawn near each other, too.
  isl::schedule_constraints constraints(Gist gist, bool together) const {
    isl::union_map validity = validity_, commuting = commuting_;
    isl::union_map proximity =
        together && same_reads_ ? proximity_.unite(*same_reads_) : proximity_;
    if (gist != Gist::None) {
      const isl::union_set known = gist == Gist::All ? domain_ : boxes();
      validity = validity.gist_domain(known).gist_range(known);
      commuting = commuting.gist_domain(known).gist_range(known);
      proximity = proximity.gist_domain(known).gist_range(known);
    }
    return isl::schedule_constraints::on_domain(domain_)
        .set_validity(validity)
        .set_coincidence(validity.unite(commuting))
        .set_proximity(proximity);
  }

 private:
  IslContext& context_;
  schedule::State state_;
  IslModel model_;
  isl::union_set domain_;
  struct Ordered {
    int source = 0, sink = 0;
    isl::map pairs;
  };
  std::vector<Ordered> ordered_;  // as `validity_`
  isl::union_map validity_;       // runs forwards
  isl::union_map commuting_;      // in any order, but not at once: updates of one class
  isl::union_map proximity_;
  // None in a Program with regions, where the order ties them already.
  std::optional<isl::union_map> same_reads_;

  static schedule::State state_of(const ir::Program& program,
                                  const std::set<std::string>& reassociated) {
    schedule::State state = schedule::reference_state(std::make_shared<const ir::Program>(program));
    if (reassociated.empty()) return state;
    state.contract = schedule::Contract::Reassoc;
    state.reassociable = reassociated;
    return state;
  }

  static void add_times(const OrderTree& tree, std::vector<ir::Affine> around,
                        std::map<std::string, std::vector<ir::Affine>>& times) {
    if (const auto* leaf = std::get_if<OrderLeaf>(&tree->op)) {
      times[leaf->statement] = std::move(around);
    } else if (const auto* band = std::get_if<OrderBand>(&tree->op)) {
      std::map<std::string, std::vector<ir::Affine>> below;
      add_times(band->child, {}, below);
      for (const auto& [statement, inner] : below) {
        std::vector<ir::Affine>& time = times[statement] = around;
        for (const OrderLoop& loop : band->loops) time.push_back(loop.rows.at(statement));
        time.insert(time.end(), inner.begin(), inner.end());
      }
    } else {
      const auto& children = std::get<OrderSequence>(tree->op).children;
      for (std::size_t i = 0; i < children.size(); ++i) {
        std::vector<ir::Affine> here = around;
        here.emplace_back(static_cast<std::int64_t>(i));
        add_times(children[i], std::move(here), times);
      }
    }
  }

  // From a write to the reads that get its value; what an update reads of its own cell is no
  // reason to stay near. By isl's dataflow (must- and may-sources), so that only the last write
  // before a read draws it near; memory-based pairs would tie statements together that merely
  // reuse a buffer.
  isl::union_map value_flow() const {
    isl::union_map reads = no_pairs(context_), writes = reads, may_write = reads, order = reads;
    for (const IslStatement& s : model_.statements) {
      // An element that is written once, outside of loops, is near to no iteration.
      const bool has_loops = !s.statement->body.iterators.empty();
      for (const IslAccess& access : s.accesses) {
        if (!access.write && access.own) continue;
        if (access.write && !has_loops) continue;
        isl::union_map& kind = !access.write ? reads : access.exact ? writes : may_write;
        kind = kind.unite(as_union(access.cells));
      }
      isl::map time = isl::manage(isl_map_from_multi_aff(
          schedule::to_multi_aff(s.domain.get_space(), "time", s.time).release()));
      order = order.unite(as_union(time));
    }
    return isl::union_access_info(reads)
        .set_must_source(writes)
        .set_may_source(may_write)
        .set_schedule_map(order)
        .compute_flow()
        .may_dependence();
  }

  // From an instance to those of later statements that read a cell which it reads, where each
  // reads a cell once.
  isl::union_map pairs_of_reads() const {
    isl::union_map pairs = no_pairs(context_);
    for (std::size_t s = 0; s < model_.statements.size(); ++s)
      for (std::size_t t = s + 1; t < model_.statements.size(); ++t)
        for (const IslAccess& a : model_.statements[s].accesses)
          for (const IslAccess& b : model_.statements[t].accesses)
            if (!a.write && !b.write && !a.own && !b.own && a.buffer == b.buffer &&
                a.cells.is_injective() && b.cells.is_injective())
              pairs = pairs.unite(as_union(a.cells.apply_range(b.cells.reverse())));
    return pairs;
  }

  // The domains without constraints between two iterators. Taking these out of the dependences
  // (`gist`) leaves distances inside rectangles constant, while triangles stay in the relations.
  isl::union_set boxes() const {
    isl::union_set all =
        isl::manage(isl_union_set_empty(isl_space_params_alloc(context_.get().get(), 0)));
    for (const IslStatement& s : model_.statements) {
      std::vector<ir::Constraint> box;
      for (const ir::Constraint& constraint : s.statement->body.domain) {
        const auto uses = [&](const std::string& it) { return constraint.expr.uses(it); };
        if (std::ranges::count_if(s.statement->body.iterators, uses) == 1)
          box.push_back(constraint);
      }
      isl::set set =
          schedule::to_set(s.domain.get_space(), s.statement->body.iterators, model_.params, box);
      all = all.unite(isl::manage(isl_union_set_from_set(set.release())));
    }
    return all;
  }
};

isl::schedule run_isl(IslContext& context, const isl::schedule_constraints& constraints,
                      const Attempt& attempt) {
  isl_ctx* ctx = context.get().get();
  isl_options_set_schedule_whole_component(ctx, 0);
  isl_options_set_schedule_treat_coalescing(ctx, 1);
  isl_options_set_schedule_max_coefficient(ctx, kLargestConstant);
  isl_options_set_schedule_max_constant_term(ctx, kLargestConstant);
  isl_options_set_schedule_serialize_sccs(ctx, attempt.serialize ? 1 : 0);
  isl_options_set_schedule_outer_coincidence(ctx, attempt.outer_coincident ? 1 : 0);
  return constraints.compute_schedule();
}

class Attempts {
 public:
  Attempts(const ir::Program& program, bool keep_order)
      : program_(program), keep_order_(keep_order) {}

  InstanceOrders run() {
    const bool is_of_boxes = has_regions() && !has_triangles();
    for (const Attempt& attempt : kAttempts) {
      const bool gave_up = !result_.given_up.empty();
      if (attempt.is_for_triangles && is_of_boxes && (has_one_band() || gave_up)) continue;
      if (attempt.only_after_failure && !result_.found.empty()) continue;
      // Boxes leave constant distances, so that one component at a time is little work.
      if (attempt.is_hard && gave_up && !(is_of_boxes && attempt.serialize)) continue;
      if (attempt.is_reassociated && (keep_order_ || float_reductions().empty())) continue;
      auto tree = try_one(attempt);
      if (!tree) {
        result_.lost.push_back(std::string(attempt.name) + ": " + tree.error().reason);
        continue;
      }
      keep({attempt.name, *tree, true,
            attempt.is_reassociated ? float_reductions() : std::set<std::string>()});
    }
    for (const OrderAttempt& found : std::vector<OrderAttempt>(result_.found)) add_pushed(found);
    return std::move(result_);
  }

 private:
  const ir::Program& program_;
  const bool keep_order_;
  IslContext context_;
  // After the context: their isl objects go first.
  std::optional<Relations> with_numbers_, with_parameters_, reassociated_;
  InstanceOrders result_;

  void keep(const OrderAttempt& attempt) {
    const std::string text = to_string(attempt.tree);
    const auto is_same = [&](const OrderAttempt& found) { return to_string(found.tree) == text; };
    const auto same = std::ranges::find_if(result_.found, is_same);
    if (same == result_.found.end())
      result_.found.push_back(attempt);
    else
      result_.lost.push_back(attempt.name + ": the same order as '" + same->name + "'");
  }

  void add_pushed(const OrderAttempt& found) {
    for (const OrderTree& tree : pushed_sums_of(found.tree, program_)) {
      const Relations& known = relations(false);
      context_.limit(kQuotaOfPushed);
      try {
        const std::string name = found.name + ", sums pushed";
        if (known.run_forwards(tree))
          keep({name, tree, false});
        else
          result_.lost.push_back(name + ": a term would come before what it needs");
      } catch (const isl::exception& e) {
        if (!schedule::is_quota(context_, e))
          schedule::throw_isl_fault(context_, e, "sums that are pushed");
        result_.given_up.push_back(found.name + ", sums pushed: the budget of " +
                                   std::to_string(kQuotaOfPushed) + " operations is spent");
      }
      context_.limit(0);
    }
  }

  const Relations& relations(bool sizes_are_parameters, bool is_reassociated = false) {
    std::optional<Relations>& kept = is_reassociated        ? reassociated_
                                     : sizes_are_parameters ? with_parameters_
                                                            : with_numbers_;
    if (!kept) {
      context_.limit(0);
      kept.emplace(context_, sizes_are_parameters ? with_sizes_as_parameters(program_) : program_,
                   is_reassociated ? float_reductions() : std::set<std::string>());
    }
    return *kept;
  }

  // Reductions of sums in regions that run downwards, if the order of their terms decides bits.
  std::set<std::string> float_reductions() const {
    std::set<std::string> found;
    for (const ir::Item& item : program_.order) {
      const auto* region = std::get_if<ir::Region>(&item);
      if (!region || region->step > 0) continue;
      for (const std::size_t s : ir::statements_in(region->body))
        if (const ir::Statement& sum = program_.statements[s];
            sum.combiner != ir::Combiner::None && !schedule::is_reorderable(sum))
          found.insert(sum.reductions.begin(), sum.reductions.end());
    }
    return found;
  }

  bool has_regions() const {
    return std::ranges::any_of(program_.order, [](const ir::Item& item) {
      return std::holds_alternative<ir::Region>(item);
    });
  }

  // Whether the first order found is one permutable band over all statements.
  bool has_one_band() const {
    if (result_.found.empty()) return false;
    const auto* band = std::get_if<OrderBand>(&result_.found.front().tree->op);
    return band && band->permutable && is_innermost(*band);
  }

  bool has_triangles() const {
    const auto joins_iterators = [](const ir::Statement& s, const ir::Constraint& c) {
      const auto uses = [&](const std::string& it) { return c.expr.uses(it); };
      return std::ranges::count_if(s.iterators, uses) > 1;
    };
    return std::ranges::any_of(program_.statements, [&](const ir::Statement& s) {
      return std::ranges::any_of(s.domain,
                                 [&](const ir::Constraint& c) { return joins_iterators(s, c); });
    });
  }

  // The budget of an attempt, in isl operations. On dependences that are not gisted an operation is
  // expensive, the more so with large constants or many loops, so that fewer are allowed: a fixed
  // number where sizes are constants, else a share that falls with the square of the loops.
  static std::uint64_t quota_of(const Attempt& attempt, const IslModel& model) {
    if (attempt.gist != Gist::None) return attempt.quota;
    if (model.params.empty()) return kQuotaOfNumbers;
    double loops = 0;  // but those of regions that stand still
    for (const IslStatement& s : model.statements) {
      const bool stands = attempt.inside_regions && s.statement->body.region_depth > 0;
      loops += static_cast<double>(s.statement->body.iterators.size()) - (stands ? 1 : 0);
    }
    const double share = std::min(1.0, kLoopsOfQuota * kLoopsOfQuota / (loops * loops));
    return static_cast<std::uint64_t>(share * static_cast<double>(attempt.quota));
  }

  Result<OrderTree> try_one(const Attempt& attempt) {
    const auto give_up = [&](const std::string& reason) {
      result_.given_up.push_back(std::string(attempt.name) + ": " + reason);
      return Decline{reason};
    };
    const Relations& known = relations(attempt.sizes_are_parameters, attempt.is_reassociated);
    if (attempt.inside_regions && !has_regions()) return Decline{"no ordered region"};
    const std::uint64_t quota = quota_of(attempt, known.model());
    try {
      if (attempt.inside_regions) return inside_regions(known, attempt, quota);
      context_.limit(quota);
      const isl::schedule schedule =
          run_isl(context_, known.constraints(attempt.gist, !attempt.serialize), attempt);
      context_.limit(0);
      Result<OrderTree> tree = order_of(schedule, known.model());
      return tree ? Result<OrderTree>(completed(*tree, program_)) : tree;
    } catch (const isl::exception_unsupported& e) {
      return give_up(std::string("the scheduler does not support this: ") + e.what());
    } catch (const isl::exception_unknown&) {
      return Decline{"isl finds no row that carries a dependence"};
    } catch (const isl::exception& e) {
      if (!schedule::is_quota(context_, e))
        schedule::throw_isl_fault(context_, e,
                                  std::string("isl's scheduler, '") + attempt.name + "'");
      return give_up("the scheduler's budget of " + std::to_string(quota) + " operations is spent");
    }
  }

  // Loops of regions outermost, statements outside of them as in the text.
  Result<OrderTree> inside_regions(const Relations& known, const Attempt& attempt,
                                   std::uint64_t quota) {
    std::vector<OrderTree> parts;
    for (const ir::Item& item : program_.order) {
      const auto* region = std::get_if<ir::Region>(&item);
      if (!region) {
        parts.push_back(order_leaf(program_.statements[std::get<std::size_t>(item)].name));
        continue;
      }
      OrderBand band;
      band.loops.resize(1);
      std::set<std::string> inside;
      for (const std::size_t s : ir::statements_in(region->body)) {
        const std::string& name = *inside.insert(program_.statements[s].name).first;
        band.loops[0].rows[name] = ir::Affine::symbol(region->iterator) * region->step;
      }
      context_.limit(quota);
      const isl::schedule schedule = run_isl(context_, known.constraints_inside(inside), attempt);
      context_.limit(0);
      const Result<OrderTree> tree = order_of(schedule, known.model());
      if (!tree) return tree;
      band.child = without_iterator(*tree, region->iterator);
      // isl leaves out statements without instances; completed() adds them.
      if (!statements_below(band.child).empty()) parts.push_back(order_band(std::move(band)));
    }
    return completed(order_sequence(std::move(parts)), program_);
  }
};

}  // namespace

InstanceOrders instance_orders(const ir::Program& program, bool keep_order) {
  Attempts attempts(program, keep_order);
  return attempts.run();
}

}  // namespace polyte::poly
