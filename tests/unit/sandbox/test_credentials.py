"""Which paths hold credentials."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph.sandbox.credentials import credentials


@pytest.mark.parametrize("name", [".ssh", ".gnupg", ".aws", ".netrc", ".config/gh", ".local/share/keyrings"])
def test_credentials_are_hidden_whatever_they_hold(tmp_path: Path, name: str) -> None:
    assert tmp_path / name in credentials(tmp_path)


@pytest.mark.parametrize(
    ("text", "is_hidden"),
    [("registry=https://npm.example/\n", False), ("//npm.example/:_authToken=abc\n", True),
     ("registry=https://me:pass@npm.example/\n", True), ("", False)],
)  # fmt: skip
def test_settings_are_hidden_only_with_a_secret_in_them(tmp_path: Path, text: str, is_hidden: bool) -> None:
    (tmp_path / ".npmrc").write_text(text)

    assert (tmp_path / ".npmrc" in credentials(tmp_path)) == is_hidden


def test_settings_that_cannot_be_read_are_hidden(tmp_path: Path) -> None:
    (tmp_path / ".npmrc").mkdir()

    assert tmp_path / ".npmrc" in credentials(tmp_path)
