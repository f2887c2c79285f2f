"""Whether a text is about what another one says: reworded is the same, a neighbouring task is not."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ralph.plan.wording import says, significant, stem

SPEC = (
    "Add `avatarUrl` field to User schema",
    "Create S3 upload endpoint",
    "Validate size and type of the image",
    "Resize avatars to 256 pixels in a background job",
    "Show the avatar in the page header",
    "Delete old avatars when a user is deleted",
    "Add tests for the upload endpoint",
    "Write `formatAvatarName()` helper for file names",
    "Write `parseAvatarName()` helper for imports",
)

REWORDED = [
    ("Create S3 upload endpoint", "Create an endpoint that uploads avatars to S3"),
    ("Create S3 upload endpoint", "Build the S3 upload route"),
    ("Create S3 upload endpoint", "Create S3 upload endpoint (POST /avatars), signed by src/lib/aws.ts"),
    ("Add avatarUrl field to User schema", "**Add** an avatar URL column to the user schema"),
    ("Add avatarUrl field to User schema", "Extend the User schema with `avatar_url`"),
    ("Users can upload JPG/PNG up to 5MB", "A user can upload JPEG or PNG images of up to 5 MB"),
    ("Validate email address on sign-up", "Email address validation during signup"),
    ("Log in with GitHub", "Github login"),
    ("Github login", "Let users log in with GitHub"),
    ("Rate limiting", "Add rate limits to the public API"),
    ("Write tests", "Add unit tests"),
    ("Retry failed uploads three times", "Failed uploads are retried three times"),
    ("Delete old avatars when a user is deleted", "Remove old avatars of deleted users"),
    (
        "Mark a blocked task with its reason when <BLOCKED> is printed",
        "Handle <BLOCKED>: mark task blocked, with reason",
    ),
    ("Port the parser to C++", "C++ port of the parser"),
    ("Add caching, logging, retries and tracing", "Add caching, logging"),
    ("要件を追加", "要件を追加する"),
    ("添加用户登录", "添加用户登录功能"),
    ("Ajouter le café", "AJOUTER LE CAFE\u0301!"),
]

ANOTHER = [
    ("Create S3 upload endpoint", "Add avatarUrl field to User schema"),
    ("Add tests for login", "Add tests for logout"),
    ("Add tests for the login page", "Add tests for the new logout page flow"),
    ("Add dark theme to settings page", "Add light theme to settings page"),
    ("Return 404 for unknown users", "Return 403 for unknown users"),
    ("Add avatar field", "Remove avatar field"),
    ("Users can upload an avatar", "Users can download an avatar"),
    ("Implement the payment gateway client", "Unit tests for the payment gateway client"),
    ("Write `exportInvoice()` function for PDF files", "Write `importInvoice()` function for CSV files"),
    ("Port it to C", "Port it to C++"),
    ("Go!", "Stop!"),
    ("To be", "It is"),
    ("->", "<-"),
    ("添加用户登录", "添加用户注销"),
    ("ユーザー登録を追加", "ユーザー削除を追加"),
    ("Add login", ""),
    ("", "Add login"),
    ("", ""),
]


@pytest.mark.parametrize(("wanted", "text"), REWORDED)
def test_a_reworded_text_says_it(wanted: str, text: str) -> None:
    assert says(text, wanted)


@pytest.mark.parametrize(("one", "other"), ANOTHER)
def test_another_task_does_not_say_it_either_way(one: str, other: str) -> None:
    assert not says(one, other)
    assert not says(other, one)


@pytest.mark.parametrize(("text", "wanted"), list(itertools.permutations(SPEC, 2)))
def test_no_task_of_a_spec_says_another_one(text: str, wanted: str) -> None:
    assert not says(text, wanted)


def test_a_part_of_what_is_wanted_says_it_only_if_it_is_about_half_of_it() -> None:
    wanted = "Resize avatars to 256 pixels, strip the metadata and upload them to S3 in a background job"
    assert not says("Resize avatars", wanted)
    assert says("Resize avatars to 256 pixels, strip the metadata and upload them to S3", wanted)


def test_a_text_of_words_that_say_nothing_is_found_word_for_word() -> None:
    assert says("Whether it is, or: to BE of it", "to be")
    assert not says("be to", "to be")


@pytest.mark.parametrize(
    "forms",
    [
        "upload uploads uploaded uploading",
        "add adds added adding create creates creating creation implemented",
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


@pytest.mark.parametrize("word", ["string", "status", "class", "need", "analysis", "100", "c++", "s3"])
def test_what_only_looks_like_an_ending_stays(word: str) -> None:
    assert stem(word) == word


def test_the_words_that_tell_what_a_text_is_about() -> None:
    assert significant("The avatarUrl of the users is in S3, and not in user_id") == {
        "avatar",
        "url",
        "user",
        "s3",
        "id",
    }


TEXTS = st.text(st.sampled_from("ab login tests_URL\n\t`*-+#.1é要を ") | st.characters(), max_size=60)


@given(TEXTS.filter(bool))
@example("Go!")
@example("要件を追加")
@example("C++")
@example("to be or not to be")
@example(" ")
@example("🎉")
@example("\ud800")
@example("हिन्दी में लॉगिन")
def test_every_text_says_itself(text: str) -> None:
    assert says(text, text)
    assert says(f"  {text}\n", text)


@given(TEXTS, TEXTS)
def test_any_two_texts_can_be_compared(text: str, wanted: str) -> None:
    assert says(text, wanted) in (True, False)


@given(st.lists(st.sampled_from(SPEC), min_size=1), st.sampled_from(SPEC))
def test_a_text_that_holds_what_is_wanted_says_it(before: list[str], wanted: str) -> None:
    assert says(". ".join((*before, wanted)), wanted)


@given(st.sampled_from(SPEC), st.sampled_from(["upper", "marked", "spaced"]))
def test_case_marks_and_spacing_do_not_matter(wanted: str, change: str) -> None:
    changed = {
        "upper": wanted.upper(),
        "marked": f"- [ ] **{wanted}**.",
        "spaced": wanted.replace(" ", " \n\t"),
    }
    assert says(changed[change], wanted)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Log in with a password", "Do not log in with a password"),
        ("Allow guest checkout", "Don't allow guest checkout"),
        ("Show prices with tax", "Show prices without tax"),
        ("Do not send mail to new users", "Send mail to new users"),
        ("名前で挨拶する", "名前で挨拶しない"),
    ],
)
def test_the_opposite_is_not_the_same(text: str, wanted: str) -> None:
    assert not says(text, wanted)


def test_a_longer_text_may_deny_something_else() -> None:
    assert says("Send mail to new users, but never more than one a day and no images", "Send mail to new users")
