"""A run whose agents and gates are in a sandbox, as a person sees it."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from ralph.sandbox.backends import BACKENDS, problem
from tests.acceptance.requirements import REVIEWING
from tests.conftest import VERIFIED, Project, does, processes_in, wait_for

WORKING = [backend.name for backend in BACKENDS if not problem(backend)]
pytestmark = pytest.mark.skipif("bubblewrap" not in WORKING, reason="bubblewrap does not work here")


@pytest.fixture
def boxed(project: Project) -> Project:
    """A project with its sandbox switched on."""
    del project.env["RALPH_SANDBOX"]
    return project


def test_a_run_says_which_sandbox_it_uses_and_works_in_it(boxed: Project) -> None:
    boxed.config("test -f one.txt")
    boxed.stories("One")
    boxed.script(does("US-001", "one.txt"), VERIFIED)

    done = boxed.ralph("run", "auth")

    assert "sandbox bubblewrap · read-only machine, own processes and /tmp" in done.stdout
    assert "complete · all gates green" in done.stdout
    assert "one.txt" in boxed.files_in("ralph/auth")


def test_an_agent_and_a_gate_reach_nothing_but_their_copy(boxed: Project) -> None:
    (boxed.home / ".ssh").mkdir()
    (boxed.home / ".ssh/id_ed25519").write_text("PRIVATE KEY")
    (boxed.home / ".bashrc").write_text("# mine\n")
    try_all = (  # everything that must fail
        f"cat ~/.ssh/id_ed25519; echo evil >> ~/.bashrc; echo evil > {boxed.path}/.git/hooks/post-commit; "
        f"echo evil > {boxed.path}/app.txt; rm -rf {boxed.path}/.ralph/run {boxed.path}/.ralph/logs; "
        f"git -C {boxed.path} branch evil; kill -9 $(tr -dc '0-9,' < {boxed.path}/.ralph/ralph.lock | cut -d, -f1); "
        "true"
    )
    boxed.config(f"{{ {try_all}; }} >gate.log 2>&1; test -f one.txt")
    boxed.stories("One")
    boxed.script(does("US-001", "one.txt") | {"run": [f"{{ {try_all}; }} > seen.txt 2>&1"]}, VERIFIED)

    boxed.ralph("run", "auth")

    assert (boxed.home / ".bashrc").read_text() == "# mine\n"
    assert boxed.read("app.txt") == "app\n"
    assert not boxed.exists(".git/hooks/post-commit")
    assert "evil" not in boxed.git("branch")
    seen = boxed.landed("seen.txt")
    assert "PRIVATE" not in seen and "Read-only file system" in seen
    assert not list(boxed.events("undone")), "there was nothing to undo"


def test_an_agent_cannot_plant_a_program_that_ralph_itself_starts(boxed: Project) -> None:
    """A PATH can name a folder relative to the one that a program works in, and Ralph's git works in an agent's."""
    seen = boxed.folder / "outside"
    boxed.env["PATH"] = f"./bin:{boxed.env['PATH']}"
    boxed.config("test -f one.txt")
    boxed.stories("One")
    planted = f'#!/bin/sh\necho "$0 $*" >> {seen}\nPATH=${{PATH#*:}} exec "${{0##*/}}" "$@"\n'
    plants = [f"mkdir -p bin; for name in git bwrap; do printf '%s' '{planted}' > bin/$name; chmod +x bin/$name; done"]
    boxed.script(does("US-001", "one.txt") | {"run": plants}, VERIFIED)

    boxed.ralph("run", "auth")

    assert boxed.landed("bin/git")
    assert not seen.exists(), seen.read_text()


LEAVES_A_DAEMON = """
env -i setsid sh -c 'trap "" TERM; exec sleep 3210.5' >/dev/null 2>&1 &
until pgrep -x sleep >/dev/null; do :; done
touch begun
"""


def begun(project: Project) -> Path:
    return project.path / ".ralph/worktrees/.slots/1/begun"


def test_nothing_that_an_agent_started_outlives_its_call(boxed: Project) -> None:
    """Whatever it forks, moves to another session, or starts with an empty environment that ignores SIGTERM."""
    boxed.config("! pgrep -x sleep && test -f one.txt")
    boxed.stories("One")
    boxed.script(does("US-001", "one.txt") | {"run": [LEAVES_A_DAEMON]}, VERIFIED)

    boxed.ralph("run", "auth")

    assert not processes_in(boxed.folder)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_when_ralph_ends_in_any_way_the_sandbox_is_empty(boxed: Project, number: signal.Signals) -> None:
    boxed.config("true")
    boxed.stories("One")
    boxed.script({"run": [f"{LEAVES_A_DAEMON} sleep 3211.5"]})
    run = boxed.start("run", "auth")
    wait_for(begun(boxed).exists)

    for _ in range(1 if number is signal.SIGKILL else 2):  # the second one does not wait for the agent
        run.send_signal(number)
    run.communicate(timeout=30)

    wait_for(lambda: not processes_in(boxed.folder), seconds=2, what="nothing is left")
    boxed.script(does("US-001", "one.txt"), VERIFIED)
    assert "complete" in boxed.ralph("run", "auth").stdout


def test_what_a_person_does_in_the_repository_meanwhile_is_no_agents_fault(boxed: Project) -> None:
    """Even a new hook: nothing in the sandbox could have written it."""
    boxed.config("test -f one.txt")
    boxed.stories("One")
    boxed.script(
        does("US-001", "one.txt") | {"run": ["touch begun; until [ -f go ]; do sleep 0.05; done; rm go begun"]}
    )
    run = boxed.start("run", "auth", "--once")
    wait_for(begun(boxed).exists)
    boxed.write(".git/hooks/pre-push", "#!/bin/sh\n")
    boxed.git("config", "core.sshCommand", "mine")
    boxed.git("branch", "mine")
    begun(boxed).with_name("go").touch()
    out, _ = run.communicate(timeout=30)

    assert "US-001 passed" in out
    assert boxed.exists(".git/hooks/pre-push") and boxed.git("config", "core.sshCommand") == "mine"


def test_an_agent_may_change_its_own_git_configuration(boxed: Project) -> None:
    boxed.config("test -f one.txt")
    boxed.stories("One")
    sets = {"run": ["git config --global user.name Agent && git config user.email a@example.com"]}
    boxed.script(does("US-001", "one.txt") | sets, VERIFIED)

    boxed.ralph("run", "auth")

    assert boxed.git("config", "--global", "user.name") == "Person"


def test_hooks_set_up_commands_and_reviewers_are_inside_too(boxed: Project) -> None:
    hook = boxed.write(".git/hooks/pre-commit", "#!/bin/sh\ntouch ~/hook\necho checked >> one.txt\ngit add one.txt\n")
    hook.chmod(0o755)
    setup = {"setup": ["touch ~/setup; touch made-by-setup"]}
    boxed.config("test -f one.txt && test -f made-by-setup", worktrees=setup, review={})
    boxed.stories("One")
    agrees = {"verdict": "qualified", "findings": [], "summary": "fine"}
    reviews = {"match": REVIEWING, "answer": agrees, "run": ["touch ~/reviewer; true"]}
    boxed.script(reviews, does("US-001", "one.txt"), VERIFIED)

    boxed.ralph("run", "auth")

    assert boxed.landed("one.txt") == "x\nchecked"
    assert boxed.events("agent_started")[1]["work"] == "US-001", "a reviewer was asked"
    assert not {"hook", "setup", "reviewer"} & {path.name for path in boxed.home.iterdir()}


def test_a_refused_host_is_named_in_the_run_and_in_the_journal(boxed: Project) -> None:
    boxed.config("test -f one.txt", sandbox={"network": ["localhost"]})
    boxed.stories("One")
    boxed.script(does("US-001", "one.txt") | {"run": ["curl -s -m 5 http://elsewhere.example/; true"]}, VERIFIED)

    done = boxed.ralph("run", "auth")

    assert "sandbox bubblewrap" in done.stdout and "network localhost" in done.stdout
    assert "refused a connection to elsewhere.example. To allow it, add it to sandbox.network." in done.stdout
    assert [event["host"] for event in boxed.events("host_refused")] == ["elsewhere.example"]


def test_a_kind_that_does_not_work_here_is_refused(boxed: Project) -> None:
    tools = boxed.folder / "tools"
    tools.mkdir()
    (tools / "bwrap").write_text("#!/bin/sh\necho 'bwrap: no namespaces here' >&2\nexit 1\n")
    (tools / "bwrap").chmod(0o755)
    boxed.env["PATH"] = f"{tools}:{boxed.env['PATH']}"
    boxed.config("true", sandbox="bubblewrap")
    boxed.stories("One")

    refused = boxed.ralph("run", "auth", code=1)

    assert "The sandbox 'bubblewrap' does not work here: bwrap: no namespaces here." in refused.stderr
    assert boxed.calls() == 0
    assert "bwrap: no namespaces here" in boxed.ralph("doctor", code=1).stdout


def test_without_any_sandbox_a_run_warns_and_require_refuses(boxed: Project) -> None:
    without = "from ralph.sandbox import backends; backends.BACKENDS = ()"
    boxed.stories("One")
    boxed.script(does("US-001", "one.txt"), VERIFIED)

    boxed.config("test -f one.txt", sandbox="require")
    refused = boxed.run("run", "auth", before=without)
    assert "ralph/auth" not in boxed.git("branch"), "it was refused before it began"
    boxed.config("test -f one.txt", sandbox={"network": "none"})
    cannot_close = boxed.run("run", "auth", before=without)
    boxed.config("test -f one.txt")
    done = boxed.run("run", "auth", before=without)

    assert done.returncode == 0
    assert "! No sandbox works here: agents and gates can do what you can. `ralph doctor` says why." in done.stdout
    assert refused.returncode == 1 == cannot_close.returncode
    assert "the network cannot be closed without one" in cannot_close.stderr
    assert 'No sandbox works here, and "sandbox" is "require".' in refused.stderr and "→ Install" in refused.stderr


def test_a_state_folder_that_reaches_too_far_is_refused_with_its_place(boxed: Project) -> None:
    boxed.config("true", provider={"state": ["~/.ssh"]})

    said = boxed.ralph("doctor", code=1).stdout

    assert "provider.state[0]: '~/.ssh' cannot be writable in the sandbox: it reaches" in said


def test_it_can_be_switched_off_and_the_run_says_so(boxed: Project) -> None:
    boxed.config("touch ~/outside", sandbox="none")
    boxed.stories("One")
    boxed.script(does("US-001", "one.txt"), VERIFIED)

    done = boxed.ralph("run", "auth")

    assert "no sandbox, as configured: agents and gates can do what you can" in done.stdout
    assert (boxed.home / "outside").exists()


def test_doctor_names_the_sandbox(boxed: Project) -> None:
    boxed.config("true")

    assert "sandbox bubblewrap: read-only machine" in boxed.ralph("doctor", code=None).stdout


def test_a_gate_that_writes_elsewhere_stops_the_run_with_a_remedy(boxed: Project) -> None:
    boxed.config("echo x > ~/notes && test -f one.txt")
    boxed.stories("One")

    said = boxed.ralph("run", "auth", code=1).stderr

    assert "writes where the sandbox does not let it" in said and "name the folder in sandbox.caches" in said
    assert boxed.calls() == 0

    (boxed.home / "notes").mkdir()
    boxed.config("echo x > ~/notes/x && test -f app.txt", sandbox={"caches": ["~/notes"]})
    boxed.script(does("US-001", "one.txt"), VERIFIED)
    assert "complete" in boxed.ralph("run", "auth").stdout


def test_verify_runs_the_gates_in_the_sandbox(boxed: Project) -> None:
    boxed.config("echo made > made.txt && ! touch ~/outside 2>/dev/null && ! touch .git/outside 2>/dev/null")

    boxed.ralph("verify")

    assert boxed.read("made.txt") == "made\n"
    assert not Path(boxed.home, "outside").exists()


@pytest.mark.parametrize(
    ("sandbox", "said"),
    [
        ("bubbles", "sandbox: expected 'auto'"),
        ({"use": "auto", "nets": 1}, "sandbox.nets"),
        ({"network": ["*.example.com"]}, "sandbox.network[0]: '*.example.com' is not a host; wildcards do not work"),
        ({"network": "some"}, "sandbox.network"),
        ({"use": "none", "gateNetwork": "none"}, "sandbox.gateNetwork: without a sandbox"),
        ({"caches": ["relative/path"]}, "sandbox.caches[0]: 'relative/path' is neither absolute nor below ~/"),
    ],
)
def test_a_wrong_setting_is_refused_with_its_path(boxed: Project, sandbox: object, said: str) -> None:
    boxed.write("ralph.config.json", json.dumps({"provider": {"command": "x"}, "gates": [], "sandbox": sandbox}))

    assert said in boxed.ralph("doctor", code=1).stdout


def test_an_edit_of_the_plan_while_an_agent_works_is_the_persons_and_no_agent_sees_what_was_asked(
    boxed: Project,
) -> None:
    """Nobody in the sandbox can write there, so nobody is blamed and nothing is undone."""
    boxed.config("true")
    boxed.stories("One", "Two")
    look = "{ ls -R ~/.local/share/ralph; find / -name '*.asked'; ralph pause; } > seen.txt 2>&1"
    wait = f"touch here.txt; until test -e {boxed.path}/go; do sleep 0.05; done"
    boxed.script(does("US-001", "one.txt") | {"run": [wait, look]}, does("US-002", "two.txt"), VERIFIED)
    run = boxed.start("run", "auth")
    wait_for((boxed.path / ".ralph/worktrees/.slots/1/here.txt").exists)

    (path,) = boxed.path.glob(".ralph/worktrees/auth/.ralph/*/prd.json")
    path.write_text(path.read_text().replace('"Two"', '"Zwei"'))
    boxed.ralph("note", "auth", "US-002", "gently")
    (boxed.path / "go").touch()
    out, _ = run.communicate(timeout=60)

    assert run.returncode == 0, out
    assert boxed.story("US-002")["title"] == "Zwei"
    assert [(event["command"], event["refused"]) for event in boxed.events("steered")] in (
        [("edit", False), ("note", False)],
        [("note", False), ("edit", False)],
    )
    assert not list(boxed.events("undone"))
    seen = boxed.landed("seen.txt")
    assert "asked" not in seen.replace("*.asked", "")
    assert "key" not in seen.split()
