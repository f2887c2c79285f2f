"""Encodes attempts as JSON, to store or send them, and decodes them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from ralph.plan.attempt import Attempt
from ralph.plan.work import StepSpec
from ralph.steps.registry import step_type


@cache
def _adapter() -> TypeAdapter[Attempt]:
    return TypeAdapter(Attempt)


def encode(attempt: Attempt) -> dict[str, Any]:
    """Return data for `json.dumps`; `decode` restores the same attempt from it."""
    encoded: dict[str, Any] = _adapter().dump_python(attempt, mode="json")
    return encoded


def decode(data: object) -> Attempt:
    """Decode an attempt; raise a ValueError if the data is invalid."""
    attempt = _adapter().validate_python(data, strict=False)
    work = attempt.work
    return replace(attempt, work=replace(work, steps=tuple(map(_with_settings, work.steps))))


def _with_settings(spec: StepSpec) -> StepSpec:
    """Parse the settings with the model of the step type."""
    if spec.settings is None:
        return spec
    return replace(spec, settings=step_type(spec.type).Settings.model_validate(spec.settings))
