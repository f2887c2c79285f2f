"""`ralph init`: writes a configuration and a `.ralph/` folder. It never overwrites a file."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import click

from ralph import config as configuration
from ralph import workspace as workspaces
from ralph.agent.dialects import AGENTS, KnownAgent, known
from ralph.cli.trusting import approve_new, extending_approval, load_trusted
from ralph.config import Config
from ralph.errors import RalphError
from ralph.git import read as git_read
from ralph.journal.writer import now
from ralph.verify.gate_list import default_gates
from ralph.views import words
from ralph.views.lines import say
from ralph.workspace import MARKERS, SPECS_PLAN, Workspace

SCHEMA = ".ralph/config.schema.json"
SPECS = "specs"
EXAMPLE_SPEC = """→ Write what you want, one file for each piece of work, for example specs/user-avatar-upload.md:

    # User Avatar Upload
    Users can upload a picture of themselves.
    ## Tasks
    - [ ] Add an avatarUrl field to the user schema
    ## Acceptance Criteria
    - [ ] JPG and PNG up to 5 MB are accepted
"""


@click.command(
    name="init",
    epilog="""\b
Examples:
  ralph init --provider claude --verify "npm test" --verify "npm run lint"
  ralph init --provider amp
  ralph init --verify "make check" --protect
  ralph init --requirements requirements.md --verify "pytest -q"
  ralph init --specs --verify "pytest -q"

\b
With --requirements an agent turns the file into tasks, and `ralph run` works through them. In a git
repository, that repository is the application. Elsewhere, Ralph creates a new one in its own folder.

\b
With --specs, Ralph creates specs/ for your specs, one Markdown file for each piece of work, and
implementation.json for the tasks. `ralph plan --from specs/` makes the tasks, `ralph run specs` runs them.""",
)
@click.option("--provider", type=click.Choice(sorted(AGENTS)), default="claude", show_default=True, help="Your agent.")
@click.option("--verify", multiple=True, metavar="COMMAND", help="A check that every task must pass. Can be repeated.")
@click.option(
    "--protect/--no-protect", default=None, help="Protect the files that define the gates. Without it, Ralph asks."
)
@click.option(
    "--parallel/--no-parallel", default=None, help="Run the gates at the same time. Without it, Ralph asks if it can."
)
@click.option("--requirements", type=click.Path(path_type=Path), help="Make a plan from this file.")
@click.option("--specs", is_flag=True, help="Create specs/ and implementation.json.")
@click.option("--app", metavar="FOLDER", help="With --requirements: the application's folder; '.' is this one.")
@click.option("--model", help="With --requirements: the model that makes the plan.")
def command(
    provider: str,
    verify: tuple[str, ...],
    protect: bool | None,
    parallel: bool | None,
    requirements: Path | None,
    specs: bool,
    app: str | None,
    model: str | None,
) -> int:
    """Write ralph.config.json and .ralph/, and with --requirements a plan. Existing files are not overwritten.

    If there is a .ralph/prd.json without step configurations, the default one is written too.
    """
    agent = AGENTS[provider]
    if requirements and specs:
        raise RalphError("--requirements and --specs cannot be combined.", remedy="Choose one of them.")
    if requirements:
        return _from_requirements(agent, verify, requirements, app, model, protect=protect, parallel=parallel)
    if app or model:
        raise RalphError("--app and --model need --requirements.", remedy="See `ralph init --help`.")
    if git_read.is_bare(Path.cwd()):
        raise RalphError(
            "This is a bare repository.", remedy="Run Ralph in a checkout of it: git worktree add ../checkout"
        )
    workspace = _workspace()
    protected = _protected(workspace, verify, protect)
    parallel = _parallel(workspace, verify, parallel)
    made = [*write(workspace, agent, verify, protect=protected, parallel=parallel), *_complete_steps(workspace)]
    made += _prepare_specs(workspace) if specs else []
    for path in made:
        say(f"wrote {path}")
    if configuration.NAME not in made:
        say(f"{configuration.NAME} already exists and was not changed. Edit it, or remove it first.")
        config = configuration.load(workspace.root)
        gates = ", ".join(gate.name for gate in default_gates(config)) or "none"
        say(f"  agent {config.provider.command}, gates {gates}")
        if not specs:
            return 0
        agent = known(config.provider) or replace(agent, name="", command=config.provider.command, install="")
    _next_steps(agent, verify, specs=specs, new=configuration.NAME in made)
    return 0


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
    config = _config_now(workspace, agent, verify, follow=founding.is_apart).with_model("planner", model)
    view = TerminalView(folder=workspace.root)
    with planner(workspace, config, TARGET, view, tick=view.tick) as opened:
        maker = TaskMaker(opened, Layout(workspace=workspace), workspace.root)
        document = opened.wait(maker.create(founding.requirements.decode("utf-8-sig")))
        made = write(workspace, agent, verify, follow=founding.is_apart, protect=protected, parallel=parallel)
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


def _config_now(workspace: Workspace, agent: KnownAgent, verify: tuple[str, ...], *, follow: bool) -> Config:
    """The existing configuration, or the one that will be written."""
    if (workspace.root / configuration.NAME).exists():
        return load_trusted(workspace)
    return configuration.parse(_config(agent, verify, follow=follow).encode())


def _workspace() -> Workspace:
    """This folder if it looks like a project, else the nearest one that does."""
    folder = Path.cwd()
    if any((folder / marker).exists() for marker in (*MARKERS, configuration.NAME)):
        return Workspace(root=folder)
    try:
        return workspaces.find(folder)
    except RalphError:
        return Workspace(root=folder)


def write(
    workspace: Workspace,
    agent: KnownAgent,
    verify: tuple[str, ...],
    *,
    follow: bool = False,
    protect: tuple[str, ...] = (),
    parallel: bool | None = None,
) -> list[str]:
    """Make what is missing; returns the names of the new files. `follow`: the person's branch follows Ralph's."""
    made = []
    try:
        config = workspace.root / configuration.NAME
        if not config.exists():
            text = _config(agent, verify, follow=follow, protect=protect, parallel=parallel)
            config.write_text(text, encoding="utf-8")
            made.append(configuration.NAME)
        if workspace.keep_out_of_git(shared=True):
            made.append(".ralph/.gitignore")
        schema = workspace.root / SCHEMA
        if not schema.exists():
            schema.write_text(configuration.schema_text(), encoding="utf-8")
            made.append(SCHEMA)
    except OSError as error:
        raise RalphError(f"{error.filename} could not be written: {error.strerror}.") from None
    if configuration.NAME in made:
        approve_new(workspace)
    return made


def _config(
    agent: KnownAgent,
    verify: tuple[str, ...],
    *,
    follow: bool = False,
    protect: tuple[str, ...] = (),
    parallel: bool | None = None,
) -> str:
    together = {} if parallel is None else {"parallel": parallel}
    content = {
        "$schema": f"./{SCHEMA}",
        "maxRetries": 3,
        "provider": {"command": agent.command, "args": list(agent.args), "timeout": 1800},
        "services": [],
        "verify": {"default": list(verify), "ui": [], **together},
        "protect": list(protect),
        **({"roles": {role: {"model": model} for role, model in agent.models.items()}} if agent.models else {}),
        "commits": {
            **({"branch": "current"} if follow else {}),
            "prdChanges": True,
            "message": "chore: update prd.json",
        },
    }
    return json.dumps(content, indent=2) + "\n"


def _permission(agent: KnownAgent) -> str:
    """One line that says what the agent may do without asking."""
    switch = " ".join(agent.permission)
    return f"{agent.name} {f'with {switch}' if switch else ''}".strip() + f": {agent.permission_note}."


def _next_steps(agent: KnownAgent, verify: tuple[str, ...], *, specs: bool, new: bool) -> None:
    if new and agent.name in AGENTS:
        say(_permission(agent))
    if new and not verify:
        say('→ Add your checks to verify.default, for example ["npm test"]: they decide what passes.')
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
