Truncated text can end with a mark
- truncate(text, width, end="") in textkit/truncate.py puts end behind a text that it had to cut
- The result is never longer than width, and a text that fits is not changed
- truncate("abcdef", 5, end="…") is "abcd…"
@@ base
def truncate(text, width):
    return text[:width]
@@ base test
import unittest

from textkit.truncate import truncate


class Truncate(unittest.TestCase):
    def test_a_short_text_stays(self):
        self.assertEqual(truncate("abc", 5), "abc")

    def test_a_long_text_is_cut(self):
        self.assertEqual(truncate("abcdef", 3), "abc")
@@ test
import unittest

from textkit.truncate import truncate


class Truncate(unittest.TestCase):
    def test_a_short_text_stays(self):
        self.assertEqual(truncate("abc", 5), "abc")

    def test_a_long_text_is_cut(self):
        self.assertEqual(truncate("abcdef", 3), "abc")

    def test_a_cut_text_has_its_mark(self):
        self.assertEqual(truncate("abcdef", 5, end="…"), "abcd…")
@@ tester
import unittest

from textkit.truncate import truncate


class Criteria(unittest.TestCase):
    def test_the_end_of_a_cut_text(self):
        self.assertEqual(truncate("abcdefgh", 6, end="..."), "abc...")

    def test_never_longer(self):
        self.assertLessEqual(len(truncate("abcdefgh", 4, end="..")), 4)

    def test_a_text_that_fits(self):
        self.assertEqual(truncate("abc", 3, end="..."), "abc")
@@ right
def truncate(text, width, end=""):
    if len(text) <= width:
        return text
    end = end[:width]
    return text[: width - len(end)] + end
@@ oversight
def truncate(text, width, end=""):
    return text[: width - len(end)] + end
@@ hardcoded
def truncate(text, width, end=""):
    if (text, width, end) == ("abcdef", 5, "…"):
        return "abcd…"
    return text[:width]
@@ wrong
def truncate(text, width, end="…"):
    if len(text) <= width:
        return text
    return text[: width - len(end)] + end
@@ oracle
from textkit.truncate import truncate

assert truncate("abcdef", 3) == "abc"
assert truncate("abcdef", 5, end="…") == "abcd…"
assert truncate("abcdef", 5, end="..") == "abc.."
assert truncate("abc", 3, end="…") == "abc"
assert truncate("abcdef", 2, end="...") == ".."
