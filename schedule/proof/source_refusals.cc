// What a refusal shows is one point. Pairs come as a relation { sink -> source }; wrapped it is a
// set whose points have the parameters, the coordinates of the sink and those of the source, and
// `first_point` takes the smallest of these. The first dim(in) values are then the sink, the rest
// the source:
//
//   { S1[i, k] -> S0[i'] }       point (N; 0, 3, 0):  N=4, S1(i=0, k=3), S0(i'=0)
//
// Sources are named by their tuples (isl_bridge.h, reads.h): "S<i>" a statement, "IN<j>" what a
// buffer holds before the kernel, with the cell as its coordinates, "FILL v" the value of a false
// guard.
#include "schedule/proof/source_refusals.h"

#include "schedule/proof/correspondence.h"

#include <isl/map.h>
#include <isl/set.h>

namespace polyte::schedule {

namespace {

Refusal illegal(std::string headline, Counterexample example) {
  Refusal refusal;
  refusal.kind = RefusalKind::Illegal;
  refusal.headline = std::move(headline);
  refusal.counterexamples.push_back(std::move(example));
  return refusal;
}

// A union has one map per pair of tuples, and one instance is all that a refusal shows.
std::optional<isl::map> first_map(const isl::union_map& maps) {
  std::optional<isl::map> first;
  maps.foreach_map([&](isl::map map) {
    if (!first) first = map;
  });
  return first;
}

}  // namespace

// Sink and source are both instances of the State: a path of updates is one of the schedule's,
// and no instance of the reference stands for its place.
Refusal SourceRefusals::wrong_path(const Sink& sink, const isl::union_map& pairs,
                                   const std::string& headline, const std::string& does) const {
  const isl::map map = *first_map(pairs);
  const Point point = first_point(isl::manage(isl_map_wrap(map.copy())), model_.params);
  const auto own = static_cast<std::size_t>(isl_map_dim(map.get(), isl_dim_in));
  Counterexample c;
  c.sizes = point.params;
  c.size_names = model_.params;
  c.sink = sink_instance(
      sink, {point.values.begin(), point.values.begin() + static_cast<std::ptrdiff_t>(own)});
  c.scheduled = to_string(c.sink) + does + describe(map, point, model_);
  return illegal(headline, c);
}

// Two instances of the State: source and sink of a pair.
Counterexample SourceRefusals::example_of(const isl::map& pairs, Point& point) const {
  point = first_point(isl::manage(isl_map_wrap(pairs.copy())), model_.params);
  const auto own = static_cast<std::ptrdiff_t>(isl_map_dim(pairs.get(), isl_dim_in));
  const auto instance = [&](isl_dim_type side, std::vector<std::int64_t> values) {
    const int at = statement_of_tuple(isl_map_get_tuple_name(pairs.get(), side));
    return make_instance(model_.statements[static_cast<std::size_t>(at)].statement->body, values);
  };
  Counterexample c;
  c.sizes = point.params;
  c.size_names = model_.params;
  c.source = instance(isl_dim_in, {point.values.begin(), point.values.begin() + own});
  c.sink = instance(isl_dim_out, {point.values.begin() + own, point.values.end()});
  return c;
}

// Two updates that continue one value:
//
//   u1 <- u2,  u1 <- u3          what u1 has summed so far is in both
Refusal SourceRefusals::counted_twice(const isl::union_map& pairs) const {
  Point point;
  Counterexample c = example_of(*first_map(pairs), point);
  c.scheduled = to_string(c.source) + " and " + to_string(c.sink) +
                " both go on from one value of " + family_;
  return illegal("a partial sum would be counted twice", c);
}

Refusal SourceRefusals::done_twice(const isl::map& pairs) const {
  Point point;
  Counterexample c = example_of(pairs, point);
  c.scheduled = to_string(c.source) + " and " + to_string(c.sink) + " are one update of " + family_;
  return illegal("an update would be done twice", c);
}

// Twins begin one generation twice, and something continues one of them:
//
//   init(0) <- u1,  init(0)' <- u2      a reader takes u1 or u2, each of which lacks the other
//
// The twins' pair says which instance begins the sum again; a link to a twin says who went on.
Refusal SourceRefusals::cut_in_two(const isl::union_map& twins, const isl::union_map& links) const {
  Point point;
  const isl::map pairs = *first_map(twins);
  Counterexample c = example_of(pairs, point);
  const std::string again = to_string(c.sink);
  const isl::map onward = *first_map(links.intersect_range(to_union(pairs.range())).reverse());
  c = example_of(onward, point);
  c.scheduled = to_string(c.sink) + " does not go on from the others, but from " +
                to_string(c.source) + ", and " + again + " begins the same sum";
  return illegal("a sum would be cut in two", c);
}

// Writes are the last accesses of a statement, so the last one's text is the element updated.
Refusal SourceRefusals::changed_order(int statement, const isl::map& pairs) const {
  Point point;
  Counterexample c = example_of(pairs, point);
  const IslStatement& s = model_.statements[static_cast<std::size_t>(statement)];
  c.watch = cell_text(s.accesses.back().text, s.statement->body, point, 0);
  c.reference = to_string(c.source) + " updates " + c.watch + ", then " + to_string(c.sink);
  c.scheduled = to_string(c.sink) + " comes first";
  return illegal(
      "updates of one element would change their order, and the contract does not let these loops",
      c);
}

std::string SourceRefusals::describe(const isl::map& map, const Point& point,
                                     const IslModel& of) const {
  const char* tuple = isl_map_get_tuple_name(map.get(), isl_dim_out);
  std::string name = tuple ? tuple : "";
  std::vector<std::int64_t> values(point.values.begin() + isl_map_dim(map.get(), isl_dim_in),
                                   point.values.end());
  if (name.rfind("FILL ", 0) == 0) return "the padding value " + name.substr(5);
  std::string cell;
  for (std::int64_t v : values) cell += (cell.empty() ? "" : ", ") + std::to_string(v);
  // IN's coordinates are those of the cell.
  if (name[0] == 'I') return "the input " + family_ + "[" + cell + "]";
  const ir::Statement& s =
      of.statements[static_cast<std::size_t>(std::stoi(name.substr(1)))].statement->body;
  return to_string(make_instance(s, values));
}

// OUT is no statement: its instances are the cells of the result.
Instance SourceRefusals::sink_instance(const Sink& sink,
                                       const std::vector<std::int64_t>& values) const {
  if (sink.statement < 0) {
    Instance out{"the result " + family_, {}};
    for (std::size_t i = 0; i < values.size(); ++i)
      out.iterators.emplace_back("d" + std::to_string(i), values[i]);
    return out;
  }
  return make_instance(model_.statements[static_cast<std::size_t>(sink.statement)].statement->body,
                       values);
}

std::string SourceRefusals::sink_cell(const Sink& sink, const Point& point) const {
  if (sink.statement < 0) return family_;
  const IslStatement& s = model_.statements[static_cast<std::size_t>(sink.statement)];
  return cell_text(s.accesses[static_cast<std::size_t>(sink.read)].text, s.statement->body, point,
                   0);
}

Refusal SourceRefusals::undefined_read(const Sink& sink, const isl::union_set& instances) const {
  Counterexample c;
  instances.foreach_set([&](isl::set set) {
    if (!c.scheduled.empty()) return;
    Point point = first_point(set, model_.params);
    c.sizes = point.params;
    c.size_names = model_.params;
    c.sink = sink_instance(sink, point.values);
    c.watch = sink_cell(sink, point);
    c.scheduled = to_string(c.sink) + " reads " + c.watch + ", which nothing has written";
  });
  return illegal("a value would be read that was never written", c);
}

// The source found is mapped to the reference by the caller, so that both sides are named in the
// words of the Program, and a part of a statement or a copy never appears.
Refusal SourceRefusals::wrong_source(const Sink& sink, const isl::union_map& wrong,
                                     const isl::union_map& expected) const {
  isl::map map = *first_map(wrong);
  Counterexample c;
  Point point = first_point(isl::manage(isl_map_wrap(map.copy())), model_.params);
  Point reader = point;
  reader.values.resize(static_cast<std::size_t>(isl_map_dim(map.get(), isl_dim_in)));
  c.sizes = point.params;
  c.size_names = model_.params;
  c.sink = sink_instance(sink, reader.values);
  c.watch = sink_cell(sink, reader);
  c.scheduled =
      to_string(c.sink) + " reads " + c.watch + " and gets " + describe(map, point, reference_);
  c.reference = to_string(c.sink) + " gets " + expected_source(map, reader, expected);
  return illegal("a read would get another value", c);
}

// What the reference has at the same reader: `expected` at the reader's coordinates and sizes.
std::string SourceRefusals::expected_source(const isl::map& map, const Point& reader,
                                            const isl::union_map& expected) const {
  const isl::set at = only_point(map.get_space().domain(), reader.values, reader.params);
  isl::union_map here = expected.intersect_domain(at);
  std::optional<isl::map> first = first_map(here);
  if (!first) return "nothing";
  Point point = first_point(isl::manage(isl_map_wrap(first->copy())), model_.params);
  return describe(*first, point, reference_);
}

}  // namespace polyte::schedule
