"""RX.22: every kind of repository works, or is refused with the reason before anything is spent."""

from __future__ import annotations

import subprocess

import pytest

from tests.conftest import VERIFIED, Project, does

AGAIN = "rm -rf project/.git && git -C project init -q {how} && git -C project add -A && git -C project commit -qm A"
LIBRARY = "git init -q lib && echo x > lib/x && git -C lib add x && git -C lib commit -qm lib"
ADDED = f"{LIBRARY} && git -C project submodule add -q ../lib sub && git -C project commit -qm sub"
LOUD = (
    "cd project && git config filter.loud.clean 'tr A-Z a-z' && git config filter.loud.smudge 'tr a-z A-Z'"
    " && git config filter.loud.required true && echo '*.loud filter=loud' > .gitattributes && echo HELLO > a.loud"
    " && git add -A && git commit -qm loud"
)
WORKS = {
    "sha256": (AGAIN.format(how="--object-format=sha256"), "true"),
    "shallow": (
        "mv project full && git -C full commit -q --allow-empty -m B"
        " && git clone -q --depth 1 file://$PWD/full project",
        "test $(git rev-list --count HEAD) = 1 || test -f one.txt",
    ),
    "sparse": (
        "cd project && mkdir in out && touch in/a out/b && git add -A && git commit -qm C"
        " && git sparse-checkout set in",
        "test -f in/a -a -f out/b",
    ),
    "partial": (
        "mv project full && git -C full config uploadpack.allowFilter true"
        " && git clone -q --filter=blob:none file://$PWD/full project",
        "test -f app.txt",
    ),
    "a linked worktree": ("mv project full && git -C full worktree add -q ../project -b mine", "true"),
    "core.hooksPath": (
        "cd project && mkdir .hooks && printf '#!/bin/sh\necho x >> $HOME/hooked\n' > .hooks/pre-commit"
        " && chmod +x .hooks/pre-commit && git add -A && git commit -qm D && git config core.hooksPath .hooks",
        "true",
    ),
    "a submodule": (ADDED, "test -f sub/x"),
    "a submodule of a linked worktree": (
        f"{ADDED} && mv project full && git clone -q full other && git -C other worktree add -q ../project -b mine"
        " && git -C project submodule -q update --init",
        "test -f sub/x",
    ),
    "a submodule with its repository inside": (
        f"{LIBRARY} && cp -r lib project/sub && cd project && git submodule -q add ../lib sub && git commit -qm sub",
        "test -f sub/x",
    ),
    "filters, as Git LFS has them": (LOUD, "test $(cat a.loud) = HELLO && test ! -f b.loud -o $(cat b.loud) = BYE"),
}
REFUSED = {
    "bare": ("rm -rf project && git init -q --bare project", "is a bare repository"),
    "a submodule without files": (
        f"{ADDED} && mv project full && git clone -q full project",
        "these submodules are empty: sub.",
    ),
    "a filter that is not installed": (
        f"{LOUD} && git config filter.loud.smudge no-such-program",
        "Fix the filter that git names",
    ),
    "objects that are only in a remote that is gone": (
        "mv project full && git -C full config uploadpack.allowFilter true"
        " && git clone -q --no-checkout --filter=blob:none file://$PWD/full project && rm -rf full",
        "Some objects exist only in the remote",
    ),
    "refs in a form that Ralph or this git does not know": (
        "cd project && git config core.repositoryFormatVersion 1 && git config extensions.refStorage reftable",
        "reftable|git cannot read the repository",
    ),
}


def make(project: Project, how: str, gate: str) -> None:
    allow = "git config --global protocol.file.allow always"
    subprocess.run(["sh", "-ec", f"{allow}\n{how}"], cwd=project.folder, env=project.env, check=True)
    project.config(gate)
    project.stories("One")
    more = {"b.loud": "BYE\n"} if "loud" in how else {}
    turn = does("US-001", "one.txt")
    project.script({**turn, "write": {**turn["write"], **more}}, VERIFIED)


@pytest.mark.parametrize("kind", WORKS)
def test_it_works(project: Project, kind: str) -> None:
    make(project, *WORKS[kind])
    status, head = project.status(), project.git("rev-parse", "HEAD")

    project.ralph("run", "auth")

    assert "one.txt" in project.files_in("ralph/auth")
    assert (project.status(), project.git("rev-parse", "HEAD")) == (status, head)
    project.git("fsck", "--no-dangling")
    if kind == "core.hooksPath":
        assert (project.home / "hooked").exists()
    if "b.loud" in project.files_in("ralph/auth"):
        assert project.landed("b.loud") == "bye"


@pytest.mark.parametrize("kind", REFUSED)
def test_it_is_refused_with_the_reason(project: Project, kind: str) -> None:
    how, words = REFUSED[kind]
    make(project, how, "test -f sub/x" if "submodule" in kind else "true")

    told = project.ralph("run", "auth", code=1).stderr

    assert any(word in told for word in words.split("|")), told
    assert project.calls() == 0


def test_doctor_says_what_git_says(project: Project) -> None:
    make(project, REFUSED["refs in a form that Ralph or this git does not know"][0], "true")

    told = project.ralph("doctor", code=1).stdout

    assert "git init" not in told and ("reftable" in told or "git cannot read the repository" in told)


def test_init_writes_nothing_into_a_bare_repository(project: Project) -> None:
    bare = project.path / "bare"
    project.git("init", "-q", "--bare", str(bare))
    before = sorted(path.name for path in bare.iterdir())

    refused = project.ralph("-C", str(bare), "init", "--provider", "scripted", "--verify", "true", code=1)
    assert "bare repository" in refused.stderr and "git worktree add" in refused.stderr
    assert sorted(path.name for path in bare.iterdir()) == before
