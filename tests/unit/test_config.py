"""ralph.config.json: defaults, mistakes, roles, and the schema that editors use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ralph import config as configuration
from ralph.agent.dialects import AGENTS, known
from ralph.cli.init_files import FirstSettings, write
from ralph.config import Config
from ralph.errors import RalphError
from ralph.plan.model import Gate
from ralph.validation import Mistakes
from ralph.verify.gate_list import default_gates, waived
from ralph.workspace import Workspace

LEAST = {"provider": {"command": "claude"}, "verify": {"default": ["make test"]}}


def parsed(**more: Any) -> Config:
    return configuration.parse(json.dumps({**LEAST, **more}).encode())


def mistakes(**more: Any) -> list[str]:
    with pytest.raises(Mistakes) as found:
        parsed(**more)
    return found.value.mistakes


@pytest.mark.parametrize(
    ("path", "default"),
    [
        ("schema_", None),
        ("max_retries", 3),
        ("provider.args", ()),
        ("provider.timeout", 1800),
        ("provider.idle_timeout", None),
        ("provider.dialect", None),
        ("provider.model", None),
        ("provider.model_args", ()),
        ("provider.env", ()),
        ("provider.protocol", "cli"),
        ("provider.permissions", "allow"),
        ("providers", {}),
        ("roles", {}),
        ("services", ()),
        ("verify.ui", ()),
        ("verify.timeout", 900),
        ("verify.jobs", None),
        ("verify.parallel", None),
        ("verify.fail_fast", False),
        ("verify.rerun", 1),
        ("protect", ()),
        ("browser.enabled", True),
        ("browser.executable_path", ""),
        ("browser.headless", True),
        ("browser.screenshot_dir", ".ralph/screenshots"),
        ("browser.base_url", ""),
        ("browser.timeout", 30),
        ("browser.ignore", ()),
        ("commits.prd_changes", True),
        ("commits.message", "chore: update prd.json"),
        ("worktrees.auto", True),
        ("worktrees.setup", ()),
        ("worktrees.link", ()),
        ("worktrees.copy_", ()),
        ("worktrees.timeout", 900),
    ],
)
def test_what_is_not_set_has_its_default(path: str, default: object) -> None:
    value: object = parsed()
    for name in path.split("."):
        value = getattr(value, name)
    assert value == default


def test_a_service_is_waited_for_and_started_anew_by_default() -> None:
    service = parsed(services=[{"name": "web", "ready": "http://localhost:3000"}]).services[0]
    assert (service.start, service.ready_timeout, service.restart_before_verify) == (None, 30, True)


def test_no_checks_at_all_are_allowed_when_a_person_says_so() -> None:
    assert parsed(verify={"default": []}).verify.default == ()


@pytest.mark.parametrize(
    ("report", "why"),
    [
        ("/tmp/report.xml", "is outside the project"),
        ("**.xml", "has ** beside other signs"),
        ("build/**test/*.xml", "has ** beside other signs"),
        ("./", "is a folder; name the files"),
    ],
)
def test_reports_that_no_glob_can_find_are_refused(report: str, why: str) -> None:
    [mistake] = mistakes(gates=[{"name": "t", "command": "true", "report": report}])
    assert mistake.startswith(f"gates[0].report: {report!r} {why}")


@pytest.mark.parametrize("key", ["link", "copy"])
@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/etc/passwd", "is outside the project"),
        ("../other", "is outside the project"),
        ("a/../../b", "is outside the project"),
        (".", "is the whole project"),
        (".git/hooks", "belongs to git or to Ralph"),
        ("sub/.git", "belongs to git or to Ralph"),
        (".ralph/logs", "belongs to git or to Ralph"),
        ("**/.env", "uses `**`, which works only in .worktreeinclude"),
    ],
)
def test_only_paths_inside_of_the_project_can_be_put_into_a_working_copy(key: str, path: str, why: str) -> None:
    assert mistakes(worktrees={key: ["fine", path]}) == [f"worktrees.{key}[1]: {path!r} {why}"]


def gates(*given: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": chr(97 + number), "command": "true", **one} for number, one in enumerate(given)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (gates({"needs": ["c"]}, {}), ["gates[0].needs[0]: 'c' is not among gates"]),
        (
            [{"name": "lint", "command": "true"}, {"name": "test", "command": "true", "needs": ["lind"]}],
            ["gates[1].needs[0]: 'lind' is not among gates; did you mean 'lint'?"],
        ),
        (gates({"needs": ["a"]}), ["gates[0].needs[0]: 'a' needs 'a', so none of them could run"]),
        (
            gates({"needs": ["b"]}, {"needs": ["c"]}, {"needs": ["a"]}, {"needs": ["a"]}),
            [
                "gates[0].needs[0]: 'a' needs 'b' needs 'c' needs 'a', so none of them could run",
                "gates[1].needs[0]: 'b' needs 'c' needs 'a' needs 'b', so none of them could run",
                "gates[2].needs[0]: 'c' needs 'a' needs 'b' needs 'c', so none of them could run",
            ],
        ),
        (
            gates({"heldOut": True}, {"needs": ["a"]}),
            ["gates[1].needs[0]: 'a' is held out, so it runs after this gate"],
        ),
        (
            gates({"heldOut": True, "parallel": True}),
            ["gates[0].parallel: held-out gates run after all others, one after another; leave it out"],
        ),
        (gates({"needs": "b"}, {}), ["gates[0].needs: expected a valid array, found text 'b'"]),
        (gates({"parallel": 1}), ["gates[0].parallel: expected a valid boolean, found number 1"]),
    ],
)
def test_needs_that_cannot_be_met_are_refused(given: list[dict[str, Any]], expected: list[str]) -> None:
    assert mistakes(gates=given) == expected


def test_a_gate_runs_beside_others_if_it_says_so_or_all_do_and_never_in_a_slot() -> None:
    given = gates({}, {"parallel": True}, {"parallel": False, "needs": ["a"]})

    def parallel(**verify: Any) -> list[bool]:
        return [gate.parallel for gate in default_gates(parsed(gates=given, verify={"default": [], **verify}))]

    assert parallel() == [False, True, False]
    assert parallel(parallel=True) == [True, True, False]
    assert parallel(parallel=False) == [False, False, False]
    assert parallel(parallel=True, where="slot") == [False, False, False]
    assert default_gates(parsed(gates=given))[2].needs == ("a",)
    assert [gate.parallel for gate in default_gates(parsed(verify={"default": ["x"], "parallel": True}))] == [True]


def test_nothing_waits_for_a_gate_that_a_person_waived() -> None:
    given = gates({}, {"needs": ["a"]}, {"needs": ["a", "b"], "required": False})
    waiving = waived(default_gates(parsed(gates=given)), {"a"})
    assert [(gate.required, gate.needs) for gate in waiving] == [(False, ()), (True, ()), (False, ("b",))]


def test_working_copies_are_set_up_as_the_file_says() -> None:
    given = {"setup": ["uv sync"], "link": ["node_modules"], "copy": [".env.*"], "timeout": 60, "auto": False}
    given |= {"maxGb": 5, "keepDays": 7}
    worktrees = parsed(worktrees=given).worktrees
    assert worktrees.document() == given


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"maxRetrys": 3}, "maxRetrys: unknown key; did you mean 'maxRetries'?"),
        ({"provider": {"command": "x", "timout": 5}}, "provider.timout: unknown key; did you mean 'timeout'?"),
        ({"provider": {"command": "x", "modelArg": []}}, "provider.modelArg: unknown key; did you mean 'modelArgs'?"),
        (
            {"services": [{"name": "a", "ready": "http://x", "readyTimeOut": 1}]},
            "services[0].readyTimeOut: unknown key; did you mean 'readyTimeout'?",
        ),
        ({"verify": {"default": [], "UI": []}}, "verify.UI: unknown key"),
        ({"maxRetries": 0}, "maxRetries: expected greater than or equal to 1, found number 0"),
        ({"verify": {"default": [], "rerun": 99}}, "verify.rerun: expected less than or equal to 5, found number 99"),
        (
            {"verify": {"default": [], "rerun": -1}},
            "verify.rerun: expected greater than or equal to 0, found number -1",
        ),
        *(
            (
                {"verify": {"default": [], "jobs": wrong}},
                f"verify.jobs: expected greater than or equal to 1, found number {wrong}",
            )
            for wrong in (0, -1)
        ),
        ({"maxRetries": "3"}, "maxRetries: expected a valid integer, found text '3'"),
        ({"maxRetries": True}, "maxRetries: expected a valid integer, found true"),
        ({"provider": {}}, "provider.command: missing, and required"),
        ({"provider": {"command": " "}}, "provider.command: "),
        ({"provider": {"command": "x", "timeout": 0}}, "provider.timeout: expected greater than 0, found number 0"),
        ({"provider": {"command": "x", "timeout": 8e5}}, "provider.timeout: expected less than or equal to 604800"),
        ({"provider": {"command": "x", "args": "-p"}}, "provider.args: "),
        ({"provider": {"command": "x", "protocol": "mcp"}}, "provider.protocol: expected 'cli' or 'acp'"),
        ({"provider": {"command": "x", "permissions": "deny"}}, "provider.permissions: is used only with"),
        ({"providers": {"a": {"command": "x", "protocol": "acp", "dialect": "text"}}}, "providers.a.dialect: is not"),
        ({"verify": {}}, "verify.default: missing, and required (or gates instead)"),
        ({"verify": {"default": [""]}}, "verify.default[0]: "),
        ({"verify": {"default": ["ok", "  "]}}, "verify.default[1]: "),
        ({"services": [{"name": "a b", "ready": "http://x"}]}, "services[0].name: "),
        ({"services": [{"name": "../x", "ready": "http://x"}]}, "services[0].name: "),
        ({"services": [{"name": "a", "ready": "localhost:1"}]}, "services[0].ready: "),
        ({"services": [{"name": "a", "ready": "http://x:${PORT}"}]}, "services[0].ready: ${PORT} is not replaced"),
        ({"services": [{"name": "a", "ready": "http://x:$RALPH_PORT/"}]}, "services[0].ready: $RALPH_PORT is not"),
        ({"commits": {"message": ""}}, "commits.message: "),
        ({"roles": {"planner": {"provider": "fst"}}, "providers": {"fast": {"command": "x"}}},
         "roles.planner.provider: 'fst' is not among providers; did you mean 'fast'?"),
        ({"roles": {"verifier": {"provider": "zzz"}}}, "roles.verifier.provider: 'zzz' is not among providers"),
        ({"roles": {"reviewr": {}}}, "roles.reviewr: unknown key; did you mean 'reviewer'?"),
        ({"review": {"rounds": -1}}, "review.rounds: expected greater than or equal to 0, found number -1"),
        ({"review": {"blocking": []}}, "review.blocking"),
        ({"review": {"blocking": ["major", "huge"]}}, "review.blocking[1]: expected"),
        ({"acceptance": {}, "verify": {"default": []}}, "acceptance: no required gate could run the tests"),
        ({"acceptance": {}, "verify": {"default": ["x"], "where": "slot"}}, "acceptance: needs"),
        ({"acceptance": {}, "gates": [{"name": "a", "command": "x", "required": False}]}, "acceptance: no required"),
        ({"acceptance": {"gates": ["tset"]}, "gates": [{"name": "test", "command": "x"}]},
         "acceptance.gates: 'tset' is not a required gate; did you mean 'test'?"),
        ({"acceptance": {"role": "executor"}}, "acceptance.role: expected 'tester'"),
        ({"review": {"round": 1}}, "review.round: unknown key; did you mean 'rounds'?"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place_and_what_is_near(more: dict[str, Any], expected: str) -> None:
    found = mistakes(**more)
    assert len(found) == 1
    assert found[0].startswith(expected)


@pytest.mark.parametrize(
    "ready",
    [
        "http://localhost:3000",
        "https://localhost/health?x=1",
        "http://localhost:${RALPH_PORT}/",
        "tcp://localhost:5432",
        "tcp://127.0.0.1:${RALPH_PORT}",
        "log:Ready in \\d+ ms",
    ],
)
def test_a_service_is_ready_by_url_by_port_or_by_a_line_of_its_output(ready: str) -> None:
    document = {**LEAST, "services": [{"name": "dev", "start": "run", "ready": ready}]}

    assert parsed(**document).services[0].ready == ready
    jsonschema.validate(document, configuration.schema())


@pytest.mark.parametrize("ready", ["", "localhost:3000", "tcp://localhost", "tcp://localhost:http", "log:", "ftp://x"])
def test_anything_else_is_no_readiness(ready: str) -> None:
    assert mistakes(services=[{"name": "dev", "start": "run", "ready": ready}])[0].startswith("services[0].ready")


def test_patterns_must_be_regular_expressions_and_only_our_own_output_can_be_read() -> None:
    assert mistakes(services=[{"name": "dev", "start": "run", "ready": "log:(up"}]) == [
        "services[0].ready: '(up' is not a regular expression (missing ), unterminated subpattern at position 0)"
    ]
    assert mistakes(services=[{"name": "dev", "ready": "log:up"}]) == [
        "services[0].ready: only the output of a service with a start command can be read"
    ]
    assert mistakes(browser={"ignore": ["fine", "[bad"]})[0].startswith("browser.ignore[1]: '[bad' is not a regular")


def test_two_services_of_one_name_are_a_mistake() -> None:
    service = {"name": "web", "ready": "http://x"}
    assert mistakes(services=[service, {**service, "name": "db"}, service]) == ["services[2].name: 'web' is used twice"]


def test_all_mistakes_are_told_at_once() -> None:
    found = mistakes(
        maxRetries=0,
        provider={"comand": "x"},
        services=[{"name": "web", "ready": "x"}, {"name": "web", "ready": "http://x"}],
        verify={"default": [1]},
        roles={"planner": {"provider": "nobody"}},
    )
    assert [line.split(":")[0] for line in found] == [
        "maxRetries",
        "provider.command",
        "provider.comand",
        "services[0].ready",
        "verify.default[0]",
        "services[1].name",
        "roles.planner.provider",
    ]


ROLES = {
    "providers": {"fast": {"command": "amp", "args": ["-x"]}, "big": {"command": "claude", "model": "large"}},
    "roles": {"planner": {"provider": "fast"}, "verifier": {"provider": "big", "model": "opus"}},
}


@pytest.mark.parametrize(
    ("role", "command", "model"),
    [
        ("planner", "amp", None),
        ("executor", "claude", None),
        ("verifier", "claude", "opus"),
        ("unheard-of", "claude", None),
    ],
)
def test_each_role_is_played_by_its_agent_with_its_model(role: str, command: str, model: str | None) -> None:
    provider = parsed(**ROLES).provider_for(role)
    assert (provider.command, provider.model) == (command, model)


def test_a_roles_model_does_not_change_the_agent_for_others() -> None:
    config = parsed(roles={"verifier": {"model": "opus"}})
    assert config.provider_for("verifier").model == "opus"
    assert config.provider_for("verifier").command == "claude"
    assert config.provider_for("executor").model is None


def test_a_configuration_is_read_from_the_projects_root(tmp_path: Path) -> None:
    (tmp_path / "ralph.config.json").write_text(json.dumps(LEAST))
    assert configuration.load(tmp_path) == parsed()


def test_a_missing_configuration_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(RalphError, match=r"There is no ralph\.config\.json") as error:
        configuration.load(tmp_path)
    assert "ralph init" in error.value.remedy


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
@pytest.mark.parametrize("is_found", [False, True])
def test_what_init_writes_is_taken_by_ralph_and_by_its_own_schema(tmp_path: Path, agent: Any, is_found: bool) -> None:
    made = write(
        Workspace(root=tmp_path), FirstSettings(agent=agent, gates=("make test", 'echo "a b"'), is_found=is_found)
    )
    assert made == ["ralph.config.json", ".ralph/.gitignore", ".ralph/config.schema.json"]
    config = configuration.load(tmp_path)
    assert (config.provider.command, config.provider.args) == (agent.command, agent.args)
    assert known(config.provider) is agent
    assert config.verify.default == ("make test", 'echo "a b"')
    written = json.loads((tmp_path / "ralph.config.json").read_text())
    schema = json.loads((tmp_path / written["$schema"]).read_text())
    assert schema == configuration.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(written, schema)


def test_init_never_overwrites_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "ralph.config.json").write_text("mine")
    (tmp_path / ".ralph").mkdir()
    (tmp_path / ".ralph" / ".gitignore").write_text("mine too")
    assert write(Workspace(root=tmp_path), FirstSettings(agent=AGENTS["claude"])) == [".ralph/config.schema.json"]
    assert (tmp_path / "ralph.config.json").read_text() == "mine"
    assert (tmp_path / ".ralph" / ".gitignore").read_text() == "mine too"


@pytest.mark.parametrize(
    "more",
    [
        {"maxRetrys": 3},
        {"provider": {"command": "x", "extra": 1}},
        {"providers": {"fast": {"command": "x", "extra": 1}}},
        {"roles": {"planner": {"extra": 1}}},
        {"roles": {"nobody": {}}},
        {"review": {"rounds": -1}},
        {"review": {"blocking": []}},
        {"services": [{"name": "a", "ready": "http://x", "extra": 1}]},
        {"verify": {"default": [], "extra": 1}},
        {"browser": {"extra": 1}},
        {"commits": {"extra": 1}},
        {"maxRetries": 0},
        {"maxRetries": "3"},
        {"provider": {"command": ""}},
        {"services": [{"name": "a", "ready": "ftp://x"}]},
        {"verify": {"default": [" "]}},
        {"verify": {"where": "clean"}},
    ],
)
def test_the_schema_refuses_what_ralph_refuses(more: dict[str, Any]) -> None:
    assert mistakes(**more)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**LEAST, **more}, configuration.schema())


@pytest.mark.parametrize(
    ("missing", "why"),
    [("provider", "missing, and required"), ("verify", "missing, and required (or gates instead)")],
)
def test_the_agent_and_the_checks_must_be_named(missing: str, why: str) -> None:
    document = {key: value for key, value in LEAST.items() if key != missing}
    with pytest.raises(Mistakes) as found:
        configuration.parse(json.dumps(document).encode())
    assert found.value.mistakes == [f"{missing}: {why}"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, configuration.schema())


def test_every_setting_with_a_purpose_is_described_for_editors() -> None:
    definitions = configuration.schema()["$defs"]
    assert isinstance(definitions, dict)
    provider = definitions["Provider"]["properties"]
    assert all(settings["description"] for settings in provider.values())


# gates with names

NAMED = [
    {"name": "typecheck", "command": "make types"},
    {"name": "lint", "command": "make lint", "required": False},
    {"name": "test", "command": "make test", "timeout": 60},
]


def test_gates_with_names_take_the_place_of_plain_commands() -> None:
    gates = default_gates(parsed(gates=NAMED, verify={"default": ["make test", "make old"], "timeout": 5}))
    assert gates == (
        Gate(name="typecheck", command="make types", timeout=5),
        Gate(name="lint", command="make lint", timeout=5, required=False),
        Gate(name="test", command="make test", timeout=60),
    )


def test_without_gates_the_plain_commands_are_the_gates() -> None:
    assert default_gates(parsed()) == (Gate(name="make test", command="make test", timeout=900),)
    assert default_gates(parsed(gates=None)) == default_gates(parsed())


def test_an_empty_list_of_gates_is_no_gates_and_not_the_plain_commands() -> None:
    assert default_gates(parsed(gates=[])) == ()


def test_commands_that_are_not_run_because_gates_are_named_are_told() -> None:
    assert parsed(gates=NAMED, verify={"default": ["make test", "make old"]}).unused_gates == ("make old",)
    assert parsed(gates=[]).unused_gates == ("make test",)
    assert parsed().unused_gates == ()


@pytest.mark.parametrize("gates", [NAMED, []])
@pytest.mark.parametrize("verify", [{}, {"verify": {"require": "proven"}}])
def test_with_gates_verify_needs_no_commands(gates: list[Any], verify: dict[str, Any]) -> None:
    document = {"provider": {"command": "x"}, "gates": gates, **verify}
    assert configuration.parse(json.dumps(document).encode()).verify.default == ()
    jsonschema.validate(document, configuration.schema())


def test_gates_that_are_null_are_none_so_that_verify_is_needed() -> None:
    document = {"provider": {"command": "x"}, "gates": None}
    with pytest.raises(Mistakes) as found:
        configuration.parse(json.dumps(document).encode())
    assert found.value.mistakes == ["verify: missing, and required (or gates instead)"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, configuration.schema())


@pytest.mark.parametrize(
    ("gate", "place"),
    [
        ({"command": "x"}, "gates[0].name"),
        ({"name": "x"}, "gates[0].command"),
        ({"name": "", "command": "x"}, "gates[0].name"),
        ({"name": " x", "command": "x"}, "gates[0].name"),
        ({"name": "x" * 61, "command": "x"}, "gates[0].name"),
        ({"name": "x", "command": " "}, "gates[0].command"),
        ({"name": "x", "command": "x", "required": "no"}, "gates[0].required"),
        ({"name": "x", "command": "x", "timeout": 0}, "gates[0].timeout"),
        ({"name": "x", "command": "x", "optional": True}, "gates[0].optional"),
        ("make test", "gates[0]"),
    ],
)
def test_a_gate_that_is_none_is_told_with_its_place_and_refused_by_the_schema(gate: object, place: str) -> None:
    [mistake] = mistakes(gates=[gate])
    assert mistake.startswith(f"{place}: ")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**LEAST, "gates": [gate]}, configuration.schema())


def test_two_gates_cannot_have_one_name() -> None:
    assert mistakes(gates=[NAMED[0], {**NAMED[1], "name": "typecheck"}]) == ["gates[1].name: 'typecheck' is used twice"]
