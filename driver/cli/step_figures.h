// polyte profile: what was measured of each step of an artifact, and the page that draws it.
#pragma once

#include <string>
#include <vector>

#include "bench/measure.h"
#include "runtime/session.h"

namespace polyte::cli {

struct Ceilings {             // measured beside the runs; 0: not known
  double flops_a_second = 0;  // of all threads, in single precision
  double bytes_a_second = 0;  // of main memory
};

struct StepFigures {
  std::size_t step = 0;  // its place in the session's list
  bench::Timing time;    // a round per run
  double share = 0;      // of the medians of all steps
  double busy = 1;       // workers at work on average
  double flops = 0;      // 0: not known
  double bytes = 0;      // of its operands, each once
  // Which ceiling is the nearer one: "memory", "multiply-adds"; empty: none is known.
  std::string bound;
  // The least time that the ceilings leave, by the median; above 1: from caches.
  double roofline = 0;
  std::vector<std::size_t> from;  // steps whose results it reads
};

struct NetworkFigures {
  std::string source;
  int threads = 1, runs = 0;
  bench::Timing whole;  // of the sum of the steps
  Ceilings ceilings;
  std::vector<StepFigures> steps;  // in the order of execution
};

// Operators of a step in one line, or "copy".
std::string operators_of(const runtime::StepSpec& step);
// For each step those whose results it reads, by the buffers that they share.
std::vector<std::vector<std::size_t>> step_edges(const runtime::ArtifactManifest& manifest);
// One file of HTML: the network, a box per step in the colour of its share of the time, and a
// table.
std::string profile_page(const NetworkFigures& figures, const runtime::Session& session);

}  // namespace polyte::cli
