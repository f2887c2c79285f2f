"""The value of `--budget`: `usd=20,hours=8,task.attempts=5,hard`, read into a budget."""

from __future__ import annotations

import json

from ralph.config import Budget, read_section
from ralph.errors import RalphError

REMEDY = "For example: --budget usd=20,hours=8 or --budget target.usd=50,task.attempts=5,hard"


def parse_budget(text: str) -> Budget:
    """Return the budget that a person typed; it replaces the configured one."""
    document: dict[str, object] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, given, value = part.partition("=")
        *above, key = name.strip().split(".")
        if len(above) > 1:
            raise RalphError(f"--budget: {part!r} is not a limit.", remedy=REMEDY)
        inner = document.setdefault(above[0], {}) if above else document
        if not isinstance(inner, dict) or key in inner:
            raise RalphError(f"--budget: {part!r} is repeated, or conflicts with another limit.", remedy=REMEDY)
        inner[key] = _value(value.strip()) if given else True
    if not document:
        raise RalphError("--budget names no limit.", remedy=REMEDY)
    return read_section(Budget, json.dumps(document).encode(), name="--budget", remedy=REMEDY)


def _value(text: str) -> object:
    try:
        return json.loads(text.replace("_", ""))
    except ValueError:
        return text
