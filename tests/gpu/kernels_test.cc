// Every file of tests/gpu/kernels: legal, the reference's bits on the emulator in any order of the
// threads, with just the barriers that it needs, and PTX that the assembler takes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "codegen/nvptx/assembler.h"
#include "ir/program_text.h"
#include "lower/lower.h"
#include "support/checked.h"
#include "support/error.h"
#include "tests/gpu/emulate.h"
#include "tests/schedule/execute_state.h"
#include "tests/sweep.h"

using namespace polyte;
using namespace polyte::gpu::testing;
using runtime::ThreadOrder;

namespace {

struct Reference {
  ir::Environment inputs, outputs;
};

Reference reference_of(const ir::Program& program) {
  Reference reference{schedule::make_inputs(program, 1), {}};
  reference.outputs = reference.inputs;
  ir::interpret(program, reference.outputs, {});
  return reference;
}

double largest_of(const ir::Contents& a) {
  double largest = 0;
  for (std::int64_t i = 0; i < checked_product(a.shape); ++i)
    largest = std::max(largest, std::abs(ir::get_real(a, i)));
  return largest;
}

bool agree(const ir::Contents& a, const ir::Contents& b, const KernelFile& file) {
  if (file.tolerance == 0) return a.bytes == b.bytes;
  const double largest = file.of_largest ? largest_of(a) : 0;
  for (std::int64_t i = 0; i < checked_product(a.shape); ++i) {
    const double x = ir::get_real(a, i), y = ir::get_real(b, i);
    if (!(std::abs(x - y) <= file.tolerance * (file.of_largest ? largest : std::abs(x))))
      return false;
  }
  return true;
}

// The interface buffers that differ.
std::string differences(const ir::Program& program, const ir::Environment& expected,
                        const ir::Environment& got, const KernelFile& file) {
  std::string names;
  for (const ir::Buffer* buffer : program.interface())
    if (!agree(expected.at(buffer->name), got.at(buffer->name), file)) names += buffer->name + " ";
  return names;
}

ir::LoopProgram lowered(const schedule::State& state) {
  static const Machine machine = gpu::testing::gpu("h100").machine;
  return lower::lower(state, {.machine = machine});
}

}  // namespace

TEST_CASE("kernels: the reference's bits on the emulator, whatever the order of the threads") {
  const Machine machine = gpu::testing::gpu("h100").machine;
  std::size_t number = 0;
  for (const KernelFile& file : kernel_files()) {
    for (const ir::Values& sizes : file.sizes) {
      if (!test::is_swept(number++, 3)) continue;
      CAPTURE(file.name);
      const schedule::State state = scheduled(file, sizes, machine);
      const Reference reference = reference_of(*state.reference);
      const ir::LoopProgram loops = lowered(state);
      CAPTURE(ir::print(loops));
      for (const auto& [order, interleave] : {std::pair{ThreadOrder::Forward, false},
                                              {ThreadOrder::Backward, false},
                                              {ThreadOrder::Random, true}}) {
        const Emulated got =
            emulate(loops, reference.inputs, {},
                    {.order = order, .interleave = interleave, .late_copies = !interleave});
        REQUIRE(joined(got.faults) == "");
        CHECK(got.code == 0);
        CHECK(differences(*state.reference, reference.outputs, got.buffers, file) == "");
      }
    }
  }
}

TEST_CASE("kernels: every barrier is needed") {
  const Machine machine = gpu::testing::gpu("h100").machine;
  for (std::size_t number = 0; const KernelFile& file : kernel_files()) {
    if (!test::is_swept(number++, 3)) continue;
    const schedule::State state = scheduled(file, file.sizes.front(), machine);
    const Reference reference = reference_of(*state.reference);
    CAPTURE(file.name);
    check_barriers(lowered(state), reference.inputs);
  }
}

TEST_CASE("kernels: no barrier before a loop that always comes by one") {
  KernelFile file = kernel_named("mma_attention");
  const std::string pipeline = "pipeline k, v at t.update:j.o depth 2\n";
  file.script.erase(file.script.find(pipeline), pipeline.size());
  const schedule::State state =
      scheduled(file, file.sizes.front(), gpu::testing::gpu("h100").machine);
  check_barriers(lowered(state), reference_of(*state.reference).inputs);
}

TEST_CASE("kernels: every wait for copies is needed, and waits for enough of them") {
  const Machine machine = gpu::testing::gpu("h100").machine;
  int waits = 0;
  for (std::size_t number = 0; const KernelFile& file : kernel_files()) {
    if (!test::is_swept(number++, 3)) continue;
    const schedule::State state = scheduled(file, file.sizes.front(), machine);
    const Reference reference = reference_of(*state.reference);
    CAPTURE(file.name);
    waits += check_waits(lowered(state), reference.inputs);
    check_exact_waits(lowered(state), reference.inputs);
  }
  CHECK(waits > 0);
}

TEST_CASE("kernels: waits stand where they are needed, whatever is copied meanwhile") {
  struct Case {
    std::string pipelines;
    int waits;
  };
  const Machine machine = gpu::testing::gpu("h100").machine;
  const std::string at = " at t.update:j.o depth ";
  // The first copies of v before the barrier that those of k wait at, or behind it; one of
  // the two; where no barrier stands behind the last reader, a wait in the iteration before
  // is enough for both.
  for (const auto& [pipelines, waits] : {Case{"pipeline k, v" + at + "2", 3},
                                         {"pipeline v" + at + "2\npipeline k" + at + "2", 2},
                                         {"pipeline v" + at + "2", 1},
                                         {"pipeline k" + at + "2", 2},
                                         {"pipeline v, k" + at + "3", 2}}) {
    CAPTURE(pipelines);
    KernelFile file = kernel_named("attention");
    const std::string old = "pipeline k, v" + at + "2";
    file.script.replace(file.script.find(old), old.size(), pipelines);
    const schedule::State state = scheduled(file, file.sizes.front(), machine);
    const Reference reference = reference_of(*state.reference);
    const ir::LoopProgram loops = lowered(state);
    const Emulated got =
        emulate(loops, reference.inputs, {},
                {.order = ThreadOrder::Random, .interleave = true, .late_copies = true});
    CHECK(joined(got.faults) == "");
    CHECK(differences(*state.reference, reference.outputs, got.buffers, file) == "");
    CHECK(check_waits(loops, reference.inputs) == waits);
    check_exact_waits(loops, reference.inputs);
  }
}

TEST_CASE("kernels: what a copy does not bring is missed where it is used") {
  const Machine machine = gpu::testing::gpu("h100").machine;
  const auto no_copy = [](const ir::Stmt& s) -> ir::Stmt {
    const auto* store = std::get_if<ir::Store>(&s->op);
    return store && store->origin.statement.empty() && store->buffer.ends_with(".c")
               ? ir::make_block({})
               : nullptr;
  };
  std::size_t copies = 0;
  for (const KernelFile& file : kernel_files()) {
    if (file.name.starts_with("mma_")) continue;  // copies rows that no result is made of
    const schedule::State state = scheduled(file, file.sizes.front(), machine);
    const Reference reference = reference_of(*state.reference);
    for (const ir::LoopProgram& without : mutants(lowered(state), no_copy)) {
      CAPTURE(file.name);
      CAPTURE(ir::print(without));
      ++copies;
      CHECK_FALSE(emulate(without, reference.inputs, {}).faults.empty());
    }
  }
  CHECK(copies > 5);
}

TEST_CASE(
    "kernels: every step of products that are made meanwhile is needed, and every fence before "
    "them") {
  const Machine machine = gpu::testing::gpu("h100").machine;
  using Step = ir::ProductGroup::Step;
  const auto no_step = [](const ir::Stmt& s) {
    return std::holds_alternative<ir::ProductGroup>(s->op) ? ir::make_block({}) : nullptr;
  };
  const auto shorter_wait = [](const ir::Stmt& s) -> ir::Stmt {
    const auto* group = std::get_if<ir::ProductGroup>(&s->op);
    return group && group->step == Step::Wait
               ? ir::make_product_group({Step::Wait, group->pending + 1})
               : nullptr;
  };
  const auto no_fence = [](const ir::Stmt& s) -> ir::Stmt {
    const auto* barrier = std::get_if<ir::Barrier>(&s->op);
    if (!barrier || !barrier->fenced) return nullptr;
    ir::Barrier plain = *barrier;
    plain.fenced = false;
    return ir::make_barrier(std::move(plain));
  };
  int faulty = 0;
  for (const KernelFile& file : kernel_files()) {
    if (file.only_for.empty()) continue;
    const schedule::State state = scheduled(file, file.sizes.front(), machine);
    const Reference reference = reference_of(*state.reference);
    const ir::LoopProgram loops = lowered(state);
    for (const auto& form :
         {std::function<ir::Stmt(const ir::Stmt&)>(no_step), {shorter_wait}, {no_fence}})
      for (const ir::LoopProgram& worse : mutants(loops, form)) {
        CAPTURE(file.name);
        CAPTURE(ir::print(worse));
        ++faulty;
        for (const bool late : {false, true})
          CHECK_FALSE(emulate(worse, reference.inputs, {}, {.late_copies = late}).faults.empty());
      }
  }
  CHECK(faulty > 0);
}

TEST_CASE("kernels: every exchange between lanes is needed, and reads the right one") {
  const Machine machine = gpu::testing::gpu("h100").machine;
  int exchanges = 0;
  for (const KernelFile& file : kernel_files()) {
    if (file.tolerance != 0) continue;  // maxima: another lane's may be the same
    const schedule::State state = scheduled(file, file.sizes.front(), machine);
    const Reference reference = reference_of(*state.reference);
    const ir::LoopProgram loops = lowered(state);
    const auto exchange_in = [](const ir::Stmt& s) {
      const auto* store = std::get_if<ir::Store>(&s->op);
      return store ? std::get_if<ir::LaneRead>(&store->value->op) : nullptr;
    };
    const auto with_value = [](const ir::Stmt& s, const ir::Expr& value) {
      ir::Store copy = std::get<ir::Store>(s->op);
      copy.value = value;
      return ir::make_store(std::move(copy));
    };
    const auto own = [&](const ir::Stmt& s) -> ir::Stmt {
      const ir::LaneRead* read = exchange_in(s);
      // That may be the lane itself.
      return read && !read->lane.is_constant() ? with_value(s, read->load) : nullptr;
    };
    const auto next = [&](const ir::Stmt& s) -> ir::Stmt {
      const ir::LaneRead* read = exchange_in(s);
      return read ? with_value(s, ir::make_lane_read(read->load, read->lane + 1)) : nullptr;
    };
    for (const auto& form : {std::function<ir::Stmt(const ir::Stmt&)>(own), {next}})
      for (const ir::LoopProgram& worse : mutants(loops, form)) {
        CAPTURE(file.name);
        CAPTURE(ir::print(worse));
        ++exchanges;
        const Emulated got = emulate(worse, reference.inputs, {});
        const bool is_missed =
            !got.faults.empty() ||
            !differences(*state.reference, reference.outputs, got.buffers, file).empty();
        CHECK(is_missed);
      }
  }
  CHECK(exchanges > 0);
}

TEST_CASE("kernels: open sizes, one compiled kernel for all") {
  const Machine machine = gpu::testing::gpu("h100").machine;
  for (const KernelFile& file : kernel_files()) {
    if (!file.open) continue;
    CAPTURE(file.name);
    const schedule::State state = scheduled(file, {}, machine);
    const ir::LoopProgram loops = lowered(state);
    for (const ir::Values& sizes : file.sizes) {
      const ir::Program bound = ir::bind(*state.reference, sizes);
      const Reference reference = reference_of(bound);
      const Emulated got = emulate(loops, reference.inputs, sizes);
      REQUIRE(joined(got.faults) == "");
      CHECK(differences(bound, reference.outputs, got.buffers, file) == "");
    }
  }
}

TEST_CASE("kernels: PTX for every architecture, no spills, no messages of the assembler") {
  if (!codegen::has_assembler()) MESSAGE("no ptxas here: the code is not assembled");
  for (std::size_t number = 0; const char* name : {"a100", "l4", "sm_90", "h100"}) {
    const codegen::Target target = gpu::testing::gpu(name);
    for (const KernelFile& file : kernel_files()) {
      if (!test::is_swept(number++, 3)) continue;
      CAPTURE(file.name);
      CAPTURE(name);
      if (!file.only_for.empty() && file.only_for != name) continue;
      const schedule::State state =
          scheduled(file, file.sizes.front(), target.machine, schedule::ProofLevel::Off);
      const codegen::Kernel kernel{lower::lower(state, {.machine = target.machine}), {}};
      const std::string ptx = codegen::compile({&kernel, 1}, target).device;
      CHECK(ptx.find(".entry") != std::string::npos);
      if (!codegen::has_assembler()) continue;
      const codegen::DeviceBinary binary = codegen::assemble_ptx(ptx, target.machine);
      CHECK(joined(binary.messages) == "");
      for (const codegen::DeviceBinary::Kernel& each : binary.kernels) {
        CHECK(each.registers > 0);
        CHECK(each.spill_store_bytes + each.spill_load_bytes == 0);
      }
    }
  }
}

TEST_CASE("kernels: the library assembles what ptxas does") {
  using codegen::Assembler;
  if (codegen::assembler_path(Assembler::Library).empty()) {
    MESSAGE("no libnvJitLink here: nothing is assembled by it");
    return;
  }
  const codegen::Target target = gpu::testing::gpu("h100");
  for (const KernelFile& file : kernel_files()) {
    CAPTURE(file.name);
    const schedule::State state = scheduled(file, file.sizes.front(), target.machine);
    const codegen::Kernel kernel{lower::lower(state, {.machine = target.machine}), {}};
    const std::string ptx = codegen::compile({&kernel, 1}, target).device;
    const codegen::DeviceBinary binary =
        codegen::assemble_ptx(ptx, target.machine, Assembler::Library);
    CHECK(binary.assembler == codegen::assembler_path(Assembler::Library));
    CHECK(
        binary.bytes.starts_with("\x7f"
                                 "ELF"));
    CHECK(joined(binary.messages) == "");
    std::vector<std::string> names, expected;
    for (const codegen::DeviceBinary::Kernel& each : binary.kernels) {
      names.push_back(each.name);
      CHECK(each.registers > 0);
      CHECK(each.spill_store_bytes + each.spill_load_bytes == 0);
    }
    if (codegen::assembler_path(Assembler::Program).empty()) continue;
    for (const auto& each : codegen::assemble_ptx(ptx, target.machine, Assembler::Program).kernels)
      expected.push_back(each.name);
    std::ranges::sort(names);
    std::ranges::sort(expected);
    CHECK(names == expected);
  }
}

TEST_CASE("kernels: code that no assembler takes is told in its words") {
  const codegen::Target target = gpu::testing::gpu("h100");
  for (const auto which : {codegen::Assembler::Program, codegen::Assembler::Library}) {
    if (codegen::assembler_path(which).empty()) continue;
    std::string said;
    try {
      codegen::assemble_ptx(".version 8.0\n.target sm_90a\n.address_size 64\nadd.nothing;\n",
                            target.machine, which);
    } catch (const InternalError& error) {
      said = error.what();
    }
    CHECK(said.find(which == codegen::Assembler::Program ? "ptxas refuses" : "libnvJitLink") !=
          std::string::npos);
    CHECK(said.find("line 4") != std::string::npos);
  }
}
