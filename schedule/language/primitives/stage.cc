// stage X at L:   L > body   ->   L > { X.in;  body with X in a buffer of its own;  X.out }
//
// Per iteration of L the accesses to X below go to the box they touch. Copy-in: elements whose first access there is
// a read; copy-out: elements written whose next access later is a read, or that leave the kernel. For an accumulator
// below loops that its elements do not determine (k.o free) that is
//
//   acc.in  where k.o >= first + 1        acc.out  where k.o <= last - 1        (one pair a free loop, lexicographic)
//
// Guarded reads become a padded copy: the guard's value is stored outside. Copies are ordinary statements whose
// leading iterators are the loops down to L. Decided by the form of the tree; Prover::check_storage judges.
#include <algorithm>
#include <limits>

#include "schedule/language/primitives/copy_loops.h"
#include "schedule/language/primitives/layout.h"
#include "schedule/language/primitives/lift.h"
#include "schedule/language/primitives/padding.h"

namespace polyte::schedule {

namespace {

using ir::Affine;
using ir::Constraint;
using Names = std::vector<std::string>;
using Condition = std::vector<Constraint>;  // over the loops above the site

bool has(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string fresh(const std::string& base, const std::function<bool(const std::string&)>& taken) {
  std::string name = base;
  for (int i = 2; taken(name); ++i) name = base + "_" + std::to_string(i);
  return name;
}

// Which elements pass between the buffer and its copy.
struct Transfers {
  std::vector<Condition> in, out;  // one copy statement a condition
};

class StageApplication {
 public:
  StageApplication(const State& state, const Stage& directive, const PrimitiveContext& context)
      : before_(state), next_(state), directive_(directive), context_(context) {}

  Applied run() {
    if (auto refusal = find_site()) return *refusal;
    if (auto refusal = check_form()) return *refusal;
    if (auto refusal = find_box()) return *refusal;
    auto padding = padding_of(before_, buffer_, users_);
    if (!padding) return padding.error();
    padding_ = std::move(*padding);
    Transfers transfers;
    if (auto refusal = find_transfers(transfers)) return *refusal;
    if (auto refusal = make_buffer()) return *refusal;
    redirect();
    insert_copies(transfers);
    if (directive_.copy)
      if (auto refusal = arrange_copies(next_, directive_.copy, {buffer_, copies_, prefix_.size()})) return *refusal;
    drop_unused_buffers();
    if (auto refusal = settle(next_)) return *refusal;
    if (auto refusal = prove()) return *refusal;
    return std::move(next_);
  }

 private:
  const State& before_;
  State next_;
  const Stage& directive_;
  const PrimitiveContext& context_;

  std::string buffer_, of_;     // what is staged, and the reference tensor it holds
  const Loop* site_ = nullptr;  // null: the whole kernel
  Names prefix_;                // loops down to the site
  LoopNames outer_;
  Names users_, writers_;  // statements below the site that touch it, in text order
  Box box_;
  Padding padding_;
  Layout layout_;
  StagedBuffer local_;
  Names copies_;

  bool is_reference() const { return before_.basis->find_buffer(buffer_) != nullptr; }
  ir::Role role() const { return is_reference() ? before_.basis->buffer(buffer_).role : ir::Role::Temp; }

  // --- site and form ---

  std::optional<Refusal> find_site() {
    buffer_ = of_ = directive_.tensor;
    const auto staged = std::find_if(before_.staged.begin(), before_.staged.end(),
                                     [&](const StagedBuffer& b) { return b.name == buffer_; });
    if (staged != before_.staged.end()) of_ = staged->of;
    if (staged == before_.staged.end() && !is_reference()) return malformed("no tensor is called " + buffer_);
    Tree below = before_.tree;
    if (directive_.at) {
      const auto loop = loop_of_site();
      if (!loop) return loop.error();
      site_ = *loop;
      below = site_->body;
      for (const Loop* above : path_to(before_.tree, statements_below(before_.tree, site_->id).front())) {
        prefix_.push_back(above->name);
        if (above->id == site_->id) break;
      }
      outer_.insert(prefix_.begin(), prefix_.end());
    }
    for (const Leaf* leaf : leaves_of(below)) {
      const ScheduledStatement& s = before_.at(leaf->statement);
      if (reads(s, buffer_) || writes(s, buffer_)) users_.push_back(leaf->statement);
      if (writes(s, buffer_)) writers_.push_back(leaf->statement);
    }
    if (users_.empty()) return malformed(nothing_to_stage());
    const bool idle = std::all_of(users_.begin(), users_.end(),
                                  [&](const std::string& user) { return is_empty(before_, before_.at(user)); });
    if (idle) return malformed(joined(users_) + " has no instance: there is nothing to stage");
    return std::nullopt;
  }

  // A bare loop of several nests means the one whose nest touches the tensor.
  Result<const Loop*, Refusal> loop_of_site() const {
    auto named = the_loop(before_, *directive_.at);
    if (named || !directive_.at->statement.empty()) return named;
    std::vector<const Loop*> touching;
    for (const Leaf* leaf : leaves_of(before_.tree))
      for (const Loop* loop : path_to(before_.tree, leaf->statement)) {
        const ScheduledStatement& s = before_.at(leaf->statement);
        const bool touches = reads(s, buffer_) || writes(s, buffer_);
        if (loop->name == directive_.at->loop && touches &&
            std::find(touching.begin(), touching.end(), loop) == touching.end())
          touching.push_back(loop);
      }
    if (touching.size() == 1) return touching.front();
    return named;
  }

  std::string nothing_to_stage() const {
    const std::string where = site_ ? "below " + site_->name : "in this kernel";
    for (const StagedBuffer& b : before_.staged)
      if (b.of == of_ && b.name != buffer_)
        return "nothing " + where + " touches " + buffer_ + " itself: its elements are in " + b.name + ", stage that";
    return "nothing " + where + " touches " + buffer_ + ": there is nothing to stage";
  }

  std::optional<Refusal> check_form() const {
    using Form = Stage::Form;
    if (directive_.form == Form::CacheRead && !writers_.empty())
      return malformed(joined(writers_) + " writes " + buffer_ +
                       " there: cache_read is for what is only read (use stage)");
    if (directive_.form == Form::CacheWrite && writers_.empty())
      return malformed("nothing writes " + buffer_ + " there: cache_write is for what is written (use cache_read)");
    if (directive_.form == Form::Pack && directive_.layout.empty()) return malformed("pack needs a layout");
    if (directive_.when_compile && (role() != ir::Role::Const || site_ || !is_reference()))
      return malformed("when compile is for a const tensor staged for the whole kernel: " + buffer_ + " is " +
                       (site_ ? "staged at " + site_->name : "an " + ir::to_string(role()) + " tensor"));
    for (const std::string& user : users_)
      for (const StagedBuffer& b : before_.staged)
        if (b.at_compile_time && writes(before_.at(user), b.name))
          return malformed(user + " runs when compiling: what it reads is not staged");
    if (!directive_.names.empty() && directive_.names.size() != before_.shape_of(buffer_).size())
      return malformed("layout names " + std::to_string(directive_.names.size()) + " dimensions, " + buffer_ + " has " +
                       std::to_string(before_.shape_of(buffer_).size()));
    return std::nullopt;
  }

  // --- box and padding ---

  std::vector<BoxAccess> accesses() const {
    std::vector<BoxAccess> result;
    for (const std::string& user : users_)
      for (const AccessRef& ref : accesses_of(before_.at(user)))
        if (ref.access.buffer == buffer_) result.push_back({&before_.at(user), ref.access.indices});
    return result;
  }

  std::optional<Refusal> find_box() {
    auto box = box_of(before_, accesses(), buffer_, outer_);
    if (!box) return conservative(box.error().reason);
    box_ = std::move(*box);
    return std::nullopt;
  }

  // --- what passes in and out ---

  // Loops above the site on which the box does not depend; Conservative if written boxes overlap.
  std::optional<Refusal> find_free_loops(Names& free) const {
    std::set<std::string> determined;
    const ir::Ranges ranges = loop_ranges(before_, users_);
    for (std::size_t d = 0; d < box_.origin.size(); ++d) {
      std::vector<std::pair<std::int64_t, std::string>> radix;
      for (const ir::Term& term : box_.origin[d].terms()) {
        if (term.atom.div)
          return conservative("the tiles of " + buffer_ + " lie at " + ir::to_string(box_.origin[d]) +
                              ": not a sum of loops");
        if (outer_.count(term.atom.symbol) > 0) radix.emplace_back(std::abs(term.coefficient), term.atom.symbol);
      }
      std::sort(radix.begin(), radix.end());
      std::int64_t covered = box_.extent[d];
      for (const auto& [step, loop] : radix) {
        const auto extent = extent_of(before_, users_, loop);
        if (step < covered && extent != 1)
          return conservative("the tiles of " + buffer_ + " at " + ir::to_string(box_.origin[d]) +
                              " overlap, and it is written");
        determined.insert(loop);
        if (!extent) {
          covered = std::numeric_limits<std::int64_t>::max();
          continue;
        }
        covered = step * std::max<std::int64_t>(0, *extent - 1) + covered;
      }
    }
    for (const std::string& loop : prefix_)
      if (determined.count(loop) == 0 && extent_of(before_, users_, loop) != 1) free.push_back(loop);
    return std::nullopt;
  }

  // The value at which a `when` pins a loop of this statement.
  std::optional<Affine> pinned_value(const std::string& statement, const std::string& loop) const {
    if (!is_pinned(leaf_of(before_, statement), loop)) return std::nullopt;
    for (const Constraint& c : before_.at(statement).loop_domain)
      if (c.equality && c.expr.coefficient(loop) == 1) return Affine::symbol(loop) - c.expr;
    return std::nullopt;
  }

  // (f1, f2, ..) lexicographically beyond (v1, v2, ..), as a union of conjunctions.
  static std::vector<Condition> beyond(const std::vector<std::pair<std::string, Affine>>& values, int sign) {
    std::vector<Condition> conditions;
    Condition equal_so_far;
    for (const auto& [loop, value] : values) {
      Condition condition = equal_so_far;
      condition.push_back({(Affine::symbol(loop) - value) * sign - 1, false});
      conditions.push_back(condition);
      equal_so_far.push_back(ir::equal(Affine::symbol(loop), value));
    }
    return conditions;
  }

  bool is_live_after() const {
    if (role() == ir::Role::Out || role() == ir::Role::InOut) return true;
    return std::any_of(before_.statements.begin(), before_.statements.end(),
                       [&](const ScheduledStatement& s) { return !has(users_, s.body.name) && reads(s, buffer_); });
  }

  // Iterations that begin with a read: nothing, all, or those beyond the one where the starter writes.
  std::vector<Condition> copy_in_conditions(const Names& free) const {
    const std::string& starter = users_.front();
    if (reads(before_.at(starter), buffer_)) return {Condition{}};
    std::vector<std::pair<std::string, Affine>> pins;
    bool all_first = true, all_alike = true;
    for (const std::string& loop : free) {
      const auto value = pinned_value(starter, loop);
      if (!value) continue;
      pins.emplace_back(loop, *value);
      for (const When& when : leaf_of(before_, starter).when)
        if (when.loop == loop) all_first = all_first && when.first;
      for (const std::string& user : users_) all_alike = all_alike && pinned_value(user, loop) == value;
    }
    if (pins.empty() || all_alike) return {};
    if (!all_first) return {Condition{}};
    return beyond(pins, 1);
  }

  std::optional<Refusal> find_transfers(Transfers& transfers) const {
    if (writers_.empty()) {
      transfers.in = {Condition{}};
      return std::nullopt;
    }
    Names free;
    const bool lives = is_live_after();
    const bool starts_fresh = !reads(before_.at(users_.front()), buffer_);
    const bool recomputed = before_.at(users_.front()).lifted > 0;
    if (!lives && starts_fresh && recomputed) return std::nullopt;  // made anew in every iteration
    if (auto refusal = find_free_loops(free)) return refusal;
    transfers.in = copy_in_conditions(free);
    if (lives) {
      transfers.out = {Condition{}};
      return std::nullopt;
    }
    if (transfers.in.empty()) return std::nullopt;
    std::vector<std::pair<std::string, Affine>> lasts;
    LoopNames above;
    ir::Bindings known;
    for (const std::string& loop : prefix_) {
      if (has(free, loop)) {
        const auto last = value_over(before_, owners_of(loop), loop, above, false, known);
        if (!last) return conservative("the last " + loop + " that touches " + buffer_ + " is not one affine value");
        lasts.emplace_back(loop, *last);
        known[loop] = *last;
      }
      above.insert(loop);
    }
    transfers.out = beyond(lasts, -1);
    return std::nullopt;
  }

  Names owners_of(const std::string& loop) const {
    Names owners;
    for (const std::string& user : users_)
      if (!is_pinned(leaf_of(before_, user), loop) && !is_empty(before_, before_.at(user))) owners.push_back(user);
    return owners.empty() ? users_ : owners;
  }

  // --- buffer and accesses ---

  std::optional<Refusal> make_buffer() {
    layout_ = plain_layout(box_.extent.size());
    if (!directive_.layout.empty()) {
      auto layout = parse_layout(directive_.names, directive_.layout, context_);
      if (!layout) return layout.error();
      layout_ = std::move(*layout);
    }
    const auto pad = evaluate(directive_.pad, context_);
    if (!pad) return pad.error();
    if (*pad < 0) return malformed("pad " + directive_.pad.text + " is negative");
    local_.of = of_;
    local_.dtype = before_.dtype_of(buffer_);
    local_.memory = directive_.memory.value_or(Memory::Heap);
    local_.scope_loop = site_ ? site_->id : -1;
    local_.at_compile_time = directive_.when_compile;
    local_.shape = local_shape(layout_, box_.extent);
    if (!local_.shape.empty()) local_.shape.back() += *pad;
    const char* suffix = !directive_.layout.empty() ? ".p" : local_.memory == Memory::Register ? ".r" : ".c";
    const Names dimensions = dimension_names();
    local_.name =
        fresh(buffer_ + suffix, [&](const std::string& name) { return is_buffer(name) || has(dimensions, name); });
    for (const BoxAccess& access : accesses())
      for (std::size_t d = 0; d < access.indices.size(); ++d)
        if (access.indices[d].indirect && !is_whole(d))
          return conservative("dimension " + std::to_string(d) + " of " + buffer_ +
                              " is indexed at run time: its layout stays");
    next_.staged.push_back(local_);
    return std::nullopt;
  }

  bool is_whole(std::size_t dimension) const {
    return std::any_of(layout_.begin(), layout_.end(), [&](const Digit& digit) {
      return digit.dimension == dimension && digit.div == 1 && digit.mod == 0;
    });
  }

  std::vector<ir::Index> local_indices(const std::vector<ir::Index>& indices, const ir::Bindings& rows) const {
    std::vector<ir::Index> result;
    for (const Digit& digit : layout_) {
      const ir::Index& index = indices[digit.dimension];
      const Affine own = index.affine - ir::substitute(box_.origin[digit.dimension], rows);
      result.emplace_back(digit_value(digit, own), index.indirect);
    }
    return result;
  }

  void redirect() {
    for (const std::string& user : users_) {
      ScheduledStatement& s = statement_of(next_, user);
      const ir::Bindings rows = row_bindings(s);
      for (ir::Access& write : s.body.writes)
        if (write.buffer == buffer_) write = {local_.name, local_indices(write.indices, rows)};
      const auto leaf = [&](const ir::Expr& e) {
        const ir::Load* load = std::get_if<ir::Load>(&e->op);
        if (!load || load->buffer != buffer_) return e;
        return ir::make_load(e->type, local_.name, local_indices(load->indices, rows));
      };
      for (ir::Expr& value : s.body.values) value = ir::rewrite(value, leaf);
      if (s.body.guard) s.body.guard = ir::rewrite(s.body.guard, leaf);
    }
  }

  // --- copies ---

  // Names of the box's dimensions: given, or as the Program's statements subscript the tensor.
  Names dimension_names() const {
    Names names = directive_.names;
    if (names.empty()) names = Names(box_.extent.size());
    for (const bool of_writes : {true, false})
      for (const ir::Statement& s : before_.basis->statements) {
        const ScheduledStatement plain = {s, StatementKind::Plain, {}, {}, {}, {}, {}, false, 0};
        for (const AccessRef& ref : accesses_of(plain))
          for (std::size_t d = 0; d < names.size(); ++d) {
            if (!names[d].empty() || ref.access.buffer != of_ || ref.write != of_writes) continue;
            const auto symbol = ref.access.indices[d].affine.as_symbol();
            if (symbol && !has(names, *symbol)) names[d] = *symbol;
          }
      }
    for (std::size_t d = 0; d < names.size(); ++d)
      if (names[d].empty()) names[d] = "d" + std::to_string(d);
    for (std::size_t d = 0; d < names.size(); ++d)
      if (clashes(names[d]))
        names[d] = fresh(buffer_ + "." + names[d],
                         [&](const std::string& name) { return is_buffer(name) || clashes(name) || has(names, name); });
    return names;
  }

  bool is_buffer(const std::string& name) const {
    return before_.basis->find_buffer(name) != nullptr ||
           std::any_of(before_.staged.begin(), before_.staged.end(),
                       [&](const StagedBuffer& b) { return b.name == name; });
  }

  // True where a loop above has this name or is a part of a loop of this name: a copy's loop can then still be split.
  bool clashes(const std::string& name) const {
    return std::any_of(prefix_.begin(), prefix_.end(),
                       [&](const std::string& loop) { return loop == name || loop.rfind(name + ".", 0) == 0; });
  }

  // The innermost local dimension is split by the vector length where it is long (registers are unrolled).
  bool is_long(std::size_t dimension) const {
    const auto lanes = context_.environment.values.find("L");
    if (lanes == context_.environment.values.end() || local_.memory == Memory::Register || layout_.empty())
      return false;
    return layout_.back().dimension == dimension && local_shape(layout_, box_.extent).back() > 4 * lanes->second;
  }

  // What an element must satisfy to exist and to be touched at all.
  void clip(const Names& names, std::vector<Constraint>& domain) const {
    const std::vector<Affine> shape = before_.shape_of(buffer_);
    for (std::size_t d = 0; d < names.size(); ++d) {
      const Affine element = box_.origin[d] + Affine::symbol(names[d]);
      domain.push_back(ir::at_least(Affine::symbol(names[d]), 0));
      domain.push_back(ir::less_than(Affine::symbol(names[d]), box_.extent[d]));
      ir::Interval touched = touched_range(d);
      if (!padding_.otherwise) {
        domain.push_back(ir::at_least(element, std::max<std::int64_t>(0, touched.min.value_or(0))));
        if (!touched.max || !shape[d].is_constant() || *touched.max >= shape[d].constant())
          domain.push_back(ir::less_than(element, shape[d]));
        else
          domain.push_back(ir::at_least(*touched.max, element));
        continue;
      }
      if (touched.min) domain.push_back(ir::at_least(element, *touched.min));
      if (touched.max) domain.push_back(ir::at_least(*touched.max, element));
    }
  }

  ir::Interval touched_range(std::size_t d) const {
    std::optional<ir::Interval> all;
    for (const BoxAccess& access : accesses()) {
      if (access.indices[d].indirect) return {};
      const ir::Interval own = ir::range_of(access.indices[d].affine, iterator_ranges(before_, *access.statement));
      if (!all) all = own;
      all->min = all->min && own.min ? std::optional(std::min(*all->min, *own.min)) : std::nullopt;
      all->max = all->max && own.max ? std::optional(std::max(*all->max, *own.max)) : std::nullopt;
    }
    return all.value_or(ir::Interval{});
  }

  // Only what was written leaves: constraints of the writers' domains over what they subscript with.
  void clip_to_written(const Names& names, std::vector<Constraint>& domain) const {
    std::optional<std::vector<Constraint>> common;
    for (const std::string& writer : writers_) {
      const ScheduledStatement& s = before_.at(writer);
      const ir::Access& write = *std::find_if(s.body.writes.begin(), s.body.writes.end(),
                                              [&](const ir::Access& w) { return w.buffer == buffer_; });
      ir::Bindings elements;
      for (std::size_t d = 0; d < names.size(); ++d) {
        const Affine& index = write.indices[d].affine;
        const auto symbol = (index - index.constant()).as_symbol();
        if (symbol && !write.indices[d].indirect)
          elements[*symbol] = box_.origin[d] + Affine::symbol(names[d]) - index.constant();
      }
      std::vector<Constraint> own;
      for (const Constraint& c : s.body.domain) {
        std::set<std::string> symbols;
        c.expr.collect_symbols(symbols);
        const bool known = std::all_of(symbols.begin(), symbols.end(), [&](const std::string& symbol) {
          return elements.count(symbol) > 0 || has(before_.basis->params, symbol);
        });
        if (known) own.push_back(ir::substitute(c, elements));
      }
      if (!common) common = own;
      std::erase_if(*common, [&](const Constraint& c) { return std::find(own.begin(), own.end(), c) == own.end(); });
    }
    for (const Constraint& c : *common)
      if (std::find(domain.begin(), domain.end(), c) == domain.end()) domain.push_back(c);
  }

  std::string add_copy(bool in, const Condition& condition) {
    const Names names = dimension_names();
    const DigitLoops loops = digit_loops(layout_, names);
    ScheduledStatement copy;
    copy.kind = StatementKind::Copy;
    copy.lifted = static_cast<int>(prefix_.size());
    copy.body.name =
        fresh(buffer_ + (in ? ".in" : ".out"), [&](const std::string& name) { return next_.find(name) != nullptr; });
    copy.body.iterators = prefix_;
    copy.body.iterators.insert(copy.body.iterators.end(), names.begin(), names.end());
    copy.body.domain = project_all(before_, in ? users_ : writers_, outer_);
    copy.body.domain.insert(copy.body.domain.end(), condition.begin(), condition.end());
    clip(names, copy.body.domain);
    if (!in) clip_to_written(names, copy.body.domain);
    for (const std::string& loop : prefix_) {
      copy.rows.push_back({loop, Affine::symbol(loop)});
      copy.inverse[loop] = Affine::symbol(loop);
    }
    copy.rows.insert(copy.rows.end(), loops.rows.begin(), loops.rows.end());
    copy.inverse.insert(loops.inverse.begin(), loops.inverse.end());
    copy.loop_domain = loops.domain;
    std::vector<ir::Index> element, local;
    ir::Bindings coordinates;
    for (std::size_t d = 0; d < names.size(); ++d) {
      element.emplace_back(box_.origin[d] + Affine::symbol(names[d]));
      coordinates[coordinate_name(d)] = element.back().affine;
    }
    for (const Digit& digit : layout_) local.emplace_back(digit_value(digit, Affine::symbol(names[digit.dimension])));
    copy.body.writes = {in ? ir::Access{local_.name, local} : ir::Access{buffer_, element}};
    copy.body.values = {in ? load_in(element, coordinates, copy) : ir::make_load(local_.dtype, local_.name, local)};
    next_.statements.push_back(copy);
    copies_.push_back(copy.body.name);
    return copy.body.name;
  }

  ir::Expr load_in(const std::vector<ir::Index>& element, const ir::Bindings& coordinates,
                   const ScheduledStatement& copy) const {
    std::vector<Constraint> guard;
    const ir::Ranges ranges = iterator_ranges(next_, copy);
    for (const Constraint& c : padding_.guard) {
      const Constraint own = ir::substitute(c, coordinates);
      if (ir::truth_of(own, ranges) != ir::Truth::True) guard.push_back(own);
    }
    if (guard.empty()) return ir::make_load(local_.dtype, buffer_, element);
    return ir::make_guarded_load(local_.dtype, buffer_, element, guard, padding_.otherwise);
  }

  // Registers: unrolled with an innermost vector; else serial with an innermost vector, which has stride 1 on the
  // local side. A long innermost dimension is split by the vector length.
  Tree copy_nest(const std::string& name) {
    ScheduledStatement& copy = statement_of(next_, name);
    const bool in_registers = local_.memory == Memory::Register;
    if (!layout_.empty() && is_long(layout_.back().dimension))
      split_row(copy, copy.rows.back().loop, context_.environment.values.at("L"));
    Tree tree = make_leaf({name, {}, {}});
    for (std::size_t i = copy.rows.size(); i > prefix_.size(); --i) {
      Loop loop = {.id = next_.next_loop_id++, .name = copy.rows[i - 1].loop, .body = std::move(tree)};
      loop.kind = i == copy.rows.size() ? LoopKind::Vector : in_registers ? LoopKind::Unrolled : LoopKind::Serial;
      tree = make_loop(std::move(loop));
    }
    return tree;
  }

  void insert_copies(const Transfers& transfers) {
    std::vector<Tree> ins, outs;
    for (const Condition& condition : transfers.in) ins.push_back(copy_nest(add_copy(true, condition)));
    for (const Condition& condition : transfers.out) outs.push_back(copy_nest(add_copy(false, condition)));
    const auto around = [&](const Tree& body) {
      std::vector<Tree> children = ins;
      children.push_back(body);
      children.insert(children.end(), outs.begin(), outs.end());
      return make_sequence(std::move(children));
    };
    if (!site_) {
      next_.tree = around(next_.tree);
      return;
    }
    next_.tree = replace_loop(next_.tree, site_->id, [&](const Loop& loop) {
      Loop rebuilt = loop;
      rebuilt.body = around(loop.body);
      return make_loop(std::move(rebuilt));
    });
  }

  // --- the end ---

  void drop_unused_buffers() {
    std::erase_if(next_.staged, [&](const StagedBuffer& b) {
      return std::none_of(next_.statements.begin(), next_.statements.end(),
                          [&](const ScheduledStatement& s) { return reads(s, b.name) || writes(s, b.name); });
    });
  }

  std::optional<Refusal> prove() const {
    if (!context_.prover) return std::nullopt;
    Names touched = users_;
    touched.insert(touched.end(), copies_.begin(), copies_.end());
    if (auto refusal = context_.prover->check_bounds(next_, touched)) return refusal;
    if (auto refusal = context_.prover->check_storage(next_, of_)) return refusal;
    return check_races(next_, touched, context_);
  }
};

}  // namespace

Applied stage(const State& state, const Stage& directive, const PrimitiveContext& context) {
  return StageApplication(state, directive, context).run();
}

}  // namespace polyte::schedule
