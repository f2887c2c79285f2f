"""R4.1: from requirements to a plan and a project, without ever overwriting anything."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ralph import prompts
from tests.acceptance.requirements import PLANNING, REQUIREMENTS, Empty, check, does
from tests.conftest import processes_in

INIT = ("init", "--provider", "scripted", "--requirements", "requirements.md")
TASKS = [
    {"id": "T-001", "title": "One", "description": "the first", "acceptance_criteria": ["it is there"]},
    {"id": "T-002", "title": "Two", "depends_on": ["T-001"]},
]
ANSWER = {"match": PLANNING, "answer": {"project": "shop", "description": "A shop", "tasks": TASKS}}


def scripted(project: Empty, *turns: dict[str, Any]) -> None:
    """A script where `--provider scripted` looks for it."""
    project.script_file = project.path / "agent.json"
    project.script(*turns)


def nothing_was_founded(project: Empty) -> bool:
    made = ("ralph.config.json", ".ralph/prd.json", ".ralph/configs", ".ralph/prompts", "project", ".git")
    return not any(project.exists(name) for name in made)


def test_r4_1_the_whole_layout_is_made(empty: Empty) -> None:
    scripted(empty, ANSWER)

    done = empty.ralph(*INIT, "--verify", "test -f one.txt", "--verify", "true")

    wrote = [line.removeprefix("wrote ") for line in done.stdout.splitlines() if line.startswith("wrote ")]
    assert set(wrote) == {
        "ralph.config.json",
        ".ralph/config.schema.json",
        ".ralph/steps.schema.json",
        ".ralph/requirements.md",
        ".ralph/prompts/SETUP_PROMPT.md",
        ".ralph/prompts/LOOP_PROMPT.md",
        ".ralph/configs/default.json",
        ".ralph/prd.json",
        "project/",
        "project/.git/",
    }
    assert all(empty.exists(name) for name in wrote)
    assert "2 tasks: A shop\n  T-001  One\n  T-002  Two\n" in done.stdout
    assert done.stdout.endswith("→ Then run `ralph run`.\n")
    left = [path.name for path in (empty.path / ".ralph/worktrees").iterdir()]
    assert left == [".gitignore"], "the copy that the agent planned in is gone"
    assert empty.read(".ralph/requirements.md") == REQUIREMENTS == empty.read("requirements.md")
    for name in ("SETUP_PROMPT", "LOOP_PROMPT"):
        assert empty.read(f".ralph/prompts/{name}.md") == prompts.built_in(name)
    config, steps, plan = empty.json("ralph.config.json"), empty.json(".ralph/configs/default.json"), empty.plan()
    check(config, "config")
    check(steps, "steps")
    check(plan, "tasks")
    assert config["verify"]["default"] == ["test -f one.txt", "true"]
    assert config["commits"]["branch"] == "current", "the application's folder shows the application"
    assert [step["type"] for step in steps["steps"]] == ["agent", "agent", "verify", "git-commit"]
    assert (plan["version"], plan["project"], plan["app"], plan["description"]) == (1, "shop", "project", "A shop")
    assert [task["status"] for task in plan["tasks"]] == ["todo", "todo"]
    assert plan["tasks"][1]["depends_on"] == ["T-001"]
    assert "✗" not in empty.ralph("validate").stdout
    assert REQUIREMENTS in empty.prompts()[0]


def test_r4_1_the_application_has_a_repository_with_a_first_commit(empty: Empty) -> None:
    scripted(empty, ANSWER)

    empty.ralph(*INIT)

    empty.inner = "project"
    assert empty.subjects() == ["chore: begin"]
    assert empty.files_in("HEAD") == []
    assert empty.git("status", "--porcelain") == ""
    assert empty.git("rev-parse", "--show-toplevel") == str(empty.app)
    assert not empty.exists(".git")


def test_r4_1_without_an_identity_for_git_the_first_commit_is_made_all_the_same(empty: Empty) -> None:
    scripted(empty, ANSWER)
    (empty.home / ".gitconfig").write_text("[init]\n\tdefaultBranch = main\n")

    empty.ralph(*INIT)

    empty.inner = "project"
    assert empty.git("log", "--format=%an %s") == "Ralph chore: begin"


def test_r4_1_inside_of_a_repository_no_second_one_is_made(empty: Empty) -> None:
    empty.git("init", "-q")
    empty.git("add", ".")
    empty.git("commit", "-qm", "Mine")
    scripted(empty, ANSWER, does("T-001", "one.txt"), does("T-002", "two.txt"))

    empty.ralph(*INIT, "--verify", "true")

    assert empty.plan()["app"] == ""
    assert "branch" not in empty.json("ralph.config.json")["commits"], "a person's branch is theirs to move"
    assert empty.subjects() == ["Mine"]
    assert empty.repositories() == [empty.path]
    assert not empty.exists("project")


@pytest.mark.parametrize("given", ["apps/web", "apps/web/", "./apps/web"])
def test_r4_1_inside_of_a_repository_the_application_can_be_a_folder_of_it(empty: Empty, given: str) -> None:
    empty.git("init", "-q")
    empty.git("add", ".")
    empty.git("commit", "-qm", "Mine")
    scripted(empty, ANSWER)

    empty.ralph(*INIT, "--app", given)

    assert empty.plan()["app"].strip("./") == "apps/web"
    assert "branch" not in empty.json("ralph.config.json")["commits"]
    assert (empty.path / "apps/web").is_dir()
    assert empty.repositories() == [empty.path]
    assert empty.subjects() == ["Mine"]


@pytest.mark.parametrize(("given", "app"), [(".", ""), ("./", ""), ("store", "store")])
def test_r4_1_elsewhere_the_application_can_be_named_too(empty: Empty, given: str, app: str) -> None:
    scripted(empty, ANSWER)

    empty.ralph(*INIT, "--app", given)

    assert empty.plan()["app"] == app
    assert empty.json("ralph.config.json")["commits"].get("branch") == ("current" if app else None)
    assert empty.repositories() == [empty.path / app]
    empty.inner = app
    assert empty.subjects() == ["chore: begin"]
    assert empty.files_in("HEAD") == []


def test_r4_1_a_repository_without_commits_gets_an_empty_one_and_what_is_staged_stays_staged(empty: Empty) -> None:
    empty.git("init", "-q")
    empty.git("add", "requirements.md")
    scripted(empty, ANSWER)

    empty.ralph(*INIT)

    assert empty.subjects() == ["chore: begin"]
    assert empty.files_in("HEAD") == [], "what a person staged is a person's to commit"
    assert "A  requirements.md" in empty.git("status", "--porcelain")


@pytest.mark.parametrize("given", ["../other", "/tmp/other", ".ralph", ".ralph/app", ".git", "requirements.md"])
def test_r4_1_an_impossible_folder_for_the_application_is_refused(empty: Empty, given: str) -> None:
    scripted(empty, ANSWER)
    before = empty.files()

    empty.errors(*INIT, "--app", given)

    assert empty.files() == before
    assert nothing_was_founded(empty)


def test_r4_1_the_folders_name_becomes_the_applications(empty: Empty) -> None:
    renamed = empty.path.rename(empty.folder / "mein Lädchen (neu)!")
    empty.path = renamed
    scripted(empty, ANSWER)

    empty.ralph(*INIT)

    assert empty.plan()["app"] == "mein-L-dchen-neu"
    assert (renamed / "mein-L-dchen-neu/.git").is_dir()


def test_r4_1_nothing_that_is_there_is_overwritten(empty: Empty) -> None:
    scripted(empty, ANSWER)
    provider = {"command": "ralph", "args": ["scripted", "agent.json"]}
    mine = {
        "ralph.config.json": json.dumps({"provider": provider, "verify": {"default": ["mine"]}}),
        ".ralph/.gitignore": "mine\n",
        ".ralph/requirements.md": "mine\n",
        ".ralph/prompts/LOOP_PROMPT.md": "mine\n",
        ".ralph/configs/default.json": '{"steps": [{"type": "agent"}]}',
        ".ralph/learnings.md": "- mine\n",
        "project/mine.txt": "mine\n",
    }
    for name, text in mine.items():
        empty.write(name, text)

    done = empty.ralph(*INIT, "--verify", "theirs")

    assert {name: empty.read(name) for name in mine} == mine
    assert empty.exists(".ralph/prd.json")
    assert empty.exists(".ralph/prompts/SETUP_PROMPT.md")
    assert "wrote ralph.config.json" not in done.stdout
    empty.inner = "project"
    assert empty.files_in("HEAD") == [], "a person's files are a person's to commit"


def test_r4_1_a_second_init_says_what_is_there(empty: Empty) -> None:
    scripted(empty, ANSWER)
    empty.ralph(*INIT)
    before = empty.files()

    said = empty.errors(*INIT)

    assert "A plan already exists: .ralph/prd.json." in said
    assert 'ralph add "more work"' in said
    assert "ralph status requirements" in said
    assert empty.files() == before
    assert len(empty.prompts()) == 1, "nobody was asked"
    assert "already exists and was not changed" in empty.ralph("init").stdout


BAD: dict[str, tuple[bytes | None, str]] = {
    "missing": (None, "requirements.md does not exist."),
    "empty": (b"", "requirements.md is empty."),
    "blank": (b" \n\t\n", "requirements.md is empty."),
    "binary": (b"\x89PNG\r\n\xff\xfe", "requirements.md is not UTF-8 text."),
    "huge": (b"a line\n" * 200_000, "requirements.md is larger than a megabyte."),
}


@pytest.mark.parametrize("what", BAD)
def test_r4_1_requirements_that_are_none_are_refused_before_anything_is_written(empty: Empty, what: str) -> None:
    data, message = BAD[what]
    file = empty.path / "requirements.md"
    file.unlink()
    if data is not None:
        file.write_bytes(data)
    scripted(empty, ANSWER)
    before = empty.files()

    said = empty.errors(*INIT)

    assert message in said
    assert empty.files() == before
    assert not empty.exists(".ralph")


def test_r4_1_a_folder_instead_of_requirements_is_refused(empty: Empty) -> None:
    (empty.path / "requirements.md").unlink()
    (empty.path / "requirements.md").mkdir()

    said = empty.errors(*INIT)

    assert "requirements.md" in said
    assert not empty.exists(".ralph")


def test_r4_1_an_agent_that_is_not_installed_is_told_before_anything_is_written(empty: Empty) -> None:
    before = empty.files()

    said = empty.errors("init", "--provider", "amp", "--requirements", "requirements.md")

    assert "The agent 'amp' was not found." in said
    assert "npm install -g @sourcegraph/amp" in said
    assert empty.files() == before


def test_r4_1_prose_is_asked_for_again_with_the_mistake_in_the_prompt(empty: Empty) -> None:
    scripted(
        empty,
        {"match": PLANNING, "times": 1, "say": ["I would begin with the till."]},
        {"match": PLANNING, "times": 1, "answer": "I would begin with the till."},
        ANSWER,
    )

    done = empty.ralph(*INIT)

    first, second, third = empty.prompts()
    assert "Your Last Answer Could Not Be Used" not in first
    assert "was not written" in second.split("## Your Last Answer Could Not Be Used")[1]
    assert "JSON" in third.split("## Your Last Answer Could Not Be Used")[1]
    assert done.stdout.count("The answer cannot be used: ") == 2
    assert len(empty.plan()["tasks"]) == 2


@pytest.mark.parametrize(
    "turn",
    [
        {"answer": "All done!"},
        {"say": ["All done!"]},
        {"answer": {"tasks": []}},
        {"answer": "{"},
        {"exit": 7},
        {"answer": {"tasks": TASKS}, "run": ["echo forged > ralph.config.json"]},
    ],
)
def test_r4_1_after_three_answers_that_cannot_be_used_it_ends_and_nothing_is_founded(
    empty: Empty, turn: dict[str, Any]
) -> None:
    scripted(empty, {"match": PLANNING, **turn}, ANSWER)

    said = empty.errors(*INIT)

    assert "The agent gave no usable answer in 3 tries (turning the requirements into tasks)." in said
    assert "Nothing was changed. The agent's output is in " in said
    assert len(empty.prompts()) == 3
    assert nothing_was_founded(empty)


INVALID = {
    "a cycle": ([{**TASKS[0], "depends_on": ["T-002"]}, TASKS[1]], ["T-001", "T-002"]),
    "an unknown dependency": ([{**TASKS[0], "depends_on": ["T-009"]}], ["T-009"]),
    "the same id twice": ([TASKS[0], {**TASKS[0], "title": "Again"}], ["T-001"]),
    "it waits for itself": ([{**TASKS[0], "depends_on": ["T-001"]}], ["T-001"]),
    "no title": ([{"id": "T-001"}, {"id": "T-002", "title": ""}], ["tasks[0].title", "tasks[1].title"]),
    "an id that is a path": ([{"id": "../../x", "title": "Evil"}], ["tasks[0].id"]),
    "criteria that are no list": ([{**TASKS[0], "acceptance_criteria": "it works"}], ["acceptance_criteria"]),
}


@pytest.mark.parametrize("what", INVALID)
def test_r4_1_tasks_that_cannot_be_used_are_sent_back_by_name(empty: Empty, what: str) -> None:
    tasks, named = INVALID[what]
    scripted(empty, {"match": PLANNING, "times": 1, "answer": {"tasks": tasks}}, ANSWER)

    empty.ralph(*INIT)

    again = empty.prompts()[1].split("## Your Last Answer Could Not Be Used")[1]
    for name in named:
        assert name in again
    assert [task["id"] for task in empty.plan()["tasks"]] == ["T-001", "T-002"]


def test_r4_1_tasks_without_ids_get_some(empty: Empty) -> None:
    tasks = [{"title": "One"}, {"id": "T-001", "title": "Two"}, {"title": "Three"}]
    scripted(empty, {"match": PLANNING, "answer": {"tasks": tasks}})

    empty.ralph(*INIT)

    ids = {task["title"]: task["id"] for task in empty.plan()["tasks"]}
    assert ids["Two"] == "T-001"
    assert len(set(ids.values())) == 3
    assert empty.plan()["project"] == "project"


def test_r4_1_what_an_agent_says_of_a_tasks_state_is_not_believed(empty: Empty) -> None:
    result = {"completed_at": "x", "commit": "c", "summary": "s", "verify": []}
    forged = {**TASKS[0], "status": "done", "result": result, "loops": 3, "attempts": 9, "base_commit": "c"}
    answer = {"tasks": [forged], "app": "../elsewhere", "started_at": "long ago", "setup": {"attempts": 1}}
    scripted(empty, {"match": PLANNING, "answer": answer})

    empty.ralph(*INIT)

    plan = empty.plan()
    assert plan["app"] == "project"
    assert plan["tasks"][0]["status"] == "todo"
    assert not {"result", "loops", "attempts", "base_commit"} & set(plan["tasks"][0])
    assert not plan.get("started_at")
    assert empty.ralph("next").stdout == "requirements: set-up: setup (setup)\n"


def test_r4_1_and_r4_14_claude_plans_with_opus_and_works_with_sonnet(empty: Empty) -> None:
    empty.claude(
        f'cat > /dev/null; printf "%s\\n" "$@" > {empty.folder}/args\n'
        f"echo '{json.dumps({'tasks': TASKS})}' > .ralph/run/answers/tasks-requirements\n"
        """echo '{"type": "result", "is_error": false, "result": "ok"}'\n"""
    )

    empty.ralph("init", "--provider", "claude", "--requirements", "requirements.md")

    roles = empty.json("ralph.config.json")["roles"]
    assert roles == {"planner": {"model": "opus"}, "executor": {"model": "sonnet"}}
    args = (empty.folder / "args").read_text().split()
    assert args[args.index("--model") + 1] == "opus"


def test_r4_1_the_model_that_plans_can_be_named(empty: Empty) -> None:
    empty.claude(
        f'cat > /dev/null; printf "%s\\n" "$@" > {empty.folder}/args\n'
        f"echo '{json.dumps({'tasks': TASKS})}' > .ralph/run/answers/tasks-requirements\n"
    )

    empty.ralph("init", "--provider", "claude", "--requirements", "requirements.md", "--model", "haiku")

    args = (empty.folder / "args").read_text().split()
    assert args[args.index("--model") + 1] == "haiku"
    assert empty.json("ralph.config.json")["roles"]["planner"] == {"model": "opus"}, "that was for once"


@pytest.mark.parametrize("option", [("--app", "x"), ("--model", "x")])
def test_options_that_need_requirements_say_so(empty: Empty, option: tuple[str, str]) -> None:
    assert "--app and --model need --requirements." in empty.errors("init", *option)
    assert nothing_was_founded(empty)


def test_without_gates_it_says_that_nothing_will_be_verified(empty: Empty) -> None:
    scripted(empty, ANSWER)

    assert "nothing is verified, and every view says so" in empty.ralph(*INIT).stdout.replace("\n ", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_r4_1_ended_in_the_middle_nothing_is_founded_and_it_can_begin_again(
    empty: Empty, number: signal.Signals
) -> None:
    slow = f"touch {empty.folder}/begun; setsid sleep 300 & sleep 300"
    scripted(empty, {"match": PLANNING, "times": 1, "run": [slow]}, ANSWER)
    init = empty.start(*INIT)
    empty.reached("begun")

    init.send_signal(number)
    out, _ = init.communicate(timeout=20)

    assert nothing_was_founded(empty)
    if number is not signal.SIGKILL:
        assert init.returncode == 130, out
        assert processes_in(empty.folder) == []
    empty.ralph(*INIT)
    assert len(empty.plan()["tasks"]) == 2
    assert processes_in(empty.folder) == []


def test_r4_1_requirements_can_lie_elsewhere_and_are_copied_as_they_were(empty: Empty) -> None:
    data = "# Läden\r\n\r\n- eins\r\n- zwei\r\n".encode()
    (empty.folder / "wanted.md").write_bytes(data)
    scripted(empty, ANSWER)

    empty.ralph("init", "--provider", "scripted", "--requirements", "../wanted.md")

    assert (empty.path / ".ralph/requirements.md").read_bytes() == data


def test_r4_1_what_was_founded_runs_from_any_folder_of_it(empty: Empty) -> None:
    setup = {"match": "# Ralph Setup", "write": {"README.md": "# Shop\n"}}
    scripted(empty, ANSWER, setup, does("T-001", "one.txt"), does("T-002", "two.txt"))
    empty.ralph(*INIT, "--verify", "test -f README.md")
    empty.inner = "project"

    run = [str(Path(empty.env["PATH"].split(":")[0]) / "ralph"), "run"]
    done = subprocess.run(run, cwd=empty.app, env=empty.env, capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "  branch ralph/requirements, then main · agent ralph" in done.stdout
    assert "`git -C project log -p`. It is also on your branch." in done.stdout
    assert empty.git("rev-parse", "main") == empty.git("rev-parse", "ralph/requirements")
    assert empty.git("branch", "--show-current") == "main"
    assert empty.git("status", "--porcelain") == ""
    assert sorted(path.name for path in empty.app.iterdir()) == [".git", "README.md", "one.txt", "two.txt"]
    assert empty.subjects("main")[::-1] == [
        "chore: begin",
        "chore: Set-up: setup",
        "feat: T-001 - One",
        "feat: T-002 - Two",
    ]


def test_a_plan_written_by_hand_gets_the_default_steps_from_init_and_keeps_its_own(empty: Empty) -> None:
    empty.write(".ralph/prd.json", json.dumps({"version": 1, "tasks": TASKS[:1]}))
    config = {"provider": {"command": "true"}, "verify": {"default": ["true"]}}
    empty.write("ralph.config.json", json.dumps(config))
    refused = empty.ralph("run", code=None)
    assert "There is no step configuration 'default'" in refused.stderr
    assert "`ralph init` writes the default one." in refused.stderr

    made = empty.ralph("init").stdout

    assert "wrote .ralph/configs/default.json" in made
    assert "wrote .ralph/prompts/LOOP_PROMPT.md" in made
    empty.ralph("validate", "requirements")
    empty.write(".ralph/configs/default.json", '{"steps": []}')
    assert "configs" not in empty.ralph("init").stdout
    assert empty.read(".ralph/configs/default.json") == '{"steps": []}', "nothing is overwritten"
