"""Composes git configuration: for Ralph's own git, for working copies, and for agents and gates."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

CARRIED = ("core.autocrlf", "core.eol", "core.filemode", "core.ignorecase", "core.symlinks", "core.precomposeunicode")
"""Settings that determine how files are written to disk; every working copy has them."""

SIGNING = ("user.signingkey", "gpg.format", "gpg.program", "gpg.openpgp.program", "gpg.ssh.program")


def signing_settings(entries: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """Return the settings about signatures; the repository itself cannot name a program, because agents could."""
    return {
        key: value
        for scope, key, value in entries
        if key in SIGNING and not (key.endswith("program") and scope in ("local", "worktree"))
    }


def frozen(entries: Iterable[tuple[str, str, str]], defaults: Path) -> dict[str, str]:
    """Return variables that freeze the person's own configuration for every git that Ralph runs.

    The files are not read again, because agents often run `git config --global`, and a filter set there changes what a
    checkout contains. Settings of the repository itself still override these.
    """
    entries = list(entries)
    inner = {key for scope, key, _ in entries if scope in ("local", "worktree")}
    kept = [(key, value) for scope, key, value in entries if key not in inner and not key.startswith("include")]
    known = {key for _, key, _ in entries}
    for key, name in (("core.excludesfile", "ignore"), ("core.attributesfile", "attributes")):
        if key not in known:
            path = defaults / name
            kept.append((key, str(path if path.is_file() else os.devnull)))
    variables = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_CONFIG_COUNT": str(len(kept))}
    for number, (key, value) in enumerate(kept):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


def small_repository(known: Mapping[str, str], algorithm: str) -> str:
    """Return the configuration of a small repository that borrows this one's objects."""
    lines = ["[core]", f"\trepositoryformatversion = {int(algorithm != 'sha1')}", "\tbare = false"]
    lines += [f"\t{key.removeprefix('core.')} = {known[key]}" for key in CARRIED if known.get(key)]
    lines += ["[gc]", "\tauto = 0"]
    if algorithm != "sha1":
        lines += ["[extensions]", f"\tobjectformat = {algorithm}"]
    for key, value in known.items():
        section, _, rest = key.partition(".")
        name, _, what = rest.rpartition(".")
        if section == "filter" and name and '"' not in name:
            lines += [f'[filter "{name}"]', f"\t{what} = {value}"]
    return "\n".join(lines) + "\n"


def with_persons(environment: Mapping[str, str]) -> bytes:
    """Return a global configuration that includes the person's; a program that uses it writes to it, not to theirs."""
    home = environment.get("HOME", "/")
    usual = (f"{environment.get('XDG_CONFIG_HOME') or f'{home}/.config'}/git/config", f"{home}/.gitconfig")
    given = environment.get("GIT_CONFIG_GLOBAL")
    quoted = (path.replace("\\", r"\\").replace('"', r"\"") for path in ((given,) if given else usual))
    return os.fsencode("[include]\n" + "".join(f'\tpath = "{path}"\n' for path in quoted))
