import unittest

from temperature import celsius_to_fahrenheit


class Fahrenheit(unittest.TestCase):
    def test_water_boils_at_212(self) -> None:
        self.assertEqual(celsius_to_fahrenheit(100), 212)


if __name__ == "__main__":
    unittest.main()
