// What a stage has found out before it edits anything, shared by its parts: the site, who touches
// the tensor there, the box, the local buffer. stage_transfers.cc decides which elements pass
// between the two, stage_copies.cc makes the statements that move them.
#pragma once

#include "schedule/script/primitives/layout.h"
#include "schedule/script/primitives/lift.h"
#include "schedule/script/primitives/padding.h"

namespace polyte::schedule {

struct StagePlan {
  const State& before;
  const Stage& directive;
  const PrimitiveContext& context;
  std::string buffer = {}, of = {};      // what is staged, and the reference tensor it holds
  const Loop* site = nullptr;            // null: the whole kernel
  std::vector<std::string> prefix = {};  // loops down to the site
  LoopNames outer = {};                  // the same
  // Statements below the site that touch it, in text order.
  std::vector<std::string> users = {}, writers = {};
  Box box = {};
  Padding padding = {};
  Layout layout = {};
  StagedBuffer local = {};

  bool is_reference() const;
  ir::Role role() const;
  // Whether the copy stands for this read of the statement's, for what it writes and updates.
  bool takes(const ScheduledStatement& s, const ir::Load& load) const;
  bool takes_writes(const ScheduledStatement& s) const;
  std::vector<BoxAccess> accesses() const;
  bool is_buffer(const std::string& name) const;
  // Names of the box's dimensions: given, or as the Program's statements subscript the tensor; then
  // such that a copy's loops can have them.
  std::vector<std::string> plain_names() const;
  std::vector<std::string> dimension_names() const;

 private:
  bool clashes(const std::string& name) const;
};

// base, or base_2, base_3, .. where that is taken.
std::string fresh(const std::string& base, const std::function<bool(const std::string&)>& taken);

// Which elements pass between the buffer and its copy: one copy statement per condition over
// the loops above the site.
struct Transfers {
  std::vector<std::vector<ir::Constraint>> in, out;
  bool by_windows = false;  // of a box that rests: those in the iteration's window alone
};
Result<Transfers, Refusal> find_transfers(const StagePlan& plan);

// Adds the copy statements and their loops around the body of the site; their names.
std::vector<std::string> insert_copies(State& next, const StagePlan& plan,
                                       const Transfers& transfers);

}  // namespace polyte::schedule
