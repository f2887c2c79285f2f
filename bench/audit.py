"""What the audit of a large change costs in processor time: every test of it is changed, so nothing can be left out.

Half of the tests are missing in the report of the work, so each of them is looked for in the source.
"""

from __future__ import annotations

import re
import time
from statistics import median

from bench.table import Row
from ralph.audit.audit import audit
from ralph.audit.files import ChangedFile
from ralph.audit.observed import Observed
from ralph.plan.model import Gate

LINES, ROUNDS, LIMIT = 5_000, 11, 150
GATES = [Gate(name="tests", command="npm test && python -m pytest", timeout=60)]
TEST = re.compile(r'(?<=def )test_\w+|(?<=it\(")[^"]+')
PACKAGE = b'{"scripts": {"test": "jest --ci"}}'
PYTHON_TEST = """def test_user_{0}():
    user = login("user{0}", {1})
    assert user.name == "user{0}"
    assert user.age == {1}
    for item in cart(["apple", "{0}"]):
        assert item.price > {1}


"""
TYPESCRIPT_TEST = """it("logs user {0} in", async () => {{
  const user = await login("user{0}", {1});
  expect(user.name).toBe("user{0}");
  expect(user.age).toEqual({1});
}});

"""


def rows() -> list[Row]:
    changes = [*_changes("tests/test_{}.py", PYTHON_TEST), *_changes("src/user{}.test.ts", TYPESCRIPT_TEST)]
    times = [_processor_time(changes) for _ in range(ROUNDS)]
    return [
        Row(
            group="audit",
            what=f"audit: {LINES:,} changed lines",
            measured=min(times),
            unit="ms",
            limit=LIMIT,
            parts={"best": min(times), "median": median(times)},
        )
    ]


def _processor_time(changes: list[ChangedFile]) -> float:
    """In milliseconds. The audit only computes, so this is its time on a machine that does nothing else."""
    fresh = [ChangedFile(path=one.path, before=one.before, after=one.after) for one in changes]
    began = time.process_time()
    _audit(fresh)
    return (time.process_time() - began) * 1000


def _changes(name: str, form: str) -> list[ChangedFile]:
    """Ten files with a quarter of the lines, before and after: together half of all lines, removed and added."""
    tests = LINES // 4 // 10 // form.count("\n")
    return [
        ChangedFile(path=name.format(number), before=_text(form, tests, 30), after=_text(form, tests, 31))
        for number in range(10)
    ]


def _text(form: str, tests: int, value: int) -> bytes:
    return "".join(form.format(number, value) for number in range(tests)).encode()


def _audit(changes: list[ChangedFile]) -> None:
    base = {"package.json": PACKAGE}
    names = [f"{one.path} › {name}" for one in changes for name in TEST.findall(one.new)]
    observed = Observed(before=frozenset(names), after=frozenset(names[::2]))
    found = audit(changes, GATES, read_base=base.get, list_base=lambda: list(base), observed=observed)
    if not found:
        raise RuntimeError("the audit found nothing")
