#include "driver/lab/experiment.h"

#include <algorithm>
#include <set>

#include "driver/lab/toml_keys.h"
#include "runtime/fill.h"
#include "support/dtype.h"
#include "support/error.h"
#include "support/join_words.h"
#include "support/nearest_word.h"

namespace polyte::lab {
namespace {

// A file of a stranger must not take all memory: combinations multiply, so they are cut off
// while they are made.
constexpr std::size_t kMostArms = 64, kMostSizes = 10'000;
constexpr std::int64_t kMostSize = std::int64_t{1} << 40;

std::size_t line_of(const toml::node& node) { return node.source().begin.line; }

// Of a key, and of the texts in its list.
void note_lines(const toml::table& table, const std::string& key, Experiment& experiment) {
  const toml::node* node = table.get(key);
  if (!node) return;
  experiment.lines[key] = line_of(*node);
  if (const toml::array* list = node->as_array())
    for (const toml::node& item : *list)
      if (const auto* text = item.as_string())
        experiment.lines.try_emplace(key + " " + **text, line_of(item));
}

void check_arm(const ArmSpec& arm, const toml::source_region& where, Problems& problems) {
  for (const std::string& problem : problems_of(arm)) problems.add(where, problem);
}

// Params are written as numbers or as expressions of sizes ("2*L"); a script's params are text.
std::string text_of(const toml::node& node) {
  if (const auto* number = node.as_integer()) return std::to_string(**number);
  if (const auto* text = node.as_string()) return **text;
  return "";
}

// Every combination of the values that params have, each a copy of the arm whose name is made
// longer by those that vary: {Mr = [4, 8], Nr = 2} of "mine" gives "mine Mr=4" and "mine Mr=8".
void add_with_params(const ArmSpec& arm, const toml::table& params, Problems& problems,
                     std::vector<ArmSpec>& arms) {
  std::vector<ArmSpec> grid{arm};
  // The grid of the params so far, times the values of this one.
  for (const auto& [key, node] : params) {
    std::vector<std::string> values;
    if (const toml::array* list = node.as_array())
      for (const toml::node& item : *list) values.push_back(text_of(item));
    else
      values.push_back(text_of(node));
    if (values.empty() || std::ranges::find(values, "") != values.end() ||
        values.size() > kMostArms) {
      problems.add(node.source(),
                   "'params." + std::string(key.str()) + "': expected a number, a size, or a list");
      continue;
    }
    std::vector<ArmSpec> longer;
    for (const ArmSpec& one : grid)
      for (const std::string& value : values) {
        // One arm too many is kept, for read_arms to report.
        if (longer.size() > kMostArms) break;
        longer.push_back(one);
        longer.back().params.push_back(std::string(key.str()) + "=" + value);
        if (values.size() > 1) longer.back().name += " " + longer.back().params.back();
      }
    grid = std::move(longer);
  }
  arms.insert(arms.end(), grid.begin(), grid.end());
}

void read_arm_table(const toml::table& table, Problems& problems, std::vector<ArmSpec>& arms) {
  Keys keys(table, "arm.", problems);
  std::string name, scheduler, script, peer;
  keys.text("name", name);
  keys.text("scheduler", scheduler);
  keys.text("script", script);
  keys.text("peer", peer);
  const toml::node* params = keys.find("params");
  keys.finish();
  const int given = static_cast<int>(!scheduler.empty()) + static_cast<int>(!script.empty()) +
                    static_cast<int>(!peer.empty());
  // With none or with several it would not be clear what the arm is.
  if (given != 1)
    return problems.add(table.source(), "an [[arm]] needs one of 'scheduler', 'script' and 'peer'");
  ArmSpec arm = arm_of(!script.empty() ? "script:" + script
                       : !peer.empty() ? "peer:" + peer
                                       : scheduler);
  if (!name.empty()) arm.name = name;
  check_arm(arm, table.source(), problems);
  if (!params) return arms.push_back(arm);
  if (!params->is_table() || arm.kind != ArmSpec::Kind::Script)
    return problems.add(params->source(),
                        "'arm.params': expected a table, of an arm that is a script");
  add_with_params(arm, *params->as_table(), problems, arms);
}

// arms = [..] says each in a word; [[arm]] tables give them names or params.
void read_arms(Keys& keys, Problems& problems, Experiment& experiment) {
  std::vector<std::string> names;
  keys.texts("arms", names);
  note_lines(keys.table(), "arms", experiment);
  std::set<std::string> seen;
  // After params have been expanded: two arms of one name often come of one script with two
  // equal values.
  const auto add = [&](const ArmSpec& arm, std::size_t line) {
    experiment.lines.try_emplace("arm " + arm.name, line);
    if (!seen.insert(arm.name).second)
      problems.add_at(line, "two arms have the name '" + arm.name + "'");
    experiment.arms.push_back(arm);
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    const toml::array* list = keys.table().get("arms")->as_array();
    const toml::node& node = list ? *list->get(i) : *keys.table().get("arms");
    const ArmSpec arm = arm_of(names[i]);
    check_arm(arm, node.source(), problems);
    add(arm, line_of(node));
  }
  if (const toml::node* node = keys.find("arm")) {
    const toml::array* tables = node->as_array();
    if (!tables || !tables->is_homogeneous<toml::table>())
      problems.add(node->source(), "'arm': expected tables, each under [[arm]]");
    else
      for (const toml::node& table : *tables) {
        std::vector<ArmSpec> arms;
        read_arm_table(*table.as_table(), problems, arms);
        for (const ArmSpec& arm : arms) add(arm, line_of(table));
      }
  }
  if (experiment.arms.empty()) problems.add("no arms: give arms = [\"poly\", \"template\"]");
  if (experiment.arms.size() > kMostArms)
    problems.add("more than " + std::to_string(kMostArms) + " arms");
  // The first arm where none is named.
  keys.text("baseline", experiment.baseline);
  if (experiment.baseline.empty() && !experiment.arms.empty())
    experiment.baseline = experiment.arms[0].name;
  if (!experiment.arms.empty() && !seen.contains(experiment.baseline))
    problems.add_at(line_of(*keys.table().get("baseline")),
                    "baseline '" + experiment.baseline + "' is no arm" +
                        did_you_mean(experiment.baseline, {seen.begin(), seen.end()}));
}

// One table of sizes: each has one value or several, and all combinations are rows. Several
// [[sizes]] are joined, not combined with each other:
//   {m = 64, n = [32, 64]}, {m = 128, n = 128}     three rows
void add_grid(const toml::table& table, Problems& problems, Experiment& experiment) {
  std::vector<Sizes>& sizes = experiment.sizes;
  std::map<std::string, std::size_t>& lines = experiment.lines;
  Keys keys(table, "sizes.", problems);
  std::vector<Sizes> grid{{}};
  for (const auto& [key, node] : table) {
    std::vector<std::int64_t> values;
    keys.wholes(std::string(key.str()), values, 0, kMostSize);
    lines.try_emplace("sizes." + std::string(key.str()), line_of(node));
    // One whose values were wrong has been reported, and is not missing.
    if (values.empty()) values.push_back(1);
    std::vector<Sizes> longer;
    for (const Sizes& one : grid)
      for (const std::int64_t value : values) {
        // One combination too many is kept, to be reported below.
        if (longer.size() > kMostSizes) break;
        longer.push_back(one);
        longer.back()[std::string(key.str())] = value;
      }
    if (longer.size() > kMostSizes)
      return problems.add(table.source(),
                          "more than " + std::to_string(kMostSizes) + " combinations of sizes");
    grid = std::move(longer);
  }
  sizes.insert(sizes.end(), grid.begin(), grid.end());
}

void read_sizes(Keys& keys, Problems& problems, Experiment& experiment) {
  const toml::node* node = keys.find("sizes");
  if (!node) return;
  experiment.lines["sizes"] = line_of(*node);
  // [sizes] is a table, [[sizes]] an array of them.
  if (const toml::table* table = node->as_table()) return add_grid(*table, problems, experiment);
  const toml::array* list = node->as_array();
  if (!list || list->empty() || !list->is_homogeneous<toml::table>())
    return problems.add(
        node->source(),
        "'sizes': expected a table of names and numbers, or several under [[sizes]]");
  for (const toml::node& table : *list) add_grid(*table.as_table(), problems, experiment);
  if (experiment.sizes.size() > kMostSizes)
    problems.add(node->source(),
                 "more than " + std::to_string(kMostSizes) + " combinations of sizes");
}

// Their texts are checked here, where their lines are known.
void read_dtypes_and_fills(Keys& keys, Problems& problems, Experiment& experiment) {
  keys.texts("dtypes", experiment.dtypes);
  note_lines(keys.table(), "dtypes", experiment);
  const auto line = [&](const std::string& key, const std::string& item) {
    const auto found = experiment.lines.find(key + " " + item);
    return found != experiment.lines.end() ? found->second : experiment.lines.at(key);
  };
  for (const std::string& name : experiment.dtypes)
    if (!dtype_from_any_name(name))
      problems.add_at(line("dtypes", name),
                      "'dtypes': got '" + name + "', " + expected_dtype(name));
  std::erase_if(experiment.dtypes,
                [](const std::string& name) { return !dtype_from_any_name(name); });
  keys.texts("fills", experiment.fills);
  note_lines(keys.table(), "fills", experiment);
  for (const std::string& fill : experiment.fills) try {
      runtime::parse_fill(fill);
    } catch (const UserError& e) {
      problems.add_at(line("fills", fill), std::string("'fills': ") + e.what());
    }
}

void read_caches(Keys& keys, Problems& problems, Experiment& experiment) {
  std::vector<std::string> names;
  keys.texts("caches", names);
  if (names.empty()) return;
  experiment.caches.clear();
  for (const std::string& name : names) {
    const Caches all[] = {Caches::Warm, Caches::Cold, Caches::Rotated};
    const auto* found =
        std::ranges::find_if(all, [&](Caches caches) { return to_string(caches) == name; });
    if (found == std::end(all))
      problems.add(keys.table().get("caches")->source(),
                   "'caches': expected warm, cold or rotated, got '" + name + "'");
    else
      experiment.caches.push_back(*found);
  }
}

// Of a key that was written below the head of a table.
std::string above_tables(const std::string& key) {
  return is_experiment_key(key) ? "it stands above all tables" : "";
}

constexpr std::string_view kStopKeys[] = {"rounds", "processes", "width", "round_ms",
                                          "process_seconds"};

void read_stop(Keys& keys, Problems& problems, StopRule& stop) {
  const toml::node* node = keys.find("stop");
  if (!node) return;
  if (!node->is_table()) return keys.wrong(*node, "stop", "a table");
  Keys own(*node->as_table(), "stop.", problems);
  own.range("rounds", stop.rounds_least, stop.rounds_most, 10'000);
  own.range("processes", stop.processes_least, stop.processes_most, 1'000);
  own.number("width", stop.width, 0, 10);
  own.number("round_ms", stop.round_ms, 0.01, 60'000);
  own.number("process_seconds", stop.process_seconds, 0.1, 86'400);
  own.finish(above_tables);
}

// What only one kind of target has.
void check_target(const Keys& keys, Problems& problems, const Experiment& experiment) {
  const auto refuse = [&](const char* key, const std::string& why) {
    problems.add(keys.table().get(key)->source(), "'" + std::string(key) + "': " + why);
  };
  if (experiment.is_on_gpu() && experiment.threads != std::vector<int>{1})
    refuse("threads", "they are a processor's, the target is a GPU");
  if (!experiment.is_on_gpu() && experiment.emulate)
    refuse("emulate", "the emulator is of a GPU, give target = \"cuda:h100\"");
}

// Every key is asked for before finish(), which takes all others for misspelt ones.
Experiment read_table(const toml::table& table, Problems& problems) {
  Experiment experiment;
  Keys keys(table, "", problems);
  keys.text("name", experiment.name);
  keys.texts("programs", experiment.programs);
  keys.texts("suites", experiment.suites);
  keys.texts("only", experiment.only);
  for (const char* key : {"programs", "suites", "only", "target"})
    note_lines(table, key, experiment);
  read_arms(keys, problems, experiment);
  read_sizes(keys, problems, experiment);
  read_dtypes_and_fills(keys, problems, experiment);
  std::vector<std::int64_t> threads;
  keys.wholes("threads", threads, 1, 1024);
  if (!threads.empty()) experiment.threads.assign(threads.begin(), threads.end());
  read_caches(keys, problems, experiment);
  read_stop(keys, problems, experiment.stop);
  keys.text("target", experiment.target);
  keys.number("tolerance", experiment.tolerance, 0, 1);
  std::int64_t seed = 1;
  keys.whole("seed", seed, 0, std::int64_t{1} << 53);
  experiment.seed = static_cast<std::uint64_t>(seed);
  keys.flag("exact", experiment.exact);
  std::int64_t explain = 0;
  keys.whole("explain", explain, 0, 10);
  experiment.explain = static_cast<int>(explain);
  keys.flag("emulate", experiment.emulate);
  check_target(keys, problems, experiment);
  keys.finish([](const std::string& key) {
    return std::ranges::find(kStopKeys, key) == std::end(kStopKeys) ? ""
                                                                    : "it belongs under [stop]";
  });
  if (experiment.programs.empty() && experiment.suites.empty())
    problems.add("no programs: give programs = [\"gemm.program\"] or suites = [\"gemm\"]");
  return experiment;
}

}  // namespace

bool is_experiment_key(const std::string& name) {
  constexpr std::string_view kKeys[] = {"programs", "suites",  "only",      "arms",    "baseline",
                                        "dtypes",   "threads", "fills",     "caches",  "target",
                                        "exact",    "seed",    "tolerance", "explain", "emulate"};
  return std::ranges::find(kKeys, name) != std::end(kKeys);
}

ArmSpec arm_of(const std::string& text) {
  if (text.starts_with("script:")) return {text, ArmSpec::Kind::Script, text.substr(7), {}};
  if (text.starts_with("peer:")) return {text, ArmSpec::Kind::Peer, text.substr(5), {}};
  return {text, ArmSpec::Kind::Scheduler, text, {}};
}

// Only the word is checked here: whether a file or a peer is there is found when the plan is
// made.
std::vector<std::string> problems_of(const ArmSpec& arm) {
  static const std::vector<std::string> kSchedulers{"naive", "isl", "poly", "template"};
  static const std::vector<std::string> kPeers{
      "gcc", "clang",       "polly",    "pluto",  "numpy",  "torch", "torch-compile",
      "xla", "onnxruntime", "openvino", "onednn", "cublas", "triton"};
  if (arm.kind == ArmSpec::Kind::Script)
    return arm.what.empty() ? std::vector<std::string>{"script: the file's name is missing"}
                            : std::vector<std::string>{};
  const bool peer = arm.kind == ArmSpec::Kind::Peer;
  const std::vector<std::string>& words = peer ? kPeers : kSchedulers;
  if (std::ranges::find(words, arm.what) != words.end()) return {};
  return {std::string("unknown ") + (peer ? "peer" : "arm") + " '" + arm.what + "', expected " +
          join_words(words) + (peer ? "" : ", script:FILE or peer:NAME") +
          did_you_mean(arm.what, words)};
}

std::string to_string(Caches caches) {
  switch (caches) {
    case Caches::Warm:
      return "warm";
    case Caches::Cold:
      return "cold";
    case Caches::Rotated:
      return "rotated";
  }
  return "";
}

// Problems are collected over the whole file; what is wrong has its default, or is left out.
Experiment parse_experiment(std::string_view text, const std::string& origin) {
  const toml::table table = parse_toml(text, origin);
  Problems problems(origin);
  Experiment experiment = read_table(table, problems);
  experiment.problems = std::move(problems);
  experiment.origin = origin;
  experiment.text = text;
  if (experiment.name.empty()) experiment.name = origin;
  return experiment;
}

}  // namespace polyte::lab
