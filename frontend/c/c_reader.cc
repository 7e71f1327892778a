#include "frontend/c/c_reader.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "frontend/c/c_statements.h"
#include "ir/program_text.h"
#include "support/error.h"
#include "support/stable_sort.h"

namespace polyte::frontend {
namespace {

using namespace c;  // NOLINT: what this folder reads

class ScopReader {
 public:
  ScopReader(const std::vector<Token>& tokens, std::size_t scop, std::size_t end, DType real,
             std::vector<Fault>& faults)
      : tokens_(tokens), scop_(scop), end_(end), names_(real), faults_(faults) {}

  // The order matters: names before the scop are known when its statements are read, and only
  // when all are read is it known which variables are sizes, which are written, and which are
  // used at all.
  ProgramText run(const std::string& fallback_name) {
    std::string name = read_surroundings(tokens_, scop_, names_);
    std::vector<Token> inside(tokens_.begin() + static_cast<std::ptrdiff_t>(scop_) + 1,
                              tokens_.begin() + static_cast<std::ptrdiff_t>(end_));
    // The end of the scop is the end of the file for its statements.
    inside.push_back({TokenKind::End, "", tokens_[end_].line, tokens_[end_].column});
    Statements statements(names_, faults_);
    const std::vector<Node> nodes = statements.run(inside);
    if (nodes.empty() && faults_.empty())
      faults_.push_back({tokens_[scop_].line, tokens_[scop_].column, "the scop has no statements"});
    return write(name.empty() ? fallback_name : name, nodes, statements.assumed());
  }

 private:
  const std::vector<Token>& tokens_;
  std::size_t scop_, end_;
  Names names_;
  std::vector<Fault>& faults_;
  std::set<std::string> extents_;  // sizes that are an extent: C's arrays are not empty

  ProgramText write(const std::string& name, const std::vector<Node>& nodes,
                    const std::vector<ir::Constraint>& assumed) {
    // Before the header, since extents may bring further sizes into its parameter list.
    std::vector<std::pair<int, std::string>> declarations;
    for (const Variable* variable : names_.variables())
      if (variable->read || variable->written) {
        const std::string text = declaration(*variable);
        if (!text.empty()) declarations.emplace_back(variable->at.line, text);
      }
    std::string head = "program " + names_.fresh(name) + "(", where;
    for (const std::string& size : names_.sizes()) head += (head.back() == '(' ? "" : ", ") + size;
    // An array of extent 0 is undefined in C (C11, 6.7.6.2), so these sizes are known to be
    // positive.
    for (const std::string& size : extents_)
      where += (where.empty() ? " where " : ", ") + size + " >= 1";
    for (const ir::Constraint& c : assumed)
      where += (where.empty() ? " where " : ", ") + to_string(c);
    TextWriter writer;
    writer.line(tokens_[scop_].line, head + ")" + where);
    for (const auto& [line, text] : declarations) writer.line(line, text);
    writer.nodes(nodes, "  ");
    return writer.take();
  }

  // never written                                      in
  // written, and the surroundings can see it, or it
  // is read before it is written                       inout
  // written, and used in the scop only                 temp
  std::string declaration(const Variable& variable) {
    if (variable.literal) return constant(variable);
    if (!variable.constant.empty()) return "  const " + variable.name + " = " + variable.constant;
    const bool is_inout = variable.written && (variable.of_interface || variable.read_first);
    const std::string role = is_inout ? "inout " : variable.written ? "temp  " : "in    ";
    Values values(names_);
    std::string extents;
    for (const TreePtr& extent : variable.extents) try {
        if (!extent)
          fail(variable.at,
               "'" + variable.at.text + "' has an extent that is not said: expected x[N]");
        const ir::Affine size = values.expect_affine(extent, "the extent");
        if (const auto symbol = size.as_symbol()) extents_.insert(*symbol);
        extents += (extents.empty() ? "" : ", ") + to_string(size);
      } catch (const Fault& fault) {
        faults_.push_back(fault);
        return "";
      }
    return "  " + role + variable.name + ": " + std::string(to_string(variable.type)) + "[" +
           extents + "]";
  }

  // An integer is written out where it is used (Values::name) and needs no declaration.
  std::string constant(const Variable& variable) {
    Values values(names_);
    const Value number = values.value(variable.literal);
    return number.affine ? "" : "  const " + variable.name + " = " + number.text;
  }
};

[[noreturn]] void throw_faults(std::vector<Fault> faults, const std::string& origin) {
  sort_stably(faults, {}, [](const Fault& fault) { return std::pair(fault.line, fault.column); });
  std::vector<std::string> problems;
  for (const Fault& fault : faults) {
    std::string text = origin + ":" + std::to_string(fault.line) + ":";
    if (fault.column > 0) text += std::to_string(fault.column) + ":";
    text += " " + fault.message;
    // A statement that is put into words twice reports its faults twice.
    if (problems.empty() || problems.back() != text) problems.push_back(std::move(text));
  }
  throw UserError(ExitStatus::InvalidInput, std::move(problems));
}

// The problems of Program text, `c:LINE: ..` each, with the line of C from which that line
// comes.
std::vector<Fault> at_lines_of_c(const UserError& error, const ProgramText& program) {
  std::vector<Fault> faults;
  const std::string text = error.what();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string problem = text.substr(at, end - at);
    at = end + 1;
    std::size_t line = 0;
    const std::size_t number = problem.find(':') + 1, rest = problem.find(": ", number);
    if (rest != std::string::npos) std::from_chars(&problem[number], &problem[rest], line);
    const bool known = line >= 1 && line <= program.lines.size();
    faults.push_back(
        {known ? program.lines[line - 1] : 1, 0, known ? problem.substr(rest + 2) : problem});
  }
  return faults;
}

// "src/jacobi-2d.c" is jacobi_2d: the name of a Program where no function is around the scop.
std::string stem_of(const std::string& origin) {
  const std::size_t begin = origin.find_last_of('/') + 1;
  std::string stem = origin.substr(begin, origin.find('.', begin) - begin);
  std::replace_if(
      stem.begin(), stem.end(),
      [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return stem.empty() || std::isalpha(static_cast<unsigned char>(stem[0])) == 0 ? "scop" + stem
                                                                                : stem;
}

}  // namespace

std::vector<ir::Program> read_c(std::string_view text, const std::string& origin, DType real) {
  std::vector<Fault> faults;
  const TokenFile file = split_tokens(text, faults);
  const std::vector<Token> tokens = expand(file.tokens, file.macros, faults);
  std::vector<ProgramText> texts;
  std::size_t open = tokens.size();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    // A second `scop` before its `endscop` is reported by the statements, which find it inside.
    if (tokens[i].kind == TokenKind::Scop && open == tokens.size()) open = i;
    if (tokens[i].kind != TokenKind::EndScop) continue;
    if (open == tokens.size()) {
      faults.push_back({tokens[i].line, tokens[i].column,
                        "'#pragma endscop' without a '#pragma scop' before it"});
      continue;
    }
    try {
      texts.push_back(ScopReader(tokens, open, i, real, faults).run(stem_of(origin)));
    } catch (const Fault& fault) {
      faults.push_back(fault);
    } catch (const UserError& error) {  // an overflow
      faults.push_back({tokens[open].line, tokens[open].column, error.what()});
    }
    open = tokens.size();
  }
  if (open < tokens.size())
    faults.push_back({tokens[open].line, tokens[open].column,
                      "'#pragma scop' without a '#pragma endscop' after it"});
  if (texts.empty() && faults.empty())
    faults.push_back(
        {1, 1, "expected '#pragma scop' and '#pragma endscop' around the loops to read"});
  if (!faults.empty()) throw_faults(std::move(faults), origin);
  std::vector<ir::Program> programs;
  for (const ProgramText& program : texts) try {
      programs.push_back(ir::parse_program(program.text, "c"));
    } catch (const UserError& error) {
      for (Fault& fault : at_lines_of_c(error, program)) faults.push_back(std::move(fault));
    }
  if (!faults.empty()) throw_faults(std::move(faults), origin);
  return programs;
}

}  // namespace polyte::frontend
