// Loads that overlap, of vectors side by side: those at one place in a line are loaded, the others
// shifted together from two of these.
//
//   x[i - 1], x[i], x[i + 1] of four vectors of 8, one after the other from a line's beginning
//
//     line    |  x[0..8]  |  x[8..16]  |  x[16..24]  |  x[24..32]  |
//     x[7..15] =     ^^^^^^^^^^^                   one shuffle of the first two
//
// Where a vector is as long as a line, all but those lie across two, and each load of them is two,
// which is worth a shuffle: on Zen 5, which loads two such vectors per cycle, sums of three
// neighbours take 0.67 of the time, on Zen 4, which loads one, 0.65. No load is new: at the ends,
// where one of the two is not read itself, the load stays.
#include <numeric>
#include <set>

#include "codegen/common/emitter.h"

namespace polyte::codegen {

using Value = llvm::Value;

namespace {

constexpr int kLineBytes = 64;
constexpr int kLeastBytes = 4;  // of an element: one instruction shifts these across a vector
constexpr int kAcrossLines = 2, kShuffle = 1;

// A vector that is loaded behind a branch is not available elsewhere.
bool may_branch(const ir::Expr& e) {
  bool found = false;
  ir::for_each_node(e, [&](const ir::ExprNode& node) {
    const auto* load = std::get_if<ir::Load>(&node.op);
    found = found || (load != nullptr && !load->guard.empty());
  });
  return found;
}

// Whether the element is at the beginning of a line, given that the buffer begins at one.
bool begins_line(const ir::Affine& element, int bytes) {
  std::int64_t step = element.constant() * bytes;
  for (const ir::Term& term : element.terms()) step = std::gcd(step, term.coefficient * bytes);
  return step % kLineBytes == 0;
}

}  // namespace

void FunctionEmitter::find_shifted(const std::vector<ir::Stmt>& run) {
  overlaps_.clear();
  shifted_.clear();
  const Machine& machine = context_.machine;
  if (ops_ != nullptr || machine.vector_bits < 8 * kLineBytes) return;
  std::set<std::string> written;
  for (const ir::Stmt& s : run)
    if (const auto* store = std::get_if<ir::Store>(&s->op)) written.insert(store->buffer);
  std::map<std::pair<std::string, ir::Affine>, Overlap> found;
  for (const ir::Stmt& s : run) {
    const auto* store = std::get_if<ir::Store>(&s->op);
    if (store == nullptr || may_branch(store->value)) continue;
    ir::for_each_node(store->value, [&](const ir::ExprNode& node) {
      const auto* load = std::get_if<ir::Load>(&node.op);
      if (load == nullptr || load->lanes.is_masked() || written.contains(load->buffer)) return;
      const Access a = access(load->buffer, load->indices, load->lanes);
      const int bytes = size_in_bytes(a.slot.dtype);
      if (a.stride != 1 || a.index.indirect != nullptr || !a.slot.cells.empty() ||
          bytes < kLeastBytes || a.lanes.count * bytes != kLineBytes)
        return;
      const std::int64_t at = a.index.affine.constant();
      found[{load->buffer, a.index.affine - at}].at[at].push_back(&node);
    });
  }
  for (auto& [key, overlap] : found) take_overlap(std::move(overlap));
}

// The place in a line whose loads cost least, shuffles for the others included. With a base b, the
// vectors at b, b + lanes, b + 2 * lanes, .. that are read anyway are loaded; one at b + k, 0 < k <
// lanes, is a shuffle of the two around it if both are among them, else a load.
void FunctionEmitter::take_overlap(Overlap overlap) {
  const auto& first = std::get<ir::Load>(overlap.at.begin()->second.front()->op);
  const Access a = access(first.buffer, first.indices, first.lanes);
  const std::int64_t lanes = a.lanes.count;
  const ir::Affine place = a.index.affine - a.index.affine.constant();
  const auto is_base = [&](std::int64_t at, std::int64_t base) {
    return (at - base) % lanes == 0 && overlap.at.contains(at);
  };
  const auto below = [&](std::int64_t at, std::int64_t base) {  // the last base up to here
    return at - ((at - base) % lanes + lanes) % lanes;
  };
  const auto is_shifted = [&](std::int64_t at, std::int64_t base) {
    const std::int64_t low = below(at, base);
    return low != at && is_base(low, base) && is_base(low + lanes, base);
  };
  const auto cost_of_load = [&](std::int64_t at) {
    return begins_line(place + at, size_in_bytes(a.slot.dtype)) ? 1 : kAcrossLines;
  };
  int all_loaded = 0, least = 0;
  for (const auto& [at, nodes] : overlap.at) all_loaded += cost_of_load(at);
  least = all_loaded;
  std::optional<std::int64_t> best;
  for (const auto& [base, of_base] : overlap.at) {
    int cost = 0;
    for (const auto& [at, nodes] : overlap.at)
      cost += is_shifted(at, base) ? kShuffle : cost_of_load(at);
    if (cost < least) least = cost, best = base;
  }
  if (!best) return;
  for (const auto& [at, nodes] : overlap.at)
    for (const ir::ExprNode* node : nodes)
      shifted_[node] = {overlaps_.size(), is_shifted(at, *best) ? below(at, *best) : at, at};
  overlaps_.push_back(std::move(overlap));
}

// The vector of this load; null where it overlaps nothing that is worth a shuffle.
Value* FunctionEmitter::shifted(const ir::ExprNode& node) {
  const auto found = shifted_.find(&node);
  if (found == shifted_.end()) return nullptr;
  const auto& [number, from, at] = found->second;
  const auto& load = std::get<ir::Load>(node.op);
  const Access a = access(load.buffer, load.indices, load.lanes);
  Overlap& overlap = overlaps_[number];
  const auto loaded = [&](std::int64_t place) {
    Value*& value = overlap.loaded[place];
    if (value == nullptr) {
      const ir::Index index(a.index.affine - at + place);
      value = load_memory({a.slot, index, a.lanes, 1}, nullptr);
    }
    return value;
  };
  Value* value = loaded(from);
  if (from != at) {
    std::vector<int> lanes(static_cast<std::size_t>(a.lanes.count));
    std::iota(lanes.begin(), lanes.end(), static_cast<int>(at - from));
    // As integers: of these LLVM makes one instruction that shifts, of floats a permutation, which
    // overwrites an operand and reads a third.
    llvm::Type* const type = value->getType();
    llvm::Type* const integers = llvm::VectorType::getInteger(llvm::cast<llvm::VectorType>(type));
    const auto as_integers = [&](Value* each) { return b_.CreateBitCast(each, integers); };
    value =
        b_.CreateBitCast(b_.CreateShuffleVector(as_integers(value),
                                                as_integers(loaded(from + a.lanes.count)), lanes),
                         type);
  }
  return arithmetic_.from_memory(a.slot.dtype, value);
}

}  // namespace polyte::codegen
