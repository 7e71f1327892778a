// RegisterOwner: which lane of its warp has an element of a block's registers, and which of the
// lane's registers it is, by the element's subscripts. Read off the writes, which one thread makes
// of an element (the proof has seen to it):
//
//   thread t in 0..64   acc[4*(t//16) + i, t % 16] = ..
//     acc[m, n]:  lane 16*(m//4) + n, modulo 32;  register [m % 4, 0]
//
// Internal to exchange_lanes.
#pragma once

#include <optional>
#include <vector>

#include "ir/facts.h"
#include "ir/loop_program.h"
#include "lower/open_threads.h"

namespace polyte::lower {

// Where a walk is: what is known there, and the number of the thread that runs it.
struct ThreadPlace {
  ir::Facts facts;
  OpenThreads open;
  ir::Affine thread = 0;

  // A thread of this number is the one here, or has its place in another warp.
  bool is_own_lane(const ir::Affine& lane) const;

  // Inside a loop or a branch, as long as it lives.
  class Inside {
   public:
    Inside(ThreadPlace& place, const ir::Stmt& s);
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    ThreadPlace& place_;
    ir::Facts::Scope scope_;
    ir::Affine thread_;
    const ir::For* loop_ = nullptr;
  };
};

class RegisterOwner {
 public:
  // nullopt: the writes do not spread it so.
  static std::optional<RegisterOwner> of(const ir::Alloc& alloc, ThreadPlace& place);

  ir::Affine lane_of(const std::vector<ir::Index>& element) const;  // modulo 32
  std::vector<ir::Index> register_of(const std::vector<ir::Index>& element) const;
  // Of a thread, a dimension each.
  const std::vector<std::int64_t>& registers() const { return registers_; }

 private:
  // Of a dimension: the thread makes stride * ((thread / threads) % extent) of the subscript.
  struct Digit {
    std::int64_t stride = 1, extent = 1, threads = 1;
  };
  std::vector<Digit> digits_;
  std::vector<std::int64_t> registers_;

  void count_registers(const std::vector<std::int64_t>& shape);
  static std::optional<Digit> digit_of(const std::vector<std::int64_t>& by_thread);
};

}  // namespace polyte::lower
