// stage X at L:   L > body   ->   L > { X.in;  body with X in a buffer of its own;  X.out }
//
// Per iteration of L the accesses to X below go to the box they touch. Copy-in: elements whose
// first access there is a read; copy-out: elements written whose next access later is a read,
// or that leave the kernel. For an accumulator below loops that its elements do not determine
// (k.o free) that is
//
//   acc.in  where k.o >= first + 1        acc.out  where k.o <= last - 1
//
// with one pair a free loop, lexicographic. Guarded reads become a padded copy: the guard's
// value is stored outside. Where X is made below L (compute_at) there is nothing outside to
// store: only elements that exist are made, and the reads keep their guards. Copies are ordinary
// statements whose leading iterators are the loops down to L. Decided by the form of the
// tree; Prover::check_storage judges.
#include <algorithm>

#include "ir/relations.h"
#include "schedule/script/primitives/buffers.h"
#include "schedule/script/primitives/copy_loops.h"
#include "schedule/script/primitives/stage_plan.h"
#include "schedule/script/print_words.h"

namespace polyte::schedule {

namespace {

using ir::Affine;

class StageApplication {
 public:
  StageApplication(const State& state, const Stage& directive, const PrimitiveContext& context)
      : plan_{state, directive, context}, next_(state) {}

  Applied run() {
    if (auto refusal = find_site()) return *refusal;
    if (is_idle_) return plan_.before;
    if (auto refusal = check_form()) return *refusal;
    if (auto refusal = find_box()) return *refusal;
    auto padding = padding_of(plan_.before, plan_.buffer, plan_.users);
    if (!padding) return padding.error();
    plan_.padding = std::move(*padding);
    const auto transfers = find_transfers(plan_);
    if (!transfers) return transfers.error();
    if (auto refusal = make_buffer()) return *refusal;
    redirect();
    copies_ = insert_copies(next_, plan_, *transfers);
    if (plan_.directive.copy)
      if (auto refusal = arrange_copies(next_, plan_.directive.copy,
                                        {plan_.buffer, copies_, plan_.prefix.size()}))
        return *refusal;
    drop_unused_buffers();
    if (auto refusal = settle(next_)) return *refusal;
    const bool is_folded = std::ranges::any_of(folds_, [](std::int64_t fold) { return fold > 0; });
    if (is_folded) return folded();
    if (auto refusal = prove()) return *refusal;
    return std::move(next_);
  }

 private:
  StagePlan plan_;
  State next_;
  bool is_idle_ = false;

  Names copies_;
  std::vector<std::int64_t> folds_;  // by local dimension; 0: not folded

  // --- site and form ---

  // The site, the loops down to it, and who touches the tensor below. A stage of a tensor that
  // is staged already stages the copy; `of` stays the Program's tensor.
  std::optional<Refusal> find_site() {
    plan_.buffer = plan_.of = plan_.directive.tensor;
    const auto staged = std::ranges::find_if(
        plan_.before.staged, [&](const StagedBuffer& b) { return b.name == plan_.buffer; });
    if (staged != plan_.before.staged.end()) plan_.of = staged->of;
    if (staged == plan_.before.staged.end() && !plan_.is_reference())
      return malformed("no tensor is called " + plan_.buffer);
    if (!plan_.directive.reader.empty())
      if (const auto named = the_statement(plan_.before, plan_.directive.reader); !named)
        return named.error();
    Tree below = plan_.before.tree;
    if (plan_.directive.at) {
      const auto loop = loop_of_site();
      if (!loop) return loop.error();
      plan_.site = *loop;
      below = plan_.site->body;
      for (const Loop* above : path_to(
               plan_.before.tree, statements_below(plan_.before.tree, plan_.site->id).front())) {
        plan_.prefix.push_back(above->name);
        if (above->id == plan_.site->id) break;
      }
      plan_.outer.insert(plan_.prefix.begin(), plan_.prefix.end());
    }
    for (const Leaf* leaf : leaves_of(below)) {
      const ScheduledStatement& s = plan_.before.at(leaf->statement);
      const auto refs = accesses_of(s);
      const bool reads_it = std::ranges::any_of(
          refs, [&](const AccessRef& ref) { return ref.load && plan_.takes(s, *ref.load); });
      if (reads_it || plan_.takes_writes(s)) plan_.users.push_back(leaf->statement);
      if (plan_.takes_writes(s)) plan_.writers.push_back(leaf->statement);
    }
    if (plan_.users.empty()) return malformed(nothing_to_stage());
    const bool idle = std::ranges::all_of(plan_.users, [&](const std::string& user) {
      return is_empty(plan_.before, plan_.before.at(user));
    });
    // Tiles of a size that has none: noted, and the script goes on.
    is_idle_ = idle && (plan_.directive.updates_only || plan_.directive.reads_only());
    if (idle && !is_idle_)
      return malformed(join_words(plan_.users) + " has no instance: there is nothing to stage");
    return std::nullopt;
  }

  // A loop name that several nests have means the nest that touches the tensor.
  Result<const Loop*, Refusal> loop_of_site() const {
    auto named = the_loop(plan_.before, *plan_.directive.at);
    if (named || !plan_.directive.at->statement.empty()) return named;
    std::vector<const Loop*> touching;
    for (const Leaf* leaf : leaves_of(plan_.before.tree))
      for (const Loop* loop : path_to(plan_.before.tree, leaf->statement)) {
        const ScheduledStatement& s = plan_.before.at(leaf->statement);
        const bool touches = reads(s, plan_.buffer) || writes(s, plan_.buffer);
        if (loop->name == plan_.directive.at->loop && touches &&
            std::ranges::find(touching, loop) == touching.end())
          touching.push_back(loop);
      }
    if (touching.size() == 1) return touching.front();
    return named;
  }

  std::string nothing_to_stage() const {
    const std::string where = plan_.site ? "below " + plan_.site->name : "in this kernel";
    if (plan_.directive.reads_only()) return no_such_read(where);
    for (const StagedBuffer& b : plan_.before.staged)
      if (b.of == plan_.of && b.name != plan_.buffer)
        return "nothing " + where + " touches " + plan_.buffer + " itself: its elements are in " +
               b.name + ", stage that";
    return "nothing " + where + " touches " + plan_.buffer + ": there is nothing to stage";
  }

  std::string no_such_read(const std::string& where) const {
    const std::string& reader = plan_.directive.reader;
    std::string element = plan_.buffer;
    if (!plan_.directive.subscripts.empty())
      element += "[" + list(plan_.directive.subscripts) + "]";
    Names others;
    for (const ScheduledStatement& s : plan_.before.statements)
      for (const AccessRef& ref : accesses_of(s))
        if (ref.load && ref.access.buffer == plan_.buffer &&
            (reader.empty() || s.body.name == reader))
          others.push_back((reader.empty() ? s.body.name + ": " : "") +
                           ir::to_string(ir::make_load(plan_.before.dtype_of(plan_.buffer),
                                                       plan_.buffer, ref.access.indices)));
    return (reader.empty() ? "nothing" : reader) + " reads " + element + " " + where +
           (others.empty() ? ": there is nothing to stage"
                           : "; what is read of " + plan_.buffer + ": " + join_words(others));
  }

  std::optional<Refusal> check_form() const {
    using Form = Stage::Form;
    if (plan_.directive.form == Form::CacheRead && !plan_.writers.empty())
      return malformed(join_words(plan_.writers) + " writes " + plan_.buffer +
                       " there: cache_read is for what is only read (use stage)");
    if (plan_.directive.form == Form::CacheWrite && plan_.writers.empty())
      return malformed("nothing writes " + plan_.buffer +
                       " there: cache_write is for what is written (use cache_read)");
    if (plan_.directive.fold && plan_.directive.layout.empty())
      return malformed("fold goes with a layout: fold layout (u, x) [u%3, x]");
    if (plan_.directive.form == Form::Pack && plan_.directive.layout.empty())
      return malformed("pack needs a layout");
    if (plan_.directive.when_compile &&
        (plan_.role() != ir::Role::Const || plan_.site || !plan_.is_reference()))
      return malformed("when compile is for a const tensor staged for the whole kernel: " +
                       plan_.buffer + " is " +
                       (plan_.site ? "staged at " + plan_.site->name
                                   : "an " + ir::to_string(plan_.role()) + " tensor"));
    if (plan_.directive.when_compile &&
        !std::ranges::all_of(plan_.before.shape_of(plan_.buffer), &Affine::is_constant))
      return malformed("when compile is for tensors of known size: the shape of " + plan_.buffer +
                       " is open");
    if (auto refusal = check_windows()) return refusal;
    for (const std::string& user : plan_.users)
      for (const StagedBuffer& b : plan_.before.staged)
        if (b.at_compile_time && writes(plan_.before.at(user), b.name))
          return malformed(user + " runs when compiling: what it reads is not staged");
    if (!plan_.directive.names.empty() &&
        plan_.directive.names.size() != plan_.before.shape_of(plan_.buffer).size())
      return malformed("layout names " + std::to_string(plan_.directive.names.size()) +
                       " dimensions, " + plan_.buffer + " has " +
                       std::to_string(plan_.before.shape_of(plan_.buffer).size()));
    return std::nullopt;
  }

  // Elements that a sliding window does not make again lie in the buffer since the window's loop
  // began, so the buffer must not begin anew inside of that loop.
  std::optional<Refusal> check_windows() const {
    for (const std::string& writer : plan_.writers) {
      const NestLeaf leaf = leaf_said(leaf_of(plan_.before, writer), plan_.before.tree);
      if (leaf.per.empty()) continue;
      const ScheduledStatement& s = plan_.before.at(writer);
      const Names above(s.body.iterators.begin(), s.body.iterators.begin() + s.lifted);
      for (const std::string& loop : sliding_loops(above, leaf.per))
        if (has(plan_.prefix, loop))
          return malformed(plan_.buffer + " is made once per " + leaf.per + ": a buffer at " +
                           plan_.site->name + " would forget it (" +
                           (leaf.per == "root" ? "leave the loop out" : "stage it at " + leaf.per) +
                           ")");
    }
    return std::nullopt;
  }

  // --- box and padding ---

  std::optional<Refusal> find_box() {
    auto box = box_of(plan_.before, plan_.accesses(), plan_.buffer, plan_.outer);
    if (!box) return conservative(box.error().reason);
    plan_.box = std::move(*box);
    for (const Names* touching : {&plan_.users, &plan_.writers}) {
      if (touching->empty()) continue;
      const std::string loop =
          unbounded_loop(project_all(plan_.before, *touching, plan_.outer), plan_.prefix);
      if (!loop.empty())
        return conservative("the iterations of " + loop + " that " +
                            (touching == &plan_.users ? "touch " : "write ") + plan_.buffer +
                            " are not one range");
    }
    return std::nullopt;
  }

  // --- buffer and accesses ---

  std::optional<Refusal> make_buffer() {
    plan_.layout = plain_layout(plan_.box.extent.size());
    if (plan_.directive.memory == Memory::Register) put_lanes_last();
    if (!plan_.directive.layout.empty()) {
      auto layout = parse_layout(plan_.directive.names, plan_.directive.layout, plan_.context,
                                 plan_.directive.fold ? &folds_ : nullptr);
      if (!layout) return layout.error();
      plan_.layout = std::move(*layout);
    }
    const auto pad = evaluate(plan_.directive.pad, plan_.context);
    if (!pad) return pad.error();
    if (*pad < 0) return malformed("pad " + plan_.directive.pad.text + " is negative");
    plan_.local.of = plan_.of;
    plan_.local.dtype = plan_.before.dtype_of(plan_.buffer);
    plan_.local.memory = plan_.directive.memory.value_or(Memory::Heap);
    plan_.local.scope_loop = plan_.site ? plan_.site->id : kKernel;
    plan_.local.at_compile_time = plan_.directive.when_compile;
    plan_.local.shape = local_shape(plan_.layout, plan_.box.extent);
    if (!plan_.local.shape.empty()) plan_.local.shape.back() += *pad;
    for (const LoopRow& row : digit_loops(plan_.layout, plan_.plain_names()).rows)
      plan_.local.dimensions.push_back(row.loop);
    // x.p packed, x.r in registers, x.c a copy.
    const char* suffix = !plan_.directive.layout.empty()          ? ".p"
                         : plan_.local.memory == Memory::Register ? ".r"
                                                                  : ".c";
    const Names dimensions = plan_.dimension_names();
    plan_.local.name = fresh(plan_.buffer + suffix, [&](const std::string& name) {
      return plan_.is_buffer(name) || has(dimensions, name);
    });
    for (const BoxAccess& access : plan_.accesses())
      for (std::size_t d = 0; d < access.indices.size(); ++d)
        if (access.indices[d].indirect && !is_whole(d))
          return conservative("dimension " + std::to_string(d) + " of " + plan_.buffer +
                              " is indexed at run time: its layout stays");
    next_.staged.push_back(plan_.local);
    return std::nullopt;
  }

  // Registers hold vectors: where the lanes of all that touch the tensor lie along one dimension,
  // that is the last one of the copy, along which it is filled and written back.
  //
  //   [h] > [v] > <m> > y[m, h, v]       y.r[h, v, m]
  //
  // A loop within the lanes, such as that of a batch of one, changes nothing.
  void put_lanes_last() {
    std::set<std::size_t> along;
    for (const std::string& user : plan_.users) {
      const ScheduledStatement& s = plan_.before.at(user);
      const std::vector<const Loop*> path = path_to(plan_.before.tree, user);
      const auto lane_loop =
          std::ranges::find(path.rbegin(), path.rend(), ir::LoopKind::Vector, &Loop::kind);
      if (lane_loop == path.rend()) continue;
      for (const AccessRef& ref : accesses_of(s)) {
        if (ref.access.buffer != plan_.buffer) continue;
        for (std::size_t d = 0; d < ref.access.indices.size(); ++d)
          if (ir::substitute(ref.access.indices[d].affine, s.inverse).uses((*lane_loop)->name))
            along.insert(d);
      }
    }
    if (along.size() != 1) return;
    const auto lanes = plan_.layout.begin() + static_cast<std::ptrdiff_t>(*along.begin());
    const bool is_last = std::all_of(lanes + 1, plan_.layout.end(), [&](const Digit& digit) {
      return plan_.box.extent[digit.dimension] == 1;
    });
    if (!is_last) std::rotate(lanes, lanes + 1, plan_.layout.end());
  }

  // Whether the dimension is stored as it is, by one digit without quotient or remainder: a
  // subscript that is known at run time only cannot be taken apart here.
  bool is_whole(std::size_t dimension) const {
    return std::ranges::any_of(plan_.layout, [&](const Digit& digit) {
      return digit.dimension == dimension && digit.div == 1 && digit.mod == 0;
    });
  }

  // An element's place in the buffer: x[origin + own] is x.c at the digits of `own`, the origin
  // being over the loops above, and these over the statement's iterators.
  std::vector<ir::Index> local_indices(const std::vector<ir::Index>& indices,
                                       const ir::Bindings& rows) const {
    std::vector<ir::Index> result;
    for (const Digit& digit : plan_.layout) {
      const ir::Index& index = indices[digit.dimension];
      const Affine own = index.affine - ir::substitute(plan_.box.origin[digit.dimension], rows);
      result.emplace_back(digit_value(digit, own), index.indirect);
    }
    return result;
  }

  void redirect() {
    for (const std::string& user : plan_.users) {
      ScheduledStatement& s = statement_of(next_, user);
      const ir::Bindings rows = row_bindings(s);
      for (ir::Access& write : s.body.writes)
        if (write.buffer == plan_.buffer && !plan_.directive.reads_only())
          write = {plan_.local.name, local_indices(write.indices, rows)};
      if (plan_.directive.updates_only) continue;
      const auto leaf = [&](const ir::Expr& e) {
        const ir::Load* load = std::get_if<ir::Load>(&e->op);
        if (!load || !plan_.takes(plan_.before.at(user), *load)) return e;
        std::vector<ir::Index> indices = local_indices(load->indices, rows);
        // A guarded read keeps its guard, unless the copy holds the value for outside as well.
        if (!load->otherwise || plan_.padding.otherwise)
          return ir::make_load(e->type, plan_.local.name, std::move(indices));
        return ir::make_guarded_load(e->type, plan_.local.name, std::move(indices), load->guard,
                                     load->otherwise);
      };
      ir::rewrite_reads(s.body, leaf);
    }
  }

  // --- the end ---

  // A stage of a staged buffer that needs no copies leaves that one without accesses.
  void drop_unused_buffers() {
    std::erase_if(next_.staged, [&](const StagedBuffer& b) {
      return std::ranges::none_of(next_.statements, [&](const ScheduledStatement& s) {
        return reads(s, b.name) || writes(s, b.name);
      });
    });
  }

  // The same buffer with its folds, each proved as the last one.
  Applied folded() {
    const auto at = std::ranges::find_if(
        next_.staged, [&](const StagedBuffer& b) { return b.name == plan_.local.name; });
    const auto buffer = static_cast<std::size_t>(at - next_.staged.begin());
    for (std::size_t d = 0; d < folds_.size(); ++d) {
      // Nothing to fold at this size.
      if (folds_[d] == 0 || folds_[d] >= next_.staged[buffer].shape[d]) continue;
      const State unfolded = next_;
      fold_dimension(next_, buffer, d, folds_[d]);
      if (auto refusal = check_fold(next_, unfolded, buffer, d, folds_[d], plan_.context))
        return *refusal;
    }
    return std::move(next_);
  }

  std::optional<Refusal> prove() const {
    if (!plan_.context.prover) return std::nullopt;
    Names touched = plan_.users;
    touched.insert(touched.end(), copies_.begin(), copies_.end());
    if (auto refusal = plan_.context.prover->check_bounds(next_, touched)) return refusal;
    if (auto refusal = plan_.context.prover->check_storage(next_, plan_.of)) return refusal;
    return check_races(next_, touched, plan_.context);
  }
};

}  // namespace

Applied stage(const State& state, const Stage& directive, const PrimitiveContext& context) {
  return StageApplication(state, directive, context).run();
}

}  // namespace polyte::schedule
