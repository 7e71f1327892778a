// The library of affine reasoning (ir/affine_system.h, ir/facts.h) asked at random, and each
// answer judged by isl: what it says has to be so, and of what is so it has to say a good part. All
// questions with POLYTE_SWEEP=all.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>

#include "ir/domain.h"
#include "ir/facts.h"
#include "schedule/proof/feasible.h"
#include "support/error.h"
#include "tests/sweep.h"

using namespace polyte;
using namespace polyte::ir;

namespace {

using Constraints = std::vector<Constraint>;

Constraint negation(const Constraint& c) { return {-c.expr - 1, false}; }  // of an inequality

// Judges claims by isl: `where` is a set of integer points, a claim holds at each.
class Judge {
 public:
  bool is_empty(Constraints where, const Constraints& more) {
    where.insert(where.end(), more.begin(), more.end());
    return !isl_.holds(where);
  }
  bool always(const Constraints& where, const Constraint& c) {
    if (!c.equality) return is_empty(where, {negation(c)});
    return always(where, {c.expr, false}) && always(where, {-c.expr, false});
  }
  bool never(const Constraints& where, const Constraint& c) { return is_empty(where, {c}); }
  bool is_equal(const Constraints& where, const Affine& a, const Affine& b) {
    return always(where, equal(a, b));
  }

 private:
  schedule::Feasibility isl_;
};

// How many answers there were, and of those that could have been given, how many.
struct Score {
  int asked = 0, possible = 0, given = 0;
  double share() const { return static_cast<double>(given) / std::max(possible, 1); }
};

// A domain as people and schedules write them: each iterator between affines of the ones before it,
// then further constraints, over parameters that are not negative.
struct Domain {
  struct Loop {
    std::string var;
    std::vector<Affine> lower, upper;  // lower <= var < upper
  };
  std::vector<std::string> params;
  std::vector<Loop> loops;
  Constraints context, guards;

  std::vector<std::string> iterators() const {
    std::vector<std::string> result;
    for (const Loop& loop : loops) result.push_back(loop.var);
    return result;
  }
  Constraints of_loops() const {
    Constraints result;
    for (const Loop& loop : loops) {
      for (const Affine& bound : loop.lower)
        result.push_back(at_least(Affine::symbol(loop.var), bound));
      for (const Affine& bound : loop.upper)
        result.push_back(less_than(Affine::symbol(loop.var), bound));
    }
    result.insert(result.end(), guards.begin(), guards.end());
    return result;
  }
  Constraints of_params() const {
    Constraints result = context;
    for (const std::string& param : params) result.push_back(at_least(Affine::symbol(param), 0));
    return result;
  }
  Constraints all() const {
    Constraints result = of_params(), more = of_loops();
    result.insert(result.end(), more.begin(), more.end());
    return result;
  }
  Facts by_binding() const {
    Facts facts;
    facts.assume(of_params());
    for (const Loop& loop : loops) facts.bind(loop.var, loop.lower, loop.upper);
    for (const Constraint& guard : guards) facts.assume(guard);
    return facts;
  }
  Facts by_assuming() const {
    Facts facts;
    facts.assume(all());
    return facts;
  }
};

class Questions {
 public:
  explicit Questions(unsigned seed) : random_(seed) {}

  int in(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool one_in(int n) { return in(1, n) == 1; }

  Domain domain() {
    Domain d;
    if (one_in(2)) d.params.push_back("N");
    if (one_in(4)) d.params.push_back("M");
    if (d.params.size() == 2 && one_in(2))
      d.context.push_back(at_least(Affine::symbol("N"), Affine::symbol("M") - 1));
    symbols_ = d.params;
    for (int depth = in(1, 4); depth > 0; --depth) {
      const std::string var = std::string(1, static_cast<char>('i' + d.loops.size()));
      Domain::Loop loop{var, {outer(in(-3, 3))}, {outer(in(1, 12))}};
      if (one_in(4)) loop.upper.push_back(outer(in(1, 9)));
      if (one_in(6)) loop.lower.push_back(outer(in(-3, 3)));
      d.loops.push_back(loop);
      symbols_.push_back(var);
    }
    if (one_in(3)) d.guards.push_back({affine(), false});
    if (one_in(6)) d.guards.push_back({affine(), true});
    return d;
  }

  // Over the symbols of the last domain.
  Affine affine() {
    Affine e = in(-6, 6);
    for (const std::string& symbol : symbols_)
      if (one_in(2)) e = e + Affine::symbol(symbol) * in(-3, 3);
    if (one_in(2)) e = e + division() * in(-2, 2);
    return e;
  }
  Affine division() {
    constexpr std::array<int, 6> kDivisors = {2, 3, 4, 7, 8, 16};
    const int d = kDivisors[static_cast<std::size_t>(in(0, 5))];
    Affine n = in(-3, 8);
    for (const std::string& symbol : symbols_)
      if (one_in(2))
        n = n + Affine::symbol(symbol) * (one_in(3) ? 2 * d : one_in(2) ? d / 2 : in(-2, 3));
    return one_in(2) ? floor_div(n, d) : mod(n, d);
  }
  // What follows from some of the constraints, or nearly so.
  Affine combination(const Constraints& known) {
    Affine e = in(-1, 1);
    for (int summands = in(1, 3); summands > 0; --summands)
      e = e + known[static_cast<std::size_t>(in(0, static_cast<int>(known.size()) - 1))].expr *
                  in(1, 2);
    return e;
  }
  Affine about(const Domain& d) { return one_in(2) ? affine() : combination(d.all()); }
  std::string symbol() {
    return symbols_[static_cast<std::size_t>(in(0, static_cast<int>(symbols_.size()) - 1))];
  }

 private:
  std::mt19937 random_;
  std::vector<std::string> symbols_;

  // A bound over the symbols so far.
  Affine outer(int constant) {
    if (symbols_.empty() || one_in(2)) return constant;
    const Affine s = Affine::symbol(symbol());
    if (one_in(5)) return floor_div(s * in(1, 3) + constant, in(2, 5));
    return one_in(4) ? s * in(-1, 2) + constant : s + constant / 3;
  }
};

std::string text_of(const Domain& d) {
  std::string text;
  for (const Constraint& c : d.all()) text += (text.empty() ? "" : " and ") + to_string(c);
  return text;
}

constexpr int kAll = 100'000, kSome = 4'000;
int questions() { return test::takes_all() ? kAll : kSome; }

// Asks about domains that have points until enough questions were put.
template <class Ask>
Score ask_about_domains(unsigned seed, int share_of_all, const Ask& ask) {
  Questions random(seed);
  Judge judge;
  Score score;
  while (score.asked < questions() / share_of_all) {
    const Domain d = random.domain();
    INFO(text_of(d));
    if (judge.is_empty(d.all(), {})) continue;
    for (int i = 0; i < 6; ++i, ++score.asked) ask(random, judge, d, score);
  }
  if (score.possible > 0)
    MESSAGE(score.asked << " questions, " << score.possible << " answers possible, " << score.given
                        << " given");
  return score;
}

void check_truth(Judge& judge, const Constraints& where, const Constraint& c, Truth truth,
                 Score& score) {
  INFO(to_string(c));
  const bool is_true = judge.always(where, c), is_false = judge.never(where, c);
  if (truth == Truth::True) REQUIRE(is_true);
  if (truth == Truth::False) REQUIRE(is_false);
  score.possible += is_true || is_false ? 1 : 0;
  score.given += truth != Truth::Unknown ? 1 : 0;
}

}  // namespace

TEST_CASE("what facts decide of constraints is so") {
  const Score score =
      ask_about_domains(1, 4, [](Questions& random, Judge& judge, const Domain& d, Score& s) {
        const Constraint c{random.about(d), random.one_in(4)};
        const Facts facts = random.one_in(2) ? d.by_binding() : d.by_assuming();
        check_truth(judge, d.all(), c, facts.truth(c), s);
        if (!c.equality) CHECK(facts.proves(c.expr) == (facts.truth(c) == Truth::True));
      });
  CHECK(score.share() > 0.85);
}

TEST_CASE("what a domain proves holds at each of its points") {
  const Score score =
      ask_about_domains(2, 8, [](Questions& random, Judge& judge, const Domain& d, Score& s) {
        const DomainFacts facts(d.iterators(), d.of_loops(), d.params, d.context);
        const Constraint c{random.about(d), false};
        INFO(to_string(c));
        const bool is_true = judge.always(d.all(), c), is_proved = facts.proves(c);
        if (is_proved) REQUIRE(is_true);
        s.possible += is_true ? 1 : 0;
        s.given += is_proved ? 1 : 0;
      });
  CHECK(score.share() > 0.9);
}

TEST_CASE("sums of divisions are compared case by case") {
  const Score score =
      ask_about_domains(3, 16, [](Questions& random, Judge& judge, const Domain& d, Score& s) {
        const std::string x = random.symbol();
        const int divisor = random.in(2, 4);
        Affine sum = -Affine::symbol(x);  // of x//d, (x + 1)//d ... (x + d - 1)//d that is 0
        for (int i = 0; i < divisor; ++i) sum = sum + floor_div(Affine::symbol(x) + i, divisor);
        const Constraint c{sum + (random.one_in(4) ? random.affine() : 0), true};
        check_truth(judge, d.all(), c, d.by_assuming().truth(c), s);
      });
  CHECK(score.share() > 0.85);
}

TEST_CASE("ranges have all values, and seldom others") {
  const Score score =
      ask_about_domains(4, 8, [](Questions& random, Judge& judge, const Domain& d, Score& s) {
        const Affine e = random.affine();
        const Interval range = (random.one_in(2) ? d.by_binding() : d.by_assuming()).range(e);
        INFO(to_string(e));
        if (range.min) REQUIRE(judge.always(d.all(), at_least(e, *range.min)));
        if (range.max) REQUIRE(judge.always(d.all(), at_least(*range.max, e)));
        s.possible += (range.min ? 1 : 0) + (range.max ? 1 : 0);
        s.given += (range.min && !judge.never(d.all(), equal(e, *range.min)) ? 1 : 0) +
                   (range.max && !judge.never(d.all(), equal(e, *range.max)) ? 1 : 0);
      });
  CHECK(score.share() > 0.75);
}

TEST_CASE("the most over some symbols is reached by none of them") {
  ask_about_domains(5, 16, [](Questions& random, Judge& judge, const Domain& d, Score&) {
    const Affine e = random.affine();
    const std::set<std::string> symbols = {random.symbol(), random.symbol()};
    const Ranges ranges = d.by_assuming().ranges();
    INFO(to_string(e));
    if (const auto most = most_over(e, symbols, ranges))
      REQUIRE(judge.always(d.all(), at_least(*most, e)));
    if (const auto least = least_over(e, symbols, ranges))
      REQUIRE(judge.always(d.all(), at_least(e, *least)));
  });
}

TEST_CASE("what is simplified stays equal") {
  const Score score =
      ask_about_domains(6, 8, [](Questions& random, Judge& judge, const Domain& d, Score& s) {
        const Affine small = Affine::symbol(random.symbol()) * random.in(1, 2) + random.in(-3, 3);
        const Affine e = random.one_in(2) ? random.division() + random.in(0, 3)
                                          : floor_div(small, random.in(6, 24));
        const Facts facts = random.one_in(2) ? d.by_binding() : d.by_assuming();
        const Affine by_facts = facts.simplify(e), by_ranges = simplified(e, facts.ranges());
        INFO(to_string(e));
        INFO(to_string(by_facts));
        REQUIRE(judge.is_equal(d.all(), e, by_facts));
        REQUIRE(judge.is_equal(d.all(), e, by_ranges));
        if (!e.has_division()) return;
        const Interval range = facts.range(e);
        const bool is_number = range.min && !judge.never(d.all(), equal(e, *range.min)) &&
                               judge.always(d.all(), equal(e, *range.min));
        s.possible += is_number ? 1 : 0;
        s.given += is_number && by_facts.is_constant() ? 1 : 0;
      });
  CHECK(score.share() > 0.8);
}

TEST_CASE("bounds that are pruned say nothing") {
  const Score score =
      ask_about_domains(7, 8, [](Questions& random, Judge& judge, const Domain& d, Score& s) {
        const Facts facts = d.by_binding();
        const std::vector<Affine> bounds = {random.affine(), random.affine(), random.about(d)};
        const std::vector<Affine> lower = facts.prune_lower(bounds),
                                  upper = facts.prune_upper(bounds);
        REQUIRE(!lower.empty());
        REQUIRE(!upper.empty());
        for (const Affine& bound : bounds) {
          Constraints above, below;  // every bound that is left
          for (const Affine& left : lower) above.push_back(less_than(left, bound));
          for (const Affine& left : upper) below.push_back(less_than(bound, left));
          REQUIRE(judge.is_empty(d.all(), above));
          REQUIRE(judge.is_empty(d.all(), below));
        }
        s.possible += 6;
        s.given += static_cast<int>(lower.size() + upper.size());
      });
  CHECK(score.share() < 0.7);  // some went
}

TEST_CASE("elimination says what follows, and enough to bound each variable") {
  const Score score =
      ask_about_domains(8, 8, [](Questions& random, Judge& judge, const Domain& d, Score& s) {
        System system = system_of(d.all());
        const std::string kept = random.symbol();
        std::set<std::string> symbols;
        for (const Affine& e : system) e.collect_symbols(symbols);
        for (const Affine& e : relaxed(system, kept)) REQUIRE(judge.always(d.all(), {e, false}));
        for (const std::string& symbol : symbols)
          if (symbol != kept) system = eliminate(system, symbol);
        INFO(kept);
        for (const Affine& e : system) REQUIRE(judge.always(d.all(), {e, false}));
        const Bounds bounds = bounds_of(relaxed(system, kept), kept);
        const Affine v = Affine::symbol(kept);
        const auto is_reached = [&](const Affine& bound) {
          return bound.is_constant() && !judge.never(d.all(), equal(v, bound));
        };
        constexpr std::int64_t kFar = 10'000;
        if (judge.never(d.all(), at_least(v, kFar))) {
          ++s.possible;
          s.given += std::ranges::any_of(bounds.upper, is_reached) ? 1 : 0;
        }
        if (judge.never(d.all(), at_least(-kFar, v))) {
          ++s.possible;
          s.given += std::ranges::any_of(bounds.lower, is_reached) ? 1 : 0;
        }
      });
  CHECK(score.share() > 0.95);
}

TEST_CASE("the bounds of iterators, and what else is checked, are the domain") {
  ask_about_domains(9, 16, [](Questions&, Judge& judge, const Domain& d, Score&) {
    const DomainBounds bounds = bounds_of(d.of_loops(), d.iterators());
    Constraints read = bounds.constant, whole = d.of_params();
    for (std::size_t i = 0; i < bounds.of.size(); ++i) {
      const Affine v = Affine::symbol(d.iterators()[i]);
      for (const Affine& bound : bounds.of[i].lower) read.push_back(at_least(v, bound));
      for (const Affine& bound : bounds.of[i].upper) read.push_back(at_least(bound, v));
      read.insert(read.end(), bounds.of[i].checks.begin(), bounds.of[i].checks.end());
    }
    for (const Constraint& c : read) REQUIRE(judge.always(d.all(), c));
    whole.insert(whole.end(), read.begin(), read.end());
    for (const Constraint& c : d.of_loops()) REQUIRE(judge.always(whole, c));
  });
}

TEST_CASE("the normal form of an inequality has the same points") {
  ask_about_domains(10, 16, [](Questions& random, Judge& judge, const Domain&, Score&) {
    const Constraint c{random.affine() * random.in(1, 3), false}, normal{normalised(c.expr), false};
    INFO(to_string(c));
    REQUIRE(judge.always({c}, normal));
    REQUIRE(judge.always({normal}, c));
  });
}

// Schedules make such domains: a tail of no iterations, a guard that excludes all.
TEST_CASE("of a domain without points any answer holds, and there is one") {
  Questions random(12);
  Judge judge;
  int asked = 0, refuted = 0;
  while (asked < questions() / 16) {
    const Domain d = random.domain();
    INFO(text_of(d));
    if (!judge.is_empty(d.all(), {})) continue;
    const Facts facts = random.one_in(2) ? d.by_binding() : d.by_assuming();
    for (int i = 0; i < 6; ++i, ++asked) {
      const Affine e = random.about(d);
      INFO(to_string(e));
      const Constraint c{e, random.one_in(4)};
      CHECK_NOTHROW(static_cast<void>(facts.truth(c)));
      CHECK_NOTHROW(static_cast<void>(facts.range(e)));
      CHECK_NOTHROW(static_cast<void>(facts.simplify(e)));
      CHECK_NOTHROW(static_cast<void>(facts.prune_lower({e, 0})));
      CHECK_NOTHROW(static_cast<void>(simplified(e, facts.ranges())));
    }
    System system = system_of(d.all());
    for (const std::string& symbol : d.iterators()) system = eliminate(system, symbol);
    for (const std::string& symbol : d.params) system = eliminate(system, symbol);
    refuted += std::ranges::any_of(
        system, [](const Affine& left) { return left.is_constant() && left.constant() < 0; });
  }
  MESSAGE(asked << " questions about " << asked / 6 << " domains, of which elimination finds "
                << refuted << " empty");
  CHECK(refuted * 6 > asked * 0.85);
}

TEST_CASE("numbers at the end of 64 bits make no answer wrong") {
  const Score score =
      ask_about_domains(11, 16, [](Questions& random, Judge& judge, const Domain& d, Score& s) {
        const std::int64_t huge =
            std::numeric_limits<std::int64_t>::max() / random.in(1, 3) - random.in(0, 3);
        const auto large = [&] {
          return random.affine() * (random.one_in(2) ? 1 : huge / random.in(7, 30));
        };
        Constraint guard, c;
        try {
          guard = {large() + (random.one_in(2) ? huge : -huge), false};
          c = {large() + (random.one_in(2) ? huge : -huge), random.one_in(4)};
          for (const Constraint& of : {guard, c}) static_cast<void>(negation(of));
        } catch (const UserError&) {
          return;  // the question itself has no room
        }
        Constraints where = d.all();
        where.push_back(guard);
        Facts facts = d.by_binding();
        facts.assume(guard);
        check_truth(judge, where, c, facts.truth(c), s);
      });
  CHECK(score.share() > 0.5);
}
