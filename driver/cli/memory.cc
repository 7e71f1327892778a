// inspect --memory: where the bytes of a compiled model lie, and from which kernel to which they
// are needed. All of it is read off the manifest: what is shown is what a session will do.
#include <algorithm>
#include <iomanip>
#include <map>
#include <sstream>

#include "driver/cli/reports.h"

namespace polyte::cli {
namespace {

using runtime::ArtifactManifest;
using runtime::BufferPlace;
using runtime::BufferSpec;

struct Use {
  int first = -1, last = -1;  // steps; -1: no step uses it
};

std::vector<Use> uses_of(const ArtifactManifest& manifest) {
  std::vector<Use> uses(manifest.buffers.size());
  for (std::size_t step = 0; step < manifest.steps.size(); ++step) {
    for (const std::int64_t buffer : manifest.steps[step].buffers) {
      Use& use = uses[static_cast<std::size_t>(buffer)];
      if (use.first < 0) use.first = static_cast<int>(step);
      use.last = static_cast<int>(step);
    }
  }
  return uses;
}

// Constants in a kernel's own layout are named after the group that reads them: "g1_conv_relu.w.p".
bool is_packed(const BufferSpec& buffer, const Use& use, const ArtifactManifest& manifest) {
  if (use.first < 0 || buffer.place != BufferPlace::Constant) return false;
  return buffer.name.starts_with(manifest.steps[static_cast<std::size_t>(use.first)].group + ".");
}

struct Section {
  const char* name;
  BufferPlace place;
  bool packed;
};
constexpr Section kSections[] = {{"inputs", BufferPlace::Input, false},
                                 {"values", BufferPlace::Arena, false},
                                 {"outputs", BufferPlace::Output, false},
                                 {"weights", BufferPlace::Constant, false},
                                 {"packed", BufferPlace::Constant, true}};

// "part of 'w'": what is written to w's bytes and stays there.
std::string share_text(const BufferSpec& buffer) {
  constexpr const char* kWords[] = {"", "view of", "part of", "over"};
  if (buffer.sharing == runtime::Sharing::None) return "";
  return kWords[static_cast<std::size_t>(buffer.sharing)] + std::string(" '") + buffer.shared_with +
         "'";
}

nlohmann::ordered_json row_of(const BufferSpec& buffer, const Use& use,
                              const ArtifactManifest& manifest) {
  auto step_name = [&](int step) -> nlohmann::ordered_json {
    if (step < 0) return nullptr;
    return manifest.steps[static_cast<std::size_t>(step)].group;
  };
  return {{"name", buffer.name},
          {"bytes", buffer.bytes},
          {"offset", buffer.offset},
          {"shares", share_text(buffer)},
          {"first_use", step_name(use.first)},
          {"last_use", step_name(use.last)}};
}

struct Scratch {
  std::int64_t shared = 0, per_worker = 0;  // of the step that needs the most with one worker
};
Scratch scratch_of(const ArtifactManifest& manifest) {
  Scratch most;
  for (const runtime::StepSpec& step : manifest.steps) {
    if (step.scratch_shared_bytes + step.scratch_bytes_per_worker > most.shared + most.per_worker)
      most = {step.scratch_shared_bytes, step.scratch_bytes_per_worker};
  }
  return most;
}

// Bytes of constants as they lie in the file: shared ones once, gaps of alignment included.
// The end of the last buffer of each member: buffers that share bytes would count twice in a sum.
std::int64_t constant_bytes(const ArtifactManifest& manifest) {
  std::map<std::int64_t, std::int64_t> ends;  // a member
  for (const BufferSpec& buffer : manifest.buffers) {
    if (buffer.place != BufferPlace::Constant) continue;
    std::int64_t& end = ends[buffer.index];
    end = std::max(end, buffer.offset + buffer.bytes);
  }
  std::int64_t bytes = 0;
  for (const auto& [member, end] : ends) bytes += end;
  return bytes;
}

}  // namespace

nlohmann::ordered_json memory_json(const ArtifactManifest& manifest) {
  const std::vector<Use> uses = uses_of(manifest);
  nlohmann::ordered_json json;
  for (const Section& section : kSections) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const BufferSpec& buffer = manifest.buffers[i];
      // A weight that is used only in a kernel's own layout: its place in the graph has no
      // bytes.
      const bool packed_away = buffer.place == BufferPlace::Arena && buffer.bytes == 0;
      if (packed_away || buffer.place != section.place ||
          is_packed(buffer, uses[i], manifest) != section.packed)
        continue;
      rows.push_back(row_of(buffer, uses[i], manifest));
    }
    json[section.name] = rows;
  }
  const Scratch scratch = scratch_of(manifest);
  std::int64_t unplanned = 0;
  for (const auto& row : json["values"]) {
    // A view or a part has no bytes of its own; what is written over another value would have,
    // without reuse.
    const std::string shares = row["shares"].get<std::string>();
    if (shares.empty() || shares.starts_with("over")) unplanned += row["bytes"].get<std::int64_t>();
  }
  json["arena_bytes"] = manifest.arena_bytes;
  json["arena_bytes_without_reuse"] = unplanned;
  json["constant_bytes"] = constant_bytes(manifest);
  json["scratch_shared_bytes"] = scratch.shared;
  json["scratch_bytes_per_worker"] = scratch.per_worker;
  json["total_bytes"] =
      manifest.arena_bytes + constant_bytes(manifest) + scratch.shared + scratch.per_worker;
  return json;
}

std::string arena_text(const ArtifactManifest& manifest) {
  std::string symbols;
  for (const runtime::SymbolSpec& symbol : manifest.symbols)
    symbols += (symbols.empty() ? "" : ", ") + symbol.name;
  // The arena is planned for sizes of 1 and grows with the largest of them.
  const std::string factor =
      symbols.empty()
          ? ""
          : " times " + (manifest.symbols.size() > 1 ? "the largest of " + symbols : symbols);
  return std::to_string(manifest.arena_bytes) + " bytes" + factor;
}

std::string memory_text(const ArtifactManifest& manifest) {
  const nlohmann::ordered_json json = memory_json(manifest);
  auto number = [&](const char* key) { return std::to_string(json[key].get<std::int64_t>()); };
  std::ostringstream text;
  std::size_t width = 0;
  for (const BufferSpec& buffer : manifest.buffers) width = std::max(width, buffer.name.size() + 2);
  auto columns = [&](const std::string& name, const auto& bytes, const auto& offset,
                     const std::string& use) {
    text << std::left << std::setw(static_cast<int>(width)) << name << std::right << std::setw(11)
         << bytes << std::setw(11) << offset << "  " << use << "\n";
  };
  for (const Section& section : kSections) {
    if (json[section.name].empty()) continue;
    columns(section.name, "bytes", "offset", "first to last use");
    for (const auto& row : json[section.name]) {
      auto group = [&](const char* key) {
        return row[key].is_null() ? "unused" : row[key].get<std::string>();
      };
      auto shares = [](const auto& entry) {
        const std::string with = entry["shares"].template get<std::string>();
        return with.empty() ? "" : ", " + with;
      };
      const std::string first = group("first_use"), last = group("last_use");
      columns("  " + row["name"].get<std::string>(), row["bytes"].get<std::int64_t>(),
              row["offset"].get<std::int64_t>(),
              (first == last ? first : first + " to " + last) + shares(row));
    }
  }
  text << "arena " << arena_text(manifest) << " (" << number("arena_bytes_without_reuse")
       << " without reuse), constants " << number("constant_bytes") << " bytes, scratch "
       << number("scratch_shared_bytes") << " bytes and " << number("scratch_bytes_per_worker")
       << " a worker\n"
       << "total " << number("total_bytes") << " bytes with one worker"
       << (manifest.symbols.empty() ? "" : ", where every open size is 1") << "\n";
  return text.str();
}

}  // namespace polyte::cli
