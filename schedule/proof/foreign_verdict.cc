// Judging a schedule of another tool, in this order, as each question needs the ones before it:
//
//   instances   every instance of the Program has exactly one time; a tree adds none
//   order       time(source) < time(sink) for every dependence, lexicographically and strictly
//   sets        the same for every order of the children of a set node, which the numbers that
//               isl_tree_reader.cc gives them do not try
//   marks       `permutable` and `coincident` of each band, since other tools act on them
//
// Dependences are those of the reference, by memory: what they keep is enough for equal values.
#include <isl/aff.h>
#include <isl/local_space.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/union_map.h>

#include <algorithm>

#include "schedule/proof/foreign_schedule_impl.h"
#include "schedule/proof/isl_faults.h"
#include "schedule/state/contract.h"

namespace polyte::schedule {
namespace {

constexpr std::uint64_t kVerdictQuota = 100'000'000;  // isl operations of a judgement

using Impl = ForeignSchedule::Impl;

// { x -> y : source(x) >= sink(y) }: equal times are wrong too, since nothing orders them.
isl::map late_pairs(const isl::map& source, const isl::map& sink) {
  return isl::manage(isl_map_lex_ge_map(source.copy(), sink.copy()));
}

std::string numbers(const std::vector<std::int64_t>& values) {
  std::string text = "[";
  for (const std::int64_t value : values)
    text += (text.size() > 1 ? ", " : "") + std::to_string(value);
  return text + "]";
}

// What a map gives an instance at these sizes, in brackets. `first`: where the instance's
// coordinates begin in the point, 0 for the source of a pair, behind the source's for its sink.
std::string image_text(const isl::map& map, const Point& at, std::size_t first) {
  const isl::set image =
      only_point(map.get_space().domain(), std::span(at.values).subspan(first), at.params)
          .apply(map);
  return image.is_empty() ? "no time" : numbers(first_point(image, {}).values);
}

// Those of the pairs that exist at sizes with the smallest sum. A point minimises its sizes one
// after the other (first_point): with (M=1, N=900) and (M=3, N=3) it would show the former.
//
//   sizes become leading dimensions;  least = min of M + N;  pairs where M + N = least
isl::map at_smallest_sizes(const isl::map& pairs) {
  const auto sizes = static_cast<unsigned>(isl_map_dim(pairs.get(), isl_dim_param));
  if (sizes == 0) return pairs;
  isl_set* all = isl_set_reset_tuple_id(isl_set_flatten(isl_map_wrap(pairs.copy())));
  all = isl_set_move_dims(all, isl_dim_set, 0, isl_dim_param, 0, sizes);
  const isl::set points = isl::manage(all);
  const auto sum_over = [](isl_space* space, isl_dim_type type, unsigned count) {
    isl_aff* sum = isl_aff_zero_on_domain(isl_local_space_from_space(space));
    for (unsigned d = 0; d < count; ++d)
      sum = isl_aff_add(sum, isl_aff_var_on_domain(isl_aff_get_domain_local_space(sum), type, d));
    return isl::manage(sum);
  };
  isl::val least;  // null: none
  points.foreach_basic_set([&](const isl::basic_set& part) {
    if (part.is_empty()) return;
    const isl::aff sum = sum_over(isl_basic_set_get_space(part.get()), isl_dim_set, sizes);
    const isl::val mine = isl::manage(isl_set_min_val(isl::set(part).get(), sum.get()));
    if (isl_val_is_int(mine.get()) == isl_bool_true && (least.is_null() || mine.lt(least)))
      least = mine;
  });
  if (least.is_null()) return pairs;
  const isl::aff sum =
      sum_over(isl_space_domain(isl_map_get_space(pairs.get())), isl_dim_param, sizes);
  isl_aff* over = isl_aff_sub(
      sum.copy(), isl_aff_val_on_domain(isl_aff_get_domain_local_space(sum.get()), least.copy()));
  isl_set* exact = isl_set_params(isl_set_from_basic_set(isl_aff_zero_basic_set(over)));
  return isl::manage(isl_map_intersect_params(pairs.copy(), exact));
}

// Of the sizes.
std::int64_t total_of(const Refusal& refusal) {
  std::int64_t total = 0;
  for (const auto& [name, value] : refusal.counterexamples.front().sizes) total += value;
  return total;
}

class Judge {
 public:
  Judge(Impl& impl, Terms terms) : impl_(impl), state_(impl.basis.state), model_(impl.basis.model) {
    // As `reassoc` with every reduction loop: dependences between updates of one sum fall away.
    if (terms == Terms::AnyOrder) {
      state_.contract = Contract::Reassoc;
      for (const ir::Statement& s : impl.basis.program->statements)
        state_.reassociable.insert(s.reductions.begin(), s.reductions.end());
    }
    model_.state = &state_;
  }

  ForeignVerdict run() {
    ForeignVerdict verdict;
    for (std::size_t i = 0; i < model_.statements.size() && !verdict.refusal; ++i)
      verdict.refusal = check_instances(i);
    if (!verdict.refusal) verdict.refusal = check_order();
    for (std::size_t i = 0; i < impl_.text.sets.size() && !verdict.refusal; ++i)
      verdict.refusal = check_set(impl_.text.sets[i]);
    if (!verdict.refusal)
      for (const IslBand& band : impl_.text.bands) check_band(band, verdict.marks);
    return verdict;
  }

 private:
  Impl& impl_;
  State state_;
  IslModel model_;  // with the contract

  const ir::Statement& statement(std::size_t i) const {
    return model_.statements[i].statement->body;
  }

  const std::vector<Dependence>& dependences() {
    if (impl_.basis.dependences.empty())
      impl_.basis.dependences = compute_dependences(impl_.basis.model);
    return impl_.basis.dependences;
  }

  // --- each instance at one time

  Refusal about(std::size_t i, const std::string& headline, const isl::set& instances,
                const std::string& what) {
    const Point point = first_point(instances, model_.params);
    Refusal refusal(RefusalKind::Illegal, headline);
    Counterexample c;
    c.sink = make_instance(statement(i), point.values);
    c.sizes = point.params;
    c.size_names = model_.params;
    c.scheduled = to_string(c.sink) + what;
    refusal.counterexamples.push_back(std::move(c));
    return refusal;
  }

  std::optional<Refusal> check_instances(std::size_t i) {
    const std::string& name = statement(i).name;
    const isl::set& instances = model_.statements[i].domain;
    const isl::map& times = impl_.times[i];
    const isl::set missing = instances.subtract(times.domain());
    if (!missing.is_empty())
      return about(i, name + " would leave an instance out", missing, " has no time");
    if (impl_.text.is_tree && impl_.written[i]) {  // the domain of a tree is what it runs
      const isl::set extra =
          impl_.written[i]->domain().intersect_params(model_.context).subtract(instances);
      if (!extra.is_empty())
        return about(i, name + " would run where it has no instance", extra,
                     " is no instance of the program");
    }
    if (times.is_single_valued()) return std::nullopt;
    // { instance -> (time, time') : time < time' }.
    isl_map* twice = isl_map_range_product(times.copy(), times.copy());
    const isl::space time = isl::manage(isl_space_range(isl_map_get_space(times.get())));
    isl_map* different = isl_map_lex_lt(time.copy());
    twice = isl_map_intersect_range(twice, isl_map_wrap(different));
    return about(i, name + " would run an instance twice", isl::manage(isl_map_domain(twice)),
                 " has more than one time");
  }

  // --- each dependence forwards

  Refusal about(const Dependence& d, const isl::map& wrong, const std::string& headline) {
    const isl::map smallest = at_smallest_sizes(wrong);
    const Point point = first_point(isl::manage(isl_map_wrap(smallest.copy())), model_.params);
    Counterexample c = counterexample_of(impl_.basis, d, point);
    const std::string from = image_text(impl_.times[static_cast<std::size_t>(d.source)], point, 0);
    const std::string to =
        image_text(impl_.times[static_cast<std::size_t>(d.sink)], point, c.source.iterators.size());
    c.scheduled =
        from == to ? "both run at " + from + ": nothing orders them"
                   : to_string(c.sink) + " at " + to + ", " + to_string(c.source) + " at " + from;
    Refusal refusal(RefusalKind::Illegal, headline);
    refusal.counterexamples.push_back(std::move(c));
    return refusal;
  }

  // Of all dependences that run backwards the one at the smallest sizes is shown: with open sizes
  // the first found may need large ones.
  std::optional<Refusal> check_order() {
    std::optional<Refusal> smallest;
    for (const Dependence& d : dependences()) {
      const isl::map pairs = ordered_pairs(d, impl_.basis.model, *model_.state);
      if (pairs.is_empty()) continue;
      const isl::map wrong =
          pairs.intersect(late_pairs(impl_.times[static_cast<std::size_t>(d.source)],
                                     impl_.times[static_cast<std::size_t>(d.sink)]));
      if (wrong.is_empty()) continue;
      Refusal refusal = about(d, wrong, headline_of(impl_.basis, d));
      if (!smallest || total_of(refusal) < total_of(*smallest)) smallest = std::move(refusal);
      if (model_.params.empty()) break;  // they are all of one size
    }
    return smallest;
  }

  // --- children of a set: nothing is said of their order

  std::optional<Refusal> check_set(const IslSet& set) {
    // Pairs of one iteration of everything outside of the set, its source in one child and its
    // sink in another. Other pairs are ordered outside or within a child, whatever the order of
    // the children.
    const Times outside = times_by_statement(impl_, set.outside);
    std::vector<Times> children;
    for (const isl::union_set& child : set.children)
      children.push_back(times_by_statement(impl_, set.outside.intersect_domain(child)));
    for (const Dependence& d : dependences())
      for (const Times& a : children)
        for (const Times& b : children) {
          const auto &source = a[static_cast<std::size_t>(d.source)],
                     &sink = b[static_cast<std::size_t>(d.sink)];
          if (&a == &b || !source || !sink) continue;
          const isl::map wrong = ordered_pairs(d, impl_.basis.model, *model_.state)
                                     .intersect(source->apply_range(sink->reverse()));
          if (wrong.is_empty()) continue;
          Refusal refusal = about(d, wrong, headline_of(impl_.basis, d));
          refusal.counterexamples.front().scheduled =
              "the set node of line " + std::to_string(set.line) + " lets either come first";
          return refusal;
        }
    return std::nullopt;
  }

  // --- marks

  using Times = std::vector<std::optional<isl::map>>;

  // A member m of a band is row m of its times, among pairs that run in one iteration of
  // everything outside (those that differ there are carried there):
  //
  //   permutable   no member runs backwards: row_m(source) <= row_m(sink), for each m by itself, so
  //                that members may be interchanged and tiled (Irigoin and Triolet 1988)
  //   coincident   row_m(source) = row_m(sink): the member carries nothing, and is parallel
  void check_band(const IslBand& band, std::vector<JudgedMark>& marks) {
    const Times outside = times_by_statement(impl_, band.outside),
                rows = times_by_statement(impl_, band.rows);
    const auto count = static_cast<isl_size>(band.coincident.size());
    const std::string title = "band " + band_text(rows, count);
    for (isl_size m = 0; m < count; ++m)
      if (band.coincident[static_cast<std::size_t>(m)])
        marks.push_back(judged(title + ": " + row_text(rows, m) + " coincident", outside, rows,
                               {static_cast<unsigned>(m), true}));
    if (count > 1 && band.permutable) {
      JudgedMark mark{title + ": permutable", {}};
      for (isl_size m = 0; m < count && !mark.refusal; ++m)
        mark.refusal = judged("", outside, rows, {static_cast<unsigned>(m), false}).refusal;
      marks.push_back(std::move(mark));
    }
    for (JudgedMark& mark : marks)
      if (mark.refusal && mark.refusal->line == 0) mark.refusal->line = band.line;
  }

  // A row of the first statement that the band has.
  // Simplified within the domain (gist), so that a row reads as it was written.
  std::string row_text(const Times& rows, isl_size member) const {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!rows[i]) continue;
      const isl::pw_aff row =
          rows[i]->gist_domain(rows[i]->domain()).as_pw_multi_aff().at(static_cast<int>(member));
      if (isl_pw_aff_n_piece(row.get()) != 1) break;
      if (const auto value =
              affine_of(isl::manage(isl_pw_aff_as_aff(row.copy())), statement(i).iterators))
        return ir::to_string(*value);
    }
    return "loop " + std::to_string(member + 1);
  }

  std::string band_text(const Times& rows, isl_size count) const {
    std::string text;
    for (isl_size m = 0; m < count; ++m) text += (m > 0 ? ", " : "(") + row_text(rows, m);
    return text + ")";
  }

  struct Member {
    unsigned at = 0;
    bool coincident = false;  // else it only must not run backwards
  };

  JudgedMark judged(const std::string& text, const Times& outside, const Times& rows,
                    const Member& member) {
    JudgedMark mark{text, {}};
    for (const Dependence& d : dependences()) {
      const auto source = static_cast<std::size_t>(d.source),
                 sink = static_cast<std::size_t>(d.sink);
      if (!rows[source] || !rows[sink] || !outside[source] || !outside[sink]) continue;
      // Updates of one element that may change places still may not run at once, so that
      // `coincident` counts them in any case.
      isl::map pairs =
          member.coincident ? d.pairs : ordered_pairs(d, impl_.basis.model, *model_.state);
      const isl::map together = outside[source]->apply_range(outside[sink]->reverse());
      pairs = pairs.intersect(together);
      if (pairs.is_empty()) continue;
      const auto row = [&](const isl::map& all) {
        const auto count = static_cast<unsigned>(isl_map_dim(all.get(), isl_dim_out));
        isl_map* one =
            isl_map_project_out(all.copy(), isl_dim_out, member.at + 1, count - member.at - 1);
        return isl::manage(isl_map_project_out(one, isl_dim_out, 0, member.at));
      };
      const isl::map x = row(*rows[source]), y = row(*rows[sink]);
      isl::map wrong = pairs.intersect(isl::manage(isl_map_lex_gt_map(x.copy(), y.copy())));
      if (member.coincident)
        wrong = wrong.unite(pairs.intersect(isl::manage(isl_map_lex_lt_map(x.copy(), y.copy()))));
      if (wrong.is_empty()) continue;
      mark.refusal = about(d, wrong,
                           member.coincident ? "its iterations depend on each other"
                                             : "one of its loops runs against a dependence");
    }
    return mark;
  }
};

Refusal undecided() {
  return {RefusalKind::Unknown, "the proof took more than its budget of " +
                                    std::to_string(kVerdictQuota) + " operations"};
}

}  // namespace

ForeignVerdict ForeignSchedule::judge(Terms terms) const {
  impl_->context.limit(kVerdictQuota);
  try {
    return Judge(*impl_, terms).run();
  } catch (const isl::exception& e) {
    if (!is_quota(impl_->context, e))
      throw_isl_fault(impl_->context, e, "schedule of another tool");
    ForeignVerdict verdict;
    verdict.refusal = undecided();
    return verdict;
  }
}

}  // namespace polyte::schedule
