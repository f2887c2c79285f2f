"""What real agents, real repositories and bad luck come up with: every case here once went wrong."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from ralph.agent import call
from ralph.config import Provider
from ralph.errors import RalphError
from ralph.git import look
from ralph.git.repo import open_repo
from ralph.loop.ownership import bring_back, claim
from ralph.process import environment, spawn, tree
from ralph.process.spawn import Limits, capture
from tests.conftest import Project, wait_for
from tests.integration import test_agent_call
from tests.integration.conftest import (
    FOREVER,
    add_submodule,
    alive,
    executable,
    in_the_background,
    numbers,
    until,
)
from tests.integration.test_place import Checkout, checkout, do  # noqa: F401
from tests.integration.test_process import DAEMON, python, run, shell
from tests.integration.test_services import Web, failure

# processes


def test_a_program_is_run_where_python_has_no_waitid(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    monkeypatch.delattr(os, "waitid")
    monkeypatch.setattr(sys, "platform", "darwin")
    ended, said = shell(tmp_path, "echo hi; exit 3")
    assert (ended.code, said) == (3, b"hi\n")


def test_a_zombie_of_somebody_else_is_not_waited_for() -> None:
    code = "import subprocess,time\np=subprocess.Popen(['sleep','300']); print(p.pid,flush=True); time.sleep(300)"
    with in_the_background(sys.executable, "-c", code, stdout=subprocess.PIPE) as parent:
        pid = int(parent.stdout.readline())
        assert asyncio.run(tree.end({pid}, grace=1)) == set()


def test_cancelling_twice_still_ends_the_tree(tmp_path: Path) -> None:
    said = bytearray()

    async def twice() -> None:
        task = asyncio.create_task(
            spawn.run(
                ["/bin/sh", "-c", f"trap '' TERM; echo $$; while :; do sleep {FOREVER}; done"],
                cwd=tmp_path,
                env=os.environ,
                owner="test",
                out=said.extend,
                limits=Limits(grace=0.5),
            )
        )
        await until(lambda: said.endswith(b"\n"))
        task.cancel()
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(twice())
    pid = numbers(bytes(said))[0]
    still = alive(pid)
    if still:
        os.killpg(pid, signal.SIGKILL)
    assert not still


def test_a_cancelled_commit_leaves_no_lock_and_no_hook(person: Project) -> None:
    executable(person.path / ".git/hooks/pre-commit", f"#!/bin/sh\necho $$ > .git/pid\nexec sleep {FOREVER}\n")
    person.write("app.txt", "changed\n")

    async def cancelled() -> None:
        repo = await open_repo(person.path)
        task = asyncio.create_task(repo.commit_work(["app.txt"], "m"))
        await until(lambda: person.exists(".git/pid") and person.read(".git/pid").endswith("\n"))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    hook = int(person.read(".git/pid"))
    still = alive(hook)
    if still:
        os.kill(hook, signal.SIGKILL)
    wait_for(lambda: not alive(hook))
    assert (person.exists(".git/index.lock"), still) == (False, False)


def test_a_short_program_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    with pytest.raises(RalphError):
        asyncio.run(
            capture(["sh", "-c", f"sleep {FOREVER} & echo $! > pid; wait"], cwd=tmp_path, env=os.environ, seconds=0.5)
        )
    pid = int((tmp_path / "pid").read_text())
    still = alive(pid)
    if still:
        os.kill(pid, signal.SIGKILL)
    assert not still


def test_a_background_writer_of_a_short_program_does_not_fill_the_memory(tmp_path: Path) -> None:
    done = asyncio.run(capture(["sh", "-c", "yes & sleep 0.3; exit 0"], cwd=tmp_path, env=os.environ))
    assert len(done.out) < 2_000_000_000  # the real complaint: unbounded, and the event loop stands still
    began = time.monotonic()
    asyncio.run(capture(["sh", "-c", "yes & exit 0"], cwd=tmp_path, env=os.environ))
    assert time.monotonic() - began < 5


def test_what_leaves_a_successor_whenever_it_is_asked_to_end_is_ended(tmp_path: Path, nobody_left) -> None:
    code = f"""
import os, signal, time
def again(*_):
    if os.fork() == 0:
        os.setsid()
        os.write(1, b"%d\\n" % os.getpid())
        while True: time.sleep({FOREVER})
    os._exit(0)
signal.signal(signal.SIGTERM, again)
os.write(1, b"ready\\n")
time.sleep({FOREVER})
"""
    _, said = python(tmp_path, code, limits=Limits(idle=1.0, grace=2.0))
    assert not [pid for pid in numbers(said) if alive(pid)]


def test_a_missing_prompt_is_no_traceback_and_no_leak(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(RalphError):
        run(tmp_path, "cat", stdin=tmp_path / "gone")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_service_s_daemon_without_environment_survives_a_gate(tmp_path: Path, nobody_left) -> None:
    said = bytearray()

    async def both() -> None:
        argv = [sys.executable, "-c", DAEMON, "double-forked silent without environment", "and stay"]
        async with spawn.spawn(argv, cwd=tmp_path, env=os.environ, owner="test", out=said.extend):
            await until(lambda: said.endswith(b"\n"))
            await spawn.run(["true"], cwd=tmp_path, env=os.environ, owner="test", out=said.extend)
            assert alive(numbers(bytes(said))[0])

    asyncio.run(both())


def test_nobody_slips_away_while_the_process_table_is_read(tmp_path: Path, nobody_left) -> None:
    for _ in range(100):
        shell(tmp_path, "for i in 1 2 3 4 5 6 7 8 9 10; do (true &); (sh -c 'sleep 0.01 &' &); done")
        assert psutil.Process().children() == []


# environment, agent, services, output


def test_an_author_s_name_is_no_secret() -> None:
    assert environment.secrets_in({"GIT_AUTHOR_NAME": "Developer", "GIT_AUTHOR_EMAIL": "ralph@localhost"}) == ()


def test_the_rest_of_a_longer_secret_does_not_leak() -> None:
    redactor = environment.Redactor(["abcdefghij", "abcdefgh"])
    assert redactor.feed(b"abcdefgh") + redactor.feed(b"ij") + redactor.flush() == b"[secret]"


def test_a_name_that_is_no_text_can_be_written_to_the_journal() -> None:
    environment.Redactor(["abcdefgh"]).text("latin-\udce9.txt")


def test_a_bare_name_in_the_project_is_not_a_program(tmp_path: Path) -> None:
    executable(tmp_path / "agent.sh", "#!/bin/sh\necho here\n")
    with pytest.raises(RalphError, match=r"'agent\.sh' was not found"):
        call.check_installed(Provider(command="agent.sh"), tmp_path)
    call.check_installed(Provider(command="./agent.sh"), tmp_path)
    assert test_agent_call.ask(tmp_path, Provider(command="./agent.sh")).tail == "here"


def test_a_service_s_last_words_are_whole(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "!secret-secret")
    assert failure(tmp_path, Web(tmp_path).service(start="printf 'cannot start!'; exit 3")).endswith("cannot start!")


def test_a_restarted_service_s_failure_is_told_with_its_own_words(tmp_path: Path) -> None:
    service = Web(tmp_path).service(
        start='test -f second && life=second || life=first; touch second; echo "error: $life life"; seq 100; exit 1'
    )
    failure(tmp_path, service)
    assert "first life" not in failure(tmp_path, service)


# git


def test_restoring_a_link_deletes_nothing_behind_it(checkout: Checkout, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("a person's\n")
    (checkout.root / "d").symlink_to(outside)
    checkout.git("add", "d")
    checkout.git("commit", "-qm", "link")
    checkout.place = checkout.look()
    checkout.agent("rm d; mkdir d; echo agent > d/x; git add -A d; git commit -qm work")
    do(checkout.place.restore(checkout.base, "revert", "auth"))
    assert (outside / "x").exists()


def test_a_person_s_edit_of_a_left_new_file_is_not_overwritten(checkout: Checkout) -> None:
    checkout.leave("echo agent > new.txt")
    checkout.write("new.txt", "agent, corrected by a person\n")
    place = checkout.look()
    do(claim(place, "auth"))
    do(bring_back(place, "auth"))
    assert checkout.read("new.txt") == "agent, corrected by a person\n"


@pytest.mark.parametrize(
    "script",
    [
        "git switch -q -c o; echo x > w; git add w; git commit -qm w",
        "echo x > w; git add w; git commit -q --amend -m w",
    ],
)
def test_nothing_of_a_stray_agent_stays_on_disk(checkout: Checkout, script: str) -> None:
    checkout.agent(script)
    assert not checkout.changes().any
    assert checkout.status() == []


@pytest.mark.parametrize(
    "script",
    ["echo bad > app.txt; git add app.txt; echo app > app.txt", "echo bad > t; git add t; rm t"],
)
def test_restoring_commits_nothing_that_was_only_staged(checkout: Checkout, script: str) -> None:
    checkout.agent(script)
    do(checkout.place.restore(checkout.base, "revert", "auth"))
    assert do(checkout.place.repo.between(checkout.base, "HEAD")) == ()
    assert checkout.status() == []


@pytest.mark.parametrize(
    "script",
    [
        "rm app.txt; mkdir app.txt; echo x > app.txt/x; git add -A; git commit -qm w",
        "rm -r d; echo x > d; git add -A; git commit -qm w",
        "mkdir n; cd n; git init -q; echo x > x; git add .; git commit -qm n",
        "mkdir n; cd n; git init -q; echo x > x; git add .; git commit -qm n; cd ..; git add n; git commit -qm w",
    ],
    ids=["file to folder", "folder to file", "another repository", "another repository committed"],
)
def test_anything_can_be_restored(checkout: Checkout, script: str) -> None:
    checkout.committed("d/x", "x\n")
    checkout.place = checkout.look()
    checkout.agent(script)
    checkout.keep()
    do(checkout.place.restore(checkout.base, "revert", "auth"))
    assert do(checkout.place.repo.between(checkout.base, "HEAD")) == ()


def test_another_repository_does_not_stop_a_stray_from_coming_back(checkout: Checkout) -> None:
    checkout.agent("mkdir n; cd n; git init -q; echo x > x; cd ..; git switch -qc o")
    checkout.straighten()


def test_a_folder_that_became_a_link_is_kept(checkout: Checkout) -> None:
    checkout.committed("d/x", "x\n")
    checkout.place = checkout.look()
    checkout.agent("rm -r d; ln -s .ralph d")
    checkout.keep()


HALF = {
    "merge without conflict": "git merge -q --no-commit --no-ff other",
    "merge, all resolved": "echo m > app.txt; git commit -qam m; git merge -q other || echo n > app.txt; git add .",
    "merge elsewhere": "git switch -qc mine; echo m > app.txt; git commit -qam m; git merge -q other || true",
    "cherry-pick elsewhere": "git switch -qc mine; echo m > app.txt; git commit -qam m; git cherry-pick other || true",
    "revert": "git revert --no-commit HEAD",
    "rebase": "echo m > app.txt; git commit -qam m; git rebase -q other || true",
}


@pytest.mark.parametrize("script", HALF.values(), ids=HALF.keys())
def test_after_anything_half_done_the_branch_takes_commits_again(checkout: Checkout, script: str) -> None:
    checkout.agent("git switch -qc other; echo o > app.txt; git commit -qam o; git switch -q ralph/auth")
    checkout.agent(script)
    checkout.straighten()
    checkout.write(".ralph/prd.json", "{}\n")
    assert do(checkout.place.repo.commit_own([".ralph/prd.json"], "state"))
    assert "in progress" not in checkout.git("status")
    assert "still merging" not in checkout.git("status")
    assert "currently" not in checkout.git("status")


def test_a_stray_agent_s_conflict_is_kept_too(checkout: Checkout) -> None:
    checkout.agent("git switch -qc other; echo o > app.txt; git commit -qam o; git switch -q ralph/auth")
    checkout.agent(
        "git switch -qc mine; echo m > app.txt; git commit -qam m; git merge -q other || true; echo by hand > app.txt"
    )
    checkout.straighten()
    assert checkout.git("show", f"{checkout.strays()[0]}:app.txt") == "by hand"


@pytest.mark.parametrize("script", ["git checkout -q --orphan fresh", "git update-ref -d refs/heads/ralph/auth"])
def test_a_branch_without_commits_is_put_right(checkout: Checkout, script: str) -> None:
    checkout.agent(script)
    assert checkout.straighten().status.head == checkout.base


@pytest.mark.parametrize(
    "script",
    ["echo x > t; git add t; rm t", "mkdir n; cd n; git init -q; echo x > x"],
    ids=["staged and gone", "another repository"],
)
def test_nothing_to_commit_is_not_a_hook_that_refused(checkout: Checkout, script: str) -> None:
    checkout.agent(f"echo w > w; git add w; git commit -qm w; {script}")
    checkout.keep()
    _, paths = do(checkout.place.to_commit())
    assert not paths or do(checkout.place.commit_left(paths, "feat")).code == 0


def test_what_an_agent_staged_of_ralph_s_is_not_in_the_work_s_commit(checkout: Checkout) -> None:
    checkout.committed(".ralph/prd.json", "good\n")
    checkout.place = checkout.look()
    checkout.agent("echo evil > .ralph/prd.json; git add .ralph/prd.json; echo w > w; echo good > .ralph/prd.json")
    checkout.changes()
    _, paths = do(checkout.place.to_commit())
    do(checkout.place.commit_left(paths, "feat"))
    assert checkout.git("show", "HEAD:.ralph/prd.json") == "good"


def test_taking_a_person_s_file_out_commits_nothing_else(checkout: Checkout) -> None:
    checkout.write("secret", "s\n")
    checkout.place = checkout.look()
    checkout.agent("git add -f secret; git commit -qm s; echo w > w; git add w")
    assert checkout.changes().left == ("w",)


def test_no_own_paths_is_nothing_to_do(checkout: Checkout) -> None:
    assert not do(checkout.place.repo.commit_own([], "m"))


def test_one_ignored_own_file_does_not_keep_back_the_others(checkout: Checkout) -> None:
    checkout.committed(".gitignore", "*.md\n")
    checkout.write(".ralph/prd.json", "x\n")
    checkout.write(".ralph/prd.md", "x\n")
    assert do(checkout.place.repo.commit_own([".ralph/prd.json", ".ralph/prd.md"], "m"))


def test_a_name_that_is_no_text_does_not_stop_a_run(checkout: Checkout) -> None:
    checkout.leave("echo agent > new.txt")
    checkout.committed(os.fsdecode(b"latin-\xe9.txt"), "x\n")
    place = checkout.look()
    do(claim(place, "auth"))
    do(bring_back(place, "auth"))


def test_an_odd_subject_does_not_stop_a_run(checkout: Checkout) -> None:
    checkout.git("commit", "-q", "--allow-empty", "-m", "one\x0cpage \u2028 two")
    checkout.git("update-ref", "refs/ralph/attempts/auth/US-001/1", "HEAD")
    assert len(look.attempts(checkout.root, "auth")) == 1


def test_a_submodule_that_moved_on_is_restored(person: Project) -> None:
    add_submodule(person)
    checkout = Checkout(person)
    checkout.agent("cd lib; echo m > file.txt; git commit -qam m; cd ..; git add lib; git commit -qm w")
    do(checkout.place.restore(checkout.base, "revert", "auth"))
    assert checkout.status() == []
    assert not do(checkout.place.changed_beside_own(checkout.base))


def test_a_lock_that_a_killed_agent_left_does_not_stop_the_run(checkout: Checkout) -> None:
    checkout.agent("echo x > w; touch .git/index.lock")
    checkout.keep()
    _, paths = do(checkout.place.to_commit())
    assert do(checkout.place.commit_left(paths, "feat")).code == 0


def test_looking_is_not_misled_by_git_dir(person: Project, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert look.branches(person.path).keys() == {"main"}


def test_left_work_that_made_a_folder_of_a_file_is_known_again(checkout: Checkout) -> None:
    checkout.leave("rm app.txt; mkdir app.txt; echo x > app.txt/x")
    do(claim(checkout.look(), "auth"))
