"""`ralph run SESSION`: checks the preconditions and prepares the run."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from ralph import prompts
from ralph.agent.call import check_installed
from ralph.checkout.open import CheckoutRequest
from ralph.config import Config
from ralph.engine.lifecycle import Options
from ralph.errors import RalphError
from ralph.journal.events import AttemptEnded, Event
from ralph.plan.work import Verdict
from ralph.workflows.acceptance import other_templates
from ralph.workflows.checks import Check
from ralph.workflows.run_request import RunRequest
from ralph.workflows.session import ids as session_ids
from ralph.workflows.session import locate
from ralph.workflows.session.workflow import UPDATE, SessionWorkflow
from ralph.workflows.target import Target
from ralph.workspace import SESSIONS, Workspace

ROLES = ("planner", "questioner", "executor", "reviewer")


def checks(workspace: Workspace, config: Config, target: Target, options: Options) -> Iterable[Check]:
    return ()


def examine(workspace: Workspace, config: Config, target: Target) -> Iterable[Check]:
    return ()


def prepare(workspace: Workspace, config: Config, target: Target, options: Options) -> RunRequest:
    check_roles(workspace, config)
    check_landing(config)
    request = locate.find(workspace, target.name).request
    return request_for(workspace, config, target.name, request=request)


def check_landing(config: Config) -> None:
    """A session's files have no place for a person's approval."""
    if config.land == "review":
        raise RalphError(
            'A session lands its work itself, but the configuration says "land": "review".',
            remedy='Set "land": "auto" for sessions, or use another workflow: its tasks wait for `ralph approve`.',
        )


def check_roles(workspace: Workspace, config: Config) -> None:
    for provider in config.providers_for((*ROLES, *config.working_roles)):
        check_installed(provider, workspace.root)
    for role in ROLES:
        prompts.check(f"role-{role}", workspace.root)
    for template in ("session-call", *other_templates(config)):
        prompts.check(template, workspace.root)


def request_for(
    workspace: Workspace, config: Config, session_id: str, *, request: str = "", update: str = ""
) -> RunRequest:
    """A run of an existing session, or of a new one with a request."""
    found = locate.read(workspace, session_id)
    session, update = found.session, locate.added(found.update, update)
    if session.items is None and not request:
        raise RalphError(
            f"The session {session_id} has neither progress.md nor a request.",
            remedy='Restore the file (git log -- .ralph-sessions), or start a new one: ralph session "What you want"',
        )
    if update and session.items is None:
        raise RalphError(
            "This session has no plan to update yet.", remedy=f"Plan it first with `ralph run {session_id}`."
        )
    _ = session.call, session.entries  # report mistakes in the files before anything starts
    folder, branch = workspace.root / SESSIONS / session_id, session_ids.branch_of(session_id)
    return RunRequest(
        checkout=CheckoutRequest(
            target=session_id,
            branch=branch,
            carry=tuple(str(path.relative_to(workspace.root)) for path in sorted(folder.glob("*")) if path.is_file()),
        ),
        open=lambda root: SessionWorkflow(
            config, root, session_id, request=request, update=update, templates=workspace.root
        ),
        command=f"ralph run {session_id}",
        more=f'More work: `ralph session --resume {session_id} --update "what is missing"`.',
        artifacts=f"{SESSIONS}/{session_id} on {branch}",
        review=lambda: locate.read(workspace, session_id).session.final_review,
        manual=False,
        listeners=(partial(_forget_update, workspace, session_id),),
    )


def _forget_update(workspace: Workspace, session_id: str, event: Event, _: str) -> None:
    if isinstance(event, AttemptEnded) and (event.work, event.verdict) == (UPDATE, Verdict.PASSED):
        locate.forget_update(workspace, session_id)
