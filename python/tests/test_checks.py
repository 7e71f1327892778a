"""polyte.check: what `polyte check` says, as an object; nothing is raised for what is not legal."""

import os

import pytest

import polyte

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DIGITS = os.path.join(ROOT, "examples", "digits", "digits.onnx")
NOTATION = "C[m,n] = sum[k] A[m,k]*B[k,n]"


def test_what_is_legal(matmul):
    found = polyte.check(matmul, "split m by 8")
    assert found and found.ok and found.verdict == "legal" and found.problems == ()
    assert found.second_judge.startswith("agrees") and found.refusal is None
    assert str(found) == "verdict: legal" and repr(found) == "<polyte.Check legal>"
    assert "verdict: legal" in found._repr_html_()
    assert polyte.check(matmul, "split m by 8", second_judge=False).second_judge is None


def test_what_is_not(matmul):
    found = polyte.check(matmul, "parallel C.update:k", m=4)
    assert not found and found.verdict == "illegal"
    assert found.refusal["kind"] == "illegal" and found.refusal["line"] == 2
    assert found.refusal["counterexamples"][0]["watch"] == "C[0, 0]"
    (problem,) = found.problems
    assert "parallel loop k carries a dependence" in problem and problem in str(found)
    assert "parallel C.update:k" in found._repr_html_()
    stale = polyte.check(matmul, "schedule a/1 for other\n")
    assert stale.verdict in ("stale", "malformed") and not stale.ok
    assert polyte.check(matmul, "split q by 4").verdict == "malformed"


def test_every_form_of_a_program(tmp_path, matmul):
    (tmp_path / "mm.program").write_text(matmul.text)
    (tmp_path / "mine.sched").write_text("schedule mine/1 for op\nsplit m by 8\n")
    for subject in (NOTATION, matmul.text, tmp_path / "mm.program", str(tmp_path / "mm.program")):
        assert polyte.check(subject, str(tmp_path / "mine.sched")).ok
    script = matmul.script("split m by 8", k=4)
    assert polyte.check(script).ok and polyte.check(matmul, script, k=5).ok
    with pytest.raises(FileNotFoundError, match="there is no such file, did you mean .*mine.sched"):
        polyte.check(matmul, tmp_path / "mime.sched")


def test_strict_and_execution(matmul):
    idle = "split C.init:m by 1\nunroll C.init:m.i"
    found = polyte.check(matmul, idle)
    assert found.ok and "has no effect" in found.notes[0]
    strict = polyte.check(matmul, idle, strict=True)
    assert strict.verdict == "refused" and strict.problems == strict.notes
    sizes = {"m": 4, "n": 4, "k": 4}
    assert polyte.check(matmul, "split m by 3", by_execution=True, sizes=sizes).verdict == "legal"
    wrong = polyte.check(matmul, "parallel C.update:k", by_execution=True, sizes=sizes)
    assert wrong.verdict == "illegal" and wrong.problems
    with pytest.raises(ValueError, match="sizes needed"):
        polyte.check(matmul, "split m by 3", by_execution=True)


def test_rounding(matmul):
    found = polyte.check(matmul, "schedule a/1 for op  f32  reassoc k\nrfactor C over k as P")
    assert found.ok and found.rounding


def test_a_model():
    bits = polyte.check(DIGITS)
    assert bits.ok and bits.verdict == "equal" and bits.data["kernels"] > 0
    assert "equal bits, no fallback" in str(bits)
    group = polyte.compile_onnx(DIGITS).groups[0]
    assert polyte.check(DIGITS, group.script).ok
    assert polyte.check(DIGITS, "", group=group.name).verdict == "legal"
    with pytest.raises(ValueError, match="nothing"):
        polyte.check(DIGITS, "", group="nothing")
    with pytest.raises(TypeError, match="there is no option 'strickt'.*did you mean 'strict'"):
        polyte.check(DIGITS, strickt=True)
    with pytest.raises(FileNotFoundError):
        polyte.check("nothing.onnx")


def test_what_cannot_be_checked(matmul):
    with pytest.raises(TypeError, match="takes the script"):
        polyte.check(matmul)
    with pytest.raises(TypeError, match="expected a Program, a Script"):
        polyte.check(3, "split m by 4")
    with pytest.raises(TypeError, match="takes no other script"):
        polyte.check(matmul.script(), "split m by 4")
    with pytest.raises(TypeError, match="are of a model"):
        polyte.check(matmul, "split m by 4", group="g")
    with pytest.raises(polyte.errors.InvalidInput, match="script:2"):
        polyte.check(matmul, "splt m by 4")
