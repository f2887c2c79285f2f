"""A repository as Ralph uses it: isolated from settings that agents could change, and without its own checkout."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ralph.errors import RalphError
from ralph.git import locks
from ralph.git.config import frozen, signing_settings, small_repository
from ralph.git.files import remove
from ralph.git.objects import Ident, commit_object, loose_tree, packs, write_object
from ralph.git.parse import Status, parse_scoped, parse_status
from ralph.git.refs import read_ref
from ralph.process.environment import for_git
from ralph.process.redaction import Secrets
from ralph.process.spawn import ProgramOutput, capture
from ralph.text import plain

OLDEST = "2.38"
"""The first version with `git merge-tree --write-tree`, which merges without a checkout."""

SEALED = (
    "-c", "core.quotePath=false",
    "-c", "gc.auto=0",
    "-c", "maintenance.auto=false",
    "-c", "advice.detachedHead=false",
    "-c", "advice.addEmbeddedRepo=false",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "commit.gpgSign=false",
    "-c", "core.bare=false",
    "-c", "core.sparseCheckout=false",
    "-c", "core.untrackedCache=false",
    "-c", "core.splitIndex=false",
    "-c", "core.trustctime=true",
    "-c", "core.checkStat=default",
    "-c", "core.ignoreStat=false",
    "-c", "submodule.recurse=false",
    "-c", "checkout.workers=4",
)  # fmt: skip
"""Options for Ralph's own git commands: no hooks, no signatures, and nothing that makes git skip a file."""

READS = frozenset(("cat-file", "diff-tree", "log", "ls-files", "ls-tree", "merge-base", "merge-tree", "rev-parse"))

OWN = "refs/ralph"
"""The prefix of the refs that only Ralph creates."""

HOOKS_TIMEOUT = 1800.0
"""How many seconds a commit may take: a project's hooks may run its tests."""


@dataclass
class Repo:
    """A repository's objects and refs. Calls that need files on disk name the folder themselves."""

    git_dir: Path  # the repository itself, shared by all of its worktrees
    top: Path  # the top of the person's checkout; Ralph only reads it
    prefix: str = ""  # the project root below the top, "" or "sub/folder/"
    ident: Ident = field(default_factory=Ident)
    has_ident: bool = True  # False: the person has set no name and email, and Ralph's own is used
    algorithm: str = "sha1"
    opened_at: str = ""  # the commit that was checked out when this was opened; empty: there was none yet
    settings: str = ""  # the configuration of a small repository that borrows objects
    ignores: bool | None = None  # whether there are ignore rules besides Ralph's own; None: not checked yet
    trees: dict[str, str] = field(default_factory=dict, repr=False)  # known trees of commits
    packs: frozenset[tuple[object, ...]] = frozenset()  # packs that existed before any agent ran
    proven: dict[str, tuple[int, ...]] = field(default_factory=dict, repr=False)  # verified objects, by name
    hooks_path: Path | None = None  # the person's core.hooksPath
    signing: Mapping[str, str] = field(default_factory=dict)  # the person's settings about signatures
    exclude_files: tuple[Path, ...] = ()  # files that may contain the person's own ignore rules
    owner: str = ""  # the run for which git works
    secrets: Secrets = field(default_factory=Secrets, repr=False)  # what must not be in a commit
    environment: Mapping[str, str] = field(default_factory=lambda: for_git(os.environ), repr=False)

    @property
    def zero(self) -> str:
        """The id that means "no object"."""
        return "0" * (64 if self.algorithm == "sha256" else 40)

    async def ask(
        self,
        *args: str,
        stdin: bytes = b"",
        index: Path | None = None,
        work_tree: Path | None = None,
        literal: bool = True,
        seconds: float = 120,
        borrows: Path | None = None,
    ) -> ProgramOutput:
        """Run git and return its result, even if it fails; `borrows` is a folder with more objects."""
        env = {
            **self.environment,
            **self.ident.variables,
            "LC_ALL": "C",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_DIR": str(self.git_dir),
        }
        if work_tree:
            env["GIT_WORK_TREE"] = str(work_tree)
        if index:
            env["GIT_INDEX_FILE"] = str(index)
        if borrows:
            env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = str(borrows)
        if literal:
            env["GIT_LITERAL_PATHSPECS"] = "1"
        cwd, argv = work_tree or self.git_dir, ["git", *SEALED, *args]
        done = await capture(argv, cwd=cwd, env=env, stdin=stdin, seconds=seconds, owner=self.owner)
        if done.was_killed and args[0] in READS:  # somebody killed it, so it has not answered
            done = await capture(argv, cwd=cwd, env=env, stdin=stdin, seconds=seconds, owner=self.owner)
        return done

    async def git(
        self,
        *args: str,
        stdin: bytes = b"",
        index: Path | None = None,
        work_tree: Path | None = None,
        literal: bool = True,
    ) -> str:
        """Run git and raise an error if it fails."""
        done = await self.ask(*args, stdin=stdin, index=index, work_tree=work_tree, literal=literal)
        if done.code:
            raise failed(args, work_tree or self.git_dir, done)
        return done.out.decode(errors="surrogateescape")

    # commits and trees

    async def resolve(self, revision: str) -> str:
        return (await self.git("rev-parse", "--verify", f"{revision}^{{commit}}")).strip()

    async def exists(self, commit: str) -> bool:
        return (await self.ask("cat-file", "-e", f"{commit}^{{commit}}")).code == 0

    async def tree_of(self, commit: str) -> str:
        """Return the tree of a commit, or a tree itself; cached. Git is asked only if the object is packed."""
        if commit in self.trees:
            return self.trees[commit]
        is_id = len(commit) == len(self.zero)  # a name may later mean another commit
        tree = loose_tree(self.git_dir, commit, self.algorithm) if is_id else ""
        tree = tree or (await self.git("rev-parse", "--verify", f"{commit}^{{tree}}")).strip()
        if is_id:
            self.trees[commit] = tree
        return tree

    async def between(self, old: str, new: str, *globs: str) -> tuple[str, ...]:
        """Return the paths that differ between two commits or trees, optionally filtered by globs."""
        paths = [f":(top,glob){glob}" for glob in globs]
        out = await self.git(
            "diff-tree", "-r", "--name-only", "-z", "--no-renames", old, new, "--", *paths, literal=False
        )
        return tuple(filter(None, out.split("\0")))

    async def paths_in(self, commit: str, *below: str) -> list[str]:
        out = await self.git("ls-tree", "-r", "--name-only", "-z", "--full-tree", commit, "--", *below)
        return list(filter(None, out.split("\0")))

    def write_commit(self, tree: str, parents: Iterable[str], message: str) -> str:
        """Write a commit without a ref and without starting a process."""
        data = commit_object(tree, parents, self.ident, plain(self.secrets.text(message)))
        commit = write_object(self.git_dir, "commit", data, self.algorithm)
        self.trees[commit] = tree
        return commit

    async def merge_base(self, one: str, other: str) -> str:
        return (await self.git("merge-base", one, other)).strip()

    async def is_ancestor(self, old: str, new: str) -> bool:
        return old == new or (await self.ask("merge-base", "--is-ancestor", old, new)).code == 0

    async def merged(self, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
        """Merge two commits; return the tree and the conflicting files, which contain both versions with markers."""
        done = await self.ask("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs)
        if done.code == 129:
            raise RalphError(f"This git is older than {OLDEST}.", remedy=f"Install git {OLDEST} or newer.")
        if done.code not in (0, 1):
            raise failed(("merge-tree",), self.git_dir, done)
        tree, *names = done.out.decode(errors="surrogateescape").split("\0")
        return tree, tuple(dict.fromkeys(filter(None, names)))

    async def has_line(self, base: str, tip: str, line: str) -> str:
        """Return the commit in `base..tip` whose message contains this line; "" if there is none."""
        found = await self.git(
            "log", "--fixed-strings", f"--grep={line}", "--format=%H%x00%B%x00%x00", f"{base}..{tip}"
        )
        for entry in found.split("\0\0"):
            commit, _, message = entry.strip("\n\0").partition("\0")
            if line in message.splitlines():
                return commit
        return ""

    # refs

    async def refs(self, prefix: str) -> dict[str, str]:
        out = await self.git("for-each-ref", "--format=%(objectname) %(refname)", prefix)
        return {name: commit for commit, _, name in (line.partition(" ") for line in out.split("\n") if line)}

    async def tip(self, ref: str) -> str:
        """Return the commit of a ref; "" if there is none. Git is asked only about an unusual one."""
        known = read_ref(self.git_dir, ref, len(self.zero))
        if known is not None:
            return known
        return (await self.ask("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")).out.decode().strip()

    async def keep(self, ref: str, commit: str) -> None:
        if not await self.move((ref, commit, None)):
            await self.git("update-ref", "--no-deref", ref, commit)  # raises the reason

    async def checkout_paths(self, commit: str, paths: Iterable[str], folder: Path) -> None:
        """Check out these paths from `commit` into a folder; remove those that it lacks."""
        wanted = list(paths)
        present = set(await self.paths_in(commit))
        for path in wanted:
            if path not in present:
                remove(folder, path)
        kept = [path for path in wanted if path in present]
        index = self.git_dir / f"ralph-index-{os.getpid()}"
        try:
            await self.git("read-tree", commit, index=index)
            await self.git("checkout-index", "--force", "-z", "--stdin", stdin=nul(kept), index=index, work_tree=folder)
        finally:
            index.unlink(missing_ok=True)

    async def move(self, *moves: tuple[str, str, str | None]) -> bool:
        """Move refs in one transaction: (ref, new, old), all or none.

        An empty `new` removes the ref; None as `old` accepts any value. A symbolic ref becomes a direct one; its target
        does not move.
        """
        lines = []
        for ref, new, old in moves:
            was = "" if old is None else f"\0{old or self.zero}"
            lines.append(f"update {ref}\0{new}{was or chr(0)}\0" if new else f"delete {ref}{was or chr(0)}\0")
        args, data = ("update-ref", "--no-deref", "-z", "--stdin"), "".join(lines).encode()
        if (await self.ask(*args, stdin=data)).code == 0:
            return True
        return await self._make_way([ref for ref, *_ in moves]) and (await self.ask(*args, stdin=data)).code == 0

    async def _make_way(self, wanted: list[str]) -> bool:
        """Remove what blocks these refs, and would block every later run.

        That is: abandoned locks, and refs of Ralph's own that conflict with a folder name or the reverse. The commits
        of those refs are kept.
        """
        found = bool(await locks.release(self.git_dir))
        ours = [ref for ref in wanted if ref.startswith(f"{OWN}/")]
        folders = {str(folder) for ref in ours for folder in Path(ref).parents if folder.is_relative_to(OWN)}
        known = await self.refs(OWN)
        names = {ref for ref in known if ref in folders or ref.startswith(tuple(f"{one}/" for one in ours))}
        for name in names | {folder for folder in folders if (self.git_dir / folder).is_file()}:
            await self.ask("update-ref", "--no-deref", "-d", name)
            if (self.git_dir / name).is_file():  # it was not a valid ref
                (self.git_dir / name).unlink()
            if name in known:
                await self.ask("update-ref", f"{OWN}/strays/{known[name][:12]}", known[name])
            found = True
        return found

    async def holder(self, branch: str) -> Path | None:
        """Return the work tree in which a branch is checked out."""
        out = await self.git("for-each-ref", "--format=%(worktreepath)", f"refs/heads/{branch}")
        return Path(out.rstrip("\n")) if out.strip() else None

    # the person's checkout, only read

    async def head(self) -> str:
        """Return the commit that the person has checked out; "" before the first commit."""
        done = await capture(
            ["git", *SEALED, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"],
            cwd=self.top,
            env=self._checkout_environment,
        )
        return done.out.decode().strip()

    async def current(self) -> str:
        """Return the branch that the person has checked out; "" if HEAD is detached."""
        done = await capture(
            ["git", *SEALED, "symbolic-ref", "--quiet", "--short", "HEAD"], cwd=self.top, env=self._checkout_environment
        )
        return done.out.decode(errors="surrogateescape").strip()

    async def status(self) -> Status:
        """Return the status of the person's checkout."""
        done = await capture(
            ["git", *SEALED, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all"],
            cwd=self.top,
            env=self._checkout_environment,
        )
        if done.code:
            raise failed(("status",), self.top, done)
        return parse_status(done.out.decode(errors="surrogateescape"))

    @property
    def _checkout_environment(self) -> dict[str, str]:
        """The environment in which git finds the person's checkout by itself."""
        return {**self.environment, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}

    @property
    def has_exclude_files(self) -> bool:
        """Whether ignore rules exist outside the checkouts."""
        own = self.git_dir / "info" / "exclude"
        rules = own.read_bytes().splitlines() if own.is_file() else []
        return any(rule.strip() and not rule.startswith(b"#") for rule in rules) or any(
            path.is_file() and path.stat().st_size for path in self.exclude_files
        )

    def hooks(self) -> Path | None:
        """Return the folder of the person's hooks, if a commit would run any."""
        folder = self.hooks_path or self.git_dir / "hooks"
        names = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")
        return folder if any(os.access(folder / name, os.X_OK) for name in names) else None


def failed(args: Iterable[str], where: Path, done: ProgramOutput) -> RalphError:
    """Return the error for a git command that must not fail."""
    verb = next((arg for arg in args if not arg.startswith("-") and "=" not in arg), "")
    message = done.err.decode(errors="replace").strip() or done.out.decode(errors="replace").strip()
    is_full = any(words in message for words in ("No space left", "Out of diskspace", "Disk quota exceeded"))
    return RalphError(
        f"git {verb} failed in {where}: {message.splitlines()[0] if message else 'exit code ' + str(done.code)}",
        details=tuple(message.splitlines()[1:6]),
        remedy="Free some disk space (`ralph clean` helps), then run again. Nothing is lost." if is_full else "",
    )


def nul(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


async def make_repo(folder: Path) -> Repo:
    """Create a repository in `folder`."""
    await capture(["git", "init", "--quiet"], cwd=folder, env=for_git(os.environ))
    return await open_repo(folder)


async def commit_first(repo: Repo, message: str) -> None:
    """Create an empty first commit as a base for work; what the person has staged stays staged."""
    tree = (await repo.git("mktree", stdin=b"")).strip()
    await capture(
        ["git", *SEALED, "update-ref", "HEAD", repo.write_commit(tree, (), message)],
        cwd=repo.top,
        env=repo._checkout_environment,
    )


async def open_repo(root: Path) -> Repo:
    """Open the repository that `root` is in, or raise an error that says what is missing."""
    env = {**for_git(os.environ), "LC_ALL": "C"}
    wanted = ("--path-format=absolute", "--show-toplevel", "--show-prefix", "--git-common-dir", "--show-object-format")
    head = ("--revs-only", "HEAD^{commit}")  # prints nothing before the first commit
    done = await capture(["git", *SEALED, "rev-parse", *wanted, *head], cwd=root, env=env)
    if done.code:
        raise _not_opened(root, done.err.decode(errors="replace").strip())
    top, prefix, common, algorithm, head_now = done.out.decode(errors="surrogateescape").split("\n")[:5]
    repo = Repo(git_dir=Path(common), top=Path(top), prefix=prefix, algorithm=algorithm, packs=packs(Path(common)))
    repo.opened_at = head_now
    listed = await capture(["git", "config", "--list", "-z", "--show-scope"], cwd=root, env=env)
    entries = parse_scoped(listed.out.decode(errors="surrogateescape"))
    settings = {key: value for _, key, value in entries}
    if settings.get("extensions.refstorage", "files") != "files":
        raise RalphError(
            f"The repository of {root} stores refs as {settings['extensions.refstorage']}; Ralph supports only files.",
            remedy="Convert it: git refs migrate --ref-format=files",
        )
    known = Ident.in_settings(settings, env) or await _ident(root, env)
    repo.ident, repo.has_ident = known or Ident(), known is not None
    repo.settings = small_repository(settings, algorithm)
    repo.signing = signing_settings(entries)
    home = Path(env.get("XDG_CONFIG_HOME") or Path(env.get("HOME", "/")) / ".config")
    repo.exclude_files = (Path(settings.get("core.excludesfile") or home / "git" / "ignore").expanduser(),)
    repo.environment = {**repo.environment, **frozen(entries, home / "git")}
    if settings.get("core.hookspath"):
        repo.hooks_path = Path(top) / Path(settings["core.hookspath"]).expanduser()
    return repo


async def _ident(root: Path, env: Mapping[str, str]) -> Ident | None:
    asked = await capture(["git", "var", "GIT_COMMITTER_IDENT"], cwd=root, env=env)
    return Ident.parse(asked.out.decode(errors="replace")) if asked.code == 0 else None


def _not_opened(root: Path, message: str) -> RalphError:
    if "dubious ownership" in message:
        return RalphError(f"git does not trust {root}.", details=tuple(message.splitlines()[:4]))
    if "must be run in a work tree" in message:
        return RalphError(
            f"{root} is a bare repository.", remedy="Run Ralph in a checkout of it: git worktree add ../checkout"
        )
    if "not a git repository" in message:
        remedy = "Create a repository: git init && git add . && git commit"
        return RalphError(f"{root} is not in a git work tree.", remedy=remedy)
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    remedy = "Install a newer git. This one is too old for the repository." if "extension" in message else ""
    return RalphError(f"git cannot read the repository of {root}.", details=tuple(lines[:4]), remedy=remedy)
