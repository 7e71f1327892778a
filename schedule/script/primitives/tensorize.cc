// tensorize S: i with NAME:   i > k > S   ->   one instruction for all iterations of i and k
//
// Instructions stand in a catalogue (ir/intrinsics.h), each with a Program that says what it
// computes. The nest below i must be that Program under other names: loops of constant extents
// around one statement, the same operators and types, operands where the instruction takes them
// from. Else it is refused: both are printed, with the first difference and, where one is known,
// the way to a nest that matches. The nest stays what it was for every proof: instances, order and
// accesses are its own. That the instruction may take them in its own order holds for rows whose
// sums are not rounded, and what it writes it does not read elsewhere; the tensor cores sum floats
// in an order of their own, which the contract has to allow (`reassoc k`).
#include <algorithm>

#include "schedule/script/primitives/edit.h"
#include "schedule/script/tensorized.h"
#include "schedule/state/contract.h"

namespace polyte::schedule {

namespace {

std::string operands_of(const ir::Intrinsic& intrinsic) {
  std::string text;
  for (const ir::Buffer& b : intrinsic.program.buffers) {
    std::string shape;
    for (const ir::Affine& extent : b.shape)
      shape += (shape.empty() ? "" : ", ") + ir::to_string(extent);
    text += (text.empty() ? "" : ", ") + b.name + ": " + std::string(polyte::to_string(b.dtype)) +
            "[" + shape + "]";
  }
  return text;
}

// Finds directives that would make the nest match, for the refusal: loops are split and their tiles
// brought outside, operands packed, one mismatch after the other. Each step is really applied, to a
// State of its own, so that the advice is known to work.
class Repair {
 public:
  Repair(const State& state, const ir::Intrinsic& intrinsic, const PrimitiveContext& context)
      : intrinsic_(intrinsic),
        environment_(context.environment),
        prover_(context.prover),
        state_(state) {}

  std::vector<std::string> lines(const Loop& loop) {
    for (const Loop* at = &loop; at; at = std::get_if<Loop>(&at->body->op))
      inside_.push_back(at->name);
    statement_ = statements_below(state_.tree, loop.id).front();
    for (int steps = 0; steps < kMostSteps; ++steps) {
      const auto target = the_loop(state_, {statement_, inside_.front()});
      const auto nest =
          target ? point_nest(state_, **target, may_be_cut(intrinsic_)) : target.error();
      if (!nest) return {};
      const auto mismatch = difference(state_, intrinsic_, *nest);
      if (!mismatch) return finished();
      if (!repaired(*mismatch, *nest)) return {};
    }
    return {};
  }

 private:
  static constexpr int kMostSteps = 6;
  const ir::Intrinsic& intrinsic_;
  ScriptEnvironment environment_;
  Prover* prover_;
  State state_;
  std::string statement_;
  std::vector<std::string> outside_, inside_;  // names of the loops that were in the nest at first
  std::vector<std::string> lines_;

  std::vector<std::string> finished() {
    const Tensorize last{{statement_, inside_.front()}, intrinsic_.name};
    return lines_.empty() || !applied(last) ? std::vector<std::string>{} : lines_;
  }

  bool applied(Operation operation) {
    const Directive directive{std::move(operation), Provenance::Person, 0};
    Applied next = apply(state_, directive, environment_, prover_);
    if (!next) return false;
    state_ = std::move(*next);
    lines_.push_back(brief(print(directive)));
    return true;
  }

  // The line without a tail that is the default.
  static std::string brief(std::string line) {
    const std::string implied = "   tail guard";
    const std::size_t at = line.find(implied);
    return at == std::string::npos ? line : line.erase(at, implied.size());
  }

  // Dimensions by the iterators that run along them, where each is one; else numbered.
  std::vector<std::string> dimension_names(const std::string& buffer) const {
    for (const AccessRef& ref : accesses_of(state_.at(statement_))) {
      if (ref.access.buffer != buffer) continue;
      std::vector<std::string> names;
      for (const ir::Index& index : ref.access.indices) {
        const auto iterator = index.affine.as_symbol();
        names.push_back(iterator && !has(names, *iterator) ? *iterator
                                                           : "d" + std::to_string(names.size()));
      }
      return names;
    }
    return {};
  }

  // A mismatch names a loop of another extent, or an operand whose elements lie apart; nothing
  // else has a known repair.
  bool repaired(const ir::Mismatch& mismatch, const ir::Stmt& nest) {
    if (!mismatch.loop.empty()) return split_loop(mismatch.loop, mismatch.extent);
    return !mismatch.buffer.empty() && pack(mismatch, nest);
  }

  // k of 64 for an instruction of 32: split, and k.o brought outside the nest, in front of the
  // loops that stay.
  bool split_loop(const std::string& loop, std::int64_t extent) {
    if (!applied(Split{{statement_, loop}, {std::to_string(extent)}, false, {}, Tail::Guard}))
      return false;
    *std::ranges::find(inside_, loop) = within_tile(loop);
    outside_.push_back(tiles_of(loop));
    std::vector<std::string> order = outside_;
    order.insert(order.end(), inside_.begin(), inside_.end());
    std::vector<std::string> now;
    for (const Loop* l : path_to(state_.tree, statement_))
      if (has(order, l->name)) now.push_back(l->name);
    return now == order || applied(Reorder{statement_, order});
  }

  // Packs the operand so that its tile is contiguous: the dimension along which each loop of the
  // instruction moves element by element is cut by the loop's extent, and the remainders go last.
  bool pack(const ir::Mismatch& mismatch, const ir::Stmt& nest) {
    const std::vector<ir::Index>* indices = nullptr;
    std::map<std::string, std::int64_t> extents;
    ir::for_each_stmt(nest, [&](const ir::Stmt& s) {
      if (const auto* loop = std::get_if<ir::For>(&s->op))
        extents[loop->var] = (loop->upper.front() - loop->lower.front()).constant();
      if (const auto* store = std::get_if<ir::Store>(&s->op))
        for (const ir::Load* load : ir::loads_of(store->value))
          if (load->buffer == mismatch.buffer) indices = &load->indices;
    });
    Stage stage;
    stage.form = Stage::Form::Pack;
    stage.tensor = mismatch.buffer;
    stage.names = dimension_names(mismatch.buffer);
    if (!indices || stage.names.size() != indices->size()) return false;
    std::vector<std::string> quotients, rests, plain;
    std::set<std::size_t> cut;
    for (const std::string& loop : mismatch.along) {
      for (std::size_t d = 0; d < stage.names.size(); ++d) {
        if ((*indices)[d].affine.coefficient(loop) != 1 || !cut.insert(d).second) continue;
        quotients.push_back(stage.names[d] + "//" + std::to_string(extents.at(loop)));
        rests.push_back(stage.names[d] + "%" + std::to_string(extents.at(loop)));
        break;
      }
    }
    if (rests.size() != mismatch.along.size()) return false;
    for (std::size_t d = 0; d < stage.names.size(); ++d)
      if (!cut.count(d)) plain.push_back(stage.names[d]);
    for (const auto* part : {&plain, &quotients, &rests})
      stage.layout.insert(stage.layout.end(), part->begin(), part->end());
    return applied(std::move(stage));
  }
};

// Instructions of the catalogue that the nest does match.
std::vector<std::string> others(const State& state, const Loop& loop, const ir::Stmt& nest) {
  std::vector<std::string> lines;
  const std::string statement = statements_below(state.tree, loop.id).front();
  for (const ir::Intrinsic& row : ir::intrinsics())
    if (!difference(state, row, nest))
      lines.push_back(
          print(Directive{Tensorize{{statement, loop.name}, row.name}, Provenance::Person, 0}));
  return lines;
}

Refusal mismatched(const State& state, const Loop& loop, const ir::Intrinsic& intrinsic,
                   const ir::Stmt& nest, const ir::Mismatch& mismatch,
                   const PrimitiveContext& context) {
  Refusal refusal =
      malformed("the nest of " + loop.name + " is not what " + intrinsic.name + " computes");
  refusal.details = {{"intrinsic", ir::formula_of(intrinsic.nest)},
                     {"", "where " + operands_of(intrinsic)},
                     {"the nest", ir::formula_of(nest)},
                     {"difference", mismatch.difference}};
  std::vector<std::string> lines = Repair(state, intrinsic, context).lines(loop);
  if (lines.empty()) lines = others(state, loop, nest);
  std::string label = "would match";
  for (const std::string& line : lines) {
    refusal.details.emplace_back(label, line);
    label.clear();
  }
  return refusal;
}

// Refuses an instruction inside another.
std::optional<Refusal> check_nesting(const State& state, const Loop& loop) {
  for (const TensorizedLoop& other : state.tensorized) {
    const Loop* outer = find_loop(state.tree, other.loop);
    if (other.loop == loop.id)
      return malformed(loop.name + " is tensorized already, with " + other.intrinsic);
    if (find_loop(loop.body, other.loop) || (outer && find_loop(outer->body, loop.id)))
      return malformed(other.name + ", in the same nest, is tensorized already, with " +
                       other.intrinsic);
  }
  return std::nullopt;
}

// Reductions among the tile's loops, whose terms the contract has to leave to the instruction's
// order.
std::optional<Refusal> check_rounding(const State& state, const Loop& loop,
                                      const ir::Intrinsic& intrinsic) {
  if (!intrinsic.rounds) return std::nullopt;
  const ScheduledStatement& s = state.at(statements_below(state.tree, loop.id).front());
  const ir::Statement& update = state.basis->statement(s.reference);
  const std::set<std::string> free = reorderable_iterators(state, update);
  std::vector<std::string> bound;
  for (std::size_t i = 0; i < update.iterators.size() && i < s.phi.size(); ++i) {
    const std::string& iterator = update.iterators[i];
    const ir::Affine value = ir::substitute(s.phi[i], s.inverse);
    bool inside = false;
    for (const Loop* at = &loop; at; at = std::get_if<Loop>(&at->body->op))
      inside = inside || value.uses(at->name);
    if (inside && has(update.reductions, iterator) && !free.contains(iterator))
      bound.push_back(iterator);
  }
  if (bound.empty()) return std::nullopt;
  return malformed(intrinsic.name +
                   " sums in an order and with roundings of its own, and the contract is " +
                   (state.contract == Contract::Exact ? "exact" : "reassoc of other loops") +
                   ": say `reassoc " + join_words(bound) + "`");
}

}  // namespace

Applied tensorize(const State& state, const Tensorize& directive, const PrimitiveContext& context) {
  const ir::Intrinsic* intrinsic = ir::find_intrinsic(directive.intrinsic);
  if (!intrinsic) {
    std::vector<std::string> known;
    for (const ir::Intrinsic& row : ir::intrinsics()) known.push_back(row.name);
    return malformed("no intrinsic is called " + directive.intrinsic + " (they are " +
                     join_words(known) + ")");
  }
  const auto loop = the_loop(state, directive.loop);
  if (!loop) return loop.error();
  if (auto refusal = check_nesting(state, **loop)) return *refusal;
  const auto nest = point_nest(state, **loop, may_be_cut(*intrinsic));
  if (!nest) return nest.error();
  if (const auto mismatch = difference(state, *intrinsic, *nest))
    return mismatched(state, **loop, *intrinsic, *nest, *mismatch, context);
  if (auto refusal = check_rounding(state, **loop, *intrinsic)) return *refusal;
  State next = state;
  const std::string statement = statements_below(state.tree, (*loop)->id).front();
  next.tensorized.push_back({(*loop)->id, statement + ":" + (*loop)->name, intrinsic->name});
  return next;
}

}  // namespace polyte::schedule
