// Inputs and outputs of the verbs that run something: where values come from, what becomes of the results.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "driver/cli/cli.h"
#include "runtime/artifact.h"
#include "runtime/compare.h"
#include "runtime/npy.h"

namespace polyte::cli {
namespace {

std::string type_text(const runtime::Tensor& tensor) {
  return std::string(to_string(tensor.dtype())) + runtime::to_string(tensor.shape());
}

std::string listed(const std::vector<std::string>& names) {
  if (names.empty()) return "there is none";
  std::string text = "there are ";
  for (const std::string& name : names) text += (&name == names.data() ? "" : ", ") + name;
  return text;
}

std::vector<std::string> input_names(const std::vector<NamedBuffer>& buffers) {
  std::vector<std::string> names;
  for (const NamedBuffer& buffer : buffers)
    if (buffer.input) names.push_back(buffer.name);
  return names;
}

// Of what -i gives: names without an input, names given twice, other types or shapes.
std::vector<std::string> problems_of(const runtime::NamedTensors& given, const std::vector<NamedBuffer>& buffers) {
  std::vector<std::string> problems, seen;
  const std::vector<std::string> known = input_names(buffers);
  for (const auto& [name, tensor] : given) {
    const auto it =
        std::ranges::find_if(buffers, [&, n = name](const NamedBuffer& b) { return b.input && b.name == n; });
    if (std::ranges::find(seen, name) != seen.end())
      problems.push_back("input '" + name + "' is given twice");
    else if (it == buffers.end())
      problems.push_back("input '" + name + "': there is no such input (" + listed(known) + ")");
    else if (it->tensor.dtype() != tensor.dtype() || it->tensor.shape() != tensor.shape())
      problems.push_back("input '" + name + "' is " + type_text(tensor) + ", expected " + type_text(it->tensor));
    seen.push_back(name);
  }
  return problems;
}

// "min -3, max 4", what is not a number counted beside.
std::string range_text(const runtime::Tensor& tensor) {
  std::int64_t least = -1, most = -1, nans = 0;
  auto value = [&](std::int64_t i) { return runtime::element_as_double(tensor.dtype(), tensor.data(), i); };
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
  auto element = [&](std::int64_t i) { return runtime::element_text(tensor.dtype(), tensor.data(), i); };
  if (least >= 0) text = "  min " + element(least) + "  max " + element(most);
  return nans > 0 ? text + "  nan " + std::to_string(nans) : text;
}

bool begins_with(const std::string& path, std::string_view magic) {
  std::string begin(magic.size(), ' ');
  return std::ifstream(path, std::ios::binary).read(begin.data(), static_cast<std::streamsize>(begin.size())) &&
         begin == magic;
}

}  // namespace

void add_data_options(const Verb& verb, DataOptions& options) {
  verb.option("-i,--input", options.inputs, "in.npz, NAME=@x.npy, or x.npy where there is one input; repeatable");
  verb.option("--fill", options.fill, "values of the other inputs: zeros, ones, normal[:SEED] or int:SEED");
  verb.option("-o,--output", options.output, "write the outputs to this .npz");
  verb.option("--expect", options.expect, "compare the outputs with this .npz");
  verb.option("--rtol", options.rtol, "relative tolerance of --expect").shows_default();
  verb.option("--atol", options.atol, "absolute tolerance of --expect").shows_default();
}

runtime::NamedTensors read_inputs(const DataOptions& options) {
  runtime::NamedTensors given;
  for (const std::string& item : options.inputs) {
    const std::size_t at = item.find("=@");
    if (at != std::string::npos) {
      given.emplace_back(item.substr(0, at), runtime::read_npy(item.substr(at + 2)));
    } else if (begins_with(item, "\x93NUMPY")) {
      given.emplace_back("", runtime::read_npy(item));
    } else {
      if (std::filesystem::is_regular_file(item) && !begins_with(item, "PK"))
        throw UserError(ExitStatus::Usage, "-i " + item + ": neither an .npz nor an .npy file; expected in.npz, " +
                                               "NAME=@x.npy or x.npy (numpy.save writes an array so)");
      for (auto& [name, tensor] : runtime::read_npz(item)) given.emplace_back(name, std::move(tensor));
    }
  }
  return given;
}

void name_inputs(const std::vector<std::string>& inputs, runtime::NamedTensors& given) {
  const auto bare = std::ranges::count_if(given, [](const auto& one) { return one.first.empty(); });
  if (bare == 0) return;
  if (inputs.size() != 1 || bare > 1)
    throw UserError(ExitStatus::Usage, "-i with a bare .npy is for one single input (" + listed(inputs) +
                                           "), expected -i NAME=@x.npy");
  for (auto& [name, tensor] : given)
    if (name.empty()) name = inputs[0];
}

void require_inputs(const DataOptions& options, const std::vector<std::string>& inputs,
                    const runtime::NamedTensors& given) {
  if (!options.fill.empty()) return;
  std::vector<std::string> missing;
  for (const std::string& name : inputs)
    if (std::ranges::none_of(given, [&](const auto& one) { return one.first == name; })) missing.push_back(name);
  if (missing.empty()) return;
  std::string names;
  for (const std::string& name : missing) names += (names.empty() ? "'" : ", '") + name + "'";
  throw UserError(ExitStatus::Usage, (missing.size() == 1 ? "input " : "inputs ") + names +
                                         (missing.size() == 1 ? " has" : " have") + " no value: give -i " +
                                         missing[0] + "=@x.npy or -i in.npz, or --fill normal (zeros, ones, int:SEED)");
}

void fill_buffers(const DataOptions& options, std::vector<NamedBuffer>& buffers) {
  runtime::NamedTensors given = read_inputs(options);
  name_inputs(input_names(buffers), given);
  fill_buffers(options, buffers, given);
}

void fill_buffers(const DataOptions& options, std::vector<NamedBuffer>& buffers, const runtime::NamedTensors& given) {
  const std::vector<std::string> problems = problems_of(given, buffers);
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, problems);
  require_inputs(options, input_names(buffers), given);
  const runtime::Fill fill = runtime::parse_fill(options.fill.empty() ? "zeros" : options.fill);
  for (NamedBuffer& buffer : buffers) {
    if (!buffer.input) continue;
    const auto it = std::ranges::find_if(given, [&](const auto& one) { return one.first == buffer.name; });
    if (it == given.end())
      runtime::fill(buffer.tensor, fill, buffer.name);
    else
      std::ranges::copy(it->second.raw(), buffer.tensor.raw().begin());
  }
}

void tell_outputs(const std::string& done, const std::vector<NamedBuffer>& buffers) {
  std::cout.flush();  // what was printed comes first
  std::cerr << done << "\n";
  for (const NamedBuffer& buffer : buffers) {
    if (!buffer.output) continue;
    std::cerr << "  " << buffer.name << "  " << type_text(buffer.tensor) << range_text(buffer.tensor) << "  xxh3 "
              << runtime::digest_of(buffer.tensor.raw()) << "\n";
  }
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

std::string milliseconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 10 ? "%.3f ms" : "%.1f ms", value);
  return text;
}

std::string threads_text(int threads) { return std::to_string(threads) + (threads == 1 ? " thread" : " threads"); }

int finish_outputs(const DataOptions& options, const std::vector<NamedBuffer>& buffers) {
  runtime::NamedTensors outputs;
  for (const NamedBuffer& buffer : buffers) {
    if (buffer.output) outputs.emplace_back(buffer.name, buffer.tensor.clone());
  }
  if (!options.output.empty()) runtime::write_npz(options.output, outputs);
  if (options.expect.empty()) return 0;
  int status = 0;
  const runtime::NamedTensors expected = runtime::read_npz(options.expect);
  for (const auto& [name, tensor] : expected) {
    auto it = std::ranges::find_if(outputs, [&, n = name](const auto& o) { return o.first == n; });
    if (it == outputs.end()) {
      throw UserError(ExitStatus::InvalidInput, options.expect + ": '" + name + "' is not an output");
    }
    const runtime::Comparison comparison = runtime::compare(it->second, tensor, {options.rtol, options.atol});
    if (comparison.equal) continue;
    std::cerr << "output '" << name << "': " << comparison.message << "\n";
    status = static_cast<int>(ExitStatus::Refused);
  }
  return status;
}

}  // namespace polyte::cli
