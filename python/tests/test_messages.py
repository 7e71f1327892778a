"""What a new user gets wrong on the first day: each message says what to do next."""

import os

import numpy as np
import pytest

import polyte

SIZES = {"m": 4, "n": 6, "k": 3}


def test_sizes_as_a_dict(matmul, operands):
    for kernel in (
        matmul.compile(sizes=SIZES),
        matmul.compile(sizes={"m": 4, "K": 3}, n=6),
        matmul.script().compile(sizes=SIZES),
        matmul.script(sizes={"m": 4}).compile(sizes={"n": 6}, k=3),
        matmul.schedule("poly", sizes=SIZES).compile(),
        matmul.schedule("naive", m=8, n=6, k=3).compile(sizes={"m": 4}),
    ):
        assert [t.shape for t in kernel.tensors] == [(4, 3), (3, 6), (4, 6)]
    assert matmul.compile(sizes={"m": np.int64(4)}, open=["n", "k"]).sizes.keys() == {"N", "K"}
    given = polyte.op("y[m] = x[m] + x[m]").specialised(sizes={"m": 3})
    assert given(np.ones(3, np.float32)).shape == (3,)
    assert [row.name for row in polyte.compare("naive", "poly", program=matmul, sizes=SIZES,
                                               rounds=2, milliseconds=0.1).rows]  # fmt: skip


@pytest.mark.parametrize(
    "options,kind,words",
    [
        ({**SIZES, "sizes": {"m": 5}}, TypeError, "size 'm' is given twice, 4 and 5"),
        ({"M": 4, "m": 4, "n": 6, "k": 3}, TypeError, "size 'm' is given twice"),
        ({"sizes": {"q": 5}}, TypeError, "sizes: there is no size 'q': .* M, N, K"),
        ({"sizes": {"m": "5"}}, TypeError, "size 'm' is '5', expected a number"),
        ({"sizes": [4, 5]}, TypeError, r"sizes is \[4, 5\], expected a dict"),
        ({**SIZES, "scheduler": "ploy"}, ValueError, "did you mean 'poly'"),
        ({**SIZES, "thread": 2}, TypeError, "options are .*script, sizes.*did you mean 'threads'"),
        ({**SIZES, "script": "mine.sched"}, FileNotFoundError, "mine.sched: there is no such file"),
        ({"open": ["mm"]}, TypeError, "open: there is no size 'mm'"),
    ],
)
def test_options(matmul, options, kind, words):
    with pytest.raises(kind, match=words) as caught:
        matmul.compile(**options)
    assert isinstance(caught.value, polyte.Error)


def test_types_as_numpy_names_them():
    for dtype in ("float64", np.float64, np.dtype("f8"), "f64", float):
        assert polyte.op("y[m] = x[m]", dtype).tensors[0].dtype == "f64"
    with pytest.raises(ValueError, match="dtype 'float33': expected one of f64"):
        polyte.op("y[m] = x[m]", "float33")


@pytest.mark.parametrize(
    "text,meant",
    [
        ("mk,kn->mn", r"C\[m,n\] = sum\[k\] A\[m,k\]\*B\[k,n\]"),
        ("bij, bjk -> bik", r"C\[b,i,k\] = sum\[j\] A\[b,i,j\]\*B\[b,j,k\]"),
        ("ij->", r"B\[\] = sum\[i,j\] A\[i,j\]"),
        ("ij->ji", r"B\[j,i\] = A\[i,j\]"),
    ],
)
def test_einsum(text, meant):
    with pytest.raises(ValueError, match=f"is einsum notation, expected index notation: '{meant}'"):
        polyte.op(text)


def test_files(tmp_path, matmul, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mm.program").write_text(matmul.text)
    (tmp_path / "mm.sched").write_text("schedule mine/1 for op\nsplit m by 2\n")
    assert polyte.program("mm.program").text == matmul.text
    assert polyte.program(tmp_path / "mm.program").text == matmul.text
    assert "split m by 2" in matmul.script("mm.sched").text
    assert "split m by 2" in matmul.compile(script=tmp_path / "mm.sched", sizes=SIZES).script
    with pytest.raises(FileNotFoundError, match="did you mean 'mm.program'") as caught:
        polyte.program("nm.program")
    assert isinstance(caught.value, polyte.errors.InvalidInput)
    assert caught.value.filename == "nm.program"
    (tmp_path / "bits.program").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="bits.program: cannot be read"):
        polyte.program("bits.program")
    for call in (
        lambda: polyte.compile_onnx("a.onnx"),
        lambda: polyte.Network("a.onnx"),
        lambda: polyte.Session("a.polyte"),
        lambda: polyte.load("a.kernel"),
        lambda: polyte.lab.Results("a.lab"),
        lambda: polyte.lab.run("a.toml"),
    ):
        with pytest.raises(FileNotFoundError, match="there is no such file") as caught:
            call()
        assert isinstance(caught.value, ValueError)
    assert os.listdir(tmp_path) and not os.path.exists("a.lab")


def test_lines_that_are_not_there(matmul):
    script = matmul.script().split("m", 8).split("n", 4)
    with pytest.raises(
        ValueError, match="did you mean 'split m by 8 tail guard'.*lines are 2 'spl"
    ):
        script.without("split m by 9 tail guard")
    with pytest.raises(ValueError, match="there is no line 7: the script's lines are 2"):
        script.without(7)
    with pytest.raises(ValueError, match="there is no line 2: the script has its header alone"):
        matmul.script().without(2)


def test_fractions_as_subscripts():
    from polyte import expr as e

    b = polyte.build("p")
    M, i = b.sizes("M"), b.iters("i")
    x, y = b.input("x", M), b.output("y", M)
    for at in (1.5, i + 0.5, 2 * (i - 1e-9)):
        with pytest.raises(TypeError, match="is no whole number, expected a whole number"):
            x[at]
        with pytest.raises(TypeError, match="is no whole number"):
            y[at] = 1
    with pytest.raises(TypeError, match="'1.5' is no whole number, expected sizes"):
        b.input("z", 1.5)
    y[i] = e.max(x[i], 1.5)  # a value
    assert "1.5" in b.program().text


def test_keys_of_experiments(matmul, tmp_path):
    with pytest.raises(TypeError, match="key 'program': .*did you mean 'programs'"):
        polyte.lab.run({"program": matmul, "arms": ["poly"]}, out=tmp_path / "r")
    with pytest.raises(ValueError, match="unknown key 'arm_s', did you mean 'arms'"):
        polyte.lab.run({"programs": [matmul], "arm_s": ["poly"]}, out=tmp_path / "s")
