"""What must hold after each round, found out without Ralph: with git, the files and the table of processes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from chaos.processes import PATIENCE, all_ended
from chaos.scene import GATE, Scene

ENDED = (0, 3)
"""The exit codes of a run that came to its end: everything is done, or something waits for a person."""


def belongings(scene: Scene) -> list[str]:
    """All that is a person's: where the checkout stands, what is staged, changed and untracked."""
    changes = [line for line in scene.git("status", "--porcelain").splitlines() if "?? .ralph" not in line]
    return [
        scene.git("symbolic-ref", "HEAD"),
        scene.git("rev-parse", "HEAD"),
        scene.git("ls-files", "--stage"),
        scene.git("diff"),
        *sorted(changes),
    ]


def problems(scene: Scene, before: list[str], patience: float = PATIENCE) -> list[str]:
    """Every invariant that does not hold, a line each."""
    orphans = [f"left running: {pid} {command[:200]}" for pid, command in all_ended(scene.folder, patience).items()]
    found = [*orphans, *_left_over(scene), *_whole(scene)]
    if belongings(scene) != before:
        found.append("the person's checkout is not as it was")
    if scene.git("branch", "--list", scene.workflow.branch):
        found += [*_tasks(scene), *_lost(scene), *_branch(scene)]
    elif _written(scene):
        found.append("there is work, and no branch")
    return found


def done(scene: Scene) -> set[str]:
    """The tasks that the plan on the branch calls done."""
    text = scene.git("show", f"{scene.workflow.branch}:{scene.workflow.plan}", check=False)
    return scene.workflow.done(text) if text else set()


def _tasks(scene: Scene) -> Iterator[str]:
    """What the plan calls done is on the branch, once; nothing else is."""
    branch = scene.workflow.branch
    shared = scene.git("show", f"{branch}:shared.txt").splitlines()
    passed = done(scene)
    for name in scene.case.needs:
        commits = scene.git("log", "--format=%H", f"main..{branch}", "--", f"work-{name}.txt").split()
        lines = scene.git("show", f"{branch}:work-{name}.txt", check=False).splitlines()
        if len(commits) != (name in passed):
            yield f"{name} is {'' if name in passed else 'not '}done, and {len(commits)} commits are about its work"
        if len(lines) != len(set(lines)):
            yield f"{name}: work is there twice: {lines}"
        if shared.count(name) != (name in passed):
            yield f"{name}: {shared.count(name)} times in shared.txt"
        if scene.workflow.has_needs and name in passed and not passed.issuperset(scene.case.needs[name]):
            yield f"{name} is done before {set(scene.case.needs[name]) - passed}, which it needs"


def _written(scene: Scene) -> set[str]:
    return set((scene.notes / "written").read_text().splitlines())


def _lost(scene: Scene) -> Iterator[str]:
    """Each line that an agent wrote is on the branch or in a ref of Ralph's."""
    refs = scene.git("for-each-ref", "--format=%(refname)", "refs/ralph").splitlines()
    kept = scene.git("grep", "-h", "-e", "-", *refs, scene.workflow.branch, "--", "work-*", check=False)
    for line in sorted(_written(scene) - set(kept.splitlines())):
        yield f"lost: {line}"


def _branch(scene: Scene) -> Iterator[str]:
    """The branch is green, as a person would find out, and has nothing that agents tampered with."""
    tree = scene.folder / "tree"
    scene.git("worktree", "add", "-q", "--detach", str(tree), scene.workflow.branch)
    if scene.run("/bin/sh", "-c", GATE, cwd=tree).returncode:
        yield "the gate is red on the branch"
    if scene.git("diff", "--name-only", "main", scene.workflow.branch, "--", "ralph.config.json"):
        yield "the branch has an agent's configuration"
    scene.git("worktree", "remove", "--force", str(tree))


def _whole(scene: Scene) -> Iterator[str]:
    """Git finds no fault, and every document can be read."""
    checked = scene.run("git", "fsck", "--full", "--strict", "--no-dangling", "--no-progress")
    if checked.returncode:
        yield f"git fsck: {(checked.stdout + checked.stderr).strip()[:500]}"
    for path in sorted((scene.project / ".ralph").rglob("*.json")):
        if "worktrees" not in path.parts and "logs" not in path.parts and not _is_json(path):
            yield f"damaged: {path}"


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text())
    except ValueError:
        return False
    return True


def _left_over(scene: Scene) -> Iterator[str]:
    """Nothing that only a run needs is left when it has ended."""
    state = scene.project / ".ralph"
    git = scene.project / ".git"
    for path in (
        *state.glob("run/*/*.attempt.json"),
        *state.glob("ralph.lock"),
        *scene.folder.glob("ralph-*"),
        *git.rglob("*.lock"),
        *git.rglob("ralph-index-*"),
        *(path for path in state.rglob("*.tmp") if "logs" not in path.parts),
    ):
        yield f"left over: {path.relative_to(scene.folder)}"
