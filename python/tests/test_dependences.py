"""Program.dependences(): what `polyte deps` says, as objects."""

import pytest

import polyte

JACOBI = """
program jacobi(T, N)
  inout A: f32[N]
  inout B: f32[N]
  loop t in 0..T
    B[i] = A[i-1] + A[i+1]   for i in 1..N-1
    A[i] = B[i]   for i in 1..N-1
"""


def test_a_product(matmul):
    found = matmul.dependences()
    assert len(found) == 5 and repr(found) == "<polyte.Dependences of op: 5>"
    first = found[0]
    assert (first.kind, first.source, first.sink) == ("flow", "C.init", "C.update")
    assert first.tensor == "C" and first.exact and not first.reduction
    assert first.loops == ("m", "n") and first.distances == (((0, 0), (0, 0)),)
    assert first.distance_text == "(m, n): (0, 0)" and "->" in first.relation
    example = first.example
    assert example.sink.iterators == {"m": 0, "n": 0, "k": 0} and example.element == "C[0, 0]"
    assert example.sizes == {"M": 1, "N": 1, "K": 1}
    assert repr(example) == "C.init(m=0, n=0) then C.update(m=0, n=0, k=0), C[0, 0]"
    assert {each.kind for each in found if each.reduction} == {"flow", "anti", "output"}
    assert str(found).startswith("op(M, N, K): 2 statements, 5 direct dependences")
    assert found.notes == () and [each.tensor for each in found] == ["C"] * 5


def test_distances_without_a_bound():
    found = polyte.program(JACOBI).dependences()
    texts = {each.distance_text for each in found}
    assert any("or" in text for text in texts)
    far = polyte.program(
        "program far(N)\n  inout x: f32[N]\n  out y: f32[N]\n  S: x[i] = 1   for i in 0..N\n"
        "  R: y[i] = x[0] + x[N-1]   for i in 0..N\n"
    ).dependences(statements=["S", "R"])
    limits = {limits for each in far for distance in each.distances for limits in distance}
    assert (None, 0) in limits or (0, None) in limits or (None, None) in limits
    assert any(mark in each.distance_text for each in far for mark in ("<=", ">=", "*"))


def test_statements_sizes_and_all_pairs():
    program = polyte.program(JACOBI)
    assert {(d.source, d.sink) for d in program.dependences(statements="B")} == {("B", "B")}
    assert len(program.dependences(every=True)) >= len(program.dependences())
    assert program.dependences(N=5).data["sizes"] == ["T"]
    assert program.dependences(sizes={"N": 5, "T": 2}).data["sizes"] == []
    with pytest.raises(ValueError, match="statement 'C': the program has B, A"):
        program.dependences(statements=["C"])
    with pytest.raises(TypeError, match="there is no option or size 'M'"):
        program.dependences(M=4)


def test_pictures():
    found = polyte.program(JACOBI).dependences()
    assert found.svg().startswith("<svg") and found.svg("A", "B").startswith("<svg")
    html = found._repr_html_()
    assert "<table>" in html and "<svg" in html and html.count("<tr>") == len(found) + 1
    large = polyte.program(JACOBI).dependences(N=500, T=500)
    assert "<svg" not in large._repr_html_()
    with pytest.raises(polyte.Error):
        large.svg()


def test_none():
    found = polyte.op("y[m] = x[m]").dependences()
    assert len(found) == 0 and list(found) == [] and "0 dependences" in found._repr_html_()
