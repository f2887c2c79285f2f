"""JUnit reports as real runners write them, and as a hostile program may."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph.verify import junit
from ralph.verify.junit import BadReport, TestReport, read_reports

PYTEST = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" errors="0" failures="1" skipped="1" tests="4" time="0.05">
<testcase classname="tests.test_calc" name="test_add" time="0.001" />
<testcase classname="tests.test_calc" name="test_sub" time="0.001"><failure message="assert 2 == 1">def test_sub():
&gt;       assert sub(3, 1) == 1
E       assert 2 == 1</failure></testcase>
<testcase classname="tests.test_calc" name="test_div"><skipped type="pytest.skip" message="no" /></testcase>
<testcase classname="tests.test_bad" name="tests.test_bad"><error message="collection failure">E   ImportError</error>
</testcase>
</testsuite></testsuites>"""
JEST = """<?xml version="1.0"?>
<testsuites name="jest tests" tests="2" failures="0"><testsuite name="sum">
<testcase classname="sum adds" name="sum adds" time="0.003"></testcase>
<testcase classname="sum subtracts" name="sum subtracts" time="0.001"/></testsuite></testsuites>"""
GO = """<testsuites><testsuite tests="1" name="example.com/calc">
<properties><property name="go.version" value="go1.22"></property></properties>
<testcase classname="calc" name="TestAdd" time="0.000"></testcase></testsuite></testsuites>"""


def report(tmp_path: Path, *texts: str | bytes) -> TestReport:
    paths = []
    for number, text in enumerate(texts):
        path = tmp_path / f"{number}.xml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        paths.append(path)
    return read_reports(paths)


def test_each_test_has_its_result_and_a_failure_its_text(tmp_path: Path) -> None:
    found = report(tmp_path, PYTEST)
    assert found.passed == {"tests.test_calc › test_add"}
    assert found.skipped == {"tests.test_calc › test_div"}
    assert list(found.failed) == ["tests.test_calc › test_sub", "tests.test_bad"]
    assert found.failed["tests.test_calc › test_sub"].splitlines()[0] == "assert 2 == 1"
    assert "ImportError" in found.failed["tests.test_bad"]
    assert (str(found), found.total) == ("1 passed, 2 failed, 1 skipped", 4)


def test_several_files_are_one_report(tmp_path: Path) -> None:
    found = report(tmp_path, JEST, GO)
    assert found.passed == {"sum adds", "sum subtracts", "calc › TestAdd"}


@pytest.mark.parametrize("turned", [False, True])
def test_a_name_that_appears_twice_has_its_worst_result(tmp_path: Path, turned: bool) -> None:
    good = '<testcase classname="a" name="b"/>'
    bad = '<testcase classname="a" name="b"><failure/></testcase>'
    cases = bad + good if turned else good + bad
    found = report(tmp_path, f"<testsuite>{cases}</testsuite>")
    assert (found.passed, list(found.failed)) == (frozenset(), ["a › b"])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (PYTEST[:400], "0.xml is not complete XML"),
        ("", "0.xml is not complete XML"),
        ("no xml at all", "0.xml is not complete XML"),
        (b"\xff\xfe\x00", "0.xml is not complete XML"),
        (
            '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><testsuite>&b;</testsuite>',
            "0.xml declares entities",
        ),
        ('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><testsuite>&a;</testsuite>', "0.xml declares entities"),
    ],
)
def test_what_is_no_sound_report_is_refused_with_its_name(tmp_path: Path, text: str | bytes, why: str) -> None:
    with pytest.raises(BadReport, match=why):
        report(tmp_path, text)


def test_a_report_that_is_too_large_is_refused_before_it_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "big.xml"
    with path.open("wb") as file:
        file.write(b"<testsuite>")
        file.truncate(junit.MAX_REPORT + 10)  # a hole: it takes no disk
        file.seek(11)
        file.write(b" " * 100)
    with pytest.raises(BadReport, match=r"big\.xml (is too large|is not complete XML)"):
        read_reports([path])


def test_too_many_tests_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(junit, "MAX_TESTS", 3)
    cases = "".join(f'<testcase name="{number}"/>' for number in range(5))
    with pytest.raises(BadReport, match="more than 3 tests"):
        report(tmp_path, f"<testsuite>{cases}</testsuite>")


def test_a_link_a_pipe_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "real.xml").write_text(GO)
    (tmp_path / "link.xml").symlink_to(tmp_path / "real.xml")
    for name, why in (("link.xml", "it is a link"), ("missing.xml", "No such file")):
        with pytest.raises(BadReport, match=f"{name} cannot be read: {why}"):
            read_reports([tmp_path / name])


@pytest.mark.parametrize("encoding", ["gbk", "utf-7", "idna", "undefined", "hex", "no-such"])
def test_an_encoding_that_xml_does_not_know_is_a_word(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(BadReport, match=r"0\.xml has an encoding that cannot be read"):
        report(tmp_path, f'<?xml version="1.0" encoding="{encoding}"?><testsuite><testcase name="a"/></testsuite>')


def test_deep_nesting_and_control_characters_do_no_harm(tmp_path: Path) -> None:
    deep = "<a>" * 50_000 + '<testcase classname="\u202ea" name="x&#10;y"/>' + "</a>" * 50_000
    assert report(tmp_path, deep).total == 1
