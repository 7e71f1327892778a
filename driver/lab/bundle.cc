#include "driver/lab/bundle.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "driver/lab/artifact.h"
#include "driver/lab/differences.h"
#include "driver/lab/report.h"
#include "runtime/artifact.h"
#include "runtime/file.h"
#include "runtime/zip.h"
#include "support/error.h"

namespace polyte::lab {
namespace {

// Larger models would make a bundle that nobody sends; 4 GiB of samples is far beyond any run.
constexpr std::uint64_t kMostModel = std::uint64_t{64} << 20;
constexpr std::uint64_t kMostMember = std::uint64_t{4} << 30;

constexpr const char* kReadMe =
    "A bundle of polyte lab: what was measured, how, and every sample.\n"
    "\nplan.json        all rows and arms, the Programs and scripts as text, seeds, the stop rule\n"
    "samples.jsonl    machine, versions, ceilings; "
    "every sample of every process (one JSON object a line)\n"
    "experiment.toml  the experiment as it was written\n"
    "programs/ scripts/  the same texts as in plan.json, to read\n"
    "models/          ONNX models of up to 64 MiB, by their digests; "
    "of larger ones plan.json has path and digest\ndifferences/     the largest "
    "ones taken apart, each with a plan and samples of its own (explain of experiment.toml)\n"
    "report.html      the results as a page, results.json for programs, report.tex for a paper\n"
    "ARTIFACT.md      the artifact appendix: what it claims, what it asks "
    "for, how it is evaluated\n\npolyte lab reproduce BUNDLE reruns it and says what agrees.\n";

// A file's name for what a person has called it; unique.
std::string file_name(const std::string& name, const char* ending, std::set<std::string>& used) {
  std::string plain;
  for (const char c : name)
    plain += std::isalnum(static_cast<unsigned char>(c)) || c == '-' ? c : '_';
  plain = plain.substr(0, 80);
  std::string unique = plain;
  for (int i = 2; !used.insert(unique).second; ++i) unique = plain + "_" + std::to_string(i);
  return unique + ending;
}

std::string content_of(const std::string& path) {
  runtime::FileContent file(path);
  const runtime::Bytes bytes = file.all();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Members are found by name, whatever their order; the limit is on the unpacked size, which the
// archive claims and read_zip_member holds it to.
std::string member(runtime::ByteSource archive, const std::vector<runtime::ZipEntry>& entries,
                   const std::string& name, const std::string& path) {
  for (const runtime::ZipEntry& entry : entries) {
    if (entry.name != name) continue;
    if (entry.bytes > kMostMember)
      throw UserError(ExitStatus::ResourceLimit, path + ": " + name + " has more than 4 GiB");
    const std::vector<std::byte> bytes = runtime::read_zip_member(archive, entry, path);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  throw UserError(ExitStatus::InvalidInput,
                  path + ": not a bundle of polyte lab: it has no " + name);
}

std::string model_member(const PlannedProgram& program) {
  return "models/" + program.digest + ".onnx";
}

// What was measured, and not what the file has become.
void add_model(runtime::ZipWriter& zip, const PlannedProgram& program) {
  runtime::FileContent file(program.model);
  if (file.size() > kMostModel || runtime::digest_of(file.all()) != program.digest) return;
  zip.add_deflated(model_member(program), file.all());
}

}  // namespace

// plan.json and samples.jsonl are all that a reader needs; the rest is to look at.
void write_bundle(const std::string& folder, const std::string& path) {
  const Results results = read_results(folder);
  const Plan& plan = results.plan;
  const std::string samples = folder + "/samples.jsonl";
  runtime::ZipWriter zip(path);
  const auto add = [&](const std::string& name, const std::string& text) {
    zip.add_deflated(name, runtime::as_bytes(text));
  };
  // Zip members in a fixed order, so that equal folders give equal bundles.
  add("README.txt", kReadMe);
  add("plan.json", content_of(folder + "/plan.json"));
  add("samples.jsonl", std::filesystem::exists(samples) ? content_of(samples) : "");
  add("experiment.toml", plan.experiment);
  std::set<std::string> used;
  for (const PlannedProgram& program : plan.programs)
    if (program.model.empty())
      add("programs/" + file_name(program.name, ".program", used), program.text);
    else if (std::filesystem::exists(program.model))
      add_model(zip, program);
  used.clear();
  for (const PlannedArm& arm : plan.arms)
    for (const PlannedScript& script : arm.scripts)
      add("scripts/" +
              file_name(arm.spec.name + (arm.scripts.size() > 1 ? " " + script.program : ""),
                        ".sched", used),
          script.text);
  for (std::size_t i = 0; i < results.differences.size(); ++i)
    for (const std::string& part : {path_folder(i), lines_folder(i)})
      for (const char* file : {"/plan.json", "/samples.jsonl", "/why_not"})
        if (std::filesystem::exists(folder + "/" + part + file))
          add(part + file, content_of(folder + "/" + part + file));
  add("report.html", report(results, "html"));
  add("results.json", report(results, "json"));
  add("report.tex", report(results, "latex"));
  add("ARTIFACT.md", artifact_appendix(results));
  zip.finish();
}

Bundle read_bundle(const std::string& path) {
  runtime::FileContent file(path);
  const std::vector<runtime::ZipEntry> entries = runtime::read_zip_directory(file, path);
  Bundle bundle;
  bundle.plan = parse_plan(member(file, entries, "plan.json", path), path + ": plan.json");
  bundle.records = parse_records(member(file, entries, "samples.jsonl", path), bundle.plan,
                                 path + ": samples.jsonl");
  return bundle;
}

// A model that is inside is checked by its digest and unpacked; else the path of the plan has
// to exist, and its file is checked when it is read.
void unpack_models(const std::string& path, const std::string& folder, Plan& plan) {
  runtime::FileContent file(path);
  const std::vector<runtime::ZipEntry> entries = runtime::read_zip_directory(file, path);
  for (std::size_t i = 0; i < plan.programs.size(); ++i) {
    PlannedProgram& program = plan.programs[i];
    if (program.model.empty()) continue;
    const std::string name = model_member(program);
    const bool inside = std::ranges::any_of(
        entries, [&](const runtime::ZipEntry& entry) { return entry.name == name; });
    if (!inside && !std::filesystem::exists(program.model))
      throw UserError(ExitStatus::InvalidInput, path + ": the model '" + program.name +
                                                    "' is not in it, and not at " + program.model +
                                                    " (digest " + program.digest + ")");
    if (!inside) continue;
    const std::string text = member(file, entries, name, path);
    if (runtime::digest_of(runtime::as_bytes(text)) != program.digest)
      throw UserError(ExitStatus::InvalidInput,
                      path + ": " + name + " is not the model that was measured");
    std::filesystem::create_directories(folder + "/models");
    // By its number: names of programs come from strangers, and may be no file names.
    program.model =
        std::filesystem::absolute(folder + "/models/" + std::to_string(i) + ".onnx").string();
    runtime::OutputFile copy(program.model);
    copy.write(runtime::as_bytes(text));
    copy.finish();
  }
}

}  // namespace polyte::lab
