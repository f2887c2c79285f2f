"""What the linters do not check: sizes, one meaning for each class name, and a layer for every part of the package.

`python scripts/check_structure.py [ROOT]` prints what is wrong in the project at ROOT, and then exits with 1.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "ralph"
MODULE_LINES = 400
FUNCTION_LINES = 60


def problems(root: Path) -> list[str]:
    """Everything that is wrong, a line each, in the order of the files."""
    source = root / "src" / PACKAGE
    modules = {path: path.read_text(encoding="utf-8") for path in sorted(source.rglob("*.py"))}
    if not modules:
        return [f"{source}: there are no modules"]
    trees = {str(path.relative_to(root)): ast.parse(text) for path, text in modules.items()}
    lines = {str(path.relative_to(root)): len(text.splitlines()) for path, text in modules.items()}
    return [*long_modules(lines), *long_functions(trees), *shared_names(trees), *without_layer(root, source)]


def long_modules(lines: dict[str, int]) -> Iterator[str]:
    for name, count in lines.items():
        if count > MODULE_LINES:
            yield f"{name}: {count} lines, more than {MODULE_LINES}: split the module"


def long_functions(trees: dict[str, ast.Module]) -> Iterator[str]:
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                count = (node.end_lineno or node.lineno) - node.lineno + 1
                if count > FUNCTION_LINES:
                    yield f"{name}:{node.lineno}: {node.name} has {count} lines, more than {FUNCTION_LINES}: split it"


def shared_names(trees: dict[str, ast.Module]) -> Iterator[str]:
    """Class names that stand for more than one class."""
    defined: dict[str, list[str]] = defaultdict(list)
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                defined[node.name].append(f"{name}:{node.lineno}")
    for name, where in sorted(defined.items()):
        if len(where) > 1:
            yield f"class {name} is defined {len(where)} times, rename all but one: {', '.join(where)}"


def without_layer(root: Path, source: Path) -> Iterator[str]:
    """Modules and packages directly in the package that no `layers` contract of import-linter names."""
    linter = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = [line for one in linter["contracts"] if one["type"] == "layers" for line in one["layers"]]
    named = {name.strip(" ()") for line in layers for name in line.replace(":", "|").split("|")}
    for path in sorted(source.iterdir()):
        is_package = path.is_dir() and any(path.rglob("*.py"))
        if path.name != "__init__.py" and (is_package or path.suffix == ".py"):
            name = f"{PACKAGE}.{path.stem}"
            if name not in named:
                yield f"{path.relative_to(root)}: no layer of [tool.importlinter] in pyproject.toml names {name}"


def main() -> int:
    found = problems(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent.parent)
    sys.stdout.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
