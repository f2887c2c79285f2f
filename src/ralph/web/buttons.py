"""The buttons of notifications: each calls an address that does one thing, once, without signing in."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.responses import PlainTextResponse, Response

from ralph.errors import RalphError
from ralph.notify.tokens import Permit, TokenStore
from ralph.web import actions
from ralph.web.guard import WebRequest, refusal
from ralph.web.reading import ProjectReader
from ralph.workflows.registry import find


class Buttons:
    """Does what the token in an address allows."""

    def __init__(self, readers: Iterable[ProjectReader]) -> None:
        self._readers = tuple(readers)

    def press(self, request: WebRequest) -> Response:
        """Use up a token, and say what came of it."""
        for reader in self._readers:
            permit = TokenStore.of(reader.project.workspace).take(request.path["token"])
            if permit:
                return _do(reader, permit)
        return refusal(404, "Nothing done", "This button was used already, is too old, or belongs to another project.")


def _do(reader: ProjectReader, permit: Permit) -> Response:
    try:
        plan = find(reader.project.workspace, permit.target).plan()
    except RalphError as error:
        return refusal(409, "Nothing done", error.what)
    task = plan.find(permit.task) if plan else None
    if task is None:
        return refusal(409, "Nothing done", f"{permit.target} has no task {permit.task} any more.")
    if task.attempts != permit.attempt:
        text = f"{task.id} has had another attempt since you were told. Look at it in `ralph ui` first."
        return refusal(409, "Nothing done", text)
    if permit.action not in (action.key for action in actions.offered(task, in_session=False)):
        return refusal(409, "Nothing done", f"That does not fit any more: {task.id} is {task.standing}.")
    done = actions.perform(reader.project, actions.ACTIONS[permit.action], permit.target, task.id, "")
    reader.changed()
    return PlainTextResponse(f"{done.text}\n", status_code=200 if done.ok else 409)
