"""What a shell command starts, in which folder, and behind which wrappers."""

from __future__ import annotations

import pytest

from ralph.audit.commands import calls


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("npm test", ["npm test"]),
        ("uv run pytest -q tests", ["pytest -q tests"]),
        ("uv run --with x --group dev pytest", ["pytest"]),
        ("FOO=1 python3.12 -m pytest", ["pytest"]),
        ("poetry run python -m unittest", ["unittest"]),
        ("coverage run -m pytest && coverage report", ["coverage run -m pytest", "pytest", "coverage report"]),
        ("sh -c 'make test && ./scripts/check.sh'", ["make test", "scripts/check.sh"]),
        ("npx --yes jest --ci", ["jest --ci"]),
        ("node_modules/.bin/jest", ["jest"]),
        (".venv/bin/pytest -q", ["pytest -q"]),
        ("bash -e scripts/ci.sh fast", ["scripts/ci.sh fast"]),
        ("./gradlew test | tee out.log", ["gradlew test", "tee out.log"]),
        ("timeout 60 env A=1 go test ./... > out 2>&1", ["go test ./..."]),
        ("if ruff check .; then mypy; fi", ["ruff check .", "mypy"]),
        ("node --test", ["node:test --test"]),
        ("node scripts/check.js", ["scripts/check.js"]),
        ("bundle exec rspec", ["rspec"]),
        ("# nothing\npytest # all", ["pytest"]),
        ("", []),
        ("(cd web; npm ci) && npm test", ["npm ci", "npm test"]),
    ],
)
def test_the_programs_of_a_command(command: str, expected: list[str]) -> None:
    assert [call.words for call in calls(command)] == expected


def test_a_folder_and_a_path_are_kept() -> None:
    (call,) = calls("cd web/app && PATH=./bin:$PATH npm test")
    assert (call.folder, call.path) == ("web/app", ("web/app/bin",))
    (call,) = calls("pnpm -C web exec vitest run")
    assert (call.program, call.folder) == ("vitest", "web")
