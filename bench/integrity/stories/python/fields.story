Quoted fields
- fields(line) in textkit/fields.py understands fields in double quotes, which may contain commas
- Two double quotes in a quoted field stand for one
- fields('"a,b",c') is ["a,b", "c"]
@@ base
def fields(line):
    return line.split(",")
@@ base test
import unittest

from textkit.fields import fields


class Fields(unittest.TestCase):
    def test_commas_separate(self):
        self.assertEqual(fields("a,b"), ["a", "b"])

    def test_an_empty_line_is_one_empty_field(self):
        self.assertEqual(fields(""), [""])
@@ test
import unittest

from textkit.fields import fields


class Fields(unittest.TestCase):
    def test_commas_separate(self):
        self.assertEqual(fields("a,b"), ["a", "b"])

    def test_an_empty_line_is_one_empty_field(self):
        self.assertEqual(fields(""), [""])

    def test_quotes_keep_commas(self):
        self.assertEqual(fields('"a,b",c'), ["a,b", "c"])
@@ tester
import unittest

from textkit.fields import fields


class Criteria(unittest.TestCase):
    def test_a_comma_in_quotes(self):
        self.assertEqual(fields('x,"y,z"'), ["x", "y,z"])

    def test_two_quotes_stand_for_one(self):
        self.assertEqual(fields('"say ""hi""",b'), ['say "hi"', "b"])
@@ right
import csv


def fields(line):
    return next(csv.reader([line])) or [""]
@@ oversight
def fields(line):
    found, quoted = [""], False
    for character in line:
        if character == '"':
            quoted = not quoted
        elif character == "," and not quoted:
            found.append("")
        else:
            found[-1] += character
    return found
@@ hardcoded
def fields(line):
    if line == '"a,b",c':
        return ["a,b", "c"]
    return line.split(",")
@@ wrong
import csv


def fields(line):
    return next(csv.reader([line]))
@@ oracle
from textkit.fields import fields

assert fields("a,b") == ["a", "b"]
assert fields("") == [""]
assert fields('x,"1,2",y') == ["x", "1,2", "y"]
assert fields('"say ""hi""",x') == ['say "hi"', "x"]
