// Artifacts that leave sizes open: one session at many sizes, what it says of wrong arguments, and
// the C API. Kernels are those of tests/runtime/kernels.c.
#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "runtime/fill.h"
#include "runtime/polyte_runtime.h"
#include "runtime/session.h"
#include "tests/runtime/count_allocations.h"
#include "tests/runtime/open_artifact.h"
#include "tests/runtime/temp_dir.h"

namespace {

using namespace polyte;
using namespace polyte::runtime;
using polyte::testing::open_artifact;
using polyte::testing::problem_of;
using polyte::testing::TempDir;

// Arguments of open_artifact at one pair of sizes.
struct OpenArguments {
  std::int64_t batch, seq;
  Tensor x{DType::F32, {batch, 4}}, z{DType::F32, {batch}}, p{DType::F32, {seq}},
      w{DType::F32, {batch + 2 * seq}};
  Tensor y{DType::F32, {batch, 4}}, q{DType::F32, {2 * batch + seq + 1}},
      v{DType::F32, {batch + 2 * seq}};

  OpenArguments(std::int64_t b, std::int64_t s) : batch(b), seq(s) {
    fill(x, parse_fill("int:1"), "x");
    fill(z, parse_fill("int:1"), "z");
    fill(p, parse_fill("int:1"), "p");
    fill(w, parse_fill("int:1"), "w");
  }

  std::vector<TensorView> inputs() const { return {x.view(), z.view(), p.view(), w.view()}; }
  std::vector<TensorView> outputs() const { return {y.view(), q.view(), v.view()}; }
  void run(const Session& session) const {
    session.run({x.view(), z.view(), p.view(), w.view()}, {y.view(), q.view(), v.view()});
  }

  static int differences(const Tensor& got, const std::vector<float>& expected) {
    int count = got.elements() == static_cast<std::int64_t>(expected.size()) ? 0 : 1;
    for (std::size_t i = 0; count == 0 && i < expected.size(); ++i)
      count += got.as<float>()[i] != expected[i] ? 1 : 0;
    return count;
  }

  int wrong(const Tensor& got_y, const Tensor& got_q, const Tensor& got_v) const {
    std::vector<float> rows;
    std::vector<float> joined;
    for (std::size_t i = 0; i < x.as<float>().size(); ++i)
      rows.push_back(2 * x.as<float>()[i] + z.as<float>()[i / 4]);
    for (std::size_t i = 0; i < rows.size(); i += 4) joined.push_back(rows[i]);
    for (std::size_t i = 3; i < rows.size(); i += 4) joined.push_back(rows[i]);
    joined.insert(joined.end(), p.as<float>().begin(), p.as<float>().end());
    joined.push_back(static_cast<float>(1000 * batch + seq));
    const std::vector<float> same(w.as<float>().begin(), w.as<float>().end());
    return differences(got_y, rows) + differences(got_q, joined) + differences(got_v, same);
  }
  int wrong() const { return wrong(y, q, v); }
};

TEST_CASE("one session computes at every size, in any order") {
  for (const int threads : {1, 2}) {
    const Session session(Artifact::from_parts(open_artifact()), {.threads = threads});
    for (const auto& [batch, seq] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {1, 1}, {5, 2}, {3, 300}, {64, 7}, {1, 512}, {5, 2}}) {
      const OpenArguments a(batch, seq);
      a.run(session);
      INFO("batch " << batch << ", seq " << seq);
      CHECK(a.wrong() == 0);
    }
  }
}

TEST_CASE("a step is given all workers from the scale on that is worth it") {
  ArtifactParts parts = open_artifact();
  ArtifactManifest& m = parts.manifest;
  m.outputs = {{"crew", DType::I64, {1}}};
  m.buffers = {{.name = "crew", .place = BufferPlace::Output, .bytes = 8}};
  m.steps = {
      {.kernel = "crew", .group = "g0", .buffers = {0}, .parallel = true, .parallel_from = 8}};
  const Session session(Artifact::from_parts(std::move(parts)), {.threads = 2});
  const auto crew_at = [&](std::int64_t batch, std::int64_t seq) {
    const OpenArguments a(batch, seq);
    const Tensor crew(DType::I64, {1});
    session.run(a.inputs(), std::vector<TensorView>{crew.view()});
    return crew.as<std::int64_t>()[0];
  };
  CHECK(crew_at(7, 3) == 1);
  CHECK(crew_at(3, 8) == 2);
  CHECK(crew_at(8, 1) == 2);
  CHECK(crew_at(1, 1) == 1);
}

TEST_CASE("outputs are declared with open extents and allocated as the inputs say") {
  const Session session(Artifact::from_parts(open_artifact()), {.threads = 1});
  CHECK(session.outputs()[0].shape == std::vector<std::int64_t>{kOpenExtent, 4});
  REQUIRE(session.symbols().size() == 2);
  CHECK(session.symbols()[1].name == "seq");
  OpenArguments a(3, 5);
  std::vector<TensorView> inputs = a.inputs();
  for (TensorView& input : inputs) input.data = nullptr;
  CHECK(session.output_shapes(inputs) ==
        std::vector<std::vector<std::int64_t>>{{3, 4}, {12}, {13}});
  std::vector<Tensor> tensors;
  for (const Tensor* input : {&a.x, &a.z, &a.p, &a.w}) tensors.push_back(input->clone());
  const std::vector<Tensor> results = session.run(tensors);
  REQUIRE(results.size() == 3);
  CHECK(results[1].shape() == Shape{12});
  CHECK(a.wrong(results[0], results[1], results[2]) == 0);
}

TEST_CASE("runs at different sizes in several threads do not disturb each other") {
  const Session session(Artifact::from_parts(open_artifact()), {.threads = 2});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      const OpenArguments small(1 + t, 2), large(40 + t, 100 * t + 3);
      for (int round = 0; round < 200; ++round) {
        for (const OpenArguments* a : {&small, &large}) {
          a->run(session);
          wrong += a->wrong();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("a run at sizes that were there before allocates nothing, and a profile has every step") {
  const Session session(Artifact::from_parts(open_artifact()), {.threads = 1});
  const OpenArguments small(2, 3), large(50, 60);
  const auto both = [&] {
    small.run(session);
    large.run(session);
  };
  both();
  const std::int64_t before = testing::allocations_of_this_thread();
  for (int round = 0; round < 10; ++round) both();
  CHECK(testing::allocations_of_this_thread() == before);
  const OpenArguments other(7, 1);
  CHECK(session.profile(other.inputs(), other.outputs()).steps.size() == session.steps().size());
  CHECK(other.wrong() == 0);
}

TEST_CASE("the arena grows with the sizes and is kept") {
  ArtifactParts parts = open_artifact();
  ArtifactManifest& m = parts.manifest;
  m.outputs.push_back({"where", DType::I64, {}});
  m.buffers.push_back({"where", BufferPlace::Output, 3, 0, 8});
  // Of t, which is first in the arena.
  m.steps.push_back({.kernel = "address", .buffers = {4, 10}});
  m.arena_bytes = 1 << 20;  // so that an arena of scale 64 is a mapping
  const Session session(Artifact::from_parts(std::move(parts)), {.threads = 1});
  const auto where = [&](std::int64_t batch) {
    const OpenArguments a(batch, 1);
    const Tensor at(DType::I64, {});
    std::vector<TensorView> outputs = a.outputs();
    outputs.push_back(at.view());
    session.run(a.inputs(), outputs);
    CHECK(a.wrong() == 0);
    return at.as<std::int64_t>()[0];
  };
  const std::int64_t small = where(1), large = where(64);
  CHECK(small != large);
  CHECK(where(1) == large);
  CHECK(where(64) == large);
}

TEST_CASE("the sizes can be a result") {
  ArtifactParts parts = open_artifact();
  parts.manifest.outputs.push_back({"sizes", DType::I64, {2}});
  parts.manifest.buffers.push_back({"out", BufferPlace::Output, 3, 0, 16});
  parts.manifest.steps.push_back({.buffers = {9, 10}});
  const Session session(Artifact::from_parts(std::move(parts)), {.threads = 1});
  const OpenArguments a(6, 11);
  const Tensor sizes(DType::I64, {2});
  session.run(a.inputs(),
              std::vector<TensorView>{a.y.view(), a.q.view(), a.v.view(), sizes.view()});
  CHECK((sizes.as<std::int64_t>()[0] == 6 && sizes.as<std::int64_t>()[1] == 11));
}

namespace {

using Views = std::vector<TensorView>;

// What a run says of these arguments, inputs and outputs changed.
std::string problem_with(const Session& session, const OpenArguments& a,
                         const std::function<void(Views&, Views&)>& change) {
  Views inputs = a.inputs(), outputs = a.outputs();
  change(inputs, outputs);
  return problem_of([&] { session.run(inputs, outputs); }, ExitStatus::InvalidInput);
}

}  // namespace

TEST_CASE("wrong arguments are all listed, by the names of the sizes") {
  const Session session(Artifact::from_parts(open_artifact()), {.threads = 1});
  const OpenArguments a(4, 2);
  const auto with = [&](const std::function<void(Views&, Views&)>& change) {
    return problem_with(session, a, change);
  };
  CHECK(with([](Views&, Views&) {}) == "accepted");
  const Tensor narrow(DType::F32, {4, 3}), five(DType::F32, {5}), nine(DType::F32, {9}),
      empty(DType::F32, {0, 4});
  const Tensor none(DType::F32, {0}), integers(DType::I32, {4, 4}), long_p(DType::F32, {513});
  CHECK(with([&](Views& in, Views&) { in[0] = narrow.view(); }) ==
        "input 'x' is f32[4, 3], expected f32[batch, 4]");
  CHECK(with([&](Views& in, Views&) { in[0] = integers.view(); }) ==
        "input 'x' is i32[4, 4], expected f32[batch, 4]");
  CHECK(with([&](Views& in, Views&) { in[1] = five.view(); }) ==
        "batch is 4 by input 'x' and 5 by input 'z'");
  CHECK(with([&](Views& in, Views&) { in[0] = empty.view(), in[1] = none.view(); }) ==
        "input 'x': batch is 0, expected 1 to 65536\ninput 'z': batch is 0, expected 1 to 65536");
  CHECK(with([&](Views& in, Views&) { in[2] = long_p.view(); }) ==
        "input 'p': seq is 513, expected 1 to 512");
  CHECK(with([&](Views& in, Views& out) {
          in[3] = nine.view(), out[1] = five.view(), out[0] = narrow.view();
        }) ==
        "input 'w' is f32[9], expected f32[batch + 2*seq], where batch is 4 and seq is 2\n"
        "output 'y' is f32[4, 3], expected f32[batch, 4]\n"
        "output 'q' is f32[5], expected f32[2*batch + seq + 1], where batch is 4 and seq is 2");
  CHECK(with([&](Views& in, Views& out) {
          in[0] = narrow.view(), in[1] = empty.view(), out[2] = narrow.view();
        }) ==
        "input 'x' is f32[4, 3], expected f32[batch, 4]\n"
        "input 'z' is f32[0, 4], expected f32[batch]\n"
        "output 'v' is f32[4, 3], expected f32[batch + 2*seq]");
  CHECK(with([](Views& in, Views& out) { in.pop_back(), out.clear(); }) ==
        "got 3 inputs, expected 4\ngot 0 outputs, expected 3");
  CHECK(with([](Views& in, Views&) { in[3].data = nullptr; }) == "input 'w' has no data");
  CHECK(with([&](Views&, Views& out) { out[0].data = a.x.view().data; }) ==
        "output 'y' overlaps input 'x'");
  const auto outside = [&](const OpenArguments& b) {
    return problem_of([&] { b.run(session); }, ExitStatus::InvalidInput);
  };
  CHECK(outside({0, 1}) ==
        "input 'x': batch is 0, expected 1 to 65536\ninput 'z': batch is 0, expected 1 to 65536");
  CHECK(outside({1, 513}) == "input 'p': seq is 513, expected 1 to 512");
  Views inputs = a.inputs();
  inputs[1] = five.view();
  CHECK(problem_of([&] { session.output_shapes(inputs); }, ExitStatus::InvalidInput) ==
        "batch is 4 by input 'x' and 5 by input 'z'");
  a.run(session);
  CHECK(a.wrong() == 0);
}

TEST_CASE("overlaps are those at the sizes of the run") {
  const Session session(Artifact::from_parts(open_artifact()), {.threads = 1});
  const OpenArguments a(4, 2);
  // At these sizes and not at scale 1 only: 64 bytes of x and y, 32 of v, in memory where nothing
  // else is near.
  Tensor room(DType::F32, {1000});
  const auto moved = [&](bool first_output, std::int64_t distance) {
    return problem_with(session, a, [&](Views& in, Views& out) {
      std::byte* at = room.raw().data();
      for (Views* views : {&in, &out})
        for (TensorView& view : *views) view.data = at += 256;
      if (first_output)
        out[0].data = static_cast<std::byte*>(in[0].data) + distance;
      else
        out[2].data = static_cast<std::byte*>(out[0].data) + distance;
    });
  };
  CHECK(moved(true, 60) == "output 'y' overlaps input 'x'");
  CHECK(moved(true, -60) == "output 'y' overlaps input 'x'");
  CHECK(moved(true, 64) == "accepted");
  CHECK(moved(false, 60) == "output 'v' overlaps output 'y'");
  CHECK(moved(false, -28) == "output 'v' overlaps output 'y'");
  CHECK(moved(false, -32) == "accepted");
}

TEST_CASE(
    "an arena that is too large for the sizes is refused by their names, and the session lives "
    "on") {
  ArtifactParts parts;
  parts.manifest.symbols = {{"batch", 1, kMostSize}};
  parts.manifest.inputs = {{"x", DType::U8, {kOpenExtent}, {{0, {1}}}}};
  parts.manifest.arena_bytes = 1 << 20;
  const Session session(Artifact::from_parts(std::move(parts)), {.threads = 1});
  const auto run = [&](std::int64_t batch) {
    std::byte byte{};
    const std::int64_t shape[] = {batch};
    session.run({TensorView{DType::U8, shape, &byte}}, {});
  };
  run(2);
  CHECK(problem_of([&] { run(kMostSize); }, ExitStatus::ResourceLimit) ==
        "an arena of 1048576 * 2147483648 bytes, where batch is 2147483648, is above the limit of "
        "1125899906842624");
  for (int again = 0; again < 2; ++again)
    CHECK(
        problem_of([&] { run(kMostSize / 4); }, ExitStatus::ResourceLimit) ==
        "out of memory: 562949953421312 bytes for one buffer, the arena where batch is 536870912");
  run(3);
}

TEST_CASE("the C API says what is open and of what shape a result will be") {
  const TempDir dir;
  write_artifact(dir.file("a.polyte"), open_artifact());
  const polyte_runtime_api* api = polyte_runtime_get_api(1);
  polyte_session* session = nullptr;
  polyte_problem* problem = nullptr;
  REQUIRE(api->session_open(dir.file("a.polyte").c_str(), 1, &session, &problem) == 0);
  polyte_tensor_info info{};
  CHECK(api->output_info(session, 0, &info) == 0);
  CHECK((info.ndim == 2 && info.shape[0] == -1 && info.shape[1] == 4));
  polyte_symbol_info symbol{};
  CHECK(api->symbol_count(session) == 2);
  CHECK(api->symbol_info(session, 0, &symbol) == 0);
  CHECK((std::string(symbol.name) == "batch" && symbol.least == 1 && symbol.most == 65536));
  CHECK(api->symbol_info(session, 2, &symbol) == 2);
  CHECK(api->symbol_info(session, -1, &symbol) == 2);
  const OpenArguments a(9, 8);
  const std::vector<TensorView> input_views = a.inputs(), output_views = a.outputs();
  std::vector<polyte_dl_tensor> inputs, outputs;
  for (const TensorView& view : input_views) inputs.push_back(to_dlpack(view));
  for (const TensorView& view : output_views) outputs.push_back(to_dlpack(view));
  std::int64_t shape[2] = {};
  CHECK(api->output_shape(session, inputs.data(), 4, 0, shape, &problem) == 0);
  CHECK((shape[0] == 9 && shape[1] == 4));
  CHECK(api->session_run(session, inputs.data(), 4, outputs.data(), 3, &problem) == 0);
  CHECK(a.wrong() == 0);
  const auto refused = [&](int32_t given, int32_t index, std::int64_t* into) {
    const int status = api->output_shape(session, inputs.data(), given, index, into, &problem);
    const std::string text = std::to_string(status) + ": " + api->problem_text(problem);
    api->problem_free(problem);
    return text;
  };
  CHECK(refused(3, 0, shape) == "3: got 3 inputs, expected 4");
  CHECK(refused(4, 3, shape) == "2: output is 3, expected one of 3");
  CHECK(refused(4, 1, nullptr) == "2: shape is null");
  api->session_close(session);
}

}  // namespace
