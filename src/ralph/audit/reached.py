"""Follows a gate's command: through package scripts, make targets and shell scripts, to the tools at the end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from posixpath import basename, dirname, splitext

from ralph.audit import makefiles
from ralph.audit.commands import Call, below, calls
from ralph.audit.conventions import is_test_file
from ralph.audit.files import Tree
from ralph.audit.settings import line_of, read

MAX_DEPTH = 6
MAX_PIECES = 300
_SCRIPT = re.compile(r".*\.(?:sh|bash|zsh|py|[cm]?[jt]s|rb|pl)|[^.]+")
_CHECKS = re.compile(
    r"check|test|lint|verif|valid|gate|format|audit|quality|suite|\bci\b|^ci|spec|build", re.IGNORECASE
)
_FOLDERS = frozenset({"scripts", "script", "ci", "tools", "hack", ".github", ".ci", "test", "tests", "t"})
_MANAGERS = frozenset({"npm", "yarn", "pnpm", "bun"})
_RUNNERS = frozenset({"npm-run-all", "run-s", "run-p", "npm-run-all2"})


@dataclass(frozen=True)
class Piece:
    """A part of a file that a gate's command leads to."""

    text: str
    line: int | None
    by: str  # the command that leads to it
    is_script: bool = False


@dataclass
class Reached:
    """Everything that a command leads to in one tree."""

    tree: Tree
    pieces: dict[tuple[str, str], Piece] = field(default_factory=dict)  # by path and name
    calls: list[Call] = field(default_factory=list)
    files_to_make: dict[str, str] = field(default_factory=dict)  # targets that make leaves out if there is such a file

    def follow(self, command: str, folder: str = "", depth: int = 0) -> None:
        if depth > MAX_DEPTH or len(self.pieces) > MAX_PIECES or len(self.calls) > MAX_PIECES:
            return
        for call in calls(command, folder):
            self.calls.append(call)
            if call.program in _MANAGERS:
                self._package(call, depth)
            elif call.program in _RUNNERS:
                for name in call.arguments:
                    self._package_script(call, name, call.folder, depth)
            elif call.program == "concurrently":
                for word in call.arguments:
                    self.follow(re.sub(r"^npm:(\S+)", r"npm run \1", word), call.folder, depth + 1)
            elif call.program in ("make", "gmake"):
                self._make(call, depth)
            elif call.program == "tox":
                self._tox(call, depth)
            else:
                self._script(call, depth)

    def _add(self, path: str, name: str, piece: Piece) -> bool:
        """Return whether the piece is new."""
        is_new = (path, name) not in self.pieces and len(self.pieces) < MAX_PIECES
        if is_new:
            self.pieces[path, name] = piece
        return is_new

    def _package(self, call: Call, depth: int) -> None:
        folder = call.folder
        if where := call.named("--prefix", "-C", "--cwd", "--dir", "-w", "--workspace"):
            folder = next(
                (
                    place
                    for place in (below(folder, where), below(folder, f"packages/{where}"))
                    if self.tree.text(below(place, "package.json")) is not None
                ),
                folder,
            )
        words = [word for word in call.arguments if not word.startswith("-") and word != where]
        first = words[0] if words else "install"
        if first in ("run", "run-script") and len(words) > 1:
            self._package_script(call, words[1], folder, depth)
        elif first in ("test", "t", "tst"):
            self._package_script(call, "test", folder, depth)
        elif first in ("ci", "install", "i"):
            for name in ("preinstall", "install", "postinstall", "prepare"):
                self._one_script(call, name, folder, depth)
        elif call.program != "npm" or first in ("start", "stop"):
            self._package_script(call, first, folder, depth)

    def _package_script(self, call: Call, name: str, folder: str, depth: int) -> None:
        for one in (f"pre{name}", name, f"post{name}"):
            self._one_script(call, one, folder, depth)

    def _one_script(self, call: Call, name: str, folder: str, depth: int) -> None:
        path = below(folder, "package.json")
        text = self.tree.text(path) or ""
        try:
            package = json.loads(text)
            script = package["scripts"][name]
        except (ValueError, KeyError, TypeError, RecursionError):
            return
        by = f"{call.program} {'' if name in ('test', 'start') else 'run '}{name}"
        if isinstance(script, str) and self._add(
            path, f"scripts.{name}", Piece(script, line_of(text, ("scripts", name)), by)
        ):
            self.follow(script, folder, depth + 1)

    def _make(self, call: Call, depth: int) -> None:
        folder = below(call.folder, call.named("-C", "--directory"))
        named = call.named("-f", "--file", "--makefile")
        names = [named] if named else makefiles.NAMES
        path = next((one for name in names if self.tree.text(one := below(folder, name)) is not None), "")
        if not path:
            return
        made = self._with_includes(path, folder)
        options = {named, call.named("-C", "--directory"), call.named("-j")}
        goals = [
            word for word in call.arguments if not word.startswith("-") and "=" not in word and word not in options
        ]
        by = f"make {' '.join(goals)}".strip()
        for name in made.steering:
            self._variable(made.variables[name], name, by)
        for name in makefiles.SPECIAL:
            if name in made.targets:
                target = made.targets[name]
                text = f"{name}: {' '.join(target.needs)}".strip()
                self._add(target.path, f"target {name}", Piece(text, target.line, by))
        for goal in goals or [made.first]:
            self._target(made, goal, folder, depth)

    def _with_includes(self, path: str, folder: str) -> makefiles.Makefile:
        made = makefiles.read(self.tree.text(path) or "", path)
        for name in made.includes[:20]:
            inner = below(folder, name)
            makefiles.read(self.tree.text(inner) or "", inner, into=made)
        return made

    def _variable(self, variable: makefiles.MakeVariable, name: str, by: str) -> None:
        self._add(variable.path, f"variable {name}", Piece(variable.value, variable.line, by))

    def _target(self, made: makefiles.Makefile, name: str, folder: str, depth: int) -> None:
        target = made.targets.get(name)
        if not target:
            return
        by = f"make {name}"
        if not self._add(target.path, f"target {name}", Piece(target.text, target.line, by)):
            return
        if not made.is_remade(name):
            self.files_to_make[below(folder, name)] = target.path
        for variable in sorted(made.used_by(target.commands + " ".join(target.needs))):
            self._variable(made.variables[variable], variable, by)
        for need in made.expanded(" ".join(target.needs)).split():
            self._target(made, need, folder, depth)
        self.follow(made.expanded(target.commands).replace("$$", "$"), folder, depth + 1)

    def _tox(self, call: Call, depth: int) -> None:
        text = self.tree.text(below(call.folder, "tox.ini"))
        settings = read("tox.ini", text) if text else None
        for key, value in (settings or {}).items():
            if key[-1].startswith("commands"):
                self.follow(str(value).replace("{posargs}", ""), call.folder, depth + 1)

    def _script(self, call: Call, depth: int) -> None:
        path = call.program
        is_word = "." not in path and "/" not in path  # it may be the program itself: its name must say that it checks
        if not _SCRIPT.fullmatch(path) or (is_word and not call.is_file) or (text := self.tree.text(path)) is None:
            return
        is_shell = splitext(path)[1] in ("", ".sh", ".bash", ".zsh")
        is_called = is_shell and depth == 0 and not is_word and not path.startswith(("bin/", "src/"))
        if not (is_check(path) or is_called):
            return
        if self._add(path, "", Piece(text, None, call.words, is_script=True)) and is_shell:
            self.follow(text, call.folder, depth + 1)


def is_check(path: str) -> bool:
    """Return whether a script is a check by its name or its folder, and not a part of the program."""
    return (
        bool(_CHECKS.search(basename(path)))
        or bool(_FOLDERS.intersection(dirname(path).split("/")))
        or is_test_file(path)
    )


def reach(tree: Tree, commands: Iterator[str] | list[str]) -> Reached:
    reached = Reached(tree)
    for command in commands:
        reached.follow(command)
    return reached
