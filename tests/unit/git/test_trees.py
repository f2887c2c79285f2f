"""Trees compared and changed by Ralph itself are what git would have made of them."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ralph.errors import RalphError
from ralph.git.objects import TreeEntry, write_object
from ralph.git.parse import parse_raw
from ralph.git.repo import Repo, open_repo
from ralph.git.trees import blobs, changed_since, changes_between, entries_at, file_entry, files_below, with_entries

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


def entries(repo: Repo, files: Mapping[str, bytes | None]) -> dict[str, TreeEntry | None]:
    blob = partial(write_object, repo.git_dir, "blob", algorithm=repo.algorithm)
    return {path: None if data is None else TreeEntry("100644", blob(data)) for path, data in files.items()}


@QUICK
@given(FILES, FILES)
def test_a_changed_tree_is_git_s(repo: Repo, before: dict[str, bytes], after: dict[str, bytes]) -> None:
    wanted = entries(repo, dict.fromkeys([path for path in before if path not in after]) | after)
    assert asyncio.run(with_entries(repo, made(repo, before), wanted)) == made(repo, after)


def test_what_git_has_packed_is_read_by_git(repo: Repo) -> None:
    old, new = made(repo, {"a": b"1", "c/d/e": b"4"}), made(repo, {"a": b"2", "c/d/e": b"4"})
    for tree in (old, new):
        subprocess.run(["git", "update-ref", f"refs/t/{tree[:8]}", repo.write_commit(tree, (), "t")], cwd=repo.top)
    subprocess.run(["git", "gc", "-q", "--prune=now"], cwd=repo.top, check=True)
    assert [change.path for change in asyncio.run(changes_between(repo, old, new))] == ["a"]
    changed = asyncio.run(with_entries(repo, old, entries(repo, {"c/d/b": b"3"})))
    assert changed == made(repo, {"a": b"1", "c/d/e": b"4", "c/d/b": b"3"})


@QUICK
@given(FILES)
def test_an_entry_is_git_s(repo: Repo, files: dict[str, bytes]) -> None:
    tree = made(repo, files)
    for path in ("a", "a/y", "d/e", "nowhere", "a/x/y"):
        found = asyncio.run(entries_at(repo, tree, [path]))[path]
        told = subprocess.run(
            ["git", "rev-parse", "--verify", "-q", f"{tree}:{path}"], cwd=repo.top, capture_output=True
        )
        assert (found.name if found else "") == told.stdout.decode().strip()


def test_a_file_s_entry_has_its_mode(repo: Repo, tmp_path: Path) -> None:
    for name, mode in (("plain", 0o644), ("program", 0o755)):
        (tmp_path / name).write_text(name)
        (tmp_path / name).chmod(mode)
    (tmp_path / "link").symlink_to("plain")
    found = {name: file_entry(repo, tmp_path / name) for name in ("plain", "program", "link", "nowhere", ".")}
    assert {name: entry.mode for name, entry in found.items() if entry} == {
        "plain": "100644",
        "program": "100755",
        "link": "120000",
    }


@pytest.fixture
def history(tmp_path: Path) -> tuple[Repo, str, str]:
    """A repository with two commits."""
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@b"]
    for path, text in {".ralph/p/prd.json": "{}", ".ralphs": "", "a/.ralph/x": "x", "code.py": "1"}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    commits = []
    for text in ("1", "2"):
        (tmp_path / "code.py").write_text(text)
        subprocess.run(["git", "add", "-A"], cwd=tmp_path, check=True)
        subprocess.run([*git, "commit", "-qm", text], cwd=tmp_path, check=True)
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tmp_path, capture_output=True, text=True, check=True)
        commits.append(head.stdout.strip())
    return asyncio.run(open_repo(tmp_path)), *commits  # type: ignore[return-value]


@pytest.mark.parametrize("packed", [False, True])
def test_what_a_commit_holds_is_the_same_whether_it_is_packed_or_not(
    history: tuple[Repo, str, str], packed: bool
) -> None:
    repo, first, second = history
    if packed:
        subprocess.run(["git", "repack", "-adq"], cwd=repo.top, check=True)
        subprocess.run(["git", "prune-packed"], cwd=repo.top, check=True)
    found = asyncio.run(files_below(repo, second, [".ralph", "code.py", "missing/file"]))
    assert found.keys() == {".ralph/p/prd.json", "code.py"}
    content = asyncio.run(blobs(repo, [entry.name for entry in found.values()]))
    assert {path: content[entry.name] for path, entry in found.items()} == {".ralph/p/prd.json": b"{}", "code.py": b"2"}
    assert asyncio.run(files_below(repo, second, [])) == {}
    assert asyncio.run(changed_since(repo, first, second)) == ("code.py",)
    assert asyncio.run(changed_since(repo, second, second)) == ()
    assert asyncio.run(changed_since(repo, "1" * 40, second)) is None


def test_an_object_that_is_missing_is_named(history: tuple[Repo, str, str]) -> None:
    with pytest.raises(RalphError, match="1111"):
        asyncio.run(blobs(history[0], ["1" * 40]))
