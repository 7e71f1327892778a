// Artifacts that are whole but put together wrongly: every field of the manifest of a real one is
// changed, taken out, doubled or exchanged, with all digests right, first in the file, then with
// the kernels assembled for it anew. A session refuses it, or gives the same results (the file), or
// at least stays within its memory (anew).
#include <doctest/doctest.h>

#include <unistd.h>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "driver/api/polyte.h"
#include "runtime/fill.h"
#include "runtime/session.h"
#include "runtime/zip.h"
#include "support/error.h"

namespace polyte {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using runtime::Artifact;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("polyte-mutated-" + std::to_string(getpid()));
  Folder() { fs::create_directory(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path); }
  std::string file(const char* name) const { return (path / name).string(); }
};

struct Members {
  std::string manifest;
  std::vector<std::pair<std::string, std::vector<std::byte>>> others;
};

Members read_members(const std::string& path) {
  runtime::FileContent file(path);
  Members members;
  for (const runtime::ZipEntry& entry : runtime::read_zip_directory(file, path)) {
    std::vector<std::byte> data = runtime::read_zip_member(file, entry, path);
    if (entry.name == "manifest.json")
      members.manifest.assign(reinterpret_cast<const char*>(data.data()), data.size());
    else
      members.others.emplace_back(entry.name, std::move(data));
  }
  return members;
}

void write_members(const std::string& path, const std::string& manifest, const Members& members) {
  runtime::ZipWriter zip(path);
  zip.add("manifest.json", runtime::as_bytes(manifest));
  for (const auto& [name, data] : members.others) zip.add(name, data);
  zip.finish();
}

// Calls `look` with the whole manifest for each change of one thing in it; the change
// is undone afterwards.
class Mutator {
 public:
  Mutator(Json manifest, std::function<void(const Json&, const std::string&)> look)
      : manifest_(std::move(manifest)), look_(std::move(look)) {
    collect(manifest_, "");
  }
  void run() { walk(manifest_, ""); }

 private:
  Json manifest_;
  std::function<void(const Json&, const std::string&)> look_;
  std::map<std::string, std::set<std::string>> strings_;  // of each key, wherever it occurs
  std::map<std::string, std::set<std::int64_t>> numbers_;

  void collect(const Json& at, const std::string& key) {
    if (at.is_string()) strings_[key].insert(at.get<std::string>());
    if (at.is_number_integer()) numbers_[key].insert(at.get<std::int64_t>());
    if (at.is_object())
      for (const auto& [name, value] : at.items()) collect(value, name);
    if (at.is_array())
      for (const Json& value : at) collect(value, key);
  }

  void try_value(Json& at, const Json& value, const std::string& where) {
    if (at == value) return;
    const Json old = std::exchange(at, value);
    look_(manifest_, where + ": " + old.dump().substr(0, 60) + " -> " + value.dump().substr(0, 60));
    at = old;
  }

  void walk(Json& at, const std::string& where) {
    const std::string key = where.substr(where.find_last_of('/') + 1);
    if (at.is_number_integer()) try_numbers(at, key, where);
    if (at.is_boolean()) try_value(at, !at.get<bool>(), where);
    if (at.is_string()) try_strings(at, key, where);
    if (at.is_array()) try_orders(at, where);
    if (at.is_object()) try_without(at, where);
    if (at.is_object())
      for (const auto& [name, value] : at.items()) walk(value, where + "/" + name);
    // All elements have the name of their list, so that the numbers of buffers are exchanged
    // for each other.
    if (at.is_array())
      for (Json& value : at) walk(value, where);
  }

  void try_numbers(Json& at, const std::string& key, const std::string& where) {
    const auto old = at.get<std::int64_t>();
    for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, old + 1, old - 4, old + 64,
                                     old * 2, std::int64_t{1} << 45, INT64_MAX})
      try_value(at, value, where);
    int tries = 0;
    for (const std::int64_t other : numbers_[key])
      if (tries++ < 4) try_value(at, other, where);
    try_value(at, "text", where);
  }

  void try_strings(Json& at, const std::string& key, const std::string& where) {
    const auto old = at.get<std::string>();
    for (const std::string& value : {std::string(), old + "x"}) try_value(at, value, where);
    int tries = 0;
    for (const std::string& other : strings_[key])
      if (tries++ < 4) try_value(at, other, where);
    try_value(at, nullptr, where);
  }

  void try_orders(Json& at, const std::string& where) {
    const Json old = at;
    for (std::size_t i = 0; i < old.size(); ++i) {
      Json without = old, doubled = old, exchanged = old;
      without.erase(i);
      try_value(at, without, where + " without " + std::to_string(i));
      doubled.push_back(old[i]);
      try_value(at, doubled, where + " twice " + std::to_string(i));
      std::swap(exchanged[i], exchanged[(i + 1) % old.size()]);
      try_value(at, exchanged, where + " exchanged " + std::to_string(i));
    }
  }

  void try_without(Json& at, const std::string& where) {
    const Json old = at;
    for (const auto& [name, value] : old.items()) {
      Json without = old;
      without.erase(name);
      try_value(at, without, where + " without " + name);
    }
  }
};

std::vector<runtime::Tensor> inputs_of(const runtime::Session& session) {
  std::vector<runtime::Tensor> inputs;
  const std::vector<std::int64_t> sizes(session.symbols().size(), 3);
  for (const runtime::TensorSpec& spec : session.inputs()) {
    inputs.emplace_back(spec.dtype, shape_at(spec, sizes));
    runtime::fill(inputs.back(), runtime::parse_fill("int:1"));
  }
  return inputs;
}

// The bytes of all outputs.
std::string results_of(const std::shared_ptr<const Artifact>& artifact) {
  const runtime::Session session(artifact, {.threads = 1});
  std::string text;
  for (const runtime::Tensor& output : session.run(inputs_of(session)))
    text.append(reinterpret_cast<const char*>(output.raw().data()), output.raw().size());
  return text;
}

enum class Outcome { Refused, Same, Other };

// A limit is a refusal too: a manifest may ask for more memory than there is. A run refuses
// inputs of other shapes.
Outcome outcome_of(const std::function<std::shared_ptr<const Artifact>()>& open,
                   const std::string& expected) {
  try {
    return results_of(open()) == expected ? Outcome::Same : Outcome::Other;
  } catch (const UserError& error) {
    CHECK(error.status() != ExitStatus::Internal);
    return Outcome::Refused;
  }
}

runtime::ArtifactParts parts_of(const Artifact& artifact, runtime::ArtifactManifest manifest) {
  runtime::ArtifactParts parts;
  parts.manifest = std::move(manifest);
  parts.kernels.assign(artifact.kernels().begin(), artifact.kernels().end());
  for (const runtime::Bytes bytes : artifact.constants()) {
    parts.constants.emplace_back(static_cast<std::int64_t>(bytes.size()));
    std::memcpy(parts.constants.back().data(), bytes.data(), bytes.size());
  }
  return parts;
}

void check_mutations(const api::ModelOptions& options, const std::string& model) {
  const Folder folder;
  const std::string whole = folder.file("whole.polyte"), path = folder.file("mutated.polyte");
  REQUIRE(api::compile_model(model, whole, options));
  const auto artifact = Artifact::open(whole);
  const std::string expected = results_of(artifact);
  const Members members = read_members(whole);
  write_members(path, members.manifest, members);
  REQUIRE(outcome_of([&] { return Artifact::open(path); }, expected) == Outcome::Same);

  std::map<Outcome, int> in_file, anew;
  Mutator(Json::parse(members.manifest), [&](const Json& manifest, const std::string& what) {
    const std::string text = manifest.dump();
    write_members(path, text, members);
    const Outcome found = outcome_of([&] { return Artifact::open(path); }, expected);
    ++in_file[found];
    if (found == Outcome::Other) FAIL_CHECK("other results: " << what);
    ++anew[outcome_of(
        [&] {
          return Artifact::from_parts(
              parts_of(*artifact, runtime::manifest_from_json(text, "mutated")));
        },
        expected)];
  }).run();
  MESSAGE(model << ": in the file " << in_file[Outcome::Refused] << " refused, "
                << in_file[Outcome::Same] << " harmless; anew " << anew[Outcome::Refused]
                << " refused, " << anew[Outcome::Same] << " harmless, " << anew[Outcome::Other]
                << " other results");
  CHECK(in_file[Outcome::Refused] > 1000);
  CHECK(anew[Outcome::Refused] > 500);
}

TEST_CASE("a manifest of other kernels is refused, whatever it says") {
  check_mutations({}, "examples/digits/digits.onnx");
}

TEST_CASE("a manifest of other kernels is refused where sizes are open") {
  check_mutations({.open = {{"batch", {1, 4, 8}}}}, "examples/digits/digits_batch.onnx");
}

}  // namespace
}  // namespace polyte
