"""Says what changed in what the gates' commands lead to."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from posixpath import basename, dirname

from ralph.audit import conftest_files
from ralph.audit.commands import Call, below
from ralph.audit.conventions import is_test_file
from ralph.audit.files import ChangedFile, Tree, matches
from ralph.audit.lines import listed, shown
from ralph.audit.reached import Piece, Reached
from ralph.audit.settings import SettingChange, differences, has_other_dependencies, significant
from ralph.audit.tools import Tool, tools_of
from ralph.plan.evidence import Concern, ConcernKind

CI_FILES = (
    ".github/workflows/**",
    ".gitlab-ci.yml",
    ".circleci/**",
    "azure-pipelines.yml",
    "Jenkinsfile",
    ".travis.yml",
    ".buildkite/**",
    "bitbucket-pipelines.yml",
    ".woodpecker/**",
    ".woodpecker.yml",
)
LOCKS = {
    "package-lock.json": ("package.json",),
    "npm-shrinkwrap.json": ("package.json",),
    "yarn.lock": ("package.json",),
    "pnpm-lock.yaml": ("package.json", "pnpm-workspace.yaml"),
    "bun.lock": ("package.json",),
    "bun.lockb": ("package.json",),
    "uv.lock": ("pyproject.toml",),
    "poetry.lock": ("pyproject.toml",),
    "pdm.lock": ("pyproject.toml",),
    "Pipfile.lock": ("Pipfile",),
    "Cargo.lock": ("Cargo.toml",),
    "go.sum": ("go.mod",),
    "Gemfile.lock": ("Gemfile",),
    "composer.lock": ("composer.json",),
    "mix.lock": ("mix.exs",),
}
_DESELECTS = re.compile(
    r"--deselect|--ignore|-k\s*[\"']?\s*not\b|-m\s*[\"']?\s*not\b|testPathIgnorePatterns|testNamePattern"
    r"|--exclude|modulePathIgnore|collect_ignore|norecursedirs"
)
_STEERS = re.compile(
    r"^(?:exit|return)(?:\s+0|\s*;|$)|^set\s+\+|^trap\b|\bPATH=|^alias\b|\|\|\s*(?:true|:)(?!\w)|^exec\b"
    r"|\beval\b|^if\s+(?:false|\[ 0)|^: <<"
    r"|^raise\s+SystemExit(?:\(\s*0?\s*\))?$|^(?:\.|source)\s|(?:sys\.exit|os\._exit|exit)\s*\(\s*0?\s*\)|process\.exit\s*\(\s*0?\s*\)"
    r"|process\.exitCode\s*=\s*0|^\w+\s*\(\)\s*\{\s*(?:true|:|return 0)"
)
_STARTS = re.compile(r"\b(?:unittest|pytest)\.main\(|^(?:sys\.exit\()?(?:main|run\w*)\(")
_LEAVES_OUT = re.compile(r"\b(?:collect_ignore|__test__|[sS]kip|SkipTest|pytestmark)")
_TEST_MAIN = re.compile(r"^func TestMain\b.*?^\}", re.MULTILINE | re.DOTALL)


def redefined(changes: Mapping[str, ChangedFile], before: Reached, after: Reached) -> Iterator[Concern]:
    """Return a concern for each part that differs of what the gates lead to, in base and work.

    If the base has no tests, new settings weaken nothing: it is being set up.
    """
    yield from _pieces(changes, before, after)
    yield from _up_to_date(changes, before, after)
    for concern in _settings(changes.values(), [*before.calls, *after.calls]):
        if changes[concern.path].before is not None or any(map(is_test_file, before.tree.paths)):
            yield concern
    yield from _fixed(changes, before.tree)


def _told(path: str, line: int | None, text: str, kind: ConcernKind = ConcernKind.DEFINITIONS) -> Concern:
    return Concern(kind=kind, path=path, line=line, text=text)


def _pieces(changes: Mapping[str, ChangedFile], before: Reached, after: Reached) -> Iterator[Concern]:
    for (path, name), old in before.pieces.items():
        if path not in changes:
            continue
        new = after.pieces.get((path, name)) or _elsewhere(after, name)
        if old.is_script:
            yield from _script(changes[path], old)
        elif new is None:
            yield _told(path, None, f"`{shown(old.by)}` no longer runs {_named(name)}: `{shown(old.text)}`")
        elif not _only_adds(name, old, new):
            yield _told(path, new.line, _instead(name, old, new))
    defined = {piece.by for piece in before.pieces.values()}
    for (path, name), piece in after.pieces.items():
        was = before.pieces.get((path, name)) or _elsewhere(before, name)
        if (path, name) in before.pieces or path not in changes or (was and was.text == piece.text):
            continue
        is_first = changes[path].before is None and piece.by not in defined  # it led nowhere: it was not green
        if not piece.is_script and not is_first:
            yield _told(path, piece.line, f"`{shown(piece.by)}` now runs {_named(name)} too: `{shown(piece.text)}`")
        elif piece.is_script and changes[path].before is None and _shadows(path, before):
            yield _told(path, 1, f"`{shown(piece.by)}` now runs this new file")


def _elsewhere(reached: Reached, name: str) -> Piece | None:
    """A part of a Makefile that another file has, because one includes the other."""
    if not name.startswith(("target ", "variable ")):
        return None
    return next((piece for (_, one), piece in reached.pieces.items() if one == name), None)


def _up_to_date(changes: Mapping[str, ChangedFile], before: Reached, after: Reached) -> Iterator[Concern]:
    """Targets of make that no longer run, because there is a file of their name."""
    for name, makefile in after.files_to_make.items():
        there = [path for path in after.tree.paths if path == name or path.startswith(f"{name}/")]
        was = name in before.files_to_make and any(
            path == name or path.startswith(f"{name}/") for path in before.tree.paths
        )
        if there and not was:
            path = min((path for path in there if path in changes), default=makefile)
            text = f"`make {basename(name)}` runs nothing now: make takes `{name}` for the file that it makes"
            yield _told(path, None, text)


def _shadows(path: str, before: Reached) -> bool:
    return any(call.program == basename(path) for call in before.calls)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _named(name: str) -> str:
    kind, _, rest = name.partition(" ")
    return f"the {kind} `{rest}`" if rest else f"`{name}`"


def _only_adds(name: str, old: Piece, new: Piece) -> bool:
    """Whether a part is as it was; a target of make may also get further commands at its end."""
    before, after = ([_plain(line) for line in piece.text.splitlines()] for piece in (old, new))
    if before == after:
        return True
    added = after[len(before) :]
    return name.startswith("target ") and after[: len(before)] == before and not any(map(_STEERS.search, added))


def _instead(name: str, old: Piece, new: Piece) -> str:
    if name.startswith("variable "):
        return f"`{shown(old.by)}` uses {_named(name)}: it is `{shown(new.text)}` now, and was `{shown(old.text)}`"
    gone, added = _different_lines(old.text, new.text), _different_lines(new.text, old.text)
    if not gone:
        return f"`{shown(old.by)}` now runs `{shown(added)}` too"
    if not added:
        return f"`{shown(old.by)}` no longer runs `{shown(gone)}`"
    return f"`{shown(old.by)}` now runs `{shown(added)}` instead of `{shown(gone)}`"


def _different_lines(text: str, other: str) -> str:
    known = {_plain(line) for line in other.splitlines()}
    return "; ".join(line for line in map(_plain, text.splitlines()) if line not in known)


def _script(change: ChangedFile, piece: Piece) -> Iterator[Concern]:
    """A script may get further checks; what it ran must stay, and nothing may end it early."""
    if change.after is None:
        yield _told(change.path, None, f"the script of the gate `{shown(piece.by)}` is gone")
        return
    before, after = significant(change.old), significant(change.new)
    old, new = {line for _, line in before}, {line for _, line in after}
    gone = [line for _, line in before if line not in new]
    added = [(number, line) for number, line in after if line not in old]
    steering = next(((number, line) for number, line in added if _STEERS.search(line)), None)
    if steering:
        yield _told(
            change.path, steering[0], f"the script of the gate `{shown(piece.by)}` now has `{shown(steering[1])}`"
        )
    elif starts := [line for line in gone if is_test_file(change.path) and _STARTS.search(line)]:
        text = f"the gate `{shown(piece.by)}` runs this file, and `{shown(starts[0])}`, which starts its tests, is gone"
        yield _told(change.path, None, text)
    elif gone and not is_test_file(change.path):
        now = f"is now `{shown(added[0][1])}`" if added else "is gone"
        line = added[0][0] if added else None
        yield _told(change.path, line, f"in the script of the gate `{shown(piece.by)}`, `{shown(gone[0])}` {now}")


def _settings(changes: Iterable[ChangedFile], calls: Sequence[Call]) -> Iterator[Concern]:
    """Files and sections that steer the tools at the end of the commands."""
    tools: dict[int, tuple[Tool, set[str]]] = {}
    for call in calls:
        for tool in tools_of(basename(call.program)):
            places = (below(call.folder, word) for word in call.arguments if not word.startswith("-"))
            tools.setdefault(id(tool), (tool, set()))[1].update((call.folder, *places))
    for change in changes:
        seen: set[tuple[str, int | None]] = set()
        for tool, folders in tools.values():
            for concern in _of_tool(change, tool, folders):
                if (concern.text, concern.line) not in seen:
                    seen.add((concern.text, concern.line))
                    yield concern


def _of_tool(change: ChangedFile, tool: Tool, folders: set[str]) -> Iterator[Concern]:
    name = basename(change.path)
    if not tool.below and not is_above(dirname(change.path), folders):
        return
    if name in tool.parts:
        yield from _setting_changes(change, tool, tool.parts[name])
    elif any(fnmatch.fnmatchcase(name, pattern) for pattern in tool.files):
        if change.before is None:
            yield _told(change.path, 1, f"the file is new, and steers `{tool.programs[0]}`")
        else:
            yield from _setting_changes(change, tool, ())


def is_above(folder: str, folders: set[str]) -> bool:
    """Whether a file's folder is one of these or above one; `.cargo` and the like count as the folder around them."""
    folder = dirname(folder) if basename(folder).startswith(".") else folder
    return any(not folder or one == folder or one.startswith(f"{folder}/") for one in folders)


def _setting_changes(change: ChangedFile, tool: Tool, sections: tuple[str, ...]) -> Iterator[Concern]:
    program = tool.programs[0]
    if change.after is None and not sections:
        yield _told(change.path, None, f"the configuration of `{program}` is gone")
        return
    found = differences(change.path, change.old, change.new, sections)
    for one in found[:5]:
        deselects = (
            one.new and _DESELECTS.search(f"{one.name} {one.new}") and not (one.old and _DESELECTS.search(one.old))
        )
        kind = ConcernKind.SKIPPED if deselects else ConcernKind.DEFINITIONS
        yield _told(change.path, one.line, _setting_text(program, one), kind)


def _setting_text(program: str, one: SettingChange) -> str:
    if not one.name:
        if one.new is None:
            return f"the configuration of `{program}` no longer has `{shown(one.old or '')}`"
        was = f", where it had `{shown(one.old)}`" if one.old else ""
        return f"the configuration of `{program}` now has `{shown(one.new)}`{was}"
    if difference := _list_difference(one):
        return f"`{one.name}` of `{program}` {difference}"
    if one.new is None:
        return f"`{one.name}` of `{program}` is gone; it was `{shown(one.old or '')}`"
    was = f"was `{shown(one.old)}`" if one.old is not None else "was not set"
    return f"`{one.name}` of `{program}` is now `{shown(one.new)}`, and {was}"


def _list_difference(one: SettingChange) -> str:
    """What a list no longer has and now has; empty if it is no list."""
    if not all(text and text.startswith("[") for text in (one.old, one.new)):
        return ""
    try:
        old, new = (list(map(str, json.loads(text or "[]"))) for text in (one.old, one.new))
    except ValueError:
        return ""
    gone, added = ([item for item in items if item not in others] for items, others in ((old, new), (new, old)))
    said = (gone and f"no longer has {listed(gone)}", added and f"now has {listed(added)}")
    return " and ".join(part for part in said if part) or "has another order now"


def _fixed(changes: Mapping[str, ChangedFile], base: Tree) -> Iterator[Concern]:
    """Files that decide whatever the commands are: conftest.py, TestMain, CI, lock files."""
    for change in changes.values():
        name = basename(change.path)
        if name == conftest_files.CONFTEST or (name == conftest_files.PACKAGE and _is_of_tests(change.path, base)):
            for line, text in conftest_files.steering(change.old, change.new, name):
                kind = ConcernKind.SKIPPED if _LEAVES_OUT.search(text) else ConcernKind.DEFINITIONS
                yield _told(change.path, line, text, kind)
        elif name.endswith(".py") and change.before is not None and is_test_file(change.path):
            for line, text in conftest_files.choosing(change.old, change.new):
                yield _told(change.path, line, text)
        elif name.endswith("_test.go"):
            yield from _test_main(change)
        elif name == "go.mod" and change.before is None and "go.mod" in base.paths and _is_of_tests(change.path, base):
            yield _told(change.path, 1, "the folder is a module of its own now: `go test ./...` leaves it out")
        elif matches(change.path, CI_FILES) and change.before is not None:
            found = next(iter(differences("", change.old, change.new)), None)
            if change.after is None:
                yield _told(change.path, None, "the CI definition is gone")
            elif found:
                yield _told(change.path, found.line, f"the CI definition changed: {_ci_text(found)}")
        elif name in LOCKS and change.before is not None:
            yield from _lock(change, changes)


def _is_of_tests(path: str, base: Tree) -> bool:
    """Whether a package has tests in it, or below it."""
    folder = dirname(path)
    return any(one.startswith(f"{folder}/") and is_test_file(one) for one in base.paths) if folder else False


def _ci_text(one: SettingChange) -> str:
    if one.old and one.new:
        return f"`{shown(one.old)}` is now `{shown(one.new)}`"
    return f"`{shown(one.new)}` is new" if one.new else f"`{shown(one.old or '')}` is gone"


def _test_main(change: ChangedFile) -> Iterator[Concern]:
    old, new = _TEST_MAIN.search(change.old), _TEST_MAIN.search(change.new)
    if new and _plain(new.group()) != _plain(old.group() if old else ""):
        line = change.new.count("\n", 0, new.start()) + 1
        yield _told(
            change.path, line, f"`TestMain`, which starts the tests of this package, is {'changed' if old else 'new'}"
        )


def _lock(change: ChangedFile, changes: Mapping[str, ChangedFile]) -> Iterator[Concern]:
    manifests = [one for one in changes.values() if basename(one.path) in LOCKS[basename(change.path)]]
    if any(has_other_dependencies(one.path, one.old, one.new) for one in manifests):
        return
    what = "is gone" if change.after is None else "changed, although no dependency in the project's own files did"
    yield _told(change.path, None, f"the lock file {what}")
