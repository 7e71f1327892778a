// Random operators that move elements, at places known when compiling or only at run time.
#include <algorithm>
#include <numeric>

#include "graph/random_generator.h"

namespace polyte::graph {

// Indices of an axis of `extent` elements, in [-extent, extent): negative ones count from the
// end.
ValueId RandomGenerator::index_constant(Dims dims, std::int64_t extent) {
  Dims elements(static_cast<std::size_t>(element_count(dims)));
  for (std::int64_t& element : elements) element = below(2 * extent) - extent;
  Tensor tensor = make_int64s(elements);
  tensor.type.shape = std::move(dims);
  return graph_.add_constant("i", tensor);
}

// Moves keep the magnitude of x: no element is computed, though Trilu puts zeros in place of
// some.
void RandomGenerator::add_move(ValueId x) {
  if (chance(4) && rank(x) >= 2) {
    add(OpKind::Trilu, TriluAttributes{below(5) - 2, chance(2)}, {x}, size(x));
    return;
  }
  TransposeAttributes transpose{Dims(shape(x).size())};
  std::iota(transpose.perm.begin(), transpose.perm.end(), 0);
  for (std::size_t d = transpose.perm.size(); d > 1; --d) {
    // Fisher and Yates' shuffle.
    std::swap(transpose.perm[d - 1],
              transpose.perm[static_cast<std::size_t>(below(static_cast<std::int64_t>(d)))]);
  }
  add(OpKind::Transpose, transpose, {x}, size(x));
}

void RandomGenerator::add_slice(ValueId x) {
  if (shape(x).empty()) return;
  const Dims dims = shape(x);
  SliceAttributes slice{Dims(dims.size(), 0), Dims(dims.size(), 1), dims};
  const auto along = static_cast<std::size_t>(axis_of(x));
  slice.starts[along] = below(dims[along]);
  // `room` is how far the last element may be from the first: of size elements (size - 1) *
  // step.
  const bool backwards = chance(3);
  const std::int64_t step = 1 + below(2),
                     room = backwards ? slice.starts[along] : dims[along] - 1 - slice.starts[along];
  slice.steps[along] = backwards ? -step : step;
  slice.sizes[along] = 1 + below(room / step + 1);
  add(OpKind::Slice, slice, {x}, size(x));
}

void RandomGenerator::add_pad(ValueId x) {
  if (shape(x).empty()) return;
  const Dims dims = shape(x);
  PadAttributes pad{Dims(dims.size(), 0), Dims(dims.size(), 0),
                    one_of<PadMode>({PadMode::Constant, PadMode::Constant, PadMode::Edge,
                                     PadMode::Reflect, PadMode::Wrap})};
  // A pad of -1 cuts an element off.
  for (int times = chance(2) ? 2 : 1; times > 0; --times) {
    const auto along = static_cast<std::size_t>(axis_of(x));
    pad.begin[along] = below(3);
    pad.end[along] = dims[along] > 1 && chance(4) ? -1 : below(3);
  }
  const bool has_value = pad.mode == PadMode::Constant && chance(2);
  const Magnitude m = size(x);
  add(OpKind::Pad, pad, {x, has_value ? constant({}, {1, -2}) : kNoValue},
      // The padding is a constant of 1 or -2, or the operator's own 0.
      {std::max(m.most, 2.0), m.unit});
}

void RandomGenerator::add_concat(ValueId x) {
  if (shape(x).empty()) return;
  Magnitude m = size(x);
  std::vector<ValueId> parts = {x};
  for (int more = chance(2) ? 1 : 2; more > 0; --more) {
    parts.push_back(like(x));
    m = {std::max(m.most, size(parts.back()).most), std::min(m.unit, size(parts.back()).unit)};
  }
  add(OpKind::Concat, AxisAttributes{axis_of(x)}, parts, m);
}

void RandomGenerator::add_repeat(ValueId x) {
  const Dims dims = shape(x);
  if (chance(2)) {
    TileAttributes tile{Dims(dims.size(), 1)};
    if (dims.empty()) return;
    tile.repeats[static_cast<std::size_t>(axis_of(x))] = 1 + below(3);
    add(OpKind::Tile, tile, {x}, size(x));
    return;
  }
  // Expand repeats dimensions of extent 1 and may add one in front.
  Dims wide = dims;
  for (std::int64_t& extent : wide) extent = extent == 1 ? 1 + below(3) : extent;
  if (chance(3) && wide.size() < 5) wide.insert(wide.begin(), 2);
  add(OpKind::Expand, ShapeAttributes{wide}, {x}, size(x));
}

// To a matrix, whose first extent is the largest divisor that is not above the drawn number; or
// with a dimension of extent 1 put in somewhere.
void RandomGenerator::add_reshape(ValueId x) {
  const std::int64_t elements = count(x);
  std::int64_t first = 1 + below(std::min<std::int64_t>(elements, 6));
  while (elements % first != 0) --first;
  const Dims merged = {first, elements / first};
  Dims split = shape(x);
  split.insert(split.begin() + below(static_cast<std::int64_t>(split.size()) + 1), 1);
  add(OpKind::Reshape, ShapeAttributes{chance(2) || split.size() > 5 ? merged : split}, {x},
      size(x));
}

void RandomGenerator::add_gather(ValueId x) {
  if (shape(x).empty()) return;
  const std::int64_t axis = axis_of(x), extent = shape(x)[static_cast<std::size_t>(axis)];
  if (chance(2)) {
    Dims dims = shape(x);
    dims[static_cast<std::size_t>(axis)] = 1 + below(4);
    add(OpKind::GatherElements, AxisAttributes{axis}, {x, index_constant(dims, extent)}, size(x));
    return;
  }
  // Indices that the graph computes (ArgMax, TopK) can be used where all of them are below the
  // extent.
  std::vector<ValueId> within;
  std::ranges::copy_if(indices_, std::back_inserter(within),
                       [&](ValueId id) { return index_bounds_.at(id) <= extent; });
  const bool at_run_time = !within.empty() && chance(2);
  const Dims dims = chance(3) ? Dims{} : chance(2) ? Dims{1 + below(4)} : Dims{2, 1 + below(2)};
  const ValueId indices = at_run_time ? one_of(within) : index_constant(dims, extent);
  if (rank(x) + rank(indices) > 6) return;
  add(OpKind::Gather, AxisAttributes{axis}, {x, indices}, size(x));
}

void RandomGenerator::add_gather_nd(ValueId x) {
  if (shape(x).empty()) return;
  const std::int64_t batch = rank(x) > 1 && chance(2) ? 1 : 0;
  const std::int64_t tuple = 1 + below(rank(x) - batch);
  // One constant holds all indices of a tuple, so they stay within the least of the extents they
  // index.
  std::int64_t extent = shape(x)[static_cast<std::size_t>(batch)];
  for (std::int64_t d = batch; d < batch + tuple; ++d)
    extent = std::min(extent, shape(x)[static_cast<std::size_t>(d)]);
  Dims dims(shape(x).begin(), shape(x).begin() + batch);
  if (!chance(3)) dims.push_back(1 + below(3));
  dims.push_back(tuple);
  add(OpKind::GatherND, GatherNDAttributes{batch}, {x, index_constant(dims, extent)}, size(x));
}

void RandomGenerator::add_scatter(ValueId x) {
  if (shape(x).empty() || count(x) > 256) return;
  const Magnitude m = size(x);
  const auto reduction = one_of<ScatterReduction>({ScatterReduction::None, ScatterReduction::None,
                                                   ScatterReduction::Add, ScatterReduction::Max});
  const std::int64_t axis = axis_of(x);
  // An update adds at most 3; the bound takes it that no more than 64 meet in one element.
  const Magnitude result = {m.most + 3 * 64, m.unit};
  if (chance(2)) {
    Dims dims = shape(x);
    // Indices and updates may be smaller than x in every dimension.
    for (std::int64_t& extent : dims) extent = 1 + below(extent);
    const ValueId updates = constant(dims, {-3, 0, 2, 1});
    add(OpKind::ScatterElements, ScatterAttributes{axis, reduction},
        {x, index_constant(dims, shape(x)[static_cast<std::size_t>(axis)]), updates}, result);
    return;
  }
  Dims indices = {1 + below(3), 1}, updates = shape(x);
  updates[0] = indices[0];
  add(OpKind::ScatterND, ScatterAttributes{0, reduction},
      {x, index_constant(indices, shape(x)[0]), constant(updates, {-3, 0, 2, 1})}, result);
}

void RandomGenerator::add_arg(ValueId x) {
  if (shape(x).empty()) return;
  const ArgAttributes arg{axis_of(x), chance(2), chance(2)};
  add(one_of<OpKind>({OpKind::ArgMax, OpKind::ArgMin}), arg, {x}, {64, 1});
}

void RandomGenerator::add_top_k(ValueId x) {
  if (shape(x).empty()) return;
  const std::int64_t axis = axis_of(x);
  if (chance(2)) {  // many elements, most of them several times
    TileAttributes tile{Dims(shape(x).size(), 1)};
    tile.repeats[static_cast<std::size_t>(axis)] = 16;
    x = add(OpKind::Tile, tile, {x}, size(x));
    if (x == kNoValue) return;
  }
  const std::int64_t extent = shape(x)[static_cast<std::size_t>(axis)];
  const std::size_t outputs = chance(2) ? 2 : 1;
  const TopKAttributes top{axis, 1 + below(chance(2) ? extent : std::min<std::int64_t>(extent, 3)),
                           chance(2)};
  add(OpKind::TopK, top, {x}, size(x), outputs);
}

}  // namespace polyte::graph
