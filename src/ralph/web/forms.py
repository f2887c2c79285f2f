"""What a person does: the handlers of forms. What they mean is in `actions.py`."""

from __future__ import annotations

from starlette.responses import Response

from ralph.web import actions
from ralph.web.guard import WebRequest, refusal
from ralph.web.pages import Pages
from ralph.web.render import link
from ralph.web.session import Doorkeeper


class Forms:
    """All forms of one dashboard."""

    def __init__(self, pages: Pages, doorkeeper: Doorkeeper, base: str) -> None:
        self._pages = pages
        self._doorkeeper = doorkeeper
        self._base = base

    def act(self, request: WebRequest) -> Response:
        """Do something about a task, and say how it ended."""
        found = self._pages.find(request, afresh=True)
        facts = found.facts(request.path["task"]) if found else None
        if found is None or facts is None:
            return refusal(404, "Not found", "There is no such task any more.")
        target, task = found.told.report.target, facts.task
        offered = actions.offered(task, in_session=bool(found.told.folder.marked_by))
        action = next((one for one in offered if one.key == request.path["action"]), None)
        back = f"{self._base}{link('p', found.reader.project.number, target, 'task', task.id)}"
        if action is None:
            text = f"That does not fit any more: {task.id} is {task.standing}."
            return self._pages.message(title="Nothing done", text=text, ok=False, back=back)
        done = actions.perform(found.reader.project, action, target, task.id, request.form.get("note", ""))
        found.reader.changed()
        title = action.label if done.ok else "That did not work"
        return self._pages.message(title=title, text=done.text, ok=done.ok, back=back)

    def steer(self, request: WebRequest) -> Response:
        """Pause, resume or stop the run that is at work, and say what became of it."""
        found = self._pages.find(request, afresh=True)
        if found is None:
            return refusal(404, "Not found", "There is no such plan any more.")
        target = found.told.report.target
        offered = actions.of_run(is_running=bool(found.told.report.running), is_paused=found.told.paused)
        action = next((one for one in offered if one.key == request.path["action"]), None)
        back = f"{self._base}{link('p', found.reader.project.number, target)}"
        if action is None:
            text = f"That does not fit any more: see what {target} is doing now."
            return self._pages.message(title="Nothing done", text=text, ok=False, back=back)
        done = actions.perform(found.reader.project, action, target, "", "")
        found.reader.changed()
        title = action.label if done.ok else "That did not work"
        return self._pages.message(title=title, text=done.text, ok=done.ok, back=back)

    def new_link(self, request: WebRequest) -> Response:
        """Make a link that lets one more browser in."""
        host = request.headers.get("host", "")
        origin = request.headers.get("origin", f"http://{host}")
        address = f"{origin}{self._base}{link('in', self._doorkeeper.new_link())}"
        text = "Open this link in the other browser. It works once."
        return self._pages.message(title="Another device", text=text, ok=True, back=f"{self._base}/", address=address)
