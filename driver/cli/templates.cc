// polyte templates: Polyte's manual schedules, to read, to copy and to change (docs/templates.md).
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "driver/cli/cli.h"
#include "driver/cli/output_files.h"
#include "schedule/templates/structures.h"

namespace polyte::cli {
namespace {

struct TemplatesOptions {
  std::string name, folder, output;
  bool json = false;
};

// The structure's choices, in order: the table as a person reads it.
void print_structure(const schedule::Structure& structure, const schedule::TemplateSet& set) {
  std::cout << structure.name << ": " << structure.what << "\n";
  // A template that is taken under several conditions is described once.
  std::set<std::string> told;
  for (const schedule::TemplateChoice& choice : set.choices) {
    if (choice.structure != structure.name) continue;
    const schedule::TemplateFile& file = set.files.at(choice.name);
    std::cout << "  " << choice.name
              << (choice.condition.empty() ? "" : "   where " + choice.condition) << "\n";
    if (told.insert(choice.name).second) std::cout << "      " << file.summary << "\n";
  }
  std::cout << "\n";
}

nlohmann::json to_json(const schedule::TemplateSet& set) {
  nlohmann::json rows = nlohmann::json::array();
  for (const schedule::TemplateChoice& choice : set.choices) {
    const schedule::TemplateFile& file = set.files.at(choice.name);
    rows.push_back({{"structure", choice.structure},
                    {"template", choice.name},
                    {"where", choice.condition},
                    {"file", file.origin},
                    {"summary", file.summary}});
  }
  return {{"templates", rows}};
}

std::string names_of(const schedule::TemplateSet& set) {
  std::string names;
  for (const auto& [name, file] : set.files) names += (names.empty() ? "" : ", ") + name;
  return names;
}

// Existing files stay: they may be a person's work.
// All names are checked before the first file is written.
int copy(const std::string& folder) {
  make_folder(folder);
  for (const auto& [file, text] : schedule::own_template_texts()) {
    const std::string path = folder + "/" + file;
    if (std::ifstream(path).good())
      throw UserError(ExitStatus::Usage, "-o " + folder + ": " + path + " is there already");
  }
  for (const auto& [file, text] : schedule::own_template_texts())
    write_file(folder + "/" + file, text);
  std::cout << folder << ": " << schedule::own_template_texts().size() << " files, for --templates "
            << folder << "\n";
  return 0;
}

// A name, --json and -o each ask for something else.
void check_combination(const TemplatesOptions& options) {
  std::vector<std::string> problems;
  if (options.json && !options.name.empty())
    problems.push_back("--json: the table of all templates, expected no name, got '" +
                       options.name + "'");
  if (!options.output.empty() && (options.json || !options.name.empty()))
    problems.push_back("-o " + options.output + ": copies all templates, expected no " +
                       (options.json ? "--json" : "name, got '" + options.name + "'"));
  if (!options.output.empty() && !options.folder.empty())
    problems.push_back("-o " + options.output + ": copies our templates, expected no --templates");
  if (!problems.empty()) throw UserError(ExitStatus::Usage, problems);
}

int run(const TemplatesOptions& options) {
  check_combination(options);
  if (!options.output.empty()) return copy(options.output);
  const auto given = schedule::load_templates(options.folder);
  const schedule::TemplateSet& set = given ? *given : schedule::own_templates();
  if (options.json) {
    std::cout << to_json(set).dump(2) << "\n";
    return 0;
  }
  if (options.name.empty()) {
    for (const schedule::Structure& structure : schedule::structures())
      print_structure(structure, set);
    return 0;
  }
  const auto file = set.files.find(options.name);
  if (file == set.files.end())
    throw UserError(ExitStatus::Usage, "there is no template '" + options.name + "' (there are " +
                                           names_of(set) + ")");
  std::cout << file->second.text;
  return 0;
}

}  // namespace

void add_templates(const Verb& app) {
  const Verb verb = app.verb(
      "templates", "Polyte's manual schedules: which there are, when each is taken, their text");
  auto options = std::make_shared<TemplatesOptions>();
  verb.option("name", options->name, "prints this template");
  add_templates_option(verb, options->folder);
  verb.option("-o,--output", options->output, "copies all of ours into a folder, to be changed");
  verb.flag("--json", options->json, "the table as JSON");
  verb.example("polyte templates contraction_rows_outside");
  verb.calls([options] { return run(*options); });
}

}  // namespace polyte::cli
