// Kernels of open size: scheduled for one, proved for all, and the same as the reference for each
// that they are run at.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "codegen/target.h"
#include "driver/compile/build_kernel.h"
#include "ir/interpret.h"
#include "ir/open_program.h"
#include "ir/program_text.h"
#include "lower/lower.h"

using namespace polyte;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Machine machine() { return codegen::target_for_cpu("x86-64-v3").machine; }

struct Example {
  std::string file;
  ir::Values closed;  // its other sizes
};
// The first size stays open: rows, reductions over them, images, steps in time.
const std::vector<Example> kExamples = {{"dense_relu", {{"N", 40}, {"K", 9}}},
                                        {"softmax", {{"N", 33}}},
                                        {"layer_norm", {{"N", 40}}},
                                        {"first_axis_sum", {{"N", 37}}},
                                        {"conv_3x3", {{"C", 3}, {"F", 18}, {"H", 4}, {"W", 6}}},
                                        {"arg_max", {{"N", 19}}},
                                        {"batched_matmul", {{"M", 6}, {"N", 19}, {"K", 5}}},
                                        {"attention", {{"N", 9}, {"D", 16}}},
                                        {"scan", {}},
                                        {"dot", {}},
                                        {"lstm_cell", {{"H", 5}, {"X", 4}}}};

ir::Contents contents_of(const ir::Buffer& buffer, const ir::Values& sizes) {
  std::vector<std::int64_t> shape;
  for (const ir::Affine& extent : buffer.shape) shape.push_back(ir::evaluate(extent, sizes));
  ir::Contents contents = ir::make_contents(buffer.dtype, shape);
  const auto count = static_cast<std::int64_t>(contents.bytes.size()) / size_in_bytes(buffer.dtype);
  for (std::int64_t i = 0; i < count; ++i)
    ir::set_real(contents, i, static_cast<double>((i * 7 + i / 5) % 5 - 2));
  return contents;
}

ir::Environment inputs_of(const ir::Program& program, const ir::Values& sizes) {
  ir::Environment buffers;
  for (const ir::Buffer* buffer : program.interface())
    if (buffer->role != ir::Role::Out) buffers[buffer->name] = contents_of(*buffer, sizes);
  return buffers;
}

ir::Environment reference_of(const ir::Program& program, const ir::Values& sizes) {
  ir::Environment buffers = inputs_of(program, sizes);
  ir::interpret(program, buffers, {.sizes = sizes, .on_event = {}});
  return buffers;
}

// What the kernel's loops compute once its constants are packed. Races are looked for.
ir::Environment outputs_of(const driver::BuiltKernel& kernel, const ir::LoopProgram& loops,
                           const ir::Values& sizes) {
  ir::Environment buffers = inputs_of(*kernel.program, sizes);
  if (!kernel.packed.empty()) ir::interpret(kernel.packing, buffers, {.sizes = {}, .on_event = {}});
  ir::interpret(loops, buffers, {.sizes = sizes, .on_event = {}});
  return buffers;
}

std::string different_output(const ir::Program& program, const ir::Environment& a,
                             const ir::Environment& b) {
  for (const ir::Buffer* buffer : program.interface())
    if (buffer->role == ir::Role::Out && a.at(buffer->name).bytes != b.at(buffer->name).bytes)
      return buffer->name;
  return "";
}

// Sums of whole numbers are the same in any order; quotients and exponentials are not, so that sums
// of them stay in theirs.
driver::BuiltKernel kernel_of(const std::shared_ptr<const ir::Program>& program,
                              driver::Scheduler scheduler) {
  driver::KernelOptions options;
  options.scheduler = scheduler;
  options.exact = true;
  options.typical = {17};
  return driver::build_kernel(program, machine(), options);
}

}  // namespace

TEST_CASE("examples with their first size open: the reference's bits at every size") {
  for (const Example& example : kExamples) {
    CAPTURE(example.file);
    const auto parsed =
        ir::parse_program(text_of("examples/programs/" + example.file + ".program"), example.file);
    const auto program = std::make_shared<const ir::Program>(ir::bind(parsed, example.closed));
    REQUIRE(program->params.size() == 1);
    for (const driver::Scheduler scheduler :
         {driver::Scheduler::Naive, driver::Scheduler::Isl, driver::Scheduler::Poly,
          driver::Scheduler::Template}) {
      CAPTURE(to_string(scheduler));
      driver::BuiltKernel kernel = kernel_of(program, scheduler);
      const bool declines = !driver::write_script(ir::at_typical(*program, kernel.typical),
                                                  scheduler, machine(), {.keep_order = true});
      // Ordered regions, whatever their size; nothing is refused.
      CHECK(kernel.declined.has_value() == declines);
      const ir::LoopProgram nest = lower::lower_to_nest(*kernel.state);
      for (const std::int64_t size : {1, 2, 7, 17, 26}) {
        CAPTURE(size);
        const ir::Values sizes{{program->params[0], size}};
        const ir::Environment expected = reference_of(*program, sizes);
        CHECK(different_output(*program, expected, outputs_of(kernel, nest, sizes)) == "");
        CHECK(different_output(*program, expected,
                               outputs_of(kernel, kernel.kernel.program, sizes)) == "");
      }
    }
  }
}

TEST_CASE("a padded copy has a size within the loop of open size, and stays within the buffer") {
  const auto program = std::make_shared<const ir::Program>(ir::parse_program(R"(program conv(N)
  in    x: f32[N, 3, 6]
  const w: f32[8, 3, 3]
  out   y: f32[N, 8, 6]
  y[n, f, v] = sum[c, s] (x[n, c, v+s-1] else 0) * w[f, c, s]
)",
                                                                             "test"));
  const auto built = [&](const std::string& where) {
    const schedule::Script script = schedule::parse_script(
        "schedule conv/1 for conv f32 exact\n"
        "split y.init: n by 4 tail cut\nsplit y.update: n by 4 tail cut\n"
        "nest n.o > { f > v > n.i > y.init; f > v > c > s > n.i > y.update }\nstage x" +
            where + "\n",
        "test");
    driver::KernelOptions options;
    options.scheduler = driver::Scheduler::Script;
    options.script = &script;
    options.script_origin = "conv.sched";
    return driver::build_kernel(program, machine(), options);
  };
  const driver::BuiltKernel kernel = built(" at y.update:n.o");
  for (const std::int64_t size : {1, 3, 4, 6}) {
    const ir::Values sizes{{"N", size}};
    CHECK(different_output(*program, reference_of(*program, sizes),
                           outputs_of(kernel, kernel.kernel.program, sizes)) == "");
  }
  CHECK_THROWS_AS(built(""), UserError);  // the whole of x has no size
}

TEST_CASE("a temporary of open size is a buffer of the interface, behind all others") {
  const auto program = std::make_shared<const ir::Program>(
      ir::parse_program("program p(N)\n  in  x: f32[N, 4]\n"
                        "  out y: f32[N, 4]\n  t[n, i] = x[n, i] + 1\n  y[n, i] = t[n, 3 - i]\n",
                        "t"));
  const driver::BuiltKernel kernel = kernel_of(program, driver::Scheduler::Naive);
  REQUIRE(kernel.kernel.program.buffers.size() == 3);
  CHECK(kernel.kernel.program.buffers[2].name == "t");
  CHECK(kernel.kernel.program.buffers[2].role == ir::Role::Temp);
}

TEST_CASE("at typical sizes a Program knows which of its iterators are open") {
  const ir::Program program = ir::parse_program(
      "program p(N)\n"
      "  in  x: f32[N, 4]\n  out y: f32[N]\n  y[n] = sum[i, j] x[n, i] for j in 0..n+1\n",
      "t");
  const ir::Program typical = ir::at_typical(program, {{"N", 17}});
  CHECK(typical.params.empty());
  CHECK(ir::constant_shape(typical.buffer("x")) == std::vector<std::int64_t>{17, 4});
  CHECK(typical.open == std::set<std::string>{"n"});
}
