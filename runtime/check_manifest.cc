// Every number and reference of a manifest that came from elsewhere, before anything is made of it.
#include <algorithm>
#include <set>

#include "runtime/manifest.h"
#include "runtime/tensor.h"
#include "support/checked.h"
#include "support/error.h"
#include "support/target.h"

namespace polyte::runtime {
namespace {

// Collects the problems of a manifest, kind by kind: what comes later rests on what
// was checked before.
class Checker {
 public:
  Checker(const ArtifactManifest& manifest, const std::vector<std::int64_t>& constants_bytes)
      : m_(manifest), constants_(constants_bytes) {}

  // From what rests on nothing to what rests on the rest: numbers on symbols, tensors on
  // numbers, buffers on tensors, steps on buffers. A later kind is not looked at while an
  // earlier one has problems, because it could index out of range.
  std::vector<std::string> run() {
    check_symbols();
    if (!problems_.empty()) return std::move(problems_);
    if (m_.arena_bytes < 0 || m_.arena_bytes > kMostArenaBytes)
      problem("arena of " + std::to_string(m_.arena_bytes) + " bytes");
    for (const auto& tensor : m_.inputs) check_tensor(tensor);
    for (const auto& tensor : m_.outputs) check_tensor(tensor);
    for (const auto& fixed : m_.fixed) check_fixed(fixed);
    if (problems_.empty()) check_symbols_found();
    if (!problems_.empty()) return std::move(problems_);
    for (const BufferSpec& buffer : m_.buffers) check_buffer(buffer);
    if (!problems_.empty()) return std::move(problems_);
    for (const StepSpec& step : m_.steps) check_step(step);
    check_device();
    return std::move(problems_);
  }

 private:
  const ArtifactManifest& m_;
  const std::vector<std::int64_t>& constants_;
  std::vector<std::string> problems_;

  void problem(const std::string& what) { problems_.push_back(what); }

  void check_symbols() {
    std::set<std::string> names;
    for (const SymbolSpec& symbol : m_.symbols) {
      if (symbol.name.empty()) problem("a symbol has no name");
      if (!symbol.name.empty() && !names.insert(symbol.name).second)
        problem("symbol '" + symbol.name + "' is there twice");
      if (symbol.least < 1 || symbol.most < symbol.least || symbol.most > kMostSize)
        problem("symbol '" + symbol.name + "' is from " + std::to_string(symbol.least) + " to " +
                std::to_string(symbol.most) + ", expected a range within 1 to " +
                std::to_string(kMostSize));
    }
  }

  // Whether the number has a value, not below 0, for all sizes.
  bool check_number(const OpenNumber& number, const std::string& what) {
    if (number.coefficients.size() != m_.symbols.size()) {
      problem(what + " has " + std::to_string(number.coefficients.size()) +
              " coefficients, expected " + std::to_string(m_.symbols.size()) + ", one per symbol");
      return false;
    }
    const std::string text = what + ", " + to_text(number, m_.symbols) + ", ";
    try {
      // Computed for their overflow alone: a number that fits at its largest and smallest sizes
      // fits at all sizes between, since it is linear.
      most_of(number, m_.symbols);
      unit_bytes(number);
      const std::int64_t least = least_of(number, m_.symbols);
      if (least < 0) problem(text + "may be " + std::to_string(least));
      return least >= 0;
    } catch (const UserError&) {
      problem(text + "may exceed 63 bits");
      return false;
    }
  }

  void check_tensor(const TensorSpec& tensor) {
    const std::string name = "tensor '" + tensor.name + "'";
    const auto open = static_cast<std::size_t>(std::ranges::count(tensor.shape, kOpenExtent));
    if (tensor.open.size() != open)
      return problem(name + " has " + std::to_string(open) + " open extents, but numbers for " +
                     std::to_string(tensor.open.size()));
    if (open > 1)
      return problem(name + " has " + std::to_string(open) + " open extents, expected at most 1");
    for (const OpenNumber& number : tensor.open) {
      if (!check_number(number, "the open extent of " + name)) return;
    }
    // Of dense shapes too: a product beyond 63 bits is a UserError.
    try {
      const OpenNumber bytes = byte_count(tensor);
      if (open > 0) check_number(bytes, "the number of bytes of " + name);
    } catch (const UserError&) {
      problem(name + " has impossible shape " + shape_text(tensor, m_.symbols));
    }
  }

  // A run reads the value of a symbol off an extent that is the symbol and nothing else.
  void check_symbols_found() {
    std::vector<bool> found(m_.symbols.size());
    for (const TensorSpec& input : m_.inputs) {
      for (const OpenNumber& number : input.open) {
        if (const auto symbol = only_symbol(number)) found[*symbol] = true;
      }
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i]) problem("symbol '" + m_.symbols[i].name + "' is the extent of no input");
    }
  }

  // The digest is all that a value which is given for the input can be held against.
  void check_fixed(const FixedInput& fixed) {
    if (std::ranges::find(fixed.tensor.shape, kOpenExtent) != fixed.tensor.shape.end())
      problem("input '" + fixed.tensor.name + "' is fixed to a value of an open shape");
    else
      check_tensor(fixed.tensor);
    const bool is_digest =
        fixed.xxh3_128.size() == 32 &&
        fixed.xxh3_128.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!is_digest)
      problem("input '" + fixed.tensor.name + "' is fixed to a value of digest '" + fixed.xxh3_128 +
              "', expected 32 hexadecimal digits");
  }

  static std::string region_text(const BufferSpec& b) {
    return "buffer '" + b.name + "' (offset " + std::to_string(b.offset) + ", " +
           std::to_string(b.bytes) + " bytes)";
  }

  // Written as differences: offset + bytes could overflow.
  bool check_region(const BufferSpec& b, std::int64_t total, const std::string& where) {
    const bool fits =
        b.offset >= 0 && b.bytes >= 0 && b.bytes <= total && b.offset <= total - b.bytes;
    if (!fits)
      problem(region_text(b) + " does not fit in " + where + " of " + std::to_string(total) +
              " bytes");
    return fits;
  }

  // Open tensors and sizes scale as a whole, so a part of one could not be said at scale 1.
  void check_whole(const BufferSpec& b, std::int64_t total, const std::string& what) {
    if (b.offset != 0 || b.bytes != total)
      problem(region_text(b) + " is not all of " + what + ", expected offset 0 and " +
              std::to_string(total) + " bytes");
  }

  static std::string exact_text(const BufferSpec& b) {
    return "the exact number of bytes of buffer '" + b.name + "'";
  }

  // By the difference, whose least value is exact: the two bounds by themselves would refuse
  // batch against batch + 1.
  bool never_exceeds(const OpenNumber& a, const OpenNumber& b) const {
    try {
      return least_of(minus(b, a), m_.symbols) >= 0;
    } catch (const UserError&) {  // too far apart for 63 bits
      return false;
    }
  }

  // `room`: how many bytes there are at the sizes of a run.
  void check_exact(const BufferSpec& b, const OpenNumber& room) {
    if (!b.exact || !check_number(*b.exact, exact_text(b)) || never_exceeds(*b.exact, room)) return;
    problem(exact_text(b) + ", " + to_text(*b.exact, m_.symbols) + ", may exceed the " +
            to_text(room, m_.symbols) + " that there are");
  }

  // In the arena both the room and the exact number scale, so comparing them at scale 1 is
  // enough: scale * unit_bytes bounds the number at all sizes (open_number.h).
  void check_arena(const BufferSpec& b) {
    if (!check_region(b, m_.arena_bytes, "an arena") || !b.exact ||
        !check_number(*b.exact, exact_text(b)))
      return;
    const std::int64_t needed = unit_bytes(*b.exact);
    if (needed > b.bytes)
      problem(exact_text(b) + ", " + to_text(*b.exact, m_.symbols) + ", needs " +
              std::to_string(needed) + " bytes at scale 1, but it has " + std::to_string(b.bytes));
  }

  void check_interface(const BufferSpec& b, const std::vector<TensorSpec>& tensors,
                       const std::string& what) {
    // A negative index becomes a huge one.
    const auto index = static_cast<std::uint64_t>(b.index);
    if (index >= tensors.size())
      return problem("buffer '" + b.name + "' names " + what + " " + std::to_string(b.index));
    const TensorSpec& tensor = tensors[index];
    const std::string where = what + " '" + tensor.name + "'";
    if (is_open(tensor)) {
      check_whole(b, unit_bytes(tensor), where);
      check_exact(b, byte_count(tensor));
    } else if (check_region(b, unit_bytes(tensor), where)) {
      check_exact(b, {b.bytes, {}});
    }
  }

  void check_buffer(const BufferSpec& b) {
    switch (b.place) {
      case BufferPlace::Arena:
        return check_arena(b);
      case BufferPlace::Input:
        return check_interface(b, m_.inputs, "input");
      case BufferPlace::Output:
        return check_interface(b, m_.outputs, "output");
      case BufferPlace::Sizes:
        return check_sizes(b);
      case BufferPlace::Constant:
        break;
    }
    const auto index = static_cast<std::uint64_t>(b.index);
    if (index >= constants_.size())
      return problem("buffer '" + b.name + "' names constants " + std::to_string(b.index));
    if (check_region(b, constants_[index], "constants")) check_exact(b, {b.bytes, {}});
  }

  void check_sizes(const BufferSpec& b) {
    if (m_.symbols.empty())
      return problem("buffer '" + b.name + "' is of sizes, but there are no symbols");
    check_whole(b, static_cast<std::int64_t>(m_.symbols.size() * sizeof(std::int64_t)),
                "the sizes");
    check_exact(b, {b.bytes, {}});
  }

  void check_step(const StepSpec& step) {
    const std::string name = step.kernel.empty() ? "copy" : "kernel '" + step.kernel + "'";
    // Each slice of scratch begins at a multiple of the alignment, so each size has to be one.
    const auto out_of_range = [](std::int64_t bytes) {
      return bytes < 0 || bytes > kMostArenaBytes || bytes % kAlignment != 0;
    };
    if (out_of_range(step.scratch_shared_bytes) || out_of_range(step.scratch_bytes_per_worker)) {
      problem(name + " has an impossible scratch size");
    }
    for (const std::int64_t buffer : step.buffers) {
      if (buffer < 0 || buffer >= static_cast<std::int64_t>(m_.buffers.size())) {
        return problem(name + " names buffer " + std::to_string(buffer));
      }
    }
    if (step.kernel.empty()) check_copy(step);
  }

  // Names become names of members.
  static bool is_word(const std::string& text) {
    const auto fits = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    return !text.empty() && std::ranges::all_of(text, fits);
  }

  static bool is_architecture(const std::string& text) {
    return text == kPtx || (text.starts_with("sm_") && text.size() <= 8 && is_word(text));
  }

  void check_device() {
    // Generous bounds of the hardware: 1,024 threads are the limit of every GPU so far, and no
    // block has a mebibyte of shared memory. They keep what reaches the driver within its
    // types.
    constexpr std::int64_t kMostThreads = 1024, kMostShared = 1 << 20;
    if (!m_.device.empty() && m_.arch != to_string(TargetKind::Cuda))
      problem("code for a GPU, but it is built for " + m_.arch);
    std::set<std::string> names;
    for (const DeviceModule& module : m_.device) {
      const std::string who = "device code '" + module.name.substr(0, 100) + "'";
      if (!is_word(module.name) || !names.insert(module.name).second)
        problem(who + " has no name of its own");
      std::set<std::string> once;
      for (const std::string& architecture : module.architectures)
        if (!is_architecture(architecture) || !once.insert(architecture).second)
          problem(who + " is for the impossible architecture '" + architecture.substr(0, 100) +
                  "'");
      for (const DeviceKernel& kernel : module.kernels)
        if (!is_word(kernel.name) || kernel.threads < 1 || kernel.threads > kMostThreads ||
            kernel.shared_bytes < 0 || kernel.shared_bytes > kMostShared)
          problem(who + ": impossible kernel '" + kernel.name.substr(0, 100) + "'");
    }
  }

  // A copy goes from what a run has to what it may write; an output's or arena's, never an
  // input.
  void check_copy(const StepSpec& step) {
    if (step.buffers.size() != 2)
      return problem("copy has " + std::to_string(step.buffers.size()) + " buffers");
    const BufferSpec& from = m_.buffers[static_cast<std::size_t>(step.buffers[0])];
    const BufferSpec& to = m_.buffers[static_cast<std::size_t>(step.buffers[1])];
    if (!is_same(copied_bytes(m_, from), copied_bytes(m_, to)))
      problem("copy from '" + from.name + "' to '" + to.name + "' of another size");
    if (to.place != BufferPlace::Arena && to.place != BufferPlace::Output) {
      problem("copy writes to '" + to.name + "', which is read-only");
    }
  }
};

}  // namespace

void check_manifest(const ArtifactManifest& manifest,
                    const std::vector<std::int64_t>& constants_bytes, const std::string& source) {
  std::vector<std::string> problems = Checker(manifest, constants_bytes).run();
  if (problems.empty()) return;
  for (std::string& problem : problems) problem = "artifact '" + source + "': " + problem;
  throw UserError(ExitStatus::Artifact, std::move(problems));
}

}  // namespace polyte::runtime
