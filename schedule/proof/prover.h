// Prover: decides whether a State computes what its reference Program computes, by exact
// dependences (isl). One Prover serves one Program: it keeps the reference's dependences and
// sources between directives. Not thread-safe; one per thread. Every test runs under an operation
// quota; a spent quota is Unknown, never legal.
//
// Two kinds of checks:
//   obligations   after one primitive, for what it touched: cheap, refuses at once
//   end_to_end    the final State, trusting no primitive: every read's source, followed through
//                 copies, is the reference's (docs/proof.md); bounds, coverage, races included
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "schedule/state/refusal.h"
#include "schedule/state/state.h"

namespace polyte::schedule {

struct ProverOptions {
  std::uint64_t quota = 20'000'000;  // isl operations per test
};

// Statements of a basis: who reads a tensor, who writes it.
struct ValueEnds {
  std::set<std::string> readers, writers;
};

class Prover {
 public:
  explicit Prover(std::shared_ptr<const ir::Program> reference, ProverOptions options = {});
  ~Prover();
  Prover(Prover&&) noexcept;
  Prover& operator=(Prover&&) noexcept;

  // Every dependence of the current statements that touches one of `moved` (all, if empty)
  // runs forwards in `state`. Reductions: the order of updates of one cell counts unless the
  // contract relaxes it.
  std::optional<Refusal> check_order(const State& state, const std::vector<std::string>& moved);
  // Iterations of the loop touch no common cell that one of them writes (parallel, vector;
  // physical storage).
  std::optional<Refusal> check_independent(const State& state, LoopId loop_id);
  // The same of one loop after the other; the first refusal.
  std::optional<Refusal> check_independent(const State& state, const std::vector<LoopId>& loops);
  // Every cell of a register that outlives a loop of threads is touched by one thread.
  std::optional<Refusal> check_owners(const State& state);
  // Every access stays in its buffer.
  std::optional<Refusal> check_bounds(const State& state,
                                      const std::vector<std::string>& statements);
  // What a lifted or copy statement produces covers what is read below its site; nothing undefined
  // is read; sources of the reads of `buffer` (of the reference) are those of the reference.
  std::optional<Refusal> check_storage(const State& state, const std::string& buffer);
  // Whether one of the readers takes a value of the tensor that one of the writers left, in the
  // order of the basis. True also where that is not decided.
  bool takes_values(const State& state, const std::string& tensor, const ValueEnds& ends);
  // No element of reused storage is touched by its tensor before its own last access.
  std::optional<Refusal> check_reuse(const State& state);
  // Reductions of the basis whose updates of one cell run in another order than the basis has them.
  std::vector<std::string> reordered(const State& state);
  // Every rewrite of the Program, from the reference to the State's basis, computes what stood
  // before it.
  std::optional<Refusal> check_rewrites(const State& state);
  // The whole criterion.
  std::optional<Refusal> check_end_to_end(const State& state);

  struct Impl;  // prover_impl.h

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace polyte::schedule
