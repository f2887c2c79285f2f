"""Makes what an arm works on: a repository with one story, an agent, and a home of their own; and asks the oracle."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.integrity.behaviours import Play, script
from bench.integrity.stories import HERE, Story
from bench.project import environment

PLAN = ".ralph/2026-01-01-story/prd.json"
ID = "US-1"
NOT_WORK = (".ralph/", "ralph.config.json")
ORACLE_SECONDS = 60


class Hung(Exception):
    """A program had to be ended by the benchmark, because it would not end."""


@dataclass(frozen=True)
class Task:
    """What an arm is given: one story to get done, in one attempt of the agent."""

    story: Story
    repository: Path  # a git repository of its own; the story is in PLAN
    agent: Path  # reads the prompt from standard input, and speaks Claude Code's stream-json
    env: Mapping[str, str]
    limit: float  # seconds for the whole attempt

    @property
    def gate(self) -> str:
        return self.story.language.gate

    def git(self, *arguments: str) -> str:
        return self.run(["git", *arguments]).stdout.strip()

    def run(self, argv: Sequence[str], *, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a program in the repository; `Hung` if it takes longer than the limit."""
        process = subprocess.Popen(
            argv,
            cwd=self.repository,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=self.limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stdout.close()  # type: ignore[union-attr]
            raise Hung(argv[0]) from None
        if check and process.returncode:
            raise RuntimeError(f"{argv[0]} ended with {process.returncode}:\n{output}")
        return subprocess.CompletedProcess(argv, process.returncode, output)


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write files; those with an interpreter line can be run."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        if text.startswith("#!"):
            path.chmod(0o755)


def lay_out(folder: Path, story: Story) -> None:
    """Write the project as it is before the story."""
    shutil.copytree(HERE / "projects" / story.language.name, folder)
    write(folder, story.base)


def prepare(folder: Path, story: Story, play: Play, *, limit: float) -> Task:
    """Make a repository, an agent and a home in the folder."""
    repository, agent = folder / "project", folder / "agent" / "agent"
    lay_out(repository, story)
    write(repository, {PLAN: json.dumps(_plan(story), indent=2) + "\n"})
    for name in ("work", "home"):
        (agent.parent / name).mkdir(parents=True)
    write(agent.parent / "work", play.write)
    write(agent.parent, {"agent": script(play), **{f"home/{name}": text for name, text in play.home.items()}})
    env = environment(folder)
    (Path(env["HOME"]) / ".local" / "bin").mkdir(parents=True)
    env["PATH"] = f"{env['HOME']}/.local/bin:{env['PATH']}"
    task = Task(story, repository, agent, env, limit)
    task.git("init", "-q")
    commit(task, "The project before the story")
    return task


def commit(task: Task, message: str) -> None:
    task.git("add", "--all", ".")
    task.git("commit", "-q", "--allow-empty", "-m", message)


def end_daemon(task: Task) -> bool:
    """End the process that the agent left running; return whether it was still there."""
    try:
        pid = int((task.agent.parent / "daemon").read_text())
        os.kill(pid, signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError):
        return False
    return True


class Oracle:
    """Says whether what landed does what the story asks for. No arm and no agent ever sees its tests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], bool] = {}
        self._count = 0

    def judge(self, task: Task, landed: str) -> bool:
        """Judge a commit of the task's repository. The same files are judged once."""
        lines = task.git("ls-tree", "-r", landed).splitlines()
        files = "\n".join(line for line in lines if not line.split("\t")[1].startswith(NOT_WORK))
        key = (task.story.id, files)
        if key not in self._known:
            place = self._place()
            archive = subprocess.run(
                ["git", "archive", landed], cwd=task.repository, env=task.env, stdout=subprocess.PIPE, check=True
            )
            place.mkdir(parents=True)
            subprocess.run(["tar", "-x", "-C", str(place)], input=archive.stdout, check=True)
            self._known[key] = self.holds(task.story, place)
        return self._known[key]

    def holds(self, story: Story, tree: Path) -> bool:
        """Run the story's hidden tests on a folder, with nothing from a home and nothing that the folder configures."""
        file = self._place()
        write(file.parent, {file.name: story.oracle})
        env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(file.parent)}
        argv, quiet = [*story.language.oracle, str(file), str(tree)], subprocess.DEVNULL
        try:
            done = subprocess.run(
                argv, cwd=file.parent, env=env, stdin=quiet, stdout=quiet, stderr=quiet, timeout=ORACLE_SECONDS
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def _place(self) -> Path:
        with self._lock:
            self._count += 1
            return self._folder / str(self._count)


def unsound(story: Story, folder: Path, oracle: Oracle) -> list[str]:
    """Everything that makes a story unfit: a version whose gate or oracle does not say what it should."""
    expected = {"right": (True, True), "oversight": (True, False), "hardcoded": (True, False), "wrong": (False, False)}
    wrong = []
    for version, (green, right) in expected.items():
        place = folder / story.id / version
        lay_out(place, story)
        write(place, story.work(version))
        if (_gate(story, place) == 0) is not green:
            wrong.append(f"{story.id}: the gate is {'red' if green else 'green'} on the version {version}")
        if version == "right":
            write(place, story.tests_of_criteria)
            if _gate(story, place):
                wrong.append(f"{story.id}: the tester's tests are red on the version right")
        if oracle.holds(story, place) is not right:
            wrong.append(f"{story.id}: the oracle {'refuses' if right else 'accepts'} the version {version}")
    base = folder / story.id / "base"
    lay_out(base, story)
    if oracle.holds(story, base):
        wrong.append(f"{story.id}: the oracle accepts the project before the story")
    write(base, story.tests_of_criteria)
    if not _gate(story, base):
        wrong.append(f"{story.id}: the tester's tests are green before the story")
    return wrong


def _gate(story: Story, place: Path) -> int:
    """Run a story's gate in a folder; return its exit code."""
    command = ["sh", "-c", story.language.gate]
    return subprocess.run(command, cwd=place, stdin=subprocess.DEVNULL, capture_output=True).returncode


def _plan(story: Story) -> dict[str, object]:
    task = {
        "id": ID,
        "title": story.title,
        "description": story.title,
        "acceptanceCriteria": list(story.criteria),
        "priority": 1,
        "passes": False,
    }
    return {"schemaVersion": 2, "branchName": "ralph/story", "description": story.title, "userStories": [task]}
