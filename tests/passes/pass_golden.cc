#include "tests/passes/pass_golden.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace polyte::testing {

namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

PassGolden parse(const std::string& text) {
  PassGolden golden;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("--- ")) {
      golden.sections.emplace_back(line.substr(4), "");
    } else if (!golden.sections.empty()) {
      golden.sections.back().second += line + "\n";
    } else if (const std::size_t colon = line.find(": "); colon != std::string::npos) {
      golden.settings.emplace_back(line.substr(0, colon), line.substr(colon + 2));
    }
  }
  return golden;
}

std::string print(const PassGolden& golden) {
  std::string text;
  for (const auto& [name, value] : golden.settings)
    text.append(name).append(": ").append(value).append("\n");
  for (const auto& [name, contents] : golden.sections)
    text.append("--- ").append(name).append("\n").append(contents);
  return text;
}

std::string find(const PassGolden::Entries& entries, const std::string& name) {
  const auto found = std::ranges::find(entries, name, &std::pair<std::string, std::string>::first);
  return found == entries.end() ? "" : found->second;
}

}  // namespace

std::string PassGolden::setting(const std::string& name) const { return find(settings, name); }

std::string PassGolden::section(const std::string& name) const { return find(sections, name); }

void PassGolden::set_section(const std::string& name, std::string text) {
  const auto found = std::ranges::find(sections, name, &std::pair<std::string, std::string>::first);
  if (found == sections.end()) {
    sections.emplace_back(name, std::move(text));
  } else {
    found->second = std::move(text);
  }
}

std::set<std::string> check_goldens(const std::string& folder,
                                    const std::function<void(PassGolden&)>& make) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator("tests/passes/" + folder))
    files.push_back(entry.path());
  std::ranges::sort(files);
  std::set<std::string> passes;
  for (const fs::path& file : files) {
    INFO(file.string());
    const std::string text = read_file(file);
    PassGolden golden = parse(text);
    REQUIRE(golden.setting("pass") != "");
    CHECK(golden.setting("shows") != "");
    passes.insert(golden.setting("pass"));
    make(golden);
    if (std::getenv("POLYTE_BLESS")) {
      std::ofstream(file, std::ios::binary) << print(golden);
    } else {
      CHECK(print(golden) == text);
    }
  }
  return passes;
}

std::string lines_of(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += note + "\n";
  return text;
}

}  // namespace polyte::testing
