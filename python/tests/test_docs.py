"""docs/python.md, example by example, as it is printed there, and the README's lines."""

import doctest
import importlib.util
import os
import re

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def examples():
    """The page's blocks, in order; "python torch" ones only where torch is installed.
    (source, what was left out)."""
    with open(os.path.join(ROOT, "docs", "python.md")) as page:
        blocks = re.findall(r"(?ms)^```python ?(\w*)\n(.*?)^```", page.read())
    modules = {"pillow": "PIL"}
    has = {
        name: not name or importlib.util.find_spec(modules.get(name, name)) is not None
        for name, _ in blocks
    }
    return "\n".join(text for name, text in blocks if has[name]), sorted(
        name for name in has if not has[name]
    )


def test_examples_of_the_guide(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.symlink(os.path.join(ROOT, "examples"), "examples")
    source, left_out = examples()
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    test = doctest.DocTestParser().get_doctest(source, {}, "python.md", "docs/python.md", 0)
    assert len(test.examples) > 25
    said = []
    doctest.DocTestRunner(verbose=False, optionflags=flags).run(test, out=said.append)
    if said:
        pytest.fail("".join(said))
    if left_out:
        pytest.skip(f"the others are right; not installed: {', '.join(left_out)}")


def test_lines_of_the_readme():
    with open(os.path.join(ROOT, "README.md")) as page:
        (lines,) = re.findall(r"(?ms)^```python\n(.*?)^```", page.read())
    names = {}
    exec(lines, names)
    assert names["y"].shape == (128, 768) and (names["y"] == 768).all()
