#include "schedule/templates/template_text.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "schedule/script/line_parser.h"
#include "schedule/script/script_text.h"
#include "schedule/templates/structures.h"
#include "support/error.h"
#include "support/join_words.h"

namespace polyte::schedule {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTable = "templates.table";
constexpr const char* kTemplate = ".sched";  // a fragment for `include` ends in .part

using Texts = std::map<std::string, std::string>;  // by file name

// One file on its way into a set. Problems are collected, those of all files at once: LineProblem
// ends a line, never the file.
//
// A line stays text here. What is read of it is what has to be known before roles are: the holes,
// the params, the loops around the nest (the cost model prices their order), and that the words
// exist. The rest is parsed when roles have become names (expand_template.cc).
class TemplateParser {
 public:
  TemplateParser(const Texts& texts, std::string place, std::vector<std::string>& problems)
      : texts_(texts), place_(std::move(place)), problems_(problems) {}

  TemplateFile run(const std::string& file) {
    result_.text = texts_.at(file);
    result_.origin = place_ + file;
    result_.summary = summary_of(result_.text);
    read(file);
    if (nests_ != 1)
      report(result_.origin, 1, "a template has one nest, here are " + std::to_string(nests_));
    return std::move(result_);
  }

 private:
  const Texts& texts_;
  const std::string place_;
  std::vector<std::string>& problems_;
  TemplateFile result_;
  const Structure* structure_ = nullptr;  // null: not known, which was said
  std::vector<std::string> open_;         // files that are being read, outermost first
  int nests_ = 0;

  void report(const std::string& origin, int line, const std::string& text) {
    problems_.push_back(origin + ":" + std::to_string(line) + ": " + text);
  }

  static std::string summary_of(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("# ")) return line.substr(2);
    return "";
  }

  // Once for the file itself and once for each fragment that it includes, whose lines stand in
  // the place of the `include`. Only the outermost file has a header.
  void read(const std::string& file) {
    const std::string origin = place_ + file;
    open_.push_back(file);
    const std::vector<LogicalLine> lines = logical_lines(texts_.at(file));
    if (lines.empty()) report(origin, 1, "the file is empty");
    for (std::size_t i = 0; i < lines.size(); ++i) {
      try {
        if (!lines[i].problem.empty()) LineParser::fail(lines[i].problem);
        if (i == 0 && open_.size() == 1)
          header(lines[i].text);
        else
          read_line(lines[i], origin);
      } catch (const LineProblem& problem) {
        report(origin, lines[i].line, problem.text);
      }
    }
    open_.pop_back();
  }

  void header(const std::string& text) {
    LineParser line(text);
    if (!line.accept("template"))
      LineParser::fail("a template begins with: template NAME for STRUCTURE");
    result_.name = line.name("a name");
    if (!line.accept("for"))
      LineParser::fail("a template begins with: template NAME for STRUCTURE");
    result_.structure = line.name("a structure");
    line.expect_end();
    // The table and the user name a template by its file.
    if (place_ + result_.name + kTemplate != result_.origin)
      LineParser::fail("the template " + result_.name + " stands in a file of its name, " +
                       result_.name + kTemplate);
    const auto& known = structures();
    const auto structure = std::ranges::find(known, result_.structure, &Structure::name);
    if (structure == known.end()) {
      std::vector<std::string> names;
      for (const Structure& each : known) names.emplace_back(each.name);
      LineParser::fail("no structure '" + result_.structure + "' (there are " + join_words(names) +
                       ")");
    }
    structure_ = &*structure;
  }

  // Only what the cost model can fill for this structure may be a hole.
  void check_hole(const std::string& name, const std::vector<std::string>& known) const {
    if (!structure_ || std::ranges::find(known, name) != known.end()) return;
    LineParser::fail("nothing fills " + name + " = ? of a " + result_.structure +
                     (known.empty() ? "" : " (what can be filled: " + join_words(known) + ")"));
  }

  void read_line(const LogicalLine& line, const std::string& origin) {
    const std::vector<Token> tokens = tokenize(line.text);
    const std::string& word = tokens.front().text;
    if (word == "include") return include(line.text);
    if (word == "loop") return loops(line.text);
    if (word == "param") params(line.text);
    if (word == "nest") ++nests_, around(tokens);
    check_word(tokens);
    result_.lines.push_back({line, origin});
  }

  // The word that says what the line does stands first, or behind `each GROUP:`, which may be
  // repeated.
  static void check_word(const std::vector<Token>& tokens) {
    std::size_t at = 0;
    while (at + 3 < tokens.size() && tokens[at].text == "each" && tokens[at + 2].text == ":")
      at += 3;
    if (tokens[at].text != "let") check_directive_word(tokens[at].text);
  }

  void include(const std::string& text) {
    const std::size_t begin = text.find('"') + 1, end = text.find('"', begin);
    if (begin == 0 || end != text.size() - 1) LineParser::fail("expected include \"FILE\"");
    const std::string file = text.substr(begin, end - begin);
    if (!texts_.contains(file))
      LineParser::fail("include \"" + file + "\": there is no such file beside it");
    if (std::ranges::find(open_, file) != open_.end())
      LineParser::fail("a cycle: " + file + " includes itself");
    read(file);
  }

  // loop lane = ?, row = ?
  void loops(const std::string& text) {
    LineParser line(text);
    line.expect("loop");
    do {
      const std::string name = line.name("a role");
      line.expect("=");
      if (!line.accept("?")) LineParser::fail("a loop of a template is a hole: " + name + " = ?");
      if (structure_) check_hole(name, structure_->loops);
      result_.loop_holes.insert(name);
    } while (line.accept(","));
    line.expect_end();
  }

  // param Mr = ?, Nr = 2*L in {L, 2*L}: the value and the sizes that it may have, as text, since
  // L is the target's.
  void params(const std::string& text) {
    for (const Operation& operation : parse_directive(text)) {
      const SetParam* param = std::get_if<SetParam>(&operation);
      if (!param) continue;  // where, behind it
      if (structure_ && param->value.text == "?") check_hole(param->name, structure_->params);
      TemplateFile::Param known{param->value.text, {}};
      for (const Size& size : param->domain) known.domain.push_back(size.text);
      if (!result_.params.try_emplace(param->name, known).second)
        LineParser::fail("the template has a param " + param->name + " already");
    }
  }

  // The plain loops at the beginning of the nest, free > lane.o > row.o > { .., up to a brace, a
  // loop in brackets ([m.i] unrolled, <n.i> vector) or the statement. Every second token is a
  // `>`.
  void around(const std::vector<Token>& tokens) {
    for (std::size_t i = 1; i + 1 < tokens.size() && tokens[i].kind == Token::Kind::Name; i += 2) {
      if (tokens[i].text == "par")
        LineParser::fail("threads are given by a line of their own: parallel update:threads");
      if (tokens[i + 1].text != ">") break;  // the statement
      result_.around.push_back(tokens[i].text);
    }
  }
};

// contraction: contraction_blocked where Kc > 0. Conditions are kept as text: the facts that they
// ask for are those of a nest, and exist only then.
void parse_table(const std::string& text, const std::string& origin, TemplateSet& set,
                 std::vector<std::string>& problems) {
  for (const LogicalLine& row : logical_lines(text)) {
    const std::string where = origin + ":" + std::to_string(row.line);
    try {
      if (!row.problem.empty()) LineParser::fail(row.problem);
      LineParser line(row.text);
      TemplateChoice choice{line.name("a structure"), "", "", where};
      line.expect(":");
      choice.name = line.name("a template");
      if (line.accept("where")) choice.condition = line.raw(false);
      line.expect_end();
      const auto file = set.files.find(choice.name);
      if (file == set.files.end())
        LineParser::fail("there is no template " + choice.name);
      else if (file->second.structure != choice.structure)
        LineParser::fail(choice.name + " is a template for " + file->second.structure + ", not " +
                         choice.structure);
      set.choices.push_back(std::move(choice));
    } catch (const LineProblem& problem) {
      problems.push_back(where + ": " + problem.text);
    }
  }
}

// `texts` is what an include may name, `files` are those of one place to be parsed.
void add_templates(const Texts& texts, const Texts& files, const std::string& place,
                   TemplateSet& set, std::vector<std::string>& problems) {
  for (const auto& [file, text] : files) {
    if (!file.ends_with(kTemplate)) continue;
    TemplateFile parsed = TemplateParser(texts, place, problems).run(file);
    if (!parsed.name.empty()) set.files[parsed.name] = std::move(parsed);
  }
}

TemplateSet parse_own() {
  const Texts& texts = own_template_texts();
  TemplateSet set;
  std::vector<std::string> problems;
  add_templates(texts, texts, "templates/", set, problems);
  parse_table(texts.at(kTable), std::string("templates/") + kTable, set, problems);
  POLYTE_CHECK(problems.empty(), "our templates can be read: " + join_words(problems));
  return set;
}

Texts read_folder(const std::string& folder) {
  constexpr std::uintmax_t kLimit = 1U << 20U;
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw UserError(ExitStatus::InvalidInput,
                    "--templates " + folder + ": there is no such folder");
  Texts texts;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string file = entry.path().filename().string();
    if (!file.ends_with(kTemplate) && !file.ends_with(".part") && file != kTable) continue;
    if (entry.file_size(error) > kLimit || error)
      throw UserError(ExitStatus::ResourceLimit,
                      entry.path().string() + ": more than 1 MiB of text");
    std::ostringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    texts[file] = text.str();
  }
  if (error)
    throw UserError(ExitStatus::InvalidInput, "--templates " + folder + ": cannot be read");
  if (texts.empty())
    throw UserError(ExitStatus::InvalidInput,
                    "--templates " + folder +
                        ": no template in it (NAME.sched; polyte templates -o DIR copies ours)");
  return texts;
}

}  // namespace

bool TemplateFile::mentions(const std::string& role) const {
  return std::ranges::any_of(lines, [&](const Line& each) {
    return std::ranges::any_of(tokenize(each.line.text),
                               [&](const Token& token) { return token.text == role; });
  });
}

const TemplateSet& own_templates() {
  static const TemplateSet kOwn = parse_own();
  return kOwn;
}

// A folder lies over our own files: `texts` has each name once, the folder's where both have it,
// so that our templates include a changed fragment, too. Each file is parsed with the place that
// messages name.
TemplateSet templates_with(const std::string& folder) {
  const Texts given = read_folder(folder);
  Texts texts = own_template_texts();
  for (const auto& [file, text] : given) texts[file] = text;
  TemplateSet set;
  std::vector<std::string> problems;
  const std::string place = folder + (folder.ends_with("/") ? "" : "/");
  Texts ours = own_template_texts();
  for (const auto& [file, text] : given) ours.erase(file);
  add_templates(texts, ours, "templates/", set, problems);
  add_templates(texts, given, place, set, problems);
  const bool has_table = given.contains(kTable);
  parse_table(texts.at(kTable), (has_table ? place : "templates/") + kTable, set, problems);
  // A template of the folder that its table does not name comes before all others, without a
  // condition: putting a file there is enough to try it.
  std::vector<TemplateChoice> first;
  for (const auto& [name, file] : set.files)
    if (given.contains(name + kTemplate) &&
        std::ranges::find(set.choices, name, &TemplateChoice::name) == set.choices.end())
      first.push_back({file.structure, name, "", file.origin});
  set.choices.insert(set.choices.begin(), first.begin(), first.end());
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, problems);
  return set;
}

std::shared_ptr<const TemplateSet> load_templates(const std::string& folder) {
  return folder.empty() ? nullptr : std::make_shared<const TemplateSet>(templates_with(folder));
}

}  // namespace polyte::schedule
