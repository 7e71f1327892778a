#include "poly/fit_nest.h"

#include <algorithm>
#include <map>

namespace polyte::poly {
namespace {

using schedule::LoopKind;
using schedule::NestTree;

constexpr int kNoForm = -1;

struct FitLoop {
  std::string name, meant;  // in the State, and in the script's lines
  LoopKind kind = LoopKind::Serial;
  int id = 0;  // of the loop in the State: shared by statements
  // For each form that names this statement and others: the form's node that the loop stands for.
  std::map<int, int> nodes = {};
  bool is_said = false;  // its kind is
};

struct FitLeaf {
  schedule::NestLeaf leaf;
  std::vector<FitLoop> path;
};

// What a form says of the path to one of its leaves.
struct Step {
  std::string loop;  // empty: a gap
  LoopKind kind = LoopKind::Serial;
  int node = 0;
};
struct FormLeaf {
  std::string statement;  // "...": any
  std::vector<Step> steps;
};

// A form as its paths: `i > { j > a; ... > b }` is i, j, a and i, gap, b. The nodes have numbers,
// so that a loop that two paths have together is known to be one (is_one).
class FormReader {
 public:
  explicit FormReader(int first_node) : node_(first_node) {}

  std::vector<FormLeaf> run(const NestTree& form) {
    visit(form, {});
    return std::move(leaves_);
  }
  int next_node() const { return node_; }

 private:
  int node_;
  std::vector<FormLeaf> leaves_;

  void visit(const NestTree& tree, std::vector<Step> above) {
    if (const auto* leaf = std::get_if<schedule::NestLeaf>(&tree->op)) {
      if (schedule::is_rest(tree)) above.push_back({"", LoopKind::Serial, node_++});
      leaves_.push_back({leaf->statement, std::move(above)});
    } else if (const auto* loop = std::get_if<schedule::NestLoop>(&tree->op)) {
      above.push_back({loop->name == schedule::kRestHole ? "" : loop->name, loop->kind, node_++});
      visit(loop->body, std::move(above));
    } else {
      for (const NestTree& child : std::get<schedule::NestSequence>(tree->op).children)
        visit(child, above);
    }
  }
};

const FitLoop* find(const std::vector<FitLoop>& path, const std::string& meant) {
  const auto found = std::ranges::find(path, meant, &FitLoop::meant);
  return found == path.end() ? nullptr : &*found;
}

bool has_all(const std::vector<FitLoop>& path, const std::vector<Step>& steps) {
  return std::ranges::all_of(
      steps, [&](const Step& step) { return step.loop.empty() || find(path, step.loop); });
}

// The path with the loops that the steps name in the steps' order. A loop that they do not name
// goes into the first gap (`...`) directly before a step that it stood outside of, else into the
// last gap, else to the end:
//
//   path a > i > j > b, steps ... > j > i > ...     ->  a > j > i > b
//
// `form`: the number of the form whose nodes the loops come to stand for; kNoForm: of none.
std::vector<FitLoop> in_order(const std::vector<FitLoop>& path, const std::vector<Step>& steps,
                              bool strict, int form) {
  std::vector<std::vector<FitLoop>> gaps(steps.size() + 1);
  const auto place_of = [&](const FitLoop& loop) {
    const auto before = [&](const Step& step) {  // the loop stood outside this one
      const FitLoop* said = find(path, step.loop);
      return said && &loop < said;
    };
    std::size_t last = steps.size();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (!steps[i].loop.empty()) continue;
      last = i;
      if (i + 1 < steps.size() && before(steps[i + 1])) return i;
    }
    return last;
  };
  for (const FitLoop& loop : path) {
    if (std::ranges::find(steps, loop.meant, &Step::loop) != steps.end()) continue;
    const std::size_t place = place_of(loop);
    gaps[place].push_back(loop);
    if (form != kNoForm)
      gaps[place].back().nodes[form] = place < steps.size() ? steps[place].node : kNoForm;
  }
  std::vector<FitLoop> result;
  for (std::size_t i = 0; i <= steps.size(); ++i) {
    result.insert(result.end(), gaps[i].begin(), gaps[i].end());
    if (i == steps.size() || steps[i].loop.empty()) continue;
    const FitLoop* said = find(path, steps[i].loop);
    if (!said) continue;
    result.push_back(*said);
    if (form != kNoForm) result.back().nodes[form] = steps[i].node;
    if (!strict && steps[i].kind == LoopKind::Serial) continue;
    result.back().kind = steps[i].kind;
    result.back().is_said = true;
  }
  return result;
}

// A path has one parallel loop and one vector loop: where a form says which, others become serial.
void drop_other_kinds(std::vector<FitLoop>& path) {
  for (const LoopKind kind : {LoopKind::Parallel, LoopKind::Vector}) {
    const auto is_it = [&](const FitLoop& loop) { return loop.kind == kind && loop.is_said; };
    if (std::ranges::none_of(path, is_it)) continue;
    for (FitLoop& loop : path)
      if (loop.kind == kind && !loop.is_said) loop.kind = LoopKind::Serial;
  }
  for (std::size_t l = 0; l + 1 < path.size(); ++l)  // a vector loop is the innermost
    if (path[l].kind == LoopKind::Vector && !path[l].is_said) path[l].kind = LoopKind::Serial;
}

class Fit {
 public:
  Fit(const schedule::State& state, const schedule::Pins& pins) {
    for (const schedule::Leaf* leaf : schedule::leaves_of(state.tree)) {
      FitLeaf& fit = leaves_.emplace_back(FitLeaf{schedule::leaf_said(*leaf, state.tree), {}});
      for (const schedule::Loop* loop : schedule::path_to(state.tree, leaf->statement))
        fit.path.push_back({loop->name,
                            pins.meaning_of(state, *loop),
                            loop->kind,
                            static_cast<int>(loop->id),
                            {},
                            false});
    }
  }

  // A form of `...` alone is about the nest that has its loops, any other about the statements that
  // it names.
  void apply(const schedule::PinnedForm& form) {
    FormReader reader(next_node_);
    const std::vector<FormLeaf> said = reader.run(form.pattern);
    next_node_ = reader.next_node();
    const bool is_of_any = std::ranges::all_of(
        said, [](const FormLeaf& leaf) { return leaf.statement == schedule::kRestHole; });
    if (is_of_any)
      apply_to_a_nest(said.front(), form.strict);
    else
      apply_to_statements(said, form.strict);
    for (FitLeaf& leaf : leaves_) drop_other_kinds(leaf.path);
  }

  NestTree run() {
    share_.assign(leaves_.size(), 0);
    for (std::size_t i = 1; i < leaves_.size(); ++i)
      share_[i] = shared(leaves_[i - 1].path, leaves_[i].path);
    return build(0, leaves_.size(), 0);
  }

 private:
  std::vector<FitLeaf> leaves_;
  std::vector<std::size_t> share_;  // loops that a leaf shares with the one before
  int next_node_ = 0, next_form_ = 0;

  static bool is_one(const FitLoop& a, const FitLoop& b) {
    if (a.name != b.name) return false;
    // Forms that speak of both leaves decide: one loop if it is at one node of the form, else two.
    bool is_same = a.id == b.id;  // unless a form says of both what is so
    for (const auto& [form, node] : a.nodes)
      if (const auto other = b.nodes.find(form); other != b.nodes.end())
        is_same = node == other->second;
    return is_same;
  }
  static std::size_t shared(const std::vector<FitLoop>& a, const std::vector<FitLoop>& b) {
    return static_cast<std::size_t>(std::ranges::mismatch(a, b, is_one).in1 - a.begin());
  }

  FitLeaf* leaf_of(const std::string& statement) {
    const auto found = std::ranges::find_if(
        leaves_, [&](const FitLeaf& l) { return l.leaf.statement == statement; });
    return found == leaves_.end() ? nullptr : &*found;
  }

  // The first nest in which some statement has all the loops: there, all that have them.
  void apply_to_a_nest(const FormLeaf& form, bool strict) {
    const auto first = std::ranges::find_if(
        leaves_, [&](const FitLeaf& leaf) { return has_all(leaf.path, form.steps); });
    if (first == leaves_.end()) return;
    const auto is_near = [](const FitLeaf& a, const FitLeaf& b) {
      return !a.path.empty() && !b.path.empty() && is_one(a.path.front(), b.path.front());
    };
    auto begin = first, end = std::next(first);
    while (begin != leaves_.begin() && is_near(*std::prev(begin), *begin)) --begin;
    while (end != leaves_.end() && is_near(*std::prev(end), *end)) ++end;
    for (auto leaf = begin; leaf != end; ++leaf)
      if (has_all(leaf->path, form.steps))
        leaf->path = in_order(leaf->path, form.steps, strict, kNoForm);
  }

  void apply_to_statements(const std::vector<FormLeaf>& said, bool strict) {
    std::vector<const FormLeaf*> named;
    for (const FormLeaf& leaf : said)
      if (leaf.statement != schedule::kRestHole) named.push_back(&leaf);
    std::vector<FitLeaf*> places;  // in the order of the form
    for (const FormLeaf* form : named) {
      FitLeaf* leaf = leaf_of(form->statement);
      if (!leaf || !has_all(leaf->path, form->steps)) return;
      places.push_back(leaf);
    }
    follow(named, places, strict);
    const int form = named.size() > 1 ? next_form_++ : kNoForm;
    for (std::size_t i = 0; i < named.size(); ++i)
      places[i]->path = in_order(places[i]->path, named[i]->steps, strict, form);
    if (std::ranges::is_sorted(places)) return;
    std::vector<FitLeaf> moved;
    for (const FitLeaf* leaf : places) moved.push_back(*leaf);
    std::ranges::sort(places);
    for (std::size_t i = 0; i < places.size(); ++i) *places[i] = std::move(moved[i]);
  }

  // A statement that the form does not name moves like the one with which it shares most loops, so
  // that they can go on sharing them.
  void follow(const std::vector<const FormLeaf*>& named, const std::vector<FitLeaf*>& places,
              bool strict) {
    for (FitLeaf& leaf : leaves_) {
      if (std::ranges::find(places, &leaf) != places.end()) continue;
      std::size_t most = 0;
      const FormLeaf* like = nullptr;
      for (std::size_t i = 0; i < places.size(); ++i)
        if (const std::size_t depth = shared(leaf.path, places[i]->path); depth > most)
          most = depth, like = named[i];
      if (!like) continue;
      std::vector<Step> steps;  // as far as it has these loops
      for (const Step& step : like->steps) {
        if (!step.loop.empty() && !find(leaf.path, step.loop)) break;
        steps.push_back(step);
      }
      if (steps.empty() || !steps.back().loop.empty()) steps.push_back({"", LoopKind::Serial, -1});
      leaf.path = in_order(leaf.path, steps, strict, kNoForm);
    }
  }

  // Leaves begin .. end - 1 agree in the first `depth` loops. Neighbours that share the next one
  // stand below it together; share_ says how far each agrees with the one before.
  NestTree build(std::size_t begin, std::size_t end, std::size_t depth) const {
    std::vector<NestTree> children;
    for (std::size_t i = begin; i < end;) {
      const FitLeaf& first = leaves_[i];
      std::size_t last = i + 1;
      while (last < end && share_[last] > depth) ++last;
      if (depth >= first.path.size()) {
        children.push_back(
            std::make_shared<const schedule::NestNode>(schedule::NestNode{first.leaf}));
        ++i;
        continue;
      }
      FitLoop loop = first.path[depth];
      // The kind of a shared loop is that which a form has said of it for any of the statements.
      for (std::size_t each = i; each < last; ++each)
        if (leaves_[each].path[depth].is_said) loop.kind = leaves_[each].path[depth].kind;
      children.push_back(schedule::nest_path({{loop.name, loop.kind}}, build(i, last, depth + 1)));
      i = last;
    }
    return schedule::nest_sequence(std::move(children));
  }
};

}  // namespace

NestTree fit_nest(const schedule::State& state, const schedule::Pins& pins) {
  Fit fit(state, pins);
  for (const schedule::PinnedLine& pin : pins.all())
    for (const schedule::PinnedForm& form : pin.forms) fit.apply(form);
  return fit.run();
}

}  // namespace polyte::poly
