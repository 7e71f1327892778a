#include "ir/warp_steps.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "ir/intrinsics.h"
#include "ir/matrix_load.h"
#include "ir/memory_cost.h"
#include "support/error.h"

namespace polyte::ir {
namespace {

constexpr std::int64_t kMostBytes = 16;  // of one access

// Instructions of a thread for a value, without its loads: a product and the sum it is added to are
// one. Divisions and functions of several steps are taken at about what codegen makes of them.
// Weights of a price, not promises.
constexpr double kDivision = 8, kFunction = 16;

double instructions_of(const ExprNode& node) {
  if (const auto* unary = std::get_if<Unary>(&node.op)) {
    switch (unary->op) {
      case UnaryOp::Exp:
      case UnaryOp::Log:
      case UnaryOp::Tanh:
      case UnaryOp::Erf:
      case UnaryOp::Sigmoid:
      case UnaryOp::Sin:
      case UnaryOp::Cos:
        return kFunction;
      case UnaryOp::Sqrt:
        return kDivision;
      default:
        return 1;
    }
  }
  if (const auto* binary = std::get_if<Binary>(&node.op)) {
    if (binary->op == BinaryOp::Pow) return 2 * kFunction;
    if (binary->op == BinaryOp::Div || binary->op == BinaryOp::Mod) return kDivision;
    const auto is_product = [](const Expr& e) {
      const auto* inner = std::get_if<Binary>(&e->op);
      return inner != nullptr && inner->op == BinaryOp::Mul;
    };
    const bool is_sum = binary->op == BinaryOp::Add || binary->op == BinaryOp::Sub;
    return is_sum && (is_product(binary->a) || is_product(binary->b)) ? 0 : 1;
  }
  const bool computes =
      std::holds_alternative<Fma>(node.op) || std::holds_alternative<Select>(node.op) ||
      std::holds_alternative<Cast>(node.op) || std::holds_alternative<LaneRead>(node.op);
  return computes ? 1 : 0;
}

double instructions_of(const Expr& value) {
  double sum = 0;
  for_each_node(value, [&](const ExprNode& node) {
    const double wide = node.type == DType::F64 ? 2 : 1;
    sum += instructions_of(node) * node.lanes * wide;
  });
  return sum;
}

// Where a buffer is, as far as accesses ask.
struct Place {
  bool in_memory = false, shared = false;
  std::int64_t alignment = 16;
  DType dtype = DType::F32;
  Swizzle swizzle = {};
};

class WarpCompiler {
 public:
  explicit WarpCompiler(const LoopProgram& program) {
    for (const Buffer& b : program.buffers)
      places_[b.name] = {true, false, kMostBytes, b.dtype, {}};
  }

  std::map<std::string, std::size_t> slots;

  WarpStep statement(const Stmt& s) {
    if (const auto* block = std::get_if<Block>(&s->op)) {
      WarpStep step;
      const double outside = beside_;
      if (beside_ == 0) beside_ = results_beside(s);
      for (const Stmt& child : block->body) {
        add(step, statement(child));
        // What one thread alone has loaded says nothing of the registers of the others.
        if (!in_threads_ && !step.body.empty() && !step.body.back().has_threads) forget();
      }
      beside_ = outside;
      return step;
    }
    if (const auto* loop = std::get_if<For>(&s->op)) return visit_loop(*loop);
    if (const auto* branch = std::get_if<If>(&s->op)) return visit_branch(*branch);
    if (const auto* store = std::get_if<Store>(&s->op)) return visit_store(*store);
    if (const auto* alloc = std::get_if<Alloc>(&s->op)) {
      const LoopBuffer& b = alloc->buffer;
      const bool shared = b.memory == Memory::Shared;
      // The alignment is in bytes. Accesses to registers and stacks are not counted.
      places_[b.name] = {shared || b.memory == Memory::Heap, shared, shared ? 128 : 64, b.dtype,
                         b.swizzle};
      if (b.memory == Memory::Stack) own_.insert(b.name);
      return statement(alloc->body);
    }
    if (std::holds_alternative<Barrier>(s->op) || std::holds_alternative<CopyGroup>(s->op) ||
        std::holds_alternative<ProductGroup>(s->op) || std::holds_alternative<Tensorized>(s->op))
      forget();
    if (const auto* tensorized = std::get_if<Tensorized>(&s->op)) {
      if (const auto matrices = matrix_load_of(*tensorized))
        return visit_matrices(*matrices, tensorized->intrinsic);
      return instruction(*tensorized);
    }
    return {};
  }

 private:
  std::map<std::string, Place> places_;
  std::set<std::string> own_;     // memory of each thread
  std::set<std::string> loaded_;  // what a thread has in registers
  bool in_threads_ = false;
  // Results of the code without jumps that is visited, none of which waits for another; 0: unknown.
  double beside_ = 0;
  struct Stored {
    std::string key;
    std::shared_ptr<bool> overwritten;
  };
  Stored last_;  // a store since which memory was not read

  // What a thread has loaded is worth remembering only as long as nobody can have changed it: until
  // a barrier, a loop or branch, or a store of its own.
  void forget() {
    loaded_.clear();
    last_ = {};
  }

  // An element counts once, however often it is added to.
  static void find_results(const Stmt& s, double times, std::map<std::string, double>& found) {
    if (const auto* block = std::get_if<Block>(&s->op))
      for (const Stmt& child : block->body) find_results(child, times, found);
    if (const auto* alloc = std::get_if<Alloc>(&s->op)) find_results(alloc->body, times, found);
    if (const auto* loop = std::get_if<For>(&s->op);
        loop != nullptr && loop->kind == LoopKind::Unrolled)
      if (const Affine extent = loop->upper.front() - loop->lower.front(); extent.is_constant())
        find_results(loop->body, times * static_cast<double>(extent.constant()), found);
    if (const auto* store = std::get_if<Store>(&s->op))
      found[key(store->buffer, store->indices.front(), store->lanes)] = times * store->lanes.count;
  }
  static double results_beside(const Stmt& s) {
    std::map<std::string, double> found;
    find_results(s, 1, found);
    double sum = 0;
    for (const auto& [place, count] : found) sum += count;
    return sum;
  }

  static void add(WarpStep& to, WarpStep step) {
    if (step.kind == WarpStep::Sequence && step.body.empty()) return;
    to.has_threads = to.has_threads || step.has_threads;
    to.body.push_back(std::move(step));
  }

  std::size_t slot(const std::string& name) {
    return slots.try_emplace(name, slots.size()).first->second;
  }

  SlotValue value(const Affine& e) {
    SlotValue result{e.constant(), {}, {}};
    for (const Term& term : e.terms()) {
      if (term.atom.div) {
        result.divisions.push_back(
            {value(term.atom.div->numerator), term.atom.div->denominator, term.coefficient});
      } else {
        result.terms.emplace_back(slot(term.atom.symbol), term.coefficient);
      }
    }
    return result;
  }
  std::vector<SlotValue> values(const std::vector<Affine>& all) {
    std::vector<SlotValue> result;
    for (const Affine& e : all) result.push_back(value(e));
    return result;
  }
  std::vector<SlotTest> tests(const std::vector<Constraint>& all) {
    std::vector<SlotTest> result;
    for (const Constraint& c : all) result.push_back({value(c.expr), c.equality});
    return result;
  }

  WarpStep visit_loop(const For& loop) {
    WarpStep step;
    step.kind = WarpStep::Loop;
    step.loop_kind = loop.kind;
    step.slot = slot(loop.var);
    step.lower = values(loop.lower);
    step.upper = values(loop.upper);
    if (!is_of_threads(loop.kind)) forget();
    const bool outside = in_threads_;
    in_threads_ = in_threads_ || loop.kind == LoopKind::Thread || loop.kind == LoopKind::Lane;
    // Copies of an unrolled loop stand side by side; iterations of any other loop may wait for
    // each other.
    const double around = std::exchange(beside_, loop.kind == LoopKind::Unrolled ? beside_ : 0);
    add(step, statement(loop.body));
    beside_ = around;
    in_threads_ = outside;
    step.has_threads = step.has_threads || is_of_threads(loop.kind);
    forget();
    return step;
  }

  static WarpStep work(double instructions, double products, double beside = 1) {
    WarpStep step;
    step.kind = WarpStep::Work;
    step.instructions = instructions;
    step.chained = instructions / std::max(beside, 1.0);
    step.products = products;
    return step;
  }

  static WarpStep instruction(const Tensorized& tensorized) {
    const Intrinsic* row = find_intrinsic(tensorized.intrinsic);
    double products = 0;
    if (row != nullptr && is_of_warps(row->scope)) {
      const DType type = row->program.buffers.front().dtype;
      // The unit is a multiply-add of 16-bit elements: 8 bits take half of one, f32 (tf32) two,
      // f64 sixteen.
      products = type == DType::F64 ? 16 : size_in_bytes(type) / 2.0;
      for_each_stmt(row->nest, [&](const Stmt& s) {
        if (const auto* loop = std::get_if<For>(&s->op))
          products *= static_cast<double>((loop->upper.front() - loop->lower.front()).constant());
      });
    }
    WarpStep step;
    step.body.push_back(work(1, products));
    return step;
  }

  // As a loop of lanes, each of which reads a row.
  WarpStep visit_matrices(const MatrixLoad& matrices, const std::string& instruction) {
    const Affine lane = Affine::symbol("ldmatrix.lane");
    const Place& place = places_.at(matrices.load->buffer);
    WarpStep access;
    access.kind = WarpStep::Access;
    access.statement = instruction;
    access.buffer = matrices.load->buffer;
    access.shared = place.shared;
    access.swizzle = place.swizzle;
    access.element_bytes = size_in_bytes(place.dtype);
    access.lanes = kMatrixRowBytes / access.element_bytes;
    // Lane l reads row l % 8 of matrix l // 8, from its first element on.
    access.place = value(substitute(matrices.load->indices[0].affine,
                                    {{matrices.matrix, floor_div(lane, kMatrixRows)},
                                     {matrices.row, mod(lane, kMatrixRows)},
                                     {matrices.element, Affine(0)}}));
    WarpStep step;
    step.kind = WarpStep::Loop;
    step.loop_kind = LoopKind::Lane;
    step.slot = slot("ldmatrix.lane");
    step.lower = values({Affine(0)});
    step.upper = values({Affine(matrices.count * kMatrixRows)});
    add(step, std::move(access));
    step.has_threads = true;
    return step;
  }

  WarpStep visit_branch(const If& branch) {
    WarpStep step;
    step.kind = WarpStep::Branch;
    step.tests = tests(branch.conditions);
    if (branch.condition) add_loads(step, branch.condition, "a condition");
    last_ = {};
    const double outside = std::exchange(beside_, 0);
    add(step, statement(branch.body));
    beside_ = outside;
    forget();
    return step;
  }

  WarpStep visit_store(const Store& store) {
    WarpStep step;
    const std::string& statement =
        store.origin.statement.empty() ? store.buffer : store.origin.statement;
    for (const Index& index : store.indices)
      if (index.indirect) add_loads(step, index.indirect, statement);
    const Place place = places_.contains(store.buffer) ? places_.at(store.buffer) : Place{};
    const bool exchanges = std::holds_alternative<LaneRead>(store.value->op);
    if (store.atomic || exchanges || own_.contains(store.buffer)) forget();
    if (const double instructions = instructions_of(store.value); instructions > 0)
      step.body.push_back(work(instructions, 0, std::max<double>(beside_, store.lanes.count)));
    if (!place.in_memory) {
      add_loads(step, store.value, statement);
      return step;
    }
    // Read and written at once.
    if (store.atomic) loaded_.insert(key(store.buffer, store.indices[0], store.lanes));
    std::int64_t most = kMostBytes;
    if (store.async) {  // in one piece from memory to memory
      const auto& load = std::get<Load>(store.value->op);
      const std::int64_t bytes = std::min(at_once(store.buffer, store.indices[0], store.lanes),
                                          at_once(load.buffer, load.indices[0], load.lanes)) *
                                 size_in_bytes(place.dtype);
      // The smallest piece that cp.async moves.
      if (bytes >= 4) most = bytes;
    }
    add_loads(step, store.value, statement, most);
    for (WarpStep& load : step.body) load.async = store.async && load.kind == WarpStep::Access;
    const std::string place_key = key(store.buffer, store.indices[0], store.lanes);
    // The store before this one was to the same place, and nobody has read memory since: LLVM
    // drops it.
    if (last_.key == place_key) *last_.overwritten = true;
    forget();
    last_ = {place_key, std::make_shared<bool>(false)};
    loaded_.insert(place_key);
    add_parts(step, statement, store.buffer, store.indices[0], store.lanes, {}, true, most);
    if (store.atomic) forget();
    return step;
  }

  void add_loads(WarpStep& step, const Expr& e, const std::string& statement,
                 std::int64_t most = kMostBytes) {
    for (const Load* load : loads_of(e)) {
      if (!places_.contains(load->buffer) || !places_.at(load->buffer).in_memory) continue;
      if (!loaded_.insert(key(load->buffer, load->indices[0], load->lanes)).second) continue;
      last_ = {};
      add_parts(step, statement, load->buffer, load->indices[0], load->lanes, load->guard, false,
                most);
      // Lanes whose guard failed do not have the value.
      if (!load->guard.empty()) forget();
    }
  }

  // Two accesses are one where their keys are equal. Subscripts read from memory are told apart by
  // the address of their expression: equal addresses are one expression, others may be equal
  // without being found. Keys are only compared for equality, so addresses do not leak into any
  // order.
  static std::string key(const std::string& buffer, const Index& index, const Lanes& lanes) {
    std::string text = buffer + "|" + to_string(index.affine) + "|" + std::to_string(lanes.count) +
                       "|" + std::to_string(lanes.strides.empty() ? 0 : lanes.strides[0]);
    if (index.indirect)
      text +=
          "|" + std::to_string(reinterpret_cast<std::uintptr_t>(index.indirect.get()));  // NOLINT
    return text;
  }

  // As many elements as the address is known to be a multiple of: the greatest common divisor of
  // the buffer's alignment and of what each term of the subscript adds, in bytes. 16 is the widest
  // access of a thread; a swizzle moves chunks whole, so no access is wider than one.
  std::int64_t at_once(const std::string& buffer, const Index& index, const Lanes& lanes) const {
    const Place& place = places_.at(buffer);
    const std::int64_t element = size_in_bytes(place.dtype);
    if (lanes.strides.empty() || lanes.strides[0] != 1 || index.indirect) return 1;
    std::int64_t known = std::gcd(place.alignment, index.affine.constant() * element);
    for (const Term& term : index.affine.terms())
      known = std::gcd(known, term.coefficient * element);
    const std::int64_t count = std::max<std::int64_t>(std::min(known, kMostBytes) / element, 1);
    return place.swizzle.none() ? count : std::min(count, place.swizzle.chunk);
  }

  // A vector access in the pieces that are moved at once, as `at_once` allows; the last ones are
  // halved until they fit: 7 elements by 4 are 4 + 2 + 1. A read that does not move with the lanes
  // is one element, broadcast.
  void add_parts(WarpStep& step, const std::string& statement, const std::string& buffer,
                 const Index& index, const Lanes& lanes, const std::vector<Constraint>& guard,
                 bool write, std::int64_t most) {
    const Place& place = places_.at(buffer);
    WarpStep access;
    access.kind = WarpStep::Access;
    access.statement = statement;
    access.buffer = buffer;
    access.write = write;
    access.shared = place.shared;
    access.known = !index.indirect;
    access.element_bytes = size_in_bytes(place.dtype);
    access.tests = tests(guard);
    if (write) access.overwritten = last_.overwritten;
    const std::int64_t stride = lanes.strides.empty() ? 0 : lanes.strides[0];
    access.swizzle = place.swizzle;
    std::int64_t together = std::min(at_once(buffer, index, lanes),
                                     std::max<std::int64_t>(most / access.element_bytes, 1));
    const std::int64_t count = stride == 0 && !write ? 1 : lanes.count;
    for (std::int64_t first = 0; first < count; first += together) {
      while (together > count - first) together /= 2;
      access.lanes = together;
      access.place = value(index.affine + first * stride);
      step.body.push_back(access);
    }
  }
};

}  // namespace

WarpSteps warp_steps(const LoopProgram& program) {
  WarpCompiler compiler(program);
  WarpStep root = compiler.statement(program.body);
  return {std::move(root), std::move(compiler.slots)};
}

}  // namespace polyte::ir
