"""Tests of step configurations install step types of another package too."""

from tests.unit.engine.conftest import install  # noqa: F401
