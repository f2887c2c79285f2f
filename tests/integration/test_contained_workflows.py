"""Each workflow in the sandbox: killed or interrupted beside its warden, it leaves nothing running, and goes on."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import pytest
from chaos import oracle
from chaos.processes import all_ended
from chaos.scene import Case, Scene, User
from chaos.workflows import WORKFLOWS, Workflow

from ralph.sandbox.backends import BACKENDS, problem
from tests.conftest import wait_for

pytestmark = pytest.mark.skipif(
    all(problem(backend) for backend in BACKENDS if backend.name == "bubblewrap"),
    reason="bubblewrap does not work here",
)
BY_NAME = {workflow.name: workflow for workflow in WORKFLOWS}
HOOK = "#!/bin/sh\ntouch ~/hooked 2>/dev/null\nenv -i setsid sleep 600 >/dev/null 2>&1 &\n"


@pytest.mark.parametrize(
    ("workflow", "number"),
    [(BY_NAME[name], signal.SIGKILL) for name in BY_NAME if name != "feature"]  # tests/acceptance/test_sandbox.py
    + [(BY_NAME[name], signal.SIGINT) for name in ("requirements", "session")],
    ids=lambda value: value.name,
)
def test_a_run_in_the_sandbox_ends_with_all_that_it_started_and_goes_on(
    tmp_path: Path, workflow: Workflow, number: signal.Signals
) -> None:
    names = [workflow.task.format(each) for each in (1, 2)]
    turns = {names[0]: ["hang"], names[1]: ["daemonize"]}
    case = Case(workflow=workflow, needs={name: [] for name in names}, turns=turns, sandbox="bubblewrap")
    scene = Scene(tmp_path, case, random.Random(0), User(uid=os.getuid()))
    hook = scene.project / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(HOOK)
    hook.chmod(0o755)
    before = oracle.belongings(scene)

    run = scene.start()
    wait_for(lambda: f"{names[0]}-1" in (scene.notes / "written").read_text(), what="the agent has worked, and hangs")
    for _ in range(1 if number is signal.SIGKILL else 2):  # the second one does not wait for the agent
        run.send_signal(number)
    scene.end(run)

    assert all_ended(scene.folder, 3) == {}
    assert scene.end(scene.start()) == 0
    assert oracle.problems(scene, before) == []
    assert oracle.done(scene) == set(names)
    assert not (scene.home / "hooked").exists()
    assert "sandbox bubblewrap" in scene.said
