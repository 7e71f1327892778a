// Every row of the catalogue, natively against what its Program says: all values of the extremes,
// operands one after the other and broadcast, accumulators in memory and in registers. Rows that
// this processor lacks are refused.
#include <doctest/doctest.h>

#include <cstring>

#include "ir/intrinsics.h"
#include "support/error.h"
#include "tests/codegen/native.h"

using namespace polyte;
using namespace polyte::codegen::testing;

namespace {

// Bytes of every pattern: products of extremes overflow what is narrower than the sum.
ir::Contents extremes(DType type, std::int64_t elements, unsigned seed) {
  ir::Contents contents = filled(type, {elements}, seed);
  if (is_float(type)) return contents;
  unsigned state = seed * 2654435761U + 1;
  const auto width = static_cast<std::size_t>(size_in_bytes(type));
  for (std::size_t at = 0; at < contents.bytes.size(); at += width) {
    state = state * 1664525U + 1013904223U;
    const unsigned kind = (state >> 24) % 4;
    for (std::size_t b = 0; b < width; ++b) {
      const bool is_top = b + 1 == width;
      const unsigned low = kind == 0 ? 0xFFU : kind == 1 ? 0 : state >> (8 * (b % 2));
      contents.bytes[at + b] = static_cast<std::byte>(kind == 1 && is_top ? 0x80U : low & 0xFFU);
    }
  }
  return contents;
}

std::int64_t elements_of(const ir::Buffer& buffer) {
  std::int64_t count = 1;
  for (const std::int64_t extent : ir::constant_shape(buffer)) count *= extent;
  return count;
}

// The row's nest over linear buffers, in a loop over three tiles; `still`: a is the same in all
// lanes of its outermost loop.
ir::LoopProgram program_of(const ir::Intrinsic& row, bool still, bool in_registers) {
  std::vector<std::string> vars;
  std::vector<std::int64_t> extents;
  const ir::Store* store = nullptr;
  ir::for_each_stmt(row.nest, [&](const ir::Stmt& s) {
    if (const auto* loop = std::get_if<ir::For>(&s->op)) {
      vars.push_back(loop->var);
      extents.push_back(loop->upper.front().constant());
    }
    if (const auto* found = std::get_if<ir::Store>(&s->op)) store = found;
  });
  const auto linear = [&](const std::string& buffer, const std::vector<ir::Index>& indices) {
    const std::vector<std::int64_t> shape = ir::constant_shape(row.program.buffer(buffer));
    ir::Affine at;
    std::int64_t stride = 1;
    for (std::size_t d = shape.size(); d-- > 0; stride *= shape[d])
      at = at + indices[d].affine * stride;
    if (still && buffer == "a") at = ir::substitute(at, {{vars.front(), ir::Affine(0)}});
    if (buffer == "c" && in_registers) return std::vector<ir::Index>{at};
    return std::vector<ir::Index>{at + ir::Affine::symbol("t") *
                                           elements_of(row.program.buffer(buffer))};
  };
  ir::Store copy = *store;
  copy.value = ir::rewrite(store->value, [&](const ir::Expr& leaf) -> ir::Expr {
    const auto* load = std::get_if<ir::Load>(&leaf->op);
    if (!load) return leaf;
    const bool is_sum = load->buffer == "c" && in_registers;
    return ir::make_load(leaf->type, is_sum ? "r" : load->buffer,
                         linear(load->buffer, load->indices));
  });
  copy.indices = linear("c", store->indices);
  if (in_registers) copy.buffer = "r";
  ir::Stmt body = ir::make_store(std::move(copy));
  for (std::size_t i = vars.size(); i-- > 0;)
    body =
        ir::make_for({vars[i], {0}, {extents[i]}, ir::LoopKind::Serial, vars[i], std::move(body)});
  body = ir::make_tensorized({row.name, std::move(body)});
  body = ir::make_for({"t", {0}, {3}, ir::LoopKind::Serial, "t", std::move(body)});
  ir::LoopProgram program;
  program.name = "tiles";
  for (const ir::Buffer& b : row.program.buffers)
    program.buffers.push_back({b.name, b.role, b.dtype, {ir::Affine(3 * elements_of(b))}});
  if (in_registers) {
    const ir::Buffer& c = row.program.buffer("c");
    const std::int64_t lanes = elements_of(c);
    const auto move = [&](const std::string& to, const std::string& from) {
      ir::Lanes all;
      all.count = static_cast<int>(lanes);
      if (lanes > 1) all.strides = {1};
      ir::Load load{from, {ir::Index(0)}, {}, nullptr, all};
      const auto value =
          std::make_shared<const ir::ExprNode>(ir::ExprNode{c.dtype, all.count, std::move(load)});
      return ir::make_store({to, {ir::Index(0)}, value, all, {}});
    };
    body = ir::make_alloc({{"r", c.dtype, {lanes}, ir::Memory::Register},
                           ir::make_block({move("r", "c"), std::move(body), move("c", "r")})});
  }
  program.body = body;
  return program;
}

}  // namespace

TEST_CASE("instructions compute what their Programs say") {
  for (const codegen::Target& target : runnable_targets()) {
    for (const ir::Intrinsic& row : ir::intrinsics()) {
      if (!ir::missing_for(row, target.machine).empty()) continue;
      for (const bool still : {false, true}) {
        for (const bool in_registers : {false, true}) {
          CAPTURE(target.machine.cpu);
          CAPTURE(row.name);
          CAPTURE(still);
          CAPTURE(in_registers);
          const ir::LoopProgram program = program_of(row, still, in_registers);
          REQUIRE(ir::verify(program, ir::Form::Flat) == std::vector<std::string>{});
          ir::Environment inputs;
          unsigned seed = 3;
          for (const ir::Buffer& b : program.buffers)
            inputs[b.name] = extremes(b.dtype, 3 * elements_of(row.program.buffer(b.name)), seed++);
          RunOptions options;
          options.target = target;
          CHECK(against_interpreter(program, inputs, options) == "");
        }
      }
    }
  }
}

// The whole point: one instruction, and no loop left of the nest; a broadcast is folded into
// a load.
TEST_CASE("a product of bytes is one instruction") {
  const codegen::Target target = codegen::target_for_cpu("cascadelake");
  codegen::Kernel kernel{program_of(*ir::find_intrinsic("vnni_dot_i32x16"), true, true), {}};
  const std::string assembly = codegen::emit_asm({&kernel, 1}, target);
  CHECK(assembly.find("vpdpbusd") != std::string::npos);
  CHECK(assembly.find("vpmull") == std::string::npos);
  CHECK(assembly.find("vpinsr") == std::string::npos);
}

TEST_CASE("a processor without the instruction is named") {
  codegen::Kernel kernel{program_of(*ir::find_intrinsic("vnni_dot_i32x8"), false, false), {}};
  for (const auto& [name, kind] :
       {std::pair{"x86-64-v3", TargetKind::X86}, std::pair{"neoverse-n1", TargetKind::AArch64}}) {
    const std::string why =
        "kernel 'tiles': tensorize with vnni_dot_i32x8 needs avx512vnni and avx512vl or avxvnni, "
        "which ";
    CHECK_THROWS_WITH_AS((void)codegen::emit_asm({&kernel, 1}, codegen::target_for_cpu(name, kind)),
                         (why + name + " does not have").c_str(), UserError);
  }
}
