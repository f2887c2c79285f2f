"""`ralph doctor`: checks that everything Ralph needs is installed."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click

from ralph import __version__
from ralph import config as configuration
from ralph import workspace as workspaces
from ralph.agent.call import check_installed
from ralph.agent.dialects import dialect_of
from ralph.cli.checks import show
from ralph.config import ROLES, Config
from ralph.errors import EXIT_WRONG, RalphError
from ralph.git import read as git_read
from ralph.git.repo import open_repo
from ralph.process.blocking import capture_now
from ralph.stores import lock
from ralph.verify.browser import check_installed as check_browser
from ralph.verify.browser import playwright_version
from ralph.verify.gates import default_gates
from ralph.workflows.checks import Check
from ralph.workflows.registry import everything, workflow_of
from ralph.workspace import Workspace

MIN_GIT = "2.38"
SHELL_WORDS = frozenset(("cd", "test", "[", "export", "set", "!", "true", "false", ":", "if", "for", "exec", "."))


@click.command(name="doctor")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(as_json: bool) -> int:
    """Check that everything Ralph needs is here: git, the repository, the configuration, the agent, the gates."""
    checks = list(examine())
    if as_json:
        click.echo(json.dumps([asdict(check) for check in checks], indent=2))
    else:
        for check in checks:
            show(check)
    return EXIT_WRONG if any(check.state == "bad" for check in checks) else 0


def examine() -> Iterator[Check]:
    yield Check("good", f"Ralph {__version__}, Python {sys.version.split()[0]}")
    yield _git()
    try:
        workspace = workspaces.find(Path.cwd())
    except RalphError as error:
        yield Check("bad", error.what, error.remedy)
        return
    yield Check("good", f"project {workspace.root}")
    known = everything(workspace)
    for folder in dict.fromkeys(target.repo for target in known) or (workspace.root,):
        yield from _repository(folder)
    try:
        config = configuration.load(workspace.root)
    except RalphError as error:
        yield Check("bad", "\n    ".join((error.what, *error.details)), error.remedy)
        return
    yield Check("good", configuration.NAME)
    yield from _agents(workspace, config)
    yield from _gates(config)
    yield from _browser(config)
    for target in known:
        yield from workflow_of(target).entry.examine(workspace, config, target)
    owner = lock.holder(workspace.lock)
    if owner:
        yield Check("note", f"a run is at work: {owner.run} (process {owner.pid})")


def _git() -> Check:
    code, out = capture_now(["git", "--version"], cwd=Path.cwd())
    if code:
        return Check("bad", "git is not installed", f"Install git {MIN_GIT} or newer.")
    found = re.search(r"(\d+)\.(\d+)", out.decode())
    if found and (int(found[1]), int(found[2])) < tuple(map(int, MIN_GIT.split("."))):
        return Check("bad", out.decode().strip(), f"Install git {MIN_GIT} or newer.")
    return Check("good", out.decode().strip())


def _repository(root: Path) -> Iterator[Check]:
    try:
        asyncio.run(open_repo(root))
    except RalphError as error:
        yield Check("bad", "\n    ".join((error.what, *error.details)), error.remedy)
        return
    code, _ = capture_now(["git", "rev-parse", "--verify", "--quiet", "HEAD"], cwd=root)
    if code:
        yield Check("bad", "the repository has no commits yet", "git add . && git commit")
    code, out = capture_now(["git", "var", "GIT_COMMITTER_IDENT"], cwd=root)
    if code:
        yield Check("note", "git has no user.name and user.email: commits would be made as Ralph <ralph@localhost>")
    else:
        yield Check("good", f"commits as {out.decode(errors='replace').rpartition('>')[0]}>")
    changed = [
        line for line in git_read.show(root, "status", "--porcelain", "--untracked-files=no").splitlines() if line
    ]
    if changed:
        yield Check(
            "note",
            f"{len(changed)} uncommitted changes: Ralph works on what is committed, and leaves them alone",
            "Commit them if agents are to see them.",
        )


def _agents(workspace: Workspace, config: Config) -> Iterator[Check]:
    seen: set[str] = set()
    for role in ROLES:
        provider = config.provider_for(role)
        if provider.command in seen:
            continue
        seen.add(provider.command)
        try:
            path = check_installed(provider, workspace.root)
        except RalphError as error:
            yield Check("bad", error.what, error.remedy)
            continue
        yield Check("good", f"agent {provider.command} ({path}), read as {dialect_of(provider).name}")
        script = provider.args[1] if provider.args[:1] == ("scripted",) and len(provider.args) > 1 else ""
        if script and not (workspace.root / script).is_file():
            yield Check("bad", f"the script {script} is not there", "Write it: `ralph scripted --help` shows one.")


def _browser(config: Config) -> Iterator[Check]:
    """Checks Playwright and the browser, which UI stories need."""
    settings = config.browser
    if not settings.enabled:
        yield Check("note", "the browser is switched off: pages of UI stories are not looked at")
        return
    try:
        path = check_browser(settings)
    except RalphError as error:
        is_needed = bool(config.services or config.verify.ui)
        yield Check("bad" if is_needed else "note", error.what, error.remedy)
        return
    yield Check("good", f"browser {path}, driven by Playwright {playwright_version()}")


def _gates(config: Config) -> Iterator[Check]:
    gates = default_gates(config)
    if not any(gate.required for gate in gates):
        what = "no gate is required" if gates else "verify.default is empty"
        yield Check("note", f"{what}: nothing will be verified", "Add your checks to ralph.config.json.")
    if config.unused_gates:
        yield Check("note", f"`gates` is set, so verify.default is not run: {', '.join(config.unused_gates)}")
    for gate in (*(gate.command for gate in gates), *config.verify.ui):
        word = gate.split()[0]
        known = word in SHELL_WORDS or "=" in word or any(c in word for c in "$(`'\"") or shutil.which(word)
        if known or Path(word).exists():
            yield Check("good", f"gate `{gate}`: its program is here (`ralph verify` runs it)")
        else:
            yield Check("bad", f"gate `{gate}`: {word!r} was not found", "Install it, or correct the command.")
