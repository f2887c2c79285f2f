"""R0.10: what `ralph install` writes, and that `ralph uninstall` takes away only that."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph import prompts
from ralph.integrations import FILES, install, uninstall

COMMAND = ".claude/commands/ralph.md"


@pytest.mark.parametrize("program", sorted(FILES))
def test_what_was_installed_is_taken_away_again_without_a_trace(tmp_path: Path, program: str) -> None:
    assert all(change.done for change in install(tmp_path, program))
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.md")} == set(FILES[program])
    assert not any(change.done for change in install(tmp_path, program)), "the second time there is nothing to do"
    assert all(change.done for change in uninstall(tmp_path, program))
    assert list(tmp_path.iterdir()) == []


def test_a_persons_own_file_is_neither_overwritten_nor_removed(tmp_path: Path) -> None:
    own = tmp_path / COMMAND
    own.parent.mkdir(parents=True)
    own.write_text("mine\n")
    assert [change.done for change in install(tmp_path, "claude")] == [False, True]
    assert [change.done for change in uninstall(tmp_path, "claude")] == [False, True]
    assert own.read_text() == "mine\n"
    assert [path.name for path in own.parent.iterdir()] == ["ralph.md"]


def test_what_a_person_changed_stays(tmp_path: Path) -> None:
    install(tmp_path, "claude")
    path = tmp_path / COMMAND
    path.write_text(path.read_text().replace("Plan this", "Please plan this"))
    before = path.read_text()
    install(tmp_path, "claude")
    uninstall(tmp_path, "claude")
    assert path.read_text() == before


def test_an_older_version_of_ours_is_brought_up_to_date(tmp_path: Path) -> None:
    from ralph.integrations import _signed

    path = tmp_path / COMMAND
    path.parent.mkdir(parents=True)
    path.write_text(_signed("an older text\n", "claude"))
    assert [change.what for change in install(tmp_path, "claude")] == ["updated", "written"]
    assert "an older text" not in path.read_text()


def test_a_link_is_somebodys_own_arrangement(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.md"
    elsewhere.write_text("x")
    path = tmp_path / COMMAND
    path.parent.mkdir(parents=True)
    path.symlink_to(elsewhere)
    install(tmp_path, "claude")
    uninstall(tmp_path, "claude")
    assert path.is_symlink()
    assert elsewhere.read_text() == "x"


@pytest.mark.parametrize("role", ["planner", "questioner", "executor", "reviewer"])
def test_a_role_is_the_same_in_vs_code_as_in_a_session(tmp_path: Path, role: str) -> None:
    install(tmp_path, "copilot")
    text = (tmp_path / f".github/agents/Ralph-{role.title()}.agent.md").read_text()
    _, head, body = text.split("---\n", 2)
    assert body.lstrip("\n").startswith(prompts.built_in(f"role-{role}"))
    assert {line.partition(":")[0] for line in head.splitlines()} == {
        "name", "description", "tools", "agents", "user-invocable",
    }  # fmt: skip
    assert f"name: Ralph-{role.title()}\n" in head


def test_a_projects_own_role_is_installed_as_it_is_used(tmp_path: Path) -> None:
    own = tmp_path / ".ralph/prompts/role-reviewer.md"
    own.parent.mkdir(parents=True)
    own.write_text("# Our reviewer\n\nBe strict.\n")
    install(tmp_path, "copilot")
    assert "Be strict." in (tmp_path / ".github/agents/Ralph-Reviewer.agent.md").read_text()


def test_the_router_may_call_the_four_roles_and_write_nothing(tmp_path: Path) -> None:
    install(tmp_path, "copilot")
    head = (tmp_path / ".github/agents/Ralph.agent.md").read_text().split("---\n", 2)[1]
    assert "tools: ['read', 'search', 'agent']\n" in head
    names = {path.name.removesuffix(".agent.md") for path in (tmp_path / ".github/agents").iterdir()}
    assert names == {"Ralph", "Ralph-Planner", "Ralph-Questioner", "Ralph-Executor", "Ralph-Reviewer"}
    for name in names - {"Ralph"}:
        assert f"'{name}'" in head


@pytest.mark.parametrize("source", FILES["claude"].values())
def test_the_commands_forbid_editing_state_and_name_only_commands_that_exist(source: str) -> None:
    import re

    from ralph import integrations
    from ralph.cli.app import COMMANDS

    text = (Path(integrations.__file__).parent / source).read_text()
    assert "never edit anything under `.ralph/`" in text
    known = set(COMMANDS)
    assert set(re.findall(r"`ralph ([a-z]+)", text)) <= known | {"plan"}


def test_the_skill_is_what_the_standard_asks_for(tmp_path: Path) -> None:
    install(tmp_path, "skill")
    for name in FILES["skill"]:
        text = (tmp_path / name).read_text()
        fields = dict(line.split(": ", 1) for line in text.split("---\n")[1].splitlines())
        assert fields["name"] == (tmp_path / name).parent.name == "ralph"
        assert len(fields["description"]) <= 1024
        assert len(text.split()) < 1000, "an agent reads all of it"
