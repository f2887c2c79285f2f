"""The scripted agent: which turn fits a call, and mistakes in a script."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.testing import scripted
from ralph.testing.scripted import PlayedTurn, choose, play, reset
from ralph.validation import Mistakes


def played(turns: list[PlayedTurn], *prompts: str) -> list[int | None]:
    history: list[int | None] = []
    for prompt in prompts:
        history.append(choose(turns, prompt, history))
    return history


def test_the_first_turn_that_fits_is_played() -> None:
    turns = [PlayedTurn(match="US-001"), PlayedTurn(match="US-00"), PlayedTurn()]
    assert played(turns, "do US-001", "do US-002", "hello") == [0, 1, 2]


def test_no_turn_may_fit() -> None:
    assert played([PlayedTurn(match="x")], "y", "x") == [None, 0]
    assert played([], "x") == [None]


def test_a_turn_is_played_as_often_as_it_may_be() -> None:
    assert played([PlayedTurn(times=2), PlayedTurn()], "a", "b", "c", "d") == [0, 0, 1, 1]


def test_a_turn_for_one_call_is_played_in_that_call_only() -> None:
    assert played([PlayedTurn(call=2), PlayedTurn()], "a", "b", "c") == [1, 0, 1]


def test_a_turn_for_a_call_that_did_not_come_yet_waits() -> None:
    assert played([PlayedTurn(call=3)], "a", "b", "c", "d") == [None, None, 0, None]


def test_a_match_is_a_regular_expression() -> None:
    assert played([PlayedTurn(match=r"\*\*ID:\*\* US-\d+\b")], "**ID:** US-001", "ID: US-001") == [0, None]


TURNS = st.lists(
    st.builds(
        PlayedTurn,
        match=st.none() | st.sampled_from(["a", "b", "^a$"]),
        times=st.none() | st.integers(1, 2),
    ),
    max_size=4,
)


@given(TURNS, st.lists(st.sampled_from(["a", "b", "ab", "c"]), max_size=8))
def test_what_is_played_fits_and_nothing_earlier_did(turns: list[PlayedTurn], prompts: list[str]) -> None:
    history = played(turns, *prompts)
    for index, turn in enumerate(turns):
        assert turn.times is None or history.count(index) <= turn.times
    for place, chosen in enumerate(history):
        before = history[:place]
        for index in range(len(turns) if chosen is None else chosen):
            used_up = turns[index].times is not None and before.count(index) >= (turns[index].times or 0)
            fits = choose([turns[index]], prompts[place], []) == 0
            assert used_up or not fits


def test_a_script_is_read_with_all_of_its_mistakes(tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    path.write_text(json.dumps({"turns": [{"match": "("}, {"sai": ["x"]}, {"exit": 300}, {"call": 0}, {"sleep": -1}]}))
    with pytest.raises(Mistakes) as found:
        scripted.load(path)
    assert [line.split(":")[0] for line in found.value.mistakes] == [
        "turns[1].sai",
        "turns[2].exit",
        "turns[3].call",
        "turns[4].sleep",
        "turns[0].match",
    ]
    assert "did you mean 'say'?" in found.value.mistakes[0]


def test_a_script_without_mistakes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    path.write_text('{"turns": [{"match": "x", "say": ["hi"], "write": {"a": "b"}, "done": true}]}')
    assert scripted.load(path) == [PlayedTurn(match="x", say=["hi"], write={"a": "b"}, done=True)]


def test_the_demos_script_has_no_mistakes() -> None:
    assert scripted.load(Path(scripted.__file__).parents[1] / "demo" / "agent.json")


def called(tmp_path: Path, turn: dict[str, object], *more: str, after: str = "") -> subprocess.CompletedProcess[str]:
    """The agent as a configuration calls it, in a Python of its own."""
    script = tmp_path / "agent.json"
    script.write_text(json.dumps({"turns": [turn]}))
    code = f"import sys; from ralph.cli.entry import main\ntry: main()\nexcept SystemExit as ended: {after or 'raise'}"
    command = [sys.executable, "-c", code, "scripted", script, "--state", tmp_path / "calls", *more]
    return subprocess.run(command, input="Do it", capture_output=True, text=True, cwd=tmp_path, timeout=60)


def test_a_call_imports_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    slow = ("click", "dataclasses", "pydantic", "subprocess")
    named = f"print([name for name in {slow} if name in sys.modules])"
    assert called(tmp_path, {"say": ["hi"], "run": ["echo there"]}, after=named).stdout == "hi\nthere\n[]\n"


def test_other_forms_of_a_call_mean_the_same(tmp_path: Path) -> None:
    assert called(tmp_path, {"say": ["hi"], "exit": 3}).returncode == 3
    assert called(tmp_path, {"say": ["hi"], "exit": 3}, "--state", str(tmp_path / "others")).returncode == 3
    assert len((tmp_path / "others").read_text().splitlines()) == 1
    assert "no mistakes" in called(tmp_path, {"say": ["hi"]}, "--check").stdout
    assert "unknown key; did you mean 'say'?" in called(tmp_path, {"sey": ["hi"]}).stderr


def test_all_working_copies_of_a_project_count_the_calls_of_its_script_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    turns = [{"say": ["first"], "times": 1}, {"say": ["later"]}]
    copies = [tmp_path / "slots/1", tmp_path / "slots/2"]
    for folder in (tmp_path, *copies):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "agent.json").write_text(json.dumps({"turns": turns}))

    def play_in(folder: Path) -> str:
        monkeypatch.chdir(folder)
        monkeypatch.setenv("RALPH_ROOT", str(tmp_path))
        monkeypatch.setattr("sys.stdin", io.StringIO("Do it"))
        assert play("agent.json") == 0
        return capsys.readouterr().out

    assert [play_in(copy) for copy in copies] == ["first\n", "later\n"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RALPH_ROOT")
    reset("agent.json")
    assert play_in(copies[1]) == "first\n"


def test_a_command_runs_in_an_ordinary_shell(tmp_path: Path) -> None:
    """What Python ignores for itself is not ignored there: a pipe whose reader is gone ends its writer."""
    done = called(tmp_path, {"run": ["(yes; echo $? >&2) | head -n 1", "exit 5", "echo and on"]})
    assert (done.stdout, done.returncode) == ("y\nand on\n", 0)
    assert done.stderr == "141\n", "ended by SIGPIPE, and not by an error when it wrote"
