"""Working copies: what an agent leaves there is taken as it lies on disk, whatever it told git, and nothing else is."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ralph.checkout.branch import TargetBranch
from ralph.checkout.commit_subject import subject_of
from ralph.checkout.hooks import commit_with_hooks
from ralph.checkout.own_files import OwnFiles
from ralph.checkout.plan_worktree import PlanWorktree
from ralph.checkout.working_copy import WorkingCopy
from ralph.checkout.worktrees import note_use
from ralph.errors import RalphError
from ralph.git.repo import open_repo
from tests.conftest import Project
from tests.integration.conftest import ODD_NAMES, add_submodule, executable

T = TypeVar("T")


def do(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


class Copy:
    """A working copy of a project, and an agent in it."""

    def __init__(self, person: Project, **more: Any) -> None:
        self.person = person
        self.base = person.git("rev-parse", "HEAD")
        repo = do(open_repo(person.path))
        self.copy = WorkingCopy(
            repo=repo, folder=person.path / ".ralph/worktrees/.slots/1", own=OwnFiles(), branch="ralph/auth", **more
        )
        do(self.copy.reset(self.base))

    def agent(self, script: str) -> None:
        subprocess.run(["/bin/sh", "-ec", script], cwd=self.copy.root, env=self.person.env, check=True)

    def take(self) -> tuple[set[str], tuple[str, ...]]:
        """What changed, and what was left out."""
        taken = do(self.copy.take(self.base, "x"))
        assert self.person.git("diff-tree", "-r", "--name-only", self.base, taken.commit).split() == sorted(taken.paths)
        self.commit = taken.commit
        return set(taken.paths), taken.left_out


@pytest.fixture
def copy(person: Project) -> Copy:
    person.write(".gitignore", "lib/\n*.pyc\n.env\n")
    person.write("src/main.py", "main\n")
    person.write("src/old.py", "old\n")
    person.git("add", "-A")
    person.git("commit", "-qm", "A base")
    person.write(".env", "SECRET\n")
    return Copy(person)


def test_it_has_the_files_of_a_commit_and_a_repository_of_its_own(copy: Copy) -> None:
    assert (copy.copy.root / "src/main.py").read_text() == "main\n"
    assert not (copy.copy.root / ".env").exists()
    copy.agent('test -z "$(git status --porcelain)"; test "$(git branch --show-current)" = ralph/auth; git log -1 -q')
    assert copy.take() == (set(), ())


def test_all_that_lies_on_disk_is_taken(copy: Copy) -> None:
    copy.agent(
        "echo x >> src/main.py; rm src/old.py; mkdir new; echo y > new/file; ln -s file new/link; chmod +x app.txt"
    )
    changed, left_out = copy.take()
    assert changed == {"src/main.py", "src/old.py", "new/file", "new/link", "app.txt"}
    assert left_out == ()
    assert copy.person.git("ls-tree", copy.commit, "new/link").startswith("120000")
    assert copy.person.git("ls-tree", copy.commit, "app.txt").startswith("100755")


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_are_taken_as_they_are(copy: Copy, name: str) -> None:
    path = copy.copy.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x\n")
    taken = do(copy.copy.take(copy.base, "x"))
    assert taken.paths == (name,)


def test_a_name_that_is_no_text_is_taken_byte_for_byte(copy: Copy) -> None:
    name = os.fsdecode(b"latin-\xe9.txt")
    (copy.copy.root / name).write_text("x\n")
    assert do(copy.copy.take(copy.base, "x")).paths == (name,)


HIDDEN = {
    "skip-worktree": "git update-index --skip-worktree src/main.py; echo x >> src/main.py",
    "assume-unchanged": "git update-index --assume-unchanged src/main.py; echo x >> src/main.py",
    "info/exclude": "echo 'new.py' >> .git/info/exclude; echo x > new.py",
    "a filter": (
        "git config filter.f.clean 'cat src/old.py'; echo '*.py filter=f' > .git/info/attributes; echo x >> src/main.py"
    ),
    "core.worktree": "mkdir $HOME/else; git config core.worktree $HOME/else; echo x > new.py",
    "fileMode": "git config core.fileMode false; chmod +x src/main.py",
    "a sparse checkout": "echo x >> src/main.py; git sparse-checkout set nothing || true; echo y > top.py",
    "an index of its own": "rm .git/index; echo x > new.py; git add new.py",
    "a hook": (
        "mkdir -p .git/hooks; printf '#!/bin/sh\\ngit rm -q --cached src/main.py' > .git/hooks/pre-commit;"
        " chmod +x .git/hooks/pre-commit; echo x > new.py; git add new.py; git commit -qm x"
    ),
    "no repository": "rm -rf .git; echo x > new.py",
    "another repository": "rm -rf .git; git init -q; git commit -q --allow-empty -m x; echo x > new.py",
    "a stale index": "touch .git/index.lock; echo x > new.py",
    "a half-done merge": "echo deadbeef > .git/MERGE_HEAD; echo x > new.py",
    "a commit on top": "echo x > new.py; git add -A; git commit -qm 1; git checkout -q --orphan o; git commit -qm 2",
    "grafts": "mkdir -p .git/info; git rev-parse HEAD > .git/info/grafts; echo x > new.py",
    "replaced objects": "echo x > new.py; git replace HEAD $(git commit-tree -m x $(git mktree </dev/null))",
}


@pytest.mark.parametrize("how", HIDDEN)
def test_nothing_that_an_agent_tells_git_hides_its_files_or_reaches_the_project(copy: Copy, how: str) -> None:
    before = copy.person.git("for-each-ref"), (copy.person.path / ".git/config").read_bytes()
    subprocess.run(["/bin/sh", "-c", HIDDEN[how]], cwd=copy.copy.root, env=copy.person.env)
    changed, _ = copy.take()
    assert changed, "what lies on disk is taken"
    for path in changed:
        on_disk = (copy.copy.root / path).read_bytes() if (copy.copy.root / path).exists() else None
        done = subprocess.run(
            ["git", "cat-file", "blob", f"{copy.commit}:{path}"],
            cwd=copy.person.path,
            env=copy.person.env,
            capture_output=True,
        )
        assert (done.stdout if done.returncode == 0 else None) == on_disk, path
    assert (copy.person.git("for-each-ref"), (copy.person.path / ".git/config").read_bytes()) == before
    do(copy.copy.reset(copy.base))
    assert copy.take() == (set(), ()), "and nothing of it stays"


def test_what_git_would_not_take_is_named(copy: Copy) -> None:
    copy.copy.max_file_bytes = 1_000_000
    copy.agent(
        "mkdir lib __pycache__; echo x > lib/parser.py; echo x > __pycache__/a.pyc; git init -q inner;"
        "git init -q full; cd full; git commit -q --allow-empty -m x; echo x > b; cd ..;"
        "head -c 1500000 /dev/zero > big.bin; echo x > small.py"
    )
    changed, left_out = copy.take()
    assert changed == {"small.py"}
    assert sorted(left_out) == [
        "big.bin (it is 2 MB, which exceeds commits.maxFileMb)",
        "full (it is a separate git repository)",
        "inner/ (it is a separate git repository)",
        "lib/ (git ignores it)",
    ]
    do(copy.copy.reset(copy.base))
    assert not (copy.copy.root / "inner").exists() and not (copy.copy.root / "full").exists()


def test_no_name_makes_ralph_remove_anything_elsewhere(copy: Copy) -> None:
    victim = copy.person.folder / "victim"
    victim.mkdir()
    copy.agent(f"""d="$(printf "n\\nerror: '")"; mkdir -p "$d{victim}"; cd "$d{victim}"; git init -q .""")
    _, left_out = copy.take()
    assert left_out == (f"n\nerror: '{victim}/ (it is a separate git repository)",)
    do(copy.copy.reset(copy.base))
    assert victim.is_dir()
    assert sorted(path.name for path in copy.copy.root.iterdir()) == [".git", ".gitignore", "app.txt", "src"]


def test_where_a_filter_lets_git_take_nothing_all_is_named_and_the_next_one_begins_without_it(copy: Copy) -> None:
    copy.person.git("config", "filter.f.clean", "false")
    copy.person.git("config", "filter.f.required", "true")
    copy.agent("echo '*.bin filter=f' > .gitattributes; mkdir new; echo x > new/a.bin; echo x > app.txt")
    changed, left_out = copy.take()
    assert changed == set()
    assert left_out == tuple(f"{path} (git could not add it)" for path in (".gitattributes", "app.txt", "new/a.bin"))
    do(copy.copy.reset(copy.base))
    assert copy.take() == (set(), ())


@pytest.mark.parametrize("end", ["kill -9 $$", "exit 137"])
def test_work_is_taken_although_somebody_kills_git(copy: Copy, end: str) -> None:
    """As the system does when it is out of memory; it is not the agent's fault, and nothing of its work is lost."""
    git, folder = shutil.which("git"), copy.person.folder / "bin"
    folder.mkdir()
    kills = '[ "$word" = add ] && mkdir "$0.killed" 2>/dev/null && touch "$GIT_INDEX_FILE.lock"'
    (folder / "git").write_text(f'#!/bin/sh\nfor word; do {kills} && {end}; done\nexec {git} "$@"\n')
    (folder / "git").chmod(0o755)
    copy.agent("echo x > new.txt")
    copy.copy.repo.environment = {**copy.copy.repo.environment, "PATH": f"{folder}:{os.environ['PATH']}"}
    assert copy.take() == ({"new.txt"}, ())
    assert (folder / "git.killed").is_dir()


def test_an_agent_may_change_what_is_ignored_and_a_person_s_ignored_files_are_out_of_its_reach(copy: Copy) -> None:
    copy.agent("echo > .gitignore; mkdir lib; echo x > lib/parser.py; git add -A; git commit -qm 'no rules'")
    changed, left_out = copy.take()
    assert changed == {".gitignore", "lib/parser.py"}, "and no .env: it was never here"
    assert left_out == ()
    assert (copy.person.path / ".env").read_text() == "SECRET\n"


def test_what_was_ignored_before_the_agent_began_is_not_its_work_when_the_rules_change(copy: Copy) -> None:
    copy.agent("mkdir lib; echo earlier > lib/earlier.py")
    copy.take()
    do(copy.copy.reset(copy.base))
    copy.agent("echo > .gitignore; echo now > lib/now.py")
    changed, left_out = copy.take()
    assert changed == {".gitignore", "lib/now.py"}
    assert left_out == ("lib/earlier.py (it existed before and was ignored)",)


def test_a_folder_that_ralph_made_for_what_it_provided_is_not_named_and_what_else_is_in_it_is(person: Project) -> None:
    person.write(".gitignore", "lib/\n")
    person.git("add", "-A")
    person.git("commit", "-qm", "Rules")
    copy = Copy(person, provided=frozenset({"lib/models/small", "lib/c.bin.local"}))
    copy.agent("mkdir -p lib/models/small; echo x > lib/models/small/a.bin")
    assert copy.take() == (set(), ())
    copy.agent("mkdir lib/models/mine; echo x > lib/models/mine/b.bin; echo x > lib/c.bin")
    assert copy.take() == (set(), ("lib/c.bin (git ignores it)", "lib/models/mine/ (git ignores it)"))


def test_what_ralph_provided_is_nobody_s_work(person: Project) -> None:
    copy = Copy(person, provided=frozenset({"node_modules", "config/.env.test"}))
    copy.agent(
        "mkdir -p node_modules/x config; echo x > node_modules/x/y; echo s > config/.env.test; echo z > config/new"
    )
    assert copy.take() == ({"config/new"}, ())
    do(copy.copy.reset(copy.base))
    do(copy.copy.clean())
    assert sorted(str(path.relative_to(copy.copy.root)) for path in copy.copy.root.glob("[nc]*/**/*")) == [
        "config/.env.test",
        "node_modules/x",
        "node_modules/x/y",
    ]


def test_own_files_are_taken_only_where_they_may_be_written(person: Project) -> None:
    person.write(".ralph/plan.json", "{}\n")
    person.git("add", "-A")
    person.git("commit", "-qm", "A plan")
    copy = Copy(person)
    copy.agent("echo evil > .ralph/plan.json; echo note > .ralph/notes.md; echo x > new.py")
    taken = do(copy.copy.take(copy.base, "x", also=[".ralph/notes.md"]))
    assert taken.paths == ("new.py",)
    assert person.git("show", f"{taken.commit}:.ralph/plan.json") == "{}"
    assert person.git("show", f"{taken.commit}:.ralph/notes.md") == "note"


def test_a_file_that_attributes_came_after_is_only_changed_by_who_changes_it(person: Project) -> None:
    (person.path / "data.txt").write_bytes(b"a\r\nb\r\n")
    person.git("add", "-A")
    person.git("commit", "-qm", "With CRLF")
    person.write(".gitattributes", "*.txt text\n")
    person.git("add", ".gitattributes")
    person.git("commit", "-qm", "Attributes")
    copy = Copy(person)

    copy.agent("touch -d 2001-01-01 data.txt; echo x > new")
    assert copy.take() == ({"new"}, ())
    copy.agent("printf 'a\\nb\\n' > data.txt")
    assert copy.take() == ({"data.txt", "new"}, ())


def test_only_what_differs_is_written(copy: Copy) -> None:
    before = (copy.copy.root / "src/main.py").stat()
    copy.agent("echo x >> src/old.py; echo new > new.py")
    copy.take()
    do(copy.copy.reset(copy.base))
    after = (copy.copy.root / "src/main.py").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert (copy.copy.root / "src/old.py").read_text() == "old\n"
    assert not (copy.copy.root / "new.py").exists()


def test_tracked_files_are_restored_and_untracked_ones_cleaned(copy: Copy) -> None:
    copy.agent("echo x >> src/main.py; rm src/old.py; echo made > report.txt; mkdir lib; echo cache > lib/cache")
    do(copy.copy.restore())
    assert (copy.copy.root / "src/main.py").read_text() == "main\n"
    assert (copy.copy.root / "src/old.py").exists() and (copy.copy.root / "report.txt").exists()
    do(copy.copy.clean())
    assert not (copy.copy.root / "report.txt").exists() and not (copy.copy.root / "lib").exists()


@pytest.mark.parametrize(
    "script",
    [
        "rm -rf src; echo file > src",
        "rm app.txt; mkdir app.txt; echo x > app.txt/y; git init -q app.txt",
        "rm -rf ./* .git",
    ],
)
def test_whatever_is_in_the_way_it_can_be_reset(copy: Copy, script: str) -> None:
    copy.agent(script)
    do(copy.copy.reset(copy.base))
    assert (copy.copy.root / "src/main.py").read_text() == "main\n"
    assert (copy.copy.root / "app.txt").read_text() == "app\n"


@pytest.mark.parametrize("instead", ["rm -rf 1; echo x > 1", "rm -rf 1.index; mkdir 1.index; touch 1.index/x"])
def test_a_copy_that_cannot_be_reset_is_made_anew(copy: Copy, instead: str) -> None:
    subprocess.run(["/bin/sh", "-ec", instead], cwd=copy.copy.folder.parent, check=True)
    do(copy.copy.reset(copy.base))
    assert (copy.copy.root / "src/main.py").read_text() == "main\n"
    assert copy.take() == (set(), ())
    assert sorted(path.name for path in copy.copy.folder.parent.iterdir()) == ["1", "1.index"]


def test_links_are_never_followed(copy: Copy) -> None:
    outside = copy.person.folder / "outside"
    outside.mkdir()
    (outside / "main.py").write_text("theirs\n")
    copy.agent(f"rm -r src; ln -s {outside} src")
    changed, _ = copy.take()
    assert changed == {"src", "src/main.py", "src/old.py"}
    do(copy.copy.reset(copy.base))
    assert (outside / "main.py").read_text() == "theirs\n"
    assert (copy.copy.root / "src/main.py").read_text() == "main\n"


def test_nothing_stays_in_a_submodule_when_a_copy_is_reset(person: Project) -> None:
    add_submodule(person)
    copy = Copy(person)
    copy.agent("touch lib/left; for f in lib/*; do echo tampered > $f; done")

    do(copy.copy.reset(copy.base))

    assert not (copy.copy.folder / "lib/left").exists()
    assert not [
        path for path in (copy.copy.folder / "lib").iterdir() if path.is_file() and "tampered" in path.read_text()
    ]


@pytest.mark.parametrize("link", ["deps/lib", "deps"])
def test_a_link_in_place_of_a_submodule_or_its_folder_leads_nowhere(person: Project, tmp_path: Path, link: str) -> None:
    add_submodule(person, "deps/lib")
    mine = tmp_path / "mine"
    (mine / "lib").mkdir(parents=True)
    for name in ("lib/file.txt", "file.txt", "lib/only.txt", "only.txt"):
        (mine / name).write_text("mine\n")
    copy = Copy(person)
    copy.agent(f"rm -rf {link}; ln -s {mine} {link}")

    copy.take()
    do(copy.copy.reset(copy.base))

    for name in ("lib/file.txt", "file.txt", "lib/only.txt", "only.txt"):
        assert (mine / name).read_text() == "mine\n"
    assert not list(mine.rglob(".git"))
    assert (copy.copy.folder / "deps/lib/file.txt").read_text() == "library\n"
    known = person.git("-C", "deps/lib", "cat-file", "--batch-all-objects", "--batch-check")
    assert person.git("hash-object", str(mine / "file.txt")) not in known


def test_an_agent_s_gitmodules_puts_no_submodule_in_place_of_other_files(person: Project) -> None:
    person.write("deps/zebra.txt", "tracked\n")
    person.git("add", "-A")
    add_submodule(person, "deps/lib")
    copy = Copy(person)
    copy.agent("git config -f .gitmodules submodule.deps/lib.path deps")
    copy.take()

    do(copy.copy.reset(copy.commit))

    assert (copy.copy.folder / "deps/zebra.txt").read_text() == "tracked\n"
    assert not (copy.copy.folder / "deps/file.txt").exists()


@pytest.mark.parametrize("how", ["git rm -q --cached .gitmodules; rm .gitmodules", "sed -i s/lib/other/ .gitmodules"])
def test_nothing_stays_in_a_submodule_that_nothing_names_any_more(person: Project, how: str) -> None:
    add_submodule(person)
    copy = Copy(person)
    copy.agent(how)
    copy.take()
    copy.agent("echo left > lib/left")

    do(copy.copy.reset(copy.commit))

    assert list((copy.copy.folder / "lib").iterdir()) == []


def test_a_submodule_inside_of_another_is_filled(person: Project) -> None:
    add_submodule(person)
    allowed = ("-c", "protocol.file.allow=always", "submodule", "--quiet")
    person.git("-C", "lib", *allowed, "add", str(person.folder / "library"), "inner")
    person.git("-C", "lib", "commit", "-qm", "with another")
    person.git("commit", "-qam", "with both")

    copy = Copy(person)

    assert (copy.copy.folder / "lib/inner/file.txt").read_text() == "library\n"
    assert copy.take() == (set(), ())


def test_submodules_come_from_the_person_s_own_and_changes_in_them_are_named(person: Project) -> None:
    add_submodule(person)
    copy = Copy(person)
    assert (copy.copy.root / "lib/file.txt").read_text() == "library\n"
    copy.agent('cd lib; test -z "$(git status --porcelain)"; echo more >> file.txt; git commit -qam more')
    changed, left_out = copy.take()
    assert changed == set()
    assert any(line.startswith("lib") and "submodule" in line for line in left_out)
    do(copy.copy.reset(copy.base))
    assert (copy.copy.root / "lib/file.txt").read_text() == "library\n"
    assert (person.path / "lib/file.txt").read_text() == "library\n"


def test_the_subject_is_that_of_the_agent_s_last_commit(copy: Copy) -> None:
    assert subject_of(copy.copy.folder, copy.base) == ""
    copy.agent("git commit -q --allow-empty -m 'feat: one' -m body; git commit -q --allow-empty -m 'feat: two'")
    assert subject_of(copy.copy.folder, copy.base) == "feat: two"
    copy.agent("echo 'ref: ../../../etc/passwd' > .git/HEAD")
    assert subject_of(copy.copy.folder, copy.base) == ""


# hooks


def hooked(copy: Copy, script: str, name: str = "pre-commit") -> Any:
    executable(copy.person.path / ".git/hooks" / name, f"#!/bin/sh\n{script}\n")
    copy.agent("echo x > new.py")
    copy.take()
    do(copy.copy.reset(copy.base, do(copy.copy.repo.tree_of(copy.commit))))
    return do(commit_with_hooks(copy.copy, copy.base, copy.commit, "feat: x", copy.person.env, owner="r"))


def test_a_hook_that_agrees_changes_nothing(copy: Copy) -> None:
    assert hooked(copy, "test -f new.py").commit == copy.commit


def test_a_hook_that_refuses_is_heard(copy: Copy) -> None:
    made = hooked(copy, "echo 'no new files' >&2; exit 3")
    assert made.refused == "exit code 1"
    assert "no new files" in made.output


def test_what_a_hook_stages_is_the_work(copy: Copy) -> None:
    made = hooked(copy, "echo formatted > new.py; git add new.py")
    assert copy.person.git("show", f"{made.commit}:new.py") == "formatted"
    assert copy.person.git("rev-parse", f"{made.commit}^") == copy.base


def test_a_hook_that_changes_many_files_is_read_by_one_question(copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    with copy.person.counting_git() as count:
        monkeypatch.setitem(copy.copy.repo.environment, "PATH", copy.person.env["PATH"])
        few = hooked(copy, "for n in 1 2; do echo $n > $n.py; done; git add '*.py'")
        started = count()
        many = hooked(copy, "for n in $(seq 60); do echo $n > $n.py; done; git add '*.py'")
        assert count() - started <= started
    assert copy.person.git("show", f"{few.commit}:2.py") == "2"
    assert copy.person.git("show", f"{many.commit}:60.py") == "60"


def test_a_hook_may_not_touch_ralph_s_files(copy: Copy) -> None:
    made = hooked(copy, "mkdir -p .ralph; echo x > .ralph/plan.json; git add -f .ralph")
    assert made.refused == "a hook changed Ralph's own files"


# the branch and the plan on it


@pytest.fixture
def plans(person: Project) -> PlanWorktree:
    person.write(".ralph/plan.json", "1\n")
    person.git("add", "-A")
    person.git("commit", "-qm", "A plan")
    repo = do(open_repo(person.path))
    branch = TargetBranch(repo=repo, name="ralph/auth", target="auth")
    return PlanWorktree(repo=repo, folder=person.path / ".ralph/worktrees/auth", branch=branch, own=OwnFiles())


def test_the_plan_is_on_disk_and_nobody_else_can_take_the_branch(person: Project, plans: PlanWorktree) -> None:
    do(plans.open())
    assert sorted(path.name for path in plans.root.iterdir()) == [".git", ".ralph"]
    assert (plans.root / ".ralph/plan.json").read_text() == "1\n"
    with pytest.raises(AssertionError, match="already"):
        person.git("switch", "-q", "ralph/auth")
    do(plans.remove())
    person.git("switch", "-q", "ralph/auth")
    with pytest.raises(RalphError, match="is checked out in"):
        do(plans.open())


def test_a_killed_run_s_plan_counts_wherever_the_branch_is_by_now(person: Project, plans: PlanWorktree) -> None:
    do(plans.open())
    (plans.root / ".ralph/plan.json").write_text("2\n")
    tip = do(plans.branch.tip())
    do(plans.open(known_tip=tip))
    assert (plans.root / ".ralph/plan.json").read_text() == "2\n"
    do(plans.open(known_tip="0" * 40))
    assert (plans.root / ".ralph/plan.json").read_text() == "2\n"
    do(plans.open())
    assert (plans.root / ".ralph/plan.json").read_text() == "1\n", "no run was killed: the branch's counts"


def test_state_is_added_to_a_tree_and_nothing_else_is(person: Project, plans: PlanWorktree) -> None:
    do(plans.open())
    (plans.root / ".ralph/plan.json").write_text("2\n")
    tip = do(plans.branch.tip())
    tree = do(plans.tree_with(tip, [".ralph/plan.json", ".ralph/gone.json"]))
    assert person.git("diff-tree", "-r", "--name-only", tip, tree).split() == [".ralph/plan.json"]
    commit = plans.repo.write_commit(tree, (tip,), "state")
    assert do(plans.branch.land(commit, tip))
    assert not do(plans.branch.land(tip, tip)), "it is not where it was"
    assert person.git("rev-parse", "ralph/auth") == commit


def test_who_moves_the_branch_meanwhile_is_undone_and_kept(person: Project, plans: PlanWorktree) -> None:
    do(plans.open())
    branch = plans.branch
    do(branch.watch())
    tip = branch.expected
    assert do(branch.reclaim()) == ""
    stranger = person.git("commit-tree", "-m", "x", "-p", tip, f"{tip}^{{tree}}")
    person.git("update-ref", "refs/heads/ralph/auth", stranger)
    kept = do(branch.reclaim())
    assert (person.git("rev-parse", kept), person.git("rev-parse", "ralph/auth")) == (stranger, tip)


def test_a_folder_that_looks_like_a_copy_is_no_reason_to_fail(copy: Copy) -> None:
    copy.copy.remove()
    Path(copy.copy.folder).mkdir(parents=True)
    (copy.copy.folder / "rest").write_text("of a killed run")
    do(copy.copy.reset(copy.base))
    do(copy.copy.clean())
    assert sorted(path.name for path in copy.copy.root.iterdir()) == [".git", ".gitignore", "app.txt", "src"]


def test_a_note_that_cannot_be_written_names_its_file(person: Project, tmp_path: Path) -> None:
    (tmp_path / "slots").write_text("a file where the folder should be")

    with pytest.raises(RalphError, match=r"slots/1\.used could not be saved"):
        note_use(tmp_path / "slots/1", "auth", do(open_repo(person.path)))
