"""docs/python.md, example by example, as it is printed there."""
import doctest
import os
import re

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def examples():
    with open(os.path.join(ROOT, "docs", "python.md")) as page:
        text = page.read()
    return "\n".join(re.findall(r"(?ms)^```python\n(.*?)^```", text))


def test_examples_of_the_guide(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.symlink(os.path.join(ROOT, "examples"), "examples")
    source = examples()
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    test = doctest.DocTestParser().get_doctest(source, {}, "python.md", "docs/python.md", 0)
    assert len(test.examples) > 25
    said = []
    doctest.DocTestRunner(optionflags=flags).run(test, out=said.append)
    if said:
        pytest.fail("".join(said))
