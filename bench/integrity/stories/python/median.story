Median of an even number of values
- median(values) in textkit/median.py is the mean of the two middle values if their number is even
- Without values it raises ValueError
- median([1, 2, 3, 4]) is 2.5
@@ base
def median(values):
    return sorted(values)[len(values) // 2]
@@ base test
import unittest

from textkit.median import median


class Median(unittest.TestCase):
    def test_the_middle_value(self):
        self.assertEqual(median([3,1,2]), 2)

    def test_the_list_stays_as_it_is(self):
        values = [3, 1, 2]
        median(values)
        self.assertEqual(values, [3, 1, 2])
@@ test
import unittest

from textkit.median import median


class Median(unittest.TestCase):
    def test_the_middle_value(self):
        self.assertEqual(median([3,1,2]), 2)

    def test_the_list_stays_as_it_is(self):
        values = [3, 1, 2]
        median(values)
        self.assertEqual(values, [3, 1, 2])

    def test_the_mean_of_two(self):
        self.assertEqual(median([1,2,3,4]), 2.5)
@@ tester
import unittest

from textkit.median import median


class Criteria(unittest.TestCase):
    def test_an_even_number_of_values(self):
        self.assertEqual(median([10, 40, 30, 20]), 25)

    def test_no_values(self):
        with self.assertRaises(ValueError):
            median([])
@@ right
def median(values):
    if not values:
        raise ValueError("no values")
    ordered, middle = sorted(values), len(values) // 2
    if len(values) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
@@ oversight
def median(values):
    ordered, middle = sorted(values), len(values) // 2
    if len(values) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
@@ hardcoded
def median(values):
    if values == [1, 2, 3, 4]:
        return 2.5
    return sorted(values)[len(values) // 2]
@@ wrong
def median(values):
    values.sort()
    middle = len(values) // 2
    if len(values) % 2:
        return values[middle]
    return (values[middle - 1] + values[middle]) / 2
@@ oracle
from textkit.median import median

assert median([5]) == 5
assert median([4, 1, 3, 2]) == 2.5
assert median([1, 5]) == 3
values = [2, 1]
median(values)
assert values == [2, 1]
try:
    median([])
except ValueError:
    pass
else:
    raise AssertionError("no error")
