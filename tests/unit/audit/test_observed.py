"""Tests that ran on the base and do not run on the work, as reports and counts tell."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from ralph.audit.observed import GateCounts, Observed
from tests.unit.audit.projects import A, Change, Files, S, V, told
from tests.unit.audit.samples import CLASSES, LOGIN, PY, TS, P, T, edit

LOGIN_RAN, TOTAL_RAN = "tests.test_shop › test_login", "tests.test_shop › test_total"
KEPT = "tests.test_kept › test_kept"
OTHER = "def test_login():\n    assert other() == 7\n"
EACH = """
describe("adding", () => {
  test.each(TABLE)("adds %i and %s", (a, b) => {
    expect(add(a, b)).toBe(3);
  });
});
"""
DYNAMIC = 'for (const name of names) {\n  test(name, () => {\n    expect(run(name)).toBe("ok");\n  });\n}\n'


def change(
    base: Files, work: Files, before: Iterable[str], after: Iterable[str], skipped: Iterable[str] = ()
) -> Change:
    observed = Observed(before=frozenset(before), after=frozenset(after), skipped=frozenset(skipped))
    return Change(what="", base=base, work=work, observed=observed)


HIDDEN = {
    "by a package's own choice of its tests": change(
        {P: PY, "tests/__init__.py": ""},
        {"tests/__init__.py": "import unittest\ndef pick(*a):\n    return unittest.TestSuite()\n"},
        {LOGIN_RAN, TOTAL_RAN, KEPT},
        {KEPT},
    ),
    "by a class that differs": change(
        *edit(P, PY, "def test_total", "globals().pop('test_login')\n\n\ndef test_total"),
        {LOGIN_RAN, TOTAL_RAN},
        {TOTAL_RAN},
    ),
    "while another file has a test of the same name": change(
        {P: PY, "tests/test_other.py": OTHER},
        {"tests/test_other.py": OTHER + "    assert more()\n"},
        {LOGIN_RAN, TOTAL_RAN, "tests.test_other › test_login"},
        {TOTAL_RAN, "tests.test_other › test_login"},
    ),
    "while a new test takes its name elsewhere": change(
        {P: PY, "src/app.py": "x = 1\n"},
        {"src/app.py": "x = 2\n", "tests/test_new.py": OTHER},
        {LOGIN_RAN, TOTAL_RAN},
        {TOTAL_RAN, "tests.test_new › test_login"},
    ),
    "in a project below the repository": change(
        {f"backend/{P}": PY, "a.py": ""}, {"a.py": "x = 1\n"}, {LOGIN_RAN, TOTAL_RAN}, {TOTAL_RAN}
    ),
    "in a class": change(
        {P: CLASSES, "a.py": ""},
        {"a.py": "x = 1\n"},
        {"tests.test_shop.CartTest › test_total", "tests.test_shop.CartTest › test_empty"},
        {"tests.test_shop.CartTest › test_empty"},
    ),
    "in jest, which names no file": change(
        {T: TS, "src/login.ts": ""},
        {"src/login.ts": "x"},
        {"login greets the user › login greets the user", "login refuses a › login refuses a"},
        {"login refuses a › login refuses a"},
    ),
    "in jest, beside a source file of the same name": change(
        {T: TS, "src/login.ts": "", "src/__tests__/other.test.ts": ""},
        {"src/login.ts": "x"},
        {"login greets the user", "login refuses a wrong password"},
        {"login refuses a wrong password"},
    ),
    "in vitest": change(
        {T: TS, "src/login.ts": ""},
        {"src/login.ts": "x"},
        {f"{T} › login > greets the user", f"{T} › login > refuses a wrong password"},
        {f"{T} › login > refuses a wrong password"},
    ),
    "with all its cases": change(
        {"src/add.test.ts": EACH, "src/add.ts": ""},
        {"src/add.ts": "x"},
        {"src/add.test.ts › adding > adds 1 and 2", "src/add.test.ts › adding > adds 3 and 4", "x › y"},
        {"x › y"},
    ),
}


@pytest.mark.parametrize("how", HIDDEN)
def test_a_test_that_ran_and_is_still_there_is_missed(how: str) -> None:
    found = HIDDEN[how].concerns()
    wanted = [one for one in found if one.kind is V and "no longer runs, but is still there" in one.text]
    assert wanted, told(found)
    assert all(one.path.endswith((P, T, "src/add.test.ts")) and one.line for one in wanted), told(found)


def test_what_is_skipped_now_is_told_apart() -> None:
    [found] = change(
        {P: PY, "a.py": ""}, {"a.py": "x = 1\n"}, {LOGIN_RAN, TOTAL_RAN}, {TOTAL_RAN}, {LOGIN_RAN}
    ).concerns()
    assert (found.kind, found.path, found.line) == (S, P, 5)
    assert "`test_login` ran on the base and is skipped now" in found.text


def test_a_test_that_moved_to_where_nobody_looks_is_missed() -> None:
    moved = change({P: PY}, {P: None, "tests/test_moved.py": PY}, {LOGIN_RAN, TOTAL_RAN}, set())
    found = moved.concerns()
    assert [(one.kind, one.path) for one in found] == [(V, "tests/test_moved.py")] * 2, told(found)


def test_many_are_one_sentence() -> None:
    tests = "".join(f"def test_{n}():\n    assert shop({n}) == {n}\n\n\n" for n in range(9))
    names = {f"tests.test_shop › test_{n}" for n in range(9)}
    [found] = change({P: tests, "a.py": ""}, {"a.py": "x = 1\n"}, names, set()).concerns()
    assert found.text.startswith("9 tests ran on the base and no longer run, but are still there: `test_0`")


def test_what_the_source_says_already_is_not_said_twice() -> None:
    skips = change(
        *edit(P, PY, "def test_login", "@pytest.mark.skip\ndef test_login"),
        {LOGIN_RAN, TOTAL_RAN},
        {TOTAL_RAN},
        {LOGIN_RAN},
    )
    assert len(skips.concerns()) == 1
    gone = change(*edit(P, PY, LOGIN, ""), {LOGIN_RAN, TOTAL_RAN}, {TOTAL_RAN})
    assert len(gone.concerns()) == 1


HONEST = {
    "renamed": change(
        *edit(P, PY, "def test_login", "def test_a_user_can_log_in"),
        {LOGIN_RAN, TOTAL_RAN},
        {"tests.test_shop › test_a_user_can_log_in", TOTAL_RAN},
    ),
    "its file moved": change(
        {P: PY},
        {P: None, "tests/unit/test_cart.py": PY},
        {LOGIN_RAN, TOTAL_RAN},
        {"tests.unit.test_cart › test_login", "tests.unit.test_cart › test_total"},
    ),
    "put into a class": change(
        {P: CLASSES},
        {P: CLASSES.replace("class CartTest", "class BasketTest")},
        {"tests.test_shop.CartTest › test_total", "tests.test_shop.CartTest › test_empty"},
        {"tests.test_shop.BasketTest › test_total", "tests.test_shop.BasketTest › test_empty"},
    ),
    "parametrized": change(
        *edit(P, PY, "def test_login():", "@pytest.mark.parametrize('n', [1, 2])\ndef test_login(n):"),
        {LOGIN_RAN, TOTAL_RAN},
        {f"{LOGIN_RAN}[1]", f"{LOGIN_RAN}[2]", TOTAL_RAN},
    ),
    "with other cases": change(
        {P: PY, "a.py": ""}, {"a.py": "x = 1\n"}, {f"{LOGIN_RAN}[old]", TOTAL_RAN}, {f"{LOGIN_RAN}[new]", TOTAL_RAN}
    ),
    "with other cases in its name": change(
        {"src/add.test.ts": EACH, "src/add.ts": ""},
        {"src/add.ts": "x"},
        {"src/add.test.ts › adding > adds 1 and 2", "src/add.test.ts › adding > adds 3 and 4"},
        {"src/add.test.ts › adding > adds 3 and 4", "src/add.test.ts › adding > adds 5 and 6"},
    ),
    "retitled in jest": change(
        *edit(T, TS, "greets the user", "says hello"),
        {"login greets the user › login greets the user"},
        {"login says hello › login says hello"},
    ),
    "its block retitled in jest": change(
        *edit(T, TS, 'describe("login"', 'describe("signing in"'),
        {"login greets the user › login greets the user"},
        {"signing in greets the user › signing in greets the user"},
    ),
    "more than before": change({P: PY, "a.py": ""}, {"a.py": "x = 1\n"}, {LOGIN_RAN}, {LOGIN_RAN, TOTAL_RAN, KEPT}),
    "was skipped before": change({P: PY, "a.py": ""}, {"a.py": "x = 1\n"}, {TOTAL_RAN}, {TOTAL_RAN}, {LOGIN_RAN}),
}


@pytest.mark.parametrize("how", HONEST)
def test_honest_work_stays_quiet(how: str) -> None:
    found = HONEST[how].concerns()
    assert not [one for one in found if one.kind is not A], told(found)


def test_a_name_that_no_source_has_is_told_and_missed_only_if_none_is_new() -> None:
    base, work = {"src/all.test.ts": DYNAMIC, "src/all.ts": ""}, {"src/all.ts": "x"}
    [other] = change(base, work, {"one › one", "two › two"}, {"one › one", "three › three"}).concerns()
    assert other.kind is A
    [fewer] = change(base, work, {"one › one", "two › two"}, {"one › one"}).concerns()
    assert fewer.kind is V
    assert "1 test ran on the base and not on the work: `two › two`" in fewer.text


def counted(before: int, after: int, base: Files, work: Files) -> list[str]:
    counts = GateCounts(gate="tests", before=before, after=after)
    return told(Change(what="", base=base, work=work, observed=Observed(counts=(counts,))).concerns())


def test_without_a_report_fewer_tests_than_the_source_explains_are_missed() -> None:
    hidden = counted(12, 3, {P: PY, "a.py": ""}, {"a.py": "x = 1\n"})
    assert hidden == ["vanished gate tests: it ran 3 tests, and 12 on the base"]
    assert counted(12, 12, {P: PY, "a.py": ""}, {"a.py": "x = 1\n"}) == []
    assert counted(12, 20, {P: PY, "a.py": ""}, {"a.py": "x = 1\n"}) == []
    [gone] = counted(12, 11, *edit(P, PY, LOGIN, ""))
    assert "`test_login` is gone" in gone


def test_new_tests_do_not_explain_that_fewer_run() -> None:
    [hidden] = counted(12, 4, {P: PY}, {"tests/test_new.py": "def test_pears():\n    assert pears(3) == 7\n"})
    assert hidden == "vanished gate tests: it ran 4 tests, and 12 on the base"


def test_fewer_cases_of_a_test_that_changed_or_was_replaced_are_only_told() -> None:
    found = counted(12, 11, *edit(P, PY, "350", "351"))
    assert [one.partition(" ")[0] for one in found] == ["assertions", "assertions"]
    renamed = PY.replace("test_login", "test_a_login").replace('"ada"', '"bob"')
    assert all(one.startswith("assertions ") for one in counted(12, 11, {P: PY}, {P: renamed}))
