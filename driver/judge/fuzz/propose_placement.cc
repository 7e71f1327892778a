#include "driver/judge/fuzz/propose.h"

namespace polyte::fuzz::propose {

using namespace schedule;

Operation compute_at(Scene& scene) {
  const auto [producer, consumer] = scene.dependent_pair();
  const std::string what =
      scene.random.chance(70) && scene.state.find(producer) ? scene.written_by(producer) : producer;
  const std::vector<std::string> loops = scene.loops_of(consumer);
  ComputeAt d{what, {scene.random.chance(80) ? consumer : "", scene.random.pick(loops)}, ""};
  if (scene.random.chance(40))
    d.per = scene.random.chance(25) ? "root" : scene.nonsense(scene.random.pick(loops));
  return d;
}

// Storage further out for what is computed at a loop, if there is such a thing.
Operation store_at(Scene& scene) {
  for (const Leaf* leaf : leaves_of(scene.state.tree)) {
    if (!leaf->at || scene.random.chance(30)) continue;
    const std::string tensor = scene.written_by(leaf->statement);
    const std::string loop =
        scene.random.chance(25) ? "root" : scene.random.pick(scene.loops_of(leaf->statement));
    return StoreAt{tensor, {"", loop}, {}};
  }
  return compute_at(scene);
}

// Storage further out for what is computed at a loop.
std::vector<Operation> recomputed(Scene& scene) {
  std::vector<Operation> fitting;
  for (const Leaf* leaf : leaves_of(scene.state.tree)) {
    if (!leaf->at) continue;
    fitting.emplace_back(StoreAt{scene.written_by(leaf->statement), {"", "root"}, {}});
    for (const std::string& loop : scene.loops_of(leaf->statement))
      fitting.emplace_back(StoreAt{scene.written_by(leaf->statement), {"", loop}, {}});
  }
  return fitting;
}

Operation reverse_compute_at(Scene& scene) {
  const auto [producer, consumer] = scene.dependent_pair();
  const std::vector<std::string> loops = scene.loops_of(producer);
  const std::size_t depth = 1 + scene.random.below(loops.size());
  ReverseComputeAt d{
      consumer, {producer, loops[depth - 1]}, scene.lacking(consumer, producer, false, depth)};
  if (scene.random.chance(8)) d.when = scene.when();
  return d;
}

// An init or a consumer into the nest of an update, in the first or last iteration of the loops
// it lacks.
Operation place(Scene& scene) {
  const auto [producer, consumer] = scene.dependent_pair();
  const bool first = scene.random.chance(50);
  const std::string &moved = first ? producer : consumer, &host = first ? consumer : producer;
  std::vector<When> when_lacking =
      scene.lacking(moved, host, scene.random.chance(92) ? first : !first, 9);
  while (when_lacking.size() > 1 && scene.random.chance(15)) when_lacking.pop_back();
  return Place{moved, when_lacking.empty() || scene.random.chance(6) ? scene.when() : when_lacking};
}

// What makes the values of an update lie elsewhere, or makes them anew: the order of the statements
// then decides no more which value a read takes.
Operation relocation(Scene& scene) {
  std::vector<std::string> updated;
  for (const std::string& name : scene.statements)
    if (scene.state.at(name).body.combiner != ir::Combiner::None)
      updated.push_back(scene.written_by(name));
  if (updated.empty() || scene.random.chance(15)) return compute_at(scene);
  const std::string tensor = scene.random.pick(updated);
  std::vector<std::string> readers;
  for (const std::string& name : scene.statements)
    if (scene.reads(name, tensor) && scene.written_by(name) != tensor) readers.push_back(name);
  if (!readers.empty() && scene.random.chance(50)) {
    const std::string& reader =
        scene.random.chance(70) ? readers.back() : scene.random.pick(readers);
    return ComputeAt{tensor, {reader, scene.random.pick(scene.loops_of(reader))}, ""};
  }
  Stage d = whole(tensor);
  if (scene.random.chance(70)) d.at = scene.touching_loop(d.tensor);
  return d;
}

}  // namespace polyte::fuzz::propose
