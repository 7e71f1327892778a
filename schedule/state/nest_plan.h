// What a scheduler has decided about one nest, as data; each part says who decided it. The
// templates, poly and the cost model fill it in, and script/nest_writer.h makes directives of
// it, part by part in the order of the fields. For the second nest of a kernel (number 1):
//
//   params  {"Mr", Elements{4}}, {"Nr", Vectors{2}}      param Mr1 = 4   param Nr1 = 2*L
//   splits  {"acc.update", "m", Param{"Mr"}}             split acc.update: m by Mr1   tail cut
//   tree    m.o, [m.i], acc.update                       nest m.o > [m.i] > acc.update
//   stages  acc at acc.update:m.o in register            stage acc at acc.update:m.o in register
#pragma once

#include <optional>
#include <set>

#include "ir/affine.h"
#include "schedule/state/nest_tree.h"
#include "schedule/state/provenance.h"

namespace polyte::schedule {

// The extent of a tile: a number, so many vectors of the script's type, or a parameter of the nest.
struct Elements {
  std::int64_t count = 1;
};
struct Vectors {
  std::int64_t count = 1;
};
struct Param {
  std::string name;  // "Nr" in every nest: nest_writer adds the number
};
using TileSize = std::variant<Elements, Vectors, Param>;

// The loops of statements become these, isl's rows; an iteration of a loop is the value
// of its expression.
struct PlannedMap {
  struct Item {
    std::string statement;
    std::vector<ir::Affine> values;
  };
  std::vector<Item> items;
  std::vector<std::string> loops;
  Provenance by = Provenance::Isl;
};
struct PlannedTile {  // of loops that a map has made
  std::vector<std::string> loops;
  std::vector<std::int64_t> sizes;
  Provenance by = Provenance::TileModel;
};
struct PlannedReciprocal {  // a / b of the statement becomes a * (1 / b)
  std::string statement;
  Provenance by = Provenance::TileModel;
};
// compute_inline: the definition of a temporary replaces its reads.
struct PlannedInline {
  std::string tensor;
  Provenance by = Provenance::TileModel;
};
// defer_division: the terms of `tensor` share a divisor, are added up undivided in `sum`, and that
// is divided once.
struct PlannedDeferral {
  std::string tensor, sum;
  Provenance by = Provenance::TileModel;
};
struct PlannedParam {
  std::string name;
  TileSize size;
  Provenance by = Provenance::TileModel;
};
// A last, incomplete tile has loops of its own, or is guarded.
struct PlannedSplit {
  std::string statement, loop;
  TileSize size;
  Provenance by = Provenance::TileModel;
  bool is_guarded = false;
};
// split_reduction: a sum in `size` parts, kept in `partial` and added up last. Of n parts each
// has every n-th term or, with `of_neighbours`, one block of them. `by_halves`: n is a power of
// two, and the parts are added in pairs to n/2 of them, in partial_N, then n/4, down to two.
struct PlannedParts {
  std::string sum, loop;
  TileSize size;
  std::string partial;
  Provenance by = Provenance::TileModel;
  bool of_neighbours = false;
  bool by_halves = false;
};
struct PlannedRename {
  std::string statement, loop, name;
  Provenance by = Provenance::TileModel;
};
// Sums of exponentials that advance along with their maximum.
struct PlannedOnline {
  std::vector<std::string> sums;
  std::string maximum, loop;
  Provenance by = Provenance::TileModel;
};

// One index of an element where it is stored, over a dimension of the tensor: n, n//Nr,
// n%Nr, (n//Nr)%count.
struct LayoutIndex {
  enum class Part { Whole, Tile, WithinTile, TileOfSome };
  std::string dimension;
  Part part = Part::Whole;
  TileSize size = {};      // of the tile
  std::int64_t count = 1;  // TileOfSome: tiles of each
};
// A tensor, or what is read of it, kept at a loop.
struct PlannedStage {
  std::string tensor;
  std::optional<LoopName> at = {};           // none: the whole kernel
  std::optional<Memory> memory = {};         // none: as large as it is
  std::vector<std::string> dimensions = {};  // their names, for the layout
  std::vector<LayoutIndex> layout = {};      // empty: as the tensor
  std::int64_t pad = 0;                      // elements behind each innermost row
  // The loops of the copy in, outermost first, serial; empty: the default.
  std::vector<std::string> copy_loops = {};
  bool when_compile = false;
  // Only what is written and what updates update goes to the copy; other reads stay as they
  // are.
  bool updates_only = false;
  // Of one statement's reads alone, at these subscripts; empty: of all.
  std::string reader = {};
  std::vector<std::string> subscripts = {};
  std::string shared_loop = {};  // of the copy, among threads; empty: one thread copies
  std::string square_loop = {};  // of the copy, in tiles of a vector: squares; empty: line by line
  Provenance by = Provenance::TileModel;
};
struct PlannedReuse {  // the temporary lies in the memory of the result
  std::string result, temporary;
  Provenance by = Provenance::TileModel;
};
// While an iteration of `at` runs, what it reads `distance` iterations of `along` later is
// fetched.
struct PlannedPrefetch {
  std::string operand;
  LoopName at;
  std::string along;
  int level = 1;  // of the cache
  std::int64_t distance = 1;
  Provenance by = Provenance::TileModel;
};

// Loops directly within each other become one; on a GPU its iterations are then bound to blocks
// or threads.
struct PlannedFuse {
  std::string statement;
  std::vector<std::string> loops;  // outermost first; one alone keeps its name
  std::string name;
  Provenance by = Provenance::TileModel;
};
struct PlannedBind {
  std::string statement, loop;
  LoopKind kind = LoopKind::Thread;  // Unrolled, Vector and Parallel, too
  Provenance by = Provenance::TileModel;
};
struct PlannedReorder {
  std::string statement;
  std::vector<std::string> loops;  // outermost first
  Provenance by = Provenance::TileModel;
};
// Of a tensor that is staged in shared memory: its copy is filled up with zeros along a
// dimension (pad); its elements change places to avoid bank conflicts (swizzle); it is made
// `depth - 1` iterations before it is read (pipeline).
struct PlannedPad {
  std::string tensor, dimension;
  std::int64_t multiple = 1;
  Provenance by = Provenance::TileModel;
};
struct PlannedSwizzle {
  std::string tensor;
  std::int64_t chunk = 1;
  Provenance by = Provenance::TileModel;
};
struct PlannedPipeline {
  std::string tensor;
  LoopName at;
  std::int64_t depth = 2;
  Provenance by = Provenance::TileModel;
};
struct PlannedTensorize {
  LoopName loop;
  std::string intrinsic;
  Provenance by = Provenance::TileModel;
};
// A loop with one statement becomes two loops with a statement each: `below` the point, and the
// `rest` from it on.
struct PlannedCut {
  LoopName loop;
  ir::Affine at;  // over loops outside
  std::string below, rest;
  Provenance by = Provenance::TileModel;
};
// What happens to the last, incomplete tile of a loop that is split already: it gets loops of
// its own, or it is rounded up and runs whole, into padding.
struct PlannedTail {
  LoopName loop;
  bool is_rounded = false;
  Provenance by = Provenance::TileModel;
};
// Tiles that depend on those before them in either of two loops, one directly within the other:
// tiles with one sum of the two loops form a front, and threads share those of a front.
struct PlannedWavefront {
  std::string name;          // of the loop over fronts, in place of the outer one
  std::string outer, inner;  // the inner one becomes parallel
  Provenance by = Provenance::TileModel;
};
// A loop of several statements is distributed: each of them gets a loop of its own.
struct PlannedDistribution {
  std::string statement, loop;
  Provenance by = Provenance::TileModel;
};
using PlannedDivision = std::variant<PlannedSplit, PlannedParts, PlannedTail, PlannedRename,
                                     PlannedOnline, PlannedDistribution, PlannedCut>;
using PlannedStep =
    std::variant<PlannedFuse, PlannedRename, PlannedSplit, PlannedParts, PlannedCut, PlannedTail,
                 PlannedBind, PlannedReorder, PlannedWavefront, PlannedPad, PlannedSwizzle,
                 PlannedPipeline, PlannedTensorize, PlannedStage>;

struct NestPlan {
  int number = 0;  // in its kernel; tells its parameters from those of other nests
  std::vector<PlannedDistribution> apart = {};
  std::vector<PlannedCut> cuts = {};
  std::vector<PlannedMap> maps = {};
  std::optional<PlannedTile> tile = {};
  // Maps, tiles, splits and tree are proved together: a map alone need not be legal.
  bool is_one_step = false;
  std::vector<PlannedReciprocal> reciprocals = {};
  std::vector<PlannedInline> inlined = {};
  std::vector<PlannedDeferral> deferrals = {};
  std::vector<PlannedParam> params = {};
  std::vector<PlannedDivision> splits = {};
  NestTree tree = {};  // null: the order stays as it is
  Provenance tree_by = Provenance::TileModel;
  std::vector<PlannedStage> stages = {};
  std::vector<PlannedReuse> reuses = {};
  std::vector<PlannedPrefetch> prefetches = {};
  // Further steps in this order: blocks and threads, parts of sums.
  std::vector<PlannedStep> steps = {};
  // Loops whose terms change places: the contract has to name them.
  std::set<std::string> reassociated = {};
};

// A result that is stored past the caches.
struct PlannedStream {
  std::string result;
  Provenance by = Provenance::TileModel;
};

// A kernel's nests in the order in which the script names them. A nest that is not among them
// stays in the Program's order.
struct KernelPlan {
  std::vector<NestPlan> nests = {};
  std::vector<PlannedStream> streams = {};
  std::vector<PlannedDistribution> apart = {};  // before all nests
};

}  // namespace polyte::schedule
