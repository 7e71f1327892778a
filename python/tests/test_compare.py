"""Schedules side by side. No test depends on who is faster, but for the reference order of
a product."""

import numpy as np
import pytest

import polyte


def test_arms_of_all_kinds(matmul):
    s = matmul.schedule("poly", m=48, n=48, k=48)
    c = polyte.compare(
        s, s.compile(), "template", "naive", rounds=4, milliseconds=0.3, m=48, n=48, k=48, threads=1
    )
    assert [row.name for row in c.rows] == ["op/poly", "kernel", "template", "naive"]
    assert [len(row.samples) for row in c.rows] == [4, 4, 4, 4]
    assert c.rows[0].verdict == "the first" and c.rows[1].verdict == "the loops of op/poly"
    assert c.rows[3].verdict == "slower" and c.rows[3].ratio[0] > 3
    for row in c.rows:
        assert row.microseconds[1] <= row.microseconds[0] <= row.microseconds[2]
        assert row.ratio[1] <= row.ratio[0] <= row.ratio[2]
    text = str(c)
    assert "naive" in text and all(len(line) <= 100 for line in text.splitlines())
    assert "<td>naive</td>" in c._repr_html_()


def test_constants_and_tensors_in_place():
    program = polyte.program(
        "program p(N)\n  inout y: f32[N]\n  const w: f32[N]\n  in x: f32[N]\n"
        "  y[i] += w[i] * x[i]   for i in 0..N\n"
    )
    c = polyte.compare("poly", "naive", program=program, rounds=3, milliseconds=0.1, N=100)
    assert len(c.rows) == 2


@pytest.mark.parametrize("dtype", ["f64", "bf16", "i32", "u8"])
def test_types(dtype):
    c = polyte.compare(
        "poly",
        "template",
        program=polyte.op("y[i] = a[i] + b[i]", dtype),
        rounds=2,
        milliseconds=0.1,
        i=64,
    )
    assert len(c.rows) == 2


def test_what_is_no_comparison(matmul):
    small, large = (matmul.compile(m=m, n=8, k=8) for m in (8, 16))
    for arms, options, kind, words in (
        ((), {}, TypeError, "at least one"),
        (("poly",), {}, TypeError, "needs `program=`"),
        ((small, large), {}, ValueError, "different tensors or sizes"),
        ((3,), {"program": matmul}, TypeError, "expected a Script"),
    ):
        with pytest.raises(kind, match=words):
            polyte.compare(*arms, **options)


def test_an_arm_that_computes_something_else_is_told():
    one = polyte.op("y[i] = x[i] + x[i]").compile(i=8)
    other = polyte.program(
        "program op(I)\n  in x: f32[I]\n  out y: f32[I]\n  y[i] = x[i] * 3\n"
    ).compile(I=8)
    with pytest.raises(polyte.Refused, match="differ"):
        polyte.compare(one, other, rounds=2)


def test_frames(matmul):
    pytest.importorskip("pandas")
    frame = polyte.compare(
        "poly", program=matmul, rounds=2, milliseconds=0.1, m=8, n=8, k=8
    ).frame()
    assert list(frame["arm"]) == ["poly"]
    assert frame["ratio"].dtype == np.float64
