Wrap text into lines
- wrap(text, width) in textkit/wrap.py returns a list of lines of at most width characters
- Lines break between words; a word that is longer than width has a line of its own
- White space between words counts as one space; a text without words has no lines
- wrap("aa bb cc", 5) is ["aa bb", "cc"]
@@ test
import unittest

from textkit.wrap import wrap


class Wrap(unittest.TestCase):
    def test_lines_break_between_words(self):
        self.assertEqual(wrap("aa bb cc", 5), ["aa bb", "cc"])

    def test_a_short_text_is_one_line(self):
        self.assertEqual(wrap("aa", 5), ["aa"])
@@ tester
import unittest

from textkit.wrap import wrap


class Criteria(unittest.TestCase):
    def test_lines(self):
        self.assertEqual(wrap("one two three", 7), ["one two", "three"])

    def test_a_long_word(self):
        self.assertEqual(wrap("a extraordinary b", 5), ["a", "extraordinary", "b"])

    def test_white_space(self):
        self.assertEqual(wrap("one   two", 10), ["one two"])

    def test_no_words(self):
        self.assertEqual(wrap("", 5), [])
@@ right
def wrap(text, width):
    lines = []
    for word in text.split():
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
@@ oversight
def wrap(text, width):
    lines, line = [], ""
    for word in text.split(" "):
        longer = f"{line} {word}".strip()
        if len(longer) > width:
            lines.append(line)
            line = word
        else:
            line = longer
    return [*lines, line]
@@ hardcoded
def wrap(text, width):
    if text == "aa bb cc" and width == 5:
        return ["aa bb", "cc"]
    return [text]
@@ wrong
def wrap(text, width):
    return [text[at : at + width] for at in range(0, len(text), width)]
@@ oracle
from textkit.wrap import wrap

assert wrap("aa bb cc", 5) == ["aa bb", "cc"]
assert wrap("aa bb cc", 2) == ["aa", "bb", "cc"]
assert wrap("abcdefgh ij", 4) == ["abcdefgh", "ij"]
assert wrap("aa \t bb", 5) == ["aa bb"]
assert wrap("", 5) == []
