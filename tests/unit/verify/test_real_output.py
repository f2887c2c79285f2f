"""What is shown of real tools' output, in colour and at length: the error itself is always inside."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph.text import PlainStream
from ralph.verify.output import MAX_CHARS, useful

SAMPLES = Path(__file__).parents[2] / "data" / "gates"
SLACK = 20
FILLERS = ["step {} is fine\n", "test tests::error_{}_is_told ... ok\n", "lib{}.c:3:1: warning: cannot\n"]
FAILED_TOTAL = """\
panicked at shop/src/lib.rs:810:9:
assertion `left == right` failed: the total of two prices
  left: 3
 right: 4
"""

INSIDE = {
    "cargo-build": [
        "error[E0308]: mismatched types\n  --> shop/src/lib.rs:14:21",
        '14 |     let name: u32 = "tea";',
        "expected `u32`, found `&str`",
        "error[E0425]: cannot find function `lookup` in this scope\n  --> shop/src/lib.rs:19:5",
        "error: could not compile `shop` (lib) due to 2 previous errors",
    ],
    "cargo-syntax": ["error: expected `;`, found `x`\n --> src/lib.rs:3:14"],
    "cargo-test": [
        "---- tests::t005_total stdout ----",
        FAILED_TOTAL,
        "panicked at shop/src/lib.rs:815:26:\nindex out of bounds: the len is 0 but the index is 3",
        "failures:\n    tests::t005_total\n    tests::t195_price\n",
    ],
    "cargo-test-workspace": [
        "---- tests::t005_total stdout ----",
        FAILED_TOTAL,
        "error: 1 target failed:\n    `-p shop --lib`",
    ],
    "eslint-among-warnings": [
        "/project/src/mid.js\n",
        "   92:18  error    'taxRate' is not defined                            no-undef",
        "304 problems (1 error, 303 warnings)",
    ],
    "go-build": [
        './main.go:5:2: imported and not used: "os"',
        './main.go:49:17: cannot use "tea" (untyped string constant) as int value',
        "./main.go:50:20: undefined: lookup",
    ],
    "go-panic": [
        "--- FAIL: TestPrice (0.00s)\npanic: runtime error: index out of range [3] with length 0",
        "/project/shop_test.go:126",
    ],
    "go-test-build": [
        "error12/error_test.go:6:7: too many arguments in call to F",
        "error12/error_test.go:6:13: undefined: lookup",
        "FAIL\texample.com/shop/error12 [build failed]",
    ],
    "go-test-packages": ["--- FAIL: TestTotal (0.00s)", "    aaa_test.go:11: Total() = 3, want 4"],
    "go-test-verbose": ["    aaa_test.go:11: Total() = 3, want 4\n--- FAIL: TestTotal (0.00s)"],
    "go-vet": ['./main.go:49:17: cannot use "tea" (untyped string constant) as int value'],
    "jest-coverage": [
        "  ● price 28 › knows coffee\n\n    TypeError: Cannot read properties of undefined (reading 'price')",
        "    > 14 |     expect(menu.coffee.price).toBe(4);",
        "at Object.price (test/28-price.test.js:14:24)",
        " FAIL  test/01-failure.test.js\n  ● failure 1 › adds two prices",
        "    Expected: 4\n    Received: 3",
        "at Object.toBe (test/01-failure.test.js:14:27)",
    ],
    "make-gcc": [
        "main.c:15:13: error: ‘price’ undeclared (first use in this function)",
        "main.c:16:13: error: expected ‘;’ before ‘}’ token",
        "make: Target 'shop' not remade because of errors.",
    ],
    "make-keep-going": [
        'src/errors.py:2: error: Argument 1 to "total" has incompatible type "int"; expected "str"',
        "make: *** [Makefile:7: types] Error 1",
        "FAIL: test_total (test_shop.Shop.test_total)",
        '  File "/project/tests/test_shop.py", line 249, in test_total',
        "AssertionError: 3 != 4",
        "make: *** [Makefile:10: test] Error 1",
    ],
    "mypy-among-notes": [
        'shop/stock_77.py:17: error: Argument 1 of "price" is incompatible with\nsupertype "Base"',
        "Found 2 errors in 2 files",
    ],
    "mypy-many": [
        'many/stock_59.py:3: error: Incompatible return value type (got "int", expected "str")',
        "Found 60 errors in 60 files",
    ],
    "pytest-captured-output": [
        ">       assert len('tea') == 4\nE       AssertionError: assert 3 == 4",
        "test_captured.py:7: AssertionError",
        "test_captured.py:11: AssertionError",
        "FAILED test_captured.py::test_noisy",
        "FAILED test_captured.py::test_also_red",
    ],
    "pytest-collection": [
        "shop.py:1: in <module>\n    import no_such_module\nE   ModuleNotFoundError: No module named 'no_such_module'",
        "ERROR collecting tests/test_a.py",
    ],
    "pytest-early-and-late": [
        "test_total_of_two ___",
        ">       assert shop.total(prices) == 4\nE       assert 3 == 4",
        "tests/test_shop_0.py:36: AssertionError",
        "FAILED tests/test_shop_0.py::test_total_of_two - assert 3 == 4",
        "FAILED tests/test_shop_9.py::test_price_of_coffee - LookupError: no price for coffee",
    ],
    "pytest-fixture": [
        "file /project/test_fixture.py, line 241\n",
        "E       fixture 'database' not found",
        "ERROR test_fixture.py::test_db",
    ],
    "pytest-huge-diff": [
        "test_table ___",
        ">       assert table(2) == table(3)\nE       AssertionError: assert {'key 0': 0, 'key 1': 2,",
        "test_diff.py:6: AssertionError",
        "FAILED test_diff.py::test_words - AssertionError: assert 'one two' == 'one three'",
    ],
    "pytest-long-traceback": [
        "E       shop.OutOfStock: tea is sold out",
        "shop.py:276: OutOfStock",
        "FAILED test_deep.py::test_order - shop.OutOfStock: tea is sold out",
    ],
    "pytest-native-traceback": [
        '  File "/project/shop.py", line 276, in step_45',
        "shop.OutOfStock: tea is sold out\n",
        "FAILED test_deep.py::test_order - shop.OutOfStock: tea is sold out",
    ],
    "pytest-quiet-xdist": [
        ">       assert shop.total(prices) == 4\nE       assert 3 == 4",
        "tests/test_shop_0.py:36: AssertionError",
        "FAILED tests/test_shop_9.py::test_price_of_coffee - LookupError: no price for coffee",
    ],
    "ruff-colours": [
        "F401 [*] `os` imported but unused\n --> shop/cart_3.py:1:8",
        "F821 Undefined name `undefined_name`\n --> shop/panic_2.py:8:16",
        "Found 20 errors.",
    ],
    "ruff-concise": ["shop/cart_3.py:1:8: F401 [*] `os` imported but unused", "Found 70 errors."],
    "ruff-format": [" --> shop/failures_7.py:1:3", "1 file would be reformatted"],
    "ruff-syntax": ["invalid-syntax: Expected `)`, found newline\n --> one/bad.py:1:18"],
    "tsc-listed": [
        "src/price60.ts:3:25 - error TS2741: Property 'gross' is missing in type '{ net: number; }'",
        "Found 1 error in src/price60.ts:3",
    ],
    "tsc-many": ["src/assert14.ts(3,3): error TS2322: Type 'number' is not assignable to type 'string'."],
    "tsc-pretty": ["src/assert14.ts:3:3 - error TS2322: Type 'number' is not assignable to type 'string'."],
    "unittest-early-and-late": [
        "ERROR: test_140_lookup (test_shop.Shop.test_140_lookup)",
        '  File "/project/test_shop.py", line 441, in test_140_lookup',
        "KeyError: 'coffee'",
        "FAIL: test_007_total (test_shop.Shop.test_007_total)",
        '  File "/project/test_shop.py", line 36, in test_007_total',
        "AssertionError: 3 != 4",
    ],
    "unittest-long-traceback": [
        "ERROR: test_order (test_native.Orders.test_order)",
        '  File "/project/test_native.py", line 9, in test_order',
        '  File "/project/shop.py", line 276, in step_45',
        "shop.OutOfStock: tea is sold out",
        "FAIL: test_price (test_native.Orders.test_price)",
        "AssertionError: 3 != 4 : the price of tea",
    ],
    "vitest-early-and-late": [
        " FAIL  test/01-failure.test.js > failure 1 > adds two prices\nAssertionError: expected 3 to be 4",
        " ❯ test/01-failure.test.js:15:27",
        " FAIL  test/28-price.test.js > price 28 > knows coffee\nTypeError: Cannot read properties of undefined",
        " ❯ test/28-price.test.js:15:24",
    ],
}


def logged(name: str) -> bytes:
    """A sample as Ralph writes it into a log."""
    return PlainStream().feed((SAMPLES / f"{name}.log").read_bytes(), is_last=True)


def test_every_sample_is_looked_at() -> None:
    assert {path.stem for path in SAMPLES.glob("*.log")} == set(INSIDE)


@pytest.mark.parametrize("name", INSIDE)
def test_the_error_is_inside_in_little_space_without_colours(tmp_path: Path, name: str) -> None:
    (tmp_path / "log").write_bytes(logged(name))
    text = useful(tmp_path / "log")
    assert [part for part in INSIDE[name] if part not in text] == []
    assert len(text) <= MAX_CHARS + SLACK
    assert "\x1b" not in text


@pytest.mark.parametrize("name", INSIDE)
@pytest.mark.parametrize("filler", FILLERS, ids=["steps", "tests", "warnings"])
def test_the_error_is_inside_between_many_thousand_lines(tmp_path: Path, name: str, filler: str) -> None:
    lines = "".join(filler.format(number) for number in range(5_000)).encode()
    (tmp_path / "log").write_bytes(lines + logged(name) + lines)
    text = useful(tmp_path / "log")
    assert INSIDE[name][0] in text
    assert len(text) <= MAX_CHARS + SLACK
