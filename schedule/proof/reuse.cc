// Storage in place (`reuse y for e`): an element of e lies where the element of y with the
// same subscripts will. Every access to it has to come before every access to that of y; an
// instance reads before it writes. What is overwritten so has to be written by y's own statements
// in the end.
#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>

#include "schedule/proof/prover_impl.h"

namespace polyte::schedule {
namespace {

isl::map onto(const isl::map& cells, const char* tuple) {
  isl_map* map = cells.copy();
  return isl::manage(
      isl_map_set_tuple_id(map, isl_dim_out, isl_id_alloc(isl_map_get_ctx(map), tuple, nullptr)));
}

class ReuseCheck {
 public:
  ReuseCheck(const IslModel& model, int kept, int host) : model_(model), kept_(kept), host_(host) {}

  std::optional<Refusal> run() {
    for (std::size_t a = 0; a < model_.statements.size(); ++a)
      // Every access to e against every access to y: `pairs` are those at one place, none may run
      // backwards.
      for (const IslAccess& early : model_.statements[a].accesses) {
        if (early.buffer != kept_) continue;
        if (auto refusal = check(static_cast<int>(a), early)) return refusal;
      }
    return lost_refusal();
  }

 private:
  const IslModel& model_;
  int kept_, host_;

  const std::string& name(int buffer) const {
    return model_.buffers[static_cast<std::size_t>(buffer)].name;
  }
  const ir::Statement& body(int statement) const {
    return model_.statements[static_cast<std::size_t>(statement)].statement->body;
  }

  std::optional<Refusal> check(int a, const IslAccess& early) const {
    for (std::size_t b = 0; b < model_.statements.size(); ++b)
      for (const IslAccess& late : model_.statements[b].accesses) {
        if (late.buffer != host_) continue;
        const auto wrong = find_backwards(model_, a, static_cast<int>(b),
                                          pairs(a, early, static_cast<int>(b), late));
        if (wrong) return refusal(a, early, static_cast<int>(b), late, wrong->pairs);
      }
    return std::nullopt;
  }

  // Pairs of instances at one place. The tuple "P" stands for both buffers, since one element of
  // y lies where the element of e with its subscripts did. Exempt is an instance that reads e and
  // writes y there, x[i] = f(e[i]): within an instance reads come before the write.
  isl::map pairs(int a, const IslAccess& early, int b, const IslAccess& late) const {
    isl::map all = onto(early.cells, "P").apply_range(onto(late.cells, "P").reverse());
    if (a != b || early.write || !late.write) return all;
    return all.subtract(isl::manage(isl_set_identity(early.cells.domain().release())));
  }

  Refusal refusal(int a, const IslAccess& early, int b, const IslAccess& late,
                  const isl::map& wrong) const {
    Refusal result;
    const bool is_exact = early.exact && late.exact;
    result.kind = is_exact ? RefusalKind::Illegal : RefusalKind::Unknown;
    result.headline =
        is_exact
            ? name(host_) + " would be touched while its memory holds an element of " + name(kept_)
            : "which elements of " + name(kept_) + " and " + name(host_) +
                  " share a place is known at run time only";
    if (!is_exact) return result;
    const Point point = first_point(isl::manage(isl_map_wrap(wrong.copy())), model_.params);
    const auto split = static_cast<std::ptrdiff_t>(body(a).iterators.size());
    Counterexample c;
    c.source = make_instance(body(a), {point.values.begin(), point.values.begin() + split});
    c.sink = make_instance(body(b), {point.values.begin() + split, point.values.end()});
    c.sizes = point.params;
    c.size_names = model_.params;
    c.watch = cell_text(late.text, body(b), point, static_cast<std::size_t>(split));
    const std::string own = cell_text(early.text, body(a), point, 0);
    c.scheduled = to_string(c.sink) + (late.write ? " writes " : " reads ") + c.watch +
                  ", and not before it " + to_string(c.source) +
                  (early.write ? " writes " : " reads ") + own + " in the same place";
    result.counterexamples.push_back(std::move(c));
    return result;
  }

  // Cells that may be written of e, cells that are surely written of y: either errs on the safe
  // side.
  isl::set written(int buffer) const {
    isl::set all;
    for (const IslStatement& s : model_.statements)
      for (const IslAccess& access : s.accesses) {
        if (!access.write || access.buffer != buffer || (buffer == host_ && !access.exact))
          continue;
        const isl::set cells = onto(access.cells, "P").range();
        all = all.is_null() ? cells : all.unite(cells);
      }
    return all;
  }

  // Elements of y that keep what they held before the kernel, unless e overwrites them.
  std::optional<Refusal> lost_refusal() const {
    const isl::set early = written(kept_), late = written(host_);
    if (early.is_null()) return std::nullopt;
    const isl::set lost = late.is_null() ? early : early.subtract(late);
    if (lost.is_empty()) return std::nullopt;
    const Point point = first_point(lost, model_.params);
    Counterexample c;
    c.sizes = point.params;
    c.size_names = model_.params;
    for (const std::int64_t value : point.values)
      c.watch += (c.watch.empty() ? "" : ", ") + std::to_string(value);
    c.watch = name(host_) + "[" + c.watch + "]";
    c.scheduled =
        "nothing writes " + c.watch + ", and an element of " + name(kept_) + " would be left there";
    Refusal result;
    result.kind = RefusalKind::Illegal;
    result.headline = "an element of " + name(host_) + " would not be its own in the end";
    result.counterexamples.push_back(std::move(c));
    return result;
  }
};

}  // namespace

std::optional<Refusal> check_reuse(const IslModel& model) {
  for (const auto& [temporary, host] : model.state->reused)
    if (auto refusal =
            ReuseCheck(model, buffer_index(model, temporary), buffer_index(model, host)).run())
      return refusal;
  return std::nullopt;
}

}  // namespace polyte::schedule
