#include "ir/views.h"

#include <algorithm>
#include <memory>
#include <set>

#include "ir/affine_terms.h"
#include "ir/domain.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::ir {

namespace {

constexpr std::int64_t kLineBytes = 64;
// Sums of two such numbers and their doubles are in range.
constexpr std::int64_t kLarge = std::int64_t{1} << 60;

// What is known where an access happens: its statement's domain, and the guard of a padded read.
struct Place {
  DomainFacts facts;
  Ranges ranges;

  Place(const Program& program, const Statement& statement, const std::vector<Constraint>& guard)
      : Place(program, statement.iterators, joined(statement.domain, guard)) {}

 private:
  Place(const Program& program, const std::vector<std::string>& iterators,
        const std::vector<Constraint>& holds)
      : facts(iterators, holds, program.params, program.context) {
    tighten(ranges, system_of(joined(holds, program.context)));
  }

  static std::vector<Constraint> joined(std::vector<Constraint> a,
                                        const std::vector<Constraint>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
};

struct Digits {
  Affine high, low;
};

bool is_large(std::int64_t number) { return number > kLarge || number < -kLarge; }

// e = radix * high + low, 0 <= low < radix. Each coefficient c is divided with rounding to the
// nearest multiple, ties downwards,
//
//   high = ceil((2*c - radix) / (2*radix)),   c - high * radix in (-radix/2, radix/2]
//
// so that 63*m + 62 - n becomes high m, low 62 - n. Then the constant is split so that the least
// value of `low` is in [0, radix); whether its greatest is, has to be proved.
std::optional<Digits> digits_of(const Affine& e, std::int64_t radix, const Place& place) {
  const auto has_large = [](const Term& term) { return is_large(term.coefficient); };
  if (is_large(radix) || is_large(e.constant()) || std::ranges::any_of(e.terms(), has_large))
    return std::nullopt;
  Digits digits;
  for (const Term& term : e.terms()) {
    const std::int64_t high = -polyte::floor_div(radix - 2 * term.coefficient, 2 * radix);
    digits.high = digits.high + of_term({term.atom, high});
    digits.low = digits.low + of_term({term.atom, term.coefficient - high * radix});
  }
  const std::int64_t least = range_of(digits.low, place.ranges).min.value_or(0);
  if (is_large(least)) return std::nullopt;
  const std::int64_t high = polyte::floor_div(e.constant() + least, radix);
  digits.high = digits.high + high;
  digits.low = digits.low + (e.constant() - high * radix);
  const bool is_digit = place.facts.proves(at_least(digits.low, 0)) &&
                        place.facts.proves(less_than(digits.low, radix));
  return is_digit ? std::optional(digits) : std::nullopt;
}

// The subscript in row-major digits below these extents but for the first; nullopt: no digit of it
// is shown to stay below its own.
std::optional<std::vector<Index>> told_apart(Affine subscript,
                                             std::span<const std::int64_t> extents,
                                             const Place& place) {
  std::vector<Index> digits;
  for (std::size_t k = extents.size(); k-- > 1;) {
    const auto split = digits_of(subscript, extents[k], place);
    if (!split) return std::nullopt;
    digits.insert(digits.begin(), split->low);
    subscript = split->high;
  }
  digits.insert(digits.begin(), subscript);
  return digits;
}

// The same of any subscript, by division.
std::vector<Index> divided(Affine subscript, std::span<const std::int64_t> extents) {
  std::vector<Index> digits;
  for (std::size_t k = extents.size(); k-- > 1;) {
    digits.insert(digits.begin(), mod(subscript, extents[k]));
    subscript = floor_div(subscript, extents[k]);
  }
  digits.insert(digits.begin(), subscript);
  return digits;
}

// All subscripts but the first stay below these extents.
bool keeps_to(std::span<const Index> digits, std::span<const std::int64_t> extents,
              const Place& place) {
  for (std::size_t k = 1; k < digits.size(); ++k)
    if (!place.facts.proves(at_least(digits[k].affine, 0)) ||
        !place.facts.proves(less_than(digits[k].affine, extents[k])))
      return false;
  return true;
}

// Horner's scheme, the inverse of told_apart(): [a, b, c] is (a * B + b) * C + c.
Index put_together(std::span<const Index> digits, std::span<const std::int64_t> extents) {
  Index index = digits.front();
  for (std::size_t k = 1; k < digits.size(); ++k)
    index.affine = index.affine * extents[k] + digits[k].affine;
  return index;
}

// Neighbours among the dimensions that are one, or the same, in the other shape.
struct Group {
  std::size_t stored = 1, seen = 1;  // dimensions; one of them is 1
};

// nullopt: they are no views of each other. Walks both shapes in step, like a merge: whichever
// product is smaller takes its next extent, until both are equal, which closes a group. Row-major
// order makes the elements of a group the same in both. Dimensions of 1 at the end join the last
// group.
//
//   [6, 4, 35]  as  [24, 5, 7]     groups  [6, 4] = [24],  [35] = [5, 7]
//
// A group of several on both sides, [6, 4] as [4, 6], would need division to convert subscripts:
// refused.
std::optional<std::vector<Group>> groups_of(const Extents& stored, const Extents& seen) {
  const auto is_odd = [](std::int64_t extent) { return extent < 1 || is_large(extent); };
  if (std::ranges::any_of(stored, is_odd) || std::ranges::any_of(seen, is_odd))
    return stored == seen ? std::optional(std::vector<Group>(stored.size())) : std::nullopt;
  std::vector<Group> groups;
  std::size_t a = 0, b = 0;
  while (a < stored.size() && b < seen.size()) {
    Group group;
    std::int64_t here = stored[a++], there = seen[b++];
    while (here != there) {
      const bool needs_stored = here < there;
      if (needs_stored ? a == stored.size() : b == seen.size()) return std::nullopt;
      std::int64_t& product = needs_stored ? here : there;
      const std::int64_t next = needs_stored ? stored[a++] : seen[b++];
      if (product > kLarge / next) return std::nullopt;
      product *= next;
      ++(needs_stored ? group.stored : group.seen);
    }
    groups.push_back(group);
  }
  for (; a < stored.size() && !groups.empty(); ++groups.back().stored)
    if (stored[a++] != 1) return std::nullopt;
  for (; b < seen.size() && !groups.empty(); ++groups.back().seen)
    if (seen[b++] != 1) return std::nullopt;
  const auto is_mixed = [](const Group& group) { return group.stored > 1 && group.seen > 1; };
  if (a < stored.size() || b < seen.size() || std::ranges::any_of(groups, is_mixed))
    return std::nullopt;
  return groups;
}

using ChangeIndices = std::function<void(const std::string& buffer, std::vector<Index>& indices,
                                         const std::vector<Constraint>& guard)>;

// Writes, and reads wherever they stand.
void change_accesses(Statement& statement, const std::string& buffer, const ChangeIndices& change) {
  const auto leaf = [&](const Expr& e) {
    const Load* load = std::get_if<Load>(&e->op);
    if (!load || load->buffer != buffer) return e;
    ExprNode copy = *e;
    Load& now = std::get<Load>(copy.op);
    change(now.buffer, now.indices, now.guard);
    return Expr(std::make_shared<const ExprNode>(std::move(copy)));
  };
  for (Access& write : statement.writes) {
    for (Index& index : write.indices)
      if (index.indirect) index.indirect = rewrite(index.indirect, leaf);
    if (write.buffer == buffer) change(write.buffer, write.indices, {});
  }
  for (Expr& value : statement.values) value = rewrite(value, leaf);
  if (statement.guard) statement.guard = rewrite(statement.guard, leaf);
}

bool is_constant_shape(const Buffer& buffer) {
  return std::ranges::all_of(buffer.shape, &Affine::is_constant);
}

class Viewer {
 public:
  Viewer(const Program& program, View view) : program_(program), view_(std::move(view)) {}

  // Of the buffer as it is declared; Decline, where it cannot be seen so.
  std::optional<Decline> open() {
    const Buffer* buffer = program_.find_buffer(view_.buffer);
    if (!buffer) return Decline{"there is no tensor " + view_.buffer};
    if (!is_constant_shape(*buffer)) return Decline{"the extents of " + view_.buffer + " are open"};
    return open(constant_shape(*buffer));
  }

  // Back to where it is stored so: nothing has to be shown, every element has its place.
  void open_back(const Extents& seen) {
    is_back_ = true;
    POLYTE_CHECK(!open(seen), "no view of this shape");
  }
  Result<Statement> see(const Statement& statement) {
    Statement result = statement;
    std::optional<Decline> problem;
    change_accesses(result, view_.buffer,
                    [&](const std::string&, std::vector<Index>& indices, const auto& guard) {
                      const Place place(program_, statement, guard);
                      if (!problem) problem = see(statement, indices, place);
                    });
    if (problem) return *problem;
    return result;
  }

 private:
  const Program& program_;
  const View view_;
  Extents stored_;
  std::vector<Group> groups_;
  bool is_back_ = false;

  std::optional<Decline> open(Extents stored) {
    stored_ = std::move(stored);
    const auto groups = groups_of(stored_, view_.shape);
    if (!groups)
      return Decline{"the extents are no factors and no products of those of " + view_.buffer +
                     ", in order"};
    groups_ = *groups;
    return std::nullopt;
  }

  std::optional<Decline> see(const Statement& statement, std::vector<Index>& indices,
                             const Place& place) const {
    std::vector<Index> result;
    std::size_t first = 0;
    for (const Group& group : groups_) {
      const std::span<const Index> own = std::span(indices).subspan(first, group.stored);
      const auto refuse = [&](const std::string& why) {
        return Decline{statement.name + " has " + view_.buffer + " at " +
                       to_string(own.front().affine) + ": " + why};
      };
      const std::span<const std::int64_t> extents =
          group.stored == 1 ? std::span(view_.shape).subspan(result.size(), group.seen)
                            : std::span(stored_).subspan(first, group.stored);
      first += group.stored;
      if (group.stored == 1 && group.seen == 1) {
        result.push_back(own.front());
        continue;
      }
      if (std::ranges::any_of(own, [](const Index& index) { return index.indirect != nullptr; }))
        return refuse("part of it is read from memory");
      if (group.stored > 1) {
        const Index index = put_together(own, extents);
        if (!is_back_ && !keeps_to(own, extents, place))
          return refuse("it is not shown to stay within " + view_.buffer);
        result.push_back(index);
        continue;
      }
      auto digits = told_apart(own.front().affine, extents, place);
      if (!digits && is_back_) digits = divided(own.front().affine, extents);
      if (!digits)
        return refuse("no digit of it is shown to stay below " + std::to_string(extents.back()));
      result.insert(result.end(), digits->begin(), digits->end());
    }
    indices = std::move(result);
    return std::nullopt;
  }
};

// --- which views there are

// All subscripts of one dimension.
class Dimension {
 public:
  Dimension(std::int64_t extent, std::int64_t least) : extent_(extent), least_(least) {}

  void add(const Affine& subscript, const std::shared_ptr<const Place>& place) {
    uses_.push_back({subscript, place});
  }

  // Its extent, or the factors of it whose digits the subscripts keep to.
  // Takes off one lower digit after the other, until no radix is left that all subscripts keep
  // to.
  Extents factors() {
    for (const std::int64_t radix : radices())
      if (take(radix)) {
        Extents outer = factors();
        outer.push_back(radix);
        return outer;
      }
    return {extent_};
  }

 private:
  struct Use {
    Affine subscript;
    std::shared_ptr<const Place> place;
  };
  std::int64_t extent_, least_;
  std::vector<Use> uses_;

  // Only a coefficient of some subscript can be the extent of a lower digit, and only if it divides
  // the extent.
  std::set<std::int64_t> radices() const {
    std::set<std::int64_t> radices;
    for (const Use& use : uses_)
      for (const Term& term : use.subscript.terms())
        if (const std::int64_t c = std::abs(term.coefficient);
            c >= least_ && c < extent_ && extent_ % c == 0)
          radices.insert(c);
    return radices;
  }

  // Leaves the upper digits; a lower one that never changes is no dimension.
  bool take(std::int64_t radix) {
    std::vector<Use> upper;
    bool varies = false;
    for (const Use& use : uses_) {
      const auto digits = digits_of(use.subscript, radix, *use.place);
      if (!digits) return false;
      varies = varies || !digits->low.is_constant();
      upper.push_back({digits->high, use.place});
    }
    if (!varies) return false;
    uses_ = std::move(upper);
    extent_ /= radix;
    return true;
  }
};

bool has_large_coefficient(const std::vector<Index>& indices, std::int64_t least) {
  return std::ranges::any_of(indices, [&](const Index& index) {
    return std::ranges::any_of(index.affine.terms(), [&](const Term& term) {
      return std::abs(term.coefficient) >= least;
    });
  });
}

// Where no subscript of the buffer has a factor of this size, there is nothing to look at.
bool may_have_digits(const Program& program, const Buffer& buffer, std::int64_t least) {
  bool found = false;
  for (Statement s : program.statements)
    change_accesses(s, buffer.name,
                    [&](const std::string&, std::vector<Index>& indices, const auto&) {
                      found = found || has_large_coefficient(indices, least);
                    });
  return found;
}

std::optional<View> digits_apart(const Program& program, const Buffer& buffer) {
  const std::int64_t least = std::max<std::int64_t>(kLineBytes / size_in_bytes(buffer.dtype), 2);
  if (!is_constant_shape(buffer) || !may_have_digits(program, buffer, least)) return std::nullopt;
  const Extents stored = constant_shape(buffer);
  if (std::ranges::count(stored, 0) > 0) return std::nullopt;
  std::vector<std::optional<Dimension>> dimensions;
  for (const std::int64_t extent : stored) dimensions.emplace_back(Dimension(extent, least));
  for (Statement s : program.statements)
    change_accesses(s, buffer.name,
                    [&](const std::string&, std::vector<Index>& indices, const auto& guard) {
                      const auto place = std::make_shared<const Place>(program, s, guard);
                      for (std::size_t d = 0; d < indices.size(); ++d) {
                        if (indices[d].indirect) dimensions[d].reset();
                        if (dimensions[d]) dimensions[d]->add(indices[d].affine, place);
                      }
                    });
  View view{buffer.name, {}};
  for (std::size_t d = 0; d < stored.size(); ++d) {
    const Extents factors = dimensions[d] ? dimensions[d]->factors() : Extents{stored[d]};
    view.shape.insert(view.shape.end(), factors.begin(), factors.end());
  }
  return view.shape == stored ? std::nullopt : std::optional(view);
}

}  // namespace

bool is_view_of(const Extents& stored, const Extents& seen) {
  return groups_of(stored, seen).has_value();
}

Result<Statement> with_view(const Program& program, const Statement& statement, const View& view) {
  Viewer viewer(program, view);
  if (auto problem = viewer.open()) return *problem;
  return viewer.see(statement);
}

Result<Program> with_view(const Program& program, const View& view) {
  Viewer viewer(program, view);
  if (auto problem = viewer.open()) return *problem;
  Program result = program;
  for (Statement& s : result.statements) {
    Result<Statement> seen = viewer.see(s);
    if (!seen) return seen.error();
    s = *std::move(seen);
  }
  for (Buffer& buffer : result.buffers)
    if (buffer.name == view.buffer) buffer.shape.assign(view.shape.begin(), view.shape.end());
  return result;
}

void undo_view(const Program& program, Statement& statement, const std::string& buffer,
               const Extents& stored, const Extents& seen) {
  Viewer viewer(program, {buffer, stored});
  viewer.open_back(seen);
  Result<Statement> undone = viewer.see(statement);
  POLYTE_CHECK(undone, "a view that cannot be undone");
  statement = *std::move(undone);
}

std::vector<View> digits_apart(const Program& program) {
  std::vector<View> views;
  for (const Buffer& buffer : program.buffers)
    if (auto view = digits_apart(program, buffer)) views.push_back(*std::move(view));
  return views;
}

}  // namespace polyte::ir
