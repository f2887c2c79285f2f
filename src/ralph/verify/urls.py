"""Finds the pages of a story: the URLs and paths that its acceptance criteria name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from ralph.config import Config

URL = re.compile(r"https?://[^\s<>\"'`|\\^{}]+")
PATH = re.compile(r"(?:^|(?<=[\s\"'`(\[“‘]))/(?:[A-Za-z0-9_~.%@+-]+/?)*(?:\?[^\s\"'`)\]]*)?(?:#[\w/.-]*)?")
END_OF_SENTENCE = ".,;:!?)]}…”’"
PLACEHOLDER = re.compile(r"[<{\[*$]|:\w")  # what follows in /users/<id>, /users/{id}, /users/[id], /users/:id
NOT_READ_ONLY = re.compile(r"\b(?:POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\s+[\"'`]?$")
LEADS_TO_ROOT = re.compile(
    r"\b(?:at|on|to|of|from|open|opens|opening|visit|visits|visiting|load|loads|loading|page|path|route|url|get)\s+$",
    re.IGNORECASE,
)
FILE_SYSTEM = re.compile(
    r"/(?:bin|boot|dev|etc|home|lib|mnt|opt|proc|root|sbin|srv|src|sys|tmp|usr|var|app/src)(?:/|$)"
)
SOURCE_FILE = re.compile(r"\.(?:py|[jt]sx?|vue|svelte|rb|go|rs|java|css|scss|json|ya?ml|toml|md|sql|sh|log)$")
STATUS = re.compile(
    r"(?:\b(?:status|http|code)\s+[45]\d\d\b"
    r"|(?<![\w.:/#-])[45]\d\d(?=\s*(?:$|[.,;:)\]`\"'](?!\d)|(?:page|error|response|status|code|not found|unauthorized"
    r"|forbidden|without|when|while|if|for|unless|as|and|or|instead)\b)))",
    re.IGNORECASE,
)
"""An error status that a criterion asks for; not the 500 in "shows 500 items"."""
SLUG = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True)
class Page:
    """A page as a criterion names it, and the error statuses that the criterion asks for."""

    address: str
    expected: frozenset[int] = frozenset()

    def resolve(self, base: str) -> str:
        """Return the full URL, with a path resolved against `base`; "" if there is no base for it."""
        if URL.match(self.address):
            return self.address
        return urljoin(base, self.address) if base else ""


def pages_in(criteria: Iterable[str]) -> tuple[Page, ...]:
    """Return every page that acceptance criteria name, each once, in order."""
    found: dict[str, frozenset[int]] = {}
    for criterion in criteria:
        expected = frozenset(int(match[0][-3:]) for match in STATUS.finditer(URL.sub("", criterion)))
        for address in _addresses(criterion):
            found[address] = found.get(address, frozenset()) | expected
    return tuple(Page(address, expected) for address, expected in found.items())


def why_unseen(criteria: Iterable[str], config: Config) -> str:
    """Return why no page of a UI task is opened; "" if at least one is."""
    if not config.browser.enabled:
        return "browser.enabled is false"
    if not config.has_address and not pages_in(criteria):
        return "its criteria name no page, and neither a service nor browser.baseUrl gives a URL"
    return ""


def slug(address: str) -> str:
    """Return a page's name for use in a file name."""
    parts = urlsplit(address)
    return SLUG.sub("-", " ".join((parts.path, parts.query, parts.fragment))).strip("-")[:60] or "home"


def _addresses(criterion: str) -> list[str]:
    found = [(match.start(), _whole(match[0])) for match in URL.finditer(criterion)]
    for match in PATH.finditer(URL.sub(lambda url: " " * len(url[0]), criterion)):
        path, before, after = _whole(match[0]), criterion[: match.start()], criterion[match.end() :]
        if _is_page(path, before, after):
            found.append((match.start(), path))
    return [address for _, address in sorted(found) if address]


def _whole(text: str) -> str:
    """Strip the punctuation of the surrounding sentence."""
    return text.rstrip(END_OF_SENTENCE) or text[:1]


def _is_page(path: str, before: str, after: str) -> bool:
    if NOT_READ_ONLY.search(before) or PLACEHOLDER.match(after):
        return False
    if path == "/":
        quoted = before[-1:] in ("`", '"', "'") and before[-1:] == after[:1]
        leads = not before.strip() or LEADS_TO_ROOT.search(before)
        return quoted or bool(leads and re.match(r"\s+[^\W\d]|[.,;:]?$", after))
    return not FILE_SYSTEM.match(path) and not SOURCE_FILE.search(path)
