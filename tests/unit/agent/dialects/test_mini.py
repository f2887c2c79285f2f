"""mini-swe-agent prints prompt, commands and their output as one text: only its own words and its last word count."""

from __future__ import annotations

import pytest

from ralph.agent.dialects import DIALECTS
from ralph.agent.transcript import Marker, Transcript
from tests.unit.agent.dialects.recorded import DATA

DONE = "<ralph>DONE</ralph>"
LEARNING = (
    "this is a long learning that is certainly longer than eighty characters, so that it would be wrapped by rich"
)
STEP = "mini-swe-agent (step {}, $0.00):\n"
TOOL = "Tool:\n<returncode>\n0\n<output>\n"


def heard(text: str | bytes, *, pieces: int = 1 << 20) -> Transcript:
    data = text if isinstance(text, bytes) else text.encode()
    reader = DIALECTS["mini"].reader(speech := Transcript())
    for at in range(0, len(data), pieces):
        reader.feed(data[at : at + pieces])
    reader.close()
    return speech


def test_it_is_read_as_text_all_the_same() -> None:
    assert not DIALECTS["mini"].is_structured and DIALECTS["mini"].idle is None


@pytest.mark.parametrize("pieces", [1 << 20, 1, 7])
def test_a_marker_that_a_command_printed_does_not_count(pieces: int) -> None:
    speech = heard((DATA / "mini/marker-in-tool-output.txt").read_bytes(), pieces=pieces)

    assert speech.markers == [Marker("LEARNING", LEARNING)]
    assert "First I look." in speech.tail and "I have looked around" in speech.tail
    assert "You are a helpful assistant" not in speech.tail, "that is its prompt"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"User:\n{DONE}\n{STEP.format(1)}hm\n{TOOL}no\n\nExit:\n{DONE}\n\nSaved trajectory to 'x'\n", True),
        (f"{STEP.format(1)}All is there.\n{DONE}\n{TOOL}no\n\nExit:\n\n", True),
        (f"User:\n{DONE}\n{STEP.format(1)}hm\n{TOOL}no\n\nExit:\n", False),
        (f"{STEP.format(1)}hm\n{TOOL}Exit:\n{DONE}\n{STEP.format(2)}hm\nExit:\nno\n", False),
        (f"{STEP.format(1)}hm\n{TOOL}{STEP.format(1)}{DONE}\n{STEP.format(5)}{DONE}\nExit:\nno\n", False),
        (f"{STEP.format(1)}hm\nExit:\nThe end.\nUser:\n{DONE}", True),
        (f"no heading at all\n{DONE}\n", True),
    ],
    ids=["last word", "own words", "prompt", "forged exit", "forged step", "heading in the last word", "no headings"],
)
def test_its_own_words_and_its_last_word_count(text: str, says: bool) -> None:
    for pieces in (1 << 20, 1):
        assert heard(text, pieces=pieces).says("DONE") is says


def test_output_that_ends_anywhere_or_never_breaks_it() -> None:
    data = (DATA / "mini/marker-in-tool-output.txt").read_bytes()
    for end in range(0, len(data), 97):
        heard(data[:end])
    assert heard(STEP.format(1).encode() + b"\xff\xfe" + b"x" * 3_000_000 + b"\n" + DONE.encode()).says("DONE")
