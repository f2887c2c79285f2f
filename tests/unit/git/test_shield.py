"""A person's untracked files are hidden from `git add -A`: those, no others, and only for a while."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.git import shield

NASTY = [
    "plain.txt",
    "with space.txt",
    "trailing ",
    "two trailing  ",
    " leading",
    "#hash",
    "!bang",
    "star*",
    "question?",
    "[abc]",
    "back\\slash",
    "ends\\",
    "tab\there",
    "quote\"'",
    "ünïcödé 日本",
    "deep/er/file.txt",
    "deep/!x#",
    "-dash",
    "~",
    ":(top)x",
    "*",
    "a{b,c}",
    "a**b",
    "$HOME",
    "\\*",
]
NAMES = st.text("ab *?[]\\!#~-.\té{}", min_size=1, max_size=8).filter(lambda name: name not in (".", "..", ".git"))


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shield")
    subprocess.run(["git", "init", "-q"], cwd=path, check=True)
    return path


def hidden(repo: Path, paths: list[str]) -> list[str]:
    """Which of these paths git ignores."""
    done = subprocess.run(
        ["git", "check-ignore", "-z", "--stdin", "--no-index"],
        cwd=repo,
        input=b"".join(os.fsencode(f"./{path}") + b"\0" for path in paths),
        capture_output=True,
    )
    assert done.returncode in (0, 1), done.stderr
    return [os.fsdecode(path).removeprefix("./") for path in done.stdout.split(b"\0")[:-1]]


@pytest.mark.parametrize("path", NASTY)
def test_exactly_the_named_file_is_hidden(repo: Path, path: str) -> None:
    others = [other for other in (*NASTY, f"x{path}", f"{path}x", f"sub/{path}", path[:-1] + "x") if other != path]
    with shield.raised(repo / ".git", [path]):
        assert hidden(repo, [path, *others]) == [path]


@given(st.lists(NAMES, min_size=1, max_size=6, unique=True), st.lists(NAMES, max_size=12))
def test_any_set_of_files_is_hidden_and_no_other(repo: Path, paths: list[str], others: list[str]) -> None:
    asked = list(dict.fromkeys([*paths, *others]))
    with shield.raised(repo / ".git", paths):
        assert set(hidden(repo, asked)) == set(paths)
    assert hidden(repo, asked) == []


def test_a_name_that_is_no_text_is_hidden(repo: Path) -> None:
    path = os.fsdecode(b"caf\xe9.txt")
    with shield.raised(repo / ".git", [path]):
        assert hidden(repo, [path, "café.txt"]) == [path]


def test_a_name_with_a_line_break_is_hidden(repo: Path) -> None:
    with shield.raised(repo / ".git", ["two\nlines", "re\rturn"]):
        assert hidden(repo, ["two\nlines", "re\rturn", "two", "lines"]) == ["two\nlines", "re\rturn"]


def test_git_add_leaves_a_persons_files_alone_and_takes_the_agents(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / "notes.txt").write_text("a person's")
    (tmp_path / "made.txt").write_text("the agent's")
    with shield.raised(tmp_path / ".git", ["notes.txt"]):
        subprocess.run(["git", "add", "-A"], cwd=tmp_path, check=True)
    staged = subprocess.run(["git", "ls-files"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert staged.split() == ["made.txt"]


@pytest.mark.parametrize("before", [b"", b"# mine\n*.tmp\n", b"no line end", b"a\r\nb\r\n", b"\xff\xfe\n", b"x\n\n\n"])
def test_what_a_person_had_there_is_as_it_was(tmp_path: Path, before: bytes) -> None:
    exclude = tmp_path / "info" / "exclude"
    exclude.parent.mkdir()
    exclude.write_bytes(before)
    with shield.raised(tmp_path, ["a", "b"]):
        assert exclude.read_bytes().startswith(before)
        assert b"\n/a\n/b\n" in exclude.read_bytes()
    assert exclude.read_bytes().rstrip(b"\n") == before.rstrip(b"\n")


def test_nothing_is_made_where_there_is_nothing_to_hide(tmp_path: Path) -> None:
    with shield.raised(tmp_path, []):
        assert not (tmp_path / "info").exists()


def test_a_block_that_a_killed_run_left_is_replaced_and_taken_away(tmp_path: Path) -> None:
    exclude = tmp_path / "info" / "exclude"
    exclude.parent.mkdir()
    exclude.write_text(f"mine\n{shield.BEGIN}\n/old\n{shield.END}\nmine too\n")
    with shield.raised(tmp_path, ["new"]):
        assert "/old" not in exclude.read_text()
        assert exclude.read_text().count(shield.BEGIN) == 1
    assert exclude.read_text() == "mine\nmine too\n"


def test_the_shield_goes_down_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), shield.raised(tmp_path, ["a"]):
        raise ZeroDivisionError
    assert (tmp_path / "info" / "exclude").read_bytes() == b""


def test_lowering_a_shield_that_was_never_raised_does_nothing(tmp_path: Path) -> None:
    shield.lower(tmp_path)
    assert list(tmp_path.iterdir()) == []
