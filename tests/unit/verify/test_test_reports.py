"""Which files count as a gate's report, and what they make of its exit code."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ralph.process.redaction import Secrets
from ralph.verify.reports import ReportFiles, load_tests

GREEN = '<testsuite><testcase classname="a" name="b"/></testsuite>'
RED = '<testsuite><testcase classname="a" name="b"><failure message="no"/></testcase></testsuite>'


def test_a_report_that_was_there_before_the_gate_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(GREEN)
    found = ReportFiles("report.xml", tmp_path).read(passed=True)
    assert (found.report, found.problem) == (None, "it wrote no report (report.xml)")


def test_a_report_is_new_by_its_time_of_change_which_no_program_can_set(tmp_path: Path) -> None:
    path = tmp_path / "report.xml"
    path.write_text(GREEN)
    reports = ReportFiles("report.xml", tmp_path)
    before = path.stat().st_ctime_ns
    while path.stat().st_ctime_ns == before:
        path.write_text(RED)
    os.utime(path, ns=(0, 0))
    assert list(reports.read(passed=True).report.failed) == ["a › b"]  # type: ignore[union-attr]


def test_after_exit_code_0_a_red_missing_or_broken_report_is_a_problem(tmp_path: Path) -> None:
    reports = ReportFiles("out/*.xml", tmp_path)
    assert reports.read(passed=True).problem == "it wrote no report (out/*.xml)"
    assert reports.read(passed=False).problem == "", "a red gate may end before it writes one"
    (tmp_path / "out").mkdir()
    (tmp_path / "out/1.xml").write_text(RED)
    assert reports.read(passed=True).problem == "its report says that 1 test failed"
    (tmp_path / "out/2.xml").write_text(GREEN[:20])
    assert reports.read(passed=True).problem.startswith("its report 2.xml is not complete XML")


@pytest.mark.parametrize(
    ("counts", "problem"),
    [
        ('failures="2"', "its report counts 2 failures and names none"),
        ('errors="1" failures="0"', "its report counts 1 failure and names none"),
        ('failures="0" errors="0" skipped="3"', ""),
        ('failures="many"', ""),
    ],
)
def test_failures_that_are_only_counted_are_a_problem(tmp_path: Path, counts: str, problem: str) -> None:
    reports = ReportFiles("*.xml", tmp_path)
    (tmp_path / "a.xml").write_text(f'<testsuites><testsuite {counts}><testcase name="a"/></testsuite></testsuites>')
    assert reports.read(passed=True).problem == problem


@pytest.mark.parametrize(
    ("report", "problem"),
    [
        ("<testsuites/>", "its report has no test"),
        ('<testsuite><testcase name="a"><skipped/></testcase></testsuite>', "all tests in its report were skipped"),
    ],
)
def test_a_report_without_a_test_that_ran_is_a_problem_unless_the_gate_allows_it(
    tmp_path: Path, report: str, problem: str
) -> None:
    strict, lenient = (ReportFiles("r.xml", tmp_path, pass_with_no_tests=allowed) for allowed in (False, True))
    (tmp_path / "r.xml").write_text(report)
    assert strict.read(passed=True).problem == problem
    assert lenient.read(passed=True).problem == ""


def test_without_a_glob_there_is_nothing_to_read(tmp_path: Path) -> None:
    found = ReportFiles("", tmp_path).read(passed=True)
    assert (found.counts, found.problem, found.failures) == ("", "", "")
    assert found.save(tmp_path / "x.json", Secrets()) == ""


def test_names_are_kept_without_secrets_and_read_back(tmp_path: Path) -> None:
    reports = ReportFiles("*.xml", tmp_path)
    text = RED.replace("</testsuite>", '<testcase name="with s3cret-0123456789"/></testsuite>')
    (tmp_path / "r.xml").write_text(text)
    found = reports.read(passed=False)
    kept = load_tests(found.save(tmp_path / "kept.tests.json", Secrets(["s3cret-0123456789"])))
    assert kept is not None
    assert list(kept.failed) == ["a › b"]
    assert "s3cret" not in (tmp_path / "kept.tests.json").read_text()
    assert found.failures == "Failed tests:\na › b\nno"


def test_a_kept_report_that_is_damaged_is_none(tmp_path: Path) -> None:
    for text in ("", "{", "[]", "{}", '{"passed": 1, "failed": [], "skipped": []}'):
        (tmp_path / "kept.json").write_text(text)
        assert load_tests(str(tmp_path / "kept.json")) is None
    assert load_tests("") is None
    assert load_tests(str(tmp_path / "missing.json")) is None
