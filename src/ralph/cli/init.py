"""`ralph init`: writes a configuration and a `.ralph/` folder. It never overwrites a file."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ralph import config as configuration
from ralph import workspace as workspaces
from ralph.agent.dialects import AGENTS, KnownAgent, known
from ralph.cli.init_files import FirstSettings, write
from ralph.cli.trusting import extending_approval, load_trusted
from ralph.config import Config
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.git import read as git_read
from ralph.journal.writer import now
from ralph.verify.gate_list import default_gates
from ralph.views import words
from ralph.views.lines import say
from ralph.workspace import MARKERS, SPECS_PLAN, Workspace

SPECS = "specs"
EXAMPLE_SPEC = """→ Write what you want, one file for each piece of work, for example specs/user-avatar-upload.md:

    # User Avatar Upload
    Users can upload a picture of themselves.
    ## Tasks
    - [ ] Add an avatarUrl field to the user schema
    ## Acceptance Criteria
    - [ ] JPG and PNG up to 5 MB are accepted
"""


class InitFlags(Frozen):
    """The options from the command line."""

    provider: str | None
    verify: tuple[str, ...]
    protect: bool | None
    parallel: bool | None
    specs: bool = False
    yes: bool = False
    here: bool = False
    dry_run: bool = False
    no_baseline: bool = False


@click.command(
    name="init",
    epilog="""\b
Examples:
  ralph init                 looks for agents, checks and services, runs the checks once, and asks
  ralph init --yes           takes what it found, except for checks that fail
  ralph init --dry-run       shows what it found and what it would write
  ralph init --here          this folder is a project of its own, such as a package of a monorepo
  ralph init --provider claude --verify "npm test" --verify "npm run lint"
  ralph init --verify "make check" --protect
  ralph init --requirements requirements.md --verify "pytest -q"
  ralph init --specs --verify "pytest -q"

\b
With --verify, these are the gates, and nothing else is looked for. In a project that is set up, `ralph init`
shows what the project has by now and the configuration lacks, and changes nothing without your word.

\b
With --requirements an agent turns the file into tasks, and `ralph run` works through them. In a git
repository, that repository is the application. Elsewhere, Ralph creates a new one in its own folder.

\b
With --specs, Ralph creates specs/ for your specs, one Markdown file for each piece of work, and
implementation.json for the tasks. `ralph plan --from specs/` makes the tasks, `ralph run specs` runs them.""",
)
@click.option("--provider", type=click.Choice(sorted(AGENTS)), help="Your agent. Without it, one that is installed.")
@click.option("--verify", multiple=True, metavar="COMMAND", help="A check that every task must pass. Can be repeated.")
@click.option(
    "--protect/--no-protect", default=None, help="Protect the files that define the gates. Without it, Ralph asks."
)
@click.option(
    "--parallel/--no-parallel", default=None, help="Run the gates at the same time. Without it, Ralph asks if it can."
)
@click.option("-y", "--yes", is_flag=True, help="Take what is found, without a question.")
@click.option("--here", is_flag=True, help="Set up this folder, not a project above it.")
@click.option("--dry-run", is_flag=True, help="Show what is found and would be written; write and run nothing.")
@click.option("--no-baseline", is_flag=True, help="Do not run the gates that are found.")
@click.option("--requirements", type=click.Path(path_type=Path), help="Make a plan from this file.")
@click.option("--specs", is_flag=True, help="Create specs/ and implementation.json.")
@click.option("--app", metavar="FOLDER", help="With --requirements: the application's folder; '.' is this one.")
@click.option("--model", help="With --requirements: the model that makes the plan.")
def command(requirements: Path | None, app: str | None, model: str | None, **given: Any) -> int:
    """Set up a project: find its checks and your agents, and write ralph.config.json and .ralph/. With --requirements,
    also make a plan. Existing files are not overwritten.

    If there is a .ralph/prd.json without step configurations, the default one is written too.
    """
    flags = InitFlags(**given)
    if requirements and flags.specs:
        raise RalphError("--requirements and --specs cannot be combined.", remedy="Choose one of them.")
    if requirements and flags.dry_run:
        raise RalphError("--requirements and --dry-run cannot be combined.", remedy="Leave --dry-run out.")
    if requirements:
        agent = _agent(flags)
        return _from_requirements(
            agent, flags.verify, requirements, app, model, protect=flags.protect, parallel=flags.parallel
        )
    if app or model:
        raise RalphError("--app and --model need --requirements.", remedy="See `ralph init --help`.")
    if git_read.is_bare(Path.cwd()):
        raise RalphError(
            "This is a bare repository.", remedy="Run Ralph in a checkout of it: git worktree add ../checkout"
        )
    workspace = Workspace(root=Path.cwd()) if flags.here else _workspace()
    if (workspace.root / configuration.NAME).exists():
        return _again(workspace, flags)
    settings = _named(workspace, flags) if flags.verify else _looked(workspace, flags)
    if flags.dry_run:
        say(f"Would write {configuration.NAME}:")
        say(settings.text().rstrip())
        return 0
    made = [*write(workspace, settings), *_complete_steps(workspace)]
    made += _prepare_specs(workspace) if flags.specs else []
    for path in made:
        say(f"wrote {path}")
    _next_steps(settings.agent, settings.gates, specs=flags.specs, new=configuration.NAME in made)
    return 0


def _agent(flags: InitFlags) -> KnownAgent:
    """The agent that is named, else one that is installed."""
    from ralph.cli.init_look import InitLook, installed_agents

    return AGENTS[flags.provider] if flags.provider else InitLook(agents=installed_agents()).agent


def _named(workspace: Workspace, flags: InitFlags) -> FirstSettings:
    """The person has named the gates: nothing else is looked for."""
    return FirstSettings(
        agent=_agent(flags),
        gates=flags.verify,
        protect=_protected(workspace, flags.verify, flags.protect),
        parallel=_parallel(workspace, flags.verify, flags.parallel),
    )


def _looked(workspace: Workspace, flags: InitFlags) -> FirstSettings:
    """Look at the project and the machine, show what is there, and ask what of it counts."""
    from ralph.cli import init_look

    _say_where(workspace)
    found = init_look.look(workspace.root)
    init_look.show(found)
    takes, asks = flags.yes or flags.dry_run, init_look.is_asking(yes=flags.yes or flags.dry_run)
    named = AGENTS[flags.provider] if flags.provider else None
    if flags.yes and not named and not found.agents:
        raise RalphError(
            "No agent that Ralph knows is installed here.",
            remedy="`ralph agents` says how to install one. Or name yours: ralph init --yes --provider NAME",
        )
    if not takes and not asks:
        if found.findings.gates or found.findings.services:
            say("→ Nobody can be asked here, so none of these gates is taken. `ralph init --yes` takes them.")
        return FirstSettings(agent=named or found.agent)
    agent = named or (init_look.ask_agent(found) if asks else found.agent)
    gates = found.findings.gates
    is_tried = not (flags.dry_run or flags.no_baseline)
    red = init_look.try_gates(workspace, init_look.first_config(agent), gates, asks=asks) if is_tried else {}
    gates = init_look.ask_gates(gates, red) if asks else init_look.green(gates, red)
    commands = tuple(gate.command for gate in gates)
    services = found.findings.services
    if asks:
        services = tuple(one for one in services if click.confirm(f"Start {one.name} ({one.start}) for pages?", True))
    wanted = flags.protect if flags.protect is not None or asks else True
    return FirstSettings(
        agent=agent,
        gates=commands,
        services=services,
        protect=_protected(workspace, commands, wanted),
        parallel=flags.parallel,
        is_found=True,
    )


def _again(workspace: Workspace, flags: InitFlags) -> int:
    """The project has a configuration: what it lacks is shown, and only added if the person says so."""
    from ralph.cli import init_again, init_look

    _protected(workspace, flags.verify, flags.protect)
    if flags.dry_run:
        init_again.propose(workspace, init_look.look(workspace.root), dry_run=True)
        return 0
    config = configuration.load(workspace.root)
    agent = known(config.provider) or replace(AGENTS["claude"], name="", command=config.provider.command, install="")
    made = [*write(workspace, FirstSettings(agent=agent)), *_complete_steps(workspace)]
    made += _prepare_specs(workspace) if flags.specs else []
    for path in made:
        say(f"wrote {path}")
    gates = ", ".join(gate.name for gate in default_gates(config)) or "none"
    found = init_look.InitLook() if flags.verify else init_look.look(workspace.root)
    if not init_again.propose(workspace, found, yes=flags.yes, tries=not flags.no_baseline):
        say(f"{configuration.NAME} already exists and was not changed. Edit it, or remove it first.")
        say(f"  agent {config.provider.command}, gates {gates}")
    if flags.specs:
        _next_steps(agent, flags.verify, specs=True, new=False)
    return 0


def _say_where(workspace: Workspace) -> None:
    """Say so if the project is not the folder in which the person is."""
    if workspace.root != Path.cwd():
        say(f"The project is {workspace.root}. To set up only {Path.cwd()}: `ralph init --here`.")


def _protected(workspace: Workspace, verify: tuple[str, ...], wanted: bool | None) -> tuple[str, ...]:
    """Propose to protect the files that define the gates; a configuration that exists is not changed."""
    from ralph.cli.gate_files import chosen, proposed  # no other command needs it

    exists = (workspace.root / configuration.NAME).exists()
    if wanted is False or (exists and not wanted):
        return ()
    commands = [gate.command for gate in default_gates(configuration.load(workspace.root))] if exists else verify
    return chosen(proposed(workspace.root, commands), wanted, can_write=not exists)


def _parallel(workspace: Workspace, verify: tuple[str, ...], wanted: bool | None) -> bool | None:
    """Propose to run several gates at the same time; a configuration that exists is not changed."""
    if wanted is not None or len(verify) < 2 or (workspace.root / configuration.NAME).exists():
        return wanted
    if sys.stdin.isatty():
        question = "Run these gates at the same time? Not if one of them needs the files of another"
        return click.confirm(question, default=False) or None
    say('→ These gates run one after another. If none needs the files of another: "verify": {"parallel": true}.')
    return None


def _complete_steps(workspace: Workspace) -> list[str]:
    """Makes the default step configuration if there is a requirements plan without one."""
    from ralph.workflows.requirements.scaffold import complete_steps

    with extending_approval(workspace):
        return complete_steps(workspace)


def _prepare_specs(workspace: Workspace) -> list[str]:
    """Makes the files of the specs workflow, and names files that it no longer uses."""
    made = []
    try:
        if not (workspace.root / SPECS).is_dir():
            (workspace.root / SPECS).mkdir()
            made.append(f"{SPECS}/")
        plan = workspace.root / SPECS_PLAN
        if not plan.exists():
            empty = {"version": 1, "updatedAt": now(), "updatedBy": "plan-mode", "specs": []}
            plan.write_text(json.dumps(empty, indent=2) + "\n", encoding="utf-8")
            made.append(SPECS_PLAN)
        else:
            say(f"{SPECS_PLAN} already exists and was not changed.")
    except OSError as error:
        raise RalphError(f"{error.filename} could not be written: {error.strerror}.") from None
    for name in ("IMPLEMENTATION_PLAN.md", "tasks.json"):
        if (workspace.root / name).exists():
            say(f"{name} is not used: {SPECS_PLAN} replaced it. The file was not changed.")
    return made


def _from_requirements(
    agent: KnownAgent,
    verify: tuple[str, ...],
    source: Path,
    app: str | None,
    model: str | None,
    *,
    protect: bool | None = None,
    parallel: bool | None = None,
) -> int:
    """Makes a whole plan. Nothing is written until the plan is complete and valid."""
    from ralph.views.terminal import TerminalView
    from ralph.workflows.planning import planner
    from ralph.workflows.requirements.planning import TaskMaker
    from ralph.workflows.requirements.scaffold import Scaffold
    from ralph.workflows.requirements.workflow import TARGET, Layout

    workspace = Workspace(root=Path.cwd())
    founding = Scaffold.check(workspace, source, app)
    protected = () if founding.is_apart else _protected(workspace, verify, protect)
    parallel = _parallel(workspace, verify, parallel)
    settings = FirstSettings(agent=agent, gates=verify, follow=founding.is_apart, protect=protected, parallel=parallel)
    config = _config_now(workspace, settings).with_model("planner", model)
    view = TerminalView(folder=workspace.root)
    with planner(workspace, config, TARGET, view, tick=view.tick) as opened:
        maker = TaskMaker(opened, Layout(workspace=workspace), workspace.root)
        document = opened.wait(maker.create(founding.requirements.decode("utf-8-sig")))
        made = write(workspace, settings)
        with extending_approval(workspace):
            made += opened.wait(founding.write(document))
    say()
    for path in made:
        say(f"wrote {path}")
    if configuration.NAME in made:
        say(_permission(agent))
    plan = Layout(workspace=workspace).store().load()
    say(f"\n{words.count(len(plan.tasks), 'task')}: {plan.description}", bold=True)
    for task in plan:
        say(f"  {task.id}  {task.title}")
    say("\n→ Read the tasks in .ralph/prd.json, and edit them if you like.")
    if not default_gates(config):
        say('→ Add your checks to verify.default in ralph.config.json, for example ["pytest -q"]. Without')
        say("  checks, nothing is verified, and every view says so.")
    say("→ Then run `ralph run`.")
    return 0


def _config_now(workspace: Workspace, settings: FirstSettings) -> Config:
    """The existing configuration, or the one that will be written."""
    if (workspace.root / configuration.NAME).exists():
        return load_trusted(workspace)
    return configuration.parse(settings.text().encode())


def _workspace() -> Workspace:
    """This folder if it looks like a project, else the nearest one that does."""
    folder = Path.cwd()
    if any((folder / marker).exists() for marker in (*MARKERS, configuration.NAME)):
        return Workspace(root=folder)
    try:
        return workspaces.find(folder)
    except RalphError:
        return Workspace(root=folder)


def _permission(agent: KnownAgent) -> str:
    """One line that says what the agent may do without asking."""
    switch = " ".join(agent.permission)
    return f"{agent.name} {f'with {switch}' if switch else ''}".strip() + f": {agent.permission_note}."


def _next_steps(agent: KnownAgent, verify: tuple[str, ...], *, specs: bool, new: bool) -> None:
    if new and agent.name in AGENTS:
        say(_permission(agent))
    if new and not verify:
        say('→ Add your checks to verify.default, for example ["make check"]: they decide what passes.')
    if agent.name == "scripted":
        say("→ Write agent.json, the script it plays: `ralph scripted --help` shows one.")
    elif not shutil.which(agent.command):
        say(f"→ {agent.command} is not installed{f': {agent.install}' if agent.install else '.'}")
    if git_read.top(Path.cwd()) is None:
        say("→ This is not a git repository yet. Run `git init`, and make a first commit.")
    if specs:
        say(EXAMPLE_SPEC)
        say("→ Commit these files and run `ralph doctor`. Then `ralph plan --from specs/`, and `ralph run specs`.")
    else:
        say("→ Commit ralph.config.json and .ralph, and run `ralph doctor`. Then make a plan:")
        say('  `ralph plan "What you want"`, or a feature: `ralph plan NAME "WHAT"`.')
