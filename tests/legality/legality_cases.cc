#include "tests/legality/legality_cases.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace polyte::legality {

namespace {

// M=7 N=9 | M=1 N=1
std::vector<ir::Values> parse_sizes(const std::string& text) {
  std::vector<ir::Values> all(1);
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t at = word.find('=');
    if (word == "|")
      all.emplace_back();
    else if (at == std::string::npos)
      throw std::runtime_error("'" + word + "' is not NAME=SIZE");
    else
      all.back()[word.substr(0, at)] = std::stoll(word.substr(at + 1));
  }
  return all;
}

class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  std::vector<LegalityCase> run(std::istream& lines) {
    for (std::string line; std::getline(lines, line);) {
      ++number_;
      if (line.rfind("== ", 0) == 0)
        begin(line.substr(3));
      else if (into_)
        *into_ += line + "\n";
      else if (!line.empty() && line[0] != '#')
        throw std::runtime_error(where() + "text before the first program");
    }
    finish();
    return std::move(cases_);
  }

 private:
  std::string file_;
  int number_ = 0;
  std::string program_;
  std::vector<ir::Values> sizes_;
  std::vector<LegalityCase> cases_;
  LegalityCase open_;
  bool is_open_ = false;
  std::string* into_ = nullptr;

  std::string where() const { return file_ + ":" + std::to_string(number_) + ": "; }

  void finish() {
    if (is_open_) cases_.push_back(std::move(open_));
    is_open_ = false;
  }

  void begin(const std::string& heading) {
    finish();
    const std::string word = heading.substr(0, heading.find(' '));
    const std::string rest = word.size() < heading.size() ? heading.substr(word.size() + 1) : "";
    if (word == "program") {
      sizes_ = parse_sizes(rest);
      program_.clear();
      into_ = &program_;
      return;
    }
    static const std::map<std::string, Label> kLabels = {{"legal", Label::Legal},
                                                         {"illegal", Label::Illegal},
                                                         {"unknown", Label::Unknown},
                                                         {"malformed", Label::Malformed}};
    const auto label = kLabels.find(word);
    if (label == kLabels.end()) throw std::runtime_error(where() + "'" + word + "' is no label");
    open_ = {file_, number_, rest, label->second, "exact", program_, sizes_, ""};
    if (const std::size_t at = rest.rfind(" ("); at != std::string::npos && rest.back() == ')') {
      open_.contract = rest.substr(at + 2, rest.size() - at - 3);
      open_.name = rest.substr(0, at);
    }
    is_open_ = true;
    into_ = &open_.script;
  }
};

}  // namespace

std::vector<LegalityCase> read_cases(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<LegalityCase> cases;
  for (const std::filesystem::path& file : files) {
    std::ifstream lines(file);
    for (LegalityCase& c : Reader(file.filename().string()).run(lines))
      cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace polyte::legality
