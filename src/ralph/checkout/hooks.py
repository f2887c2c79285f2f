"""Runs the person's commit hooks in a working copy, on the work to be committed."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ralph.checkout.commit_subject import head_of
from ralph.checkout.leaks import without_secrets
from ralph.checkout.working_copy import WorkingCopy
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.git.objects import GITLINK, TreeEntry, batched, write_object
from ralph.git.repo import HOOKS_TIMEOUT, failed
from ralph.git.trees import NOTHING, changes_between, with_entries
from ralph.process.enclosure import Enclosure
from ralph.process.spawn import ProgramOutput, capture

RAW = re.compile(r":(\d{6}) (\d{6}) [0-9a-f]+ ([0-9a-f]+) [A-Z]\d*\0([^\0]*)\0")
TRAILER = re.compile(r"[A-Za-z][A-Za-z0-9-]*: \S")


class HookedCommit(Frozen):
    """The result of a commit with hooks."""

    commit: str = ""
    refused: str = ""  # why there is no commit
    output: str = ""
    subject: str = ""  # the first line of the message, which hooks may have changed
    trailers: tuple[str, ...] = ()  # lines that hooks added to the message, such as a Change-Id
    leaked: tuple[str, ...] = ()  # files into which hooks wrote secrets


async def commit_with_hooks(
    copy: WorkingCopy,
    base: str,
    work: str,
    message: str,
    env: Mapping[str, str],
    *,
    owner: str,
    within: Enclosure | None = None,
) -> HookedCommit:
    """Commit `work` on `base` as a person would; hooks may change files and the message.

    The copy must contain the files of `work`. If a hook changes files and refuses, as formatters do, stage its changes
    and try once more.
    """
    repo, copy.is_littered = copy.repo, True  # hooks may leave any files
    marked = {**env, "GIT_TERMINAL_PROMPT": "0"}
    git = ("git", "-c", f"core.hooksPath={repo.hooks()}", "-c", "commit.gpgSign=false", "-c", "gc.auto=0")

    async def run(*args: str) -> ProgramOutput:
        return await capture(
            [*git, *args], cwd=copy.folder, env=marked, seconds=HOOKS_TIMEOUT, owner=owner, within=within
        )

    commit = ("commit", "--quiet", "--allow-empty", "--message", message)
    try:
        done = await run(*commit)
        if done.code and (await run("diff", "--quiet")).code == 1:
            await run(
                "add", "--update", "--", ":(top)", *(f":(top,exclude,literal){path}" for path in copy.own.pathspecs)
            )
            done = await run(*commit)
    except RalphError as error:
        return HookedCommit(refused=error.what)
    output = (done.out + done.err).decode(errors="replace")
    if done.code:
        return HookedCommit(refused=f"exit code {done.code}", output=output)
    made = head_of(copy.folder)
    entries = await _changed(copy, work, made) if made else {}
    if not made or any(path in copy.own for path in entries):
        return HookedCommit(refused="a hook changed Ralph's own files", output=output)
    if entries:
        before = await repo.tree_of(work)
        tree = await with_entries(repo, before, entries)
        leaked = (await without_secrets(repo, base, tree, await changes_between(repo, before, tree)))[1]
        if leaked:
            return HookedCommit(leaked=leaked)
        work = repo.write_commit(tree, (base,), "The work after the commit hooks")
    lines = (await _ask(copy, "log", "-1", "--format=%B", made)).decode(errors="replace").strip().splitlines()
    added = tuple(line for line in lines[1:] if TRAILER.match(line) and line not in message)
    return HookedCommit(commit=work, subject=lines[0] if lines else "", trailers=added)


async def _changed(copy: WorkingCopy, work: str, made: str) -> dict[str, TreeEntry | None]:
    """Return the entries that the hooks changed in `work`, and copy their blobs into the project's store."""
    repo, entries = copy.repo, dict[str, TreeEntry | None]()
    listed = await _ask(copy, "diff-tree", "-r", "--raw", "-z", "--no-abbrev", "--no-renames", work, made)
    files: list[tuple[str, str, str]] = []
    for old_mode, mode, name, path in RAW.findall(listed.decode(errors="surrogateescape")):
        if mode == NOTHING:
            entries[path] = None
        elif mode != GITLINK and old_mode != GITLINK:
            files.append((path, mode, name))
    names = "".join(f"{name}\n" for _, _, name in files).encode()
    contents = batched(await _ask(copy, "cat-file", "--batch", stdin=names)) if files else ()
    for (path, mode, name), (_, data) in zip(files, contents, strict=True):
        if data is None:
            raise RalphError(f"The hooks' commit has no content for {path} ({name}).")
        entries[path] = TreeEntry(mode, write_object(repo.git_dir, "blob", data, repo.algorithm))
    return entries


async def _ask(copy: WorkingCopy, *args: str, stdin: bytes = b"") -> bytes:
    """Run Ralph's own git with the copy's objects as well as the project's."""
    done = await copy.repo.ask(*args, stdin=stdin, borrows=copy.folder / ".git" / "objects")
    if done.code:
        raise failed(args, copy.folder, done)
    return done.out
