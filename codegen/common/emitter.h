// Emission of one kernel: statements of a Flat LoopProgram to LLVM IR, one FunctionEmitter a
// function (the kernel itself, and the outlined body of each parallel loop).
//
// Addresses and other affine values are summed outermost variable first, and each partial sum
// is placed at the head of the loop that binds its innermost variable, once: what LICM and LSR
// would find later is right from the start. The head of a level is the point before its marker, an
// instruction that is erased at the end:
//
//   preheader:  br (lower < upper), body, exit
//   body:       i = phi;  <sums that depend on i>;  marker;  ... statements ...;
//               br (i + 1 < upper), body, exit
//
// Internal: includes LLVM headers.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/common/arithmetic.h"
#include "codegen/common/device_ops.h"
#include "codegen/common/instructions.h"
#include "codegen/common/kernel.h"
#include "codegen/common/launch.h"
#include "codegen/common/scratch.h"
#include "ir/intrinsics.h"
#include "ir/loop_program.h"
#include "ir/matrix_load.h"
#include "support/machine.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

namespace polyte::codegen {

// Where the launches of a kernel go. Null in the code of a CPU alone, and in the device's own.
struct Device {
  llvm::Module& module;
  const Machine& machine;
  const Instructions& instructions;
  const DeviceOps& ops;
  std::vector<LaunchInfo>& launches;  // in the order of their emission
};

// What all functions of a kernel share.
struct KernelContext {
  llvm::Module& module;
  const Machine& machine;
  const Instructions& instructions;
  const Kernel& kernel;
  const ScratchLayout& layout;
  std::vector<std::string>& notes;
  std::map<std::string, llvm::MDNode*> scopes;  // alias scope of each buffer
  int bodies = 0;                               // outlined so far, for their names
  bool has_streams = false;                     // some store is to go past the caches
  // Buffers of such stores: why none of them does; empty if one does.
  std::map<std::string, std::string> streams{};
  Device* device = nullptr;
  std::set<std::string> loaded{};  // buffers that the kernel loads
};
std::set<std::string> loaded_buffers(const ir::LoopProgram& program);

// A function with the target's attributes.
llvm::Function* make_function(KernelContext& context, llvm::FunctionType* type,
                              llvm::GlobalValue::LinkageTypes linkage, const std::string& name);

// Emits the kernel as an external function named kernel.program.name.
void emit_kernel(KernelContext& context);

// Lanes from the first that are surely active; 0: that is known at run time alone.
int known_active(const ir::Lanes& lanes);

class FunctionEmitter {
 public:
  using Value = llvm::Value;

  // A buffer as a function sees it: an address, or (register buffers) one SSA slot a cell.
  struct BufferSlot {
    std::string name = {};
    DType dtype = DType::F32;
    Value* base = nullptr;
    int alignment = 1;  // of base, in bytes
    // Registers of a warp: this lane's, one of 32 bits per cell or an element of base.
    bool of_lanes = false;
    ir::Swizzle swizzle = {};
    llvm::MDNode* scope = nullptr;
    llvm::MDNode* no_alias = nullptr;
    // (first element, lanes); base is null.
    std::map<std::pair<std::int64_t, int>, llvm::AllocaInst*> cells;
    // Of cells that lanes exchange: a bit, where they are watched.
    std::map<std::int64_t, llvm::AllocaInst*> written;
  };

  FunctionEmitter(KernelContext& context, llvm::Function* function, bool in_parallel);
  void bind_interface(Value* buffers);
  void bind_params(Value* place);
  void set_workspace(Value* scratch, Value* host);
  void need_device();  // emit_launch.cc; returns POLYTE_NO_DEVICE where the host cannot launch
  void open_level();   // emit_affine.cc; the first one once the arguments are bound
  // emit_stmt.cc.
  void emit(const ir::Stmt& s);
  void finish();  // returns (the status, from the kernel itself) and erases the markers

 private:
  // ---- levels and affine values (emit_affine.cc)
  // Its value, and the level at whose head it is known: loops inside have higher levels.
  struct Variable {
    Value* value = nullptr;
    int level = 0;
  };
  // A value and its coefficient.
  using Product = std::pair<Value*, std::int64_t>;
  struct Partial {  // looked up by key, never iterated
    Value* base;
    std::vector<Product> products;
    int kind;  // 0: an integer sum; else the element size of a pointer sum
    auto operator<=>(const Partial&) const = default;
  };
  // What has been computed at the head of a level, so that it is computed once.
  struct Head {
    llvm::Instruction* marker = nullptr;
    std::map<Partial, Value*> sums;
    std::map<ir::Atom, Value*> divisions;
    std::map<std::pair<Value*, Value*>, Value*> products;
    std::map<std::pair<Value*, int>, Value*> masks;
  };
  // A value that has been computed, and the level at whose head that was.
  struct Leveled {
    Value* value;
    int level;
  };
  struct Sum {
    std::vector<std::vector<Product>> parts;  // by the level that binds them
    std::int64_t constant = 0;
  };

  void close_level() { levels_.pop_back(); }
  Variable variable(const std::string& name) const;
  Variable atom(const ir::Atom& atom);
  Value* floor_division(Value* numerator, std::int64_t denominator);
  Sum by_level(const ir::Affine& e);
  std::optional<Sum> by_level(const ir::Expr& e);
  static Sum plus(Sum a, const Sum& b);
  Sum product(const Sum& a, const Sum& b);
  Value* product_at(int level, Value* a, Value* b);
  Value* sum_of(int level, Value* base, const std::vector<Product>& products, int element_size);
  Leveled leveled_value(const ir::Affine& e);
  Value* affine(const ir::Affine& e) { return leveled_value(e).value; }
  Value* address(const BufferSlot& slot, const Sum& element);
  // Of element e.
  Value* address(const BufferSlot& slot, const ir::Affine& e) { return address(slot, by_level(e)); }
  int known_alignment(const BufferSlot& slot, const ir::Affine& e) const;
  Value* holds(const std::vector<ir::Constraint>& conjunction);  // null: always true
  Value* mask(const ir::Lanes& lanes);                           // of those that run; null: all
  Value* lanes_below(const ir::Affine& bound, int lanes);        // lane < bound; null: all

  // ---- expressions (emit_expr.cc)
  Value* expr(const ir::Expr& e);
  Value* compute(const ir::ExprNode& node);
  Value* index_value(const ir::ExprNode& node, const ir::IndexValue& index);
  Value* within(Value* a, Value* extent);
  Value* guarded_load(const ir::ExprNode& node, const ir::Load& load);
  Value* widened(Value* value, int lanes);

  // ---- memory (emit_access.cc)
  struct Access {
    const BufferSlot& slot;
    const ir::Index& index;
    const ir::Lanes& lanes;
    std::int64_t stride;                  // of the lanes
    const std::string* stream = nullptr;  // a store past the caches: the buffer's name
  };
  Access access(const std::string& buffer, const std::vector<ir::Index>& indices,
                const ir::Lanes& lanes);
  Value* load(const Access& a);
  Value* load_memory(const Access& a, Value* active);
  Value* load_cells(const Access& a);
  Value* load_cell(const BufferSlot& slot, std::int64_t first, int lanes);
  void store(const Access& a, Value* value);
  void store_memory(const Access& a, Value* value, Value* active);
  void store_cells(const Access& a, Value* value);
  Value* load_lane_zero(const Access& a);
  Value* element_pointers(const Access& a);  // a vector of addresses, one per lane
  std::vector<Value*> each_pointer(const Access& a);
  bool spans_vectors(const Access& a) const;
  Value* load_near_lanes(const Access& a, Value* active);
  Value* load_part(const Access& a, Value* pointer, Value* which);
  Value* part_mask(const Access& a, std::int64_t start);
  void store_reversed(const Access& a, Value* value, Value* active);
  Value* first_address(const Access& a);
  // ---- vectors of a GPU's thread (emit_thread_access.cc)
  struct Part {  // lanes that one access takes
    int first = 0, lanes = 1;
    Value* pointer = nullptr;
  };
  int at_once(const Access& a) const;
  std::vector<Part> parts_of(const Access& a, int most);
  Value* swizzled_address(const Access& a, int lane);
  Value* load_parts(const Access& a);
  void store_parts(const Access& a, Value* value);
  Value* load_elements(const Access& a);
  void store_elements(const Access& a, Value* value);
  bool copy_async(const ir::Store& s, const Access& to);
  // ---- instructions of a warp, registers of its lanes (emit_warp.cc)
  void emit_warp_instruction(const ir::Tensorized& tensorized);
  void emit_matrix_load(const ir::MatrixLoad& matrices);
  void bind_lane_registers(BufferSlot& slot, const ir::LoopBuffer& buffer);
  Value* lane_register(const BufferSlot& slot, const ir::Affine& element);  // where it is
  Value* load_lane_registers(const Access& a);
  void store_lane_registers(const Access& a, Value* value);
  std::vector<Value*> fragment_registers(const ir::Intrinsic& row, const ir::WarpMatch& match,
                                         std::size_t operand);
  void emit_copy_group(const ir::CopyGroup& group);
  // ---- instructions of a warpgroup (emit_warpgroup.cc)
  void emit_warpgroup_instruction(const ir::Intrinsic& row, const ir::WarpMatch& match);
  Value* matrix_descriptor(const ir::Intrinsic& row, const ir::WarpMatch& match,
                           std::size_t operand, bool& across);
  void emit_product_group(const ir::ProductGroup& group);
  void find_product_registers(const ir::Block& block);

  // ---- registers of other lanes (emit_exchange.cc)
  void watch_cells(BufferSlot& slot, const ir::Stmt& body);
  void note_written(const Access& a);
  void check_written(const Access& a);
  bool emit_move(const ir::Store& store);
  Value* moved(const Access& from, const Access& to, const ir::LaneRead* read);
  // ---- squares read by strided loads (emit_square.cc)
  struct Columns;
  struct Square {
    const ir::ExprNode* first = nullptr;  // the load of column 0
    int count = 0;                        // of columns
    std::vector<Value*> columns;          // empty: not loaded yet
  };
  void find_squares(const std::vector<ir::Stmt>& run);  // of stores side by side
  void take_squares(const Columns& columns, int lanes);
  Value* square_column(const ir::ExprNode& node);
  std::vector<Value*> square_rows(const Access& a, int columns);
  std::vector<Value*> turned(std::vector<Value*> rows, int element_bytes);
  std::vector<Value*> turned_blocks(const std::vector<Value*>& rows, int lanes, int chunk);
  // ---- loads that overlap (emit_shifted.cc)
  struct Overlap {
    std::map<std::int64_t, std::vector<const ir::ExprNode*>> at;  // loads by their constants
    std::map<std::int64_t, Value*> loaded = {};
  };
  struct Shifted {
    std::size_t overlap = 0;
    std::int64_t from = 0, at = 0;  // shuffled of what is loaded at `from` and a vector further
  };
  void find_shifted(const std::vector<ir::Stmt>& run);  // of stores side by side
  void take_overlap(Overlap overlap);
  Value* shifted(const ir::ExprNode& node);
  // ---- stores of some lanes, and loads of what they stored (emit_masked.cc)
  struct Stored {
    std::string buffer;
    ir::Affine index;
    ir::Lanes lanes;
    Value* value = nullptr;
  };
  bool stores_in_pieces(const Access& a) const;
  void store_pieces(const Access& a, Value* value, Value* pointer);
  void note_stored(const ir::Store& s, Value* value);
  Value* stored(const ir::Load& load);
  // ---- lines filled by strided stores (emit_comb.cc)
  struct Comb {
    std::vector<const ir::Store*> stores;  // by their first places, one beside the other
    std::vector<Value*> values;            // of those that have been met
  };
  void find_combs(const std::vector<ir::Stmt>& run);  // of stores side by side
  void take_combs(const std::vector<const ir::Store*>& stores);
  bool store_tooth(const ir::Store& s, Value* value);
  void store_comb(const Comb& comb);
  void emit_prefetch(const ir::Prefetch& prefetch);
  void stream(llvm::StoreInst* store, const Access& a);
  bool stream_where_aligned(const Access& a, Value* value, Value* pointer);
  void stream_fence();
  void annotate(llvm::Instruction* instruction, const BufferSlot& slot);
  void name_access(llvm::Instruction& access, const BufferSlot& slot);
  template <class Instruction>
  Instruction* annotated(Instruction* instruction, const BufferSlot& slot) {
    annotate(instruction, slot);
    return instruction;
  }

  // ---- statements (emit_stmt.cc)
  void start(llvm::BasicBlock* block);
  void emit_block(const ir::Block& block);
  void emit_store(const ir::Store& s);
  void emit_atomic(const ir::Store& s);                    // emit_atomic.cc
  void emit_tensorized(const ir::Tensorized& tensorized);  // emit_tensorized.cc
  Value* operand(const ir::OperandTile& tile, std::int64_t elements);
  void emit_for(const ir::For& loop);
  void emit_loop(const ir::For& loop, Value* lower, Value* upper);
  void emit_if(const ir::If& branch);
  void emit_when(Value* condition, const std::function<void()>& body);
  void emit_alloc(const ir::Alloc& alloc);
  BufferSlot make_slot(const ir::Alloc& alloc);
  void forget_cells(const BufferSlot& slot);
  Value* shared_memory();
  void bind_cells(BufferSlot& slot, const ir::LoopBuffer& buffer, const ir::Stmt& body);
  llvm::AllocaInst* stack_memory(llvm::Type* type, std::int64_t count, int alignment,
                                 const std::string& name);
  void annotate_scope(BufferSlot& slot, const std::string& name);

  // ---- launches and the threads of a GPU (emit_launch.cc)

  // What of a device runs the statement: all of it, in a thread alone.
  enum class Level { Grid, Block, Warp, Thread };
  void emit_launch(const ir::For& outermost);
  void emit_device_body(const Launch& launch, const DeviceOps::Kernel& kernel,
                        const FunctionEmitter& host, const std::vector<std::string>& buffers);
  void call_launch(const Launch& launch, llvm::Constant* description,
                   std::vector<Value*> arguments);
  bool emit_alone(const ir::Stmt& s);
  Value* largest(const std::vector<ir::Affine>& values);
  Value* smallest(const std::vector<ir::Affine>& values);
  void emit_threads(const ir::For& loop, Value* lower, Value* upper);
  void emit_barrier(const ir::Barrier& barrier);

  // ---- parallel loops (emit_parallel.cc)
  void emit_parallel(const ir::For& loop, Value* lower, Value* upper);
  Value* member_of_host(std::size_t offset, const char* name);  // of polyte_host, a pointer
  void emit_body(llvm::Function* body, const ir::For& loop, std::vector<Value*>& captured);
  void call_body(llvm::Function* body, const std::vector<Value*>& captured, Value* lower,
                 Value* upper);

  KernelContext& context_;
  llvm::Function* function_;
  llvm::IRBuilder<> b_;
  Arithmetic arithmetic_;
  bool in_parallel_;
  const DeviceOps* ops_ = nullptr;  // in the device's code
  const Launch* launch_ = nullptr;  // the same: which
  Level level_ = Level::Grid;       // the same
  Value* thread_ = nullptr;         // the same: its number in the block
  std::string statement_;           // the same: whose store is being emitted
  std::string lane_variable_;       // the same: of the loop of lanes around, if there is one
  std::string warp_variable_;       // the same: of the loop of warps
  // The same: that products side by side add to.
  std::vector<std::pair<Value*, llvm::Type*>> product_registers_;
  Value* scratch_ = nullptr;  // of the whole kernel
  Value* slice_ = nullptr;    // this worker's part of it
  Value* host_ = nullptr;     // null inside a parallel body
  Value* status_ = nullptr;   // where an i32 waits for what the kernel will return
  std::vector<Head> levels_;
  std::vector<llvm::Instruction*> markers_;
  std::map<std::string, Variable> variables_;
  std::map<std::string, BufferSlot> buffers_;
  // Of the statement being emitted; only looked up.
  std::unordered_map<const ir::ExprNode*, Value*> emitted_;
  std::vector<Square> squares_;  // of the stores side by side that are being emitted
  std::vector<Overlap> overlaps_;
  std::unordered_map<const ir::ExprNode*, Shifted> shifted_;
  // By masked stores side by side with the present one; none: it has no others beside it.
  std::optional<std::vector<Stored>> stored_;
  // Load -> square, column; only looked up.
  std::unordered_map<const ir::ExprNode*, std::pair<int, int>> columns_;
  std::vector<Comb> combs_;  // of the stores side by side, too
  // Store -> comb, place; the same.
  std::unordered_map<const ir::Store*, std::pair<std::size_t, std::size_t>> teeth_;
};

}  // namespace polyte::codegen
