// The manifest as text and back.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/manifest.h"
#include "support/error.h"

namespace polyte::runtime {
namespace {

// Ordered, so that equal manifests give equal text: the kernels carry a digest of it
// (artifact.cc).
using Json = nlohmann::ordered_json;

constexpr std::pair<BufferPlace, const char*> kPlaces[] = {{BufferPlace::Arena, "arena"},
                                                           {BufferPlace::Constant, "constant"},
                                                           {BufferPlace::Input, "input"},
                                                           {BufferPlace::Output, "output"},
                                                           {BufferPlace::Sizes, "sizes"}};

// By the number of the enumerator.
constexpr const char* kSharing[] = {"", "view of", "part of", "over"};

Json number_to_json(const OpenNumber& number) {
  return {{"constant", number.constant}, {"coefficients", number.coefficients}};
}

Json tensor_to_json(const TensorSpec& t) {
  Json open = Json::array();
  for (const OpenNumber& number : t.open) open.push_back(number_to_json(number));
  return {{"name", t.name},
          {"dtype", to_string(t.dtype)},
          {"shape", t.shape},
          {"open", std::move(open)}};
}

Json tensors_to_json(const std::vector<TensorSpec>& tensors) {
  Json list = Json::array();
  for (const TensorSpec& t : tensors) list.push_back(tensor_to_json(t));
  return list;
}

Json symbols_to_json(const std::vector<SymbolSpec>& symbols) {
  Json list = Json::array();
  for (const SymbolSpec& s : symbols)
    list.push_back({{"name", s.name}, {"least", s.least}, {"most", s.most}});
  return list;
}

Json buffer_to_json(const BufferSpec& b) {
  return {{"name", b.name},
          {"place", kPlaces[static_cast<std::size_t>(b.place)].second},
          {"index", b.index},
          {"offset", b.offset},
          {"bytes", b.bytes},
          {"sharing", kSharing[static_cast<std::size_t>(b.sharing)]},
          {"shared_with", b.shared_with},
          // null where there is none: a buffer that copies all of its bytes.
          {"exact", b.exact ? number_to_json(*b.exact) : Json()}};
}

Json scheduling_to_json(const StepScheduling& s) {
  // A copy's step has no scheduler: null.
  if (s.asked.empty()) return {};
  return {{"asked", s.asked}, {"used", s.used}, {"reason", s.reason}, {"where", s.where}};
}

Json step_to_json(const StepSpec& s) {
  return {{"kernel", s.kernel},
          {"group", s.group},
          {"buffers", s.buffers},
          {"scratch_shared_bytes", s.scratch_shared_bytes},
          {"scratch_bytes_per_worker", s.scratch_bytes_per_worker},
          {"parallel", s.parallel},
          {"parallel_from", s.parallel_from},
          {"nodes", s.nodes},
          {"scheduling", scheduling_to_json(s.scheduling)}};
}

Json module_to_json(const DeviceModule& module) {
  Json kernels = Json::array();
  for (const DeviceKernel& k : module.kernels)
    kernels.push_back({{"name", k.name}, {"threads", k.threads}, {"shared_bytes", k.shared_bytes}});
  return {{"name", module.name},
          {"kernels", std::move(kernels)},
          {"architectures", module.architectures}};
}

Json fixed_to_json(const FixedInput& f) {
  Json json = tensor_to_json(f.tensor);
  json["xxh3_128"] = f.xxh3_128;
  return json;
}

// A number by its exact type: json would turn 1e99 or true into an int64_t without a word.
std::int64_t as_integer(const Json& value, const char* key) {
  // nlohmann gives non-negative integers an unsigned type; those of 2^63 and more do not fit.
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.get<std::uint64_t>() >> 63 != 0)) {
    throw UserError(ExitStatus::Artifact, std::string("'") + key + "' is no 63-bit integer");
  }
  return value.get<std::int64_t>();
}

const Json& member(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end())
    throw UserError(ExitStatus::Artifact, std::string("'") + key + "' is missing");
  return *found;
}

std::int64_t integer(const Json& json, const char* key) {
  return as_integer(member(json, key), key);
}

// Versions, which are int: a number beyond a million is no version, and would be cut off.
int small_integer(const Json& json, const char* key) {
  const std::int64_t value = integer(json, key);
  if (value < 0 || value > 1000000)
    throw UserError(ExitStatus::Artifact, std::string("'") + key + "' is out of range");
  return static_cast<int>(value);
}

// The array behind a key: iterating an object or a number would be accepted silently.
const Json& list_of(const Json& json, const char* key) {
  const Json& list = member(json, key);
  if (!list.is_array())
    throw UserError(ExitStatus::Artifact, std::string("'") + key + "' is no list");
  return list;
}

std::vector<std::int64_t> integers(const Json& json, const char* key) {
  std::vector<std::int64_t> values;
  for (const Json& item : list_of(json, key)) values.push_back(as_integer(item, key));
  return values;
}

std::string text(const Json& json, const char* key) {
  const Json& value = member(json, key);
  if (!value.is_string())
    throw UserError(ExitStatus::Artifact, std::string("'") + key + "' is no text");
  return value.get<std::string>();
}

OpenNumber number_from_json(const Json& json) {
  return {integer(json, "constant"), integers(json, "coefficients")};
}

TensorSpec tensor_from_json(const Json& json) {
  const auto dtype = dtype_from_string(text(json, "dtype"));
  if (!dtype)
    throw UserError(ExitStatus::Artifact, "unknown element type '" + text(json, "dtype") + "'");
  TensorSpec tensor{text(json, "name"), *dtype, integers(json, "shape"), {}};
  for (const Json& item : list_of(json, "open")) tensor.open.push_back(number_from_json(item));
  return tensor;
}

FixedInput fixed_from_json(const Json& json) {
  FixedInput fixed{tensor_from_json(json), {}};
  if (!json.contains("xxh3_128"))
    throw UserError(ExitStatus::Artifact,
                    "input '" + fixed.tensor.name +
                        "' is fixed, but the digest of its value ('xxh3_128') is missing");
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
  if (found == std::end(kSharing))
    throw UserError(ExitStatus::Artifact, "unknown sharing '" + name + "'");
  return static_cast<Sharing>(found - std::begin(kSharing));
}

BufferSpec buffer_from_json(const Json& json) {
  BufferSpec buffer{text(json, "name"),       place_from(text(json, "place")),
                    integer(json, "index"),   integer(json, "offset"),
                    integer(json, "bytes"),   sharing_from(text(json, "sharing")),
                    text(json, "shared_with")};
  const Json& exact = member(json, "exact");
  if (!exact.is_null()) buffer.exact = number_from_json(exact);
  return buffer;
}

// For reports alone: an artifact that does not say it runs as well.
StepScheduling scheduling_from_json(const Json& step) {
  const auto found = step.find("scheduling");
  if (found == step.end() || found->is_null()) return {};
  return {text(*found, "asked"), text(*found, "used"), text(*found, "reason"),
          text(*found, "where")};
}

// Whether a step is `parallel` is a bool alone: get<bool> throws for a number, which
// manifest_from_json reports as malformed.
StepSpec step_from_json(const Json& json) {
  return {text(json, "kernel"),
          text(json, "group"),
          integers(json, "buffers"),
          integer(json, "scratch_shared_bytes"),
          integer(json, "scratch_bytes_per_worker"),
          member(json, "parallel").get<bool>(),
          integer(json, "parallel_from"),
          list_of(json, "nodes").get<std::vector<std::string>>(),
          scheduling_from_json(json)};
}

// Only of a GPU.
std::vector<DeviceModule> device_from_json(const Json& json) {
  std::vector<DeviceModule> modules;
  if (!json.contains("device")) return modules;
  for (const Json& item : list_of(json, "device")) {
    DeviceModule module{
        text(item, "name"), {}, list_of(item, "architectures").get<std::vector<std::string>>()};
    for (const Json& kernel : list_of(item, "kernels"))
      module.kernels.push_back(
          {text(kernel, "name"), integer(kernel, "threads"), integer(kernel, "shared_bytes")});
    modules.push_back(std::move(module));
  }
  return modules;
}

ArtifactManifest read_all(const Json& json) {
  // The format's version is read first and alone: nothing else is known of an artifact of
  // another version, so nothing else may be missing from it.
  ArtifactManifest m;
  m.format = small_integer(json, "format");
  if (m.format != kArtifactFormat) {
    throw UserError(ExitStatus::Artifact, "format version is " + std::to_string(m.format) +
                                              ", expected " + std::to_string(kArtifactFormat));
  }
  m.kernel_abi = small_integer(json, "kernel_abi");
  m.arch = text(json, "arch");
  m.cpu = text(json, "cpu");
  m.features = list_of(json, "features").get<std::vector<std::string>>();
  m.model_digest = text(json, "model_digest");
  for (const Json& item : list_of(json, "options")) m.options.emplace_back(item.at(0), item.at(1));
  for (const Json& item : list_of(json, "symbols"))
    m.symbols.push_back({text(item, "name"), integer(item, "least"), integer(item, "most")});
  for (const Json& item : list_of(json, "inputs")) m.inputs.push_back(tensor_from_json(item));
  for (const Json& item : list_of(json, "outputs")) m.outputs.push_back(tensor_from_json(item));
  for (const Json& item : list_of(json, "fixed")) m.fixed.push_back(fixed_from_json(item));
  for (const Json& item : list_of(json, "buffers")) m.buffers.push_back(buffer_from_json(item));
  for (const Json& item : list_of(json, "steps")) m.steps.push_back(step_from_json(item));
  m.device = device_from_json(json);
  m.arena_bytes = integer(json, "arena_bytes");
  for (const Json& item : list_of(json, "members")) {
    m.members.push_back({text(item, "name"), integer(item, "bytes"), text(item, "xxh3_128")});
  }
  return m;
}

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
  json["symbols"] = symbols_to_json(m.symbols);
  json["inputs"] = tensors_to_json(m.inputs);
  json["outputs"] = tensors_to_json(m.outputs);
  json["fixed"] = Json::array();
  for (const FixedInput& f : m.fixed) json["fixed"].push_back(fixed_to_json(f));
  json["buffers"] = Json::array();
  for (const BufferSpec& b : m.buffers) json["buffers"].push_back(buffer_to_json(b));
  json["steps"] = Json::array();
  for (const StepSpec& s : m.steps) json["steps"].push_back(step_to_json(s));
  // Absent of a processor's artifact: "device" is made by the first module that is added.
  for (const DeviceModule& module : m.device) json["device"].push_back(module_to_json(module));
  json["arena_bytes"] = m.arena_bytes;
  json["members"] = Json::array();
  for (const MemberDigest& d : m.members) {
    json["members"].push_back({{"name", d.name}, {"bytes", d.bytes}, {"xxh3_128", d.xxh3_128}});
  }
  // Names may hold any bytes of a model; what is no UTF-8 is replaced rather than refused.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Two kinds of faults, two messages: what is no JSON, or has a member of another type, is only
// "malformed"; what the functions above found out has words of its own.
ArtifactManifest manifest_from_json(std::string_view json, const std::string& source) {
  try {
    return read_all(Json::parse(json));
  } catch (const Json::exception&) {
    throw UserError(ExitStatus::Artifact, "artifact '" + source + "': manifest.json is malformed");
  } catch (const UserError& error) {
    throw UserError(ExitStatus::Artifact,
                    "artifact '" + source + "': manifest.json: " + error.problems().front());
  }
}

}  // namespace polyte::runtime
