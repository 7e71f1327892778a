"""Every directive of the language is a method of a Script, which writes a line that parses."""

import inspect

import numpy as np
import pytest

import polyte
from polyte import _polyte
from polyte._directives import Directives

WORDS = _polyte.directive_words()

# Of each word calls, and what they write; whether it is legal is the prover's to say.
CALLS = {
    "param": [
        (lambda s: s.param("Mr", 4, among=(2, 4)), "param Mr = 4 in {2, 4}"),
        (lambda s: s.param("Mr", "2*L"), "param Mr = 2*L"),
    ],
    "where": [(lambda s: s.where("Mr <= 8"), "where Mr <= 8")],
    "let": [(lambda s: s.let("tile", "[m.i] > <n.i>"), "let tile = [m.i] > <n.i>")],
    "split": [
        (lambda s: s.split("m", 8), "split m by 8"),
        (lambda s: s.split("y:m", into=4, start=2, tail="cut"), "split y:m into 4 from 2 tail cut"),
    ],
    "tile": [(lambda s: s.tile("y", ("i", "j"), (4, "L"), tail="cut"),
              "tile y (i, j) by (4, L) tail cut")],
    "reorder": [
        (lambda s: s.reorder("j", "i", statement="y"), "reorder y: j > i"),
        (lambda s: s.reorder("j", "i"), "reorder j > i"),
    ],
    "order": [
        (lambda s: s.order("y", "i", "j"), "order y: i > j"),
        (lambda s: s.order("y"), "order y:"),
    ],
    "fuse": [(lambda s: s.fuse("i", "j", name="ij", statement="y"), "fuse y: i, j as ij")],
    "merge": [
        (lambda s: s.merge("a", "b", "i"), "merge a, b through i"),
        (lambda s: s.merge("a", "b", "i", shifted=("i+1", "j-2")),
         "merge a, b through i with i+1, j-2"),
    ],
    "distribute": [(lambda s: s.distribute("i"), "distribute i")],
    "tail": [(lambda s: s.tail("acc:m.i", "round"), "tail acc:m.i round")],
    "unroll": [
        (lambda s: s.unroll("m.i"), "unroll m.i"),
        (lambda s: s.unroll("i", 4), "unroll i by 4"),
    ],
    "unroll_and_jam": [(lambda s: s.unroll_and_jam("i", 4), "unroll_and_jam i by 4")],
    "cut": [
        (lambda s: s.cut("i", 4), "cut i at 4"),
        (lambda s: s.cut("i", 4, names=("lo", "hi")), "cut i at 4 as lo, hi"),
    ],
    "peel": [
        (lambda s: s.peel("i", "last", 2), "peel i last 2"),
        (lambda s: s.peel("i", "first", names=("a", "b")), "peel i first 1 as a, b"),
    ],
    "tensorize": [(lambda s: s.tensorize("y:n.i", "vnni_dot_i32x16"),
                   "tensorize y:n.i with vnni_dot_i32x16")],
    "vectorize": [(lambda s: s.vectorize("n.i"), "vectorize n.i")],
    "parallel": [(lambda s: s.parallel("m.o"), "parallel m.o")],
    "bind": [(lambda s: s.bind(("m.o", "n.o"), "block"), "bind m.o, n.o to block")],
    "gpu_tile": [(lambda s: s.gpu_tile("y", ("i", "j"), (8, 32), name="e"),
                  "gpu_tile y (i, j) by (8, 32) as e")],
    "map": [
        (lambda s: s.map({"S": ("i", "i + j"), "T": ("i", "j")}, loops=("i", "w")),
         "map S (i, i + j), T (i, j) as (i, w)"),
        (lambda s: s.map({"w": "i + j"}, replaced="j", statements=("S", "T")),
         "map S, T: w = i + j for j"),
        (lambda s: s.map({"i": "i + 1"}), "map i = i + 1"),
    ],
    "skew": [(lambda s: s.skew("j", "2*i", name="w"), "skew j by 2*i as w")],
    "shift": [(lambda s: s.shift("S", "i", 2), "shift S: i by 2")],
    "reverse": [(lambda s: s.reverse("i", name="r"), "reverse i as r")],
    "rename": [(lambda s: s.rename("i", "x"), "rename i as x")],
    "affine": [(lambda s: s.affine(("i", "j"), ((1, 1), (0, 1)), ("a", "b"), statement="S"),
                "affine S: (i, j) by [[1, 1], [0, 1]] as (a, b)")],
    "interchange": [(lambda s: s.interchange("i", "j"), "interchange i, j")],
    "wavefront": [(lambda s: s.wavefront("w", "i + j", "j", statement="S"),
                   "wavefront S: w = i + j for j")],
    "compute_inline": [
        (lambda s: s.compute_inline("t", "u"), "compute_inline t, u"),
        (lambda s: s.compute_inline("all"), "compute_inline all"),
    ],
    "compute_at": [(lambda s: s.compute_at("t", "x.o", once_per="x"),
                    "compute_at t at x.o once per x")],
    "compute_root": [(lambda s: s.compute_root("t"), "compute_root t")],
    "store_at": [(lambda s: s.store_at("t", "u.o", "stack"), "store_at t at u.o in stack")],
    "compute_with": [(lambda s: s.compute_with("a", "b", "i"), "compute_with a, b at i")],
    "reverse_compute_at": [(lambda s: s.reverse_compute_at("y", "k.o", when="last k.o"),
                            "reverse_compute_at y at k.o when last k.o")],
    "place": [(lambda s: s.place("y", "last k.o"), "place y when last k.o")],
    "nest": [(lambda s: s.nest("par m > { n > a; n > b }", name="q"),
              "nest q: par m > { n > a; n > b }")],
    "rewrite": [
        (lambda s: s.rewrite("rfactor", "C", "k.o", name="P"), "rewrite rfactor C over k.o as P"),
        (lambda s: s.rewrite("online", ("s", "o"), "n", maximum="mx"),
         "rewrite online s, o from mx over n"),
    ],
    "rfactor": [(lambda s: s.rfactor("C", "k.o", "P"), "rfactor C over k.o as P")],
    "split_reduction": [(lambda s: s.split_reduction("C", "k", 8, "P", "tree"),
                         "split_reduction C: k by 8 as P tree")],
    "reassociate": [(lambda s: s.reassociate("C", "k", "l"), "reassociate C over k, l")],
    "reciprocal": [(lambda s: s.reciprocal("y"), "reciprocal y")],
    "defer_division": [(lambda s: s.defer_division("o", "u"), "defer_division o as u")],
    "precompute": [(lambda s: s.precompute("S", "a", ("m", "k"), "2 * A[m, k]"),
                    "precompute S: a[m, k] = 2 * A[m, k]")],
    "atomic": [(lambda s: s.atomic("S", "T"), "atomic S, T")],
    "specialize": [
        (lambda s: s.specialize("M >= 64", ["split m by 8", "split n by 8"], "split m by 4"),
         "specialize M >= 64\n  split m by 8\n  split n by 8\nelse\n  split m by 4"),
        (lambda s: s.specialize("M >= 64", "split m by 8"),
         "specialize M >= 64\n  split m by 8"),
    ],
    "stage": [
        (lambda s: s.stage("acc", "m.o", "register"), "stage acc at m.o in register"),
        (lambda s: s.stage("w", layout="(k, n) [n//16, k, n%16]", pad=0, when_compile=True),
         "stage w layout (k, n) [n//16, k, n%16] pad 0 when compile"),
        (lambda s: s.stage("t", "x", layout="(u, x) [u%3, x]", fold=True, updates=True),
         "stage t at x layout (u, x) [u%3, x] fold updates"),
        (lambda s: s.stage("S: A[j, k]", "i", copy="k > j > A.in"),
         "stage S: A[j, k] at i copy k > j > A.in"),
    ],
    "cache_read": [(lambda s: s.cache_read("x", "k.o", "shared", pad=1),
                    "cache_read x at k.o in shared pad 1")],
    "cache_write": [(lambda s: s.cache_write("y", "j", updates=True),
                     "cache_write y at j updates")],
    "pack": [(lambda s: s.pack("w", "k.o", copy="n > w.in"), "pack w at k.o copy n > w.in")],
    "registers": [(lambda s: s.registers("acc", "m.o"), "registers acc at m.o")],
    "fold_storage": [(lambda s: s.fold_storage("t", "u", 3), "fold_storage t: u by 3")],
    "bound_storage": [(lambda s: s.bound_storage("t", "u", 8), "bound_storage t: u by 8")],
    "storage_align": [(lambda s: s.storage_align("t", "u", 16, 4),
                       "storage_align t: u by 16 from 4")],
    "hoist_storage": [(lambda s: s.hoist_storage("t", "u.o"), "hoist_storage t at u.o")],
    "reuse": [(lambda s: s.reuse("y", "e"), "reuse y for e")],
    "set_scope": [(lambda s: s.set_scope("t", "stack"), "set_scope t stack")],
    "transform_layout": [(lambda s: s.transform_layout("t", "(k, n) [n//16, k, n%16]"),
                          "transform_layout t (k, n) [n//16, k, n%16]")],
    "view": [(lambda s: s.view("C", (64, 63)), "view C as [64, 63]")],
    "double_buffer": [(lambda s: s.double_buffer("x", "k.o"), "double_buffer x at k.o")],
    "pipeline": [(lambda s: s.pipeline(("x", "w"), "k.o", 3), "pipeline x, w at k.o depth 3")],
    "prefetch": [
        (lambda s: s.prefetch("w", "k.o"), "prefetch w at k.o distance 1"),
        (lambda s: s.prefetch("w", "k.o", 2, along="m", level=2),
         "prefetch w at k.o distance 2 along m level 2"),
    ],
    "stream": [(lambda s: s.stream("y"), "stream y")],
    "pad": [(lambda s: s.pad("w", "n", 16), "pad w: n to 16")],
    "swizzle": [(lambda s: s.swizzle("x", 4, 2), "swizzle x by 4 every 2")],
}  # fmt: skip


class Lines(Directives):
    def add(self, line):
        return line


@pytest.mark.parametrize("word", WORDS)
def test_each_word_is_a_method(word):
    method = getattr(polyte.Script, word, None)
    assert inspect.isfunction(method), f"the directive '{word}' has no method of Script"
    assert method.__doc__ and method.__annotations__["return"] == "Script"
    assert word in CALLS, f"no test calls the method of '{word}'"


@pytest.mark.parametrize("word,call,line", [(w, *each) for w, all in CALLS.items() for each in all])
def test_each_method_writes_a_line_of_the_language(matmul, word, call, line):
    assert call(Lines()) == line and line.split()[0] == word
    try:
        matmul.script(line)
    except polyte.Refused:
        pass  # of another Program: it was read


def test_lines_that_hold(matmul):
    s = matmul.script(m=9, n=10, k=6)
    rng = np.random.default_rng(2)
    a, b = rng.integers(-3, 4, (9, 6)).astype("f4"), rng.integers(-3, 4, (6, 10)).astype("f4")
    for each in (
        s.specialize("M >= 64", "split m by 8", "split m by 4"),
        s.map({"w": "m + n"}, replaced="n", statements="C.init"),
        s.pack("B", layout="(k, n) [n//4, k, n%4]").prefetch("A", "C.update:m"),
        s.affine(("m", "n"), ((0, 1), (1, 0)), ("a", "b"), statement="C.init"),
        s.registers("C", "C.update:n").cache_read("A", "C.update:m"),
        s.compute_with("C.init", "C.update", "n"),
        s.reassociate("C", "k").split("C.update:k", 2).rfactor("C", "C.update:k.i", "P"),
    ):
        np.testing.assert_array_equal(each.compile()(a, b), a @ b)


def test_arguments_that_do_not_go_together(matmul):
    s = matmul.script()
    with pytest.raises(TypeError, match="rfactor takes name=, online takes maximum="):
        s.rewrite("rfactor", "C", "k", maximum="mx")
    with pytest.raises(TypeError, match="expected rfactor or online"):
        s.rewrite("rfactors", "C", "k", name="P")
