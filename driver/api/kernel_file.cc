#include "driver/api/kernel_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

#include "driver/api/requests.h"
#include "ir/program_text.h"
#include "runtime/artifact.h"
#include "runtime/zip.h"

namespace polyte::api {
namespace {

using Json = nlohmann::json;
using Members = std::map<std::string, std::string>;

// A file of another number is refused; a cache then compiles anew.
constexpr int kFormat = 2;
constexpr const char* kManifest = "manifest.json";

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw UserError(ExitStatus::Artifact, path + ": " + why);
}

Json to_json(const driver::CompiledOperator& op, const Scheduling& scheduling,
             const std::string& key) {
  Json json{{"format", kFormat},
            {"key", key},
            {"kernel", op.built.kernel.program.name},
            {"arch", op.arch},
            {"cpu", op.cpu},
            {"features", op.features},
            {"scratch",
             {{"shared_bytes", op.scratch.shared_bytes},
              {"bytes_per_worker", op.scratch.bytes_per_worker}}},
            {"notes", op.built.notes},
            {"asked", scheduling.asked},
            {"used", scheduling.used},
            {"packed", Json::array()}};
  if (scheduling.declined)
    json["declined"] = {{"reason", scheduling.declined->reason},
                        {"where", scheduling.declined->where}};
  for (const driver::PackedBuffer& each : op.built.packed)
    json["packed"].push_back(
        {{"name", each.name}, {"dtype", name_of(each.dtype)}, {"shape", each.shape}});
  return json;
}

// As Program text of loops, for which there is a parser: a LoopProgram that declares the rooms
// and does nothing.
ir::LoopProgram rooms_of(const driver::CompiledOperator& op) {
  return {op.built.program->name, op.built.program->params, op.rooms, ir::make_block({})};
}

// What runs the kernel (library, Program, packing, rooms), then what is only said of it.
Members members_of(const driver::CompiledOperator& op, const KernelTexts& texts) {
  return {{"kernel.so", op.library},
          {"program.txt", ir::print(*op.built.program)},
          {"packing.txt", op.built.packed.empty() ? "" : ir::print(op.built.packing)},
          {"rooms.txt", op.rooms.empty() ? "" : ir::print(rooms_of(op))},
          {"script.sched", texts.script},
          {"directives.txt", texts.directives},
          {"loops.txt", texts.loops}};
}

// A digest shows damage, but not that the writer made sense: missing keys and wrong types throw
// here, and numbers are bounded.
void take_manifest(const Json& json, StoredKernel& kernel) {
  driver::CompiledOperator& op = kernel.op;
  op.built.kernel.program.name = json.at("kernel");
  op.arch = json.at("arch");
  op.cpu = json.at("cpu");
  op.features = json.at("features").get<std::vector<std::string>>();
  op.scratch.shared_bytes = json.at("scratch").at("shared_bytes");
  op.scratch.bytes_per_worker = json.at("scratch").at("bytes_per_worker");
  op.built.notes = json.at("notes").get<std::vector<std::string>>();
  kernel.texts.scheduling = {json.at("asked"), json.at("used")};
  if (json.contains("declined"))
    kernel.texts.scheduling.declined =
        Declined{json["declined"].at("reason"), json["declined"].at("where")};
  for (const Json& each : json.at("packed")) {
    const auto dtype = dtype_from_string(each.at("dtype").get<std::string>());
    if (!dtype) throw std::invalid_argument("an element type that there is not");
    op.built.packed.push_back(
        {each.at("name"), *dtype, each.at("shape").get<std::vector<std::int64_t>>()});
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  for (const std::int64_t bytes : {op.scratch.shared_bytes, op.scratch.bytes_per_worker})
    if (bytes < 0 || bytes > kMost)
      throw std::invalid_argument("scratch of " + std::to_string(bytes) + " bytes");
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Every member that there has to be, and the manifest, checked against the digests.
Members read_members(const std::string& path, Json& manifest) {
  runtime::FileContent file(path);
  Members members;
  for (const runtime::ZipEntry& entry : runtime::read_zip_directory(file, path))
    members[entry.name] = text_of(runtime::read_zip_member(file, entry, path));
  const auto at = members.find(kManifest);
  if (at == members.end()) refuse(path, "no compiled kernel: it has no " + std::string(kManifest));
  manifest = Json::parse(at->second, nullptr, false);
  if (manifest.is_discarded() || !manifest.is_object() ||
      manifest.value("format", Json()) != kFormat)
    refuse(path, "no compiled kernel of format " + std::to_string(kFormat));
  const Json digests = manifest.value("members", Json::object());
  for (const char* name : {"kernel.so", "program.txt", "packing.txt", "rooms.txt", "script.sched",
                           "directives.txt", "loops.txt"}) {
    if (!members.contains(name)) refuse(path, "it has no " + std::string(name));
    if (digests.value(name, "") != runtime::digest_of(runtime::as_bytes(members[name])))
      refuse(path, std::string(name) + " is damaged: its digest differs");
  }
  return members;
}

}  // namespace

// Texts in place of what they are printed from: a kernel that is loaded has no State.
KernelTexts texts_of(const driver::CompiledOperator& op) {
  const driver::BuiltKernel& built = op.built;
  return {schedule::print(built.script),
          schedule::print(schedule::expand_to_directives(built.script)),
          ir::print(built.kernel.program), scheduling_of(built)};
}

void write_kernel(const std::string& path, const driver::CompiledOperator& op,
                  const KernelTexts& texts, const std::string& key) {
  const Members members = members_of(op, texts);
  Json manifest = to_json(op, texts.scheduling, key);
  for (const auto& [name, content] : members)
    manifest["members"][name] = runtime::digest_of(runtime::as_bytes(content));
  runtime::ZipWriter zip(path);
  const std::string text = manifest.dump(1);
  zip.add(kManifest, runtime::as_bytes(text));
  for (const auto& [name, content] : members) zip.add(name, runtime::as_bytes(content));
  zip.finish();
}

StoredKernel read_kernel(const std::string& path, const std::string& key) {
  // The key is compared too: a cache finds a file by the digest of a request, and the file says
  // which request it was made for.
  Json manifest;
  Members members = read_members(path, manifest);
  if (!key.empty() && manifest.value("key", "") != key)
    refuse(path, "it was compiled from something else");
  StoredKernel kernel;
  try {
    take_manifest(manifest, kernel);
    kernel.op.built.program =
        std::make_shared<const ir::Program>(ir::parse_program(members["program.txt"], path));
    if (!members["rooms.txt"].empty())
      kernel.op.rooms = ir::parse_loop_program(members["rooms.txt"], path).buffers;
    if (!kernel.op.built.packed.empty())
      kernel.op.built.packing = ir::parse_loop_program(members["packing.txt"], path);
  } catch (const UserError& e) {
    refuse(path, std::string("a text in it is no program: ") + e.what());
  } catch (const std::exception& e) {  // of the JSON library
    refuse(path, std::string("its manifest does not say what it must: ") + e.what());
  }
  kernel.op.library = std::move(members["kernel.so"]);
  kernel.texts.script = std::move(members["script.sched"]);
  kernel.texts.directives = std::move(members["directives.txt"]);
  kernel.texts.loops = std::move(members["loops.txt"]);
  return kernel;
}

}  // namespace polyte::api
