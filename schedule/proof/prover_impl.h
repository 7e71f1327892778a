// What a Prover keeps, and the checks behind its methods. Internal to schedule/proof.
#pragma once

#include <map>

#include "schedule/proof/dependences.h"
#include "schedule/proof/forward_memo.h"
#include "schedule/proof/prover.h"

namespace polyte::schedule {

// A Program (the reference, or what a rewrite made of it) in isl, with what was computed of it.
struct Basis {
  std::shared_ptr<const ir::Program> program;
  State state;
  IslModel model;
  std::vector<Dependence> dependences;
  mutable ForwardMemo known = {};  // of them, in the states that were asked about
};

struct Prover::Impl {
  ProverOptions options;
  std::shared_ptr<const ir::Program> reference;
  IslContext context;  // outlives everything below
  std::map<const ir::Program*, std::unique_ptr<Basis>> bases;

  const Basis& basis_of(const std::shared_ptr<const ir::Program>& program);
  const Basis& basis_of(const State& state) { return basis_of(state.basis); }
};

// A dependence that runs backwards: source and sink as points of their statements.
struct OrderViolation {
  const Dependence* dependence = nullptr;
  int depth = 0;     // of the time vector
  std::string loop;  // at which it turns negative; empty at a sequence
  Point point;       // source's iterators, then sink's
};
std::optional<OrderViolation> find_order_violation(const Basis& basis, const IslModel& model,
                                                   const std::vector<std::string>& moved);
// Whether none of a tensor's does, which the model accesses as the basis does.
bool runs_forwards(const Basis& basis, const IslModel& model, const std::string& tensor);
// Pairs of two statements of the basis as those of two of the model, each all or a part of one.
isl::map between(const isl::map& pairs, const IslModel& model, int source, int sink);
// A violation as a refusal with advice.
std::optional<Refusal> check_order(Prover::Impl& impl, const IslModel& model,
                                   const std::vector<std::string>& moved);
// Statements of the basis whose updates of one cell run in another order; those that the quota
// leaves open as well.
std::vector<std::string> reordered_updates(Prover::Impl& impl, const IslModel& model);
// True where the order walk decides for this statement: not lifted, not a copy.
bool keeps_instances(const ScheduledStatement& statement);

// A pair of a dependence in words: what is wrong where it runs the other way, the two instances in
// the reference order.
std::string headline_of(const Basis& basis, const Dependence& d);
Counterexample counterexample_of(const Basis& basis, const Dependence& d, const Point& point);

Instance make_instance(const ir::Statement& statement, const std::vector<std::int64_t>& values);
std::string cell_text(const ir::Access& access, const ir::Statement& statement, const Point& point,
                      std::size_t first_value);
std::string access_pattern(const ir::Access& access);  // B[i, j+1]

// Every access of these statements (all: empty) stays in its buffer.
std::optional<Refusal> check_bounds(const IslModel& model, const std::vector<std::string>& names);
// Instance -> its place in memory: the cells of a buffer that is allocated outside its scope,
// without the iterations of the scope; those of the tensor in whose memory it lies.
isl::map places(const IslModel& model, int statement, const IslAccess& access);
// No two iterations of the loop touch one place that one of them writes.
std::optional<Refusal> check_independent(const IslModel& model, LoopId loop_id);
// Instance -> the number of the thread that runs it; whether registers outlive a loop of threads;
// then every cell of them is one thread's.
isl::map threads_of(const IslModel& model, std::size_t statement);
bool is_spread(const IslModel& model, const IslBuffer& buffer);
std::optional<Refusal> check_owners(const IslModel& model);

// Advice for an order violation, each checked with `basis`.
std::vector<std::string> order_advice(const Basis& basis, const State& state,
                                      const OrderViolation& violation, const IslContext& context);

// Storage and sources: the end-to-end criterion for the reads of `buffer` of the reference
// (all: empty).
std::optional<Refusal> check_sources(const Basis& basis, const IslModel& model,
                                     const std::string& buffer);
// Whether a read of the basis may take a value of the tensor that one of `writers` left.
bool takes_values(const Basis& basis, const std::string& tensor, const ValueEnds& ends);
// Elements that lie in the memory of another tensor are gone before it is written.
std::optional<Refusal> check_reuse(const IslModel& model);
// Lowering reaches the instances of mapped statements, each of them and nothing else.
std::optional<Refusal> check_loop_points(const IslContext& context, const IslModel& model);
// The steps from the reference to the basis; each by the argument of its kind, from the
// two Programs alone.
std::optional<Refusal> check_rewrites(Prover::Impl& impl, const State& state);
std::optional<Refusal> check_inlining(const Basis& before, const Rewrite& rewrite);
std::optional<Refusal> check_precomputed(const std::shared_ptr<const ir::Program>& before,
                                         const Basis& after, const Rewrite& rewrite);
std::optional<Refusal> check_reciprocals(const ir::Program& before, const Rewrite& rewrite);
std::optional<Refusal> check_deferred(const State& state, const Rewrite& rewrite,
                                      const Basis& before);
std::optional<Refusal> check_view(const ir::Program& before, const Rewrite& rewrite,
                                  const Basis& after);
std::optional<Refusal> check_factor(const State& state, const Rewrite& rewrite,
                                    const ir::Program& before, const Basis& after);
std::optional<Refusal> check_online(const State& state, const Rewrite& rewrite, const Basis& before,
                                    const Basis& after);

}  // namespace polyte::schedule
