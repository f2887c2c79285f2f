"""Fills the templates. Every text that is not Ralph's own is made plain and escaped here, whatever a template does."""

from __future__ import annotations

import time
from functools import cache
from importlib import resources
from urllib.parse import quote

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from ralph.text import plain
from ralph.views import words

LONGEST = 400_000
"""Characters of one text on a page."""


def page(name: str, **values: object) -> str:
    """Return a page."""
    return _environment().get_template(name).render(values)


def drawing(text: str) -> Markup:
    """Mark a drawing that Ralph made, in which every text is escaped."""
    return Markup(text)


def link(*parts: object) -> str:
    """Return a path made of parts, none of which can be two."""
    return "/" + "/".join(quote(str(part), safe="") for part in parts)


def template(name: str) -> str:
    return resources.files("ralph.web").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FunctionLoader(template),
        autoescape=True,
        finalize=_final,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"duration": words.duration, "clock": _clock, "day": _day, "count": words.count}
    made.globals |= {"link": link}
    return made


def shown(text: str) -> str:
    """Return text without anything that acts, and with no more of it than a browser bears."""
    text = plain(text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _final(value: object) -> object:
    return value if isinstance(value, Markup) or not isinstance(value, str) else shown(value)


def _clock(at: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at))


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
