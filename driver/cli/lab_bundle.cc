// polyte lab bundle, reproduce: a run in one file, and the same again elsewhere.
#include <filesystem>
#include <iostream>

#include "driver/cli/cli.h"
#include "driver/cli/lab_verbs.h"
#include "driver/lab/bundle.h"
#include "driver/lab/reproduce.h"
#include "driver/lab/runner.h"
#include "support/file_kind.h"

namespace polyte::cli {
namespace {

namespace fs = std::filesystem;

struct BundleVerb {
  std::string folder, output;
};

// results.zip of results and of results/; a dot in a folder's name begins no ending.
std::string path_beside(const std::string& folder) {
  fs::path path = fs::path(folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  std::error_code ignored;  // a folder that is not there is refused by write_bundle
  if (path.filename() == "." || path.filename() == "..") path = fs::canonical(path, ignored);
  return path.string() + ".zip";
}

int run_lab_bundle(const BundleVerb& verb) {
  const std::string path = verb.output.empty() ? path_beside(verb.folder) : verb.output;
  lab::write_bundle(verb.folder, path);
  std::cout << path << ": " << fs::file_size(path) << " bytes; polyte lab reproduce " << path
            << "\n";
  return 0;
}

struct ReproduceVerb {
  std::string bundle, out;
  bool json = false, quiet = false;
};

int run_lab_reproduce(const ReproduceVerb& verb) {
  if (fs::is_directory(verb.bundle))
    throw UserError(ExitStatus::Usage, verb.bundle +
                                           ": is a folder, expected a bundle; polyte lab bundle " +
                                           verb.bundle + " makes one of a result folder");
  if (fs::is_regular_file(verb.bundle))
    if (const auto known = file_kind(verb.bundle); !known || known->kind != FileKind::Zip)
      throw UserError(ExitStatus::InvalidInput,
                      verb.bundle + ": " + (known ? "is " + known->text : "no zip archive") +
                          ", expected a bundle; polyte lab bundle makes one of a result folder");
  lab::Bundle bundle = lab::read_bundle(verb.bundle);
  const std::string folder =
      verb.out.empty() ? fs::path(verb.bundle).replace_extension(".again").string() : verb.out;
  lab::unpack_models(verb.bundle, folder, bundle.plan);
  const lab::RunResult run = run_lab_plan(bundle.plan, folder, verb.quiet);
  // 130: what a shell reports for a process that Ctrl-C ended (128 + SIGINT).
  if (run.interrupted) return 130;
  const lab::Reproduction reproduction = lab::reproduce(lab::evaluate(bundle.plan, bundle.records),
                                                        lab::evaluate(bundle.plan, run.records));
  if (verb.json)
    std::cout << lab::to_json(reproduction)
                     .dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
              << "\n";
  else
    std::cout << lab::reproduction_text(reproduction);
  return reproduction.agrees() ? 0 : static_cast<int>(ExitStatus::Refused);
}

}  // namespace

void add_lab_bundle(const Verb& lab) {
  const Verb verb = lab.verb(
      "bundle", "a run as one file: plan, Programs, scripts, machine, versions, all samples");
  auto options = std::make_shared<BundleVerb>();
  verb.option("folder", options->folder, "the result folder").required();
  verb.option("-o,--output", options->output, "the file; else the folder's name with .zip");
  verb.example("polyte lab bundle results -o results.zip");
  verb.calls(
      [options] { return lab_with(options->folder, [&] { return run_lab_bundle(*options); }); });
}

void add_lab_reproduce(const Verb& lab) {
  const Verb verb = lab.verb(
      "reproduce", "run a bundle's plan here: what agrees, row by row; exit 1 where one does not");
  auto options = std::make_shared<ReproduceVerb>();
  verb.option("bundle", options->bundle, "a file of polyte lab bundle").required();
  verb.option("-o,--out", options->out, "the result folder; else the bundle's name with .again");
  verb.flag("--json", options->json, "as JSON");
  verb.flag("--quiet", options->quiet, "no progress on stderr");
  verb.example("polyte lab reproduce results.zip --out again");
  verb.calls(
      [options] { return lab_with(options->bundle, [&] { return run_lab_reproduce(*options); }); });
}

}  // namespace polyte::cli
