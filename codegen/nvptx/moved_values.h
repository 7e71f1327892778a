// What a kernel moves from memory to memory without looking at it. A copy may take elements that
// nobody has written, as it may in the interpreter of loops, as long as they are overwritten or not
// used. So that the emulator can follow them, the values that are only moved on have a mask beside
// them, a bit for each of their elements:
//
//   %x = load               mask from the report of the load
//   %p = phi [%x, %q]       phi of the masks
//   store %p                mask to the report of the store
//   fadd %p                 a use: reported, and a fault if a bit is set
//
// Internal: includes LLVM headers.
#pragma once

#include <map>
#include <set>
#include <vector>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

namespace polyte::codegen {

class MovedValues {
 public:
  explicit MovedValues(llvm::Function& function);

  // Of a load: everything that takes its value moves it on, or takes it from there.
  bool is_moved(const llvm::Instruction& load) const { return roots_.contains(&load); }
  // The thread's own memory that such values are stored in.
  bool is_followed(const llvm::Value* own_memory) const { return own_.contains(own_memory); }

  void set_mask(llvm::Instruction& load, llvm::Value* mask) { masks_[&load] = mask; }
  // The bits of a value, once all moved loads have theirs; null: it has none.
  llvm::Value* mask(llvm::Value* value);

  struct Use {
    llvm::Instruction *user, *value, *origin;  // origin: a load that the value comes from
  };
  std::vector<Use> uses() const;

 private:
  llvm::Function& function_;
  std::set<const llvm::Value*> roots_, own_;
  std::map<const llvm::Value*, llvm::Instruction*> origins_;  // of all values that have a mask
  std::map<const llvm::Value*, llvm::Value*> masks_;

  void add_root(llvm::LoadInst& load, std::vector<llvm::Instruction*>& pending);
  void follow(llvm::Instruction& value, std::vector<llvm::Instruction*>& pending);
  llvm::Value* made_mask(llvm::Instruction& value);
};

// Lanes of a value; 0 where it is none that can have a mask.
unsigned mask_lanes(llvm::Type* type);

}  // namespace polyte::codegen
