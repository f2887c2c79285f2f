"""What CI runs: the best evidence of what decides about a change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import normpath

from ralph.detect.found import FoundGate, FoundIn
from ralph.detect.kinds import checks_in, covers
from ralph.detect.project import Project, Table, listed, table, within

GITHUB = re.compile(r"\.github/workflows/[^/]+\.ya?ml")
MAX_FILES, MAX_COMMANDS = 30, 300
OTHERS = (".gitlab-ci.yml", ".circleci/config.yml", "azure-pipelines.yml", ".travis.yml", "bitbucket-pipelines.yml")
_ALWAYS = re.compile(r"\s*(?:\$\{\{)?\s*(?:always\(\)|success\(\)|!cancelled\(\))\s*(?:\}\})?\s*")
_OTHER_SHELLS = ("pwsh", "powershell", "cmd")
Command = tuple[str, str]
"""A command and the folder in which CI runs it."""


def gates(project: Project) -> Iterator[FoundGate]:
    """Return the checks among the commands of CI, for this project's folder."""
    around = Project(tree=project.above) if project.above else project
    paths = [path for path in sorted(around.tree.paths) if GITHUB.fullmatch(path)][:MAX_FILES]
    paths += [path for path in OTHERS if path in around.tree.paths]
    for path in paths:
        said = around.yaml(path)
        commands = _github(said) if path.startswith(".github/") else _others(said)
        for number, (text, folder) in enumerate(commands):
            if number >= MAX_COMMANDS:
                break
            for line in _lines(text):
                command = _here(checks_in(line, around.tree), folder, project)
                if command:
                    command = _in_environment(command, project)
                    found = covers(project.tree, command, ecosystem_of(project))
                    yield FoundGate(command=command, why=f"{path} runs it", source=FoundIn.CI, covers=found)


def _github(workflow: Table) -> Iterator[Command]:
    on = workflow.get("on", workflow.get("true"))
    events = {str(one) for one in (on if isinstance(on, list | dict) else [on])}
    if not events & {"push", "pull_request", "pull_request_target", "merge_group"}:
        return
    default = _folder(workflow)
    for job in within(workflow, "jobs").values():
        where = _folder(table(job)) or default
        for step in map(table, listed(table(job).get("steps"))):
            condition, shell = str(step.get("if") or "always()"), str(step.get("shell") or "")
            is_other = not _ALWAYS.fullmatch(condition) or shell in _OTHER_SHELLS
            if isinstance(step.get("run"), str) and not is_other and step.get("continue-on-error") != "true":
                yield str(step["run"]), str(step.get("working-directory") or where)


def _folder(settings: Table) -> str:
    return str(within(settings, "defaults", "run").get("working-directory") or "")


def _others(settings: Table) -> Iterator[Command]:
    """Return the scripts of other CI systems: all of them list commands under one of these keys."""
    waiting: list[object] = [settings]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, list):
            waiting = [*one, *waiting]
        if not isinstance(one, dict) or one.get("when") == "manual" or one.get("allow_failure") == "true":
            continue
        for key, value in one.items():
            if key in ("script", "bash", "run", "command") and isinstance(value, str):
                yield value, ""
            elif key == "script" and isinstance(value, list):
                yield "\n".join(line for line in value if isinstance(line, str)), ""
            else:
                waiting.append(value)


def _lines(text: str) -> Iterator[str]:
    """Return the commands of a script one by one; none of a script that does more than list them."""
    lines = [line.strip() for line in text.replace("\\\n", " ").split("\n")]
    lines = [" ".join(line.split()) for line in lines if line and not line.startswith("#")]
    if any(re.match(r"(?:if|for|while|case|function|until)\b|.*\(\)\s*\{", line) for line in lines):
        return
    folder = ""
    for line in lines:
        if re.fullmatch(r"cd [\w./-]+", line):
            folder = f"{folder}{line} && "
        else:
            yield f"{folder}{line}"


def _here(command: str, folder: str, project: Project) -> str:
    """Return a command as it is written in the project's own folder; empty if it is about another one."""
    if not command or not re.fullmatch(r"[\w./-]*", folder):
        return ""
    where = normpath(folder or ".").lstrip("/")
    while match := re.match(r"cd ([\w./-]+) && (.*)", command):
        where, command = normpath(f"{where}/{match[1]}"), match[2]
    wanted = project.prefix.rstrip("/") or "."
    if where == wanted:
        return command
    if project.prefix or where.startswith(".."):
        return ""
    return f"cd {where} && {command}"


def _in_environment(command: str, project: Project) -> str:
    """CI installs a Python tool for everybody; here it may be only in the project's own environment."""
    if (
        project.venv
        and not project.manager[0]
        and re.match(r"(?:python3?|pytest|ruff|mypy|flake8|black|tox)\b", command)
    ):
        command = re.sub(r"^python3?\b", "python", command)
        return f"{project.venv}/bin/{command}"
    return command


def ecosystem_of(project: Project) -> str:
    """Return the one that a target without any known program is about."""
    marks = {"python": ("pyproject.toml", "setup.py"), "js": ("package.json",), "rust": ("Cargo.toml",)}
    marks |= {"go": ("go.mod",), "elixir": ("mix.exs",), "ruby": ("Gemfile",), "php": ("composer.json",)}
    return next((name for name, files in marks.items() if project.has(*files)), "any")
