// Faults planted in finished loops: which check of trace_check.h sees which? Unharmed loops raise
// no alarm, and a mutant that raises none is equivalent: it runs to its end and leaves the bits of
// the reference on random reals, whose sums and products differ where any term or any place does.
// (Loops that may change places; a guard that the loops around imply; an iteration more that a
// guard stops, or that copies what nobody reads.)
#include <random>
#include <sstream>

#include "lower/lower.h"
#include "lower/trace_check.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::lower {

namespace {

using ir::Stmt;
using Kind = TraceFault::Kind;

enum class Mutation {
  SwapLoops,
  DropGuard,
  UpperPlusOne,
  UpperMinusOne,
  LowerPlusOne,
  DropTail,
  DropCopy
};
constexpr const char* kNames[] = {"swap two loops",  "drop a guard",    "upper bound + 1",
                                  "upper bound - 1", "lower bound + 1", "drop a tail",
                                  "drop a copy"};

const ir::For* as_loop(const Stmt& s) { return std::get_if<ir::For>(&s->op); }

Stmt moved_bound(const ir::For& loop, int lower, int upper) {
  ir::For copy = loop;
  for (ir::Affine& bound : copy.lower) bound = bound + lower;
  for (ir::Affine& bound : copy.upper) bound = bound + upper;
  return ir::make_for(std::move(copy));
}

Stmt swapped(const ir::For& outer) {
  const ir::For* inner = as_loop(outer.body);
  if (!inner) return nullptr;
  for (const auto* bounds : {&inner->lower, &inner->upper})
    for (const ir::Affine& bound : *bounds)
      if (bound.uses(outer.var)) return nullptr;
  ir::For below = outer, above = *inner;
  below.body = inner->body;
  above.body = ir::make_for(std::move(below));
  return ir::make_for(std::move(above));
}

// Loops that stand beside another of the same name are its tails.
Stmt without_tail(const ir::Block& block) {
  for (std::size_t i = block.body.size(); i-- > 1;) {
    const ir::For *tail = as_loop(block.body[i]), *main = as_loop(block.body[i - 1]);
    if (!tail || !main || tail->loop != main->loop) continue;
    std::vector<Stmt> rest = block.body;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    return ir::make_block(std::move(rest));
  }
  return nullptr;
}

// The statement with the fault, null where it has no place for one.
Stmt faulty(const Stmt& s, Mutation mutation) {
  const ir::For* loop = as_loop(s);
  const auto* branch = std::get_if<ir::If>(&s->op);
  const auto* store = std::get_if<ir::Store>(&s->op);
  const auto* block = std::get_if<ir::Block>(&s->op);
  switch (mutation) {
    case Mutation::SwapLoops:
      return loop ? swapped(*loop) : nullptr;
    case Mutation::DropGuard:
      return branch && !branch->conditions.empty() ? branch->body : nullptr;
    case Mutation::UpperPlusOne:
      return loop ? moved_bound(*loop, 0, 1) : nullptr;
    case Mutation::UpperMinusOne:
      return loop ? moved_bound(*loop, 0, -1) : nullptr;
    case Mutation::LowerPlusOne:
      return loop ? moved_bound(*loop, 1, 0) : nullptr;
    case Mutation::DropTail:
      return block ? without_tail(*block) : nullptr;
    case Mutation::DropCopy:
      return store && store->origin.statement.empty() ? ir::make_block({}) : nullptr;
  }
  return nullptr;
}

// The fault at the `site`-th place that can have it; the same node where there are fewer.
Stmt mutate(const Stmt& s, Mutation mutation, int& site) {
  if (Stmt wrong = faulty(s, mutation); wrong && site-- == 0) return wrong;
  if (site < 0) return s;
  return ir::rewrite_children(
      s, [&](const Stmt& child) { return site < 0 ? child : mutate(child, mutation, site); });
}

ir::Environment random_reals(const ir::Program& program, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> reals;
  ir::Environment buffers;
  for (const ir::Buffer* buffer : program.interface()) {
    if (buffer->role == ir::Role::Out) continue;
    ir::Contents contents = ir::make_contents(buffer->dtype, ir::constant_shape(*buffer));
    const auto elements =
        static_cast<std::int64_t>(contents.bytes.size()) / size_in_bytes(buffer->dtype);
    for (std::int64_t i = 0; i < elements; ++i) ir::set_real(contents, i, reals(random));
    buffers[buffer->name] = std::move(contents);
  }
  return buffers;
}

bool is_equivalent(const ir::Program& program, const ir::LoopProgram& packing,
                   const ir::LoopProgram& loops) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    ir::Environment expected = random_reals(program, seed), got = expected, constants = expected;
    ir::interpret(program, expected, {});
    if (!packing.buffers.empty()) ir::interpret(packing, constants, {});
    for (const auto& [name, contents] : constants) got.try_emplace(name, contents);
    ir::interpret(loops, got, {});
    for (const ir::Buffer* buffer : program.interface())
      if (got.at(buffer->name).bytes != expected.at(buffer->name).bytes) return false;
  }
  return true;
}

struct Tally {
  int mutants = 0, caught = 0, equivalent = 0;
  std::map<Kind, int> by;
};

// A schedule, its loops before and after the passes.
void try_mutants(const std::shared_ptr<const ir::Program>& program, const std::string& lines,
                 std::map<Mutation, Tally>& tallies) {
  CAPTURE(lines);
  const schedule::State state = schedule::state_of(program, lines);
  const Machine machine = schedule::test_machine();
  const ir::LoopProgram packing = lower_packing(state, {.machine = machine});
  const ReferenceTrace reference(*state.basis, schedule::make_inputs(*state.basis, 3),
                                 {.max_steps = 2'000'000});
  for (const ir::LoopProgram& loops : {lower_to_nest(state), lower(state, {.machine = machine})}) {
    for (const TraceFault& fault : compare_traces(reference, packing, loops))
      CHECK_MESSAGE(false, fault.text);
    for (int m = 0; m < 7; ++m) {
      const auto mutation = static_cast<Mutation>(m);
      for (int site = 0; site < 40; ++site) {
        int left = site;
        ir::LoopProgram wrong = loops;
        wrong.body = mutate(loops.body, mutation, left);
        if (left >= 0) break;
        Tally& tally = tallies[mutation];
        ++tally.mutants;
        std::set<Kind> kinds;
        for (const TraceFault& fault : compare_traces(reference, packing, wrong))
          kinds.insert(fault.kind);
        tally.caught += !kinds.empty();
        tally.equivalent += kinds.empty() && is_equivalent(*state.basis, packing, wrong);
        for (const Kind kind : kinds) ++tally.by[kind];
      }
    }
  }
}

std::string table(const std::map<Mutation, Tally>& tallies) {
  std::ostringstream text;
  text << "| Fault | mutants | stopped | coverage | order | values | any | equivalent |\n"
          "| --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const auto& [mutation, t] : tallies) {
    const auto by = [&, tally = &t](Kind kind) {
      const auto at = tally->by.find(kind);
      return at == tally->by.end() ? 0 : at->second;
    };
    text << "| " << kNames[static_cast<int>(mutation)] << " | " << t.mutants << " | "
         << by(Kind::Fault) << " | " << by(Kind::Coverage) << " | " << by(Kind::Order) << " | "
         << by(Kind::Values) << " | " << t.caught << " | " << t.equivalent << " |\n";
  }
  return text.str();
}

const char* const kJacobi = R"(
program jacobi(T, N)
  inout A: f64[N]
  inout B: f64[N]
  loop t in 0..T
    B[i] = A[i-1] + 2 * A[i] + 3 * A[i+1]   for i in 1..N-1
    A[i] = B[i-1] + 2 * B[i] + 3 * B[i+1]   for i in 1..N-1
)";

const char* const kSlanted = R"(
program slanted(N)
  inout A: f64[N, N]
  A[i, j] = A[i-1, j+1] + 2 * A[i, j]   for i in 1..N, j in 0..N-1
)";

}  // namespace

TEST_CASE("planted faults are seen") {
  std::map<Mutation, Tally> tallies;
  const auto gemm = schedule::bound_program(schedule::kDenseRelu, {{"M", 5}, {"N", 9}, {"K", 6}});
  try_mutants(gemm, "", tallies);
  try_mutants(gemm,
              "split m by 2, n by 4, k by 4 tail cut\n"
              "let tile = [m.i] > <n.i>\nnest par n.o > k.o > m.o > { "
              "tile > acc.init when first k.o; k.i > tile > acc.update; tile > y when last k.o }\n"
              "stage acc at m.o in register\nstage w layout (k, n) [n//4, k, n%4] when compile",
              tallies);
  try_mutants(gemm,
              "split m by 2, n by 4\nnest par m.o > { acc.init; acc.update; y }\nstage x at m.o",
              tallies);
  const auto blur = schedule::bound_program(schedule::kBlur, {{"M", 5}, {"N", 6}});
  try_mutants(blur,
              "split y: u by 3, x by 4\n"
              "nest par u.o > x.o > { u > <x> > bx at x.o; u.i > <x.i> > y }\nstage bx at x.o",
              tallies);
  try_mutants(blur,
              "compute_inline bx\nsplit u by 2, x by 4 tail cut\nreorder y: u.o > x.o > u.i > x.i",
              tallies);
  const auto jacobi = schedule::bound_program(kJacobi, {{"T", 3}, {"N", 7}});
  try_mutants(jacobi, "vectorize B:i\nsplit A: i by 2 tail cut", tallies);
  const auto slanted = schedule::bound_program(kSlanted, {{"N", 6}});
  try_mutants(slanted, "", tallies);
  try_mutants(slanted, "split A: j by 2 tail cut", tallies);
  try_mutants(gemm, "split k by 4\nnest m > n > { acc.init; k.o > k.i > acc.update; y }", tallies);
  MESSAGE("\n" << table(tallies));
  for (const auto& [mutation, t] : tallies) {
    CAPTURE(kNames[static_cast<int>(mutation)]);
    CHECK(t.mutants > 0);
    CHECK(t.caught > 0);
    CHECK(t.caught + t.equivalent == t.mutants);
  }
  for (const Mutation must :
       {Mutation::UpperMinusOne, Mutation::LowerPlusOne, Mutation::DropTail, Mutation::DropCopy})
    CHECK(tallies[must].caught == tallies[must].mutants);
}

}  // namespace polyte::lower
