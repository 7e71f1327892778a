#include "schedule/proof/isl_reader.h"

#include <isl/union_map.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "support/error.h"

namespace polyte::schedule {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
// Brackets within each other: isl's parser calls itself for each.
constexpr int kDeepest = 100;
constexpr std::size_t kMostSigns = 8;  // - - - x, the same
constexpr std::size_t kMostWords = 200;
// Of a number: what a counterexample shows has to fit a word.
constexpr std::size_t kMostDigits = 9;

[[noreturn]] void refuse(const std::string& origin, std::size_t line, const std::string& what) {
  throw UserError(ExitStatus::InvalidInput, origin + ":" + std::to_string(line) + ": " + what);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Without what isl takes for a comment.
std::string content(const std::string& line) { return line.substr(0, line.find('#')); }

std::size_t count_of(const std::string& word, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++count;
  return count;
}

// What isl's parser recurses into, or a number cannot hold. isl reads by recursive descent
// without a bound on depth, so that a file of a million brackets would exhaust the stack before
// any error. These are counted over all of the text, in a single pass before isl sees any of it.
class Limits {
 public:
  explicit Limits(const std::string& origin) : origin_(origin) {}

  void look_at(const std::string& line) {
    ++line_;
    words_ += count_of("not", line) + count_of("exists", line) + count_of("implies", line);
    for (const char c : line) look_at(c);
    if (words_ > kMostWords) refuse_more(kMostWords, "words 'not', 'exists' and 'implies'");
  }

 private:
  const std::string& origin_;
  std::size_t line_ = 0, signs_ = 0, digits_ = 0, words_ = 0;
  int depth_ = 0;

  [[noreturn]] void refuse_more(std::size_t most, const std::string& what) const {
    refuse(origin_, line_, "more than " + std::to_string(most) + " " + what);
  }

  void look_at(char c) {
    if (c == '\0') refuse(origin_, line_, "a zero byte, expected text");
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if (c == ')' || c == ']' || c == '}') --depth_;
    if (depth_ > kDeepest) refuse_more(kDeepest, "brackets within each other");
    signs_ = c == '-' ? signs_ + 1 : c == ' ' || c == '\t' ? signs_ : 0;
    if (signs_ > kMostSigns) refuse_more(kMostSigns, "signs in a row");
    digits_ = std::isdigit(static_cast<unsigned char>(c)) != 0 ? digits_ + 1 : 0;
    if (digits_ > kMostDigits) refuse_more(kMostDigits, "digits in a number");
  }
};

template <class Read>
bool is_readable(const IslContext& context, Read read) {
  isl_ctx_reset_error(context.get().get());
  try {
    auto* object = read();
    if (object) isl::manage(object);
    return object != nullptr;
  } catch (const isl::exception&) {
    return false;
  }
}

// The line of the first part between semicolons that isl does not read by itself. isl says that
// the whole is no union map, not where; a union's parts do not depend on each other, so that each
// can be tried as a map of its own, with the same sizes in front.
//
//   [N] -> { A[i] -> [i];
//            B[i] -> [i + ] }     parts: [N] -> { A[i] -> [i] },  [N] -> { B[i] -> [i + ] }
std::size_t unreadable_line(const IslContext& context, const std::string& text) {
  const std::size_t open = text.find('{');
  if (open == std::string::npos) return 1;
  const std::string sizes = text.substr(0, open);
  std::size_t begin = open + 1;
  const auto line_at = [&](std::size_t at) {
    const std::size_t first = std::min(text.find_first_not_of(" \t\n", at), text.size());
    return static_cast<std::size_t>(
               std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(first), '\n')) +
           1;
  };
  while (begin < text.size()) {
    const std::size_t end = std::min({text.find(';', begin), text.find('}', begin), text.size()});
    const std::string part = sizes + "{" + text.substr(begin, end - begin) + "}";
    const auto read = [&] {
      return isl_union_map_read_from_str(context.get().get(), part.c_str());
    };
    if (!is_readable(context, read)) return line_at(begin);
    if (end == text.size() || text[end] == '}') break;
    begin = end + 1;
  }
  return 1;
}

IslText read_map(const IslContext& context, const std::string& text, const std::string& origin) {
  isl_union_map* map = nullptr;
  try {
    map = isl_union_map_read_from_str(context.get().get(), text.c_str());
  } catch (const isl::exception&) {
    map = nullptr;
  }
  if (!map)
    refuse(origin, unreadable_line(context, text),
           "expected isl's union map, a statement and its time: { S[i, j] -> [i, 0, j]; T[i] -> "
           "[i, 1, 0] }");
  return {.times = isl::manage(map)};
}

}  // namespace

IslText read_isl_schedule(const IslContext& context, const std::string& text,
                          const std::string& origin) {
  if (text.size() > kMostBytes)
    throw UserError(ExitStatus::ResourceLimit, origin + ": a schedule of more than 1 MiB");
  const std::vector<std::string> lines = lines_of(text);
  Limits limits(origin);
  for (const std::string& line : lines) limits.look_at(content(line));
  // Which form it is, by its first characters: `{` or `[N] -> {` a map; `domain`, or `{ domain`,
  // a tree in YAML's block or flow style.
  std::string start;
  for (const std::string& line : lines)
    if (start.size() < 64) start += content(line);
  const std::size_t first = start.find_first_not_of(" \t{");
  if (first == std::string::npos)
    refuse(origin, 1, "nothing in it, expected isl's union map or schedule tree");
  if (start.compare(first, 6, "domain") == 0) return read_isl_tree(context, text, origin);
  const char opening = start[start.find_first_not_of(" \t")];
  if (opening != '{' && opening != '[')
    refuse(
        origin, 1,
        "expected isl's union map, { S[i] -> [i] }, or a schedule tree that begins with domain:");
  return read_map(context, text, origin);
}

}  // namespace polyte::schedule
