"""Chaos: a few fixed rounds of it, and that it sees what must not be."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from chaos import oracle
from chaos.rounds import Machine, play
from chaos.scene import Case, Scene, User
from chaos.workflows import WORKFLOWS

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="chaos finds processes in /proc")
ROOT = Path(__file__).parents[2]
SEEDS, LAST = (48, 123, 339, 412), 320
"""Seeds of short rounds: each is in another workflow, and no agent hangs. The last three are in the sandbox."""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_round_of_chaos_leaves_all_as_it_must_be(seed: int) -> None:
    result = play(seed, Machine())
    assert result.problems == [], result.did


def test_the_command_plays_the_round_of_a_seed_and_says_what_it_did() -> None:
    env = {**os.environ, "CHAOS_SEED": str(LAST)}
    done = subprocess.run([sys.executable, "-m", "chaos"], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"\n{LAST} ok " in f"\n{done.stdout}"
    assert f"1 rounds from CHAOS_SEED={LAST}: nothing falsely done" in done.stdout


def test_a_seed_that_is_no_number_is_refused() -> None:
    env = {**os.environ, "CHAOS_SEED": "many"}
    done = subprocess.run([sys.executable, "-m", "chaos"], cwd=ROOT, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("CHAOS_SEED must be a whole number")


def on_branch(scene: Scene, change: str) -> None:
    """Commit what a shell command changes on the branch."""
    tree = scene.folder / "planted"
    scene.git("worktree", "add", "-q", str(tree), scene.workflow.branch)
    scene.run("/bin/sh", "-ec", f"{change}; git add -A; git commit -qm planted", cwd=tree, check=True)
    scene.git("worktree", "remove", "--force", str(tree))


def beside(change: str) -> Callable[[Scene], object]:
    return lambda scene: scene.run("/bin/sh", "-ec", change, check=True)


def lands(change: str) -> Callable[[Scene], object]:
    return lambda scene: on_branch(scene, change)


REFS = "git for-each-ref --format='%(refname)' refs/ralph refs/heads/ralph/auth"
BREACHES = {
    "left running: ": beside("sleep 60 > /dev/null 2>&1 &"),
    "left over: project/.git/index.lock": beside("touch .git/index.lock"),
    "damaged: ": beside("mkdir -p .ralph; echo '{' > .ralph/half.json"),
    "the person's checkout is not as it was": beside("echo other > app.txt"),
    "US-001 is done, and 2 commits": lands("echo more >> work-US-001.txt"),
    "US-002 is done, and 0 commits": lands("git reset -q --soft main; rm work-US-002.txt"),
    "US-001: work is there twice": lands("sed -i p work-US-001.txt"),
    "US-001: 0 times in shared.txt": lands("sed -i /US-001/d shared.txt"),
    "the gate is red on the branch": lands("touch bad-US-001"),
    "the branch has an agent's configuration": lands("echo '{}' > ralph.config.json"),
    "lost: US-002-1": beside(f"{REFS} | sed 's/^/delete /' | git update-ref --stdin; git branch ralph/auth main"),
    "git fsck: ": beside(f"mkdir -p .git/objects/aa; echo damaged > .git/objects/aa/{'a' * 38}"),
}


def test_each_breach_is_seen(tmp_path: Path) -> None:
    needs: dict[str, list[str]] = {"US-001": [], "US-002": ["US-001"]}
    case = Case(workflow=WORKFLOWS[0], needs=needs, turns={"US-001": [], "US-002": []})
    scene = Scene(tmp_path, case, random.Random(0), User(uid=os.getuid()))
    before = oracle.belongings(scene)
    assert scene.end(scene.start()) == 0
    assert oracle.problems(scene, before) == []
    kept = tmp_path / "kept"
    shutil.copytree(scene.project, kept, symlinks=True)
    for breach, make in BREACHES.items():
        make(scene)
        found = oracle.problems(scene, before, patience=0.1)
        assert any(problem.startswith(breach) for problem in found), (breach, found)
        shutil.rmtree(scene.project)
        shutil.copytree(kept, scene.project, symlinks=True)
