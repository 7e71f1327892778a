#include "schedule/state/refusal.h"

namespace polyte::schedule {

POLYTE_OUT_OF_LINE_DEFAULTS(Counterexample)
POLYTE_OUT_OF_LINE_DEFAULTS(Refusal)
Refusal::Refusal(RefusalKind the_kind, std::string words)
    : kind(the_kind), headline(std::move(words)) {}

namespace {

std::string sizes_text(const Counterexample& c) {
  std::string text;
  for (const std::string& name : c.size_names) {
    text += (text.empty() ? "" : ", ") + name + " = " + std::to_string(c.sizes.at(name));
  }
  return text;
}

// Labels take 16 columns:
//   dependence    flow of B[i, j], from B to A
//   with line 2   A(t=0, i=1, j=1) comes first      (smallest case: T = 1, N = 4)
void append_counterexample(std::string& text, const Counterexample& c, int line) {
  if (!c.dependence.empty()) text += "  dependence    " + c.dependence + "\n";
  if (!c.reference.empty()) text += "  reference     " + c.reference + "\n";
  std::string with = line > 0 ? "  with line " + std::to_string(line) : "  scheduled";
  with.resize(std::max<std::size_t>(with.size() + 1, 16), ' ');
  text += with + c.scheduled;
  if (!c.size_names.empty()) text += "      (smallest case: " + sizes_text(c) + ")";
  text += "\n";
}

std::string verdict(RefusalKind kind) {
  switch (kind) {
    case RefusalKind::Malformed:
      return "is not a schedule";
    case RefusalKind::Stale:
      return "is stale";
    case RefusalKind::Illegal:
      return "is illegal";
    case RefusalKind::Unknown:
      return "is not decided";
    case RefusalKind::Conservative:
      return "is refused";
  }
  return "";
}

}  // namespace

std::string to_string(const Instance& instance) {
  std::string text = instance.statement + "(";
  for (std::size_t i = 0; i < instance.iterators.size(); ++i) {
    text += (i ? ", " : "") + instance.iterators[i].first + "=" +
            std::to_string(instance.iterators[i].second);
  }
  return text + ")";
}

std::string to_string(const Refusal& refusal, const std::string& origin,
                      const std::string& program_file) {
  std::string text = refusal.file.empty() ? origin : refusal.file;
  if (refusal.line > 0) text += ":" + std::to_string(refusal.line);
  if (!text.empty()) text += ": ";
  // A problem of the script's header has no directive to quote, and its headline says all.
  const bool is_header = refusal.directive.empty() && (refusal.kind == RefusalKind::Malformed ||
                                                       refusal.kind == RefusalKind::Stale);
  if (!is_header)
    text += (refusal.directive.empty() ? "the schedule" : refusal.directive) + "  " +
            verdict(refusal.kind) + ": ";
  text += refusal.headline + "\n";
  for (const auto& [label, detail] : refusal.details) {
    std::string start = "  " + label;
    start.resize(std::max<std::size_t>(start.size() + 1, 16), ' ');
    text += start + detail + "\n";
  }
  for (const Counterexample& c : refusal.counterexamples)
    append_counterexample(text, c, refusal.line);
  if (!refusal.advice.empty()) {
    text += "  would be legal: ";
    for (std::size_t i = 0; i < refusal.advice.size(); ++i)
      text += (i ? ";  or " : "") + refusal.advice[i];
    text += "\n";
  }
  // `--watch` takes one element: not `x[*]`, whose subscript is read at run time.
  bool replayable = !refusal.counterexamples.empty() && !refusal.counterexamples[0].watch.empty() &&
                    refusal.counterexamples[0].watch.find('*') == std::string::npos;
  if (replayable && !program_file.empty()) {
    text += "  see it happen: polyte interpret " + program_file + " --script " + origin +
            " --watch '" + refusal.counterexamples[0].watch + "'\n";
  }
  return text;
}

ExitStatus exit_status(RefusalKind kind) {
  bool undecided = kind == RefusalKind::Unknown || kind == RefusalKind::Conservative;
  return undecided ? ExitStatus::Unknown : ExitStatus::Refused;
}

}  // namespace polyte::schedule
