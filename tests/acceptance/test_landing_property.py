"""RX.2: whatever stories, conflicts, failures and kills there are, each passed story is on the branch exactly once.

`RALPH_LANDING_CASES` says how many random cases are tried; each has a number, and can be tried alone.
"""

from __future__ import annotations

import os
import random
import subprocess
from dataclasses import dataclass, field

import pytest

from tests.conftest import Project, processes_in
from tests.instants import killed_at, resumed, states

CASES = int(os.environ.get("RALPH_LANDING_CASES", "14"))
GATE = "! ls bad-* >/dev/null 2>&1 && ! grep -q '<<<<' shared.txt && test -z \"$(sort shared.txt | uniq -d)\""
PRINT = "find . -name .git -prune -o -name .ralph -prune -o -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum"

AGENT = r"""
case "$(cat)" in *"Final Verification"*) echo '<ralph>VERIFIED</ralph>'; exit ;; esac
id=$RALPH_TASK here=__HERE__
while test -e "$here/calls/$id-$((n += 1))"; do :; done
: > "$here/calls/$id-$n"
turn=$(sed -n "${n}p" "$here/turns/$id")
sed -i '/^<<<<<<<\|^=======\|^>>>>>>>/d' shared.txt; sort -u -o shared.txt shared.txt
rm -f "bad-$id"
case "$turn" in
nothing) exit ;;
lie) echo '<ralph>DONE</ralph>'; exit ;;
blocked) echo '<ralph>BLOCKED</ralph>'; exit ;;
esac
echo "$id-$n" >> "work-$id.txt"
echo "$id-$n" >> "$here/written"
test -e "$here/shares/$id" && { echo "$id" >> shared.txt; sort -u -o shared.txt shared.txt; }
sleep "0.$((n * 7 % 3))"
case "$turn" in
bad) touch "bad-$id" ;;
committed|"") git add -A; git commit -qm "feat: $id" ;;
esac
test "$turn" = silent || echo '<ralph>DONE</ralph>'
"""


@dataclass
class Case:
    """One random case: the stories, what their agents do, and when Ralph is killed."""

    number: int
    random: random.Random = field(init=False)
    stories: list[dict[str, object]] = field(init=False)
    turns: dict[str, list[str]] = field(init=False)
    sharing: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.random = random.Random(self.number)
        ids = [f"US-{number:03}" for number in range(1, self.random.randint(3, 7) + 1)]
        self.stories = [
            {"title": name, "dependsOn": self.random.sample(ids[:place], min(place, self.random.choice((0, 0, 1, 2))))}
            for place, name in enumerate(ids)
        ]
        kinds = ("committed", "left", "left", "committed", "bad", "bad", "lie", "silent", "nothing", "blocked")
        self.turns = {name: [self.random.choice(kinds) for _ in range(self.random.randint(1, 4))] for name in ids}
        self.sharing = [name for name in ids if self.random.random() < 0.5]

    def prepare(self, project: Project) -> None:
        here = project.folder
        for name in ("calls", "turns", "shares"):
            (here / name).mkdir()
        for name, turns in self.turns.items():
            (here / "turns" / name).write_text("\n".join(turns) + "\n")
        for name in self.sharing:
            (here / "shares" / name).touch()
        (here / "written").touch()
        agent = here / "agent.sh"
        agent.write_text(AGENT.replace("__HERE__", str(here)))
        project.write("shared.txt", "middle\n")
        project.git("add", "shared.txt")
        project.git("commit", "-qm", "Shared")
        project.config(f"{GATE} && {PRINT} >> {here}/green", provider={"command": "/bin/sh", "args": [str(agent)]})
        project.stories(*self.stories)
        project.write("app.txt", "staged\n")
        project.git("add", "app.txt")
        project.write("app.txt", "changed\n")
        project.write("notes.txt", "a person's\n")

    def kill_some(self, project: Project) -> None:
        """Ralph is killed a few times, at an instant of its own work or after some time."""
        known: dict[str, set[str]] = {}
        for _ in range(self.random.choice((0, 1, 1, 2, 3))):
            jobs = str(self.random.randint(1, 4))
            if self.random.random() < 0.6:
                killed_at(project, self.random.randint(1, 250), "run", "auth", "--jobs", jobs)
            else:
                run = project.start("run", "auth", "--jobs", jobs)
                try:
                    run.communicate(timeout=self.random.uniform(0.2, 3))
                except subprocess.TimeoutExpired:
                    run.kill()
                    run.communicate()
            known = still_there(project, known)

    def finish(self, project: Project) -> None:
        known = still_there(project, {})
        done = project.ralph("run", "auth", "--jobs", str(self.random.randint(1, 4)), code=None)
        assert done.returncode in (0, 3), done.stdout + done.stderr
        still_there(project, known)


def still_there(project: Project, known: dict[str, set[str]]) -> dict[str, set[str]]:
    """What is kept now; everything that was kept before is among it."""
    refs = project.git("for-each-ref", "--format=%(refname)", "refs/ralph").splitlines()
    now = {ref: lines_in(project, ref) for ref in refs}
    for ref, lines in known.items():
        assert lines <= now.get(ref, set()), f"{ref} has lost something"
    return now


def lines_in(project: Project, revision: str) -> set[str]:
    """The lines that agents wrote, as a revision has them."""
    return set(project.git("grep", "-h", "-e", "^US-", revision, "--", "work-*", check=False).splitlines())


def persons(project: Project) -> list[str]:
    """All that is a person's: where the checkout stands, what is staged, changed and untracked."""
    index = project.git("ls-files", "--stage")
    return [
        project.git("symbolic-ref", "HEAD"),
        project.git("rev-parse", "HEAD"),
        index,
        project.git("diff"),
        *sorted(line for line in project.status() if "?? .ralph" not in line),
    ]


def landed(project: Project) -> list[str]:
    form = "--format=%(trailers:key=Ralph-Attempt,valueonly)"
    return [line for line in project.git("log", "--reverse", form, "ralph/auth").splitlines() if line]


def check(project: Project, case: Case) -> None:
    plan = project.plan_at("ralph/auth")
    trailers = landed(project)
    shared = project.git("show", "ralph/auth:shared.txt").splitlines()
    files = project.files_in("ralph/auth")
    refs = project.git("for-each-ref", "--format=%(refname)", "refs/ralph").splitlines()
    for story in plan["userStories"]:
        name = story["id"]
        own = [line for line in trailers if line.startswith(f"auth/{name}/")]
        has_file, has_line = f"work-{name}.txt" in files, name in shared
        if story.get("passes"):
            assert own == [f"auth/{name}/{story['attempts']}"], "landed exactly once"
            assert has_file
            assert shared.count(name) == (1 if name in case.sharing else 0)
            lines = project.git("show", f"ralph/auth:work-{name}.txt").splitlines()
            assert len(lines) == len(set(lines)), "nothing is there twice"
            needed = {other["id"] for other in plan["userStories"] if other.get("passes")}
            assert needed.issuperset(story.get("dependsOn", ())), "what it needs came before"
        else:
            assert (own, has_file, has_line) == ([], False, False), "nothing that is not verified is on the branch"
            if story.get("attempts"):
                assert f"refs/ralph/attempts/auth/{name}/{story['attempts']}" in refs, "its last work is kept"
    reachable = set().union(*(lines_in(project, ref) for ref in (*refs, "ralph/auth")))
    assert set((project.folder / "written").read_text().splitlines()) <= reachable, "all that was written is kept"


def check_green(project: Project) -> None:
    """Each commit that landed work was green as exactly this tree, but for Ralph's own files."""
    green = (project.folder / "green").read_text().splitlines() if landed(project) else []
    tree = project.folder / "landed"
    project.git("worktree", "add", "-q", "--detach", str(tree), "ralph/auth")
    commits = project.git("log", "--format=%H", "--grep=^Ralph-Attempt: ", "ralph/auth").splitlines()
    assert len(commits) == len(landed(project))
    for commit in commits:
        subprocess.run(["git", "checkout", "-q", commit], cwd=tree, check=True)
        seen = subprocess.run(["/bin/sh", "-c", PRINT], cwd=tree, capture_output=True, text=True, check=True)
        assert seen.stdout.strip() in green, commit


def check_surroundings(project: Project) -> None:
    assert processes_in(project.folder) == []
    assert list((project.path / ".ralph/run").glob("*/*.attempt.json")) == []
    assert not (project.path / ".ralph/ralph.lock").exists()
    assert [path.name for path in project.folder.glob("ralph-*")] == [], "temporary folders are gone"
    assert [path.name for path in (project.path / ".git").rglob("ralph-index-*")] == []
    assert "ralph" not in (project.path / ".git/info/exclude").read_text()
    tree = project.folder / "tree"
    project.git("worktree", "add", "-q", "--detach", str(tree), "ralph/auth")
    assert subprocess.run(["/bin/sh", "-c", GATE], cwd=tree).returncode == 0, "the branch is green"


@pytest.mark.parametrize("number", range(CASES))
def test_each_passed_story_is_on_the_branch_once_and_all_other_work_is_kept(project: Project, number: int) -> None:
    case = Case(number)
    case.prepare(project)
    before = persons(project)
    case.kill_some(project)
    case.finish(project)
    check(project, case)
    assert persons(project) == before
    check_surroundings(project)
    check_green(project)


@pytest.mark.long
def test_killed_at_any_instant_side_by_side_the_next_run_lands_each_story_once(project: Project) -> None:
    case = Case(0)
    case.stories = [{"title": "One"}, {"title": "Two"}, {"title": "Three", "dependsOn": ["US-001"]}]
    case.turns = {"US-001": ["bad", "left"], "US-002": ["committed"], "US-003": ["left"]}
    case.sharing = ["US-001", "US-002"]
    case.prepare(project)
    before = persons(project)
    for _ in states(project, "run", "auth", "--jobs", "2", least=70):
        if not resumed(project, "run", "auth", "--jobs", "2"):
            continue
        assert all(story["passes"] for story in project.plan_at("ralph/auth")["userStories"])
        check(project, case)
        assert persons(project) == before
        check_surroundings(project)
