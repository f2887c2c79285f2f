"""Attempts as JSON and back: the form in which one is stored or sent."""

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
    """What `json.dumps` accepts; `decode` makes the same attempt of it again."""
    encoded: dict[str, Any] = _adapter().dump_python(attempt, mode="json")
    return encoded


def decode(data: object) -> Attempt:
    """An attempt from its JSON; raises a ValueError for anything else."""
    attempt = _adapter().validate_python(data, strict=False)
    work = attempt.work
    return replace(attempt, work=replace(work, steps=tuple(map(_with_settings, work.steps))))


def _with_settings(spec: StepSpec) -> StepSpec:
    """What a step is configured with is understood by its type alone."""
    if spec.settings is None:
        return spec
    return replace(spec, settings=step_type(spec.type).Settings.model_validate(spec.settings))
