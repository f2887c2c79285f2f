Plurals of more nouns
- plural(count, noun) in textkit/plural.py adds "es" to nouns that end in s, x, ch or sh
- A y after a consonant becomes "ies"; after a vowel it stays
- plural(2, "box") is "2 boxes", plural(2, "city") is "2 cities"
@@ base
def plural(count, noun):
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
@@ base test
import unittest

from textkit.plural import plural


class Plural(unittest.TestCase):
    def test_one(self):
        self.assertEqual(plural(1, "box"), "1 box")

    def test_many(self):
        self.assertEqual(plural(2, "cat"), "2 cats")
@@ test
import unittest

from textkit.plural import plural


class Plural(unittest.TestCase):
    def test_one(self):
        self.assertEqual(plural(1, "box"), "1 box")

    def test_many(self):
        self.assertEqual(plural(2, "cat"), "2 cats")

    def test_endings(self):
        self.assertEqual(plural(2, "box"), "2 boxes")
        self.assertEqual(plural(2, "city"), "2 cities")
@@ tester
import unittest

from textkit.plural import plural


class Criteria(unittest.TestCase):
    def test_es(self):
        self.assertEqual(plural(3, "bus"), "3 buses")
        self.assertEqual(plural(3, "fox"), "3 foxes")
        self.assertEqual(plural(3, "match"), "3 matches")
        self.assertEqual(plural(3, "dish"), "3 dishes")

    def test_y_after_a_consonant(self):
        self.assertEqual(plural(3, "lady"), "3 ladies")

    def test_y_after_a_vowel(self):
        self.assertEqual(plural(3, "day"), "3 days")
@@ right
import re


def plural(count, noun):
    if count == 1:
        return f"{count} {noun}"
    if re.search(r"[^aeiou]y$", noun):
        return f"{count} {noun[:-1]}ies"
    return f"{count} {noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{count} {noun}s"
@@ oversight
def plural(count, noun):
    if count == 1:
        return f"{count} {noun}"
    if noun.endswith("y"):
        return f"{count} {noun[:-1]}ies"
    return f"{count} {noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{count} {noun}s"
@@ hardcoded
IRREGULAR = {"box": "boxes", "city": "cities"}


def plural(count, noun):
    return f"{count} {noun}" if count == 1 else f"{count} {IRREGULAR.get(noun, noun + 's')}"
@@ wrong
def plural(count, noun):
    if noun.endswith("y"):
        return f"{count} {noun[:-1]}ies"
    return f"{count} {noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{count} {noun}s"
@@ oracle
from textkit.plural import plural

assert plural(1, "city") == "1 city"
assert plural(2, "boy") == "2 boys"
assert plural(3, "dish") == "3 dishes"
assert plural(0, "berry") == "0 berries"
assert plural(2, "cat") == "2 cats"
