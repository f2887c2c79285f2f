"""R0.10: what `ralph install` writes, and that `ralph uninstall` takes away only that."""

from __future__ import annotations

from pathlib import Path

import pytest

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
    assert [change.what for change in install(tmp_path, "claude")] == ["brought up to date", "written"]
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


@pytest.mark.parametrize("source", [source for files in FILES.values() for source in files.values()])
def test_the_commands_forbid_editing_state_and_name_only_commands_that_exist(source: str) -> None:
    import re

    from ralph import integrations
    from ralph.cli.app import SECTIONS

    text = (Path(integrations.__file__).parent / source).read_text()
    assert "never edit anything under `.ralph/`" in text
    known = {name for section in SECTIONS.values() for name in section}
    assert set(re.findall(r"`ralph ([a-z]+)", text)) <= known | {"plan"}
