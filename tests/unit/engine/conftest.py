"""What tests of the loop share: another package, installed beside Ralph, that brings step types of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

MODULE = "ralph_steps_of_another_package"
SOURCE = """
from ralph.steps import Context, Step, StepResult, StepSettings

class Shout(Step):
    class Settings(StepSettings):
        text: str = "hello"
        times: int = 1

    async def run(self, context: Context) -> StepResult:
        settings = self.settings(self.Settings)
        (context.cwd / "shout.txt").write_text(settings.text.upper() * settings.times)
        return self.passed()

class Broken(Step):
    async def run(self, context: Context) -> StepResult:
        raise LookupError("nobody thought of this")

NotAStep = 3
"""

Install = Callable[[dict[str, str]], None]


@pytest.fixture
def install(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a package whose entry points, by the names of step types, name what is in `SOURCE`."""
    folder = tmp_path_factory.mktemp("site-packages")

    def installed(types: dict[str, str]) -> None:
        about = folder / "another_package-1.0.dist-info"
        about.mkdir()
        (folder / f"{MODULE}.py").write_text(SOURCE)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: another-package\nVersion: 1.0\n")
        points = "".join(f"{name} = {MODULE}:{thing}\n" for name, thing in types.items())
        (about / "entry_points.txt").write_text(f"[ralph.steps]\n{points}")
        monkeypatch.syspath_prepend(folder)

    yield installed
    sys.modules.pop(MODULE, None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a run works; nothing else is in it."""
    made = tmp_path / "project"
    made.mkdir()
    return made
