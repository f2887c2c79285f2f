"""What in a conftest.py or a package of tests steers the runner: hooks, what every test gets, what runs on import."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ralph.audit.lines import shown

CONFTEST, PACKAGE = "conftest.py", "__init__.py"
_CHOOSES = re.compile(r"^(?:load_tests\s*=|def load_tests\b)[^\n]*(?:\n[ \t]+[^\n]*|\n(?=\n))*", re.MULTILINE)
_SKIPS = re.compile(r"\bpytest\.(?:skip|xfail|importorskip|exit)\(|\bSkipTest\b|\bos\._exit\(")
_IGNORES = re.compile(r"collect_ignore(?:_glob)?$|pytest_plugins$|pytestmark$|__test__$|load_tests$")


def steering(old: str, new: str, file: str = CONFTEST) -> Iterator[tuple[int | None, str]]:
    """Return the line and the text of each difference; further fixtures are none."""
    before, after = _parts(old), _parts(new)
    if before is None or after is None:
        if old.strip() != new.strip():
            yield None, f"the `{file}` changed and cannot be read as Python here"
        return
    said = f"`{file}`, which steers every test here,"
    for name, (line, text) in after.items():
        if name not in before:
            yield line, f"{said} now has `{shown(name)}`"
        elif before[name][1] != text:
            yield line, f"{said} changed: `{shown(name)}`"
    for name in sorted(before.keys() - after.keys()):
        yield None, f"{said} no longer has `{shown(name)}`"
    for name, line in _new_skips(old, new):
        yield line, f"`{file}` skips every test that uses `{shown(name)}` now"


def choosing(old: str, new: str) -> Iterator[tuple[int, str]]:
    """Return the line and the text of a new or changed function with which a module chooses its own tests."""
    found = _CHOOSES.search(new)
    was = _CHOOSES.search(old) if found else None
    if found and (was is None or was.group() != found.group()):
        line = new.count("\n", 0, found.start()) + 1
        yield line, f"`load_tests`, which chooses the tests of this file, is {'changed' if was else 'new'}"


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


def _new_skips(old: str, new: str) -> Iterator[tuple[str, int]]:
    """Fixtures and helpers that were there, and now skip the test that uses them."""
    before, after = (
        {
            node.name: node
            for node in ast.parse(text).body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _steers(node)
        }
        for text in (old, new)
    )
    for name, node in after.items():
        if name in before and _SKIPS.search(ast.unparse(node)) and not _SKIPS.search(ast.unparse(before[name])):
            yield name, node.lineno


def _steers(node: ast.stmt) -> str:
    """The name of a statement that steers; empty if it does not."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            if node.name.startswith("pytest_") or node.name == "load_tests":
                return node.name
            is_autouse = any("autouse=True" in ast.unparse(one).replace(" ", "") for one in node.decorator_list)
            return f"{node.name} (autouse)" if is_autouse else ""
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return _of_value(name, node) if _IGNORES.match(name) or _is_patch(node) else ""
        case ast.Expr(value=ast.Constant()) | ast.ClassDef() | ast.Import() | ast.ImportFrom() | ast.Pass():
            return ""
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return ""
        case _:
            return ast.unparse(node).splitlines()[0]


def _of_value(name: str, node: ast.stmt) -> str:
    """Marks say what they do; those that leave nothing out are no matter."""
    text = ast.unparse(node)
    return name if name != "pytestmark" else text if re.search(r"\b(?:skip|xfail)", text) else ""


def _is_patch(node: ast.stmt) -> bool:
    return bool(re.search(r"\bpatch|\bsetattr\b|sys\.modules", ast.unparse(node)))
