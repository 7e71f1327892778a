#include "codegen/common/extrema.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Support/MathExtras.h>

namespace polyte::codegen {
namespace {

using llvm::Value;

constexpr unsigned kFewestLanes = 4;

bool is_of_floats(llvm::Intrinsic::ID which) {
  return which == llvm::Intrinsic::maximum || which == llvm::Intrinsic::minimum;
}

bool is_extremum(llvm::Intrinsic::ID which) {
  using namespace llvm::Intrinsic;
  return is_of_floats(which) || which == smax || which == smin || which == umax || which == umin;
}

// One update of a chain: which(before, vector[lane]).
struct Update {
  llvm::IntrinsicInst* call = nullptr;
  Value *before = nullptr, *vector = nullptr;
  std::uint64_t lane = 0;
};

std::optional<Update> update_of(Value* value) {
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(value);
  if (!call || !is_extremum(call->getIntrinsicID()) || call->getType()->isVectorTy())
    return std::nullopt;
  auto* taken = llvm::dyn_cast<llvm::ExtractElementInst>(call->getArgOperand(1));
  const auto* lane = taken ? llvm::dyn_cast<llvm::ConstantInt>(taken->getIndexOperand()) : nullptr;
  if (!lane) return std::nullopt;
  return Update{call, call->getArgOperand(0), taken->getVectorOperand(), lane->getZExtValue()};
}

unsigned lanes_of(const Value* vector) {
  return llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
}

// The updates from the last to the first, where they take each lane of one vector once, and nothing
// else reads what is in between; else none.
std::vector<Update> chain_to(const Update& last) {
  const unsigned lanes = lanes_of(last.vector);
  if (lanes < kFewestLanes || !llvm::isPowerOf2_32(lanes)) return {};
  std::vector<bool> is_taken(lanes, false);
  std::vector<Update> chain = {last};
  while (true) {
    const Update& update = chain.back();
    if (update.vector != last.vector || is_taken[update.lane]) return {};
    is_taken[update.lane] = true;
    if (chain.size() == lanes) return chain;
    const auto before = update_of(update.before);
    if (!before || before->call->getIntrinsicID() != last.call->getIntrinsicID() ||
        !before->call->hasOneUse())
      return {};
    chain.push_back(*before);
  }
}

Value* half_of(llvm::IRBuilder<>& b, Value* vector, unsigned begin, unsigned count) {
  std::vector<int> lanes(count);
  std::iota(lanes.begin(), lanes.end(), static_cast<int>(begin));
  return b.CreateShuffleVector(vector, lanes);
}

Value* in_pairs(llvm::IRBuilder<>& b, llvm::Intrinsic::ID which, Value* vector) {
  for (unsigned half = lanes_of(vector) / 2; half > 1; half /= 2)
    vector =
        b.CreateBinaryIntrinsic(which, half_of(b, vector, 0, half), half_of(b, vector, half, half));
  return b.CreateBinaryIntrinsic(which, b.CreateExtractElement(vector, std::uint64_t{0}),
                                 b.CreateExtractElement(vector, std::uint64_t{1}));
}

bool is_negation(const Value* value) {
  const auto* unary = llvm::dyn_cast<llvm::UnaryOperator>(value);
  return unary && unary->getOpcode() == llvm::Instruction::FNeg;
}

// A value that goes around a loop, is negated at the end of each iteration and again at the begin
// of the next, as a maximum by way of minima is, goes around as it is in between.
void drop_negations(llvm::PHINode& phi) {
  const auto comes_negated = [&](const Value* value) {
    return is_negation(value) && llvm::cast<llvm::Instruction>(value)->getOperand(0) != &phi;
  };
  if (phi.use_empty() || !std::ranges::all_of(phi.users(), is_negation) ||
      std::ranges::none_of(phi.incoming_values(), comes_negated))
    return;
  llvm::PHINode* negated =
      llvm::IRBuilder<>(&phi).CreatePHI(phi.getType(), phi.getNumIncomingValues());
  for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
    Value* value = phi.getIncomingValue(i);
    llvm::BasicBlock* from = phi.getIncomingBlock(i);
    negated->addIncoming(comes_negated(value)
                             ? llvm::cast<llvm::Instruction>(value)->getOperand(0)
                             : llvm::IRBuilder<>(from->getTerminator()).CreateFNeg(value),
                         from);
  }
  for (llvm::User* user : llvm::make_early_inc_range(phi.users())) {
    user->replaceAllUsesWith(negated);
    llvm::cast<llvm::Instruction>(user)->eraseFromParent();
  }
  phi.eraseFromParent();
}

}  // namespace

void reduce_lanes(llvm::Function& function) {
  std::vector<std::vector<Update>> chains;
  llvm::SmallPtrSet<llvm::IntrinsicInst*, 16> taken;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    const auto last = update_of(&instruction);
    std::vector<Update> chain = last ? chain_to(*last) : std::vector<Update>();
    const auto is_taken = [&](const Update& update) { return taken.contains(update.call); };
    if (chain.empty() || std::ranges::any_of(chain, is_taken)) continue;
    for (const Update& update : chain) taken.insert(update.call);
    chains.push_back(std::move(chain));
  }
  for (const std::vector<Update>& chain : chains) {
    llvm::IntrinsicInst* const last = chain.front().call;
    llvm::IRBuilder<> b(last);
    const llvm::Intrinsic::ID which = last->getIntrinsicID();
    Value* lanes = in_pairs(b, which, chain.front().vector);
    // What comes before may be another chain, done already.
    last->replaceAllUsesWith(
        b.CreateBinaryIntrinsic(which, chain.back().call->getArgOperand(0), lanes));
    for (const Update& update : chain) {
      auto* lane = llvm::cast<llvm::Instruction>(update.call->getArgOperand(1));
      update.call->eraseFromParent();
      if (lane->use_empty()) lane->eraseFromParent();
    }
  }
}

void lower_extrema(llvm::Function& function, const Instructions& instructions) {
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (!call || !is_of_floats(call->getIntrinsicID())) continue;
    llvm::IRBuilder<> b(call);
    Value* found = instructions.extremum(b, call->getIntrinsicID(), call->getArgOperand(0),
                                         call->getArgOperand(1));
    if (!found) continue;
    call->replaceAllUsesWith(found);
    call->eraseFromParent();
  }
  for (llvm::BasicBlock& block : function)
    for (llvm::PHINode& phi : llvm::make_early_inc_range(block.phis())) drop_negations(phi);
}

}  // namespace polyte::codegen
