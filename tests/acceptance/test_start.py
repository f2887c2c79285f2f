"""What a start costs, without a clock: which modules are loaded, and how many git processes are started."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import VERIFIED, Project, does

NAMES = """import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
sys.argv = ["ralph", *sys.argv[1:]]
from ralph.cli.entry import main
main()
"""
SCHEMAS = {"pydantic", "pydantic_core", "importlib.metadata"}
READS = {"asyncio", "ralph.agent", "ralph.checkout", "ralph.engine.lifecycle", "ralph.steps"} | SCHEMAS
LOOKS = {"ralph.config", "ralph.engine"} | READS
ATTEMPTS = {
    "ralph.steps", "ralph.provision", "ralph.testing",
    "ralph.engine.attempt", "ralph.engine.baseline", "ralph.engine.landing", "ralph.engine.loop",
    "ralph.engine.recovery", "ralph.engine.ui_ready", "ralph.engine.verification", "ralph.engine.working",
    "ralph.checkout.working_copy", "ralph.protect.ledger", "ralph.protect.protection",
    "ralph.verify.gates", "ralph.verify.output", "ralph.verify.pages", "ralph.verify.services", "ralph.verify.urls",
}  # fmt: skip
OTHERS = {
    "ralph.agent.conversation", "ralph.agent.probe.calls", "ralph.cli.probing",
    "ralph.stores.plan_schema", "ralph.views.reports", "ralph.workflows.requirements.workflow",
    "ralph.workflows.session.locate", "ralph.workflows.session.store", "ralph.workflows.specs.spec_files",
    "genai_prices", "markdown_it", "playwright", "starlette", "tomllib", "uvicorn", "ralph.web",
}  # fmt: skip


@pytest.fixture
def finished(project: Project) -> Project:
    project.config("true")
    project.stories("One")
    project.script(does("US-001", "one.txt"), VERIFIED)
    project.git("add", "-A")
    project.git("commit", "-qm", "Plan")
    project.ralph("run", "auth")
    project.ralph("trust", "--yes")
    del project.env["RALPH_TRUST"]
    return project


def loaded(project: Project, *args: str) -> set[str]:
    argv = [sys.executable, "-c", NAMES, *args]
    done = subprocess.run(argv, cwd=project.path, env=project.env, capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_the_version_is_told_without_loading_anything(project: Project) -> None:
    found = loaded(project, "--version")
    assert {name for name in found if name.startswith("ralph.")} == {"ralph.cli", "ralph.cli.entry", "ralph.errors"}
    assert sorted(found & {"click", "pydantic", "asyncio", "dataclasses"}) == []


@pytest.mark.parametrize("args", [["status"], ["status", "auth"], ["--help"]], ids=" ".join)
def test_commands_that_only_look_load_neither_the_engine_nor_what_it_needs(finished: Project, args: list[str]) -> None:
    found = loaded(finished, *args)
    assert "click" in found
    assert sorted(found & (LOOKS | ATTEMPTS | OTHERS)) == []


def test_what_is_next_is_told_without_the_parts_that_work(finished: Project) -> None:
    found = loaded(finished, "next")
    assert "ralph.workflows.feature.workflow" in found
    assert sorted(found & (READS | ATTEMPTS | OTHERS)) == []


def test_a_run_of_a_finished_plan_loads_nothing_that_only_attempts_need(finished: Project) -> None:
    found = loaded(finished, "run", "auth")
    assert "ralph.engine.lifecycle" in found
    assert sorted(found & (ATTEMPTS | OTHERS | SCHEMAS)) == []


@pytest.mark.parametrize(("args", "most"), [("status", 2), ("next", 2), ("run auth", 7)])
def test_with_a_finished_plan_few_processes_start(finished: Project, args: str, most: int) -> None:
    with finished.counting_git() as count:
        finished.ralph(*args.split())
    assert 0 < count() <= most


def test_a_story_and_its_final_verification_start_few_processes(project: Project) -> None:
    project.config("true")
    project.stories("One")
    project.script(
        {"match": r"\*\*ID:\*\* US-001\b", "write": {"one.txt": "1\n"}, "done": True},  # it starts no git of its own
        VERIFIED,
    )
    project.git("add", "-A")
    project.git("commit", "-qm", "Plan")
    with project.counting_git() as count:
        project.ralph("run", "auth")
    assert 0 < count() <= 23
