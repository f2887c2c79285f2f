"""What an agent sees of a person's environment."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.process.environment import allowed, for_git


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "LANG", "LC_ALL", "XDG_CONFIG_HOME", "HTTPS_PROXY", "no_proxy", "GIT_AUTHOR_NAME", "TZ"]
)
def test_what_programs_need_to_run_is_passed_on(name: str) -> None:
    assert allowed({name: "v"}, ()) == {name: "v"}


@pytest.mark.parametrize(
    "name",
    [
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "DATABASE_URL",
        "NPM_TOKEN",
        "MY_PATH",
        "PATH_X",
        "path",
        "LC",
        "LD_PRELOAD",
    ],
)
def test_what_opens_a_door_is_not_passed_on(name: str) -> None:
    assert allowed({name: "v", "PATH": "p"}, ()) == {"PATH": "p"}


def test_a_person_can_let_more_through_by_name_and_by_pattern() -> None:
    environment = {"FOO_A": "1", "FOO_B": "2", "BAR": "3", "BAR_X": "4"}
    assert allowed(environment, ("FOO_*", "BAR")) == {"FOO_A": "1", "FOO_B": "2", "BAR": "3"}


@given(
    st.dictionaries(st.text("ABPTH_KEY", min_size=1, max_size=6), st.text(max_size=4)), st.sampled_from(["A*", "*_KEY"])
)
def test_nothing_is_passed_on_that_was_not_there_and_nothing_is_changed(environment: dict[str, str], also: str) -> None:
    passed = allowed(environment, (also,))
    assert passed.items() <= environment.items()
    assert set(allowed(environment, ())) <= set(passed)


def test_git_looks_where_it_is_run_also_inside_of_a_hook_that_receives() -> None:
    inside_of_a_hook = {"GIT_QUARANTINE_PATH": "/q", "GIT_ALTERNATE_OBJECT_DIRECTORIES": "/o", "GIT_NAMESPACE": "n"}
    assert for_git({**inside_of_a_hook, "HOME": "/home"}) == {"HOME": "/home"}
