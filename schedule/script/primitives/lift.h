// Lift: a statement computed anew in every iteration of a loop, for what is read
// there (compute_at).
//
//   y: u.o > x.o > u.i > x.i   reads bx[u..u+2, x]      bx[u, x] for all u, x
//   lift bx at x.o       ->    bx(u.o, x.o, u, x): bx[3*u.o + u, 4*x.o + x], 0 <= u < 5, 0 <= x < 4
//
// The loops above the site become leading iterators; the own ones keep their names and now
// count from the box's origin; the domain is the box of the consumers' footprint, met with the
// statement's own domain. Init and update of a reduction are lifted together. Accesses stay those
// of the tensor: `stage` gives it storage of its own. Not checked here: that the box covers what
// is read (Prover::check_storage).
#pragma once

#include "schedule/script/primitives/edit.h"

namespace polyte::schedule {

struct LiftSite {
  std::vector<std::string> prefix;     // loops above the site and the site, outermost first
  std::vector<std::string> consumers;  // statements below it that read the tensor, not its writers
  // A loop of the prefix, or "root": see slide(); empty: all anew.
  std::string per = {};
};
// Edits the writers of `tensor`; their rows then begin with the prefix. The caller changes the
// tree.
std::optional<Refusal> lift(State& state, const std::string& tensor, const LiftSite& site);

// Leaves out of lifted writers what earlier iterations have made since the loop `site.per`
// began (slide.cc).
std::optional<Refusal> slide(State& state, const std::string& tensor, const LiftSite& site);
// The loops of the prefix below `per`: along which the window slides.
std::vector<std::string> sliding_loops(const std::vector<std::string>& prefix,
                                       const std::string& per);

// Statements below the loop that read the tensor and do not write it.
std::vector<std::string> consumers_below(const State& state, const Loop& loop,
                                         const std::string& tensor);
bool reads(const ScheduledStatement& s, const std::string& buffer);
bool writes(const ScheduledStatement& s, const std::string& buffer);

// Elements of one dimension: origin over loops, extent a number.
struct Window {
  ir::Affine origin;
  std::int64_t extent = 0;
};
// The box of the elements that accesses touch, one window per dimension. It rests where one that
// moves with the loops would be larger than all it moves over; the elements of an iteration are
// then those in both.
struct Box {
  std::vector<ir::Affine> origin;
  std::vector<std::int64_t> extent;
  std::vector<std::optional<Window>> moving = {};  // where the box rests

  bool rests() const;
  Window moving_window(std::size_t dimension) const;  // that of the box where it does not rest
};
struct BoxAccess {
  const ScheduledStatement* statement = nullptr;
  std::vector<ir::Index> indices;
};
// Decline says which index has no box.
Result<Box> box_of(const State& state, const std::vector<BoxAccess>& accesses,
                   const std::string& buffer, const LoopNames& outer);

}  // namespace polyte::schedule
