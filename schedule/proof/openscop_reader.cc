// OpenScop, read as what isl reads. A relation is a header of six sizes and a row per constraint,
//
//   e/i | outputs | inputs | locals | parameters | 1        0: sum == 0, 1: sum >= 0
//
// of which only SCATTERING is used: the domain and the accesses are those of the Program, which
// the file is judged against. The parts of a union are separate matrices, joined by ';' in isl's
// text:
//
//   1 4 1 1 0 0            S[i0_] -> [c0_] : 0 - 1*c0_ + 2*i0_ = 0
//   0 -1 2 0
//
// The text is not trusted: sizes are limited before memory is taken, and numbers are parsed in
// full. What a name or a length means is asked later, of isl's text (foreign_schedule.cc).
#include <algorithm>
#include <charconv>
#include <sstream>

#include "schedule/proof/isl_names.h"
#include "schedule/proof/openscop.h"
#include "support/error.h"

namespace polyte::schedule {
namespace {

constexpr std::int64_t kMost = 10000;  // rows, columns, statements

struct Line {
  int number = 0;
  std::vector<std::string> words;
};

// Without comments and empty lines, each with its number in the file for messages. OpenScop is
// made of lines: how many words one has tells a matrix from the number of its parts (`matrices`).
std::vector<Line> numbered_lines(const std::string& text) {
  std::vector<Line> lines;
  std::istringstream stream(text);
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    Line one{++number, {}};
    std::istringstream words(line.substr(0, line.find('#')));
    for (std::string word; words >> word;) one.words.push_back(word);
    if (!one.words.empty()) lines.push_back(std::move(one));
  }
  return lines;
}

struct Matrix {
  std::int64_t outputs = 0, inputs = 0, locals = 0, params = 0;
  std::vector<std::vector<std::int64_t>> rows;
  int line = 0;
};

// " + 2", " - 3", as isl has it.
std::string signed_text(std::int64_t value) {
  const std::string digits = std::to_string(value);
  return value < 0 ? " - " + digits.substr(1) : " + " + digits;
}

class Reader {
 public:
  Reader(const std::string& text, const ir::Program& program, std::string origin)
      : lines_(numbered_lines(text)), program_(program), origin_(std::move(origin)) {}

  // In the order of the format: the language, the context (its rows are not used: the Program has
  // its own), the names of parameters, the statements, and extensions up to the end.
  std::string run() {
    expect("<OpenScop>");
    next("a language");
    const Matrix context = matrices("CONTEXT").front();
    read_params(context.params);
    const std::int64_t count = number("the number of statements");
    if (count != static_cast<std::int64_t>(program_.statements.size()))
      fail("has " + std::to_string(count) + " statements, the program has " +
           std::to_string(program_.statements.size()) + ": " + names_of_statements());
    std::string text;
    for (std::int64_t i = 0; i < count; ++i)
      text += (i == 0 ? "" : "; ") + statement(program_.statements[static_cast<std::size_t>(i)]);
    finish();
    std::string params;
    for (const std::string& param : params_) params += (params.empty() ? "" : ", ") + param;
    return "[" + params + "] -> { " + text + " }";
  }

 private:
  std::vector<Line> lines_;
  const ir::Program& program_;
  std::string origin_;
  std::size_t at_ = 0;
  std::vector<std::string> params_;

  // At the line that was read last.
  [[noreturn]] void fail(const std::string& message) const {
    const int line =
        lines_.empty() ? 1 : lines_[std::min(at_ == 0 ? 0 : at_ - 1, lines_.size() - 1)].number;
    throw UserError(ExitStatus::InvalidInput,
                    origin_ + ":" + std::to_string(line) + ": " + message);
  }

  std::string names_of_statements() const {
    std::string text;
    for (const ir::Statement& s : program_.statements) text += (text.empty() ? "" : ", ") + s.name;
    return text;
  }

  const Line& next(const std::string& what) {
    if (at_ == lines_.size()) fail("expected " + what + ", got the end of the file");
    return lines_[at_++];
  }

  bool is(const std::string& word) const {
    return at_ < lines_.size() && lines_[at_].words[0] == word;
  }

  void expect(const std::string& word) {
    const Line& line = next(word);
    if (line.words[0] != word) fail("expected " + word + ", got '" + line.words[0] + "'");
  }

  std::int64_t integer(const std::string& word, const std::string& what) const {
    std::int64_t value = 0;
    const char* begin = word.data() + (word.starts_with("+") && !word.starts_with("+-") ? 1 : 0);
    const auto [end, error] = std::from_chars(begin, word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size())
      fail("expected " + what + ", got '" + word + "'");
    return value;
  }

  std::int64_t count_of(const std::string& word, const std::string& what) const {
    const std::int64_t value = integer(word, what);
    if (value < 0 || value > kMost)
      fail("expected " + what + " from 0 to " + std::to_string(kMost) + ", got " + word);
    return value;
  }

  std::int64_t number(const std::string& what) {
    const Line& line = next(what);
    if (line.words.size() != 1) fail("expected " + what + " alone in its line");
    return count_of(line.words[0], what);
  }

  // A relation, or a union of several. A union has the number of its parts alone in the first
  // line, where a single relation begins with its six sizes at once.
  std::vector<Matrix> matrices(const std::string& type) {
    expect(type);
    std::int64_t parts = 1;
    if (at_ < lines_.size() && lines_[at_].words.size() == 1) parts = number("the number of parts");
    std::vector<Matrix> result;
    for (std::int64_t i = 0; i < parts; ++i) result.push_back(matrix());
    if (result.empty()) fail(type + " has no parts");
    return result;
  }

  Matrix matrix() {
    const Line& line = next("rows, columns, output, input, local dimensions and parameters");
    if (line.words.size() != 6)
      fail("expected 6 numbers (rows, columns, output, input, local dimensions, parameters), got " +
           std::to_string(line.words.size()));
    std::vector<std::int64_t> sizes;
    for (const std::string& word : line.words) sizes.push_back(count_of(word, "a size"));
    Matrix matrix{sizes[2], sizes[3], sizes[4], sizes[5], {}, line.number};
    // Besides the dimensions: e/i in front and the constant at the end.
    const std::int64_t columns = 2 + sizes[2] + sizes[3] + sizes[4] + sizes[5];
    if (sizes[1] != columns)
      fail("the relation has " + std::to_string(sizes[1]) + " columns, its dimensions make " +
           std::to_string(columns));
    for (std::int64_t i = 0; i < sizes[0]; ++i) {
      const Line& row = next("a row of a relation");
      if (static_cast<std::int64_t>(row.words.size()) != columns)
        fail("expected " + std::to_string(columns) + " numbers, got " +
             std::to_string(row.words.size()));
      std::vector<std::int64_t> values;
      for (const std::string& word : row.words) values.push_back(integer(word, "a number"));
      if (values[0] != 0 && values[0] != 1)
        fail("a row begins with 0 (equality) or 1 (inequality)");
      matrix.rows.push_back(std::move(values));
    }
    return matrix;
  }

  // Names are optional. Where the file has none, its parameters are the Program's in their order;
  // the number of columns has to agree in either case.
  void read_params(std::int64_t count) {
    const std::int64_t provided = number("whether parameters are provided");
    if (provided != 0) {
      expect("<strings>");
      for (; !is("</strings>"); ++at_) {
        if (at_ == lines_.size()) fail("expected </strings>, got the end of the file");
        params_.insert(params_.end(), lines_[at_].words.begin(), lines_[at_].words.end());
      }
      expect("</strings>");
    } else if (count > 0) {
      for (const std::string& param : program_.params) params_.push_back(isl_name(param));
    }
    if (static_cast<std::int64_t>(params_.size()) != count)
      fail("the relations have " + std::to_string(count) + " parameters, " +
           std::to_string(params_.size()) + " are named");
    for (const std::string& param : params_)
      if (isl_name(param) != param) fail("'" + param + "' is no name of a size");
  }

  // Statements have no names in OpenScop: the i-th is the i-th of the Program.
  std::string statement(const ir::Statement& s) {
    const std::int64_t count = number("the number of relations of " + s.name);
    std::string text;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string type = at_ < lines_.size() ? lines_[at_].words[0] : "a relation";
      const std::vector<Matrix> parts = matrices(type);
      if (type != "SCATTERING") continue;
      if (!text.empty()) fail(s.name + " has two scatterings");
      for (const Matrix& part : parts) text += (text.empty() ? "" : "; ") + map_text(s, part);
    }
    if (text.empty()) fail(s.name + " has no scattering");
    for (std::int64_t extensions = number("the number of extensions of " + s.name); extensions > 0;
         --extensions)
      skip_extension();
    return text;
  }

  // <tag> ... </tag>; what is inside is another tool's own.
  void skip_extension() {
    const std::string tag = next("an extension").words[0];
    if (!tag.starts_with("<") || tag.size() < 3)
      fail("expected an extension such as <body>, got '" + tag + "'");
    const std::string close = "</" + tag.substr(1);
    while (!is(close)) next(close);
    next(close);
  }

  void finish() {
    while (!is("</OpenScop>")) {
      if (at_ == lines_.size()) fail("expected </OpenScop>, got the end of the file");
      skip_extension();
    }
    expect("</OpenScop>");
    if (at_ < lines_.size()) fail("has more than one scop, expected one");
  }

  // One matrix as a map of isl. Columns get names that end in a prime, c0', i0', e0', which the
  // name of a size cannot; locals are quantified:
  //
  //   S[i0'] -> [c0'] : exists e0' : 0 - 1*c0' + 1*i0' - 4*e0' = 0 and ...
  std::string map_text(const ir::Statement& s, const Matrix& m) const {
    if (m.params != static_cast<std::int64_t>(params_.size()))
      fail("the scattering of " + s.name + " has " + std::to_string(m.params) +
           " parameters, expected " + std::to_string(params_.size()));
    const auto names = [](const std::string& stem, std::int64_t count) {
      std::vector<std::string> result;
      for (std::int64_t i = 0; i < count; ++i) result.push_back(stem + std::to_string(i) + "'");
      return result;
    };
    const std::vector<std::string> outputs = names("c", m.outputs), inputs = names("i", m.inputs),
                                   locals = names("e", m.locals);
    std::vector<std::string> columns{outputs};
    for (const auto* more : {&inputs, &locals, &params_})
      columns.insert(columns.end(), more->begin(), more->end());
    std::string rows;
    for (const std::vector<std::int64_t>& row : m.rows) {
      std::string sum = std::to_string(row.back());
      for (std::size_t i = 0; i < columns.size(); ++i)
        if (row[i + 1] != 0) sum += signed_text(row[i + 1]) + "*" + columns[i];
      rows += (rows.empty() ? "" : " and ") + sum + (row[0] == 0 ? " = 0" : " >= 0");
    }
    const auto listed = [](const std::vector<std::string>& list) {
      std::string text;
      for (const std::string& name : list) text += (text.empty() ? "" : ", ") + name;
      return text;
    };
    if (!rows.empty() && !locals.empty()) rows = "exists " + listed(locals) + " : " + rows;
    return isl_name(s.name) + "[" + listed(inputs) + "] -> [" + listed(outputs) + "]" +
           (rows.empty() ? "" : " : " + rows);
  }
};

}  // namespace

// The first word decides; of a large file of another kind only the beginning is split into words.
bool is_openscop(const std::string& text) {
  const std::vector<Line> lines = numbered_lines(text.substr(0, 4096));
  return !lines.empty() && lines[0].words[0] == "<OpenScop>";
}

std::string isl_text_of_openscop(const std::string& text, const ir::Program& program,
                                 const std::string& origin) {
  return Reader(text, program, origin).run();
}

}  // namespace polyte::schedule
