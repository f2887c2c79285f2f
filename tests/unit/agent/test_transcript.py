"""What counts as said: whole lines of the agent's own, however they arrive."""

from __future__ import annotations

import pickle
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.agent.transcript import KINDS, MAX_LINE, TAIL, Marker, Transcript, strip_ansi

DONE = "<ralph>DONE</ralph>"
VERIFIED = "<ralph>VERIFIED</ralph>"
PROMPT = f"Do it.\n\nWhen complete, output on a line of its own:\n\n{DONE}\n"


def heard(*pieces: str | bytes, prompt: str = "") -> Transcript:
    transcript = Transcript(prompt)
    for piece in pieces:
        transcript.feed(piece.encode() if isinstance(piece, str) else piece)
    transcript.close()
    return transcript


def said(*pieces: str | bytes, prompt: str = "") -> list[Marker]:
    return heard(*pieces, prompt=prompt).markers


def kept_bytes(transcript: Transcript) -> int:
    return len(pickle.dumps(vars(transcript)))


@pytest.mark.parametrize(
    ("line", "marker"),
    [
        (DONE, Marker("DONE")),
        (VERIFIED, Marker("VERIFIED")),
        ("<ralph>LEARNING:use make</ralph>", Marker("LEARNING", "use make")),
        ("<ralph>RESET:US-001,US-003</ralph>", Marker("RESET", "US-001,US-003")),
        ("<ralph>REASON: no tests </ralph>", Marker("REASON", "no tests")),
        (f"   {DONE}", Marker("DONE")),
        (f"{DONE} \t", Marker("DONE")),
        ("<ralph>LEARNING:a: b</ralph>", Marker("LEARNING", "a: b")),
        ("<ralph>LEARNING:größer 日本</ralph>", Marker("LEARNING", "größer 日本")),
        ("<ralph>BLOCKED:no key</ralph>", Marker("BLOCKED", "no key")),
        ("<ralph>BLOCKED</ralph>", Marker("BLOCKED")),
        ("<ralph>BLOCKED: </ralph>", Marker("BLOCKED")),
        ("<ralph>DISPUTE:lint — it is old</ralph>", Marker("DISPUTE", "lint — it is old")),
        ("**<ralph>DISPUTE:`lint`: a <b> c</ralph>**", Marker("DISPUTE", "`lint`: a <b> c")),
    ],
)
def test_a_marker_on_a_line_of_its_own_counts(line: str, marker: Marker) -> None:
    assert said(f"Working.\n{line}\nBye.\n") == [marker]


@pytest.mark.parametrize(
    "line",
    [f"**{DONE}**", f"`{DONE}`", f"``{DONE}``", f"**`{DONE}`**", f"`**{DONE}**`", f"  **{DONE}**  ", f"**{DONE}**\r"],
)
def test_bold_and_code_around_a_marker_are_forgiven(line: str) -> None:
    assert said(f"Working.\n{line}\nBye.\n") == [Marker("DONE")]


@pytest.mark.parametrize("marks", ["**", "`", "**`"])
def test_a_learning_in_bold_is_kept_without_the_marks(marks: str) -> None:
    learning = "<ralph>LEARNING:use `make`, **not** cmake</ralph>"
    assert said(f"{marks}{learning}{marks[::-1]}\n") == [Marker("LEARNING", "use `make`, **not** cmake")]


@pytest.mark.parametrize("line", [f"**{DONE}**", f"`{DONE}`"])
def test_a_repeated_prompt_is_an_echo_with_and_without_marks(line: str) -> None:
    prompt = f"When complete, output this:\n{line}\n"
    assert said(prompt, prompt=prompt) == []
    assert said(f"When complete, output this:\n{DONE}\n", prompt=prompt) == []


@pytest.mark.parametrize(
    "line",
    [
        f"I am NOT saying {DONE}",
        f"**{DONE}",
        f"{DONE}**",
        f"`{DONE}",
        f"**Say {DONE}**",
        f"`{DONE}` is the marker",
        f"`echo {DONE}`",
        f"    `{DONE}`",
        f"*****{DONE}*****",
        f"{DONE} is what I will say later",
        f"> {DONE}",
        f"- {DONE}",
        f"    {DONE}",
        f"\t{DONE}",
        f"{DONE}{DONE}",
        "<ralph>done</ralph>",
        "<ralph>Done</ralph>",
        "<ralph> DONE</ralph>",
        "<ralph>DONE </ralph>",
        "<ralph>DONE",
        "DONE</ralph>",
        "<ralph>DONE</ralph",
        "<ralph></ralph>",
        "<RALPH>DONE</RALPH>",
        "&lt;ralph&gt;DONE&lt;/ralph&gt;",
    ],
)
def test_a_marker_that_is_only_part_of_a_line_does_not_count(line: str) -> None:
    assert said(f"{line}\n") == []


@pytest.mark.parametrize(
    "line", ["<ralph>FINISHED</ralph>", "<ralph>PASSED:US-001</ralph>", "<ralph>DONE_NOW</ralph>", "<ralph>X</ralph>"]
)
def test_a_kind_nobody_knows_is_not_a_marker(line: str) -> None:
    assert said(f"{line}\n") == []


@pytest.mark.parametrize(
    "line",
    ["<ralph>DONE:really</ralph>", "<ralph>VERIFIED:</ralph>", "<ralph>LEARNING</ralph>", "<ralph>RESET: </ralph>"],
)
def test_a_marker_with_too_much_or_too_little_in_it_does_not_count(line: str) -> None:
    assert said(f"{line}\n") == []


def test_a_last_line_without_an_end_counts() -> None:
    assert said(f"Bye.\n{DONE}") == [Marker("DONE")]


def test_nothing_counts_before_its_line_has_ended() -> None:
    transcript = Transcript()
    transcript.feed(DONE.encode())
    assert transcript.markers == []
    transcript.feed(b" if only\n")
    transcript.close()
    assert transcript.markers == []


def test_windows_line_ends_make_no_difference() -> None:
    assert said(f"Bye.\r\n{DONE}\r\n<ralph>LEARNING:x</ralph>\r\n") == [Marker("DONE"), Marker("LEARNING", "x")]


@pytest.mark.parametrize(
    "line",
    [
        f"\x1b[32m{DONE}\x1b[0m",
        "\x1b[1;38;5;40m<ralph>\x1b[0mDONE</ralph>\x1b[K",
        f"\x1b]8;;https://example.com\x07{DONE}\x1b]8;;\x07",
        f"\x1b]0;title\x1b\\{DONE}",
    ],
)
def test_colours_and_links_make_no_difference(line: str) -> None:
    assert said(f"{line}\n") == [Marker("DONE")]


@pytest.mark.parametrize("fence", ["```", "~~~", "```text", "  ```", "````"])
def test_a_marker_quoted_among_other_words_does_not_count(fence: str) -> None:
    close = fence.strip().removesuffix("text")
    assert said(f"The docs say:\n{fence}\nSay this:\n{DONE}\n{close}\n") == []


@pytest.mark.parametrize("quoted", [f"words\n\n{DONE}", f"{DONE}\nwords", f"{DONE}\n    {VERIFIED}"])
def test_any_other_word_in_a_fence_makes_it_a_quotation(quoted: str) -> None:
    assert said(f"```\n{quoted}\n```\n") == []


def test_a_fence_with_nothing_but_markers_is_a_way_of_saying_them() -> None:
    assert said(f"Finished:\n```\n\n<ralph>LEARNING:a</ralph>\n{DONE}\n\n```\n") == [
        Marker("LEARNING", "a"),
        Marker("DONE"),
    ]


def test_a_marker_after_a_quotation_counts() -> None:
    assert said(f"```\nwords\n{VERIFIED}\n```\n{DONE}\n") == [Marker("DONE")]


def test_a_fence_that_never_ends_is_no_fence() -> None:
    assert said(f"```\nwords\n{DONE}\n") == [Marker("DONE")]


def test_a_quotation_is_closed_before_an_unclosed_fence_begins() -> None:
    assert said(f"```\nwords\n{VERIFIED}\n```\nmore\n```\n{DONE}\n") == [Marker("DONE")]


def test_repeating_the_prompt_is_not_saying_it() -> None:
    assert said(PROMPT, prompt=PROMPT) == []


def test_repeating_the_prompt_line_by_line_is_not_saying_it() -> None:
    assert said(*PROMPT.splitlines(keepends=True), prompt=PROMPT) == []


def test_what_follows_an_echo_of_the_prompt_counts() -> None:
    assert said(PROMPT, f"I have done it all.\n{DONE}\n", prompt=PROMPT) == [Marker("DONE")]


def test_an_echo_is_noticed_with_other_spacing_and_colours() -> None:
    echo = PROMPT.replace("When", "\x1b[2m  When").replace("\n\n", "\r\n")
    assert said(echo, prompt=PROMPT) == []


def test_a_prompt_that_shows_the_marker_within_a_sentence_hides_nothing() -> None:
    assert said(f"{DONE}\n", prompt=f"When complete, output: {DONE}\n") == [Marker("DONE")]


def test_a_line_longer_than_any_marker_is_passed_over_and_the_next_one_counts() -> None:
    pieces = [b"x" * 1000] * (MAX_LINE // 1000 + 50)
    assert said(*pieces, b"\n", f"{DONE}\n") == [Marker("DONE")]


def test_a_marker_at_the_end_of_an_endless_line_does_not_count() -> None:
    assert said(b"x" * (MAX_LINE + 1), DONE, "\n") == []


def test_bytes_that_are_no_text_do_no_harm() -> None:
    assert said(b"\xff\xfe\x00\x80\n", f"{DONE}\n", b"\xc3") == [Marker("DONE")]


def test_all_that_was_said_can_be_asked_for_by_kind() -> None:
    transcript = heard(f"<ralph>LEARNING:a</ralph>\n<ralph>LEARNING:b</ralph>\n{DONE}\n")
    assert transcript.texts("LEARNING") == ("a", "b")
    assert transcript.texts("RESET") == ()
    assert transcript.says("DONE")
    assert not transcript.says("VERIFIED")


def test_the_last_words_are_kept_for_a_person() -> None:
    transcript = heard("first\n" + "middle\n" * 2000, "\x1b[31mlast\r\n")
    assert transcript.tail.endswith("middle\nlast")
    assert "first" not in transcript.tail
    assert len(transcript.tail) <= TAIL


def test_a_last_line_without_an_end_is_among_the_last_words() -> None:
    assert heard("one\ntwo").tail == "one\ntwo"


def test_megabytes_of_talk_are_not_kept() -> None:
    transcript = Transcript(PROMPT)
    for number in range(200):
        transcript.feed(b"```\n" + b"%d words and more words\n" % number * 1000 + b"```\n")
    assert kept_bytes(transcript) < 20_000
    assert transcript.markers == []


def test_megabytes_without_a_line_end_are_not_kept() -> None:
    transcript = Transcript()
    for _ in range(100):
        transcript.feed(b"y" * 50_000)
        assert kept_bytes(transcript) < MAX_LINE + 10_000


def test_whoever_watches_hears_a_line_but_not_every_line() -> None:
    lines: list[str] = []
    transcript = Transcript(watcher=lines.append)
    transcript.feed(b"one\n\x1b[1mtwo\x1b[0m\n\n")
    for _ in range(100):
        transcript.feed(b"more\n")
    assert lines[0] == "two"
    assert len(lines) < 10


ANY = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
WORDS = st.text("ab <>/`~:\r\té日", max_size=12)
LINES = st.one_of(
    WORDS,
    st.sampled_from(
        [
            "",
            DONE,
            VERIFIED,
            f"  {DONE}\r",
            f"\x1b[1m{DONE}\x1b[0m",
            f"not {DONE}",
            "<ralph>LEARNING:one</ralph>",
            "<ralph>RESET:US-1</ralph>",
            "<ralph>NOPE</ralph>",
            "```",
            "~~~",
            "  ```text",
            "When complete, output on a line of its own:",
            "\x1b[31mred words\x1b[0m",
        ]
    ),
)
TEXTS = st.builds(lambda lines, end: "\n".join(lines) + end, st.lists(LINES, max_size=14), st.sampled_from(["", "\n"]))


@st.composite
def pieces_of(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> list[bytes]:
    data = draw(texts).encode()
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=12)))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


@given(pieces_of(TEXTS))
def test_the_same_is_heard_however_the_text_is_cut(pieces: list[bytes]) -> None:
    cut, whole = heard(*pieces, prompt=PROMPT), heard(b"".join(pieces), prompt=PROMPT)
    assert cut.markers == whole.markers
    assert cut.tail == whole.tail


@given(TEXTS)
def test_the_same_is_heard_byte_by_byte(text: str) -> None:
    data = text.encode()
    assert said(*(data[i : i + 1] for i in range(len(data))), prompt=PROMPT) == said(data, prompt=PROMPT)


@given(st.text(max_size=40), st.text(min_size=1, max_size=40).filter(str.strip))
def test_a_marker_beside_other_words_never_counts(before: str, after: str) -> None:
    line = f"{before}{DONE}{after}".replace("\n", "n").replace("\x1b", "x")
    assert not heard(f"{line}\n").says("DONE")


@given(st.sampled_from(sorted(KINDS - {"DONE", "VERIFIED"})), st.text(ANY, min_size=1).filter(lambda t: t.strip()))
def test_a_markers_text_arrives_as_it_was_said(kind: str, text: str) -> None:
    text = strip_ansi(text).replace("\n", " ").replace("\x1b", "").replace("\r", "")
    if text.strip():
        assert said(f"<ralph>{kind}:{text}</ralph>\n") == [Marker(kind, text.strip())]


@given(st.text(), st.text(), st.sampled_from(["\x1b[0m", "\x1b[1;31m", "\x1b[38;2;1;2;3m", "\x1b[K", "\x1b]0;t\x07"]))
def test_text_without_its_colours_is_the_text(before: str, after: str, code: str) -> None:
    before, after = (re.sub(r"[\x1b\r\x80-\x9f]", "", part) for part in (before, after))
    assert strip_ansi(f"{before}{code}{after}") == before + after


@pytest.mark.parametrize("marker", ["<ralph>BLOCKED:no key</ralph>", "<ralph>DISPUTE:lint — old</ralph>"])
@pytest.mark.parametrize(
    "form",
    [
        "I could say {}",
        "{} is what I would say",
        "> {}",
        "- {}",
        "    {}",
        "```\nthe prompt says\n{}\n```",
        '{{"content": "{}"}}',
    ],
)
def test_a_way_out_that_is_only_quoted_is_not_taken(form: str, marker: str) -> None:
    assert said(f"Hm.\n{form.format(marker)}\nBye.\n") == []


@pytest.mark.parametrize("line", ["<ralph>DISPUTE</ralph>", "<ralph>DISPUTE: </ralph>", "<ralph>blocked:x</ralph>"])
def test_a_dispute_about_nothing_is_none(line: str) -> None:
    assert said(f"Hm.\n{line}\n") == []


def test_a_way_out_that_repeats_the_prompt_is_an_echo() -> None:
    prompt = "If you cannot, output:\n<ralph>BLOCKED:why</ralph>\n"
    assert said(prompt, prompt=prompt) == []


# the specs workflow's own words

TASK_DONE = "<TASK_DONE>"
BLOCKED = '<TASK_BLOCKED reason="...">'
TASK_PROMPT = f"Complete ONLY this task.\n\nWhen done, output exactly:\n\n{TASK_DONE}\n\nIf blocked:\n\n{BLOCKED}\n"


@pytest.mark.parametrize("line", [TASK_DONE, "   <TASK_DONE>", "<TASK_DONE> \t", "<TASK_DONE/>", "<TASK_DONE />"])
def test_a_task_that_is_done_can_be_said_in_the_words_of_the_specs(line: str) -> None:
    assert said(f"Working.\n{line}\nBye.\n") == [Marker("DONE")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('<TASK_BLOCKED reason="no key">', "no key"),
        ('<TASK_BLOCKED reason="nobody speaks "tlhIngan Hol"">', 'nobody speaks "tlhIngan Hol"'),
        ('<TASK_BLOCKED reason=""quoted" and not">', '"quoted" and not'),
        ("<TASK_BLOCKED reason='it isn't there'>", "it isn't there"),
        ("<TASK_BLOCKED reason='the \"key\"'>", 'the "key"'),
        ("<TASK_BLOCKED reason=no quotes at all>", "no quotes at all"),
        ('<TASK_BLOCKED reason="only the first quote>', '"only the first quote'),
        ('<TASK_BLOCKED reason="">', ""),
        ("<TASK_BLOCKED reason=>", ""),
        ("<TASK_BLOCKED>", ""),
        ("<TASK_BLOCKED/>", ""),
        ('<TASK_BLOCKED reason="a &lt;b&gt; &quot;c&quot; &amp;amp; d&#39;s">', 'a <b> "c" &amp; d\'s'),
        ('<TASK_BLOCKED reason="x" />', "x"),
        ('<TASK_BLOCKED reason="path/to/"/>', "path/to/"),
        ('<TASK_BLOCKED reason="a > b and b < c">', "a > b and b < c"),
        ('<TASK_BLOCKED  reason = "spaces">  ', "spaces"),
        ('<TASK_BLOCKED reason="  around  ">', "around"),
        ('  <TASK_BLOCKED reason="größer 日本">', "größer 日本"),
        ('\x1b[31m<TASK_BLOCKED reason="red">\x1b[0m\r', "red"),
    ],
)
def test_a_blocked_task_is_told_with_whatever_its_reason_holds(line: str, reason: str) -> None:
    assert said(f"Hm.\n{line}\nBye.\n") == [Marker("BLOCKED", reason)]


@pytest.mark.parametrize(
    "line",
    [
        "<task_done>",
        "<Task_Done>",
        '<task_blocked reason="x">',
        f"Now I say {TASK_DONE}",
        f"{TASK_DONE} is what I will say",
        f"> {TASK_DONE}",
        f"- {TASK_DONE}",
        f"    {TASK_DONE}",
        f"{TASK_DONE}{TASK_DONE}",
        "<TASK_DONE",
        "< TASK_DONE>",
        "<TASK_DONE_NOT>",
        '<TASK_DONE reason="x">',
        "<TASK_FINISHED>",
        "<TASK_BLOCKEDreason=x>",
        '<TASK_BLOCKED because="x">',
        '<TASK_BLOCKED reason "x">',
        'I would say <TASK_BLOCKED reason="x">',
        '<TASK_BLOCKED reason="x"> I think',
        "&lt;TASK_DONE&gt;",
    ],
)
def test_what_only_looks_like_the_words_of_the_specs_does_not_count(line: str) -> None:
    assert said(f"{line}\n") == []


def test_the_words_of_the_specs_are_quoted_by_a_fence_like_the_others() -> None:
    assert said(f"```\nSay this:\n{TASK_DONE}\n```\n") == []
    assert said(f"```\n{TASK_DONE}\n```\n") == [Marker("DONE")]


def test_repeating_a_task_s_prompt_is_not_saying_it() -> None:
    assert said(TASK_PROMPT, prompt=TASK_PROMPT) == []
    assert said(TASK_PROMPT, f"All green.\n{TASK_DONE}\n", prompt=TASK_PROMPT) == [Marker("DONE")]


def test_a_reason_other_than_the_prompt_s_dots_is_no_echo() -> None:
    blocked = TASK_PROMPT.replace('"..."', '"no key"')
    assert said(blocked, prompt=TASK_PROMPT) == [Marker("BLOCKED", "no key")]


@pytest.mark.parametrize("filling", [" ", "> ", '"', "' ", " /", "=", "&lt; "])
def test_a_line_full_of_blanks_and_brackets_is_read_at_once(filling: str) -> None:
    line = "<TASK_BLOCKED reason=" + filling * (60_000 // len(filling))
    began = time.process_time()
    assert said(f"{line}.\n") == []
    assert said(f'{line}">\n')[0].kind == "BLOCKED"
    assert time.process_time() - began < 2


@given(
    pieces_of(st.text("ab\"'<>/=&; é", max_size=30).map(lambda text: f'Hm.\n<TASK_BLOCKED reason="{text}">\nBye.\n'))
)
def test_a_reason_arrives_whole_however_the_text_is_cut(pieces: list[bytes]) -> None:
    whole = b"".join(pieces).decode()
    reason = whole.removeprefix('Hm.\n<TASK_BLOCKED reason="').removesuffix('">\nBye.\n')
    [marker] = said(*pieces)
    assert marker.kind == "BLOCKED"
    if "&" not in reason:
        assert marker.text == reason.strip()
