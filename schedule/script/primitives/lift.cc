#include "schedule/script/primitives/lift.h"

#include <algorithm>

namespace polyte::schedule {

namespace {

using ir::Affine;

// A written subscript `iterator + offset`.
struct Subscript {
  std::string iterator;
  std::int64_t offset = 0;
};

std::optional<Subscript> as_subscript(const ir::Index& index) {
  if (index.indirect || index.affine.terms().size() != 1) return std::nullopt;
  const auto symbol = (index.affine - index.affine.constant()).as_symbol();
  if (!symbol) return std::nullopt;
  return Subscript{*symbol, index.affine.constant()};
}

// A writer can be lifted where the element determines the instance, up to iterators of a reduction:
// t[i + 1, j] = .. is, t[i + j] = .. is not. `subscripts` gets iterator and offset of each
// dimension.
std::optional<Refusal> check_writer(const ScheduledStatement& s, const std::string& tensor,
                                    std::vector<Subscript>& subscripts) {
  const std::string& name = s.body.name;
  if (s.lifted > 0) return malformed(name + " is recomputed already");
  if (s.body.region_depth > 0)
    return conservative(name + " is in an ordered region: it is not recomputed");
  if (s.body.writes.size() != 1)
    return conservative(name + " writes a tuple: it is not recomputed");
  if (s.body.writes.front().buffer != tensor)
    return malformed(tensor + " is staged already: compute_at comes before its stage");
  for (const ir::Index& index : s.body.writes.front().indices) {
    const auto subscript = as_subscript(index);
    const bool repeated = subscript && std::ranges::any_of(subscripts, [&](const Subscript& other) {
                            return other.iterator == subscript->iterator;
                          });
    if (!subscript || repeated)
      return conservative(name + " does not write " + tensor +
                          " at one iterator a dimension: it is not recomputed");
    subscripts.push_back(*subscript);
  }
  for (const std::string& iterator : s.body.iterators) {
    const bool subscripted = std::ranges::any_of(
        subscripts, [&](const Subscript& each) { return each.iterator == iterator; });
    const bool reduced = s.kind == StatementKind::Update;
    if (!subscripted && !reduced)
      return conservative(name + " writes an element more than once: it is not recomputed");
  }
  return std::nullopt;
}

// The name itself; where a loop above the site or another lifted loop has it, "tensor.name",
// "tensor.name_2", ..
std::string fresh_name(const std::string& name, const std::string& tensor, Names& taken) {
  std::string result = name;
  for (int i = 1; has(taken, result); ++i)
    result = tensor + "." + name + (i == 1 ? "" : "_" + std::to_string(i));
  taken.push_back(result);
  return result;
}

// P[i] with i in its domain becomes P'[t.., i'] with i = origin(t) + i' and 0 <= i' < extent: the
// loops of the site in front, and positions in the box in place of the iterators. Where the shifted
// point is outside of the old domain nothing runs; `alive`: iterations of the site that read the
// tensor at all. phi still says which instance of the Program each one computes.
void lift_statement(ScheduledStatement& s, const std::string& tensor, const Box& box,
                    const LiftSite& site, const std::vector<Subscript>& subscripts,
                    const std::vector<ir::Constraint>& alive) {
  ir::Bindings names, shifted, loops;
  Names iterators_taken = site.prefix, loops_taken = site.prefix;
  for (const std::string& iterator : s.body.iterators)
    shifted[iterator] = names[iterator] =
        Affine::symbol(fresh_name(iterator, tensor, iterators_taken));
  for (std::size_t d = 0; d < subscripts.size(); ++d)
    shifted[subscripts[d].iterator] =
        box.origin[d] - subscripts[d].offset + names[subscripts[d].iterator];
  for (const LoopRow& row : s.rows)
    loops[row.loop] = Affine::symbol(fresh_name(row.loop, tensor, loops_taken));

  std::vector<ir::Constraint> domain = alive;
  for (const ir::Constraint& c : s.body.domain) domain.push_back(ir::substitute(c, shifted));
  for (std::size_t d = 0; d < subscripts.size(); ++d) {
    domain.push_back(ir::at_least(names[subscripts[d].iterator], 0));
    domain.push_back(ir::less_than(names[subscripts[d].iterator], box.extent[d]));
  }
  s.body.domain = std::move(domain);

  std::vector<LoopRow> rows;
  ir::Bindings inverse;
  for (const std::string& loop : site.prefix) {
    rows.push_back({loop, Affine::symbol(loop)});
    inverse[loop] = Affine::symbol(loop);
  }
  for (LoopRow row : s.rows) {
    row.loop = *loops[row.loop].as_symbol();
    row.value = ir::substitute(row.value, names);
    for (Affine& cut : row.cuts) cut = ir::substitute(cut, loops);
    rows.push_back(std::move(row));
  }
  for (const auto& [iterator, value] : s.inverse)
    inverse[*names[iterator].as_symbol()] = ir::substitute(value, loops);
  for (ir::Constraint& c : s.loop_domain) c = ir::substitute(c, loops);
  s.rows = std::move(rows);
  s.inverse = std::move(inverse);

  std::vector<std::string> iterators = site.prefix;
  for (const std::string& iterator : s.body.iterators)
    iterators.push_back(*names[iterator].as_symbol());
  for (std::string& reduction : s.body.reductions) reduction = *names[reduction].as_symbol();
  s.body.iterators = std::move(iterators);
  for (ir::Access& write : s.body.writes)
    for (ir::Index& index : write.indices) index.affine = ir::substitute(index.affine, shifted);
  for (ir::Expr& value : s.body.values) value = ir::substitute(value, shifted);
  if (s.body.guard) s.body.guard = ir::substitute(s.body.guard, shifted);
  for (Affine& value : s.phi) value = ir::substitute(value, shifted);
  s.lifted = static_cast<int>(site.prefix.size());
}

}  // namespace

bool reads(const ScheduledStatement& s, const std::string& buffer) {
  const std::vector<AccessRef> accesses = accesses_of(s);
  return std::ranges::any_of(
      accesses, [&](const AccessRef& a) { return !a.write && a.access.buffer == buffer; });
}

bool writes(const ScheduledStatement& s, const std::string& buffer) {
  return std::ranges::any_of(s.body.writes,
                             [&](const ir::Access& write) { return write.buffer == buffer; });
}

// A statement that reads and writes the tensor, an update of it, is a producer.
std::vector<std::string> consumers_below(const State& state, const Loop& loop,
                                         const std::string& tensor) {
  std::vector<std::string> consumers;
  for (const Leaf* leaf : leaves_of(loop.body)) {
    const ScheduledStatement& s = state.at(leaf->statement);
    if (reads(s, tensor) && !writes(s, tensor)) consumers.push_back(leaf->statement);
  }
  return consumers;
}

namespace {

// What the accesses need of one dimension: an offset, which moves with the loops of `outer`, and an
// interval of what is added to it. All accesses have to move alike, up to constants.
Result<OffsetPart> moving_part(const State& state, const std::vector<BoxAccess>& accesses,
                               std::size_t d, const std::string& buffer, const LoopNames& outer) {
  const Affine extent = state.shape_of(buffer)[d];
  std::optional<OffsetPart> all;
  for (const BoxAccess& access : accesses) {
    std::string why;
    std::optional<OffsetPart> part;
    // A subscript that is read may be any: the whole dimension.
    if (access.indices[d].indirect) {
      if (!extent.is_constant())
        return Decline{"dimension " + std::to_string(d) + " of " + buffer +
                       " has no constant extent"};
      part = OffsetPart{0, 0, extent.constant() - 1};
    } else {
      part = split_offset(state, *access.statement, access.indices[d].affine, outer, why);
    }
    if (!part) return Decline{why};
    if (!all) {
      all = part;
      continue;
    }
    const Affine difference = part->offset - all->offset;
    if (!difference.is_constant())
      return Decline{"accesses to " + buffer + " move differently: at " +
                     ir::to_string(all->offset) + " and at " + ir::to_string(part->offset)};
    all->min = std::min(all->min, part->min + difference.constant());
    all->max = std::max(all->max, part->max + difference.constant());
  }
  POLYTE_CHECK(all.has_value(), "a box of no access");
  return *all;
}

// The interval of one dimension that the accesses touch in the whole kernel.
std::optional<OffsetPart> resting_part(const State& state, const std::vector<BoxAccess>& accesses,
                                       std::size_t d) {
  std::optional<OffsetPart> all;
  for (const BoxAccess& access : accesses) {
    if (access.indices[d].indirect) return std::nullopt;
    const ir::Interval range =
        ir::range_of(access.indices[d].affine, iterator_ranges(state, *access.statement));
    if (!range.min || !range.max) return std::nullopt;
    all = all ? OffsetPart{0, std::min(all->min, *range.min), std::max(all->max, *range.max)}
              : OffsetPart{0, *range.min, *range.max};
  }
  return all;
}

}  // namespace

// One window per dimension: x[4*u.o + u.i + r] for u.i in 0..4 and r in 0..3, below u.o, is the
// window of 6 elements from 4*u.o on.
Result<Box> box_of(const State& state, const std::vector<BoxAccess>& accesses,
                   const std::string& buffer, const LoopNames& outer) {
  Box box;
  for (std::size_t d = 0; d < state.shape_of(buffer).size(); ++d) {
    Result<OffsetPart> part = moving_part(state, accesses, d, buffer, outer);
    if (!part) return part.error();
    // Intervals of skewed loops are wide: a window that moves may then be larger than all
    // it moves over.
    const std::optional<OffsetPart> whole = resting_part(state, accesses, d);
    std::optional<Window>& moving = box.moving.emplace_back();
    if (whole && whole->max - whole->min < part->max - part->min) {
      if (!part->offset.is_constant())
        moving = Window{part->offset + part->min, part->max - part->min + 1};
      part = *whole;
    }
    box.origin.push_back(part->offset + part->min);
    box.extent.push_back(std::max<std::int64_t>(0, part->max - part->min + 1));
  }
  return box;
}

bool Box::rests() const {
  return std::ranges::any_of(moving, [](const auto& window) { return window.has_value(); });
}

Window Box::moving_window(std::size_t dimension) const {
  return moving[dimension].value_or(Window{origin[dimension], extent[dimension]});
}

// The box is that of all reads below the site, and the same for all writers of the tensor:
// t.init and t.update have to make the same elements. `alive` says in which iterations of the
// site anything is read; without a bound on a loop of the site the lifted domain would be
// infinite there.
std::optional<Refusal> lift(State& state, const std::string& tensor, const LiftSite& site) {
  const ir::Buffer* buffer = state.basis->find_buffer(tensor);
  if (!buffer) return malformed("no tensor is called " + tensor);
  if (buffer->role != ir::Role::Temp)
    return malformed(tensor + " is an " + ir::to_string(buffer->role) +
                     " tensor: only temporaries are recomputed");
  const std::vector<std::string> writers = select_statements(state, tensor);
  std::vector<BoxAccess> accesses;
  for (const std::string& name : site.consumers)
    for (const AccessRef& ref : accesses_of(state.at(name)))
      if (ref.access.buffer == tensor) accesses.push_back({&state.at(name), ref.access.indices});
  if (accesses.empty())
    return malformed("nothing below " + site.prefix.back() + " reads " + tensor +
                     ": there is nothing to compute there");
  const LoopNames outer(site.prefix.begin(), site.prefix.end());
  const auto box = box_of(state, accesses, tensor, outer);
  if (!box) return conservative(box.error().reason);
  const std::vector<ir::Constraint> alive = project_all(state, site.consumers, outer);
  if (const std::string loop = unbounded_loop(alive, site.prefix); !loop.empty())
    return conservative("the iterations of " + loop + " that read " + tensor +
                        " are not one range");
  for (const std::string& name : writers) {
    std::vector<Subscript> subscripts;
    ScheduledStatement& s = statement_of(state, name);
    if (auto refusal = check_writer(s, tensor, subscripts)) return refusal;
    lift_statement(s, tensor, *box, site, subscripts, alive);
  }
  return site.per.empty() ? std::nullopt : slide(state, tensor, site);
}

}  // namespace polyte::schedule
