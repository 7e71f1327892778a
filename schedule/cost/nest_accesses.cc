#include "schedule/cost/nest_accesses.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "ir/contraction.h"
#include "ir/relations.h"
#include "schedule/cost/lanes.h"
#include "schedule/state/tile_begins.h"
#include "support/checked.h"

namespace polyte::schedule {
namespace {

constexpr std::int64_t kWays = 8;
constexpr std::int64_t kOpenExtent = 1 << 20;  // of a symbol

template <typename Access>
NestAccess describe(const ir::Program& program, const Access& access,
                    const std::vector<PricedLoop>& loops) {
  const ir::Buffer& buffer = program.buffer(access.buffer);
  NestAccess result;
  result.buffer = access.buffer;
  result.element_bytes = size_in_bytes(buffer.dtype);
  for (const PricedLoop& loop : loops) {
    result.strides.push_back(
        std::abs(ir::stride_of(program, access, loop.name).value_or(kUnknownStride)));
    result.stays.push_back(iterations_in_place(access.indices, loop.name));
  }
  for (std::size_t d = 0; d < access.indices.size(); ++d) {
    result.shape.push_back(buffer.shape[d].is_constant() ? buffer.shape[d].constant()
                                                         : kOpenExtent);
    std::vector<std::int64_t> coefficients;
    for (const PricedLoop& loop : loops)
      coefficients.push_back(std::abs(access.indices[d].affine.coefficient(loop.name)));
    result.subscripts.push_back(std::move(coefficients));
  }
  return result;
}

// Tiles count from the first value of their loop: in those of i from 5 on, x[i//16] stays for none.
std::int64_t in_place_from_begin(const ir::Statement& main, const std::string& loop,
                                 std::int64_t stays) {
  if (stays == 1) return 1;
  const auto first = first_value(main, loop);
  return first ? std::gcd(stays, *first) : 1;
}

bool is_same_place(const ir::Access& a, const ir::Access& b) {
  return a.buffer == b.buffer &&
         std::ranges::equal(a.indices, b.indices, [](const ir::Index& one, const ir::Index& other) {
           return !one.indirect && !other.indirect && one.affine == other.affine;
         });
}

bool writes(const ir::Statement& s, const std::string& buffer) {
  return std::ranges::any_of(s.writes,
                             [&](const ir::Access& write) { return write.buffer == buffer; });
}

}  // namespace

double NestAccess::elements() const {
  double count = 1;
  for (const std::int64_t size : shape) count *= static_cast<double>(size);
  return count;
}

// Contiguous runs of elements in a box of `points`, dimension by dimension from the last: while a
// dimension is covered but for a gap, rows follow each other and the run grows; after that each
// further value is a run of its own, `apart` bytes from the next (their common divisor).
NestAccess::Runs NestAccess::runs(std::span<const std::int64_t> points, std::int64_t gap) const {
  Runs result;
  bool is_run = true;
  std::int64_t step = element_bytes;  // of the dimension
  for (std::size_t d = shape.size(); d-- > 0;) {
    std::int64_t span = 1, elements = 1, jump = 0;
    for (std::size_t l = 0; l < points.size(); ++l) {
      if (subscripts[d][l] == 0 || points[l] == 1) continue;
      span += subscripts[d][l] * (points[l] - 1);
      elements *= points[l];
      jump = std::gcd(jump, subscripts[d][l]);
    }
    span = std::clamp<std::int64_t>(span, 1, std::max<std::int64_t>(1, shape[d]));
    if (is_run) {
      result.elements += (span - 1) * step / element_bytes;
      is_run = (shape[d] - span) * step <= gap;
    } else if (span > 1) {
      result.count *= static_cast<double>(std::min(span, elements));
      result.apart = std::gcd(result.apart, jump * step);
    }
    step *= std::max<std::int64_t>(1, shape[d]);
  }
  return result;
}

double NestAccess::footprint(std::span<const std::int64_t> points, bool dense,
                             int line_bytes) const {
  const Runs all = runs(points);
  const std::int64_t bytes = all.elements * element_bytes;
  if (dense) return all.count * static_cast<double>(bytes);
  const std::int64_t step = std::gcd(all.apart, std::int64_t{line_bytes});
  return all.count * static_cast<double>(ceil_div(bytes, step) * step + line_bytes - step);
}

// Runs that lie multiples of a large power of two apart begin at few places of a page, and their
// lines fall into few sets of the cache. If there are more runs than these places have ways, each
// line takes the room of several: as many as a page has lines for each line at these places.
double NestAccess::crowding(std::span<const std::int64_t> points, int line_bytes) const {
  const Runs all = runs(points);
  if (all.apart == 0) return 1;
  const std::int64_t places = kPageBytes / std::gcd(all.apart, kPageBytes);
  if (all.count <= static_cast<double>(places * kWays)) return 1;
  const std::int64_t lines = places * ceil_div(all.elements * element_bytes, line_bytes),
                     in_page = kPageBytes / line_bytes;
  return std::max(1.0, static_cast<double>(in_page) / static_cast<double>(lines));
}

// Runs that lie a page or more apart touch a page each; closer ones share pages.
double NestAccess::pages(std::span<const std::int64_t> points) const {
  const Runs all = runs(points);
  return all.count * static_cast<double>(std::min(all.apart, kPageBytes)) /
         static_cast<double>(kPageBytes);
}

std::size_t NestAccesses::loop_number(const std::string& name) const {
  return static_cast<std::size_t>(std::ranges::find(loops, name, &PricedLoop::name) -
                                  loops.begin());
}

std::int64_t NestAccesses::extent(const std::string& name) const {
  const std::size_t number = loop_number(name);
  return number == loops.size() ? 1 : std::max<std::int64_t>(1, loops[number].extent);
}

std::int64_t NestAccesses::reduction_steps() const {
  std::int64_t product = 1;
  for (const PricedLoop& loop : loops)
    if (loop.reduction) product *= std::max<std::int64_t>(1, loop.extent);
  return product;
}

bool stays_inside(const ir::Program& program, const std::string& buffer, const ir::Statement& main,
                  std::span<const ir::Statement* const> others) {
  if (program.buffer(buffer).role != ir::Role::Temp) return false;
  return std::ranges::all_of(program.statements, [&](const ir::Statement& s) {
    const bool is_here = s.name == main.name ||
                         std::ranges::find(others, s.name, &ir::Statement::name) != others.end();
    return is_here || !(ir::reads(s, buffer) || writes(s, buffer));
  });
}

std::vector<const ir::Statement*> inner_definitions(
    const ir::Program& program, std::span<const ir::Statement* const> statements) {
  std::vector<const ir::Statement*> inner;
  std::ranges::copy_if(statements, std::back_inserter(inner), [&](const ir::Statement* s) {
    const std::string& buffer = s->writes[0].buffer;
    const auto is_writer = [&](const ir::Statement& each) { return writes(each, buffer); };
    return s->combiner == ir::Combiner::None && !s->guard && s->writes.size() == 1 &&
           std::ranges::count_if(program.statements, is_writer) == 1 &&
           stays_inside(program, buffer, *s, statements);
  });
  return inner;
}

NestAccesses nest_accesses(const ir::Program& program, const ir::Statement& main,
                           std::span<const ir::Statement* const> others,
                           std::vector<PricedLoop> loops) {
  NestAccesses result;
  result.loops = std::move(loops);
  result.dtype = program.buffer(main.writes[0].buffer).dtype;
  result.accumulator = describe(program, main.writes[0], result.loops);
  const auto add = [&](const auto& access, const ir::Load* load, bool each_step) {
    if (stays_inside(program, access.buffer, main, others)) return;
    NestAccess described = describe(program, access, result.loops);
    for (std::size_t l = 0; l < result.loops.size(); ++l)
      described.stays[l] = in_place_from_begin(main, result.loops[l].name, described.stays[l]);
    described.load = load;
    described.each_step = each_step;
    result.all.push_back(std::move(described));
  };
  std::vector<const ir::Access*> written;
  const auto add_write = [&](const ir::Access& write) {
    if (std::ranges::any_of(written, [&](const auto* w) { return is_same_place(*w, write); }))
      return;  // stored once, by the last of them
    written.push_back(&write);
    add(write, nullptr, false);
  };
  const auto add_statement = [&](const ir::Statement& s, bool each_step) {
    for (const ir::Expr& value : s.values)
      for (const ir::Load* load : ir::loads_of(value)) add(*load, load, each_step);
    for (const ir::Access& write : s.writes) add_write(write);
  };
  add_statement(main, true);
  for (const ir::Statement* s : others) add_statement(*s, false);
  return result;
}

}  // namespace polyte::schedule
