#include "runtime/arguments.h"

#include <algorithm>

#include "support/error.h"

namespace polyte::runtime {
namespace {

constexpr std::int64_t kUnknown = 0;  // no size is 0

// Type, rank and the extents that are no matter of sizes.
bool fits_pattern(const TensorView& view, const TensorSpec& spec) {
  if (view.dtype != spec.dtype || view.shape.size() != spec.shape.size()) return false;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (spec.shape[i] != kOpenExtent && view.shape[i] != spec.shape[i]) return false;
  }
  return true;
}

// The shape of an open extent is its number at these sizes. The pattern has been checked
// before, so the ranks are equal.
bool fits_sizes(const TensorView& view, const TensorSpec& spec,
                std::span<const std::int64_t> sizes) {
  auto number = spec.open.begin();
  for (std::size_t i = 0; number != spec.open.end(); ++i) {
    if (spec.shape[i] == kOpenExtent && view.shape[i] != (number++)->at(sizes)) return false;
  }
  return true;
}

bool has_shape(const TensorView& view, const TensorSpec& spec,
               std::span<const std::int64_t> sizes) {
  return fits_pattern(view, spec) && fits_sizes(view, spec, sizes);
}

// Kernels load whole elements at once, so data are aligned to the element. An empty tensor may
// have any pointer, null too.
bool has_data(const TensorView& view) {
  const auto size = static_cast<std::uintptr_t>(size_in_bytes(view.dtype));
  const bool empty = std::ranges::find(view.shape, 0) != view.shape.end();
  return empty || (view.data != nullptr && reinterpret_cast<std::uintptr_t>(view.data) % size == 0);
}

// Whether all have the shape and, if they are to be used, data.
bool all_match(std::span<const TensorView> views, const std::vector<TensorSpec>& specs,
               std::span<const std::int64_t> sizes, bool with_data) {
  if (views.size() != specs.size()) return false;
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (!has_shape(views[i], specs[i], sizes) || (with_data && !has_data(views[i]))) return false;
  }
  return true;
}

// Lists what is wrong with tensors of one kind; the sizes are empty when they are not known.
struct Mismatches {
  std::span<const SymbolSpec> symbols;
  std::span<const std::int64_t> sizes;
  bool known, with_data;
  std::vector<std::string>& problems;

  void list(std::span<const TensorView> views, const std::vector<TensorSpec>& specs,
            const std::string& kind) const {
    if (views.size() != specs.size()) {
      problems.push_back("got " + std::to_string(views.size()) + " " + kind + "s, expected " +
                         std::to_string(specs.size()));
      return;
    }
    for (std::size_t i = 0; i < views.size(); ++i)
      list_one(views[i], specs[i], kind + " '" + specs[i].name + "'");
  }

  void list_one(const TensorView& view, const TensorSpec& spec, const std::string& name) const {
    const std::string dtype(to_string(spec.dtype));
    const std::string differs = name + " is " + std::string(to_string(view.dtype)) +
                                to_string(view.shape) + ", expected " + dtype +
                                shape_text(spec, symbols);
    if (!fits_pattern(view, spec)) {
      problems.push_back(differs);
    } else if (known && !fits_sizes(view, spec, sizes)) {
      const std::string where = sizes_text(symbols, sizes, &spec.open.front());
      problems.push_back(differs + (where.empty() ? "" : ", where " + where));
    } else if (with_data && !has_data(view)) {
      problems.push_back(
          name + (view.data == nullptr ? " has no data" : " is not aligned to its element"));
    }
  }
};

bool overlap(const TensorView& a, std::int64_t a_bytes, const TensorView& b, std::int64_t b_bytes) {
  const auto a_at = reinterpret_cast<std::uintptr_t>(a.data);
  const auto b_at = reinterpret_cast<std::uintptr_t>(b.data);
  return a_bytes > 0 && b_bytes > 0 && a_at < b_at + static_cast<std::uintptr_t>(b_bytes) &&
         b_at < a_at + static_cast<std::uintptr_t>(a_bytes);
}

}  // namespace

// A carrier is where the value of a symbol can be read off: an extent that is the symbol alone.
// Of `x f32[batch, 4], y f32[2*batch + 1]` that is x's first; y's is then only checked.
ArgumentChecker::ArgumentChecker(const ArtifactManifest& manifest)
    : manifest_(manifest),
      input_bytes_(byte_counts(manifest.inputs)),
      output_bytes_(byte_counts(manifest.outputs)) {
  for (std::size_t i = 0; i < manifest.inputs.size(); ++i) {
    const TensorSpec& spec = manifest.inputs[i];
    if (!is_open(spec)) continue;
    const auto axis =
        static_cast<std::size_t>(std::ranges::find(spec.shape, kOpenExtent) - spec.shape.begin());
    if (const auto symbol = only_symbol(spec.open.front())) carriers_.push_back({i, axis, *symbol});
  }
}

// The fast path: no message is made, no memory taken. False where something is wrong. Where two
// inputs disagree about a size the last one wins here, and the other does not match its shape
// afterwards.
bool ArgumentChecker::find_sizes(std::span<const TensorView> inputs,
                                 std::span<std::int64_t> sizes) const {
  if (inputs.size() != manifest_.inputs.size()) return false;
  for (const Carrier& carrier : carriers_) {
    if (!fits_pattern(inputs[carrier.input], manifest_.inputs[carrier.input])) return false;
    const std::int64_t value = inputs[carrier.input].shape[carrier.axis];
    const SymbolSpec& symbol = manifest_.symbols[carrier.symbol];
    if (value < symbol.least || value > symbol.most) return false;
    sizes[carrier.symbol] = value;
  }
  return true;
}

// The slow path, once it is known that something is wrong: the sizes by those inputs that fit
// otherwise, the first input winning, and a problem for each that disagrees or is out of range.
// Returns whether all sizes are known; if not, the extents that follow from them cannot be
// judged.
bool ArgumentChecker::note_sizes(std::span<const TensorView> inputs, std::span<std::int64_t> sizes,
                                 std::vector<std::string>& problems) const {
  if (inputs.size() != manifest_.inputs.size()) return false;
  std::vector<std::size_t> first(sizes.size());  // the input that a size is from
  for (const Carrier& carrier : carriers_) {
    const auto& spec = manifest_.inputs[carrier.input];
    if (!fits_pattern(inputs[carrier.input], spec)) continue;
    const std::int64_t value = inputs[carrier.input].shape[carrier.axis];
    const SymbolSpec& symbol = manifest_.symbols[carrier.symbol];
    std::int64_t& size = sizes[carrier.symbol];
    if (value < symbol.least || value > symbol.most) {
      problems.push_back("input '" + spec.name + "': " + symbol.name + " is " +
                         std::to_string(value) + ", expected " + std::to_string(symbol.least) +
                         " to " + std::to_string(symbol.most));
    } else if (size == kUnknown) {
      size = value;
      first[carrier.symbol] = carrier.input;
    } else if (size != value) {
      problems.push_back(symbol.name + " is " + std::to_string(size) + " by input '" +
                         manifest_.inputs[first[carrier.symbol]].name + "' and " +
                         std::to_string(value) + " by input '" + spec.name + "'");
    }
  }
  return problems.empty() && std::ranges::find(sizes, kUnknown) == sizes.end();
}

void ArgumentChecker::refuse(std::span<const TensorView> inputs,
                             const std::span<const TensorView>* outputs) const {
  std::vector<std::string> problems;
  std::vector<std::int64_t> sizes(manifest_.symbols.size(), kUnknown);
  const bool known = note_sizes(inputs, sizes, problems);
  const Mismatches mismatches{manifest_.symbols, sizes, known, outputs != nullptr, problems};
  mismatches.list(inputs, manifest_.inputs, "input");
  if (outputs != nullptr) mismatches.list(*outputs, manifest_.outputs, "output");
  throw UserError(ExitStatus::InvalidInput, std::move(problems));
}

// By address ranges: two outputs must not meet, nor an output an input. Inputs may be one
// tensor.
void ArgumentChecker::check_overlaps(std::span<const TensorView> inputs,
                                     std::span<const TensorView> outputs,
                                     std::span<const std::int64_t> sizes) const {
  std::vector<std::string> problems;
  const auto clash = [&](std::size_t o, const std::string& other) {
    problems.push_back("output '" + manifest_.outputs[o].name + "' overlaps " + other);
  };
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const std::int64_t bytes = output_bytes_[o].at(sizes);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (overlap(outputs[o], bytes, inputs[i], input_bytes_[i].at(sizes)))
        clash(o, "input '" + manifest_.inputs[i].name + "'");
    }
    for (std::size_t p = 0; p < o; ++p) {
      if (overlap(outputs[o], bytes, outputs[p], output_bytes_[p].at(sizes)))
        clash(o, "output '" + manifest_.outputs[p].name + "'");
    }
  }
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, std::move(problems));
}

// Sizes first, then what follows from them, then overlaps, which need the byte counts at these
// sizes.
void ArgumentChecker::check(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                            std::span<std::int64_t> sizes) const {
  const bool sound = find_sizes(inputs, sizes) &&
                     all_match(inputs, manifest_.inputs, sizes, true) &&
                     all_match(outputs, manifest_.outputs, sizes, true);
  if (!sound) refuse(inputs, &outputs);
  check_overlaps(inputs, outputs, sizes);
}

std::vector<std::int64_t> ArgumentChecker::sizes_of(std::span<const TensorView> inputs) const {
  std::vector<std::int64_t> sizes(manifest_.symbols.size());
  if (!find_sizes(inputs, sizes) || !all_match(inputs, manifest_.inputs, sizes, false))
    refuse(inputs, nullptr);
  return sizes;
}

}  // namespace polyte::runtime
