#include "lower/register_owner.h"

#include <algorithm>
#include <numeric>

#include "support/checked.h"

namespace polyte::lower {

using ir::Affine;
using ir::LoopKind;
using ir::Stmt;

ThreadPlace::Inside::Inside(ThreadPlace& place, const Stmt& s)
    : place_(place),
      scope_(place.facts),
      thread_(place.thread),
      loop_(std::get_if<ir::For>(&s->op)) {
  if (const auto* branch = std::get_if<ir::If>(&s->op))
    for (const ir::Constraint& c : branch->conditions) place.facts.assume(c);
  if (!loop_) return;
  place.facts.bind(loop_->var, loop_->lower, loop_->upper);
  place.open.enter(*loop_);
  if (ir::is_of_threads(loop_->kind))
    place.thread =
        thread_ + Affine::symbol(loop_->var) * (loop_->kind == LoopKind::Warp ? ir::kLanes : 1);
}

ThreadPlace::Inside::~Inside() {
  place_.thread = thread_;
  if (loop_) place_.open.leave(*loop_);
}

bool ThreadPlace::is_own_lane(const Affine& lane) const {
  return is_one_lane(facts.simplify(lane - thread), 0);
}

namespace {

void for_each_write(const Stmt& s, const std::string& buffer, ThreadPlace& place,
                    const std::function<void(const ir::Store&)>& visit) {
  const ThreadPlace::Inside inside(place, s);
  if (const auto* store = std::get_if<ir::Store>(&s->op); store && store->buffer == buffer)
    visit(*store);
  ir::rewrite_children(s, [&](const Stmt& child) {
    for_each_write(child, buffer, place, visit);
    return child;
  });
}

// The part of each subscript that the thread's number determines, tabulated over all threads;
// empty: it is not known.
std::vector<std::vector<std::int64_t>> by_thread(const ir::Store& store, const ThreadPlace& place) {
  const auto last = place.facts.range(place.thread).max;
  if (!last || *last >= ir::kMostThreads) return {};
  std::vector<std::vector<std::int64_t>> rows;
  for (const ir::Index& index : store.indices) {
    const auto part = index.indirect ? std::nullopt : place.open.part_of(index.affine);
    if (!part) return {};
    rows.emplace_back();
    for (std::int64_t thread = 0; thread <= *last; ++thread)
      rows.back().push_back(ir::evaluate(*part, {{OpenThreads::kThread, thread}}));
  }
  return rows;
}

}  // namespace

// A thread's part of a subscript, tabulated over its number t, read as one mixed-radix digit:
//
//   stride * (t // threads % extent)       0 0 4 4 8 8 0 0 ..: stride 4, threads 2, extent 3
//
// stride is the gcd of the values, threads the first t at which they change, extent follows from
// the largest. The table is compared with the formula, so a wrong reading is refused, not used.
std::optional<RegisterOwner::Digit> RegisterOwner::digit_of(
    const std::vector<std::int64_t>& by_thread) {
  Digit digit{.stride = 0};
  for (const std::int64_t value : by_thread) digit.stride = std::gcd(digit.stride, value);
  if (digit.stride == 0) return Digit{};
  digit.threads =
      std::ranges::find_if(by_thread, [](std::int64_t v) { return v != 0; }) - by_thread.begin();
  digit.extent = *std::ranges::max_element(by_thread) / digit.stride + 1;
  for (std::size_t thread = 0; thread < by_thread.size(); ++thread)
    if (by_thread[thread] !=
        digit.stride * floor_mod(static_cast<std::int64_t>(thread) / digit.threads, digit.extent))
      return std::nullopt;
  return digit;
}

// The widest write says how; all of them have to agree with it.
std::optional<RegisterOwner> RegisterOwner::of(const ir::Alloc& alloc, ThreadPlace& place) {
  RegisterOwner owner;
  std::vector<std::vector<std::int64_t>> widest;
  for_each_write(alloc.body, alloc.buffer.name, place, [&](const ir::Store& store) {
    auto rows = by_thread(store, place);
    if (!rows.empty() && (widest.empty() || rows[0].size() > widest[0].size()))
      widest = std::move(rows);
  });
  if (widest.empty()) return std::nullopt;
  for (const std::vector<std::int64_t>& row : widest) {
    const auto digit = digit_of(row);
    if (!digit) return std::nullopt;
    owner.digits_.push_back(*digit);
  }
  owner.count_registers(alloc.buffer.shape);
  bool agrees = true;
  for_each_write(alloc.body, alloc.buffer.name, place, [&](const ir::Store& store) {
    agrees = agrees &&
             std::ranges::none_of(store.indices,
                                  [](const ir::Index& i) { return i.indirect != nullptr; }) &&
             place.is_own_lane(owner.lane_of(store.indices));
  });
  return agrees ? std::optional(owner) : std::nullopt;
}

// The digits put together again: sum of (e_d // stride % extent) * threads, modulo 32. What remains
// of a subscript when its digit is taken out is the register's (`register_of`).
Affine RegisterOwner::lane_of(const std::vector<ir::Index>& element) const {
  Affine thread = 0;
  for (std::size_t d = 0; d < digits_.size(); ++d) {
    const Digit& digit = digits_[d];
    if (digit.extent == 1 || digit.threads % ir::kLanes == 0) continue;
    thread = thread +
             ir::mod(ir::floor_div(element[d].affine, digit.stride), digit.extent) * digit.threads;
  }
  return thread;
}

// e without its digit: e = stride * extent * q + stride * digit + r gives register stride * q + r.
std::vector<ir::Index> RegisterOwner::register_of(const std::vector<ir::Index>& element) const {
  std::vector<ir::Index> result;
  for (std::size_t d = 0; d < digits_.size(); ++d) {
    const auto& [stride, extent, threads] = digits_[d];
    const Affine& e = element[d].affine;
    result.emplace_back(
        extent == 1 ? e : ir::mod(e, stride) + ir::floor_div(e, stride * extent) * stride);
  }
  return result;
}

void RegisterOwner::count_registers(const std::vector<std::int64_t>& shape) {
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto& [stride, extent, threads] = digits_[d];
    registers_.push_back(extent == 1 ? shape[d] : stride * ceil_div(shape[d], stride * extent));
  }
}

}  // namespace polyte::lower
