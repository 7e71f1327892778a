#include <algorithm>

#include "driver/judge/fuzz/propose.h"
#include "driver/judge/fuzz/random_nest.h"
#include "schedule/script/replay.h"

namespace polyte::fuzz::propose {

using namespace schedule;

namespace {

// Names of the parts of a cut, or none.
std::vector<std::string> parts(Scene& scene) {
  if (scene.random.chance(40)) return {};
  const std::string base = "part" + scene.number_name();
  return {base + "a", base + "b"};
}

// ((1, a), (b, 1 + a*b)) has determinant 1: an affine map with whole numbers both ways. One of ten
// has another last entry, and is mostly none.
Operation affine(Scene& scene, const LoopName& loop) {
  const std::string a = scene.number(), b = scene.number();
  const std::string product = std::to_string(1 + std::stoll(a) * std::stoll(b));
  std::vector<std::vector<Size>> matrix = {{{"1"}, {a}}, {{b}, {product}}};
  if (scene.random.chance(10)) matrix[1][1] = {scene.number()};
  return AffineMap{loop.statement,
                   {loop.loop, scene.other_loop(loop)},
                   matrix,
                   {"a" + scene.number_name(), "b" + scene.number_name()}};
}

// Replaces one loop by itself plus a multiple of another: a shear, for some of the statements.
Operation remap(Scene& scene, const LoopName& loop) {
  Remap d;
  for (const std::string& statement : scene.statements)
    if (scene.random.chance(60)) d.statements.push_back(statement);
  if (scene.random.chance(40))
    d.statements = {loop.statement.empty() ? scene.statements.front() : loop.statement};
  d.replaced = {loop.loop};
  d.loops = {scene.random.chance(30) ? loop.loop : "w" + scene.number_name()};
  d.values = {{loop.loop + " + " + scene.number() + "*" + scene.other_loop(loop)}};
  return d;
}

// A whole schedule of one or two statements: their iterators in some order, each plus multiples
// of those before it and a constant (a unimodular lower triangle), the shorter one padded by
// constants to equal depth. One of five splits the first row into its quotient and remainder by
// 3, as a tile does.
Operation whole_map(Scene& scene) {
  Map d;
  const std::size_t first = scene.random.below(scene.statements.size()),
                    count = scene.random.chance(50) ? 1 : 2;
  std::size_t depth = scene.state.at(scene.statements[first]).body.iterators.size();
  for (std::size_t i = first; i < std::min(first + count, scene.statements.size()); ++i) {
    std::vector<std::string> iterators = scene.state.at(scene.statements[i]).body.iterators;
    if (scene.random.chance(30)) scene.random.shuffle(iterators);
    Map::Item item{scene.statements[i], {}};
    for (std::size_t k = 0; k < iterators.size(); ++k) {
      std::string value = iterators[k];
      if (k > 0 && scene.random.chance(40))
        value += " + " + scene.number() + "*" + iterators[scene.random.below(k)];
      if (scene.random.chance(30)) value += " + " + scene.number();
      item.values.push_back({value});
    }
    while (item.values.size() < depth) item.values.push_back({scene.number()});
    d.items.push_back(std::move(item));
  }
  for (std::size_t k = 0; k < depth; ++k) d.loops.push_back("m" + std::to_string(k));
  if (depth > 0 && scene.random.chance(20)) {
    for (Map::Item& item : d.items) {
      const std::string whole = item.values[0].text;
      item.values[0] = {"(" + whole + ")//3"};
      item.values.push_back({"(" + whole + ")%3"});
    }
    d.loops.push_back("md");
  }
  return d;
}

}  // namespace

// `into`, 12 times of 100: the factor is the number of outer iterations. `from`: tiles begin at
// another place than the loop does.
Operation split(Scene& scene) {
  Split d{scene.loop_name(), scene.factor(), scene.random.chance(12), {}, scene.tail()};
  if (scene.random.chance(8)) d.from = {std::to_string(scene.random.between(-2, 3))};
  return d;
}

// Any loops of a statement, mostly all of them.
Operation tile(Scene& scene) {
  Tile d;
  d.statement = scene.statement();
  d.loops = scene.loops_of(d.statement);
  while (d.loops.size() > 1 && scene.random.chance(30))
    d.loops.erase(d.loops.begin() +
                  static_cast<std::ptrdiff_t>(scene.random.below(d.loops.size())));
  for (std::size_t i = 0; i < d.loops.size(); ++i) d.factors.push_back(scene.factor());
  d.tail = scene.tail();
  return d;
}

// A loop unrolled, cut or peeled.
Operation unroll(Scene& scene) {
  const LoopName loop = scene.loop_name();
  switch (scene.random.between(0, 4)) {
    case 0:
      return Unroll{loop, scene.factor()};
    case 1:
      return UnrollAndJam{loop, {std::to_string(scene.random.between(1, 4))}};
    case 2:
      return Cut{loop,
                 {scene.random.chance(70) ? std::to_string(scene.random.between(-1, 6))
                                          : scene.other_loop(loop) + " + 1"},
                 parts(scene)};
    case 3:
      return Peel{loop,
                  scene.random.chance(50),
                  {scene.random.chance(50) ? "" : std::to_string(scene.random.between(0, 3))},
                  parts(scene)};
    default:
      return Unroll{loop, {}};
  }
}

// Mostly a loop that holds several nests.
Operation distribute(Scene& scene) {
  std::vector<LoopName> several;
  for (const std::string& statement : scene.statements)
    for (const Loop* loop : path_to(scene.state.tree, statement))
      if (std::holds_alternative<Sequence>(loop->body->op))
        several.push_back({statement, loop->name});
  return Distribute{several.empty() || scene.random.chance(20) ? scene.loop_name()
                                                               : scene.random.pick(several)};
}

// Loops mapped to other ones: one or two of them, or all of a statement at once.
Operation mapped(Scene& scene) {
  const LoopName loop = scene.loop_name();
  switch (scene.random.between(0, 8)) {
    case 0:
      return Skew{loop, {scene.number() + "*" + scene.other_loop(loop)}, scene.fresh("s")};
    case 1:
      return Shift{loop, {scene.number()}, scene.fresh("s")};
    case 2:
      return Reverse{loop, scene.fresh("r")};
    case 3:
      return Rename{loop, "n" + scene.number_name()};
    case 4:
      return affine(scene, loop);
    case 5:
      return Interchange{loop.statement, loop.loop, scene.other_loop(loop)};
    case 6:
      return Wavefront{loop.statement,
                       "w" + scene.number_name(),
                       {scene.other_loop(loop) + " + " + loop.loop},
                       loop.loop};
    case 7:
      return whole_map(scene);
    default:
      return remap(scene, loop);
  }
}

// A swap of neighbours is legal far more often than any order.
Operation order(Scene& scene) {
  Order d{scene.statement(), {}};
  d.loops = scene.loops_of(d.statement);
  if (d.loops.size() > 1 && scene.random.chance(60)) {
    const std::size_t i = scene.random.below(d.loops.size() - 1);
    std::swap(d.loops[i], d.loops[i + 1]);
  } else {
    scene.random.shuffle(d.loops);
  }
  return d;
}

// A loop and the one inside of it; an innermost loop with itself, which means nothing.
Operation fuse(Scene& scene) {
  const std::string owner = scene.random.pick(scene.statements);
  const std::vector<std::string> loops = scene.loops_of(owner);
  const std::size_t outer = scene.random.below(loops.size()),
                    inner = std::min(outer + 1, loops.size() - 1);
  return Fuse{{owner, loops[outer]},
              {owner, loops[inner]},
              "q" + std::to_string(scene.random.between(0, 9))};
}

// Mostly neighbours, which can be merged without moving anything between them.
Operation merge(Scene& scene) {
  const std::size_t first = scene.random.below(scene.statements.size());
  const std::size_t second = scene.random.chance(80) && first + 1 < scene.statements.size()
                                 ? first + 1
                                 : scene.random.below(scene.statements.size());
  Merge d{{scene.statements[first], scene.statements[second]},
          scene.random.pick(scene.loops_of(scene.statements[first])),
          {}};
  while (scene.random.chance(35)) {
    const std::string loop = scene.random.pick(scene.loops_of(scene.statements[second]));
    const std::string by = scene.number();
    d.with.push_back({loop, {(by.front() == '-' ? "" : "+") + by}});
  }
  return d;
}

// A nest draws the whole order anew.
Operation another_order(Scene& scene) {
  if (scene.random.chance(15)) return mapped(scene);
  return Nest{"", random_nest(scene.state, scene.random)};
}

// The same nest as the directives it expands to, applied as one: between them the State may be
// illegal, so only their sum is proved.
Operation as_transaction(const Nest& nest) {
  Script script;
  script.directives.push_back({nest, Provenance::Person, 0});
  return expand_to_directives(script).directives.front().operation;
}

}  // namespace polyte::fuzz::propose
