#include "runtime/manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/tensor.h"
#include "support/error.h"

namespace polyte::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::pair<BufferPlace, const char*> kPlaces[] = {{BufferPlace::Arena, "arena"},
                                                           {BufferPlace::Constant, "constant"},
                                                           {BufferPlace::Input, "input"},
                                                           {BufferPlace::Output, "output"}};

constexpr const char* kSharing[] = {"", "view of", "part of", "over"};

Json tensors_to_json(const std::vector<TensorSpec>& tensors) {
  Json list = Json::array();
  for (const TensorSpec& t : tensors) {
    list.push_back({{"name", t.name}, {"dtype", to_string(t.dtype)}, {"shape", t.shape}});
  }
  return list;
}

Json buffer_to_json(const BufferSpec& b) {
  return {{"name", b.name},
          {"place", kPlaces[static_cast<std::size_t>(b.place)].second},
          {"index", b.index},
          {"offset", b.offset},
          {"bytes", b.bytes},
          {"sharing", kSharing[static_cast<std::size_t>(b.sharing)]},
          {"shared_with", b.shared_with}};
}

Json step_to_json(const StepSpec& s) {
  return {{"kernel", s.kernel},
          {"group", s.group},
          {"buffers", s.buffers},
          {"scratch_shared_bytes", s.scratch_shared_bytes},
          {"scratch_bytes_per_worker", s.scratch_bytes_per_worker},
          {"parallel", s.parallel},
          {"nodes", s.nodes}};
}

Json fixed_to_json(const FixedInput& f) {
  return {{"name", f.tensor.name},
          {"dtype", to_string(f.tensor.dtype)},
          {"shape", f.tensor.shape},
          {"xxh3_128", f.xxh3_128}};
}

// A number by its exact type: json would turn 1e99 or true into an int64_t without a word.
std::int64_t as_integer(const Json& value, const char* key) {
  if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<std::uint64_t>() >> 63 != 0)) {
    throw UserError(ExitStatus::Artifact, std::string("'") + key + "' is no 63-bit integer");
  }
  return value.get<std::int64_t>();
}

const Json& member(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) throw UserError(ExitStatus::Artifact, std::string("'") + key + "' is missing");
  return *found;
}

std::int64_t integer(const Json& json, const char* key) { return as_integer(member(json, key), key); }

int small_integer(const Json& json, const char* key) {
  const std::int64_t value = integer(json, key);
  if (value < 0 || value > 1000000) throw UserError(ExitStatus::Artifact, std::string("'") + key + "' is out of range");
  return static_cast<int>(value);
}

// The array behind a key: iterating an object or a number would be accepted silently.
const Json& list_of(const Json& json, const char* key) {
  const Json& list = member(json, key);
  if (!list.is_array()) throw UserError(ExitStatus::Artifact, std::string("'") + key + "' is no list");
  return list;
}

std::vector<std::int64_t> integers(const Json& json, const char* key) {
  std::vector<std::int64_t> values;
  for (const Json& item : list_of(json, key)) values.push_back(as_integer(item, key));
  return values;
}

std::string text(const Json& json, const char* key) {
  const Json& value = member(json, key);
  if (!value.is_string()) throw UserError(ExitStatus::Artifact, std::string("'") + key + "' is no text");
  return value.get<std::string>();
}

TensorSpec tensor_from_json(const Json& json) {
  const auto dtype = dtype_from_string(text(json, "dtype"));
  if (!dtype) throw UserError(ExitStatus::Artifact, "unknown element type '" + text(json, "dtype") + "'");
  return {text(json, "name"), *dtype, integers(json, "shape")};
}

FixedInput fixed_from_json(const Json& json) {
  FixedInput fixed{tensor_from_json(json), {}};
  if (!json.contains("xxh3_128"))
    throw UserError(ExitStatus::Artifact,
                    "input '" + fixed.tensor.name + "' is fixed, but the digest of its value ('xxh3_128') is missing");
  fixed.xxh3_128 = text(json, "xxh3_128");
  return fixed;
}

BufferPlace place_from(const std::string& name) {
  for (const auto& [place, place_name] : kPlaces) {
    if (name == place_name) return place;
  }
  throw UserError(ExitStatus::Artifact, "unknown place '" + name + "'");
}

Sharing sharing_from(const std::string& name) {
  const auto* found = std::ranges::find(kSharing, name);
  if (found == std::end(kSharing)) throw UserError(ExitStatus::Artifact, "unknown sharing '" + name + "'");
  return static_cast<Sharing>(found - std::begin(kSharing));
}

BufferSpec buffer_from_json(const Json& json) {
  return {text(json, "name"),       place_from(text(json, "place")), integer(json, "index"),
          integer(json, "offset"),  integer(json, "bytes"),          sharing_from(text(json, "sharing")),
          text(json, "shared_with")};
}

StepSpec step_from_json(const Json& json) {
  return {text(json, "kernel"),
          text(json, "group"),
          integers(json, "buffers"),
          integer(json, "scratch_shared_bytes"),
          integer(json, "scratch_bytes_per_worker"),
          member(json, "parallel").get<bool>(),
          list_of(json, "nodes").get<std::vector<std::string>>()};
}

ArtifactManifest read_all(const Json& json) {
  ArtifactManifest m;
  m.format = small_integer(json, "format");
  if (m.format != kArtifactFormat) {
    throw UserError(ExitStatus::Artifact,
                    "format version is " + std::to_string(m.format) + ", expected " + std::to_string(kArtifactFormat));
  }
  m.kernel_abi = small_integer(json, "kernel_abi");
  m.arch = text(json, "arch");
  m.cpu = text(json, "cpu");
  m.features = list_of(json, "features").get<std::vector<std::string>>();
  m.model_digest = text(json, "model_digest");
  for (const Json& item : list_of(json, "options")) m.options.emplace_back(item.at(0), item.at(1));
  for (const Json& item : list_of(json, "inputs")) m.inputs.push_back(tensor_from_json(item));
  for (const Json& item : list_of(json, "outputs")) m.outputs.push_back(tensor_from_json(item));
  for (const Json& item : list_of(json, "fixed")) m.fixed.push_back(fixed_from_json(item));
  for (const Json& item : list_of(json, "buffers")) m.buffers.push_back(buffer_from_json(item));
  for (const Json& item : list_of(json, "steps")) m.steps.push_back(step_from_json(item));
  m.arena_bytes = integer(json, "arena_bytes");
  for (const Json& item : list_of(json, "members")) {
    m.members.push_back({text(item, "name"), integer(item, "bytes"), text(item, "xxh3_128")});
  }
  return m;
}

// Collects the problems of a manifest.
class Checker {
 public:
  Checker(const ArtifactManifest& manifest, const std::vector<std::int64_t>& constants_bytes)
      : m_(manifest), constants_(constants_bytes) {}

  std::vector<std::string> run() {
    if (m_.arena_bytes < 0 || m_.arena_bytes > kLimit) problem("arena of " + std::to_string(m_.arena_bytes) + " bytes");
    for (const auto& tensor : m_.inputs) check_tensor(tensor);
    for (const auto& tensor : m_.outputs) check_tensor(tensor);
    for (const auto& fixed : m_.fixed) check_fixed(fixed);
    for (const BufferSpec& buffer : m_.buffers) check_buffer(buffer);
    for (const StepSpec& step : m_.steps) check_step(step);
    return std::move(problems_);
  }

 private:
  static constexpr std::int64_t kLimit = std::int64_t{1} << 50;

  const ArtifactManifest& m_;
  const std::vector<std::int64_t>& constants_;
  std::vector<std::string> problems_;

  void problem(const std::string& what) { problems_.push_back(what); }

  static std::int64_t size_of(const TensorSpec& tensor) {
    try {
      return count_bytes(tensor.dtype, tensor.shape);
    } catch (const UserError&) {
      return -1;
    }
  }

  void check_tensor(const TensorSpec& tensor) {
    if (size_of(tensor) < 0) problem("tensor '" + tensor.name + "' has impossible shape " + to_string(tensor.shape));
  }

  // The digest is all that a value which is given for the input can be held against.
  void check_fixed(const FixedInput& fixed) {
    check_tensor(fixed.tensor);
    const bool is_digest =
        fixed.xxh3_128.size() == 32 && fixed.xxh3_128.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!is_digest)
      problem("input '" + fixed.tensor.name + "' is fixed to a value of digest '" + fixed.xxh3_128 +
              "', expected 32 hexadecimal digits");
  }

  void check_region(const BufferSpec& b, std::int64_t total, const std::string& where) {
    if (b.offset < 0 || b.bytes < 0 || b.bytes > total || b.offset > total - b.bytes) {
      problem("buffer '" + b.name + "' (offset " + std::to_string(b.offset) + ", " + std::to_string(b.bytes) +
              " bytes) does not fit in " + where + " of " + std::to_string(total) + " bytes");
    }
  }

  void check_interface(const BufferSpec& b, const std::vector<TensorSpec>& tensors, const std::string& what) {
    const auto index = static_cast<std::uint64_t>(b.index);
    if (index >= tensors.size())
      return problem("buffer '" + b.name + "' names " + what + " " + std::to_string(b.index));
    check_region(b, size_of(tensors[index]), what + " '" + tensors[index].name + "'");
  }

  void check_buffer(const BufferSpec& b) {
    switch (b.place) {
      case BufferPlace::Arena:
        return check_region(b, m_.arena_bytes, "an arena");
      case BufferPlace::Input:
        return check_interface(b, m_.inputs, "input");
      case BufferPlace::Output:
        return check_interface(b, m_.outputs, "output");
      case BufferPlace::Constant:
        break;
    }
    const auto index = static_cast<std::uint64_t>(b.index);
    if (index >= constants_.size())
      return problem("buffer '" + b.name + "' names constants " + std::to_string(b.index));
    check_region(b, constants_[index], "constants");
  }

  void check_step(const StepSpec& step) {
    const std::string name = step.kernel.empty() ? "copy" : "kernel '" + step.kernel + "'";
    const auto out_of_range = [](std::int64_t bytes) { return bytes < 0 || bytes > kLimit || bytes % kAlignment != 0; };
    if (out_of_range(step.scratch_shared_bytes) || out_of_range(step.scratch_bytes_per_worker)) {
      problem(name + " has an impossible scratch size");
    }
    for (const std::int64_t buffer : step.buffers) {
      if (buffer < 0 || buffer >= static_cast<std::int64_t>(m_.buffers.size())) {
        return problem(name + " names buffer " + std::to_string(buffer));
      }
    }
    if (step.kernel.empty()) check_copy(step);
  }

  void check_copy(const StepSpec& step) {
    if (step.buffers.size() != 2) return problem("copy has " + std::to_string(step.buffers.size()) + " buffers");
    const BufferSpec& from = m_.buffers[static_cast<std::size_t>(step.buffers[0])];
    const BufferSpec& to = m_.buffers[static_cast<std::size_t>(step.buffers[1])];
    if (from.bytes != to.bytes) problem("copy from '" + from.name + "' to '" + to.name + "' of another size");
    if (to.place == BufferPlace::Constant || to.place == BufferPlace::Input) {
      problem("copy writes to '" + to.name + "', which is read-only");
    }
  }
};

}  // namespace

std::string manifest_to_json(const ArtifactManifest& m) {
  Json json;
  json["format"] = m.format;
  json["kernel_abi"] = m.kernel_abi;
  json["arch"] = m.arch;
  json["cpu"] = m.cpu;
  json["features"] = m.features;
  json["model_digest"] = m.model_digest;
  json["options"] = Json::array();
  for (const auto& [key, value] : m.options) json["options"].push_back(Json::array({key, value}));
  json["inputs"] = tensors_to_json(m.inputs);
  json["outputs"] = tensors_to_json(m.outputs);
  json["fixed"] = Json::array();
  for (const FixedInput& f : m.fixed) json["fixed"].push_back(fixed_to_json(f));
  json["buffers"] = Json::array();
  for (const BufferSpec& b : m.buffers) json["buffers"].push_back(buffer_to_json(b));
  json["steps"] = Json::array();
  for (const StepSpec& s : m.steps) json["steps"].push_back(step_to_json(s));
  json["arena_bytes"] = m.arena_bytes;
  json["members"] = Json::array();
  for (const MemberDigest& d : m.members) {
    json["members"].push_back({{"name", d.name}, {"bytes", d.bytes}, {"xxh3_128", d.xxh3_128}});
  }
  // Names may hold any bytes of a model; what is no UTF-8 is replaced rather than refused.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

ArtifactManifest manifest_from_json(std::string_view json, const std::string& source) {
  try {
    return read_all(Json::parse(json));
  } catch (const Json::exception&) {
    throw UserError(ExitStatus::Artifact, "artifact '" + source + "': manifest.json is malformed");
  } catch (const UserError& error) {
    throw UserError(ExitStatus::Artifact, "artifact '" + source + "': manifest.json: " + error.problems().front());
  }
}

void check_manifest(const ArtifactManifest& manifest, const std::vector<std::int64_t>& constants_bytes,
                    const std::string& source) {
  std::vector<std::string> problems = Checker(manifest, constants_bytes).run();
  if (problems.empty()) return;
  for (std::string& problem : problems) problem = "artifact '" + source + "': " + problem;
  throw UserError(ExitStatus::Artifact, std::move(problems));
}

void check_cpu(const ArtifactManifest& manifest, const std::vector<std::string>& present, const std::string& source) {
#ifdef __x86_64__
  const std::string arch = "x86_64";
#else
  const std::string arch = "aarch64";
#endif
  const auto refuse = [&](const std::string& why) {
    throw UserError(ExitStatus::Artifact, "artifact '" + source + "': " + why);
  };
  if (manifest.arch != arch) refuse("is built for " + manifest.arch + ", this processor is " + arch);
  if (manifest.kernel_abi != kKernelAbi) {
    refuse("has kernel ABI " + std::to_string(manifest.kernel_abi) + ", expected " + std::to_string(kKernelAbi));
  }
  std::string missing;
  for (const std::string& feature : manifest.features) {
    if (feature.starts_with('-')) continue;
    if (std::ranges::find(present, feature) != present.end()) continue;
    missing += (missing.empty() ? "" : ", ") + (feature.starts_with('+') ? feature.substr(1) : feature);
  }
  if (!missing.empty()) {
    refuse("needs processor features that this machine lacks: " + missing + " (built for " + manifest.cpu + ")");
  }
}

}  // namespace polyte::runtime
