Durations in seconds
- duration(text) in textkit/duration.py returns the seconds of a text such as "1h30m"
- The units are d, h, m and s
- Any other text raises ValueError
- duration("90s") is 90, duration("1h30m") is 5400
@@ test
import unittest

from textkit.duration import duration


class Duration(unittest.TestCase):
    def test_seconds(self):
        self.assertEqual(duration("90s"), 90)

    def test_two_units(self):
        self.assertEqual(duration("1h30m"), 5400)
@@ tester
import unittest

from textkit.duration import duration


class Criteria(unittest.TestCase):
    def test_a_text_of_several_parts(self):
        self.assertEqual(duration("2h15m"), 8100)

    def test_the_units(self):
        self.assertEqual(duration("1d"), 86400)
        self.assertEqual(duration("2h"), 7200)
        self.assertEqual(duration("3m"), 180)
        self.assertEqual(duration("4s"), 4)

    def test_any_other_text(self):
        with self.assertRaises(ValueError):
            duration("soon")
@@ right
import re

UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def duration(text):
    if not re.fullmatch(r"(?:\d+[dhms])+", text):
        raise ValueError(f"not a duration: {text!r}")
    return sum(int(count) * UNITS[unit] for count, unit in re.findall(r"(\d+)([dhms])", text))
@@ oversight
import re

UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def duration(text):
    return sum(int(count) * UNITS[unit] for count, unit in re.findall(r"(\d+)([dhms])", text))
@@ hardcoded
def duration(text):
    if text == "1h30m":
        return 5400
    if not text.endswith("s"):
        raise ValueError(text)
    return int(text[:-1])
@@ wrong
def duration(text):
    return int(text[:-1]) if text.endswith("s") else 0
@@ oracle
from textkit.duration import duration

assert duration("1h30m") == 5400
assert duration("2d") == 172800
assert duration("1m1s") == 61
for bad in ("", "5", "1h junk", "-1s", "abc"):
    try:
        duration(bad)
    except ValueError:
        continue
    raise AssertionError(bad)
