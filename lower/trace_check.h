// TraceCheck: does a run of the loops do what the reference order does? Both are interpreted, and
// every value is followed from the instance that computed it, through the copies of staged storage,
// to the instances that read it. Shares nothing with isl, the prover or the passes; decides for one
// set of sizes and data.
//
//   coverage   every instance of the reference whose value is used runs, and no other one
//              (but spare lanes of a register that none reads: what a lane does there otherwise
//              than its instance shows where it is read)
//   order      each read takes the value of the instance that the reference order says, and so does
//              each output: an execution that breaks a flow, anti or output dependence shows here,
//              whatever the data. Updates that may change places act on their own generation of the
//              element, and who reads it in the middle or at the end finds exactly the updates that
//              the reference order has made by then
//   values     the outputs agree bit for bit; where float sums may change places, only if all their
//              terms are integers that no order rounds
//   fault      the interpreter stopped: outside a buffer, never written, a race
//
//   const ReferenceTrace reference(program, inputs, {});
//   for (const TraceFault& fault : compare_traces(reference, packing, loops)) ...
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ir/interpret.h"
#include "schedule/state/state.h"

namespace polyte::lower {

struct TraceFault {
  enum class Kind { Coverage, Order, Values, Fault } kind = Kind::Fault;
  std::string text;
};
std::string to_string(TraceFault::Kind kind);

struct TraceOptions {
  struct Relaxed {
    bool all = false;                 // all its updates may change places
    std::set<std::string> iterators;  // else: those that differ in one of these
    bool with_others = false;         // and with updates of other statements of which that is said
  };
  // Updates that need not come in order. One that reads its own element besides is taken as one
  // that has to.
  std::map<std::string, Relaxed> any_order = {};
  std::int64_t max_steps = 0;  // of each run; 0: no limit, else UserError(ResourceLimit) beyond
  std::size_t max_faults = 3;  // of a kind
};

// The reference order on these inputs, remembered. The Program's sizes are bound.
class ReferenceTrace {
 public:
  ReferenceTrace(const ir::Program& program, ir::Environment inputs, TraceOptions options);
  ~ReferenceTrace();
  ReferenceTrace(ReferenceTrace&&) noexcept;

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// For TraceOptions: what the contract of this State lets change.
std::map<std::string, TraceOptions::Relaxed> reorderable_updates(const schedule::State& state);

std::set<std::string> padded_statements(const schedule::State& state);
// Empty if nothing differs. `packing` fills the buffers packed at compile time; its body may be
// null. Statements of the reference in `padded` may run beyond its instances; what they make there
// may not be read by one of these. `sizes` are those of the loops' parameters.
std::vector<TraceFault> compare_traces(const ReferenceTrace& reference,
                                       const ir::LoopProgram& packing, const ir::LoopProgram& loops,
                                       const std::set<std::string>& padded = {},
                                       const ir::Values& sizes = {});

}  // namespace polyte::lower
