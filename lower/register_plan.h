// RegisterPlan: whether the accesses to a Register buffer let codegen keep it as SSA values, one
// for each piece (its first element and its lanes), and how the buffer must look for that:
//   order    the dimension that vectors run along becomes the last one
//   shape    that extent grows where a masked vector reaches beyond it (registers cost
//            nothing there)
//   no mask  a piece that is read under one mask needs none, nor do stores to it: nobody reads its
//            other lanes. (A piece that is only updated keeps it, and so does one that a branch or
//            loop may leave unwritten: what is read would never have been written.)
// What is only read may be part of a piece: its element, or some of its lanes. An element that is
// written is a lane of the piece that it lies in, the others masked:
//
//   acc[0; 8 by 1] = ..         acc[0; 8 by 1] = ..
//   acc[0] = acc[0] + x[32]     acc[0; 8 by 1 if 1] = x8(acc[0] + x[32])      what is left of a row
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/loop_program.h"

namespace polyte::lower {

class RegisterPlan {
 public:
  explicit RegisterPlan(const ir::Alloc& alloc);

  std::string reason;               // why it cannot; empty: it can
  std::vector<std::int64_t> shape;  // grown, in the new order

  // The allocation with its accesses as planned; only where it can.
  ir::Stmt applied(const ir::Alloc& alloc) const;

 private:
  struct Piece {
    std::vector<std::int64_t> first;
    int lanes = 1;
    friend bool operator<(const Piece& a, const Piece& b) {
      return a.first != b.first ? a.first < b.first : a.lanes < b.lanes;
    }
  };
  using Path = std::vector<const ir::StmtNode*>;  // branches and loops, outermost first
  struct Masks {
    bool uniform = true;  // all masks are the same
    bool masked = false;  // there is one
    std::optional<ir::Affine> active = {}, skipped = {};
    bool whole_stored = false, whole_read = false;  // without a mask; updates do not count as reads
    bool stored = false;
    // Stored without a read of it, in these branches and loops; and read where it may not be so.
    std::vector<Path> begun = {};
    bool unbegun = false;
  };
  std::string name_;
  std::optional<std::size_t> lane_dim_;  // none: no vectors
  std::map<Piece, Masks> pieces_;
  std::map<Piece, Piece> whole_;  // of elements that are written, the vectors that these lie in
  std::set<std::string> inner_;   // loops inside the allocation
  Path path_;                     // to what is visited

  void fail(const std::string& text);
  void visit(const ir::Stmt& s, const std::string& parallel);
  void visit(const ir::Expr& e, const std::string& parallel, const ir::Store* updates = nullptr);
  void visit(const ir::Tensorized& tensorized, const std::string& parallel);
  enum class Use { Store, Update, Read };  // Update: a read to update the piece
  void see(const std::vector<ir::Index>& indices, const ir::Lanes& lanes,
           const std::string& parallel, Use use);
  void grow();
  void find_lanes();
  void find_parts();
  void check_overlap();
  static bool is_same_place(const ir::Load& load, const ir::Store& store);
  bool updates(const ir::Store& store) const;
  bool is_begun(const Masks& masks) const;
  bool is_part(const Piece& piece) const;
  std::size_t dimension_of(const Piece& piece) const;
  bool is_within(const Piece& part, const Piece& whole) const;
  void become_lane(ir::Store& store) const;
  Piece piece_of(const std::vector<ir::Index>& indices, const ir::Lanes& lanes) const;
  bool sees_lanes(const ir::Lanes& lanes);
  std::size_t moved(std::size_t dim) const;  // old dimension -> new one
  void reorder(std::vector<ir::Index>& indices, ir::Lanes& lanes) const;
  ir::Stmt rewritten(const ir::Stmt& s) const;
  template <class Access>
  bool replan(Access& access) const;
  bool drops_mask(const std::vector<ir::Index>& indices, const ir::Lanes& lanes) const;
};

}  // namespace polyte::lower
