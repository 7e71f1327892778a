// Artifacts as files: damaged, foreign, lying, signed.
#include "runtime/artifact.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "runtime/shared_library.h"
#include "runtime/signature.h"
#include "runtime/zip.h"
#include "tests/runtime/example_artifact.h"
#include "tests/runtime/open_artifact.h"
#include "tests/runtime/temp_dir.h"

namespace {

using namespace polyte;
using namespace polyte::runtime;
using namespace polyte::runtime::examples;
using polyte::testing::problem_of;
using polyte::testing::TempDir;

TEST_CASE("a step that does not fit what its kernel was compiled for is refused") {
  const auto refusal = [](const std::function<void(ArtifactManifest&)>& change) {
    ArtifactParts parts = example();
    change(parts.manifest);
    return problem_of([&] { Session(Artifact::from_parts(std::move(parts)), {.threads = 2}); });
  };
  const std::string add = "artifact 'in memory': kernel 'add': ";
  CHECK(refusal([](ArtifactManifest& m) { m.steps[0].buffers = {0, 3}; }) ==
        add + "is given 2 buffers, expected 3");
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
  CHECK(refusal([](ArtifactManifest& m) { m.buffers[7].offset = 3996; }) ==
        "artifact 'in memory': kernel 'mul_through_scratch': buffers 0 and 2, 't' and 'u', share "
        "bytes, of which it does "
        "not know");
  CHECK(refusal([](ArtifactManifest& m) { m.steps[1].scratch_shared_bytes = 0; }) ==
        "artifact 'in memory': kernel 'mul_through_scratch': is given 0 bytes of shared scratch, "
        "expected 64");
  CHECK(refusal([](ArtifactManifest& m) { m.steps[1].scratch_bytes_per_worker = 4032; }) ==
        "artifact 'in memory': kernel 'mul_through_scratch': is given 4032 bytes of scratch a "
        "worker, expected 4096");
  CHECK(refusal([](ArtifactManifest& m) { m.steps[0].kernel = "not_described"; }) ==
        "artifact 'in memory': kernel 'not_described': its object does not say what it was "
        "compiled for");
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
  // The digests that the manifest lists are those of its own kernels; all other members are
  // the same.
  for (const ZipEntry& entry : read_zip_directory(file, path))
    if (entry.name != "manifest.json") zip.add(entry.name, read_zip_member(file, entry, path));
  zip.finish();
  CHECK(problem_of([&] { Artifact::open(dir.file("b.polyte")); }).find("'kernels.so' is damaged") !=
        std::string::npos);
}

TEST_CASE("an artifact survives its file") {
  const TempDir dir;
  const std::string path = dir.file("a.polyte");
  write_artifact(path, example());
  const auto artifact = Artifact::open(path);
  CHECK(artifact->manifest().options ==
        std::vector<std::pair<std::string, std::string>>{{"scheduler", "poly"}});
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
    // As `cp new live` does, in place.
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.write(reinterpret_cast<const char*>(replacement.data()),
               static_cast<std::streamsize>(replacement.size()));
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
      return error.status() == ExitStatus::Artifact ? std::string("refused")
                                                    : std::string(error.what());
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
    const std::string found =
        outcome({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)});
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
        "artifact 'in memory': needs processor features that this machine lacks: avx1024, made-up "
        "(built for future)");
  parts = example();
  parts.manifest.arch = "riscv64";
  CHECK(problem_of([&] {
          Session(Artifact::from_parts(std::move(parts)));
        }).find("is built for riscv64") != std::string::npos);
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
  CHECK(with([](auto& m) { m.buffers[3].bytes = 1 << 20; }).find("does not fit in constants") !=
        std::string::npos);
  CHECK(with([](auto& m) { m.buffers[3].index = 9; }) ==
        prefix + "buffer 'three' names constants 9");
  CHECK(with([](auto& m) { m.buffers[0].index = -1; }) == prefix + "buffer 'x' names input -1");
  CHECK(with([](auto& m) { m.buffers[0].bytes = 8; }) ==
        prefix + "copy from 'x' to 'c' of another size");
  CHECK(with([](auto& m) { m.buffers[4].offset = 4; }) ==
        prefix +
            "buffer 'w' (offset 4, 8000 bytes) does not fit in output 'workers' of 8000 bytes");
  CHECK(with([](auto& m) { m.steps[0].buffers[1] = 77; }) ==
        prefix + "kernel 'add' names buffer 77");
  CHECK(with([](auto& m) { m.steps[1].scratch_shared_bytes = -64; }) ==
        prefix + "kernel 'mul_through_scratch' has an impossible scratch size");
  CHECK(with([](auto& m) { m.steps[4].buffers = {5, 0}; }) ==
        prefix + "copy writes to 'x', which is read-only");
  CHECK(with([](auto& m) { m.steps[4].buffers = {4, 5}; }) ==
        prefix + "copy from 'w' to 'c' of another size");
  CHECK(with([](auto& m) { m.inputs[0].shape[0] = -5; }).find("has impossible shape [-5, 100]") !=
        std::string::npos);
  CHECK(with([](auto& m) { m.steps[0].kernel = "absent"; }) ==
        "object 'polyte-kernels': has no kernel 'absent'");
  CHECK(with([](auto& m) { m.arena_bytes = std::int64_t{1} << 62; }).find("arena of") !=
        std::string::npos);
}

TEST_CASE("manifest text that is malformed is refused") {
  const std::string good = manifest_to_json(example().manifest);
  CHECK(manifest_to_json(manifest_from_json(good, "x")) == good);
  for (const std::string& bad : {std::string(), std::string("[1"), std::string(100000, '['),
                                 good.substr(0, good.size() / 2)}) {
    CHECK(problem_of([&] { manifest_from_json(bad, "x"); }) ==
          "artifact 'x': manifest.json is malformed");
  }
  for (const char* bad : {"{}", "null", "[]", "3"})
    CHECK(problem_of([&] { manifest_from_json(bad, "x"); }) ==
          "artifact 'x': manifest.json: 'format' is missing");
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return problem_of([&] { manifest_from_json(text.replace(at, from.size(), to), "x"); });
  };
  CHECK(replaced("\"format\": 4", "\"format\": 3") ==
        "artifact 'x': manifest.json: format version is 3, expected 4");
  CHECK(replaced("\"arena_bytes\": 8064", "\"arena_bytes\": 1e99") ==
        "artifact 'x': manifest.json: 'arena_bytes' is no 63-bit integer");
  CHECK(replaced("\"f32\"", "\"f33\"") ==
        "artifact 'x': manifest.json: unknown element type 'f33'");
  CHECK(replaced("\"over\"", "\"beside\"") ==
        "artifact 'x': manifest.json: unknown sharing 'beside'");
  CHECK(replaced("\"arena\"", "\"moon\"") == "artifact 'x': manifest.json: unknown place 'moon'");
  CHECK(replaced("\"steps\": [", "\"steps\": 3, \"x\": [") ==
        "artifact 'x': manifest.json: 'steps' is no list");
  CHECK(replaced("\"test\"", "[]") == "artifact 'x': manifest.json: 'cpu' is no text");
  CHECK(replaced("\"fixed\"", "\"fixing\"") == "artifact 'x': manifest.json: 'fixed' is missing");
}

TEST_CASE("a manifest without the values of the inputs that are fixed is refused") {
  ArtifactParts parts = example();
  const FixedInput sound{{"shape", DType::I64, {2}},
                         digest_of(testing::to_bytes("0123456789abcdef"))};
  parts.manifest.fixed = {sound};
  const std::string good = manifest_to_json(parts.manifest);
  CHECK(manifest_from_json(good, "x").fixed[0].xxh3_128 == sound.xxh3_128);
  std::string without = good;
  const std::string digest = "\"" + sound.xxh3_128 + "\"";
  without.replace(without.find("\"xxh3_128\": " + digest), 10, "\"xxh3_129\"");
  CHECK(problem_of([&] { manifest_from_json(without, "x"); }) ==
        "artifact 'x': manifest.json: input 'shape' is fixed, but the digest of its value "
        "('xxh3_128') is missing");
  without = good;
  CHECK(problem_of([&] {
          manifest_from_json(without.replace(without.find(digest), digest.size(), "7"), "x");
        }) == "artifact 'x': manifest.json: 'xxh3_128' is no text");
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
  // Not the first one again under a path that came back.
  CHECK(another.find("add") != library.find("add"));
  CHECK(problem_of([&] { SharedLibrary(testing::to_bytes("no elf"), "x"); }) ==
        "object 'x': is truncated");
  CHECK(problem_of([&] { SharedLibrary(testing::to_bytes(std::string(100, 'x')), "x"); }) ==
        "object 'x': is not a shared object of 64-bit ELF");
  for (std::size_t size = 0; size < object.size() / 4; size += 13) {
    CHECK_THROWS_AS(SharedLibrary(Bytes(object).first(size), "x"), UserError);
  }
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
  CHECK(
      (std::filesystem::status(dir.file("me.key")).permissions() & std::filesystem::perms::mask) ==
      (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  CHECK(problem_of([&] { make_keys(dir.file("me")); }, ExitStatus::InvalidInput)
            .find("File exists") != std::string::npos);
  CHECK(problem_of([&] { Artifact::open(path, mine); }) ==
        "artifact '" + path + "': is not signed: there is no '" + sig + "'");
  const std::string text = sign(path);
  CHECK(Artifact::open(path, mine) != nullptr);
  CHECK(problem_of([&] { Artifact::open(path, yours); }).find("does not list") !=
        std::string::npos);
  // Both keys in one file: either will do.
  const auto both = [&] {
    std::vector<std::byte> keys = read_file(yours);
    const std::vector<std::byte> more = read_file(mine);
    keys.insert(keys.end(),
                more.begin() + static_cast<std::ptrdiff_t>(std::strlen("polyte public key v1\n")),
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
  CHECK(problem_of([&] {
          Artifact::open(dir.file("b.polyte"), mine);
        }).find("is not what was signed") != std::string::npos);
  const std::size_t first = text.find('\n') + 66;  // behind the header and the key
  for (std::size_t i = first; i + 1 < text.size(); i += 5) {
    std::string bad = text;
    bad[i] = bad[i] == '0' ? '1' : '0';
    testing::write_file(sig, testing::to_bytes(bad));
    CHECK_THROWS_AS(Artifact::open(path, mine), UserError);
  }
  testing::write_file(sig, testing::to_bytes(text.substr(0, 100)));
  CHECK(problem_of([&] { Artifact::open(path, mine); }, ExitStatus::InvalidInput)
            .find("is no signature") != std::string::npos);
}

}  // namespace
