#include "ir/builder.h"

#include <algorithm>

#include "ir/domain.h"
#include "ir/lexer.h"
#include "ir/statement_parts.h"
#include "support/error.h"

namespace polyte::ir {
namespace {

// Regions as the outermost iterators of the statements in them. A step of -1 visits the same
// values, so a domain does not depend on it.
std::vector<Range> ranges_of(const std::vector<Region>& regions) {
  std::vector<Range> ranges;
  for (const Region& r : regions) ranges.push_back({r.iterator, r.begin, r.end});
  return ranges;
}

std::vector<Range> join(std::vector<Range> a, const std::vector<Range>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// A buffer that nobody has declared is a temporary, as large as the subscripts of its first
// write reach. Later writes do not enlarge it: a temporary that several statements fill in parts
// has to be declared.
void declare_missing(Program& program, const StatementParts& parts) {
  const std::vector<Range> ranges = join(parts.regions, parts.ranges);
  for (std::size_t i = 0; i < parts.writes.size(); ++i) {
    const Access& write = parts.writes[i];
    if (!program.find_buffer(write.buffer))
      program.buffers.push_back(
          {write.buffer, Role::Temp, parts.values[i]->type, extents_of(write, ranges)});
  }
}

}  // namespace

ProgramBuilder::ProgramBuilder(std::string name, std::vector<std::string> params) {
  program_.name = std::move(name);
  program_.params = std::move(params);
}

void ProgramBuilder::declare(std::string name, Role role, DType dtype, std::vector<Affine> shape) {
  Buffer buffer{std::move(name), role, dtype, std::move(shape)};
  // Interface first, temporaries after it: the order of the interface is that of the kernel's
  // arguments, and a statement may have made temporaries before this declaration.
  auto at = program_.buffers.end();
  if (role != Role::Temp)
    at = std::find_if(program_.buffers.begin(), at,
                      [](const Buffer& b) { return b.role == Role::Temp; });
  program_.buffers.insert(at, std::move(buffer));
}

std::string ProgramBuilder::fresh(const std::string& base) const {
  const auto is_taken = [&](const std::string& name) {
    return text::is_reserved(name) || program_.find_buffer(name) ||
           std::ranges::find(program_.params, name) != program_.params.end();
  };
  std::string name = base;
  for (int i = 2; is_taken(name); ++i) name = base + "_" + std::to_string(i);
  return name;
}

void ProgramBuilder::define(Access write, std::vector<Range> ranges, Expr value,
                            std::vector<Constraint> where, std::string label) {
  StatementParts parts;
  parts.name = label.empty() ? write.buffer : std::move(label);
  parts.regions = ranges_of(open_regions_);
  parts.ranges = std::move(ranges);
  parts.where = std::move(where);
  parts.writes = {std::move(write)};
  parts.values = {std::move(value)};
  declare_missing(program_, parts);
  add(assemble(parts));
}

// acc[m] = sum[k] e gives acc.init: acc[m] = 0 and acc.update: acc[m] += e, in this order.
void ProgramBuilder::reduce(Access write, std::vector<Range> ranges, std::vector<Range> reductions,
                            Combiner combiner, Expr value, std::vector<Constraint> where,
                            Expr initial) {
  StatementParts parts;
  parts.name = write.buffer;
  parts.regions = ranges_of(open_regions_);
  parts.ranges = std::move(ranges);
  parts.reductions = std::move(reductions);
  parts.where = std::move(where);
  parts.combiner = combiner;
  parts.writes = {std::move(write)};
  parts.values = {std::move(value)};
  declare_missing(program_, parts);
  const std::vector<Expr> initials = initial ? std::vector<Expr>{initial} : std::vector<Expr>{};
  for (Statement& s : assemble_reduction(parts, initials)) add(std::move(s));
}

void ProgramBuilder::reduce_arg(std::vector<Access> writes, std::vector<Range> ranges,
                                std::vector<Range> reductions, Combiner combiner, Expr value,
                                Expr position, std::vector<Constraint> where) {
  POLYTE_CHECK(writes.size() == 2, "a tuple reduction writes a value and a position");
  StatementParts parts;
  parts.name = writes[0].buffer;
  parts.regions = ranges_of(open_regions_);
  parts.ranges = std::move(ranges);
  parts.reductions = std::move(reductions);
  parts.where = std::move(where);
  parts.combiner = combiner;
  parts.writes = std::move(writes);
  parts.values = {std::move(value), std::move(position)};
  declare_missing(program_, parts);
  for (Statement& s : assemble_reduction(parts)) add(std::move(s));
}

void ProgramBuilder::add(Statement statement) {
  program_.statements.push_back(std::move(statement));
  append(program_.statements.size() - 1);
}

// To the innermost open region. A region is moved into its parent only when it ends, so that no
// reference into a growing vector is kept.
void ProgramBuilder::append(Item item) {
  (open_regions_.empty() ? program_.order : open_regions_.back().body).push_back(std::move(item));
}

void ProgramBuilder::begin_region(std::string iterator, Affine begin, Affine end, int step) {
  open_regions_.emplace_back(std::move(iterator), std::move(begin), std::move(end), step);
}

void ProgramBuilder::end_region() {
  POLYTE_CHECK(!open_regions_.empty(), "end_region() without a region");
  Region region = std::move(open_regions_.back());
  open_regions_.pop_back();
  append(std::move(region));
}

const Buffer& ProgramBuilder::buffer(const std::string& name) const {
  const Buffer* found = program_.find_buffer(name);
  if (!found)
    throw UserError(ExitStatus::InvalidInput,
                    "program '" + program_.name + "' has no buffer '" + name + "'");
  return *found;
}

Expr ProgramBuilder::load(const std::string& name, std::vector<Affine> subscripts) const {
  return make_load(buffer(name).dtype, name, {subscripts.begin(), subscripts.end()});
}

// The guard is `0 <= subscript < extent` for each subscript, without what the ranges prove. To
// have the ranges as constraints, a statement is assembled for its domain alone. Symbols that are
// neither in a range nor parameters are iterators about which nothing is known: they get no
// constraints, so both bounds stay in the guard.
Expr ProgramBuilder::padded_load(const std::string& name, std::vector<Affine> subscripts,
                                 Expr otherwise, const std::vector<Range>& ranges) const {
  StatementParts parts;
  parts.regions = ranges_of(open_regions_);
  parts.ranges = ranges;
  std::set<std::string> unknown;
  for (const Affine& subscript : subscripts) subscript.collect_symbols(unknown);
  for (const std::string& param : program_.params) unknown.erase(param);
  for (const Range& range : join(parts.regions, ranges)) unknown.erase(range.name);
  for (const std::string& iterator : unknown) parts.ranges.push_back({iterator, 0, 0, false});
  const Statement s = assemble(parts);
  const Buffer& b = buffer(name);
  std::vector<Index> indices{subscripts.begin(), subscripts.end()};
  const DomainFacts facts(s.iterators, s.domain, program_.params, program_.context);
  std::vector<Constraint> guard = implied_guard(b.shape, indices, facts);
  return make_guarded_load(b.dtype, name, std::move(indices), std::move(guard),
                           std::move(otherwise));
}

Program ProgramBuilder::build() const {
  Program program = build_unverified();
  std::vector<std::string> problems = verify(program);
  for (std::string& problem : problems) problem = "program '" + program.name + "': " + problem;
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, std::move(problems));
  return program;
}

Program ProgramBuilder::build_unverified() const {
  POLYTE_CHECK(open_regions_.empty(), "build() inside a region");
  return program_;
}

}  // namespace polyte::ir
