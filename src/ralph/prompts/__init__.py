"""The prompt templates: Markdown files, each of which a project can replace under `.ralph/prompts/`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.errors import RalphError

if TYPE_CHECKING:
    from jinja2 import Environment

NAMES = ("prd-create", "prd-refine", "prd-finalize", "run", "verify")
BUILT_IN = Path(__file__).parent


def render(name: str, variables: Mapping[str, object], project: Path) -> str:
    """A template filled in; a project's own comes first, and a variable it does not get is an error."""
    from jinja2 import TemplateError, UndefinedError

    path = source(name, project)
    try:
        return _environment().from_string(path.read_text(encoding="utf-8")).render(**variables)
    except UndefinedError as error:
        raise RalphError(
            f"The prompt template {path} uses an unknown variable: {error.message}.",
            remedy=f"It may use: {', '.join(sorted(variables))}.",
        ) from None
    except (TemplateError, UnicodeDecodeError) as error:
        raise RalphError(f"The prompt template {path} cannot be used: {error}.") from None
    except OSError as error:
        raise RalphError(f"The prompt template {path} could not be read: {error.strerror}.") from None


def source(name: str, project: Path) -> Path:
    """Where a template comes from."""
    own = project / ".ralph" / "prompts" / f"{name}.md"
    return own if own.is_file() else BUILT_IN / f"{name}.md"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, StrictUndefined

    return Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, autoescape=False
    )
