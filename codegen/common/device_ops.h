// DeviceOps: what the threads of a GPU do that a CPU's code does not. One class a way of running
// them: on the GPU itself (nvptx/nvptx_ops.cc, the only place that knows its intrinsics), and on
// a CPU that emulates its threads (nvptx/emulated_ops.cc). Everything else of a kernel is emitted
// alike for both.
//
// Internal: includes LLVM headers.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "ir/intrinsics.h"
#include "ir/loop_program.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

namespace polyte::codegen {

struct KernelContext;

class DeviceOps {
 public:
  using Value = llvm::Value;
  using Builder = llvm::IRBuilder<>;

  // Address spaces of pointers to the device's memory and to a block's.
  struct Spaces {
    unsigned global = 0, shared = 0;
  };

  explicit DeviceOps(Spaces of_pointers) : spaces(of_pointers) {}
  virtual ~DeviceOps() = default;
  DeviceOps(const DeviceOps&) = delete;
  DeviceOps& operator=(const DeviceOps&) = delete;

  const Spaces spaces;

  struct Kernel {
    llvm::Function* function = nullptr;
    std::vector<Value*> arguments;  // of the types asked for
  };
  // A function of the device that a launch starts with so many threads per block.
  virtual Kernel make_kernel(KernelContext& context, const std::string& name,
                             const std::vector<llvm::Type*>& arguments,
                             std::int64_t threads) const = 0;

  virtual Value* thread(Builder& b) const = 0;           // its number in the block, i64
  virtual Value* block(Builder& b, int axis) const = 0;  // 0: x, the fastest; i64
  // Where the block's begins, 128-byte aligned.
  virtual Value* shared_memory(Builder& b) const = 0;
  // Every thread of the block, or the warp, reaches it.
  virtual void barrier(Builder& b, bool of_warp) const = 0;
  // Copies 4, 8 or 16 bytes to shared memory, where `to` and `from` are multiples of that; it lands
  // before the thread's wait for its group. Zeros, and nothing is read, where the bit `is_given` is
  // not set; null: it is. The call.
  virtual llvm::CallInst* copy_async(Builder& b, Value* to, Value* from, int bytes,
                                     Value* is_given) const = 0;
  virtual void copy_group(Builder& b, const ir::CopyGroup& group) const = 0;
  // What all lanes of a warp do together. Operands and result in registers of 32 bits, as i32; the
  // result's are those of `c`, of the types that the row's Program gives it.
  virtual std::vector<Value*> multiply(Builder& b, const ir::Intrinsic& row,
                                       const std::vector<Value*>& a,
                                       const std::vector<Value*>& other,
                                       const std::vector<Value*>& c) const = 0;
  // Lane 8 i + r brings the address of row r of matrix i, in shared memory, a multiple of 16 bytes;
  // an i32 for each of the `count` matrices. `access`: the call that reads.
  virtual std::vector<Value*> load_matrices(Builder& b, Value* row, int count, bool transposed,
                                            llvm::CallInst*& access) const = 0;
  // An f32 as an operand of the rows of tf32, rounded: an i32.
  virtual Value* to_tf32(Builder& b, Value* value) const = 0;
  // What four warps do together with matrices in shared memory, meanwhile: a and b are their
  // descriptors (i64), `across` says of each that lines do not run along the sum. The result is
  // there after the wait for its group.
  virtual std::vector<Value*> multiply_shared(Builder& b, const ir::Intrinsic& row,
                                              const std::array<Value*, 2>& operands,
                                              const std::array<bool, 2>& across,
                                              const std::vector<Value*>& c) const = 0;
  // `values`: all registers that products are under way to; after a wait they are what is returned.
  virtual std::vector<Value*> product_group(Builder& b, const ir::ProductGroup& group,
                                            const std::vector<Value*>& values) const = 0;
  virtual void fence_products(Builder& b) const = 0;  // before the barrier behind which they read
  // As descriptors have it, i32.
  virtual Value* shared_address(Builder& b, Value* pointer) const = 0;

  // Registers of other lanes. Every lane of the warp brings one of 32 bits, as i32, and goes on
  // with the one that lane number `lane` (i64, modulo 32) brought. Where registers are watched,
  // `written` says if it has a value, in and out.
  struct Register {
    Value* value = nullptr;
    Value* written = nullptr;  // a bit
  };
  virtual Register exchange(Builder& b, const Register& own, Value* lane) const = 0;
  virtual bool watches_registers() const { return false; }
  // What was exchanged, or was there to be, is computed with.
  virtual void use(Builder&, Value* /*written*/, const std::string& /*statement*/,
                   const std::string& /*buffer*/) const {}
  // Where accesses are reported: whose this one is, and which value counts a loop.
  virtual void name_access(llvm::Instruction&, const std::string& /*statement*/,
                           const std::string& /*buffer*/) const {}
  virtual void name_copy(llvm::CallInst&, const std::string& /*statement*/,
                         const std::string& /*to*/, const std::string& /*from*/) const {}
  virtual void mark_counter(llvm::PHINode&) const {}
  // What polyte_launch::emulated holds, a constant of the host's module.
  virtual llvm::Constant* emulated_entry(llvm::Module& host, const Kernel& kernel) const = 0;
};

}  // namespace polyte::codegen
