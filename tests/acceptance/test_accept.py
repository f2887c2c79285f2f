"""RX.19: to accept a task is a person's decision, and nothing that a run started can take it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys

import pytest

from ralph.process.brand import brand_for
from ralph.safe_files import remove_all
from tests.acceptance.test_request_plan import terminal
from tests.conftest import VERIFIED, Project, does, wait_for

ACCEPT = "ralph accept auth US-001 --why lazy --yes"
NAKED = 'env -i PATH="$PATH" HOME="$HOME"'
LEFT = "os.execvp('sh', sys.argv[1:])"
INSIDE = "Only a person can do this, but a run called it."


@pytest.fixture
def blocked(project: Project) -> Project:
    project.config("test -f proof.txt", maxRetries=1)
    project.stories("One")
    project.script(does("US-001", "one.txt"))
    return project


def said(project: Project) -> str:
    path = project.folder / "said"
    wait_for(lambda: path.exists() and path.read_text().endswith("\n"))
    return path.read_text()


@pytest.mark.parametrize("how", ["", NAKED, f"setsid -w {NAKED}", f"setsid {NAKED} setsid"])
def test_an_agent_cannot_whatever_it_does_to_its_environment(blocked: Project, how: str) -> None:
    """It neither accepts nor approves nor decides; the last way leaves it no parent but Ralph."""
    commands = "; ".join((ACCEPT, "ralph approve auth US-001 --yes", "ralph decide auth US-001 --skip --yes"))
    blocked.write("sly.sh", f"{{ {commands}; echo over; }} > {blocked.folder}/said 2>&1\n")
    wait = f"until grep -q over {blocked.folder}/said; do sleep 0.05; done"
    sly = f'(cd "$RALPH_ROOT" && {how} sh {blocked.path}/sly.sh &); {wait}'
    blocked.script(does("US-001", "one.txt", run=[sly]))

    blocked.ralph("run", "auth", code=3)

    assert said(blocked).count(INSIDE) == 3
    assert not blocked.story()["passes"]


@pytest.mark.parametrize(
    "how", [f"{NAKED} {ACCEPT}", f"(setsid {NAKED} {ACCEPT} &)", f"{NAKED} script -qec '{ACCEPT}' /dev/null"]
)
def test_a_gate_of_ralph_verify_cannot_even_as_a_daemon_or_with_a_terminal_of_its_own(
    blocked: Project, how: str
) -> None:
    said_file = '"$HOME/../said"'
    blocked.config(f"{{ {how}; }} > {said_file} 2>&1; while ! test -s {said_file}; do sleep 0.05; done")

    blocked.ralph("verify", "auth")

    assert INSIDE in said(blocked)
    assert not blocked.story().get("passes")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux keeps a brand")
def test_what_outlived_its_run_cannot_with_nothing_but_its_limits_left(blocked: Project) -> None:
    blocked.ralph("run", "auth", code=3)
    code = f"import os, sys; from ralph.process.brand import branding\nwith branding({brand_for('a-run')}): {LEFT}"
    command = [sys.executable, "-c", code, "sh", "-c", f"{NAKED} {ACCEPT}"]
    done = subprocess.run(command, cwd=blocked.path, env=blocked.env, text=True, capture_output=True)
    assert INSIDE in done.stderr
    assert not blocked.story()["passes"]


def test_a_person_can_in_a_terminal_and_in_a_script_that_says_so(blocked: Project) -> None:
    blocked.ralph("run", "auth", code=3)

    refused = blocked.ralph("accept", "auth", "US-001", "--why", "it is there", code=1).stderr
    assert "there is no terminal here" in refused and "--yes" in refused
    assert not blocked.story()["passes"]
    with terminal(blocked, "accept", "auth", "US-001", "--why", "it is there"):
        pass
    assert blocked.story()["passes"]

    blocked.ralph("retry", "auth", "US-001")
    blocked.ralph("accept", "auth", "US-001", "--why", "it is there", "--yes")
    assert blocked.story()["lastResult"]["summary"] == "Accepted by a person: it is there"


def test_after_a_kill_nobody_can_until_ralph_has_cleaned_up(blocked: Project) -> None:
    """The agent may be what killed Ralph, and then nothing tells it from a person."""
    blocked.script(does("US-001", "one.txt", sleep=60, times=1), does("US-001", "one.txt"))
    run = blocked.start("run", "auth")
    wait_for(lambda: blocked.calls() == 1)
    run.send_signal(signal.SIGKILL)
    run.communicate(timeout=30)

    refused = blocked.ralph("accept", "auth", "US-001", "--why", "x", "--yes", code=1).stderr
    assert "The last run was killed" in refused and "`ralph run auth`" in refused
    for name in (".ralph/run", ".ralph/ralph.lock", ".git/ralph/locks"):
        remove_all(blocked.path / name)
    refused = blocked.ralph("accept", "auth", "US-001", "--why", "x", "--yes", code=1).stderr
    assert "The last run was killed" in refused, "also if an agent removed what tells of it"

    blocked.ralph("run", "auth", code=3)
    blocked.ralph("accept", "auth", "US-001", "--why", "x", "--yes")
    assert blocked.story()["passes"]


def test_accepted_is_a_state_of_its_own_with_who_and_why(blocked: Project) -> None:
    blocked.ralph("run", "auth", code=3)
    blocked.ralph("accept", "auth", "US-001", "--why", "done in another branch", "--yes")
    by = {"by": "Person", "why": "done in another branch"}

    assert blocked.story()["passes"] and blocked.story()["lastResult"]["accepted"] == by
    (told,) = json.loads(blocked.ralph("status", "auth", "--json").stdout)
    assert (told["passed"], told["accepted"]) == (0, 1)
    assert (told["tasks"][0]["state"], told["tasks"][0]["accepted"]) == ("accepted", by)
    shown = blocked.ralph("status", "auth").stdout
    assert "0/1 passed, 1 accepted" in shown
    assert "☑ US-001     One  accepted by Person: done in another branch" in shown
    assert "accepted, 1 retry · attempts 1" in blocked.ralph("status", "auth", "--task", "US-001").stdout
    assert "☑ US-001 accepted by Person: done in another branch" in blocked.ralph("next", "auth").stdout
    assert json.loads(blocked.ralph("next", "auth", "--json").stdout)[0]["accepted"] == [{"id": "US-001", **by}]
    assert re.search(r"US-001 +accepted +by Person\n +done in another branch", blocked.ralph("attempts", "auth").stdout)
    row = json.loads(blocked.ralph("attempts", "auth", "--json").stdout)[-1]
    assert (row["outcome"], row["by"], row["reason"]) == ("accepted", "Person", "done in another branch")
    again = blocked.ralph("accept", "auth", "US-001", "--why", "x", "--yes", code=1).stderr
    assert "Nothing to accept: US-001 is already accepted by Person: done in another branch." in again

    blocked.config("true")
    blocked.script(VERIFIED)
    done = blocked.ralph("run", "auth").stdout
    assert "auth: 1 task, 0 passed, 1 accepted manually" in done
    assert (
        "auth: complete · all gates green · final verification agreed · 0 of 1 task proven · 1 accepted manually"
        in done
    )
    assert blocked.story()["lastResult"]["accepted"] == by

    blocked.ralph("retry", "auth", "US-001")
    blocked.script(does("US-001", "one.txt"), VERIFIED)
    blocked.ralph("run", "auth")
    assert "accepted" not in blocked.story()["lastResult"]
    assert json.loads(blocked.ralph("status", "auth", "--json").stdout)[0]["tasks"][0]["state"] == "passed"
