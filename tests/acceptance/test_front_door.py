"""`ralph plan`, `ralph run` and `ralph help`: one way in for all five workflows; the specifications' spellings too."""

from __future__ import annotations

import json
import re
from datetime import date

import pytest

from tests.acceptance import requests, sessions, specs
from tests.acceptance.requirements import ADDING, PLANNING, SETTING_UP, Founded
from tests.acceptance.requirements import does as does_task
from tests.acceptance.test_prd import usual as asked_for_a_prd
from tests.acceptance.test_specs_plan import answers as answers_specs
from tests.conftest import VERIFIED, Project, does

BOTH = (does("US-001", "one.txt"), does("US-002", "two.txt"), VERIFIED)


@pytest.fixture
def green(project: Project) -> Project:
    project.config("true")
    return project


def feature(project: Project) -> None:
    project.script(*asked_for_a_prd(), *BOTH)


def test_a_feature_is_planned_and_run_without_naming_it_again(green: Project) -> None:
    feature(green)

    planned = green.ralph("plan", "auth", "Log in and out", "--yes")
    done = green.ralph("run")

    assert "Ready! Run 'ralph run auth'." in planned.stdout
    assert "Log in and out" in green.prompts()[0]
    assert "auth: complete" in done.stdout
    assert {"one.txt", "two.txt"} <= set(green.files_in("ralph/auth"))


def test_planning_a_feature_again_continues_it_or_changes_it(green: Project) -> None:
    feature(green)
    green.ralph("plan", "auth", "Log in and out", "--yes")

    assert "Nothing to do. Run 'ralph run auth'." in green.ralph("plan", "auth", "--yes").stdout
    green.ralph("plan", "auth", "Also on phones")

    assert "Also on phones" in green.prompts()[-1]
    assert green.read(f".ralph/{date.today().isoformat()}-auth/prd.md").endswith("Refined.\n")
    assert "Ready! Run 'ralph run auth'." in green.ralph("plan", "auth", "And on watches", "--yes").stdout


def test_specs_are_planned_from_their_folder_and_run_by_name(green: Project) -> None:
    green.write("specs/a.md", "# A\n\n## Tasks\n- [ ] Do a-1\n")
    green.git("add", "-A")
    green.git("commit", "-q", "-m", "Specs")
    green.script(answers_specs(specs.spec("a", specs.task("a-1"))), specs.builds("a-1", "a.txt"))

    made = json.loads(green.ralph("plan", "--from", "specs/", "--json").stdout)
    done = green.ralph("run", "specs")

    assert [one["id"] for one in made["implementation"]["specs"]] == ["a"]
    assert "specs: complete" in done.stdout
    assert specs.subjects(green)[0] == "feat: A"


def test_a_file_of_requirements_becomes_a_plan_and_the_next_file_more_tasks(green: Project) -> None:
    green.write("requirements.md", "# A shop\n\nIt sells one thing.\n")
    green.write("more.md", "It sells a second thing.\n")
    task = {"id": "T-001", "title": "One", "acceptance_criteria": ["It works"]}
    green.script(
        {"match": PLANNING, "answer": {"project": "shop", "description": "A shop", "tasks": [task]}},
        {"match": ADDING, "answer": {"tasks": [{"title": "Two"}]}},
        {"match": SETTING_UP, "write": {"README.md": "# Shop\n"}},
        does_task("T-001", "one.txt"),
        does_task("T-002", "two.txt"),
    )

    assert "\n1 task: A shop\n" in green.ralph("plan", "--from", "requirements.md").stdout
    added = json.loads(green.ralph("plan", "--from", "more.md", "--json").stdout)
    done = green.ralph("run")

    assert [one["id"] for one in added["tasks"]] == ["T-002"]
    assert "tasks 2 of 2 passed" in done.stdout
    assert {"one.txt", "two.txt"} <= set(green.files_in("ralph/requirements"))


def test_a_request_is_planned_and_run_with_two_jobs(green: Project) -> None:
    green.script(*requests.usual())

    green.ralph("plan", requests.REQUEST, "--yes")
    done = green.ralph("run", "request", "--jobs", "2")

    assert "request: complete" in done.stdout
    assert requests.work(green)[2] == "feat: task-003 - Endpoint"


def test_the_quick_style_does_no_research(green: Project) -> None:
    green.script(*requests.usual())

    green.ralph("plan", requests.REQUEST, "--style", "quick", "--yes")

    assert not [text for text in green.prompts() if "# Research for a Request" in text]


def test_roles_plan_and_build_what_they_were_asked_for_when_they_run(project: Project) -> None:
    sessions.plays(project)

    begun = project.ralph("plan", sessions.ID, sessions.REQUEST, "--style", "roles")

    assert begun.stdout.endswith(f"→ ralph run {sessions.ID}\n")
    assert project.ralph("next").stdout == f"{sessions.ID}: not planned yet (ralph run {sessions.ID})\n"
    assert sessions.calls(project) == []
    done = project.ralph("run", sessions.ID)
    assert f"{sessions.ID}: complete" in done.stdout
    assert sessions.calls(project)[0].startswith("INITIALIZE")
    assert sessions.marks(project) == {"task-1": "x", "task-2": "x"}
    assert sessions.REQUEST in project.prompts()[0]
    assert "proven" not in project.ralph("run", sessions.ID).stdout, "its files do not say how its tasks passed"


def test_the_name_of_a_plan_that_does_not_exist_is_not_taken_for_a_request(green: Project) -> None:
    green.script(*requests.usual())
    green.stories("Log in")

    refused = green.ralph("plan", "aut", code=1).stderr

    assert "There is no plan 'aut'; did you mean 'auth'?" in refused
    assert 'ralph plan aut "What it should do"' in refused and "ralph plan aut --style research" in refused
    assert green.prompts() == []
    green.ralph("plan", "aut", "--style", "research", "--yes")
    assert "aut" in green.prompts()[0]


def test_roles_do_not_take_a_name_that_is_in_use(project: Project) -> None:
    sessions.plays(project)
    project.stories("One")
    project.ralph("plan", "weather", "How warm is it?", "--style", "roles")

    assert "The session 'weather' already exists." in refused(project, "plan", "weather", "x", "--style", "roles")
    assert "The feature 'auth' already exists." in refused(project, "plan", "auth", "x", "--style", "roles")
    for words in (["weather"], ["weather", "More"]):
        assert "`ralph run weather` continues it" in refused(project, "plan", *words)


def test_the_folder_of_specs_is_known_by_its_name(green: Project) -> None:
    assert "There is no folder" in (said := refused(green, "plan", "--from", "specs/"))
    assert "Write one file for each feature" in said, "as `ralph start plan` says it"
    assert "missing.md does not exist." in refused(green, "plan", "--from", "missing.md")

    green.write("specs/a.md", "# A\n\n## Tasks\n- [ ] Do a-1\n")
    green.write("src/x.txt", "x\n")
    green.git("add", "-A")
    green.git("commit", "-q", "-m", "A spec")
    green.script(answers_specs(specs.spec("a", specs.task("a-1"))))

    assert "wrote implementation.json" in green.ralph("-C", "src", "plan", "--from", "specs/").stdout


@pytest.mark.parametrize(("name", "remedy"), [("specs", "--from specs/"), ("requirements", "--from requirements.md")])
def test_the_name_of_a_workflow_is_not_planned_as_a_request(green: Project, name: str, remedy: str) -> None:
    assert remedy in refused(green, "plan", name)
    assert remedy in refused(green, "plan", name, "Something")


def test_the_specifications_spellings_work(green: Project) -> None:
    feature(green)
    green.ralph("prd", "auth", "--request", "Log in", "--yes")
    green.script(*requests.usual())
    green.ralph("plan", requests.REQUEST, "--yes")
    assert "request: complete" in green.ralph("start").stdout

    green.write("specs/a.md", "# A\n\n## Tasks\n- [ ] Do a-1\n")
    green.git("add", "-A")
    green.git("commit", "-q", "-m", "Specs")
    green.script(answers_specs(specs.spec("a", specs.task("a-1"))), specs.builds("a-1", "a.txt"))
    green.ralph("start", "plan")
    assert "specs: complete" in green.ralph("start", "build").stdout


def test_the_specifications_spellings_of_a_session_and_of_more_work(founded: Founded) -> None:
    founded.script({"match": ADDING, "answer": {"tasks": [{"title": "Three"}]}})
    assert founded.ralph("add", "a third thing").stdout.endswith("T-003  Three\n→ ralph run\n")


def test_a_session_runs_by_the_specifications_spelling(project: Project) -> None:
    sessions.plays(project)

    assert "weather: complete" in sessions.session(project, sessions.REQUEST, "--id", "weather").stdout
    assert "weather: complete" in project.ralph("run").stdout, "it is the only plan"


def test_run_without_a_name_lists_the_plans_if_there_are_several(green: Project) -> None:
    green.stories("One")
    green.stories("One", feature="billing")
    requests.write_plan(green, requests.task("Model"))

    said = refused(green, "run")

    assert re.findall(r"^    (\S+)$", said, re.MULTILINE) == ["request", "auth", "billing"]
    assert "For example: ralph run request" in said


def test_run_without_a_name_takes_the_only_unfinished_plan(green: Project) -> None:
    green.stories("One")
    green.script(does("US-001", "one.txt"), VERIFIED)
    green.ralph("run", "auth")
    green.stories("One", feature="billing")
    green.script(does("US-001", "bill.txt"), VERIFIED)

    assert "billing: complete" in green.ralph("run").stdout


def test_a_session_that_awaits_its_final_review_is_not_finished(project: Project) -> None:
    sessions.plays(project)
    sessions.plan(project, "task-1", mark="x")
    project.stories("One")

    assert "    auth\n    weather\n" in refused(project, "run")
    assert "weather: complete" in project.ralph("run", "weather").stdout
    assert sessions.calls(project) == ["SESSION_REVIEW 1"]
    project.git("switch", "-q", "-c", "other")
    project.script(does("US-001", "one.txt"), VERIFIED)
    project.config("true")
    assert "auth: complete" in project.ralph("run").stdout, "the session is finished by now"


def test_run_in_a_project_without_plans_says_how_to_make_one(green: Project) -> None:
    said = refused(green, "run")

    assert "There is nothing to run yet." in said
    assert 'ralph plan NAME "WHAT"' in said


def test_options_are_refused_where_they_do_nothing(green: Project) -> None:
    green.stories("One")
    specs.write_plan(green, specs.spec("a", specs.task("a-1")))

    for target, option, value, where in (
        ("specs", "--config", "quick", "--config does not apply to the specs workflow, only to requirements."),
        ("auth", "--on-failure", "stop", "--on-failure does not apply to the feature workflow, only to request."),
        ("auth", "--config", "quick", "--config does not apply to the feature workflow, only to requirements."),
    ):
        said = refused(green, "run", target, option, value)
        assert where in said
        assert "→ Leave --" in said
    assert "--on-failure does not apply" in refused(green, "start", "build", "--on-failure", "stop")
    said = refused(green, "session", "x", "--jobs", "2")
    assert "--jobs does not apply to the session workflow, only to request, requirements, specs and feature." in said
    assert "A session's roles take turns, and each reads what the one before it has written." in said
    assert green.calls() == 0


def test_planning_options_are_refused_where_they_do_nothing(green: Project) -> None:
    green.write("specs/a.md", "# A\n")
    green.write("work.md", "# Work\n")

    for words, where in (
        (["auth", "x", "--model", "opus"], "--model does not apply to a feature."),
        (["auth", "x", "--json"], "--json does not apply to a feature."),
        (["auth", "x", "--research", "always"], "--research does not apply to a feature."),
        (["x", "--style", "roles", "--model", "opus"], "--model does not apply to a session"),
        (["--from", "specs/", "--show"], "--show does not apply to specs."),
        (["--from", "work.md", "--discard"], "--discard does not apply to the first plan from requirements."),
        (["auth", "x", "--from", "work.md"], "--from cannot be combined with a name or --style."),
        (["--from", "."], "specs must be in specs/"),
        (["add", "a", "page"], "in quotes"),
    ):
        assert where in refused(green, "plan", *words), words
    assert green.calls() == 0


def test_an_unknown_name_is_answered_with_the_nearest_of_all_plans(green: Project) -> None:
    sessions.plan(green, "task-1")
    specs.write_plan(green, specs.spec("a", specs.task("a-1")))
    green.stories("One")

    for wrong, right in {"wether": "weather", "spec": "specs", "auht": "auth"}.items():
        for command in ("run", "status", "next", "verify", "attempts", "retry"):
            assert f"There is no plan {wrong!r}; did you mean {right!r}?" in refused(green, command, wrong)


def test_help_is_the_same_both_ways_and_names_seventeen_commands(project: Project) -> None:
    assert project.ralph("help", "run").stdout == project.ralph("run", "--help").stdout
    assert project.ralph("help").stdout == project.ralph("--help").stdout
    assert "There is no command 'rnu'; did you mean 'run'?" in project.ralph("help", "rnu", code=2).stderr
    shown = project.ralph("--help").stdout
    listed = re.findall(r"^  ([a-z]+) {2,}\S", shown.partition("Options:")[2], re.MULTILINE)
    assert len(listed) == 17, listed
    assert {"init", "plan", "run", "status", "next", "verify"} <= set(listed)
    more = re.search(r"More:\n(.*?)\.\s+See\s+them", shown, re.DOTALL)
    assert more and {"prd", "start", "session", "add"} <= set(re.split(r",\s+", more[1].strip()))


def test_no_help_has_a_control_character(project: Project) -> None:
    rest = project.ralph("--help").stdout.partition("More:\n")[2]
    more = re.findall(r"[a-z-]+", re.split(r"\.\s+See\s+them", rest)[0])
    for name in ("init", "plan", "run", "status", "doctor", "clean", "worktrees", "hold-out", *more):
        shown = project.ralph("help", name).stdout
        assert not re.search(r"[^\n\x20-\x7e\x80-\uffff]", shown), name


def test_the_help_of_a_session_shows_no_option_that_it_refuses(project: Project) -> None:
    shown = project.ralph("session", "--help").stdout
    assert "--once" in shown
    assert [option for option in ("--jobs", "--on-failure", "--race") if option in shown] == []


def test_the_version_has_a_short_option(project: Project) -> None:
    assert project.ralph("-V").stdout == project.ralph("--version").stdout
    assert re.fullmatch(r"ralph \d+\.\d+\.\d+\S*\n", project.ralph("-V").stdout)


def refused(project: Project, *args: str) -> str:
    """What a command says that refuses, with a remedy."""
    said = project.ralph(*args, code=1).stderr
    assert said.startswith("ralph: ") and "\n→ " in said, said
    return said
