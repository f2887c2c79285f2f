"""RX.16: work is verified together with all that lands before it, at the same time, and once."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import VERIFIED, Project, does, processes_in, wait_for

WAITS = "while [ $(wc -l < $HOME/../gates) -lt %d ]; do sleep 0.02; done"
MEET = f"echo x >> $HOME/../gates; [ -e $HOME/../met ] || {{ {WAITS}; : > $HOME/../met; }}"
"""A gate that ends when so many have begun: one after the other, none of them would."""
JUNIT = """echo '<testsuite name="all">' > report.xml; code=0
for test in tests/*.sh; do
    if sh $test; then echo "<testcase name=\\"$test\\"/>" >> report.xml
    else code=1; echo "<testcase name=\\"$test\\"><failure/></testcase>" >> report.xml; fi
done
echo '</testsuite>' >> report.xml; exit $code
"""


def prepare(project: Project, meet: int, gate: str = "true", *, stories: int = 3, **more: Any) -> None:
    project.config(f"{MEET % meet}; {gate}", **more)
    project.stories(*(f"Story {number}" for number in range(1, stories + 1)))


def after_the_first(number: int, **more: Any) -> dict[str, Any]:
    """A story that gets on the train when the gates of another have begun."""
    wait = "while [ ! -e $HOME/../gates ]; do sleep 0.02; done"
    return does(f"US-00{number}", f"{number}.txt", run=[wait], **more)


def gates_run(project: Project) -> int:
    return (project.folder / "gates").read_text().count("x")


def coupled(project: Project) -> list[tuple[str, list[str], bool]]:
    return [(event["work"], event["ahead"], event["again"]) for event in project.events("coupled")]


def test_what_passes_at_the_same_time_is_verified_at_the_same_time_and_once(project: Project) -> None:
    prepare(project, meet=3)
    project.script(does("US-001", "1.txt"), after_the_first(2), after_the_first(3), VERIFIED)

    done = project.ralph("run", "auth", "--jobs", "3", "--no-baseline")

    assert "complete" in done.stdout
    assert gates_run(project) == 3 + 2, "one on the base, as evidence, and one for the final verification"
    assert {work for work, ahead, again in coupled(project) if ahead and not again} == {"US-002", "US-003"}
    assert "its gates run together with US-001" in done.stdout
    assert [story["attempts"] for story in project.plan_at("ralph/auth")["userStories"]] == [1, 1, 1]


def test_what_is_behind_a_red_story_is_verified_again_without_it_and_keeps_its_tries(project: Project) -> None:
    prepare(project, meet=3, gate="test ! -f bad.txt")
    first = [
        {"match": r"(?s)ID:.. US-001.*What Went Wrong Before", "run": ["mv bad.txt 1.txt"], "done": True},
        {"match": r"ID:.. US-001", "write": {"bad.txt": "x"}, "done": True},
    ]
    project.script(*first, after_the_first(2), after_the_first(3), VERIFIED)

    done = project.ralph("run", "auth", "--jobs", "3", "--no-baseline")

    assert [story["retries"] for story in project.plan_at("ralph/auth")["userStories"]] == [1, 0, 0]
    assert [event["verdict"] for event in project.events("attempt_ended")].count("failed") == 1
    assert any(again for _, _, again in coupled(project))
    assert "what lands before it has changed: its gates run again" in done.stdout
    assert {"1.txt", "2.txt", "3.txt"} <= set(project.files_in("ralph/auth"))
    assert "bad.txt" not in project.files_in("ralph/auth")


def test_each_story_is_proven_by_its_own_tests_and_not_by_those_ahead_of_it(project: Project) -> None:
    project.write("check.sh", JUNIT)
    project.write("tests/app.sh", "test -f app.txt\n")
    project.write(".gitignore", "report.xml\n")
    project.git("add", "-A")
    project.git("commit", "-qm", "Tests")
    gate = {"name": "tests", "command": f"{MEET % 2}; sh check.sh", "report": "report.xml"}
    project.config(gates=[gate])
    project.stories("One", "Two")
    tests = [{"write": {f"{n}.txt": "x", f"tests/{n}.sh": f"test -f {n}.txt\n"}} for n in (1, 2)]
    project.script(does("US-001", "1.txt", **tests[0]), after_the_first(2, **tests[1]), VERIFIED)

    project.ralph("run", "auth", "--jobs", "2", "--no-baseline")

    assert coupled(project)[0] == ("US-002", ["US-001"], False)
    results = [story["lastResult"] for story in project.plan_at("ralph/auth")["userStories"]]
    assert [result["provenBy"] for result in results] == [["tests/1.sh"], ["tests/2.sh"]]


MEETING = """cd $HOME/..; here=$OLDPWD; n=0
case "$(cat $here/shared.txt)$(ls $here/2.txt 2>/dev/null)" in
*third*) : > third ;;
*2.txt) : > second; while [ ! -e third ] && [ $((n += 1)) -lt 100 ]; do sleep 0.05; done ;;
*first*) echo x >> gates; while [ ! -e second ]; do sleep 0.02; done ;;
esac"""
"""The gates of the first end when those of the second run, which end when those of the third run."""


def test_work_on_top_of_what_landed_does_not_conflict_with_it_on_a_train_that_is_older(project: Project) -> None:
    project.write("shared.txt", "begin\n")
    project.git("add", "shared.txt")
    project.git("commit", "-qm", "Shared")
    project.config(MEETING)
    project.stories("One", "Two", {"title": "Three", "dependsOn": ["US-001"]})
    project.script(
        does("US-001", "shared.txt", "first\n"),
        after_the_first(2),
        does("US-003", "shared.txt", "first and third\n"),
        VERIFIED,
    )

    project.ralph("run", "auth", "--jobs", "3", "--no-baseline")

    assert ("US-003", ["US-002"], False) in coupled(project), "the second was on the train when the first landed"
    assert [story["attempts"] for story in project.plan_at("ralph/auth")["userStories"]] == [1, 1, 1]
    assert project.landed("shared.txt") == "first and third"


def test_verify_jobs_bounds_how_many_are_verified_at_once(project: Project) -> None:
    lock = "mkdir $HOME/../one && sleep 0.1 && rmdir $HOME/../one"
    project.config(lock, verify={"default": [lock], "jobs": 1})
    project.stories("One", "Two", "Three")
    project.script(*(does(f"US-00{number}", f"{number}.txt") for number in (1, 2, 3)), VERIFIED)

    project.ralph("run", "auth", "--jobs", "3")

    assert [story["attempts"] for story in project.plan_at("ralph/auth")["userStories"]] == [1, 1, 1]


def test_killed_with_three_on_the_train_the_next_run_lands_each_once(project: Project) -> None:
    prepare(project, meet=4)  # they never meet
    project.script(does("US-001", "1.txt"), after_the_first(2), after_the_first(3), VERIFIED)
    run = project.start("run", "auth", "--jobs", "3", "--no-baseline")
    wait_for(lambda: (project.folder / "gates").exists() and gates_run(project) == 3)

    run.send_signal(signal.SIGKILL)
    run.communicate()
    wait_for(lambda: not processes_in(project.folder))
    project.ralph("run", "auth", "--jobs", "3", "--no-baseline")

    stories = project.plan_at("ralph/auth")["userStories"]
    assert [(story["passes"], story["attempts"]) for story in stories] == [(True, 1)] * 3


def test_what_was_on_the_train_at_a_kill_is_verified_at_the_same_time_when_the_run_resumes(project: Project) -> None:
    count = "[ $(wc -l < $HOME/../gates) -ge 6 ]"
    wait = f"n=0; while ! {count} && [ $((n += 1)) -lt 500 ]; do sleep 0.02; done; {count}"
    project.config(f"echo x >> $HOME/../gates; {wait}")
    project.stories("One", "Two", "Three")
    project.script(does("US-001", "1.txt"), after_the_first(2), after_the_first(3), VERIFIED)
    run = project.start("run", "auth", "--jobs", "3", "--no-baseline")
    wait_for(lambda: (project.folder / "gates").exists() and gates_run(project) == 3)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    wait_for(lambda: not processes_in(project.folder))

    done = project.ralph("run", "auth", "--jobs", "3", "--no-baseline")

    stories = project.plan_at("ralph/auth")["userStories"]
    assert [(story["passes"], story["attempts"], story["retries"]) for story in stories] == [(True, 1, 0)] * 3
    assert "its gates run together with" in done.stdout


def test_gates_see_what_a_formatting_hook_made_of_the_files_and_run_once(project: Project) -> None:
    hook = project.path / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ngrep -q neat 1.txt && exit\necho neat > 1.txt; exit 1\n")
    hook.chmod(0o755)
    prepare(project, meet=0, gate="! test -f 1.txt || grep -q neat 1.txt", stories=1)
    project.script(does("US-001", "1.txt", run=[]), VERIFIED)

    project.ralph("run", "auth")

    assert project.landed("1.txt") == "neat"
    assert project.story()["attempts"] == 1
    assert gates_run(project) == 3, "the baseline, the work, and the final verification"


def test_work_that_a_hook_refuses_costs_no_gates(project: Project) -> None:
    hook = project.path / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntest -f good.txt || { echo 'error: not good'; exit 1; }\n")
    hook.chmod(0o755)
    prepare(project, meet=0, stories=1)
    mends = {"match": "(?s)ID:.. US-001.*error: not good", "write": {"good.txt": "x"}, "done": True}
    project.script(mends, does("US-001", "1.txt", run=[]), VERIFIED)

    project.ralph("run", "auth", "--no-baseline")

    assert (project.story()["attempts"], project.story()["retries"]) == (2, 1)
    assert gates_run(project) == 3, "the second attempt, its evidence, and the final verification"


@pytest.fixture
def small_disk(project: Project) -> Iterator[Project]:
    """The whole project on a disk of its own."""
    saved = project.folder / "saved"
    shutil.copytree(project.path, saved, symlinks=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(project.path)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no small file system can be mounted here")
    shutil.copytree(saved, project.path, symlinks=True, dirs_exist_ok=True)
    yield project
    subprocess.run(["umount", "--lazy", str(project.path)], check=True)


def test_a_disk_that_is_full_in_the_middle_of_a_train_loses_nothing(small_disk: Project) -> None:
    project = small_disk
    fill = f"dd if=/dev/zero of={project.path}/.git/full bs=64k 2>/dev/null"
    prepare(project, meet=3, gate=f"[ -e $HOME/../filled ] || {{ : > $HOME/../filled; {fill}; }}; true")
    project.script(does("US-001", "1.txt"), after_the_first(2), after_the_first(3), VERIFIED)

    done = project.ralph("run", "auth", "--jobs", "3", "--no-baseline", code=1)

    assert "Free some disk space" in done.stderr or "No space left on device" in done.stderr
    assert processes_in(project.path) == []
    (project.path / ".git/full").unlink()
    project.ralph("run", "auth", "--jobs", "3", "--no-baseline")
    stories = project.plan_at("ralph/auth")["userStories"]
    assert [(story["passes"], story["retries"]) for story in stories] == [(True, 0)] * 3
    assert {"1.txt", "2.txt", "3.txt"} <= set(project.files_in("ralph/auth"))
