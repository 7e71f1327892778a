// Golden errors: every file of cases/ is a command, the files it reads, and its exit status, stdout
// and stderr, word for word. POLYTE_BLESS=1 in the environment rewrites the expectations.
#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct Answer {
  int status = 0;
  std::string out, err;
};
struct GoldenCase {
  std::string command;  // without `$ polyte `
  std::vector<std::pair<std::string, std::string>> files;
  Answer expected;
};

std::string read_file(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

GoldenCase parse_case(const std::string& text) {
  GoldenCase result;
  std::istringstream lines(text);
  std::string* into = nullptr;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("$ polyte", 0) == 0) {
      result.command = line.substr(8);
    } else if (line.rfind("--- file ", 0) == 0) {
      result.files.emplace_back(line.substr(9), "");
      into = &result.files.back().second;
    } else if (line.rfind("--- exit ", 0) == 0) {
      result.expected.status = std::atoi(line.c_str() + 9);
    } else if (line == "--- stdout") {
      into = &result.expected.out;
    } else if (line == "--- stderr") {
      into = &result.expected.err;
    } else if (into) {
      *into += line + "\n";
    }
  }
  return result;
}

std::string print_case(const GoldenCase& c, const Answer& answer) {
  std::string text = "$ polyte" + c.command + "\n";
  for (const auto& [name, contents] : c.files) text += "--- file " + name + "\n" + contents;
  text += "--- exit " + std::to_string(answer.status) + "\n--- stdout\n" + answer.out +
          "--- stderr\n" + answer.err;
  return text;
}

class TempFolder {
 public:
  TempFolder() {
    std::string name = (fs::temp_directory_path() / "polyte_errors_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~TempFolder() { fs::remove_all(path); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  fs::path path;
};

Answer answer_of(const GoldenCase& c) {
  const TempFolder folder;
  for (const auto& [name, contents] : c.files)
    std::ofstream(folder.path / name, std::ios::binary) << contents;
  const std::string command = "cd '" + folder.path.string() + "' && '" POLYTE_BINARY "'" +
                              c.command + " >stdout.txt 2>stderr.txt </dev/null";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(folder.path / "stdout.txt"),
          read_file(folder.path / "stderr.txt")};
}

}  // namespace

TEST_CASE("every mistake is answered in the words of its file") {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator("tests/errors/cases"))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  REQUIRE(files.size() >= 250);
  for (const fs::path& file : files) {
    INFO(file.string());
    const GoldenCase c = parse_case(read_file(file));
    REQUIRE(!c.command.empty());
    const Answer answer = answer_of(c);
    if (std::getenv("POLYTE_BLESS")) {
      std::ofstream(file, std::ios::binary) << print_case(c, answer);
      continue;
    }
    CHECK(answer.status == c.expected.status);
    CHECK(answer.out == c.expected.out);
    CHECK(answer.err == c.expected.err);
    CHECK(answer.status != 0);
    CHECK(answer.status != 70);
  }
}
