"""Who may come in: a link that works once, then a cookie that Ralph has sealed."""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections.abc import Callable

from ralph.stores import seal

COOKIE = "ralph_ui"
DAYS = 30
LASTS = DAYS * 86_400
MAX_LINKS = 20
PURPOSE, PLACE = "ui-session", "ui-place"


class Doorkeeper:
    """Makes sign-in links and knows which cookies are good.

    Browsers send a cookie of 127.0.0.1 to every port there, also to a server that an agent has started. So the
    dashboard lives below a path of its own that nobody can guess, and the cookie is for that path only.
    """

    def __init__(self, about: str, now: Callable[[], float] = time.time) -> None:
        self.place = seal.seal(PLACE, about.encode(errors="surrogateescape"))[:12]
        self._now = now
        self._links: list[str] = []
        self._turn = threading.Lock()

    def new_link(self) -> str:
        """Return a token that lets one browser in, once."""
        token = secrets.token_urlsafe(24)
        with self._turn:
            self._links = [*self._links[1 - MAX_LINKS :], token]
        return token

    def use(self, token: str) -> str:
        """Return a cookie for a good token, which is good no longer; empty for any other."""
        given = token.encode(errors="replace")
        with self._turn:
            found = [one for one in self._links if hmac.compare_digest(one.encode(), given)]
            self._links = [one for one in self._links if one not in found]
        return self._cookie() if found else ""

    def knows(self, cookie: str) -> bool:
        """Return whether Ralph made this cookie not too long ago."""
        begun, _, found = cookie.rpartition(".")
        made, _, _ = begun.partition(".")
        if len(cookie) > 200 or not cookie.isascii() or not made.isdecimal():
            return False
        if not hmac.compare_digest(self._seal(begun), found):
            return False
        return 0 <= self._now() - int(made) + 60 <= LASTS + 60

    def _cookie(self) -> str:
        begun = f"{int(self._now())}.{secrets.token_hex(8)}"
        return f"{begun}.{self._seal(begun)}"

    def _seal(self, text: str) -> str:
        return seal.seal(PURPOSE, f"{self.place}\0{text}".encode())
