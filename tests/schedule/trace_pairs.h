// The pairs of instances that touch one element, from the interpreter's trace of the reference
// order: an oracle of dependences that shares nothing with isl and the proof.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "ir/interpret.h"
#include "tests/schedule/execute_state.h"

namespace polyte::schedule {

// Two arrays in turn, in an ordered region.
inline constexpr const char* kSweeps = R"(program sweeps(T, N)
  inout A: f64[N]
  inout B: f64[N]
  loop t in 0..T
    B[i] = A[i-1] + A[i] + A[i+1]    for i in 1..N-1
    A[i] = B[i-1] + B[i] + B[i+1]    for i in 1..N-1
)";
// A sum with a point-wise tail, names with dots.
inline constexpr const char* kDense = R"(program dense(M, K)
  in  x: f32[M, K]
  in  w: f32[K]
  out y: f32[M]
  acc[m] = sum[k] x[m, k] * w[k]
  y[m]   = max(acc[m], 0)
)";

// Kind, source, sink, tensor, reduction, both instances.
using TracePair = std::tuple<std::string, std::string, std::string, std::string, bool,
                             std::vector<std::int64_t>, std::vector<std::int64_t>>;
using TracePairs = std::set<TracePair>;

struct TraceAccess {
  std::string statement;
  std::vector<std::int64_t> instance;
  bool write = false, combined = false;
};

inline bool is_one_instance(const TraceAccess& a, const TraceAccess& b) {
  return a.statement == b.statement && a.instance == b.instance;
}

// Of one element, in the order of the trace. What an instance reads and what it writes is one step.
inline void relate(const std::vector<TraceAccess>& log, const std::string& tensor, bool direct,
                   TracePairs& into) {
  for (std::size_t b = 0; b < log.size(); ++b) {
    const TraceAccess* last_write = nullptr;
    for (std::size_t a = b; a-- > 0;) {
      const TraceAccess &source = log[a], &sink = log[b];
      if (is_one_instance(source, sink)) continue;
      if (direct && last_write && !is_one_instance(source, *last_write)) break;
      const bool own = (source.write || source.combined) && (sink.write || sink.combined);
      if (source.write || sink.write) {
        const std::string kind = !source.write ? "anti" : sink.write ? "output" : "flow";
        into.insert({kind, source.statement, sink.statement, tensor,
                     own && source.statement == sink.statement, source.instance, sink.instance});
      }
      if (source.write) last_write = &source;
    }
  }
}

inline TracePairs pairs_of_trace(const ir::Program& program, bool direct) {
  std::map<std::pair<std::string, std::vector<std::int64_t>>, std::vector<TraceAccess>> logs;
  ir::Environment buffers = make_inputs(program, 1);
  ir::InterpretOptions options;
  options.on_event = [&](const ir::Event& event) {
    for (const ir::Event::Cell& cell : event.cells)
      logs[{cell.buffer, cell.index}].push_back(
          {*event.statement, event.instance, cell.write, cell.combined});
  };
  ir::interpret(program, buffers, options);
  TracePairs pairs;
  for (const auto& [cell, log] : logs) relate(log, cell.first, direct, pairs);
  // What an assignment does to its element is no reduction.
  TracePairs result;
  for (const auto& [kind, source, sink, tensor, reduction, from, to] : pairs) {
    const bool is_update = program.statement(source).combiner != ir::Combiner::None;
    result.insert({kind, source, sink, tensor, reduction && is_update, from, to});
  }
  return result;
}

}  // namespace polyte::schedule
