// Options that several verbs share: where a Program comes from, and which schedule.
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "driver/cli/file_hints.h"
#include "driver/cli/model_options.h"
#include "driver/compile/describe_target.h"
#include "frontend/c/c_reader.h"
#include "ir/einsum_notation.h"
#include "ir/program_text.h"
#include "schedule/script/script.h"
#include "support/file_kind.h"
#include "support/join_words.h"
#include "support/nearest_word.h"

namespace polyte::cli {
namespace {

// What is wrong with a size, or nothing.
std::string size_problem(const std::string& text, std::int64_t& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range && stop == end)
    return "expected a size of at most 63 bits";
  if (error != std::errc() || stop != end)
    return "expected NAME=SIZE with a whole number, got '" + text + "'";
  return value < 0 ? "expected NAME=SIZE with a size that is not negative" : "";
}

DType parse_dtype(const std::string& name) {
  if (const std::optional<DType> type = dtype_from_any_name(name)) return *type;
  throw UserError(ExitStatus::Usage, "--dtype " + name + ": " + expected_dtype(name));
}

// One line in place of one for each line of a file that is something else.
void require_program_text(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) return;
  const std::optional<KnownFile> known = file_kind(path);
  if (!known || known->kind == FileKind::Program) return;
  throw UserError(ExitStatus::InvalidInput,
                  path + ": is " + known->text + ", expected Program text, which begins with " +
                      "program NAME(SIZES)" +
                      (known->kind == FileKind::Script ? "; a script is given with --script" : ""));
}

// Index notation has an equation with brackets; all else is a file, by its ending C or Program
// text.
std::vector<ir::Program> parse_source(const OperatorOptions& options) {
  const bool equation = options.source.find('=') != std::string::npos;
  const bool notation = equation && options.source.find('[') != std::string::npos;
  if (notation)
    return {ir::parse_index_notation(options.source,
                                     parse_dtype(options.dtype.empty() ? "f32" : options.dtype))};
  const bool is_file = std::filesystem::exists(options.source);
  if (const std::string meant = ir::index_notation_of_einsum(options.source);
      !is_file && !meant.empty())
    throw UserError(
        ExitStatus::Usage,
        "'" + options.source + "' is einsum notation, expected index notation: '" + meant + "'");
  if (equation && !is_file)
    throw UserError(ExitStatus::Usage,
                    "'" + options.source +
                        "' is no file, and no index notation, which names elements " +
                        "in brackets: 'C[m,n] = sum[k] A[m,k]*B[k,n]'");
  if (options.source.ends_with(".c"))
    return frontend::read_c(read_text_file(options.source), options.source,
                            parse_dtype(options.dtype.empty() ? "f64" : options.dtype));
  const std::string text = read_text_file(options.source);
  require_program_text(options.source);
  return ir::parse_programs(text, options.source);
}

// A size may be given in the notation's own case: the parameter `m` or `M` of extent m.
// Sizes that are some other program's of the file are passed over here; check_known has refused
// those that are no program's.
std::shared_ptr<const ir::Program> bound(const ir::Program& program, const ir::Values& sizes) {
  ir::Values known;
  for (const auto& [name, value] : sizes)
    if (const auto param = ir::find_param(program, name);
        param && !known.try_emplace(*param, value).second)
      throw UserError(ExitStatus::Usage, "--shape " + name + "=" + std::to_string(value) + ": '" +
                                             *param + "' is given twice");
  require_sizes(program, known);
  return std::make_shared<const ir::Program>(ir::bind(program, known));
}

// Across all programs of the file: a size that none of them has is a misspelt one.
void check_known(const std::vector<ir::Program>& programs, const ir::Values& sizes) {
  std::vector<std::string> problems, names;
  for (const ir::Program& program : programs)
    for (const std::string& param : program.params)
      if (std::ranges::find(names, param) == names.end()) names.push_back(param);
  for (const auto& [name, value] : sizes) {
    bool known = std::ranges::any_of(
        programs, [&, n = name](const ir::Program& p) { return ir::find_param(p, n).has_value(); });
    if (!known)
      problems.push_back("--shape " + name + "=" + std::to_string(value) +
                         ": the program has no size '" + name + "' (there " +
                         (names.empty() ? "is none" : "are " + join_words(names)) + ")" +
                         did_you_mean(name, names));
  }
  if (!problems.empty()) throw UserError(ExitStatus::Usage, problems);
}

}  // namespace

void add_operator_options(const Verb& verb, OperatorOptions& options) {
  verb.option("program", options.source,
              "a file of Program text, a C file with #pragma scop, or index notation in quotes")
      .required();
  verb.option("--shape", options.shape, "sizes, m=512,n=512,k=512").separated();
  verb.option("--dtype", options.dtype,
              "element type of index notation (else f32), and DATA_TYPE in C (else f64)");
}

ir::Values parse_sizes(const std::vector<std::string>& shape) {
  ir::Values sizes;
  std::vector<std::string> problems;
  for (const std::string& item : shape) {
    const std::size_t at = item.find('=');
    std::int64_t value = 0;
    std::string problem;
    if (at == std::string::npos || at == 0) {
      problem = "expected NAME=SIZE, such as m=512,n=512";
    } else {
      problem = size_problem(item.substr(at + 1), value);
      if (problem.empty() && !sizes.try_emplace(item.substr(0, at), value).second)
        problem = "'" + item.substr(0, at) + "' is given twice";
    }
    if (!problem.empty()) problems.push_back("--shape " + item + ": " + problem);
  }
  if (!problems.empty()) throw UserError(ExitStatus::Usage, problems);
  return sizes;
}

// The message is a command that can be completed: known sizes with their values, others as
// SIZE.
void require_sizes(const ir::Program& program, const ir::Values& known) {
  std::vector<std::string> missing;
  std::string whole;
  for (const std::string& param : program.params) {
    const auto at = known.find(param);
    if (at == known.end()) missing.push_back(param);
    whole += (whole.empty() ? "" : ",") + param + "=" +
             (at == known.end() ? "SIZE" : std::to_string(at->second));
  }
  if (missing.empty()) return;
  throw UserError(ExitStatus::Usage, "program '" + program.name + "': sizes needed of " +
                                         join_words(missing) + ": --shape " + whole);
}

std::vector<std::shared_ptr<const ir::Program>> load_programs(
    const OperatorOptions& options, std::vector<std::shared_ptr<const ir::Program>>* open) {
  const ir::Values sizes = parse_sizes(options.shape);
  const std::vector<ir::Program> programs = parse_source(options);
  check_known(programs, sizes);
  std::vector<std::shared_ptr<const ir::Program>> result;
  for (const ir::Program& program : programs) {
    result.push_back(bound(program, sizes));
    if (open) open->push_back(std::make_shared<const ir::Program>(program));
  }
  return result;
}

std::vector<ir::Program> read_programs(const OperatorOptions& options) {
  return parse_source(options);
}

std::shared_ptr<const ir::Program> load_open_program(const OperatorOptions& options) {
  if (is_model(options.source) || is_artifact(options.source))
    throw UserError(
        ExitStatus::Usage,
        options.source +
            ": expected a file of Program text; polyte compile MODEL.onnx --emit program "
            "prints those of a model's groups");
  return load_symbolic_program(options, "");
}

// Sizes that are not given stay open.
std::shared_ptr<const ir::Program> load_symbolic_program(const OperatorOptions& options,
                                                         const std::string& name) {
  std::vector<ir::Program> programs = parse_source(options);
  if (programs.size() > 1 && !name.empty())
    std::erase_if(programs, [&](const ir::Program& program) { return program.name != name; });
  if (programs.size() != 1) {
    throw UserError(ExitStatus::InvalidInput, options.source + ": expected one program" +
                                                  (name.empty() ? "" : ", or one called " + name) +
                                                  ", got " + std::to_string(programs.size()));
  }
  const ir::Values sizes = parse_sizes(options.shape);
  check_known(programs, sizes);
  ir::Program program = programs[0];
  if (!sizes.empty()) program = ir::bind(program, sizes);
  return std::make_shared<const ir::Program>(std::move(program));
}

void add_schedule_options(const Verb& verb, ScheduleOptions& options) {
  verb.option("--scheduler", options.scheduler, "naive, isl, poly or template")
      .one_of({"naive", "isl", "poly", "template"})
      .shows_default();
  verb.option("--script", options.scripts,
              "a schedule for the program that its header names; repeatable");
  add_param_option(verb, options.params);
  add_templates_option(verb, options.templates);
  verb.flag("--strict", options.strict, "what was not done as asked is an error");
  verb.flag("--exact", options.exact,
            "keep the order of floating-point sums; refuse scripts that may round otherwise");
  verb.flag("--no-proof", options.no_proof,
            "check the structure only: for tuning, never for results");
  add_judge_option(verb, options.no_second_judge);
}

void add_judge_option(const Verb& verb, bool& off) {
  verb.flag("--no-second-judge", off, "do not execute what is proved at small sizes");
}

void add_templates_option(const Verb& verb, std::string& folder) {
  verb.option("--templates", folder,
              "a folder of templates (NAME.sched) that go before ours; see polyte templates");
}

void add_param_option(const Verb& verb, std::vector<std::string>& params) {
  verb.option("--param", params, "a value of the script's param or let, Mr=14; repeatable")
      .one_at_a_time();
}

// A value may name a param, a let or a hole of the script; which of them it is, fill() knows.
schedule::Script load_script(const std::string& path, const std::vector<std::string>& params) {
  std::map<std::string, std::string> values;
  for (const std::string& item : params) {
    const std::size_t at = item.find('=');
    if (at == std::string::npos || at == 0 || at + 1 == item.size())
      throw UserError(ExitStatus::Usage, "--param " + item + ": expected NAME=VALUE");
    if (!values.try_emplace(item.substr(0, at), item.substr(at + 1)).second)
      throw UserError(ExitStatus::Usage,
                      "--param " + item + ": '" + item.substr(0, at) + "' is given twice");
  }
  schedule::Script script = schedule::read_script(path);
  schedule::fill(script, values);
  return script;
}

// A single script is not looked at: replay says what is wrong with it, with its line.
void check_scripts(const ScheduleOptions& options,
                   const std::vector<std::shared_ptr<const ir::Program>>& programs) {
  if (options.scripts.size() < 2) return;
  std::vector<std::string> names, problems;
  for (const auto& program : programs) names.push_back(program->name);
  std::map<std::string, std::string> script_of;  // by the program's name
  for (const std::string& path : options.scripts) {
    const std::string name = load_script(path, options.params).program;
    if (std::ranges::find(names, name) == names.end())
      problems.push_back(path + ": the script is for program '" + name + "', expected one of " +
                         join_words(names) + did_you_mean(name, names));
    else if (const auto [first, is_new] = script_of.try_emplace(name, path); !is_new)
      problems.push_back(path + ": a second script for '" + name + "', which has " + first->second);
  }
  if (!problems.empty()) throw UserError(ExitStatus::Usage, problems);
}

// Of several scripts the one for this Program; a single one is taken whatever its header says, so
// that replay can refuse it with the reason.
driver::KernelOptions kernel_options(const ScheduleOptions& options, const ir::Program& program,
                                     schedule::Script& script) {
  driver::KernelOptions result;
  result.scheduler = *driver::scheduler_from_string(options.scheduler);
  result.strict = options.strict;
  result.exact = options.exact;
  if (options.no_proof) result.proof = schedule::ProofLevel::Off;
  result.second_judge = !options.no_second_judge;
  if (result.scheduler != driver::Scheduler::Template && !options.templates.empty())
    throw UserError(ExitStatus::Usage,
                    "--templates " + options.templates + ": only --scheduler template takes them");
  result.templates = schedule::load_templates(options.templates);
  if (options.scripts.empty() && !options.params.empty())
    throw UserError(ExitStatus::Usage, "--param " + options.params[0] + ": there is no --script");
  for (const std::string& path : options.scripts) {
    schedule::Script parsed = load_script(path, options.params);
    if (parsed.program != program.name && options.scripts.size() > 1) continue;
    script = std::move(parsed);
    result.scheduler = driver::Scheduler::Script;
    result.script = &script;
    result.script_origin = path;
  }
  return result;
}

// `threads`: schedules are made for as many cores, whatever the machine has.
codegen::Target target_from(const std::string& text, int threads,
                            const runtime::CudaOptions& cuda) {
  codegen::Target target = driver::target_named(text, cuda);
  if (threads > 0) target.machine.cores = threads;
  return target;
}

// Limited, and checked to be text, before a parser sees it: what is given is often the wrong
// file, and the message can say which kind it is.
std::string read_text_file(const std::string& path) {
  if (const std::string problem = file_problem(path, "a file of text"); !problem.empty())
    throw UserError(ExitStatus::InvalidInput, problem);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UserError(ExitStatus::InvalidInput, path + ": cannot be read");
  constexpr std::size_t kLimit = 16U << 20U;
  std::string text;
  // Piece by piece: a pipe has no size, and an endless one has to end.
  std::array<char, 1U << 16U> piece{};
  while (text.size() <= kLimit && (file.read(piece.data(), piece.size()), file.gcount() > 0))
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  if (text.size() > kLimit)
    throw UserError(ExitStatus::ResourceLimit, path + ": more than 16 MiB of text");
  std::optional<KnownFile> known;
  if (std::filesystem::is_regular_file(path)) known = file_kind(path);
  const bool is_text =
      text.find('\0') == std::string::npos &&
      !(known && (known->kind == FileKind::Image || known->kind == FileKind::Onnx));
  if (!is_text)
    throw UserError(ExitStatus::InvalidInput,
                    path + ": is " + (known ? known->text : "no text") + ", expected text" +
                        (!known                          ? ""
                         : known->kind == FileKind::Onnx ? "; polyte run, compile and bench take "
                                                           "models"
                                                         : export_hint(known->kind)));
  return text;
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error)
    throw UserError(ExitStatus::InvalidInput, path + ": cannot be made: " + error.message());
}

// flush() shows a full disk; the destructor would hide it.
void write_file(const std::string& path, const std::string& contents) {
  std::ofstream file(path, std::ios::binary);
  file << contents;
  errno = 0;
  if (!file.flush())
    throw UserError(ExitStatus::InvalidInput,
                    path + ": cannot be written" +
                        (errno != 0 ? std::string(": ") + std::strerror(errno) : ""));
}

}  // namespace polyte::cli
