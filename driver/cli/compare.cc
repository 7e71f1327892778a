// polyte compare: the same work under several schedulers and scripts, side by side.
#include <algorithm>
#include <span>
#include <sstream>

#include "driver/cli/prediction_report.h"
#include "driver/cli/reports.h"
#include "driver/cli/thread_order.h"
#include "driver/cli/works.h"
#include "runtime/compare.h"
#include "runtime/cuda_device.h"

namespace polyte::cli {
namespace {

// Outputs of every contender against the first one's.
// A run of each before any is timed. The first contender is the reference, right or wrong:
// compare shows differences, the lab holds arms to a reference of its own.
std::vector<std::string> agreement(std::vector<std::unique_ptr<Work>>& works) {
  std::vector<std::string> verdicts;
  if (!std::ranges::all_of(works, [](const auto& work) { return work->can_run(); }))
    return std::vector<std::string>(works.size(), "not run");
  for (std::unique_ptr<Work>& work : works) {
    work->run();
    if (work->gpu && work->runner) work->counts = work->runner->launch_counts();
  }
  for (const std::unique_ptr<Work>& work : works) {
    std::string verdict = "same bits as " + works[0]->name;
    const std::vector<runtime::Tensor>&own = work->written(), &first = works[0]->written();
    if (own.size() != first.size()) verdict = "not the same work as " + works[0]->name;
    for (std::size_t i = 0; i < std::min(own.size(), first.size()); ++i) {
      if (runtime::compare_bits(own[i], first[i]).equal) continue;
      const runtime::Comparison c = runtime::compare(own[i], first[i], {1e-4, 1e-4});
      verdict = c.equal ? "within 1e-4 of " + works[0]->name
                        : "differs from " + works[0]->name + ": " + c.message;
      if (!c.equal) break;  // no later output makes up for it
    }
    verdicts.push_back(work == works[0] ? "" : verdict);
  }
  return verdicts;
}

using Lines = std::vector<std::string>;

std::string format(const char* form, double value) {
  char text[64];
  std::snprintf(text, sizeof text, form, value);
  return text;
}

// Beside what was measured, or in its place, what the GPU's rates predict of the loops, and the
// least of any loops.
Lines time_lines(const nlohmann::json& row, const bench::Ratio* ratio) {
  Lines lines = {"not measured"};
  if (row.contains("real_time")) {
    const double time = row["real_time"].get<double>() / 1e3;
    lines[0] = format(decimals_of(time) == 3 ? "%.3f us" : "%.1f us", time);
  }
  if (row.contains("peak_fraction"))
    lines[0] += format(" (%.3f of the FMA peak)", row["peak_fraction"].get<double>());
  if (row.contains("ceiling_fraction"))
    lines[0] +=
        format(" (%.3f of what the GPU's rates allow)", row["ceiling_fraction"].get<double>());
  const auto predicted = [&](const char* key, const char* form) {
    if (row.contains(key))
      lines.push_back(format(form, row[key]["nanoseconds"].get<double>() / 1e3) +
                      row[key]["bound"].get<std::string>());
  };
  predicted("predicted", "predicted: %.3g us, by ");
  predicted("predicted_least", "at least: %.3g us, by ");
  if (row.contains("bytes_per_second"))
    lines.push_back(
        format("%.2f GB/s of the interface", row["bytes_per_second"].get<double>() / 1e9));
  if (!ratio) return lines;
  lines.push_back(format("%.3fx the time of the first", ratio->median));
  lines.push_back(format("95 %% interval %.3f", ratio->low) + format(" to %.3f", ratio->high));
  if (!ratio->distinguishable()) lines.emplace_back("not distinguishable");
  return lines;
}

// Schedule, proof, loops and machine code, in this order; of a GPU that is PTX and what the
// assembler makes of it.
struct CompileTimes {
  double schedule = 0, proof = 0, loops = 0, code = 0;
};

CompileTimes compile_times(const Work& work) {
  CompileTimes times;
  for (const StageTime& time : work.op->built.times) {
    const bool is_code = time.stage == "code generation" || time.stage == "link";
    if (is_code && work.gpu) continue;
    (time.stage == "schedule"           ? times.schedule
     : time.stage == "replay and proof" ? times.proof
     : is_code                          ? times.code
                                        : times.loops) += time.milliseconds;
  }
  if (work.gpu) times.code = work.gpu->machine_code_ms;
  return times;
}

Lines compile_lines(const Work& work) {
  const CompileTimes times = compile_times(work);
  return {format("schedule %.1f ms", times.schedule) + format(", proof %.1f", times.proof),
          format("loops %.1f", times.loops) + format(", machine code %.1f", times.code)};
}

// Cut at blanks where longer than a column, and a word that is longer anywhere.
Lines wrapped(const Lines& lines, std::size_t width) {
  Lines result;
  for (const std::string& line : lines) {
    std::istringstream words(line);
    std::string open;
    for (std::string word; words >> word;) {
      if (!open.empty() && open.size() + 1 + word.size() > width)
        result.push_back(std::exchange(open, ""));
      for (; word.size() > width; word.erase(0, width)) result.push_back(word.substr(0, width));
      open += (open.empty() ? "" : " ") + word;
    }
    result.push_back(open);
  }
  return result;
}

// Lines of 80 characters: a column for each contender, at most three beside each other, then the
// next three below these.
class SideBySide {
 public:
  // One cell of each contender.
  void add(std::string title, std::vector<Lines> cells) {
    rows_.push_back({std::move(title), std::move(cells)});
  }

  void print(std::size_t contenders) const {
    const std::size_t abreast = std::min<std::size_t>(contenders, 3);
    for (std::size_t first = 0; first < contenders; first += abreast) {
      if (first > 0) std::printf("\n");
      for (const auto& [title, cells] : rows_)
        print_row(title, std::span(cells).subspan(first, std::min(abreast, contenders - first)),
                  (80 - kTitle + kGap) / abreast - kGap);
    }
  }

 private:
  static constexpr std::size_t kTitle = 13, kGap = 3;  // characters
  std::vector<std::pair<std::string, std::vector<Lines>>> rows_;

  static void print_row(std::string title, std::span<const Lines> cells, std::size_t width) {
    std::vector<Lines> columns;
    std::size_t height = 0;
    for (const Lines& cell : cells) {
      columns.push_back(wrapped(cell, width));
      height = std::max(height, columns.back().size());
    }
    for (std::size_t row = 0; row < height; ++row) {
      std::string line = padded(std::exchange(title, ""), kTitle);
      for (const Lines& column : columns)
        line += padded(row < column.size() ? column[row] : "", width + kGap);
      std::printf("%s\n", line.substr(0, line.find_last_not_of(' ') + 1).c_str());
    }
  }

  static std::string padded(std::string text, std::size_t width) {
    text.resize(std::max(width, text.size() + 1), ' ');
    return text;
  }
};

// What is known of a GPU's kernels; the rows of a network are fewer.
void add_gpu_rows(const std::vector<std::unique_ptr<Work>>& works, SideBySide& table) {
  std::vector<std::string> titles;
  std::vector<std::vector<GpuRow>> columns;
  for (const std::unique_ptr<Work>& work : works) {
    columns.push_back(work->gpu ? gpu_rows(*work->gpu, work->counts) : std::vector<GpuRow>());
    for (const GpuRow& row : columns.back())
      if (std::ranges::find(titles, row.title) == titles.end()) titles.push_back(row.title);
  }
  for (const std::string& title : titles) {
    std::vector<Lines> cells(works.size());
    for (std::size_t i = 0; i < works.size(); ++i)
      for (const GpuRow& row : columns[i])
        if (row.title == title) cells[i] = row.lines;
    table.add(title, cells);
  }
}

// Rows that need a compiled operator are empty for networks.
void print_side_by_side(const std::vector<std::unique_ptr<Work>>& works,
                        const std::vector<Lines>& times, const std::vector<Lines>& models,
                        const Lines& verdicts, bool proved) {
  SideBySide table;
  const auto add = [&](const char* title, const auto& cell) {
    std::vector<Lines> cells;
    for (const std::unique_ptr<Work>& work : works)
      cells.push_back(work->op ? cell(*work) : Lines());
    table.add(title, cells);
  };
  std::vector<Lines> names, outputs;
  for (std::size_t i = 0; i < works.size(); ++i) {
    names.push_back({works[i]->name});
    if (!works[i]->identical_to.empty())
      names.back().push_back("the loops of " + works[i]->identical_to);
    outputs.push_back({i == 0 && verdicts[i].empty() ? "the first" : verdicts[i]});
  }
  table.add("", names);
  table.add("time", times);
  if (!models.empty()) table.add("model", models);
  add("nest", [](const Work& work) { return Lines{nest_line(work.op->built)}; });
  add("storage", [](const Work& work) { return storage_lines(work.op->built); });
  add_gpu_rows(works, table);
  add("float order", [](const Work& work) { return order_lines(work.op->built); });
  add("proof", [&](const Work& work) { return Lines{proof_line(work.op->built, proved)}; });
  add("compile", compile_lines);
  table.add("outputs", outputs);
  table.print(works.size());
}

// On a GPU that is there the work is timed; where there is none it is compiled, and that is said.
void find_device(BenchOptions& options, const codegen::Target& target) {
  if (target.kind != TargetKind::Cuda) return;
  if (options.verb.emulate) {
    if (!std::ranges::all_of(options.sources, is_operator))
      throw UserError(
          ExitStatus::Usage,
          "--emulate: compare emulates operators; a network is by polyte run --emulate");
    options.on = BenchOptions::On::Emulator;
    options.why_not_measured = "what --emulate runs says nothing of time";
    return;
  }
  try {
    runtime::CudaDevice::open(options.verb.cuda);
  } catch (const UserError& e) {
    if (e.status() != ExitStatus::Device || !options.verb.cuda.driver.empty()) throw;
    options.on = BenchOptions::On::Nothing;
    options.why_not_measured = e.what();
  }
}

nlohmann::json row_of(const Work& work, const Figures& figures, std::size_t i,
                      const Machine& machine, const BenchOptions& options) {
  const bool timed = i < figures.timings.size();
  nlohmann::json row = to_json(work, timed ? &figures.timings[i] : nullptr,
                               timed ? figures.peaks.at(work.dtype) : 0, machine, options.threads);
  if (!timed) row["not_measured"] = options.why_not_measured;
  if (!work.op) return row;
  if (options.predicted && !work.gpu)
    row["predicted"] = predicted_of(work, machine, options.threads);
  const CompileTimes times = compile_times(work);
  row["compile_ms"] = {{"schedule", times.schedule},
                       {"proof", times.proof},
                       {"loops", times.loops},
                       {"machine_code", times.code}};
  return row;
}

void print_heading(const BenchOptions& options, const Machine& machine) {
  if (options.why_not_measured.empty())
    std::printf("%s, %d thread%s, %d interleaved rounds\n\n", machine.model_name.c_str(),
                options.threads, options.threads == 1 ? "" : "s", options.repetitions);
  else
    std::printf("%s, not measured: %s\n\n", machine.model_name.c_str(),
                options.why_not_measured.c_str());
}

int run_compare(BenchOptions options) {
  if (options.schedulers.empty()) options.schedulers = {"poly", "template"};
  int status = 0;
  const codegen::Target target = target_from(options.verb.target, 0, options.verb.cuda);
  check_emulate(options.verb.emulate, target);
  options.emulation = emulator_options(options.order, options.verb.emulate);
  options.emulation.count_accesses = true;
  find_device(options, target);
  std::vector<std::unique_ptr<Work>> works = all_work(options, status);
  const Machine& machine = target.machine;
  // Before anything is timed, so that a wrong result shows beside its time.
  const Lines verdicts = agreement(works);
  const Figures figures =
      options.why_not_measured.empty() ? time_all(works, options, machine) : Figures();
  nlohmann::json rows = nlohmann::json::array();
  std::vector<Lines> times, models;
  std::vector<double> predicted;  // nanoseconds, 0: not known
  for (std::size_t i = 0; i < works.size(); ++i) {
    nlohmann::json row = row_of(*works[i], figures, i, machine, options);
    std::optional<bench::Ratio> ratio;
    if (!figures.timings.empty()) {
      ratio = bench::ratio_of(figures.timings[i], figures.timings[0]);
      row["ratio_to_first"] = {
          {"median", ratio->median}, {"low", ratio->low}, {"high", ratio->high}};
    }
    row["outputs"] = verdicts[i];
    row["script"] = works[i]->script;
    // Equal loops are equal work: a ratio of their times would say nothing of either.
    const bool is_other = i > 0 && !has_same_loops(*works[i], *works[0]);
    times.push_back(time_lines(row, is_other && ratio ? &*ratio : nullptr));
    if (options.predicted) {
      models.push_back(predicted_lines(row));
      const nlohmann::json model = row.value("predicted", nlohmann::json::object());
      predicted.push_back(model.value("nanoseconds", 0.0));
    }
    rows.push_back(std::move(row));
  }
  if (options.json) {
    print_json(rows, machine, options.repetitions);
    return status;
  }
  print_heading(options, machine);
  print_side_by_side(works, times, models, verdicts, !options.verb.schedule.no_proof);
  if (options.predicted)
    for (const std::string& line : rank_lines(ranked_pairs(works, predicted, figures.timings)))
      std::printf("%s\n", line.c_str());
  for (const std::unique_ptr<Work>& work : works) {
    if (!work->script.empty()) std::printf("\n# %s\n%s", work->name.c_str(), work->script.c_str());
  }
  return status;
}

}  // namespace

void add_compare(const Verb& app) {
  const Verb verb =
      app.verb("compare", "the same work under several schedulers or scripts, side by side");
  std::shared_ptr<BenchOptions> options = bench_options(verb);
  verb.remove("--scheduler");  // several are compared: --schedulers
  verb.existing("--schedulers").description("what is compared; else poly,template");
  verb.flag("--emulate", options->verb.emulate,
            "of a GPU: emulate its threads on this CPU, check and count every access");
  add_order_option(verb, options->order);
  verb.flag("--predicted", options->predicted,
            "what the model expects beside what is measured, and which pairs it ranks wrongly");
  verb.example(
      "polyte compare 'C[m,n] = sum[k] A[m,k]*B[k,n]' --shape m=256,n=256,k=256 --schedulers "
      "poly,template");
  verb.calls([options, verb] {
    if (verb.is_given("--threads")) options->verb.schedule_threads = options->threads;
    return run_compare(*options);
  });
}

}  // namespace polyte::cli
