import unittest

from textkit.words import words


class Words(unittest.TestCase):
    def test_spaces_separate_words(self):
        self.assertEqual(words(" one  two "), ["one", "two"])
