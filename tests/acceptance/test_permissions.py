"""Files that forbid reading or writing, as an ordinary user meets them: they stop no run, and nothing goes unsaid."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import RALPH, VERIFIED, Project, does

AS_USER = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
"""Root without what lets it read and write whatever it likes."""

pytestmark = pytest.mark.skipif(
    bool(AS_USER) and (not shutil.which("setpriv") or subprocess.run([*AS_USER, "true"]).returncode != 0),
    reason="root cannot give up its rights here",
)


def ralph(project: Project, *args: str) -> str:
    done = subprocess.run(
        [*AS_USER, str(RALPH), *args], cwd=project.path, env=project.env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def committed(project: Project, *gates: str, **more: object) -> None:
    project.write("src/a.txt", "a\n")
    project.config(*gates, **more)
    project.stories("One", "Two")
    project.git("add", "-A")
    project.git("commit", "-qm", "Set up")


@pytest.mark.parametrize(
    "forbid",
    ["chmod -R a-w .", "chmod -R a-w .git", "chmod a-w . ..", "mkdir -p d/e && chmod 000 d/e d", "chmod 000 src"],
)
def test_what_an_agent_forbids_hinders_nobody_after_it(project: Project, forbid: str) -> None:
    committed(project, "test -e one.txt")
    project.script(
        does("US-001", "one.txt", run=[forbid]),
        {"match": r"\*\*ID:\*\* US-002", "run": ["echo two >> src/a.txt && echo two >> app.txt"], "done": True},
        VERIFIED,
    )

    ralph(project, "run", "auth", "--no-baseline")

    assert [story["retries"] for story in project.plan()["userStories"]] == [0, 0]
    assert project.landed("src/a.txt") == "a\ntwo" and project.landed("app.txt") == "app\ntwo"


@pytest.mark.parametrize(
    "forbid",
    [
        "chmod -R a-w .",
        "mkdir -p cache/d && touch cache/d/f && chmod 000 cache/d cache",
        'mkdir -p "$TMPDIR/d" && touch "$TMPDIR/d/f" && chmod -R a-w "$TMPDIR"',
    ],
)
def test_what_a_gate_forbids_hinders_no_later_one(project: Project, forbid: str) -> None:
    project.write(".gitignore", "cache/\nnode_modules/\n")
    project.write("node_modules/m/index.js", "x\n")
    committed(project, f"test ! -e cache && echo x >> app.txt && {forbid}")
    project.script(does("US-001", "one.txt"), does("US-002", "two.txt"), VERIFIED)

    ralph(project, "run", "auth")

    assert project.landed("two.txt") == "x"
    assert [path.name for path in project.folder.glob("ralph-*")] == [], "temporary folders are gone"


def test_a_run_goes_on_where_an_earlier_one_met_them(project: Project) -> None:
    committed(project, "chmod -R a-w .")
    project.script(does("US-001", "one.txt"), does("US-002", "two.txt", run=["chmod -R a-w ."]), VERIFIED)
    ralph(project, "run", "auth")
    project.stories("Three", feature="more")
    project.script(does("US-001", "three.txt"), VERIFIED)

    ralph(project, "run", "more")
    ralph(project, "clean", "--yes")

    assert project.landed("three.txt", "ralph/more") == "x"
    assert not list(project.path.glob(".ralph/worktrees/.*/*"))


def test_what_could_not_be_read_is_named(project: Project) -> None:
    committed(project, "true")
    project.script(
        does(
            "US-001",
            "one.txt",
            run=["mkdir d e", "echo x | tee f d/g e/h src/b >src/a.txt; chmod 000 f d/g e src/a.txt"],
        ),
        does("US-002", "two.txt"),
        VERIFIED,
    )

    said = ralph(project, "run", "auth", "--no-baseline")

    why = "(it cannot be read)"
    assert f"Not part of the commit: d/g {why}, e/ {why}, f {why}, src/a.txt {why}." in " ".join(said.split())
    assert project.landed("src/b") == "x" and project.landed("src/a.txt") == "a"
    assert not {"f", "d/g", "e/h"} & set(project.files_in("ralph/auth"))


def test_protected_files_are_put_back_also_where_their_folder_forbids_it(project: Project) -> None:
    committed(project, "true", protect=["src/**"])
    project.script(
        does(
            "US-001", "one.txt", run=["echo evil > src/a.txt; echo evil > ralph.config.json; chmod -R a-w ."], times=1
        ),
        does("US-001", "one.txt", "good\n"),
        does("US-002", "two.txt"),
        VERIFIED,
    )

    ralph(project, "run", "auth")

    assert project.story()["retries"] == 1
    assert "it changed protected files (src/a.txt)" in project.prompts()[1]
    assert "it changed Ralph's own files (ralph.config.json)" in project.prompts()[1]
    assert project.landed("src/a.txt") == "a"


HELD_OUT = """
import pathlib, sys
from ralph.stores.held_out import HeldOutFile, lay, lift
top, files = pathlib.Path(sys.argv[1]), (HeldOutFile(path="a/b/check.py", data=b"x"),)
for closed in ("a/b", "a", "."):
    lay(files, top)
    (top / closed).chmod(0)
    lay(files, top)
    (top / closed).chmod(0)
    lift(files, top)
    assert not list(top.iterdir())
"""


def test_held_out_files_leave_folders_that_a_gate_has_closed(tmp_path: Path) -> None:
    done = subprocess.run([*AS_USER, sys.executable, "-c", HELD_OUT, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
