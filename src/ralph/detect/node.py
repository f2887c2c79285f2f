"""The checks that a package.json names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ralph.detect.found import FoundGate, FoundIn
from ralph.detect.kinds import covers, named
from ralph.detect.project import Project, is_plain, within

LOCKS = {
    "package-lock.json": "npm", "npm-shrinkwrap.json": "npm", "pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn",
    "bun.lock": "bun", "bun.lockb": "bun",
}  # fmt: skip
NAME = re.compile(r"[A-Za-z0-9][\w:.-]{0,60}")
NO_TEST = "no test specified"
FALLBACKS = (("typescript", "tsconfig.json", "tsc --noEmit", "types"),)


def manager(project: Project) -> tuple[str, str]:
    """Return the package manager, and the file that says so."""
    field = str(project.json("package.json").get("packageManager") or "").partition("@")[0]
    if field in ("npm", "pnpm", "yarn", "bun"):
        return field, "package.json"
    around = (project.tree, *([project.above] if project.above else []))
    for tree in around:
        for lock, name in LOCKS.items():
            if lock in tree.paths:
                return name, lock
    return "npm", ""


def gates(project: Project) -> Iterator[FoundGate]:
    package = project.json("package.json")
    scripts = within(package, "scripts")
    tool, _ = manager(project)
    for name, script in list(scripts.items())[:200]:
        if not NAME.fullmatch(name) or not isinstance(script, str) or NO_TEST in script or not named(name):
            continue
        command = run(tool, name)
        found = covers(project.tree, command, "js") or frozenset({("js", named(name))})
        if _only_watches(script):
            continue
        why = f'"{name}" in package.json'
        if is_plain(script) and len(script) <= 60:
            why += f" ({script})"
        yield FoundGate(command=command, why=why, source=FoundIn.TASK, covers=found)
    packages = {**within(package, "dependencies"), **within(package, "devDependencies")}
    for needed, path, words, kind in FALLBACKS:
        if needed in packages and path in project.tree.paths:
            runner = {"npm": "npx", "bun": "bunx"}.get(tool, f"{tool} exec")
            why = f"there is {path}"
            yield FoundGate(
                command=f"{runner} {words}", why=why, source=FoundIn.SETTINGS, covers=frozenset({("js", kind)})
            )
    if not scripts and project.has("deno.json", "deno.jsonc"):
        why = f"there is {project.has('deno.json', 'deno.jsonc')}"
        yield FoundGate(command="deno test", why=why, source=FoundIn.SETTINGS, covers=frozenset({("js", "test")}))


def run(tool: str, name: str) -> str:
    """Return how a script is started."""
    return f"{tool} test" if name == "test" and tool != "bun" else f"{tool} run {name}"


def _only_watches(script: str) -> bool:
    return bool(re.search(r"--watch(?!=false|All=false)\b|\bnodemon\b|\bvitest watch\b", script))
