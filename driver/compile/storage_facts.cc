#include "driver/compile/storage_facts.h"

#include <algorithm>
#include <set>
#include <string>

#include "ir/domain.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::driver {
namespace {

struct Extent {
  std::int64_t first = 0, count = 0;
};
using Box = std::map<std::string, Extent>;

std::optional<std::int64_t> constant_of(const std::vector<ir::Affine>& bounds, bool greatest) {
  std::optional<std::int64_t> best;
  for (const ir::Affine& bound : bounds) {
    if (!bound.is_constant()) return std::nullopt;
    const std::int64_t value = bound.constant();
    best = !best ? value : greatest ? std::max(*best, value) : std::min(*best, value);
  }
  return best;
}

// The domain, if it is a box with something in it. Bounds that depend on other iterators, or
// constraints besides bounds, make it none.
std::optional<Box> box_of(const ir::Statement& statement) {
  const ir::DomainBounds bounds = ir::bounds_of(statement.domain, statement.iterators);
  if (!bounds.constant.empty()) return std::nullopt;
  Box box;
  for (std::size_t i = 0; i < statement.iterators.size(); ++i) {
    const auto lower = constant_of(bounds.of[i].lower, true),
               upper = constant_of(bounds.of[i].upper, false);
    if (!lower || !upper || *upper < *lower || !bounds.of[i].checks.empty()) return std::nullopt;
    box[statement.iterators[i]] = {*lower, *upper - *lower + 1};
  }
  return box;
}

// Position in the row-major buffer; nothing where it is not known before run time.
// ((i0 * n1 + i1) * n2 + i2) ..
std::optional<ir::Affine> position_of(const std::vector<ir::Index>& indices,
                                      const std::vector<ir::Affine>& shape) {
  POLYTE_CHECK(indices.size() == shape.size(), "an access has a subscript for each dimension");
  ir::Affine position = 0;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    if (indices[d].indirect || !shape[d].is_constant()) return std::nullopt;
    position = position * shape[d].constant() + indices[d].affine;
  }
  return position;
}

// The position over the box: coefficients of iterators that move, and the position at the
// box's first point.
struct Walk {
  std::int64_t first = 0;
  std::map<std::string, std::int64_t> steps;
};

std::optional<Walk> walk_of(const ir::Affine& position, const Box& box) {
  Walk walk{position.constant(), {}};
  for (const ir::Term& term : position.terms()) {
    const auto extent = box.find(term.atom.symbol);
    if (term.atom.div || extent == box.end()) return std::nullopt;
    walk.first = checked_add(walk.first, checked_mul(term.coefficient, extent->second.first));
    if (extent->second.count > 1) walk.steps[term.atom.symbol] = term.coefficient;
  }
  return walk;
}

std::vector<std::pair<std::int64_t, std::int64_t>> steps_and_counts(const Walk& walk,
                                                                    const Box& box) {
  std::vector<std::pair<std::int64_t, std::int64_t>> list;
  for (const auto& [iterator, extent] : box) {
    const auto step = walk.steps.find(iterator);
    if (extent.count > 1)
      list.emplace_back(step == walk.steps.end() ? 0 : step->second, extent.count);
  }
  std::ranges::sort(list);
  return list;
}

// Each point of the box at a place of its own: with steps in ascending order, each has to be larger
// than all that the smaller ones reach together, as digits of a number are. 12*i + 4*j with j in
// 0..3 is; with j in 0..4 (1, 0) and (0, 3) meet. A step below 1 is taken to meet; sufficient, not
// necessary.
bool is_injective(const Walk& walk, const Box& box) {
  std::int64_t reach = 1;  // positions that the smaller steps reach
  for (const auto& [step, count] : steps_and_counts(walk, box)) {
    if (step < reach) return false;
    reach = checked_add(reach, checked_mul(step, count - 1));
  }
  return true;
}

// How many places from the first on the box fills without a gap; nothing if there are gaps
// or places met twice. Each step has to be the product of the counts of all smaller ones.
std::optional<std::int64_t> run_length(const Walk& walk, const Box& box) {
  std::int64_t length = 1;
  for (const auto& [step, count] : steps_and_counts(walk, box)) {
    if (step != length) return std::nullopt;
    length = checked_mul(length, count);
  }
  return length;
}

std::optional<std::size_t> position_in(const std::vector<const ir::Buffer*>& interface,
                                       const std::string& name) {
  const auto found = std::ranges::find(interface, name, &ir::Buffer::name);
  if (found == interface.end()) return std::nullopt;
  return static_cast<std::size_t>(found - interface.begin());
}

std::int64_t bytes_of(const ir::Buffer& buffer) {
  return checked_mul(checked_product(ir::constant_shape(buffer)), size_in_bytes(buffer.dtype));
}

// The run that one statement copies: source and target have the same steps, and the steps fill a
// run, so that places correspond one to one in order.
std::optional<CopiedRun> run_of(const ir::Program& program, const ir::Statement& s) {
  if (s.combiner != ir::Combiner::None || s.guard || s.region_depth != 0 || s.writes.size() != 1)
    return std::nullopt;
  const auto* load = std::get_if<ir::Load>(&s.values[0]->op);
  if (load == nullptr || load->otherwise || load->lanes.count != 1) return std::nullopt;
  const std::vector<const ir::Buffer*> interface = program.interface();
  const auto from = position_in(interface, load->buffer),
             to = position_in(interface, s.writes[0].buffer);
  const std::optional<Box> box = box_of(s);
  if (!from || !to || !box) return std::nullopt;
  const auto read = position_of(load->indices, interface[*from]->shape);
  const auto write = position_of(s.writes[0].indices, interface[*to]->shape);
  const auto source = read ? walk_of(*read, *box) : std::nullopt;
  const auto target = write ? walk_of(*write, *box) : std::nullopt;
  if (!source || !target || source->steps != target->steps) return std::nullopt;
  const std::optional<std::int64_t> length = run_length(*target, *box);
  if (!length) return std::nullopt;
  const std::int64_t size = size_in_bytes(interface[*to]->dtype);
  return CopiedRun{*from, *to, source->first * size, target->first * size, *length * size};
}

// Every byte of every result once: sorted by offset, each run begins where the one before it ends.
bool covers_results(const ir::Program& program, const std::vector<CopiedRun>& runs) {
  const std::vector<const ir::Buffer*> interface = program.interface();
  for (std::size_t b = 0; b < interface.size(); ++b) {
    if (interface[b]->role == ir::Role::InOut) return false;
    if (interface[b]->role != ir::Role::Out) continue;
    std::map<std::int64_t, std::int64_t> lengths;
    std::int64_t count = 0, end = 0;
    for (const CopiedRun& run : runs) {
      if (run.to != b) continue;
      lengths[run.to_offset] = run.bytes;
      ++count;
    }
    for (const auto& [offset, bytes] : lengths) {
      if (offset != end) return false;
      end += bytes;
    }
    if (static_cast<std::int64_t>(lengths.size()) != count || end != bytes_of(*interface[b]) ||
        end == 0)
      return false;
  }
  return true;
}

bool have_one_size(const ir::Buffer& a, const ir::Buffer& b) {
  if (size_in_bytes(a.dtype) != size_in_bytes(b.dtype)) return false;
  const auto is_closed = [](const ir::Buffer& buffer) {
    return std::ranges::all_of(buffer.shape, &ir::Affine::is_constant);
  };
  return is_closed(a) && is_closed(b) ? bytes_of(a) == bytes_of(b) : a.shape == b.shape;
}

// y[n, c]: each iterator is a subscript of its own.
// Injective without any arithmetic, and so for open sizes as well.
bool is_identity(const ir::Statement& statement) {
  std::set<std::string> subscripts;
  for (const ir::Index& index : statement.writes[0].indices) {
    const auto iterator = index.affine.as_symbol();
    if (index.indirect || (iterator && !subscripts.insert(*iterator).second)) return false;
  }
  return std::ranges::all_of(statement.iterators,
                             [&](const std::string& i) { return subscripts.contains(i); });
}

bool have_same_subscripts(const ir::Access& a, const ir::Access& b) {
  return std::ranges::equal(a.indices, b.indices, [](const ir::Index& i, const ir::Index& j) {
    return !i.indirect && !j.indirect && i.affine == j.affine;
  });
}

bool reads(const schedule::ScheduledStatement& statement, const std::string& buffer) {
  return std::ranges::any_of(schedule::accesses_of(statement), [&](const schedule::AccessRef& ref) {
    return !ref.write && ref.access.buffer == buffer;
  });
}

bool writes(const schedule::ScheduledStatement& statement, const std::string& buffer) {
  return std::ranges::any_of(statement.body.writes,
                             [&](const ir::Access& w) { return w.buffer == buffer; });
}

// The one statement that writes the buffer, if it is a definition of which each instance runs once.
const schedule::ScheduledStatement* definition_of(const schedule::State& state,
                                                  const std::string& buffer) {
  const schedule::ScheduledStatement* found = nullptr;
  for (const schedule::ScheduledStatement& s : state.statements) {
    if (!writes(s, buffer)) continue;
    const bool is_plain = s.kind == schedule::StatementKind::Plain && s.lifted == 0 && !s.padded &&
                          !s.atomic && s.body.writes.size() == 1 &&
                          s.body.combiner == ir::Combiner::None && !s.body.guard;
    if (found != nullptr || !is_plain) return nullptr;
    found = &s;
  }
  return found;
}

class InPlaceProof {
 public:
  InPlaceProof(const schedule::State& state, const ir::Buffer& result)
      : state_(state), result_(result), definition_(definition_of(state, result.name)) {
    if (definition_ == nullptr || is_identity(definition_->body)) return;
    const std::optional<Box> box = box_of(definition_->body);
    const auto write = position_of(definition_->body.writes[0].indices, result.shape);
    const auto walk = box && write ? walk_of(*write, *box) : std::nullopt;
    if (!walk || !is_injective(*walk, *box)) definition_ = nullptr;
  }

  // Legal since each instance reads of the operand only the place that it writes, and no later one
  // reads that place again, whatever the order of the instances.
  bool may_lie_over(const ir::Buffer& operand) const {
    if (definition_ == nullptr || !have_one_size(operand, result_)) return false;
    for (const schedule::ScheduledStatement& s : state_.statements) {
      if (&s != definition_ && reads(s, operand.name)) return false;
    }
    return std::ranges::all_of(schedule::accesses_of(*definition_),
                               [&](const schedule::AccessRef& ref) {
                                 return ref.write || ref.access.buffer != operand.name ||
                                        is_own_element(ref.access, operand);
                               });
  }

 private:
  const schedule::State& state_;
  const ir::Buffer& result_;
  const schedule::ScheduledStatement* definition_;

  // The element of the operand where the result's lies that is written.
  bool is_own_element(const ir::Access& read, const ir::Buffer& operand) const {
    const ir::Access& write = definition_->body.writes[0];
    if (operand.shape == result_.shape && have_same_subscripts(read, write)) return true;
    const auto position = position_of(read.indices, operand.shape);
    return position && position == position_of(write.indices, result_.shape);
  }
};

}  // namespace

std::optional<std::vector<CopiedRun>> copied_runs(const ir::Program& program) {
  std::vector<CopiedRun> runs;
  for (const ir::Statement& statement : program.statements) {
    const std::optional<CopiedRun> run = run_of(program, statement);
    if (!run) return std::nullopt;
    runs.push_back(*run);
  }
  if (runs.empty() || !covers_results(program, runs)) return std::nullopt;
  return runs;
}

std::vector<std::pair<std::size_t, std::size_t>> in_place_pairs(const schedule::State& state) {
  const std::vector<const ir::Buffer*> interface = state.reference->interface();
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  if (std::ranges::count(interface, ir::Role::Out, &ir::Buffer::role) != 1) return pairs;
  // A result's memory is written before its own elements are.
  if (!state.reused.empty()) return pairs;
  for (std::size_t result = 0; result < interface.size(); ++result) {
    if (interface[result]->role != ir::Role::Out) continue;
    // Accesses are of the basis: a view has other dimensions than the interface, and the same size.
    const InPlaceProof proof(state, state.basis->buffer(interface[result]->name));
    for (std::size_t operand = 0; operand < interface.size(); ++operand) {
      // Types agree as well: memory of a network's output is of its type (kernel_interface.h).
      if (interface[operand]->role == ir::Role::In &&
          interface[operand]->dtype == interface[result]->dtype &&
          proof.may_lie_over(state.basis->buffer(interface[operand]->name)))
        pairs.emplace_back(result, operand);
    }
  }
  return pairs;
}

}  // namespace polyte::driver
