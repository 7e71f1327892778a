#include "schedule/cost/streaming.h"

#include <algorithm>

#include "ir/contraction.h"
#include "schedule/cost/lanes.h"

namespace polyte::schedule {
namespace {

constexpr double kBeyond = 2;  // times the share of a core: until then neighbours may leave it room

double bytes_of(const ir::Buffer& buffer) {
  double bytes = size_in_bytes(buffer.dtype);
  for (const std::int64_t size : ir::constant_shape(buffer)) bytes *= static_cast<double>(size);
  return bytes;
}

bool is_read(const ir::Program& program, const std::string& buffer) {
  return std::ranges::any_of(program.statements, [&](const ir::Statement& s) {
    const auto reads = [&](const ir::Expr& value) {
      return std::ranges::any_of(ir::loads_of(value),
                                 [&](const ir::Load* load) { return load->buffer == buffer; });
    };
    return std::ranges::any_of(s.values, reads) || (s.guard && reads(s.guard));
  });
}

// Whether one definition writes the buffer: the cells of a sum are read by its updates.
bool is_defined_once(const ir::Program& program, const std::string& buffer) {
  int writers = 0;
  for (const ir::Statement& s : program.statements) {
    const bool writes =
        std::ranges::any_of(s.writes, [&](const ir::Access& w) { return w.buffer == buffer; });
    if (writes && (s.combiner != ir::Combiner::None || s.guard || s.region_depth > 0)) return false;
    writers += writes;
  }
  return writers == 1;
}

// Whether squares transposed in registers write the buffer: these store a vector here and a vector
// there, which are parts of lines unless a vector is a line.
bool writes_parts_of_lines(const ir::Program& program, const std::string& buffer,
                           const Machine& machine) {
  if (machine.vector_bits >= 8 * machine.l1.line_bytes) return false;
  return std::ranges::any_of(program.statements, [&](const ir::Statement& s) {
    return std::ranges::any_of(s.writes, [&](const ir::Access& write) {
      const auto lane = std::ranges::find_if(s.iterators, [&](const std::string& it) {
        return ir::stride_of(program, write, it) == 1;
      });
      return write.buffer == buffer && lane != s.iterators.end() &&
             !turning_loop(program, s, *lane).empty();
    });
  });
}

// Products whose operands are used again: stores then wait behind the arithmetic.
bool has_contraction(const ir::Program& program) {
  return std::ranges::any_of(program.statements, [&](const ir::Statement& s) {
    return s.combiner != ir::Combiner::None && s.iterators.size() > s.reductions.size() + 1 &&
           static_cast<bool>(ir::classify_contraction(program, s));
  });
}

// Whether rows are whole vectors, so that each vector is aligned, as stores that bypass the caches
// have to be. A single row may end as it likes.
bool has_whole_vectors(const ir::Buffer& buffer, const Machine& machine) {
  std::vector<std::int64_t> shape = ir::constant_shape(buffer);
  std::erase(shape, 1);
  return shape.size() <= 1 ||
         8 * shape.back() * size_in_bytes(buffer.dtype) % machine.vector_bits == 0;
}

}  // namespace

double bytes_of_interface(const ir::Program& program) {
  double all = 0;
  for (const ir::Buffer* buffer : program.interface()) all += bytes_of(*buffer);
  return all;
}

std::vector<std::string> streamed_results(const ir::Program& program, const Machine& machine,
                                          const std::set<std::string>& reused) {
  if (!program.open.empty()) return {};  // a run of small sizes stays in the caches
  if (has_contraction(program)) return {};
  if (bytes_of_interface(program) < static_cast<double>(machine.l3.bytes) * kBeyond) return {};
  std::vector<std::string> results;
  for (const ir::Buffer* buffer : program.interface()) {
    const bool is_large = bytes_of(*buffer) >= static_cast<double>(machine.l2.bytes);
    if (buffer->role == ir::Role::Out && is_large && has_whole_vectors(*buffer, machine) &&
        is_defined_once(program, buffer->name) && !is_read(program, buffer->name) &&
        !writes_parts_of_lines(program, buffer->name, machine) && !reused.contains(buffer->name))
      results.push_back(buffer->name);
  }
  return results;
}

}  // namespace polyte::schedule
