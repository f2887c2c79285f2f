"""Fixtures that more than one of these modules use."""

from __future__ import annotations

from tests.acceptance.requirements import anywhere, empty, founded, inside

__all__ = ["anywhere", "empty", "founded", "inside"]
