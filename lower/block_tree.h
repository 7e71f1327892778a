// The regions of a block: what its threads run together between two places where they can meet.
// A loop of threads is one, and so is what stands between them, which thread 0 runs alone. Around
// them are serial loops, branches and allocations, all the same for every thread, and loops of
// warps, inside which the lanes of a warp can meet.
//
//   BlockTree tree(launch);      // a For of kind Block
//   for (const BlockRegion* region : tree.regions) ...
//
// Internal to place_barriers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/loop_program.h"

namespace polyte::lower {

// One access, with all that is known of the variables where it runs, from the launch inwards.
struct RegionAccess {
  std::string buffer, statement;
  std::vector<ir::Index> indices;
  bool write = false;
  std::vector<ir::Constraint> where;
  // A read by an instruction of a warpgroup, whichever of its threads that is.
  bool past_threads = false;
  bool atomic = false;  // part of an update that no other thread comes between
};

struct BlockNode {
  enum class Kind { Sequence, Loop, Warps, Wrap, Region } kind = Kind::Region;
  ir::Stmt source;
  BlockNode* parent = nullptr;
  std::size_t position = 0;  // among the children of its parent
  std::vector<std::unique_ptr<BlockNode>> children;
  int depth = 0;   // loops around it
  int number = 0;  // in the order of the text
  // Of regions:
  ir::Affine thread;  // that runs an instance
  std::vector<RegionAccess> accesses;

  const ir::For* loop() const { return std::get_if<ir::For>(&source->op); }
};

class BlockTree {
 public:
  // UserError where a branch on what is read at run time stands around loops of threads.
  explicit BlockTree(const ir::Stmt& launch);

  std::unique_ptr<BlockNode> root;        // the body of the launch
  std::vector<const BlockNode*> regions;  // in order
  std::vector<ir::Constraint> of_launch;  // what is known of the blocks' numbers

 private:
  std::vector<ir::Constraint> known_;
  int nodes_ = 0;
  ir::Affine warp_ = 0;
  bool past_threads_ = false;

  std::unique_ptr<BlockNode> build(const ir::Stmt& s, int depth);
  void add_children(BlockNode& node, const std::vector<ir::Stmt>& children, int depth);
  void collect(const ir::Stmt& s, BlockNode& region, std::vector<ir::Constraint> where);
  void collect_loads(const ir::Expr& e, BlockNode& region, const std::string& statement,
                     const std::vector<ir::Constraint>& where);
};

}  // namespace polyte::lower
