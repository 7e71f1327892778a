#include "ir/warp_memory.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <tuple>

#include "ir/matrix_load.h"
#include "ir/memory_cost.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::ir {
namespace {

constexpr std::int64_t kMostBytes = 16;  // of one access
constexpr std::size_t kWarp = 32;

using Lanes32 = std::array<std::int64_t, kWarp>;
using Mask = std::uint32_t;

bool runs(Mask mask, std::size_t lane) { return (mask >> lane & 1U) != 0; }

// --- the loops, made ready: affine values over slots, loads that are there already left out

struct Value {
  std::int64_t constant = 0;
  std::vector<std::pair<std::size_t, std::int64_t>> terms;  // slot, coefficient
  struct Division;
  std::vector<Division> divisions;
};
struct Value::Division {
  Value numerator;
  std::int64_t denominator = 1, coefficient = 1;
};

struct Test {
  Value value;
  bool equality = false;
};

struct WarpStep {
  enum Kind { Access, Loop, Branch, Sequence } kind = Sequence;
  std::vector<WarpStep> body;
  // Access: elements first + lanes of a buffer, where the tests hold
  std::string statement, buffer;
  bool write = false, shared = false, known = true;
  std::int64_t element_bytes = 0, lanes = 1;
  Swizzle swizzle = {};
  Value place;
  std::vector<Test> tests;                  // and of a Branch
  std::shared_ptr<const bool> overwritten;  // at once, by the same thread: it is left out
  // Loop
  LoopKind loop_kind = LoopKind::Serial;
  std::size_t slot = 0;
  std::vector<Value> lower, upper;
  bool has_threads = false;  // some loop of threads is inside, or it is one
};

// Where a buffer is, as far as accesses ask.
struct Place {
  bool in_memory = false, shared = false;
  std::int64_t alignment = 16;
  DType dtype = DType::F32;
  Swizzle swizzle = {};
};

class Compiler {
 public:
  explicit Compiler(const LoopProgram& program) {
    for (const Buffer& b : program.buffers) places_[b.name] = {true, false, kMostBytes, b.dtype, {}};
  }

  std::map<std::string, std::size_t> slots;

  WarpStep statement(const Stmt& s) {
    if (const auto* block = std::get_if<Block>(&s->op)) {
      WarpStep step;
      for (const Stmt& child : block->body) {
        add(step, statement(child));
        if (!in_threads_ && !step.body.empty() && !step.body.back().has_threads) forget();  // one thread's alone
      }
      return step;
    }
    if (const auto* loop = std::get_if<For>(&s->op)) return visit_loop(*loop);
    if (const auto* branch = std::get_if<If>(&s->op)) return visit_branch(*branch);
    if (const auto* store = std::get_if<Store>(&s->op)) return visit_store(*store);
    if (const auto* alloc = std::get_if<Alloc>(&s->op)) {
      const LoopBuffer& b = alloc->buffer;
      const bool shared = b.memory == Memory::Shared;
      places_[b.name] = {shared || b.memory == Memory::Heap, shared, shared ? 128 : 64, b.dtype, b.swizzle};
      if (b.memory == Memory::Stack) own_.insert(b.name);
      return statement(alloc->body);
    }
    if (std::holds_alternative<Barrier>(s->op) || std::holds_alternative<CopyGroup>(s->op) ||
        std::holds_alternative<ProductGroup>(s->op) || std::holds_alternative<Tensorized>(s->op))
      forget();
    if (const auto* tensorized = std::get_if<Tensorized>(&s->op))
      if (const auto matrices = matrix_load_of(*tensorized)) return visit_matrices(*matrices, tensorized->intrinsic);
    return {};
  }

 private:
  std::map<std::string, Place> places_;
  std::set<std::string> own_;     // memory of each thread
  std::set<std::string> loaded_;  // what a thread has in registers
  bool in_threads_ = false;
  struct Stored {
    std::string key;
    std::shared_ptr<bool> overwritten;
  };
  Stored last_;  // a store since which memory was not read

  void forget() {
    loaded_.clear();
    last_ = {};
  }

  static void add(WarpStep& to, WarpStep step) {
    if (step.kind == WarpStep::Sequence && step.body.empty()) return;
    to.has_threads = to.has_threads || step.has_threads;
    to.body.push_back(std::move(step));
  }

  std::size_t slot(const std::string& name) { return slots.try_emplace(name, slots.size()).first->second; }

  Value value(const Affine& e) {
    Value result{e.constant(), {}, {}};
    for (const Term& term : e.terms()) {
      if (term.atom.div) {
        result.divisions.push_back({value(term.atom.div->numerator), term.atom.div->denominator, term.coefficient});
      } else {
        result.terms.emplace_back(slot(term.atom.symbol), term.coefficient);
      }
    }
    return result;
  }
  std::vector<Value> values(const std::vector<Affine>& all) {
    std::vector<Value> result;
    for (const Affine& e : all) result.push_back(value(e));
    return result;
  }
  std::vector<Test> tests(const std::vector<Constraint>& all) {
    std::vector<Test> result;
    for (const Constraint& c : all) result.push_back({value(c.expr), c.equality});
    return result;
  }

  WarpStep visit_loop(const For& loop) {
    WarpStep step;
    step.kind = WarpStep::Loop;
    step.loop_kind = loop.kind;
    step.slot = slot(loop.var);
    step.lower = values(loop.lower);
    step.upper = values(loop.upper);
    if (!is_of_threads(loop.kind)) forget();
    const bool outside = in_threads_;
    in_threads_ = in_threads_ || loop.kind == LoopKind::Thread || loop.kind == LoopKind::Lane;
    add(step, statement(loop.body));
    in_threads_ = outside;
    step.has_threads = step.has_threads || is_of_threads(loop.kind);
    forget();
    return step;
  }

  // As a loop of lanes, each of which reads a row.
  WarpStep visit_matrices(const MatrixLoad& matrices, const std::string& instruction) {
    const Affine lane = Affine::symbol("ldmatrix.lane");
    const Place& place = places_.at(matrices.load->buffer);
    WarpStep access;
    access.kind = WarpStep::Access;
    access.statement = instruction;
    access.buffer = matrices.load->buffer;
    access.shared = place.shared;
    access.swizzle = place.swizzle;
    access.element_bytes = size_in_bytes(place.dtype);
    access.lanes = kMatrixRowBytes / access.element_bytes;
    access.place = value(substitute(matrices.load->indices[0].affine, {{matrices.matrix, floor_div(lane, kMatrixRows)},
                                                                       {matrices.row, mod(lane, kMatrixRows)},
                                                                       {matrices.element, Affine(0)}}));
    WarpStep step;
    step.kind = WarpStep::Loop;
    step.loop_kind = LoopKind::Lane;
    step.slot = slot("ldmatrix.lane");
    step.lower = values({Affine(0)});
    step.upper = values({Affine(matrices.count * kMatrixRows)});
    add(step, std::move(access));
    step.has_threads = true;
    return step;
  }

  WarpStep visit_branch(const If& branch) {
    WarpStep step;
    step.kind = WarpStep::Branch;
    step.tests = tests(branch.conditions);
    if (branch.condition) add_loads(step, branch.condition, "a condition");
    last_ = {};
    add(step, statement(branch.body));
    forget();
    return step;
  }

  WarpStep visit_store(const Store& store) {
    WarpStep step;
    const std::string& statement = store.origin.statement.empty() ? store.buffer : store.origin.statement;
    for (const Index& index : store.indices)
      if (index.indirect) add_loads(step, index.indirect, statement);
    const Place place = places_.contains(store.buffer) ? places_.at(store.buffer) : Place{};
    const bool exchanges = std::holds_alternative<LaneRead>(store.value->op);
    if (store.atomic || exchanges || own_.contains(store.buffer)) forget();
    if (!place.in_memory) {
      add_loads(step, store.value, statement);
      return step;
    }
    if (store.atomic) loaded_.insert(key(store.buffer, store.indices[0], store.lanes));  // read and written at once
    std::int64_t most = kMostBytes;
    if (store.async) {  // in one piece from memory to memory
      const auto& load = std::get<Load>(store.value->op);
      const std::int64_t bytes = std::min(at_once(store.buffer, store.indices[0], store.lanes),
                                          at_once(load.buffer, load.indices[0], load.lanes)) *
                                 size_in_bytes(place.dtype);
      if (bytes >= 4) most = bytes;
    }
    add_loads(step, store.value, statement, most);
    const std::string place_key = key(store.buffer, store.indices[0], store.lanes);
    if (last_.key == place_key) *last_.overwritten = true;
    forget();
    last_ = {place_key, std::make_shared<bool>(false)};
    loaded_.insert(place_key);
    add_parts(step, statement, store.buffer, store.indices[0], store.lanes, {}, true, most);
    if (store.atomic) forget();
    return step;
  }

  void add_loads(WarpStep& step, const Expr& e, const std::string& statement, std::int64_t most = kMostBytes) {
    for (const Load* load : loads_of(e)) {
      if (!places_.contains(load->buffer) || !places_.at(load->buffer).in_memory) continue;
      if (!loaded_.insert(key(load->buffer, load->indices[0], load->lanes)).second) continue;
      last_ = {};
      add_parts(step, statement, load->buffer, load->indices[0], load->lanes, load->guard, false, most);
      if (!load->guard.empty()) forget();
    }
  }

  static std::string key(const std::string& buffer, const Index& index, const Lanes& lanes) {
    std::string text = buffer + "|" + to_string(index.affine) + "|" + std::to_string(lanes.count) + "|" +
                       std::to_string(lanes.strides.empty() ? 0 : lanes.strides[0]);
    if (index.indirect) text += "|" + std::to_string(reinterpret_cast<std::uintptr_t>(index.indirect.get()));  // NOLINT
    return text;
  }

  // As many elements as the address is known to be a multiple of.
  std::int64_t at_once(const std::string& buffer, const Index& index, const Lanes& lanes) const {
    const Place& place = places_.at(buffer);
    const std::int64_t element = size_in_bytes(place.dtype);
    if (lanes.strides.empty() || lanes.strides[0] != 1 || index.indirect) return 1;
    std::int64_t known = std::gcd(place.alignment, index.affine.constant() * element);
    for (const Term& term : index.affine.terms()) known = std::gcd(known, term.coefficient * element);
    const std::int64_t count = std::max<std::int64_t>(std::min(known, kMostBytes) / element, 1);
    return place.swizzle.none() ? count : std::min(count, place.swizzle.chunk);
  }

  void add_parts(WarpStep& step, const std::string& statement, const std::string& buffer, const Index& index,
                 const Lanes& lanes, const std::vector<Constraint>& guard, bool write, std::int64_t most) {
    const Place& place = places_.at(buffer);
    WarpStep access;
    access.kind = WarpStep::Access;
    access.statement = statement;
    access.buffer = buffer;
    access.write = write;
    access.shared = place.shared;
    access.known = !index.indirect;
    access.element_bytes = size_in_bytes(place.dtype);
    access.tests = tests(guard);
    if (write) access.overwritten = last_.overwritten;
    const std::int64_t stride = lanes.strides.empty() ? 0 : lanes.strides[0];
    access.swizzle = place.swizzle;
    std::int64_t together =
        std::min(at_once(buffer, index, lanes), std::max<std::int64_t>(most / access.element_bytes, 1));
    const std::int64_t count = stride == 0 && !write ? 1 : lanes.count;
    for (std::int64_t first = 0; first < count; first += together) {
      while (together > count - first) together /= 2;
      access.lanes = together;
      access.place = value(index.affine + first * stride);
      step.body.push_back(access);
    }
  }
};

// --- running them

class Runner {
 public:
  Runner(const std::map<std::string, std::size_t>& slots, const Values& sizes, Extent extent) : extent_(extent) {
    values_.resize(slots.size());
    for (const auto& [name, size] : sizes)
      if (const auto at = slots.find(name); at != slots.end()) values_[at->second].fill(size);
  }

  std::vector<std::vector<MemoryAccess>> launches;

  // Outside of blocks: one value for all.
  void host(const WarpStep& step, const std::map<const WarpStep*, std::size_t>& numbers) {
    if (step.kind == WarpStep::Loop && step.loop_kind == LoopKind::Block) {
      current_ = &found_[numbers.at(&step)];
      return blocks(step);
    }
    const auto below = [&] {
      for (const WarpStep& child : step.body) host(child, numbers);
    };
    if (step.kind == WarpStep::Branch && !runs(where(step.tests, 1), 0)) return;
    if (step.kind == WarpStep::Loop) return serial(step, 1, extent_ == Extent::All ? kAll : 1, [&](Mask) { below(); });
    below();
  }

  void finish(std::size_t count) {
    launches.resize(count);
    for (const auto& [number, accesses] : found_)
      for (const auto& [key, access] : accesses) launches[number].push_back(access);
  }

 private:
  using Found = std::map<std::tuple<std::string, std::string, bool>, MemoryAccess>;
  static constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  Extent extent_;
  std::vector<Lanes32> values_;
  std::map<std::size_t, Found> found_;
  Found* current_ = nullptr;
  std::int64_t warp_ = 0, threads_ = 0;  // of the block, as far as seen

  Lanes32 at(const Value& v) const {
    Lanes32 result;
    result.fill(v.constant);
    for (const auto& [slot, coefficient] : v.terms)
      for (std::size_t lane = 0; lane < kWarp; ++lane) result[lane] += coefficient * values_[slot][lane];
    for (const Value::Division& division : v.divisions) {
      const Lanes32 numerator = at(division.numerator);
      for (std::size_t lane = 0; lane < kWarp; ++lane)
        result[lane] += division.coefficient * polyte::floor_div(numerator[lane], division.denominator);
    }
    return result;
  }

  Mask where(const std::vector<Test>& tests, Mask mask) const {
    for (const Test& test : tests) {
      const Lanes32 value = at(test.value);
      for (std::size_t lane = 0; lane < kWarp; ++lane)
        if (!(test.equality ? value[lane] == 0 : value[lane] >= 0)) mask &= ~(1U << lane);
    }
    return mask;
  }

  std::pair<Lanes32, Lanes32> bounds(const WarpStep& loop) const {
    std::pair<Lanes32, Lanes32> result{at(loop.lower[0]), at(loop.upper[0])};
    for (const Value& bound : loop.lower) {
      const Lanes32 value = at(bound);
      for (std::size_t lane = 0; lane < kWarp; ++lane) result.first[lane] = std::max(result.first[lane], value[lane]);
    }
    for (const Value& bound : loop.upper) {
      const Lanes32 value = at(bound);
      for (std::size_t lane = 0; lane < kWarp; ++lane) result.second[lane] = std::min(result.second[lane], value[lane]);
    }
    return result;
  }

  template <class Body>
  void serial(const WarpStep& loop, Mask mask, std::int64_t most, const Body& body) {
    const auto [lower, upper] = bounds(loop);
    std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = std::numeric_limits<std::int64_t>::min();
    for (std::size_t lane = 0; lane < kWarp; ++lane) {
      if (!runs(mask, lane)) continue;
      first = std::min(first, lower[lane]);
      last = std::max(last, upper[lane]);
    }
    for (std::int64_t i = first; i < last && i - first < most; ++i) {
      Mask inside = mask;
      for (std::size_t lane = 0; lane < kWarp; ++lane)
        if (i < lower[lane] || i >= upper[lane]) inside &= ~(1U << lane);
      values_[loop.slot].fill(i);
      if (inside != 0) body(inside);
    }
  }

  void blocks(const WarpStep& step) {
    if (step.kind == WarpStep::Loop && step.loop_kind == LoopKind::Block)
      return serial(step, 1, extent_ == Extent::All ? kAll : 1, [&](Mask) {
        for (const WarpStep& child : step.body) blocks(child);
      });
    // One step that is no loop of blocks: the body of the innermost.
    threads_ = 1;
    for (warp_ = 0; warp_ * kLanes < threads_; ++warp_) block(step, false);
  }

  // What no loop of threads holds runs on one thread.
  void block(const WarpStep& step, bool in_warp) {
    if (!step.has_threads) {
      if (in_warp || warp_ == 0) thread(step, 1);
      return;
    }
    const auto below = [&](bool warps) {
      for (const WarpStep& child : step.body) block(child, warps);
    };
    if (step.kind == WarpStep::Branch) {
      if (runs(where(step.tests, 1), 0)) below(in_warp);
    } else if (step.kind != WarpStep::Loop) {
      below(in_warp);
    } else if (is_of_threads(step.loop_kind)) {
      threads(step, in_warp);
    } else {
      serial(step, 1, extent_ == Extent::All ? kAll : 2, [&](Mask) { below(in_warp); });
    }
  }

  void threads(const WarpStep& loop, bool in_warp) {
    const auto [lower, upper] = bounds(loop);
    if (loop.loop_kind == LoopKind::Warp) {
      threads_ = std::max(threads_, upper[0] * kLanes);
      if (warp_ < lower[0] || warp_ >= upper[0]) return;
      values_[loop.slot].fill(warp_);
      for (const WarpStep& child : loop.body) block(child, true);
      return;
    }
    threads_ = std::max(threads_, in_warp ? 1 : upper[0]);
    Mask mask = 0;
    for (std::size_t lane = 0; lane < kWarp; ++lane) {
      const std::int64_t number = static_cast<std::int64_t>(lane) + (in_warp ? 0 : warp_ * kLanes);
      values_[loop.slot][lane] = number;
      if (number >= lower[0] && number < upper[0]) mask |= 1U << lane;
    }
    if (mask == 0) return;
    for (const WarpStep& child : loop.body) thread(child, mask);
  }

  void thread(const WarpStep& step, Mask mask) {
    const auto below = [&](Mask inside) {
      for (const WarpStep& child : step.body) thread(child, inside);
    };
    if (step.kind == WarpStep::Access) return access(step, where(step.tests, mask));
    if (step.kind == WarpStep::Loop) return serial(step, mask, extent_ == Extent::All ? kAll : 64, below);
    if (step.kind == WarpStep::Branch) mask = where(step.tests, mask);
    if (mask != 0) below(mask);
  }

  void access(const WarpStep& step, Mask mask) {
    if (mask == 0 || (step.overwritten && *step.overwritten)) return;
    MemoryAccess& a = (*current_)[{step.statement, step.buffer, step.write}];
    const std::int64_t bytes = step.lanes * step.element_bytes;
    a.statement = step.statement;
    a.buffer = step.buffer;
    a.write = step.write;
    a.shared = step.shared;
    a.known = a.known && step.known;
    a.bytes = std::max(a.bytes, bytes);
    ++a.requests;
    if (!step.known) return;
    const Lanes32 place = at(step.place);
    const std::size_t served = step.shared && bytes > kWord ? kWarp / static_cast<std::size_t>(bytes / kWord) : kWarp;
    for (std::size_t first = 0; first < kWarp; first += served) {
      std::vector<std::int64_t> offsets;
      for (std::size_t lane = first; lane < first + served; ++lane)
        if (runs(mask, lane))
          offsets.push_back(place_of(step.swizzle, step.element_bytes, place[lane]) * step.element_bytes);
      if (offsets.empty()) continue;
      a.cost += step.shared ? wavefronts(offsets, bytes) : count_pieces(offsets, bytes, kSector);
      a.ideal += step.shared ? 1 : ceil_div(count_pieces(offsets, bytes, 1), kSector);
    }
  }
};

void number_launches(const WarpStep& step, std::map<const WarpStep*, std::size_t>& numbers) {
  if (step.kind == WarpStep::Loop && step.loop_kind == LoopKind::Block) {
    numbers.emplace(&step, numbers.size());
    return;
  }
  for (const WarpStep& child : step.body) number_launches(child, numbers);
}

}  // namespace

std::vector<std::vector<MemoryAccess>> memory_of(const LoopProgram& program, const Values& sizes, Extent extent) {
  for (const std::string& param : program.params)
    POLYTE_CHECK(sizes.contains(param), "memory_of: no value of '" + param + "'");
  Compiler compiler(program);
  const WarpStep root = compiler.statement(program.body);
  std::map<const WarpStep*, std::size_t> numbers;
  number_launches(root, numbers);
  Runner runner(compiler.slots, sizes, extent);
  runner.host(root, numbers);
  runner.finish(numbers.size());
  return std::move(runner.launches);
}

}  // namespace polyte::ir
