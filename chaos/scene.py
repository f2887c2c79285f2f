"""The place of one round: a repository with a plan, an agent, a home, and runs of the installed command."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chaos.processes import belonging, send
from chaos.workflows import CALL_SECONDS, WORKFLOWS, Files, Needs, Workflow

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
RALPH = BIN / "ralph"
GATE = "! ls bad-* >/dev/null 2>&1 && ! grep -q '<<<<' shared.txt && test -z \"$(sort shared.txt | uniq -d)\""
SIDE_BY_SIDE = {"default": ["sleep 0.1; test -e shared.txt", GATE, "test -e app.txt"], "parallel": True}
VERIFY: tuple[dict[str, object], ...] = ({}, SIDE_BY_SIDE, {**SIDE_BY_SIDE, "failFast": True})
"""How gates run; each checks what the oracle checks."""
TURNS = {
    "work": 8,
    "commit": 3,
    "slow": 3,
    "bad": 3,
    "lie": 2,
    "silent": 1,
    "crash": 2,
    "hang": 1,
    "flood": 1,
    "tamper": 2,
    "fork": 2,
    "daemonize": 2,
    "limit": 1,
}
"""What an agent may do in a call, and how often in proportion."""
RUN_SECONDS = 150
GITCONFIG = "[user]\n\tname = Person\n\temail = person@example.com\n[init]\n\tdefaultBranch = main\n"
VARIABLES = {"LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", "RALPH_NO_PROBE": "1", "RALPH_TRUST": "1"}


class Broken(Exception):
    """An invariant does not hold; the message says which."""


@dataclass(frozen=True, kw_only=True)
class User:
    """Who runs Ralph in a round."""

    uid: int

    @property
    def switch(self) -> list[str]:
        """What starts a program as this user; they may read what root can, such as a Python below /root."""
        if self.uid == os.getuid():
            return []
        capability = "+dac_read_search"
        identity = [f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups"]
        return ["setpriv", *identity, f"--inh-caps={capability}", f"--ambient-caps={capability}"]

    @property
    def has_process_limit(self) -> bool:
        """Root may start any number of processes, whatever its limit says."""
        return self.uid != 0


@dataclass(frozen=True, kw_only=True)
class Case:
    """A plan, and what its agents will do."""

    workflow: Workflow
    needs: Needs
    turns: Mapping[str, Sequence[str]]  # for each task, what its agents do in one call after the other
    sandbox: str = "none"
    verify: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def chosen(cls, chance: random.Random) -> Case:
        workflow = chance.choice(WORKFLOWS)
        sandbox = chance.choice(("none", "none", "auto"))
        names = [workflow.task.format(number) for number in range(1, chance.randint(2, 6) + 1)]
        needs = {
            name: chance.sample(names[:place], min(place, chance.choice((0, 0, 1, 2))))
            for place, name in enumerate(names)
        }
        kinds, weights = list(TURNS), list(TURNS.values())
        turns = {name: chance.choices(kinds, weights, k=chance.randint(0, 3)) for name in names}
        verify = VERIFY[len(names) % len(VERIFY)]
        return cls(workflow=workflow, needs=needs, turns=turns, sandbox=sandbox, verify=verify)


class Scene:
    """The place of a case. All that is left to chance in a round comes from one source, which has a seed."""

    def __init__(self, folder: Path, case: Case, chance: random.Random, user: User) -> None:
        self.folder, self.case, self.chance, self.user = folder, case, chance, user
        self.workflow = case.workflow
        self.project, self.notes, self.home = folder / "project", folder / "notes", folder / "home"
        self.did: list[str] = []
        self.said = ""
        self._make()

    def _make(self) -> None:
        for path in (self.project, self.home, self.notes / "calls", self.notes / "turns", self.folder / "bin"):
            path.mkdir(parents=True)
        (self.home / ".gitconfig").write_text(GITCONFIG)
        for name, turns in self.case.turns.items():
            (self.notes / "turns" / name).write_text("\n".join(turns) + "\n")
        (self.notes / "written").touch()
        git = (HERE / "git.sh").read_text().replace("NOTES", str(self.notes))
        self._program("git", git.replace("GIT", shutil.which("git") or "git"))
        self._program("claude", f"#!/bin/sh\nset -- {self.notes}\n. {self.folder}/agent.sh\n")
        shutil.copy(HERE / "agent.sh", self.folder)
        for name, text in {**self._files(), **self.workflow.write(self.case.needs)}.items():
            (self.project / name).parent.mkdir(parents=True, exist_ok=True)
            (self.project / name).write_text(text)
        if self.user.uid != os.getuid():
            subprocess.run(["chown", "-R", f"{self.user.uid}:{self.user.uid}", str(self.folder)], check=True)
        for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "A plan")):
            self.git(*command)
        (self.project / "app.txt").write_text("a person's change\n")

    def _files(self) -> Files:
        provider = {
            "command": str(self.folder / "bin/claude"),
            "dialect": "claude",
            "timeout": CALL_SECONDS,
            "state": [str(self.notes)],
        }
        config = {"provider": provider, "verify": {"default": [GATE], **self.case.verify}, "sandbox": self.case.sandbox}
        return {"ralph.config.json": json.dumps(config, indent=2) + "\n", "shared.txt": "middle\n", "app.txt": "app\n"}

    def _program(self, name: str, text: str) -> None:
        (self.folder / "bin" / name).write_text(text)
        (self.folder / "bin" / name).chmod(0o755)

    @property
    def environment(self) -> dict[str, str]:
        path = f"{self.folder / 'bin'}:{BIN}:{os.environ['PATH']}"
        return {"PATH": path, "HOME": str(self.home), "TMPDIR": str(self.folder), **VARIABLES}

    def git(self, *args: str, check: bool = True) -> str:
        return self.run("git", *args, check=check).stdout.strip()

    def run(self, *command: str, check: bool = False, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a program as the round's person does, until it ends."""
        return subprocess.run(
            [*self.user.switch, *command],
            cwd=cwd or self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=check,
        )

    # runs of Ralph

    def start(self, prepare: Callable[[], None] | None = None, /, **more: str) -> subprocess.Popen[str]:
        """Start the round's command; `prepare` is called in the new process, and `more` are variables."""
        jobs = ["--jobs", str(self.chance.randint(1, 6))] if self.workflow.is_parallel else []
        self.did.append(" ".join(("run", *jobs)))
        return subprocess.Popen(
            [*self.user.switch, str(RALPH), *self.workflow.command, "--no-baseline", *jobs],
            cwd=self.project,
            env={**self.environment, **more},
            preexec_fn=prepare,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )

    def pause(self, longest: float = 2) -> None:
        """Wait, more often a short time than a long one."""
        seconds = longest * self.chance.random() ** 2
        self.did.append(f"after {seconds:.3f} s")
        time.sleep(seconds)

    def end(self, run: subprocess.Popen[str]) -> int:
        """Wait until a run has ended."""
        try:
            out, _ = run.communicate(timeout=RUN_SECONDS)
        except subprocess.TimeoutExpired:
            run.kill()
            raise Broken(f"a run did not end within {RUN_SECONDS} s") from None
        self.said += f"--- {self.did[-1]}: exit {run.returncode}\n{out}\n"
        if "Traceback (most recent call last)" in out and not _is_of_pythons_start(out):
            raise Broken("a run printed a traceback")
        return run.returncode

    def programs(self, run: subprocess.Popen[str]) -> list[int]:
        """What a run has started, but for its warden."""
        return [pid for pid, command in belonging(self.folder).items() if pid != run.pid and "warden" not in command]

    def kill(self, pid: int, what: str) -> None:
        self.did.append(f"kill {what}" if pid else f"too late to kill {what}")
        if pid:
            send(pid, signal.SIGKILL)


def _is_of_pythons_start(out: str) -> bool:
    """Whether Ctrl-C came before the first line of Ralph: Python itself prints a traceback then."""
    return out.rstrip().endswith("KeyboardInterrupt") and not re.search(r'entry\.py", line \d+, in main\n', out)


def process_limit(scene: Scene, more: int) -> Callable[[], None]:
    """Let a run have as many more processes than its user has now."""
    used = sum(_owner(thread) == scene.user.uid for thread in Path("/proc").glob("[0-9]*/task/*"))
    return lambda: resource.setrlimit(resource.RLIMIT_NPROC, (used + more, used + more))


def _owner(thread: Path) -> int:
    try:
        return thread.stat().st_uid
    except OSError:
        return -1  # it has just ended


def file_limit(number: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (number, number))
