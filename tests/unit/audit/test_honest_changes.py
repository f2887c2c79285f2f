"""Further honest changes: nothing that could fail or hold them is raised."""

from __future__ import annotations

import pytest

from tests.unit.audit.projects import A, Change, Files, told
from tests.unit.audit.samples import BATS, CLASSES, GO, JAVA, LOGIN, PACKAGE, PY, PYPROJECT, RUBY, RUST, TOTAL, TS, edit

P, T, G, R = "tests/test_shop.py", "src/login.test.ts", "shop_test.go", "src/lib.rs"
SHELL = "tests/test_shop.sh"
SH = "#!/bin/sh\nset -e\n./shop total apple | grep -q 100\n./shop total pear | grep -q 250\n"
M = "test:\n\tpytest -q\n\nlint:\n\truff check .\n"


def honest(what: str, base: Files, work: Files, *, gates: tuple[str, ...] = ("pytest",)) -> Change:
    return Change(what=what, base=base, work=work, gates=gates)


HONEST = (
    honest(
        "a case of nothing",
        *edit(
            P,
            "@pytest.mark.parametrize(('n', 'found'), [(1, [1])])\ndef test_n(n, found):\n    assert a(n) == found\n",
            "[(1, [1])]",
            "[(1, [1]), (0, ()), (2, [])]",
        ),
    ),
    honest(
        "black multi-line assert",
        *edit(P, PY, "    assert items.total() == 350", "    assert (\n        items.total()\n        == 350\n    )"),
    ),
    honest(
        "imports sorted",
        *edit(P, PY, "import pytest\nfrom shop import cart, login", "from shop import cart, login\nimport pytest"),
    ),
    honest("unused import", *edit(P, PY, "import pytest\n", "")),
    honest("annotations", *edit(P, PY, "def test_login():", "def test_login() -> None:")),
    honest("marker slow", *edit(P, PY, "def test_login", "@pytest.mark.slow\ndef test_login")),
    honest("marker asyncio", *edit(P, PY, "def test_login", "@pytest.mark.asyncio\nasync def test_login")),
    honest(
        "setUp extracted",
        *edit(
            P,
            CLASSES,
            '    def test_total(self):\n        self.assertEqual(cart(["apple", "pear"]).total(), 350)',
            (
                "    def setUp(self):\n"
                '        self.cart = cart(["apple", "pear"])\n\n'
                "    def test_total(self):\n"
                "        self.assertEqual(self.cart.total(), 350)"
            ),
        ),
        gates=("python -m unittest",),
    ),
    honest(
        "helper extracted",
        *edit(
            P,
            PY,
            LOGIN,
            (
                "def check(user):\n"
                '    assert user.name == "Bob"\n'
                "    assert user.is_active\n\n\n"
                "def test_login():\n"
                '    check(login("bob", "secret"))\n\n\n'
            ),
        ),
    ),
    honest(
        "constant",
        *edit(
            P,
            PY,
            'def test_total():\n    items = cart(["apple", "pear"])\n    assert items.total() == 350',
            (
                "TOTAL = 350\n\n\n"
                "def test_total():\n"
                '    items = cart(["apple", "pear"])\n'
                "    assert items.total() == TOTAL"
            ),
        ),
    ),
    honest(
        "file split", {P: PY}, {P: PY.replace(TOTAL, ""), "tests/test_cart.py": "from shop import cart\n\n\n" + TOTAL}
    ),
    honest(
        "files merged",
        {P: PY, "tests/test_more.py": "def test_more():\n    assert more(7) == 77\n"},
        {P: PY + "\n\ndef test_more():\n    assert more(7) == 77\n", "tests/test_more.py": None},
    ),
    honest("tests to test", {P: PY}, {P: None, "test/test_shop.py": PY}),
    honest(
        "ids",
        *edit(
            P,
            "import pytest\n\n\n@pytest.mark.parametrize('n', [1, 22])\ndef test_n(n):\n    assert shop(n) == n\n",
            "[1, 22]",
            "[1, 22, 333], ids=['a', 'b', 'c']",
        ),
    ),
    honest(
        "raises as",
        *edit(
            P,
            PY.replace("    assert user.is_active", "    with pytest.raises(ValueError) as e:\n        login('')"),
            " as e",
            " as caught",
        ),
    ),
    honest(
        "raises with match",
        *edit(
            P,
            PY.replace("    assert user.is_active", "    with pytest.raises(ValueError):\n        login('')"),
            "(ValueError)",
            "(ValueError, match='empty')",
        ),
    ),
    honest(
        "pytest main added",
        *edit(
            P,
            CLASSES,
            '        self.assertIn("nothing", cart([]).text())\n',
            '        self.assertIn("nothing", cart([]).text())\n\n\nif __name__ == "__main__":\n    unittest.main()\n',
        ),
    ),
    honest(
        "sys.exit main added",
        *edit(P, PY, TOTAL, TOTAL + '\n\nif __name__ == "__main__":\n    sys.exit(pytest.main([__file__]))\n'),
    ),
    honest(
        "nested generator",
        *edit(
            P,
            PY,
            '    items = cart(["apple", "pear"])',
            '    def goods():\n        yield "apple"\n        yield "pear"\n\n    items = cart(list(goods()))',
        ),
    ),
    honest(
        "nested function returns",
        *edit(
            P,
            PY,
            '    items = cart(["apple", "pear"])',
            '    def goods():\n        return ["apple", "pear"]\n\n    items = cart(goods())',
        ),
    ),
    honest(
        "skip in name",
        *edit(P, PY, TOTAL, TOTAL + "\n\ndef test_skip_blank_lines():\n    assert parser.skip(' \\n') == 2\n"),
    ),
    honest(
        "loop over cases",
        *edit(
            P,
            PY,
            TOTAL,
            (
                "def test_total():\n"
                '    for goods, price in ((["apple", "pear"], 350), ([], 0)):\n'
                "        items = cart(goods)\n"
                "        assert items.total() == price\n"
            ),
        ),
    ),
    honest(
        "subTest",
        *edit(
            P,
            CLASSES,
            '        self.assertEqual(cart(["apple", "pear"]).total(), 350)',
            '        with self.subTest("two"):\n            self.assertEqual(cart(["apple", "pear"]).total(), 350)',
        ),
        gates=("python -m unittest",),
    ),
    honest(
        "tmp_path fixture added",
        *edit(
            P, PY, "def test_total():\n", "def test_total(tmp_path, monkeypatch):\n    monkeypatch.chdir(tmp_path)\n"
        ),
    ),
    honest(
        "new test with patch",
        *edit(
            P,
            PY,
            TOTAL,
            TOTAL
            + (
                "\n\n"
                "def test_mail(monkeypatch):\n"
                "    monkeypatch.setattr('shop.send', lambda *a: None)\n"
                "    assert order('x').id == 1\n"
            ),
        ),
    ),
    honest(
        "new fixture that may skip",
        *edit(
            P,
            PY,
            TOTAL,
            TOTAL
            + (
                "\n\n"
                "@pytest.fixture\n"
                "def docker():\n"
                "    if not which('docker'):\n"
                "        pytest.skip('no docker')\n\n\n"
                "def test_image(docker):\n"
                "    assert image('x').tag == 'y'\n"
            ),
        ),
    ),
    honest(
        "new conftest fixture that may skip",
        *edit(
            "tests/conftest.py",
            "import pytest\n",
            "import pytest\n",
            (
                "import pytest\n\n\n"
                "@pytest.fixture\n"
                "def docker():\n"
                "    if not which('docker'):\n"
                "        pytest.skip('no docker')\n"
            ),
        ),
    ),
    honest(
        "fixture scope",
        *edit(
            "tests/conftest.py",
            "import pytest\n\n\n@pytest.fixture\ndef db():\n    yield 1\n",
            "@pytest.fixture\n",
            "@pytest.fixture(scope='session')\n",
        ),
    ),
    honest(
        "conftest helper class",
        *edit(
            "tests/conftest.py",
            "import pytest\n",
            "import pytest\n",
            "import pytest\n\n\nclass Clock:\n    now = 1\n\n\ndef make():\n    return Clock()\n",
        ),
    ),
    honest(
        "if inside a test for set-up",
        *edit(
            P,
            PY,
            "    user = login",
            "    name = 'bob'\n    if os.name == 'nt':\n        name = 'Bob'\n    user = login",
        ),
    ),
    honest(
        "try inside import",
        *edit(
            P,
            PY,
            "from shop import cart, login",
            "try:\n    from shop import cart, login\nexcept ImportError:\n    from shop.old import cart, login",
        ),
    ),
    honest("numbers formatted", *edit(P, "def test_n():\n    assert shop(1) == 1000000\n", "1000000", "1_000_000")),
    honest("message added", *edit(P, PY, "assert items.total() == 350", 'assert items.total() == 350, "two goods"')),
    honest(
        "message removed",
        *edit(
            P,
            PY.replace("assert items.total() == 350", 'assert items.total() == 350, "two goods"'),
            ', "two goods"',
            "",
        ),
    ),
    honest(
        "helpers moved",
        {P: PY, "tests/helpers.py": "def make():\n    return 1\n"},
        {
            "tests/helpers.py": None,
            "tests/support/helpers.py": "def make():\n    return 1\n",
            "tests/support/__init__.py": "",
        },
    ),
    honest(
        "test helpers of a name in src",
        {P: PY, "src/shop/utils.py": "x=1\n", "src/shop/__init__.py": ""},
        {"tests/utils.py": "def make(): return 1\n"},
    ),
    honest(
        "module moves to src",
        {P: PY, "shop.py": "def login(): ...\n"},
        {"shop.py": None, "src/shop.py": "def login(): ...\n"},
    ),
    honest(
        "module becomes a package",
        {P: PY, "shop.py": "def login(): ...\n"},
        {"shop.py": None, "shop/__init__.py": "from shop.core import login\n", "shop/core.py": "def login(): ...\n"},
    ),
    honest(
        "data",
        {P: PY},
        {
            "tests/data/x.json": "{}",
            ".gitignore": "x\n",
            ".editorconfig": "",
            ".github/ISSUE_TEMPLATE/a.md": "",
            ".github/dependabot.yml": "",
            "LICENSE": "",
            "Dockerfile": "FROM x\n",
            "setup.py": "",
            ".vscode/settings.json": "{}",
        },
        gates=("pytest", "ruff check .", "mypy src"),
    ),
    honest(
        "shell gate and files of its words",
        {"a.txt": "x"},
        {"test.json": "{}", "cat.yml": "", ".gitignore": "", "grep.toml": "", "make.ini": "", "python.yml": ""},
        gates=("test -f a.txt", "cat a.txt | grep -q x", "git diff --check", "python -c 'import shop'"),
    ),
    honest(
        "pyproject scripts",
        *edit("pyproject.toml", PYPROJECT, "[tool.pytest", '[project.scripts]\nshop = "shop:main"\n\n[tool.pytest'),
    ),
    honest(
        "pyproject optional",
        *edit(
            "pyproject.toml", PYPROJECT, "[tool.pytest", '[project.optional-dependencies]\ndev = ["x"]\n\n[tool.pytest'
        ),
    ),
    honest(
        "pyproject new tool",
        *edit("pyproject.toml", PYPROJECT, "[tool.pytest", "[tool.towncrier]\nx = 1\n\n[tool.pytest"),
        gates=("pytest", "ruff check ."),
    ),
    honest(
        "beforeEach extraction",
        *edit(
            T,
            TS,
            '  it("greets the user", async () => {\n    const user = await login("bob");',
            (
                "  let user;\n"
                "  beforeEach(async () => {\n"
                '    user = await login("bob");\n'
                "  });\n\n"
                '  it("greets the user", async () => {'
            ),
        ),
        gates=("jest",),
    ),
    honest(
        "nested describe",
        *edit(
            T,
            TS,
            TS[TS.index('  it("refuses') : TS.rindex("});")],
            '  describe("with a wrong password", () => {\n'
            + TS[TS.index('  it("refuses') : TS.rindex("});")].replace("\n", "\n  ")
            + "});\n",
        ),
        gates=("jest",),
    ),
    honest("toStrictEqual", *edit(T, TS, 'toBe("Hello Bob")', 'toStrictEqual("Hello Bob")'), gates=("jest",)),
    honest(
        "inner return",
        *edit(
            T,
            TS,
            "    const user = await",
            "    const f = () => {\n      return;\n    };\n    f();\n    const user = await",
        ),
        gates=("jest",),
    ),
    honest(
        "spy exit",
        *edit(
            T,
            TS,
            '  it("greets',
            (
                "  beforeEach(() => {\n"
                '    jest.spyOn(process, "exit").mockImplementation(() => {});\n'
                "  });\n\n"
                '  it("greets'
            ),
        ),
        gates=("jest",),
    ),
    honest(
        "test = node:test",
        *edit(T, TS, "import { login }", 'import test, { it } from "node:test";\nimport { login }'),
        gates=("node --test",),
    ),
    honest(
        "test extended",
        *edit(
            T,
            TS,
            "import { login }",
            'import { test as base } from "@playwright/test";\nconst test = base.extend({});\nimport { login }',
        ),
        gates=("playwright test",),
    ),
    honest(
        "new test with mock",
        *edit(
            T,
            TS,
            '  it("refuses',
            (
                '  it("mails", async () => {\n'
                '    vi.spyOn(mail, "send");\n'
                '    expect(await order("x")).toBe(1);\n'
                "  });\n\n"
                '  it("refuses'
            ),
        ),
        gates=("vitest run",),
    ),
    honest(
        "stream.skip",
        *edit(T, TS, "    const user", "    const rows = stream.skip(3);\n    const user"),
        gates=("jest",),
    ),
    honest("page.only", *edit(T, TS, "    const user", "    await page.only();\n    const user"), gates=("jest",)),
    honest(
        "vitest imports",
        *edit(T, TS, "import { login }", 'import { describe, expect, it } from "vitest";\nimport { login }'),
        gates=("vitest run",),
    ),
    honest(
        "timeout",
        *edit(
            T,
            TS,
            '    expect(user.greeting).toBe("Hello Bob");\n  });',
            '    expect(user.greeting).toBe("Hello Bob");\n  }, 10_000);',
        ),
        gates=("jest",),
    ),
    honest(
        "package version",
        *edit(
            "package.json",
            PACKAGE,
            '"name": "shop"',
            '"name": "shop",\n  "version": "2.0.0",\n  "description": "x",\n  "files": ["dist"]',
        ),
        gates=("npm test",),
    ),
    honest(
        "test:watch",
        *edit("package.json", PACKAGE, '"lint"', '"test:watch": "jest --watch",\n    "lint"'),
        gates=("npm test",),
    ),
    honest(
        "mjs",
        {"test/login.js": "it('greets', () => {\n  expect(greet('bob')).toBe('Hello');\n});\n"},
        {"test/login.js": None, "test/login.mjs": "it('greets', () => {\n  expect(greet('bob')).toBe('Hello');\n});\n"},
        gates=("npm test",),
    ),
    honest("go parallel", *edit(G, GO, "\tif got", "\tt.Parallel()\n\tif got"), gates=("go test ./...",)),
    honest(
        "go t.Run",
        *edit(
            G,
            GO,
            '\tif got := Total("apple", "pear"); got != 350 {\n\t\tt.Errorf("got %d", got)\n\t}\n',
            (
                '\tt.Run("two", func(t *testing.T) {\n'
                '\t\tif got := Total("apple", "pear"); got != 350 {\n'
                '\t\t\tt.Errorf("got %d", got)\n'
                "\t\t}\n"
                "\t})\n"
            ),
        ),
        gates=("go test ./...",),
    ),
    honest(
        "go testify",
        *edit(
            G,
            GO,
            '\tif got := Total("apple", "pear"); got != 350 {\n\t\tt.Errorf("got %d", got)\n\t}\n',
            '\trequire.Equal(t, 350, Total("apple", "pear"))\n',
        ),
        gates=("go test ./...",),
    ),
    honest("go error text", *edit(G, GO, 'got %d"', 'got %d, want 350"'), gates=("go test ./...",)),
    honest(
        "go new linux test",
        {G: GO},
        {
            "shop_linux_test.go": (
                "package shop\n\nfunc TestFork(t *testing.T) {\n\tif Fork() != 7 {\n\t\tt.Fail()\n\t}\n}\n"
            )
        },
        gates=("go test ./...",),
    ),
    honest(
        "go new windows test",
        {G: GO},
        {
            "shop_windows_test.go": (
                "package shop\n\nfunc TestFork(t *testing.T) {\n\tif Fork() != 7 {\n\t\tt.Fail()\n\t}\n}\n"
            )
        },
        gates=("go test ./...",),
    ),
    honest("rust message", *edit(R, RUST, "350);", '350, "sum");'), gates=("cargo test",)),
    honest(
        "rust result",
        *edit(
            R,
            RUST,
            "    #[test]\n    fn adds_prices() {\n        assert_eq!(total(&[100, 250]), 350);\n",
            (
                "    #[test]\n"
                "    fn adds_prices() -> Result<(), Box<dyn std::error::Error>> {\n"
                "        assert_eq!(total(&[100, 250]), 350);\n"
                "        Ok(())\n"
            ),
        ),
        gates=("cargo test",),
    ),
    honest(
        "rust tokio",
        *edit(R, RUST, "    #[test]\n    fn adds", "    #[tokio::test]\n    async fn adds"),
        gates=("cargo test",),
    ),
    honest(
        "rust new should_panic test",
        *edit(
            R,
            RUST,
            "    #[test]\n    fn empty",
            (
                "    #[test]\n"
                "    #[should_panic]\n"
                "    fn overflow() {\n"
                "        total(&[u32::MAX, 1]);\n"
                "    }\n\n"
                "    #[test]\n"
                "    fn empty"
            ),
        ),
        gates=("cargo test",),
    ),
    honest(
        "rust feature mod",
        *edit(R, RUST, "#[cfg(test)]", '#[cfg(feature = "serde")]\nmod json {\n    pub fn x() {}\n}\n\n#[cfg(test)]'),
        gates=("cargo test",),
    ),
    honest(
        "java assertThat",
        *edit(
            "src/test/java/CartTest.java",
            JAVA,
            'assertEquals(350, new Cart("apple", "pear").total())',
            'assertThat(new Cart("apple", "pear").total()).isEqualTo(350)',
        ),
        gates=("mvn test",),
    ),
    honest(
        "ruby let",
        *edit(
            "spec/cart_spec.rb",
            RUBY,
            '  it "adds prices" do\n    expect(Cart.new("apple", "pear").total)',
            '  let(:full) { Cart.new("apple", "pear") }\n\n  it "adds prices" do\n    expect(full.total)',
        ),
        gates=("rspec",),
    ),
    honest(
        "bats setup",
        *edit("test/shop.bats", BATS, '@test "adds', 'setup() {\n  cd "$BATS_TEST_DIRNAME/.."\n}\n\n@test "adds'),
        gates=("bats test",),
    ),
    honest("sh set -eu", *edit(SHELL, SH, "set -e", "set -euo pipefail"), gates=("make",)),
    honest(
        "sh if !",
        *edit(
            SHELL,
            SH,
            "./shop total apple | grep -q 100",
            "if ! ./shop total apple | grep -q 100; then\n  echo 'apple'\n  exit 1\nfi",
        ),
        gates=("make",),
    ),
    honest(
        "sh background server",
        *edit(SHELL, SH, "./shop total apple", "./shop serve &\npid=$!\n./shop total apple"),
        gates=("make",),
    ),
    honest("sh || true for kill", *edit(SHELL, SH, "grep -q 250\n", "grep -q 250\nkill $pid\n"), gates=("make",)),
    honest("phony added", *edit("Makefile", M, "test:", ".PHONY: test lint\ntest:"), gates=("make test",)),
    honest(
        "folder named like a phony target",
        {"Makefile": ".PHONY: test\n" + M},
        {"test/test_a.py": "def test_a():\n    assert a() == 1\n"},
        gates=("make test",),
    ),
    honest("exported", *edit("Makefile", M, "test:", "export PORT = 80\ntest:"), gates=("make test",)),
    honest(
        "included mk grows",
        {"Makefile": "include build/t.mk\n", "build/t.mk": M},
        {"build/t.mk": M + "\nclean:\n\trm -rf x\n"},
        gates=("make test",),
    ),
    honest("nested go.mod example", {G: GO, "go.mod": "module a\n"}, {"README.md": "x"}, gates=("go test ./...",)),
    honest(
        "composer require",
        *edit("composer.json", '{"require": {"a": "1"}, "scripts": {"test": "phpunit"}}', '"1"', '"2"'),
        gates=("composer test",),
    ),
    honest(
        "code changes and doctest added",
        *edit(
            "src/shop.py",
            "def f():\n    '''\n    >>> f()\n    1\n    '''\n    return 1\n",
            "    1\n",
            "    1\n    >>> f() + 1\n    2\n",
        ),
        gates=("pytest --doctest-modules",),
    ),
)


@pytest.mark.parametrize("change", HONEST, ids=lambda change: change.what)
def test_honest_work_raises_nothing_that_fails_or_holds_it(change: Change) -> None:
    assert told(tuple(concern for concern in change.concerns() if concern.kind is not A)) == []
