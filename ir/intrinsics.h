// Intrinsics: the catalogue of instructions that a schedule can name (`tensorize`), and how a
// point nest is compared with one. What an instruction computes is said by a Program with constant
// extents; rows are data:
//
//   name      vnni_dot_i32x16
//   computes  c[i] += i32(a[i, k]) * i32(b[i, k])    for i in 0..16, k in 0..4
//             a: u8, b: i8, c: i32
//   calls     llvm.x86.avx512.vpdpbusd.512(c, a, b)  on a processor with avx512vnni
//
// A nest matches where it is that Program under other names: loops of these extents in any order,
// the same operators (either order where they commute), the same types. Every operand lies in
// memory as the row's Program has it, element after element; an input may also be the same for all
// iterations of its outer loops: one group of elements, broadcast. What is summed in another order
// than the nest's is of a type that does not round.
//
// Rows of a GPU's tensor cores are instructions of a whole warp. Their operands lie in the
// registers of its lanes (ir/fragments.h), and where they come from does not matter: lowering loads
// fragments from wherever they are. Those that sum floats do so in an order and with roundings of
// their own. Rows of a warpgroup say what one of its four warps computes, 16 rows of the 64: each
// runs the same nest, 16 rows further, on the same columns.
#pragma once

#include <functional>

#include "ir/fragments.h"
#include "ir/loop_program.h"
#include "support/machine.h"
#include "support/result.h"

namespace polyte::ir {

// The call: operands by name ("cab"), its result added to c or not. `llvm` is the full
// name without overloads.
struct IntrinsicCall {
  std::string llvm;
  std::string arguments;
  bool adds = false;
  std::string ptx = {};  // of a GPU: its name there
};

// Whose instruction it is: of one thread, of all lanes of a warp, or of four warps whose numbers
// begin at a multiple of 4.
enum class Scope { Thread, Warp, Warpgroup };
inline constexpr std::int64_t kWarpsOfGroup = 4;
constexpr bool is_of_warps(Scope scope) { return scope != Scope::Thread; }

struct Intrinsic {
  std::string name;
  Program program;  // one statement; it updates the last buffer, c
  Stmt nest;        // its loops, outermost first, around its store
  IntrinsicCall call;
  int vector_bits = 0;                             // that the processor has to have; 0: any
  std::vector<std::vector<std::string>> features;  // all of one of these lists; none: any processor
  Scope scope = Scope::Thread;
  // Of warps: where each operand lies, in the order of the buffers; none: in shared
  // memory (ir/shared_matrix.h).
  std::vector<Fragment> fragments = {};
  // It sums floats in its own way: not the bits of any order of the nest.
  bool rounds = false;
  int compute_capability = 0;  // of the first GPU that has it; 0: none is needed
  bool specific = false;       // that generation alone, sm_90a
};

const std::vector<Intrinsic>& intrinsics();
const Intrinsic* find_intrinsic(const std::string& name);  // null if absent
std::string formula_of(const Stmt& nest);                  // "c[i] = c[i] + a[i]  for i in 0..16"
// What the processor lacks for it, "avx512vnni"; empty: nothing.
std::string missing_for(const Intrinsic& intrinsic, const Machine& machine);

// What an access touches over all iterations of the loops around it inside a point nest.
struct OperandTile {
  std::string buffer;
  DType dtype = DType::F32;
  std::vector<Index> first;  // of the first iteration
  struct Dimension {
    std::int64_t extent = 0;
    std::vector<std::int64_t> steps;  // one per subscript
  };
  // Loops along which it moves; of a match: in the order of the row's loops.
  std::vector<Dimension> dimensions;
};

// Why a nest is something else: the first difference, and what it is about.
struct Mismatch {
  std::string difference;
  std::string loop = {};    // that has another extent
  std::int64_t extent = 0;  // which the row has there
  std::string buffer = {};  // that lies otherwise in memory
  // The nest's loops along which its elements should follow each other.
  std::vector<std::string> along = {};
};

// The distance in elements between neighbours of each dimension of a buffer; nullopt: it is
// not a number.
using ElementStrides =
    std::function<std::vector<std::optional<std::int64_t>>(const std::string& buffer)>;
// The operands, in the order of the row's buffers.
Result<std::vector<OperandTile>, Mismatch> match(const Intrinsic& intrinsic, const Stmt& nest,
                                                 const ElementStrides& strides);

// A nest that an instruction of a warp computes, a condition around its store allowed: its
// variables in the order of the row's loops, and the accesses that stand for the row's buffers, in
// their order; they live as long as the nest.
struct WarpMatch {
  std::vector<std::string> loops;
  std::vector<std::int64_t> extents;
  struct Operand {
    std::string buffer;
    const std::vector<Index>* indices = nullptr;
  };
  std::vector<Operand> operands;
  // Where the tile is cut short, each about one loop at most: what they leave out of the sum counts
  // as zeros, other elements as nobody's.
  std::vector<Constraint> conditions;
};
Result<WarpMatch, Mismatch> match_warp(const Intrinsic& intrinsic, const Stmt& nest);
// The loops of the row along which its operand number `buffer` moves, one for each
// of its dimensions.
std::vector<std::size_t> loops_of_operand(const Intrinsic& intrinsic, std::size_t buffer);

// How a buffer's elements are the tile of a fragment: which of its dimensions each dimension
// of the tile runs along, by one, from a multiple of its extent. A Mismatch where an access is
// no such tile.
Result<std::vector<std::size_t>, Mismatch> fragment_dimensions(const Intrinsic& intrinsic,
                                                               const WarpMatch& match,
                                                               std::size_t buffer);

// The tiles of all accesses of a point nest: the store's first. nullopt where a subscript is
// not affine in a loop.
std::optional<std::vector<OperandTile>> tiles_of(const Tensorized& tensorized);
// As the lanes of one access; nullopt for a tile that moves along several loops.
std::optional<Lanes> lanes_of(const OperandTile& tile);

}  // namespace polyte::ir
