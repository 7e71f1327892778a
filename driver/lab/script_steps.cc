#include "driver/lab/script_steps.h"

#include <algorithm>

#include "driver/lab/nest_diff.h"
#include "driver/lab/script_variants.h"

namespace polyte::lab {
namespace {

using schedule::Script;

std::vector<std::string> texts_of(const Script& script) {
  std::vector<std::string> texts;
  for (const schedule::Directive& directive : script.directives)
    texts.push_back(directive_text(directive));
  return texts;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

std::string header_text(const Script& script, const char* what) {
  // "schedule NAME for PROGRAM  on CPU ..": what the header says besides names is compared as
  // it is printed.
  const std::string line = schedule::print(script).substr(0, schedule::print(script).find('\n'));
  const std::size_t at = line.find(" for ");
  return what + (at == std::string::npos ? line : line.substr(at + 1));
}

// One line that becomes another, in as many parts as it can be taken in.
void add_change(std::size_t out, std::size_t in, const Script& first, const Script& second,
                std::vector<Step>& steps) {
  const schedule::Directive &from = first.directives[out], &to = second.directives[in];
  std::string before = directive_text(from);
  std::size_t part = 0;
  for (schedule::Directive& directive : between(from, to)) {
    const std::string text = directive_text(directive);
    steps.push_back({{out}, {in}, text + ", in place of " + before, std::move(directive), part++});
    before = text;
  }
  steps.push_back(
      {{out}, {in}, directive_text(to) + ", in place of " + before, std::nullopt, part});
}

// Adds what is out and in at one place: pairs of the same kind of directive as one step each, the
// rest each by itself. Of
//   - split m by 4         the steps are "split m by 8, in place of split m by 4" and "unroll k":
//   + split m by 8         a script without any split of m would mostly be refused, and then
//   + unroll k             nothing is learned of either line.
void close_hunk(Step& hunk, const Script& first, const Script& second, std::vector<Step>& steps) {
  std::vector<std::size_t> in = hunk.in;
  for (const std::size_t out : hunk.out) {
    const std::string text = directive_text(first.directives[out]);
    const auto partner = std::ranges::find_if(in, [&](std::size_t i) {
      return first_word(directive_text(second.directives[i])) == first_word(text);
    });
    if (partner == in.end()) {
      steps.push_back({{out}, {}, "without " + text});
      continue;
    }
    add_change(out, *partner, first, second, steps);
    in.erase(partner);
  }
  for (const std::size_t i : in) steps.push_back({{}, {i}, directive_text(second.directives[i])});
  hunk = {};
}

}  // namespace

std::string directive_text(const schedule::Directive& directive) {
  std::string text = schedule::print(directive);
  if (const std::size_t comment = text.find("#:"); comment != std::string::npos)
    text.resize(comment);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.pop_back();
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

std::vector<Step> steps_between(const Script& first, const Script& second) {
  std::vector<Step> steps;
  Step hunk;
  std::size_t i = 0, j = 0;
  for (const DiffLine& line : diff_lines(joined(texts_of(first)), joined(texts_of(second)))) {
    if (line.side == Side::Both) {
      close_hunk(hunk, first, second, steps);
      ++i, ++j;
    } else if (line.side == Side::First) {
      hunk.out.push_back(i++);
    } else {
      hunk.in.push_back(j++);
    }
  }
  close_hunk(hunk, first, second, steps);
  return steps;
}

std::vector<std::string> differences(const Script& first, const Script& second) {
  std::vector<std::string> lines;
  if (header_text(first, "") != header_text(second, "")) {
    lines.push_back(header_text(first, "header:  "));
    lines.push_back(header_text(second, "now:     "));
  }
  for (const Step& step : steps_between(first, second)) {
    if (step.now) continue;
    for (const std::size_t i : step.out)
      lines.push_back((step.in.empty() ? "only in the first:  " : "changed: ") +
                      directive_text(first.directives[i]));
    for (const std::size_t j : step.in)
      lines.push_back((step.out.empty() ? "only in the second: " : "now:     ") +
                      directive_text(second.directives[j]));
  }
  return lines;
}

// All steps give `second` itself, with its header; fewer keep the header of `first`.
Script with_steps(const Script& first, const Script& second, const std::vector<Step>& steps,
                  const std::vector<bool>& taken) {
  if (std::ranges::all_of(taken, [](bool one) { return one; })) return second;
  Script script = first;
  script.directives.clear();
  // Places are those of the alignment: what is out and what is in at one place stand between
  // the same neighbours.
  std::size_t i = 0, j = 0;
  for (const DiffLine& line : diff_lines(joined(texts_of(first)), joined(texts_of(second)))) {
    const Step* step = nullptr;  // the last one that is taken of this line
    for (std::size_t s = 0; s < steps.size() && line.side != Side::Both; ++s) {
      const auto& lines = line.side == Side::First ? steps[s].out : steps[s].in;
      if (taken[s] && std::ranges::find(lines, line.side == Side::First ? i : j) != lines.end())
        step = &steps[s];
    }
    if (line.side == Side::Both || (line.side == Side::First && !step))
      script.directives.push_back(first.directives[i]);
    if (line.side == Side::Second && step)
      script.directives.push_back(step->now.value_or(second.directives[j]));
    i += line.side != Side::Second ? 1 : 0;
    j += line.side != Side::First ? 1 : 0;
  }
  return script;
}

// Greedy: the first single step that is legal, else the first pair, else all that is left at once.
// Not the shortest path, and no search over orders: n steps ask about n^2 scripts where single
// steps suffice. The last script is `second` itself, which is known to be legal.
std::vector<PathStep> find_path(const Script& first, const Script& second,
                                const std::function<bool(const Script&)>& is_legal) {
  const std::vector<Step> steps = steps_between(first, second);
  std::vector<bool> taken(steps.size(), false);
  std::vector<PathStep> path;
  const auto left = [&] { return static_cast<std::size_t>(std::ranges::count(taken, false)); };
  const auto try_steps = [&](const std::vector<std::size_t>& together) {
    std::vector<bool> then = taken;
    std::string text;
    for (const std::size_t s : together) {
      // The parts before are next to it.
      if (then[s] || (steps[s].part > 0 && !then[s - 1])) return false;
      then[s] = true;
      text += (text.empty() ? "" : "; ") + steps[s].text;
    }
    Script script = with_steps(first, second, steps, then);
    // The second script: legal by itself.
    const bool is_last = std::ranges::count(then, false) == 0;
    if (!is_last && !is_legal(script)) return false;
    taken = then;
    path.push_back({text, std::move(script)});
    return true;
  };
  const auto advance = [&] {
    for (std::size_t s = 0; s < steps.size(); ++s)
      if (!taken[s] && try_steps({s})) return;
    for (std::size_t s = 0; s < steps.size(); ++s)
      for (std::size_t t = s + 1; t < steps.size(); ++t)
        if (!taken[s] && !taken[t] && try_steps({s, t})) return;
    std::vector<std::size_t> rest;
    for (std::size_t s = 0; s < steps.size(); ++s)
      if (!taken[s]) rest.push_back(s);
    try_steps(rest);
  };
  while (left() > 0) advance();
  return path;
}

}  // namespace polyte::lab
