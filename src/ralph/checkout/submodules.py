"""Submodules of a working copy: filled from what the person's own checkout has, without any network."""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import replace
from pathlib import Path

from ralph import inside
from ralph.git.repo import Repo


async def fill(repo: Repo, folder: Path) -> None:
    """Check out every submodule that the person has initialised; the others stay empty, as they are there."""
    for module, path, commit in await _submodules(repo, folder):
        target = folder / path
        target.mkdir(parents=True, exist_ok=True)
        done = await module.ask("read-tree", "--reset", "-u", commit, index=_index(folder, path), work_tree=target)
        if done.code:
            continue
        await module.ask("clean", "-ffdxq", index=_index(folder, path), work_tree=target)
        git = target / ".git"
        inside.remove_all(git)
        (git / "objects" / "info").mkdir(parents=True)
        (git / "refs").mkdir()
        (git / "HEAD").write_text(f"{commit}\n")
        (git / "config").write_text(repo.settings)
        (git / "objects" / "info" / "alternates").write_bytes(os.fsencode(module.git_dir / "objects") + b"\n")
        shutil.copyfile(_index(folder, path), git / "index")
        await fill(module, target)


async def changed(repo: Repo, folder: Path) -> list[str]:
    """The submodules whose files are not those of their commit any more."""
    found = []
    for module, path, commit in await _submodules(repo, folder):
        index, target = _index(folder, path), folder / path
        if not index.exists():
            continue
        await module.ask("add", "--all", "--ignore-errors", index=index, work_tree=target)
        done = await module.ask("diff-index", "--cached", "--quiet", commit, index=index, work_tree=target)
        if done.code:
            found.append(path)
    return found


async def missing(repo: Repo, folder: Path) -> list[str]:
    """The submodules that have no files, because the person's checkout has none of them either."""
    listed = await repo.git("ls-files", "--stage", "-z", index=_index_of(folder), work_tree=folder)
    paths = [entry.partition("\t")[2] for entry in listed.split("\0") if entry.startswith("160000 ")]
    return [path for path in paths if not (folder / path).is_dir() or not any((folder / path).iterdir())]


async def _submodules(repo: Repo, folder: Path) -> list[tuple[Repo, str, str]]:
    """The initialised ones: their repository, path and commit."""
    if not (folder / ".gitmodules").is_file():
        return []
    out = await repo.ask(
        "config", "-z", "--file", str(folder / ".gitmodules"), "--get-regexp", r"^submodule\..*\.path$"
    )
    found = []
    for entry in out.out.decode(errors="surrogateescape").split("\0"):
        key, _, path = entry.partition("\n")
        name = key.removeprefix("submodule.").removesuffix(".path")
        if not path or ".." in Path(name).parts or ".." in Path(path).parts:
            continue
        git_dir = _git_dir(repo, name, path)
        if not git_dir:
            continue
        listed = await repo.git("ls-files", "--stage", "-z", "--", path, index=_index_of(folder), work_tree=folder)
        mode, _, rest = listed.partition(" ")
        if mode == "160000":
            found.append((replace(repo, git_dir=git_dir, top=repo.top / path, prefix=""), path, rest.split(" ", 1)[0]))
    return found


def _git_dir(repo: Repo, name: str, path: str) -> Path | None:
    """Where a submodule's repository is: with the others, or where the person's checkout says, as in a worktree."""
    there = repo.top / path / ".git"
    said = there.read_text().strip().removeprefix("gitdir: ") if there.is_file() else ""
    places = (repo.git_dir / "modules" / name, there.parent / said if said else there)
    return next((place for place in places if (place / "HEAD").is_file()), None)


def _index_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.index")


def _index(folder: Path, path: str) -> Path:
    name = hashlib.sha256(path.encode(errors="surrogateescape")).hexdigest()[:12]
    return folder.with_name(f"{folder.name}.index.{name}")
