// The loops of a GPU's launches made ready for being walked warp by warp: affine values over
// slots, accesses in the pieces that threads move at once, loads that a thread has already left out
// (ir/warp_memory.h says which).
//
//   WarpSteps steps = warp_steps(loops);   // steps.root: launches in program order
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/loop_program.h"

namespace polyte::ir {

struct SlotValue {
  std::int64_t constant = 0;
  std::vector<std::pair<std::size_t, std::int64_t>> terms;  // slot, coefficient
  struct Division;
  std::vector<Division> divisions;
};
struct SlotValue::Division {
  SlotValue numerator;
  std::int64_t denominator = 1, coefficient = 1;
};

struct SlotTest {
  SlotValue value;
  bool equality = false;
};

struct WarpStep {
  enum Kind { Access, Work, Loop, Branch, Sequence } kind = Sequence;
  std::vector<WarpStep> body;
  // Access: elements first + lanes of a buffer, where the tests hold
  std::string statement, buffer;
  bool write = false, shared = false, known = true;
  bool async = false;  // the thread does not wait for it
  std::int64_t element_bytes = 0, lanes = 1;
  Swizzle swizzle = {};
  SlotValue place;
  std::vector<SlotTest> tests;              // and of a Branch
  std::shared_ptr<const bool> overwritten;  // at once, by the same thread: it is left out
  // Work: what each thread computes here, in instructions; how many of these wait for one another;
  // and, per warp, multiply-adds of tensor cores, counted as those of 16 bits
  double instructions = 0, chained = 0, products = 0;
  // Loop
  LoopKind loop_kind = LoopKind::Serial;
  std::size_t slot = 0;
  std::vector<SlotValue> lower, upper;
  bool has_threads = false;  // some loop of threads is inside, or it is one
};

struct WarpSteps {
  WarpStep root;
  std::map<std::string, std::size_t> slots;  // of loops' variables and sizes
};
WarpSteps warp_steps(const LoopProgram& program);

}  // namespace polyte::ir
