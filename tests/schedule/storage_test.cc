// Storage in place: folds, bounds, alignment, scopes, layouts, double buffers; each executed to the
// reference's bits, each wrong use refused in its words.
#include "schedule/state/launches.h"
#include "support/gpu_machines.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule::storage_test {

namespace {

const std::vector<ir::Values> kSizes = {
    {{"M", 7}, {"N", 9}}, {{"M", 8}, {"N", 8}}, {{"M", 5}, {"N", 3}}, {{"M", 9}, {"N", 12}}};

void check(const std::string& program_text, const std::string& lines,
           const std::vector<ir::Values>& sizes = kSizes) {
  int proved = 0;  // every size is executed, the first two are proved
  for (const ir::Values& size : sizes) {
    CAPTURE(lines);
    CAPTURE(size.at("M"));
    const auto program = bound_program(program_text, size);
    CHECK(problem_of(program, lines, ++proved <= 2 ? ProofLevel::Full : ProofLevel::Off) == "");
  }
}

Refusal refused(const std::string& program_text, const std::string& lines,
                const ir::Values& size = kSizes[0]) {
  const auto program = bound_program(program_text, size);
  const auto state =
      replay(program, script_of(*program, lines), test_machine(), {ProofLevel::Full, {}});
  if (state) return {RefusalKind::Malformed, "accepted"};
  return state.error();
}

std::string refusal(const std::string& program_text, const std::string& lines,
                    const ir::Values& size = kSizes[0]) {
  return refused(program_text, lines, size).headline;
}

StagedBuffer buffer_of(const std::string& lines, const std::string& text = kBlur,
                       const ir::Values& size = kSizes[0]) {
  return state_of(bound_program(text, size), lines).staged.front();
}

const std::string kSliding =
    "split y: u by 4\nnest par u.o > u.i > { u > <x> > bx at u.i once per u.o; <x> > y }\n";
const std::string kStaged = kSliding + "stage bx at u.o\n";

const char* const kTranspose = R"(
program transpose(M, N)
  in x: f32[N, M]
  out y: f32[M, N]
  y[m, n] = x[n, m]
)";

}  // namespace

TEST_CASE("a window folded to the rows that live") {
  check(kBlur, kSliding + "stage bx at u.o fold layout (u, x) [u%3, x]");
  check(kBlur, kStaged + "fold_storage bx: u by 3");
  check(kBlur, kStaged + "fold_storage bx.c: u by 4");
  check(kBlur, "nest u > { bx.u > x > bx at u once per root; x > y }\nfold_storage bx: u by 3");
  CHECK(buffer_of(kStaged + "fold_storage bx: u by 3").shape == std::vector<std::int64_t>{3, 9});
  CHECK(buffer_of(kSliding + "stage bx at u.o fold layout (u, x) [x, u%3]").shape ==
        std::vector<std::int64_t>{9, 3});
  CHECK(buffer_of(kSliding + "stage bx at u.o layout (u, x) [(u//2)%2, x, u%2] fold").shape ==
        std::vector<std::int64_t>{2, 9, 2});
}

TEST_CASE("a fold that loses a value shows the two that collide") {
  const Refusal two = refused(kBlur, kStaged + "fold_storage bx: u by 2");
  CHECK(two.kind == RefusalKind::Illegal);
  CHECK(two.headline == "with u folded by 2, a read would get another value");
  REQUIRE(two.counterexamples.size() == 1);
  CHECK(two.counterexamples.front().scheduled.find("reads bx.c[0, 0] and gets bx(u=2, x=0)") !=
        std::string::npos);
  CHECK(two.counterexamples.front().reference.find("gets bx(u=0, x=0)") != std::string::npos);
  CHECK(two.advice == std::vector<std::string>{"u folded by 3"});
  CHECK(refusal(kBlur, kSliding + "stage bx at u.o fold layout (u, x) [u%2, x]") ==
        "with u folded by 2, a read would get another value");
  const Refusal whole = refused(kBlur, "fold_storage bx: u by 3");
  CHECK(whole.headline == "with u folded by 3, a read would get another value");
  CHECK(whole.advice == std::vector<std::string>{"no fold of u"});
}

TEST_CASE("wrong folds") {
  CHECK(refusal(kBlur, kStaged + "fold_storage bx: q by 3") ==
        "bx.c has no dimension q (they are u, x)");
  CHECK(refusal(kBlur, kStaged + "fold_storage bx: u by 0") == "fold by 0: expected 1 or more");
  CHECK(refusal(kBlur, "fold_storage a: u by 3") == "a has no buffer of its own: stage it first");
  CHECK(refusal(kBlur, "fold_storage nix: u by 3") == "no buffer is called nix (none is staged)");
  CHECK(refusal(kBlur, "stage a\nstage a at y:u\nfold_storage a: d0 by 3") != "accepted");
  CHECK(refusal(kBlur, kSliding + "stage bx at u.o fold layout (u, x) [u%3, x%2, u//3]") ==
        "with x folded by 2, a read would get another value");
  CHECK_THROWS_WITH_AS(script_of(*bound_program(kBlur, kSizes[0]), "stage bx at u.o fold"),
                       doctest::Contains("fold goes with a layout: fold layout (u, x) [u%3, x]"),
                       UserError);
  // Below a parallel loop the rows of one buffer are shared by its iterations.
  CHECK(refusal(kBlur,
                "split y: u by 4\nnest par u.o > u.i > { u > x > bx at u.i; x > y }\nstage "
                "bx\nfold_storage bx: u by 3") != "accepted");
}

TEST_CASE("bounds and alignment") {
  CHECK(buffer_of(kStaged + "bound_storage bx: u by 8").shape == std::vector<std::int64_t>{8, 9});
  CHECK(buffer_of(kStaged + "storage_align bx: u by 16").shape == std::vector<std::int64_t>{6, 16});
  CHECK(buffer_of(kStaged + "storage_align bx: u by 16 from 1").shape ==
        std::vector<std::int64_t>{6, 17});
  check(kBlur, kStaged + "bound_storage bx: u by 8\nstorage_align bx: u by 16");
  CHECK(refusal(kBlur, kStaged + "bound_storage bx: u by 5") == "an access would leave its buffer");
  CHECK(refusal(kBlur, kStaged + "bound_storage bx: u by 6") ==
        "bx.c has 6 of u already: bound_storage changes nothing");
  CHECK(refusal(kBlur, kStaged + "bound_storage bx: u by 0") ==
        "bound_storage by 0: expected 1 or more");
  CHECK(refusal(kBlur, kStaged + "storage_align bx: x by 16") ==
        "x is the innermost dimension of bx.c: its stride is 1");
  CHECK(refusal(kBlur, kStaged + "storage_align bx: u by 1") ==
        "storage_align by 1: expected 2 or more");
  CHECK(refusal(kBlur, kStaged + "storage_align bx: u by 9") ==
        "the stride of u is 9 already: storage_align changes nothing");
  CHECK(refusal(
            kBlur,
            kSliding +
                "stage bx at u.o layout (u, x) [u, x//4, x%4]\nstorage_align bx: u by 8 from 1") ==
        "no stride of u is 1 modulo 8: it is a multiple of 4");
}

TEST_CASE("a buffer of more bytes than can be counted is the script's fault") {
  CHECK_THROWS_WITH_AS(state_of(bound_program(kBlur, kSizes[0]),
                                kSliding + "stage bx at u.o layout (u, x) [u, x//4, x%4]\n"
                                           "bound_storage bx: x.i by 4611686018427387904\n"
                                           "storage_align bx: u by 16"),
                       "size overflow: 3 * 4611686018427387904 exceeds 63 bits", UserError);
  const State state = state_of(bound_program(kTranspose, {{"M", 32}, {"N", 32}}),
                               "split m by 8, n by 16\n"
                               "nest block m.o > block n.o > { m.i > thread n.i > y }\n"
                               "stage x at n.o in shared\n"
                               "bound_storage x: n by 4611686018427387904");
  CHECK_THROWS_AS(check_launches(state, *gpu_machine("h100")), UserError);
}

TEST_CASE("where a buffer lives and where it is allocated") {
  CHECK(buffer_of(kStaged + "set_scope bx stack").memory == Memory::Stack);
  check(kBlur, kStaged + "set_scope bx stack");
  CHECK(refusal(kBlur, kStaged + "set_scope bx heap") ==
        "bx.c is in heap already: set_scope changes nothing");
  CHECK(refusal(kBlur, "set_scope bx stack") == "bx has no buffer of its own: stage it first");
  const std::string tile =
      "split y: u by 4, x by 4\n"
      "nest u.o > x.o > { u > x > bx at x.o; u.i > x.i > y }\nstage bx at x.o\n";
  const State hoisted = state_of(bound_program(kBlur, kSizes[0]), tile + "hoist_storage bx at u.o");
  CHECK(hoisted.staged.front().alloc_loop == path_to(hoisted.tree, "y").front()->id);
  check(kBlur, tile + "hoist_storage bx at u.o");
  check(kBlur, tile + "hoist_storage bx at root");
  check(kBlur,
        "split y: u by 4, x by 4\nnest par u.o > x.o > { u > x > bx at x.o; u.i > x.i > y }\n"
        "stage bx at x.o\nhoist_storage bx at u.o");
  CHECK(refusal(kBlur, tile + "hoist_storage bx at u.i") ==
        "bx.c is not staged below u.i (above it: root, u.o)");
  CHECK(refusal(kBlur, tile + "hoist_storage bx at root\nhoist_storage bx at root") ==
        "bx.c is allocated there already");
  CHECK(refusal(kBlur, kStaged + "hoist_storage bx at root") ==
        "bx.c is allocated outside u.o, and u.o is parallel: its iterations would share it");
  CHECK(refusal(kBlur, tile + "hoist_storage bx at u.o\nparallel x.o") ==
        "bx.c is allocated outside x.o, and x.o is parallel: its iterations would share it");
  CHECK(refusal(kBlur, "stage bx\nhoist_storage bx at root") ==
        "bx.c is allocated around the kernel already");
}

TEST_CASE("layouts without copies") {
  check(kBlur, "transform_layout bx (u, x) [x, u]");
  check(kBlur, kStaged + "transform_layout bx (u, x) [x//4, u, x%4]");
  check(kBlur, "nest y\ntransform_layout bx (u, x) [x//5, u, x%5]");
  const StagedBuffer b = buffer_of(kStaged + "transform_layout bx (u, x) [x//4, u, x%4]");
  CHECK(b.shape == std::vector<std::int64_t>{3, 6, 4});
  CHECK(b.dimensions == std::vector<std::string>{"x.o", "u", "x.i"});
  CHECK(refusal(kBlur, "transform_layout y (u, x) [x, u]") ==
        "y is an out tensor: its layout is its owner's (stage or pack copies it)");
  CHECK(refusal(kBlur, "transform_layout bx (u, x) [x, x]") ==
        "the layout is not one-to-one: the indices of u do not say where each element is");
  CHECK(refusal(kBlur, "transform_layout bx (u) [u]") == "layout names 1 dimensions, bx has 2");
  CHECK(refusal(kBlur, "transform_layout nix (u) [u]") ==
        "no buffer is called nix (none is staged)");
}

TEST_CASE("registers is a stage in registers") {
  const auto program = bound_program(kDenseRelu, {{"M", 7}, {"N", 9}, {"K", 10}});
  const std::string nest =
      "split m by 3, n by 4\nnest n.o > m.o > { "
      "m.i > <n.i> > acc.init; k > m.i > <n.i> > acc.update; m.i > <n.i> > y }\n";
  const State a = state_of(program, nest + "registers acc at m.o"),
              b = state_of(program, nest + "stage acc at m.o in register");
  CHECK(print_nest(a.tree) == print_nest(b.tree));
  CHECK(a.staged.front().memory == Memory::Register);
}

TEST_CASE("a double buffer whose first fill is at the value of another loop") {
  const char* const triangle =
      "program f(N)\n"
      "  in x: f32[N]\n  inout y: f32[N, N]\n  S: y[i, j] = x[i] * 2  for i in 0..N, j in i..N\n";
  check(triangle, "split i by 4 tail cut\nstage x at j\ndouble_buffer x at j",
        {{{"N", 2}}, {{"N", 6}}});
}

TEST_CASE("a double buffer fills one half while the other is read") {
  const std::string nest =
      "split m by 2, n by 4\nnest par m.o > n.o > { m.i > <n.i> > y }\nstage x at n.o\n";
  check(kTranspose, nest + "double_buffer x at n.o",
        {{{"M", 5}, {"N", 7}}, {{"M", 4}, {"N", 4}}, {{"M", 1}, {"N", 1}}, {{"M", 3}, {"N", 13}}});
  check(kTranspose,
        "split m by 2, n by 4\n"
        "nest n.o > m.o > { m.i > <n.i> > y }\nstage x at n.o\ndouble_buffer x at n.o",
        {{{"M", 5}, {"N", 7}}, {{"M", 4}, {"N", 4}}});
  const State state =
      state_of(bound_program(kTranspose, {{"M", 5}, {"N", 7}}), nest + "double_buffer x at n.o");
  CHECK(print_nest(state.tree) ==
        "par m.o > { x.n > <x.m> > x.first; n.o > { x.n > <x.m> > x.in; m.i > <n.i> > y } }");
  CHECK(state.staged.front().shape == std::vector<std::int64_t>{2, 4, 2});
  check(kDenseRelu,
        "split m by 3, k by 4\nnest m.o > k.o > { m.i > n > acc.init when first k.o; "
        "k.i > m.i > <n> > acc.update; m.i > n > y when last k.o }\n"
        "stage x at k.o in stack\ndouble_buffer x at k.o\nstage w at k.o\ndouble_buffer w at k.o",
        {{{"M", 7}, {"N", 9}, {"K", 10}},
         {{"M", 1}, {"N", 3}, {"K", 2}},
         {{"M", 5}, {"N", 6}, {"K", 13}}});
  CHECK(refusal(kTranspose, nest + "double_buffer x at m.o") == "x.c is staged at n.o, not at m.o");
  CHECK(refusal(kTranspose, nest + "parallel n.o\ndouble_buffer x at n.o") ==
        "n.o is parallel: it has no next iteration");
  CHECK(refusal(kTranspose, "double_buffer x at m") ==
        "x has no buffer of its own: stage it first");
  CHECK(refusal(kBlur, kStaged + "double_buffer bx at u.o") ==
        "bx.c is written by bx: double_buffer is for what is copied in and read");
  CHECK(refusal(kTranspose, "stage x\ndouble_buffer x at m") ==
        "x.c is staged for the whole kernel, not at m");
}

TEST_CASE("a pipeline of several copies is filled that many iterations ahead") {
  const std::string nest =
      "split m by 2, n by 4\nnest par m.o > n.o > { m.i > <n.i> > y }\nstage x at n.o\n";
  for (const std::string depth : {"3", "4", "7"})
    check(kTranspose, nest + "pipeline x at n.o depth " + depth,
          {{{"M", 5}, {"N", 7}},
           {{"M", 4}, {"N", 4}},
           {{"M", 1}, {"N", 1}},
           {{"M", 3}, {"N", 13}},
           {{"M", 2}, {"N", 40}}});
  const State state = state_of(bound_program(kTranspose, {{"M", 5}, {"N", 17}}),
                               nest + "pipeline x at n.o depth 3");
  CHECK(print_nest(state.tree) ==
        "par m.o > { n.o > x.n > <x.m> > x.first; n.o > { x.n > <x.m> > x.in; m.i > <n.i> > y } }");
  CHECK(state.staged.front().shape == std::vector<std::int64_t>{3, 4, 2});
  check(kDenseRelu,
        "split m by 3, k by 2\nnest m.o > k.o > { m.i > n > acc.init when first k.o; "
        "k.i > m.i > <n> > acc.update; m.i > n > y when last k.o }\n"
        "stage x at k.o in stack\nstage w at k.o\npipeline x, w at k.o depth 3",
        {{{"M", 7}, {"N", 9}, {"K", 10}},
         {{"M", 1}, {"N", 3}, {"K", 2}},
         {{"M", 5}, {"N", 6}, {"K", 13}}});
  CHECK(refusal(kTranspose, nest + "pipeline x at n.o depth 1") ==
        "depth 1: expected 2 to 16, copies that there are at once");
}

TEST_CASE("a swizzle is of shared memory, and of powers of two") {
  const std::string nest =
      "split m by 8, n by 16\nnest block m.o > block n.o > { m.i > thread n.i > y }\n";
  const auto refused = [&](const std::string& lines) {
    return refusal(kTranspose, nest + lines, {{"M", 32}, {"N", 32}});
  };
  const State state = state_of(bound_program(kTranspose, {{"M", 32}, {"N", 32}}),
                               nest + "stage x at n.o in shared\nswizzle x by 1");
  CHECK(state.staged.front().swizzle == ir::Swizzle{1, 32});
  CHECK(refused("stage x at n.o in shared\nswizzle x by 2 every 4") == "accepted");
  CHECK(refused("stage x at m.o in heap\nswizzle x by 1").find("only shared memory has banks") !=
        std::string::npos);
  CHECK(refused("stage x at n.o in shared\nswizzle x by 1\nset_scope x register") ==
        "x.c is swizzled: only shared memory has banks");
  CHECK(refused("stage x at n.o in shared\nswizzle x by 1\nswizzle x by 2") ==
        "x.c is swizzled already");
  CHECK(refused("stage x at n.o in shared\nswizzle x by 3") ==
        "chunks of 3: expected a power of two, at most 8 in rows of 8");
  CHECK(refused("stage x at n.o in shared\nswizzle x by 16") ==
        "chunks of 16: expected a power of two, at most 8 in rows of 8");
  CHECK(refused("stage x at n.o in shared\nswizzle x by 1 every 3") ==
        "every 3: expected a power of two");
  CHECK(refused("stage x at n.o in shared pad 1\nswizzle x by 1") ==
        "a row of x.c has 9 elements: swizzle changes bits of their numbers, expected a power of "
        "two (storage_align "
        "pads)");
}

TEST_CASE("compute_with is merge in Halide's words") {
  const auto program = bound_program(kBlur, kSizes[0]);
  // y would read rows that come later.
  CHECK(refusal(kBlur, "compute_with y, bx at u") != "accepted");
  const char* const pair = R"(
program pair(M, N)
  in  a: f32[M, N]
  out y: f32[M, N]
  out z: f32[M, N]
  y[u, x] = a[u, x] + 1
  z[u, x] = a[u, x] * 2
)";
  check(pair, "compute_with z, y at u");
  CHECK(print_nest(state_of(bound_program(pair, kSizes[0]), "compute_with z, y at x").tree) ==
        "u > x > { y; z }");
  CHECK(refusal(pair, "compute_with y, y at u") == "compute_with joins two statements, got one");
  CHECK(refusal(pair, "compute_with y, q at u").find("no statement is called q") == 0);
}

namespace {

// Rows scaled by their sums; and neighbours, for what is read to the right and to the left.
const char* const kScaled = R"(
program scaled(M, N)
  in  x: f32[M, N]
  out y: f32[M, N]
  out z: f32[M, N]
  e[i, j] = x[i, j] + 1
  t[i]    = sum[j] e[i, j]
  y[i, j] = e[i, j] * t[i]
  z[i, j] = x[i, j] * 2
)";

std::string neighbours(const std::string& value) {
  return "program neighbours(M, N)\n  in  x: f32[M, N]\n  out y: f32[M, N]\n  out z: f32[M, N]\n"
         "  e[i, j] = x[i, j] + 1   for i in 0..M, j in 0..N\n"
         "  y[i, j] = " +
         value + "   for i in 0..M, j in 0..N\n  z[i, j] = y[i, j] * 2\n";
}

const std::string kReuse = "reuse y for e\n";

}  // namespace

TEST_CASE("a temporary lives in the memory of what is made of it") {
  check(kScaled, kReuse);
  check(kScaled, "nest par i > { <j> > e; t.init; j > t.update; <j> > y }\n" + kReuse);
  check(kScaled,
        "split e: j by 4 tail mask\nsplit y: j by 4 tail cut\nparallel e: i\nvectorize e: j.i\n" +
            kReuse + "vectorize y: j.i\nreverse y: i\nprefetch e at y: j.o");
  check(neighbours("e[i, j] + (e[i, j+1] else 0)"), kReuse);
  check(neighbours("e[i, j] + (e[i, j-1] else 0)"), "reverse y: j\n" + kReuse);
  const auto state = state_of(bound_program(kScaled, kSizes[0]), kReuse);
  CHECK(state.reused == std::map<std::string, std::string>{{"e", "y"}});
}

TEST_CASE("what would be overwritten too early keeps its own memory") {
  const Refusal left = refused(neighbours("e[i, j] + (e[i, j-1] else 0)"), kReuse);
  CHECK(left.headline == "y would be touched while its memory holds an element of e");
  REQUIRE(left.counterexamples.size() == 1);
  CHECK(
      left.counterexamples.front().scheduled ==
      "y(i=0, j=0) writes y[0, 0], and not before it y(i=0, j=1) reads e[0, 0] in the same place");
  CHECK(refusal(neighbours("e[i, j] + (e[i, j+1] else 0)"), kReuse + "reverse y: j") ==
        left.headline);
  CHECK(refusal(neighbours("e[i, j] + (e[i, j+1] else 0)"), kReuse + "parallel y: j") ==
        "parallel loop j carries a dependence through y[0, 1]");
  CHECK(refusal(neighbours("e[i, j] + (e[i, j+1] else 0)"), "parallel y: j\n" + kReuse) ==
        "parallel loop j carries a dependence through y[0, 1]");
  const std::string part =
      "program part(N)\n  in  x: f32[N]\n  out y: f32[N]\n  out z: f32[N]\n"
      "  e[i] = x[i] + 1   for i in 0..N\n  y[i] = e[i] * 2   for i in 1..N\n"
      "  z[i] = e[i] * 3   for i in 0..N\n";
  CHECK(refusal(part, kReuse, {{"N", 5}}) == left.headline);
  CHECK(refusal(part, "merge y, z through i\n" + kReuse, {{"N", 5}}) == left.headline);
}

TEST_CASE("memory that is nobody's to give") {
  const auto of = [](const std::string& lines) { return refusal(kScaled, lines); };
  CHECK(of("reuse y for q") == "no tensor is called q");
  CHECK(of("reuse q for e") == "no tensor is called q");
  CHECK(of("reuse e for e") == "e lies in its own memory already");
  CHECK(of("reuse x for e") == "x is an in tensor: what it holds is read from outside");
  CHECK(of("reuse y for z") == "z is an out tensor: only a temporary's memory is ours");
  CHECK(of("reuse y for t") == "reuse needs one shape and type: y is f32[7, 9], t f32[7]");
  CHECK(of("reuse y for e\nreuse z for e") == "e lies in y already");
  CHECK(of("stage e\nreuse y for e") == "e is staged in e.c already: reuse comes before");
  CHECK(of("stream y\nreuse y for e") ==
        "y is streamed past the caches: what is read again stays in them");
  CHECK(of("reuse y for e\nnest i > { j > e; t.init; j > t.update; j > y }\nstream y") ==
        "y is read by y in the nest where y writes it: past the caches, it would come back from "
        "memory");
  CHECK(of("reuse y for e\nstage e") == "e has no element left to lie in y: reuse comes last");
  const std::string gone = "y has no element left whose memory e could lie in: reuse comes last";
  const std::string chain =
      "program chain(M)\n"
      "  in  x: f32[M]\n  out z: f32[M]\n  e[i] = x[i] + 1\n  y[i] = e[i] * 2\n  z[i] = y[i] - 3\n";
  CHECK(refusal(chain, kReuse + "compute_inline y", {{"M", 5}}) == gone);
}

TEST_CASE("storage is written and read back") {
  const auto program = bound_program(kBlur, kSizes[0]);
  for (const std::string line :
       {"stage bx at y:u layout (u, x) [u%3, x] fold", "fold_storage bx: u by 3",
        "bound_storage bx: u by 2*L", "storage_align bx: u by 16",
        "storage_align bx: n.i by 16 from 4", "hoist_storage bx at root",
        "hoist_storage bx at y:u.o", "reuse y for bx", "set_scope bx register",
        "transform_layout bx (u, x) [x//4, u, x%4]", "double_buffer bx at y:u",
        "pipeline bx at y:u depth 3", "swizzle bx by 4", "swizzle bx by L every 2",
        "compute_with y, bx at u", "registers bx at y:u.o"}) {
    CAPTURE(line);
    const Script script = script_of(*program, line);
    REQUIRE(script.directives.size() == 1);
    CHECK(print(script.directives.front()) == line);
  }
}

}  // namespace polyte::schedule::storage_test
