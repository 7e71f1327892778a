"""Cell magics and bars. Skipped where IPython is not installed."""

import numpy as np
import pytest

import polyte

DENSE = (
    "program dense(M, N, K)\n  in x: f32[M, K]\n  in w: f32[K, N]\n  out y: f32[M, N]\n"
    "  y[m, n] = sum[k] x[m, k] * w[k, n]\n"
)


@pytest.fixture
def shell(monkeypatch):
    interactive = pytest.importorskip(
        "IPython.core.interactiveshell", reason="IPython is not installed"
    )
    import polyte.magic

    shown = []
    monkeypatch.setattr(polyte.magic, "display", shown.append)
    made = interactive.InteractiveShell.instance()
    polyte.load_ipython_extension(made)
    made.shown = shown
    yield made
    made.run_line_magic("reset", "-f")


def usage_error(shell, magic, line, cell):
    from IPython.core.error import UsageError

    with pytest.raises(UsageError) as caught:
        shell.run_cell_magic(magic, line, cell)
    return str(caught.value)


def test_a_cell_is_a_program(shell):
    shell.run_cell_magic("polyte", "", DENSE)
    assert shell.user_ns["dense"].text == polyte.program(DENSE).text and shell.shown == [
        shell.user_ns["dense"]
    ]
    shell.run_cell_magic("polyte", "product", "C[m,n] = sum[k] A[m,k]*B[k,n]\n")
    assert shell.user_ns["product"].sizes == ("M", "N", "K")
    shell.run_cell_magic("polyte", "", "# two\n" + DENSE + DENSE.replace("dense", "other"))
    assert shell.user_ns["other"].name == "other"


def test_what_is_wrong_is_told_by_the_line_of_the_cell(shell):
    assert "cell:5: " in usage_error(shell, "polyte", "", DENSE.replace("w[k, n]", "w[k]"))
    assert "cell:10: " in usage_error(
        shell, "polyte", "", DENSE + DENSE.replace("dense", "other").replace("w[k, n]", "w[k]")
    )
    assert "expected a name for each of 1 programs" in usage_error(shell, "polyte", "a b", DENSE)
    assert "dense" not in shell.user_ns


def test_a_cell_is_a_script(shell):
    shell.run_cell_magic("polyte", "", DENSE)
    shell.run_cell_magic("polyte_script", "mine dense M=8 N=8 K=8", "split m by 4\n")
    assert "split m by 4" in shell.user_ns["mine"].text
    ones = np.ones((8, 8), "f4")
    assert (shell.user_ns["mine"].compile()(ones, ones) == 8).all()


def test_a_refusal_is_shown(shell):
    shell.run_cell_magic("polyte", "", DENSE)
    assert "carries a dependence" in usage_error(
        shell, "polyte_script", "bad dense", "parallel y.update:k\n"
    )
    assert isinstance(shell.shown[-1], polyte.Refused) and "bad" not in shell.user_ns
    assert "nothing is no Program" in usage_error(shell, "polyte_script", "bad nothing", "\n")
    assert "expected a name, a Program's name and sizes" in usage_error(
        shell, "polyte_script", "bad", "\n"
    )


def test_a_comparison_says_how_far_it_is(matmul, capsys):
    polyte.compare(
        "naive", "isl", program=matmul, rounds=3, milliseconds=0.05, m=4, n=4, k=4, progress=True
    )
    said = capsys.readouterr().err
    assert "[########................] 1/3 rounds" in said and said.endswith(
        "[########################] 3/3 rounds\n"
    )
    polyte.compare("naive", program=matmul, rounds=2, milliseconds=0.05, m=4, n=4, k=4)
    assert capsys.readouterr().err == ""
