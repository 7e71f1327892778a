"""ONNX files and artifacts."""

import os

import numpy as np
import pytest

import polyte

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DIGITS = os.path.join(ROOT, "examples", "digits", "digits.onnx")


@pytest.fixture(scope="module")
def artifact(tmp_path_factory):
    path = tmp_path_factory.mktemp("digits") / "digits.polyte"
    report = polyte.compile_onnx(DIGITS, path)
    assert report.groups and all(
        group.scheduler == "poly" and not group.declined for group in report.groups
    )
    return path


def shaped(specs):
    rng = np.random.default_rng(4)
    return {
        name: rng.standard_normal([abs(extent) for extent in shape]).astype(np.float32)
        for name, _, shape in specs
    }


def test_an_artifact_runs(artifact):
    session = polyte.Session(artifact, threads=2)
    inputs = shaped(session.inputs)
    by_name, by_place = session(**inputs), session(*inputs.values())
    assert list(by_name) == [name for name, _, _ in session.outputs] and session.threads == 2
    network = polyte.Network(DIGITS)
    compiled_here = network(**inputs)
    assert network.compilations == 1
    for name, array in by_name.items():
        np.testing.assert_array_equal(array, by_place[name])
        np.testing.assert_array_equal(array, compiled_here[name])
        given = np.empty_like(array)
        assert session(**inputs, out={name: given})[name] is given
        np.testing.assert_array_equal(given, array)


def test_what_does_not_fit(artifact):
    session = polyte.Session(artifact)
    inputs = shaped(session.inputs)
    name = next(iter(inputs))
    for bad, kind, words in (
        ({}, ValueError, f"input '{name}' is missing"),
        ({**inputs, "q": inputs[name]}, ValueError, "there is no input 'q'"),
        ({name: inputs[name].astype(np.float64)}, ValueError, "f64"),
        ({name: "text"}, ValueError, "of type str"),
    ):
        with pytest.raises(kind, match=words):
            session(**bad)
    with pytest.raises(TypeError, match="given twice"):
        session(inputs[name], **inputs)
    with pytest.raises(ValueError, match="there is no output 'nothing'"):
        session(**inputs, out={"nothing": inputs[name]})


def field(number, value):
    """Of a short message of protobuf: a number, a text or a message."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    data = value.encode() if isinstance(value, str) else value
    return bytes([number << 3 | 2, len(data)]) + data


def test_each_output_is_at_fault_by_its_own_name(tmp_path):
    shape = field(2, field(1, field(1, 3)))
    kind = field(2, field(1, field(1, 1) + shape))
    graph = b"".join(
        [
            *(
                field(1, field(1, "x") + field(2, out) + field(4, op))
                for out, op in (("a", "Relu"), ("b", "Neg"))
            ),
            field(2, "g"),
            field(11, field(1, "x") + kind),
            *(field(12, field(1, out) + kind) for out in "ab"),
        ]
    )
    (tmp_path / "two.onnx").write_bytes(field(1, 8) + field(7, graph) + field(8, field(2, 17)))
    polyte.compile_onnx(tmp_path / "two.onnx", tmp_path / "two.polyte")
    session = polyte.Session(tmp_path / "two.polyte")
    x, read_only = np.ones(3, np.float32), np.zeros(3, np.float32)
    assert list(session(x)) == ["a", "b"]
    read_only.flags.writeable = False
    with pytest.raises(ValueError) as caught:
        session(x, out={"a": object(), "b": read_only})
    first, second = caught.value.problems
    assert first.startswith("argument 'a' is of type object")
    assert second == "output 'b' is read-only"


def test_files_that_are_none(tmp_path):
    with pytest.raises(polyte.errors.ArtifactError):
        polyte.Session(DIGITS)
    with pytest.raises(polyte.Error):
        polyte.Session(tmp_path / "nothing.polyte")
    with pytest.raises(polyte.errors.InvalidInput):
        polyte.compile_onnx(tmp_path / "nothing.onnx", tmp_path / "out.polyte")
    with pytest.raises(TypeError, match="there is no option 'schedular'"):
        polyte.compile_onnx(DIGITS, schedular="poly")
    with pytest.raises(ValueError, match="expected naive, isl, poly or template"):
        polyte.compile_onnx(DIGITS, scheduler="fast")


def test_nothing_is_written_without_a_name():
    report = polyte.compile_onnx(DIGITS, scheduler="template")
    assert report.groups[0].script.startswith("schedule") and report.groups[0].program.startswith(
        "program"
    )
