// The copies of a stage: statements that move the box element by element, and their loops.
#include <algorithm>

#include "ir/domain.h"
#include "schedule/script/primitives/stage_plan.h"

namespace polyte::schedule {

namespace {

using ir::Affine;
using ir::Constraint;
using Condition = std::vector<Constraint>;  // over the loops above the site

class CopyMaker {
 public:
  CopyMaker(State& next, const StagePlan& plan, const Transfers& transfers)
      : next_(next), plan_(plan), transfers_(transfers) {}

  // site > body   ->   site > { copies in; body; copies out }; without a site the same around
  // the kernel.
  void run() {
    std::vector<Tree> ins, outs;
    for (const Condition& condition : transfers_.in)
      ins.push_back(copy_nest(add_copy(true, condition)));
    for (const Condition& condition : transfers_.out)
      outs.push_back(copy_nest(add_copy(false, condition)));
    const auto around = [&](const Tree& body) {
      std::vector<Tree> children = top_level(body);
      children.insert(first_use(children), ins.begin(), ins.end());
      children.insert(children.end(), outs.begin(), outs.end());
      return make_sequence(std::move(children));
    };
    if (!plan_.site) {
      next_.tree = around(next_.tree);
      return;
    }
    next_.tree = replace_loop(next_.tree, plan_.site->id, [&](const Loop& loop) {
      Loop rebuilt = loop;
      rebuilt.body = around(loop.body);
      return make_loop(std::move(rebuilt));
    });
  }

  const Names& copies() const { return copies_; }

 private:
  State& next_;
  const StagePlan& plan_;
  const Transfers& transfers_;
  Names copies_;

  // Where the copies in stand: at the front of the body, or, for a stage of some reads alone, in
  // front of the first of these: statements before it still write the tensor itself.
  std::vector<Tree>::const_iterator first_use(const std::vector<Tree>& children) const {
    if (!plan_.directive.reads_only()) return children.begin();
    return std::ranges::find_if(children, [&](const Tree& child) {
      return std::ranges::any_of(plan_.users,
                                 [&](const std::string& user) { return contains(child, user); });
    });
  }

  // The innermost local dimension is split by the vector length where it is long
  // (registers are unrolled).
  bool is_long(std::size_t dimension) const {
    const auto lanes = plan_.context.environment.values.find("L");
    if (lanes == plan_.context.environment.values.end() || plan_.local.memory == Memory::Register ||
        plan_.local.memory == Memory::Shared || plan_.layout.empty())
      return false;
    return plan_.layout.back().dimension == dimension &&
           local_shape(plan_.layout, plan_.box.extent).back() > 4 * lanes->second;
  }

  // Constraints on the elements of the box that are copied: some access touches them, and they
  // exist. Padding lifts the second one: the copy stores the value of the guard for elements
  // that do not exist (load_in).
  void clip(const Names& names, std::vector<Constraint>& domain) const {
    const std::vector<Affine> shape = plan_.before.shape_of(plan_.buffer);
    for (std::size_t d = 0; d < names.size(); ++d) {
      const Affine element = plan_.box.origin[d] + Affine::symbol(names[d]);
      domain.push_back(ir::at_least(Affine::symbol(names[d]), 0));
      domain.push_back(ir::less_than(Affine::symbol(names[d]), plan_.box.extent[d]));
      if (transfers_.by_windows && plan_.box.moving[d])
        clip_to_window(*plan_.box.moving[d], element, domain);
      ir::Interval touched = touched_range(d);
      if (!plan_.padding.otherwise) {
        domain.push_back(ir::at_least(element, std::max<std::int64_t>(0, touched.min.value_or(0))));
        if (!touched.max || !shape[d].is_constant() || *touched.max >= shape[d].constant())
          domain.push_back(ir::less_than(element, shape[d]));
        else
          domain.push_back(ir::at_least(*touched.max, element));
        continue;
      }
      if (touched.min) domain.push_back(ir::at_least(element, *touched.min));
      if (touched.max) domain.push_back(ir::at_least(*touched.max, element));
      if (!shape[d].is_constant() && stays_below(d, shape[d]))
        domain.push_back(ir::less_than(element, shape[d]));
    }
  }

  static void clip_to_window(const Window& window, const Affine& element,
                             std::vector<Constraint>& domain) {
    domain.push_back(ir::at_least(element, window.origin));
    domain.push_back(ir::less_than(element, window.origin + window.extent));
  }

  // Whether no access reaches beyond the buffer's end in dimension d: the padding is then needed
  // for other dimensions only.
  bool stays_below(std::size_t d, const Affine& extent) const {
    return std::ranges::all_of(plan_.accesses(), [&](const BoxAccess& access) {
      const ir::Statement& body = access.statement->body;
      const ir::Program& basis = *plan_.before.basis;
      const ir::DomainFacts facts(body.iterators, body.domain, basis.params, basis.context);
      return !access.indices[d].indirect &&
             facts.proves(ir::less_than(access.indices[d].affine, extent));
    });
  }

  // The interval of a subscript over all accesses, as wide as their iterators' ranges allow;
  // empty ends: unknown.
  ir::Interval touched_range(std::size_t d) const {
    std::optional<ir::Interval> all;
    for (const BoxAccess& access : plan_.accesses()) {
      if (access.indices[d].indirect) return {};
      const ir::Interval own =
          ir::range_of(access.indices[d].affine, iterator_ranges(plan_.before, *access.statement));
      if (!all) all = own;
      all->min = all->min && own.min ? std::optional(std::min(*all->min, *own.min)) : std::nullopt;
      all->max = all->max && own.max ? std::optional(std::max(*all->max, *own.max)) : std::nullopt;
    }
    return all.value_or(ir::Interval{});
  }

  // Adds iterators that are no subscript but follow from the loops down to the site, as the step k
  // of a factorisation does.
  void add_known_above(const ScheduledStatement& s, ir::Bindings& elements) const {
    for (const auto& [iterator, value] : s.inverse) {
      std::set<std::string> symbols;
      value.collect_symbols(symbols);
      const auto is_above = [&](const std::string& symbol) { return has(plan_.prefix, symbol); };
      if (!elements.contains(iterator) && std::ranges::all_of(symbols, is_above))
        elements[iterator] = value;
    }
  }

  // A copy out moves elements that were written: constraints that all writers' domains have in
  // common, over iterators that the subscripts determine.
  void clip_to_written(const Names& names, std::vector<Constraint>& domain) const {
    std::optional<std::vector<Constraint>> common;
    for (const std::string& writer : plan_.writers) {
      const ScheduledStatement& s = plan_.before.at(writer);
      const ir::Access& write = *std::ranges::find_if(
          s.body.writes, [&](const ir::Access& w) { return w.buffer == plan_.buffer; });
      ir::Bindings elements;
      for (std::size_t d = 0; d < names.size(); ++d) {
        const Affine& index = write.indices[d].affine;
        const auto symbol = (index - index.constant()).as_symbol();
        if (symbol && !write.indices[d].indirect)
          elements[*symbol] = plan_.box.origin[d] + Affine::symbol(names[d]) - index.constant();
      }
      if (plan_.directive.updates_only) add_known_above(s, elements);
      std::vector<Constraint> own;
      for (const Constraint& c : s.body.domain) {
        std::set<std::string> symbols;
        c.expr.collect_symbols(symbols);
        const bool known = std::ranges::all_of(symbols, [&](const std::string& symbol) {
          return elements.count(symbol) > 0 || has(plan_.before.basis->params, symbol);
        });
        if (known) own.push_back(ir::substitute(c, elements));
      }
      if (!common) common = own;
      std::erase_if(*common,
                    [&](const Constraint& c) { return std::ranges::find(own, c) == own.end(); });
    }
    for (const Constraint& c : *common)
      if (std::ranges::find(domain, c) == domain.end()) domain.push_back(c);
  }

  // The copy between element and place, over the loops of the site and a position per
  // dimension:
  //
  //   w.in(k.o, k, n): w.c[k, n] = w[Kc*k.o + k, n]      rows: loops of the layout's digits
  std::string add_copy(bool in, const Condition& condition) {
    const Names names = plan_.dimension_names();
    const DigitLoops loops = digit_loops(plan_.layout, names);
    ScheduledStatement copy;
    copy.kind = StatementKind::Copy;
    copy.lifted = static_cast<int>(plan_.prefix.size());
    copy.body.name = fresh(plan_.buffer + (in ? ".in" : ".out"),
                           [&](const std::string& name) { return next_.find(name) != nullptr; });
    copy.body.iterators = plan_.prefix;
    copy.body.iterators.insert(copy.body.iterators.end(), names.begin(), names.end());
    copy.body.domain = project_all(plan_.before, in ? plan_.users : plan_.writers, plan_.outer);
    copy.body.domain.insert(copy.body.domain.end(), condition.begin(), condition.end());
    clip(names, copy.body.domain);
    if (!in) clip_to_written(names, copy.body.domain);
    for (const std::string& loop : plan_.prefix) {
      copy.rows.push_back({loop, Affine::symbol(loop)});
      copy.inverse[loop] = Affine::symbol(loop);
    }
    copy.rows.insert(copy.rows.end(), loops.rows.begin(), loops.rows.end());
    copy.inverse.insert(loops.inverse.begin(), loops.inverse.end());
    copy.loop_domain = loops.domain;
    std::vector<ir::Index> element, local;
    ir::Bindings coordinates;
    for (std::size_t d = 0; d < names.size(); ++d) {
      element.emplace_back(plan_.box.origin[d] + Affine::symbol(names[d]));
      coordinates[coordinate_name(d)] = element.back().affine;
    }
    for (const Digit& digit : plan_.layout)
      local.emplace_back(digit_value(digit, Affine::symbol(names[digit.dimension])));
    copy.body.writes = {in ? ir::Access{plan_.local.name, local}
                           : ir::Access{plan_.buffer, element}};
    copy.body.values = {in ? load_in(element, coordinates, copy)
                           : ir::make_load(plan_.local.dtype, plan_.local.name, local)};
    next_.statements.push_back(copy);
    copies_.push_back(copy.body.name);
    return copy.body.name;
  }

  // Padding's guard is over coordinates of the element; what always holds in the copy's domain
  // is dropped.
  ir::Expr load_in(const std::vector<ir::Index>& element, const ir::Bindings& coordinates,
                   const ScheduledStatement& copy) const {
    std::vector<Constraint> guard;
    const ir::Ranges ranges = iterator_ranges(next_, copy);
    for (const Constraint& c : plan_.padding.guard) {
      const Constraint own = ir::substitute(c, coordinates);
      if (ir::truth_of(own, ranges) != ir::Truth::True) guard.push_back(own);
    }
    if (guard.empty()) return ir::make_load(plan_.local.dtype, plan_.buffer, element);
    return ir::make_guarded_load(plan_.local.dtype, plan_.buffer, element, guard,
                                 plan_.padding.otherwise);
  }

  // The loop along which neighbours lie, here and in the tensor: of the last dimension, or, where
  // no layout is given, of the last before those in which the tensor has one element.
  std::size_t lane_row(const ScheduledStatement& copy) const {
    const std::vector<Affine> shape = plan_.before.shape_of(plan_.buffer);
    const std::size_t around = plan_.prefix.size();
    std::size_t row = copy.rows.size();
    if (plan_.directive.layout.empty() && row - around == plan_.layout.size())
      while (row > around + 1 && shape[plan_.layout[row - around - 1].dimension] == Affine(1))
        --row;
    return row - 1;
  }

  // Registers: unrolled with an innermost vector; else serial with an innermost vector, which has
  // stride 1 on the local side. A long innermost dimension is split by the vector length. Into
  // memory of a block threads copy: all loops are serial until they are bound.
  Tree copy_nest(const std::string& name) {
    ScheduledStatement& copy = statement_of(next_, name);
    const LoopKind around =
        plan_.local.memory == Memory::Register ? LoopKind::Unrolled : LoopKind::Serial;
    if (!plan_.layout.empty() && is_long(plan_.layout.back().dimension))
      split_row(copy, copy.rows.back().loop, plan_.context.environment.values.at("L"));
    Tree tree = make_leaf({name, {}, {}});
    const auto add = [&](std::size_t row, LoopKind kind) {
      tree = make_loop({.id = next_.fresh_loop(),
                        .name = copy.rows[row].loop,
                        .kind = kind,
                        .body = std::move(tree)});
    };
    if (copy.rows.size() == plan_.prefix.size()) return tree;
    const std::size_t lanes =
        plan_.local.memory == Memory::Shared ? copy.rows.size() - 1 : lane_row(copy);
    add(lanes, plan_.local.memory == Memory::Shared ? around : LoopKind::Vector);
    for (std::size_t row = copy.rows.size(); row-- > plan_.prefix.size();)
      if (row != lanes) add(row, around);
    return tree;
  }
};

}  // namespace

std::vector<std::string> insert_copies(State& next, const StagePlan& plan,
                                       const Transfers& transfers) {
  CopyMaker maker(next, plan, transfers);
  maker.run();
  return maker.copies();
}

}  // namespace polyte::schedule
