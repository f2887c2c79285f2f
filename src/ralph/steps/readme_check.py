"""The readme-check step: the project must have a README that is not empty."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from ralph.plan.attempt import StepResult
from ralph.steps import base
from ralph.steps.base import Context, Step
from ralph.values import Whole

NAMES = ("readme", "readme.md", "readme.rst", "readme.txt", "readme.adoc")


class ReadmeCheckSettings(base.StepSettings):
    min_chars: Annotated[Whole, Field(ge=1)] = Field(
        default=1, description="The minimum length of the README, in characters."
    )


class ReadmeCheckStep(Step):
    Settings: ClassVar[type[base.StepSettings]] = ReadmeCheckSettings
    repeatable = True

    async def run(self, context: Context) -> StepResult:
        settings = self.settings(ReadmeCheckSettings)
        folder = context.cwd
        found = sorted(path for path in folder.iterdir() if path.name.lower() in NAMES and path.is_file())
        if not found:
            return self.failed("There is no README. Write one that says what the project is.")
        length = max(len(path.read_text(encoding="utf-8", errors="replace").strip()) for path in found)
        if length < settings.min_chars:
            return self.failed(f"{found[0].name} has {length} characters, but needs at least {settings.min_chars}.")
        return self.passed()
