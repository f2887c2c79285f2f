"""Tests that are there and do not run: each mark is found."""

from __future__ import annotations

import pytest

from tests.unit.audit.projects import S
from tests.unit.audit.samples import BATS, CLASSES, GO, JAVA, PY, PYPROJECT, RUBY, RUST, TS, G, P, R, T, edit
from tests.unit.audit.tricks import Trick, trick

SH = """#!/bin/sh
set -e
./shop total apple | grep -q 100
./shop total pear | grep -q 250
"""
LOOSE = SH.replace("set -e\n", "")
SHELL = "tests/test_shop.sh"


def shell(what: str, old: str, new: str, line: int, text: str = "", *, script: str = SH) -> Trick:
    return trick(
        what, *edit(SHELL, script, old, new), S, f"{SHELL}:{line}", text or f"`{new.splitlines()[0]}`", ("make",)
    )


SHELL_TRICKS = (
    shell("exit at the top", "set -e\n", "set -e\nexit 0\n", 3, "no longer fails where it did: `exit 0`"),
    shell("exit in the middle", "./shop total pear", "exit\n./shop total pear", 4),
    shell("exit on a condition", "./shop total apple", '[ -n "$CI" ] || exit 0\n./shop total apple', 3),
    shell(
        "exit in a block",
        "./shop total apple",
        "if command -v x; then\n  exit 0\nfi\n./shop total apple",
        4,
        "`exit 0`",
    ),
    shell("return in a script", "./shop total apple", "return 0\n./shop total apple", 3),
    shell("exec of something else", "./shop total apple", "exec true\n./shop total apple", 3),
    shell("a trap that exits", "./shop total apple", "trap 'exit 0' EXIT\n./shop total apple", 3),
    shell("set +e", "./shop total apple", "set +e\n./shop total apple", 1, "no `set -e`"),
    shell("set -e is gone", "set -e\n", "", 1, "no `set -e`"),
    shell(
        "a last command that is always true",
        "grep -q 250\n",
        "grep -q 250\ntrue\n",
        4,
        "never fails: true",
        script=LOOSE,
    ),
    shell(
        "a last command that only talks", "grep -q 250\n", "grep -q 250\necho done\n", 4, "never fails", script=LOOSE
    ),
    shell("a loop that never runs", "./shop total apple", "while false; do\n./shop total apple", 3),
    shell("a block that never runs", "./shop total apple", "if ! true; then\n./shop total apple", 3),
    shell("text instead of commands", "./shop total apple", ": <<'END'\n./shop total apple", 3),
    shell(
        "a function that nobody calls",
        "./shop total apple",
        "later() {\n./shop total apple",
        3,
        "later() is never called",
    ),
    trick(
        "return in a test of bats",
        *edit("test/shop.bats", BATS, '  [ "$output"', '  [ -n "$CI" ] || return 0\n  [ "$output"'),
        S,
        "test/shop.bats:3",
        "return 0",
    ),
)
TRICKS = (
    trick(
        "skip",
        *edit(P, PY, "def test_login", "@pytest.mark.skip\ndef test_login"),
        S,
        f"{P}:5",
        "the test `test_login` is skipped now",
    ),
    trick(
        "skipif",
        *edit(P, PY, "def test_login", "@pytest.mark.skipif(True, reason='x')\ndef test_login"),
        S,
        f"{P}:5",
        "skipif",
    ),
    trick("xfail", *edit(P, PY, "def test_login", "@pytest.mark.xfail\ndef test_login"), S, f"{P}:5", "may fail now"),
    trick(
        "pytest.skip()", *edit(P, PY, "    user =", "    pytest.skip('later')\n    user ="), S, f"{P}:6", "pytest.skip"
    ),
    trick(
        "importorskip",
        *edit(P, PY, "from shop", "pytest.importorskip('nothing')\nfrom shop"),
        S,
        f"{P}:2",
        "2 tests are skipped now",
    ),
    trick(
        "pytestmark",
        *edit(P, PY, "from shop", "pytestmark = pytest.mark.skip\nfrom shop"),
        S,
        f"{P}:2",
        "2 tests are skipped now",
    ),
    trick(
        "skip of a module",
        *edit(P, PY, "from shop", "pytest.skip('x', allow_module_level=True)\nfrom shop"),
        S,
        f"{P}:2",
        "2 tests",
    ),
    trick(
        "SkipTest",
        *edit(P, CLASSES, "        self.assertEqual", "        raise unittest.SkipTest('x')\n        self.assertEqual"),
        S,
        f"{P}:7",
        "SkipTest",
    ),
    trick(
        "unittest.skip on a class",
        *edit(P, CLASSES, "class", "@unittest.skip('x')\nclass"),
        S,
        f"{P}:5",
        "2 tests are skipped now",
    ),
    trick(
        "expectedFailure",
        *edit(P, CLASSES, "    def test_total", "    @unittest.expectedFailure\n    def test_total"),
        S,
        f"{P}:6",
        "may fail now",
    ),
    trick(
        "__test__ = False",
        *edit(P, CLASSES, "    def test_total", "    __test__ = False\n\n    def test_total"),
        S,
        f"{P}:6",
        "2 tests",
    ),
    trick(
        "an early return",
        *edit(P, PY, "    user =", "    return\n    user ="),
        S,
        f"{P}:6",
        "returns before it checks anything",
    ),
    trick(
        "a constructor",
        *edit(
            P,
            CLASSES.replace("CartTest(unittest.TestCase)", "TestCart"),
            "    def test_total",
            "    def __init__(self):\n        pass\n\n    def test_total",
        ),
        S,
        f"{P}:6",
        "`__init__`",
    ),
    trick(
        "collect_ignore",
        {P: PY},
        {"tests/conftest.py": 'collect_ignore = ["test_shop.py"]\n'},
        S,
        "tests/conftest.py:1",
        "collect_ignore",
    ),
    trick(
        "a package of tests that is skipped",
        {"tests/__init__.py": "", P: PY},
        {"tests/__init__.py": "import pytest\n\npytestmark = pytest.mark.skip\n"},
        S,
        "tests/__init__.py:3",
        "pytest.mark.skip",
    ),
    trick(
        "a package of tests that raises SkipTest",
        {"tests/__init__.py": "", P: PY},
        {"tests/__init__.py": "import unittest\n\nraise unittest.SkipTest('later')\n"},
        S,
        "tests/__init__.py:3",
        "SkipTest",
    ),
    trick(
        "deselected in the settings",
        *edit("pyproject.toml", PYPROJECT, '"-q"', '"-q --deselect tests/test_shop.py::test_login"'),
        S,
        "pyproject.toml:7",
        "--deselect",
    ),
    trick(
        "-k not",
        *edit("pyproject.toml", PYPROJECT, '"-q"', "\"-q -k 'not login'\""),
        S,
        "pyproject.toml:7",
        "not login",
    ),
    trick(
        "it.skip",
        *edit(T, TS, 'it("greets', 'it.skip("greets'),
        S,
        f"{T}:4",
        "`login › greets the user` is skipped now",
        ("jest",),
    ),
    trick("xit", *edit(T, TS, 'it("greets', 'xit("greets'), S, f"{T}:4", "`xit`", ("jest",)),
    trick(
        "describe.skip", *edit(T, TS, "describe(", "describe.skip("), S, f"{T}:3", "2 tests are skipped now", ("jest",)
    ),
    trick("xdescribe", *edit(T, TS, "describe(", "xdescribe("), S, f"{T}:3", "2 tests", ("jest",)),
    trick(
        "it.only",
        *edit(T, TS, 'it("greets', 'it.only("greets'),
        S,
        f"{T}:4",
        "keeps every other test from running",
        ("jest",),
    ),
    trick("fit", *edit(T, TS, 'it("greets', 'fit("greets'), S, f"{T}:4", "keeps every other test", ("jest",)),
    trick(
        "only on a new test",
        *edit(T, TS, '  it("greets', '  it.only("is true", () => {\n    check();\n  });\n\n  it("greets'),
        S,
        f"{T}:4",
        "it.only",
        ("jest",),
    ),
    trick(
        "an option skip",
        *edit(T, TS, '"greets the user", async', '"greets the user", { skip: true }, async'),
        S,
        f"{T}:4",
        "skip",
        ("node --test",),
    ),
    trick("it.failing", *edit(T, TS, 'it("greets', 'it.failing("greets'), S, f"{T}:4", "may fail now", ("jest",)),
    trick(
        "a return in JavaScript",
        *edit(T, TS, "    const user", "    return;\n    const user"),
        S,
        f"{T}:5",
        "returns before",
        ("jest",),
    ),
    trick("t.Skip", *edit(G, GO, "\tif got", '\tt.Skip("later")\n\tif got'), S, f"{G}:6", "t.Skip", ("go test ./...",)),
    trick(
        "a build tag",
        *edit(G, GO, "package shop", "//go:build never\n\npackage shop"),
        S,
        f"{G}:1",
        "2 tests are skipped now",
        ("go test ./...",),
    ),
    trick(
        "#[ignore]",
        *edit(R, RUST, "    #[test]\n    fn adds", "    #[test]\n    #[ignore]\n    fn adds"),
        S,
        f"{R}:8",
        "#[ignore]",
        ("cargo test",),
    ),
    trick(
        "@Disabled",
        *edit(
            "src/test/java/CartTest.java",
            JAVA,
            "    @Test\n    void adds",
            '    @Disabled("later")\n    @Test\n    void adds',
        ),
        S,
        "src/test/java/CartTest.java:2",
        "@Disabled",
        ("mvn test",),
    ),
    trick(
        "xit in rspec",
        *edit("spec/cart_spec.rb", RUBY, 'it "adds', 'xit "adds'),
        S,
        "spec/cart_spec.rb:2",
        "xit",
        ("rspec",),
    ),
    trick(
        "skip in bats",
        *edit("test/shop.bats", BATS, "  run ./shop total apple", "  skip later\n  run ./shop total apple"),
        S,
        "test/shop.bats:2",
        "skip",
        ("bats test",),
    ),
)


@pytest.mark.parametrize("trick", (*TRICKS, *SHELL_TRICKS), ids=lambda trick: trick.change.what)
def test_it_is_found(trick: Trick) -> None:
    trick.check()
