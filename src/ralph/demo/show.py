"""Makes the sample project and runs Ralph on it, as a person would."""

from __future__ import annotations

import datetime
import json
import shutil
import sys
from pathlib import Path

from ralph.frozen import Frozen
from ralph.process.blocking import capture_now
from ralph.workspace import Feature, Workspace

HERE = Path(__file__).parent
FEATURE = "kelvin"


class Demo(Frozen):
    """The sample project, ready to run."""

    project: Path
    agent: Path


def prepare(folder: Path) -> Demo:
    """A git repository with a failing feature in it, planned and configured."""
    project, agent = folder / "project", folder / "agent.json"
    shutil.copytree(HERE / "project", project, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HERE / "agent.json", agent)
    (project / ".gitignore").write_text("__pycache__/\n", encoding="utf-8")
    feature = Feature(name=FEATURE, date=datetime.date.today().isoformat())
    (project / feature.prd_md).parent.mkdir(parents=True)
    shutil.copy(HERE / "prd.md", project / feature.prd_md)
    shutil.copy(HERE / "prd.json", project / feature.prd_json)
    Workspace(root=project).keep_out_of_git(shared=True)
    (project / "ralph.config.json").write_text(json.dumps(_config(folder, agent), indent=2) + "\n", encoding="utf-8")
    _commit(project)
    return Demo(project=project, agent=agent)


def _config(folder: Path, agent: Path) -> dict[str, object]:
    state = folder / "agent"
    state.mkdir()
    script = ["-m", "ralph", "scripted", str(agent), "--state", str(state / "calls")]
    return {
        "provider": {"command": sys.executable, "args": script, "env": ["PYTHON*"], "state": [str(state)]},
        "verify": {"default": ["python3 -m unittest -q"]},
        "protect": ["test_temperature.py"],
    }


def _commit(project: Path) -> None:
    identity = ("-c", "user.name=You", "-c", "user.email=you@example.com", "-c", "commit.gpgSign=false")
    for args in (
        ("init", "--quiet", "--initial-branch=main"),
        ("add", "."),
        ("commit", "--quiet", "-m", "A converter"),
    ):
        capture_now(["git", *identity, *args], cwd=project)
