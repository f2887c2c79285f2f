"""`ralph init` looks at a project and at the machine, shows what it found, and asks."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests import warm
from tests.conftest import BIN, Project

CONFIG = "ralph.config.json"
MAKEFILE = "check:\n\tgrep -q app app.txt\n\nlint:\n\ttest -f missing.txt\n\nclean:\n\trm -rf build\n"


@pytest.fixture
def shop(project: Project) -> Project:
    """A project with a green gate and a red one, on a machine with one agent whose person is signed in."""
    agent(project, "codex")
    (project.home / ".codex").mkdir()
    (project.home / ".codex" / "auth.json").write_text('{"tokens": "x"}')
    commit(project, Makefile=MAKEFILE)
    return project


def agent(project: Project, *names: str) -> None:
    bin_ = project.folder / "bin"
    bin_.mkdir(exist_ok=True)
    for name in names:
        (bin_ / name).write_text("#!/bin/sh\nexit 3\n")
        (bin_ / name).chmod(0o755)
    project.env["PATH"] = f"{BIN}:{bin_}:/usr/bin:/bin"


def commit(project: Project, **files: str) -> None:
    for name, text in files.items():
        project.write(name, text)
    project.git("add", "-A")
    project.git("commit", "-qm", "More")


def config(project: Project, folder: str = ".") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((project.path / folder / CONFIG).read_text())
    return found


def asked(project: Project, answers: bytes, *args: str, folder: str = ".") -> str:
    """What a person sees at a terminal who types these answers."""
    ours, theirs = pty.openpty()
    how: dict[str, Any] = {"cwd": project.path / folder, "env": project.env, "stdin": theirs, "stdout": subprocess.PIPE}
    with warm.popen(["init", *args], stderr=subprocess.STDOUT, **how) as started:
        os.write(ours, answers)
        out, _ = started.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert "Traceback" not in out, out
    return out


def test_it_takes_what_was_found_and_green_and_says_why(shop: Project) -> None:
    said = shop.ralph("init", "--yes").stdout

    assert "✓ codex: Codex, signed in (~/.codex/auth.json)" in said
    assert "make check  (target check in Makefile)" in said
    assert "✓ make check" in said and "✗ make lint" in said, "they ran"
    assert "! Left out, because it is red: make lint: exit code 2" in said
    written = config(shop)
    assert written["provider"]["command"] == "codex"
    assert written["verify"] == {"default": ["make check"]}
    assert written["protect"] == ["Makefile"]
    assert set(written) == {"$schema", "provider", "verify", "protect"}, "nothing that is the default"
    assert "you have approved" in shop.ralph("doctor", code=None, env={"RALPH_TRUST": ""}).stdout


def test_it_asks_for_each_part(shop: Project) -> None:
    said = asked(shop, b"y\ny\ny\ny\nn\n")  # the agent, run them once, make check, make lint although red, protect

    assert "Use Codex?" in said and "Run these gates once now" in said
    assert "make lint (red: exit code 2" in said
    assert config(shop)["verify"]["default"] == ["make check", "make lint"]
    assert "protect" not in config(shop)


def test_what_a_person_declines_is_not_written(shop: Project) -> None:
    agent(shop, "amp", "codex")
    said = asked(shop, b"amp\nn\nn\ny\nn\n")

    assert "✓ make check" not in said, "nothing ran"
    assert config(shop)["provider"]["command"] == "amp"
    assert config(shop)["verify"]["default"] == ["make lint"]


def test_without_a_terminal_it_tells_and_takes_nothing(shop: Project) -> None:
    said = shop.ralph("init").stdout

    assert "make check  (target check in Makefile)" in said
    assert "`ralph init --yes` takes them" in said
    assert config(shop)["verify"]["default"] == []
    assert config(shop)["provider"]["command"] == "codex", "an agent that is installed"
    assert "npm" not in said


def test_a_dry_run_writes_and_runs_nothing(shop: Project) -> None:
    shop.write("Makefile", "check:\n\ttouch ran\n")
    before = shop.git("status", "--porcelain", "--ignored")

    said = shop.ralph("init", "--dry-run").stdout

    assert '"make check"' in said and '"command": "codex"' in said
    assert shop.git("status", "--porcelain", "--ignored") == before
    assert not (shop.path / ".ralph").exists() and not (shop.path / "ran").exists()


def test_no_agent_is_made_up(project: Project) -> None:
    agent(project)
    said = project.ralph("init", "--yes", code=1).stderr

    assert "No agent that Ralph knows is installed here." in said and "--provider NAME" in said
    assert not project.exists(CONFIG)
    project.ralph("init", "--yes", "--provider", "amp")
    assert config(project)["provider"]["command"] == "amp"


def test_a_second_time_it_proposes_what_is_new(shop: Project) -> None:
    shop.ralph("init", "--yes")
    before = shop.read(CONFIG)
    assert "gate make check" not in shop.ralph("init").stdout
    commit(shop, **{"pyproject.toml": "[tool.mypy]\nfiles = ['src']\n"})

    told = shop.ralph("init").stdout
    assert "gate mypy  ([tool.mypy] in pyproject.toml)" in told and '+      "mypy"' in told
    assert "already exists and was not changed" in told and shop.read(CONFIG) == before
    shop.ralph("init", "--dry-run")
    asked(shop, b"n\ny\ny\nn\n")  # not now; make lint and mypy; but do not write it
    assert shop.read(CONFIG) == before

    left_out = shop.ralph("init", "--yes").stdout
    assert "red: make lint" in left_out and shop.read(CONFIG) == before
    assert "changed ralph.config.json" in shop.ralph("init", "--yes", "--no-baseline").stdout
    assert config(shop)["verify"]["default"] == ["make check", "make lint", "mypy"]
    assert config(shop)["protect"] == ["Makefile"]
    assert "you have approved" in shop.ralph("doctor", code=None, env={"RALPH_TRUST": ""}).stdout


def test_what_defines_a_gate_by_now_is_proposed_to_a_person_who_protects_such_files(shop: Project) -> None:
    shop.ralph("init", "--yes")
    commit(
        shop, **{"Makefile": MAKEFILE.replace("check:\n", "check:\n\tsh scripts/check.sh\n"), "scripts/check.sh": ":\n"}
    )

    assert "protect scripts/check.sh" in shop.ralph("init", "--dry-run").stdout
    shop.ralph("init", "--yes", "--no-baseline")

    assert config(shop)["protect"] == ["Makefile", "scripts/check.sh"]
    assert "protect" not in shop.ralph("init", "--dry-run").stdout


def test_a_package_of_a_monorepo_is_a_project_of_its_own(shop: Project) -> None:
    ci = "on: push\njobs:\n  web:\n    steps:\n      - run: make test\n        working-directory: packages/web\n"
    commit(
        shop,
        **{
            "packages/web/Makefile": "test:\n\ttest -f index.html\n",
            "packages/web/index.html": "hello\n",
            "packages/api/api.txt": "x\n",
            ".github/workflows/ci.yml": ci,
        },
    )
    above = asked(shop, b"", "--dry-run", folder="packages/web")
    assert "To set up only" in above and "ralph init --here" in above

    shop.write("packages/api/api.txt", "dirty\n")
    said = asked(shop, b"", "--here", "--yes", folder="packages/web")

    assert "make test  (.github/workflows/ci.yml runs it)" in said and "✓ make test" in said
    assert config(shop, "packages/web")["verify"]["default"] == ["make test"]
    assert not shop.exists(CONFIG)
    doctor = shop.ralph("-C", "packages/web", "doctor", code=None).stdout
    assert "uncommitted change" not in doctor, "another package is nobody's business"


def test_hostile_files_are_bounded_and_shown_as_text(project: Project) -> None:
    agent(project, "codex")
    with (project.path / "package.json").open("wb") as file:
        file.truncate(200_000_000)
    deep = "[" * 200_000
    project.write("deno.json", deep)
    project.write("Makefile", "; rm -rf ~:\n\ttrue\ntest:\n\techo '\x1b[2J'\n")
    began = time.monotonic()

    said = project.ralph("init", "--dry-run").stdout

    assert time.monotonic() - began < 5
    assert "\x1b" not in said and "rm -rf" not in said
    assert "make test" in said


def test_with_named_gates_nothing_else_is_looked_for(shop: Project) -> None:
    said = shop.ralph("init", "--provider", "amp", "--verify", "true").stdout

    assert "Agents on this machine" not in said and "make check" not in said
    assert config(shop)["verify"] == {"default": ["true"], "ui": []}
    assert config(shop)["maxRetries"] == 3


@pytest.mark.parametrize("broken", ["not a repository", "no commits"])
def test_gates_that_cannot_be_tried_are_taken_as_they_are(shop: Project, broken: str, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    (folder / "Makefile").write_text("check:\n\ttrue\n")
    if broken == "no commits":
        shop.git("init", "-q", str(folder))
    done = shop.ralph("-C", str(folder), "init", "--yes", "--here")

    assert "! The gates were not tried:" in done.stderr
    assert json.loads((folder / CONFIG).read_text())["verify"]["default"] == ["make check"]
