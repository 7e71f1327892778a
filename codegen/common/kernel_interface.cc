#include "codegen/common/kernel_interface.h"

#include <optional>
#include <set>
#include <string>
#include <variant>

#include "support/checked.h"
#include "support/error.h"
#include "support/kernel_abi.h"

namespace polyte::codegen {
namespace {

struct Accesses {
  std::set<std::string> read, written;
};

Accesses accesses_of(const ir::LoopProgram& program) {
  Accesses accesses;
  ir::for_each_expr(program.body, [&](const ir::Expr& root) {
    for (const ir::Load* load : ir::loads_of(root)) accesses.read.insert(load->buffer);
  });
  ir::for_each_stmt(program.body, [&](const ir::Stmt& s) {
    if (const auto* store = std::get_if<ir::Store>(&s->op)) accesses.written.insert(store->buffer);
  });
  return accesses;
}

// The bytes as a constant, then a coefficient for each parameter. Nullopt where they are no such
// sum: two open extents make a product of parameters, and an extent may be a division.
std::optional<std::vector<std::int64_t>> count_bytes(const ir::Buffer& buffer,
                                                     const std::vector<std::string>& params) {
  std::int64_t factor = size_in_bytes(buffer.dtype);
  std::optional<ir::Affine> open;
  for (const ir::Affine& extent : buffer.shape) {
    if (extent.is_constant()) {
      factor = checked_mul(factor, extent.constant());
    } else if (open) {
      return std::nullopt;
    } else {
      open = extent;
    }
  }
  const ir::Affine count = open.value_or(ir::Affine(1));
  std::vector<std::int64_t> bytes = {checked_mul(count.constant(), factor)};
  std::size_t found = 0;
  for (const std::string& param : params) {
    bytes.push_back(checked_mul(count.coefficient(param), factor));
    found += count.coefficient(param) != 0 ? 1 : 0;
  }
  if (found != count.terms().size()) return std::nullopt;  // a division
  return bytes;
}

std::vector<std::int64_t> bytes_of(const ir::Buffer& buffer,
                                   const std::vector<std::string>& params) {
  std::vector<std::int64_t> unknown(params.size() + 1, 0);
  unknown[0] = -1;
  try {
    return count_bytes(buffer, params).value_or(unknown);
  } catch (const UserError&) {  // beyond 63 bits
    return unknown;
  }
}

}  // namespace

std::vector<std::int64_t> interface_of(const Kernel& kernel, const ScratchLayout& scratch,
                                       bool on_gpu) {
  const ir::LoopProgram& program = kernel.program;
  const Accesses accesses = accesses_of(program);
  const auto count = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
  std::vector<std::int64_t> data = {POLYTE_INTERFACE_VERSION, count(program.buffers),
                                    count(program.params),    scratch.shared_bytes,
                                    scratch.bytes_per_worker, count(kernel.in_place)};
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const ir::Buffer& buffer = program.buffers[i];
    data.push_back((accesses.read.contains(buffer.name) ? POLYTE_READS : 0) |
                   (accesses.written.contains(buffer.name) ? POLYTE_WRITES : 0));
    data.push_back(static_cast<std::int64_t>(buffer.dtype));
    data.push_back(known_alignment_of(kernel, i, on_gpu));
    for (const std::int64_t number : bytes_of(buffer, program.params)) data.push_back(number);
  }
  for (const auto& [one, other] : kernel.in_place) {
    data.push_back(static_cast<std::int64_t>(one));
    data.push_back(static_cast<std::int64_t>(other));
  }
  return data;
}

}  // namespace polyte::codegen
