// Random LoopPrograms, natively against the interpreter, bit for bit: all types, lanes, masks,
// loads of what was just stored, guards, floor divisions, register buffers, nested loops with
// dependent bounds, chains of operations long enough to go side by side. A failure prints its seed
// and the loops.
#include <doctest/doctest.h>

#include <random>

#include "ir/arithmetic.h"
#include "tests/codegen/native.h"
#include "tests/sweep.h"

using namespace polyte;
using namespace polyte::codegen::testing;
using ir::Affine;
using ir::BinaryOp;
using ir::Expr;
using ir::ExprNode;
using ir::UnaryOp;

namespace {

constexpr std::int64_t kSize = 96;  // elements of every buffer

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  ir::LoopProgram program() {
    program_.name = "random";
    for (int i = 0; i < 5; ++i) {
      program_.buffers.push_back(
          {"b" + std::to_string(i), ir::Role::InOut, any_type(), {Affine(kSize)}});
    }
    program_.body = nest(static_cast<int>(below(3)) + 1);
    return std::move(program_);
  }

 private:
  std::mt19937 random_;
  ir::LoopProgram program_;
  std::vector<std::string> variables_;
  struct Registers {
    std::string name;
    DType type;
    int lanes, cells;
  };
  std::vector<Registers> registers_;

  std::uint32_t below(std::uint32_t n) { return random_() % n; }
  bool chance(std::uint32_t percent) { return below(100) < percent; }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint32_t>(high - low + 1)));
  }
  DType any_type() { return static_cast<DType>(below(kDTypeCount)); }
  int any_lanes() {
    constexpr int kChoices[] = {1, 1, 2, 3, 4, 8, 16, 16, 32};
    return kChoices[below(9)];
  }

  static Expr node(DType type, int lanes, decltype(ExprNode::op) op) {
    return std::make_shared<const ExprNode>(ExprNode{type, lanes, std::move(op)});
  }

  // ---- affine values

  Affine affine() {
    Affine e(between(-20, 20));
    for (const std::string& v : variables_) {
      if (chance(70)) e = e + Affine::symbol(v) * between(-3, 9);
    }
    if (chance(25)) e = floor_div(e, between(2, 7));
    if (chance(15)) e = mod(e, between(2, 9)) * between(1, 3) + Affine(between(-2, 2));
    return e;
  }
  // First element of an access that spans `span` elements upwards, always inside a buffer.
  Affine inside(std::int64_t span) { return mod(affine(), kSize - span + 1); }

  ir::Lanes lanes_of(int count, std::int64_t stride) {
    ir::Lanes lanes;
    lanes.count = count;
    lanes.strides = {stride};
    if (chance(30))
      lanes.active =
          chance(50) ? Affine(between(-2, count + 2)) : mod(affine(), count + 3) - Affine(1);
    if (chance(20))
      lanes.skipped =
          chance(50) ? Affine(between(-2, count + 2)) : mod(affine(), count + 3) - Affine(1);
    return lanes;
  }

  // ---- statements

  ir::Stmt nest(int depth) {
    std::vector<ir::Stmt> body;
    const bool has_registers = chance(40);
    if (has_registers)
      registers_.push_back({"r" + std::to_string(registers_.size()), any_type(), any_lanes(), 3});
    if (has_registers) {
      for (int cell = 0; cell < 3; ++cell) body.push_back(register_store(cell));
    }
    const int count = static_cast<int>(between(1, 3));
    for (int i = 0; i < count; ++i)
      body.push_back(depth > 0 && chance(60) ? loop(depth)
                     : chance(25)            ? run()
                     : chance(12)            ? comb()
                                             : statement());
    if (!has_registers) return ir::make_block(std::move(body));
    const Registers r = registers_.back();
    body.push_back(store_all(r));
    registers_.pop_back();
    ir::LoopBuffer buffer{r.name + "_" + std::to_string(variables_.size()),
                          r.type,
                          {r.lanes * r.cells},
                          ir::Memory::Register};
    buffer.name = r.name;
    return unique_alloc(buffer, ir::make_block(std::move(body)));
  }

  int allocations_ = 0, loops_ = 0;
  ir::Stmt unique_alloc(ir::LoopBuffer buffer, const ir::Stmt& body) {
    const std::string from = buffer.name;
    buffer.name = "q" + std::to_string(allocations_++);
    return ir::make_alloc({buffer, renamed(body, from, buffer.name)});
  }
  // The register buffer gets its own name once its scope is complete.
  static Expr renamed(const Expr& value, const std::string& from, const std::string& to) {
    return ir::rewrite(value, [&](const Expr& e) -> Expr {
      const auto* load = std::get_if<ir::Load>(&e->op);
      if (load == nullptr || load->buffer != from) return e;
      ir::Load changed = *load;
      changed.buffer = to;
      return node(e->type, e->lanes, changed);
    });
  }
  static ir::Stmt renamed(const ir::Stmt& s, const std::string& from, const std::string& to) {
    if (const auto* branch = std::get_if<ir::If>(&s->op)) {
      ir::If copy = *branch;
      if (copy.condition) copy.condition = renamed(copy.condition, from, to);
      copy.body = renamed(copy.body, from, to);
      return ir::make_if(std::move(copy));
    }
    if (const auto* store = std::get_if<ir::Store>(&s->op)) {
      ir::Store copy = *store;
      if (copy.buffer == from) copy.buffer = to;
      copy.value = renamed(copy.value, from, to);
      return ir::make_store(copy);
    }
    return ir::rewrite_children(s, [&](const ir::Stmt& child) { return renamed(child, from, to); });
  }

  ir::Stmt loop(int depth) {
    const std::string var = "i" + std::to_string(loops_++);
    ir::For loop;
    loop.var = loop.loop = var;
    loop.lower = {chance(60) ? Affine(between(-2, 3)) : mod(affine(), 4)};
    loop.upper = {loop.lower.front() + Affine(between(-1, 6))};
    if (chance(30)) loop.upper.push_back(Affine(between(1, 6)));
    if (chance(20)) loop.lower.push_back(mod(affine(), 3));
    variables_.push_back(var);
    loop.body = nest(depth - 1);
    variables_.pop_back();
    return ir::make_for(std::move(loop));
  }

  ir::Stmt statement() {
    if (chance(5)) return ir::make_fence();
    if (chance(15)) {
      ir::If branch;
      branch.conditions = {chance(20) ? ir::equal(mod(affine(), 3), Affine(0))
                                      : ir::at_least(affine(), Affine(0))};
      if (chance(40)) branch.condition = value(DType::Bool, 1, 2);
      branch.body = statement();
      return ir::make_if(std::move(branch));
    }
    if (!registers_.empty() && chance(40)) return register_store(static_cast<int>(below(3)));
    const ir::Buffer& buffer = program_.buffers[below(5)];
    return store(buffer.name, buffer.dtype, any_lanes());
  }

  // Stores side by side to nearly the same place, which load what those before have stored there.
  ir::Stmt run() {
    const ir::Buffer& buffer = program_.buffers[below(5)];
    const int lanes = static_cast<int>(between(2, 16));
    const Affine first = inside(2 * lanes + 3);
    const ir::Lanes mask = lanes_of(lanes, 1);
    const auto place = [&] {
      const int apart[] = {0, 0, 0, 3, lanes};
      return std::vector{ir::Index(first + Affine(apart[below(5)]))};
    };
    const auto active = [&] { return chance(75) ? mask : lanes_of(lanes, 1); };
    const bool is_long = is_float(buffer.dtype) && chance(40);
    const ir::Lanes whole{.count = lanes, .strides = {1}, .active = {}, .skipped = {}};
    std::vector<ir::Stmt> stores;
    for (std::int64_t i = between(3, 6); i-- > 0;) {
      ir::Load load;
      load.buffer = buffer.name;
      load.indices = place();
      load.lanes = is_long && chance(70) ? whole : active();
      Expr stored = node(buffer.dtype, lanes, load);
      if (is_long)
        stored = after_many(stored);
      else if (chance(60))
        stored =
            ir::make_select(value(DType::Bool, lanes, 1), stored, value(buffer.dtype, lanes, 1));
      stores.push_back(ir::make_store(
          {buffer.name, place(), stored, is_long && chance(70) ? whole : active(), {}}));
    }
    return ir::make_block(std::move(stores));
  }

  // Stores side by side that fill each other's gaps, all of them or all but one with the same mask.
  ir::Stmt comb() {
    const ir::Buffer& buffer = program_.buffers[below(5)];
    const int lanes = static_cast<int>(between(2, 16));
    const std::int64_t teeth = between(2, 4);
    const Affine first = inside(teeth * lanes);
    const ir::Lanes mask = lanes_of(lanes, teeth);
    std::vector<ir::Stmt> stores;
    for (std::int64_t tooth = 0; tooth < teeth; ++tooth)
      stores.push_back(ir::make_store({buffer.name,
                                       {ir::Index(first + Affine(tooth))},
                                       value(buffer.dtype, lanes, 2),
                                       chance(95) ? mask : lanes_of(lanes, teeth),
                                       {}}));
    std::ranges::shuffle(stores, random_);
    return ir::make_block(std::move(stores));
  }

  // 16 operations, one after another.
  Expr after_many(Expr value) {
    constexpr BinaryOp kOps[] = {BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Max};
    for (int i = 0; i < 16; ++i) {
      const Expr other = ir::make_broadcast(
          ir::make_float(value->type, static_cast<double>(between(-4, 4)) / 4), value->lanes);
      value = ir::make_binary(kOps[below(4)], value, other);
    }
    return value;
  }

  ir::Stmt store(const std::string& buffer, DType type, int lanes) {
    const std::int64_t stride = lanes == 1   ? 0
                                : chance(80) ? 1
                                             : between(2, 3) * (chance(30) ? -1 : 1);
    const std::int64_t span = (lanes - 1) * std::abs(stride) + 1;
    ir::Lanes access = span <= kSize ? lanes_of(lanes, stride) : lanes_of(lanes, 1);
    const bool down = access.strides.front() < 0;
    const std::int64_t real_span = (lanes - 1) * std::abs(access.strides.front()) + 1;
    const Affine first = inside(real_span) + Affine(down ? real_span - 1 : 0);
    return ir::make_store({buffer, {ir::Index(first)}, value(type, lanes, 3), access, {}});
  }

  ir::Stmt register_store(int cell) {
    const Registers& r = registers_.back();
    ir::Lanes lanes;
    lanes.count = r.lanes;
    lanes.strides = {r.lanes == 1 ? 0 : 1};
    ir::Index index{Affine(cell * r.lanes)};
    return ir::make_store({r.name, {index}, value(r.type, r.lanes, 2, false), lanes, {}});
  }

  ir::Stmt store_all(const Registers& r) {
    std::vector<ir::Stmt> stores;
    for (const ir::Buffer& buffer : program_.buffers) {
      if (buffer.dtype != r.type || r.lanes > kSize / 3) continue;
      for (int cell = 0; cell < r.cells; ++cell) {
        ir::Lanes lanes;
        lanes.count = r.lanes;
        lanes.strides = {r.lanes == 1 ? 0 : 1};
        stores.push_back(ir::make_store(
            {buffer.name, {ir::Index(Affine(cell * r.lanes))}, register_load(r, cell), lanes, {}}));
      }
    }
    return ir::make_block(std::move(stores));
  }

  // ---- expressions

  static Expr register_load(const Registers& r, int cell) {
    ir::Load load;
    load.buffer = r.name;
    load.indices = {ir::Index(Affine(cell * r.lanes))};
    load.lanes.count = r.lanes;
    load.lanes.strides = {r.lanes == 1 ? 0 : 1};
    return node(r.type, r.lanes, load);
  }

  Expr load(DType type, int lanes, bool registers) {
    for (const ir::Buffer& buffer : program_.buffers) {
      if (buffer.dtype != type || chance(30)) continue;
      ir::Load load;
      load.buffer = buffer.name;
      const std::int64_t stride = lanes == 1   ? 0
                                  : chance(50) ? 1
                                               : between(lanes > 16 ? -1 : -3, lanes > 16 ? 2 : 5);
      load.lanes = lanes_of(lanes, stride);
      const std::int64_t span = (lanes - 1) * std::abs(stride) + 1;
      if (chance(25)) {  // unguarded it would be outside
        const Affine first = affine();
        load.indices = {ir::Index(first + Affine(stride < 0 ? span - 1 : 0))};
        load.guard = {ir::at_least(first, Affine(0)),
                      ir::less_than(first, Affine(kSize - span + 1))};
        load.otherwise = value(type, lanes, 1, registers);
      } else {
        load.indices = {ir::Index(inside(span) + Affine(stride < 0 ? span - 1 : 0))};
      }
      return node(type, lanes, load);
    }
    return literal(type, lanes);
  }

  Expr literal(DType type, int lanes) {
    constexpr double kReals[] = {0.0, -0.0, 1, -1, 0.5, 2.5, -3.25, 1e30, -7e-30, 65504, 1e-7};
    constexpr std::int64_t kIntegers[] = {0,   1,     -1,         2,         7,        -128,
                                          255, 32767, 2147483647, INT64_MIN, INT64_MAX};
    const auto pick = below(11);
    const Expr scalar = is_float(type)
                            ? ir::make_float(type, kReals[pick])
                            : ir::make_int(type, ir::arithmetic::wrap_to(type, kIntegers[pick]));
    return ir::make_broadcast(scalar, lanes);
  }

  Expr leaf(DType type, int lanes, bool registers) {
    if (registers && !registers_.empty() && registers_.back().type == type && chance(50)) {
      const Registers& r = registers_.back();
      if (r.lanes == lanes) return register_load(r, static_cast<int>(below(3)));
    }
    if (chance(10) && type != DType::Bool) {
      ir::IndexValue index{affine(), {}};
      index.lanes.count = lanes;
      index.lanes.strides = {lanes == 1 ? 0 : between(-2, 3)};
      return node(type, lanes, index);
    }
    if (lanes > 1 && chance(15)) return ir::make_broadcast(load(type, 1, registers), lanes);
    return chance(80) ? load(type, lanes, registers) : literal(type, lanes);
  }

  Expr value(DType type, int lanes, int depth, bool registers = true) {
    if (depth == 0) return leaf(type, lanes, registers);
    const auto operand = [&](DType t) { return value(t, lanes, depth - 1, registers); };
    switch (below(6)) {
      case 0:
        if (const auto op = static_cast<UnaryOp>(below(8)); is_defined(op, type))
          return ir::make_unary(op, operand(type));
        break;
      case 1:
      case 2:
        if (type == DType::Bool && chance(60)) {
          const DType compared = any_type();
          const auto op =
              static_cast<BinaryOp>(static_cast<std::uint32_t>(BinaryOp::Eq) + below(4));
          const Expr a = operand(compared);
          return ir::make_binary(op, a, operand(compared));
        }
        if (const auto op = static_cast<BinaryOp>(below(13));
            op != BinaryOp::Pow && is_defined(op, type)) {
          const Expr a = operand(type);
          return ir::make_binary(op, a, operand(type));
        }
        break;
      case 3:
        if (type != DType::Bool) {
          const Expr a = operand(type), b = operand(type);
          return ir::make_fma(a, b, operand(type));
        }
        break;
      case 4: {
        const Expr condition = operand(DType::Bool), a = operand(type);
        return ir::make_select(condition, a, operand(type));
      }
      default:
        return ir::make_cast(type, operand(any_type()));
    }
    return leaf(type, lanes, registers);
  }
};

ir::Contents contents_for(DType type, unsigned seed) { return filled(type, {kSize}, seed); }

}  // namespace

TEST_CASE("random loops") {
  const auto targets = runnable_targets();
  for (unsigned seed = 1; seed <= 250; ++seed) {
    if (!test::is_swept(seed, 3)) continue;
    const ir::LoopProgram program = Generator(seed).program();
    const auto problems = verify(program, ir::Form::Flat);
    INFO("seed " << seed << "\n" << print(program));
    CHECK((problems.empty() ? "" : problems.front()) == "");
    if (!problems.empty()) continue;
    ir::Environment inputs;
    for (std::size_t i = 0; i < program.buffers.size(); ++i) {
      inputs[program.buffers[i].name] =
          contents_for(program.buffers[i].dtype, seed * 7 + static_cast<unsigned>(i));
    }
    CHECK(against_interpreter(program, inputs, {.target = targets[seed % targets.size()]}) == "");
  }
}
