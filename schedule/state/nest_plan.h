// What a scheduler has decided about one nest, as data; each part says who decided it. The
// templates and poly fill it in, the cost model's parts come so, and script/nest_writer.h
// makes directives of it, part by part in the order of the fields. Of the second nest of a
// kernel (number 1):
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
  std::string name;  // "Nr", in every nest: its number is the writer's matter
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
// The definition of a temporary put where it is read; a sum whose terms share a divisor divided
// once, `sum` before that.
struct PlannedInline {
  std::string tensor;
  Provenance by = Provenance::TileModel;
};
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
// A sum in so many parts, kept in `partial` and added last: each has every so many-th term,
// or neighbours. By halves: a power of two of parts is added up to half as many, in partial_N,
// down to two.
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
  // Of what is copied in, outermost first, serial; empty: the default.
  std::vector<std::string> copy_loops = {};
  bool when_compile = false;
  // What is written, and what updates update; other reads stay as they are.
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
// What a later iteration of the loop `along` reads comes while this one runs over `at`.
struct PlannedPrefetch {
  std::string operand;
  LoopName at;
  std::string along;
  int level = 1;  // of the cache
  std::int64_t distance = 1;
  Provenance by = Provenance::TileModel;
};

// Of a GPU: loops directly within each other become one, and its iterations blocks or threads.
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
// Of a tensor that is staged in shared memory: its copy is filled up with zeros along a dimension,
// its elements change places for the banks' sake, it is made some iterations before it is read.
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
// Of a loop that has one statement: below `at` and from there on, each a loop and statement
// of its own.
struct PlannedCut {
  LoopName loop;
  ir::Affine at;  // over loops outside
  std::string below, rest;
  Provenance by = Provenance::TileModel;
};
// The last, incomplete tile of a loop that is split already has loops of its own; or it is rounded
// up: it runs whole, into padding.
struct PlannedTail {
  LoopName loop;
  bool is_rounded = false;
  Provenance by = Provenance::TileModel;
};
// Tiles that wait for those before them in either of two loops, one directly within the other:
// those of a front, loops of one sum, are for threads.
struct PlannedWavefront {
  std::string name;          // of the loop over fronts, in place of the outer one
  std::string outer, inner;  // the inner one becomes parallel
  Provenance by = Provenance::TileModel;
};
// A loop of several statements, from which each of them gets its own.
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
  // What comes after, one after the other: blocks and threads, parts of sums.
  std::vector<PlannedStep> steps = {};
  // Loops whose terms change places: the contract has to name them.
  std::set<std::string> reassociated = {};
};

// A result that is stored past the caches.
struct PlannedStream {
  std::string result;
  Provenance by = Provenance::TileModel;
};

// A kernel's nests in the order in which they are said. Of a nest that is not among them the
// order is the Program's.
struct KernelPlan {
  std::vector<NestPlan> nests = {};
  std::vector<PlannedStream> streams = {};
  std::vector<PlannedDistribution> apart = {};  // before all nests
};

}  // namespace polyte::schedule
