// Windows, the discrete Fourier transform and that of the frames of a signal, whose coefficients
// are known at compile time.
#include <algorithm>
#include <cmath>
#include <complex>

#include "frontend/importers/build.h"
#include "frontend/importers/table.h"
#include "frontend/onnx_tensor.h"
#include "support/error.h"

namespace polyte::frontend {

namespace {

constexpr double kTau = 6.28318530717958647693;
// The transform is a product with a matrix of its squared size.
constexpr std::int64_t kMostPoints = 1 << 12;

void expect_points(std::int64_t points) {
  if (points > kMostPoints || points < 1)
    throw Unsupported{"transforms " + std::to_string(points) + " points: supported are 1 to " +
                      std::to_string(kMostPoints)};
}

// exp(-i tau k n / points) is element k * n % points; those on an axis are exact.
std::vector<std::complex<double>> roots_of_unity(std::int64_t points) {
  static constexpr std::complex<double> kOnAxes[] = {{1, 0}, {0, -1}, {-1, 0}, {0, 1}};
  std::vector<std::complex<double>> roots;
  for (std::int64_t i = 0; i < points; ++i) {
    const double angle = kTau * static_cast<double>(i) / static_cast<double>(points);
    roots.push_back(4 * i % points == 0 ? kOnAxes[4 * i / points]
                                        : std::complex(std::cos(angle), -std::sin(angle)));
  }
  return roots;
}

// A scalar, or a list of one, that is positive.
std::int64_t positive_number(const NodeContext& c, std::size_t i, const char* role) {
  const Dims given = c.constant_integers(i, role);
  if (given.size() == 1 && given[0] >= 1) return given[0];
  throw Invalid{"input " + std::to_string(i) + " (" + role + ") is " +
                (given.size() == 1 ? std::to_string(given[0]) : dims_text(given)) +
                ", expected one positive number"};
}

// From the operands: signal, step, window, length.
std::int64_t frame_length(const NodeContext& c, const TensorType& signal) {
  std::int64_t length = signal.shape[1];
  const bool has_window = c.has_input(2);
  const TensorType window = has_window ? c.type(c.input(2)) : TensorType{signal.dtype, {length}};
  if (c.has_input(3))
    length = positive_number(c, 3, "the frame length");
  else if (has_window && window.shape.size() == 1)
    length = window.shape[0];
  if (has_window && window != TensorType{signal.dtype, {length}})
    throw Invalid{"input 2 (the window) is " + to_string(window) + ", expected " +
                  to_string(TensorType{signal.dtype, {length}})};
  expect_points(length);
  return length;
}

// Rows [sample of a frame, part of the signal]; columns real and imaginary part of each frequency.
std::vector<double> frame_matrix(const std::vector<double>& window, std::int64_t parts,
                                 std::int64_t frequencies) {
  const auto points = static_cast<std::int64_t>(window.size());
  const auto roots = roots_of_unity(points);
  std::vector<double> elements;
  elements.reserve(static_cast<std::size_t>(2 * points * parts * frequencies));
  for (std::int64_t n = 0; n < points; ++n) {
    for (std::int64_t part = 0; part < parts; ++part) {
      for (std::int64_t k = 0; k < frequencies; ++k) {
        const auto root = roots[static_cast<std::size_t>(k * n % points)];
        // The imaginary part of the signal is multiplied by i * root.
        const auto of_part = part == 0 ? root : std::complex(-root.imag(), root.real());
        const double weight = window[static_cast<std::size_t>(n)];
        elements.insert(elements.end(), {weight * of_part.real(), weight * of_part.imag()});
      }
    }
  }
  return elements;
}

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
  expect_points(points);
  if (inverse && onesided) throw Unsupported{"onesided and inverse: supported is one of them"};
  const std::int64_t frequencies = onesided ? points / 2 + 1 : points,
                     used = std::min(points, given);
  // weights[k, part of the output, n, part of the input]
  const std::int64_t parts = shape.back();
  const auto roots = roots_of_unity(points);
  std::vector<double> weights;
  for (std::int64_t k = 0; k < frequencies; ++k) {
    for (int out = 0; out < 2; ++out) {
      for (std::int64_t n = 0; n < used; ++n) {
        const auto root = roots[static_cast<std::size_t>(k * n % points)];
        // The inverse transform has the conjugate roots, and 1 / N.
        const double real = root.real(), imaginary = inverse ? -root.imag() : root.imag();
        const double by = inverse ? 1 / static_cast<double>(points) : 1;
        weights.push_back(by * (out == 0 ? real : imaginary));
        // (a + b i) (re + im i) = (a re - b im) + (a im + b re) i
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

// signal: [batch, samples] or [batch, samples, 1 or 2], frames a step apart: out[f, k] = sum of
// window[n] x[f step + n] exp(-i tau k n / N), a product of each frame with the matrix of a DFT, in
// which the window is.
static void import_stft(NodeContext& c) {
  const Build b(c);
  Dims shape = c.type(c.input(0)).shape;
  if (shape.size() == 2) shape.push_back(1);
  if (shape.size() != 3 || (shape[2] != 1 && shape[2] != 2))
    throw Invalid{"input 0 has shape " + dims_text(c.type(c.input(0)).shape) +
                  ", expected [batch, samples] and perhaps a last dimension of 1 or 2"};
  const ValueId signal = c.reshape(c.input(0), shape);
  // A step beyond the signal gives one frame, as one of its length does.
  const std::int64_t step =
      std::min(positive_number(c, 1, "the frame step"), std::max<std::int64_t>(shape[1], 1));
  const std::int64_t length = frame_length(c, c.type(signal)),
                     frequencies = c.flag("onesided", true) ? length / 2 + 1 : length;
  const DType sums = c.type(signal).dtype == DType::F64 ? DType::F64 : DType::F32;
  const bool has_window = c.has_input(2), is_known = has_window && c.is_constant(2);
  const std::vector<double> window = is_known
                                         ? graph::elements_as_real(c.constant(2, "the window"))
                                         : std::vector<double>(static_cast<std::size_t>(length), 1);
  ValueId matrix = b.constant(sums, {length, shape[2], 2 * frequencies},
                              frame_matrix(window, shape[2], frequencies));
  if (has_window && !is_known)
    matrix = b.mul(matrix, c.reshape(c.cast(c.input(2), sums), {length, 1, 1}));
  const ValueId spectra = c.emit(OpKind::STFT, graph::StftAttributes{step}, {signal, matrix});
  const Dims& rows = c.type(spectra).shape;
  c.finish(OpKind::Reshape, graph::ShapeAttributes{{rows[0], rows[1], frequencies, 2}}, {spectra});
}

Rows signal_rows() {
  static constexpr Row kRows[] = {
      {"BlackmanWindow", 17, import_window, kConstant},
      {"DFT", 17, import_dft, "up to 4096 points"},
      {"HammingWindow", 17, import_window, kConstant},
      {"HannWindow", 17, import_window, kConstant},
      {"STFT", 17, import_stft,
       "up to 4096 points, frame_step and frame_length are constants or given with --value"},
  };
  return kRows;
}

}  // namespace polyte::frontend
