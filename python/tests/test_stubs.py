"""_polyte.pyi says what the extension has: every name, member and parameter, and nothing else."""

import ast
import os
import re

import pytest

import polyte
from polyte import _polyte

with open(os.path.join(os.path.dirname(polyte.__file__), "_polyte.pyi")) as file:
    STUBS = {
        node.name: node
        for node in ast.parse(file.read()).body
        if isinstance(node, (ast.ClassDef, ast.FunctionDef))
    }
CLASSES = {name: node for name, node in STUBS.items() if isinstance(node, ast.ClassDef)}


def public(names):
    return {name for name in names if not name.startswith("_")}


def members(node):
    return {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}


def is_property(node):
    return any(isinstance(each, ast.Name) and each.id == "property" for each in node.decorator_list)


def test_every_name():
    assert set(STUBS) == public(vars(_polyte))


@pytest.mark.parametrize("name", CLASSES)
def test_every_member(name):
    cls, stub = getattr(_polyte, name), members(CLASSES[name])
    assert public(stub) == public(vars(cls))
    for member, node in stub.items():
        held = vars(cls).get(member)
        assert held is not None and is_property(node) == (
            type(held).__name__ in ("property", "getset_descriptor")
        ), member


def parameters(signature):
    """Of a signature of nanobind's, "def f(a: int, b: int = \\0, *args) -> None"."""
    return ast.parse(re.sub(r"\\\d+", "0", signature.split("\n")[0]) + ": ...").body[0].args


def shape(arguments):
    return (
        len(arguments.posonlyargs + arguments.args),
        arguments.vararg is not None,
        arguments.kwarg is not None,
    )


def functions():
    for name, node in STUBS.items():
        if isinstance(node, ast.FunctionDef):
            yield pytest.param(getattr(_polyte, name), node, id=name)
        else:
            for member, method in members(node).items():
                if not is_property(method) and member != "__init__":
                    yield pytest.param(
                        getattr(getattr(_polyte, name), member), method, id=f"{name}.{member}"
                    )


@pytest.mark.parametrize("function,node", list(functions()))
def test_every_parameter(function, node):
    ((signature, *_),) = function.__nb_signature__
    got, said = parameters(signature), node.args
    named_only = len(said.kwonlyargs)
    assert (
        shape(got)[0] == shape(said)[0]
        and (shape(got)[2] or not named_only)
        and shape(got)[1] == shape(said)[1]
    ), signature


def test_the_package_has_what_it_says():
    for name in polyte.__all__:
        assert getattr(polyte, name) is not None
    assert {"build", "op", "program", "compile_onnx", "lab", "expr", "to_device"} <= set(
        polyte.__all__
    )


@pytest.mark.parametrize("name", polyte.__all__)
def test_everything_public_is_documented(name):
    thing = getattr(polyte, name)
    assert thing.__doc__, name
    if isinstance(thing, type) and thing.__module__.startswith("polyte."):
        for member, held in vars(thing).items():
            if not member.startswith("_") and callable(held):
                assert held.__doc__, f"{name}.{member}"
