"""What every test tier shares: a real project with real git, and the installed command."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ralph.git.objects import batched
from tests import warm
from tests.schedule import (
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_xdist_auto_num_workers,
    pytest_xdist_make_scheduler,
)
from tests.warm import RALPH

__all__ = [
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_xdist_auto_num_workers",
    "pytest_xdist_make_scheduler",
]

BIN = RALPH.parent


class Project:
    """A small git repository with a feature `auth`, a scripted agent and the installed `ralph`."""

    installed = False
    """Whether calls run the installed script, instead of a fork of a process that has imported it."""

    def __init__(self, folder: Path, template: Path | None = None) -> None:
        self.folder = folder
        self.path = folder / "project"
        self.home = folder / "home"
        self.script_file = folder / "agent.json"
        self.state_file = folder / "agent.calls/calls"  # in a folder of its own, which the sandbox lets the agent write
        self.env = {
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TMPDIR": str(folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "RALPH_NO_PROBE": "1",  # a new agent would be called once more, in every test
            "RALPH_TRUST": "1",  # test_trust.py tests the question
            "RALPH_SANDBOX": os.environ.get("RALPH_TEST_SANDBOX", "none"),
        }
        if template:
            shutil.copytree(template, folder, symlinks=True, dirs_exist_ok=True)
        else:
            self._make()

    def _make(self) -> None:
        self.path.mkdir()
        self.home.mkdir()
        self.state_file.parent.mkdir()
        (self.home / ".gitconfig").write_text(
            "[user]\n\tname = Person\n\temail = person@example.com\n[init]\n\tdefaultBranch = main\n"
        )
        self.git("init", "-q")
        for sample in (self.path / ".git/hooks").iterdir():  # thousands of copies of this project are made
            sample.unlink()
        self.write("app.txt", "app\n")
        self.git("add", "app.txt")
        self.git("commit", "-q", "-m", "A project")

    # files

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def read(self, name: str) -> str:
        return (self.path / name).read_text()

    def exists(self, name: str) -> bool:
        return (self.path / name).exists()

    # git

    @contextmanager
    def counting_git(self) -> Iterator[Callable[[], int]]:
        """While it lasts, every git that is started in the project's environment is counted."""
        log, folder, before = self.home / "gits", self.home / "bin", self.env["PATH"]
        folder.mkdir(exist_ok=True)
        log.write_text("")
        (folder / "git").write_text(f'#!/bin/sh\necho "$*" >> {log}\nexec {shutil.which("git")} "$@"\n')
        (folder / "git").chmod(0o755)
        self.env["PATH"] = f"{folder}:{before}"
        try:
            yield lambda: log.read_text().count("\n")
        finally:
            self.env["PATH"] = before

    def git(self, *args: str, check: bool = True) -> str:
        done = subprocess.run(["git", *args], cwd=self.path, env=self.env, capture_output=True, text=True)
        if check and done.returncode:
            raise AssertionError(f"git {args}: {done.stderr}")
        return done.stdout.strip()

    def files_in(self, revision: str) -> list[str]:
        return self.git("ls-tree", "-r", "--name-only", revision).splitlines()

    def subjects(self, revision: str = "ralph/auth") -> list[str]:
        return self.git("log", "--format=%s", revision).splitlines()

    def status(self) -> list[str]:
        """What git calls changed or untracked."""
        return self.git("status", "--porcelain").splitlines()

    # ralph

    def config(self, *gates: str, **more: Any) -> None:
        provider = {
            "command": str(RALPH),
            "args": ["scripted", str(self.script_file), "--state", str(self.state_file)],
            "state": [str(self.state_file.parent)],
            **more.pop("provider", {}),
        }
        verify = {"default": list(gates), **more.pop("verify", {})}
        self.write("ralph.config.json", json.dumps({"provider": provider, "verify": verify, **more}, indent=2))

    def stories(self, *stories: str | dict[str, Any], feature: str = "auth", **more: Any) -> None:
        full = []
        for number, story in enumerate(stories, 1):
            given = {"title": story} if isinstance(story, str) else story
            full.append({"id": f"US-{number:03}", "priority": number, "acceptanceCriteria": ["It works"], **given})
        document = {
            "schemaVersion": 2,
            "branchName": f"ralph/{feature}",
            "description": "d",
            "userStories": full,
            **more,
        }
        self.write(f".ralph/2026-01-01-{feature}/prd.json", json.dumps(document, indent=2))

    def script(self, *turns: dict[str, Any]) -> None:
        """What the agent does from now on; its calls are counted anew."""
        self.state_file.unlink(missing_ok=True)
        self.script_file.write_text(json.dumps({"turns": list(turns)}))

    def calls(self) -> int:
        return len(self.state_file.read_text().splitlines()) if self.state_file.exists() else 0

    def ralph(
        self, *args: str, code: int | None = 0, stdin: str = "", env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        done = self.run(*args, stdin=stdin, env=env)
        assert "Traceback" not in done.stderr, done.stderr
        assert code is None or done.returncode == code, (
            f"exit {done.returncode}, expected {code}\n{done.stdout}\n{done.stderr}"
        )
        return done

    def start(self, *args: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
        return warm.popen(
            [*args],
            installed=self.installed,
            cwd=self.path,
            env={**self.env, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def run(
        self, *args: str, stdin: str = "", env: dict[str, str] | None = None, before: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run `ralph`, whatever comes of it; `before` is code that runs in it first."""
        how: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        how |= {"cwd": self.path, "env": {**self.env, **(env or {})}, "installed": self.installed, "before": before}
        with warm.popen([*args], **how) as process:
            try:
                out, err = process.communicate(stdin, timeout=120)
            except BaseException:
                process.kill()
                raise
        return subprocess.CompletedProcess([str(RALPH), *args], process.returncode, out, err)

    def types(self, commands: str, code: int = 0) -> str:
        """What a person sees who types this in a shell."""
        shell = ["/bin/sh", "-e", "-c", commands]
        done = subprocess.run(shell, cwd=self.path, env=self.env, capture_output=True, text=True, timeout=120)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def truth(self, target: str, path: str, branch: str = "") -> str:
        """A plan's file where its truth is: with a run that is at work, on its branch, or in the checkout."""
        branch = branch or f"ralph/{target}"
        kept = self.path / ".ralph/worktrees" / branch.removeprefix("ralph/") / path
        if kept.is_file():
            return kept.read_text()
        asked = "".join(f"{ref}:{path}\n" for ref in (f"refs/ralph/pending/{target}", f"refs/heads/{branch}"))
        done = subprocess.run(
            ["git", "cat-file", "--batch"], cwd=self.path, env=self.env, input=asked.encode(), capture_output=True
        )
        found = next((data for _, data in batched(done.stdout) if data is not None), None)
        return self.read(path) if found is None else found.decode()

    def landed(self, path: str, branch: str = "ralph/auth") -> str:
        """A file as a branch of Ralph's has it."""
        return self.git("show", f"{branch}:{path}")

    def plan(self, feature: str = "auth") -> dict[str, Any]:
        names = [str(path.relative_to(self.path)) for path in self.path.glob(f".ralph/*-{feature}/prd.json")]
        if not names:
            names = [name for name in self.files_in(f"ralph/{feature}") if name.endswith(f"-{feature}/prd.json")]
        return json.loads(self.truth(feature, max(names)))

    def plan_at(self, revision: str, feature: str = "auth") -> dict[str, Any]:
        """The plan as a commit has it."""
        name = next(name for name in self.files_in(revision) if name.endswith(f"-{feature}/prd.json"))
        return json.loads(self.git("show", f"{revision}:{name}"))

    def story(self, story_id: str = "US-001") -> dict[str, Any]:
        return next(story for story in self.plan()["userStories"] if story["id"] == story_id)

    def events(self, name: str | None = None) -> list[dict[str, Any]]:
        found = []
        for journal in sorted(self.path.glob(".ralph/logs/*/journal.jsonl")):
            found += [json.loads(line) for line in journal.read_text().splitlines()]
        return [event for event in found if name is None or event["event"] == name]

    def prompts(self) -> list[str]:
        """Every prompt that was sent, in order."""
        files = sorted(self.path.glob(".ralph/logs/*/*.prompt.md"), key=lambda path: path.stat().st_mtime_ns)
        return [path.read_text() for path in files]


def does(story: str, name: str, text: str = "x\n", **more: Any) -> dict[str, Any]:
    """A turn that does a story by writing and committing one file."""
    return {
        "match": rf"\*\*ID:\*\* {story}\b",
        "write": {name: text},
        "run": [f"git add {name} && git commit -q -m 'feat: {story} - done'"],
        "done": True,
        **more,
    }


VERIFIED = {"match": "# Final Verification", "say": ["<ralph>VERIFIED</ralph>"]}


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that is made once: a copy of it takes less time than three calls of git."""
    return Project(tmp_path_factory.mktemp("template")).folder


@pytest.fixture
def project(tmp_path: Path, template: Path) -> Iterator[Project]:
    made = Project(tmp_path, template)
    yield made
    leftovers = processes_in(tmp_path)
    for pid in leftovers:
        os.kill(pid, signal.SIGKILL)
    assert not leftovers, f"processes outlived the test: {leftovers}"


def processes_in(folder: Path) -> list[int]:
    """Living processes that work below a folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc") if os.path.exists("/proc/self") else ()):  # noqa: PTH110, PTH208
        try:
            if f"{os.readlink(f'/proc/{pid}/cwd')}/".startswith(f"{folder}/"):  # noqa: PTH115
                found.append(int(pid))
        except OSError:
            continue
    return found


def warden_of(pid: int) -> int:
    """The process that watches over a Ralph; 0 if there is none."""
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if len(words) > 2 and words[1].endswith(b"/warden.sh") and words[2] == str(pid).encode():
            return int(entry.name)
    return 0


def kill_with_warden(run: subprocess.Popen[str]) -> None:
    """Kill a Ralph and its warden, so that what it started lives on."""
    wait_for(lambda: warden_of(run.pid))
    warden = warden_of(run.pid)
    os.kill(warden, signal.SIGSTOP)  # otherwise it would see Ralph's end, or Ralph would see its end
    run.kill()
    run.communicate()
    os.kill(warden, signal.SIGKILL)


def wait_for(condition: Callable[[], object], seconds: float = 20, what: str = "") -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"it did not happen within {seconds} s: {what or condition}"
        time.sleep(0.01)
