"""What the session workflow's tests share: an agent that plays all four roles, and a session that is planned."""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

from tests.conftest import Project

Json = dict[str, Any]
ID = "weather"
FOLDER = f".ralph-sessions/{ID}"
BRANCH = f"ralph/{ID}"
REQUEST = "How warm is it?"
GATE = "! grep -qs red *.txt"
AGENT = r"""
prompt=$(cat)
field() { printf '%s\n' "$prompt" | sed -n "s/^$1: //p" | head -n 1; }
MODE=$(field MODE) TASK=$(field TASK_ID) NUMBER=$(field ATTEMPT_NUMBER) REPORT=$(field REPORT_PATH)
S=$(field SESSION_PATH) CYCLE=$(field CYCLE) ROUND=$(field ITERATION)
S=${S%/}
ID=${S##*/}
if test "$NUMBER"; then WHO="execute $TASK $NUMBER"
elif test "$TASK"; then
    WHO=${REPORT##*-r}; WHO=${WHO%.md}; case "$REPORT" in *-report.md) WHO=1 ;; esac
    WHO="review $TASK $WHO"
else WHO="$MODE $CYCLE$ROUND"
fi
printf '%s\n' "$WHO" >> "$AT/calls"

mark() { sed -i "s/\[.\] $1:/[$2] $1:/" $S/progress.md; }
add() {
    printf -- "- $1: Do $1\n    - **Inherits From**: ${2:-none}\n" >> $S/tasks.md
    printf -- "- [ ] $1: Do $1\n" >> $S/progress.md
}
hang() { touch "$AT/hangs"; sleep 60 & wait; }
initialize() {
    mkdir -p $S
    printf '# Weather\n\n## Goal & Success Criteria\n- it is known how warm it is\n' > $S/plan.md
    printf 'Plain text.\n' > $S/$ID.instructions.md
    for one in init brainstorm research breakdown; do
        printf -- "- plan-$one: Do it\n" >> $S/tasks.md; printf -- "- [ ] plan-$one: Do it\n" >> $S/progress.md
    done
    mark plan-init x
}
brainstorm() { printf '## Cycle %s\n\n1. How exact?\n' $CYCLE >> $S/plan.questions.md; mark plan-brainstorm x; }
research() { printf 'Answer: one digit.\n' >> $S/plan.questions.md; mark plan-research x; }
break_down() { add task-1; add task-2 task-1; mark plan-breakdown x; }
build() { echo "$WHO" > $TASK.txt; }
report() { printf '# %s\n\nDone.\n' "$WHO" > $REPORT; }
execute() { build; report; mark $TASK P; }
accept() { printf '\n## Review\n**Verdict**: Qualified\n' >> $REPORT; mark $TASK x; }
refuse() { printf '\n## Review\n**Verdict**: Failed\n- %s\n' "$1" >> $REPORT; mark $TASK ' '; }
look() { grep -o 'task-[0-9]*' $S/progress.md | sort -u; }
complete() { { look; printf '\n**Verdict**: Complete\n'; } > $S/progress.review$ROUND.md; }
gaps() { { look; printf '\n**Verdict**: Gaps\n- %s\n' "$1"; } > $S/progress.review$ROUND.md; add $2; }
usual() {
    case "$WHO" in
    INITIALIZE*) initialize ;;
    brainstorm*) brainstorm ;;
    research*) research ;;
    TASK_BREAKDOWN*) break_down ;;
    execute*) execute ;;
    review*) accept ;;
    SESSION_REVIEW*) complete ;;
    esac
}
"""


def plays(project: Project, cases: str = "", *gates: str, **more: Any) -> None:
    """An agent in all four roles: what the cases (of a shell) say about a call, or else what it should do."""
    agent = project.folder / "agent.sh"
    agent.write_text(f'AT={project.folder}\n{AGENT}\ncase "$WHO" in\n{cases}\n*) usual ;;\nesac\n')
    provider = {"command": "/bin/sh", "args": [str(agent)], **more.pop("provider", {})}
    project.config(*(gates or (GATE,)), provider=provider, **more)


def plan(project: Project, *tasks: str, mark: str = " ", **more: str) -> None:
    """A session that is planned, committed: `task-2 task-1` inherits from `task-1`; `mark` is that of all tasks."""
    names = ("plan-init", "plan-brainstorm", "plan-research", "plan-breakdown")
    split = [one.split() for one in tasks]
    project.write(f"{FOLDER}/plan.md", "# Weather\n\n## Goal & Success Criteria\n- it is known how warm it is\n")
    project.write(f"{FOLDER}/{ID}.instructions.md", "Plain text.\n")
    project.write(f"{FOLDER}/plan.questions.md", "## Cycle 1\n\n1. How exact?\nAnswer: one digit.\n")
    entries = [f"- {name}: Do it\n" for name in names]
    entries += [f"- {one[0]}: Do {one[0]}\n    - **Inherits From**: {', '.join(one[1:]) or 'none'}\n" for one in split]
    project.write(f"{FOLDER}/tasks.md", "".join(entries))
    lines = [f"- [x] {name}: Do it\n" for name in names] + [f"- [{mark}] {one[0]}: Do {one[0]}\n" for one in split]
    project.write(f"{FOLDER}/progress.md", "".join(lines))
    for name, text in more.items():
        project.write(f"{FOLDER}/{name}", text)
    project.git("add", ".ralph-sessions")
    project.git("commit", "-q", "-m", "A session")


def session(project: Project, *args: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    return project.ralph("session", "--no-baseline", *args, code=code)


def calls(project: Project) -> list[str]:
    """Who was called, in order: `execute task-1 1`, `review task-1 1`, `SESSION_REVIEW 1`, …"""
    path = project.folder / "calls"
    return [line.strip() for line in path.read_text().splitlines()] if path.exists() else []


def marks(project: Project) -> dict[str, str]:
    """The tasks with their marks."""
    return {task: mark for mark, task in re.findall(r"\[(.)\] (task-\d+):", artifact(project, "progress.md"))}


def artifact(project: Project, name: str) -> str:
    """A file of the session, where its truth is."""
    return project.truth(ID, f"{FOLDER}/{name}")


def names(project: Project) -> set[str]:
    """The files of the session that landed on its branch."""
    if not project.git("branch", "--list", BRANCH):
        return set()
    return {name.rpartition("/")[2] for name in project.files_in(BRANCH) if name.startswith(f"{FOLDER}/")}


def work(project: Project) -> list[str]:
    """The commits of tasks, oldest first: what is on the branch beside the person's commits and Ralph's state."""
    if not project.git("branch", "--list", BRANCH):
        return []
    state = f"chore: update session {ID}"
    return [line for line in reversed(project.subjects(f"main..{BRANCH}")) if line != state]


def made(project: Project, subject: str) -> list[str]:
    """The files that the commit of this subject changed, without the session's own."""
    names = project.git("log", "--format=", "--name-only", f"--grep=^{subject}", BRANCH).splitlines()
    return [name for name in names if not name.startswith(FOLDER)]


def is_left_alone(project: Project, *changes: str) -> None:
    """The person's checkout is as they left it: its branch, its commits, its files."""
    assert project.git("branch", "--show-current") == "main"
    assert set(project.subjects("main")) <= {"A project", "A session", "Somebody breaks it"}
    assert sorted(line for line in project.status() if line != "?? .ralph/") == sorted(changes)


def output(done: subprocess.CompletedProcess[str]) -> Json:
    found: Json = json.loads(done.stdout)
    return found


def prompt(project: Project, who: str) -> str:
    """The newest prompt of a call, such as `execute task-1`."""
    mode, _, task = who.partition(" ")
    wanted = f"TASK_ID: {task}\n" if task else f"MODE: {mode}\n"
    for text in reversed(project.prompts()):
        call = text.split("# Session Call")[1]
        if wanted in call and ("ATTEMPT_NUMBER" in call) == (mode == "execute"):
            return call
    raise AssertionError(f"there was no such call: {who}")
