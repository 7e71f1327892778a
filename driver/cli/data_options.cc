// Inputs and outputs of the verbs that run something: where values come from, what becomes
// of the results.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "driver/cli/access_report.h"
#include "driver/cli/cli.h"
#include "driver/cli/file_hints.h"
#include "runtime/artifact.h"
#include "runtime/compare.h"
#include "runtime/npy.h"
#include "support/file_kind.h"
#include "support/join_words.h"
#include "support/nearest_word.h"

namespace polyte::cli {
namespace {

std::string type_text(DType dtype, const runtime::Shape& shape) {
  return std::string(to_string(dtype)) + runtime::to_string(shape);
}

std::string type_text(const runtime::Tensor& tensor) {
  return type_text(tensor.dtype(), tensor.shape());
}

bool has_type(const runtime::Tensor& tensor, DType dtype, const runtime::Shape& shape) {
  return tensor.dtype() == dtype && tensor.shape() == shape;
}

std::string listed(const std::vector<std::string>& names) {
  if (names.empty()) return "there is none";
  std::string text = names.size() == 1 ? "there is " : "there are ";
  for (const std::string& name : names) text += (&name == names.data() ? "" : ", ") + name;
  return text;
}

// A name in other letters, or a near one.
std::string other_case(const std::string& name, const std::vector<std::string>& known) {
  const auto same = [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  };
  for (const std::string& one : known)
    if (std::ranges::equal(one, name, same)) return ", did you mean '" + one + "'?";
  return did_you_mean(name, known);
}

// Where another type is given, how NumPy makes this one.
std::string cast_text(const std::string& name, DType given, DType wanted) {
  const std::string text(to_string(wanted));
  if (given == wanted || wanted == DType::BF16) return "";
  const std::string type = text[0] == 'f' ? "float" : text[0] == 'i' ? "int" : "uint";
  return "; in NumPy, " + name + ".astype('" +
         (wanted == DType::Bool ? text : type + text.substr(1)) + "')";
}

std::vector<std::string> input_names(const std::vector<NamedBuffer>& buffers) {
  std::vector<std::string> names;
  for (const NamedBuffer& buffer : buffers)
    if (buffer.input) names.push_back(buffer.name);
  return names;
}

std::vector<std::string> output_names(const std::vector<NamedBuffer>& buffers) {
  std::vector<std::string> names;
  for (const NamedBuffer& buffer : buffers)
    if (buffer.output) names.push_back(buffer.name);
  return names;
}

std::string unknown_input(const std::string& name, const std::vector<std::string>& known) {
  return "input '" + name + "': there is no such input (" + listed(known) + ")" +
         other_case(name, known);
}

// Of what -i gives: names without an input, names given twice, other types or shapes.
// All problems of all inputs, so that one run shows them together.
std::vector<std::string> problems_of(const GivenTensors& given,
                                     const std::vector<NamedBuffer>& buffers) {
  std::vector<std::string> problems, seen;
  const std::vector<std::string> known = input_names(buffers);
  for (const auto& [name, dtype, shape, read] : given) {
    const auto it = std::ranges::find_if(
        buffers, [&, n = name](const NamedBuffer& b) { return b.input && b.name == n; });
    if (std::ranges::find(seen, name) != seen.end())
      problems.push_back("input '" + name + "' is given twice");
    else if (it == buffers.end())
      problems.push_back(unknown_input(name, known));
    else if (!has_type(it->tensor, dtype, shape))
      problems.push_back("input '" + name + "' is " + type_text(dtype, shape) + ", expected " +
                         type_text(it->tensor) + cast_text(name, dtype, it->tensor.dtype()));
    seen.push_back(name);
  }
  return problems;
}

// "min -3, max 4", what is not a number counted beside.
// Extremes are kept by their numbers rather than values, so that they print exactly: 64-bit
// integers are compared as double and printed as they are.
std::string range_text(const runtime::Tensor& tensor) {
  std::int64_t least = -1, most = -1, nans = 0;
  auto value = [&](std::int64_t i) {
    return runtime::element_as_double(tensor.dtype(), tensor.data(), i);
  };
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const double x = value(i);
    if (x != x) {
      ++nans;
      continue;
    }
    if (least < 0 || x < value(least)) least = i;
    if (most < 0 || x > value(most)) most = i;
  }
  std::string text;
  auto element = [&](std::int64_t i) {
    return runtime::element_text(tensor.dtype(), tensor.data(), i);
  };
  if (least >= 0) text = "  min " + element(least) + "  max " + element(most);
  return nans > 0 ? text + "  nan " + std::to_string(nans) : text;
}

constexpr std::string_view kNpyMagic = "\x93NUMPY";

// Files are known by their first bytes: "\x93NUMPY" of the NPY format, "PK" of a zip (.npz).
bool begins_with(const std::string& path, std::string_view magic) {
  std::string begin(magic.size(), ' ');
  return std::ifstream(path, std::ios::binary)
             .read(begin.data(), static_cast<std::streamsize>(begin.size())) &&
         begin == magic;
}

}  // namespace

void add_data_options(const Verb& verb, DataOptions& options) {
  verb.option("-i,--input", options.inputs,
              "in.npz, NAME=@x.npy, or x.npy where there is one input; repeatable");
  verb.option("--fill", options.fill,
              "values of the other inputs: zeros, ones, normal[:SEED] or int:SEED");
  verb.option("-o,--output", options.output,
              "write the outputs to this .npz, a single one to an .npy");
  verb.option("--expect", options.expect,
              "compare the outputs with this .npz, a single one with an .npy");
  verb.option("--rtol", options.rtol, "relative tolerance of --expect").shows_default();
  verb.option("--atol", options.atol, "absolute tolerance of --expect").shows_default();
}

namespace {

// What stands in place of an array.
std::string is_what(const std::string& path) {
  if (std::filesystem::is_empty(path)) return "is empty";
  const std::optional<KnownFile> known = file_kind(path);
  return known ? "is " + known->text : "neither an .npz nor an .npy file";
}

// Read once, here, and copied for each use; members of an archive are read when they are used.
// Problems of the file itself are left to read_npy; a file of another kind is reported by what
// it is.
GivenTensor given_tensor(const std::string& name, const std::string& path) {
  if (std::filesystem::is_regular_file(path) && !begins_with(path, kNpyMagic))
    throw UserError(ExitStatus::InvalidInput,
                    "-i " + name + (name.empty() ? "" : "=@") + path + ": " + is_what(path) +
                        "; expected an .npy file (numpy.save writes one)");
  auto tensor = std::make_shared<runtime::Tensor>(runtime::read_npy(path));
  return {name, tensor->dtype(), tensor->shape(), [tensor] { return tensor->clone(); }};
}

// Only the headers are read now: an archive may hold far more than one run needs.
void add_archive(const std::string& path, GivenTensors& given) {
  const auto archive = std::make_shared<runtime::NpzArchive>(path);
  for (std::size_t i = 0; i < archive->members().size(); ++i) {
    const auto& [name, dtype, shape] = archive->members()[i];
    given.push_back({name, dtype, shape, [archive, i] { return archive->read(i); }});
  }
}

}  // namespace

// Before anything is compiled: a missing file or a misspelt option shows at once. "x.npy" alone
// is a file if there is one, else "x=y" is taken for a forgotten '@'.
void require_data(const DataOptions& options) {
  std::vector<NamedFile> files;
  for (const std::string& item : options.inputs) {
    const std::size_t at = item.find("=@"), equals = item.find('=');
    if (at == std::string::npos && equals != std::string::npos && !std::filesystem::exists(item))
      throw UserError(ExitStatus::Usage, "-i " + item + ": expected NAME=@x.npy, did you mean '" +
                                             item.substr(0, equals) + "=@" +
                                             item.substr(equals + 1) + "'?");
    files.push_back(
        {"-i", at == std::string::npos ? item : item.substr(at + 2), "an .npz or .npy file"});
  }
  if (!options.expect.empty())
    files.push_back({"--expect", options.expect, "an .npz or .npy file"});
  require_files(files);
  if (std::filesystem::is_regular_file(options.expect) && !begins_with(options.expect, kNpyMagic) &&
      !begins_with(options.expect, "PK"))
    throw UserError(ExitStatus::InvalidInput,
                    "--expect " + options.expect + ": " + is_what(options.expect) +
                        "; expected an .npz of the outputs, or the .npy of a single one");
}

GivenTensors read_inputs(const DataOptions& options) {
  require_data(options);
  GivenTensors given;
  for (const std::string& item : options.inputs) {
    const std::size_t at = item.find("=@");
    if (at != std::string::npos) {
      given.push_back(given_tensor(item.substr(0, at), item.substr(at + 2)));
    } else if (begins_with(item, kNpyMagic)) {
      given.push_back(given_tensor("", item));
    } else {
      if (std::filesystem::is_regular_file(item) && !begins_with(item, "PK"))
        throw UserError(ExitStatus::Usage,
                        "-i " + item + ": " + is_what(item) + "; expected in.npz, " +
                            "NAME=@x.npy or x.npy (numpy.save writes an array so)");
      add_archive(item, given);
    }
  }
  return given;
}

// A bare x.npy has no name; with one input it can only be that one.
void name_inputs(const std::vector<std::string>& inputs, GivenTensors& given) {
  const auto bare =
      std::ranges::count_if(given, [](const GivenTensor& one) { return one.name.empty(); });
  if (bare == 0) return;
  if (inputs.size() != 1 || bare > 1)
    throw UserError(ExitStatus::Usage, "-i with a bare .npy is for one single input (" +
                                           listed(inputs) + "), expected -i NAME=@x.npy");
  for (GivenTensor& one : given)
    if (one.name.empty()) one.name = inputs[0];
}

void check_input_names(const std::vector<std::string>& inputs, const GivenTensors& given) {
  std::vector<std::string> problems;
  for (const GivenTensor& one : given)
    if (!one.name.empty() && std::ranges::find(inputs, one.name) == inputs.end())
      problems.push_back(unknown_input(one.name, inputs));
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, problems);
}

void require_inputs(const DataOptions& options, const std::vector<std::string>& inputs,
                    const GivenTensors& given) {
  if (!options.fill.empty()) return;
  std::vector<std::string> missing;
  for (const std::string& name : inputs)
    if (std::ranges::none_of(given, [&](const GivenTensor& one) { return one.name == name; }))
      missing.push_back(name);
  if (missing.empty()) return;
  std::string names;
  for (const std::string& name : missing) names += (names.empty() ? "'" : ", '") + name + "'";
  throw UserError(ExitStatus::Usage,
                  (missing.size() == 1 ? "input " : "inputs ") + names +
                      (missing.size() == 1 ? " has" : " have") + " no value: give -i " +
                      missing[0] +
                      "=@x.npy or -i in.npz, or --fill normal (zeros, ones, int:SEED)");
}

void fill_buffers(const DataOptions& options, std::vector<NamedBuffer>& buffers) {
  GivenTensors given = read_inputs(options);
  name_inputs(input_names(buffers), given);
  fill_buffers(options, buffers, given);
}

void fill_buffers(const DataOptions& options, std::vector<NamedBuffer>& buffers,
                  const GivenTensors& given) {
  const std::vector<std::string> problems = problems_of(given, buffers);
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, problems);
  require_inputs(options, input_names(buffers), given);
  const runtime::Fill fill = runtime::parse_fill(options.fill.empty() ? "zeros" : options.fill);
  for (NamedBuffer& buffer : buffers) {
    if (!buffer.input) continue;
    const auto it = std::ranges::find(given, buffer.name, &GivenTensor::name);
    if (it == given.end())
      runtime::fill(buffer.tensor, fill, buffer.name);
    else
      buffer.tensor = it->read();
  }
}

// On stderr, for stdout may carry a stage's text or JSON. The digest shows at a glance whether two
// runs gave the same bits.
void tell_outputs(const std::string& done, const std::vector<NamedBuffer>& buffers) {
  std::cout.flush();  // what was printed comes first
  std::cerr << done << "\n";
  for (const NamedBuffer& buffer : buffers) {
    if (!buffer.output) continue;
    std::cerr << "  " << buffer.name << "  " << type_text(buffer.tensor)
              << range_text(buffer.tensor) << "  xxh3 " << runtime::digest_of(buffer.tensor.raw())
              << "\n";
  }
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

std::string milliseconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 10 ? "%.3f ms" : "%.1f ms", value);
  return text;
}

std::string threads_text(int threads) {
  return std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

//   mm_launch0           4 blocks of 256 threads, 8192 bytes of shared memory, met 16 times
void print_launches(const std::vector<runtime::LaunchCounts>& counts) {
  for (const runtime::LaunchCounts& count : counts) {
    std::fprintf(
        stderr, "  %-20s %lld blocks of %lld threads, %lld bytes of shared memory, met %lld times",
        count.kernel.c_str(), static_cast<long long>(count.blocks),
        static_cast<long long>(count.threads_a_block), static_cast<long long>(count.shared_bytes),
        static_cast<long long>(count.block_barriers));
    if (count.warp_barriers > 0)
      std::fprintf(stderr, ", warps %lld times", static_cast<long long>(count.warp_barriers));
    std::fprintf(stderr, "\n");
    if (const std::string totals = memory_totals(count); !totals.empty())
      std::fprintf(stderr, "  %-20s %s\n", "", totals.c_str());
  }
}

namespace {

// The arrays of --expect by the outputs' names. An .npy has no name: it is the single output's.
class Expected {
 public:
  Expected(const std::string& path, const std::vector<std::string>& outputs) {
    if (begins_with(path, kNpyMagic)) {
      array_ = runtime::read_npy(path);
      const std::string name = outputs.size() == 1 ? outputs[0] : "";
      members_.push_back({name, array_.dtype(), array_.shape()});
    } else {
      archive_.emplace(path);
      members_ = archive_->members();
    }
  }
  const std::vector<runtime::NpzArchive::Member>& members() const { return members_; }
  runtime::Tensor read(std::size_t i) { return archive_ ? archive_->read(i) : array_.clone(); }

 private:
  std::optional<runtime::NpzArchive> archive_;
  runtime::Tensor array_;
  std::vector<runtime::NpzArchive::Member> members_;
};

bool is_npy_name(const std::string& path) { return path.ends_with(".npy"); }

}  // namespace

// A name that is no output is an error, else a misspelt one would compare nothing.
void check_outputs(const DataOptions& options, const std::vector<std::string>& outputs) {
  const std::string several = "there are " + std::to_string(outputs.size()) + " outputs (" +
                              join_words(outputs) + "): give an .npz";
  if (is_npy_name(options.output) && outputs.size() != 1)
    throw UserError(ExitStatus::Usage,
                    "-o " + options.output + ": an .npy holds one array, " + several);
  if (options.expect.empty()) return;
  const std::string option = "--expect " + options.expect;
  if (begins_with(options.expect, kNpyMagic) && outputs.size() != 1)
    throw UserError(ExitStatus::InvalidInput, option + ": is one array, " + several);
  std::vector<std::string> problems;
  const Expected expected(options.expect, outputs);
  for (const runtime::NpzArchive::Member& member : expected.members())
    if (std::ranges::find(outputs, member.name) == outputs.end())
      problems.push_back(option + ": '" + member.name + "' is not an output (" + listed(outputs) +
                         ")" + other_case(member.name, outputs));
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, problems);
}

// Compared are the outputs that --expect has, which may be some of them.
int finish_outputs(const DataOptions& options, const std::vector<NamedBuffer>& buffers) {
  runtime::NamedTensors outputs;
  for (const NamedBuffer& buffer : buffers) {
    if (buffer.output) outputs.emplace_back(buffer.name, buffer.tensor.clone());
  }
  check_outputs(options, output_names(buffers));
  if (is_npy_name(options.output))
    runtime::write_npy(options.output, outputs.front().second);
  else if (!options.output.empty())
    runtime::write_npz(options.output, outputs);
  if (options.expect.empty()) return 0;
  int status = 0;
  Expected expected(options.expect, output_names(buffers));
  for (std::size_t i = 0; i < expected.members().size(); ++i) {
    const auto& [name, dtype, shape] = expected.members()[i];
    auto it = std::ranges::find_if(outputs, [&, n = name](const auto& o) { return o.first == n; });
    runtime::Comparison comparison;
    if (has_type(it->second, dtype, shape)) {
      comparison = runtime::compare(it->second, expected.read(i), {options.rtol, options.atol});
    } else {
      comparison.equal = false;
      comparison.message = "got " + type_text(it->second) + ", expected " + type_text(dtype, shape);
    }
    if (comparison.equal) continue;
    std::cerr << "output '" << name << "': " << comparison.message << "\n";
    status = static_cast<int>(ExitStatus::Refused);
  }
  return status;
}

}  // namespace polyte::cli
