"""What in a conftest.py steers pytest: hooks, fixtures that every test gets, and statements that run on import."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ralph.audit.lines import shown

_IGNORES = re.compile(r"collect_ignore(?:_glob)?$|pytest_plugins$")


def steering(old: str, new: str) -> Iterator[tuple[int | None, str]]:
    """Return the line and the text of each difference; further fixtures are none."""
    before, after = _parts(old), _parts(new)
    if before is None or after is None:
        if old.strip() != new.strip():
            yield None, "the `conftest.py` changed and cannot be read as Python here"
        return
    for name, (line, text) in after.items():
        if name not in before:
            yield line, _said(name, "now has")
        elif before[name][1] != text:
            yield line, _said(name, "changed:")
    for name in before.keys() - after.keys():
        yield None, _said(name, "no longer has")


def _said(name: str, what: str) -> str:
    return f"`conftest.py`, which steers every test here, {what} `{shown(name)}`"


def _parts(text: str) -> dict[str, tuple[int, str]] | None:
    """The steering statements, by a name that people recognize."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found: dict[str, tuple[int, str]] = {}
    for node in body:
        if name := _steers(node):
            source = ast.unparse(node)
            found[name if name not in found else f"{name} ({len(found)})"] = (node.lineno, source)
    return found


def _steers(node: ast.stmt) -> str:
    """The name of a statement that steers; empty if it does not."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            if node.name.startswith("pytest_"):
                return node.name
            is_autouse = any("autouse=True" in ast.unparse(one).replace(" ", "") for one in node.decorator_list)
            return f"{node.name} (autouse)" if is_autouse else ""
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name if _IGNORES.match(name) or _is_patch(node) else ""
        case ast.Expr(value=ast.Constant()) | ast.ClassDef() | ast.Import() | ast.ImportFrom() | ast.Pass():
            return ""
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return ""
        case _:
            return ast.unparse(node).splitlines()[0]


def _is_patch(node: ast.stmt) -> bool:
    return bool(re.search(r"\bpatch|\bsetattr\b|sys\.modules", ast.unparse(node)))
