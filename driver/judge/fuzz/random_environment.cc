#include "driver/judge/fuzz/random_environment.h"

#include <algorithm>
#include <map>

#include "driver/judge/fuzz/random.h"

namespace polyte::fuzz {
namespace {

// Extents that indirect subscripts select from, by the tensor that holds them.
std::map<std::string, std::int64_t> subscript_limits(const ir::Program& program) {
  std::map<std::string, std::int64_t> limits;
  const auto note = [&](const std::string& buffer, const std::vector<ir::Index>& indices) {
    for (std::size_t d = 0; d < indices.size(); ++d) {
      if (!indices[d].indirect) continue;
      const std::int64_t extent = ir::constant_shape(program.buffer(buffer))[d];
      for (const ir::Load* load : ir::loads_of(indices[d].indirect)) {
        const auto at = limits.try_emplace(load->buffer, extent).first;
        at->second = std::min(at->second, extent);
      }
    }
  };
  for (const ir::Statement& s : program.statements) {
    for (const ir::Access& write : s.writes) note(write.buffer, write.indices);
    std::vector<ir::Expr> read = s.values;
    if (s.guard) read.push_back(s.guard);
    for (const ir::Expr& value : read)
      for (const ir::Load* load : ir::loads_of(value)) note(load->buffer, load->indices);
  }
  // What is copied into a tensor of subscripts is one itself.
  for (auto s = program.statements.rbegin(); s != program.statements.rend(); ++s) {
    const auto copied = limits.find(s->writes.front().buffer);
    if (copied == limits.end()) continue;
    const std::int64_t limit = copied->second;
    for (const ir::Load* load : ir::loads_of(s->values.front())) {
      const auto at = limits.try_emplace(load->buffer, limit).first;
      at->second = std::min(at->second, limit);
    }
  }
  return limits;
}

}  // namespace

// Small numbers, whose products and short sums are exact in every type of floats; integers of full
// width wrap, which is as exact. Each buffer has a stream of its own: what one is filled with does
// not depend on the others.
ir::Environment random_environment(const ir::Program& program, std::uint64_t seed) {
  const auto limits = subscript_limits(program);
  ir::Environment buffers;
  std::uint64_t number = 0;
  for (const ir::Buffer* buffer : program.interface()) {
    Random random(seed, number++);
    if (buffer->role == ir::Role::Out) continue;
    ir::Contents contents = ir::make_contents(buffer->dtype, ir::constant_shape(*buffer));
    const bool wide = is_integer(buffer->dtype) && random.chance(30);
    const bool has_signs = is_float(buffer->dtype) && random.chance(20);
    const auto limit = limits.find(buffer->name);
    const auto width = static_cast<std::size_t>(size_in_bytes(buffer->dtype));
    const std::size_t count = contents.bytes.size() / width;
    for (std::size_t i = 0; i < count; ++i) {
      if (limit != limits.end()) {
        const auto extent = static_cast<std::size_t>(std::max<std::int64_t>(1, limit->second));
        ir::set_real(contents, static_cast<std::int64_t>(i),
                     static_cast<double>(random.below(extent)));
      } else if (wide) {
        for (std::size_t b = 0; b < width; ++b)
          contents.bytes[i * width + b] = static_cast<std::byte>(random.next());
      } else {
        const int low = is_unsigned_integer(buffer->dtype) ? 0 : -4;
        const int whole = random.between(low, 4);
        ir::set_real(contents, static_cast<std::int64_t>(i),
                     has_signs && whole == 0 && random.chance(50) ? -0.0 : whole);
      }
    }
    buffers[buffer->name] = std::move(contents);
  }
  return buffers;
}

}  // namespace polyte::fuzz
