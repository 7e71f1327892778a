#include "driver/compile/fusion_file.h"

#include <charconv>
#include <fstream>
#include <map>
#include <sstream>

#include "support/error.h"

namespace polyte::driver {
namespace {

// Words of a line; '...' is one. Nothing after #.
std::vector<std::string> words_of(const std::string& line, const std::string& where) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == '#') break;
    if (line[at] == ' ' || line[at] == '\t' || line[at] == '\r') {
      ++at;
    } else if (line[at] == '\'') {
      const std::size_t end = line.find('\'', at + 1);
      if (end == std::string::npos)
        throw UserError(ExitStatus::InvalidInput, where + "a quote is not closed");
      words.push_back(line.substr(at + 1, end - at - 1));
      at = end + 1;
    } else {
      const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
      words.push_back(line.substr(at, end - at));
      at = end;
    }
  }
  return words;
}

// NaN fails `value >= 0`, too.
template <class T>
T number(const std::string& text, const std::string& where, const char* expected) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0))
    throw UserError(ExitStatus::InvalidInput, where + "'" + text + "', expected " + expected);
  return value;
}

// One line: apart A B, together A B, limit temporaries N, limit recompute F.
void read_line(const std::string& line, const std::string& where, FusionFile& file) {
  const std::vector<std::string> words = words_of(line, where);
  if (words.empty()) return;
  const bool is_request = words[0] == "apart" || words[0] == "together";
  if (!is_request && words[0] != "limit")
    throw UserError(ExitStatus::InvalidInput,
                    where + "'" + words[0] + "', expected apart, together or limit");
  if (words.size() != 3) {
    throw UserError(ExitStatus::InvalidInput,
                    where + words[0] + " takes " +
                        (is_request ? "two nodes" : "'temporaries' or 'recompute' and a number") +
                        ", got " + std::to_string(words.size() - 1) +
                        (words.size() == 2 ? " word" : " words"));
  }
  if (is_request) {
    if (words[1] == words[2])
      throw UserError(ExitStatus::InvalidInput,
                      where + words[0] + " '" + words[1] + "' and itself");
    file.requests.push_back({words[0] == "together", words[1], words[2],
                             where + words[0] + " '" + words[1] + "' '" + words[2] + "'"});
  } else if (words[1] == "temporaries") {
    file.temporaries = number<std::int64_t>(words[2], where, "a number of bytes");
  } else if (words[1] == "recompute") {
    file.recompute = number<double>(words[2], where, "a factor such as 1.5");
  } else {
    throw UserError(ExitStatus::InvalidInput,
                    where + "limit '" + words[1] + "', expected temporaries or recompute");
  }
}

}  // namespace

FusionFile parse_fusion_file(std::string_view text, const std::string& origin) {
  FusionFile file;
  std::vector<std::string> problems;
  std::istringstream lines{std::string(text)};
  // All lines are read, so that all problems show at once.
  int number_of_line = 0;
  for (std::string line; std::getline(lines, line);) {
    try {
      read_line(line, origin + ":" + std::to_string(++number_of_line) + ": ", file);
    } catch (const UserError& error) {
      problems.insert(problems.end(), error.problems().begin(), error.problems().end());
    }
  }
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, problems);
  return file;
}

FusionFile read_fusion_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw UserError(ExitStatus::InvalidInput, path + ": cannot be read");
  return parse_fusion_file(text.str(), path);
}

void apply_requests(const std::vector<FusionRequest>& requests, const graph::FusionGraph& graph,
                    const std::set<std::string>& model_nodes, graph::FusionOptions& options) {
  std::map<std::string, int> nodes;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    nodes.emplace(graph.nodes[i].name, static_cast<int>(i));
  std::vector<std::string> problems;
  const auto find = [&](const FusionRequest& request, const std::string& name) {
    const auto found = nodes.find(name);
    if (found != nodes.end()) return found->second;
    problems.push_back(
        request.origin + ": " +
        (model_nodes.contains(name)
             ? "graph passes have folded or removed '" + name + "' (--opt-level 0 keeps every node)"
             : "the model has no node '" + name + "'; polyte inspect --groups lists them"));
    // Any node: the request is not used, since a problem ends all of them below.
    return 0;
  };
  for (const FusionRequest& request : requests) {
    const int first = find(request, request.first), second = find(request, request.second);
    if (request.together)
      options.keep_together.push_back({first, second, request.origin});
    else
      options.keep_apart.push_back({{first, second}, request.origin});
  }
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, problems);
}

// `not_joined` has an entry for each request of `together`, in their order: apply_requests added
// them first.
void check_granted(const std::vector<FusionRequest>& requests, const graph::FusionReport& report) {
  std::vector<std::string> problems;
  std::size_t together = 0;
  for (const FusionRequest& request : requests) {
    if (!request.together) continue;
    const std::string& why = report.not_joined.at(together++);
    if (!why.empty()) problems.push_back(request.origin + ": " + why);
  }
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, problems);
}

}  // namespace polyte::driver
