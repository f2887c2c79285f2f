"""Trees compared and changed by Ralph itself are what git would have made of them."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ralph.git.parse import parse_raw
from ralph.git.repo import Repo, open_repo
from ralph.git.trees import changes_between, files_below, with_files

NAMES = st.sampled_from(["a", "a.b", "a-b", "b", "ü", "a/x", "a/y/z", "a.b/c", "d/e", "d/e.f", "d"])
FILES = st.dictionaries(NAMES, st.binary(max_size=4), max_size=7).filter(
    lambda files: not any(one.startswith(f"{other}/") for one in files for other in files)
)


@pytest.fixture(scope="module", params=["sha1", "sha256"])
def repo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Repo:
    folder = tmp_path_factory.mktemp("repo")
    subprocess.run(["git", "init", "-q", f"--object-format={request.param}"], cwd=folder, check=True)
    return asyncio.run(open_repo(folder))


def made(repo: Repo, files: dict[str, bytes]) -> str:
    """The tree that git itself makes of files."""
    lines = []
    for path, data in files.items():
        done = subprocess.run(["git", "hash-object", "-w", "--stdin"], cwd=repo.top, input=data, capture_output=True)
        lines.append(f"100644 {done.stdout.decode().strip()}\t{path}\0")
    index = repo.git_dir / "test-index"
    index.unlink(missing_ok=True)
    env = {"GIT_INDEX_FILE": str(index), "PATH": "/usr/bin:/bin:/usr/local/bin"}
    text = "".join(lines).encode()
    subprocess.run(["git", "update-index", "-z", "--index-info"], cwd=repo.top, env=env, input=text, check=True)
    done = subprocess.run(["git", "write-tree"], cwd=repo.top, env=env, capture_output=True, check=True)
    return done.stdout.decode().strip()


QUICK = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@QUICK
@given(FILES, FILES)
def test_a_comparison_is_git_s(repo: Repo, before: dict[str, bytes], after: dict[str, bytes]) -> None:
    old, new = made(repo, before), made(repo, after)
    args = ("diff-tree", "-r", "--raw", "-z", "--no-abbrev", "--no-renames", old, new)
    wanted = parse_raw(asyncio.run(repo.git(*args)))
    assert sorted(asyncio.run(changes_between(repo, old, new)), key=str) == sorted(wanted, key=str)


@QUICK
@given(FILES, FILES)
def test_a_changed_tree_is_git_s(repo: Repo, before: dict[str, bytes], after: dict[str, bytes]) -> None:
    wanted = dict.fromkeys([path for path in before if path not in after]) | after
    tree = with_files(repo, made(repo, before), wanted)
    assert (tree or made(repo, {})) == made(repo, after)


def test_what_git_has_packed_is_left_to_git(repo: Repo, tmp_path: Path) -> None:
    old, new = made(repo, {"a": b"1"}), made(repo, {"a": b"2"})
    for tree in (old, new):
        subprocess.run(["git", "update-ref", f"refs/t/{tree[:8]}", repo.write_commit(tree, (), "t")], cwd=repo.top)
    subprocess.run(["git", "gc", "-q", "--prune=now"], cwd=repo.top, check=True)
    assert [change.path for change in asyncio.run(changes_between(repo, old, new))] == ["a"]
    assert with_files(repo, old, {"b": b"3"}) is None


@QUICK
@given(FILES)
def test_files_below_a_path_are_git_s(repo: Repo, files: dict[str, bytes]) -> None:
    commit = repo.write_commit(made(repo, files), (), "x")
    for paths in (("a",), ("d", "a.b"), ("a/y",), ("nowhere",)):
        assert sorted(asyncio.run(files_below(repo, commit, *paths))) == asyncio.run(repo.paths_in(commit, *paths))
