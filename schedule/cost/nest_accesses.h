// What the statements of one nest touch, as numbers: each read and write with its
// coefficients by loop, looked up once, so that tiles and orders can be priced by the hundred
// (schedule/cost/tile_choice.h, schedule/cost/traffic.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/program.h"

namespace polyte::schedule {

struct PricedLoop {
  std::string name;
  std::int64_t extent = 1;
  bool reduction = false;
};

constexpr std::int64_t kUnknownStride = 1 << 20;  // gathers
constexpr std::int64_t kPageBytes = 4096;

struct NestAccess {
  const ir::Load* load = nullptr;  // null: a write
  std::string buffer;
  std::int64_t element_bytes = 4;
  bool each_step = false;             // once per step of the reduction; else once per point
  std::vector<std::int64_t> strides;  // in elements, by loop; absolute
  // By loop: iterations_in_place (schedule/cost/lanes.h), of tiles that count from its begin.
  std::vector<std::int64_t> stays;
  // By dimension: coefficients by loop; absolute.
  std::vector<std::vector<std::int64_t>> subscripts;
  std::vector<std::int64_t> shape;

  struct Runs {  // neighbours in memory, and what lies between them
    std::int64_t elements = 1;
    double count = 1;
    // Bytes: the greatest common divisor of the steps between runs; 0: one run.
    std::int64_t apart = 0;
  };
  // Up to `gap` bytes between neighbours do not end a run.
  Runs runs(std::span<const std::int64_t> points, std::int64_t gap = 0) const;
  double elements() const;  // of the whole tensor
  double bytes() const { return elements() * static_cast<double>(element_bytes); }
  // False for a number that no loop has.
  bool moves_with(std::size_t loop) const { return loop < strides.size() && strides[loop] != 0; }
  // Bytes of the lines touched when each loop runs over so many points; of its elements alone where
  // these are `dense`. Runs that begin anywhere in a line touch so many in the mean.
  double footprint(std::span<const std::int64_t> points, bool dense, int line_bytes) const;
  // How many times its footprint it occupies of a cache: runs that start at few offsets of a page
  // fall into few sets.
  double crowding(std::span<const std::int64_t> points, int line_bytes) const;
  // Pages that the runs touch.
  double pages(std::span<const std::int64_t> points) const;
};

struct NestAccesses {
  std::vector<PricedLoop> loops;
  std::vector<NestAccess> all;
  NestAccess accumulator;  // of the reduction; counts where it leaves the registers between blocks
  DType dtype = DType::F32;

  std::size_t loop_number(const std::string& name) const;  // loops.size(): none
  std::int64_t extent(const std::string& name) const;      // 1: none
  std::int64_t reduction_steps() const;                    // of one sum
};

// True for a temporary that no statement but these writes or reads: its elements need not
// leave the registers.
bool stays_inside(const ir::Program& program, const std::string& buffer, const ir::Statement& main,
                  std::span<const ir::Statement* const> others);

// Those that define, each by itself, a temporary that only others of them read: they can be written
// into their readers.
std::vector<const ir::Statement*> inner_definitions(
    const ir::Program& program, std::span<const ir::Statement* const> statements);

// `main`: the reduction, or the definition, whose loops these are; `others`: what runs at its
// points beside it. What stays inside is left out.
NestAccesses nest_accesses(const ir::Program& program, const ir::Statement& main,
                           std::span<const ir::Statement* const> others,
                           std::vector<PricedLoop> loops);

}  // namespace polyte::schedule
