#include "driver/lab/plan.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "driver/compile/describe_target.h"
#include "driver/lab/suite.h"
#include "ir/program_text.h"
#include "runtime/artifact.h"
#include "runtime/file.h"
#include "support/error.h"
#include "support/join_words.h"
#include "support/nearest_word.h"

namespace polyte::lab {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMostRows = 10'000;

bool is_notation(const std::string& source) { return source.find('[') != std::string::npos; }

// A path of the experiment's file is seen from its folder.
std::string beside(const Experiment& experiment, const std::string& path) {
  if (fs::path(path).is_absolute()) return path;
  return (fs::path(experiment.origin).parent_path() / path).string();
}

// The Programs of a folder; else the source itself.
std::vector<std::string> files_of(const Experiment& experiment, const std::string& source) {
  if (is_notation(source)) return {source};
  const std::string path = beside(experiment, source);
  std::error_code error;
  return fs::is_directory(path, error) ? files_in(path, ".program") : std::vector{path};
}

// Whether a row of a suite is asked for: by its name, by `suite/row`, or by a pattern
// of either (conv*).
// fnmatch(3) without flags: * matches a slash, too.
bool is_asked_for(const std::string& pattern, const std::string& suite, const std::string& row) {
  return fnmatch(pattern.c_str(), row.c_str(), 0) == 0 ||
         fnmatch(pattern.c_str(), (suite + "/" + row).c_str(), 0) == 0;
}

class Planner {
 public:
  Planner(const Experiment& experiment, const Sources& sources)
      : experiment_(experiment), sources_(sources), problems_(experiment.problems) {}

  // In this order: rows of programs, rows of suites, then names and arms, which look at all of
  // them.
  Plan plan() {
    plan_.name = experiment_.name;
    plan_.experiment = experiment_.text;
    plan_.baseline = experiment_.baseline;
    plan_.target = experiment_.target;
    plan_.stop = experiment_.stop;
    plan_.tolerance = experiment_.tolerance;
    plan_.seed = experiment_.seed;
    plan_.exact = experiment_.exact;
    plan_.explain = experiment_.explain;
    plan_.emulate = experiment_.emulate;
    check_target();
    add_programs();
    check_sizes();
    for (std::size_t i = 0; i < open_.size(); ++i) add_rows(i);
    add_suites();
    check_only();
    tell_apart();
    add_arms();
    if (plan_.rows.size() > kMostRows)
      problem(
          "", "",
          "more than " + std::to_string(kMostRows) + " rows: " + std::to_string(plan_.rows.size()));
    problems_.throw_if_any();
    return std::move(plan_);
  }

 private:
  const Experiment& experiment_;
  const Sources& sources_;
  Plan plan_;
  std::vector<ir::Program> open_;
  std::vector<std::string> dtypes_;  // that each was read with; empty: its own
  std::set<std::string> found_;      // of `only`
  std::set<std::string> left_out_;   // what `only` leaves out
  Problems problems_;

  // At the line of the item of a list, else of its key: `item` may be empty.
  void problem(const std::string& key, const std::string& item, const std::string& text) {
    auto line = experiment_.lines.find(key + " " + item);
    if (line == experiment_.lines.end()) line = experiment_.lines.find(key);
    problems_.add_at(line == experiment_.lines.end() ? 0 : line->second, text);
  }

  // What went wrong with a file is one problem among others.
  template <class F>
  void collect(const std::string& key, const std::string& item, F f) {
    try {
      f();
    } catch (const UserError& e) {
      for (const std::string& text : e.problems()) problem(key, item, text);
    }
  }

  // A GPU that is there is opened when rows are measured.
  void check_target() {
    if (!experiment_.target.ends_with("native"))
      collect("target", "", [&] { driver::target_named(experiment_.target); });
  }

  // Only index notation and C take a type; a Program's file says its own.
  void add_programs() {
    const std::vector<std::string> types =
        experiment_.dtypes.empty() ? std::vector<std::string>{""} : experiment_.dtypes;
    for (const std::string& source : experiment_.programs)
      collect("programs", source, [&] {
        for (const std::string& file : files_of(experiment_, source)) {
          if (file.ends_with(".onnx")) {
            add_model(file);
            continue;
          }
          const bool has_type = is_notation(file) || file.ends_with(".c");
          for (const std::string& type : has_type ? types : std::vector<std::string>{""})
            for (ir::Program& program : sources_.programs(file, type))
              if (is_taken(program.name)) add_program(std::move(program), type);
        }
      });
  }

  bool is_taken(const std::string& name) {
    const std::vector<std::string>& only = experiment_.only;
    if (only.empty() || std::ranges::find(only, name) != only.end())
      return found_.insert(name), true;
    left_out_.insert(name);
    return false;
  }

  bool is_taken(const std::string& suite, const std::string& row) {
    if (experiment_.only.empty()) return true;
    bool taken = false;
    for (const std::string& pattern : experiment_.only)
      if (is_asked_for(pattern, suite, row)) found_.insert(pattern), taken = true;
    if (!taken) left_out_.insert(row);
    return taken;
  }

  void check_only() {
    if (!problems_.empty() && plan_.programs.empty()) return;  // nothing could be read
    for (const std::string& name : experiment_.only)
      if (!found_.contains(name))
        problem("only", name,
                "only '" + name + "': no source has this program" +
                    did_you_mean(name, {left_out_.begin(), left_out_.end()}));
  }

  // Its place among the plan's programs; one that is named twice is there once.
  std::size_t add_program(ir::Program program, const std::string& type) {
    PlannedProgram planned{program.name, ir::digest(program), ir::print(program), ""};
    const auto known = std::ranges::find(plan_.programs, planned);
    if (known != plan_.programs.end())
      return static_cast<std::size_t>(known - plan_.programs.begin());
    plan_.programs.push_back(std::move(planned));
    open_.push_back(std::move(program));
    dtypes_.push_back(type);
    return open_.size() - 1;
  }

  void add_model(const std::string& path) {
    runtime::FileContent file(path);
    const std::string name = fs::path(path).stem().string();
    if (!is_taken(name)) return;
    plan_.programs.push_back(
        {name, runtime::digest_of(file.all()), "", fs::absolute(path).string()});
    open_.emplace_back();
    open_.back().name = name;
    dtypes_.emplace_back();
  }

  // Their rows bring their sizes; the rest of a row's conditions is the experiment's.
  void add_suites() {
    std::set<std::string> names;
    for (const std::string& spec : experiment_.suites)
      collect("suites", spec, [&] {
        if (!names.insert(spec).second)
          return problem("suites", spec, "suite '" + spec + "' is named twice");
        const Suite suite = read_suite(spec, fs::path(experiment_.origin).parent_path().string());
        for (const SuiteRow& one : suite.rows) {
          if (!is_taken(suite.name, one.name)) continue;
          Row row{
              "",        add_program(one.program, ""), one.sizes, 1, "", Caches::Warm, suite.name,
              one.source};
          add_conditions(row, suite.name + "/" + one.name);
        }
      });
  }

  // A size that no program has is a mistake. Suites are not asked: their rows bring their own.
  void check_sizes() {
    std::set<std::string> unknown, params;
    for (const Sizes& sizes : experiment_.sizes)
      for (const auto& [name, value] : sizes)
        if (std::ranges::none_of(open_, [&, n = name](const ir::Program& p) {
              return ir::find_param(p, n).has_value();
            }))
          unknown.insert(name);
    for (const ir::Program& program : open_)
      params.insert(program.params.begin(), program.params.end());
    if (open_.empty()) return;
    for (const std::string& name : unknown)
      problem("sizes." + name, "",
              "sizes." + name + ": no program has a size '" + name + "'" +
                  (is_experiment_key(name) ? "; the key '" + name + "' stands above all tables"
                                           : did_you_mean(name, {params.begin(), params.end()})));
  }

  // "; --shape M=SIZE,N=SIZE", or as the file says it.
  std::string how_sizes_are_given(const std::vector<std::string>& missing) const {
    std::string text;
    const std::string between = experiment_.size_option.empty() ? ", " : ",";
    for (const std::string& name : missing) text += (text.empty() ? "" : between) + name + "=SIZE";
    return experiment_.size_option.empty() ? "; for example: sizes = { " + text + " }"
                                           : "; " + experiment_.size_option + " " + text;
  }

  // The sizes that concern a program, each combination once.
  // Programs of one experiment may have other sizes: those that one does not have are dropped, and
  // combinations that are then equal are one row.
  std::vector<Sizes> sizes_of(const ir::Program& program) {
    std::vector<Sizes> result;
    for (const Sizes& sizes :
         experiment_.sizes.empty() ? std::vector<Sizes>{{}} : experiment_.sizes) {
      Sizes own;
      for (const auto& [name, value] : sizes)
        // m and M are one size.
        if (const auto param = ir::find_param(program, name);
            param && !own.try_emplace(*param, value).second) {
          problem("sizes." + name, "",
                  "program '" + program.name + "': size '" + *param + "' is given twice");
          return {};
        }
      std::vector<std::string> missing;
      for (const std::string& param : program.params)
        if (!own.contains(param)) missing.push_back(param);
      if (!missing.empty()) {
        problem(experiment_.lines.contains("sizes") ? "sizes" : "programs", "",
                "program '" + program.name + "': sizes needed: " + join_words(missing) +
                    how_sizes_are_given(missing));
        return {};
      }
      if (std::ranges::find(result, own) == result.end()) result.push_back(own);
    }
    return result;
  }

  // All combinations with the conditions of the experiment.
  void add_rows(std::size_t program) {
    for (const Sizes& sizes : sizes_of(open_[program])) {
      // What tells it from the other rows: always sizes, the rest where it varies.
      std::string name = plan_.programs[program].name;
      if (experiment_.dtypes.size() > 1 && !dtypes_[program].empty())
        name += " " + dtypes_[program];
      for (const auto& [param, value] : sizes) name += " " + param + "=" + std::to_string(value);
      add_conditions({"", program, sizes, 1, "", Caches::Warm, "", ""}, name);
    }
  }

  // "gemm M=64 N=64 threads=2 caches=cold": conditions are in the name where they vary.
  void add_conditions(Row row, const std::string& name) {
    for (const int threads : experiment_.threads)
      for (const std::string& fill : experiment_.fills)
        for (const Caches caches : experiment_.caches) {
          row.threads = threads;
          row.fill = fill;
          row.caches = caches;
          row.name = name;
          if (experiment_.threads.size() > 1 || threads > 1)
            row.name += " threads=" + std::to_string(threads);
          if (experiment_.fills.size() > 1) row.name += " fill=" + fill;
          if (experiment_.caches.size() > 1) row.name += " caches=" + to_string(caches);
          plan_.rows.push_back(row);
        }
  }

  // Programs of one name that differ.
  void tell_apart() {
    std::map<std::string, int> count;
    for (const Row& row : plan_.rows) ++count[row.name];
    for (Row& row : plan_.rows)
      if (count[row.name] > 1) row.name += " @" + plan_.programs[row.program].digest;
  }

  void add_arms() {
    for (const ArmSpec& spec : experiment_.arms)
      collect("arm " + spec.name, "", [&] {
        PlannedArm arm{spec, {}};
        if (spec.kind == ArmSpec::Kind::Script) add_scripts(arm);
        plan_.arms.push_back(std::move(arm));
      });
  }

  bool has_program(const std::string& name) const {
    return plan_.programs.empty() ||  // which has been said
           std::ranges::find(plan_.programs, name, &PlannedProgram::name) != plan_.programs.end();
  }

  // Those that are for programs of the experiment.
  void add_scripts(PlannedArm& arm) {
    const std::string name = "arm '" + arm.spec.name + "': ";
    std::vector<std::string> others;
    for (const schedule::Script& script :
         sources_.scripts(beside(experiment_, arm.spec.what), arm.spec.params)) {
      if (arm.script_for(script.program))
        problem("arm " + arm.spec.name, "", name + "a second script for '" + script.program + "'");
      else if (has_program(script.program))
        arm.scripts.push_back({script.program, schedule::print(script)});
      else
        others.push_back("'" + script.program + "'");
    }
    if (arm.scripts.empty())
      problem("arm " + arm.spec.name, "",
              name + "no source has the program " + join_words(others) + " of " +
                  (others.size() == 1 ? "this script" : "these scripts"));
  }
};

std::shared_ptr<const ir::Program> parsed(const Plan& plan, const Row& row) {
  const PlannedProgram& program = plan.programs.at(row.program);
  return std::make_shared<const ir::Program>(ir::parse_program(program.text, program.name));
}

}  // namespace

std::vector<std::string> files_in(const std::string& folder, const std::string& extension) {
  std::error_code error;
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == extension) files.push_back(entry.path().string());
  std::ranges::sort(files);
  if (files.empty())
    throw UserError(ExitStatus::InvalidInput, folder + ": a folder without files NAME" + extension);
  return files;
}

const PlannedScript* PlannedArm::script_for(const std::string& program) const {
  const auto found = std::ranges::find(scripts, program, &PlannedScript::program);
  return found == scripts.end() ? nullptr : &*found;
}

const PlannedArm& Plan::arm(const std::string& called) const {
  for (const PlannedArm& one : arms)
    if (one.spec.name == called) return one;
  throw InternalError("no arm '" + called + "' in the plan");
}

Plan make_plan(const Experiment& experiment, const Sources& sources) {
  return Planner(experiment, sources).plan();
}

std::shared_ptr<const ir::Program> open_program(const Plan& plan, const Row& row) {
  return parsed(plan, row);
}

std::shared_ptr<const ir::Program> bound_program(const Plan& plan, const Row& row) {
  const std::shared_ptr<const ir::Program> open = parsed(plan, row);
  ir::Values sizes;
  for (const auto& [name, value] : row.sizes) sizes[name] = value;
  return std::make_shared<const ir::Program>(ir::bind(*open, sizes));
}

}  // namespace polyte::lab
