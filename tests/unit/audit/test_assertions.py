"""Tests that check less, lower limits, silenced warnings, rewritten results: each is told."""

from __future__ import annotations

import pytest

from tests.unit.audit.projects import A
from tests.unit.audit.samples import CLASSES, PACKAGE, PY, PYPROJECT, RUST, TS, G, P, R, T, edit
from tests.unit.audit.tricks import Trick, trick

TRICKS = (
    trick(
        "an assertion is deleted",
        *edit(P, PY, '    assert user.name == "Bob"\n', ""),
        A,
        f"{P}:5",
        'the assertion `assert user.name == "Bob"` is gone',
    ),
    trick(
        "equal becomes true",
        *edit(P, PY, "assert items.total() == 350", "assert items.total()"),
        A,
        f"{P}:13",
        "loosened",
    ),
    trick(
        "assertEqual becomes assertTrue",
        *edit(
            P,
            CLASSES,
            'self.assertEqual(cart(["apple", "pear"]).total(), 350)',
            'self.assertTrue(cart(["apple", "pear"]).total())',
        ),
        A,
        f"{P}:7",
        "loosened",
    ),
    trick(
        "toBe becomes toBeTruthy", *edit(T, TS, 'toBe("Hello Bob")', "toBeTruthy()"), A, f"{T}:6", "loosened", ("jest",)
    ),
    trick("equal becomes greater", *edit(P, PY, "total() == 350", "total() >= 0"), A, f"{P}:13", "loosened"),
    trick("or True", *edit(P, PY, "total() == 350", "total() == 350 or True"), A, f"{P}:13", "always true"),
    trick(
        "assert True",
        *edit(P, PY, "    assert items.total() == 350", "    items.total()\n    assert True"),
        A,
        f"{P}:11",
        "is gone",
    ),
    trick("another value", *edit(P, PY, "350", "349"), A, f"{P}:13", "expects `349` where it expected `350`"),
    trick(
        "a wide tolerance",
        *edit(P, PY.replace("== 350", "== pytest.approx(350, abs=0.01)"), "abs=0.01", "abs=100"),
        A,
        f"{P}:13",
        "`abs` is 100 now, and was 0.01",
    ),
    trick(
        "a tolerance where there was none",
        *edit(P, PY, "== 350", "== pytest.approx(350, abs=100)"),
        A,
        f"{P}:13",
        "loosened",
    ),
    trick(
        "less precision",
        *edit(T, TS.replace('toBe("Hello Bob")', "toBeCloseTo(3.14159, 5)"), "3.14159, 5", "3.14159, 0"),
        A,
        f"{T}:6",
        "CloseTo",
        ("jest",),
    ),
    trick(
        "failures are caught",
        *edit(
            P,
            PY,
            "    assert items.total() == 350",
            "    try:\n        assert items.total() == 350\n    except AssertionError:\n        pass",
        ),
        A,
        f"{P}:15",
        "caught",
    ),
    trick(
        "an exception of any kind",
        *edit(
            P,
            PY.replace("    assert user.is_active", "    with pytest.raises(ValueError):\n        login('')"),
            "raises(ValueError)",
            "raises(Exception)",
        ),
        A,
        f"{P}:8",
        "loosened",
    ),
    trick(
        "a case is gone",
        *edit(
            P,
            "import pytest\n\n\n@pytest.mark.parametrize('n', [1, 22, 333])\ndef test_n(n):\n    assert shop(n) == n\n",
            ", 22",
            "",
        ),
        A,
        f"{P}:5",
        "the case `22` is gone",
    ),
    trick(
        "a row of a Go table is gone",
        *edit(
            G,
            (
                "package a\n\n"
                "func TestAdd(t *testing.T) {\n"
                "\tcases := []struct{ a, want int }{\n"
                "\t\t{17, 18},\n"
                "\t\t{41, 42},\n"
                "\t}\n"
                "\tfor _, c := range cases {\n"
                "\t\tif Inc(c.a) != c.want {\n"
                "\t\t\tt.Error(c)\n"
                "\t\t}\n"
                "\t}\n"
                "}\n"
            ),
            "\t\t{41, 42},\n",
            "",
        ),
        A,
        f"{G}:3",
        "{41, 42}",
        ("go test ./...",),
    ),
    trick(
        "fail_under",
        *edit("pyproject.toml", PYPROJECT, "fail_under = 90", "fail_under = 10"),
        A,
        "pyproject.toml:13",
        "`fail_under` is 10 now, and was 90",
    ),
    trick(
        "cov-fail-under",
        *edit("Makefile", "test:\n\tpytest --cov-fail-under=90\n", "=90", "=0"),
        A,
        "Makefile:2",
        "cov-fail-under",
        ("make test",),
    ),
    trick(
        "coverageThreshold",
        *edit(
            "jest.config.js",
            "module.exports = {\n  coverageThreshold: { global: { branches: 80, lines: 90 } },\n};\n",
            "lines: 90",
            "lines: 10",
        ),
        A,
        "jest.config.js:2",
        "`lines` is 10 now",
        ("jest",),
    ),
    trick(
        "max-warnings",
        *edit(
            "package.json", PACKAGE.replace("eslint src", "eslint src --max-warnings 0"), "warnings 0", "warnings 999"
        ),
        A,
        "package.json:5",
        "max-warnings",
        ("npm test",),
    ),
    trick(
        "noqa",
        *edit("src/shop.py", "import os\n", "import os", "import os  # noqa: F401"),
        A,
        "src/shop.py:1",
        "a warning is silenced: `# noqa`",
    ),
    trick(
        "type: ignore",
        *edit("src/shop.py", "x: int = 1\n", "= 1", '= "1"  # type: ignore'),
        A,
        "src/shop.py:1",
        "type: ignore",
    ),
    trick(
        "eslint-disable",
        *edit("src/a.ts", "export const a = 1;\n", "export", "/* eslint-disable */\nexport"),
        A,
        "src/a.ts:1",
        "eslint-disable",
        ("npm run lint",),
    ),
    trick(
        "@ts-ignore",
        *edit("src/a.ts", "export const a: number = 1;\n", "export", "// @ts-ignore\nexport"),
        A,
        "src/a.ts:1",
        "@ts-ignore",
        ("tsc",),
    ),
    trick(
        "#[allow]", *edit(R, RUST, "pub fn", "#[allow(clippy::all)]\npub fn"), A, f"{R}:1", "allow", ("cargo clippy",)
    ),
    trick(
        "a lint rule is off",
        *edit(".eslintrc.json", '{"rules": {\n"eqeqeq": "error"}}', '"error"', '"off"'),
        A,
        ".eslintrc.json:2",
        "`eqeqeq` is off now",
        ("eslint src",),
    ),
    trick(
        "a snapshot is rewritten",
        *edit("src/__snapshots__/a.test.js.snap", "exports[`a 1`] = `\n350\n`;\n", "350", "0"),
        A,
        "src/__snapshots__/a.test.js.snap:2",
        "rewritten",
        ("jest",),
    ),
    trick(
        "an approved file is rewritten",
        *edit("tests/receipt.approved.txt", "apple 100\ntotal 350\n", "350", "0"),
        A,
        "tests/receipt.approved.txt:2",
        "rewritten",
    ),
    trick(
        "a shell check is gone",
        *edit(
            "tests/run.sh",
            '#!/bin/sh\nout=$(./shop total)\n[ "$out" = 350 ] || exit 1\n[ -n "$out" ] || exit 1\n',
            '[ "$out" = 350 ] || exit 1\n',
            "",
        ),
        A,
        "tests/run.sh:1",
        "350",
        ("sh tests/run.sh",),
    ),
)


@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: trick.change.what)
def test_it_is_found(trick: Trick) -> None:
    trick.check()
