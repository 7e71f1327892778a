// isl's schedule trees (Verdoolaege, Guelton, Grosser, Cohen, "Schedule trees", IMPACT 2014): the
// nodes are read here, the sets and maps that they hold by isl. The tree is flattened on the way
// down: the times of the instances that reach a node grow by a band's rows, or by a child's place
// in a sequence.
//
//   domain { S[i]; T[i] }             S[i] -> []          T[i] -> []
//   band [{ S[i] -> [(i)]; T[i] -> [(i)] }]
//                                     S[i] -> [i]         T[i] -> [i]
//   sequence: filter S, filter T      S[i] -> [i, 0]      T[i] -> [i, 1]
#include <isl/aff.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/union_map.h>
#include <isl/union_set.h>

#include <algorithm>
#include <array>

#include "schedule/proof/isl_reader.h"
#include "schedule/proof/yaml_subset.h"
#include "support/error.h"

namespace polyte::schedule {
namespace {

class TreeReader {
 public:
  TreeReader(const IslContext& context, const std::string& origin)
      : context_(context), origin_(origin) {}

  IslText read(const Yaml& root) {
    if (!root.map()) fail(root.line, "expected a map that begins with domain:");
    const Yaml* domain = root.find("domain");
    if (!domain) fail(root.line, "expected domain: \"{ S[i] : ... }\" first");
    check_keys(root, {"domain", "child"});
    const isl::union_set instances = set_of(*domain, "domain");
    // Every instance at the time of no dimensions.
    isl_union_map* start = isl_union_map_from_domain_and_range(
        instances.copy(),
        isl_union_set_from_set(isl_set_universe(isl_space_set_alloc(ctx(), 0, 0))));
    visit(root.find("child"), isl::manage(start), 0);
    IslText text;
    text.is_tree = true;
    text.times = flattened();
    text.bands = std::move(bands_);
    text.sets = std::move(sets_);
    return text;
  }

 private:
  const IslContext& context_;
  const std::string& origin_;
  std::vector<IslBand> bands_;
  std::vector<IslSet> sets_;
  struct Leaf {
    isl::union_map times;
    unsigned length;
  };
  std::vector<Leaf> leaves_;

  isl_ctx* ctx() const { return context_.get().get(); }

  [[noreturn]] void fail(int line, const std::string& what) const {
    throw UserError(ExitStatus::InvalidInput, origin_ + ":" + std::to_string(line) + ": " + what);
  }

  // A key that is not known is an error, never skipped: it could say something of the order.
  void check_keys(const Yaml& node, const std::vector<std::string>& known) const {
    constexpr std::array kOthers = {"guard", "extension", "contraction", "expansion"};
    for (const auto& [key, value] : *node.map()) {
      if (std::ranges::find(kOthers, key) != kOthers.end())
        fail(value.line,
             "'" + key + "': a tree whose nodes add, group or guard instances is not judged");
      if (std::ranges::find(known, key) != known.end()) continue;
      std::string list;
      for (const std::string& each : known) list += (list.empty() ? "" : ", ") + each;
      fail(value.line, "'" + key + "' is not known here, expected " + list);
    }
  }

  const std::string& text_of(const Yaml& value, const std::string& key) const {
    if (!value.text()) fail(value.line, key + ": expected a string in quotes");
    return *value.text();
  }

  template <class Read>
  auto read_by_isl(const Yaml& value, const std::string& key, const std::string& expected,
                   Read parse) const {
    const std::string& text = text_of(value, key);
    isl_ctx_reset_error(ctx());
    auto* object = parse(ctx(), text.c_str());
    // isl's own message names neither file nor line.
    if (!object) fail(value.line, key + ": expected " + expected + ", got " + text);
    return isl::manage(object);
  }

  isl::union_set set_of(const Yaml& value, const std::string& key) const {
    return read_by_isl(value, key, "a set such as { S[i] : 0 <= i < 8 }",
                       isl_union_set_read_from_str);
  }

  // `times`: of the instances that reach the node.
  void visit(const Yaml* node, const isl::union_map& times, unsigned length) {
    if (!node) return leaves_.push_back({times, length});
    if (!node->map())
      fail(node->line, "expected a node, a map with one of schedule, sequence, set, filter, mark");
    if (node->find("schedule")) return visit_band(*node, times, length);
    if (const Yaml* children = node->find("sequence"))
      return visit_children(*node, *children, "sequence", times, length);
    if (const Yaml* children = node->find("set"))
      return visit_children(*node, *children, "set", times, length);
    if (const Yaml* filter = node->find("filter")) {
      check_keys(*node, {"filter", "child"});
      return visit(node->find("child"), times.intersect_domain(set_of(*filter, "filter")), length);
    }
    check_keys(*node, {"mark", "context", "child"});  // neither is an order
    if (!node->find("mark") && !node->find("context"))
      fail(node->line, "a node without schedule, sequence, set, filter, mark or context");
    visit(node->find("child"), times, length);
  }

  static bool flag_of(const Yaml& value, const std::string& key, const TreeReader& reader) {
    const std::string& text = reader.text_of(value, key);
    if (text != "0" && text != "1") reader.fail(value.line, key + ": expected 0 or 1, got " + text);
    return text == "1";
  }

  void visit_band(const Yaml& node, const isl::union_map& times, unsigned length) {
    check_keys(node, {"schedule", "permutable", "coincident", "options", "child"});
    const Yaml& rows = *node.find("schedule");
    const auto schedule = read_by_isl(rows, "schedule", "rows such as [{ S[i] -> [(i)] }]",
                                      isl_multi_union_pw_aff_read_from_str);
    const auto members =
        static_cast<unsigned>(isl_multi_union_pw_aff_dim(schedule.get(), isl_dim_set));
    if (members == 0) fail(rows.line, "schedule: expected a row at least");
    IslBand band;
    band.line = node.line;
    // A filter above may have left some instances out: rows are of those that come here.
    band.outside = times;
    isl_union_map* map = isl_union_map_from_multi_union_pw_aff(schedule.copy());
    band.rows = isl::manage(isl_union_map_intersect_domain(map, times.domain().release()));
    if (const Yaml* permutable = node.find("permutable"))
      band.permutable = flag_of(*permutable, "permutable", *this);
    band.coincident.resize(members);
    if (const Yaml* coincident = node.find("coincident")) {
      const Yaml::Sequence* flags = coincident->sequence();
      if (!flags || flags->size() != members)
        fail(coincident->line,
             "coincident: expected [ ] with " + std::to_string(members) + " of 0 or 1");
      for (unsigned m = 0; m < members; ++m)
        band.coincident[m] = flag_of((*flags)[m], "coincident", *this);
    }
    const isl::union_map longer =
        isl::manage(isl_union_map_flat_range_product(times.copy(), band.rows.copy()));
    bands_.push_back(std::move(band));
    visit(node.find("child"), longer, length + members);
  }

  // A sequence and a set both number their children, so that they have times; what a set does not
  // say is kept apart (IslSet) and judged for every order of its children. Filters need not part
  // the instances: what is in none has no time, what is in two has two times, and either is
  // refused (check_instances).
  void visit_children(const Yaml& node, const Yaml& children, const std::string& key,
                      const isl::union_map& times, unsigned length) {
    check_keys(node, {key, "child"});
    if (node.find("child")) fail(node.line, key + ": its children are those of its filters");
    if (!children.sequence()) fail(children.line, key + ": expected filters, each behind a dash");
    IslSet set{times, {}, node.line};
    int place = 0;
    for (const Yaml& child : *children.sequence()) {
      const Yaml* filter = child.find("filter");
      if (!filter) fail(child.line, "expected filter: \"{ S[i] }\"");
      check_keys(child, {"filter", "child"});
      const isl::union_map mine = times.intersect_domain(set_of(*filter, "filter"));
      set.children.push_back(mine.domain());
      visit(child.find("child"), with_number(mine, place++), length + 1);
    }
    if (key == "set") sets_.push_back(std::move(set));
  }

  // The same times, followed by a number.
  isl::union_map with_number(const isl::union_map& times, int number) const {
    isl_set* point = isl_set_universe(isl_space_set_alloc(ctx(), 0, 1));
    point = isl_set_fix_si(point, isl_dim_set, 0, number);
    isl_union_map* numbers = isl_union_map_from_domain_and_range(times.domain().release(),
                                                                 isl_union_set_from_set(point));
    return isl::manage(isl_union_map_flat_range_product(times.copy(), numbers));
  }

  // Times of one length, as comparing them needs. Padding is behind all that a leaf has, and
  // instances of two leaves differ before it: they were parted by the numbers of a sequence or
  // set. (Where nothing parts them they are of one leaf.)
  isl::union_map flattened() const {
    unsigned longest = 0;
    for (const Leaf& leaf : leaves_) longest = std::max(longest, leaf.length);
    isl::union_map all = isl::manage(isl_union_map_empty(isl_space_params_alloc(ctx(), 0)));
    for (const Leaf& leaf : leaves_) {
      isl::union_map times = leaf.times;
      for (unsigned d = leaf.length; d < longest; ++d) times = with_number(times, 0);
      all = all.unite(times);
    }
    return all;
  }
};

}  // namespace

IslText read_isl_tree(const IslContext& context, const std::string& text,
                      const std::string& origin) {
  return TreeReader(context, origin).read(parse_yaml(text, origin));
}

}  // namespace polyte::schedule
