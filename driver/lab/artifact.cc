#include "driver/lab/artifact.h"

#include "driver/lab/escape.h"
#include "driver/lab/report.h"

namespace polyte::lab {
namespace {

std::string item(const std::string& title, const std::string& text) {
  return "- **" + title + "**: " + escaped_markdown(text) + "\n";
}

std::string context_text(const Results& results, const char* member) {
  if (results.contexts.empty() || !results.contexts[0].contains(member)) return "unknown";
  return results.contexts[0][member].dump(-1, ' ', false,
                                          nlohmann::ordered_json::error_handler_t::replace);
}

// Only what was told: each of these is held to a second run, pair by pair.
std::string claims(const Results& results) {
  std::string text;
  std::size_t count = 0;
  for (const RowResult& row : results.rows)
    for (const ArmResult& arm : row.arms) {
      if (arm.outcome != Outcome::Faster && arm.outcome != Outcome::Slower) continue;
      char ratio[64];
      std::snprintf(ratio, sizeof ratio, "%.3f ", arm.ratio->estimate);
      text +=
          std::to_string(++count) + ". " +
          escaped_markdown(row.name + ": " + arm.name + " is " + to_string(arm.outcome) + " than " +
                           results.plan.baseline + ", ratio " + ratio + interval_text(*arm.ratio)) +
          "\n";
    }
  return text.empty() ? "None: no arm is distinguishable from the baseline.\n" : text;
}

// About how long a second run takes: what the rounds themselves took, and as much again to
// compile and check.
std::string duration(const Results& results) {
  double nanoseconds = 0;
  for (const RowResult& row : results.rows)
    for (const ArmResult& arm : row.arms)
      nanoseconds +=
          static_cast<double>(count_samples(arm.samples)) * results.plan.stop.round_ms * 1e6;
  char text[64];
  std::snprintf(text, sizeof text, "about %.0f minutes", std::max(1.0, 2 * nanoseconds / 6e10));
  return text;
}

}  // namespace

// The headings are those of the artifact appendices of systems conferences: abstract, check-list,
// claims, evaluation, badges.
std::string artifact_appendix(const Results& results) {
  const std::size_t programs = results.plan.programs.size();
  std::string text =
      "# Artifact appendix: " + escaped_markdown(results.plan.name) +
      "\n\n## Abstract\n\nThe plan, "
      "all samples and the reports of a comparison of schedules and compilers by `polyte lab`: " +
      escaped_markdown(counts_line(results)) +
      ". Every output was held to an independent reference before "
      "its arm was timed. A second run says claim by claim what agrees.\n\n## Check-list\n\n";
  text += item("Programs", std::to_string(programs) + (programs == 1 ? " program" : " programs") +
                               ", their text in plan.json and programs/");
  text += item("Data", "none is needed: inputs are made from the seeds of the plan");
  text += item("Machine of the results", machine_line(results));
  text += item("Build of the results", origin_line(results));
  text += item("Compilers of the results", context_text(results, "compilers"));
  text += item("Metrics", "time of an execution; its ratio to the baseline's with a 95 % interval");
  text += item("Duration", duration(results));
  text += item("Output", "report.html, report.tex, results.json; a second run's own folder");
  text +=
      "- **Licence and archive**: of the authors; this file is complete by itself, but for models "
      "named by path\n";
  text += "\n## Claims\n\n" + claims(results);
  text +=
      "\n## Evaluation\n\n1. Install Polyte of the same version (peers need their compilers; "
      "those that are absent are listed).\n"
      "2. `polyte lab reproduce THIS.zip --out again` measures the plan anew. Exit "
      "0: all arms can be had and no claim is reversed; it prints which pairs keep their order, "
      "which cannot be decided on that machine, and which are reversed.\n3. `polyte lab report "
      "again --format html -o again.html` is the same page of the new samples.\n\n## Badges\n"
      "\n- **Artifacts available**: put this file into an archive with a permanent identifier.\n"
      "- **Artifacts evaluated, functional**: step 2 ends with every arm's outputs "
      "held to its reference.\n- **Results reproduced**: step 2 exits 0 on another machine; "
      "times may differ, claims may not.\n";
  return text;
}

}  // namespace polyte::lab
