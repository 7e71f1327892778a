#include "driver/judge/fuzz/shrink.h"

#include <algorithm>
#include <sstream>

#include "ir/program_text.h"

namespace polyte::fuzz {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Delta debugging by single steps: each drops or lowers one thing, and stays where the case still
// fails in the same way. What a step made impossible (a use of a tensor that is gone) does not
// parse, and is no candidate.
class Shrinker {
 public:
  Shrinker(Case c, const ShrinkOptions& options)
      : best_(std::move(c)), options_(options), trials_(options.max_trials) {}

  Case run() {
    for (bool smaller = true; smaller && trials_ > 0;) {
      smaller = !options_.derive && drop_directives();
      smaller = drop_lines() || smaller;
      smaller = temporaries_to_inputs() || smaller;
      smaller = lower_sizes() || smaller;
    }
    return std::move(best_);
  }

 private:
  Case best_;
  const ShrinkOptions& options_;
  int trials_;

  bool accept(Case candidate) {
    if (trials_-- <= 0) return false;
    try {  // the digest follows the Program
      candidate.script.digest =
          candidate.open ? ir::digest(ir::parse_program(candidate.program.text, "shrink"))
                         : ir::digest(*bound_program(candidate.program));
      if (options_.derive && !options_.derive(candidate)) return false;
    } catch (const std::exception&) {
      return false;
    }
    if (!options_.still_fails(candidate)) return false;
    best_ = std::move(candidate);
    return true;
  }

  // From the last one on: later directives name what earlier ones have made.
  bool drop_directives() {
    bool any = false;
    for (std::size_t i = best_.script.directives.size(); i > 0; --i) {
      Case candidate = best_;
      candidate.script.directives.erase(candidate.script.directives.begin() +
                                        static_cast<std::ptrdiff_t>(i) - 1);
      any = accept(std::move(candidate)) || any;
    }
    return any;
  }

  // One line, or one with the declaration of what it writes.
  bool drop_lines() {
    bool any = false;
    for (std::size_t i = lines_of(best_.program.text).size(); i > 1; --i) {
      std::vector<std::string> lines = lines_of(best_.program.text);
      if (i > lines.size() || lines[i - 1].empty()) continue;
      const std::string gone = lines[i - 1];
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i) - 1);
      Case candidate = best_;
      candidate.program.text = joined_lines(lines);
      if (accept(candidate)) {
        any = true;
        continue;
      }
      const auto declaration = std::ranges::find_if(lines, [&](const std::string& line) {
        const std::size_t colon = line.find(": ");
        const std::size_t name = line.rfind(' ', colon == 0 ? 0 : colon - 1);
        const bool declares = line.rfind("  out", 0) == 0 || line.rfind("  inout", 0) == 0;
        return declares && colon != std::string::npos && name != std::string::npos &&
               gone.find(line.substr(name + 1, colon - name - 1) + "[") != std::string::npos;
      });
      if (declaration == lines.end()) continue;
      lines.erase(declaration);
      candidate.program.text = joined_lines(lines);
      any = accept(std::move(candidate)) || any;
    }
    return any;
  }

  // A temporary's statement goes, and an input of its name and shape comes.
  bool temporaries_to_inputs() {
    bool any = false;
    for (const ir::Buffer& buffer : ir::parse_program(best_.program.text, "shrink").buffers) {
      if (buffer.role != ir::Role::Temp) continue;
      std::string declaration =
          "  in    " + buffer.name + ": " + std::string(polyte::to_string(buffer.dtype)) + "[";
      for (std::size_t d = 0; d < buffer.shape.size(); ++d)
        declaration += (d == 0 ? "" : ", ") + ir::to_string(buffer.shape[d]);
      std::vector<std::string> lines = lines_of(best_.program.text);
      std::erase_if(
          lines, [&](const std::string& line) { return line.find("  " + buffer.name + "[") == 0; });
      lines.insert(lines.begin() + 1, declaration + "]");
      Case candidate = best_;
      candidate.program.text = joined_lines(lines);
      any = accept(std::move(candidate)) || any;
    }
    return any;
  }

  // Never to 0: a case without instances seldom fails for the reason that was found.
  bool lower_sizes() {
    bool any = false;
    const ir::Values sizes = best_.program.sizes;
    for (const auto& [name, value] : sizes)
      for (const std::int64_t smaller : {std::int64_t{1}, std::int64_t{2}, value / 2, value - 1}) {
        if (smaller < 1 || smaller >= best_.program.sizes.at(name)) continue;
        Case candidate = best_;
        candidate.program.sizes[name] = smaller;
        any = accept(std::move(candidate)) || any;
      }
    return any;
  }
};

}  // namespace

Case shrink(Case c, const ShrinkOptions& options) { return Shrinker(std::move(c), options).run(); }

}  // namespace polyte::fuzz
