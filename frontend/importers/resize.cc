// Resize and Upsample. Every dimension is interpolated by itself: output element i is a weighted
// sum of a few input elements whose positions and weights are known at compile time. Whole factors
// repeat elements or skip some; other positions are gathered; wide filters are a product with a
// matrix of weights.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <optional>
#include <ranges>

#include "frontend/importers/build.h"
#include "frontend/importers/table.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::frontend {

namespace {

enum class Mode { Nearest, Linear, Cubic };

struct Options {
  Mode mode = Mode::Nearest;
  std::string coordinates = "half_pixel", nearest = "round_prefer_floor";
  double cubic_a = -0.75, outside = 0;
  bool exclude_outside = false, antialias = false;
};

struct Axis {
  std::int64_t dimension, input, output;
  double scale, length;  // length: input * scale, not rounded
  double roi_begin = 0, roi_end = 1;
};

// Of one output element: input positions within the extent, and weights.
struct Sample {
  std::vector<std::int64_t> at;
  std::vector<double> weight;
  bool is_outside = false;  // tf_crop_and_resize: the extrapolation value instead
};

// Where output element i lies in the input: the formulas of ONNX Resize, attribute
// coordinate_transformation_mode. The last line is half_pixel.
double coordinate(const Options& options, const Axis& axis, std::int64_t i) {
  const auto x = static_cast<double>(i), input = static_cast<double>(axis.input);
  const std::string& mode = options.coordinates;
  if (mode == "asymmetric") return x / axis.scale;
  if (mode == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (mode == "align_corners") return axis.output == 1 ? 0 : x * (input - 1) / (axis.length - 1);
  if (mode == "pytorch_half_pixel") return axis.output == 1 ? 0 : (x + 0.5) / axis.scale - 0.5;
  if (mode == "half_pixel_symmetric") {
    const double adjustment = static_cast<double>(axis.output) / axis.length;
    return input / 2 * (1 - adjustment) + (x + 0.5) / axis.scale - 0.5;
  }
  if (mode == "tf_crop_and_resize") {
    const double width = axis.roi_end - axis.roi_begin;
    const double step =
        axis.output == 1 ? width * (input - 1) / 2 : x * width * (input - 1) / (axis.length - 1);
    return step + axis.roi_begin * (input - 1);
  }
  return (x + 0.5) / axis.scale - 0.5;
}

// The two roundings differ where x lies in the middle of two elements. What is left is floor.
std::int64_t nearest_position(const std::string& mode, double x) {
  const double low = std::floor(x);
  double position = low;
  if (mode == "ceil") position = std::ceil(x);
  if (mode == "round_prefer_floor") position = x - low <= 0.5 ? low : low + 1;
  if (mode == "round_prefer_ceil") position = x - low < 0.5 ? low : low + 1;
  return static_cast<std::int64_t>(position);
}

// Keys' convolution kernel, of which `a` is the free coefficient: 1 at 0, 0 at the other whole
// numbers and from distance 2 on (R. Keys, "Cubic convolution interpolation for digital image
// processing", 1981).
double cubic(double a, double distance) {
  const double s = std::fabs(distance);
  if (s <= 1) return ((a + 2) * s - (a + 3)) * s * s + 1;
  return s < 2 ? ((a * s - 5 * a) * s + 8 * a) * s - 4 * a : 0;
}

// The filter around x, stretched by 1 / scale where antialiasing is asked for. All elements of
// an axis have the same number of taps: 2 or 4, more where the filter is stretched. Taps beyond
// the border read the element at the border.
Sample filtered(const Options& options, const Axis& axis, double x) {
  const double stretch = options.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const double reach = (options.mode == Mode::Linear ? 1 : 2) / stretch;
  const double left = std::ceil(x) - 1, first = std::floor(-reach) + 1, last = 1 - first;
  Sample sample;
  double total = 0;
  for (double i = first; i <= last; ++i) {
    const double distance = (left + i - x) * stretch;
    double weight = options.mode == Mode::Linear ? std::max(0.0, 1 - std::fabs(distance))
                                                 : cubic(options.cubic_a, distance);
    const auto at = static_cast<std::int64_t>(left + i);
    if (options.exclude_outside && (at < 0 || at >= axis.input)) weight = 0;
    total += weight;
    sample.at.push_back(std::clamp<std::int64_t>(at, 0, axis.input - 1));
    sample.weight.push_back(weight);
  }
  // Only then do the weights not add up to 1 by themselves.
  const bool normalised = options.exclude_outside || options.antialias;
  for (double& weight : sample.weight) weight = normalised && total != 0 ? weight / total : weight;
  return sample;
}

std::vector<Sample> samples_of(const Options& options, const Axis& axis) {
  std::vector<Sample> samples;
  for (std::int64_t i = 0; i < axis.output; ++i) {
    const double x = coordinate(options, axis, i);
    const bool crops = options.coordinates == "tf_crop_and_resize";
    if (options.mode == Mode::Nearest) {
      const std::int64_t at = nearest_position(options.nearest, x);
      samples.push_back({{std::clamp<std::int64_t>(at, 0, axis.input - 1)}, {1}});
    } else {
      samples.push_back(filtered(options, axis, x));
    }
    samples.back().is_outside = crops && (x < 0 || x > static_cast<double>(axis.input) - 1);
  }
  return samples;
}

// ---- from samples to graphs

struct Repeats {  // position i is (i + shift) // factor, at the ends that of the first or last
  std::int64_t factor = 1, shift = 0;
};

std::optional<Repeats> repeats_of(const Dims& positions, std::int64_t extent) {
  const auto count = static_cast<std::int64_t>(positions.size());
  if (extent == 0 || count < 2) return std::nullopt;
  const std::int64_t factor = std::max<std::int64_t>(1, count / extent);
  // From where the second element on the way begins.
  const auto next = std::ranges::adjacent_find(positions, std::not_equal_to{});
  const std::int64_t shift =
      next == positions.end() ? 0 : next[1] * factor - (next - positions.begin() + 1);
  const auto is_there = [&](std::int64_t i) {
    const std::int64_t at = floor_div(i + shift, factor);
    return positions[static_cast<std::size_t>(i)] == std::clamp<std::int64_t>(at, 0, extent - 1);
  };
  const bool are_near = std::abs(shift) <= factor && floor_div(count - 1 + shift, factor) <= extent;
  if (!are_near || !std::ranges::all_of(std::views::iota(std::int64_t{0}, count), is_there))
    return std::nullopt;
  return Repeats{factor, shift};
}

ValueId sliced(NodeContext& c, ValueId x, std::size_t axis, std::int64_t start, std::int64_t step,
               std::int64_t size) {
  const Dims shape = c.type(x).shape;
  if (start == 0 && step == 1 && size == shape[axis]) return x;
  graph::SliceAttributes slice{Dims(shape.size(), 0), Dims(shape.size(), 1), shape};
  slice.starts[axis] = start;
  slice.steps[axis] = step;
  slice.sizes[axis] = size;
  return c.emit(OpKind::Slice, slice, {x});
}

// One more element at each end if some position is there, so that all taps of a filter share it.
ValueId repeated(NodeContext& c, ValueId x, std::int64_t d, std::int64_t count,
                 const Repeats& repeats) {
  const auto axis = static_cast<std::size_t>(d);
  const auto [factor, shift] = repeats;
  const Dims shape = c.type(x).shape;
  const bool is_inside = shift >= 0 && (count - 1 + shift) / factor < shape[axis];
  if (!is_inside) {
    graph::PadAttributes pad{.begin = Dims(shape.size(), 0), .end = Dims(shape.size(), 0)};
    pad.mode = graph::PadMode::Edge;
    pad.begin[axis] = pad.end[axis] = 1;
    x = c.emit(OpKind::Pad, pad, {x});
  }
  Dims split = c.type(x).shape, wide = split, merged = split;
  if (factor > 1) {
    split.insert(split.begin() + d + 1, 1);
    wide.insert(wide.begin() + d + 1, factor);
    merged[axis] *= factor;
    x = c.reshape(Build(c).expand(c.reshape(x, split), wide), merged);
  }
  return sliced(c, x, axis, shift + (is_inside ? 0 : factor), 1, count);
}

// The elements at these positions along dimension d, by the cheapest operator that says so:
//
//    0 1 2 3        x itself               0 0 1 1 2 2, 0 0 0 1 1 2    repeated, and a Slice
//    1 3 5          a Slice                0 0 1 2 2                   a Gather
ValueId taken(NodeContext& c, ValueId x, std::int64_t d, const Dims& positions) {
  const Dims shape = c.type(x).shape;
  const auto axis = static_cast<std::size_t>(d);
  const auto count = static_cast<std::int64_t>(positions.size());
  const std::int64_t step = count > 1 ? positions[1] - positions[0] : 1;
  bool is_slice = step > 0;
  for (std::size_t i = 1; i < positions.size(); ++i)
    is_slice = is_slice && positions[i] - positions[i - 1] == step;
  if (is_slice && count > 0) return sliced(c, x, axis, positions[0], step, count);
  if (const auto repeats = repeats_of(positions, shape[axis]))
    return repeated(c, x, d, count, *repeats);
  return Build(c).gather(x, d, c.add_constant(graph::make_int64s(positions)));
}

// Of a cubic filter that is not stretched: each tap is a term of its own.
constexpr std::size_t kMostTaps = 4;

// x times a matrix of weights along dimension d.
ValueId by_matrix(NodeContext& c, ValueId x, const Axis& axis, const std::vector<Sample>& samples) {
  std::vector<double> weights(static_cast<std::size_t>(checked_mul(axis.output, axis.input)), 0);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    for (std::size_t t = 0; t < samples[i].at.size(); ++t) {
      weights[i * static_cast<std::size_t>(axis.input) +
              static_cast<std::size_t>(samples[i].at[t])] += samples[i].weight[t];
    }
  }
  const ValueId matrix = Build(c).constant(c.type(x).dtype, {axis.output, axis.input}, weights);
  graph::EinsumAttributes einsum;
  Dims labels(static_cast<std::size_t>(c.rank(x)));
  for (std::size_t d = 0; d < labels.size(); ++d) labels[d] = static_cast<std::int64_t>(d);
  einsum.output = labels;
  // A label of its own for the dimension that is summed over: [.., j, ..] and [i, j] give [..,
  // i, ..].
  const std::int64_t inner = c.rank(x);
  labels[static_cast<std::size_t>(axis.dimension)] = inner;
  einsum.inputs = {labels, {axis.dimension, inner}};
  return c.emit(OpKind::Einsum, einsum, {x, matrix});
}

ValueId weighted(NodeContext& c, ValueId x, const Axis& axis, const std::vector<Sample>& samples) {
  const Build b(c);
  const std::size_t taps = samples.empty() ? 0 : samples[0].at.size();
  if (taps > kMostTaps) return by_matrix(c, x, axis, samples);
  ValueId sum = graph::kNoValue;
  for (std::size_t t = 0; t < taps; ++t) {
    Dims positions;
    std::vector<double> weights;
    for (const Sample& sample : samples) {
      positions.push_back(sample.at[t]);
      weights.push_back(sample.weight[t]);
    }
    // Such as the second tap of a linear filter that always hits an element.
    if (std::ranges::all_of(weights, [](double w) { return w == 0; })) continue;
    ValueId term = taken(c, x, axis.dimension, positions);
    if (std::ranges::any_of(weights, [](double w) { return w != 1; })) {
      const ValueId list = b.constant(c.type(x).dtype, {axis.output}, weights);
      term = b.mul(term, b.along(list, axis.dimension, c.rank(x)));
    }
    sum = sum == graph::kNoValue ? term : b.add(sum, term);
  }
  if (sum != graph::kNoValue) return sum;
  Dims shape = c.type(x).shape;
  shape[static_cast<std::size_t>(axis.dimension)] = axis.output;
  return b.expand(b.number(x, 0), shape);
}

ValueId resized(NodeContext& c, ValueId x, const Options& options, const Axis& axis) {
  const std::vector<Sample> samples = samples_of(options, axis);
  ValueId result = weighted(c, x, axis, samples);
  if (std::ranges::none_of(samples, [](const Sample& s) { return s.is_outside; })) return result;
  const Build b(c);
  std::vector<double> outside;
  for (const Sample& sample : samples) outside.push_back(sample.is_outside ? 1 : 0);
  const ValueId mask =
      b.along(b.constant(DType::Bool, {axis.output}, outside), axis.dimension, c.rank(x));
  return b.where(mask, b.number(x, options.outside), result);
}

void finish_resize(NodeContext& c, const Options& options, const std::vector<Axis>& axes) {
  ValueId x = c.input(0);
  const DType type = c.type(x).dtype;
  if (options.mode != Mode::Nearest && !is_float(type))
    throw Unsupported{"interpolates " + std::string(to_string(type)) +
                      ": supported are f64 f32 f16 bf16"};
  // In 16 bits a rounding per dimension would be visible.
  const bool is_short = size_in_bytes(type) < 4 && options.mode != Mode::Nearest;
  if (is_short) x = c.cast(x, DType::F32);
  for (const Axis& axis : axes) {
    if (axis.output > (1 << 24))
      throw UserError(ExitStatus::ResourceLimit,
                      "resizes to " + std::to_string(axis.output) + " elements per dimension");
    if (axis.input == 0 && axis.output > 0) throw Invalid{"resizes an empty dimension"};
    if (axis.input == axis.output && axis.scale == 1 && options.coordinates != "tf_crop_and_resize")
      continue;
    x = resized(c, x, options, axis);
  }
  c.finish_output(0, c.cast(x, type));
}

std::vector<Axis> axes_of_scales(NodeContext& c, const std::vector<double>& scales,
                                 const Dims& dimensions) {
  if (scales.size() != dimensions.size()) {
    throw Invalid{"has " + std::to_string(scales.size()) + " scales, expected " +
                  std::to_string(dimensions.size())};
  }
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const std::int64_t input = c.type(c.input(0)).shape[static_cast<std::size_t>(dimensions[i])];
    const double scale = scales[i], length = static_cast<double>(input) * scale;
    if (!(scale > 0) || length > 1e15)
      throw Invalid{"a scale is " + std::to_string(scale) + ", expected a positive one"};
    axes.push_back(
        {dimensions[i], input, static_cast<std::int64_t>(std::floor(length)), scale, length});
  }
  return axes;
}

// keep_aspect_ratio_policy: one scale for all, the sizes are bounds.
std::vector<Axis> axes_of_sizes(NodeContext& c, const Dims& sizes, const Dims& dimensions,
                                const std::string& policy) {
  if (sizes.size() != dimensions.size())
    throw Invalid{"has " + std::to_string(sizes.size()) + " sizes, expected " +
                  std::to_string(dimensions.size())};
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t input = c.type(c.input(0)).shape[static_cast<std::size_t>(dimensions[i])];
    if (sizes[i] < 0) throw Invalid{"a size is " + std::to_string(sizes[i])};
    const double scale =
        input == 0 ? 1 : static_cast<double>(sizes[i]) / static_cast<double>(input);
    axes.push_back({dimensions[i], input, sizes[i], scale, static_cast<double>(sizes[i])});
  }
  if (policy == "stretch" || axes.empty()) return axes;
  if (policy != "not_larger" && policy != "not_smaller")
    throw Invalid{"keep_aspect_ratio_policy is '" + policy +
                  "', expected stretch, not_larger or not_smaller"};
  double common = axes[0].scale;
  for (const Axis& axis : axes)
    common = policy == "not_larger" ? std::min(common, axis.scale) : std::max(common, axis.scale);
  for (Axis& axis : axes) {
    axis.scale = common;
    axis.length = common * static_cast<double>(axis.input);
    axis.output = static_cast<std::int64_t>(std::floor(axis.length + 0.5));
  }
  return axes;
}

Mode mode_of(NodeContext& c) {
  const std::string mode = c.text("mode", "nearest");
  if (mode == "nearest") return Mode::Nearest;
  if (mode == "linear" || mode == "bilinear") return Mode::Linear;
  if (mode == "cubic") return Mode::Cubic;
  throw Invalid{"mode is '" + mode + "', expected nearest, linear or cubic"};
}

Dims all_dimensions(NodeContext& c) {
  Dims dimensions;
  for (std::int64_t d = 0; d < c.rank(c.input(0)); ++d) dimensions.push_back(d);
  return dimensions;
}

// Before opset 11: positions are divided by the scale, nearest rounds down.
void finish_by_scales(NodeContext& c, const std::vector<double>& scales) {
  Options options;
  options.mode = mode_of(c);
  options.coordinates = "asymmetric";
  options.nearest = "floor";
  finish_resize(c, options, axes_of_scales(c, scales, all_dimensions(c)));
}

void expect_one_of(const char* name, const std::string& value,
                   const std::vector<std::string>& known) {
  if (std::ranges::find(known, value) != known.end()) return;
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
  throw Invalid{std::string(name) + " is '" + value + "', expected one of " + list};
}

Options read_options(NodeContext& c) {
  Options options;
  options.mode = mode_of(c);
  options.coordinates = c.text("coordinate_transformation_mode", "half_pixel");
  options.nearest = c.text("nearest_mode", "round_prefer_floor");
  options.cubic_a = c.real("cubic_coeff_a", -0.75);
  options.outside = c.real("extrapolation_value", 0);
  options.exclude_outside = c.flag("exclude_outside", false);
  options.antialias = c.flag("antialias", false) && options.mode != Mode::Nearest;
  expect_one_of(
      "coordinate_transformation_mode", options.coordinates,
      {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
       "tf_crop_and_resize", c.opset() < 13 ? "tf_half_pixel_for_nn" : "half_pixel"});
  expect_one_of("nearest_mode", options.nearest,
                {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  return options;
}

void read_region(NodeContext& c, const Options& options, std::vector<Axis>& axes) {
  if (options.coordinates != "tf_crop_and_resize") return c.ignore_input(1);
  const std::vector<double> roi = elements_as_real(c.constant(1, "the region"));
  if (roi.size() != 2 * axes.size())
    throw Invalid{"the region has " + std::to_string(roi.size()) + " numbers, expected " +
                  std::to_string(2 * axes.size())};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    axes[i].roi_begin = roi[i];
    axes[i].roi_end = roi[i + axes.size()];
  }
}

bool has_elements(NodeContext& c, std::size_t i) {
  return c.has_input(i) && graph::element_count(c.type(c.input(i)).shape) > 0;
}

}  // namespace

static void import_upsample_7(NodeContext& c) {
  const auto scales = c.reals("scales");
  if (!scales) throw Invalid{"attribute 'scales' is missing"};
  finish_by_scales(c, *scales);
}

static void import_resize_10(NodeContext& c) {
  finish_by_scales(c, elements_as_real(c.constant(1, "the scales")));
}

static void import_resize_11(NodeContext& c) {
  const Options options = read_options(c);
  Dims dimensions = all_dimensions(c);
  if (const auto axes = c.integers("axes")) {
    dimensions.clear();
    for (std::int64_t axis : *axes)
      dimensions.push_back(NodeContext::resolve_axis(axis, c.rank(c.input(0))));
    Dims sorted = dimensions;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end())
      throw Invalid{"axes " + dims_text(*axes) + " name a dimension twice"};
  }
  const std::string policy = c.text("keep_aspect_ratio_policy", "stretch");
  const bool by_scale = has_elements(c, 2), by_size = has_elements(c, 3);
  if (by_scale == by_size)
    throw Invalid{by_scale ? "has scales and sizes, expected one of them"
                           : "has neither scales nor sizes"};
  std::vector<Axis> axes =
      by_scale ? axes_of_scales(c, elements_as_real(c.constant(2, "the scales")), dimensions)
               : axes_of_sizes(c, c.constant_integers(3, "the sizes"), dimensions, policy);
  c.ignore_input(2);
  c.ignore_input(3);
  read_region(c, options, axes);
  finish_resize(c, options, axes);
}

Rows resize_rows() {
  static constexpr Row kRows[] = {
      {"Resize", 10, import_resize_10, kConstant},
      {"Resize", 11, import_resize_11, kConstant},
      {"Upsample", 7, import_upsample_7},
      {"Upsample", 9, import_resize_10, kConstant},
  };
  return kRows;
}

}  // namespace polyte::frontend
