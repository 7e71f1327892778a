#include "codegen/common/interleave_chains.h"

#include <algorithm>
#include <span>
#include <vector>

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/Analysis/MemoryLocation.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Support/MathExtras.h>

namespace polyte::codegen {
namespace {

using llvm::Instruction;

// Dependent operations from which on it pays: what is shorter is done before the next begins. And
// so many for each value that comes from memory or another chain: stencils wait for those, and hold
// them in registers.
constexpr unsigned kLong = 12;
constexpr unsigned kOperationsAnInput = 4;
// Values of a chain that are in registers at a time.
constexpr std::size_t kRegistersAChain = 4;
// Blocks with more accesses stay as they are: each is compared with all others.
constexpr std::size_t kMostAccesses = 256;

// An address as what is added up: values by their factors, among them the pointer, and a number.
struct Address {
  const llvm::Value* pointer = nullptr;
  llvm::SmallDenseMap<const llvm::Value*, std::int64_t, 4> parts;
  std::int64_t bytes = 0;

  void add(const llvm::Value* index, std::int64_t factor) {
    if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(index)) {
      bytes += number->getSExtValue() * factor;
      return;
    }
    const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(index);
    if (operation != nullptr && operation->getOpcode() == Instruction::Add) {
      for (const llvm::Value* operand : operation->operands()) add(operand, factor);
      return;
    }
    parts[index] += factor;
  }
};

Address address_of(const llvm::Value* pointer, const llvm::DataLayout& layout) {
  Address address;
  while (const auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(pointer)) {
    if (step->getNumIndices() != 1) break;
    const auto size = layout.getTypeAllocSize(step->getSourceElementType()).getFixedValue();
    address.add(step->getOperand(1), static_cast<std::int64_t>(size));
    pointer = step->getPointerOperand();
  }
  address.pointer = pointer;
  return address;
}

// Whether the accesses are at so many bytes from each other in one buffer, or would be if both had
// one: buffers of a kernel's interface are the same memory from their first byte on, or share none
// of it (codegen/common/kernel.h).
bool are_apart(const llvm::MemoryLocation& a, const llvm::MemoryLocation& b,
               const llvm::DataLayout& layout) {
  if (!a.Size.isPrecise() || !b.Size.isPrecise()) return false;
  const Address of_a = address_of(a.Ptr, layout), of_b = address_of(b.Ptr, layout);
  const bool are_buffers =
      llvm::isa<llvm::LoadInst>(of_a.pointer) && llvm::isa<llvm::LoadInst>(of_b.pointer);
  if ((of_a.pointer != of_b.pointer && !are_buffers) || of_a.parts != of_b.parts) return false;
  const std::int64_t ahead = of_b.bytes - of_a.bytes;
  return ahead >= static_cast<std::int64_t>(a.Size.getValue().getFixedValue()) ||
         -ahead >= static_cast<std::int64_t>(b.Size.getValue().getFixedValue());
}

// The instructions that one result needs, and none before it, in their order.
struct Chain {
  std::vector<Instruction*> instructions;
  unsigned length = 0;    // dependent operations on floats
  unsigned inputs = 0;    // values that it takes from memory and from other chains
  bool is_wider = false;  // than registers: parts of its vectors are side by side already

  bool is_long() const {
    return !is_wider && length >= std::max(kLong, kOperationsAnInput * inputs);
  }
};

class Block {
 public:
  Block(llvm::BasicBlock& block, llvm::AAResults& aliases, const VectorRegisters& registers)
      : block_(block), aliases_(aliases), layout_(block.getDataLayout()), registers_(registers) {}

  void run() {
    find_chains();
    std::size_t accesses = 0;
    for (const Instruction& i : block_) accesses += i.mayReadOrWriteMemory() ? 1 : 0;
    if (std::ranges::count_if(chains_, &Chain::is_long) < 2 || accesses > kMostAccesses) return;
    find_conflicts();
    find_groups();
    reorder();
  }

 private:
  using Group = std::span<const Chain>;

  llvm::BasicBlock& block_;
  llvm::AAResults& aliases_;
  const llvm::DataLayout& layout_;
  const VectorRegisters registers_;
  std::vector<Chain> chains_;
  llvm::DenseMap<const Instruction*, unsigned> depth_;  // of dependent operations on floats
  llvm::DenseMap<const Instruction*, Group> group_;
  // Accesses that an access has to stay behind.
  llvm::DenseMap<const Instruction*, std::vector<Instruction*>> behind_;
  llvm::DenseSet<const Instruction*> placed_;

  void find_chains() {
    llvm::DenseSet<const Instruction*> taken;
    for (Instruction& i : block_) {
      depth_[&i] = depth_of(i);
      llvm::Value* const result = result_at(i);
      if (result == nullptr) continue;
      Chain chain;
      take(result, taken, chain);
      std::ranges::sort(chain.instructions, [](const Instruction* a, const Instruction* b) {
        return a->comesBefore(b);
      });
      if (const auto* value = llvm::dyn_cast<Instruction>(result))
        chain.length = depth_.lookup(value);
      chain.inputs = inputs_of(chain);
      chain.is_wider = std::ranges::any_of(chain.instructions, [&](const Instruction* each) {
        return each->getType()->getPrimitiveSizeInBits().getKnownMinValue() > registers_.bits;
      });
      chains_.push_back(std::move(chain));
    }
  }

  // A value that is used again counts twice, since it is held.
  unsigned inputs_of(const Chain& chain) const {
    const llvm::DenseSet<const llvm::Value*> own(chain.instructions.begin(),
                                                 chain.instructions.end());
    llvm::DenseMap<const llvm::Value*, unsigned> uses;
    for (const Instruction* i : chain.instructions) {
      if (!i->getType()->isFPOrFPVectorTy()) continue;
      for (const llvm::Value* operand : i->operands()) {
        const auto* other = llvm::dyn_cast<Instruction>(operand);
        if (other == nullptr || other->getParent() != &block_ ||
            !other->getType()->isFPOrFPVectorTy() || llvm::isa<llvm::PHINode>(other))
          continue;
        if (!own.contains(other) || other->mayReadFromMemory()) ++uses[other];
      }
    }
    unsigned inputs = 0;
    for (const auto& [value, times] : uses) inputs += std::min(times, 2U);
    return inputs;
  }

  // What is stored, or goes to other blocks or the next iteration; else null.
  llvm::Value* result_at(Instruction& i) const {
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&i)) return store->getValueOperand();
    if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
        call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::masked_store)
      return call->getArgOperand(0);
    const bool leaves = std::ranges::all_of(i.users(), [&](const llvm::User* user) {
      const auto* by = llvm::cast<Instruction>(user);
      return by->getParent() != &block_ || llvm::isa<llvm::PHINode>(by);
    });
    return leaves && i.getType()->isFPOrFPVectorTy() ? &i : nullptr;
  }

  unsigned depth_of(const Instruction& i) const {
    if (llvm::isa<llvm::PHINode>(i)) return 0;
    unsigned most = 0;
    for (const llvm::Value* operand : i.operands())
      if (const auto* other = llvm::dyn_cast<Instruction>(operand))
        most = std::max(most, depth_.lookup(other));
    return most + (i.getType()->isFPOrFPVectorTy() && !i.mayReadFromMemory() ? 1 : 0);
  }

  // What the value is made of in this block and no chain has yet.
  void take(llvm::Value* value, llvm::DenseSet<const Instruction*>& taken, Chain& chain) const {
    std::vector<llvm::Value*> open = {value};
    while (!open.empty()) {
      auto* i = llvm::dyn_cast<Instruction>(open.back());
      open.pop_back();
      if (i == nullptr || i->getParent() != &block_ || llvm::isa<llvm::PHINode>(i)) continue;
      if (i->mayWriteToMemory() || !taken.insert(i).second) continue;
      chain.instructions.push_back(i);
      for (llvm::Value* operand : i->operands()) open.push_back(operand);
    }
  }

  // How many chains go side by side: vectors that come from other blocks and iterations have
  // registers already, the sums of a tile most of them.
  std::size_t width() const {
    llvm::DenseSet<const llvm::Value*> held;
    for (const Instruction& i : block_)
      for (const llvm::Value* operand : i.operands())
        if (const auto* other = llvm::dyn_cast<Instruction>(operand);
            other != nullptr && other->getType()->isVectorTy() &&
            (other->getParent() != &block_ || llvm::isa<llvm::PHINode>(other)))
          held.insert(other);
    if (held.size() >= registers_.count) return 1;
    return llvm::divideCeil(registers_.count - held.size(), kRegistersAChain);
  }

  // Long chains that follow one another.
  void find_groups() {
    const std::size_t width = this->width();
    for (std::size_t first = 0, last = 0; first < chains_.size(); first = last) {
      last = first + 1;
      if (!chains_[first].is_long()) continue;
      while (last < chains_.size() && last - first < width && chains_[last].is_long()) ++last;
      const Group group(&chains_[first], last - first);
      for (const Chain& chain : group)
        for (const Instruction* i : chain.instructions) group_[i] = group;
    }
  }

  void find_conflicts() {
    std::vector<Instruction*> before;
    for (Instruction& i : block_) {
      if (!i.mayReadOrWriteMemory()) continue;
      for (Instruction* other : before)
        if (conflict(i, *other)) behind_[&i].push_back(other);
      before.push_back(&i);
    }
  }

  bool conflict(const Instruction& a, const Instruction& b) const {
    if (a.isAtomic() || b.isAtomic()) return true;  // seen by others, who may count on the order
    if (!a.mayWriteToMemory() && !b.mayWriteToMemory()) return false;
    const auto of_a = llvm::MemoryLocation::getOrNone(&a);
    const auto of_b = llvm::MemoryLocation::getOrNone(&b);
    if (of_a && of_b) return !aliases_.isNoAlias(*of_a, *of_b) && !are_apart(*of_a, *of_b, layout_);
    if (of_a) return llvm::isModOrRefSet(aliases_.getModRefInfo(&b, of_a));
    if (of_b) return llvm::isModOrRefSet(aliases_.getModRefInfo(&a, of_b));
    return true;
  }

  void reorder() {
    std::vector<Instruction*> order;
    for (Instruction& i : block_)
      if (!llvm::isa<llvm::PHINode>(i) && !i.isTerminator()) order.push_back(&i);
    for (Instruction* i : order) {
      if (const auto group = group_.find(i); group != group_.end())
        place_side_by_side(group->second);
      place(i);
    }
  }

  void place_side_by_side(Group chains) {
    std::size_t steps = 0;
    for (const Chain& chain : chains) steps = std::max(steps, chain.instructions.size());
    // They end together, not begin: the first may hold what all of them use.
    for (std::size_t step = 0; step < steps; ++step)
      for (const Chain& chain : chains) {
        const std::size_t waits = steps - chain.instructions.size();
        if (step >= waits) place(chain.instructions[step - waits]);
      }
  }

  // At the end of the block, behind what it uses and may not overtake. Both stood before it, so
  // that this ends.
  void place(Instruction* i) {
    if (i->getParent() != &block_ || llvm::isa<llvm::PHINode>(i) || !placed_.insert(i).second)
      return;
    for (llvm::Value* operand : i->operands())
      if (auto* other = llvm::dyn_cast<Instruction>(operand)) place(other);
    if (const auto found = behind_.find(i); found != behind_.end())
      for (Instruction* other : found->second) place(other);
    i->moveBefore(block_.getTerminator());
  }
};

}  // namespace

void interleave_chains(llvm::Function& function, llvm::AAResults& aliases,
                       const VectorRegisters& registers) {
  for (llvm::BasicBlock& block : function) Block(block, aliases, registers).run();
}

}  // namespace polyte::codegen
