"""Fills the submodules of a working copy from the person's checkout, without any network."""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import replace
from pathlib import Path

from ralph import safe_files
from ralph.git.files import is_behind_link
from ralph.git.objects import GITLINK
from ralph.git.repo import Repo


async def fill(repo: Repo, folder: Path, index: Path | None = None) -> None:
    """Check out every submodule that the person has initialised; the others stay empty, as in the person's checkout."""
    index = index or _index_of(folder)
    modules = await _modules(repo, folder)
    for path, commit in (await _gitlinks(repo, folder, index)).items() if modules or _was_filled(index) else ():
        # git leaves a link there, which may lead to the person's files
        target, own = safe_files.own_folder(folder, path), _index(index, path)
        module = _module(repo, modules.get(path, ""), path)
        if module is None or (await module.ask("read-tree", "--reset", "-u", commit, index=own, work_tree=target)).code:
            _empty(target, own)
            continue
        await module.ask("clean", "-ffdxq", index=own, work_tree=target)
        git = target / ".git"
        safe_files.remove_all(git)
        (git / "objects" / "info").mkdir(parents=True)
        (git / "refs").mkdir()
        (git / "HEAD").write_text(f"{commit}\n")
        (git / "config").write_text(repo.settings)
        (git / "objects" / "info" / "alternates").write_bytes(os.fsencode(module.git_dir / "objects") + b"\n")
        shutil.copyfile(own, git / "index")
        await fill(module, target, own)


async def changed(repo: Repo, folder: Path) -> list[str]:
    """Return the submodules whose files differ from their commit."""
    found, index = [], _index_of(folder)
    modules = await _modules(repo, folder)
    for path, commit in (await _gitlinks(repo, folder, index)).items() if modules else ():
        own, target = _index(index, path), folder / path
        module = _module(repo, modules.get(path, ""), path)
        if module is None or not own.exists():
            continue
        if target.is_symlink() or is_behind_link(folder, path):
            found.append(path)
            continue
        await module.ask("add", "--all", "--ignore-errors", index=own, work_tree=target)
        done = await module.ask("diff-index", "--cached", "--quiet", commit, index=own, work_tree=target)
        if done.code:
            found.append(path)
    return found


async def missing(repo: Repo, folder: Path) -> list[str]:
    """Return the submodules without files, because the person's checkout has none either."""
    paths = await _gitlinks(repo, folder, _index_of(folder))
    return [path for path in paths if not (folder / path).is_dir() or not any((folder / path).iterdir())]


async def _gitlinks(repo: Repo, folder: Path, index: Path) -> dict[str, str]:
    """Return the submodule paths in an index, with their commits."""
    listed = await repo.git("ls-files", "--stage", "-z", index=index, work_tree=folder)
    heads = (entry.partition("\t")[::2] for entry in listed.split("\0") if entry.startswith(f"{GITLINK} "))
    return {path: head.split(" ")[1] for head, path in heads}


async def _modules(repo: Repo, folder: Path) -> dict[str, str]:
    """Return the name of each submodule by its path. An agent may have written both."""
    if not safe_files.is_file(folder / ".gitmodules"):
        return {}
    out = await repo.ask(
        "config", "-z", "--file", str(folder / ".gitmodules"), "--get-regexp", r"^submodule\..*\.path$"
    )
    found = {}
    for entry in out.out.decode(errors="surrogateescape").split("\0"):
        key, _, path = entry.partition("\n")
        name = Path(key.removeprefix("submodule.").removesuffix(".path"))
        if path and not name.is_absolute() and ".." not in name.parts:
            found[path] = str(name)
    return found


def _module(repo: Repo, name: str, path: str) -> Repo | None:
    """Return a submodule's repository: below `modules/`, or where the person's checkout points, as in a worktree."""
    there = repo.top / path / ".git"
    said = there.read_text().strip().removeprefix("gitdir: ") if there.is_file() else ""
    places = (repo.git_dir / "modules" / name, there.parent / said if said else there) if name else ()
    git_dir = next((place for place in places if (place / "HEAD").is_file()), None)
    return replace(repo, git_dir=git_dir, top=repo.top / path, prefix="") if git_dir else None


def _empty(folder: Path, index: Path) -> None:
    for entry in folder.iterdir():
        safe_files.remove_all(entry)
    safe_files.remove_all(index)


def _was_filled(index: Path) -> bool:
    """Return whether a submodule was filled here before; its files remain even if `.gitmodules` no longer names it."""
    return any(index.parent.glob(f"{index.name}.*"))


def _index_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.index")


def _index(index: Path, path: str) -> Path:
    """Return the path of a submodule's index, beside its parent's index."""
    name = hashlib.sha256(path.encode(errors="surrogateescape")).hexdigest()[:12]
    return index.with_name(f"{index.name}.{name}")
