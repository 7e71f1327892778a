// Launches: a loop of blocks becomes a function of the device, and in the host's code a call
// that starts it. What it needs of its surroundings (addresses, sizes, loops of the host)
// are its arguments:
//
//   host     void* arguments[] = {&x, &y, &t};  host->launch(host->self, &k0, grid, arguments)
//   device   k0(x, y, t):  i = lower + block.x;  if (thread < 64) ...;  barrier;  ...
//
// In the device's code all threads run what stands around loops of threads (its conditions and
// loops are the same for all), a loop of threads runs its iteration i on thread i, and a statement
// outside of such loops runs on thread 0.
#include <algorithm>
#include <cstddef>

#include "codegen/common/emitter.h"
#include "support/error.h"
#include "support/kernel_abi.h"

namespace polyte::codegen {

using Value = llvm::Value;

namespace {

// PTX names are words; ours have dots and more.
std::string device_name(const std::string& program, std::size_t number) {
  std::string text;
  for (const char c : program) text += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return text + "_launch" + std::to_string(number);
}

// The polyte_launch of a kernel, in the host's module. Emulated, it is the kernel as others
// find it.
llvm::Constant* description_of(llvm::Module& module, const LaunchInfo& info, std::size_t arguments,
                               llvm::Constant* emulated) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Constant* text = llvm::ConstantDataArray::getString(context, info.name);
  auto* name = new llvm::GlobalVariable(module, text->getType(), true,  // NOLINT
                                        llvm::GlobalValue::PrivateLinkage, text);
  const auto number = [&](std::int64_t n) {
    return llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), static_cast<std::uint64_t>(n));
  };
  llvm::Constant* all =
      llvm::ConstantStruct::getAnon({name, number(info.threads), number(info.shared_bytes),
                                     number(static_cast<std::int64_t>(arguments)), emulated});
  const auto linkage = emulated->isNullValue() ? llvm::GlobalValue::InternalLinkage
                                               : llvm::GlobalValue::ExternalLinkage;
  return new llvm::GlobalVariable(module, all->getType(), true, linkage, all,  // NOLINT
                                  info.name + POLYTE_LAUNCH_SUFFIX);
}

}  // namespace

// At the kernel's head, before anything has been written. The host is asked for its size first:
// that of an older version may end before the member `launch`.
void FunctionEmitter::need_device() {
  const auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(b_.getContext(), name, function_);
  };
  llvm::BasicBlock *asks = block("ask_host"), *has_size = block("has_size"),
                   *none = block("no_device");
  llvm::BasicBlock* device = block("device");
  b_.CreateCondBr(b_.CreateIsNotNull(host_), asks, none);
  b_.SetInsertPoint(asks);
  Value* size =
      b_.CreateLoad(b_.getInt32Ty(),
                    b_.CreateGEP(b_.getInt8Ty(), host_, b_.getInt64(offsetof(polyte_host, size))));
  b_.CreateCondBr(b_.CreateICmpUGE(size, b_.getInt32(sizeof(polyte_host))), has_size, none);
  b_.SetInsertPoint(has_size);
  b_.CreateCondBr(b_.CreateIsNotNull(member_of_host(offsetof(polyte_host, launch), "launch")),
                  device, none);
  b_.SetInsertPoint(none);
  b_.CreateRet(b_.getInt32(POLYTE_NO_DEVICE));
  b_.SetInsertPoint(device);
}

void FunctionEmitter::emit_launch(const ir::For& outermost) {
  const std::string& program = context_.kernel.program.name;
  POLYTE_CHECK(context_.device != nullptr, "kernel '" + program + "': a loop of blocks on a CPU");
  Device& device = *context_.device;
  const Launch launch = describe_launch(outermost, context_.kernel.program, context_.kernel.ranges);
  const LaunchInfo info{device_name(program, device.launches.size()), launch.threads,
                        launch.shared_bytes};
  std::vector<Value*> arguments;
  std::vector<llvm::Type*> types;
  const std::vector<std::string> buffers(launch.buffers.begin(), launch.buffers.end());
  for (const std::string& name : buffers) {
    arguments.push_back(buffers_.at(name).base);
    types.push_back(llvm::PointerType::get(b_.getContext(), device.ops.spaces.global));
  }
  for (const auto& [name, variable] : variables_) {
    arguments.push_back(variable.value);
    types.push_back(b_.getInt64Ty());
  }
  arguments.push_back(member_of_host(offsetof(polyte_host, device_status), "device_status"));
  types.push_back(llvm::PointerType::get(b_.getContext(), device.ops.spaces.global));

  KernelContext inside{device.module,   device.machine, device.instructions, context_.kernel,
                       context_.layout, context_.notes, context_.scopes};
  const DeviceOps::Kernel kernel = device.ops.make_kernel(inside, info.name, types, launch.threads);
  FunctionEmitter emitter(inside, kernel.function, false);
  emitter.ops_ = &device.ops;
  emitter.launch_ = &launch;
  emitter.emit_device_body(launch, kernel, *this, buffers);
  device.launches.push_back(info);
  llvm::Constant* description = description_of(context_.module, info, arguments.size(),
                                               device.ops.emulated_entry(context_.module, kernel));
  call_launch(launch, description, std::move(arguments));
}

// The device's function begins where the host's stands: its buffers and variables are the
// arguments, in the order in which `emit_launch` has listed them. The innermost loop of blocks is
// x, whose blocks neighbour each other.
void FunctionEmitter::emit_device_body(const Launch& launch, const DeviceOps::Kernel& kernel,
                                       const FunctionEmitter& host,
                                       const std::vector<std::string>& buffers) {
  std::size_t next = 0;
  for (const std::string& name : buffers) {
    BufferSlot& slot = buffers_[name] = host.buffers_.at(name);
    slot.base = kernel.arguments[next++];
  }
  for (const auto& [name, variable] : host.variables_)
    variables_[name] = {kernel.arguments[next++], 0};
  status_ = kernel.arguments[next];
  thread_ = ops_->thread(b_);
  open_level();
  for (std::size_t i = 0; i < launch.axes.size(); ++i) {
    const Axis& axis = launch.axes[i];
    Value* number = ops_->block(b_, static_cast<int>(launch.axes.size() - 1 - i));
    variables_[axis.var] = {b_.CreateAdd(largest(axis.lower), number, axis.var), 0};
  }
  // What depends on the blocks' numbers is computed after them.
  open_level();
  for (const Axis& axis : launch.axes)
    variables_[axis.var].level = static_cast<int>(levels_.size()) - 1;
  level_ = Level::Block;
  Value* runs = holds(launch.runs);
  emit_when(runs != nullptr ? runs : b_.getTrue(), [&] { emit(launch.body); });
  close_level();
  finish();
}

Value* FunctionEmitter::largest(const std::vector<ir::Affine>& values) {
  Value* result = affine(values.front());
  for (std::size_t i = 1; i < values.size(); ++i)
    result = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, result, affine(values[i]));
  return result;
}

Value* FunctionEmitter::smallest(const std::vector<ir::Affine>& values) {
  Value* result = affine(values.front());
  for (std::size_t i = 1; i < values.size(); ++i)
    result = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, result, affine(values[i]));
  return result;
}

// The arguments as cuLaunchKernel takes them: an array of pointers to the values. An empty grid is
// no launch, which CUDA would refuse.
void FunctionEmitter::call_launch(const Launch& launch, llvm::Constant* description,
                                  std::vector<Value*> arguments) {
  Value* grid = stack_memory(b_.getInt64Ty(), 3, 8, "grid");
  Value* any = b_.getTrue();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    Value* extent = b_.getInt64(1);
    if (axis < launch.axes.size()) {
      const Axis& loop = launch.axes[launch.axes.size() - 1 - axis];
      Value *lower = largest(loop.lower), *upper = smallest(loop.upper);
      extent = b_.CreateSub(upper, lower);
      any = b_.CreateAnd(any, b_.CreateICmpSLT(lower, upper));
    }
    b_.CreateStore(extent, b_.CreateGEP(b_.getInt64Ty(), grid, b_.getInt64(axis)));
  }
  const auto count = static_cast<std::int64_t>(arguments.size());
  Value* values = stack_memory(b_.getInt64Ty(), count, 8, "values");
  Value* places = stack_memory(b_.getPtrTy(), count, 8, "arguments");
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Value* value = b_.CreateGEP(b_.getInt64Ty(), values, b_.getInt64(i));
    b_.CreateStore(arguments[i], value);
    b_.CreateStore(value, b_.CreateGEP(b_.getPtrTy(), places, b_.getInt64(i)));
  }
  emit_when(any, [&] {
    auto* type = llvm::FunctionType::get(
        b_.getInt32Ty(), {b_.getPtrTy(), b_.getPtrTy(), b_.getPtrTy(), b_.getPtrTy()}, false);
    Value* function = member_of_host(offsetof(polyte_host, launch), "launch");
    Value* self = member_of_host(offsetof(polyte_host, self), "self");
    Value* result = b_.CreateCall(type, function, {self, description, grid, places});
    emit_when(b_.CreateIsNotNull(result), [&] { b_.CreateStore(result, status_); });
  });
}

namespace {

bool is_of_all_threads(const ir::Stmt& s) {
  return std::holds_alternative<ir::Barrier>(s->op) ||
         std::holds_alternative<ir::CopyGroup>(s->op) ||
         std::holds_alternative<ir::ProductGroup>(s->op);
}

}  // namespace

// A statement outside of loops of threads runs on one thread: of the block, or of the warp inside a
// loop of warps.
bool FunctionEmitter::emit_alone(const ir::Stmt& s) {
  if (level_ != Level::Block && level_ != Level::Warp) return false;
  if (is_of_all_threads(s) || has_threads(s)) return false;
  const auto* block = std::get_if<ir::Block>(&s->op);
  if (block && std::ranges::any_of(block->body, is_of_all_threads)) return false;
  const Level outside = std::exchange(level_, Level::Thread);
  Value* number =
      outside == Level::Warp ? b_.CreateAnd(thread_, b_.getInt64(ir::kLanes - 1)) : thread_;
  emit_when(b_.CreateICmpEQ(number, b_.getInt64(0)), [&] { emit(s); });
  level_ = outside;
  return true;
}

// The loop becomes a test: thread i runs iteration i, if there is one. Without a test where the
// loop is known to have an iteration for every thread of the block, warp of the block or lane of
// the warp.
void FunctionEmitter::emit_threads(const ir::For& loop, Value* lower, Value* upper) {
  POLYTE_CHECK(ops_ != nullptr && level_ != Level::Thread,
               "kernel '" + context_.kernel.program.name + "': loop of threads '" + loop.loop +
                   "' is out of place");
  Value* number = thread_;
  std::int64_t all = launch_->threads;
  if (loop.kind == ir::LoopKind::Warp) {
    number = b_.CreateLShr(thread_, b_.getInt64(5));
    all /= ir::kLanes;
  } else if (loop.kind == ir::LoopKind::Lane) {
    number = b_.CreateAnd(thread_, b_.getInt64(ir::kLanes - 1));
    all = ir::kLanes;
  }
  const auto is_number = [](Value* value, std::int64_t n) {
    const auto* known = llvm::dyn_cast<llvm::ConstantInt>(value);
    return known != nullptr && known->getSExtValue() == n;
  };
  const bool from_first = is_number(lower, 0), to_last = is_number(upper, all);
  Value* runs = b_.getTrue();
  if (!from_first) runs = b_.CreateICmpSGE(number, lower);
  if (!to_last) runs = b_.CreateAnd(runs, b_.CreateICmpSLT(number, upper));
  const Level outside =
      std::exchange(level_, loop.kind == ir::LoopKind::Warp ? Level::Warp : Level::Thread);
  const std::string outer_lane =
      std::exchange(lane_variable_, loop.kind == ir::LoopKind::Lane ? loop.var : "");
  if (loop.kind == ir::LoopKind::Warp) warp_variable_ = loop.var;
  emit_when(runs, [&] {
    open_level();
    variables_[loop.var] = {number, static_cast<int>(levels_.size()) - 1};
    emit(loop.body);
    variables_.erase(loop.var);
    close_level();
  });
  lane_variable_ = outer_lane;
  level_ = outside;
}

void FunctionEmitter::emit_copy_group(const ir::CopyGroup& group) {
  POLYTE_CHECK(ops_ != nullptr && level_ != Level::Thread,
               "a wait for copies that not all threads reach");
  ops_->copy_group(b_, group);
}

void FunctionEmitter::emit_barrier(const ir::Barrier& barrier) {
  POLYTE_CHECK(ops_ != nullptr && level_ != Level::Thread, "a barrier that not all threads reach");
  if (barrier.fenced) ops_->fence_products(b_);
  ops_->barrier(b_, barrier.of_warp);
}

}  // namespace polyte::codegen
