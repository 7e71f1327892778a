#include "codegen/nvptx/moved_values.h"

#include <llvm/Analysis/CaptureTracking.h>
#include <llvm/Analysis/ValueTracking.h>

namespace polyte::codegen {
namespace {

using Value = llvm::Value;

// An alloca, through casts and offsets: memory of the thread, which no other can see.
const Value* own_memory_of(const Value* pointer) {
  const Value* object = llvm::getUnderlyingObject(pointer);
  return llvm::isa<llvm::AllocaInst>(object) ? object : nullptr;
}

bool is_constant(const Value* v) { return llvm::isa<llvm::Constant>(v); }
bool is_number(const Value* v) { return llvm::isa<llvm::ConstantInt>(v); }

// Whether the instruction turns the form of elements in memory into that in registers, or back,
// lane by lane. bf16 is shifted by 16 bits, bool is compared with 0, f16 is converted: none of them
// computes with the value.
bool changes_form(const llvm::Instruction& at) {
  if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(&at))
    return mask_lanes(cast->getSrcTy()) == mask_lanes(cast->getDestTy());
  if (at.getOpcode() == llvm::Instruction::Shl || at.getOpcode() == llvm::Instruction::LShr)
    return is_constant(at.getOperand(1));
  const auto* compared = llvm::dyn_cast<llvm::ICmpInst>(&at);
  return compared != nullptr && compared->getPredicate() == llvm::CmpInst::ICMP_NE &&
         is_constant(at.getOperand(1)) &&
         llvm::cast<llvm::Constant>(at.getOperand(1))->isNullValue();
}

// Whether the instruction hands the operand on as it is: phi; shuffles; either value of a select,
// whose condition is a use; elements put in or taken out at a constant place; and changes of form.
bool hands_on(const llvm::Instruction& at, const llvm::Use& operand) {
  if (mask_lanes(at.getType()) == 0) return false;
  if (llvm::isa<llvm::PHINode>(at) || llvm::isa<llvm::ShuffleVectorInst>(at)) return true;
  if (llvm::isa<llvm::SelectInst>(at)) return operand.getOperandNo() > 0;
  if (llvm::isa<llvm::ExtractElementInst>(at))
    return operand.getOperandNo() == 0 && is_number(at.getOperand(1));
  if (llvm::isa<llvm::InsertElementInst>(at))
    return operand.getOperandNo() < 2 && is_number(at.getOperand(2));
  return changes_form(at);
}

// Whether the use stores the value to memory that can be followed. Memory of the thread that is
// handed to the emulator, as an instruction's registers, cannot: the emulator reads it itself.
bool is_stored(const llvm::Use& operand) {
  const auto* store = llvm::dyn_cast<llvm::StoreInst>(operand.getUser());
  if (store == nullptr || operand.getOperandNo() != 0) return false;
  const Value* own = own_memory_of(store->getPointerOperand());
  return own == nullptr || !llvm::PointerMayBeCaptured(own, true, true);
}

bool is_moved_on(const llvm::Use& operand) {
  return is_stored(operand) || hands_on(*llvm::cast<llvm::Instruction>(operand.getUser()), operand);
}

unsigned lane_of(const Value* index) {
  return static_cast<unsigned>(llvm::cast<llvm::ConstantInt>(index)->getZExtValue());
}

// The mask of a select's result. One condition chooses between whole masks. A vector of conditions
// chooses lane by lane, which is bit by bit: <n x i1> as an integer has lane i in bit i on
// little-endian targets.
Value* chosen(llvm::IRBuilder<>& b, Value* condition, Value* first, Value* second) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(condition->getType());
  if (vector == nullptr) return b.CreateSelect(condition, first, second);
  Value* lanes = b.CreateZExt(b.CreateBitCast(condition, b.getIntNTy(vector->getNumElements())),
                              b.getInt64Ty());
  return b.CreateOr(b.CreateAnd(lanes, first), b.CreateAnd(b.CreateNot(lanes), second));
}

}  // namespace

unsigned mask_lanes(llvm::Type* type) {
  unsigned lanes = 1;
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
    lanes = vector->getNumElements();
    type = vector->getElementType();
  }
  return (type->isIntegerTy() || type->isFloatingPointTy()) && lanes <= 64 ? lanes : 0;
}

MovedValues::MovedValues(llvm::Function& function) : function_(function) {
  std::vector<llvm::Instruction*> pending;
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& at : block)
      if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&at);
          load && own_memory_of(load->getPointerOperand()) == nullptr)
        add_root(*load, pending);
  while (!pending.empty()) {
    llvm::Instruction* value = pending.back();
    pending.pop_back();
    follow(*value, pending);
  }
}

// A load is a root if each use of it moves the value on. If one of them computes with it, the load
// itself counts as the use, and may not find what was never written.
void MovedValues::add_root(llvm::LoadInst& load, std::vector<llvm::Instruction*>& pending) {
  if (load.isAtomic() || mask_lanes(load.getType()) == 0 || !roots_.insert(&load).second) return;
  for (const llvm::Use& use : load.uses())
    if (!is_moved_on(use)) return void(roots_.erase(&load));
  origins_[&load] = &load;
  pending.push_back(&load);
}

// A worklist over the def-use chains, through the thread's own memory as well: what is stored there
// is followed to all loads of that memory.
void MovedValues::follow(llvm::Instruction& value, std::vector<llvm::Instruction*>& pending) {
  for (const llvm::Use& use : value.uses()) {
    auto* user = llvm::cast<llvm::Instruction>(use.getUser());
    if (is_stored(use)) {
      const Value* own = own_memory_of(llvm::cast<llvm::StoreInst>(user)->getPointerOperand());
      if (own == nullptr || !own_.insert(own).second) continue;
      for (llvm::BasicBlock& block : function_)
        for (llvm::Instruction& at : block)
          if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&at);
              load && own_memory_of(load->getPointerOperand()) == own)
            add_root(*load, pending);
    } else if (hands_on(*user, use) && origins_.emplace(user, origins_.at(&value)).second) {
      pending.push_back(user);
    }
  }
}

// Every place where a value with a mask is computed with, or ends: there a set bit is a fault.
std::vector<MovedValues::Use> MovedValues::uses() const {
  std::vector<Use> all;
  for (llvm::BasicBlock& block : function_)
    for (llvm::Instruction& at : block)
      for (const llvm::Use& operand : at.operands()) {
        const auto origin = origins_.find(operand.get());
        if (origin != origins_.end() && !is_moved_on(operand))
          all.push_back({&at, llvm::cast<llvm::Instruction>(operand.get()), origin->second});
      }
  return all;
}

Value* MovedValues::mask(Value* value) {
  if (!origins_.contains(value)) return nullptr;
  const auto known = masks_.find(value);
  return known != masks_.end() ? known->second : made_mask(*llvm::cast<llvm::Instruction>(value));
}

// The mask is computed as the value is, operation by operation, beside it.
Value* MovedValues::made_mask(llvm::Instruction& value) {
  llvm::IRBuilder<> b(&value);
  const auto of = [&](unsigned operand) {
    Value* bits = mask(value.getOperand(operand));
    return bits != nullptr ? bits : b.getInt64(0);
  };
  const auto bit = [&](Value* bits, unsigned lane) {
    return b.CreateAnd(b.CreateLShr(bits, lane), 1);
  };
  if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&value)) {
    llvm::PHINode* bits = b.CreatePHI(b.getInt64Ty(), phi->getNumIncomingValues());
    masks_[&value] = bits;  // before those it comes from: they may come from it
    for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i)
      bits->addIncoming(of(i), phi->getIncomingBlock(i));
    return bits;
  }
  Value* bits = nullptr;
  if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&value)) {
    Value* first = of(1);
    Value* second = of(2);
    bits = chosen(b, select->getCondition(), first, second);
  } else if (llvm::isa<llvm::ExtractElementInst>(value)) {
    bits = bit(of(0), lane_of(value.getOperand(1)));
  } else if (llvm::isa<llvm::InsertElementInst>(value)) {
    const unsigned lane = lane_of(value.getOperand(2));
    bits = b.CreateOr(b.CreateAnd(of(0), ~(std::uint64_t{1} << lane)), b.CreateShl(of(1), lane));
  } else if (auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&value)) {
    const unsigned lanes = mask_lanes(shuffle->getOperand(0)->getType());
    Value *first = of(0), *second = of(1);
    bits = b.getInt64(0);
    for (unsigned i = 0; i < shuffle->getShuffleMask().size(); ++i)
      if (const int from = shuffle->getMaskValue(i); from >= 0)
        bits = b.CreateOr(bits, b.CreateShl(static_cast<unsigned>(from) < lanes
                                                ? bit(first, static_cast<unsigned>(from))
                                                : bit(second, static_cast<unsigned>(from) - lanes),
                                            i));
  } else {
    bits = of(0);
  }
  return masks_[&value] = bits;
}

}  // namespace polyte::codegen
