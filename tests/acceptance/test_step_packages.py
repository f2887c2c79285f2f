"""R4.3: step types that another package adds: really built, really installed, used like any other."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest

from tests.acceptance.requirements import COMMIT, PLANNING, VERIFY, WORK, Empty, Founded, does
from tests.acceptance.test_requirements_init import INIT, TASKS, nothing_was_founded, scripted

DOCUMENTED = Path(__file__).parents[2] / "docs/reference/steps.md"
PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "1.0"

[tool.hatch.build.targets.wheel]
only-include = {files}

"""
MORE = """
import asyncio
import os
import sys
from typing import Annotated

from pydantic import Field
from ralph.steps import Context, Step, StepResult, StepSettings


class Strict(Step):
    class Settings(StepSettings):
        colour: str
        times: Annotated[int, Field(ge=1)] = 1

    async def run(self, context: Context) -> StepResult:
        settings = self.settings(self.Settings)
        tries = context.host.root / "tries"
        tries.write_text((tries.read_text() if tries.exists() else "") + f"{settings.colour}\\n")
        enough = len(tries.read_text().splitlines()) >= settings.times
        return self.passed() if enough else self.failed("not often enough")


class Breaks(Step):
    class Settings(StepSettings):
        how: str

    async def run(self, context: Context) -> StepResult:
        match self.settings(self.Settings).how:
            case "value":
                raise ValueError("no luck today")
            case "file":
                return StepResult(open("/no/such/file").read())
            case "time":
                raise TimeoutError("the server is slow")
            case "exit":
                sys.exit(7)
            case "nothing":
                return None
            case "cancelled":
                raise asyncio.CancelledError
            case _:
                return "done"


class Hangs(Step):
    async def run(self, context: Context) -> StepResult:
        await asyncio.sleep(3600)
        return self.passed()


class Noop(Step):
    async def run(self, context: Context) -> StepResult:
        return self.failed("this is not the real one")


class NotAStep:
    pass
"""
STEPS = {"strict": "Strict", "breaks": "Breaks", "hangs": "Hangs", "noop": "Noop"}


@dataclass(frozen=True)
class Installed:
    """Where packages were installed, as `PYTHONPATH` for whoever is to see them."""

    good: Path
    bad: Path

    @property
    def env(self) -> dict[str, str]:
        return {"PYTHONPATH": str(self.good)}

    @property
    def bad_env(self) -> dict[str, str]:
        return {"PYTHONPATH": str(self.bad)}


def install(folder: Path, name: str, modules: dict[str, str], entry_points: str) -> Path:
    """Build a package and install it, beside Ralph and not into it."""
    source, target = folder / name, folder / f"{name}-installed"
    source.mkdir()
    files = json.dumps([f"{module}.py" for module in modules])
    (source / "pyproject.toml").write_text(PROJECT.format(name=name, files=files) + entry_points)
    for module, text in modules.items():
        (source / f"{module}.py").write_text(text)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    options = ["--no-cache-dir", "--disable-pip-version-check", "--target", str(target), str(source)]
    done = subprocess.run([*pip, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENTED.read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("packages")
    documented, entry_points = blocks("python")[0], blocks("toml")[0]
    more = "".join(f'{name} = "more_steps:{kind}"\n' for name, kind in STEPS.items())
    bad = '[project.entry-points."ralph.steps"]\nbroken = "bad_steps:Broken"\nodd = "more_steps:NotAStep"\n'
    return Installed(
        good=install(folder, "good-steps", {"my_package": documented, "more_steps": MORE}, entry_points + more),
        bad=install(folder, "bad-steps", {"bad_steps": "import no_such_library\n", "more_steps": MORE}, bad),
    )


def test_the_documented_package_works_like_any_other_step(founded: Founded, installed: Installed) -> None:
    founded.steps(WORK, {"type": "shout", "config": {"text": "hi"}}, VERIFY, COMMIT)
    founded.config("grep -q HI shout.txt")
    founded.script(does("T-001", "one.txt"), does("T-002", "two.txt"))

    done = founded.ralph("run", "--no-baseline", env=installed.env)

    assert "✓ .ralph/configs/default.json: work, shout, verify, git-commit" in done.stdout
    assert founded.states() == {"T-001": "done", "T-002": "done"}
    steps = [event["step"] for event in founded.events("step_started") if event["work"] == "T-001"]
    assert steps == ["work", "shout", "verify", "git-commit"]


def test_it_has_time_limits_retries_and_a_circuit_breaker(founded: Founded, installed: Installed) -> None:
    strict = {"type": "strict", "max_retries": 2, "config": {"colour": "blue", "times": 3}}
    hangs = {"type": "hangs", "timeout": "0.2s", "continue_on_error": True}
    hangs["circuit_breaker"] = {"threshold": 1, "reset_after": "1h"}
    founded.steps(WORK, strict, hangs, VERIFY, COMMIT)
    founded.script(does("T-001", "one.txt"), does("T-002", "two.txt"))

    done = founded.ralph("run", env=installed.env)

    assert founded.read("tries") == "blue\n" * 4, "three for the first task, one for the second"
    assert done.stdout.count("retrying strict: not often enough") == 2
    assert "the circuit breaker of hangs is open after 1 failure in a row" in done.stdout
    assert "complete · all gates green" in done.stdout


def test_the_schema_knows_it_and_its_settings(installed: Installed, founded: Founded) -> None:
    schema = json.loads(founded.ralph("schema", "steps", env=installed.env).stdout)
    good = {"steps": [WORK, {"type": "shout", "config": {"text": "hi"}}, {"type": "strict", "config": {"colour": "x"}}]}

    jsonschema.validate(good, schema)
    for config in ({"txet": "hi"}, {"text": 7}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"steps": [WORK, {"type": "shout", "config": config}]}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"steps": [WORK, {"type": "strict"}]}, schema)
    without = json.loads(founded.ralph("schema", "steps").stdout)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(good, without)


def test_mistakes_in_its_settings_are_told_with_their_place(founded: Founded, installed: Installed) -> None:
    founded.steps(
        WORK,
        {"type": "shout", "config": {"txet": "hi"}},
        {"type": "strict", "config": {"times": 0}},
        {"type": "shot"},
    )

    said = founded.errors("run", env=installed.env)
    validated = founded.ralph("validate", code=1, env=installed.env).stdout

    for mistake in (
        "steps[1].config.txet",
        "did you mean 'text'?",
        "steps[2].config.colour",
        "steps[2].config.times",
        "steps[3].type: there is no step type 'shot'; did you mean 'shout'?",
    ):
        assert mistake in said
        assert mistake in validated


BROKEN = {
    "value": "The step 'breaks' crashed: ValueError: no luck today",
    "file": "No such file or directory",
    "time": "the server is slow",
    "exit": "The step 'breaks' crashed",
    "nothing": "The step 'breaks' crashed",
    "other": "The step 'breaks' crashed",
    "cancelled": "The step 'breaks' crashed",
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_step_that_breaks_fails_the_loop_and_not_the_run(founded: Founded, installed: Installed, how: str) -> None:
    founded.steps(WORK, {"type": "breaks", "config": {"how": how}}, VERIFY, COMMIT, max_loops_per_task=1)
    founded.script(does("T-001", "one.txt"), does("T-002", "two.txt"))

    done = founded.ralph("run", code=3, env=installed.env)

    assert founded.states() == {"T-001": "failed", "T-002": "failed"}
    assert BROKEN[how] in founded.task()["notes"]
    assert "Traceback" not in done.stdout
    assert founded.aggregate()["status"] == "failed"


def test_built_in_names_cannot_be_taken(founded: Founded, installed: Installed) -> None:
    founded.steps(WORK, {"type": "noop"}, VERIFY, COMMIT)
    founded.script(does("T-001", "one.txt"), does("T-002", "two.txt"))

    founded.ralph("run", env=installed.env)

    assert founded.states() == {"T-001": "done", "T-002": "done"}


def test_a_package_that_cannot_be_imported_is_named_with_its_reason(founded: Founded, installed: Installed) -> None:
    founded.steps(WORK, {"type": "broken"})

    said = founded.errors("run", env=installed.bad_env)

    assert "the step type 'broken' could not be loaded from bad_steps:Broken: No module named 'no_such_library'" in said
    assert "No module named 'no_such_library'" in founded.ralph("validate", code=1, env=installed.bad_env).stdout
    assert "no_such_library" in founded.errors("schema", "steps", env=installed.bad_env)


def test_what_is_no_step_is_refused(founded: Founded, installed: Installed) -> None:
    founded.steps(WORK, {"type": "odd"})

    said = founded.errors("run", env=installed.bad_env)

    assert "the step type 'odd' (more_steps:NotAStep) is not a subclass of ralph.steps.Step" in said


def test_a_broken_package_that_nobody_uses_stops_no_run(founded: Founded, installed: Installed) -> None:
    founded.script(does("T-001", "one.txt"), does("T-002", "two.txt"))

    founded.ralph("run", env=installed.bad_env)

    assert founded.states() == {"T-001": "done", "T-002": "done"}


def test_a_broken_package_leaves_no_half_founded_project(empty: Empty, installed: Installed) -> None:
    scripted(empty, {"match": PLANNING, "answer": {"tasks": TASKS}})

    done = empty.ralph(*INIT, code=None, env=installed.bad_env)

    assert done.returncode == 0 or nothing_was_founded(empty), done.stderr
