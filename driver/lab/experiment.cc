#include "driver/lab/experiment.h"

#include <stdexcept>

namespace polyte::lab {
// What the parser takes for granted of hostile text (`[[[`) ends in an error of ours, not of the process.
constexpr void expect_toml(bool condition) {
  if (!condition) throw std::logic_error("the text is not well-formed");
}
}  // namespace polyte::lab
#define TOML_ASSERT(condition) ::polyte::lab::expect_toml(static_cast<bool>(condition))
#include <toml++/toml.h>

#include <algorithm>
#include <functional>
#include <set>

#include "support/error.h"
#include "support/join_words.h"
#include "support/nearest_word.h"
#include "support/stable_sort.h"

namespace polyte::lab {
namespace {

constexpr std::size_t kMostBytes = 1U << 20U;
constexpr std::size_t kMostArms = 64, kMostSizes = 10'000, kMostItems = 1'000;
constexpr std::int64_t kMostSize = std::int64_t{1} << 40;

// What is wrong, each with its line; thrown together.
class Problems {
 public:
  explicit Problems(std::string origin) : origin_(std::move(origin)) {}
  void add(const toml::source_region& where, const std::string& what) {
    list_.emplace_back(where.begin.line, origin_ + ":" + std::to_string(where.begin.line) + ": " + what);
  }
  void add(const std::string& what) { list_.emplace_back(kWholeFile, origin_ + ": " + what); }
  // In the order of the lines; what is of no line comes last.
  void throw_if_any() {
    if (list_.empty()) return;
    sort_stably(list_, {}, [](const auto& one) { return one.first; });
    std::vector<std::string> texts;
    for (const auto& [line, text] : list_) texts.push_back(text);
    throw UserError(ExitStatus::InvalidInput, texts);
  }

 private:
  static constexpr std::size_t kWholeFile = ~std::size_t{0};
  std::string origin_;
  std::vector<std::pair<std::size_t, std::string>> list_;
};

const char* name_of(toml::node_type type) {
  switch (type) {
    case toml::node_type::string:
      return "text";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "true or false";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::table:
      return "a table";
    default:
      return "a date or time";
  }
}

// The keys of one table: each is asked for once, and what nobody asked for is a mistake.
class Keys {
 public:
  Keys(const toml::table& table, std::string title, Problems& problems)
      : table_(table), title_(std::move(title)), problems_(problems) {}

  const toml::node* find(const std::string& key) {
    known_.push_back(key);
    return table_.get(key);
  }
  bool has(const std::string& key) const { return table_.contains(key); }
  const toml::table& table() const { return table_; }

  void wrong(const toml::node& node, const std::string& key, const std::string& expected) {
    problems_.add(node.source(),
                  "'" + title_ + key + "': expected " + expected + ", got " + std::string(name_of(node.type())));
  }

  void text(const std::string& key, std::string& value) {
    const toml::node* node = find(key);
    if (!node) return;
    if (const auto* found = node->as_string())
      value = **found;
    else
      wrong(*node, key, "text");
  }

  void flag(const std::string& key, bool& value) {
    const toml::node* node = find(key);
    if (!node) return;
    if (const auto* found = node->as_boolean())
      value = **found;
    else
      wrong(*node, key, "true or false");
  }

  void number(const std::string& key, double& value, double least, double most) {
    const toml::node* node = find(key);
    if (!node) return;
    const std::optional<double> found = node->value<double>();
    if (!found || node->is_boolean()) return wrong(*node, key, "a number");
    if (!(*found >= least && *found <= most)) return outside(*node, key, least, most);
    value = *found;
  }

  void whole(const std::string& key, std::int64_t& value, std::int64_t least, std::int64_t most) {
    if (const toml::node* node = find(key)) whole_of(*node, key, value, least, most);
  }

  bool whole_of(const toml::node& node, const std::string& key, std::int64_t& value, std::int64_t least,
                std::int64_t most) {
    const auto* found = node.as_integer();
    if (!found) return wrong(node, key, "a whole number"), false;
    if (**found < least || **found > most)
      return outside(node, key, static_cast<double>(least), static_cast<double>(most)), false;
    value = **found;
    return true;
  }

  // One or several texts.
  void texts(const std::string& key, std::vector<std::string>& values) {
    items(key, "text or a list of texts", [&](const toml::node& node, bool first) {
      if (first) values.clear();
      const auto* found = node.as_string();
      if (found) values.push_back(**found);
      return found != nullptr;
    });
  }

  void wholes(const std::string& key, std::vector<std::int64_t>& values, std::int64_t least, std::int64_t most) {
    items(key, "a whole number or a list of them", [&](const toml::node& node, bool first) {
      if (first) values.clear();
      std::int64_t value = 0;
      if (!node.is_integer()) return false;
      if (whole_of(node, key, value, least, most)) values.push_back(value);
      return true;
    });
  }

  // `[least, most]`, or one number that is both.
  void range(const std::string& key, int& least, int& most, int limit) {
    std::vector<std::int64_t> values;
    wholes(key, values, 1, limit);
    const toml::node* node = table_.get(key);
    if (!node || values.empty()) return;
    if (values.size() > 2 || values.front() > values.back())
      return problems_.add(node->source(), "'" + title_ + key + "': expected one number, or [least, most]");
    least = static_cast<int>(values.front());
    most = static_cast<int>(values.back());
  }

  void finish() {
    for (const auto& [key, node] : table_) {
      const std::string name(key.str());
      if (std::ranges::find(known_, name) == known_.end())
        problems_.add(node.source(), "unknown key '" + title_ + name + "'" + did_you_mean(name, known_));
    }
  }

 private:
  const toml::table& table_;
  std::string title_;
  Problems& problems_;
  std::vector<std::string> known_;

  static std::string short_text(double value) {
    std::string text = std::to_string(value);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text;
  }

  void outside(const toml::node& node, const std::string& key, double least, double most) {
    problems_.add(node.source(), "'" + title_ + key + "': expected " + short_text(least) + " to " + short_text(most));
  }

  void items(const std::string& key, const std::string& expected,
             const std::function<bool(const toml::node&, bool)>& take) {
    const toml::node* node = find(key);
    if (!node) return;
    const toml::array* list = node->as_array();
    if (!list) {
      if (!take(*node, true)) wrong(*node, key, expected);
      return;
    }
    if (list->empty() || list->size() > kMostItems)
      return problems_.add(node->source(), "'" + title_ + key + "': expected 1 to " + std::to_string(kMostItems) +
                                               " values, got " + std::to_string(list->size()));
    for (std::size_t i = 0; i < list->size(); ++i)
      if (!take(*list->get(i), i == 0)) return wrong(*list->get(i), key, expected);
  }
};

// `poly`, `script:FILE`, `peer:gcc`.
ArmSpec arm_of(const std::string& text) {
  if (text.starts_with("script:")) return {text, ArmSpec::Kind::Script, text.substr(7), {}};
  if (text.starts_with("peer:")) return {text, ArmSpec::Kind::Peer, text.substr(5), {}};
  return {text, ArmSpec::Kind::Scheduler, text, {}};
}

void check_arm(const ArmSpec& arm, const toml::source_region& where, Problems& problems) {
  static const std::vector<std::string> kSchedulers{"naive", "isl", "poly", "template"};
  static const std::vector<std::string> kPeers{"gcc", "clang", "polly"};
  const auto known = [&](const std::vector<std::string>& words, const std::string& kind) {
    if (std::ranges::find(words, arm.what) != words.end()) return;
    problems.add(where, "unknown " + kind + " '" + arm.what + "', expected " + join_words(words) +
                            (kind == "arm" ? ", script:FILE or peer:NAME" : "") + did_you_mean(arm.what, words));
  };
  if (arm.kind == ArmSpec::Kind::Scheduler) known(kSchedulers, "arm");
  if (arm.kind == ArmSpec::Kind::Peer) known(kPeers, "peer");
  if (arm.kind == ArmSpec::Kind::Script && arm.what.empty()) problems.add(where, "script: the file's name is missing");
}

std::string text_of(const toml::node& node) {
  if (const auto* number = node.as_integer()) return std::to_string(**number);
  if (const auto* text = node.as_string()) return **text;
  return "";
}

// Every combination of the values that params have, each a copy of the arm with its name made longer.
void add_with_params(const ArmSpec& arm, const toml::table& params, Problems& problems, std::vector<ArmSpec>& arms) {
  std::vector<ArmSpec> grid{arm};
  for (const auto& [key, node] : params) {
    std::vector<std::string> values;
    if (const toml::array* list = node.as_array())
      for (const toml::node& item : *list) values.push_back(text_of(item));
    else
      values.push_back(text_of(node));
    if (values.empty() || std::ranges::find(values, "") != values.end() || values.size() > kMostArms) {
      problems.add(node.source(), "'params." + std::string(key.str()) + "': expected a number, a size, or a list");
      continue;
    }
    std::vector<ArmSpec> longer;
    for (const ArmSpec& one : grid)
      for (const std::string& value : values) {
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
  const int given =
      static_cast<int>(!scheduler.empty()) + static_cast<int>(!script.empty()) + static_cast<int>(!peer.empty());
  if (given != 1) return problems.add(table.source(), "an [[arm]] needs one of 'scheduler', 'script' and 'peer'");
  ArmSpec arm = arm_of(!script.empty() ? "script:" + script : !peer.empty() ? "peer:" + peer : scheduler);
  if (!name.empty()) arm.name = name;
  check_arm(arm, table.source(), problems);
  if (!params) return arms.push_back(arm);
  if (!params->is_table() || arm.kind != ArmSpec::Kind::Script)
    return problems.add(params->source(), "'arm.params': expected a table, of an arm that is a script");
  add_with_params(arm, *params->as_table(), problems, arms);
}

void read_arms(Keys& keys, Problems& problems, Experiment& experiment) {
  std::vector<std::string> names;
  keys.texts("arms", names);
  for (const std::string& name : names) {
    experiment.arms.push_back(arm_of(name));
    check_arm(experiment.arms.back(), keys.table().get("arms")->source(), problems);
  }
  if (const toml::node* node = keys.find("arm")) {
    const toml::array* tables = node->as_array();
    if (!tables || !tables->is_homogeneous<toml::table>())
      problems.add(node->source(), "'arm': expected tables, each under [[arm]]");
    else
      for (const toml::node& table : *tables) read_arm_table(*table.as_table(), problems, experiment.arms);
  }
  std::set<std::string> seen;
  for (const ArmSpec& arm : experiment.arms)
    if (!seen.insert(arm.name).second) problems.add("two arms have the name '" + arm.name + "'");
  if (experiment.arms.empty()) problems.add("no arms: give arms = [\"poly\", \"template\"]");
  if (experiment.arms.size() > kMostArms) problems.add("more than " + std::to_string(kMostArms) + " arms");
  keys.text("baseline", experiment.baseline);
  if (experiment.baseline.empty() && !experiment.arms.empty()) experiment.baseline = experiment.arms[0].name;
  if (!experiment.arms.empty() && !seen.contains(experiment.baseline))
    problems.add("baseline '" + experiment.baseline + "' is no arm" +
                 did_you_mean(experiment.baseline, {seen.begin(), seen.end()}));
}

// A table of sizes, each one or several: every combination.
void add_grid(const toml::table& table, Problems& problems, std::vector<Sizes>& sizes) {
  Keys keys(table, "sizes.", problems);
  std::vector<Sizes> grid{{}};
  for (const auto& [key, node] : table) {
    std::vector<std::int64_t> values;
    keys.wholes(std::string(key.str()), values, 0, kMostSize);
    std::vector<Sizes> longer;
    for (const Sizes& one : grid)
      for (const std::int64_t value : values) {
        if (longer.size() >= kMostSizes) break;
        longer.push_back(one);
        longer.back()[std::string(key.str())] = value;
      }
    if (longer.size() >= kMostSizes)
      return problems.add(table.source(), "more than " + std::to_string(kMostSizes) + " combinations of sizes");
    if (!longer.empty()) grid = std::move(longer);
  }
  sizes.insert(sizes.end(), grid.begin(), grid.end());
}

void read_sizes(Keys& keys, Problems& problems, Experiment& experiment) {
  const toml::node* node = keys.find("sizes");
  if (!node) return;
  if (const toml::table* table = node->as_table()) return add_grid(*table, problems, experiment.sizes);
  const toml::array* list = node->as_array();
  if (!list || list->empty() || !list->is_homogeneous<toml::table>())
    return problems.add(node->source(), "'sizes': expected a table of names and numbers, or several under [[sizes]]");
  for (const toml::node& table : *list) add_grid(*table.as_table(), problems, experiment.sizes);
  if (experiment.sizes.size() > kMostSizes)
    problems.add(node->source(), "more than " + std::to_string(kMostSizes) + " combinations of sizes");
}

void read_caches(Keys& keys, Problems& problems, Experiment& experiment) {
  std::vector<std::string> names;
  keys.texts("caches", names);
  if (names.empty()) return;
  experiment.caches.clear();
  for (const std::string& name : names) {
    const Caches all[] = {Caches::Warm, Caches::Cold, Caches::Rotated};
    const auto* found = std::ranges::find_if(all, [&](Caches caches) { return to_string(caches) == name; });
    if (found == std::end(all))
      problems.add(keys.table().get("caches")->source(),
                   "'caches': expected warm, cold or rotated, got '" + name + "'");
    else
      experiment.caches.push_back(*found);
  }
}

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
  own.finish();
}

Experiment read_table(const toml::table& table, Problems& problems) {
  Experiment experiment;
  Keys keys(table, "", problems);
  keys.text("name", experiment.name);
  keys.texts("programs", experiment.programs);
  keys.texts("only", experiment.only);
  read_arms(keys, problems, experiment);
  read_sizes(keys, problems, experiment);
  keys.texts("dtypes", experiment.dtypes);
  std::vector<std::int64_t> threads;
  keys.wholes("threads", threads, 1, 1024);
  if (!threads.empty()) experiment.threads.assign(threads.begin(), threads.end());
  keys.texts("fills", experiment.fills);
  read_caches(keys, problems, experiment);
  read_stop(keys, problems, experiment.stop);
  keys.text("target", experiment.target);
  keys.number("tolerance", experiment.tolerance, 0, 1);
  std::int64_t seed = 1;
  keys.whole("seed", seed, 0, std::int64_t{1} << 53);
  experiment.seed = static_cast<std::uint64_t>(seed);
  keys.flag("exact", experiment.exact);
  keys.finish();
  if (experiment.programs.empty()) problems.add("no programs: give programs = [\"gemm.program\"]");
  return experiment;
}

}  // namespace

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

Experiment parse_experiment(std::string_view text, const std::string& origin) {
  if (text.size() > kMostBytes) throw UserError(ExitStatus::ResourceLimit, origin + ": more than 1 MiB of text");
  Problems problems(origin);
  try {
    const toml::table table = toml::parse(text, origin);
    Experiment experiment = read_table(table, problems);
    problems.throw_if_any();
    experiment.origin = origin;
    experiment.text = text;
    if (experiment.name.empty()) experiment.name = origin;
    return experiment;
  } catch (const toml::parse_error& e) {
    std::string words(e.description());
    if (!words.empty() && words.back() == '.') words.pop_back();
    throw UserError(ExitStatus::InvalidInput,
                    origin + ":" + std::to_string(e.source().begin.line) + ": not TOML: " + words);
  } catch (const std::logic_error& e) {  // of TOML_ASSERT
    throw UserError(ExitStatus::InvalidInput, origin + ": not TOML: " + e.what());
  }
}

}  // namespace polyte::lab
