// OpenThreads: the loops of threads that are open at a place, each as what the number of the
// thread that runs an iteration says of its variable; and from a subscript, the part that the
// thread's number makes.
//
//   OpenThreads open;  open.enter(warp_loop);  open.enter(lane_loop);
//   open.part_of(32*w + l + 4*i)     // thread - thread % 32 + thread % 32: of 32*w + l alone
#pragma once

#include "ir/loop_program.h"

namespace polyte::lower {

class OpenThreads {
 public:
  static const char* const kThread;  // the thread's number in its block; no loop's name

  void enter(const ir::For& loop);
  void leave(const ir::For& loop) { values_.erase(loop.var); }
  bool none() const { return values_.empty(); }
  bool is_open(const std::string& variable) const { return values_.contains(variable); }
  // The terms of a subscript that the thread alone decides, over kThread; nullopt where it mixes
  // with other variables.
  std::optional<ir::Affine> part_of(const ir::Affine& e) const;
  // The same over the loops' own variables, mixed or not, to be taken away.
  ir::Affine own_part_of(const ir::Affine& e) const;

 private:
  ir::Bindings values_;
};

// Numbers of threads: they differ by a multiple of 32.
bool is_one_lane(const ir::Affine& a, const ir::Affine& b);

// A register of another lane is read in it.
bool has_exchange(const ir::Stmt& s);

}  // namespace polyte::lower
