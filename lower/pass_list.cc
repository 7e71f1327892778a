#include "lower/pass_list.h"

#include <algorithm>

#include "lower/build_loops.h"
#include "lower/carry_values.h"
#include "lower/check_subscripts.h"
#include "lower/complete_tiles.h"
#include "lower/cut_regions.h"
#include "lower/divide_registers.h"
#include "lower/exchange_lanes.h"
#include "lower/flatten.h"
#include "lower/group_products.h"
#include "lower/hoist.h"
#include "lower/join_loads.h"
#include "lower/load_fragments.h"
#include "lower/partition_loops.h"
#include "lower/place_barriers.h"
#include "lower/place_buffers.h"
#include "lower/place_fragments.h"
#include "lower/place_launches.h"
#include "lower/place_registers.h"
#include "lower/simplify.h"
#include "lower/unroll_loops.h"
#include "lower/vectorize_loops.h"
#include "lower/vectorize_threads.h"
#include "schedule/script/tensorized.h"
#include "support/error.h"

namespace polyte::lower {
namespace {

using ir::Form;
using ir::LoopKind;
using ir::LoopProgram;

LoopProgram all_serial(LoopProgram program) {
  const std::function<ir::Stmt(const ir::Stmt&)> serial = [&](const ir::Stmt& s) {
    ir::Stmt below = ir::rewrite_children(s, serial);
    const auto* loop = std::get_if<ir::For>(&below->op);
    if (!loop || loop->kind == LoopKind::Serial) return below;
    ir::For copy = *loop;
    copy.kind = LoopKind::Serial;
    copy.uncut = false;
    return ir::make_for(std::move(copy));
  };
  program.body = serial(program.body);
  return program;
}

LoopProgram run_build(const LoopProgram&, PassContext& c) { return build_loops(*c.state); }
LoopProgram run_vectorize(const LoopProgram& p, PassContext& c) {
  return vectorize_loops(p, c.machine, c.notes);
}
LoopProgram run_unroll(const LoopProgram& p, PassContext& c) { return unroll_loops(p, c.notes); }
LoopProgram run_hoist(const LoopProgram& p, PassContext&) { return hoist(p); }
LoopProgram run_simplify(const LoopProgram& p, PassContext&) { return simplify(p); }
LoopProgram run_check_subscripts(const LoopProgram& p, PassContext&) { return check_subscripts(p); }
// The loops may have seen what the caller has in another shape (ir/views.h). Row-major elements
// have the same place in both, so once subscripts are linear the buffer is given its declared shape
// back.
LoopProgram run_flatten(const LoopProgram& p, PassContext& c) {
  LoopProgram flat = flatten(p);
  if (c.state)
    for (ir::Buffer& buffer : flat.buffers)
      if (const ir::Buffer* declared = c.state->reference->find_buffer(buffer.name))
        buffer.shape = declared->shape;
  return flat;
}

// The passes for CPUs. Tails are cut while loops are still loops; what is
// vectorised is unrolled after it, so that pieces stand side by side inside; buffers find their
// places once subscripts are constants.
constexpr Pass kCpuPasses[] = {
    {"build loops", "the tree of a State as loops, with bounds, guards and allocations",
     Needs::State, Form::Nest, false, run_build},
    {"simplify", "bounds, guards and subscripts simplified by the ranges of the loops", Needs::Nest,
     Form::Nest, false, run_simplify},
    {"partition loops",
     "full tiles and tails apart: the hot loop has constant extents and no guard", Needs::Nest,
     Form::Nest, true, [](const LoopProgram& p, PassContext&) { return partition_loops(p); }},
    {"simplify parts", "simplify, on what was cut", Needs::Nest, Form::Nest, true, run_simplify},
    {"vectorize loops", "vector loops become accesses of several lanes, masked at the end",
     Needs::Nest, Form::Nest, false, run_vectorize},
    {"unroll loops", "unrolled loops become copies side by side", Needs::NoVectorLoops,
     Form::Native, false, run_unroll},
    {"simplify copies", "simplify, on what was unrolled", Needs::Native, Form::Native, true,
     run_simplify},
    {"hoist", "guards and loads that do not change in a loop go before it", Needs::Native,
     Form::Native, true, run_hoist},
    {"complete tiles", "of tiles that a diagonal cuts, all vectors are computed", Needs::Native,
     Form::Native, true, [](const LoopProgram& p, PassContext&) { return complete_tiles(p); }},
    {"carry values", "what the next iteration of a loop reads stays in registers", Needs::Native,
     Form::Native, true, [](const LoopProgram& p, PassContext&) { return carry_values(p); }},
    {"place buffers",
     "buffers that cannot stay in registers go to the stack, large stack buffers to the scratch",
     Needs::Native, Form::Native, false,
     [](const LoopProgram& p, PassContext& c) { return place_buffers(p, c.notes); }},
    {"check subscripts", "subscripts read at run time are checked against their extent",
     Needs::Native, Form::Native, false, run_check_subscripts},
    {"flatten", "one linear subscript for each access", Needs::Native, Form::Flat, false,
     run_flatten},
};

// The passes for GPUs. Lanes share loops while each is still there, also one that runs once; what
// lanes read of each other needs no barrier, or else goes to shared memory, which may; where
// threads meet is decided while an access is still one access; a block's registers are parted once
// their subscripts are numbers but for the thread's.
constexpr Pass kGpuPasses[] = {
    {"build loops", "the tree of a State as loops, with bounds, guards and allocations",
     Needs::State, Form::Nest, false, run_build},
    {"place fragments", "registers of instructions of a warp are spread over its lanes",
     Needs::Nest, Form::Nest, false,
     [](const LoopProgram& p, PassContext&) { return place_fragments(p); }},
    {"simplify", "bounds, guards and subscripts simplified by the ranges of the loops", Needs::Nest,
     Form::Nest, false, run_simplify},
    {"place launches", "what stands outside of blocks becomes a launch of one", Needs::Nest,
     Form::Nest, false,
     [](const LoopProgram& p, PassContext& c) { return place_launches(p, c.notes); }},
    {"exchange lanes", "shuffles registers to the lanes of the warp that read them", Needs::Nest,
     Form::Nest, false,
     [](const LoopProgram& p, PassContext& c) { return exchange_lanes(p, c.notes); }},
    {"place barriers", "inserts barriers where a thread could see another's unfinished work",
     Needs::Nest, Form::Nest, false,
     [](const LoopProgram& p, PassContext& c) { return place_barriers(p, c.machine); }},
    {"cut regions", "two versions of what threads do: for whole tiles, and for those cut short",
     Needs::Nest, Form::Nest, true,
     [](const LoopProgram& p, PassContext&) { return cut_regions(p); }},
    {"vectorize threads",
     "vector loops become accesses of several lanes, or single ones at the end", Needs::Nest,
     Form::Nest, false,
     [](const LoopProgram& p, PassContext& c) { return vectorize_threads(p, c.machine, c.notes); }},
    {"unroll loops", "unrolled loops become copies side by side", Needs::NoVectorLoops,
     Form::Native, false, run_unroll},
    {"load fragments", "loads operands of a warp's instruction from memory into registers first",
     Needs::Native, Form::Native, false,
     [](const LoopProgram& p, PassContext& c) {
       return load_fragments(p, c.state ? schedule::zero_filled(*c.state) : std::set<std::string>{},
                             c.notes);
     }},
    {"simplify copies", "simplify, on what was unrolled", Needs::Native, Form::Native, true,
     run_simplify},
    {"hoist", "guards and loads that do not change in a loop go before it", Needs::Native,
     Form::Native, true, run_hoist},
    {"join loads", "adjacent reads of neighbours in shared memory become one access", Needs::Native,
     Form::Native, true, [](const LoopProgram& p, PassContext&) { return join_loads(p); }},
    {"group products",
     "waits for a warpgroup's asynchronous products before their results are used", Needs::Native,
     Form::Native, false, [](const LoopProgram& p, PassContext&) { return group_products(p); }},
    {"divide registers", "registers of a block become registers of each thread", Needs::Native,
     Form::Native, false, [](const LoopProgram& p, PassContext&) { return divide_registers(p); }},
    {"place registers", "buffers that cannot stay in registers become local memory of their thread",
     Needs::Native, Form::Native, false,
     [](const LoopProgram& p, PassContext& c) { return place_registers(p, c.notes); }},
    {"check subscripts", "subscripts read at run time are checked against their extent",
     Needs::Native, Form::Native, false, run_check_subscripts},
    {"flatten", "one linear subscript for each access", Needs::Native, Form::Flat, false,
     run_flatten},
};

// The copies of compile time need neither speed nor vectors.
constexpr Pass kPackingPasses[] = {
    {"build loops", "the copies that run at compile time, serial", Needs::State, Form::Native,
     false,
     [](const LoopProgram&, PassContext& c) {
       return all_serial(build_loops(*c.state, Part::Packing));
     }},
    {"simplify", "bounds, guards and subscripts simplified by the ranges of the loops",
     Needs::Native, Form::Native, false, run_simplify},
    {"check subscripts", "subscripts read at run time are checked against their extent",
     Needs::Native, Form::Native, false, run_check_subscripts},
    {"flatten", "one linear subscript for each access", Needs::Native, Form::Flat, false,
     run_flatten},
};

// The first loop of that kind, or null.
const ir::For* first_loop(const LoopProgram& program, LoopKind kind) {
  const ir::For* found = nullptr;
  ir::for_each_stmt(program.body, [&](const ir::Stmt& s) {
    const auto* loop = std::get_if<ir::For>(&s->op);
    if (!found && loop && loop->kind == kind) found = loop;
  });
  return found;
}

}  // namespace

std::span<const Pass> pass_list() { return kCpuPasses; }
std::span<const Pass> gpu_pass_list() { return kGpuPasses; }
std::span<const Pass> pass_list_of(const Machine& machine) {
  return machine.gpu ? gpu_pass_list() : pass_list();
}

std::span<const Pass> packing_pass_list() { return kPackingPasses; }

std::string obstacle(const Pass& pass, const LoopProgram& program) {
  if (pass.needs == Needs::State)
    return "makes loops of a Program and its script, which loops do not hold";
  if (!ir::verify(program, Form::Nest).empty())
    return "takes loops with a subscript for each dimension, these are flat: they went through "
           "'flatten'";
  if (pass.needs == Needs::Nest) return "";
  if (const ir::For* loop = first_loop(program, LoopKind::Vector))
    return "takes loops without vector loops, here is '" + loop->var +
           "': 'vectorize loops' comes before it";
  if (pass.needs == Needs::NoVectorLoops) return "";
  if (const ir::For* loop = first_loop(program, LoopKind::Unrolled))
    return "takes loops without unrolled loops, here is '" + loop->var +
           "': 'unroll loops' comes before it";
  return "";
}

void check_result(const Pass& pass, const LoopProgram& program) {
  const std::vector<std::string> problems = ir::verify(program, pass.gives);
  if (problems.empty()) return;
  std::string text = std::string("after '") + pass.name + "' the loops of '" + program.name +
                     "' are not well formed:";
  for (const std::string& problem : problems) text += "\n  " + problem;
  throw InternalError(text + "\n" + ir::print(program));
}

std::vector<std::string> problems_of(const LoopProgram& program) {
  std::vector<std::string> nest = ir::verify(program, Form::Nest),
                           flat = ir::verify(program, Form::Flat);
  return flat.size() < nest.size() ? flat : nest;
}

}  // namespace polyte::lower
