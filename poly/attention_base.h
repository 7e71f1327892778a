// What the plans of attention in one pass have alike, by threads (attention_nest.cc) and by warps
// (attention_warps.cc): sizes, what the Program's statements are called once they are rewritten,
// loops of the tiles, where storage begins.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "poly/attention_nest.h"
#include "poly/attention_tile.h"
#include "poly/chosen_by_model.h"
#include "poly/shared_nest.h"
#include "poly/sum_tile.h"

namespace polyte::poly {

class AttentionBase {
 protected:
  using Names = std::vector<std::string>;

  explicit AttentionBase(const AttentionNest& nest);

  const AttentionNest& nest_;
  const schedule::SoftmaxProduct& form_;
  const ir::Program& program_;
  AttentionSizes sizes_;
  BlockGrid blocks_;
  schedule::NestPlan plan_;
  std::string sum_, sum_init_, sum_update_;  // of the product, before it is divided
  Names after_;                              // behind the pass

  static const std::string& written(const ir::Statement& s) { return s.writes[0].buffer; }
  const std::string& maximum() const { return written(*form_.maximum); }
  const std::string& total() const { return written(*form_.total); }
  std::string old() const { return maximum() + ".old"; }

  // What the same takes in other nests, whose products run at so many multiply-adds per cycle and
  // keep scores of so many bytes.
  double cycles_apart(double fma_a_cycle, double bytes) const;
  // Of the loops that one tile has: all steps and columns.
  std::int64_t box(const std::string& loop, std::int64_t rows, std::int64_t keys) const;

  std::string fresh(std::string name) const;  // of no buffer and no statement
  bool taken(const std::string& name) const;  // by an iterator
  void split(const std::string& statement, const std::string& loop, schedule::TileSize size);

  std::string row_tiles() const { return schedule::tiles_of(schedule::within_tile(form_.row)); }
  std::string own_rows() const { return schedule::within_tile(schedule::within_tile(form_.row)); }
  std::string key_tiles() const { return schedule::tiles_of(form_.key); }
  schedule::NestPath rows() const { return {{row_tiles()}, {own_rows()}}; }
  static schedule::NestTree leaf(const schedule::NestPath& path, const std::string& s);
  // Blocks of batches and tiles of rows; the maximum and the total of a row begin, then these.
  void tree(std::int64_t rows_of_block, std::vector<schedule::NestTree> body);

  schedule::LoopName once_a_tile() const { return {form_.scores->name, key_tiles()}; }
  schedule::LoopName once_a_block() const { return {form_.scores->name, blocks_.inmost()}; }

  // And keep `depth` tiles of keys and values in shared memory.
  void bind_blocks(std::int64_t depth);
};

}  // namespace polyte::poly
