"""The structure that `make check` insists on: each rule is broken once, just, and just not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts/check_structure.py"
PROJECT = """
[[tool.importlinter.contracts]]
name = "Imports point one way"
type = "layers"
layers = ["ralph.cli", "ralph.loop | ralph.views", "(ralph.extra) : ralph.errors"]

[[tool.importlinter.contracts]]
name = "Something else"
type = "forbidden"
source_modules = ["ralph.stray"]
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with a layer for each of its parts."""
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    for name in ("__init__.py", "cli/__init__.py", "loop/__init__.py", "views/a.py", "extra.py", "errors.py"):
        add(tmp_path, name, f'"""About {name}."""\n')
    return tmp_path


def add(root: Path, name: str, text: str) -> None:
    path = root / "src/ralph" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def found(root: Path) -> list[str]:
    done = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.returncode == (1 if done.stdout else 0)
    return done.stdout.splitlines()


def test_a_project_that_is_in_order_passes(root: Path) -> None:
    assert found(root) == []


def test_a_module_may_have_400_lines(root: Path) -> None:
    add(root, "loop/most.py", "x = 1\n" * 400)
    add(root, "loop/more.py", "x = 1\n" * 401)
    assert found(root) == ["src/ralph/loop/more.py: 401 lines, more than 400: split the module"]


def function(lines: int, head: str = "def") -> str:
    return f"{head} f{lines}():\n" + "    x = 1\n" * (lines - 1)


def test_a_function_may_have_60_lines_also_in_a_class_or_in_a_function(root: Path) -> None:
    inner = "".join(f"    {line}\n" for line in function(61, "async def").splitlines())
    add(root, "cli/most.py", "import functools\n\n\n@functools.cache\n" + function(60))
    add(root, "cli/more.py", f"class Holder:\n{inner}")
    add(root, "cli/nested.py", f"def outer():\n{inner}")
    assert found(root) == [
        "src/ralph/cli/more.py:2: f61 has 61 lines, more than 60: split it",
        "src/ralph/cli/nested.py:1: outer has 62 lines, more than 60: split it",
        "src/ralph/cli/nested.py:2: f61 has 61 lines, more than 60: split it",
    ]


def test_a_class_name_means_one_class_wherever_it_is_defined(root: Path) -> None:
    add(root, "views/rows.py", "class Row:\n    pass\n\n\nclass Cell:\n    pass\n")
    add(root, "loop/rows.py", "def rows():\n    class Row:\n        pass\n")
    where = "src/ralph/loop/rows.py:2, src/ralph/views/rows.py:1"
    assert found(root) == [f"class Row is defined 2 times, rename all but one: {where}"]


def test_every_part_of_the_package_is_in_a_layer(root: Path) -> None:
    add(root, "stray.py", "")
    add(root, "strays/deep/one.py", "")
    (root / "src/ralph/prompts").mkdir()
    (root / "src/ralph/prompts/task.md").write_text("# Not a module\n")
    assert found(root) == [
        "src/ralph/stray.py: no layer of [tool.importlinter] in pyproject.toml names ralph.stray",
        "src/ralph/strays: no layer of [tool.importlinter] in pyproject.toml names ralph.strays",
    ]


def test_a_folder_without_the_package_is_not_in_order(tmp_path: Path) -> None:
    assert found(tmp_path) == [f"{tmp_path}/src/ralph: there are no modules"]
