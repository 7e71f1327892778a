// A tail belongs to its loop: not to a name, not to another nest whose loop is called the same. The
// loops that come out of a script are the same, up to names, whatever its loops are called.
#include <doctest/doctest.h>

#include <cctype>
#include <map>

#include "ir/interpret.h"
#include "ir/program_text.h"
#include "lower/lower.h"
#include "schedule/script/primitives/tails.h"
#include "schedule/script/replay.h"
#include "support/error.h"

using namespace polyte;

namespace {

const char* const kTwo = R"(
program two(N)
  in  x: f32[N]
  out y: f32[N]
  out z: f32[N]
  A: y[i] = x[i] * 2
  B: z[i] = x[i] + 1
)";
const char* const kDenseLayer = R"(
program dense(M, N, K)
  in    x: f32[M, K]
  const w: f32[K, N]
  out   y: f32[M, N]
  acc[m, n] = sum[k] x[m, k] * w[k, n]
  y[m, n]   = max(acc[m, n], 0)
)";

schedule::State scheduled(const std::string& program, const ir::Values& sizes,
                          const std::string& script) {
  const auto bound =
      std::make_shared<const ir::Program>(ir::bind(ir::parse_program(program, "p"), sizes));
  const std::string text = "schedule s/1 for " + bound->name + "\n" + script;
  auto state = schedule::replay(bound, schedule::parse_script(text, "s"), Machine{},
                                {schedule::ProofLevel::Full, {}});
  if (!state) FAIL(schedule::to_string(state.error(), "s", ""));
  return *std::move(state);
}

// The loops with every name replaced by its number in order of appearance, and no ` as NAME`.
std::string shape_of(const schedule::State& state) {
  Machine machine;
  machine.vector_bits = 128;
  std::string text = ir::print(lower::lower(state, {.machine = machine}));
  for (std::size_t at = text.find(" as "); at != std::string::npos; at = text.find(" as ", at))
    text.erase(at, text.find('\n', at) - at);
  const auto is_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  };
  std::map<std::string, std::size_t> numbers;
  std::string shape;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_name(text[end])) ++end;
    const std::string word = text.substr(i, end - i);
    i = end == i ? i + 1 : end;
    if (word.empty())
      shape += text[i - 1];
    else if (std::isdigit(static_cast<unsigned char>(word[0])))
      shape += word;
    else
      shape += "n" + std::to_string(numbers.emplace(word, numbers.size()).first->second);
  }
  return shape;
}

// A loop that is not called z... yet; null where there is none.
const schedule::Loop* old_loop(const schedule::Tree& tree) {
  for (const schedule::Leaf* leaf : schedule::leaves_of(tree))
    for (const schedule::Loop* loop : schedule::path_to(tree, leaf->statement))
      if (loop->name[0] != 'z') return loop;
  return nullptr;
}

// Every loop of the state called otherwise: by itself where one statement runs in it, else with all
// of its name. The new names sort as the old ones did, as terms of sums are printed in that order.
schedule::State renamed(schedule::State state) {
  schedule::ScriptEnvironment environment;
  while (const schedule::Loop* loop = old_loop(state.tree)) {
    const std::vector<std::string> below = schedule::statements_below(state.tree, loop->id);
    const schedule::LoopName name = {below.size() == 1 ? below.front() : std::string(), loop->name};
    const schedule::Directive directive{schedule::Rename{name, "z" + loop->name}};
    auto applied = schedule::apply(state, directive, environment, nullptr);
    if (!applied) FAIL(schedule::to_string(applied.error(), "s", ""));
    state = *std::move(applied);
  }
  return state;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

std::string scripted_loops(const std::string& program, const ir::Values& sizes,
                           const std::string& script) {
  Machine machine;
  machine.vector_bits = 128;
  return ir::print(lower::lower(scheduled(program, sizes, script), {.machine = machine}));
}

}  // namespace

TEST_CASE("a rename keeps the tail") {
  const ir::Values sizes = {{"N", 10}};
  const std::string masked = "split A: i by 4   tail mask\nvectorize A:i.i";
  const std::string cut = "split A: i by 4   tail cut\nvectorize A:i.i";
  CHECK(shape_of(scheduled(kTwo, sizes, masked)) != shape_of(scheduled(kTwo, sizes, cut)));
  for (const std::string& script : {masked, cut})
    CHECK(shape_of(scheduled(kTwo, sizes, script + "\nrename A:i.i as q")) ==
          shape_of(scheduled(kTwo, sizes, script)));
  // Said later, by the name that the loop has then.
  const std::string later =
      "split A: i by 4   tail cut\nrename A:i.i as q\ntail A:q mask\nvectorize A:q";
  CHECK(shape_of(scheduled(kTwo, sizes, later)) == shape_of(scheduled(kTwo, sizes, masked)));
}

TEST_CASE("the tail of one nest is not that of another") {
  const ir::Values sizes = {{"N", 10}};
  const std::string both =
      scripted_loops(kTwo, sizes,
                     "split A: i by 4   tail mask\nsplit B: i by 4   tail cut\n"
                     "vectorize A:i.i\nvectorize B:i.i");
  const std::string alone =
      scripted_loops(kTwo, sizes, "split A: i by 4   tail mask\nvectorize A:i.i");
  CHECK(count(both, " if ") == count(alone, " if "));
  const std::string none =
      scripted_loops(kTwo, sizes, "split A: i by 4   tail cut\nvectorize A:i.i");
  CHECK(count(alone, " if ") > count(none, " if "));
}

TEST_CASE("loops of one name in two nests keep their own tails, whatever their nests become") {
  const ir::Values sizes = {{"N", 10}};
  const std::string split = "split A: i by 4   tail mask\nsplit B: i by 4   tail cut\n";
  const auto tails_of = [&](const std::string& lines) {
    const schedule::State state = scheduled(kTwo, sizes, split + lines);
    std::string text;
    for (const schedule::Leaf* leaf : schedule::leaves_of(state.tree))
      for (const schedule::Loop* loop : schedule::path_to(state.tree, leaf->statement))
        if (const auto tail = schedule::tail_of(state, *loop))
          text += leaf->statement + ":" + loop->name +
                  (*tail == schedule::Tail::Mask ? " mask; " : " cut; ");
    return text;
  };
  CHECK(tails_of("") == "A:i.i mask; B:i.i cut; ");
  CHECK(tails_of("rename A:i.i as q\nrename B:i.i as p\nrename B:p as q") == "A:q mask; B:q cut; ");
  CHECK(tails_of("fuse A:i.o, A:i.i as i\nsplit A: i by 2   tail cut") ==
        "A:i.o mask; A:i.i cut; B:i.i cut; ");
  CHECK(tails_of("merge A, B through i.o") == "A:i.i mask; B:i.i cut; ");
  CHECK(tails_of("merge A, B through i.i") == "A:i.i cut; B:i.i cut; ");  // one loop now: cut wins
  CHECK(tails_of("tail A:i.i cut\ntail B:i.i mask") == "A:i.i cut; B:i.i mask; ");
  CHECK(tails_of("map A (i) as (i.i)") == "B:i.i cut; ");  // no split has made it
}

TEST_CASE("loops that are called as a buffer is keep their own tails") {
  const ir::Values sizes = {{"N", 10}};
  const auto shape = [&](const std::string& name) {
    return shape_of(
        scheduled(kTwo, sizes,
                  "split A: i by 4   tail mask\nsplit B: i by 4   tail cut\nvectorize A:i.i\n"
                  "vectorize B:i.i\nrename A:i.i as " +
                      name + "\nrename B:i.i as " + name));
  };
  CHECK(shape("x") == shape("q"));
}

TEST_CASE("a tail goes through fuse and further splits") {
  const ir::Values sizes = {{"M", 10}, {"N", 7}, {"K", 5}};
  const auto shape = [&](const std::string& tail) {
    return shape_of(
        scheduled(kDenseLayer, sizes,
                  "split y: m by 4   tail " + tail + "\nfuse y:m.i, y:n as w\nunroll y:w"));
  };
  CHECK(shape("mask") != shape("cut"));
  const auto twice = [&](const std::string& tail) {
    return shape_of(scheduled(
        kDenseLayer, sizes,
        "split y: m by 8   tail " + tail + "\nsplit y: m.i by 4   tail cut\nunroll y:m.i.o"));
  };
  CHECK(twice("mask") != twice("cut"));
}

// Of the two numbers that bound it the constant one is too large for vectors side by side: it
// counts all the same.
TEST_CASE("a long vector loop ends where its tile does") {
  const schedule::State state =
      scheduled(kTwo, {{"N", 65}}, "split i by 64\nvectorize A:i.i\nvectorize B:i.i");
  Machine machine;
  machine.vector_bits = 128;
  const ir::LoopProgram loops =
      lower::lower(state, {.machine = machine, .skip = {"partition loops"}});
  ir::Environment buffers;
  buffers["x"] = ir::make_contents(DType::F32, {65});
  for (std::int64_t e = 0; e < 65; ++e) ir::set_real(buffers["x"], e, static_cast<double>(e));
  ir::interpret(loops, buffers, {});
  for (std::int64_t e = 0; e < 65; ++e)
    CHECK(ir::get_real(buffers.at("z"), e) == static_cast<double>(e + 1));
}

TEST_CASE("loops are the same whatever they are called") {
  const ir::Values two = {{"N", 10}}, dense = {{"M", 10}, {"N", 7}, {"K", 5}};
  const std::string tiles =
      "nest n.o > k.o > m.o > { [m.i] > <n.i> > acc.init when first k.o; k.i > [m.i] > <n.i> > "
      "acc.update; "
      "m.i > <n.i> > y when last k.o }";
  const std::vector<std::tuple<std::string, ir::Values, std::string>> scripts = {
      {kTwo, two,
       "split A: i by 4   tail mask\nsplit B: i by 4   tail cut\nvectorize A:i.i\nvectorize B:i.i"},
      {kTwo, two, "split i by 4   tail guard\nunroll A:i.i\nunroll B:i.i\ntail B:i.i cut"},
      {kTwo, two, "cut A:i at 3\nvectorize A:i\npeel B:i last"},
      {kDenseLayer, dense, "split m by 4, n by 4, k by 2   tail mask\n" + tiles},
      {kDenseLayer, dense, "split m by 4, n by 4, k by 2   tail cut\n" + tiles},
      {kDenseLayer, dense,
       "split y: m by 4, n by 4   tail mask\nfuse y:n.o, y:n.i as w\nunroll y:w"}};
  for (const auto& [program, sizes, script] : scripts) {
    CAPTURE(script);
    const schedule::State state = scheduled(program, sizes, script);
    CHECK(shape_of(renamed(state)) == shape_of(state));
  }
}
