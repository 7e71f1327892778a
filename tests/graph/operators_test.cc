// Values of operators that no conformance case pins down: accuracy, ties, NaN, duplicates; and that
// random graphs reach all operators that they are meant to.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "graph/evaluate.h"
#include "graph/random_graph.h"
#include "support/stable_sort.h"

using namespace polyte;
using namespace polyte::graph;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(),
                 kInfinity = std::numeric_limits<double>::infinity();

// Outputs of one node on these operands.
std::vector<Tensor> run(OpKind op, const Attributes& attributes,
                        const std::vector<Tensor>& operands, int outputs = 1) {
  Graph graph;
  std::vector<ValueId> inputs;
  for (const Tensor& operand : operands) inputs.push_back(graph.add_input("x", operand.type));
  const std::vector<std::string> names(static_cast<std::size_t>(outputs), "y");
  const NodeId node = graph.add_node("n", op, attributes, inputs, names);
  graph.outputs = graph.node(node).outputs;
  return evaluate_graph(graph, operands);
}

Tensor list(const std::vector<double>& elements, DType type = DType::F64) {
  return make_tensor({type, {static_cast<std::int64_t>(elements.size())}}, elements);
}

double ulps(double got, double expected) {
  if (got == expected || (std::isnan(got) && std::isnan(expected))) return 0;
  const double next = std::nextafter(std::fabs(expected), kInfinity);
  return std::fabs(got - expected) / (next - std::fabs(expected));
}

struct Function {
  OpKind op;
  double (*reference)(double);
  double from, to;
};

const Function kFunctions[] = {
    {OpKind::Tan, std::tan, -1.5, 1.5},        {OpKind::Asin, std::asin, -1, 1},
    {OpKind::Acos, std::acos, -1, 1},          {OpKind::Atan, std::atan, -40, 40},
    {OpKind::Sinh, std::sinh, -30, 30},        {OpKind::Cosh, std::cosh, -30, 30},
    {OpKind::Asinh, std::asinh, -40, 40},      {OpKind::Acosh, std::acosh, 1, 40},
    {OpKind::Atanh, std::atanh, -0.999, 0.999}};

}  // namespace

TEST_CASE(
    "a cumulative sum in blocks of any length is that of its definition, empty axes included") {
  const std::int64_t outer = 2, inner = 3;
  for (const std::int64_t extent : {0, 1, 2, 3, 7, 12})
    for (std::int64_t block = 0; block <= extent / 2; ++block)
      for (const bool exclusive : {false, true})
        for (const bool reverse : {false, true}) {
          const TensorType type{DType::I32, {outer, extent, inner}};
          std::vector<double> elements(static_cast<std::size_t>(outer * extent * inner)),
              expected(elements.size());
          const auto at = [&](std::int64_t o, std::int64_t place, std::int64_t i) {
            return static_cast<std::size_t>(
                (o * extent + (reverse ? extent - 1 - place : place)) * inner + i);
          };
          for (std::size_t e = 0; e < elements.size(); ++e)
            elements[e] = static_cast<double>((e * 7) % 11) - 5;
          for (std::int64_t o = 0; o < outer; ++o)
            for (std::int64_t i = 0; i < inner; ++i) {
              double sum = 0;
              for (std::int64_t place = 0; place < extent; ++place) {
                const double next = sum + elements[at(o, place, i)];
                expected[at(o, place, i)] = exclusive ? sum : next;
                sum = next;
              }
            }
          CAPTURE(extent);
          CAPTURE(block);
          CAPTURE(exclusive);
          CAPTURE(reverse);
          const CumSumAttributes sum{1, exclusive, reverse, block};
          CHECK(elements_as_real(run(OpKind::CumSum, sum, {make_tensor(type, elements)})[0]) ==
                expected);
        }
}

TEST_CASE(
    "trigonometric functions are within 16 ULP in f64 and 1 in f32, small arguments included") {
  for (const Function& f : kFunctions) {
    std::vector<double> at;
    for (int i = 0; i <= 400; ++i) at.push_back(f.from + (f.to - f.from) * i / 400);
    if (f.from < 0) {
      for (double x = 1e-300; x < 0.1; x *= 1e7) at.insert(at.end(), {x, -x});
    }
    CAPTURE(to_string(f.op));
    const std::vector<double> wide = elements_as_real(run(f.op, NoAttributes{}, {list(at)})[0]);
    const std::vector<double> short_at = elements_as_real(list(at, DType::F32));
    const std::vector<double> narrow =
        elements_as_real(run(f.op, NoAttributes{}, {list(at, DType::F32)})[0]);
    for (std::size_t i = 0; i < at.size(); ++i) {
      CAPTURE(at[i]);
      CHECK(ulps(wide[i], f.reference(at[i])) <= 16);
      const auto rounded = static_cast<float>(f.reference(short_at[i]));
      const float above = std::nextafter(rounded, std::numeric_limits<float>::infinity());
      CHECK(std::fabs(narrow[i] - static_cast<double>(rounded)) <=
            static_cast<double>(above - rounded));
    }
  }
}

TEST_CASE("trigonometric functions at the ends of their domains") {
  const auto value = [](OpKind op, double x) {
    return elements_as_real(run(op, NoAttributes{}, {list({x})})[0])[0];
  };
  CHECK(value(OpKind::Atan, kInfinity) == doctest::Approx(1.5707963267948966));
  CHECK(value(OpKind::Atan, -kInfinity) == doctest::Approx(-1.5707963267948966));
  CHECK(value(OpKind::Asin, 1) == doctest::Approx(1.5707963267948966));
  CHECK(value(OpKind::Acos, -1) == doctest::Approx(3.1415926535897931));
  CHECK(value(OpKind::Acos, 1) == 0);
  CHECK(std::isnan(value(OpKind::Asin, 1.5)));
  CHECK(std::isnan(value(OpKind::Acosh, 0.5)));
  CHECK(value(OpKind::Acosh, 1) == 0);
  CHECK(value(OpKind::Atanh, 1) == kInfinity);
  CHECK(value(OpKind::Atanh, -1) == -kInfinity);
  CHECK(value(OpKind::Sinh, 710.2) == doctest::Approx(std::sinh(710.2)));
  CHECK(value(OpKind::Cosh, 1000) == kInfinity);
  CHECK(value(OpKind::Sinh, -1000) == -kInfinity);
  CHECK(value(OpKind::Asinh, 1e300) == doctest::Approx(std::asinh(1e300)));
  CHECK(std::signbit(value(OpKind::Sinh, -0.0)));
  CHECK(std::isnan(value(OpKind::Atan, kNaN)));
}

TEST_CASE("windows that are longer than their input cost what the input does") {
  // alpha / size and beta are 1: x / (1 + the sum of all squares), as every channel is a neighbour
  // of every other.
  const Tensor channels = make_tensor({DType::F64, {1, 3}}, {1, 2, -3});
  for (const std::int64_t size :
       {std::int64_t{101}, std::int64_t{1} << 32, (std::int64_t{1} << 40) + 1}) {
    const LrnAttributes lrn{.alpha = static_cast<double>(size), .beta = 1, .bias = 1, .size = size};
    CHECK(elements_as_real(run(OpKind::LRN, lrn, {channels})[0]) ==
          std::vector<double>{1.0 / 15, 2.0 / 15, -0.2});
  }
  const Tensor row = make_tensor({DType::F64, {1, 1, 3}}, {6, -3, 9});
  const std::int64_t most = std::int64_t{1} << 17;
  const Window window{{most}, {1}, {1}, {most - 1}, {most - 1}};
  const std::vector<Tensor> top = run(OpKind::MaxPool, PoolAttributes{.window = window}, {row}, 2);
  const std::vector<double> average =
      elements_as_real(run(OpKind::AveragePool, PoolAttributes{.window = window}, {row})[0]);
  const std::vector<double> greatest = elements_as_real(top[0]);
  REQUIRE(average.size() == static_cast<std::size_t>(most + 2));
  const std::vector<double> ends{6, 1.5, 4, 4, 3, 9}, tops{6, 6, 9, 9, 9, 9};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(average[i] == ends[i]);
    CHECK(average[average.size() - 3 + i] == ends[i + 3]);
    CHECK(greatest[i] == tops[i]);
    CHECK(greatest[greatest.size() - 3 + i] == tops[i + 3]);
  }
  CHECK(elements_as_int(top[1])[1] == 0);
  CHECK(elements_as_int(top[1])[2] == 2);
  // One window over all: few taps where the stride leaves no other.
  const Window all{{most}, {most}, {1}, {most - 2}, {most - 2}};
  CHECK(elements_as_real(run(OpKind::AveragePool, PoolAttributes{.window = all}, {row})[0]) ==
        std::vector<double>{1.5});
}

TEST_CASE("activations of several steps round a short float once") {
  std::vector<double> at;
  for (int i = -400; i <= 400; ++i) at.push_back(i / 64.0);
  for (const DType type : {DType::BF16, DType::F16}) {
    const Tensor narrow = list(at, type);
    const Tensor wide = run(OpKind::Cast, CastAttributes{DType::F32}, {narrow})[0];
    for (const OpKind op : {OpKind::Celu, OpKind::Elu, OpKind::Selu, OpKind::HardSigmoid,
                            OpKind::Softplus, OpKind::Softsign, OpKind::Mish, OpKind::HardSwish}) {
      const bool plain = op == OpKind::Softplus || op == OpKind::Softsign || op == OpKind::Mish ||
                         op == OpKind::HardSwish;
      const Attributes attributes =
          plain ? Attributes(NoAttributes{}) : Attributes(ActivationAttributes{1.3, 0.7});
      const Tensor rounded =
          run(OpKind::Cast, CastAttributes{type}, run(op, attributes, {wide}))[0];
      CHECK(elements_as_real(run(op, attributes, {narrow})[0]) == elements_as_real(rounded));
    }
  }
}

TEST_CASE("a reduction over no axes computes as wide as one over axes") {
  const Tensor x = list({300}, DType::F16);  // whose square is no f16
  for (const Dims& axes : {Dims{}, Dims{0}})
    CHECK(elements_as_real(run(OpKind::ReduceL2, ReduceAttributes{axes, true}, {x})[0]) ==
          std::vector<double>{300});
}

TEST_CASE("TopK: ties keep the lower index, NaN is above all numbers") {
  const TopKAttributes largest{0, 4, true}, smallest{0, 3, false};
  const Tensor x = list({2, 7, kNaN, 7, -kInfinity, 2});
  const auto top = run(OpKind::TopK, largest, {x}, 2);
  CHECK(elements_as_int(top[1]) == Dims{2, 1, 3, 0});
  CHECK(std::isnan(elements_as_real(top[0])[0]));
  CHECK(elements_as_int(run(OpKind::TopK, smallest, {x}, 2)[1]) == Dims{4, 0, 5});
  CHECK(elements_as_real(run(OpKind::TopK, smallest, {list({3, -1, 200, 0}, DType::I32)})[0]) ==
        std::vector<double>{-1, 0, 3});
}

// Elements from one to the next along an axis.
std::size_t stride_of(const Dims& shape, std::size_t axis) {
  const Dims inner(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end());
  return static_cast<std::size_t>(element_count(inner));
}

// What comes first, by sorting.
Dims sorted_places(const std::vector<double>& x, bool largest, std::size_t k) {
  const auto is_above = [](double a, double b) {
    return a > b || (std::isnan(a) && !std::isnan(b));
  };
  Dims places(x.size());
  std::iota(places.begin(), places.end(), 0);
  sort_stably(places, [&](std::int64_t i, std::int64_t j) {
    const double a = x[static_cast<std::size_t>(i)], b = x[static_cast<std::size_t>(j)];
    return largest ? is_above(a, b) : is_above(b, a);
  });
  places.resize(k);
  return places;
}

TEST_CASE("ArgMax and ArgMin: the first or the last of equal values, and NaN before all numbers") {
  const auto place = [](OpKind op, bool is_last, const Tensor& x) {
    return elements_as_int(run(op, ArgAttributes{0, false, is_last}, {x})[0])[0];
  };
  const Tensor ties = list({2, 7, -3, 7, -3}), nan = list({2, kNaN, 7, kNaN}),
               lowest = list({-kInfinity, -kInfinity}), zeros = list({-0.0, 0}),
               whole = list({5, 5, -9, -9}, DType::I64);
  for (const bool is_last : {false, true}) {
    CAPTURE(is_last);
    CHECK(place(OpKind::ArgMax, is_last, ties) == (is_last ? 3 : 1));
    CHECK(place(OpKind::ArgMin, is_last, ties) == (is_last ? 4 : 2));
    for (const OpKind op : {OpKind::ArgMax, OpKind::ArgMin}) {
      CHECK(place(op, is_last, nan) == (is_last ? 3 : 1));
      CHECK(place(op, is_last, lowest) == (is_last ? 1 : 0));
      CHECK(place(op, is_last, zeros) == (is_last ? 1 : 0));
    }
    CHECK(place(OpKind::ArgMax, is_last, whole) == (is_last ? 1 : 0));
    CHECK(place(OpKind::ArgMin, is_last, whole) == (is_last ? 3 : 2));
  }
}

// Up to eight of them one by one; twelve of 17 by counting, of more by a tournament.
TEST_CASE("TopK of many elements: as sorting has it") {
  const std::vector<double> kinds = {1, kNaN, -kInfinity, kInfinity, -0.0, 0, 2, -5};
  for (const std::size_t n : {17, 36, 64, 101})  // with whole blocks and without
    for (const std::size_t different : {1, 2, 8})
      for (const std::size_t k : {1, 3, 9, 12})
        for (const bool largest : {true, false}) {
          CAPTURE(n);
          CAPTURE(different);
          CAPTURE(k);
          CAPTURE(largest);
          std::vector<double> x(n), whole(n);
          std::uint64_t random = n * different + k;
          for (std::size_t i = 0; i < n; ++i) {
            random = random * 6364136223846793005ULL + 1442695040888963407ULL;
            x[i] = kinds[(random >> 33) % different + (different == 1 ? 1 : 0)];
            whole[i] = static_cast<double>((random >> 33) % 12) - 6;
          }
          const TopKAttributes attributes{0, static_cast<std::int64_t>(k), largest};
          const auto found = run(OpKind::TopK, attributes, {list(x)}, 2);
          const Dims places = sorted_places(x, largest, k);
          CHECK(elements_as_int(found[1]) == places);
          for (std::size_t j = 0; j < k; ++j) {
            const double value = elements_as_real(found[0])[j],
                         wanted = x[static_cast<std::size_t>(places[j])];
            CHECK((value == wanted || (std::isnan(value) && std::isnan(wanted))));
          }
          CHECK(elements_as_int(run(OpKind::TopK, attributes, {list(whole, DType::I32)}, 2)[1]) ==
                sorted_places(whole, largest, k));
        }
}

TEST_CASE("TopK one by one and by tournaments, along any axis of any rank") {
  for (std::size_t test = 0; test < 12; ++test)
    for (std::size_t rank = 1 + test / 2, axis = 0; axis < rank; ++axis) {
      const std::size_t k = test % 2 == 0 ? 2 : 12;
      CAPTURE(k);
      CAPTURE(rank);
      CAPTURE(axis);
      Dims shape(rank, 2);
      shape[axis] = 64;
      std::vector<double> x(static_cast<std::size_t>(element_count(shape)));
      std::iota(x.begin(), x.end(), 0);
      const TopKAttributes attributes{static_cast<std::int64_t>(axis), static_cast<std::int64_t>(k),
                                      true};
      const Tensor top = run(OpKind::TopK, attributes, {make_tensor({DType::F32, shape}, x)}, 2)[0];
      // Elements grow along every axis: the last of the axis comes first.
      CHECK(elements_as_real(top).back() == x.at(x.size() - 1 - (k - 1) * stride_of(shape, axis)));
    }
}

TEST_CASE("tensors that have the names of an operator's iterators") {
  for (const std::string name :
       {"b", "f", "h", "i", "j", "k", "m", "n", "p", "r", "t", "w", "ci", "bi", "bo", "i0", "s1"}) {
    std::vector<double> x(80);
    std::iota(x.begin(), x.end(), 0);
    for (const std::int64_t k : {2, 12}) {
      Graph graph;
      const ValueId input = graph.add_input(name, list(x).type);
      const NodeId node = graph.add_node("n", OpKind::TopK, TopKAttributes{0, k, true}, {input},
                                         {name + "_", "places"});
      graph.outputs = graph.node(node).outputs;
      const auto top = evaluate_graph(graph, std::vector{list(x)});
      CAPTURE(name);
      CHECK(elements_as_int(top[1]).front() == 79);
      CHECK(elements_as_int(top[1]).back() == 80 - k);
    }
  }
}

TEST_CASE(
    "scatter: the last of several updates stays, reductions see all, negative indices count from "
    "the end") {
  const Tensor x = list({0, 10, 20}), at = make_int64s({1, -2, 1}), updates = list({5, 6, 7});
  const auto scattered = [&](ScatterReduction reduction) {
    return elements_as_real(
        run(OpKind::ScatterElements, ScatterAttributes{0, reduction}, {x, at, updates})[0]);
  };
  CHECK(scattered(ScatterReduction::None) == std::vector<double>{0, 7, 20});
  CHECK(scattered(ScatterReduction::Add) == std::vector<double>{0, 28, 20});
  CHECK(scattered(ScatterReduction::Mul) == std::vector<double>{0, 2100, 20});
  CHECK(scattered(ScatterReduction::Max) == std::vector<double>{0, 10, 20});
  CHECK(scattered(ScatterReduction::Min) == std::vector<double>{0, 5, 20});
}

TEST_CASE("Einsum: diagonals, sums and broadcast labels") {
  const Tensor square = make_tensor({DType::F64, {3, 3}}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(elements_as_real(run(OpKind::Einsum, EinsumAttributes{{{0, 0}}, {0}}, {square})[0]) ==
        std::vector<double>{1, 5, 9});
  CHECK(elements_as_real(run(OpKind::Einsum, EinsumAttributes{{{0, 0}}, {}}, {square})[0]) ==
        std::vector<double>{15});
  CHECK(elements_as_real(run(OpKind::Einsum, EinsumAttributes{{{0, 1}, {0}}, {1}},
                             {square, list({10})})[0]) == std::vector<double>{120, 150, 180});
}

TEST_CASE("Mod of floats: the sign of the dividend, exact while the quotient is") {
  const std::vector<double> a = {5.5, -5.5, 5.5, 1e15, 0.3, 7}, b = {2, 2, -2, 7, 0.1, kInfinity};
  const auto got = elements_as_real(run(OpKind::Mod, NoAttributes{}, {list(a), list(b)})[0]);
  for (std::size_t i = 0; i + 1 < a.size(); ++i) CHECK(got[i] == std::fmod(a[i], b[i]));
}

TEST_CASE(
    "random graphs draw from every operator that can be compared exactly, and from some that "
    "cannot") {
  std::set<OpKind> seen;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    for (const Node& node : random_graph(seed, {.most_nodes = 16, .most_elements = 512}).nodes)
      seen.insert(node.op);
  }
  for (const OpKind op : {OpKind::Sign,
                          OpKind::Round,
                          OpKind::LeakyRelu,
                          OpKind::HardSigmoid,
                          OpKind::Clip,
                          OpKind::Cast,
                          OpKind::Mul,
                          OpKind::Mod,
                          OpKind::PRelu,
                          OpKind::Where,
                          OpKind::Equal,
                          OpKind::And,
                          OpKind::Not,
                          OpKind::Reshape,
                          OpKind::Transpose,
                          OpKind::Concat,
                          OpKind::Slice,
                          OpKind::Pad,
                          OpKind::Expand,
                          OpKind::Tile,
                          OpKind::Gather,
                          OpKind::GatherElements,
                          OpKind::GatherND,
                          OpKind::ScatterElements,
                          OpKind::ScatterND,
                          OpKind::Trilu,
                          OpKind::ReduceSum,
                          OpKind::ReduceProd,
                          OpKind::ReduceSumSquare,
                          OpKind::ArgMax,
                          OpKind::CumSum,
                          OpKind::TopK,
                          OpKind::Recurrence,
                          OpKind::MatMul,
                          OpKind::Gemm,
                          OpKind::Einsum,
                          OpKind::Conv,
                          OpKind::ConvTranspose,
                          OpKind::STFT,
                          OpKind::MaxPool,
                          OpKind::AveragePool,
                          OpKind::GlobalAveragePool,
                          OpKind::BatchNormalization,
                          OpKind::LayerNormalization,
                          OpKind::InstanceNormalization,
                          OpKind::Softmax,
                          OpKind::Hardmax,
                          OpKind::Atan}) {
    CAPTURE(to_string(op));
    CHECK(seen.contains(op));
  }
}
