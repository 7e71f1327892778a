// Parallel loops and scratch memory in generated code: results against the interpreter of loop
// programs, calls of the host by what a recording one has seen.
#include <doctest/doctest.h>

#include <vector>

#include "tests/codegen/native.h"

using namespace polyte;
using namespace polyte::codegen;
using namespace polyte::codegen::testing;

namespace {

// A host that runs the chunks one after the other, last worker first, and remembers what
// it was asked.
struct RecordingHost {
  struct Call {
    std::int64_t begin, end;
  };
  std::vector<Call> calls;
  polyte_host host;

  explicit RecordingHost(int workers) {
    host = {sizeof(polyte_host),
            static_cast<std::uint32_t>(workers),
            this,
            &RecordingHost::run,
            nullptr,
            nullptr};
  }
  static void run(void* self, polyte_parallel_body body, void* context, std::int64_t begin,
                  std::int64_t end) {
    auto& recorder = *static_cast<RecordingHost*>(self);
    recorder.calls.push_back({begin, end});
    const std::int64_t workers = recorder.host.workers;
    for (std::int64_t w = workers - 1; w >= 0; --w) {
      const std::int64_t first = begin + (end - begin) * w / workers,
                         last = begin + (end - begin) * (w + 1) / workers;
      if (first < last) body(context, first, last, w);
    }
  }
};

constexpr const char* kText = R"(loops rows
  in x: f32[6, 40]
  out y: f32[6, 40]

  alloc total: f32[6] in heap
    alloc factor: f32[1] in register
      factor[0] = f32(3)
      for o in 0..2
        parallel i in (3*o)..(3*o + 3)
          alloc line: f32[40] in heap
            alloc acc: f32[1] in register
              acc[0] = f32(0)
              parallel j in 0..40
                line[j] = (x[40*i + j] * factor[0])
              for k in 0..40
                acc[0] = (acc[0] + line[39 - k])
                y[40*i + k] = (line[k] + index_f32(o))
              total[i] = acc[0]
    parallel r in 0..6
      for c in 0..40
        y[40*r + c] = (y[40*r + c] + total[-r + 5])
    parallel none in 4..2
      y[0] = f32(99)
)";

}  // namespace

TEST_CASE(
    "parallel loops: serial without a host, by its parallel_for with one; workers have their own "
    "scratch") {
  const ir::Environment inputs = {{"x", filled(DType::F32, {6, 40}, 31)}};
  CHECK(against_interpreter(kText, inputs) == "");
  for (const int workers : {1, 2, 5}) {
    RecordingHost recorder(workers);
    CHECK(against_interpreter(kText, inputs, {.host = &recorder.host, .workers = workers}) == "");
    REQUIRE(recorder.calls.size() == 3);  // not for the nested loop, nor for the empty one
    CHECK(recorder.calls[1].begin == 3);
    CHECK(recorder.calls[1].end == 6);
    CHECK(recorder.calls[2].end == 6);
  }
}

TEST_CASE("a host without parallel_for runs the loop serially") {
  const polyte_host host = {sizeof(polyte_host), 1, nullptr, nullptr, nullptr, nullptr};
  CHECK(against_interpreter(kText, {{"x", filled(DType::F32, {6, 40}, 32)}}, {.host = &host}) ==
        "");
}

TEST_CASE("scratch: shared part, slice per worker, siblings overlay") {
  const auto program = ir::parse_loop_program(R"(loops scratch
  out y: f32[1]

  alloc a: f32[20] in heap
    alloc b: f32[10] in heap
      y[0] = f32(0)
    alloc c: f64[30] in heap
      y[0] = f32(0)
    parallel i in 0..4
      alloc d: i8[1] in heap
        alloc e: i8[65] in heap
          y[0] = f32(0)
)",
                                              "test");
  const ScratchLayout layout = plan_scratch(program);
  CHECK(layout.offsets.at("a") == 0);
  CHECK(layout.offsets.at("b") == 128);
  CHECK(layout.offsets.at("c") == 128);
  CHECK(layout.shared_bytes == 128 + 256);
  CHECK(layout.offsets.at("d") == 0);
  CHECK(layout.offsets.at("e") == 64);
  CHECK(layout.bytes_per_worker == 192);
  CHECK(layout.total_bytes(3) == 384 + 3 * 192);
}

TEST_CASE("sizes are read at run time, inside of parallel loops as well") {
  const std::string text = R"(loops open(M, N)
  in x: f32[M + 2*N, 5]
  out y: f32[M, 5]
  temp t: f32[N, 5]

  for n in 0..N
    t[5*n; 5 by 1] = x[5*M + 5*n; 5 by 1]
  parallel m in 0..M
    for j in 0..5
      y[5*m + j] = (x[5*m + j] + index_f32(N))
    if m <= N - 1
      y[5*m; 5 by 1] = t[5*m; 5 by 1]
)";
  for (const auto& [m, n] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {7, 3}, {3, 7}, {40, 1}}) {
    CAPTURE(m);
    RecordingHost host(3);
    const RunOptions options{.host = &host.host, .workers = 3, .sizes = {{"M", m}, {"N", n}}};
    CHECK(against_interpreter(text, {{"x", filled(DType::F32, {m + 2 * n, 5}, 1)}}, options) == "");
    REQUIRE(host.calls.size() == 1);
    CHECK(host.calls[0].end == m);
  }
}
