// What the templates of attention in one pass have alike, by the threads' own units
// (gpu_attention.cc) and by tensor cores (gpu_attention_warps.cc): sizes by rules of thumb, and
// what their roles stand for. The tallest tile that leaves every multiprocessor a block, the
// longest tile of keys that fits shared memory, and as many of them as leave two blocks their room
// on a multiprocessor.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "schedule/cost/attention_pass.h"
#include "schedule/cost/copy_threads.h"
#include "schedule/templates/nests.h"
#include "support/checked.h"

namespace polyte::schedule {

// From the front, as many groups as the form takes; nullopt where it is none, or ends within
// a group.
struct AttentionFound {
  SoftmaxProduct form;
  std::size_t groups = 0;
};
std::optional<AttentionFound> find_attention(const KernelSoFar& kernel,
                                             std::span<const StatementGroup> groups);

class AttentionRoles {
 protected:
  AttentionRoles(const KernelSoFar& kernel, AttentionFound found);

  const KernelSoFar& kernel_;
  SoftmaxProduct form_;
  AttentionSizes sizes_;
  Filling filling_;

  const ir::Program& program() const { return kernel_.program; }
  static const std::string& written(const ir::Statement& s) { return s.writes[0].buffer; }
  std::string fresh(std::string name) const;  // of no buffer and no statement

  // --- sizes

  std::set<std::int64_t> allowed(const TemplateFile& file, const char* param) const {
    return allowed_values(file, param, kernel_.machine, DType::F32);
  }
  std::int64_t most_rows(const TemplateFile& file) const;
  // Keys and depth of a tile that has its rows, the keys among `lengths`; false: none fits.
  template <class Tile, class Bytes>
  bool choose_keys(const TemplateFile& file, const std::set<std::int64_t>& lengths,
                   const Bytes& shared_bytes, Tile& tile) const {
    const Gpu& gpu = *kernel_.machine.gpu;
    for (const std::int64_t keys : lengths) {
      Tile longer = tile;
      longer.keys = keys;
      if ((tile.keys == 0 || tile.keys < sizes_.keys) &&
          shared_bytes(longer) <= gpu.shared_block_bytes)
        tile = longer;
    }
    if (tile.keys == 0) return false;
    for (const std::int64_t depth : allowed(file, "Depth")) {
      Tile deeper = tile;
      deeper.depth = depth;
      if (2 * shared_bytes(deeper) <= gpu.shared_multiprocessor_bytes &&
          depth <= ceil_div(sizes_.keys, tile.keys))
        tile = deeper;
    }
    return true;
  }

  // --- roles, those of docs/templates.md that both have

  // The params of a tile, names, and the groups of statements; `scored`: those along rows
  // and keys, in order.
  void describe(std::int64_t rows, std::int64_t keys, std::int64_t depth,
                const std::vector<std::string>& scored);
  void add(const char* group, const std::string& name) {
    filling_.scope.groups[group].push_back({{{group, name}}, {}, {}});
  }
  // The dimensions of a tensor as `role` and by what they are: rows, keys or columns; the others
  // are its places.
  void dimensions_of(Scope& scope, const std::string& role, const std::string& tensor,
                     const ir::Access& element) const;
  // What is read, with its copy; of a tile so many rows and keys, and all steps and columns.
  std::vector<CopyLoop> copy_loops(const ir::Load& load, std::int64_t rows,
                                   std::int64_t keys) const;
  // At the loop whose tiles read it, and a member of the group.
  Scope& add_operand(const ir::Load& load, const std::vector<CopyLoop>& loops, std::int64_t vector,
                     std::int64_t threads);

 private:
  void names();
  void statements(const std::vector<std::string>& scored);
};

}  // namespace polyte::schedule
