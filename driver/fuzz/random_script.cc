#include "driver/fuzz/random_script.h"

#include <algorithm>

#include "driver/fuzz/random_nest.h"
#include "schedule/language/divisions.h"
#include "schedule/language/softmax_sum.h"
#include "schedule/language/tensorized.h"

namespace polyte::fuzz {
namespace {

using namespace schedule;

const std::vector<std::string> kFactors = {"1", "2", "2", "3", "3", "4", "4", "5", "7", "8", "L", "F1", "16"};

class Proposer {
 public:
  Proposer(const State& state, const Machine& machine, Random& random)
      : state_(state), machine_(machine), random_(random) {
    for (const Leaf* leaf : leaves_of(state.tree)) statements_.push_back(leaf->statement);
    for (const ir::Buffer& buffer : state.basis->buffers) tensors_.push_back(buffer.name);
    for (const StagedBuffer& buffer : state.staged) tensors_.push_back(buffer.name);
  }

  Operation propose() {
    if (const std::vector<Operation> fitting = online(); !fitting.empty() && random_.chance(30))
      return random_.pick(fitting);
    if (const std::vector<Operation> fitting = reciprocals(); !fitting.empty() && random_.chance(20))
      return random_.pick(fitting);
    if (!state_.staged.empty() && random_.chance(9)) return storage();
    if (!state_.staged.empty() && !state_.splits.empty() && random_.chance(4))
      return SetTail{{"", random_.pick(state_.splits).loop + ".i"}, Tail::Round};
    if (random_.chance(2)) return reuse();
    if (random_.chance(2)) return reassociated();
    if (const std::vector<Operation> fitting = recomputed(); !fitting.empty() && random_.chance(12))
      return random_.pick(fitting);
    if (random_.chance(30))
      if (const std::vector<Operation> fitting = tensorized(); !fitting.empty()) return random_.pick(fitting);
    if (random_.chance(5))
      if (const std::vector<Operation> first = tiles(); !first.empty()) return random_.pick(first);
    if (random_.chance(1)) return Tensorize{loop_name(), random_.pick(ir::intrinsics()).name};
    if (random_.chance(18)) return mapped();
    if (random_.chance(9)) return algebra();
    const int form = random_.between(0, 99);
    if (form < 22) return split();
    if (form < 26) return tile();
    if (form < 32) return Reorder{random_.chance(85) ? statement() : "", some_loops()};
    if (form < 35) return order();
    if (form < 39) return fuse();
    if (form < 43) return merge();
    if (form < 44) return ComputeWith{statement(), statement(), random_.pick(loops_of(random_.pick(statements_)))};
    if (form < 46) return distribute();
    if (form < 51) return unroll();
    if (form < 57) return Vectorize{loop_names()};
    if (form < 63) return Parallel{loop_names()};
    if (form < 66) return ComputeInline{random_.chance(85) ? temporary() : tensor()};
    if (form < 71) return compute_at();
    if (form < 72) return ComputeRoot{temporary()};
    if (form < 73) return store_at();
    if (form < 75) return reverse_compute_at();
    if (form < 78) return place();
    if (form < 86) return Nest{"", random_nest(state_, random_)};
    if (form < 88) return as_transaction({"", random_nest(state_, random_)});
    if (form < 90) return hint_or_tail();
    if (form < 92) return compute_at();
    return stage();
  }

  // What has to come together: a last tile that runs whole needs storage that is large enough, and filled.
  std::vector<Operation> recipe() {
    for (const std::string& name : statements_) {
      const ScheduledStatement& s = state_.at(name);
      const ir::Buffer* made = state_.basis->find_buffer(s.body.writes.front().buffer);
      if (!made || made->role != ir::Role::Temp || s.kind == StatementKind::Copy || s.body.iterators.empty()) continue;
      const std::string& loop = s.body.iterators[random_.below(s.body.iterators.size())];
      std::vector<std::string> read;
      for (const ir::Buffer& buffer : state_.basis->buffers)
        if (&buffer != made && reads(name, buffer.name)) read.push_back(buffer.name);
      std::vector<Operation> steps;
      for (const std::string& buffer : read) steps.emplace_back(whole(buffer));
      steps.emplace_back(whole(made->name));
      steps.emplace_back(BoundStorage{made->name, loop, {"16"}});
      for (const std::string& buffer : read) steps.emplace_back(Pad{buffer, loop, {"16"}});
      steps.emplace_back(Split{{name, loop}, {random_.chance(50) ? "4" : "8"}, false, {}, Tail::Round});
      return steps;
    }
    return {};
  }

  // What makes the values of an update lie elsewhere, or makes them anew: the order of the statements then decides no
  // more which value a read takes.
  Operation relocation() {
    std::vector<std::string> updated;
    for (const std::string& name : statements_)
      if (state_.at(name).body.combiner != ir::Combiner::None) updated.push_back(written_by(name));
    if (updated.empty() || random_.chance(15)) return compute_at();
    const std::string tensor = random_.pick(updated);
    std::vector<std::string> readers;
    for (const std::string& name : statements_)
      if (reads(name, tensor) && written_by(name) != tensor) readers.push_back(name);
    if (!readers.empty() && random_.chance(50)) {
      const std::string& reader = random_.chance(70) ? readers.back() : random_.pick(readers);
      return ComputeAt{tensor, {reader, random_.pick(loops_of(reader))}, ""};
    }
    Stage d = whole(tensor);
    if (random_.chance(70)) d.at = touching_loop(d.tensor);
    return d;
  }
  Operation another_order() {
    if (random_.chance(15)) return mapped();
    return Nest{"", random_nest(state_, random_)};
  }

 private:
  const State& state_;
  const Machine& machine_;
  Random& random_;
  std::vector<std::string> statements_, tensors_;

  static Stage whole(const std::string& tensor) {
    Stage d;
    d.tensor = tensor;
    return d;
  }

  // Instructions of this processor that the nests below some loops are.
  std::vector<Operation> tensorized() const {
    std::vector<Operation> fitting;
    for (const std::string& statement : statements_) {
      const std::vector<const Loop*> path = path_to(state_.tree, statement);
      for (std::size_t inner = 1; inner <= std::min<std::size_t>(path.size(), 2); ++inner) {
        const Loop& loop = *path[path.size() - inner];
        const auto nest = point_nest(state_, loop);
        if (!nest) break;
        for (const ir::Intrinsic& row : ir::intrinsics())
          if (ir::missing_for(row, machine_).empty() && !difference(state_, row, *nest))
            fitting.push_back(Tensorize{{statement, loop.name}, row.name});
      }
    }
    return fitting;
  }

  // Statements that divide by the same number again and again.
  std::vector<Operation> reciprocals() const {
    std::vector<Operation> fitting;
    for (const std::string& name : statements_) {
      if (state_.at(name).reference.empty()) continue;
      const ir::Statement& s = state_.basis->statement(state_.at(name).reference);
      const std::vector<ir::Expr> divisions = divisions_of(s);
      if (std::ranges::any_of(divisions, [&](const ir::Expr& d) { return why_not_shared(s, d).empty(); }))
        fitting.emplace_back(Reciprocal{name});
    }
    return fitting;
  }

  // Maxima along with all sums that name them.
  std::vector<Operation> online() const {
    std::vector<Operation> fitting;
    for (const std::string& name : statements_) {
      const ScheduledStatement& s = state_.at(name);
      if (s.body.combiner != ir::Combiner::Max || s.reference.empty() || !is_float(s.body.values.front()->type))
        continue;
      const std::string maximum = s.body.writes.front().buffer;
      std::vector<std::string> sums;
      for (const ir::Statement& sum : state_.basis->statements)
        if (softmax_sum(sum, maximum)) sums.push_back(sum.writes.front().buffer);
      if (sums.empty()) continue;
      for (const Loop* loop : path_to(state_.tree, name)) fitting.emplace_back(Online{sums, maximum, {"", loop->name}});
    }
    return fitting;
  }

  // Storage further out for what is computed at a loop.
  std::vector<Operation> recomputed() {
    std::vector<Operation> fitting;
    for (const Leaf* leaf : leaves_of(state_.tree)) {
      if (leaf->at.empty()) continue;
      fitting.emplace_back(StoreAt{written_by(leaf->statement), {"", "root"}, {}});
      for (const std::string& loop : loops_of(leaf->statement))
        fitting.emplace_back(StoreAt{written_by(leaf->statement), {"", loop}, {}});
    }
    return fitting;
  }

  Operation as_transaction(const Nest& nest) const {
    Script script;
    script.directives.push_back({nest, Provenance::Person, 0});
    return expand_to_directives(script, state_).directives.front().operation;
  }

  std::string nonsense(const std::string& name) { return random_.chance(2) ? "nowhere" : name; }
  std::string statement() { return nonsense(random_.pick(statements_)); }
  std::string tensor() { return nonsense(random_.pick(tensors_)); }

  // Splits after which an instruction fits.
  std::vector<Operation> tiles() {
    std::vector<Operation> splits;
    ScriptEnvironment environment;
    for (const std::string& statement : statements_) {
      for (const Loop* loop : path_to(state_.tree, statement)) {
        for (const char* factor : {"2", "4", "8"}) {
          const Split split{{statement, loop->name}, {factor}, false, {}, Tail::Guard};
          const auto next = apply(state_, {split, Provenance::Person, 0}, environment, nullptr);
          if (next && !Proposer(*next, machine_, random_).tensorized().empty()) splits.emplace_back(split);
        }
      }
    }
    return splits;
  }

  std::vector<std::string> loops_of(const std::string& statement) const {
    std::vector<std::string> names;
    if (std::find(statements_.begin(), statements_.end(), statement) == statements_.end()) return {"i"};
    for (const Loop* loop : path_to(state_.tree, statement)) names.push_back(loop->name);
    return names.empty() ? std::vector<std::string>{"i"} : names;
  }
  // Now and then a selector of many.
  LoopName loop_names() {
    if (!random_.chance(8)) return loop_name();
    static const std::vector<std::string> kMany = {"innermost", "outermost", "*.i", "*.o", "*"};
    return {random_.chance(50) ? "all" : statement(), random_.pick(kMany)};
  }

  LoopName loop_name() {
    const std::string owner = random_.pick(statements_);
    const std::string loop = nonsense(random_.pick(loops_of(owner)));
    return {random_.chance(55) ? owner : "", loop};
  }
  Size factor() { return {random_.pick(kFactors)}; }
  Tail tail() {
    return random_.pick(std::vector<Tail>{Tail::Guard, Tail::Guard, Tail::Mask, Tail::Cut, Tail::Cut, Tail::Round,
                                          Tail::Shift, Tail::Shift});
  }

  Operation split() {
    Split d{loop_name(), factor(), random_.chance(12), {}, tail()};
    if (random_.chance(8)) d.from = {std::to_string(random_.between(-2, 3))};
    return d;
  }
  Operation tile() {
    Tile d;
    d.statement = statement();
    d.loops = loops_of(d.statement);
    while (d.loops.size() > 1 && random_.chance(30))
      d.loops.erase(d.loops.begin() + static_cast<std::ptrdiff_t>(random_.below(d.loops.size())));
    for (std::size_t i = 0; i < d.loops.size(); ++i) d.factors.push_back(factor());
    d.tail = tail();
    return d;
  }
  // A loop unrolled, cut or peeled.
  Operation unroll() {
    const LoopName loop = loop_name();
    switch (random_.between(0, 4)) {
      case 0:
        return Unroll{loop, factor()};
      case 1:
        return UnrollAndJam{loop, {std::to_string(random_.between(1, 4))}};
      case 2:
        return Cut{
            loop, {random_.chance(70) ? std::to_string(random_.between(-1, 6)) : other_loop(loop) + " + 1"}, parts()};
      case 3:
        return Peel{
            loop, random_.chance(50), {random_.chance(50) ? "" : std::to_string(random_.between(0, 3))}, parts()};
      default:
        return Unroll{loop, {}};
    }
  }

  // Mostly a loop that holds several nests.
  Operation distribute() {
    std::vector<LoopName> several;
    for (const std::string& statement : statements_)
      for (const Loop* loop : path_to(state_.tree, statement))
        if (std::holds_alternative<Sequence>(loop->body->op)) several.push_back({statement, loop->name});
    return Distribute{several.empty() || random_.chance(20) ? loop_name() : random_.pick(several)};
  }

  // Names of the parts of a cut, or none.
  std::vector<std::string> parts() {
    if (random_.chance(40)) return {};
    const std::string base = "part" + number_name();
    return {base + "a", base + "b"};
  }

  // --- maps

  std::string number() { return std::to_string(random_.between(-2, 3)); }
  std::string other_loop(const LoopName& loop) {
    return random_.pick(loops_of(loop.statement.empty() ? random_.pick(statements_) : loop.statement));
  }
  std::string fresh(const std::string& base) { return random_.chance(50) ? "" : base + number_name(); }
  std::string number_name() { return std::to_string(random_.between(0, 9)); }
  Operation mapped() {
    const LoopName loop = loop_name();
    switch (random_.between(0, 8)) {
      case 0:
        return Skew{loop, {number() + "*" + other_loop(loop)}, fresh("s")};
      case 1:
        return Shift{loop, {number()}, fresh("s")};
      case 2:
        return Reverse{loop, fresh("r")};
      case 3:
        return Rename{loop, "n" + number_name()};
      case 4:
        return affine(loop);
      case 5:
        return Interchange{loop.statement, loop.loop, other_loop(loop)};
      case 6:
        return Wavefront{loop.statement, "w" + number_name(), {other_loop(loop) + " + " + loop.loop}, loop.loop};
      case 7:
        return whole_map();
      default:
        return remap(loop);
    }
  }
  Operation affine(const LoopName& loop) {
    const std::string a = number(), b = number();
    const std::string product = std::to_string(1 + std::stoll(a) * std::stoll(b));
    std::vector<std::vector<Size>> matrix = {{{"1"}, {a}}, {{b}, {product}}};
    if (random_.chance(10)) matrix[1][1] = {number()};
    return AffineMap{loop.statement, {loop.loop, other_loop(loop)}, matrix, {"a" + number_name(), "b" + number_name()}};
  }
  Operation remap(const LoopName& loop) {
    Remap d;
    for (const std::string& statement : statements_)
      if (random_.chance(60)) d.statements.push_back(statement);
    if (random_.chance(40)) d.statements = {loop.statement.empty() ? statements_.front() : loop.statement};
    d.replaced = {loop.loop};
    d.loops = {random_.chance(30) ? loop.loop : "w" + number_name()};
    d.values = {{loop.loop + " + " + number() + "*" + other_loop(loop)}};
    return d;
  }
  // Iterators in some order, each with multiples of those before it and a constant; sometimes the digits of one.
  Operation whole_map() {
    Map d;
    const std::size_t first = random_.below(statements_.size()), count = random_.chance(50) ? 1 : 2;
    std::size_t depth = state_.at(statements_[first]).body.iterators.size();
    for (std::size_t i = first; i < std::min(first + count, statements_.size()); ++i) {
      std::vector<std::string> iterators = state_.at(statements_[i]).body.iterators;
      if (random_.chance(30)) random_.shuffle(iterators);
      Map::Item item{statements_[i], {}};
      for (std::size_t k = 0; k < iterators.size(); ++k) {
        std::string value = iterators[k];
        if (k > 0 && random_.chance(40)) value += " + " + number() + "*" + iterators[random_.below(k)];
        if (random_.chance(30)) value += " + " + number();
        item.values.push_back({value});
      }
      while (item.values.size() < depth) item.values.push_back({number()});
      d.items.push_back(std::move(item));
    }
    for (std::size_t k = 0; k < depth; ++k) d.loops.push_back("m" + std::to_string(k));
    if (depth > 0 && random_.chance(20)) {
      for (Map::Item& item : d.items) {
        const std::string whole = item.values[0].text;
        item.values[0] = {"(" + whole + ")//3"};
        item.values.push_back({"(" + whole + ")%3"});
      }
      d.loops.push_back("md");
    }
    return d;
  }

  std::vector<std::string> some_loops() {
    std::vector<std::string> loops = loops_of(random_.pick(statements_));
    random_.shuffle(loops);
    while (loops.size() > 2 && random_.chance(40)) loops.pop_back();
    return loops;
  }
  Operation order() {
    Order d{statement(), {}};
    d.loops = loops_of(d.statement);
    if (d.loops.size() > 1 && random_.chance(60)) {
      const std::size_t i = random_.below(d.loops.size() - 1);
      std::swap(d.loops[i], d.loops[i + 1]);
    } else {
      random_.shuffle(d.loops);
    }
    return d;
  }
  Operation fuse() {
    const std::string owner = random_.pick(statements_);
    const std::vector<std::string> loops = loops_of(owner);
    const std::size_t outer = random_.below(loops.size()), inner = std::min(outer + 1, loops.size() - 1);
    return Fuse{{owner, loops[outer]}, {owner, loops[inner]}, "q" + std::to_string(random_.between(0, 9))};
  }
  Operation merge() {
    const std::size_t first = random_.below(statements_.size());
    const std::size_t second =
        random_.chance(80) && first + 1 < statements_.size() ? first + 1 : random_.below(statements_.size());
    Merge d{{statements_[first], statements_[second]}, random_.pick(loops_of(statements_[first])), {}};
    while (random_.chance(35)) d.with.push_back({random_.pick(loops_of(statements_[second])), {number()}});
    return d;
  }
  std::vector<When> when() {
    std::vector<When> result;
    std::vector<std::string> loops = loops_of(random_.pick(statements_));
    const bool first = random_.chance(50);
    for (int n = random_.between(1, 2); n > 0 && !loops.empty(); --n) {
      result.push_back({random_.chance(90) ? first : !first, loops.back()});
      loops.pop_back();
    }
    return result;
  }
  // Loops above `host` down to a random depth that `moved` does not own.
  std::vector<When> lacking(const std::string& moved, const std::string& host, bool first, std::size_t depth) {
    const std::vector<std::string> own = loops_of(moved), above = loops_of(host);
    std::vector<When> result;
    for (std::size_t i = 0; i < std::min(depth, above.size()); ++i)
      if (std::find(own.begin(), own.end(), above[i]) == own.end()) result.push_back({first, above[i]});
    return result;
  }

  bool reads(const std::string& statement, const std::string& tensor) const {
    const auto accesses = accesses_of(state_.at(statement));
    return std::any_of(accesses.begin(), accesses.end(),
                       [&](const AccessRef& a) { return !a.write && a.access.buffer == tensor; });
  }
  std::string written_by(const std::string& statement) const { return state_.at(statement).body.writes.front().buffer; }

  std::string temporary() { return of_role(ir::Role::Temp); }
  std::string of_role(ir::Role role) {
    std::vector<std::string> names;
    for (const ir::Buffer& buffer : state_.basis->buffers)
      if (buffer.role == role) names.push_back(buffer.name);
    return names.empty() ? tensor() : nonsense(random_.pick(names));
  }
  // (producer, consumer): what one writes and the other reads.
  std::pair<std::string, std::string> dependent_pair() {
    std::vector<std::pair<std::string, std::string>> pairs;
    for (std::size_t a = 0; a < statements_.size(); ++a)
      for (std::size_t b = a + 1; b < statements_.size(); ++b)
        if (reads(statements_[b], written_by(statements_[a]))) pairs.emplace_back(statements_[a], statements_[b]);
    if (pairs.empty() || random_.chance(5)) return {statement(), random_.pick(statements_)};
    return random_.pick(pairs);
  }

  Operation compute_at() {
    const auto [producer, consumer] = dependent_pair();
    const std::string what = random_.chance(70) && state_.find(producer) ? written_by(producer) : producer;
    const std::vector<std::string> loops = loops_of(consumer);
    ComputeAt d{what, {random_.chance(80) ? consumer : "", random_.pick(loops)}, ""};
    if (random_.chance(40)) d.per = random_.chance(25) ? "root" : nonsense(random_.pick(loops));
    return d;
  }
  // Storage further out for what is computed at a loop, if there is such a thing.
  Operation store_at() {
    for (const Leaf* leaf : leaves_of(state_.tree)) {
      if (leaf->at.empty() || random_.chance(30)) continue;
      const std::string tensor = written_by(leaf->statement);
      const std::string loop = random_.chance(25) ? "root" : random_.pick(loops_of(leaf->statement));
      return StoreAt{tensor, {"", loop}, {}};
    }
    return compute_at();
  }
  // A temporary and a tensor of its shape, where there are such.
  Reuse reuse() {
    std::vector<Reuse> found;
    for (const ir::Buffer& own : state_.basis->buffers)
      for (const ir::Buffer& other : state_.basis->buffers)
        if (own.role == ir::Role::Temp && other.role != ir::Role::In && other.role != ir::Role::Const &&
            other.role != ir::Role::InOut && &other != &own && other.shape == own.shape && other.dtype == own.dtype)
          found.push_back({other.name, own.name});
    return found.empty() || random_.chance(5) ? Reuse{tensor(), tensor()} : random_.pick(found);
  }
  // A prefetch, a store past the caches, or another tail for a split.
  Operation hint_or_tail() {
    const std::string what = tensor();
    if (random_.chance(25)) return prefetch(what);
    if (random_.chance(20)) return StoreNonTemporal{what};
    if (random_.chance(40)) return reuse();
    std::vector<std::string> inner;
    for (const SplitRecord& record : state_.splits)
      inner.push_back(record.factor == 0 ? record.loop : record.loop + ".i");
    const LoopName any = loop_name();
    return SetTail{{random_.chance(75) ? any.statement : "", inner.empty() ? any.loop : random_.pick(inner)}, tail()};
  }
  // Now and then along another loop, outside its own or not.
  Operation prefetch(const std::string& what) {
    Prefetch d{what, touching_loop(what), {number()}, random_.between(1, 3), {}};
    if (random_.chance(40)) d.along = other_loop(d.at);
    return d;
  }
  // Something done to a buffer that there is.
  Operation storage() {
    const StagedBuffer& b = random_.pick(state_.staged);
    const std::string name = nonsense(random_.chance(50) ? b.name : b.of);
    const std::string dimension = b.dimensions.empty() ? "u" : nonsense(random_.pick(b.dimensions));
    const Size size{random_.pick(kFactors)};
    const Loop* scope = b.scope_loop < 0 ? nullptr : find_loop(state_.tree, b.scope_loop);
    switch (random_.between(0, 11)) {
      case 10:
      case 11:
        return Pad{name, dimension, {std::to_string(random_.between(2, 8))}};
      case 0:
      case 1:
      case 2:
        return FoldStorage{name, dimension, size};
      case 3:
        return BoundStorage{name, dimension, {std::to_string(random_.between(1, 12))}};
      case 4:
        return StorageAlign{name, dimension, size, {}};
      case 5:
        return HoistStorage{name, random_.chance(40) ? LoopName{"", "root"} : touching_loop(b.name)};
      case 6:
        return SetScope{name, random_.pick(std::vector<Memory>{Memory::Register, Memory::Stack, Memory::Heap})};
      case 7: {
        Stage d;
        d.tensor = b.name;
        layout(d);
        return TransformLayout{name, d.names, d.layout};
      }
      default:
        return DoubleBuffer{name, scope && random_.chance(90) ? LoopName{"", scope->name} : touching_loop(b.name)};
    }
  }
  Operation reverse_compute_at() {
    const auto [producer, consumer] = dependent_pair();
    const std::vector<std::string> loops = loops_of(producer);
    const std::size_t depth = 1 + random_.below(loops.size());
    ReverseComputeAt d{consumer, {producer, loops[depth - 1]}, lacking(consumer, producer, false, depth)};
    if (random_.chance(8)) d.when = when();
    return d;
  }
  // An init or a consumer into the nest of an update, in the first or last iteration of the loops it lacks.
  Operation place() {
    const auto [producer, consumer] = dependent_pair();
    const bool first = random_.chance(50);
    const std::string &moved = first ? producer : consumer, &host = first ? consumer : producer;
    std::vector<When> when_lacking = lacking(moved, host, random_.chance(92) ? first : !first, 9);
    while (when_lacking.size() > 1 && random_.chance(15)) when_lacking.pop_back();
    return Place{moved, when_lacking.empty() || random_.chance(6) ? when() : when_lacking};
  }

  // A rewrite of a reduction, most often over a loop that it has.
  Operation algebra() {
    std::vector<std::string> updates;
    for (const std::string& name : statements_)
      if (state_.at(name).kind == StatementKind::Update) updates.push_back(name);
    const std::string update = updates.empty() || random_.chance(5) ? statement() : random_.pick(updates);
    const std::string tensor = state_.find(update) ? written_by(update) : update;
    std::vector<std::string> loops = loops_of(update);
    const std::string loop = nonsense(random_.chance(60) ? loops.back() : random_.pick(loops));
    const std::string parts = "part" + std::to_string(random_.between(0, 5));
    switch (random_.between(0, 9)) {
      case 0:
        return SplitReduction{
            tensor, loop, factor(), parts,
            random_.pick(std::vector<SplitReduction::Form>{
                SplitReduction::Form::Interleaved, SplitReduction::Form::Blocks, SplitReduction::Form::Halves})};
      case 2:
      case 3:
        return Atomic{{update}};
      case 4:
        return InlineAll{};
      case 5:
        return Specialize{{random_.chance(50) ? "L > 2" : "F1 > 3"}, directives(), directives()};
      default:
        return Rfactor{tensor, {random_.chance(50) ? update : "", loop}, parts};
    }
  }
  // The order of one tensor's updates along one of their reduction loops.
  Operation reassociated() {
    std::vector<Operation> fitting;
    for (const ir::Statement& s : state_.basis->statements)
      for (const std::string& iterator : s.reductions)
        if (s.combiner != ir::Combiner::None) fitting.emplace_back(Reassociate{s.writes.front().buffer, {iterator}});
    return fitting.empty() ? Operation{Reassociate{tensor(), {"k"}}} : random_.pick(fitting);
  }
  std::vector<Directive> directives() { return {{split(), Provenance::Person, 0}}; }

  // A loop above some statement that reads or writes the tensor.
  LoopName touching_loop(const std::string& tensor) {
    std::vector<std::string> users;
    for (const std::string& statement : statements_)
      if (reads(statement, tensor) || written_by(statement) == tensor) users.push_back(statement);
    if (users.empty() || random_.chance(8)) return loop_name();
    const std::string owner = random_.pick(users);
    return {random_.chance(70) ? owner : "", random_.pick(loops_of(owner))};
  }

  Operation stage() {
    Stage d;
    const int form = random_.between(0, 9);
    d.form = form < 5   ? Stage::Form::Stage
             : form < 7 ? Stage::Form::CacheRead
             : form < 9 ? Stage::Form::CacheWrite
                        : Stage::Form::Pack;
    d.tensor = tensor();
    if (random_.chance(12)) d.tensor = of_role(ir::Role::Const);
    if (random_.chance(80)) d.at = touching_loop(d.tensor);
    if (random_.chance(50)) d.memory = random_.pick(std::vector<Memory>{Memory::Register, Memory::Stack, Memory::Heap});
    if (d.form == Stage::Form::Pack || random_.chance(15)) layout(d);
    if (!d.layout.empty() && random_.chance(30)) {
      d.layout.front() =
          (d.layout.front().find('/') == std::string::npos ? d.layout.front() : "(" + d.layout.front() + ")") + "%" +
          std::to_string(random_.between(2, 4));
      d.fold = true;
    }
    if (random_.chance(10)) d.pad = {std::to_string(random_.between(1, 3))};
    const ir::Buffer* buffer = state_.basis->find_buffer(d.tensor);
    d.when_compile = random_.chance(buffer && buffer->role == ir::Role::Const ? 35 : 3);
    if (d.when_compile && random_.chance(70)) d.at.reset();
    if (random_.chance(15)) d.copy = copy_nest(d);
    return d;
  }
  // The loops that the copies would have, in another order and of other kinds; null where the stage does not apply.
  NestTree copy_nest(const Stage& stage) {
    ScriptEnvironment environment;
    environment.values = {{"L", 4}, {"F1", 2}};
    const auto staged = apply(state_, {stage, Provenance::Person, 0}, environment, nullptr);
    if (!staged) return nullptr;
    NestSequence copies;
    for (const Leaf* leaf : leaves_of(staged->tree))
      if (state_.find(leaf->statement) == nullptr) copies.children.push_back(copy_path(*staged, stage, *leaf));
    if (copies.children.empty()) return nullptr;
    if (copies.children.size() == 1) return copies.children.front();
    return std::make_shared<const NestNode>(NestNode{std::move(copies)});
  }
  NestTree copy_path(const State& staged, const Stage& stage, const Leaf& leaf) {
    static const std::vector<LoopKind> kKinds = {LoopKind::Serial, LoopKind::Serial, LoopKind::Unrolled,
                                                 LoopKind::Vector};
    std::vector<const Loop*> own = path_to(staged.tree, leaf.statement);
    const auto site = std::ranges::find_if(own, [&](const Loop* l) { return stage.at && l->name == stage.at->loop; });
    if (site != own.end()) own.erase(own.begin(), site + 1);
    random_.shuffle(own);
    NestTree tree = std::make_shared<const NestNode>(NestNode{Leaf{leaf.statement, {}, {}, {}}});
    for (const Loop* loop : own)
      tree = std::make_shared<const NestNode>(NestNode{NestLoop{loop->name, random_.pick(kKinds), tree}});
    return tree;
  }
  // A permutation of the dimensions, one of them cut into tiles now and then.
  void layout(Stage& d) {
    std::size_t rank = 2;
    if (std::find(tensors_.begin(), tensors_.end(), d.tensor) != tensors_.end())
      rank = state_.shape_of(d.tensor).size();
    for (std::size_t i = 0; i < rank; ++i) d.names.push_back("d" + std::to_string(i));
    d.layout = d.names;
    random_.shuffle(d.layout);
    if (!d.layout.empty() && random_.chance(40)) {
      const std::size_t cut = random_.below(d.layout.size());
      const std::string name = d.layout[cut], tile = random_.pick(std::vector<std::string>{"2", "3", "4", "L"});
      d.layout[cut] = name + "//" + tile;
      d.layout.push_back(name + "%" + tile);
    }
  }
};

std::vector<Operation> opening(Random& random) {
  std::vector<Operation> result = {SetParam{"F1", {std::to_string(random.between(1, 6))}}};
  if (random.chance(10)) result.push_back(Where{{"F1 * 2 >= F1"}});
  if (random.chance(10)) result.push_back(Let{"F2", "F1 + 1"});
  return result;
}

bool is_kept(RefusalKind kind, Random& random) {
  return random.chance(kind == RefusalKind::Illegal ? 14 : kind == RefusalKind::Malformed ? 1 : 3);
}

}  // namespace

std::string name_of(const Operation& operation) {
  if (std::holds_alternative<Transaction>(operation)) return "transaction";
  const std::string text = print(Directive{operation, Provenance::Person, 0});
  const std::size_t space = text.find(' ');
  return text.substr(0, text.starts_with("rewrite ") ? text.find(' ', space + 1) : space);
}

Operation random_operation(const State& state, const Machine& machine, Random& random) {
  return Proposer(state, machine, random).propose();
}

Script random_script(std::shared_ptr<const ir::Program> program, const Machine& machine, bool reassociate,
                     Random& random, ScriptStatistics& statistics) {
  Script script;
  script.name = "random/1";
  script.program = program->name;
  script.digest = ir::digest(*program);
  script.dtype = program->buffers.front().dtype;
  if (reassociate && random.chance(is_float(script.dtype) ? 60 : 30)) {
    script.contract = Contract::Reassoc;
    for (const ir::Statement& s : program->statements)
      for (const std::string& iterator : s.reductions)
        if (std::ranges::find(script.reassociable, iterator) == script.reassociable.end())
          script.reassociable.push_back(iterator);
    if (script.reassociable.empty()) script.reassociable = {"k"};
    if (script.reassociable.size() > 1 && random.chance(30))
      script.reassociable.erase(script.reassociable.begin() + random.between(0, 1));
  }
  for (const Operation& operation : opening(random)) script.directives.push_back({operation, Provenance::Person, 0});
  ScriptEnvironment environment = initial_environment(script, *program, machine);
  State state = reference_state(program);
  state.contract = script.contract;
  state.reassociable.insert(script.reassociable.begin(), script.reassociable.end());
  for (const Directive& d : script.directives) (void)apply(state, d, environment, nullptr);
  Prover prover(program);
  const std::size_t wanted = script.directives.size() + static_cast<std::size_t>(random.between(1, 11));
  std::vector<Operation> recipe;  // what comes first
  if (random.chance(4)) recipe = Proposer(state, machine, random).recipe();
  std::size_t made = 0;
  // One script of five moves values, and then tries one order after the other.
  const bool tries_orders = random.chance(20);
  const std::size_t first_order = script.directives.size() + static_cast<std::size_t>(random.between(1, 2));
  const auto next = [&]() -> Operation {
    Proposer proposer(state, machine, random);
    if (made < recipe.size()) return recipe[made++];
    if (!tries_orders || random.chance(20)) return proposer.propose();
    return script.directives.size() < first_order ? proposer.relocation() : proposer.another_order();
  };
  for (int attempt = 0; attempt < 30 && script.directives.size() < std::min<std::size_t>(wanted, 12); ++attempt) {
    const Directive directive{next(), Provenance::Person, 0};
    if (!reassociate && std::holds_alternative<Reassociate>(directive.operation)) continue;  // other bits are right too
    const std::string name = name_of(directive.operation);
    ++statistics.proposed[name];
    try {
      auto applied = apply(state, directive, environment, &prover);
      const bool is_legal = static_cast<bool>(applied);
      if (is_legal) ++statistics.applied[name];
      if (!is_legal && !is_kept(applied.error().kind, random)) continue;
      script.directives.push_back(directive);
      if (!is_legal) applied = apply(state, directive, environment, nullptr);
      if (!applied) break;
      state = *applied;
    } catch (const std::exception&) {
      script.directives.push_back(directive);
      break;
    }
  }
  return script;
}

}  // namespace polyte::fuzz
