// Proofs by intervals and known bounds, elimination of variables, and normal forms of constraints:
// each by hand.
#include "ir/facts.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace polyte::ir;

namespace {

Affine sym(const std::string& name) { return Affine::symbol(name); }

}  // namespace

TEST_CASE("facts prove by intervals and by known bounds") {
  Facts facts;
  facts.bind("i", {0}, {sym("N")});
  facts.bind("j", {0}, {sym("i") + 1});
  CHECK(facts.proves(sym("N") - sym("j") - 1));
  CHECK(!facts.proves(sym("N") - sym("j") - 2));
  CHECK(!facts.proves(sym("j") - sym("i")));
  {
    const Facts::Scope scope(facts);
    facts.assume({sym("j") - sym("i"), false});
    CHECK(facts.truth(equal(sym("i"), sym("j"))) == Truth::True);
  }
  CHECK(!facts.proves(sym("j") - sym("i")));
  facts.bind("r", {0}, {8});
  CHECK(facts.simplify(floor_div(sym("i") * 8 + sym("r"), 8)) == sym("i"));
  CHECK(facts.simplify(mod(sym("i") * 16 + sym("r"), 16)) == sym("r"));
  CHECK(facts.simplify(floor_div(sym("i") * 4 + sym("r"), 8)) != sym("i"));
  const Affine tile = sym("t");
  facts.bind("t", {0}, {floor_div(sym("N"), 14)});
  CHECK(facts.proves(sym("N") - tile * 14 - 14));
}

TEST_CASE("elimination gives the bounds of outer loops") {
  const System tile = {sym("ii"), -sym("ii") + 3, sym("io") * 4 + sym("ii"),
                       -sym("io") * 4 - sym("ii") + 20};
  const Bounds outer = bounds_of(eliminate(tile, "ii"), "io");
  CHECK(outer.lower == std::vector<Affine>{0});
  CHECK(outer.upper == std::vector<Affine>{5});
  CHECK(normalised(floor_div(sym("f"), 7) - 2) == sym("f") - 14);
  CHECK(normalised(-floor_div(sym("f"), 7) + 2) == -sym("f") + 20);
  CHECK(normalised(sym("i") * 6 - 8) == sym("i") - 2);
}

TEST_CASE(
    "a bound that a division hides is read off its multiples, whatever else is added to them") {
  const Affine blocks = floor_div(sym("i"), 12) * 288 - sym("j") * 288;
  const System in_panel = {sym("k"), -sym("k") + 287};
  const auto lower = [&](const Affine& inequality) {
    System system = in_panel;
    system.push_back(inequality);
    return bounds_of(relaxed(system, "i"), "i").lower;
  };
  const auto has = [](const std::vector<Affine>& bounds, const Affine& bound) {
    return std::ranges::find(bounds, bound) != bounds.end();
  };
  CHECK(has(lower(blocks - sym("k") - 1), sym("j") * 12 + 12));
  CHECK(has(lower(blocks - sym("k")), sym("j") * 12));        // k = 0: the same block
  CHECK(has(lower(blocks + sym("k") - 287), sym("j") * 12));  // k = 287
}
