// Sessions, with kernels that the C compiler of the build made (tests/runtime/kernels.c): from
// memory, several threads, wrong arguments, the C API.
#include "runtime/session.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>

#include "runtime/fill.h"
#include "runtime/polyte_runtime.h"
#include "tests/runtime/count_allocations.h"
#include "tests/runtime/example_artifact.h"
#include "tests/runtime/temp_dir.h"

namespace {

using namespace polyte;
using namespace polyte::runtime;
using namespace polyte::runtime::examples;
using polyte::testing::problem_of;
using polyte::testing::TempDir;

TEST_CASE("a session in memory computes, with any number of threads") {
  for (const int threads : {1, 2, 3}) {
    const Session session(Artifact::from_parts(example()), {.threads = threads});
    CHECK(session.threads() == threads);
    Arguments a;
    for (int round = 0; round < 20; ++round) {
      a.run(session);
      REQUIRE(a.wrong(threads) == 0);
    }
    std::vector<Tensor> inputs;
    inputs.push_back(a.x.clone());
    const std::vector<Tensor> outputs = session.run(inputs);
    REQUIRE(outputs.size() == 3);
    CHECK(std::memcmp(outputs[0].data(), a.y.data(), 4 * kN) == 0);
  }
}

TEST_CASE(
    "constants that are read into memory of their own are the file's, and damage to them is "
    "found") {
  const TempDir dir;
  ArtifactParts parts = example();
  parts.constants.emplace_back(AlignedBuffer::kHugeFrom + 1000);
  for (std::int64_t i = 0; i < parts.constants[2].bytes(); ++i)
    parts.constants[2].data()[i] = static_cast<std::byte>(i * 7 % 251);
  write_artifact(dir.file("a.polyte"), parts);
  const auto artifact = Artifact::open(dir.file("a.polyte"));
  const Bytes large = artifact->constants()[2];
  REQUIRE(static_cast<std::int64_t>(large.size()) == parts.constants[2].bytes());
  CHECK(std::memcmp(large.data(), parts.constants[2].data(), large.size()) == 0);
  std::vector<std::byte> file = read_file(dir.file("a.polyte"));
  file[file.size() / 2] ^= std::byte{1};
  testing::write_file(dir.file("b.polyte"), file);
  CHECK(problem_of([&] {
          Artifact::open(dir.file("b.polyte"));
        }).find("'constants.2.bin' is damaged") != std::string::npos);
}

TEST_CASE("runs in several threads do not disturb each other") {
  const Session session(Artifact::from_parts(example()), {.threads = 2});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Arguments a;
      fill(a.x, {Fill::Kind::Int, static_cast<std::uint64_t>(t)});
      for (int round = 0; round < 200; ++round) {
        a.run(session);
        wrong += a.wrong(2);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("sessions of one artifact, each with its own threads, do not disturb each other") {
  const auto artifact = Artifact::from_parts(example());
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 1; t <= 3; ++t) {
    threads.emplace_back([&, t] {
      const Session session(artifact, {.threads = t});
      Arguments a;
      fill(a.x, {Fill::Kind::Int, static_cast<std::uint64_t>(t)});
      for (int round = 0; round < 100; ++round) {
        a.run(session);
        wrong += a.wrong(t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("a run allocates nothing, a profile has every step") {
  const Session session(Artifact::from_parts(example()), {.threads = 2});
  Arguments a;
  a.run(session);
  const std::int64_t before = testing::allocations_of_this_thread();
  for (int round = 0; round < 10; ++round) a.run(session);
  CHECK(testing::allocations_of_this_thread() == before);
  const TensorView inputs[] = {a.x.view()};
  const TensorView outputs[] = {a.y.view(), a.workers.view(), a.copy.view()};
  const RunProfile profile = session.profile(inputs, outputs);
  REQUIRE(profile.steps.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(profile.steps[i].step == i);
    CHECK(profile.steps[i].nanoseconds() >= 0);
    if (i > 0) CHECK(profile.steps[i].begin_ns >= profile.steps[i - 1].end_ns);
  }
  // Two parallel steps, two workers at most.
  REQUIRE((profile.parts.size() >= 2 && profile.parts.size() <= 4));
  for (const Span& part : profile.parts) {
    const Span& step = profile.steps[part.step];
    CHECK((part.step == 1 || part.step == 3));
    CHECK((part.begin_ns >= step.begin_ns && part.end_ns <= step.end_ns));
  }
  CHECK(std::ranges::is_sorted(profile.parts, {}, &Span::worker));
  CHECK(a.wrong(2) == 0);
  CHECK(session.steps()[1].group == "g1");
}

TEST_CASE("a step that is not worth threads is given one worker") {
  ArtifactParts parts = example();
  parts.manifest.steps[3].parallel = false;
  const Session session(Artifact::from_parts(std::move(parts)), {.threads = 3});
  Arguments a;
  a.run(session);
  for (const std::int64_t worker : a.workers.as<std::int64_t>()) REQUIRE(worker == 0);
}

TEST_CASE("a buffer may be a part of an input and of an output") {
  ArtifactParts parts = example();
  ArtifactManifest& m = parts.manifest;
  m.buffers.push_back({"x.tail", BufferPlace::Input, 0, 2000, 2000, Sharing::View, "x"});
  m.buffers.push_back({"c.head", BufferPlace::Output, 2, 0, 2000, Sharing::Part, "c"});
  m.steps.push_back({.group = "copy", .buffers = {8, 9}});
  Arguments a;
  a.run(Session(Artifact::from_parts(std::move(parts)), {.threads = 1}));
  for (std::size_t i = 0; i < 500; ++i) REQUIRE(a.copy.as<float>()[i] == a.x.as<float>()[i + 500]);
}

TEST_CASE("wrong arguments are all listed") {
  const Session session(Artifact::from_parts(example()), {.threads = 1});
  Arguments a;
  const auto status = ExitStatus::InvalidInput;
  const Tensor wrong(DType::F64, {5});
  CHECK(
      problem_of([&] { session.run({wrong.view()}, {a.y.view(), wrong.view(), a.copy.view()}); },
                 status) ==
      "input 'x' is f64[5], expected f32[10, 100]\noutput 'workers' is f64[5], expected i64[1000]");
  CHECK(problem_of([&] { session.run({}, {}); }, status) ==
        "got 0 inputs, expected 1\ngot 0 outputs, expected 3");
  CHECK(
      problem_of([&] { session.run({a.x.view()}, {a.x.view(), a.workers.view(), a.copy.view()}); },
                 status) == "output 'y' overlaps input 'x'");
  CHECK(problem_of([&] { session.run({a.x.view()}, {a.y.view(), a.workers.view(), a.y.view()}); },
                   status) == "output 'copy' overlaps output 'y'");
  TensorView null = a.y.view();
  null.data = nullptr;
  CHECK(problem_of([&] { session.run({a.x.view()}, {null, a.workers.view(), a.copy.view()}); },
                   status) == "output 'y' has no data");
  null.data = static_cast<std::byte*>(a.y.data()) + 1;
  CHECK(problem_of([&] { session.run({a.x.view()}, {null, a.workers.view(), a.copy.view()}); },
                   status) == "output 'y' is not aligned to its element");
}

TEST_CASE("a kernel that refuses is reported, and the session lives on") {
  ArtifactParts parts = example();
  parts.manifest.steps[4] = {.kernel = "refuse_negative", .group = "guard", .buffers = {0}};
  const Session session(Artifact::from_parts(std::move(parts)), {.threads = 1});
  Arguments a;
  CHECK(problem_of([&] { a.run(session); }, ExitStatus::InvalidInput) ==
        "kernel 'refuse_negative' of group 'guard' refused its input with code 7");
  fill(a.x, parse_fill("ones"));
  a.run(session);
  CHECK(a.y.as<float>()[0] == 12);
}

TEST_CASE("the C API runs an artifact and reports problems as text") {
  const TempDir dir;
  write_artifact(dir.file("a.polyte"), example());
  CHECK(polyte_runtime_get_api(99) == nullptr);
  const polyte_runtime_api* api = polyte_runtime_get_api(1);
  REQUIRE(api != nullptr);
  CHECK(api->size == sizeof(polyte_runtime_api));
  polyte_session* session = nullptr;
  polyte_problem* problem = nullptr;
  CHECK(api->session_open(dir.file("absent").c_str(), 1, &session, &problem) == 3);
  CHECK(session == nullptr);
  CHECK(std::string(api->problem_text(problem)).find("No such file") != std::string::npos);
  CHECK(api->problem_status(problem) == 3);
  api->problem_free(problem);
  REQUIRE(api->session_open(dir.file("a.polyte").c_str(), 2, &session, &problem) == 0);
  CHECK(api->output_count(session) == 3);
  polyte_tensor_info info{};
  CHECK(api->input_info(session, 0, &info) == 0);
  CHECK(std::string(info.name) == "x");
  CHECK((info.ndim == 2 && info.shape[1] == 100));
  CHECK(api->input_info(session, 1, &info) == 2);
  Arguments a;
  const TensorView view = a.x.view();
  const polyte_dl_tensor input = to_dlpack(view);
  const TensorView views[3] = {a.y.view(), a.workers.view(), a.copy.view()};
  const polyte_dl_tensor outputs[3] = {to_dlpack(views[0]), to_dlpack(views[1]),
                                       to_dlpack(views[2])};
  CHECK(api->session_run(session, &input, 1, outputs, 3, &problem) == 0);
  CHECK(problem == nullptr);
  CHECK(a.wrong(2) == 0);
  REQUIRE(api->step_count(session) == static_cast<int32_t>(example().manifest.steps.size()));
  CHECK(std::string(api->step_kernel(session, 0)) == example().manifest.steps[0].kernel);
  CHECK(std::string(api->step_group(session, 0)) == example().manifest.steps[0].group);
  CHECK((api->step_group(session, api->step_count(session)) == nullptr &&
         api->step_kernel(session, -1) == nullptr));
  CHECK(std::string(api->step_scheduler_asked(session, 0)) == "poly");
  CHECK(std::string(api->step_scheduler_used(session, 0)) == "naive");
  CHECK(std::string(api->step_declined(session, 0)) == "no row fits");
  CHECK(std::string(api->step_declined(session, 1)).empty());
  CHECK((api->step_scheduler_asked(session, -1) == nullptr &&
         api->step_declined(session, -1) == nullptr));
  std::vector<std::int64_t> step_ns(static_cast<std::size_t>(api->step_count(session)));
  CHECK(api->session_run_timed(session, &input, 1, outputs, 3, step_ns.data(), &problem) == 0);
  CHECK(std::accumulate(step_ns.begin(), step_ns.end(), std::int64_t{0}) > 0);
  CHECK(api->session_run(session, &input, 1, outputs, 1, &problem) == 3);
  CHECK(std::string(api->problem_text(problem)) == "got 1 outputs, expected 3");
  api->problem_free(problem);
  std::vector<std::int64_t> many(1, 1);
  polyte_dl_tensor deep = input;
  deep.ndim = 1 << 30;
  deep.shape = many.data();
  CHECK(api->session_run(session, &deep, 1, outputs, 3, &problem) == 3);
  CHECK(std::string(api->problem_text(problem)) ==
        "tensor has 1073741824 dimensions, expected at most 64");
  api->problem_free(problem);
  api->session_close(session);
}

TEST_CASE("the C API survives calls without a session") {
  const polyte_runtime_api* api = polyte_runtime_get_api(1);
  polyte_tensor_info info{};
  polyte_symbol_info symbol{};
  CHECK((api->input_count(nullptr) == 0 && api->output_count(nullptr) == 0));
  CHECK((api->step_count(nullptr) == 0 && api->symbol_count(nullptr) == 0));
  CHECK((api->input_info(nullptr, 0, &info) == 2 && api->output_info(nullptr, 0, &info) == 2));
  CHECK((api->step_group(nullptr, 0) == nullptr && api->step_kernel(nullptr, 0) == nullptr));
  CHECK(api->symbol_info(nullptr, 0, &symbol) == 2);
  CHECK(api->session_run(nullptr, nullptr, 0, nullptr, 0, nullptr) == 2);
  CHECK(api->output_shape(nullptr, nullptr, 0, 0, nullptr, nullptr) == 2);
  CHECK(api->session_open(nullptr, 1, nullptr, nullptr) == 2);
  api->session_close(nullptr);
}

TEST_CASE("a forked child runs and closes its parent's session") {
  auto session =
      std::make_unique<Session>(Artifact::from_parts(example()), SessionOptions{.threads = 3});
  Arguments a;
  a.run(*session);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    Arguments b;
    b.run(*session);
    session.reset();
    _exit(b.wrong(3) == 0 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  a.run(*session);
  CHECK(a.wrong(3) == 0);
}

}  // namespace
