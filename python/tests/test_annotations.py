"""Every public function and method of the package says the types of what it takes and gives."""

import ast
import os
import typing

import pytest

import polyte

FOLDER = os.path.dirname(polyte.__file__)


def public(name):
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def functions(tree):
    """(name, node, whether it is a method) of what people call."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and public(node.name):
            yield node.name, node, False
        if isinstance(node, ast.ClassDef) and public(node.name):
            for each in node.body:
                if isinstance(each, ast.FunctionDef) and public(each.name):
                    static = any(
                        getattr(d, "id", "") == "staticmethod" for d in each.decorator_list
                    )
                    yield f"{node.name}.{each.name}", each, not static


def cases():
    for file in sorted(os.listdir(FOLDER)):
        if file.endswith(".py"):
            with open(os.path.join(FOLDER, file)) as source:
                for name, node, is_method in functions(ast.parse(source.read())):
                    yield pytest.param(node, is_method, id=f"{file[:-3]}.{name}")


@pytest.mark.parametrize("node,is_method", list(cases()))
def test_annotated(node, is_method):
    taken = node.args
    named = taken.posonlyargs + taken.args + taken.kwonlyargs
    for each in named[is_method:] + [a for a in (taken.vararg, taken.kwarg) if a]:
        assert each.annotation is not None, f"{each.arg} has no type"
    assert node.returns is not None or node.name == "__init__"


@pytest.mark.parametrize("name", [n for n in polyte.__all__ if callable(getattr(polyte, n))])
def test_annotations_are_understood(name):
    """Names in them exist, where they are not of packages that may be missing."""
    thing = getattr(polyte, name)
    if getattr(thing, "__module__", "") == "polyte._polyte":
        pytest.skip("of the extension: _polyte.pyi")
    module = __import__(thing.__module__, fromlist=["polyte"])
    known = {**vars(polyte), **vars(polyte.expr), **vars(module)}
    known.setdefault("pandas", typing)
    for each in [thing, *vars(thing).values()] if isinstance(thing, type) else [thing]:
        for text in getattr(each, "__annotations__", {}).values():
            if isinstance(text, str) and "pandas" not in text and "pyarrow" not in text:
                eval(text, known)  # noqa: S307: our own
