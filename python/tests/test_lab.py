"""Experiments from Python. What is called faster is tests/lab's to test; here it is what comes
back, and that it is all of it."""

import csv
import io
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import polyte
from polyte import lab

BINARY = os.path.join(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(polyte._polyte.__file__)))),
    "polyte",
)
STOP = {"rounds": [3, 4], "processes": [2, 2], "round_ms": 0.2}


@pytest.fixture(scope="module")
def results(matmul, tmp_path_factory):
    script = matmul.script().split("m", 4)
    said = []
    folder = tmp_path_factory.mktemp("lab") / "first"
    made = lab.run(
        {
            "name": "two <schedules>",
            "programs": [matmul],
            "arms": ["poly", script, "naive"],
            "stop": STOP,
            "sizes": {"m": [8, 16], "n": 12, "k": 8},
        },
        out=folder,
        progress=said.append,
    )
    assert len([line for line in said if line.startswith("[")]) == 4
    return made


def test_rows(results):
    rows = results.rows()
    assert [(row["size_M"], row["arm"]) for row in rows] == [
        (m, arm) for m in (8, 16) for arm in ("poly", "op_mine", "naive")
    ]
    for row in rows:
        assert (
            row["status"] == "ok"
            and row["program"] == "op"
            and row["dtype"] == "f32"
            and row["threads"] == 1
        )
        assert row["time_low"] <= row["time_ns"] <= row["time_high"]
        assert (row["processes"], row["flops"]) == (2, 2 * row["size_M"] * 12 * 8)
        assert (row["ratio"] is None) == (row["arm"] == "poly") == (row["verdict"] == "baseline")


def test_samples(results):
    samples = results.samples()
    assert {(each["row"], each["arm"], each["process"]) for each in samples} == {
        (row["row"], row["arm"], process) for row in results.rows() for process in (0, 1)
    }
    assert all(each["nanoseconds"] > 0 for each in samples) and len(samples) >= 3 * 2 * 6


def test_reports(results):
    assert "two <schedules>" in results.report() == str(results)
    assert results.report("csv").splitlines()[0].startswith("row,arm,status,verdict")
    assert json.loads(results.report("json")) == results.data and results.report("html").startswith(
        "<!DOCTYPE html>"
    )
    with pytest.raises(polyte.errors.UsageError, match="text"):
        results.report("pdf")
    html = results._repr_html_()
    assert "two &lt;schedules&gt;" in html and html.count("<tr>") == 7 and "op_mine" in html
    assert repr(results) == "<polyte.lab.Results two <schedules>: 2 rows, 3 arms>"


def test_columns_of_csv(results):
    table = list(csv.DictReader(io.StringIO(results.report("csv"), newline="")))
    for got, row in zip(table, results.rows()):
        names = [name for name in row if name.startswith("size_")]
        assert names and {name: int(got[name]) for name in names} == {n: row[n] for n in names}
        assert all(got[name] == str(row[name]) for name in ("program", "dtype", "threads", "fill"))
        assert got["caches"] == row["caches"] == "warm" and None not in got


def test_frames(results):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = results.to_pandas()
    assert (
        len(frame) == 6
        and str(frame["arm"].dtype) in ("string", "str")
        and str(frame["size_M"].dtype) == "Int64"
    )
    assert (
        str(frame["ratio"].dtype) == "Float64"
        and frame.groupby("arm")["time_ns"].mean().notna().all()
    )
    samples = results.to_pandas("samples")
    assert (
        list(samples) == ["row", "arm", "process", "round", "nanoseconds"]
        and str(samples["round"].dtype) == "Int64"
    )
    assert isinstance(samples, pandas.DataFrame)


def test_parquet(results, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    results.to_parquet(tmp_path / "rows.parquet")
    back = parquet.read_table(tmp_path / "rows.parquet")
    assert back.to_pylist() == results.rows() and str(back.schema.field("size_M").type) == "int64"
    results.to_parquet(tmp_path / "samples.parquet", "samples")
    assert parquet.read_table(tmp_path / "samples.parquet").to_pylist() == results.samples()


def test_tables_that_are_not_there(results, monkeypatch):
    with pytest.raises(polyte.errors.UsageError, match="expected rows or samples"):
        results._table("columns")
    for name in ("pyarrow", "pandas"):
        monkeypatch.setitem(sys.modules, name, None)
    for make, name in ((results.to_arrow, "pyarrow"), (results.to_pandas, "pandas")):
        with pytest.raises(polyte.errors.Unsupported, match=f"{name} is not installed"):
            make()


def test_the_folder_is_one_of_the_verbs(results):
    if not os.path.exists(BINARY):
        pytest.skip("the binary polyte is not built")
    made = subprocess.run(
        [BINARY, "lab", "report", results.folder, "--format", "json"],
        capture_output=True,
        check=True,
    )
    assert json.loads(made.stdout) == results.data


def test_it_goes_on_where_it_was(results):
    said = []
    again = lab.run(results.folder, progress=said.append)
    assert again.samples() == results.samples() and not [
        line for line in said if line.startswith("[")
    ]
    with pytest.raises(TypeError, match="is a result folder already"):
        lab.run(results.folder, out="elsewhere")


def test_ctrl_c(tmp_path):
    program = f"""if True:
        from polyte import lab
        try:
            lab.run({{"programs": ["y[i] = x[i] + x[i]"], "arms": ["poly", "naive"],
                     "sizes": {{"i": 64}},
                     "stop": {{"rounds": [2, 2], "processes": [40, 40], "round_ms": 0.1}}}},
                    out={str(tmp_path)!r}, progress=lambda line: print(line, flush=True))
        except KeyboardInterrupt as stopped:
            print("stopped:", stopped)
    """
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    while not process.stdout.readline().startswith("["):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 0 and f"stopped; polyte.lab.run({str(tmp_path)!r}) goes on" in said
    (row, _) = lab.Results(tmp_path).rows()
    assert 1 <= row["processes"] < 40


def test_runs_are_compared(results):
    comparison = lab.compare(results, results.folder)
    assert not comparison.is_regression and "no regression is found" in str(comparison)
    assert len(comparison.data["rows"]) == 6


def test_a_file(tmp_path):
    path = tmp_path / "sum.toml"
    path.write_text(
        'programs = ["y[i] = x[i] + x[i]"]\narms = ["poly"]\nsizes = { i = 64 }\n'
        'stop = { rounds = [2, 2], processes = [1, 1], round_ms = 0.1 }\n'
    )
    made = lab.run(path)
    assert made.folder == str(tmp_path / "sum.lab") and [row["arm"] for row in made.rows()] == [
        "poly"
    ]
    assert any("process" in text for text in made.warnings)


@pytest.mark.parametrize(
    "described,kind,words",
    [
        ({"arms": ["poly"]}, ValueError, "programs"),
        (
            {"programs": ["y[i] = x[i]"], "arms": ["poly"], "thread": 2},
            ValueError,
            "unknown key 'thread', did you mean 'threads'",
        ),
        (
            {"programs": ["y[i] = x[i]"], "arms": ["polly"], "sizes": {"i": 4}},
            ValueError,
            "unknown arm 'polly'",
        ),
        ({"programs": ["y[i] = x[i]"], "arms": ["poly"]}, ValueError, "sizes needed: I"),
        (
            {"programs": [object()], "arms": ["poly"]},
            TypeError,
            "of type object, expected texts, numbers",
        ),
    ],
)
def test_what_is_no_experiment(tmp_path, described, kind, words):
    with pytest.raises(kind, match=words):
        lab.run(described, out=tmp_path / "out")


def test_what_cannot_be_read(tmp_path):
    with pytest.raises(ValueError, match="nowhere.toml: there is no such file"):
        lab.run(tmp_path / "nowhere.toml")
    with pytest.raises(TypeError, match="needs out="):
        lab.run({"programs": [], "arms": []})
    with pytest.raises(polyte.Error):
        lab.Results(tmp_path)
    (tmp_path / "plan.json").write_text("{}")
    with pytest.raises(ValueError, match="plan.json"):
        lab.Results(tmp_path)


def test_an_experiment_as_toml(matmul):
    tomllib = pytest.importorskip("tomllib", reason="Python before 3.11 has no TOML")
    s = matmul.script().split("m", 4)
    text, files = lab.experiment(
        {
            "name": 'a "b" \\ é\n\x7f',
            "programs": matmul,
            "sizes": [{"m": 1}, {"m": np.int64(2)}],
            "arms": ["poly", s, s.split("n", 2), {"name": "again", "script": s}, "peer:gcc"],
            "exact": True,
            "stop": {"width": np.float32(0.5), "rounds": (1, 2)},
        }
    )
    assert tomllib.loads(text) == {
        "name": 'a "b" \\ é\n\x7f',
        "programs": ["op.program"],
        "sizes": [{"m": 1}, {"m": 2}],
        "exact": True,
        "stop": {"width": 0.5, "rounds": [1, 2]},
        "arm": [
            {"name": "poly", "scheduler": "poly"},
            {"name": "op_mine", "script": "op_mine.sched"},
            {"name": "op_mine_2", "script": "op_mine_2.sched"},
            {"name": "again", "script": "op_mine.sched"},
            {"name": "peer:gcc", "peer": "gcc"},
        ],
    }
    assert files == {
        "op.program": matmul.text,
        "op_mine.sched": s.text,
        "op_mine_2.sched": s.split("n", 2).text,
    }


def test_the_bar(capsys):
    say = lab._say_bar
    say("[1/4] process 1 of op: poly 5 us; about 3 s left")
    say("[4/4] process 4 of op: poly 5 us")
    say("warning: busy")
    said = capsys.readouterr().err
    assert "[######..................] 1/4 process 1 of op: poly 5 us; about 3 s left" in said
    assert "[########################] 4/4" in said and said.endswith("\nwarning: busy\n")


def test_the_largest_difference_is_taken_apart(matmul, tmp_path):
    said = []
    stop = {"rounds": [5, 5], "processes": [4, 4], "round_ms": 0.1}
    lab.run(
        {
            "programs": [matmul],
            "arms": ["poly", "naive"],
            "stop": stop,
            "explain": 1,
            "sizes": {"m": 64, "n": 64, "k": 64},
        },
        out=tmp_path / "run",
        progress=said.append,
    )
    assert any("naive takes" in line and line.endswith("taken apart") for line in said)
    for part in ("path", "lines"):
        assert (tmp_path / "run" / "differences" / "1" / part / "samples.jsonl").exists()
