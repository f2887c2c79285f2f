"""The table of all routes. A request that is not in it leads nowhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

from starlette.responses import Response

from ralph.frozen import Frozen
from ralph.notify.tokens import ACTION_PATH
from ralph.web.buttons import Buttons
from ralph.web.entrance import Entrance
from ralph.web.forms import Forms
from ralph.web.guard import Handler, RouteAccess, WebRequest, refusal
from ralph.web.pages import Pages
from ralph.web.stream import Hub, Listening

TASK = "/p/{project}/{target}/task/{task}"


class Route(Frozen):
    """One address, what it needs, and who answers."""

    method: str
    path: str
    access: RouteAccess
    handler: Handler


def table(entrance: Entrance, pages: Pages, forms: Forms, buttons: Buttons, hub: Hub) -> tuple[Route, ...]:
    """Return every route of a dashboard."""

    async def events(request: WebRequest) -> Response:
        if hub.is_full:
            return refusal(503, "Too many", "Too many browsers are listening.")
        cursor = request.headers.get("last-event-id") or request.query.get("since", "")
        return Listening(hub, cursor)

    public, read, action = RouteAccess.PUBLIC, RouteAccess.READ, RouteAccess.ACTION
    rows: tuple[tuple[str, str, RouteAccess, Handler], ...] = (
        ("GET", "/in/{token}", public, entrance.sign_in),
        ("GET", "/static/{name}", public, entrance.static),
        ("GET", "/", read, pages.plans),
        ("GET", "/events", read, events),
        ("GET", "/p/{project}/{target}", read, pages.board),
        ("GET", "/p/{project}/{target}/timeline", read, pages.timeline),
        ("GET", "/p/{project}/{target}/cost", read, pages.cost),
        ("GET", "/p/{project}/{target}/graph", read, pages.graph),
        ("GET", "/p/{project}/{target}/activity", read, pages.activity),
        ("GET", TASK, read, pages.task),
        ("GET", f"{TASK}/{{index}}", read, pages.task),
        ("GET", f"{TASK}/{{index}}/call/{{call}}/{{kind}}", read, pages.words),
        ("GET", f"{TASK}/{{index}}/gate/{{gate}}", read, pages.log),
        ("GET", f"{TASK}/{{index}}/picture/{{page}}", read, pages.picture),
        ("POST", f"{TASK}/do/{{action}}", action, forms.act),
        ("POST", "/p/{project}/{target}/do/{action}", action, forms.steer),
        ("POST", "/link", action, forms.new_link),
        ("POST", f"{ACTION_PATH}{{token}}", RouteAccess.ONCE, buttons.press),
    )
    return tuple(
        Route(method=method, path=path, access=access, handler=handler) for method, path, access, handler in rows
    )


class Router:
    """Finds the route of a request below the dashboard's own path."""

    def __init__(self, base: str, routes: tuple[Route, ...]) -> None:
        self._base = base
        self._routes = [(route, _pattern(route.path)) for route in routes]

    def find(self, method: str, path: str) -> tuple[RouteAccess, Handler, Mapping[str, str]] | None:
        """Return what a raw path leads to; its parts are decoded only after they are told apart.

        What a token opens is outside of the dashboard's own path, which a notification must not name.
        """
        is_inside = path.startswith(f"{self._base}/")
        inner = path.removeprefix(self._base) if is_inside else path
        for route, pattern in self._routes:
            match = pattern.fullmatch(inner) if is_inside is not (route.access is RouteAccess.ONCE) else None
            if match and route.method == method:
                return route.access, route.handler, {name: unquote(part) for name, part in match.groupdict().items()}
        return None


def _pattern(path: str) -> re.Pattern[str]:
    parts = re.split(r"\{([a-z]+)\}", path)
    made = (f"(?P<{part}>[^/]+)" if index % 2 else re.escape(part) for index, part in enumerate(parts))
    return re.compile("".join(made))
