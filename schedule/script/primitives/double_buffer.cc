// double_buffer X at L:   L > { X.in;  body }
//                    ->   X.first;  L > { X.in of the next iteration;  body }
// X, read from a buffer that is filled at the head of every iteration of L, gets two such
// buffers, used in turn: the copy for iteration l + 1 is made while l computes. The row of X.in
// at L becomes l - 1, its buffer's new leading index l mod 2; the first fill stands before L.
// `pipeline X at L depth n` has n buffers: the copy for l + n - 1 is made in l, n - 1 fills stand
// before L, in a loop of L's name. The proof is that of any copy and fold: liveness.
#include <algorithm>

#include "schedule/script/primitives/buffers.h"
#include "schedule/script/primitives/lift.h"

namespace polyte::schedule {

namespace {

using ir::Affine;

constexpr std::int64_t kDeepest = 16;

// With depth n and first value f of L (n = 3):
//
//   L > { X.in(l); body(l) }   ->   L in f..f+2 > X.first(l);  L > { X.in(l + 2); body(l) }
//
// The copy of iteration l and its readers use X[l mod n, ..], so that iteration l fills the buffer
// that iteration l - 1 was the last to read. That no read is overtaken is proved, not assumed.
class DoubleBuffering {
 public:
  DoubleBuffering(const State& state, const DoubleBuffer& directive,
                  const PrimitiveContext& context)
      : before_(state), next_(state), directive_(directive), context_(context) {}

  Applied run() {
    if (auto refusal = find_depth()) return *refusal;
    if (auto refusal = find()) return *refusal;
    if (auto refusal = find_first()) return *refusal;
    add_first_copy();
    shift_copy();
    widen_buffer();
    if (auto refusal = settle(next_)) return *refusal;
    if (auto refusal = check_buffer(next_, next_.staged[buffer_], context_)) return *refusal;
    return std::move(next_);
  }

 private:
  const State& before_;
  State next_;
  const DoubleBuffer& directive_;
  const PrimitiveContext& context_;
  std::size_t buffer_ = 0;
  std::int64_t depth_ = 2;
  const Loop* loop_ = nullptr;
  std::string copy_;
  std::vector<std::string> readers_;
  std::vector<const Loop*> above_;  // the loops above L
  Affine first_;

  const StagedBuffer& buffer() const { return before_.staged[buffer_]; }

  std::optional<Refusal> find_depth() {
    if (directive_.depth.text.empty()) return std::nullopt;
    const auto depth = evaluate(directive_.depth, context_);
    if (!depth) return depth.error();
    if (*depth < 2 || *depth > kDeepest)
      return malformed("depth " + std::to_string(*depth) + ": expected 2 to " +
                       std::to_string(kDeepest) + ", copies that there are at once");
    depth_ = *depth;
    return std::nullopt;
  }

  // The buffer, its one copy in, its readers, and L: the serial loop at which it is staged, which
  // is older than the stage, as the copy has it for an iterator.
  std::optional<Refusal> find() {
    const auto buffer = the_buffer(before_, directive_.tensor);
    if (!buffer) return buffer.error();
    buffer_ = *buffer;
    const StagedBuffer& b = this->buffer();
    for (const std::string& user : users_of(before_, b.name)) {
      const ScheduledStatement& s = before_.at(user);
      if (!writes(s, b.name)) {
        readers_.push_back(user);
        continue;
      }
      if (s.kind != StatementKind::Copy || !copy_.empty())
        return malformed(b.name + " is written by " + user +
                         ": double_buffer is for what is copied in and read");
      copy_ = user;
    }
    if (copy_.empty() || readers_.empty())
      return malformed(b.name + " is not copied in: double_buffer changes nothing");
    loop_ = b.scope_loop == kKernel ? nullptr : find_loop(before_.tree, b.scope_loop);
    if (!loop_ || loop_->name != directive_.at.loop)
      return malformed(b.name + " is staged " +
                       (loop_ ? "at " + loop_->name : "for the whole kernel") + ", not at " +
                       directive_.at.loop);
    if (b.alloc_loop != StagedBuffer::kAtScope)
      return malformed(b.name + " is hoisted: double_buffer comes before");
    if (loop_->kind != LoopKind::Serial)
      return malformed(loop_->name + " is " + ir::to_string(loop_->kind) +
                       ": it has no next iteration");
    if (row_of(before_.at(copy_), loop_->name)->value.as_symbol() != loop_->name)
      return conservative(loop_->name + " was made after " + b.name +
                          " was staged: double_buffer comes before, or stage at " + loop_->name);
    for (const Loop* above : path_to(before_.tree, copy_)) {
      if (above->id == loop_->id) break;
      above_.push_back(above);
    }
    return std::nullopt;
  }

  // The first fill stands in front of L, where only the loops above are known: the first value
  // has to be one expression over them.
  std::optional<Refusal> find_first() {
    LoopNames outer;
    for (const Loop* above : above_) outer.insert(above->name);
    const auto first = value_over(before_, readers_, loop_->name, outer, true);
    if (!first)
      return conservative("the first " + loop_->name +
                          " is not one affine value of the loops above it");
    first_ = *first;
    std::set<std::string> symbols;
    first_.collect_symbols(symbols);
    for (const std::string& name : symbols) {
      const LoopRow* row = row_of(before_.at(copy_), name);
      if (row && row->value.as_symbol() != name)
        return conservative(name + " was made after " + buffer().name +
                            " was staged: double_buffer comes before");
    }
    return std::nullopt;
  }

  // Fills for the first iterations, in front of the loop. With two buffers it is one fill, without
  // a loop L; with more it is several, in a loop of L's name over its first depth - 1 values.
  void add_first_copy() {
    ScheduledStatement first = before_.at(copy_);
    const bool several = depth_ > 2;
    const std::string base = buffer().of + ".first";
    first.body.name = base;
    for (int i = 2; before_.find(first.body.name); ++i)
      first.body.name = base + "_" + std::to_string(i);
    if (several) {
      first.body.domain.push_back(
          ir::less_than(Affine::symbol(loop_->name), first_ + (depth_ - 1)));
    } else {
      first.body.domain.push_back(ir::equal(Affine::symbol(loop_->name), first_));
      std::erase_if(first.rows, [&](const LoopRow& row) { return row.loop == loop_->name; });
      for (auto& [iterator, value] : first.inverse)
        value = ir::substitute(value, {{loop_->name, first_}});
      for (ir::Constraint& c : first.loop_domain) c = ir::substitute(c, {{loop_->name, first_}});
    }
    const std::vector<const Loop*> path = path_to(before_.tree, copy_);
    Tree tree = make_leaf({first.body.name, {}, {}});
    for (std::size_t i = path.size(); i > above_.size() + (several ? 0 : 1); --i) {
      Loop own = *path[i - 1];
      own.id = next_.fresh_loop();
      own.body = std::move(tree);
      tree = make_loop(std::move(own));
    }
    next_.statements.push_back(std::move(first));
    next_.tree = replace_loop(next_.tree, loop_->id, [&](const Loop& loop) {
      return make_sequence({tree, make_loop(loop)});
    });
  }

  // The copy inside runs depth - 1 iterations before the one that it is for: its row is l - ahead,
  // so that an iteration l of the loop holds the copy of instance l + ahead.
  void shift_copy() {
    ScheduledStatement& copy = statement_of(next_, copy_);
    const Affine loop = Affine::symbol(loop_->name);
    const std::int64_t ahead = depth_ - 1;
    copy.body.domain.push_back(ir::at_least(loop, first_ + ahead));
    for (LoopRow& row : copy.rows)
      if (row.loop == loop_->name) row.value = row.value - ahead;
    for (auto& [iterator, value] : copy.inverse)
      value = ir::substitute(value, {{loop_->name, loop + ahead}});
    for (ir::Constraint& c : copy.loop_domain) c = ir::substitute(c, {{loop_->name, loop + ahead}});
  }

  // A leading dimension of `depth`; contents now outlive an iteration of L, so that the scope
  // is the loop above. A fill names its instance by its iterator, a reader by its row of L.
  void widen_buffer() {
    StagedBuffer& b = next_.staged[buffer_];
    const std::string& name = loop_->name;
    edit_accesses(next_, b.name, [&](const ScheduledStatement& s, std::vector<ir::Index> indices) {
      const LoopRow* row = row_of(s, name);
      const bool fills = writes(s, b.name);  // a reader may be a copy too, of another buffer
      indices.insert(indices.begin(),
                     ir::Index(ir::mod(fills ? Affine::symbol(name) : row->value, depth_)));
      return indices;
    });
    b.shape.insert(b.shape.begin(), depth_);
    b.dimensions.insert(b.dimensions.begin(), name);
    b.scope_loop = above_.empty() ? kKernel : above_.back()->id;
  }
};

}  // namespace

Applied double_buffer(const State& state, const DoubleBuffer& directive,
                      const PrimitiveContext& context) {
  return DoubleBuffering(state, directive, context).run();
}

}  // namespace polyte::schedule
