"""`ralph doctor`: checks that everything Ralph needs is installed."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import click

from ralph import __version__, installation
from ralph import config as configuration
from ralph import workspace as workspaces
from ralph.agent.call import check_installed
from ralph.agent.dialects import dialect_of, known
from ralph.agent.isolated import opened
from ralph.agent.probe.remembered import is_probed
from ralph.cli.checks import show
from ralph.cli.entry import OTHER_NAME
from ralph.cli.probing import ProbeCheck, probed
from ralph.cli.trusting import approval_check, load_trusted, trust_option
from ralph.config import ROLES, Config, Provider
from ralph.errors import EXIT_ERROR, EXIT_LIMIT, RalphError
from ralph.git import read as git_read
from ralph.git.repo import open_repo
from ralph.process.blocking import capture_now
from ralph.stores import lock
from ralph.verify.browser import check_installed as check_browser
from ralph.verify.browser import playwright_version
from ralph.verify.gate_list import default_gates
from ralph.views import words
from ralph.views.lines import say_json
from ralph.workflows.checks import Check
from ralph.workflows.registry import everything, workflow_of
from ralph.workspace import Workspace

MIN_GIT = "2.38"
SHELL_WORDS = frozenset(("cd", "test", "[", "export", "set", "!", "true", "false", ":", "if", "for", "exec", "."))


@click.command(
    name="doctor",
    epilog="""\b
Examples:
  ralph doctor           what is installed and configured; calls no agent
  ralph doctor --probe   also calls each configured agent twice, in a throw-away repository

\b
Exit codes: 0 everything is there, 1 something is wrong, 4 only a limit or the network is a problem.""",
)
@click.option("--probe", is_flag=True, help="Call each configured agent to find out whether it works here.")
@trust_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(probe: bool, as_json: bool) -> int:
    """Check that Ralph has everything it needs: git, the repository, the configuration, the agent, the gates."""
    tell: Callable[[Check], object] = (lambda _: None) if as_json else show
    checks = []
    for check in examine(probe=probe):
        tell(check)
        checks.append(check)
    if probe:
        checks += _probe(tell)
    if as_json:
        say_json([asdict(check) for check in checks])
    bad = [check for check in checks if check.state == "bad"]
    if bad and all(isinstance(check, ProbeCheck) and check.can_wait for check in bad):
        return EXIT_LIMIT
    return EXIT_ERROR if bad else 0


def _probe(tell: Callable[[Check], object]) -> list[Check]:
    try:
        workspace = workspaces.find(Path.cwd())
        configuration.load(workspace.root)
    except RalphError:
        return []  # examine has said why
    config = load_trusted(workspace)
    return probed(map(config.provider_for, ROLES), workspace, config, tell)


def examine(*, probe: bool = False) -> Iterator[Check]:
    yield Check("good", f"Ralph {__version__}, Python {sys.version.split()[0]}")
    yield from _other_ralph()
    yield _git()
    try:
        workspace = workspaces.find(Path.cwd())
    except RalphError as error:
        yield Check("bad", error.what, error.remedy)
        return
    yield Check("good", f"project {workspace.root}")
    targets = everything(workspace)
    for folder in dict.fromkeys(target.repo for target in targets) or (workspace.root,):
        yield from _repository(folder)
    try:
        config = configuration.load(workspace.root)
    except RalphError as error:
        yield Check("bad", "\n    ".join((error.what, *error.details)), error.remedy)
        return
    yield Check("good", configuration.NAME)
    yield approval_check(workspace, config)
    yield from _agents(workspace, config, probe=probe)
    if noted := opened(map(config.provider_for, ROLES)):
        yield Check("note", noted)
    yield from _gates(config)
    yield from _browser(config)
    yield _sandbox(workspace, config)
    yield from _notify(workspace, config)
    for target in targets:
        yield from workflow_of(target).entry.examine(workspace, config, target)
    owner = lock.holder(workspace.lock)
    if owner:
        yield Check("note", f"a run is active: {owner.run} (process {owner.pid})")


def _other_ralph() -> Iterator[Check]:
    """Says if the command `ralph` is not this program: another package on PyPI installs one too."""
    found = shutil.which("ralph")
    if found and not installation.is_ours(Path(found)):
        yield Check(
            "note",
            f"the command `ralph` on your PATH is another program: {found}",
            f"Call `{OTHER_NAME}`, which is this one, or put {installation.scripts()} first in PATH.",
        )


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
        line
        for line in git_read.show(root, "status", "--porcelain", "--untracked-files=no", "--", ".").splitlines()
        if line
    ]
    if changed:
        yield Check(
            "note",
            f"{words.count(len(changed), 'uncommitted change')}: agents start from the last commit and do not see them",
            "Commit them if agents need them.",
        )


def _agents(workspace: Workspace, config: Config, *, probe: bool) -> Iterator[Check]:
    """Check that the agents are installed; those that are probed are not checked twice."""
    seen: set[tuple[str, str]] = set()
    racing = [config.executor(name).provider for name in config.race.agents]
    for provider in (*config.providers_for(ROLES), *racing):
        if (provider.command, provider.protocol) in seen or (probe and is_probed(provider)):
            continue
        seen.add((provider.command, provider.protocol))
        try:
            path = check_installed(provider, workspace.root)
        except RalphError as error:
            yield Check("bad", error.what, error.remedy)
            continue
        how = f"read as {dialect_of(provider).name}" if provider.protocol == "cli" else "used over ACP"
        yield Check("good", f"agent {provider.command} ({path}), {how}")
        yield from _acp_arguments(provider)
        script = provider.args[1] if provider.args[:1] == ("scripted",) and len(provider.args) > 1 else ""
        if script and not (workspace.root / script).is_file():
            yield Check("bad", f"the script {script} does not exist", "Write it: `ralph scripted --help` shows one.")


def _acp_arguments(provider: Provider) -> Iterator[Check]:
    """Checks that a known program gets the arguments with which it speaks ACP."""
    agent = known(provider)
    acp = agent.acp if agent and provider.protocol == "acp" else None
    if acp and acp.args[:1] and acp.args[0] not in provider.args:
        given = json.dumps(list(acp.args))
        yield Check("note", f"{provider.command} may need other arguments for ACP", f"Set provider.args to {given}.")


def _browser(config: Config) -> Iterator[Check]:
    """Checks Playwright and the browser, which UI stories need."""
    settings = config.browser
    if not settings.enabled:
        yield Check("note", "the browser is disabled: the pages of UI tasks are not checked")
        return
    try:
        path = check_browser(settings)
    except RalphError as error:
        is_needed = bool(config.services or config.verify.ui)
        yield Check("bad" if is_needed else "note", error.what, error.remedy)
        return
    yield Check("good", f"browser {path}, driven by Playwright {playwright_version()}")


def _sandbox(workspace: Workspace, config: Config) -> Check:
    """Says what encloses agents and gates here, or why nothing does."""
    from ralph.sandbox.backends import BACKENDS, INSTALL, problem
    from ralph.sandbox.sandbox import prepared

    try:
        sandbox = prepared(config, workspace, ())
    except RalphError as error:
        return Check("bad", "\n    ".join((error.what, *error.details)), error.remedy)
    if sandbox.backend:
        hidden = ", ".join(str(path).replace(str(Path.home()), "~", 1) for path in sandbox.hidden_from_all)
        return Check("good", f"sandbox {sandbox.backend.name}: {sandbox.backend.about}\n    hidden: {hidden}")
    if config.sandboxing.use == "none" or "RALPH_SANDBOX" in os.environ:
        return Check("note", "the sandbox is switched off: agents and gates can do what you can")
    why = "".join(f"\n    {one.name}: {problem(one)}" for one in BACKENDS)
    return Check("note", f"no sandbox works here: agents and gates can do what you can{why}", f"{INSTALL}.")


def _notify(workspace: Workspace, config: Config) -> Iterator[Check]:
    """Says how each notification would be sent; `ralph notify test` sends one."""
    if not config.notify:
        return
    from ralph.notify.channels import NoDesktopError, channels

    for channel in channels(config.notify, workspace):
        try:
            yield Check("good", f"notify {channel.name}: {channel.check()}")
        except RalphError as error:
            state = "note" if isinstance(error, NoDesktopError) else "bad"
            yield Check(state, f"notify {channel.name}: {error.what}", error.remedy)


def _gates(config: Config) -> Iterator[Check]:
    gates = default_gates(config)
    if not any(gate.required for gate in gates):
        what = "no gate is required" if gates else "verify.default is empty"
        yield Check("note", f"{what}: nothing will be verified", "Add your checks to ralph.config.json.")
    if config.unused_gates:
        yield Check("note", f"`gates` is set, so verify.default is not run: {', '.join(config.unused_gates)}")
    for gate in (*(gate.runs for gate in gates), *config.verify.ui):
        word = gate.split()[0]
        known = word in SHELL_WORDS or "=" in word or any(c in word for c in "$(`'\"") or shutil.which(word)
        if known or Path(word).exists():
            yield Check("good", f"gate `{gate}`: program found (`ralph verify` runs it)")
        else:
            yield Check("bad", f"gate `{gate}`: {word!r} was not found", "Install it, or correct the command.")
