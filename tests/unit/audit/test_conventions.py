"""Which files are tests, and which hold what tests compare with."""

from __future__ import annotations

import pytest

from ralph.audit.conventions import is_snapshot, is_test_file


@pytest.mark.parametrize(
    "path",
    [
        "test_login.py", "tests/unit/test_login.py", "app/login_test.py", "app/tests.py",
        "src/login.test.ts", "src/login.spec.jsx", "src/__tests__/login.js", "test/login.mjs", "cypress/login.cy.ts",
        "pkg/login_test.go", "tests/login.rs", "crates/a/tests/login.rs", "tests/login/main.rs",
        "spec/models/login_spec.rb", "test/test_login.rb", "src/test/java/a/LoginTest.java",
        "src/test/kotlin/Anything.kt", "tests/LoginTest.php", "Tests/LoginTests.cs", "test/login_test.exs",
        "test/login.bats", "tests/run.sh", "t/0001-login.t", "t/t0001-login.sh", "scripts/test-login.sh",
    ],
)  # fmt: skip
def test_what_a_runner_collects_is_a_test_file(path: str) -> None:
    assert is_test_file(path)


@pytest.mark.parametrize(
    "path",
    [
        "src/login.py", "tests/conftest.py", "tests/helpers.py", "tests/factories.py", "src/contest.ts", "src/login.go",
        "pkg/testdata/login_test.go", "node_modules/x/index.test.js", "tests/common/mod.rs", "src/main.rs",
        "src/__tests__/__snapshots__/login.test.js.snap", "tests/data/login.json", "latest.py", "src/attest.ts",
        "_disabled/test_login.py", "build/test_login.py", "README.md", "src/types/test.d.ts", "",
    ],
)  # fmt: skip
def test_other_files_are_not(path: str) -> None:
    assert not is_test_file(path)


@pytest.mark.parametrize(
    "path",
    ["a/__snapshots__/b.snap", "tests/login.approved.txt", "pkg/testdata/out.txt", "tests/golden/a.json", "x.ambr"],
)
def test_expected_results_are_snapshots(path: str) -> None:
    assert is_snapshot(path)
    assert not is_test_file(path)


def test_code_is_no_snapshot() -> None:
    assert not is_snapshot("src/snapshots.py")
