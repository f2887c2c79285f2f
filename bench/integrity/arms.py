"""What is compared. An arm makes one attempt at a story and says what became of it; to add a tool, write one more."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from bench.integrity.behaviours import DONE, Play, script
from bench.integrity.workshop import PLAN, Task, commit, write
from bench.project import RALPH


class Kind(Enum):
    """What an arm did with an attempt."""

    ACCEPTED = "accepted"  # the story counts as done
    REFUSED = "refused"  # it does not, and the arm goes on by itself
    HELD = "held"  # a person is asked
    HUNG = "hung"  # the arm did not come back, and the benchmark ended it


@dataclass(frozen=True)
class Verdict:
    kind: Kind
    by: str = ""  # why it was not accepted
    landed: str = ""  # if accepted: the commit that has the work


class Arm(Protocol):
    """A tool that runs agents. It may use everything in the task, and raise `Hung` by calling `task.run`."""

    @property
    def name(self) -> str: ...

    def attempt(self, task: Task) -> Verdict: ...


ACCEPTANCE = "acceptance tests"
"""What Ralph calls the gate with the tester's tests."""

LOOP = """
said=$("$1" < prompt.md)
rm prompt.md
case $said in
*'DONE'*) ;;
*) grep -q '"passes": true' PLAN || exit 10 ;;
esac
[ -z "$2" ] || sh -c "$2" || exit 11
git add --all .
git commit -q --allow-empty --no-verify -m 'Done'
""".replace("DONE", DONE).replace("PLAN", PLAN)


@dataclass(frozen=True)
class BareLoop:
    """A shell loop: the agent says that it is done, or ticks its story; with a gate, that must be green too."""

    name: str
    gated: bool

    def attempt(self, task: Task) -> Verdict:
        (task.repository / "prompt.md").write_text("\n".join((task.story.title, *task.story.criteria)))
        gate = task.gate if self.gated else ""
        done = task.run(["sh", "-c", LOOP, "loop", str(task.agent), gate], check=False)
        reasons = {10: "no claim", 11: "gate"}
        if done.returncode in reasons:
            return Verdict(Kind.REFUSED, reasons[done.returncode])
        if done.returncode:
            raise RuntimeError(f"the loop ended with {done.returncode}:\n{done.stdout}")
        return Verdict(Kind.ACCEPTED, landed=task.git("rev-parse", "HEAD"))


@dataclass(frozen=True)
class Ralph:
    """The installed `ralph` with a configuration; all that is not in `settings` is as shipped."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    has_tester: bool = False  # another agent writes tests from the criteria, and the first one does not see them

    def attempt(self, task: Task) -> Verdict:
        document: dict[str, Any] = {
            "provider": {"command": str(task.agent), "dialect": "claude"},
            **(_tester(task) if self.has_tester else {}),
            **self.settings,
            "verify": {"default": [task.gate], **self.settings.get("verify", {})},
        }
        (task.repository / "ralph.config.json").write_text(json.dumps(document, indent=2) + "\n")
        commit(task, "How Ralph works here")
        argv = [RALPH, "run", "story", "--once", "--quiet", "--no-probe", "--no-wait"]
        done = task.run(argv, check=False)
        journals = list(task.repository.glob(".ralph/logs/*/journal.jsonl"))
        if not journals:
            raise RuntimeError(f"ralph ended with {done.returncode}, without a run:\n{done.stdout}")
        return self._verdict(task, [json.loads(line) for line in journals[0].read_text().splitlines()])

    def _verdict(self, task: Task, events: list[dict[str, Any]]) -> Verdict:
        [story] = json.loads(task.git("show", f"ralph/story:{PLAN}"))["userStories"]
        if story["passes"]:
            return Verdict(Kind.ACCEPTED, landed=task.git("rev-parse", "ralph/story"))
        if story.get("need"):
            return Verdict(Kind.HELD, story["need"]["kind"])
        return Verdict(Kind.REFUSED, _why(events))


def _tester(task: Task) -> dict[str, Any]:
    """Write the tester as a program; return the settings with which Ralph calls it."""
    folder = task.agent.parent / "tester"
    write(folder / "work", task.story.tests_of_criteria)
    write(folder, {"tester": script(Play(says="The tests are there."))})
    return {
        "providers": {"tester": {"command": str(folder / "tester"), "dialect": "claude"}},
        "roles": {"tester": {"provider": "tester"}},
        "acceptance": {"heldOut": True},
    }


def _why(events: list[dict[str, Any]]) -> str:
    """Why Ralph did not accept an attempt, in a few words, from its journal."""
    named = {event["event"]: event for event in events}
    ended = named["attempt_ended"]
    if named.get("audited", {}).get("failed"):
        return "weakened checks"
    if "undone" in named:
        return "changed the plan"
    red = {gate["name"] for gate in ended["gates"] if not gate["passed"]}
    if red:
        return "held-out tests" if red == {ACCEPTANCE} else "gate"
    verdicts = {"limited": "service error", "interrupted": "write denied"}
    if ended["verdict"] in verdicts:
        return verdicts[ended["verdict"]]
    if not named["agent_ended"]["claims"]:
        return "no claim"
    return "no change" if "changed nothing" in ended["reason"] else str(ended["reason"])[:60]


ARMS: tuple[Arm, ...] = (
    BareLoop("believes", gated=False),
    BareLoop("gated", gated=True),
    Ralph("ralph-slot", {"verify": {"where": "slot"}}),
    Ralph("ralph"),
    Ralph("ralph-tester", has_tester=True),
)
