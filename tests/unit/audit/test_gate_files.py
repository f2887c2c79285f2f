"""Which files define the gates and nothing else."""

from __future__ import annotations

from ralph.audit.files import Tree
from ralph.audit.gate_files import gate_files
from tests.unit.audit.samples import CHECK, MAKE, PACKAGE, PY, PYPROJECT, P


def of(commands: list[str], **files: str) -> tuple[str, ...]:
    there = {"README.md": "", "src/shop.py": "", P: PY, **files}
    return gate_files(Tree(lambda path: there[path].encode() if path in there else None, lambda: there), commands)


def test_scripts_and_settings_on_the_way_of_a_gate() -> None:
    files = {"Makefile": "check:\n\t./scripts/check.sh\n", "scripts/check.sh": CHECK, "scripts/other.sh": CHECK}
    settings = {"pytest.ini": "", "ruff.toml": "", "mypy.ini": "", "tox.ini": "[pytest]\n"}
    found = of(["make check"], **files, **settings)
    assert found == ("Makefile", "pytest.ini", "ruff.toml", "scripts/check.sh", "tox.ini")


def test_files_that_honest_work_changes_are_left_out() -> None:
    assert of(["npm test", "pytest"], **{"package.json": PACKAGE, "pyproject.toml": PYPROJECT, "conftest.py": ""}) == ()
    assert of(["sh tests/run.sh"], **{"tests/run.sh": CHECK}) == ()


def test_settings_count_where_the_gate_runs() -> None:
    files = {"web/jest.config.js": "", "api/jest.config.js": "", "web/package.json": PACKAGE}
    assert of(["cd web && npm test"], **files) == ("web/jest.config.js",)


def test_a_gate_without_files_has_none() -> None:
    assert of(["true"]) == ()
    assert of([], Makefile=MAKE) == ()
