"""One round: a plan, some runs in which something goes wrong, a run to the end, and what must hold then."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from chaos import faults, oracle
from chaos.processes import PATIENCE, all_ended
from chaos.scene import Broken, Case, Scene, User

UNUSED_UIDS = 61000


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What this machine lets chaos do."""

    has_disk: bool = False  # each round has a file system of its own
    other_users: bool = False  # a round may run as an ordinary user


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came of a round."""

    did: str
    problems: list[str]


def play(seed: int, machine: Machine) -> Result:
    """Play the round of a seed."""
    uid = UNUSED_UIDS + seed % 1000 if machine.other_users and seed % 3 == 0 else os.getuid()
    with _folder(machine) as folder:
        chance = random.Random(seed)
        case = Case.chosen(chance)
        scene = Scene(folder, case, chance, User(uid=uid))
        try:
            problems = _problems(scene, machine)
            passed = len(oracle.done(scene))
        finally:
            all_ended(folder, 0)
        if problems:
            problems.append(f"everything of this round is in {_keep(scene, seed)}")
    about = f"{case.workflow.name}, {passed} of {len(case.needs)} tasks done, sandbox {case.sandbox}, user {uid}"
    return Result(did=f"{about}: {', '.join(scene.did)}", problems=problems)


def _problems(scene: Scene, machine: Machine) -> list[str]:
    try:
        return _play(scene, machine)
    except Broken as broken:
        return [str(broken)]
    except subprocess.CalledProcessError as error:
        return [f"{' '.join(error.cmd)}: {error.stderr.strip()}"]


def _play(scene: Scene, machine: Machine) -> list[str]:
    before = oracle.belongings(scene)
    possible = faults.possible(scene, machine.has_disk)
    for _ in range(scene.chance.randint(1, 3)):
        fault = scene.chance.choice(possible)
        fault(scene)
        left = {} if fault is faults.kill_both else all_ended(scene.folder, PATIENCE)
        if left:
            return [f"left running after {fault.__name__}: {command[:200]}" for command in left.values()]
    code = scene.end(scene.start())
    if code not in oracle.ENDED:
        return [f"the same command does not come to its end: exit code {code}"]
    missing = set(scene.case.needs) - oracle.done(scene) if code == 0 else set()
    unfinished = [f"exit code 0, and the plan does not call {name} done" for name in sorted(missing)]
    return [*unfinished, *oracle.problems(scene, before)]


def _keep(scene: Scene, seed: int) -> Path:
    """Keep what a failed round left, with what its runs said."""
    (scene.folder / "said.txt").write_text(scene.said)
    kept = Path(mkdtemp(prefix=f"chaos-{seed}-"))
    shutil.copytree(scene.folder, kept, symlinks=True, dirs_exist_ok=True)
    return kept


@contextmanager
def _folder(machine: Machine) -> Iterator[Path]:
    """A folder for a round, on a small file system of its own if that can be had."""
    with TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        folder.chmod(0o755)
        if not machine.has_disk:
            yield folder
            return
        options = faults.ROOMY.removeprefix("rw,")
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"{options},mode=755", "chaos", str(folder)], check=True)
        try:
            yield folder
        finally:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
