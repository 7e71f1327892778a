// Windows and the discrete Fourier transform, whose coefficients are known at compile time.
#include <cmath>

#include "frontend/importers/build.h"
#include "frontend/importers/table.h"
#include "frontend/onnx_tensor.h"
#include "support/error.h"

namespace polyte::frontend {

namespace {

constexpr double kTau = 6.28318530717958647693;
// The transform is a product with a matrix of its squared size.
constexpr std::int64_t kMostPoints = 1 << 12;

}  // namespace

// a0 - a1 cos(t) + a2 cos(2 t), t over one period or, symmetric, up to its end.
static void import_window(NodeContext& c) {
  const Dims sizes = c.constant_integers(0, "the size");
  if (sizes.size() != 1 || sizes[0] < 0) throw Invalid{"the size is " + dims_text(sizes)};
  if (sizes[0] > (1 << 24))
    throw UserError(ExitStatus::ResourceLimit,
                    "the size is " + std::to_string(sizes[0]) + ", the limit is 16777216");
  const std::string& op = c.node().op_type();
  const bool is_periodic = c.flag("periodic", true);
  const std::int64_t asked = c.integer("output_datatype", 1);
  const auto type = dtype_from_onnx(static_cast<int>(asked >= 0 && asked < 1000 ? asked : 0));
  if (!type)
    throw Unsupported{"output_datatype is " + std::to_string(asked) + ": " + kSupportedTypes};
  const double a0 = op == "HannWindow" ? 0.5 : op == "HammingWindow" ? 25.0 / 46 : 0.42;
  const double a2 = op == "BlackmanWindow" ? 0.08 : 0, a1 = op == "BlackmanWindow" ? 0.5 : 1 - a0;
  const double period = static_cast<double>(is_periodic ? sizes[0] : sizes[0] - 1);
  std::vector<double> elements;
  for (std::int64_t i = 0; i < sizes[0]; ++i) {
    const double t = period == 0 ? 0 : kTau * static_cast<double>(i) / period;
    elements.push_back(a0 - a1 * std::cos(t) + a2 * std::cos(2 * t));
  }
  c.finish_constant(graph::make_tensor({*type, sizes}, elements));
}

// x: [..., n, ..., 1 or 2], the last dimension real and imaginary part. out[k] = sum of x[n]
// exp(-+ i tau k n / N).
static void import_dft(NodeContext& c) {
  const Build b(c);
  const ValueId x = c.input(0);
  const Dims shape = c.type(x).shape;
  const std::int64_t rank = c.rank(x);
  if (rank < 2 || (shape.back() != 1 && shape.back() != 2))
    throw Invalid{"input 0 has shape " + dims_text(shape) +
                  ", expected a last dimension of 1 or 2"};
  std::int64_t axis = c.opset() < 20 ? c.integer("axis", 1) : -2;
  if (c.has_input(2)) {
    const Dims given = c.constant_integers(2, "the axis");
    if (given.size() != 1) throw Invalid{"the axis is not a scalar"};
    axis = given[0];
  }
  axis = NodeContext::resolve_axis(axis, rank);
  if (axis == rank - 1) throw Invalid{"the axis is the last dimension"};
  const bool inverse = c.flag("inverse", false), onesided = c.flag("onesided", false);
  const std::int64_t given = shape[static_cast<std::size_t>(axis)];
  std::int64_t points = given;
  if (c.has_input(1)) {
    const Dims length = c.constant_integers(1, "the length");
    if (length.size() != 1 || length[0] < 1) throw Invalid{"the length is " + dims_text(length)};
    points = length[0];
  }
  if (points > kMostPoints || points < 1)
    throw Unsupported{"transforms " + std::to_string(points) + " points: supported are 1 to " +
                      std::to_string(kMostPoints)};
  if (inverse && onesided) throw Unsupported{"onesided and inverse: supported is one of them"};
  const std::int64_t frequencies = onesided ? points / 2 + 1 : points,
                     used = std::min(points, given);
  // weights[k, part of the output, n, part of the input]
  const std::int64_t parts = shape.back();
  std::vector<double> weights;
  for (std::int64_t k = 0; k < frequencies; ++k) {
    for (int out = 0; out < 2; ++out) {
      for (std::int64_t n = 0; n < used; ++n) {
        const double angle =
            kTau * static_cast<double>(k * n % points) / static_cast<double>(points);
        const double real = std::cos(angle),
                     imaginary = inverse ? std::sin(angle) : -std::sin(angle);
        const double by = inverse ? 1 / static_cast<double>(points) : 1;
        weights.push_back(by * (out == 0 ? real : imaginary));
        if (parts == 2) weights.push_back(by * (out == 0 ? -imaginary : real));
      }
    }
  }
  const ValueId matrix = b.constant(c.type(x).dtype, {frequencies, 2, used, parts}, weights);
  Dims labels;
  for (std::int64_t d = 0; d < rank; ++d) labels.push_back(d);
  graph::EinsumAttributes einsum{{labels, {rank, rank + 1, axis, rank - 1}}, labels};
  einsum.output[static_cast<std::size_t>(axis)] = rank;
  einsum.output.back() = rank + 1;
  c.finish(OpKind::Einsum, einsum, {b.slice(x, axis, 0, used), matrix});
}

Rows signal_rows() {
  static constexpr Row kRows[] = {
      {"BlackmanWindow", 17, import_window, kConstant},
      {"DFT", 17, import_dft, "up to 4096 points"},
      {"HammingWindow", 17, import_window, kConstant},
      {"HannWindow", 17, import_window, kConstant},
  };
  return kRows;
}

}  // namespace polyte::frontend
