#include "lower/vectorize_threads.h"

#include <algorithm>
#include <optional>

#include "lower/lane_rewriter.h"
#include "lower/names.h"
#include "lower/simplify.h"

namespace polyte::lower {

using ir::Affine;
using ir::LoopKind;
using ir::Stmt;

namespace {

constexpr std::int64_t kMostElements = 32;  // written out; beyond, a loop over whole vectors

class ThreadVectorizer {
 public:
  ThreadVectorizer(const ir::LoopProgram& program, const Machine& machine,
                   std::vector<std::string>& notes)
      : machine_(machine),
        notes_(notes),
        names_(program, true),
        facts_(facts_of(program)),
        shapes_(shapes_of(program)) {}

  Stmt statement(const Stmt& s) {
    if (const auto* loop = std::get_if<ir::For>(&s->op)) return visit_loop(s, *loop);
    const ir::Facts::Scope scope(facts_);
    if (const auto* branch = std::get_if<ir::If>(&s->op))
      for (const ir::Constraint& c : branch->conditions) facts_.assume(c);
    return ir::rewrite_children(s, [&](const Stmt& child) { return statement(child); });
  }

 private:
  const Machine& machine_;
  std::vector<std::string>& notes_;
  Names names_;
  ir::Facts facts_;
  Shapes shapes_;

  // From the inside out: a Vector loop that holds another one has no vector form (LaneRewriter).
  Stmt visit_loop(const Stmt& s, const ir::For& loop) {
    ir::For copy = loop;
    {
      const ir::Facts::Scope scope(facts_);
      facts_.bind(loop.var, loop.lower, loop.upper);
      copy.body = statement(loop.body);
    }
    if (loop.kind != LoopKind::Vector)
      return copy.body == loop.body ? s : ir::make_for(std::move(copy));
    try {
      return vectorized(copy);
    } catch (const NoLanes& reason) {
      notes_.push_back("loop '" + loop.loop + "' is not vectorised: " + reason.text);
      // The loop as it was, element by element: the vectors that were begun are dropped with the
      // exception.
      return elements(copy, known_extent(copy));
    }
  }

  // The extent by the upper bound that is at a constant distance from the first iteration; the
  // least of several.
  static std::optional<std::int64_t> known_extent(const ir::For& loop) {
    std::optional<std::int64_t> least;
    for (const Affine& upper : loop.upper)
      if (const Affine extent = upper - loop.lower[0];
          extent.is_constant() && loop.lower.size() == 1)
        least = std::min(least.value_or(extent.constant()), extent.constant());
    return least;
  }

  // The loop over single elements. A short one is unrolled, as subscripts of registers have to be
  // constants.
  Stmt elements(ir::For loop, std::optional<std::int64_t> extent) {
    loop.kind = extent && *extent <= kMostElements ? LoopKind::Unrolled : LoopKind::Serial;
    loop.uncut = loop.kind == LoopKind::Unrolled;
    return ir::make_for(std::move(loop));
  }

  // Known extents are written out in vectors; where further bounds may cut them short, elements one
  // by one are the other form. Open extents are strips.
  Stmt vectorized(const ir::For& loop) {
    if (loop.lower.size() > 1) throw NoLanes{"its first iteration is a maximum of several values"};
    const std::int64_t lanes = machine_.lanes(widest_type(loop.body, loop.var));
    if (lanes < 2) throw NoLanes{"a vector of a thread holds one element of its widest type"};
    const auto extent = known_extent(loop);
    if (!extent || *extent > kMostElements) return strips(loop, lanes);
    std::vector<Affine> missing;  // the extent is exceeded where one of these is negative
    for (const Affine& upper : loop.upper) {
      const Affine over = upper - loop.lower[0] - *extent;
      if (!facts_.proves(over)) missing.push_back(over);
    }
    Stmt whole = rewritten(loop, pieces(loop.lower[0], *extent, lanes));
    return missing.empty() ? whole : either(loop, *extent, std::move(whole), missing);
  }

  // Vectors where nothing is missing, else elements.
  Stmt either(const ir::For& loop, std::int64_t extent, Stmt whole,
              const std::vector<Affine>& missing) {
    std::vector<ir::Constraint> full;
    std::vector<Stmt> sides(1);
    for (const Affine& over : missing) {
      std::vector<ir::Constraint> cut = full;  // the earlier ones are there
      cut.push_back(ir::less_than(over, 0));
      full.push_back(ir::at_least(over, 0));
      sides.push_back(ir::make_if({std::move(cut), nullptr, renamed(elements(loop, extent))}));
    }
    sides[0] = ir::make_if({std::move(full), nullptr, std::move(whole)});
    return ir::make_block(std::move(sides));
  }

  Stmt renamed(const Stmt& s) {
    return ir::rename_bound(s, [&](const std::string& name) { return names_.fresh(name); });
  }

  Stmt rewritten(const ir::For& loop, std::vector<Piece> pieces) {
    return LaneRewriter(loop.var, std::move(pieces), facts_, shapes_).rewrite(loop.body);
  }

  // The longest first. Lengths only fall, and each begins at a multiple of itself from `first` on,
  // so a first element at an aligned address aligns them all.
  static std::vector<Piece> pieces(const Affine& first, std::int64_t extent, std::int64_t lanes) {
    std::vector<Piece> all;
    for (std::int64_t begin = 0; begin < extent; begin += lanes) {
      while (lanes > extent - begin) lanes /= 2;
      all.push_back({first + begin, static_cast<int>(lanes), std::nullopt});
    }
    return all;
  }

  // for t in 0..extent // lanes  a whole vector;  then the rest, one by one
  Stmt strips(const ir::For& loop, std::int64_t lanes) {
    if (loop.upper.size() > 1) throw NoLanes{"its last iteration is a minimum of several values"};
    const Affine extent = loop.upper[0] - loop.lower[0];
    const Affine count = ir::floor_div(extent, lanes);
    const std::string var = names_.fresh(loop.var);
    const Affine base = loop.lower[0] + Affine::symbol(var) * lanes;
    std::vector<Stmt> parts;
    {
      const ir::Facts::Scope scope(facts_);
      facts_.bind(var, {0}, {count});
      const Stmt body = rewritten(loop, {{base, static_cast<int>(lanes), std::nullopt}});
      parts.push_back(ir::make_for({var, {0}, {count}, LoopKind::Serial, loop.loop, body}));
    }
    if (facts_.simplify(extent - count * lanes) == Affine(0)) return parts[0];
    ir::For rest = loop;
    rest.lower = {loop.lower[0] + count * lanes};
    if (!facts_.proves(extent)) rest.lower.push_back(loop.lower[0]);  // there may be less than none
    parts.push_back(renamed(elements(std::move(rest), std::nullopt)));
    return ir::make_block(std::move(parts));
  }
};

}  // namespace

ir::LoopProgram vectorize_threads(const ir::LoopProgram& program, const Machine& machine,
                                  std::vector<std::string>& notes) {
  ir::LoopProgram result = program;
  result.body = ThreadVectorizer(program, machine, notes).statement(program.body);
  return result;
}

}  // namespace polyte::lower
