// Strided stores that stand side by side and together fill lines: the teeth of combs, each in the
// gaps of the others.
//
//   y[0; 4 by 2] = a        a0 b0 a1 b1 a2 b2 a3 b3
//   y[1; 4 by 2] = b        y[0; 4 by 1] = a0 b0 a1 b1,  y[4; 4 by 1] = a2 b2 a3 b3
//
// Two stores and a few shuffles instead of 8 stores of one element; masks, the same for all teeth,
// widen with them. Each value is made where its
// store stands; what is stored waits for the last of them, which nothing between them reads.
#include <algorithm>
#include <numeric>

#include "codegen/common/emitter.h"

namespace polyte::codegen {

using Value = llvm::Value;

namespace {

constexpr std::int64_t kMostTeeth = 4;

bool reads(const ir::Store& s, const std::string& buffer) {
  const auto loads = [&](const ir::Expr& e) {
    return std::ranges::any_of(ir::loads_of(e),
                               [&](const ir::Load* load) { return load->buffer == buffer; });
  };
  return loads(s.value) || std::ranges::any_of(s.indices, [&](const ir::Index& index) {
           return index.indirect && loads(index.indirect);
         });
}

}  // namespace

// For each buffer of the run: either all stores to it are teeth of combs that lie apart, or none is
// taken.
void FunctionEmitter::find_combs(const std::vector<ir::Stmt>& side_by_side) {
  teeth_.clear();
  combs_.clear();
  if (ops_ != nullptr) return;  // a GPU's vectors have no shuffles
  std::vector<const ir::Store*> run;
  for (const ir::Stmt& s : side_by_side)
    if (const auto* store = std::get_if<ir::Store>(&s->op)) run.push_back(store);
  std::map<std::string, std::vector<const ir::Store*>> stores;
  for (const ir::Store* store : run) stores[store->buffer].push_back(store);
  for (const auto& [buffer, all] : stores)
    if (std::ranges::none_of(run, [&](const ir::Store* store) { return reads(*store, buffer); }))
      take_combs(all);
}

// All or nothing: a store that stays where it is could be moved past by a tooth that waits, if both
// write one element. Constants that follow each other without a gap or an overlap exclude that.
void FunctionEmitter::take_combs(const std::vector<const ir::Store*>& stores) {
  std::map<std::int64_t, const ir::Store*> by_constant;
  const ir::Store& first = *stores.front();
  const Access like = access(first.buffer, first.indices, first.lanes);
  const std::int64_t teeth = like.stride, lanes = first.lanes.count;
  const bool is_comb = teeth >= 2 && teeth <= kMostTeeth && lanes > 1 && like.slot.cells.empty();
  if (!is_comb || like.index.indirect) return;
  const ir::Affine base = like.index.affine - like.index.affine.constant();
  for (const ir::Store* store : stores) {
    const Access a = access(store->buffer, store->indices, store->lanes);
    const bool has_same_lanes = store->lanes.count == lanes &&
                                store->lanes.active == first.lanes.active &&
                                store->lanes.skipped == first.lanes.skipped;
    if (store->atomic || !has_same_lanes || a.stride != teeth || a.index.indirect) return;
    const std::int64_t constant = a.index.affine.constant();
    if (a.index.affine - constant != base || !by_constant.emplace(constant, store).second) return;
  }
  std::vector<Comb> combs;
  std::int64_t begin = 0;
  for (const auto& [constant, store] : by_constant) {
    const bool is_first =
        combs.empty() || combs.back().stores.size() == static_cast<std::size_t>(teeth);
    if (is_first && !combs.empty() && constant < begin + teeth * lanes) return;
    if (is_first) combs.emplace_back(), begin = constant;
    if (constant != begin + static_cast<std::int64_t>(combs.back().stores.size())) return;
    combs.back().stores.push_back(store);
  }
  if (combs.back().stores.size() != static_cast<std::size_t>(teeth)) return;
  for (Comb& comb : combs) {
    for (std::size_t tooth = 0; tooth < comb.stores.size(); ++tooth)
      teeth_[comb.stores[tooth]] = {combs_.size(), tooth};
    comb.values.resize(comb.stores.size());
    combs_.push_back(std::move(comb));
  }
}

// True where the store is a tooth: it waits for the others.
bool FunctionEmitter::store_tooth(const ir::Store& s, Value* value) {
  const auto found = teeth_.find(&s);
  if (found == teeth_.end()) return false;
  Comb& comb = combs_[found->second.first];
  comb.values[found->second.second] = value;
  if (std::ranges::find(comb.values, nullptr) == comb.values.end()) store_comb(comb);
  return true;
}

// The values are first laid one behind the other in one long vector, by pairs; element `at` of the
// memory that the comb fills is then lane at / teeth of value at % teeth.
void FunctionEmitter::store_comb(const Comb& comb) {
  const ir::Store& first = *comb.stores.front();
  const Access a = access(first.buffer, first.indices, first.lanes);
  const auto teeth = static_cast<int>(comb.values.size());
  const int lanes = a.lanes.count;
  std::vector<Value*> all = comb.values;  // one behind the other
  if (all.size() == 3) all.push_back(llvm::PoisonValue::get(all[0]->getType()));
  for (int count = lanes; all.size() > 1; count *= 2) {
    std::vector<int> both(static_cast<std::size_t>(2 * count));
    std::iota(both.begin(), both.end(), 0);
    for (std::size_t i = 0; i < all.size() / 2; ++i)
      all[i] = b_.CreateShuffleVector(all[2 * i], all[2 * i + 1], both);
    all.resize(all.size() / 2);
  }
  for (int part = 0; part < teeth; ++part) {
    const auto within = [&](std::optional<ir::Affine> lane) {
      if (lane) lane = *lane * teeth - part * lanes;
      return lane;
    };
    const ir::Lanes along{lanes, {1}, within(first.lanes.active), within(first.lanes.skipped)};
    if (along.active && along.active->is_constant() && along.active->constant() <= 0) continue;
    std::vector<int> from;
    for (int at = part * lanes; at < (part + 1) * lanes; ++at)
      from.push_back(at % teeth * lanes + at / teeth);
    const ir::Index index(a.index.affine + part * lanes);
    Access to{a.slot, index, along, 1};
    if (first.nontemporal) to.stream = &first.buffer;
    store(to, b_.CreateShuffleVector(all[0], from));
  }
}

}  // namespace polyte::codegen
