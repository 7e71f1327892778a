// What `polyte deps` tells, against the trace of the interpreter: the same pairs at small sizes,
// none more.
#include "schedule/proof/dependence_report.h"

#include <isl/cpp.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/set.h>

#include <algorithm>

#include "tests/schedule/schedule_testing.h"
#include "tests/schedule/trace_pairs.h"

namespace polyte::schedule::dependence_report_test {
namespace {

// An update that reads other elements of its tensor, and one that is no sum.
constexpr const char* kFactor = R"(program cholesky(N)
  inout A: f64[N, N]
  loop k in 0..N
    D: A[k, k] = sqrt(A[k, k])
    C: A[i, k] = A[i, k] / A[k, k]              for i in k+1..N
    U: A[i, j] += -A[i, k] * A[j, k]            for i in k+1..N, j in k+1..i+1
)";
// A guarded read, a loop that runs downwards, an element that is overwritten.
constexpr const char* kBackwards = R"(program backwards(N)
  inout x: f64[N]
  temp  s: f64[]
  loop u in 0..N step -1
    S: s[] = x[u+1] else 1
    X: x[u] = x[u] - s[]
)";

TracePairs pairs_of_report(const DependenceReport& report, const ir::Values& sizes) {
  TracePairs pairs;
  isl_ctx* ctx = isl_ctx_alloc();
  for (const ReportedDependence& d : report.dependences) {
    isl_map* map = isl_map_read_from_str(ctx, d.relation.c_str());
    REQUIRE(map != nullptr);
    const auto split = static_cast<std::size_t>(isl_map_dim(map, isl_dim_in));
    for (const auto& [name, value] : sizes) {
      const int at = isl_map_find_dim_by_name(map, isl_dim_param, name.c_str());
      if (at >= 0)
        map =
            isl_map_fix_si(map, isl_dim_param, static_cast<unsigned>(at), static_cast<int>(value));
    }
    isl_set* set = isl_set_reset_tuple_id(isl_set_flatten(isl_map_wrap(map)));
    set = isl_set_project_out(set, isl_dim_param, 0,
                              static_cast<unsigned>(isl_set_dim(set, isl_dim_param)));
    const isl::set points = isl::manage(set);
    points.foreach_point([&](const isl::point& point) {
      std::vector<std::int64_t> from, to;
      for (isl_size i = 0; i < isl_set_dim(points.get(), isl_dim_set); ++i) {
        isl_val* value =
            isl_point_get_coordinate_val(point.get(), isl_dim_set, static_cast<int>(i));
        (from.size() < split ? from : to).push_back(isl_val_get_num_si(value));
        isl_val_free(value);
      }
      pairs.insert({d.kind, d.source, d.sink, d.tensor, d.reduction, from, to});
    });
  }
  isl_ctx_free(ctx);
  return pairs;
}

std::string text_of(const TracePair& pair) {
  const auto& [kind, source, sink, tensor, reduction, from, to] = pair;
  std::string text = kind + (reduction ? " (reduction) " : " ") + source;
  for (const std::int64_t value : from) text += " " + std::to_string(value);
  text += " -> " + sink;
  for (const std::int64_t value : to) text += " " + std::to_string(value);
  return text + " through " + tensor;
}

void compare(const std::string& program, const ir::Values& sizes) {
  const auto open = std::make_shared<const ir::Program>(ir::parse_program(program, "test"));
  const auto bound = bound_program(program, sizes);
  const DependenceReport report = report_dependences(open, Pairs::Direct);
  const TracePairs expected = pairs_of_trace(*bound, true), got = pairs_of_report(report, sizes);
  CHECK(!expected.empty());
  for (const TracePair& pair : expected)
    CHECK_MESSAGE(got.contains(pair), "missing: " << text_of(pair));
  for (const TracePair& pair : got)
    CHECK_MESSAGE(expected.contains(pair), "too many: " << text_of(pair));
}

const ReportedDependence& find(const DependenceReport& report, const std::string& kind,
                               const std::string& source, const std::string& sink) {
  for (const ReportedDependence& d : report.dependences)
    if (d.kind == kind && d.source == source && d.sink == sink) return d;
  throw std::runtime_error("no such dependence");
}

std::vector<std::string> distances(const ReportedDependence& d) {
  std::vector<std::string> all;
  for (const auto& distance : d.distances) {
    std::string text;
    for (const DistanceRange& range : distance)
      text += (text.empty() ? "" : " ") + to_string(range);
    all.push_back(text);
  }
  return all;
}

DependenceReport report_of(const char* text, Pairs pairs = Pairs::Direct) {
  return report_dependences(std::make_shared<const ir::Program>(ir::parse_program(text, "test")),
                            pairs);
}

}  // namespace

TEST_CASE("direct dependences are those of the interpreter's trace") {
  compare(kSweeps, {{"T", 3}, {"N", 6}});
  compare(kFactor, {{"N", 5}});
  compare(kDense, {{"M", 2}, {"K", 4}});
  compare(kBackwards, {{"N", 5}});
}

TEST_CASE(
    "all dependences are those of the trace, where one kind stands for what an update does to its "
    "element") {
  for (const auto& [text, sizes] : {std::pair{kSweeps, ir::Values{{"T", 3}, {"N", 6}}},
                                    {kFactor, ir::Values{{"N", 5}}},
                                    {kBackwards, ir::Values{{"N", 5}}}}) {
    TracePairs expected, got;
    for (const auto& [kind, source, sink, tensor, reduction, from, to] :
         pairs_of_trace(*bound_program(text, sizes), false))
      expected.insert({"", source, sink, tensor, false, from, to});
    for (const auto& [kind, source, sink, tensor, reduction, from, to] :
         pairs_of_report(report_of(text, Pairs::All), sizes))
      got.insert({"", source, sink, tensor, false, from, to});
    CHECK(expected == got);
  }
}

TEST_CASE("distances: each by itself where there are few, without a bound where they grow") {
  const DependenceReport jacobi = report_of(kSweeps);
  CHECK(distances(find(jacobi, "flow", "B", "A")) ==
        std::vector<std::string>{"0 -1", "0 0", "0 1"});
  CHECK(distances(find(jacobi, "output", "B", "B")) == std::vector<std::string>{"1 0"});
  CHECK(distances(find(report_of(kFactor), "flow", "C", "U")) == std::vector<std::string>{"0 >=0"});
  CHECK(distances(find(report_of(kSweeps, Pairs::All), "flow", "B", "A")) ==
        std::vector<std::string>{">=0 -1..1"});
  CHECK(find(report_of(kDense), "flow", "acc.init", "acc.update").loops ==
        std::vector<std::string>{"m"});
}

TEST_CASE("the example is at the smallest sizes, and a read that nobody overtakes is none") {
  const ReportedDependence d = find(report_of(kFactor), "flow", "C", "U");
  CHECK(to_string(d.from) == "C(k=0, i=1)");
  CHECK(to_string(d.to) == "U(k=0, i=1, j=1)");
  CHECK(d.cell == "A[1, 0]");
  CHECK(d.sizes == ir::Values{{"N", 2}});
  const DependenceReport none =
      report_of("program f(N)\n  in x: f32[N]\n  out y: f32[N]\n  S: y[i] = x[i]\n");
  CHECK(none.dependences.empty());
}

TEST_CASE("names that isl's reader would take for its own words are changed, each still another") {
  const DependenceReport report = report_of(R"(program f(min, N)
  in  x: f32[N, min]
  out y: f32[N]
  out a_b: f32[N]
  a.b: y[mod] = x[mod, max] for mod in 0..N, max in 0..1
  a_b: a_b[not] = y[not] for not in 0..N
)");
  isl_ctx* ctx = isl_ctx_alloc();
  isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
  for (const ReportedStatement& s : report.statements)
    for (const std::string& text : {s.domain, s.order}) {
      CAPTURE(text);
      isl_union_map* map = isl_union_map_read_from_str(ctx, text.c_str());
      isl_union_set* set = map ? nullptr : isl_union_set_read_from_str(ctx, text.c_str());
      CHECK((map != nullptr || set != nullptr));
      isl_union_map_free(map);
      isl_union_set_free(set);
    }
  isl_ctx_free(ctx);
  CHECK(report.statements.at(0).isl_name != report.statements.at(1).isl_name);
}

TEST_CASE("subscripts that are read at run time are reported as such") {
  const DependenceReport report = report_of(R"(program histogram(N, B)
  in  at: i32[N]
  out h: i32[B]
  Z: h[b] = 0
  U: h[at[n]] += 1 for n in 0..N
)");
  CHECK(!find(report, "flow", "Z", "U").exact);
  CHECK(distances(find(report, "flow", "U", "U")) == std::vector<std::string>{">=1"});
}

}  // namespace polyte::schedule::dependence_report_test
