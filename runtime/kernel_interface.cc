#include "runtime/kernel_interface.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "support/error.h"
#include "support/kernel_abi.h"

namespace polyte::runtime {
namespace {

struct KernelBuffer {
  bool reads = false, writes = false;
  DType dtype = DType::F32;
  std::int64_t alignment = 1;
  OpenNumber bytes{};
};

struct KernelInterface {
  std::size_t symbols = 0;
  std::int64_t scratch_shared_bytes = 0, scratch_bytes_per_worker = 0;
  std::vector<KernelBuffer> buffers;
  std::vector<std::pair<std::size_t, std::size_t>> in_place;
};

// The layout is that of support/kernel_abi.h; `at` moves behind what was read.
KernelBuffer read_buffer(const std::int64_t*& at, std::size_t symbols) {
  KernelBuffer buffer;
  buffer.reads = (*at & POLYTE_READS) != 0;
  buffer.writes = (*at++ & POLYTE_WRITES) != 0;
  buffer.dtype = static_cast<DType>(*at++);
  buffer.alignment = *at++;
  buffer.bytes.constant = *at++;
  buffer.bytes.coefficients.assign(at, at + symbols);
  at += symbols;
  return buffer;
}

// at[0] is the version, which the caller has compared. The words come from the shared object
// whose code is about to run, so they are trusted as that code is.
KernelInterface read_interface(const std::int64_t* at) {
  KernelInterface interface;
  const std::int64_t buffers = at[1], pairs = at[5];
  interface.symbols = static_cast<std::size_t>(at[2]);
  interface.scratch_shared_bytes = at[3];
  interface.scratch_bytes_per_worker = at[4];
  at += 6;
  for (std::int64_t i = 0; i < buffers; ++i)
    interface.buffers.push_back(read_buffer(at, interface.symbols));
  for (std::int64_t i = 0; i < pairs; ++i, at += 2)
    interface.in_place.emplace_back(static_cast<std::size_t>(at[0]),
                                    static_cast<std::size_t>(at[1]));
  return interface;
}

// One step against its kernel.
class StepChecker {
 public:
  StepChecker(const ArtifactManifest& manifest, const StepSpec& step, KernelInterface kernel)
      : m_(manifest), step_(step), kernel_(std::move(kernel)) {}

  std::vector<std::string> run() {
    if (check_count()) {
      for (std::size_t i = 0; i < kernel_.buffers.size(); ++i) check_buffer(i);
      check_meetings();
    }
    check_scratch("shared scratch", step_.scratch_shared_bytes, kernel_.scratch_shared_bytes);
    check_scratch("scratch a worker", step_.scratch_bytes_per_worker,
                  kernel_.scratch_bytes_per_worker);
    return std::move(problems_);
  }

 private:
  const ArtifactManifest& m_;
  const StepSpec& step_;
  const KernelInterface kernel_;
  std::vector<std::string> problems_;

  void problem(const std::string& what) {
    problems_.push_back("kernel '" + step_.kernel + "': " + what);
  }
  const BufferSpec& spec(std::size_t i) const {
    return m_.buffers[static_cast<std::size_t>(step_.buffers[i])];
  }
  const TensorSpec* tensor_of(const BufferSpec& b) const {
    if (b.place == BufferPlace::Input) return &m_.inputs[static_cast<std::size_t>(b.index)];
    if (b.place == BufferPlace::Output) return &m_.outputs[static_cast<std::size_t>(b.index)];
    return nullptr;
  }

  // The values of open sizes are one buffer more, the last.
  bool check_count() {
    const std::size_t more = kernel_.symbols > 0 ? 1 : 0;
    const std::size_t expected = kernel_.buffers.size() + more;
    if (step_.buffers.size() != expected) {
      problem("is given " + std::to_string(step_.buffers.size()) + " buffers, expected " +
              std::to_string(expected));
      return false;
    }
    if (more == 0) return true;
    const bool fits =
        kernel_.symbols == m_.symbols.size() && spec(expected - 1).place == BufferPlace::Sizes;
    if (!fits)
      problem("expects the values of " + std::to_string(kernel_.symbols) +
              " sizes in its last buffer");
    return fits;
  }

  // A buffer that the kernel neither reads nor writes may be anything.
  void check_buffer(std::size_t i) {
    const KernelBuffer& wanted = kernel_.buffers[i];
    if (!wanted.reads && !wanted.writes) return;
    const BufferSpec& given = spec(i);
    const std::string name = "buffer " + std::to_string(i) + ", '" + given.name + "', ";
    if (given.place == BufferPlace::Sizes)
      return problem(name + "is of sizes, which it does not expect there");
    if (wanted.writes && given.place != BufferPlace::Arena && given.place != BufferPlace::Output)
      problem(name + "is written but read-only");
    const TensorSpec* tensor = tensor_of(given);
    if (tensor != nullptr && tensor->dtype != wanted.dtype)
      problem(name + "is of '" + tensor->name + "', " + std::string(to_string(tensor->dtype)) +
              ", expected " + std::string(to_string(wanted.dtype)));
    // The base of an arena, of constants and of the caller's tensors is aligned to 64 bytes or
    // to the element, so here only the offset matters.
    if (wanted.alignment < 1 || given.offset % wanted.alignment != 0)
      problem(name + "is at offset " + std::to_string(given.offset) + ", expected a multiple of " +
              std::to_string(wanted.alignment));
    if (!has_room(given, wanted.bytes))
      problem(name + "has " + std::to_string(given.bytes) + " bytes, expected " +
              to_text(wanted.bytes, m_.symbols));
  }

  // At all sizes: an arena's room grows with the scale, an open tensor is all there, other things
  // do not grow.
  bool has_room(const BufferSpec& given, const OpenNumber& wanted) const {
    // -1: the compiler does not know how many bytes the kernel touches, so no room is provably
    // enough.
    if (wanted.constant == -1) return false;
    try {
      const TensorSpec* tensor = tensor_of(given);
      if (given.place == BufferPlace::Arena) return unit_bytes(wanted) <= given.bytes;
      if (tensor != nullptr && is_open(*tensor))
        return least_of(minus(byte_count(*tensor), wanted), m_.symbols) >= 0;
      return most_of(wanted, m_.symbols) <= given.bytes;
    } catch (const UserError&) {  // beyond 63 bits
      return false;
    }
  }

  // Two buffers of which one is written share no byte, unless the kernel knows of it. (Tensors of
  // the caller are apart: the session checks that.)
  void check_meetings() {
    for (std::size_t i = 0; i < kernel_.buffers.size(); ++i) {
      for (std::size_t j = i + 1; j < kernel_.buffers.size(); ++j) {
        if (!meet(i, j) || may_meet(i, j)) continue;
        problem("buffers " + std::to_string(i) + " and " + std::to_string(j) + ", '" +
                spec(i).name + "' and '" + spec(j).name +
                "', share bytes, of which it does not know");
      }
    }
  }

  // Two reads may meet. Of one place, and for tensors and constants of one index, the byte
  // ranges decide; at other scales too, because ranges that are apart at scale 1 stay apart.
  bool meet(std::size_t i, std::size_t j) const {
    const KernelBuffer &a = kernel_.buffers[i], &b = kernel_.buffers[j];
    const BufferSpec &x = spec(i), &y = spec(j);
    if (!((a.writes && (b.reads || b.writes)) || (b.writes && a.reads))) return false;
    if (x.place != y.place || x.index != y.index) return false;
    return x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
  }

  // In place means the same first byte: the kernel's code relies on each element being read at
  // the address to which its result is written.
  bool may_meet(std::size_t i, std::size_t j) const {
    const bool is_known = std::ranges::any_of(kernel_.in_place, [&](const auto& pair) {
      return pair == std::pair{i, j} || pair == std::pair{j, i};
    });
    return is_known && spec(i).offset == spec(j).offset;
  }

  void check_scratch(const std::string& what, std::int64_t given, std::int64_t wanted) {
    if (given < wanted)
      problem("is given " + std::to_string(given) + " bytes of " + what + ", expected " +
              std::to_string(wanted));
  }
};

}  // namespace

void check_step(const ArtifactManifest& manifest, const StepSpec& step, const std::int64_t* data,
                const std::string& source) {
  std::vector<std::string> problems;
  if (data == nullptr || data[0] != POLYTE_INTERFACE_VERSION) {
    problems.push_back("kernel '" + step.kernel +
                       "': its object does not say what it was compiled for");
  } else {
    problems = StepChecker(manifest, step, read_interface(data)).run();
  }
  if (problems.empty()) return;
  for (std::string& problem : problems) problem = "artifact '" + source + "': " + problem;
  throw UserError(ExitStatus::Artifact, std::move(problems));
}

}  // namespace polyte::runtime
