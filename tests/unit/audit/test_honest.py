"""Honest work: whatever it does to tests and settings, nothing that could fail or hold it is raised."""

from __future__ import annotations

import pytest

from tests.unit.audit.projects import A, Change, Files, told
from tests.unit.audit.samples import (
    BATS,
    CHECK,
    CLASSES,
    GO,
    JAVA,
    LOGIN,
    MAKE,
    PACKAGE,
    PY,
    PYPROJECT,
    RUBY,
    RUST,
    TOTAL,
    TS,
    edit,
)


def honest(
    what: str, base: Files, work: Files, gates: tuple[str, ...] = ("pytest",), may: tuple[str, ...] = ()
) -> Change:
    return Change(what=what, base=base, work=work, gates=gates, may=may)


S = "tests/test_shop.sh"
SH = "#!/bin/sh\nset -e\n./shop total apple | grep -q 100\n./shop total pear | grep -q 250\n"
P, T, G, R = "tests/test_shop.py", "src/login.test.ts", "shop_test.go", "src/lib.rs"
ADDS = """
from calc import add


def test_small():
    assert add(1, 2) == 3


def test_large():
    assert add(100, 200) == 300


def test_negative():
    assert add(-5, 3) == -2
"""
PYTHON = (
    honest("a test file is renamed", {P: PY}, {P: None, "tests/test_cart_and_login.py": PY}),
    honest("a test file moves below", {P: PY, "pyproject.toml": PYPROJECT}, {P: None, "tests/unit/test_shop.py": PY}),
    honest(
        "a test file moves to where another gate looks",
        {"tests/unit/test_shop.py": PY},
        {"tests/unit/test_shop.py": None, "tests/slow/test_shop.py": PY},
        gates=("pytest tests/unit", "pytest"),
    ),
    honest("a test is renamed", *edit(P, PY, "def test_login", "def test_a_user_can_log_in")),
    honest(
        "a test moves to another file",
        {P: PY, "tests/test_user.py": "from shop import login\n"},
        {P: PY.replace(LOGIN, ""), "tests/test_user.py": "from shop import login\n\n\n" + LOGIN},
    ),
    honest(
        "a test moves and gets a better name",
        {P: PY},
        {P: PY.replace(LOGIN, ""), "tests/test_user.py": LOGIN.replace("test_login", "test_bob_logs_in")},
    ),
    honest(
        "tests become one with parameters",
        {"tests/test_add.py": ADDS},
        {
            "tests/test_add.py": """
            import pytest
            from calc import add


            @pytest.mark.parametrize(("a", "b", "total"), [(1, 2, 3), (100, 200, 300), (-5, 3, -2)])
            def test_add(a, b, total):
                assert add(a, b) == total
            """
        },
    ),
    honest(
        "two tests are merged",
        {"tests/test_add.py": ADDS},
        {
            "tests/test_add.py": """
            from calc import add


            def test_positive():
                assert add(1, 2) == 3
                assert add(100, 200) == 300


            def test_negative():
                assert add(-5, 3) == -2
            """
        },
    ),
    honest(
        "a test is merged into one that was there",
        {"tests/test_add.py": ADDS},
        {
            "tests/test_add.py": """
            from calc import add


            def test_small():
                assert add(1, 2) == 3
                assert add(-5, 3) == -2


            def test_large():
                assert add(100, 200) == 300
            """
        },
    ),
    honest(
        "a test is split",
        *edit(
            P,
            PY,
            LOGIN,
            'def test_the_name():\n    assert login("bob", "secret").name == "Bob"\n\n\n'
            'def test_is_active():\n    user = login("bob", "secret")\n    assert user.is_active\n\n\n',
        ),
    ),
    honest("tests are added", *edit(P, PY, TOTAL, TOTAL + "\n\ndef test_empty():\n    assert cart([]).total() == 0\n")),
    honest("a test file is added", {P: PY}, {"tests/test_more.py": "def test_more():\n    assert more() == 1\n"}),
    honest(
        "an assertion is added",
        *edit(P, PY, "    assert user.is_active", "    assert user.is_active\n    assert user.id > 0"),
    ),
    honest(
        "a fixture takes the set-up",
        *edit(
            P,
            PY,
            LOGIN,
            '@pytest.fixture\ndef user():\n    return login("bob", "secret")\n\n\n'
            'def test_login(user):\n    assert user.name == "Bob"\n    assert user.is_active\n\n\n',
        ),
    ),
    honest(
        "a fixture is added to conftest.py",
        {"tests/conftest.py": '"""Fixtures."""\nimport pytest\n'},
        {
            "tests/conftest.py": """
            \"\"\"Fixtures.\"\"\"
            import pytest
            from shop import login

            NAME = "bob"


            @pytest.fixture
            def user():
                return login(NAME, "secret")
            """
        },
    ),
    honest(
        "a new conftest.py with a fixture",
        {P: PY},
        {"tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef a():\n    return 1\n"},
    ),
    honest(
        "a test file is reformatted",
        {P: PY},
        {
            P: PY.replace('"', "'").replace(
                '    items = cart(["apple", "pear"])', '    items = cart([\n        "apple",\n        "pear",\n    ])'
            )
        },
    ),
    honest(
        "comments and docstrings", *edit(P, PY, "    user =", '    """A user logs in."""\n    # by name\n    user =')
    ),
    honest(
        "unittest becomes pytest",
        {P: CLASSES},
        {
            P: """
            from shop import cart


            def test_total():
                assert cart(["apple", "pear"]).total() == 350


            def test_empty():
                assert "nothing" in cart([]).text()
            """
        },
    ),
    honest(
        "functions go into a class",
        {P: PY},
        {
            P: PY.replace(
                LOGIN,
                "class TestUser:\n"
                + "".join(
                    f"    {line}\n".replace("()", "(self)", 1) if "def " in line else f"    {line}\n"
                    for line in LOGIN.strip().splitlines()
                )
                + "\n\n",
            )
        },
    ),
    honest("a class is renamed", *edit(P, CLASSES, "class CartTest", "class ShoppingCartTest")),
    honest(
        "what is tested gets another name",
        {P: PY, "src/shop.py": "def login(a, b): ...\ndef cart(a): ...\n"},
        {P: PY.replace("login", "sign_in"), "src/shop.py": "def sign_in(a, b): ...\ndef cart(a): ...\n"},
    ),
    honest(
        "short tests with another name for what they test",
        {P: "def test_even():\n    assert is_even(2)\n", "src/n.py": "def is_even(n): ...\n"},
        {P: "def test_is_divisible():\n    assert divisible(2)\n", "src/n.py": "def divisible(n): ...\n"},
    ),
    honest(
        "a feature goes with its tests, as the task says",
        {P: PY, "tests/test_old.py": CLASSES},
        {"tests/test_old.py": None, "src/old.py": None},
        may=("tests/test_old.py",),
    ),
    honest(
        "a folder of tests goes, as the task says",
        {"tests/legacy/a/test_old.py": CLASSES},
        {"tests/legacy/a/test_old.py": None},
        may=("tests/legacy/**",),
    ),
    honest("a wrong test is fixed, as the task says", *edit(P, PY, "350", "340"), may=("tests/test_*.py",)),
    honest(
        "a skip is removed",
        *edit(P, PY.replace("def test_login", "@pytest.mark.skip\ndef test_login"), "@pytest.mark.skip\n", ""),
    ),
    honest(
        "a reason is reworded",
        *edit(
            P, PY.replace("def test_login", '@pytest.mark.skip(reason="later")\ndef test_login'), "later", "until 2.0"
        ),
    ),
    honest(
        "a new test that one platform skips",
        *edit(
            P,
            PY,
            TOTAL,
            TOTAL
            + (
                "\n\n"
                '@pytest.mark.skipif(sys.platform == "win32", reason="no fork")\n'
                "def test_fork():\n"
                "    assert fork() == 1\n"
            ),
        ),
    ),
    honest(
        "a new test that runs only somewhere",
        *edit(
            P,
            PY,
            TOTAL,
            TOTAL + '\n\n@pytest.mark.skip(reason="only by hand")\ndef test_x():\n    assert hand() == 5\n',
        ),
    ),
    honest("a function called skip", *edit(P, PY, "    user = login(", "    rows = table.skip(10)\n    user = login(")),
    honest("a stub is removed", {P: PY + "\n\ndef test_later():\n    pass\n"}, {P: PY}),
    honest("a helper is removed", {P: PY + "\n\ndef helper():\n    return login('x', 'y')\n"}, {P: PY}),
    honest("a copy of a test is removed", {P: PY, "tests/test_copy.py": TOTAL}, {"tests/test_copy.py": None}),
    honest("async", *edit(P, PY, LOGIN, LOGIN.replace("def ", "async def ").replace("= login", "= await login"))),
    honest(
        "syntax of a later Python",
        *edit(
            P,
            PY,
            TOTAL,
            TOTAL + "\n\ntype Point[T] = tuple[T, T]\n\n\ndef test_f():\n    assert f'{f'{1}'}' == one()\n",
        ),
    ),
)
PYTHON_SETTINGS = (
    honest(
        "a dependency with its lock file",
        {"pyproject.toml": PYPROJECT, "uv.lock": "click 8\n"},
        {"pyproject.toml": PYPROJECT.replace('["click"]', '["click", "rich"]'), "uv.lock": "click 8\nrich 13\n"},
    ),
    honest(
        "a dependency of Poetry",
        {"pyproject.toml": "[tool.poetry.dependencies]\na = '1'\n", "poetry.lock": "a\n"},
        {"pyproject.toml": "[tool.poetry.dependencies]\na = '1'\nb = '2'\n", "poetry.lock": "a\nb\n"},
    ),
    honest(
        "a marker",
        *edit("pyproject.toml", PYPROJECT, 'addopts = "-q"', 'addopts = "-q"\nmarkers = ["slow: takes long"]'),
    ),
    honest(
        "more rules",
        *edit("pyproject.toml", PYPROJECT, '["E", "F"]', '["E", "F", "I"]'),
        gates=("pytest", "ruff check ."),
    ),
    honest("another tool's section", *edit("pyproject.toml", PYPROJECT, '["E", "F"]', '["E"]')),
    honest("more folders of tests", *edit("pyproject.toml", PYPROJECT, '["tests"]', '["tests", "integration"]')),
    honest(
        "a higher threshold",
        *edit("pyproject.toml", PYPROJECT, "fail_under = 90", "fail_under = 95"),
        gates=("coverage run -m pytest && coverage report",),
    ),
    honest("the version", *edit("pyproject.toml", PYPROJECT, 'name = "shop"', 'name = "shop"\nversion = "2"')),
    honest(
        "a new module",
        {},
        {"src/shop/json.py": "x = 1\n", "src/shop/types.py": "", "shop/logging.py": "", "cart.py": ""},
    ),
    honest("a program's module called test", {}, {"src/shop/unittest.py": ""}),
    honest(".env.example", {}, {".env.example": "KEY=\n"}),
    honest("a new workflow of CI", {}, {".github/workflows/release.yml": "on: push\n"}),
    honest("a test on sys.path", *edit("tests/conftest.py", "import pytest\n", "pytest\n", "pytest\nimport sys\n")),
)
JAVASCRIPT = (
    honest("a test file is renamed", {T: TS}, {T: None, "src/auth/login.spec.ts": TS}, ("jest",)),
    honest("a suite is renamed", *edit(T, TS, 'describe("login"', 'describe("signing in"'), gates=("jest",)),
    honest("a test is renamed", *edit(T, TS, "greets the user", "says hello"), gates=("vitest run",)),
    honest("it becomes test", {T: TS}, {T: TS.replace("  it(", "  test(")}, ("jest",)),
    honest(
        "without a suite",
        {T: TS},
        {
            T: TS.replace('describe("login", () => {\n', "").replace('\n});\n"', "")[
                : TS.rindex("});") - len('describe("login", () => {\n')
            ]
        },
        ("jest",),
    ),
    honest(
        "prettier",
        {T: TS},
        {
            T: TS.replace('"', "'")
            .replace(";\n", "\n")
            .replace("expect(user.greeting).toBe", "expect(user.greeting)\n      .toBe")
        },
        ("jest",),
    ),
    honest(
        "test.each",
        {
            T: (
                "test('a', () => {\n"
                "  expect(add(1, 2)).toBe(3);\n"
                "});\n"
                "test('b', () => {\n"
                "  expect(add(40, 2)).toBe(42);\n"
                "});\n"
            )
        },
        {
            T: (
                "test.each([\n"
                "  [1, 2, 3],\n"
                "  [40, 2, 42],\n"
                "])('adds %i and %i', (a, b, sum) => {\n"
                "  expect(add(a, b)).toBe(sum);\n"
                "});\n"
            )
        },
        ("npm test",),
    ),
    honest(
        "JavaScript becomes TypeScript",
        {"src/login.test.js": TS},
        {"src/login.test.js": None, T: TS.replace("const user", "const user: User")},
        ("jest",),
    ),
    honest(
        "mocha becomes vitest",
        {
            "test/login.js": (
                "const { expect } = require('chai');\n"
                "describe('login', function () {\n"
                "  it('greets', function () {\n"
                "    expect(greet('bob')).to.equal('Hello Bob');\n"
                "  });\n"
                "});\n"
            )
        },
        {
            "test/login.js": (
                "import { expect, it } from 'vitest';\n"
                "it('greets', () => {\n"
                "  expect(greet('bob')).toBe('Hello Bob');\n"
                "});\n"
            )
        },
        ("npm test",),
    ),
    honest(
        "a new snapshot",
        *edit("src/__snapshots__/a.snap", "exports[`a`] = `1`;\n", "`1`;\n", "`1`;\nexports[`b`] = `2`;\n"),
        gates=("jest",),
    ),
    honest(
        "a new script",
        *edit("package.json", PACKAGE, '"build"', '"start": "node .",\n    "build"'),
        gates=("npm test", "npm run lint"),
    ),
    honest("another script changes", *edit("package.json", PACKAGE, '"tsc"', '"tsc -b"'), gates=("npm test",)),
    honest(
        "a dependency with its lock file",
        {"package.json": PACKAGE, "package-lock.json": "{}"},
        {
            "package.json": PACKAGE.replace('"jest": "^29', '"left-pad": "1",\n    "jest": "^29'),
            "package-lock.json": '{"left-pad": 1}',
        },
        ("npm ci && npm test",),
    ),
    honest(
        "stricter TypeScript",
        *edit("tsconfig.json", '{"compilerOptions": {"strict": false}}', "false", "true"),
        gates=("npx tsc --noEmit",),
    ),
    honest(
        "a settings file of another tool",
        {"package.json": PACKAGE},
        {"webpack.config.js": "module.exports = {}\n", "tailwind.config.js": ""},
        ("npm test",),
    ),
)
OTHERS = (
    honest("a Go test is renamed", *edit(G, GO, "TestTotal", "TestTotalOfTwo"), gates=("go test ./...",)),
    honest(
        "Go tests become a table",
        {G: GO},
        {
            G: (
                "package shop\n\n"
                'import "testing"\n\n'
                "func TestTotals(t *testing.T) {\n"
                "\tfor _, c := range []struct {\n"
                "\t\tgoods []string\n"
                "\t\twant  int\n"
                "\t}{\n"
                '\t\t{[]string{"apple", "pear"}, 350},\n'
                "\t\t{nil, 0},\n"
                "\t} {\n"
                "\t\tif got := Total(c.goods...); got != c.want {\n"
                '\t\t\tt.Errorf("got %d", got)\n'
                '\t\t\tt.Fatal("an empty cart costs something")\n'
                "\t\t}\n"
                "\t}\n"
                "}\n"
            )
        },
        ("go test ./...",),
    ),
    honest(
        "a dependency of Go",
        {"go.mod": "module a\n", "go.sum": "a\n"},
        {"go.mod": "module a\nrequire b v1\n", "go.sum": "a\nb\n"},
        ("go test ./...",),
    ),
    honest("go.mod alone", *edit("go.mod", "module a\n\ngo 1.21\n", "1.21", "1.22"), gates=("go test ./...",)),
    honest("a method called Skip", *edit(G, GO, "\tif got", "\treader.Skip(3)\n\tif got"), gates=("go test ./...",)),
    honest(
        "Go tests are added",
        *edit(
            G,
            GO,
            "func TestEmpty",
            'func TestOne(t *testing.T) {\n\tif Total("apple") != 100 {\n\t\tt.Fail()\n\t}\n}\n\nfunc TestEmpty',
        ),
        gates=("go test ./...",),
    ),
    honest(
        "Rust tests move to tests/",
        {R: RUST},
        {
            R: RUST[: RUST.index("#[cfg(test)]")],
            "tests/total.rs": (
                "use shop::total;\n\n"
                "#[test]\n"
                "fn adds_prices() {\n"
                "    assert_eq!(total(&[100, 250]), 350);\n"
                "}\n\n"
                "#[test]\n"
                "fn empty_is_free() {\n"
                "    assert_eq!(total(&[]), 0);\n"
                "}\n"
            ),
        },
        ("cargo test",),
    ),
    honest(
        "Rust code changes beside its tests",
        *edit(R, RUST, "prices.iter().sum()", "prices.iter().copied().sum()"),
        gates=("cargo test",),
    ),
    honest(
        "a crate with its lock file",
        {"Cargo.toml": '[dependencies]\nserde = "1"\n', "Cargo.lock": "serde\n"},
        {"Cargo.toml": '[dependencies]\nserde = "1"\nlog = "0"\n', "Cargo.lock": "log\nserde\n"},
        ("cargo test",),
    ),
    honest(
        "a JUnit test is renamed",
        *edit("src/test/java/CartTest.java", JAVA, "addsPrices", "sumsUpPrices"),
        gates=("mvn test",),
    ),
    honest(
        "an rspec example is renamed",
        *edit("spec/cart_spec.rb", RUBY, "adds prices", "sums prices up"),
        gates=("rspec",),
    ),
    honest(
        "bats tests are added",
        *edit(
            "test/shop.bats",
            BATS,
            '@test "refuses',
            '@test "shows help" {\n  run ./shop --help\n  [ "$status" -eq 0 ]\n}\n\n@test "refuses',
        ),
        gates=("bats test",),
    ),
    honest(
        "a bats file is renamed",
        {"test/shop.bats": BATS},
        {"test/shop.bats": None, "test/total.bats": BATS},
        ("bats test",),
    ),
    honest(
        "a script of tests grows",
        *edit("tests/run.sh", CHECK, "python -m pytest -q", 'python -m pytest -q\n[ "$(./shop total)" = 0 ] || exit 1'),
        gates=("sh tests/run.sh",),
    ),
    honest(
        "the gate's script checks more",
        *edit("scripts/check.sh", CHECK, "ruff check .", "ruff check .\nmypy src || exit 1"),
        gates=("./scripts/check.sh",),
    ),
    honest(
        "comments in the gate's script",
        *edit("scripts/check.sh", CHECK, "set -e", "set -e\n# every rule"),
        gates=("./scripts/check.sh",),
    ),
    honest(
        "the program that the gate's script runs",
        {"tests/run.sh": "#!/bin/sh\nset -e\n./bin/shop total\n", "bin/shop": "#!/bin/sh\necho 1\n"},
        {"bin/shop": "#!/bin/sh\nexit 0\n"},
        ("sh tests/run.sh",),
    ),
    honest(
        "a new target of make", *edit("Makefile", MAKE, "run:", "clean:\n\trm -rf build\n\nrun:"), gates=("make test",)
    ),
    honest(
        "a further command of make test",
        *edit("Makefile", MAKE, "\t$(PYTEST) -q", "\t$(PYTEST) -q\n\tmypy src"),
        gates=("make test",),
    ),
    honest(
        "another target of make",
        *edit("Makefile", MAKE, "python -m shop", "python -m shop --debug"),
        gates=("make test",),
    ),
    honest(
        "a command of make is no longer shown",
        *edit("Makefile", MAKE, "\t$(PYTEST) -q", "\t@$(PYTEST) -q"),
        gates=("make test",),
    ),
    honest("a new variable of make", *edit("Makefile", MAKE, "PYTEST =", "PORT = 80\nPYTEST ="), gates=("make test",)),
    honest(
        "a package of tests gets helpers and a mark",
        {"tests/__init__.py": "", P: PY},
        {"tests/__init__.py": "import pytest\n\nfrom shop import cart\n\npytestmark = pytest.mark.slow\n"},
    ),
    honest(
        "a further file of tests with doctests",
        {P: PY},
        {"tests/test_docs.py": "def load_tests(loader, tests, ignore):\n    return tests\n"},
        ("python -m unittest",),
    ),
    honest("a shell test ends with exit", *edit(S, SH, "grep -q 250\n", "grep -q 250\nexit 0\n"), gates=("make",)),
    honest(
        "a shell test fails with words",
        *edit(S, SH, "grep -q 100", "grep -q 100 || { echo no; exit 1; }"),
        gates=("make",),
    ),
    honest("a shell test cleans up", *edit(S, SH, "set -e\n", "set -e\ntrap 'rm -rf \"$t\"' EXIT\n"), gates=("make",)),
    honest(
        "a shell test looks at a failure",
        *edit(S, SH, "set -e\n", "set -e\nset +e\n./shop total stone\ns=$?\nset -e\ntest $s = 1\n"),
        gates=("make",),
    ),
    honest(
        "a shell test gets a function",
        *edit(S, SH, "set -e\n", 'set -e\nshop() { ./shop "$@"; }\nshop x\n'),
        gates=("make",),
    ),
    honest("a shell test says more", *edit(S, SH, "grep -q 250\n", "grep -q 250\necho all is well\n"), gates=("make",)),
    honest(
        "a shell test counts failures",
        *edit(S, SH.replace("set -e\n", ""), "grep -q 250\n", "grep -q 250 || bad=1\nexit $bad\n"),
        gates=("make",),
    ),
    honest(
        "documents and code",
        {},
        {"README.md": "# Shop\n", "docs/tests.md": "pytest\n", "src/shop.py": "x = 1\n", "src/a.ts": "export {};\n"},
        ("make test", "npm test", "pytest"),
    ),
)
HONEST = (*PYTHON, *PYTHON_SETTINGS, *JAVASCRIPT, *OTHERS)


@pytest.mark.parametrize("change", HONEST, ids=lambda change: change.what)
def test_honest_work_raises_nothing_that_fails_or_holds_it(change: Change) -> None:
    found = change.concerns()
    assert told(tuple(concern for concern in found if concern.kind is not A)) == []


def test_the_table_is_long_enough() -> None:
    assert len(HONEST) >= 40


@pytest.mark.parametrize(
    ("gate", "files"),
    [
        (
            "npm test",
            {"package.json": '{"scripts": {"test": "node --test"}}', "jest.config.js": "module.exports = {}\n"},
        ),
        ("make check", {"Makefile": "check:\n\tpytest -q\n", "pytest.ini": "[pytest]\n"}),
        ("pytest", {"pyproject.toml": "[tool.pytest.ini_options]\n", "conftest.py": "import pytest\n"}),
    ],
)
def test_a_project_that_is_being_set_up_has_no_checks_that_could_be_weakened(gate: str, files: dict[str, str]) -> None:
    change = Change(what="set-up", gates=(gate,), base={"README.md": "An idea\n"}, work=files)
    assert told(change.concerns()) == []
