// Loops of a GPU for a State as it stands: blocks from outside, then threads, or warps and lanes,
// and storage that lies where such loops leave room for it. Most of what is drawn here nests as a
// GPU has it; whether it is legal is open.
#include <algorithm>

#include "driver/judge/fuzz/propose.h"
#include "schedule/state/digits.h"
#include "schedule/state/tree.h"

namespace polyte::fuzz::propose {
namespace {

using namespace schedule;

class DeviceLoops {
 public:
  explicit DeviceLoops(Scene& scene) : scene_(scene) {}

  std::vector<Operation> run() {
    visit(scene_.state.tree, Place::Host, 0);
    for (const StagedBuffer& buffer : scene_.state.staged)
      if (!buffer.at_compile_time) place(buffer);
    return std::move(made_);
  }

 private:
  enum class Place { Host, Blocks, Block, Warp, Threads };
  Scene& scene_;
  std::vector<Operation> made_;
  std::map<LoopId, Place> inside_;  // of a loop: where its body is

  // From outside: at most three loops of blocks, directly inside each other; below them threads, or
  // warps with lanes below. A sequence below blocks ends them.
  void visit(const Tree& tree, Place at, int blocks) {
    if (const auto* sequence = std::get_if<Sequence>(&tree->op))
      for (const Tree& child : sequence->children)
        visit(child, at == Place::Blocks ? Place::Block : at, blocks);
    const auto* loop = std::get_if<Loop>(&tree->op);
    if (!loop) return;
    if (at == Place::Host && scene_.random.chance(25)) return tile(*loop);
    const LoopKind kind = chosen(*loop, at, blocks);
    if (kind != LoopKind::Serial)
      made_.push_back(
          Bind{{statements_below(scene_.state.tree, loop->id).front(), loop->name}, kind});
    const Place within = place_inside(kind, at);
    inside_[loop->id] = within;
    visit(loop->body, within, blocks + (kind == LoopKind::Block ? 1 : 0));
  }

  static Place place_inside(LoopKind kind, Place at) {
    if (kind == LoopKind::Block) return Place::Blocks;
    if (kind == LoopKind::Warp) return Place::Warp;
    if (kind == LoopKind::Thread || kind == LoopKind::Lane) return Place::Threads;
    return at == Place::Blocks ? Place::Block : at;
  }

  // This loop and some directly inside as blocks and threads in one line.
  void tile(const Loop& outermost) {
    Random& random = scene_.random;
    DeviceTile d;
    d.statement = statements_below(scene_.state.tree, outermost.id).front();
    if (random.chance(30)) d.name = "g" + scene_.number_name();
    const Loop* innermost = nullptr;
    for (const Loop* loop = &outermost; loop && (!innermost || random.chance(70));
         loop = std::get_if<Loop>(&loop->body->op)) {
      innermost = loop;
      inside_[loop->id] = Place::Threads;
      d.loops.push_back(loop->name);
      d.factors.push_back({std::to_string(random.between(1, random.chance(5) ? 40 : 8))});
    }
    if (random.chance(20)) random.shuffle(d.loops);
    made_.push_back(std::move(d));
    visit(innermost->body, Place::Threads, 0);
  }

  // Serial: as it is.
  LoopKind chosen(const Loop& loop, Place at, int blocks) {
    Random& random = scene_.random;
    if (loop.kind != LoopKind::Serial) return LoopKind::Serial;
    if (at == Place::Host) return random.chance(70) ? LoopKind::Block : LoopKind::Serial;
    if (at == Place::Blocks && blocks < 3 && random.chance(30)) return LoopKind::Block;
    if (at == Place::Warp) return random.chance(60) ? LoopKind::Lane : LoopKind::Serial;
    if (at == Place::Threads || !random.chance(60)) return LoopKind::Serial;
    return random.chance(30) ? LoopKind::Warp : LoopKind::Thread;
  }

  // Storage of a block is shared or registers, that of a thread its own.
  void place(const StagedBuffer& buffer) {
    const auto around = inside_.find(buffer.allocated_at());
    const Place at = around == inside_.end() ? Place::Host : around->second;
    Random& random = scene_.random;
    Memory memory = Memory::Heap;
    if (at == Place::Threads) memory = random.chance(50) ? Memory::Register : Memory::Stack;
    if (at == Place::Warp) memory = Memory::Register;
    if (at == Place::Blocks || at == Place::Block)
      memory = random.chance(70) ? Memory::Shared : Memory::Register;
    if (buffer.memory != memory) made_.push_back(SetScope{buffer.name, memory});
    if (memory == Memory::Shared && random.chance(40)) made_.push_back(swizzle(buffer));
  }

  // Often of rows that it fits.
  Swizzle swizzle(const StagedBuffer& buffer) {
    const Size every = {
        scene_.random.chance(70) ? "" : std::to_string(1 << scene_.random.between(0, 2))};
    return {buffer.name, {std::to_string(1 << scene_.random.between(0, 3))}, every};
  }
};

}  // namespace

std::vector<Operation> device(Scene& scene) { return DeviceLoops(scene).run(); }

}  // namespace polyte::fuzz::propose
