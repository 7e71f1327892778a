#include "ir/copy_loops.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "ir/resolved_loops.h"

namespace polyte::ir {
namespace {

using namespace resolved;

// Moves one element of its own type, or writes a literal: no cast, no arithmetic, no lanes.
bool is_copy(const LoopProgram& program, const Store& store) {
  const auto type_of = [&](const std::string& name) {
    const auto at = std::ranges::find(program.buffers, name, &Buffer::name);
    return at == program.buffers.end() ? std::nullopt : std::optional<DType>(at->dtype);
  };
  const auto is_direct = [](const std::vector<Index>& indices) {
    return indices.size() == 1 && indices.front().indirect == nullptr;
  };
  const std::optional<DType> type = type_of(store.buffer);
  if (!type || !is_direct(store.indices) || store.lanes.count != 1 || store.value->type != *type)
    return false;
  if (std::holds_alternative<Literal>(store.value->op)) return true;
  const auto* load = std::get_if<Load>(&store.value->op);
  return load && load->lanes.count == 1 && is_direct(load->indices) &&
         type_of(load->buffer) == type &&
         (load->guard.empty() || std::holds_alternative<Literal>(load->otherwise->op));
}

// A store with its two sides found: elements of one width, `fill` where there is no source
// or a guard is false.
struct Copy {
  const Linear* to = nullptr;
  const Linear* from = nullptr;  // null: a literal
  const std::vector<Test>* guard = nullptr;
  const Cells* target = nullptr;
  const Cells* source = nullptr;
  std::size_t width = 0;
  std::array<std::byte, 8> fill{};
};

bool uses(const Linear& value, int slot) {
  return std::ranges::any_of(value.symbols,
                             [&](const auto& symbol) { return symbol.first == slot; }) ||
         std::ranges::any_of(value.divisions,
                             [&](const auto& division) { return uses(division.numerator, slot); });
}

// The value changes by the same step from iteration to iteration.
bool is_even(const Linear& value, int slot) {
  return std::ranges::none_of(value.divisions,
                              [&](const auto& division) { return uses(division.numerator, slot); });
}

// By how much it grows when the variable grows by 1; for an even value that is all that changes.
std::int64_t step_of(const Linear& value, int slot) {
  std::int64_t step = 0;
  for (const auto& [symbol, coefficient] : value.symbols) step += symbol == slot ? coefficient : 0;
  return step;
}

template <std::size_t Width>
// Width is a template argument so that memcpy becomes one load and one store.
void move_elements(std::byte* to, std::int64_t to_step, const std::byte* from,
                   std::int64_t from_step, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * to_step * static_cast<std::int64_t>(Width),
                from + i * from_step * static_cast<std::int64_t>(Width), Width);
}

// Slots of variables as in the interpreter, but whole runs at a time.
class Copier {
 public:
  explicit Copier(const Resolver& resolver)
      : buffers_(resolver.buffers), slots_(resolver.symbols.size()) {}

  void run(const Steps& steps) {
    for (const Step& step : steps) {
      if (step.kind == Step::DoStore) {
        copy(copy_of(step), -1, 0, 1);
      } else if (step.kind == Step::DoFor) {
        loop(step);
      } else if (step.kind == Step::DoIf) {
        if (std::ranges::all_of(step.tests, [&](const Test& t) { return t.holds(slots_); }))
          run(step.body);
      }
    }
  }

 private:
  const std::vector<Cells>& buffers_;
  std::vector<std::int64_t> slots_;

  const Cells& cells(const ResolvedAccess& access) const {
    return buffers_[static_cast<std::size_t>(access.buffer)];
  }

  Copy copy_of(const Step& step) const {
    Copy copy;
    copy.to = &step.access.subscripts[0].affine;
    copy.target = &cells(step.access);
    copy.width = static_cast<std::size_t>(size_in_bytes(copy.target->dtype));
    // The value is a load, perhaps with a literal for where its guard fails, or it is that
    // literal.
    const Node* literal = &step.value[0];
    if (!literal->access.subscripts.empty()) {
      copy.from = &literal->access.subscripts[0].affine;
      copy.source = &cells(literal->access);
      copy.guard = &literal->guard;
      literal = literal->operands.empty() ? nullptr : literal->operands.data();
    }
    if (literal) arithmetic::store(copy.target->dtype, copy.fill.data(), literal->value[0]);
    return copy;
  }

  void loop(const Step& step) {
    std::int64_t begin = step.lower[0].at(slots_), end = step.upper[0].at(slots_);
    for (const Linear& bound : step.lower) begin = std::max(begin, bound.at(slots_));
    for (const Linear& bound : step.upper) end = std::min(end, bound.at(slots_));
    // The innermost loop around one store: as one run if its addresses are evenly spaced.
    if (step.body.size() == 1 && step.body.front().kind == Step::DoStore) {
      const Copy all = copy_of(step.body.front());
      if (is_run(all, step.slot)) return copy(all, step.slot, begin, end);
    }
    for (std::int64_t i = begin; i < end; ++i) {
      slots_[static_cast<std::size_t>(step.slot)] = i;
      run(step.body);
    }
  }

  // In a run, addresses advance by one step and each inequality of the guard changes monotonically,
  // so that it holds on one interval of iterations. An equality that moves would hold at one point
  // only.
  static bool is_run(const Copy& copy, int slot) {
    if (!is_even(*copy.to, slot)) return false;
    if (!copy.from) return true;
    return is_even(*copy.from, slot) && std::ranges::all_of(*copy.guard, [&](const Test& test) {
             return is_even(test.value, slot) && (!test.equality || step_of(test.value, slot) == 0);
           });
  }

  // Iterations [begin, end) of the loop at `slot`; without a loop one. With k iterations done, a
  // guard's value is first + step * k >= 0: for step > 0 from k = ceil(-first / step) on, for step
  // < 0 up to k = floor(first / -step). The intersection is [from, to); the rest is filled.
  void copy(const Copy& copy, int slot, std::int64_t begin, std::int64_t end) {
    if (begin >= end) return;
    const auto start = [&](std::int64_t i) {
      if (slot >= 0) slots_[static_cast<std::size_t>(slot)] = i;
    };
    // [begin, from) filled   [from, to) moved   [to, end) filled
    std::int64_t from = begin, to = copy.from ? end : begin;  // where the guard holds: one interval
    start(begin);
    for (std::size_t i = 0; copy.from && i < copy.guard->size(); ++i) {
      const std::int64_t first = (*copy.guard)[i].value.at(slots_),
                         step = step_of((*copy.guard)[i].value, slot);
      if (step == 0 && !(*copy.guard)[i].holds(slots_)) to = begin;
      if (step > 0 && first < 0) from = std::max(from, begin + polyte::ceil_div(-first, step));
      if (step < 0) to = std::min(to, begin + polyte::floor_div(first, -step) + 1);
    }
    from = std::min(from, end);
    to = std::max(from, to);
    fill(copy, slot, begin, from, start);
    if (from < to) {
      start(from);
      move(copy, slot, to - from);
    }
    fill(copy, slot, to, end, start);
  }

  template <class Start>
  void fill(const Copy& copy, int slot, std::int64_t begin, std::int64_t end, const Start& start) {
    if (begin >= end) return;
    start(begin);
    const std::int64_t step = step_of(*copy.to, slot);
    std::byte* to = run_at(*copy.target, copy.to->at(slots_), step, end - begin, copy.width);
    for (std::int64_t i = begin; i < end; ++i, to += step * static_cast<std::int64_t>(copy.width))
      std::memcpy(to, copy.fill.data(), copy.width);
  }

  void move(const Copy& copy, int slot, std::int64_t count) {
    const std::int64_t to_step = step_of(*copy.to, slot), from_step = step_of(*copy.from, slot);
    std::byte* to = run_at(*copy.target, copy.to->at(slots_), to_step, count, copy.width);
    const std::byte* from =
        run_at(*copy.source, copy.from->at(slots_), from_step, count, copy.width);
    if (to_step == 1 && from_step == 1) {
      std::memcpy(to, from, static_cast<std::size_t>(count) * copy.width);
    } else if (copy.width == 1) {
      move_elements<1>(to, to_step, from, from_step, count);
    } else if (copy.width == 2) {
      move_elements<2>(to, to_step, from, from_step, count);
    } else if (copy.width == 4) {
      move_elements<4>(to, to_step, from, from_step, count);
    } else {
      move_elements<8>(to, to_step, from, from_step, count);
    }
  }

  // Positions between the two ends are in bounds where the ends are.
  static std::byte* run_at(const Cells& cells, std::int64_t first, std::int64_t step,
                           std::int64_t count, std::size_t width) {
    for (const std::int64_t position : {first, first + step * (count - 1)})
      if (position < 0 || position >= cells.size)
        fault("a copy leaves buffer '" + cells.name + "': element " + std::to_string(position) +
              " of " + std::to_string(cells.size));
    return cells.bytes + first * static_cast<std::int64_t>(width);
  }
};

std::byte* bytes_of(const Buffer& buffer, std::int64_t bytes, const CopyMemory& memory) {
  std::span<const std::byte> found;
  if (const auto to = memory.to.find(buffer.name); to != memory.to.end()) found = to->second;
  if (const auto from = memory.from.find(buffer.name); from != memory.from.end())
    found = from->second;
  POLYTE_CHECK(static_cast<std::int64_t>(found.size()) == bytes,
               "buffer '" + buffer.name + "' has other bytes");
  // Which are written is the program's word: `to` are its results.
  return const_cast<std::byte*>(found.data());
}

}  // namespace

bool only_copies(const LoopProgram& program) {
  if (!program.params.empty() || !program.body) return false;
  bool copies = true;
  for_each_stmt(program.body, [&](const Stmt& s) {
    const auto* loop = std::get_if<For>(&s->op);
    const auto* branch = std::get_if<If>(&s->op);
    const auto* store = std::get_if<Store>(&s->op);
    const bool fits = std::holds_alternative<Block>(s->op) ||
                      (loop && loop->kind == LoopKind::Serial) || (branch && !branch->condition) ||
                      (store && is_copy(program, *store));
    copies = copies && fits;
  });
  return copies;
}

void run_copies(const LoopProgram& program, const CopyMemory& memory) {
  POLYTE_CHECK(only_copies(program), "'" + program.name + "' does more than copy");
  Resolver resolver;
  for (const Buffer& buffer : program.buffers) {
    const int number = resolver.add_buffer(buffer.name, buffer.dtype, constant_shape(buffer));
    Cells& cells = resolver.buffers[static_cast<std::size_t>(number)];
    cells.bytes = bytes_of(buffer, checked_mul(cells.size, size_in_bytes(buffer.dtype)), memory);
  }
  const Steps steps = resolver.steps(program.body, 0);
  Copier(resolver).run(steps);
}

}  // namespace polyte::ir
