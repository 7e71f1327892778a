#include <algorithm>
#include <set>

#include "driver/judge/fuzz/propose.h"
#include "schedule/script/replay.h"

namespace polyte::fuzz::propose {

using namespace schedule;

namespace {

// The loops of a copy below the place of its stage, shuffled, each of some kind.
NestTree copy_path(Scene& scene, const State& staged, const Stage& stage, const Leaf& leaf) {
  static const std::vector<LoopKind> kKinds = {LoopKind::Serial, LoopKind::Serial,
                                               LoopKind::Unrolled, LoopKind::Vector};
  std::vector<const Loop*> own = path_to(staged.tree, leaf.statement);
  const auto site = std::ranges::find_if(
      own, [&](const Loop* l) { return stage.at && l->name == stage.at->loop; });
  if (site != own.end()) own.erase(own.begin(), site + 1);
  scene.random.shuffle(own);
  NestTree tree = nest_statement(leaf.statement);
  for (const Loop* loop : own)
    tree = nest_path({{loop->name, scene.random.pick(kKinds)}}, std::move(tree));
  return tree;
}

// The loops that the copies would have, in another order and of other kinds; null where the
// stage does not apply.
// The stage is applied to a copy of the State to see which loops its copies get.
NestTree copy_nest(Scene& scene, const Stage& stage) {
  ScriptEnvironment environment;
  environment.values = {{"L", 4}, {"F1", 2}};
  const auto staged = apply(scene.state, {stage, Provenance::Person, 0}, environment, nullptr);
  if (!staged) return nullptr;
  NestSequence copies;
  for (const Leaf* leaf : leaves_of(staged->tree))
    if (scene.state.find(leaf->statement) == nullptr)
      copies.children.push_back(copy_path(scene, *staged, stage, *leaf));
  if (copies.children.empty()) return nullptr;
  if (copies.children.size() == 1) return copies.children.front();
  return std::make_shared<const NestNode>(NestNode{std::move(copies)});
}

// A permutation of the dimensions, one of them cut into tiles now and then.
void layout(Scene& scene, Stage& d) {
  std::size_t rank = 2;
  if (std::ranges::find(scene.tensors, d.tensor) != scene.tensors.end())
    rank = scene.state.shape_of(d.tensor).size();
  for (std::size_t i = 0; i < rank; ++i) d.names.push_back("d" + std::to_string(i));
  d.layout = d.names;
  scene.random.shuffle(d.layout);
  if (!d.layout.empty() && scene.random.chance(40)) {
    const std::size_t cut = scene.random.below(d.layout.size());
    const std::string name = d.layout[cut],
                      tile = scene.random.pick(std::vector<std::string>{"2", "3", "4", "L"});
    d.layout[cut] = name + "//" + tile;
    d.layout.push_back(name + "%" + tile);
  }
}

// Now and then along another loop, outside its own or not.
Operation prefetch(Scene& scene, const std::string& what) {
  Prefetch d{what, scene.touching_loop(what), {scene.number()}, scene.random.between(1, 3), {}};
  if (scene.random.chance(40)) d.along = scene.other_loop(d.at);
  return d;
}

bool is_updated(const Scene& scene, const std::string& tensor) {
  return std::ranges::any_of(scene.state.basis->statements, [&](const ir::Statement& s) {
    return s.combiner != ir::Combiner::None && s.writes.front().buffer == tensor;
  });
}

// One of the reads of a tensor, as the statement has it or some of it.
void select_read(Scene& scene, Stage& d) {
  std::vector<std::pair<std::string, std::vector<ir::Index>>> found;
  for (const ScheduledStatement& s : scene.state.statements)
    for (const AccessRef& ref : accesses_of(s))
      if (ref.load && ref.access.buffer == d.tensor)
        found.emplace_back(s.body.name, ref.access.indices);
  if (found.empty()) return;
  const auto& [reader, indices] = scene.random.pick(found);
  if (scene.random.chance(60)) d.reader = scene.nonsense(reader);
  if (d.reader.empty() || scene.random.chance(80))
    for (const ir::Index& index : indices) d.subscripts.push_back(ir::to_string(index.affine));
}

}  // namespace

Stage whole(const std::string& tensor) {
  Stage d;
  d.tensor = tensor;
  return d;
}

// Weights are those of use: half stages, then caches, packing last. Places and tensors mostly
// belong together, since a stage of a tensor that nobody touches there means nothing.
Operation stage(Scene& scene) {
  Stage d;
  const int form = scene.random.between(0, 9);
  d.form = form < 5   ? Stage::Form::Stage
           : form < 7 ? Stage::Form::CacheRead
           : form < 9 ? Stage::Form::CacheWrite
                      : Stage::Form::Pack;
  d.tensor = scene.tensor();
  // Only constants can be packed when compiling, and often that is all that is done to one.
  if (scene.random.chance(12)) d.tensor = scene.of_role(ir::Role::Const);
  if (scene.random.chance(80)) d.at = scene.touching_loop(d.tensor);
  if (scene.random.chance(50))
    d.memory =
        scene.random.pick(std::vector<Memory>{Memory::Register, Memory::Stack, Memory::Heap});
  if (d.form == Stage::Form::Pack || scene.random.chance(15)) layout(scene, d);
  if (!d.layout.empty() && scene.random.chance(30)) {
    d.layout.front() =
        (d.layout.front().find('/') == std::string::npos ? d.layout.front()
                                                         : "(" + d.layout.front() + ")") +
        "%" + std::to_string(scene.random.between(2, 4));
    d.fold = true;
  }
  if (scene.random.chance(10)) d.pad = {std::to_string(scene.random.between(1, 3))};
  const ir::Buffer* buffer = scene.state.basis->find_buffer(d.tensor);
  d.when_compile = scene.random.chance(buffer && buffer->role == ir::Role::Const ? 35 : 3);
  if (d.when_compile && scene.random.chance(70)) d.at.reset();
  if (scene.random.chance(15)) d.copy = copy_nest(scene, d);
  d.updates_only = (form == 3 || form == 4) && is_updated(scene, d.tensor);
  if (form == 2 && !d.copy) select_read(scene, d);
  return d;
}

// Something done to a buffer that there is.
Operation storage(Scene& scene) {
  const StagedBuffer& b = scene.random.pick(scene.state.staged);
  const std::string name = scene.nonsense(scene.random.chance(50) ? b.name : b.of);
  const std::string dimension =
      b.dimensions.empty() ? "u" : scene.nonsense(scene.random.pick(b.dimensions));
  const Size size = scene.factor();
  const Loop* scope = b.scope_loop == kKernel ? nullptr : find_loop(scene.state.tree, b.scope_loop);
  switch (scene.random.between(0, 11)) {
    case 10:
    case 11:
      return Pad{name, dimension, {std::to_string(scene.random.between(2, 8))}};
    case 0:
    case 1:
    case 2:
      return FoldStorage{name, dimension, size};
    case 3:
      return BoundStorage{name, dimension, {std::to_string(scene.random.between(1, 12))}};
    case 4:
      return StorageAlign{name, dimension, size, {}};
    case 5:
      return HoistStorage{
          name, scene.random.chance(40) ? LoopName{"", "root"} : scene.touching_loop(b.name)};
    case 6:
      return SetScope{name, scene.random.pick(std::vector<Memory>{Memory::Register, Memory::Stack,
                                                                  Memory::Heap})};
    case 7: {
      Stage d;
      d.tensor = b.name;
      layout(scene, d);
      return TransformLayout{name, d.names, d.layout};
    }
    default:
      return DoubleBuffer{
          name,
          scope && scene.random.chance(90) ? LoopName{"", scope->name}
                                           : scene.touching_loop(b.name),
          Size{scene.random.chance(50) ? "" : std::to_string(scene.random.between(2, 4))}};
  }
}

// A temporary and a tensor of its shape, where there are such.
Reuse reuse(Scene& scene) {
  std::vector<Reuse> found;
  for (const ir::Buffer& own : scene.state.basis->buffers)
    for (const ir::Buffer& other : scene.state.basis->buffers)
      if (own.role == ir::Role::Temp && other.role != ir::Role::In &&
          other.role != ir::Role::Const && other.role != ir::Role::InOut && &other != &own &&
          other.shape == own.shape && other.dtype == own.dtype)
        found.push_back({other.name, own.name});
  return found.empty() || scene.random.chance(5) ? Reuse{scene.tensor(), scene.tensor()}
                                                 : scene.random.pick(found);
}

// Of each tensor with a subscript that adds iterators up in digits, by one of its factors; now
// and then by another.
std::vector<Operation> views(Scene& scene) {
  std::vector<Operation> found;
  for (const ir::Buffer& buffer : scene.state.basis->buffers) {
    if (buffer.shape.size() != 1 || !buffer.shape[0].is_constant()) continue;
    const std::int64_t extent = buffer.shape[0].constant();
    std::set<std::int64_t> radices;
    for (const ScheduledStatement& s : scene.state.statements)
      for (const AccessRef& ref : accesses_of(s))
        if (ref.access.buffer == buffer.name)
          for (const ir::Term& term : ref.access.indices[0].affine.terms())
            radices.insert(std::abs(term.coefficient));
    radices.erase(1);
    for (const std::int64_t radix : radices) {
      const std::int64_t other = scene.random.chance(10) ? scene.random.between(1, 4) : radix;
      const std::int64_t rows = extent / other;
      found.push_back(View{buffer.name, {{std::to_string(rows)}, {std::to_string(other)}}});
    }
  }
  return found;
}

// A prefetch, a store past the caches, or another tail for a split.
Operation hint_or_tail(Scene& scene) {
  const std::string what = scene.tensor();
  if (scene.random.chance(25)) return prefetch(scene, what);
  if (scene.random.chance(30)) return StoreNonTemporal{what};
  if (scene.random.chance(40)) return reuse(scene);
  const std::vector<std::string> inner = scene.tiled_loops();
  const LoopName any = scene.loop_name();
  return SetTail{{scene.random.chance(75) ? any.statement : "",
                  inner.empty() ? any.loop : scene.random.pick(inner)},
                 scene.tail()};
}

// What has to come together: a last tile that runs whole needs storage that is large enough,
// and filled.
std::vector<Operation> recipe(Scene& scene) {
  for (const std::string& name : scene.statements) {
    const ScheduledStatement& s = scene.state.at(name);
    const ir::Buffer* made = scene.state.basis->find_buffer(s.body.writes.front().buffer);
    if (!made || made->role != ir::Role::Temp || s.kind == StatementKind::Copy ||
        s.body.iterators.empty())
      continue;
    const std::string& loop = s.body.iterators[scene.random.below(s.body.iterators.size())];
    std::vector<std::string> read;
    for (const ir::Buffer& buffer : scene.state.basis->buffers)
      if (&buffer != made && scene.reads(name, buffer.name)) read.push_back(buffer.name);
    std::vector<Operation> steps;
    for (const std::string& buffer : read) steps.emplace_back(whole(buffer));
    steps.emplace_back(whole(made->name));
    steps.emplace_back(BoundStorage{made->name, loop, {"16"}});
    for (const std::string& buffer : read) steps.emplace_back(Pad{buffer, loop, {"16"}});
    const Size size{scene.random.chance(50) ? "4" : "8"};
    if (scene.random.chance(60)) {
      steps.emplace_back(Split{{name, loop}, size, false, {}, Tail::Round});
      return steps;
    }
    // The tile's tail, once it is split again, is that of the loop of its parts.
    steps.emplace_back(Split{{name, loop}, size, false, {}, Tail::Guard});
    steps.emplace_back(Split{{name, loop + ".i"}, {"2"}, false, {}, Tail::Guard});
    steps.emplace_back(SetTail{{name, loop + ".i.o"}, Tail::Round});
    return steps;
  }
  return {};
}

}  // namespace polyte::fuzz::propose
