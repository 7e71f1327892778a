#include "driver/lab/suite.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "driver/lab/shared_files.h"
#include "driver/lab/suite_text.h"
#include "driver/lab/toml_keys.h"
#include "ir/program_text.h"
#include "runtime/file.h"
#include "support/error.h"
#include "support/join_words.h"
#include "support/nearest_word.h"

namespace polyte::lab {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
constexpr std::size_t kMostRows = 10'000;
constexpr std::uint64_t kMostText = 1U << 20U;
constexpr std::int64_t kMostSize = std::int64_t{1} << 40;
constexpr int kMostBases = 4;  // suites that are others with a change, one upon the other

std::string content_of(const std::string& path) {
  runtime::FileContent file(path);
  const runtime::Bytes bytes = file.all();
  if (bytes.size() > kMostText)
    throw UserError(ExitStatus::ResourceLimit, path + ": more than 1 MiB of text");
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_notation(const std::string& program) { return program.find('[') != std::string::npos; }

// ---- one file

class Reader {
 public:
  Reader(std::string path, std::string dataset, int depth)
      : path_(std::move(path)), dataset_(std::move(dataset)), depth_(depth), problems_(path_) {}

  Suite read(std::string name) {
    const std::string text = content_of(path_);
    const toml::table table = parse_toml(text, path_);
    Keys keys(table, "", problems_);
    std::string base;
    keys.text("title", suite_.title);
    keys.text("source", suite_.source);
    keys.text("dtype", dtype_);
    keys.text("base", base);
    if (!is_type(dtype_, table.source())) problems_.throw_if_any();
    read_tables(keys, base);
    keys.finish();
    if (!base.empty()) add_base(base);
    const bool is_read = problems_.empty();
    if (suite_.title.empty()) problems_.add("no title");
    if (suite_.source.empty()) problems_.add("no source: who these sizes are from");
    if (suite_.rows.empty() && base.empty() && is_read) problems_.add("no rows: give a [[table]]");
    if (!dataset_.empty() && !has_datasets_)
      problems_.add("':" + dataset_ + "': the suite has no data sets");
    problems_.throw_if_any();
    suite_.name = std::move(name);
    suite_.path = path_;
    return std::move(suite_);
  }

 private:
  struct Table {
    std::string program, folder, datasets, dataset, dtype, source;
    std::vector<std::string> columns;
  };

  std::string path_, dataset_, dtype_;
  int depth_;
  Problems problems_;
  Suite suite_;
  bool has_datasets_ = false;
  std::set<std::string> names_;
  std::map<std::string, std::string> texts_;     // file -> content
  std::map<std::string, ir::Program> programs_;  // by all that made them

  std::string beside(const std::string& file) const {
    return (fs::path(path_).parent_path() / file).lexically_normal();
  }

  bool is_type(const std::string& dtype, const toml::source_region& where) {
    static const std::vector<std::string> kTypes{"f64", "f32", "f16", "bf16"};
    if (dtype.empty() || std::ranges::find(kTypes, dtype) != kTypes.end()) return true;
    problems_.add(where, "'dtype': expected " + join_words(kTypes) + ", got '" + dtype + "'");
    return false;
  }

  // Another suite's rows, in another type.
  // The limit also ends a cycle of files that are each other's base.
  void add_base(const std::string& base) {
    if (depth_ >= kMostBases)
      return problems_.add("'base': more than " + std::to_string(kMostBases) + " of each other");
    Reader other(beside(base), dataset_, depth_ + 1);
    other.dtype_ = dtype_;
    Suite rows = other.read("");
    has_datasets_ = has_datasets_ || other.has_datasets_;
    suite_.rows.insert(suite_.rows.begin(), rows.rows.begin(), rows.rows.end());
    if (suite_.source.empty()) suite_.source = rows.source;
  }

  void read_tables(Keys& keys, const std::string& base) {
    const toml::node* node = keys.find("table");
    if (!node) return;
    const toml::array* tables = node->as_array();
    if (!tables || !tables->is_homogeneous<toml::table>())
      return problems_.add(node->source(), "'table': expected tables, each under [[table]]");
    if (!base.empty())
      return problems_.add(node->source(), "'table': a suite has a base or tables");
    for (const toml::node& one : *tables) read_table(*one.as_table());
  }

  void read_table(const toml::table& node) {
    Keys keys(node, "table.", problems_);
    Table table;
    table.dtype = dtype_;
    table.source = suite_.source;
    keys.text("program", table.program);
    keys.text("folder", table.folder);
    keys.text("datasets", table.datasets);
    keys.text("dataset", table.dataset);
    keys.text("dtype", table.dtype);
    keys.text("source", table.source);
    keys.texts("columns", table.columns);
    const toml::node* rows = keys.find("rows");
    keys.finish();
    if (!is_type(table.dtype, node.source())) return;
    if (!table.folder.empty()) return read_folder(table, node.source());
    const toml::array* list = rows ? rows->as_array() : nullptr;
    if (!list || list->size() > kMostRows || !list->is_homogeneous<toml::array>())
      return problems_.add(
          rows ? rows->source() : node.source(),
          "'table.rows': expected lists, each a name and a value a column, 10,000 at the most");
    for (const toml::node& row : *list) read_row(table, *row.as_array());
  }

  // ["name", 1024, 1024, ..]: after the name a cell per column. A column is a size or a constant of
  // the Program, or one of two words: "program" (another Program than the table's) and "sizes"
  // ("a=24 b=16", of rows that do not all have the same sizes).
  void read_row(const Table& table, const toml::array& cells) {
    const auto* name = cells.empty() ? nullptr : cells[0].as_string();
    if (!name || cells.size() != table.columns.size() + 1)
      return problems_.add(cells.source(), "a row: expected a name and " +
                                               std::to_string(table.columns.size()) + " values (" +
                                               join_words(table.columns) + "), got " +
                                               std::to_string(cells.size()) + " cells");
    std::string program = table.program;
    std::map<std::string, std::string> values;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const toml::node& cell = cells[i + 1];
      const std::string& column = table.columns[i];
      if (column == "program" || column == "sizes") {
        const auto* text = cell.as_string();
        if (!text) return problems_.add(cell.source(), "'" + column + "': expected text");
        if (column == "program")
          program = **text;
        else if (!read_sizes(**text, values))
          return problems_.add(cell.source(), "'sizes': expected a=24 b=16");
      } else if (const auto* whole = cell.as_integer()) {
        values[column] = std::to_string(**whole);
      } else {
        return problems_.add(cell.source(), "'" + column + "': expected a whole number");
      }
    }
    add_row(table, **name, program, values, cells.source());
  }

  // The files of a folder by the sizes of a JSON file: {"gemm": {"LARGE": {"NI": 1000}}}.
  void read_folder(Table table, const toml::source_region& where) {
    has_datasets_ = true;
    if (!dataset_.empty()) table.dataset = dataset_;
    collect(where, [&] {
      const Json all = Json::parse(text_of(table.datasets), nullptr, false);
      if (!all.is_object())
        throw UserError(ExitStatus::InvalidInput,
                        "'table.datasets': " + table.datasets + " is no JSON object");
      for (const auto& [name, sets] : all.items()) {
        std::vector<std::string> known;
        for (const auto& [set, sizes] : sets.items()) known.push_back(set);
        if (!sets.is_object() || !sets.contains(table.dataset))
          throw UserError(ExitStatus::InvalidInput, "no data set '" + table.dataset +
                                                        "', expected one of " + join_words(known));
        std::map<std::string, std::string> values;
        bool are_whole = true;
        for (const auto& [size, value] : sets[table.dataset].items()) {
          values[size] = value.dump(-1, ' ', false, Json::error_handler_t::replace);
          if (value.is_number_integer()) continue;
          problems_.add(where, "row '" + name + "': '" + size + "': expected a whole number, got " +
                                   values[size]);
          are_whole = false;
        }
        if (are_whole) add_row(table, name, table.folder + "/" + name + ".program", values, where);
      }
    });
  }

  const std::string& text_of(const std::string& file) {
    const auto found = texts_.find(file);
    return found != texts_.end() ? found->second : texts_[file] = content_of(beside(file));
  }

  // What went wrong with a Program or a file is a problem of the row's line.
  template <class F>
  void collect(const toml::source_region& where, F f) {
    try {
      f();
    } catch (const UserError& e) {
      for (const std::string& problem : e.problems()) problems_.add(where, problem);
    }
  }

  // A value whose name the text has as a constant replaces that constant before the text is parsed;
  // all others are sizes, which stay open in the row's Program.
  void add_row(const Table& table, const std::string& name, const std::string& program,
               const std::map<std::string, std::string>& values, const toml::source_region& where) {
    if (!names_.insert(name).second) problems_.add(where, "two rows have the name '" + name + "'");
    if (program.empty()) return problems_.add(where, "row '" + name + "': no program");
    collect(where, [&] {
      SuiteRow row{name, table.source, program, table.dtype, {}, {}};
      const std::string text = is_notation(program) ? "" : text_of(program);
      Constants constants;
      for (const auto& [key, value] : values)
        if (has_constant(text, key)) constants[key] = value;
      row.program = program_of(program, text, constants, table.dtype);
      fill_sizes(row, values, constants);
      suite_.rows.push_back(std::move(row));
    });
  }

  // Rows that differ in sizes alone share one parsed Program.
  const ir::Program& program_of(const std::string& source, const std::string& text,
                                const Constants& constants, const std::string& dtype) {
    std::string key = source + "\n" + dtype;
    for (const auto& [name, value] : constants) key += "\n" + name + "=" + value;
    const auto found = programs_.find(key);
    if (found != programs_.end()) return found->second;
    if (is_notation(source))
      return programs_[key] = ir::parse_index_notation(
                 source, *dtype_from_string(dtype.empty() ? "f32" : dtype));
    return programs_[key] =
               ir::parse_program(with_type(with_constants(text, constants), dtype), source);
  }

  // Every value has to be a size or a constant of the Program, and every size has to have a value.
  static void fill_sizes(SuiteRow& row, const std::map<std::string, std::string>& values,
                         const Constants& constants) {
    std::vector<std::string> problems, missing;
    for (const auto& [name, value] : values) {
      if (constants.contains(name)) continue;
      const auto param = ir::find_param(row.program, name);
      std::int64_t size = 0;
      const char* const end = value.data() + value.size();
      const auto [stop, error] = std::from_chars(value.data(), end, size);
      const bool is_whole = error == std::errc() && stop == end;
      if (!param)
        problems.push_back("row '" + row.name + "': program '" + row.program.name +
                           "' has no size or constant '" + name + "'" +
                           did_you_mean(name, row.program.params));
      else if (!is_whole || size < 0 || size > kMostSize)
        problems.push_back("row '" + row.name + "': '" + name + "': expected a size, got " + value);
      else
        row.sizes[*param] = size;
    }
    for (const std::string& param : row.program.params)
      if (!row.sizes.contains(param)) missing.push_back(param);
    if (!missing.empty())
      problems.push_back("row '" + row.name + "': sizes needed: " + join_words(missing));
    if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, problems);
    // What its conditions say of these sizes.
    ir::bind(row.program, {row.sizes.begin(), row.sizes.end()});
  }
};

// POLYTE_SUITES, then beside the binary.
std::vector<std::string> folders() { return shared_folders("POLYTE_SUITES", "bench/suites"); }

std::string file_of(const std::string& name) {
  for (const std::string& folder : folders())
    if (std::string path = folder + "/" + name + ".toml"; fs::exists(path)) return path;
  const std::vector<std::string> known = suite_names();
  if (known.empty())
    throw UserError(ExitStatus::InvalidInput,
                    "no suite '" + name +
                        "': none is installed; POLYTE_SUITES names folders of suites "
                        "(bench/suites)");
  throw UserError(ExitStatus::InvalidInput, "no suite '" + name + "', expected one of " +
                                                join_words(known) + did_you_mean(name, known));
}

// "polybench-f64:SMALL" -> both.
std::pair<std::string, std::string> parts_of(const std::string& spec) {
  const std::size_t at = spec.rfind(':');
  if (at == std::string::npos || spec.find('/', at) != std::string::npos) return {spec, ""};
  return {spec.substr(0, at), spec.substr(at + 1)};
}

}  // namespace

Suite read_suite(const std::string& spec, const std::string& beside) {
  const auto [name, dataset] = parts_of(spec);
  const bool is_path = name.ends_with(".toml");
  const std::string path = !is_path                       ? file_of(name)
                           : fs::path(name).is_absolute() ? name
                                                          : (fs::path(beside) / name).string();
  return Reader(path, dataset, 0)
      .read(fs::path(name).stem().string() + (dataset.empty() ? "" : ":" + dataset));
}

std::vector<std::string> suite_names() {
  std::set<std::string> names;
  for (const std::string& folder : folders()) {
    std::error_code none;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, none))
      if (entry.path().extension() == ".toml") names.insert(entry.path().stem().string());
  }
  return {names.begin(), names.end()};
}

}  // namespace polyte::lab
