"""What `ralph init` proposes for projects of many shapes."""

from __future__ import annotations

import time

import pytest

from ralph.audit.files import Tree
from ralph.detect.project import Project
from ralph.detect.survey import survey
from tests.unit.detect.shapes import CI, PYTEST, SHAPES, Files, package, workflow


def gates(files: Files, **more: str) -> list[str]:
    return [gate.command for gate in survey(Project.of(files, **more)).gates]


@pytest.mark.parametrize("name", SHAPES)
def test_the_gates_of_a_project(name: str) -> None:
    files, expected = SHAPES[name]
    assert gates(files) == expected


def test_each_gate_says_where_it_was_found() -> None:
    found = survey(Project.of({"pyproject.toml": PYTEST, "uv.lock": ""})).gates
    assert [gate.why for gate in found] == ["[tool.pytest.ini_options] in pyproject.toml, and uv.lock"]
    found = survey(Project.of({"go.mod": "", CI: workflow("- run: go test ./...")})).gates
    assert found[0].why == f"{CI} runs it"


def test_programs_of_an_environment_that_is_not_active_are_called_there() -> None:
    files = {"pyproject.toml": PYTEST, CI: workflow("- run: python -m pytest -x")}
    assert gates(files, venv=".venv") == [".venv/bin/python -m pytest -x"]
    assert gates({"pyproject.toml": PYTEST}, venv=".venv") == [".venv/bin/pytest"]


def test_a_package_gets_what_ci_runs_in_its_folder_and_the_lock_file_above() -> None:
    around = {
        CI: workflow("- run: make everything", "- run: pnpm test --coverage\n  working-directory: packages/web"),
        "pnpm-lock.yaml": "",
    }
    inside = {"package.json": package({"test": "jest", "lint": "eslint ."})}
    project = Project(
        tree=Tree(lambda path: inside[path].encode() if path in inside else None, lambda: inside),
        above=Tree(lambda path: around[path].encode() if path in around else None, lambda: around),
        prefix="packages/web/",
    )
    assert [gate.command for gate in survey(project).gates] == ["pnpm test --coverage", "pnpm run lint"]


@pytest.mark.parametrize(
    ("files", "start"),
    [
        ({"package.json": package({"dev": "vite"})}, "npm run dev -- --port $RALPH_PORT"),
        ({"package.json": package({"dev": "next dev"}), "pnpm-lock.yaml": ""}, "pnpm run dev --port $RALPH_PORT"),
        ({"package.json": package({"start": "node server.js"})}, ""),
        ({"package.json": package({"dev": "vite --port 3000"})}, ""),
        ({"Procfile": "worker: x\nweb: gunicorn app --bind :$PORT\n"},
         "PORT=$RALPH_PORT; export PORT; gunicorn app --bind :$PORT"),
        ({"Procfile": "web: \x1b[2Jx $PORT\n"}, ""),
    ],
)  # fmt: skip
def test_services(files: Files, start: str) -> None:
    assert [one.start for one in survey(Project.of(files)).services] == [start] * bool(start)


def test_containers_are_told_and_never_started() -> None:
    compose = "services:\n  db:\n    image: postgres\n    ports:\n      - '5432:5432'\n  mail:\n    image: x\n"
    found = survey(Project.of({"compose.yaml": compose, "uv.lock": ""}))
    assert found.services == ()
    assert [fact.what for fact in found.facts] == [
        "uv installs the dependencies",
        "service db on port 5432: if gates need it, start it yourself",
        "service mail: you start it yourself",
    ]


def test_a_huge_project_takes_no_time() -> None:
    steps = [f"- run: pytest tests/{number}" for number in range(3000)]
    scripts = {f"test:unit{number}": "jest" for number in range(3000)}
    files = {
        CI: workflow(*steps),
        "package.json": package(scripts),
        "Makefile": "".join(f"t{n}:\n" for n in range(9999)),
    }
    began = time.process_time()
    assert len(gates(files)) <= 8
    assert gates({"package.json": " " * 300_000 + package({"test": "jest"})}) == []
    assert time.process_time() - began < 3
