"""RX.20: a gate that is red only because a clean checkout lacks what the person has is no red code."""

from __future__ import annotations

import json

import pytest

from tests.conftest import VERIFIED, Project, does


@pytest.fixture
def ready(project: Project) -> Project:
    project.write(".gitignore", "local/\nbuild/\n*.local\nconf/my.json\n")
    project.write("conf/all.json", "{}\n")
    project.git("add", "-A")
    project.git("commit", "-qm", "Rules")
    for name in ("conf/my.json", "local/data", "a.local", "b.local", "c.local"):
        project.write(name, f"{name}\n")
    project.stories("One")
    project.script(does("US-001", "one.txt"), VERIFIED)
    return project


def everything(project: Project) -> dict[str, int]:
    """All that is in the person's checkout, with its times, but for Ralph's own folder and git's."""
    found = (path for path in project.path.rglob("*") if not {".ralph", ".git"} & set(path.parts))
    return {str(path): path.lstat().st_mtime_ns for path in found}


def copies(project: Project, name: str) -> list[str]:
    return [str(path) for path in (project.path / ".ralph/worktrees").rglob(name)]


def test_a_file_that_only_the_checkout_has_is_named_with_what_helps(ready: Project) -> None:
    gate = "mkdir -p made && echo x >> conf/all.json && cat conf/my.json"
    ready.config(gate)
    before = everything(ready)

    done = ready.ralph("run", "auth", code=1)

    assert f"The gate `{gate}` fails in a clean checkout" in done.stderr
    assert "passes with files that only your checkout has: conf/my.json." in done.stderr
    assert 'Set "worktrees": {"copy": ["conf/my.json"]}' in done.stderr
    assert ready.calls() == 0
    assert everything(ready) == before, "the person's checkout is not written to"
    assert copies(ready, "my.json") == copies(ready, "*.local") == []

    ready.config(gate, worktrees={"copy": ["conf/my.json"]})
    ready.ralph("run", "auth")


def test_several_of_many_files_are_named_also_if_no_output_names_them(ready: Project) -> None:
    ready.config("test -f a.local -a -f c.local")

    told = ready.ralph("run", "auth", code=1).stderr

    assert "only your checkout has: a.local, c.local." in told


@pytest.mark.parametrize("folder", ["local", "build"])
def test_a_command_that_only_the_checkout_has_is_named(ready: Project, folder: str) -> None:
    ready.write(f"{folder}/check", "#!/bin/sh\n").chmod(0o755)
    ready.config(f"{folder}/check")

    assert f"only your checkout has: {folder}." in ready.ralph("run", "auth", code=1).stderr


def test_a_gate_that_fails_with_those_files_too_says_so(ready: Project) -> None:
    ready.config("test -f nowhere", maxRetries=1)

    told = ready.ralph("run", "auth", code=3).stdout

    assert "Ralph runs it again with copies of the files that only your checkout has." in told
    assert "It fails with them too." in told


def test_a_file_that_is_not_ignored_is_to_be_committed(ready: Project) -> None:
    ready.write("helper.sh", "true\n")
    ready.config("sh helper.sh")

    assert "Commit helper.sh." in ready.ralph("run", "auth", code=1).stderr


def test_a_variable_that_gates_do_not_get_is_named(ready: Project) -> None:
    gate = 'test -n "$SHOP_URL" || { echo "KeyError: SHOP_URL"; exit 1; }'
    ready.config(gate)

    told = ready.ralph("run", "auth", code=1, env={"SHOP_URL": "http://x"}).stderr

    assert "names SHOP_URL, which is set in your shell but not passed to gates." in told
    assert '"verify": {"env": ["SHOP_URL"]}' in told
    assert ready.calls() == 0
    ready.config(gate, verify={"env": ["SHOP_URL"]})
    ready.ralph("run", "auth", env={"SHOP_URL": "http://x"})


@pytest.mark.parametrize(
    "gate",
    [
        "test -f one.txt",  # red here and there, until the story is done
        "echo x >> $HOME/../runs; test $(wc -l < $HOME/../runs) -gt 1",  # red the first time only
    ],
)
def test_what_is_red_in_both_places_or_now_and_then_is_an_agents_to_mend(ready: Project, gate: str) -> None:
    ready.config(gate)

    ready.ralph("run", "auth")

    assert ready.story()["passes"]


def test_a_person_who_goes_on_all_the_same_can(ready: Project) -> None:
    ready.config("test -f conf/my.json", maxRetries=1)

    ready.ralph("run", "auth", "--keep-going", code=3)

    assert ready.calls() == 1


def test_agents_work_never_runs_beside_the_persons_files(ready: Project) -> None:
    seen = "ls *.local >> $HOME/../seen 2>/dev/null"
    ready.config("true")
    ready.ralph("run", "auth")
    ready.stories("Two", feature="more")
    plan = json.loads(ready.read(".ralph/2026-01-01-more/prd.json"))
    ready.write(".ralph/2026-01-01-more/prd.json", json.dumps({**plan, "branchName": "ralph/auth"}))
    ready.config(f"{seen}; test -f two.txt")
    ready.script(does("US-001", "two.txt"), VERIFIED)

    ready.ralph("run", "more", code=None)

    assert ready.events("baseline_ended")[-1]["red"]
    assert not (ready.folder / "seen").exists() or not (ready.folder / "seen").read_text()
