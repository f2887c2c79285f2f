"""The one family of errors a person ever sees: what happened, why, and what to do."""

from __future__ import annotations

EXIT_DONE = 0
EXIT_ERROR = 1
EXIT_UNFINISHED = 3
EXIT_LIMIT = 4
EXIT_LOCKED = 5
EXIT_UNDECIDED = 6
EXIT_INTERRUPTED = 130


class RalphError(Exception):
    """An error that a person can understand and fix; never shown with a traceback."""

    def __init__(
        self,
        what: str,
        *,
        details: tuple[str, ...] = (),
        remedy: str = "",
        code: int = EXIT_ERROR,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.details = details
        self.remedy = remedy
        self.code = code
