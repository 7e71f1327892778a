"""What `python -m build --sdist` packs is enough to configure a build."""

import os
import shutil
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def packed():
    """The repository's files without those that pyproject.toml leaves out."""
    tomllib = pytest.importorskip("tomllib", reason="Python before 3.11 has no TOML")
    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        left_out = tomllib.load(file)["tool"]["scikit-build"]["sdist"]["exclude"]
    assert all(each.startswith("/") and "*" not in each for each in left_out)
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if files.returncode != 0:
        pytest.skip("not in a checkout of git")
    return [
        path
        for path in files.stdout.split("\0")
        if path and not any(f"/{path}/".startswith(each + "/") for each in left_out)
    ]


@pytest.mark.skipif("POLYTE_SANITIZED" in os.environ, reason="a sanitizer is loaded into cmake")
@pytest.mark.skipif(not shutil.which("cmake"), reason="there is no cmake")
def test_it_can_be_configured(tmp_path):
    for path in packed():
        source, copy = os.path.join(ROOT, path), tmp_path / "polyte" / path
        if os.path.isfile(source):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
    options = ["-DPOLYTE_TESTS=OFF", "-DCMAKE_BUILD_TYPE=Release",
               f"-DPOLYTE_PYTHON_EXECUTABLE={sys.executable}"]  # fmt: skip
    run = subprocess.run(
        ["cmake", "-S", tmp_path / "polyte", "-B", tmp_path / "build", "-G", "Ninja", *options],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-4000:]
    assert (tmp_path / "build" / "build.ninja").exists()
