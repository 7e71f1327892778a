// Convolutions and pools: reductions over a window of one tensor, which libraries have whole.
#include <algorithm>
#include <limits>
#include <optional>

#include "driver/lab/array_scope.h"

namespace polyte::lab {
namespace {

using Json = nlohmann::ordered_json;

// One subscript of the tensor: stride * point + dilation * tap + base, with point and tap counted
// from 0. x[2*i + r - 1] with both iterators from 0 has stride 2, dilation 1, base -1.
struct Window {
  std::size_t point = 0, tap = 0;
  std::int64_t stride = 1, dilation = 1, base = 0;
};

struct Image {
  const ir::Load* load = nullptr;
  std::vector<Window> windows;    // one per subscript that is a window
  std::vector<std::size_t> dims;  // which subscripts they are
  std::set<std::size_t> plain;    // axes of the others
  std::vector<std::size_t> plain_dims;
};

bool is_reduced(const ArrayScope& scope, std::size_t axis) {
  const std::vector<std::string>& reductions = scope.statement().reductions;
  return std::ranges::find(reductions, scope.axes()[axis].name) != reductions.end();
}

// Two iterators with positive coefficients, of which just one is reduced: the tap. Two iterators
// that both remain or are both reduced are no window.
std::optional<Window> window_of(const ArrayScope& scope, const ir::Affine& e) {
  if (e.has_division() || e.terms().size() != 2) return std::nullopt;
  Window window;
  window.base = e.constant();
  int points = 0, taps = 0;
  for (const ir::Term& term : e.terms()) {
    const std::size_t axis = scope.axis(term.atom.symbol);
    if (term.coefficient < 1) return std::nullopt;
    window.base += term.coefficient * scope.axes()[axis].start;
    if (is_reduced(scope, axis)) {
      ++taps, window.tap = axis, window.dilation = term.coefficient;
    } else {
      ++points, window.point = axis, window.stride = term.coefficient;
    }
  }
  return points == 1 && taps == 1 ? std::optional(window) : std::nullopt;
}

// A tensor read by windows and by whole axes, each axis once.
std::optional<Image> image_of(const ArrayScope& scope, const ir::Load& load) {
  Image image;
  image.load = &load;
  std::set<std::size_t> used;
  for (std::size_t d = 0; d < load.indices.size(); ++d) {
    const ir::Index& index = load.indices[d];
    if (index.indirect) return std::nullopt;
    if (index.affine.is_constant()) continue;
    if (index.affine.terms().size() == 1 && !index.affine.has_division() &&
        index.affine.terms()[0].coefficient == 1) {
      const std::size_t axis = scope.axis(index.affine.terms()[0].atom.symbol);
      if (!used.insert(axis).second) return std::nullopt;
      image.plain.insert(axis);
      image.plain_dims.push_back(d);
      continue;
    }
    const std::optional<Window> window = window_of(scope, index.affine);
    if (!window || !used.insert(window->point).second || !used.insert(window->tap).second)
      return std::nullopt;
    image.windows.push_back(*window);
    image.dims.push_back(d);
  }
  // Libraries convolve in one, two or three dimensions.
  return image.windows.empty() || image.windows.size() > 3 ? std::nullopt : std::optional(image);
}

// The part of the tensor that is read, and what is put around it. Of a windowed dimension:
//
//   base       0                  shape       base + length
//    |<- low ->|<---- slice ------>|<- high ->|
//
// where `length` is from the first element that is read to the last. A plain dimension has to
// lie within the tensor.
std::optional<Json> region_of(const ArrayScope& scope, const Image& image) {
  const std::vector<std::int64_t> shape =
      ir::constant_shape(scope.program().buffer(image.load->buffer));
  Json slices = Json::array(), low = Json::array(), high = Json::array(), strides = Json::array(),
       dilations = Json::array();
  std::size_t next = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const ir::Affine& e = image.load->indices[d].affine;
    if (e.is_constant()) {
      slices.push_back({{"at", e.constant()}});
    } else if (next < image.dims.size() && image.dims[next] == d) {
      const Window& w = image.windows[next++];
      const std::int64_t length = w.stride * (scope.axes()[w.point].count - 1) +
                                  w.dilation * (scope.axes()[w.tap].count - 1) + 1;
      const std::int64_t first = std::max<std::int64_t>(w.base, 0),
                         end = std::min(w.base + length, shape[d]);
      if (end <= first) return std::nullopt;
      slices.push_back({{"start", first}, {"count", end - first}});
      low.push_back(std::max<std::int64_t>(0, -w.base)),
          high.push_back(std::max<std::int64_t>(0, w.base + length - shape[d]));
      strides.push_back(w.stride), dilations.push_back(w.dilation);
    } else {
      const Axis& axis = scope.axes()[scope.axis(e.terms()[0].atom.symbol)];
      const std::int64_t start = e.constant() + axis.start;
      if (start < 0 || start + axis.count > shape[d]) return std::nullopt;
      slices.push_back({{"start", start}, {"count", axis.count}});
    }
  }
  return Json{{"slices", slices},
              {"low", low},
              {"high", high},
              {"strides", strides},
              {"dilations", dilations}};
}

// What is read outside is this value.
bool is_outside(const ArrayScope& scope, const ir::Load& load, double value) {
  if (!load.otherwise) return true;
  if (!is_padding(scope, load)) return false;
  const auto* literal = std::get_if<ir::Literal>(&load.otherwise->op);
  return literal && literal->real == value && is_float(load.otherwise->type);
}

// Subscripts that are no constant, of axes in the given order, windows last.
Json order_of(const ArrayScope& scope, const Image& image, const std::vector<std::size_t>& axes) {
  Json order = Json::array();
  for (const std::size_t axis : axes)
    for (const std::size_t d : image.plain_dims)
      if (scope.axis(image.load->indices[d].affine.terms()[0].atom.symbol) == axis)
        order.push_back(d);
  for (const std::size_t d : image.dims) order.push_back(d);
  return order;
}

Json extents_of(const ArrayScope& scope) {
  Json extents = Json::array();
  for (const Axis& axis : scope.axes()) extents.push_back(axis.count);
  return extents;
}

struct Roles {
  std::vector<std::size_t> batch, group, feature, channel;
};

// What each axis is to the image, the weights and the result; nullopt where one is nothing
// of a convolution. Points and taps are those of windows; of the others:
//
//            in the image   in the weights   reduced
//   batch    yes            no               no
//   feature  no             yes              no
//   group    yes            yes              no
//   channel  yes            yes              yes
std::optional<Roles> roles_of(const ArrayScope& scope, const Image& image,
                              const std::set<std::size_t>& weights) {
  Roles roles;
  std::set<std::size_t> taps, points;
  for (const Window& w : image.windows) taps.insert(w.tap), points.insert(w.point);
  for (std::size_t axis = 0; axis < scope.rank(); ++axis) {
    const bool x = image.plain.contains(axis), w = weights.contains(axis);
    if (points.contains(axis)) {
      if (w) return std::nullopt;
    } else if (taps.contains(axis)) {
      if (!w) return std::nullopt;
    } else if (is_reduced(scope, axis)) {
      if (!x || !w) return std::nullopt;
      roles.channel.push_back(axis);
    } else if (x || w) {
      (x && w ? roles.group : x ? roles.batch : roles.feature).push_back(axis);
    } else {
      return std::nullopt;
    }
  }
  return roles;
}

std::vector<std::size_t> joined(std::vector<std::size_t> a, const std::vector<std::size_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<std::size_t> axes_of(const Image& image, std::size_t Window::* which) {
  std::vector<std::size_t> axes;
  for (const Window& w : image.windows) axes.push_back(w.*which);
  return axes;
}

Value finish(ArrayScope& scope, Json step) {
  std::set<std::size_t> axes;
  for (std::size_t axis = 0; axis < scope.rank(); ++axis)
    if (!is_reduced(scope, axis)) axes.insert(axis);
  step["extents"] = extents_of(scope);
  return {scope.emit(std::move(step)), axes};
}

}  // namespace

// Either factor may be the image; the other one has no window and no padding.
std::optional<Value> convolution(ArrayScope& scope) {
  const ir::Statement& statement = scope.statement();
  const auto* product = std::get_if<ir::Binary>(&statement.values[0]->op);
  if (statement.combiner != ir::Combiner::Sum || !product || product->op != ir::BinaryOp::Mul)
    return std::nullopt;
  const auto* a = std::get_if<ir::Load>(&product->a->op);
  const auto* b = std::get_if<ir::Load>(&product->b->op);
  if (!a || !b || !is_float(product->a->type)) return std::nullopt;
  std::optional<Image> image = image_of(scope, *a);
  const bool first = image.has_value();
  if (!first) image = image_of(scope, *b);
  const ir::Load& other = first ? *b : *a;
  if (!image || other.otherwise || !window_iterators(first ? product->b : product->a).empty())
    return std::nullopt;
  std::set<std::size_t> weights;
  for (const ir::Index& index : other.indices) {
    if (index.indirect || index.affine.has_division()) return std::nullopt;
    weights.merge(scope.axes_of(index.affine));
  }
  const std::optional<Roles> roles = roles_of(scope, *image, weights);
  std::optional<Json> step = region_of(scope, *image);
  if (!roles || !step || !is_outside(scope, *image->load, 0)) return std::nullopt;
  const Value w = read_array(scope, other, product->a->type,
                             [](const ir::Expr&) -> Value { throw NoForm{"a gather"}; });
  (*step)["op"] = "conv";
  (*step)["from"] = image->load->buffer;
  (*step)["weights"] = w.id;
  (*step)["order"] =
      order_of(scope, *image, joined(joined(roles->batch, roles->group), roles->channel));
  (*step)["batch"] = roles->batch, (*step)["group"] = roles->group;
  (*step)["feature"] = roles->feature, (*step)["channel"] = roles->channel;
  (*step)["points"] = axes_of(*image, &Window::point),
  (*step)["taps"] = axes_of(*image, &Window::tap);
  return finish(scope, std::move(*step));
}

std::optional<Value> pool(ArrayScope& scope) {
  const ir::Statement& statement = scope.statement();
  const auto* load = std::get_if<ir::Load>(&statement.values[0]->op);
  const bool largest = statement.combiner == ir::Combiner::Max;
  if (!load || (!largest && statement.combiner != ir::Combiner::Sum)) return std::nullopt;
  if (!is_float(statement.values[0]->type)) return std::nullopt;
  const std::optional<Image> image = image_of(scope, *load);
  // Every reduced axis is a tap, and every axis of the statement is read.
  if (!image || image->windows.size() != statement.reductions.size()) return std::nullopt;
  if (image->plain.size() + 2 * image->windows.size() != scope.rank()) return std::nullopt;
  std::optional<Json> step = region_of(scope, *image);
  if (!step || !is_outside(scope, *load, largest ? -std::numeric_limits<double>::infinity() : 0))
    return std::nullopt;
  if (!largest &&
      std::ranges::any_of(image->windows, [](const Window& w) { return w.dilation > 1; }))
    return std::nullopt;
  const std::vector<std::size_t> batch(image->plain.begin(), image->plain.end());
  (*step)["op"] = "pool";
  (*step)["kind"] = largest ? "max" : "add";
  (*step)["from"] = load->buffer;
  (*step)["order"] = order_of(scope, *image, batch);
  (*step)["batch"] = batch;
  (*step)["points"] = axes_of(*image, &Window::point),
  (*step)["taps"] = axes_of(*image, &Window::tap);
  return finish(scope, std::move(*step));
}

}  // namespace polyte::lab
