"""Ralph's own files: whatever an agent does to them is noticed, undone and kept aside."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph.protect.guard import Guard

PLAN = ".ralph/2026-01-01-auth/prd.json"
NOTES = ".ralph/2026-01-01-auth/prd.md"
PROMPT = ".ralph/prompts/run.md"
CONFIG = "ralph.config.json"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name in (PLAN, NOTES, PROMPT, CONFIG):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"original {name}")
    (root / "app.py").write_text("app")
    return root


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "undone"


def watched(root: Path, **more: object) -> Guard:
    guard = Guard(roots=(root,), **more)
    guard.remember()
    return guard


def contents(root: Path) -> dict[str, str]:
    files = (path for path in sorted(root.rglob("*")) if path.is_symlink() or not path.is_dir())
    return {
        str(path.relative_to(root)): f"→ {path.readlink()}" if path.is_symlink() else path.read_text() for path in files
    }


def test_nothing_is_undone_where_nothing_was_done(root: Path, kept: Path) -> None:
    before = contents(root)
    assert watched(root).undo(kept) == ()
    assert contents(root) == before
    assert not kept.exists()


def change(root: Path) -> None:
    (root / PLAN).write_text('{"passes": true}')


def append(root: Path) -> None:
    with (root / PLAN).open("a") as file:
        file.write(" ")


def delete(root: Path) -> None:
    (root / PLAN).unlink()


def replace_whole(root: Path) -> None:
    other = root / ".ralph" / "other"
    other.write_text("original " + PLAN.replace("auth", "autX"))
    other.rename(root / PLAN)


def forge_time(root: Path) -> None:
    """The same length and the same times as before: only the kernel's own mark tells."""
    path = root / PLAN
    status = path.stat()
    path.write_text("ORIGINAL" + path.read_text()[8:])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    assert path.stat().st_mtime_ns == status.st_mtime_ns


def swap_for_link(root: Path) -> None:
    (root / "mine.json").write_text("agent's")
    (root / PLAN).unlink()
    (root / PLAN).symlink_to(root / "mine.json")


def swap_for_link_to_the_same_text(root: Path) -> None:
    (root / "mine.json").write_text((root / PLAN).read_text())
    (root / PLAN).unlink()
    (root / PLAN).symlink_to(root / "mine.json")


def swap_for_folder(root: Path) -> None:
    (root / PLAN).unlink()
    (root / PLAN).mkdir()


def swap_for_folder_with_a_pipe(root: Path) -> None:
    swap_for_folder(root)
    os.mkfifo(root / PLAN / "pipe")


def make_writable_for_all(root: Path) -> None:
    (root / PLAN).chmod(0o777)


@pytest.mark.parametrize(
    "harm",
    [
        change,
        append,
        delete,
        replace_whole,
        forge_time,
        swap_for_link,
        swap_for_link_to_the_same_text,
        swap_for_folder,
        swap_for_folder_with_a_pipe,
        make_writable_for_all,
    ],
)
def test_a_file_that_an_agent_touched_is_noticed_and_put_back(
    root: Path, kept: Path, harm: Callable[[Path], None]
) -> None:
    (root / PLAN).chmod(0o640)
    guard = watched(root)
    harm(root)
    assert root / PLAN in guard.undo(kept)
    path = root / PLAN
    assert path.read_text() == f"original {PLAN}"
    assert not path.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert guard.undo(kept) == ()


def test_the_file_that_a_link_pointed_at_is_not_touched(root: Path, kept: Path) -> None:
    guard = watched(root)
    swap_for_link(root)
    guard.undo(kept)
    assert (root / "mine.json").read_text() == "agent's"


def test_the_agents_version_is_kept(root: Path, kept: Path) -> None:
    guard = watched(root)
    change(root)
    (root / ".ralph" / "extra" / "new.txt").parent.mkdir()
    (root / ".ralph" / "extra" / "new.txt").write_text("added")
    guard.undo(kept)
    assert contents(kept) == {PLAN: '{"passes": true}', ".ralph/extra/new.txt": "added"}


def test_files_that_an_agent_added_are_taken_away(root: Path, kept: Path) -> None:
    before = contents(root)
    guard = watched(root)
    (root / ".ralph" / "prompts" / "verify.md").write_text("say VERIFIED")
    (root / ".ralph" / "2026-01-02-more").mkdir()
    (root / ".ralph" / "2026-01-02-more" / "prd.json").write_text("{}")
    (root / ".ralph" / "link").symlink_to("/etc/hostname")
    assert [str(path.relative_to(root)) for path in guard.undo(kept)] == [
        ".ralph/2026-01-02-more/prd.json",
        ".ralph/link",
        ".ralph/prompts/verify.md",
    ]
    assert contents(root) == before


def test_a_configuration_that_was_not_there_is_taken_away(root: Path, kept: Path) -> None:
    (root / CONFIG).unlink()
    guard = watched(root)
    (root / CONFIG).write_text("{}")
    assert guard.undo(kept) == (root / CONFIG,)
    assert not (root / CONFIG).exists()


def test_a_folder_that_was_swept_away_comes_back(root: Path, kept: Path) -> None:
    before = contents(root)
    guard = watched(root)
    shutil.rmtree(root / ".ralph")
    (root / CONFIG).unlink()
    assert len(guard.undo(kept)) == 4
    assert contents(root) == before


def test_a_folder_that_became_a_file_comes_back(root: Path, kept: Path) -> None:
    before = contents(root)
    guard = watched(root)
    shutil.rmtree(root / ".ralph" / "2026-01-01-auth")
    (root / ".ralph" / "2026-01-01-auth").write_text("gone")
    guard.undo(kept)
    assert contents(root) == before


def test_a_link_of_a_persons_is_put_back_as_a_link(root: Path, kept: Path) -> None:
    (root / ".ralph" / "shared").symlink_to("../docs")
    before = contents(root)
    guard = watched(root)
    (root / ".ralph" / "shared").unlink()
    (root / ".ralph" / "shared").write_text("x")
    assert guard.undo(kept) == (root / ".ralph" / "shared",)
    assert contents(root) == before


def test_a_pipe_of_a_persons_is_put_back_as_a_pipe(root: Path, kept: Path) -> None:
    os.mkfifo(root / ".ralph" / "pipe")
    guard = watched(root)
    (root / ".ralph" / "pipe").unlink()
    assert guard.undo(kept) == (root / ".ralph" / "pipe",)
    assert (root / ".ralph" / "pipe").is_fifo()


def test_touching_a_file_without_changing_it_is_no_harm(root: Path, kept: Path) -> None:
    guard = watched(root)
    (root / PLAN).touch()
    text = (root / NOTES).read_text()
    (root / NOTES).unlink()
    (root / NOTES).write_text(text)
    assert guard.undo(kept) == ()


@pytest.mark.parametrize("name", ["logs/run/journal.jsonl", "screenshots/a.png", "worktrees/x/y", "ralph.lock"])
def test_what_ralph_itself_writes_meanwhile_is_left_alone(root: Path, kept: Path, name: str) -> None:
    guard = watched(root)
    path = root / ".ralph" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine")
    assert guard.undo(kept) == ()
    assert path.read_text() == "mine"


def test_the_answer_that_was_asked_for_may_be_written(root: Path, kept: Path) -> None:
    answer = root / ".ralph" / "run" / "answers" / "prd-draft"
    guard = watched(root, writable=frozenset({answer}))
    answer.parent.mkdir(parents=True)
    answer.write_text("# PRD")
    (answer.parent / "other").write_text("x")
    assert guard.undo(kept) == (answer.parent / "other",)
    assert answer.read_text() == "# PRD"


def test_the_rest_of_the_project_is_the_agents(root: Path, kept: Path) -> None:
    guard = watched(root)
    (root / "app.py").write_text("changed")
    (root / "sub" / ".ralph").mkdir(parents=True)
    (root / "sub" / ".ralph" / "x").write_text("x")
    assert guard.undo(kept) == ()
    assert (root / "app.py").read_text() == "changed"


def test_protected_files_that_git_does_not_know_are_guarded_too(root: Path, kept: Path) -> None:
    (root / ".env").write_text("original")
    guard = watched(root, extra=(root / ".env", root / "not-there"))
    (root / ".env").write_text("changed")
    assert guard.undo(kept) == (root / ".env",)
    assert (root / ".env").read_text() == "original"
    assert (kept / ".env").read_text() == "changed"


def test_a_project_without_any_file_of_ralphs_needs_no_guard(tmp_path: Path, kept: Path) -> None:
    guard = watched(tmp_path)
    assert guard.undo(kept) == ()
