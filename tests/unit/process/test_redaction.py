"""No secret reaches what Ralph writes: known values in every form, and the shapes of well-known tokens."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.errors import RalphError
from ralph.process.redaction import Secrets, cleaned
from ralph.process.secret_values import secrets_in, secrets_of_project

PLACEHOLDER = b"[secret]"
VALUE = 'pa ss/"wörd"+&1'
TOKEN = "Zk4vQ81mTr0xWn5bHc7d"
KEY_LINES = ["MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQC7" for _ in range(3)]
PRIVATE_KEY = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *KEY_LINES, "abc123==", "-----END RSA PRIVATE KEY-----"])
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("ANTHROPIC_API_KEY", "sk-ant-12345", True),
        ("github_token", "ghp_12345678", True),
        ("DB_PASSWORD", "correct horse", True),
        ("DB_PASS", "correcthorse", True),
        ("MYSQL_PWD", "correcthorse", True),
        ("MY_SECRET", "12345678", True),
        ("AWS_SECRET_ACCESS_KEY", "/JalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", True),
        ("SLACK_TOKEN_URL", "https://hooks.example.com/services/T0/B0/xyz", True),
        ("API_KEY", "short", False),
        ("GIT_AUTHOR_NAME", "Jane Developer", False),
        ("EDITOR", "a long program name", False),
        ("SSH_AUTH_SOCK", "/tmp/ssh-agent.sock", False),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json", False),
        ("PRIVATE_KEY_FILE", "./keys/private.pem", False),
        ("AUTH_MODE", "development", False),
        ("NEXTAUTH_URL", "http://localhost:3000", False),
        ("KEYBOARD_LAYOUT", "german-nodeadkeys", False),
        ("API_KEY", "${OTHER_API_KEY}", False),
        ("OLDPWD", "some-folder", False),
    ],
)
def test_values_are_secrets_by_the_name_they_have(name: str, value: str, secret: bool) -> None:
    assert (value in secrets_in({name: value})) is secret


def test_a_password_in_an_address_is_a_secret_whatever_the_variable_is_called() -> None:
    found = secrets_in({"DATABASE_URL": "postgres://me:p%40ssw0rd99@db/app", "SHORT": "redis://me:short@db"})
    assert found == {"p%40ssw0rd99": "DATABASE_URL", "p@ssw0rd99": "DATABASE_URL"}


def test_the_env_files_of_a_project_are_read(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        "# API_KEY=commented-out\nexport API_KEY='single quoted'  # why\nB_TOKEN = plain-value # a comment\n"
        'C_SECRET="two\\nlines\nin one"\nNAME=not-a-secret\nDB=mysql://a:hunter2222@b\nDSN=https://0a1b2c3d4e5f60718293a4b5c6d7e8f9@errors.example.com/1\nBUCKET=my-company-production-assets-2024\nSHORT_KEY=1234567\nBROKEN_KEY="open-end\n'
    )
    (tmp_path / ".env.local").write_text("LOCAL_KEY=local-value\r\n")
    (tmp_path / ".env.example").write_text("LOCAL_KEY=your-key-here\n")
    (tmp_path / ".envrc").write_text("RC_KEY=not-this-file\n")
    (tmp_path / "huge").mkdir()
    (tmp_path / ".env.huge").write_text("HUGE_KEY=huge-value\n" + "#" * (1 << 18))
    outside = tmp_path.with_name(f"{tmp_path.name}-outside")
    outside.write_text("OUTSIDE_KEY=outside-value\n")
    (tmp_path / ".env.out").symlink_to(outside)
    (tmp_path / "inside").write_text("INSIDE_KEY=inside-value\n")
    (tmp_path / ".env.in").symlink_to("inside")
    found = secrets_of_project(tmp_path)
    assert set(found) == {
        "single quoted", "plain-value", "two\\nlines\nin one", "two\nlines\nin one", "hunter2222", '"open-end',
        "local-value", "inside-value", "0a1b2c3d4e5f60718293a4b5c6d7e8f9",
    }  # fmt: skip
    assert found["hunter2222"] == "DB"


def embedded(text: str, before: int) -> str:
    return base64.b64encode(b"x" * before + text.encode() + b"yz").decode()


@pytest.mark.parametrize("value", [VALUE, TOKEN, "12345678", "x" * 300 + TOKEN])
def test_a_value_is_hidden_in_every_form(value: str) -> None:
    secrets = Secrets([value])
    forms = {
        "as it is": value,
        "JSON": json.dumps(value),
        "JSON, not ASCII": json.dumps(value, ensure_ascii=False),
        "JSON in JSON": json.dumps(json.dumps({"key": value})),
        "percent": quote(value, safe=""),
        "percent, slashes kept": quote(value),
        "percent, lower": re.sub("%..", lambda found: found[0].lower(), quote(value, safe="")),
        "hex": value.encode().hex(),
        "HEX": value.encode().hex().upper(),
        "base64": base64.b64encode(value.encode()).decode(),
        "base64, for addresses": base64.urlsafe_b64encode(value.encode()).decode(),
        **{f"base64 after {before}": embedded(value, before) for before in (1, 2, 3)},
        "base64 in lines": base64.encodebytes(value.encode() * 3).decode(),
        "colours": "\x1b[31m".join((value[:4], value[4:6], value[6:])),
        "colours in JSON": json.dumps("\x1b[31m".join((value[:4], value[4:]))),
        "wrapped": "\n".join((value[:4], value[4:])),
        "wrapped in JSON": json.dumps("\r\n".join((value[:4], value[4:]))),
    }
    for name, form in forms.items():
        clean = secrets.text(f"a {form} b")
        assert clean.startswith(("a [secret]", 'a "[secret]', 'a "{')) or "base64" in name, (name, clean)
        assert "[secret]" in clean and form not in clean, name
        assert len(clean) <= 40 + len(form) // 20, (name, clean)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("key sk-ant-api03-AbCdEfGhIjKlMnOpQrStUv-x_y.", "key [secret]."),
        ("sk-proj-AbCdEfGh1jKlMnOpQrStUv", "[secret]"),
        ("sk-0123456789abcdef0123456789abcdef", "[secret]"),
        (f"ghp_{'a1B2' * 9}, gho_{'a1B2' * 9} ghs_{'a1B2' * 9}", "[secret], [secret] [secret]"),
        (f"github_pat_11ABC_{'a1B2' * 15}", "[secret]"),
        ("xoxb-123456789012-abcdef", "[secret]"),
        ("id=AKIAIOSFODNN7EXAMPLE;", "id=[secret];"),
        ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "[secret]"),
        ("glpat-AbCdEf1234567890xyzw", "[secret]"),
        (f"//registry/:_authToken=npm_{'a1B2' * 9}", "//registry/:_authToken=[secret]"),
        (f"Bearer {JWT}", "Bearer [secret]"),
        (json.dumps(f"line\n{JWT}\n"), '"line\\n[secret]\\n"'),
        ("git push https://me:hunter2@example.com/x", "git push https://me:[secret]@example.com/x"),
        (f"before\n{PRIVATE_KEY}\nafter", "before\n[secret]\nafter"),
        (json.dumps({"key": PRIVATE_KEY, "n": 1}), '{"key": "[secret]", "n": 1}'),
        (json.dumps([*PRIVATE_KEY.splitlines(), "after"]), '["[secret]", "after"]'),
        ("\n".join(f"{n}\t{line}" for n, line in enumerate(PRIVATE_KEY.splitlines())), "0\t[secret]"),
        (f"cut {PRIVATE_KEY[:80]}", "cut [secret]"),
        ("\x1b[1msk-ant-\x1b[0mapi03-AbCdEfGhIjKl\x1b[1mMnOpQrStUv\x1b[0m!", "\x1b[1m[secret]\x1b[0m!"),
    ],
)
def test_a_token_is_hidden_by_its_shape_wherever_the_output_is_cut(text: str, clean: str) -> None:
    assert Secrets().text(text) == clean
    data = text.encode()
    for size in (1, 7, 64):
        stream = Secrets().stream()
        pieces = [stream.feed(data[at : at + size]) for at in range(0, len(data), size)]
        assert b"".join((*pieces, stream.flush())).decode() == clean, size


@pytest.mark.parametrize(
    "text",
    [
        "commit 6b6bb6c8a9b0e1d2c3f4a5b6c7d8e9f0a1b2c3d4",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "550e8400-e29b-41d4-a716-446655440000",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
        'if key.startswith("sk-") or key.startswith("sk-ant-"):',
        'PREFIXES = ("ghp_", "gho_", "github_pat_", "xoxb-", "AKIA", "AIza", "glpat-", "npm_", "eyJ")',
        "sk-cube-grid sk-fading-circle-container-of-many-parts sk-1",
        "risk-0123456789abcdef0123456789abcdef",
        "npm_config_registry npm_package_dependencies_left_pad_version_number",
        "eyJhbGciOiJIUzI1NiJ9 alone, and eyJ.eyJ.x",
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBa\n-----END CERTIFICATE-----",
        'assert text.startswith("-----BEGIN PRIVATE KEY-----"), "a key in PEM format is expected here"',
        "http://localhost:3000/a@b https://example.com:8080/x ssh://git@host:22/x git@host:me/x.git",
        "postgres://${USER}:${PASSWORD}@localhost/db",
        "1.2.3-rc.4 python-3.11.7-x86_64-linux-gnu/lib/site-packages/pydantic_core-2.33.1.dist-info",
        "const AuthorizationTokenProviderFactoryImplementation = require('./authorization-token-provider')",
        "AKIAIOSFODNN7EXAMPLEandmore XAKIAIOSFODNN7EXAMPLE",
        "\x1b[32mPASSED\x1b[0m tests/test_token.py::test_password_is_hashed_with_a_salt",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert Secrets([VALUE, TOKEN]).text(text) == text


@given(st.lists(st.integers(1, 40), max_size=20))
def test_values_and_tokens_are_hidden_wherever_the_output_is_cut(sizes: list[int]) -> None:
    token = "sk-ant-api03-" + "a1B2" * 8
    text = f"one {VALUE}, \x1b[1m{TOKEN[:5]}\x1b[0m\n{TOKEN[5:]} and {token}: {embedded(TOKEN, 1)}\n{PRIVATE_KEY}\nend"
    data, stream, out = text.encode(), Secrets([VALUE, TOKEN]).stream(), b""
    for size in sizes:
        out += stream.feed(data[:size])
        data = data[size:]
    out += stream.feed(data) + stream.flush()
    assert out == Secrets([VALUE, TOKEN]).data(text.encode())
    assert not any(part.encode() in out for part in (VALUE, TOKEN[5:], token, KEY_LINES[0], "api03"))
    assert out.endswith(b"\n[secret]\nend")


def test_what_is_held_back_is_bounded() -> None:
    for begin in (b"sk-", b"-----BEGIN PRIVATE KEY-----\n", b"https://", b"\x1b["):
        stream = Secrets([TOKEN]).stream()
        out = stream.feed(begin)
        for _ in range(100):
            out += stream.feed(b"AAAAAAAAAAAAAAAA1\n" * 60 if b"KEY" in begin else b"a" * 1000)
        assert len(out) > 80_000 or b"[secret]" in out, begin
        assert len(stream._held) < 20_000


@dataclass(frozen=True)
class Part:
    text: str
    size: int = 1


def test_every_text_in_a_value_is_cleaned_and_the_rest_stays_the_same_object() -> None:
    clean = Secrets([TOKEN]).clean
    same = (Part("plain"), {"a": 1}, frozenset({"x"}), None)
    assert clean(same) is same
    assert clean((Part(TOKEN, 2), [TOKEN], {"k": (TOKEN,)}, frozenset({TOKEN}), 1)) == (
        Part("[secret]", 2), ["[secret]"], {"k": ("[secret]",)}, frozenset({"[secret]"}), 1,
    )  # fmt: skip
    assert cleaned(Part("a"), str.upper) == Part("A")


def test_an_error_that_a_person_sees_is_cleaned() -> None:
    with pytest.raises(RalphError) as caught, Secrets([TOKEN]).in_errors():
        raise RalphError(f"what {TOKEN}", details=(TOKEN,), remedy=f"use {TOKEN}")
    assert (caught.value.what, caught.value.details, caught.value.remedy) == (
        "what [secret]", ("[secret]",), "use [secret]",
    )  # fmt: skip


SECRETS = st.lists(st.text("xyz", min_size=8, max_size=12), min_size=1, max_size=3, unique=True)


@st.composite
def leaks(draw: st.DrawFn) -> tuple[list[str], list[bytes]]:
    """Secrets, and a text with some of them in it, cut into pieces anywhere."""
    secrets = draw(SECRETS)
    parts = draw(st.lists(st.sampled_from(secrets) | st.text("xyz ab\n", max_size=8), max_size=12))
    data = "".join(parts).encode()
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=12)))
    return sorted(secrets, key=len, reverse=True), [
        data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)
    ]


def redacted(secrets: list[str], pieces: list[bytes]) -> bytes:
    redactor = Secrets(secrets).stream()
    return b"".join([*(redactor.feed(piece) for piece in pieces), redactor.flush()])


@given(leaks())
def test_no_secret_survives_however_the_output_is_cut(case: tuple[list[str], list[bytes]]) -> None:
    secrets, pieces = case
    clean = redacted(secrets, pieces)
    assert not any(secret.encode() in clean for secret in secrets)
    assert (clean == b"".join(pieces)) == (not any(secret.encode() in b"".join(pieces) for secret in secrets))


@given(leaks())
def test_nothing_that_has_been_let_out_can_still_become_a_secret(case: tuple[list[str], list[bytes]]) -> None:
    secrets, pieces = case
    redactor = Secrets(secrets).stream()
    out = b""
    for piece in pieces:
        out += redactor.feed(piece)
        assert not any(secret.encode() in out for secret in secrets)


@given(st.lists(st.binary(max_size=20), max_size=8))
def test_other_output_is_unchanged(pieces: list[bytes]) -> None:
    assert redacted(["correct horse battery"], pieces) == b"".join(pieces)
    assert redacted([], pieces) == b"".join(pieces)


@given(st.lists(st.sampled_from(["hunter-2222", "word ", "é日", "\n", "hunter-222"]), max_size=8), st.data())
def test_what_stands_around_a_secret_is_kept(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert redacted(["hunter-2222"], pieces) == text.replace(b"hunter-2222", PLACEHOLDER)


def test_output_is_not_held_back_longer_than_a_secret_could_be() -> None:
    redactor = Secrets(["abcdefgh"]).stream()
    assert redactor.feed(b"x" * 100 + b"abcdefg") == b"x" * 100
    assert redactor.feed(b"!") == b"abcdefg!"
    assert redactor.feed(b"ab") == b""
    assert redactor.flush() == b"ab"


def test_a_secret_at_the_very_end_is_replaced() -> None:
    assert redacted(["abcdefgh"], [b"key: abcd", b"efgh"]) == b"key: [secret]"


def test_a_secret_that_begins_like_a_shorter_one_leaves_no_rest_behind() -> None:
    assert redacted(["abcdefgh12345678", "abcdefgh"], [b"abcdefgh", b"12345678"]) == PLACEHOLDER


def test_a_secret_that_is_no_text_is_replaced() -> None:
    assert redacted(["\udcffsecretkey"], [b"<\xffsecretkey>"]) == b"<[secret]>"


def test_text_is_cleaned_as_a_whole() -> None:
    assert Secrets(["pässword"]).text("the pässword is pässword") == "the [secret] is [secret]"
    assert Secrets([]).text("as it is") == "as it is"
