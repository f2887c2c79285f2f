"""Reads a shell command as the programs that it starts, in which folder, and behind which wrappers."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from posixpath import basename, join, normpath

from ralph.audit.source import SHELL, SourceText

MAX_LENGTH = 20_000  # of a command or a script that is read as commands
MAX_CALLS = 200
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
_BREAK = re.compile(r"[;&|()]+")
_REDIRECTION = re.compile(r"\d*[<>]+&?\d*")
_KEYWORDS = "if then else elif fi do done while until for case esac { } ! time in"
_RESERVED = frozenset(_KEYWORDS.split())
_INSTALLED = re.compile(r"^/|(?:^|/)(?:node_modules/\.bin|\.?venv/bin|vendor/bin)/")
_PYTHON = re.compile(r"python[\d.]*|pypy[\d.]*|py|coverage")
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash"})
_NODES = frozenset({"node", "ts-node", "tsx", "deno", "bun", "babel-node", "nodejs"})


@dataclass(frozen=True)
class Call:
    """One program that a command starts."""

    program: str  # its name without a folder, or the path of a script
    arguments: tuple[str, ...] = ()
    folder: str = ""  # below the project's root
    path: tuple[str, ...] = ()  # folders of the project that the command puts on PATH
    is_file: bool = False  # `./check`, `sh check`: no program of that name on PATH

    @property
    def words(self) -> str:
        return shlex.join((self.program, *self.arguments))

    def named(self, *flags: str) -> str:
        """The value of an option."""
        for number, word in enumerate(self.arguments):
            if word in flags:
                return self.arguments[number + 1] if number + 1 < len(self.arguments) else ""
            for flag in flags:
                if word.startswith(f"{flag}=") and flag.startswith("--"):
                    return word.partition("=")[2]
        return ""


_WRAPPERS: dict[str, tuple[tuple[str, ...], str]] = {
    # program: (first words that make it a wrapper, options that take a value)
    "env": ((), "-u -C --chdir"),
    "command": ((), ""),
    "exec": ((), ""),
    "nohup": ((), ""),
    "nice": ((), "-n"),
    "sudo": ((), "-u -g"),
    "xvfb-run": ((), "-s -n"),
    "timeout": ((), "-s -k --signal --kill-after"),
    "dotenv": ((), "-f -e"),
    "cross-env": ((), ""),
    "npx": ((), "-p --package"),
    "bunx": ((), ""),
    "pnpx": ((), ""),
    "uvx": ((), "--from --with -p --python"),
    "pipx": (("run",), "--spec --python"),
    "uv": (("run",), "--with --group --extra --python -p --env-file --project --package --only-group --directory"),
    "poetry": (("run",), "-C --directory -P"),
    "pipenv": (("run",), ""),
    "pdm": (("run",), "-p"),
    "hatch": (("run",), ""),
    "rye": (("run",), ""),
    "conda": (("run",), "-n -p"),
    "mise": (("exec", "x"), ""),
    "bundle": (("exec",), ""),
    "pnpm": (("exec", "dlx"), "-C --filter -F"),
    "yarn": (("exec", "dlx"), ""),
    "npm": (("exec", "x"), "-w --workspace"),
    "xargs": ((), "-n -P -I -L -a"),
}


_HAVE_SCRIPTS = ("pdm", "hatch")
"""Wrappers that run a script of the project's settings, if it has the name."""


def calls(command: str, folder: str = "", depth: int = 0) -> list[Call]:
    """Return the programs that a shell command starts, in order."""
    found: list[Call] = []
    path: tuple[str, ...] = ()
    for simple in _simple_commands(command[:MAX_LENGTH]):
        words = simple
        while words and (words[0] in _RESERVED or _ASSIGNMENT.fullmatch(words[0]) or words[0] in ("export", "local")):
            if match := _ASSIGNMENT.fullmatch(words[0]):
                path += _on_path(match, folder)
            words = words[1:]
        if not words:
            continue
        if words[0] in ("cd", "pushd"):
            folder = below(folder, words[1] if len(words) > 1 else "")
            continue
        if depth < 4:
            found += [replace(call, path=(*path, *call.path)) for call in _unwrapped(words, folder, depth)]
        if len(found) >= MAX_CALLS:
            break
    return found


def below(folder: str, name: str) -> str:
    """A folder or file below another one, as a path of the project."""
    path = normpath(join(folder, name.replace("$PWD/", "").replace("${PWD}/", ""))).lstrip("/")
    return "" if path == "." else path


def _on_path(match: re.Match[str], folder: str) -> tuple[str, ...]:
    if match[1] not in ("PATH", "PYTHONPATH", "NODE_PATH"):
        return ()
    places = [place for place in match[2].split(":") if place and "$PATH" not in place]
    return tuple(below(folder, re.sub(r"^\$(?:PWD|\(pwd\)|\{PWD\})/?", "", place) or ".") for place in places)


def _simple_commands(command: str) -> Iterator[list[str]]:
    text = SourceText(command.replace("\\\n", "  "), SHELL).code.replace("\n", " ; ")
    reader = shlex.shlex(text, posix=True, punctuation_chars=";&|()<>")
    reader.whitespace_split = True
    reader.commenters = ""
    words: list[str] = []
    is_target = False
    try:
        tokens = list(reader)
    except ValueError:
        tokens = text.split()
    for token in tokens:
        if _BREAK.fullmatch(token):
            yield words
            words = []
        elif is_target or _REDIRECTION.fullmatch(token):
            if not is_target and words and words[-1] in ("1", "2"):
                words.pop()  # the 2 of 2>&1
            is_target = not is_target
        else:
            words.append(token)
    yield words


def _unwrapped(words: list[str], folder: str, depth: int) -> Iterator[Call]:
    """Leave out what only starts another program."""
    program = basename(words[0]) if "/" not in words[0] or _INSTALLED.search(words[0]) else words[0]
    rest = words[1:]
    if program in _SHELLS:
        yield from _shell(rest, folder, depth)
    elif program in (".", "source"):
        yield from _script(rest, folder)
    elif _PYTHON.fullmatch(program):
        yield from _python(program, rest, folder, depth)
    elif program in _NODES and not (program == "bun" and rest[:1] in (["run"], ["test"])):
        yield from _node(program, rest, folder)
    elif program in _WRAPPERS and (inner := _behind_wrapper(program, rest)) is not None:
        where = below(folder, _directory(rest)) if _directory(rest) else folder
        if program in _HAVE_SCRIPTS:
            yield Call(program, tuple(rest), folder)
        yield from calls(shlex.join(inner), where, depth + 1)
    elif "/" in program:
        yield Call(below(folder, program), tuple(rest), folder, is_file=True)
    else:
        yield Call(program, tuple(rest), folder)


def _directory(rest: list[str]) -> str:
    return Call("", tuple(rest)).named("-C", "--directory", "--project", "--chdir")


def _behind_wrapper(program: str, rest: list[str]) -> list[str] | None:
    """The command that a wrapper starts; None if it does something else here."""
    first, with_value = _WRAPPERS[program]
    rest = _behind_options(rest, with_value)
    if first:
        if not rest or rest[0] not in first:
            return None
        rest = _behind_options(rest[1:], with_value)
    if program == "timeout":
        rest = rest[1:]
    return rest or None


def _behind_options(rest: list[str], with_value: str) -> list[str]:
    while rest and (rest[0].startswith("-") or _ASSIGNMENT.fullmatch(rest[0])):
        rest = rest[2:] if rest[0] in with_value.split() else rest[1:]
    return rest


def _shell(rest: list[str], folder: str, depth: int) -> Iterator[Call]:
    for number, word in enumerate(rest):
        if re.fullmatch(r"-\w*c", word):
            yield from calls(" ".join(rest[number + 1 : number + 2]), folder, depth + 1)
            return
        if not word.startswith(("-", "+")):
            yield from _script(rest[number:], folder)
            return


def _script(rest: list[str], folder: str) -> Iterator[Call]:
    if rest:
        yield Call(below(folder, rest[0]), tuple(rest[1:]), folder, is_file=True)


def _python(program: str, rest: list[str], folder: str, depth: int) -> Iterator[Call]:
    if program == "coverage":
        yield Call("coverage", tuple(rest), folder)
        if rest[:1] != ["run"]:
            return
        rest = rest[1:]
    for number, word in enumerate(rest):
        if word == "-m" or (word.startswith("-m") and program == "coverage"):
            module = rest[number + 1 :]
            yield from calls(shlex.join(module), folder, depth + 1) if module else ()
            return
        if word == "-c":
            return
        if not word.startswith("-"):
            yield from _script(rest[number:], folder)
            return


def _node(program: str, rest: list[str], folder: str) -> Iterator[Call]:
    if program == "deno":
        yield Call("deno", tuple(rest), folder)
    if "--test" in rest or rest[:1] == ["test"]:
        yield Call("node:test", tuple(rest), folder)
    script = next((word for word in rest if not word.startswith("-") and word not in ("test", "run")), "")
    if script and re.search(r"\.[cm]?[jt]sx?$", script):
        yield Call(below(folder, script), (), folder)
