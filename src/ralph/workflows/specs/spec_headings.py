"""What the words of a spec's heading say about the lists below it."""

from __future__ import annotations

import re
from enum import Enum


class HeadingRole(Enum):
    """What the lists below a heading contain."""

    TASKS = "tasks"
    CRITERIA = "criteria"
    STEPS = "steps"  # tasks, unless the spec lists its tasks elsewhere: a user's path through a page has steps too
    ASIDE = "aside"  # tests, notes, questions: not tasks, even with a checkbox


OF_WORK = (
    r"(?:implementation|development|dev|engineering|coding|technical|work|backend|frontend|remaining|open|the|and)"
)
SAYS_TASKS = re.compile(
    rf"(?:{OF_WORK} )*(?:(?:sub ?)?tasks|to ?dos?|work items|checklist|task (?:list|breakdown|plan))"
    rf"(?: (?:list|items|breakdown|for|to|in|of)\b.*)?|(?:{OF_WORK} )+steps"
)
SAYS_CRITERIA = re.compile(
    r"(?:user )?acceptance(?: (?:criteria|criterion|tests?|checks?|conditions?|requirements?))?|criteria"
    r"|(?:success|completion|exit|done) criteria|(?:it is |we are )?(?:done|complete|finished) when"
    r"|(?:the )?definition of done|dod"
)
SAYS_ASIDE = re.compile(
    r"\b(?:tests?|testing|qa|notes?|questions?|risks?|metrics|references?|examples?|future|later|non goals?|scope"
    r"|nice to haves?|ideas|definition of ready|dependencies|alternatives|assumptions|rollout|release|manual)\b"
)
SAYS_PHASE = re.compile(r"(?:phase|milestone|stage|step|task|part|iteration) \d")
NUMBERING = re.compile(r"\s*(?:(?:[ivxlc]{1,5}|[a-z])[.)]\s+)?")
MAX_WORDS = 6  # a longer one is a sentence


def role_of(heading: str) -> HeadingRole | None:
    """What a heading's words say about the lists below it."""
    plain = NUMBERING.sub("", heading.casefold(), count=1)
    parts = [" ".join(re.findall(r"[^\W\d_]+", part)) for part in re.split(r"[:–—(|/]|\s-\s", plain)]
    for role, says in ((HeadingRole.TASKS, SAYS_TASKS), (HeadingRole.CRITERIA, SAYS_CRITERIA)):
        if any(map(says.fullmatch, parts)):
            return role
    words = " ".join(parts).split()
    if len(words) <= MAX_WORDS and SAYS_ASIDE.search(" ".join(words)) and not SAYS_PHASE.match(plain):
        return HeadingRole.ASIDE
    return HeadingRole.STEPS if "steps" in parts else None
