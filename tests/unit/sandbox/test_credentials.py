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


def test_credentials_are_hidden_also_where_a_variable_moves_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_CONFIG_HOME", "GNUPGHOME", "KUBECONFIG", "DOCKER_CONFIG"):
        monkeypatch.setenv(name, f"{tmp_path}/{name}")
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/one:{tmp_path}/two")

    found = credentials(tmp_path)

    assert {tmp_path / "XDG_CONFIG_HOME/gh", tmp_path / ".config/gh", tmp_path / "GNUPGHOME"} <= set(found)
    assert {tmp_path / "one", tmp_path / "two", tmp_path / "DOCKER_CONFIG"} <= set(found)


def test_a_variable_that_leads_to_the_home_folder_hides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GNUPGHOME", str(tmp_path.parent))

    assert tmp_path.parent not in credentials(tmp_path)
