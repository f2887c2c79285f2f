"""What everyone may load: the way in, and files that are the same for all."""

from __future__ import annotations

from importlib import resources

from starlette.responses import RedirectResponse, Response

from ralph.web.guard import WebRequest, cookie_of, refusal
from ralph.web.session import COOKIE, LASTS, Doorkeeper

TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
FILES = ("app.css", "app.js", "morph.js", "theme.js", "icon.svg")


class Entrance:
    """The public routes."""

    def __init__(self, doorkeeper: Doorkeeper, base: str, *, is_secure: bool) -> None:
        self._doorkeeper = doorkeeper
        self._base = base
        self._is_secure = is_secure
        folder = resources.files("ralph.web").joinpath("static")
        self._files = {name: folder.joinpath(name).read_bytes() for name in FILES}

    def sign_in(self, request: WebRequest) -> Response:
        """Take a sign-in link, and give a cookie for it."""
        cookie = self._doorkeeper.use(request.path["token"])
        if not cookie and self._doorkeeper.knows(cookie_of(request.headers)):
            return RedirectResponse(f"{self._base}/", status_code=303)
        if not cookie:
            return refusal(
                401,
                "This link is used up",
                "Each link works once. Make another one in a browser that is signed in, or start `ralph ui` again.",
            )
        answer = RedirectResponse(f"{self._base}/", status_code=303)
        answer.set_cookie(
            COOKIE,
            cookie,
            max_age=LASTS,
            path=f"{self._base}/",
            secure=self._is_secure,
            httponly=True,
            samesite="strict",
        )
        return answer

    def static(self, request: WebRequest) -> Response:
        """A style, a script or the icon."""
        name = request.path["name"]
        if name not in self._files:
            return refusal(404, "Not found", "There is no such file.")
        kind = TYPES[name[name.rindex(".") :]]
        return Response(self._files[name], media_type=kind, headers={"cache-control": "no-cache"})
