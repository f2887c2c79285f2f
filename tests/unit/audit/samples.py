"""Files of small projects in several languages, for the tables of changes."""

from __future__ import annotations

from tests.unit.audit.projects import Files

PY = """
import pytest
from shop import cart, login


def test_login():
    user = login("bob", "secret")
    assert user.name == "Bob"
    assert user.is_active


def test_total():
    items = cart(["apple", "pear"])
    assert items.total() == 350
"""
CLASSES = """
import unittest
from shop import cart


class CartTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(cart(["apple", "pear"]).total(), 350)

    def test_empty(self):
        self.assertIn("nothing", cart([]).text())
"""
TS = """
import { login } from "../src/login";

describe("login", () => {
  it("greets the user", async () => {
    const user = await login("bob");
    expect(user.greeting).toBe("Hello Bob");
  });

  it("refuses a wrong password", async () => {
    await expect(login("bob", "wrong")).rejects.toThrow("denied");
  });
});
"""
GO = """
package shop

import "testing"

func TestTotal(t *testing.T) {
	if got := Total("apple", "pear"); got != 350 {
		t.Errorf("got %d", got)
	}
}

func TestEmpty(t *testing.T) {
	if Total() != 0 {
		t.Fatal("an empty cart costs something")
	}
}
"""
RUST = """
pub fn total(prices: &[u32]) -> u32 { prices.iter().sum() }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_prices() {
        assert_eq!(total(&[100, 250]), 350);
    }

    #[test]
    fn empty_is_free() {
        assert_eq!(total(&[]), 0);
    }
}
"""
JAVA = """
class CartTest {
    @Test
    void addsPrices() {
        assertEquals(350, new Cart("apple", "pear").total());
    }

    @Test
    void emptyIsFree() {
        assertEquals(0, new Cart().total());
    }
}
"""
RUBY = """
RSpec.describe Cart do
  it "adds prices" do
    expect(Cart.new("apple", "pear").total).to eq(350)
  end

  it "is free when empty" do
    expect(Cart.new.total).to eq(0)
  end
end
"""
BATS = """
@test "adds prices" {
  run ./shop total apple pear
  [ "$output" = "350" ]
}

@test "refuses unknown goods" {
  run ./shop total stone
  [ "$status" -eq 1 ]
}
"""
PACKAGE = """
{
  "name": "shop",
  "scripts": {
    "test": "jest --ci",
    "lint": "eslint src",
    "build": "tsc"
  },
  "jest": {
    "testEnvironment": "node"
  },
  "devDependencies": {
    "jest": "^29.0.0"
  }
}
"""
PYPROJECT = """
[project]
name = "shop"
dependencies = ["click"]

[tool.pytest.ini_options]
testpaths = ["tests"]
addopts = "-q"

[tool.ruff.lint]
select = ["E", "F"]

[tool.coverage.report]
fail_under = 90
"""
MAKE = """
PYTEST = python -m pytest

test: lint
\t$(PYTEST) -q

lint:
\truff check .

run:
\tpython -m shop
"""
CHECK = """
#!/bin/sh
set -e
ruff check .
python -m pytest -q
"""
P, T, G, R = "tests/test_shop.py", "src/__tests__/login.test.ts", "shop_test.go", "src/lib.rs"
LOGIN = PY[PY.index("def test_login") : PY.index("def test_total")]
TOTAL = PY[PY.index("def test_total") :]


def edit(path: str, text: str, old: str, new: str) -> tuple[Files, Files]:
    """A project of one file, and one place of it that changed."""
    assert old in text
    return {path: text}, {path: text.replace(old, new, 1)}
