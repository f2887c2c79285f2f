"""Computes the variables with which Python imports the working copy's own code."""

from __future__ import annotations

import ast
import os
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from ralph.provision.relocate import Relocation

MAPPING = re.compile(r"^MAPPING\b[^=]*=\s*(\{.*\})\s*$", re.MULTILINE)
MODULE = re.compile(r"map_module\(\s*(['\"].*?['\"]),\s*(['\"].*?['\"])\s*\)")
SHIMS = ("versions", "installs/python")
"""Where pyenv, asdf and mise keep the Pythons that their shims start."""


def variables(
    env: Mapping[str, str], relocation: Relocation, provided: Collection[str], linked: Iterable[Path] = ()
) -> dict[str, str]:
    """Return the variables that must change in a copy with its own `provided` and `linked` folders."""
    outside = [site for site in sites(env, linked) if not _is_provided(str(site), relocation, provided)]
    changed = {
        "VIRTUAL_ENV": _virtual_env(env, relocation, provided),
        "PATH": _mapped(env.get("PATH", ""), relocation),
        "PYTHONPATH": _python_path(env.get("PYTHONPATH", ""), relocation, outside),
    }
    return {name: value for name, value in changed.items() if value and value != env.get(name)}


def _virtual_env(env: Mapping[str, str], relocation: Relocation, provided: Collection[str]) -> str:
    old = env.get("VIRTUAL_ENV", "")
    return relocation.path(old) if _is_provided(old, relocation, provided) else old


def _is_provided(folder: str, relocation: Relocation, provided: Collection[str]) -> bool:
    """Return whether an environment is in a folder that the working copy has a copy of."""
    new = relocation.path(folder)
    return new != folder and any(Path(new).is_relative_to(relocation.top / path) for path in provided)


def _mapped(search: str, relocation: Relocation) -> str:
    """Return a search path with the working copy's folders instead of the checkout's, if they exist."""
    new = ((folder, relocation.path(folder)) for folder in search.split(os.pathsep))
    return os.pathsep.join(there if there != here and Path(there).is_dir() else here for here, there in new)


def _python_path(given: str, relocation: Relocation, outside: Iterable[Path]) -> str:
    """Return `PYTHONPATH` with the working copy's folders for editable installs from the person's checkout."""
    before = [folder for folder in _mapped(given, relocation).split(os.pathsep) if folder]
    folders = dict.fromkeys(folder for site in outside for folder in editable_folders(site))
    mapped = [relocation.path(folder) for folder in folders if relocation.path(folder) != folder]
    new = [folder for folder in dict.fromkeys(mapped) if folder not in before and Path(folder).is_dir()]
    return os.pathsep.join((*new, *before))


def sites(env: Mapping[str, str], also: Iterable[Path] = ()) -> tuple[Path, ...]:
    """Return the package folders of every Python that a command may find, without running a program."""
    prefixes = [*also, *(Path(env[name]) for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if env.get(name))]
    prefixes += _on_path(env.get("PATH", ""))
    with_bases = [base for prefix in dict.fromkeys(prefixes) for base in (prefix, *_base(prefix))]
    if env.get("HOME"):
        with_bases.append(Path(env["HOME"]) / ".local")
    return tuple(dict.fromkeys(site for prefix in dict.fromkeys(with_bases) for site in _sites_in(prefix)))


@cache  # for a run: every working copy asks for the same search path
def _on_path(search: str) -> tuple[Path, ...]:
    programs = (shutil.which(name, path=search) for name in ("python3", "python"))
    return tuple(prefix for program in programs if program for prefix in _prefixes(Path(program)))


def _prefixes(program: Path) -> Iterator[Path]:
    """Yield the prefixes of the Python behind a program: its environment, its installation, or those behind a shim."""
    if (program.parent.parent / "pyvenv.cfg").is_file():
        yield program.parent.parent
    elif program.parent.name == "shims":
        yield from (found for folder in SHIMS for found in (program.parent.parent / folder).glob("*"))
    else:
        yield program.resolve().parent.parent
        yield program.parent.parent


def _base(prefix: Path) -> Iterator[Path]:
    """Yield the Python that an environment was made from, if its packages are visible in it."""
    try:
        lines = (prefix / "pyvenv.cfg").read_text(errors="replace").splitlines()
    except OSError:
        return
    values = {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}
    if values.get("include-system-site-packages") == "true" and values.get("home"):
        yield Path(values["home"]).parent


def _sites_in(prefix: Path) -> Iterator[Path]:
    for pattern in ("lib/python*/site-packages", "lib/python*/dist-packages", "local/lib/python*/dist-packages"):
        yield from sorted(prefix.glob(pattern))


def editable_folders(site: Path) -> Iterator[str]:
    """Yield the folders that `.pth` files and editable finders add to the import path."""
    try:
        names = sorted(os.listdir(site))  # noqa: PTH208 - only the names
    except OSError:
        return
    for name in names:
        if name.endswith(".pth"):
            yield from _paths_in(site / name)
        elif name.endswith(".py") and "editable" in name:
            yield from _mapped_in(site / name)


def _paths_in(file: Path) -> Iterator[str]:
    lines = _read(file).splitlines()
    yield from (line.strip().rstrip("/") for line in lines if line.startswith("/"))


def _mapped_in(file: Path) -> Iterator[str]:
    """Yield the folders of an editable finder's packages, except packages with another name on disk."""
    text = _read(file)
    pairs: list[tuple[object, object]] = [(_literal(a), _literal(b)) for a, b in MODULE.findall(text)]
    for mapping in (_literal(found) for found in MAPPING.findall(text)):
        pairs += mapping.items() if isinstance(mapping, dict) else ()
    yield from _roots((str(name), Path(str(path))) for name, path in pairs)


def _roots(packages: Iterable[tuple[str, Path]]) -> Iterator[str]:
    for name, path in packages:
        module = path.parent if path.name == "__init__.py" else path.with_suffix("") if path.suffix == ".py" else path
        parts = tuple(name.split("."))
        if module.parts[-len(parts) :] == parts:
            yield str(module.parents[len(parts) - 1])


def _literal(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None


def _read(file: Path) -> str:
    try:
        return file.read_text(errors="surrogateescape")
    except OSError:
        return ""
