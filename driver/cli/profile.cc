#include "driver/cli/profile.h"

#include <nlohmann/json.hpp>

#include <cstdio>

#include "driver/cli/reports.h"
#include "driver/lab/text_table.h"
#include "runtime/file.h"
#include "support/join_words.h"

namespace polyte::cli {
namespace {

using runtime::Span;
using runtime::StepSpec;

double microseconds(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }

std::string kernel_of(const StepSpec& step) { return step.kernel.empty() ? "copy" : step.kernel; }

// Workers that were busy on average in each step.
std::vector<double> busy_workers(const runtime::RunProfile& profile) {
  std::vector<double> in_parts(profile.steps.size(), 0);
  for (const Span& part : profile.parts)
    in_parts[part.step] += static_cast<double>(part.nanoseconds());
  for (std::size_t i = 0; i < in_parts.size(); ++i) {
    const auto whole = static_cast<double>(profile.steps[i].nanoseconds());
    in_parts[i] = in_parts[i] > 0 && whole > 0 ? in_parts[i] / whole : 1;
  }
  return in_parts;
}

void print_table(const runtime::Session& session, const runtime::RunProfile& profile) {
  const std::vector<double> busy = busy_workers(profile);
  std::int64_t total = 0;
  for (const Span& span : profile.steps) total += span.nanoseconds();
  std::fprintf(stderr, "%13s %6s %5s  %-8s %s\n", "time", "share", "busy", "kernel", "group");
  for (std::size_t i = 0; i < profile.steps.size(); ++i) {
    const StepSpec& step = session.steps()[i];
    const std::int64_t ns = profile.steps[i].nanoseconds();
    const double share =
        total > 0 ? 100.0 * static_cast<double>(ns) / static_cast<double>(total) : 0;
    std::fprintf(stderr, "%10.*f us %5.1f%% %5.2f  %-8s %s\n%s", decimals_of(microseconds(ns)),
                 microseconds(ns), share, busy[i], kernel_of(step).c_str(), step.group.c_str(),
                 step.nodes.empty() ? "" : lab::wrapped(join_words(step.nodes), "      ").c_str());
  }
  std::fprintf(stderr, "%10.1f us in %zu steps, threads: %d\n", microseconds(total),
               profile.steps.size(), session.threads());
}

// "X" is a complete event, with a beginning and a duration; "M" is metadata, here a track's name.
nlohmann::ordered_json event_of(const Span& span, const std::string& name, const char* category) {
  return {{"name", name},
          {"cat", category},
          {"ph", "X"},
          {"ts", microseconds(span.begin_ns)},
          {"dur", microseconds(span.nanoseconds())},
          {"pid", 1},
          {"tid", span.worker}};
}

nlohmann::ordered_json track_name(int worker) {
  const std::string name = worker == 0 ? "caller (worker 0)" : "worker " + std::to_string(worker);
  return {{"name", "thread_name"},
          {"ph", "M"},
          {"pid", 1},
          {"tid", worker},
          {"args", {{"name", name}}}};
}

// Chrome's trace events (https://ui.perfetto.dev opens them): a track a worker, times in
// microseconds. The first track is the calling thread's: every step, and in it the part of a
// parallel loop that this thread ran.
std::string trace_text(const runtime::Session& session, const runtime::RunProfile& profile) {
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  for (int worker = 0; worker < session.threads(); ++worker) events.push_back(track_name(worker));
  for (const Span& span : profile.steps) {
    const StepSpec& step = session.steps()[span.step];
    nlohmann::ordered_json event =
        event_of(span, step.nodes.empty() ? step.group : join_words(step.nodes), "step");
    event["args"] = {{"group", step.group}, {"kernel", kernel_of(step)}, {"nodes", step.nodes}};
    events.push_back(std::move(event));
  }
  for (const Span& span : profile.parts)
    events.push_back(event_of(span, "part of " + session.steps()[span.step].group, "part"));
  const nlohmann::ordered_json trace{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ns"}};
  return trace.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

void add_profile_options(const Verb& verb, ProfileOptions& options) {
  verb.flag("--profile", options.table, "time of every step, on stderr");
  verb.option("--trace", options.trace,
              "write the run's timeline as Chrome trace events, for Perfetto");
}

void report_profile(const runtime::Session& session, const runtime::RunProfile& profile,
                    const ProfileOptions& options) {
  if (options.table) print_table(session, profile);
  if (options.trace.empty()) return;
  const std::string text = trace_text(session, profile);
  runtime::OutputFile file(options.trace);
  file.write(runtime::as_bytes(text));
  file.finish();
}

}  // namespace polyte::cli
