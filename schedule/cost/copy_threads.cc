#include "schedule/cost/copy_threads.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "ir/loop_program.h"
#include "support/checked.h"

namespace polyte::schedule {
namespace {

constexpr std::int64_t kAccessBytes = 16;  // of a thread's widest access

constexpr std::int64_t kBanks = 32, kBankBytes = 4;

// Wavefronts of a warp that writes a transposed copy: the most different words that fall into one
// bank. Thread t writes element (t % neighbours) * stride + t / neighbours.
std::int64_t wavefronts(const TurnedCopy& copy, std::int64_t stride) {
  std::array<std::int64_t, ir::kLanes> words;
  for (std::int64_t thread = 0; thread < ir::kLanes; ++thread) {
    const std::int64_t element = thread % copy.neighbours * stride + thread / copy.neighbours;
    words[static_cast<std::size_t>(thread)] = element * copy.element_bytes / kBankBytes;
  }
  std::ranges::sort(words);
  std::array<std::int64_t, kBanks> of_bank{};
  std::int64_t most = 1;
  for (auto word = words.begin(), end = std::unique(words.begin(), words.end()); word != end;
       ++word)
    most = std::max(most, ++of_bank[static_cast<std::size_t>(*word % kBanks)]);
  return most;
}

}  // namespace

BankPadding bank_padding(const TurnedCopy& copy) {
  BankPadding best{0, wavefronts(copy, copy.row)};
  for (std::int64_t pad = copy.multiple; pad <= kBanks && best.wavefronts > 1; pad += copy.multiple)
    if (const std::int64_t met = wavefronts(copy, copy.row + pad); met < best.wavefronts)
      best = {pad, met};
  return best;
}

namespace {

// The largest value of e over a box less the smallest. A floor e' // d takes up to ceil(span(e') /
// d) steps, as the box may begin just before a multiple of d. A loop that never runs counts as one
// iteration.
std::int64_t span_over(const ir::Affine& e, std::span<const CopyRange> ranges) {
  std::int64_t span = 0;
  for (const CopyRange& range : ranges)
    span += std::abs(e.coefficient(range.loop)) * std::max<std::int64_t>(range.points - 1, 0);
  for (const ir::Term& term : e.terms())
    if (term.atom.div)
      span += std::abs(term.coefficient) *
              ceil_div(span_over(term.atom.div->numerator, ranges), term.atom.div->denominator);
  return span;
}

}  // namespace

std::int64_t box_width(const ir::Index& index, std::span<const CopyRange> ranges) {
  return 1 + span_over(index.affine, ranges);
}

std::int64_t copy_vector(const ir::Program& program, const ir::Load& load,
                         std::span<const CopyRange> ranges) {
  const ir::Buffer& tensor = program.buffer(load.buffer);
  const ir::Index& last = load.indices.back();
  std::int64_t elements =
                   std::gcd(kAccessBytes / size_in_bytes(tensor.dtype), last.affine.constant()),
               width = 1;
  if (last.indirect || !tensor.shape.back().is_constant()) return 1;
  for (const CopyRange& range : ranges) {
    const std::int64_t stride = last.affine.coefficient(range.loop);
    width += std::abs(stride) * (range.points - 1);
    // A box begins at a multiple of stride * points: the vectors have to divide that, too.
    if (range.points < range.extent) elements = std::gcd(elements, stride * range.points);
  }
  return std::gcd(std::gcd(elements, width), tensor.shape.back().constant());
}

// As many of the innermost loops as give each thread at most one iteration; the loop outside of
// them is cut so that its tiles fill the threads that are left, evenly.
CopyThreads share_copy(const std::vector<CopyLoop>& loops, std::int64_t threads) {
  CopyThreads result;
  std::size_t first = loops.size();
  std::int64_t inner = 1;
  while (first > 0 && inner * loops[first - 1].extent <= threads) inner *= loops[--first].extent;
  for (std::size_t i = first; i < loops.size(); ++i) result.inner.push_back(loops[i].name);
  if (const std::int64_t most = threads / inner; first > 0 && (most > 1 || first == loops.size())) {
    const CopyLoop& cut = loops[first - 1];
    result.cut = cut.name;
    result.size = ceil_div(cut.extent, ceil_div(cut.extent, std::max<std::int64_t>(most, 1)));
  }
  return result;
}

void bind_to_threads(const std::string& statement, const std::vector<std::string>& loops,
                     const std::string& name, std::vector<PlannedStep>& steps) {
  if (loops.size() > 1) steps.emplace_back(PlannedFuse{statement, loops, name});
  steps.emplace_back(
      PlannedBind{statement, loops.size() > 1 ? name : loops.front(), LoopKind::Thread});
}

std::vector<PlannedStep> copy_by_threads(const std::string& statement, std::vector<CopyLoop> loops,
                                         std::int64_t threads, std::int64_t vector) {
  std::vector<PlannedStep> steps;
  if (vector > 1) {
    CopyLoop& last = loops.back();
    steps.emplace_back(
        PlannedSplit{statement, last.name, Elements{vector}, Provenance::TileModel, true});
    steps.emplace_back(PlannedBind{statement, within_tile(last.name), LoopKind::Vector});
    last = {tiles_of(last.name), last.extent / vector};
  }
  const CopyThreads shared = share_copy(loops, threads);
  if (!shared.cut.empty())
    steps.emplace_back(
        PlannedSplit{statement, shared.cut, Elements{shared.size}, Provenance::TileModel, true});
  std::vector<std::string> of_threads = shared.inner;
  if (!shared.cut.empty()) of_threads.insert(of_threads.begin(), within_tile(shared.cut));
  std::string name = "e";
  while (std::ranges::find(loops, name, &CopyLoop::name) != loops.end()) name += "_";
  bind_to_threads(statement, of_threads, name, steps);
  return steps;
}

}  // namespace polyte::schedule
