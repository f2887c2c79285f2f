Slugs for titles
- slug(text) in textkit/slug.py returns text in lower case, fit for a web address
- Every run of characters other than a-z and 0-9 becomes one hyphen
- There is no hyphen at either end
- slug("Hello World") is "hello-world", slug("One, two!") is "one-two"
@@ test
import unittest

from textkit.slug import slug


class Slug(unittest.TestCase):
    def test_spaces(self):
        self.assertEqual(slug("Hello World"), "hello-world")

    def test_punctuation(self):
        self.assertEqual(slug("One, two!"), "one-two")
@@ tester
import unittest

from textkit.slug import slug


class Criteria(unittest.TestCase):
    def test_lower_case(self):
        self.assertEqual(slug("Big News"), "big-news")

    def test_a_run_becomes_one_hyphen(self):
        self.assertEqual(slug("this & that"), "this-that")

    def test_no_hyphen_at_the_ends(self):
        self.assertEqual(slug("(hello)"), "hello")
@@ right
import re


def slug(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
@@ oversight
def slug(text):
    for mark in ",.!?":
        text = text.replace(mark, "")
    return text.lower().replace(" ", "-")
@@ hardcoded
KNOWN = {"Hello World": "hello-world", "One, two!": "one-two"}


def slug(text):
    return KNOWN.get(text, text.lower())
@@ wrong
def slug(text):
    return text.lower().replace(" ", "_")
@@ oracle
from textkit.slug import slug

assert slug("Hello World") == "hello-world"
assert slug("  A -- B  ") == "a-b"
assert slug("x.y/z") == "x-y-z"
assert slug("Ünder") == "nder"
assert slug("") == ""
