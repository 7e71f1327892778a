// A script file: its header, then one logical line per directive. A problem ends its line; the next
// line is still read, so that every problem of a file is reported at once.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>
#include <utility>

#include "schedule/script/directive_table.h"
#include "schedule/script/script_text.h"
#include "support/join_words.h"
#include "support/nearest_word.h"

namespace polyte::schedule {

namespace {

std::string all_words() {
  std::string words;
  for (const DirectiveRow& row : all_directives())
    if (row.parse) words += (words.empty() ? "" : ", ") + std::string(row.word);
  return words;
}

// An example of each directive that a person writes first, for errors in such lines.
constexpr std::pair<const char*, const char*> kDirectiveForms[] = {
    {"split", "split m by 8"},
    {"tile", "tile (m, n) by (8, 16)"},
    {"reorder", "reorder m > k > n"},
    {"vectorize", "vectorize n.i, after split n by 8"},
    {"unroll", "unroll n.i, after split n by 8"},
    {"parallel", "parallel m"},
    {"fuse", "fuse m, n as q"},
    {"stage", "stage acc at m.o in register"},
    {"compute_at", "compute_at acc at m"}};

std::string form_of(const std::string& word) {
  for (const auto& [known, form] : kDirectiveForms)
    if (word == known) return std::string("; for example: ") + form;
  return "";
}

// The directive that was probably meant: one letter away, or two of a longer word.
std::string nearest_word(const std::string& word) {
  std::string nearest;
  std::size_t least = word.size() > 4 ? 3 : 2;
  for (const DirectiveRow& row : all_directives()) {
    const std::size_t away = edit_distance(word, row.word);
    if (row.parse && away < least) least = away, nearest = row.word;
  }
  return nearest;
}

}  // namespace

void check_directive_word(const std::string& word) {
  const auto is_word = [&](const DirectiveRow& row) { return row.parse && word == row.word; };
  if (std::ranges::any_of(all_directives(), is_word)) return;
  if (word == "schedule")
    LineParser::fail("a script has one header, on its first line; what is included has none");
  const std::string meant = nearest_word(word);
  LineParser::fail(
      "'" + word + "' is not a directive" +
      (meant.empty() ? " (" + all_words() + " are)" : ": did you mean " + meant + "?"));
}

// The directive's row reads the rest of the line. A problem in it gets the example line of that
// directive, which shows the syntax sooner than a grammar would.
std::vector<Operation> parse_directive(const std::string& text) {
  LineParser line(text);
  const std::string word = line.name("a directive");
  check_directive_word(word);
  const auto row = std::ranges::find_if(
      all_directives(), [&](const DirectiveRow& each) { return each.parse && word == each.word; });
  std::vector<Operation> operations;
  try {
    row->parse(line, operations);
    line.expect_end();
  } catch (const LineProblem& problem) {
    throw LineProblem{problem.text + form_of(word)};
  }
  return operations;
}

namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// `exact`, `unsafe`, or `reassoc k, m` with the loops separated by commas, blanks or both.
void parse_contract(const std::vector<std::string>& words, std::size_t at, Script& script) {
  if (words[at] == "exact" || words[at] == "unsafe") {
    script.contract = words[at] == "exact" ? Contract::Exact : Contract::Unsafe;
    if (at + 1 < words.size())
      throw LineProblem{"'" + words[at + 1] + "' is not expected after " + words[at]};
    return;
  }
  if (words[at] != "reassoc")
    throw LineProblem{"'" + words[at] + "' is no type or contract (exact, reassoc LOOPS, unsafe)"};
  script.contract = Contract::Reassoc;
  // All words of the list with one comma behind each, to be split at commas alone.
  std::string loops;
  for (std::size_t i = at + 1; i < words.size(); ++i)
    loops += words[i] + (words[i].back() == ',' ? "" : ",");
  std::istringstream stream(loops);
  for (std::string loop; std::getline(stream, loop, ',');)
    if (!loop.empty()) script.reassociable.push_back(loop);
  if (script.reassociable.empty())
    throw LineProblem{"reassoc names the loops whose order may change"};
}

constexpr int kMostThreads = 1024;

// with 8 threads
void parse_threads(const std::vector<std::string>& words, std::size_t& at, Script& script) {
  if (at >= words.size() || words[at] != "with") return;
  const std::string count = at + 1 < words.size() ? words[at + 1] : "";
  const char* end = count.data() + count.size();
  const auto [rest, error] = std::from_chars(count.data(), end, script.threads);
  const bool has_unit =
      at + 2 < words.size() && (words[at + 2] == "thread" || words[at + 2] == "threads");
  if (error != std::errc() || rest != end || script.threads < 1 || script.threads > kMostThreads ||
      !has_unit)
    throw LineProblem{"'with' says how many threads share the loops, 1 to " +
                      std::to_string(kMostThreads) + ": with 8 threads"};
  at += 3;
}

// schedule NAME/INT for NAME[@DIGEST] [on TARGET] [with N threads] [TYPE] [contract]
void parse_header(const std::string& text, Script& script) {
  const std::vector<std::string> words = words_of(text);
  if (words.size() < 4 || words[0] != "schedule" || words[2] != "for")
    throw LineProblem{
        "a script begins with: schedule NAME/1 for PROGRAM@DIGEST on CPU TYPE CONTRACT, got '" +
        join_words(std::span(words).first(std::min<std::size_t>(words.size(), 4)), " ") + "'"};
  script.name = words[1];
  const std::size_t at_sign = words[3].find('@');
  script.program = words[3].substr(0, at_sign);
  if (at_sign != std::string::npos) script.digest = words[3].substr(at_sign + 1);
  std::size_t at = 4;
  if (at + 1 < words.size() && words[at] == "on") {
    script.target = words[at + 1];
    at += 2;
  }
  parse_threads(words, at, script);
  if (at < words.size()) {
    if (const auto dtype = dtype_from_string(words[at])) {
      script.dtype = *dtype;
      script.says_dtype = true;
      ++at;
    }
  }
  script.says_contract = at < words.size();
  if (script.says_contract) parse_contract(words, at, script);
}

// The directives of a file: a stack of one for transactions, one of blocks for `specialize`.
class ScriptParser {
 public:
  ScriptParser(const std::string& origin, const Includer& includer)
      : origin_(origin), includer_(includer) {}

  Script run(std::string_view text) {
    const std::vector<LogicalLine> lines = logical_lines(text);
    if (lines.empty()) report(1, "the script is empty");
    parse_lines(lines, true);
    if (transaction_) report(transaction_->line, "'{' is not closed");
    close_blocks(-1);
    // Without a header and without a single directive the file is something else, and what is
    // wrong with each of its lines says nothing.
    if (script_.name.empty() && script_.directives.empty() && problems_.size() > 1)
      problems_.resize(1);
    if (!problems_.empty()) throw UserError(ExitStatus::InvalidInput, problems_);
    return script_;
  }

 private:
  const std::string origin_;
  const Includer& includer_;
  std::vector<IncludedText> open_files_;  // outermost first: what is being included
  std::vector<std::string> open_names_;   // as written
  Script script_;
  std::optional<Directive> transaction_;
  std::vector<std::string> problems_;

  // An open `specialize` and its indentation: lines further in belong to it.
  struct Block {
    Directive directive;
    int indent = 0;
    bool in_else = false;
    std::vector<Directive>& lines() {
      Specialize& branches = std::get<Specialize>(directive.operation);
      return in_else ? branches.otherwise : branches.then;
    }
  };
  std::vector<Block> blocks_;

  // A `specialize` ends at the first line that is not further in than itself, as blocks do in
  // Python. Inner blocks are then complete directives of the block around them, or of the
  // script:
  //
  //   specialize M >= 64
  //     split m by 8
  //     specialize N >= 64
  //       split n by 8
  //   split k by 4          closes both
  void close_blocks(int indent) {
    while (!blocks_.empty() && indent <= blocks_.back().indent) {
      Directive done = std::move(blocks_.back().directive);
      if (std::get<Specialize>(done.operation).then.empty())
        report(done.line, "specialize needs directives below it, further in");
      blocks_.pop_back();
      add(std::move(done));
    }
  }

  void add(Directive directive) {
    (blocks_.empty() ? script_.directives : blocks_.back().lines()).push_back(std::move(directive));
  }

  // `else` belongs to the innermost open `specialize` that is exactly as far in: blocks further
  // in end here, and so does one that has had its `else`.
  void open_else(const LogicalLine& line) {
    while (!blocks_.empty() && line.indent < blocks_.back().indent)
      close_blocks(blocks_.back().indent);
    if (!blocks_.empty() && blocks_.back().in_else) close_blocks(blocks_.back().indent);
    if (blocks_.empty() || blocks_.back().indent != line.indent || blocks_.back().in_else)
      throw LineProblem{"'else' without a specialize above it, as far in"};
    blocks_.back().in_else = true;
  }

  // A problem ends its line only. Lines of an included file are reported by that file's name,
  // since `include` reads them by the same loop.
  void parse_lines(const std::vector<LogicalLine>& lines, bool has_header) {
    bool is_header = has_header;
    for (const LogicalLine& line : lines) {
      try {
        if (!line.problem.empty()) throw LineProblem{line.problem};
        if (is_header)
          parse_header(line.text, script_);
        else if (is_include(line.text))
          include(line);
        else
          parse_line(line);
      } catch (const LineProblem& problem) {
        report(line.line, problem.text);
      } catch (const UserError& error) {
        report(line.line, error.what());
      }
      is_header = is_header && line.text.empty();
    }
  }

  static bool is_include(const std::string& text) {
    const std::vector<Token> tokens = tokenize(text);
    return tokens.front().text == "include" && (tokens.size() < 3 || tokens[1].text != "=");
  }

  // include "tiles.sched": the lines of that file, which has no header, in this place and as far in
  // as this line. Blocks that it opens end with it.
  void include(const LogicalLine& line) {
    if (!transaction_) close_blocks(line.indent);
    const std::string& text = line.text;
    const std::size_t begin = text.find('"') + 1, end = text.find('"', begin);
    if (begin == 0 || end != text.size() - 1) throw LineProblem{"expected include \"FILE\""};
    if (!includer_) throw LineProblem{"this script comes from no file: it cannot include one"};
    if (transaction_)
      throw LineProblem{"include stands between directives, not within '{' and '}'"};
    const std::string name = text.substr(begin, end - begin);
    const IncludedText file =
        includer_(name, open_files_.empty() ? origin_ : open_files_.back().path);
    if (std::filesystem::path(origin_).lexically_normal() == file.path)
      throw LineProblem{"a cycle: " + name + " is this script"};
    // The files from the first inclusion of this one to here: a.part includes b.part includes
    // a.part.
    std::string chain;
    for (std::size_t i = 0; i < open_files_.size(); ++i) {
      if (chain.empty() && open_files_[i].path != file.path) continue;
      chain += open_names_[i] + " includes ";
    }
    if (!chain.empty()) throw LineProblem{"a cycle: " + chain + name};
    open_files_.push_back(file);
    open_names_.push_back(name);
    std::vector<LogicalLine> lines = logical_lines(file.text);
    for (LogicalLine& each : lines) each.indent += line.indent;
    parse_lines(lines, false);
    close_blocks(line.indent);
    open_files_.pop_back();
    open_names_.pop_back();
  }

  // The file in hand: empty for the script itself, whose lines have no name in front.
  std::string file() const { return open_names_.empty() ? std::string() : open_files_.back().path; }

  void report(int line, const std::string& text) {
    problems_.push_back((open_names_.empty() ? origin_ : file()) + ":" + std::to_string(line) +
                        ": " + text);
  }

  // Lines outside of braces may end blocks of `specialize`. Within braces indentation means
  // nothing: the lines are the steps of the transaction. Where its `}` says who chose it, as in
  // `}   #: template`, that counts, else what its `{` says.
  void parse_line(const LogicalLine& line) {
    if (!transaction_ && line.text == "else") return open_else(line);
    if (!transaction_) close_blocks(line.indent);
    if (line.text == "{") {
      if (transaction_) throw LineProblem{"a transaction within a transaction"};
      transaction_ = Directive{Transaction{}, line.provenance, line.line, file()};
      return;
    }
    if (line.text == "}") {
      if (!transaction_) throw LineProblem{"'}' without '{'"};
      if (line.provenance != Provenance::Person) transaction_->provenance = line.provenance;
      add(std::move(*transaction_));
      transaction_.reset();
      return;
    }
    const bool is_rest = line.text == kRestHole;  // nest ...
    for (Operation& operation : parse_directive(is_rest ? "nest " + line.text : line.text)) {
      Directive directive = {std::move(operation), line.provenance, line.line, file()};
      if (transaction_)
        std::get<Transaction>(transaction_->operation).steps.push_back(std::move(directive));
      else if (std::holds_alternative<Specialize>(directive.operation))
        blocks_.push_back({std::move(directive), line.indent, false});
      else
        add(std::move(directive));
    }
  }
};

}  // namespace

Script parse_script(std::string_view text, const std::string& origin, const Includer& includer) {
  return ScriptParser(origin, includer).run(text);
}

}  // namespace polyte::schedule
