#include "driver/judge/fuzz/scene.h"

#include <algorithm>

namespace polyte::fuzz {

using namespace schedule;

Scene::Scene(const State& current, const Machine& target, Random& numbers)
    : state(current), machine(target), random(numbers) {
  for (const Leaf* leaf : leaves_of(state.tree)) statements.push_back(leaf->statement);
  for (const ir::Buffer& buffer : state.basis->buffers) tensors.push_back(buffer.name);
  for (const StagedBuffer& buffer : state.staged) tensors.push_back(buffer.name);
}

std::vector<std::string> Scene::loops_of(const std::string& statement) const {
  // Never empty, since a name is drawn from it: "i" is then refused, which is tested as well.
  std::vector<std::string> names;
  if (std::ranges::find(statements, statement) == statements.end()) return {"i"};
  for (const Loop* loop : path_to(state.tree, statement)) names.push_back(loop->name);
  return names.empty() ? std::vector<std::string>{"i"} : names;
}

std::vector<std::string> Scene::tiled_loops() const {
  std::vector<std::string> names;
  for (const ScheduledStatement& s : state.statements)
    for (const LoopRow& row : s.rows)
      if (row.tail) names.push_back(row.loop);
  return names;
}

LoopName Scene::loop_name() {
  const std::string owner = random.pick(statements);
  const std::string loop = nonsense(random.pick(loops_of(owner)));
  return {random.chance(55) ? owner : "", loop};
}

LoopName Scene::loop_names() {
  if (!random.chance(8)) return loop_name();
  static const std::vector<std::string> kMany = {"innermost", "outermost", "*.i", "*.o", "*"};
  return {random.chance(50) ? "all" : statement(), random.pick(kMany)};
}

std::string Scene::other_loop(const LoopName& loop) {
  return random.pick(loops_of(loop.statement.empty() ? random.pick(statements) : loop.statement));
}

std::vector<std::string> Scene::some_loops() {
  std::vector<std::string> loops = loops_of(random.pick(statements));
  random.shuffle(loops);
  while (loops.size() > 2 && random.chance(40)) loops.pop_back();
  return loops;
}

// Also factors that seldom divide (5, 7), the length of a vector (L) and a param (F1).
Size Scene::factor() {
  static const std::vector<std::string> kFactors = {"1", "2", "2", "3", "3",  "4", "4",
                                                    "5", "7", "8", "L", "F1", "16"};
  return {random.pick(kFactors)};
}

Tail Scene::tail() {
  return random.pick(std::vector<Tail>{Tail::Guard, Tail::Guard, Tail::Mask, Tail::Cut, Tail::Cut,
                                       Tail::Round, Tail::Shift, Tail::Shift});
}

std::vector<When> Scene::when() {
  // From the innermost loop outwards, as a nest is left; a few go the other way and are
  // refused.
  std::vector<When> result;
  std::vector<std::string> loops = loops_of(random.pick(statements));
  const bool first = random.chance(50);
  for (int n = random.between(1, 2); n > 0 && !loops.empty(); --n) {
    result.push_back({random.chance(90) ? first : !first, loops.back()});
    loops.pop_back();
  }
  return result;
}

// What `when` has to say for a statement that comes into a nest with loops that it does not have.
std::vector<When> Scene::lacking(const std::string& moved, const std::string& host, bool first,
                                 std::size_t depth) {
  const std::vector<std::string> own = loops_of(moved), above = loops_of(host);
  std::vector<When> result;
  for (std::size_t i = 0; i < std::min(depth, above.size()); ++i)
    if (std::ranges::find(own, above[i]) == own.end()) result.push_back({first, above[i]});
  return result;
}

bool Scene::reads(const std::string& statement, const std::string& tensor) const {
  const auto accesses = accesses_of(state.at(statement));
  return std::ranges::any_of(
      accesses, [&](const AccessRef& a) { return !a.write && a.access.buffer == tensor; });
}

std::string Scene::of_role(ir::Role role) {
  std::vector<std::string> names;
  for (const ir::Buffer& buffer : state.basis->buffers)
    if (buffer.role == role) names.push_back(buffer.name);
  return names.empty() ? tensor() : nonsense(random.pick(names));
}

std::pair<std::string, std::string> Scene::dependent_pair() {
  // Pairs in the order of the statements: what is written earlier is read later.
  std::vector<std::pair<std::string, std::string>> pairs;
  for (std::size_t a = 0; a < statements.size(); ++a)
    for (std::size_t b = a + 1; b < statements.size(); ++b)
      if (reads(statements[b], written_by(statements[a])))
        pairs.emplace_back(statements[a], statements[b]);
  if (pairs.empty() || random.chance(5)) return {statement(), random.pick(statements)};
  return random.pick(pairs);
}

LoopName Scene::touching_loop(const std::string& tensor) {
  std::vector<std::string> users;
  for (const std::string& statement : statements)
    if (reads(statement, tensor) || written_by(statement) == tensor) users.push_back(statement);
  if (users.empty() || random.chance(8)) return loop_name();
  const std::string owner = random.pick(users);
  return {random.chance(70) ? owner : "", random.pick(loops_of(owner))};
}

}  // namespace polyte::fuzz
