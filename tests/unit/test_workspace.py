"""Where a project is, what its features are called, and that no name leads out of it."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph import workspace as workspaces
from ralph.errors import RalphError
from ralph.workspace import Feature, Workspace, check_name, feature_in

NASTY = st.text("aB9._-/\\~ \n\0*:@{}é", max_size=12) | st.text(max_size=12)


def accepted(name: str) -> bool:
    try:
        return check_name(name) == name
    except RalphError:
        return False


@given(NASTY)
def test_no_accepted_name_can_lead_out_of_ralphs_folder(name: str) -> None:
    if not accepted(name):
        return
    feature = Feature(name=name, date="2026-01-01")
    for path in (feature.prd_json, feature.prd_md, f".ralph/{name}"):
        parts = PurePosixPath(path).parts
        assert parts[0] == ".ralph"
        assert ".." not in parts
        assert len(parts) == path.count("/") + 1
    assert not name.startswith("-")
    assert name.isascii()
    assert name.isprintable()


@given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,20}(\.[A-Za-z0-9_-]{1,10}){0,3}", fullmatch=True))
def test_every_plain_name_is_accepted_and_found_again_in_its_folders_name(name: str) -> None:
    feature = Feature(name=name, date="2026-01-31")
    assert feature_in(feature.folder) == feature
    assert accepted(name) is not name.endswith(".lock")


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "a/b", "/a", "a\\b", "~", "a..b", ".a", "a.", "-a", "_a", "a b", "a\n", "a\0", "é",
     "x" * 81, "a.lock", "@{-1}", "a:b", "a*"],
)  # fmt: skip
def test_a_name_that_could_do_harm_is_refused_with_an_example(name: str) -> None:
    with pytest.raises(RalphError, match="is not a valid feature name") as error:
        check_name(name)
    assert "user-login" in error.value.remedy


@pytest.mark.parametrize(
    "folder",
    [
        "logs",
        "run",
        "prompts",
        "2026-01-01",
        "2026-1-1-x",
        "26-01-01-x",
        "2026-01-01-",
        "2026-01-01-../x",
        "x-2026-01-01",
    ],
)
def test_other_folders_are_no_features(folder: str) -> None:
    assert feature_in(folder) is None


def test_a_date_within_a_features_name_belongs_to_the_name() -> None:
    assert feature_in("2026-01-01-2025-02-02-x") == Feature(name="2025-02-02-x", date="2026-01-01")


def test_features_are_listed_oldest_first(tmp_path: Path) -> None:
    workspace = Workspace(root=tmp_path)
    assert workspace.features() == []
    for name in ("2026-02-01-b", "2026-01-01-z", "2026-02-01-a", "logs", "prompts"):
        (workspace.ralph / name).mkdir(parents=True)
    (workspace.ralph / "2026-03-01-file").write_text("not a folder")
    assert [feature.folder for feature in workspace.features()] == ["2026-01-01-z", "2026-02-01-a", "2026-02-01-b"]


@pytest.mark.parametrize("marker", workspaces.MARKERS)
def test_a_project_is_found_upwards_by_its_marker(tmp_path: Path, marker: str) -> None:
    (tmp_path / marker).mkdir() if marker == ".git" else (tmp_path / marker).touch()
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    assert workspaces.find(deep).root == tmp_path


@pytest.mark.parametrize("own", ["ralph.config.json", ".ralph"])
def test_ralphs_own_files_count_before_a_nearer_marker(tmp_path: Path, own: str) -> None:
    (tmp_path / own).mkdir() if own == ".ralph" else (tmp_path / own).touch()
    package = tmp_path / "packages" / "web"
    package.mkdir(parents=True)
    (package / "package.json").touch()
    assert workspaces.find(package).root == tmp_path


def test_a_folder_without_a_project_says_what_one_looks_like(tmp_path: Path) -> None:
    with pytest.raises(RalphError, match="No project root found") as error:
        workspaces.find(tmp_path)
    assert "git init" in error.value.remedy


def test_locks_and_logs_are_kept_out_of_git_once(tmp_path: Path) -> None:
    workspace = Workspace(root=tmp_path)
    assert workspace.keep_out_of_git()
    path = workspace.ralph / ".gitignore"
    assert {"ralph.lock", "logs/", "run/", "worktrees/"} <= set(path.read_text().splitlines())
    path.write_text("mine")
    assert not workspace.keep_out_of_git()
    assert path.read_text() == "mine"


@pytest.mark.parametrize("shared", [True, False])
def test_only_a_gitignore_that_the_person_is_to_commit_is_shown_by_git(tmp_path: Path, shared: bool) -> None:
    workspace = Workspace(root=tmp_path)
    workspace.keep_out_of_git(shared=shared)
    assert (".gitignore" not in (workspace.ralph / ".gitignore").read_text().splitlines()) is shared


def test_the_root_of_the_disk_is_never_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    is_file = Path.is_file
    monkeypatch.setattr(Path, "is_file", lambda path: path == Path("/ralph.config.json") or is_file(path))
    with pytest.raises(RalphError, match="No project root found"):
        workspaces.find(tmp_path)
