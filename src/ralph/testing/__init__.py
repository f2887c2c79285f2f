"""Tools for trying Ralph without a model: they ship with it and are used by the demo and by our tests."""
