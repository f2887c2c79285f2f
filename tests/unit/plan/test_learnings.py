"""What agents wrote down: one note at a time, and those that fit into a prompt best."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.plan.learnings import choose, entries, significant, stem

NOTES = """# Learnings

## Tests

- Run the tests with make test
  and never with pytest alone
* The database must be up
1. Migrations live in db/

A paragraph about styles
that has two lines.

Another one
"""


def test_notes_are_bullets_with_what_hangs_on_them_and_paragraphs_oldest_first() -> None:
    assert entries(NOTES) == [
        "- Run the tests with make test\n  and never with pytest alone",
        "* The database must be up",
        "1. Migrations live in db/",
        "A paragraph about styles\nthat has two lines.",
        "Another one",
    ]


@pytest.mark.parametrize("text", ["", "\n\n", "   \n\t\n", "# Only\n## headings\n"])
def test_a_text_without_notes_has_none(text: str) -> None:
    assert entries(text) == []
    assert choose(text, "anything", 1000) == ""


@pytest.mark.parametrize("line", ["- a", "* a", "+ a", "1. a", "12) a", "  - a"])
def test_every_kind_of_bullet_begins_a_note(line: str) -> None:
    assert entries(f"- first\n{line}\n") == ["- first", line]


@pytest.mark.parametrize("line", ["-a", "1.a", "word", "    - far to the right"])
def test_what_is_no_bullet_hangs_on_the_note_before_it(line: str) -> None:
    assert entries(f"- first\n{line}\n") == [f"- first\n{line}"]


def test_a_heading_ends_a_note() -> None:
    assert entries("one\n# Heading\ntwo") == ["one", "two"]


def test_a_note_about_the_task_comes_before_one_that_is_not() -> None:
    text = "- The database listens on port 5433\n- Colours are in theme.css\n- Icons come from the theme\n"
    assert choose(text, "Connect to the database", 1000).splitlines() == [
        "- The database listens on port 5433",
        "- Icons come from the theme",
        "- Colours are in theme.css",
    ]


def test_the_more_words_a_note_shares_the_earlier_it_comes() -> None:
    text = "- login form tests\n- login form\n- login\n- other\n"
    assert choose(text, "tests of the login form", 1000).splitlines() == text.splitlines()


def test_another_form_of_a_word_and_a_short_name_count_too() -> None:
    text = "- Uploads go to S3\n- Colours are in theme.css\n- Icons come from the theme\n"
    assert choose(text, "Uploading of avatars", 1000).splitlines()[0] == "- Uploads go to S3"
    assert choose(text, "An S3 client", 1000).splitlines()[0] == "- Uploads go to S3"


def test_among_equals_the_newer_note_comes_first() -> None:
    assert choose("- alpha one\n- alpha two\n- alpha three\n", "alpha", 1000).splitlines() == [
        "- alpha three",
        "- alpha two",
        "- alpha one",
    ]


def test_case_does_not_matter_and_words_that_say_nothing_do_not_count() -> None:
    text = "- DATABASE\n- that with this and not for you\n- to be or no\n"
    assert choose(text, "the database that you have with this and for it is to be", 1000).splitlines() == [
        "- DATABASE",
        "- to be or no",
        "- that with this and not for you",
    ]


def test_a_note_stays_together() -> None:
    text = "- login needs a token\n  see auth.py\n- newer\n"
    assert choose(text, "login", 1000).splitlines() == ["- login needs a token", "  see auth.py", "- newer"]


def test_a_long_note_is_cut_at_a_line_end_and_leaves_room_for_a_shorter_one() -> None:
    text = "- short\n- login first line\n  a second line that is far too long\n  third\n"
    assert choose(text, "login", 32).splitlines() == ["- login first line", "- short"]


def test_a_note_that_does_not_fit_is_passed_over() -> None:
    assert choose(f"- fits\n- login {'x' * 100}\n", "login", 20) == "- fits"


@pytest.mark.parametrize("about", ["", "tests of the database", "a paragraph"])
def test_at_every_limit_what_is_chosen_fits_and_grows_with_it(about: str) -> None:
    chosen = [choose(NOTES, about, limit) for limit in range(len(NOTES))]
    assert [len(text) for limit, text in enumerate(chosen) if len(text) > limit] == []
    assert chosen[0] == ""
    assert sorted(chosen[-1].splitlines()) == sorted("\n".join(entries(NOTES)).splitlines())


ALPHABET = st.sampled_from("abé login tests\n\n-*#1. \t") | st.characters(exclude_categories=["Cs"])
TEXTS = st.text(ALPHABET, max_size=200)
BULLETS = st.lists(st.lists(st.sampled_from(["login", "tests", "port", "style"]), min_size=1, max_size=4), max_size=8)


@given(TEXTS, TEXTS, st.integers(-5, 120))
def test_what_is_chosen_is_never_longer_than_the_limit(text: str, about: str, limit: int) -> None:
    assert len(choose(text, about, limit)) <= max(limit, 0)


@given(TEXTS, TEXTS, st.integers(0, 120))
def test_only_whole_lines_of_the_text_are_chosen_and_none_more_often_than_it_is_there(
    text: str, about: str, limit: int
) -> None:
    there = [line.rstrip() for line in text.splitlines()]
    for line in choose(text, about, limit).splitlines():
        assert line in there
        there.remove(line)


@given(TEXTS, TEXTS)
def test_with_room_enough_every_note_is_chosen_once(text: str, about: str) -> None:
    chosen = choose(text, about, len(text) + 1)
    assert sorted(chosen.splitlines()) == sorted(line for entry in entries(text) for line in entry.splitlines())


@given(BULLETS, st.sets(st.sampled_from(["login", "tests", "port", "style"])), st.integers(0, 400))
def test_the_most_relevant_come_first_and_the_newest_among_them(
    notes: list[list[str]], about: set[str], limit: int
) -> None:
    lines = [f"- {number} {' '.join(words)}" for number, words in enumerate(notes)]
    chosen = choose("\n".join(lines), " ".join(about), limit).splitlines()
    ranks = [(len(about & set(notes[number])), number) for number in map(lines.index, chosen)]
    assert ranks == sorted(ranks, reverse=True)
    left = limit - sum(len(line) + 1 for line in chosen)
    assert all(len(line) + 1 > left for line in set(lines) - set(chosen))


@given(TEXTS)
def test_notes_hold_every_line_that_is_neither_empty_nor_a_heading(text: str) -> None:
    wanted = [line.rstrip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert [line for entry in entries(text) for line in entry.split("\n")] == wanted


@pytest.mark.parametrize(
    "forms",
    [
        "upload uploads uploaded uploading",
        "query queries queried querying",
        "validate validates validation validating",
        "cache caches cached caching",
        "log logs logged logging",
        "box boxes",
        "address addresses",
    ],
)
def test_the_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len(set(map(stem, forms.split()))) == 1


@pytest.mark.parametrize("word", ["string", "status", "class", "need", "analysis", "100", "s3"])
def test_what_only_looks_like_an_ending_stays(word: str) -> None:
    assert stem(word) == word


def test_the_words_that_tell_what_a_text_is_about() -> None:
    wanted = {"avatar", "url", "user", "s3", "id"}
    assert significant("The avatarUrl of the users is in S3, and not in user_id") == wanted
    assert significant("要件を追加") & significant("新しい要件"), "a script without spaces"
