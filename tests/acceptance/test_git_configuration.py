"""RX.6: git's configuration outside of the repository decides nothing that an agent could set meanwhile."""

from __future__ import annotations

import pytest

from tests.conftest import VERIFIED, Project, does

PLANT = (
    "echo bad > x; echo 'x filter=f' > .gitattributes;"
    "git config {where} filter.f.smudge 'sed s/bad/good/'; git config {where} filter.f.clean 'sed s/good/bad/'"
)


@pytest.mark.parametrize("where", ["--global", "--file $HOME/.gitconfig", "--file $HOME/.config/git/config"])
def test_a_filter_that_an_agent_sets_for_the_person_does_not_decide_what_is_verified(
    project: Project, where: str
) -> None:
    project.config("test ! -f x || grep -q good x")
    project.stories("One")
    (project.home / ".config" / "git").mkdir(parents=True)
    before = (project.home / ".gitconfig").read_text()
    plant = PLANT.format(where=where)
    project.script(does("US-001", "one.txt", times=1, run=[plant]), does("US-001", "x", text="good"), VERIFIED)

    project.ralph("run", "auth")

    assert project.story()["retries"] == 1
    assert project.landed("x") == "good"
    if where == "--global":
        assert (project.home / ".gitconfig").read_text() == before


def test_attributes_that_an_agent_sets_for_the_person_decide_nothing_either(project: Project) -> None:
    project.config("test ! -f x || test $(wc -c < x) = 2")
    project.stories("One")
    plant = "mkdir -p $HOME/.config/git; echo 'x working-tree-encoding=UTF-16LE-BOM' > $HOME/.config/git/attributes"
    project.script(does("US-001", "x", text="a\n", run=[plant]), VERIFIED)

    project.ralph("run", "auth")

    assert project.story()["passes"]
    assert project.git("cat-file", "-s", "ralph/auth:x") == "2"


def test_the_person_s_global_settings_hold_for_ralph_agents_gates_and_hooks(project: Project) -> None:
    """A filter, an ignore file and a name, from a file that the global configuration includes."""
    (project.home / "more").write_text(
        '[filter "loud"]\n\tclean = tr A-Z a-z\n\tsmudge = tr a-z A-Z\n\trequired\n'
        "[core]\n\texcludesFile = ~/ignored\n[ralph]\n\tword = hello\n"
    )
    (project.home / "ignored").write_text("*.tmp\n")
    with (project.home / ".gitconfig").open("a") as file:
        file.write("[include]\n\tpath = more\n")
    project.write(".gitattributes", "*.loud filter=loud\n")
    project.git("add", ".gitattributes")
    project.git("commit", "-qm", "Loud")
    project.config(
        "test $(git config ralph.word) = hello && test ! -f a.loud -o $(cat a.loud) = HELLO && test ! -f a.tmp"
    )
    project.stories("One")
    say = "git config user.name > $HOME/name; git config ralph.word >> $HOME/name; touch a.tmp"
    project.script(does("US-001", "a.loud", text="HELLO\n", run=[say]), VERIFIED)

    project.ralph("run", "auth")

    assert project.story()["passes"]
    assert project.git("cat-file", "blob", "ralph/auth:a.loud") == "hello"
    assert (project.home / "name").read_text() == "Person\nhello\n"
    assert not list((project.path / ".ralph" / "logs").glob("*/*.gitconfig"))


def test_what_the_repository_sets_comes_before_what_the_person_sets_everywhere(project: Project) -> None:
    with (project.home / ".gitconfig").open("a") as file:
        file.write("[core]\n\tautocrlf = true\n")
    project.git("config", "core.autocrlf", "false")
    project.config("test ! -f x || test $(wc -c < x) = 2")
    project.stories("One")
    project.script(does("US-001", "x", text="a\n"), VERIFIED)

    project.ralph("run", "auth")

    assert project.story()["passes"]
