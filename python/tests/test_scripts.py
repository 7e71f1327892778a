"""Schedules as objects."""

import pickle

import numpy as np
import pytest

import polyte


def test_each_directive_prints(matmul):
    s = (
        matmul.script(k=20)
        .split("m", 8)
        .split("n", 16, tail="cut")
        .split("C.update:k", into=4)
        .reorder("m.o", "n.o", "m.i", "n.i", statement="C.init")
        .unroll("C.init:m.i")
        .vectorize("C.init:n.i")
        .parallel("C.init:m.o")
    )
    assert "split m by 8" in s.text and "split n by 16   tail cut" in s.text and "into 4" in s.text
    assert s.outline.startswith("{ par m.o")
    again = matmul.script(s.text, k=20)
    assert again == s and hash(again) == hash(s) and again.outline == s.outline


@pytest.mark.parametrize(
    "edit,line",
    [
        (lambda s: s.tile("C.init", ("m", "n"), (4, 8)), "tile C.init: (m, n) by (4, 8)"),
        (lambda s: s.interchange("m", "n", statement="C.init"), "interchange C.init: m, n"),
        (lambda s: s.rename("C.init:m", "row"), "rename C.init: m as row"),
        (lambda s: s.fuse("m", "n", statement="C.init", name="mn"), "fuse C.init:m, n as mn"),
        (lambda s: s.cut("C.init:m", 4), "cut C.init:m at 4"),
        (lambda s: s.peel("C.init:m", "last", 2), "peel C.init:m last 2"),
        (lambda s: s.reverse("C.init:m"), "reverse C.init: m"),
        (lambda s: s.shift("C.init", "m", 2), "shift C.init: m by 2"),
        (lambda s: s.skew("C.init:n", "2*m"), "skew C.init: n by 2*m"),
        (lambda s: s.merge("C.init", "C.update", "n"), "merge C.init, C.update through n"),
        (lambda s: s.order("C.update", "k", "m", "n"), "order C.update: k > m > n"),
        (lambda s: s.unroll("C.init:n", 4), "unroll C.init:n by 4"),
        (lambda s: s.unroll_and_jam("C.update:m", 4), "unroll_and_jam C.update:m by 4"),
        (lambda s: s.stage("B", memory="heap"), "stage B in heap"),
        (
            lambda s: s.nest("par m > { n > C.init; n > k > C.update }"),
            "nest par m > { n > C.init; n > k > C.update }",
        ),
    ],
)
def test_directives(matmul, edit, line):
    s = edit(matmul.script(m=9, n=10, k=6))
    assert line in [each.split("   ")[0] for each in s.text.splitlines()]
    rng = np.random.default_rng(2)
    a, b = rng.integers(-3, 4, (9, 6)).astype("f4"), rng.integers(-3, 4, (6, 10)).astype("f4")
    np.testing.assert_array_equal(s.compile()(a, b), a @ b)


def test_a_tile_of_a_gpu(matmul):
    s = matmul.script().gpu_tile("C.init", ("m", "n"), (8, 32))
    assert "\ngpu_tile C.init: (m, n) by (8, 32)\n" in s.text
    assert s.outline.startswith("{ block m.o > block n.o > thread t > C.init;")
    named = matmul.script().gpu_tile("C.init", ("m", "n"), (8, 32), name="e")
    assert "thread e > C.init;" in named.outline


def test_a_refusal_is_data(matmul):
    with pytest.raises(polyte.Refused) as caught:
        matmul.script().parallel("C.update:k")
    refusal = caught.value.refusal
    assert (
        refusal["kind"] == "illegal"
        and refusal["directive"] == "parallel C.update:k"
        and refusal["line"] == 2
    )
    (example,) = refusal["counterexamples"]
    assert example["sizes"] == {"M": 1, "N": 1, "K": 2} and example["watch"] == "C[0, 0]"
    assert isinstance(caught.value, ValueError) and "illegal" in str(caught.value)
    html = caught.value._repr_html_()
    assert "parallel C.update:k" in html and "&lt;" not in html.split("<table>")[0]
    assert pickle.loads(pickle.dumps(caught.value)).refusal == refusal


@pytest.mark.parametrize(
    "line,kind", [("split q by 4", "malformed"), ("nest q > C.init", "malformed")]
)
def test_what_is_no_schedule(matmul, line, kind):
    with pytest.raises(polyte.Refused) as caught:
        matmul.script().add(line)
    assert caught.value.refusal["kind"] == kind


def test_bad_text(matmul):
    with pytest.raises(polyte.errors.InvalidInput, match="script:2"):
        matmul.script().add("splt m by 4")
    with pytest.raises(TypeError, match="either `by` or `into`"):
        matmul.script().split("m")
    with pytest.raises(polyte.errors.UsageError, match="there is no line"):
        matmul.script().without("split m by 4")


def test_schedulers_write_scripts_that_can_be_edited(matmul):
    s = matmul.schedule("poly", m=64, n=64, k=64)
    assert s.text.startswith("schedule op/poly for op@") and "param Mr" in s.text
    t = s.set(Mr=3)
    assert "param Mr = 3" in t.text and t != s
    a, b = np.ones((64, 64), np.float32), np.ones((64, 64), np.float32)
    for one in (s, t):
        kernel = one.compile()
        assert kernel.scheduler == "script" and (kernel(a, b) == 64).all()
    assert s.compile(threads=1).loops == matmul.compile(m=64, n=64, k=64).loops
    with pytest.raises(polyte.errors.UsageError, match="Zz"):
        s.set(Zz=4)


def test_without(matmul):
    s = matmul.script().split("m", 8).split("n", 4)
    assert s.without("split m by 8   tail guard") == matmul.script().split("n", 4)
    assert s.without(3) == matmul.script().split("m", 8)


def test_threads_are_said(matmul):
    assert "with 3 threads" in matmul.schedule("poly", m=64, n=64, k=64, threads=3).text


def test_representations(matmul):
    s = matmul.script().split("m", 8)
    assert "polyte.Script for op" in repr(s) and "split m by 8" in s._repr_html_()
    kernel = s.compile(m=8, n=8, k=8)
    assert repr(kernel) == "<polyte.Kernel (A: f32[8, 8], B: f32[8, 8], C: f32[8, 8]) by script>"
    assert "polyte.Program op(M, N, K)" in repr(matmul) and "sum[k" in matmul._repr_html_()


def test_kernels_say_who_scheduled_them(matmul):
    kernel = matmul.compile("template", m=16, n=16, k=16)
    assert kernel.scheduler == "template" and kernel.declined is None
    assert (
        kernel.script.startswith("schedule op/template")
        and "#:" in kernel.directives
        and "C" in kernel.loops
    )
    assert [(t.name, t.role, t.dtype, t.shape) for t in kernel.tensors] == [
        ("A", "in", "f32", (16, 16)),
        ("B", "in", "f32", (16, 16)),
        ("C", "out", "f32", (16, 16)),
    ]


# ---- options


@pytest.mark.parametrize(
    "options,kind,words",
    [
        ({"m": 4}, ValueError, "size 'N' is missing"),
        ({"m": 4, "n": 4, "k": 4, "foo": 1}, TypeError, "there is no option or size 'foo'"),
        ({"m": 4, "n": 4, "k": "4"}, TypeError, "size 'k' is '4', expected a number"),
        ({"m": 4, "n": 4, "k": True}, TypeError, "size 'k' is True"),
        ({"m": 4, "n": 4, "k": -1}, ValueError, "K"),
        ({"m": 4, "n": 4, "k": 4, "threads": 0}, ValueError, "threads is 0"),
        ({"m": 4, "n": 4, "k": 4, "target": "cpu:nothing"}, ValueError, "nothing"),
        (
            {"m": 4, "n": 4, "k": 4, "scheduler": "fast"},
            ValueError,
            "expected naive, isl, poly or template",
        ),
        (
            {"m": 4, "n": 4, "k": 4, "script": "schedule a/1 for b\n"},
            ValueError,
            "the script is for program b",
        ),
    ],
)
def test_options_that_do_not_fit(matmul, options, kind, words):
    with pytest.raises(kind, match=words) as caught:
        matmul.compile(**options)
    assert isinstance(caught.value, polyte.Error)


@pytest.mark.parametrize(
    "text,words", [("C[m] =", "notation:1"), ("C[m,n] = A[m", "notation:1"), ("", "notation")]
)
def test_bad_notation(text, words):
    with pytest.raises(polyte.errors.InvalidInput, match=words):
        polyte.op(text)


def test_bad_programs_list_all():
    with pytest.raises(polyte.errors.InvalidInput) as caught:
        polyte.program(
            "program p(N)\n  in x: f33[N]\n  out y: f32[N]\n  y[i] = x[i] +\n", name="p.program"
        )
    assert len(caught.value.problems) >= 2 and all(
        each.startswith("p.program:") for each in caught.value.problems
    )


def test_a_gpu_that_is_not_there(matmul):
    kernel = matmul.compile(m=64, n=64, k=64, target="cuda:h100")
    with pytest.raises(RuntimeError) as caught:
        kernel(np.ones((64, 64), np.float32), np.ones((64, 64), np.float32))
    assert isinstance(caught.value, polyte.errors.DeviceError)
