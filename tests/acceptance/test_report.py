"""`ralph report` and `ralph diff`: what the runs of a plan did, what they left, and what to look at first."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.acceptance import specs
from tests.conftest import VERIFIED, Project, does

GATE = "for test in tests/*.sh; do sh $test || exit 1; done"


@pytest.fixture
def finished(project: Project) -> Project:
    """A story that fails once and is then proven, one without a test, and one that its agent cannot do."""
    project.write("tests/test_app.sh", "test -f app.txt\n")
    project.git("add", "tests")
    project.git("commit", "-q", "-m", "A test")
    project.config(GATE, maxRetries=2)
    project.stories("One", "Two", "Three")
    test = {"tests/test_one.sh": "test -f one.txt\n"}
    project.script(
        {"match": r"\*\*ID:\*\* US-001\b", "times": 1, "write": test, "done": True},
        {"match": r"\*\*ID:\*\* US-001\b", "write": {"one.txt": "1\n", **test}, "done": True},
        does("US-002", "two.txt"),
        {"match": r"\*\*ID:\*\* US-003\b", "say": ["<ralph>BLOCKED:no account</ralph>"]},
        VERIFIED,
    )
    project.ralph("run", "auth", code=3)
    return project


def test_a_report_tells_what_was_built_what_it_took_and_what_to_look_at(finished: Project) -> None:
    done = finished.ralph("report")  # the plan that was run last

    assert done.returncode == 0 and not done.stderr
    assert "2 of 3 passed, 1 blocked · 1 proven" in done.stdout
    assert "ralph/auth: " in done.stdout and "3 files, +3 -0" in done.stdout
    first, *rest = done.stdout.partition("Look at this first:")[2].splitlines()[1:]
    assert first.strip() == "US-003 needs you: no account" or "no account" in first
    assert "ralph decide auth US-003" in rest[0]
    assert any("US-002 regression-only" in line for line in rest)
    assert "proven · 2 attempts" in done.stdout
    assert done.stdout.rstrip().endswith("→ `ralph diff auth`, then `git merge ralph/auth`")


def test_the_same_as_markdown_json_and_a_page(finished: Project) -> None:
    markdown = finished.ralph("report", "auth", "--md").stdout
    assert markdown.startswith("## auth\n")
    assert "- **US-001** One (proven)" in markdown
    assert "- US-001/1 failed: " in markdown
    assert "  - added: `tests/test_one.sh: tests/test_one.sh`" in markdown or "1 added" in markdown

    data = json.loads(finished.ralph("report", "auth", "--json").stdout)
    one, two, three = data["tasks"]
    assert [task["state"] for task in data["tasks"]] == ["passed", "passed", "blocked"]
    assert [attempt["verdict"] for attempt in one["attempts"]] == ["failed", "passed"]
    assert (one["change"]["files"], one["change"]["added"]) == (2, 2)
    assert (two["evidence"], two["change"]["tests"]["added"]) == ("regression-only", [])
    assert three["change"] is None and three["attempts"][0]["verdict"] == "blocked"
    assert [notice["task"] for notice in data["lookAt"]] == ["US-003", "US-002"]
    assert data["change"]["files"] == 3 and not data["merged"]
    assert data["runs"][0]["ending"] == "blocked" and data["seconds"] > 0

    written = finished.ralph("report", "auth", "-o", "report.html")
    assert written.stdout == "wrote report.html\n"
    page = finished.read("report.html")
    assert page.startswith("<!doctype html>") and "<svg" in page and "US-001/1" in page
    odd = finished.ralph("report", "auth", "-o", "report.txt", code=1)
    assert odd.returncode == 1 and "Add --md, --html or --json." in odd.stderr


def test_a_diff_shows_what_landed_and_none_of_ralphs_own_files(finished: Project) -> None:
    whole = finished.ralph("diff", "auth").stdout
    assert "+++ b/one.txt" in whole and "+++ b/two.txt" in whole and ".ralph" not in whole
    one = finished.ralph("diff", "auth", "US-002").stdout
    assert "+++ b/two.txt" in one and "one.txt" not in one
    assert finished.ralph("diff", "auth", "US-001", "--name-only").stdout.split() == ["one.txt", "tests/test_one.sh"]
    assert "3 files changed" in finished.ralph("diff", "auth", "--stat").stdout
    nothing = finished.ralph("diff", "auth", "US-003", code=1)
    assert nothing.returncode == 1 and "Nothing of US-003 has landed yet." in nothing.stderr
    assert "ralph attempts auth US-003" in nothing.stderr

    for path in finished.path.glob(".ralph/*-auth/prd.json"):
        path.unlink()
    finished.git("merge", "-q", "ralph/auth")
    assert finished.ralph("diff", "auth").stdout == whole, "after a merge too"
    assert "git merge" not in finished.ralph("report", "auth", "--md").stdout


def test_tasks_that_share_a_commit_have_each_their_own_diff(project: Project) -> None:
    project.config("true")
    specs.write_plan(project, specs.spec("a", specs.task("a-1"), specs.task("a-2")))
    project.script(specs.builds("a-1", "one.txt"), specs.builds("a-2", "two.txt"))
    project.ralph("run", "specs")
    assert project.ralph("diff", "specs", "a-1", "--name-only").stdout.split() == ["one.txt"]
    assert project.ralph("diff", "specs", "--name-only").stdout.split() == ["one.txt", "two.txt"]


def test_without_any_run_there_is_a_report_and_no_diff(project: Project) -> None:
    project.config("true")
    project.stories("One")
    done = project.ralph("report")
    assert "0 of 1 passed" in done.stdout and "ralph run auth" in done.stdout
    nothing = project.ralph("diff", "auth", code=1)
    assert nothing.returncode == 1 and "Nothing of auth has landed yet." in nothing.stderr


def test_a_ci_job_gets_the_report_in_its_summary(project: Project) -> None:
    project.config("true")
    project.stories("One")
    project.script(does("US-001", "one.txt"), VERIFIED)
    summary = project.path.parent / "summary.md"
    summary.write_text("before\n")
    environment: dict[str, Any] = {"GITHUB_STEP_SUMMARY": str(summary)}
    assert project.ralph("run", "auth", env=environment).returncode == 0
    assert summary.read_text().startswith("before\n## auth\n")
    again = project.ralph("run", "auth", env={"GITHUB_STEP_SUMMARY": str(project.path.parent / "no" / "folder")})
    assert again.returncode == 0 and "could not be written" in again.stderr + again.stdout
