"""`provider.cwd`: the folder of the project in which an agent starts."""

from __future__ import annotations

import pytest

from tests.conftest import VERIFIED, Project, does


def commit(project: Project, name: str) -> None:
    project.write(name, "x\n")
    project.git("add", name)
    project.git("commit", "-q", "-m", "A package")


def test_an_agent_starts_in_a_package_and_its_work_counts(project: Project) -> None:
    commit(project, "packages/web/app.txt")
    project.config("test -f packages/web/work.txt", provider={"cwd": "packages/web"})
    project.script(does("US-001", "work.txt"), VERIFIED)
    project.stories("One")

    project.ralph("run", "auth")

    assert project.landed("packages/web/work.txt") == "x"
    assert project.prompts()[0].startswith("You start in the folder `packages/web` of the project.")
    assert f"{project.path}/.ralph/worktrees/.slots/1\n" in project.prompts()[0]


def link(project: Project) -> None:
    (project.path / "out").symlink_to(project.home)


@pytest.mark.parametrize(
    ("cwd", "before", "said"),
    [
        ("packages/web", None, "is not a folder in"),
        ("../elsewhere", None, "is outside the project"),
        ("out", link, "leads out of the project"),
    ],
)
def test_a_wrong_folder_is_refused_before_anything_starts(
    project: Project, cwd: str, before: object, said: str
) -> None:
    if callable(before):
        before(project)
    project.config("true", provider={"cwd": cwd})
    project.script(does("US-001", "work.txt"))
    project.stories("One")

    done = project.ralph("run", "auth", code=1)

    assert f"provider.cwd: {cwd!r} {said}" in done.stderr
    assert project.calls() == 0 and not project.events()


def test_a_folder_that_is_not_committed_stops_the_run(project: Project) -> None:
    project.write("packages/new/app.txt", "x\n")
    project.config("true", provider={"cwd": "packages/new"})
    project.script(does("US-001", "work.txt"))
    project.stories("One")

    done = project.ralph("run", "auth", code=1)

    assert "provider.cwd: 'packages/new' is not a folder in" in done.stdout + done.stderr
    assert "that is committed" in done.stdout + done.stderr
    assert project.calls() == 0 and project.story().get("retries", 0) == 0


def test_that_isolation_is_off_is_said(project: Project) -> None:
    project.config("true", provider={"command": "sh", "args": ["-c", "true"], "dialect": "codex", "isolate": False})
    project.stories("One")

    for command in (["doctor"], ["run", "auth", "--once"]):
        done = project.ralph(*command, code=None)
        assert "isolate is off: your own settings, hooks, memory and tool servers reach sh" in done.stdout
