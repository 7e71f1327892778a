// Owners: registers that outlive a loop of threads. Storage in registers between blocks and threads
// is spread over the threads of the block; a thread reaches its own registers, so one thread has to
// make all writes to a cell, and what reads it has to be in the warp of the thread that writes it:
// lanes of a warp can read each other's registers (lower/exchange_lanes.h). That two threads read a
// cell is nothing more: somebody has written it. The number of an instance's thread is the value of
// its loop of threads (32 * warp + lane); what stands in no such loop runs on thread 0. Nothing is
// asked of registers that a loop of threads or lanes allocates: each iteration has its own. Those
// that a loop of warps allocates are still spread over 32 lanes.
#include <isl/map.h>

#include <algorithm>

#include "schedule/proof/prover_impl.h"

namespace polyte::schedule {
namespace {

const StagedBuffer* spread_registers(const State& state, const IslBuffer& buffer) {
  for (const StagedBuffer& staged : state.staged)
    if (staged.name == buffer.name && staged.memory == Memory::Register) return &staged;
  return nullptr;
}

// The thread that runs an instance, over the statement's iterators.
ir::Affine thread_of(const State& state, const ScheduledStatement& s) {
  ir::Affine thread(0);
  for (const Loop* loop : path_to(state.tree, s.body.name))
    if (ir::is_of_threads(loop->kind))
      thread = thread + row_at(s, loop->name) * (loop->kind == LoopKind::Warp ? ir::kLanes : 1);
  return thread;
}

bool is_of_one_thread(const IslModel& model, const StagedBuffer& staged) {
  for (const Loop* loop : all_loops(model.state->tree)) {
    const bool is_around =
        loop->id == staged.allocated_at() || find_loop(loop->body, staged.allocated_at());
    if (is_around && (loop->kind == LoopKind::Thread || loop->kind == LoopKind::Lane)) return true;
  }
  return false;
}

// Instance -> the number of its thread / so many.
isl::map numbers_of(const IslModel& model, std::size_t statement, std::int64_t threads) {
  const IslStatement& s = model.statements[statement];
  const ir::Affine number = ir::floor_div(thread_of(*model.state, *s.statement), threads);
  const isl::aff value =
      to_aff(s.domain.get_space(), s.statement->body.iterators, model.params, number);
  return isl::manage(isl_map_from_aff(value.copy()));
}

class OwnerCheck {
 public:
  explicit OwnerCheck(const IslModel& model) : model_(model) {
    for (std::size_t i = 0; i < model.statements.size(); ++i) {
      threads_.push_back(threads_of(model, i));
      warps_.push_back(numbers_of(model, i, ir::kLanes));
    }
  }

  std::optional<Refusal> run() const {
    for (const IslBuffer& buffer : model_.buffers) {
      if (!is_spread(model_, buffer)) continue;
      if (auto refusal = check(buffer)) return refusal;
    }
    return std::nullopt;
  }

 private:
  struct Touch {
    int statement;
    const IslAccess* access;
  };
  const IslModel& model_;
  std::vector<isl::map> threads_, warps_;  // instance -> its thread, its warp; one per statement

  std::vector<Touch> touches(const IslBuffer& buffer) const {
    std::vector<Touch> result;
    for (std::size_t i = 0; i < model_.statements.size(); ++i)
      for (const IslAccess& access : model_.statements[i].accesses)
        if (model_.buffers[static_cast<std::size_t>(access.buffer)].name == buffer.name)
          result.push_back({static_cast<int>(i), &access});
    return result;
  }

  // Pairs of instances that touch one place from two threads (warps, for a write and a read), which
  // must not be.
  isl::map strangers(const Touch& x, const Touch& y) const {
    const isl::map one_place = places(model_, x.statement, *x.access)
                                   .apply_range(places(model_, y.statement, *y.access).reverse());
    const std::vector<isl::map>& unit = both_write(x, y) ? threads_ : warps_;
    const isl::map together = of(unit, x).apply_range(of(unit, y).reverse());
    return one_place.intersect_domain(domain(x)).intersect_range(domain(y)).subtract(together);
  }
  static bool both_write(const Touch& x, const Touch& y) {
    return x.access->write && y.access->write;
  }
  static bool one_writes(const Touch& x, const Touch& y) {
    return x.access->write || y.access->write;
  }
  static const isl::map& of(const std::vector<isl::map>& unit, const Touch& x) {
    return unit[static_cast<std::size_t>(x.statement)];
  }
  const isl::set& domain(const Touch& x) const {
    return model_.statements[static_cast<std::size_t>(x.statement)].domain;
  }

  std::optional<Refusal> check(const IslBuffer& buffer) const {
    const std::vector<Touch> all = touches(buffer);
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t j = i; j < all.size(); ++j) {
        if (!one_writes(all[i], all[j])) continue;
        const isl::map pairs = strangers(all[i], all[j]);
        if (!pairs.is_empty()) return refusal(buffer, all[i], all[j], pairs);
      }
    return std::nullopt;
  }

  const ir::Statement& body(const Touch& x) const {
    return model_.statements[static_cast<std::size_t>(x.statement)].statement->body;
  }
  std::int64_t thread_at(const Touch& x, const Instance& instance, ir::Values values) const {
    for (const auto& [name, value] : instance.iterators) values[name] = value;
    const ScheduledStatement& s =
        *model_.statements[static_cast<std::size_t>(x.statement)].statement;
    return ir::evaluate(thread_of(*model_.state, s), values);
  }

  Refusal refusal(const IslBuffer& buffer, const Touch& x, const Touch& y,
                  const isl::map& pairs) const {
    Refusal result;
    const bool is_exact = x.access->exact && y.access->exact;
    result.kind = is_exact ? RefusalKind::Illegal : RefusalKind::Unknown;
    result.headline = buffer.name + " is kept in registers, and ";
    if (!is_exact) {
      result.headline += "which thread touches an element of it is known at run time only";
      return result;
    }
    const Point point = first_point(isl::manage(isl_map_wrap(pairs.copy())), model_.params);
    const auto split = static_cast<std::ptrdiff_t>(body(x).iterators.size());
    Counterexample c;
    c.sizes = point.params;
    c.size_names = model_.params;
    c.source = make_instance(body(x), {point.values.begin(), point.values.begin() + split});
    c.sink = make_instance(body(y), {point.values.begin() + split, point.values.end()});
    c.watch = cell_text(x.access->text, body(x), point, 0);
    const auto deed = [&](const Touch& touch, const Instance& instance, const std::string& what) {
      return to_string(instance) + " on thread " +
             std::to_string(thread_at(touch, instance, c.sizes)) +
             (touch.access->write ? " writes " : " reads ") + what;
    };
    c.scheduled = deed(x, c.source, c.watch) + ", " + deed(y, c.sink, "it");
    result.headline +=
        c.watch + (both_write(x, y) ? " would belong to two threads" : " is read in another warp");
    result.counterexamples.push_back(std::move(c));
    result.advice.push_back("set_scope " + buffer.of + " shared");
    return result;
  }
};

}  // namespace

isl::map threads_of(const IslModel& model, std::size_t statement) {
  return numbers_of(model, statement, 1);
}

bool is_spread(const IslModel& model, const IslBuffer& buffer) {
  const StagedBuffer* const staged = spread_registers(*model.state, buffer);
  return staged && !is_of_one_thread(model, *staged);
}

std::optional<Refusal> check_owners(const IslModel& model) {
  const std::vector<const Loop*> loops = all_loops(model.state->tree);
  const bool has_threads =
      std::ranges::any_of(loops, [](const Loop* loop) { return ir::is_of_threads(loop->kind); });
  return has_threads ? OwnerCheck(model).run() : std::nullopt;
}

}  // namespace polyte::schedule
