#include "lower/load_fragments.h"

#include <algorithm>

#include "ir/intrinsics.h"
#include "ir/matrix_load.h"
#include "lower/names.h"
#include "lower/rewrite_exprs.h"
#include "lower/simplify.h"
#include "support/error.h"

namespace polyte::lower {

using ir::Affine;
using ir::Index;
using ir::Stmt;

namespace {

// What loads have to know of a buffer.
struct BufferPlace {
  DType dtype = DType::F32;
  std::optional<std::vector<std::int64_t>> strides;  // in elements; none: they depend on sizes
  bool shared = false, of_lanes = false;
  ir::Swizzle swizzle = {};
};

// One operand of an instruction, read from memory: its element at a point of the tile, over a
// variable per dimension.
struct Tile {
  std::string buffer;
  const ir::Intrinsic* row = nullptr;
  std::size_t operand = 0;
  std::vector<Index> indices;         // over kPoint[i]
  std::vector<ir::Constraint> guard;  // likewise: where it has an element; empty: everywhere
  friend bool operator==(const Tile& a, const Tile& b) {
    return a.buffer == b.buffer && a.row == b.row && a.operand == b.operand && a.guard == b.guard &&
           std::ranges::equal(a.indices, b.indices,
                              [](const Index& x, const Index& y) { return x.affine == y.affine; });
  }
};
const char* const kPoint[] = {"point.0", "point.1"};

// Registers that hold one tile, or two beside each other.
struct Loaded {
  std::vector<Tile> tiles;
  ir::LoopBuffer registers;
  Stmt load;
};

class Loader {
 public:
  Loader(const ir::LoopProgram& program, const std::set<std::string>& zero_filled,
         std::vector<std::string>& notes)
      : names_(program, true), facts_(facts_of(program)), zero_filled_(zero_filled), notes_(notes) {
    for (const ir::Buffer& b : program.buffers) {
      BufferPlace& place = places_[b.name];
      place.dtype = b.dtype;
      if (std::ranges::all_of(b.shape, &Affine::is_constant))
        place.strides = strides_of(ir::constant_shape(b));
    }
  }

  Stmt visit(const Stmt& s) {
    const ir::Facts::Scope scope(facts_);
    if (const auto* loop = std::get_if<ir::For>(&s->op))
      facts_.bind(loop->var, loop->lower, loop->upper);
    if (const auto* branch = std::get_if<ir::If>(&s->op))
      for (const ir::Constraint& c : branch->conditions) facts_.assume(c);
    if (const auto* alloc = std::get_if<ir::Alloc>(&s->op)) {
      const ir::LoopBuffer& b = alloc->buffer;
      places_[b.name] = {b.dtype, strides_of(b.shape), b.memory == ir::Memory::Shared, b.of_lanes,
                         b.swizzle};
    }
    if (is_row(s)) return with_loads({s});
    const auto* block = std::get_if<ir::Block>(&s->op);
    if (!block) return ir::rewrite_children(s, [&](const Stmt& child) { return visit(child); });
    std::vector<Stmt> body;
    for (auto at = block->body.begin(); at != block->body.end();) {
      const auto end = std::find_if_not(at, block->body.end(), [](const Stmt& each) {
        return is_row(each) || std::holds_alternative<ir::Fence>(each->op);
      });
      if (end == at || std::none_of(at, end, is_row)) {
        body.push_back(visit(*at++));
      } else {
        body.push_back(with_loads({at, end}));
        at = end;
      }
    }
    return ir::make_block(std::move(body));
  }

 private:
  Names names_;
  ir::Facts facts_;
  const std::set<std::string>& zero_filled_;
  std::vector<std::string>& notes_;
  std::map<std::string, BufferPlace> places_;
  std::set<std::string> noted_;

  static std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& shape) {
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
    return strides;
  }

  static const ir::Intrinsic& row_of(const Stmt& s) {
    return *ir::find_intrinsic(std::get<ir::Tensorized>(s->op).intrinsic);
  }
  static bool is_row(const Stmt& s) {
    return ir::is_of_warp(s) && ir::find_intrinsic(std::get<ir::Tensorized>(s->op).intrinsic);
  }

  // --- what is read

  std::vector<Tile> tiles_of(const Stmt& s, const ir::WarpMatch& match) {
    std::vector<Tile> tiles;
    const ir::Intrinsic& row = row_of(s);
    for (std::size_t n = 0; n + 1 < match.operands.size(); ++n) {
      const ir::WarpMatch::Operand& operand = match.operands[n];
      if (places_.at(operand.buffer).of_lanes || row.fragments[n].none()) continue;
      ir::Bindings points;
      const std::vector<std::size_t> loops = ir::loops_of_operand(row, n);
      const ir::Facts::Scope scope(facts_);
      for (std::size_t i = 0; i < loops.size(); ++i) {
        points[match.loops[loops[i]]] = Affine::symbol(kPoint[i]);
        facts_.bind(kPoint[i], {0}, {match.extents[loops[i]]});
      }
      Tile tile{operand.buffer, &row, n, *operand.indices, {}};
      for (Index& index : tile.indices)
        index.affine = facts_.simplify(ir::substitute(index.affine, points));
      for (const ir::Constraint& c :
           zero_filled_.contains(tile.buffer) ? std::vector<ir::Constraint>{} : match.conditions)
        if (is_about(c, match, loops))
          tile.guard.push_back({facts_.simplify(ir::substitute(c.expr, points)), false});
      tiles.push_back(std::move(tile));
    }
    return tiles;
  }

  // Whether the condition concerns the operand: it uses one of the tile's loops that the operand
  // has, or none, and is then one on each of its elements.
  static bool is_about(const ir::Constraint& c, const ir::WarpMatch& match,
                       const std::vector<std::size_t>& loops) {
    for (std::size_t i = 0; i < match.loops.size(); ++i)
      if (c.expr.uses(match.loops[i])) return std::ranges::find(loops, i) != loops.end();
    return true;
  }

  // Instructions side by side often share operands, as a row of tiles shares one of a: equal tiles
  // are loaded once, in front of the first instruction that reads them.
  Stmt with_loads(const std::vector<Stmt>& run) {
    std::vector<ir::WarpMatch> matches;
    std::vector<Tile> all;
    for (const Stmt& s : run) {
      if (!is_row(s)) {
        matches.emplace_back();
        continue;
      }
      auto match = ir::match_warp(row_of(s), std::get<ir::Tensorized>(s->op).body);
      POLYTE_CHECK(match, row_of(s).name + ": " + (match ? "" : match.error().difference));
      for (Tile& tile : tiles_of(s, *match))
        if (std::ranges::find(all, tile) == all.end()) all.push_back(std::move(tile));
      matches.push_back(std::move(*match));
    }
    std::vector<Loaded> loads = grouped(all);
    std::vector<bool> begun(loads.size(), false);
    std::vector<Stmt> body;
    for (std::size_t n = 0; n < run.size(); ++n) {
      if (!is_row(run[n])) {
        body.push_back(run[n]);
        continue;
      }
      for (const Tile& tile : tiles_of(run[n], matches[n])) {
        const std::size_t from = load_of(loads, tile);
        if (!begun[from]) body.push_back(loads[from].load);
        begun[from] = true;
      }
      body.push_back(reading_registers(run[n], matches[n], loads));
    }
    Stmt result = ir::make_block(std::move(body));
    for (auto load = loads.rbegin(); load != loads.rend(); ++load)
      result = ir::make_alloc({load->registers, std::move(result)});
    return result;
  }

  // Every tile of the run is in one of its loads.
  static std::size_t load_of(const std::vector<Loaded>& loads, const Tile& tile) {
    const auto holds = [&](const Loaded& load) {
      return std::ranges::find(load.tiles, tile) != load.tiles.end();
    };
    return static_cast<std::size_t>(std::ranges::find_if(loads, holds) - loads.begin());
  }

  // --- how it is loaded

  // The element's place in its memory, where that is known.
  std::optional<Affine> linear(const Tile& tile) const {
    const BufferPlace& place = places_.at(tile.buffer);
    if (!place.strides) return std::nullopt;
    Affine sum = 0;
    for (std::size_t d = 0; d < tile.indices.size(); ++d) {
      if (tile.indices[d].indirect) return std::nullopt;
      sum = sum + tile.indices[d].affine * (*place.strides)[d];
    }
    return facts_.simplify(sum);
  }

  // The dimension of the tile whose elements make rows of 16 bytes that ldmatrix can take; nullopt:
  // none. Each row has to begin at a multiple of 16 bytes (PTX ISA, "ldmatrix"): along the
  // dimension elements follow each other, and everything else in the place is a multiple of a row.
  // A swizzle moves chunks whole, so a chunk has to hold whole rows. Transposed, an 8x8 matrix has
  // elements of 16 bits.
  std::optional<int> row_dimension(const Tile& tile) const {
    const BufferPlace& place = places_.at(tile.buffer);
    const auto at = place.shared && tile.guard.empty() ? linear(tile) : std::nullopt;
    if (!at) return std::nullopt;
    const std::int64_t size = size_in_bytes(place.dtype), elements = ir::kMatrixRowBytes / size;
    if (size > 4) return std::nullopt;
    if (!place.swizzle.none() && place.swizzle.chunk % elements != 0) return std::nullopt;
    const int along = along_registers(tile);
    for (const int dimension : {along, 1 - along}) {
      if (dimension != along && size != 2) continue;
      const Affine rest = *at - Affine::symbol(kPoint[dimension]);
      const bool is_row = !rest.uses(kPoint[dimension]) && rest.constant() % elements == 0 &&
                          std::ranges::all_of(rest.terms(), [&](const ir::Term& t) {
                            return t.coefficient % elements == 0;
                          });
      if (is_row) return dimension;
    }
    return std::nullopt;
  }

  static const ir::Fragment& fragment_of(const Tile& tile) {
    return tile.row->fragments[tile.operand];
  }

  // The dimension along which neighbours share a register of 32 bits: that of the sum.
  static int along_registers(const Tile& tile) {
    for (const ir::FragmentDigit& digit : fragment_of(tile).digits)
      if (!digit.of_lane && digit.stride == 1) return digit.dimension;
    throw InternalError("a fragment without neighbours in a register");
  }
  static std::int64_t extent_along(const Tile& tile, int dimension) {
    std::int64_t extent = 1;
    for (const ir::FragmentDigit& digit : fragment_of(tile).digits)
      if (digit.dimension == dimension) extent *= digit.extent;
    return extent;
  }

  // One load for each tile; for two that follow each other across the sum where each is two
  // matrices, since ldmatrix loads up to four.
  std::vector<Loaded> grouped(const std::vector<Tile>& all) {
    std::vector<Loaded> loads;
    std::vector<bool> done(all.size(), false);
    for (std::size_t n = 0; n < all.size(); ++n) {
      if (done[n]) continue;
      std::vector<Tile> tiles = {all[n]};
      const auto rows = row_dimension(all[n]);
      const std::int64_t matrices = ir::registers_of(fragment_of(all[n])) * size_of(all[n]) / 4;
      if (rows && matrices == 2) {
        const Tile next = moved(all[n]);
        const auto at = std::ranges::find(all, next);
        if (at != all.end() && !done[static_cast<std::size_t>(at - all.begin())]) {
          done[static_cast<std::size_t>(at - all.begin())] = true;
          tiles.push_back(next);
        }
      }
      const ir::LoopBuffer registers{names_.fresh(all[n].buffer + ".f"),
                                     places_.at(all[n].buffer).dtype,
                                     {static_cast<std::int64_t>(tiles.size()),
                                      ir::registers_of(fragment_of(all[n])), ir::kLanes},
                                     ir::Memory::Register,
                                     false,
                                     true};
      if (places_.at(all[n].buffer).shared && !all[n].guard.empty() &&
          noted_.insert(all[n].buffer).second)
        notes_.push_back("'" + all[n].buffer + "' is read element by element for " +
                         all[n].row->name + ", whose tile is cut short: pad fills it with zeros");
      Stmt load = rows ? matrix_load(tiles, registers, *rows) : lane_loads(all[n], registers);
      loads.push_back({std::move(tiles), registers, std::move(load)});
    }
    return loads;
  }

  std::int64_t size_of(const Tile& tile) const {
    return size_in_bytes(places_.at(tile.buffer).dtype);
  }

  // The next tile across the sum: the subscripts moved by the tile's extent there.
  Tile moved(const Tile& tile) const {
    const int across = 1 - along_registers(tile);
    Tile next = tile;
    for (Index& index : next.indices)
      index.affine = facts_.simplify(ir::substitute(
          index.affine,
          {{kPoint[across], Affine::symbol(kPoint[across]) + extent_along(tile, across)}}));
    return next;
  }

  // Matrix q of the instruction goes to register q of each lane; within it, lane 4*r + e//2 gets
  // the elements e and e + 1 of row r (e even, of 16 bits), which is where the digits of a fragment
  // want them. Which part of the tile matrix q is follows from the fragment: `subscript_of`
  // register q * together of lane 0 is its corner.
  Stmt matrix_load(const std::vector<Tile>& tiles, const ir::LoopBuffer& registers,
                   int row_dimension) {
    const Tile& tile = tiles.front();
    const ir::Fragment& fragment = fragment_of(tile);
    const std::int64_t elements = ir::kMatrixRowBytes / size_of(tile), together = 4 / size_of(tile);
    const std::int64_t matrices = ir::registers_of(fragment) / together;  // of a tile
    const auto count = static_cast<int>(matrices * static_cast<std::int64_t>(tiles.size()));
    const bool transposed = row_dimension != along_registers(tile);
    const std::string q_var = names_.fresh("q"), r_var = names_.fresh("r"),
                      e_var = names_.fresh("e");
    const Affine q = Affine::symbol(q_var), r = Affine::symbol(r_var), e = Affine::symbol(e_var);
    const Affine which = tiles.size() == 1 ? Affine(0) : ir::floor_div(q, matrices);
    const Affine matrix = q - which * matrices;
    ir::Bindings point;
    for (int dimension = 0; dimension < 2; ++dimension) {
      Affine at = ir::subscript_of(fragment, dimension, 0, matrix * together) +
                  (dimension == row_dimension ? e : r);
      if (dimension != along_registers(tile)) at = at + which * extent_along(tile, dimension);
      point[kPoint[dimension]] = at;
    }
    const Affine &major = transposed ? e : r, &minor = transposed ? r : e;
    std::vector<Index> to = {which, matrix * together + ir::mod(minor, together),
                             major * 4 + ir::floor_div(minor, together)};
    Stmt body = copy(registers, std::move(to), tile, point, {}, {});
    body = ir::make_for({e_var, {0}, {elements}, ir::LoopKind::Serial, e_var, std::move(body)});
    body =
        ir::make_for({r_var, {0}, {ir::kMatrixRows}, ir::LoopKind::Serial, r_var, std::move(body)});
    body = ir::make_for({q_var, {0}, {count}, ir::LoopKind::Serial, q_var, std::move(body)});
    return ir::make_tensorized({ir::matrix_load_name(count, transposed), std::move(body)});
  }

  // Each lane loads its own elements of the fragment, those that share a register of 32 bits at
  // once where they are neighbours in memory.
  Stmt lane_loads(const Tile& tile, const ir::LoopBuffer& registers) {
    const ir::Fragment& fragment = fragment_of(tile);
    const std::string var = names_.fresh("lane");
    const std::int64_t together =
        follow_each_other(tile) ? std::max<std::int64_t>(1, 4 / size_of(tile)) : 1;
    std::vector<Stmt> body;
    for (std::int64_t reg = 0; reg < ir::registers_of(fragment); reg += together) {
      ir::Bindings point;
      for (int dimension = 0; dimension < 2; ++dimension)
        point[kPoint[dimension]] = ir::subscript_of(fragment, dimension, Affine::symbol(var), reg);
      ir::Lanes to, from;
      to.count = from.count = static_cast<int>(together);
      if (together > 1) {
        to.strides = {0, 1, 0};
        from.strides.assign(tile.indices.size(), 0);
        from.strides.back() = 1;
      }
      body.push_back(
          copy(registers, {Affine(0), Affine(reg), Affine::symbol(var)}, tile, point, to, from));
    }
    return ir::make_for(
        {var, {0}, {ir::kLanes}, ir::LoopKind::Lane, var, ir::make_block(std::move(body))});
  }

  // Whether neighbours along the registers are neighbours in the last dimension, and in no other.
  // The guard of a load is one condition for all its lanes, so that a tile which may be cut between
  // neighbours is loaded one element at a time.
  bool follow_each_other(const Tile& tile) const {
    const std::string along = kPoint[along_registers(tile)];
    for (std::size_t d = 0; d < tile.indices.size(); ++d) {
      const Index& index = tile.indices[d];
      const bool is_last = d + 1 == tile.indices.size();
      if (index.indirect || index.affine.coefficient(along) != (is_last ? 1 : 0)) return false;
      if ((index.affine - Affine::symbol(along) * (is_last ? 1 : 0)).uses(along)) return false;
    }
    const bool is_cut = std::ranges::any_of(
        tile.guard, [&](const ir::Constraint& c) { return c.expr.uses(along); });
    return !tile.indices.empty() && !is_cut;
  }

  Stmt copy(const ir::LoopBuffer& to, std::vector<Index> at, const Tile& tile,
            const ir::Bindings& point, const ir::Lanes& lanes, const ir::Lanes& from_lanes) const {
    ir::Load load;
    load.buffer = tile.buffer;
    load.indices = tile.indices;
    for (Index& index : load.indices) index.affine = ir::substitute(index.affine, point);
    load.lanes = from_lanes;
    for (const ir::Constraint& c : tile.guard) load.guard.push_back(ir::substitute(c, point));
    if (!load.guard.empty())
      load.otherwise =
          lanes.count == 1 ? zero(to.dtype) : ir::make_broadcast(zero(to.dtype), lanes.count);
    ir::Store store;
    store.buffer = to.name;
    store.indices = std::move(at);
    store.lanes = lanes;
    store.value =
        std::make_shared<const ir::ExprNode>(ir::ExprNode{to.dtype, lanes.count, std::move(load)});
    return ir::make_store(std::move(store));
  }

  static ir::Expr zero(DType type) { return ir::make_literal(type, 0); }

  // --- the instruction, from registers

  Stmt reading_registers(const Stmt& s, const ir::WarpMatch& match,
                         const std::vector<Loaded>& loads) {
    const ir::Intrinsic& row = row_of(s);
    const std::vector<Tile> tiles = tiles_of(s, match);
    const Stmt changed = rewrite_exprs(s, [&](const ir::Expr& leaf) -> ir::Expr {
      const auto* load = std::get_if<ir::Load>(&leaf->op);
      if (!load) return leaf;
      const auto tile = std::ranges::find_if(tiles, [&](const Tile& t) {
        return match.operands[t.operand].indices == &load->indices;
      });
      if (tile == tiles.end()) return leaf;
      const Loaded& from = loads[load_of(loads, *tile)];
      std::vector<Affine> within;
      for (const std::size_t loop : ir::loops_of_operand(row, tile->operand))
        within.push_back(Affine::symbol(match.loops[loop]));
      const auto number = std::ranges::find(from.tiles, *tile) - from.tiles.begin();
      return ir::make_load(leaf->type, from.registers.name,
                           {Affine(number), ir::register_of(fragment_of(*tile), within),
                            ir::lane_of(fragment_of(*tile), within)});
    });
    return changed;
  }
};

}  // namespace

ir::LoopProgram load_fragments(const ir::LoopProgram& program,
                               const std::set<std::string>& zero_filled,
                               std::vector<std::string>& notes) {
  ir::LoopProgram result = program;
  result.body = Loader(program, zero_filled, notes).visit(program.body);
  return result;
}

}  // namespace polyte::lower
