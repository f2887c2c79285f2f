"""The part of `ralph.config.json` about what lands on the branch, and what is said about it."""

from typing import Annotated, Literal

from ralph.config_agents import Line
from ralph.config_section import Bounds, ConfigSection

Landing = Literal["auto", "review"]


class Commits(ConfigSection):
    """Whether and how Ralph commits its own state."""

    prd_changes: bool = True
    message: Line = "chore: update prd.json"
    branch: Annotated[
        Literal["own", "current"],
        "own: work lands on ralph/<target>; current: your branch is also fast-forwarded to it at the end.",
    ] = "own"
    assisted_by: Annotated[bool, "Add a trailer Assisted-by: AGENT:MODEL to each commit."] = True
    max_file_mb: Annotated[
        float,
        Bounds(gt=0, le=100_000),
        "Largest file, in megabytes, that Ralph commits. The agent learns about larger ones.",
    ] = 50


class ReceiptSettings(ConfigSection):
    """Receipts: signed statements about each commit that Ralph makes."""

    enabled: Annotated[bool, "false: no receipts."] = True
    sign: Annotated[
        Literal["auto", "never", "require"],
        "auto: sign with your git key (user.signingkey) if you have one; require: refuse to run without.",
    ] = "auto"
