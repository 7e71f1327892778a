// Zip archives: ours, with and without Zip64 and read by another program where there is one;
// deflated members; archives that lie.
#include "runtime/zip.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "support/error.h"
#include "tests/runtime/temp_dir.h"

namespace {

using namespace polyte;
using namespace polyte::runtime;
using polyte::testing::read_file;
using polyte::testing::TempDir;
using polyte::testing::to_bytes;

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string little(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

// An archive of one member, with every field in the test's hands.
struct Forged {
  std::string name = "a.npy";
  std::string content = "hello hello hello hello";
  std::string stored = content;
  int method = 0;
  int flags = 0;
  std::uint64_t claimed = content.size();
  std::uint64_t claimed_stored = content.size();
  std::uint32_t crc = static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
  std::uint64_t header_at = 0;
  std::uint64_t members = 1;
  int copies = 1;

  std::vector<std::byte> bytes() const {
    const std::string common = little(20, 2) + little(static_cast<unsigned>(flags), 2) +
                               little(static_cast<unsigned>(method), 2) + little(0, 4) +
                               little(crc, 4) + little(claimed_stored, 4) + little(claimed, 4) +
                               little(name.size(), 2);
    std::string file = "PK\3\4" + common + little(0, 2) + name + stored;
    const std::size_t directory = file.size();
    for (int i = 0; i < copies; ++i) {
      file +=
          "PK\1\2" + little(20, 2) + common + std::string(12, '\0') + little(header_at, 4) + name;
    }
    file += "PK\5\6" + little(0, 4) + little(members, 2) + little(members, 2) +
            little(file.size() - directory, 4) + little(directory, 4) + little(0, 2);
    return to_bytes(file);
  }
};

std::string outcome(const Forged& forged) {
  const auto archive = forged.bytes();
  try {
    std::string all;
    for (const ZipEntry& entry : read_zip_directory(archive, "x"))
      all += text_of(read_zip_member(archive, entry, "x"));
    return all;
  } catch (const UserError& error) {
    return error.what();
  }
}

std::string deflated(const std::string& content) {
  std::string out(content.size() + 100, '\0');
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

TEST_CASE("what is written is read, aligned, with and without Zip64") {
  const TempDir dir;
  for (const std::uint64_t zip64_from :
       {std::uint64_t{0}, std::uint64_t{200}, std::uint64_t{0xffffffff}}) {
    CAPTURE(zip64_from);
    const std::string path = dir.file("x.zip");
    ZipWriter zip(path, zip64_from);
    zip.add("first.txt", to_bytes("one"));
    zip.add("empty", {});
    zip.add("folder/third.bin", to_bytes(std::string(1000, 'x')));
    zip.add_deflated("text", to_bytes(std::string(1000, 'y')));
    zip.add_deflated("short", to_bytes("z"));
    zip.add_deflated("none", {});
    zip.finish();
    const auto archive = read_file(path);
    const auto entries = read_zip_directory(archive, path);
    REQUIRE(entries.size() == 6);
    CHECK(entries[3].deflated);
    CHECK(entries[3].stored_bytes < 50);
    CHECK(text_of(read_zip_member(archive, entries[3], path)) == std::string(1000, 'y'));
    CHECK_FALSE(entries[4].deflated);  // would be longer
    CHECK(text_of(read_zip_member(archive, entries[4], path)) == "z");
    CHECK(read_zip_member(archive, entries[5], path).empty());
    CHECK(entries[2].name == "folder/third.bin");
    for (const ZipEntry& entry : entries) CHECK(entry.data_at % 64 == 0);
    CHECK(text_of(read_zip_member(archive, entries[0], path)) == "one");
    CHECK(read_zip_member(archive, entries[1], path).empty());
    CHECK(text_of(read_zip_member(archive, entries[2], path)) == std::string(1000, 'x'));
    if (std::system("python3 -c pass 2>/dev/null") == 0) {
      const std::string check =
          "python3 -c \"import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); "
          "assert z.testzip() is None and z.read('first.txt') == b'one' and "
          "len(z.read('folder/third.bin')) == 1000 and z.read('text') == 1000 * b'y'\" ";
      CHECK(std::system((check + path).c_str()) == 0);
    }
  }
}

TEST_CASE("an unfinished archive leaves nothing behind") {
  const TempDir dir;
  {
    ZipWriter(dir.file("x.zip")).add("a", to_bytes("b"));
  }
  CHECK(std::filesystem::is_empty(std::filesystem::path(dir.file("x.zip")).parent_path()));
}

TEST_CASE("stored and deflated members") {
  CHECK(outcome({}) == "hello hello hello hello");
  Forged forged;
  forged.stored = deflated(forged.content);
  forged.method = 8;
  forged.claimed_stored = forged.stored.size();
  CHECK(outcome(forged) == forged.content);
  forged.claimed += 1;
  CHECK(outcome(forged) ==
        "archive 'x': member 'a.npy' is damaged (it does not unpack to its size)");
  forged.claimed -= 2;
  CHECK(outcome(forged) ==
        "archive 'x': member 'a.npy' is damaged (it does not unpack to its size)");
}

TEST_CASE("a deflated member of no bytes") {
  Forged forged;
  forged.content = "";
  forged.stored = deflated("");
  forged.method = 8;
  forged.claimed = 0;
  forged.claimed_stored = forged.stored.size();
  forged.crc = 0;
  CHECK(outcome(forged) == "");
  forged.stored = deflated("more");
  forged.claimed_stored = forged.stored.size();
  CHECK(outcome(forged) ==
        "archive 'x': member 'a.npy' is damaged (it does not unpack to its size)");
}

TEST_CASE("members that overlap are refused") {
  // The data of "a" holds the whole of "b", which the directory lists too.
  const std::string fields = little(20, 2) + little(0, 8);
  const std::string inner = "PK\3\4" + fields + little(0, 4) + little(1, 4) + little(1, 4) +
                            little(1, 2) + little(0, 2) + "b" + "!";
  const std::string sizes = little(inner.size(), 4) + little(inner.size(), 4);
  std::string file =
      "PK\3\4" + fields + little(0, 4) + sizes + little(1, 2) + little(0, 2) + "a" + inner;
  const std::size_t directory = file.size();
  const std::string tail(12, '\0');
  file += "PK\1\2" + little(20, 2) + fields + little(0, 4) + sizes + little(1, 2) + tail +
          little(0, 4) + "a";
  file += "PK\1\2" + little(20, 2) + fields + little(0, 4) + little(1, 4) + little(1, 4) +
          little(1, 2) + tail + little(31, 4) + "b";
  file += "PK\5\6" + little(0, 4) + little(2, 2) + little(2, 2) +
          little(file.size() - directory, 4) + little(directory, 4) + little(0, 2);
  CHECK_THROWS_WITH_AS(read_zip_directory(to_bytes(file), "x"),
                       "archive 'x': members 'a' and 'b' overlap", UserError);
}

TEST_CASE("archives that lie are refused by name") {
  const auto with = [](const std::function<void(Forged&)>& change) {
    Forged forged;
    change(forged);
    return outcome(forged);
  };
  CHECK(with([](Forged& f) { f.crc ^= 1; }) ==
        "archive 'x': member 'a.npy' is damaged (its checksum differs)");
  CHECK(
      with([](Forged& f) { f.method = 12; }) ==
      "archive 'x': member 'a.npy' uses compression method 12, expected 0 (stored) or 8 (deflate)");
  CHECK(with([](Forged& f) { f.flags = 1; }) == "archive 'x': member 'a.npy' is encrypted");
  CHECK(with([](Forged& f) { f.claimed += 9; }) ==
        "archive 'x': member 'a.npy' is stored but has two sizes");
  CHECK(with([](Forged& f) { f.claimed = f.claimed_stored = 0x70000000; }) ==
        "archive 'x': member 'a.npy' lies outside the file");
  CHECK(with([](Forged& f) { f.header_at = 1000; }) ==
        "archive 'x': member 'a.npy' lies outside the file");
  CHECK(with([](Forged& f) { f.header_at = 3; }) ==
        "archive 'x': member 'a.npy' has a damaged header");
  CHECK(with([](Forged& f) { f.claimed = 0x70000000, f.method = 8; }) ==
        "archive 'x': member 'a.npy' claims an impossible compression");
  CHECK(with([](Forged& f) { f.members = 60000; }) ==
        "archive 'x': has a directory outside the file");
  CHECK(with([](Forged& f) { f.members = f.copies = 2, f.claimed = 23; }) ==
        "archive 'x': member 'a.npy' occurs twice");
  for (const std::string name : {"../a", "a/../../b", "/etc/passwd", "a\\b", "", "..", "a/.."}) {
    CAPTURE(name);
    CHECK(with([&](Forged& f) { f.name = name; }) ==
          "archive 'x': has a member whose name leaves the archive or is empty");
  }
  CHECK_THROWS_AS(read_zip_directory(to_bytes("no zip at all"), "x"), UserError);
}

}  // namespace
