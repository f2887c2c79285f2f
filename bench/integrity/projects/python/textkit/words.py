"""Words of a text."""


def words(text):
    return text.split()
