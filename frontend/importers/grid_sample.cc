// GridSample: every output element interpolates the input at coordinates that are read at run time,
// for one, two or three spatial dimensions. The taps of all dimensions are gathered, each with its
// weight and, where padding is zeros, a mask.
#include <cmath>

#include "frontend/importers/build.h"
#include "frontend/importers/table.h"

namespace polyte::frontend {

namespace {

struct Sampling {
  std::string mode, padding;
  bool align_corners = false;
};

// One tap along one dimension: its position (i64, inside the extent), its weight, and whether
// it is inside at all.
struct Tap {
  ValueId position, weight, inside;
};

class Sampler {
 public:
  Sampler(NodeContext& c, const Sampling& sampling) : c_(c), b_(c), sampling_(sampling) {}

  // A grid coordinate from -1 to 1 becomes a position: from the middle of the first element to that
  // of the last (align_corners: 0 to size - 1), or from the outer edge of one to that of the other
  // (-0.5 to size - 0.5).
  std::vector<Tap> taps(ValueId grid, std::int64_t extent) const {
    const auto size = static_cast<double>(extent);
    const double low = sampling_.align_corners ? 0 : -0.5, high = size - 1 - low;
    const ValueId one = b_.number(grid, 1), half = b_.number(grid, 0.5);
    const ValueId shifted = b_.mul(b_.add(grid, one), half);  // 0 to 1
    ValueId at = b_.add(b_.mul(shifted, b_.number(grid, high - low)), b_.number(grid, low));
    if (sampling_.padding == "border")
      at = b_.clip(at, b_.number(grid, 0), b_.number(grid, size - 1));
    if (sampling_.padding == "reflection") at = reflected(at, low, high);
    if (sampling_.mode == "nearest")
      return {tap(b_.unary(OpKind::Round, at), one, extent, low, high)};
    const ValueId first = b_.unary(OpKind::Floor, at), t = b_.sub(at, first);
    if (sampling_.mode == "linear")
      return {tap(first, b_.sub(one, t), extent, low, high),
              tap(b_.add(first, one), t, extent, low, high)};
    std::vector<Tap> taps;
    for (int k = -1; k <= 2; ++k)
      taps.push_back(tap(b_.add(first, b_.number(at, k)), cubic(t, k), extent, low, high));
    return taps;
  }

 private:
  // A triangular wave between low and high.
  ValueId reflected(ValueId at, double low, double high) const {
    if (high <= low) return b_.expand(b_.number(at, low), c_.type(at).shape);
    const ValueId range = b_.number(at, high - low), period = b_.number(at, 2 * (high - low));
    const ValueId from_low = b_.unary(OpKind::Abs, b_.sub(at, b_.number(at, low)));
    const ValueId rest = b_.binary(OpKind::Mod, from_low, period);
    const ValueId back = b_.where(b_.less(range, rest), b_.sub(period, rest), rest);
    return b_.add(back, b_.number(at, low));
  }

  // The cubic convolution kernel with a = -0.75 at distance |t - k|, by its two polynomials: one up
  // to distance 1, one from there to 2 (R. Keys, "Cubic convolution interpolation for digital image
  // processing", 1981).
  ValueId cubic(ValueId t, int k) const {
    const double a = -0.75;
    const ValueId s = b_.unary(OpKind::Abs, b_.sub(t, b_.number(t, k)));
    const auto polynomial = [&](double p3, double p2, double p1, double p0) {
      ValueId value = b_.add(b_.mul(s, b_.number(t, p3)), b_.number(t, p2));
      value = b_.add(b_.mul(value, s), b_.number(t, p1));
      return b_.add(b_.mul(value, s), b_.number(t, p0));
    };
    return k == 0 || k == 1 ? polynomial(a + 2, -(a + 3), 0, 1)
                            : polynomial(a, -5 * a, 8 * a, -4 * a);
  }

  Tap tap(ValueId at, ValueId weight, std::int64_t extent, double low, double high) const {
    const ValueId zero = b_.number(at, 0), last = b_.number(at, static_cast<double>(extent - 1));
    const ValueId inside =
        b_.both(b_.binary(OpKind::LessOrEqual, zero, at), b_.binary(OpKind::LessOrEqual, at, last));
    // A neighbour of a position inside may lie outside, so taps are reflected too.
    const ValueId kept = sampling_.padding == "reflection" ? reflected(at, low, high) : at;
    return {c_.cast(b_.clip(kept, zero, last), DType::I64), weight, inside};
  }

  NodeContext& c_;
  Build b_;
  Sampling sampling_;
};

Sampling read_sampling(NodeContext& c) {
  Sampling sampling{c.text("mode", c.opset() < 20 ? "bilinear" : "linear"),
                    c.text("padding_mode", "zeros"), c.flag("align_corners", false)};
  if (sampling.mode == "bilinear") sampling.mode = "linear";
  if (sampling.mode == "bicubic") sampling.mode = "cubic";
  if (sampling.mode != "linear" && sampling.mode != "nearest" && sampling.mode != "cubic")
    throw Invalid{"mode is '" + sampling.mode + "', expected linear, nearest or cubic"};
  if (sampling.padding != "zeros" && sampling.padding != "border" &&
      sampling.padding != "reflection")
    throw Invalid{"padding_mode is '" + sampling.padding +
                  "', expected zeros, border or reflection"};
  return sampling;
}

}  // namespace

static void import_grid_sample(NodeContext& c) {
  const Build b(c);
  const Sampling sampling = read_sampling(c);
  const Dims shape = c.type(c.input(0)).shape, grid_shape = c.type(c.input(1)).shape;
  const std::int64_t rank = c.rank(c.input(0)), spatial = rank - 2;
  if (spatial < 1 || spatial > 3 || static_cast<std::int64_t>(grid_shape.size()) != rank ||
      grid_shape.back() != spatial || grid_shape[0] != shape[0])
    throw Invalid{"a grid of shape " + dims_text(grid_shape) + " does not fit " + dims_text(shape)};
  if (sampling.mode == "cubic" && spatial > 2)
    throw Unsupported{"mode cubic of three dimensions: supported are two"};
  const Dims positions(grid_shape.begin(), grid_shape.end() - 1);
  Dims channels_last{0}, channels_second{0, rank - 1}, column = positions;
  for (std::int64_t d = 0; d < spatial; ++d) {
    channels_last.push_back(d + 2);
    channels_second.push_back(d + 1);
  }
  channels_last.push_back(1);
  column.push_back(1);
  const ValueId x = b.transpose(c.input(0), channels_last);

  // All combinations of taps, dimension by dimension; the grid names the last dimension first.
  struct Corner {
    std::vector<ValueId> position;
    ValueId weight, inside;
  };
  std::vector<Corner> corners;
  for (std::int64_t d = 0; d < spatial; ++d) {
    const ValueId along = c.cast(
        c.reshape(b.slice(c.input(1), rank - 1, spatial - 1 - d, 1), positions), c.type(x).dtype);
    const auto taps = Sampler(c, sampling).taps(along, shape[static_cast<std::size_t>(d + 2)]);
    std::vector<Corner> longer;
    for (const Tap& tap : taps) {
      if (d == 0) longer.push_back({{c.reshape(tap.position, column)}, tap.weight, tap.inside});
      for (const Corner& corner : corners) {
        Corner next = corner;
        next.position.push_back(c.reshape(tap.position, column));
        next.weight = b.mul(corner.weight, tap.weight);
        next.inside = b.both(corner.inside, tap.inside);
        longer.push_back(next);
      }
    }
    corners = std::move(longer);
  }
  ValueId sum = graph::kNoValue;
  for (const Corner& corner : corners) {
    const ValueId indices = b.concat(corner.position, rank - 1);
    ValueId term = c.emit(OpKind::GatherND, graph::GatherNDAttributes{1}, {x, indices});
    if (sampling.mode != "nearest") term = b.mul(term, c.reshape(corner.weight, column));
    if (sampling.padding == "zeros")
      term = b.where(c.reshape(corner.inside, column), term, b.number(term, 0));
    sum = sum == graph::kNoValue ? term : b.add(sum, term);
  }
  c.finish(OpKind::Transpose, graph::TransposeAttributes{channels_second}, {sum});
}

Rows grid_sample_rows() {
  static constexpr Row kRows[] = {
      {"GridSample", 16, import_grid_sample, "cubic of up to two dimensions"},
  };
  return kRows;
}

}  // namespace polyte::frontend
