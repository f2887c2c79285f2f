"""`ralph plan`: the one command for every way to make a plan."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click
from click.core import ParameterSource

from ralph import workspace as workspaces
from ralph.cli.plan_request import PlanFlags, plan_request
from ralph.cli.trusting import trust_option
from ralph.errors import RalphError
from ralph.validation import nearest
from ralph.views.lines import say
from ralph.workflows.feature import locate as features
from ralph.workflows.registry import WORKFLOWS, everything
from ralph.workflows.request.planning import ResearchMode
from ralph.workflows.session import ids as session_ids
from ralph.workflows.session import locate as sessions
from ralph.workspace import FEATURE_NAME, TARGETS, Workspace, check_name

STYLES = {
    "research": "decisions and independent tasks, after research if that helps (the default)",
    "quick": "the same without research",
    "prd": "questions, a PRD and stories for a feature",
    "roles": "a planner, a questioner, an executor and a reviewer",
}
ANOTHER_WAY = {
    "requirements": "From a file of requirements: ralph plan --from requirements.md",
    "specs": "From the specs in specs/*.md: ralph plan --from specs/",
    "request": 'Say what you want in a sentence: ralph plan "What you want"',
}
SPECS_FOLDER = "specs"
ALWAYS = ("words", "style", "source", "yes", "color", "trust")
EXAMPLES = """\b
Examples:
  ralph plan "Build a REST API for user management"     research, your decisions, independent tasks
  ralph plan login "Sign in with a passkey"             a feature: questions, a PRD, stories
  ralph plan --from requirements.md                     tasks from a file; the next time: more tasks
  ralph plan --from specs/                              tasks from the specs in specs/*.md
  ralph plan weather "A weather page" --style roles     planned and built by four roles

\b
  ralph plan login                                      continue a feature: refine, finalize, edit
  ralph plan login "Also on phones"                     change its PRD
  ralph plan                                            continue a request
  ralph plan "…" --yes                                  accept the recommended answers
  ralph plan "…" --answers answers.json                 {"answers": {"storage": "SQLite"}}
  ralph plan --show, --edit, --discard                  the request's plan: show, edit, archive it

\b
Planning builds nothing. Read the plan, then start it with `ralph run`."""


@click.command(name="plan", epilog=EXAMPLES)
@click.argument("words", metavar="[NAME] [WHAT]", nargs=-1)
@click.option("--style", type=click.Choice(list(STYLES)), help="; ".join(f"{n}: {t}" for n, t in STYLES.items()) + ".")
@click.option("--from", "source", type=click.Path(path_type=Path), help="A file, or the folder specs/.")
@click.option(
    "--research",
    type=click.Choice([one.value for one in ResearchMode]),
    default="auto",
    show_default=True,
    help="Research before planning; auto: the agent decides.",
)
@click.option("--answers", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Answers, as JSON.")
@click.option("--yes", is_flag=True, help="Accept the recommended answers.")
@click.option("--show", is_flag=True, help="Show the plan, and do nothing else.")
@click.option("--edit", is_flag=True, help="Edit the plan in $EDITOR. Ralph applies it only if it is valid.")
@click.option("--discard", is_flag=True, help="Move the plan into .ralph/archive/.")
@click.option("--model", help="The model to pass to the agent.")
@click.option("-q", "--quiet", is_flag=True, help="Print only warnings and the plan.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
@trust_option
@click.pass_context
def command(
    ctx: click.Context,
    words: tuple[str, ...],
    style: str | None,
    source: Path | None,
    research: str,
    answers: Path | None,
    yes: bool,
    show: bool,
    edit: bool,
    discard: bool,
    model: str | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Make a plan. WHAT alone makes a request, NAME and WHAT make a feature, and --from reads a file or specs/.
    Run it again to change the plan, or to continue where it stopped."""
    if len(words) > 2:
        raise RalphError(
            "Put the description in quotes.", remedy='For example: ralph plan login "Sign in with a passkey"'
        )
    if source is not None:
        if words or style:
            raise RalphError("--from cannot be combined with a name or --style.", remedy="Leave them out.")
        return _from_file(ctx, source, _given(model=model, quiet=quiet, as_json=as_json))
    if style == "roles":
        _check_options(ctx, "a session, whose roles plan when it runs")
        return _begin_session(words)
    if style == "prd" or len(words) == 2 or (words and style is None and _is_known(words[0])):
        _check_options(ctx, "a feature", "answers")
        return _feature(words, answers, yes=yes)
    if words and style is None and not (answers or show or edit or discard):
        _check_sentence(words[0])
    if style == "quick":
        research = ResearchMode.NEVER.value
    flags = PlanFlags(
        research=research,
        answers=answers,
        yes=yes,
        show=show,
        edit=edit,
        discard=discard,
        model=model,
        quiet=quiet,
        as_json=as_json,
    )
    return plan_request(words[0] if words else None, flags)


def _given(*, model: str | None, quiet: bool, as_json: bool) -> list[str]:
    """The options shared by every way of planning from files, as given."""
    return [
        *(["--model", model] if model else []),
        *(["--quiet"] if quiet else []),
        *(["--json"] if as_json else []),
    ]


def _check_options(ctx: click.Context, way: str, *known: str) -> None:
    """Refuse an option that would do nothing; `--yes` may always be there, for scripts."""
    for option in ctx.command.params:
        given = ctx.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if given and option.name not in (*ALWAYS, *known):
            raise RalphError(f"{option.opts[-1]} does not apply to {way}.", remedy=f"Leave {option.opts[-1]} out.")


def _from_file(ctx: click.Context, source: Path, options: list[str]) -> int:
    """Specs, or requirements: a plan from them if there is none yet, else more tasks."""
    if _is_specs(source) or source.is_dir():
        if not _is_specs(source):
            raise RalphError(f"{source} is a folder, but specs must be in specs/.", remedy="ralph plan --from specs/")
        _check_options(ctx, "specs", "model", "quiet", "as_json")
        from ralph.cli.start import command as start

        return int(start.main(["plan", *options], standalone_mode=False) or 0)
    if not source.exists():
        raise RalphError(f"{source} does not exist.", remedy="Name an existing file, or the folder specs/.")
    if _has_requirements():
        _check_options(ctx, "requirements", "model", "as_json")
        from ralph.cli.add import command as add

        return int(add.main([str(source), *options], standalone_mode=False) or 0)
    _check_options(ctx, "the first plan from requirements", "model")
    from ralph.cli.init import command as init

    return int(init.main(["--requirements", str(source), *options], standalone_mode=False) or 0)


def _is_specs(source: Path) -> bool:
    """Whether it is the project's folder specs/. Its name is enough, also in a subfolder, or before it exists."""
    try:
        specs = workspaces.find(Path.cwd()).root / SPECS_FOLDER
    except RalphError:  # no project yet
        return False
    return source.resolve() == specs.resolve() or (source == Path(SPECS_FOLDER) and not source.exists())


def _has_requirements() -> bool:
    try:
        workspace = workspaces.find(Path.cwd())
    except RalphError:  # no project yet: the plan starts one
        return False
    return bool(WORKFLOWS["requirements"].targets.everything(workspace))


def _is_known(name: str) -> bool:
    """Whether a single word is the name of a feature or a session that exists, or a workflow's own."""
    if not FEATURE_NAME.fullmatch(name):
        return False
    workspace = workspaces.find(Path.cwd())
    return name in TARGETS or session_ids.has(workspace, name) or bool(features.everything(workspace, only=name))


def _check_sentence(what: str) -> None:
    """Refuse a single word: it is the name of a plan that does not exist, and an agent would research it as a wish."""
    if not FEATURE_NAME.fullmatch(what):
        return
    names = [target.name for target in everything(workspaces.find(Path.cwd()))]
    raise RalphError(
        f"There is no plan {what!r}{nearest(what, names) or '.'}",
        remedy=f'For a feature: ralph plan {what} "What it should do"\n'
        f"  For a request of one word: ralph plan {what} --style research",
    )


def _feature(words: tuple[str, ...], answers: Path | None, *, yes: bool) -> int:
    """Plan a feature; what is said about one that has a PRD already changes it."""
    if not words:
        raise RalphError("A feature needs a name.", remedy='For example: ralph plan login "Sign in with a passkey"')
    name = words[0]
    if name in TARGETS:
        raise RalphError(f"{name!r} is the name of a workflow and cannot name a feature.", remedy=ANOTHER_WAY[name])
    workspace = workspaces.find(Path.cwd())
    if session_ids.has(workspace, check_name(name)):
        raise RalphError(
            f"{name} is a session: its own planner plans it.",
            remedy=f'`ralph run {name}` continues it. `ralph session --resume {name} --update "…"` adds requirements.',
        )
    from ralph.cli.prd import command as prd

    more = ["--request", words[1]] if words[1:] else []
    more += ["--answers", str(answers)] if answers else []
    more += ["--yes"] if yes else []
    if words[1:] and features.everything(workspace, only=name):
        code = int(prd.main([name, *more, "--action", "refine"], standalone_mode=False) or 0)
        return int(prd.main([name, "--yes"], standalone_mode=False) or 0) if yes and not code else code
    return int(prd.main([name, *more], standalone_mode=False) or 0)


def _begin_session(words: tuple[str, ...]) -> int:
    """The roles plan during the run; until then this keeps the request."""
    if not words:
        raise RalphError("What do you want?", remedy='For example: ralph plan "A weather page" --style roles')
    workspace = workspaces.find(Path.cwd())
    request = words[-1]
    name = words[0] if words[1:] else session_ids.new_id(workspace, request, datetime.now(UTC))
    _check_free(workspace, name)
    sessions.begin(workspace, name, request)
    say(f"The session {name} is ready. Its planner starts first.")
    say(f"→ ralph run {name}")
    return 0


def _check_free(workspace: Workspace, name: str) -> None:
    session_ids.check_id(check_name(name))
    if name in session_ids.ids(workspace):
        raise RalphError(f"The session {name!r} already exists.", remedy=f"ralph run {name}")
    if features.everything(workspace, only=name):
        raise RalphError(f"The feature {name!r} already exists.", remedy="Give the session another name.")
