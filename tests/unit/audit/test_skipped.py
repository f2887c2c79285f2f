"""Tests that are there and do not run: each mark is found."""

from __future__ import annotations

import pytest

from tests.unit.audit.projects import S
from tests.unit.audit.samples import BATS, CLASSES, GO, JAVA, PY, PYPROJECT, RUBY, RUST, TS, G, P, R, T, edit
from tests.unit.audit.tricks import Trick, trick

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


@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: trick.change.what)
def test_it_is_found(trick: Trick) -> None:
    trick.check()
