// Artifact and session, with kernels that the C compiler of the build made (tests/runtime/kernels.c): from memory
// and from a file, several threads, wrong arguments, damaged and foreign artifacts.
#include "runtime/session.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <thread>

#include "runtime/fill.h"
#include "runtime/polyte_runtime.h"
#include "runtime/shared_library.h"
#include "runtime/signature.h"
#include "runtime/zip.h"
#include "support/machine.h"
#include "tests/runtime/count_allocations.h"
#include "tests/runtime/open_artifact.h"
#include "tests/runtime/temp_dir.h"

namespace {

using namespace polyte;
using namespace polyte::runtime;
using polyte::testing::problem_of;
using polyte::testing::read_file;
using polyte::testing::TempDir;

constexpr std::int64_t kN = 1000;

AlignedBuffer constants(float value) {
  AlignedBuffer buffer(4 * kN);
  for (std::int64_t i = 0; i < kN; ++i) reinterpret_cast<float*>(buffer.data())[i] = value;
  return buffer;
}

// t = x + 3, u = t * 2, y = u + t with t and u in the arena; workers = who computed what; copy = x.
ArtifactParts example() {
  ArtifactParts parts;
  ArtifactManifest& m = parts.manifest;
  m.cpu = "test";
  m.features = {"+sse2"};
  m.options = {{"scheduler", "poly"}};
  m.inputs = {{"x", DType::F32, {10, 100}}};
  m.outputs = {{"y", DType::F32, {10, 100}}, {"workers", DType::I64, {kN}}, {"copy", DType::F32, {10, 100}}};
  m.buffers = {
      {"x", BufferPlace::Input, 0, 0, 4 * kN},      {"t", BufferPlace::Arena, 0, 0, 4 * kN},
      {"y", BufferPlace::Output, 0, 0, 4 * kN},     {"three", BufferPlace::Constant, 1, 0, 4 * kN},
      {"w", BufferPlace::Output, 1, 0, 8 * kN},     {"c", BufferPlace::Output, 2, 0, 4 * kN},
      {"two", BufferPlace::Constant, 0, 0, 4 * kN}, {"u", BufferPlace::Arena, 0, 4032, 4 * kN, Sharing::Over, "t"}};
  m.steps = {{.kernel = "add",
              .group = "g0",
              .buffers = {0, 3, 1},
              .scheduling = {"poly", "naive", "no row fits", "poly, program 'g0'"}},
             {.kernel = "mul_through_scratch",
              .group = "g1",
              .buffers = {1, 6, 7},
              .scratch_shared_bytes = 64,
              .scratch_bytes_per_worker = 4096,
              .parallel = true},
             {.kernel = "add", .group = "g1b", .buffers = {7, 1, 2}},
             {.kernel = "who", .group = "g2", .buffers = {4}, .parallel = true},
             {.group = "copy", .buffers = {0, 5}}};
  m.arena_bytes = 8064;
  parts.kernels = read_file(POLYTE_TEST_KERNELS);
  parts.constants.push_back(constants(2));
  parts.constants.push_back(constants(3));
  parts.scripts = {{"g0", "script v1\n"}, {"g1", ""}, {"../g 1", "a"}, {"___g_1", "b"}};
  parts.report = "{\"groups\": 2}";
  return parts;
}

struct Arguments {
  Tensor x{DType::F32, {10, 100}};
  Tensor y{DType::F32, {10, 100}};
  Tensor workers{DType::I64, {kN}};
  Tensor copy{DType::F32, {10, 100}};
  Arguments() { fill(x, parse_fill("int:1")); }
  void run(const Session& session) { session.run({x.view()}, {y.view(), workers.view(), copy.view()}); }
  int wrong(int threads) const {
    int count = 0;
    for (std::size_t i = 0; i < kN; ++i) {
      if (y.as<float>()[i] != 3 * (x.as<float>()[i] + 3)) ++count;
      if (copy.as<float>()[i] != x.as<float>()[i]) ++count;
      if (workers.as<std::int64_t>()[i] < 0 || workers.as<std::int64_t>()[i] >= threads) ++count;
    }
    return count;
  }
};

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

TEST_CASE("constants that are read into memory of their own are the file's, and damage to them is found") {
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
  CHECK(problem_of([&] { Artifact::open(dir.file("b.polyte")); }).find("'constants.2.bin' is damaged") !=
        std::string::npos);
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
  REQUIRE((profile.parts.size() >= 2 && profile.parts.size() <= 4));  // two parallel steps, two workers at most
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
  CHECK(problem_of([&] { session.run({wrong.view()}, {a.y.view(), wrong.view(), a.copy.view()}); }, status) ==
        "input 'x' is f64[5], expected f32[10, 100]\noutput 'workers' is f64[5], expected i64[1000]");
  CHECK(problem_of([&] { session.run({}, {}); }, status) == "got 0 inputs, expected 1\ngot 0 outputs, expected 3");
  CHECK(problem_of([&] { session.run({a.x.view()}, {a.x.view(), a.workers.view(), a.copy.view()}); }, status) ==
        "output 'y' overlaps input 'x'");
  CHECK(problem_of([&] { session.run({a.x.view()}, {a.y.view(), a.workers.view(), a.y.view()}); }, status) ==
        "output 'copy' overlaps output 'y'");
  TensorView null = a.y.view();
  null.data = nullptr;
  CHECK(problem_of([&] { session.run({a.x.view()}, {null, a.workers.view(), a.copy.view()}); }, status) ==
        "output 'y' has no data");
  null.data = static_cast<std::byte*>(a.y.data()) + 1;
  CHECK(problem_of([&] { session.run({a.x.view()}, {null, a.workers.view(), a.copy.view()}); }, status) ==
        "output 'y' is not aligned to its element");
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

TEST_CASE("a step that does not fit what its kernel was compiled for is refused") {
  const auto refusal = [](const std::function<void(ArtifactManifest&)>& change) {
    ArtifactParts parts = example();
    change(parts.manifest);
    return problem_of([&] { Session(Artifact::from_parts(std::move(parts)), {.threads = 2}); });
  };
  const std::string add = "artifact 'in memory': kernel 'add': ";
  CHECK(refusal([](ArtifactManifest& m) { m.steps[0].buffers = {0, 3}; }) == add + "is given 2 buffers, expected 3");
  CHECK(refusal([](ArtifactManifest& m) { m.steps[0].buffers = {0, 1, 3}; }) ==
        add + "buffer 2, 'three', is written but read-only");
  CHECK(refusal([](ArtifactManifest& m) { m.steps[0].buffers = {0, 3, 4}; }) ==
        add + "buffer 2, 'w', is of 'workers', i64, expected f32");
  CHECK(refusal([](ArtifactManifest& m) {
          m.buffers[1].bytes -= 4;
        }).find("buffer 2, 't', has 3996 bytes, expected 4000") != std::string::npos);
  CHECK(refusal([](ArtifactManifest& m) {
          m.buffers[1].offset = 2;
        }).find("is at offset 2, expected a multiple of 4") != std::string::npos);
  CHECK(
      refusal([](ArtifactManifest& m) { m.buffers[7].offset = 3996; }) ==
      "artifact 'in memory': kernel 'mul_through_scratch': buffers 0 and 2, 't' and 'u', share bytes, of which it does "
      "not know");
  CHECK(refusal([](ArtifactManifest& m) { m.steps[1].scratch_shared_bytes = 0; }) ==
        "artifact 'in memory': kernel 'mul_through_scratch': is given 0 bytes of shared scratch, expected 64");
  CHECK(refusal([](ArtifactManifest& m) { m.steps[1].scratch_bytes_per_worker = 4032; }) ==
        "artifact 'in memory': kernel 'mul_through_scratch': is given 4032 bytes of scratch a worker, expected 4096");
  CHECK(refusal([](ArtifactManifest& m) { m.steps[0].kernel = "not_described"; }) ==
        "artifact 'in memory': kernel 'not_described': its object does not say what it was compiled for");
}

TEST_CASE("a manifest that belongs to other kernels is refused") {
  const TempDir dir;
  const std::string path = dir.file("a.polyte");
  ArtifactParts parts = example();
  parts.manifest.cpu = "other";
  write_artifact(path, parts);
  const std::vector<std::byte> other = read_file(path);
  write_artifact(path, example());
  std::vector<ZipEntry> entries = read_zip_directory(other, "other");
  const std::vector<std::byte> manifest = read_zip_member(other, entries[0], "other");
  FileContent file(path);
  ZipWriter zip(dir.file("b.polyte"));
  zip.add("manifest.json", manifest);
  // The digests that the manifest lists are those of its own kernels; all other members are the same.
  for (const ZipEntry& entry : read_zip_directory(file, path))
    if (entry.name != "manifest.json") zip.add(entry.name, read_zip_member(file, entry, path));
  zip.finish();
  CHECK(problem_of([&] { Artifact::open(dir.file("b.polyte")); }).find("'kernels.so' is damaged") != std::string::npos);
}

TEST_CASE("an artifact survives its file") {
  const TempDir dir;
  const std::string path = dir.file("a.polyte");
  write_artifact(path, example());
  const auto artifact = Artifact::open(path);
  CHECK(artifact->manifest().options == std::vector<std::pair<std::string, std::string>>{{"scheduler", "poly"}});
  CHECK(artifact->scripts().size() == 4);
  CHECK(artifact->scripts()[0] == std::pair<std::string, std::string>{"g0", "script v1\n"});
  CHECK(artifact->scripts()[2].first == "___g_1");
  CHECK(artifact->scripts()[3].first == "___g_1.2");
  CHECK(artifact->report() == "{\"groups\": 2}");
  CHECK(reinterpret_cast<std::uintptr_t>(artifact->constants()[1].data()) % 64 == 0);
  CHECK(manifest_to_json(artifact->manifest()).find("\"xxh3_128\"") != std::string::npos);
  Arguments a;
  a.run(Session(artifact, {.threads = 2}));
  CHECK(a.wrong(2) == 0);
  write_artifact(dir.file("b.polyte"), example());
  CHECK(read_file(path) == read_file(dir.file("b.polyte")));
}

TEST_CASE("what becomes of the file changes nothing in a session that is open") {
  const TempDir dir;
  const std::string path = dir.file("a.polyte"), other = dir.file("b.polyte");
  ArtifactParts parts = example();
  write_artifact(path, parts);
  for (AlignedBuffer& member : parts.constants)
    for (std::int64_t i = 0; i < member.bytes(); ++i) member.data()[i] = std::byte{0x41};
  write_artifact(other, parts);
  const std::vector<std::byte> replacement = read_file(other);
  REQUIRE(replacement.size() == read_file(path).size());
  const Session session(Artifact::open(path), {.threads = 2});
  const auto wrong = [&] {
    Arguments a;
    a.run(session);
    return a.wrong(2);
  };
  CHECK(wrong() == 0);
  {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);  // as `cp new live` does, in place
    file.write(reinterpret_cast<const char*>(replacement.data()), static_cast<std::streamsize>(replacement.size()));
  }
  CHECK(wrong() == 0);
  std::filesystem::resize_file(path, 0);
  CHECK(wrong() == 0);
}

TEST_CASE("any damage to the file is found") {
  const TempDir dir;
  ArtifactParts small = example();
  small.constants[0] = constants(2);
  write_artifact(dir.file("a.polyte"), small);
  const auto file = read_file(dir.file("a.polyte"));
  const std::string path = dir.file("b.polyte");
  const auto outcome = [&](const std::vector<std::byte>& bytes) {
    testing::write_file(path, bytes);
    try {
      Artifact::open(path);
      return std::string("accepted");
    } catch (const UserError& error) {
      return error.status() == ExitStatus::Artifact ? std::string("refused") : std::string(error.what());
    }
  };
  REQUIRE(outcome(file) == "accepted");
  std::vector<std::byte> copy = file;
  for (std::size_t i = 0; i < file.size(); i += i < 6000 || i + 2000 > file.size() ? 1 : 37) {
    copy[i] ^= static_cast<std::byte>(1 << (i % 8));
    const std::string found = outcome(copy);
    if (found != "refused") FAIL("byte " << i << " flipped: " << found);
    copy[i] = file[i];
  }
  for (std::size_t size = 0; size < file.size(); size += 97) {
    const std::string found = outcome({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)});
    if (found != "refused") FAIL("truncated to " << size << ": " << found);
  }
  copy.push_back(std::byte{0});
  CHECK(outcome(copy) == "refused");
}

TEST_CASE("a foreign processor is refused with the missing features named") {
  ArtifactParts parts = example();
  parts.manifest.cpu = "future";
  parts.manifest.features = {"+avx1024", "+sse2", "-amx-tile", "+made-up"};
  CHECK(problem_of([&] { Session(Artifact::from_parts(std::move(parts))); }) ==
        "artifact 'in memory': needs processor features that this machine lacks: avx1024, made-up (built for future)");
  parts = example();
  parts.manifest.arch = "riscv64";
  CHECK(problem_of([&] { Session(Artifact::from_parts(std::move(parts))); }).find("is built for riscv64") !=
        std::string::npos);
  parts = example();
  parts.manifest.kernel_abi = 2;
  CHECK(problem_of([&] { Session(Artifact::from_parts(std::move(parts))); }) ==
        "artifact 'in memory': has kernel ABI 2, expected 1");
}

TEST_CASE("a manifest that lies is refused") {
  const auto with = [](const std::function<void(ArtifactManifest&)>& change) {
    ArtifactParts parts = example();
    change(parts.manifest);
    return problem_of([&] { Session(Artifact::from_parts(std::move(parts)), {.threads = 1}); });
  };
  const std::string prefix = "artifact 'in memory': ";
  CHECK(with([](auto& m) { m.buffers[1].offset = 4096; }) ==
        prefix + "buffer 't' (offset 4096, 4000 bytes) does not fit in an arena of 8064 bytes");
  CHECK(with([](auto& m) { m.buffers[1].offset = -64; }).find("does not fit") != std::string::npos);
  CHECK(with([](auto& m) { m.buffers[3].bytes = 1 << 20; }).find("does not fit in constants") != std::string::npos);
  CHECK(with([](auto& m) { m.buffers[3].index = 9; }) == prefix + "buffer 'three' names constants 9");
  CHECK(with([](auto& m) { m.buffers[0].index = -1; }) == prefix + "buffer 'x' names input -1");
  CHECK(with([](auto& m) { m.buffers[0].bytes = 8; }) == prefix + "copy from 'x' to 'c' of another size");
  CHECK(with([](auto& m) { m.buffers[4].offset = 4; }) ==
        prefix + "buffer 'w' (offset 4, 8000 bytes) does not fit in output 'workers' of 8000 bytes");
  CHECK(with([](auto& m) { m.steps[0].buffers[1] = 77; }) == prefix + "kernel 'add' names buffer 77");
  CHECK(with([](auto& m) { m.steps[1].scratch_shared_bytes = -64; }) ==
        prefix + "kernel 'mul_through_scratch' has an impossible scratch size");
  CHECK(with([](auto& m) { m.steps[4].buffers = {5, 0}; }) == prefix + "copy writes to 'x', which is read-only");
  CHECK(with([](auto& m) { m.steps[4].buffers = {4, 5}; }) == prefix + "copy from 'w' to 'c' of another size");
  CHECK(with([](auto& m) { m.inputs[0].shape[0] = -5; }).find("has impossible shape [-5, 100]") != std::string::npos);
  CHECK(with([](auto& m) { m.steps[0].kernel = "absent"; }) == "object 'polyte-kernels': has no kernel 'absent'");
  CHECK(with([](auto& m) { m.arena_bytes = std::int64_t{1} << 62; }).find("arena of") != std::string::npos);
}

TEST_CASE("manifest text that is malformed is refused") {
  const std::string good = manifest_to_json(example().manifest);
  CHECK(manifest_to_json(manifest_from_json(good, "x")) == good);
  for (const std::string& bad :
       {std::string(), std::string("[1"), std::string(100000, '['), good.substr(0, good.size() / 2)}) {
    CHECK(problem_of([&] { manifest_from_json(bad, "x"); }) == "artifact 'x': manifest.json is malformed");
  }
  for (const char* bad : {"{}", "null", "[]", "3"})
    CHECK(problem_of([&] { manifest_from_json(bad, "x"); }) == "artifact 'x': manifest.json: 'format' is missing");
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return problem_of([&] { manifest_from_json(text.replace(at, from.size(), to), "x"); });
  };
  CHECK(replaced("\"format\": 4", "\"format\": 3") == "artifact 'x': manifest.json: format version is 3, expected 4");
  CHECK(replaced("\"arena_bytes\": 8064", "\"arena_bytes\": 1e99") ==
        "artifact 'x': manifest.json: 'arena_bytes' is no 63-bit integer");
  CHECK(replaced("\"f32\"", "\"f33\"") == "artifact 'x': manifest.json: unknown element type 'f33'");
  CHECK(replaced("\"over\"", "\"beside\"") == "artifact 'x': manifest.json: unknown sharing 'beside'");
  CHECK(replaced("\"arena\"", "\"moon\"") == "artifact 'x': manifest.json: unknown place 'moon'");
  CHECK(replaced("\"steps\": [", "\"steps\": 3, \"x\": [") == "artifact 'x': manifest.json: 'steps' is no list");
  CHECK(replaced("\"test\"", "[]") == "artifact 'x': manifest.json: 'cpu' is no text");
  CHECK(replaced("\"fixed\"", "\"fixing\"") == "artifact 'x': manifest.json: 'fixed' is missing");
}

TEST_CASE("a manifest without the values of the inputs that are fixed is refused") {
  ArtifactParts parts = example();
  const FixedInput sound{{"shape", DType::I64, {2}}, digest_of(testing::to_bytes("0123456789abcdef"))};
  parts.manifest.fixed = {sound};
  const std::string good = manifest_to_json(parts.manifest);
  CHECK(manifest_from_json(good, "x").fixed[0].xxh3_128 == sound.xxh3_128);
  std::string without = good;
  const std::string digest = "\"" + sound.xxh3_128 + "\"";
  without.replace(without.find("\"xxh3_128\": " + digest), 10, "\"xxh3_129\"");
  CHECK(problem_of([&] { manifest_from_json(without, "x"); }) ==
        "artifact 'x': manifest.json: input 'shape' is fixed, but the digest of its value ('xxh3_128') is missing");
  without = good;
  CHECK(problem_of([&] { manifest_from_json(without.replace(without.find(digest), digest.size(), "7"), "x"); }) ==
        "artifact 'x': manifest.json: 'xxh3_128' is no text");
  for (const std::string& bad : {std::string(), std::string(31, 'a'), std::string(32, 'g')}) {
    ArtifactParts unknown = example();
    unknown.manifest.fixed = {sound, {{"repeats", DType::I64, {2}}, bad}};
    CHECK(problem_of([&] { Session(Artifact::from_parts(std::move(unknown)), {.threads = 1}); }) ==
          "artifact 'in memory': input 'repeats' is fixed to a value of digest '" + bad +
              "', expected 32 hexadecimal digits");
  }
}

TEST_CASE("shared objects are checked before they are opened") {
  const auto object = read_file(POLYTE_TEST_KERNELS);
  const SharedLibrary library(object, "test");
  CHECK(library.find("add") != nullptr);
  CHECK(library.find("absent") == nullptr);
  const SharedLibrary another(object, "test");
  CHECK(another.find("add") != library.find("add"));  // not the first one again under a path that came back
  CHECK(problem_of([&] { SharedLibrary(testing::to_bytes("no elf"), "x"); }) == "object 'x': is truncated");
  CHECK(problem_of([&] { SharedLibrary(testing::to_bytes(std::string(100, 'x')), "x"); }) ==
        "object 'x': is not a shared object of 64-bit ELF");
  for (std::size_t size = 0; size < object.size() / 4; size += 13) {
    CHECK_THROWS_AS(SharedLibrary(Bytes(object).first(size), "x"), UserError);
  }
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
  const polyte_dl_tensor outputs[3] = {to_dlpack(views[0]), to_dlpack(views[1]), to_dlpack(views[2])};
  CHECK(api->session_run(session, &input, 1, outputs, 3, &problem) == 0);
  CHECK(problem == nullptr);
  CHECK(a.wrong(2) == 0);
  REQUIRE(api->step_count(session) == static_cast<int32_t>(example().manifest.steps.size()));
  CHECK(std::string(api->step_kernel(session, 0)) == example().manifest.steps[0].kernel);
  CHECK(std::string(api->step_group(session, 0)) == example().manifest.steps[0].group);
  CHECK((api->step_group(session, api->step_count(session)) == nullptr && api->step_kernel(session, -1) == nullptr));
  CHECK(std::string(api->step_scheduler_asked(session, 0)) == "poly");
  CHECK(std::string(api->step_scheduler_used(session, 0)) == "naive");
  CHECK(std::string(api->step_declined(session, 0)) == "no row fits");
  CHECK(std::string(api->step_declined(session, 1)).empty());
  CHECK((api->step_scheduler_asked(session, -1) == nullptr && api->step_declined(session, -1) == nullptr));
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
  CHECK(std::string(api->problem_text(problem)) == "tensor has 1073741824 dimensions, expected at most 64");
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
  auto session = std::make_unique<Session>(Artifact::from_parts(example()), SessionOptions{.threads = 3});
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

TEST_CASE("a signature is that of the bytes, by a key that is listed") {
  const TempDir dir;
  const std::string path = dir.file("a.polyte"), sig = path + kSignatureSuffix;
  write_artifact(path, example());
  make_keys(dir.file("me"));
  make_keys(dir.file("you"));
  const std::string mine = dir.file("me.pub"), yours = dir.file("you.pub");
  const auto sign = [&](const std::string& file) {
    const std::string text = sign_bytes(read_file(file), dir.file("me.key"));
    testing::write_file(sig, testing::to_bytes(text));
    return text;
  };
  CHECK((std::filesystem::status(dir.file("me.key")).permissions() & std::filesystem::perms::mask) ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  CHECK(problem_of([&] { make_keys(dir.file("me")); }, ExitStatus::InvalidInput).find("File exists") !=
        std::string::npos);
  CHECK(problem_of([&] { Artifact::open(path, mine); }) ==
        "artifact '" + path + "': is not signed: there is no '" + sig + "'");
  const std::string text = sign(path);
  CHECK(Artifact::open(path, mine) != nullptr);
  CHECK(problem_of([&] { Artifact::open(path, yours); }).find("does not list") != std::string::npos);
  // Both keys in one file: either will do.
  const auto both = [&] {
    std::vector<std::byte> keys = read_file(yours);
    const std::vector<std::byte> more = read_file(mine);
    keys.insert(keys.end(), more.begin() + static_cast<std::ptrdiff_t>(std::strlen("polyte public key v1\n")),
                more.end());
    return keys;
  };
  testing::write_file(dir.file("both.pub"), both());
  CHECK(Artifact::open(path, dir.file("both.pub")) != nullptr);
  // Another artifact that is whole, and every bit of the signature.
  ArtifactParts other = example();
  other.report = "{\"groups\": 3}";
  write_artifact(dir.file("b.polyte"), other);
  std::filesystem::copy(sig, dir.file("b.polyte") + kSignatureSuffix);
  CHECK(problem_of([&] { Artifact::open(dir.file("b.polyte"), mine); }).find("is not what was signed") !=
        std::string::npos);
  const std::size_t first = text.find('\n') + 66;  // behind the header and the key
  for (std::size_t i = first; i + 1 < text.size(); i += 5) {
    std::string bad = text;
    bad[i] = bad[i] == '0' ? '1' : '0';
    testing::write_file(sig, testing::to_bytes(bad));
    CHECK_THROWS_AS(Artifact::open(path, mine), UserError);
  }
  testing::write_file(sig, testing::to_bytes(text.substr(0, 100)));
  CHECK(problem_of([&] { Artifact::open(path, mine); }, ExitStatus::InvalidInput).find("is no signature") !=
        std::string::npos);
}

}  // namespace
