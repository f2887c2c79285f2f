"""Step configurations: which steps an attempt has, and every mistake in a file that says it wrongly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.errors import RalphError
from ralph.plan.work import Resilience, StepSpec
from ralph.steps import pipeline
from ralph.steps.agent_settings import AgentSettings
from ralph.steps.command import CommandSettings
from ralph.steps.pipeline import PLAN, Pipeline
from ralph.steps.registry import STEPS, step_names, step_type
from ralph.validation import Mistakes
from ralph.workflows.requirements.scaffold import default_steps
from ralph.workspace import Workspace
from tests.unit.engine.conftest import Install

Json = dict[str, Any]
NAME = ".ralph/configs/careful.json"
AGENT = {"type": "agent"}
ONCE = {"name": "setup", "type": "agent", "config": {"marker_file": ".ralph/.setup_done"}}


def document(*steps: Any, **more: Any) -> Json:
    return {"steps": list(steps), **more}


def read(content: Json, **variables: str) -> Pipeline:
    return pipeline.parse(json.dumps(content).encode(), name=NAME, variables=variables)


def mistakes(content: object, **variables: str) -> list[str]:
    with pytest.raises(Mistakes) as found:
        pipeline.parse(json.dumps(content).encode(), name=NAME, variables=variables)
    assert found.value.what.startswith(f"{NAME} has ")
    return found.value.mistakes


def schema_takes(content: object) -> bool:
    return jsonschema.Draft202012Validator(json.loads(pipeline.schema_text())).is_valid(content)


def labels(specs: tuple[StepSpec, ...]) -> list[str]:
    return [spec.label for spec in specs]


# what is read


@pytest.mark.parametrize(("given", "tries"), [({}, 2), ({"max_retries": None}, 2), ({"max_retries": 0}, 0)])
def test_a_review_is_asked_for_again_unless_the_file_says_how_often(given: dict[str, Any], tries: int) -> None:
    review, agent = {"type": "review", **given}, {**AGENT, **given}
    specs = read(document(agent, {"type": "verify"}, review)).each
    assert [spec.resilience.max_retries for spec in specs] == [0, 0, tries, 0]


def test_a_file_is_read_with_all_that_it_says() -> None:
    work = {
        "name": "work",
        "type": "agent",
        "timeout": "40m",
        "max_retries": 1,
        "retry_delay": "30s",
        "circuit_breaker": {"threshold": 3, "reset_after": "5m"},
        "config": {"prompt_file": ".ralph/prompts/LOOP_PROMPT.md", "model": "sonnet", "timeout": "1h30m"},
    }
    tidy = {"name": "format", "type": "command", "continue_on_error": True, "config": {"command": "ruff format ."}}
    content = document(
        ONCE, work, tidy, {"type": "verify"}, description="d", max_loops_per_task=10, stuck_after=2, name="n"
    )
    assert read(content) == Pipeline(
        name="careful",
        path=NAME,
        description="d",
        max_loops=10,
        stuck_after=2,
        plan=PLAN,
        once=(
            StepSpec(
                type="agent",
                name="setup",
                resilience=Resilience(timeout=1200),
                settings=AgentSettings(marker_file=".ralph/.setup_done", timeout=900),
            ),
        ),
        each=(
            StepSpec(
                type="agent",
                name="work",
                resilience=Resilience(
                    timeout=2400, max_retries=1, retry_delay=30, breaker_threshold=3, breaker_reset=300
                ),
                settings=AgentSettings(prompt_file=".ralph/prompts/LOOP_PROMPT.md", model="sonnet", timeout=5400.0),
            ),
            StepSpec(
                type="command",
                name="format",
                resilience=Resilience(timeout=1200, continue_on_error=True),
                settings=CommandSettings(command="ruff format ."),
            ),
            StepSpec(type="verify", settings=STEPS["verify"].Settings()),
            StepSpec(type="git-commit"),
        ),
    )


def test_the_smallest_file_is_one_agent_and_the_gates() -> None:
    made = read(document(AGENT))
    assert (made.once, labels(made.each), made.plan) == ((), ["agent", "verify", "git-commit"], PLAN)
    assert (made.max_loops, made.stuck_after) == (0, 3)
    assert made.each[0].resilience == Resilience(timeout=1200)
    assert made.steps == made.each


def test_the_steps_of_a_new_project_are_right_by_the_schema_and_by_ralph() -> None:
    content = default_steps()
    assert schema_takes(content)
    made = read(content)
    assert (labels(made.once), labels(made.each)) == (["setup"], ["work", "verify", "git-commit"])
    assert made.verifies


def test_steps_with_a_marker_file_run_once_and_all_others_in_every_loop() -> None:
    install = {"name": "install", "type": "command", "config": {"command": "make", "marker_file": "done"}}
    unmarked = {"name": "work", "type": "agent", "config": {"marker_file": None}}
    made = read(document({"type": "noop"}, ONCE, unmarked, install))
    assert labels(made.once) == ["setup", "install"]
    assert labels(made.each) == ["noop", "work", "verify", "git-commit"]
    assert labels(made.steps) == ["setup", "install", "noop", "work", "verify", "git-commit"]


def test_a_step_that_is_not_enabled_is_left_out() -> None:
    made = read(document({**ONCE, "enabled": False}, AGENT, {"type": "review", "enabled": "false"}))
    assert labels(made.steps) == ["agent", "verify", "git-commit"]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([AGENT, {"type": "git-commit"}], ["agent", "verify", "git-commit"]),
        (
            [AGENT, {"type": "noop"}, {"name": "second", "type": "agent"}, {"type": "git-commit"}],
            ["agent", "noop", "second", "verify", "git-commit"],
        ),
        ([AGENT, {"type": "review"}], ["agent", "verify", "review"]),
        ([{"type": "noop"}, ONCE, AGENT], ["noop", "agent", "verify"]),
        ([AGENT, {"name": "late", "type": "agent", "enabled": False}, {"type": "noop"}], ["agent", "verify", "noop"]),
    ],
)
def test_gates_that_nobody_named_come_after_the_last_agent_that_works(steps: list[Json], expected: list[str]) -> None:
    made = read(document(*steps))
    assert labels(made.each) == expected + ["git-commit"] * ("git-commit" not in expected)
    assert made.verifies


def test_gates_stay_where_they_were_named() -> None:
    made = read(document(AGENT, {"type": "noop"}, {"type": "verify", "name": "gates"}))
    assert labels(made.each) == ["agent", "noop", "gates", "git-commit"]
    assert made.verifies


@pytest.mark.parametrize("off", [False, "false"])
def test_only_who_says_so_goes_without_gates(off: object) -> None:
    made = read(document(AGENT, {"type": "verify", "enabled": off}))
    assert labels(made.each) == ["agent", "git-commit"]
    assert not made.verifies


def test_the_plan_is_the_file_that_the_steps_name() -> None:
    first = {"type": "agent", "config": {"prd_file": "./plans/prd.json"}}
    second = {"name": "b", "type": "agent", "config": {"prd_file": "plans/prd.json"}}
    assert read(document(first, second)).plan == "plans/prd.json"


def test_variables_of_the_environment_are_filled_in_before_anything_is_checked() -> None:
    content = document(
        {
            "type": "agent",
            "name": "${NAME}",
            "timeout": "${LIMIT:-20m}",
            "max_retries": "${RETRIES}",
            "continue_on_error": "${GO_ON}",
            "circuit_breaker": {"threshold": "${MANY}", "reset_after": "${WAIT:-90}"},
            "config": {"model": "${MODEL:-sonnet}", "allowed_tools": "$${RAW}"},
        },
        max_loops_per_task="${LOOPS}",
    )
    assert schema_takes({**content, "steps": [{**content["steps"][0], "name": "work"}]})
    made = read(content, NAME="work", RETRIES="2", GO_ON="true", MANY="4", LOOPS="7", WAIT="2m")
    assert made.max_loops == 7
    assert made.each[0] == StepSpec(
        type="agent",
        name="work",
        resilience=Resilience(
            timeout=1200, max_retries=2, continue_on_error=True, breaker_threshold=4, breaker_reset=120
        ),
        settings=AgentSettings(model="sonnet", allowed_tools="${RAW}", timeout=900),
    )


def test_a_value_from_the_environment_that_is_no_text_is_told_and_not_thrown() -> None:
    with pytest.raises(RalphError):
        read(document({"type": "agent", "config": {"model": "${MODEL}"}}), MODEL="\udcff")


# mistakes


def test_all_mistakes_are_told_at_once_with_their_places() -> None:
    found = mistakes(
        document(
            {"type": "agnet", "timeout": "soon", "retries": 3},
            {"type": "command", "config": {"comand": "make"}},
            {"type": "readme-check", "config": {"min_chars": 0}},
            "noop",
            {"type": "noop", "name": "a b", "config": {"marker_file": "/etc/passwd"}, "circuit_breaker": {}},
            {"type": "noop", "config": {"prompt_file": "${GONE}"}},
            stuck_after=-1,
            max_loop=3,
        )
    )
    assert [line.split(":")[0] for line in found] == [
        "steps[5].config.prompt_file",  # the variable
        "stuck_after",
        "steps[0].timeout",
        "steps[0].retries",
        "steps[3]",
        "steps[4].name",
        "steps[4].circuit_breaker.threshold",
        "max_loop",
        "steps[0].type",
        "steps[1].config.command",
        "steps[1].config.comand",
        "steps[2].config.min_chars",
        "steps[4].config.marker_file",  # no step of this type has one
        "steps[4].config.marker_file",  # and it lies outside
        "steps[5].config.prompt_file",
        "steps",
    ]


WRONG_BY_SHAPE = [
    (document(), "steps: "),
    ({}, "steps: missing"),
    (document(AGENT, steps={}), "steps: expected"),
    (document("agent"), "steps[0]: expected an object"),
    (document({}), "steps[0].type: missing"),
    (document({"type": 3}), "steps[0].type: expected"),
    (document(AGENT, {"type": "aget", "name": "x"}), "steps[1].type: there is no step type 'aget'; did you mean"),
    (document(AGENT, loops=3), "loops: unknown key"),
    (document(AGENT, max_loops_per_tasks=3), "max_loops_per_tasks: unknown key; did you mean 'max_loops_per_task'?"),
    (document({**AGENT, "retry": 3}), "steps[0].retry: unknown key"),
    (document({**AGENT, "config": []}), "steps[0].config: expected an object"),
    (
        document({**AGENT, "config": {"prompt": "x"}}),
        "steps[0].config.prompt: unknown key; did you mean 'prompt_file'?",
    ),
    (document({**AGENT, "config": {"model": 3}}), "steps[0].config.model: expected"),
    (document({**AGENT, "config": {"timeout": "soon"}}), "steps[0].config.timeout: expected a duration"),
    (document(AGENT, {"type": "command"}), "steps[1].config.command: missing"),
    (document(AGENT, {"type": "command", "config": {}}), "steps[1].config.command: missing"),
    (document(AGENT, {"type": "command", "config": {"command": " "}}), "steps[1].config.command: expected"),
    (document(AGENT, {"type": "verify", "config": {"a": 1}}), "steps[1].config.a: unknown key"),
    (document(AGENT, {"type": "review", "config": {"marker_file": "m"}}), "steps[1].config.marker_file: unknown key"),
    (document(AGENT, {"type": "readme-check", "config": {"min_chars": 0}}), "steps[1].config.min_chars: expected"),
    (document({**AGENT, "timeout": "soon"}), "steps[0].timeout: expected a duration"),
    (document({**AGENT, "timeout": 0}), "steps[0].timeout: expected"),
    (document({**AGENT, "timeout": True}), "steps[0].timeout: expected"),
    (document({**AGENT, "retry_delay": -1}), "steps[0].retry_delay: expected"),
    (document({**AGENT, "enabled": "yes"}), "steps[0].enabled: expected"),
    (document({**AGENT, "continue_on_error": 1}), "steps[0].continue_on_error: expected"),
    (document({**AGENT, "max_retries": -1}), "steps[0].max_retries: expected"),
    (document({**AGENT, "max_retries": 101}), "steps[0].max_retries: expected"),
    (document({**AGENT, "max_retries": "many"}), "steps[0].max_retries: expected"),
    (document({**AGENT, "circuit_breaker": {}}), "steps[0].circuit_breaker.threshold: missing"),
    (document({**AGENT, "circuit_breaker": {"threshold": 0}}), "steps[0].circuit_breaker.threshold: expected"),
    (document({**AGENT, "circuit_breaker": {"threshold": 1, "reset": 1}}), "steps[0].circuit_breaker.reset: unknown"),
    (document({**AGENT, "name": "a b"}), "steps[0].name: expected"),
    (document({**AGENT, "name": "../a"}), "steps[0].name: expected"),
    (document({**AGENT, "name": ""}), "steps[0].name: expected"),
    (document({**AGENT, "name": "a" * 61}), "steps[0].name: "),
    (document(AGENT, max_loops_per_task=-1), "max_loops_per_task: expected"),
    (document(AGENT, stuck_after=1001), "stuck_after: expected"),
    (document(AGENT, stuck_after=None), "stuck_after: expected"),
    (document(AGENT, name=3), "name: expected"),
]


@pytest.mark.parametrize(("content", "mistake"), WRONG_BY_SHAPE, ids=lambda value: str(value)[:70])
def test_what_is_wrong_in_a_file_is_told_with_its_place(content: Json, mistake: str) -> None:
    assert any(line.startswith(mistake) for line in mistakes(content)), mistakes(content)


@pytest.mark.parametrize("content", [content for content, _ in WRONG_BY_SHAPE], ids=lambda value: str(value)[:70])
def test_the_schema_refuses_what_ralph_refuses(content: Json) -> None:
    assert not schema_takes(content)


@pytest.mark.parametrize(
    ("content", "mistake"),
    [
        (document(AGENT, AGENT), "steps[1]: the name 'agent' is also the name of steps[0]; choose another"),
        (
            document(AGENT, {"type": "noop", "name": "x"}, {"type": "verify", "name": "x"}),
            "steps[2]: the name 'x' is also the name of steps[1]; choose another",
        ),
        (
            document(AGENT, {"type": "noop", "name": "verify"}),
            "steps[1].name: 'verify' is the name of another step type; choose another name",
        ),
        (
            document({"type": "agent", "config": {"prompt_file": "../secret.md"}}),
            "steps[0].config.prompt_file: '../secret.md' is not inside the project",
        ),
        (
            document({"type": "agent", "config": {"prd_file": "/etc/prd.json"}}),
            "steps[0].config.prd_file: '/etc/prd.json' is not inside the project",
        ),
        (
            document(AGENT, {"type": "command", "config": {"command": "make", "marker_file": "a/../../b"}}),
            "steps[1].config.marker_file: 'a/../../b' is not inside the project",
        ),
        (
            document({"type": "agent", "config": {"prompt_file": ""}}),
            "steps[0].config.prompt_file: '' is not inside the project",
        ),
        (
            document({"type": "agent", "config": {"prompt_file": "${UP}/secret.md"}}),
            "steps[0].config.prompt_file: '../secret.md' is not inside the project",
        ),
        (
            document(
                {"type": "agent", "config": {"prd_file": "a.json"}},
                {"type": "agent", "name": "b", "config": {"prd_file": "b.json"}},
            ),
            "steps: every prd_file must be the same, found a.json, b.json",
        ),
        (
            document({"type": "agent", "config": {"model": "${GONE}"}}),
            "steps[0].config.model: the environment variable",
        ),
    ],
)
def test_what_the_shape_alone_cannot_say_is_checked(content: Json, mistake: str) -> None:
    found = mistakes(content, UP="..")
    assert len(found) == 1
    assert found[0].startswith(mistake)


@pytest.mark.parametrize(
    ("steps", "mistake"),
    [
        (
            [AGENT, {"type": "review"}, {"type": "verify"}],
            "steps[1]: a review must come after the last agent and the gates",
        ),
        (
            [{"type": "review"}, AGENT],
            "steps[0]: a review must come after the last agent and the gates, but steps[1]",
        ),
        (
            [AGENT, {"type": "review"}, {"name": "late", "type": "agent"}],
            "steps[1]: a review must come after the last agent",
        ),
    ],
)
def test_only_work_whose_gates_are_green_is_reviewed(steps: list[Json], mistake: str) -> None:
    found = mistakes(document(*steps))
    assert len(found) == 1
    assert found[0].startswith(mistake)


NO_AGENT = "steps: no agent works in every loop, so no task would ever be done"


@pytest.mark.parametrize(
    "steps",
    [
        [{"type": "noop"}],
        [{"type": "verify"}, {"type": "git-commit"}],
        [{"type": "review"}],
        [ONCE],
        [{**AGENT, "enabled": False}],
        [{**AGENT, "enabled": "false"}],
        [{**AGENT, "enabled": "False"}],
        [{**AGENT, "enabled": "${OFF}"}],
    ],
)
def test_steps_in_which_no_agent_works_in_every_loop_are_refused(steps: list[Json]) -> None:
    assert mistakes(document(*steps), OFF="FALSE") == [NO_AGENT]


def test_a_step_type_that_is_not_known_names_the_nearest() -> None:
    [mistake] = mistakes(document(AGENT, {"type": "git_commit"}))
    assert mistake == "steps[1].type: there is no step type 'git_commit'; did you mean 'git-commit'?"


def test_a_missing_variable_is_told_once_with_what_to_do() -> None:
    with pytest.raises(Mistakes) as found:
        read(document({"type": "agent", "config": {"model": "${GONE}"}}))
    assert found.value.mistakes == ["steps[0].config.model: the environment variable GONE is not set"]
    assert "${NAME:-default}" in found.value.remedy


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from([AGENT, ONCE]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["type", "name", "config", "enabled", "prd_file", "marker_file", "timeout"]),
                inner | st.sampled_from(["agent", "verify", "noop", "command"]),
                max_size=4,
            )
        ),
        max_leaves=10,
    )
)
def test_any_nonsense_is_read_or_refused_and_breaks_nothing(steps: object) -> None:
    try:
        made = read({"steps": steps})
    except Mistakes as error:
        assert error.mistakes
    else:
        assert "agent" in [spec.type for spec in made.each]


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff"])
def test_a_file_that_is_no_json_object_is_one_mistake(data: bytes) -> None:
    with pytest.raises(Mistakes, match="1 mistake"):
        pipeline.parse(data, name=NAME, variables={})


# the schema


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(pipeline.schema())


@pytest.mark.parametrize("name", [name for name, kind in STEPS.items() if kind.offered])
def test_every_step_type_is_in_the_schema_with_its_own_settings(name: str) -> None:
    config = {"command": "make"} if name == "command" else {}
    step = {"type": name, "name": "x", "config": config}
    assert schema_takes(document(AGENT, step))
    read(document(AGENT, step))
    wrong = document(AGENT, {**step, "config": {**config, "nothing_knows_this": 1}})
    assert not schema_takes(wrong)
    assert mistakes(wrong) == ["steps[1].config.nothing_knows_this: unknown key"]


def test_the_example_in_the_reference_is_right_by_the_schema_and_by_ralph() -> None:
    text = (Path(__file__).parents[3] / "docs" / "reference" / "steps.md").read_text()
    content = json.loads(text.split("```json\n")[1].split("```")[0])
    assert schema_takes(content)
    made = read(content)
    assert labels(made.each) == ["work", "format", "verify", "git-commit"]


# other packages


def test_a_step_type_of_another_package_is_validated_and_in_the_schema(install: Install) -> None:
    install({"shout": "Shout"})
    good = document(AGENT, {"type": "shout", "config": {"text": "hi", "times": 2}})
    wrong = document(AGENT, {"type": "shout", "config": {"text": 3}})
    assert schema_takes(good)
    assert not schema_takes(wrong)
    assert labels(read(good).each) == ["agent", "verify", "shout", "git-commit"]
    assert mistakes(wrong) == ["steps[1].config.text: expected a valid string, found number 3"]
    assert mistakes(document(AGENT, {"type": "shuot"})) == [
        "steps[1].type: there is no step type 'shuot'; did you mean 'shout'?"
    ]


def test_another_package_cannot_take_the_name_of_a_built_in_type(install: Install) -> None:
    install({"noop": "Broken", "shout": "Shout"})
    made = read(document(AGENT, {"type": "noop"}))
    assert isinstance(made.each[-2].settings, STEPS["noop"].Settings)
    assert step_type("noop") is STEPS["noop"]
    assert step_names().count("noop") == 1


@pytest.mark.parametrize("thing", ["NotAStep", "Gone"])
def test_another_packages_step_type_that_cannot_be_used_is_a_mistake_of_this_step(install: Install, thing: str) -> None:
    install({"shout": thing})
    [mistake] = mistakes(document(AGENT, {"type": "shout"}))
    assert mistake.startswith("steps[1].type: the step type 'shout'")


# finding them


def write(root: Path, name: str, content: Json) -> Workspace:
    path = root / ".ralph" / "configs" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return Workspace(root=root)


def test_a_configuration_is_found_by_its_name(tmp_path: Path) -> None:
    write(tmp_path, "quick", document(AGENT))
    workspace = write(tmp_path, "careful", document(AGENT, {"type": "review"}, description="slow"))
    assert pipeline.names(workspace) == ["careful", "quick"]
    made = pipeline.load(workspace, "careful", {})
    assert (made.name, made.path, made.description) == ("careful", ".ralph/configs/careful.json", "slow")


def test_a_configuration_that_does_not_exist_names_the_nearest_and_all_others(tmp_path: Path) -> None:
    write(tmp_path, "quick", document(AGENT))
    workspace = write(tmp_path, "careful", document(AGENT))
    with pytest.raises(RalphError, match="no step configuration 'quik'; did you mean 'quick'") as found:
        pipeline.load(workspace, "quik", {})
    assert found.value.details == ("Existing configurations:", "  careful", "  quick")


@pytest.mark.parametrize("name", ["../../outside", "/outside", "x/../../../outside"])
def test_a_configuration_outside_of_the_project_is_never_read(tmp_path: Path, name: str) -> None:
    project = tmp_path / "project"
    workspace = write(project, "x", document(AGENT))
    (project / ".ralph" / "configs" / "x").mkdir()
    for folder in (tmp_path, project):
        (folder / "outside.json").write_text(json.dumps(document(AGENT)))
    with pytest.raises(RalphError, match="no step configuration"):
        pipeline.load(workspace, name, {})


def test_a_step_that_only_the_engine_uses_cannot_be_configured() -> None:
    content = document(AGENT, {"type": "hold"})
    assert mistakes(content) == ["steps[1].type: there is no step type 'hold'"]
    assert not schema_takes(content)


def test_without_a_key_a_step_has_20_minutes_and_its_agent_15() -> None:
    patient = {"type": "agent", "name": "patient", "config": {"timeout": "1h"}}
    command = {"type": "command", "config": {"command": "true"}}
    steps = {spec.label: spec for spec in read(document(AGENT, patient, command, {"type": "verify"})).each}

    usual = steps["agent"]
    assert isinstance(usual.settings, AgentSettings)
    assert (usual.resilience.timeout, usual.settings.timeout) == (1200, 900)
    assert steps["patient"].resilience.timeout == 3900, "a longer call is not cut by its own step"
    assert steps["command"].resilience.timeout == 1200
    assert steps["verify"].resilience.timeout is None, "each gate has a limit of its own"
